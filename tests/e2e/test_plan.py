"""The plan of a run, with which each file of its journal begins, from the process that computes to the one that writes:
damaged, lost, or followed by that of another command. And journals that version 0.1.0 has left.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import signal
import struct
import subprocess
import time
import zlib

import h5py

import faults
import helpers as h
from helpers import stiffit
from test_crash import assert_same_but, problem
from test_stop import journal_of, killed_at_birth


def computed(tmp, n=20):
    """A problem all of whose fits are in the journal, and no result."""
    path = tmp / "p.h5"
    h.decay_problem(path, n)
    stiffit("run", path, "--trust", code=4, env=killed_at_birth(tmp, "__finish", signal.SIGKILL))
    return path


def test_damaged_or_lost_plans(tmp):
    """What is written is the plan of the fits, or nothing; the same command makes it anew."""
    path = computed(tmp)
    healthy = h.run(path, "-q", "-o", tmp / "whole.h5")
    log = next(journal_of(path).glob("*.log"))
    good = log.read_bytes()
    frames = faults.frames(good)
    damaged = good[:1300] + bytes([good[1300] ^ 0xff]) + good[1301:]
    for bad in (good[:100], good[:1500], damaged, b"STFJ" + b"\4\0\0\1" + good[8:]):
        log.write_bytes(bad)
        done = stiffit("__finish", journal_of(path), code=92)
        assert "checking again which fits remain" in done.stderr, done.stderr
        assert not h.result_path(path).exists() and journal_of(path).exists()
    payload = frames[0][2]
    log.write_bytes(faults.framed([(*frames[0][:2], payload[:1290] + b"other" + payload[1295:]), *frames[1:]]))
    done = stiffit("__finish", journal_of(path), code=4)
    assert "the plan in it was written by another version of stiffit: the same command makes it anew" in done.stderr
    fits = h.run(path)  # the records are good, whatever plan they are behind
    assert "resuming: 20 of 20" in fits["stderr"] and not journal_of(path).exists()
    assert_same_but(fits, healthy, {})


def test_without_a_plan(tmp):
    """Removed by another process: then all is looked at again; what a user has put there does not matter."""
    path = computed(tmp)
    next(journal_of(path).glob("*.log")).unlink()
    done = stiffit("__finish", journal_of(path), code=92)
    assert "checking again which fits remain" in done.stderr, done.stderr
    fits = h.run(path)
    assert "resuming" not in fits["stderr"] and len(fits["id"]) == 20


def test_the_plan_is_that_of_the_last_command(tmp):
    """What does not change the fits may change between a kill and its resumption."""
    path = computed(tmp)
    done = stiffit("run", path, "--trust", "--json", "-q")
    assert json.loads(done.stdout)["fits"] == 20 and not done.stderr


def test_a_name_that_begins_with_a_dash(tmp):
    h.decay_problem(tmp / "-x.h5", 3)
    stiffit("run", "--trust", "--", "-x.h5", cwd=tmp)
    with h5py.File(tmp / "-x.result.h5") as f:
        assert len(f["fits/id"]) == 3


def test_two_at_once_each_report_as_they_were_asked_to(tmp):
    path = problem(tmp / "p.h5", 8, {i: "slow" for i in range(8)})
    env = h.environment(ZOO_SLOW_US=1000)
    running = []
    for more in (["--json", "-q"], []):
        running.append(subprocess.Popen([str(h.STIFFIT), "run", str(path), "--trust", "-j1", *more], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=env))
        while not list(journal_of(path).glob("*.log")) and running[0].poll() is None:
            time.sleep(0.01)
    (out, told), (other_out, other_told) = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0, 0], (told, other_told)
    assert json.loads(out)["fits"] == 8 and not told, (out, told)
    assert not other_out and "8 converged" in other_told, other_told


# Of 0.1.0: the CRC of its list of columns.
COLUMNS = 0x4d2340b0


def old_journal(path):
    """As 0.1.0 began one: its header, and a record."""
    payload = struct.pack("<96xQQIII1020sI128x", 1, 3, 1, 2, COLUMNS, b"atol=1e-10", 0)
    start = b"STFJ" + struct.pack("<II", 3, len(payload))
    record = struct.pack("<Q", 0) + bytes(range(256))
    path.write_bytes(start + struct.pack("<I", zlib.crc32(start + payload)) + payload +
                     struct.pack("<II", len(record), zlib.crc32(record)) + record)


def test_journals_of_the_first_version(tmp):
    """Refused by name and kept, also beside new ones."""
    path = tmp / "p.h5"
    h.decay_problem(path, 3)
    folder = journal_of(path)
    folder.mkdir()
    (folder / "header.h5").write_bytes(b"old")
    log = folder / "host-14376-730425-c2c773f827589c35.log"
    old_journal(log)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    for _ in range(2):
        done = stiffit("run", path, "--trust", code=4)
        assert f"{log.name}' was written by another version of stiffit: finish that run with it" in done.stderr, done.stderr
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    stiffit("run", path, "--trust", "--restart")
    assert not folder.exists() and h.result_path(path).exists()


if __name__ == "__main__":
    h.main()
