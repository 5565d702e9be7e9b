"""The share of a run that is spent outside the integrator and the model. Instructions are counted with callgrind: the
compute process's total, and what belongs to engine_work and everything that it calls (CVODES, the model, the linear
algebra). Counting is exact and undisturbed by other load; time in the kernel comes on top, from the process's own times.

SPDX-License-Identifier: BSD-3-Clause
"""
import pathlib
import re
import shutil
import subprocess

import helpers as h
from measure import measure

INSIDE = "engine_work"


def instructions(folder):
    """(total, inside) of the process that did the work, from callgrind's files."""
    best = (0, 0)
    for file in pathlib.Path(folder).glob("callgrind.out.*"):
        shown = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(file)],
                               capture_output=True, text=True, check=False).stdout
        total = re.search(r"^\s*([\d,]+).*PROGRAM TOTALS", shown, re.M)
        inside = re.search(rf"^\s*([\d,]+)[^\n]*[: ]{INSIDE}(?:'\d+)?\b", shown, re.M)
        if total and inside:
            numbers = tuple(int(found.group(1).replace(",", "")) for found in (total, inside))
            best = max(best, numbers)
    return best


def share_outside(case, tmp, n_counted=400, n_timed=4000):
    """{instructions: share, kernel: share, share: their sum}; None where there is no valgrind."""
    if not shutil.which("valgrind"):
        return None
    counted, timed = tmp / "counted.h5", tmp / "timed.h5"
    case.write(counted, n_counted)
    case.write(timed, n_timed)
    folder = tmp / "callgrind"
    folder.mkdir()
    run = [h.STIFFIT, "run", counted, "--trust", "-q", "-j", 1, "--overwrite"]
    command = ["valgrind", "--tool=callgrind", "--trace-children=yes", "--separate-threads=no",
               f"--callgrind-out-file={folder}/callgrind.out.%p", *run]
    done = subprocess.run(list(map(str, command)), env=h.environment(), capture_output=True, text=True, check=False)
    total, inside = instructions(folder)
    if not total:
        return {"error": done.stderr[-500:]}
    # The counted run is short: what is spent once (loading libraries, opening files) is taken out by a second, empty run
    # and put back at the size of the timed one.
    case.write(counted, 1)
    for old in folder.iterdir():
        old.unlink()
    subprocess.run(list(map(str, command)), env=h.environment(), capture_output=True, text=True, check=False)
    once = instructions(folder)
    per_fit = (total - once[0]) / (n_counted - 1)
    inside_per_fit = (inside - once[1]) / (n_counted - 1)
    whole = once[0] + per_fit * (n_timed - 1)
    outside = 1 - (once[1] + inside_per_fit * (n_timed - 1)) / whole
    figures = measure([h.STIFFIT, "run", timed, "--trust", "-q", "-j", 1, "--overwrite"], tmp / "figures.json",
                      env=h.environment())
    kernel = 1 - figures["user"] / figures["cpu"]
    return {"fits": n_timed, "user_instructions_outside": outside, "kernel_time": kernel,
            "share": kernel + (1 - kernel) * outside, "cpu_s": figures["cpu"],
            "instructions_per_fit": per_fit, "instructions_per_fit_outside": per_fit - inside_per_fit,
            "instructions_once": once[0]}
