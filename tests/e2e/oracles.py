"""The example models once more in Python, with SciPy's integrators and optimisers: independent answers to compare with.

SPDX-License-Identifier: BSD-3-Clause
"""
import functools

import numpy as np
from scipy.integrate import odeint, solve_ivp
from scipy.optimize import least_squares, minimize

PINENE_T = np.array([1230.0, 3060, 4920, 7800, 10680, 15030, 22620, 36420])
PINENE_Y = np.array([  # species x times: Box, Hunter, MacGregor & Erjavec 1973
    [88.35, 76.4, 65.1, 50.4, 37.5, 25.9, 14.0, 4.5],
    [7.3, 15.6, 23.1, 32.9, 42.7, 49.1, 57.4, 63.1],
    [2.3, 4.5, 5.3, 6.0, 6.0, 5.9, 5.1, 3.8],
    [0.4, 0.7, 1.1, 1.5, 1.9, 2.2, 2.6, 2.9],
    [1.75, 2.8, 5.8, 9.3, 12.0, 17.0, 21.0, 25.7]])
# Found with SciPy 1.10 (BDF and LSODA, rtol 1e-8, from 1e-4 each).
PINENE_SUM_OF_SQUARES = 19.872167
PINENE_P = np.array([5.92585e-05, 2.96340e-05, 2.04728e-05, 2.74468e-04, 3.99795e-05])

ROBERTSON_P = np.array([0.04, 1e4, 3e7])
# From y2's rise to well into the slow phase: with y2 seen all three parameters can be told apart.
ROBERTSON_T = np.array([1e-3, 3e-3, 1e-2, 0.1, 1, 4, 10, 40, 100, 400, 1000, 4000])


def pinene_rhs(t, y, p):
    p1, p2, p3, p4, p5 = p
    return [-(p1 + p2) * y[0], p1 * y[0], p2 * y[0] - (p3 + p4) * y[2] + p5 * y[4], p3 * y[2], p4 * y[2] - p5 * y[4]]


def robertson_rhs(t, y, p):
    slow, fast, faster = p[0] * y[0], p[1] * y[1] * y[2], p[2] * y[1] * y[1]
    return [-slow + fast, slow - fast - faster, faster]


def robertson_jacobian(t, y, p):
    return [[-p[0], p[1] * y[2], p[1] * y[1]],
            [p[0], -p[1] * y[2] - 2 * p[2] * y[1], -p[1] * y[1]],
            [0.0, 2 * p[2] * y[1], 0.0]]


def simulate(rhs, y0, t0, times, p, rtol=1e-10, atol=1e-12, jacobian=None):
    """States at `times` (times x states) by ODEPACK's LSODA."""
    grid = np.concatenate([[t0], times])
    y = odeint(rhs, y0, grid, args=(p,), rtol=rtol, atol=atol, tfirst=True, mxstep=100000, Dfun=jacobian)
    return y[1:]


def robertson_observed(p, times=ROBERTSON_T, rtol=1e-10):
    """y1, 1e4 y2, y3 at the times."""
    y = simulate(robertson_rhs, [1.0, 0.0, 0.0], 0.0, times, p, rtol, rtol * 1e-4, robertson_jacobian)
    return y * [1.0, 1e4, 1.0]


@functools.lru_cache(maxsize=4)
def robertson_data(n, seed=7, spread=0.3):
    """True parameters and (value, sigma) of n synthetic datasets: 2 % noise on a floor of 0.002."""
    rng = np.random.default_rng(seed)
    true = ROBERTSON_P * np.exp(spread * rng.standard_normal((n, 3)))
    exact = np.array([robertson_observed(p) for p in true])
    sigma = 0.02 * np.abs(exact) + 0.002
    return true, exact + sigma * rng.standard_normal(exact.shape), sigma


def robertson_objective(p, value, sigma, rtol=1e-11):
    return 0.5 * np.sum(((robertson_observed(p, rtol=rtol) - value) / sigma) ** 2)


def fit_log(residuals, start, lower=-np.inf, upper=np.inf):
    """Levenberg-Marquardt-like least squares on log parameters; the parameters of the best point."""
    found = least_squares(lambda x: residuals(np.exp(x)), np.log(start), bounds=(lower, upper), method="trf",
                          xtol=1e-12, ftol=1e-12, gtol=1e-10, diff_step=1e-5)
    return np.exp(found.x)


def fit_bounded(objective, start, bounds):
    """SciPy's L-BFGS-B in natural parameters' logs, bounds included."""
    found = minimize(lambda x: objective(np.exp(x)), np.log(start), method="L-BFGS-B", bounds=bounds,
                     options={"ftol": 1e-14, "gtol": 1e-9, "eps": 1e-6, "maxiter": 500, "maxfun": 5000})
    return np.exp(found.x), found.fun


def theophylline(t, dose, lke, lka, lcl):
    """SSfol: one compartment, first-order absorption and elimination; logarithms as parameters."""
    ke, ka, cl = np.exp([lke, lka, lcl])
    return dose * ke * ka / (cl * (ka - ke)) * (np.exp(-ke * t) - np.exp(-ka * t))


def lotka_volterra(p, times, rtol=1e-10):
    alpha, beta, gamma, delta, hare, lynx = p
    found = solve_ivp(lambda t, y: [y[0] * (alpha - beta * y[1]), y[1] * (delta * y[0] - gamma)],
                      (times[0], times[-1]), [hare, lynx], t_eval=times, method="DOP853", rtol=rtol, atol=rtol)
    return found.y.T
