"""Populations with a random lag: a subject's likelihood has a kink in its lag at the time of each sample, and modes lie at such
kinks. How many evaluations the fits take, and what they find.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np

import faults
import helpers as h
import mixed

h.compile_as_users_do()

MODEL = """parameter Tlag = 1 in [1e-3, 20] scale log, ka = 1 in [1e-2, 100] scale log
parameter V = 8 in [0.1, 100] scale log, k = 0.02 in [1e-4, 10] scale log
parameter a = 0.5 in [1e-3, 10] scale log, b = 0.1 in [1e-3, 10] scale log
gut(0) = 0; c(0) = 0
gut' = -ka*gut
c' = ka*gut - k*c
lag(gut) = Tlag
observe y = c/V sd a + b*y
"""
WORDS = ("--random", "Tlag,ka,V,k", "--share", "a,b", "--random-covariance", "diagonal", "--likelihood", "laplace", "-j", "1")
DATA = h.ROOT / "tests/data/random-lag.csv"  # simulated: 10 subjects, 8 samples each, some of them at the start's lag


def write(tmp):
    (tmp / "m.ode").write_text(MODEL)
    h.stiffit("import", DATA, "--nonmem", "--model", tmp / "m.ode", "-o", tmp / "p.h5", "-q")
    return [tmp / "p.h5"]


def test_laplace_ends(tmp):
    """With the lag fixed there are 36,000 evaluations. There were three millions: by difference quotients, for which one sample
    at the time of the lag was enough, and with further starts that crept above the best one."""
    found = mixed.run(write(tmp), *WORDS)
    evaluations = int(found["fits"]["evaluations"].sum())
    # As quotients in all datasets find it; values at a kink depend on where beside it the mode is.
    assert found["minus_2_log_likelihood"] < 255.769 + 2e-3, found["minus_2_log_likelihood"]
    assert np.isfinite(found["standard_error"]).all(), found["standard_error"]
    assert evaluations < 250_000, evaluations


def test_killed(tmp):
    """A state says which modes are on kinks, and how fast the start's search comes down."""
    problem = write(tmp)
    whole = mixed.run(problem, *WORDS)
    for k in (60, 140):
        h.result_path(problem[0]).unlink()
        env = faults.environment(tmp, ("__compute", "write", k, "kill"), SHIM_HASTE=1)
        mixed.same_bits(mixed.run(problem, *WORDS, env=env), whole, f"killed at write {k}")
        assert faults.counts(tmp)["__compute", "write"] > k


if __name__ == "__main__":
    h.main()
