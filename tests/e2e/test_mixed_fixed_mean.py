"""Mixed effects whose mean is fixed: deviations with mean 0 around shared parameters.

SPDX-License-Identifier: BSD-3-Clause
"""
import json

import numpy as np

import h5py

import helpers as h
import mixed
import mixed_oracle as mo
import test_mixed_input as refusals
import test_mixed_linear as linear
import test_mixed_quadrature as quadrature
import test_mixed_references as references

DEVIATION = """parameter k = 0.4
parameter A = 3 scale log
parameter e = 0
parameter sigma = 0.3 in [1e-4, 100] scale log
observe y = A*exp(e - k*t) lognormal sd sigma
"""
WORDS = ("--random", "k,e", "--share", "A,sigma")
NAMES = ["mean(k)", "var(k)", "cov(k,e)", "var(e)", "A", "sigma"]


def fix(problem, names, fixed):
    with h5py.File(problem[0], "a") as f:
        f.create_dataset("parameters/name", data=names, dtype=h5py.string_dtype())
        f["parameters/fixed"] = fixed
    return problem


def reordered(reference):
    """A random A is a shared one with a random deviation: the same model, with its mean among the shared parameters."""
    order = [0, 2, 3, 4, 1, 5]
    for name in ("theta", "standard_error", "by_scores", "sandwich"):
        setattr(reference, name, getattr(reference, name)[order])
    return reference


def test_closed_form(tmp):
    """Linear in its random effects: estimates, errors and likelihood are those of the closed form, by both likelihoods and from
    any start; the fixed mean is none of the estimates."""
    data = linear.Data(30, 6, seed=8)
    problem = fix(data.write(tmp / "p.h5", DEVIATION), ["k", "A", "e", "sigma"], [0, 0, 1, 0])
    reference = reordered(data.reference())
    found = linear.both(problem, reference, *WORDS, names=NAMES)
    assert abs(found["aic"] - (reference.value + 12)) < mixed.LIKELY and found["n_estimate"] == 6
    assert found["mean"][1] == 0 and np.isnan(found["natural_standard_error"][1]) and found["mean"][0] != 0
    again = mixed.run(problem, *WORDS, "--starts", "3", "--overwrite")
    mixed.agree(again, reference, mixed.FINE, names=NAMES)
    shown = json.loads(h.stiffit("show", "--json", h.result_path(problem[0])).stdout)
    assert [row["mean_is_fixed"] for row in shown["population"]["random"]] == [False, True]
    text = h.stiffit("show", h.result_path(problem[0])).stdout
    assert next(line for line in text.splitlines() if line.startswith("  e ")).endswith("its mean is fixed"), text


def test_not_fixed(tmp):
    """Free, the mean of the deviation and the shared value are one number: both likelihoods say so, and no other estimate is
    named."""
    data = linear.Data(30, 6, seed=8)
    problem = data.write(tmp / "p.h5", DEVIATION)
    for how in ("laplace", "exact"):
        found = mixed.run(problem, *WORDS, "--likelihood", how, "--overwrite")
        assert [name for name, flat in zip(found["estimate_name"], found["flat"]) if flat] == ["mean(e)", "A"], found["flat"]
        for shown in (found["stderr"], h.stiffit("show", h.result_path(problem[0])).stdout):
            assert "mean(e) and A cannot be told apart" in shown, shown
    found = mixed.run(fix(problem, ["k", "A", "e", "sigma"], [0, 0, 1, 0]), *WORDS, "--overwrite")
    assert not np.any(found["flat"]) and "apart" not in found["stderr"]


def test_refits_and_replicates(tmp):
    """Profiles, bootstrap and simulation leave the mean where it is; the datasets' values differ."""
    data = linear.Data(12, 6, seed=9)
    problem = fix(data.write(tmp / "p.h5", DEVIATION), ["k", "A", "e", "sigma"], [0, 0, 1, 0])
    found = mixed.run(problem, *WORDS, "--profile", "A", "--bootstrap", "3")
    assert len(found["bootstrap_standard_error"]) == 6 and np.all(np.isfinite(found["bootstrap_standard_error"]))
    e = found["fits"]["parameters"][:, found["fits"]["names"].index("e")]
    assert len(set(e)) == 12
    h.stiffit("simulate", "--population", "4", h.result_path(problem[0]), "-o", tmp / "s.h5")
    with h5py.File(tmp / "s.h5") as f:
        values = f["measurements/value"][()]
    assert np.all(values[np.isfinite(values)] > 0) and len(set(values)) > 4 * 12


def test_nlmer(tmp):
    """Theophylline with deviations of absorption and clearance around shared values: what lme4's nlmer says of random values
    (mixed_reference.csv), in the same tolerances."""
    case = quadrature.theophylline(["Ka", "Cl"])
    case.text = case.text.replace("parameter Ka", "parameter tKa").replace("parameter Cl", "parameter tCl").replace(
        "covariate dose", "parameter eKa = 0\nparameter eCl = 0\nKa = tKa*exp(eKa)\nCl = tCl*exp(eCl)\ncovariate dose")
    problem = fix(case.write(tmp / "p.h5"), ["Ke", "tKa", "tCl", "sigma", "eKa", "eCl"], [0, 0, 0, 0, 1, 1])
    found = mixed.run(problem, "--random", "eKa,eCl", "--share", "Ke,tKa,tCl,sigma", "--random-covariance", "diagonal",
                      "--likelihood", "laplace")
    table = references.stored()["nlmer theophylline Ka Cl"]
    assert list(found["estimate_name"]) == ["var(eKa)", "var(eCl)", "Ke", "tKa", "tCl", "sigma"]
    expected = [table["sd_lKa"]**2, table["sd_lCl"]**2, table["lKe"], table["lKa"], table["lCl"], np.log(table["sigma"])]
    assert abs(found["minus_2_log_likelihood"] - table["minus_2_log_likelihood"]) < mixed.LIKELY
    off = np.abs(found["estimate"] - expected) / found["standard_error"]
    assert np.max(off) < 0.02, (off, found["estimate"], expected)


def test_refused(tmp):
    """Fixed in some datasets and free in others; around a value that is not shared."""
    data = linear.Data(6, 5, seed=31)
    fixed = np.zeros((6, 4))
    fixed[2, 2] = 1
    problem = fix(data.write(tmp / "p.h5", DEVIATION), ["k", "A", "e", "sigma"], fixed)
    refusals.refused(problem, WORDS, "'e'", "some datasets", code=(2, 3))
    problem = fix(data.write(tmp / "q.h5", DEVIATION), ["k", "A", "e", "sigma"], [0, 0, 1, 0])
    refusals.refused(problem, ("--random", "k,e@experiment", "--share", "A,sigma"), "'e'", "--share e")


if __name__ == "__main__":
    h.main()
