"""SBML: each construct in a small model whose solution is known in closed form, imported, built and simulated.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import io
import math
import random

import numpy as np

import helpers as h
from sbml_text import (assign, compartment, event, function, initial, mathml, parameter, rate, reaction, sbml, species)

TIMES = np.array([0.0, 0.25, 0.7, 1.3, 2.1, 3.3])
# The integrator's relative tolerance is 1e-8 a step; its error after some tens of steps stays below a hundred of these.
RTOL = 1e-6


def needs_sbml():
    if "without libSBML" in h.stiffit("import", "nothing.xml", code=(2, 3, 4)).stderr:
        h.skip("built without libSBML")


def import_text(tmp, text, *options, code=0):
    """The finished process and the model text."""
    needs_sbml()
    path = tmp / "m.xml"
    path.write_text(text, encoding="utf-8")
    done = h.stiffit("import", path, "-o", tmp / "m.ode", "--overwrite", *options, code=code)
    return done, (tmp / "m.ode").read_text(encoding="utf-8") if code == 0 else ""


def simulate(tmp, text, names, times=TIMES, settings=(), options=(), warns=True):
    """The values of names of the model text at the times, one array each."""
    _, ode = import_text(tmp, text, *options)
    ode = ode[:ode.index("\nobserve ")]
    ode += "".join(f"\nobserve seen_{name} = {name}" for name in names) + "\n"
    (tmp / "m.ode").write_text(ode, encoding="utf-8")
    done = h.stiffit("simulate", "-q", "--model", tmp / "m.ode", "--times", ",".join(map(repr, map(float, times))),
                     *(word for s in settings for word in ("--set", s)))
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    found = {name: np.array([float(r["value"]) for r in rows  # at an event, what it leaves behind
                             if r["observable"] == f"seen_{name}" and r.get("side") != "before"]) for name in names}
    assert all(len(v) == len(times) for v in found.values()), done.stdout
    return [found[name] for name in names]


def agree(tmp, text, expected, times=TIMES, rtol=RTOL, **keywords):
    """expected: name -> function of time."""
    found = simulate(tmp, text, list(expected), times, **keywords)
    for (name, f), values in zip(expected.items(), found):
        exact = np.array([f(t) for t in times], float)
        assert np.allclose(values, exact, rtol=rtol, atol=1e-9), (
            f"{name}: {values} is not {exact}\n{(tmp / 'm.ode').read_text()}")


def refuse(tmp, text, *words, code=3):
    done, _ = import_text(tmp, text, code=code)
    for word in words:
        assert word in done.stderr, f"{word!r} is not in {done.stderr}"
    return done.stderr


C2 = compartment("c", 2)
K = parameter("k", 0.8)


def test_concentrations_and_amounts(tmp):
    # v is an amount per time: in a volume of 2 the concentration changes half as fast.
    decays = lambda t: 3*math.exp(-0.8*t)
    agree(tmp, sbml(C2, K, species("S", conc=3), species("P", conc=0), reaction("v", "S -> 2 P", "k*S*c")),
          {"S": decays, "P": lambda t: 2*(3 - decays(t)), "v": lambda t: 0.8*decays(t)*2})
    agree(tmp, sbml(C2, K, species("S", amount=6), reaction("v", "S ->", "k*S")),
          {"S": lambda t: 3*math.exp(-0.4*t)})
    agree(tmp, sbml(C2, K, species("S", amount=6, substance=True), reaction("v", "S ->", "k*S")),
          {"S": lambda t: 6*math.exp(-0.8*t)})
    agree(tmp, sbml(C2, K, species("S", conc=3, substance=True), reaction("v", "S ->", "k*S")),
          {"S": lambda t: 6*math.exp(-0.8*t)})
    agree(tmp, sbml(compartment("c", None, dimensions=0), K, species("S", amount=6), reaction("v", "S ->", "k*S")),
          {"S": lambda t: 6*math.exp(-0.8*t)})
    # A size without dimensions counts in Level 3 (libRoadRunner 2.10), and is none in Level 2.
    agree(tmp, sbml(compartment("c", 2, dimensions=0), K, species("S", amount=6), reaction("v", "S ->", "k*S")),
          {"S": lambda t: 3*math.exp(-0.4*t)})
    agree(tmp, sbml(compartment("c", None, None, dimensions=0), K, species("S", amount=6),
                    reaction("v", "S ->", "k*S", level=2), level=2, version=4), {"S": lambda t: 6*math.exp(-0.8*t)})


def test_boundary_and_constant_species(tmp):
    text = sbml(C2, K, species("S", conc=3, boundary=True), species("E", conc=5, constant=True, boundary=True),
                species("P", conc=0), reaction("v", "S + E -> P", "k*S*E"))
    agree(tmp, text, {"S": lambda t: 3, "E": lambda t: 5, "P": lambda t: 0.8*15*t/2})
    # A boundary species may have a rule.
    agree(tmp, sbml(C2, K, species("S", conc=3, boundary=True), species("P", conc=0), rate("S", "-k*S"),
                    reaction("v", "S -> P", "S*c")),
          {"S": lambda t: 3*math.exp(-0.8*t), "P": lambda t: 3*(1 - math.exp(-0.8*t))/0.8})


def test_rules_on_species_in_both_units(tmp):
    agree(tmp, sbml(C2, K, species("S", amount=6, substance=True), species("T", conc=1), rate("S", "-k*S"), rate("T", "k"),
                    species("U", conc=9), assign("U", "S + T")),
          {"S": lambda t: 6*math.exp(-0.8*t), "T": lambda t: 1 + 0.8*t, "U": lambda t: 6*math.exp(-0.8*t) + 1 + 0.8*t})


def test_compartments_that_change(tmp):
    grows = lambda t: 2*math.exp(0.3*t)
    # The amount stays, the concentration falls.
    agree(tmp, sbml(compartment("c", 2, constant=False), parameter("g", 0.3), species("S", conc=3), rate("c", "g*c")),
          {"c": grows, "S": lambda t: 6/grows(t)})
    # A reaction in it: amount' = -k*amount.
    agree(tmp, sbml(compartment("c", 2, constant=False), parameter("g", 0.3), K, species("S", conc=3),
                    species("A", conc=3, substance=True), rate("c", "g*c"), reaction("v", "S -> A", "k*S*c")),
          {"S": lambda t: 6*math.exp(-0.8*t)/grows(t), "A": lambda t: 6 + 6*(1 - math.exp(-0.8*t))})
    # The size is an assignment rule.
    agree(tmp, sbml(compartment("c", None, constant=False), species("S", amount=6), K, assign("c", "2 + time"),
                    reaction("v", "S ->", "k*S*c")),
          {"c": lambda t: 2 + t, "S": lambda t: 6*math.exp(-0.8*t)/(2 + t)})
    # A rate rule is about the concentration whatever the volume does.
    agree(tmp, sbml(compartment("c", 2, constant=False), parameter("g", 0.3), K, species("S", conc=3), rate("c", "g*c"),
                    rate("S", "-k*S")), {"S": lambda t: 3*math.exp(-0.8*t)})
    # An initial concentration refers to the initial size.
    agree(tmp, sbml(compartment("c", 1, constant=False), initial("c", "4*k"), K, species("S", conc=3), rate("c", "k")),
          {"c": lambda t: 3.2 + 0.8*t, "S": lambda t: 3*3.2/(3.2 + 0.8*t)})


def test_an_event_changes_a_volume_and_concentrations(tmp):
    # Amounts stay when the volume doubles; a concentration that the same event sets becomes an amount in the old volume
    # (libRoadRunner 2.10 has the same numbers).
    text = sbml(compartment("c", 2, constant=False), K, species("S", conc=3), species("T", conc=3), species("U", conc=3),
                event("e", "time >= 1", {"c": "2*c", "T": "7"}), event("f", "time >= 2", {"U": "5"}),
                reaction("v", "S ->", "0*k"))
    agree(tmp, text, {"c": lambda t: 2 if t < 1 else 4, "S": lambda t: 3 if t < 1 else 1.5, "T": lambda t: 3 if t < 1 else 3.5,
                      "U": lambda t: 3 if t < 1 else 1.5 if t < 2 else 5})


def test_parameters_with_rules(tmp):
    agree(tmp, sbml(K, parameter("x", 3, False), parameter("y", None, False), parameter("z", 1, False), rate("x", "-k*x"),
                    assign("y", "x + z*time"), rate("z", "2")),
          {"x": lambda t: 3*math.exp(-0.8*t), "y": lambda t: 3*math.exp(-0.8*t) + (1 + 2*t)*t, "z": lambda t: 1 + 2*t})


def test_initial_assignments(tmp):
    # Of each other, of rules, of reactions' rates, and of a constant parameter.
    text = sbml(C2, K, species("S"), species("P"), parameter("q"), parameter("r", None, False), parameter("w"),
                initial("S", "3*k"), initial("P", "r + q"), initial("q", "S/2"), assign("r", "S*k"), initial("w", "v"),
                reaction("v", "S -> P", "k*S*c"))
    s = lambda t: 2.4*math.exp(-0.8*t)
    agree(tmp, text, {"S": s, "q": lambda t: 1.2, "P": lambda t: 2.4*0.8 + 1.2 + 2.4 - s(t), "r": lambda t: s(t)*0.8,
                      "w": lambda t: 0.8*2.4*2})
    # They follow the parameters.
    agree(tmp, text, {"S": lambda t: 1.5*math.exp(-0.5*t), "q": lambda t: 0.75}, settings=["k=0.5"])
    # Time in it is the initial time, in the units of a species' id.
    agree(tmp, sbml(C2, K, parameter("q"), parameter("x", None, False), initial("q", "5 + time"), initial("x", "cos(time)"),
                    rate("x", "q*k"), species("A", substance=True), initial("A", "6")),
          {"q": lambda t: 5, "x": lambda t: 1 + 4*t, "A": lambda t: 6})
    refuse(tmp, sbml(parameter("a"), parameter("b"), initial("a", "b"), initial("b", "a")), "m.xml:")


def test_local_parameters_hide_others(tmp):
    text = sbml(C2, K, species("S", conc=3), species("P", conc=0), reaction("v", "S -> P", "k*S*c", {"k": 0.5}),
                reaction("w", "P ->", "k*P*c", {"k": 0.5}))
    agree(tmp, text, {"S": lambda t: 3*math.exp(-0.5*t), "P": lambda t: 1.5*t*math.exp(-0.5*t), "v_k": lambda t: 0.5})
    agree(tmp, text, {"S": lambda t: 3*math.exp(-0.1*t)}, settings=["v_k=0.1"])


def test_stoichiometries(tmp):
    agree(tmp, sbml(C2, K, species("S", conc=3), species("P", conc=0), reaction("v", "S + S -> 0.5 P + 2.25 P", "k*c")),
          {"S": lambda t: 3 - 1.6*t, "P": lambda t: 2.75*0.8*t})
    # Named, by an initial assignment, a rule, a rate rule, an event.
    text = sbml(C2, K, species("S", conc=3), species("P", conc=0), species("Q", conc=1), species("R", conc=0),
                initial("n", "2*k"), assign("m", "1 + time"), rate("q", "k"), initial("q", "1"),
                reaction("v", "n:S -> m:P + q:Q + 2e:R".replace("2e:R", "e:2 R"), "c"),
                event("ev", "time >= 1", {"e": "4"}))
    agree(tmp, text, {"S": lambda t: 3 - 1.6*t, "P": lambda t: t + t*t/2, "Q": lambda t: 1 + t + 0.4*t*t,
                      "R": lambda t: 2*t if t < 1 else 2 + 4*(t - 1), "n": lambda t: 1.6})
    # In a boundary species, which does not follow it.
    text = sbml(C2, K, species("S", conc=3, boundary=True), species("T", conc=1, boundary=True), species("P", conc=0),
                assign("m", "1 + time"), reaction("v", "m:S + e:2 T -> P", "k*c"), event("ev", "time >= 1", {"e": "m + 3"}))
    agree(tmp, text, {"S": lambda t: 3, "P": lambda t: 0.8*t, "m": lambda t: 1 + t, "e": lambda t: 2 if t < 1 else 5})
    # Level 2's formulas.
    made = reaction("v", "S -> P", "k*c", level=2)
    made = (made[0], made[1].replace('<speciesReference species="P" stoichiometry="1"/>',
                                     '<speciesReference species="P"><stoichiometryMath><math '
                                     f'xmlns="http://www.w3.org/1998/Math/MathML">{mathml("1 + time")}</math>'
                                     "</stoichiometryMath></speciesReference>"))
    agree(tmp, sbml(C2, K, species("S", conc=3), species("P", conc=0), made, level=2, version=4),
          {"S": lambda t: 3 - 0.8*t, "P": lambda t: 0.8*(t + t*t/2)})


def test_conversion_factors(tmp):
    agree(tmp, sbml(C2, K, parameter("f", 10), parameter("g", 3), species("S", conc=3), species("P", conc=0, factor="g"),
                    reaction("v", "S -> P", "k*c"), model=' conversionFactor="f"'),
          {"S": lambda t: 3 - 8*t, "P": lambda t: 2.4*t})


def test_functions(tmp):
    text = sbml(K, parameter("x", 3, False), parameter("time_", 2), function("hill", "S t n", "S**n/(t**n + S**n)"),
                function("twice", "x", "2*x"), function("five", "", "5"), function("is_late", "t", "t > 1"),
                function("both", "a b", "twice(hill(a, b, 2))"), rate("x", "0*k*time_"),
                parameter("y", None, False), assign("y", "both(x, 4) + five()"),
                parameter("z", None, False), assign("z", "piecewise(1, is_late(time), 0)"))
    agree(tmp, text, {"y": lambda t: 2*9/25 + 5, "z": lambda t: float(t > 1)})


MATHEMATICS = {
    "-x**2": lambda t, x: -x**2, "x - (t2 - 1)": lambda t, x: x - (t - 1), "x/(t2*x)/2": lambda t, x: 1/t/2 if t else 1e300,
    "(-x)**3": lambda t, x: -x**3, "2**x**2": lambda t, x: 2**x**2, "(2**x)**2": lambda t, x: 4**x,
    "-x*-2 - -x": lambda t, x: 3*x, "plus()": lambda t, x: 0, "times()": lambda t, x: 1,
    "plus(x, t2, 1)": lambda t, x: x + t + 1, "times(x)": lambda t, x: x, "root(2, x)": lambda t, x: x**0.5,
    "root(x)": lambda t, x: x**0.5, "root(3, x)": lambda t, x: x**(1/3),
    "root(k4, x)": lambda t, x: x**0.25, "root(4, x)": lambda t, x: x**0.25, "log(x)": lambda t, x: math.log10(x),
    "log(2, x)": lambda t, x: math.log2(x), "log(k4, x)": lambda t, x: math.log(x, 4), "ln(x)": lambda t, x: math.log(x),
    "exp(-x)": lambda t, x: math.exp(-x), "abs(t2 - 1)": lambda t, x: abs(t - 1), "floor(x*3)": lambda t, x: math.floor(3*x),
    "ceil(x*3)": lambda t, x: math.ceil(3*x), "factorial(5)": lambda t, x: 120, "factorial(k4)": lambda t, x: 24,
    "sin(x)": lambda t, x: math.sin(x), "cos(x)": lambda t, x: math.cos(x), "tan(x)": lambda t, x: math.tan(x),
    "sec(x)": lambda t, x: 1/math.cos(x), "csc(x)": lambda t, x: 1/math.sin(x), "cot(x)": lambda t, x: 1/math.tan(x),
    "sinh(x)": lambda t, x: math.sinh(x), "cosh(x)": lambda t, x: math.cosh(x), "tanh(x)": lambda t, x: math.tanh(x),
    "sech(x)": lambda t, x: 1/math.cosh(x), "csch(x)": lambda t, x: 1/math.sinh(x), "coth(x)": lambda t, x: 1/math.tanh(x),
    "asin(x/4)": lambda t, x: math.asin(x/4), "acos(x/4)": lambda t, x: math.acos(x/4), "atan(x)": lambda t, x: math.atan(x),
    "arcsec(1 + x)": lambda t, x: math.acos(1/(1 + x)), "arccsc(1 + x)": lambda t, x: math.asin(1/(1 + x)),
    "arccot(x)": lambda t, x: math.atan(1/x), "asinh(x)": lambda t, x: math.asinh(x),
    "acosh(1 + x)": lambda t, x: math.acosh(1 + x),
    "atanh(x/4)": lambda t, x: math.atanh(x/4), "arcsech(x/4)": lambda t, x: math.acosh(4/x),
    "arccsch(x)": lambda t, x: math.asinh(1/x), "arccoth(1 + x)": lambda t, x: math.atanh(1/(1 + x)),
    "piecewise(1, x < 1, 2, x < 2, 3)": lambda t, x: 1 if x < 1 else 2 if x < 2 else 3,
    "piecewise(x, true, 7)": lambda t, x: x, "piecewise(7)": lambda t, x: 7,
    "piecewise(1, 1 < x < 2, 0)": lambda t, x: float(1 < x < 2),
    "piecewise(1, (x > 1 or t2 < 1) and not (x > 2), 0)": lambda t, x: float((x > 1 or t < 1) and not x > 2),
    "piecewise(1, xor(x > 1, t2 > 1, x > 100), 0)": lambda t, x: float((x > 1) != (t > 1)),
    "piecewise(1, implies(x > 1, t2 > 1), 0)": lambda t, x: float(not x > 1 or t > 1),
    "piecewise(1, and_(), 0) + piecewise(1, or_(), 0)": lambda t, x: 1, "piecewise(1, k4 == 4, 0)": lambda t, x: 1,
    "piecewise(1, k4 != 4, 0)": lambda t, x: 0, "min(x, 1, t2)": lambda t, x: min(x, 1, t), "max(x, 1)": lambda t, x: max(x, 1),
    "quotient(-7*k4, 5)": lambda t, x: -5, "rem(-7*k4, 5)": lambda t, x: -3, "rem(x*10, k4)": lambda t, x: math.fmod(10*x, 4),
    "exponentiale*pi": lambda t, x: math.e*math.pi, "avogadro/1e23": lambda t, x: 6.02214179, "1e-3*x": lambda t, x: x*1e-3,
    "rateOf(x)": lambda t, x: -x, "k4 - (x - t2) - x": lambda t, x: 4 - x + t - x, "x*(t2/k4)": lambda t, x: x*t/4,
    "1/infinity": lambda t, x: 0, "piecewise(notanumber, x > 100, 1)": lambda t, x: 1,
}


def test_mathematics(tmp):
    names = {f"f{i}": formula for i, formula in enumerate(MATHEMATICS)}
    text = sbml(parameter("k4", 4), parameter("x", 2.5, False), parameter("t2", None, False), rate("x", "-x"),
                assign("t2", "time"), *(parameter(name, None, False) for name in names),
                *(assign(name, f) for name, f in names.items()))
    times = TIMES[1:]  # where x is no whole number
    found = simulate(tmp, text, list(names), times)
    for (name, formula), values in zip(names.items(), found, strict=True):
        exact = [MATHEMATICS[formula](t, 2.5*math.exp(-t)) for t in times]
        assert np.allclose(values, exact, rtol=RTOL, atol=1e-9), (formula, values, exact)


def test_numbers(tmp):
    text = sbml(*(parameter(f"p{i}", None, False) for i in range(4)), *(assign(f"p{i}", "1") for i in range(4)))
    for number, cn in enumerate(('<cn type="e-notation"> 1.1 <sep/> -5 </cn>', '<cn type="rational"> 1 <sep/> 3 </cn>',
                                 '<cn type="integer"> -7 </cn>', "<cn> 0.1 </cn>")):
        text = text.replace("<cn> 1 </cn>", cn, 1)
    _, ode = import_text(tmp, text)
    for line in ("p0 = 1.1e-05", "p1 = 0.3333333333333333", "p2 = -7", "p3 = 0.1"):
        assert line in ode or line.replace("e-05", "e-5") in ode, ode


def test_numbers_that_are_not_finite(tmp):
    """INF, -INF and NaN, as values and in formulas, are what `simulate` prints; nothing else is changed."""
    names = {"p": math.inf, "q": -math.inf, "r": math.nan, "a": math.inf, "b": 1.0, "late": math.nan}
    text = sbml(parameter("p", "INF"), parameter("q", "-INF"), parameter("r", "NaN"), parameter("a", None, False),
                parameter("b", None, False), parameter("late", None, False), assign("a", "1/exp(q)"),
                assign("b", "piecewise(1, time < infinity, 2) + 1/p"), assign("late", "p + q"))
    for name, values in zip(names, simulate(tmp, text, list(names))):
        assert np.array_equal(values, np.full(len(TIMES), names[name]), equal_nan=True), (name, values)
    assert "parameter `r`: its value is NaN and stays so" in import_text(tmp, text)[0].stderr
    # Values that pass through infinity; a parameter is asked for in spite of it.
    agree(tmp, sbml(K, parameter("x", -1, False), parameter("y", None, False), rate("x", "1"), assign("y", "1/abs(time - 1)")),
          {"y": lambda t: 1/abs(t - 1) if t != 1 else math.inf}, times=[0, 0.5, 1, 2])
    assert "parameter r = 1\n" in import_text(tmp, text, "--estimate=r")[1]


def test_rate_of(tmp):
    # Of a concentration where the volume grows: (amount' - S c')/c.
    text = sbml(compartment("c", 2, constant=False), parameter("g", 0.3), K, species("S", conc=3), rate("c", "g*c"),
                reaction("v", "S ->", "k*S*c"), parameter("d", None, False), assign("d", "rateOf(S)"),
                parameter("d0"), initial("d0", "rateOf(S)"))
    agree(tmp, text, {"S": lambda t: 3*math.exp(-1.1*t), "d": lambda t: -3.3*math.exp(-1.1*t), "d0": lambda t: -3.3})


def test_events(tmp):
    x, y = parameter("x", 0, False), parameter("y", 0, False)
    both = (K, x, y, rate("x", "1"))
    step = lambda at, after, before=0: (lambda t: before if t < at else after)
    cases = {
        "a delay, values from before it": (
            event("e", "x > 0.5", {"y": "x"}, delay="0.5"), step(1, 0.5)),
        "a delay, values from after it": (
            event("e", "x > 0.5", {"y": "x"}, delay="0.5", early=False), step(1, 1)),
        "a trigger that is true at the start does not fire": (event("e", "x < 0.5", {"y": "1"}), step(0, 0)),
        "but does if its initial value is false": (event("e", "x < 0.5", {"y": "1"}, starts=False), step(-1, 1)),
        "a trigger that is always true": (event("e", "true", {"y": "1"}, starts=False), step(-1, 1)),
        "a trigger that is always true and was before": (event("e", "true", {"y": "1"}), step(0, 0)),
        "a trigger of parameters": (event("e", "k > 0.5", {"y": "1"}, starts=False), step(-1, 1)),
        "not persistent": (
            event("e", "x > 0.5 and x < 1", {"y": "1"}, delay="0.6", persistent=False), step(0, 0)),
        "persistent": (event("e", "x > 0.5 and x < 1", {"y": "1"}, delay="0.6"), step(1.1, 1)),
        "equality of time": (event("e", "time == 1", {"y": "1"}), step(1, 1)),
        "xor": (event("e", "xor(x > 1, x > 2)", {"y": "y + 1"}), step(1, 1)),
        "a delay of a state": (event("e", "x >= 1", {"y": "1"}, delay="x/2"), step(1.5, 1)),
        "a choice": (event("e", "piecewise(x > 1, time < 2, x > 3)", {"y": "y + 1"}), lambda t: (t > 1)*1.0 + (t > 3)),
        "a function": (event("e", "late(x, k)", {"y": "y + 1"}), step(0.8, 1)),
    }
    for what, (element, expected) in cases.items():
        try:
            agree(tmp, sbml(*both, element, function("late", "a b", "a > b")), {"y": expected})
        except AssertionError as error:
            raise AssertionError(f"{what}: {error}") from None


def test_events_at_one_time(tmp):
    x, y, z = (parameter(n, 0, False) for n in "xyz")
    # The higher priority first; the other one sees its effect only if it computes its values late.
    def case(early):
        return sbml(K, x, y, z, rate("x", "1"), event("low", "x >= 1", {"z": "y"}, priority="1", early=early),
                    event("high", "x >= 1", {"y": "5"}, priority="k*10"))
    agree(tmp, case(False), {"y": lambda t: 0 if t < 1 else 5, "z": lambda t: 0 if t < 1 else 5})
    agree(tmp, case(True), {"y": lambda t: 0 if t < 1 else 5, "z": lambda t: 0})
    # An event takes back the trigger of another one that is not persistent.
    agree(tmp, sbml(K, x, y, z, rate("x", "1"), event("a", "x >= 1 and y < 1", {"z": "1"}, priority="1", persistent=False),
                    event("b", "x >= 1", {"y": "2"}, priority="2")), {"y": lambda t: 0 if t < 1 else 2, "z": lambda t: 0})
    # Swapped at once; and an event that sets off another one.
    agree(tmp, sbml(K, parameter("a", 1, False), parameter("b", 2, False), x, y, rate("x", "1"),
                    event("swap", "x >= 1", {"a": "b", "b": "a"}), event("next", "a > 1.5", {"y": "9"})),
          {"a": lambda t: 1 if t < 1 else 2, "b": lambda t: 2 if t < 1 else 1, "y": lambda t: 0 if t < 1 else 9})


def test_level_2_events(tmp):
    agree(tmp, sbml(K, parameter("x", 0, False), parameter("y", 0, False), rate("x", "1"),
                    event("e", "x > 0.5", {"y": "x"}, delay="0.5", level=2, early=None), level=2, version=3),
          {"y": lambda t: 0 if t < 1 else 0.5})


def test_level_1(tmp):
    needs_sbml()
    text = """<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="http://www.sbml.org/sbml/level1" level="1" version="2"><model name="old">
<listOfCompartments><compartment name="c" volume="2"/></listOfCompartments>
<listOfSpecies><species name="S" compartment="c" initialAmount="6"/><species name="P" compartment="c" initialAmount="0"/>
</listOfSpecies><listOfParameters><parameter name="k" value="0.8"/></listOfParameters>
<listOfReactions><reaction name="v"><listOfReactants><speciesReference species="S" stoichiometry="1" denominator="2"/>
</listOfReactants><listOfProducts><speciesReference species="P"/></listOfProducts>
<kineticLaw formula="k*pow(S, 1)*c"/></reaction></listOfReactions></model></sbml>
"""
    s = lambda t: 3*math.exp(-0.4*t)
    agree(tmp, text, {"S": s, "P": lambda t: 2*(3 - s(t))})
    # rules may set any parameter, for this Level has no attribute that says which are constant
    ruled = text.replace('<parameter name="k" value="0.8"/>', "".join(
        f'<parameter name="{name}" value="1"/>' for name in ("k", "a", "w", "q"))).replace("</listOfParameters>", (
            '</listOfParameters><listOfRules><parameterRule name="k" formula="0.8*a"/>'
            '<parameterRule name="w" type="rate" formula="-2*w"/><algebraicRule formula="q - 3*w"/></listOfRules>'))
    agree(tmp, ruled, {"S": s, "P": lambda t: 2*(3 - s(t)), "w": lambda t: math.exp(-2*t), "q": lambda t: 3*math.exp(-2*t)})


def test_encoding(tmp):
    """A declaration without an encoding, or none, means UTF-8; another encoding is refused."""
    text = sbml(compartment("c"), species("A", conc=1), parameter("k", 0.5), reaction("r", "A ->", "c*k*A"))
    declaration = text[:text.index("?>") + 2]
    bodies = {}
    for name, head in (("with", declaration), ("without", '<?xml version="1.0"?>'), ("none", "")):
        (tmp / f"{name}.xml").write_text(text.replace(declaration, head).lstrip(), encoding="utf-8")
        bodies[name] = h.stiffit("import", tmp / f"{name}.xml", "-o", "-").stdout.partition("\n")[2]
    assert bodies["with"] == bodies["without"] == bodies["none"] and "A" in bodies["with"]
    (tmp / "latin.xml").write_text(text.replace("UTF-8", "ISO-8859-1"), encoding="latin-1")
    assert "UTF-8" in h.stiffit("import", tmp / "latin.xml", "-o", "-", code=3).stderr


def test_names(tmp):
    # Reserved words, first words of statements, what is made up, and long ones.
    words = "t init scale event input lag rate duration delay log1p erf S_0 S_amount in".split()
    text = sbml(compartment("model", 2, constant=False), species("S", "model", conc=3), species("time_", "model", conc=1),
                *(parameter(w, i, False) for i, w in enumerate(words)), *(rate(w, "1") for w in words),
                rate("model", "init*0"), parameter("l" * 200, 0.5), parameter("l" * 199 + "k", 0.25),
                initial("S", "3"), reaction("v", "S ->", "S*" + "l" * 200 + "*model"), initial("time_", "S"))
    _, ode = import_text(tmp, text)
    assert "t_(0) = 0  # id t\n" in ode and "model_(0) = model__0  # id model\n" in ode, ode
    agree(tmp, text, {"t_": lambda t: t, "input": lambda t: 4 + t, "S_0": lambda t: 11 + t, "S": lambda t: 3*math.exp(-0.5*t)})


def test_the_text_is_for_people(tmp):
    """What the manual promises: names, comments, one statement a line."""
    text = sbml(C2, K, species("S", conc=3), species("P", conc=0), reaction("v", "S -> P", "k*S*c"),
                function("unused", "x", "x")).replace('id="k"', 'id="k" name="rate &#10;of decay"')
    _, ode = import_text(tmp, text)
    expected = """# From m.xml, SBML Level 3 Version 2.
model the_model

parameter k = 0.8  # rate  of decay

constant c = 2

# Rates of reactions
v = k*S*c

# States
S(0) = 3
S' = -v/c
P(0) = 0
P' = v/c

observe S, P
"""
    assert ode == expected, ode


def xml_name(text):
    return "".join(f"&#{ord(c)};" if c in '"&<\n\t' or ord(c) > 126 else c for c in text)


def test_names_of_models(tmp):
    """Labels are not broken where lines are, whatever is in them: x' = -k x."""
    decay = [parameter("k", 0.8), parameter("x", 2, False), rate("x", "-k*x")]
    word = "A name as authors give them: "
    names = [word*n for n in (1, 3, 4, 5, 30)] + ['say "no" ' * 12, "back\\slash \\n \\ " * 9 + "\\", "one\ntwo\tthree " * 9,
             "# comment; y = 3 " * 9, "M\u00fcller \u2013 \u03b2-\u30e2\u30c7\u30eb " * 9, "\u00fc" * 200, " " * 130 + "x", '"',
             'x' * 109 + ' "' + " y" * 60, "?" * 500]
    for name in names:
        text = sbml(*decay).replace('<model id="the_model"', f'<model id="the_model" name="{xml_name(name)}"')
        if len(name) in (len(word)*5, 900):
            agree(tmp, text, {"x": lambda t: 2*math.exp(-0.8*t)})
        else:
            import_text(tmp, text)
    label = "M\u00fcller: " * 12 + "-"
    _, ode = import_text(tmp, sbml(*decay).replace('id="the_model"', f'id="the_model" name="{xml_name(label)}"'))
    assert f'"{label}"\n' in ode, ode
    (tmp / "a\nb = c.xml").write_text(sbml(*decay))  # the name of the file is in a comment
    h.stiffit("import", tmp / "a\nb = c.xml", "-o", tmp / "n.ode")


LAYOUT = "http://www.sbml.org/sbml/level3/version1/layout/version1"
RENDER = "http://www.sbml.org/sbml/level3/version1/render/version1"
DRAWN = ('<{0}listOfLayouts{1}><{0}layout {0}id="l" stray="1"><{0}dimensions {0}width="4" {0}height="x"/>{2}'
         '<{0}stray/><notes/></{0}layout></{0}listOfLayouts>')


def test_drawings_are_ignored(tmp):
    """Layout and render, with faults, in Levels 2 and 3; annotations and notes that are no XHTML; what is no drawing is not."""
    decay = [parameter("k", 0.8), parameter("x", 2, False), rate("x", "-k*x")]
    spaces = f' xmlns:layout="{LAYOUT}" xmlns:render="{RENDER}"'
    not_required = ' layout:required="false" render:required="false"'
    styled = ('<render:listOfRenderInformation><render:wrong/><wrong><annotation/></wrong><!-- </render:x> -->'
              '</render:listOfRenderInformation>')
    for level, version in ((2, 4), (2, 2), (3, 1), (3, 2)):
        def agrees(root="", inside="", change=lambda text: text):
            text = sbml(*decay, level=level, version=version, root=root).replace("</model>", inside + "</model>")
            agree(tmp, change(text), {"x": lambda t: 2*math.exp(-0.8*t)})
        agrees(spaces + not_required)
        agrees(spaces)
        agrees(spaces + not_required, DRAWN.format("layout:", "", styled))
        agrees(spaces + not_required, 2*DRAWN.format("layout:", "", ""))
        agrees("", DRAWN.format("", f' xmlns="{LAYOUT}"', "<q/>"))
        agrees(spaces.replace('"', "'"), DRAWN.format("layout:", "", ""))
        stray = f'<parameter xmlns:layout="{LAYOUT}" layout:a="b" id="k"'
        agrees("", "", lambda text: text.replace('<parameter id="k"', stray))
        remarks = ('<model id="the_model"><notes><b>no XHTML</b></notes><annotation><x/><listOfLayouts '
                   'xmlns="http://projects.eml.org/bcb/sbml/level2"><layout id="x"><zig/></layout></listOfLayouts>'
                   '</annotation>')
        agrees("", "", lambda text: text.replace('<model id="the_model">', remarks))
        agrees(spaces + not_required, DRAWN.format("layout:", "", ""), lambda text: text.replace("\n", "\r\n"))
        agrees(spaces + not_required, DRAWN.format("layout:", "", ""), lambda text: "\ufeff" + text)
        text = sbml(*decay, level=level, version=version, root=spaces + not_required)
        refuse(tmp, text.replace("</model>", "\n\n<stray/></model>"), "m.xml:", "libSBML:", "stray")
        # Lines of faults are those of the file.
        drawn = text.replace("<listOf", DRAWN.format("layout:", "", "").replace(">", ">\n") + "<listOf", 1)
        line = drawn[:drawn.index("<rateRule")].count("\n") + 1
        refuse(tmp, drawn.replace("<ci> k </ci>", "<ci> kk </ci>"), f"m.xml:{line}", "kk")


def test_wide_functions(tmp):
    """Of any number of arguments, which may be other functions' values: x' = sum of i a_i, with a_i = k for all."""
    x = parameter("x", 1, False)
    for n in (64, 65, 100, 700):
        names = [f"a{i}" for i in range(n)]
        wide = function("wide", " ".join(names), "plus(" + ", ".join(f"{i}*{a}" for i, a in enumerate(names)) + ")")
        outer = function("outer", " ".join(names), "half(wide(" + ", ".join(names) + "))")
        text = sbml(function("half", "a0", "a0/2"), wide, outer, parameter("k", 1e-3), x,
                    rate("x", "outer(" + ", ".join(["k"]*n) + ")"))
        agree(tmp, text, {"x": lambda t: 1 + 0.5e-3*n*(n - 1)/2*t})


def test_faults_of_the_text_are_those_of_the_file(tmp):
    """What model text cannot hold: the message names line and id of the file, and quotes no text that nobody has seen."""
    deep = "a"
    for i in range(2400):
        deep = apply_twice(deep, i)
    text = sbml(parameter("k", 1), parameter("x", 1, False), rate("x", "deep(k)"), ("FunctionDefinitions", deep_function(deep)))
    line = text[:text.index("<functionDefinition")].count("\n") + 1
    done, _ = import_text(tmp, text, code=3)
    assert f"m.xml:{line}: `deep`: brackets and ifs are nested more than 1000 deep" in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 and "^" not in done.stderr, done.stderr
    assert not (tmp / "m.ode").exists()


def apply_twice(inner, i):
    return f"<apply><{('divide', 'power')[i % 2]}/><cn>1</cn>{inner if inner != 'a' else '<ci>a</ci>'}</apply>"


def deep_function(body):
    return ('<functionDefinition id="deep"><math xmlns="http://www.w3.org/1998/Math/MathML"><lambda><bvar><ci>a</ci></bvar>'
            f"{body}</lambda></math></functionDefinition>")


def test_what_is_estimated(tmp):
    text = sbml(C2, K, species("S", conc=3), species("P", conc=1), reaction("v", "S -> P", "k*S*c", {"unused": 1}))
    _, ode = import_text(tmp, text)
    assert "\nparameter k = 0.8\n# nothing uses it: parameter v_unused = 1\n" in ode, ode
    _, ode = import_text(tmp, text, "--estimate", "S", "--estimate", "v.unused", "--estimate", "c")
    assert [line for line in ode.splitlines() if line.startswith("parameter")] == [
        "parameter c = 2", "parameter S_0 = 3", "parameter v_unused = 1"], ode
    assert "S(0) = S_0" in ode and "constant k = 0.8" in ode, ode
    agree(tmp, text, {"S": lambda t: 4*math.exp(-0.8*t)}, settings=["S_0=4", "c=7"], options=["--estimate=S", "--estimate=c"])
    done, _ = import_text(tmp, text, "--estimate", "nothing", code=3)
    assert "no parameter, compartment or species `nothing`" in done.stderr, done.stderr
    # Without constants there is still something to fit.
    _, ode = import_text(tmp, sbml(C2, species("S", conc=3), reaction("v", "S ->", "S")))
    assert "parameter S_0 = 3" in ode, ode


def test_a_network_in_two_compartments_as_scipy_computes_it(tmp):
    """Twelve species in random reactions; SciPy integrates amounts by the definition of SBML (L3V2, section 4.11.7)."""
    from scipy.integrate import solve_ivp
    rng = random.Random(3)
    sizes = {"c": 2.0, "d": 0.4}
    kinds = [(f"S{i}", "cd"[i % 2], i % 3 == 0) for i in range(12)]  # name, compartment, whether the id is an amount
    start = {name: 1 + 0.3*i for i, (name, _, _) in enumerate(kinds)}
    unit = {name: 1.0 if is_amount else sizes[where] for name, where, is_amount in kinds}
    elements, laws = [compartment(c, size) for c, size in sizes.items()], []
    for name, where, is_amount in kinds:
        what = {"amount": start[name]} if is_amount else {"conc": start[name]}
        elements.append(species(name, where, substance=is_amount, **what))
    for j in range(20):
        (a, where, _), (b, _, _), (e, _, _) = rng.sample(kinds, 3)
        n = rng.choice((1, 2, 0.5))
        law = rng.choice((f"{where}*k{j}*{a}", f"k{j}*{a}*{e}/(1 + {e})", f"k{j}*{a}**2/(0.5 + {a})"))
        elements += [parameter(f"k{j}", 0.1 + 0.05*j), reaction(f"v{j}", f"{a} -> {n} {b}", law, more=e)]
        laws.append((compile(law, "law", "eval"), {a: -1, b: n}))
    names = [name for name, _, _ in kinds]
    constants = {f"k{j}": 0.1 + 0.05*j for j in range(20)} | sizes

    def rates(t, amounts):
        values = constants | {name: amount/unit[name] for name, amount in zip(names, amounts)}
        total = dict.fromkeys(names, 0.0)
        for law, change in laws:
            v = eval(law, {}, values)
            for name, n in change.items():
                total[name] += n*v
        return [total[name] for name in names]

    exact = solve_ivp(rates, (0, TIMES[-1]), [start[n]*unit[n] for n in names], "LSODA", TIMES, rtol=1e-10, atol=1e-12).y
    for name, found, amounts in zip(names, simulate(tmp, sbml(*elements), names), exact):
        assert np.allclose(found, amounts/unit[name], rtol=RTOL, atol=1e-9), (name, found, amounts/unit[name])


def test_notes(tmp):
    done, _ = import_text(tmp, sbml(compartment("c", None), K, species("S"), reaction("v", "S ->", "k*S")))
    assert "m.xml:5: compartment `c`: it has no size: 1 is taken" in done.stderr, done.stderr
    assert "species `S`: it has no initial value: 0 is taken" in done.stderr, done.stderr


def test_what_is_refused(tmp):
    x = parameter("x", 1, False)
    refuse(tmp, sbml(C2, K, species("S", conc=1), ("Reactions", reaction("v", "S ->", "k*S", level=2)[1].replace(
        "reversible", 'fast="true" reversible')), level=2, version=4), "reaction `v`: fast reactions")
    refuse(tmp, sbml(K, x, rate("x", "1"), event("e", "x == 2", {"x": "0"})), "event `e`: its trigger tests for equality")
    refuse(tmp, sbml(K, x, assign("k", "1")), "m.xml:9: rule for `k`: this parameter is constant")
    refuse(tmp, sbml(K, x, event("e", "time > 1", {"k": "1"})), "event assignment to `k`: this parameter is constant")
    refuse(tmp, sbml(C2, K, species("S", conc=1, constant=True), reaction("v", "S ->", "k*S")), "`S`: it is constant, but")
    refuse(tmp, sbml(compartment("c", 2, False), K, species("S", conc=1), rate("c", "k"),
                     event("e", "time > 1", {"S": "2"}, delay="1")), "`S`: a concentration is set after a delay")
    refuse(tmp, sbml(K, x, initial("x", "1"), assign("x", "2")), "`x`: both a rule and an initial assignment")
    refuse(tmp, sbml(C2, K, species("S", conc=1), reaction("v", "S ->", "k*S"), rate("S", "1")), "both a rule and reactions")
    refuse(tmp, sbml(C2, K, species("S", conc=1), reaction("v", "n:S ->", "k*S")), "species reference `n`: it has no stoich")
    refuse(tmp, sbml(K, x, assign("x", "nothing + 1")), "m.xml:")
    refuse(tmp, sbml(K, x, assign("x", "f(1)")), "m.xml:")
    comp = ' xmlns:comp="http://www.sbml.org/sbml/level3/version1/comp/version1" comp:required="true"'
    ports = '<comp:listOfPorts><comp:port comp:id="p" comp:idRef="x"/></comp:listOfPorts>'
    text = sbml(K, x, rate("x", "x*k"), root=comp, version=1)
    qual = ' xmlns:qual="http://www.sbml.org/sbml/level3/version1/qual/version1" qual:required="true"'
    refuse(tmp, sbml(C2, K, x, root=qual, version=1).replace("</model>", (
        '<qual:listOfQualitativeSpecies><qual:qualitativeSpecies qual:id="q" qual:compartment="c" qual:constant="false"/>'
        "</qual:listOfQualitativeSpecies></model>")), "package `qual`", "uses this package")
    # Packages without an element, or that are not required, and unknown elements of other namespaces, do not matter.
    agree(tmp, text, {"x": lambda t: math.exp(0.8*t)})
    distrib = ' xmlns:distrib="http://www.sbml.org/sbml/level3/version1/distrib/version1" distrib:required="true"'
    uncertain = ('<distrib:listOfUncertainties><distrib:uncertainty><distrib:uncertParameter distrib:type="mean" '
                 'distrib:value="1"/></distrib:uncertainty></distrib:listOfUncertainties>')
    agree(tmp, sbml(K, x, rate("x", "x*k"), root=distrib, version=1).replace("</model>", uncertain + "</model>"),
          {"x": lambda t: math.exp(0.8*t)})
    agree(tmp, text.replace("</model>", ports + "</model>"), {"x": lambda t: math.exp(0.8*t)})
    text = sbml(K, x, rate("x", "x*k"), version=1, model=' fbc:strict="false"', root=' fbc:required="false" '
                'xmlns:fbc="http://www.sbml.org/sbml/level3/version1/fbc/version2"')
    agree(tmp, text.replace("<listOfP", '<annotation><a xmlns="http://example.org/a"/></annotation><listOfP', 1),
          {"x": lambda t: math.exp(0.8*t)})
    # Flux balances say nothing about times: reactions with laws are as ever, one without is refused.
    for required in ("false", "true"):
        goal = ('<fbc:listOfObjectives fbc:activeObjective="o"><fbc:objective fbc:id="o" fbc:type="maximize"><fbc:listOfFlux'
                'Objectives><fbc:fluxObjective fbc:reaction="v" fbc:coefficient="1"/></fbc:listOfFluxObjectives>'
                "</fbc:objective></fbc:listOfObjectives></model>")
        text = sbml(C2, K, species("S", conc=3), reaction("v", "S ->", "k*S*c"), version=1, model=' fbc:strict="true"',
                    root=f' fbc:required="{required}" xmlns:fbc="http://www.sbml.org/sbml/level3/version1/fbc/version2"')
        text = text.replace("</model>", goal).replace(
            '<reaction id="v"', '<reaction id="v" fast="false" fbc:lowerFluxBound="k"')
        agree(tmp, text, {"S": lambda t: 3*math.exp(-0.8*t)})
        bare = text[:text.index("<kineticLaw")] + text[text.index("</kineticLaw>") + 13:]
        refuse(tmp, bare, "reaction `v`: it has no kinetic law", "fbc")


if __name__ == "__main__":
    h.main()
