"""The page of random parameters: its commands run, on theophylline, and print what it shows.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import shutil

import helpers as h
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


def brief(text):
    """Fewer replicates, and no picture without gnuplot."""
    lines = text.replace("--population 200", "--population 3").splitlines()
    return "\n".join(line for line in lines if "--vpc" not in line or shutil.which("gnuplot"))


@h.more
def test_page(tmp):
    displays = [(kind, text) for kind, text, _ in test_model_manual.displays(PAGE, "sh|output|shown")]
    write_nonmem(tmp / "theo.csv")
    assert (tmp / "theo.csv").read_text().startswith(displays[0][1].strip())
    cook(tmp, [(kind, brief(text)) for kind, text in displays if kind != "shown"])


if __name__ == "__main__":
    h.main()
