"""Running the program with faults: the library for LD_PRELOAD of tests/fault/shim.c, and a reader of journals of its own.

SPDX-License-Identifier: BSD-3-Clause
"""
import errno
import os
import re
import signal
import struct
import subprocess
import zlib

import numpy as np

import helpers as h

CALLS = re.findall(r"X\((\w+)\) ?", re.search(r"#define CALLS\(X\)(.*?)\n\n", (h.ROOT / "tests/fault/shim.c").read_text(),
                                              re.S).group(1))
PROCESSES = ("run", "__compute", "__finish")
ERRNO = {"open": errno.EACCES, "fopen": errno.EMFILE, "opendir": errno.EMFILE, "rename": errno.EACCES, "mkdir": errno.EDQUOT,
         "unlink": errno.EACCES, "write": errno.ENOSPC, "pwrite": errno.ENOSPC, "ftruncate": errno.EIO, "read": errno.EIO,
         "pread": errno.EIO, "fsync": errno.EIO, "pthread_create": errno.EAGAIN, "posix_spawn": errno.EAGAIN,
         "fork": errno.EAGAIN, "flock": errno.ENOLCK}
DOCUMENTED = (0, 1, 3, 4, 75)  # 2 is for the command line, 5 for bugs


def shim(tmp):
    path = tmp / "shim.so"
    if not path.exists():
        if h.SANITIZE:
            h.skip("the sanitizer replaces the same functions")
        made = subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-fPIC", "-shared", "-o", path,
                               h.ROOT / "tests/fault/shim.c", "-ldl"], check=False, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
    return path


def environment(tmp, fault=None, **changes):
    """`fault`: (process, call, k, how), how as in shim.c. The counts begin at 0."""
    (tmp / "counts").write_bytes(bytes(8 * len(CALLS) * len(PROCESSES)))
    env = h.environment(LD_PRELOAD=shim(tmp), SHIM_COUNTS=tmp / "counts", **changes)
    if fault:
        process, call, k, how = fault
        env["SHIM_FAULT"] = f"{process} {call} {k} {how} {ERRNO.get(call, errno.ENOMEM)}"
    return env


def counts(tmp):
    """{(process, call): number} of what has been called since environment()."""
    numbers = np.fromfile(tmp / "counts", np.uint64).reshape(len(PROCESSES), len(CALLS))
    return {(process, call): int(numbers[i, j]) for i, process in enumerate(PROCESSES) for j, call in enumerate(CALLS)}


def records(journal):
    """The dataset of every whole record of a journal, in the order of each file; damage is passed over."""
    found = []
    for path in sorted(journal.glob("*.log")) if journal.is_dir() else []:
        data = path.read_bytes()
        if len(data) < 16:
            continue
        at = 16 + struct.unpack_from("<I", data, 8)[0]
        while at + 20 <= len(data):
            length, crc = struct.unpack_from("<II", data, at)
            payload = data[at + 8:at + 8 + length]
            if 8 <= length == len(payload) and zlib.crc32(payload) == crc:
                found.append(struct.unpack_from("<Q", payload)[0])
                at += 8 + length
            else:
                at += 1
    return found


def kill_all(process):
    """A test's own group of processes, whatever is left of it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def same_fits(left, right, shown=""):
    """The same bits, times aside."""
    left, right = ({k: v for k, v in fits.items() if k not in ("seconds", "stderr", "names")} for fits in (left, right))
    assert left.keys() == right.keys(), shown
    differ = [column for column in left
              if np.asarray(left[column]).tobytes() != np.asarray(right[column]).tobytes()
              and not (left[column].dtype == object and list(left[column]) == list(right[column]))]
    assert not differ, f"{shown}\nnot the same: {differ}; {left[differ[0]][:3]}, {right[differ[0]][:3]}"
