"""`stiffit population`: the mean and covariance over the datasets against EM written in NumPy, simulated truths, and nlme.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import json
import shutil
import subprocess
import sys

import h5py
import numpy as np
from scipy import stats

import helpers as h
import test_cli_manual

TEXT = ("model wells\nparameter k = 0.3 in [1e-3, 100] scale log10\nparameter A = 2 scale log\nparameter b = 0\ny(0) = A\n"
        "y' = -k*y\nobserve z = y + b\n")
T = np.linspace(0.3, 9, 10)
MEAN, DEVIATION = np.array([-0.5, 0.7, 0.2]), np.array([0.15, 0.3, 0.1])  # on the scales: log10 k, log A, b
CORRELATION = np.array([[1, 0.6, 0], [0.6, 1, -0.3], [0, -0.3, 1]])
NATURAL = [lambda x: 10**x, np.exp, lambda x: x]


def draw(rng, n):
    """(n, 3) parameters on their scales."""
    covariance = CORRELATION * np.outer(DEVIATION, DEVIATION)
    return rng.multivariate_normal(MEAN, covariance, n)


def fit(tmp, n, *options, seed=3, sigma=0.05, is_known=True, spoil=(), code=0):
    """Fits n simulated wells; returns the path of the result."""
    rng = np.random.default_rng(seed)
    k, a, b = (natural(x)[:, None] for natural, x in zip(NATURAL, draw(rng, n).T))
    y = a * np.exp(-k * T) + b + sigma * rng.standard_normal((n, len(T)))
    for i in spoil:
        y[i] = np.inf
    rows = np.column_stack([np.repeat(np.arange(n), len(T)), np.tile(T, n), np.zeros(y.size), y.ravel(),
                            np.full(y.size, sigma if is_known else np.nan)])
    (tmp / "m.ode").write_text(TEXT)
    h.write_problem(tmp / "p.h5", None, [f"d{i}" for i in range(n)], rows)
    h.stiffit("run", tmp / "p.h5", "--model", tmp / "m.ode", "--overwrite", *options, code=code)
    return h.result_path(tmp / "p.h5")


def estimates(path, chosen=(0, 1, 2)):
    """(rows, estimates, covariances of their errors) of the usable fits, on the scales."""
    fits = h.read_fits(path)
    p, n = fits["parameters"], len(fits["names"])
    covariance = fits["covariance"].reshape(-1, n, n)
    slope = np.column_stack([np.log(10) * p[:, 0], p[:, 1], np.ones(len(p))])
    y = np.column_stack([np.log10(p[:, 0]), np.log(p[:, 1]), p[:, 2]])
    v = covariance / slope[:, :, None] / slope[:, None, :]
    y, v = y[:, chosen], v[:, chosen][:, :, chosen]
    used = (fits["status"] == "converged") & np.isfinite(v).all(axis=(1, 2))
    return np.flatnonzero(used), y[used], v[used], fits


def em(y, v, most=200000):
    """Global two-stage with restricted maximum likelihood: (mean, covariance, covariance of the mean)."""
    n, omega = len(y), np.cov(y.T).reshape(y.shape[1], -1)
    for _ in range(most):
        w = np.linalg.inv(v + omega)
        m = np.linalg.inv(w.sum(axis=0))
        mean = m @ np.einsum("nij,nj->i", w, y)
        gain = omega @ w
        b = np.einsum("nij,nj->ni", gain, y - mean)   # expected deviations, and their covariance with that of the mean's error
        spread = omega - gain @ omega + gain @ m @ np.swapaxes(gain, 1, 2)
        new = np.mean(spread + b[:, :, None] * b[:, None, :], axis=0)
        step, omega = np.abs(new - omega).max(), new
        if step < 1e-15:
            break
    return mean, omega, m


def population(path, *options, **keywords):
    return json.loads(h.stiffit("population", path, "--json", *options, **keywords).stdout)


def compare(said, y, v):
    mean, omega, m = em(y, v)
    # 1e-8 of the spread: both ends are fixed points to some 1e-11.
    unit = np.sqrt(np.diag(np.cov(y.T).reshape(y.shape[1], -1)))
    assert np.abs(([row["mean"] for row in said["parameters"]] - mean) / unit).max() < 1e-8
    assert np.abs((np.array(said["covariance"]) - omega) / np.outer(unit, unit)).max() < 1e-8
    assert np.abs((np.array(said["mean_covariance"]) - m) / np.outer(unit, unit)).max() < 1e-8
    return mean, omega, m


def test_against_em(tmp):
    path = fit(tmp, 60)
    _, y, v, _ = estimates(path)
    said = population(path)
    assert said["used"] == said["datasets"] == 60 and said["converged"] and said["sigma"] is None
    mean, omega, m = compare(said, y, v)
    w = np.linalg.inv(v + omega)
    dets = np.linalg.slogdet(v + omega)[1].sum() + np.linalg.slogdet(w.sum(axis=0))[1]
    likelihood = -0.5 * (dets + np.einsum("ni,nij,nj", y - mean, w, y - mean) + 59 * 3 * np.log(2 * np.pi))
    assert abs(said["log_likelihood"] - likelihood) < 1e-7
    for j, row in enumerate(said["parameters"]):
        half = stats.t.ppf(0.975, 59) * np.sqrt(m[j, j])
        assert abs(row["interval_upper"] - mean[j] - half) < 1e-7 and abs(row["interval_lower"] - mean[j] + half) < 1e-7
        assert abs(row["standard_deviation_of_fits"] - y[:, j].std(ddof=1)) < 1e-10
        assert abs(row["median"] / NATURAL[j](mean[j]) - 1) < 1e-7
        assert row["scale"] == ["log10", "log", "lin"][j]
    gain = omega @ w
    shrunken = mean + np.einsum("nij,nj->ni", gain, y - mean)
    rest = np.eye(3) - gain
    variance = rest @ m @ np.swapaxes(rest, 1, 2) + omega - gain @ omega
    rows = list(csv.DictReader(h.stiffit("population", path, "-o", "-").stdout.splitlines()))
    slope = [lambda x: np.log(10) * 10**x, np.exp, np.ones_like]
    for j, name in enumerate(["k", "A", "b"]):
        # the text of a number of order 1e-2 .. 10 with an error of 1e-8 of the spread
        assert np.allclose([float(row[name]) for row in rows], NATURAL[j](shrunken[:, j]), rtol=1e-6, atol=1e-8)
        errors = slope[j](shrunken[:, j]) * np.sqrt(variance[:, j, j])
        assert np.allclose([float(row["standard_error_" + name]) for row in rows], errors, rtol=1e-6)
        assert np.allclose([float(row["fit_" + name]) for row in rows], NATURAL[j](y[:, j]), rtol=1e-12)
        shrinkage = 1 - shrunken[:, j].std(ddof=1) / np.sqrt(omega[j, j])
        assert abs(said["parameters"][j]["shrinkage"] - shrinkage) < 1e-7
    text = h.stiffit("population", path).stdout
    assert "60 of 60 datasets" in text and "Correlations" in text and "left out" not in text


def test_shrunken_estimates_are_better(tmp):
    """With weak data the mean squared error of shrunken estimates is below that of the fits, and their errors are right."""
    path = fit(tmp, 400, "--accept-failed", "100%", seed=8, sigma=0.3)
    used, y, _, _ = estimates(path)
    truth = draw(np.random.default_rng(8), 400)[used]
    rows = list(csv.DictReader(h.stiffit("population", path, "-o", "-").stdout.splitlines()))
    rows = [row for row in rows if row["population"] == "used"]
    for j, name in enumerate(["k", "A", "b"]):
        shrunken = np.array([float(row[name]) for row in rows])
        shrunken = [np.log10, np.log, np.array][j](shrunken)
        assert np.mean((shrunken - truth[:, j])**2) < 0.7 * np.mean((y[:, j] - truth[:, j])**2), name


def test_fits_that_cannot_be_used(tmp):
    path = fit(tmp, 40, spoil=(7, 9), code=1)
    with h5py.File(path, "a") as f:  # what a parameter at its bound leaves
        f["fits/covariance"][3] = np.nan
    said = population(path)
    assert (said["datasets"], said["used"], said["not_converged"], said["no_covariance"]) == (40, 37, 2, 1)
    used, y, v, _ = estimates(path)
    compare(said, y, v)
    assert len(used) == 37
    rows = list(csv.DictReader(h.stiffit("population", path, "-o", "-").stdout.splitlines()))
    by_use = {use: [row["id"] for row in rows if row["population"] == use] for use in ["not_converged", "no_covariance"]}
    assert by_use == {"not_converged": ["d7", "d9"], "no_covariance": ["d3"]} and rows[3]["k"] == "NaN"
    text = h.stiffit("population", path).stdout
    assert "2  left out, which did not converge" in text and "1  left out, which converged without" in text


def test_some_parameters(tmp):
    path = fit(tmp, 40)
    for names, chosen in (("b,k", [2, 0]), ("A", [1])):
        said = population(path, "--parameters", names)
        assert [row["name"] for row in said["parameters"]] == names.split(",")
        _, y, v, _ = estimates(path, chosen)
        compare(said, y, v)
    with h5py.File(tmp / "p.h5", "a") as f:
        group = f.require_group("parameters")
        group["name"] = ["k", "A", "b"]
        group["fixed"] = [0, 0, 1]
    h.stiffit("run", tmp / "p.h5", "--model", tmp / "m.ode", "--overwrite")
    assert [row["name"] for row in population(path)["parameters"]] == ["k", "A"]
    assert "same value" in h.stiffit("population", path, "--parameters", "b", code=2).stderr


def test_one_sigma_for_all(tmp):
    path = fit(tmp, 50, is_known=False)
    _, y, v, fits = estimates(path)
    said = population(path)
    compare(said, y, v)
    freedom = fits["degrees_of_freedom"]
    sigma = np.sqrt(np.sum(fits["residual_error"]**2 * freedom) / freedom.sum())
    pooled = population(path, "--pool-sigma")
    assert abs(pooled["sigma"] / sigma - 1) < 1e-12 and abs(sigma / 0.05 - 1) < 0.1
    compare(pooled, y, v * (sigma**2 / fits["residual_error"]**2)[:, None, None])
    path = fit(tmp, 50)
    assert "are known" in h.stiffit("population", path, "--pool-sigma", code=2).stderr


def test_one_sigma_keeps_datasets_without_degrees_of_freedom(tmp):
    """Three measurements and three parameters: the covariance is that of the closed form's Jacobian with the others' sigma."""
    path = fit(tmp, 20, is_known=False)
    with h5py.File(tmp / "p.h5", "r+") as f:
        few = np.isin(f["measurements/dataset"][...], [4, 11]) & ~np.isin(f["measurements/time"][...], T[[0, 3, 9]])
        f["measurements/value"][few] = np.nan
    h.stiffit("run", tmp / "p.h5", "--model", tmp / "m.ode", "--overwrite")
    _, y, v, fits = estimates(path)
    assert list(fits["degrees_of_freedom"][[4, 11]]) == [0, 0] and np.all(fits["error_missing"][4] == "freedom")
    assert np.isnan(fits["standard_error"][[4, 11]]).all()
    said = population(path)
    assert (said["used"], said["no_covariance"]) == (18, 2)
    freedom = fits["degrees_of_freedom"]
    sigma = np.sqrt(np.nansum(fits["residual_error"]**2 * freedom) / freedom.sum())
    unit = np.where(freedom > 0, fits["residual_error"], 1)
    for i in (4, 11):
        k, a, _ = fits["parameters"][i]
        t = T[[0, 3, 9]]
        curve = a * np.exp(-k * t)
        jacobian = np.column_stack([-np.log(10) * k * t * curve, curve, np.ones(3)])
        exact = np.linalg.inv(jacobian.T @ jacobian)
        # The derivatives have the integrator's errors, about 1e-6, times the condition of a square Jacobian.
        assert np.allclose(v[i], exact, rtol=1e-3), (v[i], exact)
    pooled = population(path, "--pool-sigma")
    assert pooled["used"] == 20 and abs(pooled["sigma"] / sigma - 1) < 1e-12
    compare(pooled, y, v * (sigma**2 / unit**2)[:, None, None])
    noise = "s = 0.1 in [1e-9, 9] scale log\nparameter A = 2"
    (tmp / "m.ode").write_text(TEXT.replace("+ b", "+ b sd s").replace("A = 2", noise))
    h.stiffit("run", tmp / "p.h5", "--model", tmp / "m.ode", "--overwrite", "--accept-failed", "100%")
    said = h.stiffit("population", path, "--pool-sigma", code=2).stderr
    assert "sigma of 'd0' is not unknown, but a parameter of its fit" in said and "are known" not in said


def test_singular_covariance(tmp):
    """The spread of a parameter that is the same for all datasets is 0 in every second sample: EM creeps towards it. The
    likelihood must be no less than where EM has come in 4,000 steps."""
    rng = np.random.default_rng(11)
    n, sigma = 20, 0.1
    k = 10**rng.normal(-0.5, 0.15, n)[:, None]
    y = 2 * np.exp(-k * T) + sigma * rng.standard_normal((n, len(T)))
    rows = np.column_stack([np.repeat(np.arange(n), len(T)), np.tile(T, n), np.zeros(y.size), y.ravel(),
                            np.full(y.size, sigma)])
    (tmp / "m.ode").write_text(TEXT)
    h.write_problem(tmp / "p.h5", None, [f"d{i}" for i in range(n)], rows)
    h.stiffit("run", tmp / "p.h5", "--model", tmp / "m.ode")
    path = h.result_path(tmp / "p.h5")
    _, y, v, _ = estimates(path)

    def likelihood(omega):
        w = np.linalg.inv(v + omega)
        mean = np.linalg.solve(w.sum(axis=0), np.einsum("nij,nj->i", w, y))
        dets = np.linalg.slogdet(v + omega)[1].sum() + np.linalg.slogdet(w.sum(axis=0))[1]
        return -0.5 * (dets + np.einsum("ni,nij,nj", y - mean, w, y - mean) + (len(y) - 1) * y.shape[1] * np.log(2 * np.pi))
    said = population(path)
    assert said["converged"] and said["passes"] < 200
    omega = np.array(said["covariance"])
    assert abs(likelihood(omega) - said["log_likelihood"]) < 1e-7
    assert said["log_likelihood"] > likelihood(em(y, v, 4000)[1]) - 1e-9
    assert np.linalg.eigvalsh(omega).min() > -1e-15
    assert said["parameters"][1]["standard_deviation"] < 0.05 < said["parameters"][0]["standard_deviation"]


def take_rows(source, target, rows):
    """A result with some of the fits."""
    shutil.copy(source, target)
    with h5py.File(target, "a") as f:
        for name in list(f["fits"]):
            column = f["fits"][name]
            values, attributes = column[rows], dict(column.attrs)
            kind = column.dtype
            del f["fits"][name]
            column = f["fits"].create_dataset(name, data=values, dtype=kind)
            for key, value in attributes.items():
                column.attrs[key] = value


def simulate(tmp, n_set):
    """Sets of 50 datasets: errors of the means in units of their standard errors, and deviations, n_set x 3."""
    n = 50
    path = fit(tmp, n * n_set, "--accept-failed", "5%", seed=21, sigma=0.02)
    errors, deviations, covered = [], [], []
    for i in range(n_set):
        take_rows(path, tmp / "set.h5", slice(n * i, n * (i + 1)))
        rows = population(tmp / "set.h5")["parameters"]
        errors.append([(row["mean"] - mean) / row["standard_error"] for row, mean in zip(rows, MEAN)])
        deviations.append([row["standard_deviation"] for row in rows])
        covered.append([row["interval_lower"] < mean < row["interval_upper"] for row, mean in zip(rows, MEAN)])
    return np.array(errors), np.array(deviations), np.array(covered)


def check_simulated(n_set, coverage):
    def test(tmp):
        errors, deviations, covered = simulate(tmp, n_set)
        print("bias of the mean / its error", errors.mean(axis=0), "bias of the deviation",
              deviations.mean(axis=0) / DEVIATION - 1, "coverage", covered.mean(axis=0))
        # The linearised covariances of a fit leave a bias below a fifth of the mean's standard error.
        assert np.abs(errors.mean(axis=0)).max() < 0.2 + 4 / np.sqrt(n_set)
        # A standard deviation from n numbers is 1 / (4 n) too small by itself: 0.5 %.
        assert np.abs(deviations.mean(axis=0) / DEVIATION - 1).max() < 0.03 + 4 * 0.12 / np.sqrt(n_set)
        assert np.all((coverage[0] <= covered.mean(axis=0)) & (covered.mean(axis=0) <= coverage[1])), covered.mean(axis=0)
    return test


# 99.9 % of Binomial(40, 0.95); for 1,000 sets 0.95 +- 4 standard deviations, and 1.5 % less for the bias.
test_simulated_truths = h.more(check_simulated(40, (0.825, 1)))
test_thousand_simulated_truths = h.slow(check_simulated(1000, (0.91, 0.975)))


def test_theophylline_against_nlme(tmp):
    """nlme's restricted maximum likelihood for the nonlinear model, with one sigma. Its Laplace-like linearisation and the
    two stages are different approximations: they agree within a fifth of a standard error, and 10 % of deviations."""
    with open(h.ROOT / "data" / "theophylline-nlme.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    reference = {name: np.array([float(row[name]) for row in rows]) for name in ["mean", "standard_error", "deviation"]}
    correlation = np.array([[float(row["correlation_" + other["parameter"]]) for other in rows] for row in rows])
    h.stiffit("import", h.ROOT / "data/theophylline-measurements.csv", "-d", h.ROOT / "data/theophylline-subjects.csv", "-m",
              h.model("theophylline"), "-o", tmp / "t.h5")
    h.stiffit("run", tmp / "t.h5", "--trust")
    said = population(tmp / "t.result.h5", "--pool-sigma")
    assert [row["name"] for row in said["parameters"]] == [row["parameter"] for row in rows]
    mean, error, deviation = ([row[name] for row in said["parameters"]]
                              for name in ["mean", "standard_error", "standard_deviation"])
    assert np.all(np.abs(mean - reference["mean"]) < 0.2 * reference["standard_error"]), (mean, reference)
    assert np.allclose(error, reference["standard_error"], rtol=0.1)
    assert np.allclose(deviation, reference["deviation"], rtol=0.1)
    assert np.abs(np.array(said["correlation"]) - correlation).max() < 0.15
    assert abs(said["sigma"] / float(rows[0]["sigma"]) - 1) < 0.05


def test_priors(tmp):
    """The manual's example: priors in the problem file are the population, and all in all the second fits spread less."""
    path = fit(tmp, 60)
    example, = [block for block in test_cli_manual.literal_blocks("stiffit-population.1") if "python3" in block]
    script = example.replace("subjects.result.h5", path.name).replace("subjects.h5", "p.h5")
    script = script.replace("stiffit ", f"'{h.STIFFIT}' ").replace("--trust", "--model m.ode")
    script = script.replace("python3", sys.executable)
    h.stiffit("population", path, "--priors", tmp / "table.csv")
    subprocess.run(["bash", "-ec", script], cwd=tmp, check=True, capture_output=True, env=h.environment())
    assert (tmp / "table.csv").read_bytes() == (tmp / "population.csv").read_bytes()
    said = population(path)
    with h5py.File(tmp / "p.h5") as f:
        group = f["parameters"]
        assert list(group["prior"].asstr()) == ["normal"] * 3 and list(group["prior_on"].asstr()) == ["optimizer"] * 3
        assert np.allclose(group["prior_location"][:], [row["mean"] for row in said["parameters"]], rtol=1e-15)
        assert np.allclose(group["prior_scale"][:], [row["standard_deviation"] for row in said["parameters"]], rtol=1e-15)
    again = population(tmp / "again.result.h5")
    assert again["with_prior"] == 60 and "fitted with priors" in h.stiffit("population", tmp / "again.result.h5").stdout
    key = "standard_deviation_of_fits"
    assert sum(after[key] / before[key] for before, after in zip(said["parameters"], again["parameters"])) < 3


def test_mistakes(tmp):
    path = fit(tmp, 5)
    assert "Did you mean A" in h.stiffit("population", path, "--parameters", "a", code=2).stderr
    assert "twice" in h.stiffit("population", path, "--parameters", "k,k", code=2).stderr
    h.stiffit("population", path, "-o", "-", "--priors", "-", code=2)
    h.stiffit("population", tmp / "p.h5", code=3)
    h.stiffit("run", tmp / "p.h5", "--model", tmp / "m.ode", "--only", "d1", "-o", tmp / "one.h5")
    assert "no parameter differs" in h.stiffit("population", tmp / "one.h5", code=3).stderr


if __name__ == "__main__":
    h.main()
