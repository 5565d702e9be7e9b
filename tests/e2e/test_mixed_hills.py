"""Datasets whose integrands have several modes, plateaus or long slopes: a few measurements of a sigmoid curve, an infusion,
oral absorption (fast absorption and slow elimination, or the reverse), a peak whose time is random. -2 log L against a plain
grid over the distribution of the random effects.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 1800
"""
import numpy as np
from scipy.special import logsumexp

import helpers as h
import mixed

h.compile_as_users_do()


def hill(p, t, b):
    return p["E0"] + p["Emax"] / (1 + np.exp(np.minimum(p["h"] * np.exp(b[0]) * (np.log(p["EC50"]) - np.log(t)), 300)))


def emax(p, t, b):
    return p["E0"] * np.exp(b[1]) + p["Emax"] * t / (p["EC50"] * np.exp(b[0]) + t)


def oral(p, t, b):
    ka, volume = p["ka"] * np.exp(b[0]), p["V"] * np.exp(b[1])
    k = p["Cl"] / volume
    ka = np.where(np.abs(ka - k) < 1e-9 * k, ka * (1 + 1e-8), ka)
    return 100 / volume * ka / (ka - k) * (np.exp(-k * t) - np.exp(-ka * t))


def infusion(p, t, b):
    k = p["Cl"] / (p["V"] * np.exp(b[0]))
    return 100 / p["Cl"] * -np.expm1(-k * np.minimum(t, 1)) * np.exp(-k * np.maximum(t - 1, 0))


def peak(p, t, b):
    return p["A"] * np.exp(-0.5 * ((t - p["T"] * np.exp(b[0])) / p["w"])**2) + p["B"]


# The curve, true values, what is random, the model's observable, times, and how many of these a dataset has.
SPARSE = [0.3, 1, 2, 4, 8, 20]
MODELS = [
    (hill, {"E0": 5, "Emax": 60, "EC50": 3, "h": 3}, ["h"], "E0 + Emax/(1 + exp(min(h*(log(EC50) - log(t)), 300)))", SPARSE,
     (2, 4)),
    (emax, {"E0": 5, "Emax": 60, "EC50": 3}, ["EC50", "E0"], "E0 + Emax*t/(EC50 + t)", SPARSE, (1, 4)),
    (oral, {"ka": 1.5, "V": 20, "Cl": 3}, ["ka", "V"], "100/V*ka/(ka - Cl/V)*(exp(-Cl/V*t) - exp(-ka*t))", SPARSE, (2, 5)),
    (infusion, {"V": 20, "Cl": 3}, ["V"], "100/Cl*(1 - exp(-Cl/V*min(t, 1)))*exp(-Cl/V*max(t - 1, 0))",
     [0.3, 1, 2, 4, 6.4, 9], (2, 4)),
    (peak, {"A": 10, "T": 5, "w": 1.0, "B": 1}, ["T"], "A*exp(-0.5*((t - T)/w)^2) + B", [1, 2, 3, 4, 5, 6, 8, 10, 12], (2, 4)),
]


class Study:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.curve, self.truth, self.random, self.observable, times, (few, many) = MODELS[seed % len(MODELS)]
        n = int(rng.integers(6, 25))
        deviation, relative = rng.uniform(0.3, 0.9, len(self.random)), rng.uniform(0.03, 0.15)
        self.rows = []
        for _ in range(n):
            b = [*(deviation * rng.standard_normal(len(self.random))), 0, 0]
            t = np.sort(rng.choice(times, size=rng.integers(few, many), replace=False))
            y, sigma = self.curve(self.truth, t, b), relative * np.abs(self.curve(self.truth, t, [0, 0])).mean()
            self.rows.append((t, y + sigma * rng.standard_normal(t.size), sigma))
        self.start = {name: float(value * np.exp(0.3 * rng.standard_normal())) for name, value in self.truth.items()}

    def write(self, tmp):
        """The words of a run."""
        rows = [f"s{i},{t!r},{y!r},{float(sigma)!r}" for i, (times, values, sigma) in enumerate(self.rows)
                for t, y in zip(times.tolist(), values.tolist())]
        (tmp / "d.csv").write_text("\n".join(["dataset,time,value,sigma", *rows, ""]))
        lines = [f"parameter {name} = {value!r} scale log" for name, value in self.start.items()]
        (tmp / "m.ode").write_text("\n".join([*lines, f"observe y = {self.observable}", ""]))
        h.stiffit("import", tmp / "d.csv", "--model", tmp / "m.ode", "-o", tmp / "p.h5", "-q", "--overwrite")
        shared = [name for name in self.truth if name not in self.random]
        return [tmp / "p.h5", "--random", ",".join(self.random), "--share", ",".join(shared),
                "--random-covariance", "diagonal"]

    def minus_2_log_likelihood(self, found):
        """At the estimates found. With the spacing halved the sums below change by less than 1e-4."""
        values = dict(zip(found["shared_name"], found["shared"])) | dict(zip(found["name"], np.exp(found["mean"])))
        deviation = dict(zip(found["name"], found["standard_deviation"]))
        z = np.linspace(-7, 7, 2801 if len(self.random) == 1 else 561)
        density = -0.5 * z * z - 0.5 * np.log(2 * np.pi) + np.log(z[1] - z[0])
        if len(self.random) == 1:
            b = [deviation[self.random[0]] * z, 0]
        else:
            grid = np.meshgrid(z, z, indexing="ij")
            b = [deviation[name] * side.ravel() for name, side in zip(self.random, grid)]
            density = np.add.outer(density, density).ravel()
        total = 0
        with np.errstate(all="ignore"):
            for times, measured, sigma in self.rows:
                logarithm = density - times.size * np.log(np.sqrt(2 * np.pi) * sigma)
                for t, y in zip(times, measured):
                    logarithm = logarithm - 0.5 * ((y - self.curve(values, t, b)) / sigma)**2
                total -= 2 * logsumexp(logarithm[np.isfinite(logarithm)])
        return total


def compare(tmp, seed):
    """-2 log L, its error as printed, and the right value."""
    study = Study(seed)
    problem, *words = study.write(tmp)
    found = mixed.run([problem], *words, "-j", 1, "--overwrite", "--restart", code=None)
    return found["minus_2_log_likelihood"], found["minus_2_log_likelihood_error"], study.minus_2_log_likelihood(found)


# By points around the highest mode alone -2 log L is 0.09, 264, 0.27 and 0.04 too large, and its printed error a tenth of
# that, or less.
def test_several_hills(tmp):
    for seed in (8, 14, 47, 88):
        got, error, right = compare(tmp, seed)
        assert abs(got - right) < 3 * error + 0.01, (seed, got, error, right)
        assert error < 0.5, (seed, error)


@h.slow
def test_many_studies(tmp):
    """Errors are estimates: of 100 studies three may be off by more than three of them (13 are by points around one mode)."""
    found = [(seed, *compare(tmp, seed)) for seed in range(100)]
    off = [(seed, got, error, right) for seed, got, error, right in found if abs(got - right) >= 3 * error + 0.01]
    assert len(off) <= 3, off


if __name__ == "__main__":
    h.main()
