"""A table of problems times a table of ways to run them (ways.py): each problem in each way that applies has the same bits.
`make check` takes some of each row, `make check-more` the rest.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 1800
"""
import h5py
import numpy as np

import helpers as h
import mixed
import mixed_studies
import test_crash
import test_experiments
import test_happenings
import test_large_fit
import test_mixed_left_out
import test_mixed_linear
import test_periods
import test_profile
import test_shared
import test_shared_fits
import test_shared_groups
import test_shared_pilots
import test_shared_profile
import test_shared_starts
import test_steady
import ways
from test_robertson import mixed_problem

PROBLEMS = {}  # name -> (function of a folder, the ways of `make check` beside 7 workers)


def problem(*quick):
    assert set(quick) <= ways.WAYS.keys(), quick

    def register(make):
        PROBLEMS[make.__name__] = make, quick
        return make
    return register


REFITS = ("--starts", 2, "--keep-starts", "--profile", "all", "--keep-profile", "--bootstrap", 5, "--keep-bootstrap")


@problem("killed", "another order")
def single(tmp):
    return ways.Case(mixed_problem(tmp / "p.h5"), alike=True, engine="cvodes")


@problem("killed", "one evaluation beside three others")
def starts(tmp):
    return ways.Case(mixed_problem(tmp / "p.h5"), "--starts", 3, "--keep-starts", "--seed", 11, engine="cvodes")


@problem("killed")
def lbfgs_with_adjoints(tmp):
    return ways.Case(mixed_problem(tmp / "p.h5", 12), "--optimizer", "lbfgs", "--gradient", "adjoint", "--max-evaluations", 60,
                     alike=True, engine="cvodes")


@problem("killed")
def differences(tmp):
    return ways.Case(mixed_problem(tmp / "p.h5", 8), "--gradient", "differences", alike=True, engine="cvodes")


@problem("shards")
def pilots(tmp):
    return ways.Case(mixed_problem(tmp / "p.h5", 40), "--warm-start", "pilot", engine="cvodes")


@problem("killed", "shards")
def refits(tmp):
    """Pilots, starts, profiles and replicates; one fit fails."""
    h.decay_problem(tmp / "p.h5", 12, noise=0.05)
    with h5py.File(tmp / "p.h5", "r+") as f:
        f["measurements/value"][48:56] = np.nan
    return ways.Case(tmp / "p.h5", *REFITS, "--warm-start", "pilot", "--bootstrap", 20, engine="cvodes")


@problem()
def profiles(tmp):
    """Limits that follow from where the profiles of other parameters ended."""
    return ways.Case(test_profile.straight_problem(tmp), "--profile", "all", "--keep-profile")


@problem("shards")
def crashes(tmp):
    h.let_models_crash()
    path = test_crash.problem(tmp / "p.h5", 20, {3: "segfault", 7: "exit_0", 12: "segfault"})
    return ways.Case(path, *REFITS, engine="cvodes")


@problem("one evaluation beside three others")
def experiments(tmp):
    return ways.Case(test_experiments.write(tmp / "p.h5", n=4), *REFITS, engine="cvodes")


@problem("killed")
def experiments_in_lanes(tmp):
    return ways.Case(test_experiments.write(tmp / "p.h5", n=4), *REFITS, engine="lanes")


DOSED = """parameter ka = 1, ke = 0.1, V = 10 scale log
parameter tlag = 0.3 in [0, 5]
input T linear
depot(0) = 0; depot' = -ka*depot
central(0) = 0; central' = ka*depot - ke*T*central
lag(depot) = tlag
observe c = central/V
"""


@problem("one evaluation beside three others")
def many_experiments(tmp):
    """Each with doses, an input and times of its own, so that evaluations differ in length and end in any order."""
    n_dataset, n_each, n_row = 8 if not h.SANITIZE else 3, 12, 6
    rng, n = np.random.default_rng(4), n_dataset * n_each
    t = np.sort(rng.uniform(1, rng.choice([5, 50, 200], n)[:, None], (n, n_row)), axis=1)
    amount, since = rng.uniform(50, 150, n), np.maximum(t - 0.5, 0)
    value = amount[:, None] / 12 * 1.4 / (1.4 - 0.08) * (np.exp(-0.08 * since) - np.exp(-1.4 * since))
    with h5py.File(tmp / "p.h5", "w") as f:
        f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
        f["model/source"] = DOSED
        f["datasets/id"] = np.array([b"%d" % i for i in range(n_dataset)])
        f["experiments/dataset"] = np.repeat(np.arange(n_dataset), n_each)
        f["measurements/experiment"], f["measurements/time"] = np.repeat(np.arange(n), n_row), t.ravel()
        f["measurements/value"] = (value + 0.2 * rng.standard_normal(value.shape)).ravel()
        f["doses/experiment"], f["doses/time"], f["doses/amount"] = np.arange(n), np.zeros(n), amount
        f["doses/interval"], f["doses/count"] = np.full(n, 90.0), np.full(n, 2)
        f.create_dataset("doses/target_names", data=["depot"], dtype=h5py.string_dtype())
        f["inputs/experiment"], f["inputs/time"] = np.repeat(np.arange(n), 2), np.tile([0.0, 300.0], n)
        f["inputs/value"] = np.tile([1.0, 1.1], n)
    return ways.Case(tmp / "p.h5", engine="cvodes")


@problem("shards")
def many_experiments_in_lanes(tmp):
    return ways.Case(many_experiments(tmp).path, engine="lanes")


@problem("shards")
def happenings(tmp):
    """Doses with a lag, inputs, events, a steady state before."""
    test_happenings.write(tmp, n=3)
    return ways.Case(tmp / "p.h5", "--bootstrap", 2, "--profile", "k", "--starts", 2, "--keep-starts", "--keep-bootstrap",
                     "--keep-profile")


@problem("again")
def steady_states(tmp):
    return ways.Case(test_steady.write(tmp / "p.h5"), *REFITS)


@problem("killed")
def changing_parameters(tmp):
    return ways.Case(test_periods.write(tmp / "p.h5"), "--starts", 2, "--keep-starts", engine="cvodes")


def synthetic(tmp, name, times, n):
    """Its model is compiled as users do."""
    h.stiffit("simulate", "-m", h.BUILD / f"models/{name}.text.so", "--times", times, "--datasets", n, "--noise", 0.02, "-o",
              tmp / "p.h5")
    return tmp / "p.h5"


def in_lanes(tmp, name, times, *words):
    """Whatever is in the lanes beside a fit, as some that are hopeless."""
    path = synthetic(tmp, name, times, 40)
    with h5py.File(path, "r+") as f:
        dataset, value = f["measurements/dataset"][()], f["measurements/value"][()]
        value[dataset == 5] = np.nan
        value[np.flatnonzero(dataset == 7)[::2]] = np.nan
        value[dataset == 9] *= 1e3
        f["measurements/value"][...] = value
    return ways.Case(path, *words, engine="lanes")


@problem("kernels of lanes", "alone", "a device")
def lanes(tmp):
    return in_lanes(tmp, "robertson", "1:40:4", "--starts", 2, "--keep-starts")


@problem("shards")
def differences_in_lanes(tmp):
    return in_lanes(tmp, "alpha-pinene", "1:40:8", "--gradient", "differences")


# Stiff between t = 3 and t = 8, and on the slow branches of an oscillation: the method changes several times.
TURNS = """parameter k = 3000 in [10, 1e6] scale log, a = 1 in [0.01, 100] scale log, mu = 12 in [1, 50] scale log
x(0) = 1; u(0) = 2; v(0) = 0
x' = -k*(x - sin(t))/(1 + exp(-10*(t - 3)))/(1 + exp(10*(t - 8))) - a*x
u' = v
v' = mu*(1 - u^2)*v - u
observe x, u
"""


@problem("kernels of lanes")
def methods_that_change(tmp):
    (tmp / "m.ode").write_text(TURNS)
    h.stiffit("simulate", "-m", tmp / "m.ode", "--times", "0.5:20:0.5", "-n", 20 if not h.SANITIZE else 8, "--noise", 0.02,
              "--spread", 0.05, "--seed", 3, "-o", tmp / "p.h5")
    return ways.Case(tmp / "p.h5", engine="lanes", has_device=False)  # the method changes on the CPU alone


@problem("killed")
def large_fit(tmp):
    """Workers share its algebra."""
    return ways.Case(test_large_fit.write(tmp / "p.h5")[0], engine="cvodes")


@problem()
def shared_in_lanes(tmp):
    path = synthetic(tmp, "alpha-pinene", "1000:36000:9000", 12)
    with h5py.File(path, "r+") as f:
        level = ["shared", "dataset", "dataset", "shared", "dataset"]
        f["parameters"].create_dataset("level", data=level, dtype=h5py.string_dtype())
    return ways.Case(path, kind="sum", engine="lanes")


def sharing(tmp, n, *words, text=test_shared.EQUATIONS, seed=5, sigma=np.nan, **keywords):
    path, model = test_shared.write(tmp / "p.h5", text, test_shared.sample(n, seed=seed), sigma)
    return ways.Case(path, "--model", model, *words, kind="sum", **keywords)


@problem("killed", "3 ranks", "another order")
def shared(tmp):
    return sharing(tmp, 40, "--share", "ka", alike=True)


@problem("3 ranks")
def shared_formula(tmp):
    """Nothing is integrated; blocks of the tree of sums lie across workers and ranks in many ways."""
    return sharing(tmp, 150, "--share", "ka,b", text=test_shared.FORMULA, sigma=0.05)


@problem("3 ranks")
def shared_sample(tmp):
    """So many that the search begins with a sample of them."""
    return sharing(tmp, 500, "--share", "ka", text=test_shared.FORMULA, sigma=0.05)


@problem("3 ranks")
def all_shared(tmp):
    """Few datasets: a rank has one or none."""
    return sharing(tmp, 3, "--share", "all", sigma=0.05)


@problem("killed")
def shared_lbfgs(tmp):
    return sharing(tmp, 13, "--share", "ka", "--optimizer", "lbfgs", sigma=0.05)


@problem("killed")
def shared_adjoint(tmp):
    return sharing(tmp, 9, "--share", "ka", "--optimizer", "lbfgs", "--gradient", "adjoint", sigma=0.05)


@problem("again")
def shared_differences(tmp):
    return sharing(tmp, 9, "--share", "ka", "--gradient", "differences", sigma=0.05)


@problem("killed")
def shared_laplace(tmp):
    """The curvature that the corners of each dataset have is part of the state."""
    return sharing(tmp, 20, "--share", "ka", "--error", "laplace", sigma=0.05)


@problem("killed")
def shared_refits(tmp):
    return sharing(tmp, 12, "--share", "ka", *REFITS, sigma=0.05)


@problem("3 ranks")
def shared_profiles(tmp):
    """All learn where the other profiles ended."""
    path, model = test_shared_profile.straight(tmp, "a,b")
    return ways.Case(path, "--model", model, "--share", "a,b", "--profile", "all", "--keep-profile", kind="sum")


@problem("killed")
def shared_starts_drawn_again(tmp):
    """Starts that cannot be evaluated have others in their places."""
    t = test_shared_starts.T
    y = 3 * np.exp(-0.7 * t) + 0.05 * np.random.default_rng(5).standard_normal((20, len(t)))
    path, model = test_shared_starts.limited(tmp / "p.h5", "exp(-w*t)", np.full(20, 5.0), y)
    return ways.Case(path, "--model", model, "--share", "w", "--starts", 6, "--keep-starts", kind="sum")


@problem("killed")
def shared_pilots(tmp):
    """One of the pilots, the first dataset, cannot be fitted."""
    model, _ = test_shared_pilots.problem(tmp / "p.h5", 24, 2)
    with h5py.File(tmp / "p.h5", "a") as f:
        rows = f["measurements/dataset"][()] == 0
        value = f["measurements/value"][()]
        value[rows] = np.random.default_rng(1).normal(0, 3, rows.sum())
        f["measurements/value"][...] = value
    return ways.Case(tmp / "p.h5", "--model", model, *test_shared_pilots.SHARED, "--warm-start", "pilot", kind="sum")


@problem("3 ranks")
def shared_left_out(tmp):
    """Bad datasets, all of the first rank among them, are left out of fit, starts and profiles; priors and bounds."""
    text = test_shared.FORMULA.replace("scale log", "scale log prior normal(1.5, 0.2)", 1)
    text = text.replace("b = 0 in [-10", "b = 0.3 in [0.29")
    y = test_shared.sample(20, seed=4)
    y[[0, 1, 2, 3, 4, 5, 6, 11]] = np.nan
    path, model = test_shared.write(tmp / "p.h5", text, y, 0.05)
    return ways.Case(path, "--model", model, "--share", "ka", "--leave-out-failed", *REFITS[:-3], kind="sum")


@problem("3 ranks")
def shared_crashes(tmp):
    h.let_models_crash()
    path = test_crash.problem(tmp / "p.h5", 12, {7: "segfault"})
    return ways.Case(path, "--share", "k", "--leave-out-failed", "--profile", "k", "--bootstrap", 4, kind="sum",
                     engine="cvodes")


@problem("killed", "3 ranks")
def groups(tmp):
    """Plates of neighbours, and operators that work on all of them."""
    n = 33
    plate, operator = np.arange(n) // 5, np.arange(n) % 3
    y = test_shared_groups.sample(n, {3: plate}, seed=n)
    path, model = test_shared_groups.write(tmp / "p.h5", test_shared.EQUATIONS, y, {"plate": plate, "operator": operator})
    return ways.Case(path, "--model", model, "--share", "ka@operator,b@plate", kind="sum")


@problem("3 ranks")
def groups_lbfgs(tmp):
    n = 12
    y = test_shared_groups.sample(n, {3: np.arange(n) // 5}, seed=n)
    path, model = test_shared_groups.write(tmp / "p.h5", test_shared.FORMULA, y, {"plate": np.arange(n) // 5})
    return ways.Case(path, "--model", model, "--share", "ka,b@plate", "--optimizer", "lbfgs", *REFITS, kind="sum")


@problem("killed")
def plates(tmp):
    """Datasets that have no shared parameter in common are separate fits."""
    path, model = test_shared_fits.write(tmp / "p.h5", *test_shared_fits.sample(4, 6, seed=8, spoilt=[(1, 3)]),
                                         test_shared_fits.EQUATIONS)
    return ways.Case(path, "--model", model, "--share", "kcat@plate", "--starts", 2, "--keep-starts", kind="sum")


def random_effects(tmp, n, *words, text=test_mixed_linear.EQUATIONS, **keywords):
    path, *model = test_mixed_linear.Data(n, 5, seed=21).write(tmp / "p.h5", text)
    return ways.Case(path, *model, "--random", "k,A", "--share", "sigma", *words, kind="mixed", **keywords)


@problem("3 ranks", "another order")
def mixed_exact(tmp):
    return random_effects(tmp, 30, "--likelihood", "exact", text=test_mixed_linear.FORMULA, alike=True)


@problem("killed")
def mixed_laplace(tmp):
    return random_effects(tmp, 30, "--likelihood", "laplace", text=test_mixed_linear.FORMULA, alike=True)


@problem("killed", "3 ranks")
def mixed_integrated(tmp):
    return random_effects(tmp, 10)


@problem("again")
def mixed_refits(tmp):
    return random_effects(tmp, 8, "--likelihood", "laplace", "--bootstrap", 2, "--profile", "k", text=test_mixed_linear.FORMULA)


@problem("killed")
def mixed_hills(tmp):
    """Datasets whose integrands have several modes and plateaus."""
    study = mixed_studies.Study(mixed_studies.HILLS[4], 14)
    path, *words = study.write(tmp, study.start)
    return ways.Case(path, *words, kind="mixed")


@problem("killed")
def mixed_zero_variance(tmp):
    """A's variance is 0 in the end: its random effects leave the integral, and datasets choose their levels anew."""
    rng, times = np.random.default_rng(6), [0.5, 2, 5, 9]
    rows = [(d, t, 0, 3 * np.exp(-k * t) * (1 + 0.3 * rng.standard_normal()), np.nan)
            for d, k in enumerate(0.4 * np.exp(0.3 * rng.standard_normal(60))) for t in times]
    path, *model = mixed.write(tmp / "p.h5", "parameter k = 0.5 scale log\nparameter A = 2 scale log\n"
                               "parameter s = 0.1 in [1e-4, 10] scale log\ny = A*exp(-k*t)\nobserve c = y sd s*y\n", rows)
    return ways.Case(path, *model, "--random", "k,A", "--share", "s", "--random-covariance", "diagonal", kind="mixed")


@problem("killed", "3 ranks")
def mixed_left_out(tmp):
    """Half of the datasets cannot be evaluated at the start, and come back."""
    path, *model = test_mixed_left_out.lagged(8).write(tmp / "p.h5")
    return ways.Case(path, *model, "--random", "k", "--share", "lag,cv,A", kind="mixed")


def row(make, quick):
    def test(tmp):
        case = make(tmp)
        assert case.whole  # or it is skipped as a whole
        for name, (run, applies) in ways.WAYS.items():
            if applies(case) and (h.LEVEL not in ("quick", "more") or (name in ("7 workers", *quick)) == h.QUICK):
                try:
                    run(case)
                except h.Skip as reason:
                    print(f"skip {make.__name__}, {name}: {reason}")
    test.line = make.__code__.co_firstlineno
    return h.both(test)


for title, (maker, first) in PROBLEMS.items():
    globals()[f"test_ways_of_{title}"] = row(maker, first)


if __name__ == "__main__":
    h.main()
