"""Random models that are stiff from time to time: what makes them so begins and ends by time, by a switch or by a state; or
they oscillate between slow branches, follow, react, rotate, or are never stiff.

SPDX-License-Identifier: BSD-3-Clause
"""
import random


class StiffModel:
    """The text of a model; its first line is what judge_turns reads. One to three parts, which a slow state may couple."""

    def __init__(self, seed, end=None, rtols=(3, 4, 5, 6, 6, 7, 8, 9), n_parts=(1, 1, 2, 2, 3), kinds=None):
        self.rng = random.Random(seed)
        self.states, self.parameters, self.lines = [], [], []
        self.end = end or round(10 ** self.rng.uniform(0.5, 1.7), 2)
        self.rtol = 10 ** -self.rng.choice(rtols)
        self.kinds = []
        self.drive = None if kinds else self.wave()
        for _ in range(self.rng.choice(n_parts)):
            name = self.rng.choice(kinds or KINDS)
            self.kinds.append(name)
            getattr(self, name)()
        self.text = "\n".join([f"# {self.rtol:g} {self.end:g} {' '.join(self.kinds)}",
                               *(f"parameter {name} = {value!r}" for name, value in self.parameters), *self.lines,
                               "observe " + ", ".join(self.states)]) + "\n"

    def parameter(self, value):
        name = f"p{len(self.parameters)}"
        self.parameters.append((name, float(f"{value:.4g}")))
        return name

    def state(self, initial):
        name = f"x{len(self.states)}"
        self.states.append(name)
        self.lines.append(f"{name}(0) = {initial}")
        return name

    def rate(self, state, text):
        self.lines.append(f"{state}' = {text}")

    def size(self, low, high):
        return 10 ** self.rng.uniform(low, high)

    def wave(self):
        """A smooth function of time or of a slow state, of size 1."""
        kind = self.rng.choice(["time", "decay", "cycle", "one"])
        if kind == "time":
            return f"sin({self.size(-1, 0.5):.4g}*t)"
        if kind == "one":
            return "1"
        slow = self.state(1)
        if kind == "decay":
            self.rate(slow, f"-{self.parameter(self.size(-1.5, 0))}*{slow}")
            return slow
        other, per = self.state(0), self.parameter(self.size(-0.7, 0.5))
        self.rate(slow, f"{per}*{other}")
        self.rate(other, f"-{per}*{slow}")
        return slow

    def window(self):
        """Between 0 and 1, for what is stiff in parts of the time. All digits of small values are right: rounding errors that
        are added make steps short."""
        first, last = sorted(self.rng.uniform(0.05, 0.95) * self.end for _ in range(2))
        width = self.end * self.size(-3, -1)
        kind = self.rng.choice(["smooth", "smooth", "switch", "pulses", "switch pulses", "state", "begins", "ends", "always"])
        if kind == "smooth":
            return f"(1/(1 + exp(-(t - {first:.4g})/{width:.4g}))/(1 + exp((t - {last:.4g})/{width:.4g})))"
        if kind == "switch":
            return f"if(t > {first:.4g} and t < {last:.4g}, 1, 0)"
        if kind == "pulses":
            return f"(1/(1 + exp(-{self.size(0, 1.5):.4g}*sin({self.rng.uniform(1, 6) * 6.28 / self.end:.4g}*t))))"
        if kind == "switch pulses":
            return f"if(sin({self.rng.uniform(1, 6) * 6.28 / self.end:.4g}*t) > {self.rng.uniform(-0.7, 0.7):.3g}, 1, 0)"
        if kind == "begins":
            return f"(1/(1 + exp(-(t - {first:.4g})/{width:.4g})))"
        if kind == "ends":
            return f"exp(-t/{self.rng.uniform(0.03, 0.4) * self.end:.4g})"
        if kind == "always":
            return "1"
        grows = self.state(f"{self.size(-6, -2):.3g}")
        self.rate(grows, f"{self.parameter(self.rng.uniform(8, 30) / self.end)}*{grows}*(1 - {grows})")
        return grows

    # --- parts ---
    def follower(self):
        x, fast = self.state(self.rng.choice([0, 1])), self.parameter(self.size(0.5, 5))
        self.rate(x, f"-{fast}*{self.window()}*({x} - {self.drive}) - {self.parameter(self.size(-1, 1))}*{x}")

    def slow_follower(self):
        """What follows is a fast state's target, and what it drives is read by it."""
        x, z = self.state(0), self.state(1)
        fast, slow = self.parameter(self.size(1, 5)), self.parameter(self.size(-1, 0.5))
        self.rate(x, f"-{fast}*{self.window()}*({x} - {z}^2) + {slow}*(1 - {x})")
        self.rate(z, f"-{slow}*{z}*{x} + 0.3*{self.drive}")

    def rotation(self):
        """A pair of complex eigenvalues."""
        x, y, damp = self.state(1), self.state(0), self.parameter(self.size(0, 4))
        turn = self.parameter(self.size(-1, 0.3) * (damp and 1) * self.size(0, 2))
        on = self.window()
        self.rate(x, f"-{damp}*{on}*({x} - {self.drive}) + {turn}*{y}")
        self.rate(y, f"-{turn}*{x} - {damp}*{on}*{y}")

    def reaction(self):
        """A + B <-> C fast, C -> slow; and a feed that comes and goes."""
        a, b, c = self.state(1), self.state(f"{self.size(-2, 0):.3g}"), self.state(0)
        on, off, slow = (self.parameter(v) for v in (self.size(1, 5), self.size(0, 4), self.size(-1.5, 0.5)))
        feed = f"{self.size(-1.5, 0):.3g}*{self.window()}"
        self.rate(a, f"-{on}*{a}*{b} + {off}*{c} + {feed} - 0.1*{a}")
        self.rate(b, f"-{on}*{a}*{b} + {off}*{c} + {slow}*{c}")
        self.rate(c, f"{on}*{a}*{b} - {off}*{c} - {slow}*{c}")

    def robertson(self):
        a, b, c = self.state(1), self.state(0), self.state(0)
        first, second, third = (self.parameter(v) for v in (self.size(-2, -1), self.size(5, 7.6), self.size(2, 4)))
        self.rate(a, f"-{first}*{a} + {third}*{b}*{c}")
        self.rate(b, f"{first}*{a} - {third}*{b}*{c} - {second}*{b}^2")
        self.rate(c, f"{second}*{b}^2")

    def van_der_pol(self):
        x, y = self.state(2), self.state(0)
        mu, per = self.parameter(self.size(-1, 2.5)), self.parameter(self.size(-0.3, 0.8))
        self.rate(x, f"{per}*{y}")
        self.rate(y, f"{per}*({mu}*(1 - {x}^2)*{y} - {x})")

    def fast_slow(self):
        """FitzHugh and Nagumo: a fast cubic state on a slow one."""
        v, w = self.state(-1), self.state(1)
        fast, slow = self.parameter(self.size(0, 4)), self.parameter(self.size(-1.5, 0))
        self.rate(v, f"{fast}*({v} - {v}^3/3 - {w} + 0.5)")
        self.rate(w, f"{slow}*({v} + 0.7 - 0.8*{w})")

    def oregonator(self):
        x, y, z = self.state(1), self.state(2), self.state(3)
        per = self.size(-1, 1)
        s, q = self.parameter(77.27 * self.size(-0.5, 0.2)), self.parameter(8.375e-6 * self.size(0, 2))
        w = self.parameter(0.161)
        self.rate(x, f"{per:.3g}*{s}*({y} + {x}*(1 - {q}*{x} - {y}))")
        self.rate(y, f"{per:.3g}*({z} - (1 + {x})*{y})/{s}")
        self.rate(z, f"{per:.3g}*{w}*({x} - {z})")

    def flame(self):
        y, per = self.state(f"{self.size(-5, -2):.3g}"), self.parameter(self.size(0, 4))
        self.rate(y, f"{per}*({y}^2 - {y}^3)*{self.window()}")

    def chain(self):
        """A cascade in which each state is faster, or slower."""
        rates = sorted(self.size(-1, 4) for _ in range(self.rng.randint(2, 4)))
        if self.rng.random() < 0.5:
            rates.reverse()
        before = self.window()
        for value in rates:
            x, k = self.state(0), self.parameter(value)
            self.rate(x, f"{k}*({before} - {x})")
            before = x

    def brusselator(self):
        x, y = self.state(1), self.state(3)
        a, b, per = self.parameter(1), self.parameter(self.size(0.3, 1.5)), self.parameter(self.size(-0.5, 0.5))
        self.rate(x, f"{per}*({a} + {x}^2*{y} - ({b} + 1)*{x})")
        self.rate(y, f"{per}*({b}*{x} - {x}^2*{y})")

    def lotka(self):
        x, y = self.state(1), self.state(1)
        k = [self.parameter(self.size(-0.7, 0.7)) for _ in range(3)]
        self.rate(x, f"{k[0]}*{x} - {k[1]}*{x}*{y}")
        self.rate(y, f"{k[1]}*{x}*{y} - {k[2]}*{y}")

    def shear(self):
        """Real eigenvalues far apart, and far from normal."""
        x, y = self.state(1), self.state(1)
        slow, fast, skew = (self.parameter(v) for v in (self.size(-1, 1), self.size(1, 5), self.size(0, 4)))
        on = self.window()
        self.rate(x, f"-{slow}*{x} + {skew}*{on}*({y} - 0.5*{self.drive})")
        self.rate(y, f"-{fast}*{on}*({y} - 0.5*{self.drive}) - 0.1*{y}")

    def enzyme(self):
        """Saturation: fast while there is substrate."""
        s, e = self.state(f"{self.size(-0.5, 1):.3g}"), self.state(0)
        v, k, back = (self.parameter(x) for x in (self.size(0, 3), self.size(-4, 0), self.size(-1, 3)))
        self.rate(s, f"-{v}*{s}/({k} + {s}) + {self.window()}")
        self.rate(e, f"{v}*{s}/({k} + {s}) - {back}*{e}")


KINDS = ["follower", "follower", "slow_follower", "rotation", "reaction", "robertson", "van_der_pol", "fast_slow", "oregonator",
         "flame", "chain", "brusselator", "lotka", "shear", "enzyme"]
