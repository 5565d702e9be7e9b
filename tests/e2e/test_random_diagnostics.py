"""Diagnostics of a population: CWRES, NPD, NPDE and prediction-corrected quantiles, with the formulae of their papers coded
anew on what `run` and `simulate --population` write.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import io

import h5py
import numpy as np
from scipy import stats

import helpers as h
import mixed
from test_mixed_occasions import WORDS as OCCASION_WORDS
from test_mixed_occasions import Data
from test_plot import script_of
from test_random_options import T
from test_random_report import SHARE, page_of
from test_random_show import fitted
from test_random_simulate import simulate
import test_report
from test_report import close

K = 200
COVARIANCE = np.array([[0.04, 0.01], [0.01, 0.09]])  # what `fitted` puts into the result


def diagnostics(result, *words, code=0):
    done = h.stiffit("export", result, "--what", "diagnostics", "--model", str(result).replace(".result.h5", ".ode"), *words,
                     code=code)
    if code:
        return done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    return {name: np.array([row[name] for row in rows], str if name in ("dataset", "experiment", "observable", "censored")
                           else float) for name in rows[0]}


def replicates(result, n, name="vpc"):
    """By measurement of the file, replicate."""
    path, _ = simulate(result, n=n, name=name)
    with h5py.File(path) as f:
        value = f["measurements/value"][()]
        dataset = f["measurements/dataset"][()] if "dataset" in f["measurements"] else \
            f["experiments/dataset"][()][f["measurements/experiment"][()]]
    return [value[dataset // n == d].reshape(n, -1).T for d in range(dataset.max() // n + 1)]


def root(v):
    """The inverse of the symmetric square root."""
    values, vectors = np.linalg.eigh(v)
    return vectors / np.sqrt(values) @ vectors.T


def decorrelated(y, replicate):
    """Scores of Brendel et al. 2006; replicate: measurement, replicate."""
    factor = np.linalg.inv(np.linalg.cholesky(np.cov(replicate)))
    mean = replicate.mean(1)
    rank = (factor @ (replicate - mean[:, None]) < (factor @ (y - mean))[:, None]).sum(1)
    return stats.norm.ppf((rank + 0.5) / (replicate.shape[1] + 1))


def test_nonlinear(tmp):
    """All columns for V exp(-k t) + A, in the order of the file."""
    result = fitted(tmp)
    found = diagnostics(result, "--replicates", K)
    with h5py.File(str(result).replace(".result", "")) as f:
        y = f["measurements/value"][()].reshape(4, len(T))
    with h5py.File(result) as f:
        k, v, a, s = f["fits/parameters"][()].T
    curve = v[:, None] * np.exp(-k[:, None] * T)
    close(found["population_prediction"], np.tile(np.exp(0.7 - np.exp(-1.2) * T) + 1.0, 4))
    close(found["individual_prediction"], (curve + a[:, None]).ravel())
    close(found["iwres"], ((y - curve - a[:, None]) / s[:, None]).ravel())
    by = np.stack([-k[:, None] * T * curve, curve], axis=-1)  # by log k and log V
    eta = np.log(np.column_stack([k, v])) - [-1.2, 0.7]
    expected = curve + a[:, None] - np.einsum("dti,di->dt", by, eta)
    cwres = [root(g @ COVARIANCE @ g.T + sigma**2 * np.eye(len(T))) @ r for g, sigma, r in zip(by, s, y - expected)]
    # differences of predictions, over 0.01 standard deviations, are good to 1e-4
    np.testing.assert_allclose(found["cwres"], np.ravel(cwres), atol=1e-3)
    of = replicates(result, K)
    rank = [(r < z[:, None]).sum(1) for r, z in zip(of, y)]
    close(found["npd"], stats.norm.ppf((np.ravel(rank) + 0.5) / (K + 1)))
    close(found["median"], np.ravel([np.median(r, axis=1) for r in of]))
    close(found["npde"], np.ravel([decorrelated(z, r) for r, z in zip(of, y)]))
    # 8 measurements need 64 replicates
    assert np.all(np.isnan(diagnostics(result, "--replicates", 63)["npde"]))
    assert np.all(np.isfinite(diagnostics(result, "--replicates", 64)["npde"]))
    one = diagnostics(result, "--replicates", K, "--id", "d2")
    assert np.array_equal(one["npde"], found["npde"][2 * len(T):3 * len(T)])


@h.more
def test_linear_closed_form_with_occasions(tmp):
    """log y is linear: CWRES are those of the normal distribution of log y, whatever the mode; experiments differ, too."""
    data = Data(12, 5, by_experiment=0.3)
    problem = data.write(tmp / "p.h5")
    found = mixed.run(problem, *OCCASION_WORDS)
    result = h.result_path(problem[0])
    table = diagnostics(result, "--replicates", K)
    mean, variance = found["mean"], np.diag(found["covariance"])
    by_experiment, sigma = found["occasion_deviation"][0], found["shared"][0]
    assert by_experiment > 0.1
    wanted, individual = [], []
    for d in range(data.n):
        mine = data.dataset[data.experiment] == d
        t, z, e = data.t[mine], np.log(data.y[mine]), data.experiment[mine]
        x = np.column_stack([-t, np.ones_like(t), *(np.where(e == one, -t, 0) for one in np.unique(e))])
        c = np.diag([*variance, *[by_experiment**2] * len(np.unique(e))])
        v = x @ c @ x.T + sigma**2 * np.eye(len(t))
        residual = z - mean[1] + mean[0] * t
        wanted.append(root(v) @ residual)
        individual.append(np.exp(z - residual + x @ c @ x.T @ np.linalg.solve(v, residual)))
    np.testing.assert_allclose(table["individual_prediction"], np.concatenate(individual), rtol=1e-3)
    np.testing.assert_allclose(table["cwres"], np.concatenate(wanted), atol=2e-3)
    # replicates have the covariance of the model, that of occasions included
    d = next(d for d in range(data.n) if np.sum(data.dataset == d) == 2)
    of = np.log(replicates(result, 2000)[d])
    mine = data.dataset[data.experiment] == d
    t, e = data.t[mine], data.experiment[mine]
    v = variance[0] * np.outer(t, t) + variance[1] + by_experiment**2 * np.outer(t, t) * (e[:, None] == e) \
        + sigma**2 * np.eye(len(t))
    error = np.sqrt((v**2 + np.outer(np.diag(v), np.diag(v))) / 2000)
    assert len(np.unique(e)) > 1 and np.all(np.abs(np.cov(of) - v) < 4.5 * error), (np.cov(of) - v) / error
    with h5py.File(tmp / "vpc.h5") as f:
        assert f["options"].attrs["random"] == b"k,A,k@experiment", f["options"].attrs["random"]


def correct(y, typical, groups, by_difference=False):
    """Bergstrand et al. 2011: y of shape n or n x replicates."""
    out = np.array(y, float)
    for group in groups:
        shape = (-1,) + (1,) * (out.ndim - 1)
        middle, own = np.median(typical[group]), typical[group].reshape(shape)
        out[group] = out[group] + middle - own if by_difference else out[group] * (middle / own)
    return out


def check_corrected(tmp, change, by_difference):
    """Doses of 1 to 4: the quantiles of corrected values."""
    text = f"""covariate dose
parameter k = 0.3 in [1e-3, 1e2] scale log
parameter V = 2 in [1e-3, 1e3] scale log
parameter s = 0.1 in [1e-3, 10] scale log
observe y = dose*V*exp(-k*t) - {change} sd s
"""
    n, rng = 30, np.random.default_rng(4)
    dose = np.repeat([1.0, 2, 4], n // 3)
    k, v = np.exp(rng.normal(np.log(0.3), 0.2, n)), np.exp(rng.normal(np.log(2), 0.2, n))
    rows = [(d, t, 0, dose[d] * v[d] * np.exp(-k[d] * t) - change + 0.1 * rng.standard_normal(), np.nan)
            for d in range(n) for t in T]
    problem = mixed.write(tmp / "c.h5", text, rows, covariates={"dose": dose})
    found = mixed.run(problem, "--random", "k,V", "--share", "s", code=(0, 1))
    result = h.result_path(problem[0])
    check, = page_of(result).data["population"]["checks"]
    assert check["differs"] == by_difference
    y = np.array(rows)[:, 3]
    of = np.concatenate(replicates(result, K))
    k, v = np.exp(found["mean"])
    typical = (dose[:, None] * v * np.exp(-k * T) - change).ravel()
    groups = [np.arange(i, len(y), len(T)) for i in range(len(T))]
    y, of = correct(y, typical, groups, by_difference), correct(of, typical, groups, by_difference)
    bins = np.array(check["corrected"])
    close(bins[:, [1, 5, 9]], [np.quantile(y[group], SHARE) for group in groups])
    quantile = np.array([np.quantile(of[group], SHARE, axis=0) for group in groups])  # group, share, replicate
    for i, share in enumerate((0.05, 0.5, 0.95)):
        close(bins[:, [2 + i, 6 + i, 10 + i]], np.quantile(quantile, share, axis=2))
    # doses widen what is not corrected
    plain = np.array(check["bins"])
    assert np.all(plain[:3, 9] - plain[:3, 1] > 2 * (bins[:3, 9] - bins[:3, 1]))
    script, _ = script_of(tmp, result, "--vpc", "--prediction-corrected", "--model", problem[2])
    rows = [[float(x) for x in line.split()] for line in
            script.split("$bins_0 <<EOD\n")[1].split("\nEOD")[0].split("\n")]
    close(check["corrected"], rows)
    assert ("corrected by differences" if by_difference else "prediction-corrected") in script


def test_corrected_by_ratios(tmp):
    check_corrected(tmp, 0, False)


def test_corrected_by_differences(tmp):
    check_corrected(tmp, 1, True)


def test_censored(tmp):
    """A value below a limit: its score is that of one beyond the limit; quantiles stop at the limit on both sides."""
    result = fitted(tmp)
    problem = str(result).replace(".result", "")
    with h5py.File(problem, "a") as f:
        y = f["measurements/value"][()]
        limit = np.median(y[6::8])
        below = y < limit
        f["measurements/value"][:] = np.where(below, limit, y)
        f["measurements/censored"] = below.astype(np.int8)
    h.stiffit("run", problem, "--model", problem.replace(".h5", ".ode"), "--random", "k,V", "--share", "A,s", "--overwrite",
              code=(0, 1))
    found = diagnostics(result, "--replicates", K)
    of = np.concatenate(replicates(result, K))
    share = ((of < limit).sum(1) + 0.5) / (K + 1)
    assert np.array_equal(found["censored"] == "left", below) and below.sum() > 3, below.sum()
    assert np.all(found["npd"][below] < stats.norm.ppf(share[below])) and np.all(np.isnan(found["cwres"][below]))
    assert np.all(np.isfinite(found["npde"])) and np.all(np.isfinite(found["cwres"][~below]))
    bins = np.array(page_of(result).data["population"]["checks"][0]["bins"])
    last = np.arange(7, 32, 8)
    close(bins[7, [1, 5, 9]], np.quantile(np.maximum(y[last], limit), SHARE))
    close(bins[7, [2, 6, 10]], np.quantile(np.quantile(np.maximum(of[last], limit), SHARE, axis=0), 0.05, axis=1))


def test_intervals(tmp):
    """Of a value in an interval the scores are those of one in it, and so are the quantiles' values."""
    result = fitted(tmp)
    problem = str(result).replace(".result", "")
    with h5py.File(problem, "a") as f:
        y = f["measurements/value"][()]
        low, high = 0.4 * np.floor(y / 0.4), 0.4 * np.floor(y / 0.4) + 0.4
        is_left, is_cell = np.arange(len(y)) % 4 == 0, np.arange(len(y)) % 2 == 0
        f["measurements/value"][:] = np.where(is_cell, np.where(is_left, high, low), y)
        f["measurements/censored"] = np.where(is_cell, np.where(is_left, 1, -1), 0)
        f["measurements/limit"] = np.where(is_cell, np.where(is_left, low, high), np.nan)
    h.stiffit("run", problem, "--model", problem.replace(".h5", ".ode"), "--random", "k,V", "--share", "A,s", "--overwrite",
              code=(0, 1))
    found = diagnostics(result, "--replicates", K)
    of = np.concatenate(replicates(result, K))
    ends = [stats.norm.ppf((np.sum(of < end[:, None], axis=1) + 0.5) / (K + 1))[is_cell] for end in (low, high)]
    assert np.array_equal(found["censored"] == "interval", is_cell)
    close(found["limit"][is_cell], np.where(is_left, low, high)[is_cell])
    assert np.all(ends[0] <= found["npd"][is_cell]) and np.all(found["npd"][is_cell] <= ends[1])
    assert np.any(ends[0] < ends[1]) and np.all(np.isnan(found["cwres"][is_cell]))
    assert np.all(np.isfinite(found["npde"])) and np.all(np.isfinite(found["cwres"][~is_cell]))
    bins = np.array(page_of(result).data["population"]["checks"][0]["bins"])
    first = np.arange(0, 32, 8)  # four cells: the median is between the inner ones' ends
    middle = [np.mean(np.sort(end[first])[1:3]) for end in (low, high)]
    assert middle[0] <= bins[0, 5] <= middle[1], (bins[0], middle)


def test_charts_show_all_points(tmp):
    """Points come in any order: the axes of all charts contain them, in a browser."""
    if not test_report.browser():
        h.skip("no chromium is installed (scripts/install-deps all)")
    page = page_of(fitted(tmp))
    if "Chart.js" not in page.source:
        h.skip("built without the library of charts")
    said = test_report.clicked(page, tmp, "all.html", """
        addChart(document.body, "any order", () => ({type: "scatter", data: {datasets: [{data: [{x: 2, y: 1}, {x: 9, y: 2},
            {x: 3, y: 3}]}]}, options: frame("any", axis("", false), axis("", false))}));
        charts.forEach(draw);
        said.outside = charts.flatMap(({drawn, canvas}) => drawn.data.datasets.flatMap(set => set.data.filter(({x}) =>
            Number.isFinite(x) && !(x >= drawn.scales.x.min && x <= drawn.scales.x.max)).map(() => canvas.ariaLabel)));
        said.narrow = charts.filter(({drawn, canvas}) => [drawn.options.plugins.title.text].flat()
            .some(line => line.length > 40)).map(({canvas}) => canvas.ariaLabel);
        said.population = all("#population-box canvas").length""")
    assert said == {"outside": [], "narrow": [], "population": said["population"]} and said["population"] >= 8, said


def test_missing_and_without_fit(tmp):
    result = fitted(tmp)
    problem = str(result).replace(".result", "")
    with h5py.File(problem, "a") as f:
        f["measurements/value"][3] = np.nan
    h.stiffit("run", problem, "--model", problem.replace(".h5", ".ode"), "--random", "k,V", "--share", "A,s", "--overwrite",
              code=(0, 1))
    with h5py.File(result, "a") as f:
        f["fits/parameters"][1] = np.nan
    found = diagnostics(result, "--replicates", K)
    known = np.arange(32) != 3
    for name in ("npd", "npde"):
        assert np.array_equal(np.isfinite(found[name]), known), name
    assert np.array_equal(np.isfinite(found["cwres"]), known & (np.arange(32) // 8 != 1))


def test_variance_of_zero(tmp):
    """CWRES need no inverse of the covariance of the random parameters."""
    assert np.all(np.isfinite(diagnostics(fitted(tmp, covariance=[[0.04, 0], [0, 0]]), "--replicates", K)["cwres"]))


def test_refused(tmp):
    result = fitted(tmp)
    assert "--replicates works only with --what diagnostics" in h.stiffit("export", result, "--replicates", 50, code=2).stderr
    assert "--prediction-corrected works only with --vpc" in h.stiffit("plot", result, "--prediction-corrected", code=2).stderr
    done = h.stiffit("export", result, "--what", "diagnostics", "--id", "x9", code=2)
    assert f"{result}: has no dataset 'x9'" in done.stderr, done.stderr
    with h5py.File(result, "a") as f:
        del f["population"]
    assert "has no random parameters" in diagnostics(result, code=2)


if __name__ == "__main__":
    h.main()
