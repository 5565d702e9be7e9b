"""What is minimised: error distributions, censored measurements and priors, against SciPy and R on the same objective written
out once more.

SPDX-License-Identifier: BSD-3-Clause
"""
import shutil
import subprocess

import h5py
import numpy as np
from scipy import stats
from scipy.optimize import linprog, minimize

import helpers as h
import oracles as o

T = np.linspace(0.5, 8.0, 12)
EXACT = ("--rtol", "1e-9", "--atol", "1e-12")
# y' = -k y with a noise of its own: sd the scale of the errors, or of their logarithms
NOISY = """model noisy
parameter k = 0.5 in [1e-4, 1e4] scale log
parameter A = 1 in [1e-4, 1e4] scale log
parameter s = 0.1 in [1e-6, 1e3] scale log
y(0) = A
y' = -k*y
observe y sd s
"""


def losses(error):
    """rho(r) without constants."""
    return {"normal": lambda r: r * r / 2, "log-normal": lambda r: r * r / 2, "laplace": lambda r: np.hypot(r, 1e-2),
            "huber": lambda r: np.where(abs(r) <= 1.345, r * r / 2, 1.345 * (abs(r) - 1.345 / 2)),
            "student": lambda r: 2.5 * np.log1p(r * r / 4)}[error]


def density(error):
    """-log density of a value, with its constants, by SciPy where it has them."""
    return {"normal": lambda y, m, s: -stats.norm.logpdf(y, m, s),
            "log-normal": lambda y, m, s: -stats.lognorm.logpdf(y, s, scale=m),
            "laplace": lambda y, m, s: np.hypot((y - m) / s, 1e-2) + np.log(2 * s),
            # the integral of exp(-rho) for k = 1.345, by mpmath
            "huber": lambda y, m, s: losses("huber")((y - m) / s) + np.log(s) + 0.978598194571837,
            "student": lambda y, m, s: -stats.t.logpdf((y - m) / s, 4) + np.log(s)}[error]


def minimum(objective, starts):
    """The least of Nelder and Mead's minima from several starts, restarted twice; none of it is ours."""
    found = []
    for start in starts:
        for _ in range(3):
            best = minimize(objective, start, method="Nelder-Mead",
                            options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 20000, "maxfev": 20000})
            start = best.x
        found.append(best)
    return min(found, key=lambda best: best.fun)


def write(path, y, *, sigma=0.05, model=None, censored=None, priors=None, **keywords):
    """A decay problem of rows of y (datasets x times)."""
    y = np.atleast_2d(y)
    n, m = y.shape
    rows = np.column_stack([np.repeat(np.arange(n), m), np.tile(T[:m], n), np.zeros(n * m), y.ravel(),
                            np.full(n * m, np.nan if sigma is None else sigma)])
    h.write_problem(path, model or h.model("decay"), [f"d{i}" for i in range(n)], rows, **keywords)
    with h5py.File(path, "a") as f:
        if censored is not None:
            f["measurements/censored"] = np.asarray(censored).ravel()
        for name, value in (priors or {}).items():
            f[f"parameters/{name}"] = value
    return path


def outlying(n=4, seed=3):
    rng = np.random.default_rng(seed)
    y = 2 * np.exp(-0.4 * T) * np.exp(0.04 * rng.standard_normal((n, len(T))))
    y[:, 4] *= 2.5
    return y


def kind_of(problem):
    with h5py.File(h.result_path(problem)) as f:
        attributes = f["fits/objective"].attrs["kind"], f["provenance"].attrs["objective"], f["provenance"].attrs["options"]
        return tuple(text.decode() if isinstance(text, bytes) else text for text in attributes)


@h.more
def test_losses_against_scipy(tmp):
    y = outlying()
    kinds = {"normal": "half_sum_of_squares", "log-normal": "half_sum_of_squares", "laplace": "laplace_loss",
             "huber": "huber_loss", "student": "student_loss"}
    for error, kind in kinds.items():
        for optimizer in ("trf", "lbfgs"):
            problem = write(tmp / f"{error}-{optimizer}.h5", y)
            fits = h.run(problem, "--error", error, "--optimizer", optimizer, *EXACT)
            assert set(fits["status"]) == {"converged"}, (error, optimizer, fits["status"])
            assert kind_of(problem)[0] == kind and f"error={error}" in kind_of(problem)[2]
            for data, found, best in zip(y, fits["objective"], fits["parameters"]):
                def objective(x, data=data):
                    m = np.exp(x[1] - np.exp(x[0]) * T)
                    return losses(error)((np.log(m / data) if error == "log-normal" else m - data) / 0.05).sum()
                scipy = minimum(objective, np.log([[0.3, 2.0], [0.5, 2.5]]))
                # one part in a million, as everywhere; the same basin to the root of that
                assert found <= scipy.fun * (1 + 1e-6), (error, found, scipy.fun)
                np.testing.assert_allclose(best, np.exp(scipy.x), rtol=2e-3)


@h.more
def test_modelled_scale_against_scipy(tmp):
    """With the scale as a parameter every loss is a likelihood, so their values compare: SciPy's densities."""
    y = outlying()
    (tmp / "noisy.ode").write_text(NOISY)
    for error in ("normal", "log-normal", "laplace", "huber", "student"):
        problem = write(tmp / f"{error}.h5", y, sigma=None, model=tmp / "noisy.ode")
        fits = h.run(problem, "--error", error, *EXACT)
        assert kind_of(problem)[0] == "negative_log_likelihood"
        assert set(fits["status"]) == {"converged"}, (error, fits["status"])
        for data, found, best, aic in zip(y, fits["objective"], fits["parameters"], fits["aic"]):
            def objective(x, data=data):
                return density(error)(data, np.exp(x[1] - np.exp(x[0]) * T), np.exp(x[2])).sum()
            scipy = minimum(objective, np.log([[0.3, 2.0, 0.1], [0.5, 2.5, 0.3]]))
            assert found <= scipy.fun + 1e-6 * max(1, abs(scipy.fun)), (error, found, scipy.fun)
            np.testing.assert_allclose(best, np.exp(scipy.x), rtol=5e-3)
            k, amplitude, s = best
            exact = found  # the likelihood that is reported has no rounded kink
            if error == "laplace":
                exact = -stats.laplace.logpdf(data, amplitude * np.exp(-k * T), s).sum()
            # the integrator's error, as the predictions here are exact; where |r| has its kink it is not squared
            assert abs(aic - 2 * exact - 6) < (1e-6 if error == "laplace" else 1e-8) * (1 + abs(aic)), (error, aic, exact)


def test_laplace_against_linear_programs(tmp):
    """Least absolute deviations of a straight line are a linear program. Rounding its kinks adds at most 0.01 per measurement,
    and the model is linear: the second point of the search is the optimum."""
    rng = np.random.default_rng(12)
    n, m = 30, len(T)
    y = 1 + 2 * T + 0.3 * rng.laplace(size=(n, m))
    y[:, 7] += 20
    (tmp / "line.ode").write_text("model line\nparameter a = 0\nparameter b = 0\nobserve y = a + b*t\n")
    fits = h.run(write(tmp / "p.h5", y, sigma=0.3, model=tmp / "line.ode"), "--error", "laplace")
    assert set(fits["status"]) == {"converged"} and fits["evaluations"].max() <= 5, fits["evaluations"]
    # |r_i| <= u_i for each measurement, the sum of u least
    x, one = np.column_stack([np.ones(m), T]), np.eye(m)
    for data, found, best in zip(y, fits["objective"], fits["parameters"]):
        least = linprog(np.r_[0, 0, np.ones(m)], A_ub=np.block([[x / 0.3, -one], [-x / 0.3, -one]]),
                        b_ub=np.r_[data, -data] / 0.3, bounds=[(None, None)] * 2 + [(0, None)] * m)
        residuals = abs(x @ best - data) / 0.3
        assert least.fun * (1 - 1e-9) <= residuals.sum() <= found <= least.fun + 0.01 * m, (found, least.fun)


def test_laplace_is_quick(tmp):
    """Nonlinear: as many evaluations as a sum of squares takes, or a few more (reweighted squares: 33 in the median, 449 at
    most). A linear program on the predictions' tangents finds nothing better nearby."""
    y = 2 * np.exp(-0.4 * T) + 0.05 * np.random.default_rng(1).laplace(size=(300, len(T)))
    fits = h.run(write(tmp / "p.h5", y), "--error", "laplace")
    assert set(fits["status"]) == {"converged"}
    assert np.median(fits["evaluations"]) <= 12 and fits["evaluations"].max() <= 60, np.sort(fits["evaluations"])
    one, away = np.eye(len(T)), 0.02  # of log k and log A, so that tangents are good to 0.01 sigma
    for data, found, (k, a) in zip(y, fits["objective"], fits["parameters"]):
        m = a * np.exp(-k * T)
        r, x = (m - data) / 0.05, np.column_stack([-k * T * m, m]) / 0.05
        least = linprog(np.r_[0, 0, np.ones(len(T))], A_ub=np.block([[x, -one], [-x, -one]]), b_ub=np.r_[-r, r],
                        bounds=[(-away, away)] * 2 + [(0, None)] * len(T))
        # kinks are rounded by 0.01, and so much the tangents may be off
        assert abs(r).sum() <= found <= least.fun + 0.02 * len(T), (found, least.fun)


def test_huber_is_quick(tmp):
    """Whatever its constant: as many evaluations as a sum of squares takes (reweighted squares: 23 in the median and 625 at
    most for 0.02), and L-BFGS-B finds nothing better nearby, in exact predictions."""
    y = 2 * np.exp(-0.4 * T) + 0.05 * np.random.default_rng(1).laplace(size=(300, len(T)))
    problem = write(tmp / "p.h5", y)
    for k in (0.02, 0.1, 1.345):
        fits = h.run(problem, "--error", "huber", "--huber-k", k, "--overwrite")
        assert set(fits["status"]) == {"converged"}
        assert np.median(fits["evaluations"]) <= 10 and fits["evaluations"].max() <= 30, (k, np.sort(fits["evaluations"]))
        for data, found, best in zip(y, fits["objective"], fits["parameters"]):
            def objective(x, data=data, k=k):
                m = np.exp(x[1] - np.exp(x[0]) * T)
                r = (m - data) / 0.05
                rate = np.clip(r, -k, k) * m / 0.05
                return (np.where(abs(r) <= k, r * r / 2, k * (abs(r) - k / 2)).sum(),
                        np.array([-np.exp(x[0]) * T @ rate, rate.sum()]))
            scipy = minimize(objective, np.log(best), jac=True, method="L-BFGS-B",
                             options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000})
            # the integrator's error of 1e-6 times slopes of at most k, of predictions of 2 / 0.05
            assert found <= scipy.fun + 1e-5 * max(1, scipy.fun) + k * len(T) * 4e-5, (k, found, scipy.fun)


def test_outliers_do_not_rule(tmp):
    """One point in twelve is off by 30 sigma: squares miss the rate, the others do not."""
    y = outlying(n=20, seed=11)
    off = {}
    for error in ("normal", "huber", "student", "laplace"):
        fits = h.run(write(tmp / f"{error}.h5", y, sigma=0.04), "--error", error)
        off[error] = np.median(abs(fits["parameters"][:, fits["names"].index("k")] / 0.4 - 1))
    # 4 % noise on twelve points leave about 2 % of error in the rate
    assert off["normal"] > 0.1 and max(off["huber"], off["student"], off["laplace"]) < 0.04, off


def test_theophylline_log_normal(tmp):
    """Logarithms of real concentrations, closed form; what is measured as 0 makes its subject bad data, with its row."""
    h.stiffit("import", h.ROOT / "data/theophylline-measurements.csv", "--datasets", h.ROOT / "data/theophylline-subjects.csv",
              "--model", h.model("theophylline"), "-o", tmp / "p.h5")
    fits = h.run(tmp / "p.h5", "--error", "log-normal", code=1)
    with h5py.File(tmp / "p.h5", "r+") as f:
        value, time = f["measurements/value"][:], f["measurements/time"][:]
        subject, dose = f["measurements/dataset"][:], f["datasets/covariates"][:, 0]
        zero = [int(np.flatnonzero((subject == d) & (value <= 0))[0]) if np.any(value[subject == d] <= 0) else None
                for d in range(12)]
        f["measurements/value"][...] = np.where((value <= 0) | (time == 0), np.nan, value)
    for d in range(12):
        assert (fits["status"][d] == "bad_data") == (zero[d] is not None), (d, fits["status"][d], zero[d])
        # the table's first line is its head
        said = zero[d] is None or f"theophylline-measurements.csv:{zero[d] + 2}: value " in fits["message"][d]
        assert said, fits["message"][d]
    assert any(z is not None for z in zero)
    fits = h.run(tmp / "p.h5", "--error", "log-normal", "--overwrite", *EXACT)
    assert set(fits["status"]) == {"converged"}, fits["status"]
    order = [fits["names"].index(name) for name in ("lKe", "lKa", "lCl")]
    for d in range(12):
        there = (subject == d) & (value > 0) & (time > 0)

        def objective(p, there=there, d=d):
            m = o.theophylline(time[there], dose[d], *p)
            return 0.5 * np.sum(np.log(m / value[there]) ** 2) if np.all(m > 0) else 1e9
        scipy = minimum(objective, [fits["parameters"][d][order] * 1.05, [-2.5, 0.5, -3.0]])
        assert fits["objective"][d] <= scipy.fun * (1 + 1e-6), (d, fits["objective"][d], scipy.fun)


def censor(y, low, high):
    """Values beyond the limits become the limits."""
    return np.clip(y, low, high), np.where(y < low, 1, np.where(y > high, -1, 0))


@h.both
def test_censored_against_scipy(tmp):
    rng = np.random.default_rng(5)
    exact = 2 * np.exp(-0.4 * T)
    (tmp / "noisy.ode").write_text(NOISY)
    for error, noise in h.portion((("normal", 0.1), ("log-normal", 0.15)), 1):
        wild = rng.standard_normal((4, len(T))) * noise
        y = exact * np.exp(wild) if error == "log-normal" else exact + wild
        y, side = censor(y, 0.25, 1.4)
        assert np.any(side > 0) and np.any(side < 0)
        for model, sigma in ((None, noise), (tmp / "noisy.ode", None)):
            problem = write(tmp / f"{error}{sigma}.h5", y, sigma=sigma, model=model, censored=side)
            fits = h.run(problem, "--error", error, *EXACT)
            assert set(fits["status"]) == {"converged"}, fits["status"]
            kind, words, _ = kind_of(problem)
            assert kind == "negative_log_likelihood" and f"{np.sum(side != 0)} measurements censored" in words, words
            for data, censored, found, best in zip(y, side, fits["objective"], fits["parameters"]):
                def objective(x, data=data, censored=censored):
                    m, s = np.exp(x[1] - np.exp(x[0]) * T), noise if sigma else np.exp(x[2])
                    z = (np.log(data / m) if error == "log-normal" else data - m) / s
                    return np.where(censored == 0, density(error)(data, m, s), -stats.norm.logcdf(censored * z)).sum()
                starts = np.log([[0.3, 2.0, 0.1], [0.5, 2.5, 0.2]])[:, :2 if sigma else 3]
                scipy = minimum(objective, starts)
                assert found <= scipy.fun + 1e-6 * max(1, abs(scipy.fun)), (error, sigma, found, scipy.fun)
                np.testing.assert_allclose(best, np.exp(scipy.x), rtol=2e-3)


def interval(a, b):
    """log(Phi(b) - Phi(a)), a < b, without cancellation in the tails."""
    a, b = np.where(a + b > 0, -b, a), np.where(a + b > 0, -a, b)
    return stats.norm.logcdf(b) + np.log(-np.expm1(stats.norm.logcdf(a) - stats.norm.logcdf(b)))


@h.both
def test_intervals_against_scipy(tmp):
    """Values that are only known to lie between `value` and `limit`, from a table: SciPy's minima, of known and fitted sigma,
    one limit infinite and some zero, also of logarithms; columns of their own in residuals."""
    rng = np.random.default_rng(6)
    exact = 2 * np.exp(-0.4 * T)
    (tmp / "noisy.ode").write_text(NOISY)
    for error, noise in h.portion((("normal", 0.1), ("log-normal", 0.15)), 1):
        wild = rng.standard_normal((3, len(T))) * noise
        y = exact * np.exp(wild) if error == "log-normal" else exact + wild
        low, high = 0.25 * np.floor(y / 0.25), 0.25 * np.floor(y / 0.25) + 0.25
        side = np.arange(y.size).reshape(y.shape) % 3 - 1
        value = np.where(side == 0, y, np.where(side > 0, high, low + (low == 0) * 0.01))
        limit = np.where(side == 0, 7.0, np.where(side > 0, low, high))  # without `censored` it has no effect
        limit[side > 0] = np.where(np.arange(np.sum(side > 0)) == 2, -np.inf, limit[side > 0])
        a, b = np.minimum(value, limit), np.maximum(value, limit)
        for model, sigma in ((h.model("decay"), noise), (tmp / "noisy.ode", "")):
            table = tmp / "t.csv"
            table.write_text("dataset,time,value,sigma,censored,limit\n" + "".join(
                f"d{d},{float(T[k])!r},{float(value[d, k])!r},{sigma},{side[d, k]},{float(limit[d, k])!r}\n"
                for d in range(3) for k in range(len(T))))
            h.stiffit("import", table, "--model", model, "-o", tmp / "i.h5", "--overwrite")
            fits = h.run(tmp / "i.h5", "--error", error, "--overwrite", *EXACT)
            assert set(fits["status"]) == {"converged"}, fits["status"]
            assert f"{np.sum(side != 0)} measurements censored" in kind_of(tmp / "i.h5")[1]
            for d in range(3):
                def objective(x, d=d):
                    m, s = np.exp(x[1] - np.exp(x[0]) * T), noise if sigma else np.exp(x[2])
                    with np.errstate(all="ignore"):
                        ends = [(np.log(np.maximum(e, 0) / m) if error == "log-normal" else e - m) / s for e in (a[d], b[d])]
                        return np.where(side[d] == 0, density(error)(value[d], m, s), -interval(*ends)).sum()
                starts = np.log([[0.3, 2.0, 0.1], [0.5, 2.5, 0.2]])[:, :2 if sigma else 3]
                scipy = minimum(objective, starts)
                found = fits["objective"][d]
                assert found <= scipy.fun + 1e-6 * max(1, abs(scipy.fun)), (error, sigma, found, scipy.fun)
                np.testing.assert_allclose(fits["parameters"][d], np.exp(scipy.x), rtol=2e-3)
    lines = h.stiffit("export", tmp / "i.result.h5", "--what", "residuals").stdout.splitlines()
    rows = [dict(zip(lines[0].split(","), line.split(","))) for line in lines[1:]]
    words = np.where(side == 0, "none", np.where(np.isfinite(limit), "interval", "left")).ravel()
    assert [row["censored"] for row in rows] == list(words), rows
    np.testing.assert_array_equal([float(row["limit"]) for row in rows],
                                  np.where(words == "interval", limit.ravel(), np.nan))
    assert all((row["residual"] == "NaN") == (row["censored"] != "none") for row in rows)


def test_refused_intervals(tmp):
    """A limit on the wrong side, or at the value: from a table with its line, from a file with its row."""
    rows = "1,2,0.1,0,5\n2,2,0.1,1,\n3,2,0.1,-1,3\n4,2,0.1,1,1\n"
    for bad, text in (("1,2\n", "the limit is the value"), ("1,3\n", "the limit is above the value"),
                      ("-1,1\n", "the limit is below the value"), ("1,inf\n", "the limit is above the value"),
                      ("-1,-inf\n", "the limit is below the value"), ("1,x\n", "'x' is not a number")):
        (tmp / "t.csv").write_text("time,value,sigma,censored,limit\n" + rows + "5,2,0.1," + bad)
        done = h.stiffit("import", tmp / "t.csv", "--model", h.model("decay"), "-o", tmp / "t.h5", "--overwrite",
                         code=3 if "x" in bad else 0)
        assert text in done.stderr and ("t.csv:6:" in done.stderr or "line 6" in done.stderr), done.stderr
        assert "column 'limit'" in done.stderr, done.stderr
        if "x" not in bad:
            fits = h.run(tmp / "t.h5", "--overwrite", code=1)
            assert list(fits["status"]) == ["bad_data"] and "t.csv:6: limit is " in fits["message"][0], fits["message"]


def test_unknown_scale_beside_a_censored_neighbour(tmp):
    """Constants of a likelihood that a dataset without any sigma does not have must not drown its residuals, in small units
    least of all: SciPy's minimum."""
    y = np.vstack([outlying(n=1) * 1e-6, outlying(n=1)])
    side = np.zeros(y.shape, int)
    side[1, -1] = 1
    problem = write(tmp / "p.h5", y, censored=side,
                    parameters={"name": ["k", "A"], "start": [[0.5, 1.5e-6], [0.5, 1.5]], "lower": [1e-3, 1e-9]})
    with h5py.File(problem, "a") as f:
        f["measurements/sigma"][:len(T)] = np.nan
    fits = h.run(problem, "--rtol", "1e-9", "--atol", "1e-18")
    assert set(fits["status"]) == {"converged"}, fits["status"]
    scipy = minimum(lambda x: 5e11 * np.sum((np.exp(x[1] - np.exp(x[0]) * T) - y[0]) ** 2), np.log([[0.5, 1.5e-6]]))
    assert abs(fits["objective"][0] * 1e12 - scipy.fun) <= 1e-6 * scipy.fun, (fits["objective"], scipy.fun)
    np.testing.assert_allclose(fits["parameters"][0], np.exp(scipy.x), rtol=1e-4)
    lines = h.stiffit("export", h.result_path(problem), "--what", "residuals", "--trust").stdout.splitlines()
    table = [dict(zip(lines[0].split(","), line.split(","))) for line in lines[1:]]
    for d in range(2):
        loss = sum(float(row["loss"]) for row in table if row["dataset"] == f"d{d}")
        assert abs(loss - fits["objective"][d]) <= 1e-6 * abs(fits["objective"][d]), (d, loss, fits["objective"][d])


def test_tobit_against_survreg(tmp):
    """A straight line with unknown sigma and a limit of detection: R's survreg, estimates and standard errors."""
    if not shutil.which("Rscript"):
        h.skip("no Rscript (apt-get install r-cran-survival)")
    rng = np.random.default_rng(8)
    x = np.linspace(0, 10, 40)
    y, side = censor(1 - 0.2 * x + 0.4 * rng.standard_normal(40), -0.4, np.inf)
    table = tmp / "line.csv"
    table.write_text("time,value,censored\n" + "".join(
        f"{a!r},{b!r},{'left' if c else ''}\n" for a, b, c in zip(x.tolist(), y.tolist(), side.tolist())))
    (tmp / "line.ode").write_text("model line\nparameter a = 0.5\nparameter b = 0\nparameter s = 1 in [1e-6, inf] scale log\n"
                                  "observe y = a + b*t sd s\n")
    h.stiffit("import", table, "--model", tmp / "line.ode", "-o", tmp / "line.h5")
    fits = h.run(tmp / "line.h5", "--ftol", "1e-13", "--gtol", "1e-9")
    code = (f"library(survival); d <- read.csv('{table}'); "
            "f <- survreg(Surv(value, censored != 'left', type = 'left') ~ time, d, "
            "dist = 'gaussian', control = survreg.control(rel.tolerance = 1e-12)); "
            "cat(sprintf('%.12g', c(coef(f), f$scale, -f$loglik[2], sqrt(diag(vcov(f))))))")
    done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=False)
    if done.returncode != 0 and "survival" in done.stderr:
        h.skip("R has no survival (apt-get install r-cran-survival)")
    assert done.returncode == 0, done.stderr
    a, b, scale, minus_log, se_a, se_b, se_log = map(float, done.stdout.split())
    np.testing.assert_allclose(fits["parameters"][0], [a, b, scale], rtol=1e-5)
    assert abs(fits["objective"][0] - minus_log) < 1e-6 * minus_log, (fits["objective"], minus_log)
    # both are the observed information, at estimates that agree to 1e-5
    np.testing.assert_allclose(fits["standard_error"][0], [se_a, se_b, se_log * scale], rtol=1e-4)


def test_growing_noise_against_gls(tmp):
    """A straight line whose errors grow: R's gls by maximum likelihood, estimates and standard errors, those of the
    noise too."""
    if not shutil.which("Rscript"):
        h.skip("no Rscript (apt-get install r-cran-nlme)")
    rng = np.random.default_rng(4)
    t = np.linspace(0, 10, 300)
    y = 1 - 0.2 * t + np.exp(-1.5 + 0.15 * t) * rng.standard_normal(300)
    table = tmp / "line.csv"
    table.write_text("time,value\n" + "".join(f"{a!r},{b!r}\n" for a, b in zip(t.tolist(), y.tolist())))
    (tmp / "line.ode").write_text("model line\nparameter a = 0.5\nparameter b = 0\nparameter s = 0\nparameter c = 0\n"
                                  "observe y = a + b*t sd exp(s + c*t)\n")
    h.stiffit("import", table, "--model", tmp / "line.ode", "-o", tmp / "line.h5")
    fits = h.run(tmp / "line.h5", "--ftol", "1e-13", "--gtol", "1e-9")
    code = (f"library(nlme); d <- read.csv('{table}'); "
            "f <- gls(value ~ time, d, weights = varExp(form = ~time), method = 'ML', "
            "control = glsControl(tolerance = 1e-12, msTol = 1e-12, maxIter = 500)); v <- sqrt(diag(f$apVar)); "
            "cat(sprintf('%.12g', c(coef(f), log(f$sigma), coef(f$modelStruct$varStruct), -logLik(f), "
            "sqrt(diag(vcov(f))), v['lSigma'], v['varStruct.expon'])))")
    done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=False)
    if done.returncode != 0 and "nlme" in done.stderr:
        h.skip("R has no nlme (apt-get install r-cran-nlme)")
    assert done.returncode == 0, done.stderr
    numbers = [float(word) for word in done.stdout.split()]
    np.testing.assert_allclose(fits["parameters"][0], numbers[:4], rtol=1e-5)
    assert abs(fits["objective"][0] - numbers[4]) < 1e-6 * numbers[4], (fits["objective"], numbers[4])
    # gls takes the line's errors as if the noise were known, which at 300 measurements is less than 1 % off
    np.testing.assert_allclose(fits["standard_error"][0], numbers[5:], rtol=1e-2)


def test_priors_against_scipy(tmp):
    """Every kind on either scale: SciPy's densities, whose constants are known."""
    y = outlying(n=1)
    forms = {
        "normal": ({"prior": ["normal", "none"], "prior_location": [0.5, np.nan], "prior_scale": [0.01, np.nan]},
                   lambda k, a: -stats.norm.logpdf(k, 0.5, 0.01) + stats.norm.logpdf(0, 0, 0.01)),
        "normal on logs": ({"prior": ["normal", "normal"], "prior_on": ["optimizer", "optimizer"],
                            "prior_location": np.log([0.5, 2.0]), "prior_scale": [0.02, 0.1]},
                           lambda k, a: (np.log(k / 0.5) / 0.02) ** 2 / 2 + (np.log(a / 2) / 0.1) ** 2 / 2),
        "log-normal": ({"prior": ["none", "log-normal"], "prior_location": [0.0, 0.7], "prior_scale": [0.0, 0.3]},
                       # the density's own constant: at its mode it counts 0
                       lambda k, a: -stats.lognorm.logpdf(a, 0.3, scale=np.exp(0.7))
                       + stats.lognorm.logpdf(np.exp(0.7 - 0.09), 0.3, scale=np.exp(0.7))),
        "laplace": ({"prior": ["laplace", "laplace"], "prior_on": ["optimizer", "natural"],
                     "prior_location": [np.log(0.5), 1.5], "prior_scale": [0.03, 0.02]},
                    lambda k, a: np.hypot(np.log(k / 0.5) / 0.03, 1e-2) + np.hypot((a - 1.5) / 0.02, 1e-2))}
    for name, (priors, penalty) in forms.items():
        problem = write(tmp / f"{name.replace(' ', '-')}.h5", y, priors=priors)
        fits = h.run(problem, *EXACT)
        assert list(fits["status"]) == ["converged"], (name, fits["status"])
        assert "with priors on" in kind_of(problem)[1]

        def objective(x, penalty=penalty):
            k, a = np.exp(x)
            return 0.5 * np.sum(((a * np.exp(-k * T) - y[0]) / 0.05) ** 2) + penalty(k, a)
        scipy = minimum(objective, np.log([[0.3, 2.0], [0.5, 1.5]]))
        assert abs(fits["objective"][0] - scipy.fun) < 1e-6 * scipy.fun, (name, fits["objective"], scipy.fun)
        np.testing.assert_allclose(fits["parameters"][0], np.exp(scipy.x), rtol=1e-4)


def test_prior_enters_the_errors(tmp):
    """A prior of nothing but itself: parameter A of data that know nothing of it has the prior's standard error."""
    y = np.full((1, 3), 1e-3)
    problem = write(tmp / "p.h5", y, sigma=1e9, priors={"prior": ["normal", "normal"], "prior_on": ["natural", "optimizer"],
                                                        "prior_location": [0.7, 1.0], "prior_scale": [0.05, 0.2]})
    fits = h.run(problem)
    np.testing.assert_allclose(fits["parameters"][0], [0.7, np.exp(1)], rtol=1e-6)
    np.testing.assert_allclose(fits["standard_error"][0], [0.05, 0.2 * np.exp(1)], rtol=1e-6)


def test_kinks_of_objectives_that_are_not_convex(tmp):
    """Straight lines through far-off starts run below 0, where neither logarithms nor noise are: the first step must be cut,
    not taken for the last one."""
    y = outlying(n=1)
    priors = {"prior": ["laplace", "none"], "prior_location": [0.45, 0.0], "prior_scale": [0.01, 0.0]}
    (tmp / "noisy.ode").write_text("parameter k = 3, A = 6, s = 0.02 in [0.02, 1], c = 0.4 in [0.05, 1]\ny(0) = A\ny' = -k*y\n"
                                   "observe y sd s + c*y\n")
    for error in ("log-normal", "laplace"):
        is_log = error == "log-normal"
        problem = write(tmp / f"{error}.h5", y, model=None if is_log else tmp / "noisy.ode", priors=priors if is_log else None,
                        sigma=0.05 if is_log else None,
                        parameters={"name": ["k", "A"], "start": [3.0, 6.0], "scale": ["lin", "lin"]} if is_log else None)

        def objective(x, is_log=is_log):
            k, a = x[:2]
            m = a * np.exp(-k * T)
            if is_log:
                return np.sum((np.log(m / y[0]) / 0.05) ** 2) / 2 + np.hypot((k - 0.45) / 0.01, 1e-2) if a > 0 else 1e9
            s = x[2] + x[3] * m
            return density("laplace")(y[0], m, s).sum() if 0.02 <= x[2] <= 1 and 0.05 <= x[3] <= 1 else 1e9
        fits = h.run(problem, "--error", error, "--max-evaluations", "5000", *EXACT)
        start = [3.0, 6.0] if is_log else [3.0, 6.0, 0.02, 0.4]
        scipy = minimum(objective, [start, [0.45, 2.0] + start[2:]])
        found = fits["objective"][0]
        assert fits["status"][0] == "converged" and abs(found - scipy.fun) <= 1e-6 * abs(scipy.fun), (error, found, scipy.fun,
                                                                                                      scipy.x, fits)


def test_uniform_prior_is_bounds(tmp):
    y = outlying(n=2)
    plain = h.run(write(tmp / "plain.h5", y))
    assert np.all(plain["parameters"][:, 0] < 0.5)
    priors = {"prior": ["uniform", "uniform"], "prior_on": ["optimizer", "natural"],
              "prior_lower": [np.log(0.5), -np.inf], "prior_upper": [np.log(0.9), 3.0]}
    fits = h.run(write(tmp / "uniform.h5", y, sigma=None, priors=priors))
    np.testing.assert_allclose(fits["parameters"][:, 0], 0.5, rtol=1e-14)
    assert np.all(fits["at_bound"] == [-1, 0])


def refused(problem, *words, code=3, options=()):
    done = h.stiffit("run", problem, "--trust", *options, code=code)
    for word in words:
        assert word in done.stderr, (word, done.stderr)


def test_refused_censoring(tmp):
    y, side = outlying(n=2), np.zeros((2, len(T)))
    for wrong, text in ((2, "is 2;"), (0.5, "is not a whole number"), (np.nan, "is not a whole number")):
        bad = side.copy()
        bad[1, 3] = wrong
        refused(write(tmp / f"{wrong}.h5", y, censored=bad), "/measurements/censored row 15", '"d1"', text)
    side[1, 5] = 1
    for error in ("laplace", "huber", "student"):
        refused(write(tmp / f"{error}.h5", y, censored=side), "/measurements/censored", f"--error {error}",
                options=("--error", error))
    fits = h.run(write(tmp / "unknown.h5", y, sigma=None, censored=side), code=1)
    assert list(fits["status"]) == ["converged", "bad_data"] and "row 12: sigma " in fits["message"][1], fits["message"]
    refused(write(tmp / "huber-unknown.h5", y, sigma=None), "/measurements/sigma is missing", "--error huber",
            options=("--error", "huber"))
    problem = write(tmp / "name.h5", y)
    with h5py.File(problem, "a") as f:
        f["measurements/censord"] = side.ravel()
    refused(problem, "/measurements/censord", "/measurements/censored")
    table = tmp / "line.csv"
    table.write_text("time,value,censored\n1,2,no\n")
    done = h.stiffit("import", table, "--model", h.model("decay"), "-o", tmp / "no.h5", code=3)
    assert "line.csv" in done.stderr and "'no' is not one of" in done.stderr, done.stderr


def test_refused_priors(tmp):
    good = {"prior": ["normal", "none"], "prior_location": [0.5, 0], "prior_scale": [0.1, 0]}
    nan = np.nan
    for number, (change, words) in enumerate((
            ({"prior_scale": [0.0, 1]}, ("/parameters/prior_scale row 0 (k)", "is 0; it must be > 0")),
            ({"prior_scale": [-1.0, 1]}, ("/parameters/prior_scale row 0 (k)", "is -1")),
            ({"prior_scale": [nan, 1]}, ("/parameters/prior_scale row 0 (k)", "is NaN")),
            ({"prior_location": [nan, 1]}, ("/parameters/prior_location row 0 (k)", "is NaN")),
            ({"prior_location": [np.inf, 1]}, ("/parameters/prior_location row 0 (k)", "is infinite")),
            ({"prior_location": [1.0]}, ("/parameters/prior_location: has 1 entries for 2 parameters",)),
            ({"prior_location": np.ones((2, 2))}, ("/parameters/prior_location: is 2 x 2", "one number per parameter")),
            ({"prior": ["norml", "none"]}, ("/parameters/prior row 0 (k)", '"norml"', 'did you mean "normal"')),
            ({"prior": ["log-normal", "none"], "prior_on": ["optimizer", "natural"]},
             ("/parameters/prior_on row 0 (k)", "already a logarithm")),
            ({"prior": ["uniform", "none"]}, ("/parameters/prior_lower is missing", "uniform prior of k")),
            ({"prior": ["uniform", "none"], "prior_lower": [2.0, nan], "prior_upper": [1.0, nan]},
             ("/parameters/prior_lower row 0 (k)", "not below the upper end 1")),
            ({"prior": None}, ("/parameters/prior is missing",)),
            ({"prior_locatoin": [0.5, 1]}, ("/parameters/prior_locatoin", "/parameters/prior_location")))):
        priors = {name: value for name, value in {**good, **change}.items() if value is not None}
        refused(write(tmp / f"{number}.h5", outlying(n=1), priors=priors, parameters={"name": ["k", "A"]}), *words)
    refused(write(tmp / "unknown.h5", outlying(n=1), sigma=None, priors=good), "/measurements/sigma is missing", "a prior")
    fits = h.run(write(tmp / "disjoint.h5", outlying(n=1), parameters={"name": ["k", "A"], "lower": [[2.0, 0.1]]},
                       priors={"prior": ["uniform", "none"], "prior_lower": [0.1, 0], "prior_upper": [1.0, 0]}), code=1)
    assert "uniform prior bounds it" in fits["message"][0], fits["message"]


def test_identity(tmp):
    """Another objective or prior is another run: its result is not taken for this one's."""
    problem = write(tmp / "p.h5", outlying(n=1))
    h.run(problem)
    assert "huber" in h.stiffit("run", problem, "--trust", "--error", "huber", code=4).stderr
    with h5py.File(problem, "a") as f:
        for name, value in (("prior", ["none", "normal"]), ("prior_location", [0, 2.0]), ("prior_scale", [0, 1.0])):
            f[f"parameters/{name}"] = value
    h.stiffit("run", problem, "--trust", code=4)


if __name__ == "__main__":
    h.main()
