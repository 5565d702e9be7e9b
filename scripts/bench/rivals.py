"""stiffit against the fastest loop in Python (numbalsoda_fit.py; for networks amici_fit.py): same problems, starts and
logarithmic scale, rtol 1e-6, one core. The loop gets the absolute tolerance with which it is fastest among those that reach the
optimum, and neither its imports nor its compilation count; stiffit is timed as a whole process with journal, statistics and
certificate. Figures are of CPU time, since other load lengthens wall time.

SPDX-License-Identifier: BSD-3-Clause
"""
import itertools
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

import helpers as h
import oracles as o
import scipy_loops
from measure import measure

RTOL, OWN_RTOL = 1e-6, 1e-7  # of both; stiffit's default
AT_OPTIMUM, LEAST_AT_OPTIMUM = 1e-6, 0.99  # relative excess of the objective; share of the fits
OPTIMIZERS = ("leastsq", "least_squares")
# Packages of each rival's virtual environment. The first has no wheel for Linux and is compiled (AMICI for some minutes, with
# BLAS and a C++ compiler from the system); the others must have one.
WANTED = {"numbalsoda": ("numbalsoda", "numba", "numpy", "scipy", "sympy"),
          "amici": ("amici<1", "numpy", "scipy", "sympy", "swig", "python-libsbml")}


def one_cpu():
    return str(max(os.sched_getaffinity(0)))


def ways():
    """Options of the program by the name of what is measured: engines, if there is a choice, at the loop's tolerance and at the
    program's own, with which a certificate needs fewer evaluations; and a run without certificate."""
    shown = subprocess.run([str(h.STIFFIT), "run", "--help"], capture_output=True, text=True, check=True).stdout
    engines = {word: ("--engine", word) for word in ("auto", "cvodes")} if "--engine" in shown else {"cvodes": ()}
    found = {f"{name} at {rtol:g}": ("--rtol", rtol, *words) for name, words in engines.items() for rtol in (RTOL, OWN_RTOL)}
    return found | {f"{name}, no certificate": (*words, "--certify", "no") for name, words in list(found.items())[:2]}


def run_alone(problem, tmp, *options):
    """One run on one core: the figures of measure.py, and /fits."""
    output = tmp / "alone.result.h5"
    output.unlink(missing_ok=True)
    figures = measure(["taskset", "-c", one_cpu(), h.STIFFIT, "run", problem, "--trust", "-q", "-j", 1, "-o", output, *options],
                      tmp / "figures.json", env=h.environment(OPENBLAS_NUM_THREADS=1))
    assert figures["code"] in (0, 1), figures["stderr"]
    return figures, h.read_fits(output)


def environment(rival="numbalsoda"):
    """The Python of a virtual environment with the rival, made in the build folder if it is not there; or why there is none."""
    folder = h.BUILD / "bench" / rival
    python = folder / "bin" / "python"
    check = [str(python), "-c", f"import {rival}, scipy, sympy"]
    if python.exists() and subprocess.run(check, capture_output=True, check=False).returncode == 0:
        return python, None
    wheels = "numba,llvmlite,numpy,scipy,pandas,pyarrow,python-libsbml,swig"
    for command in ([sys.executable, "-m", "venv", "--clear", folder],
                    [python, "-m", "pip", "install", "-q", "--retries", "1", "--timeout", "15", "--only-binary", wheels,
                     "--disable-pip-version-check", *WANTED[rival]], check):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            return None, said[-1] if said else f"{command[0]} failed"
    return python, None


class Loop:
    """A rival at work on one case: a model that its script knows by name, or one with `text`."""

    def __init__(self, python, case, tmp, rival="numbalsoda"):
        self.tmp, self.case, self.log = tmp, case, tmp / f"{rival}.log"
        n, n_time, n_observed = case.values.shape
        data = tmp / f"{rival}.npz"
        np.savez(data, name=case.name, text=getattr(case, "text", ""), y0=case.y0, weight=case.weights,
                 observed=np.arange(n_observed), value=case.values, sigma=case.sigmas,
                 time=np.broadcast_to(case.times, (n, n_time)), start=np.broadcast_to(case.start, (n, len(case.names))))
        script = pathlib.Path(__file__).parent / f"{rival}_fit.py"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(["taskset", "-c", one_cpu(), str(python), str(script), str(data)],
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                                            env=h.environment(OPENBLAS_NUM_THREADS=1, NUMBA_NUM_THREADS=1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def ask(self, *request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            said = self.log.read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"{self.process.args[4]} ended early: {said[-2000:]}")
        return json.loads(answer)

    def fit(self, n, optimizer, atol, name="loop"):
        path = self.tmp / f"{name}.npz"
        return self.ask("fit", n, optimizer, RTOL, atol, str(path)) | dict(np.load(path))

    def at_optimum(self, *names):
        """For each file of parameters whether each fit of it is at the lowest objective that is known."""
        path = self.tmp / "judged.npy"
        self.ask("judge", [str(self.tmp / f"{name}.npz") for name in names], self.case.tight_atol, str(path))
        table = np.load(path)
        return table[:-1] <= table[-1] * (1 + AT_OPTIMUM)

    def best_atols(self):
        """For each way to MINPACK the atol with which the loop is fastest, among those that reach the optimum often enough
        (else the one that reaches it most often); and what was tried."""
        forms = list(itertools.product(OPTIMIZERS, self.case.atols))
        n, found = len(self.case.values), {}
        self.ask("fit", 1, OPTIMIZERS[0], RTOL, forms[0][1], str(self.tmp / "compiled.npz"))
        runs = [self.fit(n, *form, name=f"form{i}")["cpu"] for i, form in enumerate(forms)]
        shares = self.at_optimum(*(f"form{i}" for i in range(len(forms)))).mean(axis=1)
        tried = [{"optimizer": form[0], "atol": form[1], "ms_per_fit": 1e3 * cpu / n, "at_optimum": share}
                 for form, cpu, share in zip(forms, runs, shares)]
        for optimizer in OPTIMIZERS:
            mine = [form for form in tried if form["optimizer"] == optimizer]
            enough = min(LEAST_AT_OPTIMUM, max(form["at_optimum"] for form in mine))
            usable = [form for form in mine if form["at_optimum"] >= enough]
            found[optimizer] = min(usable, key=lambda form: form["ms_per_fit"])["atol"]
        return found, tried


def compare(case, python, tmp, n, repeats):
    """All figures of one case: medians of interleaved runs of n fits. A ratio is of fits per CPU second, over each loop."""
    problem, n_own, own = tmp / f"{case.name}.h5", len(case.values), ways()
    case.write(problem, n)
    names = [*OPTIMIZERS, *own]
    cpu, last = {name: [] for name in names}, {}
    with Loop(python, case, tmp) as loop:
        atols, tried = loop.best_atols()
        for _ in range(repeats):
            for name in names:
                if name in own:
                    figures, last[name] = run_alone(problem, tmp, *own[name])
                    np.savez(tmp / f"{name}.npz", parameters=last[name]["parameters"][:n_own])
                else:
                    figures = last[name] = loop.fit(n, name, atols[name], name=name)
                cpu[name].append(figures["cpu"])
        at_optimum = loop.at_optimum(*names)
    # The program's way: with certificate, the fastest of its default engine that reaches the optimum often enough.
    shares = dict(zip(names, at_optimum.mean(axis=1)))
    usable = [name for name in list(own)[:2] if shares[name] >= LEAST_AT_OPTIMUM] or list(own)[1:2]
    best = min(usable, key=lambda name: np.median(cpu[name]))
    report = {"names": names, "best": best, "fits": n, "datasets": n_own, "atols": atols, "tried": tried,
              "versions": versions(python)}
    for name, reached in zip(names, at_optimum):
        cost = last[name]["steps" if name in own else "seconds"][:n_own]  # the program's seconds include other load
        report[name] = {"cpu_s": cpu[name], "ms_per_fit": 1e3 * float(np.median(cpu[name])) / n,
                        "at_optimum": int(reached.sum()), "evaluations": float(np.mean(last[name]["evaluations"])),
                        "ratio": {other: float(np.median([b / a for a, b in zip(cpu[name], cpu[other])]))
                                  for other in OPTIMIZERS}}
        if case.is_long is not None:
            report[name]["long_over_median"] = float(np.mean(cost[case.is_long]) / np.median(cost[~case.is_long]))
    return report


def versions(python):
    names = WANTED["numbalsoda"]
    code = f"import json, importlib.metadata as m; print(json.dumps({{w: m.version(w) for w in {names!r}}}))"
    return json.loads(subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout)


def van_der_pol_rhs(t, y, p):
    return [y[1], p[0] * (1 - y[0] ** 2) * y[1] - y[0]]


def heavy_tailed_case(n=400, n_long=4, turns=5, n_time=12, seed=4, mu_long=(90, 110), end_long=None):
    """van der Pol: one fit in a hundred follows five turns of a stiff limit cycle, the others a part of a smooth one. A long
    fit costs some hundred times a short one, which the report checks."""
    rng = np.random.default_rng(seed)
    is_long = np.arange(n) % (n // n_long) == n // n_long - 1
    mu = np.where(is_long, rng.uniform(*mu_long, n), rng.uniform(0.8, 1.3, n))
    end = np.where(is_long, turns * (1.614 * mu + 3), 3.0)  # a turn of the limit cycle at large mu takes (3 - 2 log 2) mu
    end = end if end_long is None else np.where(is_long, end_long, end)
    times = np.linspace(1 / n_time, 1, n_time) * end[:, None]
    values = np.array([o.simulate(van_der_pol_rhs, [2.0, 0.0], 0.0, t, [m], 1e-10, 1e-10)[:, :1] for t, m in zip(times, mu)])
    sigma = 0.01
    start = np.where(is_long, mu * (1 + 0.003 * rng.choice([-1, 1], n)), 1.0)[:, None]
    noisy = values + sigma * rng.standard_normal(values.shape)
    case = scipy_loops.Case("van-der-pol", van_der_pol_rhs, [2.0, 0.0], times, start, noisy, np.full_like(values, sigma), [1.0],
                            ["y1"], ["mu"])
    case.is_long = is_long
    return case


def cases():
    """With the values of atol that the loop may choose from."""
    robertson, pinene, mix = scipy_loops.robertson_case(200), scipy_loops.pinene_case(200), heavy_tailed_case()
    robertson.atols, robertson.tight_atol = [1e-8, 1e-9, 1e-10, 1e-11], 1e-14
    pinene.atols, pinene.tight_atol = [1e-3, 1e-4, 1e-5, 1e-6], 1e-9
    mix.atols, mix.tight_atol = [1e-4, 1e-5, 1e-6, 1e-7], 1e-11
    for case in (robertson, pinene, mix):
        case.plugin = h.model(f"{case.name}.text")  # users write text, and lanes are made from it
    return [robertson, pinene, mix]
