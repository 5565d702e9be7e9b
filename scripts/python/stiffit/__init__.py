"""Fits of many datasets from pandas: DataFrames around the program `stiffit`, which must be installed.

SPDX-License-Identifier: BSD-3-Clause

>>> import stiffit
>>> model = '''
... parameter k = 0.5 in [1e-3, 1e3] scale log
... parameter A = 1
... y(0) = A
... y' = -k*y
... observe y
... '''
>>> df = {"dataset": ["a"] * 3 + ["b"] * 3, "time": [1, 2, 4] * 2, "value": [0.8, 0.6, 0.4, 0.7, 0.5, 0.2]}
>>> result = stiffit.fit(df, model, starts=10, progress=False)   # df: a DataFrame, a dict, xarray, ...; model: a file or text
>>> table = result.table                  # a row for each dataset: parameters, status, message
>>> rows = result.residuals()             # a row for each measurement
>>> curves = result.predict("0:4:0.1")    # the best fits at other times
>>> result.summary["status"]["converged"]
2

result.plot("a"), .report("fits.html"), .simulate(), .covariance("a"), .population() and .compare(other) are the program's
commands. In a notebook a result, a plot, a population and a comparison show themselves.

Small fits and evaluations need neither files nor processes, but the library libstiffit (libstiffit(3)):

>>> decay = stiffit.Model(model)          # or a path
>>> values, slopes = decay.evaluate([1, 2, 4], {"k": 0.3}, sensitivities=True)
>>> fit = decay.fit({"time": [1, 2, 4], "value": [0.8, 0.6, 0.4]}, starts=10)     # one dataset
>>> fit.status
'converged'

The columns of all tables are those of the CSV files of `stiffit import` and `stiffit export`; see their manuals. Keywords are
options of the commands, with underscores. The program is $STIFFIT, or stiffit on the PATH; the library is $STIFFIT_LIBRARY, or
libstiffit.so.0 where the system finds it or beside the program.
"""
from .fits import Comparison, Picture, Population, Result, compare, fit, problem, read, run, simulate
from .memory import Fit, Model
from .program import StiffitError, StiffitWarning

__all__ = ["Comparison", "Fit", "Model", "Picture", "Population", "Result", "StiffitError", "StiffitWarning", "compare", "fit",
           "problem", "read", "run", "simulate"]
