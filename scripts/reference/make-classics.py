#!/usr/bin/python3
"""Writes the reference solutions of the classic stiff problems in models/: states, observables, sensitivities.

SPDX-License-Identifier: BSD-3-Clause

usage: make-classics.py [--check] [NAME ...]     --check: compares with the files instead of writing them

Nothing of stiffit is used. The equations are those of classics.py; radau.py integrates them (order 13 or 17, extended
precision). Each number is judged three ways, and what was found is printed: by a second run of lower order, by SciPy's
LSODA or Radau, and by the end values that the literature prints. Sensitivities are judged by central differences.
"""
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.integrate import odeint, solve_ivp

from classics import PROBLEMS
from radau import LD, Radau

ROOT = Path(__file__).resolve().parents[2]


class Case:
    def __init__(self, name):
        self.problem = q = PROBLEMS[name]
        self.name, self.times, self.p = name, q["times"], q["p"]
        self.states, self.parameters = q["states"].split(), q["parameters"].split()
        self.n = len(q["y0"])
        self.observe = q.get("observe", [(s, {s: 1}) for s in self.states])
        self.seen = [i for i, s in enumerate(self.states) if any(s in form for _, form in self.observe)]
        self.path = ROOT / "models" / name / q.get("file", "reference.csv")

    def run(self, stages=None, tol=None, p=None, sensitivities=False):
        q = self.problem
        stages, tol = stages or q.get("stages", 7), tol or q.get("tol", 1e-12)
        radau = Radau(q["rhs"], self.n, self.p if p is None else p, stages)
        found = radau.solve(0, q["y0"], self.times, tol, q["floor"], breaks=q.get("breaks", ()),
                            S0=np.zeros((self.n, len(self.p))) if sensitivities else None)
        y = np.array([state for state, _ in found])
        return (y, np.array([S for _, S in found])) if sensitivities else y

    def scipy(self):
        q, p = self.problem, np.array(self.p)
        helper = Radau(q["rhs"], self.n, self.p)

        def f(t, y):
            return np.array([np.broadcast_to(v, ()) for v in q["rhs"](t, y, p)], dtype=float)

        def jacobian(t, y):
            return helper.jacobians(np.array([t]), y[:, None])[0]
        floor = np.array(q["floor"])
        y, at, rows = np.array(q["y0"], dtype=float), 0.0, {0.0: np.array(q["y0"], dtype=float)}
        for stop in sorted(set(map(float, self.times)) | set(map(float, q.get("breaks", ())))):
            if stop <= at:
                continue
            if q.get("scipy") == "Radau":
                y = solve_ivp(f, (at, stop), y, method="Radau", rtol=1e-12, atol=1e-9 * floor, jac=jacobian).y[:, -1]
            else:
                band = {"ml": q["band"], "mu": q["band"]} if "band" in q else {"Dfun": jacobian}
                # The step before a break must not look beyond it.
                y = odeint(f, y, [at, stop], tfirst=True, rtol=1e-12, atol=1e-9 * floor, mxstep=10 ** 7, tcrit=[stop],
                           **band)[-1]
            rows[stop], at = y, stop
        return np.array([rows[float(t)] for t in self.times])

    def difference(self, S):
        """Of the sensitivities from central differences of a relative step of 1e-6, over each column's size."""
        worst = 0.0
        for j in self.problem.get("differences", range(len(self.p))):
            p = [np.array(self.p, dtype=LD) for _ in (0, 1)]
            step = p[0][j] * LD(1e-6)
            p[0][j] += step
            p[1][j] -= step
            slope = (self.run(p=p[0]) - self.run(p=p[1])) / (2 * step)
            worst = max(worst, relative(S[:, self.seen, j], slope[:, self.seen]))
        return worst


def relative(a, b):
    """Largest difference over the size of its column."""
    size = np.maximum(np.abs(a).max(axis=0), np.abs(b).max(axis=0))
    return float((np.abs(a - b).max(axis=0) / np.where(size > 0, size, 1)).max())


def table(case, y, S):
    state = {name: i for i, name in enumerate(case.states)}
    columns = [("t", np.array(case.times, dtype=LD))]
    columns += [(f"state:{s}", y[:, i]) for s, i in state.items()]
    columns += [(f"observable:{o}", sum(factor * y[:, state[s]] for s, factor in form.items()))
                for o, form in case.observe]
    columns += [(f"sensitivity:{case.states[i]}/{q}", S[:, i, j])
                for j, q in enumerate(case.parameters) for i in case.seen]
    return [name for name, _ in columns], np.array([values for _, values in columns], dtype=LD).T


def main(arguments):
    names = [a for a in arguments if not a.startswith("-")] or list(PROBLEMS)
    warnings.simplefilter("ignore")
    for name in names:
        case = Case(name)
        y, S = case.run(sensitivities=True)
        header, rows = table(case, y, S)
        if "--check" in arguments:
            old = np.loadtxt(case.path, delimiter=",", skiprows=2)
            print(f"{name}: differs from the file by at most {relative(old, rows):.1e} of a column's size", flush=True)
            continue
        values = ", ".join(f"{k} = {float(v)!r}" for k, v in zip(case.parameters, case.p))
        with open(case.path, "w", encoding="utf-8") as out:
            out.write(f"# {values}, t0 = 0.0\n" + ",".join(header) + "\n")
            out.writelines(",".join(f"{v:.15g}" for v in row) + "\n" for row in rows)
        print(f"{name}: written; {len(rows)} x {len(header)}", flush=True)
        lower = case.problem.get("stages", 7) - 2
        print(f"    order {2 * lower - 1} differs by {relative(y, case.run(lower, 1e-11)):.1e} of a column's size", flush=True)
        print(f"    SciPy differs by {relative(y, case.scipy()):.1e}", flush=True)
        print(f"    sensitivities differ from differences by {case.difference(S):.1e}", flush=True)
        for i, printed in case.problem.get("published", {}).items():
            print(f"    {case.states[i]} at the end: {y[-1][i]:.17g}, printed {printed}, relative difference "
                  f"{float(abs(y[-1][i] / LD(printed) - 1)):.1e}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
