"""Profiles of parameters that all datasets share.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import chi2, f as f_distribution

import helpers as h
from test_profile import CLOSE, STRAIGHT, scipy_limit, straight_branch
from test_shared import EQUATIONS, FORMULA, T, curve, run_file, sample, write
from test_shared_bootstrap import T as WAVE_T, waves

FOUND, BOUND, INFINITE, NO_FIT = 1, 2, 3, 7


def limits(found, j):
    """Of parameter j, which are the same in all rows."""
    for name in ("profile_lower", "profile_upper", "profile_lower_status", "profile_upper_status"):
        assert np.all(found[name][:, j] == found[name][0, j]), (name, found[name])
    return found["profile_lower"][0, j], found["profile_upper"][0, j]


def close(ours, theirs, best):
    assert abs(ours - theirs) < CLOSE * abs(theirs - best), (ours, theirs, best)


def test_own_parameters_follow(tmp):
    """Eighty amplitudes, each of which is a linear parameter, so that the profile of the frequency is a formula."""
    path, model, y = waves(tmp / "p.h5")

    def objective(w):
        s = np.sin(w * WAVE_T)
        return 0.5 * np.sum((np.outer(y @ s / (s @ s), s) - y) ** 2) / 0.02**2
    best = minimize_scalar(objective, bounds=(7.29, 7.31), method="bounded", options={"xatol": 1e-12})
    top = best.fun + 0.5 * chi2.ppf(0.95, 1)
    found = run_file(path, "--model", model, "--share", "w", "--profile", "all", "--keep-profile")
    for ours, far in zip(limits(found, 0), (best.x - 0.01, best.x + 0.01)):
        close(ours, brentq(lambda w: objective(w) - top, best.x, far, xtol=1e-14), best.x)
    assert np.all(found["profile_lower_status"] == [FOUND, 0]) and np.all(np.isnan(found["profile_lower"][:, 1]))
    with h5py.File(h.result_path(path)) as f:
        table = {name: f["profiles"][name][()] for name in f["profiles"]}
    assert np.all(table["dataset"] == 0) and np.all(table["parameter"] == 0)
    # the fits of a profile end where less than 1e-9 of the objective is to be gained
    np.testing.assert_allclose(table["objective"], [objective(w) for w in table["value"]], rtol=3e-9)


def test_scipys_limits(tmp):
    """An integrated model with two shared parameters, sigma known and not, against SciPy's fits of all parameters at once."""
    y = sample(5, seed=11)
    for sigma in (0.05, np.nan):
        path, model = write(tmp / "p.h5", EQUATIONS, y, sigma)
        found = run_file(path, "--model", model, "--share", "ka,b", "--profile", "ka,b", "--rtol", "1e-9", "--overwrite")

        def residuals(x):
            own = np.exp(x[2:].reshape(5, 2))
            return np.concatenate([curve((np.exp(x[0]), *own[d], x[1])) - y[d] for d in range(5)]) / np.nan_to_num(sigma, nan=1)
        best = np.concatenate([[np.log(found["parameters"][0, 0]), found["parameters"][0, 3]],
                               np.log(found["parameters"][:, 1:3]).ravel()])
        for j, column in ((0, 0), (1, 3)):
            for side, ours in zip((-1, 1), limits(found, column)):
                expected = scipy_limit(residuals, best, j, side, np.isfinite(sigma))
                close(np.log(ours) if j == 0 else ours, expected, best[j])


@h.more
def test_like_one_dataset(tmp):
    """If all parameters are shared, the fit is that of one dataset with all measurements, and so is its profile."""
    rng = np.random.default_rng(5)
    y = np.abs(np.tile(curve((1.7, 4.5, 0.16, 0.3)), (6, 1)) * np.exp(0.05 * rng.standard_normal((6, len(T)))))
    cases = {"normal": (FORMULA, 0.2), "unknown": (FORMULA, np.nan), "huber": (FORMULA, 0.2), "student": (FORMULA, 0.1),
             "laplace": (FORMULA, 0.2), "log-normal": (FORMULA, 0.05),
             "prior": (FORMULA.replace("b = 0 in [-10, 10]", "b = 0 in [-10, 10] prior normal(0.3, 0.05)"), 0.2),
             "bound": (FORMULA.replace("b = 0 in [-10, 10]", "b = 0.3 in [0.2, 0.4]"), 0.2)}
    for name, (text, sigma) in cases.items():
        path, model = write(tmp / f"{name}.h5", text, y, sigma)
        one, _ = write(tmp / f"{name}-one.h5", text, y, sigma)
        with h5py.File(one, "a") as f:
            f["measurements/dataset"][...] = 0
            ids = f["datasets/id"][:1]
            del f["datasets/id"]
            f["datasets/id"] = ids
        error = ("--error", name) if name in ("huber", "student", "log-normal", "laplace") else ()
        words = ("--model", model, "--profile", "all", "--rtol", "1e-9", *error)
        expected = run_file(one, *words)
        found = run_file(path, *words, "--share", "all")
        half = 0.5 * (expected["profile_upper"][0] - expected["profile_lower"][0])
        for side in ("lower", "upper"):
            status = found[f"profile_{side}_status"]
            assert np.all(status == expected[f"profile_{side}_status"][0]), (name, side, status[0])
            assert not np.any(status == 5), (name, side, status)
            for j in range(4):
                difference = limits(found, j)[side == "upper"] - expected[f"profile_{side}"][0, j]
                assert abs(difference) < 2 * CLOSE * half[j], (name, side, j, difference / half[j])
        assert name != "bound" or status[0, 3] == BOUND


def test_without_limits_and_without_influence(tmp):
    text = FORMULA.replace("+ b", "") + "parameter unused = 1 in [1e-3, 1e3] scale log\n"
    path, model = write(tmp / "p.h5", text, sample(20), 0.05)
    found = run_file(path, "--model", model, "--share", "ka,unused,b", "--profile", "unused")
    assert np.all(found["profile_lower_status"][:, 4] == BOUND) and np.all(found["profile_upper_status"][:, 4] == BOUND)
    assert limits(found, 4) == (1e-3, 1e3)


def test_exact_limits_of_a_shared_slope(tmp):
    """Three lines with one slope: exact linear regression, with Student's t of n - p, also if sigma is a shared parameter of
    the noise, which p does not count."""
    t = np.arange(6.0)
    y = np.array([[1], [3], [-1]]) + 2 * t + 0.1 * np.random.default_rng(1).standard_normal((3, 6))
    design = np.kron(np.eye(3, 4), np.ones((6, 1)))
    design[:, 3] = np.tile(t, 3)
    best, squares = np.linalg.lstsq(design, y.ravel(), rcond=None)[:2]
    half = np.sqrt(squares[0] / 14 * np.linalg.inv(design.T @ design)[3, 3] * f_distribution.ppf(0.95, 1, 14))
    rows = [(d, x, 0, v, np.nan) for d in range(3) for x, v in zip(t, y[d])]
    for share, noise in (("b", ""), ("b,s", " sd s")):
        s = "parameter s = 0.1 in [1e-4, 10] scale log\n" if noise else ""
        (tmp / "m.ode").write_text(f"parameter a = 1\nparameter b = 1 in [-1e9, 1e9]\n{s}observe y = a + b*t{noise}\n")
        h.write_problem(tmp / "p.h5", tmp / "m.ode", ["d0", "d1", "d2"], rows, t0=-1.0)
        found = h.run(tmp / "p.h5", "--overwrite", "--share", share, "--profile", "b")
        lower, upper = limits(found, 1)
        close(lower, best[3] - half, best[3])
        close(upper, best[3] + half, best[3])
        assert np.all(found["noise_parameters"] == 0)  # none is a dataset's own


def test_far_bound(tmp):
    """At rest for all large k: the bound, some 28 decades away."""
    (tmp / "m.ode").write_text("parameter k = 10 in [1e-3, 1e30] scale log10\nparameter A = 1\n"
                               "observe y = A*(1 - exp(-k*t))\n")
    rows = [(d, x, 0, v, 0.05) for d in range(2) for x, v in ((1, 1.02), (2, 0.97), (5, 1.01))]
    h.write_problem(tmp / "p.h5", tmp / "m.ode", ["d0", "d1"], rows)
    found = h.run(tmp / "p.h5", "--share", "k", "--profile", "k")
    assert list(found["profile_upper_status"][:, 0]) == ["bound"] * 2 and limits(found, 0)[1] == 1e30


def straight(tmp, share):
    """Which has the limits of one dataset: its measurements in two datasets that share all; or twice, with variances twice as
    large and an offset of its own for each, so that the sum is the same."""
    t, y = straight_branch()
    rows = {"all": [(i % 2, t[i], 0, y[i], 0.05) for i in range(8)],
            "a,b": [(d, x, 0, v + d, 0.05 * np.sqrt(2)) for d in (0, 1) for x, v in zip(t, y)]}
    (tmp / "m.ode").write_text(STRAIGHT)
    h.write_problem(tmp / "p.h5", tmp / "m.ode", ["d", "e"], sorted(rows[share]))
    return tmp / "p.h5", tmp / "m.ode"


def test_limits_agree_with_the_other_profiles(tmp):
    for share in ("all", "a,b"):
        path, model = straight(tmp, share)
        found = h.run(path, "--model", model, "--overwrite", "--share", share, "--profile", "all")
        limits(found, 0)
        assert list(found["profile_upper_status"][:, 0]) == ["infinite"] * 2, (share, found["profile_upper_status"])
        assert list(found["profile_upper_status"][:, 1]) == ["found"] * 2, (share, found["profile_upper_status"])


def test_without_a_fit(tmp):
    """Datasets that are left out, the first one here, take no part; nothing is profiled if the fit has failed."""
    y = sample(20)
    y[0] = np.nan
    path, model = write(tmp / "p.h5", EQUATIONS, y, 0.05)
    words = (path, "--model", model, "--share", "ka", "--profile", "all")
    found = run_file(*words, code=1)
    assert found["status"][0] == 8 and np.all(found["profile_lower_status"][:, 0] == NO_FIT)
    found = run_file(*words, "--overwrite", "--leave-out-failed", code=1)
    assert found["profile_lower_status"][0, 0] == NO_FIT and np.all(found["profile_lower_status"][1:, 0] == FOUND)
    rest, _ = write(tmp / "rest.h5", EQUATIONS, y[1:], 0.05)
    expected = run_file(rest, "--model", model, "--share", "ka", "--profile", "ka")
    for name in ("profile_lower", "profile_upper"):
        assert np.array_equal(found[name][1:, 0], expected[name][:, 0]), name


def test_refused(tmp):
    path, model = write(tmp / "p.h5", EQUATIONS, sample(4), 0.05)
    words = (path, "--model", model, "--share", "ka", "--profile")
    said = h.stiffit("run", *words, "ka,A", code=2).stderr
    assert "'A' has more than one value in a fit of many datasets" in said, said


if __name__ == "__main__":
    h.main()
