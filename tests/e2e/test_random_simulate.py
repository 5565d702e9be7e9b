"""New datasets of a population: drawn from its distribution, at the times of the data.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv

import h5py
import numpy as np

import helpers as h
from test_random_options import T
from test_random_show import fitted

N = 500
MEAN, COVARIANCE, A, S = np.array([-1.2, 0.7]), np.array([[0.04, 0.01], [0.01, 0.09]]), 1.0, 0.1


def simulate(result, *words, n=N, name="vpc", code=0):
    path = result.with_name(f"{name}.h5")
    model = ("--model", str(result).replace(".result.h5", ".ode"))
    done = h.stiffit("simulate", "--population", n, result, "-o", path, *model, *words, code=code)
    return path, done


def read_truth(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], [row[0] for row in rows[1:]], np.array([row[1:] for row in rows[1:]], float)


def test_distribution(tmp):
    result = fitted(tmp)
    path, done = simulate(result, "--truth", tmp / "truth.csv")
    head, ids, truth = read_truth(tmp / "truth.csv")
    assert head == ["dataset", "k", "V", "A", "s"] and ids[:2] == ["d0/001", "d0/002"], ids[:2]
    assert np.all(truth[:, 2] == A) and np.all(truth[:, 3] == S)
    phi, n = np.log(truth[:, :2]), 4 * N
    # the seed is fixed; 4 standard errors of means, variances and the correlation over n draws
    np.testing.assert_allclose(phi.mean(0), MEAN, atol=4 * 0.3 / np.sqrt(n))
    np.testing.assert_allclose(np.cov(phi.T), COVARIANCE, atol=4 * 0.09 * np.sqrt(2 / n))
    k, v = truth[:, :1], truth[:, 1:2]
    with h5py.File(path) as f:
        value = f["measurements/value"][()].reshape(n, len(T))
        assert np.array_equal(f["measurements/time"][()].reshape(n, len(T)), np.tile(T, (n, 1)))
        assert [i.decode() for i in f["datasets/id"][()]] == ids
        options = {name: text.decode() for name, text in f["options"].attrs.items()}
    assert options["random"] == "k,V" and options["share"] == "A,s", options
    z = (value - v * np.exp(-k * T) - A) / S
    np.testing.assert_allclose(z.mean(0), 0, atol=4 / np.sqrt(n))
    np.testing.assert_allclose(np.cov(z.T), np.eye(len(T)), atol=4 * np.sqrt(2 / n))
    assert np.all(abs(np.corrcoef(z[:, 0], phi[:, 0])) [0, 1] < 4 / np.sqrt(n))
    assert f"{n} datasets of {n * len(T)} measurements in all" in done.stderr


def test_variance_of_zero_and_perfect_correlation(tmp):
    result = fitted(tmp, covariance=[[0.04, 0], [0, 0]])
    simulate(result, "--truth", tmp / "a.csv", n=20)
    truth = read_truth(tmp / "a.csv")[2]
    assert len(np.unique(truth[:, 0])) == 80 and np.all(truth[:, 1] == np.exp(0.7))
    result = fitted(tmp, name="b", covariance=[[0.04, 0.06], [0.06, 0.09]])
    simulate(result, "--truth", tmp / "b.csv", n=20, name="b-vpc")
    phi = np.log(read_truth(tmp / "b.csv")[2][:, :2])
    np.testing.assert_allclose((phi[:, 1] - 0.7) / 0.3, (phi[:, 0] + 1.2) / 0.2, rtol=1e-9)


def test_the_same_seed(tmp):
    result = fitted(tmp)
    a, b, c = (simulate(result, *words, n=3, name=name)[0].read_bytes() for name, words in (
        ("v1", ()), ("v2", ()), ("v3", ("--seed", 2))))
    assert a == b and a != c
    # a dataset alone has the numbers that it has among all
    whole, alone = simulate(result, n=3, name="v4")[0], simulate(result, "--id", "d2", n=3,
                                                                 name="d")[0]
    with h5py.File(whole) as f, h5py.File(alone) as g:
        n = 3 * len(T)
        assert np.array_equal(f["measurements/value"][2 * n:3 * n], g["measurements/value"][()])
        assert g["datasets/id"][0] == b"d2/1"


def test_missing_values_and_failed_fits(tmp):
    """Missing values stay missing; a dataset without a fit is of the same population."""
    result = fitted(tmp)
    problem = str(result).replace(".result", "")
    with h5py.File(problem, "a") as f:
        f["measurements/value"][3] = np.nan
    model = str(result).replace(".result.h5", ".ode")
    h.stiffit("run", problem, "--model", model, "--random", "k,V", "--share", "A,s",
              "--overwrite", code=(0, 1))
    with h5py.File(result, "a") as f:
        f["fits/parameters"][1] = np.nan
    path, _ = simulate(result, n=2)
    with h5py.File(path) as f:
        value = f["measurements/value"][()].reshape(8, len(T))
        assert np.array_equal(np.argwhere(np.isnan(value)), [[0, 3], [1, 3]])


def test_new_data_are_fitted_as_the_old(tmp):
    path, _ = simulate(fitted(tmp), n=2)
    done = h.stiffit("run", path, code=(0, 1))
    assert "population: -2 log L" in done.stderr, done.stderr


def test_no_covariance_of_a_dataset(tmp):
    """Each dataset's fit is part of one of all: it says so and names what there is."""
    result = fitted(tmp)
    done = h.stiffit("simulate", "--times", "1,2", result, "--draw", "covariance", "--replicates", "2", "--model",
                     str(result).replace(".result.h5", ".ode"), code=2)
    assert "--draw covariance" in done.stderr and "random parameters" in done.stderr and "--population" in done.stderr
    assert not done.stdout, done.stdout


def test_refused(tmp):
    result = fitted(tmp)
    for words, text in ((("--times", "1,2"), "--population takes no --times"),
                        (("--bootstrap", 3), "exclude each other"),
                        (("--id", "d9"), "has no dataset 'd9'"),
                        (("--noise", 0.1), "--noise works only with --datasets")):
        done = simulate(result, *words, code=2)[1]
        assert text in done.stderr, (words, done.stderr)
    with h5py.File(result, "a") as f:
        del f["population"]
    assert "has no random parameters" in simulate(result, code=2)[1].stderr
    done = h.stiffit("simulate", "--population", 3, "-o", tmp / "x.h5", code=2)
    assert "--population needs a result file" in done.stderr


if __name__ == "__main__":
    h.main()
