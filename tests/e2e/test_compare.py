"""`stiffit compare`: sums of criteria, weights and likelihood-ratio tests against NumPy and SciPy on closed forms; changes of
status and of parameters against what was changed.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import json

import h5py
import numpy as np
from scipy import stats

import helpers as h

SIGMA, N = 0.02, 40
T = np.linspace(0.5, 8, 16)
MODELS = {"small": "model small\nparameter k = 0.3 scale log\nparameter A = 2 scale log\ny(0) = A\ny' = -k*y\nobserve y\n",
          "large": "model large\nparameter k = 0.3 scale log\nparameter A = 2 scale log\nparameter c = 0.01\ny(0) = A\n"
                   "y' = -k*y\nobserve z = y + c\n",
          "line": "model line\nparameter a = 2\nparameter b = -0.2\ny(0) = a\ny' = b\nobserve y\n"}


def results(tmp, seed=5, *options):
    """Every second curve has an offset. Returns the data, and the paths of the results by model."""
    rng = np.random.default_rng(seed)
    k, a = rng.lognormal(-1, 0.2, N), rng.lognormal(0.7, 0.2, N)
    c = 0.2 * (np.arange(N) % 2)
    y = a[:, None] * np.exp(-k[:, None] * T) + c[:, None] + SIGMA * rng.standard_normal((N, len(T)))
    rows = np.column_stack([np.repeat(np.arange(N), len(T)), np.tile(T, N), np.zeros(y.size), y.ravel(),
                            np.full(y.size, SIGMA)])
    for name, text in MODELS.items():
        (tmp / f"{name}.ode").write_text(text)
        h.write_problem(tmp / f"{name}.h5", None, [f"d{i}" for i in range(N)], rows)
        h.stiffit("run", tmp / f"{name}.h5", "--model", tmp / f"{name}.ode", *options)
    return y, {name: h.result_path(tmp / f"{name}.h5") for name in MODELS}


def likelihoods(y, path):
    """From the parameters of the result and the closed forms."""
    p = h.read_fits(path)["parameters"]
    if "line" in str(path):
        curve = p[:, :1] + p[:, 1:] * T
    else:
        curve = p[:, 1:2] * np.exp(-p[:, :1] * T) + (p[:, 2:] if p.shape[1] > 2 else 0)
    return stats.norm.logpdf(y, curve, SIGMA).sum(axis=1)


def compare(*paths):
    return json.loads(h.stiffit("compare", *paths, "--json").stdout)


def test_criteria_and_likelihood_ratio(tmp):
    y, path = results(tmp)
    names = ["small", "large", "line"]
    said = compare(*(path[name] for name in names))
    ll = np.array([likelihoods(y, path[name]) for name in names])
    k = np.array([2, 3, 2])
    aic = 2 * k[:, None] - 2 * ll
    bic = np.log(len(T)) * k[:, None] - 2 * ll
    assert said["compared"] == said["datasets"] == N and said["other_data"] == 0
    for r, total in enumerate(said["results"]):
        assert abs(total["log_likelihood"] - ll[r].sum()) < 1e-3  # rtol 1e-7 in units of sigma, over all curves
        assert abs(total["aic"] - aic[r].sum()) < 2e-3 and abs(total["bic"] - bic[r].sum()) < 2e-3
        assert total["least_aic"] == np.sum(np.argmin(aic, axis=0) == r)
        assert total["least_bic"] == np.sum(np.argmin(bic, axis=0) == r)
    weight = np.exp(-0.5 * (aic.sum(axis=1) - aic.sum(axis=1).min()))
    assert np.allclose([total["aic_weight"] for total in said["results"]], weight / weight.sum(), atol=1e-3)
    (test,) = said["likelihood_ratio"]  # a line is no restriction of a decay
    statistic = 2 * (ll[1] - ll[0])
    p = stats.chi2.sf(statistic, 1)
    assert (test["small"], test["large"], test["tested"], test["degrees_of_freedom"]) == (1, 2, N, N)
    assert test["significant"] == np.sum(p < 0.05) and 15 < test["significant"] < 35
    assert abs(test["chi_square"] - statistic.sum()) < 2e-3 and test["worse"]["datasets"] == 0
    rows = list(csv.DictReader(h.stiffit("compare", path["small"], path["large"], "-o", "-").stdout.splitlines()))
    assert [row["id"] for row in rows] == [f"d{i}" for i in range(N)]
    assert np.allclose([float(row["p_1_in_2"]) for row in rows], p, atol=1e-4)
    own = np.exp(-0.5 * (aic[:2] - aic[:2].min(axis=0)))
    assert np.allclose([float(row["aic_weight_2"]) for row in rows], (own / own.sum(axis=0))[1], atol=1e-4)
    text = h.stiffit("compare", path["small"], path["large"]).stdout
    assert "valid if model 1 is nested in model 2: p < 0.05 for" in text and "Akaike weights" in text


def test_what_another_run_changed(tmp):
    _, path = results(tmp)
    with h5py.File(tmp / "small.h5", "a") as f:
        f["measurements/value"][16 * 7:16 * 8] *= 1.5   # A of d7 moves, and little else
        f["measurements/value"][16 * 9] = np.inf
    h.stiffit("run", tmp / "small.h5", "--model", tmp / "small.ode", "-o", tmp / "after.h5", code=1)
    said = compare(path["small"], tmp / "after.h5")
    assert said["status_changes"] == [{"result": 2, "from": "converged", "to": "bad_data", "datasets": 1, "examples": ["d9"]}]
    moved = {row["parameter"]: row["examples"] for row in said["moved_parameters"]}
    before, after = h.read_fits(path["small"]), h.read_fits(tmp / "after.h5")
    with np.errstate(invalid="ignore"):
        expected = np.abs(after["parameters"] - before["parameters"]) > before["standard_error"]
    assert moved == {name: [f"d{i}" for i in np.flatnonzero(expected[:, j])[:3]]
                     for j, name in enumerate(before["names"]) if expected[:, j].any()}
    assert moved["A"] == ["d7"] and said["compared"] == N - 1
    same = compare(path["small"], path["small"])
    assert not same["status_changes"] and not same["moved_parameters"]
    assert "No status differs" in h.stiffit("compare", path["small"], path["small"]).stdout


def test_other_datasets_and_other_data(tmp):
    _, path = results(tmp)
    h.stiffit("run", tmp / "small.h5", "--model", tmp / "small.ode", "--only", "d3,d5", "-o", tmp / "two.h5")
    assert compare(tmp / "two.h5", path["large"])["compared"] == 2
    assert compare(path["large"], tmp / "two.h5")["datasets"] == N
    with h5py.File(tmp / "small.h5", "a") as f:
        f["measurements/value"][16 * 7] = np.nan
    h.stiffit("run", tmp / "small.h5", "--model", tmp / "small.ode", "-o", tmp / "fewer.h5")
    said = compare(tmp / "fewer.h5", path["large"])
    assert said["compared"] == N - 1 and said["other_data"] == 1 and said["no_criteria"] == 0
    h.stiffit("run", tmp / "small.h5", "--model", tmp / "small.ode", "--share", "k", "-o", tmp / "shared.h5")
    said = compare(tmp / "shared.h5", tmp / "fewer.h5", path["large"])  # shares of a fit over all tell the measurements
    assert said["compared"] == N - 1 and said["other_data"] == 1
    with h5py.File(tmp / "shared.h5", "a") as f:  # as of an earlier version if sigmas are unknown
        f["fits/aic"][:] = np.nan
    said = compare(tmp / "shared.h5", tmp / "fewer.h5")
    assert said["compared"] == 0 and said["no_criteria"] == N and said["other_data"] == 0
    assert f"Left out: {N} datasets without AIC" in h.stiffit("compare", tmp / "shared.h5", tmp / "fewer.h5").stdout


PLATE = ["P1", "P1", "P1", "P2", "P2", "P3"]
SIZES = [9, 3, 5, 4, 12, 6]  # an unbalanced design: a large dataset has a share above its own number of parameters
LINE = "model line\nparameter A = 1, B = 0.5\nobserve y = A + B*t\n"


def lines(tmp, sigma=0.1):
    """Lines of six datasets on three plates, for fits with B of each dataset, of each plate, of all. Returns rows (dataset,
    time, value) and a function that fits."""
    rng = np.random.default_rng(11)
    dataset = np.repeat(np.arange(len(SIZES)), SIZES)
    time = np.concatenate([np.linspace(0, 4, n) for n in SIZES])
    slope = np.array([0.5, 0.62, 0.5, 0.66, 0.66, 0.7])
    value = 1 + 0.3 * dataset + slope[dataset] * time + 0.1 * rng.standard_normal(len(time))
    (tmp / "line.ode").write_text(LINE)
    (tmp / "d.csv").write_text("dataset,time,value,sigma\n" + "".join(
        f"d{i},{t!r},{y!r},{sigma or ''}\n" for i, t, y in zip(dataset, time.tolist(), value.tolist())))
    (tmp / "plates.csv").write_text("dataset,plate\n" + "".join(f"d{i},{plate}\n" for i, plate in enumerate(PLATE)))
    h.stiffit("import", tmp / "d.csv", "--datasets", tmp / "plates.csv", "--model", tmp / "line.ode", "-o", tmp / "p.h5")

    def fit(name, *options, code=0):
        h.stiffit("run", tmp / "p.h5", "-o", tmp / f"{name}.h5", *options, code=code)
        return tmp / f"{name}.h5"
    return dataset, time, value, fit


def squares(dataset, time, value, intercept, slope):
    """The least sum of squares where datasets with one number in `intercept` or `slope` have one value; parameters."""
    a, b = np.unique(np.asarray(intercept)[dataset], return_inverse=True)[1], np.unique(np.asarray(slope)[dataset],
                                                                                      return_inverse=True)[1]
    x = np.hstack([np.eye(a.max() + 1)[a], np.eye(b.max() + 1)[b] * time[:, None]])
    return np.sum((value - x @ np.linalg.lstsq(x, value, rcond=None)[0])**2), x.shape[1]


def tests_of(said):
    return {(test["small"], test["large"]): test for test in said["likelihood_ratio"]}


def check_test(test, statistic, freedom):
    assert test["degrees_of_freedom"] == freedom, test
    # Sums of squares of linear models: the fits' tolerances, ftol 1e-9 of some tens.
    np.testing.assert_allclose(test["chi_square"], statistic, rtol=1e-5)
    np.testing.assert_allclose(test["p"], stats.chi2.sf(statistic, freedom), rtol=1e-4, atol=2e-15)  # 1e-15 at least


def test_shared_fits_are_tested_whole(tmp):
    """Own slopes, plates' slopes, one slope, and one slope with plates' intercepts: each in each that it restricts."""
    dataset, time, value, fit = lines(tmp)
    own, one, plate = np.arange(6), np.zeros(6, int), np.array([0, 0, 0, 1, 1, 2])
    path = [fit("own"), fit("plates", "--share", "B@plate"), fit("all", "--share", "B"), fit("two", "--share", "B,A@plate")]
    levels = [(own, own), (own, plate), (own, one), (plate, one)]
    squared = [squares(dataset, time, value, *level) for level in levels]
    said = compare(*path)
    found = tests_of(said)
    assert set(found) == {(2, 1), (3, 1), (4, 1), (3, 2), (4, 2), (4, 3)}, found
    for (small, large), test in found.items():
        (low, few), (high, many) = squared[small - 1], squared[large - 1]
        check_test(test, (low - high) / 0.01, many - few)
        assert test["not_tested"]["datasets"] == 0
        assert test["tested"] == (2 if (small, large) == (2, 1) else 1)  # plate P3 has one dataset: nothing to test
    rows = list(csv.DictReader(h.stiffit("compare", *path, "-o", "-").stdout.splitlines()))
    for number, name in enumerate(["P1", "P2", "P3"]):  # each plate is a fit: its p is that of its datasets
        part = plate[dataset] == number
        low, few = squares(dataset[part], time[part], value[part], own, plate)
        high, many = squares(dataset[part], time[part], value[part], own, own)
        p = [row["p_2_in_1"] for row in rows if row["plate"] == name]
        assert len(set(p)) == 1 and len(p) == PLATE.count(name)
        if many == few:
            assert p == ["NaN"], p
        else:
            np.testing.assert_allclose(float(p[0]), stats.chi2.sf((low - high) / 0.01, many - few), rtol=1e-4)
    text = h.stiffit("compare", path[0], path[2]).stdout
    assert "5 degrees of freedom" in text and "dataset; in total" not in text, text


def test_shared_fits_with_unknown_sigma(tmp):
    """An unknown sigma is a parameter of each fit: six of own fits, one of a shared one."""
    dataset, time, value, fit = lines(tmp, sigma=None)
    own, one = np.arange(6), np.zeros(6, int)

    def log_likelihood(rows, level):
        n, rss = rows.sum(), squares(dataset[rows], time[rows], value[rows], own, level)[0]
        return -n / 2 * (np.log(2 * np.pi * rss / n) + 1)
    statistic = 2 * (sum(log_likelihood(dataset == i, own) for i in range(6)) - log_likelihood(dataset >= 0, one))
    check_test(tests_of(compare(fit("own"), fit("all", "--share", "B")))[2, 1], statistic, 6 * 3 - (6 + 1 + 1))


def test_a_fit_of_which_a_part_is_compared(tmp):
    """A shared value rests on all its datasets: without one of them there is no test of the others, and a note says so."""
    dataset, time, value, fit = lines(tmp)
    own, plate = np.arange(6), np.array([0, 0, 0, 1, 1, 2])
    path = [fit("own"), fit("plates", "--share", "B@plate"), fit("all", "--share", "B")]
    part = plate[dataset] == 1
    statistic = (squares(dataset[part], time[part], value[part], own, plate)[0]
                 - squares(dataset[part], time[part], value[part], own, own)[0]) / 0.01

    def one_plate(said):
        check_test(tests_of(said)[2, 1], statistic, 1)
        test = tests_of(said)[3, 1]
        assert test["tested"] == 0 and test["not_tested"]["datasets"] == said["compared"], test
    one_plate(json.loads(h.stiffit("compare", *path, "--json", "--where", "plate == P2").stdout))
    with h5py.File(path[0], "a") as f:  # of the first plate one dataset fails alone
        f["fits/status"][1] = h5py.check_enum_dtype(f["fits/status"].dtype)["budget"]
    said = compare(*path)
    assert said["compared"] == 5 and tests_of(said)[2, 1]["not_tested"]["examples"] == ["d0", "d2"]
    one_plate(said)
    text = h.stiffit("compare", path[0], path[2]).stdout
    assert "No likelihood-ratio test of model 2 in model 1 for 5 datasets" in text and "in total" not in text, text


def test_a_dataset_left_out_of_both(tmp):
    """It belongs to neither fit: the test is that of the others."""
    dataset, time, value, fit = lines(tmp)
    with h5py.File(tmp / "p.h5", "a") as f:
        f["measurements/value"][int(np.flatnonzero(dataset == 1)[0])] = np.inf
    path = [fit("own", code=1), fit("all", "--share", "B", "--leave-out-failed", code=1)]
    rows = dataset != 1
    low, few = squares(dataset[rows], time[rows], value[rows], np.arange(6), np.zeros(6, int))
    high, many = squares(dataset[rows], time[rows], value[rows], np.arange(6), np.arange(6))
    check_test(tests_of(compare(*path))[2, 1], (low - high) / 0.01, many - few)


def test_mistakes(tmp):
    _, path = results(tmp)
    assert "2 to 16" in h.stiffit("compare", path["small"], code=2).stderr
    assert "2 to 16" in h.stiffit("compare", *[path["small"]] * 17, code=2).stderr
    h.stiffit("compare", path["small"], tmp / "none.h5", code=4)
    h.stiffit("compare", path["small"], tmp / "small.h5", code=3)
    h.stiffit("compare", path["small"], path["large"], "-o", tmp / "t.csv")
    assert "exists" in h.stiffit("compare", path["small"], path["large"], "-o", tmp / "t.csv", code=4).stderr
    h.stiffit("compare", path["small"], path["large"], "-o", tmp / "t.csv", "--overwrite")
    assert h.stiffit("compare", path["small"], path["large"], "-o", path["small"], "--overwrite", code=2)


if __name__ == "__main__":
    h.main()
