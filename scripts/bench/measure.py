"""Time and memory of a command with all its children, exact to the kernel's accounts; for the benches and the memory test.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import subprocess
import sys

# A small interpreter of its own starts the command: a forked copy of a large one (NumPy, SciPy) would count with its
# size. wait4 tells of the command and all its descendants that were waited for; maxrss is the largest process's.
LAUNCHER = """
import json, os, sys, time
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
began = time.monotonic()
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(pid, 0)
took = time.monotonic() - began
os.write(out, json.dumps({"wall": took, "cpu": used.ru_utime + used.ru_stime, "user": used.ru_utime,
                          "max_rss_mib": used.ru_maxrss / 1024, "code": os.waitstatus_to_exitcode(status)}).encode())
"""


def measure(command, report, env=None, timeout=3600, quiet=True):
    """Runs `command`; a dict of wall, cpu, user (s), max_rss_mib and code. `report` names a scratch file."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", LAUNCHER, str(report), *map(str, command)], env=env,
                          timeout=timeout, stdout=subprocess.PIPE, stderr=subprocess.PIPE if quiet else None, text=True,
                          check=False)
    with open(report, encoding="ascii") as file:
        figures = json.load(file)
    figures["stdout"], figures["stderr"] = done.stdout, done.stderr or ""
    return figures
