"""Populations with a random lag: a subject's likelihood has a kink in its lag at the time of each sample, and modes lie at such
kinks. How many evaluations the fits take, and what they find; the exact likelihood against importance sampling in NumPy.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv

import numpy as np

import faults
import helpers as h
import mixed

h.compile_as_users_do()

MODEL = """parameter Tlag = 1 in [1e-3, 20] scale log, ka = 1 in [1e-2, 100] scale log
parameter V = 8 in [0.1, 100] scale log, k = 0.02 in [1e-4, 10] scale log
parameter a = 0.5 in [1e-3, 10] scale log, b = 0.1 in [1e-3, 10] scale log
gut(0) = 0; c(0) = 0
gut' = -ka*gut
c' = ka*gut - k*c
lag(gut) = Tlag
observe y = c/V sd a + b*y
"""
EXACT = ("--random", "Tlag,ka,V,k", "--share", "a,b", "--random-covariance", "diagonal", "-j", "1")
WORDS = (*EXACT, "--likelihood", "laplace")
DATA = h.ROOT / "tests/data/random-lag.csv"  # simulated: 10 subjects, 8 samples each, some of them at the start's lag


def write(tmp, data=DATA):
    (tmp / "m.ode").write_text(MODEL)
    h.stiffit("import", data, "--nonmem", "--model", tmp / "m.ode", "-o", tmp / "p.h5", "-q")
    return [tmp / "p.h5"]


def test_laplace_ends(tmp):
    """With the lag fixed there are 36,000 evaluations. There were three millions: by difference quotients, for which one sample
    at the time of the lag was enough, and with further starts that crept above the best one."""
    found = mixed.run(write(tmp), *WORDS)
    evaluations = int(found["fits"]["evaluations"].sum())
    # As quotients in all datasets find it; values at a kink depend on where beside it the mode is.
    assert found["minus_2_log_likelihood"] < 255.769 + 2e-3, found["minus_2_log_likelihood"]
    assert np.isfinite(found["standard_error"]).all(), found["standard_error"]
    assert evaluations < 250_000, evaluations


def check_kills(tmp, words, *parts):
    """Killed where these parts of its states have been written, the run goes on to the same bits."""
    problem = write(tmp)
    whole = mixed.run(problem, *words, env=faults.environment(tmp, SHIM_HASTE=1))
    n_write = faults.counts(tmp)["__compute", "write"]
    for part in parts:
        h.result_path(problem[0]).unlink()
        k = int(part * n_write)
        env = faults.environment(tmp, ("__compute", "write", k, "kill"), SHIM_HASTE=1)
        mixed.same_bits(mixed.run(problem, *words, env=env), whole, f"killed at write {k}")
        assert faults.counts(tmp)["__compute", "write"] > k


def test_killed(tmp):
    """A state says which modes are on kinks, and how fast the start's search comes down."""
    check_kills(tmp, WORDS, 0.2, 0.75)


def study(data=DATA):
    """Dose, times and values of each subject."""
    subjects = {}
    with open(data, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            subject = subjects.setdefault(row["ID"], {"dose": 0.0, "t": [], "y": []})
            if row["AMT"] != ".":
                subject["dose"] = float(row["AMT"])
            else:
                subject["t"].append(float(row["TIME"]))
                subject["y"].append(float(row["DV"]))
    return [(s["dose"], np.array(s["t"]), np.array(s["y"])) for s in subjects.values()]


def log_density(subject, theta, a, b):
    """log p(y | theta), theta: n x 4 logarithms; and its derivatives by log a and log b. In closed form."""
    dose, t, y = subject
    lag, ka, volume, k = (column[:, None] for column in np.exp(theta).T)
    after = np.maximum(t - lag, 0)
    difference = np.where(np.abs(ka - k) < 1e-9, 1e-9, ka - k)
    curve = dose * ka / volume / difference * (np.exp(-k * after) - np.exp(-ka * after))
    sd = a + b * curve
    square = ((y - curve) / sd) ** 2
    value = -0.5 * square.sum(axis=1) - np.log(sd).sum(axis=1) - 0.5 * len(t) * np.log(2 * np.pi)
    return value, (a / sd * (square - 1)).sum(axis=1), (b * curve / sd * (square - 1)).sum(axis=1)


def importance(subject, mean, deviation, a, b, rng, n=60_000):
    """log L, and the derivatives by means, deviations, log a and log b, of a mixture of 200 normal densities around points that
    the three rounds before have drawn from the posterior, and the prior; and the variance of log L."""
    z = rng.standard_normal((30_000, 4))
    value = log_density(subject, mean + z * deviation, a, b)[0]
    weight = np.exp(value - value.max())
    for size in (30_000, 30_000, n):
        weight /= weight.sum()
        first = weight @ z
        covariance = (z - first).T @ ((z - first) * weight[:, None]) + 1e-4 * np.eye(4)
        centre = z[rng.choice(len(z), 200, p=weight)]
        factor = np.linalg.cholesky(0.15 * covariance)
        z = centre[rng.integers(0, 200, size)] + rng.standard_normal((size, 4)) @ factor.T
        of_prior = rng.random(size) < 0.1
        z[of_prior] = rng.standard_normal((of_prior.sum(), 4))
        inverse = np.linalg.inv(factor)
        x, c = z @ inverse.T, centre @ inverse.T
        distance = (x**2).sum(axis=1)[:, None] - 2 * x @ c.T + (c**2).sum(axis=1)
        density = 0.9 * np.exp(-0.5 * distance).mean(axis=1) * np.linalg.det(inverse) + 0.1 * np.exp(-0.5 * (z**2).sum(axis=1))
        value, by_a, by_b = log_density(subject, mean + z * deviation, a, b)
        value += -0.5 * (z**2).sum(axis=1) - np.log(density)
        weight = np.exp(value - value.max())
    whole = weight.mean()
    scores = np.vstack([(z / deviation).T, ((z**2 - 1) / deviation).T, by_a, by_b]) @ weight / weight.sum()
    return value.max() + np.log(whole), scores, weight.var() / whole**2 / n


def test_exact_ends(tmp):
    """The exact likelihood took 18 million evaluations, for the search followed the errors of sums over moving points, and its
    value was right by chance. At the end nothing is gained by any estimate."""
    found = mixed.run(write(tmp), *EXACT)
    estimate, error, rng = found["estimate"], found["standard_error"], np.random.default_rng(1)
    mean, deviation, (a, b) = estimate[:4], np.sqrt(estimate[4:8]), np.exp(estimate[8:])
    parts = [importance(subject, mean, deviation, a, b, rng) for subject in study()]
    value, variance = -2 * sum(p[0] for p in parts), 4 * sum(p[2] for p in parts)
    likely = 3 * np.hypot(np.sqrt(variance), 0.5 * found["minus_2_log_likelihood_error"])
    assert likely < 0.3, (variance, found["minus_2_log_likelihood_error"])
    assert abs(found["minus_2_log_likelihood"] - value) < likely, (found["minus_2_log_likelihood"], value, likely)
    slope = sum(p[1] for p in parts) * np.concatenate([error[:4], error[4:8] / (2 * deviation), error[8:]])
    assert np.max(np.abs(slope)) < 0.2, slope  # in standard errors; sums over some 1,000 points are off by a tenth
    assert found["fits"]["evaluations"].sum() < 700_000, found["fits"]["evaluations"]


def simulate(path, n, seed):
    """Subjects that do not differ in k."""
    rng, t = np.random.default_rng(seed), np.array([0.5, 1, 1.5, 2, 4, 8, 16, 30])
    rows = ["ID,TIME,AMT,DV"]
    for i in range(1, n + 1):
        lag, ka, volume = np.exp([0, 0, np.log(8)] + np.array([0.5, 0.5, 0.2]) * rng.standard_normal(3))
        after = np.maximum(t - lag, 0)
        curve = 100 * ka / volume / (ka - 0.02) * (np.exp(-0.02 * after) - np.exp(-ka * after))
        y = curve + (0.2 + 0.08 * curve) * rng.standard_normal(t.size)
        rows += [f"{i},0,100,.", *(f"{i},{a:g},.,{b:.3f}" for a, b in zip(t, y))]
    path.write_text("\n".join([*rows, ""]))


def test_effect_left_out(tmp):
    """One of the random effects has no variance, and the integral is over the others: it was too large, by a factor of 1.2 a
    subject."""
    data = tmp / "d.csv"
    simulate(data, 8, 3)
    found = mixed.run(write(tmp, data), *EXACT)
    estimate, rng = found["estimate"], np.random.default_rng(1)
    deviation, (a, b) = np.sqrt(estimate[4:8]), np.exp(estimate[8:])
    assert np.count_nonzero(deviation) == 3, deviation
    assert "difference quotients" in found["stderr"], "no mode has been on a kink"
    with np.errstate(all="ignore"):
        parts = [importance(subject, estimate[:4], deviation, a, b, rng) for subject in study(data)]
    value, variance = -2 * sum(p[0] for p in parts), 4 * sum(p[2] for p in parts)
    likely = 3 * np.hypot(np.sqrt(variance), 0.5 * found["minus_2_log_likelihood_error"])
    off = found["minus_2_log_likelihood"] - value
    assert likely < 0.5 and abs(off) < likely, (off, likely)


@h.more
def test_exact_killed(tmp):
    """A state has the points of integrals with kinks, and the estimates that these belong to."""
    check_kills(tmp, EXACT, 0.92, 0.96)


if __name__ == "__main__":
    h.main()
