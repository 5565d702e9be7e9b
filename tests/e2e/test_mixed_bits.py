"""Mixed effects: the same bits for any number of workers and ranks and after kills; the same estimates in any order.

SPDX-License-Identifier: BSD-3-Clause
"""
import re
import subprocess
import time

import numpy as np

import helpers as h
import mixed
import test_mixed_linear as linear
from test_ranks import ranks
from test_shared_faults import kill

WORDS = ("--random", "k,A", "--share", "sigma")


def test_workers(tmp):
    """Datasets end in another order; the exact likelihood and Laplace's."""
    problem = linear.Data(90, 5, seed=21).write(tmp / "p.h5", linear.EQUATIONS)
    for how in ("exact", "laplace"):
        first = mixed.run(problem, *WORDS, "--likelihood", how, "-j", 1, "--overwrite")
        for workers in (2, 7):
            again = mixed.run(problem, *WORDS, "--likelihood", how, "-j", workers, "--overwrite", "--restart")
            mixed.same_bits(first, again, (how, workers))


@h.more
def test_ranks(tmp):
    problem = linear.Data(70, 4, seed=22).write(tmp / "p.h5", linear.EQUATIONS)
    first = mixed.run(problem, *WORDS)
    for n in (1, 2, 3, 4) if h.SLOW else (2, 3):
        ranks(n, *problem, *WORDS, "--overwrite", "--restart", "-j", 1 + n % 2, code=0)
        mixed.same_bits(first, mixed.read(h.result_path(problem[0])), n)


@h.more
def test_zero_variance(tmp):
    """A's variance is 0 in the end: its random effects leave the integral, and datasets choose their levels anew."""
    rng, n, times = np.random.default_rng(6), 60, [0.5, 2, 5, 9]
    rows = [(d, t, 0, 3 * np.exp(-k * t) * (1 + 0.3 * rng.standard_normal()), np.nan)
            for d, k in enumerate(0.4 * np.exp(0.3 * rng.standard_normal(n))) for t in times]
    problem = mixed.write(tmp / "p.h5", "parameter k = 0.5 scale log\nparameter A = 2 scale log\n"
                          "parameter s = 0.1 in [1e-4, 10] scale log\ny = A*exp(-k*t)\nobserve c = y sd s*y\n", rows)
    words = ("--random", "k,A", "--share", "s", "--random-covariance", "diagonal")
    first = mixed.run(problem, *words, "-j", 1)
    assert first["covariance"][1, 1] == 0, first["covariance"]
    mixed.same_bits(first, mixed.run(problem, *words, "-j", 2, "--overwrite", "--restart"), 2)
    ranks(2, *problem, *words, "--overwrite", "--restart", code=0)
    mixed.same_bits(first, mixed.read(h.result_path(problem[0])), "ranks")


@h.more
def test_killed(tmp):
    """A run that is killed at any moment, in any of its processes, goes on to the bits of one that was not."""
    n, n_kill = (3000, 12) if h.SLOW and not h.SANITIZE else (400, 4)
    problem = linear.Data(n, 5, seed=23).write(tmp / "p.h5", linear.EQUATIONS)
    began = time.monotonic()
    whole = mixed.run(problem, *WORDS, "-j", 2)
    longest = time.monotonic() - began
    result = h.result_path(problem[0])
    result.unlink()
    rng, steps = np.random.default_rng(5), []
    for k in range(n_kill):
        process = subprocess.Popen([str(word) for word in (h.STIFFIT, "run", *problem, *WORDS, "-j", 1 + k % 3)],
                                   env=h.environment(), stderr=subprocess.PIPE, text=True, start_new_session=True)
        time.sleep(rng.uniform(0.2, 0.9) * longest)
        kill(process, ("group", "supervisor", "child", "term")[k % 4])
        steps += re.findall(r"goes on after (\d+) steps", process.communicate(timeout=300)[1])
        if result.exists():
            mixed.same_bits(mixed.read(result), whole, k)
            result.unlink()
    mixed.same_bits(mixed.run(problem, *WORDS), whole, "at the end")
    assert not list(tmp.glob("*.journal")), list(tmp.iterdir())
    if h.SLOW:
        assert any(int(step) > 0 for step in steps), steps


def test_permuted(tmp):
    """Another order of the datasets: sums are rounded in another order, and nothing else changes."""
    data = linear.Data(50, 5, seed=24)
    problem = data.write(tmp / "p.h5", linear.FORMULA)
    order = np.random.default_rng(1).permutation(data.n)
    value = np.where(data.missing, np.nan, data.rows[:, 3])
    rows = np.concatenate([np.column_stack([np.full(len(mine), k), data.rows[mine, 1:3], value[mine],
                                            np.full(len(mine), np.nan)])
                           for k, d in enumerate(order) for mine in [np.flatnonzero(data.rows[:, 0] == d)]])
    permuted = mixed.write(tmp / "q.h5", linear.FORMULA, rows, ids=[f"d{d}" for d in order])
    for how in ("laplace", "exact"):
        first, second = (mixed.run(p, *WORDS, "--likelihood", how, "--overwrite") for p in (problem, permuted))
        off = np.abs(first["estimate"] - second["estimate"]) / first["standard_error"]
        assert np.max(off) < 1e-6, (how, off)
        assert abs(first["minus_2_log_likelihood"] - second["minus_2_log_likelihood"]) < 1e-6, how
        np.testing.assert_allclose(first["fits"]["parameters"][order], second["fits"]["parameters"], rtol=1e-6)


if __name__ == "__main__":
    h.main()
