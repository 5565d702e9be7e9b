"""Groups of datasets, which may lie on any ranks, and L-BFGS on several ranks: the same bits as in one process.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import signal

import numpy as np

import faults
import helpers as h
import test_shared_groups as groups
from test_crash import problem as crash_problem
from test_ranks import children, compare, fit, ranks, supervisors, wait_for
from test_ranks_refits import ALL, tables
from test_shared import EQUATIONS, FORMULA, read, run_file, sample, write


def grouped(path, text, n, share):
    """n datasets; plates of neighbours, and operators that work on all plates."""
    plate, operator = np.arange(n) // 5, np.arange(n) % 3
    y = groups.sample(n, {3: plate}, seed=n)
    path, model = groups.write(path, text, y, {"plate": plate, "operator": operator})
    return path, "--model", model, "--share", share


@h.more
def test_groups(tmp):
    """Whole and divided groups on a rank; a column that is eliminated and one that counts as shared; ranks without datasets."""
    cases = ((FORMULA, 33, "ka,b@plate", (1, 2, 3, 4) if h.SLOW else (2, 3)), (EQUATIONS, 20, "ka@operator,b@plate", (3,)),
             (FORMULA, 20, "b@operator", (4,)), (FORMULA, 3, "b@plate", (2, 4) if h.SLOW else (4,)))
    for i, (text, n, share, numbers) in enumerate(cases):
        found = compare(*grouped(tmp / f"p{i}.h5", text, n, share), numbers=numbers)
        assert np.all(found["status"] == 1)


@h.more
def test_lbfgs(tmp):
    """With and without groups."""
    path, model = write(tmp / "a.h5", EQUATIONS, sample(13, seed=3), 0.05)
    compare(path, "--model", model, "--share", "ka", "--optimizer", "lbfgs", numbers=(1, 3) if h.SLOW else (3,))
    compare(*grouped(tmp / "b.h5", FORMULA, 12, "ka,b@plate"), "--optimizer", "lbfgs", numbers=(2, 4) if h.SLOW else (4,))


@h.more
def test_refits(tmp):
    """Starts, profiles and bootstrap replicates; datasets that are left out, all of the first rank among them."""
    few = ("--optimizer", "lbfgs", "--starts", 2, "--bootstrap", 2, "--keep-starts", "--keep-bootstrap")
    for share, words in (("ka,b@plate", ALL), ("ka,k", few)):
        words = (*grouped(tmp / f"{len(words)}.h5", FORMULA, 12, share), *words)
        first = run_file(*words)
        kept = tables(words[0])
        for n in (2, 3) if h.SLOW else (3,):
            faults.same_fits(fit(n, *words, "--overwrite", "--restart"), first, (share, n))
            assert tables(words[0]) == kept, (share, n)
    y = groups.sample(12, {3: np.arange(12) // 5}, seed=1)
    y[:3] = y[7] = np.nan
    path, model = groups.write(tmp / "out.h5", FORMULA, y, {"plate": np.arange(12) // 5})
    found = compare(path, "--model", model, "--share", "ka,b@plate", "--leave-out-failed", numbers=(2, 4) if h.SLOW else (4,),
                    code=1)
    assert np.sum(found["status"] == 1) == 8


def test_crash(tmp):
    """A dataset whose model crashes ends the fit or is left out, and no rank dies."""
    h.let_models_crash()
    path = crash_problem(tmp / "p.h5", 12, {7: "segfault"})
    for words in ((), ("--leave-out-failed",)):
        words = (path, "--trust", "--share", "k", "--optimizer", "lbfgs", *words, "--overwrite")
        first = run_file(*words)
        faults.same_fits(fit(3, *words, "--restart", code=1), first, words)


@h.more
def test_killed(tmp):
    """The computing process of a rank, and a rank; the search goes on from the latest step that was kept, to the same bits."""
    n = 600 if h.SLOW else 360
    words = (*grouped(tmp / "p.h5", EQUATIONS, n, "ka,b@plate"), "-j", 1, "--rtol", "1e-11", "--engine", "cvodes")
    first = run_file(*words)
    result = h.result_path(words[0])
    journal = result.with_name(result.name + ".journal")
    for is_rank in (False, True):
        result.unlink()
        job = ranks(2, *words, start=True)
        wait_for(lambda: faults.has_state(journal) or job.poll() is not None)  # pylint: disable=cell-var-from-loop
        victim = supervisors(job)[1]
        for pid in [victim] if is_rank else children(victim):
            os.kill(pid, signal.SIGKILL)
        said = job.communicate(timeout=120)[1]
        found = fit(3, *words) if is_rank else read(words[0])
        faults.same_fits(found, first, is_rank)
        assert "the search goes on after" in (found["stderr"] if is_rank else said)


if __name__ == "__main__":
    h.main()
