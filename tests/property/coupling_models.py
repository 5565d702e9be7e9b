"""Random models in which states follow others fast, until they are released: what ends the coupling, or begins it, is a
function of time or a state; a follower may follow another one, exchange with it, or be pulled by way of a fast state.

SPDX-License-Identifier: BSD-3-Clause
"""
import random

from stiff_models import StiffModel


class CouplingModel(StiffModel):
    """As StiffModel, but all of its parts are couplings."""

    KINDS = ("follower", "follower", "follower", "two_followers", "chain_of_followers", "exchange", "by_force", "at_rest",
             "mixed")

    def __init__(self, seed):
        self.width = 10 ** random.Random(f"width {seed}").uniform(-3, -1)
        # the derivatives of 1/(1 + exp(x)) are those of overflow for an x over 709
        super().__init__(seed, end=float(f"{min(4, 400 * self.width):.3g}"), rtols=(4, 5, 6, 6, 7, 7, 8, 9, 10),
                         n_parts=(1, 1, 1, 2), kinds=self.KINDS)

    def rate_of_coupling(self, low=5, high=10):
        return self.parameter(self.size(low, high))

    def target(self):
        """A smooth function of one or two slow states, and of the parameters."""
        z = self.state(f"{self.size(-0.5, 0.5):.3g}")
        gain = self.parameter(self.size(-0.7, 0.7))
        kind = self.rng.choice(["decay", "decay", "cycle", "driven", "growth", "product"])
        k = self.parameter(self.size(-1, 0.7))
        if kind == "decay":
            self.rate(z, f"-{k}*{z}")
        elif kind == "growth":
            self.rate(z, f"{k}*{z}*(3 - {z})")
        elif kind == "driven":
            self.rate(z, f"{k}*(1 + sin({self.size(-0.3, 1):.3g}*t) - {z})")
        else:
            other = self.state(f"{self.size(-0.5, 0.5):.3g}")
            if kind == "cycle":
                self.rate(z, f"{k}*(1 - {other})")
                self.rate(other, f"{k}*({z} - 1)")
            else:
                self.rate(z, f"-{k}*{z}")
                self.rate(other, f"{k}*{z} - 0.3*{other}")
                return f"{gain}*{z}*{other}", z
        square = self.rng.random() < 0.2
        return (f"{gain}*{z}^2" if square else f"{gain}*{z}"), z

    def on(self):
        """Between 0 and 1. All digits of small values are right: rounding errors that are added make steps short."""
        at, width = self.rng.uniform(0.1, 0.9) * self.end, self.width
        time = "t" if self.rng.random() < 0.6 else self.clock()
        kind = self.rng.choice(["ends", "ends", "ends", "begins", "window", "gap", "hill", "hill", "fades", "gauss"])
        if kind == "ends":
            return f"(1/(1 + exp(({time} - {at:.4g})/{width:.4g})))"
        if kind == "begins":
            return f"(1/(1 + exp(-({time} - {at:.4g})/{width:.4g})))"
        if kind == "window":
            first = self.rng.uniform(0, at)
            return f"(1/(1 + exp(-({time} - {first:.4g})/{width:.4g}))/(1 + exp(({time} - {at:.4g})/{width:.4g})))"
        if kind == "gap":
            last = at + self.rng.uniform(0.1, 0.5) * self.end
            return f"(1/(1 + exp(({time} - {at:.4g})/{width:.4g})) + 1/(1 + exp(-({time} - {last:.4g})/{width:.4g})))"
        if kind == "hill":
            power = self.rng.choice([4, 8, 16, 40])
            return f"(1/(1 + ({time}/{at:.4g})^{power}))"
        if kind == "fades":
            return f"exp(-{time}/{10 * width:.4g})"
        return f"exp(-({time}/{at:.4g})^2*20)"

    def clock(self):
        """A state that grows like time."""
        clock = self.state(0)
        self.rate(clock, self.rng.choice(["1", f"1.5/(1 + {clock})", f"{self.parameter(1)} + 0.2*sin(2*t)"]))
        return clock

    def slow(self, x):
        k = self.parameter(self.size(-1.5, 0.3))
        return self.rng.choice([f"- {k}*{x}", f"+ {k}", f"- {k}*{x} + 0.3*cos(t)"])

    def follow(self, target):
        x = self.state(self.rng.choice([0, 1, 2]))
        self.rate(x, f"-{self.rate_of_coupling()}*{self.on()}*({x} - {target}) {self.slow(x)}")
        return x

    # --- parts ---
    def follower(self):
        self.follow(self.target()[0])

    def two_followers(self):
        target, z = self.target()
        self.follow(target)
        self.follow(z)

    def chain_of_followers(self):
        before = self.target()[0]
        for _ in range(self.rng.choice([2, 2, 3])):
            before = self.follow(before)

    def exchange(self):
        """Two states that are one, because they exchange fast, follow slower ones."""
        target, x, y = self.target()[0], self.state(1), self.state(self.rng.choice([0, 1]))
        fast, pull, ratio = self.rate_of_coupling(7, 10), self.rate_of_coupling(4, 7), f"{self.size(-0.5, 0.5):.3g}"
        self.rate(x, f"-{fast}*({x} - {ratio}*{y}) - {pull}*{self.on()}*({x} - {target}) {self.slow(x)}")
        self.rate(y, f"{fast}*({x} - {ratio}*{y})")

    def by_force(self):
        """A fast state pulls another one."""
        target, x, v = self.target()[0], self.state(1), self.state(0)
        pull = self.size(4, 7)
        fast = self.parameter(pull * self.size(1.5, 3))
        self.rate(v, f"-{fast}*({v} + {self.parameter(pull)}*{self.on()}*({x} - {target}))")
        self.rate(x, f"{v} {self.slow(x)}")

    def at_rest(self):
        """The target is at rest, but its derivatives move."""
        z, x, a = self.state(1), self.state(self.rng.choice([0, 0.5, 1])), self.parameter(self.size(-0.5, 0.3))
        b = self.parameter(1)
        self.parameters[-1] = (b, self.parameters[-2][1])
        speed = f"(1 + 0.5*sin({self.size(-0.3, 1):.3g}*t))"
        self.rate(z, f"{a}*{speed} - {b}*{speed}")
        self.rate(x, f"-{self.rate_of_coupling()}*{self.on()}*({x} - {z})")

    def mixed(self):
        """Mass that two states share fast, while a gate is open."""
        x, y, k = self.state(1), self.state(0), self.rate_of_coupling()
        flow, out = self.on(), self.parameter(self.size(-1, 0.7))
        self.rate(x, f"-{k}*{flow}*({x} - 0.5*{y}) + 0.5*sin(2*t)^2")
        self.rate(y, f"{k}*{flow}*({x} - 0.5*{y}) - {out}*{y}")
