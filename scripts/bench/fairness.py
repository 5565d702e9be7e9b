"""Promise 1 measured: 8 van der Pol datasets of 2000 times the median work placed first, 1000 cheap ones behind, two
workers. When each fit ends is read off the journal while it grows: one record a finished fit.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import io
import os
import pathlib
import struct
import subprocess
import time

import numpy as np
from scipy.integrate import solve_ivp

import helpers as h

N_LONG, N_CHEAP, TIMES_MEDIAN = 8, 1000, 2000
FRAME = 16  # src/io/journal/frame.h
OPTIONS = ["--max-steps", 10**9, "--max-total-steps", 10**12]


class JournalTail:
    """Follows the journal of a run: (dataset, seconds since it was first seen) of each record."""

    def __init__(self, folder):
        self.folder, self.file, self.rest, self.began, self.ends = pathlib.Path(folder), None, b"", None, []

    def poll(self):
        if not self.file:
            try:
                name = next(n for n in os.listdir(self.folder) if n.endswith(".log"))
                self.file = open(self.folder / name, "rb")  # stays readable when the run removes it
            except (OSError, StopIteration):
                return
            self.began = time.monotonic()
        now = time.monotonic() - self.began
        data = self.rest + self.file.read()
        while len(data) >= FRAME:
            length = struct.unpack_from("<I", data, 8)[0]
            if len(data) < FRAME + length:
                break
            if data[:4] == b"STFR":  # not the plan
                self.ends.append((struct.unpack_from("<Q", data, FRAME)[0], now))
            data = data[FRAME + length:]
        self.rest = data


def simulate(mu, times):
    """The program's own trajectory: SciPy would need minutes for the long ones."""
    done = h.stiffit("simulate", "--model", h.model("van-der-pol"), "--set", f"mu={float(mu)!r}",
                     "--times", ",".join(repr(float(t)) for t in times), "--rtol", 1e-6, "--atol", 1e-9)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    return np.array([float(row["value"]) for row in rows])


def write(path, n_long, n_cheap, end_of_long, seed=4):
    """Long ones: many turns of the limit cycle, the last of them measured without error, from a start so near that
    the phase has not slipped by a whole turn: a few evaluations, each as dear as all evaluations of hundreds of cheap
    ones. Cheap ones: a piece of the first turn."""
    rng = np.random.default_rng(seed)
    rows, starts = [], []
    for i in range(n_long):
        mu = rng.uniform(0.9, 1.1)
        times = end_of_long + np.linspace(0, 7, 9)
        rows += [(i, t, 0, y, 1.0) for t, y in zip(times, simulate(mu, times))]
        starts.append(mu * (1 + 1e-7))
    times = np.linspace(0.5, 3.0, 6)
    for i in range(n_long, n_long + n_cheap):
        mu = rng.uniform(0.8, 1.3)
        found = solve_ivp(lambda t, y, mu=mu: [y[1], mu * (1 - y[0]**2) * y[1] - y[0]], (0, 3.0), [2.0, 0.0],
                          t_eval=times, method="LSODA", rtol=1e-9, atol=1e-9)
        value = found.y[0] + 0.01 * rng.standard_normal(len(times))
        rows += [(i, t, 0, y, 0.01) for t, y in zip(times, value)]
        starts.append(1.0)
    h.write_problem(path, h.model("van-der-pol"), [f"v{i}" for i in range(n_long + n_cheap)], rows,
                    parameters={"name": ["mu"], "start": np.array(starts)[:, None], "lower": [0.5], "upper": [2.0],
                                "scale": ["log"], "observables": ["y1"]})
    return path


def follow(problem, output, workers, extra=()):
    """Runs and watches; (end of each dataset in s since the fits began, wall time of the process, /fits)."""
    pathlib.Path(output).unlink(missing_ok=True)
    tail = JournalTail(str(output) + ".journal")
    began = time.monotonic()
    command = [h.STIFFIT, "run", problem, "--trust", "-q", "-j", workers, "-o", output, *OPTIONS, *extra]
    with subprocess.Popen([str(word) for word in command], env=h.environment()) as process:
        while process.poll() is None:
            tail.poll()
            time.sleep(0.001)
        wall = time.monotonic() - began
    if tail.file:
        tail.poll()
        tail.file.close()
    assert process.returncode in (0, 1), process.returncode
    return dict(tail.ends), wall, h.read_fits(output)


def work_of(fits):
    return fits["seconds"]


def calibrate(tmp):
    """The time span that makes a long fit need TIMES_MEDIAN times the median work of a cheap one."""
    cheap = write(tmp / "c.h5", 0, N_CHEAP, 1.0)
    median = np.median([np.median(work_of(follow(cheap, tmp / "c.result.h5", 1)[2])) for _ in range(3)])
    span = 2000.0
    for _ in range(6):
        fits = follow(write(tmp / "l.h5", N_LONG, 0, span), tmp / "l.result.h5", 1)[2]
        ratio = np.mean(work_of(fits)) / median
        if 0.95 < ratio / TIMES_MEDIAN < 1.05:
            break
        span *= min(20.0, max(0.05, TIMES_MEDIAN / ratio))
    return span


def fairness(tmp, repeats=3):
    span = calibrate(tmp)
    cheap = write(tmp / "cheap.h5", 0, N_CHEAP, span)
    mixed = write(tmp / "mixed.h5", N_LONG, N_CHEAP, span)
    rows = []
    for _ in range(repeats):
        alone, _, _ = follow(cheap, tmp / "cheap.result.h5", 2)
        ends, wall, fits = follow(mixed, tmp / "mixed.result.h5", 2)
        single = work_of(follow(mixed, tmp / "single.result.h5", 1)[2])
        if len(ends) < N_LONG + N_CHEAP or len(alone) < N_CHEAP:
            raise RuntimeError("the journal went away before it was read to its end")
        bound = max(single.sum() / 2, single.max())
        whole = max(ends.values())
        rows.append({
            "cheap_alone_s": max(alone.values()), "last_cheap_s": max(t for d, t in ends.items() if d >= N_LONG),
            "whole_s": whole, "process_s": wall, "total_work_s": float(single.sum()), "longest_s": float(single.max()),
            "long_over_median": float(np.mean(single[:N_LONG]) / np.median(single[N_LONG:])),
            "last_cheap_over_alone": max(t for d, t in ends.items() if d >= N_LONG) / max(alone.values()),
            "whole_over_bound": whole / bound,
            "statuses": {s: int(np.sum(fits["status"] == s)) for s in np.unique(fits["status"])}})
    return {"runs": rows, "last_cheap_over_alone": float(np.median([r["last_cheap_over_alone"] for r in rows])),
            "whole_over_bound": float(np.median([r["whole_over_bound"] for r in rows])),
            "long_over_median": float(np.median([r["long_over_median"] for r in rows]))}
