"""Judges a compiled model by its text: values, derivatives, patterns, masks and names, at random points.

SPDX-License-Identifier: BSD-3-Clause

Tolerances. A value may be off by ROUNDING times the largest deviation that random rounding makes in it (ode_values)
plus that many ulps: the program may round in another order and turn a power into up to 15 products, but not more. The
same holds for derivatives, whose reference is the chain rule in long double. The derivatives are also held against
differences of order 8 wherever those of order 6 and 8 agree to DIFFERENCE.
"""
import collections
import random

import numpy as np

from ode_language import ERRORS
from ode_values import FAR, LONG, N_NOISY, ORDER_6, ORDER_8, ULP, Evaluator, Quantity, Samples, constant

ROUNDING = 48
DIFFERENCE = 1e-7  # a wrong formula is wrong in its first digits
STEP = 2.0 ** -8   # of the variable's size
# Derivative: (of which function, by states or by parameters)
DERIVATIVES = {"jacobian": ("rhs", "state"), "rhs_parameter": ("rhs", "parameter"),
               "initial_parameter": ("initial", "parameter"), "observe_state": ("observe", "state"),
               "observe_parameter": ("observe", "parameter"), "noise_state": ("noise", "state"),
               "noise_parameter": ("noise", "parameter")}
USE = {"rhs": 1, "initial": 2, "observe": 4, "noise": 8}


class Disagreement(Exception):
    """Plugin and text differ; the message says in what."""


def draw(rng):
    """A number to try a model at: mostly of size 1, now and then round, negative or large."""
    kind = rng.random()
    if kind < 0.15:
        return float(rng.choice([0, 1, 2, 3, 1, 2, -1]))
    return round(rng.uniform(0.05, 3), 3) * (-1 if kind > 0.92 else 5 if kind > 0.87 else 1)


class Judge:
    """One model's text and plugin; counts what was compared."""

    def __init__(self, model, plugin, seed):
        self.model, self.plugin = model, plugin
        self.rng, self.random = random.Random(seed), np.random.default_rng(seed)
        self.states, self.parameters = list(model.rates), list(model.parameters)
        self.counts = collections.Counter()
        self.wrong = []  # differences that do not agree though they seem good
        self.moved = {}  # (function, parameter): whether the parameter changes it
        none = [("number", 1.0) for _ in model.observables]
        self.functions = {
            "rhs": list(model.rates.values()), "initial": [model.initials[name] for name in self.states],
            "observe": [("name", name) for name in model.observables],
            "noise": [about.get("sd", one) for about, one in zip(model.observables.values(), none, strict=True)]}
        self.has_noise = any("sd" in about for about in model.observables.values())

    def complain(self, text):
        raise Disagreement(text)

    def same(self, what, got, wanted):
        if got != wanted:
            self.complain(f"{what}: {got!r}, the text says {wanted!r}")

    def judge(self, n_point=3):
        self.judge_descriptor()
        self.judge_structure()
        for _ in range(n_point):
            self.judge_point()
        self.judge_use()
        return self.counts

    # --- what the descriptor says ---
    def judge_descriptor(self):
        model, plugin = self.model, self.plugin
        self.same("name", plugin.name.decode(), model.name)
        self.same("description", (plugin.description or b"").decode(), model.description or "")
        self.same("unit of time", (plugin.time_unit or b"").decode(), model.time_unit or "")
        self.same("states", plugin.names("state"), self.states)
        self.same("parameters", plugin.names("parameter"), self.parameters)
        self.same("observables", plugin.names("observable"), list(model.observables))
        self.same("covariates", plugin.names("covariate"), model.covariates)
        self.close("t0", plugin.t0, constant(model, model.t0))
        missing = {"start": None, "lower": -np.inf, "upper": np.inf}
        for i, (name, about) in enumerate(model.parameters.items()):
            bounds = about.get("in", (("neg", ("name", "inf")), ("name", "inf")))
            for what, e in (("start", about["start"]), ("lower", bounds[0]), ("upper", bounds[1])):
                numbers = plugin.numbers(what)
                infinite = ("name", "inf") in (e, e[1])
                wanted = missing[what] if infinite else constant(model, e)
                self.close(f"{what} of {name}", numbers[i] if numbers else missing[what], wanted)
            scale, unit = plugin.labels("scale"), plugin.labels("unit")
            self.same(f"scale of {name}", scale[i].decode() if scale else "lin", about.get("scale", "lin"))
            self.same(f"unit of {name}", (unit[i] or b"").decode() if unit else "", about.get("unit", ""))
            self.judge_prior(i, name, about.get("prior"))
        self.judge_errors()

    def judge_errors(self):
        words = self.plugin.observable_error
        for i, (name, about) in enumerate(self.model.observables.items()):
            wanted = [word.replace("lognormal", "log-normal") for word in about if word in ERRORS] or ["default"]
            self.same(f"errors of {name}", [words[i].decode() if words else "default"], wanted)

    def judge_prior(self, i, name, prior):
        kinds, places = self.plugin.labels("prior"), self.plugin.labels("prior_on")
        kind, first, second, place = prior or ("none", None, None, "natural")
        self.same(f"prior of {name}", kinds[i].decode() if kinds else "none", kind.replace("lognormal", "log-normal"))
        self.same(f"scale of the prior of {name}", places[i].decode() if places else "natural", place)
        if prior:
            tables = ("prior_lower", "prior_upper") if kind == "uniform" else ("prior_location", "prior_scale")
            for table, e in zip(tables, (first, second)):
                self.close(f"{table} of {name}", self.plugin.numbers(table)[i], constant(self.model, e))

    def close(self, what, got, wanted):
        # Constants are worked out by a few operations in double.
        if got != wanted and not abs(got - wanted) <= 1e-14 * abs(wanted):
            self.complain(f"{what}: {got!r}, the text says {wanted!r}")

    def judge_structure(self):
        """No dependence is claimed that the text does not contain."""
        reach = {name: set().union(*map(self.model.leaves, rows)) if rows else set()
                 for name, rows in self.functions.items()}
        use = self.plugin.parameter_use
        for i, name in enumerate(self.parameters):
            for function, bit in USE.items():
                if use and use[i] & bit and name not in reach[function]:
                    self.complain(f"parameter_use says that {name} enters {function}; the text does not")
        self.pattern = self.plugin.pattern()
        for row, column in self.pattern or ():
            if self.states[column] not in self.model.leaves(self.functions["rhs"][row]):
                self.complain(f"pattern: d {self.states[row]}' / d {self.states[column]} cannot differ from 0")

    # --- at a point ---
    def judge_point(self):
        n_covariate = len(self.model.covariates)
        t = self.rng.choice([0.0, 1.0, 2.0, round(self.rng.uniform(0, 10), 2)])
        y, p, c = ([draw(self.rng) for _ in range(n)] for n in (len(self.states), len(self.parameters), n_covariate))
        self.where = f"t = {t}, " + ", ".join(f"{name} = {value}" for name, value
                                              in zip(self.states + self.parameters + self.model.covariates, y + p + c))
        of_state, of_start = self.plugin.at(t, y, p, c)
        values = dict(zip(self.states + self.parameters + self.model.covariates, y + p + c)) | {"t": t}
        with np.errstate(all="ignore"):
            for name, rows in self.functions.items():
                if name == "noise" and not self.has_noise:
                    self.same("noise without sd", bool(self.plugin.noise), False)
                elif rows:
                    self.judge_function(name, rows, values, of_start if name == "initial" else of_state)

    def judge_function(self, name, rows, values, point):
        by = [("parameter", p) for p in self.parameters]
        if name != "initial":
            by = [("state", s) for s in self.states] + by
        exact = self.by_chain_rule(rows, values, [leaf for _, leaf in by])
        code, got = self.plugin.call(name, point, len(rows))
        if code != 0 and all(np.isfinite(q.v[0]) for q in exact):
            self.complain(f"{name} returned {code} at {self.where}")
        for i, quantity in enumerate(exact):
            self.compare(f"{name}[{i}]", got[i], quantity.v, quantity.torn)
        if name in ("rhs", "observe", "noise") and self.plugin.lanes:
            n = len(rows) if name == "rhs" else self.lanes_sizes(name)[2]
            for i, (value, quantity) in enumerate(zip(self.in_lanes(name, point, n), exact)):
                self.compare(f"{name}[{i}] in lanes", value, quantity.v, quantity.torn)
        self.spoilt = any(q.d is not None and not np.isfinite(q.d).all() for q in exact)
        differences = self.by_differences(rows, values, [leaf for _, leaf in by])
        for derivative, (function, kind) in DERIVATIVES.items():
            columns = [j for j, leaf in enumerate(by) if leaf[0] == kind]
            if function != name or not columns:
                continue
            mistaken = set()  # entries whose difference is wrong, which counts once
            for matrix in self.matrices(derivative, point, len(rows), len(columns)):
                for column, j in enumerate(columns):
                    for i in range(len(rows)):
                        what = f"{derivative}[{i},{column}]"
                        difference = None if (i, j) in mistaken else differences[i][j]
                        if not self.judge_entry(what, matrix[column][i], exact[i], j, difference):
                            mistaken.add((i, j))
                        self.note_use(name, i, by[j][1], exact[i], j, differences[i][j])

    def in_lanes(self, name, point, n):
        """What a function of lanes computes for a point: in each lane the same, whatever the others hold."""
        point.direction = np.ones(len(self.states) + 1)
        alike = self.plugin.call_lanes(name, [point] * 8, n)
        for lane in range(8):
            alone = self.plugin.call_lanes(name, [point if k == lane else None for k in range(8)], n)
            if not np.array_equal(alike[lane].view(np.uint64), alone[lane].view(np.uint64)):
                self.complain(f"lanes: {name} depends on the neighbours of lane {lane} at {self.where}")
        if not np.array_equal(alike, alike[[0] * 8], equal_nan=True):
            self.complain(f"lanes: {name} depends on the lane at {self.where}")
        return alike[0]

    def lanes_sizes(self, function):
        """Entries by state and by parameter of a function of lanes, and how many numbers it writes."""
        lanes, is_rate = self.plugin.lanes.contents, function == "derive"
        prefix = "by" if is_rate else function
        by_state = getattr(lanes, f"{prefix}_state").entries(len(self.states) + is_rate)
        by_parameter = getattr(lanes, f"{prefix}_parameter").entries(len(self.parameters))
        n = len(self.states) if is_rate else len(self.model.observables)
        return by_state, by_parameter, n + len(by_state) + len(by_parameter)

    def lanes_matrix(self, function, by, point, n_row, n_column):
        """A derivative by state or by parameter as a function of lanes computes it."""
        by_state, by_parameter, n = self.lanes_sizes(function)
        entries, first = (by_state, n_row) if by == "state" else (by_parameter, n_row + len(by_state))
        got = self.in_lanes(function, point, n)
        matrix = np.zeros((n_column + 1, n_row))
        for (row, column), value in zip(entries, got[first:]):
            matrix[column][row] = value
        self.counts["lanes" if function == "derive" else f"lanes {function}"] += 1
        return matrix[:n_column]

    def matrices(self, name, point, n_row, n_column):
        """The derivative as lists of columns: one matrix, or two where a sparse one is there, too."""
        found = []
        if getattr(self.plugin, name):
            code, got = self.plugin.call(name, point, n_row * n_column)
            found.append(got.reshape(n_column, n_row))
            self.same(f"{name}: return code", code, 0)
        if name == "jacobian" and self.pattern is not None:
            code, got = self.plugin.call("jacobian_sparse", point, len(self.pattern))
            matrix = np.zeros((n_column, n_row))
            for (row, column), value in zip(self.pattern, got, strict=True):
                matrix[column][row] = value
            found.append(matrix)
            self.counts["sparse"] += 1
        function, kind = DERIVATIVES[name]
        if function in ("rhs", "observe", "noise") and self.plugin.lanes:
            function = "derive" if function == "rhs" else function
            found.append(self.lanes_matrix(function, kind, point, n_row, n_column))
        if not found:
            self.complain(f"{name} is not there")
        return found

    def by_chain_rule(self, rows, values, leaves):
        """Quantities of the rows, with derivatives by the leaves: sample 0 exact, the others rounded at random."""
        n = 1 + N_NOISY
        samples = Samples(np.zeros(n, int), np.arange(n) > 0, self.random)
        quantities = {}
        for name, value in values.items():
            quantities[name] = Quantity(np.full(n, value, LONG))
            if name in leaves:
                d = np.zeros((len(leaves), n), LONG)
                d[leaves.index(name)] = 1
                quantities[name].d, quantities[name].by = d, d[:, :1] != 0
        evaluator = Evaluator(self.model, samples, quantities)
        return [evaluator.of(e) for e in rows]

    def by_differences(self, rows, values, leaves):
        """For each row and leaf: (derivative, its error, whether jumps are near, values)."""
        offsets = np.array([-4, -3, -2, -1, 1, 2, 3, 4])
        n = 1 + 8 * len(leaves)
        samples = Samples(np.zeros(n, int), np.zeros(n, bool), None)
        quantities, steps = {}, []
        for name, value in values.items():
            v = np.full(n, value, LONG)
            if name in leaves:
                first = 1 + 8 * leaves.index(name)
                v[first:first + 8] += STEP * max(abs(value), 0.25) * offsets
            quantities[name] = Quantity(v)
        steps = [LONG(STEP * max(abs(values[name]), 0.25)) for name in leaves]
        evaluator = Evaluator(self.model, samples, quantities)
        found = []
        for e in rows:
            q = evaluator.of(e)
            row = []
            for j, step in enumerate(steps):
                these = slice(1 + 8 * j, 9 + 8 * j)
                v = q.v[these]
                odd = v[4:] - v[3::-1]
                best, other = (odd * ORDER_8).sum() / step, (odd * ORDER_6).sum() / step
                near = q.torn is not None and q.torn[these].any()
                changes = bool((np.abs(v - q.v[0]) > 1e-12 * np.abs(q.v[0])).any())
                row.append((best, abs(best - other), near, changes))
            found.append(row)
        return found

    def compare(self, what, got, samples, torn):
        """A number of the plugin with the exact one (sample 0) and its rounded kin."""
        exact = samples[0]
        spread = np.max(np.abs(samples[1:] - exact))
        if not np.isfinite(exact) or not np.isfinite(spread) or abs(exact) > 1e300 or torn is not None and torn.any():
            self.counts["passed over"] += 1
            return
        self.counts["compared"] += 1
        tolerance = ROUNDING * (spread + ULP * abs(exact)) + 1 / FAR
        if not abs(LONG(got) - exact) <= tolerance:
            self.complain(f"{what} = {got!r}, the text says {float(exact)!r} (off by {float(abs(got - exact)):.3g}, "
                          f"rounding explains {float(tolerance):.3g}) at {self.where}")
        if tolerance < 1e-9 * abs(exact) or exact == 0:
            self.counts["sharp"] += 1

    def judge_entry(self, what, got, quantity, j, difference):
        """A derivative: with the chain rule; and both with the difference quotient where that is given and good. False: the
        quotient seems good and says something else."""
        d = np.zeros_like(quantity.v) if quantity.d is None else np.broadcast_to(quantity.d[j], quantity.v.shape)
        if quantity.kink is not None and quantity.kink[0] or quantity.torn is not None and quantity.torn.any():
            self.counts["near a kink"] += 1
            return True
        if not np.isfinite(quantity.v[0]):
            self.counts["passed over"] += 1
            return True
        try:
            self.compare(what, got, d, None)
        except Disagreement:
            if not self.spoilt:  # with an entry that is infinite the program takes nothing of this function here
                raise
            self.counts["passed over"] += 1
            return True
        if difference is None:
            return True
        best, error, near, _ = difference
        size = max(abs(best), abs(d[0]))
        if near or not np.isfinite(best) or not error <= DIFFERENCE * size + 1e-16 * abs(quantity.v[0]):
            self.counts["no difference"] += 1
            return True
        # Both orders agree. They may do so wrongly: where a function swings faster than the step, or where it is a
        # small thing added to and taken from a large one. So all that is asked here is that this is rare.
        noise = 64 * np.finfo(LONG).eps / LONG(STEP) * abs(quantity.v[0])
        rounding = ROUNDING * np.nan_to_num(np.max(np.abs(d[1:] - d[0])))
        agrees = abs(LONG(got) - best) <= 10 * error + noise + 10 * DIFFERENCE * size + rounding
        self.counts["differences" if agrees else "wrong differences"] += 1
        if not agrees:
            self.wrong.append(f"{what} = {got!r}, difference {float(best)!r} +- {float(error):.1g} at {self.where}")
        return agrees

    # --- masks and zeros ---
    def note_use(self, function, row, leaf, quantity, j, difference):
        """What truly enters must be in the pattern and in parameter_use."""
        d = None if quantity.d is None else quantity.d[j]
        certain = d is not None and np.isfinite(d).all() and (np.abs(d) > 1e-9).all() and quantity.torn is None
        changes = difference[3] and quantity.torn is None
        if leaf in self.parameters and changes:
            self.moved[function, leaf] = True
        if function == "rhs" and leaf in self.states and certain and self.pattern is not None:
            if (row, self.states.index(leaf)) not in self.pattern:
                self.complain(f"pattern lacks d {self.states[row]}' / d {leaf}, {float(d[0])!r} at {self.where}")

    def judge_use(self):
        use = self.plugin.parameter_use
        for (function, leaf), _ in self.moved.items():
            if use and not use[self.parameters.index(leaf)] & USE[function]:
                self.complain(f"parameter_use denies that {leaf} enters {function}")
