"""When events happen: conditions that hold for less than a step, thresholds reached at measurements, conditions that become
true together, strict and listed times. Closed forms, in both engines, whatever the tolerance and the other times.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import io
import math

import numpy as np

import helpers as h
from sbml_text import event, function, parameter, rate, sbml
from test_sbml import K, import_text

ENGINES, RTOLS = ("lanes", "cvodes"), ("1e-6", "1e-11")
# The values of y change by 1 or more at events, and are constant between them.
TOLERANCE = 1e-6


def fit(tmp, text, grids, engine, rtol, *args, value=0):
    """Runs a problem with a dataset for each list of times; the path of the result."""
    (tmp / "m.ode").write_text(text)
    rows = [(d, t, 0, value if np.isscalar(value) else value(t), 1) for d, times in enumerate(grids) for t in sorted(times)]
    path = h.write_problem(tmp / "p.h5", None, [f"d{d}" for d in range(len(grids))], rows)
    h.stiffit("run", path, "-m", tmp / "m.ode", "-q", "--engine", engine, "--rtol", rtol, "--overwrite", "-o", tmp / "r.h5",
              *args)
    return tmp / "r.h5"


def predictions(tmp, text, grids, engine, rtol):
    """Pairs of a list of times and the values there, of the first evaluation. No parameter moves an event."""
    result = fit(tmp, text, grids, engine, rtol, "--max-evaluations", 1, "--certify", "no", "--accept-failed", "100%")
    found = [[] for _ in grids]
    for row in csv.DictReader(io.StringIO(h.stiffit("export", result, "--what", "predictions", "-m", tmp / "m.ode").stdout)):
        found[int(row["dataset"][1:])].append(float(row["prediction"]))
    return [(sorted(times), values) for times, values in zip(grids, found)]


def check(tmp, text, exact, grids, rtols=RTOLS):
    for engine in ENGINES:
        for rtol in rtols:
            for times, values in predictions(tmp, text, grids, engine, rtol):
                expected = [exact(t) for t in times]
                assert np.allclose(values, expected, rtol=0, atol=TOLERANCE), (engine, rtol, times, values, text)


def around(t):
    """Lists of times with t: the last, the first, one of many."""
    return [[t], [t/2, t], [t, 2*t], [0.9*t, t, 1.1*t], [t*k/7 for k in range(1, 7)] + [t, 1.5*t]]


def with_events(events, states="x(0) = 0; x' = 1"):
    return f"parameter b = 1 in [0.1, 10]\n{states}\ny(0) = 0; y' = 0\n{events}\nobserve y\n"


def test_conditions_that_hold_for_less_than_a_step(tmp):
    """x = t, so that a step may be longer than all; each condition becomes true n times before t = 20."""
    windows = {"x > 4.5 and x < 5.1": 1, "x > 4.5 and x < 4.5001": 1, "not (x < 4.5 or x > 4.51)": 1,
               "abs(x - 4.8) < 0.0003": 1, "(x - 4.83)^2 < 1e-6": 1, "x*x < 23.05 and x*x > 23.04": 1,
               "x*(9.6 - x) > 23.0399": 1,
               "min(x - 4, 4.1 - x) > 0.04": 1, "if x > 4 then x < 4.01 else x < 2 and x > 1.99": 2,
               "cosh(x - 4.83) < 1.0001": 1, "cosh(t - 4.83) < 1.0001": 1, "exp(-(t - 4.83)^2/0.001) > 0.5": 1,
               "exp(-(x - 4.83)^2/0.001) > 0.5": 1, "sin(t) > 0.9999": 3, "sin(x) > 0.9999": 3, "sin(x) > 0.5": 4,
               "x > 4 and not x > 4.1 or x > 7 and x < 7.2": 2, "abs(abs(x - 5) - 2) < 0.01": 2}
    # How often each happens is a digit of y in base 5, all exact.
    events = "\n".join(f"event e{i} when {condition}: y = y + {5**i}*b" for i, condition in enumerate(windows))
    for engine in ENGINES:
        for rtol in RTOLS:
            (_, values), = predictions(tmp, with_events(events), [[20]], engine, rtol)
            digits = [round(values[0])//5**i % 5 for i in range(len(windows))]
            assert digits == list(windows.values()), (engine, rtol, {c: d for c, d in zip(windows, digits) if d != windows[c]})


def test_a_window_alone(tmp):
    """Without other events, whose stops would make the steps short."""
    for condition in ("x > 4.5 and x < 5.1", "cosh(t - 4.83) < 1.1", "cosh(x - 4.83) < 1.0001"):
        check(tmp, with_events(f"event e when {condition}: y = b"), lambda t: 1, [[20], [10, 20]])


@h.both
def test_a_threshold_reached_at_a_measurement(tmp):
    """Events come before the measurements of their time, or after them if they say so."""
    falls = [(f"x(0) = {a!r}; x' = -{s!r}", "0", t) for a, s, t in
             ((6, 2, 3), (1, 0.1, 10), (2.1, 0.7, 3), (1, 1/3, 3), (1e6, 2e5, 5), (1e-9, 1e-10, 10))]
    falls += [(f"x(0) = 1; x' = -{k!r}*x", repr(math.exp(-k*t)), t) for k, t in ((1, 1), (5, 0.7))]
    for i, (states, level, at) in h.portion(enumerate(falls), 2):
        less = ("<", "<=")[i % 2]
        events = f"event e when x {less} {level}: y = y + 10*b\nevent f when x {less} {level} after measurements: y = y + b"
        check(tmp, with_events(events, states), lambda t: 11 if t > at else 10 if t == at else 0, around(at))


@h.more
def test_two_conditions_become_true_together(tmp):
    """The priorities decide, not which root rounding puts first: y is (0 + 1)*2 or 0*2 + 1."""
    for (a, s), (c, u), at in (((0.3, 0.1), (0.9, 0.3), 3), ((1, 0.2), (2.5, 0.5), 5)):
        states = f"x(0) = {a}; x' = -{s!r}; z(0) = {c}; z' = -{u!r}"
        for other in ("z <= 0", f"t >= {at}", f"0.1*t >= {0.1*at!r}"):
            for first in (1, 2):
                events = (f"event double when x <= 0 priority {first}: y = 2*b*y\n"
                          f"event add when {other} priority {3 - first}: y = y + b")
                check(tmp, with_events(events, states), lambda t: 0 if t < at else 3 - first, [[at/2, at], [at, 2*at], [2*at]],
                      RTOLS)


@h.more
def test_after_measurements(tmp):
    """At given times, in the order of what happens, and with derivatives by the times."""
    for timing, at in (("at 1", 1), ("when t > 1", 1), ("at 1 delay 0.5", 1.5), ("when t > 0.5 and x > 0.2 delay 0.5", 1)):
        for after in ("", " after measurements"):
            events = f"event e {timing.replace(' delay', after + ' delay')}: y = y + b" if "delay" in timing else (
                f"event e {timing}{after}: y = y + b")
            check(tmp, with_events(events), lambda t: 1 if t > at or (t == at and not after) else 0, around(at), RTOLS[:1])
    # An event that comes first changes what a later one of that time sees; what it makes false does not happen any more.
    events = ("event now when t >= 1: y = 5*b, x = -1\nevent next when t > 1 after measurements early values: y = y + 2*b\n"
              "event never when x > 1 after measurements: y = 100")
    check(tmp, with_events(events), lambda t: 0 if t < 1 else 5 if t == 1 else 7, [[0.5, 1, 1.5], [1]], RTOLS[:1])
    # At the initial time.
    check(tmp, with_events("event e when t > 0 after measurements: y = b"), lambda t: t > 0, [[0, 1]], RTOLS[:1])
    # The time is a parameter: x = 2e^-t + e^(tau - t) behind it; the data are those of tau = 1.5, b = 2.
    times = [0.4, 0.9, 1.4, 1.7, 2.2, 3]
    x = lambda t: 2*math.exp(-t) + (math.exp(1.5 - t) if t > 1.5 else 0)
    for when in ("when t > tau after measurements", "when t == tau", "when t == tau and x > 0", "when t > tau and x > 0",
                 "when t == tau or t == tau + 50"):
        text = (f"parameter tau = 1.6 in [1.41, 1.69], b = 1.9 in [0.1, 10]\nx(0) = b; x' = -x\nevent e {when}: x = x + 1\n"
                "observe x\n")
        for engine in ENGINES:
            fits = h.read_fits(fit(tmp, text, [times], engine, "1e-10", value=x))
            assert fits["status"][0] == "converged" and fits["gradient"][0] == "forward", (when, fits)
            # The tolerance of the gradient's test leaves 1e-6.
            assert np.allclose(fits["parameters"][0], [1.5, 2], rtol=1e-5), (when, engine, fits["parameters"])


def test_listed_times(tmp):
    """`==` of time is met: y counts."""
    for condition, count in (("t == 1", lambda t: t >= 1), ("t == 1 or t == 2", lambda t: (t >= 1) + (t >= 2)),
                             ("t == 1 and t < 2", lambda t: t >= 1), ("t == 1 and x > 2 or 2*t == 3 or t - 3 == 1",
                                                                      lambda t: (t >= 1.5) + (t >= 4)),
                             ("(t == 1 or t == 2 or t == 3 or t == 4) and x < 3.5", lambda t: sum(t >= k for k in (1, 2, 3))),
                             ("t == 0.3 or t/3 == 0.1", lambda t: t >= 0.3)):
        check(tmp, with_events(f"event e when {condition}: y = y + b"), count, [[0.5, 1, 1.5, 2, 3, 4], [1], [2, 5]], RTOLS[:1])


STRICT = {"time > 1": 1, "1 < time": 1, "not (time <= 1)": 1, "time > 1 and time <= 2": 1, "time > 1 and x > 0": 1,
          "time - 1 > 0": 1, "x > 1": 1, "2 < x or time > 1.5": 1.5, "time > when": 1, "is_late(time)": 1}
LOOSE = {"time >= 1": 1, "not (time < 1)": 1, "time >= 1 and time < 2": 1, "x >= 1": 1, "time == 1 or time == 2": 1,
         "time >= 1 and x > 0.2": 1, "time == 1 and time < 2": 1}


@h.more
def test_strict_triggers_of_sbml(tmp):
    """libRoadRunner 2.10 has these values, too, where time decides: a strict trigger is false at the time itself."""
    for conditions in (STRICT, LOOSE):
        for trigger, at in conditions.items():
            text = sbml(K, parameter("when", 1, False), parameter("x", 0, False), parameter("y", 0, False), rate("x", "1"),
                        function("is_late", "t", "t > 1"), event("e", trigger, {"y": "k/0.8"}))
            _, ode = import_text(tmp, text)
            # A parameter that moves the event to a measurement would leave the evaluation without derivatives.
            ode = ode[:ode.index("\nobserve ")].replace("parameter when", "constant when") + "\nobserve y\n"
            assert ("after measurements" in ode) == (conditions is STRICT), (trigger, ode)
            is_at = conditions is LOOSE
            check(tmp, ode, lambda t: t > at or (t == at and is_at), [[0.5, at, 1.7], [at]], RTOLS[:1])


if __name__ == "__main__":
    h.main()
