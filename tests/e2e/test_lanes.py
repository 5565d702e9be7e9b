"""--engine: which engine a run takes, what a fit does whose lanes fail, and how CVODES checks them. Programs whose lanes are a
stand-in, CVODES engines side by side (tests/engine), show the choice and the promises for any model. One whose lanes fail now
and then shows the change to CVODES, and one whose lanes are wrong that the check finds it.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 900
"""
import csv
import io
import json
import os
import subprocess
import sys

import h5py
import numpy as np
import scipy.integrate

import helpers as h
import ways
from test_robertson import robertson_problem

h.compile_as_users_do()

LANES, FAILING, WRONG, NOISY = (h.BUILD / "tests/engine" / f"stiffit-{name}"
                                for name in ("lanes", "failing-lanes", "wrong-lanes", "noisy-lanes"))
CHANGED, DIFFER, NOT_CERTIFIED = 1 << 22, 1 << 23, 1 << 11
WAYS = ((), ("--gradient", "differences"), ("--starts", 3, "--profile", "p1"), ("--bootstrap", 5))
JUMP = """parameter k = 1 in [0.01, 100] scale log10
x(0) = 1
x' = if x > 0.5 then -k*x else -2*k*x
observe x
"""


def problem_of(path):
    robertson_problem(path, 24 if not h.SANITIZE else 12, lower=[1e-4, 1e1, 1e4], upper=[1e2, 1e7, 1e10])


def run(program, problem, output, *args, code=(0, 1)):
    command = [program, "run", problem, "--trust", "-o", output, *args]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=h.environment())
    assert done.returncode in (code if isinstance(code, tuple) else (code,)), (command, done.returncode, done.stderr)
    return done


def fits(program, problem, output, *args):
    """Columns as bytes, and with their values."""
    run(program, problem, output, "--overwrite", *args)
    return ways.fits_bytes(output), h.read_fits(output)


def engine(result):
    """What the result's identity and its provenance say."""
    with h5py.File(result) as f:
        facts = f["provenance"].attrs
        text, name = (word.decode() if isinstance(word, bytes) else word
                      for word in (facts["identity_description"], facts["engine"]))
        assert ("engine=lanes" in text.split()) == (name == "lanes"), (text, name)
        return name


def test_auto_depends_on_model_and_options(tmp):
    h.decay_problem(tmp / "p.h5", 3)
    for words, want in (((), "lanes"), (("--engine=auto",), "lanes"), (("--engine=lanes",), "lanes"), (("-j", 1), "lanes"),
                        (("--engine=cvodes",), "cvodes"), (("--linear-solver=dense",), "cvodes"),
                        (("--gradient=forward",), "lanes"), (("--gradient=differences",), "cvodes"),
                        (("--gradient=adjoint",), "cvodes"), (("--gradient=differences", "--engine=lanes"), "lanes")):
        first = run(LANES, tmp / "p.h5", tmp / "r.h5", "--overwrite", *words).stderr.splitlines()[0]
        assert engine(tmp / "r.h5") == want and (", lanes;" in first) == (want == "lanes"), (words, first)
        shown = h.summary(h.stiffit("show", "--json", tmp / "r.h5"))
        assert shown["provenance"]["engine"] == want


def test_refused(tmp):
    h.decay_problem(tmp / "p.h5", 3)
    (tmp / "jump.ode").write_text(JUMP)
    h.stiffit("simulate", "-m", tmp / "jump.ode", "--times", "0.5:4:0.5", "--datasets", 2, "-o", tmp / "jump.h5")
    assert engine_of_default(LANES, tmp / "jump.h5", tmp / "r.h5") == "cvodes"
    done = run(LANES, tmp / "jump.h5", tmp / "x.h5", "--engine=lanes", code=2)
    assert "jump has switching functions" in done.stderr and "--engine cvodes" in done.stderr, done.stderr
    done = run(LANES, tmp / "p.h5", tmp / "x.h5", "--engine=lanes", "--gradient=adjoint", code=2)
    assert "adjoint" in done.stderr and "--gradient forward" in done.stderr, done.stderr
    done = run(h.STIFFIT, tmp / "p.h5", tmp / "x.h5", "--engine=lanes", code=2)  # a plugin without functions for lanes
    assert "decay" in done.stderr and "lanes" in done.stderr, done.stderr
    assert not list(tmp.glob("x.h5*"))


def engine_of_default(program, problem, output):
    run(program, problem, output, "--overwrite")
    return engine(output)


def test_what_cvodes_began_goes_on(tmp):
    """A result or a journal of a program without lanes is that of --engine cvodes, and the same command has nothing to do, or
    the rest."""
    h.decay_problem(tmp / "p.h5", 3)
    run(h.STIFFIT, tmp / "p.h5", tmp / "r.h5")
    before = (tmp / "r.h5").read_bytes()
    for words in ((), ("--engine=cvodes",)):
        assert "already complete" in run(LANES, tmp / "p.h5", tmp / "r.h5", *words, code=0).stderr
    done = run(LANES, tmp / "p.h5", tmp / "r.h5", "--engine=lanes", code=4)
    assert "engine=lanes" in done.stderr, done.stderr
    assert (tmp / "r.h5").read_bytes() == before
    run(LANES, tmp / "p.h5", tmp / "r.h5", "--overwrite")
    assert engine(tmp / "r.h5") == "lanes"
    assert "already complete" in run(LANES, tmp / "p.h5", tmp / "r.h5", code=0).stderr
    assert "engine=lanes" in run(LANES, tmp / "p.h5", tmp / "r.h5", "--engine=cvodes", code=4).stderr


@h.more
def test_a_killed_run_goes_on(tmp):
    """An unfinished run keeps its engine."""
    robertson_problem(tmp / "p.h5", 400 if not h.SANITIZE else 30)
    for began, words, want in ((h.STIFFIT, (), "cvodes"), (LANES, (), "lanes"), (LANES, ("--engine=cvodes",), "cvodes")):
        h.STIFFIT, program = began, h.STIFFIT
        try:
            killed = ways.kill_in_the_middle(tmp / "p.h5", tmp / "r.h5", 10, words)
        finally:
            h.STIFFIT = program
        assert killed
        assert "resuming" in run(LANES, tmp / "p.h5", tmp / "r.h5", code=0).stderr
        assert engine(tmp / "r.h5") == want
        os.remove(tmp / "r.h5")


@h.both
def test_lanes_that_are_cvodes_give_its_bits(tmp):
    """All paths through the two engines. Only the evaluations of the check by CVODES, of one fit in 64, come on top."""
    problem_of(tmp / "p.h5")
    for way in h.portion(WAYS, 1):
        want, values = fits(h.STIFFIT, tmp / "p.h5", tmp / "want.h5", *way)
        first = None
        for threads in (1, 7):
            got, more = fits(LANES, tmp / "p.h5", tmp / "got.h5", "--engine=lanes", "-j", threads, *way)
            first = first or got
            ways.assert_same(first, got, f"{way}: 1 and {threads} threads")
        for name in want:
            assert want[name] == got[name] or name in ("evaluations", "steps"), (way, name)
        assert np.all(more["evaluations"] >= values["evaluations"]), way


def test_the_check_of_a_sample(tmp):
    """Lanes that are wrong by a hundredth agree with themselves. CVODES finds it wherever it looks, and ends that fit."""
    n = 640
    h.decay_problem(tmp / "p.h5", n, known_sigma=True)
    _, cvodes = fits(h.STIFFIT, tmp / "p.h5", tmp / "c.h5")
    _, lanes = fits(LANES, tmp / "p.h5", tmp / "l.h5")
    _, wrong = fits(WRONG, tmp / "p.h5", tmp / "w.h5")
    sample = lanes["evaluations"] > cvodes["evaluations"]
    assert 1 <= sample.sum() <= 30, sample.sum()  # 10 are expected; 5 standard deviations are 16
    assert np.all(lanes["notes"] == cvodes["notes"]) and np.all(wrong["status"] == "converged")
    assert np.array_equal(wrong["notes"] & DIFFER != 0, sample) and np.array_equal(wrong["notes"] & CHANGED != 0, sample)
    assert np.all(wrong["notes"] & NOT_CERTIFIED == 0)
    # A takes up the hundredth, which is one sigma at each of 8 times; the certificate allows 0.02 of a standard error.
    off = np.abs(wrong["parameters"] / cvodes["parameters"] - 1).max(axis=1)
    assert np.all(off[sample] < 1e-3) and np.all(off[~sample] > 5e-3), off
    for k in (1, 2, 3):
        run(WRONG, tmp / "p.h5", tmp / f"{k}.h5", f"--shard={k}/3")
    h.stiffit("merge", *(tmp / f"{k}.h5" for k in (1, 2, 3)), "-o", tmp / "m.h5", code=(0, 1))
    ways.assert_same(ways.fits_bytes(tmp / "w.h5"), ways.fits_bytes(tmp / "m.h5"), "shards")


def test_fits_whose_lanes_stall(tmp):
    """Noise in the values, of which the slopes know nothing, ends a search before the optimum: CVODES ends it. Where the noise
    is the same for all tolerances, no engine's own certificate can see it."""
    h.decay_problem(tmp / "p.h5", 64, known_sigma=True)
    _, cvodes = fits(h.STIFFIT, tmp / "p.h5", tmp / "c.h5")
    _, noisy = fits(NOISY, tmp / "p.h5", tmp / "n.h5", "--engine=lanes")
    changed = noisy["notes"] & CHANGED != 0
    assert np.all(noisy["status"] == "converged") and np.all(noisy["notes"] & NOT_CERTIFIED == 0)
    assert changed.sum() > 32, changed.sum()  # 59 of 64
    np.testing.assert_allclose(noisy["objective"][changed], cvodes["objective"][changed], rtol=0, atol=1e-3)  # as below
    np.testing.assert_allclose(noisy["parameters"][changed], cvodes["parameters"][changed], rtol=1e-3)


@h.more
def test_fits_whose_lanes_fail(tmp):
    """They go on with CVODES and end where it does: the certificate's limits are 0.02 of a standard error for a parameter and
    0.001 of the variance for the objective, and both engines' optima have them."""
    problem_of(tmp / "p.h5")
    for way in WAYS if h.SLOW else (WAYS[0], WAYS[2]):
        want, cvodes = fits(h.STIFFIT, tmp / "p.h5", tmp / "want.h5", *way)
        bits, changed = fits(FAILING, tmp / "p.h5", tmp / "got.h5", "--engine=lanes", "-j", 1, *way)
        more, _ = fits(FAILING, tmp / "p.h5", tmp / "got.h5", "--engine=lanes", "-j", 5, *way)
        ways.assert_same(bits, more, f"{way}: 1 and 5 threads")
        noted = changed["notes"] & CHANGED != 0
        assert noted.sum() >= 3 and np.array_equal(changed["status"], cvodes["status"]), (way, noted.sum())
        good = changed["status"] == "converged"
        np.testing.assert_allclose(changed["objective"][good], cvodes["objective"][good], atol=2e-3, err_msg=str(way))
        with h5py.File(tmp / "p.h5") as f:
            scale = f["parameters/scale"].asstr()[()]
        assert set(scale) <= {"log", "log10"}, scale
        apart = np.abs(changed["parameters"] - cvodes["parameters"]) / cvodes["standard_error"]
        assert np.nanmax(apart[good]) < 0.04, (way, np.nanmax(apart[good]))
        for name in ("profile_lower", "profile_upper"):
            if "--profile" in way:  # known to 1e-4 of the rise, 2e-4 of the distance to the best fit; and that is known to 0.04
                width = np.abs(cvodes[name] - cvodes["parameters"])
                assert np.nanmax((np.abs(changed[name] - cvodes[name]) / width)[good]) < 0.04, name


def test_a_budget_that_ends_with_the_change(tmp):
    """The best point of the lanes is kept if there is no budget to evaluate it again."""
    problem_of(tmp / "p.h5")
    for most in (2, 3, 4, 6):
        _, found = fits(FAILING, tmp / "p.h5", tmp / "r.h5", f"--max-evaluations={most}")
        assert np.all(np.isfinite(found["objective"])) and np.all(found["evaluations"] <= most), most


def synthetic(name, path, *words):
    """Datasets of a model in text, some of them hopeless."""
    h.stiffit("simulate", "-m", h.ROOT / f"models/{name}/{name}.ode", "--noise", 0.02, "-o", path, *words)
    with h5py.File(path, "r+") as f:
        dataset, value = f["measurements/dataset"][()], f["measurements/value"][()]
        value[dataset == 5] = np.nan
        value[np.flatnonzero(dataset == 7)[::2]] = np.nan
        value[dataset == 9] *= 1e3
        f["measurements/value"][...] = value
        first = f["datasets/id"].asstr()[0]
    run(h.STIFFIT, path, path.with_suffix(".x"), f"--only={first}")
    if engine(path.with_suffix(".x")) != "lanes":
        h.skip("this program has no lanes")


REAL = (("robertson", ("--times", "1:40:4", "--datasets", 60)), ("alpha-pinene", ("--times", "1:40:8", "--datasets", 60)))


def test_the_use_of_lanes_is_told(tmp):
    """Of 400 fits at once a worker's eight lanes are mostly full; of two, at most a quarter; CVODES has none. A trace names the
    engine of each evaluation."""
    synthetic("robertson", tmp / "p.h5", "--times", "1:40:4", "--datasets", 400)
    with h5py.File(tmp / "p.h5") as f:
        ids = f["datasets/id"].asstr()[:2]
    share = {}
    for name, words in (("all", ()), ("two", ("--only", ",".join(ids), "-o", tmp / "two.h5"))):
        result = words[-1] if words else tmp / "r.h5"
        run(h.STIFFIT, tmp / "p.h5", result, "-j", 1, *words[:2])
        share[name] = float(h.summary(h.stiffit("show", result, "--json"))["provenance"]["lanes_in_use"])
    assert 0.75 < share["all"] <= 1 and 0.125 <= share["two"] <= 0.25, share
    run(h.STIFFIT, tmp / "p.h5", tmp / "c.h5", "--engine=cvodes")
    assert "lanes_in_use" not in h.stiffit("show", tmp / "c.h5", "--json").stdout
    for engine_name in ("lanes", "cvodes"):
        done = h.stiffit("run", tmp / "p.h5", "--only", ids[0], "--trace", "-", f"--engine={engine_name}")
        engines = [row["engine"] for row in csv.DictReader(io.StringIO(done.stdout)) if row["kind"] != "end"]
        assert engines.count(engine_name) >= len(engines) - 1 > 2, engines  # a certificate may be CVODES'


def test_lanes_agree_with_cvodes(tmp):
    """Both optima are confirmed to 0.02 of a standard error, but for what stopping leaves (some 0.005), and 0.001 of the
    variance of the errors, so that they differ by no more than twice that."""
    for name, words in REAL:
        p = tmp / f"{name}.h5"
        synthetic(name, p, *words)
        _, lanes = fits(h.STIFFIT, p, tmp / "l.h5", "--engine=lanes")
        _, cvodes = fits(h.STIFFIT, p, tmp / "c.h5", "--engine=cvodes")
        assert np.array_equal(lanes["status"], cvodes["status"]), name
        good = (cvodes["status"] == "converged") & ((cvodes["notes"] | lanes["notes"]) & NOT_CERTIFIED == 0)
        assert good.sum() >= 55, good.sum()
        for column in ("standard_error", "parameters"):
            apart = np.abs(lanes[column] - cvodes[column]) / cvodes["standard_error"]
            assert np.nanmax(apart[good]) < 0.045, (name, column, np.nanmax(apart[good]))
        variance = np.maximum(1, cvodes["residual_error"] ** 2)  # sigmas are known
        assert np.nanmax((np.abs(lanes["objective"] - cvodes["objective"]) / variance)[good]) < 2e-3, name


def test_coupling_that_ends(tmp):
    """x follows g z at a rate of 1e8 until about t = a. SciPy's steps are shorter than the end of the coupling."""
    time, a, g, d = np.arange(1, 7)*5/6, 1.878, 1.12, 0.183
    (tmp/"m.ode").write_text(f"parameter a = {a}, g = {g}, d = {d}\nz(0) = 1\nz' = -0.3*z\nx(0) = 1\n"
                             "x' = -(d + 1e8*(1 - 1/(1 + exp(-(t - a)/0.03))))*(x - g*z)\nobserve x\n")
    (tmp/"d.csv").write_text("dataset,time,value,sigma\n" + "".join(f"d,{t!r},0.5,0.1\n" for t in map(float, time)))
    h.stiffit("import", "d.csv", "--model", "m.ode", "-o", "p.h5", cwd=tmp)

    def objective(a):
        def rate(t):
            return d + 1e8*(1 - 1/(1 + np.exp(-(t - a)/0.03)))
        right = scipy.integrate.solve_ivp(lambda t, x: -rate(t)*(x - g*np.exp(-0.3*t)), (0, 5), [1], "BDF", time, rtol=1e-8,
                                          jac=lambda t, x: [[-rate(t)]], atol=1e-11, max_step=0.01)
        return 0.5*np.sum(((right.y[0] - 0.5)/0.1)**2)

    right, step = objective(a), 0.01
    by_a = (objective(a + step) - objective(a - step))/(2*step)
    for rtol in ("1e-4", "1e-7", "1e-10"):
        h.stiffit("run", "p.h5", "--evaluate", "-q", "--rtol", rtol, "--overwrite", "-o", "r.h5", cwd=tmp)
        said = h.stiffit("export", "r.h5", "--columns", "objective,objective_gradient", cwd=tmp).stdout.splitlines()
        found = [float(x) for x in said[1].split(",")]
        # some tens of rtol; the difference quotient is off by some step^2
        assert abs(found[0] - right) < 1e-3*right and abs(found[1] - by_a) < 1e-2*abs(by_a), (rtol, found, right, by_a)


def test_second_derivatives_that_are_infinite(tmp):
    """At the initial state, where those of x^1.5 are, CVODES has all that it needs."""
    (tmp / "m.ode").write_text("parameter k = 1, a = 1\nx(0) = 0\nx' = k - a*x^1.5\nobserve x\n")
    h.stiffit("simulate", "-m", tmp / "m.ode", "--times", "0.25:4:0.25", "--datasets", 5, "--noise", 0.02, "-o", tmp / "p.h5")
    for words in ((), ("--engine=cvodes",)):
        _, found = fits(h.STIFFIT, tmp / "p.h5", tmp / "r.h5", *words)
        assert np.all(found["status"] == "converged"), (words, found["message"])


def existing(script, *words):
    h.run_script(script, *words, program="tests/engine/stiffit-lanes")


@h.more
def test_crashes_and_states(tmp):
    existing("test_crash.py", *(() if h.SLOW else ("bits", "anew", "starts_that")))
    existing("test_states.py", "two_processes")


@h.slow
def test_more_of_them(tmp):
    existing("test_ways.py", "of_single")
    existing("test_kills.py")
    existing("test_stop.py")
    existing("test_states.py", "go_on", "damaged", "spent_before")
    existing("test_trace.py")
    existing("test_shards.py")
    existing("test_retry.py")


def test_rounded_states_are_left_to_cvodes(tmp):
    """What rounds time alone may be in lanes: the program knows where that jumps."""
    for rate, has in (("-k*y", True), ("-k*floor(3*y)", False), ("-k*y*ceil(y + t)", False), ("-k*y*(t - floor(t))", True)):
        (tmp / "m.ode").write_text(f"parameter k = 1\ny(0) = 1\ny' = {rate}\nobserve n = floor(y)\n")
        shown = json.loads(h.stiffit("model", "show", tmp / "m.ode", "--json").stdout)
        assert (shown["lanes"] > 0) == has, (rate, shown)


def test_vanished_states_hold_no_signal(tmp):
    """exp(-20 t) at Unix times is 0 in double precision: nothing has an influence, and both engines say the same. Beside a
    state that lasts, the parameters of the vanished one alone have none."""
    (tmp/"m.ode").write_text("parameter A = 2, k = 20, c = 3\nx(0) = A\nx' = -k*x\nobserve y = x, z = c + x\n")
    late = [1.6e9 + t for t in (0, 0.01, 0.02, 0.05, 0.1)]
    for observable, flat, note in (("y", {"A", "k", "c"}, "no_signal"), ("z", {"A", "k"}, "no_influence")):
        (tmp/"d.csv").write_text("dataset,time,observable,value,sigma\n" + "".join(
            f"d,{t!r},{observable},{2 - i/3},0.1\n" for i, t in enumerate(late)))
        h.stiffit("import", "d.csv", "--model", "m.ode", "-o", "p.h5", "--overwrite", cwd=tmp)
        for engine in ("lanes", "cvodes"):
            h.stiffit("run", "p.h5", "-q", "--engine", engine, "-o", "r.h5", "--overwrite", cwd=tmp)
            said = h.stiffit("export", "r.h5", "--columns", "error_missing,notes", cwd=tmp).stdout.splitlines()
            row = dict(zip(said[0].split(","), said[1].split(",")))
            assert {name for name in "Akc" if row[f"error_missing_{name}"] == "flat"} == flat, (engine, row)
            assert note in row["notes"], (engine, row)


if __name__ == "__main__":
    if h.ENGINE:
        print("these tests choose engines themselves")
        sys.exit(77)
    h.main()
