"""scripts/python/stiffit.py: a DataFrame becomes a problem, its fits a DataFrame; against h5py and the closed form.

SPDX-License-Identifier: BSD-3-Clause
"""
import contextlib
import io
import os
import shutil
import subprocess
import sys
import warnings

import h5py
import numpy as np

import helpers as h

FOLDER = h.ROOT / "scripts/python"
MODEL = h.ROOT / "models/decay/decay.ode"
TRUE = {"a": (0.3, 2.0), "b": (0.7, 1.0), "007": (1.5, 3.0)}  # k, A of y = A exp(-k t)


def load():
    try:
        import pandas
    except ImportError:
        h.skip("no pandas")
    os.environ.update(STIFFIT=str(h.STIFFIT), XDG_CACHE_HOME=h.environment()["XDG_CACHE_HOME"])
    sys.path.insert(0, str(FOLDER))
    import stiffit
    t = np.linspace(0.5, 8, 16)
    frames = [pandas.DataFrame({"dataset": name, "time": t, "value": A * np.exp(-k * t), "sigma": 0.01})
              for name, (k, A) in TRUE.items()]
    return stiffit, pandas, pandas.concat(frames)


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
    assert 3 in result.summary.values(), result.summary  # the number of fits
    assert len(result.residuals()) == len(df) and len(result.predictions(id="007")) == 16
    assert len(result.export("starts")) == 6
    assert len(stiffit.read(result.path).table) == 3


def test_frames_of_parameters_and_errors(tmp):
    stiffit, pandas, df = load()
    held = pandas.DataFrame({"parameter": ["A"], "start": [2.0], "fixed": [1]})
    result = stiffit.fit(df[df["dataset"] == "a"], MODEL, parameters=held, progress=False)
    assert result.table["A"][0] == 2.0
    try:
        stiffit.fit(df.rename(columns={"time": "when"}), MODEL)
        raise AssertionError("a table without times was taken")
    except stiffit.StiffitError as error:
        assert "time" in str(error) and error.code == 3, (str(error), error.code)


def test_an_index_is_a_column(tmp):
    stiffit, pandas, df = load()
    expected = stiffit.fit(df, MODEL, progress=False).table
    for indexed in (df.set_index("dataset"), df.set_index(["dataset", "time"]), df.set_index(["time"]),
                    df.set_index("dataset", append=True)):
        pandas.testing.assert_frame_equal(stiffit.fit(indexed, MODEL, progress=False).table.drop(columns="seconds"),
                                          expected.drop(columns="seconds"))
    held = pandas.DataFrame({"start": [2.0], "fixed": [1]}, index=pandas.Index(["A"], name="parameter"))
    assert set(stiffit.fit(df, MODEL, parameters=held, progress=False).table["A"]) == {2.0}
    for wrong, text in ((df.set_index("dataset").rename_axis(None), "rename_axis('dataset')"),
                        (df.assign(dataset="x").set_index(df["dataset"]), "both a column and a level")):
        try:
            stiffit.fit(wrong, MODEL, progress=False)
            raise AssertionError("an index was dropped")
        except ValueError as error:
            assert text in str(error), error
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stiffit.fit(df.assign(plate=1), MODEL, progress=False)
    assert any("column 'plate' is not used" in str(warning.message) for warning in caught), caught


def test_types(tmp):
    if not shutil.which("mypy"):
        h.skip("no mypy")
    done = subprocess.run(["mypy", "--strict", "--ignore-missing-imports", "--cache-dir", str(tmp), str(FOLDER / "stiffit.py")],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    h.main()
