"""--id, --failed, --status and --where of `export` and `show`: the rows that they take, judged by NumPy on the result file.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import json

import h5py
import numpy as np

import helpers as h


def result(tmp, n=40, **options):
    """Some rows fail for bad data, one parameter is at a bound here and there."""
    h.decay_problem(tmp / "p.h5", n, known_sigma=True, parameters={"lower": [0.2, 0.1], "upper": [5, 2.5]})
    with h5py.File(tmp / "p.h5", "a") as f:
        f["measurements/value"][8 * 3] = np.inf
        f["measurements/value"][8 * 17] = np.inf
    h.stiffit("run", tmp / "p.h5", "--trust", *options.get("run", ()), code=1)
    return h.result_path(tmp / "p.h5")


def ids(path, *words, what="fits"):
    """Those of an exported table, in order and each once."""
    rows = list(csv.reader(h.stiffit("export", path, "--trust", "--what", what, *words).stdout.splitlines()))[1:]
    return list(dict.fromkeys(row[0] for row in rows))


def test_conditions(tmp):
    path = result(tmp)
    fits = h.read_fits(path)
    with h5py.File(path) as f:
        name = f["datasets/id"].asstr()[()] if "datasets/id" in f else fits["id"]
    k, x, df = fits["parameters"][:, 0], fits["chi_square"], fits["degrees_of_freedom"]
    with np.errstate(invalid="ignore"):
        cases = {"chi_square > 6": x > 6, "chi_square<=6": x <= 6, "k >= 0.3 and k < 0.4": (k >= 0.3) & (k < 0.4),
                 "reduced_chi_square > 1.5": x / df > 1.5, "status == bad_data": fits["status"] == "bad_data",
                 "status != bad_data": fits["status"] != "bad_data", "chi_square == nan": np.isnan(x),
                 "chi_square != nan": ~np.isnan(x), "at_bound_A == upper": fits["at_bound"][:, 1] == 1,
                 "at_bound_k == lower and at_bound_A != upper": (fits["at_bound"][:, 0] == -1) & (fits["at_bound"][:, 1] != 1),
                 "standard_error_k > 0.004": fits["standard_error"][:, 0] > 0.004, "evaluations > 6": fits["evaluations"] > 6,
                 "notes == poor_fit": fits["notes"] >> 25 & 1 == 1, "notes != poor_fit": fits["notes"] >> 25 & 1 == 0}
    for where, mask in cases.items():
        assert ids(path, "--where", where) == list(name[mask]), where
        shown = h.stiffit("show", path, "--ids", "--where", where).stdout.split("\n")[:-1]
        assert shown == list(name[mask]), where
        assert json.loads(h.stiffit("show", path, "--json", "--where", where).stdout)["fits"] == mask.sum(), where
    assert 0 < sum(cases["at_bound_A == upper"]) < 40 and 0 < sum(cases["notes == poor_fit"]) < 40
    assert ids(path, "--failed") == ["d3", "d17"] == ids(path, "--status", "bad_data")
    assert len(ids(path, "--status", "bad_data,converged")) == 40
    assert ids(path, "--id", "d5,d2") == ["d2", "d5"] and ids(path, "--id", "d3,d4", "--failed") == ["d3"]


def test_all_tables(tmp):
    path = result(tmp, run=("--starts", "2", "--keep-starts", "--profile", "k", "--keep-profile"))
    for what in ("fits", "predictions", "residuals", "covariance", "starts", "profile"):
        assert ids(path, "--id", "d7,d30,d4", what=what) == ["d4", "d7", "d30"], what
        assert ids(path, "--where", "k > 0.5", what=what) == ids(path, "--where", "k > 0.5"), what
    assert "40 fits" in h.stiffit("show", path, "--status", "converged").stdout


def test_odd_ids(tmp):
    odd = ["a,b", "a", "b", "x y"]
    rows = [(i, t, 0, 2 * np.exp(-0.3 * t), 0.1) for i in range(4) for t in (1, 2, 3)]
    h.write_problem(tmp / "p.h5", h.model("decay"), odd, rows)
    h.stiffit("run", tmp / "p.h5", "--trust")
    path = h.result_path(tmp / "p.h5")
    assert ids(path, "--id", "x y") == ["x y"] and ids(path, "--id", "b,a") == ["a", "b"]
    assert "a,b" in ids(path, "--id", "a,b")
    assert h.stiffit("show", tmp / "p.h5", "--ids").stdout == "a,b\na\nb\nx y\n"


def test_unknown_among_known(tmp):
    """Every table refuses a list with an id that no dataset has, and says which; a dataset that cannot be fitted is one."""
    path = result(tmp, run=("--starts", "2", "--keep-starts", "--profile", "k", "--keep-profile"))
    for what in ("fits", "predictions", "residuals", "covariance", "starts", "profile"):
        done = h.stiffit("export", path, "--trust", "--what", what, "--id", "d2,x9,d1", code=2)
        assert f"{path}: has no dataset 'x9'" in done.stderr, (what, done.stderr)
        h.stiffit("export", path, "--trust", "--what", what, "--id", "d2,d3")
    done = h.stiffit("report", path, "--trust", "--id", "d2,x9", "-o", tmp / "r.html", code=2)
    assert "has no dataset 'x9'" in done.stderr and not (tmp / "r.html").exists(), done.stderr
    h.stiffit("report", path, "--trust", "--id", "d2,d3", "--failed", "-o", tmp / "r.html")


def test_mistakes_are_named(tmp):
    path = result(tmp, 20)
    for words, said in ((("--where", "chisquare > 3"), "did you mean 'chi_square'?"),
                        (("--where", "k"), "expected NAME and one"), (("--where", ""), "expected NAME and one"),
                        (("--where", "k > "), "neither a number nor a word"),
                        (("--where", "k > 1 or k < 2"), "expected 'and' at 'or k < 2'"),
                        (("--where", "k => 1"), "expected NAME and one"), (("--status", "fail"), "no fit ends as"),
                        (("--where", "status > converged"), "compared with == or !="),
                        (("--where", "notes == 3"), "neither a number nor a word"), (("--id", "d99"), "has no dataset 'd99'"),
                        (("--id", "d2", "--failed"), "has no dataset 'd2' that is selected"),
                        (("--where", " and ".join(["k > 0"] * 17)), "more than 16"),
                        (("--where", "covariance == 1"), "have no 'covariance'"), (("--where", "k > " + "9" * 500), "neither")):
        assert said in h.stiffit("export", path, *words, code=2).stderr, words
    assert "--where" in h.stiffit("show", path, "--where", "x y z", code=2).stderr


if __name__ == "__main__":
    h.main()
