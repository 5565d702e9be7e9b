#!/usr/bin/env python3
"""Fits over several experiments: their optimum against SciPy's, their bits, and every command that lists or simulates them.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import functools

import h5py
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import helpers

MODEL = """model saturated "an enzyme's substrate and product"
parameter V = 1 in [0.01, 100] scale log
parameter K = 2 in [0.01, 100] scale log
parameter kd = 0.5 in [0.001, 100] scale log
parameter back = 0.1 in [0, 10]
covariate S0
S(0) = S0
P(0) = 0
rate = V*S/(K + S) - back*P
S' = -rate
P' = rate - kd*P
observe s = S
observe p = P
"""
# The fit's parameters are K, V1, V2 and slow. The first experiment has V = V1 and back = 0; the second has V = V2 and
# back = kd = slow; in the first, kd = slow too.
NAMES = ["K", "V1", "V2", "slow"]
TRUTH = np.array([1.5, 2.0, 0.8, 0.3])
START = np.array([1.0, 1.0, 1.0, 1.0])
IDS = ["high", "low"]
S0 = [10.0, 3.0]
TIMES = [np.array([0.5, 1, 2, 4, 6, 8.0]), np.array([0.0, 1, 3, 3, 5, 9.0, 12.0])]  # a dose comes at t = 3
DOSE = (3.0, 4.0)
SIGMA = 0.05
N = 3


def model_parameters(q):
    """V, K, kd, back of each experiment."""
    K, V1, V2, slow = q
    return [(V1, K, slow, 0.0), (V2, K, slow, slow)]


@functools.lru_cache(maxsize=None)
def predicted(q, dosed):
    """S and P at the experiments' times, one after the other; measurements at the dose's time come before it."""
    found = []
    for (V, K, kd, back), s0, times, is_dosed in zip(model_parameters(q), S0, TIMES, (False, dosed)):
        def rhs(_, y, V=V, K=K, kd=kd, back=back):
            rate = V*y[0]/(K + y[0]) - back*y[1]
            return [-rate, rate - kd*y[1]]
        y, t0, rows = np.array([s0, 0.0]), 0.0, []
        ends = [DOSE[0], np.inf] if is_dosed else [np.inf]
        for end in ends:
            wanted = times[(times <= end) & ((times > t0) | (t0 == 0))]
            stop = end if np.isfinite(end) else times[-1]
            y_at = solve_ivp(rhs, (t0, stop), y, method="LSODA", rtol=1e-11, atol=1e-13, dense_output=True)
            rows += [y_at.sol(t) for t in wanted]
            y, t0 = y_at.y[:, -1] + [DOSE[1], 0], end
        found.append(np.array(rows))
    return found


def flat(q, dosed):
    return np.concatenate([rows.ravel() for rows in predicted(tuple(q), dosed)])


def values(i, dosed):
    """Of dataset i: time by time, s and p."""
    rng = np.random.default_rng(100 + i)
    exact = flat(TRUTH * np.exp(0.2 * rng.standard_normal(4)), dosed)
    return exact + SIGMA * rng.standard_normal(exact.size)


def write(path, *, n=N, dosed=True, sigma=SIGMA, model=MODEL, shuffle=False):
    """n datasets of both experiments; those with an odd number have a third one, without measurements."""
    def text(group, name, words):
        group.create_dataset(name, data=list(words), dtype=h5py.string_dtype())
    with h5py.File(path, "w") as f:
        f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
        f["model/source"] = model
        text(f.create_group("parameters"), "name", NAMES)
        f["parameters/start"] = START
        f["parameters/lower"], f["parameters/upper"] = np.full(4, 1e-3), np.full(4, 1e3)
        text(f["parameters"], "scale", ["log"] * 4)
        text(f.create_group("datasets"), "id", [f"d{i}" for i in range(n)])
        owner = [i for i in range(n) for _ in range(2 + i % 2)]
        name = [which for i in range(n) for which in [*IDS, "empty"][:2 + i % 2]]
        f["experiments/dataset"] = owner
        text(f["experiments"], "id", name)
        text(f["experiments"], "covariate_names", ["S0"])
        f["experiments/covariates"] = [[dict(zip(IDS, S0)).get(which, 1.0)] for which in name]
        rows = []
        for e, (i, which) in enumerate(zip(owner, name)):
            if which != "empty":
                k = IDS.index(which)
                first = 0 if k == 0 else 2 * TIMES[0].size
                own = [(e, t, o, values(i, dosed)[first + 2 * j + o]) for j, t in enumerate(TIMES[k]) for o in range(2)]
                rows += own[::-1] if shuffle else own
        experiment, time, observable, value = map(np.array, zip(*rows))
        f["measurements/experiment"], f["measurements/time"], f["measurements/value"] = experiment, time, value
        f["measurements/observable"] = observable
        text(f["measurements"], "observable_names", ["s", "p"])
        if sigma:
            f["measurements/sigma"] = np.full(len(rows), sigma)
        swaps = []
        for e, which in enumerate(name):
            kd, slow, V, back = 0, 3, 1, 2
            if which == "high":
                swaps += [(e, V, 1, 0.0), (e, kd, slow, 0.0), (e, back, -1, 0.0)]
            else:
                swaps += [(e, V, 2, 0.0), (e, kd, slow, 0.0), (e, back, slow, 0.0)]
        experiment, parameter, by, number = zip(*swaps)
        f["substitutes/experiment"], f["substitutes/parameter"], f["substitutes/by"] = experiment, parameter, by
        f["substitutes/value"] = number
        text(f["substitutes"], "parameter_names", ["kd", "V", "back"])
        text(f["substitutes"], "by_names", NAMES)
        if dosed:
            of = [e for e, which in enumerate(name) if which == "low"]
            f["doses/experiment"], f["doses/time"] = of, np.full(len(of), DOSE[0])
            f["doses/amount"] = np.full(len(of), DOSE[1])
            text(f["doses"], "target_names", ["S"])
    return path


def scipy_fit(i, dosed):
    """The optimum, half the sum of squares and the standard errors, on natural parameters."""
    y = values(i, dosed)
    found = least_squares(lambda x: (flat(np.exp(x), dosed) - y) / SIGMA, np.log(TRUTH), jac="3-point", xtol=1e-12, ftol=1e-13)
    q = np.exp(found.x)
    covariance = np.linalg.inv(found.jac.T @ found.jac)
    return q, found.cost, q * np.sqrt(np.diag(covariance))


def check_against_scipy(fits, dosed):
    for i in range(N):
        q, cost, error = scipy_fit(i, dosed)
        assert fits["status"][i] == "converged", fits["status"]
        assert np.all(np.abs(fits["parameters"][i] - q) < 1e-3 * error), (fits["parameters"][i], q, error)
        np.testing.assert_allclose(fits["objective"][i], cost, rtol=1e-5)  # the certificate allows more
        np.testing.assert_allclose(fits["standard_error"][i], error, rtol=1e-3)  # SciPy's derivatives are differences
        assert fits["degrees_of_freedom"][i] == values(i, dosed).size - 4


@helpers.both
def test_optimum_as_scipy_finds_it(tmp):
    """By sensitivities, in both engines, by differences and adjoints; with doses and without, with rows in another order."""
    for dosed, options in helpers.portion(((True, ()), (True, ("--engine=cvodes",)), (True, ("--gradient=differences",)),
                           (False, ()), (False, ("--engine=cvodes",)), (False, ("--gradient=adjoint",)),
                           (False, ("--optimizer=lbfgs", "--engine=cvodes"))), 2):
        problem = write(tmp / "p.h5", dosed=dosed, shuffle=dosed)
        check_against_scipy(helpers.run(problem, *options, "--overwrite"), dosed)


def table(text):
    rows = list(csv.DictReader(text.splitlines()))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def test_predictions_and_residuals(tmp):
    """In the file's order, with the experiment's id; SciPy's at the fitted parameters, and their losses are the objective."""
    problem = write(tmp / "p.h5", shuffle=True)
    fits = helpers.run(problem)
    done = helpers.stiffit("export", helpers.result_path(problem), "--what", "residuals", "--trust")
    rows = table(done.stdout)
    assert list(rows)[:5] == ["dataset", "experiment", "time", "observable", "prediction"], list(rows)
    with h5py.File(problem) as f:
        np.testing.assert_array_equal(rows["value"].astype(float), f["measurements/value"])
        owner = f["experiments/id"].asstr()[()][f["measurements/experiment"]]
        np.testing.assert_array_equal(rows["experiment"], owner)
    for i in range(N):
        mine = rows["dataset"] == f"d{i}"
        np.testing.assert_allclose(rows["loss"][mine].astype(float).sum(), fits["objective"][i], rtol=1e-12)
        for k, found in enumerate(predicted(tuple(fits["parameters"][i]), True)):
            for o, name in enumerate("sp"):
                here = mine & (rows["experiment"] == IDS[k]) & (rows["observable"] == name)
                np.testing.assert_allclose(rows["prediction"][here].astype(float)[np.argsort(
                    rows["time"][here].astype(float), kind="stable")], found[:, o], rtol=1e-5, atol=1e-6)
    head = helpers.stiffit("export", helpers.result_path(problem), "--what", "predictions", "--trust").stdout.split("\n")[0]
    assert head == "dataset,experiment,time,observable,prediction", head


def test_simulate_at_best_fits(tmp):
    problem = write(tmp / "p.h5")
    fits = helpers.run(problem)
    done = helpers.stiffit("simulate", helpers.result_path(problem), "--times", "1,3,6", "--trust")
    rows = table(done.stdout)
    assert list(rows) == ["dataset", "experiment", "time", "side", "observable", "value"]
    assert list(rows["experiment"][:14]) == ["high"] * 6 + ["low"] * 8
    jump = rows["side"] != ""  # at the dose
    assert set(zip(rows["experiment"][jump], rows["time"][jump])) == {("low", "3")}
    before, after = (rows["value"][rows["side"] == side].astype(float) for side in ("before", "after"))
    np.testing.assert_allclose(after - before, [DOSE[1], 0] * N, atol=1e-12)
    found = predicted(tuple(fits["parameters"][1]), True)
    mine = (rows["dataset"] == "d1") & (rows["observable"] == "s")
    for k, name in enumerate(IDS):
        here = mine & (rows["experiment"] == name) & (rows["time"].astype(float) == 1)
        np.testing.assert_allclose(rows["value"][here].astype(float), found[k][TIMES[k] == 1, 0], rtol=1e-5)


def test_replicates_as_a_problem_file(tmp):
    """The dataset and its replicates have the experiments, doses and substitutes; residuals stay in their group."""
    problem = write(tmp / "p.h5", sigma=None)
    # two searches from different starts: at the usual tolerance they end 1e-4 of a standard error apart
    fits = helpers.run(problem, "--ftol", 1e-12)
    replicates = tmp / "b.h5"
    helpers.stiffit("simulate", helpers.result_path(problem), "--id", "d2", "--bootstrap", "3", "--trust", "-o", replicates)
    again = helpers.run(replicates, "--ftol", 1e-12)
    assert list(again["id"]) == ["d2"] + [f"d2/bootstrap-{b}" for b in (1, 2, 3)]
    np.testing.assert_allclose(again["parameters"][0], fits["parameters"][2], rtol=1e-6)
    np.testing.assert_allclose(again["objective"][0], fits["objective"][2], rtol=1e-6)
    assert np.all(again["parameters"][1:] != again["parameters"][0])
    done = helpers.stiffit("export", helpers.result_path(problem), "--what", "residuals", "--trust")
    rows = {name: column[table(done.stdout)["dataset"] == "d2"] for name, column in table(done.stdout).items()}
    with h5py.File(replicates) as f:
        value = f["measurements/value"][()].reshape(4, -1)
        np.testing.assert_array_equal(value[0], rows["value"].astype(float))
        assert f["doses/experiment"][()].tolist() == [1, 3, 5, 7]
        assert f["experiments/id"].asstr()[()].tolist() == IDS * 4
    drawn = value[1:] - rows["prediction"].astype(float)
    for name in IDS:
        for o in "sp":
            here = (rows["experiment"] == name) & (rows["observable"] == o)
            own = rows["residual"][here].astype(float)
            own = np.unique(np.round((own - own.mean()) / np.abs(own - own.mean()).max(), 6))
            scale = np.abs(drawn[:, here]).max() / np.abs(own)  # one factor makes all of them residuals of the group
            assert any(np.isin(np.round(drawn[:, here] / factor, 4), np.round(own, 4)).all() for factor in scale), (name, o)


def test_trace_names_experiments(tmp):
    problem = write(tmp / "p.h5", n=2)
    fits = helpers.run(problem)
    rows = table(helpers.stiffit("run", problem, "--trust", "--only", "d1", "--trace", "-").stdout)
    asked = rows["kind"] != "end"
    assert list(rows)[:4] == ["id", "task", "evaluation", "experiment"]
    assert rows["experiment"][asked].tolist() == IDS * fits["evaluations"][1], rows["experiment"]
    assert int(rows["steps"][asked].astype(int).sum()) == fits["steps"][1]
    assert float(rows["V2"][-1]) == fits["parameters"][1][NAMES.index("V2")]
    assert rows["V1"][0] == rows["V1"][1] == "1"


def test_an_experiment_that_fails_is_named(tmp):
    problem = write(tmp / "p.h5", model=MODEL.replace("S(0) = S0", "S(0) = S0 + log(S0 - 5)"))
    fits = helpers.run(problem, code=1)
    assert set(fits["status"]) == {"model_failed"}
    assert all("experiment low: " in message for message in fits["message"]), fits["message"]


def test_limits_count_evaluations_of_the_objective(tmp):
    problem = write(tmp / "p.h5", n=1)
    fits = helpers.run(problem, "--max-evaluations=3", code=1)
    assert fits["status"][0] == "budget" and fits["evaluations"][0] == 3


def changed(path, index, value):
    """A function that changes numbers of a column; index None: all of it."""
    def change(f):
        column = f[path][()] if index is not None else value
        if index is not None:
            column[index] = value
        if path in f:
            del f[path]
        f[path] = column
    return change


def knots(times, values, experiments=None):
    """Of the input u, in some experiments, or all."""
    def change(f):
        owners = range(f["experiments/dataset"].shape[0]) if experiments is None else experiments
        f["inputs/experiment"] = np.repeat(list(owners), len(times))
        f["inputs/time"], f["inputs/value"] = (np.tile(np.array(column, float), len(owners)) for column in (times, values))
        f["inputs"].create_dataset("input_names", data=["u"], dtype=h5py.string_dtype())
    return change


WITH_INPUT = MODEL.replace("covariate S0", "covariate S0\ninput u linear").replace("- kd*P", "- kd*P*u")
FOR_EVER = MODEL.replace("observe s", "event loop when S < 3: S = 9\nevent again when S > 8: S = 2\nobserve s")


def test_bad_rows(tmp):
    """Names the experiment, the row and what is wrong with it; the other dataset is fitted."""
    for change, model, dataset, words in (
            (changed("doses/time", 0, -1.0), MODEL, 0, 'experiment "low": dose in row 0: time is -1, before t0 = 0'),
            (changed("doses/time", 1, np.nan), MODEL, 1, 'experiment "low": dose in row 1: time is nan'),
            (changed("doses/amount", 1, np.inf), MODEL, 1, 'experiment "low": dose in row 1: amount is inf'),
            (changed("doses/duration", None, [-3.0, 0]), MODEL, 0, 'experiment "low": dose in row 0: duration is -3'),
            (changed("doses/rate", None, [-3.0, 0]), MODEL, 0, 'experiment "low": dose in row 0: rate is -3'),
            (changed("doses/count", None, [3, 1]), MODEL, 0, 'experiment "low": dose in row 0: is repeated 3 times'),
            (changed("substitutes/value", 2, np.nan), MODEL, 0, 'experiment "high": substitute in row 2: the value of back is'),
            (changed("experiments/t0", None, [0, 0, 7.0, 0, 0]), MODEL, 1, 'experiment "high": row 26: time is 0.5, before t0'),
            (changed("experiments/t0", None, [0, np.nan, 0, 0, 0]), MODEL, 0, 'experiment "low": t0 is nan'),
            (changed("measurements/time", 3, np.nan), MODEL, 0, 'experiment "high": row 3: time is NaN'),
            (knots([5, 0], [1, 2]), WITH_INPUT, 0, 'experiment "high": input u in row 1: time is 0, after 5'),
            (knots([0, 0], [1, 2]), WITH_INPUT, 0, 'experiment "high": input u in row 1: time is 0, again 0'),
            (knots([0, 1], [1, np.inf]), WITH_INPUT, 1, 'experiment "high": input u in row 5: value is inf'),
            (knots([0, 1], [1, 1], [0, 2, 3]), WITH_INPUT, 0, 'experiment "low": input u has no value'),
            (lambda f: None, FOR_EVER, 0, "the event loop is executed for ever")):
        problem = write(tmp / "p.h5", n=2, model=model)
        with h5py.File(problem, "a") as f:
            change(f)
        fits = helpers.run(problem, "--overwrite", code=1)
        assert words in fits["message"][dataset], (words, fits["message"])
        everywhere = model != MODEL
        assert everywhere or fits["status"][1 - dataset] == "converged", (words, fits["status"])
    for change, words in (
            (changed("doses/experiment", 1, 99), "/doses/experiment row 1: is 99, but there are 5 experiments"),
            (changed("doses/experiment", None, [3, 1]), '/doses/experiment row 1: is 1 (experiment "low") after 3'),
            (changed("doses/target_names", None, [b"Sx"]), '/doses/target_names: the model saturated has no state "Sx"'),
            (changed("substitutes/parameter", 0, 7), '/substitutes/parameter row 0 (experiment "high"): is 7, but'),
            (changed("substitutes/by", 0, 44), '/substitutes/by row 0 (experiment "high"): is 44, but')):
        problem = write(tmp / "p.h5", n=2)
        with h5py.File(problem, "a") as f:
            change(f)
        done = helpers.stiffit("run", problem, "--trust", "-o", tmp / "other.h5", code=3)
        assert words in done.stderr, done.stderr


if __name__ == "__main__":
    helpers.main()
