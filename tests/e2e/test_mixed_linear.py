"""Mixed effects where the likelihood has a closed form: log-normal errors around A exp(-k t) make log y = log A - k t + e, with
normal k and log A, a linear mixed model. Laplace's approximation and the exact likelihood are then the same.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np

import helpers as h
import mixed
import mixed_oracle as mo

FORMULA = """parameter k = 0.4
parameter A = 3 scale log
parameter sigma = 0.3 in [1e-4, 100] scale log
observe y = A*exp(-k*t) lognormal sd sigma
"""
EQUATIONS = """parameter k = 0.4
parameter A = 3 scale log
parameter sigma = 0.3 in [1e-4, 100] scale log
x(0) = A
x' = -k*x
observe y = x lognormal sd sigma
"""
COVARIATE = """parameter k = 0.4
parameter tA = 3 scale log10
parameter beta = 0.1
parameter sigma = 0.3 in [1e-4, 100]
covariate weight
A = tA*(weight/70)^beta
x(0) = A
x' = -k*x
observe y = x lognormal sd sigma
"""
ENTRIES = ["mean(k)", "mean(A)", "var(k)", "cov(k,A)", "var(A)", "sigma"]


class Data:
    """n datasets with 1 to n_time measurements each, in no order of time, some of them missing."""

    def __init__(self, n, n_time=8, seed=1, sigma=0.15, covariance=((0.02, -0.01), (-0.01, 0.09)), is_balanced=False,
                 effect=0.75):
        rng = np.random.default_rng(seed)
        phi = rng.multivariate_normal([0.5, 1.0], covariance, n)
        self.weight = rng.uniform(45, 110, n)
        rows = []
        for d in range(n):
            for t in np.linspace(0, 6, n_time) if is_balanced else rng.uniform(0, 6, rng.integers(1, n_time + 1)):
                log_y = phi[d, 1] + effect * np.log(self.weight[d] / 70) - phi[d, 0] * t + sigma * rng.normal()
                rows.append((d, t, 0, np.exp(log_y)))
        rows = np.array(rows)
        self.n, self.missing = n, np.zeros(len(rows), bool)
        if not is_balanced and n > 3:
            self.missing = rng.uniform(size=len(rows)) < 0.1
            for d in range(n):  # every dataset keeps one
                mine = np.flatnonzero(rows[:, 0] == d)
                self.missing[mine[0]] = False
        self.rows, self.sigma = rows, rng.uniform(0.5, 2, len(rows)) * sigma

    def write(self, path, text, known_sigma=False):
        value = np.where(self.missing, np.nan, self.rows[:, 3])
        sigma = self.sigma if known_sigma else np.full(len(value), np.nan)
        rows = np.column_stack([self.rows[:, :3], value, sigma])
        return mixed.write(path, text, rows, {"weight": self.weight} if "weight" in text else None)

    def reference(self, *, log_base=1.0, covariate=False, known_sigma=False, blocks=None):
        """The maximum. log_base: what the natural logarithm is divided by on the scale of A."""
        kept = ~self.missing
        d, t, y, sigma = self.rows[kept, 0], self.rows[kept, 1], self.rows[kept, 3], self.sigma[kept]
        t, y, sigma, mask = mo.pad((d, t, y, sigma), self.n)
        z = np.log(y)
        w = None
        if covariate:
            w = np.log(self.weight / 70)[:, None, None] * np.ones((*mask.shape, 1))
        model = mo.Linear(z, np.stack([-t, log_base * np.ones_like(t)], axis=-1), mask, w=w, blocks=blocks,
                          sigma=sigma if known_sigma else None, jacobian=2 * np.sum(np.where(mask, z, 0), axis=1))
        shared = ([0.5] if covariate else []) + ([] if known_sigma else [np.log(0.2)])
        found = mo.maximise(model, [0.4, 1 / log_base], np.diag([0.02, 0.1 / log_base**2]), shared)
        return found


def rescale_sigma(reference):
    """The last shared parameter is sigma itself, not its logarithm."""
    sigma = np.exp(reference.theta[-1])
    reference.theta[-1] = sigma
    for errors in (reference.standard_error, reference.by_scores, reference.sandwich):
        errors[-1] *= sigma
    return reference


def both(problem, reference, *words, names=None, likelihood=mixed.FINE):
    """Laplace and exact. The likelihood is quadratic near its top: 1e-3 of a standard error is 1e-6 in it, and 1e-3 is what the
    integration's tolerance leaves."""
    for how in ("laplace", "exact"):
        found = mixed.run(problem, *words, "--likelihood", how, "--overwrite")
        assert found["likelihood"] == how
        mixed.agree(found, reference, mixed.FINE, likelihood if how == "laplace" else mixed.LIKELY, names=names)
    return found


def test_three_datasets(tmp):
    """As few as a full covariance bears; balanced. Errors by scores do not exist: there are more estimates than datasets."""
    data = Data(3, 10, seed=5, is_balanced=True)
    both(data.write(tmp / "p.h5", FORMULA), data.reference(), "--random", "k,A", "--share", "sigma", names=ENTRIES)


def test_ten_unbalanced(tmp):
    """Integrated; measurements are missing; conditional moments are the closed form's."""
    data = Data(10, 9, seed=2)
    reference = data.reference()
    found = both(data.write(tmp / "p.h5", EQUATIONS), reference, "--random", "k,A", "--share", "sigma", names=ENTRIES)
    assert found["n_measurement"] == np.sum(~data.missing) and found["n_dataset"] == 10
    aic = reference.value + 2 * 6
    assert abs(found["aic"] - aic) < 0.02 and abs(found["bic"] - (reference.value + 6 * np.log(10))) < 0.02
    fits = found["fits"]
    np.testing.assert_allclose(fits["minus_2_log_likelihood"], reference.by_dataset, atol=0.01)
    kept = ~data.missing
    for i in range(10):
        mine = kept & (data.rows[:, 0] == i)
        t, z = data.rows[mine, 1], np.log(data.rows[mine, 3])
        x = np.stack([-t, np.ones_like(t)], axis=1)
        posterior = np.linalg.inv(np.linalg.inv(reference.covariance) + x.T @ x * np.exp(-2 * reference.shared[0]))
        mean = reference.mean + posterior @ x.T @ (z - x @ reference.mean) * np.exp(-2 * reference.shared[0])
        deviation = np.sqrt(np.diag(posterior))
        columns = [fits["names"].index(name) for name in ("k", "A")]
        mode = np.array([fits["parameters"][i, columns[0]], np.log(fits["parameters"][i, columns[1]])])
        assert np.max(np.abs(mode - mean) / deviation) < 0.01, (i, mode, mean, deviation)
        # means and deviations are sums over samples: a few hundred of them leave some hundredths
        assert np.max(np.abs(fits["random_mean"][i, columns] - mean) / deviation) < 0.05, (i, fits["random_mean"][i], mean)
        assert np.max(np.abs(fits["random_deviation"][i, columns] / deviation - 1)) < 0.05, (i, deviation)


def test_hundred_with_covariate(tmp):
    """A covariate's effect; a decadic scale; sigma on its natural scale."""
    data = Data(100, 5, seed=3)
    reference = rescale_sigma(data.reference(log_base=np.log(10), covariate=True))
    both(data.write(tmp / "p.h5", COVARIATE), reference, "--random", "k,tA", "--share", "beta,sigma",
         names=["mean(k)", "mean(tA)", "var(k)", "cov(k,tA)", "var(tA)", "beta", "sigma"])


def test_known_sigma_and_diagonal(tmp):
    """Every measurement has its sigma; the random parameters are independent of each other."""
    data = Data(40, 4, seed=4)
    text = FORMULA.replace("parameter sigma = 0.3 in [1e-4, 100] scale log\n", "").replace(" sd sigma", "")
    both(data.write(tmp / "p.h5", text, known_sigma=True), data.reference(known_sigma=True, blocks=[[0], [1]]), "--random",
         "k,A", "--random-covariance", "diagonal", names=["mean(k)", "mean(A)", "var(k)", "var(A)"])


def test_thousand_sparse(tmp):
    """One to three measurements each: no dataset determines its parameters."""
    data = Data(1000, 3, seed=6)
    both(data.write(tmp / "p.h5", FORMULA), data.reference(), "--random", "k,A", "--share", "sigma", names=ENTRIES)


def test_level_in_file(tmp):
    """/parameters/level = random is --random; the order of the file's parameters is that of the estimates."""
    data = Data(12, 6, seed=8)
    problem = data.write(tmp / "p.h5", FORMULA)
    by_words = mixed.run(problem, "--random", "A,k", "--share", "sigma")
    problem = mixed.write(tmp / "q.h5", FORMULA, np.column_stack([data.rows[:, :3], np.where(data.missing, np.nan,
                          data.rows[:, 3]), np.full(len(data.rows), np.nan)]), name=["k", "A", "sigma"],
                          level=["random", "random", "shared"])
    by_file = mixed.run(problem)
    np.testing.assert_array_equal(by_words["estimate"], by_file["estimate"])
    mixed.agree(by_file, data.reference(), mixed.FINE, names=ENTRIES)


def polynomial(tmp, r, n, blocks, words, seed):
    """log y is a polynomial of t with r random coefficients."""
    rng = np.random.default_rng(seed)
    names = [f"a{i}" for i in range(r)]
    text = "".join(f"parameter {name} = 0.5\n" for name in names) + "parameter s = 0.3 in [1e-4, 100] scale log\n" \
        + "observe y = exp(" + " + ".join(f"{name}*(t - 1)^{i}" for i, name in enumerate(names)) + ") lognormal sd s\n"
    t = rng.uniform(0, 2, (n, 2 * r))
    x = np.stack([(t - 1) ** i for i in range(r)], axis=-1)
    phi = rng.normal(1, np.linspace(0.2, 0.5, r), (n, r))
    z = np.einsum("nti,ni->nt", x, phi) + 0.15 * rng.normal(size=t.shape)
    mask = rng.uniform(size=t.shape) < 0.9
    d, k = np.nonzero(mask)
    problem = mixed.write(tmp / "p.h5", text, np.column_stack([d, t[d, k], 0 * d, np.exp(z[d, k]), np.full(len(d), np.nan)]))
    model = mo.Linear(z, x, mask, blocks=blocks, jacobian=2 * np.sum(np.where(mask, z, 0), axis=1))
    reference = mo.maximise(model, np.full(r, 0.9), 0.1 * np.eye(r), [np.log(0.2)])
    return problem, reference, ("--random", ",".join(names), "--share", "s", *words)


@h.more
def test_blocks(tmp):
    """Three random parameters, two of which are correlated."""
    problem, reference, words = polynomial(tmp, 3, 40, [[0, 2], [1]], ("--random-covariance", "a0.a2,a1"), 12)
    both(problem, reference, *words, names=["mean(a0)", "mean(a1)", "mean(a2)", "var(a0)", "cov(a0,a2)", "var(a1)", "var(a2)",
                                            "s"])


@h.more
def test_five_random(tmp):
    """More than products of nodes can integrate: points of a lattice, whose errors are below what the tests ask of
    quadrature."""
    problem, reference, words = polynomial(tmp, 5, 24, [[i] for i in range(5)], ("--random-covariance", "diagonal"), 13)
    found = mixed.run(problem, *words, "--likelihood", "laplace")
    mixed.agree(found, reference, mixed.FINE)
    found = mixed.run(problem, *words, "--overwrite")
    mixed.agree(found, reference, mixed.NEAR, errors=0.02)


def test_small_variance_is_found(tmp):
    """Datasets that differ by less than their errors. The variance is smaller than those that the search tries first: it is not
    0 unless its estimate, which has a closed form (one-way analysis of variance), is."""
    n, m, n_zero = 10, 4, 0
    text = "parameter a = 10\nparameter s = 0.4 in [1e-4, 1e3] scale log\nobserve y = a sd s\n"
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = 10 + 0.15 * rng.standard_normal((n, 1)) + 0.4 * rng.standard_normal((n, m))
        between = m * np.sum((y.mean(axis=1) - y.mean())**2)
        within = np.sum((y - y.mean(axis=1)[:, None])**2)
        total, error = between / n, within / (n * (m - 1))
        if total < error:
            total = error = (between + within) / (n * m)
        n_zero += total == error
        value = n * (np.log(total) + (m - 1) * np.log(error)) + n * m * np.log(2 * np.pi) + between / total + within / error
        rows = [(d, i, 0, y[d, i], np.nan) for d in range(n) for i in range(m)]
        found = mixed.run(mixed.write(tmp / f"{seed}.h5", text, rows), "--random", "a", "--share", "s")
        assert abs(found["minus_2_log_likelihood"] - value) < 1e-4, (seed, found["minus_2_log_likelihood"], value)
        np.testing.assert_allclose(found["estimate"][1], (total - error) / m, rtol=1e-2, atol=1e-9, err_msg=str(seed))
    assert n_zero == 4, n_zero  # of both kinds


if __name__ == "__main__":
    h.main()
