"""Parameters that groups of datasets share, against SciPy on the stacked problem.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np
from scipy.optimize import least_squares
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import faults
import helpers as h
from test_shared import EQUATIONS, EXACT, FORMULA, IS_LOG, NAMES, T, curve, run

START = np.array([1, 5, 0.2, 0.0])


def sample(n, groups, seed, sigma=0.05):
    """Curves of which ka is common to all, and others as `groups` says: parameter -> group numbers."""
    rng = np.random.default_rng(seed)
    true = np.column_stack([np.full(n, 1.7), np.exp(rng.normal(1.5, 0.3, n)), np.exp(rng.normal(-1.8, 0.3, n)),
                            rng.normal(0.3, 0.1, n)])
    for j, group in groups.items():
        true[:, j] = true[np.unique(group, return_index=True)[1], j][np.unique(group, return_inverse=True)[1]]
    return np.array([curve(p) for p in true]) + sigma * rng.standard_normal((n, len(T)))


def write(path, text, y, columns, levels=None):
    model = path.with_suffix(".ode")
    model.write_text(text)
    n = len(y)
    rows = [(d, T[i], 0, y[d, i], np.nan) for d in range(n) for i in range(len(T))]
    h.write_problem(path, None, [f"d{d}" for d in range(n)], rows, covariates=columns)
    if levels:
        with h5py.File(path, "a") as f:
            for name, value in (("name", NAMES), ("level", levels)):
                f.create_dataset(f"parameters/{name}", data=value, dtype=h5py.string_dtype())
    return path, model


def stacked(y, groups):
    """The optimum by SciPy: p and standard errors, n x 4. groups: parameter -> numbers; no entry: one for each dataset."""
    n = len(y)
    index, size = np.zeros((n, 4), int), 0
    for j in range(4):
        values, index[:, j] = np.unique(groups.get(j, np.arange(n)), return_inverse=True)
        index[:, j] += size
        size += len(values)
    x0 = np.zeros(size)
    for j in range(4):
        x0[index[:, j]] = np.log(START[j]) if IS_LOG[j] else START[j]

    def natural(x):
        return np.where(IS_LOG, np.exp(x[index]), x[index])

    def jacobian(x):
        out = np.zeros((y.size, size))
        for j in range(4):  # complex steps in all datasets at once
            z = x[index].astype(complex)
            z[:, j] += 1e-30j
            slope = np.array([curve(p) for p in np.where(IS_LOG, np.exp(z), z)]).imag / 1e-30
            for d in range(n):
                out[d * len(T):(d + 1) * len(T), index[d, j]] += slope[d]
        return out

    def residual(x):
        return np.concatenate([curve(p) - data for p, data in zip(natural(x), y)])

    x = least_squares(residual, x0, jacobian, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=2000).x
    for _ in range(8):
        x = x - np.linalg.lstsq(jacobian(x), residual(x), rcond=None)[0]
    a, r = jacobian(x), residual(x)
    covariance = np.linalg.inv(a.T @ a) * np.sum(r ** 2) / (len(r) - size)
    p = natural(x)
    return p, np.sqrt(np.diag(covariance))[index] * np.where(IS_LOG, p, 1), len(r) - size, 0.5 * np.sum(r ** 2)


def components(n, groups):
    """Datasets that share parameters, directly or through others, by SciPy's graph algorithm."""
    edges = [(np.flatnonzero(group == group[d])[0], d) for group in groups.values() for d in range(n)]
    i, j = np.array(edges).T
    return connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)[1]


def separate(y, groups):
    """As stacked, of each component by itself: estimates, errors, degrees of freedom and objectives by dataset."""
    n = len(y)
    of = components(n, groups)
    p, errors, freedom, objective = np.zeros((n, 4)), np.zeros((n, 4)), np.zeros(n), 0
    for c in np.unique(of):
        rows = np.flatnonzero(of == c)
        p[rows], errors[rows], freedom[rows], f = stacked(y[rows], {j: group[rows] for j, group in groups.items()})
        objective += f
    return p, errors, freedom, objective


def compare(found, expected, tolerance=1e-8):
    p, errors, freedom, objective = expected
    assert np.all(found["status"] == 1), found["stderr"]
    np.testing.assert_allclose(found["parameters"], p, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found["standard_error"], errors, rtol=1e-4)
    np.testing.assert_allclose(found["covariance"][:, ::5], found["standard_error"] ** 2, rtol=1e-9)
    np.testing.assert_allclose(found["objective"].sum(), objective, rtol=max(1e-9, 1e-3 * tolerance))
    assert np.all(found["degrees_of_freedom"] == freedom)


def test_groups(tmp):
    """One column; with and without parameters that all share, in the file and as option."""
    n = 24
    plate = np.random.default_rng(1).integers(0, 5, n) * 10.0 - 7
    every = np.zeros(n)
    for k, groups in enumerate(({0: every, 3: plate}, {3: plate}, {0: plate, 3: plate})):
        y = sample(n, groups, seed=k)
        share = ",".join(NAMES[j] + ("" if group is every else "@plate") for j, group in groups.items())
        path, model = write(tmp / f"a{k}.h5", FORMULA, y, {"plate": plate})
        found = run(path, model, "--share", share, *EXACT)
        compare(found, separate(y, groups))
        assert ("shared/name" in found) == (k == 0)
        levels = ["dataset"] * 4
        for j, group in groups.items():
            levels[j] = "shared" if group is every else "plate"
        path, model = write(tmp / f"b{k}.h5", FORMULA, y, {"plate": plate}, levels)
        faults.same_fits(found, run(path, model, *EXACT))


def test_columns(tmp):
    """Nested and crossed columns; the one with the most values is eliminated, wherever it stands."""
    n = 30
    well = np.arange(n) // 3
    batch = well // 4
    operator = np.arange(n) % 4
    for k, groups in enumerate(({0: batch, 3: well}, {0: well, 3: batch}, {0: operator, 3: well},
                                {0: np.zeros(n), 2: operator, 3: well})):
        y = sample(n, groups, seed=10 + k)
        name = {id(batch): "@batch", id(well): "@well", id(operator): "@operator"}
        path, model = write(tmp / f"{k}.h5", FORMULA, y, {"operator": operator, "batch": batch, "well": well})
        share = ",".join(NAMES[j] + name.get(id(group), "") for j, group in groups.items())
        # the gradient test accepts promises of 1e-12, a millionth of a standard error
        compare(run(path, model, "--share", share, *EXACT), separate(y, groups), tolerance=1e-7)


def test_numbers_of_groups(tmp):
    """Groups that are numbered otherwise give the same bits; another grouping is another run."""
    n = 40
    plate = np.arange(n) % 7
    y = sample(n, {0: np.zeros(n), 3: plate}, seed=20)
    path, model = write(tmp / "p.h5", EQUATIONS, y, {"plate": plate, "other": plate // 2})
    whole = run(path, model, "--share", "ka,b@plate")
    compare(whole, stacked(y, {0: np.zeros(n), 3: plate}), tolerance=1e-4)
    h.stiffit("run", path, "--model", model, "--share", "ka,b@other", code=4)
    renamed, model = write(tmp / "q.h5", EQUATIONS, y, {"plate": 100 - plate, "other": plate})
    found = run(renamed, model, "--share", "ka,b@other")  # the same groups in the same order
    faults.same_fits(found, whole)
    # In another order sums differ by rounding, and adaptive steps make of that what the integrator's tolerance allows.
    found = run(renamed, model, "--share", "ka,b@plate", "--overwrite")
    assert np.all(np.abs(found["parameters"] - whole["parameters"]) < 1e-4 * whole["standard_error"])


def test_left_out(tmp):
    """A group that loses some or all of its datasets."""
    n = 12
    plate = np.arange(n) // 3
    y = sample(n, {0: np.zeros(n), 3: plate}, seed=30)
    y[[4, 6, 7, 8]] = np.nan
    path, model = write(tmp / "p.h5", FORMULA, y, {"plate": plate})
    found = run(path, model, "--share", "ka,b@plate", "--leave-out-failed", *EXACT, code=1)
    kept = np.flatnonzero(np.isfinite(y[:, 0]))
    assert np.all(found["status"][[4, 6, 7, 8]] == 8)
    left = {name: column[kept] for name, column in found.items() if name != "stderr" and not name.startswith("shared")}
    compare(left | {"stderr": found["stderr"]}, stacked(y[kept], {0: np.zeros(len(kept)), 3: plate[kept]}))


def test_refused(tmp):
    """Columns that there are not, groups that are no numbers, and too many values of other columns."""
    n = 2100
    y = np.tile(sample(1, {}, seed=40), (n, 1))
    plate = np.arange(n) // 2.0
    bad = np.where(plate == 3, np.nan, 0)
    path, model = write(tmp / "p.h5", FORMULA, y, {"plate": plate, "next": (np.arange(n) + 1) // 2, "bad": bad})
    words = ("run", path, "--model", model, "--share")
    assert "no column of groups 'plat'" in h.stiffit(*words, "b@plat", code=3).stderr
    assert "row 6 (dataset 'd6'): the group bad is nan" in h.stiffit(*words, "b@bad", code=3).stderr
    assert "2100 values" in h.stiffit(*words, "A@next,b@next,k@plate,ka@plate", code=2).stderr
    path, model = write(tmp / "q.h5", FORMULA, y[:4], {"plate": plate[:4]}, ["shared", "dataset", "dataset", "plat"])
    assert "/parameters/level row 3" in h.stiffit("run", path, "--model", model, code=3).stderr


if __name__ == "__main__":
    h.main()
