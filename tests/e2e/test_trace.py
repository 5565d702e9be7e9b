#!/usr/bin/env python3
"""`run --only ID --trace FILE`: the fits are repeated to the bit, every evaluation is a row whose objective SciPy confirms, and
what crashes or cannot be written is seen.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import io
import os
import subprocess

import numpy as np

import helpers as h
import oracles as o

h.let_models_crash()

BEFORE = ["id", "task", "evaluation", "kind", "engine", "tighter"]
BEHIND = ["objective", "gradient_norm", "outcome", "steps", "seconds", "reason"]


def parse(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    assert all(None not in row and None not in row.values() for row in rows), "rows of different lengths"
    return rows


def trace(problem, ids, *args, code=0, **keywords):
    """Rows of a trace to standard output."""
    return parse(h.stiffit("run", problem, "--trust", "--only", ids, "--trace", "-", *args, code=code, **keywords).stdout)


def number(row, name):
    return float(row[name]) if row[name] else np.nan


def check_end(row, fits, i):
    """The last row of a fit says what the result's row says, to the bit."""
    assert row["kind"] == "end" and row["outcome"] == fits["status"][i]
    assert [float(row[name]) for name in fits["names"]] == list(fits["parameters"][i])
    for column, field in (("objective", "objective"), ("gradient_norm", "gradient_norm"), ("evaluation", "evaluations"),
                          ("steps", "steps")):
        assert float(row[column]) == fits[field][i], (column, row, fits[field][i])


def test_rows_end_with_the_bits_of_the_result(tmp):
    n = 12
    h.decay_problem(tmp / "p.h5", n)
    for args in ([], ["--optimizer", "lbfgs"], ["--optimizer", "lbfgs", "--gradient", "adjoint"], ["--warm-start", "pilot"],
                 ["--rtol", "1e-4", "--certify", "no"], ["--gradient", "differences"]):
        fits = h.run(tmp / "p.h5", *args, "--overwrite")
        rows = trace(tmp / "p.h5", ",".join(f"d{i}" for i in range(n)), *args)
        assert list(rows[0]) == BEFORE + ["k", "A"] + BEHIND
        for i in range(n):
            mine = [row for row in rows if row["id"] == f"d{i}"]
            check_end(mine[-1], fits, i)
            asked = mine[:-1]
            assert [int(row["evaluation"]) for row in asked] == list(range(fits["evaluations"][i]))
            assert sum(int(row["steps"]) for row in asked) == fits["steps"][i]
            # the optimum is one of the points that were evaluated, and the value is that evaluation's
            there = [row for row in asked if [float(row[p]) for p in "kA"] == list(fits["parameters"][i])]
            assert any(float(row["objective"]) == fits["objective"][i] for row in there), (args, i)
            kinds = {row["kind"] for row in asked}
            assert ("gradient" in kinds) == ("adjoint" in args)
            # sensitivities judge the optimum of difference quotients
            n_sensitive = sum(row["kind"] == "derivatives" for row in asked)
            assert n_sensitive == 1 if "differences" in args else n_sensitive > 1 or "adjoint" in args, (args, n_sensitive)


def test_starts_and_refits_are_traced(tmp):
    h.decay_problem(tmp / "p.h5", 4)
    args = ["--starts", "3", "--profile", "k", "--bootstrap", "2"]
    fits = h.run(tmp / "p.h5", *args)
    rows = trace(tmp / "p.h5", "d2", *args)
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    assert tasks == ["start 0", "start 1", "start 2", "profile k below", "profile k above", "bootstrap 0", "bootstrap 1"], tasks
    ends = {row["task"]: row for row in rows if row["kind"] == "end"}
    assert len(ends) == len(tasks)
    best = min((ends[f"start {k}"] for k in range(3)), key=lambda row: float(row["objective"]))
    assert float(best["objective"]) == fits["objective"][2]
    assert [float(best[p]) for p in "kA"] == list(fits["parameters"][2])
    assert sum(int(ends[f"start {k}"]["evaluation"]) for k in range(3)) == fits["evaluations"][2]
    limits = fits["profile_lower"][2][0], fits["profile_upper"][2][0]
    assert (float(ends["profile k below"]["k"]), float(ends["profile k above"]["k"])) == limits


def most_off(row, r, y, sigma):
    """Of the objective. A prediction is off by rtol of itself (and atol) in a step, and by a hundred times that over all."""
    off = (1e-5 * np.abs(y) + 1e-8) / sigma / number(row, "tighter")
    return np.sum(np.abs(r) * off + 0.5 * off * off) + 1e-8


def test_objectives_are_those_of_the_exact_solution(tmp):
    h.decay_problem(tmp / "p.h5", 3, known_sigma=True)
    with h.h5py.File(tmp / "p.h5") as f:
        dataset, t, value, sigma = (f[f"measurements/{name}"][()] for name in ("dataset", "time", "value", "sigma"))
    for args in ([], ["--optimizer", "lbfgs"], ["--gradient", "differences"]):
        n_gradient = n_quotient = 0
        rows = [row for row in trace(tmp / "p.h5", "d0,d1,d2", *args) if row["kind"] != "end"]
        assert len(rows) > 12
        for row in rows:
            mine = dataset == int(row["id"][1:])
            if row["objective"]:
                k, a = number(row, "k"), number(row, "A")
                y = a * np.exp(-k * t[mine])
                r = (y - value[mine]) / sigma[mine]
                want = 0.5 * r @ r
                assert abs(number(row, "objective") - want) <= most_off(row, r, y, sigma[mine]), (args, row, want)
            else:
                n_quotient += 1  # its gradient is that of the latest row with an objective
            if row["gradient_norm"]:
                n_gradient += "differences" not in args or row["kind"] != "derivatives"  # but that of a certificate
                slopes = np.array([r @ (-k * t[mine] * y / sigma[mine]), r @ (y / sigma[mine])])  # by log k, log A
                growth = 1 + k * t[mine]
                off = (1e-5 * y + 1e-8) / number(row, "tighter") * growth
                if "differences" in args:  # and those of the formula: h^2 / 6 with h = 0.002, times the third derivative
                    off += 1e-6 * growth ** 3 * y
                most = np.sum((y / sigma[mine] + np.abs(r)) * off / sigma[mine])
                assert abs(number(row, "gradient_norm") - np.max(np.abs(slopes))) <= most, (args, row, slopes, most)
        assert n_gradient > 12 and n_quotient == (4 * n_gradient if "differences" in args else 0), (args, n_quotient)


def test_loose_beginnings_are_seen(tmp):
    h.decay_problem(tmp / "p.h5", 1)
    tighter = [number(row, "tighter") for row in trace(tmp / "p.h5", "d0") if row["kind"] != "end"]
    # loose at first, then tighter from stage to stage, and as requested; a certificate of its own is tighter
    assert tighter[0] < 1 and 1 in tighter and tighter == sorted(tighter), tighter


def test_objectives_are_those_of_scipy(tmp):
    _, value, sigma = o.robertson_data(2)
    n_time, n_observable = value.shape[1:]
    rows = np.column_stack([np.repeat(np.arange(2), n_time * n_observable),
                            np.tile(np.repeat(o.ROBERTSON_T, n_observable), 2),
                            np.tile(np.arange(n_observable), 2 * n_time), value.ravel(), sigma.ravel()])
    h.write_problem(tmp / "p.h5", h.model("robertson"), ["r0", "r1"], rows, parameters={
        "name": ["p1", "p2", "p3"], "start": o.ROBERTSON_P, "observables": ["y1", "y2e4", "y3"], "scale": ["log10"] * 3})
    for row in trace(tmp / "p.h5", "r1"):
        if row["kind"] == "end":
            continue
        y = o.robertson_observed(np.array([number(row, name) for name in ("p1", "p2", "p3")]), rtol=1e-11)
        r = (y - value[1]) / sigma[1]
        assert abs(number(row, "objective") - 0.5 * np.sum(r * r)) <= most_off(row, r, y, sigma[1]), (row, 0.5 * np.sum(r * r))


def test_a_fit_that_crashes_shows_where(tmp):
    sound, segfault, leave = 0, 1, 2
    h.decay_problem(tmp / "p.h5", 4, model_name="decay", covariates={"fault": [sound, segfault, leave, sound]})
    args = ["run", tmp / "p.h5", "-m", h.zoo("by_covariate"), "--only", "d0,d1,d2,d3"]
    for target in (tmp / "t.csv", "-"):
        done = h.stiffit(*args, "--trace", target)
        rows = parse(done.stdout if target == "-" else target.read_text())
        for name, signal in (("d1", "signal 11"), ("d2", "exit(0)")):
            last, end = [row for row in rows if row["id"] == name]
            assert last["outcome"] == "crashed" and last["kind"] == "derivatives"
            assert (float(last["k"]), float(last["A"])) == (0.3, 1.0)  # the start: it crashes at once
            assert end["kind"] == "end" and end["outcome"] == "crashed" and signal in end["reason"], end
        for name in ("d0", "d3"):
            assert [row for row in rows if row["id"] == name][-1]["outcome"] == "converged"
        assert rows[0]["id"] == "d0"


def test_bad_data_and_failures_have_rows(tmp):
    rows = [[0, 1, 0, 1, np.nan], [0, 2, 0, 0.5, np.nan], [1, -1, 0, 1, np.nan], [2, 1, 0, 1, np.nan], [2, 2, 0, 0.5, np.nan]]
    h.write_problem(tmp / "p.h5", h.zoo("nan_from_t1"), ["early", "before", "late"], rows)
    ends = {row["id"]: row for row in trace(tmp / "p.h5", "early,before,late") if row["kind"] == "end"}
    assert ends["before"]["outcome"] == "bad_data" and "before" in ends["before"]["reason"]
    assert ends["early"]["outcome"] == "model_failed" and ends["early"]["objective"] == "" and ends["early"]["k"] == ""
    first = [row for row in trace(tmp / "p.h5", "early")][0]
    assert first["outcome"] == "model_failed" and first["objective"] == "" and "finite" in first["reason"]


def test_nothing_else_is_left(tmp):
    h.decay_problem(tmp / "p.h5", 3)
    (tmp / "tmp").mkdir()
    before = sorted(os.listdir(tmp))
    env = h.environment(TMPDIR=tmp / "tmp")
    trace(tmp / "p.h5", "d1", "--starts", "2", "--bootstrap", "3", env=env)
    assert sorted(os.listdir(tmp)) == before and os.listdir(tmp / "tmp") == []
    h.run(tmp / "p.h5")
    mine = h.result_path(tmp / "p.h5").read_bytes()
    trace(tmp / "p.h5", "d1", env=env)
    assert h.result_path(tmp / "p.h5").read_bytes() == mine
    assert os.listdir(tmp / "tmp") == []
    env = h.environment(TMPDIR=tmp / "nowhere")
    said = h.stiffit("run", tmp / "p.h5", "--trust", "--only", "d1", "--trace", "-", code=4, env=env).stderr
    assert "TMPDIR" in said and "nowhere" in said


def test_what_is_there_is_not_overwritten_unasked(tmp):
    h.decay_problem(tmp / "p.h5", 3)
    problem = (tmp / "p.h5").read_bytes()
    said = h.stiffit("run", tmp / "p.h5", "--trust", "--only", "d1", "--trace", tmp / "p.h5", code=4).stderr
    assert "--overwrite" in said and (tmp / "p.h5").read_bytes() == problem
    (tmp / "t.csv").write_text("mine")
    h.stiffit("run", tmp / "p.h5", "--trust", "--only", "d1", "--trace", tmp / "t.csv", code=4)
    h.stiffit("run", tmp / "p.h5", "--trust", "--only", "d1", "--trace", tmp / "t.csv", "--overwrite")
    assert parse((tmp / "t.csv").read_text())[-1]["kind"] == "end"
    h.stiffit("run", tmp / "p.h5", "--trust", "--only", "d1", "--trace", tmp / "no" / "t.csv", code=4)


def test_what_cannot_be_written_is_said(tmp):
    h.decay_problem(tmp / "p.h5", 3)
    args = ["run", tmp / "p.h5", "--trust", "--only", "d1", "--trace"]
    if os.path.exists("/dev/full"):
        said = h.stiffit(*args, "/dev/full", code=4).stderr
        assert "/dev/full" in said and "No space" in said
    process = subprocess.Popen([str(h.STIFFIT), *map(str, args), "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=h.environment())
    process.stdout.close()
    said = process.stderr.read()
    assert process.wait() == 4 and "standard output" in said, said


def test_usage(tmp):
    h.decay_problem(tmp / "p.h5", 3)
    assert "--only" in h.stiffit("run", tmp / "p.h5", "--trace", "-", code=2).stderr
    for other in (["-o", tmp / "r.h5"], ["--in-place"], ["--restart"], ["--json"]):
        h.stiffit("run", tmp / "p.h5", "--only", "d1", "--trace", "-", *other, code=2)
    assert "d9" in h.stiffit("run", tmp / "p.h5", "--trust", "--only", "d9", "--trace", "-", code=(2, 3)).stderr


if __name__ == "__main__":
    h.main()
