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
    n = 60 if not h.SANITIZE else 12
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
    n = 1500 if not h.SANITIZE else 60
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


def test_journal_of_other_options_is_refused(tmp):
    robertson_problem(tmp / "p.h5", 1500 if not h.SANITIZE else 60)
    assert kill_in_the_middle(tmp / "p.h5", tmp / "r.h5", 20)
    done = h.stiffit("run", tmp / "p.h5", "--trust", "-o", tmp / "r.h5", "--rtol", "1e-5", code=4)
    assert "rtol" in done.stderr and "--restart" in done.stderr, done.stderr
    h.stiffit("run", tmp / "p.h5", "--trust", "-o", tmp / "r.h5", "--rtol", "1e-5", "--restart", code=0)


def test_supervisor_killed_alone(tmp):
    """The compute child dies with its supervisor: nothing goes on behind the user's back."""
    robertson_problem(tmp / "p.h5", 1500 if not h.SANITIZE else 60)
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
