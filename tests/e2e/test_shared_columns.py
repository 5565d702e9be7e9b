"""A fit with shared parameters over one dataset is the fit of that dataset: all columns of /fits are the same, for every kind
of error, parameter and direction. And what rows of several datasets share, and what they add up to, against NumPy.

SPDX-License-Identifier: BSD-3-Clause
"""
import json

import h5py
import numpy as np
from scipy import optimize, stats

import helpers as h

# What measures the search, not its end; and numbers near 0 that consist of rounding.
WORK = {"seconds", "evaluations", "steps", "iterations", "stopping_test", "gradient_norm", "tight_decrease",
        "tight_objective_change"}
T = np.linspace(0.3, 6, 14)
RNG = np.random.default_rng(4)
Y = 2 * np.exp(-0.5 * T) + 0.4 + 0.05 * RNG.standard_normal(len(T))
P = "parameter b = 0.3\nparameter a = 1.5 in [0.01, 100] scale log\nparameter k = 0.6 in [0.001, 50] scale log10\n"
DECAY = "observe y = a*exp(-k*t) + b"
# name: (model text, sigma, words, measurements, tolerance; where residuals are large steps converge slowly)
CASES = {
    "plain": (P + DECAY, 0.05, []),
    "integrated": (P + "x(0) = a\nx' = -k*x\nobserve y = x + b", 0.05, []),
    "unknown sigma": (P + DECAY, np.nan, []),
    "prior": (P.replace("b = 0.3", "b = 0.3 prior normal(0.5, 0.1)") + DECAY, 0.05, []),
    "estimated sigma": (P + "parameter s = 0.1 in [0.001, 10] scale log\n" + DECAY + " sd s", np.nan, []),
    "held by a bound": (P.replace("b = 0.3", "b = 0.3 in [-1, 0.35]") + DECAY, 0.05, []),
    "all held": ("parameter b = 0.3 in [0, 0.3]\nparameter a = 1.5 in [0.1, 1.6]\nobserve y = a*exp(-t/2) + b", 0.05, []),
    "flat": (P + "parameter c = 1.2 in [0.01, 100] scale log\nobserve y = a*c*exp(-k*t) + b", 0.05, []),
    "two flat groups": (P + "parameter c = 1.2 in [0.01, 100] scale log\nparameter d = 0.1\nobserve y = a*c*exp(-k*t) + b + d",
                        0.05, []),
    "without influence": (P + "parameter c = 1\n" + DECAY + " + 0*c", 0.05, []),
    "poor": (P + "observe y = a*exp(-k*t) + b + sin(9*t)", 0.05, [], len(T), 1e-3),
    "too few": (P + "parameter d = 0.1\nobserve y = a*exp(-k*t) + b + d*sin(t)", 0.05, [], 4),
    "student": (P + DECAY, 0.05, ["--error", "student"]),
    "huber": (P + DECAY, 0.05, ["--error", "huber"]),
    "laplace": (P + DECAY, 0.05, ["--error", "laplace"]),
    "log-normal": (P + DECAY, 0.05, ["--error", "log-normal"]),
    "log-normal, unknown": (P + DECAY, np.nan, ["--error", "log-normal"]),
    "differences": (P + "x(0) = a\nx' = -k*x\nobserve y = x + b", 0.05, ["--gradient", "differences"]),
    "cvodes": (P + "x(0) = a\nx' = -k*x\nobserve y = x + b", 0.05, ["--engine", "cvodes"]),
}


def write(path, text, rows, levels=None, censored=None):
    model = path.with_suffix(".ode")
    model.write_text("model m\n" + text + "\n")
    names = [line.split()[1] for line in text.splitlines() if line.startswith("parameter")]
    n = int(rows[-1][0]) + 1
    h.write_problem(path, None, [f"d{d}" for d in range(n)], rows, covariates={"plate": np.zeros(n)})
    with h5py.File(path, "a") as f:
        if levels:
            for name, value in (("name", names), ("level", levels)):
                f.create_dataset(f"parameters/{name}", data=value, dtype=h5py.string_dtype())
        if censored is not None:
            f["measurements/censored"] = np.asarray(censored, np.int8)
    return model, names


def read(path):
    with h5py.File(path) as f:
        return {name: data[()] for name, data in f["fits"].items()}


def same(one, other, what, tolerance):
    """The columns of two results, within what searches and integrations with the requested tolerances leave. Where a search along a flat direction ends is not determined."""
    assert one.keys() == other.keys()
    for name, ours in one.items():
        theirs = other[name]
        if name in WORK:
            continue
        if name == "parameters":
            ours, theirs = (np.where(one["flat_group"] > 0, 0, values) for values in (ours, theirs))
        if ours.dtype.kind != "f":
            np.testing.assert_array_equal(ours, theirs, err_msg=f"{what}: {name}")
            continue
        scale = np.nanmax(np.abs(ours)) if np.any(np.isfinite(ours)) else 1
        np.testing.assert_allclose(theirs, ours, rtol=tolerance, atol=tolerance / 10 * scale + 1e-15, err_msg=f"{what}: {name}")


def check(tmp, what, text, sigma, words, n_row=len(T), tolerance=2e-5, censored=None):
    rows = [(0, t, 0, y, sigma) for t, y in zip(T[:n_row], Y)]
    exact = ["--ftol", "1e-13", "-j1", "--overwrite"]
    path = tmp / "one.h5"
    model, names = write(path, text, rows, censored=censored)
    h.stiffit("run", path, "--model", model, *words, *exact, code=(0, 1))
    single = read(h.result_path(path))
    for share in (names[0], names[-1], ",".join(names), names[0] + "@plate", f"{names[0]}@plate,{names[-1]}"):
        h.stiffit("run", path, "--model", model, *words, *exact, "--share", share, code=(0, 1))
        same(single, read(h.result_path(path)), f"{what}, --share {share}", tolerance)


def test_all_columns_of_one_dataset(tmp):
    for what, case in CASES.items():
        check(tmp, what, *case)


def test_censored(tmp):
    """Limits that the curve is near to, and limits that it is far from: those bound nothing, which is a flat direction."""
    for what, text in (("near", P + DECAY), ("far", P + "parameter c = 3\n" + DECAY + " - if(t < 1, c, 0)")):
        censored = np.where(T < 1 if what == "far" else T > 4, -1 if what == "far" else 1, 0)
        check(tmp, what, text, 0.05, [], censored=censored)


if __name__ == "__main__":
    h.main()
