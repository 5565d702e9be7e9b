"""Mixed effects: what is refused and how, variances that are zero, datasets that cannot be used.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np
from scipy.optimize import minimize

import h5py

import helpers as h
import mixed
import mixed_oracle as mo
import test_mixed_linear as linear
from test_crash import problem as crash_problem
from test_shared_faults import without

WORDS = ("--random", "k,A", "--share", "sigma")


def refused(problem, words, *parts, code=2):
    done = h.stiffit("run", *problem, *words, code=code)
    assert not h.result_path(problem[0]).exists()
    for part in parts:
        assert part in done.stderr, (words, part, done.stderr)
    return done


def test_options_refused(tmp):
    """What cannot go together: the message names it, and nothing is written."""
    problem = linear.Data(6, 5, seed=31).write(tmp / "p.h5", linear.FORMULA)
    with h5py.File(problem[0], "a") as f:
        f["datasets"].create_dataset("covariate_names", data=["plate"], dtype=h5py.string_dtype())
        f["datasets/covariates"] = np.array([[0], [0], [0], [1], [1], [1.0]])
    for words, *parts in (
            (("--random", "kk,A", "--share", "sigma"), "kk"),
            (("--random", "", "--share", "sigma"), "--random"),
            (("--random", "k,k", "--share", "sigma"), "k"),
            (("--random", "k,A", "--share", "sigma,k"), "k"),
            (("--random", "k", "--share", "sigma"), "A", "--share"),  # A is of each dataset
            (("--random", "k,A"), "sigma", "--share"),
            ((*WORDS, "--fix", "k"), "k", "fix"),
            (("--random", "k,A", "--share", "sigma@plate"), "sigma"),
            (("--random", "k,A@plate", "--share", "sigma"), "A@plate"),
            ((*WORDS, "--likelihood", "focei"), "focei"),
            ((*WORDS, "--random-covariance", "k.B"), "B"),
            ((*WORDS, "--random-covariance", "k.sigma"), "sigma"),
            ((*WORDS, "--random-covariance", "k.A,k"), "k"),
            ((*WORDS, "--optimizer", "lbfgs"), "lbfgs"),
            ((*WORDS, "--gradient", "adjoint"), "adjoint"),
            ((*WORDS, "--warm-start", "pilot"), "pilot"),
            ((*WORDS, "--shard", "1/2"), "--shard"),
            (("--likelihood", "laplace"), "--random"),
            (("--random-covariance", "diagonal"), "--random")):
        refused(problem, words, *parts)


def test_problems_refused(tmp):
    """Files that have no such fit."""
    one = mixed.write(tmp / "one.h5", linear.FORMULA, [(0, t, 0, np.exp(-t), np.nan) for t in (1, 2, 3)])
    refused(one, WORDS, "one dataset", code=2)
    with h5py.File(one[0], "a") as f:
        for group in ("datasets", "measurements"):
            for name, column in f[group].items():
                kind = column.dtype
                del f[group][name]
                f[group].create_dataset(name, shape=(0,), dtype=kind)
    refused(one, WORDS, "no datasets", code=2)


def test_no_sigma(tmp):
    """Without a sigma there is no likelihood: the rows say so, and the run does."""
    text = linear.FORMULA.replace("parameter sigma = 0.3 in [1e-4, 100] scale log\n", "").replace(" lognormal sd sigma", "")
    problem = linear.Data(6, 5, seed=31).write(tmp / "p.h5", text)
    done = h.stiffit("run", *problem, "--random", "k,A", code=(1, 2, 3))
    assert "sigma" in done.stderr, done.stderr


def test_too_few_measurements(tmp):
    """Six estimates from three measurements: no maximum to be found, which must be said; never a crash, never `converged`
    with standard errors."""
    problem = mixed.write(tmp / "p.h5", linear.FORMULA, [(d, 1.0, 0, v, np.nan) for d, v in enumerate((1.2, 2.0, 0.7))])
    done = h.stiffit("run", *problem, *WORDS, code=(1, 2, 3))
    assert "measurement" in done.stderr or "likelihood" in done.stderr or "converged" in done.stderr, done.stderr


def test_held_mean(tmp):
    """A mean that its bound holds has no standard error, and the run says so."""
    text = linear.FORMULA.replace("parameter k = 0.4", "parameter k = 0.4 in [0.1, 0.42]")
    found = mixed.run(linear.Data(30, 8, seed=31).write(tmp / "bound.h5", text), *WORDS)
    assert found["mean"][0] == 0.42 and np.isnan(found["standard_error"][0])
    assert "1 of 6 estimates have no standard error (mean(k)): a bound holds" in found["stderr"], found["stderr"]


def test_zero_variance(tmp):
    """A variance whose maximum is at 0 ends there and is said; the rest is that of the model in which it is not random."""
    data = linear.Data(40, 6, seed=33, covariance=((1e-12, 0), (0, 0.09)))
    kept = ~data.missing
    t, y, mask = mo.pad((data.rows[kept, 0], data.rows[kept, 1], data.rows[kept, 3]), data.n)
    jacobian = 2 * np.sum(np.where(mask, np.log(y), 0), axis=1)
    ones = np.ones_like(t)[..., None]
    without = mo.maximise(mo.Linear(np.log(y), ones, mask, w=-t[..., None], jacobian=jacobian), [1.0], [[0.1]],
                          [0.5, np.log(0.2)])
    both = mo.Linear(np.log(y), np.concatenate([-t[..., None], ones], axis=-1), mask, blocks=[[0], [1]], jacobian=jacobian)
    mean_a, var_a, k, sigma = without.theta
    slope = both.evaluate(np.array([k, mean_a, 0, var_a, sigma]))[1].sum(axis=0)[2]
    assert slope < 0, "the seed's maximum is not at 0"
    problem = data.write(tmp / "p.h5", linear.FORMULA)
    for how in ("laplace", "exact"):
        found = mixed.run(problem, *WORDS, "--random-covariance", "diagonal", "--likelihood", how, "--overwrite", code=(0, 1))
        assert list(found["estimate_name"]) == ["mean(k)", "mean(A)", "var(k)", "var(A)", "sigma"]
        assert found["estimate"][2] == 0 and found["standard_deviation"][0] == 0, found["estimate"]
        assert np.isnan(found["standard_error"][2]) and np.all(np.isfinite(found["standard_error"][[0, 1, 3, 4]]))
        value = found["minus_2_log_likelihood"]
        assert abs(value - without.value) < mixed.LIKELY, (value, without.value)
        order = [2, 0, 1, 3]
        off = np.abs(found["estimate"][[0, 1, 3, 4]] - without.theta[order]) / without.standard_error[order]
        assert np.max(off) < mixed.FINE, (how, off)
        np.testing.assert_allclose(found["standard_error"][[0, 1, 3, 4]], without.standard_error[order], rtol=mixed.FINE)
        assert "no variance of k was found" in found["stderr"], found["stderr"]
        assert np.all(found["fits"]["status"] == "converged")
        assert "no variance was found" in h.stiffit("show", h.result_path(problem[0])).stdout


def test_singular_covariance(tmp):
    """A full covariance whose maximum has the correlation 1: the likelihood is the highest that any factor has."""
    data = linear.Data(30, 4, seed=31, covariance=((0.01, 0.03), (0.03, 0.09)), effect=0)
    kept = ~data.missing
    t, y, mask = mo.pad((data.rows[kept, 0], data.rows[kept, 1], data.rows[kept, 3]), data.n)
    model = mo.Linear(np.log(y), np.stack([-t, np.ones_like(t)], axis=-1), mask,
                      jacobian=2 * np.sum(np.where(mask, np.log(y), 0), axis=1))

    def value(u):
        factor = np.array([[u[2], 0], [u[3], u[4]]])
        return model.evaluate(model.layout.theta(u[:2], factor @ factor.T, u[5:]))[0].sum()

    best = min((minimize(value, [0.5, 1, 0.1, sign * 0.3, 0.05, -1.8], method="BFGS", jac="3-point") for sign in (-1, 1)),
               key=lambda found: found.fun)
    assert abs(best.x[4]) < 1e-3, f"the seed's maximum is not singular: {best.x}"
    problem = data.write(tmp / "p.h5", linear.FORMULA)
    for how in ("laplace", "exact"):
        found = mixed.run(problem, *WORDS, "--likelihood", how, "--overwrite", code=(0, 1))
        assert abs(found["minus_2_log_likelihood"] - best.fun) < mixed.LIKELY, (found["minus_2_log_likelihood"], best.fun)
        assert abs(abs(found["correlation"][0, 1]) - 1) < 1e-3, found["correlation"]
        np.testing.assert_allclose(found["estimate"][:2], best.x[:2], atol=1e-3)


def test_left_out(tmp):
    """One that cannot be integrated is a row with its reason, and one without measurements has the population's parameters; the
    others are as if these were not there."""
    data = linear.Data(20, 5, seed=35)
    text = linear.COVARIATE.replace("x' = -k*x", "x' = -k*x + 0*log(weight)")
    data.weight[7] = -1
    data.missing[data.rows[:, 0] == 3] = True
    found = mixed.run(data.write(tmp / "p.h5", text), "--random", "k,tA", "--share", "beta,sigma", code=1)
    assert found["n_left_out"] == 1 and found["n_dataset"] == 18
    assert found["n_measurement"] == np.sum(~data.missing & (data.rows[:, 0] != 7))
    status = found["fits"]["status"]
    assert status[3] == "converged" and status[7] not in ("converged", "bad_data"), status
    others = np.setdiff1d(np.arange(20), [3, 7])
    assert np.all(status[others] == "converged"), status
    assert np.all(np.isnan(found["fits"]["parameters"][7]))
    columns = [found["fits"]["names"].index(name) for name in ("k", "tA")]
    np.testing.assert_allclose(found["fits"]["parameters"][3, columns], found["natural_mean"], rtol=1e-9)
    assert "1 of 20 datasets" in found["stderr"], found["stderr"]
    gone = np.isin(data.rows[:, 0], [3, 7])
    rows = data.rows[~gone]
    rows[:, 0] = np.searchsorted(others, rows[:, 0])
    value = np.where(data.missing[~gone], np.nan, rows[:, 3])
    rest = mixed.write(tmp / "q.h5", text, np.column_stack([rows[:, :3], value, np.full(len(rows), np.nan)]),
                       {"weight": data.weight[others]}, ids=[f"d{d}" for d in others])
    rest = mixed.run(rest, "--random", "k,tA", "--share", "beta,sigma")
    # the correlation is 1 here, and the covariance's estimates have no standard errors
    has_error = np.isfinite(rest["standard_error"])
    assert np.array_equal(has_error, np.isfinite(found["standard_error"])) and has_error.sum() == 4, rest["standard_error"]
    scale = np.where(has_error, rest["standard_error"], np.abs(rest["estimate"]))
    off = np.abs(found["estimate"] - rest["estimate"]) / scale
    assert np.max(off) < 1e-3, off
    assert abs(found["minus_2_log_likelihood"] - rest["minus_2_log_likelihood"]) < 1e-3


@h.more
def test_crash(tmp):
    """A dataset whose model crashes or hangs is left out; the estimates are those without it."""
    h.let_models_crash()
    env = h.environment(STIFFIT_HANG_SECONDS=h.SANITIZER_SPEED)
    words = ("--random", "k,A")
    for word, status in (("segfault", "crashed"), ("sleep", "timeout")) if h.SLOW else (("segfault", "crashed"),):
        path = crash_problem(tmp / f"{word}.h5", 12, {5: word})
        with h5py.File(path, "a") as f:
            value = f["measurements/value"][()]
            f["measurements/value"][...] = value * np.exp(0.05 * np.random.default_rng(1).normal(size=len(value)))
            f["measurements/sigma"] = 0.05 * np.abs(value) + 1e-3
        found = mixed.run((path, "--trust"), *words, code=1, env=env)
        assert found["fits"]["status"][5] == status, (word, found["fits"]["status"])
        assert found["n_left_out"] == 1 and np.sum(found["fits"]["status"] == "converged") == 11
        rest = mixed.run((without(path, [5], tmp / "rest.h5"), "--trust"), *words, "--overwrite")
        off = np.abs(found["estimate"] - rest["estimate"]) / rest["standard_error"]
        assert np.max(off) < 1e-3, (word, off)


def test_start_that_cannot_be_evaluated(tmp):
    """The dataset that ends the search says so itself; it has been run."""
    problem = linear.Data(6, 5, seed=31).write(tmp / "p.h5", linear.FORMULA)
    h.stiffit("run", *problem, *WORDS, "--random-deviation", "k=1e300", code=1)
    fits = h.read_fits(h.result_path(problem[0]))
    assert list(fits["status"]) == ["model_failed"] + ["other_failed"] * 5, fits["status"]
    assert all("too large" in message for message in fits["message"]), fits["message"]


def test_all_left_out(tmp):
    """No dataset can be used."""
    data = linear.Data(4, 4, seed=35)
    data.missing[:] = True
    done = h.stiffit("run", *data.write(tmp / "p.h5", linear.FORMULA), *WORDS, code=1)
    assert "measurement" in done.stderr, done.stderr


if __name__ == "__main__":
    h.main()
