#!/usr/bin/env python3
"""Priors of PEtab 2.0, plain and truncated by the bounds: log_prior, its slope and the starts drawn from them against
scipy.stats.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np
from scipy import stats
from scipy.integrate import quad

import helpers
import test_petab

YAML = """format_version: 2.0.0
parameter_files: [parameters.tsv]
model_files: {m: {language: sbml, location: model.xml}}
measurement_files: [measurements.tsv]
observable_files: [observables.tsv]
"""
# priorDistribution, priorParameters, the same distribution of SciPy, and bounds that hold most of it or cut both of its sides.
PRIORS = [
    ("normal", "1;0.5", stats.norm(1, 0.5), (-1e6, 1e6), (0.6, 1.2)),
    ("laplace", "1;0.5", stats.laplace(1, 0.5), (-1e6, 1e6), (0.2, 1.7)),
    ("cauchy", "1;0.5", stats.cauchy(1, 0.5), (-1e6, 1e6), (-2, 3)),
    ("uniform", "0.5;2", stats.uniform(0.5, 1.5), (-1e6, 1e6), (0.7, 1.5)),
    ("log-normal", "0.3;0.5", stats.lognorm(0.5, scale=np.exp(0.3)), (1e-6, 1e6), (0.8, 2)),
    ("log-laplace", "0.3;0.5", stats.loglaplace(2, scale=np.exp(0.3)), (1e-6, 1e6), (0.5, 3)),
    ("log-uniform", "0.5;2", stats.loguniform(0.5, 2), (1e-6, 1e6), (0.7, 1.5)),
    ("gamma", "2.5;0.4", stats.gamma(2.5, scale=0.4), (1e-6, 1e6), (0.5, 2)),
    ("chisquare", "3", stats.chi2(3), (1e-6, 1e6), (0.5, 4)),
    ("exponential", "2", stats.expon(scale=2), (1e-6, 1e6), (0.5, 4)),
    ("rayleigh", "1.5", stats.rayleigh(scale=1.5), (1e-6, 1e6), (0.5, 2)),
]
CASES = [(f"{name.replace('-', '_')}_{k}", name, numbers, like, bounds)
         for name, numbers, like, *both in PRIORS for k, bounds in enumerate(both)]


def write(folder, cases, nominal):
    """A problem whose only row does not depend on the parameters: they have no influence but through their priors."""
    return test_petab.write(
        folder, yaml=YAML, conditions=[["conditionId", "targetId", "targetValue"]],
        observables=[["observableId", "observableFormula", "noiseFormula"],
                     ["y", "A + 0*(" + " + ".join(case[0] for case in cases) + ")", 1]],
        measurements=[["observableId", "experimentId", "time", "measurement"], ["y", "", 0, 1]],
        parameters=[["parameterId", "lowerBound", "upperBound", "nominalValue", "estimate", "priorDistribution",
                     "priorParameters"]] +
                   [[name, *map(repr, bounds), repr(float(x)), "true", word, numbers]
                    for (name, word, numbers, _, bounds), x in zip(cases, nominal)])


def ends(like, bounds):
    """The bounds within the distribution's support, and the probabilities below them."""
    low, high = max(bounds[0], like.support()[0]), min(bounds[1], like.support()[1])
    return low, high, like.cdf(low), like.cdf(high)


def log_density(case, x):
    """Of SciPy, between the bounds."""
    _, _, _, like, bounds = case
    _, _, first, last = ends(like, bounds)
    return like.logpdf(x) - np.log(last - first)


def rounded_density(case, x):
    """The same as it is optimised: the kinks of laplace and log-laplace are rounded as stiffit-statistics(7) says."""
    _, word, numbers, _, _ = case
    if "laplace" not in word:
        return log_density(case, x)
    location, scale = map(float, numbers.split(";"))
    r = ((np.log(x) if word == "log-laplace" else x) - location)/scale
    return log_density(case, x) + np.abs(r) - np.sqrt(r**2 + 1e-4)


@helpers.both
def test_density(tmp):
    """log_prior and its slope on the optimiser's scale, one distribution at a time, at three points each."""
    for case in helpers.portion(CASES, 6):
        name, _, _, like, bounds = case
        _, _, first, last = ends(like, bounds)
        problem = tmp / f"{name}.h5"
        helpers.stiffit("import", write(tmp / name, [case], [like.ppf((first + last)/2)]), "-o", problem, "-q")
        for place in (0.13, 0.5, 0.81):
            x = like.ppf(first + place*(last - first))
            with h5py.File(problem, "a") as f:  # one model for all places
                f["parameters/start"][0] = x
            # not a trust region, whose first evaluations are rough
            helpers.stiffit("run", problem, "--max-evaluations", 1, "--certify", "no", "--overwrite", "--optimizer", "lbfgs",
                            "--gradient", "forward", code=None)
            with h5py.File(helpers.result_path(problem)) as f:
                at, found, slope = (f[f"fits/{column}"][0] for column in ("parameters", "log_prior", "gradient_norm"))
            assert abs(at[0] - x) <= 1e-12*abs(x), (name, at, x)
            # rounding of SciPy's and our distribution functions
            assert abs(found - log_density(case, x)) <= 1e-9, (name, place, found, log_density(case, x))
            step = 1e-5*abs(x)  # errors of the quotient: its square, and SciPy's rounding over it
            chain = x*np.log(10) if bounds[0] > 0 else 1  # positive bounds: log10
            want = abs(rounded_density(case, x + step) - rounded_density(case, x - step))/(2*step)*chain
            assert abs(slope - want) <= 1e-6*(1 + want), (name, place, slope, want)


def test_draws(tmp):
    """Starts are a Latin hypercube: of N starts, each of N parts of equal probability has one. The distance of Kolmogorov and
    Smirnov is then at most 1/N, where independent draws of the right distribution exceed 1.63/sqrt(N) in 1 of 100 cases."""
    n = 200
    problem = write(tmp / "p", CASES, [like.ppf(np.mean(ends(like, bounds)[2:])) for *_, like, bounds in CASES])
    helpers.stiffit("run", problem, "--starts", n + 1, "--seed", 3, "--keep-starts", "--max-evaluations", 1, "--certify", "no",
                    code=None)
    with h5py.File(tmp / "p" / "p.petab.result.h5") as f:
        names = [name.decode() for name in f["parameters/name"][:]]
        drawn = f["starts/parameters"][:][f["starts/start"][:] > 0]
    assert drawn.shape == (n, len(CASES)), drawn.shape
    for name, _, _, like, bounds in CASES:
        x = drawn[:, names.index(name)]
        low, high, first, last = ends(like, bounds)
        assert low <= x.min() and x.max() <= high, (name, x.min(), x.max())
        distance = stats.kstest(x, lambda t: (like.cdf(t) - first)/(last - first)).statistic
        assert distance <= 1/n + 1e-9, (name, distance)
        wrong = stats.kstest(x, stats.uniform(bounds[0], bounds[1] - bounds[0]).cdf).statistic
        assert wrong > 1/n or name == "uniform_1", (name, wrong)


@helpers.both
def test_bounds_in_a_tail(tmp):
    """The probability between bounds that are far from where a prior is: against quadrature of its density."""
    for i, (word, numbers, like, (low, high), x) in helpers.portion(enumerate((
            ("normal", "0;1", stats.norm(0, 1), (9, 20), 10), ("normal", "50;1", stats.norm(50, 1), (0.1, 5), 3),
            ("laplace", "0;1", stats.laplace(0, 1), (38, 100), 40), ("exponential", "1", stats.expon(), (40, 100), 41),
            ("rayleigh", "1", stats.rayleigh(), (10, 20), 11), ("cauchy", "0;1", stats.cauchy(), (1e6, 1e7), 2e6),
            ("log-normal", "0;1", stats.lognorm(1), (1e4, 1e6), 2e4),
            ("log-laplace", "0;0.5", stats.loglaplace(2), (1e-6, 1e-3), 1e-4))), 2):
        problem = write(tmp / str(i), [("k", word, numbers, like, (low, high))], [x])
        helpers.stiffit("run", problem, "--max-evaluations", 1, "--certify", "no", "--optimizer", "lbfgs", "--gradient",
                        "forward", code=None)
        with h5py.File(problem.parent / "p.petab.result.h5") as f:
            found = f["fits/log_prior"][0]
        ends = np.geomspace(low, high, 200)
        mass = sum(quad(lambda t: np.exp(like.logpdf(t) - like.logpdf(x)), *pair, epsabs=0, epsrel=1e-11)[0]
                   for pair in zip(ends[:-1], ends[1:]))
        assert abs(found + np.log(mass)) <= 1e-9, (word, found, -np.log(mass))  # of the quadrature


def test_priors_of_version_1(tmp):
    """Those of the parameter's scale are densities of the scaled parameter, the others of the natural one; cut by bounds."""
    cases = []
    for scale, of in (("lin", lambda x: x), ("log", np.log), ("log10", np.log10)):
        for word, like in (("Normal", stats.norm(0.2, 0.7)), ("Laplace", stats.laplace(0.2, 0.7))):
            cases.append((f"{scale}_{word}", scale, f"parameterScale{word}", lambda x, of=of, like=like: like.logpdf(of(x))
                          - np.log(like.cdf(of(9)) - like.cdf(of(0.05)))))
    cases.append(("natural", "log10", "logNormal", lambda x: stats.lognorm(0.7, scale=np.exp(0.2)).logpdf(x)
                  - np.log(np.diff(stats.lognorm(0.7, scale=np.exp(0.2)).cdf([0.05, 9]))[0])))
    for i, x in enumerate((0.4, 2.5)):
        problem = test_petab.write(
            tmp / str(i), conditions=[["conditionId"], ["c"]],
            observables=[["observableId", "observableFormula", "noiseFormula"],
                         ["y", "A + 0*(" + " + ".join(case[0] for case in cases) + ")", 1]],
            measurements=[["observableId", "simulationConditionId", "time", "measurement"], ["y", "c", 0, 1]],
            parameters=[["parameterId", "parameterScale", "lowerBound", "upperBound", "nominalValue", "estimate",
                         "objectivePriorType", "objectivePriorParameters"]] +
                       [[name, scale, 0.05, 9, x, 1, word, "0.2;0.7"] for name, scale, word, _ in cases])
        helpers.stiffit("run", problem, "--evaluate")
        with h5py.File(problem.parent / "p.petab.result.h5") as f:
            found = f["fits/log_prior"][0]
        assert abs(found - sum(density(x) for *_, density in cases)) <= 1e-9 * len(cases), (x, found)


if __name__ == "__main__":
    helpers.main()
