"""Random parameters that vary between the experiments of a dataset, too (occasions): log-normal errors around A exp(-k t),
where log y is linear in log A and k, so that the likelihood has a closed form.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import io
import json

import h5py
import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

import helpers as h
import mixed
import test_mixed_linear as linear

EQUATIONS = """parameter k = 0.4
parameter A = 3 scale log
parameter sigma = 0.3 in [1e-4, 100] scale log
x(0) = A
x' = -k*x
observe y = x lognormal sd sigma
"""
WORDS = ("--random", "k,A,k@experiment", "--share", "sigma", "--random-covariance", "diagonal")
NAMES = ["mean(k)", "mean(A)", "var(k)", "var(A)", "var(k@experiment)", "sigma"]


class Data:
    """n datasets with one to three experiments of one to five measurements each."""

    def __init__(self, n, seed, by_experiment=0.1):
        rng = np.random.default_rng(seed)
        self.dataset, self.experiment, self.t, self.y = [], [], [], []
        for d in range(n):
            k, a = rng.normal(0.5, 0.15), rng.normal(1, 0.3)
            for _ in range(rng.integers(1, 4)):
                own = k + by_experiment * rng.normal()
                self.dataset.append(d)
                for t in np.sort(rng.uniform(0, 5, rng.integers(1, 6))):
                    self.experiment.append(len(self.dataset) - 1)
                    self.t.append(t)
                    self.y.append(np.exp(a - own * t + 0.15 * rng.normal()))
        self.n, self.t, self.y = n, np.array(self.t), np.array(self.y)
        self.experiment, self.dataset = np.array(self.experiment), np.array(self.dataset)

    def write(self, path):
        model = path.with_suffix(".ode")
        model.write_text(EQUATIONS)
        rows = np.column_stack([0 * self.t, self.t, 0 * self.t, self.y, np.full(len(self.t), np.nan)])
        h.write_problem(path, None, [f"d{d}" for d in range(self.n)], rows)
        with h5py.File(path, "a") as f:
            del f["measurements/dataset"]
            f["measurements/experiment"] = self.experiment
            f["experiments/dataset"] = self.dataset
            f.create_dataset("experiments/id", data=[f"e{e}" for e in range(len(self.dataset))], dtype=h5py.string_dtype())
        return path, "--model", model

    def value(self, theta):
        """-2 log L; theta as NAMES, with the logarithm of sigma."""
        total = 2 * np.sum(np.log(self.y)) + len(self.y) * np.log(2 * np.pi)
        for d in range(self.n):
            mine = self.dataset[self.experiment] == d
            t, z, e = self.t[mine], np.log(self.y[mine]), self.experiment[mine]
            v = theta[2] * np.outer(t, t) + theta[3] + theta[4] * np.outer(t, t) * (e[:, None] == e)
            v += np.exp(2 * theta[5]) * np.eye(len(t))
            residual = z - theta[1] + theta[0] * t
            total += np.linalg.slogdet(v)[1] + residual @ np.linalg.solve(v, residual)
        return total

    def modes(self, theta):
        """The logarithm of predictions at the datasets' most probable random parameters: best linear unbiased predictors."""
        z = np.log(self.y)
        for d in range(self.n):
            mine = self.dataset[self.experiment] == d
            t, e = self.t[mine], self.experiment[mine]
            spread = theta[2] * np.outer(t, t) + theta[3] + theta[4] * np.outer(t, t) * (e[:, None] == e)
            mean = theta[1] - theta[0] * t
            z[mine] = mean + spread @ np.linalg.solve(spread + theta[5]**2 * np.eye(len(t)), z[mine] - mean)
        return z

    def maximum(self):
        """Estimates, -2 log L, standard errors from its second derivatives."""
        def natural(u):
            return np.concatenate([u[:2], np.exp(u[2:5]), u[5:]])

        u = np.array([0.5, 1, np.log(0.02), np.log(0.09), np.log(0.01), np.log(0.15)])
        for _ in range(3):
            u = minimize(lambda x: self.value(natural(x)), u, method="BFGS", options={"gtol": 1e-7}).x
        theta = natural(u)
        step = 1e-3 * np.maximum(np.abs(theta), 1e-2)
        hessian = np.empty((6, 6))
        for i in range(6):
            for j in range(6):
                a, b = np.eye(6)[i] * step[i], np.eye(6)[j] * step[j]
                hessian[i, j] = (self.value(theta + a + b) - self.value(theta + a - b) - self.value(theta - a + b)
                                 + self.value(theta - a - b)) / (4 * step[i] * step[j])
        return theta, self.value(theta), np.sqrt(np.diag(np.linalg.inv(0.5 * hessian)))


def table(*words):
    return list(csv.DictReader(io.StringIO(h.stiffit(*words).stdout)))


@h.both
def test_closed_form(tmp):
    data = Data(20, 5)
    theta, value, error = data.maximum()
    problem = data.write(tmp / "p.h5")
    for how in h.portion(("exact", "laplace"), 1):
        found = mixed.run(problem, *WORDS, "--likelihood", how, "--overwrite")
        assert list(found["estimate_name"]) == NAMES, found["estimate_name"]
        assert abs(found["minus_2_log_likelihood"] - value) < mixed.LIKELY, (how, found["minus_2_log_likelihood"], value)
        off = np.abs(found["estimate"] - theta) / error
        # the reference's own derivatives are differences: three digits
        assert np.max(off) < 3e-3, (how, off, found["estimate"], theta)
        np.testing.assert_allclose(found["standard_error"], error, rtol=5e-3)
        np.testing.assert_allclose(found["occasion_deviation"], np.sqrt(theta[4]), rtol=3e-3)
        assert list(found["occasion_name"]) == ["k"]
    shown = h.stiffit("show", h.result_path(problem[0])).stdout
    assert "by experiment" in shown, shown
    shown = json.loads(h.stiffit("show", "--json", h.result_path(problem[0])).stdout)["population"]
    for row, k in ((shown["random"][0], 2), (shown["random"][1], 3), (shown["by_experiment"][0], 4)):
        logarithm, width = 0.5 * np.log(theta[k]), norm.ppf(0.975) * error[k] / (2 * theta[k])
        found = [row["standard_deviation_lower"], row["standard_deviation_upper"]]
        np.testing.assert_allclose(np.log(found), [logarithm - width, logarithm + width], atol=1e-2)


def test_predictions(tmp):
    """What experiments add is in every prediction of the individual fits, in whatever command."""
    data = Data(12, 5, by_experiment=0.3)
    problem = data.write(tmp / "p.h5")
    found = mixed.run(problem, *WORDS, "--likelihood", "laplace")
    estimate = np.array(found["estimate"])
    estimate[-1] = np.exp(estimate[-1])  # sigma, of scale log
    predicted, sigma = data.modes(estimate), estimate[-1]
    apart = data.modes(np.where(np.arange(6) == 4, 0, estimate)) - predicted
    assert np.max(np.abs(apart)) > sigma, apart  # the effects matter here
    result = h.result_path(problem[0])
    # modes are found within 1e-4 of their deviations, which are about as large as sigma
    off = 2e-3 * sigma
    rows = table("export", result, "--what", "predictions", "--trust")
    assert [row["experiment"] for row in rows] == [f"e{e}" for e in data.experiment]
    np.testing.assert_allclose(np.log([float(row["prediction"]) for row in rows]), predicted, rtol=0, atol=off)
    rows = table("export", result, "--what", "residuals", "--trust")
    residual = np.log(data.y) - predicted
    np.testing.assert_allclose([float(row["residual"]) for row in rows], residual, rtol=0, atol=off)
    np.testing.assert_allclose([float(row["weighted_residual"]) for row in rows], residual / sigma, rtol=0, atol=2e-3 * 3)
    # the middle of the list, so that datasets before it are passed over
    rows = table("simulate", result, "--id", "d6", "--times", "0,5", "--trust")
    where = [i for i in range(len(data.t)) if data.dataset[data.experiment[i]] == 6]
    for i in where:
        mine = [row for row in rows if row["experiment"] == f"e{data.experiment[i]}"]
        a, b = (np.log(float(mine[k]["value"])) for k in (0, -1))
        np.testing.assert_allclose(a + (b - a) * data.t[i] / 5, predicted[i], rtol=0, atol=off)


@h.more
def test_none(tmp):
    """Experiments that do not differ: the variance ends at 0, or near it, and the rest is that of a model without."""
    data = Data(30, 7, by_experiment=0)
    problem = data.write(tmp / "p.h5")
    without = mixed.run(problem, "--random", "k,A", "--share", "sigma", "--random-covariance", "diagonal")
    found = mixed.run(problem, *WORDS, "--overwrite")
    assert found["minus_2_log_likelihood"] < without["minus_2_log_likelihood"] + mixed.LIKELY
    assert found["occasion_deviation"][0] < 0.1


def test_one_experiment_each(tmp):
    """Then the variance over datasets and that over experiments are one number, which is said; their sum is that of the fit
    without experiments."""
    data = linear.Data(30, 6, seed=8)
    problem = data.write(tmp / "p.h5", linear.EQUATIONS)
    alone = mixed.run(problem, "--random", "k,A", "--share", "sigma", "--random-covariance", "diagonal")
    found = mixed.run(problem, *WORDS, "--overwrite")
    assert "var(k) and var(k@experiment) cannot be told apart" in found["stderr"], found["stderr"]
    both = found["estimate"][2] + found["estimate"][4]
    assert abs(both - alone["estimate"][2]) < mixed.NEAR * alone["standard_error"][2], (both, alone["estimate"])


def test_refused(tmp):
    problem = Data(4, 1).write(tmp / "p.h5")
    for words, named in ((("--random", "k@week,A"), "k@week"), (("--random", "k@experiment"), "without @experiment"),
                         (("--random", "q@experiment,A"), "q@experiment"),
                         (("--random", "A,k@experiment", "--share", "sigma"), "neither random nor shared")):
        done = h.stiffit("run", *problem, *words, code=2)
        assert named in done.stderr, (words, done.stderr)


if __name__ == "__main__":
    h.main()
