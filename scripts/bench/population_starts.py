"""Where fits of populations end from starts 30 % off and 3 to 10 times off, beside R's nlme: simulated studies of sparse
datasets (tests/e2e/mixed_studies.py), each fitted from both starts and from the true values. The exact likelihood of what nlme
finds is that of a grid. "At the best" is within 1 of the lowest -2 log L of its study. Alone: population_starts.py [N].

SPDX-License-Identifier: BSD-3-Clause
"""
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "e2e")]

import helpers as h  # noqa: E402
from mixed_studies import study_of  # noqa: E402

BEST = 1.0
# Of the kinds of studies with one observable, no limit and no occasions: the curve in R.
CURVES = {0: "E0 + Emax/(1 + exp(pmin(h*(log(EC50) - log(t)), 300)))", 1: "E0 + Emax*t/(EC50 + t)",
          2: "100/V*ka/(ka - Cl/V)*(exp(-Cl/V*t) - exp(-ka*t))",
          3: "100/Cl*(1 - exp(-Cl/V*pmin(t, 1)))*exp(-Cl/V*pmax(t - 1, 0))",
          4: "A*exp(-0.5*((t - T)/w)^2) + B", 5: "100/V*ka/(ka - Cl/V)*(exp(-Cl/V*t) - exp(-ka*t))"}
N_KIND = 10
RIVAL = """suppressMessages(library(nlme))
d <- read.csv("{data}")
curve <- function(t, {logs}) {{ {naturals}; {curve} }}
fit <- nlme(y ~ curve(t, {logs}), data = d, fixed = {fixed} ~ 1, random = list(id = pdDiag({random} ~ 1)),
            weights = varFixed(~ s2), method = "ML", start = c({start}),
            control = nlmeControl(sigma = 1, maxIter = 200, pnlsMaxIter = 20, msMaxIter = 200))
cat(fixef(fit), as.numeric(VarCorr(fit)[1:{n_random}, 2]), "\\n")
"""


def rival(study, curve, start, tmp):
    """-2 log L where nlme ends; infinity: it does not."""
    names, random = list(start), study.kind.random
    fixed = [name for name in names if name not in random]
    lines = ["id,t,y,s2"]
    for i, experiments in enumerate(study.datasets):
        lines += [f"s{i},{t!r},{y!r},{sigma**2!r}" for rows in experiments for _, times, values, sigma in rows
                  for t, y in zip(times.tolist(), values.tolist())]
    (tmp / "d.csv").write_text("\n".join([*lines, ""]))
    (tmp / "rival.R").write_text(RIVAL.format(
        data=tmp / "d.csv", logs=", ".join(f"l{name}" for name in names),
        naturals="; ".join(f"{name} <- exp(l{name})" for name in names), curve=curve,
        fixed=" + ".join(f"l{name}" for name in names), random=" + ".join(f"l{name}" for name in random),
        start=", ".join(repr(float(np.log(start[name]))) for name in names), n_random=len(random)))
    try:
        done = subprocess.run(["Rscript", "--vanilla", tmp / "rival.R"], capture_output=True, text=True, timeout=120,
                              check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return np.inf
    found = np.array(done.stdout.split(), float)
    mean = dict(zip(names, found))
    return study.minus_2_log_likelihood({
        "name": random, "mean": [mean[name] for name in random], "standard_deviation": found[len(names):],
        "shared_name": fixed, "shared": [np.exp(mean[name]) for name in fixed],
        "occasion_name": [], "occasion_deviation": []})[0]


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(n):
    h.compile_as_users_do()
    kinds, count, seconds = ("near", "far", "truth"), {}, dict.fromkeys(("near", "far", "truth"), 0.0)
    has_rival = shutil.which("Rscript") is not None
    for seed in range(n):
        study, ends = study_of(seed), {}
        starts = {"near": study.start, "far": study.far, "truth": study.kind.truth}
        with tempfile.TemporaryDirectory() as folder:
            tmp = pathlib.Path(folder)
            for kind in kinds:
                before = cpu_seconds()
                found = study.fit(tmp, starts[kind])
                seconds[kind] += cpu_seconds() - before
                converged = found["fits"]["status"][0] == "converged"
                ends["stiffit", kind] = found["minus_2_log_likelihood"] if converged else np.inf
            for kind in kinds[:2]:
                if has_rival and seed % N_KIND in CURVES:
                    ends["nlme", kind] = rival(study, CURVES[seed % N_KIND], starts[kind], tmp)
        best = min(ends.values())
        for key, value in ends.items():
            n_all, n_ended, n_best = count.get(key, (0, 0, 0))
            count[key] = n_all + 1, n_ended + np.isfinite(value), n_best + (value < best + BEST)
    print(f"{'':8} {'start':6} {'studies':>8} {'converged':>10} {'at the best':>12} {'CPU':>8}")
    for (who, kind), (n_all, n_ended, n_best) in sorted(count.items(), reverse=True):
        cpu = f"{seconds[kind]:7.0f}s" if who == "stiffit" else ""
        print(f"{who:8} {kind:6} {n_all:8} {n_ended / n_all:10.1%} {n_best / n_all:12.1%} {cpu:>8}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
