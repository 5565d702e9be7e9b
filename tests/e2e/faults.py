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
    env = h.environment(**h.preload(shim(tmp)), SHIM_COUNTS=tmp / "counts", **changes)
    if fault:
        process, call, k, how = fault
        env["SHIM_FAULT"] = f"{process} {call} {k} {how} {ERRNO.get(call, errno.ENOMEM)}"
    return env


def counts(tmp):
    """{(process, call): number} of what has been called since environment()."""
    numbers = np.fromfile(tmp / "counts", np.uint64).reshape(len(PROCESSES), len(CALLS))
    return {(process, call): int(numbers[i, j]) for i, process in enumerate(PROCESSES) for j, call in enumerate(CALLS)}


def frames(data):
    """(type, number, payload) of every whole frame of a file (src/io/journal/frame.h); damage is passed over."""
    found, at, seed = [], 0, 0
    while at + 16 <= len(data):
        magic, kind, number, length, crc = struct.unpack_from("<3scIII", data, at)
        payload = data[at + 16:at + 16 + length]
        if magic == b"STF" and length == len(payload) and zlib.crc32(payload, zlib.crc32(data[at:at + 12], seed)) == crc:
            found.append((kind, number, payload))
            at += 16 + length
            seed = seed or crc
        elif seed:
            at += 1
        else:  # the first one is damaged: nothing counts
            return []
    return found


def framed(found):
    """The inverse."""
    out, seed = b"", 0
    for kind, number, payload in found:
        head = struct.pack("<3scII", b"STF", kind, number, len(payload))
        crc = zlib.crc32(payload, zlib.crc32(head, seed))
        out += head + struct.pack("<I", crc) + payload
        seed = seed or crc
    return out


def journal_frames(journal):
    found = []
    for path in sorted(journal.glob("*.log")):
        try:
            found += frames(path.read_bytes())
        except FileNotFoundError:  # removed meanwhile
            pass
    return found


def has_state(journal):
    """Whether the state of a search is in it."""
    return any(journal.glob("states/*.state"))


def records(journal):
    """The dataset of every whole record of a journal, in the order of each file; damage is passed over."""
    return [struct.unpack_from("<Q", payload)[0] for kind, _, payload in journal_frames(journal) if kind == b"R"]


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
