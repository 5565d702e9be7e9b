"""Random networks that start wholly or partly at zero, and what drives them: ramps, linear inputs, late doses and infusions, and
events, often after a long rest. Their trajectories are SciPy's (LSODA), in scaled states and time; the model texts have units
from 1e-12 to 1e12. Equal seeds give equal networks.

SPDX-License-Identifier: BSD-3-Clause

A term of a rate is (Python source, its numbers in model text, states it changes, with signs); `{c}` in the source stands for a
constant whose unit is that of the changed state over time.
"""
import random

import numpy as np
from scipy.integrate import odeint

RTOLS = (1e-5, 1e-6, 1e-8, 1e-9)


class Unjudged(Exception):
    """SciPy does not know the trajectory well."""


class Network:
    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.end = 10**rng.uniform(0, 2.5)
        self.term = []        # (constant, factors, changed): factors are functions of a way to write x[j], t and the input
        self.x0 = []
        self.dose, self.event, self.knots = [], [], None
        self.kind = rng.choice(["mass action", "genes", "pk", "pk", "totals"])
        {"mass action": self.mass_action, "genes": self.genes, "pk": self.pk, "totals": self.totals}[self.kind]()
        self.n = len(self.x0)
        self.drive()
        low = self.end*10**rng.uniform(-6, -1)
        n_time = rng.randint(3, 8)
        self.time = sorted({*np.geomspace(low, self.end, n_time)} if rng.random() < 0.5 else
                           {*np.linspace(self.end/n_time, self.end, n_time)})
        self.time_unit = 10**rng.uniform(-9, 9)
        unit = 10**rng.uniform(-12, 12)
        self.unit = [unit for _ in self.x0]
        self.rtol = rng.choice(RTOLS)

    # --- what is drawn ---
    def rate(self, stiff=0.2):
        rng = self.rng
        return 10**(rng.uniform(-3, 6) if rng.random() < stiff else rng.uniform(-1.5, 1.5))/self.end*10

    def add(self, constant, factor, *changed):
        self.term.append((constant, factor, changed))

    def mass(self, k, reactants, products):
        """reactants -> products, each a list of states"""
        changed = [(i, -1) for i in reactants] + [(i, 1) for i in products]
        for i, sign in changed:
            self.add(sign*k, ("mass", tuple(reactants)), i)

    def mass_action(self):
        rng = self.rng
        n = rng.randint(3, 10)
        self.x0 = [0.0]*n
        if rng.random() < 0.8:
            for i in rng.sample(range(n), rng.randint(1, max(1, n//3))):
                self.x0[i] = round(10**rng.uniform(-2, 1), 3)
        for j in range(n):
            i = (j + 1) % n
            self.mass(self.rate(), [j], [i])
        for _ in range(rng.randint(0, n)):
            a, b, c = (rng.randrange(n) for _ in range(3))
            self.mass(self.rate(0.3), rng.choice([[a, b], [a, a], [a]]), [c])
        for j in rng.sample(range(n), rng.randint(0, n)):
            self.mass(self.rate(), [j], [])

    def genes(self):
        """a cascade of genes, silent but for the first: messenger and protein of each"""
        rng = self.rng
        n_gene = rng.randint(2, 6)
        self.x0 = [0.0]*(2*n_gene)
        if rng.random() < 0.3:
            self.x0[1] = round(rng.uniform(0.1, 2), 3)
        for g in range(n_gene):
            m, p = 2*g, 2*g + 1
            if g > 0:
                self.add(self.rate(0), ("hill", p - 2, round(10**rng.uniform(-1.5, 0.5), 3), rng.randint(1, 4)), m)
            if rng.random() < 0.2:
                self.add(self.rate(0)*1e-6, ("mass", ()), m)
            self.mass(self.rate(0.1), [m], [])
            self.add(self.rate(0.1), ("mass", (m,)), p)
            if rng.random() < 0.3:
                k = self.rate(0)
                self.add(-k, ("mm", p, round(10**rng.uniform(-3, 0), 5)), p)
            self.mass(self.rate(0.1), [p], [])

    def pk(self):
        """transit compartments, a centre with peripheral ones, and an effect that rests at a baseline"""
        rng = self.rng
        n_transit, n_periphery = rng.randint(1, 5), rng.randint(0, 2)
        centre = n_transit
        self.x0 = [0.0]*(centre + 1 + n_periphery)
        for j in range(n_transit):
            self.mass(self.rate(0.1), [j], [j + 1])
        for i in range(n_periphery):
            k = self.rate(0.1)
            self.mass(k, [centre], [centre + 1 + i])
            self.mass(k*rng.uniform(0.1, 2), [centre + 1 + i], [centre])
        k = self.rate(0.1)
        self.add(-k, rng.choice([("mass", (centre,)), ("mm", centre, round(10**rng.uniform(-4, 0), 6))]), centre)
        if rng.random() < 0.6:
            effect = len(self.x0)
            out = self.rate(0)
            level = round(rng.uniform(0.5, 5), 3) if rng.random() < 0.7 else 0.0
            self.x0.append(level)
            if level:
                self.add(out*level, ("mass", ()), effect)
            self.add(out, ("hill", centre, round(10**rng.uniform(-2, 0), 3), rng.randint(1, 3)), effect)
            self.mass(out, [effect], [])

    def totals(self):
        """a signalling cascade whose active forms are totals less the inactive ones"""
        rng = self.rng
        n = rng.randint(2, 5)
        totals = [round(10**rng.uniform(0, 1), 3) for _ in range(n)]
        self.x0 = [0.0, *totals, 0.0]
        self.add(self.rate(0), ("mass", ()), 0)
        self.mass(self.rate(0), [0], [])
        for g in range(n):
            forward, back = self.rate(0), self.rate(0)
            if g == 0:
                self.add(-forward, ("mass", (0, 1)), 1)
            else:
                self.add(-forward, ("active", g, totals[g - 1], g + 1), g + 1)
            self.add(back, ("active", g + 1, totals[g], None), g + 1)
        self.add(self.rate(0), ("active", n, totals[-1], None), n + 1)
        self.mass(self.rate(0), [n + 1], [])

    def drive(self):
        rng, n = self.rng, self.n
        first = 0
        ways = ["ramp", "square", "wave", "input", "bolus", "infusion", "set", "add"]
        chosen = rng.sample(ways, rng.randint(1, 3)) if not any(self.x0) or rng.random() < 0.7 else []
        for way in chosen:
            late = self.end*rng.choice([0.01, 0.3, 0.79, round(rng.uniform(0, 0.9), 4)])
            size = round(10**rng.uniform(-1, 1), 4)
            target = first if rng.random() < 0.7 else rng.randrange(n)
            if way in ("ramp", "square", "wave"):
                self.add(size/self.end*10**rng.uniform(-2, 2), (way,), target)
            elif way == "input":
                self.knots = rng.choice([[(0.0, 0.0), (self.end, size)],
                                         [(0.0, 0.0), (late, 0.0), (self.end, size)]]) if late > 0 else [(0.0, 0.0), (self.end, 1.0)]
                self.add(10/self.end, ("input",), target)
            elif way in ("bolus", "infusion"):
                length = round(self.end*rng.uniform(0.01, 0.5), 6) if way == "infusion" else 0.0
                count = rng.choice([1, 1, 3])
                self.dose.append((late, size, length, self.end/4, count, target))
            else:
                self.event.append((late, way, target, size))
        self.dose.sort()

    # --- model text ---
    def text(self):
        u, w = self.unit, self.time_unit
        rates = [[] for _ in self.x0]
        for constant, factor, changed in self.term:
            for i in changed:
                rates[i].append(self.term_text(constant*u[i]/w, factor))
        lines = ["parameter one = 1"] + (["input v linear"] if self.knots else [])
        for i, x in enumerate(self.x0):
            lines += [f"y{i}(0) = {x*u[i]!r}", f"y{i}' = {' + '.join(rates[i]) or '0'}", f"observe y{i}"]
        for k, (t, way, i, size) in enumerate(self.event):
            value = f"{size*u[i]!r}"
            lines.append(f"event e{k} at {t*w!r}: y{i} = {value if way == 'set' else f'y{i} + {value}'}")
        return "\n".join(lines) + "\n"

    def term_text(self, c, factor):
        u, w, (kind, *data) = self.unit, self.time_unit, factor
        if kind == "mass":
            for j in data[0]:
                c /= u[j]
            return "*".join([f"({c!r})*one"] + [f"y{j}" for j in data[0]])
        if kind == "hill":
            j, k, h = data
            return f"({c!r})*one*y{j}^{h}/({k*u[j]!r}^{h} + y{j}^{h})"
        if kind == "mm":
            j, k = data
            return f"({c!r})*one*y{j}/({k*u[j]!r} + y{j})"
        if kind == "active":
            j, total, times = data
            c /= u[j]
            if times is None:
                return f"({c!r})*one*({total*u[j]!r} - y{j})"
            return f"({c/u[times]!r})*one*({total*u[j]!r} - y{j})*y{times}"
        if kind == "ramp":
            return f"({c/(self.end*w)!r})*one*t"
        if kind == "square":
            return f"({c/(self.end*w)**2!r})*one*t^2"
        if kind == "wave":
            return f"({c!r})*one*(1 - cos({20/(self.end*w)!r}*t))"
        return f"({c!r})*one*v"

    def commands(self, path):
        u, w = self.unit, self.time_unit
        lines = [f"model {path}"]
        for t, size, length, interval, count, i in self.dose:
            lines.append("dose " + " ".join(map(repr, (t*w, size*u[i], length*w, interval*w, count, i))))
        if self.knots:
            lines.append("input " + " ".join(f"{t*w!r} {v!r}" for t, v in self.knots))
        lines += [f"time {float(t*w)!r} 1" for t in self.time]
        return lines

    # --- SciPy ---
    def term_python(self, c, factor):
        kind, *data = factor
        if kind == "mass":
            return "*".join([f"({c!r})"] + [f"x[{j}]" for j in data[0]])
        if kind == "hill":
            j, k, h = data
            return f"({c!r})*x[{j}]**{h}/({k**h!r} + x[{j}]**{h})"
        if kind == "mm":
            j, k = data
            return f"({c!r})*x[{j}]/({k!r} + x[{j}])"
        if kind == "active":  # z: the active amount itself
            j, _, times = data
            return f"({c!r})*z[{j}]" + (f"*x[{times}]" if times is not None else "")
        if kind == "ramp":
            return f"({c/self.end!r})*t"
        if kind == "square":
            return f"({c/self.end**2!r})*t*t"
        if kind == "wave":
            return f"({2*c!r})*math.sin({10/self.end!r}*t)**2"
        return f"({c!r})*v(t)"

    def function(self, infused):
        """The rates at the state x; of a cascade of totals, x is the active part, which has no cancellation."""
        rates = [[] for _ in self.x0]
        for constant, factor, changed in self.term:
            for i in changed:
                rates[i].append(self.term_python(constant, factor))
        flips = self.flips()
        for i, rate in infused:
            rates[i].append(repr(rate))
        lines = ["def f(z, t):", "  x = z"]
        if flips:
            lines = ["def f(z, t):", "  x = [" + ", ".join(
                f"{flips[i]!r} - z[{i}]" if i in flips else f"z[{i}]" for i in range(self.n)) + "]"]
        lines.append("  return [" + ", ".join(("-(" if i in flips else "(") + (" + ".join(r) or "0.0") + ")"
                                              for i, r in enumerate(rates)) + "]")
        names = {"v": self.v}
        exec("import math\n" + "\n".join(lines), names)
        return names["f"]

    def flips(self):
        return {i: self.x0[i] for i in range(1, self.n - 1)} if self.kind == "totals" else {}

    def v(self, t):
        times, values = zip(*self.knots)
        return float(np.interp(t, times, values))

    def happenings(self):
        """(time, what, state, value), in order"""
        found = [(t, 0, way, i, size) for t, way, i, size in self.event]
        for t, size, length, interval, count, i in self.dose:
            for k in range(count):
                at = t + k*interval
                if length:
                    found += [(at, 2, "on", i, size/length), (at + length, 1, "off", i, size/length)]
                else:
                    found.append((at, 2, "add", i, size))
        return sorted(found, key=lambda h: h[:2])

    def run(self, rtol, atol):
        """z at all times of measurement"""
        flips = self.flips()
        z = np.array([0.0 if i in flips else x for i, x in enumerate(self.x0)])
        infused, todo, rows, t = [], self.happenings(), [], 0.0
        times = list(self.time)
        knots = [k for k, _ in self.knots or []]
        while times:
            while todo and todo[0][0] <= t*(1 + 1e-14):
                _, _, what, i, value = todo.pop(0)
                sign = -1 if i in flips else 1
                if what == "add":
                    z[i] += sign*value
                elif what == "set":
                    z[i] = flips[i] - value if i in flips else value
                elif what == "on":
                    infused.append((i, value))
                else:
                    infused.remove((i, value))
            while times and times[0] <= t*(1 + 1e-14):
                rows.append(z.copy())
                times.pop(0)
            if not times:
                break
            stop = min([times[-1]] + [h[0] for h in todo] + [k for k in knots if k > t*(1 + 1e-14)])
            inner = [s for s in times if t*(1 + 1e-14) < s < stop*(1 - 1e-14)]
            grid = np.array([t, *inner, stop])
            done, how = odeint(self.function(infused), z, grid, rtol=rtol, atol=atol, mxstep=200000, hmax=self.end/20,
                               full_output=True, printmessg=False)
            if how["message"] != "Integration successful.":
                raise Unjudged(how["message"])
            if not np.all(np.abs(done) < 1e12):
                raise Unjudged("it grows without bounds")
            for row in done[1:-1]:
                rows.append(row)
                times.pop(0)
            z, t = done[-1].copy(), stop
        return np.array(rows)

    def reference(self):
        """Rows of x, in the text's units, and the size of each state."""
        z = self.run(1e-6, 1e-12)
        size = np.maximum(np.abs(z).max(axis=0), 1e-30)
        rough, exact = (self.run(rtol, np.maximum(1e-14*size, 1e-40)) for rtol in (1e-9, 3e-12))
        size = np.maximum(np.abs(exact).max(axis=0), 1e-300)
        scale = np.maximum(np.abs(exact)**0.75*size**0.25, 1e-6*size)
        if (np.abs(rough - exact) > 1e-5*scale).any():
            raise Unjudged("two tolerances differ")
        return exact, size
