"""Mixed effects of simulated populations: estimates are around the truth as their standard errors say.
test-timeout: 7200

SPDX-License-Identifier: BSD-3-Clause

`make check` simulates few populations, `make check-all` 200 of each kind; `python3 tests/e2e/test_mixed_truth.py` with
STIFFIT_LEVEL=slow prints a table: of each estimate its bias in standard errors and the coverage of its 95 % interval.
"""
import concurrent.futures
import os

import numpy as np
from scipy.stats import chi2

import helpers as h
import mixed
import test_mixed_quadrature as quadrature

ONE = """parameter ka = 1 scale log
parameter CL = 2 scale log
parameter V = 15 scale log
parameter beta = 0.5
parameter a = 0.2 in [1e-4, 10] scale log
parameter b = 0.2 in [1e-4, 10] scale log
covariate dose, weight
volume = V*(weight/70)^beta
gut(0) = dose
gut' = -ka*gut
body(0) = 0
body' = ka*gut - CL/volume*body
observe c = body/volume sd sqrt(a^2 + (b*c)^2)
"""
NAMES = ["ka", "CL", "V", "beta", "a", "b"]
TRUTH = dict(zip(NAMES, [np.log(1.2), np.log(2.2), np.log(12), 0.8, np.log(0.1), np.log(0.12)]))
VARIANCE = {"ka": 0.1, "CL": 0.08, "V": 0.05}
RICH = [0.3, 0.8, 1.5, 3, 5, 8, 12, 18]


class Kind:
    """Populations of n datasets: random parameters, shared ones (the others are fixed to the truth), times of a dataset."""

    def __init__(self, random, shared, times, *, correlation=None, limit=None, zero=()):
        self.random, self.shared, self.times, self.limit, self.zero = random, shared, times, limit, zero
        deviation = np.sqrt([0.0 if name in zero else VARIANCE[name] for name in random])
        self.blocks = None if correlation is not None else [[i] for i in range(len(random))]
        matrix = np.eye(len(random)) if correlation is None else np.array(correlation)
        self.covariance = matrix * np.outer(deviation, deviation)

    def predict(self, phi, shared, t, c):
        p = dict(TRUTH) | dict(zip(self.random, phi)) | dict(zip(self.shared, shared))
        volume = np.exp(p["V"]) * (c["weight"] / 70) ** p["beta"]
        f = quadrature.absorbed(t, c["dose"], np.exp(p["ka"]), np.exp(p["CL"]) / volume, volume)
        return f, np.sqrt(np.exp(2 * p["a"]) + np.exp(2 * p["b"]) * f**2)

    def run(self, folder, n, seed):
        """Estimates, their standard errors, the true values, names, and the estimates from the random parameters themselves."""
        fixed = [name for name in NAMES if name not in self.random + self.shared]
        text = ONE
        for name in fixed:
            line = next(line for line in text.splitlines() if line.startswith(f"parameter {name} "))
            value = TRUTH[name] if name == "beta" else np.exp(TRUTH[name])
            text = text.replace(line, f"constant {name} = {float(value)!r}")
        rng = np.random.default_rng([seed, 7])
        case = quadrature.Case(text, self.random, self.shared, self.predict, start=None, blocks=self.blocks, q=1)
        case.simulate([TRUTH[name] for name in self.random], self.covariance, [TRUTH[name] for name in self.shared],
                      [self.times(rng) for _ in range(n)], [seed, 8], limit=self.limit,
                      covariates={"dose": rng.uniform(80, 120, n), "weight": np.exp(rng.normal(np.log(70), 0.25, n))})
        found = case.run(folder / f"{seed}.h5", "-j", 1)
        truth = case.layout.theta(np.array([TRUTH[name] for name in self.random]), self.covariance,
                                  np.array([TRUTH[name] for name in self.shared]))
        assert np.all(found["fits"]["status"] == "converged"), (seed, found["stderr"])
        known = case.layout.theta(case.phi.mean(axis=0), np.cov(case.phi.T, bias=True), truth[len(truth) - len(self.shared):])
        return found["estimate"], found["standard_error"], truth, list(found["estimate_name"]), known


KINDS = {
    "rich": Kind(["CL", "V"], ["ka", "b"], lambda rng: RICH, correlation=[[1, 0.4], [0.4, 1]]),
    "sparse": Kind(["CL", "V"], ["ka", "b"], lambda rng: np.sort(rng.choice(RICH[1:], 2, replace=False))),
    # a is known: concentrations above the limit hardly determine it, and in half of the populations the likelihood is
    # highest near a = 0, as quadrature shows
    "censored": Kind(["CL", "V"], ["ka", "b"], lambda rng: RICH[2:], limit=2.8),
    "covariate": Kind(["CL", "V"], ["beta", "b"], lambda rng: np.sort(rng.choice(RICH, 4, replace=False))),
    "zero variance": Kind(["ka", "CL"], ["V", "b"], lambda rng: np.sort(rng.choice(RICH, 5, replace=False)), zero=["ka"]),
    "full 3 x 3": Kind(["ka", "CL", "V"], ["b"], lambda rng: RICH,
                       correlation=[[1, 0.3, 0.2], [0.3, 1, 0.5], [0.2, 0.5, 1]])}


def many(tmp, kind, n, n_replicate):
    """The replicates' estimates, errors, truth, names; two at a time, or as many as there are cores."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = tmp / kind.replace(" ", "_")
        folder.mkdir()
        rows = list(pool.map(lambda seed: KINDS[kind].run(folder, n, seed), range(n_replicate)))
    return (*(np.array([row[k] for row in rows]) for k in (0, 1)), *rows[0][2:4], np.array([row[4] for row in rows]))


@h.more
def test_few(tmp):
    """A population of each kind but the one that takes seconds. No estimate is more than 5 standard errors from the truth:
    chance does that once in 20,000 checks with errors from 40 datasets (Student's t), and there are 30. Their squares, in
    all, are as many as there are estimates: half to twice. NaN: at its bound."""
    squares, count = 0.0, 0
    for kind, about in KINDS.items():
        if kind == "full 3 x 3":
            continue
        estimate, error, truth, names, _ = many(tmp, kind, 40, 1)
        off = (estimate - truth) / error
        for name in about.zero:  # a variance of 0 is at the end of its range: estimates are 0 or small
            k = names.index(f"var({name})")
            assert np.all((estimate[:, k] == 0) | (np.abs(off[:, k]) < 5)), (kind, estimate[:, k])
            off[:, k] = np.nan
        assert not np.any(np.abs(off) > 5), (kind, names, off)
        assert np.mean(np.isnan(off)) < 0.2, (kind, names, off)
        squares, count = squares + np.nansum(off**2), count + np.sum(~np.isnan(off))
    assert 0.5 < squares / count < 2, squares / count


def check(tmp, kind):
    """200 populations of 200 datasets. The bias is below 0.15 standard errors and coverage between 92 and 97.5 %, both
    as means over the estimates; of a single one chance alone adds 3 of its deviations: 0.21, and 4.6 %.

    What a population's own random parameters say, which the simulation knows, takes most of that chance away: their means
    are without bias, their variances too small by 1/n, and intervals from them cover what normal samples do."""
    n, n_replicate = 200, int(os.environ.get("STIFFIT_REPLICATES", 200))
    estimate, error, truth, names, known = many(tmp, kind, n, n_replicate)
    kept = [k for k, name in enumerate(names) if name not in {f"var({zero})" for zero in KINDS[kind].zero}]
    scatter = np.std(estimate, axis=0)
    is_entry = np.array([name.startswith(("var(", "cov(")) for name in names])
    off = estimate - known - np.where(is_entry, truth / n, 0)
    for zero in KINDS[kind].zero:
        # Estimates of a variance of 0 are 0 or above it, 0.4 deviations in the mean, and pull those that they are correlated
        # with: Self & Liang (1987), J. Am. Stat. Assoc. 82, 605. That part is the slope where the variance is not 0.
        variance = estimate[:, names.index(f"var({zero})")]
        above = variance > 0
        slopes = [np.polyfit(variance[above], off[above, k], 1)[0] for k in range(len(names))]
        off -= np.outer(variance, slopes)
    bias = np.mean(off, axis=0) / scatter
    ratio = np.nanmedian(error, axis=0) / scatter
    covers = np.mean(~(np.abs(estimate - truth) > 1.96 * error), axis=0)
    coverage = covers.copy()
    for k, name in enumerate(names):
        if name.startswith("var(") and truth[k] > 0:
            by_known = np.mean(np.abs(known[:, k] - truth[k]) < 1.96 * known[:, k] * np.sqrt(2 / n))
            ends = [n / (1 + sign * 1.96 * np.sqrt(2 / n)) for sign in (1, -1)]
            coverage[k] += np.diff(chi2.cdf(ends, n - 1))[0] - by_known
        elif name.startswith("mean(") and name[5:-1] not in KINDS[kind].zero:
            deviation = np.sqrt(known[:, names.index(f"var({name[5:-1]})")])
            coverage[k] += 0.95 - np.mean(np.abs(known[:, k] - truth[k]) < 1.96 * deviation / np.sqrt(n))
    print(f"{kind}: {n_replicate} replicates")
    for k, name in enumerate(names):
        print(f"  {name:12} bias {bias[k]:+.3f}, error/scatter {ratio[k]:.3f}, coverage {100 * coverage[k]:.1f} % "
              f"({100 * covers[k]:.1f} %)", flush=True)
    for zero in KINDS[kind].zero:
        at_zero = np.mean(estimate[:, names.index(f"var({zero})")] == 0)
        print(f"  var({zero}) is 0 in {100 * at_zero:.0f} %")
        assert 0.35 < at_zero < 0.75, at_zero  # half of them, if the estimate is about normal around 0
    few = 3 / np.sqrt(n_replicate)
    assert np.sqrt(np.mean(bias[kept] ** 2)) < 0.15 and np.max(np.abs(bias[kept])) < 0.15 + few, bias
    assert 0.92 < np.mean(coverage[kept]) < 0.975, coverage
    assert np.min(coverage[kept]) > 0.94 - few * 0.218, coverage
    assert np.all(np.abs(ratio[kept] - 1) < 0.05 + few), ratio


@h.slow
def test_rich(tmp):
    check(tmp, "rich")


@h.slow
def test_sparse(tmp):
    check(tmp, "sparse")


@h.slow
def test_censored(tmp):
    check(tmp, "censored")


@h.slow
def test_covariate(tmp):
    check(tmp, "covariate")


@h.slow
def test_zero_variance(tmp):
    check(tmp, "zero variance")


@h.slow
def test_full(tmp):
    check(tmp, "full 3 x 3")


if __name__ == "__main__":
    h.main()
