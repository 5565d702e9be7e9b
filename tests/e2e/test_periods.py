#!/usr/bin/env python3
"""Substitutes for parts of an experiment, events that the data call, and rows with parameters of their own: against SciPy.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import functools

import h5py
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import helpers

MODEL = """model periods
parameter kin = 1, k1 = 0.5, k2 = 0.3, A_new = 2, cond = 0
parameter gain = 1, offset = 0, noise = 0.1
A(0) = 0
B(0) = A_new/4
v = if cond == 1 then 2*k1 else k1
A' = kin - v*A
B' = v*A - k2*B*B/(1 + B)
event reset: A = A_new
event swap: A = B, B = A + k2
event double: B = 2*B + A
observe b = offset + gain*B sd noise
observe a = A sd 0.05
"""
NAMES = ["kin", "k1", "k1_pre", "k1_late", "k2", "A_new", "A_two", "gain_1", "gain_2", "offset_1", "noise_1"]
TRUTH = np.array([1.2, 0.5, 0.9, 0.2, 0.35, 2.5, 1.4, 1.5, 0.6, 0.3, 0.07])
START = TRUTH * np.exp(0.2 * np.random.default_rng(3).standard_normal(TRUTH.size))
MODEL_NAMES = ["kin", "k1", "k2", "A_new", "cond", "gain", "offset", "noise"]
DEFAULT = dict(zip(MODEL_NAMES, [1, 0.5, 0.3, 2, 0, 1, 0, 0.1]))

# Experiments: where they begin, substitutes (time, parameter, name or number), events (time, name), times.
PRE = {"steady": None, "substitutes": [(None, "k1", "k1_pre")], "events": [], "times": []}
MAIN = {"steady": 0,
        "substitutes": [(3, "k1", "k1_late"), (None, "offset", "offset_1"), (6, "cond", 1.0), (8, "cond", 0.0),
                        (8, "k1", "k1")],
        "events": [(0, "double"), (4, "swap"), (4, "double"), (6, "reset")],
        "times": np.sort(np.r_[0:14:57j, 0, 3, 4, 6])}
OTHER = {"steady": None,
         "substitutes": [(None, "A_new", "A_two"), (2, "A_new", "A_new"), (5, "A_new", 0.5), (5, "k2", "k1_late")],
         "events": [(1, "reset"), (3, "reset"), (7, "reset")],
         "times": np.array([0.2, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 10.0])}
EXPERIMENTS = [PRE, MAIN, OTHER]


def own(i_row, experiment):
    """What a row of observable b has of its own."""
    if experiment is OTHER:
        return []
    gain = [("gain", "gain_1"), ("gain", "gain_2"), None][i_row % 3]
    noise = [("noise", "noise_1"), ("noise", 0.06), ("noise", "noise_1"), None][i_row % 4]
    return [pair for pair in (gain, noise) if pair]


def value_of(q, what):
    return q[NAMES.index(what)] if isinstance(what, str) else what


def parameters(q, experiment, t, before=False):
    p = {**DEFAULT, **{name: q[NAMES.index(name)] for name in MODEL_NAMES if name in NAMES}}
    for time, name, by in sorted(experiment["substitutes"], key=lambda s: -np.inf if s[0] is None else s[0]):
        if time is None or time < t or (time == t and not before):
            p[name] = value_of(q, by)
    return p


def rhs(p):
    def dydt(_, y):
        v = p["k1"] * (2 if p["cond"] == 1 else 1)
        return [p["kin"] - v*y[0], v*y[0] - p["k2"]*y[1]**2/(1 + y[1])]
    return dydt


def happen(p, y, called):
    """All right-hand sides see the state before."""
    (A, B), new = y, list(y)
    for name in called:
        if name == "reset":
            new[0] = p["A_new"]
        elif name == "swap":
            new = [B, A + p["k2"]]
        else:
            new[1] = 2*B + A
    return np.array(new)


def states(q, experiment, end=None):
    """At its times; measurements at the time of an event come after it."""
    p = parameters(q, experiment, 0)
    y = np.array([0, p["A_new"]/4])
    if experiment["steady"] is not None:
        y = states(q, EXPERIMENTS[experiment["steady"]], 400.0)[0]
    times = experiment["times"] if end is None else [end]
    changes = [s[0] for s in experiment["substitutes"] if s[0]]
    stops = sorted({0.0, *(t for t, *_ in experiment["events"]), *changes}) + [max(times)]
    found = {}
    for k, t in enumerate(stops[:-1]):
        p = parameters(q, experiment, t)
        y = happen(p, y, [name for time, name in experiment["events"] if time == t])
        upto = stops[k + 1]
        solved = solve_ivp(rhs(p), (t, upto), y, method="LSODA", rtol=1e-11, atol=1e-13, dense_output=True)
        found.update({u: solved.sol(u) if u > t else y for u in times if t <= u < upto or u == upto == stops[-1]})
        y = solved.y[:, -1]
    return [found[t] for t in times]


def rows(q):
    """Predictions and standard deviations, time by time b and a, of all experiments."""
    predicted, sigma = [], []
    for experiment in EXPERIMENTS:
        for k, (t, (A, B)) in enumerate(zip(experiment["times"], states(q, experiment) if len(experiment["times"]) else [])):
            p = parameters(q, experiment, t)
            p.update({name: value_of(q, by) for name, by in own(k, experiment)})
            predicted += [p["offset"] + p["gain"]*B, A]
            sigma += [p["noise"], 0.05]
    return np.array(predicted), np.array(sigma)


@functools.cache
def data():
    exact, sigma = rows(TRUTH)
    return exact + sigma * np.random.default_rng(7).standard_normal(exact.size)


def objective(q):
    predicted, sigma = rows(q)
    return np.sum(0.5*((predicted - data())/sigma)**2 + np.log(sigma) + 0.5*np.log(2*np.pi))


def jacobian(function, q):
    """Of both parts, by differences of fourth order."""
    columns = []
    for j in range(q.size):
        h = 1e-3 * q[j]
        moved = [np.array(function(q + k*h*(np.arange(q.size) == j))) for k in (-2, -1, 1, 2)]
        columns.append((moved[0] - 8*moved[1] + 8*moved[2] - moved[3]) / (12*h))
    return np.moveaxis(np.array(columns), 0, -1)


def text(group, name, words):
    group.create_dataset(name, data=list(words), dtype=h5py.string_dtype())


def write(path, change=None):
    with h5py.File(path, "w") as f:
        f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
        f["model/source"] = MODEL
        text(f.create_group("parameters"), "name", NAMES)
        f["parameters/start"] = START
        f["parameters/lower"], f["parameters/upper"] = np.full(len(NAMES), 1e-3), np.full(len(NAMES), 1e3)
        text(f["parameters"], "scale", ["log"] * len(NAMES))
        text(f.create_group("datasets"), "id", ["only"])
        f["experiments/dataset"] = [0] * len(EXPERIMENTS)
        text(f["experiments"], "id", ["pre", "main", "other"])
        f["experiments/steady"] = [-1 if e["steady"] is None else e["steady"] for e in EXPERIMENTS]
        f["experiments/t0"] = 0.0
        measured = [(e, t, o) for e, it in enumerate(EXPERIMENTS) for t in it["times"] for o in range(2)]
        for name, column in zip(("experiment", "time", "observable"), zip(*measured)):
            f["measurements/" + name] = column
        f["measurements/value"] = data()
        text(f["measurements"], "observable_names", ["b", "a"])
        calls = [(e, t, name) for e, it in enumerate(EXPERIMENTS) for t, name in it["events"]]
        f["events/experiment"], f["events/time"] = [c[0] for c in calls], [c[1] for c in calls]
        text(f["events"], "event_names", ["reset", "swap", "double"])
        f["events/event"] = [["reset", "swap", "double"].index(c[2]) for c in calls]
        swaps, first = [], 0
        for e, it in enumerate(EXPERIMENTS):
            swaps += [(e, np.nan if t is None else t, -1, name, by) for t, name, by in it["substitutes"]]
            swaps += [(e, np.nan, first + 2*k, name, by) for k in range(len(it["times"])) for name, by in own(k, it)]
            first += 2*len(it["times"])
        names = ["cond", "gain", "k1", "k2", "offset", "noise", "A_new"]
        by_names = NAMES[::-1]
        columns = {"experiment": [s[0] for s in swaps], "time": [float(s[1]) for s in swaps],
                   "measurement": [s[2] for s in swaps], "parameter": [names.index(s[3]) for s in swaps],
                   "by": [by_names.index(s[4]) if isinstance(s[4], str) else -1 for s in swaps],
                   "value": [np.nan if isinstance(s[4], str) else s[4] for s in swaps]}
        for name, column in columns.items():
            f["substitutes/" + name] = column
        text(f["substitutes"], "parameter_names", names)
        text(f["substitutes"], "by_names", by_names)
        if change:
            change(f)
    return path


def test_optimum_and_errors(tmp):
    """At the optimum SciPy's gradient is zero, and derivatives are those of difference quotients."""
    problem = write(tmp / "p.h5")
    fits = helpers.run(problem)
    q, error = fits["parameters"][0], fits["standard_error"][0]
    assert fits["status"][0] == "converged"
    np.testing.assert_allclose(fits["objective"][0], objective(q), rtol=2e-6)
    predicted, sigma = rows(q)
    both = jacobian(lambda x: np.concatenate(rows(x)), q)
    by_prediction, by_sigma = both[:sigma.size] / sigma[:, None], both[sigma.size:] / sigma[:, None]
    residual = (predicted - data()) / sigma
    gradient = by_prediction.T @ residual + by_sigma.T @ (1 - residual**2)
    assert np.all(np.abs(gradient * error) < 5e-3), gradient * error
    # the information that is expected; that of these data differs by the noise in them
    expected = np.sqrt(np.diag(np.linalg.inv(by_prediction.T @ by_prediction + 2 * by_sigma.T @ by_sigma)))
    np.testing.assert_allclose(error, expected, rtol=0.12)
    for options in (("--gradient=differences",), ("--optimizer=lbfgs",)):
        other = helpers.run(problem, *options, "--overwrite")
        assert other["status"][0] == "converged", options
        np.testing.assert_allclose(other["standard_error"][0], error, rtol=2e-3)  # ends differ
        # the integrator's errors change the objective by 3e-5, which is worth 0.008 standard errors
        assert np.all(np.abs(other["parameters"][0] - q) < 8e-3 * error), options


def test_predictions(tmp):
    """In the result's residuals, and along a curve, which has the parameters of periods but not of rows."""
    problem = write(tmp / "p.h5")
    fits = helpers.run(problem)
    q = fits["parameters"][0]
    result = helpers.result_path(problem)
    done = helpers.stiffit("export", result, "--what", "residuals", "--trust")
    table = list(csv.DictReader(done.stdout.splitlines()))
    predicted, sigma = rows(q)
    np.testing.assert_allclose([float(row["prediction"]) for row in table], predicted, rtol=1e-5)
    np.testing.assert_allclose([float(row["sigma"]) for row in table], sigma, rtol=1e-9)
    times = [0.25, 3.75, 4.5, 7.5, 9]
    curve = helpers.stiffit("simulate", result, "--times", ",".join(map(str, times)), "--trust").stdout
    found = [row for row in csv.DictReader(curve.splitlines()) if row["experiment"] == "main"]
    for t, (A, B) in zip(times, states(q, {**MAIN, "times": np.array(times)})):
        p = parameters(q, MAIN, t)
        wanted = {"a": A, "b": p["offset"] + p["gain"]*B}
        for row in found:
            if float(row["time"]) == t:
                np.testing.assert_allclose(float(row["value"]), wanted[row["observable"]], rtol=1e-5)


STATE_JUMP = 1 << 19

WASHED = """model washed
parameter ka = 1, k = 0.3, F = 0.8, tlag = 0.3, left = 0.25
gut(0) = 0
c(0) = 1
gut' = -ka*gut
c' = ka*gut - k*c
lag(gut) = tlag
bioavailability(gut) = F
event wash: c = left*c + 0.01*gut
observe seen = c
"""


def washed(q, times, infusion, k_changes, F_changes):
    """c at these times; an infusion keeps the share with which it began."""
    doses = [(t + q["tlag"], length, amount) for t, length, amount in ((1, 2.5, 3.0), (4, 0.5, 2.0))]
    k = [q["k"], q["k_late"] if k_changes else q["k"]]
    shares = [q["F_late"] if F_changes and t >= 2 else q["F"] for t, *_ in doses]
    ends = [t + length for t, length, _ in doses] if infusion else []
    stops = sorted({0.0, 2.0, 3.0, 5.0, *(t for t, *_ in doses), *ends, times[-1]})
    y, found = np.array([0.0, 1.0]), {}
    for t, upto in zip(stops, stops[1:]):
        if t in (2, 5):
            y = np.array([y[0], q["left"]*y[1] + 0.01*y[0]])
        rate = 0
        for (begin, length, amount), share in zip(doses, shares):
            if infusion and begin <= t < begin + length:
                rate += share*amount/length
            elif not infusion and begin == t:
                y = y + [share*amount, 0]
        solved = solve_ivp(lambda u, y: [rate - q["ka"]*y[0], q["ka"]*y[0] - k[int(t >= 3)]*y[1]], (t, upto), y, method="LSODA",
                           rtol=1e-10, atol=1e-12, dense_output=True)
        found.update({u: solved.sol(u)[1] for u in times if t < u <= upto})
        y = solved.y[:, -1]
    return np.array([1.0 if u == 0 else found[u] for u in times])


def write_washed(path, *, infusion, k_changes, F_changes):
    """A dose at 1, a wash at 2 and 5, and another k from 3 on or another F from 2 on."""
    names = ["ka", "k", "k_late", "F", "F_late", "tlag", "left"]
    used = [name for name in names if (k_changes or name != "k_late") and (F_changes or name != "F_late")]
    times = np.arange(0.05, 12.1, 0.3)
    with h5py.File(path, "w") as f:
        f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
        f["model/source"] = WASHED
        text(f.create_group("parameters"), "name", used)
        f["parameters/start"] = [{"ka": 0.9, "k": 0.4, "k_late": 0.2, "F": 0.7, "F_late": 0.5, "tlag": 0.35, "left": 0.3}[name]
                                 for name in used]
        f["parameters/fixed"] = [name == "tlag" for name in used]
        text(f.create_group("datasets"), "id", [f"d{i}" for i in range(4)])
        f["measurements/dataset"] = np.repeat(np.arange(4), times.size)
        f["measurements/time"] = np.tile(times, 4)
        rng = np.random.default_rng(5)
        q = {"ka": 1.1, "k": 0.3, "k_late": 0.25, "F": 0.8, "F_late": 0.6, "tlag": 0.35, "left": 0.25}
        exact = washed(q, times, infusion, k_changes, F_changes)
        f["measurements/value"] = np.tile(exact, 4) + 0.05*rng.standard_normal(4*times.size)
        f["measurements/sigma"] = np.full(4*times.size, 0.05)
        f["doses/dataset"], f["doses/time"], f["doses/amount"] = np.repeat(np.arange(4), 2), [1, 4] * 4, [3.0, 2.0] * 4
        text(f["doses"], "target_names", ["gut"])
        if infusion:
            f["doses/duration"] = [2.5, 0.5] * 4
        f["events/dataset"], f["events/time"] = np.repeat(np.arange(4), 2), [2, 5] * 4
        text(f["events"], "event_names", ["wash"])
        swaps = [(i, t, n, n + 1) for i in range(4) for t, n, is_there in ((3, 0, k_changes), (2, 2, F_changes)) if is_there]
        if swaps:
            by = ["k", "k_late", "F", "F_late"]
            dataset, time, parameter, other = zip(*swaps)
            f["substitutes/dataset"], f["substitutes/time"] = dataset, np.array(time, float)
            f["substitutes/parameter"] = [p // 2 for p in parameter]
            f["substitutes/by"] = [[name for name in by if name in used].index(by[o]) for o in other]
            text(f["substitutes"], "parameter_names", ["k", "F"])
            text(f["substitutes"], "by_names", [name for name in by if name in used])
    return path


@helpers.more
def test_doses_across_periods(tmp):
    """Events that the data call, doses and infusions, in both engines: derivatives are those of differences. An infusion goes
    on as it began; what is left of its derivatives then is left to differences, with a note."""
    for infusion in (False, True):
        for k_changes, F_changes in ((False, False), (True, False), (False, True)):
            problem = write_washed(tmp / "p.h5", infusion=infusion, k_changes=k_changes, F_changes=F_changes)
            wanted = helpers.run(problem, "--gradient=differences", "--engine=cvodes", "--rtol=1e-10", "--overwrite")
            for engine in ("cvodes", "lanes"):
                fits = helpers.run(problem, f"--engine={engine}", "--rtol=1e-9", "--overwrite")
                case = (infusion, k_changes, F_changes, engine)
                assert all(fits["status"] == "converged"), (case, fits["status"], fits["message"])
                np.testing.assert_allclose(fits["objective"], wanted["objective"], rtol=1e-5, err_msg=str(case))
                np.testing.assert_allclose(fits["standard_error"], wanted["standard_error"], rtol=2e-3, err_msg=str(case))
                assert np.all((fits["notes"] & STATE_JUMP != 0) == (infusion and F_changes)), (case, fits["notes"])
                q = dict(zip(["ka", "k", "k_late", "F", "F_late", "tlag", "left"], [np.nan]*7))
                with h5py.File(problem) as f:
                    q.update(zip(f["parameters/name"].asstr(), fits["parameters"][0]))
                    times, value = f["measurements/time"][:], f["measurements/value"][:]
                n = times.size // 4
                residual = (washed(q, times[:n], infusion, k_changes, F_changes) - value[:n]) / 0.05
                np.testing.assert_allclose(fits["objective"][0], 0.5*np.sum(residual**2), rtol=1e-5, err_msg=str(case))


def put(name, rows, value):
    def change(f):
        f[name][rows] = value
    return change


def replace(name, data):
    def change(f):
        del f[name]
        if name.endswith("_names"):
            text(f[name.rsplit("/", 1)[0]], name.rsplit("/", 1)[1], data)
        else:
            f[name] = data
    return change


def test_bad_data(tmp):
    """A row with its reason."""
    def time_and_row(f):
        f["substitutes/time"][f["substitutes/measurement"][:] >= 0] = 5

    def of_state(f):
        k = np.flatnonzero(f["substitutes/measurement"][:] >= 0)[0]
        f["substitutes/parameter"][k] = 3

    def other_experiment(f):
        k = np.flatnonzero(f["substitutes/measurement"][:] >= 0)[0]
        f["substitutes/measurement"][k] = f["measurements/time"].size - 1

    def twice(f):
        k = np.flatnonzero(f["substitutes/measurement"][:] >= 0)
        f["substitutes/measurement"][k[2]] = f["substitutes/measurement"][k[0]]
        f["substitutes/parameter"][k[2]] = f["substitutes/parameter"][k[0]]
    for change, words in (
            (put("substitutes/time", 1, -1.0), "substitute in row 1: time is -1; it must be finite and after t0 = 0"),
            (put("substitutes/time", 1, 0.0), "substitute in row 1: time is 0; it must be finite and after t0 = 0"),
            (put("substitutes/time", 1, np.inf), "substitute in row 1: time is inf"),
            (put("substitutes/time", 4, 6.0), "cond is substituted twice from the same time on"),
            (put("substitutes/measurement", 7, 10**9), "its measurement belongs to another experiment"),
            (other_experiment, "its measurement belongs to another experiment"),
            (time_and_row, "has a time and a measurement; give one of them"),
            (of_state, "is for one measurement, but states depend on k2"),
            (twice, "is substituted twice for the same measurement"),
            (put("events/time", 0, -1.0), "event in row 0: time is -1, before t0 = 0"),
            (replace("events/time", [np.nan, 4, 4, 6, 1, 3, 7]), "event in row 0: time is nan"),
            (put("events/time", 1, 20.0), "event in row 2: time is 4, after 20; times must not decrease")):
        problem = write(tmp / "bad.h5", change)
        fits = helpers.run(problem, "--overwrite", code=1)
        assert fits["status"][0] == "bad_data", (words, fits["status"])
        assert words in fits["message"][0], (words, fits["message"][0])


def test_bad_files(tmp):
    for change, words in (
            (replace("events/event_names", ["reset", "swop", "double"]),
             '/events/event_names: the model periods has no event "swop"; did you mean "swap"?'),
            (put("events/event", 0, 3), "/events/event"),
            (put("events/experiment", 0, 2), "/events/experiment"),
            (put("substitutes/measurement", 0, -2), "/substitutes/measurement"),
            (replace("substitutes/time", np.zeros((3, 2))), "/substitutes/time"),
            (lambda f: f["events"].move("time", "tiem"), "/events/tiem: unknown name; did you mean /events/time?")):
        problem = write(tmp / "bad.h5", change)
        done = helpers.stiffit("run", problem, code=3)
        assert words in done.stderr, (words, done.stderr)


def test_identity_knows_parts(tmp):
    """Another time, another measurement or another event is another problem."""
    def identity(change):
        helpers.stiffit("run", write(tmp / "p.h5", change), "-o", tmp / "r.h5", "--overwrite", "--max-evaluations=1", code=1)
        with h5py.File(tmp / "r.h5") as f:
            return bytes(np.asarray(f["provenance"].attrs["identity_problem"]).tobytes())
    changes = [None, put("substitutes/time", 1, 3.5), put("events/time", 3, 7.0), put("events/event", 3, 1)]
    assert len({identity(change) for change in changes}) == len(changes)


PLATES = """model plates
parameter k = 0.5, gain = 1, noise = 1
y(0) = 1
y' = -k*y
observe seen = gain*y sd noise
"""


def write_plates(path):
    """Two plates with gains and errors of their own measure the same decay; blanks are at known gain 0."""
    times, value = [0.5, 1, 2, 3, 4.0], []
    rng = np.random.default_rng(1)
    with h5py.File(path, "w") as f:
        f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
        f["model/source"] = PLATES
        text(f.create_group("parameters"), "name", ["k", "gain_1", "gain_2", "noise_1", "noise_2"])
        f["parameters/start"] = np.ones(5)
        f["parameters/lower"], f["parameters/upper"] = np.full(5, 1e-6), np.full(5, 1e6)
        text(f["parameters"], "scale", ["log10"] * 5)
        text(f.create_group("datasets"), "id", [f"d{i}" for i in range(12)])
        rows = []
        for i in range(12):
            rows += [(i, t, plate) for t in times for plate in (0, 1)] + [(i, t, 2) for t in times]
        value = [((2, 5, 0)[plate] * np.exp(-0.3*t) + (0.01, 0.1, 0.05)[plate] * rng.standard_normal()) for _, t, plate in rows]
        f["measurements/dataset"], f["measurements/time"] = [r[0] for r in rows], [r[1] for r in rows]
        f["measurements/value"] = value
        f["substitutes/dataset"] = np.repeat([r[0] for r in rows], 2)
        f["substitutes/measurement"] = np.repeat(np.arange(len(rows)), 2)
        f["substitutes/parameter"] = [0, 1] * len(rows)
        f["substitutes/by"] = np.ravel([[(0, 1, -1)[plate], (2, 3, -1)[plate]] for *_, plate in rows])
        f["substitutes/value"] = np.ravel([[(np.nan, np.nan, 0)[plate], (np.nan, np.nan, 0.05)[plate]] for *_, plate in rows])
        text(f["substitutes"], "parameter_names", ["gain", "noise"])
        text(f["substitutes"], "by_names", ["gain_1", "gain_2", "noise_1", "noise_2"])
    return rows, np.array(value)


def test_rows_in_lanes(tmp):
    """Parameters of rows do not need the integrator to know them: lanes and CVODES agree, and with SciPy; adjoints do not."""
    rows, value = write_plates(tmp / "p.h5")
    fits = {engine: helpers.run(tmp / "p.h5", f"--engine={engine}", "-o", tmp / f"{engine}.h5")
            for engine in ("lanes", "cvodes")}
    _, time, plate = map(np.array, zip(*rows[:15]))
    for i in range(12):
        y = value[15*i:15*(i + 1)]

        def nll(x):
            k, *others = 10**np.array(x)
            predicted = np.array([*others[:2], 0])[plate] * np.exp(-k*time)
            sigma = np.array([*others[2:], 0.05])[plate]
            return np.sum(0.5*((y - predicted)/sigma)**2 + np.log(sigma) + 0.5*np.log(2*np.pi))
        found = minimize(nll, np.log10([0.3, 2, 5, 0.01, 0.1]), method="Nelder-Mead",
                         options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20000, "maxfev": 20000})
        for result in fits.values():
            assert result["status"][i] == "converged"
            np.testing.assert_allclose(result["objective"][i], found.fun, rtol=1e-6)
            np.testing.assert_allclose(result["parameters"][i], 10**found.x, rtol=2e-3)
    refused = helpers.run(tmp / "p.h5", "--gradient=adjoint", "--overwrite", code=1)
    assert "the adjoint method" in refused["message"][0], refused["message"][0]


if __name__ == "__main__":
    helpers.main()
