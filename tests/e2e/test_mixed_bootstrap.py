"""Bootstrap and profiles of fits with random parameters. log y = log A - k t with normal errors, at the same times in all
datasets: the maximum of the likelihood has a closed form, from each dataset's own least squares, and so have replicates.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np
from scipy import stats
from scipy.optimize import brentq, minimize

import helpers as h
import mixed

FORMULA = """parameter k = 0.4
parameter A = 3 scale log
parameter sigma = 0.3 in [1e-4, 100] scale log
observe y = A*exp(-k*t) lognormal sd sigma
"""
T = np.array([0.2, 0.7, 1.5, 2.5, 4, 6])
X = np.column_stack([-T, np.ones_like(T)])
WORDS = ("--random", "k,A", "--share", "sigma")
NAMES = ["mean(k)", "mean(A)", "var(k)", "cov(k,A)", "var(A)", "sigma"]


class Balanced:
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        phi = rng.multivariate_normal([0.5, 1], [[0.04, 0.02], [0.02, 0.09]], n)
        self.n, self.z = n, phi @ X.T + 0.15 * rng.standard_normal((n, len(T)))
        self.own = np.linalg.lstsq(X, self.z.T, rcond=None)[0].T
        self.squares = np.sum((self.z - self.own @ X.T) ** 2, axis=1)

    def write(self, path, ids=None):
        rows = [(d, t, 0, np.exp(z), np.nan) for d in range(self.n) for t, z in zip(T, self.z[d])]
        return mixed.write(path, FORMULA, rows, ids=ids)

    def maximum(self, weight=None):
        """Estimates as NAMES; weight: how often each dataset counts."""
        weight = np.ones(self.n) if weight is None else weight
        variance = weight @ self.squares / weight.sum() / (len(T) - 2)
        mean = weight @ self.own / weight.sum()
        spread = (self.own - mean).T @ (weight[:, None] * (self.own - mean)) / weight.sum()
        covariance = spread - variance * np.linalg.inv(X.T @ X)
        assert np.linalg.eigvalsh(covariance)[0] > 0
        return np.array([*mean, covariance[0, 0], covariance[0, 1], covariance[1, 1], 0.5 * np.log(variance)])

    def value(self, theta):
        """-2 log L."""
        v = X @ np.array([[theta[2], theta[3]], [theta[3], theta[4]]]) @ X.T + np.exp(2 * theta[5]) * np.eye(len(T))
        r = self.z - theta[:2] @ X.T
        return np.sum(r * np.linalg.solve(v, r.T).T) + self.n * (np.linalg.slogdet(v)[1] + len(T) * np.log(2 * np.pi)) \
            + 2 * np.sum(self.z)


@h.more
def test_bootstrap(tmp):
    """Against replicates in Python with draws of its own: the deviation of 40 replicates is off by 11 %, a percentile by 0.45
    deviations, each one standard error; four of them are allowed."""
    data, n = Balanced(40, 2), 40
    problem = data.write(tmp / "p.h5")
    found = mixed.run(problem, *WORDS, "--bootstrap", n, "--keep-bootstrap", "--likelihood", "laplace")
    assert list(found["estimate_name"]) == NAMES and found["n_bootstrap"] == n
    np.testing.assert_allclose(found["estimate"], data.maximum(), rtol=1e-3)
    rng = np.random.default_rng(1)
    replicates = np.array([data.maximum(rng.multinomial(data.n, np.full(data.n, 1 / data.n))) for _ in range(4000)])
    deviation = replicates.std(axis=0)
    np.testing.assert_allclose(found["bootstrap_standard_error"], deviation, rtol=0.45)
    for name, share in (("bootstrap_lower", 0.025), ("bootstrap_upper", 0.975)):
        off = (found[name] - np.quantile(replicates, share, axis=0)) / deviation
        assert np.all(np.abs(off) < 1.8), (name, off)
    with h5py.File(h.result_path(problem[0])) as f:
        kept = f["bootstrap/parameters"][()]
        # typical values; a dataset's own have no replicates
        np.testing.assert_allclose(np.std(kept[:, 0], ddof=1), found["bootstrap_standard_error"][0], rtol=1e-9)
        np.testing.assert_allclose(np.std(np.log(kept[:, 1]), ddof=1), found["bootstrap_standard_error"][1], rtol=1e-9)
        assert np.all(np.isnan(f["fits/bootstrap_standard_error"][:, :2]))
        assert np.all(np.isfinite(f["fits/bootstrap_standard_error"][:, 2]))
    shown = h.stiffit("show", h.result_path(problem[0])).stdout
    assert f"{n} replicates of the datasets" in shown, shown


def test_weights_are_copies(tmp):
    """A replicate is the fit of a problem with the drawn datasets as many times. Its draws are not known, but each of its
    numbers is the closed form's of one and the same draw."""
    data = Balanced(5, 3)
    problem = data.write(tmp / "p.h5")
    mixed.run(problem, *WORDS, "--bootstrap", 8, "--keep-bootstrap", "--rtol", "1e-9", code=(0, 1))
    draws = [w for w in np.ndindex(*[6] * 5) if sum(w) == 5]
    known = {}
    for w in draws:
        try:
            known[w] = data.maximum(np.array(w, float))
        except AssertionError:
            continue  # on the border
    table = np.array([[theta[0], np.exp(theta[1]), np.exp(theta[5])] for theta in known.values()])
    with h5py.File(h.result_path(problem[0])) as f:
        kept = f["bootstrap/parameters"][()]
    off = [np.min(np.max(np.abs(table / row - 1), axis=1)) for row in kept]
    # means are moved by the draw alone; replicates whose covariance is on the border are not in the table
    assert np.sum(np.array(off) < 2e-4) >= 4, off


def limits(data, k):
    """Where -2 log L, maximised over all other estimates, has risen by chi-square's 95 % quantile."""
    best, m = data.maximum(), len(NAMES)
    free = [j for j in range(m) if j != k]

    def natural(u, fixed):
        theta = np.empty(m)
        theta[free], theta[k] = u, fixed
        factor = np.array([[np.exp(theta[2]), 0], [theta[3], np.exp(theta[4])]])
        theta[2:5] = (factor @ factor.T)[[0, 1, 1], [0, 0, 1]]
        return theta

    factor = np.linalg.cholesky([[best[2], best[3]], [best[3], best[4]]])
    start = np.array([*best[:2], np.log(factor[0, 0]), factor[1, 0], np.log(factor[1, 1]), best[5]])[free]

    def rise(fixed):
        found = minimize(lambda u: data.value(natural(u, fixed)), start, method="BFGS", options={"gtol": 1e-6})
        return found.fun - data.value(best) - stats.chi2.ppf(0.95, 1)

    return [brentq(rise, best[k], best[k] + side * 0.3, xtol=1e-6) for side in (-1, 1)]


@h.both
def test_profile(tmp):
    """Limits of a typical value and of a shared parameter."""
    data = Balanced(10, 4)
    problem = data.write(tmp / "p.h5")
    for how in h.portion(("laplace", "exact"), 1):
        names = "A,sigma" if how == "laplace" else "A"
        fits = mixed.run(problem, *WORDS, "--profile", names, "--likelihood", how, "--overwrite")["fits"]
        for k, column in ((1, 1), (5, 2))[:len(names.split(","))]:
            wanted = np.exp(limits(data, k))
            for name, value in zip(("profile_lower", "profile_upper"), wanted):
                # the limit is found to 1e-4 of the rise
                np.testing.assert_allclose(fits[name][:, column], value, rtol=2e-4, err_msg=f"{how} {name} {column}")
        assert np.all(np.isnan(fits["profile_lower"][:, 0]))


if __name__ == "__main__":
    h.main()
