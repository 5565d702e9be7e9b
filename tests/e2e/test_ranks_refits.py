"""Starts, profiles and bootstrap replicates of a fit over many datasets on several ranks.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import signal
import time

import h5py
import numpy as np

import faults
import helpers as h
from test_crash import problem as crash_problem
from test_ranks import compare, fit, ranks, supervisors
from test_shared import EQUATIONS, FORMULA, read, run_file, sample, write
from test_shared_profile import INFINITE, straight

ALL = ("--starts", 3, "--profile", "all", "--bootstrap", 5, "--keep-starts", "--keep-profile", "--keep-bootstrap")


def tables(path):
    """What is kept of them, as bytes."""
    with h5py.File(h.result_path(path)) as f:
        return {f"{group}/{name}": data[()].tobytes() for group in ("starts", "profiles", "bootstrap") if group in f
                for name, data in f[group].items()}


@h.more
def test_same_bits(tmp):
    """With an equal part for each rank, with one dataset, and with none."""
    for i, (text, n, numbers) in enumerate(((EQUATIONS, 40, (1, 3, 4) if h.SLOW else (3,)),
                                              (FORMULA, 3, (2, 4) if h.SLOW else (4,)))):
        path, model = write(tmp / f"p{i}.h5", text, sample(n, seed=2), 0.05)
        words = (path, "--model", model, "--share", "ka,b", *ALL)
        first = run_file(*words)
        kept = tables(path)
        assert np.all(first["profile_lower_status"][:, 0] == 1) and np.all(first["bootstrap_n"] == 5)
        for count in numbers:
            found = fit(count, *words, "--overwrite", "--restart", "-j", 1 + count % 2)
            faults.same_fits(found, first, count)
            assert tables(path) == kept, count


@h.more
def test_reviews(tmp):
    """Every rank learns where the other profiles ended."""
    path, model = straight(tmp, "a,b")
    found = compare(path, "--model", model, "--share", "a,b", "--profile", "all", numbers=(2, 3) if h.SLOW else (3,))
    assert np.all(found["profile_upper_status"][:, 0] == INFINITE), found["profile_upper_status"]


@h.more
def test_first_rank_has_nothing_left(tmp):
    """All datasets of the first rank are left out, so that another one tells what is common."""
    y = sample(8, seed=4)
    y[:3] = np.nan
    path, model = write(tmp / "p.h5", EQUATIONS, y, 0.05)
    found = compare(path, "--model", model, "--share", "ka", *ALL, "--leave-out-failed",
                    numbers=(2, 4) if h.SLOW else (4,), both=False, code=1)
    assert np.all(found["profile_lower_status"][:, 0] == [7] * 3 + [1] * 5)


def test_crash(tmp):
    """A dataset that crashes is left out of the best fit, and so of refits."""
    h.let_models_crash()
    path = crash_problem(tmp / "p.h5", 12, {7: "segfault"})
    words = (path, "--trust", "--share", "k", "--leave-out-failed", "--profile", "k", "--bootstrap", 4, "--overwrite")
    first = run_file(*words)
    found = fit(3, *words, "--restart", code=1)
    faults.same_fits(found, first)
    assert found["status"][7] == 7 and found["profile_lower_status"][0, 0] == 1, found["profile_lower_status"]


@h.more
def test_killed(tmp):
    """A rank that is killed at any moment; the same command resumes with another number of ranks, to the same bits."""
    path, model = write(tmp / "p.h5", EQUATIONS, sample(120, seed=6), 0.05)
    words = (path, "--model", model, "--share", "ka", "-j", 1, *ALL, "--rtol", "1e-10", "--engine", "cvodes")
    began = time.monotonic()
    first = run_file(*words)
    longest, kept = time.monotonic() - began, tables(path)
    h.result_path(path).unlink()
    rng = np.random.default_rng(9)
    for k in range(4 if h.SLOW else 2):
        job = ranks(2 + k % 3, *words, start=True)
        time.sleep(rng.uniform(0.3, 1) * longest / 2)
        for pid in list(supervisors(job).values())[-1:]:
            os.kill(pid, signal.SIGKILL)
        job.communicate(timeout=120)
        if h.result_path(path).exists():
            faults.same_fits(read(path), first, k)
            h.result_path(path).unlink()
    found = fit(3, *words)
    faults.same_fits(found, first)
    assert tables(path) == kept


if __name__ == "__main__":
    h.main()
