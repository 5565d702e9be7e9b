"""Models with real data against SciPy (least_squares trf, minimize L-BFGS-B) and R (nls, nlsList): nobody's objective,
evaluated once more by an integrator that is not ours, is more than 1e-6 below ours, and standard errors agree within 1 %; and
optima on bounds.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import functools
import shutil
import subprocess

import numpy as np
from scipy.optimize import least_squares, minimize

import helpers as h
import oracles as o

h.compile_as_users_do()

CLOSE = 1e-6  # relative, of the objective: what is promised
HERE = h.ROOT / "tests/e2e"


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def pinene_residuals(p):
    y = o.simulate(o.pinene_rhs, [100.0, 0, 0, 0, 0], 0.0, o.PINENE_T, p, 1e-11, 1e-12)
    return (y.T - o.PINENE_Y).ravel()


@functools.cache
def hare_lynx_residuals():
    rows = read(h.ROOT / "data/hare-lynx.csv")
    times = np.unique([float(row["time"]) for row in rows])
    value = {(float(row["time"]), row["observable"]): float(row["value"]) for row in rows}
    data = np.array([[value[t, "hare"], value[t, "lynx"]] for t in times])
    return lambda p: (o.lotka_volterra(p, times - times[0], 1e-11) - data).ravel()


@functools.cache
def theophylline_residuals():
    """{subject: its residuals}"""
    dose = {row["dataset"]: float(row["dose"]) for row in read(h.ROOT / "data/theophylline-subjects.csv")}
    subjects = {}
    for row in read(h.ROOT / "data/theophylline-measurements.csv"):
        subjects.setdefault(row["dataset"], []).append((float(row["time"]), float(row["value"])))

    def residuals(name):
        rows = np.array(subjects[name])
        return lambda p: o.theophylline(rows[:, 0], dose[name], *p) - rows[:, 1]
    return {name: residuals(name) for name in subjects}


# What `stiffit import` is told, the parameters, where SciPy begins (each by itself, without our optimum), whether it works on
# logarithms, and the residuals of each dataset.
MODELS = {
    "alpha-pinene": (["alpha-pinene.csv"], ["p1", "p2", "p3", "p4", "p5"], np.full(5, 1e-4), True,
                     lambda: {"alpha-pinene": pinene_residuals}),
    "hare-lynx": (["hare-lynx.csv"], ["alpha", "beta", "gamma", "delta", "H0", "L0"], [0.5, 0.02, 0.8, 0.02, 30, 4], True,
                  lambda: {"hudson-bay": hare_lynx_residuals()}),
    "theophylline": (["theophylline-measurements.csv", "--datasets", h.ROOT / "data/theophylline-subjects.csv"],
                     ["lKe", "lKa", "lCl"], [-2.5, 0.5, -3.0], False, theophylline_residuals),
}


def import_data(model, tmp):
    (table, *args), *_ = MODELS[model]
    h.stiffit("import", h.ROOT / "data" / table, *args, "--model", h.model(model), "-o", tmp / f"{model}.h5")
    return tmp / f"{model}.h5"


def each_fit(tmp):
    """(what it is, residuals, our parameters, standard errors, residual error) of each dataset of each model's default run."""
    for model, (_, names, _, _, residuals) in MODELS.items():
        fits = h.run(import_data(model, tmp))
        assert fits["names"] == names and set(fits["status"]) == {"converged"}, (model, fits["names"], fits["status"])
        assert set(fits["id"]) == set(residuals())
        for i, name in enumerate(fits["id"]):
            yield (model, name), residuals()[name], *(fits[c][i] for c in ("parameters", "standard_error", "residual_error"))


def scipy_trf(residuals, start, is_log, lower=-np.inf, upper=np.inf):
    """Objective, parameters, standard errors with the residual variance, residual standard error."""
    natural = np.exp if is_log else np.asarray
    start, lower, upper = (np.log(x) if is_log and np.all(np.isfinite(x)) else x for x in (start, lower, upper))
    inside = np.clip(start, lower + 1e-6, upper - 1e-6)
    found = least_squares(lambda x: residuals(natural(x)), inside, bounds=(lower, upper), method="trf", xtol=1e-14, ftol=1e-14,
                          gtol=1e-12, jac="3-point", diff_step=1e-4)
    p, n = natural(found.x), found.fun.size
    sigma = np.sqrt(2 * found.cost / (n - len(p)))
    error = sigma * np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac))) * (p if is_log else 1)
    return found.cost, p, error, sigma


def scipy_lbfgsb(residuals, start, is_log, lower=None, upper=None):
    """Objective and parameters."""
    natural = np.exp if is_log else np.asarray
    start = np.log(start) if is_log else np.asarray(start, float)
    bounds = None if lower is None else list(zip(np.log(lower), np.log(upper)))
    found = minimize(lambda x: 0.5 * np.sum(residuals(natural(x)) ** 2), start, method="L-BFGS-B", bounds=bounds,
                     options={"ftol": 1e-14, "gtol": 1e-9, "eps": 1e-6, "maxfun": 5000, "maxiter": 1000})
    return found.fun, natural(found.x)


def no_worse(residuals, ours, best, what=""):
    value = 0.5 * np.sum(residuals(ours) ** 2)
    assert value <= best * (1 + CLOSE), (what, value, best, value / best - 1, ours)


def same_fit(what, ours, theirs):
    """Estimates to a thousandth of their standard errors, where the objective is flat to its square; the errors within what is
    promised; the residual standard error follows from the objective."""
    (p, error, sigma), (their_p, their_error, their_sigma) = ours, theirs
    assert np.all(np.abs(p - their_p) < 2e-3 * their_error), (what, (p - their_p) / their_error)
    np.testing.assert_allclose(error, their_error, rtol=1e-2, err_msg=str(what))
    np.testing.assert_allclose(sigma, their_sigma, rtol=1e-5, err_msg=str(what))


def test_against_scipy_trf(tmp):
    for what, residuals, p, error, sigma in each_fit(tmp):
        _, _, start, is_log, _ = MODELS[what[0]]
        cost, *theirs = scipy_trf(residuals, start, is_log)
        no_worse(residuals, p, cost, what)
        same_fit(what, (p, error, sigma), theirs)


@h.slow
def test_against_scipy_lbfgsb(tmp):
    for what, residuals, p, _, _ in each_fit(tmp):
        _, _, start, is_log, _ = MODELS[what[0]]
        best, _ = scipy_lbfgsb(residuals, start, is_log)
        no_worse(residuals, p, best, what)


def nls_reference(lines):
    """{(model, dataset): {parameter, "(sigma)" or "(deviance)": (estimate, standard error)}}"""
    found = {}
    for row in csv.DictReader(lines):
        found.setdefault((row["model"], row["dataset"]), {})[row["parameter"]] = (float(row["estimate"]), float(
            row["standard_error"].replace("NA", "nan")))
    return found


def test_against_r_nls(tmp):
    """The numbers of nls_reference.csv are R's, made by nls_reference.R."""
    reference = nls_reference((HERE / "nls_reference.csv").read_text().splitlines())
    seen = set()
    for what, residuals, p, error, sigma in each_fit(tmp):
        theirs = reference[what]
        rows = np.array([theirs[name] for name in MODELS[what[0]][1]])
        no_worse(residuals, p, theirs["(deviance)"][0] / 2, what)
        same_fit(what, (p, error, sigma), (rows[:, 0], rows[:, 1], theirs["(sigma)"][0]))
        seen.add(what)
    assert seen == set(reference) and len(seen) == 14


@h.slow
def test_reference_is_what_r_says(_):
    """Where R is installed. nls stops at a relative offset of 1e-7, and where depends on its libraries' rounding."""
    if not shutil.which("Rscript"):
        h.skip("no Rscript (apt-get install r-cran-nlme)")
    done = subprocess.run(["Rscript", HERE / "nls_reference.R"], capture_output=True, text=True, check=False, cwd=h.ROOT)
    if done.returncode != 0 and "nlme" in done.stderr:
        h.skip("R has no nlme (apt-get install r-cran-nlme)")
    assert done.returncode == 0, done.stderr
    now, stored = nls_reference(done.stdout.splitlines()), nls_reference((HERE / "nls_reference.csv").read_text().splitlines())
    assert now.keys() == stored.keys()
    for what, rows in now.items():
        assert rows.keys() == stored[what].keys()
        for name, row in rows.items():
            np.testing.assert_allclose(row, stored[what][name], rtol=5e-5, err_msg=f"{what} {name}")


def test_reference_of_the_data_folder(_):
    """data/theophylline-nlsList.csv is of the same fits, by nlsList's own stopping test (a relative offset of 1e-5)."""
    reference = nls_reference((HERE / "nls_reference.csv").read_text().splitlines())
    rows = read(h.ROOT / "data/theophylline-nlsList.csv")
    assert len(rows) == 12
    for row in rows:
        theirs = reference["theophylline", row["dataset"]]
        for name in ("lKe", "lKa", "lCl"):
            assert abs(float(row[name]) - theirs[name][0]) < 1e-4 * theirs[name][1], row
        np.testing.assert_allclose(float(row["sum_of_squares"]), theirs["(deviance)"][0], rtol=1e-7)


def test_alpha_pinene_as_published(tmp):
    """Box, Hunter, MacGregor & Erjavec 1973: the sum of squares and estimates that others have found, to the digits known."""
    fits = h.run(import_data("alpha-pinene", tmp))
    assert abs(2 * fits["objective"][0] - o.PINENE_SUM_OF_SQUARES) < 5e-5, 2 * fits["objective"][0]
    np.testing.assert_allclose(fits["parameters"][0], o.PINENE_P, rtol=5e-4)


def both_optimizers(problem, tmp):
    """The default run and L-BFGS from either kind of gradient."""
    yield "default", h.run(problem)
    for gradient in ("forward", "adjoint"):
        yield gradient, h.run(problem, "--optimizer", "lbfgs", "--gradient", gradient, "--overwrite", "-o",
                              tmp / f"{gradient}.h5")


def test_both_optimizers_and_gradients(tmp):
    for model, (_, _, _, _, residuals) in MODELS.items():
        reference = nls_reference((HERE / "nls_reference.csv").read_text().splitlines())
        for way, fits in both_optimizers(import_data(model, tmp), tmp):
            assert set(fits["status"]) == {"converged"}, (model, way, fits["status"])
            for name, p in zip(fits["id"], fits["parameters"]):
                no_worse(residuals()[name], p, reference[model, name]["(deviance)"][0] / 2, (model, name, way))


# alpha-pinene's optimum is at 5.9e-5, 3.0e-5, 2.0e-5, 2.7e-4, 4.0e-5: bounds that it lies beyond
BOXES = {"one": {0: (None, 5e-5)}, "two": {1: (4e-5, None), 3: (None, 2e-4)},
         "all": {0: (None, 4e-5), 1: (4e-5, None), 2: (None, 2e-5), 3: (None, 1.5e-4), 4: (None, 2e-5)}}


@h.more
def test_optimum_on_bounds(tmp):
    rows = np.array([[0, t, i, o.PINENE_Y[i, k], np.nan] for k, t in enumerate(o.PINENE_T) for i in range(5)])
    for what, box in BOXES.items():
        lower, upper = np.full(5, 1e-7), np.full(5, 1e-1)
        for j, (low, high) in box.items():
            lower[j], upper[j] = low or lower[j], high or upper[j]
        problem = h.write_problem(tmp / f"{what}.h5", h.model("alpha-pinene"), ["d"], rows, parameters={
            "name": [f"p{j + 1}" for j in range(5)], "observables": [f"y{j + 1}" for j in range(5)],
            "start": np.clip(np.full(5, 1e-4), lower, upper), "lower": lower, "upper": upper, "scale": ["log"] * 5})
        start = np.clip(np.full(5, 1e-4), lower, upper)
        cost, theirs, *_ = scipy_trf(pinene_residuals, start, True, lower, upper)
        best = min(cost, scipy_lbfgsb(pinene_residuals, start, True, lower, upper)[0])
        for way, fits in both_optimizers(problem, tmp):
            assert list(fits["status"]) == ["converged"], (what, way, fits["status"])
            ours = fits["parameters"][0]
            no_worse(pinene_residuals, ours, best, (what, way))
            for j, (low, high) in box.items():
                side, bound = (-1, low) if low else (1, high)
                # SciPy's went through exp(log()) and stops an interior step short of the bound
                assert abs(theirs[j] / bound - 1) < 1e-3, (what, j, theirs)
                assert fits["at_bound"][0][j] == side and ours[j] == bound, (what, way, j, ours, fits["at_bound"])
            assert np.count_nonzero(fits["at_bound"]) == len(box), (what, way, fits["at_bound"], theirs)


if __name__ == "__main__":
    h.main()
