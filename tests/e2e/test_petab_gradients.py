#!/usr/bin/env python3
"""Derivatives of every problem of PEtab's test suite, by each engine, against differences.

SPDX-License-Identifier: BSD-3-Clause
"""
import itertools
import math

import h5py
import numpy as np

import helpers
from test_petab import SUITE


def take(f, group, order, **shift):
    """Rows of a group in another order; shift: what is added to a column."""
    for name, column in f[group].items():
        if not name.endswith("names"):
            values = column[()][order] + shift.get(name, 0) if name in shift else column[()][order]
            del f[group][name]
            f[group].create_dataset(name, data=values, dtype=column.dtype)


def one_free_each(path, free, steps):
    """Makes a problem of one dataset a problem of a dataset for each parameter of `free` and each step: this one alone is
    free, without bounds, and begins beside its start by the step. Returns the steps on natural scale."""
    with h5py.File(path, "r+") as f:
        n = len(free)*len(steps)
        n_experiment = len(f["experiments/id"])
        parameters = f["parameters"]
        start, n_parameter = parameters["start"][()], len(parameters["name"])
        starts, fixed = np.tile(start, (n, 1)), np.ones((n, n_parameter), np.uint8)
        made = []
        for i, j in enumerate(free):
            for k, step in enumerate(steps):
                made.append(step*(abs(start[j]) or 1))
                starts[i*len(steps) + k, j] += made[-1]
                fixed[i*len(steps) + k, j] = 0
        for name in ("start", "fixed", "lower", "upper"):
            del parameters[name]
        parameters["start"], parameters["fixed"] = starts, fixed
        for group in ("measurements", "substitutes"):
            if group in f:
                rows = len(f[group]["experiment"])
                take(f, group, np.tile(np.arange(rows), n), experiment=np.repeat(np.arange(n, dtype="u4")*n_experiment, rows))
        steady = np.tile(f["experiments/steady"][()], n)
        steady += np.where(steady < 0, 0, np.repeat(np.arange(n)*n_experiment, n_experiment))
        take(f, "experiments", np.tile(np.arange(n_experiment), n), dataset=np.repeat(np.arange(n, dtype="u4"), n_experiment))
        f["experiments/steady"][:] = steady
        del f["datasets/id"]
        f["datasets"].create_dataset("id", data=[f"d{i}" for i in range(n)], dtype=h5py.string_dtype())
    return np.array(made).reshape(len(free), len(steps)), start


# Cases that lanes refuse: models without states.
NOT_IN_LANES = {"v2.0.0/0024", "v2.0.0/0025"}


def check_gradient(case, engine, tmp):
    """Each parameter's derivative of the objective, on the optimiser's scale, against extrapolated differences."""
    h5, result = tmp / "g.h5", tmp / "g.result.h5"
    name = f"{case.parts[-3]}/{case.name}"
    helpers.stiffit("import", case / f"_{case.name}.yaml", "-o", h5, "--quiet", "--overwrite")
    with h5py.File(h5, "r+") as f:
        free = np.flatnonzero(f["parameters/fixed"][()] == 0)
        scale = [s.decode() for s in f["parameters/scale"][()]]
        if "prior" in f["parameters"]:  # into the interval of a uniform one: a nominal value is its end
            f["parameters/start"][:] *= [0.9 if word.endswith("uniform") else 1 for word in f["parameters/prior"].asstr()[:]]
    step, start = one_free_each(h5, free, (0, -2e-3, -1e-3, 1e-3, 2e-3))
    # not a trust region, whose first evaluations are rough
    done = helpers.stiffit("run", h5, "-o", result, "--optimizer", "lbfgs", "--gradient", "forward", "--engine", engine,
                           "--max-evaluations", 1, "--certify", "no", "--overwrite", "--rtol", "1e-11", code=None)
    if engine == "lanes" and name in NOT_IN_LANES:
        assert done.returncode == 2 and "--engine lanes: the model" in done.stderr, done.stderr
        return
    fits = helpers.read_fits(result)
    objective, norm = fits["objective"].reshape(step.shape), fits["gradient_norm"].reshape(step.shape)[:, 0]
    quotient = [(objective[:, 5 - k] - objective[:, k])/(step[:, 5 - k] - step[:, k]) for k in (1, 2)]
    chain = [{"lin": 1, "log": start[j], "log10": start[j]*math.log(10)}[scale[j]] for j in free]
    slope = np.abs(chain*(4*quotient[1] - quotient[0])/3)
    # the error of the differences: 1e-12 of their order, and the integrator's 1e-11 over the step
    assert set(fits["gradient"]) == {"forward"} and np.allclose(norm, slope, rtol=1e-6, atol=1e-9), (name, engine, norm, slope)


@helpers.both
def test_gradients(tmp):
    cases = [case for version in ("v1.0.0", "v2.0.0") for case in sorted((SUITE / version / "sbml").iterdir()) if case.is_dir()]
    assert len(cases) == 51
    for case, engine in helpers.portion(itertools.product(cases, ("cvodes", "lanes")), 8):
        check_gradient(case, engine, tmp)


if __name__ == "__main__":
    helpers.main()
