#!/usr/bin/env python3
"""Long fits go on where they were: killed, stopped or robbed of their process at random moments, they end with the bits of an
undisturbed run, and little more than a step of each is computed twice. The plugin `counts` tells how much was.

SPDX-License-Identifier: BSD-3-Clause
"""
import math
import os
import random
import shutil
import signal
import struct
import subprocess
import time

import h5py
import numpy as np

import faults
import helpers

N = N_WORKER = 3
TIMES = ("seconds",)
SLEEP_S = 0.11  # of an evaluation, just above the tenth of a second after which a state is written


def quicker(by):
    """Marks a test whose fits are long enough with evaluations that are so much quicker."""
    def wrap(test):
        def wrapped(tmp):
            global SLEEP_S  # pylint: disable=global-statement
            before, SLEEP_S = SLEEP_S, SLEEP_S / by
            try:
                test(tmp)
            finally:
                SLEEP_S = before
        wrapped.__name__ = test.__name__
        wrapped.line = test.__code__.co_firstlineno
        return wrapped
    return wrap


N_EXPERIMENT = 1
EACH = 1  # evaluations of an experiment that a point takes


def make_problem(path):
    helpers.decay_problem(path, N)
    if N_EXPERIMENT > 1:
        split(path)


def split(path):
    """Every other measurement of a dataset is another experiment's, with an A of its own."""
    with h5py.File(path, "a") as f:
        n = f["measurements/time"].shape[0]
        order = np.lexsort((np.arange(n), np.arange(n) % N_EXPERIMENT, f["measurements/dataset"][()]))
        f["measurements/experiment"] = (f["measurements/dataset"][()] * N_EXPERIMENT + np.arange(n) % N_EXPERIMENT)[order]
        del f["measurements/dataset"]
        for name in ("time", "value"):
            f[f"measurements/{name}"][...] = f[f"measurements/{name}"][()][order]
        f["experiments/dataset"] = np.repeat(np.arange(N), N_EXPERIMENT)
        names = [f"A{e}" for e in range(N_EXPERIMENT)]
        f.create_dataset("parameters/name", data=["k", *names], dtype=h5py.string_dtype())
        f["parameters/start"] = np.ones(1 + N_EXPERIMENT)
        f["substitutes/experiment"] = np.arange(N * N_EXPERIMENT)
        f["substitutes/by"] = np.tile(np.arange(N_EXPERIMENT), N)
        f["substitutes/value"] = np.zeros(N * N_EXPERIMENT)
        f.create_dataset("substitutes/parameter_names", data=["A"], dtype=h5py.string_dtype())
        f.create_dataset("substitutes/by_names", data=names, dtype=h5py.string_dtype())


def by(name, value):
    """Marks a test with another value of a number of this module."""
    def mark(test):
        def wrapped(tmp):
            before = globals()[name]
            globals()[name] = value
            try:
                test(tmp)
            finally:
                globals()[name] = before
        wrapped.__name__ = test.__name__
        wrapped.line = test.__code__.co_firstlineno
        return wrapped
    return mark


by_experiments = by("N_EXPERIMENT", 2)  # fits have two experiments each
by_quotients = by("EACH", 5)            # points take two evaluations for each of both parameters, too


def command(problem, *args):
    return [str(helpers.STIFFIT), "run", str(problem), "-m", str(helpers.zoo("counts")), "-j", str(N_WORKER), *args]


def counted(tmp):
    return helpers.environment(COUNT_FILE=tmp / "count", COUNT_SLEEP_MS=round(1000 * SLEEP_S))


def n_computed(tmp):
    path = tmp / "count"
    return path.stat().st_size if path.exists() else 0


def finish(problem, tmp, *args):
    """The run to its end; what it said."""
    done = subprocess.run(command(problem, *args), env=counted(tmp), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr}"
    helpers.assert_no_report(done)
    return done.stderr


def fits_bytes(problem):
    """Every column but the times, as bytes."""
    with h5py.File(helpers.result_path(problem)) as f:
        columns = {}
        for name, column in f["fits"].items():
            data = column[()]
            if name not in TIMES:
                columns[name] = b"\0".join(data) if data.dtype == object else data.tobytes()
        return columns


def undisturbed(tmp, *args):
    """Bytes and evaluations."""
    problem = tmp / "undisturbed.h5"
    make_problem(problem)
    finish(problem, tmp, *args)
    n = n_computed(tmp)
    (tmp / "count").unlink()
    fits = helpers.read_fits(helpers.result_path(problem))
    assert n == N_EXPERIMENT * fits["evaluations"].sum(), (n, fits["evaluations"])
    return fits_bytes(problem), n


def of_workers(n):
    """Evaluations of n points each."""
    return N_WORKER * N_EXPERIMENT * EACH * n


def may_be_lost():
    """Evaluations by a death: of each worker those of the last tenth of a second, and those of the step or of the first ones,
    which may leap, that were under way."""
    return of_workers(2) + N_WORKER * math.floor(0.1 / SLEEP_S)


def begin(problem, tmp, *args):
    return subprocess.Popen(command(problem, *args), env=counted(tmp), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True, start_new_session=True)


def wait_for_evaluations(process, tmp, more):
    """Until so many have begun, or the process has ended."""
    enough = n_computed(tmp) + more
    while n_computed(tmp) < enough and process.poll() is None:
        time.sleep(0.005)


def disturb(problem, tmp, rng, number, *args):
    """Runs that are hit by a signal each, after a few evaluations and somewhere in the next ones, until one comes to its end.
    How many were hit. Without states none would ever end: each fit needs more evaluations than a run is left."""
    for n_hit in range(40):
        process = begin(problem, tmp, *args)
        wait_for_evaluations(process, tmp, rng.randrange(of_workers(1), of_workers(3)) + N_WORKER * math.floor(0.1 / SLEEP_S))
        time.sleep(rng.uniform(0, SLEEP_S))
        if process.poll() is None:
            os.killpg(process.pid, number)
        process.communicate()
        if process.returncode == 0:
            return n_hit
        assert process.returncode == (75 if number == signal.SIGTERM else -number), process.returncode
    raise AssertionError("40 runs were not enough")


def check_disturbed(tmp, number, *args):
    want, n = undisturbed(tmp, *args)
    problem = tmp / "p.h5"
    make_problem(problem)
    n_hit = disturb(problem, tmp, random.Random(5), number, *args)
    assert fits_bytes(problem) == want
    assert n_hit >= 2, n_hit
    more = n_computed(tmp) - n
    n_lane = 4 if "four" in helpers.STIFFIT.name else 1
    assert 0 <= more <= n_hit * n_lane * may_be_lost(), (more, n_hit)
    assert not (tmp / "p.result.h5.journal").exists() and not (tmp / "p.result.journal").exists()


def test_killed_fits_go_on(tmp):
    check_disturbed(tmp, signal.SIGKILL)  # a trust region: begins with loose tolerances, ends with tight ones


def test_stopped_fits_go_on(tmp):
    check_disturbed(tmp, signal.SIGTERM)


@helpers.slow
def test_killed_fits_by_gradients_go_on(tmp):
    check_disturbed(tmp, signal.SIGKILL, "--optimizer", "lbfgs")


def test_killed_fits_with_adjoint_gradients_go_on(tmp):
    check_disturbed(tmp, signal.SIGKILL, "--optimizer", "lbfgs", "--gradient", "adjoint", "--certify", "no")


@by_quotients
@quicker(2)
def test_killed_fits_with_difference_quotients_go_on(tmp):
    check_disturbed(tmp, signal.SIGKILL, "--gradient", "differences")


@by_experiments
def test_killed_fits_over_experiments_go_on(tmp):
    check_disturbed(tmp, signal.SIGKILL)


@quicker(2)
@by_experiments
@helpers.slow
def test_killed_fits_over_experiments_with_adjoint_gradients_go_on(tmp):
    check_disturbed(tmp, signal.SIGKILL, "--optimizer", "lbfgs", "--gradient", "adjoint", "--certify", "no")


def journal_of(problem):
    return next(path for path in problem.parent.iterdir() if path.name.endswith(".journal"))


def interrupted(tmp, name="p.h5", *args):
    """A problem whose run was killed when each of its fits had a file. The problem and the files."""
    problem = tmp / name
    make_problem(problem)

    def size(path):
        try:
            return path.stat().st_size
        except FileNotFoundError:  # its fit has ended
            return 0

    deadline = time.monotonic() + 60
    files, process = [], None
    while len([f for f in files if size(f) > 500]) < N_WORKER and time.monotonic() < deadline:
        if process is None or process.poll() is not None:  # a slow machine may sleep through a whole run
            helpers.result_path(problem).unlink(missing_ok=True)
            (tmp / "count").unlink(missing_ok=True)
            process = begin(problem, tmp, *args)
        time.sleep(0.02)
        files = list(tmp.glob(f"{problem.stem}*.journal/states/*.state"))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    files = sorted(f for f in files if f.exists())
    assert len(files) >= N_WORKER, files
    return problem, files


@quicker(4)
def test_damaged_states_are_passed_over(tmp):
    want, n = undisturbed(tmp)
    problem, files = interrupted(tmp)
    rng = random.Random(7)
    before = n_computed(tmp)

    def cut(path, data):
        path.write_bytes(data[:rng.randrange(len(data))])

    def flip(path, data):
        at = rng.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:])

    def noise(path, data):
        path.write_bytes(rng.randbytes(len(data)))

    def tail(path, data):
        path.write_bytes(data + rng.randbytes(100))

    def empty(path, _):
        path.write_bytes(b"")

    def other(path, _):
        shutil.copy(files[0] if path == files[1] else files[1], path)

    def folder(path, _):
        path.unlink()
        path.mkdir()

    def nowhere(path, _):
        path.unlink()
        path.symlink_to(tmp / "nowhere")

    journal = journal_of(problem)
    shutil.copytree(journal, tmp / "kept")
    for damage in (cut, flip, noise, tail, empty, other, folder, nowhere):
        shutil.rmtree(journal, ignore_errors=True)
        shutil.copytree(tmp / "kept", journal)
        helpers.result_path(problem).unlink(missing_ok=True)
        for path in files[:N_WORKER]:
            damage(path, path.read_bytes())
        (tmp / "count").unlink(missing_ok=True)
        said = finish(problem, tmp)
        assert fits_bytes(problem) == want, damage.__name__
        assert n_computed(tmp) <= n, damage.__name__
        assert not (tmp / "nowhere").exists()
        if damage is tail:  # what stands before it is good
            assert n_computed(tmp) <= n - before + may_be_lost(), (n_computed(tmp), n, before)
        assert ("warning" in said) == (damage is folder), said


@quicker(4)
def test_time_that_was_spent_before_counts(tmp):
    problem, files = interrupted(tmp, "p.h5", "--max-seconds", "500")
    assert len(files) == N
    for path in files:
        frames = faults.frames(path.read_bytes())
        assert [frame[:2] for frame in frames] == [(b"J", 4), (b"S", 0)]
        payload = frames[1][2]
        assert 0 < struct.unpack_from("<q", payload)[0] < 500e9
        path.write_bytes(faults.framed([frames[0], (*frames[1][:2], struct.pack("<q", 1000 * 10**9) + payload[8:])]))
    before = n_computed(tmp)
    done = subprocess.run(command(problem, "--max-seconds", "500"), env=counted(tmp), capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1, done.stderr
    fits = helpers.read_fits(helpers.result_path(problem))
    late = fits["status"] == "timeout"
    assert late.all(), fits["status"]
    assert np.all(fits["seconds"] >= 1000)
    assert n_computed(tmp) == before  # not one more was made
    assert np.all(np.isfinite(fits["objective"][late]))


@quicker(4)
def test_states_of_another_run_do_not_count(tmp):
    problem, files = interrupted(tmp)
    other = tmp / "other.h5"
    helpers.decay_problem(other, N, seed=2)
    finish(other, tmp)
    want = fits_bytes(other)
    helpers.result_path(other).unlink()
    process = begin(other, tmp)
    while not list(tmp.glob("other*.journal/*.log")) and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    states = journal_of(tmp / "other.h5").parent / journal_of(problem).name.replace("p.", "other.") / "states"
    states.mkdir(exist_ok=True)
    for path in files:
        shutil.copy(path, states / path.name)
    finish(other, tmp)
    assert fits_bytes(other) == want


def test_without_a_place_for_states_the_run_goes_on(tmp):
    want, _ = undisturbed(tmp)
    problem = tmp / "p.h5"
    make_problem(problem)
    process = begin(problem, tmp)
    while not list(tmp.glob("p*.journal/*.log")) and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    states = journal_of(problem) / "states"
    shutil.rmtree(states, ignore_errors=True)
    states.write_text("mine")
    said = finish(problem, tmp)
    assert said.count("would start from the beginning") == 1, said
    assert fits_bytes(problem) == want
    assert states.read_text() == "mine"


def test_two_processes_on_the_same_fits(tmp):
    want, n = undisturbed(tmp)
    problem, _ = interrupted(tmp)
    processes = [begin(problem, tmp) for _ in range(2)]
    for process in processes:
        said = process.communicate(timeout=300)[1]
        assert process.returncode == 0, said
    assert fits_bytes(problem) == want
    assert n_computed(tmp) <= 2 * n


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def test_when_the_computing_process_dies_its_fits_go_on(tmp):
    if not os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children"):
        helpers.skip("this kernel does not list children")
    want, n = undisturbed(tmp)
    problem = tmp / "p.h5"
    make_problem(problem)
    process = begin(problem, tmp)
    wait_for_evaluations(process, tmp, 3 * N_WORKER)
    for child in children(process.pid):
        os.kill(child, signal.SIGKILL)
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 0 and "died" in said, said  # each of them is tried alone, and none is to blame
    assert fits_bytes(problem) == want
    assert n_computed(tmp) - n <= may_be_lost(), (n_computed(tmp), n)


if __name__ == "__main__":
    np.seterr(all="raise")
    helpers.main()
