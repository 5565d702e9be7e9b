"""Mixed effects of a stiff model of 20 states with four random parameters: simulated truth, and the likelihood of some
datasets by importance sampling over SciPy's integrators.
test-timeout: 3600

SPDX-License-Identifier: BSD-3-Clause
"""
import time

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import norm, qmc

import helpers as h
import mixed
import mixed_qsp as qsp


def minus_2_log_likelihood(y, dose, mean, deviation, imax, b, c, n):
    """Of one dataset, and its error: quasi-random normal points around the mode, wider than the curvature by WIDER."""
    def residuals(phi):
        prediction = qsp.predict(phi, dose, imax)
        return np.concatenate([(y - prediction) / qsp.deviations(prediction, b, c), (phi - mean) / deviation])

    found = least_squares(residuals, mean, x_scale=deviation, diff_step=1e-3, xtol=1e-4)
    factor = 1.2 * np.linalg.cholesky(np.linalg.inv(found.jac.T @ found.jac))
    parts = []
    for seed in range(4):
        u = norm.ppf(qmc.Sobol(4, seed=seed).random(n // 4))
        phi = found.x + u @ factor.T
        prediction = np.array([qsp.predict(p, dose, imax) for p in phi])
        sd = qsp.deviations(prediction, b, c)
        parts.append(np.exp(norm.logpdf(y, prediction, sd).sum(axis=1) + norm.logpdf(phi, mean, deviation).sum(axis=1)
                            + 0.5 * np.sum(u**2, axis=1)) * np.prod(np.diag(factor)) * (2 * np.pi) ** 2)
    parts = np.mean(parts, axis=1)
    return -2 * np.log(parts.mean()), 2 * parts.std(ddof=1) / parts.mean() / 2


def check(tmp, n, subjects, n_point):
    phi, dose, y = qsp.simulate(n, 7)
    began = time.monotonic()
    found = mixed.run(qsp.write(tmp / "p.h5", dose, y), "--random", ",".join(qsp.RANDOM), "--share", "all",
                      "--random-covariance", "diagonal", "--rtol", 1e-5)
    print(f"{n} datasets: {time.monotonic() - began:.0f} s, -2 log L {found['minus_2_log_likelihood']:.3f} +- "
          f"{found['minus_2_log_likelihood_error']:.2g}")
    assert np.all(found["fits"]["status"] == "converged")
    truth = np.concatenate([qsp.MEAN, qsp.DEVIATION**2, [qsp.IMAX, np.log(qsp.B), np.log(qsp.C)]])
    off = (found["estimate"] - truth) / found["standard_error"]
    # chance alone gives one of 11 estimates 4.5 standard errors in 10^4 populations; with few datasets, variances are skewed
    assert np.max(np.abs(off)) < 4.5, (found["estimate_name"], off)
    assert found["minus_2_log_likelihood_error"] < 0.002 * n  # small against 1
    # the random parameters are around their conditional means as their deviations say, once the population is known
    away = (found["fits"]["random_mean"][:, :4] - phi) / found["fits"]["random_deviation"][:, :4]
    if n >= 500:
        assert 0.9 < np.sqrt(np.mean(away**2)) < 1.1, np.sqrt(np.mean(away**2, axis=0))
    natural = dict(zip(found["shared_name"], found["shared"]))
    for k in subjects:
        expected, error = minus_2_log_likelihood(y[k], dose[k], found["mean"], found["standard_deviation"],
                                                 *(natural[name] for name in qsp.SHARED), n_point)
        value = found["fits"]["minus_2_log_likelihood"][k]
        print(f"dataset {k}: -2 log L {value:.4f}, by sampling {expected:.4f} +- {error:.4f}")
        # four of the sampling's standard errors, which come from four parts only; and the integrators' tolerances
        assert error < 0.05 and abs(value - expected) < 4 * error + 0.01, (k, value, expected, error)


@h.slow
def test_twenty(tmp):
    check(tmp, 20, [3], 256)


@h.slow
def test_five_hundred(tmp):
    check(tmp, 500, range(0, 500, 100), 1024)


if __name__ == "__main__":
    h.main()
