"""What a fit's row says, judged without the program: the objective as stiffit-run(1) defines it, on predictions of an
integrator of the tests' own, and an optimiser of SciPy's that begins at the reported point.

SPDX-License-Identifier: BSD-3-Clause
"""
import dataclasses

import numpy as np
from scipy.optimize import least_squares
from scipy.special import gammaln, log_ndtr, ndtr

HUBER_K, STUDENT_NU, KINK = 1.345, 4.0, 1e-4  # defaults of --huber-k and --student-nu, and how laplace's kink is rounded
EXACT, CONFIRMED, QUICK = 1e-10, 1e-12, 1e-9  # the integrator's tolerances


@dataclasses.dataclass
class Point:
    p: np.ndarray
    f: float


class Objective:
    def __init__(self, problem, case):
        self.problem, self.case, self.form = problem, case, problem.form
        rows = case.rows[~np.isnan(case.rows[:, 2])]
        self.times, self.i_time = np.unique(rows[:, 0], return_inverse=True)
        self.i_observable, self.y, self.sigma, self.censored = rows[:, 1].astype(int), rows[:, 2], rows[:, 3], rows[:, 4]
        self.is_known = bool(self.form.noise) or not np.any(np.isnan(self.sigma))
        any_censored = any(np.any(c.rows[:, 4] != 0) for c in (*getattr(problem, "cases", ()), case))
        self.is_likelihood = bool(self.form.noise) or (any_censored and self.is_known)
        self.is_log = np.array([scale != "lin" for scale in problem.scale])
        self.free = np.flatnonzero(~case.fixed)
        self.n = len(self.y)

    def predicted(self, p, tolerance):
        problem, case = self.problem, self.case
        m, sd = problem.library.predict(self.form, p, case.covariates, problem.size, case.t0, self.times, tolerance)
        m, sd = m[self.i_time, self.i_observable], sd[self.i_time, self.i_observable]
        return m, np.where(np.isnan(self.sigma), sd, self.sigma)

    def losses(self, p, tolerance):
        """Each measurement's loss, above 0; what is added to it, of either sign; and the residual's sign."""
        m, s = self.predicted(p, tolerance)
        with np.errstate(all="ignore"):
            error, y = self.problem.error, self.y
            r = (np.log(m) - np.log(y)) / s if error == "log-normal" else (m - y) / s
            if error == "laplace":
                loss, constant = np.sqrt(r * r + KINK), np.log(2)
            elif error == "huber":
                loss = np.where(np.abs(r) <= HUBER_K, r * r / 2, HUBER_K * np.abs(r) - HUBER_K ** 2 / 2)
                constant = np.log(np.sqrt(2 * np.pi) * (2 * ndtr(HUBER_K) - 1) + 2 * np.exp(-HUBER_K ** 2 / 2) / HUBER_K)
            elif error == "student":
                nu = STUDENT_NU
                loss = (nu + 1) / 2 * np.log1p(r * r / nu)
                constant = gammaln(nu / 2) - gammaln((nu + 1) / 2) + np.log(nu * np.pi) / 2
            else:
                loss, constant = r * r / 2, np.log(2 * np.pi) / 2
            added = np.log(s) + constant + (np.log(y) if error == "log-normal" else 0)
            added = added if self.is_likelihood else np.zeros_like(r)
            # Below the value (1): r negative is likely; above it (-1): r positive is.
            loss = np.where(self.censored == 0, loss, -log_ndtr(-r * self.censored))
            added = np.where(self.censored == 0, added, 0.0)
            bad = ~np.isfinite(r) | ~(s > 0)
        return np.where(bad, np.nan, loss), added, np.sign(r)

    def value(self, p, tolerance=EXACT):
        loss, added, _ = self.losses(np.asarray(p, float), tolerance)
        return float(np.sum(loss + added))

    def confirmed(self, p):
        """(value, by how much a tighter tolerance changes it)"""
        f, tight = self.value(p, EXACT), self.value(p, CONFIRMED)
        return tight, abs(f - tight)

    # The optimiser sees logarithms, or multiples of where it begins.
    def natural(self, x, p0):
        """A logarithm that falls for ever stops three decades below p0."""
        p = np.array(p0, float)
        for value, j in zip(x, self.free):
            p[j] = max(np.exp(min(value, 700)), 1e-3 * p0[j]) if self.is_log[j] else value * self.unit[j]
        case = self.case
        return np.clip(p, np.where(case.fixed, -np.inf, case.lower), np.where(case.fixed, np.inf, case.upper))

    def coordinates(self, p):
        with np.errstate(all="ignore"):
            return np.array([np.log(p[j]) if self.is_log[j] else p[j] / self.unit[j] for j in self.free])

    def residuals(self, p, shift, tolerance=QUICK):
        """Half their squares sum up to the objective but for a constant: sqrt(2 loss) with the residual's sign, and of an
        estimated sd sqrt(2 (log sd + shift)), which is a square root as long as the shift is large."""
        loss, added, sign = self.losses(p, tolerance)
        both = [sign * np.sqrt(2 * loss)]
        if self.form.noise:
            both.append(np.sqrt(np.maximum(2 * (added + shift), 0)))
        return np.concatenate(both)

    def frame(self, p0):
        """The coordinates' bounds; what is fitted is measured in multiples of p0 where its scale is linear."""
        self.unit = np.where(p0 != 0, np.abs(p0), np.abs(self.case.truth))
        return self.coordinates(self.case.lower), self.coordinates(self.case.upper)

    def slopes(self, x, p0, shift, lower, upper):
        """Derivatives of the residuals by central differences, at the bounds by one-sided ones."""
        columns = []
        for j, value in enumerate(x):
            h = 1e-5 * max(1.0, 0 if self.is_log[self.free[j]] else abs(value))
            ends = [min(max(value + d, lower[j]), upper[j]) for d in (-h, h)]
            sides = [self.residuals(self.natural(np.where(np.arange(len(x)) == j, end, x), p0), shift, EXACT) for end in ends]
            columns.append((sides[1] - sides[0]) / (ends[1] - ends[0]))
        return np.nan_to_num(np.array(columns).T, posinf=0, neginf=0)

    def known_gain(self, p, flat):
        """(least eigenvalue, gain): of the information at p, each parameter measured by its own; and what a Gauss-Newton step
        promises along the directions whose eigenvalues are above `flat`, bounds that hold a parameter left out."""
        lower, upper = self.frame(p)
        x, shift = self.coordinates(p), 20 - self.losses(p, QUICK)[1]
        r, J = self.residuals(p, shift, EXACT), self.slopes(x, p, shift, lower, upper)
        J = J[:, (x > lower) & (x < upper)]
        if J.shape[1] == 0:
            return 0.0, 0.0
        size = np.linalg.norm(J, axis=0)
        u, s, _ = np.linalg.svd(J / np.where(size > 0, size, 1), full_matrices=False)
        return float(s[-1] ** 2), 0.5 * float(np.sum((u.T @ r)[s ** 2 > flat] ** 2))

    def best(self, p0, n_round=2):
        """SciPy's trust region from p0, bounds included; never worse than p0."""
        p0 = np.asarray(p0, float)
        lower, upper = self.frame(p0)
        best = Point(p0, self.value(p0))
        if not np.isfinite(best.f) or len(self.free) == 0:
            return best
        for _ in range(n_round):
            begin, shift = best, 20 - self.losses(best.p, QUICK)[1]

            def function(x, shift=shift):
                r = self.residuals(self.natural(x, p0), shift)
                return np.where(np.isfinite(r), r, 1e10)

            def jacobian(x, shift=shift):
                return self.slopes(x, p0, shift, lower, upper)
            try:
                found = least_squares(function, np.clip(self.coordinates(best.p), lower, upper), jacobian,
                                      bounds=(lower, upper), xtol=1e-13, ftol=1e-13, gtol=1e-13, x_scale="jac", max_nfev=40)
            except (ValueError, np.linalg.LinAlgError):
                return best
            p = self.natural(found.x, p0)
            # Towards 0 the objective has a limit: a decade up it is nearly as low. Not so where the integrator steps over what
            # the model does near 0: x' = -V x/(K + x) passes 0 and falls on if K is below the tolerance.
            fallen = self.is_log & (p <= 1.001e-3 * p0)
            f = max(self.value(p), self.value(np.where(fallen, 10 * p, p)))
            if f < best.f:
                best = Point(p, f)
            if not begin.f - best.f > 1e-6 * self.unit_of(best.p):
                break
        return best

    def unit_of(self, p):
        """The objective's unit: the variance that the residuals show, at least 1 where every sigma is known."""
        loss, _, _ = self.losses(p, EXACT)
        return max(float(self.is_known), 2 * float(np.sum(loss)) / self.n)

    def rounding(self, rtol):
        """Half the squares that the integrator's errors at rtol may sum up to, where nothing says how accurate data are."""
        if self.is_known:
            return 0.0
        size = 1.0 if self.problem.error == "log-normal" else np.abs(self.y).max()
        return 0.5 * self.n * (30 * rtol * size) ** 2
