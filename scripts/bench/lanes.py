"""The engine of lanes against that of CVODES in the same program: evaluations at equal accuracy, whole fits, and how full the
lanes are. CPU time throughout, as other load lengthens wall time.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import platform
import subprocess

import h5py
import numpy as np

import helpers as h
import rivals
import tolerances

# What CVODES is given: the default, and what the loops of others get.
RTOLS = (1e-6, 1e-7)


def refusal(case, tmp):
    """Why this program cannot fit a case in lanes, or None."""
    path = tmp / "one.h5"
    case.write(path, 1)
    done = subprocess.run([str(h.STIFFIT), "run", str(path), "--trust", "-q", "-j", "1", "--overwrite", "--engine", "lanes"],
                          env=h.environment(), capture_output=True, text=True, check=False)
    return None if done.returncode in (0, 1) else done.stderr.strip().splitlines()[0]


def register_bits():
    """Of the widest registers that this CPU computes doubles in, or None where /proc/cpuinfo does not say."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = next(line for line in file if line.startswith(("flags", "Features"))).split()
    except (OSError, StopIteration):
        return None
    known = (("avx512f", 512), ("avx2", 256), ("sse2", 128), ("asimd", 128))
    return next((bits for flag, bits in known if flag in flags), None)


def network(n_state=50, n_reaction=75, n_parameter=20):
    """Conversions, every third with a catalyst, of rates over four decades, as text: stiff, and nothing grows."""
    lines = [f"parameter k{i} = 1 in [1e-3, 1e3] scale log" for i in range(n_parameter)]
    terms = [[] for _ in range(n_state)]
    for j in range(n_reaction):
        source, target = j % n_state, (j % n_state + 1 + 6 * (j // n_state)) % n_state
        catalyst = f"*y{(source + 2 + j // 7) % n_state}" if j % 3 == 2 else ""
        lines.append(f"r{j} = {10 ** (4 * (0.618033988749895 * (j + 1) % 1) - 2):.6g}*k{j % n_parameter}*y{source}{catalyst}")
        terms[source].append(f"- r{j}")
        terms[target].append(f"+ r{j}")
    lines += [f"y{i}' = 0 {' '.join(terms[i])}\ny{i}(0) = {1 + i % 3}" for i in range(n_state)]
    return "\n".join(lines) + "\nobserve " + ", ".join(f"y{i}" for i in range(0, n_state, 10)) + "\n"


def models(tmp):
    """(name, model, times, the most that lanes may cost, over CVODES) of the evaluations."""
    text = tmp / "network.ode"
    text.write_text(network(), encoding="ascii")
    narrow = 0.04 if register_bits() == 512 else 0.08
    robertson, pinene, _ = rivals.cases()
    return [("Robertson", h.ROOT / "models/robertson/robertson.ode", robertson.times, narrow),
            ("alpha-pinene", h.ROOT / "models/alpha-pinene/alpha-pinene.ode", pinene.times, narrow),
            ("POLLU", h.ROOT / "models/pollu/pollu.ode", np.arange(5, 65, 5), 0.1),
            ("50 states", text, np.geomspace(0.01, 100, 12), 0.5)]


def evaluations(tmp):
    """{name: {rtol: figures}}, with the most that the ratio may be."""
    report = {}
    for name, model, times, most in models(tmp):
        report[name] = {"most": most}
        for rtol in RTOLS:
            command = [h.BUILD / "bench" / "bench_ode_engines", model, rtol, ",".join(f"{t:g}" for t in times)]
            done = subprocess.run(list(map(str, command)), env=h.environment(OPENBLAS_NUM_THREADS=1), capture_output=True,
                                  text=True, check=True)
            report[name][f"{rtol:g}"] = json.loads(done.stdout)
    return report


def whole_fits(case, tmp, n, repeats):
    """Fits per CPU second by default over --engine cvodes, both with the default tolerances: medians of interleaved runs; and
    the share of each one's fits whose objective, evaluated by CVODES at tight tolerances, is the lower one of both."""
    path = tmp / f"engines-{case.name}.h5"
    case.write(path, n)
    cpu, fits = {"auto": [], "cvodes": []}, {}
    for _ in range(repeats):
        for engine, seconds in cpu.items():
            figures, fits[engine] = rivals.run_alone(path, tmp, "--engine", engine)
            seconds.append(figures["cpu"])
    judge = tolerances.Case(case.name, "bench", path)
    judge.tight_options = ("--engine", "cvodes")
    tight = {engine: judge.tight_objective(tmp, found["parameters"]) for engine, found in fits.items()}
    lowest = np.fmin(tight["auto"], tight["cvodes"])
    at_lowest = {engine: float(np.mean(found <= lowest * (1 + rivals.AT_OPTIMUM))) for engine, found in tight.items()}
    return {"fits": n, "cpu_s": cpu, "ratio": float(np.median([b / a for a, b in zip(cpu["auto"], cpu["cvodes"])])),
            "us_per_fit": {engine: 1e6 * float(np.median(seconds)) / n for engine, seconds in cpu.items()},
            "at_lowest": at_lowest}


def in_use(case, tmp, n):
    """The share of the lanes that held an evaluation, over all steps of a run; None if the program does not say."""
    path = tmp / f"in-use-{case.name}.h5"
    case.write(path, n)
    rivals.run_alone(path, tmp, "--engine", "auto")
    with h5py.File(tmp / "alone.result.h5") as file:
        share = file["provenance"].attrs.get("lanes_in_use")
    return None if share is None else float(share)


def described():
    bits = register_bits()
    return f"registers of {bits} bits ({bits // 64} doubles)" if bits else f"registers of unknown width ({platform.machine()})"
