#!/usr/bin/env python3
"""Shards on a real SLURM: however its jobs end, the merged result is that of one machine, byte for byte.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 600
"""
import atexit
import os
import pathlib
import re
import sys
import threading

import h5py

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import cluster as slurm  # noqa: E402
import faults  # noqa: E402
import helpers  # noqa: E402
from helpers import STIFFIT, decay_problem, skip, stiffit  # noqa: E402

TIMES = {"seconds"}  # what two runs of the same fits differ in
N_FIT = 48

# A model that takes its time without using any: eight jobs of it fit on two cores.
SLEEPING = """
#define _POSIX_C_SOURCE 200809L
#include <time.h>
#include "zoo.h"
static int rhs(const struct stiffit_point *at, double *ydot)
{
    const struct timespec pause = {.tv_nsec = %d};
    nanosleep(&pause, NULL);
    return zoo_rhs(at, ydot);
}
STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("sleeping"), .rhs = rhs};
"""

_cluster = []


def cluster():
    """Started by the first test that needs it, for all of them."""
    if not _cluster:
        lacking = slurm.missing()
        if lacking:
            skip(f"not installed: {', '.join(lacking)}; make check-slurm installs them")
        if os.geteuid():
            skip("only root can start a cluster")
        made = slurm.Cluster(os.environ.get("STIFFIT_SLURM"))
        made.up()
        atexit.register(made.down)
        _cluster.append(made)
    return _cluster[0]


def problem_of(tmp, pause_us):
    """A problem of slow fits, and what one machine makes of it."""
    source = f'#line 1 "sleeping"\n{SLEEPING % (1000 * pause_us)}'.replace('"zoo.h"', f'"{ROOT}/tests/zoo/zoo.h"')
    plugin = helpers.compile_plugin(source, tmp / "sleeping.so")
    problem = tmp / "p.h5"
    decay_problem(problem, N_FIT)
    with h5py.File(problem, "r+") as file:
        file["model"].attrs["plugin"] = str(plugin)
    return problem


def expected(problem):
    """The result of one run on one machine, as bytes of each column."""
    whole = problem.with_name("whole.h5")
    stiffit("run", problem, "--trust", "--threads", 16, "-q", "-o", whole)
    return columns(whole)


def columns(result):
    with h5py.File(result) as file:
        return {name: [str(x) for x in column[()]] if column.dtype.kind == "O" else column[()].tobytes()
                for name, column in file["fits"].items() if name not in TIMES}


def assert_same(result, reference):
    found = columns(result)
    assert found.keys() == reference.keys()
    for name, value in reference.items():
        assert found[name] == value, f"/fits/{name} differs"


def submit(problem, *options, sbatch=()):
    """`stiffit submit`; the numbers of the jobs."""
    shown = cluster().run(STIFFIT, "submit", problem, "--trust", "--threads", 2, *options, "--", *sbatch, cwd=problem.parent)
    return {what: int(number) for what, number in re.findall(r"^(shards|merge|ranks) (\d+)$", shown, re.M)}


def logs(problem):
    folder = problem.with_suffix(".slurm")
    return "".join(f"--- {log.name}\n{log.read_text(errors='replace')}" for log in sorted(folder.glob("*.log")))


def merged(problem, jobs, reference, seconds=150):
    state = cluster().wait(jobs["merge"], seconds)
    assert state == "COMPLETED", f"merge: {state}\n{logs(problem)}"
    assert_same(helpers.result_path(problem), reference)


def finished(problem, shard=None):
    options = ["--shard", shard] if shard else []
    return int(stiffit("status", problem, "--fits", *options).stdout)


def in_parallel(*scenarios):
    """SLURM's own waiting is what these tests spend their time on: they wait together. The first fault is raised."""
    faults = []

    def guarded(scenario):
        try:
            scenario()
        except Exception as fault:  # pylint: disable=broad-except
            faults.append(fault)
    threads = [threading.Thread(target=guarded, args=(scenario,)) for scenario in scenarios]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def test_an_array_of_8_shards_and_its_merge(tmp):
    cluster()
    problem = problem_of(tmp, 50)
    reference = expected(problem)
    jobs = submit(problem, "--shards", 8)
    merged(problem, jobs, reference)
    shown = stiffit("status", problem).stdout
    assert "8 of 8" in shown, shown
    assert submit(problem, "--shards", 8) == {}  # everything is there
    helpers.result_path(problem).unlink()
    again = submit(problem, "--shards", 8)
    assert again.keys() == {"merge"}
    merged(problem, again, reference)


def test_a_step_of_4_tasks_on_4_nodes(tmp):
    run = cluster().run
    problem = problem_of(tmp, 50)
    reference = expected(problem)
    script = tmp / "step.sh"
    script.write_text((ROOT / "scripts" / "slurm" / "step.sh").read_text()
                      .replace("problem=PROBLEM.h5", f"problem={problem}").replace("stiffit=stiffit", f"stiffit={STIFFIT}")
                      .replace("options=", "options=--trust"))
    job = cluster().submit("--nodes=4", "--ntasks=4", f"--output={tmp}/log", script, cwd=tmp)
    assert cluster().wait(job) == "COMPLETED", (tmp / "log").read_text()
    assert "NodeList=n[1-4]" in run("scontrol", "show", "job", job)
    assert len(list(tmp.glob("p.shard-*-of-4.result.h5"))) == 4
    assert_same(helpers.result_path(problem), reference)


def test_one_fit_on_4_nodes(tmp):
    """By MPI: a rank is killed, the job comes back and resumes, and the result is that of one process."""
    cluster()
    if not (helpers.BUILD / "stiffit-mpi.so").exists() or "pmix" not in cluster().run("srun", "--mpi=list", check=False):
        skip("stiffit was built without MPI, or SLURM has no PMIx")
    problem = problem_of(tmp, 20)
    options = ["--trust", "--share", "k", "-q"]
    whole = tmp / "whole.h5"
    stiffit("run", problem, *options, "--threads", 16, "-o", whole)
    words = (problem, "--ranks", 4, *options[1:])
    job = submit(*words, sbatch=["--nodes=4", "--cpus-per-task=1"])["ranks"]
    journal = helpers.result_path(problem).with_name("p.result.h5.journal")
    slurm.wait_until(lambda: faults.has_state(journal), 60, "a step of the search")
    cluster().kill_task(job, 2)
    assert cluster().wait(job) == "COMPLETED", logs(problem)
    assert "Restarts=1" in cluster().run("scontrol", "show", "job", job), logs(problem)
    assert_same(helpers.result_path(problem), columns(whole))
    assert submit(*words) == {}  # the result is complete


def time_limit(tmp):
    """Warned by SLURM itself before its time is up, a shard goes back into the queue and on from there."""
    problem = problem_of(tmp, 3000)
    reference = expected(problem)
    # SLURM looks every 30 s, and warns where the signal would be late at its next look: 10 to 40 s after the start. A shard
    # takes 90 s, and its first fit with what comes before some 6 s.
    jobs = submit(problem, "--shards", 2, "--threads", 1, sbatch=["--time=1", "--signal=B:USR1@20"])
    merged(problem, jobs, reference, 300)
    assert "stopped by a signal" in logs(problem), logs(problem)
    assert "pending" not in logs(problem), logs(problem)  # each requeued itself alone


def cancelled(tmp):
    problem = problem_of(tmp, 1000)
    reference = expected(problem)
    jobs = submit(problem, "--shards", 2)
    slurm.wait_until(lambda: finished(problem) > 2, 60, "first fits")
    cluster().run("scancel", jobs["shards"])
    state = cluster().wait(jobs["merge"])
    assert state == "FAILED", state  # what is missing is said
    assert "missing of 2 shards: 1-2" in logs(problem) or "has a result yet" in logs(problem), logs(problem)
    before = finished(problem)
    assert 2 < before < N_FIT
    merged(problem, submit(problem, "--shards", 2), reference)


def node_failure(tmp):
    problem = problem_of(tmp, 2000)
    reference = expected(problem)
    jobs = submit(problem, "--shards", 3)
    slurm.wait_until(lambda: finished(problem) > 2, 60, "first fits")
    shown = cluster().run("squeue", "--noheader", "--array", f"--job={jobs['shards']}", "--states=RUNNING", "--format=%N")
    node = shown.split()[0]
    cluster().kill_node(node)
    slurm.wait_until(lambda: "down" in cluster().run("sinfo", "--noheader", f"--nodes={node}", "--format=%T"), 60,
                     f"{node} is missed")
    cluster().start_node(node)
    merged(problem, jobs, reference, 300)


def template(tmp):
    """The array for those who write their own, from 0; one that is not whole is refused by each of its tasks."""
    problem = problem_of(tmp, 50)
    reference = expected(problem)
    script = tmp / "array.sh"
    script.write_text((ROOT / "scripts" / "slurm" / "array.sh").read_text()
                      .replace("problem=PROBLEM.h5", f"problem={problem}").replace("stiffit=stiffit", f"stiffit={STIFFIT}")
                      .replace("options=", "options=--trust"))
    job = cluster().submit("--array=3,7", f"--output={tmp}/refused", script, cwd=tmp)
    assert cluster().wait(job) == "FAILED FAILED"
    assert "ExitCode=2:0" in cluster().run("scontrol", "show", "job", job), (tmp / "refused").read_text()
    assert not list(tmp.glob("p.shard-*"))
    job = cluster().submit("--array=0-3", f"--output={tmp}/log", script, cwd=tmp)
    then = cluster().submit(f"--dependency=afterany:{job}", f"--output={tmp}/merged", f"--wrap={STIFFIT} merge {problem}",
                            cwd=tmp)
    assert cluster().wait(then) == "COMPLETED", (tmp / "log").read_text() + (tmp / "merged").read_text()
    assert "array" in (tmp / "log").read_text()  # what it found is said aloud
    assert_same(helpers.result_path(problem), reference)


def test_time_limits_cancelling_and_lost_nodes(tmp):
    cluster()
    scenarios = []
    for scenario in (time_limit, cancelled, node_failure, template):
        folder = tmp / scenario.__name__
        folder.mkdir()
        scenarios.append(lambda scenario=scenario, folder=folder: scenario(folder))
    in_parallel(*scenarios)


if __name__ == "__main__":
    helpers.main()
