"""import, export and simulate: tables in, tables out, with NumPy and SciPy as oracles.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import json
import math
import re

import h5py
import numpy as np
from scipy.stats import kstest

import helpers
from helpers import ROOT, compile_plugin, decay_problem, model, read_fits, result_path, stiffit


def table(text):
    """Columns of a CSV table; numbers where all of a column are."""
    rows = list(csv.reader(text.splitlines()))
    columns = dict(zip(rows[0], zip(*rows[1:])))
    for name, values in columns.items():
        try:
            columns[name] = np.array(values, float)
        except ValueError:
            columns[name] = np.array(values)
    return columns


def strings(column):
    return list(column.asstr()[:])


def test_import_gathers_scattered_rows(tmp):
    (tmp / "m.csv").write_text("\ufeffvalue;time;sigma;dataset;remark\n"
                               "1;0.5;0.1;b;x\n2;0.5;;a;\n3;0.25;0.2;b;\"y;\"\nNA;1;0.1;a;\n\n5;2;;c;\n")
    done = stiffit("import", tmp / "m.csv", "--model", model("decay"))
    assert "'remark' is not used" in done.stderr and "3 datasets, 5 measurements" in done.stderr
    with h5py.File(tmp / "m.h5") as f:
        assert f.attrs["stiffit_file"] in ("problem", b"problem") and f.attrs["format"] == 1
        assert strings(f["datasets/id"]) == ["b", "a", "c"]
        assert list(f["measurements/dataset"]) == [0, 0, 1, 1, 2]
        assert list(f["measurements/time"]) == [0.5, 0.25, 0.5, 1, 2]
        np.testing.assert_array_equal(f["measurements/value"], [1, 3, 2, np.nan, 5])
        np.testing.assert_array_equal(f["measurements/sigma"], [0.1, 0.2, np.nan, 0.1, np.nan])
        assert strings(f["parameters/name"]) == ["k", "A"]


def test_import_of_covariates_starts_and_parameters(tmp):
    (tmp / "m.csv").write_text("dataset,time,observable,value\ns2,1,conc,3\ns1,2,conc,4\n")
    (tmp / "d.csv").write_text("t0,start_lKa,dose,dataset\n-1,0.25,4.5,s1\n,,3,s2\n0,0,1,unused\n")
    done = stiffit("import", tmp / "m.csv", "-d", tmp / "d.csv", "-m", model("theophylline"), "-o", tmp / "p.h5", "--lower",
                   "lKe=-8", "--upper=lKe=0", "--fix", "lCl=-3", "--fix", "lKa", "--scale", "lKe=lin", "--embed")
    assert "1 dataset of" in done.stderr and "left out" in done.stderr
    with h5py.File(tmp / "p.h5") as f:
        assert strings(f["datasets/id"]) == ["s2", "s1"]
        names = strings(f["parameters/name"])
        assert strings(f["datasets/covariate_names"]) == ["dose"]
        assert [row[0] for row in f["datasets/covariates"]] == [3, 4.5]
        assert list(f["datasets/t0"])[1] == -1
        start = f["parameters/start"][:]
        assert start.shape == (2, 3)
        assert start[1, names.index("lKa")] == 0.25 and start[0, names.index("lCl")] == -3
        lower = np.broadcast_to(f["parameters/lower"][:], (2, 3))
        assert lower[0, names.index("lKe")] == -8
        fixed = np.broadcast_to(f["parameters/fixed"][:], (2, 3))[0]
        assert [bool(fixed[names.index(n)]) for n in ("lKe", "lKa", "lCl")] == [False, True, True]
        assert bytes(f["model/plugin"][:]) == model("theophylline").read_bytes()


def test_import_faults_name_file_line_and_column(tmp):
    def fault(text, *args, name="alpha-pinene", code=3, second=None):
        (tmp / "m.csv").write_text(text)
        if second is not None:
            (tmp / "d.csv").write_text(second)
            args = ["--datasets", tmp / "d.csv", *args]
        done = stiffit("import", tmp / "m.csv", "--model", model(name), "-o", tmp / "p.h5", *args, code=code)
        assert not (tmp / "p.h5").exists()
        return done.stderr

    head = "dataset,time,observable,value,sigma\n"
    assert "m.csv" in fault("") and "time" in fault("dataset,tiem,value\n")
    message = fault(head + "a,1,y1,2,0.1\na,2,y9,2,0.1\n")
    assert "m.csv:3" in message and "observable" in message and "y9" in message
    assert "m.csv:2" in fault(head + "a,one,y1,2,0.1\n")
    assert "m.csv:2: column 'value': '<0.05'" in fault(head + "a,1,y1,<0.05,1\n")
    assert "-1 (it lies above) in a column 'censored'" in fault(head + "a,1,y1,>9,1\n")
    assert "m.csv:3" in fault(head + "a,1,y1,2,1\na,1,y1\n")
    assert "no measurements" in fault(head)
    assert "observable" in fault("dataset,time,value\na,1,2\n")
    rows = "dataset,time,value\ns1,1,2\n"
    assert "covariates (dose" in fault(rows, name="theophylline", code=2)
    assert "'dose'" in fault(rows, name="theophylline", second="dataset,Dose_mg\ns1,4\n")
    assert "'s1' has measurements" in fault(rows, name="theophylline", second="dataset,dose\ns2,4\n")
    assert "appears twice" in fault(rows, name="theophylline", second="dataset,dose\ns1,4\ns1,5\n")
    good = "dataset,time,value\na,1,2\n"
    assert "Did you mean" in fault(good, "--start", "a=1", name="decay", code=2)
    assert "lower bound" in fault(good, "--lower", "k=2", "--upper", "k=1", name="decay", code=2)
    assert "above 0" in fault(good, "--scale", "k=log", "--start", "k=-1", "--lower", "k=0", name="decay", code=2)
    assert "lin, log, log10" in fault(good, "--scale", "k=ln", name="decay", code=2)


def test_import_keeps_a_dataset_that_cannot_be_fitted(tmp):
    # What has no value is missing as a whole, so that row 2 of the dataset `fine` is no fault.
    (tmp / "m.csv").write_text("dataset,time,value,sigma\nfine,1,2,0.1\nfine,,,0\nfine,2,2.5,0.1\nfine,3,2,0.1\n"
                               "no time,1,2,0.1\nno time,NA,2,0.1\nsigma,1,2,0\nvalue,1,inf,1\nno dose,1,2,1\n")
    (tmp / "d.csv").write_text("dataset,dose\nfine,4\nno time,4\nsigma,4\nvalue,4\nno dose,\n")
    said = stiffit("import", tmp / "m.csv", "--datasets", tmp / "d.csv", "--model", model("theophylline"),
                   "-o", tmp / "p.h5").stderr
    assert "m.csv:7: column 'time'" in said and "first of 3" in said and "d.csv:6: column 'dose'" in said
    assert "4 datasets cannot be fitted" in said
    stiffit("run", tmp / "p.h5", "--model", model("theophylline"), code=1)
    rows = table(stiffit("export", tmp / "p.result.h5").stdout)
    assert list(rows["status"][1:]) == ["bad_data"] * 4 and rows["status"][0] != "bad_data"
    assert [next(w for w in ("time", "sigma", "value", "dose") if m.startswith(w) or f" {w} " in m)
            for m in rows["message"][1:]] == ["time", "sigma", "value", "dose"], rows["message"]


def test_a_run_tells_of_the_tables_lines(tmp):
    """Also of faults that only a run's options make, and though import sorts the rows."""
    (tmp / "wells.csv").write_text("dataset,time,value,sigma\nb,1,0.8,0.1\na,1,0.8,0.1\na,2,-0.6,0.1\n\nb,2,0.7,-1\n"
                                   "a,3,0.4,0.1\nb,3,0.5,0.1\nc,-1,0.5,0.1\nc,2,0.4,\n")
    done = stiffit("import", "wells.csv", "--model", model("decay"), cwd=tmp)
    assert "wells.csv:6" in done.stderr, done.stderr
    stiffit("run", "wells.h5", "--trust", "-q", cwd=tmp, code=1)
    assert read_fits(tmp / "wells.result.h5")["message"][0].startswith("wells.csv:6: sigma is -1")
    assert "wells.csv:9: time is -1, before t0" in read_fits(tmp / "wells.result.h5")["message"][2]
    stiffit("run", "wells.h5", "--trust", "-q", "--error", "log-normal", "--overwrite", cwd=tmp, code=1)
    assert "wells.csv:4: value is -0.6" in read_fits(tmp / "wells.result.h5")["message"][1]
    with h5py.File(tmp / "wells.h5", "r+") as f:
        assert list(f["measurements/line"]) == [2, 6, 8, 3, 4, 7, 9, 10]
        del f["measurements"].attrs["csv"]
    stiffit("run", "wells.h5", "--trust", "-q", "--overwrite", cwd=tmp, code=1)
    assert "row 1: sigma is -1" in read_fits(tmp / "wells.result.h5")["message"][0]


def test_another_model_brings_its_own_defaults(tmp):
    """What import took from the model binds no other; what the user said does. The oracle is an import with that model."""
    text = "parameter k = {} in [{}, {}]{}\nparameter A = 2\n{}y(0) = A\ny' = -k*y\nobserve h = y{}\n"
    variants = {"old": (0.2, 0.1, 0.4, " scale log", "parameter c = 0\n", " + c"),
                "bounds": (0.6, 0.01, 5, " scale log", "parameter c = 0\n", " + c"),
                "scale": (0.2, 0.1, 4, "", "parameter c = 0\n", " + c"),
                "more": (0.2, 0.1, 4, " scale log", "parameter b = 0.1, c = 0\n", " + c*b"),
                "fewer": (0.2, 0.1, 4, " scale log", "", "")}
    for name, words in variants.items():
        (tmp / f"{name}.ode").write_text(text.format(*words))
    rows = [(d, t, a * np.exp(-k * t) * (1 + 0.01 * (-1) ** t)) for d, k, a in (("x", 0.9, 2), ("y", 0.7, 3)) for t in range(6)]
    (tmp / "t.csv").write_text("dataset,time,value\n" + "".join(f"{d},{t},{y:.6g}\n" for d, t, y in rows))
    for options in ((), ("--upper", "k=0.8", "--fix", "A=2")):
        stiffit("import", "t.csv", "--model", "old.ode", "-q", "--overwrite", *options, cwd=tmp)
        stiffit("run", "t.h5", "-q", "--overwrite", "-o", "same.h5", cwd=tmp)
        assert "imported with" not in stiffit("run", "t.h5", "-m", "old.ode", "--overwrite", "-o", "s.h5", cwd=tmp).stderr
        for name, said in (("bounds", "start of k 0.6 (was 0.2)"), ("scale", "scale of k lin (was log)"),
                           ("more", "new parameter b"), ("fewer", "no parameter c")):
            done = stiffit("run", "t.h5", "-m", f"{name}.ode", "--overwrite", "-o", "with.h5", cwd=tmp, code=(0, 1))
            assert "imported with another model" in done.stderr and said in done.stderr, (name, done.stderr)
            assert ("upper of k" in done.stderr) == (not options), done.stderr
            stiffit("import", "t.csv", "--model", f"{name}.ode", "-q", "-o", "own.h5", "--overwrite", *options, cwd=tmp)
            stiffit("run", "own.h5", "--overwrite", "-q", cwd=tmp, code=(0, 1))
            one, other = read_fits(tmp / "with.h5"), read_fits(tmp / "own.result.h5")
            assert sorted(one["names"]) == sorted(other["names"]), name
            order = [one["names"].index(name) for name in other["names"]]
            assert list(one["status"]) == list(other["status"]), (name, one["status"], one["message"])
            np.testing.assert_allclose(one["parameters"][:, order], other["parameters"], rtol=1e-4, atol=1e-6, err_msg=name)
            assert options or np.all(one["parameters"][:, one["names"].index("k")] > 0.65), name  # 0.4 was the old bound
            stiffit("export", "with.h5", "--what", "predictions", cwd=tmp)
    done = stiffit("run", "t.h5", "-m", "more.ode", "--in-place", cwd=tmp, code=2)
    assert "--in-place" in done.stderr
    with h5py.File(tmp / "t.h5", "r+") as f:
        nan, inf = np.nan, np.inf  # columns start, lower, upper, scale; NaN: chosen by an option
        np.testing.assert_array_equal(f["parameters/from_model"], [[0.2, 0.1, nan, 1], [nan, -inf, inf, 0], [0, -inf, inf, 0]])
        del f["parameters/from_model"]  # as an earlier version has written it: the file's word holds
    assert "missing" in stiffit("run", "t.h5", "-m", "more.ode", "--overwrite", cwd=tmp, code=3).stderr


def test_another_model_for_one_dataset_and_one_parameter(tmp):
    """One value is one per parameter, not one per dataset; here the old bounds hold k down."""
    for name, k, lower, upper in (("old", 0.5, 0.1, 1), ("new", 0.7, 0.01, 5)):
        (tmp / f"{name}.ode").write_text(f"parameter k = {k} in [{lower}, {upper}]\ny(0) = 1\ny' = -k*y\nobserve y\n")
    (tmp / "t.csv").write_text("dataset,time,value\n" + "".join(f"a,{t},{math.exp(-2 * t)!r}\n" for t in (0.25, 0.5, 1)))
    stiffit("import", "t.csv", "--model", "old.ode", cwd=tmp)
    done = stiffit("run", "t.h5", "--model", "new.ode", cwd=tmp)
    assert "start of k 0.7 (was 0.5), lower of k 0.01 (was 0.1), upper of k 5 (was 1)" in done.stderr, done.stderr
    np.testing.assert_allclose(read_fits(tmp / "t.result.h5")["parameters"], [[2]], rtol=1e-5)  # exact data, --rtol 1e-7


def test_an_edited_number_counts(tmp):
    """With the model of the import, its file unchanged or not, and with another. A parameter with `fixed` ends at its start."""
    text = "parameter k = {} in [0.1, 4] scale log, A = {}\ny(0) = A\ny' = -k*y\nobserve h = y sd 0.01\n"
    (tmp / "one.ode").write_text(text.format(0.5, 2))
    (tmp / "other.ode").write_text(text.format(0.6, 1))
    rows = [(d, t, 2 * math.exp(-k * t)) for d, k in (("x", 0.3), ("y", 0.2)) for t in range(6)]
    (tmp / "t.csv").write_text("dataset,time,value\n" + "".join(f"{d},{t},{y!r}\n" for d, t, y in rows))

    def run(edits, *options):
        stiffit("import", "t.csv", "--model", "one.ode", "-q", "--overwrite", cwd=tmp)
        with h5py.File(tmp / "t.h5", "r+") as f:
            for name, i, value in edits:
                f[f"parameters/{name}"][i] = value
        said = stiffit("run", "t.h5", "--overwrite", *options, cwd=tmp, code=(0, 1)).stderr
        return said, read_fits(tmp / "t.result.h5")["parameters"]

    for model_words in ((), ("--model", "one.ode"), ("--model", "other.ode")):
        said, p = run([("start", 0, 1.25), ("fixed", 0, 1)], *model_words)
        assert list(p[:, 0]) == [1.25, 1.25] and "of k" not in said, (model_words, said)
        assert ("another model" in said) == ("start of A 1 (was 2)" in said) == ("other.ode" in model_words), said
        said, p = run([("lower", 0, 0.25), ("scale", 0, b"lin")], *model_words)  # of y the minimum, 0.2, lies below
        np.testing.assert_allclose(p[:, 0], [0.3, 0.25], rtol=1e-4)  # what --ftol leaves of the exact data's k
        assert "lower" not in said and "scale" not in said, said
        assert ("another model" in said) == ("start of k 0.6 (was 0.5)" in said) == ("other.ode" in model_words), said


def test_text_in_latin_1(tmp):
    """Of a table and of a problem file that numpy has written: read as such and said, and written as UTF-8 everywhere."""
    names = ["\u00b5-titre 37\u00b0", "M\u00fcller", "plain"]
    rows = "".join(f"{name},{t},{1 / t}\n" for name in names for t in (1, 2, 3))
    (tmp / "old.csv").write_bytes(("dataset,time,value\n" + rows).encode("latin-1"))
    (tmp / "new.csv").write_bytes(("dataset,time,value\n" + rows).encode("utf-8"))
    assert "old.csv:2: not UTF-8" in stiffit("import", "old.csv", "--model", model("decay"), cwd=tmp).stderr
    assert "UTF-8" not in stiffit("import", "new.csv", "--model", model("decay"), cwd=tmp).stderr
    with h5py.File(tmp / "old.h5") as f:
        assert strings(f["datasets/id"]) == names
    decay_problem(tmp / "p.h5", 3)
    with h5py.File(tmp / "p.h5", "r+") as f:
        del f["datasets/id"]
        f["datasets/id"] = np.array([name.encode("latin-1") for name in names])
    for problem in ("old.h5", "p.h5"):
        stiffit("run", problem, "--trust", "-q", cwd=tmp, code=(0, 1))
        result = result_path(tmp / problem)
        assert list(read_fits(result)["id"]) == names
        exported = stiffit("export", result).stdout
        assert [line.split(",")[0] for line in exported.splitlines()[1:]] == names, exported
        stiffit("run", problem, "--trust", "-q", "--only", names[1], cwd=tmp, code=(0, 1))


def test_eigenvalues_belong_to_no_parameter(tmp):
    decay_problem(tmp / "p.h5", 2)
    stiffit("run", tmp / "p.h5", "--trust", "-q")
    exported = stiffit("export", result_path(tmp / "p.h5"), "--columns", "id,information_eigenvalues").stdout
    assert exported.splitlines()[0] == "id,information_eigenvalues_1,information_eigenvalues_2", exported


def test_import_of_a_million_rows_stays_small(tmp):
    """The rows lie in memory while they are sorted, some 64 bytes each; nothing else grows with them."""
    import resource  # pylint: disable=import-outside-toplevel
    if helpers.SANITIZE:
        helpers.skip("a sanitizer multiplies memory")
    n = 1000000 if helpers.SLOW else 300000
    with open(tmp / "m.csv", "w", encoding="ascii") as f:
        f.write("dataset,time,value\n")
        f.writelines(f"d{i % 1000},{i // 1000},{i % 7}\n" for i in range(n))
    stiffit("import", tmp / "m.csv", "--model", model("decay"), "-o", tmp / "p.h5")
    peak_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak_kib < 60 * 1024 + n * 0.15, peak_kib
    with h5py.File(tmp / "p.h5") as f:
        assert len(f["measurements/dataset"]) == n
        assert strings(f["datasets/id"])[:2] == ["d0", "d1"]
        np.testing.assert_array_equal(f["measurements/time"][:n // 1000], np.arange(n // 1000))


def test_export_of_fits_equals_the_file(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, 50)
    with h5py.File(problem, "a") as f:
        f["measurements/value"][8:16] = np.nan  # nothing measured in dataset 1
    stiffit("run", problem, "--trust", "-q", code=1)
    fits, result = read_fits(result_path(problem)), result_path(problem)
    columns = table(stiffit("export", result).stdout)
    assert list(columns["id"]) == [f"d{i}" for i in range(50)]
    for j, name in enumerate(fits["names"]):
        np.testing.assert_array_equal(columns[name], fits["parameters"][:, j])  # to the last bit
    np.testing.assert_array_equal(columns["objective"], fits["objective"])
    assert list(columns["status"]) == list(fits["status"]) and columns["status"][1] == "bad_data"
    assert columns["message"][1] == fits["message"][1] != ""
    objects = json.loads(stiffit("export", result, "--json").stdout)
    assert len(objects) == 50 and objects[1]["status"] == "bad_data" and objects[1]["objective"] is None
    assert objects[7]["parameters"]["k"] == fits["parameters"][7, fits["names"].index("k")]
    shown = json.loads(stiffit("show", result, "--json").stdout)
    good = fits["status"] == "converged"
    for j, parameter in enumerate(shown["parameters"]):
        quartiles = np.quantile(fits["parameters"][good, j], [0, 0.25, 0.5, 0.75, 1])
        # NumPy interpolates with another rounding: two units in the last place
        np.testing.assert_allclose([parameter[q] for q in ("min", "q25", "median", "q75", "max")], quartiles, rtol=5e-16)
    assert shown["failures"][0]["examples"] == ["d1"] and shown["failures"][0]["fits"] == 1


def test_types_of_columns_are_those_of_the_file(tmp):
    """Columns of whole numbers that are texts or doubles in the file show whether the values are looked at."""
    decay_problem(tmp / "p.h5", 2, known_sigma=True)
    with h5py.File(tmp / "p.h5", "a") as f:
        del f["datasets/id"]
        f["datasets/id"] = ["1", "2"]
        f["parameters/name"] = ["k", "A"]
        f["parameters/start"] = [0.25, 2.0]
    stiffit("run", tmp / "p.h5", "--trust", "--evaluate")
    result = result_path(tmp / "p.h5")
    for words in (("--columns", "all"), (), ("--columns", "A,at_bound_A,error_missing_k")):
        plain = stiffit("export", result, *words).stdout.splitlines()
        head, types, *rows = stiffit("export", result, "--types-row", *words).stdout.splitlines()
        assert [head, *rows] == plain
        with h5py.File(result) as f:
            names = strings(f["parameters/name"])
            for name, type_ in zip(head.split(","), types.split(",")):
                column = f["fits/parameters"] if name in names else next(
                    f["fits"][stem] for stem in (name, name.rpartition("_")[0]) if stem in f["fits"])
                is_text = name in ("notes", "at_bound") or h5py.check_string_dtype(column.dtype) or h5py.check_enum_dtype(
                    column.dtype)
                assert type_ == ("text" if is_text else "number" if column.dtype.kind == "f" else "integer"), (name, type_)
    texts = {"dataset", "id", "observable", "censored", "status_1", "status_2"}
    for words in (("export", result, "--trust", "--what", "residuals"), ("simulate", result, "--trust", "--times", "0,1"),
                  ("compare", result, result, "-o", "-")):
        head, types = (line.split(",") for line in stiffit(*words, "--types-row").stdout.splitlines()[:2])
        assert types == ["text" if name in texts else "number" for name in head], (head, types)
    assert "--types-row" in stiffit("export", result, "--json", "--types-row", code=2).stderr


def test_residuals_are_those_of_the_objective(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, 10)
    stiffit("run", problem, "--trust", "-q")
    fits, result = read_fits(result_path(problem)), result_path(problem)
    assert "--trust" in stiffit("export", result, "--what", "residuals", code=3).stderr
    rows = table(stiffit("export", result, "--what", "residuals", "--trust").stdout)
    with h5py.File(problem) as f:
        np.testing.assert_array_equal(rows["value"], f["measurements/value"])
        np.testing.assert_array_equal(rows["time"], f["measurements/time"])
    np.testing.assert_array_equal(rows["residual"], rows["value"] - rows["prediction"])
    k, a = (fits["parameters"][:, fits["names"].index(n)] for n in ("k", "A"))
    exact = np.repeat(a, 8) * np.exp(-np.repeat(k, 8) * rows["time"])
    # the run integrates to rtol 1e-6 per step; errors add up over some tens of steps
    np.testing.assert_allclose(rows["prediction"], exact, rtol=2e-4)
    sums = 0.5 * (rows["weighted_residual"].reshape(10, 8) ** 2).sum(axis=1)
    np.testing.assert_allclose(sums, fits["objective"], rtol=1e-13)  # the same integration; the sums may round
    fewer = table(stiffit("export", result, "--what", "predictions", "--model", model("decay")).stdout)
    np.testing.assert_array_equal(fewer["prediction"], rows["prediction"])
    # of another problem than the one that was fitted
    decay_problem(tmp / "other.h5", 10, seed=2)
    done = stiffit("export", result, "--what", "residuals", "--trust", "--problem", tmp / "other.h5", code=3)
    assert "does not hold the data" in done.stderr
    decay_problem(tmp / "in.h5", 3)
    stiffit("run", tmp / "in.h5", "--trust", "-q", "--in-place")
    assert len(table(stiffit("export", tmp / "in.h5", "--what", "residuals", "--trust").stdout)["time"]) == 24


def test_simulate_prints_predictions(tmp):
    done = stiffit("simulate", "--model", model("decay"), "--times", "0:2:0.5,1e-2:1e2:log5,7", "--set", "k=0.3", "-s", "A=2")
    rows = table(done.stdout)
    expected = [0, 0.5, 1, 1.5, 2, 0.01, 0.1, 1, 10, 100, 7]
    np.testing.assert_allclose(rows["time"], expected, rtol=1e-15)
    # rtol 1e-8 and atol 1e-12 per step, some hundred steps
    np.testing.assert_allclose(rows["value"], 2 * np.exp(-0.3 * rows["time"]), rtol=1e-6, atol=1e-10)
    (tmp / "m.csv").write_text(done.stdout)
    stiffit("import", tmp / "m.csv", "--model", model("decay"), "-o", tmp / "p.h5")  # what it prints can be imported
    wanted = table(stiffit("simulate", "-m", model("alpha-pinene"), "-t", "1,2", "--observable", "y3").stdout)
    assert list(wanted["observable"]) == ["y3", "y3"]
    assert "--covariate dose" in stiffit("simulate", "-m", model("theophylline"), "-t", "1", code=2).stderr
    problem = tmp / "f.h5"
    decay_problem(problem, 3)
    stiffit("run", problem, "--trust", "-q")
    fits = read_fits(result_path(problem))
    rows = table(stiffit("simulate", result_path(problem), "--trust", "-t", "0:4:2", "--id", "d1").stdout)
    k, a = (fits["parameters"][1, fits["names"].index(n)] for n in ("k", "A"))
    np.testing.assert_allclose(rows["value"], a * np.exp(-k * np.array([0, 2, 4])), rtol=2e-4)  # the run's rtol 1e-6
    assert len(table(stiffit("simulate", result_path(problem), "--trust", "-t", "1").stdout)["value"]) == 3
    stiffit("simulate", result_path(problem), "--trust", "-t", "1", "--id", "d9", code=2)
    rows = table(stiffit("simulate", result_path(problem), "--trust", "-t", "1", "--id", "d2,d0").stdout)
    assert list(rows["dataset"]) == ["d0", "d2"]
    shown = stiffit("show", result_path(problem), "--id", "d2,d0").stdout
    assert shown.split("\n\n")[0] == stiffit("show", result_path(problem), "--id", "d0").stdout.rstrip("\n").split("\n\n")[0]
    assert re.findall(r"^(d\d): ", shown, re.M) == ["d0", "d2"]
    assert "has no dataset 'd9'" in stiffit("show", result_path(problem), "--id", "d1,d9", code=2).stderr


def test_synthetic_datasets_have_the_distribution_that_was_asked_for(tmp):
    args = ["simulate", "-m", model("decay"), "-t", "1,2,3", "--datasets", "2000", "--set", "k=0.4", "--set", "A=3",
            "--noise", "0.05", "--spread", "0.2"]
    stiffit(*args, "-o", tmp / "a.h5", "--truth", tmp / "a.csv")
    stiffit(*args, "-o", tmp / "b.h5")
    stiffit(*args, "-o", tmp / "c.h5", "--seed", "2")
    truth = table((tmp / "a.csv").read_text())
    with h5py.File(tmp / "a.h5") as f, h5py.File(tmp / "b.h5") as same, h5py.File(tmp / "c.h5") as other:
        value, sigma = f["measurements/value"][:], f["measurements/sigma"][:]
        np.testing.assert_array_equal(value, same["measurements/value"])
        assert np.all(value != other["measurements/value"][:])
        assert strings(f["datasets/id"]) == list(truth["dataset"])
    exact = np.repeat(truth["A"], 3) * np.exp(-np.repeat(truth["k"], 3) * np.tile([1, 2, 3], 2000))
    np.testing.assert_allclose(sigma, 0.05 * exact, rtol=1e-6)  # simulated at rtol 1e-8
    # Kolmogorov-Smirnov; the seed is fixed, so this passes always or never. p > 1e-3 holds for 999 of 1000 good seeds.
    assert kstest((value - exact) / sigma, "norm").pvalue > 1e-3
    assert kstest(np.log(truth["k"] / 0.4) / 0.2, "norm").pvalue > 1e-3
    done = stiffit("run", tmp / "a.h5", "--trust", "-q", "--json", "--accept-failed", "0.5%")
    assert json.loads(done.stdout)["fits"] == 2000
    fits = read_fits(result_path(tmp / "a.h5"))
    # twice the objective of 3 measurements and 2 parameters is chi-squared with 1 degree of freedom, nearly (the model
    # is not linear, but the noise is small)
    assert kstest(2 * fits["objective"], "chi2", args=(1,)).pvalue > 1e-3


def test_synthetic_noise_of_other_kinds(tmp):
    base = ["simulate", "-m", model("decay"), "-t", "0:9:1", "--datasets", "500", "--set", "k=0.5", "--set", "A=2"]
    exact = np.tile(2 * np.exp(-0.5 * np.arange(10)), 500)
    stiffit(*base, "-o", tmp / "none.h5")
    stiffit(*base, "--noise-absolute", "0.1", "--no-sigma", "-o", tmp / "absolute.h5")
    with h5py.File(tmp / "none.h5") as f:
        assert "sigma" not in f["measurements"]
        np.testing.assert_allclose(f["measurements/value"], exact, rtol=1e-6)
    with h5py.File(tmp / "absolute.h5") as f:
        assert "sigma" not in f["measurements"]
        assert kstest((f["measurements/value"] - exact) / 0.1, "norm").pvalue > 1e-3
    stiffit("simulate", "-m", model("theophylline"), "-t", "1,2", "--covariate", "dose=1,2,4", "--datasets", "5", "-o",
            tmp / "doses.h5")
    with h5py.File(tmp / "doses.h5") as f:
        assert [row[0] for row in f["datasets/covariates"]] == [1, 2, 4, 1, 2]


NOISY = """
#include <stiffit/model.h>
static const char *const parameters[] = {"level"}, *const observables[] = {"h", "g"};
static const double start[] = {5};
static int observe(const struct stiffit_point *at, double *h) { h[0] = at->p[0]; h[1] = at->t; return 0; }
static int noise(const struct stiffit_point *at, double *s) { (void)at; s[0] = 0.5; s[1] = 2; return 0; }
STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    STIFFIT_MODEL_HEADER, .name = "noisy", .n_parameter = 1, .n_observable = 2, .parameter_name = parameters,
    .observable_name = observables, .parameter_start = start, .observe = observe, .noise = noise};
"""


def test_the_models_own_noise(tmp):
    plugin = compile_plugin(NOISY, tmp / "noisy.so")
    stiffit("simulate", "-m", plugin, "-t", "1:10:1", "--datasets", "300", "-o", tmp / "p.h5")
    with h5py.File(tmp / "p.h5") as f:
        assert "sigma" not in f["measurements"]
        value, observable = f["measurements/value"][:], f["measurements/observable"][:]
        time = f["measurements/time"][:]
    assert kstest((value[observable == 0] - 5) / 0.5, "norm").pvalue > 1e-3
    assert kstest((value[observable == 1] - time[observable == 1]) / 2, "norm").pvalue > 1e-3


def test_residual_bootstrap(tmp):
    stiffit("import", ROOT / "data/alpha-pinene.csv", "-m", model("alpha-pinene"), "-o", tmp / "p.h5", "-q")
    stiffit("run", tmp / "p.h5", "--trust", "-q")
    rows = table(stiffit("export", tmp / "p.result.h5", "--what", "residuals", "--trust").stdout)
    assert "--trust" in stiffit("simulate", "--bootstrap", "3", tmp / "p.result.h5", "-o", tmp / "b.h5", code=3).stderr
    stiffit("simulate", "--bootstrap", "400", tmp / "p.result.h5", "--trust", "-o", tmp / "b.h5")
    with h5py.File(tmp / "b.h5") as f, h5py.File(tmp / "p.h5") as original:
        assert strings(f["datasets/id"])[0] == strings(original["datasets/id"])[0] and len(f["datasets/id"]) == 401
        value = f["measurements/value"][:].reshape(401, 40)
        np.testing.assert_array_equal(value[0], original["measurements/value"])
        np.testing.assert_array_equal(np.broadcast_to(f["parameters/start"], (401, 5))[0],
                                      read_fits(tmp / "p.result.h5")["parameters"][0])
    # what the manual says: residuals centred within each observable, and scaled to the variance RSS / (40 - 5)
    pools = {name: rows["residual"][rows["observable"] == name] for name in set(rows["observable"])}
    centred = {name: r - r.mean() for name, r in pools.items()}
    factor = np.sqrt((rows["residual"] ** 2).sum() / 35 * 40 / sum((r ** 2).sum() for r in centred.values()))
    drawn = value[1:] - rows["prediction"]
    for i, name in enumerate(rows["observable"]):
        distance = np.abs(drawn[:, i][:, None] - factor * centred[name][None, :])
        assert distance.min(axis=1).max() < 1e-9, name          # each is one of its observable's residuals ...
        counts = np.bincount(distance.argmin(axis=1), minlength=8)
        assert counts.min() > 15 and counts.max() < 100, counts  # ... of 8, 50 times each: 15 and 100 are 5 and 7 sigma
    np.testing.assert_allclose(drawn.var(), (rows["residual"] ** 2).sum() / 35, rtol=0.05)  # 16,000 draws: 6 sigma
    stiffit("simulate", "--bootstrap", "400", tmp / "p.result.h5", "--trust", "-o", tmp / "again.h5")
    with h5py.File(tmp / "again.h5") as f:
        np.testing.assert_array_equal(value, f["measurements/value"][:].reshape(401, 40))


def test_parametric_bootstrap_of_one_of_several(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, 3)
    with h5py.File(problem, "a") as f:
        f["measurements/value"][10] = np.nan
    stiffit("run", problem, "--trust", "-q")
    result = result_path(problem)
    done = stiffit("simulate", "--bootstrap", "9", result, "--trust", "-o", tmp / "b.h5", code=2)
    assert "--id" in done.stderr
    stiffit("simulate", "--bootstrap", "2000", result, "--id", "d1", "--method", "parametric", "--trust", "-o", tmp / "b.h5")
    rows = table(stiffit("export", result, "--what", "residuals", "--trust").stdout)
    mine = rows["dataset"] == "d1"
    with h5py.File(tmp / "b.h5") as f:
        value = f["measurements/value"][:].reshape(2001, 8)
    assert np.isnan(value[:, 2]).all() and np.isfinite(np.delete(value, 2, axis=1)).all()
    sd = np.sqrt(np.nansum(rows["residual"][mine] ** 2) / (7 - 2))
    drawn = np.delete(value[1:] - rows["prediction"][mine], 2, axis=1) / sd
    assert kstest(drawn.ravel(), "norm").pvalue > 1e-3


if __name__ == "__main__":
    helpers.main()
