"""A state that falls fast to a value far below its size, beside a pole just below zero: elimination by Michaelis and Menten
against production, x' = b - V x/(K + x). A step may pass the pole without a visible error; both engines take it back.
Elimination by Hill's function has no pole where its exponent is even, yet a state that is below zero by an error may fall for
ever; with a broken exponent it has no value there.

SPDX-License-Identifier: BSD-3-Clause
"""
import re

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

import helpers as h

MODEL = """parameter b = 1 in [1e-3, 1e3] scale log10
parameter V = 50 in [1e-3, 1e6] scale log10
parameter K = 1e-5 in [1e-12, 1] scale log10
x(0) = 10
x' = b - V*x/(K + x)
q(0) = 0
q' = V*x/(K + x) - q
observe X = x
observe Q = q
"""
LATE = np.array([2.0, 5.0, 10.0])
B, V, ERROR, CHANGED = 1.0, 100.0, 1e-4, 1 << 22


def product(v):
    """q after x is used up at t1: until then x is eliminated at the rate V, and then at the rate b."""
    t1 = 10 / (v - B)
    return B + (v * (1 - np.exp(-t1)) - B) * np.exp(-(LATE - t1))


def test_rest_value(tmp):
    """At rest x is b K/(V - b): K, V and their standard errors in closed form, as V is known from q alone."""
    (tmp / "m.ode").write_text(MODEL)
    slope = (product(V + 1e-3) - product(V - 1e-3)) / 2e-3
    error_v = ERROR / np.linalg.norm(slope)
    error_k = np.hypot(ERROR / np.sqrt(len(LATE)), error_v / (V - B))
    for n, k in enumerate((1e-3, 1e-5, 1e-7)):
        x = B * k / (V - B)
        rows = [(0, t, 0, x, ERROR * x) for t in LATE] + [(0, t, 1, q, ERROR) for t, q in zip(LATE, product(V))]
        parameters = {"name": ["b", "V", "K"], "fixed": np.array([1, 0, 0], np.uint8), "observables": ["X", "Q"]}
        path = h.write_problem(tmp / f"p{n}.h5", None, ["d0"], rows, parameters=parameters)
        for engine in ("cvodes", "lanes"):
            h.run(path, "--model", tmp / "m.ode", "--engine", engine, "-o", tmp / f"{n}{engine}.h5")
            found = h.read_fits(tmp / f"{n}{engine}.h5")
            what = f"{k} {engine} {found['message'][0]}"
            assert found["status"][0] == "converged" and not found["notes"][0] & CHANGED, what
            # product() leaves out the time in which x is of the order of K, some K log(10/K)/V; integration errors of 1e-7 are
            # 0.001 of the measurements' errors, and some times as much of V's
            v_hat, k_hat = found["parameters"][0][1:]
            np.testing.assert_allclose(v_hat, V, rtol=0, atol=0.01 * error_v + 20 * k, err_msg=what)
            np.testing.assert_allclose(k_hat, x * (v_hat - B) / B, rtol=0.01 * ERROR, err_msg=what)
            np.testing.assert_allclose(found["standard_error"][0][1:], [error_v, error_k * k], rtol=1e-3, err_msg=what)


# P is fed by S, which decays, and is used up at about the rate v; R and Q follow. All states stay non-negative.
USED_UP = {
    "alone": "P' = k*S - v*P/(K + P)",
    "loss": "P' = k*S - v*P/(K + P) - a*P\nQ(0) = 0\nQ' = v*P/(K + P) - b*Q",
    "inflow": "P' = k*S + 0.2*v - v*P/(K + P)",
    "chain": "P' = k*S - v*P/(K + P)\nR(0) = 0\nR' = v*P/(K + P) - 0.5*v*R/(0.1*K + R)\nQ(0) = 0\nQ' = 0.5*v*R/(0.1*K + R)",
    "enzyme": "P' = k*S - v*E*P/(K + P) - a*P\nE(0) = 1\nE' = -b*E",
    "two ways": "P' = k*S - v*P/(K + P) - 0.3*v*P/(0.01*K + P)",
    "source": "P' = k*S - v*P/(K + P)\nR(0) = 1\nR' = b*P - a*v*R/(K + R)",
    "inhibitor": "P' = k*S - v*P/(K*(1 + R/0.1) + P)\nR(0) = 0\nR' = v*P/(K*(1 + R/0.1) + P) - a*v*R/(K + R)",
    "square": "P' = k*S - v*P^2/(K^2 + P^2) - a*P",
    "cube": "P' = k*S - v*P^3/(K^3 + P^3)",
    "fourth": "P' = k*S - v*P^4/(K^4 + P^4)",
    "power": "P' = k*S - v*P^n/(K^n + P^n)",
}
NAMES = ["k", "v", "K", "a", "b", "n"]
USED_TIMES = np.array([0.1, 0.3, 0.7, 1.5, 3.0, 6.0])


def draw(rng):
    return {"k": 10 ** rng.uniform(-0.5, 6), "v": 10 ** rng.uniform(-0.3, 0.8), "K": 10 ** rng.uniform(-8, -2),
            "a": 10 ** rng.uniform(-1, 0.5), "b": 10 ** rng.uniform(-1, 0.5), "n": rng.uniform(1.3, 4)}


def reference(text, p):
    """By LSODA, of the same equations where negative amounts count as none, so that there is no pole."""
    equations = [line.split("=") for line in ["S' = -k*S", *text.split("\n")] if "'" in line]
    states = [left[0] for left, _ in equations]
    begin = {"S": 1, "P": 0} | {m[1]: float(m[2]) for m in re.finditer(r"(\w)\(0\) = (\S+)", text)}
    rates = compile(f"[{','.join(right.replace('^', '**') for _, right in equations)}]", "rates", "eval")
    found = solve_ivp(lambda t, y: eval(rates, {}, p | dict(zip(states, np.maximum(y, 0)))),  # pylint: disable=eval-used
                      (0, USED_TIMES[-1]), [begin[s] for s in states], "LSODA", USED_TIMES, rtol=1e-10, atol=1e-13)
    assert found.success
    return states, found.y


def check_used_up(tmp, kind, n, rtols):
    """n random cases of one kind in both engines: errors of a thousand rtol are some tens of steps' errors, times rates and
    times of up to 20; what has passed a pole is off by 0.1 and more."""
    rng = np.random.default_rng([51, sum(map(ord, kind))])
    drawn = [draw(rng) for _ in range(n)]
    text = USED_UP[kind]
    solved = [reference(text, p) for p in drawn]
    states, right = solved[0][0], np.array([y for _, y in solved])
    (tmp / "m.ode").write_text("".join(f"parameter {q} = 1 in [1e-12, 1e12] scale log\n" for q in NAMES) +
                               f"S(0) = 1\nS' = -k*S\nP(0) = 0\n{text}\n" + "".join(f"observe of_{s} = {s}\n" for s in states))
    rows = [(d, t, o, 0, 1) for d in range(n) for t in USED_TIMES for o in range(len(states))]
    h.write_problem(tmp / "p.h5", None, [f"d{d}" for d in range(n)], rows, parameters={
        "name": NAMES, "start": [[p[q] for q in NAMES] for p in drawn], "fixed": np.zeros(6, np.uint8),
        "observables": [f"of_{s}" for s in states]})
    for engine in ("lanes", "cvodes"):
        for rtol in rtols:
            what = f"{kind}, {engine}, rtol {rtol}"
            h.stiffit("run", tmp / "p.h5", "--model", tmp / "m.ode", "--evaluate", "--engine", engine, "--rtol", rtol,
                      "--restart", "--overwrite", "-j1", "-q", "-o", tmp / "r.h5", code=(0, 1))
            status = h.read_fits(tmp / "r.h5")["status"]
            assert all(status == "evaluated"), f"{what}: {np.flatnonzero(status != 'evaluated')} failed"
            lines = h.stiffit("export", tmp / "r.h5", "--what", "predictions").stdout.splitlines()
            at = [lines[0].split(",").index(name) for name in ("dataset", "time", "observable", "prediction")]
            for line in lines[1:]:
                d, t, o, value = (line.split(",")[i] for i in at)
                d = int(d[1:])
                exact = right[d][states.index(o[3:]), np.argmin(abs(USED_TIMES - float(t)))]
                assert abs(float(value) - exact) <= 1000 * rtol + 1e-6, f"{what}, {drawn[d]}, {o}({t}) = {value}, not {exact}"


STEPS_MOST = 1500


def test_ends(tmp):
    """x' = -k x^a with a < 1 is at zero from a time on, in closed form, where x^a has no slope and, for what errors take below
    zero, no value: fits of k in both engines, with the best k by SciPy; evaluations do not creep on in tiny steps."""
    exponents, t = [0.05, 0.15, 0.5, 0.9, 0.99, 0.997], np.array([0.002, 0.01, 0.05, 0.2, 0.5, 0.8, 1.5, 8.0])
    rng = np.random.default_rng(52)

    def x(k, a):
        return np.maximum(1 - (1 - a) * k * t, 0) ** (1 / (1 - a))

    (tmp / "m.ode").write_text("parameter k = 1 in [1e-3, 1e6] scale log, a = 0.5\nx(0) = 1\nx' = -k*x^a\nobserve x\n")
    truth = [1 / (1 - a) for a in exponents]
    data = [x(k, a) + 0.01 * rng.standard_normal(len(t)) for k, a in zip(truth, exponents)]
    h.write_problem(tmp / "p.h5", None, [f"a{a}" for a in exponents],
                    [(d, time, 0, y, 0.01) for d, ys in enumerate(data) for time, y in zip(t, ys)],
                    parameters={"name": ["k", "a"], "start": [[1.2 * k, a] for k, a in zip(truth, exponents)],
                                "fixed": np.array([0, 1], np.uint8)})
    for engine in ("lanes", "cvodes"):
        h.run(tmp / "p.h5", "--model", tmp / "m.ode", "--engine", engine, "-o", tmp / f"{engine}.h5")
        found = h.read_fits(tmp / f"{engine}.h5")
        assert all(found["status"] == "converged"), found["message"]
        assert all(found["steps"] <= STEPS_MOST * found["evaluations"]), found["steps"] / found["evaluations"]
        for d, (k, a) in enumerate(zip(truth, exponents)):
            best = minimize_scalar(lambda k, d=d, a=a: np.sum((x(k, a) - data[d]) ** 2), bounds=(0.5 * k, 2 * k),
                                   method="bounded", options={"xatol": 1e-10 * k})
            # a thousandth of the standard error of k, which is some percent
            np.testing.assert_allclose(found["parameters"][d][0], best.x, rtol=2e-5, err_msg=f"{engine}, exponent {a}")


def test_growth_from_nothing(tmp):
    """x' = x^0.5 has many solutions from zero, x log x no value there: refused, and not taken for zero."""
    rows = [(0, t, 0, 1, 1) for t in USED_TIMES]
    problem = h.write_problem(tmp / "p.h5", None, ["d0"], rows, parameters={"observables": ["X"]})
    for rate in ("r*sqrt(x)*(1 - x)", "r*x^0.67 - 0.1*x", "-r*x*log(x)"):
        (tmp / "m.ode").write_text(f"parameter r = 1 in [1e-3, 1e3] scale log\nx(0) = 0\nx' = {rate}\nobserve X = x\n")
        for engine in ("lanes", "cvodes"):
            words = ("--model", tmp / "m.ode", "--evaluate", "--engine", engine, "--overwrite")
            h.run(problem, *words, "-o", tmp / "r.h5", code=1)
            found = h.read_fits(tmp / "r.h5")
            assert found["status"][0] == "model_failed" and "not finite at t = 0" in found["message"][0], (rate, engine, found)


TANKS = """parameter c = 1 in [1e-3, 1e3] scale log, d = 0.7 in [1e-3, 1e3] scale log, m = 0.5
a(0) = 1
a' = -c*sqrt(a)
b(0) = 0
b' = c*sqrt(a) - d*b^m
observe A = a, B = b
"""


def tanks(p):
    """Two tanks, one into the other, that run empty: amounts below zero count as none. Small steps, since slopes jump."""
    c, d, m = p

    def slope(_, y):
        a, b = np.maximum(y, 0)
        return [-c * np.sqrt(a), c * np.sqrt(a) - d * b ** m]

    return solve_ivp(slope, (0, USED_TIMES[-1]), [1, 0], "RK45", USED_TIMES, rtol=1e-8, atol=1e-11, max_step=0.01).y.T


def test_tanks(tmp):
    """A state that begins at zero, where its slope has no derivative, and is fed, and states that run empty: the objective and
    its gradient in both engines. Residuals of about 1 show what sensitivities are left of an empty tank."""
    rng = np.random.default_rng(53)
    drawn = [(*np.exp(rng.normal(np.log([1, 0.7]), 0.5)), m) for m in (0.3, 0.5, 0.8) for _ in range(3)]
    (tmp / "m.ode").write_text(TANKS)
    rows = [(i, t, o, 1, 1) for i in range(len(drawn)) for t in USED_TIMES for o in range(2)]
    h.write_problem(tmp / "p.h5", None, [f"d{i}" for i in range(len(drawn))], rows, parameters={
        "name": ["c", "d", "m"], "start": drawn, "fixed": np.array([0, 0, 1], np.uint8), "observables": ["A", "B"]})

    def objective(p):
        return 0.5 * np.sum((tanks(p) - 1) ** 2)

    def derivative(p, j):
        step = 1e-3 * p[j] * np.eye(3)[j]
        return (objective(p + step) - objective(p - step)) / (2e-3 * p[j])

    right = [(objective(p), derivative(np.array(p), 0), derivative(np.array(p), 1)) for p in drawn]
    for engine in ("lanes", "cvodes"):
        h.run(tmp / "p.h5", "--model", tmp / "m.ode", "--evaluate", "--engine", engine, "-o", tmp / f"{engine}.h5")
        found = h.read_fits(tmp / f"{engine}.h5")
        np.testing.assert_allclose(found["objective"], [each[0] for each in right], rtol=1e-5, err_msg=engine)
        # the differences are accurate to some 1e-4: a tank is empty a bit earlier or later
        np.testing.assert_allclose(found["objective_gradient"][:, :2], [each[1:] for each in right], rtol=1e-3, atol=1e-3,
                                   err_msg=engine)


@h.both
def test_used_up(tmp):
    """A substrate that is used up beside another process: K is 1e-8 to 1e-2 of it."""
    kinds = ["alone", "square"] if h.QUICK else list(USED_UP)
    rtols = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10] if h.SLOW else [1e-4, 1e-7]
    for i, kind in enumerate(kinds):
        (tmp / str(i)).mkdir()
        check_used_up(tmp / str(i), kind, 60 if h.SLOW else 8, rtols)


if __name__ == "__main__":
    h.main()
