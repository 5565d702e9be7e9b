#!/usr/bin/python3
"""Constrained optima by SciPy's L-BFGS-B for tests/unit/test_fit_scipy.c: one line a problem, the objective and
the natural parameters. The problems are written out a second time here, on purpose.
SPDX-License-Identifier: BSD-3-Clause"""
import numpy as np
from scipy.optimize import minimize

I = np.arange(12.0)
T = 0.5 * I


def decay(p):
    return p[0] * np.exp(-p[1] * T) + p[2] - (3 * np.exp(-0.7 * T) + 0.2 + 0.1 * np.sin(5 * I))


def two_exponentials(p):
    return (p[0] * np.exp(-p[1] * T) + p[2] * np.exp(-p[3] * T)
            - (2 * np.exp(-2 * T) + np.exp(-0.3 * T) + 0.05 * np.sin(5 * I)))


def rosenbrock(p):
    return np.array([10 * (p[1] - p[0] ** 2), 1 - p[0]])


INF = np.inf
PROBLEMS = [  # residuals, logarithmic scale?, start, lower, upper
    (decay, True, [1, 1, 1], [0, 0.1, 0.4], [INF, 5, 2]),
    (decay, True, [1, 1, 0.1], [0, 0.1, 0.05], [2.5, 5, 2]),
    (decay, False, [1, 1, 0], [0, 0.1, 0.05], [2.5, 5, 0.1 + 0.2]),
    (decay, False, [5, 0.2, 1], [4, 0.1, -INF], [INF, 0.3, INF]),
    (decay, True, [1, 1, 1], [0, 0.1, 0], [INF, 5, INF]),
    (two_exponentials, True, [1, 3, 1, 0.1], [0.1, 1, 0.1, 0.01], [1.5, 10, 10, 0.25]),
    (two_exponentials, True, [1, 3, 1, 0.1], [0.1, 2.5, 0.1, 0.01], [10, 10, 10, 1]),
    (two_exponentials, False, [1, 3, 1, 0.1], [0.1, 1, 0.1, 0.35], [10, 10, 10, 0.9]),
    (rosenbrock, False, [-1.2, 1], [-2, -INF], [0.5, INF]),
    (rosenbrock, False, [-1.2, 1], [-2, 0.7], [0.8, 2]),
    (rosenbrock, False, [0.2, 3], [-2, 1.5], [3, 5]),
    (rosenbrock, False, [-1.2, 1], [-INF, -INF], [INF, INF]),
]


def natural(x, log):
    return np.exp(x) if log else x


def to_scale(p, log):
    p = np.array(p, float)
    with np.errstate(divide="ignore"):
        return np.log(p) if log else p


def gradient(f, x, bounds):
    """Central differences with a step that stays meaningful to 1e-9; the functions are smooth beyond their bounds."""
    h = 1e-5
    return np.array([(8 * (f(x + h * e) - f(x - h * e)) - f(x + 2 * h * e) + f(x - 2 * h * e)) / (12 * h)
                     for e in np.eye(len(x))])


for residuals, log, start, lower, upper in PROBLEMS:
    def objective(x):
        return 0.5 * np.sum(residuals(natural(x, log)) ** 2)
    bounds = list(zip(to_scale(lower, log), to_scale(upper, log)))
    x = to_scale(start, log)
    for _ in range(3):  # from where it stopped, with its memory dropped
        x = minimize(objective, x, jac=lambda z: gradient(objective, z, bounds), method="L-BFGS-B", bounds=bounds,
                     options=dict(ftol=1e-16, gtol=1e-10, maxiter=10000, maxfun=100000)).x
    print(len(x), "%.17g" % objective(x), " ".join("%.17g" % v for v in natural(x, log)))
