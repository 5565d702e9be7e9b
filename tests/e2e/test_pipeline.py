"""The Makefile-driven pipeline of scripts/slurm: import, run, export; parallel, repeatable, only what has changed.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import subprocess
import time

import h5py
import numpy as np

import helpers
from helpers import ROOT, STIFFIT

N_TABLE = 6


def table(path, rate):
    path.write_text("dataset,time,value\n" + "".join(
        f"A{d},{t},{2 * np.exp(-rate * (d + 1) * t):.17g}\n" for d in range(3) for t in (0.5, 1, 2, 4)))


def make(tmp):
    done = subprocess.run(["make", "-j4", "--no-print-directory", f"STIFFIT='{STIFFIT}'"], cwd=tmp, env=helpers.environment(),
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_parallel_pipeline(tmp):
    shutil.copy(ROOT / "scripts/slurm/Makefile.example", tmp / "Makefile")
    shutil.copy(ROOT / "models/decay/decay.ode", tmp / "model.ode")
    for i in range(N_TABLE):
        table(tmp / f"plate{i}.csv", 0.1 * (i + 1))
    make(tmp)
    for i in range(N_TABLE):
        lines = (tmp / f"plate{i}.fits.csv").read_text().splitlines()
        assert len(lines) == 4
        column = lines[0].split(",").index("k")
        for d, line in enumerate(lines[1:]):  # exact data: the optimum is known to the integrator's accuracy
            assert abs(float(line.split(",")[column]) / (0.1 * (i + 1) * (d + 1)) - 1) < 1e-5, line
    assert "stiffit" not in make(tmp)

    time.sleep(0.01)
    table(tmp / "plate2.csv", 0.7)
    later = time.time() + 2
    os.utime(tmp / "plate2.csv", (later, later))
    shown = make(tmp)
    assert shown.count(" run ") == 1 and "plate2" in shown, shown


def test_chunks_of_a_small_file_are_small(tmp):
    """Every process that opens a file unpacks its chunks: those of three datasets must not have room for thousands."""
    helpers.stiffit("simulate", "-m", ROOT / "models/decay/decay.ode", "--times", "1,2", "-n", 3, "--noise", 0.1, "-o",
                    tmp / "p.h5")
    with h5py.File(tmp / "p.h5") as file:
        rows = {name: len(file[name]) for name in ("datasets/id", "datasets/t0", "measurements/value")}
        assert {name: file[name].chunks for name in rows} == {name: (n,) for name, n in rows.items()}


def test_a_pipeline_with_covariates(tmp):
    shutil.copy(ROOT / "scripts/slurm/Makefile.example", tmp / "Makefile")
    text = (ROOT / "models/decay/decay.ode").read_text().splitlines()
    (tmp / "model.ode").write_text("\n".join(["covariate dose", *(line.replace("= A", "= A*dose") for line in text)]) + "\n")
    table(tmp / "plate.csv", 0.3)
    (tmp / "subjects.csv").write_text("dataset,dose\nA0,1\nA1,2\nA2,4\n")
    make(tmp)
    header, *rows = [line.split(",") for line in (tmp / "plate.fits.csv").read_text().splitlines()]
    assert [row[0] for row in rows] == ["A0", "A1", "A2"]
    for row, dose in zip(rows, (1, 2, 4)):  # the data begin at 2
        assert abs(float(row[header.index("A")]) * dose / 2 - 1) < 1e-5, row
    assert not (tmp / "subjects.h5").exists() and "stiffit" not in make(tmp)


if __name__ == "__main__":
    helpers.main()
