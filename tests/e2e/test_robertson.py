"""Robertson's problem, stiff as they come: every synthetic dataset converges, to an optimum no worse than SciPy's.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 900
"""
import h5py
import numpy as np

import helpers as h
import oracles as o

N = 1000 if h.SLOW else 12 if h.SANITIZE else 25 if h.QUICK else 100
N_SCIPY = 2 if h.SANITIZE else 4 if h.QUICK else 20


def robertson_problem(path, n, **keywords):
    true, value, sigma = o.robertson_data(n)
    n_time, n_observable = value.shape[1:]
    n_row = n_time * n_observable
    rows = np.column_stack([
        np.repeat(np.arange(n), n_row), np.tile(np.repeat(o.ROBERTSON_T, n_observable), n),
        np.tile(np.arange(n_observable), n * n_time), value.ravel(), sigma.ravel()])
    parameters = {"name": ["p1", "p2", "p3"], "start": o.ROBERTSON_P, "observables": ["y1", "y2e4", "y3"],
                  "scale": ["log10"] * 3}
    parameters.update(keywords)
    h.write_problem(path, h.model("robertson"), [f"r{i}" for i in range(n)], rows, parameters=parameters)
    return true, value, sigma


def mixed_problem(path, n=40):
    """One of the datasets has no measurement, another one few."""
    robertson_problem(path, n if not h.SANITIZE else min(n, 12), lower=[1e-4, 1e1, 1e4], upper=[1e2, 1e7, 1e10])
    with h5py.File(path, "r+") as f:
        value, dataset = f["measurements/value"][()], f["measurements/dataset"][()]
        value[dataset == 5] = np.nan
        value[np.flatnonzero(dataset == 7)[::2]] = np.nan
        f["measurements/value"][...] = value
    return path


@h.both
def test_every_fit_converges_and_none_is_worse_than_scipy(tmp):
    _, value, sigma = robertson_problem(tmp / "p.h5", N)
    fits = h.run(tmp / "p.h5")
    assert set(fits["status"]) == {"converged"}, np.unique(fits["status"], return_counts=True)
    worst = -np.inf
    for i in np.linspace(0, N - 1, N_SCIPY).astype(int):
        scipy = o.fit_log(lambda p, i=i: ((o.robertson_observed(p) - value[i]) / sigma[i]).ravel(), o.ROBERTSON_P)
        ours = o.robertson_objective(fits["parameters"][i], value[i], sigma[i])
        best = o.robertson_objective(scipy, value[i], sigma[i])
        worst = max(worst, ours / best - 1)
        # what was promised; the objectives are about 15, re-evaluated at rtol 1e-11
        assert ours <= best * (1 + 1e-6), (i, ours / best - 1, fits["parameters"][i], scipy)
        # the objective that we report comes from rtol 1e-6
        assert abs(fits["objective"][i] / ours - 1) < 1e-3, (i, fits["objective"][i], ours)
    print(f"worst relative excess over SciPy {worst:.1e}")


def test_true_parameters_are_found_again(tmp):
    true, _, _ = robertson_problem(tmp / "p.h5", 50 if not h.SANITIZE else 5)
    fits = h.run(tmp / "p.h5")
    distance = np.log(fits["parameters"] / true)
    # 36 values with 2 to 3 % noise fix each parameter to a few per cent; 6 standard deviations of that
    assert np.all(np.std(distance, axis=0) < 0.15), np.std(distance, axis=0)
    assert np.all(np.abs(np.median(distance, axis=0)) < 0.06), np.median(distance, axis=0)


if __name__ == "__main__":
    h.main()
