"""What the journal keeps of a fit with random effects: states, from each of which the search goes on to the same bits, and
the population, without which there is no result.

SPDX-License-Identifier: BSD-3-Clause
"""
import shutil
import subprocess

import numpy as np

import faults
import helpers as h
import mixed

MODEL = """parameter k = 0.5 in [1e-4, 1e4] scale log
parameter A = 1 in [1e-4, 1e4] scale log
y(0) = A
y' = -k*y
observe y
"""
WORDS = ("--random", "k", "--share", "A", "-j", "1", "--progress", "never")


def write(tmp, n, seed=2):
    """Few datasets, of which the likelihood has several maxima: the search begins from several starts."""
    rng = np.random.default_rng(seed)
    rows = [(d, t, 0, np.exp(-k * t) + 0.05 * rng.standard_normal(), 0.05)
            for d, k in enumerate(0.5 * np.exp(0.25 * rng.standard_normal(n))) for t in np.arange(0.5, 6.1)]
    return mixed.write(tmp / f"p{n}.h5", MODEL, rows)


def start(problem, env):
    return subprocess.Popen([str(h.STIFFIT), "run", *map(str, problem), *WORDS], env=env, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, start_new_session=True)


def journal_of(problem):
    return h.result_path(problem[0]).with_name(h.result_path(problem[0]).name + ".journal")


def kill_at(tmp, problem, whole, k):
    """The computing process dies at its k-th write, with a state after each step; another one goes on in the same run. Returns
    whether it died."""
    result = h.result_path(problem[0])
    result.unlink(missing_ok=True)
    env = faults.environment(tmp, ("__compute", "write", k, "kill"), SHIM_HASTE=1)
    done = start(problem, env)
    err = done.communicate(timeout=100)[1]
    assert done.returncode == 0, (k, err)
    mixed.same_bits(mixed.read(result), whole, f"killed at write {k}")
    return faults.counts(tmp)["__compute", "write"] > k


def test_killed_after_any_step(tmp):
    """Of few datasets: the value at the best estimates may be that of a repeated pass, and an integration may have followed
    another one; both are part of the state."""
    for n in (6,) if not h.SLOW else range(3, 21):
        problem = write(tmp, n)
        whole = mixed.run(problem, *WORDS)
        h.result_path(problem[0]).unlink()
        done = start(problem, faults.environment(tmp, SHIM_HASTE=1))
        assert done.wait(100) == 0
        mixed.same_bits(mixed.read(h.result_path(problem[0])), whole, "in haste")
        n_write = faults.counts(tmp)["__compute", "write"]
        assert n_write > 20, n_write  # a state after each step
        for k in range(3, n_write + 1) if h.SLOW else (3, 10, 17, 19, n_write // 2, n_write - 4):
            kill_at(tmp, problem, whole, k)


def fits_done(tmp, problem):
    """Kills a run when all fits are in the journal, but not the result."""
    env = faults.environment(tmp, ("__finish", "open", 1, "kill"))
    process = start(problem, env)
    process.communicate(timeout=100)
    journal = journal_of(problem)
    if journal.is_dir():
        return journal
    raise AssertionError("there is no journal")


def damage(journal, how):
    for path in journal.glob("*.log"):
        data = bytearray(path.read_bytes())
        at = data.find(b"STFP")
        if at < 0:
            continue
        if how == "removed":
            path.unlink()
            continue
        while how == "flipped" and at >= 0:
            data[at + 40] ^= 1
            at = data.find(b"STFP", at + 4)
        path.write_bytes(data[:at + 100] if how == "torn" else data)


def test_population_that_is_lost(tmp):
    """It is computed again."""
    problem = write(tmp, 6)
    whole = mixed.run(problem, *WORDS)
    for how in ("flipped", "torn", "removed"):
        h.result_path(problem[0]).unlink(missing_ok=True)
        damage(fits_done(tmp, problem), how)
        mixed.same_bits(mixed.run(problem, *WORDS), whole, how)
        assert not journal_of(problem).exists()


@h.more
def test_population_that_cannot_be_read(tmp):
    """Calls fail in the process that writes the result: exit code 4 and the journal is kept, or the population is there."""
    problem = write(tmp, 6)
    whole = mixed.run(problem, *WORDS)
    n_failed = 0
    for call in ("open", "pread", "malloc", "calloc", "opendir"):
        h.result_path(problem[0]).unlink(missing_ok=True)
        done = start(problem, faults.environment(tmp))
        assert done.wait(100) == 0
        n = faults.counts(tmp)["__finish", call]
        some = range(1, n + 1) if h.SLOW or n <= 3 else np.unique(np.linspace(1, n, 4).astype(int))
        for k in some:
            h.result_path(problem[0]).unlink(missing_ok=True)
            shutil.rmtree(journal_of(problem), ignore_errors=True)
            done = start(problem, faults.environment(tmp, ("__finish", call, k, "once")))
            err = done.communicate(timeout=100)[1]
            assert done.returncode in (0, 4), (call, k, done.returncode, err)
            n_failed += done.returncode == 4
            if done.returncode == 4:
                assert journal_of(problem).exists(), (call, k, err)
                continue
            mixed.same_bits(mixed.read(h.result_path(problem[0])), whole, (call, k))
    assert n_failed > 3, n_failed


if __name__ == "__main__":
    h.main()
