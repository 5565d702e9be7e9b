"""One fit over many datasets by the ways that others go, on predictions and derivatives of this program's engine (in
bench_joint_bridge): stochastic gradients with a parameter server, synchronous and asynchronous, and alternating fits. A part of
joint.py.

SPDX-License-Identifier: BSD-3-Clause

Parameters are in the scale of the optimiser, as for `stiffit run`: logarithms. A pass is one evaluation of each dataset.
"""
import subprocess

import numpy as np

import helpers as h


class Problem:
    """Datasets with known sigma; `shared`: which columns of the parameters are the same for all."""

    def __init__(self, plugin, times, y, sigma, is_log, shared, start, rtol):
        self.y, self.sigma, self.is_log, self.shared, self.start = y, sigma, is_log, shared, start
        self.process = subprocess.Popen([str(h.BUILD / "bench" / "bench_joint_bridge"), str(plugin), "lanes", f"{rtol:g}"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._send([len(times), *times])

    def _send(self, numbers):
        self.process.stdin.write(np.asarray(numbers, float).tobytes())
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def rows(self, theta, which):
        """(residuals, their derivatives) of these datasets, in units of sigma: n x rows and n x rows x parameters."""
        p = np.where(self.is_log, np.exp(np.where(self.is_log, theta, 0)), theta)
        self._send(np.concatenate([[len(p)], p.ravel()]))
        n_row = self.y.shape[1]
        size = len(p) * n_row * (1 + p.shape[1])
        answer = np.frombuffer(self.process.stdout.read(8 * size)).reshape(len(p), 1 + p.shape[1], n_row)
        slopes = answer[:, 1:] * np.where(self.is_log, p, 1)[:, :, None]
        return (answer[:, 0] - self.y[which]) / self.sigma, np.swapaxes(slopes, 1, 2) / self.sigma

    def gradient(self, theta, which):
        r, j = self.rows(theta, which)
        return 0.5 * np.sum(r**2, axis=1), np.einsum("nij,ni->nj", j, r)


class Adam:
    """Kingma & Ba 2015; beta2 = 0: plain gradients."""

    def __init__(self, shape, beta1, beta2):
        self.m, self.v, self.t, self.beta = np.zeros(shape), np.zeros(shape), np.zeros(shape[:-1] + (1,)), (beta1, beta2)

    def step(self, at, g):
        self.t[at] += 1
        b1, b2 = self.beta
        self.m[at] = b1 * self.m[at] + (1 - b1) * g
        if b2 == 0:
            return self.m[at] / (1 - b1**self.t[at])
        self.v[at] = b2 * self.v[at] + (1 - b2) * g**2
        return self.m[at] / (1 - b1**self.t[at]) / (np.sqrt(self.v[at] / (1 - b2**self.t[at])) + 1e-12)


def descend(problem, goal, n_pass, rate, adam, n_batch, delay, seed=1):
    """Mini-batches with a rate that falls to 0 as a cosine; returns (objective, passes until the goal or NaN). The shared
    parameters live with a server; a batch sees them as they were `delay` updates ago (0: synchronous). Own parameters move when
    their dataset is visited."""
    rng = np.random.default_rng(seed)
    n = len(problem.y)
    own = ~problem.shared
    theta = np.tile(problem.start, (n, 1))
    server, history = problem.start[problem.shared].copy(), []
    state_own = Adam((n, own.sum()), 0.9 if adam else 0, 0.999 if adam else 0)
    state = Adam((1, problem.shared.sum()), 0.9 if adam else 0, 0.999 if adam else 0)
    # One curvature for all parameters of a kind, at the start: what plain gradients are divided by.
    _, j = problem.rows(theta, np.arange(n))
    scale = np.ones(len(own)) if adam else np.mean(np.sum(j**2, axis=1), axis=0)
    best = np.inf
    for done in range(n_pass):
        order = rng.permutation(n)
        for at in range(0, n, n_batch):
            which = order[at:at + n_batch]
            now = rate * 0.5 * (1 + np.cos(np.pi * (done + at / n) / n_pass))
            history.append(server.copy())
            seen = history[max(0, len(history) - 1 - delay)]
            theta[np.ix_(which, np.flatnonzero(problem.shared))] = seen
            _, g = problem.gradient(theta[which], which)
            if not np.all(np.isfinite(g)):
                return np.inf, np.nan
            theta[np.ix_(which, np.flatnonzero(own))] -= now * state_own.step(which, g[:, own] / scale[own])
            server -= now * state.step(np.array([0]), np.mean(g[:, problem.shared], axis=0)[None] / scale[problem.shared])[0]
            del history[:-delay - 1]
        if done % 10 == 9 or done + 1 == n_pass:  # looking does not count
            theta[:, problem.shared] = server
            f, _ = problem.gradient(theta, np.arange(n))
            best = min(best, f.sum() if np.all(np.isfinite(f)) else np.inf)
            if f.sum() <= goal:
                return f.sum(), done + 1
    return best, np.nan


def stochastic(problem, goal, budgets, adam, delay):
    """The least budget with a rate of a grid that reaches the goal: (passes, what it took), or the best objective."""
    best = np.inf
    for n_pass in budgets:
        for n_batch in (16, 64):
            for rate in ((0.3, 0.1, 0.03, 0.01, 0.003) if adam else (1, 0.3, 0.1, 0.03)):
                f, passes = descend(problem, goal, n_pass, rate, adam, n_batch, delay)
                best = min(best, f)
                if np.isfinite(passes):
                    return {"passes": passes, "rate": rate, "batch": n_batch, "objective": f}
    return {"passes": None, "tried": budgets[-1], "objective": best}


def alternating(problem, goal, most):
    """Own parameters by Gauss and Newton with the shared ones held, one step each; then the shared ones with the own ones held.
    Steps are damped (Levenberg, Marquardt) until the objective falls."""
    n = len(problem.y)
    own, shared = np.flatnonzero(~problem.shared), np.flatnonzero(problem.shared)
    theta, every = np.tile(problem.start, (n, 1)), np.arange(n)
    damping, common = np.full(n, 1e-3), 1e-3
    r, j = problem.rows(theta, every)
    f, passes = 0.5 * np.sum(r**2, axis=1), 1
    while passes < most and f.sum() > goal:
        a, g = np.einsum("nij,nik->njk", j[:, :, own], j[:, :, own]), np.einsum("nij,ni->nj", j[:, :, own], r)
        scale = np.einsum("nii->ni", a)  # a column may vanish far out
        a += np.einsum("ni,ij->nij", damping[:, None] * scale + 1e-12 * scale.max(axis=1, keepdims=True), np.eye(len(own)))
        trial = theta.copy()
        trial[:, own] -= np.linalg.solve(a, g[:, :, None])[:, :, 0]
        r2, j2 = problem.rows(trial, every)
        f2, passes = 0.5 * np.sum(r2**2, axis=1), passes + 1
        good = f2 < f
        damping = np.where(good, damping / 10, damping * 10)
        theta[good], r[good], j[good], f[good] = trial[good], r2[good], j2[good], f2[good]
        a, g = np.einsum("nij,nik->jk", j[:, :, shared], j[:, :, shared]), np.einsum("nij,ni->j", j[:, :, shared], r)
        trial = theta.copy()
        trial[:, shared] -= np.linalg.solve(a + common * np.diag(np.diag(a)), g)
        r2, j2 = problem.rows(trial, every)
        f2, passes = 0.5 * np.sum(r2**2, axis=1), passes + 1
        good = f2.sum() < f.sum()
        common *= 0.1 if good else 10
        if good:
            theta, r, j, f = trial, r2, j2, f2
    return {"passes": passes if f.sum() <= goal else None, "tried": passes, "objective": f.sum()}
