"""PEtab: kinds of data (pyPESTO's censored rows against SciPy; what is refused), and columns that nothing reads.

SPDX-License-Identifier: BSD-3-Clause
"""
import math

import h5py
import numpy as np
from scipy import stats

import helpers
from test_petab import TABLES, table, write
from test_petab_details import MEASUREMENTS_2, PARAMETERS_2, refuse, write_2

HEAD = ["observableId", "simulationConditionId", "time", "measurement", "noiseParameters", "measurementType", "censoringBounds"]
CENSORED = [HEAD, ["y", "c1", 0.5, 1.7, 0.1, "", ""], ["y", "c1", 1, "NaN", 0.2, "left-censored", 1.1],
            ["y", "c2", 1, 0, 0.3, "right-censored", "3.5"], ["y", "c2", 2, "inf", 0.4, "interval-censored", "1.9; 2.5"],
            ["y", "c2", 3, 0, 0.4, "interval-censored", "-inf;1.5"], ["y", "c1", 4, 0, 0.1, "interval-censored", "0.2;inf"],
            ["y", "c1", 6, 0.1, 0.1, "nan", "NaN"]]
FIXED = [["parameterId", "parameterScale", "lowerBound", "upperBound", "nominalValue", "estimate"],
         ["k", "log10", 1e-3, 1e3, 0.5, 1], ["scale", "lin", 0.1, 10, 2, 1]]


def log_likelihood(rows, logarithm=None):
    """Of y = 2 A exp(-0.5 t), A = 1 in c1 and 3 in c2; logarithm: the scale of the errors, or None."""
    total = 0
    scale = logarithm or (lambda x: x)
    for _, condition, t, value, sigma, kind, bounds in rows:
        y = scale(2 * {"c1": 1, "c2": 3}[condition] * math.exp(-0.5*t))
        if kind in ("", "nan"):
            total += stats.norm.logpdf(scale(float(value)), y, sigma)
            if logarithm:
                total -= math.log(float(value) * (math.log(10) if logarithm is math.log10 else 1))
            continue
        parts = [float(part) for part in str(bounds).split(";")]
        low, high = {"left-censored": (-math.inf, parts[-1]), "right-censored": (parts[0], math.inf),
                     "interval-censored": (parts[0], parts[-1])}[kind]
        def z(bound, y=y, sigma=sigma):
            if math.isinf(bound):
                return bound
            return -math.inf if logarithm and bound <= 0 else (scale(bound) - y) / sigma
        total += math.log(stats.norm.cdf(z(high)) - stats.norm.cdf(z(low)))
    return total


def evaluated(problem):
    helpers.stiffit("run", problem, "--evaluate", "--rtol", "1e-10", "--overwrite")
    with h5py.File(problem.parent / "p.petab.result.h5") as f:
        return f["fits/log_likelihood"][0]


def test_censored_rows(tmp):
    """The bounds count, not what stands in the column measurement; on every scale of the errors."""
    for scale, logarithm in (("lin", None), ("log", math.log), ("log10", math.log10)):
        observables = TABLES["observables.tsv"]
        problem = write(tmp / scale, measurements=CENSORED, parameters=FIXED,
                        observables=[observables[0] + ["observableTransformation"], observables[1] + [scale]])
        # the integrator's rtol 1e-10, divided by the smallest sigma
        np.testing.assert_allclose(evaluated(problem), log_likelihood(CENSORED[1:], logarithm), rtol=1e-8)
    helpers.stiffit("export", problem.parent / "p.petab.result.h5", "--petab", tmp / "out")
    assert table(tmp / "out" / "measurements.tsv") == table(problem.parent / "measurements.tsv")
    (tmp / "out" / "problem.yaml").rename(tmp / "out" / "p.yaml")
    assert evaluated(tmp / "out" / "p.yaml") == evaluated(problem)


def test_censored_rows_of_version_2(tmp):
    rows = [MEASUREMENTS_2[0] + ["measurementType", "censoringBounds"]] + [row + ["", ""] for row in MEASUREMENTS_2[1:]]
    rows[2] = rows[2][:3] + [0, "left-censored", 0.55]
    rows[3] = rows[3][:3] + [0, "interval-censored", "0.3;0.45"]
    y = np.exp(-0.5*np.arange(3))
    want = stats.norm.logpdf(0, 0, 0.1) + stats.norm.logcdf((0.55 - y[1])/0.1) \
        + math.log(stats.norm.cdf((0.45 - y[2])/0.1) - stats.norm.cdf((0.3 - y[2])/0.1))
    np.testing.assert_allclose(evaluated(write_2(tmp / "p", measurements=rows)), want, rtol=1e-8)


def test_kinds_without_a_likelihood(tmp):
    """Each is one fault, however many rows have it."""
    def measured(kind, bounds="", category=""):
        return lambda rows: [rows[0] + ["measurementType", "censoringBounds", "measurementCategory"]] + [
            row + [kind, bounds, category] for row in rows[1:]]
    kind = "measurements.tsv:2: column 'measurementType': "
    bounds = "measurements.tsv:2: column 'censoringBounds': "
    for i, (change, words) in enumerate((
            (measured("ordinal", "", 1), [kind + "ordinal data have no likelihood here"]),
            (measured("semiquantitative"), [kind + "semiquantitative data"]),
            (measured("nonlinear_monotone"), [kind + "nonlinear_monotone data"]),
            (measured("", "", 2), ["column 'measurementCategory': a category is of ordinal data"]),
            (measured("left_censored", 1), ["left-censored, right-censored"]))):
        problem = write(tmp / f"a{i}", measurements=change)
        refuse(problem, *words)
        assert "faults" not in helpers.stiffit("import", problem, code=3).stderr  # one fault is the error
    for i, (change, word) in enumerate((
            (measured("left-censored"), bounds + "a left-censored row needs one number in censoringBounds, not ''"),
            (measured("right-censored", "1;2"), bounds + "a right-censored row needs one number"),
            (measured("interval-censored", "2;1"), bounds + "an interval-censored row needs its lower and its upper bound"),
            (measured("interval-censored", "1"), "not '1'"), (measured("interval-censored", "1;1"), "not '1;1'"),
            (measured("left-censored", "few"), "not 'few'"),
            (measured("interval-censored", "-inf;inf"), "one bound must be finite"),
            (measured("", 3), bounds + "a row with bounds needs a measurementType"))):
        refuse(write(tmp / f"b{i}", measurements=change), word)
    helpers.stiffit("import", write(tmp / "c", measurements=measured("quantitative")))


def test_distributions_in_the_table_of_measurements(tmp):
    """As in tables before version 1: they must be those of the table of observables."""
    def measured(column, word):
        return lambda rows: [rows[0] + [column]] + [row + [word] for row in rows[1:]]
    for column, word in (("observableTransformation", "log10"), ("noiseDistribution", "laplace")):
        refuse(write(tmp / word, measurements=measured(column, word)),
               f"measurements.tsv:2: column '{column}': '{word}' is not what the table of observables")
    for column, word in (("observableTransformation", "lin"), ("noiseDistribution", "normal"), ("noiseDistribution", "")):
        said = helpers.stiffit("import", write(tmp / f"same-{word}", measurements=measured(column, word))).stderr
        assert "note" not in said, said


def test_columns_that_are_not_used(tmp):
    """A note for each, once; not for empty ones, those that describe, the dataset column and the targets of conditions."""
    def wider(name, cell="x"):
        return lambda rows: [rows[0] + [name, f"empty{name}"]] + [row + [cell, ""] for row in rows[1:]]

    def notes(*words):
        said = helpers.stiffit("import", *words, "--overwrite").stderr.splitlines()
        return sorted(line.split("note: ")[1].replace(str(tmp), "") for line in said if "note: " in line)
    problem = write(tmp / "p", **{name: wider(name) for name in ("parameters", "observables", "measurements")})
    want = [f"/p/{name}.tsv: column '{name}' is not used" for name in ("measurements", "observables", "parameters")]
    assert notes(problem) == want
    assert notes(problem, "--dataset-column", "measurements") == want[1:]
    again = write(tmp / "again", **{name: wider(name) for name in ("parameters", "observables", "measurements")})
    assert notes(problem, again, "-o", tmp / "both.h5") == want
    assert notes(write(tmp / "q", measurements=wider("datasetId"), parameters=wider("parameterName"))) == []
    rows = {"parameters": PARAMETERS_2, "measurements": MEASUREMENTS_2,
            "observables": [["observableId", "observableFormula", "noiseFormula"], ["y", "A", "0.1"]]}
    problem = write_2(tmp / "r", **{name: wider(name)(is_now) for name, is_now in rows.items()})
    (problem.parent / "conditions.tsv").write_text("conditionId\ttargetId\ttargetValue\tconditions\nc1\tA\t1\tx\n")
    (problem.parent / "experiments.tsv").write_text("experimentId\ttime\tconditionId\texperiments\ne\t0\tc1\tx\n")
    assert notes(problem) == sorted([f"/r/{name}.tsv: column '{name}' is not used"
                                     for name in ("conditions", "experiments", "measurements", "observables", "parameters")])


if __name__ == "__main__":
    helpers.main()
