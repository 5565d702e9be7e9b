"""Fits of many datasets from pandas: DataFrames around the program `stiffit`, which must be installed.

    import stiffit
    result = stiffit.fit(df, "decay.ode", starts=10)   # df: columns dataset, time, value, optionally observable, sigma, ...
    result.table                                       # a row for each dataset: parameters, status, message
    result.residuals()                                 # a row for each measurement
    result.summary["by_status"]

The columns of all tables are those of the CSV files of `stiffit import` and `stiffit export`; see their manuals. The program is
$STIFFIT, or stiffit on the PATH.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import codecs
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings
from typing import Any, Dict, List, Optional, Union

import pandas as pd

Path = Union[str, "os.PathLike[str]"]


class StiffitError(RuntimeError):
    """The program refused something: its message, and its exit code as `code` (see stiffit(1))."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def _words(options: Dict[str, Any]) -> List[str]:
    """Options of the command line: keep_starts=True is --keep-starts, profile=["k", "A"] is --profile=k,A."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif isinstance(value, (list, tuple)):
            words.append(option + "=" + ",".join(str(item) for item in value))
        elif value is not None and value is not False:
            words.append(f"{option}={value}")
    return words


def _run(command: str, *words: str, accept: tuple[int, ...] = (0,), progress: bool = False) -> str:
    """Standard output of the program; with progress, its standard error is shown as it comes."""
    arguments = [os.environ.get("STIFFIT", "stiffit"), command, "--color=never", *words]
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    said = ""
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr
        try:
            # With progress standard output is one short object, which fits into the pipe until it is read.
            while progress and (piece := os.read(process.stderr.fileno(), 4096)):
                said += (text := decoder.decode(piece))
                sys.stderr.write(text)
                sys.stderr.flush()
            out, rest = process.communicate()
        except BaseException:
            process.terminate()  # an interrupted run resumes with the same call
            raise
    if process.returncode not in accept:
        said += rest.decode("utf-8", "replace")
        lines = [line for line in said.replace("\r", "\n").splitlines() if line.strip()]
        raise StiffitError("\n".join(lines) or f"exit code {process.returncode}", process.returncode)
    for line in rest.decode("utf-8", "replace").splitlines():
        if "stiffit: note: " in line:
            warnings.warn(line.partition("note: ")[2], stacklevel=4)
    return out.decode()


def _with_index(table: pd.DataFrame, what: str, key: str) -> pd.DataFrame:
    """The table with named levels of its index as columns. An index without a name may be dropped only if the column that it
    could stand for is there."""
    levels = [name for name in table.index.names if name is not None]
    doubled = [name for name in levels if name in table.columns]
    if doubled:
        raise ValueError(f"{what}: {doubled[0]!r} is both a column and a level of the index: reset_index(drop=True) or rename")
    is_plain = table.index.nlevels == 1 and pd.api.types.is_integer_dtype(table.index)
    unnamed = len(levels) < table.index.nlevels and not is_plain
    if unnamed and key not in levels and key not in table.columns:
        raise ValueError(f"{what}: there is no column {key!r}, but an index without a name: rename_axis({key!r}) if it is that")
    return table.reset_index(level=levels) if levels else table


def problem(df: pd.DataFrame, model: Path, output: Path, *, covariates: Optional[pd.DataFrame] = None,
            parameters: Optional[pd.DataFrame] = None, **options: Any) -> pathlib.Path:
    """Writes a problem file: df has a row for each measurement, covariates one for each dataset (column dataset), parameters
    one for each parameter (column parameter); a named index counts as columns. An option of `stiffit import` is a keyword.
    Replaces output."""
    tables = {"measurements": df, "datasets": covariates, "parameters": parameters}
    with tempfile.TemporaryDirectory() as folder:
        files: Dict[str, str] = {}
        for name, table in tables.items():
            if table is not None:
                files[name] = str(pathlib.Path(folder, name + ".csv"))
                table = _with_index(table, name, "parameter" if name == "parameters" else "dataset")
                table.to_csv(files[name], index=False, float_format="%.17g")
        measurements = files.pop("measurements")
        _run("import", measurements, f"--model={os.fspath(model)}", f"--output={os.fspath(output)}", "--overwrite",
             *_words({**files, **options}))
    return pathlib.Path(output)


class Result:
    """A result file: `path`, and what `stiffit run --json` said of the run, if it was run here, as `summary`."""

    def __init__(self, path: Path, summary: Optional[Dict[str, Any]] = None, folder: Any = None) -> None:
        self.path = pathlib.Path(path)
        self.summary: Dict[str, Any] = summary or {}
        self._folder = folder  # a temporary one lives as long as this object

    def export(self, what: str = "fits", **options: Any) -> pd.DataFrame:
        """A table of `stiffit export --what`."""
        text = _run("export", str(self.path), f"--what={what}", *_words(options))
        return pd.read_csv(io.StringIO(text), dtype={"id": str, "dataset": str}, float_precision="round_trip")

    @property
    def table(self) -> pd.DataFrame:
        """A row for each dataset."""
        return self.export()

    @property
    def population(self) -> Optional[Dict[str, Any]]:
        """What `stiffit show --json` says of the population, if the fit has random parameters:
        random, shared, covariance, minus_2_log_likelihood, ..."""
        shown: Dict[str, Any] = json.loads(_run("show", str(self.path), "--json"))
        return shown.get("population")

    def predictions(self, **options: Any) -> pd.DataFrame:
        """The best fits at the times of the measurements."""
        return self.export("predictions", **options)

    def residuals(self, **options: Any) -> pd.DataFrame:
        """The same, and the measurements."""
        return self.export("residuals", **options)

    def diagnostics(self, **options: Any) -> pd.DataFrame:
        """Of a fit with random parameters: predictions, CWRES, NPD and NPDE."""
        return self.export("diagnostics", **options)


def read(path: Path) -> Result:
    """An existing result file."""
    if not pathlib.Path(path).exists():
        raise FileNotFoundError(path)
    return Result(path)


def fit(df: pd.DataFrame, model: Path, *, output: Optional[Path] = None, covariates: Optional[pd.DataFrame] = None,
        parameters: Optional[pd.DataFrame] = None, progress: bool = True, **options: Any) -> Result:
    """Fits all datasets of df. An option of `stiffit run` is a keyword, as starts=10. Fits that failed are rows of the table,
    too. Without output the files are temporary."""
    folder = None if output else tempfile.TemporaryDirectory()
    path = pathlib.Path(output) if output else pathlib.Path(folder.name if folder else "", "fit.h5")
    problem(df, model, path, covariates=covariates, parameters=parameters)
    result = path.with_suffix(".result.h5")
    shown = "--progress=always" if progress else "--quiet"
    text = _run("run", str(path), f"--output={result}", "--overwrite", "--json", shown, *_words(options), accept=(0, 1),
                progress=progress)
    return Result(result, json.loads(text), folder)
