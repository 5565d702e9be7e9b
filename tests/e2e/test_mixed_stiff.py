"""Mixed effects of a stiff model: Robertson's kinetics with random rate constants, against quadrature over SciPy's Radau
method.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np
from scipy.integrate import solve_ivp

import helpers as h
import mixed
import mixed_oracle as mo

P2 = 1e4
TIMES = np.array([0.4, 4, 40, 400, 4000])
TEXT = """parameter p1 = 0.05 scale log
parameter p3 = 2e7 scale log
parameter sigma = 0.05 in [1e-4, 1] scale log
constant p2 = 1e4
y1(0) = 1; y2(0) = 0; y3(0) = 0
y1' = p2*y2*y3 - p1*y1
y2' = p1*y1 - p2*y2*y3 - p3*y2^2
y3' = p3*y2^2
observe y1 sd sigma, y2e4 = 1e4*y2 sd sigma, y3 sd sigma
"""
CENTRE, WIDTH = np.log([0.04, 3e7]), 1.5  # of the logarithms that the surrogate covers


def trajectory(log_p):
    p1, p3 = np.exp(log_p)

    def rate(_, y):
        a, b, c = p1 * y[0], P2 * y[1] * y[2], p3 * y[1] ** 2
        return [b - a, a - b - c, c]

    def jacobian(_, y):
        b, c, d = P2 * y[2], P2 * y[1], 2 * p3 * y[1]
        return [[-p1, b, c], [p1, -b - d, -c], [0, d, 0]]

    found = solve_ivp(rate, (0, TIMES[-1]), [1, 0, 0], "Radau", TIMES, jac=jacobian, rtol=1e-8, atol=1e-12)
    return found.y.T * [1, 1e4, 1]


class Surrogate:
    """Chebyshev polynomials of the logarithms of the random parameters: predictions by observable and time, which take
    complex numbers. r = 1: p3 has its true value."""

    def __init__(self, r, degree):
        node = np.cos(np.pi * (np.arange(degree) + 0.5) / degree)
        basis = np.polynomial.chebyshev.chebvander(node, degree - 1)
        inverse = np.linalg.inv(basis)
        if r == 1:
            value = np.array([trajectory(CENTRE + [WIDTH * x, 0]) for x in node])
            self.coefficient = np.tensordot(inverse, value, 1)
        else:
            value = np.array([[trajectory(CENTRE + WIDTH * np.array([x, y])) for y in node] for x in node])
            self.coefficient = np.einsum("ai,bj,ijto->abto", inverse, inverse, value)
        self.r, self.degree = r, degree

    def __call__(self, phi):
        """phi: ... x r; returns ... x times x observables."""
        x = [self.basis((phi[..., i] - CENTRE[i]) / WIDTH) for i in range(self.r)]
        if self.r == 1:
            return np.tensordot(x[0], self.coefficient, 1)
        rows = np.tensordot(x[0], self.coefficient, 1)
        return np.einsum("...b,...bto->...to", x[1], rows)

    def basis(self, x):
        terms = [np.ones_like(x), x]
        for _ in range(2, self.degree):
            terms.append(2 * x * terms[-1] - terms[-2])
        return np.stack(terms[:self.degree], axis=-1)


def check(tmp, n, r, degree, q):
    rng = np.random.default_rng(41)
    surrogate = Surrogate(r, degree)
    truth = CENTRE[:r] + rng.multivariate_normal(np.zeros(r), np.array([[0.06, 0.02], [0.02, 0.09]])[:r, :r], n)
    # it is the integrator's solution between its nodes
    np.testing.assert_allclose(surrogate(truth[0]), trajectory(np.append(truth[0], CENTRE[r:])), atol=2e-6)
    mask = np.zeros((n, len(TIMES), 3), bool)  # a few measurements each
    for d in range(n):
        mask[d].flat[rng.choice(mask[d].size, rng.integers(2, 7), replace=False)] = True
    y = surrogate(truth) + 0.03 * rng.normal(size=mask.shape)

    def loglik(phi, shared):
        flat = surrogate(phi).reshape(*phi.shape[:2], -1)
        return mo.normal_loglik(y.reshape(n, -1), mask.reshape(n, -1), flat, np.exp(shared[0]))

    rows = [(d, TIMES[i], o, y[d, i, o], np.nan) for d in range(n) for i in range(len(TIMES)) for o in range(3)
            if mask[d, i, o]]
    text = TEXT if r == 2 else TEXT.replace("parameter p3 = 2e7 scale log", "constant p3 = 3e7")
    path = tmp / "p.h5"
    (tmp / "p.ode").write_text(text)
    h.write_problem(path, None, [f"d{d}" for d in range(n)], rows,
                    parameters={"name": ["p1", "p3"][:r] + ["sigma"],
                                "observables": ["y1", "y2e4", "y3"]})
    words = ("--random", "p1,p3" if r == 2 else "p1", "--share", "sigma")
    found = mixed.run((path, "--model", tmp / "p.ode"), *words)
    model = mo.Nonlinear(loglik, n, mo.Layout(r, 1), q)
    reference = mo.climb(model, found["estimate"])
    mixed.agree(found, reference, mixed.NEAR, errors=0.02)
    assert np.all(found["fits"]["status"] == "converged")
    if r == 2:
        return
    finer = mo.Nonlinear(loglik, n, mo.Layout(r, 1), 2 * q).evaluate(reference.theta)[0].sum()
    assert abs(finer - reference.value) < 1e-4, "the quadrature is too rough"


def test_one_random(tmp):
    check(tmp, 15, 1, 10, 31)


@h.slow
def test_two_random(tmp):
    check(tmp, 50, 2, 16, 15)


if __name__ == "__main__":
    h.main()
