"""A state that falls fast to a value far below its size, beside a pole just below zero: elimination by Michaelis and Menten
against production, x' = b - V x/(K + x). A step may pass the pole without a visible error; both engines take it back.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np

import helpers as h

MODEL = """parameter b = 1 in [1e-3, 1e3] scale log10
parameter V = 50 in [1e-3, 1e6] scale log10
parameter K = 1e-5 in [1e-12, 1] scale log10
x(0) = 10
x' = b - V*x/(K + x)
q(0) = 0
q' = V*x/(K + x) - q
observe X = x
observe Q = q
"""
LATE = np.array([2.0, 5.0, 10.0])
B, V, ERROR, CHANGED = 1.0, 100.0, 1e-4, 1 << 22


def product(v):
    """q after x is used up at t1: until then x is eliminated at the rate V, and then at the rate b."""
    t1 = 10 / (v - B)
    return B + (v * (1 - np.exp(-t1)) - B) * np.exp(-(LATE - t1))


def test_rest_value(tmp):
    """At rest x is b K/(V - b): K, V and their standard errors in closed form, as V is known from q alone."""
    (tmp / "m.ode").write_text(MODEL)
    slope = (product(V + 1e-3) - product(V - 1e-3)) / 2e-3
    error_v = ERROR / np.linalg.norm(slope)
    error_k = np.hypot(ERROR / np.sqrt(len(LATE)), error_v / (V - B))
    for n, k in enumerate((1e-3, 1e-5, 1e-7)):
        x = B * k / (V - B)
        rows = [(0, t, 0, x, ERROR * x) for t in LATE] + [(0, t, 1, q, ERROR) for t, q in zip(LATE, product(V))]
        parameters = {"name": ["b", "V", "K"], "fixed": np.array([1, 0, 0], np.uint8), "observables": ["X", "Q"]}
        path = h.write_problem(tmp / f"p{n}.h5", None, ["d0"], rows, parameters=parameters)
        for engine in ("cvodes", "lanes"):
            h.run(path, "--model", tmp / "m.ode", "--engine", engine, "-o", tmp / f"{n}{engine}.h5")
            found = h.read_fits(tmp / f"{n}{engine}.h5")
            what = f"{k} {engine} {found['message'][0]}"
            assert found["status"][0] == "converged" and not found["notes"][0] & CHANGED, what
            # product() leaves out the time in which x is of the order of K, some K log(10/K)/V; integration errors of 1e-7 are
            # 0.001 of the measurements' errors, and some times as much of V's
            v_hat, k_hat = found["parameters"][0][1:]
            np.testing.assert_allclose(v_hat, V, rtol=0, atol=0.01 * error_v + 20 * k, err_msg=what)
            np.testing.assert_allclose(k_hat, x * (v_hat - B) / B, rtol=0.01 * ERROR, err_msg=what)
            np.testing.assert_allclose(found["standard_error"][0][1:], [error_v, error_k * k], rtol=1e-3, err_msg=what)


if __name__ == "__main__":
    h.main()
