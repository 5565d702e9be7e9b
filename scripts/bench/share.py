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
# States are kept of fits that take longer than a tenth of a second: all of them do under valgrind, next to none otherwise.
KEPT = "keeper_write"


def instructions(folder):
    """(total, inside) of the process that did the work, from callgrind's files."""
    best = (0, 0)
    for file in pathlib.Path(folder).glob("callgrind.out.*"):
        shown = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(file)],
                               capture_output=True, text=True, check=False).stdout
        total = re.search(r"^\s*([\d,]+).*PROGRAM TOTALS", shown, re.M)
        inside, kept = (re.search(rf"^\s*([\d,]+)[^\n]*[: ]{name}(?:'\d+)?\b", shown, re.M) for name in (INSIDE, KEPT))
        if total and inside:
            total, inside, kept = (int(found.group(1).replace(",", "")) if found else 0 for found in (total, inside, kept))
            best = max(best, (total - kept, inside))
    return best


def count(case, tmp, n, model, n_worker=1):
    """Instructions of the compute process for n datasets, (total, inside). Callgrind cannot follow the supervisor, which
    starts itself anew through /proc; so the child's command is called here."""
    problem, folder = tmp / f"{n}-{n_worker}.h5", tmp / f"callgrind-{n}-{n_worker}"
    folder.mkdir()
    case.write(problem, n)
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind.out.%p", h.STIFFIT, "__compute",
               problem, "--model", model, "-q", "-j", n_worker]
    done = subprocess.run(list(map(str, command)), env=h.environment(OPENBLAS_NUM_THREADS=1), capture_output=True,
                          text=True, check=False)
    total, inside = instructions(folder)
    if not total:
        raise RuntimeError(done.stderr[-500:])
    return total, inside


def plain_model(case, tmp):
    """Valgrind does not know the newest instructions: the same model for the plainest CPU of this kind."""
    model = tmp / "model.so"
    source = h.ROOT / "models" / case.name / f"{case.name}.c"
    h.compile_plugin(source.read_text(encoding="utf-8"), model, "-O3")
    return model


def extra_of_two(case, tmp, n=300):
    """Instructions that two workers need more than one for the same fits, as a share; None where there is no valgrind."""
    if not shutil.which("valgrind"):
        return None
    model = plain_model(case, tmp)
    one, two = (count(case, tmp, n, model, n_worker)[0] for n_worker in (1, 2))
    return two / one - 1


def share_outside(case, tmp, n_counted=200, n_timed=4000):
    """The share of a run of n_timed datasets; None where there is no valgrind."""
    if not shutil.which("valgrind"):
        return None
    model = plain_model(case, tmp)
    # What is spent once (loading libraries, opening files) is told from what each fit costs by runs of two sizes.
    few = n_counted // 5
    total, inside = count(case, tmp, n_counted, model)
    total_few, inside_few = count(case, tmp, few, model)
    per_fit = (total - total_few) / (n_counted - few)
    inside_per_fit = (inside - inside_few) / (n_counted - few)
    once = total_few - few * per_fit
    outside = 1 - inside_per_fit * n_timed / (once + per_fit * n_timed)
    timed = tmp / "timed.h5"
    case.write(timed, n_timed)
    figures = measure([h.STIFFIT, "run", timed, "--trust", "-q", "-j", 1, "--overwrite"], tmp / "figures.json",
                      env=h.environment())
    kernel = 1 - figures["user"] / figures["cpu"]
    return {"fits": n_timed, "user_instructions_outside": outside, "kernel_time": kernel,
            "share": kernel + (1 - kernel) * outside, "cpu_s": figures["cpu"],
            "instructions_per_fit": per_fit, "instructions_per_fit_outside": per_fit - inside_per_fit,
            "instructions_once": once}
