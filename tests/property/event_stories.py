"""Random models with doses, inputs, switches and events, and their trajectories by SciPy: solve_ivp, with the events that it
locates, restarted at everything that happens. Made from the manual, without our code. Equal seeds give equal stories.

SPDX-License-Identifier: BSD-3-Clause

Expressions are strings that mean the same in model text and in Python; `choose(c, a, b)` is written `if(c, a, b)`. Comparisons
are atoms: while the integrator goes on, each keeps its truth, and its difference is an event of solve_ivp.
"""
import math
import random

import numpy as np
from scipy.integrate import solve_ivp

END = 4.0
MOST = 60        # executions and flips of one story: beyond that it is another kind of test
NEAR = 1e-7      # an atom this close to its root, and a stop this close to another one, are uncertain


class Uncertain(Exception):
    """What happens depends on rounding."""


class Story:
    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.n_state = rng.choice([1, 2, 2, 3, 3, 4])
        self.n_parameter = rng.choice([2, 3, 4, 5])
        self.state = [f"y{i}" for i in range(self.n_state)]
        self.parameter = [f"k{i}" for i in range(self.n_parameter)]
        self.p = [round(rng.uniform(0.3, 2), 4) + 1e-5*rng.random() for _ in self.parameter]
        self.atoms = []       # (source of the difference, is_strict): true where it is > 0, or >= 0
        self.input = [(f"u{i}", rng.random() < 0.5, self.knots()) for i in range(rng.choice([0, 0, 0, 1, 2]))]
        self.rate = [self.make_rate(i) for i in range(self.n_state)]
        self.initial = [rng.choice([f"{rng.uniform(0, 2):.3f}", self.k(), f"{self.k()} + 0.5"]) for _ in self.state]
        self.lag = {i: f"{rng.uniform(0.1, 0.5):.3f}*{self.k()}" for i in range(self.n_state) if rng.random() < 0.3}
        self.share = {i: f"{self.k()}/({self.k()} + 1.3)" for i in range(self.n_state) if rng.random() < 0.3}
        self.dose = sorted((self.make_dose() for _ in range(rng.choice([0, 0, 1, 2, 3]))), key=lambda dose: dose[0])
        self.event = [self.make_event(i) for i in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
        self.measurement = self.make_measurements()

    # --- what is drawn ---
    def k(self):
        return self.rng.choice(self.parameter)

    def y(self):
        return self.rng.choice(self.state)

    def number(self, low=0.2, high=2.0):
        return f"{self.rng.uniform(low, high):.4f}"

    def grid(self):
        """A time at which several things may happen; quarters have no rounding."""
        return self.rng.randint(0, 4*int(END) - 1)/4

    def knots(self):
        times = sorted(self.rng.sample([self.grid() for _ in range(4)] + [self.rng.uniform(0, END) for _ in range(3)], 4))
        return [(t, self.rng.uniform(0, 2)) for t in sorted(set(times))]

    def atom(self, difference, is_strict):
        """`difference` > 0: a placeholder, and its text."""
        self.atoms.append((difference, is_strict))
        return f"<{len(self.atoms) - 1}>"

    def condition(self, timed):
        rng, a = self.rng, self.y()
        kinds = ["level", "level", "parameter", "pair"] + ["time"]*timed + ["input"]*bool(self.input)
        kind = rng.choice(kinds)
        if kind == "time":
            return self.atom(f"t - ({self.number(0.2, 3)}*{self.k()})", rng.random() < 0.5)
        b = {"level": self.number(), "parameter": f"{self.k()}", "pair": f"({self.y()}*{self.number(0.5, 1.5)} + 0.1)",
             "input": f"({self.input[0][0]} + 0.1)" if self.input else ""}[kind]
        return self.atom(rng.choice([f"{a} - {b}", f"{b} - {a}"]), rng.random() < 0.7)

    def trigger(self):
        first = self.condition(False)
        kind = self.rng.random()
        if kind < 0.7:
            return first
        other = self.condition(True)
        return f"({first} and {other})" if kind < 0.85 else f"({first} or {other})" if kind < 0.95 else f"(not {first})"

    def make_rate(self, i):
        rng, own = self.rng, self.state[i]
        terms = [f"-{self.k()}*{own}"]
        for _ in range(rng.choice([0, 1, 1, 2])):
            terms.append(rng.choice([
                f"{self.k()}*{self.y()}/(1 + {own}**2)", f"{self.k()}", f"{self.k()}*sin({self.number()}*t)",
                f"-{self.k()}*{own}/({own}**2 + {self.k()})", f"{self.number(0.1, 0.5)}*{self.y()}", "1"]))
        if rng.random() < 0.3:
            terms.append(f"choose({self.condition(True)}, {self.k()}, {self.number(-0.5, 0.5)}*{self.y()})")
        for name, _, _ in self.input:
            if rng.random() < 0.6:
                terms.append(f"{name}*{self.number(0.2, 1)}")
        return " + ".join(terms)

    def make_dose(self):
        rng = self.rng
        time = self.grid() if rng.random() < 0.7 else rng.uniform(0, END)
        duration = rng.choice([0, 0, 0, 0.25, 0.5, rng.uniform(0.1, 2)])
        count = rng.choice([1, 1, 2, 4])
        return (time, rng.uniform(0.2, 2), duration, rng.choice([0.25, 0.5, rng.uniform(0.1, 1)]) if count > 1 else 0, count,
                rng.randrange(self.n_state))

    def make_event(self, i):
        rng = self.rng
        timed = rng.random() < 0.4
        event = {"timed": timed, "delay": None, "priority": None, "initially": False, "lapse": False, "early": False}
        if timed:
            event["when"] = rng.choice([f"{self.grid()}", f"{self.grid()}", f"{self.number(0.1, 1.5)}*{self.k()}",
                                        f"{self.k()} + {self.number()}"])
        else:
            event["when"] = self.trigger()
            event["initially"], event["lapse"] = rng.random() < 0.3, rng.random() < 0.3
        if rng.random() < 0.4:
            event["delay"] = rng.choice(["0.5", "0.25", f"{self.number(0.05, 0.6)}*{self.k()}", f"0.2*{self.y()}**2"])
        if rng.random() < 0.3:
            event["priority"] = rng.choice([f"{rng.randint(-2, 2)}", self.y(), f"-{self.y()}", self.k()])
        event["early"] = rng.random() < 0.4
        event["assign"] = {}
        for _ in range(rng.choice([1, 1, 2])):
            target, other = rng.randrange(self.n_state), self.y()
            event["assign"][target] = rng.choice([
                f"{other}*{self.number(0.1, 0.9)} + {self.k()}*0.3", self.k(), f"{self.number(0.2, 0.9)}*{self.state[target]}",
                other, f"{self.state[target]} + {self.number(0, 0.5)}*t", f"0.5*{other} + 0.2"]
                + [f"{self.state[target]}*0.5 + {self.input[0][0]}" for _ in self.input[:1]])
        return event

    def make_measurements(self):
        rng = self.rng
        times = {self.grid() for _ in range(5)} | {rng.uniform(0, END) for _ in range(4)} | {END}
        times |= {dose[0] for dose in self.dose[:1]}
        found = []
        for t in sorted(times):
            found += [(t, side) for side in sorted(rng.sample([-1, 0, 1], rng.choice([1, 1, 2, 3])))]
        return found

    # --- as model text ---
    def as_text(self, source):
        for i in reversed(range(len(self.atoms))):
            difference, is_strict = self.atoms[i]
            source = source.replace(f"<{i}>", f"({difference} {'>' if is_strict else '>='} 0)")
        return source.replace("choose(", "if(")

    @property
    def text(self):
        lines = [f"parameter {name} = {value!r}" for name, value in zip(self.parameter, self.p)]
        lines += [f"input {name} {'linear' if linear else 'constant'}" for name, linear, _ in self.input]
        for i, name in enumerate(self.state):
            lines += [f"{name}(0) = {self.initial[i]}", f"{name}' = {self.as_text(self.rate[i])}", f"observe {name}"]
        lines += [f"lag({self.state[i]}) = {e}" for i, e in self.lag.items()]
        lines += [f"bioavailability({self.state[i]}) = {e}" for i, e in self.share.items()]
        for i, event in enumerate(self.event):
            words = [f"event e{i}", "at" if event["timed"] else "when", self.as_text(event["when"])]
            words += [f"delay {event['delay']}"] if event["delay"] else []
            words += [f"priority {event['priority']}"] if event["priority"] else []
            words += [text for key, text in (("initially", "initially false"), ("lapse", "can lapse"),
                                             ("early", "early values")) if event[key]]
            assigned = ", ".join(f"{self.state[j]} = {e}" for j, e in event["assign"].items())
            lines.append(" ".join(words) + ": " + assigned)
        return "\n".join(lines) + "\n"

    def commands(self, path):
        """For simulate_events."""
        lines = [f"model {path}"]
        lines += ["dose " + " ".join(map(repr, dose)) for dose in self.dose]
        lines += ["input " + " ".join(f"{t!r} {v!r}" for t, v in knots) for _, _, knots in self.input]
        return lines + [f"time {t!r} {side}" for t, side in self.measurement]


class Trajectory:
    """One story at parameters p; `rows`: the state at each measurement. Raises Uncertain."""

    def __init__(self, story, p, rtol):
        self.story, self.rtol, self.n = story, rtol, 0
        self.names = {name: value for name, value in zip(story.parameter, p)}
        self.names |= {"sin": math.sin, "choose": lambda c, a, b: a if c else b}
        self.make_functions()
        self.t, self.truth = 0.0, []
        self.i_knot = [0]*len(story.input)
        self.pass_knots(0.0)
        self.y = np.array([self.expression(e, []) for e in story.initial], dtype=float)
        self.pending = []  # [time, event, values if early]
        self.infusion = []  # (end, state, rate)
        self.doses = self.all_doses()
        self.timed = {}
        for i, event in enumerate(story.event):
            if event["timed"] and self.expression(event["when"], self.y) >= 0:
                self.timed[i] = self.expression(event["when"], self.y)
        self.rows, self.todo = [], list(story.measurement)
        self.run()

    # --- expressions ---
    def make_functions(self):
        """Everything that depends on t, y, u and the truth of the atoms, as functions of (t, y, u, truth)."""
        story = self.story

        def function(source):
            for i in reversed(range(len(story.atoms))):
                source = source.replace(f"<{i}>", f"truth[{i}]")
            head = "".join(f"{name} = y[{i}]; " for i, name in enumerate(story.state) if name in source)
            head += "".join(f"{u[0]} = u[{i}]; " for i, u in enumerate(story.input) if u[0] in source)
            scope = dict(self.names)
            exec(f"def f(t, y, u, truth):\n {head}return {source}\n", scope)
            return scope["f"]
        self.rhs = function("[" + ", ".join(story.rate) + "]")
        self.difference = [function(difference) for difference, _ in story.atoms]
        self.trigger = [None if event["timed"] else function(event["when"]) for event in story.event]
        self.cache, self.function = {}, function

    def expression(self, source, y):
        f = self.cache.setdefault(source, None) or self.function(source)
        self.cache[source] = f
        return f(self.t, y, self.inputs(self.t), self.truth)

    # --- inputs, doses ---
    def inputs(self, t):
        found = []
        for (_, linear, knots), k in zip(self.story.input, self.i_knot):
            before, after = knots[max(k - 1, 0)], knots[min(k, len(knots) - 1)]
            if linear and 0 < k < len(knots):
                found.append(before[1] + (after[1] - before[1])*(t - before[0])/(after[0] - before[0]))
            else:
                found.append(before[1])
        return found

    def pass_knots(self, t):
        self.i_knot = [sum(knot[0] <= t for knot in knots) for _, _, knots in self.story.input]

    def all_doses(self):
        found = []
        for time, amount, duration, interval, count, state in self.story.dose:
            for k in range(count):
                t = self.t = time + k*interval
                lag = self.expression(self.story.lag.get(state, "0"), [])
                share = self.expression(self.story.share.get(state, "1"), [])
                found.append((t + lag, share*amount, duration, state))
        self.t = 0.0
        return sorted(found, key=lambda dose: dose[0])

    # --- atoms and triggers ---
    def differences(self):
        u = self.inputs(self.t)
        return [f(self.t, self.y, u, self.truth) for f in self.difference]

    def look(self, keep):
        """The truth of all atoms; those that have just been flipped, and are at their root as before, keep theirs. What is put
        exactly onto a root is not beyond it; but early values and times of roots are not exact."""
        truth = []
        for i, d in enumerate(self.differences()):
            kept = i in keep and not any(self.story.state[j] in self.story.atoms[i][0] for j in self.touched)
            if abs(d) < NEAR and not kept and (d != 0 or not self.is_exact):
                raise Uncertain("an atom at its root")
            truth.append(self.truth[i] if kept else d > 0 if self.story.atoms[i][1] else d >= 0)
        self.truth = truth

    def triggers(self):
        return [f and bool(f(self.t, self.y, None, self.truth)) for f in self.trigger]

    # --- events ---
    def count(self):
        self.n += 1
        if self.n > MOST:
            raise Uncertain("too many")

    def assigned(self, i):
        return {j: self.expression(e, self.y) for j, e in self.story.event[i]["assign"].items()}

    def fire(self, i):
        event = self.story.event[i]
        delay = self.expression(event["delay"], self.y) if event["delay"] else 0
        if delay and self.at_once:
            raise Uncertain("whether it comes before what happens at its time")
        self.pending.append([self.t + delay, i, self.assigned(i) if event["early"] else None])

    def react(self, keep):
        """Fires and cancels after something has changed."""
        before = self.is_true
        self.look(keep)
        self.is_true = self.triggers()
        for i, event in enumerate(self.story.event):
            if event["timed"] or before[i] == self.is_true[i]:
                continue
            if self.is_true[i]:
                self.fire(i)
            elif event["lapse"]:
                self.pending = [one for one in self.pending if one[1] != i]

    def execute(self, keep):
        while due := [one for one in self.pending if one[0] <= self.t]:
            rank = [self.expression(self.story.event[one[1]]["priority"] or "0", self.y) for one in due]
            first = sorted(zip(rank, due), key=lambda pair: (-pair[0], pair[1][1]))
            if len(first) > 1 and 0 < abs(first[0][0] - first[1][0]) < NEAR:
                raise Uncertain("priorities")
            one = first[0][1]
            self.pending.remove(one)
            self.count()
            self.is_exact = self.is_exact and one[2] is None
            self.touched |= set(self.story.event[one[1]]["assign"])
            for j, value in (one[2] if one[2] is not None else self.assigned(one[1])).items():
                self.y[j] = value
            self.react(keep)

    # --- the run ---
    def next_fixed(self):
        times = [one[0] for one in self.pending] + [end for end, _, _ in self.infusion] + list(self.timed.values())
        times += [self.doses[0][0]] if self.doses else []
        times += [knots[k][0] for (_, _, knots), k in zip(self.story.input, self.i_knot) if k < len(knots)]
        return sorted(times)

    def stop(self, flipped):
        """What happens at self.t."""
        self.record(-1)
        self.is_exact, self.touched = True, set()
        self.pass_knots(self.t)
        self.infusion = [one for one in self.infusion if one[0] > self.t]
        for i in flipped:
            self.truth[i] = not self.truth[i]
        due = [i for i, t in self.timed.items() if t <= self.t]
        for i in due:
            del self.timed[i]
            self.fire(i)
        self.react(flipped)
        self.execute(flipped)
        self.record(0)
        while self.doses and self.doses[0][0] <= self.t:
            _, amount, duration, state = self.doses.pop(0)
            if duration > 0:
                self.infusion.append((self.t + duration, state, amount/duration))
            else:
                self.y[state] += amount
                self.touched.add(state)
            self.react(flipped)
            self.execute(flipped)
        self.record(1)

    def record(self, side):
        while self.todo and self.todo[0] == (self.t, side):
            self.rows.append(self.y.copy())
            self.todo.pop(0)

    def begin(self):
        self.truth = [False]*len(self.story.atoms)
        self.is_exact, self.touched, self.at_once = True, set(), False
        self.look([])
        self.is_true = [now and not event["initially"] for now, event in zip(self.triggers(), self.story.event)]
        self.stop([])

    def run(self):
        self.begin()
        while self.todo:
            fixed = self.next_fixed()
            if any(0 < b - a < NEAR for a, b in zip(fixed, fixed[1:])):
                raise Uncertain("two stops")
            to = min([*fixed[:1], self.todo[-1][0]])
            flipped = self.integrate(to)
            if flipped and fixed and abs(fixed[0] - self.t) < NEAR:
                raise Uncertain("a root at a stop")
            self.stop(flipped)

    def integrate(self, to):
        """Until `to` or the first root; records the measurements before it. The atoms that have a root."""
        u_now, truth, rates = self.inputs, self.truth, np.zeros(len(self.y))
        for _, state, rate in self.infusion:
            rates[state] += rate

        def rhs(t, y):
            return np.add(self.rhs(t, y, u_now(t), truth), rates)
        roots = []
        for f, is_true in zip(self.difference, truth):
            def root(t, y, f=f):
                return f(t, y, u_now(t), truth)
            root.terminal, root.direction = True, -1 if is_true else 1
            roots.append(root)
        before, flipped = self.at_once, self.leave_roots(rhs)
        self.at_once = bool(flipped)
        if before and flipped:
            raise Uncertain("a root that is met for ever")
        if flipped:
            self.count()
            return flipped
        done = solve_ivp(rhs, (self.t, to), self.y, method="DOP853", rtol=self.rtol, atol=1e-3*self.rtol, events=roots,
                         dense_output=True, max_step=0.1)
        if done.status < 0 or not np.all(np.abs(done.y[:, -1]) < 1e6):
            raise Uncertain("no solution")
        t_end = done.t[-1]
        while self.todo and self.todo[0][0] < t_end:
            self.rows.append(done.sol(self.todo.pop(0)[0]))
        self.check_roots(done)
        self.t, self.y = float(t_end), done.y[:, -1].copy()
        if done.status == 0:
            self.t = to
            return []
        self.count()
        slopes = [(root(t_end, self.y) - root(t_end - 1e-6, done.sol(t_end - 1e-6)))/1e-6 for root in roots]
        flipped = [i for i, times in enumerate(done.t_events) if len(times) and abs(times[0] - t_end) < 1e-9]
        near = [i for i, root in enumerate(roots) if abs(root(t_end, self.y)) < NEAR]
        first = (flipped or [0])[0]
        if near != flipped or len(flipped) != 1 or abs(slopes[first]) < 1e-3 or self.slides(first, slopes[first]):
            raise Uncertain("a root that grazes, slides, or has company")
        return flipped

    def leave_roots(self, rhs):
        """The atoms that a jump has put exactly onto their root, and that the solution flips at once."""
        short, flipped = 1e-6, []
        y = self.y + short*rhs(self.t, self.y)
        for i, (d, f) in enumerate(zip(self.differences(), self.difference)):
            after = f(self.t + short, y, self.inputs(self.t + short), self.truth)
            if abs(d) < NEAR and (after > 0) != self.truth[i]:
                if d != 0:
                    raise Uncertain("a root that is not left")
                flipped.append(i)
        return flipped

    def slides(self, i, slope):
        """Whether the atom's difference turns round when it is flipped."""
        truth = list(self.truth)
        truth[i] = not truth[i]
        y, u = self.y, self.inputs(self.t)
        rate = np.array(self.rhs(self.t, y, u, truth))
        after = (self.difference[i](self.t + 1e-6, y + 1e-6*rate, self.inputs(self.t + 1e-6), truth)
                 - self.difference[i](self.t, y, u, truth))/1e-6
        return after*slope < 0

    def check_roots(self, done):
        """No atom may come close to its root and turn, or be there at the start and not leave it."""
        t = np.linspace(done.t[0], done.t[-1], 40)[1:-1]
        y = done.sol(t)
        for f, is_true in zip(self.difference, self.truth):
            d = np.array([f(a, b, self.inputs(a), self.truth) for a, b in zip(t, y.T)])*(1 if is_true else -1)
            if np.any((d[1:-1] < 1e-4) & (d[1:-1] <= d[:-2]) & (d[1:-1] <= d[2:])):
                raise Uncertain("a root that is nearly missed")
