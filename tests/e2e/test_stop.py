"""Runs that are to stop, or that stand still: signals, the time limit, Ctrl-Z, processes that hang outside the model. What has
finished is kept, and the same command ends with the bits of a run in which nothing happened.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import signal
import subprocess
import time

import faults
import helpers as h
from helpers import stiffit
from test_crash import assert_same_but, hang_after, problem
from test_hostile import finish, wait_for_fits

SLOW = h.environment(ZOO_SLOW_US=100000)  # a call of the model takes 0.1 s, a fit a minute; it never seems to hang
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGXCPU)


def start(path, *args, env=None, **keywords):
    """A run in a process group of its own (in our session, for Ctrl-Z does nothing to a session that has no other), with
    default signals whoever calls us."""
    def prepare():
        os.setpgid(0, 0)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
    return subprocess.Popen([str(h.STIFFIT), "run", str(path), "--trust", "-j2", *map(str, args)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=env or h.environment(), preexec_fn=prepare, **keywords)


def journal_of(path):
    return h.result_path(path).with_name(h.result_path(path).name + ".journal")


def wait_for_resume(process):
    """Past the words before the first fit."""
    assert any("resuming: " in process.stderr.readline() for _ in range(3))


def n_recorded(journal):
    try:
        return len(set(faults.records(journal)))
    except FileNotFoundError:  # the run has ended meanwhile
        return 0


def wait_for_records(process, journal, n):
    deadline = time.monotonic() + 120
    while n_recorded(journal) < n:
        assert time.monotonic() < deadline and process.poll() is None, "too few fits ended"
        time.sleep(0.01)


KILLED_AT_BIRTH = """#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], PROCESS))
        raise(SIGNAL);
}

int prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long argument = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_NAME && !strcmp((const char *)argument, "stiffit-" NAME))
        raise(SIGNAL);
    return (int)syscall(SYS_prctl, option, argument, 0, 0, 0);
}
"""


def killed_at_birth(tmp, process, number):
    """The environment in which a process of a run gets a signal before its first line of code."""
    if h.SANITIZE:
        h.skip("the sanitizer wants to be loaded first")
    library = tmp / f"{process}{number}.so"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-D_GNU_SOURCE", f'-DPROCESS="{process}"',
                    f'-DNAME="{process[2:]}"', f"-DSIGNAL={int(number)}",
                    "-o", library, "-xc", "-"], input=KILLED_AT_BIRTH, text=True, check=True)
    return h.environment(**h.preload(library))


def test_stopped_before_it_can_listen(tmp):
    """As when a job's processes are all told to stop while one of them is only being started."""
    h.decay_problem(tmp / "p.h5", 3)
    for process in ("__compute", "__finish"):
        done = stiffit("run", tmp / "p.h5", "--trust", code=75, env=killed_at_birth(tmp, process, signal.SIGTERM))
        assert "stopped by a signal" in done.stderr and "the same command resumes" in done.stderr, done.stderr
    h.run(tmp / "p.h5")


def test_nobody_blames_the_problem_when_only_the_writing_dies(tmp):
    """Also where all fits were in the journal before the command began."""
    h.decay_problem(tmp / "p.h5", 3)
    env = killed_at_birth(tmp, "__finish", signal.SIGKILL)
    for _ in range(2):
        done = stiffit("run", tmp / "p.h5", "--trust", code=4, env=env)
        assert "Every finished fit is in the journal" in done.stderr, done.stderr
    assert "resuming: 3 of 3" in h.run(tmp / "p.h5")["stderr"]


def test_every_signal_stops_long_fits(tmp):
    """All workers are at fits of minutes; to the supervisor alone (kill, scancel --batch) and to all (Ctrl-C, SLURM's step)."""
    slow = {3: "slow", 10: "slow", 15: "slow"}
    healthy = h.run(problem(tmp / "healthy.h5", 20, {}), "-q")
    path = problem(tmp / "p.h5", 20, slow)
    for number, to_all in [(number, False) for number in SIGNALS] + [(signal.SIGINT, True), (signal.SIGUSR1, True)]:
        process = start(path, env=SLOW)
        if journal_of(path).exists():
            wait_for_resume(process)
        else:
            wait_for_records(process, journal_of(path), 17)
        time.sleep(0.2)
        (os.killpg if to_all else os.kill)(process.pid, number)
        _, text = finish(process, 75, timeout=60)
        assert "stopped by a signal" in text and "the same command resumes" in text, text
        assert set(faults.records(journal_of(path))) == set(range(20)) - set(slow)
    fits = h.run(path)
    assert "resuming: 17 of 20" in fits["stderr"]
    assert_same_but(fits, healthy, {})


def test_time_limit(tmp):
    """Also where every worker is at a fit of minutes."""
    healthy = h.run(problem(tmp / "healthy.h5", 20, {}), "-q")
    path = problem(tmp / "p.h5", 20, {0: "slow", 1: "slow", 2: "slow"})
    assert "--time-limit: 'soon'" in stiffit("run", path, "--time-limit", "soon", code=2).stderr
    done = stiffit("run", path, "--trust", "-j2", "--time-limit", "1", code=75, env=SLOW)
    assert "stopped by --time-limit" in done.stderr and "the same command resumes" in done.stderr
    assert_same_but(h.run(path, "-q", "--time-limit", "1-00:00:00"), healthy, {})


def test_signals_stop_a_hanging_model(tmp):
    """The workers cannot leave: they are ended, and what had finished is kept."""
    healthy = h.run(problem(tmp / "healthy.h5", 100, {}), "-q")
    path = problem(tmp / "p.h5", 100, {5: "sleep"})
    for number in (signal.SIGTERM, signal.SIGINT):
        process = start(path)  # hung after 60 s only
        wait_for_records(process, journal_of(path), 1)
        if number != signal.SIGTERM:
            wait_for_resume(process)
        process.send_signal(number)
        _, text = finish(process, 75, timeout=60)
        assert "the same command resumes" in text
    fits = h.run(path, "-j2", code=1, env=hang_after(1))
    assert "resuming" in fits["stderr"] and fits["status"][5] == "timeout"
    assert_same_but(fits, healthy, {5})


def test_second_interrupt_stops_at_once(tmp):
    """The first one gives workers that hang 0.7 s."""
    path = problem(tmp / "p.h5", 2, {0: "loop", 1: "loop"})
    for _ in range(10):
        process = start(path)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        finish(process, 75, timeout=60)
        if time.monotonic() - asked < 0.7:
            return
    raise AssertionError("never sooner than after the first one")


def test_stopped_for_a_while_is_not_hung(tmp):
    """SIGTSTP and SIGCONT to the whole group, as Ctrl-Z and fg send them; then the computing process alone is stopped."""
    path = problem(tmp / "slow.h5", 20, {3: "slow"})
    process = start(path, env=hang_after(1, ZOO_SLOW_US=5000))
    wait_for_records(process, journal_of(path), 19)
    child = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True).stdout
    for stop, go_on in ((lambda: os.killpg(process.pid, signal.SIGTSTP), lambda: os.killpg(process.pid, signal.SIGCONT)),
                        (lambda: os.kill(int(child), signal.SIGSTOP), lambda: os.kill(int(child), signal.SIGCONT))):
        stop()
        time.sleep(h.SANITIZER_SPEED + 4)
        go_on()
    _, text = finish(process, 0)
    assert "hung" not in text


STUCK = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void stand_still(const char *process)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    const char *only = getenv("STUCK_PROCESS");
    while (!access(getenv("STUCK"), F_OK) && !strcmp(name, process) && (!only || !strcmp(name, only)))
        usleep(100000);
}

int rename(const char *from, const char *to)
{
    stand_still("stiffit-finish");
    return (int)syscall(SYS_rename, from, to);
}

ssize_t pread(int file, void *bytes, size_t n, off_t offset)
{
    stand_still("stiffit-compute");
    return syscall(SYS_pread64, file, bytes, n, offset);
}

ssize_t pread64(int file, void *bytes, size_t n, off_t offset) { return pread(file, bytes, n, offset); }
"""


def stuck(tmp):
    """An environment in which processes stand still outside the model while the file `flag` is there: those that write the
    result and those that read the problem, or the one that STUCK_PROCESS names."""
    if h.SANITIZE:
        h.skip("the sanitizer replaces the same functions")
    subprocess.run([os.environ.get("CC", "cc"), "-D_GNU_SOURCE", "-fPIC", "-shared", "-xc", "-", "-o", tmp / "stuck.so"],
                   input=STUCK, text=True, check=True)
    return hang_after(1, **h.preload(tmp / "stuck.so"), STUCK=tmp / "flag")


def test_processes_that_hang_outside_the_model(tmp):
    """As in a file system that has gone: the process that writes the result, and the one that computes as it opens the file."""
    env = stuck(tmp)
    path = tmp / "p.h5"
    h.decay_problem(path, 20)
    healthy = h.run(path, "-q", "-o", tmp / "whole.h5")
    (tmp / "other").touch()
    shutil.copy(path, tmp / "other.h5")
    opening = start(tmp / "other.h5", env={**env, "STUCK": str(tmp / "other")})
    (tmp / "flag").touch()
    process = start(path, env={**env, "STUCK_PROCESS": "stiffit-finish"})
    _, text = finish(process, 4, timeout=120)
    assert "the process that writes the result waited while writing" in text and "does not answer" in text, text
    _, text = finish(opening, 4, timeout=120)  # not 3: the same command may succeed when the server is back
    assert "the computing process waited while opening the problem file" in text and "does not answer" in text, text
    (tmp / "flag").unlink()
    fits = h.run(path, env=env)
    assert "resuming: 20 of 20" in fits["stderr"]
    assert_same_but(fits, healthy, {})


def test_a_file_server_that_is_slow(tmp):
    """It answers after more than the time that counts as a hang: nothing is wrong."""
    env = stuck(tmp)
    path = tmp / "p.h5"
    h.decay_problem(path, 5)
    (tmp / "flag").touch()
    process = start(path, env=env)
    time.sleep(3)  # and 1 s of computing would count as a hang
    (tmp / "flag").unlink()
    _, text = finish(process, 0, timeout=60)
    assert "hung" not in text and "does not answer" not in text, text


@h.slow
def test_reading_that_hangs_after_the_first_fits(tmp):
    """The workers have nothing to do any more and show it."""
    env = stuck(tmp)
    path = tmp / "p.h5"
    h.decay_problem(path, 500, n_time=2000)  # many blocks
    process = start(path, "--rtol", "1e-10", env=env)
    wait_for_records(process, journal_of(path), 1)
    (tmp / "flag").touch()
    _, text = finish(process, 4, timeout=120)
    assert "the computing process waited while fitting" in text and "does not answer" in text, text
    assert n_recorded(journal_of(path)) < 500
    (tmp / "flag").unlink()
    assert "resuming" in h.run(path, "--rtol", "1e-10")["stderr"]


if __name__ == "__main__":
    h.main()
