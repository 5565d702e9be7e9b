"""The strongest loop that a user of Python can write: sensitivity equations by hand, compiled with numba, integrated by
numbalsoda's LSODA, and MINPACK's lm through SciPy, on residuals and Jacobian by the logarithms of the parameters. It runs in a
virtual environment of its own (see rivals.py) and stays up between runs, so that imports and compilation are not counted.

    numbalsoda_fit.py DATA.npz   DATA: name, y0, weight; start, time, value, sigma with a row per dataset

Each line of the input is a request, a list of the words below as JSON; each is answered by one line of JSON.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import sys
import time

import numba
import numpy as np
from numbalsoda import lsoda, lsoda_sig
from scipy.optimize import least_squares, leastsq

TIGHT_RTOL, TIGHT_FTOL = 1e-10, 1e-13
MOST_STEPS = 100000


@numba.cfunc(lsoda_sig)
def robertson(t, u, du, p):
    k1, k2, k3 = p[0], p[1], p[2]
    y1, y2, y3 = u[0], u[1], u[2]
    slow, fast, faster = k1 * y1, k2 * y2 * y3, k3 * y2 * y2
    du[0], du[1], du[2] = -slow + fast, slow - fast - faster, faster
    for k in range(3):
        s = 3 + 3 * k
        d_slow = k1 * u[s]
        d_fast = k2 * (u[s + 1] * y3 + y2 * u[s + 2])
        d_faster = 2 * k3 * y2 * u[s + 1]
        if k == 0:
            d_slow += slow
        elif k == 1:
            d_fast += fast
        else:
            d_faster += faster
        du[s], du[s + 1], du[s + 2] = -d_slow + d_fast, d_slow - d_fast - d_faster, d_faster


@numba.cfunc(lsoda_sig)
def alpha_pinene(t, u, du, p):
    p1, p2, p3, p4, p5 = p[0], p[1], p[2], p[3], p[4]
    for k in range(6):  # the states, then their derivatives by each parameter's logarithm: the same linear equations
        s = 5 * k
        a, b, c, d, e = p1 * u[s], p2 * u[s], p3 * u[s + 2], p4 * u[s + 2], p5 * u[s + 4]
        if k == 1:
            a += p1 * u[0]
        elif k == 2:
            b += p2 * u[0]
        elif k == 3:
            c += p3 * u[2]
        elif k == 4:
            d += p4 * u[2]
        elif k == 5:
            e += p5 * u[4]
        du[s], du[s + 1], du[s + 2], du[s + 3], du[s + 4] = -(a + b), a, b - c - d + e, c, d - e


@numba.cfunc(lsoda_sig)
def van_der_pol(t, u, du, p):
    mu = p[0]
    damping = mu * (1 - u[0] * u[0])
    du[0] = u[1]
    du[1] = damping * u[1] - u[0]
    du[2] = u[3]
    du[3] = damping * u[3] - (2 * mu * u[0] * u[1] + 1) * u[2] + damping * u[1]


MODELS = {"robertson": robertson, "alpha-pinene": alpha_pinene, "van-der-pol": van_der_pol}


@numba.njit
def evaluate(address, u0, log_p, times, value, sigma, weight, rtol, atol):
    """Residuals and their Jacobian; residuals of 1e6 where the integration fails."""
    n_time, n_observable = value.shape
    n_parameter = len(log_p)
    n_state = len(u0) // (1 + n_parameter)
    residual = np.full(n_time * n_observable, 1e6)
    jacobian = np.zeros((n_time * n_observable, n_parameter))
    u, ok = lsoda(address, u0, times, np.exp(log_p), rtol, atol, MOST_STEPS)
    if ok:
        for i in range(n_time):
            for j in range(n_observable):
                row = i * n_observable + j
                residual[row] = (weight[j] * u[i + 1, j] - value[i, j]) / sigma[i, j]
                for k in range(n_parameter):
                    jacobian[row, k] = weight[j] * u[i + 1, (1 + k) * n_state + j] / sigma[i, j]
    return residual, jacobian


class Fit:
    """Residuals and Jacobian of one dataset; both come from one integration."""

    def __init__(self, data, i, rtol, atol):
        self.rest = (data.time[i], data.value[i], data.sigma[i], data.weight, rtol, atol)
        self.address, self.u0, self.point, self.evaluations = data.address, data.u0, None, 0

    def at(self, x):
        point = x.tobytes()
        if point != self.point:
            self.answer, self.point = evaluate(self.address, self.u0, x, *self.rest), point
            self.evaluations += 1
        return self.answer

    def residual(self, x):
        return self.at(x)[0]

    def jacobian(self, x):
        return self.at(x)[1]


def by_least_squares(fit, start):
    return least_squares(fit.residual, start, jac=fit.jacobian, method="lm").x


def by_leastsq(fit, start):
    """The older and thinner way to MINPACK."""
    return leastsq(fit.residual, start, Dfun=fit.jacobian)[0]


OPTIMIZERS = {"leastsq": by_leastsq, "least_squares": by_least_squares}


class Data:
    def __init__(self, path):
        file = np.load(path)
        n = len(file["start"])
        self.time = np.column_stack([np.zeros(n), file["time"]])  # LSODA begins at the first of them
        self.value, self.sigma, self.weight = file["value"], file["sigma"], file["weight"]
        self.start, self.address = np.log(file["start"]), MODELS[str(file["name"])].address
        self.u0 = np.zeros(len(file["y0"]) * (1 + self.start.shape[1]))
        self.u0[:len(file["y0"])] = file["y0"]

    def fit(self, n, optimizer, rtol, atol, output):
        """Fits n datasets, the first again where there are fewer; saves parameters and times of the first."""
        search, found, seconds, evaluations = OPTIMIZERS[optimizer], [], [], 0
        began, cpu_began = time.perf_counter(), time.process_time()
        for i in range(n):
            clock = time.thread_time()
            fit = Fit(self, i % len(self.start), rtol, atol)
            found.append(search(fit, self.start[i % len(self.start)]))
            evaluations += fit.evaluations
            seconds.append(time.thread_time() - clock)
        cpu, wall = time.process_time() - cpu_began, time.perf_counter() - began
        np.savez(output, parameters=np.exp(found[:len(self.start)]), seconds=seconds[:len(self.start)])
        return {"cpu": cpu, "wall": wall, "evaluations": evaluations / n}

    def judge(self, candidates, atol, output):
        """The objective of each candidate's parameters and of the best that is known, for every dataset, at tight
        tolerances."""
        points = [np.log(np.load(path)["parameters"]) for path in candidates]
        table = np.full((len(points) + 1, len(self.start)), np.inf)
        for i in range(len(self.start)):
            fit = Fit(self, i, TIGHT_RTOL, atol)
            for row, point in zip(table, points):
                if np.all(np.isfinite(point[i])):
                    row[i] = 0.5 * np.sum(fit.residual(point[i]) ** 2)
            if np.isfinite(table[:, i]).any():
                best = points[int(np.argmin(table[:-1, i]))][i]
                best = leastsq(fit.residual, best, Dfun=fit.jacobian, ftol=TIGHT_FTOL, xtol=TIGHT_FTOL)[0]
                table[-1, i] = min(table[:, i].min(), 0.5 * np.sum(fit.residual(best) ** 2))
        np.save(output, table)
        return {}


def main():
    data = Data(sys.argv[1])
    for line in sys.stdin:
        request, *arguments = json.loads(line)
        print(json.dumps(getattr(data, request)(*arguments)), flush=True)


if __name__ == "__main__":
    main()
