"""Warm starts from pilots, and what is kept of several starts.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 600
"""
import h5py
import numpy as np

import helpers as h
import oracles as o
from test_robertson import robertson_problem

WARM, COLD = 1 << 13, 1 << 14


def pilots(n):
    """As the manual has it."""
    m = min(32, n // 2)
    return [(2 * i + 1) * n // (2 * m) for i in range(m)]


def test_fewer_evaluations_and_the_same_optima(tmp):
    n = 200
    robertson_problem(tmp / "p.h5", n, start=o.ROBERTSON_P * [3, 0.2, 5])  # as wrong as a guess is
    cold = h.run(tmp / "p.h5", "-o", tmp / "cold.h5")
    warm = h.run(tmp / "p.h5", "--warm-start", "pilot", "-o", tmp / "warm.h5")
    assert set(warm["status"]) == {"converged"}
    # both end within the stopping test's 1e-9 of the optimum, and the integrator's errors are about 1e-6
    np.testing.assert_allclose(warm["objective"], cold["objective"], rtol=2e-6)
    mine = np.zeros(n, bool)
    mine[pilots(n)] = True
    assert mine.sum() == 32
    assert not np.any(warm["notes"][mine] & (WARM | COLD))
    assert np.all((warm["notes"][~mine] & (WARM | COLD)) > 0)
    for name in ("parameters", "objective", "evaluations"):  # pilots are fitted as ever
        assert np.array_equal(warm[name][mine], cold[name][mine])
    used = (warm["notes"] & WARM) > 0
    assert used.sum() > 0.9 * (~mine).sum()
    assert np.median(warm["evaluations"][used]) < np.median(cold["evaluations"][used])


def test_median_is_numpys(tmp):
    """Medians on the optimiser's scale: a run that is given them as its start takes the same way."""
    n = 40
    h.decay_problem(tmp / "p.h5", n, parameters={"name": ["k", "A"], "start": [0.5, 1.0], "scale": ["log", "lin"],
                                                "fixed": np.tile([0, 0], (n, 1))})
    full = h.run(tmp / "p.h5")
    chosen = pilots(n)
    warm = h.run(tmp / "p.h5", "--warm-start", "pilot", "-o", tmp / "w.h5")
    for name in ("parameters", "objective"):
        assert np.array_equal(warm[name][chosen], full[name][chosen])
    start = [np.exp(np.median(np.log(full["parameters"][chosen, 0]))), np.median(full["parameters"][chosen, 1])]
    h.decay_problem(tmp / "q.h5", n, parameters={"name": ["k", "A"], "start": start, "scale": ["log", "lin"]})
    direct = h.run(tmp / "q.h5")
    others = [i for i in range(n) if i not in chosen]
    used = [i for i in others if warm["notes"][i] & WARM]
    assert len(used) > n / 4
    np.testing.assert_allclose(warm["parameters"][used], direct["parameters"][used], rtol=1e-9)
    # Starts may differ in their last bits; with lanes, where they end in the integrator's noise, that shows.
    same = warm["evaluations"][used] == direct["evaluations"][used]
    assert np.mean(same) >= (0.9 if h.ENGINE else 1), (warm["evaluations"][used], direct["evaluations"][used])


def test_misfits_fall_back_to_the_cold_start(tmp):
    """A dataset that the pilots' median does not describe as well as it does pilots is fitted from its own start, too."""
    n = 20
    h.decay_problem(tmp / "p.h5", n, noise=0.01)
    with h5py.File(tmp / "p.h5", "r+") as f:
        d = np.flatnonzero(f["measurements/dataset"][()] == 0)
        f["measurements/value"][d] += 0.3 * (-1.0) ** np.arange(len(d))
    assert 0 not in pilots(n)
    cold = h.run(tmp / "p.h5", "-o", tmp / "cold.h5")
    warm = h.run(tmp / "p.h5", "--warm-start", "pilot", "-o", tmp / "warm.h5")
    assert warm["evaluations"][0] > cold["evaluations"][0], "both starts were tried"
    assert warm["notes"][0] & (WARM | COLD)
    assert warm["objective"][0] <= cold["objective"][0] * (1 + 1e-9)


def test_starts_are_kept_and_compared(tmp):
    n, n_start = 10, 6
    h.decay_problem(tmp / "p.h5", n, noise=0.05)
    fits = h.run(tmp / "p.h5", "--starts", n_start, "--keep-starts")
    with h5py.File(tmp / "p.result.h5", "r") as f:
        table = {name: column[()] for name, column in f["starts"].items()}
        success = h5py.check_enum_dtype(f["starts/status"].dtype)["converged"]
    assert np.array_equal(table["dataset"], np.repeat(np.arange(n), n_start))
    assert np.array_equal(table["start"], np.tile(np.arange(n_start), n))
    objective = np.where(table["status"] == success, table["objective"], np.nan).reshape(n, n_start)
    assert np.array_equal(np.nanmin(objective, axis=1), fits["objective"])
    near = objective <= fits["objective"][:, None] * (1 + 1e-6)
    assert np.array_equal(near.sum(axis=1), fits["starts_at_optimum"])
    others = np.where(near, np.nan, objective)
    for row in range(n):
        there = others[row][~np.isnan(others[row])]
        assert np.array_equal([fits["other_optimum_lower"][row], fits["other_optimum_upper"][row]],
                              [there.min(), there.max()] if len(there) else [np.nan, np.nan], equal_nan=True)
    assert np.any(~np.isnan(others)), "no start ends elsewhere: the test shows nothing of that"
    best = table["parameters"].reshape(n, n_start, 2)[np.arange(n), fits["start"]]
    assert np.array_equal(best, fits["parameters"])
    again = h.run(tmp / "p.h5", "--starts", n_start, "-o", tmp / "q.h5")
    assert np.array_equal(again["parameters"], fits["parameters"])
    with h5py.File(tmp / "q.h5", "r") as f:
        assert "starts" not in f


if __name__ == "__main__":
    h.main()
