"""Runs on several ranks, by mpirun.

SPDX-License-Identifier: BSD-3-Clause
"""
import functools
import os
import shutil
import subprocess

import helpers as h

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
