"""Evaluations and fits in memory: libstiffit, as <stiffit/stiffit.h> declares it.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
import os
import pathlib
import re
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import tables
from .cells import number, numbers
from .program import Path, StiffitError, find_program
from .tables import Table

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


def _places() -> List[str]:
    """Where the library may be: where the system's loader looks, and beside the program. The loader would also look in the
    present folder if LD_LIBRARY_PATH has an entry that is empty or relative; then only the others count."""
    given, name = os.environ.get("STIFFIT_LIBRARY"), "libstiffit.so.0"
    if given:
        return [given]
    folders = re.split("[:;]", os.environ.get("LD_LIBRARY_PATH") or "/")
    is_safe = all(os.path.isabs(folder) for folder in folders)
    places = [name] if is_safe else [os.path.join(folder, name) for folder in folders if os.path.isabs(folder)]
    program = find_program()
    if program:
        beside = pathlib.Path(program).resolve().parent
        places += [str(folder / name) for folder in (beside, beside.parent / "lib")]
    return places


def _load() -> ctypes.CDLL:
    global _library  # pylint: disable=global-statement
    if _library is not None:
        return _library
    reasons = []
    for path in _places():
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
    raise StiffitError("libstiffit cannot be loaded: " + ("; ".join(reasons) or "it is in no folder that is searched"), 4)


def _call(name: str, *arguments: Any) -> None:
    """Calls a function that ends with an error to fill."""
    error = _Error()
    if getattr(_load(), name)(*arguments, ctypes.byref(error)):
        raise StiffitError(error.message.decode("utf-8", "replace"), _EXIT_CODES.get(error.code, 5))


def _pointer(array: Optional[Array]) -> Optional[ctypes.c_void_p]:
    return None if array is None else ctypes.c_void_p(array.ctypes.data)


def _columns(table: Table, what: str, key: str, known: Sequence[str]) -> Dict[str, List[Any]]:
    """The columns of a table, all of the same length."""
    if tables.pd is not None and not isinstance(table, Mapping):
        table = tables.frame(table, what, key)
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
        time = numbers(times, "times")
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
            values = numbers(parameters, "parameters")
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
            _call("stiffit_set_t0", problem.pointer, ctypes.c_double(number(t0, "t0")))
        for name, value in (covariates or {}).items():
            covariate = ctypes.c_double(number(value, f"covariate {name}"))
            _call("stiffit_set_covariate", problem.pointer, name.encode(), covariate)
        for name, knots in (inputs or {}).items():
            time, values = (numbers(part, f"input {name}") for part in knots)
            if len(time) != len(values):
                raise ValueError(f"input {name}: {len(time)} times, {len(values)} values")
            _call(
                "stiffit_set_input",
                problem.pointer,
                name.encode(),
                ctypes.c_size_t(len(time)),
                _pointer(time),
                _pointer(values),
            )
        for row in [] if doses is None else _rows(_columns(doses, "doses", "target", _DOSE)):
            dose = _Dose()
            for name, value in row.items():
                if name == "target":
                    dose.target = str(value).encode()
                    continue
                level = number(value, f"doses: column {name!r}", name)
                if name not in ("count", "steady"):
                    setattr(dose, name, level)
                elif level == level:  # no NaN, which a table has where nothing is said
                    setattr(dose, name, int(level))
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
        given = {
            name: numbers(columns[name], f"measurements: column {name!r}", name)
            for name in ("time", "value", "sigma")
            if name in columns
        }
        first = 0
        for last in range(
            1, n + 1
        ):  # a call for each run of rows of one observable, so that rows keep their order
            if last < n and names[last] == names[first]:
                continue
            part = {name: array[first:last] for name, array in given.items()}
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


_DOSE = tuple(field[0] for field in _Dose._fields_)
