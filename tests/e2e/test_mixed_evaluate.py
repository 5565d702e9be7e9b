"""The likelihood at given values, --evaluate with --random-deviation: the closed form of a linear model with occasions, and
that of a fit at its own estimates.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np
from scipy.integrate import quad

import helpers as h
import mixed
from test_mixed_occasions import WORDS, Data
from test_random_options import problem as decay

GIVEN = ("--random-deviation", "k@experiment=0.2,A=0.4,k=0.1")
TIGHT = ("--rtol", "1e-10")  # away from the optimum errors of the predictions count linearly


def start(problem, names, values):
    with h5py.File(problem, "a") as f:
        group = f.require_group("parameters")
        for name, data in (("name", np.array(names, h5py.string_dtype())), ("start", np.array(values, float))):
            if name in group:
                del group[name]
            group[name] = data


def test_closed_form(tmp):
    """At values that are no optimum; datasets have the conditional modes of a linear model."""
    data = Data(15, 5)
    problem = data.write(tmp / "p.h5")
    start(problem[0], ["k", "A", "sigma"], [0.6, 3, 0.25])
    theta = np.array([0.6, np.log(3), 0.01, 0.16, 0.04, np.log(0.25)])
    for how in ("laplace", "exact"):
        found = mixed.run(problem, *WORDS, *GIVEN, *TIGHT, "--evaluate", "--likelihood", how, "--overwrite")
        # Laplace's is exact here; the other has up to 5 random effects, by a lattice
        off, allowed = found["minus_2_log_likelihood"] - data.value(theta), 1e-6 if how == "laplace" else mixed.LIKELY
        assert abs(off) < allowed, (how, off)
        np.testing.assert_allclose(found["estimate"], theta, rtol=1e-12)
        assert np.all(np.isnan(found["standard_error"])) and "no standard error" not in found["stderr"]
        assert set(found["fits"]["status"]) == {"evaluated"}, found["fits"]["status"]
    z, d = np.log(data.y), data.dataset[data.experiment]
    mine = d == 4
    t, e = data.t[mine], data.experiment[mine]
    x = np.column_stack([-t, np.ones_like(t)])
    v = x @ np.diag(theta[2:4]) @ x.T + theta[4] * np.outer(t, t) * (e[:, None] == e) + 0.25**2 * np.eye(len(t))
    mode = theta[:2] + np.diag(theta[2:4]) @ x.T @ np.linalg.solve(v, z[mine] - x @ theta[:2])
    np.testing.assert_allclose(found["fits"]["parameters"][4, :2], [mode[0], np.exp(mode[1])], rtol=1e-4)


def test_at_the_estimates(tmp):
    path, model = decay(tmp / "a.h5", n=12)
    problem, words = (path, "--model", model), ("--random", "k,V", "--share", "A,s")
    fit = mixed.run(problem, *words)
    start(path, ["k", "V", "A", "s"], [*fit["natural_mean"], *fit["shared"]])
    sd = fit["standard_deviation"]
    given = f"k={sd[0]:.17g},V={sd[1]:.17g},k.V={fit['correlation'][0, 1]:.17g}"
    found = mixed.run(problem, *words, "--evaluate", "--random-deviation", given, "--overwrite")
    assert abs(found["minus_2_log_likelihood"] - fit["minus_2_log_likelihood"]) < 1e-4
    np.testing.assert_allclose(found["estimate"], fit["estimate"], rtol=1e-9)
    np.testing.assert_allclose(found["shrinkage"], fit["shrinkage"], atol=1e-3)
    # one that is evaluated elsewhere is less likely
    other = mixed.run(problem, *words, "--evaluate", "--random-deviation", "k=0.3,V=0.2", "--overwrite")
    assert other["minus_2_log_likelihood"] > fit["minus_2_log_likelihood"] + 1
    # the same bits by more processes' workers, and in the file's options
    with h5py.File(path, "a") as f:
        f.require_group("options").attrs["random-deviation"] = "V=0.2,k=0.3"
    again = mixed.run(problem, *words, "--evaluate", "-j2", "--overwrite")
    assert again["minus_2_log_likelihood"] == other["minus_2_log_likelihood"]


def test_kinks(tmp):
    """Laplace's errors: the likelihood of every dataset, integrated by SciPy between the kinks, is without their rounding,
    which would add 0.2 to -2 log L. What the quadrature says of its own error covers the rest; without a variance, by both
    likelihoods, there is no integral."""
    rng = np.random.default_rng(4)
    n, t, a, s, deviation = 20, np.linspace(0.2, 4, 12), 5.0, 0.2, 0.3
    k = 0.5 * np.exp(deviation * rng.normal(size=n))
    y = a * np.exp(-k[:, None] * t) + rng.laplace(scale=s, size=(n, len(t)))
    rows = [(d, t[i], 0, y[d, i], np.nan) for d in range(n) for i in range(len(t))]
    problem = mixed.write(tmp / "p.h5", "parameter k = 0.5 scale log\nparameter A = 5\nparameter s = 0.2\n"
                          "observe y = A*exp(-k*t) laplace sd s\n", rows)

    def loglik(b, of):
        return -np.sum(np.abs(of - a * np.exp(-0.5 * np.exp(deviation * b) * t))) / s - len(t) * np.log(2 * s)

    expected = np.empty(n)
    for d in range(n):
        with np.errstate(invalid="ignore", divide="ignore"):
            kinks = np.log(-np.log(y[d] / a) / t / 0.5) / deviation
        grid = np.linspace(-6, 6, 1201)
        top = max(loglik(b, y[d]) - b * b / 2 for b in grid)
        ends = np.concatenate([[-6], np.sort(kinks[np.abs(kinks) < 6]), [6]])
        total = sum(quad(lambda b, of=y[d]: np.exp(loglik(b, of) - b * b / 2 - top), low, high, limit=200)[0]
                    for low, high in zip(ends[:-1], ends[1:]))
        expected[d] = -2 * (top + np.log(total / np.sqrt(2 * np.pi)))
    words = ("--random", "k", "--share", "A,s", "--evaluate", "--overwrite")
    found = mixed.run(problem, *words, "--random-deviation", f"k={deviation}")
    off, said = found["minus_2_log_likelihood"] - np.sum(expected), found["minus_2_log_likelihood_error"]
    assert abs(off) < said + 0.01 < 0.1, (off, said)
    np.testing.assert_allclose(found["fits"]["minus_2_log_likelihood"], expected, atol=0.02)
    alone = -2 * sum(loglik(0, of) for of in y)
    for how in ("laplace", "exact"):
        found = mixed.run(problem, *words, "--random-deviation", "k=0", "--likelihood", how)
        assert abs(found["minus_2_log_likelihood"] - alone) < 1e-6, (how, found["minus_2_log_likelihood"], alone)
        assert abs(np.sum(found["fits"]["minus_2_log_likelihood"]) - alone) < 1e-6


def test_variance_of_zero(tmp):
    """A given deviation of 0: the parameter is the same for all."""
    data = Data(15, 5)
    problem = data.write(tmp / "p.h5")
    start(problem[0], ["k", "A", "sigma"], [0.6, 3, 0.25])
    found = mixed.run(problem, *WORDS, *TIGHT, "--evaluate", "--random-deviation",
                      "k=0.1,A=0,k@experiment=0")
    wanted = data.value(np.array([0.6, np.log(3), 0.01, 0, 0, np.log(0.25)]))
    assert abs(found["minus_2_log_likelihood"] - wanted) < mixed.LIKELY


def test_refused(tmp):
    path, model = decay(tmp / "a.h5")
    base = ("--random", "k,V", "--share", "A,s", "--evaluate")
    for given, text in (("k=0.1", "give --random-deviation V=NUMBER"), ("k=-1,V=1", "a number of 0 or more"),
                        ("k=nan,V=1", "a number of 0 or more"), ("k=inf,V=1", "a number of 0 or more"),
                        ("k=1,V=1,k.V=1", "between -1 and 1"), ("k=1,V=1,k.A=0.1", "correlated with each other"),
                        ("A=1", "not a random parameter"), ("k@experiment=1", "not a random parameter"),
                        ("k=1,V=1,k=2", "given twice"), ("k=1,V=1,k.V=0.1,V.k=0.2", "given twice"),
                        ("k=", "NAME=NUMBER"), ("k", "NAME=NUMBER"), ("k=1;V=2", "NAME=NUMBER"), ("", "NAME=NUMBER")):
        done = h.stiffit("run", path, "--model", model, *base, "--random-deviation", given, code=2)
        assert text in done.stderr, (given, done.stderr)
    done = h.stiffit("run", path, "--model", model, *base, "--random-covariance", "diagonal", "--random-deviation",
                     "k=1,V=1,k.V=0.5", code=2)
    assert "correlated with each other" in done.stderr
    assert "give --random-deviation k=NUMBER" in h.stiffit("run", path, "--model", model, *base, code=2).stderr
    done = h.stiffit("run", path, "--model", model, "--random", "k,V,A", "--share", "s", "--random-deviation",
                     "k=1,V=1,A=1,k.V=0.9,V.A=0.9,k.A=-0.9", code=2)
    assert "no distribution" in done.stderr
    assert "no parameter is random" in h.stiffit("run", path, "--model", model, "--random-deviation", "k=1", code=2).stderr


if __name__ == "__main__":
    h.main()
