"""Parts of a problem, --shard and --only: their rows are the whole run's rows, bit for bit, whatever was asked for.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 600
"""
import os
import subprocess

import h5py
import numpy as np

import helpers as h
from test_robertson import mixed_problem, robertson_problem
from ways import kill_in_the_middle

TIMES = ("seconds",)
TABLES = ("starts", "profiles", "bootstrap")


def column(dataset, rows=slice(None)):
    data = dataset[()][rows]
    return b"\0".join(data.tolist()) if h5py.check_string_dtype(dataset.dtype) else (data.dtype.str, data.shape, data.tobytes())


def rows_of(path, wanted=None):
    """All rows of /fits and of the tables as bytes, those of the wanted datasets (numbers in the problem) if given."""
    with h5py.File(path) as f:
        n = len(f["fits/id"])
        dataset = f["fits/dataset"][()] if "dataset" in f["fits"] else np.arange(n)
        keep = np.isin(dataset, wanted if wanted is not None else dataset)
        bits = {name: column(f["fits"][name], keep) for name in f["fits"] if name not in (*TIMES, "dataset")}
        bits["dataset"] = dataset[keep].tolist()
        for table in TABLES:
            if table in f:
                keep = np.isin(f[table]["dataset"][()], wanted if wanted is not None else f[table]["dataset"][()])
                bits[table] = {name: column(f[table][name], keep) for name in f[table]}
        return bits


def assert_part_of(part, whole, datasets, what=""):
    a, b = rows_of(part), rows_of(whole, datasets)
    assert a["dataset"] == list(datasets), (what, a["dataset"])
    assert a.keys() == b.keys(), (what, a.keys() ^ b.keys())
    for name in a:
        assert a[name] == b[name], f"{what}: {name} differs"


def shard_name(problem, k, n):
    return str(problem)[:-3] + f".shard-{k}-of-{n}.result.h5"


def provenance(path):
    with h5py.File(path) as f:
        return {name: (value.decode() if isinstance(value, bytes) else value)
                for name, value in f["provenance"].attrs.items()}


def test_shards_are_parts(tmp):
    mixed_problem(tmp / "p.h5", 13)
    options = ("--starts", 2, "--keep-starts", "--seed", 5)
    h.run(tmp / "p.h5", *options, code=1)
    for k in (1, 2, 3):
        done = h.stiffit("run", tmp / "p.h5", "--trust", "--shard", f"{k}/3", *options, code=1 if k == 3 else 0)
        datasets = list(range(k - 1, 13, 3))
        assert f"shard {k} of 3: {len(datasets)} of 13 datasets" in done.stderr, done.stderr
        assert_part_of(shard_name(tmp / "p.h5", k, 3), h.result_path(tmp / "p.h5"), datasets, f"shard {k}")
        assert not os.path.exists(shard_name(tmp / "p.h5", k, 3) + ".journal")
    whole, part = provenance(h.result_path(tmp / "p.h5")), provenance(shard_name(tmp / "p.h5", 2, 3))
    assert part["identity_selection"] == "shard=2/3" and "identity_selection" not in whole
    assert part["selection"] == "shard 2 of 3: 4 of 13 datasets" and "selection" not in whole
    for name in whole:
        if name.startswith("identity_"):
            assert whole[name] == part[name], name
    # Again: already complete, with the same exit code. Another part does not go into its place.
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--shard", "3/3", *options, code=1)
    assert "already complete: 4 fits" in done.stderr
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--shard", "1/2", *options, "-o", shard_name(tmp / "p.h5", 1, 3), code=4)
    assert "datasets there: shard=1/3, here: shard=1/2" in done.stderr, done.stderr
    done = h.stiffit("run", tmp / "p.h5", "--trust", *options, "-o", shard_name(tmp / "p.h5", 1, 3), code=4)
    assert "datasets there: shard=1/3, here: all" in done.stderr, done.stderr


def test_more_shards_than_datasets(tmp):
    h.decay_problem(tmp / "p.h5", 3)
    h.run(tmp / "p.h5")
    for k in (1, 3, 4, 5):
        h.stiffit("run", tmp / "p.h5", "--trust", "--shard", f"{k}/5")
        assert_part_of(shard_name(tmp / "p.h5", k, 5), h.result_path(tmp / "p.h5"), [k - 1] if k <= 3 else [])
        h.stiffit("show", shard_name(tmp / "p.h5", k, 5))


def test_predictions_of_a_part(tmp):
    mixed_problem(tmp / "p.h5", 9)
    h.run(tmp / "p.h5", code=1)
    h.stiffit("run", tmp / "p.h5", "--trust", "--shard", "2/4", code=None)
    for what in ("predictions", "residuals"):
        whole = h.stiffit("export", h.result_path(tmp / "p.h5"), "--what", what, "--trust").stdout.splitlines()
        part = h.stiffit("export", shard_name(tmp / "p.h5", 2, 4), "--what", what, "--trust").stdout.splitlines()
        ids = set(h.read_fits(shard_name(tmp / "p.h5", 2, 4))["id"])
        assert len(ids) == 2 and part == whole[:1] + [line for line in whole[1:] if line.split(",")[0] in ids]


def test_warm_starts_of_shards(tmp):
    mixed_problem(tmp / "p.h5", 11)
    h.run(tmp / "p.h5", "--warm-start", "pilot", code=1)
    with h5py.File(h.result_path(tmp / "p.h5")) as f:
        assert np.any(f["fits/notes"][()] >> 13 & 1), "no warm start"
    for k in (1, 2, 3, 4):
        h.stiffit("run", tmp / "p.h5", "--trust", "--shard", f"{k}/4", "--warm-start", "pilot", code=None)
        assert_part_of(shard_name(tmp / "p.h5", k, 4), h.result_path(tmp / "p.h5"), range(k - 1, 11, 4), f"shard {k}")
    h.stiffit("run", tmp / "p.h5", "--trust", "--only", "r4", "--warm-start", "pilot", code=None)


def test_only(tmp):
    mixed_problem(tmp / "p.h5", 13)
    with h5py.File(tmp / "p.h5") as f:
        ids = list(f["datasets/id"].asstr()[()])
    h.run(tmp / "p.h5", "--starts", 2, code=1)
    h.stiffit("run", tmp / "p.h5", "--trust", "--starts", 2, "--only", ids[4])
    assert_part_of(tmp / f"p.only-{ids[4]}.result.h5", h.result_path(tmp / "p.h5"), [4])
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--starts", 2, "--only", f"{ids[9]},{ids[2]},{ids[9]}", "-o", tmp / "a.h5")
    assert "datasets chosen with --only: 2 of 13 datasets" in done.stderr
    assert_part_of(tmp / "a.h5", h.result_path(tmp / "p.h5"), [2, 9])
    # The order of the names does not matter, neither to the run nor to its name.
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--starts", 2, "--only", ",".join([ids[2], ids[9]]), "-o", tmp / "a.h5")
    assert "already complete" in done.stderr
    h.stiffit("run", tmp / "p.h5", "--trust", "--only", ",".join([ids[2], ids[9]]))
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--only", ",".join([ids[9], ids[2]]))
    assert "already complete" in done.stderr, done.stderr


def test_an_id_with_commas(tmp):
    rows = [(d, t, 0, 2 * np.exp(-t / (d + 3)), 0.1) for d in range(4) for t in (1., 2., 3., 4.)]
    h.write_problem(tmp / "p.h5", h.model("decay"), ["a", "b", "a,b", "c d/e"], rows)
    h.stiffit("run", tmp / "p.h5", "--trust", "--only", "a,b", "-o", tmp / "r.h5")
    assert list(h.read_fits(tmp / "r.h5")["id"]) == ["a,b"]
    h.stiffit("run", tmp / "p.h5", "--trust", "--only", "c d/e")  # its default name holds no slash
    h.stiffit("run", tmp / "p.h5", "--trust", "--only", "b,a,b", "-o", tmp / "s.h5")
    assert list(h.read_fits(tmp / "s.h5")["id"]) == ["a", "b"]


def test_two_shards_at_once(tmp):
    mixed_problem(tmp / "p.h5", 30)
    h.run(tmp / "p.h5", "--starts", 3, code=1)
    running = [subprocess.Popen([str(h.STIFFIT), "run", str(tmp / "p.h5"), "--trust", "--starts", "3", "-j", "1", "--shard",
                                 f"{k}/2"], env=h.environment(), stderr=subprocess.DEVNULL) for k in (1, 2)]
    assert sorted(process.wait() for process in running) == [0, 1]
    for k in (1, 2):
        assert_part_of(shard_name(tmp / "p.h5", k, 2), h.result_path(tmp / "p.h5"), range(k - 1, 30, 2))


def test_a_killed_shard_resumes(tmp):
    robertson_problem(tmp / "p.h5", 20, lower=[1e-4, 1e1, 1e4], upper=[1e2, 1e7, 1e10])
    output = shard_name(tmp / "p.h5", 2, 2)
    assert kill_in_the_middle(tmp / "p.h5", output, 10, ("--shard", "2/2", "--starts", "10", "--max-total-steps",
                                                               "200000")), "it ended before it could be killed"
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--shard", "1/2", "--starts", 10, "--max-total-steps", 200000, "-o",
                     output, code=4)
    assert "shard=2/2" in done.stderr and "shard=1/2" in done.stderr, done.stderr
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--shard", "2/2", "--starts", 10, "--max-total-steps", 200000, code=None)
    assert "resuming:" in done.stderr
    h.stiffit("run", tmp / "p.h5", "--trust", "--starts", 10, "--max-total-steps", 200000, code=None)
    assert_part_of(output, h.result_path(tmp / "p.h5"), range(1, 20, 2))


def test_dealt_by_cost(tmp):
    mixed_problem(tmp / "p.h5", 40)
    h.run(tmp / "p.h5", code=1)
    with h5py.File(h.result_path(tmp / "p.h5")) as f:
        steps = np.maximum(f["fits/steps"][()], 1)
    # Longest processing time first, ties by number: by hand.
    parts, load = [[], [], []], [0, 0, 0]
    for d in sorted(range(40), key=lambda d: (-steps[d], d)):
        k = min(range(3), key=lambda i: (load[i], i))
        parts[k].append(d)
        load[k] += steps[d]
    assert max(load) - min(load) <= max(steps)
    for k in (1, 2, 3):
        done = h.stiffit("run", tmp / "p.h5", "--trust", "--shard", f"{k}/3", "--cost-from", h.result_path(tmp / "p.h5"),
                         code=None)
        assert f"shard {k} of 3, dealt by cost: {len(parts[k - 1])} of 40" in done.stderr, done.stderr
        assert_part_of(shard_name(tmp / "p.h5", k, 3), h.result_path(tmp / "p.h5"), sorted(parts[k - 1]))
    assert provenance(shard_name(tmp / "p.h5", 1, 3))["identity_selection"].startswith("shard=1/3 cost-from=")
    # A part of the costs will do; another problem's will not.
    h.stiffit("run", tmp / "p.h5", "--trust", "--shard", "1/2", "--cost-from", shard_name(tmp / "p.h5", 2, 3), code=None)
    assert len(h.read_fits(shard_name(tmp / "p.h5", 1, 2))["id"]) in range(15, 26)
    h.decay_problem(tmp / "q.h5", 40)
    h.run(tmp / "q.h5")
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--shard", "1/4", "--cost-from", h.result_path(tmp / "q.h5"), code=3)
    assert "result of another problem" in done.stderr


def test_refusals(tmp):
    h.decay_problem(tmp / "p.h5", 3)
    for options, words in (
            (("--shard", "0/8"), "numbered from 1"), (("--shard", "9/8"), "numbered from 1"), (("--shard", "3"), "k/K"),
            (("--shard", "1/0"), "at least 1"), (("--shard", "-1/3"), "k/K"), (("--shard", "1/8x"), "k/K"),
            (("--shard", "slurm"), "not a SLURM job"), (("--only", "d1", "--shard", "1/2"), "exclude"),
            (("--only", "d9"), "no dataset 'd9'"), (("--only", "d1,,d2"), "no dataset ''"), (("--only", ""), "names no"),
            (("--cost-from", "x.h5"), "needs --shard"), (("--in-place", "--shard", "1/2"), "in-place"),
            (("--in-place", "--only", "d1"), "in-place")):
        done = h.stiffit("run", tmp / "p.h5", "--trust", *options, code=2)
        assert words in done.stderr, (options, done.stderr)
    assert "Did you mean 'd" in h.stiffit("run", tmp / "p.h5", "--trust", "--only", "d11", code=2).stderr
    assert os.listdir(tmp) == ["p.h5"]


def slurm(tmp, code, **variables):
    env = {k: v for k, v in h.environment().items() if not k.startswith("SLURM_")}
    env.update({f"SLURM_{k}": str(v) for k, v in variables.items()})
    return h.stiffit("run", tmp / "p.h5", "--trust", "--shard", "slurm", env=env, code=code).stderr


def test_slurm(tmp):
    h.decay_problem(tmp / "p.h5", 10)
    said = slurm(tmp, 0, JOB_ID=7, STEP_ID=0, PROCID=2, NTASKS=4)
    assert "shard 3 of 4: 2 of 10 datasets (task 2 of step 7.0)" in said, said
    assert os.path.exists(shard_name(tmp / "p.h5", 3, 4))
    array = {"JOB_ID": 8, "ARRAY_JOB_ID": 7, "ARRAY_TASK_MIN": 0, "ARRAY_TASK_MAX": 4, "ARRAY_TASK_COUNT": 5,
             "ARRAY_TASK_STEP": 1}
    said = slurm(tmp, 0, ARRAY_TASK_ID=4, PROCID=0, NTASKS=1, **array)
    assert "shard 5 of 5: 2 of 10 datasets (task 4 of array 7, which is 0-4)" in said, said
    said = slurm(tmp, 0, **dict(array, ARRAY_TASK_ID=1, ARRAY_TASK_MIN=1, ARRAY_TASK_MAX=5), STEP_ID=0, PROCID=0, NTASKS=1)
    assert "shard 1 of 5" in said, said
    # A batch script with -n4 is no step; its pseudo step is none either.
    assert "neither a step nor an array" in slurm(tmp, 2, JOB_ID=7, PROCID=0, NTASKS=4)
    assert "neither a step nor an array" in slurm(tmp, 2, JOB_ID=7, STEP_ID=4294967291, PROCID=0, NTASKS=4)
    for change in ({"ARRAY_TASK_MIN": 3, "ARRAY_TASK_MAX": 7, "ARRAY_TASK_COUNT": 2, "ARRAY_TASK_ID": 3},  # --array=3,7
                   {"ARRAY_TASK_MIN": 3, "ARRAY_TASK_MAX": 4, "ARRAY_TASK_COUNT": 2, "ARRAY_TASK_ID": 4},  # resubmitted
                   {"ARRAY_TASK_MAX": 8, "ARRAY_TASK_STEP": 2, "ARRAY_TASK_ID": 2},
                   {"ARRAY_TASK_COUNT": 4, "ARRAY_TASK_ID": 2}, {"ARRAY_TASK_ID": 9}):
        assert "not part of a complete array" in slurm(tmp, 2, **{**array, **change}), change
    assert "not complete" in slurm(tmp, 2, JOB_ID=7, ARRAY_TASK_ID=1)
    assert "both could be meant" in slurm(tmp, 2, STEP_ID=0, PROCID=1, NTASKS=2, ARRAY_TASK_ID=1, **array)
    assert "SLURM_PROCID" in slurm(tmp, 2, JOB_ID=7, STEP_ID=0, PROCID=4, NTASKS=4)


if __name__ == "__main__":
    h.main()
