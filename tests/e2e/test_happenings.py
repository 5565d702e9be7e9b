#!/usr/bin/env python3
"""Two experiments with everything that can happen in one (repeated doses with a lag, a linear input, a steady state before it,
events that the data call, at a time, and on a state), through the commands: import, run, export, show, simulate. The oracle is
SciPy, piece by piece.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import functools
import json

import h5py
import numpy as np
from scipy.integrate import solve_ivp

import helpers

MODEL = """model pk
parameter ka = 1 in [0.01, 100] scale log
parameter k = 0.2 in [0.001, 10] scale log
parameter V = 10 in [0.1, 1000] scale log
parameter tlag = 0.2
covariate kin
input temp linear
depot(0) = 0
central(0) = 0
resp(0) = 1
depot' = -ka*depot
central' = kin + ka*depot - k*(temp/37)*central
resp' = 0.1*(1 + central/V) - 0.1*resp
lag(depot) = tlag
event wash: central = 0.2*central
event cut at 20: depot = 0.5*depot, resp = 1.1*resp
event high when central > 30: resp = 0.9*resp
observe c = central/V sd 0.05
observe r = resp sd 0.05
observe d = depot sd 0.05
"""
NAMES = ["ka", "k", "V"]
TIMES = np.array([.5, 1, 2, 4, 6.5, 9, 12.5, 14, 18, 22, 26])
END = 30.0
EXPERIMENTS = {  # what is added to central, knots, doses, washes
    "oral": (0.0, [(0, 37), (10, 39), (24, 36)], [0, 12], []),
    "rested": (2.0, [(0, 37), (12, 37.5)], [6], [8])}
SIGMA = 0.05


def states(q, experiment, wanted, side=0):
    """At the wanted times; side -1: before what happens at them, otherwise after it."""
    ka, k, V = q
    kin, knots, doses, washes = EXPERIMENTS[experiment]
    y = np.array([0, kin/k, 1 + kin/(k*V)]) if experiment == "rested" else np.array([0, 0, 1.0])
    arrivals = [t + 0.2 for t in doses]

    def rhs(t, y):
        temp = np.interp(t, *zip(*knots))
        return [-ka*y[0], kin + ka*y[0] - k*temp/37*y[1], 0.1*(1 + y[1]/V) - 0.1*y[2]]

    def above(_, y):
        return y[1] - 30
    above.direction, above.terminal = 1, True
    found, t = {}, 0.0
    stops = sorted({20.0, END, *arrivals, *washes, *(u for u, _ in knots if u > 0)})
    found.update({u: y for u in wanted if u == 0})
    while stops:
        # at the threshold SciPy cannot tell from which side it comes
        watch = None if abs(y[1] - 30) < 1e-6 else above
        solved = solve_ivp(rhs, (t, stops[0]), y, method="LSODA", rtol=1e-11, atol=1e-12, dense_output=True, events=watch)
        upto = solved.t[-1]
        found.update({u: solved.sol(u) for u in wanted if t < u <= upto})
        y, t = solved.y[:, -1].copy(), upto
        if solved.status == 1:
            y[2] *= 0.9
            continue
        stops.pop(0)
        y[0] += 100*(t in arrivals)
        y[1] *= 0.2 if t in washes else 1
        if t == 20:
            y = np.array([y[0]/2, y[1], 1.1*y[2]])
        found.update({u: y.copy() for u in wanted if u == t and side >= 0})
    return np.array([found[u] for u in wanted])


def observed(q, y):
    return np.stack([y[:, 1]/q[2], y[:, 2], y[:, 0]], 1)


def truth(i):
    return np.array([0.8, 0.15, 11]) * np.exp(0.1*np.random.default_rng(i).standard_normal(3))


@functools.cache
def values(i, experiment):
    """c and r, time by time."""
    exact = observed(truth(i), states(truth(i), experiment, TIMES))[:, :2]
    noise = np.random.default_rng(1000*i + len(experiment)).standard_normal(exact.shape)
    return exact + SIGMA*noise


def write(tmp, n=2, model=MODEL):
    """Tables, and the problem made of them. A third experiment is the one at whose steady state the second begins."""
    tables = {"m": ["dataset,experiment,time,observable,value"], "e": ["dataset,experiment,kin,steady"],
              "d": ["dataset,experiment,time,amount,target,interval,count"], "i": ["dataset,experiment,time,value"],
              "v": ["dataset,experiment,time,event"]}
    for s in range(n):
        for name in EXPERIMENTS:
            tables["m"] += [f"s{s},{name},{t!r},{o},{v!r}"
                            for t, row in zip(TIMES.tolist(), values(s, name).tolist()) for o, v in zip("cr", row)]
            tables["i"] += [f"s{s},{name},{t},{u}" for t, u in EXPERIMENTS[name][1]]
        tables["i"] += [f"s{s},rest,0,37"]
        tables["e"] += [f"s{s},oral,0,", f"s{s},rest,2,", f"s{s},rested,2,rest"]
        tables["d"] += [f"s{s},oral,0,100,depot,12,2", f"s{s},rested,6,100,depot,,"]
        tables["v"] += [f"s{s},rested,8,wash"]
    for name, lines in tables.items():
        (tmp / f"{name}.csv").write_text("\n".join(lines) + "\n")
    (tmp / "pk.ode").write_text(model)
    return helpers.stiffit("import", "m.csv", "--experiments", "e.csv", "--doses", "d.csv", "--inputs", "i.csv", "--events",
                           "v.csv", "-m", "pk.ode", "--fix", "tlag", "-o", "p.h5", "--overwrite", cwd=tmp)


def rows(text):
    return list(csv.DictReader(text.splitlines()))


def test_a_user_goes_through(tmp):
    said = write(tmp).stderr
    assert "2 datasets, 6 experiments, 4 doses, 12 input values, 2 events, 88 measurements, 4 parameters" in said, said
    shown = helpers.stiffit("show", "p.h5", cwd=tmp).stdout
    for line in ("experiments  6\n", "doses        4\n", "input values 12\n", "events       2\n"):
        assert line in shown, shown
    assert json.loads(helpers.stiffit("show", "p.h5", "--json", cwd=tmp).stdout)["events"] == 2
    fits = helpers.run(tmp / "p.h5", "--keep-bootstrap", "--bootstrap=40", "--profile=k")
    assert all(status == "converged" for status in fits["status"]), fits["message"]
    q, error = fits["parameters"][:, :3], fits["standard_error"][:, :3]

    # the optimum: SciPy's gradient is 0, and its information gives the errors
    for i in range(2):
        def residuals(p):
            return np.concatenate([(observed(p, states(p, e, TIMES))[:, :2] - values(i, e)).ravel()
                                   for e in EXPERIMENTS]) / SIGMA
        J = np.stack([(residuals(q[i]*(1 + h)) - residuals(q[i]*(1 - h))) / (2e-4*q[i][j])
                      for j, h in enumerate(1e-4*np.eye(3))], 1)
        r = residuals(q[i])
        assert np.all(np.abs(J.T @ r * error[i]) < 0.02), J.T @ r * error[i]  # the certificate's part of a standard error
        np.testing.assert_allclose(error[i], np.sqrt(np.diag(np.linalg.inv(J.T @ J))), rtol=1e-3)
        # predictions of up to 100 sigma, good to 1e-6 each
        np.testing.assert_allclose(fits["objective"][i], r @ r/2 + r.size*(np.log(SIGMA) + np.log(2*np.pi)/2), atol=2e-4)
        np.testing.assert_allclose(fits["chi_square"][i], r @ r, atol=4e-4)
        assert fits["degrees_of_freedom"][i] == r.size - 3
    with h5py.File(helpers.result_path(tmp / "p.h5")) as f:
        spread = np.std(f["bootstrap/parameters"][:, :3].reshape(2, -1, 3), axis=1)
        # 40 replicates: the spread's own error is 11 %
        assert np.all(np.abs(spread/error - 1) < 0.5), spread/error
        ends = np.stack([f["fits/profile_lower"][:, 1], f["fits/profile_upper"][:, 1]], 1)
        assert np.all(np.abs((ends - q[:, 1:2]) / (1.96*error[:, 1:2]) - [-1, 1]) < 0.1), ends

    result = "p.result.h5"
    table = rows(helpers.stiffit("export", result, "--what", "residuals", cwd=tmp).stdout)
    assert len(table) == 88 and [row["experiment"] for row in table[::22]] == ["oral", "rested"]*2
    predicted = np.concatenate([observed(q[i], states(q[i], e, TIMES))[:, :2].ravel() for i in range(2) for e in EXPERIMENTS])
    np.testing.assert_allclose([float(row["prediction"]) for row in table], predicted, rtol=1e-5)
    for i in range(2):
        losses = sum(float(row["loss"]) for row in table if row["dataset"] == f"s{i}")
        np.testing.assert_allclose(losses, fits["objective"][i], atol=2e-4)  # integrated without derivatives
    assert "s1: converged" in helpers.stiffit("show", result, "--id", "s1", cwd=tmp).stdout


def test_curves(tmp):
    """Through doses, events of the model and called ones, with both sides of what jumps."""
    write(tmp)
    q = helpers.run(tmp / "p.h5")["parameters"][0][:3]
    wanted = np.array([0, 0.2, 6, 6.2, 7, 8, 12, 12.2, 20, 25])
    at = ",".join(map(str, wanted))
    curve = rows(helpers.stiffit("simulate", "p.result.h5", "--id", "s0", "--times", at, cwd=tmp).stdout)
    for name in EXPERIMENTS:
        both = [observed(q, states(q, name, wanted, side)) for side in (-1, 1)]
        of = [row for row in curve if row["experiment"] == name]
        n_both = 0
        for j, t in enumerate(wanted):
            for k, o in enumerate("crd"):
                found = {row["side"]: float(row["value"]) for row in of if float(row["time"]) == t and row["observable"] == o}
                before, after = both[0][j, k], both[1][j, k]
                if "" in found:
                    assert abs(before - after) < 1e-9 * abs(after) + 1e-12, (name, t, o)
                    found = {"before": found[""], "after": found[""]}
                else:
                    n_both += 1
                assert set(found) == {"before", "after"}, (name, t, o, found)
                np.testing.assert_allclose([found["before"], found["after"]], [before, after], rtol=1e-5, atol=1e-6)
        # what changes at a time is written twice, and with it the others: two doses and the cut, or a dose, a wash and the cut
        assert n_both == 9, (name, n_both)


def test_replicates(tmp):
    """A problem file with all of it, whose first dataset is the given one."""
    write(tmp)
    fits = helpers.run(tmp / "p.h5")
    helpers.stiffit("simulate", "--bootstrap", 4, "p.result.h5", "--id", "s1", "-o", "b.h5", cwd=tmp)
    again = helpers.run(tmp / "b.h5")
    assert again["status"].size == 5 and all(status == "converged" for status in again["status"]), again["message"]
    np.testing.assert_allclose(again["objective"][0], fits["objective"][1], rtol=1e-7)
    error = fits["standard_error"][1][:3]
    assert np.all(np.abs(again["parameters"][0][:3] - fits["parameters"][1][:3]) < 0.02*error)
    away = np.abs(again["parameters"][1:, :3] - fits["parameters"][1][:3]) / error
    assert np.all(away < 5) and np.all(np.max(away, 1) > 0.02), away
    with h5py.File(tmp / "p.h5") as f, h5py.File(tmp / "b.h5") as g:
        for path in ("events/time", "events/event", "doses/time", "doses/amount", "doses/count", "inputs/time", "inputs/value"):
            half = f[path][()][f[path].size//2:]
            np.testing.assert_array_equal(g[path][()], np.tile(half, 5), err_msg=path)
        assert list(g["events/event_names"].asstr()) == ["wash", "cut", "high"]


NEVER = """model never
parameter k = 1
x(0) = 1
x' = k
observe x
"""
SWINGS = NEVER.replace("x(0) = 1\nx' = k", "x(0) = 1\nv(0) = 0\nx' = v\nv' = -k*x")


def test_no_steady_state(tmp):
    """A row that names the experiment and says why: what only grows, what swings for ever, and a time of +inf."""
    for model in (NEVER, SWINGS):
        (tmp / "m.ode").write_text(model)
        (tmp / "m.csv").write_text("dataset,experiment,time,value\na,after,1,1\na,after,2,2\na,plain,1,1\n")
        (tmp / "e.csv").write_text("dataset,experiment,steady\na,after,before\na,before,\na,plain,\n")
        helpers.stiffit("import", "m.csv", "--experiments", "e.csv", "-m", "m.ode", "--overwrite", cwd=tmp)
        fits = helpers.run(tmp / "m.h5", "--overwrite", "--max-steps=3000", code=1)
        assert fits["status"][0] == "ode_failed", fits["status"]
        message = fits["message"][0]
        assert message.startswith("experiment after: no steady state"), message  # it begins at that of `before`
        (tmp / "m.csv").write_text("dataset,experiment,time,value\na,late,inf,1\na,plain,1,1\n")
        helpers.stiffit("import", "m.csv", "-m", "m.ode", "--overwrite", cwd=tmp)
        fits = helpers.run(tmp / "m.h5", "--overwrite", "--max-steps=3000", code=1)
        message = fits["message"][0]
        assert fits["status"][0] == "ode_failed" and "late" in message and "steady state" in message, (fits["status"], message)


def test_doses_end(tmp):
    """4e9 doses: refused if the interval does not change their time; else the evaluation ends, wherever they take effect."""
    text = "parameter k = 0.3 in [0.01, 10]\ny(0) = 1\ny' = -k*y\nobserve y sd 0.05\n"
    (tmp / "plain.ode").write_text(text)
    (tmp / "late.ode").write_text(text + "lag(y) = 3 - t\n")  # all take effect at the time 3
    (tmp / "d.csv").write_text("dataset,time,value\na,0.5,0.9\na,2,0.5\na,4,0.3\n")
    for interval in ("1e-20", "1e-320"):
        for steady in ("0", "1"):
            (tmp / "q.csv").write_text("dataset,time,amount,target,interval,count,steady\n"
                                       f"a,1,1,y,{interval},4000000000,{steady}\n")
            done = helpers.stiffit("import", tmp / "d.csv", "--doses", tmp / "q.csv", "--model", tmp / "plain.ode", "-o",
                                   tmp / "p.h5", code=3)
            assert "q.csv:2: column 'interval': the interval is too small to change a time of 1" in done.stderr, done.stderr
    (tmp / "n.csv").write_text("ID,TIME,DV,AMT,EVID,II,ADDL,CMT\n1,1,.,5,1,1e-20,4000000000,1\n1,2,1,.,0,.,.,1\n")
    done = helpers.stiffit("import", tmp / "n.csv", "--nonmem", "--model", tmp / "plain.ode", "-o", tmp / "p.h5", code=3)
    assert "n.csv:2: column 'II': must be large enough" in done.stderr, done.stderr
    for model, dose, status, word in (
            ("plain", "1,1e-9,y,3e-16,4000000000,0", "ode_failed", "budget of integrator steps"),
            ("plain", "0,0,y,1e-9,4000000000,0", "ode_failed", "budget of integrator steps"),
            ("late", "1,1e-9,y,1e-10,4000000000,0", "model_failed", "more than 100000 doses are given at the time 3"),
            ("plain", "0,1e-9,y,1e-6,4000000000,100", "model_failed", "too many infusions")):
        (tmp / "q.csv").write_text(f"dataset,time,amount,target,interval,count,duration\na,{dose}\n")
        helpers.stiffit("import", tmp / "d.csv", "--doses", tmp / "q.csv", "--model", tmp / f"{model}.ode", "-o", tmp / "p.h5",
                        "--overwrite")
        fits = helpers.run(tmp / "p.h5", "--evaluate", "--restart", "--overwrite", "--max-steps", "25000", code=1, timeout=60)
        assert fits["status"][0] == status and word in fits["message"][0], (dose, fits["status"], fits["message"])


if __name__ == "__main__":
    helpers.main()
