"""Ways to run one command, in all of which its fits have the same bits: any number of workers, shards and ranks, in any order,
beside any others in an engine, after kills. test_ways.py has the problems that they are tried on.

SPDX-License-Identifier: BSD-3-Clause
"""
import functools
import os
import pathlib
import re
import signal
import subprocess
import time

import h5py
import numpy as np

import faults
import helpers as h
import mixed
from device import environment as device_environment, need_device
from launch import ranks


def column_bytes(column):
    data = column[()]
    if h5py.check_string_dtype(column.dtype):
        return str(column.dtype), np.shape(data), b"\0".join(np.ravel(data).tolist())
    return str(column.dtype), np.shape(data), data.tobytes()


def fits_bytes(path):
    """Every column of /fits as bytes, times aside."""
    with h5py.File(path, "r") as f:
        return {name: column_bytes(column) for name, column in f["fits"].items() if name != "seconds"}


def everything(path):
    """All tables and facts of a result as bytes, but times and what says how it was made."""
    with h5py.File(path, "r") as f:
        found = {}

        def keep(name, item):
            if name.split("/")[0] in ("provenance", "parameters") or "seconds" in name:
                return
            if isinstance(item, h5py.Dataset):
                found[name] = column_bytes(item)
            for fact, value in item.attrs.items():
                found[f"{name}@{fact}"] = np.asarray(value).tobytes() if not isinstance(value, (str, bytes)) else value
        f.visititems(keep)
        return found


def assert_same(a, b, what):
    assert a.keys() == b.keys(), (what, a.keys() ^ b.keys())
    differ = [name for name in a if a[name] != b[name]]
    assert not differ, f"{what}: {differ} differ"


def n_record(result):
    """Fits in the journal, whose folder may be gone any moment."""
    try:
        return len(faults.records(pathlib.Path(f"{result}.journal")))
    except FileNotFoundError:
        return 0


def kill_in_the_middle(problem, output, enough, extra=()):
    """Starts a run in a process group of its own and kills all of it once the journal has `enough` fits."""
    command = [str(h.STIFFIT), "run", str(problem), "--trust", "-j", "2", "-o", str(output), *extra]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=h.environment(),
                          start_new_session=True) as process:
        deadline = time.monotonic() + 120 * h.SANITIZER_SPEED
        while n_record(output) < enough and process.poll() is None:
            assert time.monotonic() < deadline, "nothing arrives in the journal"
            time.sleep(0.002)
        ended = process.poll() is not None
        if not ended:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return not ended


WAYS = {}  # name -> (function of a case that raises if bits differ, whether it can be tried on a case)


def way(name, applies=lambda case: True):
    def register(function):
        WAYS[name] = function, applies
        return function
    return register


class Case:
    """A problem and the words of a run, in a folder. kind: "own" where datasets are fits of their own, "sum" where they share
    parameters, "mixed" where some are random; alike: the order of the datasets does not matter; engine: None is the default;
    has_device: a device evaluates it, if there is one."""

    def __init__(self, path, *words, kind="own", alike=False, engine=None, has_device=True):
        if engine and h.ENGINE:
            h.skip("an engine of its own")
        self.path, self.words, self.kind, self.alike, self.engine = path, words, kind, alike, engine
        self.has_device = has_device
        self.folder = path.parent

    def run(self, output, *more, problem=None, program=None, engine=None, env=None, start=False):
        """Returns the finished process, or that which has begun."""
        words = [problem or self.path, "--trust", *self.words, *self.engine_words(engine), "-o", output, *more]
        command = [str(word) for word in (program or h.STIFFIT, "run", *words)]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "env": env or h.environment()}
        if start:
            return subprocess.Popen(command, start_new_session=True, **pipes)
        done = subprocess.run(command, timeout=600, check=False, **pipes)
        h.assert_no_report(done, " ".join(command))
        if done.returncode == 2 and h.ASKED:
            h.skip(f"refused: {done.stderr.strip().splitlines()[-1]}")
        assert done.returncode in (0, 1), (done.returncode, command, done.stderr[-3000:])
        return done

    def engine_words(self, engine=None):
        return [f"--engine={engine or self.engine}"] if self.engine and h.ONE_LANE else h.ASKED

    @functools.cached_property
    def whole_result(self):
        """Of an undisturbed run by one worker."""
        output = self.folder / "whole.h5"
        self.run(output, "-j", 1)
        return output

    @functools.cached_property
    def whole(self):
        return everything(self.whole_result)

    def check(self, output, what):
        assert_same(self.whole, everything(output), what)
        output.unlink()


def workers(n):
    def run(case):
        case.run(case.folder / "workers.h5", "-j", n)
        case.check(case.folder / "workers.h5", f"1 and {n} workers")
    return run


for number in (7, 2, 64):
    way(f"{number} workers")(workers(number))


@way("one evaluation beside three others", lambda case: case.engine == "cvodes" and case.kind == "own" and h.ONE_LANE)
def beside(case):
    """By an engine with four seats, which may finish in any order."""
    case.run(case.folder / "four.h5", "-j", 3, program=h.BUILD / "tests/engine/stiffit-four")
    case.check(case.folder / "four.h5", "an engine with four seats")


@way("kernels of lanes", lambda case: case.engine == "lanes" and h.ONE_LANE)
def kernels(case):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        known = file.read().split()
    for kernel, flag in ("plain", None), ("x86-64-v3", "avx2"), ("x86-64-v4", "avx512dq"):
        if flag is None or flag in known:
            case.run(case.folder / "kernel.h5", "-j", 2, env=h.environment(STIFFIT_LANES_KERNEL=kernel))
            case.check(case.folder / "kernel.h5", f"the kernel {kernel}")


@way("a device", lambda case: case.engine == "lanes" and h.ONE_LANE and case.has_device)
def on_device(case):
    """A device has the bits of lanes, also of a run that was killed."""
    need_device(case.folder)
    output, env = case.folder / "device.h5", device_environment()
    done = case.run(output, "-j", 2, engine="gpu", env=env)
    assert re.search(r"device: [1-9]\d* evaluations", done.stderr), done.stderr
    case.check(output, "lanes and a device")
    process = case.run(output, "-j", 2, engine="gpu", env=env, start=True)
    deadline = time.monotonic() + 60
    while process.poll() is None and n_record(output) < 5 and time.monotonic() < deadline:
        time.sleep(0.002)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    if not output.exists():
        case.run(output, "-j", 2, engine="gpu", env=env)
    case.check(output, "a device, killed")


@way("alone", lambda case: case.kind == "own" and (case.alike or case.engine == "lanes"))
def alone(case):
    """One dataset: its evaluations have a worker and an engine for themselves. (In lanes CVODES checks one fit in 64 more.)"""
    whole, output = h.read_fits(case.whole_result), case.folder / "alone.h5"
    case.run(output, "-j", 3, f"--only={whole['id'][-1]}")
    mine = h.read_fits(output)
    for name in ("parameters", "objective", "standard_error", "status"):
        assert whole[name][-1:].tobytes() == mine[name].tobytes(), name
    output.unlink()


@way("shards", lambda case: case.kind == "own")
def shards(case):
    parts = [case.folder / f"part{k}.h5" for k in (1, 2, 3)]
    for k, part in enumerate(parts):
        case.run(part, "-j", 1 + k, f"--shard={k + 1}/3")
    h.stiffit("merge", *parts, "-o", case.folder / "merged.h5", code=(0, 1))
    case.check(case.folder / "merged.h5", "shards")


def on_ranks(n, n_worker):
    def run(case):
        output = case.folder / "ranks.h5"
        done = ranks(n, case.path, "--trust", *case.words, *case.engine_words(), "-o", output, "-j", n_worker)
        said = re.findall(r"^.* fits?, .*converged.*$", done.stderr, re.M)
        assert len(said) == 1, done.stderr  # one rank speaks
        case.check(output, f"{n} ranks")
    return run


for number, each in (3, 1), (2, 2), (4, 2):
    way(f"{number} ranks", lambda case: case.kind != "own")(on_ranks(number, each))


def permuted(path, order, output):
    """The problem with its datasets in another order."""
    with h5py.File(path) as f, h5py.File(output, "w") as g:
        for name, value in f.attrs.items():
            g.attrs[name] = value
        for group in f:
            f.copy(group, g)
        dataset = f["measurements/dataset"][()]
        rows = np.concatenate([np.flatnonzero(dataset == d) for d in order])
        for group, pick, n in (("measurements", rows, len(dataset)), ("datasets", order, len(order))):
            for name, column in f[group].items():
                if not name.endswith("names") and len(column) == n:
                    del g[group][name]
                    g[group].create_dataset(name, data=column[()][pick], dtype=column.dtype)
        del g["measurements/dataset"]
        g["measurements/dataset"] = np.argsort(order)[dataset[rows]]
    return output


@way("another order", lambda case: case.alike)
def another_order(case):
    """Fits of their own keep their bits. The terms of a sum are rounded in another order, and nothing else changes."""
    before = h.read_fits(case.whole_result)
    order = np.random.default_rng(3).permutation(len(before["id"]))
    output = case.folder / "permuted.h5"
    case.run(output, "-j", 2, problem=permuted(case.path, order, case.folder / "q.h5"))
    after = h.read_fits(output)
    assert list(after["id"]) == [before["id"][d] for d in order]
    for name in (name for name in before if name not in ("seconds", "names")):
        wanted = before[name][order]
        if case.kind == "own":
            assert wanted.tolist() == after[name].tolist() or wanted.tobytes() == after[name].tobytes(), name
        elif name in ("parameters", "objective"):
            np.testing.assert_allclose(after[name], wanted, rtol=1e-6, err_msg=name)
    if case.kind == "mixed":
        a, b = mixed.read(case.whole_result), mixed.read(output)
        assert np.max(np.abs(a["estimate"] - b["estimate"]) / a["standard_error"]) < 1e-6
        assert abs(a["minus_2_log_likelihood"] - b["minus_2_log_likelihood"]) < 1e-6
    output.unlink()


def killed_at(parts):
    """At these parts of all writes of the computing process, which saves what it can each time: it alone, then all processes of
    the run, whose command goes on with another number of workers."""
    def run(case):
        output, journal = case.folder / "killed.h5", case.folder / "killed.h5.journal"
        case.run(output, "-j", 2, env=faults.environment(case.folder, SHIM_HASTE=1))
        case.check(output, "in haste")
        n_write, has_kept, is_killed = faults.counts(case.folder)["__compute", "write"], False, False
        for i, (part, how) in enumerate((part, how) for part in parts for how in ("kill", "all")):
            env = faults.environment(case.folder, ("__compute", "write", max(2, round(part * n_write)), how), SHIM_HASTE=1)
            process = case.run(output, "-j", 2, env=env, start=True)
            said = process.communicate(timeout=300)[1]
            is_killed |= process.returncode == -signal.SIGKILL
            if not output.exists():  # a computing process that is killed before its first fit ends the run, too
                is_told = "the same command goes on" in said
                assert process.returncode == -signal.SIGKILL if how == "all" else is_told, said
                frames = faults.journal_frames(journal) if journal.exists() else []
                has_kept |= any(kind != b"J" for kind, _, _ in frames) or any(entry.is_dir() for entry in journal.iterdir())
                n_kept = sum(kind == b"R" for kind, _, _ in frames)
                said = case.run(output, "-j", 1 + i % 3).stderr
                resumed = re.search(r"resuming: (\d+) of", said)
                assert case.kind != "own" or n_kept == (int(resumed[1]) if resumed else 0), (n_kept, said)
            case.check(output, f"killed at {part:g} of its writes: {how}")
            assert not journal.exists()
        assert is_killed, f"none of its {n_write} writes was the one to be killed at"
        assert has_kept or len(parts) == 1, f"nothing had been kept when it was killed, of {n_write} writes"
    return run


way("killed")(killed_at((0.5,)))
way("killed again and again")(killed_at(np.linspace(0.01, 0.99, 60) if h.SLOW else (0.1, 0.3, 0.7, 0.9)))


@way("again")
def again(case):
    """A run that has ended, and one that was killed before it could remove its journal, have nothing left to do."""
    output, journal = case.folder / "again.h5", case.folder / "again.h5.journal"
    process = case.run(output, env=faults.environment(case.folder, ("__finish", "rename", 1, "after")), start=True)
    process.communicate(timeout=300)
    assert journal.exists()
    for _ in range(2):
        before = output.read_bytes()
        assert "already complete" in case.run(output, "-j", 3).stderr and output.read_bytes() == before
        assert not journal.exists()
    case.check(output, "again")
