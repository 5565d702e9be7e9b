"""Measurements between doses of one time: records of a NONMEM-style table are taken in their order, as NONMEM does; in other
tables and files the sides of doses and measurements say it. Closed forms are the oracle.

SPDX-License-Identifier: BSD-3-Clause
"""
import math

import h5py
import numpy as np

import helpers as h

# parent and metabolite: p' = -k p, m' = k p - q m
MODEL = """parameter k = 0.3 in [1e-3, 1e2] scale log, q = 0.2 in [1e-3, 1e2] scale log
parent(0) = 0; metabolite(0) = 0
parent' = -k*parent
metabolite' = k*parent - q*metabolite
observe p = parent, m = metabolite
"""
LAGGED = MODEL.replace("observe", "lag(parent) = lag\nobserve").replace("parameter q", "q").replace(
    "parameter k", "parameter lag = 0.5 in [1e-3, 1e2]\nparameter k")
ENGINES = ("lanes", "cvodes")


def closed(t, doses, k, q):
    """(p, m) after doses (time, amount into p, into m), all of which are before or at t."""
    p = sum(a*math.exp(-k*(t - s)) for s, a, _ in doses)
    m = sum(a*k/(q - k)*(math.exp(-k*(t - s)) - math.exp(-q*(t - s))) + b*math.exp(-q*(t - s)) for s, a, b in doses)
    return p, m


def predictions(tmp, name, engine):
    h.stiffit("run", name, "--evaluate", "-q", "--engine", engine, "--rtol", "1e-9", "-o", "r.h5", "--overwrite", cwd=tmp)
    rows = h.stiffit("export", "r.h5", "--what", "residuals", cwd=tmp).stdout.splitlines()
    at = rows[0].split(",").index("prediction")
    return [float(row.split(",")[at]) for row in rows[1:]]


def sequence(k, q):
    """A table with four doses at t = 8, measurements of both before, between and after them; and the exact values."""
    doses, rows, exact = [(0, 10, 4)], ["1,0,10,1,0,.", "1,0,4,2,0,."], []

    def measure(t):
        for i in (1, 2):
            exact.append(closed(t, doses, k, q)[i - 1])
            rows.append(f"1,{t},.,.,{i},{exact[-1]:.17g}")

    measure(8)
    for a, b in ((10, 0), (0, 4), (5, 0), (0, -2)):
        rows.append(f"1,8,{a or b},{1 if a else 2},0,.")
        doses.append((8, a, b))
        measure(8)
    measure(10)
    return "ID,TIME,AMT,CMT,DVID,DV\n" + "\n".join(rows) + "\n", exact


def test_records_in_their_order(tmp):
    (tmp / "m.ode").write_text(MODEL)
    text, exact = sequence(0.3, 0.2)
    (tmp / "t.csv").write_text(text)
    h.stiffit("import", "t.csv", "--nonmem", "-m", "m.ode", "-o", "t.h5", cwd=tmp)
    with h5py.File(tmp / "t.h5") as f:
        assert list(f["doses/side"]) == [0, 0, 0, 1, 2, 3]
        assert list(f["measurements/side"]) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 0]
    for engine in ENGINES:
        np.testing.assert_allclose(predictions(tmp, "t.h5", engine), exact, rtol=1e-7)  # --rtol 1e-9 over a few steps
    text, _ = sequence(0.7, 0.1)  # a fit needs derivatives: exact data give their parameters back
    (tmp / "f.csv").write_text(text)
    h.stiffit("import", "f.csv", "--nonmem", "-m", "m.ode", "-o", "f.h5", cwd=tmp)
    for engine in ENGINES:
        h.stiffit("run", "f.h5", "-q", "--engine", engine, "-o", "f.r.h5", "--overwrite", cwd=tmp)
        with h5py.File(tmp / "f.r.h5") as f:
            np.testing.assert_allclose(f["fits/parameters"][0], [0.7, 0.1], rtol=1e-5)  # --rtol 1e-7
    (tmp / "s.csv").write_text("ID,TIME,AMT,CMT,DVID,DV\n" + "1,0,1,1,0,.\n1,0,.,.,1,1\n"*129)
    said = h.stiffit("import", "s.csv", "--nonmem", "-m", "m.ode", "-o", "s.h5", cwd=tmp, code=3).stderr
    assert "s.csv:256: column 'TIME': too many doses at one time" in said, said


def test_sides_of_doses_in_tables(tmp):
    """The same with --doses and a column 'side'. Repetitions have it, too. A lag moves the dose away from the measurement."""
    (tmp / "m.ode").write_text(MODEL)
    (tmp / "l.ode").write_text(LAGGED)
    (tmp / "d.csv").write_text("dataset,time,amount,target,side,interval,count\na,0,10,parent,,8,2\na,0,4,metabolite,1,8,2\n")
    sides = ("before", "", "1", "after", "2", "7", "127")
    (tmp / "t.csv").write_text("dataset,time,observable,value,side\n" + "".join(
        f"a,8,{name},1,{side}\n" for side in sides for name in "pm"))
    h.stiffit("import", "t.csv", "--doses", "d.csv", "-m", "m.ode", "-o", "t.h5", cwd=tmp)
    first = [(0, 10, 4)]
    states = [first, first + [(8, 10, 0)], first + [(8, 10, 0), (8, 0, 4)]]
    expected = [value for state in (0, 0, 1, 1, 2, 2, 2) for value in closed(8, states[state], 0.3, 0.2)]
    for engine in ENGINES:
        np.testing.assert_allclose(predictions(tmp, "t.h5", engine), expected, rtol=1e-7)
    h.stiffit("import", "t.csv", "--doses", "d.csv", "-m", "l.ode", "-o", "l.h5", cwd=tmp)
    late = [[(0.5, 10, 0), (0, 0, 4)], [(0.5, 10, 0), (0, 0, 4), (8, 0, 4)]]
    expected = [value for state in (0, 0, 0, 0, 1, 1, 1) for value in closed(8, late[state], 0.3, 0.2)]
    for engine in ENGINES:
        np.testing.assert_allclose(predictions(tmp, "l.h5", engine), expected, rtol=1e-7)
    for text, words in (("a,8,p,1,128\n", "'128' is not one of"), ("a,8,p,1,1.5\n", "'1.5' is not one of")):
        (tmp / "b.csv").write_text("dataset,time,observable,value,side\n" + text)
        assert words in h.stiffit("import", "b.csv", "-m", "m.ode", cwd=tmp, code=3).stderr
    (tmp / "e.csv").write_text("dataset,time,amount,target,side\na,0,10,parent,127\n")
    done = h.stiffit("import", "t.csv", "--doses", "e.csv", "-m", "m.ode", "-o", "e.h5", cwd=tmp, code=3)
    assert "from 0 to 126" in done.stderr, done.stderr
    with h5py.File(tmp / "t.h5", "r+") as f:
        f["doses/side"][0] = -1
    assert "/doses/side" in h.stiffit("run", "t.h5", "-q", cwd=tmp, code=3).stderr


def test_files_without_sides_are_as_before(tmp):
    """No column is written where no dose has a side."""
    (tmp / "m.ode").write_text(MODEL)
    (tmp / "d.csv").write_text("dataset,time,amount,target\na,0,10,parent\na,8,4,metabolite\n")
    (tmp / "t.csv").write_text("dataset,time,observable,value,side\na,8,p,1,after\na,8,m,1,before\n")
    h.stiffit("import", "t.csv", "--doses", "d.csv", "-m", "m.ode", "-o", "t.h5", cwd=tmp)
    with h5py.File(tmp / "t.h5") as f:
        assert "side" not in f["doses"] and list(f["measurements/side"]) == [1, -1]


if __name__ == "__main__":
    h.main()
