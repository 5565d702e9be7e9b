"""Random starts of shared parameters: the best is that of the sum over all datasets.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np
from scipy.optimize import least_squares

import helpers as h
from test_shared import EQUATIONS, run_file, sample, write

# The frequency has a local optimum in every other period.
WAVES = """model waves
parameter w = 1 in [0.1, 30], A = 1 in [-10, 10]
observe y = A*sin(w*t)
"""
T = np.linspace(0.1, 5, 25)


def waves(path, n=20, seed=1):
    rng = np.random.default_rng(seed)
    y = (2 + 0.1 * np.arange(n))[:, None] * np.sin(7.3 * T) + 0.05 * rng.standard_normal((n, len(T)))
    h.write_problem(path, None, [f"d{d}" for d in range(n)], [(d, t, 0, v, 0.05) for d in range(n) for t, v in zip(T, y[d])])
    model = path.with_suffix(".ode")
    model.write_text(WAVES)
    return path, model, y


def test_best_of_sums(tmp):
    """SciPy from the truth finds no lower sum."""
    path, model, y = waves(tmp / "p.h5")
    words = (path, "--model", model, "--share", "w")
    local = run_file(*words)

    def residuals(x):
        return ((x[1:, None] * np.sin(x[0] * T) - y) / 0.05).ravel()

    best = least_squares(residuals, np.r_[7.3, 2 + 0.1 * np.arange(20)], xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert local["objective"].sum() > 10 * best.cost
    found = run_file(*words, "--overwrite", "--starts", 20, "--keep-starts")
    assert np.all(found["status"] == 1)
    np.testing.assert_allclose(found["objective"].sum(), best.cost, rtol=1e-9)
    np.testing.assert_allclose(found["parameters"][:, 0], best.x[0], rtol=1e-8)
    np.testing.assert_allclose(found["parameters"][:, 1], best.x[1:], rtol=5e-7)  # 1e-4 standard errors
    with h5py.File(h.result_path(path)) as f:
        starts, fits = f["starts"], f["fits"]
        assert len(starts["dataset"]) == 20 * 20
        total = np.zeros(20)
        np.add.at(total, starts["start"][:], starts["objective"][:])
        success = np.ones(20, bool)
        np.logical_and.at(success, starts["start"][:], starts["status"][:] == 1)
        assert np.all(fits["start"][:] == np.where(success, total, np.inf).argmin())
        assert np.all(fits["starts_at_optimum"][:] == np.count_nonzero(success & (total < total[success].min() * (1 + 1e-6))))
        # a start is one value of the shared parameter; some datasets alone are lower elsewhere, and follow all the same
        ends = starts["parameters"][:].reshape(20, 20, 2)[:, :, 0]
        assert np.all(np.ptp(ends, axis=0) == 0) and len(np.unique(ends)) > 3


def test_seeds(tmp):
    path, model = write(tmp / "p.h5", EQUATIONS, sample(40, seed=2), 0.05)
    ends = []
    for seed in (1, 2):  # the best of all starts may be the file's
        run_file(path, "--model", model, "--share", "ka", "--starts", 4, "--overwrite", "--keep-starts", "--seed", seed)
        with h5py.File(h.result_path(path)) as f:
            ends.append(f["starts/parameters"][:])
    assert np.any(ends[0] != ends[1])


FAILED = 6, 10  # model_failed, and other_failed: because of another dataset
# A square root that does not exist where the shared parameter is above the dataset's limit.
LIMITED = """model limited
covariate limit
parameter w = {start} in [0.1, 30], A = 1 in [-10, 10]
observe y = A*{curve} + 1e-3*sqrt(limit - w)
"""


def limited(path, curve, limit, y, start=1):
    n = len(y)
    h.write_problem(path, None, [f"d{d}" for d in range(n)], [(d, t, 0, v, 0.05) for d in range(n) for t, v in zip(T, y[d])],
                    covariates={"limit": limit})
    model = path.with_suffix(".ode")
    model.write_text(LIMITED.format(curve=curve, start=start))
    return path, model


def read_starts(path, n):
    """Status and objective, each of starts by datasets."""
    with h5py.File(h.result_path(path)) as f:
        order = np.lexsort((f["starts/dataset"][:], f["starts/start"][:]))
        return [f["starts"][name][:][order].reshape(-1, n) for name in ("status", "objective")]


def test_drawn_again(tmp):
    """Of starts in [0.1, 30], those above 20 cannot be evaluated: others take their places."""
    _, _, y = waves(tmp / "p.h5")
    path, model = limited(tmp / "q.h5", "sin(w*t)", np.full(20, 20.0), y)
    words = (path, "--model", model, "--share", "w", "--starts", 20, "--keep-starts", "--overwrite")
    first = run_file(*words)
    status, _ = read_starts(path, 20)
    assert not np.any(np.isin(status, FAILED)), np.unique(status, return_counts=True)

    def residuals(x):
        return ((x[1:, None] * np.sin(x[0] * T) + 1e-3 * np.sqrt(20 - x[0]) - y) / 0.05).ravel()

    best = least_squares(residuals, np.r_[7.3, 2 + 0.1 * np.arange(20)], xtol=1e-15, ftol=1e-15, gtol=1e-15)
    np.testing.assert_allclose(first["objective"].sum(), best.cost, rtol=1e-9)


def test_most_datasets(tmp):
    """A start that leaves datasets out has a lower sum, of fewer terms. It is neither better nor the same optimum."""
    y = 3 * np.exp(-0.7 * T) + 0.05 * np.random.default_rng(4).standard_normal((12, len(T)))
    path, model = limited(tmp / "p.h5", "exp(-w*t)", np.repeat([10.0, 1e4], [3, 9]), y)
    words = (path, "--model", model, "--share", "w", "--leave-out-failed")
    one = run_file(*words)
    found = run_file(*words, "--starts", 8, "--keep-starts", "--overwrite")
    status, objective = read_starts(path, 12)
    n_fitted = np.count_nonzero(status == 1, axis=1)
    assert set(n_fitted) == {9, 12}, n_fitted
    assert np.nansum(objective[n_fitted == 9], axis=1).min() < one["objective"].sum()
    assert np.all(found["status"] == 1), found["status"]
    np.testing.assert_allclose(found["objective"].sum(), one["objective"].sum(), rtol=1e-9)
    assert np.all(found["starts_at_optimum"] == np.count_nonzero(n_fitted == 12))
    assert np.all(np.isnan(found["other_optimum_lower"]))


def test_no_success(tmp):
    """The given start cannot be evaluated, the others use up their budget: the lowest of them is reported."""
    _, _, y = waves(tmp / "p.h5", 4)
    path, model = limited(tmp / "q.h5", "sin(w*t)", np.full(4, 20.0), y, start=25)
    found = run_file(path, "--model", model, "--share", "w", "--starts", 4, "--keep-starts", "--max-evaluations", 3, code=1)
    status, objective = read_starts(path, 4)
    assert np.all(np.isin(status[0], FAILED)) and not np.any(np.isin(status[1:], (1, *FAILED))), status
    assert found["objective"].sum() == objective[1:].sum(axis=1).min()


if __name__ == "__main__":
    h.main()
