"""The first steps of a fit with shared parameters: a sample of the datasets, and then each dataset's own fit.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np
from scipy.integrate import solve_ivp

import helpers as h
from test_shared import FORMULA, run_file, sample, write

# Absorption and elimination, linear and saturable: with wrong shared parameters a dataset has a local optimum, where its
# objective is some thousand times as large.
TEXT = """model absorption
parameter ka = 1 in [1e-3, 1e3] scale log, Vm = 1 in [1e-3, 1e3] scale log, Km = 3 in [1e-3, 1e3] scale log
parameter g = 1 in [1e-3, 1e3] scale log, d = 0 in [-10, 10]
parameter A = 5 in [1e-3, 1e4] scale log, k = 0.1 in [1e-5, 10] scale log, b = 0 in [-10, 10]
G(0) = A; C(0) = 0
G' = -ka*G
C' = ka*G - k*C - Vm*C/(Km + C)
observe y = C + b, z = g*G + d
"""
TRUE = {"ka": 1.7, "Vm": 0.6, "Km": 2.0, "g": 0.8, "d": 0.2}
TIMES = np.array([0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 9, 12])
SIGMA = 0.05


def absorption(path, n, seed):
    rng = np.random.default_rng(seed)
    own = zip(np.exp(rng.normal(1.8, 0.5, n)), np.exp(rng.normal(-2.5, 0.3, n)), rng.normal(0.3, 0.1, n))

    def exact(amount, k, b):
        def rhs(_, y):
            return [-TRUE["ka"] * y[0], TRUE["ka"] * y[0] - k * y[1] - TRUE["Vm"] * y[1] / (TRUE["Km"] + y[1])]
        found = solve_ivp(rhs, (0, TIMES[-1]), [amount, 0], "LSODA", TIMES, rtol=1e-8, atol=1e-10).y
        return np.column_stack([found[1] + b, TRUE["g"] * found[0] + TRUE["d"]])

    y = np.array([exact(*values) for values in own])
    y += SIGMA * rng.standard_normal(y.shape)
    rows = [(d, TIMES[i], k, y[d, i, k], SIGMA) for d in range(n) for i in range(len(TIMES)) for k in (0, 1)]
    h.write_problem(path, None, [f"d{d}" for d in range(n)], rows)
    with h5py.File(path, "a") as f:
        f["measurements/observable"] = np.array([row[2] for row in rows], np.int32)
        f["measurements/observable_names"] = ["y", "z"]
    model = path.with_suffix(".ode")
    model.write_text(TEXT)
    return path, model


@h.both
def test_no_dataset_stays_in_a_local_optimum(tmp):
    """Twice the objective is distributed as chi-square: the optimum is within five standard deviations, and a local one far
    beyond. On its way with wrong shared parameters each of these problems led some dataset there."""
    for seed in h.portion((4, 6, 8), 1):
        path, model = absorption(tmp / f"p{seed}.h5", 300, seed)
        found = run_file(path, "--model", model, "--share", ",".join(TRUE))
        freedom = 300 * (2 * len(TIMES) - 3) - len(TRUE)
        total = 2 * found["objective"].sum()
        assert abs(total - freedom) < 5 * np.sqrt(2 * freedom), (seed, total, freedom)
        assert np.all(found["status"] == 1)
        # independent fits with the shared values known need 7 or 8
        assert found["evaluations"].mean() < 35, found["evaluations"].mean()


def test_sample(tmp):
    """Its size is in the result; another one leads to the same optimum, as do all datasets."""
    n = 700
    path, model = write(tmp / "p.h5", FORMULA, sample(n), 0.05)
    first = run_file(path, "--model", model, "--share", "ka,b")
    steps = {}
    for words in ((), ("--seed", 5), ("--warm-start", "pilot")):
        found = run_file(path, "--model", model, "--share", "ka,b", "--overwrite", *words)
        with h5py.File(h.result_path(path)) as f:
            steps[words] = f["provenance"].attrs["first_steps_datasets"]
        assert np.all(found["status"] == 1)
        np.testing.assert_allclose(found["objective"].sum(), first["objective"].sum(), rtol=1e-9)
        np.testing.assert_allclose(found["parameters"][:, 0], first["parameters"][:, 0], rtol=1e-5)  # 1e-4 standard errors
    assert list(steps.values()) == [b"70 of 700", b"70 of 700", b"700 of 700"], steps


def test_failures_outside_of_the_sample(tmp):
    """A dataset that cannot be evaluated ends the fit or is left out, whenever it is noticed."""
    y = sample(400)
    y[[3, 100, 237, 399]] = np.nan
    path, model = write(tmp / "p.h5", FORMULA, y, 0.05)
    found = run_file(path, "--model", model, "--share", "ka", code=1)
    assert found["status"][3] == 8 and np.all(np.delete(found["status"], [3, 100, 237, 399]) == 10), found["status"]
    found = run_file(path, "--model", model, "--share", "ka", "--overwrite", "--leave-out-failed", code=1)
    assert np.flatnonzero(found["status"] != 1).tolist() == [3, 100, 237, 399], found["status"]
    path, model = write(tmp / "q.h5", FORMULA, np.delete(y, [3, 100, 237, 399], axis=0), 0.05)
    without = run_file(path, "--model", model, "--share", "ka")
    np.testing.assert_allclose(np.nansum(found["objective"]), without["objective"].sum(), rtol=1e-9)


def test_budget(tmp):
    """The sample uses half of it at most: then all datasets have a row with their best point."""
    path, model = absorption(tmp / "p.h5", 200, 1)
    for n in (1, 3, 12, 20, 25, 40):
        found = run_file(path, "--model", model, "--share", ",".join(TRUE), "--max-evaluations", n, "--overwrite", code=(0, 1))
        assert found["evaluations"].max() <= n + 2, n  # the certificate may take more
        assert np.all(np.isfinite(found["objective"])) or n == 1, (n, found["objective"])


if __name__ == "__main__":
    h.main()
