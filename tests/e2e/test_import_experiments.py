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
            "low,b,3,10,central,5,,,\nhigh,b,0,20,depot,,12,3,\nlow,a,0,30,central,,,,2\nlow,b,1,40,depot,,,,\nno,b,1,1,depot,,,,\n")
    done = stiffit("import", "m.csv", "--experiments", "e.csv", "--doses", "d.csv", "-m", "m.ode", cwd=tmp)
    assert "2 datasets, 3 experiments, 4 doses, 4 measurements" in done.stderr
    assert "1 experiment of e.csv without measurements" in done.stderr and "1 row of d.csv" in done.stderr
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
    for row, text in (("dataset,time,amount,target\na,0,5,depott\n", "d.csv:2: column 'target': the model has no state 'depott'; "
                       "did you mean 'depot'?"),
                      ("dataset,time,amount,target,rate\na,0,5,depot,-2\n", "d.csv:2: column 'rate': the rate must be finite"),
                      ("dataset,time,amount,target,count\na,0,5,depot,2.5\n", "d.csv:2: column 'count': the count must be a whole"),
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


if __name__ == "__main__":
    helpers.main()
