"""`stiffit run --evaluate`: objective, log-likelihood, log-prior and gradient at the start, without a search.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import json
import math

import h5py
import numpy as np
from scipy import stats

import helpers as h

TIMES = np.linspace(0.2, 3, 6)
MODEL = """parameter k = 0.5 in [1e-3, 10] scale log10
parameter A = 2
parameter s = 0.3 scale log
x(0) = A
x' = -k*x
observe y = x{sd}
"""
# Central differences of closed forms with steps of 1e-6 are accurate to 1e-9; the integrator's errors at rtol 1e-10 are larger,
# and those of differences of whole evaluations are some 1e-7.
GRADIENT = dict(rtol=1e-6, atol=1e-6)


def write(path, n=3, has_sd=True, start=None, **more):
    """n datasets; returns the starts (n x 3) and the values (n x 6)."""
    rng = np.random.default_rng(1)
    start = np.array([[0.6, 1.5, 0.2]]*n) + 0.01*np.arange(n)[:, None]*[0, 1, 0] if start is None else np.array(start, float)
    values = np.array([(2 + 0.1*i)*np.exp(-0.5*TIMES) + 0.05*rng.normal(size=6) for i in range(n)])
    names = ["k", "A", "s"] if has_sd else ["k", "A"]
    text = MODEL.format(sd=" sd s") if has_sd else MODEL.format(sd="").replace("parameter s = 0.3 scale log\n", "")
    tables = {"parameters/name": names, "parameters/start": start[:, :len(names)], "datasets/id": [f"d{i}" for i in range(n)],
              "measurements/dataset": np.repeat(np.arange(n), 6), "measurements/time": np.tile(TIMES, n),
              "measurements/value": values.ravel(), **more}
    with h5py.File(path, "w") as f:
        f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
        f["model/source"] = text
        for name, table in tables.items():
            f[name] = table
    return start[:, :len(names)], values


def objective(p, values):
    """The negative log-likelihood or, without sigma, half the sum of squares."""
    residual = values - p[1]*np.exp(-p[0]*TIMES)
    return -stats.norm.logpdf(residual, scale=p[2]).sum() if len(p) > 2 else 0.5*np.sum(residual**2)


def slope(f, p):
    found = []
    for j in range(len(p)):
        step = np.zeros(len(p))
        step[j] = 1e-6*p[j]
        found.append((f(p + step) - f(p - step))/(2*step[j]))
    return np.array(found)


def evaluate(problem, *options, code=0):
    result = problem.parent / "r.h5"
    done = h.stiffit("run", problem, "-o", result, "--overwrite", "--evaluate", "--rtol", 1e-10, *options, code=code)
    with h5py.File(result) as f:
        names = h5py.check_enum_dtype(f["fits/status"].dtype)
        fits = {name: f["fits"][name][:] for name in f["fits"]}
    words = {number: name for name, number in names.items()}
    fits["status"] = [words[number] for number in fits["status"]]
    return fits, done


def check(fits, start, values, likelihood=True, freedom=6):
    for i, p in enumerate(start):
        f = lambda at: objective(at, values[i])
        assert fits["status"][i] == "evaluated"
        assert abs(fits["objective"][i] - f(p)) <= 1e-8*max(1, abs(f(p))), (i, fits["objective"][i], f(p))
        assert np.allclose(fits["objective_gradient"][i], slope(f, p), **GRADIENT), (i, fits["objective_gradient"][i])
        if likelihood:
            assert abs(fits["log_likelihood"][i] + f(p)) <= 1e-7, (i, fits["log_likelihood"][i])
        assert fits["degrees_of_freedom"][i] == freedom and np.all(np.isnan(fits["standard_error"][i]))
        assert np.array_equal(fits["parameters"][i], p) and fits["iterations"][i] == 0
        assert np.isnan(fits["aic"][i]) and np.isnan(fits["tight_objective_change"][i])


def test_every_engine_and_gradient(tmp):
    start, values = write(tmp / "p.h5")
    for options in ((), ("--engine", "lanes"), ("--engine", "cvodes"), ("--gradient", "differences"), ("--gradient", "adjoint"),
                    ("-j", 2), ("--optimizer", "lbfgs"), ("--certify", "yes", "--ftol", 0.1), ("--share", "k"),
                    ("--share", "k,s"), ("--share", "k", "--gradient", "differences"), ("--share", "k,s", "--engine", "cvodes"),
                    ("--share", "k", "--leave-out-failed")):
        fits, done = evaluate(tmp / "p.h5", *options)
        check(fits, start, values, freedom=18 if "--share" in options else 6)
        assert "3 fits, 3 evaluated, 0 failed" in done.stderr, done.stderr
        assert not fits["notes"].any() or "differences" in options, fits["notes"]


def test_groups(tmp):
    """Shared by plates, which are fits of their own, or by these and by all."""
    tables = {"datasets/covariate_names": ["plate"], "datasets/covariates": [[0.0], [0.0], [1.0]]}
    start, values = write(tmp / "p.h5", **tables)
    for share, freedom in (("k@plate", [12, 12, 6]), ("k@plate,s", [18]*3)):
        fits, _ = evaluate(tmp / "p.h5", "--share", share)
        for i in range(3):
            check({name: column[i:i + 1] for name, column in fits.items()}, start[i:i + 1], values[i:i + 1],
                  freedom=freedom[i])


def test_unknown_sigma(tmp):
    """The likelihood is the largest one over sigma, which a shared fit has in common."""
    start, values = write(tmp / "p.h5", has_sd=False)
    fits, _ = evaluate(tmp / "p.h5")
    check(fits, start, values, likelihood=False)
    for i, p in enumerate(start):
        sigma = math.sqrt(2*objective(p, values[i])/6)
        assert abs(fits["log_likelihood"][i] + objective([*p, sigma], values[i])) <= 1e-7
    fits, _ = evaluate(tmp / "p.h5", "--share", "k")
    check(fits, start, values, likelihood=False, freedom=18)
    sigma = math.sqrt(2*sum(map(objective, start, values))/18)
    for i, p in enumerate(start):
        assert abs(fits["log_likelihood"][i] + objective([*p, sigma], values[i])) <= 1e-7


def test_what_is_printed(tmp):
    start, values = write(tmp / "p.h5", 1)
    fits, done = evaluate(tmp / "p.h5", "--json")
    said, f = json.loads(done.stdout), objective(start[0], values[0])
    assert said["status"]["evaluated"] == 1 and said["failed"] == 0 and "starts_at_optimum" not in said
    assert abs(said["objective"] - f) <= 1e-8 and abs(said["log_likelihood"] + f) <= 1e-7 and said["log_prior"] is None
    shown = h.stiffit("show", tmp / "r.h5", "--id", "d0").stdout
    assert shown.startswith("d0: evaluated\n") and f"d objective / d parameter {fits['objective_gradient'][0][0]:.10g}" in shown
    assert "evaluated               1" in h.stiffit("show", tmp / "r.h5").stdout
    table = list(csv.DictReader(h.stiffit("export", tmp / "r.h5").stdout.splitlines()))
    assert float(table[0]["objective_gradient_A"]) == fits["objective_gradient"][0][1]
    h.stiffit("run", tmp / "p.h5", "-o", tmp / "fit.h5")
    with h5py.File(tmp / "fit.h5") as f:
        assert "objective_gradient" not in f["fits"]


def test_beyond_the_bounds(tmp):
    """Values are taken as they are; the density of a prior is 0 there."""
    start, values = write(tmp / "p.h5", 2, start=[[20, 1.5, 0.2], [0.6, 1.5, 0.2]])
    for options in ((), ("--gradient", "differences"), ("--engine", "cvodes")):
        check(evaluate(tmp / "p.h5", *options)[0], start, values)
    nan = math.nan
    prior = {"parameters/prior": ["normal", "none", "none"], "parameters/prior_location": [0.5, nan, nan],
             "parameters/prior_scale": [0.2, nan, nan]}
    start, values = write(tmp / "p.h5", 2, start=start, **prior)
    for options in ((), ("--share", "s")):
        fits, _ = evaluate(tmp / "p.h5", *options)
        inside = stats.truncnorm((1e-3 - 0.5)/0.2, (10 - 0.5)/0.2, 0.5, 0.2).logpdf(0.6)
        assert fits["log_prior"][0] == -math.inf and abs(fits["log_prior"][1] - inside) <= 1e-12, fits["log_prior"]
        # The objective has the prior's part that depends on the parameter.
        f = lambda p: objective(p, values[1]) + 0.5*((p[0] - 0.5)/0.2)**2
        assert np.allclose(fits["objective_gradient"][1], slope(f, start[1]), **GRADIENT)
        assert abs(fits["log_likelihood"][1] + objective(start[1], values[1])) <= 1e-7


def test_what_is_refused(tmp):
    """What asks for several fits; in /options it is ignored. Datasets that cannot be evaluated fail."""
    start, values = write(tmp / "p.h5")
    for words in (("--starts", 3), ("--profile", "k"), ("--bootstrap", 40), ("--keep-starts",), ("--warm-start", "pilot"),
                  ("--retry-failed",)):
        done = h.stiffit("run", tmp / "p.h5", "--evaluate", *words, "-o", tmp / "no.h5", code=2)
        assert f"--evaluate and {words[0]} exclude each other" in done.stderr, done.stderr
    with h5py.File(tmp / "p.h5", "r+") as f:
        f.require_group("options").attrs.update({"starts": 5, "profile": "all", "bootstrap": 40, "keep_starts": 1,
                                                 "optimizer": "lbfgs"})
    fits, done = evaluate(tmp / "p.h5")
    check(fits, start, values)
    assert fits["evaluations"].tolist() == [1]*3
    start[1, 2] = -1
    write(tmp / "q.h5", start=start)
    fits, done = evaluate(tmp / "q.h5", code=1)
    assert fits["status"] == ["evaluated", "bad_data", "evaluated"], fits["status"]


def test_fits_with_adjoint_gradients_have_a_likelihood(tmp):
    """Also where their budget ends before the derivatives of all residuals are known."""
    start, values = write(tmp / "p.h5", 1)
    for n in (1, 3):
        h.stiffit("run", tmp / "p.h5", "-o", tmp / "a.h5", "--overwrite", "--optimizer", "lbfgs", "--gradient", "adjoint",
                  "--max-evaluations", n, "--rtol", 1e-10, code=1)
        with h5py.File(tmp / "a.h5") as f:
            fits = {name: f["fits"][name][0] for name in ("log_likelihood", "objective", "parameters", "chi_square", "aic")}
        p = fits["parameters"]
        assert abs(fits["log_likelihood"] + objective(p, values[0])) <= 1e-7 and abs(fits["aic"] - 2*(
            objective(p, values[0]) + 3)) <= 1e-6, fits
        assert abs(fits["chi_square"] - np.sum(((values[0] - p[1]*np.exp(-p[0]*TIMES))/p[2])**2)) <= 1e-6


if __name__ == "__main__":
    h.main()
