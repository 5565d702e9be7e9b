"""Random problems for the fits: a seed is a model, its units, the run's options and a few datasets, each with its own truth,
errors, censoring, bounds, fixed parameters and start.

SPDX-License-Identifier: BSD-3-Clause
"""
import dataclasses

import h5py
import numpy as np

import helpers
from fit_judge import Objective
from fit_models import NONE

NOISE = ("cv", "sigma0")
NEVER, BELOW, ABOVE = 0, 1, -1


@dataclasses.dataclass
class Case:
    """One dataset. Arrays over parameters in natural units; rows: (time, observable, value, sigma, censored)."""
    covariates: np.ndarray
    truth: np.ndarray
    t0: float
    rows: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    fixed: np.ndarray
    start: np.ndarray
    words: str


class Problem:
    def __init__(self, seed, library, forms, n_case):
        self.seed, self.library = seed, library
        self.rng = rng = np.random.default_rng(seed)
        self.form = form = forms[int(rng.integers(len(forms)))]
        self.names = list(form.parameters)
        # Half of the problems in units about 1, the others anywhere: amounts over 24 decades, rates over 18.
        powers = [0.0, 0.0, 0.0] if rng.random() < 0.4 else [rng.uniform(-12, 12), rng.uniform(-9, 9), rng.uniform(-6, 6)]
        self.units = 10.0 ** np.round(powers)
        self.size = np.asarray(form.size, float) * self.units[0]
        self.scale = [self.choose({"log": 5, "log10": 2, "lin": 3}) for _ in self.names]
        self.rtol = self.choose({1e-7: 6, 1e-5: 1, 1e-6: 1.5, 1e-8: 1, 1e-9: 1})
        self.options = [] if self.rtol == 1e-7 else ["--rtol", f"{self.rtol:g}"]
        self.options += self.choose({(): 6, ("--optimizer", "lbfgs"): 1, ("--gradient", "differences"): 0.7,
                                     ("--optimizer", "lbfgs", "--gradient", "adjoint"): 0.7})
        n_start = self.choose({1: 7, 3: 1.5, 8: 1})
        self.options += [] if n_start == 1 else ["--starts", str(n_start), "--seed", str(seed % 1000)]
        self.error = "normal"
        if form.noise == "constant" or rng.random() < 0.4:  # that sd is one of the logarithm
            kinds = ["laplace", "huber", "student"] + (["log-normal"] * 2 if form.positive and not form.noise else [])
            self.error = "log-normal" if form.noise == "constant" else str(rng.choice(kinds))
            self.options += ["--error", self.error]
        # Laplace's, Huber's and Student's errors ask for a sigma, censored values for a normal distribution.
        self.with_sigma = self.error in ("laplace", "huber", "student") or rng.random() < 0.7
        self.with_censoring = self.error in ("normal", "log-normal") and rng.random() < 0.25
        if self.with_censoring:
            self.with_sigma = True
        self.cases = [self.case() for _ in range(n_case)]

    def choose(self, weights):
        keys = list(weights)
        p = np.array([weights[key] for key in keys], float)
        return keys[int(self.rng.choice(len(keys), p=p / p.sum()))]

    def drawn(self, ranges):
        low, high = np.array([r[:2] for r in ranges], float).reshape(-1, 2).T
        unit = [np.prod(self.units ** np.array(r[2], float)) for r in ranges]
        return np.exp(self.rng.uniform(np.log(low), np.log(high))) * unit

    def case(self):
        rng, form = self.rng, self.form
        n_parameter = len(self.names)
        truth, covariates = self.drawn(form.parameters.values()), self.drawn(form.covariates.values())
        t0 = 0.0 if not form.states or rng.random() < 0.8 else 3.0 * self.units[1]
        design = self.choose({"rich": 6, "poor": 1, "fewer than parameters": 0.5})
        n_time = {"rich": int(rng.integers(6, 16)), "poor": 4, "fewer than parameters": 1}[design]
        times = (np.linspace if form.spread == "even" else np.geomspace)(*form.times, n_time) * self.units[1]
        if not form.states:
            t0 = 0.0
        rows, words = self.measured(truth, covariates, t0, t0 + times, replicates=design == "rich" and rng.random() < 0.3)
        case = Case(covariates, truth, t0, rows, np.full(n_parameter, -np.inf), np.full(n_parameter, np.inf),
                    np.zeros(n_parameter, bool), truth.copy(), f"{design}, {words}")
        self.bound(case)
        self.begin(case)
        return case

    def measured(self, truth, covariates, t0, times, replicates):
        """Rows, and in words how large their errors are."""
        rng, form = self.rng, self.form
        exact, sd = self.library.predict(form, truth, covariates, self.size, t0, times, 1e-11)
        assert np.all(np.isfinite(exact)), (self.seed, form.name, truth)
        relative = self.choose({1e-7: 0.7, 1e-4: 1, 0.01: 3, 0.05: 3, 0.2: 1, 0.0: 0.7})
        largest = np.abs(exact).max(axis=0)
        pure = rng.random() < 0.5 and form.positive  # of the value itself, or of the observable's largest
        by_model = 0.0 if not form.noise else 1.0 if not self.with_sigma else self.choose({0.0: 1, 0.5: 1})
        rows = []
        for i_time, time in enumerate(times):
            for i in range(exact.shape[1]):
                for _ in range(2 if replicates else 1):
                    true = exact[i_time, i]
                    is_model = rng.random() < by_model
                    spread = sd[i_time, i] if is_model else (relative or 0.01) * (abs(true) if pure else largest[i])
                    if self.error == "log-normal":
                        spread = sd[i_time, i] if is_model else relative or 0.01
                    draw = rng.standard_t(3) if self.error == "student" else rng.standard_normal()
                    draw *= is_model or relative > 0
                    value = true * np.exp(spread * draw) if self.error == "log-normal" else true + spread * draw
                    rows.append([time, i, value, np.nan if is_model or not self.with_sigma else spread, NEVER])
        rows = np.array(rows)
        if len(rows) > 3 and rng.random() < 0.1:
            rows[int(rng.integers(len(rows))), 2] = np.nan
        if self.with_censoring and len(rows) > 5:
            limit = np.nanquantile(rows[:, 2], 0.3)
            low = rows[:, 2] < limit
            if limit > 0 or self.error == "normal":
                rows[low, 2], rows[low, 4] = limit, BELOW
            if rng.random() < 0.3:
                limit = np.nanquantile(rows[:, 2], 0.85)
                high = rows[:, 2] > limit
                rows[high, 2], rows[high, 4] = limit, ABOVE
        if rng.random() < 0.3:
            order = rng.permutation(len(rows))  # times come in any order
            rows = rows[order]
        return rows, f"errors {relative:g}" + (" and the model's" if by_model else "")

    def bound(self, case):
        rng, truth = self.rng, case.truth
        for j, scale in enumerate(self.scale):
            kind = self.choose({"none": 2, "wide": 4, "narrow": 2, "beyond": 0.7})
            factor = 10.0 ** rng.uniform(0.2, 0.5)
            if kind == "none":
                case.lower[j] = 0.0 if rng.random() < 0.5 else -np.inf
                if scale != "lin":
                    case.lower[j] = 0.0
            elif kind == "wide":
                case.lower[j], case.upper[j] = truth[j] * 1e-3, truth[j] * 1e3
            elif kind == "narrow":
                case.lower[j], case.upper[j] = truth[j] / factor, truth[j] * factor
            else:  # the truth lies outside
                out = rng.uniform(1.05, 1.5)
                case.lower[j], case.upper[j] = (truth[j] * out, truth[j] * 100) if rng.random() < 0.5 else (
                    truth[j] / 100, truth[j] / out)
            if self.names[j] == "n":  # powers of thousands are out of a double's range
                case.lower[j], case.upper[j] = truth[j] / 3, truth[j] * 3
            if self.names[j] in NOISE:  # a likelihood without end where the curve meets all points
                case.lower[j], case.upper[j] = truth[j] / 10, truth[j] * 10
                case.fixed[j] = not case.words.startswith("rich")
        if rng.random() < 0.2 and len(truth) > 1:
            case.fixed[int(rng.integers(len(truth)))] = True

    def begin(self, case):
        rng = self.rng
        kind = self.choose({"near": 3, "random": 4, "far": 2, "truth": 0.7, "optimum": 1, "bound": 0.7})
        decades = {"near": 0.1, "random": 0.5, "far": 1.5}.get(kind, 0.0)
        # The noise and the exponents do not range over decades.
        spread = np.array([min(decades, 0.3) if form[2] == NONE else decades for form in self.form.parameters.values()])
        start = case.truth * 10.0 ** (spread * rng.uniform(-1, 1, len(spread)))
        start = np.where(case.fixed & (rng.random() < 0.7), case.truth, np.clip(start, case.lower, case.upper))
        if kind == "bound":
            j = int(rng.integers(len(start)))
            bounds = [b for b in (case.lower[j], case.upper[j]) if np.isfinite(b) and b > 0]
            start[j] = rng.choice(bounds) if bounds and not case.fixed[j] else start[j]
        case.start = start
        if kind == "optimum":
            case.start = Objective(self, case).best(start).p
        case.words += f", start {kind}"

    def write(self, path):
        """The problem file, as a user of h5py writes it."""
        form = self.form
        rows = np.vstack([np.column_stack([np.full(len(case.rows), i), case.rows]) for i, case in enumerate(self.cases)])
        table = {name: np.array([getattr(case, name) for case in self.cases], float) for name in
                 ("start", "lower", "upper", "fixed")}
        covariates = {name: [case.covariates[i] for case in self.cases] for i, name in enumerate(form.covariates)}
        helpers.write_problem(path, None, [f"s{self.seed}_{i}" for i in range(len(self.cases))], rows[:, :5],
                              parameters={"name": self.names, "scale": self.scale, "observables": list(form.observables),
                                          **table}, covariates=covariates or None,
                              t0=np.array([case.t0 for case in self.cases]))
        with h5py.File(path, "a") as f:
            f["measurements/censored"] = rows[:, 5].astype(np.int32)
            f["model"].create_dataset("source", data=form.text(), dtype=h5py.string_dtype())
        return path
