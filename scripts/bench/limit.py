"""stiffit over programs that do nothing but one kind of fit (bench_limit_*.c): one core, whole processes, CPU time. Both get
the same datasets and starts; a limit program runs at the loosest tolerance with which its optima are those of stiffit. A
part of bench.py; or alone: limit.py [--quick].

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "e2e")]

import helpers as h  # noqa: E402
import rivals  # noqa: E402
import scipy_loops  # noqa: E402
import tolerances  # noqa: E402
from measure import measure  # noqa: E402

# The same optimum: no objective, evaluated at tight tolerances, is above the other's by more than this part; and standard
# errors agree within this part, as these are of derivatives at the run's own tolerance.
SAME, SAME_ERROR = 1e-7, 1e-3
RTOLS = (1e-4, 3e-5, 1e-5, 1e-6, 1e-7)


def cases(n):
    """By the name of the program's last part."""
    found = {"pinene": scipy_loops.pinene_case(min(n, 200)), "robertson": scipy_loops.robertson_case(min(n, 200))}
    for case in found.values():
        case.plugin = h.model(f"{case.name}.text")
    return found


def write(path, case, n):
    pick = np.arange(n) % len(case.values)
    values, sigmas = case.values[pick], case.sigmas[pick]
    head = [n, values.shape[1], values.shape[2], len(case.names)]
    np.concatenate([head, case.times, case.start, values.ravel(), sigmas.ravel()]).astype(float).tofile(path)


class Limit:
    """A limit program and its data."""

    def __init__(self, name, case, tmp, n):
        self.program, self.case, self.n = h.BUILD / "bench" / f"bench_limit_{name}", case, n
        self.data, self.output, self.report = tmp / f"{name}.raw", tmp / f"{name}.out", tmp / "limit.json"
        write(self.data, case, n)

    def run(self, rtol):
        """Figures of measure.py, and of each fit parameters, standard errors, evaluations."""
        figures = measure(["taskset", "-c", rivals.one_cpu(), self.program, self.data, self.output, rtol], self.report)
        assert figures["code"] == 0, figures["stderr"]
        k = len(self.case.names)
        rows = np.fromfile(self.output).reshape(self.n, 2 * k + 2)
        return figures, {"parameters": rows[:, :k], "standard_error": rows[:, k:2 * k], "evaluations": rows[:, -1]}

    def loosest(self, judge, tmp, fits):
        """The loosest tolerance with the same optima as `fits`, and the largest part by which an objective is above."""
        ours = judge.tight_objective(tmp, fits["parameters"])
        for rtol in RTOLS:
            found = self.run(rtol)[1]
            above = float(np.max(judge.tight_objective(tmp, found["parameters"]) / ours - 1))
            error = float(np.max(np.abs(found["standard_error"] / fits["standard_error"] - 1)))
            if above <= SAME and error <= SAME_ERROR:
                return rtol, above
        raise AssertionError(f"{self.program.name}: other optima than stiffit's: {above:.2g} above, errors by {error:.2g}")


def compare(name, case, tmp, n, repeats):
    """Medians of interleaved runs of n fits."""
    problem, few = tmp / f"limit-{name}.h5", tmp / f"limit-{name}-few.h5"
    n_few = min(n, 200)
    case.write(problem, n)
    case.write(few, n_few)
    judge = tolerances.Case(case.name, "bench", few)
    _, fits = rivals.run_alone(few, tmp)
    rtol, above = Limit(name, case, tmp, n_few).loosest(judge, tmp, fits)
    limit, cpu = Limit(name, case, tmp, n), {"stiffit": [], "limit": []}
    for _ in range(repeats):
        figures, fits = rivals.run_alone(problem, tmp)
        cpu["stiffit"].append(figures["cpu"])
        figures, found = limit.run(rtol)
        cpu["limit"].append(figures["cpu"])
    return {"fits": n, "rtol": rtol, "above": above, "cpu_s": cpu,
            "us_per_fit": {who: 1e6 * float(np.median(seconds)) / n for who, seconds in cpu.items()},
            "evaluations": {"stiffit": float(np.mean(fits["evaluations"])), "limit": float(np.mean(found["evaluations"]))},
            "ratio": float(np.median([a / b for a, b in zip(cpu["stiffit"], cpu["limit"])]))}


def show(line, name, found, target=2.5):
    """Prints the figures by bench.py's `line`."""
    for who in ("limit", "stiffit"):
        line(f"{name}: {who}, us a fit", found["us_per_fit"][who])
        line(f"{name}: {who}, evaluations a fit", found["evaluations"][who])
    line(f"{name}: time over a hand-written loop (rtol {found['rtol']:g})", found["ratio"], target, False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()

    def line(what, value, target=None, at_least=True):
        verdict = "" if target is None else f"  ({'at least' if at_least else 'at most'} {target:.3g})"
        print(f"  {what:58} {value:10.4g}{verdict}", flush=True)

    with tempfile.TemporaryDirectory(prefix="stiffit-bench-") as folder:
        for name, case in cases(200).items():
            found = compare(name, case, pathlib.Path(folder), *((2000, 3) if args.quick else (20000, 5)))
            show(line, case.name, found)


if __name__ == "__main__":
    main()
