"""What show, run and export say of a population.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import subprocess
import sys

import h5py
import numpy as np

import helpers as h
import mixed
import population_group
from test_random_options import problem


def fitted(tmp, name="a", **population):
    path, model = problem(tmp / f"{name}.h5")
    h.stiffit("run", path, "--model", model, "--random", "k,V", "--share", "A,s", code=(0, 1))
    result = h.result_path(path)
    population_group.write(result, **(dict(
        name=["k", "V"], scale=["log", "log"], mean=[-1.2, 0.7],
        covariance=[[0.04, 0.01], [0.01, 0.09]], shared=[("A", 1.0), ("s", 0.1)], error=0.02,
        n_left_out=1) | population))
    return result


def test_text(tmp):
    text = h.stiffit("show", fitted(tmp)).stdout
    lines = [line.split() for line in text.splitlines()]
    assert "Population of 10 datasets" in text and "1 dataset was left out" in text, text
    assert "-2 log L 100 +- 0.02 (exact likelihood), AIC 114, BIC 116.118" in text, text
    row = next(line for line in lines if line[:1] == ["k"] and len(line) == 10)
    # typical value exp(-1.2), deviation 0.2 with error 0.1/(2*0.2) and an interval by its logarithm, coefficient of variation
    factor = np.exp(1.959964 * 0.25 / 0.2)
    np.testing.assert_allclose([float(x) for x in row[1:] if x != "to"], [
        np.exp(-1.2), 0.1, 0.2, 0.25, 0.2 / factor, 0.2 * factor, 100 * np.sqrt(np.expm1(0.04)), 0.25], rtol=5e-3)
    assert ["k", "V", "0.1667"] in lines, text
    assert any(line[:3] == ["s", "0.1", "0.1"] for line in lines), text


def test_zero_variance(tmp):
    text = h.stiffit("show", fitted(tmp, covariance=[[0.04, 0], [0, 0]], likelihood="laplace",
                                    error=0, shared=())).stdout
    assert "no variance was found" in text and "Laplace's approximation" in text, text
    assert "Correlations" not in text and "+-" not in text, text


def test_correlation_at_its_border(tmp):
    """Two parameters that vary as one: the covariance is singular, its estimates have no standard errors, and show says so."""
    b = np.random.default_rng(3).standard_normal(8)
    rows = [(d, t, 0, (10 + x) + (2 + 0.5 * x) * t + 0.3 * np.cos(7 * d + 5 * t), np.nan) for d, x in enumerate(b)
            for t in (0.5, 1, 2, 3)]
    path, *model = mixed.write(tmp / "p.h5", "parameter A = 9\nparameter k = 1\nparameter s = 0.2 in [1e-3, 10] scale log\n"
                               "observe y = A + k*t sd s\n", rows)
    found = mixed.run([path, *model], "--random", "A,k", "--share", "s")
    assert found["correlation"][0, 1] == 1
    errors = dict(zip(found["estimate_name"], found["standard_error"]))
    text = h.stiffit("show", h.result_path(path)).stdout
    assert "at its border" in text and "--random-covariance diagonal" in text, text
    for name, error in errors.items():
        assert np.isnan(error) == (name in ("var(A)", "cov(A,k)", "var(k)")), errors
    assert "at its border" not in h.stiffit("show", fitted(tmp)).stdout


def test_high_condition(tmp):
    """Estimates that cannot be told apart: the condition number says so."""
    result = fitted(tmp)
    with h5py.File(result, "a") as f:
        f["population"].attrs["condition_number"] = 3e7
    text = h.stiffit("show", result).stdout
    assert "condition number 3e+07, which is high: some of them cannot be told apart" in text, text


def test_json(tmp):
    result = fitted(tmp)
    found = json.loads(h.stiffit("show", result, "--json").stdout)["population"]
    assert found["minus_2_log_likelihood"] == 100 and found["left_out"] == 1
    assert [one["name"] for one in found["estimates"]] == [
        "mean(k)", "mean(V)", "var(k)", "cov(k,V)", "var(V)", "A", "s"]
    assert found["covariance"] == [[0.04, 0.01], [0.01, 0.09]]
    assert found["random"][1]["natural_mean"] == np.exp(0.7)
    assert [(one["name"], one["value"]) for one in found["shared"]] == [("A", 1.0), ("s", 0.1)]
    # the same run again is complete, and says so of its population, too
    problem_path = str(result).replace(".result.h5", ".h5")
    done = h.stiffit("run", problem_path, "--model", str(problem_path)[:-3] + ".ode", "--random",
                     "k,V", "--share", "A,s", "--json", code=(0, 1))
    assert "population: -2 log L 100 +- 0.02 (exact), 7 estimates" in done.stderr, done.stderr
    assert "1 of 11 datasets were left out" in done.stderr, done.stderr
    said = json.loads(done.stdout)["population"]
    expected = {"likelihood": "exact", "minus_2_log_likelihood": 100,
                "minus_2_log_likelihood_error": 0.02, "aic": 114, "bic": 100 + 7 * np.log(10),
                "datasets": 10, "left_out": 1}
    assert said.pop("estimates") == 7 and said.items() >= expected.items(), said
    # All that a run says of it is in `show` and, with the same words, in the report.
    assert said.items() <= found.items() and "condition_number" in said, (said, found)
    h.stiffit("report", result, "-o", tmp / "r.html")
    page = (tmp / "r.html").read_text(encoding="utf-8")
    assert "<td>-2 log L</td><td class=n>100</td>" in page and "<td>AIC</td><td class=n>114</td>" in page


def test_columns(tmp):
    result = fitted(tmp)
    with h5py.File(result, "a") as f:
        f["fits/random_mean"][:, 0] = 0.5
        f["fits/minus_2_log_likelihood"][:] = 7.25
    head, row = h.stiffit("export", result).stdout.splitlines()[:2]
    row = dict(zip(head.split(","), row.split(",")))
    assert row["random_mean_k"] == "0.5" and row["minus_2_log_likelihood"] == "7.25", row
    assert "effective_points" in row and "random_deviation_V" in row
    shown = h.stiffit("show", result, "--where", "minus_2_log_likelihood > 7").stdout
    assert "4 of 4" in shown or "4 fits" in shown, shown
    assert "contribution to -2 log L 7.25" in h.stiffit("show", result, "--id", "d0").stdout


def test_the_group_of_a_run(tmp):
    """What the finisher writes agrees with itself and with /fits; in the problem file, too."""
    path, model = problem(tmp / "a.h5", 12)
    words = ("--model", model, "--random", "k,V", "--share", "A,s")
    h.stiffit("run", path, *words)
    h.stiffit("run", path, *words, "--in-place")
    h.stiffit("run", path, *words, "--in-place", "--overwrite")
    for file in (h.result_path(path), path):
        with h5py.File(file) as f:
            g = {name: data[()] for name, data in f["population"].items()}
            at = dict(f["population"].attrs)
            fits = {name: f["fits"][name][()] for name in (
                "random_mean", "random_deviation", "minus_2_log_likelihood", "parameters")}
        assert [n.decode() for n in g["estimate_name"]] == [
            "mean(k)", "mean(V)", "var(k)", "cov(k,V)", "var(V)", "A", "s"]
        assert (at["n_estimate"], at["n_dataset"], at["n_left_out"], at["n_measurement"]) == (
            7, 12, 0, 96)
        np.testing.assert_allclose(g["natural_mean"], np.exp(g["mean"]), rtol=1e-14)
        np.testing.assert_allclose(g["standard_deviation"]**2, np.diag(g["covariance"]), rtol=1e-14)
        np.testing.assert_allclose(g["estimate"][:5], np.concatenate(
            [g["mean"], g["covariance"][np.tril_indices(2)]]), rtol=1e-14)
        np.testing.assert_allclose(g["estimate"][5:], [g["shared"][0], np.log(g["shared"][1])],
                                   rtol=1e-14)
        np.testing.assert_allclose(g["standard_error"]**2, np.diag(g["estimate_covariance"]),
                                   rtol=1e-12)
        np.testing.assert_allclose(g["natural_standard_error"], g["natural_mean"]
                                   * g["standard_error"][:2], rtol=1e-14)
        np.testing.assert_allclose(fits["minus_2_log_likelihood"].sum(), at["minus_2_log_likelihood"],
                                   rtol=1e-12)
        np.testing.assert_allclose([at["aic"], at["bic"]], at["minus_2_log_likelihood"] + 7 * np.array(
            [2, np.log(12)]), rtol=1e-14)
        # conditional means are near the modes, and shrunken towards the mean
        mean = fits["random_mean"]
        assert np.all(np.isnan(mean[:, 2:])) and np.all(np.isnan(fits["random_deviation"][:, 2:]))
        assert np.all(abs(mean[:, :2] - np.log(fits["parameters"][:, :2]))
                      <= fits["random_deviation"][:, :2] + 1e-12)
        assert np.all(fits["parameters"][:, 2:] == g["shared"])


def test_other_commands(tmp):
    """What means independent fits does not take them; the Python package knows the population."""
    result = fitted(tmp)
    done = h.stiffit("population", result, code=3)
    assert "its parameters are random" in done.stderr, done.stderr
    model = str(result).replace(".result.h5", ".ode")
    done = h.stiffit("export", result, "--petab", tmp / "petab", "--model", model, code=2)
    assert "random parameters, which PEtab has not" in done.stderr, done.stderr
    done = h.stiffit("show", result, "--id", "d1")
    assert "nan ... nan" not in done.stdout, done.stdout


@h.more
def test_python(tmp):
    try:
        import pandas  # noqa: F401
    except ImportError:
        h.skip("no pandas")
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import stiffit; "
            "print(stiffit.read(sys.argv[2]).population().parameters['mean'].iloc[0])")
    done = subprocess.run([sys.executable, "-c", code, h.ROOT / "scripts/python", fitted(tmp)],
                          env=h.environment(STIFFIT=h.STIFFIT), capture_output=True, text=True,
                          check=True)
    assert float(done.stdout) == -1.2


def test_other_results_have_none_of_it(tmp):
    path, model = problem(tmp / "a.h5")
    h.stiffit("run", path, "--model", model, "--share", "s", code=(0, 1))
    with h5py.File(h.result_path(path)) as f:
        assert "population" not in f and not [name for name in f["fits"] if "random" in name]


def test_damaged_group(tmp):
    result = fitted(tmp)
    with h5py.File(result, "a") as f:
        del f["population/covariance"]
        f["population/covariance"] = np.ones((3, 2))
    done = h.stiffit("show", result, code=3)
    assert "/population/covariance" in done.stderr, done.stderr


if __name__ == "__main__":
    h.main()
