"""Merging 64 shards with a million fits: seconds and memory; a part of bench.py.

SPDX-License-Identifier: BSD-3-Clause

The first shard is really fitted; the others are copies of it with other row numbers, as their fits would only cost time. So
each of its rows must come 64 times in the merged result.
"""
import shutil

import h5py
import numpy as np

import helpers
from measure import measure


def make_shards(folder, n_fit, n_shard):
    problem = folder / "p.h5"
    helpers.decay_problem(problem, n_fit, n_time=4)
    helpers.stiffit("run", problem, "--trust", "-q", "--shard", f"1/{n_shard}", code=(0, 1))
    first = folder / f"p.shard-1-of-{n_shard}.result.h5"
    for k in range(2, n_shard + 1):
        path = folder / f"p.shard-{k}-of-{n_shard}.result.h5"
        shutil.copy(first, path)
        rows = np.arange(k - 1, n_fit, n_shard)
        with h5py.File(path, "r+") as file:
            for column in file["fits"].values():
                column.resize(len(rows), axis=0)
            file["fits/dataset"][...] = rows
            file["provenance"].attrs["identity_selection"] = f"shard={k}/{n_shard}"
    return problem, first


def merge(folder, n_fit, n_shard=64):
    """Wall and CPU seconds and memory of `stiffit merge`; what it has written is looked at. n_fit: a multiple of n_shard."""
    problem, first = make_shards(folder, n_fit, n_shard)
    figures = measure([helpers.STIFFIT, "merge", problem, "-q"], folder / "figures.json", env=helpers.environment())
    assert figures["code"] in (0, 1), figures
    with h5py.File(helpers.result_path(problem)) as merged, h5py.File(first) as shard:
        for name in ("id", "parameters", "status", "covariance"):
            there, given = merged["fits"][name][()], shard["fits"][name][()]
            assert there.tobytes() == np.repeat(given, n_shard, axis=0).astype(there.dtype).tobytes(), name
    return figures
