"""A hostile world around a run: closed streams, full disks, twins, kills at any moment, names that are orders.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 900
"""
import os
import resource
import signal
import subprocess
import time

import h5py
import numpy as np

import faults
import helpers as h
import stand_ins


def start(problem, *args, preexec=None, env=None, **keywords):
    """A run in a process group of its own, with default signals whoever calls us."""
    def prepare():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        if preexec:
            preexec()
    keywords = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **keywords}
    return subprocess.Popen([str(h.STIFFIT), "run", str(problem), "--trust", "--progress", "never", *map(str, args)],
                            env=env or h.environment(), text=True, start_new_session=True, preexec_fn=prepare, **keywords)


def finish(process, code, timeout=300):
    out, err = process.communicate(timeout=timeout)
    assert process.returncode in (code if isinstance(code, tuple) else (code,)), (process.returncode, err)
    assert not any(word in (err or "") for word in h.REPORTS), err
    return out, err


def zoo_problem(path, name, n, **keywords):
    h.decay_problem(path, n, **keywords)
    with h5py.File(path, "r+") as f:
        f["model"].attrs["plugin"] = str(h.zoo(name))
    return path


def wait_for_fits(process, journal):
    deadline = time.monotonic() + 120
    while not faults.records(journal):
        assert time.monotonic() < deadline and process.poll() is None, "no fit ended"
        time.sleep(0.01)


def children(process):
    out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False)
    return [int(pid) for pid in out.stdout.split()]


def gone(pid):
    """Ended, or a zombie that nobody has waited for."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(") ", 1)[1][0] == "Z"
    except FileNotFoundError:
        return True


def test_closed_streams(tmp):
    h.decay_problem(tmp / "p.h5", 5)
    for closed in ((1,), (2,), (0, 1, 2)):
        command = f"exec '{h.STIFFIT}' run p.h5 --trust --overwrite " + " ".join(f"{i}>&-" for i in closed)
        done = subprocess.run(["sh", "-c", command], cwd=tmp, env=h.environment(), capture_output=True, check=False)
        assert done.returncode == 0, (closed, done)
        assert len(h.read_fits(h.result_path(tmp / "p.h5"))["id"]) == 5
    command = f"exec '{h.STIFFIT}' run p.h5 --trust --overwrite --json >&-"
    done = subprocess.run(["sh", "-c", command], cwd=tmp, env=h.environment(), capture_output=True, check=False)
    assert done.returncode == 4 and b"standard output" in done.stderr, done


def test_output_that_must_not_be_replaced(tmp):
    h.decay_problem(tmp / "p.h5", 5)
    h.decay_problem(tmp / "other.h5", 5)
    (tmp / "link.h5").symlink_to("p.h5")
    (tmp / "folder").mkdir()
    before = (tmp / "p.h5").read_bytes(), (tmp / "other.h5").read_bytes()
    for output, code, word in (("p.h5", 2, "--in-place"), ("link.h5", 2, "--in-place"), ("other.h5", 4, "problem"),
                               ("folder", 4, "directory"), ("", 2, "empty")):
        done = h.stiffit("run", "p.h5", "--trust", "--overwrite", "-o", output, code=code, cwd=tmp)
        assert word in done.stderr, (output, done.stderr)
    assert before == ((tmp / "p.h5").read_bytes(), (tmp / "other.h5").read_bytes())
    assert not list(tmp.glob("*.journal")), "nothing was computed"


def test_files_that_may_not_grow(tmp):
    """As on a full disk: an error that says so, then the same command goes on where it was."""
    if h.SANITIZE:
        h.skip("the limit would count the sanitizer's own files")
    h.decay_problem(tmp / "p.h5", 300)
    whole = h.run(tmp / "p.h5", "-o", tmp / "whole.h5")
    for kib in (22, 30, 60):  # in the journal, early and late, and in the result
        limit = kib * 1024
        process = start(tmp / "p.h5", preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        _, err = finish(process, (0, 4))
        assert process.returncode == 0 or "File too large" in err, err
    faults.same_fits(whole, h.run(tmp / "p.h5"))
    assert sorted(p.name for p in tmp.iterdir()) == ["p.h5", "p.result.h5", "whole.h5"], list(tmp.iterdir())


def test_every_command_on_a_full_disk(tmp):
    """The reason is said, the exit code is that of files, and no torn file stays under the name that was asked for."""
    h.decay_problem(tmp / "p.h5", 5)
    (tmp / "t.csv").write_text("dataset,time,observable,value\na,0.5,y,1.25\na,1.5,y,0.75\na,2.5,y,0.5\n")
    h.run(tmp / "p.h5")
    for k in (1, 2):
        h.stiffit("run", "p.h5", "--trust", "--shard", f"{k}/2", cwd=tmp)
    disk = tmp / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", disk], capture_output=True, check=False).returncode:
        h.skip("no tmpfs can be mounted here")
    try:
        (disk / "fill").write_bytes(bytes(4096))
        for command in (("import", "t.csv", "--model", h.model("decay"), "-o", "disk/i.h5"),
                        ("export", "p.result.h5", "-o", "disk/e.csv"), ("export", "p.result.h5", "--json", "-o", "disk/e.json"),
                        ("simulate", "p.result.h5", "--trust", "--times", "0:3:1", "-o", "disk/s.csv"),
                        ("simulate", "p.result.h5", "--trust", "--bootstrap", "3", "--id", "d1", "-o", "disk/s.h5"),
                        ("merge", "p.h5", "-o", "disk/m.h5"), ("run", "p.h5", "--trust", "-o", "disk/r.h5"),
                        ("run", "p.h5", "--trust", "--only", "d1", "--trace", "disk/t.csv"),
                        ("model", "build", h.ROOT / "models/decay/decay.ode", "-o", "disk/d.so"),
                        ("model", "new", "disk/n.ode")):
            done = h.stiffit(*command, code=4, cwd=tmp)
            assert any(word in done.stderr for word in ("No space left", "disk full")), (command, done.stderr)
            left = {path.name for path in disk.iterdir()} - {"fill", "t.csv", "r.h5.journal"}
            assert not left, (command, left)
    finally:
        subprocess.run(["umount", disk], check=True)


@h.both
def test_hdf5_that_goes_wrong(tmp):
    """As it does on some damaged files: a message, no result, and an end."""
    h.decay_problem(tmp / "p.h5", 5)
    for how, *command in h.portion((("loops", "show", "p.h5"), ("dies", "show", "p.h5"), ("ends", "show", "p.h5"),
                                    ("dies", "run", "p.h5", "--trust"), ("loops", "run", "p.h5", "--trust")), 2):
        env = stand_ins.hdf5(tmp, how, "/p.h5", STIFFIT_HANG_SECONDS=1)
        done = h.stiffit(*command, cwd=tmp, env=env, code=3, timeout=60)
        words = {"loops": ("hung", "damaged"), "dies": ("signal 11", "p.h5"), "ends": ("ended the process",)}[how]
        assert all(word in done.stderr for word in words), (how, command, done.stderr)
    assert sorted(path.name for path in tmp.iterdir()) == ["hdf5.so", "p.h5"]


@h.both
def test_models_that_loop_in_commands(tmp):
    """A function of the model that never returns ends a command with a reason; many that return do not, however long they take
    in all."""
    env = h.environment(STIFFIT_HANG_SECONDS=h.SANITIZER_SPEED)
    times = ("-t", "1:8:1", "-o", tmp / "s.h5")
    problem = zoo_problem(tmp / "p.h5", "loops_some_parameters", 3)
    result = h.result_path(problem)
    h.stiffit("run", problem, "--trust", "-q", "--only", "d0", "-o", result)
    with h5py.File(result, "r+") as f:
        f["fits/parameters"][0, 1] = 3  # where it loops
    for words in h.portion((("model", "check", h.zoo("loops_forever")),
                            ("simulate", "-m", h.zoo("loops_some_parameters"), "--set", "A=3", *times),
                            ("export", result, "--what", "predictions", "--trust"),
                            ("report", result, "--trust", "-o", tmp / "r.html")), 1):
        done = h.stiffit(*words, env=env, code=3, timeout=60)
        assert "the model's code hung (one of its functions computed for" in done.stderr, (words, done.stderr)
    assert not list(tmp.glob("s.h5")) and not list(tmp.glob("*.html")) and not list(tmp.glob(".*"))
    if h.QUICK:
        return
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    h.stiffit("simulate", "-m", h.zoo("slow"), *times, "--datasets", 500, "--rtol", "1e-12", env=env)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before > 1 or h.SANITIZE


def test_leftovers_of_a_killed_finisher(tmp):
    h.decay_problem(tmp / "p.h5", 5)
    dead = subprocess.Popen(["true"])
    dead.wait()
    for name in (f".p.result.h5.tmp-{dead.pid}-0", f".p.result.h5.tmp-{os.getpid()}-0", ".p.result.h5.tmp-mine"):
        (tmp / name).write_text("x")
    h.run(tmp / "p.h5")
    left = sorted(p.name for p in tmp.glob(".*"))
    assert left == sorted([f".p.result.h5.tmp-{os.getpid()}-0", ".p.result.h5.tmp-mine"]), left


def test_twins(tmp):
    """The same command three times at once: each ends well, with the same result."""
    h.decay_problem(tmp / "p.h5", 1000)
    alone = h.run(tmp / "p.h5", "-o", tmp / "alone.h5")
    twins = []
    for _ in range(3):
        twins.append(start(tmp / "p.h5", "-j", 1))
        time.sleep(0.1)
    for twin in twins:
        finish(twin, 0)
    faults.same_fits(alone, h.read_fits(h.result_path(tmp / "p.h5")))
    assert not list(tmp.glob("*.journal"))


@h.more
def test_journal_taken_away(tmp):
    problem = zoo_problem(tmp / "p.h5", "slow", 150)
    whole = h.run(problem, "-o", tmp / "whole.h5")
    process = start(problem, "-j", 1)
    journal = tmp / "p.result.h5.journal"
    wait_for_fits(process, journal)
    for file in journal.iterdir():
        file.unlink()
    journal.rmdir()
    _, err = finish(process, 0)
    assert "journal" in err, err
    faults.same_fits(whole, h.read_fits(h.result_path(problem)))


@h.slow
def test_kills_lose_nothing(tmp):
    """Whoever is killed, by what: no process stays, and the same command goes on. (In make check test_kills and
    test_signals have it.)"""
    problem = zoo_problem(tmp / "p.h5", "slow", 800)
    whole = h.run(problem, "-o", tmp / "whole.h5")
    journal = tmp / "p.result.h5.journal"
    kept = set()
    for how, code in (("group", -9), ("supervisor", -9), ("child", (3, 4)), ("term", 75), ("group int", 75), ("hup", 75)):
        process = start(problem, "-j", 2)
        wait_for_fits(process, journal)
        time.sleep(0.1)
        child = children(process)
        if not child:  # it is between computing and writing: done before the signal could come
            finish(process, 0)
            break
        {"group": lambda: os.killpg(process.pid, signal.SIGKILL), "supervisor": process.kill,
         "child": lambda: os.kill(child[0], signal.SIGKILL), "term": process.terminate,
         "group int": lambda: os.killpg(process.pid, signal.SIGINT),
         "hup": lambda: process.send_signal(signal.SIGHUP)}[how]()
        finish(process, (*(code if isinstance(code, tuple) else (code,)), 0))
        deadline = time.monotonic() + 20
        while not gone(child[0]):
            assert time.monotonic() < deadline, f"{how}: an orphan goes on"
            time.sleep(0.01)
        if process.returncode == 0:  # it was done before the signal came
            break
        found = set(faults.records(journal))
        assert found >= kept, (how, kept - found)
        kept = found
    h.stiffit("run", problem, "--trust", "-j", 3)
    faults.same_fits(whole, h.read_fits(h.result_path(problem)))
    assert not list(tmp.glob("*.journal")) and not list(tmp.glob(".*"))


@h.more
def test_hung_fit_does_not_outlive_a_stop(tmp):
    problem = zoo_problem(tmp / "p.h5", "loops_some_parameters", 100)
    process = start(problem, "-j", 2)
    while not list(tmp.glob("p.result.h5.journal/*.log")):
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(1)  # both workers hang by now, or will
    process.terminate()
    time.sleep(1.5)  # asked again, a second later or more: at once
    process.terminate()
    _, err = finish(process, 75, timeout=30)
    assert "resumes" in err, err


def test_nohup(tmp):
    """SIGHUP that was ignored when the run began stays ignored."""
    problem = zoo_problem(tmp / "p.h5", "slow", 100)
    process = start(problem, "-j", 1, preexec=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for_fits(process, tmp / "p.result.h5.journal")
    os.killpg(process.pid, signal.SIGHUP)
    finish(process, 0)
    assert len(h.read_fits(h.result_path(problem))["id"]) == 100


TAKES_SIGNALS = """#include <signal.h>
#include <unistd.h>
static void on_signal(int number)
{
    (void)number;
    (void)!write(2, "==== backtrace ====\\n", 20);
    _exit(9);
}
__attribute__((constructor)) static void take(void)
{
    for (int i = 1; i < 32; i++)
        signal(i, on_signal);
}
"""


def test_libraries_do_not_take_signals(tmp):
    """As UCX does before main. The library is loaded into all processes of a run: none of them has a handler that it has not
    installed itself, SIGHUP stays ignored, and a model's crash is told as without the library."""
    if h.SANITIZE:
        h.skip("the sanitizer wants to be loaded first")
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", tmp / "takes.so", "-xc", "-"],
                   input=TAKES_SIGNALS, text=True, check=True)
    env = h.environment(LD_PRELOAD=tmp / "takes.so")
    problem = zoo_problem(tmp / "p.h5", "slow", 20)
    process = start(problem, "-j", 1, env=env, preexec=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for_fits(process, tmp / "p.result.h5.journal")
    fatal = [signal.SIGHUP, signal.SIGQUIT, signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV]
    for pid in (process.pid, *children(process)):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            masks = {key: int(value, 16) for key, value in (line.split(":") for line in file if line.startswith("Sig"))
                     if key != "SigQ"}
        assert not [n for n in fatal if masks["SigCgt"] >> (n - 1) & 1], hex(masks["SigCgt"])
        assert masks["SigIgn"] >> (signal.SIGHUP - 1) & 1, hex(masks["SigIgn"])
    os.killpg(process.pid, signal.SIGHUP)
    finish(process, 0)
    assert len(h.read_fits(h.result_path(problem))["id"]) == 20
    faulty = np.array([0, 1, 0.0])  # 1: segfault (test_crash.py)
    _, err = finish(start(zoo_problem(tmp / "q.h5", "by_covariate", 3, covariates={"fault": faulty}), env=env), 1)
    assert "backtrace" not in err, err
    assert "signal 11" in str(h.read_fits(tmp / "q.result.h5")["message"][1]), err


def test_inherited_signals(tmp):
    h.decay_problem(tmp / "p.h5", 5)
    for i, change in enumerate((lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
                                lambda: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)))):
        finish(start(tmp / "p.h5", "-o", tmp / f"{i}.h5", preexec=change), 0)


def test_ids_are_no_orders_to_the_terminal(tmp):
    h.decay_problem(tmp / "p.h5", 3)
    with h5py.File(tmp / "p.h5", "r+") as f:
        del f["datasets/id"]
        f["datasets"].create_dataset("id", data=["\x1b[31mred", "a\rb", "plain"], dtype=h5py.string_dtype())
        f["measurements/time"][0] = np.nan
        f["measurements/time"][8] = np.nan
    fits = h.run(tmp / "p.h5", code=1)
    assert "\x1b" not in fits["stderr"] and "red" in fits["stderr"], fits["stderr"]
    assert list(fits["id"]) == ["\x1b[31mred", "a\rb", "plain"], "the file keeps them as they are"


if __name__ == "__main__":
    h.main()
