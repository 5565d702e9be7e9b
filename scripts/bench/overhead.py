"""What journal and supervision cost a run, in CPU time of user and kernel. They cannot be switched off, so what they do is
done once more, alone, in bench_overhead.c, with the numbers of fits, evaluations and steps of a real run. Of what a run costs
however small it is (three processes that load their libraries), supervision is what exceeds the computing process alone: for
that is what a program without it would be. The finisher counts in full, although such a program would write a result, too:
the figure is an upper bound.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import statistics
import subprocess

import helpers as h
from measure import measure


def cpu_of(command, problem, tmp):
    return measure([h.STIFFIT, command, problem, "--trust", "-q", "-j", 1, "--overwrite", "--restart"], tmp / "figures.json",
                   env=h.environment())["cpu"]


def overhead(case, tmp, n, repeats=5):
    """Seconds of one run of n datasets and of the parts that are overhead, medians of some repeats of the quick ones."""
    whole, single = tmp / "whole.h5", tmp / "single.h5"
    case.write(whole, n)
    case.write(single, 1)
    total = cpu_of("run", whole, tmp)
    fits = h.read_fits(h.result_path(whole))
    command = [h.BUILD / "bench" / "bench_overhead", n, sum(fits["evaluations"]), sum(fits["steps"]), len(fits["names"]),
               tmp / "overhead.journal"]
    parts = [json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)
             for _ in range(repeats)]
    figures = {name: statistics.median(part[name] for part in parts) for name in parts[0]}
    figures["start_s"] = (statistics.median(cpu_of("run", single, tmp) for _ in range(repeats)) -
                          statistics.median(cpu_of("__compute", single, tmp) for _ in range(repeats)))
    seconds = sum(figures.values())
    return {"fits": n, "cpu_s": total, "overhead_s": seconds, "share": seconds / total, **figures}
