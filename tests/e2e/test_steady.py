#!/usr/bin/env python3
"""Experiments that begin at the steady state of another one, and measurements at time +inf: fits against SciPy's, and faults.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv

import h5py
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import helpers

MODEL = """model turnover "a response that is produced, and stimulated"
parameter s = 3 in [0.1, 100] scale log10
parameter k = 1 in [0.01, 10] scale log10
parameter boost = 2 in [0.1, 100] scale log10
covariate stimulus
R' = s*(1 + boost*stimulus) - k*R
T' = k*R - 0.1*T
init R = 0, T = 0
observe r = R, t_ = T
"""
TRUTH = np.array([3.0, 1.0, 2.0])
TIMES = np.array([0, 0.5, 1, 2, 4, 8, 20.0])
N = 3


def exact(q):
    """Experiments with stimulus 1 and 3, from rest without stimulus: experiment, observable, time."""
    s, k, boost = q
    def rhs(_, y, stimulus):
        return [s*(1 + boost*stimulus) - k*y[0], k*y[0] - 0.1*y[1]]
    return np.array([solve_ivp(rhs, (0, 20), [s/k, s/0.1], args=(stimulus,), t_eval=TIMES, rtol=1e-11, atol=1e-12,
                               method="LSODA").y for stimulus in (1, 3)])


def values(i):
    y = exact(TRUTH)
    return y*(1 + 0.02*np.random.default_rng(3 + i).standard_normal(y.shape))


def write(path, steady=(-1, 0, 0), at_rest=True):
    """Dataset by dataset: the experiment at rest (with one measurement at +inf, or none), then both stimuli."""
    def text(group, name, words):
        group.create_dataset(name, data=list(words), dtype=h5py.string_dtype())
    with h5py.File(path, "w") as f:
        f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
        f["model/source"] = MODEL
        text(f.create_group("parameters"), "name", ["s", "k", "boost"])
        f["parameters/start"] = [1.0, 2, 1]
        text(f.create_group("datasets"), "id", [f"d{i}" for i in range(N)])
        f["experiments/dataset"] = np.repeat(np.arange(N), 3)
        text(f["experiments"], "id", ["rest", "one", "three"]*N)
        text(f["experiments"], "covariate_names", ["stimulus"])
        f["experiments/covariates"] = np.tile([[0.0], [1], [3]], (N, 1))
        f["experiments/steady"] = [e if e < 0 else 3*i + e for i in range(N) for e in steady]
        rows = []
        for i in range(N):
            y = values(i)
            if at_rest:
                rows.append((3*i, np.inf, 30.5, 1, 1.0))
            rows += [(3*i + 1 + e, t, y[e, o, j], o, 0.02*exact(TRUTH)[e, o, j])
                     for e in range(2) for j, t in enumerate(TIMES) for o in range(2)]
        experiment, time, value, observable, sigma = map(np.array, zip(*rows))
        f["measurements/experiment"], f["measurements/time"], f["measurements/value"] = experiment, time, value
        f["measurements/observable"], f["measurements/sigma"] = observable, sigma
        text(f["measurements"], "observable_names", ["r", "t_"])
    return path


def scipy_fit(i, at_rest):
    def residuals(x):
        q = np.exp(x)
        rows = ((exact(q) - values(i))/(0.02*exact(TRUTH))).ravel()
        return np.append(rows, q[0]/0.1 - 30.5) if at_rest else rows
    found = least_squares(residuals, np.log(TRUTH), jac="3-point", xtol=1e-13, ftol=1e-13, gtol=1e-13)
    q = np.exp(found.x)
    return q, found.cost, q*np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))


def check(fits, at_rest=True):
    for i in range(N):
        q, cost, error = scipy_fit(i, at_rest)
        assert fits["status"][i] == "converged", fits["status"]
        # the objective's minimum is flat: 1e-5 of it moves the parameters by less than 1e-2 of their standard errors
        assert abs(fits["objective"][i] - cost) < 1e-5*cost, (fits["objective"][i], cost)
        assert np.all(np.abs(fits["parameters"][i] - q) < 1e-3*error), (fits["parameters"][i], q, error)
        assert np.allclose(fits["standard_error"][i], error, rtol=1e-3)


@helpers.both
def test_the_optimum_is_scipys(tmp):
    for at_rest in helpers.portion((True, False), 1):
        problem = write(tmp / f"p{at_rest}.h5", at_rest=at_rest)
        helpers.run(problem, "--threads", "2")
        check(helpers.read_fits(helpers.result_path(problem)), at_rest)


def test_derivatives_agree_with_differences(tmp):
    """The gradient by differences of whole simulations leads to the same optimum, to 1e-6 of the standard errors' scale."""
    problem = write(tmp / "p.h5")
    helpers.run(problem, "--rtol", "1e-10")
    forward = helpers.read_fits(helpers.result_path(problem))
    helpers.run(problem, "--rtol", "1e-10", "--gradient", "differences", "--overwrite")
    differences = helpers.read_fits(helpers.result_path(problem))
    assert np.allclose(forward["parameters"], differences["parameters"], rtol=1e-6)
    assert np.allclose(forward["standard_error"], differences["standard_error"], rtol=1e-4)


def test_predictions_begin_at_rest(tmp):
    """The losses of export's residuals are the objective; simulate goes on from the steady state; so do replicates."""
    problem = write(tmp / "p.h5")
    fits = helpers.run(problem)
    rows = list(csv.DictReader(helpers.stiffit("export", helpers.result_path(problem), "--what", "residuals",
                                               "--trust").stdout.splitlines()))
    for i in range(N):
        loss = sum(float(row["loss"]) for row in rows if row["dataset"] == f"d{i}")
        # not the same bits: the evaluations of a fit know from the last one from where on the model is stiff; rtol is 1e-7
        assert abs(loss - fits["objective"][i]) < 1e-8*loss, (loss, fits["objective"][i])
    rows = list(csv.DictReader(helpers.stiffit("simulate", helpers.result_path(problem), "--times", "0,4", "--trust",
                                               "--id", "d1").stdout.splitlines()))
    found = exact(fits["parameters"][1])
    for e, name in enumerate(("one", "three")):
        mine = [float(row["value"]) for row in rows if row["experiment"] == name]
        np.testing.assert_allclose(mine, found[e][:, [0, 4]].T.ravel(), rtol=1e-6)


def test_faults(tmp):
    for steady, what in (((0, -1, -1), "row number of another experiment"), ((-1, 0, 1), "itself begins at a steady state"),
                         ((-1, 77, -1), "row number of another experiment")):
        problem = write(tmp / f"p{steady[0]}{steady[1]}{steady[2]}.h5", steady=steady)
        helpers.run(problem, code=1)
        with h5py.File(helpers.result_path(problem)) as f:
            assert what in str(f["fits/message"].asstr()[0]), f["fits/message"].asstr()[0]


if __name__ == "__main__":
    helpers.main()
