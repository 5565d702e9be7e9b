"""The population in a report: its table, and the visual predictive check against NumPy on the
replicates that `simulate --population` writes, which are the same.

SPDX-License-Identifier: BSD-3-Clause
"""
import re
import shutil

import h5py
import numpy as np
from scipy import stats

import helpers as h
from test_plot import script_of
from test_random_options import MODEL, T
from test_random_show import fitted
from test_random_simulate import simulate
from test_report import Page, close
from test_shared import write

SHARE = [0.05, 0.5, 0.95]


def page_of(result, *words):
    out = result.with_name("page.html")
    model = str(result).replace(".result.h5", ".ode")
    h.stiffit("report", result, "--model", model, "--overwrite", "-o", out, *words)
    return Page(out)


def test_check_against_numpy(tmp):
    result = fitted(tmp)
    found = page_of(result).data["population"]
    path, _ = simulate(result, n=200)
    with h5py.File(path) as f:
        replicate = f["measurements/value"][()].reshape(4, 200, len(T))
    with h5py.File(str(result).replace(".result", "")) as f:
        data = f["measurements/value"][()].reshape(4, len(T))
    with h5py.File(result) as f:
        k, v, a, _ = f["fits/parameters"][()].T
    assert (found["replicates"], found["datasets"]) == (200, 4)
    assert found["random"] == [
        {"parameter": 0, "scale": "log", "mean": -1.2, "deviation": 0.2},
        {"parameter": 1, "scale": "log", "mean": 0.7, "deviation": 0.3}]
    check, = found["checks"]
    bins = np.array(check["bins"])
    close(bins[:, 0], T)
    close(bins[:, [1, 5, 9]], np.quantile(data, SHARE, axis=0).T)
    of = np.quantile(replicate, SHARE, axis=0)  # quantile, replicate, time
    close(bins[:, 2:].reshape(len(T), -1)[:, [0, 4, 8]], np.quantile(of, 0.05, axis=1).T)
    close(bins[:, [3, 7, 11]], np.quantile(of, 0.5, axis=1).T)
    close(bins[:, [4, 8, 12]], np.quantile(of, 0.95, axis=1).T)
    points = np.array(check["points"]).reshape(-1, 7)  # by time, then dataset
    close(points[:, 0], np.repeat(T, 4))
    close(points[:, 1], data.T.ravel())
    close(points[:, 2], np.repeat(np.exp(0.7 - np.exp(-1.2) * T) + 1.0, 4))
    close(points[:, 3], (v[:, None] * np.exp(-k[:, None] * T) + a[:, None]).T.ravel())
    rank = (replicate < data[:, None]).sum(1).T.ravel()
    close(points[:, 4], stats.norm.ppf((rank + 0.5) / 201))


def test_typical_curves(tmp):
    """The gallery has the curve of the typical parameters beside the dataset's own."""
    page = page_of(fitted(tmp))
    assert len(page.gallery) == 4
    for fit in page.gallery:
        experiment, = fit["experiments"]
        t = np.array(experiment["time"])
        assert np.allclose(experiment["typical"][0], np.exp(0.7 - np.exp(-1.2) * t) + 1.0, rtol=2e-5)
        k, v, a, _ = fit["parameters"]
        assert np.allclose(experiment["curve"][0], v * np.exp(-k * t) + a, rtol=2e-5)


def test_many_times_share_bins(tmp):
    """With more than 20 times, 12 bins of as many measurements; 20 times are bins of their own."""
    result = fitted(tmp)
    problem = str(result).replace(".result", "")
    with h5py.File(problem, "a") as f:
        f["measurements/time"][:] = np.linspace(0.1, 12, 32)
    model = str(result).replace(".result.h5", ".ode")
    h.stiffit("run", problem, "--model", model, "--random", "k,V", "--share", "A,s", "--overwrite",
              code=(0, 1))
    bins = np.array(page_of(result).data["population"]["checks"][0]["bins"])
    assert len(bins) == 11 and np.all(np.diff(bins[:, 0]) > 0), bins[:, 0]  # 32 // 12 + 1 in each


def test_covariates(tmp):
    """The parameters of each dataset beside its covariates."""
    n, weight = 4, np.array([50.0, 60, 70, 80])
    text = MODEL.replace("parameter k =", "covariate w\nparameter k =").replace("V*exp", "V*w/70*exp")
    rng = np.random.default_rng(3)
    y = 2 * weight[:, None] / 70 * np.exp(-0.3 * T) + 1 + 0.1 * rng.standard_normal((n, len(T)))
    path, model = write(tmp / "a.h5", text, y)
    with h5py.File(path, "a") as f:
        f["datasets"].create_dataset("covariate_names", data=["w"], dtype=h5py.string_dtype())
        f["datasets/covariates"] = weight[:, None]
    h.stiffit("run", path, "--model", model, "--random", "k,V", "--share", "A,s", code=(0, 1))
    found = page_of(h.result_path(path)).data["population"]
    with h5py.File(h.result_path(path)) as f:
        parameters = f["fits/parameters"][:, :2]
    assert found["covariates"] == ["w"]
    close(found["individuals"], np.column_stack([weight, parameters]))


def test_plot(tmp):
    """The numbers that gnuplot gets are those of the report; a picture comes out."""
    result = fitted(tmp)
    words = ("--model", str(result).replace(".result.h5", ".ode"))
    check, = page_of(result).data["population"]["checks"]
    script, _ = script_of(tmp, result, "--vpc", *words)
    rows = [[float(x) for x in line.split()] for line in
            re.search(r"\$bins_0 <<EOD\n(.*?)\nEOD", script, re.S)[1].split("\n")]
    close(check["bins"], rows)
    points = re.search(r"\$points_0 <<EOD\n(.*?)\nEOD", script, re.S)[1].split("\n")
    assert len(points) == 4 * len(T)
    for words_more, text in ((("--id", "d0"), "it excludes --id"),
                             (("--observable", "z"), "no observable 'z'")):
        done = h.stiffit("plot", result, "--vpc", *words, *words_more, code=2)
        assert text in done.stderr, done.stderr
    if not shutil.which("gnuplot"):
        h.skip("no gnuplot")
    assert "M" in h.stiffit("plot", result, "--vpc", *words).stdout
    h.stiffit("plot", result, "--vpc", *words, "-o", tmp / "v.svg")
    assert "<svg" in (tmp / "v.svg").read_text()


def test_page(tmp):
    result = fitted(tmp, covariance=[[0.04, 0], [0, 0]])
    page = page_of(result)
    text = " ".join(page.text)
    assert "Random parameters" in text and "Shared parameters" in text and "exact" in text
    assert "#population" in page.source and "Correlations" not in text
    # without the model: the table alone
    out = tmp / "bare.html"
    result.rename(tmp / "r.h5")
    (tmp / "a.h5").unlink()
    h.stiffit("report", tmp / "r.h5", "-o", out)
    bare = Page(out)
    assert bare.data["population"]["checks"] == [] and "Random parameters" in " ".join(bare.text)


def test_other_results_have_no_section(tmp):
    h.decay_problem(tmp / "p.h5", 3)
    h.stiffit("run", tmp / "p.h5", "--trust")
    out = tmp / "page.html"
    h.stiffit("report", h.result_path(tmp / "p.h5"), "--trust", "-o", out)
    page = Page(out)
    assert "population" not in page.data and "Random parameters" not in page.source


if __name__ == "__main__":
    h.main()
