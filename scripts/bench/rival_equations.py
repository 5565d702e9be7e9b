"""Simple model text (reactions, derivatives, initial values, observed states) as SymPy reads it, for the loops of rivals:
nothing of stiffit's own is compiled into them. It runs in the rival's virtual environment.

SPDX-License-Identifier: BSD-3-Clause
"""
import re

import sympy


class Equations:
    """states, parameters: names. rates: formulas of intermediate values in order. slopes: formulas of the derivatives, which
    are linear in the rates. initial: numbers. observed: indices of states."""

    def __init__(self, text):
        self.parameters, self.rates, slopes, initial, observed = [], {}, {}, {}, []
        text = re.sub(r"\\\n", " ", text.replace("^", "**"))
        for statement in re.split(r"[;\n]", re.sub(r"#.*", "", text)):
            words = statement.split()
            if not words or words[0] in ("model", "time", "unit"):
                continue
            if words[0] == "parameter":
                self.parameters.append(words[1])
            elif words[0] == "observe":
                observed += re.findall(r"\w+", statement)[1:]
            else:
                name, kind, formula = re.fullmatch(r"\s*(\w+)(\(0\)|')?\s*=(.*)", statement).groups()
                {None: self.rates, "'": slopes, "(0)": initial}[kind][name] = formula
        self.states = list(slopes)
        names = {name: sympy.Symbol(name) for name in [*self.parameters, *self.states, *self.rates]}
        self.rates = {name: sympy.sympify(formula, names) for name, formula in self.rates.items()}
        self.slopes = [sympy.sympify(slopes[name], names) for name in self.states]
        self.initial = [float(initial[name]) for name in self.states]
        self.observed = [self.states.index(name) for name in observed]
        assert not set(self.rates) & {str(s) for formula in self.rates.values() for s in formula.free_symbols}

    def sensitivities(self):
        """Python's text of rhs(t, u, du, p), as it is written by hand: states, then their derivatives by the logarithm of each
        parameter, with the derivatives of the rates taken once for all parameters."""
        n, loop, own = len(self.states), [], []
        lines = [f"{name} = p[{k}]" for k, name in enumerate(self.parameters)]
        lines += [f"{name} = u[{i}]" for i, name in enumerate(self.states)]
        for name, formula in self.rates.items():
            lines.append(f"{name} = {formula}")
            terms = []
            for i, state in enumerate(self.states):
                slope = sympy.diff(formula, state)
                if slope != 0:
                    lines.append(f"g_{name}_{i} = {slope}")
                    terms.append(f"g_{name}_{i}*u[s + {i}]")
            loop.append(f"d_{name} = {' + '.join(terms) or '0.0'}")
        for i, formula in enumerate(self.slopes):
            lines.append(f"du[{i}] = {formula}")
            parts = [(x, sympy.diff(formula, x)) for x in sorted(formula.free_symbols, key=str)]
            assert all(str(x) in self.rates and slope.is_number for x, slope in parts)
            loop.append(f"du[s + {i}] = " + (" + ".join(f"({slope})*d_{x}" for x, slope in parts) or "0.0"))
            for x, slope in parts:
                for k, name in enumerate(self.parameters):
                    by_log = sympy.simplify(sympy.diff(self.rates[str(x)], name) * sympy.Symbol(name))
                    if by_log != 0:
                        value = x if by_log == self.rates[str(x)] else by_log
                        own.append(f"du[{n * (1 + k) + i}] += ({slope})*({value})")
        body = [*lines, f"for k in range({len(self.parameters)}):", f"    s = {n} + {n}*k", *(f"    {line}" for line in loop),
                *own]
        return "def rhs(t, u, du, p):\n" + "\n".join(f"    {line}" for line in body) + "\n"
