"""What fits say of their own uncertainty where data are few, of one side, or in odd units: NumPy and SciPy are the judges.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.stats import f as f_distribution, norm, t as student

import helpers as h

NOISE_FLOOR, FLAT, ONE_SIDED = 1 << 9, 1 << 12, 1 << 21
WEIGHT = np.array([1, 1, 1, 1e-9])  # of four exponentials: the last one is hardly seen


def write(path, text, data, sigma=np.nan, **keywords):
    """One dataset for each (times, values)."""
    model = path.with_suffix(".ode")
    model.write_text(text)
    rows = [(d, t, 0, y, sigma) for d, (times, values) in enumerate(data) for t, y in zip(times, values)]
    h.write_problem(path, model, [f"d{d}" for d in range(len(data))], rows, **keywords)
    return path


def test_fewer_measurements_than_parameters(tmp):
    """The flat directions are the zeros of NumPy's eigenvalues, whatever a parameter counts for on its own. On the logarithmic
    scale the last one's column is 1e-9 of the others', which leaves it open by more than ten decades."""
    text = "".join(f"parameter {name} = 1 scale log\n" for name in "abcd")
    text += "observe y = " + " + ".join(f"{w}*{name}*exp(-0.3*{k}*t)" for k, (w, name) in enumerate(zip(WEIGHT, "abcd"))) + "\n"
    rng = np.random.default_rng(11)
    data, rates = [], 0.3 * np.arange(4)
    for d in range(60):
        t = np.sort(rng.uniform(0, 4, 1 + d % 2))
        data.append((t, np.exp(-np.outer(t, rates)) @ (WEIGHT * rng.lognormal(0, 0.3, 4))))
    fits = h.run(write(tmp / "p.h5", text, data, 0.02))
    for d, (t, _) in enumerate(data):
        slopes = np.exp(-np.outer(t, rates)) * WEIGHT * fits["parameters"][d] / 0.02
        values = np.linalg.eigvalsh(slopes.T @ slopes)[::-1]
        np.testing.assert_allclose(fits["information_eigenvalues"][d][:len(t)], values[:len(t)], rtol=1e-6)
        # what is known is known to better than a decade, so that nothing but the rank counts
        known = np.sum(values > 1e-12 * values[0])
        assert known == len(t) and values[known - 1] > 1 / np.log(10) ** 2, values
        assert fits["flat_directions"][d] == 4 - known, (d, values, fits["flat_directions"][d])



def test_exact_data_of_unknown_sigma(tmp):
    """Residuals are the integrator's errors, which are no sample: they are smooth in time, and the parameters follow them. The
    parameters' errors lie within 4 standard errors all the same (3 hold for independent ones), and a note says where the limit
    is."""
    rng, t = np.random.default_rng(1), np.linspace(0.5, 8, 10)
    k, a = np.exp(rng.normal(-1, 0.5, 30)), np.exp(rng.normal(0, 0.5, 30))
    text = "parameter k = 0.7 scale log\nparameter A = 1 scale log\ny(0) = A\ny' = -k*y\nobserve y\n"
    path = write(tmp / "p.h5", text, [(t, a[d] * np.exp(-k[d] * t)) for d in range(30)])
    for options in ((), ("--rtol", "1e-4"), ("--optimizer", "lbfgs")):
        fits = h.run(path, "--overwrite", *options)
        z = np.abs(fits["parameters"] - np.column_stack([k, a])) / fits["standard_error"]
        assert np.max(z) < 4, (options, np.max(z))
        # fits that were repeated at the smallest tolerance, 1e-12, whose errors are that of some 50 steps
        rounded = fits["residual_error"] < 50 * 1e-12
        assert np.all(rounded | (fits["notes"] & NOISE_FLOOR > 0)), (options, fits["notes"])


def censored(tmp, values, side, text, **keywords):
    path = write(tmp / "p.h5", text, [(np.arange(len(v)) + 1.0, v) for v in values], 0.1, **keywords)
    with h5py.File(path, "r+") as f:
        f["measurements/censored"] = np.ravel(side).astype(np.int8)
    return h.run(path, "--overwrite")


def test_an_optimum_at_infinity_is_said_to_be_one(tmp):
    """All measurements of d0 lie below their limits, of d1 above, of d2 some below and some above, of d3 only the first is
    known: its slope has no optimum, its intercept's is that measurement. d2's optimum is SciPy's."""
    side = np.array([[1] * 6, [-1] * 6, [1, 1, -1, 1, -1, -1], [0, 1, 1, 1, 1, 1]])
    values = np.array([[5.0] * 6, [5.0] * 6, [3, 3.1, 3.05, 3.3, 3.1, 3.2], [3.0] + [2.9] * 5])
    text = "parameter a = 3{0}\nparameter b = 0.1{1}\nobserve y = a + b*(t - 1)\n"
    for scale in ("", " scale log"):
        signs = slice(0, 4) if not scale else slice(0, 1)  # with b > 0 the last is held by its bound, d1 is infinite too
        fits = censored(tmp, values[signs], side[signs], text.format(scale, scale))
        one_sided, flat = fits["notes"] & ONE_SIDED != 0, fits["notes"] & FLAT != 0
        expected = [True, True, False, True] if not scale else [True]
        assert list(one_sided) == expected and list(flat) == expected, (scale, fits["notes"], fits["parameters"])
        assert np.all(fits["status"] == "converged"), fits["message"]
        assert list(fits["error_missing"][0]) == ["flat"] * 2, fits["error_missing"]
        if scale:
            continue
        assert list(fits["error_missing"][3]) == ["none", "flat"] and abs(fits["standard_error"][3, 0] / 0.1 - 1) < 1e-3

        def loss(p):
            r = (values[2] - p[0] - p[1] * np.arange(6)) / 0.1
            return -np.sum(norm.logcdf(side[2] * r))
        best = minimize(loss, fits["parameters"][2], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13})
        np.testing.assert_allclose(fits["parameters"][2], best.x, atol=1e-4)  # where the objective changes by 1e-9
        assert np.all(np.isfinite(fits["standard_error"][2]))



def test_intervals_of_a_line_whose_sigma_is_fitted(tmp):
    """The likelihood knows nothing of degrees of freedom, the intervals do: they and the profiles are those of the textbook,
    with Student's t and RSS/(n-2), to what the stopping tests leave of a standard error."""
    rng, t, n = np.random.default_rng(5), np.linspace(-1, 1, 10), 10
    values = 3 + 2 * t + rng.normal(0, 0.2, (5, n))
    text = "parameter a = 1\nparameter b = 1\nparameter s = 0.5 scale log\nobserve y = a + b*t sd s\n"
    fits = h.run(write(tmp / "p.h5", text, [(t, v) for v in values], t0=-2.0), "--profile", "a,b")
    x = np.column_stack([np.ones(n), t])
    for d, y in enumerate(values):
        best, squares = np.linalg.lstsq(x, y, rcond=None)[:2]
        half = student.ppf(0.975, n - 2) * np.sqrt(squares / (n - 2) * np.diag(np.linalg.inv(x.T @ x)))
        for kind in ("interval", "profile"):
            np.testing.assert_allclose(fits[f"{kind}_lower"][d, :2], best - half, atol=1e-3 * half.min())
            np.testing.assert_allclose(fits[f"{kind}_upper"][d, :2], best + half, atol=1e-3 * half.min())


def test_least_absolute_deviations_in_three_units(tmp):
    """Limits and standard errors follow the unit of y, and the limits are those of the sum of absolute residuals itself, whose
    minimum over a at a given b is at a median: it may rise by F/2 times what it is per degree of freedom. Rounding the kinks
    adds up to 0.01 of the mean residual for each of two or three measurements, against a rise of 2.7: 2 % of the width is
    twice that."""
    rng, t, n = np.random.default_rng(3), np.linspace(-1, 1, 10), 10
    values = 3 + 2 * t + 0.1 * rng.laplace(size=(6, n))
    found = []
    for unit in (1, 1e-6, 1e6):
        text = f"parameter a = {unit}\nparameter b = {unit}\nobserve y = a + b*t\n"
        data = [(t, unit * v) for v in values]
        fits = h.run(write(tmp / "p.h5", text, data, t0=-2.0), "--error", "laplace", "--profile", "b", "--overwrite")
        assert np.all(fits["status"] == "converged")
        found.append(np.column_stack([fits[name] / unit for name in (
            "parameters", "standard_error", "interval_lower", "interval_upper", "residual_error", "objective")] +
            [fits[f"profile_{side}"][:, 1:] / unit for side in ("lower", "upper")]))
        rows = h.stiffit("export", tmp / "p.result.h5", "--what", "residuals", "--trust").stdout.splitlines()
        place = rows[0].split(",").index("loss")
        loss = np.array([float(row.split(",")[place]) for row in rows[1:]]).reshape(6, n).sum(axis=1)
        np.testing.assert_allclose(loss, fits["objective"], rtol=1e-4)  # the kinks' width is settled to 1e-3
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-4)  # stopping tests leave 1e-9 of the objective, a root's worth

    def least(b, y):
        return np.sum(np.abs(y - b * t - np.median(y - b * t)))
    for y, limits in zip(values, found[0][:, -2:]):
        best = minimize_scalar(least, bracket=(1, 2, 3), args=(y,), tol=1e-12)
        allowed = best.fun * (1 + f_distribution.ppf(0.95, 1, n - 2) / 2 / (n - 2))
        exact = [brentq(lambda b, y=y, allowed=allowed: least(b, y) - allowed, best.x, best.x + side) for side in (-5, 5)]
        np.testing.assert_allclose(limits, exact, atol=0.02 * (exact[1] - exact[0]))



def test_objectives_as_large_as_numbers_are(tmp):
    """Squares of data in units of 1e77 or 1e140 are numbers, products of two of them are not. The fit, its errors and limits
    follow the unit, to what the stopping test leaves (1e-9 of the objective)."""
    t = np.linspace(0.5, 8, 10)
    values = 2 * np.exp(-0.3 * t) * (1 + 0.02 * np.random.default_rng(1).standard_normal(10))
    found = []
    for unit in (1, 1e77, 1e100, 1e140):
        text = f"parameter k = 0.7 scale log\nparameter A = {unit:g} scale log\ny(0) = A\ny' = -k*y\nobserve y\n"
        fits = h.run(write(tmp / "p.h5", text, [(t, unit * values)]), "--overwrite", "--profile", "k")
        assert fits["status"][0] == "converged" and fits["profile_lower_status"][0, 0] == "found", fits["message"]
        found.append(np.concatenate([fits["parameters"][0] / [1, unit], fits["standard_error"][0] / [1, unit],
                                     fits["profile_lower"][0, :1], fits["profile_upper"][0, :1]]))
        np.testing.assert_allclose(found[-1], found[0], rtol=1e-4)


@h.slow
def test_coverage_where_sigma_is_fitted(tmp):
    """10 measurements, 3000 datasets: the binomial error is 0.4 %, and what is not linear may add 1 %."""
    n, t = 3000, np.linspace(0.5, 5, 10)
    values = 2 * np.exp(-0.4 * t) + 0.05 * np.random.default_rng(1).standard_normal((n, 10))
    text = "".join(f"parameter {name} scale log\n" for name in ("k = 0.4", "A = 2", "s = 0.1"))
    fits = h.run(write(tmp / "p.h5", text + "observe y = A*exp(-k*t) sd s\n", [(t, v) for v in values]), "--profile", "k,A")
    for kind in ("interval", "profile"):
        inside = (fits[f"{kind}_lower"][:, :2] <= [0.4, 2]) & (fits[f"{kind}_upper"][:, :2] >= [0.4, 2])
        covered = np.mean(inside, axis=0)
        assert np.all(np.abs(covered - 0.95) < 0.01 + 3 * np.sqrt(0.95 * 0.05 / n)), (kind, covered)


if __name__ == "__main__":
    h.main()
