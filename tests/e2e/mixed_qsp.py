"""A stiff model of 20 states as quantitative systems pharmacology has them, and populations simulated with SciPy: a drug that
binds its target within seconds and is eliminated over days, a cascade of signals between, and a marker that falls.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np
from scipy.integrate import solve_ivp

import helpers as h

RANDOM = ["CL", "V", "ksyn", "kout"]
SHARED = ["Imax", "b", "c"]
MEAN = np.log([0.8, 3.0, 2.0, 0.15])
DEVIATION = np.array([0.3, 0.2, 0.35, 0.25])
IMAX, B, C = 0.8, 0.1, 0.08
SIGNALS = 10
RATES = np.geomspace(200, 0.5, SIGNALS)  # 1/h: from seconds to hours
KON, KOFF, KINT, KDEG = 200.0, 20.0, 0.1, 0.5
TIMES = {"drug": np.array([0.5, 2, 6, 24, 72]), "marker": np.array([6, 24, 48, 96])}
END = 96.0
TEXT = f"""parameter CL = 1 scale log
parameter V = 4 scale log
parameter ksyn = 1.5 scale log
parameter kout = 0.2 scale log
parameter Imax = 0.7 in [0.01, 1]
parameter b = 0.2 in [1e-3, 10] scale log
parameter c = 0.2 in [1e-3, 10] scale log
covariate dose
depot(0) = dose; D(0) = 0; P(0) = 0; R(0) = ksyn/{KDEG}; RD(0) = 0
depot' = -0.6*depot
D' = 0.6*depot/V - CL/V*D - 0.3*D + 0.2*P - {KON}*D*R + {KOFF}*RD
P' = 0.3*D - 0.2*P
R' = ksyn - {KDEG}*R - {KON}*D*R + {KOFF}*RD
RD' = {KON}*D*R - {KOFF}*RD - {KINT}*RD
""" + "".join(f"S{i}(0) = 0; S{i}' = {rate!r}*({'RD/(RD + 1)' if i == 0 else f'S{i - 1}'} - S{i})\n"
              for i, rate in enumerate(map(float, RATES))) + f"""M(0) = 1; G(0) = 1; H(0) = 1; F(0) = 1; Y(0) = 1
M' = 2*(1 - Imax*S{SIGNALS - 1}/(S{SIGNALS - 1} + 0.3) + 0.2*(1 - F) - M)
G' = 5*(M - G)
H' = 1*(G - H)
Y' = kout*(H - Y)
F' = 0.05*(Y - F)
observe drug = D + RD sd b*(D + RD) + 1e-3, marker = Y sd c*Y
"""


def rates(phi, imax):
    """The right-hand side of (t, y), at parameters phi = log of RANDOM. Plain numbers: small arrays are slower."""
    cl, v, ksyn, kout = map(float, np.exp(phi))
    rate = list(map(float, RATES))

    def right(_, y):
        depot, d, p, r, rd, *s, m, g, h_, q, f = y.tolist()
        bound = KON * d * r - KOFF * rd
        chain = [k * (before - now) for k, before, now in zip(rate, [rd / (rd + 1), *s], s)]
        return [-0.6 * depot, 0.6 * depot / v - cl / v * d - 0.3 * d + 0.2 * p - bound, 0.3 * d - 0.2 * p,
                ksyn - KDEG * r - bound, bound - KINT * rd, *chain,
                2 * (1 - imax * s[-1] / (s[-1] + 0.3) + 0.2 * (1 - f) - m), 5 * (m - g), g - h_, kout * (h_ - q),
                0.05 * (q - f)]
    return right


def predict(phi, dose, imax=IMAX, method="LSODA", rtol=1e-7):
    """Predictions of the drug and the marker at their times."""
    start = np.concatenate([[dose, 0, 0, np.exp(phi[2]) / KDEG, 0], np.zeros(SIGNALS), np.ones(5)])
    times = np.union1d(TIMES["drug"], TIMES["marker"])
    found = solve_ivp(rates(phi, imax), (0, END), start, method, times, rtol=rtol, atol=1e-10)
    assert found.success, found.message
    drug, marker = found.y[1] + found.y[4], found.y[18]
    return np.concatenate([drug[np.isin(times, TIMES["drug"])], marker[np.isin(times, TIMES["marker"])]])


def deviations(prediction, b=B, c=C):
    n = len(TIMES["drug"])
    return np.concatenate([b * prediction[..., :n] + 1e-3, c * prediction[..., n:]], axis=-1)


def simulate(n, seed):
    """phi (n x 4), doses, measurements (n x 9)."""
    rng = np.random.default_rng(seed)
    phi = MEAN + DEVIATION * rng.normal(size=(n, 4))
    dose = rng.choice([20.0, 50.0, 100.0], n)
    clean = np.array([predict(p, d) for p, d in zip(phi, dose)])
    return phi, dose, clean + deviations(clean) * rng.normal(size=clean.shape)


def write(path, dose, y):
    """Returns the words that name the problem and its model."""
    times = np.concatenate([TIMES["drug"], TIMES["marker"]])
    kind = np.repeat([0, 1], [len(TIMES["drug"]), len(TIMES["marker"])])
    path.with_suffix(".ode").write_text(TEXT)
    h.write_problem(path, None, [f"d{d}" for d in range(len(y))],
                    [(d, t, o, v, np.nan) for d, row in enumerate(y) for t, o, v in zip(times, kind, row)],
                    parameters={"observables": ["drug", "marker"]}, covariates={"dose": dose})
    return path, "--model", path.with_suffix(".ode")
