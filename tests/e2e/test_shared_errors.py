"""Errors other than normal ones in fits with shared parameters, against SciPy's minimum.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np

import helpers as h
from test_shared import EQUATIONS, EXACT, FORMULA, T, curve, run, sample, write


def test_errors_other_than_normal(tmp):
    """Student's and Huber's losses and log-normal errors, against SciPy's minimum of the summed loss."""
    y = np.abs(sample(8, seed=13)) + 0.05
    y[::3, 2] += 0.8
    for error, rho in (("student", lambda r: 2.5 * np.log1p(r ** 2 / 4)),
                       ("huber", lambda r: np.where(np.abs(r) <= 1.345, r ** 2 / 2, 1.345 * np.abs(r) - 1.345 ** 2 / 2)),
                       ("log-normal", lambda r: r ** 2 / 2)):
        path, model = write(tmp / f"{error}.h5", FORMULA, y, 0.1)
        found = run(path, model, "--share", "ka", "--error", error, *EXACT)
        p = found["parameters"]

        def objective(x, error=error, rho=rho):
            own = np.column_stack([np.full(8, x[-1]), x[:24].reshape(8, 3)])
            curves = np.array([curve(q) for q in own])
            residual = np.log(np.maximum(curves, 1e-300) / y) if error == "log-normal" else curves - y
            return np.sum(rho(residual / 0.1))

        x = np.append(p[:, 1:].ravel(), p[0, 0])
        # nothing near is lower, and slopes vanish: central differences are good to 1e-5 of this objective's curvature
        for j, value in enumerate(x):
            step = 1e-4 * max(abs(value), 0.1)
            low, here, high = (objective(np.where(np.arange(len(x)) == j, value + k * step, x)) for k in (-1, 0, 1))
            assert high >= here - 1e-9 and low >= here - 1e-9, (error, j)
            curvature = high - 2 * here + low
            assert abs(high - low) < 0.02 * curvature + 1e-9, (error, j, high - low, curvature)


def laplace_reference(y, sigma):
    """The minimum of the sum of sqrt(r^2 + 0.01^2), the shared parameter last: Newton's method with damping, where the corner
    is made sharper step by step, and derivatives by complex steps."""
    n = len(y)
    x = np.append(np.tile([np.log(4.5), np.log(0.16), 0.3], n), np.log(1.7))

    def residual(x):
        own = x[:-1].reshape(n, 3)
        return np.array([(curve((np.exp(x[-1]), np.exp(a), np.exp(k), b)) - data) / sigma
                         for (a, k, b), data in zip(own, y)]).ravel()

    for corner in (3, 1, 0.3, 0.1, 0.03, 0.01):
        damping, f = 1e-3, np.sum(np.sqrt(residual(x) ** 2 + corner**2))
        for _ in range(300):
            r = residual(x)
            slopes = np.stack([residual(x + 1e-30j * unit).imag / 1e-30 for unit in np.eye(len(x))], axis=1)
            gradient = slopes.T @ (r / np.sqrt(r**2 + corner**2))
            hessian = (slopes.T * (corner**2 / (r**2 + corner**2) ** 1.5)) @ slopes
            scale = np.diag((slopes**2).sum(axis=0)) / len(r)
            step = np.linalg.solve(hessian + damping * scale, -gradient)
            new = np.sum(np.sqrt(residual(x + step) ** 2 + corner**2))
            if new < f:
                gain, f, x, damping = f - new, new, x + step, damping / 4
                if gain < 1e-11 * f:
                    break
            else:
                damping *= 8
            if damping > 1e12:
                break
    return x, f


def test_laplace(tmp):
    """The corners are found: the lowest objective known, within 1e-7, and so the shared parameter but for 0.01 of its
    error. Without a sigma there is nothing to round the corners by."""
    rng = np.random.default_rng(3)
    y = sample(12, seed=13, sigma=0) + 0.05 * rng.laplace(size=(12, len(T)))
    x, lowest = laplace_reference(y, 0.05)
    for text in (FORMULA, EQUATIONS):
        path, model = write(tmp / "p.h5", text, y, 0.05)
        found = run(path, model, "--share", "ka", "--error", "laplace", "--overwrite", "--rtol", "1e-9")
        assert abs(found["objective"].sum() - lowest) < 1e-7 * lowest, (found["objective"].sum(), lowest)
        assert abs(found["parameters"][0, 0] - np.exp(x[-1])) < 0.01 * found["standard_error"][0, 0]
        assert np.max(found["iterations"]) < 500, found["iterations"]
    path, model = write(tmp / "p.h5", FORMULA, y)
    found = run(path, model, "--share", "ka", "--error", "laplace", "--overwrite", code=1)
    assert "no measurement has a sigma" in found["stderr"], found["stderr"]


if __name__ == "__main__":
    h.main()
