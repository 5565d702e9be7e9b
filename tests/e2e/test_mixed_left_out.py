"""Mixed effects of datasets that cannot be evaluated at the start, and can be where the search goes.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np

import h5py

import helpers as h
import mixed
import mixed_oracle as mo
import test_mixed_quadrature as quadrature

LAG = """parameter k = 0.4 scale log
parameter lag = 0.4 in [0.01, 5] scale log
parameter cv = 0.05 in [1e-3, 1] scale log
parameter A = 8 scale log
y = (if t > lag then A*(t - lag)*exp(-k*t) else 0)
observe c = y sd cv*y
"""


def lagged(n=12):
    """A shared lag of 0.2. Half of the datasets have a measurement at 0.3, which is 0 at the start, and so is its error."""
    def predict(phi, shared, t, c):
        lag, cv, a = (np.exp(x) for x in shared)
        f = np.where(t > np.real(lag), a * (t - lag) * np.exp(-np.exp(phi[0]) * t), 1e-300)
        return f, cv * f

    case = quadrature.Case(LAG, ["k"], ["lag", "cv", "A"], predict, start=([-0.7], [0.1], [-1.6, -2.5, 2.2]))
    times = [[0.3, 1, 2, 4, 7] if d % 2 else [0.8, 1.5, 3, 6] for d in range(n)]
    return case.simulate([-0.7], [[0.09]], [np.log(0.2), np.log(0.08), np.log(10)], times, 5)


def test_taken_back(tmp):
    """The maximum is that of all datasets, the run succeeds, and no dataset is left out."""
    found, _ = lagged().check(tmp / "p.h5")
    assert found["n_dataset"] == 12 and found["n_left_out"] == 0 and found["n_measurement"] == 54
    assert "left out" not in found["stderr"], found["stderr"]
    # trials and starts at which datasets could not be evaluated did no harm
    assert "trial points" not in found["stderr"], found["stderr"]
    assert set(found["fits"]["status"]) == {"converged"} and np.all(np.isfinite(found["fits"]["parameters"]))


def test_still_left_out(tmp):
    """One that can nowhere be evaluated stays out, with its reason."""
    case = lagged(6)
    path, *model = case.write(tmp / "p.h5")
    with h5py.File(path, "a") as f:
        f["measurements/time"][0] = 1e-3  # before any lag that its bounds allow
    done = h.stiffit("run", path, *model, "--random", "k", "--share", "lag,cv,A", code=1)
    found = mixed.read(h.result_path(path))
    assert found["n_left_out"] == 1 and found["n_dataset"] == 5, done.stderr
    assert list(found["fits"]["status"]) == ["model_failed"] + 5 * ["converged"], found["fits"]["status"]
    assert "1 of 6 datasets were left out" in done.stderr
    rest = lagged(6)
    for name in ("t", "y", "mask"):
        setattr(rest, name, getattr(rest, name)[1:])
    reference = mo.climb(rest.model(), found["estimate"])
    mixed.agree(found, reference, mixed.NEAR, errors=False)


def test_without_measurements(tmp):
    """A dataset whose measurements are all missing contributes nothing: the numbers are those of the fit without it, and its
    own are the population's, whose distribution is normal on the scale of k."""
    case = lagged(8)
    path, *model = case.write(tmp / "p.h5")
    words = (*model, "--random", "k", "--share", "lag,cv,A")
    h.stiffit("run", path, *words)
    without = mixed.read(h.result_path(path))
    columns = [case.mask.nonzero()[0], case.t[case.mask], 0 * case.t[case.mask], case.y[case.mask], np.nan * case.y[case.mask]]
    rows = np.vstack([np.column_stack(columns), [(8, 1, 0, np.nan, np.nan), (8, 2, 0, np.nan, np.nan)]])
    path, *model = mixed.write(tmp / "q.h5", LAG, rows)
    for how in ("exact", "laplace"):
        done = h.stiffit("run", path, *words, "--likelihood", how, "--overwrite")
        found = mixed.read(h.result_path(path))
        assert "left out of" not in done.stderr and found["n_left_out"] == 0 and found["n_dataset"] == 8, done.stderr
        fits = found["fits"]
        assert set(fits["status"]) == {"converged"} and abs(fits["minus_2_log_likelihood"][8]) < 1e-9
        k = fits["names"].index("k")
        # its points are those of the rule for a normal density, which are exact for mean and variance
        np.testing.assert_allclose(fits["parameters"][8, k], found["natural_mean"][0], rtol=1e-9)
        np.testing.assert_allclose([fits["random_mean"][8, k], fits["random_deviation"][8, k]],
                                   [found["mean"][0], found["standard_deviation"][0]], rtol=1e-6)
        if how == "exact":
            for name in ("minus_2_log_likelihood", "aic", "bic"):
                assert abs(found[name] - without[name]) < 1e-3, (name, found[name], without[name])
            off = np.abs(found["estimate"] - without["estimate"]) / without["standard_error"]
            assert np.max(off) < mixed.FINE, off
            np.testing.assert_allclose(found["shrinkage"], without["shrinkage"], atol=1e-3)


if __name__ == "__main__":
    h.main()
