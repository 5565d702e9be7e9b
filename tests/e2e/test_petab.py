#!/usr/bin/env python3
"""PEtab problems: every case of PEtab's own test suite (tests/data/petab-suite) against its solution.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import math
import time

import h5py
import numpy as np

import helpers

SUITE = helpers.ROOT / "tests" / "data" / "petab-suite"


def solution(case):
    """The numbers of the solution file, whose YAML is `name: number` and lists of names."""
    found, part = {}, None
    for line in (case / f"_{case.name}_solution.yaml").read_text().splitlines():
        name, _, value = line.partition(":")
        if value.strip():
            try:
                number = float(value)
            except ValueError:
                continue
            if line.startswith(" "):
                found[part][name.strip()] = number
            else:
                found[name] = number
        elif _:
            part = name
            found[part] = {}
    return found


def table(path):
    with open(path) as f:
        return list(csv.DictReader(f, delimiter="\t"))


def evaluate(case, tmp, yaml=None):
    """Imports a case, or another `yaml` of it, and evaluates it at its nominal values: columns of the result, and predictions
    in the table's order."""
    problem, result = tmp / f"{case.name}.h5", tmp / f"{case.name}.result.h5"
    helpers.stiffit("import", yaml or case / f"_{case.name}.yaml", "-o", problem, "--quiet", "--overwrite")
    helpers.stiffit("run", problem, "-o", result, "--evaluate", "--overwrite", "--rtol", "1e-10")
    rows = list(csv.DictReader(helpers.stiffit("export", result, "--what", "residuals").stdout.splitlines()))
    with h5py.File(problem) as f:
        line = f["measurements/line"][:]
    with h5py.File(result) as f:
        fits = {name: f["fits"][name][0] for name in ("chi_square", "log_likelihood", "log_prior", "objective", "status")}
        fits["names"] = [n.decode() for n in f["parameters/name"][:]]
        fits["parameters"] = f["fits/parameters"][0]
    order = np.argsort(line, kind="stable")
    return fits, np.array([float(row["prediction"]) for row in rows])[order]


def check_case(case, tmp, yaml=None):
    want = solution(case)
    fits, prediction = evaluate(case, tmp, yaml)
    expected = np.array([float(row["simulation"]) for row in table(case / "_simulations.tsv")])
    assert prediction.shape == expected.shape, (case, prediction, expected)
    assert np.all(np.abs(prediction - expected) <= want["tol_simulations"]), (case, prediction, expected)
    assert abs(fits["log_likelihood"] - want["llh"]) <= want["tol_llh"], (case, fits, want)
    if "unnorm_log_posterior" in want:
        posterior = fits["log_likelihood"] + fits["log_prior"]
        assert abs(posterior - want["unnorm_log_posterior"]) <= want["tol_unnorm_log_posterior"], (case, posterior, want)
    assert abs(fits["chi_square"] - want["chi2"]) <= want["tol_chi2"], (case, fits, want)


def check_export(case, tmp):
    """The exported problem has the same solution, and so do its simulations and its solution.yaml."""
    folder, result = tmp / f"{case.name}.out", tmp / f"{case.name}.result.h5"
    helpers.stiffit("export", result, "--petab", folder, "--overwrite")
    want = solution(case)
    found = dict(line.split(": ") for line in (folder / "solution.yaml").read_text().splitlines())
    assert abs(float(found["llh"]) - want["llh"]) <= want["tol_llh"] and found["simulation_files"] == "[simulations.tsv]"
    assert abs(float(found["chi2"]) - want["chi2"]) <= want["tol_chi2"]
    ours, theirs = table(folder / "simulations.tsv"), table(case / "_simulations.tsv")
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a["observableId"] == b["observableId"] and float(a["time"]) == float(b["time"])
        assert abs(float(a["simulation"]) - float(b["simulation"])) <= want["tol_simulations"], (case, a, b)
    assert table(folder / "measurements.tsv") == table(case / "_measurements.tsv")
    check_case(case, tmp, folder / "problem.yaml")


def check_version(version, tmp):
    failed = []
    cases = sorted(p for p in (SUITE / version / "sbml").iterdir() if p.is_dir())
    assert len(cases) >= 20
    for case in helpers.portion(cases, 6):
        try:
            check_case(case, tmp)
            check_export(case, tmp)
        except AssertionError as error:
            failed.append((f"{version}/{case.name}", str(error)[:600]))
    assert not failed, "\n".join(map(str, failed))


@helpers.both
def test_suite_of_version_1(tmp):
    check_version("v1.0.0", tmp)


@helpers.both
def test_suite_of_version_2(tmp):
    check_version("v2.0.0", tmp)


MODEL = """<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"><model id="decay">
<listOfCompartments><compartment id="cell" size="1" constant="true"/></listOfCompartments>
<listOfSpecies><species id="A" compartment="cell" initialConcentration="1" hasOnlySubstanceUnits="false"
 boundaryCondition="false" constant="false"/></listOfSpecies>
<listOfParameters><parameter id="k" value="0.5" constant="true"/></listOfParameters>
<listOfRules><rateRule variable="A"><math xmlns="http://www.w3.org/1998/Math/MathML"><apply><times/><apply><minus/><ci>k</ci>
</apply><ci>A</ci></apply></math></rateRule></listOfRules></model></sbml>
"""
YAML = """format_version: 1
parameter_file: parameters.tsv
problems:
- condition_files: [conditions.tsv]
  measurement_files: [measurements.tsv]
  observable_files: [observables.tsv]
  sbml_files: [model.xml]
"""
TABLES = {
    "parameters.tsv": [["parameterId", "parameterScale", "lowerBound", "upperBound", "nominalValue", "estimate"],
                       ["k", "log10", 1e-3, 1e3, 0.5, 1], ["scale", "lin", 0.1, 10, 2, 1], ["s1", "log10", 1e-3, 10, 0.1, 1],
                       ["s2", "log10", 1e-3, 10, 0.2, 1]],
    "conditions.tsv": [["conditionId", "A"], ["c1", 1], ["c2", 3]],
    "observables.tsv": [["observableId", "observableFormula", "noiseFormula"],
                        ["y", "scale*A", "noiseParameter1_y"]],
    "measurements.tsv": [["observableId", "simulationConditionId", "time", "measurement", "noiseParameters"]] +
                        [["y", c, t, round(2*a*math.exp(-0.5*t) + 0.05*math.sin(7*t + a), 6), s]
                         for c, a in (("c1", 1), ("c2", 3)) for t in (0.5, 1, 2, 4, 6) for s in ("s1", "s2")]}


def write(folder, **changes):
    """The problem above; changes by file name without its ending: a text, rows, or a function of its rows."""
    folder.mkdir(exist_ok=True, parents=True)
    tables = {name: [list(map(str, row)) for row in rows] for name, rows in TABLES.items()}
    (folder / "model.xml").write_text(MODEL)
    (folder / "p.yaml").write_text(YAML)
    for name, rows in tables.items():
        change = changes.pop(name[:-4], None)
        rows = change(rows) or rows if callable(change) else change or rows
        (folder / name).write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    for name, text in changes.items():
        (folder / {"yaml": "p.yaml", "model": "model.xml"}[name]).write_text(text)
    return folder / "p.yaml"


def math_cases():
    """Expression and number of each case of the suite's YAML whose value is finite."""
    found, expression = [], None
    for line in (SUITE / "v2.0.0" / "math" / "math_tests.yaml").read_text().splitlines():
        name, _, value = line.strip("- ").partition(": ")
        if name == "expression":
            expression = value.strip().strip('"')
        elif name == "expected":
            try:
                number = float(value)
            except ValueError:
                continue
            found.append((expression, number))
    assert len(found) > 80
    return found


def deep_case():
    """A formula of operations in one another, deeper than brackets may be in model text if each had its own, and its value."""
    text, value = "1", 1.0
    for i in range(700):
        text, value = ((f"({text}) - 1", value - 1), (f"2 - ({text})", 2 - value), (f"-({text})", -value),
                       (f"({text})*-0.5", value*-0.5), (f"1/(({text})^2 + 1)", 1/(value**2 + 1)),
                       (f"{value!r}/({text})", 1.0))[i % 6]
    return text, value


def test_math(tmp):
    """The suite's expressions as observables, and some more: what model text computes for them."""
    cases = [(e, v) for e, v in math_cases() if math.isfinite(v)] + [
        # && and || bind equally, from left to right, as comparisons do; ! binds as a sign does
        ("1 || 1 && 0", 0), ("3 > 2 > 1", 0), ("1 < 3 < 2 == 1", 1), ("!1 == 0", 1), ("2^!1", 1), ("!2^0", 0), ("-2^2", -4),
        ("2**-1^2", 0.5), ("8/4/2", 1), ("8/(4/2)", 4), ("7 - (2 - 1)", 6), ("-(2 - 5)*2", 6), ("2 - -3", 5), ("(-2)^2", 4),
        ("log(8, 2) + ln(exp(2))", 5), ("1/sec(0)/csc(pi_/6)", 0.5), ("arccot(1)*4/pi_", 1), ("exp*2", 3), ("min + t + pi", 6),
        ("min(3, 2, 1) - max(3, 2, 4)", -3), ("piecewise(1, 0, 2, True, 3)", 2), ("1" + "+1"*3000, 3001), deep_case()]
    named = {"pi_": math.pi, "exp": 1.5, "min": 1, "t": 2, "pi": 3}  # names that are words elsewhere
    formulas = [[f"m{i}", f"({e}) + 0*A", 1] for i, (e, _) in enumerate(cases)]
    problem = write(tmp / "p", observables=lambda rows: rows[:1] + formulas,
                    parameters=lambda rows: rows + [[name, "lin", 0, 9, repr(value), 0] for name, value in named.items()],
                    measurements=lambda rows: [rows[0]] + [[f"m{i}", "c1", 0, 0, ""] for i in range(len(cases))])
    helpers.stiffit("run", problem, "--max-evaluations", 1, "--certify", "no", code=None)
    done = helpers.stiffit("export", tmp / "p" / "p.petab.result.h5", "--what", "residuals")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert len(rows) == len(cases)
    for row, (expression, value) in zip(rows, cases):
        assert abs(float(row["prediction"]) - value) <= 1e-14*max(1, abs(value)), (expression, value, row)


def test_noise_on_a_logarithmic_scale(tmp):
    """The standard deviation of log10(y) is the whole formula: here 0.1 + 0.1 0.2."""
    problem = write(tmp / "p", measurements=lambda rows: [row[:4] for row in rows], observables=lambda rows: [
        rows[0] + ["observableTransformation"], ["y", "scale*A", "s1 + s1*s2", "log10"]])
    helpers.stiffit("run", problem, "--max-evaluations", 1, "--certify", "no", code=None)
    done = helpers.stiffit("export", tmp / "p" / "p.petab.result.h5", "--what", "residuals")
    for row in csv.DictReader(done.stdout.splitlines()):
        want = math.log10(float(row["value"])/float(row["prediction"]))/0.12
        assert abs(float(row["weighted_residual"]) - want) <= 1e-13, row


def test_fit(tmp):
    """`run problem.yaml` against SciPy's minimum of the same likelihood."""
    from scipy.optimize import minimize
    problem = write(tmp / "p")
    helpers.stiffit("run", problem)
    with h5py.File(tmp / "p" / "p.petab.result.h5") as f:
        llh, best, names = f["fits/log_likelihood"][0], f["fits/parameters"][0], [n.decode() for n in f["parameters/name"][:]]
    rows = [dict(zip(TABLES["measurements.tsv"][0], row)) for row in TABLES["measurements.tsv"][1:]]

    def cost(q):
        k, scale, *s = np.exp(q)
        return sum(0.5*((scale*(1 if row["simulationConditionId"] == "c1" else 3)*math.exp(-k*row["time"]) - row["measurement"])
                        / s[row["noiseParameters"] == "s2"])**2 + math.log(s[row["noiseParameters"] == "s2"]) +
                   0.5*math.log(2*math.pi) for row in rows)
    reference = min((minimize(cost, np.log([0.5, 2, 0.1, 0.2]), method=m) for m in ("Nelder-Mead", "BFGS")),
                    key=lambda r: r.fun)
    assert names == ["k", "scale_", "s1", "s2"], names  # a word of model text
    # the certificate allows a predicted decrease of 2e-4; BFGS and Nelder-Mead leave about 1e-6
    assert -llh <= reference.fun + 1e-4 and abs(llh + reference.fun) < 1e-3, (llh, reference.fun)
    assert np.allclose(best, np.exp(reference.x), rtol=1e-3), (best, np.exp(reference.x))


def test_dataset_column(tmp):
    """Subjects of conditions become datasets, with the fits of problems that have one subject each."""
    def known(rows, only=("c1", "c2")):
        return [rows[0]] + [row[:4] + ["0.1"] for row in rows[1:] if row[1] in only]
    problem = write(tmp / "p", measurements=known, conditions=lambda rows: [
        row + [more] for row, more in zip(rows, ("subject", "first", "second"))])
    h5 = tmp / "many.h5"
    helpers.stiffit("import", problem, "--dataset-column", "subject", "-o", h5)
    helpers.stiffit("run", h5)
    for i, (subject, condition) in enumerate((("first", "c1"), ("second", "c2"))):
        one = write(tmp / subject, measurements=lambda rows: known(rows, condition))
        helpers.stiffit("run", one)
        with h5py.File(tmp / "many.result.h5") as many, h5py.File(tmp / subject / "p.petab.result.h5") as f:
            assert many["fits/id"][i].decode() == subject
            assert np.array_equal(many["fits/parameters"][i][:2], f["fits/parameters"][0][:2])


def llh_of(folder, rows):
    """PEtab's log-likelihood of the problem of write(), from exported tables alone: parameters and simulations."""
    at = {row["parameterId"]: float(row["nominalValue"]) for row in table(folder / "parameters.tsv")}
    simulated, measured = table(folder / "simulations.tsv"), table(folder / "measurements.tsv")
    assert len(simulated) == len(measured) == rows
    llh = 0
    for s, m in zip(simulated, measured):
        start = 1 if m["simulationConditionId"] == "c1" else 3
        curve = at["scale"]*start*math.exp(-at["k"]*float(m["time"]))
        assert abs(float(s["simulation"]) - curve) <= 1e-6, (s, curve)  # of the run's rtol
        sigma = at.get(m["noiseParameters"]) or float(m["noiseParameters"])
        llh -= 0.5*((float(s["simulation"]) - float(m["measurement"]))/sigma)**2 + math.log(sigma*math.sqrt(2*math.pi))
    return llh


def test_export(tmp):
    """A fit goes back into PEtab: parameters on natural scale, simulations, and the same llh when it is imported again."""
    problem = write(tmp / "p")
    helpers.stiffit("run", problem)
    result, out = tmp / "p" / "p.petab.result.h5", tmp / "out"
    helpers.stiffit("export", result, "--petab", out)
    with h5py.File(result) as f:
        llh, best = f["fits/log_likelihood"][0], f["fits/parameters"][0]
    rows = table(out / "parameters.tsv")
    assert [row["parameterId"] for row in rows] == ["k", "scale", "s1", "s2"]
    assert np.array_equal([float(row["nominalValue"]) for row in rows], best)
    assert [row["parameterScale"] for row in rows] == ["log10", "lin", "log10", "log10"]
    assert abs(llh_of(out, 20) - llh) <= 1e-9*abs(llh)
    helpers.stiffit("run", out / "problem.yaml", "--max-evaluations", 1, "--certify", "no", code=None)
    with h5py.File(out / "problem.petab.result.h5") as f:
        assert np.array_equal(f["fits/parameters"][0], best)
        # tolerances differ: a fit's last evaluations have their own
        assert abs(f["fits/log_likelihood"][0] - llh) <= 1e-6*abs(llh)
    assert "exists" in helpers.stiffit("export", result, "--petab", out, code=4).stderr
    measurements = problem.parent / "measurements.tsv"
    measurements.write_text(measurements.read_text().replace("c1\t0.5\t", "c1\t0.5\t1"))
    assert "has changed" in helpers.stiffit("export", result, "--petab", out, "--overwrite", code=3).stderr
    problem.unlink()
    assert "cannot read" in helpers.stiffit("export", result, "--petab", out, "--overwrite", code=4).stderr
    write(tmp / "moved", yaml=YAML)
    helpers.stiffit("export", result, "--petab", out, "--petab-yaml", tmp / "moved" / "p.yaml", "--overwrite")
    robertson = tmp / "other.h5"
    helpers.stiffit("simulate", "-m", helpers.ROOT / "models" / "robertson" / "robertson.ode", "--times", "1,10,100", "-n", 1,
                    "--noise", 0.01, "-o", robertson)
    helpers.stiffit("run", robertson, "--trust", code=None)
    done = helpers.stiffit("export", tmp / "other.result.h5", "--trust", "--petab", tmp / "none", code=2)
    assert "was not made from a PEtab problem" in done.stderr and not (tmp / "none").exists()


def test_export_of_datasets(tmp):
    """Each dataset is a problem with its own rows and parameters; an id that leaves the folder is refused."""
    def known(rows):
        return [rows[0]] + [row[:4] + ["0.1"] for row in rows[1:]]
    for name, ids in (("p", ("subject", "first", "second")), ("q", ("subject", "first", "../second"))):
        problem = write(tmp / name, measurements=known, conditions=lambda rows: [r + [x] for r, x in zip(rows, ids)])
        h5, out = tmp / f"{name}.h5", tmp / f"{name}.out"
        helpers.stiffit("import", problem, "--dataset-column", "subject", "-o", h5)
        helpers.stiffit("run", h5)
        done = helpers.stiffit("export", tmp / f"{name}.result.h5", "--petab", out, code=None)
        assert (done.returncode == 0) == (name == "p"), done.stderr
    assert "cannot name a folder" in done.stderr and not (tmp / "second").exists()
    with h5py.File(tmp / "p.result.h5") as f:
        for i, subject in enumerate(("first", "second")):
            folder = tmp / "p.out" / subject
            assert abs(llh_of(folder, 10) - f["fits/log_likelihood"][i]) <= 1e-9*abs(f["fits/log_likelihood"][i])
            helpers.stiffit("import", folder / "problem.yaml", "-o", tmp / f"{subject}.h5")


def test_several_problems(tmp):
    """Each problem is a dataset: the same bits as alone, from its own nominal values, and back into a problem each."""
    def change(k):
        def measured(rows):
            return [rows[0]] + [row[:3] + [str(float(row[3]) * (1 + 0.1*k))] + row[4:] for row in rows[1:]]
        return {"measurements": measured, "parameters": put(1, "nominalValue", 0.4 + 0.1*k),
                "conditions": lambda rows: rows[:2] + [["c2", str(3 + k)]] + [["c" + "x" * k, "7"]] * (k > 0)}
    several = [write(tmp / f"s{k}", **change(k)) for k in range(3)]
    h5, out = tmp / "all.h5", tmp / "out"
    helpers.stiffit("import", *several, "-o", h5)
    helpers.stiffit("run", h5)
    helpers.stiffit("export", tmp / "all.result.h5", "--petab", out)
    with h5py.File(h5) as f:
        assert f["parameters/start"][:, 0].tolist() == [0.4, 0.5, 0.6000000000000001]
    with h5py.File(tmp / "all.result.h5") as f:
        assert [name.decode() for name in f["fits/id"]] == ["s0", "s1", "s2"]
        for k, problem in enumerate(several):
            helpers.stiffit("run", problem)
            with h5py.File(problem.parent / "p.petab.result.h5") as one:
                for name in ("parameters", "log_likelihood", "standard_error"):
                    assert np.array_equal(f["fits"][name][k], one["fits"][name][0]), name
            helpers.stiffit("export", problem.parent / "p.petab.result.h5", "--petab", problem.parent / "out")
            for file in ("parameters.tsv", "simulations.tsv", "solution.yaml", "conditions.tsv", "problem.yaml", "model.xml"):
                assert (out / f"s{k}" / file).read_bytes() == (problem.parent / "out" / file).read_bytes(), file
    said = helpers.stiffit("export", tmp / "all.result.h5", "--petab", tmp / "x", "--petab-yaml", several[0], code=2).stderr
    assert "of 3 PEtab problems" in said, said
    other = tmp / "other"
    for changes, word in (
            ({"parameters": put(1, "upperBound", 2000)}, "parameters.tsv:2: the upperBound of k is not that of"),
            ({"parameters": put(2, "estimate", 0)}, "the estimate of scale is not that of"),
            ({"observables": put(1, "observableFormula", "A")}, "the tables of observables differ from those of"),
            ({"model": MODEL.replace('value="0.5"', 'value="0.6"')}, "the files of the model differ from those of"),
            ({"parameters": lambda rows: rows + [["more", "lin", "0", "1", "0.5", "0"]]}, "has 5 parameters")):
        done = helpers.stiffit("import", several[0], write(other, **changes), "-o", tmp / "x.h5", code=None)
        assert done.returncode == 3 and word in done.stderr, done.stderr
    assert "already" not in helpers.stiffit("import", several[0], several[0], "-o", tmp / "x.h5", code=2).stderr
    assert "--output is needed" in helpers.stiffit("import", *several, code=2).stderr
    assert "is no PEtab problem" in helpers.stiffit("import", several[0], tmp / "x.csv", "-o", tmp / "x.h5", code=2).stderr


def test_many_problems(tmp):
    """Three hundred, of which each file name is another; in a few seconds."""
    folder = tmp / "p"
    yaml = write(folder)
    for k in range(300):
        (folder / f"subject{k}.yaml").write_text(yaml.read_text())
    began = time.monotonic()
    helpers.stiffit("import", *[folder / f"subject{k}.yaml" for k in range(300)], "-o", tmp / "all.h5")
    assert time.monotonic() - began < 20 * helpers.SANITIZER_SPEED, time.monotonic() - began
    helpers.stiffit("run", tmp / "all.h5")
    with h5py.File(tmp / "all.result.h5") as f:
        assert len(f["fits/id"]) == 300 and np.all(f["fits/parameters"][:] == f["fits/parameters"][0])


def drop(column):
    def change(rows):
        k = rows[0].index(column)
        return [row[:k] + row[k + 1:] for row in rows]
    return change


def put(row, column, value):
    def change(rows):
        rows[row][rows[0].index(column)] = str(value)
    return change


def test_faults(tmp):
    """Each fault is one message that names file, line and column, and exit code 3."""
    (tmp / "out.tsv").write_text("conditionId\nc1\nc2\n")
    cases = [
        ({"yaml": "format_version: ["}, "this is not YAML"),
        ({"yaml": "hello"}, "not a PEtab problem"),
        ({"yaml": YAML.replace("format_version: 1", "format_version: 7")}, "format_version must be 1 or 2"),
        ({"yaml": YAML.replace("conditions.tsv", "nowhere.tsv")}, "cannot open 'nowhere.tsv'"),
        ({"yaml": YAML.replace("conditions.tsv", "../out.tsv")}, "leaves the folder"),
        ({"yaml": YAML.replace("conditions.tsv", str(tmp / "out.tsv"))}, "leaves the folder"),
        ({"yaml": YAML.replace("- condition_files", "- &a condition_files").replace("[model.xml]", "[model.xml, model.xml]")},
         "2 models are named"),
        ({"yaml": YAML.replace("observables.tsv", "")}, "no observable table is named; at least one is needed"),
        ({"parameters": drop("estimate")}, "parameters.tsv:1: there is no column 'estimate'"),
        ({"measurements": lambda rows: [[c.replace("noiseP", "noisP") for c in rows[0]]] + rows[1:]},
         "did you mean 'noiseParameters'"),
        ({"parameters": lambda rows: rows + [rows[1]]}, "parameters.tsv:6: column 'parameterId': 'k' is there twice"),
        ({"parameters": put(1, "lowerBound", "abc")}, "parameters.tsv:2: column 'lowerBound': 'abc' is not a number"),
        ({"parameters": put(1, "nominalValue", "nan")}, None),
        ({"parameters": put(1, "estimate", "maybe")}, "is not true or false"),
        ({"observables": put(1, "observableFormula", "scale*B")},
         "observables.tsv:2: column 'observableFormula': 'B' is not known"),
        ({"observables": put(1, "observableFormula", "scale*(A")}, "observables.tsv:2: column 'observableFormula': "
         "character 7 of 'scale*(A': the bracket that opens here is never closed"),
        ({"observables": put(1, "observableFormula", "2 * foo(A)")}, "character 5 of '2 * foo(A)': `foo` is not a function of"),
        ({"observables": put(1, "observableFormula", "heaviside(A)")}, "`heaviside` is not a function of PEtab"),
        ({"observables": put(1, "observableFormula", "A A")}, "character 3 of 'A A': unexpected `A`: a `*` or another"),
        ({"observables": put(1, "observableFormula", "A # B")}, "character 3 of 'A # B': expected an operator, found `#`"),
        ({"observables": put(1, "observableFormula", "A; B")}, "character 2 of 'A; B': expected an operator, found `;`"),
        ({"observables": put(1, "observableFormula", "A = 1")}, "character 3 of 'A = 1': expected an operator, found `=`"),
        ({"observables": put(1, "observableFormula", "if A then 1 else 2")}, "character 4 of"),
        ({"observables": put(1, "observableFormula", "A*")}, "character 2 of 'A*': expected a value, but the formula ends"),
        ({"observables": put(1, "observableFormula", "log(A, 2, 3)")}, "`log` takes at most 2 arguments, not 3"),
        ({"observables": put(1, "observableFormula", "min(A)")}, "`min` takes at least 2 arguments, not 1"),
        ({"observables": put(1, "observableFormula", "piecewise(1, A > 1)")}, "an odd number of arguments"),
        ({"observables": put(1, "observableFormula", "A + 1e999")}, "character 5 of 'A + 1e999': this number is too large"),
        ({"observables": put(1, "observableFormula", "("*5000)}, "nested more than"),
        ({"observables": put(1, "observableFormula", "A" + "+1"*30000)}, None),
        ({"measurements": put(3, "observableId", "yy")},
         "measurements.tsv:4: column 'observableId': there is no observable 'yy'"),
        ({"measurements": put(3, "simulationConditionId", "c3")}, "there is no condition 'c3'"),
        ({"measurements": put(3, "time", "-1")}, "measurements.tsv:4: the time -1 is before the experiment begins"),
        ({"measurements": put(3, "noiseParameters", "s1;s2")}, "2 values for the 1 placeholder of y"),
        ({"measurements": put(3, "noiseParameters", "s3")}, "is neither a number nor in the table of parameters"),
        ({"conditions": lambda rows: [[c.replace("A", "B") for c in rows[0]]] + rows[1:]},
         "conditions.tsv:2: column 'B': there is no 'B': neither the model nor a formula has it"),
        ({"model": "<sbml"}, "model.xml"),
        ({"model": MODEL.replace("<ci>k</ci>", "<ci>nobody</ci>")}, "nobody"),
        ({"yaml": YAML.replace("[model.xml]", "[gone.xml]")}, "p.yaml:7: cannot open 'gone.xml'"),
        ({"yaml": YAML + "parameter_file: other.tsv\n"}, "p.yaml:8: 'parameter_file' is there twice"),
        ({"yaml": "format_version: 1\nproblems: " + "["*100000}, "p.yaml: brackets are nested too deeply"),
        ({"yaml": "format_version: 1\nproblems: " + "["*100000 + "]"*100000}, "nested too deeply"),
        ({"yaml": "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}']*10)}]\n" for i in range(1, 30)) + YAML},
         None),  # names that are not used
        ({"yaml": YAML.replace("[conditions.tsv]", "&a [*a, *a]")}, "p.yaml"),
        ({"yaml": YAML.replace("conditions.tsv", "inside.tsv")}, "leaves the folder"),  # a link
        ({"yaml": YAML.replace("conditions.tsv", "http://example.org/c.tsv")}, "is not a file here"),
        ({"yaml": YAML.replace("conditions.tsv", "/dev/zero")}, "leaves the folder"),
        ({"conditions": lambda rows: rows + [rows[1]]}, "conditions.tsv:4: column 'conditionId': 'c1' is there twice"),
        ({"observables": lambda rows: rows + [rows[1]]}, "observables.tsv:3: column 'observableId': 'y' is there twice"),
        ({"conditions": put(1, "A", "1 +")}, "conditions.tsv:2: column 'A'"),
        ({"conditions": put(1, "A", "nobody")}, "conditions.tsv:2: column 'A': neither a number nor a parameter"),
        ({"observables": put(1, "noiseFormula", "noiseParameter2_y")}, "1 value for the 2 placeholders of y"),
        ({"observables": put(1, "noiseFormula", "nobody + noiseParameter1_y")},
         "observables.tsv:2: column 'noiseFormula': 'nobody' is not known"),
        ({"measurements": put(1, "measurement", "a lot")}, "measurements.tsv:2: column 'measurement': 'a lot' is not a number"),
        ({"measurements": lambda rows: rows[:1]}, "there are no measurements"),
        ({"parameters": lambda rows: rows + [["s1"]]}, "parameters.tsv:6"),
        ({"parameters": lambda rows: [["parameterId"]*2 + rows[0][2:]] + rows[1:]}, "parameters.tsv:1"),
    ]
    for i, (changes, want) in enumerate(cases):
        problem = write(tmp / str(i), **changes)
        (problem.parent / "inside.tsv").symlink_to(tmp / "out.tsv")
        done = helpers.stiffit("import", problem, "-o", tmp / f"{i}.h5", code=0 if want is None else 3)
        assert want is None or want in done.stderr, (changes, want, done.stderr[-1500:])
        assert (tmp / f"{i}.h5").exists() == (want is None)
    two = write(tmp / "two", parameters=put(1, "lowerBound", "x"), observables=put(1, "observableId", "1"))
    done = helpers.stiffit("import", two, code=3)
    assert "parameters.tsv:2" in done.stderr and "observables.tsv:2" in done.stderr and "2 faults" in done.stderr, done.stderr
    outside = write(tmp / "outside", yaml=YAML.replace("conditions.tsv", "../out.tsv"))
    helpers.stiffit("import", outside, "--outside")


def test_initialization_priors(tmp):
    """Starts are not drawn from the initializationPrior columns: where this differs, a note says so."""
    columns = ["objectivePriorType", "objectivePriorParameters", "initializationPriorType", "initializationPriorParameters"]
    normal = ["normal", "1;0.5"]
    for cells, want in ((["", "", *normal], True), ([*normal, "normal", "1;0.6"], True),
                        ([*normal, *normal], False), ([*normal, "", ""], False),
                        (["", "", "parameterScaleUniform", ""], False)):
        problem = write(tmp / "p", parameters=lambda rows: [rows[0] + columns, rows[1] + cells] +
                        [row + cells for row in rows[2:3]] + [row + [""]*4 for row in rows[3:]])
        done = helpers.stiffit("import", problem, "-o", tmp / "p.h5", "--overwrite")
        note = "parameters.tsv:2: starts of k and 1 more parameter are not drawn from the initializationPriorType"
        assert (note in done.stderr) == want and ("initialization" in done.stderr) == want, (cells, done.stderr)


if __name__ == "__main__":
    helpers.main()
