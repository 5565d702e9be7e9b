"""Fits of many datasets: tables become a problem file, the program fits it, and its result is an object with DataFrames.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import html
import json
import os
import pathlib
import re
import shutil
import tempfile
import weakref
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import tables
from .program import Names, Path, StiffitError, absolute, call, check, options_of, words_of
from .progress import Progress
from .tables import Frame, Table, pd

# Keywords that are tables, with the column that their rows are called by.
_TABLES = {"covariates": "dataset", "parameters": "parameter", "experiments": "experiment", "doses": "dataset",
           "inputs": "dataset", "events": "dataset", "substitutes": "dataset"}


def is_text(model: Any) -> bool:
    """Whether a model is given as its text: a path has one line."""
    return isinstance(model, str) and "\n" in model


def problem(df: Table, model: Path, output: Path, **options: Any) -> pathlib.Path:
    """Writes a problem file and returns its path.

    df has a row for each measurement, with the columns of `stiffit import` (dataset, time, value; optionally observable,
    sigma, censored, limit, experiment). It is a DataFrame, a dict of columns, a list of dicts, an xarray.Dataset, or a dict of
    such tables by dataset. A named index counts as columns. Times are numbers, in a unit that you choose: timedelta64 and
    datetime64 are refused, with how to convert them.

    model: a path, or model text, which has several lines. More tables are keywords: covariates (a row for each dataset),
    parameters, experiments, doses, inputs, events, substitutes. Other keywords are options of `stiffit import`:
    start={"k": 1}, fix={"A": 2}, missing="ND". An existing output is replaced.

    >>> stiffit.problem({"time": [1, 2, 4], "value": [0.8, 0.6, 0.4]}, model, "wells.h5", fix={"A": 1})
    PosixPath('.../wells.h5')
    >>> stiffit.problem({"time": [1, "two"], "value": [0.8, 0.6]}, model, "wells.h5")
    Traceback (most recent call last):
    ...
    stiffit.program.StiffitError: measurements, row 1: column 'time': 'two' is not a number
    """
    path = absolute(output)
    _problem(df, model, path, options, Names())
    return path


def _problem(df: Table, model: Path, path: pathlib.Path, options: Dict[str, Any], names: Names) -> None:
    words = words_of("import", {name: value for name, value in options.items() if name not in _TABLES})
    with tempfile.TemporaryDirectory() as folder:
        words += [f"--model={_model_file(model, folder, names)}", f"--output={path}", "--overwrite", "--quiet"]
        check("import", words, names, folder)
        words += _write_tables(options, _TABLES, folder, names)
        call("import", [*words, tables.write(df, "measurements", "dataset", folder, names)], names=names, folder=folder)


def _write_tables(options: Mapping[str, Any], keys: Mapping[str, str], folder: str, names: Names) -> List[str]:
    """Writes the options that are tables, and returns words that name their files. These have short names, which a problem
    keeps for messages on rows."""
    words = []
    for name, table in options.items():
        if name in keys and table is not None:
            file = (os.path.abspath(table) if isinstance(table, (str, os.PathLike))
                    else tables.write(table, name, keys[name], folder, names))
            words.append(f"--{'datasets' if name == 'covariates' else name}={file}")
    return words


def _model_file(model: Any, folder: str, names: Names) -> str:
    if not is_text(model):
        return str(os.path.abspath(model))
    pathlib.Path(folder, "model").with_suffix(".ode").write_text(model, encoding="utf-8")
    names.add("model.ode", "model")
    return "model.ode"


def fit(df: Table, model: Path, *, output: Optional[Path] = None, progress: bool = True, **options: Any) -> Result:
    """Fits all datasets of df, and returns the result. Fits that failed are rows of its table, too.

    df, model and tables as keywords are those of `problem`; other keywords are options of `stiffit run` (starts=10) or, if
    it has no such option, of `stiffit import`. output: the problem file to write; without it the files are temporary.

    >>> df = {"dataset": ["a"] * 3 + ["b"] * 3, "time": [1, 2, 4] * 2, "value": [0.8, 0.6, 0.4, 0.7, 0.5, 0.2]}
    >>> result = stiffit.fit(df, model, progress=False)
    >>> result
    <stiffit.Result: 2 fits, 2 converged>
    >>> result.table[["id", "status"]]
      id     status
    0  a  converged
    1  b  converged
    >>> stiffit.fit(df, model, strats=10)
    Traceback (most recent call last):
    ...
    stiffit.program.StiffitError: unknown option strats
    Did you mean starts?
    """
    to_run, to_import = options_of("run"), options_of("import")
    imported = {name: options.pop(name) for name in list(options)
                if name in _TABLES or (name.replace("_", "-") not in to_run and name.replace("_", "-") in to_import)}
    check("run", words_of("run", options))
    if output:
        path = absolute(output)
        _problem(df, model, path, imported, Names())
        return _run(path, path.with_suffix(".result.h5"), progress, {"overwrite": True, **options}, Names())
    folder = tempfile.mkdtemp(prefix="stiffit-")
    try:
        path, names = pathlib.Path(folder, "fit.h5"), Names()
        names.add(path, "the problem")
        names.add(path.with_suffix(".result.h5"), "the result")
        _problem(df, model, path, imported, names)
        result = _run(path, path.with_suffix(".result.h5"), progress, options, names)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    result._keep(folder)
    return result


def run(path: Path, *, output: Optional[Path] = None, progress: bool = True, **options: Any) -> Result:
    """Fits all datasets of a problem file; keywords are options of `stiffit run`. An unfinished run resumes.

    >>> path = stiffit.problem({"time": [1, 2, 4], "value": [0.8, 0.6, 0.4]}, model, "wells.h5")
    >>> stiffit.run(path, progress=False, overwrite=True)
    <stiffit.Result wells.result.h5: 1 fit, 1 converged>
    """
    given = absolute(path)
    if not given.exists():
        raise FileNotFoundError(path)
    check("run", words_of("run", options))
    return _run(given, absolute(output) if output else None, progress, options, Names())


def _run(path: pathlib.Path, output: Optional[pathlib.Path], progress: bool, options: Mapping[str, Any],
         names: Names) -> Result:
    words = [*words_of("run", options), "--json", "--progress=always" if progress else "--quiet"]
    text = call("run", [*words, *([f"--output={output}"] if output else []), os.fspath(path)], names=names, accept=(0, 1),
                progress=Progress() if progress else None)
    summary = json.loads(text)
    return Result(summary["result"], summary)


def read(path: Path) -> Result:
    """An existing result file."""
    if not pathlib.Path(path).exists():
        raise FileNotFoundError(path)
    return Result(path)


def compare(*results: Union[Result, Path]) -> Comparison:
    """Compares results of the same data: AIC, BIC, likelihood ratios."""
    paths = [str(result.path) if isinstance(result, Result) else os.path.abspath(result) for result in results]
    return Comparison(json.loads(call("compare", ["--json", *paths])),
                      tables.read(call("compare", ["--output=-", "--types-row", *paths])))


def simulate(model: Path, times: Any = None, *, output: Optional[Path] = None, **options: Any) -> Any:
    """Predictions of a model at the given times, as a DataFrame; or, with output and datasets=100, a problem file of synthetic
    datasets, whose path is returned. Keywords are options of `stiffit simulate`, and tables of what is simulated: parameters
    (a row for each dataset), experiments, doses, inputs, events.

    >>> stiffit.simulate(model, [0, 1], set={"k": 0.5, "A": 2}).round(4)
         dataset  time observable   value
    0  simulated   0.0          y  2.0000
    1  simulated   1.0          y  1.2131
    >>> stiffit.simulate(model, 1, parameters={"dataset": ["u", "v"], "A": [2, 4]})["value"].round(4).tolist()
    [1.2131, 2.4261]
    """
    names = Names()
    with tempfile.TemporaryDirectory() as folder:
        return _simulate([f"--model={_model_file(model, folder, names)}"], times, output, options, names, folder)


def _simulate(words: List[str], times: Any, output: Optional[Path], options: Mapping[str, Any], names: Names,
              folder: str) -> Any:
    keys = {**_TABLES, "parameters": "dataset"}
    plain = {name: value for name, value in options.items() if name not in keys}
    words = [*words_of("simulate", {"times": times, **plain}), *words]
    words += _write_tables(options, keys, folder, names)
    if output is None:
        return tables.read(call("simulate", ["--types-row", *words], names=names, folder=folder))
    path = absolute(output)
    call("simulate", [f"--output={path}", "--quiet", *words], names=names, folder=folder)
    return path


class Picture:
    """A chart as SVG, which a notebook shows."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<stiffit.Picture, {len(self.svg)} characters of SVG>"

    def save(self, path: Path) -> pathlib.Path:
        """Writes the SVG to a file."""
        pathlib.Path(path).write_text(self.svg, encoding="utf-8")
        return pathlib.Path(path)


class Comparison:
    """What `stiffit compare` says: `summary`, all of it; `totals`, a row for each result, counted from 1;
    `table`, a row for each dataset."""

    def __init__(self, summary: Dict[str, Any], table: Frame) -> None:
        self.summary, self.table = summary, table
        self.totals: Frame = pd.DataFrame(summary["results"], index=range(1, len(summary["results"]) + 1))

    def __repr__(self) -> str:
        return f"<stiffit.Comparison of {len(self.totals)} results>\n{self._short().to_string()}"

    def _repr_html_(self) -> str:
        return str(self._short().to_html())

    def _short(self) -> Frame:
        short = self.totals.assign(file=[os.path.basename(file) for file in self.totals["file"]])
        return short[["file", "model", "parameters", "log_likelihood", "aic", "bic", "aic_weight"]]


class Population:
    """How the parameters vary over the datasets: `summary`, all that `stiffit population --json` says, or of a fit with random
    parameters `stiffit show --json`; `parameters`, a row for each; `covariance`, on the optimiser's scale; `table`, a row for
    each dataset with shrunken estimates (None of a fit with random parameters: there the fits are that)."""

    def __init__(self, summary: Dict[str, Any], table: Optional[Frame]) -> None:
        self.summary, self.table = summary, table
        self.parameters: Frame = pd.DataFrame(summary["random" if table is None else "parameters"]).set_index("name")
        labels = list(self.parameters.index)
        # By experiment there are more rows than parameters.
        n = len(summary["covariance"])
        self.covariance: Frame = pd.DataFrame(summary["covariance"], *[labels if len(labels) == n else range(n)] * 2,
                                                     dtype=float)

    def __repr__(self) -> str:
        return f"<stiffit.Population of {len(self.parameters)} parameters>\n{self.parameters.to_string()}"

    def _repr_html_(self) -> str:
        return str(self.parameters.to_html())


class Result:
    """A result file: `path`, and what `stiffit run --json` said of the run, if it was run here, as `summary`. A notebook shows
    how the fits ended and how the parameters are distributed.

    The methods take options of the commands that they call as keywords: id="A1" or id=["A1", "A2"], failed=True,
    where="k > 2", trust=True.
    """

    def __init__(self, path: Path, summary: Optional[Dict[str, Any]] = None) -> None:
        self.path = absolute(path)
        self.summary: Dict[str, Any] = summary or {}
        self._is_temporary = False

    def _keep(self, folder: str) -> None:
        """The folder of temporary files goes with this object."""
        self._is_temporary = True
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def _call(self, command: str, *words: str) -> str:
        names = Names()
        if self._is_temporary:
            names.add(self.path, "the result")
        return call(command, [*words, str(self.path)], names=names)

    def export(self, what: str = "fits", **options: Any) -> Frame:
        """A table of `stiffit export --what`: fits, predictions, residuals, diagnostics, covariance, starts, profile,
        bootstrap. The types of its columns do not depend on the values: texts, int64 or float64.

        >>> result.export(columns="id,k,iterations").dtypes["k"]
        dtype('float64')
        """
        table = tables.read(self._call("export", f"--what={what}", "--types-row", *words_of("export", options)))
        if "message" in table.columns:
            table["message"] = table["message"].map(_in_rows)
        return table

    @property
    def table(self) -> Frame:
        """A row for each dataset.

        >>> len(result.table), result.table["objective"].dtype
        (2, dtype('float64'))
        """
        return self.export()

    @property
    def shown(self) -> Dict[str, Any]:
        """All that `stiffit show --json` says."""
        shown: Dict[str, Any] = json.loads(self._call("show", "--json"))
        return shown

    def show(self, **options: Any) -> str:
        """The text of `stiffit show`: print(result.show()), or of one dataset print(result.show(id="a"))."""
        return self._call("show", *words_of("show", options))

    def predict(self, times: Any = None, **options: Any) -> Frame:
        """The best fits at the times of the measurements, or at others: numbers, or words as "0:10:0.5".

        >>> result.predict([0, 2], id="b")[["dataset", "time", "observable"]]
          dataset  time observable
        0       b   0.0          y
        1       b   2.0          y
        """
        if times is None:
            return self.export("predictions", **options)
        table: Frame = self.simulate(times, **options)
        return table.rename(columns={"value": "prediction"})

    def predictions(self, **options: Any) -> Frame:
        """As predict, at the times of the measurements."""
        return self.predict(**options)

    def residuals(self, **options: Any) -> Frame:
        """Measurements, predictions and residuals, a row for each measurement.

        >>> bool((result.residuals().eval("value - prediction - residual") == 0).all())
        True
        """
        return self.export("residuals", **options)

    def diagnostics(self, **options: Any) -> Frame:
        """Of a fit with random parameters: predictions, CWRES, NPD and NPDE."""
        return self.export("diagnostics", **options)

    def simulate(self, times: Any = None, *, output: Optional[Path] = None, **options: Any) -> Any:
        """Keywords are options of `stiffit simulate`: predictions at times as a DataFrame, or with output and bootstrap=1000 or
        population=200 a problem file of new data, whose path is returned.

        >>> path = result.simulate(output="again.h5", bootstrap=5, id="a", overwrite=True)
        >>> stiffit.run(path, progress=False, overwrite=True)
        <stiffit.Result again.result.h5: 6 fits, 6 converged>
        """
        with tempfile.TemporaryDirectory() as folder:
            return _simulate([str(self.path)], times, output, options, Names(), folder)

    def covariance(self, id: Optional[str] = None, *, correlation: bool = False) -> Frame:  # pylint: disable=redefined-builtin
        """The covariance of the parameters of a dataset, natural scale, or their correlation; a dataset must be named if there
        are several. Parameters that have none are left out.

        >>> list(result.covariance("a").columns)
        ['k', 'A']
        >>> float(result.covariance("a", correlation=True).loc["k", "k"])
        1.0
        """
        pairs = self.export("covariance", id=id)
        if pairs["id"].nunique() > 1:
            raise ValueError("covariance: id: there are several datasets")
        labels = list(dict.fromkeys(pairs["parameter"]))
        square: Frame = pd.DataFrame(float("nan"), index=labels, columns=labels)
        for one, other, value in zip(pairs["parameter"], pairs["with"], pairs["correlation" if correlation else "covariance"]):
            square.loc[one, other] = square.loc[other, one] = value
        return square

    # pylint: disable-next=redefined-builtin
    def plot(self, id: Optional[str] = None, *, output: Optional[Path] = None, **options: Any) -> Any:
        """A fit with its data and residuals: a Picture, which a notebook shows; or the path of the file, with output. Without
        id, the worst fit. Keywords are options of `stiffit plot`, which needs gnuplot."""
        words = words_of("plot", {"id": id, **options})
        if output is not None:
            self._call("plot", f"--output={absolute(output)}", *words)
            return absolute(output)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "plot.svg")
            self._call("plot", f"--output={path}", *words)
            return Picture(path.read_text(encoding="utf-8"))

    def report(self, output: Path, **options: Any) -> pathlib.Path:
        """Writes a page for a browser, and returns its path. Keywords are options of `stiffit report`.

        >>> result.report("fits.html", overwrite=True)
        PosixPath('.../fits.html')
        """
        self._call("report", f"--output={absolute(output)}", *words_of("report", options))
        return absolute(output)

    def population(self, **options: Any) -> Population:
        """How the parameters vary over the datasets, without the errors of the fits.

        >>> list(result.population().parameters.index)
        ['k', 'A']
        """
        found = self.shown.get("population")
        if found:
            return Population(found, None)
        words = words_of("population", options)
        return Population(json.loads(self._call("population", "--json", *words)),
                          tables.read(self._call("population", "--output=-", "--types-row", *words)))

    def compare(self, *others: Union[Result, Path]) -> Comparison:
        """This result as the first, and others of the same data.

        >>> simpler = stiffit.fit(df, model, fix={"A": 1}, progress=False)    # with a sigma for each dataset
        >>> list(simpler.compare(result).totals["parameters"])
        [4, 6]
        """
        return compare(self, *others)

    def __repr__(self) -> str:
        name = "" if self._is_temporary else " " + self.path.name
        try:
            return f"<stiffit.Result{name}: {_counts(self.summary or self.shown)}>"
        except (StiffitError, OSError) as error:
            return f"<stiffit.Result: {error}>"

    def _repr_html_(self) -> str:
        shown = self.shown
        columns = {"name": "parameter", "unit": "unit", "min": "min", "q25": "25 %", "median": "median", "q75": "75 %",
                   "max": "max", "relative_error": "relative error"}
        rows = [{head: parameter[name] for name, head in columns.items()} for parameter in shown["parameters"]]
        return (f"<p><b>{html.escape(self.path.name)}</b>: {html.escape(_counts(shown))}</p>"
                + str(pd.DataFrame(rows).to_html(index=False, float_format="%.4g", na_rep="")))


def _counts(facts: Mapping[str, Any]) -> str:
    ends = [f"{n} {name}" for name, n in sorted(facts["status"].items(), key=lambda item: -int(item[1])) if n]
    return ", ".join([f"{facts['fits']} fit{'' if facts['fits'] == 1 else 's'}", *ends])


def _in_rows(message: str) -> str:
    """What a message of a fit says of the measurements' table, whose header is line 1, of its rows from 0."""
    return re.sub(r"\bmeasurements:(\d+)", lambda found: f"measurements, row {int(found[1]) - 2}", message)
