"""Independent likelihoods of mixed-effects models for the tests: closed forms for linear models, adaptive Gauss-Hermite
quadrature and Laplace's approximation for others; their maxima, and standard errors.

SPDX-License-Identifier: BSD-3-Clause

A model has a layout (which entries of the covariance are estimated) and `evaluate(theta)`, which returns each dataset's
-2 log L and its scores, the derivatives of log L. The vector theta is, as in /population/estimate: the means of the random
parameters, the estimated entries (row >= column) of their covariance, column after column, and the shared parameters. All are
on the optimiser's scale. Datasets of different length are padded: `mask` says which entries are measurements.
"""
import itertools

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr

LOG_2_PI = np.log(2 * np.pi)


class Layout:
    """Where things are in theta. blocks: lists of random parameters that are correlated with each other; None: all are."""

    def __init__(self, r, n_shared, blocks=None):
        self.r, self.n_shared = r, n_shared
        self.is_estimated = np.zeros((r, r), bool)
        for block in [range(r)] if blocks is None else blocks:
            self.is_estimated[np.ix_(list(block), list(block))] = True
        self.entries = [(i, j) for j in range(r) for i in range(j, r) if self.is_estimated[i, j]]
        self.m = r + len(self.entries) + n_shared

    def parts(self, theta):
        """Mean, covariance, shared."""
        covariance = np.zeros((self.r, self.r), np.asarray(theta).dtype)
        for value, (i, j) in zip(theta[self.r:], self.entries):
            covariance[i, j] = covariance[j, i] = value
        return theta[:self.r], covariance, theta[self.r + len(self.entries):]

    def theta(self, mean, covariance, shared):
        return np.concatenate([mean, [covariance[i, j] for i, j in self.entries], shared])

    def free(self, theta):
        """Without constraints: the covariance is L L', the diagonal of L a logarithm."""
        factor = np.linalg.cholesky(self.parts(theta)[1])
        u = np.array(theta, float)
        for k, (i, j) in enumerate(self.entries):
            u[self.r + k] = np.log(factor[i, i]) if i == j else factor[i, j]
        return u

    def from_free(self, u):
        factor = np.zeros((self.r, self.r), u.dtype)
        for value, (i, j) in zip(u[self.r:], self.entries):
            factor[i, j] = np.exp(value) if i == j else value
        covariance = factor @ factor.T
        return self.theta(u[:self.r], covariance, u[self.r + len(self.entries):])

    def covariance_scores(self, matrix):
        """Derivatives by the entries, of those by the matrix as if its entries were independent: n x r x r."""
        return np.stack([matrix[:, i, j] * (1 if i == j else 2) for i, j in self.entries], axis=-1)


class Linear:
    """z_i = X_i phi_i + W_i beta + e_i, phi_i normal, e_i normal with the given sigmas or one unknown sigma, whose logarithm is
    then the last shared parameter. jacobian: what -2 log L of the data has beside that of z, by dataset."""

    def __init__(self, z, x, mask, *, w=None, sigma=None, blocks=None, jacobian=0.0):
        self.mask, self.sigma, self.jacobian = mask, sigma, jacobian
        self.z, self.x = np.where(mask, z, 0.0), np.where(mask[..., None], x, 0.0)
        self.w = np.zeros((*mask.shape, 0)) if w is None else np.where(mask[..., None], w, 0.0)
        self.layout = Layout(x.shape[2], self.w.shape[2] + (sigma is None), blocks)

    def evaluate(self, theta):
        mean, covariance, shared = self.layout.parts(theta)
        n_w = self.w.shape[2]
        variance = np.exp(2 * shared[n_w]) if self.sigma is None else self.sigma**2
        diagonal = np.where(self.mask, variance, 1.0)
        v = self.x @ covariance @ self.x.transpose(0, 2, 1) + diagonal[..., None] * np.eye(self.mask.shape[1])
        inverse = np.linalg.inv(v)
        residual = self.z - self.x @ mean - self.w @ shared[:n_w]
        weighted = np.einsum("nij,nj->ni", inverse, residual)
        value = (self.mask.sum(axis=1) * LOG_2_PI + np.linalg.slogdet(v)[1] + np.sum(residual * weighted, axis=1)
                 + self.jacobian)
        by_mean = np.einsum("nti,nt->ni", self.x, weighted)
        by_covariance = 0.5 * (by_mean[:, :, None] * by_mean[:, None, :]
                               - self.x.transpose(0, 2, 1) @ inverse @ self.x)
        scores = [by_mean, self.layout.covariance_scores(by_covariance), np.einsum("nti,nt->ni", self.w, weighted)]
        if self.sigma is None:
            trace = np.sum(np.where(self.mask, np.einsum("nii->ni", inverse), 0.0), axis=1)
            scores.append(variance * (np.sum(np.where(self.mask, weighted**2, 0.0), axis=1) - trace)[:, None])
        return value, np.concatenate(scores, axis=1)


def normal_loglik(y, mask, prediction, sd, censored=None, limit=None):
    """Of each dataset and point, summed over its measurements: y, mask n x T; prediction, sd n x K x T. censored and limit as
    in /measurements."""
    residual = (y[:, None, :] - prediction) / sd
    terms = -0.5 * residual**2 - np.log(sd) - 0.5 * LOG_2_PI
    if censored is not None:
        code = censored[:, None, :]
        terms = np.where(code == 0, terms, log_ndtr(np.where(code < 0, -residual, residual)))
    if limit is not None:
        inner = np.abs(limit - y)[:, None, :] / sd * 0.5  # half an interval; its middle, mirrored to lie below 0
        middle = residual - np.where(code < 0, -inner, inner)
        middle = np.where(middle.real > 0, -middle, middle)
        there = np.isfinite(limit)[:, None, :] & (code != 0)
        terms = np.where(there, np.log(ndtr(middle + inner) - ndtr(middle - inner)), terms)
    return np.sum(np.where(mask[:, None, :], terms, 0.0), axis=2)


class Nonlinear:
    """loglik(phi, shared): n x K, for phi n x K x r on the optimiser's scale. It must take complex numbers: all derivatives
    are complex steps. q: nodes in each dimension, around the mode and in units of the curvature there; 0: Laplace's
    approximation. curvature(phi, shared): n x K x r x r, minus the second derivatives of loglik or what stands for them;
    None: the second derivatives."""

    def __init__(self, loglik, n, layout, q=15, curvature=None):
        self.loglik, self.n, self.layout, self.q, self.curvature = loglik, n, layout, q, curvature
        self.mode = np.zeros((n, layout.r))
        one, weight = np.polynomial.hermite_e.hermegauss(max(q, 1))
        self.z = np.array(list(itertools.product(one, repeat=layout.r)))
        self.log_weight = np.array([sum(np.log(w)) for w in itertools.product(weight, repeat=layout.r)]) \
            + 0.5 * np.sum(self.z**2, axis=1)

    def minus_log_joint(self, b, mean, factor, shared):
        return -self.loglik(mean + b @ factor.T, shared) + 0.5 * np.sum(b * b, axis=-1)

    def slope(self, b, *at):
        steps = 1e-30j * np.eye(self.layout.r)
        return np.stack([self.minus_log_joint(b + step, *at).imag / 1e-30 for step in steps], axis=-1)

    def second(self, b, *at):
        """Central differences of complex steps, extrapolated once: errors of 1e-9."""
        columns = []
        for unit in np.eye(self.layout.r):
            coarse, fine = ((self.slope(b + e * unit, *at) - self.slope(b - e * unit, *at)) / (2 * e) for e in (2e-3, 1e-3))
            columns.append((4 * fine - coarse) / 3)
        both = np.stack(columns, axis=-1)
        return 0.5 * (both + np.swapaxes(both, -1, -2))

    def modes(self, *at):
        """Newton's method with damping, all datasets at once; b is n x 1 x r."""
        b = self.mode[:, None, :].copy()
        value = self.minus_log_joint(b, *at)
        start = self.minus_log_joint(np.zeros_like(b), *at)
        worse = ~(value <= start)
        b[worse[:, 0]], value = 0.0, np.where(worse, start, value)
        damping = np.zeros((self.n, 1))
        for _ in range(200):
            slope, second = self.slope(b, *at), self.second(b, *at)
            lowest = np.linalg.eigvalsh(second)[..., 0]
            shift = np.where(lowest < 0.1, 0.1 - lowest, 0.0) + damping
            step = -np.linalg.solve(second + shift[..., None, None] * np.eye(self.layout.r), slope[..., None])[..., 0]
            new = self.minus_log_joint(b + step, *at)
            better = new <= value
            converged = np.max(np.abs(np.where(better[..., None], step, 0)), axis=-1) < 1e-10
            b = np.where(better[..., None], b + step, b)
            value = np.where(better, new, value)
            damping = np.where(better, damping / 10, np.maximum(10 * damping, 0.1))
            if np.all((better & converged) | (np.max(np.abs(slope), axis=-1) < 1e-9) | (damping > 1e8)):
                break
        self.mode = b[:, 0]
        return b, value

    def evaluate(self, theta, with_scores=True):
        mean, covariance, shared = self.layout.parts(np.asarray(theta, float))
        factor = np.linalg.cholesky(covariance)
        at = (mean, factor, shared)
        b, value = self.modes(*at)
        second = self.second(b, *at)[:, 0]
        if self.curvature is not None:
            information = self.curvature(mean + b @ factor.T, shared)[:, 0]
            second = factor.T @ information @ factor + np.eye(self.layout.r)
        if self.q == 0:
            return 2 * value[:, 0] + np.linalg.slogdet(second)[1], None
        values, vectors = np.linalg.eigh(second)
        spread = vectors / np.sqrt(np.maximum(values, 1e-3))[:, None, :]
        points = b + np.einsum("nij,kj->nki", spread, self.z)
        log_terms = self.log_weight - self.minus_log_joint(points, *at) - 0.5 * self.layout.r * LOG_2_PI \
            + np.linalg.slogdet(spread)[1][:, None]
        top = log_terms.max(axis=1, keepdims=True)
        terms = np.exp(log_terms - top)
        total = terms.sum(axis=1, keepdims=True)
        minus_2_log = -2 * (top + np.log(total))[:, 0]
        if not with_scores:
            return minus_2_log, None
        weight = terms / total
        self.posterior = (points, weight)
        mean_b = np.einsum("nk,nki->ni", weight, points)
        square_b = np.einsum("nk,nki,nkj->nij", weight, points, points)
        back = np.linalg.inv(factor)
        phi = mean + points @ factor.T
        scores = [mean_b @ back,
                  self.layout.covariance_scores(0.5 * back.T @ (square_b - np.eye(self.layout.r)) @ back)]
        for step in 1e-30j * np.eye(len(shared)):
            scores.append(np.sum(weight * self.loglik(phi, shared + step).imag / 1e-30, axis=1)[:, None])
        return minus_2_log, np.concatenate(scores, axis=1)

    def conditional(self, theta):
        """Modes, means and standard deviations of each dataset's random parameters, on the optimiser's scale."""
        self.evaluate(theta)
        mean, covariance, _ = self.layout.parts(np.asarray(theta, float))
        factor = np.linalg.cholesky(covariance)
        points, weight = self.posterior
        phi = mean + points @ factor.T
        first = np.einsum("nk,nki->ni", weight, phi)
        return mean + self.mode @ factor.T, first, np.sqrt(np.einsum("nk,nki->ni", weight, (phi - first[:, None]) ** 2))


class Found:
    """A maximum: theta, -2 log L in all and by dataset, standard errors from second derivatives, scores, and both."""

    def __init__(self, model, theta, information):
        self.theta, self.information = theta, information
        self.by_dataset, self.scores = model.evaluate(theta)
        self.value = np.sum(self.by_dataset)
        self.mean, self.covariance, self.shared = model.layout.parts(theta)
        inverse, outer = np.linalg.inv(self.information), self.scores.T @ self.scores
        self.error_covariance = inverse
        self.standard_error = np.sqrt(np.diag(inverse))
        are_enough = len(self.scores) >= len(theta)
        self.by_scores = np.sqrt(np.diag(np.linalg.inv(outer))) if are_enough else np.full(len(theta), np.nan)
        self.sandwich = np.sqrt(np.diag(inverse @ outer @ inverse))


def second_derivatives(model, theta):
    """Minus those of log L: central differences of the scores, over some hundredths of a standard error."""
    step = np.minimum(1e-2 / np.sqrt(np.maximum(np.sum(model.evaluate(theta)[1] ** 2, axis=0), 1e-30)),
                      1e-2 * np.maximum(np.abs(theta), 1e-2))
    columns = [(model.evaluate(theta - e * unit)[1].sum(axis=0) - model.evaluate(theta + e * unit)[1].sum(axis=0)) / (2 * e)
               for e, unit in zip(step, np.eye(len(theta)))]
    both = np.stack(columns, axis=-1)
    return 0.5 * (both + both.T)


def climb(model, theta):
    """The maximum near theta, by Newton's method. Fails unless its last step is below 1e-5 standard errors."""
    information = second_derivatives(model, theta)
    for _ in range(30):
        gradient = model.evaluate(theta)[1].sum(axis=0)
        step = np.linalg.solve(information, gradient)
        theta = theta + step
        if gradient @ step < 1e-10:
            break
    assert 0 <= gradient @ step < 1e-10, f"the reference did not converge: {gradient @ step}"
    found = Found(model, theta, second_derivatives(model, theta) if _ > 3 else information)
    assert np.linalg.eigvalsh(information)[0] > 0, "the reference is no maximum"
    return found


def maximise(model, mean, covariance, shared):
    """The maximum of the likelihood from a start, by BFGS without constraints, then Newton's method."""
    layout = model.layout
    start = layout.theta(np.atleast_1d(mean), np.atleast_2d(covariance), np.atleast_1d(shared))

    def objective(u):
        try:
            value, scores = model.evaluate(layout.from_free(u))
        except np.linalg.LinAlgError:
            return 1e10, np.zeros(len(u))
        if not np.isfinite(value.sum()):
            return 1e10, np.zeros(len(u))
        by_free = np.stack([layout.from_free(u + step).imag / 1e-30 for step in 1e-30j * np.eye(len(u))], axis=-1)
        return 0.5 * value.sum(), -by_free.T @ scores.sum(axis=0)

    with np.errstate(all="ignore"):
        u = minimize(objective, layout.free(start), jac=True, method="BFGS", options={"gtol": 1e-4, "maxiter": 500}).x
    return climb(model, layout.from_free(u))


def maximise_laplace(model, theta):
    """The same for a model with q = 0, whose derivatives are differences: theta and -2 log L."""
    layout = model.layout
    u = layout.free(np.asarray(theta, float))
    found = minimize(lambda v: 0.5 * model.evaluate(layout.from_free(v))[0].sum(), u, method="BFGS", jac="3-point",
                     options={"gtol": 1e-6, "finite_diff_rel_step": 1e-4})
    return layout.from_free(found.x), 2 * found.fun


def pad(rows, n):
    """Arrays n x T of columns of rows (dataset, ...), which are in order of dataset, and the mask."""
    rows = [np.asarray(column) for column in rows]
    count = np.bincount(rows[0].astype(int), minlength=n)
    place = np.arange(len(rows[0])) - np.repeat(np.cumsum(count) - count, count)
    out = []
    for column in rows[1:]:
        padded = np.ones((n, max(1, count.max())), column.dtype)
        padded[rows[0].astype(int), place] = column
        out.append(padded)
    return (*out, np.arange(max(1, count.max())) < count[:, None])
