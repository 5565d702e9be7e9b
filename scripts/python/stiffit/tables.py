"""Tables in and out: what people have (DataFrames, dicts, xarray, ...) as files for the program, and its tables as DataFrames.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import bisect
import csv
import io
import itertools
import os
from typing import Any, Callable, Dict, List, Mapping, Sequence

try:
    import pandas
except ImportError:  # Model does without
    pandas = None
pd: Any = pandas

from .cells import id_texts, refuse_units
from .program import Names, StiffitError

_IDS = ("dataset", "id", "experiment", "observable", "parameter", "target")
# Columns that are numbers; another column may hold dates, which are kept as texts.
_NUMBERS = ("time", "t0", "value", "sigma", "limit", "amount", "rate", "duration", "interval", "start", "lower", "upper")

Frame = Any  # a pandas.DataFrame
Table = Any  # a DataFrame or Series, a dict of columns or of tables, a list of rows, xarray, anything with to_pandas()


def need_pandas() -> None:
    """Raises StiffitError without pandas."""
    if pd is None:
        raise StiffitError("tables of many datasets need pandas", 4)


def _is_rows(table: Any) -> bool:
    return isinstance(table, (list, tuple)) and all(isinstance(row, Mapping) for row in table)


def _is_table(value: Any) -> bool:
    return isinstance(value, (Mapping, pd.DataFrame)) or (_is_rows(value) and bool(value))


def frame(table: Table, what: str, key: str) -> Frame:
    """The table as a DataFrame with named levels of its index as columns. `what` it is, for errors; `key`: the column that a
    dict's keys are if its values are tables."""
    need_pandas()
    if isinstance(table, Mapping) and not hasattr(table, "to_dataframe"):
        return _of_dict(table, what, key)
    if _is_rows(table):
        return pd.DataFrame(list(table))
    if not isinstance(table, (pd.DataFrame, pd.Series)) and hasattr(table, "to_dataframe"):  # xarray
        array: Any = table
        is_nameless = hasattr(array, "to_dataset") and getattr(array, "name", None) is None
        table = (array.rename("value") if is_nameless else array).to_dataframe()
    elif not isinstance(table, (pd.DataFrame, pd.Series)) and hasattr(table, "to_pandas"):  # polars, Arrow
        table = table.to_pandas()
    if isinstance(table, pd.Series):
        table = table.rename("value" if table.name is None else table.name).to_frame()
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"{what}: a table is expected, as a DataFrame or a dict of columns, not {type(table).__name__}")
    return _with_index(table, what, key)


def _of_dict(table: Mapping[Any, Any], what: str, key: str) -> Frame:
    """Columns by name, or tables by `key`."""
    if table and all(_is_table(value) for value in table.values()):
        parts = {name: frame(value, f"{what}[{name!r}]", key) for name, value in table.items()}
        doubled = [name for name, part in parts.items() if key in part.columns]
        if doubled:
            raise ValueError(f"{what}[{doubled[0]!r}]: there is a column {key!r}, but the dict's keys are that")
        return pd.concat(list(parts.values()), keys=list(parts), names=[key]).reset_index(level=0).reset_index(drop=True)
    columns = dict(table)
    if columns and all(isinstance(value, (str, bytes)) or not hasattr(value, "__len__") for value in columns.values()):
        columns = {name: [value] for name, value in columns.items()}
    try:
        return pd.DataFrame(columns)
    except ValueError as error:
        lengths = {name: len(value) for name, value in columns.items() if hasattr(value, "__len__")}
        raise ValueError(f"{what}: the columns differ in length: {lengths}" if len(set(lengths.values())) > 1
                         else f"{what}: {error}") from None


def _with_index(table: Frame, what: str, key: str) -> Frame:
    """An index without a name may be dropped only if the column that it could stand for is there."""
    levels = [name for name in table.index.names if name is not None]
    doubled = [name for name in levels if name in table.columns]
    for name in doubled:  # as groupby and set_index(drop=False) leave it
        if not (table.index.get_level_values(name) == table[name].to_numpy()).all():
            raise ValueError(f"{what}: {name!r} is both a column and a level of the index: reset_index(drop=True) or rename")
    is_plain = table.index.nlevels == 1 and pd.api.types.is_integer_dtype(table.index)
    unnamed = len(levels) < table.index.nlevels and not is_plain
    if unnamed and key not in levels and key not in table.columns:
        raise ValueError(f"{what}: there is no column {key!r}, but an index without a name: rename_axis({key!r}) if it is that")
    levels = [name for name in levels if name not in doubled]
    return table.reset_index(level=levels) if levels else table


def _cells(column: Any, what: str) -> Any:
    """A column as it is written: truth as 0 and 1, ids as texts that differ. Quantities with units are refused."""
    where = f"{what}: column {column.name!r}"
    if str(column.name).lower() in _IDS:
        is_mixed = column.dtype == object or isinstance(column.dtype, pd.CategoricalDtype)
        return column.astype(object).map(id_texts(column.dropna().unique(), where)) if is_mixed else column
    refuse_units(column, where, f"df[{column.name!r}]", 'pd.Timedelta("1h")',
                 "" if str(column.name).lower() in _NUMBERS else "M")
    if pd.api.types.is_bool_dtype(column):
        return column.astype("Int8")
    if column.dtype == object:  # a masked cell in a list
        return column.map(lambda cell: None if type(cell).__name__ == "MaskedConstant" else cell)
    return column


def _row_of_line(table: Frame) -> Callable[[int], str]:
    """What the user calls the row that begins at a line of the file, whose header is line 1."""
    index = table.index
    is_counted = isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1
    breaks = [0] * len(table)  # of lines, within the texts of a row
    for name in range(table.shape[1]):
        column = table.iloc[:, name]
        if not pd.api.types.is_numeric_dtype(column):
            breaks = [n + str(value).count("\n") for n, value in zip(breaks, column)]
    starts = list(itertools.accumulate((1 + n for n in breaks), initial=2)) if any(breaks) else None

    def row_of_line(line: int) -> str:
        row = bisect.bisect_right(starts, line) - 1 if starts else line - 2
        if not 0 <= row < len(table):
            return ""
        label = index[row]
        label = label.item() if hasattr(label, "item") else label
        return f"row {row}" if is_counted else f"row {row} (index {label!r})"

    return row_of_line


def write(table: Table, what: str, key: str, folder: str, names: Names) -> str:
    """Writes the table into the folder, and returns the file's name there, which is `what` it is."""
    rows = frame(table, what, key)
    if rows.columns.nlevels > 1:
        raise ValueError(f"{what}: the names of the columns have several levels: {list(rows.columns)[:3]}")
    if not len(rows):
        raise ValueError(f"{what}: there are no rows")
    if any(name is None or name == "" for name in rows.columns):
        raise ValueError(f"{what}: there is a column without a name")
    rows = rows.apply(_cells, args=(what,))
    rows.to_csv(os.path.join(folder, what), index=False, float_format="%.17g", quoting=csv.QUOTE_ALL)
    names.add(what, what, _row_of_line(rows))
    return what


def read(text: str) -> Frame:
    """A table with a row of types below its header; these, not the values, are the types of the columns."""
    need_pandas()
    stream = io.StringIO(text)
    rows = csv.reader(stream)
    names = _unique(next(rows, []))
    types = dict(zip(names, next(rows, [])))
    kinds = {"text": str, "integer": "int64", "number": object}
    if not names:
        return pd.DataFrame()
    table = pd.read_csv(stream, names=names, dtype={name: kinds[types[name]] for name in names}, keep_default_na=False,
                        na_filter=False)
    # Python's float() gives the bits that were written, with every version of pandas.
    return table.astype({name: float for name in names if types[name] == "number"})


def _unique(names: Sequence[str]) -> List[str]:
    """A parameter may be called as a column of every fit is: `status` and `status.1`."""
    seen: Dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, -1) + 1
        unique.append(f"{name}.{seen[name]}" if seen[name] else name)
    return unique
