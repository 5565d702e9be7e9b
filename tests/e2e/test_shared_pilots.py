"""Fits over many datasets that begin at the medians of some datasets' own fits (--warm-start pilot).

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np
from scipy.integrate import solve_ivp

import helpers as h
from test_shared import FORMULA, run, sample, write as write_formula

TEXT = """parameter ka = 1 in [1e-3, 1e3] scale log, Vm = 1 in [1e-3, 1e3] scale log, Km = 3 in [1e-3, 1e3] scale log
parameter g = 1 in [1e-3, 1e3] scale log, d = 0 in [-10, 10]
parameter A = 5 in [1e-3, 1e4] scale log, k = 0.1 in [1e-5, 10] scale log, b = 0 in [-10, 10]
G(0) = A; C(0) = 0
G' = -ka*G
C' = ka*G - k*C - Vm*C/(Km + C)
observe y = C + b, z = g*G + d
"""
KA, VM, KM, G, D = TRUE = 1.7, 0.6, 2.0, 0.8, 0.2
SHARED = ("--share", "ka,Vm,Km,g,d")
TIMES = np.array([0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 9, 12])
SIGMA = 0.05


def curves(a, k, b):
    found = solve_ivp(lambda t, y: (-KA * y[0], KA * y[0] - k * y[1] - VM * y[1] / (KM + y[1])), (0, TIMES[-1]), (a, 0),
                      "LSODA", TIMES, rtol=1e-9, atol=1e-12)
    return np.column_stack([found.y[1] + b, G * found.y[0] + D])


def problem(path, n, seed):
    """Simulated: returns the model's path and the objective at the true parameters."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n, len(TIMES), 2))
    values = [curves(np.exp(rng.normal(1.8, 0.5)), np.exp(rng.normal(-2.5, 0.3)), rng.normal(0.3, 0.1)) + SIGMA * noise[i]
              for i in range(n)]
    model = path.with_suffix(".ode")
    model.write_text(TEXT, encoding="ascii")
    h.write_problem(path, None, [f"d{i}" for i in range(n)],
                    [(i, t, z, values[i][at, z], SIGMA) for i in range(n) for at, t in enumerate(TIMES) for z in (0, 1)],
                    parameters={"observables": ["y", "z"]})
    return model, 0.5 * np.sum(noise ** 2)


@h.more
def test_far_away(tmp):
    """The optimum is below the objective at the truth, by half a unit a parameter: no local one is."""
    ends = []
    for seed in (0, 8, 21, 24):
        path = tmp / f"p{seed}.h5"
        model, at_truth = problem(path, 24, seed)
        found = run(path, model, *SHARED, "--warm-start", "pilot")
        assert np.all(found["status"] == 1), found["message"]
        n = 5 + 3 * 24
        assert n / 2 - 4 * np.sqrt(n / 2) < at_truth - found["objective"].sum() < n / 2 + 4 * np.sqrt(n / 2), seed
        ends.append(run(path, model, *SHARED, "--overwrite")["objective"].sum() - found["objective"].sum())
    print("the start in the file ends above by", np.round(ends, 3))
    assert np.all(np.array(ends) > -1e-4), ends


def test_near(tmp):
    """The start is better than the medians, or the fit is one without pilots: the same optimum."""
    y = sample(9, seed=3)
    exact = ("--share", "ka", "--ftol", "1e-13")
    path, model = write_formula(tmp / "a.h5", FORMULA, y, 0.05)
    plain = run(path, model, *exact)
    found = run(path, model, *exact, "--warm-start", "pilot", "--overwrite")
    # 1e-13 of an objective of 31 is 2.5e-6 standard errors, and steps that promise less are not taken
    assert np.all(np.abs(found["parameters"] - plain["parameters"]) < 3e-5 * plain["standard_error"])
    path, model = write_formula(tmp / "b.h5", FORMULA, y[:3], 0.05)
    plain = run(path, model, "--share", "ka")
    found = run(path, model, "--share", "ka", "--warm-start", "pilot", "--overwrite")
    assert found["parameters"].tobytes() == plain["parameters"].tobytes()


if __name__ == "__main__":
    h.main()
