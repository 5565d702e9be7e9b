"""A fit's result depends on the problem, options, seed, dataset and start alone: not on threads, resume or order.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 900
"""
import os
import pathlib
import re
import signal
import subprocess
import time

import h5py
import numpy as np

import faults
import helpers as h
from test_robertson import robertson_problem

h.compile_as_users_do()

TIMES = ("seconds",)  # the only column that may differ


def fits_bytes(path):
    """Every column of /fits as bytes, times aside."""
    with h5py.File(path, "r") as f:
        return {name: (str(column.dtype), column.shape, b"\0".join(column[()].ravel().tolist())
                       if h5py.check_string_dtype(column.dtype) else column[()].tobytes())
                for name, column in f["fits"].items() if name not in TIMES}


def assert_same(a, b, what):
    assert a.keys() == b.keys(), what
    for name in a:
        assert a[name] == b[name], f"{what}: /fits/{name} differs"


def mixed_problem(path):
    """Robertson's datasets, some of them bad or hopeless, several starts."""
    n = 40 if not h.SANITIZE else 12
    robertson_problem(path, n, lower=[1e-4, 1e1, 1e4], upper=[1e2, 1e7, 1e10])
    with h5py.File(path, "r+") as f:
        value = f["measurements/value"][()]
        dataset = f["measurements/dataset"][()]
        value[np.flatnonzero(dataset == 5)] = np.nan    # nothing to fit
        value[np.flatnonzero(dataset == 7)[::2]] = np.nan
        f["measurements/value"][...] = value


def test_threads(tmp):
    mixed_problem(tmp / "p.h5")
    bits = {}
    for threads in (1, 2, 7):
        output = tmp / f"{threads}.h5"
        h.run(tmp / "p.h5", "-j", threads, "--starts", 3, "--seed", 11, "-o", output, code=1)
        bits[threads] = fits_bytes(output)
        assert "parameters" in bits[threads] and "objective" in bits[threads]
    assert_same(bits[1], bits[2], "1 and 2 threads")
    assert_same(bits[1], bits[7], "1 and 7 threads")


def n_record(result):
    """Fits in the journal, whose folder may be gone any moment."""
    try:
        return len(faults.records(pathlib.Path(f"{result}.journal")))
    except FileNotFoundError:
        return 0


def kill_in_the_middle(problem, output, enough, extra=()):
    """Starts a run in a process group of its own and kills all of it once the journal has `enough` fits."""
    command = [str(h.STIFFIT), "run", str(problem), "--trust", "-j", "2", "-o", str(output), *extra]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=h.environment(),
                          start_new_session=True) as process:
        deadline = time.monotonic() + 120 * h.SANITIZER_SPEED
        while n_record(output) < enough and process.poll() is None:
            assert time.monotonic() < deadline, "nothing arrives in the journal"
            time.sleep(0.002)
        ended = process.poll() is not None
        if not ended:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return not ended


def test_killed_and_resumed(tmp):
    n = 300 if not h.SANITIZE else 60
    robertson_problem(tmp / "p.h5", n)
    h.run(tmp / "p.h5", "-o", tmp / "straight.h5")
    kills = 0
    enough = 20
    for _ in range(3 if not h.SANITIZE else 1):  # three times in a row, each further on
        if not kill_in_the_middle(tmp / "p.h5", tmp / "killed.h5", enough):
            break
        kills += 1
        assert not (tmp / "killed.h5").exists(), "no result before the end"
        enough = n_record(tmp / "killed.h5") + 60
    assert kills, "the run ended before it could be killed"
    before = n_record(tmp / "killed.h5")
    fits = h.run(tmp / "p.h5", "-o", tmp / "killed.h5")
    kept = re.search(r"resuming: (\d+) of", fits["stderr"])
    assert kept and int(kept.group(1)) == before >= 20, (before, fits["stderr"])
    assert_same(fits_bytes(tmp / "straight.h5"), fits_bytes(tmp / "killed.h5"), "straight and killed")
    assert not (tmp / "killed.h5.journal").exists(), "the journal goes when the result is there"


DOSED = """parameter ka = 1, ke = 0.1, V = 10 scale log
parameter tlag = 0.3 in [0, 5]
input T linear
depot(0) = 0; depot' = -ka*depot
central(0) = 0; central' = ka*depot - ke*T*central
lag(depot) = tlag
observe c = central/V
"""


def many_experiments(path, n_dataset, n_each):
    """Each with doses, an input and times of its own, so that evaluations differ in length."""
    rng = np.random.default_rng(4)
    n, n_row = n_dataset*n_each, 6
    t = np.sort(rng.uniform(1, rng.choice([5, 50, 200], n)[:, None], (n, n_row)), axis=1)
    amount = rng.uniform(50, 150, n)
    since = np.maximum(t - 0.5, 0)
    value = amount[:, None]/12*1.4/(1.4 - 0.08)*(np.exp(-0.08*since) - np.exp(-1.4*since))
    with h5py.File(path, "w") as f:
        f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
        f["model/source"] = DOSED
        f["datasets/id"] = np.array([b"%d" % i for i in range(n_dataset)])
        f["experiments/dataset"] = np.repeat(np.arange(n_dataset), n_each)
        f["measurements/experiment"], f["measurements/time"] = np.repeat(np.arange(n), n_row), t.ravel()
        f["measurements/value"] = (value + 0.2*rng.standard_normal(value.shape)).ravel()
        f["doses/experiment"], f["doses/time"], f["doses/amount"] = np.arange(n), np.zeros(n), amount
        f["doses/interval"], f["doses/count"] = np.full(n, 90.0), np.full(n, 2)
        f.create_dataset("doses/target_names", data=["depot"], dtype=h5py.string_dtype())
        f["inputs/experiment"], f["inputs/time"] = np.repeat(np.arange(n), 2), np.tile([0.0, 300.0], n)
        f["inputs/value"] = np.tile([1.0, 1.1], n)


@h.more
def test_many_experiments(tmp):
    """Their evaluations go to any worker, in any lane, and finish in any order."""
    n, n_each = (40, 12) if not h.SANITIZE else (6, 12)
    many_experiments(tmp / "p.h5", n, n_each)
    for engine in ("cvodes", "lanes"):
        options = ("--engine", engine)
        h.run(tmp / "p.h5", *options, "-j", 1, "-o", tmp / f"{engine}.h5")
        wanted = fits_bytes(tmp / f"{engine}.h5")
        for threads in (2, 7) if h.SLOW else (7,):
            h.run(tmp / "p.h5", *options, "-j", threads, "-o", tmp / "n.h5", "--overwrite")
            assert_same(wanted, fits_bytes(tmp / "n.h5"), f"1 and {threads} threads with {engine}")
        parts = [tmp / f"{engine}.{k}.h5" for k in (1, 2, 3)]
        for k, part in enumerate(parts):
            h.run(tmp / "p.h5", *options, "-j", 2, f"--shard={k + 1}/3", "-o", part)
        h.stiffit("merge", *parts, "-o", tmp / f"{engine}.merged.h5")
        assert_same(wanted, fits_bytes(tmp / f"{engine}.merged.h5"), f"shards with {engine}")
        killed = tmp / f"{engine}.killed.h5"
        assert kill_in_the_middle(tmp / "p.h5", killed, n//8, options), "the run ended before it could be killed"
        h.run(tmp / "p.h5", *options, "-j", 7, "-o", killed)
        assert_same(wanted, fits_bytes(killed), f"straight and killed with {engine}")
    both = [h.read_fits(tmp / f"{engine}.h5") for engine in ("cvodes", "lanes")]
    assert all(np.all(fits["status"] == "converged") for fits in both)
    gap = np.abs(both[0]["parameters"] - both[1]["parameters"])
    # what the certificate allows; a parameter at its bound has no error
    assert np.all(gap <= 0.02*np.nan_to_num(both[0]["standard_error"])), gap.max(axis=0)


# Stiff between t = 3 and t = 8, and on the slow branches of an oscillation: the method changes several times.
TURNS = """parameter k = 3000 in [10, 1e6] scale log, a = 1 in [0.01, 100] scale log, mu = 12 in [1, 50] scale log
x(0) = 1; u(0) = 2; v(0) = 0
x' = -k*(x - sin(t))/(1 + exp(-10*(t - 3)))/(1 + exp(10*(t - 8))) - a*x
u' = v
v' = mu*(1 - u^2)*v - u
observe x, u
"""


@h.more
def test_methods_that_change(tmp):
    """Whatever else is in the lanes when an evaluation changes its method: workers, kernels, shards, resume."""
    (tmp / "m.ode").write_text(TURNS)
    problem, n = tmp / "p.h5", 60 if not h.SANITIZE else 8
    h.stiffit("simulate", "-m", tmp / "m.ode", "--times", "0.5:20:0.5", "-n", n, "--noise", 0.02, "--spread", 0.05, "--seed", 3,
              "-o", problem)

    def bits(*words, output=tmp / "r.h5", **environment):
        h.stiffit("run", problem, "--trust", "-o", output, "--overwrite", *words, code=(0, 1), env=h.environment(**environment))
        return fits_bytes(output)
    straight = bits("-j", 1)
    for words in ("-j", 2), ("-j", 7):
        assert_same(straight, bits(*words), " ".join(map(str, words)))
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        known = file.read().split()
    for kernel, flag in ("plain", None), ("x86-64-v3", "avx2"), ("x86-64-v4", "avx512dq"):
        if flag is None or flag in known:
            assert_same(straight, bits("-j", 2, STIFFIT_LANES_KERNEL=kernel), f"the kernel {kernel}")
    parts = [tmp / f"part{k}.h5" for k in (1, 2, 3)]
    for k, part in enumerate(parts):
        bits("-j", 1 + k, f"--shard={k + 1}/3", output=part)
    h.stiffit("merge", *parts, "-o", tmp / "merged.h5", code=(0, 1))
    assert_same(straight, fits_bytes(tmp / "merged.h5"), "shards")
    killed = tmp / "killed.h5"
    assert kill_in_the_middle(problem, killed, n // 10), "the run ended before it could be killed"
    assert_same(straight, bits("-j", 7, output=killed), "straight and killed")


@h.more
def test_journal_of_other_options_is_refused(tmp):
    robertson_problem(tmp / "p.h5", 500 if not h.SANITIZE else 60)
    assert kill_in_the_middle(tmp / "p.h5", tmp / "r.h5", 20)
    done = h.stiffit("run", tmp / "p.h5", "--trust", "-o", tmp / "r.h5", "--rtol", "1e-5", code=4)
    assert "rtol" in done.stderr and "--restart" in done.stderr, done.stderr
    h.stiffit("run", tmp / "p.h5", "--trust", "-o", tmp / "r.h5", "--rtol", "1e-5", "--restart", code=0)


def test_supervisor_killed_alone(tmp):
    """The compute child dies with its supervisor: nothing goes on behind the user's back."""
    robertson_problem(tmp / "p.h5", 500 if not h.SANITIZE else 60)
    command = [str(h.STIFFIT), "run", str(tmp / "p.h5"), "--trust", "-j", "1", "-o", str(tmp / "r.h5")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=h.environment()) as process:
        deadline = time.monotonic() + 120
        while n_record(tmp / "r.h5") < 5:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.002)
        process.kill()
        process.wait()
    settled = -1
    deadline = time.monotonic() + 20  # generous: a signal, not a wait
    while settled != n_record(tmp / "r.h5"):
        settled = n_record(tmp / "r.h5")
        assert time.monotonic() < deadline, "the child goes on writing"
        time.sleep(0.5)
    h.run(tmp / "p.h5", "-o", tmp / "r.h5")


if __name__ == "__main__":
    h.main()
