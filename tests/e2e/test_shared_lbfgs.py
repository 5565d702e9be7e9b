"""One fit over many datasets by L-BFGS on the sums: against SciPy on the stacked problem, with bounds and groups.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np

import helpers as h
import test_shared as one
import test_shared_groups as groups

LBFGS = ("--optimizer", "lbfgs", "--max-evaluations", 100000, "--rtol", "1e-11", "--atol", "1e-14", "--ftol", "1e-13")


def compare(found, p, errors, objective):
    """The test predicts less than 1e-13 of the objective: of some 30 degrees of freedom, 2e-6 standard errors; the curvature
    beyond Gauss and Newton makes that a few more."""
    assert np.all(found["status"] == 1), found["stderr"]
    free = np.isfinite(errors)
    assert np.max(np.abs(found["parameters"] - p)[free] / errors[free]) < 1e-4
    np.testing.assert_allclose(found["parameters"][~free], p[~free], rtol=1e-12)
    np.testing.assert_allclose(found["standard_error"][free], errors[free], rtol=1e-3)
    np.testing.assert_allclose(found["objective"].sum(), objective, rtol=1e-9)
    assert np.all(found["optimizer"] == found["optimizer"][0])


def test_scipy(tmp):
    """Closed form and integrated; the evaluations of each dataset are the passes, many more than by Gauss and Newton."""
    for text, n, sigma in ((one.FORMULA, 20, 0.05), (one.EQUATIONS, 12, np.nan)):
        y = one.sample(n, seed=n)
        path, model = one.write(tmp / f"p{n}.h5", text, y, sigma)
        found = one.run(path, model, "--share", "ka", *LBFGS)
        compare(found, *one.stacked(y, [0], one.LOWER, one.UPPER, 1 if np.isnan(sigma) else 1 / sigma))
        assert np.all(found["evaluations"] == found["evaluations"][0])
        other = one.run(path, model, "--share", "ka", *one.EXACT, "--overwrite")
        assert np.all(other["evaluations"] < found["evaluations"] / 4)
        assert found["optimizer"][0] != other["optimizer"][0]


def test_adjoint_gradients(tmp):
    """The derivatives of all residuals are there for the first guess of each leg and for the statistics alone."""
    y = one.sample(8, seed=8)
    path, model = one.write(tmp / "p.h5", one.EQUATIONS, y)
    found = one.run(path, model, "--share", "ka", *LBFGS, "--gradient", "adjoint")
    compare(found, *one.stacked(y, [0], one.LOWER, one.UPPER))
    forward = one.run(path, model, "--share", "ka", *LBFGS, "--overwrite")
    assert np.all(found["gradient"] != forward["gradient"])
    assert np.all(found["evaluations"] < forward["evaluations"])


def test_bounds(tmp):
    """As in test_shared.py: bounds that hold own parameters of some datasets, and the shared one."""
    y = one.sample(15, seed=4)
    low = [1e-3, 1e-3, 1e-4, 0.3]
    for k, upper in enumerate(([1e3, 1e4, 0.25, 10], [1.2, 1e4, 0.35, 10])):
        start = [1, 5, 0.15, 0.4]
        path, model = one.write(tmp / f"b{k}.h5", one.FORMULA, y, name=one.NAMES, start=start, lower=low, upper=upper,
                                level=["shared"] + 3 * ["dataset"])
        found = one.run(path, model, *LBFGS)
        p, errors, objective = one.stacked(y, [0], low, upper, start=start)
        np.testing.assert_array_equal(found["at_bound"] != 0, np.isnan(errors))
        compare(found, p, errors, objective)


def test_groups(tmp):
    """A column that is eliminated otherwise, and one that counts as shared."""
    n = 24
    well = np.arange(n) // 3
    operator = np.arange(n) % 4
    for k, values in enumerate(({0: np.zeros(n), 3: well}, {0: operator, 3: well})):
        y = groups.sample(n, values, seed=30 + k)
        path, model = groups.write(tmp / f"{k}.h5", one.FORMULA, y, {"operator": operator, "well": well})
        found = groups.run(path, model, "--share", "ka,b@well" if k == 0 else "ka@operator,b@well", *LBFGS)
        p, errors, _, objective = groups.stacked(y, values)
        compare(found, p, errors, objective)


def test_failures(tmp):
    """A dataset that cannot be evaluated where large steps lead; and one that must be left out on the way."""
    y = one.sample(10, seed=6)
    text = one.EQUATIONS.replace("ka = 1", "ka = 0.3").replace("-ka*G\n", "-ka*G + 1e-300*sqrt(1.9 - ka)\n", 1)
    path, model = one.write(tmp / "p.h5", text, y)
    found = one.run(path, model, "--share", "ka", *LBFGS)
    compare(found, *one.stacked(y, [0], one.LOWER, one.UPPER))
    y[3] = np.inf
    path, model = one.write(tmp / "q.h5", one.EQUATIONS, y)
    found = one.run(path, model, "--share", "ka", "--leave-out-failed", *LBFGS, code=1)
    p, errors, objective = one.stacked(np.delete(y, 3, axis=0), [0], one.LOWER, one.UPPER)
    rest = {name: np.delete(values, 3, axis=0) if len(values) == 10 else values for name, values in found.items()
            if name != "stderr"}
    compare(rest | {"stderr": found["stderr"]}, p, errors, objective)


def test_budget(tmp):
    """No more passes than allowed; the point is better than the start."""
    y = one.sample(10, seed=7)
    path, model = one.write(tmp / "p.h5", one.FORMULA, y)
    found = one.run(path, model, "--share", "ka", "--optimizer", "lbfgs", "--max-evaluations", 12, code=1)
    assert np.all(found["status"] == 3) and np.all(found["evaluations"] <= 13)
    assert found["objective"].sum() < np.sum((one.curve((1, 5, 0.2, 0)) - y) ** 2) / 2


if __name__ == "__main__":
    h.main()
