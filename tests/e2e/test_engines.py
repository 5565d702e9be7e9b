"""Programs linked with other engines (tests/engine): one that holds four evaluations and finishes them out of order, and one
whose evaluations fail now and then. The promises hold, and with the first every number is the same.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 900
"""
import subprocess
import sys

import h5py
import numpy as np

import helpers as h
import ways
from test_robertson import mixed_problem

h.compile_as_users_do()

FOUR = h.BUILD / "tests/engine/stiffit-four"
FAILING = h.BUILD / "tests/engine/stiffit-failing"
WAYS = ((), ("--gradient", "differences"), ("--optimizer", "lbfgs", "--gradient", "adjoint"),
        ("--starts", 3, "--profile", "p1"))


def fits(program, problem, output, *args):
    command = [program, "run", problem, "--trust", "--overwrite", "-o", output, *args]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=h.environment())
    assert done.returncode in (0, 1), done.stderr
    return ways.fits_bytes(output)


def test_one_fit_alone_by_several_workers(tmp):
    """All evaluations of its difference quotients may run at once."""
    mixed_problem(tmp / "p.h5")
    with h5py.File(tmp / "p.h5") as f:
        name = f["datasets/id"].asstr()[0]
    one = ("--only", name, "--gradient", "differences")
    want = fits(h.STIFFIT, tmp / "p.h5", tmp / "want.h5", "-j", 1, *one)
    for program in (h.STIFFIT, FOUR):
        got = fits(program, tmp / "p.h5", tmp / "got.h5", "-j", 4, *one)
        ways.assert_same(want, got, f"{program.name}: 1 and 4 threads")


@h.more
def test_failing_evaluations(tmp):
    """They are failed trials: every fit has its row, the same whatever runs beside it, and most converge nevertheless."""
    mixed_problem(tmp / "p.h5")
    for way in WAYS[:3] if h.SLOW else WAYS[:1]:
        want = fits(FAILING, tmp / "p.h5", tmp / "want.h5", "-j", 1, *way)
        with h5py.File(tmp / "want.h5") as f:
            status, notes = f["fits/status"][:], f["fits/notes"][:]
        assert np.count_nonzero(status == 1) >= len(status) / 2, (way, status)
        assert np.any(notes != 0), way
        for threads in (2, 5) if h.SLOW else (5,):
            got = fits(FAILING, tmp / "p.h5", tmp / "got.h5", "-j", threads, *way)
            ways.assert_same(want, got, f"{way}: 1 and {threads} threads")


def existing(script, *words):
    h.run_script(script, *words, program="tests/engine/stiffit-four")


@h.more
def test_threads_and_a_kill(tmp):
    existing("test_ways.py", "of_starts")


def test_crashes_and_hangs(tmp):
    existing("test_crash.py", *(() if h.SLOW else ("ends_the_run",)))


@h.slow
def test_kills_and_stops(tmp):
    existing("test_ways.py", "of_single", "of_lbfgs")
    existing("test_kills.py")
    existing("test_stop.py")


def test_states(tmp):
    existing("test_states.py", "two_processes")


@h.slow
def test_more_of_states_and_trace(tmp):
    existing("test_states.py", "go_on", "damaged", "spent_before")
    existing("test_trace.py")


if __name__ == "__main__":
    if h.ENGINE:
        print("these tests choose engines themselves")
        sys.exit(77)
    h.main()
