"""Every call that the program makes of the system fails, once and for ever: a documented exit code, a clear message,
nothing lost that was reported as finished, and the same command without the fault ends as if there had been none.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 7200
"""
import errno
import os
import pathlib
import random
import shutil
import subprocess
import time

import faults
import helpers as h

N = 4
# Calls that happen no more often than this are all failed, of others a sample of that size: of our own in the short form, of
# libraries' in the long one.
RARE, RARE_INSIDE = 15, 150
TIMEOUT = 100


def command(tmp):
    return [str(h.STIFFIT), "run", "p.h5", "--trust", "-j", "1", "--progress", "never"]


def undisturbed(tmp):
    h.decay_problem(tmp / "p.h5", N)
    done = subprocess.run(command(tmp), cwd=tmp, env=faults.environment(tmp), capture_output=True, text=True, check=False,
                          timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    fits = h.read_fits(h.result_path(tmp / "p.h5"))
    h.result_path(tmp / "p.h5").unlink()
    return fits, faults.counts(tmp)


def try_fault(tmp, whole, fault, **changes):
    """One run with the fault and, if need be, one without. Returns whether the fault was met."""
    process, call, k, _ = fault
    result, journal = h.result_path(tmp / "p.h5"), tmp / "p.result.h5.journal"
    began = time.monotonic()
    done = subprocess.run(command(tmp), cwd=tmp, env=faults.environment(tmp, fault, **changes), capture_output=True,
                          text=True, errors="replace", check=False, timeout=TIMEOUT)
    shown = f"{fault} {changes}: exit code {done.returncode} after {time.monotonic() - began:.1f} s\n{done.stderr}"
    assert done.returncode in faults.DOCUMENTED, shown
    met = faults.counts(tmp)[process, call] >= k
    if done.returncode not in (0, 1):
        assert met and len(done.stderr.strip()) > 20, shown
        assert done.returncode == 75 or "error" in done.stderr, shown
        assert not result.exists() or call in ("fsync", "unlink", "opendir", "open", "write", "mmap"), shown
        known, complete = set(faults.records(journal)), result.exists()
        again = h.stiffit("run", "p.h5", "--trust", "-j", "1", cwd=tmp, code=None)
        assert again.returncode == 0, (shown, again.stderr)
        if known and not complete:
            assert f"resuming: {len(known)} of {N} fits" in again.stderr, (shown, again.stderr)
    elif done.returncode == 1:  # fits that failed for want of memory: said, and in the table
        assert any(word in done.stderr for word in ("memory", "crashed")), shown
        h.stiffit("run", "p.h5", "--trust", "-j", "1", "--overwrite", "--restart", cwd=tmp, code=0)
    faults.same_fits(whole, h.read_fits(result), shown)
    result.unlink()
    left = [path.name for path in tmp.iterdir() if path.name not in ("p.h5", "shim.so", "counts")]
    for name in left:  # a fault may keep the program from tidying up; the next run or the user can
        path = tmp / name
        assert name.startswith((".p.result.h5.tmp-", "p.result.h5.journal")), (shown, left)
        (shutil.rmtree if path.is_dir() else pathlib.Path.unlink)(path)
    return met


def places(n, most, rng):
    return range(1, n + 1) if n <= most else sorted(rng.sample(range(1, n + 1), most))


def every_call(tmp, calls, changes=None, most=None):
    changes = changes or {}
    most = most or (1 << 30 if h.SLOW else 3 if h.QUICK else RARE)
    rng = random.Random(5)
    whole, n_call = undisturbed(tmp)
    if changes:
        subprocess.run(command(tmp), cwd=tmp, env=faults.environment(tmp, **changes), capture_output=True, check=True)
        h.result_path(tmp / "p.h5").unlink()
        n_call = faults.counts(tmp)
    tried = met = 0
    wrong = []
    for (process, call), n in n_call.items():
        if call not in calls:
            continue
        for k in places(n, most, rng):
            for how in ("once", "ever"):
                tried += 1
                try:
                    met += try_fault(tmp, whole, (process, call, k, how), **changes)
                except (AssertionError, OSError, subprocess.TimeoutExpired) as fault:
                    wrong.append(f"{fault}")
                    for path in (tmp / "p.result.h5", tmp / "p.result.h5.journal"):
                        subprocess.run(["rm", "-rf", path], check=True)
    print(f"{tried} faults, {met} met")
    assert not wrong, f"{len(wrong)} of {tried}:\n" + "\n\n".join(wrong[:int(os.environ.get("SHOW", "6"))])
    assert met > tried * 0.9, (tried, met)


@h.both
def test_files(tmp):
    every_call(tmp, ("pwrite", "read", "pread", "fsync", "rename", "open", "fopen", "opendir", "mkdir", "unlink", "ftruncate",
                     "write"))


@h.more
def test_processes_and_threads(tmp):
    every_call(tmp, ("mmap", "pthread_create", "posix_spawn", "fork", "dlopen", "memfd_create"))


@h.both
def test_memory(tmp):
    every_call(tmp, ("malloc", "calloc", "realloc", "strdup"))


def test_what_network_file_systems_say(tmp):
    """Quotas, servers that went away, file systems that became read-only: told as what they are, and nothing is lost."""
    whole, _ = undisturbed(tmp)
    for process, call, k, number, words in (("__compute", "write", 3, errno.EDQUOT, ("quota", "make room")),
                                            ("__compute", "write", 3, errno.ESTALE, ("Stale", "safe")),
                                            ("__compute", "fsync", 3, errno.EROFS, ("Read-only",)),
                                            ("__compute", "mkdir", 1, errno.EROFS, ("Read-only",)),
                                            ("__finish", "rename", 1, errno.EXDEV, ("p.result.h5",)),
                                            ("__finish", "fsync", 1, errno.EIO, ("p.result.h5",))):
        env = faults.environment(tmp, (process, call, k, "ever"))
        env["SHIM_FAULT"] = f"{process} {call} {k} ever {number}"
        done = subprocess.run(command(tmp), cwd=tmp, env=env, capture_output=True, text=True, check=False, timeout=TIMEOUT)
        shown = f"{process} {call} {k} {os.strerror(number)}: exit code {done.returncode}\n{done.stderr}"
        assert done.returncode == 4 and all(word in done.stderr for word in words), shown
        assert os.strerror(number) in done.stderr, shown
        n_known = len(faults.records(tmp / "p.result.h5.journal"))
        assert n_known == N if process == "__finish" else n_known < N, shown
        again = h.stiffit("run", "p.h5", "--trust", "-j", "1", cwd=tmp)
        assert not n_known or f"resuming: {n_known} of {N} fits" in again.stderr, (shown, again.stderr)
        result = h.result_path(tmp / "p.h5")
        faults.same_fits(whole, h.read_fits(result), shown)
        result.unlink()


@h.slow
def test_inside_libraries(tmp):
    """There the child may die of it."""
    every_call(tmp, ("write", "pwrite", "read", "pread", "open", "fopen", "mmap", "flock"), {"SHIM_ANY": 1}, RARE_INSIDE)


@h.slow
def test_memory_inside_libraries(tmp):
    every_call(tmp, ("malloc", "calloc", "realloc"), {"SHIM_ANY": 1}, RARE_INSIDE)


if __name__ == "__main__":
    h.main()
