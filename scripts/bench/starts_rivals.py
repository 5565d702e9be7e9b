"""The other optimisers of starts.py: fides and SciPy's trf, each from every start, in a process of their own, since fides needs
a newer Python than the tests do. Usage: starts_rivals.py fides|trf PLUGIN INPUT.npz OUTPUT.npz BRIDGE.

SPDX-License-Identifier: BSD-3-Clause

INPUT holds lower, upper, starts (on the log10 scale), y, conditions and times, as in starts_problems.py; OUTPUT gets
objective, theta, evaluations and CPU seconds (this process's and the bridge's) of each start. Both minimise the same negative
log-likelihood with Gauss and Newton's curvature: fides with its expected second derivatives, trf with residuals whose squares
add up to it.
"""
import logging
import subprocess
import sys
import time

import numpy as np

# AMICI's offset: sqrt(2 (log sigma + OFFSET)) must be real for all sigma above 1e-5.
OFFSET = 25.0
# pyPESTO's are 1000 iterations for fides; trf counts evaluations.
MAX_ITERATION = 1000


class Objective:
    def __init__(self, process, y, n):
        self.process, self.y, self.n = process, y, n
        self.n_row, self.n_evaluation, self.bridge_cpu = len(y), 0, 0.0
        self.last = None

    def ask(self, theta):
        """prediction, noise, and their derivatives by theta; None: failed."""
        if self.last is not None and np.array_equal(self.last[0], theta):
            return self.last[1]
        self.process.stdin.write((10.0 ** np.asarray(theta, float)).tobytes())
        self.process.stdin.flush()
        self.n_evaluation += 1
        answer = np.frombuffer(self.process.stdout.read(8 * (2 + self.n_row * (2 + 2 * self.n))), float)
        self.bridge_cpu += answer[1]
        found = None
        if answer[0] == 0:
            m, s = answer[2:2 + 2 * self.n_row].reshape(2, -1)
            slopes = answer[2 + 2 * self.n_row:].reshape(2, self.n, self.n_row)
            chain = np.log(10.0) * 10.0 ** np.asarray(theta, float)
            found = m, s, (slopes[0] * chain[:, None]).T, (slopes[1] * chain[:, None]).T
        self.last = np.array(theta), found
        return found

    def value(self, theta):
        """objective, gradient, expected second derivatives: what fides asks for."""
        found = self.ask(theta)
        if found is None:
            return np.nan, np.full(self.n, np.nan), np.full((self.n, self.n), np.nan)
        m, s, dm, ds = found
        r = (m - self.y) / s
        a, b = dm / s[:, None], ds / s[:, None]
        f = np.sum(0.5 * r * r + np.log(s) + 0.5 * np.log(2 * np.pi))
        return f, a.T @ r + b.T @ (1 - r * r), a.T @ a + 2 * b.T @ b

    def residuals(self, theta):
        found = self.ask(theta)
        if found is None:
            return np.full(2 * self.n_row, 1e10)
        m, s, *_ = found
        return np.concatenate([(m - self.y) / s, np.sqrt(2 * (np.log(s) + OFFSET))])

    def slopes(self, theta):
        found = self.ask(theta)
        if found is None:
            return np.zeros((2 * self.n_row, self.n))
        m, s, dm, ds = found
        r, more = (m - self.y) / s, np.sqrt(2 * (np.log(s) + OFFSET))
        return np.vstack([(dm - r[:, None] * ds) / s[:, None], ds / (s * more)[:, None]])


def fides(objective, start, lower, upper):
    from fides import Optimizer
    optimizer = Optimizer(objective.value, ub=upper, lb=lower, verbose=logging.CRITICAL, options={"maxiter": MAX_ITERATION})
    optimizer.minimize(start)
    return optimizer.x_min


def trf(objective, start, lower, upper):
    from scipy.optimize import least_squares
    start = np.clip(start, lower + 1e-10, upper - 1e-10)
    return least_squares(objective.residuals, start, objective.slopes, bounds=(lower, upper), method="trf",
                         max_nfev=MAX_ITERATION).x


def main():
    method, plugin, given, output, bridge = sys.argv[1:]
    problem = np.load(given)
    lower, upper = problem["lower"], problem["upper"]
    process = subprocess.Popen([bridge, plugin, "cvodes", "1e-8"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    conditions, times = problem["conditions"], problem["times"]
    process.stdin.write(np.concatenate([[*conditions.shape, len(times)], conditions.ravel(), times]).tobytes())
    objective = Objective(process, problem["y"], len(lower))
    logging.disable(logging.CRITICAL)
    rows = []
    for start in problem["starts"]:
        before, began, spent = objective.n_evaluation, time.process_time(), objective.bridge_cpu
        f, theta = np.nan, np.full(len(start), np.nan)
        try:
            theta = {"fides": fides, "trf": trf}[method](objective, start.copy(), lower, upper)
            f = objective.value(theta)[0]
        except (RuntimeError, ValueError, np.linalg.LinAlgError):
            pass
        rows.append((f, objective.n_evaluation - before, time.process_time() - began + objective.bridge_cpu - spent, *theta))
        rows_now = np.array(rows)
        np.savez(output, objective=rows_now[:, 0], evaluations=rows_now[:, 1], cpu=rows_now[:, 2], theta=rows_now[:, 3:])
    process.stdin.close()
    process.wait()


if __name__ == "__main__":
    main()
