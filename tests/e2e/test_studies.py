#!/usr/bin/env python3
"""Real studies with several doses or occasions, against SciPy's fits of closed forms and R's; both sides of a dose.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv

import h5py
import numpy as np
from scipy.optimize import least_squares

import helpers
from helpers import stiffit

PHENOBARBITAL = """model phenobarbital "one compartment, repeated intravenous doses; clearance and volume by weight"
parameter lCl = -5 in [-10, 0]
parameter Cl_power = 1 in [-5, 5]
parameter lV = 0.3 in [-5, 5]
parameter V_power = 1 in [-5, 5]
covariate WT
V = exp(lV)*WT^V_power
amount(0) = 0
amount' = -exp(lCl)*WT^Cl_power/V*amount
observe conc = amount/V
"""
ORAL = """model oral
parameter ka = 1, k = 0.1, V = 10 scale log
depot(0) = 0
central(0) = 0
depot' = -ka*depot
central' = ka*depot - k*central
observe c = central/V
"""


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_table(path, head, rows):
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def least_squares_fit(predict, start, y):
    """Optimum, half the sum of squares, and the standard errors that the residuals' scatter gives."""
    found = least_squares(lambda p: predict(p) - y, start, jac="3-point", x_scale="jac", xtol=1e-14, ftol=1e-14, gtol=1e-12)
    covariance = np.linalg.inv(found.jac.T @ found.jac) * 2 * found.cost / (y.size - len(start))
    return found.x, found.cost, np.sqrt(np.diag(covariance))


def check(fits, i, optimum, cost, error):
    assert fits["status"][i] == "converged", fits["message"][i]
    assert np.all(np.abs(fits["parameters"][i] - optimum) < 1e-3 * error), (fits["parameters"][i], optimum, error)
    np.testing.assert_allclose(fits["objective"][i], cost, rtol=1e-5)  # the certificate allows more
    np.testing.assert_allclose(fits["standard_error"][i], error, rtol=1e-3)


class Phenobarbital:
    """The study of data/phenobarbital.csv by infants: weight, doses (time, amount), concentrations (time, value)."""
    def __init__(self):
        rows = table(helpers.ROOT / "data/phenobarbital.csv")
        self.id = list(dict.fromkeys(row["ID"] for row in rows))
        self.weight = {row["ID"]: float(row["WT"]) for row in rows}
        self.dose, self.seen = ({i: np.array([(row["TIME"], row[name]) for row in rows if row["ID"] == i and row[name] != "."],
                                             float) for i in self.id} for name in ("AMT", "DV"))
        self.value = np.concatenate([self.seen[i][:, 1] for i in self.id])

    def predict(self, p):
        """Superposed doses; none of them has the time of a concentration."""
        found = []
        for i in self.id:
            log_weight = np.log(self.weight[i])
            volume = np.exp(p[2] + p[3] * log_weight)
            since = self.seen[i][:, :1] - self.dose[i][:, 0]
            decay = np.exp(-np.exp(p[0] + p[1] * log_weight) / volume * np.maximum(since, 0))
            found.append((decay * (since > 0)) @ self.dose[i][:, 1] / volume)
        return np.concatenate(found)


def test_phenobarbital_pooled(tmp):
    """59 infants with 589 doses are the experiments of one dataset; R's nls of nlme::phenoModel, SciPy and stiffit agree."""
    study = Phenobarbital()
    assert len(study.id) == 59 and study.value.size == 155 and sum(map(len, study.dose.values())) == 589
    (tmp / "m.ode").write_text(PHENOBARBITAL)
    m = write_table(tmp / "m.csv", "dataset,experiment,time,value",
                    [("all", i, *row) for i in study.id for row in study.seen[i]])
    e = write_table(tmp / "e.csv", "dataset,experiment,WT", [("all", i, study.weight[i]) for i in study.id])
    d = write_table(tmp / "d.csv", "dataset,experiment,time,amount",
                    [("all", i, *row) for i in study.id for row in study.dose[i]])
    done = stiffit("import", m, "--experiments", e, "--doses", d, "--model", tmp / "m.ode", "-o", tmp / "p.h5")
    assert "1 dataset, 59 experiments, 589 doses, 155 measurements" in done.stderr, done.stderr
    optimum, cost, error = least_squares_fit(study.predict, [-5, 1, 0.3, 1], study.value)
    reference = table(helpers.ROOT / "data/phenobarbital-nls.csv")
    assert [row["parameter"] for row in reference] == ["lCl", "Cl_power", "lV", "V_power"]
    from_r = np.array([[float(row[name]) for name in ("estimate", "standard_error", "sum_of_squares")] for row in reference])
    assert np.all(np.abs(from_r[:, 0] - optimum) < 1e-4 * error), (from_r, optimum)
    np.testing.assert_allclose(from_r[:, 1], error, rtol=1e-4)
    np.testing.assert_allclose(from_r[0, 2], 2 * cost, rtol=1e-8)
    for engine in ("cvodes", "lanes"):
        fits = helpers.run(tmp / "p.h5", f"--engine={engine}", "--overwrite")
        assert fits["names"] == ["lCl", "Cl_power", "lV", "V_power"] and fits["degrees_of_freedom"][0] == 151
        check(fits, 0, optimum, cost, error)


def test_phenobarbital_as_nonmem_has_it(tmp):
    """The same study as one table: a dataset per infant, with the powers of the weight fixed; each against SciPy."""
    study = Phenobarbital()
    (tmp / "m.ode").write_text(PHENOBARBITAL)
    stiffit("import", helpers.ROOT / "data/phenobarbital.csv", "--nonmem", "--model", tmp / "m.ode", "-o", tmp / "p.h5",
            "--fix", "Cl_power", "--fix", "V_power")
    fits = helpers.run(tmp / "p.h5", code=(0, 1))  # one concentration does not determine two parameters
    assert list(fits["id"]) == study.id
    everybody, checked = study.id, 0
    for n, i in enumerate(everybody):
        if len(study.seen[i]) < 3:
            continue
        study.id = [i]
        optimum, cost, error = least_squares_fit(lambda q: study.predict([q[0], 1, q[1], 1]), [-5, 0.3], study.seen[i][:, 1])
        if np.all(error < 1) and np.all(np.abs(optimum) < 5.5):
            found = {name: fits[name] if fits[name].ndim == 1 else fits[name][:, [0, 2]]
                     for name in ("status", "message", "parameters", "objective", "standard_error")}
            check(found, n, optimum, cost, error)
            checked += 1
    assert checked >= 15, checked


def theophylline():
    """Dose and rows (time, concentration) of each subject."""
    rows = table(helpers.ROOT / "data/theophylline.csv")
    return {i: (float(dose), np.array([(row["Time"], row["conc"]) for row in rows if row["Subject"] == i], float))
            for i, dose in {row["Subject"]: row["Dose"] for row in rows}.items()}


def first_order(p, dose, t):
    """R's SSfol."""
    ke, ka, cl = np.exp(p)
    return dose * ke * ka / (cl * (ka - ke)) * (np.exp(-ke * t) - np.exp(-ka * t))


def test_theophylline_as_two_occasions(tmp):
    """Subjects by twos, as if each pair were one subject seen twice: lKa and lKe are shared, lCl is the occasion's own."""
    subjects = theophylline()
    pairs = list(zip(list(subjects)[::2], list(subjects)[1::2]))
    text = (helpers.ROOT / "models/theophylline/theophylline.ode").read_text()
    order = [i for pair in pairs for i in pair]
    with h5py.File(tmp / "p.h5", "w") as f:
        def words(name, column):
            f.create_dataset(name, data=list(column), dtype=h5py.string_dtype())
        f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
        f["model/source"] = text
        words("parameters/name", ["lKe", "lKa", "lCl1", "lCl2"])
        f["parameters/start"] = [-2.5, 0.5, -3, -3]
        f["parameters/lower"], f["parameters/upper"] = [-8, -5, -9, -9], [2, 6, 3, 3]
        words("datasets/id", ["+".join(pair) for pair in pairs])
        f["experiments/dataset"] = np.repeat(np.arange(len(pairs)), 2)
        words("experiments/id", order)
        words("experiments/covariate_names", ["dose"])
        f["experiments/covariates"] = [[subjects[i][0]] for i in order]
        rows = [(e, t, value) for e, i in enumerate(order) for t, value in subjects[i][1]]
        experiment, f["measurements/time"], f["measurements/value"] = map(np.array, zip(*rows))
        f["measurements/experiment"] = experiment
        f["substitutes/experiment"] = np.arange(len(order))
        f["substitutes/parameter"] = np.zeros(len(order), int)
        f["substitutes/by"] = np.arange(len(order)) % 2
        f["substitutes/value"] = np.zeros(len(order))
        words("substitutes/parameter_names", ["lCl"])
        words("substitutes/by_names", ["lCl1", "lCl2"])
    fits = helpers.run(tmp / "p.h5")
    assert fits["names"] == ["lKe", "lKa", "lCl1", "lCl2"]
    for n, pair in enumerate(pairs):
        def predict(q, pair=pair):
            return np.concatenate([first_order((q[0], q[1], cl), subjects[i][0], subjects[i][1][:, 0])
                                   for i, cl in zip(pair, q[2:])])
        y = np.concatenate([subjects[i][1][:, 1] for i in pair])
        check(fits, n, *least_squares_fit(predict, [-2.5, 0.5, -3, -3], y))


def oral(t, ka, k, volume, doses):
    return sum(amount * ka / (volume * (ka - k)) * (np.exp(-k * np.maximum(t - at, 0)) - np.exp(-ka * np.maximum(t - at, 0)))
               for at, amount in doses)


def test_repeated_doses_are_single_ones(tmp):
    """Simulated: a NONMEM-style table with ADDL and II gives what the written-out doses give, and SciPy's optimum."""
    (tmp / "m.ode").write_text(ORAL)
    rng = np.random.default_rng(7)
    t = np.array([0.5, 1, 3, 7, 11.5, 13, 18, 26, 37, 47, 60, 61.5, 70])  # 12-hourly doses until t = 60
    single = [(12 * n, 100) for n in range(6)]
    y = oral(t, 1.4, 0.13, 22, single) + 0.1 * rng.standard_normal(t.size)
    measured = [(1, at, ".", value, 0, ".", ".", ".") for at, value in zip(t, y)]
    infusion = (1, 30, 40, ".", 1, ".", ".", 20)  # two hours
    fits = {}
    for name, doses in (("addl", [(1, 0, 100, ".", 1, 5, 12, ".")]),
                        ("single", [(1, *dose, ".", 1, ".", ".", ".") for dose in single])):
        for more in ((), (infusion,)):
            # A measurement at the time of a dose stands before it in both.
            rows = sorted([*measured, *doses, *more], key=lambda row: (row[1], row[4]))
            write_table(tmp / "n.csv", "ID,TIME,AMT,DV,EVID,ADDL,II,RATE", rows)
            stiffit("import", tmp / "n.csv", "--nonmem", "--model", tmp / "m.ode", "-o", tmp / "p.h5", "--overwrite")
            for engine in ("cvodes", "lanes"):
                fits[name, bool(more), engine] = helpers.run(tmp / "p.h5", f"--engine={engine}", "--overwrite")
    for more in (False, True):
        for engine in ("cvodes", "lanes"):
            a, b = fits["addl", more, engine], fits["single", more, engine]
            for column in ("parameters", "objective", "standard_error"):
                np.testing.assert_array_equal(a[column], b[column])
    optimum, cost, error = least_squares_fit(lambda p: oral(t, *p, single), [1, 0.1, 10], y)
    check(fits["addl", False, "cvodes"], 0, optimum, cost, error)


def test_both_sides_of_a_dose(tmp):
    """Measurements say by `side` which one they mean; simulate gives both at the dose's very time, and one elsewhere."""
    (tmp / "m.ode").write_text("parameter k = 0.1, V = 10 scale log\nA(0) = 0\nA' = -k*A\nobserve c = A/V\n")
    k, volume = 0.07, 8.0
    dose = [(0, 100), (12, 50)]

    def exact(at, after):
        return sum(amount / volume * np.exp(-k * (at - when)) for when, amount in dose if at > when or (after and at == when))
    rows = [(at, side) for at, side in ((0, -1), (0, 0), (0, 1), (4, 0), (12, -1), (12, 0), (12, 1), (20, 0))]
    write_table(tmp / "m.csv", "dataset,time,value,side", [("a", at, exact(at, side > 0), side) for at, side in rows])
    write_table(tmp / "d.csv", "dataset,time,amount", [("a", *row) for row in dose])
    stiffit("import", tmp / "m.csv", "--doses", tmp / "d.csv", "--model", tmp / "m.ode", "-o", tmp / "p.h5")
    for engine in ("cvodes", "lanes"):
        fits = helpers.run(tmp / "p.h5", f"--engine={engine}", "--overwrite")
        np.testing.assert_allclose(fits["parameters"][0], [k, volume], rtol=1e-6)
        result = helpers.result_path(tmp / "p.h5")
        stiffit("export", result, "--what", "predictions", "-o", tmp / "s.csv", "--overwrite")
        found = [float(row["prediction"]) for row in table(tmp / "s.csv")]
        np.testing.assert_allclose(found, [exact(at, side > 0) for at, side in rows], rtol=1e-5, atol=1e-9)
        stiffit("simulate", result, "--times", "0,11.999999,12,12.000001,13", "-o", tmp / "s.csv", "--overwrite")
        curve = table(tmp / "s.csv")
        wanted = [(0, "before"), (0, "after"), (11.999999, ""), (12, "before"), (12, "after"), (12.000001, ""), (13, "")]
        assert [(float(row["time"]), row["side"]) for row in curve] == wanted, curve
        np.testing.assert_allclose([float(row["value"]) for row in curve],
                                   [exact(at, side == "after") for at, side in wanted], rtol=1e-5, atol=1e-9)


if __name__ == "__main__":
    helpers.main()
