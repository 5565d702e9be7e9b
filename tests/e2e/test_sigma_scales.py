"""Accuracy is judged in units of sigma: tiny ones, large offsets, and one that is far smaller than the others. SciPy on closed
forms says what is right.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np
from scipy.optimize import least_squares

import helpers as h

DECAY = """
parameter k = 0.5 in [1e-3, 1e3] scale log
parameter A = 1 in [1e-3, 1e3] scale log
covariate base
x(0) = A
x' = -k*x
observe y = base + x
"""
TIMES = np.linspace(0.5, 8, 12)
# In standard errors, how far a point is from the optimum whose objective is above it by 1e-3.
NEAR = np.sqrt(2e-3)


def fitted(tmp, bases, sigmas, seed, *args, start=(0.5, 1.0)):
    """Rows of n datasets with base and sigmas (n x times), with SciPy's optimum and standard errors of each."""
    rng = np.random.default_rng(seed)
    n = len(bases)
    true = np.column_stack([np.exp(rng.uniform(-1.5, -0.5, n)), np.exp(rng.uniform(0, 1, n))])
    exact = true[:, 1:] * np.exp(-true[:, :1] * TIMES) + bases[:, None]
    y = exact + sigmas * rng.standard_normal(exact.shape)
    rows = np.column_stack([np.repeat(np.arange(n), len(TIMES)), np.tile(TIMES, n), np.zeros(y.size), y.ravel(),
                            sigmas.ravel()])
    problem = h.write_problem(tmp / "decay.h5", None, [f"d{i}" for i in range(n)], rows, covariates={"base": bases},
                              parameters={"name": ["k", "A"], "start": start})
    with h5py.File(problem, "a") as f:
        f["model"].create_dataset("source", data=DECAY, dtype=h5py.string_dtype())
    fits = h.run(problem, *args, "--overwrite", code=None)
    for i in range(n):
        def residuals(x, i=i):
            # The base is taken from the value first: their difference is exact, as long as they are close.
            return (np.exp(x[1] - np.exp(x[0]) * TIMES) - (y[i] - bases[i])) / sigmas[i]

        def slopes(x, i=i):
            m = np.exp(x[1] - np.exp(x[0]) * TIMES) / sigmas[i]
            return np.column_stack([-np.exp(x[0]) * TIMES * m, m])
        found = least_squares(residuals, np.log(true[i]), slopes, xtol=1e-15, ftol=1e-15, gtol=1e-15, x_scale="jac")
        error = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
        p = fits["parameters"][i]
        # An offset costs digits of the data themselves: one rounding of each value.
        rounding = np.sum((np.spacing(np.abs(y[i])) / sigmas[i]) ** 2)
        yield {"fits": fits, "i": i, "distance": np.abs(np.log(p) - found.x) / error, "cost": found.cost, "rounding": rounding,
               "mine": 0.5 * np.sum(residuals(np.log(p)) ** 2), "error": error * np.exp(found.x)}


def assert_right(row, what):
    fits, i = row["fits"], row["i"]
    told = (what, fits["status"][i], int(fits["notes"][i]), row["distance"], row["mine"], row["cost"], fits["objective"][i])
    assert fits["status"][i] == "converged", told
    # 1e-3 is what the certificate asks for; its estimate of an error is one of a few of them.
    assert row["mine"] <= row["cost"] + 1e-2 + row["rounding"], told
    assert np.all(row["distance"] < NEAR), told
    assert abs(fits["objective"][i] - row["mine"]) < 1e-2 + row["rounding"], told
    assert fits["flat_directions"][i] == 0 and not int(fits["notes"][i]) & (1 << 10 | 1 << 11 | 1 << 12), told
    # Predictions' derivatives are as accurate as the integration, which is looser than this by far.
    np.testing.assert_allclose(fits["standard_error"][i], row["error"], rtol=1e-3, err_msg=str(told))


def test_tiny_sigmas(tmp):
    """A ten-millionth of the values, as of exact data from elsewhere."""
    for relative in (1e-5, 1e-6, 1e-7):
        for row in fitted(tmp, np.zeros(6), np.full((6, 12), relative), 3):
            assert_right(row, relative)


def test_offsets(tmp):
    """A constant that all values carry changes nothing."""
    for base in (1e4, 1e7):
        for row in fitted(tmp, np.full(6, base), np.full((6, 12), 0.01), 4):
            assert_right(row, base)


def test_one_sigma_far_below_the_others(tmp):
    """The valley that one measurement cuts is curved and has to be followed: SciPy's lm and trf take up to 309 evaluations."""
    n = 12
    for one, others, start in ((1e-5, 1e-2, (0.5, 1.0)), (1e-5, 1e-2, (5.0, 20.0)), (1e-6, 1e-2, (0.5, 1.0))):
        sigmas = np.full((n, 12), others)
        sigmas[np.arange(n), np.arange(n)] = one
        for method in ("trf", "lbfgs"):
            for row in fitted(tmp, np.zeros(n), sigmas, 5, "--optimizer", method, start=start):
                assert_right(row, (one, others, start, method))


if __name__ == "__main__":
    h.main()
