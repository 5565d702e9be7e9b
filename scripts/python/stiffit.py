"""Fits of many datasets from pandas: DataFrames around the program `stiffit`, which must be installed.

SPDX-License-Identifier: BSD-3-Clause

    import stiffit
    result = stiffit.fit(df, "decay.ode", starts=10)   # df: columns dataset, time, value, optionally observable, sigma, ...
    result.table                                       # a row for each dataset: parameters, status, message
    result.residuals()                                 # a row for each measurement
    result.summary["by_status"]

Small fits and evaluations need neither files nor processes, but the library libstiffit (libstiffit(3)):

    model = stiffit.Model("decay.ode")                 # or model text
    values, slopes = model.evaluate([1, 2, 5], {"k": 0.3}, sensitivities=True)
    fit = model.fit(df, starts=10)                     # df: one dataset
    fit.parameters, fit.standard_errors, fit.status

The columns of all tables are those of the CSV files of `stiffit import` and `stiffit export`; see their manuals. The program is
$STIFFIT, or stiffit on the PATH; the library is $STIFFIT_LIBRARY, or libstiffit.so.0 where the system finds it or beside the
program.
"""
from __future__ import annotations

import codecs
import ctypes
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

try:
    import pandas as pd
except ImportError:  # Model does without
    pd = None  # type: ignore[assignment]

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
    if pd is None:
        raise StiffitError("tables of many datasets need pandas", 4)
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


# --- in memory: libstiffit, as <stiffit/stiffit.h> declares it -----------------------------------

Table = Any  # a DataFrame, or a dict of columns: {"time": [...], "value": [...]}
Knots = Tuple[Sequence[float], Sequence[float]]
Array = Any  # of NumPy


class _Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 2000)]


class _Parameter(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("start", ctypes.c_double),
        ("lower", ctypes.c_double),
        ("upper", ctypes.c_double),
        ("scale", ctypes.c_char_p),
        ("fixed", ctypes.c_int),
    ]


class _Dose(ctypes.Structure):
    _fields_ = [
        ("target", ctypes.c_char_p),
        ("time", ctypes.c_double),
        ("amount", ctypes.c_double),
        ("duration", ctypes.c_double),
        ("rate", ctypes.c_double),
        ("interval", ctypes.c_double),
        ("count", ctypes.c_uint32),
        ("steady", ctypes.c_uint32),
    ]


class _Column(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("description", ctypes.c_char_p),
        ("unit", ctypes.c_char_p),
        ("n", ctypes.c_size_t),
        ("n_axis", ctypes.c_int),
        ("has_words", ctypes.c_int),
    ]


_NAMES = ("states", "parameters", "observables", "covariates", "inputs")
_EXIT_CODES = {1: 1, 2: 2, 3: 3, 4: 3, 5: 4, 6: 4, 7: 5}  # of enum stiffit_code, as in stiffit(1)
_library: Optional[ctypes.CDLL] = None


def _load() -> ctypes.CDLL:
    global _library  # pylint: disable=global-statement
    if _library is not None:
        return _library
    program = shutil.which(os.environ.get("STIFFIT", "stiffit"))
    beside = pathlib.Path(program).resolve().parent if program else pathlib.Path()
    given = os.environ.get("STIFFIT_LIBRARY")
    reasons = []
    for path in (
        [given]
        if given
        else [
            "libstiffit.so.0",
            str(beside / "libstiffit.so.0"),
            str(beside.parent / "lib" / "libstiffit.so.0"),
        ]
    ):
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            reasons.append(str(error))
            continue
        for name in (
            "stiffit_version",
            "stiffit_system_item",
            "stiffit_record_word",
            "stiffit_record_reason",
        ):
            getattr(library, name).restype = ctypes.c_char_p
        library.stiffit_system_count.restype = ctypes.c_size_t
        library.stiffit_record_number.restype = ctypes.c_double
        _library = library
        return library
    raise StiffitError("libstiffit cannot be loaded: " + "; ".join(reasons), 4)


def _call(name: str, *arguments: Any) -> None:
    """Calls a function that ends with an error to fill."""
    error = _Error()
    if getattr(_load(), name)(*arguments, ctypes.byref(error)):
        raise StiffitError(error.message.decode("utf-8", "replace"), _EXIT_CODES.get(error.code, 5))


def _numbers(values: Any, what: str) -> Array:
    array = np.ascontiguousarray(values, dtype=float)
    if array.ndim != 1:
        raise ValueError(f"{what}: a list of numbers is expected, not shape {array.shape}")
    return array


def _pointer(array: Optional[Array]) -> Optional[ctypes.c_void_p]:
    return None if array is None else ctypes.c_void_p(array.ctypes.data)


def _columns(table: Table, what: str, key: str, known: Sequence[str]) -> Dict[str, List[Any]]:
    """The columns of a table, all of the same length."""
    if pd is not None and isinstance(table, pd.DataFrame):
        table = _with_index(table, what, key)
    columns = {name: list(table[name]) for name in table}
    for name in columns:
        if name not in known:
            raise ValueError(
                f"{what}: there is no column {name!r}; the columns are {', '.join(known)}"
            )
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError(f"{what}: columns differ in length")
    return columns


def _rows(columns: Dict[str, List[Any]]) -> List[Dict[str, Any]]:
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


class _Handle:
    """An object of the library; it goes with the last reference."""

    def __init__(self, free: str, make: Callable[[Any], None], needs: Any = None) -> None:
        self.pointer = ctypes.c_void_p()
        self._needs = needs  # which must go later
        self._free = getattr(_load(), free)
        make(ctypes.byref(self.pointer))

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self._free(self.pointer)


class Fit:
    """The fit of one dataset in memory: status, reason, success, objective; parameters and
    standard_errors by name; covariance, in the order of the parameters. `record` has all columns of
    /fits (stiffit-file(5)) by their names."""

    def __init__(
        self, record: Dict[str, Any], reason: str, success: bool, names: Sequence[str]
    ) -> None:
        self.record, self.reason, self.success = record, reason, success
        self.status: str = record["status"]
        self.objective: float = record["objective"]
        self.parameters: Dict[str, float] = dict(zip(names, record["parameters"].tolist()))
        self.standard_errors: Dict[str, float] = dict(zip(names, record["standard_error"].tolist()))
        self.covariance: Optional[Array] = record["covariance"]  # None: of very many parameters

    def __repr__(self) -> str:
        why = f", {self.reason!r}" if self.reason else ""
        return f"<stiffit.Fit {self.status}, objective {self.objective:.6g}{why}>"


class Model:
    """A model in memory: the path of a text (.ode) or of a plugin (.so), or model text itself,
    which has several lines. Several threads may use it at once. Its names: states, parameters,
    observables, covariates, inputs.

    What its methods take: t0; covariates as {name: value}; inputs as {name: (times, values)}; doses
    as a table with the columns of /doses (target, time, amount, ...); and options of `stiffit run`
    for one dataset, as rtol=1e-9. A table is a DataFrame or a dict of columns."""

    states: List[str]
    parameters: List[str]
    observables: List[str]
    covariates: List[str]
    inputs: List[str]

    def __init__(self, model: Path) -> None:
        given = os.fspath(model)
        make = "stiffit_system_parse" if "\n" in given else "stiffit_system_open"
        self._system = _Handle("stiffit_system_close", lambda to: _call(make, to, given.encode()))
        self._local = threading.local()  # the problem of a thread's latest evaluation
        library = _load()
        for i, name in enumerate(_NAMES):
            n = library.stiffit_system_count(self._system.pointer, i)
            items = [
                library.stiffit_system_item(self._system.pointer, i, ctypes.c_size_t(k))
                for k in range(n)
            ]
            setattr(self, name, [item.decode() for item in items])

    def evaluate(
        self,
        times: Any,
        parameters: Any = None,
        *,
        sensitivities: bool = False,
        t0: Optional[float] = None,
        covariates: Optional[Mapping[str, float]] = None,
        inputs: Optional[Mapping[str, Knots]] = None,
        doses: Optional[Table] = None,
        **options: Any,
    ) -> Union[Array, Tuple[Array, Array]]:
        """The observables at the times: an array times x observables; with sensitivities also their
        derivatives, an array times x observables x parameters. parameters: numbers in the model's
        order, or by name; the others have the model's starts."""
        time = _numbers(times, "times")
        key = repr(
            (
                t0,
                covariates,
                inputs,
                None if doses is None else _columns(doses, "doses", "target", _DOSE),
                options,
            )
        )
        if getattr(self._local, "key", None) != key:
            self._local.problem = self._problem(t0, covariates, inputs, doses, options)
            self._local.key = key
        problem = self._local.problem
        if parameters is None or hasattr(parameters, "items"):
            values = np.array([self._get(problem, i).start for i in range(len(self.parameters))])
            for name, value in (() if parameters is None else parameters.items()):
                values[self._index(name)] = value
        else:
            values = _numbers(parameters, "parameters")
            if len(values) != len(self.parameters):
                raise ValueError(
                    f"parameters: {len(values)} numbers; the model has {len(self.parameters)}"
                )
        shape = (len(time), len(self.observables))
        prediction = np.empty(shape)
        slopes = np.empty(shape + (len(self.parameters),)) if sensitivities else None
        _call(
            "stiffit_evaluate",
            problem.pointer,
            ctypes.c_size_t(0),
            ctypes.c_size_t(0),
            ctypes.c_size_t(len(time)),
            _pointer(time),
            _pointer(values),
            _pointer(prediction),
            _pointer(slopes),
        )
        return prediction if slopes is None else (prediction, slopes)

    def fit(
        self,
        measurements: Table,
        *,
        parameters: Optional[Table] = None,
        t0: Optional[float] = None,
        covariates: Optional[Mapping[str, float]] = None,
        inputs: Optional[Mapping[str, Knots]] = None,
        doses: Optional[Table] = None,
        **options: Any,
    ) -> Fit:
        """Fits one dataset: measurements and parameters are tables as for stiffit.fit. The numbers
        are those of `stiffit run`, bit for bit. A fit that failed is no error: its status and
        reason say why."""
        problem = self._problem(t0, covariates, inputs, doses, options)
        if parameters is not None:
            self._set_parameters(problem, parameters)
        self._add_measurements(problem, measurements)
        record = _Handle(
            "stiffit_record_free",
            lambda to: _call("stiffit_fit", problem.pointer, ctypes.c_size_t(0), to),
        )
        return self._read(record)

    def _problem(
        self,
        t0: Optional[float],
        covariates: Optional[Mapping[str, float]],
        inputs: Optional[Mapping[str, Knots]],
        doses: Optional[Table],
        options: Mapping[str, Any],
    ) -> _Handle:
        """A problem without measurements."""
        problem = _Handle(
            "stiffit_problem_free",
            lambda to: _call("stiffit_problem_new", to, self._system.pointer),
            self._system,
        )
        if t0 is not None:
            _call("stiffit_set_t0", problem.pointer, ctypes.c_double(t0))
        for name, value in (covariates or {}).items():
            _call("stiffit_set_covariate", problem.pointer, name.encode(), ctypes.c_double(value))
        for name, knots in (inputs or {}).items():
            time, level = (_numbers(part, f"input {name}") for part in knots)
            if len(time) != len(level):
                raise ValueError(f"input {name}: {len(time)} times, {len(level)} values")
            _call(
                "stiffit_set_input",
                problem.pointer,
                name.encode(),
                ctypes.c_size_t(len(time)),
                _pointer(time),
                _pointer(level),
            )
        for row in [] if doses is None else _rows(_columns(doses, "doses", "target", _DOSE)):
            dose = _Dose()
            for name, value in row.items():
                whole = name in ("count", "steady")
                setattr(
                    dose,
                    name,
                    str(value).encode() if name == "target" else int(value) if whole else value,
                )
            _call("stiffit_add_dose", problem.pointer, ctypes.byref(dose))
        for name, value in options.items():
            word = "yes" if value is True else "no" if value is False else str(value)
            _call(
                "stiffit_set_option",
                problem.pointer,
                name.replace("_", "-").encode(),
                word.encode(),
            )
        return problem

    @staticmethod
    def _get(problem: _Handle, i: int) -> _Parameter:
        parameter = _Parameter()
        _call("stiffit_get_parameter", problem.pointer, ctypes.c_size_t(i), ctypes.byref(parameter))
        return parameter

    def _index(self, name: Any) -> int:
        if name not in self.parameters:
            raise ValueError(f"the model has no parameter {name!r}: {', '.join(self.parameters)}")
        return self.parameters.index(name)

    def _set_parameters(self, problem: _Handle, table: Table) -> None:
        known = ("parameter", "start", "lower", "upper", "scale", "fixed")
        for row in _rows(_columns(table, "parameters", "parameter", known)):
            parameter = self._get(problem, self._index(row.pop("parameter")))
            for name, value in row.items():
                if isinstance(value, str):
                    parameter.scale = value.encode()
                elif value == value:  # no NaN, which a table has where nothing is said
                    setattr(parameter, name, int(value) if name == "fixed" else value)
            _call("stiffit_set_parameter", problem.pointer, ctypes.byref(parameter))

    def _add_measurements(self, problem: _Handle, table: Table) -> None:
        columns = _columns(
            table, "measurements", "dataset", ("dataset", "time", "observable", "value", "sigma")
        )
        if "time" not in columns or "value" not in columns:
            raise ValueError("measurements: the columns time and value are needed")
        if len(set(columns.get("dataset", ()))) > 1:
            raise ValueError(
                "measurements: several datasets; fit one at a time, or use stiffit.fit"
            )
        n = len(columns["time"])
        names = columns.get("observable", [None] * n)
        numbers = {
            name: _numbers(columns[name], name)
            for name in ("time", "value", "sigma")
            if name in columns
        }
        first = 0
        for last in range(
            1, n + 1
        ):  # a call for each run of rows of one observable, so that rows keep their order
            if last < n and names[last] == names[first]:
                continue
            part = {name: array[first:last] for name, array in numbers.items()}
            _call(
                "stiffit_add_measurements",
                problem.pointer,
                None if names[first] is None else str(names[first]).encode(),
                ctypes.c_size_t(last - first),
                _pointer(part["time"]),
                _pointer(part["value"]),
                _pointer(part.get("sigma")),
            )
            first = last

    def _read(self, record: _Handle) -> Fit:
        library = _load()
        columns: Dict[str, Any] = {}
        column = _Column()
        while library.stiffit_record_column(
            record.pointer, ctypes.c_size_t(len(columns)), ctypes.byref(column)
        ):
            get = library.stiffit_record_word if column.has_words else library.stiffit_record_number
            values = [get(record.pointer, column.name, ctypes.c_size_t(k)) for k in range(column.n)]
            values = [value.decode() if isinstance(value, bytes) else value for value in values]
            shape = (len(self.parameters),) * column.n_axis
            columns[column.name.decode()] = (
                values[0]
                if column.n_axis == 0
                else None if not values else np.array(values).reshape(shape)
            )
        return Fit(
            columns,
            library.stiffit_record_reason(record.pointer).decode("utf-8", "replace"),
            bool(library.stiffit_record_is_success(record.pointer)),
            self.parameters,
        )


_DOSE = tuple(name for name, _ in _Dose._fields_)
