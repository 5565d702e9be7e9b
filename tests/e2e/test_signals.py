"""Signals at random moments to random processes of everything that writes a file: fits from several starts, fits that share
parameters, also on ranks, results in the problem file, retries, merges and imports. The same command, repeated until it has
come to its end, leaves the bytes of one that nothing has disturbed, and nothing else.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 3600
"""
import os
import random
import shutil
import signal
import subprocess
import time

import h5py
import numpy as np

import helpers as h
from launch import MPIRUN, launcher
from test_kills import group, wait_until_gone
from test_shards import shard_name

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
CHANGING = ("seconds", "lanes_in_use", "started", "first_steps_datasets")


def contents(path):
    """Every dataset and attribute of a file but times."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and name.rpartition("/")[2] not in CHANGING:
            data = item[()]
            found[name] = data.tolist() if data.dtype == object else (data.dtype.str, data.shape, data.tobytes())
        found.update({f"{name}@{key}": np.asarray(value).tolist() for key, value in item.attrs.items()
                      if key not in CHANGING and not key.endswith("_started")})

    with h5py.File(path) as f:
        f.visititems(visit)
    return found


class Case:
    """A command in a folder of its own. `results`: what it writes; `kept`: files that it changes, as they were before."""

    def __init__(self, folder, words, results, codes=(0,), launcher=()):
        self.folder, self.results, self.codes = folder, results, codes
        self.command = [*launcher, str(h.STIFFIT), *map(str, words)]
        self.before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        began = time.monotonic()
        done = subprocess.run(self.command, cwd=folder, env=self.environment(), capture_output=True, text=True, check=False)
        assert done.returncode in codes, (self.command, done.returncode, done.stderr)
        self.longest = time.monotonic() - began
        self.names = {path.name for path in folder.iterdir()}
        self.whole = {name: contents(folder / name) for name in results}
        self.n_resumed = self.n_signal = 0
        self.reset()

    @staticmethod
    def environment():
        return h.environment(HWLOC_COMPONENTS="-opencl")

    def reset(self):
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name not in self.before or path.read_bytes() != self.before[path.name]:
                path.unlink()
        for name, data in self.before.items():
            (self.folder / name).write_bytes(data)

    def start(self):
        return subprocess.Popen(self.command, cwd=self.folder, env=self.environment(), start_new_session=True, text=True,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def check(self, what):
        for name in self.results:
            found = contents(self.folder / name)
            assert found.keys() == self.whole[name].keys(), (what, found.keys() ^ self.whole[name].keys())
            differ = [key for key, value in found.items() if value != self.whole[name][key]]
            assert not differ, (self.command, what, differ)
        left = {path.name for path in self.folder.iterdir()}
        assert left == self.names, (self.command, what, left ^ self.names)

    def disturb(self, rng):
        """One signal, then the command again until it is through, and from the beginning, maybe after more signals."""
        process = self.start()
        time.sleep(rng.uniform(0, 1.1 * self.longest))
        number, who = rng.choice(SIGNALS), rng.choice(("group", "leader", "one"))
        victims = [pid for pid, _ in group(process.pid)] if who != "leader" else [process.pid]
        for pid in victims if who != "one" else [rng.choice(victims)] if victims else []:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        hit = bool(victims) and process.poll() is None
        said = process.communicate(timeout=300)[1]
        if MPIRUN and MPIRUN in self.command:  # its ranks are in groups of their own, and die with it
            time.sleep(0.3)
        else:
            wait_until_gone(process)
        self.n_signal += hit
        self.n_resumed += "resuming" in said or "goes on after" in said
        assert process.returncode in (*self.codes, -number, 0, 1, 3, 4, 75, 128 + number), (process.returncode, said)
        if rng.random() < 0.5:
            return
        self.finish((number.name, who))

    def finish(self, what):
        for _ in range(3):  # a process that was being ended may still have had the journal's files removed
            done = self.start()
            said = done.communicate(timeout=300)[1]
            self.n_resumed += "resuming" in said or "goes on after" in said
            if done.returncode in self.codes:
                break
        assert done.returncode in self.codes, (self.command, what, done.returncode, said)
        self.check(what)
        self.reset()


def slow_problem(path, n):
    h.decay_problem(path, n)
    with h5py.File(path, "r+") as f:
        f["model"].attrs["plugin"] = str(h.zoo("slow"))


def table(path, n):
    rng = np.random.default_rng(3)
    rows = ["dataset,time,value"]
    rows += [f"d{i},{t},{2 * np.exp(-0.3 * t) + 0.01 * rng.standard_normal():.17g}" for i in range(n) for t in range(1, 9)]
    path.write_text("\n".join(rows) + "\n")


RUN = ("run", "p.h5", "--trust", "-j", 2, "--progress", "never")


def starts(folder):
    slow_problem(folder / "p.h5", 20)
    return Case(folder, (*RUN, "--starts", 3, "--keep-starts", "--bootstrap", 3), ["p.result.h5"])


def share(folder, **launched):
    slow_problem(folder / "p.h5", 70)
    return Case(folder, (*RUN, "--share", "k", "--engine", "cvodes"), ["p.result.h5"], **launched)


def place(folder):
    slow_problem(folder / "p.h5", 30)
    return Case(folder, (*RUN, "--in-place", "--profile", "k"), ["p.h5"])


def retry(folder):
    slow_problem(folder / "p.h5", 50)
    h.stiffit(*RUN, "--max-evaluations", 4, cwd=folder, code=1)
    return Case(folder, (*RUN, "--retry-failed"), ["p.result.h5"])


def merge(folder):
    slow_problem(folder / "p.h5", 40)
    for k in (1, 2):
        h.stiffit(*RUN, "--shard", f"{k}/2", cwd=folder)
    assert (folder / shard_name("p.h5", 1, 2)).exists()
    return Case(folder, ("merge", "p.h5"), ["p.result.h5"])


def imported(folder):
    table(folder / "t.csv", 2000)
    (folder / "m.ode").write_text("parameter k = 0.3 in [1e-3, 10]\ny(0) = 2\ny' = -k*y\nobserve value = y\n")
    return Case(folder, ("import", "t.csv", "--model", "m.ode", "-o", "q.h5", "--overwrite"), ["q.h5"])


def on_ranks(folder):
    return share(folder, launcher=(*launcher(), "-n", "2"))


CASES = [starts, share, place, retry, merge, imported]
if MPIRUN and (h.BUILD / "stiffit-mpi.so").exists() and not h.SANITIZE:
    CASES.append(on_ranks)


def disturbed(tmp, n_signal, made=CASES):
    rng = random.Random(n_signal)
    all_cases = []
    for make in made:
        folder = tmp / make.__name__
        folder.mkdir()
        all_cases.append(make(folder))
    while sum(case.n_signal for case in all_cases) < n_signal:
        for case in all_cases:
            case.disturb(rng)
    for case in all_cases:
        case.finish("the end")
    print("; ".join(f"{case.folder.name}: {case.n_signal} signals, {case.n_resumed} times resumed" for case in all_cases))
    assert sum(case.n_resumed for case in all_cases) >= n_signal // 10


def test_a_signal(tmp):
    disturbed(tmp, 2, [starts, merge])


@h.more
def test_signals(tmp):
    disturbed(tmp, 7)


@h.slow
def test_a_thousand_signals(tmp):
    disturbed(tmp, 1000)


if __name__ == "__main__":
    h.main()
