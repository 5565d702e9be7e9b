"""Random problems: no row that says converged is wrong about its objective, above its start, or improved by SciPy.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 7200

A seed is a problem of a few datasets (fit_problems.py); the judge (fit_judge.py) shares nothing with the program.
`test_fit_random.py --show SEED [FOLDER]` judges one aloud and keeps its file, `--survey FIRST COUNT` prints all faults.
"""
import collections
import concurrent.futures
import os
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import helpers  # noqa: E402
from fit_judge import Objective  # noqa: E402
from fit_models import Library, all_forms  # noqa: E402
from fit_problems import Problem  # noqa: E402

FIRST_SEED = 31_000_000
N_CASE = 2
N_PROBLEM = 500 if helpers.SLOW else 20
HAS_POINT = ("converged", "stalled", "budget", "timeout")
NOTES = {9: "noise_floor", 10: "no_influence", 11: "not_certified", 12: "flat_direction", 6: "failed_evaluations"}
EXCUSES = ("noise_floor", "no_influence", "not_certified", "flat_direction")


def judge_row(problem, case, row):
    """(faults, facts) of a row: faults are (kind, text)."""
    objective = Objective(problem, case)
    notes = [name for bit, name in NOTES.items() if int(row["notes"]) >> bit & 1]
    facts = {"status": str(row["status"]), "notes": notes, "message": str(row["message"])}
    if row["status"] not in HAS_POINT:
        begin = objective.value(case.start)
        return ([("no fit", f"{row['status']}: {row['message']} at a start of {begin:.9g}")] if np.isfinite(begin) else []), facts
    p, f = np.asarray(row["parameters"]), float(row["objective"])
    true, doubt = objective.confirmed(p)
    begin, doubt_begin = objective.confirmed(case.start)
    unit, rounding = objective.variance(true), objective.rounding(problem.rtol)
    change = abs(float(row["tight_objective_change"]))
    facts.update(f=f, true=true, doubt=doubt, begin=begin, unit=unit, change=change, p=p)
    faults = []
    if not max(doubt, doubt_begin if np.isfinite(begin) else 0) <= 1e-5 * unit + 1e-9 * abs(true) + rounding:
        faults.append(("undecided", f"judge {true:.12g} +- {doubt:.3g}, start {begin:.12g} +- {doubt_begin:.3g}"))
        return faults, facts
    if not np.all((p >= case.lower) & (p <= case.upper) | case.fixed) or not np.all(p[case.fixed] == case.start[case.fixed]):
        faults.append(("outside", f"{p} not in {case.lower}, {case.upper} or not as fixed"))
    margin = 1e-3 * unit + 1e-9 * abs(true) + rounding
    if not true <= begin + (2 * change if np.isfinite(change) else 0) + margin:
        faults.append(("above start", f"{true:.12g}, start {begin:.12g}: worse by {true - begin:.3g}"))
    if row["status"] != "converged":
        return faults, facts
    if not abs(f - true) <= 2 * change + margin:
        faults.append(("objective", f"says {f:.12g}, is {true:.12g}: off by {f - true:.3g}, certificate {change:.3g}"))
    best = objective.best(p)
    facts["best"] = best
    if true - best.f > margin:
        faults.append(("improved", f"{true:.12g} to {best.f:.12g}: by {true - best.f:.3g} at {best.p}"))
    return faults, facts


def judge_problem(problem, folder, keep=None):
    """[(case, faults, facts)] of a problem."""
    path = (keep or folder) / f"s{problem.seed}.h5"
    problem.write(path)
    fits = helpers.run(path, *problem.options, "-j", "1", "--overwrite", code=None)
    assert len(fits["status"]) == len(problem.cases), fits["stderr"]
    return [(case, *judge_row(problem, case, {name: fits[name][i] for name in (
        "status", "notes", "message", "parameters", "objective", "tight_objective_change")}))
        for i, case in enumerate(problem.cases)]


def told(problem, i, case, faults, facts):
    print(f"seed {problem.seed} dataset {i}: {problem.form.name}, {' '.join(problem.options)}; units "
          f"{problem.units}, scales {problem.scale}, {case.words}; {facts['status']} {' '.join(facts['notes'])}")
    for kind, text in faults:
        print(f"    {kind}: {text}")


def survey(seeds, verbose=True):
    counts, bad = collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="stiffit-fits-") as folder:
        folder = pathlib.Path(folder)
        forms = all_forms()
        library = Library(folder, forms)

        def one(seed):
            problem = Problem(seed, library, forms, N_CASE)
            return problem, judge_problem(problem, folder)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for problem, rows in pool.map(one, seeds):
                for i, (case, faults, facts) in enumerate(rows):
                    counts["rows"] += 1
                    counts[facts["status"]] += 1
                    for kind, _ in faults:
                        excuse = " (noted)" if set(facts["notes"]) & set(EXCUSES) else ""
                        counts[kind + excuse] += 1
                    if faults and verbose:
                        told(problem, i, case, faults, facts)
                    bad += [(problem.seed, i, kind, facts["notes"]) for kind, _ in faults]
    return counts, bad


def show(seed, keep):
    keep.mkdir(parents=True, exist_ok=True)
    forms = all_forms()
    problem = Problem(seed, Library(keep, forms), forms, N_CASE)
    print(problem.form.text())
    for i, (case, faults, facts) in enumerate(judge_problem(problem, keep, keep)):
        told(problem, i, case, faults, facts)
        print(f"    truth {case.truth}\n    start {case.start}\n    lower {case.lower}\n    upper {case.upper}\n    fixed {case.fixed}\n    {facts}")
        o = Objective(problem, case)
        good = o.best(np.clip(case.truth, case.lower, case.upper))
        print(f"    SciPy from the truth: {good.f:.12g} at {good.p}")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.argv[1:2] == ["--show"]:
        show(int(sys.argv[2]), pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else f"/tmp/fit-{sys.argv[2]}"))
    elif sys.argv[1:2] == ["--survey"]:
        print(survey(range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3])))[0])
    else:
        helpers.main()
