"""Random fits with shared parameters, groups and Laplace's or Huber's errors of known sigma, in models without states: none may
end away from a minimum. SciPy judges: it must not find anything lower by going downhill from there.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np
from scipy.optimize import linprog, minimize

import helpers as h

NOISE = 5  # the stopping test
KINK = 0.01  # the documented half-width of the rounded corner, in units of sigma
# name: (model text, function of t and natural parameters, parameters, scales, typical values)
MODELS = {
    "hill": ("observe y = b + (a - b)*t^h/(q^h + t^h)", lambda t, a, b, q, h: b + (a - b) * t**h / (q**h + t**h),
             "abqh", "log lin log log".split(), (2, 0.4, 2, 2)),
    "decay": ("observe y = b + a*exp(-k*t)", lambda t, a, b, k: b + a * np.exp(-k * t),
              "abk", "log lin log".split(), (2, 0.5, 0.5)),
    "two": ("observe y = a*exp(-k*t) + b*exp(-l*t)", lambda t, a, b, k, l: a * np.exp(-k * t) + b * np.exp(-l * t),
            "abkl", "log log log log".split(), (2, 1, 2, 0.2)),
    "wave": ("observe y = a*sin(w*t) + b*cos(w*t) + c", lambda t, a, b, c, w: a * np.sin(w * t) + b * np.cos(w * t) + c,
             "abcw", "lin lin lin log".split(), (1, 0.5, 0.3, 1)),
    "line": ("observe y = a + b*t + c*t^2", lambda t, a, b, c: a + b * t + c * t**2, "abc", "lin lin lin".split(),
             (1, 0.5, -0.1)),
}


class Case:
    """One problem: datasets, some parameters shared by all, some by plates, the rest of each dataset. huber: the constant of
    Huber's loss; None: Laplace's."""

    def __init__(self, seed, huber=None):
        self.huber = huber
        rng = np.random.default_rng(seed)
        self.name = list(MODELS)[seed % len(MODELS)]
        text, self.function, names, self.scales, typical = MODELS[self.name]
        self.names, n_par = list(names), len(names)
        self.n = int(rng.integers(1, 7))
        self.plate = rng.integers(0, 2, self.n)
        self.level = rng.choice(["dataset", "shared", "plate"], n_par, p=[0.5, 0.3, 0.2])
        self.level[rng.integers(n_par)] = "shared"
        truth = np.tile(np.array(typical, float), (self.n, 1))
        truth *= np.exp(0.2 * rng.normal(size=truth.shape))
        start = np.array(typical) * np.exp(0.2 * rng.normal(size=n_par))
        self.rows, self.sigma = [], 10 ** rng.uniform(-2, -0.5)
        for d in range(self.n):
            for j, level in enumerate(self.level):
                truth[d, j] = truth[0 if level == "shared" else np.argmax(self.plate == self.plate[d]), j] \
                    if level != "dataset" else truth[d, j]
            t = np.sort(rng.uniform(0.2, 8, int(rng.integers(5, 16))))
            y = self.function(t, *truth[d]) + self.sigma * rng.laplace(size=len(t))
            self.rows += [(d, a, 0, b, self.sigma) for a, b in zip(t, y)]
        self.rows = np.array(self.rows)
        self.text = f"model {self.name}\n" + "".join(
            f"parameter {name} = {float(s)!r} in [{float(typical[j]) * 1e-3 if scale == 'log' else '-inf'}, "
            f"{float(typical[j]) * 1e3 if scale == 'log' else 'inf'}] scale {scale}\n"
            for j, (name, s, scale) in enumerate(zip(names, start, self.scales))) + text + "\n"
        self.bounds = [(np.log(v * 1e-3), np.log(v * 1e3)) if s == "log" else (None, None)
                       for v, s in zip(typical, self.scales)]
        self.index, keys = np.zeros((self.n, n_par), int), {}
        for d in range(self.n):
            for j, level in enumerate(self.level):
                key = (j, {"dataset": d, "plate": f"p{self.plate[d]}", "shared": "all"}[level])
                self.index[d, j] = keys.setdefault(key, len(keys))
        self.keys = list(keys)

    def write(self, path):
        model = path.with_suffix(".ode")
        model.write_text(self.text)
        h.write_problem(path, None, [f"d{d}" for d in range(self.n)], self.rows, covariates={"plate": self.plate})
        with h5py.File(path, "a") as f:
            for name, value in (("name", self.names), ("level", list(self.level))):
                f.create_dataset(f"parameters/{name}", data=value, dtype=h5py.string_dtype())
        return model

    def theta(self, natural):
        x = np.zeros(len(self.keys))
        for d in range(self.n):
            for j, scale in enumerate(self.scales):
                x[self.index[d, j]] = np.log(natural[d, j]) if scale == "log" else natural[d, j]
        return x

    def residual(self, x):
        d, t, y = self.rows[:, 0].astype(int), self.rows[:, 1], self.rows[:, 3]
        p = x[self.index[d]].T
        return (self.function(t, *[np.exp(q) if s == "log" else q for q, s in zip(p, self.scales)]) - y) / self.sigma

    def slopes(self, x):
        return np.stack([self.residual(x + 1e-30j * unit).imag / 1e-30 for unit in np.eye(len(x))], axis=1)

    def value(self, x):
        r, k = self.residual(x), self.huber
        if k is None:
            return np.sum(np.hypot(r, KINK))
        return np.sum(np.where(abs(r) <= k, r * r / 2, k * (abs(r) - k / 2)))

    def gradient(self, x):
        r = self.residual(x)
        return self.slopes(x).T @ (r / np.hypot(r, KINK) if self.huber is None else np.clip(r, -self.huber, self.huber))

    def box(self):
        return [self.bounds[j] for j, _ in self.keys]

    def downhill(self, x):
        """The lowest value that L-BFGS-B and steps of linear programmes find from x. Predictions are linear in a programme, so
        its minimum is that of the absolute values; its step is halved until it helps. L-BFGS-B goes on from there."""
        low, high = np.array([[-np.inf if a is None else a, np.inf if b is None else b] for a, b in self.box()]).T
        best, radius = self.value(x), 0.1
        for _ in range(60):
            r, a, m = self.residual(x), self.slopes(x), len(self.rows)
            n = len(x)
            limits = list(zip(np.maximum(-radius, low - x), np.minimum(radius, high - x))) + [(0, None)] * m
            step = linprog(np.r_[np.zeros(n), np.ones(m)], np.block([[a, -np.eye(m)], [-a, -np.eye(m)]]), np.r_[-r, r],
                           bounds=limits).x
            new = np.inf if step is None else self.value(x + step[:n])
            if new < best:
                x, best, radius = x + step[:n], new, 2 * radius
            else:
                radius /= 4
            if radius < 1e-9:
                break
        found = minimize(self.value, x, jac=self.gradient, method="L-BFGS-B", bounds=self.box(),
                         options={"maxiter": 3000, "maxfun": 6000, "ftol": 1e-14, "gtol": 1e-9, "maxcor": 30})
        return min(best, found.fun)


def check(tmp, seeds, huber=None):
    """No converged fit is above what SciPy finds downhill of it, but for 1e-5 of the objective (a hundredth of an error),
    none stops because of an integrator's noise, and at most one in twenty does not converge."""
    n_converged = 0
    for seed in seeds:
        case = Case(seed, huber)
        path = tmp / f"{seed}-{huber}.h5"
        model = case.write(path)
        loss = ["--error", "laplace"] if huber is None else ["--error", "huber", "--huber-k", str(huber)]
        h.stiffit("run", path, "--model", model, "-j1", *loss, code=(0, 1))
        found = h.read_fits(h.result_path(path))
        with h5py.File(h.result_path(path)) as f:
            test, status = f["fits/stopping_test"][:], f["fits/status"][:]
        if np.any(status != 1):
            continue
        n_converged += 1
        x = case.theta(found["parameters"])
        value = case.value(x)
        assert np.isclose(found["objective"].sum(), value, rtol=1e-9), seed
        assert np.all(test != NOISE), seed
        assert value - case.downhill(x) < 1e-5 * max(1, value), (seed, case.name, value, case.downhill(x))
    assert n_converged >= 0.95 * len(seeds), n_converged


@h.both
def test_random_fits(tmp):
    check(tmp, h.portion(range(20, 40), 4))


@h.both
def test_random_fits_with_huber(tmp):
    for k in (0.05, 1.345):
        check(tmp, h.portion(range(60, 80), 3), k)


@h.slow
def test_many_random_fits(tmp):
    check(tmp, range(100))
    check(tmp, range(100), 0.05)
    check(tmp, range(100), 1.345)


if __name__ == "__main__":
    h.main()
