"""The package stiffit of scripts/python: tables become a problem, its fits DataFrames, errors speak of rows and keywords;
against h5py, NumPy and closed forms. Its docstrings are run, and its notebook.

SPDX-License-Identifier: BSD-3-Clause
"""
import ast
import contextlib
import datetime
import doctest
import functools
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import types
import warnings

import h5py
import numpy as np

import helpers as h

FOLDER = h.ROOT / "scripts/python"
MODEL = h.ROOT / "models/decay/decay.ode"
TEXT = """
parameter k = 0.5 in [1e-4, 1e4] scale log
parameter A = 1 in [1e-4, 1e4] scale log
y(0) = A
y' = -k*y
observe y
"""
TRUE = {"a": (0.3, 2.0), "b": (0.7, 1.0), "007": (1.5, 3.0)}  # k, A of y = A exp(-k t)
TIMES = np.linspace(0.5, 8, 16)


@functools.lru_cache(maxsize=None)
def load():
    try:
        import pandas
    except ImportError:
        h.skip("no pandas")
    os.environ.update(STIFFIT=str(h.STIFFIT), STIFFIT_LIBRARY=str(h.BUILD / "libstiffit.so.0"),
                      XDG_CACHE_HOME=h.environment()["XDG_CACHE_HOME"])
    sys.path.insert(0, str(FOLDER))
    import stiffit
    frames = [pandas.DataFrame({"dataset": name, "time": TIMES, "value": A * np.exp(-k * TIMES), "sigma": 0.01})
              for name, (k, A) in TRUE.items()]
    return stiffit, pandas, pandas.concat(frames)


@functools.lru_cache(maxsize=None)
def fitted():
    stiffit, _, df = load()
    return stiffit.fit(df, TEXT, progress=False)


def refused(kind, call, *words, absent=("--", "/tmp", ".csv", "--help")):
    """The message of a call that fails: it has these words, and neither options nor temporary files."""
    try:
        call()
    except kind as error:
        text = str(error)
        assert all(word in text for word in words), text
        assert not any(word in text for word in absent), text
        return error
    raise AssertionError("not refused")


def test_fit_and_tables(tmp):
    stiffit, _, df = load()
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        result = stiffit.fit(df, MODEL, output=tmp / "p.h5", starts=2, keep_starts=True)
    assert "6/6 starts" in said.getvalue(), said.getvalue()
    table = result.table
    assert list(table["id"]) == list(TRUE) and set(table["status"]) == {"converged"}, table
    with h5py.File(result.path) as f:
        np.testing.assert_array_equal(table[["k", "A"]].to_numpy(), f["fits/parameters"][:])
    np.testing.assert_allclose(table[["k", "A"]].to_numpy(), list(TRUE.values()), rtol=1e-5)  # --rtol 1e-7
    with h5py.File(tmp / "p.h5") as f:
        np.testing.assert_array_equal(f["measurements/value"][:], df["value"].to_numpy())
    assert result.summary["fits"] == 3 and repr(result) == "<stiffit.Result p.result.h5: 3 fits, 3 converged>"
    assert len(result.residuals()) == len(df) and len(result.predictions(id="007")) == 16
    assert len(result.export("starts")) == 6
    again = stiffit.read(result.path)
    assert len(again.table) == 3 and repr(again) == repr(result)


def test_what_is_a_table(tmp):
    """Dicts of columns, of tables, rows, series and xarray give the bits of the DataFrame."""
    stiffit, pandas, df = load()
    plain = df.reset_index(drop=True)
    want = fitted().table[["k", "A"]].to_numpy()
    forms = [{name: list(plain[name]) for name in plain},
             {name: part.drop(columns="dataset") for name, part in plain.groupby("dataset", sort=False)},
             {name: {"time": TIMES, "value": A * np.exp(-k * TIMES), "sigma": 0.01} for name, (k, A) in TRUE.items()},
             plain.to_dict("records"), plain.astype({"dataset": "category"})]
    for form in forms:
        np.testing.assert_array_equal(stiffit.fit(form, TEXT, progress=False).table[["k", "A"]].to_numpy(), want)
    series = plain.set_index(["dataset", "time"])["value"]
    one = stiffit.fit(series, TEXT, progress=False, only="b").table
    np.testing.assert_allclose(one[["k", "A"]].to_numpy(), [TRUE["b"]], rtol=1e-5)
    refused(ValueError, lambda: stiffit.fit({"time": [1, 2], "value": [1]}, TEXT), "measurements", "'time': 2, 'value': 1")
    refused(ValueError, lambda: stiffit.fit(plain[:0], TEXT), "measurements: there are no rows")
    refused(ValueError, lambda: stiffit.fit({"a": plain}, TEXT), "measurements['a']", "'dataset'")
    refused(TypeError, lambda: stiffit.fit(7, TEXT), "measurements", "not int")
    try:
        import xarray
    except ImportError:
        h.skip("no xarray (the other forms passed)")
    values = np.array([A * np.exp(-k * TIMES) for k, A in TRUE.values()])
    array = xarray.DataArray(values, dims=("dataset", "time"), coords={"dataset": list(TRUE), "time": TIMES})
    for form in (array, array.to_dataset(name="value")):
        table = stiffit.fit(form, TEXT, progress=False).table
        assert list(table["id"]) == list(TRUE)
        np.testing.assert_allclose(table[["k", "A"]].to_numpy(), list(TRUE.values()), rtol=1e-5)


def test_an_index_is_a_column(tmp):
    stiffit, pandas, df = load()
    expected = fitted().table
    for indexed in (df.set_index("dataset"), df.set_index(["dataset", "time"]), df.set_index("dataset", append=True),
                    df.set_index("dataset", drop=False)):
        pandas.testing.assert_frame_equal(stiffit.fit(indexed, TEXT, progress=False).table.drop(columns="seconds"),
                                          expected.drop(columns="seconds"))
    held = pandas.DataFrame({"start": [2.0], "fixed": [True]}, index=pandas.Index(["A"], name="parameter"))
    assert set(stiffit.fit(df, TEXT, parameters=held, progress=False).table["A"]) == {2.0}
    refused(ValueError, lambda: stiffit.fit(df.set_index("dataset").rename_axis(None), TEXT), "rename_axis('dataset')")
    refused(ValueError, lambda: stiffit.fit(df.assign(dataset="x").set_index(df["dataset"]), TEXT),
            "both a column and a level")


def test_quantities_with_units_are_refused(tmp):
    """Durations and points in time, in whatever type, are one message that says how to make them numbers."""
    stiffit, pandas, df = load()
    one = df[df["dataset"] == "a"].reset_index(drop=True)
    hours = pandas.to_timedelta(one["time"], unit="h")
    start = pandas.Timestamp("2026-01-01")
    durations = (hours, [datetime.timedelta(hours=float(t)) for t in one["time"]], hours.astype(object),
                 [None, *hours[1:].astype(object)], (3600 * one["time"].to_numpy()).astype("m8[s]"))
    points = (start + hours, start.tz_localize("Europe/Berlin") + hours, [datetime.date(2026, 1, 1 + i) for i in range(16)],
              pandas.Series(pandas.period_range("2026-01", periods=16, freq="D")))
    for kind, how, columns in (("durations", "df['time'] / pd.Timedelta(\"1h\") is in hours", durations),
                               ("points in time", ".min()) / pd.Timedelta(\"1h\") is in hours after the first", points)):
        for column in columns:
            error = refused(ValueError, lambda column=column: stiffit.fit(one.assign(time=column), TEXT), kind, how)
            assert len(str(error).splitlines()) == 1 and str(error).startswith("measurements: column 'time' has "), error
    refused(ValueError, lambda: stiffit.fit(one.assign(time=hours).set_index(["dataset", "time"]), TEXT), "durations")
    np.testing.assert_array_equal(  # as the message says
        stiffit.fit(one.assign(time=hours / pandas.Timedelta("1h")), TEXT, progress=False).table[["k", "A"]].to_numpy(),
        fitted().table[["k", "A"]].to_numpy()[:1])
    dose = {"dataset": "a", "time": hours[:1], "amount": 1}
    refused(ValueError, lambda: stiffit.fit(one, TEXT, doses=dose), "doses: column 'time'")
    refused(ValueError, lambda: stiffit.simulate(TEXT, times=hours), "times has durations")
    dated = {"dataset": ["a"], "day": [start]}  # a column that only describes
    assert str(stiffit.fit(one, TEXT, covariates=dated, progress=False).table["day"][0]).startswith("2026-01-01")
    model = stiffit.Model(TEXT)
    for times in (hours, hours.to_numpy(), list(hours), (start + hours).to_numpy(), list(points[2])):
        refused(ValueError, lambda times=times: model.evaluate(times), "times has ", "np.timedelta64(1, 'h')")
        table = {"time": times, "value": one["value"]}
        refused(ValueError, lambda table=table: model.fit(table), "measurements: column 'time'")
    refused(ValueError, lambda: model.evaluate([1.0], t0=np.timedelta64(1, "h")), "t0 has durations")
    refused(ValueError, lambda: model.evaluate([1.0], doses={"target": ["y"], "time": [hours[0]], "amount": [1]}), "doses: ")


def test_what_is_missing_or_masked(tmp):
    """NumPy's masks and pandas' missing values are missing, not the numbers below them."""
    stiffit, pandas, df = load()
    one = df[df["dataset"] == "a"].reset_index(drop=True)
    out = np.arange(16) == 5
    masked = np.ma.array(np.where(out, 99, one["value"]), mask=out)
    columns = [masked, list(masked), np.where(out, np.nan, one["value"]),
               pandas.array([None if gone else value for gone, value in zip(out, one["value"])], dtype="Float64"),
               [None if gone else value for gone, value in zip(out, one["value"])]]
    model = stiffit.Model(TEXT)
    plain = {"dataset": ["a"] * 16, "time": list(one["time"]), "sigma": list(one["sigma"])}
    want = stiffit.fit({name: column[~out] for name, column in one.items()}, TEXT, progress=False).table[["k", "A"]].to_numpy()
    for column in columns:
        table = {**plain, "value": column}
        # the same measurements; missing rows may change how their sums are rounded
        np.testing.assert_allclose(stiffit.fit(table, TEXT, progress=False).table[["k", "A"]].to_numpy(), want, rtol=1e-12)
        np.testing.assert_allclose([list(model.fit(table).parameters.values())], want, rtol=1e-12)
    refused(stiffit.StiffitError, lambda: model.evaluate(np.ma.array([1.0, 2.0], mask=[False, True])), "time 1 is nan")
    refused(ValueError, lambda: model.evaluate(np.array([1j, 2])), "complex")


def test_ids_that_would_become_one(tmp):
    stiffit, pandas, df = load()
    part = df[df["dataset"] != "007"]
    for column in (part["dataset"].map({"a": 1, "b": "1"}), part["dataset"].map({"a": 1, "b": "1"}).astype("category")):
        refused(ValueError, lambda column=column: stiffit.fit(part.assign(dataset=column), TEXT),
                "measurements: column 'dataset' has 1 and '1', which are the same id")
    refused(ValueError, lambda: stiffit.fit({1: part[["time", "value"]], "1": part[["time", "value"]]}, TEXT), "1 and '1'")
    same = part["dataset"].map({"a": 1, "b": 2}).astype(object)
    same[:1] = 1.0
    assert list(stiffit.fit(part.assign(dataset=same), TEXT, progress=False).table["id"]) == ["1", "2"]


def test_tables_do_not_ask_for_a_parser(tmp):
    """pandas 3.1 deprecates float_precision; the bits are those that were written all the same."""
    stiffit, pandas, _ = load()
    result = fitted()
    seen = []
    real = pandas.read_csv
    try:
        pandas.read_csv = lambda *words, **options: seen.append(options) or real(*words, **options)
        table = result.export("fits")
    finally:
        pandas.read_csv = real
    assert seen and all("float_precision" not in options for options in seen)
    with h5py.File(result.path) as f:
        for name in ("objective", "chi_square", "gradient_norm", "reduced_chi_square", "r_squared"):
            np.testing.assert_array_equal(table[name].to_numpy(), f["fits"][name][:])
            assert table[name].dtype == float


def test_no_relative_place(tmp):
    """Neither the program nor the library is looked for in the present folder."""
    load()
    (tmp / "lib").mkdir()
    for path in (tmp / "stiffit", tmp / "libstiffit.so.0", tmp / "lib" / "libstiffit.so.0"):
        path.write_text("#!/bin/sh\necho taken\n")
        path.chmod(0o755)
    code = ("import os, stiffit\nfor path in ('/nowhere', '/nowhere:', '.:/nowhere', ''):\n    os.environ['PATH'] = path\n"
            "    for call in (lambda: stiffit.Model('m.ode'), lambda: stiffit.fit({'time': [1], 'value': [1]}, 'm.ode')):\n"
            "        try:\n            call()\n        except stiffit.StiffitError as error:\n            print(error)")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("STIFFIT", "LD_"))}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp, capture_output=True, text=True, check=False,
                          env=env | {"PYTHONPATH": str(FOLDER), "LD_LIBRARY_PATH": "/nowhere:"})
    said = done.stdout.splitlines()
    assert len(said) == 8, done
    assert all(line.startswith("there is no program 'stiffit'") for line in said[1::2]) and str(tmp) not in done.stdout, said
    assert not any("lib/" in line or "invalid ELF" in line or "taken" in line for line in said), said


def test_errors_name_rows_and_keywords(tmp):
    stiffit, pandas, df = load()
    Error = stiffit.StiffitError
    counted = df.reset_index(drop=True)
    bad = counted["value"].astype(object)
    bad[[3, 40]] = ["low", "high"]
    wrong = counted.assign(value=bad)
    refused(Error, lambda: stiffit.fit(wrong, TEXT), "measurements, row 3: column 'value': 'low'", "measurements, row 40: ",
            "'high'")
    labelled = wrong.assign(dataset="two\nlines").set_index(pandas.Index([f"r{i}" for i in range(48)]))
    refused(Error, lambda: stiffit.fit(labelled, TEXT), "row 3 (index 'r3')", "row 40 (index 'r40')")
    assert refused(Error, lambda: stiffit.fit(df.rename(columns={"time": "when"}), TEXT), "measurements", "'time'").code == 3
    refused(Error, lambda: stiffit.fit(df, TEXT, doses={"dataset": ["a", "b"], "time": [0, 0], "amount": [1, "much"]}),
            "doses, row 1: column 'amount': 'much'")
    refused(Error, lambda: stiffit.fit(df, TEXT, parameters={"parameter": ["k", "q"], "start": [1, 1]}),
            "parameters, row 1", "'q'")
    refused(Error, lambda: stiffit.fit(df, TEXT + "covariate w\n", covariates={"dataset": ["a", "b"], "w": [1, 2]}),
            "covariates: dataset '007'")
    refused(Error, lambda: stiffit.fit(df, TEXT + "z' = q*y\n"), "model:7:1", "`z`", "model:7:6", "`q` is not defined")
    refused(Error, lambda: stiffit.fit(df, TEXT, share="q"), "share: there is no parameter 'q'")
    refused(Error, lambda: stiffit.fit(df, TEXT, start={"q": 1}), "start: the model has no parameter 'q'")
    refused(Error, lambda: fitted().plot("zz"), "the result", "has no dataset 'zz'")
    refused(Error, lambda: fitted().export("fitz"), "what: 'fitz'")
    # what a fit says of its data, too: rows are sorted by dataset in the file, but not in the table
    mixed = counted.assign(sigma=np.where(np.arange(48) == 37, -1.0, 0.01)).sort_values("time", kind="stable")
    row = int(np.flatnonzero(mixed.index == 37)[0])
    table = stiffit.fit(mixed, TEXT, progress=False).table
    assert [message.partition(":")[0] for message in table["message"]] == ["", "", f"measurements, row {row}"]


def test_options_are_checked_before_data_are_written(tmp):
    stiffit, _, df = load()
    path = tmp / "p.h5"
    stiffit.problem(df, TEXT, path, start={"k": 0.25}, fix={"A": 2})
    with h5py.File(path) as f:
        assert list(f["parameters/start"][:]) == [0.25, 2] and list(f["parameters/fixed"][:]) == [0, 1]
    before = path.read_bytes()

    class Unwritable(type(df)):
        def to_csv(self, *_, **__):
            raise AssertionError("data were written")
    data = Unwritable(df)
    for keywords, words in (({"strats": 3}, ("unknown option strats", "Did you mean starts?")),
                            ({"max_step": "wide"}, ("max_step: 'wide'",)), ({"certify": 3}, ("certify: '3'", "no, yes")),
                            ({"nonmem": True, "datasets_in_columns": True}, ("nonmem", "datasets_in_columns"))):
        error = refused(stiffit.StiffitError, lambda: stiffit.fit(data, TEXT, output=path, **keywords), *words)
        assert error.code == 2 and path.read_bytes() == before
    # False leaves out a flag, and is the word "no" of an option with words
    result = stiffit.fit(df, TEXT, progress=False, certify=False, keep_starts=False)
    assert " certify=no" in result.shown["provenance"]["options"], result.shown["provenance"]


def test_types_do_not_depend_on_the_data(tmp):
    """Whole numbers stay numbers, ids and messages stay texts, and a table without rows has the same types."""
    stiffit, pandas, df = load()
    numbers = df.assign(dataset=df["dataset"].map({"a": "NA", "b": "1", "007": "007"}))
    wanted = fitted().table.dtypes
    whole = stiffit.fit(numbers, TEXT, start={"k": 1, "A": 2}, fix={"k": 1}, evaluate=True, progress=False)
    table = whole.table
    assert list(table["id"]) == ["NA", "1", "007"] and list(table["A"]) == [2, 2, 2]
    common = [name for name in table if name in wanted.index]
    assert {"id", "k", "message", "at_bound", "iterations", "notes"} < set(common)
    text = pandas.Series([""], dtype=str).dtype
    assert all(table.dtypes[name] == wanted[name] for name in common), table.dtypes
    assert wanted["k"] == "float64" and wanted["iterations"] == "int64" and wanted["message"] == wanted["id"] == text
    odd = ["\u00e9\u03bc", "a,b", 'q"x', " blank ", "#1", "two\nlines", "x;y"]
    tables = {name: {"time": [1, 2], "value": [0.5, 0.3]} for name in odd}
    table = stiffit.fit(tables, TEXT, evaluate=True, progress=False).table
    assert list(table["id"]) == odd
    assert (fitted().export(where="k > 99").dtypes == wanted).all()
    assert (fitted().residuals(where="k > 99").dtypes == fitted().residuals().dtypes).all()


def test_what_a_result_can_do(tmp):
    stiffit, _, df = load()
    result = fitted()
    table = result.table.set_index("id")
    # predictions in closed form: --rtol 1e-8 of simulate, errors over some tens of steps
    curve = result.predict([0, 1.5], id="b")
    np.testing.assert_allclose(curve["prediction"], table.loc["b", "A"] * np.exp(-table.loc["b", "k"] * np.array([0, 1.5])),
                               rtol=1e-6)
    rows = result.residuals()
    np.testing.assert_array_equal(rows["value"], df["value"].to_numpy())
    np.testing.assert_array_equal(rows["residual"], rows["value"] - rows["prediction"])
    np.testing.assert_array_equal(result.predict()["prediction"], rows["prediction"])
    with h5py.File(result.path) as f:
        i = list(f["fits/id"].asstr()[:]).index("b")
        square = f["fits/covariance"][i].reshape(2, 2)
    covariance = result.covariance("b")
    assert list(covariance.index) == list(covariance.columns) == ["k", "A"]
    np.testing.assert_array_equal(covariance.to_numpy(), square)
    # J'J of y = A exp(-k t) with sigma 0.01
    k, A = TRUE["b"]
    slopes = np.array([-A * TIMES * np.exp(-k * TIMES), np.exp(-k * TIMES)]) / 0.01
    np.testing.assert_allclose(covariance.to_numpy(), np.linalg.inv(slopes @ slopes.T), rtol=1e-4)  # of the fit's k and A
    correlation = result.covariance("b", correlation=True).to_numpy()
    np.testing.assert_allclose(correlation[0, 1], square[0, 1] / np.sqrt(square[0, 0] * square[1, 1]), rtol=1e-14)
    refused(ValueError, result.covariance, "several datasets")
    # exact data: the errors of the fits (1 %) are small beside the spread over the datasets (60 %)
    population = result.population()
    np.testing.assert_allclose(population.parameters.loc["k", "mean"], np.log([k for k, _ in TRUE.values()]).mean(), atol=0.02)
    assert list(population.table["id"]) == list(TRUE) and population.covariance.shape == (2, 2)
    fewer = stiffit.fit(df, TEXT, fix={"A": 2}, progress=False)
    comparison = result.compare(fewer)
    assert list(comparison.totals["parameters"]) == [6, 3] and len(comparison.table) == 3
    np.testing.assert_allclose(comparison.totals["aic"], 2 * np.array([6, 3]) - 2 * comparison.totals["log_likelihood"],
                               rtol=1e-12)
    page = result.report(tmp / "fits.html")
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    again = stiffit.run(result.simulate(output=tmp / "again.h5", bootstrap=3, id="b", method="parametric"), progress=False)
    np.testing.assert_allclose(again.table["k"], k, rtol=0.2)  # standard error 3 %
    html = result._repr_html_()
    assert "3 fits, 3 converged" in html and f"{table['k'].median():.4g}" in html
    assert "007" in result.show(id="007") and "k" in population._repr_html_() + comparison._repr_html_() + repr(population)
    if not shutil.which("gnuplot"):
        h.skip("no gnuplot (all but plots passed)")
    picture = result.plot("b")
    assert picture._repr_svg_().lstrip().startswith("<?xml") and "</svg>" in picture.svg
    assert result.plot("b", output=tmp / "b.svg").read_text(encoding="utf-8") == picture.svg
    assert picture.save(tmp / "c.svg").exists()


def test_simulation_without_a_fit(tmp):
    stiffit, _, _ = load()
    table = stiffit.simulate(TEXT, np.array([0, 0.5, 3]), set={"k": 0.3, "A": np.float64(2)})
    np.testing.assert_allclose(table["value"], 2 * np.exp(-0.3 * np.array([0, 0.5, 3])), rtol=1e-6)
    many = {"dataset": ["u", "v"], "k": [0.5, 0.1], "A": 2}
    table = stiffit.simulate(TEXT, [0, 2], parameters=many)
    np.testing.assert_allclose(table["value"], 2 * np.exp(-np.outer([0.5, 0.1], [0, 2])).ravel(), rtol=1e-6)
    bands = stiffit.simulate(TEXT, [0, 2], parameters=many, bands=[0.05, 0.95], noise=0.1, seed=3)
    assert set(bands.dtypes[4:]) == {np.dtype(float)} and len(bands) == 4
    refused(stiffit.StiffitError, lambda: stiffit.simulate(TEXT, 1, parameters={**many, "k": [1, "fast"]}),
            "parameters, row 1: column 'k': 'fast'")
    path = stiffit.simulate(TEXT, "1:8:1", output=tmp / "s.h5", datasets=4, spread=0.2, noise=0.01)
    with h5py.File(path) as f:
        assert f["measurements/time"].shape == (32,)


def test_progress_in_a_notebook(tmp):
    """One display below the cell, which is replaced; the last one has all starts."""
    stiffit, _, df = load()
    shown = []
    handle = types.SimpleNamespace(update=lambda bundle, raw: shown.append(bundle))
    display = types.ModuleType("IPython.display")
    display.display = lambda bundle, raw, display_id: shown.append(bundle) or handle
    package = types.ModuleType("IPython")
    package.display, package.get_ipython = display, lambda: types.SimpleNamespace(kernel=1)
    sys.modules.update({"IPython": package, "IPython.display": display})
    try:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            stiffit.fit(df, TEXT, starts=2)
    finally:
        del sys.modules["IPython"], sys.modules["IPython.display"]
    assert not said.getvalue() and 'value="100" max="100"' in shown[-1]["text/html"] and "6/6 starts" in shown[-1]["text/plain"]
    assert "3 converged" in shown[-1]["text/plain"] and "\x1b" not in "".join(bundle["text/html"] for bundle in shown)


def test_notes_are_warnings(tmp):
    stiffit, _, df = load()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stiffit.fit(df.assign(remark=1), TEXT, progress=False)
    assert ["measurements: column 'remark' is not used"] == [str(warning.message) for warning in caught
                                                          if warning.category is stiffit.StiffitWarning]
    assert caught[0].filename == __file__


def test_temporary_files_go(tmp):
    stiffit, _, df = load()
    result = stiffit.fit(df, TEXT, progress=False)
    folder = result.path.parent
    assert folder.exists()
    del result
    assert not folder.exists()


def test_docstrings(tmp):
    stiffit, _, _ = load()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    here = os.getcwd()
    os.chdir(tmp)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", stiffit.StiffitWarning)
            # The package's own text makes what the others use.
            session = doctest.DocTestParser().get_doctest(stiffit.__doc__, {"stiffit": stiffit}, "stiffit", None, 0)
            runner = doctest.DocTestRunner(optionflags=flags)
            runner.run(session, clear_globs=False)
            n = runner.tries
            assert runner.failures == 0 and n >= 10
            for module in ("stiffit.fits", "stiffit.memory"):
                done = doctest.testmod(importlib.import_module(module), optionflags=flags, extraglobs=session.globs)
                assert done.failed == 0
                n += done.attempted
    finally:
        os.chdir(here)
    assert n >= 30, n


def test_notebook(tmp):
    stiffit, _, _ = load()
    if not shutil.which("gnuplot"):
        h.skip("no gnuplot")
    notebook = json.loads((FOLDER / "tour.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 10 and not any(cell.get("outputs") for cell in notebook["cells"])
    here, names, shown = os.getcwd(), {}, ""
    os.chdir(tmp)
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()) as printed:
            for cell in cells:
                body = ast.parse(cell).body
                last = body.pop() if isinstance(body[-1], ast.Expr) else None
                exec(compile(ast.Module(body, []), "cell", "exec"), names)  # pylint: disable=exec-used
                if last:
                    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # pylint: disable=eval-used
                    show = next((getattr(value, way) for way in ("_repr_html_", "_repr_svg_") if hasattr(value, way)), None)
                    shown += show() if show else repr(value)
    finally:
        os.chdir(here)
    fits, true = names["result"].table, names["true"]
    assert "<svg" in shown and "<table" in shown
    assert "measurements, row 9: column 'time': 'late'" in printed.getvalue()
    # errors of the estimates: half of them within 0.67 standard errors, all within 5
    score = (fits["k"] - true["k"].to_numpy()) / fits["standard_error_k"]
    assert abs(score).max() < 5 and abs(score).median() < 1.2


def test_types(tmp):
    if not shutil.which("mypy"):
        h.skip("no mypy")
    done = subprocess.run(["mypy", "--strict", "--ignore-missing-imports", "--cache-dir", str(tmp), str(FOLDER / "stiffit")],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    h.main()
