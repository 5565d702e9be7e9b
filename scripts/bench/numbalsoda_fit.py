"""The strongest loop that a user of Python can write: sensitivity equations by hand, compiled with numba, integrated by
numbalsoda's LSODA, and MINPACK's lm (rival_loop.py). Models that are not written here come as text, from which
rival_equations.py writes the same.

    numbalsoda_fit.py DATA.npz   DATA: name, text, y0, weight, observed; start, time, value, sigma with a row per dataset

SPDX-License-Identifier: BSD-3-Clause
"""
import sys

import numba
import numpy as np
from numbalsoda import lsoda, lsoda_sig

import rival_loop
from rival_equations import Equations

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
def evaluate(log_p, address, u0, times, value, sigma, weight, observed, rtol, atol):
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
                residual[row] = (weight[j] * u[i + 1, observed[j]] - value[i, j]) / sigma[i, j]
                for k in range(n_parameter):
                    jacobian[row, k] = weight[j] * u[i + 1, (1 + k) * n_state + observed[j]] / sigma[i, j]
    return residual, jacobian


class Loop(rival_loop.Loop):
    def __init__(self, path):
        super().__init__(path)
        name, y0 = str(self.file["name"]), self.file["y0"]
        self.weight, self.observed = self.file["weight"], self.file["observed"]
        self.time = np.column_stack([np.zeros(len(self.start)), self.time])  # LSODA begins at the first of them
        if name not in MODELS:
            equations = Equations(str(self.file["text"]))
            y0, self.observed, space = np.array(equations.initial), np.array(equations.observed), {}
            exec(equations.sensitivities(), space)  # pylint: disable=exec-used
            MODELS[name] = numba.cfunc(lsoda_sig)(space["rhs"])
        self.address = MODELS[name].address
        self.u0 = np.zeros(len(y0) * (1 + self.start.shape[1]))
        self.u0[:len(y0)] = y0

    def evaluator(self, i, rtol, atol):
        known = (self.address, self.u0, self.time[i], self.value[i], self.sigma[i], self.weight, self.observed, rtol, atol)
        return lambda x: evaluate(x, *known)


if __name__ == "__main__":
    Loop(sys.argv[1]).serve()
