"""The bootstrap over datasets of a fit with shared parameters.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np

import helpers as h
from test_shared import EQUATIONS, run_file, sample, write

MODEL = """model waves
parameter w = 7 in [5, 9], A = 1 in [-10, 10]
observe y = A*sin(w*t)
"""
T = np.linspace(0.1, 5, 25)


def waves(path, n=80):
    """The frequency, which is shared, differs between the datasets by more than their errors explain."""
    rng = np.random.default_rng(5)
    w = 7.3 + 0.02 * rng.standard_normal(n)
    y = (2 + 0.01 * np.arange(n))[:, None] * np.sin(w[:, None] * T) + 0.02 * rng.standard_normal((n, len(T)))
    h.write_problem(path, None, [f"d{d}" for d in range(n)], [(d, t, 0, v, 0.02) for d in range(n) for t, v in zip(T, y[d])])
    model = path.with_suffix(".ode")
    model.write_text(MODEL)
    return path, model, y


def fitted(y, weight):
    """The frequency for datasets that count `weight` times each; an amplitude is a linear parameter."""
    w = 7.3
    for _ in range(50):
        s, c = np.sin(w * T), T * np.cos(w * T)
        amplitude = y @ s / (s @ s)
        r = amplitude[:, None] * s - y
        slope = amplitude[:, None] * (c - (c @ s) / (s @ s) * s)  # what the amplitude cannot do
        step = (weight @ (r * slope).sum(axis=1)) / (weight @ (slope**2).sum(axis=1))
        w -= step
        if abs(step) < 1e-13:
            break
    return w


def test_standard_error_and_intervals(tmp):
    """Against a bootstrap in Python with draws of its own: the deviation of 500 replicates is off by 3.2 % (of 4000 by 1.1 %)
    and a percentile limit by 0.12 deviations (0.04), each one standard error; four of them are allowed."""
    path, model, y = waves(tmp / "p.h5")
    found = run_file(path, "--model", model, "--share", "w", "--bootstrap", 500, "--keep-bootstrap")
    rng = np.random.default_rng(1)
    replicates = np.array([fitted(y, rng.multinomial(80, np.full(80, 1 / 80))) for _ in range(4000)])
    np.testing.assert_allclose(found["parameters"][:, 0], fitted(y, np.ones(80)), rtol=1e-7)  # 4e-4 standard errors
    deviation = replicates.std()
    assert deviation > 3 * found["standard_error"][0, 0]  # which believes the errors
    with h5py.File(h.result_path(path)) as f:
        fits, kept = f["fits"], f["bootstrap"]
        assert np.all(fits["bootstrap_n"][:] == 500) and kept["parameters"].shape == (500, 2)
        np.testing.assert_allclose(fits["bootstrap_standard_error"][:, 0], deviation, rtol=0.14)
        for name, quantile in (("bootstrap_percentile_lower", 0.025), ("bootstrap_percentile_upper", 0.975)):
            np.testing.assert_allclose(fits[name][:, 0], np.quantile(replicates, quantile), atol=0.5 * deviation)
        for name in ("bootstrap_lower", "bootstrap_upper", "bootstrap_standard_error", "bootstrap_percentile_lower"):
            assert np.all(fits[name][:, 0] == fits[name][0, 0]) and np.all(np.isnan(fits[name][:, 1])), name
        np.testing.assert_allclose(np.std(kept["parameters"][:, 0], ddof=1), fits["bootstrap_standard_error"][0, 0], rtol=1e-9)
        # each replicate is an optimum of some draw: their mean is off by its standard error
        assert abs(kept["parameters"][:, 0].mean() - replicates.mean()) < 5 * deviation / np.sqrt(500)


def test_unknown_sigma_and_integration(tmp):
    """If model and errors are right, the bootstrap's standard error is the ordinary one, but for three standard errors of its
    own: 10 % for 60 datasets, 4 % for 300 replicates."""
    path, model = write(tmp / "p.h5", EQUATIONS, sample(60, seed=8))
    found = run_file(path, "--model", model, "--share", "ka", "--bootstrap", 300)
    with h5py.File(h.result_path(path)) as f:
        ratio = f["fits/bootstrap_standard_error"][0, 0] / found["standard_error"][0, 0]
        assert 0.67 < ratio < 1.33, ratio
        low, high = f["fits/bootstrap_lower"][0, 0], f["fits/bootstrap_upper"][0, 0]
    assert low < found["parameters"][0, 0] < high
    assert 2.5 < (high - low) / found["standard_error"][0, 0] < 6


def test_without_a_fit(tmp):
    """Nothing is repeated if the fit has failed, and datasets that are left out are not drawn."""
    y = sample(20)
    y[3] = np.nan
    path, model = write(tmp / "p.h5", EQUATIONS, y, 0.05)
    words = (path, "--model", model, "--share", "ka", "--bootstrap", 30)
    found = run_file(*words, code=1)
    assert found["status"][3] == 8 and np.all(np.delete(found["status"], 3) == 10), found["status"]
    found = run_file(*words, "--overwrite", "--leave-out-failed", code=1)
    assert np.all(np.delete(found["status"], 3) == 1), found["status"]
    with h5py.File(h.result_path(path)) as f:
        assert f["fits/bootstrap_n"][0] == 30 and f["fits/bootstrap_n"][3] == 0


if __name__ == "__main__":
    h.main()
