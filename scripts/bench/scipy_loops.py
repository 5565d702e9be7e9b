"""Fits per second of stiffit and of the Python loops that people write today, on the same datasets: same starts, same
logarithmic scale, same integrator tolerance, one core each. The optima are compared at a tight tolerance.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import time

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares, minimize

import helpers as h
import oracles as o
from measure import measure

RTOL, ATOL = 1e-6, 1e-9
# Differences of a function that is known to about RTOL: a step of its square root on the logarithm (1e-3) is the usual
# choice. SciPy's own default (1.5e-8) would measure the integrator's noise, and stop after a few steps.
DIFFERENCE_STEP = 1e-3
AGREEMENT = 1e-3  # objectives re-evaluated at rtol 1e-10


class Case:
    """One model with its datasets: how Python integrates it, and the file that stiffit reads."""

    def __init__(self, name, rhs, y0, times, start, values, sigmas, weights, observables, names, jacobian=None):
        self.name, self.rhs, self.y0 = name, rhs, y0
        self.times, self.start = times, np.asarray(start)  # the same for all datasets, or a row for each
        self.values, self.sigmas = values, sigmas  # datasets x times x observables
        self.weights, self.observables, self.names, self.jacobian = np.asarray(weights), observables, names, jacobian
        self.plugin, self.is_long = h.model(name), None

    def write(self, path, n):
        """The problem file of the first n datasets (over again if there are fewer)."""
        pick = np.arange(n) % len(self.values)
        n_time, n_obs = self.values.shape[1:]
        times = np.broadcast_to(self.times, self.values.shape[:2])[pick]
        start = self.start if self.start.ndim == 1 else self.start[pick]
        rows = np.column_stack([
            np.repeat(np.arange(n), n_time * n_obs), np.repeat(times, n_obs),
            np.tile(np.arange(n_obs), n * n_time), self.values[pick].ravel(), self.sigmas[pick].ravel()])
        h.write_problem(path, self.plugin, [f"{self.name}-{i}" for i in range(n)], rows,
                        parameters={"name": self.names, "start": start, "scale": ["log"] * len(self.names),
                                    "lower": [0.0] * len(self.names), "upper": [np.inf] * len(self.names),
                                    "observables": self.observables})

    def residuals(self, i, p, method, rtol=RTOL, atol=ATOL):
        """Weighted residuals of dataset i, by solve_ivp; large where the integration fails."""
        extra = {"jac": lambda t, y: self.jacobian(t, y, p)} if self.jacobian else {}
        found = solve_ivp(lambda t, y: self.rhs(t, y, p), (0.0, self.times[-1]), self.y0, method=method,
                          t_eval=self.times, rtol=rtol, atol=atol, **extra)
        if found.y.shape[1] != len(self.times):
            return np.full(self.values[i].size, 1e6)
        return ((found.y.T * self.weights - self.values[i]) / self.sigmas[i]).ravel()

    def objective(self, i, p):
        """Half the weighted sum of squares at rtol 1e-10 (ODEPACK)."""
        y = o.simulate(self.rhs, self.y0, 0.0, self.times, p, 1e-10, 1e-13, self.jacobian)
        return 0.5 * np.sum(((y * self.weights - self.values[i]) / self.sigmas[i]) ** 2)


def pinene_case(n=50):
    """alpha-pinene: the real data, then parametric bootstrap datasets of it (standard deviation of its residuals)."""
    best = o.simulate(o.pinene_rhs, [100.0, 0, 0, 0, 0], 0.0, o.PINENE_T, o.PINENE_P)
    rng = np.random.default_rng(5)
    sd = np.sqrt(o.PINENE_SUM_OF_SQUARES / (40 - 5))
    values = np.concatenate([o.PINENE_Y.T[None], best + sd * rng.standard_normal((n - 1, 8, 5))])

    def jacobian(t, y, p):
        p1, p2, p3, p4, p5 = p
        return [[-(p1 + p2), 0, 0, 0, 0], [p1, 0, 0, 0, 0], [p2, 0, -(p3 + p4), 0, p5], [0, 0, p3, 0, 0],
                [0, 0, p4, 0, -p5]]
    return Case("alpha-pinene", o.pinene_rhs, [100.0, 0, 0, 0, 0], o.PINENE_T, [1e-4] * 5, values,
                np.ones_like(values), np.ones(5), ["y1", "y2", "y3", "y4", "y5"], ["p1", "p2", "p3", "p4", "p5"],
                jacobian)


def robertson_case(n=200):
    _, value, sigma = o.robertson_data(n)
    return Case("robertson", o.robertson_rhs, [1.0, 0, 0], o.ROBERTSON_T, o.ROBERTSON_P, value, sigma,
                [1.0, 1e4, 1.0], ["y1", "y2e4", "y3"], ["p1", "p2", "p3"], o.robertson_jacobian)


def bdf_lbfgsb(case, i):
    """solve_ivp's BDF with L-BFGS-B and difference quotients."""
    found = minimize(lambda x: 0.5 * np.sum(case.residuals(i, np.exp(x), "BDF") ** 2), np.log(case.start),
                     method="L-BFGS-B", options={"eps": DIFFERENCE_STEP})
    return np.exp(found.x)


def lsoda_least_squares(case, i):
    """solve_ivp's LSODA with least_squares and difference quotients."""
    found = least_squares(lambda x: case.residuals(i, np.exp(x), "LSODA"), np.log(case.start),
                          diff_step=DIFFERENCE_STEP)
    return np.exp(found.x)


LOOPS = {"bdf_lbfgsb": bdf_lbfgsb, "lsoda_least_squares": lsoda_least_squares}


def time_loop(loop, case, seconds, least=2, most=20):
    """Fits datasets 0, 1, ... until `seconds` are over; seconds per fit and the parameters found."""
    found = []
    began = time.process_time()
    while len(found) < least or (time.process_time() - began < seconds and len(found) < most):
        found.append(loop(case, len(found)))
    return (time.process_time() - began) / len(found), found


def compare(case, tmp, n, seconds, repeats):
    """All figures of one case."""
    problem = tmp / f"{case.name}.h5"
    case.write(problem, n)
    output = tmp / f"{case.name}.result.h5"
    one_core = min(os.sched_getaffinity(0))
    text, runs = h.ROOT / "models" / case.name / f"{case.name}.ode", []
    for _ in range(repeats):
        output.unlink(missing_ok=True)
        figures = measure(["taskset", "-c", one_core, h.STIFFIT, "run", problem, "--model", text, "-q", "-j", 1,
                           "--rtol", RTOL, "--atol", ATOL, "-o", output], tmp / "figures.json", env=h.environment())
        assert figures["code"] in (0, 1), figures["stderr"]
        runs.append(figures["wall"])
    fits = h.read_fits(output)
    report = {"datasets": n, "seconds": sorted(runs), "stiffit_fits_per_second": n / np.median(runs),
              "converged": int(np.sum(fits["status"] == "converged")), "evaluations_per_fit":
              float(np.mean(fits["evaluations"])), "loops": {}}
    for name, loop in LOOPS.items():
        per_fit, found = time_loop(loop, case, seconds)
        apart = []
        for i, p in enumerate(found):
            theirs, ours = case.objective(i, p), case.objective(i, fits["parameters"][i])
            difference = theirs / ours - 1
            if abs(difference) > AGREEMENT:
                who = "SciPy's is worse" if difference > 0 else "stiffit's is worse"
                apart.append({"dataset": str(fits["id"][i]), "stiffit": ours, "scipy": theirs, "who": who})
        report["loops"][name] = {"fits_per_second": 1 / per_fit, "fits": len(found),
                                 "ratio": report["stiffit_fits_per_second"] * per_fit, "objectives_apart": apart}
    return report
