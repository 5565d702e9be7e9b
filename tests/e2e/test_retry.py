"""--retry-failed: what failed is fitted anew, as a run with the new options would; every other row keeps its bits.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 600
"""
import os
import shutil

import h5py
import numpy as np

import faults
import helpers as h
import oracles as o
from test_robertson import robertson_problem
from test_shards import TABLES, provenance, rows_of, shard_name
from ways import kill_in_the_middle

RETRIED = 1 << 17
BUDGET = 7  # evaluations: a near start takes 5 to 7, a far one 9 or more


def bad_and_good(path, n=24):
    """Robertson's datasets. Two of three have a far start, the others one near the optimum; dataset 5 cannot be fitted."""
    true, _, _ = robertson_problem(path, n, lower=[1e-4, 1e1, 1e4], upper=[1e2, 1e7, 1e10])
    near = np.arange(n) % 3 == 0
    with h5py.File(path, "r+") as f:
        value, dataset = f["measurements/value"][()], f["measurements/dataset"][()]
        value[dataset == 5] = np.nan
        f["measurements/value"][...] = value
        del f["parameters/start"]
        f["parameters/start"] = np.where(near[:, None], true, o.ROBERTSON_P * [50, 0.02, 50])
    return path


def failed_rows(path):
    fits = h.read_fits(path)
    return np.flatnonzero(fits["status"] != "converged")


def without(bits, *names):
    return {name: value for name, value in bits.items() if name not in names}


def expect(after, before, fresh, failed, what):
    """Rows that had failed are those of a fresh run with the new options, but for the note; others are what they were."""
    with h5py.File(after) as f:
        n = len(f["fits/id"])
        numbers = f["fits/dataset"][()] if "dataset" in f["fits"] else np.arange(n)
        notes = f["fits/notes"][()]
    failed = numbers[failed]
    kept = np.setdiff1d(numbers, failed)
    a, b = rows_of(after, kept), rows_of(before, kept)
    assert list(a["dataset"]) == list(kept)
    for name in b:
        assert a[name] == b[name], f"{what}: {name} of a row that should stay"
    a, b = without(rows_of(after, failed), "notes"), without(rows_of(fresh, failed), "notes")
    for name in b:
        assert a[name] == b[name], f"{what}: {name} of a retried row"
    assert set(np.flatnonzero(notes & RETRIED)) == set(np.flatnonzero(np.isin(numbers, failed))), what


def test_larger_budgets(tmp):
    bad_and_good(tmp / "p.h5")
    result = h.result_path(tmp / "p.h5")
    h.run(tmp / "p.h5", "-o", tmp / "fresh.h5", code=1)
    h.run(tmp / "p.h5", "--max-evaluations", BUDGET, code=1)
    shutil.copy(result, tmp / "before.h5")
    failed = failed_rows(result)
    assert 3 < len(failed) < 21, failed
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed", "--json", code=1)
    assert f"those that failed: {len(failed)} of 24 datasets" in done.stderr, done.stderr
    assert f"{len(failed)} of them fitted again" in done.stderr, done.stderr
    assert h.summary(done)["retried"] == len(failed) and h.summary(done)["fits"] == 24
    assert h.summary(done)["failed"] == 1
    expect(result, tmp / "before.h5", tmp / "fresh.h5", failed, "larger budget")
    assert list(failed_rows(result)) == [5]
    assert not os.path.exists(str(result) + ".journal")
    first, now = provenance(tmp / "before.h5"), provenance(result)
    assert {name: now[name] for name in first} == first, "what the first run said of itself"
    assert "max-evaluations=auto" in now["retry_1_options"] and "--retry-failed" in now["retry_1_command_line"]
    assert now["retry_1_selection"].startswith(f"retry={len(failed)}:")
    # The first command finds it complete; a third one retries what is left.
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--max-evaluations", BUDGET, code=1)
    assert "already complete: 24 fits, 23 converged" in done.stderr, done.stderr
    shutil.copy(result, tmp / "second.h5")
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed", code=1)
    assert "those that failed: 1 of 24" in done.stderr
    bits = rows_of(tmp / "second.h5")
    for name, value in rows_of(result).items():
        assert value == bits[name], name
    assert provenance(result)["retry_2_selection"].startswith("retry=1:")
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--max-evaluations", BUDGET, code=1)
    assert "note: this row is from --retry-failed" in done.stderr, done.stderr


def test_nothing_to_retry(tmp):
    h.decay_problem(tmp / "p.h5", 4)
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed", code=4)
    assert "run the same command without it first" in done.stderr, done.stderr
    h.run(tmp / "p.h5")
    before = h.result_path(tmp / "p.h5").read_bytes()
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed", "--max-evaluations", 7)
    assert "already complete: 4 fits" in done.stderr
    assert h.result_path(tmp / "p.h5").read_bytes() == before
    # what a process leaves that is killed while it begins a journal, or removes it, goes
    journal = h.result_path(tmp / "p.h5").with_name("p.result.h5.journal")
    for files in ({}, {"host-1-1-0123456789abcdef.log": b""}):
        journal.mkdir()
        for name, data in files.items():
            (journal / name).write_bytes(data)
        h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed")
        assert not journal.exists(), files


def test_what_may_not_differ(tmp):
    bad_and_good(tmp / "p.h5", 8)
    h.run(tmp / "p.h5", "--max-evaluations", BUDGET, code=1)
    before = h.result_path(tmp / "p.h5").read_bytes()
    bad_and_good(tmp / "other.h5", 9)
    for problem, options, code, words in (
            ("p.h5", ("--seed", 2), 4, "seed: 1 there, 2 here"), ("p.h5", ("--error", "laplace"), 4, "another objective"),
            ("p.h5", ("--overwrite",), 2, "exclude"), ("p.h5", ("--shard", "1/2"), 4, "datasets there: all, here: shard=1/2"),
            ("other.h5", (), 4, "number of datasets: 8 there, 9 here"),
            ("p.h5", ("--model", h.ROOT / "models/robertson/robertson.ode"), 4, "model has changed")):
        done = h.stiffit("run", tmp / problem, "--trust", "--retry-failed", "-o", h.result_path(tmp / "p.h5"), *options,
                         code=code)
        assert words in done.stderr, (options, done.stderr)
    assert h.result_path(tmp / "p.h5").read_bytes() == before
    assert not os.path.exists(str(h.result_path(tmp / "p.h5")) + ".journal")


@h.more
def test_refits_and_starts(tmp):
    bad_and_good(tmp / "p.h5", 10)
    more = ("--starts", 3, "--keep-starts", "--bootstrap", 40, "--keep-bootstrap", "--profile", "p1", "--keep-profile")
    h.run(tmp / "p.h5", *more, "-o", tmp / "fresh.h5", code=1)
    result = h.result_path(tmp / "p.h5")
    h.run(tmp / "p.h5", *more, "--max-evaluations", BUDGET, code=1)
    shutil.copy(result, tmp / "before.h5")
    failed = failed_rows(result)
    assert 1 < len(failed) < 10
    h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed", *more, code=1)
    expect(result, tmp / "before.h5", tmp / "fresh.h5", failed, "refits")
    for table in TABLES:
        with h5py.File(result) as f:
            assert np.all(np.diff(f[table]["dataset"][()]) >= 0)
    # Fewer columns are asked for: kept rows have theirs, new ones NaN.
    shutil.copy(tmp / "before.h5", result)
    h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed", code=1)
    a, b = h.read_fits(result), h.read_fits(tmp / "before.h5")
    kept = np.setdiff1d(np.arange(10), failed)
    assert a.keys() == b.keys()
    assert np.array_equal(a["bootstrap_lower"][kept], b["bootstrap_lower"][kept], equal_nan=True)
    assert np.all(np.isnan(a["bootstrap_lower"][failed])) and np.all(a["bootstrap_n"][failed] == -1)
    assert np.all(a["profile_lower_status"][failed] == "none")
    # More are asked for: kept rows have none of them.
    h.run(tmp / "p.h5", "--max-evaluations", BUDGET, "-o", tmp / "plain.h5", code=1)
    before = h.read_fits(tmp / "plain.h5")
    h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed", *more, "-o", tmp / "plain.h5", code=1)
    after = h.read_fits(tmp / "plain.h5")
    kept = np.flatnonzero(before["status"] == "converged")
    failed = np.flatnonzero(after["status"] == "converged")
    failed = failed[before["status"][failed] != "converged"]
    assert np.all(np.isnan(after["bootstrap_lower"][kept])) and np.all(np.isfinite(after["bootstrap_standard_error"][failed]))
    with h5py.File(tmp / "plain.h5") as f:
        assert set(f["bootstrap/dataset"][()]) == set(failed)


def test_of_a_shard_and_in_place(tmp):
    bad_and_good(tmp / "p.h5", 16)
    h.run(tmp / "p.h5", "-o", tmp / "fresh.h5", code=1)
    part = shard_name(tmp / "p.h5", 2, 2)
    h.stiffit("run", tmp / "p.h5", "--trust", "--shard", "2/2", "--max-evaluations", BUDGET, code=1)
    shutil.copy(part, tmp / "before.h5")
    failed = failed_rows(part)
    assert 1 < len(failed) < 8
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--shard", "2/2", "--retry-failed", code=1)
    assert f"shard 2 of 2, those that failed: {len(failed)} of 16" in done.stderr, done.stderr
    expect(part, tmp / "before.h5", tmp / "fresh.h5", failed, "shard")
    assert provenance(part)["identity_selection"] == "shard=2/2"
    shutil.copy(tmp / "p.h5", tmp / "q.h5")
    h.run(tmp / "q.h5", "--in-place", "--max-evaluations", BUDGET, code=1)
    shutil.copy(tmp / "q.h5", tmp / "q-before.h5")
    failed = failed_rows(tmp / "q.h5")
    h.stiffit("run", tmp / "q.h5", "--trust", "--in-place", "--retry-failed", code=1)
    expect(tmp / "q.h5", tmp / "q-before.h5", tmp / "fresh.h5", failed, "in place")
    with h5py.File(tmp / "q.h5") as f:
        assert "measurements" in f and f.attrs["stiffit_file"] == "problem"


def test_warm_start_of_a_retry(tmp):
    bad_and_good(tmp / "p.h5", 12)
    h.run(tmp / "p.h5", "--warm-start", "pilot", "-o", tmp / "fresh.h5", code=1)
    result = h.result_path(tmp / "p.h5")
    h.run(tmp / "p.h5", "--max-evaluations", BUDGET, code=1)
    shutil.copy(result, tmp / "before.h5")
    failed = failed_rows(result)
    h.stiffit("run", tmp / "p.h5", "--trust", "--warm-start", "pilot", "--retry-failed", code=1)
    expect(result, tmp / "before.h5", tmp / "fresh.h5", failed, "warm")


def test_killed_and_resumed(tmp):
    n = 40
    bad_and_good(tmp / "p.h5", n)
    more = ("--starts", "5", "--max-total-steps", "100000")
    result = h.result_path(tmp / "p.h5")
    h.run(tmp / "p.h5", *more, "-o", tmp / "fresh.h5", code=1)
    h.run(tmp / "p.h5", "--max-evaluations", BUDGET, code=1)
    shutil.copy(result, tmp / "before.h5")
    before = result.read_bytes()
    failed = failed_rows(result)
    assert kill_in_the_middle(tmp / "p.h5", result, 20, ("--retry-failed", *more)), "it ended before it could be killed"
    assert result.read_bytes() == before
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed", code=4)  # other options: another retry
    assert "--restart" in done.stderr, done.stderr
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed", *more, code=1)
    assert "resuming:" in done.stderr
    expect(result, tmp / "before.h5", tmp / "fresh.h5", failed, "resumed")


@h.more
def test_a_journal_that_was_left_behind(tmp):
    """Killed between the rename and the removal of the journal: it must not be in the way of a retry."""
    bad_and_good(tmp / "p.h5")
    result = h.result_path(tmp / "p.h5")
    journal = str(result) + ".journal"
    assert kill_in_the_middle(tmp / "p.h5", result, 1, ("--starts", "40", "--max-evaluations", str(BUDGET)))
    shutil.copytree(journal, tmp / "left")
    h.run(tmp / "p.h5", "--starts", 40, "--max-evaluations", BUDGET, code=1)
    shutil.copytree(tmp / "left", journal)
    h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed", code=1)
    assert not os.path.exists(journal)
    # Of a retry, too; one that is not over is kept.
    assert kill_in_the_middle(tmp / "p.h5", tmp / "other.h5", 1, ("--starts", "40", "--max-evaluations", "4", "--seed", "2"))
    shutil.copytree(tmp / "other.h5.journal", journal)
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed", code=4)
    assert "seed" in done.stderr and os.path.exists(journal), done.stderr
    shutil.rmtree(journal)
    h.run(tmp / "p.h5", "--max-evaluations", BUDGET, "--overwrite", code=1)
    assert kill_in_the_middle(tmp / "p.h5", result, 1, ("--retry-failed", "--starts", "40"))
    shutil.copytree(journal, tmp / "retry")
    h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed", "--starts", 40, code=1)
    shutil.copytree(tmp / "retry", journal)
    h.stiffit("run", tmp / "p.h5", "--trust", "--retry-failed", code=1)
    assert not os.path.exists(journal)


def test_killed_just_before_the_journal_goes(tmp):
    """The result of the retry is there, and so is its journal: the same command finds nothing to do, and removes it."""
    path = tmp / "p.h5"
    h.decay_problem(path, 12)
    h.stiffit("run", path, "--trust", "--max-evaluations", 4, code=1)
    retry = ("run", path, "--trust", "--retry-failed")
    h.stiffit(*retry, code=4, env=faults.environment(tmp, ("__finish", "rename", 1, "after")))
    journal = tmp / "p.result.h5.journal"
    assert journal.exists()
    done = h.stiffit(*retry)
    assert "already complete: 12 fits, 12 converged" in done.stderr and not journal.exists(), done.stderr


if __name__ == "__main__":
    h.main()
