"""Random networks that start wholly or partly at zero, with ramps, linear inputs, late doses and infusions, and events, in
units of states from 1e-12 to 1e12 and of time from 1e-9 to 1e9, in both engines, with sensitivities and without, against
SciPy's LSODA in scaled numbers. None may fail. 30 in make check; 500 in check-all.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 3600
"""
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import helpers  # noqa: E402
from rest_networks import Network, Unjudged  # noqa: E402

TOOL = helpers.BUILD / "tests" / "property" / "simulate_events"
FIRST_SEED = 70_000_000
N_SEED = 500 if helpers.SLOW else 10 if helpers.QUICK else 30
N_BATCH = 10
WAYS = ("CVODES", "CVODES with sensitivities", "lanes", "lanes with sensitivities")
# Errors in tolerances, rtol max(|y|^(3/4) S^(1/4), 1e-6 S): those of hard models reach 1000 (stiffit-internals(7)), and a state
# that is still young has an S that may be 10,000 times too large. The median is about 1, which a second limit guards.
MOST, MEDIAN = 5000, 5
# What rounding errors in the largest state make of a sum of all, per rtol.
ROUNDING = 1e-14


def simulated(network, path):
    lines = [*network.commands(path), *(f"evaluate {network.rtol!r} {wants} {lanes} 1.0" for lanes in (0, 1)
                                        for wants in (0, 1))]
    done = subprocess.run([TOOL], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False, timeout=600)
    helpers.assert_no_report(done, "simulate_events")
    assert done.returncode == 0, (done.returncode, done.stderr[-3000:])
    said = done.stdout.split("\n")
    for way in WAYS:
        head, rows, _ = (said.pop(0) for _ in range(3))
        yield way, head.split(" ", 3), np.array([float(x) for x in rows.split()])


def errors(network, exact, largest, values):
    """In tolerances. Cascades of totals are judged by the inactive amounts, which are the states."""
    flips, y = network.flips(), values.reshape(exact.shape)/np.array(network.unit)
    x = np.array([[flips[i] - z if i in flips else z for i, z in enumerate(row)] for row in exact])
    size = np.maximum(np.abs(x).max(axis=0), largest)
    scale = np.maximum(np.abs(x)**0.75*size**0.25, 1e-6*size) + ROUNDING*size.max()/network.rtol
    return np.abs(y - x)/(network.rtol*scale)


def judged(first, count):
    """[seed, what it is, what was wrong, worst error] of some seeds."""
    lines = []
    with tempfile.TemporaryDirectory(prefix="stiffit-rest-") as folder:
        for seed in range(first, first + count):
            network = Network(seed)
            try:
                exact, largest = network.reference()
            except Unjudged as why:
                lines.append((seed, "unjudged", str(why), 0))
                continue
            path = pathlib.Path(folder) / f"m{seed}.ode"
            path.write_text(network.text())
            for way, head, values in simulated(network, path):
                if head[0] == "-1":
                    lines.append((seed, "no lanes", None, 0))
                elif head[0] != "0":
                    lines.append((seed, network.kind, f"fault: {way}: {head[3]}", 0))
                else:
                    worst = errors(network, exact, largest, values).max()
                    what = f"fault: {way}: an error of {worst:.3g} tolerances at {network.rtol}" if not worst <= MOST else None
                    lines.append((seed, network.kind, what, worst))
    return lines


@helpers.both
def test_networks_at_rest(_):
    print(f"seeds {FIRST_SEED} to {FIRST_SEED + N_SEED - 1}")
    with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        starts = range(FIRST_SEED, FIRST_SEED + N_SEED, N_BATCH)
        lines = sum(pool.map(judged, starts, [N_BATCH]*len(starts)), [])
    counts = collections.Counter(line[1] for line in lines)
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    wrong = [line for line in lines if line[2] and line[2].startswith("fault")]
    print("\n".join(": ".join(map(str, line)) for line in wrong))
    assert not wrong, wrong[:20]
    assert counts["unjudged"] <= 0.1*N_SEED and counts["no lanes"] == 0, counts
    worst = [line[3] for line in lines if line[1] != "unjudged"]
    print(f"largest errors of a trajectory, in tolerances: median {np.median(worst):.2g}, 99 % {np.quantile(worst, 0.99):.2g}")
    assert np.median(worst) <= MEDIAN, np.median(worst)


if __name__ == "__main__":
    helpers.main()
