"""Fits over many datasets with shared parameters when something goes wrong: bad datasets and crashes.

SPDX-License-Identifier: BSD-3-Clause
"""
import pathlib
import subprocess

import h5py
import numpy as np

import faults
import helpers as h
from test_crash import problem as crash_problem
from test_shared import FORMULA, NAMES, run, run_file, sample, write


def without(path, gone, out):
    """The problem without these datasets."""
    with h5py.File(path) as f, h5py.File(out, "w") as g:
        for name, value in f.attrs.items():
            g.attrs[name] = value
        kept = np.setdiff1d(np.arange(len(f["datasets/id"])), gone)
        rows = np.isin(f["measurements/dataset"][()], kept)
        for group in f:
            f.copy(group, g)
        for name in f["datasets"]:
            if name.endswith("names"):
                continue
            del g["datasets"][name]
            g["datasets"].create_dataset(name, data=f["datasets"][name][()][kept], dtype=f["datasets"][name].dtype)
        for name in f["measurements"]:
            data = f["measurements"][name][()]
            if len(data) != len(rows):
                continue
            del g["measurements"][name]
            data = np.searchsorted(kept, data[rows]) if name == "dataset" else data[rows]
            g["measurements"].create_dataset(name, data=data)
        if "parameters" in f and f["parameters/start"].ndim == 2:
            start = f["parameters/start"][()]
            del g["parameters/start"]
            g["parameters/start"] = start[kept]
    return out


def compare_left_out(path, gone, model, *words, same=True, env=None):
    """A run that leaves some out, with the run on the problem without them."""
    reduced = without(path, gone, path.with_name("reduced.h5"))
    found = run_file(path, *model, *words, "--leave-out-failed", "--overwrite", code=1, env=env)
    rest = run_file(reduced, *model, *words, "--overwrite")
    assert np.all(rest["status"] == 1), rest["stderr"]
    kept = np.setdiff1d(np.arange(len(found["status"])), gone)
    assert f"warning: {len(gone)} of {len(kept) + len(gone)} datasets" in found["stderr"], found["stderr"]
    assert np.all(np.isnan(found["parameters"][gone])) and np.all(np.isnan(found["objective"][gone]))
    assert np.all(found["notes"][kept] & 1 << 28) and not np.any(found["notes"][gone] & 1 << 28)
    left = {name: column[kept] for name, column in found.items() if name != "stderr" and not name.startswith("shared")}
    left["message"] = rest["message"]
    left["notes"] &= ~np.uint32(1 << 28)
    left["id"] = rest["id"]
    if same:
        faults.same_fits(left, {name: column for name, column in rest.items() if not name.startswith("shared")})
    for name in ("parameters", "standard_error", "objective"):
        np.testing.assert_allclose(left[name], rest[name], rtol=1e-5)
    return found


def test_bad_datasets(tmp):
    """A dataset that cannot be used or evaluated at the start ends the fit: its row says why; the others name it. Or it is
    left out, and the others have the bits of a run without it."""
    y = sample(9, seed=10)
    y[3] = np.nan
    path, model = write(tmp / "a.h5", FORMULA, y)
    found = run(path, model, "--share", "ka", code=1)
    assert found["status"].tolist() == [10, 10, 10, 8, 10, 10, 10, 10, 10]
    assert found["message"][3] == b"no measurement" and b"dataset 'd3': no measurement" in found["message"][0]
    found = compare_left_out(path, [3], ("--model", model), "--share", "ka")
    assert found["status"][3] == 8 and found["message"][3] == b"no measurement"

    y = sample(9, seed=10)
    start = np.tile([1, 5, 0.2, 0.0], (9, 1))
    start[[0, 4], 3] = -1
    text = FORMULA.replace("+ b", "+ sqrt(b + 0.5) - sqrt(0.5)").replace("scale log", "scale log prior normal(1.5, 0.2)", 1)
    path, model = write(tmp / "b.h5", text, y, 0.05, name=NAMES, start=start, level=["shared"] + 3 * ["dataset"])
    found = run(path, model, code=1)
    assert found["status"].tolist() == [6, 10, 10, 10, 6, 10, 10, 10, 10] or found["status"].tolist() == [6] + 8 * [10]
    assert b"dataset 'd0': " in found["message"][1], found["message"]
    # the first one, which is gone, carries the prior: all are evaluated once more
    found = compare_left_out(path, [0, 4], ("--model", model), same=False)
    assert found["status"].tolist() == [6, 1, 1, 1, 6, 1, 1, 1, 1]
    start[0, 3] = 0
    path, model = write(tmp / "d.h5", text, y, 0.05, name=NAMES, start=start, level=["shared"] + 3 * ["dataset"])
    compare_left_out(path, [4], ("--model", model))

    start[4] = [2, 5, 0.2, 0]
    path, model = write(tmp / "c.h5", FORMULA, y, name=NAMES, start=start, level=["shared"] + 3 * ["dataset"])
    for words in ((), ("--leave-out-failed",)):  # which one is wrong is not known
        found = run(path, model, "--overwrite", *words, code=1)
        assert found["status"].tolist() == [10, 10, 10, 10, 8, 10, 10, 10, 10], found["status"]
        assert b"a shared parameter has another start" in found["message"][4]
    y[:] = np.nan
    path, model = write(tmp / "e.h5", FORMULA, y)
    found = run(path, model, "--share", "ka", "--leave-out-failed", code=1)
    assert np.all(found["status"] == 8), found["status"]


def test_crash(tmp):
    """So does a dataset whose model crashes or hangs, or it is left out."""
    h.let_models_crash()
    env = h.environment(STIFFIT_HANG_SECONDS=h.SANITIZER_SPEED)
    for word, status in (("segfault", 7), ("sleep", 4)):
        path = crash_problem(tmp / f"{word}.h5", 12, {5: word})
        found = run_file(path, "--trust", "--share", "k", env=env)
        assert found["status"][5] == status and found["status"].tolist().count(10) == 11
        assert b"dataset 'd5': " in found["message"][0] and b"dataset" not in found["message"][5], found["message"]
        found = compare_left_out(path, [5], ("--trust",), "--share", "k", env=env)
        assert found["status"][5] == status


def test_crash_on_the_way(tmp):
    """A dataset whose model crashes at a later step: the search goes on without it from the latest point."""
    h.let_models_crash()
    path = crash_problem(tmp / "p.h5", 12, {5: "far"})
    with h5py.File(path, "a") as f:
        rows = f["measurements/dataset"][()] == 5
        value = f["measurements/value"][()]
        value[rows] = np.exp(-20 * f["measurements/time"][()][rows])
        f["measurements/value"][...] = value
    found = run_file(path, "--trust", "--share", "A", code=1)
    assert found["status"][5] == 7 and found["status"].tolist().count(10) == 11, found["status"]
    found = compare_left_out(path, [5], ("--trust",), "--share", "A", same=False)
    assert found["status"][5] == 7, found["status"]


def test_one_record_of_a_crash(tmp):
    """The journal has the row of each dataset once, so that it does not matter which of two comes first."""
    h.let_models_crash()
    path = crash_problem(tmp / "p.h5", 12, {5: "segfault"})
    for words in ((), ("--leave-out-failed",)):
        output = tmp / f"{len(words)}.h5"
        command = [h.STIFFIT, "run", path, "--trust", "--share", "k", *words, "-o", output]
        env = faults.environment(tmp, ("__finish", "rename", 1, "after"))
        subprocess.run(command, env=env, timeout=120, check=False, capture_output=True)
        found = sorted(faults.records(pathlib.Path(f"{output}.journal")))
        assert found == list(range(12)), found


if __name__ == "__main__":
    h.main()
