"""A reference integrator, for numbers that others are judged by: Radau IIA collocation of any number of stages in the 80-bit
arithmetic of numpy's longdouble, with the exact sensitivities of what it computes. Slow and simple on purpose.

SPDX-License-Identifier: BSD-3-Clause

Source of the method: Hairer & Wanner (1996), Solving Ordinary Differential Equations II, section IV.5. Each step solves the
collocation equations by Newton's method with a Jacobian per stage; the linear systems are solved in double precision, the
residual is computed in extended precision, so that the iteration ends at extended precision all the same.
"""
from decimal import Decimal, getcontext

import numpy as np
import scipy.sparse
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse.linalg import splu

LD = np.longdouble
STEP = 1e-100  # of a complex step: its square vanishes, so the derivative is exact to rounding
SPARSE_FROM = 30  # states


def radau_nodes(s):
    """The s right Radau points in (0, 1]: zeros of P_s - P_(s-1), moved from [-1, 1]; 50 digits."""
    def legendre(x):
        a, b = Decimal(1), x
        for k in range(1, s):
            a, b = b, ((2 * k + 1) * x * b - k * a) / (k + 1)
        return b - a  # P_s - P_(s-1)
    rough = np.polynomial.legendre.legroots([0] * (s - 1) + [-1, 1])
    nodes = []
    for x in sorted(rough.real):
        a, b = Decimal(float(x)), Decimal(float(x)) + Decimal("1e-6")
        for _ in range(60):
            fa, fb = legendre(a), legendre(b)
            if fa == fb:
                break
            a, b = b, b - fb * (b - a) / (fb - fa)
        nodes.append((b + 1) / 2)
    nodes[-1] = Decimal(1)
    return nodes


def solve_decimal(matrix, rhs):
    """Gauss's elimination with pivots; lists of lists of Decimal."""
    n = len(matrix)
    rows = [list(a) + list(b) for a, b in zip(matrix, rhs)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [v - rows[i][k] * w for v, w in zip(rows[i], rows[k])]
    return [row[n:] for row in rows]


def to_longdouble(rows):
    return np.array([[LD(str(v)) for v in row] for row in rows])


class Radau:
    """f(t, y, p) -> n values, where y's entries (and t) may be arrays of equal shape, real or complex."""

    def __init__(self, f, n, p, stages=7):
        getcontext().prec = 50
        self.f, self.n, self.p, self.s = f, n, np.array(p, dtype=LD), stages
        c = radau_nodes(stages)
        powers = [[x ** k for k in range(stages)] for x in c]          # V
        integrals = [[x ** (k + 1) / (k + 1) for k in range(stages)] for x in c]
        transposed = [list(col) for col in zip(*powers)]
        a = solve_decimal(transposed, [list(col) for col in zip(*integrals)])  # A = integrals V^-1
        self.A = to_longdouble([list(col) for col in zip(*a)])
        self.c = np.array([LD(str(x)) for x in c])
        # Coefficients of the monomials of the polynomial through (0, y0), (c_i, Y_i): for the error and the next guess.
        nodes = [Decimal(0)] + c
        unit = [[Decimal(int(i == j)) for j in range(stages + 1)] for i in range(stages + 1)]
        powers = [[x ** k if k else Decimal(1) for k in range(stages + 1)] for x in nodes]
        self.monomial = to_longdouble(solve_decimal(powers, unit))
        self.n_step = self.n_rejected = 0

    def values(self, t, Y, p=None):
        out = self.f(t, Y, self.p if p is None else p)
        return np.array(np.broadcast_arrays(*out, Y[0])[:-1])

    def jacobians(self, t, Y):
        """d f / d y at each stage: s x n x n, by complex steps."""
        n, s = Y.shape
        y = np.repeat(Y.astype(complex)[:, :, None], n, axis=2)
        for k in range(n):
            y[k, :, k] += 1j * STEP
        times = np.repeat(t.astype(float)[:, None], n, axis=1)
        out = self.values(times.ravel(), y.reshape(n, s * n), self.p.astype(float))
        return out.imag.reshape(n, s, n).transpose(1, 0, 2) / STEP

    def parameter_slopes(self, t, Y):
        """d f / d p at each stage: s x n x P."""
        out = []
        for j in range(len(self.p)):
            p = self.p.astype(complex)
            p[j] += 1j * STEP
            out.append(np.asarray(self.values(t.astype(float), Y.astype(complex), p)).imag / STEP)
        return np.array(out).transpose(2, 1, 0)

    def factor(self, h, J):
        """Solver of (I - h A J_stage) x = r, r being s x n (x columns)."""
        n, s, A = self.n, self.s, self.A.astype(float)
        if n < SPARSE_FROM:
            M = np.eye(s * n).reshape(s, n, s, n) - float(h) * A[:, None, :, None] * J.transpose(1, 0, 2)[None]
            lu = lu_factor(M.reshape(s * n, s * n), check_finite=False)
            return lambda r: lu_solve(lu, r.reshape(s * n, -1), check_finite=False).reshape(r.shape)
        blocks = [scipy.sparse.csc_matrix(j) for j in J]
        M = scipy.sparse.identity(s * n) - float(h) * scipy.sparse.bmat(
            [[A[i, j] * blocks[j] for j in range(s)] for i in range(s)])
        lu = splu(M.tocsc())
        return lambda r: lu.solve(np.ascontiguousarray(r.reshape(s * n, -1))).reshape(r.shape)

    def newton(self, t, h, y, Y, floor):
        """The stages, or None; and the solver with the Jacobians at them."""
        times = t + self.c * h
        size = (np.abs(y) + np.abs(Y - y[:, None]).max(axis=1) + floor / 1000)[:, None]
        before, solver = np.inf, None
        for iteration in range(12):
            if solver is None or iteration < 3:
                J = self.jacobians(times, Y)
                if not np.all(np.isfinite(J)):
                    return None, None, None
                solver = self.factor(h, J)
            F = self.values(times, Y)
            residual = (y[:, None] + h * (F @ self.A.T) - Y)
            if not np.all(np.isfinite(residual)):
                return None, None, None
            # A double has the range of 1e-308: scale before rounding to it.
            top = np.abs(residual).max()
            if top == 0:
                return Y, solver, J
            update = solver((residual / top).astype(float).T).T * top
            Y = Y + update
            now = float((np.abs(update) / size).max())
            if now < 1e-17 or (now < 1e-14 and now > before / 4):
                return Y, solver, J
            if iteration > 3 and now > before:
                return None, None, None
            before = now
        return None, None, None

    def solve(self, t0, y0, times, tol, floor, S0=None, h=None, breaks=()):
        """States (and sensitivities if S0, n x P, is given) at the times. tol bounds the highest coefficient of the
        collocation polynomial over its size; floor (n): what of a state counts as nothing."""
        t, y, S = LD(t0), np.array(y0, dtype=LD), None if S0 is None else np.array(S0, dtype=float)
        stops = sorted(set(float(x) for x in times) | set(float(x) for x in breaks))
        h = LD(h if h is not None else 1e-6 * (stops[-1] - float(t0)))
        floor = np.asarray(floor, dtype=LD)
        found, previous = {}, None
        if stops[0] == t0:
            found[stops[0]] = (y, S)
        for stop in stops:
            if stop <= t0:
                continue
            stop = LD(stop)
            while t < stop:
                wanted = h
                h_now = stop - t if t + h * LD(1.0001) >= stop else h
                if t + 2 * h > stop and h_now == h:
                    h_now = (stop - t) / 2
                guess = np.repeat(y[:, None], self.s, axis=1)
                if previous is not None:
                    coefficients, h_before = previous
                    at = 1 + self.c * h_now / h_before
                    guess = coefficients @ np.array([at ** k for k in range(self.s + 1)])
                Y, solver, J = self.newton(t, h_now, y, guess, floor)
                if Y is None and previous is not None:
                    Y, solver, J = self.newton(t, h_now, y, np.repeat(y[:, None], self.s, axis=1), floor)
                if Y is None:
                    h, self.n_rejected = h_now / 4, self.n_rejected + 1
                    if h < LD(1e-18) * (abs(t) + LD(1e-20)):
                        raise SystemExit(f"no solution beyond t = {t}")
                    continue
                both = np.concatenate([y[:, None], Y], axis=1)
                coefficients = both @ self.monomial.T
                # The top coefficient in Chebyshev's sense: theta^s on [0, 1] is worth 2^(1 - 2 s).
                error = float((np.abs(coefficients[:, -1]) * LD(2) ** (1 - 2 * self.s)
                               / (np.abs(both).max(axis=1) + floor)).max())
                factor = min(4.0, max(0.2, 0.9 * (tol / max(error, 1e-300)) ** (1 / self.s)))
                if error > tol:
                    h, self.n_rejected = h_now * LD(factor), self.n_rejected + 1
                    continue
                if S is not None:
                    S = self.carry(t, h_now, Y, S, solver, J)
                t, y, previous = (stop if h_now == stop - t else t + h_now), Y[:, -1], (coefficients, h_now)
                h = max(h_now * LD(factor), wanted if h_now < wanted and factor > 1 else LD(0))
                self.n_step += 1
            t = stop
            found[float(stop)] = (y, S)
            if float(stop) in [float(b) for b in breaks]:
                previous, h = None, h * LD(1e-6)
        return [found[float(x)] for x in times]

    def carry(self, t, h, Y, S, solver, J):
        """Derivatives of the step's end by those of its start and by the parameters: the implicit function theorem."""
        times = t + self.c * h
        F = np.einsum("skl,lp->skp", J, S) + self.parameter_slopes(times, Y)
        right = float(h) * np.einsum("ij,jkp->ikp", self.A.astype(float), F)
        n, s, P = self.n, self.s, S.shape[1]
        return S + solver(right.reshape(s * n, P)).reshape(s, n, P)[-1]
