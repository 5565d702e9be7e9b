"""Bootstrap refits: the same algorithm in NumPy, and coverage.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 2400
"""
import h5py
import numpy as np
from scipy.optimize import least_squares

import helpers as h
from test_profile import decay_residuals



def compare(fits, name, estimates, errors, best, error, n):
    """Means, deviations and quantiles agree within five standard errors of the difference of two Monte Carlo samples."""
    ours = np.log(name)
    assert ours.shape == (n, 2)
    spread = estimates.std(axis=0, ddof=1)
    m = len(estimates)
    mean = ours.mean(axis=0) - estimates.mean(axis=0)
    assert np.all(np.abs(mean) < 5 * spread * np.sqrt(1 / n + 1 / m)), (mean, spread)
    ratio = ours.std(axis=0, ddof=1) / spread
    assert np.all(np.abs(np.log(ratio)) < 5 * np.sqrt(0.5 / n + 0.5 / m)), ratio
    t = np.sort((estimates - best) / errors, axis=0)
    for i in range(2):
        low, high = t[int(0.025 * (m + 1)) - 1, i], t[int(0.975 * (m + 1)) - 1, i]
        expected = best[i] - error[i] * np.array([high, low])
        found = np.log([fits["bootstrap_lower"][0, i], fits["bootstrap_upper"][0, i]])
        # a 2.5 % quantile of t of n draws has a standard error of some sqrt(0.025 * 0.975 / n) / density, about 2.7 / sqrt(n)
        # for a normal one, twice that for Student's with 6 degrees of freedom
        assert np.all(np.abs(found - expected) < 5 * 5.4 * error[i] * np.sqrt(1 / n + 1 / m)), (i, found, expected)


def check_against_numpy(tmp, known, kind):
    n, m = 1999, 1999
    h.decay_problem(tmp / "p.h5", 1, noise=0.1, known_sigma=known, seed=4)
    fits = h.run(tmp / "p.h5", "--bootstrap", n, "--keep-bootstrap", *(("--bootstrap-kind", kind) if kind else ()))
    assert fits["bootstrap_n"][0] == n
    with h5py.File(tmp / "p.h5", "r") as f:
        t, y = f["measurements/time"][()], f["measurements/value"][()]
        s = f["measurements/sigma"][()] if known else np.ones(len(t))
    with h5py.File(tmp / "p.result.h5", "r") as f:
        replicates = f["bootstrap/parameters"][()]
        assert list(f["bootstrap/replicate"][()]) == list(range(n))

    def predict(theta):
        return np.exp(theta[1] - np.exp(theta[0]) * t)
    best = least_squares(decay_residuals(tmp / "p.h5", 0, known), np.log(fits["parameters"][0]), xtol=1e-15).x
    r = (y - predict(best)) / s
    size = len(y)
    variance = np.sum(r ** 2) / (size - 2)
    centred = r - r.mean()
    pool = centred * np.sqrt(variance * size / np.sum(centred ** 2))
    rng = np.random.default_rng(77)
    estimates, errors = [], []
    parametric = kind == "parametric" or (kind is None and known)
    for _ in range(m):
        noise = rng.standard_normal(size) * (1 if known else np.sqrt(variance)) if parametric else rng.choice(pool, size)
        data = predict(best) + s * noise
        found = least_squares(lambda x, data=data: (predict(x) - data) / s, best, xtol=1e-12, ftol=1e-12, gtol=1e-12)
        factor = 1 if known else 2 * found.cost / (size - 2)
        estimates.append(found.x)
        errors.append(np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)) * factor))
    error = fits["standard_error"][0] / fits["parameters"][0]  # delta method, back to the logarithms
    compare(fits, replicates, np.array(estimates), np.array(errors), best, error, n)
    # the standard error is on the natural scale
    np.testing.assert_allclose(fits["bootstrap_standard_error"][0], replicates.std(axis=0, ddof=1), rtol=1e-9)
    q = np.quantile(replicates, [0.025, 0.975], axis=0, method="weibull")
    np.testing.assert_allclose([fits["bootstrap_percentile_lower"][0], fits["bootstrap_percentile_upper"][0]], q, rtol=1e-5)


def test_residual_bootstrap_is_numpys(tmp):
    check_against_numpy(tmp, False, None)


@h.more
def test_parametric_bootstrap_with_unknown_sigma_is_numpys(tmp):
    check_against_numpy(tmp, False, "parametric")


@h.more
def test_parametric_bootstrap_with_known_sigma_is_numpys(tmp):
    check_against_numpy(tmp, True, None)


def test_few_replicates_have_no_tails(tmp):
    """(n + 1) 0.025 >= 1 from 39 replicates on."""
    h.decay_problem(tmp / "p.h5", 2, noise=0.05)
    for n, known in ((38, False), (39, True)):
        fits = h.run(tmp / "p.h5", "--bootstrap", n, "-o", tmp / f"{n}.h5")
        for name in ("bootstrap_lower", "bootstrap_upper", "bootstrap_percentile_lower", "bootstrap_percentile_upper"):
            assert np.all(np.isfinite(fits[name]) == known), (n, name)
        assert np.all(np.isfinite(fits["bootstrap_standard_error"]))


def test_replicates_depend_on_the_seed_and_the_dataset(tmp):
    h.decay_problem(tmp / "p.h5", 2, noise=0.05)
    with h5py.File(tmp / "p.h5", "r+") as f:
        f["measurements/value"][8:16] = f["measurements/value"][0:8]  # twins
    found = {}
    for seed in (1, 2):
        h.run(tmp / "p.h5", "--bootstrap", "60", "--keep-bootstrap", "--seed", seed, "-o", tmp / f"{seed}.h5")
        with h5py.File(tmp / f"{seed}.h5", "r") as f:
            found[seed] = f["bootstrap/parameters"][()].reshape(2, 60, 2)
    assert not np.any(found[1][0] == found[1][1]) and not np.any(found[1] == found[2])
    assert len(np.unique(found[1][0][:, 0])) > 55


def coverage(path, truth, fits, pairs):
    inside = {}
    for lower, upper in pairs:
        hit = (fits[lower] <= truth) & (truth <= fits[upper])
        inside[lower] = hit.mean(axis=0)
    return inside


@h.slow
def test_coverage(tmp):
    """1000 synthetic datasets of decay, seed 20: constant unknown sigma, known sigma. A share of 95 % of 1000 has a standard
    deviation of 0.7 %."""
    n, rng = 1000, np.random.default_rng(20)
    t = np.linspace(0.25, 6.0, 12)
    k, a = np.exp(rng.normal(np.log(0.4), 0.3, n)), np.exp(rng.normal(np.log(2.0), 0.2, n))
    exact = a[:, None] * np.exp(-k[:, None] * t)
    truth = np.column_stack([k, a])
    for known in (False, True):
        y = exact + 0.05 * rng.standard_normal(exact.shape)
        rows = np.column_stack([np.repeat(np.arange(n), 12), np.tile(t, n), np.zeros(12 * n), y.ravel(),
                                np.full(12 * n, 0.05 if known else np.nan)])
        h.write_problem(tmp / "p.h5", h.model("decay"), [f"d{i}" for i in range(n)], rows)
        fits = h.run(tmp / "p.h5", "--profile", "all", "--bootstrap", "399", "--overwrite", timeout=2000)
        assert set(fits["status"]) == {"converged"}
        inside = coverage(tmp, truth, fits, [(f"{w}_lower", f"{w}_upper") for w in ("interval", "profile", "bootstrap",
                                                                                   "bootstrap_percentile")])
        print(f"sigma {'known' if known else 'unknown'}: {inside}")
        for name, least, most in (("interval_lower", 0.93, 0.97), ("profile_lower", 0.93, 0.97),
                                  ("bootstrap_lower", 0.92, 0.98)):
            assert np.all((inside[name] >= least) & (inside[name] <= most)), (known, name, inside)



def bounded_line(tmp, n_time):
    """y = a + b t with b held by its bound far below what the data want: one degree of freedom is used, not two."""
    (tmp / "m.ode").write_text("parameter a = 1\nparameter b = 0.5 in [0, 1]\nobserve y = a + b*t\n")
    t = np.arange(n_time) - 0.5 * (n_time - 1)  # so that a is the mean
    y = 3 + 2 * t + np.random.default_rng(8).normal(0, 0.3, n_time)
    h.write_problem(tmp / "p.h5", tmp / "m.ode", ["d0"], [(0, x, 0, v, np.nan) for x, v in zip(t, y)], t0=-10.0)
    return t, y


def test_a_parameter_on_its_bound_takes_no_degree_of_freedom(tmp):
    """Both bootstraps draw errors of the variance RSS / (n - 1). 2000 replicates of 6 values or of one mean: standard
    deviations are within 5 / sqrt(2 * 2000) = 8 % of it; with n - 2 they would be 12 % too large."""
    t, y = bounded_line(tmp, 6)
    fits = h.run(tmp / "p.h5", "--bootstrap", "2000", "--bootstrap-kind", "parametric")
    assert list(fits["at_bound"][0]) == [0, 1] and fits["degrees_of_freedom"][0] == 5
    a = np.mean(y - t)
    deviation = np.sqrt(np.sum((y - t - a) ** 2) / 5)
    assert abs(fits["bootstrap_standard_error"][0, 0] / (deviation / np.sqrt(6)) - 1) < 0.08
    h.stiffit("simulate", "--bootstrap", "2000", tmp / "p.result.h5", "--trust", "--method", "parametric", "-o", tmp / "b.h5")
    with h5py.File(tmp / "b.h5", "r") as f:
        drawn = f["measurements/value"][()].reshape(2001, 6)[1:] - (a + t)
    assert abs(np.sqrt(np.mean(drawn ** 2)) / deviation - 1) < 5 / np.sqrt(2 * drawn.size)


def regression(tmp, noise, n_observable, seed, n_time=6):
    """A fit of y = a + b t (and z = c + d t) with this sd: times, (X'X)^-1, and RSS / n of each observable."""
    lines = ["parameter a = 1, b = 1", "parameter c = 1, d = 1"][:n_observable]
    noises = sorted(set(noise.split())) if noise else []
    lines += [f"parameter {s} = 0.1 in [1e-4, 10] scale log" for s in noises]
    lines += [f"observe {z} = {p} + {q}*t" + (f" sd {s}" if s else "")
              for z, p, q, s in list(zip("yz", "ac", "bd", (noise or " ").split(" ") * 2))[:n_observable]]
    (tmp / "m.ode").write_text("\n".join(lines) + "\n")
    t = np.arange(n_time) - 0.5 * (n_time - 1)
    scale = np.array([0.05, 0.05 if noise and len(noises) < 2 else 0.2])[:n_observable]
    y = 3 + 2 * t + scale[:, None] * np.random.default_rng(seed).standard_normal((n_observable, n_time))
    rows = [(0, x, o, y[o, i], np.nan) for i, x in enumerate(t) for o in range(n_observable)]
    h.write_problem(tmp / "p.h5", tmp / "m.ode", ["d0"], rows, t0=-10.0,
                    parameters={"observables": ["y", "z"][:n_observable]})
    design = np.column_stack([np.ones(n_time), t])
    squares = np.array([np.linalg.lstsq(design, row, rcond=None)[1][0] for row in y])
    return t, np.linalg.inv(design.T @ design), squares / n_time


@h.more
def test_a_fitted_sigma_takes_no_degree_of_freedom(tmp):
    """Exact linear regression: both bootstraps have the standard errors of RSS / (n - p), where p counts the parameters of the
    lines alone, as without noise parameters. 2000 replicates: within 8 %; counting the noise would give 12 % or more too much
    (residual), the likelihood's sigma 18 % too little (parametric)."""
    for k, (noise, n_observable) in enumerate([("", 1), ("s", 1), ("s1 s2", 2), ("s s", 2)]):
        t, inverse, own = regression(tmp, noise, n_observable, seed=20 + k)
        for kind in ("residual", "parametric"):
            # Residuals are drawn from those of the same observable, even if the sigma is that of both.
            variance = np.full(n_observable, own.mean()) if noise == "s s" and kind == "parametric" else own
            exact = np.sqrt(np.outer(variance * len(t) / (len(t) - 2), np.diag(inverse))).ravel()
            fits = h.run(tmp / "p.h5", "--overwrite", "--bootstrap", "2000", "--bootstrap-kind", kind)
            assert fits["noise_parameters"][0] == len(set(noise.split())), (noise, fits["noise_parameters"])
            ratio = fits["bootstrap_standard_error"][0, :2 * n_observable] / exact
            assert np.all(np.abs(ratio - 1) < 0.08), (noise, kind, ratio)
            h.stiffit("simulate", "--bootstrap", "500", tmp / "p.result.h5", "--trust", "--method", kind, "--overwrite",
                      "-o", tmp / "b.h5")
            with h5py.File(tmp / "b.h5", "r") as f:
                n = len(t) * n_observable
                values, observable = f["measurements/value"][n:].reshape(-1, n), f["measurements/observable"][:n]
            slope = np.linalg.lstsq(np.column_stack([np.ones(len(t)), t]), values[:, observable == 0].T, rcond=None)[0][1]
            # 500 replicates: a standard deviation is known to 3.2 %
            assert abs(slope.std() / exact[1] - 1) < 0.12, (noise, kind, slope.std() / exact[1])


def test_proportional_and_additive_noise(tmp):
    """sd sqrt(s^2 + (c f)^2), both fitted: replicates deviate by n / (n - 2) of the likelihood's variances."""
    (tmp / "m.ode").write_text("parameter a = 3, b = 2\nparameter s = 0.1 in [1e-4, 10] scale log\n"
                               "parameter c = 0.1 in [1e-4, 10] scale log\n"
                               "observe y = a + b*t sd sqrt(s^2 + (c*(a + b*t))^2)\n")
    t = np.linspace(0.0, 10.0, 9)
    y = (3 + 2 * t) + np.hypot(0.5, 0.05 * (3 + 2 * t)) * np.random.default_rng(12).standard_normal(len(t))
    h.write_problem(tmp / "p.h5", tmp / "m.ode", ["d0"], [(0, x, 0, v, np.nan) for x, v in zip(t, y)], t0=-1.0)
    fits = h.run(tmp / "p.h5")
    assert fits["noise_parameters"][0] == 2 and not fits["at_bound"].any()
    a, b, s, c = fits["parameters"][0]
    for kind in ("residual", "parametric"):
        h.stiffit("simulate", "--bootstrap", "2000", tmp / "p.result.h5", "--trust", "--method", kind, "--overwrite",
                  "-o", tmp / "b.h5")
        with h5py.File(tmp / "b.h5", "r") as f:
            drawn = (f["measurements/value"][9:].reshape(-1, 9) - a - b * t) / np.hypot(s, c * (a + b * t))
        # At the likelihood's maximum the mean square of residuals over these sigmas is 1, because scaling both parameters
        # changes no optimum. 18000 draws: 5 sqrt(2 / 18000) = 5 %; n - 4 would be 40 % more, the likelihood's sigma 22 % less.
        assert abs(np.mean(drawn ** 2) / (9 / 7) - 1) < 0.05, (kind, np.mean(drawn ** 2))


def test_no_freedom_no_replicates(tmp):
    """A fit that meets every value says nothing of the errors: neither bootstrap divides by something else instead."""
    (tmp / "m.ode").write_text("parameter a = 1\nparameter b = 1\nobserve y = a + b*t\n")
    h.write_problem(tmp / "p.h5", tmp / "m.ode", ["d0"], [(0, 1, 0, 2.0, np.nan), (0, 2, 0, 5.0, np.nan)])
    fits = h.run(tmp / "p.h5", "--bootstrap", "5")
    assert fits["bootstrap_n"][0] == 0
    for method in ("residual", "parametric"):
        done = h.stiffit("simulate", "--bootstrap", "5", tmp / "p.result.h5", "--trust", "--method", method,
                         "-o", tmp / "b.h5", code=3)
        assert "degrees of freedom" in done.stderr, done.stderr


if __name__ == "__main__":
    h.main()
