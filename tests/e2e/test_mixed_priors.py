"""Priors of typical values and shared parameters: the maximum of a closed-form likelihood times their densities.

SPDX-License-Identifier: BSD-3-Clause
"""
import json

import numpy as np
from scipy import stats
from scipy.optimize import minimize

import helpers as h
import mixed
from test_mixed_evaluate import TIGHT, start
from test_mixed_occasions import EQUATIONS, Data

WORDS = ("--random", "k,A", "--share", "sigma", "--random-covariance", "diagonal")
# the data say k = 0.5, A = 2.7, sigma = 0.15; each prior is elsewhere, and as narrow as moves its parameter by some errors
PRIORS = {"k = 0.4": " prior normal(0.35, 0.03)", "A = 3 scale log": " prior lognormal(1.5, 0.1)",
          "sigma = 0.3 in [1e-4, 100] scale log": " prior normal(0.2, 0.01)"}


def log_prior(theta):
    """theta: k, log A, variances, log sigma; densities of k, A and sigma."""
    return stats.norm.logpdf(theta[0], 0.35, 0.03) + stats.lognorm.logpdf(np.exp(theta[1]), 0.1, scale=np.exp(1.5)) \
        + stats.norm.logpdf(np.exp(theta[4]), 0.2, 0.01)


def value(data, theta):
    """-2 log L."""
    return data.value(np.array([*theta[:4], 0, theta[4]]))


def maximum(data):
    def natural(u):
        return np.array([*u[:2], *np.exp(u[2:4]), u[4]])

    u = np.array([0.5, 1, np.log(0.02), np.log(0.09), np.log(0.15)])
    for _ in range(3):
        u = minimize(lambda x: 0.5 * value(data, natural(x)) - log_prior(natural(x)), u, method="BFGS",
                     options={"gtol": 1e-7}).x
    theta = natural(u)
    step, m = 1e-3 * np.maximum(np.abs(theta), 1e-2), len(u)
    units, hessian = np.eye(m), np.empty((m, m))
    for i in range(m):
        for j in range(m):
            a, b = units[i] * step[i], units[j] * step[j]
            hessian[i, j] = sum(sign * (0.5 * value(data, theta + x) - log_prior(theta + x)) for sign, x in (
                (1, a + b), (-1, a - b), (-1, b - a), (1, -a - b))) / (4 * step[i] * step[j])
    return theta, np.sqrt(np.diag(np.linalg.inv(hessian)))


def write(data, path):
    problem = data.write(path)
    text = EQUATIONS
    for line, prior in PRIORS.items():
        assert line in text
        text = text.replace(line, line + prior)
    path.with_suffix(".ode").write_text(text)
    return problem


@h.both
def test_closed_form(tmp):
    data = Data(20, 5, by_experiment=0)
    theta, error = maximum(data)
    problem = write(data, tmp / "p.h5")
    for how in h.portion(("exact", "laplace"), 1):
        found = mixed.run(problem, *WORDS, "--likelihood", how, "--overwrite")
        off = np.abs(found["estimate"] - theta) / error
        assert np.max(off) < 3e-3, (how, off)  # the reference's derivatives are differences: three digits
        np.testing.assert_allclose(found["standard_error"], error, rtol=5e-3)
        # the likelihood, without the priors, which are said beside it
        np.testing.assert_allclose(found["minus_2_log_likelihood"], value(data, theta), atol=mixed.LIKELY)
        np.testing.assert_allclose(found["log_prior"], log_prior(theta), atol=mixed.LIKELY)
        np.testing.assert_allclose(found["aic"], found["minus_2_log_likelihood"] + 10, atol=1e-9)
        assert np.all(np.isfinite(found["standard_error_scores"]))
    shown = h.stiffit("show", h.result_path(problem[0])).stdout
    assert "with priors, whose log density is" in shown, shown
    assert abs(json.loads(h.stiffit("show", h.result_path(problem[0]), "--json").stdout)["population"]["log_prior"]
               - found["log_prior"]) < 1e-12
    plain = mixed.run((data.write(tmp / "q.h5")), *WORDS)
    assert "log_prior" not in plain or np.isnan(plain["log_prior"])
    # the priors count: what they move is more than what is compared
    assert np.max(np.abs(plain["estimate"] - theta) / error) > 1


def test_evaluation(tmp):
    data = Data(20, 5, by_experiment=0)
    problem = write(data, tmp / "p.h5")
    start(problem[0], ["k", "A", "sigma"], [0.45, 3, 0.2])
    found = mixed.run(problem, *WORDS, *TIGHT, "--evaluate", "--random-deviation", "k=0.1,A=0.3", "--likelihood", "laplace")
    theta = np.array([0.45, np.log(3), 0.01, 0.09, np.log(0.2)])
    np.testing.assert_allclose(found["minus_2_log_likelihood"], value(data, theta), atol=1e-6)
    np.testing.assert_allclose(found["log_prior"], log_prior(theta), rtol=1e-9)


@h.more
def test_many_datasets(tmp):
    """With ten datasets for each estimate the curvature is that of outer products: the optimum is the same."""
    data = Data(55, 8, by_experiment=0)
    problem = write(data, tmp / "p.h5")
    found = mixed.run(problem, *WORDS)
    theta, error = maximum(data)
    assert np.max(np.abs(found["estimate"] - theta) / error) < 3e-3


def test_no_likelihood_ratio(tmp):
    """-2 log L is no maximum with priors: there is no test."""
    data = Data(20, 5, by_experiment=0)
    problem = write(data, tmp / "p.h5")
    mixed.run(problem, *WORDS)
    h.stiffit("run", *problem, "--random", "k", "--share", "A,sigma", "-o", tmp / "small.h5")
    text = h.stiffit("compare", tmp / "small.h5", h.result_path(problem[0])).stdout
    assert "Likelihood ratio" not in text and "Populations" in text, text


if __name__ == "__main__":
    h.main()
