"""What `show` and `export` make of starts, profiles and bootstrap replicates: the numbers of the result file, counted once more
with h5py.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import json

import h5py
import numpy as np

import helpers as h

N, N_START, N_REPLICATE = 12, 4, 60


def table(result, *args):
    return list(csv.DictReader(h.stiffit("export", result, *args).stdout.splitlines()))


def make(tmp, *args):
    h.decay_problem(tmp / "p.h5", N, noise=0.05)
    with h5py.File(tmp / "p.h5", "a") as f:
        f["measurements/value"][8:16] = np.nan  # nothing measured in d1
    h.run(tmp / "p.h5", *args, code=1)
    return h.result_path(tmp / "p.h5")


def everything(tmp):
    return make(tmp, "--starts", N_START, "--keep-starts", "--profile", "k", "--keep-profile", "--bootstrap", N_REPLICATE,
                "--keep-bootstrap")


def test_kept_tables_are_exported(tmp):
    result = everything(tmp)
    with h5py.File(result) as f:
        fits = {name: f["fits"][name][()] for name in ("id", "status")}
        groups = {name: {key: column[()] for key, column in f[name].items()} for name in ("starts", "profiles", "bootstrap")}
        words = {v: k for k, v in h5py.check_enum_dtype(f["starts/status"].dtype).items()}
    ids = [text.decode() for text in fits["id"]]
    for what, group, index in (("starts", "starts", "start"), ("bootstrap", "bootstrap", "replicate")):
        rows, expected = table(result, "--what", what), groups[group]
        assert len(rows) == len(expected["dataset"]) > 0
        assert [row["id"] for row in rows] == [ids[d] for d in expected["dataset"]]
        assert [int(row[index]) for row in rows] == list(expected[index])
        assert [row["status"] for row in rows] == [words[s] for s in expected["status"]]
        np.testing.assert_array_equal([[float(row["k"]), float(row["A"])] for row in rows], expected["parameters"])
        objects = json.loads(h.stiffit("export", result, "--what", what, "--json").stdout)
        assert [o["id"] for o in objects] == [row["id"] for row in rows]
        assert objects[-1]["parameters"]["A"] == float(rows[-1]["A"]) and objects[-1][index] == int(rows[-1][index])
    assert len(groups["starts"]["dataset"]) >= (N - 1) * N_START
    assert len(groups["bootstrap"]["dataset"]) == (N - 1) * N_REPLICATE
    rows, expected = table(result, "--what", "profile"), groups["profiles"]
    assert {row["parameter"] for row in rows} == {"k"} and len(rows) == len(expected["dataset"]) > 2 * (N - 1)
    np.testing.assert_array_equal([[float(row["value"]), float(row["objective"])] for row in rows],
                                  np.column_stack([expected["value"], expected["objective"]]))
    objects = json.loads(h.stiffit("export", result, "--what", "profile", "--json").stdout)
    assert [o["value"] for o in objects] == list(expected["value"]) and objects[0]["parameter"] == "k"


def test_rows_of_a_part_of_the_datasets(tmp):
    whole = {row["id"] + "/" + row["start"]: row for row in table(everything(tmp), "--what", "starts")}
    h.run(tmp / "p.h5", "--only", "d7,d2", "--starts", N_START, "--keep-starts", "-o", tmp / "part.h5")
    part = table(tmp / "part.h5", "--what", "starts")  # /fits has two rows; /starts names datasets 2 and 7
    assert [row["id"] for row in part] == ["d2"] * N_START + ["d7"] * N_START
    assert all(row == whole[row["id"] + "/" + row["start"]] for row in part)
    shown = json.loads(h.stiffit("show", tmp / "part.h5", "--json").stdout)
    assert (shown["fits"], shown["datasets"], shown["selection"]) == (2, N, f"datasets chosen with --only: 2 of {N} datasets")
    assert f"  a part of the problem: datasets chosen with --only: 2 of {N}" in h.stiffit("show", tmp / "part.h5").stdout
    assert json.loads(h.stiffit("show", h.result_path(tmp / "p.h5"), "--json").stdout)["selection"] is None
    assert "a part of" not in h.stiffit("show", h.result_path(tmp / "p.h5")).stdout
    assert [row["dataset"] for row in table(tmp / "part.h5", "--columns", "id,dataset")] == ["2", "7"]


def test_rows_of_no_dataset_are_refused(tmp):
    result = everything(tmp)
    for place, owner in ((0, N - 1), (-1, N), (-1, -1), (-1, 2 ** 62)):
        with h5py.File(result, "a") as f:
            before = f["bootstrap/dataset"][place]
            f["bootstrap/dataset"][place] = owner
        damaged = h.stiffit("export", result, "--what", "bootstrap", code=3)
        assert "/bootstrap/dataset is not in order" in damaged.stderr, damaged.stderr
        with h5py.File(result, "a") as f:
            f["bootstrap/dataset"][place] = before
    with h5py.File(result, "a") as f:
        f["bootstrap/status"][3] = 200
    assert "/bootstrap/status row 3 is 200" in h.stiffit("export", result, "--what", "bootstrap", code=3).stderr


def test_what_was_not_kept_is_said(tmp):
    result = make(tmp)
    for what, option in (("starts", "--keep-starts"), ("profile", "--keep-profile"), ("bootstrap", "--keep-bootstrap")):
        assert option in h.stiffit("export", result, "--what", what, code=3).stderr
    assert "--json works only with" in h.stiffit("export", result, "--what", "predictions", "--json", code=2).stderr
    page = h.stiffit("show", result).stdout
    assert not any(word in page for word in ("Starts", "profile", "Bootstrap")), page
    shown = json.loads(h.stiffit("show", result, "--json").stdout)
    assert shown["profiles"] is None and shown["bootstrap"] is None
    assert not any(name.startswith(("profile", "bootstrap", "starts_at")) for name in table(result)[0])


def test_export_has_their_columns(tmp):
    result = everything(tmp)
    fits = h.read_fits(result)
    usual = table(result)
    k = fits["names"].index("k")
    for name in ("profile_lower", "profile_upper", "bootstrap_standard_error", "bootstrap_lower", "bootstrap_percentile_upper"):
        np.testing.assert_array_equal([float(row[f"{name}_k"]) for row in usual], fits[name][:, k])
    for name in ("starts_at_optimum", "bootstrap_n"):
        assert [int(row[name]) for row in usual] == list(fits[name])
    assert [row["profile_lower_status_k"] for row in usual] == list(fits["profile_lower_status"][:, k])
    assert usual[1]["profile_lower_status_k"] == "no_fit" and usual[0]["profile_lower_status_k"] == "found"
    few = table(result, "--columns", "id,other_optimum_lower,bootstrap_percentile_lower")
    assert list(few[0]) == ["id", "other_optimum_lower", *(f"bootstrap_percentile_lower_{name}" for name in fits["names"])]


def test_too_few_replicates_are_told_at_the_start(tmp):
    """Exactly where the result has no intervals, or no errors."""
    h.decay_problem(tmp / "p.h5", 1, noise=0.05)
    for n, said in ((1, "no standard errors"), (38, "standard errors only"), (39, None)):
        stderr = h.stiffit("run", tmp / "p.h5", "--trust", "--overwrite", "--bootstrap", n).stderr
        fits = h.read_fits(h.result_path(tmp / "p.h5"))
        assert fits["bootstrap_n"][0] == n
        assert np.isfinite(fits["bootstrap_standard_error"]).all() == (n > 1)
        assert np.isfinite(fits["bootstrap_lower"]).all() == (said is None)
        assert ("intervals need 39" in stderr) == (said is not None) and (said or "") in stderr, stderr


def test_show_counts_them(tmp):
    result = everything(tmp)
    with h5py.File(result, "a") as f:  # every kind of outcome of several starts
        f["fits/starts_at_optimum"][2:] = [4, 4, 4, 1, 1, 1, 2, 2, 2, 2]
        f["fits/other_optimum_lower"][2:] = [np.nan, np.nan, np.nan, 7, 7, np.nan, 8, 8, 8, 8]
    fits = h.read_fits(result)
    good = fits["status"] == "converged"
    shown = json.loads(h.stiffit("show", result, "--json").stdout)
    same, other = fits["starts_at_optimum"][good], fits["other_optimum_lower"][good]
    assert shown["starts"] == {"one_optimum": np.sum((same > 1) & np.isnan(other)),
                               "several_optima": np.sum((same > 1) & ~np.isnan(other)),
                               "best_reached_once": np.sum((same == 1) & ~np.isnan(other)),
                               "others_failed": np.sum((same == 1) & np.isnan(other))}
    k = fits["names"].index("k")
    assert min(shown["starts"].values()) > 0
    for side in ("lower", "upper"):
        words = list(fits[f"profile_{side}_status"][good, k])
        assert {w: n for w, n in shown["profiles"]["k"][side].items() if n} == {w: words.count(w) for w in set(words)}
    assert (shown["bootstrap"]["fits"], shown["bootstrap"]["most_replicates"]) == (good.sum(), fits["bootstrap_n"].max())
    ratio = fits["bootstrap_standard_error"][good] / fits["standard_error"][good]
    for j, name in enumerate(fits["names"]):
        np.testing.assert_allclose(shown["bootstrap"]["error_ratio"][name], np.exp(np.log(ratio[:, j]).mean()), rtol=1e-12)
    page = h.stiffit("show", result).stdout
    h.run(tmp / "p.h5", "--only", "d3", "--bootstrap", "5", "-o", tmp / "few.h5")
    assert "(intervals need 39)" in h.stiffit("show", tmp / "few.h5", "--id", "d3").stdout
    assert f"Starts, {N_START} for each dataset" in page and f"lower {good.sum()} found" in page, page
    assert f"{N_REPLICATE} replicates were fitted" in page, page
    one = h.stiffit("show", result, "--id", "d3").stdout
    assert f"From the bootstrap, {N_REPLICATE} replicates" in one and "percentiles" in one, one
    row = fits["id"].tolist().index("d3")
    for name in ("bootstrap_lower", "bootstrap_percentile_upper", "profile_lower"):
        assert f"{fits[name][row, k]:.6g}" in one, (name, one)
    objects = json.loads(h.stiffit("show", result, "--id", "d3", "--json").stdout)
    assert objects["bootstrap_percentile_upper"]["k"] == fits["bootstrap_percentile_upper"][row, k]


if __name__ == "__main__":
    h.main()
