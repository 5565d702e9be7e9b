"""One fit over many datasets with shared parameters, against SciPy on the stacked problem.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import shutil
import subprocess

import h5py
import numpy as np
from scipy import stats
from scipy.optimize import least_squares

import helpers as h

T = np.array([0.25, 0.5, 1, 2, 4, 6, 9, 12.0])
# The same two-exponential curve as formula and as equations: ka absorption (shared), A amount and k elimination (own).
FORMULA = """parameter ka = 1 in [1e-3, 1e3] scale log
parameter A = 5 in [1e-3, 1e4] scale log
parameter k = 0.2 in [1e-4, 10] scale log
parameter b = 0 in [-10, 10]
observe y = A*ka/(ka - k)*(exp(-k*t) - exp(-ka*t)) + b
"""
EQUATIONS = """parameter ka = 1 in [1e-3, 1e3] scale log
parameter A = 5 in [1e-3, 1e4] scale log
parameter k = 0.2 in [1e-4, 10] scale log
parameter b = 0 in [-10, 10]
G(0) = A
G' = -ka*G
C(0) = 0
C' = ka*G - k*C
observe y = C + b
"""
NAMES = ["ka", "A", "k", "b"]
IS_LOG = np.array([True, True, True, False])
EXACT = ("--rtol", "1e-11", "--atol", "1e-14", "--ftol", "1e-15", "--gtol", "1e-12")


def curve(p):
    ka, a, k, b = p
    return a * ka / (ka - k) * (np.exp(-k * T) - np.exp(-ka * T)) + b


def sample(n, seed=1, sigma=0.05):
    rng = np.random.default_rng(seed)
    true = np.column_stack([np.full(n, 1.7), np.exp(rng.normal(1.5, 0.3, n)), np.exp(rng.normal(-1.8, 0.3, n)),
                            rng.normal(0.3, 0.1, n)])
    return np.array([curve(p) for p in true]) + sigma * rng.standard_normal((n, len(T)))


def write(path, text, y, sigma=np.nan, **parameters):
    model = path.with_suffix(".ode")
    model.write_text(text)
    n = len(y)
    rows = [(d, T[i], 0, y[d, i], sigma) for d in range(n) for i in range(len(T))]
    h.write_problem(path, None, [f"d{d}" for d in range(n)], rows)
    with h5py.File(path, "a") as f:
        if parameters:
            group = f.create_group("parameters")
            for name, value in parameters.items():
                group.create_dataset(name, data=value, **({"dtype": h5py.string_dtype()} if name in ("name", "scale", "level")
                                                          else {}))
    return path, model


def run(path, model, *words, code=0):
    return run_file(path, "--model", model, *words, code=code)


def run_file(path, *words, code=(0, 1), env=None):
    done = h.stiffit("run", path, *words, code=code, env=env)
    return read(path) | {"stderr": done.stderr}


def read(path):
    with h5py.File(h.result_path(path)) as f:
        return {name: data[()] for name, data in f["fits"].items()} | {f"shared/{name}": data[()]
                                                                       for name, data in f.get("shared", {}).items()}


def stacked(y, shared, lower, upper, weight=1.0, start=(1, 5, 0.2, 0), fixed=(), full=False):
    """The optimum, its covariance on the optimiser's scale (sigma estimated if weight is 1), and the objective. The vector: own
    parameters of the first dataset, of the second ..., shared ones."""
    n = len(y)
    own = [j for j in range(4) if j not in shared and j not in fixed]
    common = [j for j in shared if j not in fixed]

    def to(j, value):
        return np.log(value) if IS_LOG[j] else value

    def natural(x):
        p = np.tile(np.asarray(start, float), (n, 1))
        theta = x[:n * len(own)].reshape(n, len(own))
        for c, j in enumerate(own):
            p[:, j] = np.exp(theta[:, c]) if IS_LOG[j] else theta[:, c]
        for c, j in enumerate(common):
            p[:, j] = np.exp(x[n * len(own) + c]) if IS_LOG[j] else x[n * len(own) + c]
        return p

    def residual(x):
        return np.concatenate([(curve(p) - data) * weight for p, data in zip(natural(x), y)])

    def jacobian(x):
        """Complex steps."""
        out = np.zeros((y.size, len(x)))
        for c in range(len(x)):
            z = x.astype(complex)
            z[c] += 1e-30j
            q = np.tile(np.asarray(start, complex), (n, 1))
            theta = z[:n * len(own)].reshape(n, len(own))
            for e, j in enumerate(own):
                q[:, j] = np.exp(theta[:, e]) if IS_LOG[j] else theta[:, e]
            for e, j in enumerate(common):
                q[:, j] = np.exp(z[n * len(own) + e]) if IS_LOG[j] else z[n * len(own) + e]
            out[:, c] = np.concatenate([curve(p) * weight for p in q]).imag / 1e-30
        return out

    order = [(j, d) for d in range(n) for j in own] + [(j, None) for j in common]
    low = np.array([to(j, lower[j]) for j, _ in order])
    high = np.array([to(j, upper[j]) for j, _ in order])
    x0 = np.clip([to(j, start[j]) for j, _ in order], low + 1e-9, high - 1e-9)
    found = least_squares(residual, x0, jacobian, bounds=(low, high), xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=2000)
    x = found.x
    free = ~((x - low < 1e-6) | (high - x < 1e-6))
    x = np.where(x - low < 1e-6, low, np.where(high - x < 1e-6, high, x))
    for _ in range(8):  # Gauss and Newton in the face of the box
        a, r = jacobian(x)[:, free], residual(x)
        x[free] -= np.linalg.lstsq(a, r, rcond=None)[0]
    a, r = jacobian(x)[:, free], residual(x)
    covariance = np.linalg.inv(a.T @ a)
    if np.ndim(weight) == 0 and weight == 1:
        covariance *= np.sum(r ** 2) / (len(r) - free.sum())
    error = np.full(len(x), np.nan)
    error[free] = np.sqrt(np.diag(covariance))
    p, chain = natural(x), np.full((n, 4), np.nan)
    for c, (j, d) in enumerate(order):
        rows = slice(None) if d is None else d
        chain[rows, j] = error[c] * (p[rows, j] if IS_LOG[j] else 1)
    if full:
        place = np.full((n, 4), -1)
        for c, (j, d) in enumerate(order):
            place[slice(None) if d is None else d, j] = c
        whole = np.full((len(x), len(x)), np.nan)
        whole[np.ix_(free, free)] = covariance
        scale = np.where(IS_LOG, p, 1)
        return np.array([whole[np.ix_(place[d], place[d])] * np.outer(scale[d], scale[d]) for d in range(n)])
    return p, chain, 0.5 * np.sum(r ** 2)


def compare(found, p, errors, objective, tolerance=1e-8):
    # of SciPy's Newton steps, and what a decrease of 1e-15 leaves
    np.testing.assert_allclose(found["parameters"], p, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found["standard_error"], errors, rtol=1e-4)
    if "covariance" in found and found["covariance"].shape[1] == p.shape[1] ** 2:
        np.testing.assert_allclose(found["covariance"][:, ::p.shape[1] + 1], found["standard_error"] ** 2, rtol=1e-9)
    np.testing.assert_allclose(found["objective"].sum(), objective, rtol=1e-9)


LOWER, UPPER = [1e-3, 1e-3, 1e-4, -10], [1e3, 1e4, 10, 10]


@h.both
def test_scipy(tmp):
    """Closed form, 10 and 50 datasets, one and two shared parameters, sigma unknown and known."""
    for n, shared, sigma in h.portion(((10, [0], np.nan), (50, [0], 0.05), (20, [0, 3], np.nan)), 1):
        y = sample(n, seed=n)
        path, model = write(tmp / f"p{n}.h5", FORMULA, y, sigma)
        found = run(path, model, "--share", ",".join(NAMES[j] for j in shared), *EXACT)
        assert np.all(found["status"] == 1), found["stderr"]
        weight = 1 if np.isnan(sigma) else 1 / sigma
        compare(found, *stacked(y, shared, LOWER, UPPER, weight))
        covariance = stacked(y, shared, LOWER, UPPER, weight, full=True)  # without that of different datasets' own
        size = np.sqrt(np.einsum("di,dj->dij", found["standard_error"] ** 2, found["standard_error"] ** 2))
        assert np.max(np.abs(found["covariance"].reshape(n, 4, 4) - covariance) / size) < 1e-4
        assert [name.decode() for name in found["shared/name"]] == [NAMES[j] for j in shared]
        np.testing.assert_array_equal(found["shared/value"], found["parameters"][0][shared])
        np.testing.assert_array_equal(found["shared/standard_error"], found["standard_error"][0][shared])
        np.testing.assert_array_equal(found["parameters"][:, shared], np.tile(found["parameters"][0][shared], (n, 1)))
        freedom = y.size - n * (4 - len(shared)) - len(shared)
        assert np.all(found["degrees_of_freedom"] == freedom)
        quantile = stats.norm.ppf(0.975) if sigma == sigma else stats.t.ppf(0.975, freedom)
        low = found["parameters"][0, 0] * np.exp(-quantile * found["standard_error"][0, 0] / found["parameters"][0, 0])
        np.testing.assert_allclose(found["interval_lower"][0, 0], low, rtol=1e-10)


def test_integrated(tmp):
    """The same curve by integration, with the level from the file."""
    y = sample(12, seed=3)
    path, model = write(tmp / "p.h5", EQUATIONS, y, name=NAMES, level=["shared", "dataset", "dataset", "dataset"])
    found = run(path, model, *EXACT)
    assert np.all(found["status"] == 1), found["stderr"]
    compare(found, *stacked(y, [0], LOWER, UPPER), tolerance=1e-7)  # the integrator's errors


def test_bounds(tmp):
    """Bounds that hold own parameters of some datasets, and the shared one."""
    y = sample(15, seed=4)
    low = [1e-3, 1e-3, 1e-4, 0.3]
    for k, upper in enumerate(([1e3, 1e4, 0.25, 10], [1.2, 1e4, 0.35, 10])):
        start = [1, 5, 0.15, 0.4]
        path, model = write(tmp / f"b{k}.h5", FORMULA, y, name=NAMES, start=start, lower=low, upper=upper,
                            level=["shared"] + 3 * ["dataset"])
        found = run(path, model, *EXACT)
        assert np.all(found["status"] == 1), found["stderr"]
        p, errors, objective = stacked(y, [0], low, upper, start=start)
        held = np.isnan(errors)
        np.testing.assert_array_equal(found["at_bound"] != 0, held)
        assert held[:, 2].any() and not held[:, 2:].all() and held[:, 0].all() == (k == 1), held
        compare(found, p, errors, objective)


def test_goodness(tmp):
    """Chi-square of each dataset over its share of the degrees of freedom; one curve does not describe its data."""
    n, sigma = 30, 0.05
    y = sample(n, seed=6, sigma=sigma)
    y[11, 4] += 30 * sigma
    path, model = write(tmp / "p.h5", FORMULA, y, sigma)
    found = run(path, model, "--share", "ka", *EXACT)
    p, _, _ = stacked(y, [0], LOWER, UPPER, 1 / sigma)
    chi_square = np.sum(((np.array([curve(q) for q in p]) - y) / sigma) ** 2, axis=1)
    freedom = y.size - 3 * n - 1
    np.testing.assert_allclose(found["reduced_chi_square"], chi_square / (freedom / n), rtol=1e-6)  # as p to 1e-8
    poor = stats.chi2.sf(chi_square, len(T)) < 1e-6
    assert list(np.flatnonzero(poor)) == [11]
    np.testing.assert_array_equal(found["notes"] >> 25 & 1, poor)
    done = h.stiffit("run", path, "--model", model, "--share", "ka", *EXACT, "--strict", "--json", code=1)
    said = json.loads(done.stdout)
    assert said["doubtful"] == 1
    assert abs(said["goodness"]["reduced_chi_square_median"] / np.median(found["reduced_chi_square"]) - 1) < 0.08  # a bin


def test_criteria(tmp):
    """Do the data bear one value for all? A likelihood-ratio test, the sums of all datasets. The fit is one: its criteria have
    the penalties of all its parameters and measurements, and compare counts those of independent fits likewise."""
    n = 20
    y = sample(n)
    for offset in (0, 1):  # the second time ka is not the same for all
        y[::2] += offset * (curve((2.2, 5, 0.2, 0)) - curve((1.7, 5, 0.2, 0)))
        path, model = write(tmp / "a.h5", FORMULA, y, 0.05)
        own, shared = tmp / "own.h5", tmp / "shared.h5"
        for out, words in ((own, ()), (shared, ("--share", "ka"))):
            h.stiffit("run", path, "--model", model, *words, "--overwrite", "-o", out)
        likelihood = [[stats.norm.logpdf(y[i], curve(p), 0.05).sum() for i, p in enumerate(h.read_fits(file)["parameters"])]
                      for file in (own, shared)]
        total = np.sum(likelihood, axis=1)
        found = h.read_fits(shared)
        np.testing.assert_allclose(found["log_likelihood"], likelihood[1], rtol=1e-6)
        k, m = np.array([4 * n, 1 + 3 * n]), y.size
        aic, bic = 2 * k - 2 * total, k * np.log(m) - 2 * total
        aicc = aic + 2 * k * (k + 1) / (m - k - 1)
        for name, right in (("aic", aic), ("aicc", aicc), ("bic", bic)):
            assert np.isclose(found[name].sum(), right[1], rtol=1e-6), name
        said = json.loads(h.stiffit("compare", own, shared, "--json").stdout)
        (test,) = said["likelihood_ratio"]
        assert (test["small"], test["large"], test["degrees_of_freedom"]) == (2, 1, n - 1) and said["compared"] == n
        for r, result in enumerate(said["results"]):
            assert np.allclose([result[name] for name in ("parameters", "aic", "aicc", "bic")], [k[r], aic[r], aicc[r], bic[r]],
                               rtol=1e-6), result
        p = stats.chi2.sf(2 * (total[0] - total[1]), n - 1)
        assert np.isclose(test["p"], p, rtol=1e-3) and (p < 1e-3) == bool(offset), (test, p)


def test_all_shared(tmp):
    """All parameters shared: the fit of all data at once."""
    y = np.tile(sample(1, seed=6), (6, 1)) + 0.05 * np.random.default_rng(7).standard_normal((6, len(T)))
    path, model = write(tmp / "p.h5", FORMULA, y)
    found = run(path, model, "--share", "all", *EXACT)
    compare(found, *stacked(y, [0, 1, 2, 3], LOWER, UPPER))


NIST = {"Misra1a": "b1*(1 - exp(-b2*t))", "Gauss1": "b1*exp(-b2*t) + b3*exp(-(t - b4)^2/b5^2) + b6*exp(-(t - b7)^2/b8^2)",
        "MGH17": "b1 + b2*exp(-t*b4) + b3*exp(-t*b5)", "Kirby2": "(b1 + b2*t + b3*t^2)/(1 + b4*t + b5*t^2)",
        "Thurber": "(b1 + b2*t + b3*t^2 + b4*t^3)/(1 + b5*t + b6*t^2 + b7*t^3)", "MGH09": "b1*(t^2 + t*b2)/(t^2 + t*b3 + b4)",
        "Rat43": "b1/(1 + exp(b2 - b3*t))^(1/b4)"}


def read_nist(name):
    """Starts, certified values and errors, and the data (y, x)."""
    lines = (h.ROOT / "data" / "nist" / f"{name}.dat").read_text().splitlines()
    table = [line.split("=")[1].split() for line in lines[:60] if line.strip().startswith("b") and "=" in line]
    data = [list(map(float, line.split())) for line in lines[60:] if line.strip()]
    return np.array(table, float).T, np.array(data)


def test_nist(tmp):
    """Problems split over four datasets with all parameters shared: certified values, from both starts."""
    for name, formula in NIST.items():
        (start1, start2, value, error), data = read_nist(name)
        names = [f"b{j + 1}" for j in range(len(value))]
        model = tmp / f"{name}.ode"
        model.write_text("".join(f"parameter {b} = 1\n" for b in names) + f"observe y = {formula}\n")
        rows = sorted([(i % 4, x, 0, y, np.nan) for i, (y, x) in enumerate(data)], key=lambda row: row[0])
        for start in (start1, start2):
            path = tmp / f"{name}.h5"
            h.write_problem(path, None, list("abcd"), rows, parameters={"name": names, "start": start}, t0=-10.0)
            found = run(path, model, "--share", "all", "--overwrite", *EXACT)
            np.testing.assert_allclose(found["shared/value"], value, rtol=1e-7)
            np.testing.assert_allclose(found["shared/standard_error"], error, rtol=1e-5)


THEOPHYLLINE = """
T <- as.data.frame(Theoph); T$s <- as.integer(factor(T$Subject, levels = 1:12))
f <- nls(conc ~ Dose*exp(lKe[s] + lKa - lCl[s])*(exp(-exp(lKe[s])*Time) - exp(-exp(lKa)*Time))/(exp(lKa) - exp(lKe[s])), T,
         start = list(lKe = rep(-2.5, 12), lCl = rep(-3.2, 12), lKa = 0.5), algorithm = "port", nls.control(maxiter = 500))
write.table(summary(f)$coefficients[, 1:2], col.names = FALSE, row.names = FALSE)
cat(deviance(f), "\\n")
"""


def test_theophylline(tmp):
    """A shared absorption rate, against R's nls with parameters indexed by subject."""
    if not shutil.which("Rscript"):
        h.skip("no Rscript")
    found = subprocess.run(["Rscript", "-e", THEOPHYLLINE], capture_output=True, text=True, check=True,
                           timeout=120).stdout.split()
    squares = float(found[-1])
    numbers = np.array(found[:-1], float).reshape(25, 2)
    data = np.genfromtxt(h.ROOT / "data" / "theophylline.csv", delimiter=",", names=True)
    subjects = list(range(1, 13))
    rows = [(s - 1, row["Time"], 0, row["conc"], np.nan) for s in subjects for row in data[data["Subject"] == s]]
    path = tmp / "p.h5"
    h.write_problem(path, None, subjects, rows, covariates={"dose": [data["Dose"][data["Subject"] == s][0] for s in subjects]})
    found = run(path, h.ROOT / "models" / "theophylline" / "theophylline.ode", "--share", "lKa", *EXACT)
    assert np.all(found["status"] == 1), found["stderr"]
    for k, rows in ((0, slice(0, 12)), (2, slice(12, 24)), (1, slice(24, 25))):
        n = 1 if k == 1 else 12
        # R's port stops at 1e-7 of the sum of squares or so, and prints seven digits
        np.testing.assert_allclose(found["parameters"][:n, k], numbers[rows, 0], rtol=2e-5)
        np.testing.assert_allclose(found["standard_error"][:n, k], numbers[rows, 1], rtol=1e-4)
    np.testing.assert_allclose(2 * found["objective"].sum(), squares, rtol=1e-6)


def test_without_influence(tmp):
    """A shared and an own parameter that nothing depends on; own parameters all without influence; products that the data do
    not tell apart."""
    y = sample(6, seed=8)
    formula = FORMULA.replace("observe y = ", "parameter z = 2\nparameter u = 1\nobserve y = 0*z + 0*u + ")
    path, model = write(tmp / "a.h5", formula, y)
    found = run(path, model, "--share", "ka,z", *EXACT)
    p, errors, objective = stacked(y, [0], LOWER, UPPER)
    assert np.all(found["error_missing"][:, 4:] == 3) and np.all(found["parameters"][:, 4:] == [2, 1])
    found["parameters"], found["standard_error"] = found["parameters"][:, :4], found["standard_error"][:, :4]
    freedom = y.size - 6 * 3 - 1  # the two, and one in each dataset, take degrees of freedom as well
    compare(found, p, errors * np.sqrt(freedom / (freedom - 7)), objective)

    path, model = write(tmp / "b.h5", FORMULA[:FORMULA.index("observe")] + "observe y = ka*exp(-0.2*t) + 0*(A + k + b)\n", y)
    found = run(path, model, "--share", "ka", *EXACT)
    e = np.exp(-0.2 * T)
    best = np.sum(y * e) / (len(y) * np.sum(e ** 2))
    np.testing.assert_allclose(found["shared/value"], best, rtol=1e-7)  # what a promise of 1e-15 of this objective leaves
    rss = np.sum((y - best * e) ** 2)
    # the own parameters take degrees of freedom, although they have no influence
    np.testing.assert_allclose(found["shared/standard_error"],
                               np.sqrt(rss / (y.size - 3 * len(y) - 1) / (len(y) * np.sum(e ** 2))), rtol=1e-6)
    assert np.all(found["error_missing"][:, 1:] == 3)

    formula = FORMULA[:FORMULA.index("observe")] + "observe y = A*ka/(1.7 - k)*(exp(-k*t) - exp(-1.7*t)) + b\n"
    path, model = write(tmp / "c.h5", formula, y)
    found = run(path, model, "--share", "ka", *EXACT)
    assert np.all(found["error_missing"][:, :2] == 3) and np.all(found["error_missing"][:, 2:] == 0), found["error_missing"]


@h.more
def test_large_dataset(tmp):
    """One dataset with very many measurements among small ones: SciPy finds nothing lower from there."""
    m = 20000
    y = sample(5, seed=17)
    true = (1.7, 4.5, 0.16, 0.3)
    large = np.tile(curve(true), m) + 0.05 * np.random.default_rng(18).standard_normal(m * len(T))
    rows = [(d, T[i], 0, y[d, i], 0.05) for d in range(3) for i in range(len(T))]
    rows += [(3, t, 0, value, 0.05) for t, value in zip(np.tile(T, m), large)]
    rows += [(d, T[i], 0, y[d - 1, i], 0.05) for d in (4, 5) for i in range(len(T))]
    path, model = tmp / "p.h5", tmp / "p.ode"
    model.write_text(FORMULA)
    h.write_problem(path, None, list("abcdef"), np.array(rows))
    found = run(path, model, "--share", "ka", *EXACT)
    assert np.all(found["status"] == 1), found["stderr"]

    def residual(x):
        p = np.column_stack([np.full(6, x[-1]), x[:18].reshape(6, 3)])
        curves = [curve(q) for q in p]
        small = [curves[d] - y[d - (d > 3)] for d in (0, 1, 2, 4, 5)]
        return np.concatenate(small + [np.tile(curves[3], m) - large]) / 0.05

    x = np.append(found["parameters"][:, 1:].ravel(), found["parameters"][0, 0])
    f = 0.5 * np.sum(residual(x) ** 2)
    np.testing.assert_allclose(found["objective"].sum(), f, rtol=1e-9)
    assert least_squares(residual, x, xtol=1e-15, ftol=1e-15, gtol=1e-15, x_scale="jac").cost > f - 1e-7
    assert 0 < found["shared/standard_error"][0] < 0.002  # some 0.05 / sqrt(m)


def test_fixed(tmp):
    """Shared, own or all parameters fixed."""
    y = sample(6, seed=9)
    for fixed in ([1, 0, 0, 0], [0, 1, 1, 1], [1, 1, 1, 1]):
        path, model = write(tmp / f"{fixed[0]}{fixed[1]}.h5", FORMULA, y, name=NAMES, fixed=fixed,
                            level=["shared"] + 3 * ["dataset"])
        found = run(path, model, *EXACT)
        assert np.all(found["status"] == 1)
        if all(fixed):
            np.testing.assert_array_equal(found["parameters"], np.tile([1, 5, 0.2, 0], (6, 1)))
            continue
        compare(found, *stacked(y, [0], LOWER, UPPER, fixed=[j for j in range(4) if fixed[j]]))


def test_prior(tmp):
    """The prior of a shared parameter counts once: a row more of the stacked problem."""
    y = sample(6, seed=14)
    path, model = write(tmp / "p.h5", FORMULA.replace("scale log", "scale log prior normal(1.5, 0.02)", 1), y, 0.05)
    found = run(path, model, "--share", "ka", *EXACT)

    def residual(x):
        p = np.column_stack([np.full(6, x[-1]), x[:18].reshape(6, 3)])
        return np.append(np.concatenate([(curve(q) - data) / 0.05 for q, data in zip(p, y)]), (x[-1] - 1.5) / 0.02)

    x0 = np.append(found["parameters"][:, 1:].ravel(), found["parameters"][0, 0])
    best = least_squares(residual, x0 * 1.01, xtol=1e-15, ftol=1e-15, gtol=1e-15, x_scale="jac").x
    np.testing.assert_allclose(x0, best, rtol=1e-5)  # SciPy's by difference quotients
    assert abs(x0[-1] - 1.5) < 0.1


def test_budget(tmp):
    """A budget that is used up: the best point is kept, with the errors that one more evaluation gives."""
    path, model = write(tmp / "p.h5", EQUATIONS, sample(5, seed=15))
    found = run(path, model, "--share", "ka", "--max-evaluations", 3, code=1)
    assert np.all(found["status"] == 3) and np.all(found["evaluations"] <= 4), found["status"]
    y = sample(5, seed=15)
    for p, objective, data in zip(found["parameters"], found["objective"], y):
        np.testing.assert_allclose(np.sum((curve(p) - data) ** 2) / 2, objective, rtol=1e-4)
    assert np.all(found["standard_error"] > 0) and found["objective"].sum() < np.sum((curve((1, 5, 0.2, 0)) - y) ** 2) / 2


def test_refused(tmp):
    """What cannot be combined yet, and names and levels that there are not."""
    path, model = write(tmp / "a.h5", FORMULA, sample(2))
    for words in (("--only", "d1"), ("--shard", "1/2"), ("--gradient", "adjoint")):
        done = h.stiffit("run", path, "--model", model, "--share", "ka", *words, code=2)
        assert words[0] in done.stderr, done.stderr
    assert "no parameter is shared" in h.stiffit("run", path, "--model", model, "--leave-out-failed", code=2).stderr
    assert "Did you mean 'ka'" in h.stiffit("run", path, "--model", model, "--share", "kx", code=2).stderr
    path, model = write(tmp / "b.h5", FORMULA, sample(2), name=NAMES, level=["all", "dataset", "dataset", "dataset"])
    assert "/parameters/level row 0" in h.stiffit("run", path, "--model", model, code=3).stderr
    path, model = write(tmp / "c.h5", FORMULA, sample(2), name=NAMES, level=["shared"])
    assert "/parameters/level: has 1 entries for 4" in h.stiffit("run", path, "--model", model, code=3).stderr


def words(attribute):
    return attribute.decode() if isinstance(attribute, bytes) else attribute


def test_identity(tmp):
    """A level is part of a run's identity; "dataset" is what files without levels mean."""
    y = sample(4)
    path, model = write(tmp / "a.h5", FORMULA, y, name=NAMES)
    h.stiffit("run", path, "--model", model)
    with h5py.File(h.result_path(path)) as f:
        assert "shared" not in f and "share=" not in words(f["provenance"].attrs["options"])
    assert "complete" in h.stiffit("run", path, "--model", model).stderr
    h.stiffit("run", path, "--model", model, "--share", "ka", code=4)
    with h5py.File(path, "a") as f:
        f["parameters"].create_dataset("level", data=4 * ["dataset"], dtype=h5py.string_dtype())
    assert "complete" in h.stiffit("run", path, "--model", model).stderr
    h.stiffit("run", path, "--model", model, "--share", "ka,b", "--overwrite")
    with h5py.File(h.result_path(path)) as f:
        assert "share=ka,b" in words(f["provenance"].attrs["options"])
    assert "complete" in h.stiffit("run", path, "--model", model, "--share", "b,ka").stderr


def test_data_without_error(tmp):
    """As many rows as parameters: the residuals are zero where the closed form says. The steps at the first tolerances become
    as short as their errors; those at tighter ones must find the optimum anew."""
    text = ("parameter k = 0.3 in [1e-3, 10] scale log\nparameter A = 2 in [0.1, 100] scale log\n"
            "y(0) = A\ny' = -k*y\nobserve value = y\n")
    (tmp / "p.ode").write_text(text)
    for first, last in ((np.exp(-0.5), np.exp(-2)), (0.7, 0.11)):
        h.write_problem(tmp / "p.h5", None, ["d0"], [(0, 1, 0, first, np.nan), (0, 4, 0, last, np.nan)])
        k = np.log(first / last) / 3
        for share in ("k", "A", "all"):
            found = run_file(tmp / "p.h5", "--model", tmp / "p.ode", "--share", share, "--engine", "cvodes", "--overwrite")
            assert found["status"][0] == 1, (first, share, found["message"])
            # The certificate's tolerances, and 10 for errors that add up over an integration.
            assert np.allclose(found["parameters"][0], [k, first * np.exp(k)], rtol=1e-8, atol=0), (share, found["parameters"])


if __name__ == "__main__":
    h.main()
