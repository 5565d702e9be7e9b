"""The references of the tests of mixed effects, against each other and against plain quadrature: a wrong reference is worse
than none.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np
from scipy.stats import multivariate_normal

import helpers as h
import mixed_oracle as mo


def linear_data(n=7, seed=3):
    """log y = a - k t + beta w + e, of different lengths."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, 4, (n, 6)), axis=1)
    mask = np.arange(6) < rng.integers(1, 7, n)[:, None]
    phi = rng.multivariate_normal([0.5, 1.0], [[0.04, 0.01], [0.01, 0.09]], n)
    w = rng.normal(size=(n, 1)) * np.ones((n, 6))
    z = phi[:, 1:] - phi[:, :1] * t + 0.3 * w + 0.2 * rng.normal(size=t.shape)
    return z, np.stack([-t, np.ones_like(t)], axis=-1), w[..., None], mask


def test_linear(tmp):
    """The closed form against SciPy's normal density, and its scores against differences."""
    z, x, w, mask = linear_data()
    model = mo.Linear(z, x, mask, w=w)
    theta = np.array([0.4, 1.1, 0.05, -0.01, 0.08, 0.2, np.log(0.3)])
    mean, covariance, shared = model.layout.parts(theta)
    value, scores = model.evaluate(theta)
    for i in range(len(z)):
        m = mask[i]
        expected = multivariate_normal.logpdf(z[i, m], x[i, m] @ mean + w[i, m, 0] * shared[0],
                                              x[i, m] @ covariance @ x[i, m].T + 0.09 * np.eye(m.sum()))
        assert abs(value[i] + 2 * expected) < 1e-10, (value[i], expected)
    for k, unit in enumerate(np.eye(len(theta))):
        slope = (model.evaluate(theta + 1e-5 * unit)[0] - model.evaluate(theta - 1e-5 * unit)[0]) / 2e-5
        np.testing.assert_allclose(scores[:, k], -0.5 * slope, rtol=1e-5, atol=1e-6)


def test_quadrature_of_linear(tmp):
    """Quadrature and Laplace's approximation of a linear model are its closed form; conditional moments follow."""
    z, x, w, mask = linear_data()
    linear = mo.Linear(z, x, mask, w=w)

    def loglik(phi, shared):
        return mo.normal_loglik(z, mask, phi @ x.transpose(0, 2, 1) + shared[0] * w[:, None, :, 0], np.exp(shared[1]))

    theta = np.array([0.4, 1.1, 0.05, -0.01, 0.08, 0.2, np.log(0.3)])
    value, scores = linear.evaluate(theta)
    for q in (7, 0):
        model = mo.Nonlinear(loglik, len(z), linear.layout, q)
        found, slopes = model.evaluate(theta)
        np.testing.assert_allclose(found, value, atol=1e-7)
        if q:
            np.testing.assert_allclose(slopes, scores, atol=1e-6)
            mode, mean, deviation = model.conditional(theta)
            np.testing.assert_allclose(mode, mean, atol=1e-8)
    prior = np.linalg.inv(linear.layout.parts(theta)[1])
    precise = prior + np.swapaxes(np.where(mask[..., None], x, 0), 1, 2) @ np.where(mask[..., None], x, 0) / 0.09
    np.testing.assert_allclose(deviation, np.sqrt(np.einsum("nii->ni", np.linalg.inv(precise))), rtol=1e-6)


def curve_model(n=5, seed=1):
    """An exponential rise with proportional error and a limit of detection: posteriors that are far from normal."""
    rng = np.random.default_rng(seed)
    t = np.array([0.3, 1.0, 2.5, 6.0]) * np.ones((n, 1))
    phi = rng.multivariate_normal([0.2, 0.5], [[0.5, 0.2], [0.2, 0.3]], n)
    y = np.exp(phi[:, 1:]) * (1 - np.exp(-np.exp(phi[:, :1]) * t)) * (1 + 0.3 * rng.normal(size=t.shape))
    limit = 0.4
    censored = (y < limit).astype(int)
    y = np.where(y < limit, limit, y)
    mask = np.ones(t.shape, bool)
    mask[0, 2:] = False
    mask[1] = False  # one without measurements

    def loglik(phi, shared):
        f = np.exp(phi[..., 1:]) * (1 - np.exp(-np.exp(phi[..., :1]) * t[:, None, :]))
        return mo.normal_loglik(y, mask, f, np.exp(shared[0]) * f, censored)

    return loglik, n


@h.more
def test_quadrature(tmp):
    """Against sums over a fine grid; scores against differences."""
    loglik, n = curve_model()
    theta = np.array([0.3, 0.4, 0.4, 0.1, 0.25, np.log(0.35)])
    model = mo.Nonlinear(loglik, n, mo.Layout(2, 1), 31)
    mean, covariance, shared = model.layout.parts(theta)
    value, scores = model.evaluate(theta)
    grid = np.linspace(-8, 8, 801)
    b = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(1, -1, 2)
    with np.errstate(all="ignore"):
        joint = loglik(mean + b @ np.linalg.cholesky(covariance).T * np.ones((n, 1, 1)), shared) \
            - 0.5 * np.sum(b**2, axis=-1) - mo.LOG_2_PI
    expected = -2 * np.log(np.sum(np.exp(joint), axis=1) * (grid[1] - grid[0]) ** 2)
    np.testing.assert_allclose(value, expected, atol=2e-4)
    assert abs(value[1]) < 1e-12 and np.max(np.abs(scores[1])) < 1e-10
    for k, unit in enumerate(np.eye(len(theta))):
        slope = (model.evaluate(theta + 1e-4 * unit)[0] - model.evaluate(theta - 1e-4 * unit)[0]) / 2e-4
        np.testing.assert_allclose(scores[:, k], -0.5 * slope, atol=5e-3)


if __name__ == "__main__":
    h.main()
