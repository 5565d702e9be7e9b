"""Whole fits of stiffit beside an earlier build, and beside the strongest loops in Python: one core, user and system CPU time
of the whole process (of two workers, wall time), medians of interleaved runs. A part of bench.py, or alone:

    [OLD=path/to/stiffit] whole.py [--quick] [--only NAME[,NAME...]] [--repeats N] [--no-rivals]

OLD names the earlier program; without it only rivals are compared. Each program compiles the model's text itself, before it is
timed. The rivals are numbalsoda with hand-written sensitivities, and AMICI, both with MINPACK's lm; rivals.py installs them
with pip below the build folder, and a row without its rival says why. SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types

import h5py
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "e2e")]

import helpers as h  # noqa: E402
import rivals  # noqa: E402
import scipy_loops  # noqa: E402
import test_random_starts  # noqa: E402
from measure import measure  # noqa: E402


class Row:
    """A problem of `n` fits (or `few`, if quick). `old`, `rival`: the least ratio of their time to ours that is wanted. `case`:
    for the rivals `by`, which get as many fits, or `n_rival`; the first of them is the one of the wanted ratio."""

    def __init__(self, n, few, make, old, rival=None, by=("numbalsoda",), n_rival=None):
        self.n, self.few, self.make, self.old, self.rival, self.by, self.n_rival = n, few, make, old, rival, by, n_rival
        self.case = None

    def write(self, tmp, quick):
        """The problem file and the model's text."""
        return self.make(self, tmp, self.few if quick else self.n)


def from_case(build):
    """Of a case of scipy_loops.py or rivals.py, with the absolute tolerances that the rival may choose from."""
    def make(row, tmp, n):
        row.case, atols, tight = build(n)
        row.case.atols, row.case.tight_atol = atols, tight
        row.case.plugin = h.model(f"{row.case.name}.text")
        row.case.write(tmp / "p.h5", n)
        return tmp / "p.h5", h.ROOT / "models" / row.case.name / f"{row.case.name}.ode"
    return make


def case_of(problem, text, n, atol):
    """The first n datasets of a problem file, whose datasets have the same times, and one absolute tolerance."""
    with h5py.File(problem) as file:
        n_observed, m = len(file["measurements/observable_names"]), file["measurements"]
        value, sigma, time_ = (m[name][()].reshape(len(file["datasets/id"]), -1, n_observed)[:n] for name in
                               ("value", "sigma", "time"))
        start, names = file["parameters/start"][()], file["parameters/name"].asstr()[()]
    return types.SimpleNamespace(name="text", text=text, y0=[0.0], weights=np.ones(n_observed), values=value, sigmas=sigma,
                                 times=time_[:, :, 0], start=start, names=list(names), atols=[atol], is_long=None)


def simulated(text, times, atol):
    """Of simulated datasets: `text` is a model's file, or makes one. `atol`: of the rivals."""
    def make(row, tmp, n):
        model = tmp / "model.ode"
        model.write_text(text() if callable(text) else (h.ROOT / "models" / text).read_text(encoding="utf-8"), encoding="utf-8")
        h.stiffit("simulate", "-m", model, "--times", times, "-n", n, "--noise", 0.02, "--spread", 0.2, "--seed", 7, "-o",
                  tmp / "p.h5")
        row.case = case_of(tmp / "p.h5", model.read_text(encoding="utf-8"), min(n, row.n_rival or n), atol)
        return tmp / "p.h5", model
    return make


def decay(_, tmp, n):
    h.decay_problem(tmp / "p.h5", n, n_time=4, known_sigma=True, model_name="decay.text")
    return tmp / "p.h5", h.ROOT / "models" / "decay" / "decay.ode"


def pinene(n):
    return scipy_loops.pinene_case(min(n, 200)), [1e-3, 1e-4, 1e-5, 1e-6], 1e-9


def robertson(n):
    return scipy_loops.robertson_case(min(n, 200)), [1e-8, 1e-9, 1e-10, 1e-11], 1e-14


def heavy(n):
    """A fit in a hundred follows thirty turns of a smooth limit cycle instead of a part of one."""
    return rivals.heavy_tailed_case(n, max(n // 100, 1), mu_long=(0.8, 1.3), end_long=200.0), [1e-4, 1e-5, 1e-6, 1e-7], 1e-11


def stiff(n):
    """Five slow ones, however many others there are."""
    return rivals.heavy_tailed_case(n, 5, mu_long=(35, 45)), [1e-4, 1e-5, 1e-6, 1e-7], 1e-11


def network(n_state):
    text = lambda: test_random_starts.network(n_state, 10, 3 * n_state // 2, 1)  # noqa: E731
    return simulated(text, "0.3,0.7,1.5,3,6,10,15,25", 1e-9)


def pollu_row(n, few, *wanted, **keywords):
    """Concentrations are in ppm, the smallest of them at 1e-17. Rounding decides how a fit goes along its flat valleys: the
    evaluations of one fit have a standard deviation of a quarter to two fifths between builds that differ in a bit, so a few
    fits say nothing of a change of the search."""
    return Row(n, few, simulated("pollu/pollu.ode", "5:60:5", 1e-12), *wanted, **keywords)


NETWORKS = {n: (old, rival) for n, old, rival in ((20, 1.3, 10), (50, 1.3, 13), (100, 2, 12))}
ROWS = {"alpha-pinene": Row(20000, 1000, from_case(pinene), 3.5, 20, n_rival=2000),
        "robertson": Row(20000, 1000, from_case(robertson), 2, 40, n_rival=2000),
        "heavy-tail": Row(1000, 200, from_case(heavy), 2.5, 15),
        "stiff-tail-500": Row(500, 100, from_case(stiff), 2.5, 4.5),
        "stiff-tail-5000": Row(5000, 500, from_case(stiff), 1.5, 7),
        "pollu": pollu_row(200, 16, 1.3, 25, by=("numbalsoda", "amici"), n_rival=2),
        "pollu-one": pollu_row(1, 1, 4, by=()),
        **{f"network-{n}": Row(64, 8, network(n), *wanted, by=("amici", "numbalsoda"), n_rival=8)
           for n, wanted in NETWORKS.items()},
        "million": Row(1000000, 20000, decay, 3, by=())}
# Two workers: the row whose problem is taken, and the least ratio of one worker's time to two's; None: what two copies of the
# earlier program give side by side, within 2 %.
PAIRS = {"two-workers": ("robertson", None), "two-workers-stiff": ("stiff-tail-500", 1.7)}


def programs():
    """By name; the earlier one only if OLD names it."""
    old = os.environ.get("OLD")
    return {"new": h.STIFFIT} | ({"old": pathlib.Path(old).resolve()} if old else {})


def command(program, problem, model, output, n_worker):
    words = (program, "run", problem, "--model", model, "-q", "-j", n_worker, "--overwrite", "-o", output)
    return [str(word) for word in words]


def run(program, problem, model, tmp, n_worker=1):
    """Figures of measure.py; one worker keeps to one core."""
    pin = ["taskset", "-c", rivals.one_cpu()] if n_worker == 1 else []
    figures = measure(pin + command(program, problem, model, tmp / "out.h5", n_worker), tmp / "figures.json",
                      env=h.environment(OPENBLAS_NUM_THREADS=1))
    assert figures["code"] in (0, 1), figures["stderr"]
    return figures


def ratio(above, below):
    return float(np.median([a / b for a, b in zip(above, below)]))


def open_rivals(row, pythons, tmp, stack):
    """{rival: (its loop, absolute tolerance)}, compiled."""
    found = {}
    for rival in row.by:
        if pythons.get(rival) and row.case is not None:
            loop = stack.enter_context(rivals.Loop(pythons[rival], row.case, tmp, rival))
            atols = row.case.atols
            found[rival] = loop, loop.best_atols()[0]["leastsq"] if len(atols) > 1 else atols[0]
            loop.ask("warm", rivals.RTOL, found[rival][1])
    return found


def beside(runs, atol, objective):
    """Of a rival's runs: how many of its fits end over a thousandth above ours, and below."""
    own = objective[:len(runs[0]["objective"])]
    found = runs[0]["objective"][:len(own)]
    return {"atol": atol, "evaluations": runs[0]["evaluations"], "above": int(np.sum(found > 1.001 * own)),
            "below": int(np.sum(found < own / 1.001)), "compared": len(own)}


def compare(name, tmp, quick, repeats, pythons):
    """Ratios of a row, of old and rivals over new, of seconds a fit. `pythons`: of the rivals that there are."""
    row = ROWS[name]
    problem, model = row.write(tmp, quick)
    n, fits, runs = row.few if quick else row.n, {}, {who: [] for who in programs()}
    for program in programs().values():
        run(program, problem, model, tmp)  # compiles the model's text, and reads the file into memory
    with contextlib.ExitStack() as stack:
        loops = open_rivals(row, pythons, tmp, stack)
        for _ in range(repeats):
            for who, program in programs().items():
                runs[who].append(run(program, problem, model, tmp))
                fits[who] = n
                if who == "new":
                    objective = h.read_fits(tmp / "out.h5")["objective"]
            for rival, (loop, atol) in loops.items():
                fits[rival] = row.n_rival or n
                runs.setdefault(rival, []).append(loop.fit(fits[rival], "leastsq", atol))
    us = {kind: {who: [1e6 * one[kind] / fits[who] for one in found] for who, found in runs.items()}
          for kind in ("cpu", "wall")}
    return {"fits": n, "wanted": {"old": row.old} | ({row.by[0]: row.rival} if row.by else {}),
            "rivals": {rival: beside(runs[rival], atol, objective) for rival, (_, atol) in loops.items()},
            "us_per_fit": {who: float(np.median(found)) for who, found in us["cpu"].items()},
            "wall_us_per_fit": {who: float(np.median(found)) for who, found in us["wall"].items()}, "us": us,
            "ratio": {who: ratio(found, us["cpu"]["new"]) for who, found in us["cpu"].items() if who != "new"},
            "fits_at_an_objective": int(np.sum(np.isfinite(objective)))}


def side_by_side(program, problem, model, tmp):
    """Wall seconds of two processes of one worker each."""
    began = time.monotonic()
    both = [subprocess.Popen(command(program, problem, model, tmp / f"side{i}.h5", 1), env=h.environment()) for i in range(2)]
    for process in both:
        process.wait()
    return time.monotonic() - began


def pair(name, tmp, quick, repeats):
    """Two workers over one; and twice the work by two copies of the earlier program (or of this one) over one of them."""
    row, wanted = ROWS[PAIRS[name][0]], PAIRS[name][1]
    problem, model = row.write(tmp, quick)
    earlier, walls = programs().get("old", h.STIFFIT), {"one": [], "two": [], "alone": [], "side": []}
    for program in programs().values():
        run(program, problem, model, tmp)
    for _ in range(repeats):
        walls["one"].append(run(h.STIFFIT, problem, model, tmp)["wall"])
        walls["two"].append(run(h.STIFFIT, problem, model, tmp, 2)["wall"])
        walls["alone"].append(run(earlier, problem, model, tmp)["wall"])
        walls["side"].append(side_by_side(earlier, problem, model, tmp))
    given = 2 * ratio(walls["alone"], walls["side"])
    return {"fits": row.few if quick else row.n, "wall_s": walls, "two_workers": ratio(walls["one"], walls["two"]),
            "machine": given, "wanted": wanted or 0.98 * given}


REPEATS = 5


def measure_one(name, quick, pythons, line, repeats=REPEATS):
    """Measures and prints a row by bench.py's `line`."""
    repeats = 1 if quick else repeats
    with tempfile.TemporaryDirectory(prefix="stiffit-bench-") as folder:
        tmp = pathlib.Path(folder)
        if name in PAIRS:
            found = pair(name, tmp, quick, repeats)
            line(f"{name}: one worker / two, whole process", found["two_workers"], found["wanted"])
            line(f"{name}: two processes / one: what the machine gives", found["machine"])
            return found
        found = compare(name, tmp, quick, repeats if name != "million" else 1, pythons)
    for who, us in found["us_per_fit"].items():
        line(f"{name}: {who}, us of CPU time a fit, of {found['fits']}", us)
        line(f"{name}: {who}, us by the clock", found["wall_us_per_fit"][who])
    for who, rival in found["rivals"].items():
        print(f"    {who}: {rival['evaluations']:.1f} evaluations a fit; of {rival['compared']} fits {rival['above']} end over "
              f"0.1 % above stiffit's, {rival['below']} below")
    for who, value in found["ratio"].items():
        line(f"{name}: {who} / new", value, found["wanted"].get(who))
    return found


def rivals_for(names):
    """{rival: its Python} for rows; says why one is missing."""
    found = {}
    for rival in sorted({rival for name in names if name in ROWS for rival in ROWS[name].by}):
        python, why = rivals.environment(rival)
        if python:
            found[rival] = python
        else:
            print(f"  {rival}: skipped: {why}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", metavar="NAME[,NAME...]", help=", ".join([*ROWS, *PAIRS]))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--no-rivals", action="store_true")
    args = parser.parse_args()
    names = args.only.split(",") if args.only else [*ROWS, *PAIRS]
    if set(names) - {*ROWS, *PAIRS}:
        parser.error(f"the rows are {', '.join([*ROWS, *PAIRS])}")
    pythons = {} if args.no_rivals else rivals_for(names)

    def line(what, value, target=None, at_least=True):
        verdict = "" if target is None else f"  ({'at least' if at_least else 'at most'} {target:.3g})"
        print(f"  {what:58} {value:10.4g}{verdict}", flush=True)

    for name in names:
        measure_one(name, args.quick, pythons, line, args.repeats)


if __name__ == "__main__":
    main()
