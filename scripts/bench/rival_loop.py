"""A loop of fits in Python by MINPACK's lm through SciPy, on residuals and Jacobian by the logarithms of the parameters. The
integrators of rivals (numbalsoda_fit.py, amici_fit.py) are plugged in. It runs in a virtual environment of its own (see
rivals.py) and stays up between runs, so that imports and compilation are not counted.

Each line of the input is a request, a list of the words below as JSON; each is answered by one line of JSON.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import sys
import time

import numpy as np
from scipy.optimize import least_squares, leastsq

TIGHT_RTOL, TIGHT_FTOL = 1e-10, 1e-13


class Fit:
    """Residuals and Jacobian of one dataset; both come from one integration: evaluate(x) returns the two."""

    def __init__(self, evaluate):
        self.evaluate, self.point, self.answer, self.evaluations = evaluate, None, None, 0

    def at(self, x):
        point = x.tobytes()
        if point != self.point:
            self.answer, self.point = self.evaluate(x), point
            self.evaluations += 1
        return self.answer

    def residual(self, x):
        return self.at(x)[0]

    def jacobian(self, x):
        return self.at(x)[1]


def by_least_squares(fit, start):
    found = least_squares(fit.residual, start, jac=fit.jacobian, method="lm")
    return found.x, found.cost


def by_leastsq(fit, start):
    """The older and thinner way to MINPACK."""
    x, _, info, _, _ = leastsq(fit.residual, start, Dfun=fit.jacobian, full_output=True)
    return x, 0.5 * float(info["fvec"] @ info["fvec"])


OPTIMIZERS = {"leastsq": by_leastsq, "least_squares": by_least_squares}


class Loop:
    """Data of an .npz: start, time, value, sigma with a row per dataset. A rival has evaluator(i, rtol, atol), which gives the
    function of the logarithms of dataset i's parameters for Fit."""

    def __init__(self, path):
        file = np.load(path)
        self.file, self.start = file, np.log(file["start"])
        self.value, self.sigma = file["value"], file["sigma"]
        self.time = file["time"]

    def evaluator(self, i, rtol, atol):
        raise NotImplementedError

    def fit(self, n, optimizer, rtol, atol, output):
        """Fits n datasets, the first again where there are fewer; saves parameters, objectives and times of the first."""
        search, found, seconds, evaluations = OPTIMIZERS[optimizer], [], [], 0
        began, cpu_began = time.perf_counter(), time.process_time()
        for i in range(n):
            clock = time.thread_time()
            fit = Fit(self.evaluator(i % len(self.start), rtol, atol))
            found.append(search(fit, self.start[i % len(self.start)]))
            evaluations += fit.evaluations
            seconds.append(time.thread_time() - clock)
        cpu, wall = time.process_time() - cpu_began, time.perf_counter() - began
        first = found[:len(self.start)]
        np.savez(output, parameters=np.exp([x for x, _ in first]), objective=[value for _, value in first],
                 seconds=seconds[:len(self.start)])
        return {"cpu": cpu, "wall": wall, "evaluations": evaluations / n}

    def warm(self, rtol, atol):
        """Compiles what the first evaluation does."""
        self.evaluator(0, rtol, atol)(self.start[0])
        return {}

    def judge(self, candidates, atol, output):
        """The objective of each candidate's parameters and of the best that is known, for every dataset, at tight
        tolerances."""
        points = [np.log(np.load(path)["parameters"]) for path in candidates]
        table = np.full((len(points) + 1, len(self.start)), np.inf)
        for i in range(len(self.start)):
            fit = Fit(self.evaluator(i, TIGHT_RTOL, atol))
            for row, point in zip(table, points):
                if np.all(np.isfinite(point[i])):
                    row[i] = 0.5 * np.sum(fit.residual(point[i]) ** 2)
            if np.isfinite(table[:, i]).any():
                best = points[int(np.argmin(table[:-1, i]))][i]
                best = leastsq(fit.residual, best, Dfun=fit.jacobian, ftol=TIGHT_FTOL, xtol=TIGHT_FTOL)[0]
                table[-1, i] = min(table[:, i].min(), 0.5 * np.sum(fit.residual(best) ** 2))
        np.save(output, table)
        return {}

    def serve(self):
        for line in sys.stdin:
            request, *arguments = json.loads(line)
            print(json.dumps(getattr(self, request)(*arguments)), flush=True)
