#!/usr/bin/python3
"""Writes models/NAME/reference.csv: states, observables and the states' sensitivities at the model's reference parameters.

Nothing of stiffit is used: the equations are written out a second time below, the sensitivities come from complex
steps in them, and SciPy integrates. Each number is kept only if two integrators of different families agree on it.
SPDX-License-Identifier: BSD-3-Clause

usage: make-reference.py [--check] [NAME ...]     --check compares with the files instead of writing them
"""
import sys
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

ROOT = Path(__file__).resolve().parent.parent
# Agreement of the two integrators, relative to the largest value of the column: what reference.csv may be trusted for.
AGREEMENT = 2e-9


def alpha_pinene(t, y, p, c):
    return [-(p[0] + p[1]) * y[0], p[0] * y[0], p[1] * y[0] - (p[2] + p[3]) * y[2] + p[4] * y[4], p[2] * y[2],
            p[3] * y[2] - p[4] * y[4]]


def robertson(t, y, p, c):
    return [-p[0] * y[0] + p[1] * y[1] * y[2], p[0] * y[0] - p[1] * y[1] * y[2] - p[2] * y[1] ** 2, p[2] * y[1] ** 2]


def theophylline(t, y, p, c):
    ke, ka = np.exp(p[0]), np.exp(p[1])
    return [-ka * y[0], ka * y[0] - ke * y[1]]


def hare_lynx(t, y, p, c):
    return [(p[0] - p[1] * y[1]) * y[0], (p[3] * y[0] - p[2]) * y[1]]


def van_der_pol(t, y, p, c):
    return [y[1], p[0] * (1 - y[0] ** 2) * y[1] - y[0]]


def decay(t, y, p, c):
    return [-p[0] * y[0]]


# name: right-hand side, states, parameters and their values, covariates, t0, times, y(t0), observables
MODELS = {
    "alpha-pinene": dict(
        rhs=alpha_pinene, states="y1 y2 y3 y4 y5", parameters="p1 p2 p3 p4 p5", covariate={},
        p=[5.92585e-05, 2.96340e-05, 2.04728e-05, 2.74468e-04, 3.99795e-05], t0=0.0,
        times=[0, 1230, 3060, 4920, 7800, 10680, 15030, 22620, 36420],
        initial=lambda p, c: [100, 0, 0, 0, 0], observe=lambda y, p, c: dict(zip("y1 y2 y3 y4 y5".split(), y))),
    "robertson": dict(
        rhs=robertson, states="y1 y2 y3", parameters="p1 p2 p3", covariate={}, p=[0.04, 1e4, 3e7], t0=0.0,
        times=[0, 1e-3, 3e-3, 1e-2, 1e-1, 1, 4, 10, 40, 100, 400, 1000, 4000],
        initial=lambda p, c: [1, 0, 0], observe=lambda y, p, c: {"y1": y[0], "y2e4": 1e4 * y[1], "y3": y[2]}),
    "theophylline": dict(
        rhs=theophylline, states="gut central", parameters="lKe lKa lCl", covariate={"dose": 4.02}, p=[-2.5, 0.5, -3.0],
        t0=0.0, times=[0, 0.25, 0.57, 1.12, 2.02, 3.82, 5.1, 7.03, 9.05, 12.12, 24.37],
        initial=lambda p, c: [c["dose"], 0], observe=lambda y, p, c: {"conc": y[1] * np.exp(p[0] - p[2])}),
    "hare-lynx": dict(
        rhs=hare_lynx, states="hare lynx", parameters="alpha beta gamma delta H0 L0", covariate={},
        p=[0.5, 0.02, 0.8, 0.02, 30.0, 4.0], t0=1900.0, times=list(range(1900, 1921)),
        initial=lambda p, c: [p[4], p[5]], observe=lambda y, p, c: {"hare": y[0], "lynx": y[1]}),
    "van-der-pol": dict(
        rhs=van_der_pol, states="y1 y2", parameters="mu", covariate={}, p=[10.0], t0=0.0,
        times=[0, 0.1, 0.5, 1, 2, 4, 6, 8, 9, 10, 12, 15, 18, 20],
        initial=lambda p, c: [2, 0], observe=lambda y, p, c: {"y1": y[0]}),
    "decay": dict(
        rhs=decay, states="y", parameters="k A", covariate={}, p=[0.5, 1.0], t0=0.0,
        times=[0, 0.25, 0.5, 1, 2, 3, 5, 8, 13, 20],
        initial=lambda p, c: [p[1]], observe=lambda y, p, c: {"y": y[0]}),
}

STEP = 1e-100  # of a complex step: its square vanishes, so the derivative is exact to rounding


def directional(function, n, y, p, dy, dp):
    value = function(y + 1j * STEP * dy, p + 1j * STEP * dp)
    return np.array([complex(v).imag for v in value])[:n] / STEP


def trajectory(model, method, rtol):
    """Columns t x (states, sensitivities column by column)."""
    p, c = np.array(model["p"]), model["covariate"]
    y0 = np.array(model["initial"](p, c), dtype=float)
    n, n_p = len(y0), len(p)
    unit = np.eye(n_p)

    def augmented(t, z):
        out = [np.array(model["rhs"](t, z[:n], p, c), dtype=float)]
        for j in range(n_p):
            out.append(directional(lambda y, q: model["rhs"](t, y, q, c), n, z[:n], p, z[n * (j + 1):n * (j + 2)], unit[j]))
        return np.concatenate(out)

    z0 = [y0] + [directional(lambda y, q: model["initial"](q, c), n, y0, p, 0 * y0, unit[j]) for j in range(n_p)]
    # Each block is weighed by its own size: a sensitivity to p is about y / p.
    size = max(abs(y0).max(), 1e-3)
    atol = np.concatenate([np.full(n, 1e-4 * rtol * size)] + [np.full(n, 1e-4 * rtol * size / abs(q)) for q in p])
    solution = solve_ivp(augmented, (model["t0"], model["times"][-1]), np.concatenate(z0), method=method, rtol=rtol,
                         atol=atol, t_eval=model["times"])
    if not solution.success:
        raise SystemExit(f"{method}: {solution.message}")
    return solution.y.T


def reference(name):
    model = MODELS[name]
    stiff = name in ("robertson", "alpha-pinene", "van-der-pol", "theophylline")
    best = trajectory(model, "Radau" if name == "robertson" else "DOP853", 1e-12)
    other = trajectory(model, "LSODA" if name == "robertson" else "Radau", 1e-11 if stiff else 1e-12)
    scale = np.abs(best).max(axis=0)
    scale[scale == 0] = 1
    difference = (np.abs(best - other).max(axis=0) / scale).max()
    if difference > AGREEMENT:
        raise SystemExit(f"{name}: the two integrators differ by {difference:.1e} of the columns' size")
    states, parameters, n = model["states"].split(), model["parameters"].split(), len(model["states"].split())
    rows = []
    for t, z in zip(model["times"], best):
        observables = model["observe"](z[:n], np.array(model["p"]), model["covariate"])
        rows.append([t, *z[:n], *observables.values(), *z[n:]])
    header = ["t"] + [f"state:{s}" for s in states] + [f"observable:{o}" for o in observables]
    header += [f"sensitivity:{s}/{q}" for q in parameters for s in states]
    return header, np.array(rows, dtype=float), difference


def preamble(name):
    model = MODELS[name]
    values = dict(zip(model["parameters"].split(), model["p"]), **model["covariate"])
    return "# " + ", ".join(f"{key} = {value!r}" for key, value in values.items()) + f", t0 = {model['t0']!r}\n"


def main(arguments):
    check = "--check" in arguments
    names = [a for a in arguments if not a.startswith("-")] or list(MODELS)
    for name in names:
        header, rows, difference = reference(name)
        path = ROOT / "models" / name / "reference.csv"
        if check:
            old = np.loadtxt(path, delimiter=",", skiprows=2)
            scale = np.where(np.abs(rows).max(axis=0) > 0, np.abs(rows).max(axis=0), 1)
            worst = (np.abs(old - rows) / scale).max()
            print(f"{name}: differs from the file by at most {worst:.1e} of a column's size")
            if worst > AGREEMENT:
                raise SystemExit(1)
        else:
            with open(path, "w") as out:
                out.write(preamble(name) + ",".join(header) + "\n")
                for row in rows:
                    out.write(",".join(f"{v:.15g}" for v in row) + "\n")
            print(f"{name}: {len(rows)} rows, the two integrators agree to {difference:.1e}")


main(sys.argv[1:])
