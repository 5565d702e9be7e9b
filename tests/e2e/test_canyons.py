"""Fits in curved valleys that are steep at both sides, from points where the next step promises next to nothing although the
valley leads far down: what the values and the slopes at the end of a long step disagree by is the model's error there, and no
noise of the integrator in which the optimum could be hidden. Along the valley log b = P (log a)^2 the objective is known in
closed form.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np
from scipy.optimize import minimize_scalar

import helpers as h

MODEL = """parameter a = 1 in [1e-3, 1e3] scale log
parameter b = 1 in [1e-9, 1e9] scale log
covariate S, A1, q1, A2, q2, P
y(0) = 1
y' = -y
observe c = S*(log(b) - P*log(a)^2) + y - exp(-t) sd 1
observe u = A1*a^q1 + y - exp(-t) sd 1
observe v = A2*a^q2 + y - exp(-t) sd 1
"""
COVARIATES = ["S", "A1", "q1", "A2", "q2", "P"]
PROMISES = (2e-8, 1e-6)  # of the next step, in parts of the objective: too much to have converged, and next to nothing


def draw(rng):
    """A problem (covariates, data), a start in the valley, and the objective at the next minimum downhill; or None."""
    c = {"S": 10 ** rng.uniform(0.5, 4), "P": rng.uniform(0.3, 3)}
    (c["A1"], c["A2"]), (c["q1"], c["q2"]) = 10 ** rng.uniform(-2, 1, 2) * rng.choice([-1, 1], 2), rng.uniform(-2, 2, 2)
    d = rng.normal(0, 6, 2)

    def residuals(x):
        return d[0] - c["A1"] * np.exp(c["q1"] * x), d[1] - c["A2"] * np.exp(c["q2"] * x)

    def objective(x):
        return sum(r ** 2 for r in residuals(x)) / 2

    x = np.linspace(-1, 1, 2001) * min(5, 0.98 * np.sqrt(9 * np.log(10) / c["P"]))  # within the bounds of b
    f, slopes = objective(x), [c[f"A{k}"] * c[f"q{k}"] * np.exp(c[f"q{k}"] * x) for k in (1, 2)]
    gradient = -sum(r * s for r, s in zip(residuals(x), slopes))
    promise = gradient ** 2 / sum(s ** 2 for s in slopes) / 2
    hard = np.flatnonzero((promise > PROMISES[0] * f) & (promise < PROMISES[1] * f) & (f > 1))
    if not len(hard):
        return None
    i = j = rng.choice(hard)
    step = -int(np.sign(gradient[i]))
    while 0 < j < len(x) - 1 and f[j + step] < f[j]:
        j += step
    if f[i] - f[j] < 0.01 or j in (0, len(x) - 1):
        return None
    right = minimize_scalar(objective, bounds=(x[j - 1], x[j + 1]), method="bounded", options={"xatol": 1e-12}).fun
    return c, d, [np.exp(x[i]), np.exp(c["P"] * x[i] ** 2)], right


@h.both
def test_noise_is_noise(tmp):
    """Hardly one in a hundred stops as if noise hid the optimum although it is 0.001 lower, while the integrator's errors are
    1e-7: a trial that looks like noise by chance remains."""
    n, rng, drawn = 150 if h.QUICK else 900, np.random.default_rng(3), []
    most = 0.03 if h.QUICK else 0.015  # seven or eight of 900 do, three of the first 150
    while len(drawn) < n:
        drawn += [problem for problem in [draw(rng)] if problem]
    (tmp / "m.ode").write_text(MODEL)
    rows = [(i, 1, o, value, 1) for i, (_, d, _, _) in enumerate(drawn) for o, value in enumerate((0, *d))]
    h.write_problem(tmp / "p.h5", None, [f"d{i}" for i in range(n)], rows,
                    parameters={"name": ["a", "b"], "start": [start for _, _, start, _ in drawn],
                                "observables": ["c", "u", "v"]},
                    covariates={name: [c[name] for c, *_ in drawn] for name in COVARIATES})
    right = np.array([right for *_, right in drawn])
    for engine in ["lanes"] if h.QUICK else ["lanes", "cvodes"]:
        h.stiffit("run", tmp / "p.h5", "--model", tmp / "m.ode", "--engine", engine, "-q", "-j1", "--overwrite",
                  "-o", tmp / "r.h5", code=(0, 1))
        fits = h.read_fits(tmp / "r.h5")
        above = fits["chi_square"] / 2 - right
        is_false = (fits["status"] == "converged") & (fits["stopping_test"] == "noise") & (above > 1e-3)
        assert is_false.sum() <= most * n, f"{engine}: {np.flatnonzero(is_false)} are {above[is_false]} above the minimum"


if __name__ == "__main__":
    h.main()
