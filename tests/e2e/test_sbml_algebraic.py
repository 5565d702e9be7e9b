"""SBML's algebraic rules, delays of what is known, and what has no formula: closed forms.

SPDX-License-Identifier: BSD-3-Clause
"""
import math
import random

import numpy as np

import helpers as h
from sbml_text import assign, compartment, event, function, initial, math as mathml, parameter, rate, reaction, sbml, species
from test_sbml import C2, K, agree, import_text, refuse


def zero(formula):
    """An algebraic rule: the formula is 0."""
    return "Rules", f"<algebraicRule>{mathml(formula)}</algebraicRule>"


def free(name, value=None):
    return parameter(name, value, False)


def test_what_a_rule_determines(tmp):
    decays = lambda t: 3*math.exp(-0.8*t)
    # A species that no reaction changes; the conserved total.
    text = sbml(C2, K, parameter("T", 7), species("S", conc=3), species("P", conc=0), species("Q", conc=0),
                reaction("v", "S -> P", "k*S*c"), zero("Q + S - T"))
    agree(tmp, text, {"Q": lambda t: 7 - decays(t)})
    assert "species `Q`: the algebraic rule in line 17 is solved for it" in import_text(tmp, text)[0].stderr
    assert "Q = T - S\n" in import_text(tmp, text)[1]
    agree(tmp, text, {"Q": lambda t: 9 - decays(t)}, settings=["T=9"])
    # A factor, a rule in between, a function, a size, a stoichiometry.
    agree(tmp, sbml(K, free("x"), zero("(k + 1)*x - time")), {"x": lambda t: t/1.8})
    agree(tmp, sbml(K, free("x"), free("y"), assign("y", "2*x + k"), zero("y - time")), {"x": lambda t: (t - 0.8)/2})
    agree(tmp, sbml(K, free("x"), function("f", "a b", "g(b)*a"), function("g", "a", "a + 1"), zero("f(x - 1, k) - time")),
          {"x": lambda t: 1 + t/1.8})
    agree(tmp, sbml(compartment("c", 1, False), K, species("S", amount=6), zero("c - 2 - time")),
          {"S": lambda t: 6/(2 + t)})
    agree(tmp, sbml(C2, K, species("S", conc=0), reaction("v", "-> n:S", "k*c"), zero("n - 1 - time")),
          {"S": lambda t: 0.8*(t + t*t/2)})
    # It determines a rate, implicitly: x (1 + S) = 4 and S' = -x, so that (1 + S)^2 = 16 - 8 t.
    agree(tmp, sbml(parameter("a", 4), free("x"), free("S", 3), zero("x + S*x - a"), rate("S", "-x/4")),
          {"S": lambda t: math.sqrt(16 - 2*t) - 1, "x": lambda t: 4/math.sqrt(16 - 2*t)})
    # What an event changes, and what follows from it; initial values of others.
    agree(tmp, sbml(K, free("x", 100), free("T", 1), parameter("q"), initial("q", "x + 1"), initial("x", "55"),
                    zero("T - 2*x"), event("e", "time >= 1", {"T": "6"})),
          {"x": lambda t: 0.5 if t < 1 else 3, "q": lambda t: 1.5})
    # Of two the one that has no value; the one that is left.
    agree(tmp, sbml(K, free("x"), free("y", 2), zero("x - y - time")), {"x": lambda t: 2 + t, "y": lambda t: 2})
    agree(tmp, sbml(K, free("x", 1), free("y", 2), free("z", 3), zero("x - y - time"), zero("y - k"), zero("z - y + x")),
          {"x": lambda t: 0.8 + t, "y": lambda t: 0.8, "z": lambda t: -t})
    # Two at once.
    agree(tmp, sbml(K, free("x", 1), free("y", 1), zero("x + y - time"), zero("k*x - y - 1")),
          {"x": lambda t: (t + 1)/1.8, "y": lambda t: t - (t + 1)/1.8})


def test_several_together(tmp):
    """Linear rules that determine as many variables; many rules, each of the one after it."""
    matrix = np.array([[4, 1, -2], [1, 3, 1], [-1, 2, 5.0]])
    rows = ["+".join(f"({a})*x{j}" for j, a in enumerate(row)) for row in matrix]
    text = sbml(K, *(free(f"x{i}", 1) for i in range(3)), *(zero(f"{row} - {i + 1}*time - k") for i, row in enumerate(rows)))
    exact = lambda i: (lambda t: np.linalg.solve(matrix, t*np.arange(1, 4) + 0.8)[i])
    agree(tmp, text, {f"x{i}": exact(i) for i in range(3)})
    refuse(tmp, sbml(K, free("x", 1), free("y", 1), zero("x*y - 2"), zero("exp(x) + y - time")), "cannot be solved for `y`")
    n = 300
    chain = sbml(K, *(free(f"x{i}", 1) for i in range(n)), *(zero(f"x{i} - x{i - 1} - k") for i in range(n - 1, 0, -1)),
                 zero("x0 - time"))
    agree(tmp, chain, {f"x{n - 1}": lambda t: t + (n - 1)*0.8})


def test_inverses(tmp):
    """What is not linear, if it is in one place."""
    cases = {  # formula -> (value in the file, solution)
        "exp(2*x) - 1 - time": (None, lambda t: math.log(1 + t)/2), "ln(x) - time": (None, math.exp),
        "log(10, x/2) - time": (None, lambda t: 2*10**t), "log(x) + time": (None, lambda t: 10**-t),
        "2**x - 3 - time": (None, lambda t: math.log2(3 + t)), "root(2, x) - time": (None, lambda t: t*t),
        "root(x + 1) - time": (None, lambda t: t*t - 1), "root(k, x) - time": (None, lambda t: t**0.8),
        "x**2 - 1 - time": (3, lambda t: math.sqrt(1 + t)), "x**(-2) - 1 - time": (-3, lambda t: -1/math.sqrt(1 + t)),
        "x**3 + 1 - time": (None, lambda t: math.copysign(abs(t - 1)**(1/3), t - 1)),
        "x**k - 2": (1, lambda t: 2**1.25), "abs(x) - 2": (-7, lambda t: -2),
        "tanh(x) - 0.1*time": (None, lambda t: math.atanh(t/10)),
        "piecewise(x, time < 1, 2*x + 1) - time": (None, lambda t: t if t < 1 else (t - 1)/2),
        "2*x/(3 + x) - 0.1*time": (None, lambda t: 0.3*t/(2 - 0.1*t)), "1/(1/x + k) - 2": (None, lambda t: 1/(0.5 - 0.8)),
        "(x + 1)/(x + 2) - 3": (None, lambda t: -2.5),
        "4 - sinh(5/(1 - x)) ": (None, lambda t: 1 - 5/math.asinh(4)), "x/k/(1 + time) - 3": (None, lambda t: 2.4*(1 + t)),
        "min(1) - x": (None, lambda t: 1), "3*x**k/(2 + x**k) - 1": (4, lambda t: 1), "x**2/(1 + x**2) - 0.5": (3, lambda t: 1),
        "exp(x) + k*exp(x) - 1 - time": (None, lambda t: math.log((1 + t)/1.8)), "x**(1/2) - time": (None, lambda t: t*t)}
    names = {f"x{i}": formula for i, formula in enumerate(cases)}
    text = sbml(K, *(free(name, cases[f][0]) for name, f in names.items()),
                *(zero(f.replace("exp", "EXP").replace("x", name).replace("EXP", "exp")) for name, f in names.items()))
    agree(tmp, text, {name: cases[f][1] for name, f in names.items()}, times=[0, 0.5, 2, 3])


def test_random_inverses(tmp):
    """f(x) = f(u) with a u that is known: x is u, if f can be inverted, whatever f is."""
    rng = random.Random(5)

    def grow(inner, depth):
        if depth == 0:
            return inner
        number = f"{rng.uniform(0.5, 2):.3f}"
        return grow(rng.choice((
            "{0} + k", "k - {0}", "{0}*{1}", "{0}/k", "k/({0} + 9)", "exp(0.1*({0}))", "({0})**3", "{1}*{0} + {0}*k",
            "({0} + 2)/(9 + {0})", "twice({0}, k)", "piecewise({0}, time < 1, -({0}))", "sinh(0.1*({0}))", "-({0})",
            "k + ({0}) + 1 - 2*({0})")).format(f"({inner})", number), depth - 1)
    formulas = [grow("x", depth) for depth in (1, 2, 3, 4) for _ in range(8)]
    rename = lambda f, name: f.replace("exp", "E_").replace("x", name).replace("E_", "exp")
    names = [f"x{i}" for i in range(len(formulas))]
    text = sbml(K, free("u"), assign("u", "1 + time/4"), function("twice", "a b", "2*a + b"), *(free(name) for name in names),
                *(zero(f"{rename(f, name)} - ({rename(f, 'u')})") for name, f in zip(names, formulas)))
    agree(tmp, text, {name: lambda t: 1 + t/4 for name in names}, rtol=1e-5)


def test_rules_that_cannot_be_solved(tmp):
    x = free("x", 1)
    for formula, why in (("x + exp(x) - time", "it is in several terms that are not alike"),
                         ("x*x - time", "it is in several factors"),
                         ("sin(x) - time", "a function whose inverse has several values"),
                         ("(x - 2)**2 - time", "the file gives no value that tells its sign"),
                         ("piecewise(x, x > 1, 2) - time", "a condition depends on it"), ("x*0 - time", "factor there is 0"),
                         ("max(x, 2) - time", "several values")):
        refuse(tmp, sbml(K, x, zero(formula)), "m.xml:9: algebraic rule: it cannot be solved for `x`: ", why,
               "Write an assignment rule for `x`")
    refuse(tmp, sbml(K, x, free("y", 1), free("z", 2), zero("x + y - z")),
           "m.xml:11: algebraic rule: which of `x`, `y` or `z` it determines is not said: make the others constant")
    # All are determined already: a total of species in reactions.
    refuse(tmp, sbml(C2, K, species("S", conc=1), species("P", conc=0), reaction("v", "S -> P", "k*S"), zero("S + P - 1")),
           "algebraic rule: rules, reactions and events determine all that may change in it")
    refuse(tmp, sbml(K, x, zero("x - 1"), zero("x - 2")), "algebraic rule: rules, reactions and events determine all")
    refuse(tmp, sbml(C2, K, x, species("S", conc=1), reaction("v", "S ->", "x*S"), zero("v - k")), "part of a reaction's rate")
    refuse(tmp, sbml(K, x, free("y", 1), assign("y", "x"), zero("x - y")), "m.xml")
    # Functions of functions that double with each.
    functions = [function("f0", "a", "a")] + [function(f"f{i}", "a", f"f{i - 1}(a) + f{i - 1}(a)") for i in range(1, 60)]
    refuse(tmp, sbml(*functions, x, zero("f59(x) - time")), "too long")


def test_delays_of_what_is_known(tmp):
    """Of constants, and of what follows from time alone; without a delay of anything."""
    step = assign("y", "piecewise(1, time >= 1, 0)*k")
    agree(tmp, sbml(K, free("x", 1), free("y"), free("z"), step, rate("x", "delay(y, 0.5)"), assign("z", "delay(x, 0)")),
          {"x": lambda t: 1 + 0.8*max(0, t - 1.5), "z": lambda t: 1 + 0.8*max(0, t - 1.5)})
    agree(tmp, sbml(K, free("z"), function("f", "a", "a*a"),
                    assign("z", "delay(k, 1) + delay(f(time), k) + delay(time, time/2)")),
          {"z": lambda t: 0.8 + (t - 0.8)**2 + t/2})
    agree(tmp, sbml(C2, K, species("S", conc=0), reaction("v", "-> S", "c*q*delay(delay(time, 1), k)", {"q": 2})),
          {"S": lambda t: t*t - 3.6*t})
    for formula in ("delay(x, 1)", "delay(y, k)", "delay(rateOf(x), 1)", "2*delay(k*x, 1)"):
        refuse(tmp, sbml(K, free("x", 1), free("y"), rate("x", "-x"), assign("y", "2*x"), free("z"), assign("z", formula)),
               "m.xml:13: rule for `z`: the function delay() (values of the past) is supported only of what follows from time",
               "not of `", "chain of reactions")
    refuse(tmp, sbml(K, free("z"), function("f", "a", "delay(a, 1)"), assign("z", "f(time)")), "function `f`", "not of `a`")
    text = sbml(C2, K, species("S", conc=1), free("q"), assign("q", "time"), reaction("v", "S ->", "delay(q, 1)", {"q": 2}))
    refuse(tmp, text, "reaction `v`", "not of `q`")


def test_what_has_no_formula(tmp):
    """It sets nothing (Level 3 Version 2), with a note."""
    x, y = free("x", 2), free("y", 3)
    bare = lambda element: (element[0], element[1][:element[1].index("<math")] + element[1][element[1].index("</math>") + 7:])
    for element, note in ((assign("x", "7"), "a rule of it"), (rate("x", "7"), "a rule of it"), (zero("x"), ""),
                          (initial("x", "7"), "an initial assignment of it")):
        text = sbml(K, x, y, rate("y", "x"), bare(element))
        agree(tmp, text, {"x": lambda t: 2, "y": lambda t: 3 + 2*t})
        if note:
            assert f"parameter `x`: {note} in line " in import_text(tmp, text)[0].stderr
    name, text = event("e", "time >= 1", {"x": "7", "y": "8"})
    head, tail = text.rsplit(mathml("7"), 1)
    agree(tmp, sbml(K, x, y, (name, head + tail)), {"x": lambda t: 2, "y": lambda t: 3 if t < 1 else 8})


def test_equality_inside_functions(tmp):
    """A trigger that calls a function to compare times happens at these times."""
    x = free("x", 0)
    functions = (function("at", "a b", "a == b"), function("either", "a b c", "at(a, b) or at(a, c)"),
                 function("two", "a", "2*a"))
    for trigger, times in (("at(time, 1)", (1,)), ("either(time, 1, 2)", (1, 2)), ("time == two(k)", (1.6,)),
                           ("at(time, two(1)) or time == 3", (2, 3))):
        agree(tmp, sbml(K, x, *functions, event("e", trigger, {"x": "x + 1"})), {"x": lambda t: sum(t >= at for at in times)},
              times=[0, 0.5, 1, 1.5, 2, 2.5, 3])
    refuse(tmp, sbml(K, x, *functions, rate("x", "1"), event("e", "at(x, 1)", {"x": "0"})), "its trigger tests for equality")


if __name__ == "__main__":
    h.main()
