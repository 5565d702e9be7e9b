"""Fits with shared parameters on several ranks (mpirun): what goes wrong on one of them.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import signal
import subprocess
import time

import numpy as np

import faults
import helpers as h
import test_shared_groups as groups
import ways
from launch import ranks
from test_crash import problem as crash_problem
from test_shared import EQUATIONS, FORMULA, NAMES, read, run_file, sample, write


def fit(n, path, *words, code=(0, 1), env=None):
    done = ranks(n, path, *words, code=code, env=env)
    return read(path) | {"stderr": done.stderr}


@h.more
def test_another_start(tmp):
    """Of a shared parameter in a dataset of another rank."""
    start = np.tile([1, 5, 0.2, 0.3], (30, 1))
    start[20, 0] = 2
    path, model = write(tmp / "c.h5", FORMULA, sample(30), 0.05, name=NAMES, start=start, level=["shared"] + 3 * ["dataset"])
    for n in (2, 4) if h.SLOW else (4,):  # which datasets were evaluated before is chance
        found = fit(n, path, "--model", model, "--overwrite", "--restart", code=1)
        assert found["status"].tolist() == 20 * [10] + [8] + 9 * [10], found["status"]
        assert b"a shared parameter has another start, bound or `fixed` here than in dataset 'd0'" in found["message"][20]


def test_crash(tmp):
    """A dataset whose model crashes or hangs ends the fit or is left out, and no rank dies."""
    h.let_models_crash()
    env = h.environment(STIFFIT_HANG_SECONDS=h.SANITIZER_SPEED)
    leave_out = ("--leave-out-failed",)
    lbfgs, refits = ("--optimizer", "lbfgs"), (*leave_out, "--profile", "k", "--bootstrap", 4)
    for word, status, words in (("segfault", 7, ()), ("segfault", 7, leave_out), ("sleep", 4, leave_out),
                                ("segfault", 7, lbfgs), ("segfault", 7, (*lbfgs, *leave_out)), ("segfault", 7, refits)):
        path = crash_problem(tmp / f"{word}.h5", 12, {7: word})
        first = run_file(path, "--trust", "--share", "k", *words, "--overwrite", env=env)
        found = fit(3, path, "--trust", "--share", "k", *words, "--overwrite", "--restart", code=1, env=env)
        faults.same_fits(found, first, (word, words))
        assert found["status"][7] == status and "rank" not in found["stderr"].replace("ranks, each", "")
    assert found["profile_lower_status"][0, 0] == 1, found["profile_lower_status"]


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(pid):
    return list(map(int, subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()))


def supervisors(job):
    """The launched processes by rank: mpirun's children, or those of MPICH's proxy."""
    found = {}
    mine = children(job.pid)
    for pid in mine + [pid for proxy in mine for pid in children(proxy) if len(mine) == 1]:
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                variables = dict(entry.partition(b"=")[::2] for entry in f.read().split(b"\0"))
        except OSError:  # it has just ended
            continue
        rank = variables.get(b"OMPI_COMM_WORLD_RANK") or variables.get(b"PMI_RANK")
        if rank is not None:
            found.setdefault(int(rank), pid)
    return found


def wait_for(condition, seconds=60):
    end = time.time() + seconds
    while not condition():
        assert time.time() < end
        time.sleep(0.01)


@h.more
def test_kills(tmp):
    """A rank that is killed ends the job, with a code of its own; the same command resumes with another number of ranks, to the
    same bits. A signal to all of them stops them."""
    for share in "ka", "ka,b@plate":
        killed(long_fit(tmp / f"{len(share)}.h5", share))


def long_fit(path, share):
    """The words of a run whose steps take long."""
    n = 500
    y = groups.sample(n, {3: np.arange(n) // 5}, seed=6)
    path, model = groups.write(path, EQUATIONS, y, {"plate": np.arange(n) // 5})
    return path, "--model", model, "--share", share, "-j", 1, "--rtol", "1e-11", "--engine", "cvodes"


def killed(words):
    path = words[0]
    first = run_file(*words)
    result = h.result_path(path)
    journal = result.with_name(result.name + ".journal")
    resumed = []
    for n, victim, number, others in ((3, 2, signal.SIGKILL, 2), (2, 0, signal.SIGKILL, 4), (2, None, signal.SIGTERM, 3)):
        result.unlink()
        shutil.rmtree(journal, ignore_errors=True)
        job = ranks(n, *words, start=True)
        wait_for(lambda: len(supervisors(job)) == n)  # pylint: disable=cell-var-from-loop
        launched = supervisors(job)  # before the first step is kept: looking for them takes a good part of a fit's time
        wait_for(lambda: faults.has_state(journal) or job.poll() is not None)  # pylint: disable=cell-var-from-loop
        for rank, pid in launched.items():  # not mpirun: it passes a signal on after a second, and the fit may be done by then
            if victim in (rank, None):
                os.kill(pid, number)
        said = job.communicate(timeout=60)[1]
        assert job.returncode != 0, said
        wait_for(lambda: not any(map(is_running, launched.values())))  # pylint: disable=cell-var-from-loop
        assert not result.exists(), said
        found = fit(others, *words)
        faults.same_fits(found, first, (n, victim))
        resumed.append("the search goes on after" in found["stderr"])
    assert all(resumed), resumed


@h.more
def test_computing_process_dies(tmp):
    """Killed from outside, also on the rank that keeps the journal: all ranks go on from the latest step that was kept."""
    words = long_fit(tmp / "p.h5", "ka,b@plate")
    path = words[0]
    first = run_file(*words)
    journal = h.result_path(path).with_name("p.result.h5.journal")
    for victim in (0, 1):
        h.result_path(path).unlink()
        job = ranks(2, *words, start=True)
        wait_for(lambda: faults.has_state(journal) or job.poll() is not None)  # pylint: disable=cell-var-from-loop
        for child in children(supervisors(job)[victim]):
            os.kill(child, signal.SIGKILL)
        said = job.communicate(timeout=120)[1]
        assert job.returncode == 0, said
        assert said.count("the search goes on after") == 1, said
        faults.same_fits(read(path), first, victim)


@h.more
def test_one_rank_is_stopped(tmp):
    """A stop of one rank stops all: within a pass, or at its end at most some seconds later, and the job resumes."""
    words = long_fit(tmp / "p.h5", "ka")
    path = words[0]
    journal = h.result_path(path).with_name("p.result.h5.journal")
    for victim in (0, 1):
        job = ranks(2, *words, start=True)
        wait_for(lambda: faults.has_state(journal) and len(supervisors(job)) == 2)  # pylint: disable=cell-var-from-loop
        os.kill(supervisors(job)[victim], signal.SIGTERM)
        said = job.communicate(timeout=60)[1]
        assert job.returncode == 75, (job.returncode, said)
        assert not h.result_path(path).exists()
    assert np.all(fit(3, *words)["status"] == 1)


@h.more
def test_killed_among_refits(tmp):
    """A rank that is killed at any moment; the same command resumes with another number of ranks, to the same bits."""
    path, model = write(tmp / "p.h5", EQUATIONS, sample(120, seed=6), 0.05)
    words = (path, "--model", model, "--share", "ka", "-j", 1, "--starts", 3, "--profile", "all", "--bootstrap", 5,
             "--keep-starts", "--keep-profile", "--keep-bootstrap", "--rtol", "1e-10", "--engine", "cvodes")
    began = time.monotonic()
    run_file(*words)
    longest, whole = time.monotonic() - began, ways.everything(h.result_path(path))
    h.result_path(path).unlink()
    rng = np.random.default_rng(9)
    for k in range(4 if h.SLOW else 2):
        job = ranks(2 + k % 3, *words, start=True)
        time.sleep(rng.uniform(0.3, 1) * longest / 2)
        for pid in list(supervisors(job).values())[-1:]:
            os.kill(pid, signal.SIGKILL)
        job.communicate(timeout=120)
        if h.result_path(path).exists():
            ways.assert_same(ways.everything(h.result_path(path)), whole, k)
            h.result_path(path).unlink()
    fit(3, *words)
    ways.assert_same(ways.everything(h.result_path(path)), whole, "at the end")


def test_without_shared(tmp):
    """Independent fits: a warning names what deals them to the tasks, which hinder each other. Without MPI a shared fit is
    refused."""
    path, model = write(tmp / "p.h5", FORMULA, sample(4))
    done = ranks(2, path, "--model", model, code=None)
    assert "--shard slurm" in done.stderr and "stiffit submit" in done.stderr, done.stderr
    env = h.environment(STIFFIT_MPI=str(tmp / "none.so"))
    done = ranks(2, path, "--model", model, "--share", "ka", "--overwrite", code=2, env=env)
    assert "has no MPI" in done.stderr, done.stderr
    env = h.environment(SLURM_STEP_NUM_TASKS=2, SLURM_PROCID=0)  # srun without --mpi
    done = h.stiffit("run", path, "--model", model, "--share", "ka", "--overwrite", code=2, env=env)
    assert "srun --mpi=pmix" in done.stderr, done.stderr


if __name__ == "__main__":
    h.main()
