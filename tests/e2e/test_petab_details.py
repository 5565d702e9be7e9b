"""PEtab: what the two versions do not share, faults of single tables, and what export makes sure of.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import math

import h5py
import numpy as np
from scipy import stats

import helpers
import sbml_text as sbml
from test_petab import MODEL, TABLES, put, table, write

YAML_2 = """format_version: 2.0.0
parameter_files: [parameters.tsv]
model_files: {decay: {language: sbml, location: model.xml}}
condition_files: [conditions.tsv]
experiment_files: [experiments.tsv]
observable_files: [observables.tsv]
measurement_files: [measurements.tsv]
"""
PARAMETERS_2 = [["parameterId", "lowerBound", "upperBound", "nominalValue", "estimate"], ["k", 1e-3, 1e3, 0.5, "true"]]
MEASUREMENTS_2 = [["observableId", "experimentId", "time", "measurement"],
                  *(["y", "e", t, math.exp(-0.5*t)] for t in (0, 1, 2))]


def write_2(folder, conditions=(("c1", "A", 1),), experiments=(("e", 0, "c1"),), **changes):
    """A problem of version 2: A' = -k A."""
    tables = {"parameters": PARAMETERS_2, "measurements": MEASUREMENTS_2,
              "observables": [["observableId", "observableFormula", "noiseFormula"], ["y", "A", "0.1"]]} | changes
    problem = write(folder, yaml=YAML_2, **tables, conditions=[["conditionId", "targetId", "targetValue"], *conditions])
    (folder / "experiments.tsv").write_text("".join("\t".join(map(str, row)) + "\n" for row in
                                                    [("experimentId", "time", "conditionId"), *experiments]))
    return problem


def refuse(problem, *words):
    done = helpers.stiffit("import", problem, "-o", problem.parent / "x.h5", code=3)
    for word in words:
        assert word in done.stderr, (word, done.stderr)


def predictions(problem):
    helpers.stiffit("run", problem, "--max-evaluations", 1, "--certify", "no", "--overwrite", code=None)
    rows = helpers.stiffit("export", problem.parent / "p.petab.result.h5", "--what", "residuals").stdout.splitlines()
    return np.array([float(row["prediction"]) for row in csv.DictReader(rows)])


def test_columns_of_the_other_version(tmp):
    """Columns with names, and unknown ones, do not matter; those to which the other version gives a meaning do."""
    def wider(rows, name, cell):
        return [rows[0] + [name]] + [row + [cell] for row in rows[1:]]
    for i, name in enumerate(("parameterName", "parameterScale", "notes")):
        helpers.stiffit("import", write_2(tmp / f"a{i}", parameters=wider(PARAMETERS_2, name, "lin")))
    observables = [["observableId", "observableFormula", "noiseFormula"], ["y", "A", "0.1"]]
    for i, (changes, column) in enumerate((
            ({"observables": wider(observables, "observableTransformation", "log10")}, "observables.tsv:2: column 'obs"),
            ({"parameters": wider(PARAMETERS_2, "objectivePriorType", "normal")}, "parameters.tsv:2: column 'obj"),
            ({"measurements": wider(MEASUREMENTS_2, "preequilibrationConditionId", "c1")}, "measurements.tsv:2: column 'pre"))):
        refuse(write_2(tmp / f"b{i}", **changes), column, "belongs to version 1 of PEtab, and the problem is of version 2")
    refuse(write(tmp / "c", parameters=lambda rows: wider(rows, "priorDistribution", "normal")),
           "parameters.tsv:2: column 'priorDistribution': this column belongs to version 2")
    helpers.stiffit("import", write_2(tmp / "d", observables=wider(observables, "observableTransformation", "")))


def test_conditions(tmp):
    """Formulas mean values before the condition; what several conditions or a fit set is refused."""
    model = MODEL.replace('<parameter id="k"', '<parameter id="a" value="1" constant="false"/>'
                          '<parameter id="b" value="2" constant="false"/><parameter id="k"')
    for i, (value, want) in enumerate((("b", 2), ("b*1", 2), ("5", 5))):
        problem = write_2(tmp / f"p{i}", model=model, conditions=[("c1", "a", value), ("c1", "b", 5)],
                          observables=[["observableId", "observableFormula", "noiseFormula"], ["y", "a", "0.1"]])
        assert np.array_equal(predictions(problem), [want]*3), value
    twice = [("c1", "a", 3), ("c2", "a", 5)]
    refuse(write_2(tmp / "q", model=model, conditions=twice, experiments=[("e", 0, "c1"), ("e", 0, "c2")]),
           "conditions.tsv:3: column 'targetValue': conditions c1 and c2 at the same time change 'a' twice")
    refuse(write_2(tmp / "r", conditions=[("c1", "k", 3)]),
           "conditions.tsv:2: column 'targetId': k is estimated (parameters.tsv:2)")
    refuse(write_2(tmp / "s", conditions=[("c1", "nobody", 3)]), "conditions.tsv:2: column 'targetId': there is no 'nobody'")
    # One condition in thousands of periods, and thousands of experiments.
    periods = [("e", 0.001*i, "c1") for i in range(2000)]
    helpers.stiffit("import", write_2(tmp / "t", conditions=[("c1", "A", 1)], experiments=periods))
    n = 10000
    helpers.stiffit("import", write_2(tmp / "u", experiments=[(f"e{i}", 0, "c1") for i in range(n)],
                                      measurements=MEASUREMENTS_2[:1] + [["y", f"e{i}", 1, 0.6] for i in range(n)]))
    assert (tmp / "u" / "p.h5").stat().st_size < 1000*n


def test_a_volume_that_a_rule_computes(tmp):
    """A later condition that sets a concentration and what the volume depends on."""
    model = sbml.sbml(sbml.compartment("cell", None, constant=False), sbml.species("A", "cell", conc=1),
                      sbml.parameter("k", 0.5), sbml.parameter("p", 1, False), sbml.assign("cell", "2*p"),
                      sbml.reaction("v", "A ->", "k*A*cell"))
    later = [("e", 0, "c1"), ("e", 1.5, "c2")]
    assert np.allclose(predictions(write_2(tmp / "p", model=model, conditions=[("c1", "A", 1), ("c2", "A", 7)],
                                           experiments=later)), [1, math.exp(-0.5), 7*math.exp(-0.25)], rtol=1e-6)
    refuse(write_2(tmp / "q", model=model, conditions=[("c1", "A", 1), ("c2", "A", 7), ("c2", "p", 4)], experiments=later),
           "conditions.tsv:3: column 'targetValue': the condition sets a concentration and other things, and a rule computes")


def test_conditions_before_events(tmp):
    """A condition at the time of an event comes before it: before its trigger, and before its early values."""
    def model(trigger, early, **more):
        return sbml.sbml(sbml.compartment("c", 1), sbml.parameter("A", 1.5, False), sbml.parameter("p", 1, False),
                         sbml.parameter("k", 0.5), sbml.event("e", trigger, {"A": "A + p"}, early=early, **more))
    both, one = [("c1", "p", 5), ("c1", "A", 10)], [("c1", "p", 5)]
    for i, (text, conditions, want) in enumerate((
            (model("time >= 1", True), both, 15), (model("time >= 1", True), one, 6.5), (model("time >= 1", False), both, 15),
            (model("time >= 1 and p < 2", False), both, 10), (model("time >= 1", False, priority="1e10"), both, 15),
            (model("time >= 0.5", True, delay="0.5"), one, 2.5))):
        problem = write_2(tmp / str(i), model=text, conditions=conditions, experiments=[("e", 0, ""), ("e", 1, "c1")])
        assert np.allclose(predictions(problem)[1:], want, rtol=1e-9), (i, predictions(problem), want)


@helpers.both
def test_gradients_of_conditions_before_events(tmp):
    """Against differences, in both engines; a single parameter, so that the norm of the gradient is the derivative."""
    def evaluate(k, trigger, engine, **more):
        text = sbml.sbml(sbml.compartment("c", 1), sbml.parameter("A", 1.5, False), sbml.parameter("p", 1, False),
                         sbml.parameter("k", 0.5), sbml.rate("A", "0.1*A"), sbml.event("e", trigger, {"A": "A*k + p"}, **more))
        problem = write_2(tmp / "p", model=text, conditions=[("c1", "p", 5), ("c1", "A", "A*k*k + 1")],
                          experiments=[("e", 0, ""), ("e", 1, "c1")],
                          parameters=[PARAMETERS_2[0], ["k", -10, 1e3, repr(k), "true"]])
        helpers.stiffit("run", problem, "--max-evaluations", 1, "--certify", "no", "--overwrite", "--optimizer", "lbfgs",
                        "--gradient", "forward", "--rtol", "1e-10", "--engine", engine, code=None)
        with h5py.File(problem.parent / "p.petab.result.h5") as f:
            return f["fits/objective"][0], f["fits/gradient_norm"][0]
    for engine in helpers.portion(("lanes", "cvodes"), 1):
        for trigger, more in (("time >= 1", {}), ("time >= 1 and p > 2", {"early": False}), ("A > 3", {}),
                              ("time >= 0.5", {"delay": "0.5"})):
            above, below = (evaluate(0.5 + h, trigger, engine, **more)[0] for h in (1e-4, -1e-4))
            slope = evaluate(0.5, trigger, engine, **more)[1]
            # the quotient's error is of the order of its step's square
            assert abs(abs(above - below)/2e-4 - slope) <= 1e-6*slope, (engine, trigger, slope)


def test_formulas_of_old_values(tmp):
    """A formula of the first period that reads a rule or a reaction: with the values before the condition."""
    text = sbml.sbml(sbml.compartment("c", 1), sbml.parameter("A", 1.5, False), sbml.parameter("B", 0, False),
                     sbml.parameter("p", 1, False), sbml.parameter("w", None, False), sbml.parameter("k", 0.5),
                     sbml.species("S", conc=1), sbml.assign("w", "2*p + A"), sbml.reaction("r", "S ->", "p*S*c"))
    for i, (value, want) in enumerate((("w", 3.5), ("r", 1))):
        conditions = [("c1", "p", 5), ("c1", "A", value)]
        assert np.allclose(predictions(write_2(tmp / str(i), model=text, conditions=conditions)), want, rtol=1e-9), i


def test_numbers_as_noise_of_experiments(tmp):
    """Noise parameters that are numbers, and differ only between experiments, are sigmas of measurements."""
    measured = [[*TABLES["measurements.tsv"][0]]] + [["y", c, t, 1, s] for c, s in (("c1", 0.1), ("c2", 0.3)) for t in (0.5, 1)]
    problem = write(tmp / "p", measurements=measured)
    assert len(predictions(problem)) == 4
    with h5py.File(tmp / "p" / "p.petab.h5") as f:
        assert sorted(f["measurements/sigma"][:]) == [0.1, 0.1, 0.3, 0.3]


def test_faults_of_values(tmp):
    """Found on import, at their cell, not by the run."""
    prior = [PARAMETERS_2[0] + ["priorDistribution", "priorParameters"]]
    for i, (word, numbers, want) in enumerate((
            ("normal", "1;-1", "the scale of normal must be positive"), ("uniform", "5;1", "the lower end is not below"),
            ("gamma", "-1;1", "the first number of gamma must be positive"), ("chisquare", "-3", "must be positive"),
            ("log-uniform", "0;10", "ends of log-uniform must be positive"), ("uniform", "2000;3000", "no value in common"))):
        refuse(write_2(tmp / f"p{i}", parameters=prior + [PARAMETERS_2[1] + [word, numbers]]),
               "parameters.tsv:2: column 'priorParameters': ", want)
    refuse(write(tmp / "n", parameters=lambda rows: put(1, "lowerBound", 0)(put(1, "nominalValue", 0)(rows) or rows)),
           "column 'nominalValue': must be positive with the scale log10, or the lower bound must be")
    refuse(write(tmp / "l", parameters=put(1, "lowerBound", "inf")), "column 'lowerBound': leaves no values")
    refuse(write(tmp / "m", measurements=put(1, "measurement", "inf")),
           "measurements.tsv:2: column 'measurement': must be finite")
    refuse(write_2(tmp / "s", observables=[["observableId", "observableFormula", "noiseFormula"], ["y", "A", "0"]]),
           "observables.tsv:2: column 'noiseFormula': must be positive")
    rows = [["observableId", "observableFormula", "noiseFormula"], ["y", "A + z + z + z", "1"], ["z", "y + y + y", "1"]]
    refuse(write_2(tmp / "o", observables=rows), "observables depend on each other in a circle")
    for i, (column, value, want) in enumerate((
            ("parameterScale", "log2", "'log2' is not lin, log or log10"), ("upperBound", -1, "must be positive with the"),
            ("lowerBound", -1, "must not be negative with the scale log10"), ("nominalValue", "inf", "must be finite"),
            ("lowerBound", 1e4, "is above the upper bound"), ("estimate", "2", "is not true or false"))):
        refuse(write(tmp / f"a{i}", parameters=put(1, column, value)), f"parameters.tsv:2: column '{column}': ", want)
    refuse(write(tmp / "a", parameters=lambda rows: put(1, "estimate", 0)(rows) or put(1, "nominalValue", "")(rows) or rows),
           "parameters.tsv:2: column 'nominalValue': is needed where a parameter is not estimated")
    refuse(write(tmp / "e", parameters=lambda rows: rows[:1]), "parameters.tsv: there are no parameters")
    for i, (word, numbers, want) in enumerate((
            ("bell", "0;1", "column 'priorDistribution': 'bell' is not a prior of PEtab"),
            ("normal", "1", "column 'priorParameters': normal has 2 numbers, not 1"),
            ("normal", "k;1", "column 'priorParameters': 'k' is not a number"),
            ("normal", "1;+", "column 'priorParameters': character 1 of '+': expected a value"))):
        refuse(write_2(tmp / f"b{i}", parameters=prior + [PARAMETERS_2[1] + [word, numbers]]), "parameters.tsv:2: ", want)
    for i, (text, new, want) in enumerate((
            ("language: sbml", "language: pysb", "p.yaml:3: the language of the model is 'pysb'; only SBML is read"),
            ("{decay: {language: sbml, location: model.xml}}", "[model.xml]", "ids of models with language and location"),
            ("model_files", "extensions: {x: {version: 1}}\nmodel_files", "the extension 'x' is required but not known"))):
        problem = write_2(tmp / f"y{i}")
        problem.write_text(YAML_2.replace(text, new))
        refuse(problem, want)
    problem.write_text(YAML_2 + "extensions: {x: {version: 1, required: false}}\n")
    helpers.stiffit("import", problem)
    # The same wrong name in many rows is one message.
    wrong = [row[:4] + ["s9"] for row in TABLES["measurements.tsv"][1:]]
    refuse(write(tmp / "w", measurements=TABLES["measurements.tsv"][:1] + wrong),
           "error: ", "measurements.tsv:2: column 'noiseParameters': 's9' is neither a number nor in the table of parameters;")
    refuse(write(tmp / "v", yaml="format_version: 2.5\nparameter_files: [parameters.tsv]\n"), "must be 1 or 2.0.0, not 2.5")
    refuse(write_2(tmp / "k") and write(tmp / "k", yaml=YAML_2.replace("observable_files", "observables_files")),
           "note: ", "'observables_files' is not used; did you mean 'observable_files'?", "no observable table is named")
    done = helpers.stiffit("import", write_2(tmp / "x", parameters=PARAMETERS_2 + [["kl", 0.1, 10, 1, "true"]]))
    assert "note: " in done.stderr and "parameters.tsv:3: nothing uses kl" in done.stderr, done.stderr


def evaluate(problem, *options):
    """Columns of /fits by name, and the names of the parameters."""
    done = helpers.stiffit("run", problem, "--evaluate", "--rtol", 1e-10, "--overwrite", *options)
    with h5py.File(problem.parent / "p.petab.result.h5") as f:
        return {name: f["fits"][name][0] for name in f["fits"]}, list(f["parameters/name"].asstr()), done


def llh_of_tables(k=0.5):
    """Of the problem of write(), at its nominal values."""
    rows = TABLES["measurements.tsv"][1:]
    start = {"c1": 1, "c2": 3}
    return sum(stats.norm.logpdf(row[3], 2*start[row[1]]*math.exp(-k*row[2]), {"s1": 0.1, "s2": 0.2}[row[4]]) for row in rows)


def test_tables_with_ragged_rows(tmp):
    """Rows may leave out empty cells at their ends, in every table, whatever ends their lines; rows that are too long are
    faults."""
    def wider(rows, *more):
        return [[*rows[0], *more], *rows[1:]]
    ragged = {"parameters": lambda rows: wider(rows, "parameterName", "objectivePriorType", "objectivePriorParameters"),
              "conditions": lambda rows: wider(rows, "conditionName", "k2"),
              "observables": lambda rows: wider(rows, "observableName", "observableTransformation", "noiseDistribution"),
              "measurements": lambda rows: wider(rows, "observableParameters", "datasetId", "preequilibrationConditionId")}
    tables = [f"{name}.tsv" for name in ragged]
    for i, change in enumerate((lambda text: text, lambda text: text.replace("\n", "\r\n"),
                                lambda text: text.replace("\n", "\t\t\n"), lambda text: text.rstrip("\n"),
                                lambda text: text.replace("\n", "\n\n"), lambda text: text.replace("\n", " \t \n"))):
        problem = write(tmp / str(i), **ragged)
        for name in tables:
            path = problem.parent / name
            path.write_bytes(change(path.read_text()).encode())
        fits, names, _ = evaluate(problem)
        assert abs(fits["log_likelihood"] - llh_of_tables()) <= 1e-7, (i, fits)  # of the integrator
    for name in tables:
        problem = write(tmp / "long")
        lines = (problem.parent / name).read_text().splitlines(keepends=True)
        lines[1] = lines[1].replace("\n", "\t\tx\n")
        (problem.parent / name).write_text("".join(lines))
        refuse(problem, f"{name}:2: there are {lines[1].count(chr(9)) + 1} fields where the first line names "
                        f"{lines[0].count(chr(9)) + 1} columns")
        assert not (problem.parent / "x.h5").exists()


def test_long_ids(tmp):
    """Ids have no limit: results keep those of up to 4000 characters, and longer ones stay different."""
    text = {"k": "0.5", "s1": "0.1", "s2": "0.2", "scale": "2"}
    for n in (99, 300, 3900, 9000):
        ids = {name: "i"*(n - len(name)) + name for name in ("k", "s1", "s2", "scale", "y", "c1", "c2", "A")}
        model = MODEL.replace('id="k"', f'id="{ids["k"]}"').replace("<ci>k</ci>", f"<ci>{ids['k']}</ci>")
        model = model.replace('id="A"', f'id="{ids["A"]}"').replace("<ci>A</ci>", f"<ci>{ids['A']}</ci>").replace(
            'variable="A"', f'variable="{ids["A"]}"')
        def rename(rows):
            product = ids["scale"] + "*" + ids["A"]
            return [[ids.get(cell, cell.replace("scale*A", product).replace("_y", "_" + ids["y"]))
                     for cell in row] for row in rows]
        problem = write(tmp / str(n), model=model, **{name[:-4]: rename for name in TABLES})
        (problem.parent / "model.xml").write_text(model)
        fits, names, _ = evaluate(problem)
        assert abs(fits["log_likelihood"] - llh_of_tables()) <= 1e-7, (n, fits)
        wanted = [ids[row[0]] for row in TABLES["parameters.tsv"][1:]]
        if n < 4000:
            assert names == wanted
        else:
            assert len(set(names)) == 4 and all(x[:3900] == y[:3900] for x, y in zip(names, wanted))
        assert np.array_equal(fits["parameters"], [0.5, 2, 0.1, 0.2])
        if n < 4000:
            result = problem.parent / "p.petab.result.h5"
            helpers.stiffit("export", result, "--petab", problem.parent / "out")
            again = {row["parameterId"]: float(row["nominalValue"]) for row in
                     csv.DictReader((problem.parent / "out" / "parameters.tsv").read_text().splitlines(), delimiter="\t")}
            assert again == {ids[name]: float(value) for name, value in text.items()}
            assert helpers.stiffit("export", result, "--where", f"{ids['k']} > 0.4").stdout.count("\npetab,") == 1


def test_nominal_values_without_a_logarithm(tmp):
    """0 on the scale log10 becomes the lower bound, and the likelihood is that of a model without decay."""
    problem = write(tmp / "p", parameters=lambda rows: put(1, "lowerBound", 1e-24)(put(1, "nominalValue", 0)(rows) or rows))
    fits, _, done = evaluate(problem)
    assert "parameters.tsv:2: the nominal value 0 of k has no logarithm: it starts at its lower bound 1e-24" in done.stderr
    assert fits["parameters"][0] == 1e-24 and abs(fits["log_likelihood"] - llh_of_tables(0)) <= 1e-6*abs(llh_of_tables(0)), fits


def test_likelihood_at_a_kink(tmp):
    """llh, chi2 and log prior as PEtab defines them: Laplace's kink is rounded in the objective only."""
    parameters = [PARAMETERS_2[0] + ["priorDistribution", "priorParameters"], PARAMETERS_2[1] + ["laplace", "0.5;0.3"]]
    observables = [["observableId", "observableFormula", "noiseFormula", "noiseDistribution"], ["y", "A", "0.1", "laplace"]]
    residuals = np.array([0, 0, 0.05])
    rows = [row[:3] + [repr(float(float(row[3]) + r))] for row, r in zip(MEASUREMENTS_2[1:], residuals)]
    problem = write_2(tmp / "p", parameters=parameters, observables=observables, measurements=MEASUREMENTS_2[:1] + rows)
    helpers.stiffit("run", problem, "--max-evaluations", 1, "--certify", "no", "--rtol", 1e-10, code=None)
    helpers.stiffit("export", tmp / "p" / "p.petab.result.h5", "--petab", tmp / "out")
    found = dict(line.split(": ") for line in (tmp / "out" / "solution.yaml").read_text().splitlines())
    llh = stats.laplace.logpdf(residuals, scale=0.1).sum()
    prior = stats.laplace(0.5, 0.3)
    log_prior = prior.logpdf(0.5) - math.log(prior.cdf(1e3) - prior.cdf(1e-3))
    assert abs(float(found["llh"]) - llh) <= 1e-7, (found, llh)  # of the integrator
    assert abs(float(found["unnorm_log_posterior"]) - llh - log_prior) <= 1e-7, (found, llh, log_prior)
    assert abs(float(found["chi2"]) - np.sum((residuals/0.1)**2)) <= 1e-7, found


def test_runs_and_notes(tmp):
    """`run` says what `import` notes, and a fit's objective; warnings about the text are nobody's here."""
    columns = ["initializationPriorType", "initializationPriorParameters"]
    problem = write(tmp / "p", parameters=lambda rows: [rows[0] + columns, rows[1] + ["normal", "1;0.5"]] +
                    [row + ["", ""] for row in rows[2:]])
    done = helpers.stiffit("run", problem)
    assert "note: " in done.stderr and "starts of k are not drawn" in done.stderr and "warning" not in done.stderr, done.stderr
    with h5py.File(tmp / "p" / "p.petab.result.h5") as f:
        objective, llh = f["fits/objective"][0], f["fits/log_likelihood"][0]
    assert f"objective {objective:.9g}, log-likelihood {llh:.9g}" in done.stderr, done.stderr
    assert "note" not in helpers.stiffit("run", problem, "--quiet", "--overwrite").stderr


def test_changed_tables(tmp):
    """Export refuses to write a fit into tables or a model that have changed in any way."""
    problem = write(tmp / "p")
    helpers.stiffit("run", problem)
    result = tmp / "p" / "p.petab.result.h5"
    for name, change in (("parameters.tsv", lambda rows: [rows[0], rows[2], rows[1], *rows[3:]]),
                         ("measurements.tsv", lambda rows: [row.replace("\t0.5\t", "\t0.6\t") for row in rows]),
                         ("observables.tsv", lambda rows: [row.replace("scale*A", "scale*A*1") for row in rows]),
                         ("model.xml", lambda rows: [row.replace('value="0.5"', 'value="0.6"') for row in rows])):
        path = problem.parent / name
        before = path.read_text()
        path.write_text("".join(change(before.splitlines(keepends=True))))
        assert path.read_text() != before
        said = helpers.stiffit("export", result, "--petab", tmp / "out", code=3).stderr
        assert "has changed since it was imported" in said and not (tmp / "out").exists(), said
        path.write_text(before)
    helpers.stiffit("export", result, "--petab", tmp / "out")
    # A problem of the same name where the command runs is not taken for the result's own.
    other = write(tmp / "q", measurements=put(1, "measurement", 7))
    helpers.stiffit("import", other, "-o", tmp / "q" / "p.petab.h5")
    rows = helpers.stiffit("export", "../p/p.petab.result.h5", "--what", "residuals", cwd=tmp / "q").stdout
    assert rows == helpers.stiffit("export", result, "--what", "residuals").stdout


def test_names(tmp):
    """Observables by override are numbered one by one; a model's id that YAML would not read is quoted."""
    def measured(rows):
        return [[*row[:4], row[4] if i == 0 else "s1" if i % 2 else "s2"] for i, row in enumerate(rows)]
    problem = write(tmp / "p", measurements=measured, observables=lambda rows: [["z", "A", "1"], *rows[1:]][:0] or
                    [rows[0], ["z", "A", "1"], rows[1]])
    helpers.stiffit("import", problem, "-o", tmp / "p.h5")
    with h5py.File(tmp / "p.h5") as f:
        names = sorted({name.decode() for name in f["measurements/observable_names"][:]})
    assert names == ["y__1", "y__2"], names
    problem = write_2(tmp / "q")
    problem.write_text(problem.read_text().replace("{decay:", "{'a: [b''':"))
    helpers.stiffit("run", problem)
    helpers.stiffit("export", tmp / "q" / "p.petab.result.h5", "--petab", tmp / "out")
    helpers.stiffit("import", tmp / "out" / "problem.yaml", "-o", tmp / "again.h5")
    assert table(tmp / "out" / "conditions.tsv") == table(tmp / "q" / "conditions.tsv")


if __name__ == "__main__":
    helpers.main()
