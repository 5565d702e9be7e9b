"""Datasets whose random effect has two modes: after an infusion a concentration rises or falls with the volume. -2 log L
against a plain grid over the prior, and its maximum over the estimates.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

import helpers as h
import mixed

h.compile_as_users_do()

MODEL = """parameter V = 20 scale log
parameter Cl = 2 scale log
parameter sa = 0.1 scale log
covariate rate, end
centre(0) = 0
centre' = rate*(if t < end then 1 else 0) - Cl/V*centre
observe c = centre/V sd sa
"""
# The spacing is 1/250 of the prior's deviation; with it halved -2 log L changes by less than 1e-6.
GRID = np.linspace(-8, 8, 4001)
PRIOR = -0.5 * GRID**2 - 0.5 * np.log(2 * np.pi) + np.log(GRID[1] - GRID[0])


def curve(volume, clearance, rate, end, t):
    elimination = clearance / volume
    return rate / clearance * -np.expm1(-elimination * np.minimum(t, end)) * np.exp(-elimination * np.maximum(t - end, 0))


class Study:
    """Subjects with two or three samples during an infusion and after it."""

    def __init__(self, seed, n=20):
        rng = np.random.default_rng(seed)
        volume = 20 * np.exp(0.6 * rng.standard_normal(n))
        self.rate, self.end = rng.uniform(80, 150, n), rng.uniform(0.8, 1.3, n)
        self.times = [np.sort(rng.choice([0.3, 1, 2, 4, 6.4, 9], size=rng.integers(2, 4), replace=False)) for _ in range(n)]
        self.values = [curve(v, 3, r, e, t) + 0.07 * rng.standard_normal(t.size)
                       for v, r, e, t in zip(volume, self.rate, self.end, self.times)]

    def write(self, tmp):
        rows = [f"s{i},{t!r},{y!r}" for i in range(len(self.times))
                for t, y in zip(self.times[i].tolist(), self.values[i].tolist())]
        (tmp / "d.csv").write_text("\n".join(["dataset,time,value", *rows, ""]))
        rows = [f"s{i},{r!r},{e!r}" for i, (r, e) in enumerate(zip(self.rate.tolist(), self.end.tolist()))]
        (tmp / "c.csv").write_text("\n".join(["dataset,rate,end", *rows, ""]))
        (tmp / "m.ode").write_text(MODEL)
        h.stiffit("import", tmp / "d.csv", "--datasets", tmp / "c.csv", "--model", tmp / "m.ode", "-o", tmp / "p.h5", "-q",
                  "--overwrite")
        return tmp / "p.h5"

    def minus_2_log_likelihood(self, estimates):
        mean, deviation, clearance, sd = estimates[0], *np.exp(estimates[1:])
        volume, total = np.exp(mean + deviation * GRID)[:, None], 0
        for rate, end, t, y in zip(self.rate, self.end, self.times, self.values):
            residual = (y - curve(volume, clearance, rate, end, t)) / sd
            total -= 2 * logsumexp(PRIOR - 0.5 * (residual**2).sum(1)) - t.size * np.log(2 * np.pi * sd * sd)
        return total

    def best(self, *starts):
        return min(minimize(self.minus_2_log_likelihood, x, method="Nelder-Mead",
                            options={"maxiter": 800, "xatol": 1e-5, "fatol": 1e-6}).fun for x in starts)


def check(tmp, seed):
    study = Study(seed)
    found = mixed.run([study.write(tmp)], "--random", "V", "--share", "Cl,sa", "-j", 1, "--overwrite", "--restart")
    shared = dict(zip(found["shared_name"], found["shared"]))
    estimates = np.array([found["mean"][0], *np.log([found["standard_deviation"][0], shared["Cl"], shared["sa"]])])
    right = study.minus_2_log_likelihood(estimates)
    truth = np.array([np.log(20), np.log(0.6), np.log(3), np.log(0.07)])
    return found["minus_2_log_likelihood"], right, study.best(estimates, truth)


def agree(tmp, seed):
    """-2 log L at the estimates, to 0.005: points around one mode miss what is left under the other one. And its maximum:
    the search's tolerance and the grid's are below 0.01."""
    got, right, best = check(tmp, seed)
    assert abs(got - right) < 0.005, (seed, got, right)
    assert got < best + 0.01, (seed, got, best)


# Followed from the mean alone, the modes of these two studies are wrong: -2 log L is then 38 and 89 above its maximum.
def test_two_modes(tmp):
    for seed in (2, 17):
        agree(tmp, seed)


@h.slow
def test_many_studies(tmp):
    for seed in range(60):
        agree(tmp, seed)


if __name__ == "__main__":
    h.main()
