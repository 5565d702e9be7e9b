"""Nonlinear mixed effects beside R's nlme: one compartment with absorption, ten measurements a subject, three random parameters
with a full covariance, a proportional error. A part of bench.py; or alone: mixed_effects.py [N].

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import pathlib
import shutil
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "e2e")]

import helpers as h  # noqa: E402
import mixed as problems  # noqa: E402
from measure import measure  # noqa: E402

MODEL = """parameter ka = 1 scale log
parameter V = 12 scale log
parameter CL = 2 scale log
parameter b = 0.2 in [1e-3, 10] scale log
gut(0) = 100
gut' = -ka*gut
body(0) = 0
body' = ka*gut - CL/V*body
observe c = body/V sd b*c
"""
# nlme maximises an approximate likelihood (Lindstrom and Bates), with the closed form of the curve.
RIVAL = """suppressMessages(library(nlme))
d <- read.csv(commandArgs(TRUE)[1])
curve <- function(t, lka, lV, lCL) {
  ka <- exp(lka); V <- exp(lV); k <- exp(lCL) / V
  100 * ka / (V * (ka - k)) * (exp(-k * t) - exp(-ka * t))
}
fit <- nlme(y ~ curve(t, lka, lV, lCL), data = d, fixed = lka + lV + lCL ~ 1, random = lka + lV + lCL ~ 1, groups = ~ id,
            weights = varPower(fixed = 1), method = "ML", start = c(log(1), log(12), log(2)))
cat(fixef(fit), VarCorr(fit)[1:4, 2], "\\n")
"""
TIMES = np.array([0.25, 0.5, 1, 2, 3, 5, 8, 12, 18, 24])
MEAN = np.log([1.2, 10, 1.5])
COVARIANCE = np.array([[0.16, 0.02, 0.01], [0.02, 0.06, 0.03], [0.01, 0.03, 0.09]])
ERROR = 0.15


def simulate(n):
    """n x 10 measurements."""
    rng = np.random.default_rng(1)
    ka, volume, clearance = np.exp(rng.multivariate_normal(MEAN, COVARIANCE, n)).T[:, :, None]
    k = clearance / volume
    curve = 100 * ka / (volume * (ka - k)) * (np.exp(-k * TIMES) - np.exp(-ka * TIMES))
    return curve * (1 + ERROR * rng.normal(size=curve.shape))


def fit(problem, tmp, workers, *words):
    """Wall and CPU seconds, the largest process's memory, and what was found."""
    output = tmp / f"out{workers}.h5"
    figures = measure([h.STIFFIT, "run", *problem, "--random", "ka,V,CL", "--share", "b", "-q", "-j", workers, "-o", output,
                       "--overwrite", *words], tmp / "figures.json", env=h.environment())
    assert figures["code"] == 0, figures["stderr"]
    found = problems.read(output)
    off = np.abs(found["mean"] - MEAN) / found["standard_error"][:3]
    assert np.all(off < 5), f"{off} standard errors from the truth"
    return {"wall": figures["wall"], "cpu": figures["cpu"], "max_rss_mib": figures["max_rss_mib"],
            "minus_2_log_likelihood": found["minus_2_log_likelihood"], "error": found["minus_2_log_likelihood_error"]}


def rival(y, tmp):
    """Wall seconds of nlme; NaN: R or nlme is not there, or it does not converge."""
    if not shutil.which("Rscript"):
        return np.nan
    with open(tmp / "d.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "t", "y"])
        writer.writerows((d, t, value) for d, row in enumerate(y) for t, value in zip(TIMES, row))
    (tmp / "rival.R").write_text(RIVAL)
    done = measure(["Rscript", "--vanilla", tmp / "rival.R", tmp / "d.csv"], tmp / "rival.json")
    return done["wall"] if done["code"] == 0 else np.nan


def measure_all(tmp, n):
    """Figures with one worker and with two, and nlme's time over that of Laplace's likelihood with one."""
    y = simulate(n)
    rows = np.column_stack([np.repeat(np.arange(n), len(TIMES)), np.tile(TIMES, n), np.zeros(y.size), y.ravel(),
                            np.full(y.size, np.nan)])
    problem = problems.write(tmp / "p.h5", MODEL, rows)
    found = {"subjects": n, "two": fit(problem, tmp, 2), "one": fit(problem, tmp, 1),
             "laplace": fit(problem, tmp, 1, "--likelihood", "laplace")}
    found["workers"] = found["one"]["wall"] / found["two"]["wall"]
    found["nlme"] = rival(y, tmp)
    found["rival"] = found["nlme"] / found["laplace"]["wall"]
    return found


def main():
    with tempfile.TemporaryDirectory(prefix="stiffit-mixed-") as folder:
        for name, value in measure_all(pathlib.Path(folder), int(sys.argv[1]) if len(sys.argv) > 1 else 1000).items():
            print(f"{name}: {value}")


if __name__ == "__main__":
    main()
