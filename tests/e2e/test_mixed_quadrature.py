"""Nonlinear mixed effects against adaptive Gauss-Hermite quadrature of the models' closed forms: -2 log L, estimates, standard
errors, conditional moments.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv

import numpy as np
from scipy.special import gammaln, wrightomega

import helpers as h
import mixed
import mixed_oracle as mo

h.compile_as_users_do()

# Standard errors are second derivatives of a sum over random points: twice as rough as the estimates.
ERRORS = 0.02


class Case:
    """A problem with its reference. predict(phi, shared, t, c): predictions and standard deviations; phi and shared are
    lists, t and the covariates c have shapes that broadcast."""

    def __init__(self, text, random, shared, predict, *, start, q=None, blocks=None, loglik=mo.normal_loglik, words=()):
        self.text, self.random, self.shared, self.predict, self.start = text, random, shared, predict, start
        self.layout = mo.Layout(len(random), len(shared), blocks)
        self.q, self.loglik, self.words = q or {1: 81, 2: 21, 3: 9}[len(random)], loglik, words
        self.censored = self.limit = None

    def simulate(self, mean, covariance, shared, times, seed, limit=None, covariates=None):
        """times: by dataset, of any length. limit: of detection."""
        rng = np.random.default_rng(seed)
        n = len(times)
        self.covariates = covariates or {}
        rows = np.array([(d, t) for d, of_one in enumerate(times) for t in of_one])
        self.t, self.mask = mo.pad((rows[:, 0], rows[:, 1]), n)
        self.phi = phi = rng.multivariate_normal(mean, covariance, n)
        f, sd = self.curves(phi[:, None, :], np.asarray(shared, float))
        self.y = f[:, 0] + sd[:, 0] * rng.normal(size=self.t.shape)
        if limit is not None:
            self.censored = (self.y < limit).astype(int)
            self.y = np.maximum(self.y, limit)
        return self

    def take(self, rows, covariates):
        """Rows (dataset, time, value) of a study."""
        rows = np.asarray(rows, float)
        self.covariates = covariates
        self.t, self.y, self.mask = mo.pad((rows[:, 0], rows[:, 1], rows[:, 2]), int(rows[-1, 0]) + 1)
        return self

    def curves(self, phi, shared):
        c = {name: np.asarray(value)[:, None, None] for name, value in self.covariates.items()}
        random = [phi[..., i, None] for i in range(self.layout.r)]
        f, sd = self.predict(random, shared, self.t[:, None, :], c)
        return f, sd + 0 * f

    def model(self, q=None, **more):
        def loglik(phi, shared):
            f, sd = self.curves(phi, shared)
            if self.censored is not None:
                return self.loglik(self.y, self.mask, f, sd, self.censored, self.limit)
            return self.loglik(self.y, self.mask, f, sd)

        return mo.Nonlinear(loglik, len(self.y), self.layout, self.q if q is None else q, **more)

    def reference(self, near=None):
        """The maximum near some estimates (for speed: the quadrature costs more than the fit), or from the case's start."""
        if near is not None:
            return mo.climb(self.model(), near)
        mean, variance, shared = self.start
        return mo.maximise(self.model(), mean, np.diag(variance), shared)

    def write(self, path):
        d, k = np.nonzero(self.mask)
        rows = np.column_stack([d, self.t[d, k], 0 * d, self.y[d, k], np.full(len(d), np.nan)])
        censored, limit = (None if column is None else column[d, k] for column in (self.censored, self.limit))
        return mixed.write(path, self.text, rows, self.covariates, censored=censored, limit=limit)

    def run(self, path, *words):
        share = ("--share", ",".join(self.shared)) if self.shared else ()
        blocks = () if np.all(self.layout.is_estimated) else ("--random-covariance", "diagonal")
        return mixed.run(self.write(path), "--random", ",".join(self.random), *share, *blocks, *self.words, *words)

    def check(self, path, *words, tolerance=mixed.NEAR, errors=ERRORS):
        """Exact; conditional moments, too, at the estimates that were found."""
        found = self.run(path, *words)
        reference = self.reference(None if h.SLOW else found["estimate"])
        mixed.agree(found, reference, tolerance, errors=errors)
        fits, model = found["fits"], self.model()
        mode, mean, deviation = model.conditional(found["estimate"])
        columns = [fits["names"].index(name) for name in self.random]
        # sums over points whose number is chosen for the likelihood
        off = np.abs(fits["random_mean"][:, columns] - mean) / deviation
        assert np.max(off) < 0.1, f"a conditional mean is off by {np.max(off):.2g} of its deviation"
        off = np.abs(fits["random_deviation"][:, columns] / deviation - 1)
        assert np.max(off) < 0.1, f"a conditional deviation is off by {np.max(off):.2g}"
        np.testing.assert_allclose(fits["minus_2_log_likelihood"], reference.by_dataset, atol=0.02)
        assert np.all(fits["effective_points"] > 1), fits["effective_points"]
        return found, reference


def absorbed(t, dose, ka, ke, volume):
    """One compartment with first-order absorption."""
    return dose * ka / (volume * (ka - ke)) * (np.exp(-ke * t) - np.exp(-ka * t))


THEOPHYLLINE = """model theophylline
parameter Ke = 0.09 scale log
parameter Ka = 1.6 scale log
parameter Cl = 0.04 scale log
parameter sigma = 1 in [1e-3, 1e3] scale log
covariate dose
gut(0) = dose
gut' = -Ka*gut
body(0) = 0
body' = Ka*gut - Ke*body
observe conc = body*Ke/Cl sd sigma
"""


def theophylline(random):
    """The study of 12 subjects by R. Upton (R: datasets::Theoph). random: of Ke, Ka, Cl; the others are shared."""
    with open(h.ROOT / "data/theophylline.csv", newline="", encoding="utf-8") as file:
        study = list(csv.DictReader(file))
    subjects = list(dict.fromkeys(row["Subject"] for row in study))
    rows = [(subjects.index(row["Subject"]), float(row["Time"]), float(row["conc"])) for row in study]
    dose = [next(float(row["Dose"]) for row in study if row["Subject"] == subject) for subject in subjects]
    names = ["Ke", "Ka", "Cl"]
    shared = [name for name in names if name not in random] + ["sigma"]

    def predict(phi, common, t, c):
        p = dict(zip(random, phi)) | dict(zip(shared, common))
        ke, ka, cl = (np.exp(p[name]) for name in names)
        return absorbed(t, c["dose"], ka, ke, cl / ke), np.exp(p["sigma"])

    guess = {"Ke": -2.45, "Ka": 0.47, "Cl": -3.22, "sigma": -0.3}
    case = Case(THEOPHYLLINE, random, shared, predict, blocks=[[i] for i in range(len(random))],
                start=([guess[name] for name in random], [0.3 if name == "Ka" else 0.03 for name in random],
                       [guess[name] for name in shared]))
    return case.take(rows, {"dose": dose})


def test_theophylline_one(tmp):
    theophylline(["Ka"]).check(tmp / "p.h5")


@h.more
def test_theophylline_two(tmp):
    found, _ = theophylline(["Ka", "Cl"]).check(tmp / "p.h5")
    shrinkage = np.mean(found["fits"]["random_deviation"][:, [1, 2]]**2, axis=0) / np.diag(found["covariance"])
    np.testing.assert_allclose(found["shrinkage"], shrinkage, rtol=1e-12)  # rounding


@h.more
def test_theophylline_three(tmp):
    """A full covariance of all three: its maximum is singular, with clearance proportional to the rate of elimination (nlme
    says so, too: a correlation of 0.995 in theophylline-nlme.csv)."""
    case = theophylline(["Ke", "Ka", "Cl"])
    case.layout = mo.Layout(3, 1)
    found = case.run(tmp / "p.h5")
    assert abs(found["correlation"][0, 2]) > 0.98, found["correlation"]
    mean, covariance, shared = case.layout.parts(found["estimate"])
    values, vectors = np.linalg.eigh(covariance)
    assert np.all(values > -1e-12), values
    regular = vectors @ np.diag(np.maximum(values, 1e-7)) @ vectors.T  # changes -2 log L by 1e-4
    value, scores = case.model(9).evaluate(case.layout.theta(mean, regular, shared))
    assert abs(found["minus_2_log_likelihood"] - value.sum()) < mixed.LIKELY, (found["minus_2_log_likelihood"], value.sum())
    slope = scores.sum(axis=0)[[0, 1, 2, -1]] * found["standard_error"][[0, 1, 2, -1]]
    assert np.max(np.abs(slope)) < 0.05, slope  # nothing is gained by other means and sigma


@h.more
def test_units(tmp):
    """Other units of amounts and concentrations, by factors of a million: the estimates stay, and -2 log L changes by the
    Jacobian."""
    first = theophylline(["Ka", "Cl"]).run(tmp / "first.h5")
    for k, factor in enumerate((1e6, 1e-6)):
        case = theophylline(["Ka", "Cl"])
        case.y, case.covariates = case.y * factor, {"dose": np.array(case.covariates["dose"]) * factor}
        case.text = case.text.replace("sigma = 1 in [1e-3, 1e3]",
                                      f"sigma = {factor!r} in [{1e-3 * factor!r}, {1e3 * factor!r}]")
        found = case.run(tmp / f"{k}.h5")
        shift = np.append(np.zeros(5), np.log(factor))
        assert np.max(np.abs(found["estimate"] - shift - first["estimate"]) / first["standard_error"]) < 1e-4
        change = found["minus_2_log_likelihood"] - first["minus_2_log_likelihood"] - 2 * case.mask.sum() * np.log(factor)
        assert abs(change) < 1e-4, change


def logistic_case():
    """Logistic growth with proportional error; one random rate."""
    text = """parameter r = 0.5 scale log
parameter K = 5 scale log
parameter cv = 0.2 in [1e-3, 10] scale log
x(0) = 0.2
x' = r*x*(1 - x/K)
observe x sd cv*x
"""

    def predict(phi, shared, t, c):
        capacity = np.exp(shared[0])
        x = capacity / (1 + (capacity / 0.2 - 1) * np.exp(-np.exp(phi[0]) * t))
        return x, np.exp(shared[1]) * x

    rng = np.random.default_rng(2)
    case = Case(text, ["r"], ["K", "cv"], predict, start=([-0.3], [0.1], [1.9, -1.5]))
    return case.simulate([-0.2], [[0.15]], [2.0, np.log(0.15)], [rng.uniform(0.5, 9, k) for k in rng.integers(1, 7, 25)], 3)


def test_logistic(tmp):
    logistic_case().check(tmp / "p.h5")


ORAL = """parameter ka = 1 scale log
parameter V = 12 scale log
parameter CL = 2 scale log
parameter a = 0.1 in [1e-3, 10] scale log
parameter b = 0.2 in [1e-3, 10] scale log
covariate dose
gut(0) = dose
gut' = -ka*gut
body(0) = 0
body' = ka*gut - CL/V*body
observe c = body/V sd sqrt(a^2 + (b*c)^2)
"""


def oral(phi, shared, t, c):
    ka, volume, cl = np.exp(phi[0]), np.exp(phi[1]), np.exp(shared[0])
    f = absorbed(t, c["dose"], ka, cl / volume, volume)
    return f, np.sqrt(np.exp(2 * shared[1]) + np.exp(2 * shared[2]) * f**2)


@h.more
def test_oral(tmp):
    """Two correlated random parameters, combined error, unbalanced."""
    rng = np.random.default_rng(7)
    times = [np.sort(rng.choice([0.3, 0.7, 1.5, 3, 6, 10, 16, 24], k, replace=False)) for k in rng.integers(2, 8, 30)]
    case = Case(ORAL, ["ka", "V"], ["CL", "a", "b"], oral, start=([0.0, 2.3], [0.2, 0.1], [0.7, -2, -2]))
    case.simulate([0.1, 2.3], [[0.2, 0.05], [0.05, 0.08]], [0.7, np.log(0.1), np.log(0.1)], times, 8,
                  covariates={"dose": rng.uniform(80, 120, 30)})
    case.check(tmp / "p.h5")


def omega(z):
    """Wright's function with its derivative as the imaginary part's factor, for complex steps."""
    w = wrightomega(z.real)
    return w + 1j * w / (1 + w) * z.imag if np.iscomplexobj(z) else w


@h.more
def test_michaelis_menten(tmp):
    """Saturated elimination; random parameters on a linear and a decadic scale; sigma on a linear one."""
    text = """parameter Vmax = 1.5
parameter c0 = 8 scale log10
parameter Km = 2 scale log
parameter sigma = 0.3 in [1e-3, 10]
c(0) = c0
c' = -Vmax*c/(Km + c)
observe c sd sigma
"""

    def predict(phi, shared, t, c):
        vmax, c0, km = phi[0], 10 ** phi[1], np.exp(shared[0])
        return km * omega(np.log(c0 / km) + (c0 - vmax * t) / km), shared[1]

    rng = np.random.default_rng(4)
    case = Case(text, ["Vmax", "c0"], ["Km", "sigma"], predict, start=([1.5, 0.9], [0.1, 0.01], [0.9, 0.3]))
    case.simulate([1.6, 0.95], [[0.09, -0.01], [-0.01, 0.012]], [1.0, 0.25],
                  [rng.uniform(0.2, 9, k) for k in rng.integers(1, 7, 30)], 5)
    case.check(tmp / "p.h5")


@h.more
def test_censored(tmp):
    """A third of the measurements is below the limit of detection, of some not below 0.5, and of others only the whole numbers
    around them are known."""
    rng = np.random.default_rng(9)
    case = Case(ORAL, ["ka", "V"], ["CL", "a", "b"], oral, start=([0.0, 2.3], [0.2, 0.1], [0.7, -1.5, -2]))
    case.simulate([0.1, 2.3], [[0.2, 0.0], [0.0, 0.1]], [0.7, np.log(0.3), np.log(0.1)], 25 * [[0.5, 1.5, 4, 9, 14, 20]], 11,
                  limit=1.8, covariates={"dose": rng.uniform(80, 120, 25)})
    assert 0.25 < np.mean(case.censored) < 0.45, np.mean(case.censored)
    below = case.censored == 1
    case.limit = np.where(below & (np.arange(25) % 2 == 0)[:, None], 0.5, np.nan)
    for column, side in ((1, 1), (2, -1)):
        low = np.floor(case.y[:, column])
        is_cell = ~below[:, column]
        case.censored[is_cell, column] = side
        case.limit[is_cell, column] = (low if side > 0 else low + 1)[is_cell]
        case.y[is_cell, column] = (low + 1 if side > 0 else low)[is_cell]
    # Some 11 points a dataset are enough for the likelihood here: scores, and so sandwich errors, are rougher.
    case.check(tmp / "p.h5", errors=0.04)


def test_sparse_and_wide(tmp):
    """Two measurements a dataset and a large variance: the integrands are far from normal."""
    text = """parameter k = 0.3 scale log
parameter cv = 0.2 in [1e-3, 10] scale log
observe y = 1 - exp(-k*t) sd cv
"""
    rng = np.random.default_rng(12)
    case = Case(text, ["k"], ["cv"], lambda phi, shared, t, c: (1 - np.exp(-np.exp(phi[0]) * t), np.exp(shared[0])),
                start=([-1], [1], [-1.5]))
    case.simulate([-1], [[1.5]], [np.log(0.2)], [rng.uniform(0.3, 6, 2) for _ in range(80)], 13)
    case.check(tmp / "p.h5")


def student_loglik(y, mask, f, sd):
    """Student's t with 4 degrees of freedom, times sd."""
    terms = -2.5 * np.log1p(((y[:, None, :] - f) / sd) ** 2 / 4) - np.log(sd) \
        + gammaln(2.5) - gammaln(2) - 0.5 * np.log(4 * np.pi)
    return np.sum(np.where(mask[:, None, :], terms, 0.0), axis=2)


def test_student(tmp):
    """Errors with heavy tails."""
    text = """parameter k = 0.3 scale log
parameter A = 2 scale log
parameter s = 0.2 in [1e-3, 10] scale log
y(0) = A
y' = -k*y
observe y student sd s
"""
    rng = np.random.default_rng(14)
    case = Case(text, ["k"], ["A", "s"], lambda phi, shared, t, c: (np.exp(shared[0] - np.exp(phi[0]) * t), np.exp(shared[1])),
                start=([-1], [0.2], [0.7, -2]), loglik=student_loglik)
    case.simulate([-1], [[0.2]], [0.7, np.log(0.1)], [rng.uniform(0.3, 6, 5) for _ in range(30)], 15)
    case.y += 0.4 * (rng.uniform(size=case.y.shape) < 0.1)
    case.check(tmp / "p.h5")


if __name__ == "__main__":
    h.main()
