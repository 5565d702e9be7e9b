"""Shards and their merge: the whole run's bits, and refusal of everything that does not belong together.

SPDX-License-Identifier: BSD-3-Clause
"""
import shutil

import h5py
import numpy as np

import faults
import helpers
from helpers import decay_problem, stiffit
from test_retry import bad_and_good

N = 40
TIMES = {"seconds"}


def shards(problem, n, *options):
    for k in range(1, n + 1):
        stiffit("run", problem, "--trust", "-q", "--shard", f"{k}/{n}", *options, code=(0, 1))
    return [problem.with_name(f"{problem.stem}.shard-{k}-of-{n}.result.h5") for k in range(1, n + 1)]


def contents(path):
    """Every dataset of the result but times and provenance."""
    found = {}

    def take(name, item):
        if isinstance(item, h5py.Dataset) and not name.startswith("provenance") and name.split("/")[-1] not in TIMES:
            value = item[()]
            found[name] = [str(x) for x in value] if item.dtype.kind == "O" else value.tobytes()
    with h5py.File(path) as file:
        file.visititems(take)
    return found


def assert_equal(left, right):
    a, b = contents(left), contents(right)
    assert a.keys() == b.keys(), a.keys() ^ b.keys()
    for name, value in a.items():
        assert value == b[name], name


def test_merged_is_the_whole_run(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, N)
    for n, options in ((1, []), (7, []), (3, ["--starts", "3", "--keep-starts", "--bootstrap", "5", "--keep-bootstrap",
                                              "--profile", "k", "--keep-profile"])):
        whole = tmp / "whole.h5"
        stiffit("run", problem, "--trust", "-q", "-o", whole, "--overwrite", *options)
        shards(problem, n, *options)
        stiffit("merge", problem, "--shards", n, "--overwrite")
        assert_equal(helpers.result_path(problem), whole)
        again = stiffit("run", problem, "--trust", *options)
        assert "already complete" in again.stderr
        assert "already complete" in stiffit("merge", problem, "--shards", n).stderr


def test_a_journal_that_is_left_over_misleads_nobody(tmp):
    """The first shard is killed between its result's appearance and its journal's removal."""
    problem = tmp / "p.h5"
    decay_problem(problem, N)
    killed = stiffit("run", problem, "--trust", "-q", "--shard", "1/2", code=4,
                     env=faults.environment(tmp, ("__finish", "rename", 1, "after")))
    result, journal = tmp / "p.shard-1-of-2.result.h5", tmp / "p.shard-1-of-2.result.h5.journal"
    assert result.exists() and journal.exists(), killed.stderr
    shards(problem, 2)
    assert not journal.exists()
    result.unlink()
    stiffit("run", problem, "--trust", "-q", "--shard", "1/2", code=4,
            env=faults.environment(tmp, ("__finish", "rename", 1, "after")))
    assert "2 of 2" in stiffit("status", problem).stdout
    assert "journal" not in stiffit("merge", problem).stderr
    # One that was written to after the result has still to be finished.
    next(journal.glob("*.log")).touch()
    assert "running" in stiffit("status", problem).stdout, "all is fitted: the result is to be made"
    assert "has a journal" in stiffit("merge", problem, "--overwrite").stderr
    stiffit("run", problem, "--trust", "-q", "--shard", "1/2")
    assert journal.exists()


def test_shards_dealt_by_cost(tmp):
    problem, whole = tmp / "p.h5", tmp / "whole.h5"
    decay_problem(problem, N)
    stiffit("run", problem, "--trust", "-q", "-o", whole)
    files = shards(problem, 3, "--cost-from", whole)
    stiffit("merge", problem)
    assert_equal(helpers.result_path(problem), whole)
    with h5py.File(files[1]) as file:
        mine = list(file["fits/dataset"][()])
    assert mine != list(range(1, N, 3))
    stiffit("run", problem, "--trust", "-q", "--shard", "2/3", "--overwrite")
    assert "were dealt by different costs" in stiffit("merge", problem, "-o", tmp / "m.h5", code=4).stderr


def test_more_shards_than_datasets(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, 3)
    files = shards(problem, 5)
    stiffit("merge", *reversed(files), "-o", tmp / "m.h5")
    stiffit("run", problem, "--trust", "-q")
    assert_equal(tmp / "m.h5", helpers.result_path(problem))


def test_missing_ones_are_listed(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, N)
    files = shards(problem, 8)
    for k in (2, 5, 6, 7):
        files[k - 1].unlink()
    done = stiffit("merge", problem, code=4)
    assert "missing of 8 shards: 2, 5-7." in done.stderr, done.stderr
    assert not helpers.result_path(problem).exists()
    done = stiffit("merge", problem, "--partial")
    assert "2, 5-7" in done.stderr
    with h5py.File(helpers.result_path(problem)) as file:
        assert list(file["fits/dataset"][()]) == [d for d in range(N) if d % 8 + 1 in (1, 3, 4, 8)]
        assert file["provenance"].attrs["merged"] in ("4 of 8 shards; missing: 2, 5-7", b"4 of 8 shards; missing: 2, 5-7")
    # A partial result is never taken for the whole one.
    assert "another run" in stiffit("run", problem, "--trust", code=4).stderr
    shards(problem, 8)
    stiffit("merge", problem, "--overwrite")


def test_what_does_not_belong_together(tmp):
    problem, other = tmp / "p.h5", tmp / "q.h5"
    decay_problem(problem, N)
    decay_problem(other, N, seed=2)
    files = shards(problem, 2)
    copy = tmp / "copy.h5"
    shutil.copy(files[0], copy)
    assert "are both shard 1 of 2" in stiffit("merge", *files, copy, "-o", tmp / "m.h5", code=4).stderr
    theirs = shards(other, 2)
    assert "different runs" in stiffit("merge", files[0], theirs[1], "-o", tmp / "m.h5", code=4).stderr
    (tmp / "seed").mkdir()
    shutil.copy(problem, tmp / "seed/p.h5")
    seeded = shards(tmp / "seed/p.h5", 2, "--seed", "7", "--starts", "2")
    assert "different runs" in stiffit("merge", files[0], seeded[1], "-o", tmp / "m.h5", code=4).stderr
    done = stiffit("merge", files[0], problem_result(problem), "-o", tmp / "m.h5", code=4)
    assert "is not the result of a shard" in done.stderr
    three = shards(problem, 3)
    assert "a shard of 2" in stiffit("merge", files[0], three[1], "-o", tmp / "m.h5", code=4).stderr
    assert "of 2 shards and of 3" in stiffit("merge", problem, code=2).stderr
    assert "no output was given" in stiffit("merge", *files, code=2).stderr
    assert not (tmp / "m.h5").exists()


def problem_result(problem):
    stiffit("run", problem, "--trust", "-q", "-o", problem.with_suffix(".whole.h5"))
    return problem.with_suffix(".whole.h5")


def test_damaged_and_foreign_shards(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, N)
    files = shards(problem, 2)
    with h5py.File(files[1], "r+") as file:
        file["fits/dataset"][3] = 2  # a row of the other shard, and out of order
    done = stiffit("merge", problem, code=3)
    assert "does not increase" in done.stderr
    with h5py.File(files[1], "r+") as file:
        file["fits/dataset"][3] = 10 ** 12
    assert "there are 40 datasets" in stiffit("merge", problem, code=3).stderr
    files[1].write_bytes(b"no HDF5")
    stiffit("merge", problem, code=3)
    assert not helpers.result_path(problem).exists()


def test_retried_shards(tmp):
    """Rows that were fitted anew, in all shards or in one: the whole run's after the same retry."""
    problem, whole = bad_and_good(tmp / "p.h5"), tmp / "whole.h5"
    few, many = ("--max-evaluations", "3"), ("--retry-failed", "--starts", "2")
    stiffit("run", problem, "--trust", "-q", "-o", whole, *few, code=1)
    files = shards(problem, 3, *few)
    for file in files:
        assert (helpers.read_fits(file)["status"] != "converged").any(), "there must be something to retry in each"
    shutil.copy(whole, tmp / "before.h5")
    stiffit("run", problem, "--trust", "-q", "-o", whole, *many, code=1)
    stiffit("run", problem, "--trust", "-q", "--shard", "2/3", *many, code=(0, 1))
    stiffit("merge", problem, "-o", tmp / "one.h5", code=1)
    with h5py.File(tmp / "one.h5") as one, h5py.File(whole) as after, h5py.File(tmp / "before.h5") as before:
        anew = np.arange(24) % 3 == 1
        for name in after["fits"]:
            if name in TIMES:
                continue
            fresh = values(after["fits"][name])
            none = np.nan if after["fits"][name].dtype.kind == "f" else -1
            was = values(before["fits"][name]) if name in before["fits"] else [none] * 24
            expected = [fresh[d] if anew[d] else was[d] for d in range(24)]
            assert np.array(values(one["fits"][name])).tobytes() == np.array(expected).tobytes(), name
        assert "starts=2" in str(one["provenance"].attrs["retry_1_options"])
    for k in (1, 3):
        stiffit("run", problem, "--trust", "-q", "--shard", f"{k}/3", *many, code=(0, 1))
    stiffit("merge", problem, code=1)
    assert_equal(helpers.result_path(problem), whole)
    assert "already complete" in stiffit("run", problem, "--trust", *few, code=1).stderr
    with h5py.File(helpers.result_path(problem)) as file:
        assert str(file["provenance"].attrs["retry_1_selection"]).count("retry=") == 3  # what each shard says
    done = stiffit("run", problem, "--trust", "--retry-failed", code=1)  # the merged result is one like any other
    assert "of them fitted again" in done.stderr, done.stderr


def values(column):
    return [str(x) for x in column] if column.dtype.kind in "OS" else list(column)


def test_tables_that_one_shard_has(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, N)
    shards(problem, 4)
    options = ("--retry-failed", "--starts", "2", "--keep-starts")
    one = problem.with_name("p.shard-2-of-4.result.h5")
    with h5py.File(one, "r+") as file:  # so that there is something to retry
        file["fits/status"][2:5] = file["fits/status"].id.get_type().enum_valueof(b"ode_failed")
    stiffit("run", problem, "--trust", "-q", "--shard", "2/4", *options)
    stiffit("merge", problem)
    with h5py.File(helpers.result_path(problem)) as file, h5py.File(one) as shard:
        assert list(file["starts/dataset"][()]) == [9, 9, 13, 13, 17, 17]
        for name in file["starts"]:
            assert file["starts"][name][()].tobytes() == shard["starts"][name][()].tobytes(), name


def test_files_that_are_no_shards(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, N)
    files = shards(problem, 2)
    stiffit("run", problem, "--trust", "-q", "--only", "d1,d2", "-o", tmp / "only.h5")
    done = stiffit("merge", files[0], tmp / "only.h5", "-o", tmp / "m.h5", code=4)
    assert "is not the result of a shard (only=" in done.stderr
    assert "without results" in stiffit("merge", files[0], problem, "-o", tmp / "m.h5", code=3).stderr
    before = files[0].read_bytes()
    assert "is one of the shards" in stiffit("merge", *files, "-o", files[0], "--overwrite", code=2).stderr
    assert files[0].read_bytes() == before
    assert "is a problem file" in stiffit("merge", *files, "-o", problem, "--overwrite", code=4).stderr
    # One whose journal is empty is missing.
    files[1].rename(tmp / "away")
    problem.with_name(files[1].name + ".journal").mkdir()
    assert "missing of 2 shards: 2." in stiffit("merge", problem, code=4).stderr
    assert stiffit("status", problem).stdout.splitlines()[1].split()[-1] == "waiting"
    again = problem.with_name(files[0].name + ".journal")
    again.mkdir()
    (again / "host-1-1-0123456789abcdef.log").touch()
    assert "note: shard 1 is being fitted again" in stiffit("merge", problem, code=4).stderr
    helpers.shutil.rmtree(again)
    for size in (0, 100, len(before) // 2, len(before) - 1):  # cut short
        files[1].write_bytes(before[:size])
        assert files[1].name in stiffit("merge", problem, code=3).stderr
    assert not helpers.result_path(problem).exists()


if __name__ == "__main__":
    helpers.main()
