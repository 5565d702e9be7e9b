"""Simulated studies of populations whose datasets are sparse, with -2 log L by a plain grid over the distribution of the random
effects: sigmoid and Emax curves, oral absorption, an infusion, a peak whose time is random, a concentration with its effect,
measurements below a limit, occasions.

SPDX-License-Identifier: BSD-3-Clause
"""
from dataclasses import dataclass, field

import numpy as np
from scipy.special import log_ndtr, logsumexp

import helpers as h
import mixed


def hill(p, t):
    return p["E0"] + p["Emax"] / (1 + np.exp(np.minimum(p["h"] * (np.log(p["EC50"]) - np.log(t)), 300)))


def emax(p, t):
    return p["E0"] + p["Emax"] * t / (p["EC50"] + t)


def oral(p, t):
    ka, volume = p["ka"], p["V"]
    k = p["Cl"] / volume
    ka = np.where(np.abs(ka - k) < 1e-9 * k, ka * (1 + 1e-8), ka)
    return 100 / volume * ka / (ka - k) * (np.exp(-k * t) - np.exp(-ka * t))


def infusion(p, t):
    k = p["Cl"] / p["V"]
    return 100 / p["Cl"] * -np.expm1(-k * np.minimum(t, 1)) * np.exp(-k * np.maximum(t - 1, 0))


def peak(p, t):
    return p["A"] * np.exp(-0.5 * ((t - p["T"]) / p["w"])**2) + p["B"]


def bolus(p, t):
    return 100 / p["V"] * np.exp(-p["Cl"] / p["V"] * t)


def effect(p, t):
    c = bolus(p, t)
    return p["E0"] + p["Emax"] * c / (p["EC50"] + c)


@dataclass
class Kind:
    curves: list        # of p and t, one for each observable
    truth: dict
    random: list
    observables: list   # in model text
    times: list         # of which a dataset has a few
    few: int            # so many at least,
    many: int           # and fewer than that
    limit: float = -np.inf  # measurements below it are censored
    varies: list = field(default_factory=list)  # between two experiments of a dataset


SPARSE = [0.3, 1, 2, 4, 8, 20]
ORAL = ["100/V*ka/(ka - Cl/V)*(exp(-Cl/V*t) - exp(-ka*t))"]
ABSORBED = {"ka": 1.5, "V": 20, "Cl": 3}
BOLUS = "100/V*exp(-Cl/V*t)"
HILLS = [  # integrands with several modes
    Kind([hill], {"E0": 5, "Emax": 60, "EC50": 3, "h": 3}, ["h"],
         ["E0 + Emax/(1 + exp(min(h*(log(EC50) - log(t)), 300)))"], SPARSE, 2, 4),
    Kind([emax], {"E0": 5, "Emax": 60, "EC50": 3}, ["EC50", "E0"], ["E0 + Emax*t/(EC50 + t)"], SPARSE, 1, 4),
    Kind([oral], ABSORBED, ["ka", "V"], ORAL, SPARSE, 2, 5),
    Kind([infusion], {"V": 20, "Cl": 3}, ["V"], ["100/Cl*(1 - exp(-Cl/V*min(t, 1)))*exp(-Cl/V*max(t - 1, 0))"],
         [0.3, 1, 2, 4, 6.4, 9], 2, 4),
    Kind([peak], {"A": 10, "T": 5, "w": 1.0, "B": 1}, ["T"], ["A*exp(-0.5*((t - T)/w)^2) + B"],
         [1, 2, 3, 4, 5, 6, 8, 10, 12], 2, 4),
]
OTHERS = [
    Kind([oral], ABSORBED, ["ka", "V", "Cl"], ORAL, SPARSE, 3, 6),
    Kind([bolus, effect], {"V": 20, "Cl": 3, "E0": 5, "Emax": 60, "EC50": 1.5}, ["V", "EC50"],
         [BOLUS, f"E0 + Emax*({BOLUS})/(EC50 + {BOLUS})"], SPARSE, 2, 4),
    Kind([bolus], {"V": 20, "Cl": 3}, ["V", "Cl"], [BOLUS], SPARSE, 2, 5, limit=1.0),
    Kind([oral], ABSORBED, [], ORAL, SPARSE, 2, 5, varies=["ka"]),
    Kind([emax], {"E0": 5, "Emax": 60, "EC50": 3}, [], ["E0 + Emax*t/(EC50 + t)"], SPARSE, 2, 4, varies=["E0"]),
]


class Study:
    """datasets: for each dataset and each of its experiments (observable, times, values, sigma) tuples. Searches begin at
    `start`, with typical errors of 30 % in each parameter, or at `far`, 3 to 10 times off."""
    def __init__(self, kind, seed):
        rng = np.random.default_rng(seed)
        self.kind = kind
        n = int(rng.integers(6, 25))
        deviation, relative = rng.uniform(0.3, 0.9, len(kind.random)), rng.uniform(0.03, 0.15)
        self.datasets = []
        for _ in range(n):
            b = deviation * rng.standard_normal(len(kind.random))
            self.datasets.append([self.draw(rng, dict(zip(kind.random, b)), relative) for _ in range(2 if kind.varies else 1)])
        self.start = {name: float(value * np.exp(0.3 * rng.standard_normal())) for name, value in kind.truth.items()}
        far = np.random.default_rng(seed + 10**6)
        self.far = {name: float(value * np.exp(far.choice([-1, 1]) * far.uniform(np.log(3), np.log(10))))
                    for name, value in kind.truth.items()}

    def draw(self, rng, effects, relative):
        effects = effects | {name: 0.4 * rng.standard_normal() for name in self.kind.varies}
        values = {name: value * np.exp(effects.get(name, 0)) for name, value in self.kind.truth.items()}
        rows = []
        for o, curve in enumerate(self.kind.curves):
            t = np.sort(rng.choice(self.kind.times, size=rng.integers(self.kind.few, self.kind.many), replace=False))
            y, sigma = curve(values, t), relative * np.abs(curve(self.kind.truth, t)).mean()
            rows.append((o, t, y + sigma * rng.standard_normal(t.size), float(sigma)))
        return rows

    def write(self, tmp, start):
        """The words of a run from that start."""
        lines, kind = ["dataset,experiment,observable,time,value,sigma,censored"], self.kind
        for i, experiments in enumerate(self.datasets):
            for e, rows in enumerate(experiments):
                lines += [f"s{i},e{e},y{o},{t!r},{max(y, kind.limit)!r},{sigma!r},{int(y < kind.limit)}"
                          for o, times, values, sigma in rows for t, y in zip(times.tolist(), values.tolist())]
        (tmp / "d.csv").write_text("\n".join([*lines, ""]))
        text = [f"parameter {name} = {value!r} scale log" for name, value in start.items()]
        text += [f"observe y{o} = {observable}" for o, observable in enumerate(kind.observables)]
        (tmp / "m.ode").write_text("\n".join([*text, ""]))
        h.stiffit("import", tmp / "d.csv", "--model", tmp / "m.ode", "-o", tmp / "p.h5", "-q", "--overwrite")
        shared = [name for name in kind.truth if name not in kind.random + kind.varies]
        random = kind.random + kind.varies + [f"{name}@experiment" for name in kind.varies]
        words = ["--random", ",".join(random), "--random-covariance", "diagonal"]
        return [tmp / "p.h5", *words, *(["--share", ",".join(shared)] if shared else [])]

    def fit(self, tmp, start=None, *words):
        problem, *others = self.write(tmp, start or self.start)
        return mixed.run([problem], *others, *words, "-j", 1, "--overwrite", "--restart", code=None)

    def log_of_rows(self, values, rows):
        total = 0
        for o, times, measured, sigma in rows:
            for t, y in zip(times, measured):
                curve = self.kind.curves[o](values, t)
                if y < self.kind.limit:
                    total = total + log_ndtr((self.kind.limit - curve) / sigma)
                else:
                    total = total - 0.5 * ((y - curve) / sigma)**2 - np.log(np.sqrt(2 * np.pi) * sigma)
        return total

    def minus_2_log_likelihood(self, found):
        """At the estimates found, and what every second point of the grids alone would change."""
        values = dict(zip(found["shared_name"], found["shared"])) | dict(zip(found["name"], np.exp(found["mean"])))
        deviation = dict(zip(found["name"], found["standard_deviation"]))
        occasion = dict(zip(found["occasion_name"], found["occasion_deviation"]))
        between = [name for name in found["name"] if deviation[name] > 0]
        within = [name for name in occasion if occasion[name] > 0]

        def integrate(experiments):
            def integrand(sides):
                """Its logarithm, with the effects of occasions (the last axes) summed within each experiment."""
                at, axes = dict(values), range(len(sides))
                along = [side.reshape([-1 if k == axis else 1 for k in axes]) for axis, side in enumerate(sides)]
                density = [-0.5 * z * z - 0.5 * np.log(2 * np.pi) + np.log(side[1] - side[0]) for side, z in zip(sides, along)]
                for name, z in zip(between, along):
                    at[name] = at[name] * np.exp(deviation[name] * z)
                for name, z in zip(within, along[len(between):]):
                    at[name] = at[name] * np.exp(occasion[name] * z)
                logarithm = sum(density[:len(between)])
                for rows in experiments:
                    of_rows = np.nan_to_num(self.log_of_rows(at, rows), nan=-np.inf)
                    for axis in axes[len(between):]:
                        of_rows = logsumexp(of_rows + density[axis], axis=axis, keepdims=True)
                    logarithm = logarithm + of_rows
                return logarithm

            n_axis = len(between) + len(within)
            sides = [np.linspace(-7, 7, {0: 1, 1: 2801, 2: 561, 3: 113}[n_axis])] * n_axis
            logarithm = integrand(sides)
            while not within and n_axis > 0:  # the grid closes in on what matters
                counts = np.argwhere(logarithm > np.max(logarithm) - 25)
                inner = [np.linspace(side[max(low - 1, 0)], side[min(high + 1, side.size - 1)], side.size)
                         for side, low, high in zip(sides, counts.min(axis=0), counts.max(axis=0))]
                if all(b[-1] - b[0] > 0.7 * (a[-1] - a[0]) for a, b in zip(sides, inner)):
                    break
                sides, logarithm = inner, integrand(inner)
            whole = logsumexp(logarithm)
            half = logsumexp(integrand([side[::2] for side in sides])) if n_axis > 0 else whole
            return np.array([whole, abs(whole - half)])

        with np.errstate(all="ignore"):
            value, error = sum(integrate(experiments) for experiments in self.datasets)
        return -2 * value, 2 * error


def study_of(seed):
    kinds = HILLS + OTHERS
    return Study(kinds[seed % len(kinds)], seed)
