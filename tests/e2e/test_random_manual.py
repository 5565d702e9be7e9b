"""The page of random parameters: its commands run, on theophylline, and print what it shows.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import shutil

import numpy as np

import helpers as h
import mixed
import test_model_manual
from test_recipes import cook

PAGE = h.ROOT / "man/stiffit-population.7"


def write_nonmem(path):
    """The study of data/ as a table in NONMEM's style, a dose record before each subject's samples."""
    with open(h.ROOT / "data/theophylline.csv", newline="") as source, open(path, "w") as out:
        out.write("ID,TIME,AMT,DV,EVID\n")
        before = None
        for row in csv.DictReader(source):
            if row["Subject"] != before:
                out.write(f"{row['Subject']},0,{row['Dose']},.,1\n")
            before = row["Subject"]
            out.write(f"{row['Subject']},{row['Time']},.,{row['conc']},0\n")


def closed_form(tmp):
    """The same data and model without doses: what runs of it need."""
    with open(h.ROOT / "data/theophylline.csv", newline="") as source:
        table = list(csv.DictReader(source))
    ids = list(dict.fromkeys(row["Subject"] for row in table))
    dose = {row["Subject"]: float(row["Dose"]) for row in table}
    text = """parameter ka = 1.5 in [0.3, 100] scale log
parameter V = 0.5 in [0.01, 10] scale log
parameter Cl = 0.04 in [1e-3, 1] scale log
parameter add = 0.5 in [1e-3, 10] scale log
covariate dose
observe DV = dose*ka/(V*(ka - Cl/V))*(exp(-Cl/V*t) - exp(-ka*t)) sd add
"""
    rows = [[ids.index(row["Subject"]), float(row["Time"]), 0, float(row["conc"]), np.nan] for row in table]
    return mixed.write(tmp / "closed.h5", text, rows, covariates={"dose": [dose[i] for i in ids]}, ids=ids)


def brief(text):
    """Fewer replicates, and no picture without gnuplot."""
    lines = text.replace("--population 200", "--population 3").splitlines()
    return "\n".join(line for line in lines if "--vpc" not in line or shutil.which("gnuplot"))


def test_doses_are_no_kinks(tmp):
    """A dose at the beginning moves no prediction across a measurement. Climbs to modes that did not end were taken for kinks:
    the integrals became sums over other points, took eight times the evaluations, and had a wrong value."""
    words = ("--random", "ka,V,Cl", "--share", "add", "-j", "1")
    write_nonmem(tmp / "theo.csv")
    kinetics = "gut(0) = 0; central(0) = 0\ngut' = -ka*gut\ncentral' = ka*gut - Cl/V*central\n"
    closed = closed_form(tmp)
    parameters = closed[2].read_text().split("covariate")[0]
    (tmp / "theo.ode").write_text(parameters + kinetics + "observe DV = central/V sd add\n")
    h.stiffit("import", tmp / "theo.csv", "--nonmem", "--model", tmp / "theo.ode", "-o", tmp / "p.h5", "-q")
    for how in ("diagonal", "full"):
        right = mixed.run(closed, *words, "--random-covariance", how, "--overwrite")["minus_2_log_likelihood"]
        found = mixed.run([tmp / "p.h5"], *words, "--random-covariance", how, "--overwrite")
        assert abs(found["minus_2_log_likelihood"] - right) < 1e-4, (how, found["minus_2_log_likelihood"], right)
        assert "quotients" not in found["stderr"] and found["fits"]["evaluations"].sum() < 200_000, found["stderr"]
    shown = h.stiffit("show", h.result_path(tmp / "p.h5")).stdout  # with all correlations, none of which is 1
    assert "the covariance is singular" in shown, shown


@h.more
def test_page(tmp):
    displays = [(kind, text) for kind, text, _ in test_model_manual.displays(PAGE, "sh|output|shown")]
    write_nonmem(tmp / "theo.csv")
    assert (tmp / "theo.csv").read_text().startswith(displays[0][1].strip())
    cook(tmp, [(kind, brief(text)) for kind, text in displays if kind != "shown"])


if __name__ == "__main__":
    h.main()
