#!/usr/bin/env python3
"""import of events that the data call and of substitutes: the same problem as test_periods writes by hand.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np

import helpers
import test_periods as periods


def write_tables(tmp, seed=5):
    """The same as tables, whose rows come in any order."""
    ids = ["pre", "main", "other"]
    measured, swaps, calls = [], [], []
    values, line = iter(np.asarray(periods.data()).tolist()), 2
    for name, it in zip(ids, periods.EXPERIMENTS):
        calls += [f"{name},{t},{event}" for t, event in it["events"]]
        both = lambda by: f"{by}," if isinstance(by, str) else f",{by}"
        swaps += [f"{name},{parameter},{both(by)},{'' if t is None else t}," for t, parameter, by in it["substitutes"]]
        for k, t in enumerate(it["times"]):
            swaps += [f"{name},{parameter},{both(by)},,{line}" for parameter, by in periods.own(k, it)]
            measured += [f"{name},{float(t)!r},{o},{next(values)!r}" for o in "ba"]
            line += 2
    shuffle = np.random.default_rng(seed).permutation
    for path, header, lines in (
            ("m", "experiment,time,observable,value", measured),  # in the order of lines that swaps mean
            ("e", "experiment,steady", ["main,pre", "pre,", "other,"]),
            ("ev", "experiment,time,event", calls),  # those at one time happen at once, whatever their order
            ("s", "experiment,parameter,by,value,time,measurement", list(shuffle(swaps)))):
        (tmp / f"{path}.csv").write_text("\n".join([header, *lines]) + "\n")
    (tmp / "m.ode").write_text(periods.MODEL)
    return ["import", "m.csv", "--experiments", "e.csv", "--events", "ev.csv", "--substitutes", "s.csv", "-m", "m.ode",
            "--overwrite"]


def test_import(tmp):
    """Tables by names make the same problem."""
    command = write_tables(tmp)
    fixed = [word for name in periods.MODEL_NAMES if name not in periods.NAMES for word in ("--fix", name)]
    starts = [word for name, start in zip(periods.NAMES, periods.START)
              for word in ("--start", f"{name}={float(start)!r}", "--scale", f"{name}=log")]
    done = helpers.stiffit(*command, *fixed, *starts, "-o", "i.h5", cwd=tmp)
    assert "1 dataset, 3 experiments, 7 events" in done.stderr, done.stderr
    by_hand, imported = helpers.run(periods.write(tmp / "p.h5")), helpers.run(tmp / "i.h5")
    with h5py.File(tmp / "i.h5") as f:
        names = list(f["parameters/name"].asstr())
    # `offset` has another one in experiment `main` only; the steady state is another experiment
    assert set(names) == {*periods.NAMES, *periods.MODEL_NAMES}, names
    assert imported["status"][0] == "converged"
    np.testing.assert_allclose(imported["objective"][0], by_hand["objective"][0], rtol=1e-7)
    order = [names.index(name) for name in periods.NAMES]
    error = by_hand["standard_error"][0]
    assert np.all(np.abs(imported["parameters"][0][order] - by_hand["parameters"][0]) < 1e-3 * error)
    np.testing.assert_allclose(imported["standard_error"][0][order], error, rtol=1e-3)


def test_import_chooses_parameters(tmp):
    """New names have the start, bounds, scale and prior of what they stand for; what nobody needs is left out."""
    (tmp / "m.ode").write_text("parameter k = 0.3 in [0.1, 2] scale log prior normal(0.5, 0.1)\n"
                               "parameter A = 2, B = 1 in [0, 9]\nevent e: x = A\nx(0) = B\nx' = -k*x\nobserve x\n")
    (tmp / "m.csv").write_text("dataset,time,value,sigma\none,1,1,1\ntwo,1,2,1\none,2,3,1\n")
    (tmp / "s.csv").write_text("dataset,parameter,by,value\none,k,k_one,\ntwo,k,k_two,\ntwo,B,,4\nno,k,k_no,\n")
    (tmp / "p.csv").write_text("parameter,start,upper\nk_two,0.4,3\n")
    done = helpers.stiffit("import", "m.csv", "--substitutes", "s.csv", "-p", "p.csv", "-m", "m.ode",
                           "--start", "k_one=0.7", cwd=tmp)
    for words in ("1 row of s.csv left out", "3 substitutes, 3 measurements, 4 parameters"):
        assert words in done.stderr, done.stderr
    with h5py.File(tmp / "m.h5") as f:
        it = f["parameters"]
        assert list(it["name"].asstr()) == ["A", "B", "k_one", "k_two"], list(it["name"])
        assert list(it["start"]) == [2, 1, 0.7, 0.4] and list(it["lower"]) == [-np.inf, 0, 0.1, 0.1]
        assert list(it["upper"]) == [np.inf, 9, 2, 3] and list(it["scale"].asstr()) == ["lin", "lin", "log", "log"]
        assert list(it["prior"].asstr()) == ["none", "none", "normal", "normal"] and list(it["prior_location"][2:]) == [0.5] * 2
        rows = f["substitutes"]
        assert list(rows["dataset"]) == [0, 1, 1] and list(rows["by"]) == [2, 3, -1] and "time" not in rows
        assert list(rows["parameter_names"].asstr()) == ["k", "A", "B"] and list(rows["parameter"]) == [0, 0, 2]
        assert rows["value"][2] == 4 and "measurement" not in rows
    helpers.stiffit("run", "m.h5", "--max-evaluations", 1, "--quiet", cwd=tmp, code=(0, 1))


def test_import_names_the_line(tmp):
    command = write_tables(tmp)
    swaps, calls = (tmp / "s.csv").read_text(), (tmp / "ev.csv").read_text()
    head = "experiment,parameter,by,value,time,measurement\n"
    for row, words in (
            ("main,k3,k1,,,", "s.csv:2: column 'parameter': the model has no parameter 'k3'"),
            ("main,k1,k2,3,,", "s.csv:2: column 'parameter': needs either a parameter in the column 'by' or a number in"),
            ("main,k1,,,,", "s.csv:2: column 'parameter': needs either"),
            ("main,gain,g,,2,4", "s.csv:2: column 'time': what holds for one measurement has no time"),
            ("main,gain,g,,,1", "s.csv:2: column 'measurement': no measurement of this experiment is on line 1 of its table"),
            ("other,gain,g,,,4", "no measurement of this experiment is on line 4"),
            ("main,gain,g,,,2.5", "no measurement of this experiment is on line 2.5"),
            ("main,k1,k2,,0,", "s.csv:2: column 'time': must be after the initial time, 0"),
            ("main,k1,k2,,-1,", "s.csv:2: column 'time': must be after"),
            ("main,k1,k2,,inf,", "s.csv:2: column 'time': must be after"),
            ("main,k1,k2,,2,\npre,k1,k2,,2,\nmain,k1,,7,2,", "s.csv:4: the parameter has a second substitute for the same "
             "time, after that of line 2"),
            ("main,k1,k2,,,\nmain,k1,,7,,", "s.csv:3: the parameter has a second substitute for the same time"),
            ("main,gain,g,,,4\nmain,gain,g,,,4", "s.csv:3: the parameter has a second substitute for the same measurement"),
            ("nowhere,k1,k2,,,", "s.csv: none of its rows belongs to a dataset and an experiment with measurements")):
        (tmp / "s.csv").write_text(head + row + "\n")
        assert words in helpers.stiffit(*command, cwd=tmp, code=3).stderr, words
    (tmp / "s.csv").write_text(swaps)
    for text, words in (
            (calls.replace("reset", "rest", 1), ": column 'event': the model has no event 'rest'; did you mean 'reset'?"),
            ("experiment,time,event\nmain,-1,reset\n", "ev.csv:2: column 'time': the event comes before the initial time, 0"),
            ("experiment,time,event\nmain,,reset\n", "ev.csv:2: column 'time': the time is missing or infinite"),
            ("experiment,time\nmain,1\n", "ev.csv: a column 'event' is needed: the model has 3 events"),
            ("experiment,tiem,event\nmain,1,reset\n", "'time'")):
        (tmp / "ev.csv").write_text(text)
        assert words in helpers.stiffit(*command, cwd=tmp, code=3).stderr, words
    assert not (tmp / "m.h5").exists()


if __name__ == "__main__":
    helpers.main()
