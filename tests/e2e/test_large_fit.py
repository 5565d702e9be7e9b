#!/usr/bin/env python3
"""A fit of so many measurements that workers share its algebra, too: against SciPy.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np
from scipy.optimize import least_squares

import helpers as h

N_EXPERIMENT, N_TIME, N_WAVE = 10, 2400, 11
WAVES = " + ".join(f"a{i}*cos({i}*t)" for i in range(N_WAVE))
MODEL = ("parameter k = 0.5 in [1e-3, 1e3] scale log10\n" + "".join(f"parameter a{i} = 1\n" for i in range(N_WAVE))
         + f"covariate dose\ny(0) = dose; y' = -k*y\nobserve m = y + {WAVES} sd 0.1\n")
T = np.linspace(0.001, 10, N_TIME)
DOSE = np.arange(1, N_EXPERIMENT + 1)
BASIS = np.cos(np.outer(T, np.arange(N_WAVE)))


def predict(p):
    return (DOSE[:, None] * np.exp(-p[0] * T) + BASIS @ p[1:]).ravel()


def write(path):
    (path.parent / "waves.ode").write_text(MODEL, encoding="ascii")
    truth = np.r_[0.8, np.linspace(-2, 2, N_WAVE)]
    value = predict(truth) + 0.1 * np.random.default_rng(1).standard_normal(N_EXPERIMENT * N_TIME)
    with h5py.File(path, "w") as f:
        text = h5py.string_dtype()
        f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
        f.create_group("model").attrs["plugin"] = "waves.ode"
        f.create_dataset("datasets/id", data=["d0"], dtype=text)
        f["experiments/dataset"] = np.zeros(N_EXPERIMENT, int)
        f.create_dataset("experiments/covariate_names", data=["dose"], dtype=text)
        f["experiments/covariates"] = DOSE[:, None].astype(float)
        f["measurements/experiment"] = np.repeat(np.arange(N_EXPERIMENT), N_TIME)
        f["measurements/time"] = np.tile(T, N_EXPERIMENT)
        f["measurements/value"] = value
    return path, value


def test_optimum(tmp):
    problem, value = write(tmp / "large.h5")
    fits = h.run(problem, "-j", 2)
    best = least_squares(lambda p: (predict(p) - value) / 0.1, np.r_[0.5, np.ones(N_WAVE)], xtol=1e-14, ftol=1e-14, gtol=1e-14)
    error = np.sqrt(np.diag(np.linalg.inv(best.jac.T @ best.jac)))
    # of a standard error; rtol 1e-7 moves predictions by 1e-6 of their standard deviations, and the last step converges
    # quadratically
    assert np.all(np.abs(fits["parameters"][0] - best.x) <= 1e-3 * error)


if __name__ == "__main__":
    h.main()
