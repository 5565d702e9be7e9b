"""What the cells of tables and arrays mean: numbers, missing ones, quantities with units, which numbers cannot hold, and ids.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import datetime
from typing import Any, Dict, Optional

import numpy as np

Array = Any  # of NumPy
_MISSING = ("NAType", "NaTType", "MaskedConstant", "NoneType")  # of pandas and NumPy


def _is_missing(value: Any) -> bool:
    return type(value).__name__ in _MISSING


def _kind_of_cell(value: Any) -> str:
    if isinstance(value, (datetime.timedelta, np.timedelta64)):
        return "m"
    is_date = isinstance(value, (datetime.date, np.datetime64)) or type(value).__name__ == "Period"
    return "M" if is_date or type(value).__module__.startswith("cftime") else ""


def kind_of(values: Any) -> str:
    """The kind of a column or an array: "m" for durations, "M" for points in time, "u" for other units, else ""."""
    dtype = getattr(values, "dtype", None)
    kind = str(getattr(dtype, "kind", "O"))
    if kind in "mM":
        return kind
    if not hasattr(values, "__iter__") and (of_cell := "" if _is_missing(values) else _kind_of_cell(values)):
        return of_cell
    if hasattr(values, "magnitude") or hasattr(values, "unit") or str(dtype).startswith("pint["):  # of pint, of astropy
        return "u"
    if isinstance(values, str) or str(dtype).startswith(("str", "large_string")):
        return ""
    if kind != "O" or not hasattr(values, "__iter__"):
        return ""
    kinds = (_kind_of_cell(value) for value in values if not _is_missing(value))
    return next((found for found in kinds if found), "")


def refuse_units(values: Any, what: str, name: str, hour: str, allowed: str = "") -> str:
    """Raises ValueError if the values have a unit, and says how to make them numbers: of what they are, as `name`, with an
    `hour` to divide by. Returns their kind if it is one of those allowed, or ""."""
    kind = kind_of(values)
    if kind == "" or kind in allowed:
        return kind
    dtype = getattr(values, "dtype", None)
    name = f"{name}.dt.to_timestamp()" if str(dtype).startswith("period") else name
    words = f" (dtype {dtype})" if dtype is not None and str(dtype) != "object" else ""
    if kind == "u":
        raise ValueError(f"{what} has a unit{words}, and numbers have none: convert it to the model's, and take its numbers")
    if kind == "m":
        raise ValueError(f"{what} has durations{words}, and the model's times are numbers, in a unit that you choose: "
                         f"{name} / {hour} is in hours")
    raise ValueError(f"{what} has points in time{words}, and the model's times are numbers, in a unit that you choose: "
                     f"({name} - {name}.min()) / {hour} is in hours after the first")


def numbers(values: Any, what: str, name: str = "") -> Array:
    """A list of numbers as an array of floats. What is missing or masked is NaN; units are refused. `name`: the list's name
    in the advice of a message, if it is not `what`."""
    refuse_units(values, what, name or what, "np.timedelta64(1, 'h')")
    if isinstance(values, (list, tuple)):
        values = [float("nan") if _is_missing(value) else value for value in values]
    elif not isinstance(values, np.ndarray) and hasattr(values, "isna"):  # pandas; its missing values have a mask of their own
        values = values.astype(object).where(~values.isna(), float("nan")).to_numpy()
    array = np.ma.asanyarray(values)
    if array.dtype.kind == "c":
        raise ValueError(f"{what}: numbers are expected, not complex ones")
    array = np.ascontiguousarray(np.ma.filled(array.astype(float), np.nan))
    if array.ndim != 1:
        raise ValueError(f"{what}: a list of numbers is expected, not shape {array.shape}")
    return array


def number(value: Any, what: str, name: str = "") -> float:
    """One number as a float; NaN if it is missing or masked. Units are refused."""
    is_array = getattr(value, "ndim", None) == 0 and kind_of(value) == "" and not _is_missing(value)
    return float(numbers([value.item() if is_array else value], what, name)[0])


def id_text(value: Any) -> Optional[str]:
    """An id as a file has it: a whole number without a point, whatever its type; None where there is none."""
    if _is_missing(value) or value != value:
        return None
    if not isinstance(value, (float, np.floating)):
        return str(value)
    real = float(value)
    return str(int(real)) if abs(real) < 2**53 and real == int(real) else repr(real)


def id_texts(values: Any, what: str) -> Dict[Any, Optional[str]]:
    """The text of each id of a column's different ones. Raises ValueError if two have the same, as 1 and "1"."""
    texts: Dict[Any, Optional[str]] = {}
    first: Dict[str, Any] = {}
    for value in values:
        text = texts[value] = id_text(value)
        if text is not None and first.setdefault(text, value) != value:
            raise ValueError(f"{what} has {first[text]!r} and {value!r}, which are the same id: rename one, or make all of "
                             "them texts (astype(str)) if they are meant to be the same")
    return texts
