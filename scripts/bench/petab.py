"""SBML and PEtab of the size of large published problems: import, building, what an objective costs, two workers.
A part of bench.py; or alone: petab.py.

SPDX-License-Identifier: BSD-3-Clause
"""
import concurrent.futures
import pathlib
import random
import sys
import tempfile

import h5py
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "e2e")]

import helpers as h  # noqa: E402
import sbml_text  # noqa: E402
from idle import Idle  # noqa: E402
from measure import measure  # noqa: E402
from test_sbml_hostile import large  # noqa: E402

N_SPECIES, N_PARAMETER = 20, 100


def chain():
    """A pathway of 20 species with mass action and saturation, whose 80 constants are parameters, and an input."""
    s, made = sbml_text, [sbml_text.compartment("c", 1), sbml_text.parameter("stimulus", 1)]
    made += [s.species(f"S{i}", conc=1) for i in range(N_SPECIES)]
    for i in range(N_SPECIES):
        for name, value in (("kf", 0.5), ("kb", 0.3), ("km", 1.0), ("kd", 0.05)):
            made.append(s.parameter(f"{name}{i}", value*(1 + i % 3)))
        following = f"S{(i + 1) % N_SPECIES}"
        made.append(s.reaction(f"f{i}", f"S{i} -> {following}", f"c*kf{i}*S{i}/(km{i} + S{i})*stimulus"))
        made.append(s.reaction(f"b{i}", f"{following} -> S{i}", f"c*kb{i}*{following}"))
        made.append(s.reaction(f"d{i}", f"S{i} ->", f"c*kd{i}*S{i}"))
    return s.sbml(*made)


def write(folder, n_condition, n_row):
    """A problem of version 1: 80 kinetic parameters, 10 factors and 10 sigmas, n_row measurements at 2 times of 10 species."""
    folder.mkdir()
    rng = random.Random(2)
    (folder / "model.xml").write_text(chain(), encoding="utf-8")
    rows = {"parameters": ["parameterId\tparameterScale\tlowerBound\tupperBound\tnominalValue\testimate"],
            "conditions": ["conditionId\tstimulus\tS0"], "observables": ["observableId\tobservableFormula\tnoiseFormula"],
            "measurements": ["observableId\tsimulationConditionId\ttime\tmeasurement"]}
    for i in range(N_SPECIES):
        rows["parameters"] += [f"{name}{i}\tlog10\t1e-5\t1e5\t{value*(1 + i % 3)}\t1"
                               for name, value in (("kf", 0.4), ("kb", 0.35), ("km", 0.8), ("kd", 0.06))]
    for i in range(10):
        rows["parameters"] += [f"factor{i}\tlog10\t1e-5\t1e5\t1\t1", f"sigma{i}\tlog10\t1e-5\t1e5\t0.2\t1"]
        rows["observables"].append(f"y{i}\tfactor{i}*S{2*i}\tsigma{i}")
    for c in range(n_condition):
        rows["conditions"].append(f"c{c}\t{0.2 + rng.random():.5f}\t{0.5 + 2*rng.random():.5f}")
    for k in range(n_row):
        c, k = k % n_condition, k // n_condition
        rows["measurements"].append(f"y{k % 10}\tc{c}\t{(2, 20)[k // 10 % 2]}\t{rng.gauss(0.8, 0.2):.6f}")
    for name, lines in rows.items():
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "p.yaml").write_text("format_version: 1\nparameter_file: parameters.tsv\nproblems:\n- sbml_files: [model.xml]\n" +
                                   "".join(f"  {k}_files: [{k}s.tsv]\n" for k in ("condition", "observable", "measurement")))
    return folder / "p.yaml"


def split(problem, path, n, k):
    """The first n*k experiments as n datasets of k."""
    with h5py.File(problem) as f, h5py.File(path, "w") as other:
        n_experiment = n*k
        for name in f:
            f.copy(name, other)
        other.attrs.update(f.attrs)
        for group in ("measurements", "substitutes", "experiments"):
            owner = np.arange(n_experiment) if group == "experiments" else f[group]["experiment"][()]
            rows = np.flatnonzero(owner < n_experiment)
            for name, column in f[group].items():
                if not name.endswith("names"):
                    del other[group][name]
                    other[group].create_dataset(name, data=column[()][rows], dtype=column.dtype)
        other["experiments/dataset"][:] = np.repeat(np.arange(n), k)
        del other["datasets/id"]
        other["datasets"].create_dataset("id", data=[f"d{i}" for i in range(n)], dtype=h5py.string_dtype())


def take(tmp, *words):
    """CPU and wall seconds of a command."""
    figures = measure([str(h.STIFFIT), *map(str, words)], tmp / "figures.json", env=h.environment())
    assert figures["code"] in (0, 1), figures
    return figures


def evaluate(problem, tmp, engine, n_worker, n_evaluation):
    """CPU and wall seconds of fits that end after so many evaluations, their steps, and the share that workers slept."""
    output = tmp / "out.h5"
    with Idle() as idle:
        figures = take(tmp, "run", problem, "-q", "-j", n_worker, "--engine", engine, "--optimizer", "lbfgs", "--gradient",
                       "forward", "--max-evaluations", n_evaluation, "--certify", "no", "-o", output, "--overwrite")
    return {"cpu": figures["cpu"], "wall": figures["wall"], "steps": int(h.read_fits(output)["steps"].sum()),
            "sleep": idle.share()}


def step_cost(few, many, tmp, engine, n_few, n_many):
    """CPU seconds of a step: what the second problem or number of evaluations costs more."""
    a, b = evaluate(few, tmp, engine, 1, n_few), evaluate(many, tmp, engine, 1, n_many)
    return (b["cpu"] - a["cpu"])/(b["steps"] - a["steps"])


def two_processes(problem, folders, *words):
    """The wall seconds of two processes with one worker each, side by side: what the machine lets two workers reach."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return max(found["wall"] for found in pool.map(lambda tmp: evaluate(problem, tmp, *words), folders))


def objective(joint, short, long, tmp, engine, repeats):
    """An objective of many experiments, with the algebra between evaluations, beside its simulations: what more experiments
    cost in as many fits; and two workers and two processes beside one, by sums over the repeats, because times of equal runs
    differ by a tenth and more on shared machines."""
    evaluate(joint, tmp, engine, 1, 1)  # compiles the model
    cost = [step_cost(joint, joint, tmp, engine, 2, 5)/step_cost(short, long, tmp, engine, 2, 2) for _ in range(repeats)]
    folders = [tmp / "one", tmp / "other"]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    one, two, apart = {}, {}, 0
    for _ in range(1 + repeats):
        for n_worker, sums in ((1, one), (2, two)):
            found = evaluate(joint, tmp, engine, n_worker, 5)
            for name in ("cpu", "wall", "sleep"):
                sums[name] = sums.get(name, 0) + found[name]*(found["wall"] if name == "sleep" else 1)
        apart += two_processes(joint, folders, engine, 1, 5)
    return {"cost": float(np.median(cost)), "two_workers_wall": one["wall"]/two["wall"],
            "two_processes_wall": 2*one["wall"]/apart,
            "two_workers": 2*(1 - two["sleep"]/two["wall"])*one["cpu"]/two["cpu"]}


def measure_all(tmp, quick):
    repeats = 1 if quick else 3
    n = 50 if quick else 500
    (tmp / "large.xml").write_text(large(500, 800), encoding="utf-8")
    problem, joint, short, long = write(tmp / "p", n, 20*n), tmp / "joint.h5", tmp / "short.h5", tmp / "long.h5"
    commands = {"sbml_text": ("import", tmp / "large.xml", "--overwrite"),
                "sbml_plugin": ("model", "build", "-q", "--no-cache", tmp / "large.ode", "-o", tmp / "large.so"),
                "import": ("import", problem, "-o", joint, "-q", "--overwrite")}
    figures = {name: {k: v for k, v in take(tmp, *words).items() if k in ("cpu", "wall", "max_rss_mib")}
               for name, words in commands.items()}
    split(joint, short, n//50, 1)
    split(joint, long, n//50, 31)
    return figures | {engine: objective(joint, short, long, tmp, engine, repeats) for engine in ("cvodes", "lanes")}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="stiffit-bench-") as folder:
        print(measure_all(pathlib.Path(folder), "--quick" in sys.argv))
