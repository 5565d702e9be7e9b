"""Random starts (starts_problems.py): how many find the optimum and at what cost, beside fides and SciPy's trf on the same
objective from the same starts. A part of bench.py; or alone: starts.py [--starts N] [--no-rivals] [PROBLEM ...].

SPDX-License-Identifier: BSD-3-Clause

The optimum is the best objective that any of the three finds; a start that ends within 0.1 of it is a success. Time is CPU
time; the rivals' includes the evaluations in bench_fit_bridge, a compiled model with this program's own integrator, and leaves
out imports and compilation; ours is the whole process's, the median of a run before the rivals and one after each. A rival gets
no more than LONGEST_S by the clock, and its share is then that of the starts it had finished, which are printed: with ten
problems the rivals end within 100 minutes.

A start that cannot be evaluated is replaced by another one before the rivals get it. The ends are confirmed twice: all of them
with CVODES at rtol 1e-10, or by SciPy where CVODES does not confirm one; and CHECKED of them, spread evenly over the
objectives, by SciPy: its LSODA, from the same equations read as Python, and differences of its predictions.
"""
import argparse
import collections
import csv
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "e2e")]

import numpy as np  # noqa: E402
from scipy.optimize import lsq_linear  # noqa: E402

import helpers as h  # noqa: E402
import starts_problems  # noqa: E402
from measure import measure  # noqa: E402

CLOSE = 0.1
LONGEST_S = 300
CHECKED, CHECK_S = 8, 60
# Decades that a step may go, as the program's own; and the decrease that linear predictions at rtol 1e-10 may promise within
# them at an end that is confirmed.
LONGEST_STEP, PROMISE_MOST = 2.0, 1e-2


def python_of_fides():
    """The Python of a virtual environment with fides, made if it is not there; or why there is none."""
    folder = h.BUILD / "bench" / "fides"
    python = folder / "bin" / "python"
    check = [str(python), "-c", "import fides, scipy"]
    if python.exists() and subprocess.run(check, capture_output=True, check=False).returncode == 0:
        return python, None
    for command in ([sys.executable, "-m", "venv", "--clear", folder],
                    [python, "-m", "pip", "install", "-q", "--retries", "1", "--timeout", "15", "--only-binary",
                     "numpy,scipy,h5py", "--disable-pip-version-check", "fides", "scipy"], check):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            return None, said[-1] if said else f"{command[0]} failed"
    return python, None


def trace(problem, path, tmp, n_start):
    """By start: the first theta that can be evaluated, and the row of its end."""
    output = tmp / "trace.csv"
    h.stiffit("run", path, "--trust", "--only", "d0", "--starts", n_start, "--trace", output, "--overwrite", "-j", 1, code=None,
              timeout=7200)
    starts, ends = {}, {}
    with open(output, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["kind"] == "end":
                ends[row["task"]] = row
            elif not starts.get(row["task"], {}).get("objective"):
                starts[row["task"]] = row
    keys = [f"start {k}" for k in range(n_start)]
    return np.log10([[float(starts[key][name]) for name in problem.truth] for key in keys]), [ends[key] for key in keys]


def by_bridge(bridge, theta):
    """Predictions, noise, and their derivatives by theta; None: they cannot be evaluated."""
    found = bridge(10.0 ** theta)
    if found is None:
        return None
    m, s, dm, ds, _ = found
    chain = np.log(10) * 10.0 ** theta
    return m, s, dm * chain, ds * chain


def by_scipy(problem, theta):
    """The same by SciPy and differences of fourth order; None: there is no answer within CHECK_S."""
    def late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(CHECK_S)
    try:
        values = problem.simulate(10.0 ** theta)
        step = 5e-3 * np.eye(len(theta))
        slopes = [sum(w * problem.simulate(10.0 ** (theta + k * h_j)) for k, w in ((1, 8), (-1, -8), (2, -1), (-2, 1))) / 6e-2
                  for h_j in step]
    except (TimeoutError, AssertionError, OverflowError, ZeroDivisionError, ValueError):
        return None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return *values, *np.transpose(slopes, (1, 2, 0))


def promise(found, y, theta):
    """What linear predictions promise within the bounds and two decades of theta; infinite if they cannot be evaluated."""
    if found is None or not all(np.all(np.isfinite(part)) for part in found):
        return np.inf
    m, s, dm, ds = found
    r = (m - y) / s
    a = np.vstack([dm / s[:, None], np.sqrt(2) * ds / s[:, None]])
    b = np.concatenate([r, (1 - r * r) / np.sqrt(2)])
    low = np.maximum(np.log10(starts_problems.LOWER) - theta, -LONGEST_STEP)
    high = np.minimum(np.log10(starts_problems.UPPER) - theta, LONGEST_STEP)
    step = lsq_linear(a, -b, (np.minimum(low, -1e-12), np.maximum(high, 1e-12))).x
    return 0.5 * (np.sum(b * b) - np.sum((a @ step + b) ** 2))


def check_by_scipy(problem, y, mine):
    """Of a sample of the converged ends: how many were checked, and how many of these SciPy confirms."""
    order = [i for i in np.argsort(mine["objective"]) if mine["status"][i] == "converged"]
    sample = [order[i] for i in np.unique(np.linspace(0, len(order) - 1, CHECKED).astype(int))] if order else []
    answers = [(by_scipy(problem, mine["theta"][i]), mine["theta"][i]) for i in sample]
    good = [promise(found, y, theta) <= PROMISE_MOST for found, theta in answers if found is not None]
    return {"ends": len(sample), "checked": len(good), "confirmed": int(sum(good))}


def our_seconds(path, tmp, n_start):
    done = measure([h.STIFFIT, "run", path, "--trust", "-q", "-j", 1, "--starts", n_start, "--overwrite"],
                   tmp / "figures.json", env=h.environment(), timeout=7200)
    assert done["code"] in (0, 1), done["stderr"]
    return done["cpu"]


def ours(problem, path, tmp, n_start):
    starts, ends = trace(problem, path, tmp, n_start)
    value = np.array([float(end["objective"] or "nan") for end in ends])
    theta = np.log10([[float(end[name] or "nan") for name in problem.truth] for end in ends])
    return starts, {"objective": value, "theta": theta, "cpu": [our_seconds(path, tmp, n_start)],
                    "evaluations": sum(int(end["evaluation"]) for end in ends),
                    "status": [end["outcome"] for end in ends],
                    "causes": dict(collections.Counter(re.sub(r"-?\d[-+.e\d]*", "#", end["reason"]) for end in ends
                                                       if end["outcome"] != "converged"))}


def rival(method, python, problem, plugin, starts, y, tmp):
    """None: it finished no start."""
    n, output = len(problem.truth), tmp / f"{method}.npz"
    output.unlink(missing_ok=True)
    np.savez(tmp / "given.npz", lower=np.full(n, np.log10(starts_problems.LOWER)), y=y, conditions=problem.covariates(),
             upper=np.full(n, np.log10(starts_problems.UPPER)), starts=starts, times=np.asarray(problem.times, float))
    command = [python, HERE / "starts_rivals.py", method, plugin, tmp / "given.npz", output,
               h.BUILD / "bench" / "bench_fit_bridge"]
    try:
        subprocess.run(list(map(str, command)), env=h.environment(OPENBLAS_NUM_THREADS=1), timeout=LONGEST_S, check=True)
    except subprocess.TimeoutExpired:
        pass
    if not output.exists():
        return None
    found = np.load(output)
    return {"objective": found["objective"], "cpu": float(found["cpu"].sum()), "evaluations": int(found["evaluations"].sum())}


def measure_one(name, tmp, n_start, python):
    """Figures of each optimiser by its name."""
    problem = starts_problems.PROBLEMS[name]()
    folder = tmp / name
    folder.mkdir()
    _, plugin = starts_problems.build(problem, folder)
    y = starts_problems.measure(problem)
    path = starts_problems.write(folder / f"{name}.h5", problem, plugin, y)
    starts, mine = ours(problem, path, folder, n_start)
    found = {"stiffit": mine}
    for method in ("fides", "trf") if python else ():
        figures = rival(method, python, problem, plugin, np.clip(starts, -5, 5), y, folder)
        if figures:
            found[method] = figures
            mine["cpu"].append(our_seconds(path, folder, n_start))
    mine["cpu"] = float(np.median(mine["cpu"]))
    best = min(np.nanmin(figures["objective"]) for figures in found.values())
    bridge = starts_problems.Bridge(problem, plugin, 1e-10)
    confirmed = [status == "converged" and any(promise(by(where, theta), y, theta) <= PROMISE_MOST
                                               for by, where in ((by_bridge, bridge), (by_scipy, problem)))
                 for status, theta in zip(mine["status"], mine["theta"])]
    bridge.close()
    report = {"best": float(best), "starts": n_start, "status": dict(collections.Counter(mine["status"])),
              "causes": mine["causes"], "confirmed": float(np.mean(confirmed)), "scipy": check_by_scipy(problem, y, mine)}
    for who, figures in found.items():
        n_hit = int(np.sum(figures["objective"] < best + CLOSE))
        report[who] = {"finished": len(figures["objective"]), "share": n_hit / len(figures["objective"]), "hits": n_hit,
                       "cpu_per_hit": figures["cpu"] / max(n_hit, 1),
                       "evaluations_per_hit": figures["evaluations"] / max(n_hit, 1)}
    return report


def show(line, name, report):
    """Prints the figures of a problem by bench.py's `line`."""
    print(f"  {name}: best objective {report['best']:.4f}; status {report['status']}")
    for cause, number in report["causes"].items():
        print(f"    {number}: {cause}")
    line(f"{name}: share of starts converged and confirmed", report["confirmed"], 0.95)
    scipy = report["scipy"]
    line(f"{name}: confirmed by SciPy, of {scipy['checked']} ends ({scipy['ends'] - scipy['checked']} too slow)",
         scipy["confirmed"] / scipy["checked"] if scipy["checked"] else float("nan"), 0.95)
    others = [report[who] for who in ("fides", "trf") if who in report]
    mine = report["stiffit"]
    line(f"{name}: share within {CLOSE} of the best", mine["share"], max((other["share"] for other in others), default=None))
    line(f"{name}: evaluations per success", mine["evaluations_per_hit"])
    line(f"{name}: CPU s per success", mine["cpu_per_hit"],
         min(0.1 * other["cpu_per_hit"] for other in others) if others else None, at_least=False)
    for who in ("fides", "trf"):
        for figure in ("share", "evaluations_per_hit", "cpu_per_hit"):
            if who in report:
                line(f"{name}: {who}: {figure.replace('_', ' ')}, of {report[who]['finished']}", report[who][figure])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--no-rivals", action="store_true")
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", default=list(starts_problems.PROBLEMS))
    args = parser.parse_args()
    python, why = (None, "not asked for") if args.no_rivals else python_of_fides()
    if not python:
        print(f"fides and trf: skipped: {why}")

    def line(what, value, target=None, at_least=True):
        verdict = "" if target is None else f"  ({'at least' if at_least else 'at most'} {target:.3g})"
        print(f"  {what:58} {value:10.4g}{verdict}", flush=True)

    with tempfile.TemporaryDirectory(prefix="stiffit-bench-") as folder:
        for name in args.problems:
            show(line, name, measure_one(name, pathlib.Path(folder), args.starts, python))


if __name__ == "__main__":
    main()
