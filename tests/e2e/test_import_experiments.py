"""import of experiments, doses and inputs by names, and of NONMEM-style tables: what the file then holds is worked out by hand.

SPDX-License-Identifier: BSD-3-Clause
"""
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
        assert list(doses["amount"]) == [10, 40, 20, 30] and list(doses["duration"]) == [2, 0, 0, 2]
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
            "1,10,.,.,.,6,0,0,.,.,.,.,.,.,1,71,25,4\n"
            "1,11,7,.,4,.,4,1,central,.,.,.,.,.,.,72,26,4\n" # reset and a dose by name
            "1,11,.,.,.,7,0,0,.,.,.,.,.,.,1,72,26,4\n"
            "2,0,.,.,.,8,0,0,.,.,.,.,.,.,1,80,20,1\n")
    done = nonmem(tmp, rows)
    assert "2 datasets, 4 experiments, 3 doses" in done.stderr and "6 measurements" in done.stderr, done.stderr
    with h5py.File(tmp / "n.h5") as f:
        assert strings(f["datasets/id"]) == ["1", "2"] and list(f["experiments/dataset"]) == [0, 0, 0, 1]
        assert strings(f["experiments/id"]) == ["1", "2", "3", "1"] and list(f["experiments/t0"]) == [1, 9, 11, 0]
        assert list(f["experiments/covariates"][:, 0]) == [70, 71, 72, 80]
        m = f["measurements"]
        assert list(m["experiment"]) == [0, 0, 0, 1, 2, 3] and list(m["time"]) == [1, 2, 9, 10, 11, 0]
        assert list(m["value"]) == [3, 4, 5, 6, 7, 8] and list(m["observable"]) == [1, 0, 1, 0, 0, 0]
        assert list(m["side"]) == [1, -1, -1, -1, 1, -1] and list(m["censored"]) == [0, 1, 0, 0, 0, 0]
        assert list(m["line"]) == [3, 4, 8, 10, 12, 13]
        d = f["doses"]
        assert list(d["experiment"]) == [0, 0, 2] and list(d["time"]) == [1, 2, 11] and list(d["amount"]) == [10, 6, 7]
        assert list(d["target"]) == [0, 1, 1] and list(d["duration"]) == [0, 2, 4] and list(d["count"]) == [3, 1, 1]
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


def test_nonmem_refuses_with_the_line(tmp):
    first = "1,0,10,.,.,.,1,1,1,.,.,.,.,.,.,70,20,1\n"
    for row, text in (("1,1,10,-1,.,.,1,1,1,.,.,.,.,.,.,70,20,1\n", "column 'RATE': modelled rates are not supported"),
                      ("1,1,10,-2,.,.,1,1,1,.,.,.,.,.,.,70,20,1\n", "column 'RATE': modelled durations are not supported"),
                      ("1,1,10,.,.,.,1,1,1,.,12,1,.,.,.,70,20,1\n", "column 'SS': doses at steady state"),
                      ("1,1,.,.,.,3,0,0,.,.,.,.,1,2,1,70,20,1\n", "column 'LIMIT': censoring to an interval"),
                      ("1,1,.,.,.,.,2,1,-1,.,.,.,.,.,.,70,20,1\n", "column 'CMT': must be the number or the name"),
                      ("1,1,10,.,.,.,1,1,3,.,.,.,.,.,.,70,20,1\n", "column 'CMT': is not the number of a state"),
                      ("1,1,10,.,.,.,5,1,1,.,.,.,.,.,.,70,20,1\n", "column 'EVID': must be 0, 1, 2, 3 or 4"),
                      ("1,1,10,.,.,.,0,1,1,.,.,.,.,.,.,70,20,1\n", "column 'AMT': a record with this EVID gives no dose"),
                      ("1,1,10,.,.,.,1,1,1,2,.,.,.,.,.,70,20,1\n", "column 'II': must be above 0 where ADDL is"),
                      ("1,1,.,.,.,3,0,0,.,.,.,.,.,.,3,70,20,1\n", "column 'DVID': must be the number"),
                      ("1,1,.,.,.,3,0,0,.,.,.,.,.,.,1,75,20,1\n", "column 'WT': the covariate was 70 before"),
                      ("1,-1,.,.,.,3,0,0,.,.,.,.,.,.,1,70,20,1\n", "column 'TIME': is before that of"),
                      ("1,.,.,.,.,3,0,0,.,.,.,.,.,.,1,70,20,1\n", "column 'TIME': the time is missing"),
                      (".,1,.,.,.,3,0,0,.,.,.,.,.,.,1,70,.,1\n", "the first value of an input must be there"),
                      ("1,0,.,.,.,3,0,0,.,.,.,.,.,.,1,70,20,1\n1,0,5,.,.,.,1,1,1,.,.,.,.,.,.,70,20,1\n",
                       "n.csv:4: column 'TIME': a second dose at one time"),
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


if __name__ == "__main__":
    helpers.main()
