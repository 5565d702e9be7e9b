"""import of experiments, doses and inputs by names, and of NONMEM-style tables: what the file then holds is worked out by hand.

SPDX-License-Identifier: BSD-3-Clause
"""
import datetime

import h5py
import numpy as np

import helpers
from helpers import stiffit

TEXT = """parameter k = 0.3, V = 5 scale log
covariate weight
depot(0) = 0
central(0) = 0
depot' = -depot
central' = depot - k*central*weight
observe c = central/V
"""


def strings(column):
    return list(column.asstr()[:])


def write(tmp, **tables):
    (tmp / "m.ode").write_text(TEXT)
    for name, text in tables.items():
        (tmp / (name + ".csv")).write_text(text)


def test_experiments_and_doses(tmp):
    """Rows in any order; experiments of one dataset come together, and doses go to their experiments."""
    write(tmp, m="dataset,experiment,time,value,side\nb,low,1,1,\na,low,2,2,after\nb,high,1,3,before\na,low,1,4,0\n",
          e="dataset,experiment,weight,t0\na,low,70,-1\nb,high,81,\nb,low,80,0\nz,low,1,1\n",
          d="experiment,dataset,time,amount,target,rate,interval,count,duration\n"
            "low,b,3,10,central,5,,,\nhigh,b,0,20,depot,,12,3,\nlow,a,0,30,central,,,,2\n"
            "low,b,1,40,depot,,,,\nno,b,1,1,depot,,,,\n")
    done = stiffit("import", "m.csv", "--experiments", "e.csv", "--doses", "d.csv", "-m", "m.ode", cwd=tmp)
    assert "2 datasets, 3 experiments, 4 doses, 4 measurements" in done.stderr
    assert "1 experiment of e.csv without measurements" in done.stderr
    assert "1 row of d.csv left out (datasets or experiments without measurements)" in done.stderr
    with h5py.File(tmp / "m.h5") as f:
        assert strings(f["datasets/id"]) == ["b", "a"] and "covariates" not in f["datasets"]
        assert list(f["experiments/dataset"]) == [0, 0, 1] and strings(f["experiments/id"]) == ["low", "high", "low"]
        assert list(f["experiments/covariates"][:, 0]) == [80, 81, 70] and list(f["experiments/t0"]) == [0, 0, -1]
        assert list(f["measurements/experiment"]) == [0, 1, 2, 2] and list(f["measurements/value"]) == [1, 3, 2, 4]
        assert list(f["measurements/side"]) == [0, -1, 1, 0] and "dataset" not in f["measurements"]
        doses = f["doses"]
        assert strings(doses["target_names"]) == ["depot", "central"] and list(doses["target"]) == [1, 0, 0, 1]
        assert list(doses["experiment"]) == [0, 0, 1, 2] and list(doses["time"]) == [3, 1, 0, 0]
        assert list(doses["amount"]) == [10, 40, 20, 30] and list(doses["duration"]) == [0, 0, 0, 2]
        assert list(doses["rate"]) == [5, 0, 0, 0]
        assert list(doses["interval"]) == [0, 0, 12, 0] and list(doses["count"]) == [1, 1, 3, 1]
    shown = stiffit("show", "m.h5", cwd=tmp).stdout
    assert "experiments  3\n" in shown and "doses        4\n" in shown and "weight" in shown


def test_doses_of_datasets(tmp):
    """Without experiments rows belong to datasets, and covariates stay with them."""
    write(tmp, m="dataset,time,value\na,1,1\nb,1,2\n", s="dataset,weight\na,70\nb,80\n",
          d="dataset,time,amount,target\nb,0,5,depot\n")
    stiffit("import", "m.csv", "-d", "s.csv", "--doses", "d.csv", "-m", "m.ode", cwd=tmp)
    with h5py.File(tmp / "m.h5") as f:
        assert "experiments" not in f and list(f["doses/dataset"]) == [1] and list(f["datasets/covariates"][:, 0]) == [70, 80]


def test_faults_name_the_line(tmp):
    write(tmp, m="dataset,time,value\na,1,1\nb,1,2\n", s="dataset,weight\na,70\nb,80\n")
    for row, text in (("dataset,time,amount,target\na,0,5,depott\n", "d.csv:2: column 'target': the model has no state "
                       "'depott'; did you mean 'depot'?"),
                      ("dataset,time,amount,target,rate\na,0,5,depot,-2\n", "d.csv:2: column 'rate': the rate must be finite"),
                      ("dataset,time,amount,target,count\na,0,5,depot,2.5\n", "d.csv:2: column 'count': the count must be"),
                      ("dataset,time,amount,target,count\na,0,5,depot,2\n", "the interval of repeated doses must be above 0"),
                      ("dataset,time,amount,target,interval\na,0,5,depot,2\n", "column 'interval': an interval needs a count"),
                      ("dataset,time,amount,target,steady\na,0,5,depot,1\n", "column 'steady': a steady dose needs an"),
                      ("dataset,time,amount,target,steady,interval\na,0,5,depot,3,2\n", "column 'steady': must be 1"),
                      ("dataset,time,amount,target,rate\na,0,5,depot,-1\n", "column 'rate': -1 means what the model gives, but "
                       "it has no rate(depot)"),
                      ("dataset,time,amount,target\na,0,5,depot\nb,-1,5,depot\n", "d.csv:3: column 'time': the dose comes "
                       "before the initial time, 0"),
                      ("dataset,time,amount,target\n1,0,5,depot\n2,0,5,depot\n", "none of its rows belongs to a dataset"),
                      ("dataset,time,amount,target,rate,duration\na,0,5,depot,1,2\n", "a rate or a duration, not both"),
                      ("dataset,time,amount,target,ratee\na,0,5,depot,1\n", "unknown column 'ratee'; did you mean 'rate'?"),
                      ("dataset,time,amount\na,0,5\n", "a column 'target' is needed: the model has 2 states"),
                      ("dataset,time,amount,target\na,0,,depot\n", "d.csv:2: column 'amount': the amount is missing"),
                      ("dataset,experiment,time,amount,target\na,1,0,5,depot\n", "the measurements have none")):
        (tmp / "d.csv").write_text(row)
        done = stiffit("import", "m.csv", "-d", "s.csv", "--doses", "d.csv", "-m", "m.ode", cwd=tmp, code=(2, 3))
        assert text in done.stderr, done.stderr
        assert not (tmp / "m.h5").exists()


NONMEM = """parameter k = 0.3, V = 5 scale log
covariate WT
input TEMP, LIGHT linear
depot(0) = 0
central(0) = 0
depot' = -depot*TEMP
central' = depot*TEMP - k*central*WT - LIGHT
observe c = central/V
observe d = depot
"""


def nonmem(tmp, rows, *options, code=0, text=NONMEM):
    """One record a line; the columns are as in the header below."""
    (tmp / "n.ode").write_text(text)
    (tmp / "n.csv").write_text("ID,TIME,AMT,RATE,DUR,DV,EVID,MDV,CMT,ADDL,II,SS,CENS,LIMIT,DVID,WT,TEMP,LIGHT\n" + rows)
    return stiffit("import", "n.csv", "--nonmem", "-m", "n.ode", "-o", "n.h5", "--overwrite", *options, cwd=tmp, code=code)


def test_nonmem_records(tmp):
    """Every EVID, targets, repetition, infusions, censoring; covariates and inputs; a reset begins another experiment."""
    rows = ("1,1,10,.,.,.,1,1,1,2,12,.,.,.,.,70,20,1\n"     # three doses into the depot, t0 = 1
            "1,1,.,.,.,3,0,0,.,.,.,.,.,.,d,70,20,1\n"        # after the dose of the same time
            "1,2,.,.,.,4,0,.,2,.,.,0,1,.,1,70,21,2\n"        # below 4
            "1,2,6,3,.,.,1,1,2,.,.,.,.,.,.,70,22,2\n"        # an infusion of 2, after that measurement
            "1,3,.,.,.,.,2,1,.,.,.,.,.,.,.,70,23,3\n"        # only covariates
            "1,5,.,.,.,9,0,1,.,.,.,.,.,.,1,70,23,3\n"        # missing
            "1,9,.,.,.,5,0,0,.,.,.,.,.,.,2,.,24,4\n"
            "1,9,.,.,.,.,3,1,.,.,.,.,.,.,.,71,24,4\n"        # reset
            "1,10,.,.,.,6,0,0,.,.,.,.,-1,6.5,1,71,25,4\n"   # between 6 and 6.5
            "1,11,7,.,4,.,4,1,central,.,.,.,.,.,.,72,26,4\n" # reset and a dose by name
            "1,11,.,.,.,7,0,0,.,.,.,.,.,.,1,72,26,4\n"
            "2,0,.,.,.,8,0,0,.,.,.,.,0,5,1,80,20,1\n")       # LIMIT without CENS means nothing
    done = nonmem(tmp, rows)
    assert "2 datasets, 4 experiments, 3 doses" in done.stderr and "6 measurements" in done.stderr, done.stderr
    with h5py.File(tmp / "n.h5") as f:
        assert strings(f["datasets/id"]) == ["1", "2"] and list(f["experiments/dataset"]) == [0, 0, 0, 1]
        assert strings(f["experiments/id"]) == ["1", "2", "3", "1"] and list(f["experiments/t0"]) == [1, 9, 11, 0]
        assert list(f["experiments/covariates"][:, 0]) == [70, 71, 72, 80]
        m = f["measurements"]
        assert list(m["experiment"]) == [0, 0, 0, 1, 2, 3] and list(m["time"]) == [1, 2, 9, 10, 11, 0]
        assert list(m["value"]) == [3, 4, 5, 6, 7, 8] and list(m["observable"]) == [1, 0, 1, 0, 0, 0]
        assert list(m["side"]) == [1, -1, -1, -1, 1, -1] and list(m["censored"]) == [0, 1, 0, -1, 0, 0]
        np.testing.assert_array_equal(m["limit"], [np.nan, np.nan, np.nan, 6.5, np.nan, np.nan])
        assert list(m["line"]) == [3, 4, 8, 10, 12, 13]
        d = f["doses"]
        assert list(d["experiment"]) == [0, 0, 2] and list(d["time"]) == [1, 2, 11] and list(d["amount"]) == [10, 6, 7]
        assert list(d["target"]) == [0, 1, 1] and list(d["count"]) == [3, 1, 1] and "steady" not in d
        assert list(d["duration"]) == [0, 0, 4] and list(d["rate"]) == [0, 3, 0]
        assert d["interval"][0] == 12
        knots = np.array([f["inputs"][name] for name in ("experiment", "input", "time", "value")]).T.tolist()
        # TEMP backward: until 2 the 21 of the first record there, until 3 23, until 9 24; 22 is never seen
        assert [row[2:] for row in knots if row[:2] == [0, 0]] == [[1, 21], [2, 23], [5, 24]], knots
        assert [row[2:] for row in knots if row[:2] == [0, 1]] == [[1, 1], [2, 2], [3, 3], [5, 3], [9, 4]], knots
        assert [row[2:] for row in knots if row[:2] == [1, 0]] == [[9, 25]]
    nonmem(tmp, rows, "--locf", "--cmt", "1=central")
    with h5py.File(tmp / "n.h5") as f:
        knots = np.array([f["inputs"][name] for name in ("experiment", "input", "time", "value")]).T.tolist()
        assert [row[2:] for row in knots if row[:2] == [0, 0]] == [[1, 20], [2, 22], [3, 23], [9, 24]], knots
        assert list(f["doses/target"]) == [1, 1, 1] and list(f["measurements/side"]) == [1, 0, 0, 0, 1, 0]


def test_nonmem_comments(tmp):
    """Records that NM-TRAN leaves out with IGNORE=C, IGNORE=@ or IGNORE=#: the problem is that without them."""
    (tmp / "c.ode").write_text("parameter k = 0.5, v = 10\nA(0) = 0\nA' = -k*A\nobserve cp = A/v\n")
    kept = ["1,0,1,100,.", "1,1,0,.,7.4", "1,2,0,.,5.5", "1,4,0,.,3"]
    head, out = "ID,TIME,EVID,AMT,DV", "1,3,0,.,99"

    def measured(lines):
        (tmp / "c.csv").write_text("\n".join(lines) + "\n")
        done = stiffit("import", "c.csv", "--nonmem", "-m", "c.ode", "-o", "c.h5", "--overwrite", cwd=tmp)
        with h5py.File(tmp / "c.h5") as f:
            return f["measurements/value"][()].tolist(), done.stderr
    rest = kept[3:]
    for mark, name, plain in (("C", "C", "."), ("C", "C", ""), ("C", "c", "0"), ("@", "FLAG", "0"), ("note", "X", ".")):
        values, said = measured([f"{name},{head}", *(f"{plain},{row}" for row in kept[:3]), f"{mark},{out}",
                                 *(f"{plain},{row}" for row in rest)])
        assert values == [7.4, 5.5, 3] and "1 record marked" in said and "line 5" in said, (mark, name, values, said)
    values, said = measured([head + ",C", *(row + ",." for row in kept[:3]), out + ",C", *(row + ",." for row in rest)])
    assert values == [7.4, 5.5, 3], values
    values, said = measured(["#" + head, *kept[:3], "#" + out, *rest])
    assert values == [7.4, 5.5, 3] and "1 record marked" in said, (values, said)
    assert measured(["C," + head, *("1," + row for row in kept)])[0] == [7.4, 5.5, 3]  # a number is no mark
    values, said = measured([head, *(row.replace("1,", "S1,", 1) for row in kept)])  # an ID may be a word
    assert values == [7.4, 5.5, 3] and "note" not in said, (values, said)
    said = measured([head + ",II", *(row + ",12" if ",100," in row else row + ",." for row in kept)])[1]
    assert "1 record with an II but neither ADDL nor SS: II has no effect; the first is line 2" in said, said


def imported(tmp, text, *options, code=0, model="n.ode"):
    (tmp / "t.csv").write_text(text)
    return stiffit("import", "t.csv", "--nonmem", "-m", model, "-o", "t.h5", "--overwrite", *options, cwd=tmp, code=code)


def contents(path):
    """All that a problem file holds of its data, as lists."""
    found = {}
    with h5py.File(path) as f:
        f.visititems(lambda name, item: found.__setitem__(name, item[()].tolist()) if isinstance(item, h5py.Dataset) else None)
    return {name: value for name, value in found.items()
            if not name.startswith("model") and name != "measurements/line"}


def test_nonmem_blanks_between_columns(tmp):
    """Blanks, any number of them, and the line above the header that $TABLE writes: the same problem as with commas."""
    (tmp / "n.ode").write_text("parameter k = 0.5, v = 10\nA(0) = 0\nA' = -k*A\nobserve cp = A/v\n")
    rows = [["ID", "TIME", "EVID", "AMT", "DV"], ["1", "0", "1", "100", "."], ["1", "1", "0", ".", "7.4"],
            ["2", "0.0", "1", "1.0000E+02", "0"], ["2", "2.5000E+00", "0", ".", "5.5"]]
    imported(tmp, "\n".join(map(",".join, rows)) + "\n")
    want = contents(tmp / "t.h5")
    assert want["measurements/value"] == [7.4, 5.5] and want["doses/amount"] == [100, 100]
    wide = "\n".join("".join(f"{field:>12}" for field in row) for row in rows) + "   \n"
    for text in ("\n".join(map(" ".join, rows)) + "\n", wide, "TABLE NO.  1\n" + wide,
                 "#" + " ".join(rows[0]) + "\n" + "\n".join(map(" ".join, rows[1:])), wide.replace("\n", "\n\n   \n")):
        imported(tmp, text)
        assert contents(tmp / "t.h5") == want, text
    assert "there are 4 fields" in imported(tmp, wide + "  1  2 0 .\n", code=3).stderr


def test_nonmem_clock_times(tmp):
    """Hours since the individual's first record, as Python's datetime counts them, in each order of the date."""
    (tmp / "n.ode").write_text("parameter k = 0.5, v = 10\nA(0) = 0\nA' = -k*A\nobserve cp = A/v\n")
    moments = [[datetime.datetime(2023, 12, 31, 22, 15), datetime.datetime(2024, 1, 1, 0, 5),
                datetime.datetime(2024, 3, 1, 6, 0, 30)],
               [datetime.datetime(1999, 2, 27, 9, 0), datetime.datetime(1999, 3, 1, 9, 20),
                datetime.datetime(2000, 3, 1, 9, 0)]]
    hours = [(moment - own[0]).total_seconds() / 3600 for own in moments for moment in own]
    for name, pattern in (("DATE", "%m/%d/%y"), ("DATE", "%m-%d-%Y"), ("DAT1", "%d/%m/%Y"), ("DAT1", "%d.%m.%y"),
                          ("DAT2", "%Y/%m/%d"), ("DAT2", "%y-%m-%d"), ("DAT3", "%Y/%d/%m"), ("DATE", "%Y-%m-%d")):
        text = f"ID,{name},TIME,AMT,DV\n" + "".join(
            f"{i},{moment.strftime(pattern)},{moment.hour}:{moment.strftime('%M:%S')},.,1\n"
            for i, own in enumerate(moments) for moment in own)
        done = imported(tmp, text)
        assert "times are hours since the first record" in done.stderr
        # a difference of doubles that are hours since 1970
        np.testing.assert_allclose(contents(tmp / "t.h5")["measurements/time"], hours, rtol=0, atol=1e-9)
    imported(tmp, "ID,TIME,AMT,DV\n1,8:00,9,.\n1,8:30,.,3\n1,23:45,.,2\n2,4,9,.\n2,5,.,1\n")  # one day, no date
    assert contents(tmp / "t.h5")["measurements/time"] == [0.5, 15.75, 5]
    imported(tmp, "ID,DATE,TIME,AMT,DV\n1,3,8,9,.\n1,4,7.5,.,3\n")  # days and hours as numbers
    assert contents(tmp / "t.h5")["measurements/time"] == [23.5]
    for rows, fault in (("1,2/30/2024,8:00,.,1\n", "'DATE': '2/30/2024' is not a date: month/day/year"),
                        ("1,1/2/2024,24:61,.,1\n", "'TIME': '24:61' is not a time of a day"),
                        ("1,1/2/2024,8:00,.,1\n1,1/2/2024,9,.,1\n", "clock times in some records and numbers in others"),
                        ("1,1/2/2024,8:00,.,1\n1,1/2/2024,7:00,.,1\n", "is before that of the individual's last record"),
                        ("1,1/2/2024,.,.,1\n", "the time is missing")):
        assert fault in imported(tmp, "ID,DATE,TIME,AMT,DV\n" + rows, code=3).stderr


def test_nonmem_cmt_tells_observables(tmp):
    (tmp / "n.ode").write_text("parameter k = 0.5, v = 10, e = 2\nG(0) = 0\nG' = -k*G\nA(0) = 0\nA' = k*G - k*A\n"
                               "observe conc = A/v, effect = e*A\n")
    head, rows = "ID,TIME,CMT,AMT,DV\n", "1,0,1,100,.\n1,1,2,.,7\n1,1,3,.,70\n1,2,2,.,8\n2,0,1,50,.\n2,3,3,.,30\n"
    for options in (("--observables", "2=conc,3=effect"), ("--observables", "2=conc", "--observables", "3=effect")):
        imported(tmp, head + rows, *options)
        found = contents(tmp / "t.h5")
        assert found["measurements/observable"] == [0, 1, 0, 1] and found["measurements/value"] == [7, 70, 8, 30]
        assert found["doses/target"] == [0, 0]
    imported(tmp, head + rows.replace(",3,.", ",effect,."), "--observables", "2=conc")  # by its name
    assert contents(tmp / "t.h5")["measurements/observable"] == [0, 1, 0, 1]
    assert "--observables 2=conc" in imported(tmp, head + rows, code=3).stderr  # what to do
    assert "t.csv:4: column 'CMT': is not one of the numbers" in imported(tmp, head + rows, "--observables", "2=conc",
                                                                        code=3).stderr
    assert "did you mean" in imported(tmp, head + rows, "--observables", "2=conk", code=2).stderr.lower()
    assert "is not NUMBER=NAME" in imported(tmp, head + rows, "--observables", "conc=2", code=2).stderr
    for options, text in ((("--observables", "2=conc,3=effect,2=effect"), "--observables: 2 is both 'conc' and 'effect'"),
                          (("--observables", "2=conc,3=effect", "--cmt", "1=G", "--cmt", "1=A"),
                           "--cmt: 1 is both 'G' and 'A'")):
        assert text in imported(tmp, head + rows, *options, code=2).stderr
    imported(tmp, head + rows, "--observables", "2=conc,3=effect,2=conc", "--cmt", "1=A")  # not the default
    assert contents(tmp / "t.h5")["doses/target"] == [1, 1]
    bql = "ID,TIME,AMT,DV,CMT,LIMIT\n1,0,100,.,1,.\n1,1,.,7,2,1\n"  # without CENS nothing is censored
    assert "column 'LIMIT' is not used" in imported(tmp, bql, "--observables", "2=conc").stderr


def test_nonmem_ignored_characters(tmp):
    """--ignore as NM-TRAN's IGNORE=c: the first character of the line, also where the first column is the ID."""
    (tmp / "n.ode").write_text("parameter k = 0.5, v = 10\nA(0) = 0\nA' = -k*A\nobserve cp = A/v\n")
    text = "ID,TIME,AMT,DV\n1,0,100,.\nC1,1,.,99\n1,1,.,7\nX1,2,.,98\n!1,2,.,97\n1,2,.,6\n"
    done = imported(tmp, text, "--ignore", "C", "--ignore=X", "--ignore", "!")
    assert contents(tmp / "t.h5")["measurements/value"] == [7, 6] and "3 records marked" in done.stderr
    imported(tmp, text.replace("!1,2,.,97\n", ""), "--ignore", "@")
    assert contents(tmp / "t.h5")["measurements/value"] == [7, 6]
    assert "is not one character" in imported(tmp, text, "--ignore", "(DV.EQ.99)", code=2).stderr
    assert "--ignore: is for --nonmem" in stiffit("import", "t.csv", "-m", "n.ode", "--ignore", "C", cwd=tmp, code=2).stderr


def test_nonmem_covariate_that_comes_later(tmp):
    """It is the first value that any record of the individual gives, as in rxode2; another experiment begins with the last."""
    rows = ["1,0,10,1,.,.", "1,1,.,0,60,3", "1,2,.,0,.,2", "1,3,.,3,.,.", "1,4,.,0,.,5", "2,0,10,1,80,.", "2,1,.,0,.,4",
            "3,0,.,0,.,1"]
    (tmp / "w.ode").write_text("parameter k = 0.5\ncovariate WT\nA(0) = 0\nA' = -k*A\nobserve c = A/WT\n")
    (tmp / "w.csv").write_text("ID,TIME,AMT,EVID,WT,DV\n" + "\n".join(rows) + "\n")
    done = stiffit("import", "w.csv", "--nonmem", "-m", "w.ode", "-o", "w.h5", cwd=tmp)
    with h5py.File(tmp / "w.h5") as f:
        np.testing.assert_array_equal(f["experiments/covariates"][:, 0], [60, 60, 80, np.nan])
    assert "w.csv:9: column 'WT': no record of this individual has this covariate" in done.stderr, done.stderr
    assert "1 dataset cannot be fitted" in done.stderr, done.stderr
    assert "1 record with the first value of a covariate, which also holds for the individual's records before it; the " \
           "first is line 3" in done.stderr
    (tmp / "w.csv").write_text("ID,TIME,AMT,EVID,WT,DV\n" + "\n".join(rows[:2] + ["1,2,.,0,70,2"]) + "\n")
    done = stiffit("import", "w.csv", "--nonmem", "-m", "w.ode", "-o", "w.h5", "--overwrite", cwd=tmp, code=3)
    assert "w.csv:4: column 'WT': the covariate was 60 before" in done.stderr, done.stderr


def test_a_new_name_of_a_substitute(tmp):
    """Without a start of its own it has that of the parameter for which it stands; each experiment is then fitted as alone. No
    file is left that a run would refuse."""
    (tmp / "m.ode").write_text("parameter k = 0.3 in [0.1, 2]\nx(0) = 1\nx' = -k*x\nobserve x\n")
    rows = ["a,e1,1,0.7", "a,e1,2,0.5", "a,e2,1,0.5", "a,e2,2,0.3"]
    fit = {}
    for name, lines in (("both", rows), ("e1", rows[:2]), ("e2", rows[2:])):
        (tmp / f"{name}.csv").write_text("dataset,experiment,time,value\n" + "\n".join(lines) + "\n")
        (tmp / "s.csv").write_text("dataset,experiment,parameter,by\na,e1,k,k2\n")
        more = ("--substitutes", "s.csv") if name == "both" else ()
        stiffit("import", f"{name}.csv", "-m", "m.ode", "-o", f"{name}.h5", *more, cwd=tmp)
        stiffit("run", f"{name}.h5", "-q", cwd=tmp)
        with h5py.File(tmp / f"{name}.result.h5") as f:
            fit[name] = dict(zip(strings(f["parameters/name"]), f["fits/parameters"][0]))
    for k, alone in (("k2", "e1"), ("k", "e2")):  # --rtol 1e-7, and the two sums of squares are weighted alike
        np.testing.assert_allclose(fit["both"][k], fit[alone]["k"], rtol=1e-5)
    with h5py.File(tmp / "both.h5") as f:  # a parameter of the file's own, which no other model may drop
        np.testing.assert_array_equal(f["parameters/from_model"][1], 4 * [np.nan])


def test_nonmem_refuses_with_the_line(tmp):
    first = "1,0,10,.,.,.,1,1,1,.,.,.,.,.,.,70,20,1\n"
    for row, text in (("1,1,10,-1,.,.,1,1,1,.,.,.,.,.,.,70,20,1\n", "'RATE': the model has no rate(depot), which -1 means"),
                      ("1,1,10,-2,.,.,1,1,1,.,.,.,.,.,.,70,20,1\n", "'RATE': the model has no duration(depot), which -2 means"),
                      ("1,1,10,.,.,.,1,1,1,.,12,3,.,.,.,70,20,1\n", "column 'SS': 3, a steady state whose search begins"),
                      ("1,1,10,.,.,.,1,1,1,.,12,4,.,.,.,70,20,1\n", "column 'SS': must be 0, 1 or 2"),
                      ("1,1,10,.,.,.,1,1,1,.,.,1,.,.,.,70,20,1\n", "column 'II': must be above 0 where SS is"),
                      ("1,1,0,.,.,.,1,1,1,.,.,1,.,.,.,70,20,1\n", "column 'II': must be above 0 where SS is"),
                      ("1,1,.,.,.,3,0,0,.,.,12,1,.,.,1,70,20,1\n", "column 'SS': a record with this EVID gives no dose"),
                      ("1,1,.,.,.,3,0,0,.,.,.,.,1,4,1,70,20,1\n", "column 'LIMIT': must be below DV"),
                      ("1,1,.,.,.,3,0,0,.,.,.,.,-1,2,1,70,20,1\n", "column 'LIMIT': must be above DV"),
                      ("1,1,.,.,.,3,0,0,.,.,.,.,-1,3,1,70,20,1\n", "column 'LIMIT': must be above DV"),
                      ("1,1,.,.,.,3,0,0,.,.,.,.,1,x,1,70,20,1\n", "column 'LIMIT': "),
                      ("1,1,.,.,.,.,2,1,-1,.,.,.,.,.,.,70,20,1\n", "column 'CMT': must be the number or the name"),
                      ("1,1,10,.,.,.,1,1,3,.,.,.,.,.,.,70,20,1\n", "column 'CMT': is not the number of a state"),
                      ("1,1,10,.,.,.,5,1,1,.,.,.,.,.,.,70,20,1\n", "column 'EVID': must be 0, 1, 2, 3 or 4"),
                      ("1,1,10,.,.,.,0,1,1,.,.,.,.,.,.,70,20,1\n", "column 'AMT': a record with this EVID gives no dose"),
                      ("1,1,10,.,.,.,1,1,1,2,.,.,.,.,.,70,20,1\n", "column 'II': must be above 0 where ADDL is"),
                      ("1,1,10,.,.,.,1,1,1,1.5,4,.,.,.,.,70,20,1\n", "column 'ADDL': must be a whole number, at least 0"),
                      ("1,1,10,.,.,.,1,1,1,-1,4,.,.,.,.,70,20,1\n", "column 'ADDL': must be a whole number, at least 0"),
                      ("1,1,10,5,2,.,1,1,1,.,.,.,.,.,.,70,20,1\n", "column 'RATE': a dose has a RATE or a DUR, not both"),
                      ("1,1,10,-3,.,.,1,1,1,.,.,.,.,.,.,70,20,1\n", "column 'RATE': must be finite and at least 0, or -1"),
                      ("1,1,10,.,-1,.,1,1,1,.,.,.,.,.,.,70,20,1\n", "column 'DUR': must be finite and at least 0"),
                      ("1,1,0,5,.,.,1,1,1,.,.,.,.,.,.,70,20,1\n", "column 'AMT': the amount must be finite, and above 0 with"),
                      ("1,1,.,.,.,3,0,0,.,.,.,.,2,4,1,70,20,1\n", "column 'CENS': must be 0, 1 or -1"),
                      ("1,1,.,.,.,3,0,0,.,.,.,.,.,.,3,70,20,1\n", "column 'DVID': must be the number"),
                      ("1,1,.,.,.,3,0,0,.,.,.,.,.,.,1,75,20,1\n", "column 'WT': the covariate was 70 before"),
                      ("1,-1,.,.,.,3,0,0,.,.,.,.,.,.,1,70,20,1\n", "column 'TIME': is before that of"),
                      ("1,.,.,.,.,3,0,0,.,.,.,.,.,.,1,70,20,1\n", "column 'TIME': the time is missing"),
                      (".,1,.,.,.,3,0,0,.,.,.,.,.,.,1,70,.,1\n", "the first value of an input must be there"),
                      ("2,0,.,.,.,3,0,0,.,.,.,.,.,.,1,70,20,1\n1,3,.,.,.,3,0,0,.,.,.,.,.,.,1,70,20,1\n",
                       "n.csv:4: column 'ID': the individual's records must follow one another")):
        done = nonmem(tmp, first + row, code=3)
        assert text in done.stderr and ("n.csv:4" if "n.csv:4" in text else "n.csv:3") in done.stderr, done.stderr
        assert not (tmp / "n.h5").exists()


def oral(t, ka, k, volume, doses):
    """One compartment with first-order absorption; (time, amount) superposed."""
    since = [(np.maximum(t - time, 0), amount) for time, amount in doses]
    return sum(amount*ka/(volume*(ka - k))*(np.exp(-k*s) - np.exp(-ka*s)) for s, amount in since)


def test_nonmem_doses_superpose(tmp):
    """A repeated dose is the sum of single ones: both files give back what the closed form was made with."""
    text = ("parameter ka = 1, k = 0.1, V = 10 scale log\ndepot(0) = 0\ncentral(0) = 0\ndepot' = -ka*depot\n"
            "central' = ka*depot - k*central\nobserve c = central/V\n")
    (tmp / "o.ode").write_text(text)
    t = np.array([1, 2, 5, 11, 13, 14, 20, 24.5, 26, 30, 40])
    c = oral(t, 1.7, 0.15, 20, [(0, 100), (12, 100), (24, 100), (25, 50)])
    measured = [f"1,{time:.17g},.,{value:.17g},0,0,.,.\n" for time, value in zip(t, c)]
    doses = {"addl": ["1,0,100,.,1,1,2,12\n", "1,25,50,.,1,1,.,.\n"],
             "single": [f"1,{time},100,.,1,1,.,.\n" for time in (0, 12, 24)] + ["1,25,50,.,1,1,.,.\n"]}
    for name, rows in doses.items():
        records = sorted(measured + rows, key=lambda row: float(row.split(",")[1]))
        (tmp / "o.csv").write_text("ID,TIME,AMT,DV,EVID,MDV,ADDL,II\n" + "".join(records))
        stiffit("import", "o.csv", "--nonmem", "-m", "o.ode", "-o", name + ".h5", cwd=tmp)
        stiffit("run", name + ".h5", "-q", cwd=tmp)
        with h5py.File(tmp / (name + ".result.h5")) as f:
            np.testing.assert_allclose(f["fits/parameters"][0], [1.7, 0.15, 20], rtol=1e-5)


STEADY = """parameter ka = 1, k = 0.1, V = 10, D1 = 3, R2 = 2 scale log
depot(0) = 0
central(0) = 0
depot' = -ka*depot
central' = ka*depot - k*central
duration(depot) = D1
rate(central) = R2
observe c = central/V
"""


def test_nonmem_steady_records(tmp):
    """SS 1 and 2 with ADDL; a constant infusion, which ends at its record; what the model says of infusions."""
    (tmp / "s.ode").write_text(STEADY)
    (tmp / "s.csv").write_text("ID,TIME,AMT,RATE,DV,EVID,CMT,ADDL,II,SS\n"
                               "1,0,100,.,.,1,1,2,12,1\n1,3,50,5,.,1,2,.,24,2\n1,4,.,.,7,0,.,.,.,.\n"
                               "2,0,80,-2,.,1,1,.,8,1\n2,1,40,-1,.,1,2,.,.,.\n2,2,.,.,8,0,.,.,.,.\n"
                               "3,5,100,.,.,1,1,.,.,.\n3,6,100,.,.,4,1,.,.,.\n"
                               "4,2,0,6,.,1,2,.,.,1\n4,2,.,.,9,0,.,.,.,.\n4,7,.,.,9,0,.,.,.,.\n"
                               "5,0,100,.,.,1,1,.,.,.\n")
    done = stiffit("import", "s.csv", "--nonmem", "-m", "s.ode", "-o", "s.h5", cwd=tmp)
    assert "2 individuals without measurements left out, the first is '3'" in done.stderr
    assert "3 datasets, 5 doses" in done.stderr
    with h5py.File(tmp / "s.h5") as f:
        d = f["doses"]
        assert strings(f["datasets/id"]) == ["1", "2", "4"] and "experiments" not in f
        assert list(d["dataset"]) == [0, 0, 1, 1, 2] and list(d["steady"]) == [1, 2, 1, 0, 1]
        assert list(d["time"]) == [0, 3, 0, 1, 2] and list(d["amount"]) == [100, 50, 80, 40, 30]
        assert list(d["rate"]) == [0, 5, 0, -1, 0] and list(d["duration"]) == [0, 0, -1, 0, 5]
        assert list(d["interval"]) == [12, 24, 8, 0, 5] and list(d["count"]) == [3, 1, 1, 1, 0]
        assert list(f["measurements/side"]) == [0, 0, 1, 0]


def fit(tmp, name, text, header, rows, expected, *options):
    """A NONMEM-style table with exact data gives back the parameters that it was made with."""
    (tmp / (name + ".ode")).write_text(text)
    (tmp / (name + ".csv")).write_text(header + "\n" + "".join(rows))
    stiffit("import", name + ".csv", "--nonmem", "-m", name + ".ode", "-o", name + ".h5", cwd=tmp)
    done = stiffit("run", name + ".h5", "-q", *options, cwd=tmp)
    with h5py.File(tmp / (name + ".result.h5")) as f:
        np.testing.assert_allclose(f["fits/parameters"][0], expected, rtol=1e-5)
    return done


def measured(t, c):
    return [f"1,{time:.17g},.,{value:.17g},0,.,.,.\n" for time, value in zip(t, c)]


def test_nonmem_steady_superposes(tmp):
    """A steady dose is the sum of all those before; at a half-life of 200 intervals thousands of them matter."""
    text = ("parameter ka = 1, k = %g, V = 10 scale log\ndepot(0) = 0\ncentral(0) = 0\ndepot' = -ka*depot\n"
            "central' = ka*depot - k*central\nobserve c = central/V\n")
    header = "ID,TIME,AMT,DV,EVID,ADDL,II,SS"
    t = np.array([0.5, 1, 2, 5, 11, 13, 14, 20, 24.5, 26, 30, 40])
    doses = [(12*i, 100) for i in range(-100, 3)] + [(24*i + 6, 40) for i in range(-100, 1)]
    c = oral(t, 1.7, 0.15, 20, doses[:103]) + np.where(t >= 6, oral(t, 1.7, 0.15, 20, doses[103:]), 0)
    rows = sorted(measured(t, c) + ["1,0,100,.,1,2,12,1\n", "1,6,40,.,1,.,24,2\n"], key=lambda row: float(row.split(",")[1]))
    fit(tmp, "both", text % 0.1, header, rows, [1.7, 0.15, 20])
    k = np.log(2)/200
    t = np.array([0.1, 0.3, 0.6, 0.9, 50, 100, 200, 400])
    c = oral(t, 1.7, k, 20, [(i, 3) for i in range(-9000, 1)])
    fit(tmp, "slow", text % 0.004, header, ["1,0,3,.,1,.,1,1\n"] + measured(t, c), [1.7, k, 20])


def test_nonmem_steady_saturable(tmp):
    """Saturable elimination against a long simulation by SciPy, bolus and infusion; a dose above Vmax is a failure."""
    from scipy.integrate import solve_ivp
    text = ("parameter Vmax = 8, Km = 3, V = 10 scale log\ncentral(0) = 0\ncentral' = -Vmax*central/(Km*V + central)\n"
            "observe c = central/V\n")
    vmax, km, volume, interval = 9.0, 4.0, 12.0, 8.0

    def simulate(y, span, rate, times=None):
        done = solve_ivp(lambda t, y: rate - vmax*y/(km*volume + y), span, [y], "LSODA", times, rtol=1e-11, atol=1e-11)
        return done.y[0]

    t = np.array([0.5, 1, 2, 4, 6, 8, 12, 20.0])
    for duration in (0.0, 5.0):
        y = 0.0
        for _ in range(600):
            if duration:
                y = simulate(y, (0, duration), 60/duration)[-1]
                y = simulate(y, (duration, interval), 0)[-1]
            else:
                y = simulate(y + 60, (0, interval), 0)[-1]
        if duration:
            early = t[t <= duration]
            begin = simulate(y, (0, duration), 60/duration, np.append(early, duration))
            c = np.append(begin[:-1], simulate(begin[-1], (duration, 20), 0, t[t > duration]))
        else:
            c = simulate(y + 60, (0, 20), 0, t)
        rows = measured(t, c/volume)
        header = "ID,TIME,AMT,DV,EVID,DUR,II,SS"
        fit(tmp, "mm%d" % duration, text, header, [f"1,0,60,.,1,{duration},8,1\n"] + rows, [vmax, km, volume])
    (tmp / "no.csv").write_text(header + "\n1,0,80,.,1,.,8,1\n" + "".join(rows))
    stiffit("import", "no.csv", "--nonmem", "-m", "mm0.ode", "-o", "no.h5", "--fix", "Vmax=8", cwd=tmp)
    stiffit("run", "no.h5", "-q", cwd=tmp, code=1)
    with h5py.File(tmp / "no.result.h5") as f:
        reason = f["fits/message"].asstr()[0]
        assert "no periodic state of the steady doses at t = 0" in reason and "central changes by" in reason, reason


def test_nonmem_modelled_infusions(tmp):
    """RATE -1 and -2: rate and duration are fitted; RATE above 0 stays the rate of the share that arrives."""
    header = "ID,TIME,AMT,DV,EVID,RATE,II,SS"
    t = np.array([0.5, 1, 2, 3, 4, 5, 6, 8, 12, 20.0])

    def infused(t, rate, duration, k, volume):
        runs = np.clip(t, 0, duration)
        return rate/k/volume*(1 - np.exp(-k*runs))*np.exp(-k*np.maximum(t - runs, 0))*(t > 0)

    for word, code, value in (("rate", -1, 16.0), ("duration", -2, 4.0)):
        text = (f"parameter k = 0.2, V = 8, X = 10 scale log\ncentral(0) = 0\ncentral' = -k*central\n{word}(central) = X\n"
                "observe c = central/V\n").replace("X = 10", "X = 10" if code == -1 else "X = 3")
        c = infused(t, 16.0, 4.0, 0.3, 10)
        # several starts: where the infusion ends beside a measurement there are local minima (X = 12.786 for the rate)
        fit(tmp, word, text, header, [f"1,0,64,.,1,{code},.,.\n"] + measured(t, c), [0.3, 10, value], "--starts", 8)
        c = sum(infused(t + 6*i, 16.0, 4.0, 0.3, 10) for i in range(100))
        fit(tmp, word + "s", text, header, [f"1,0,64,.,1,{code},6,1\n"] + measured(t, c), [0.3, 10, value])
    text = ("parameter k = 0.2, V = 8, F = 0.5 scale log\ncentral(0) = 0\ncentral' = -k*central\nbioavailability(central) = F\n"
            "observe c = central/V\n")
    fit(tmp, "share", text, header, ["1,0,64,.,1,8,.,.\n"] + measured(t, infused(t, 8.0, 0.75*64/8, 0.3, 10)), [0.3, 10, 0.75])


def test_nonmem_constant_infusion(tmp):
    text = "parameter k = 0.2, V = 8, R = 5\ncentral(0) = 0\ncentral' = -k*central\nobserve c = central/V\n"
    t = np.array([2, 3, 5, 9.0])
    fit(tmp, "flow", text.replace(", R = 5", ""), "ID,TIME,AMT,DV,EVID,RATE,II,SS",
        ["1,2,0,6,1,6,.,1\n".replace("0,6,1", "0,.,1")] + measured(t, 6/0.3/10*np.exp(-0.3*(t - 2))), [0.3, 10])


def test_nonmem_suggested(tmp):
    write(tmp, n="ID,TIME,AMT,DV,EVID\n1,0,5,.,1\n1,1,.,3,0\n")
    done = stiffit("import", "n.csv", "-m", "m.ode", cwd=tmp, code=3)
    assert "looks like one in NONMEM's style: say --nonmem" in done.stderr


def test_steady_experiments(tmp):
    """An experiment without measurements at whose steady state others begin; replicates keep it, and steady doses."""
    (tmp / "s.ode").write_text("parameter k = 0.3, R = 2 scale log\ncovariate on\nA(0) = 0\nA' = R*on - k*A\nobserve A\n")
    t = np.array([0.5, 1, 2, 4, 8.0])
    a, steady = 3/0.5*np.exp(-0.5*t), sum(4*np.exp(-0.5*(t + 5*i)) for i in range(200))
    noise = 1e-3*np.array([1, -1, 0.5, -1, 0.7])
    write(tmp, m="dataset,experiment,time,value\n" + "".join(
        f"1,wash,{x},{y:.17g}\n" for x, y in zip(t, a + noise)) + "".join(
            f"1,dosed,{x},{y:.17g}\n" for x, y in zip(t, steady - noise)),
          e="dataset,experiment,on,steady\n1,rest,1,\n1,wash,0,rest\n1,dosed,0,\n2,x,1,\n",
          d="dataset,experiment,time,amount,interval,steady\n1,dosed,0,4,5,1\n")
    stiffit("import", "m.csv", "--experiments", "e.csv", "--doses", "d.csv", "-m", "s.ode", cwd=tmp)
    with h5py.File(tmp / "m.h5") as f:
        assert strings(f["experiments/id"]) == ["wash", "dosed", "rest"]
        assert list(f["experiments/steady"]) == [2, -1, -1] and list(f["doses/steady"]) == [1]
    stiffit("run", "m.h5", "-q", cwd=tmp)
    stiffit("simulate", "m.result.h5", "--bootstrap", "3", "--id", "1", "-o", "b.h5", cwd=tmp)
    stiffit("run", "b.h5", "-q", cwd=tmp)
    with h5py.File(tmp / "m.result.h5") as f, h5py.File(tmp / "b.result.h5") as g, h5py.File(tmp / "b.h5") as b:
        np.testing.assert_allclose(f["fits/parameters"][0], [0.5, 3], rtol=2e-3)
        np.testing.assert_allclose(g["fits/parameters"][0], f["fits/parameters"][0], rtol=1e-6)
        np.testing.assert_allclose(g["fits/parameters"][:], np.tile([0.5, 3], (4, 1)), rtol=1e-2)
        assert list(b["experiments/steady"]) == [2, -1, -1, 5, -1, -1, 8, -1, -1, 11, -1, -1]
        assert list(b["doses/steady"]) == [1]*4 and list(b["doses/experiment"]) == [1, 4, 7, 10]


def test_an_experiment_of_missing_values_leaves_nothing_behind(tmp):
    """Its gain for one measurement concerns no other experiment: the data are exact, so the fit has their k."""
    (tmp / "g.ode").write_text("parameter k = 0.7 in [0.01, 100] scale log\nparameter gain = 2\nA(0) = 1\nA' = -k*A\n"
                               "observe y = gain*A\n")
    write(tmp, m="dataset,experiment,time,value\na,missing,1,\na,missing,2,\n" + "".join(
        f"a,given,{t},{2*np.exp(-1.3*t):.17g}\n" for t in (0.5, 1, 2)),
          s="dataset,experiment,parameter,by,value,measurement\na,missing,gain,,50,2\n")
    stiffit("import", "m.csv", "--substitutes", "s.csv", "-m", "g.ode", "--fix", "gain", cwd=tmp)
    stiffit("run", "m.h5", "-q", cwd=tmp)
    with h5py.File(tmp / "m.result.h5") as f:
        np.testing.assert_allclose(f["fits/parameters"][0], [1.3, 2], rtol=1e-6)  # ten times the integrator's tolerance


def test_two_values_of_an_input(tmp):
    (tmp / "m.ode").write_text("parameter k = 1\ninput u\nA(0) = 0\nA' = u - k*A\nobserve A\n")
    (tmp / "m.csv").write_text("time,value\n1,1\n2,1\n")
    (tmp / "i.csv").write_text("time,value\n1,1\n0,2\n1,3\n")
    done = stiffit("import", "m.csv", "--inputs", "i.csv", "-m", "m.ode", cwd=tmp, code=3)
    assert "i.csv:4: an input has a second value at time 1, after that of line 2" in done.stderr


if __name__ == "__main__":
    helpers.main()
