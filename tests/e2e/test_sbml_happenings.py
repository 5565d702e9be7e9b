"""SBML's events beside other events, rules and compartments, and triggers of unusual kinds: closed forms.

SPDX-License-Identifier: BSD-3-Clause
"""
import helpers as h
from sbml_text import assign, compartment, event, function, parameter, rate, sbml, species
from test_sbml import C2, K, agree, import_text, refuse

GROWING = compartment("c", 1, constant=False)


def late(before, after, at=1):
    return lambda t: before if t < at else after


@h.more
def test_a_concentration_set_after_its_volume(tmp):
    """The event that comes first changes the volume, the second one, whose values are of before, sets a concentration."""
    for early in (True, False):
        for priorities in ((("2", "1"), ("1", "2"))):
            agree(tmp, sbml(GROWING, species("S", conc=3), K,
                            event("grow", "time > 1", {"c": "4"}, priority=priorities[0], early=early),
                            event("set", "time > 1", {"S": "7"}, priority=priorities[1], early=early)),
                  {"c": late(1, 4), "S": late(3, 7 if priorities[0] == "2" else 1.75)})
    # Values that may have changed: they are of before, and a note says what else is.
    text = sbml(GROWING, species("S", conc=3), K, event("grow", "time > 1", {"c": "4"}),
                event("set", "time > 2", {"S": "S + 1"}))
    agree(tmp, text, {"c": late(1, 4), "S": lambda t: 3 if t < 1 else 0.75 if t < 2 else 1.75})
    assert "event `set`: it sets concentrations by values of its trigger's time" in import_text(tmp, text)[0].stderr
    # One event that changes both, by a rule that computes the volume: refused. With the volume itself it is right.
    rule = (compartment("c", None, constant=False), species("S", conc=3), parameter("p", 1, False), assign("c", "q + p"),
            parameter("q", 0, False), assign("q", "p"))
    refuse(tmp, sbml(*rule, event("e", "time > 1", {"p": "4", "S": "7"})),
           "event assignment to `S`: the event sets a concentration and what the size of its compartment `c` depends on")
    agree(tmp, sbml(*rule, K, parameter("x", 0, False), event("e", "time > 1", {"x": "4", "S": "7"})), {"S": late(3, 7)})
    # The amount is that in the volume before the event (libRoadRunner 2.10 has the same numbers), whatever the order.
    for assignments in ({"c": "4", "S": "7"}, {"S": "7", "c": "4"}, {"c": "c + S", "S": "8 - c"}):
        for boundary in (False, True):
            agree(tmp, sbml(GROWING, species("S", conc=3, boundary=boundary), K, event("e", "time > 1", assignments)),
                  {"S": late(3, 7/4)})


def test_triggers(tmp):
    y, x = parameter("y", 0, False), parameter("x", 5, False)
    for what, starts, expected in (
            ("2 > 1", True, late(0, 0)), ("2 > 1", False, late(1, 1)), ("1 > 2", False, late(0, 0)),
            ("time == -1", False, late(0, 0)), ("time == 0", False, late(1, 1)), ("time == 1", False, late(0, 1)),
            ("b", True, late(0, 1)), ("a > 1", True, late(0, 0))):
        agree(tmp, sbml(parameter("a", 1, False), parameter("b", 0, False), y, event("on", "time > 1", {"b": "-2"}),
                        event("e", what, {"y": "1"}, starts=starts)), {"y": expected})
    # Formulas of time alone that become true just after the initial time.
    for what in ("2*time > 0", "sin(time) > 0", "time*k > 0", "exp(time) > 1"):
        agree(tmp, sbml(K, parameter("z", 0, False), y, event("e", what, {"y": "1"})), {"y": late(0, 1, 1e-3)})
    # Equality of what only events change.
    for what, expected in (("b == 0 and time > 0.5", late(0, 1, 0.5)), ("b == -2 and time > 0.5", late(0, 1, 1)),
                           ("b != 0", late(0, 1, 1)), ("b == a - 3 or time > 2", late(0, 1, 1)), ("b == 7", late(0, 0))):
        agree(tmp, sbml(K, parameter("a", 1), parameter("b", 0, False), y, event("on", "time > 1", {"b": "-2"}),
                        event("e", what, {"y": "1"})), {"y": expected})
    refuse(tmp, sbml(x, y, event("jump", "time > 2", {"x": "1"}), event("e", "time == x", {"y": "1"})),
           "event `e`: its trigger tests for equality")
    # No trigger: nothing happens (Level 3 Version 2).
    name, text = event("e", "time > 1", {"y": "1"})
    bare = text[:text.index("<trigger")] + text[text.index("</trigger>") + len("</trigger>"):]
    agree(tmp, sbml(K, y, (name, bare)), {"y": late(0, 0)})
    assert "event `e`: it has no trigger and never happens" in import_text(tmp, sbml(K, y, (name, bare)))[0].stderr


def test_lists_of_times(tmp):
    """Each time makes the trigger true once: alone, with others, with ranges and states, and by rules that do not vary."""
    x, z, w = parameter("x", 0, False), parameter("z", 0, False), parameter("w", None, False)
    cases = {"or_(time == 1, time == 2, time == 3)": (1, 2, 3), "time == 1 or (time == 2 and k > 1)": (1,),
             "time/2 == 1 or 2*time == 1": (0.5, 2), "(time == 1 or time == 2) and z > 1.5": (2,), "not (time != 1)": (1,),
             "time == 1 or z > 2.25": (1, 2.25), "xor(time == 1, time == 2)": (1, 2), "piecewise(1, time == 1, 0)": (1,),
             "time >= 1 and time < 2 or time >= 2.5": (1, 2.5), "time == k + 1 or time == 2*k": (1.6, 1.8),
             "1 <= time <= 2": (1,), "time == 1 and time < 2 or time == 3": (1, 3),
             "w == time or time == 3*w": (1, 3), "time == w*w + sin(w - w)": (1,)}
    names = [f"x{i}" for i in range(len(cases))]
    text = sbml(K, z, w, rate("z", "1"), assign("w", "k + 0.2"), *(parameter(name, 0, False) for name in names),
                *(event(f"e_{name}", trigger, {name: f"{name} + 1"}) for name, trigger in zip(names, cases)))
    agree(tmp, text, {name: lambda t, times=times: sum(t >= at for at in times) for name, times in zip(names, cases.values())},
          times=[0, 0.3, 0.55, 0.95, 1.05, 1.55, 1.7, 1.9, 2.1, 2.3, 2.55, 2.8, 3.05])
    # Rules of which each uses the one before it twice.
    rules = [parameter(f"r{i}", None, False) for i in range(70)] + [assign("r0", "time")] + [
        assign(f"r{i}", f"(r{i - 1} + r{i - 1})/2") for i in range(1, 70)]
    agree(tmp, sbml(K, x, *rules, event("e", "r69 == 1", {"x": "x + 1"})), {"x": late(0, 1)})


def test_units_without_parameters(tmp):
    """A model needs a parameter: the initial value that becomes one keeps its unit."""
    agree(tmp, sbml(C2, species("S", amount=10), rate("S", "0 - S")), {"S": lambda t: 5*2.718281828459045**-t}, rtol=1e-6)
    agree(tmp, sbml(C2, species("S", conc=10, substance=True)), {"S": lambda t: 20})


def test_an_argument_that_hides_a_symbol(tmp):
    agree(tmp, sbml(K, parameter("q", None, False), assign("q", "f(1) + avogadro/6.02214179e23"),
                    function("f", "avogadro_", "avogadro_ + 0.2")), {"q": lambda t: 2.2})
    text = sbml(K, parameter("q", None, False), assign("q", "f(1)"), function("f", "hidden", "hidden + avogadro*1e-23"))
    agree(tmp, text.replace(" hidden ", " avogadro "), {"q": lambda t: 1 + 6.02214179})


def test_many_reactions(tmp):
    """Names for unnamed elements are found in time and memory that grow with their number."""
    n = 3000
    elements = [compartment("c", 1), parameter("k", 1)] + [species(f"S{i}", conc=1) for i in range(n)]
    references = ["".join(f'<listOf{side}><speciesReference species="S{k}" stoichiometry="1" constant="true"/></listOf{side}>'
                          for side, k in (("Reactants", i), ("Products", (i + 1) % n))) for i in range(n)]
    law = '<kineticLaw><math xmlns="http://www.w3.org/1998/Math/MathML"><ci>k</ci></math></kineticLaw>'
    elements += [("Reactions", f'<reaction id="r{i}" reversible="false">{references[i]}{law}</reaction>') for i in range(n)]
    _, ode = import_text(tmp, sbml(*elements))
    assert ode.count("' = ") == n and (tmp / "m.ode").stat().st_size < 100*n


if __name__ == "__main__":
    h.main()
