"""One fit over many datasets: what it costs from 1,000 to 100,000 datasets beside independent fits, and how many passes over
the data others need. A part of bench.py; or alone: joint.py [--quick].

SPDX-License-Identifier: BSD-3-Clause

The model: absorption and elimination, linear and saturable, two states, two observables; 5 parameters shared, 3 of each
dataset. Independent fits hold the shared parameters at their true values, or fit all of them.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "e2e")]

import helpers as h  # noqa: E402
import joint_rivals  # noqa: E402
import share  # noqa: E402
from measure import measure  # noqa: E402

TEXT = """model absorption
parameter ka = 1 in [1e-3, 1e3] scale log, Vm = 1 in [1e-3, 1e3] scale log, Km = 3 in [1e-3, 1e3] scale log
parameter g = 1 in [1e-3, 1e3] scale log, d = 0 in [-10, 10]
parameter A = 5 in [1e-3, 1e4] scale log, k = 0.1 in [1e-5, 10] scale log, b = 0 in [-10, 10]
G(0) = A; C(0) = 0
G' = -ka*G
C' = ka*G - k*C - Vm*C/(Km + C)
observe y = C + b, z = g*G + d
"""
NAMES = ["ka", "Vm", "Km", "g", "d", "A", "k", "b"]
TRUE = {"ka": 1.7, "Vm": 0.6, "Km": 2.0, "g": 0.8, "d": 0.2}
TIMES = np.array([0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 9, 12])
SIGMA = 0.05
SHARED = ",".join(TRUE)


def write(tmp, n, seed=1):
    """Simulated with its own engine; returns the problem and its values, n x (times x observables)."""
    rng = np.random.default_rng(seed)
    model, problem = tmp / "absorption.ode", tmp / f"joint{n}.h5"
    model.write_text(TEXT, encoding="ascii")
    own = {"A": np.exp(rng.normal(1.8, 0.5, n)), "k": np.exp(rng.normal(-2.5, 0.3, n)), "b": rng.normal(0.3, 0.1, n)}
    plugin = tmp / "absorption.so"
    if not plugin.exists():
        h.stiffit("model", "build", model, "-o", plugin)
    p = np.column_stack([np.full(n, TRUE[name]) if name in TRUE else own[name] for name in NAMES])
    bridge = joint_rivals.Problem(plugin, TIMES, np.zeros((n, 2 * len(TIMES))), 1, np.zeros(8, bool), None, None, 1e-9)
    exact = np.concatenate([bridge.rows(p[at:at + 1000], slice(at, at + 1000))[0] for at in range(0, n, 1000)])
    bridge.close()
    y = exact + SIGMA * rng.standard_normal(exact.shape)
    with h5py.File(problem, "w") as f:
        f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
        f["model/source"] = TEXT
        f.create_dataset("datasets/id", data=[f"d{i}" for i in range(n)], dtype=h5py.string_dtype())
        f["measurements/dataset"] = np.repeat(np.arange(n), y.shape[1])
        f["measurements/time"] = np.tile(np.repeat(TIMES, 2), n)
        f["measurements/observable"] = np.tile([0, 1], n * len(TIMES)).astype(np.int32)
        f.create_dataset("measurements/observable_names", data=["y", "z"], dtype=h5py.string_dtype())
        f["measurements/value"] = y.ravel()
        f["measurements/sigma"] = np.full(y.size, SIGMA)
    return problem, y


def hold(problem):
    """The same problem with the shared parameters fixed at their true values."""
    held = problem.with_name("held-" + problem.name)
    held.write_bytes(problem.read_bytes())
    starts = {"A": 5.0, "k": 0.1, "b": 0.0} | TRUE
    with h5py.File(held, "a") as f:
        f.create_dataset("parameters/name", data=NAMES, dtype=h5py.string_dtype())
        f["parameters/start"] = [starts[name] for name in NAMES]
        f["parameters/fixed"] = [name in TRUE for name in NAMES]
    return held


def run(problem, tmp, *words):
    output = tmp / "joint.result.h5"
    figures = measure([h.STIFFIT, "run", problem, "-q", "-o", output, "--overwrite", *words], tmp / "figures.json",
                      env=h.environment())
    assert figures["code"] in (0, 1), figures["stderr"]
    fits = h.read_fits(output)
    return {"wall": figures["wall"], "cpu": figures["cpu"], "max_rss_mib": figures["max_rss_mib"],
            "evaluations": float(np.mean(fits["evaluations"])), "steps": float(np.mean(fits["steps"])),
            "converged": float(np.mean(fits["status"] == "converged")), "objective": float(fits["objective"].sum())}


def scale(tmp, sizes):
    """By number of datasets: the joint fit, and independent fits of the own parameters."""
    found = {}
    for n in sizes:
        problem, _ = write(tmp, n)
        found[n] = {"shared": run(problem, tmp, "--share", SHARED), "own, shared ones known": run(hold(problem), tmp),
                    "independent": run(problem, tmp)}
        problem.unlink()
    return found


def outside(tmp, engine, sizes=(100, 300)):
    """What the second of these numbers of datasets takes more than the first: the share of instructions outside of the engine,
    and their number for a dataset and pass; None where there is no valgrind."""
    if not shutil.which("valgrind"):
        return None
    counts = []
    model = tmp / "plain.so"
    h.stiffit("model", "build", tmp / "absorption.ode", "-o", model, "--portable")
    for n in sizes:
        problem, _ = write(tmp, n)
        passes = run(problem, tmp, "--share", SHARED, "--engine", engine, "--model", model, "--trust")["evaluations"]
        folder = tmp / f"callgrind-{engine}-{n}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind.out.%p", h.STIFFIT, "__compute",
                   problem, "--model", model, "-q", "-j", 1, "--restart", "--share", SHARED, "--engine", engine]
        done = subprocess.run(list(map(str, command)), env=h.environment(OPENBLAS_NUM_THREADS=1), capture_output=True,
                              text=True, check=False)
        total, inside = share.instructions(folder)
        assert total, done.stderr
        counts.append((total, inside, n * passes))
    total, inside, evaluations = (b - a for a, b in zip(*counts))
    return {"share": 1 - inside / total, "instructions": (total - inside) / evaluations}


def passes_within(problem, tmp, goal, most, *words):
    """The least number of passes after which `stiffit run` is below the goal: its runs are prefixes of each other."""
    def reaches(n):
        return run(problem, tmp, "--share", SHARED, "--max-evaluations", n, *words)["objective"] <= goal
    low, high = 1, 4
    while high < most and not reaches(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high if high < most else None


def rivals(tmp, n, budgets):
    """Passes over the data to the optimum's objective within 1e-6 of it."""
    problem, y = write(tmp, n, seed=2)
    exact = ("--rtol", "1e-9")
    best = run(problem, tmp, "--share", SHARED, "--ftol", "1e-13", "--max-evaluations", 1000, *exact)
    other = run(problem, tmp, "--share", SHARED, "--optimizer", "lbfgs", "--max-evaluations", 5000, *exact)
    best = min(best, other, key=lambda figures: figures["objective"])  # there are local optima
    goal = best["objective"] * (1 + 1e-6)
    found = {"datasets": n, "objective": best["objective"]}
    default = run(problem, tmp, "--share", SHARED)  # its first passes are of a sample, the last one is the certificate's
    found["stiffit"] = {"passes": default["evaluations"] if default["objective"] <= goal else None, "tried": 1000,
                        "objective": default["objective"]}
    found["L-BFGS of the sums"] = {"passes": passes_within(problem, tmp, goal, 5000, "--optimizer", "lbfgs")}
    is_log = np.array([name not in ("d", "b") for name in NAMES])
    start = np.log([1, 1, 3, 1, 1, 5, 0.1, 1])
    start[[4, 7]] = 0
    other = joint_rivals.Problem(tmp / "absorption.so", TIMES, y, SIGMA, is_log, np.array([name in TRUE for name in NAMES]),
                                 start, 1e-8)
    found["alternating Gauss-Newton"] = joint_rivals.alternating(other, goal, 20000)
    for what, adam in (("Adam", True), ("SGD", False)):
        for how, delay in (("synchronous", 0), ("asynchronous, 8 late", 8)):
            found[f"{what}, {how}"] = joint_rivals.stochastic(other, goal, budgets, adam, delay)
    other.close()
    return found


def measure_all(tmp, quick):
    return {"scale": scale(tmp, (1000, 10000) if quick else (1000, 10000, 100000)), "outside": outside(tmp, "cvodes"),
            "rivals": rivals(tmp, 64 if quick else 256, (30,) if quick else (100, 1000))}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure_all(pathlib.Path(folder), "--quick" in sys.argv), indent=1))
