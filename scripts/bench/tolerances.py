#!/usr/bin/env python3
"""Which default tolerances are worth their time: fits of every model at a grid of integrator and optimiser tolerances,
each judged by its objective once more at tight tolerances. The table in stiffit-run(1) comes from here.

SPDX-License-Identifier: BSD-3-Clause

    scripts/bench/tolerances.py [--fits N] [--jobs N] [--rtol LIST] [--atol LIST] [--ftol LIST] [--noise LIST] [--man]
                                [MODEL ...]

A fit is at the optimum if its objective, evaluated at tight tolerances, is within 1e-6 (relative) of the best known one:
the best over all settings and over a tight fit from the best of them. Those more than 1 % away are in another local
optimum: that is the start's doing and counted apart. What a setting costs is the time of its fits (and the number of
integrator steps, which no other load on the machine changes). All figures go to tolerances.json in the build folder.
"""
import argparse
import itertools
import json
import os
import pathlib
import shutil
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests" / "e2e")]

import h5py  # noqa: E402
import numpy as np  # noqa: E402

import helpers as h  # noqa: E402

# name: (fits over --fits, tight atol, extra arguments of simulate). The dear ones get fewer fits; the ring modulator
# takes half a million steps an evaluation and is left out.
MODELS = {
    "decay": (1, 1e-15, ()), "theophylline": (1, 1e-15, ("--covariate", "dose=3.1,4.02,5.86")),
    "hare-lynx": (1, 1e-13, ()), "alpha-pinene": (1, 1e-13, ()), "robertson": (1, 1e-20, ()),
    "van-der-pol": (1, 1e-14, ()), "vdpol": (0.5, 1e-13, ()), "hires": (0.5, 1e-15, ()), "oregonator": (0.5, 1e-12, ()),
    "e5": (0.5, 1e-32, ()), "chemical-akzo-nobel": (0.5, 1e-15, ()), "diurnal": (0.25, 1e-12, ()),
    "pollu": (0.25, 1e-22, ()), "brusselator": (0.1, 1e-13, ()), "cusp": (0.1, 1e-13, ()),
    "medical-akzo-nobel": (0.05, 1e-15, ()),
}
REAL = {
    "alpha-pinene": ("data/alpha-pinene.csv",), "hare-lynx": ("data/hare-lynx.csv",),
    "theophylline": ("data/theophylline-measurements.csv", "--datasets", h.ROOT / "data/theophylline-subjects.csv"),
}
TIGHT_RTOL, TIGHT_FTOL, CLOSE, ELSEWHERE = 1e-10, 1e-13, 1e-6, 1e-2
SPREADS = {"near": 0.1, "wide": 0.7}


class Case:
    """One problem file, and what its fits came to."""

    def __init__(self, name, kind, path):
        self.name, self.kind, self.path = name, kind, path
        self.atol = MODELS[name][1]
        self.tight_options = ()  # more options of the evaluations at tight tolerances
        self.runs = {}  # (rtol, atol, ftol) -> fits

    def fit(self, tmp, *args, problem=None):
        output = tmp / "fit.result.h5"
        output.unlink(missing_ok=True)
        h.stiffit("run", problem or self.path, "--trust", "-q", "-o", output, "--certify", "no", "--max-seconds", 600, *args,
                  code=(0, 1), timeout=36000)
        return h.read_fits(output)

    def from_points(self, tmp, points, fixed):
        """The same problem from other starts; fixed: the fit is one evaluation."""
        path = tmp / "points.h5"
        shutil.copy(self.path, path)
        with h5py.File(path, "r+") as file:
            group = file.require_group("parameters")
            for name in ("start", "fixed"):
                if name in group:
                    del group[name]
            group["start"] = points
            if fixed:
                group["fixed"] = np.ones(points.shape, np.uint8)
        tight = ("--rtol", TIGHT_RTOL, "--atol", self.atol, "--ftol", TIGHT_FTOL, *self.tight_options)
        return self.fit(tmp, *tight, problem=path)

    def tight_objective(self, tmp, points):
        usable = np.all(np.isfinite(points), axis=1)
        safe = np.where(usable[:, None], points, np.nan_to_num(np.nanmedian(points, axis=0), nan=1.0))
        return np.where(usable, self.from_points(tmp, safe, True)["objective"], np.inf)

    def judge(self, tmp):
        """The excess of every fit of every setting over the best known optimum."""
        for fits in self.runs.values():
            fits["tight"] = self.tight_objective(tmp, fits["parameters"])
        settings = list(self.runs)
        tight = np.array([self.runs[s]["tight"] for s in settings])
        best = np.nanargmin(np.where(np.isfinite(tight), tight, np.inf), axis=0)
        points = np.array([self.runs[settings[b]]["parameters"][i] for i, b in enumerate(best)])
        refined = self.from_points(tmp, points, False)["objective"]
        known = np.fmin(np.min(tight, axis=0), refined)
        scale = np.maximum(np.abs(known), 1e-300)
        for fits in self.runs.values():
            fits["excess"] = np.where(np.isfinite(fits["tight"]), (fits["tight"] - known) / scale, np.inf)

    def report(self):
        rows = []
        for (rtol, atol, ftol), fits in self.runs.items():
            excess, ended = fits["excess"], fits["status"] == "converged"
            rows.append({"model": self.name, "kind": self.kind, "rtol": rtol, "atol": atol, "ftol": ftol, "fits": len(excess),
                         "steps": int(fits["steps"].sum()), "seconds": float(fits["seconds"].sum()),
                         "evaluations": float(np.median(fits["evaluations"])),
                         "at_optimum": int(np.sum(excess <= CLOSE)),
                         "short": int(np.sum((excess > CLOSE) & (excess <= ELSEWHERE))),
                         "elsewhere": int(np.sum(excess > ELSEWHERE)), "not_converged": int(np.sum(~ended)),
                         "worst": float(np.max(np.where(excess <= ELSEWHERE, excess, 0)))})
        return rows


def make(name, noise, spread, n, tmp):
    """A problem of synthetic datasets, or with noise None the real one."""
    text = h.ROOT / "models" / name / f"{name}.ode"
    kind = "real" if noise is None else f"{SPREADS_NAME[spread]} {100 * noise:g} %"
    path = tmp / f"{name}-{kind.replace(' ', '-').replace('%', 'percent')}.h5"
    if noise is None:
        h.stiffit("import", h.ROOT / REAL[name][0], *REAL[name][1:], "--model", text, "-o", path, "-q")
        return Case(name, kind, path)
    with open(h.ROOT / "models" / name / "reference.csv", encoding="utf-8") as file:
        times = [line.split(",")[0] for line in file if line[0] not in "#t"]
    start = times.pop(0)
    times = [t for t in times if float(t) > float(start)]
    share, atol, extra = MODELS[name]
    h.stiffit("simulate", "--model", text, "--times", ",".join(times), "--datasets", max(2, int(n * share)), "--spread",
              spread, "--noise", noise, "--seed", zlib.crc32(kind.encode()) % 1000, "--rtol", 1e-9, "--atol", atol, "-o",
              path, "-q", *extra)
    return Case(name, kind, path)


SPREADS_NAME = {value: name for name, value in SPREADS.items()}


def total(rows):
    """One line per setting over all cases. Costs are relative to the cheapest setting of each model, then averaged, so that
    no dear model drowns the others."""
    least = {}
    for row in rows:
        key = (row["model"], row["kind"])
        least[key] = min(least.get(key, np.inf), row["steps"])
    lines = []
    for setting in sorted({(r["rtol"], r["atol"], r["ftol"]) for r in rows}, reverse=True):
        mine = [r for r in rows if (r["rtol"], r["atol"], r["ftol"]) == setting]
        cost = np.exp(np.mean([np.log(r["steps"] / least[r["model"], r["kind"]]) for r in mine]))
        lines.append({"rtol": setting[0], "atol": setting[1], "ftol": setting[2], "cost": float(cost),
                      "seconds": sum(r["seconds"] for r in mine), "fits": sum(r["fits"] for r in mine),
                      **{k: sum(r[k] for r in mine) for k in ("short", "elsewhere", "not_converged")},
                      "worst": max(r["worst"] for r in mine)})
    return lines


def show(lines, man):
    if man:
        for line in lines:
            print(f"{line['rtol']:.0e} Ta {line['atol']:.0e} Ta {line['ftol']:.0e} Ta {line['cost']:.2f} Ta "
                  f"{line['short']} Ta {line['worst']:.0e}")
        return
    print("   rtol    atol    ftol   steps  seconds   fits  short  worst    elsewhere  not converged")
    for line in lines:
        print(f"  {line['rtol']:.0e}  {line['atol']:.0e}  {line['ftol']:.0e}  {line['cost']:5.2f}  {line['seconds']:7.1f}  "
              f"{line['fits']:5d}  {line['short']:5d}  {line['worst']:.1e}  {line['elsewhere']:9d}  "
              f"{line['not_converged']:13d}")


def numbers(text):
    return [float(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=100, help="synthetic datasets of a cheap model")
    parser.add_argument("--jobs", type=int, default=1, help="threads of a run")
    parser.add_argument("--rtol", type=numbers, default=[1e-4, 1e-5, 1e-6, 1e-7, 1e-8])
    parser.add_argument("--atol", type=numbers, default=[1e-6, 1e-9, 1e-12])
    parser.add_argument("--ftol", type=numbers, default=[1e-7, 1e-9, 1e-11])
    parser.add_argument("--noise", type=numbers, default=[0.001, 0.02, 0.1])
    parser.add_argument("--output", type=pathlib.Path, default=h.BUILD / "tolerances.json")
    parser.add_argument("--man", action="store_true", help="print rows of the manual's table")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    args = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    unknown = set(args.models) - set(MODELS)
    if unknown:
        parser.error(f"no such model: {' '.join(sorted(unknown))}; there are {' '.join(MODELS)}")
    tmp = pathlib.Path(tempfile.mkdtemp(prefix="stiffit-tolerances-"))
    rows = []
    try:
        for name in args.models or MODELS:
            wanted = [(noise, spread) for noise in args.noise for spread in SPREADS.values()]
            for noise, spread in wanted + ([(None, None)] if name in REAL else []):
                case = make(name, noise, spread, args.fits, tmp)
                for rtol, atol, ftol in itertools.product(args.rtol, args.atol, args.ftol):
                    case.runs[rtol, atol, ftol] = case.fit(tmp, "--rtol", rtol, "--atol", atol, "--ftol", ftol, "-j",
                                                           args.jobs)
                case.judge(tmp)
                rows += case.report()
                print(f"{name}, {case.kind}:", flush=True)
                show(total([r for r in rows if (r["model"], r["kind"]) == (name, case.kind)]), False)
                args.output.write_text(json.dumps({"rows": rows, "total": total(rows)}, indent=1), encoding="utf-8")
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
    print("all:")
    show(total(rows), args.man)


if __name__ == "__main__":
    main()
