"""Fits over many experiments: what they cost beside single evaluations, and how much faster two workers are at one of them.
A part of bench.py; or alone: experiments.py.

SPDX-License-Identifier: BSD-3-Clause

Every experiment of a fit is a copy of one dataset, so that a fit over n experiments goes the way of one over a single one, and
costs as many evaluations as n of these: in the same number of points, as many integrator steps.
"""
import pathlib
import sys
import tempfile

import h5py
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "e2e")]

import helpers as h  # noqa: E402
from idle import Idle  # noqa: E402
from measure import measure  # noqa: E402


def write(path, name, n_dataset, n_experiment):
    """n_dataset datasets with n_experiment copies each."""
    times = {"robertson": "0.4,4,40,400,4000,40000", "hires": "5:60:5"}[name]
    h.stiffit("simulate", "-m", h.ROOT / "models" / name / f"{name}.ode", "--times", times, "-n", 1, "--noise", 0.02,
              "--spread", 0.2, "--seed", 7, "-o", path, "--overwrite")
    n = n_dataset * n_experiment
    with h5py.File(path, "a") as f:
        rows = {key: column[()] for key, column in f["measurements"].items() if key not in ("observable_names", "dataset")}
        n_row = rows["time"].size
        for key, column in rows.items():
            del f[f"measurements/{key}"]
            f[f"measurements/{key}"] = np.tile(column, n)
        del f["measurements/dataset"], f["datasets"]
        f.create_dataset("datasets/id", data=[f"d{i}" for i in range(n_dataset)], dtype=h5py.string_dtype())
        f["measurements/experiment" if n_experiment > 1 else "measurements/dataset"] = np.repeat(np.arange(n), n_row)
        if n_experiment > 1:
            f["experiments/dataset"] = np.repeat(np.arange(n_dataset), n_experiment)
    return path


# The same evaluations at the same accuracy, however many data a fit has: these would make its tolerances smaller.
FIXED = ("--max-evaluations", 5, "--certify", "no", "--rtol", 1e-7)


def run(problem, tmp, engine, n_worker, *more):
    """CPU and wall seconds, steps, evaluations and the share of the workers' time that they slept."""
    output = tmp / "out.h5"
    command = [h.STIFFIT, "run", problem, "--trust", "-q", "-j", n_worker, "--engine", engine, "-o", output, "--overwrite",
               *more]
    with Idle() as idle:
        figures = measure(list(map(str, command)), tmp / "figures.json", env=h.environment())
    assert figures["code"] in (0, 1), figures
    fits = h.read_fits(output)
    return {"cpu": figures["cpu"], "wall": figures["wall"],
            "steps": int(fits["steps"].sum()), "evaluations": int(fits["evaluations"].sum()), "sleep": idle.share()}


def cost(tmp, engine, n_fit, n_experiment, repeats):
    """CPU time of fits over n_experiment, over that of as many single fits as there are experiments."""
    many = write(tmp / "many.h5", "robertson", n_fit * n_experiment, 1)
    joint = write(tmp / "joint.h5", "robertson", n_fit, n_experiment)
    ratios = []
    for _ in range(repeats):
        a, b = run(many, tmp, engine, 1, *FIXED), run(joint, tmp, engine, 1, *FIXED)
        assert (a["steps"], a["evaluations"]) == (b["steps"], n_experiment * b["evaluations"]), (a, b)
        ratios.append(b["cpu"] / a["cpu"])
    return float(np.median(ratios))


def two_workers(tmp, engine, n_experiment, repeats):
    """One fit on two workers: how much faster by the clock, and but for other load: by CPU time and sleep."""
    problem = write(tmp / "one.h5", "hires", 1, n_experiment)
    walls, quiet = [], []
    for _ in range(repeats):
        a, b = run(problem, tmp, engine, 1), run(problem, tmp, engine, 2)
        assert (a["steps"], a["evaluations"]) == (b["steps"], b["evaluations"]), (a, b)
        walls.append(a["wall"] / b["wall"])
        quiet.append(2 * (1 - b["sleep"]) * a["cpu"] / b["cpu"])
    return float(np.median(walls)), float(np.median(quiet))


def measure_all(tmp, quick):
    repeats = 2 if quick else 7
    figures = {}
    for engine, n_fit, n_experiment in (("cvodes", 50, 20), ("lanes", 10, 400)):
        if quick:
            n_fit //= 5
        wall, undisturbed = two_workers(tmp, engine, n_experiment, repeats)
        figures[engine] = {"experiments": n_experiment, "cost": cost(tmp, engine, n_fit, n_experiment, repeats),
                           "two_workers_wall": wall, "two_workers": undisturbed}
    return figures


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="stiffit-bench-") as folder:
        print(measure_all(pathlib.Path(folder), "--quick" in sys.argv))
