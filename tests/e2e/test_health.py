"""How a run says that fits are doubtful: converged, but the curve does not describe the data, or bounds hold everything. Judged
by SciPy's chi-square distribution, with the sum of squares computed here from the closed form.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import re

import h5py
import numpy as np
from scipy import stats

import helpers as h

SIGMA = 0.02
T = np.linspace(0.5, 8, 16)


def decays(n=60, seed=3):
    """Curves A exp(-k t) with noise: n x 16."""
    rng = np.random.default_rng(seed)
    k, a = rng.lognormal(-1, 0.3, n), rng.lognormal(0.7, 0.2, n)
    return a[:, None] * np.exp(-k[:, None] * T) + SIGMA * rng.standard_normal((n, len(T)))


def write(path, y, sigma=SIGMA, model=None, **keywords):
    n, m = y.shape
    sigma = np.broadcast_to(sigma, y.shape)
    rows = np.column_stack([np.repeat(np.arange(n), m), np.tile(T, n), np.zeros(n * m), y.ravel(), sigma.ravel()])
    h.write_problem(path, model or h.model("decay"), [f"d{i}" for i in range(n)], rows, **keywords)
    return path


def run(problem, *args, code=0):
    """Result, summary as JSON, and what was said."""
    done = h.stiffit("run", problem, "--trust", "--json", *args, code=code)
    return h.read_fits(h.result_path(problem)), json.loads(done.stdout), done.stderr


def compiled(tmp, name):
    h.stiffit("model", "build", tmp / f"{name}.ode", "-o", tmp / f"{name}.so")
    return tmp / f"{name}.so"


def chi_square(y, fits):
    curve = {"k": fits["parameters"][:, 0], "A": fits["parameters"][:, 1]}
    return np.sum(((y - curve["A"][:, None] * np.exp(-curve["k"][:, None] * T)) / SIGMA) ** 2, axis=1)


def has(fits, bit):
    return fits["notes"] >> bit & 1 == 1


def test_outliers_and_other_units_are_found_named_and_counted(tmp):
    y = decays()
    y[7, 5] += 1        # an outlier of 50 sigmas
    y[21] = y[21] * 100 + 5  # other units, and an offset that the model lacks
    y[40, 3] += 4 * SIGMA    # what noise may do
    fits, said, text = run(write(tmp / "p.h5", y), "--strict", code=1)
    expected = stats.chi2.sf(chi_square(y, fits), len(T) - 2) < 1e-6
    assert set(np.flatnonzero(expected)) == {7, 21}
    assert np.array_equal(has(fits, 25), expected) and np.all(fits["status"] == "converged")
    assert said["doubtful"] == said["notes"]["poor_fit"] == 2 and said["failed"] == 0 and not said["accepted"]
    assert "60 converged (2 doubtful), 0 failed" in text and "warning: the curve does not describe" in text
    assert "2 fits; e.g. d7, d21" in text
    reduced = chi_square(y, fits) / (len(T) - 2)
    # Of up to 1000 fits the quantiles are exact, as in `show`; sigma and rtol 1e-7 are the rest.
    np.testing.assert_allclose([said["goodness"]["reduced_chi_square_" + name] for name in ("median", "q95")],
                               np.quantile(reduced, [0.5, 0.95]), rtol=1e-4)
    assert said["goodness"]["reduced_chi_square_fits"] == 60
    h.stiffit("run", tmp / "p.h5", "--trust", code=0)  # complete, and only --strict minds
    h.stiffit("run", tmp / "p.h5", "--trust", "--strict", code=1)
    h.stiffit("run", tmp / "p.h5", "--trust", "--strict", "--accept-failed", "2", code=0)
    shown = json.loads(h.stiffit("show", h.result_path(tmp / "p.h5"), "--json").stdout)
    assert abs(shown["reduced_chi_square"]["median"] - np.median(reduced)) < 1e-4  # rtol 1e-7 of 2, over sigma
    assert "chi-square/df" in h.stiffit("show", h.result_path(tmp / "p.h5")).stdout


def test_a_wrong_model_is_found(tmp):
    (tmp / "line.ode").write_text("model line\nparameter k = 0.3\nparameter A = 2\ny(0) = A\ny' = -k\nobserve y\n")
    y = decays()
    fits, said, text = run(write(tmp / "p.h5", y, model=compiled(tmp, "line")))
    line = [np.polynomial.polynomial.polyfit(T, row, 1, full=True)[1][0][0] / SIGMA ** 2 for row in y]
    expected = stats.chi2.sf(line, len(T) - 2) < 1e-6
    assert expected.sum() > 50 and np.array_equal(has(fits, 25), expected)
    assert f"({expected.sum()} doubtful)" in text and said["accepted"]


def test_right_fits_are_not_doubted(tmp):
    """Neither without sigmas, nor with an estimated sigma, nor with losses that are meant for outliers."""
    y = decays(200, seed=11)
    fits, said, _ = run(write(tmp / "p.h5", y))
    assert said["doubtful"] == 0 and stats.chi2.sf(chi_square(y, fits), len(T) - 2).min() > 1e-6
    y[:, 4] += 1
    (tmp / "noise.ode").write_text("model noise\nparameter k = 0.3 scale log\nparameter A = 2 scale log\n"
                                   "parameter s = 0.1 scale log\ny(0) = A\ny' = -k*y\nobserve y sd s\n")
    for name, sigma, model, options in (("none", np.nan, None, ()), ("own", np.nan, compiled(tmp, "noise"), ()),
                                        ("huber", SIGMA, None, ("--error", "huber"))):
        fits, said, _ = run(write(tmp / f"{name}.h5", y[:20], sigma, model), *options)
        assert said["doubtful"] == 0 and np.all(fits["status"] == "converged"), name
    fits, said, _ = run(write(tmp / "bad.h5", y[:20]))
    assert said["doubtful"] == 20


NOISES = {"none": ("observe y\n", "parameter k = 0.3 scale log\n"),
          "own": ("observe y sd s\n", "parameter k = 0.3 scale log\nparameter s = 0.1 in [1e-9, 1e9] scale log\n"),
          "proportional": ("observe y sd s*y + r\n", "parameter k = 0.3 scale log\nparameter s = 0.1 in [1e-9, 1e9] scale log\n"
                           "parameter r = 0.1 in [1e-9, 1e9] scale log\n")}


def fit_noise(tmp, kind, y, *options, t=T, unit=1.0):
    """Fits decays with an unknown or fitted sigma, all in this unit: the fits, the summary, and what was said."""
    observe, parameters = NOISES[kind]
    (tmp / "n.ode").write_text(f"model noise\nparameter A = {2 * unit} in [1e-9, 1e9] scale log\n{parameters}"
                               .replace("0.1 in", f"{0.1 * unit} in") + "y(0) = A\ny' = -k*y\n" + observe)
    y = y * unit
    rows = np.column_stack([np.repeat(np.arange(len(y)), len(t)), np.tile(t, len(y)), np.zeros(y.size), y.ravel(),
                            np.full(y.size, np.nan)])
    h.write_problem(tmp / "n.h5", tmp / "n.ode", [f"d{i}" for i in range(len(y))], rows)
    done = h.stiffit("run", tmp / "n.h5", "--json", "--overwrite", *options)
    return h.read_fits(tmp / "n.result.h5"), json.loads(done.stdout), done.stderr


@h.more
def test_noise_ranks_worst_where_sigma_is_unknown_or_fitted(tmp):
    """A well of noise among decays: chi-square is about the same in all of them, R squared is not."""
    y = decays(30)
    y[17] = 1 + np.random.default_rng(5).standard_normal(len(T))
    for kind in NOISES:
        for unit in (1, 1e-7, 1e7):
            fits, said, text = fit_noise(tmp, kind, y, unit=unit)
            assert list(np.flatnonzero(has(fits, 25))) == [17], (kind, np.flatnonzero(has(fits, 25)))
            assert np.argmin(fits["r_squared"]) == 17 and fits["r_squared"][17] < 0.2
            assert np.delete(fits["r_squared"], 17).min() > 0.98
            noise = set(fits["noise_parameters"])  # a bound may hold one of two
            assert noise == {0} if kind == "none" else noise <= {1, 2} if kind == "proportional" else noise == {1}, noise
        assert said["goodness"]["r_squared_fits"] == 30 and said["goodness"]["reduced_chi_square_fits"] == 0, kind
        assert "reduced chi-square" not in text and "(1 doubtful)" in text and "e.g. d17" in text
        assert "worst fit of 30 is d17" in h.stiffit("plot", tmp / "n.result.h5", "-o", tmp / "n.txt", "--overwrite").stderr
        shown = json.loads(h.stiffit("show", tmp / "n.result.h5", "--json").stdout)
        assert shown["reduced_chi_square"]["median"] is None and shown["r_squared"]["median"] > 0.98
        h.stiffit("report", tmp / "n.result.h5", "-o", tmp / "n.html", "--overwrite")
        page = (tmp / "n.html").read_text()
        assert "<td class=id>chi-square/df" not in page and "<td class=id>R squared" in page
        assert "<b>1</b> with a curve that does not describe the data" in page
    assert "sigma is fitted" in h.stiffit("show", tmp / "n.result.h5", "--id", "d3").stdout


def test_residuals_that_keep_their_signs(tmp):
    """Sums of two exponentials: a single one misses them by more than 1 %, however small the noise. Judged by SciPy's binomial
    distribution of the changes of sign. Straight flat data with little noise, and right curves, are not doubted."""
    t = np.linspace(0.1, 12, 40)
    rng = np.random.default_rng(9)
    y = 2 * np.exp(-0.4 * t) + 0.03 * rng.standard_normal((12, 40))
    y[:3] = np.exp(-2.5 * t) + np.exp(-0.1 * t) + 0.01 * rng.standard_normal((3, 40))
    y[3:6] = 1 + 0.02 * rng.standard_normal((3, 40))
    for kind in ("none", "own"):
        fits, said, _ = fit_noise(tmp, kind, y, t=t)
        a, k = (fits["parameters"][:, list(fits["names"]).index(name)] for name in "Ak")
        residual = y - a[:, None] * np.exp(-k[:, None] * t)
        changes = np.sum(np.diff(np.sign(residual), axis=1) != 0, axis=1)
        expected = stats.binom.cdf(changes, 39, 0.5) < 1e-6
        assert list(np.flatnonzero(expected)) == [0, 1, 2], changes
        assert np.array_equal(has(fits, 25), expected) and said["doubtful"] == 3


def test_right_curves_with_fitted_sigma_are_not_doubted(tmp):
    """2 x 300 wells: noise from a thousandth to a quarter of the values, few and many measurements."""
    rng = np.random.default_rng(31)
    for n_time, kind in ((5, "none"), (40, "own")):
        t = np.linspace(0.2, 6, n_time)
        y = rng.lognormal(0.7, 0.2, (300, 1)) * np.exp(-rng.lognormal(-1, 0.3, (300, 1)) * t)
        y += np.repeat(np.geomspace(1e-3, 0.25, 300)[:, None], n_time, axis=1) * rng.standard_normal(y.shape)
        fits, said, _ = fit_noise(tmp, kind, y, "--accept-failed", "5%", t=t)
        # A curve of 5 points with noise of a quarter may be no better than a constant: about 1 of these 75 wells.
        assert said["doubtful"] <= (4 if n_time == 5 else 0), np.flatnonzero(has(fits, 25))


def test_bounds_that_hold_everything(tmp):
    y = decays(20)
    y[4] *= 1000  # beyond A's bound, and k's bound then is the best for the rest
    parameters = {"lower": [0.35, 1e-3], "upper": [0.36, 20.0]}
    fits, said, text = run(write(tmp / "p.h5", y, parameters=parameters), "--strict", code=1)
    held = np.all(fits["at_bound"] != 0, axis=1)
    assert held[4] and np.array_equal(has(fits, 26), held) and said["notes"]["all_at_bounds"] == held.sum()
    assert said["at_bound"] == np.any(fits["at_bound"] != 0, axis=1).sum()
    assert f"parameters at a bound in {said['at_bound']} fits" in text and "all free parameters are at their bounds" in text


def test_missing_sigmas_are_counted_and_loud_where_others_have_one(tmp):
    y = decays(10)
    sigma = np.full(y.shape, SIGMA)
    sigma[3], sigma[6, :5] = np.nan, np.nan
    fits, said, text = run(write(tmp / "some.h5", y, sigma))
    assert list(fits["without_sigma"]) == [0, 0, 0, 16, 0, 0, 5, 0, 0, 0] and said["without_sigma"] == 21
    assert said["notes"]["mixed_sigma"] == 1 and has(fits, 27)[6]
    assert "warning: measurements without sigma have equal weights" in text and "(2 fits, 21 measurements; e.g. d3, d6)" in text
    _, said, text = run(write(tmp / "none.h5", y, np.nan))
    assert "note: measurements without sigma have equal weights" in text and "warning" not in text
    assert said["without_sigma"] == 160
    r_squared = h.read_fits(tmp / "none.result.h5")["r_squared"]
    assert said["goodness"]["r_squared_fits"] == 10
    assert f", smallest {min(r_squared):.4g} (10 fits)" in text, text
    few, said, text = run(write(tmp / "one.h5", y[:1], sigma[:1]))
    reduced = chi_square(y[:1], few)[0] / (len(T) - 2)
    assert f"reduced chi-square {reduced:.2g}\n" in text
    # one number, not that of its bin: the difference is the integration's error
    assert np.isclose(said["goodness"]["reduced_chi_square_median"], reduced, rtol=1e-6)


def test_facts_are_the_same_in_all_forms(tmp):
    """One list of facts: the summary of a run, `show` and the report say the same, as text, JSON and HTML."""
    y = decays(7)
    y[3, 2:] = np.nan  # too few measurements for a fit of two parameters with errors
    fits, said, text = run(write(tmp / "p.h5", y))
    facts = {"fits": 7, "evaluations": fits["evaluations"].sum(), "evaluations_median": np.median(fits["evaluations"]),
             "steps": fits["steps"].sum(), "failed": np.sum(fits["status"] != "converged")}
    result = h.result_path(tmp / "p.h5")
    shown = json.loads(h.stiffit("show", result, "--json").stdout)
    h.stiffit("report", result, "-o", tmp / "p.html", "--trust")
    page = (tmp / "p.html").read_text(encoding="utf-8")
    rows = dict(re.findall(r"<tr><td>([^<]*)</td><td class=n>([^<]*)</td>", page[page.index("In numbers"):]))
    line = f"{facts['evaluations']} evaluations, {facts['evaluations_median']:.3g} evaluations in the median fit, "
    for name, words in (("fits", "fits"), ("evaluations", "evaluations"), ("steps", "integrator steps"),
                        ("failed", "failed fits"), ("evaluations_median", "evaluations in the median fit")):
        assert said[name] == shown[name] == facts[name] == float(rows[words]), name
    assert line in text and line in h.stiffit("show", result).stdout
    assert {"doubtful", "at_bound", "without_sigma", "seconds"} <= said.keys() & shown.keys()


def test_no_signal_is_no_reason_for_other_starts(tmp):
    """A dose of 0, and a parameter that the model does not use."""
    (tmp / "dose.ode").write_text("model dose\nparameter k = 0.3 scale log\nparameter V = 2 scale log\nparameter q = 1\n"
                                  "covariate D\ny(0) = D\ny' = -k*y\nobserve c = y/V\n")
    rng = np.random.default_rng(1)
    y = np.array([d / 2 * np.exp(-0.3 * T) for d in (0, 5)]) + SIGMA * rng.standard_normal((2, len(T)))
    fits, _, text = run(write(tmp / "p.h5", y, model=compiled(tmp, "dose"), covariates={"D": [0, 5]}))
    assert list(has(fits, 29)) == [True, False] and list(has(fits, 10)) == [False, True]
    assert "the data hold no signal (a dose of 0?)" in text and "(1 fit; e.g. d0)" in text


def test_the_same_after_a_merge(tmp):
    y = decays(12)
    y[7, 5] += 1
    problem = write(tmp / "p.h5", y)
    for k in (1, 2):
        h.stiffit("run", problem, "--trust", "--shard", f"{k}/2")
    whole = h.stiffit("merge", problem, "--strict", "--json", code=1)
    assert json.loads(whole.stdout)["doubtful"] == 1 and "e.g. d7" in whole.stderr
    with h5py.File(h.result_path(problem)) as file:
        assert file["fits/without_sigma"][:].sum() == 0


if __name__ == "__main__":
    h.main()
