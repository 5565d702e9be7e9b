"""Killed at any moment, any process of a run: the same command goes on, no finished fit is computed twice, and the result
is that of an undisturbed run.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 3600
"""
import os
import random
import re
import signal
import subprocess
import time

import h5py

import faults
import helpers as h
from test_robertson import robertson_problem
from ways import kill_in_the_middle, n_record

ALLOWED = {"p.h5", "whole.h5", "shim.so", "counts", "p.result.h5", "p.result.h5.journal"}


def problem(path, n):
    h.decay_problem(path, n)
    with h5py.File(path, "r+") as f:
        f["model"].attrs["plugin"] = str(h.zoo("slow"))
    return path


def group(leader):
    """The living processes of a group: those that wait to be buried do not count."""
    alive = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                with open(f"/proc/{entry.name}/stat", encoding="ascii", errors="replace") as file:
                    state, parent, its_group = file.read().rsplit(") ", 1)[1].split()[:3]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(its_group) == leader and state != "Z":
                alive.append((int(entry.name), int(parent)))
    return alive


def kill(process, who):
    """Whether there was one to kill."""
    if who == "group":
        os.killpg(process.pid, signal.SIGKILL)
    elif who == "supervisor":
        process.kill()
    else:
        children = [pid for pid, parent in group(process.pid) if parent == process.pid]
        if not children:
            return False
        try:
            os.kill(children[0], signal.SIGKILL)
        except ProcessLookupError:
            return False
    return True


def wait_until_gone(process):
    deadline = time.monotonic() + 30
    while group(process.pid):
        assert time.monotonic() < deadline, f"orphans: {group(process.pid)}"
        time.sleep(0.002)


def check_journal(journal, before):
    """What was there is there still, and nothing twice."""
    found = faults.records(journal)
    assert len(set(found)) == len(found), f"computed twice: {sorted(i for i in set(found) if found.count(i) > 1)}"
    assert before <= set(found), f"lost: {sorted(before - set(found))}"
    return set(found)


def killed_at_random(tmp, n_fit, n_kill):
    """At moments of the time that an undisturbed run takes, whatever the machine and the build."""
    path = problem(tmp / "p.h5", n_fit)
    began = time.monotonic()
    whole = h.run(path, "-o", tmp / "whole.h5")
    longest = time.monotonic() - began
    result, journal = h.result_path(path), tmp / "p.result.h5.journal"
    rng = random.Random(n_kill)
    killed = {"group": 0, "supervisor": 0, "child": 0}
    complete = late = resumed = 0
    kept = set()
    while sum(killed.values()) < n_kill:
        process = subprocess.Popen([str(h.STIFFIT), "run", "p.h5", "--trust", "-j", str(rng.choice((1, 2, 3))), "--progress",
                                    "never"], cwd=tmp, env=h.environment(), start_new_session=True, text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(rng.uniform(0, longest))
        who = rng.choice(list(killed))
        if process.poll() is None and kill(process, who):
            killed[who] += 1
            if who == "child":  # the run goes on by itself, for a while
                time.sleep(rng.uniform(0, longest))
                if process.poll() is None:
                    kill(process, "group")
        err = process.communicate(timeout=300)[1]
        wait_until_gone(process)
        assert process.returncode in (-9, 0, 1, 3, 4), (process.returncode, err)
        said = re.search(r"resuming: (\d+) of", err)
        if said:
            assert int(said[1]) == len(kept), (err, len(kept))
            resumed += 1
        if process.returncode not in (0, 1) and not result.exists():
            kept = check_journal(journal, kept)
        elif result.exists():  # another from the beginning
            late += process.returncode not in (0, 1)
            h.stiffit("run", path, "--trust", code=(0, 1))
            faults.same_fits(whole, h.read_fits(result))
            result.unlink()
            complete += 1
            kept = set()
        left = {entry.name for entry in tmp.iterdir() if not entry.name.startswith(".p.result.h5.tmp-")}
        assert left <= ALLOWED, left
    h.stiffit("run", path, "--trust", code=0)
    faults.same_fits(whole, h.read_fits(result))
    print(f"killed: {killed}, {complete} times complete before the end, {late} of them killed afterwards, "
          f"{resumed} times resumed")
    assert resumed > n_kill / 4, resumed
    assert not list(tmp.glob("*.journal")) and not list(tmp.glob(".*")), list(tmp.iterdir())


@h.more
def test_killed_at_random(tmp):
    killed_at_random(tmp, 300, 10 if h.SLOW and not h.SANITIZE else 4)


@h.slow
def test_killed_at_random_often(tmp):
    killed_at_random(tmp, 2000, 200)


@h.both
def test_killed_at_every_call(tmp):
    """In the middle of an append to the journal, before and after each rename, fsync, ..., in each of the processes."""
    path = problem(tmp / "p.h5", 6)
    whole = h.run(path, "-o", tmp / "whole.h5")
    result, journal = h.result_path(path), tmp / "p.result.h5.journal"
    command = [str(h.STIFFIT), "run", "p.h5", "--trust", "-j", "1", "--progress", "never"]
    subprocess.run(command, cwd=tmp, env=faults.environment(tmp), check=True, capture_output=True)
    result.unlink()
    calls = {(process, call): n for (process, call), n in faults.counts(tmp).items()
             if call in ("write", "fsync", "rename", "unlink", "mkdir", "posix_spawn")}
    tried = resumed = 0
    faulty = [(process, call, k, how) for (process, call), n in calls.items() for k in range(1, n + 1)
              for how in (("kill", "half", "after") if call == "write" else ("kill", "after"))]
    for fault in h.portion(faulty, 12):
        process = fault[0]
        killed = subprocess.Popen(command, cwd=tmp, env=faults.environment(tmp, fault), text=True,
                                  start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        err = killed.communicate(timeout=100)[1]
        wait_until_gone(killed)
        codes = (-9,) if process == "run" else (0, 1, 3, 4)
        assert killed.returncode in codes, (fault, killed.returncode, err)
        found, complete = check_journal(journal, set()), result.exists()
        done = h.stiffit("run", path, "--trust", "-j", "1", code=0)
        if found and not complete:
            assert f"resuming: {len(found)} of 6" in done.stderr, (fault, done.stderr)
            resumed += 1
        faults.same_fits(whole, h.read_fits(result))
        assert {entry.name for entry in tmp.iterdir()} <= ALLOWED, (fault, list(tmp.iterdir()))
        assert not journal.exists() or process == "__finish", (fault, err)
        result.unlink()
        subprocess.run(["rm", "-rf", str(journal)], check=True)
        tried += 1
    print(f"killed at {tried} calls, {resumed} times resumed")
    assert tried >= 12 and resumed > 0, (tried, resumed)  # most go on by themselves


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
