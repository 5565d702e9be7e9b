"""A population whose Laplace stage stalls, by the noise in differences of its slopes: the exact likelihood is tried
all the same. -2 log L against a plain grid over the prior, from the closed form of one compartment with absorption.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv

import numpy as np
from scipy.special import logsumexp

import helpers as h
import mixed

h.compile_as_users_do()

MODEL = """parameter ka = 1.086 scale log
parameter V = 19.35 scale log
parameter Cl = 1.774 scale log
parameter ex = 1.002 scale lin
parameter sb = 0.08444 scale log
covariate Z
iV = V*Z^ex
gut(0) = 0; cen(0) = 0
gut' = -ka*gut
cen' = ka*gut - Cl/iV*cen
observe DV = cen/iV sd sb*DV
"""
GRID = np.linspace(-8, 8, 4001)
PRIOR = -0.5 * GRID**2 - 0.5 * np.log(2 * np.pi) + np.log(GRID[1] - GRID[0])
DATA = h.ROOT / "tests/data/oral-noise.csv"


def minus_2_log_likelihood(mean, deviation, volume, clearance, exponent, sd):
    rows, total = list(csv.DictReader(DATA.open())), 0
    for subject in dict.fromkeys(row["ID"] for row in rows):
        own = [row for row in rows if row["ID"] == subject]
        dose = next(float(row["AMT"]) for row in own if row["AMT"] != ".")
        v = volume * float(own[0]["Z"]) ** exponent
        ka, k, density = np.exp(mean + deviation * GRID), clearance / v, PRIOR
        for row in own:
            if row["DV"] == ".":
                continue
            t = float(row["TIME"])
            y = dose * ka / (v * (ka - k)) * (np.exp(-k * t) - np.exp(-ka * t))
            density = density - 0.5 * ((float(row["DV"]) - y) / (sd * y)) ** 2 - np.log(sd * y) - 0.5 * np.log(2 * np.pi)
        total -= 2 * logsumexp(density)
    return total


def test_exact_after_a_stall(tmp):
    (tmp / "m.ode").write_text(MODEL)
    h.stiffit("import", DATA, "--nonmem", "--model", tmp / "m.ode", "-o", tmp / "p.h5", "-q")
    found = mixed.run([tmp / "p.h5"], "--random", "ka", "--share", "V,Cl,ex,sb")
    shared = dict(zip(found["shared_name"], found["shared"]))
    right = minus_2_log_likelihood(found["mean"][0], found["standard_deviation"][0],
                                   *(shared[name] for name in ("V", "Cl", "ex", "sb")))
    # The integrator's tolerance of 1e-6 changes 24 residuals of about 1 by some 1e-5 each.
    assert abs(found["minus_2_log_likelihood"] - right) < 1e-3, (found["minus_2_log_likelihood"], right)
    assert np.isfinite(found["standard_error"]).all()


if __name__ == "__main__":
    h.main()
