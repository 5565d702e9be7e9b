"""Fits with shared parameters on several ranks (mpirun): the same bits for every number of them, also after kills and crashes.

SPDX-License-Identifier: BSD-3-Clause
"""
import functools
import os
import re
import shutil
import signal
import subprocess
import time

import numpy as np

import faults
import helpers as h
from test_crash import problem as crash_problem
from test_shared import EQUATIONS, FORMULA, NAMES, read, run_file, sample, write

MPIRUN = shutil.which("mpirun")


def launch(command, env, seconds, what):
    """Runs it; one that does not end is a failure, which says what it had written."""
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", env=env, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as late:
        said = (late.stderr or b"").decode(errors="replace")
        raise AssertionError(f"{what} has not ended after {seconds} s: {' '.join(command)}\n{said}") from None


@functools.cache
def launcher():
    """mpirun and its flags, once it has shown that it can start processes here: a container may lack what it needs."""
    env = h.environment(HWLOC_COMPONENTS="-opencl")  # MPI looks for devices: an OpenCL driver that aborts would end it
    is_open = "Open MPI" in launch([MPIRUN, "--version"], env, 20, "mpirun").stdout
    flags = ["--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else []) if is_open else []
    done = launch([MPIRUN, *flags, "-n", "2", "true"], env, 30, "mpirun, with two processes that do nothing,")
    assert done.returncode == 0, f"mpirun starts no processes here, exit code {done.returncode}: {done.stderr}"
    return [MPIRUN, *flags]


def ranks(n, *words, code=(0, 1), env=None, start=False):
    """A run on n ranks; start: it is only begun."""
    if not MPIRUN or not (h.BUILD / "stiffit-mpi.so").exists():
        h.skip("no mpirun, or stiffit was built without MPI")
    if h.SANITIZE == "thread":
        h.skip("the thread sanitizer does not see what MPI does")
    command = [*launcher(), "-n", str(n), str(h.STIFFIT), "run", *map(str, words)]
    env = dict(env or h.environment())
    env["HWLOC_COMPONENTS"] = "-opencl"
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "exitcode=99") + ":detect_leaks=0"  # MPI's own
    if start:
        return subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True, start_new_session=True)
    done = launch(command, env, 120 if h.SLOW else 60, f"a run on {n} ranks")
    assert code is None or done.returncode in (code if isinstance(code, tuple) else (code,)), (done.returncode, done.stderr)
    return done


def fit(n, path, *words, code=(0, 1), env=None):
    done = ranks(n, path, *words, code=code, env=env)
    return read(path) | {"stderr": done.stderr}


def compare(path, *words, numbers=(1, 2, 3, 4), both=h.SLOW, code=(0, 1)):
    """One process, then ranks with one or two threads, or both."""
    first = run_file(path, *words, "--overwrite", code=code)
    for n in numbers:
        for threads in (1, 2) if both else (1 + n // 2 % 2,):
            found = fit(n, path, *words, "--overwrite", "--restart", "-j", threads, code=code)
            faults.same_fits(found, first, (n, threads))
            said = [line for line in found["stderr"].splitlines() if re.search(" fits?, .*converged", line)]
            assert len(said) == 1, found["stderr"]  # one rank speaks
    return first


def test_same_bits(tmp):
    """Blocks of the tree of sums lie across ranks in many ways; integrated or not, with few or more shared parameters."""
    for i, (text, n, share, numbers) in enumerate(((FORMULA, 150, "ka", (1, 2, 3, 4)), (EQUATIONS, 67, "ka,b", (3,)),
                                                   (FORMULA, 9, "ka,k,b,A", (2, 4)))):
        path, model = write(tmp / f"p{i}.h5", text, sample(n, seed=i))
        found = compare(path, "--model", model, "--share", share, numbers=(1, 2, 3, 4) if h.SLOW else numbers)
        assert np.all(found["status"] == 1)


@h.more
def test_few_datasets(tmp):
    """Ranks with one dataset or none."""
    for n, number in ((1, 2), (2, 4), (3, 4), (5, 2)):
        path, model = write(tmp / f"p{n}.h5", EQUATIONS, sample(n, seed=3))
        compare(path, "--model", model, "--share", "ka", numbers=(2, 4) if h.SLOW else (number,))


@h.more
def test_options(tmp):
    """Bounds, priors, pilots and datasets that are left out."""
    y = sample(30, seed=4)
    text = FORMULA.replace("scale log", "scale log prior normal(1.5, 0.2)", 1).replace("[-10, 10]", "[0.29, 10]")
    path, model = write(tmp / "a.h5", text.replace("b = 0 in", "b = 0.3 in"), y, 0.05)
    compare(path, "--model", model, "--share", "ka", "--warm-start", "pilot", numbers=(2, 3) if h.SLOW else (3,))
    y[[0, 1, 2, 3, 4, 5, 6, 7, 17]] = np.nan  # all of the first of four ranks
    path, model = write(tmp / "b.h5", text.replace("b = 0 in", "b = 0.3 in"), y, 0.05)
    for words in ((), ("--leave-out-failed",)):
        found = compare(path, "--model", model, "--share", "ka", *words, numbers=(2, 4) if h.SLOW else (4,))
        assert found["status"][0] == 8
        assert (found["status"][29] == 1) == bool(words), found["status"]
    start = np.tile([1, 5, 0.2, 0.3], (30, 1))
    start[20, 0] = 2
    path, model = write(tmp / "c.h5", text.replace("b = 0 in", "b = 0.3 in"), sample(30), 0.05, name=NAMES, start=start,
                        level=["shared"] + 3 * ["dataset"])
    for n in (2, 4) if h.SLOW else (4,):  # which datasets were evaluated before is chance
        found = fit(n, path, "--model", model, "--overwrite", "--restart", code=1)
        assert found["status"].tolist() == 20 * [10] + [8] + 9 * [10], found["status"]
        assert b"a shared parameter has another start, bound or `fixed` here than in dataset 'd0'" in found["message"][20]


def test_crash(tmp):
    """A dataset whose model crashes or hangs ends the fit or is left out, and no rank dies."""
    h.let_models_crash()
    env = h.environment(STIFFIT_HANG_SECONDS=h.SANITIZER_SPEED)
    for word, status in (("segfault", 7), ("sleep", 4)):
        path = crash_problem(tmp / f"{word}.h5", 12, {7: word})
        for words in ((), ("--leave-out-failed",)) if h.SLOW or word == "segfault" else (("--leave-out-failed",),):
            first = run_file(path, "--trust", "--share", "k", *words, "--overwrite", env=env)
            found = fit(3, path, "--trust", "--share", "k", *words, "--overwrite", "--restart", code=1,
                        env=env)
            faults.same_fits(found, first, (word, words))
            assert found["status"][7] == status and "rank" not in found["stderr"].replace("ranks, each", "")


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
        with open(f"/proc/{pid}/environ", "rb") as f:
            variables = dict(entry.partition(b"=")[::2] for entry in f.read().split(b"\0"))
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
    path, model = write(tmp / "p.h5", EQUATIONS, sample(500, seed=6))
    words = (path, "--model", model, "--share", "ka", "-j", 1, "--rtol", "1e-11", "--engine", "cvodes")
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
    path, model = write(tmp / "p.h5", EQUATIONS, sample(500, seed=6))
    words = (path, "--model", model, "--share", "ka", "-j", 1, "--rtol", "1e-11", "--engine", "cvodes")
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
    path, model = write(tmp / "p.h5", EQUATIONS, sample(500, seed=6))
    words = (path, "--model", model, "--share", "ka", "-j", 1, "--rtol", "1e-11", "--engine", "cvodes")
    journal = h.result_path(path).with_name("p.result.h5.journal")
    for victim in (0, 1):
        job = ranks(2, *words, start=True)
        wait_for(lambda: faults.has_state(journal) and len(supervisors(job)) == 2)  # pylint: disable=cell-var-from-loop
        os.kill(supervisors(job)[victim], signal.SIGTERM)
        said = job.communicate(timeout=60)[1]
        assert job.returncode == 75, (job.returncode, said)
        assert not h.result_path(path).exists()
    assert np.all(fit(3, *words)["status"] == 1)


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
