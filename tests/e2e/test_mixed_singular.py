"""A covariance that is singular, as in small studies: its factor's columns change places where a variance becomes 0.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np
from scipy.special import logsumexp

import helpers as h
import mixed

h.compile_as_users_do()

MODEL = """parameter Asym = 165 scale lin
parameter xmid = 5.3 scale lin
parameter scal = 1.2 scale lin
observe y = Asym/(1 + exp((xmid - t)/scal))
"""
TIMES = [0.6, 1, 2, 4, 6, 8, 12, 16]
GRID = np.linspace(-8, 8, 4001)


def simulate():
    """30 subjects, whose scal varies and whose xmid does not."""
    rng, rows = np.random.default_rng(33), []
    for i in range(30):
        scal = 2.1 + 0.3 * rng.standard_normal()
        for t in np.sort(rng.choice(TIMES, 6, replace=False)):
            sigma = rng.uniform(8, 25)
            rows.append((i, t, 190 / (1 + np.exp((5.9 - t) / scal)) + sigma * rng.standard_normal(), sigma))
    return rows


def minus_2_log_likelihood(rows, asym, mean, deviation):
    """With random effects (xmid, scal) of mean + deviation b, for one standard normal b: a covariance of rank 1."""
    xmid, scal = (m + d * GRID for m, d in zip(mean, deviation))
    total = 0
    for i in range(30):
        density = -0.5 * GRID**2 - 0.5 * np.log(2 * np.pi) + np.log(GRID[1] - GRID[0])
        for _, t, y, sigma in (row for row in rows if row[0] == i):
            with np.errstate(over="ignore"):
                curve = asym / (1 + np.exp((xmid - t) / scal))
            density = density - 0.5 * ((y - curve) / sigma)**2 - np.log(np.sqrt(2 * np.pi) * sigma)
        total -= 2 * logsumexp(density)
    return total


def test_scal_moves_to_a_column_that_was_left_out(tmp):
    """It was left out of the integral there: -2 log L ended 0.23 higher, and in other studies the search stalled."""
    rows = simulate()
    (tmp / "m.ode").write_text(MODEL)
    lines = [f"s{i},{t},{float(y)!r},{sigma!r}" for i, t, y, sigma in rows]
    (tmp / "d.csv").write_text("\n".join(["dataset,time,value,sigma", *lines, ""]))
    h.stiffit("import", tmp / "d.csv", "--model", tmp / "m.ode", "-o", tmp / "p.h5", "-q")
    found = mixed.run([tmp / "p.h5"], "--random", "xmid,scal", "--share", "Asym")
    assert list(found["name"]) == ["xmid", "scal"]
    least, size = np.linalg.eigvalsh(found["covariance"])
    assert least < 1e-6 * size, found["covariance"]
    deviation = found["standard_deviation"] * [1, np.sign(found["covariance"][0, 1])]
    right = minus_2_log_likelihood(rows, found["shared"][0], found["mean"], deviation)
    assert abs(found["minus_2_log_likelihood"] - right) < 1e-3, (found["minus_2_log_likelihood"], right)
    known = minus_2_log_likelihood(rows, 191.222, (5.87779, 2.21652), (0.051462, -0.360936))
    assert found["minus_2_log_likelihood"] < known + 1e-3, (found["minus_2_log_likelihood"], known)


if __name__ == "__main__":
    h.main()
