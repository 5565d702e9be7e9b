"""Mixed effects of so many datasets that the last pass takes the finest levels in a sample of them: the likelihood, against
quadrature; and the same bits for any ranks.
test-timeout: 1800

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np

import helpers as h
import mixed
import test_mixed_quadrature as quadrature
from launch import ranks

TEXT = """parameter k = 0.5 scale log
parameter A = 8 scale log
parameter b = 0.5 in [1e-3, 10] scale log
observe c = A*exp(-k*t) sd b*sqrt(A*exp(-k*t) + 0.01)
"""


def predict(phi, shared, t, _):
    f = np.exp(phi[1] - np.exp(phi[0]) * t)
    return f, np.exp(shared[0]) * np.sqrt(f + 0.01)


def check(tmp, n):
    rng = np.random.default_rng(3)
    case = quadrature.Case(TEXT, ["k", "A"], ["b"], predict, start=None, q=31)
    case.simulate(np.log([0.4, 6]), np.array([[0.3, 0.05], [0.05, 0.15]]), [np.log(0.6)],
                  [np.sort(rng.uniform(0.2, 6, 3)) for _ in range(n)], 4)
    problem = case.write(tmp / "p.h5")
    words = ("--random", "k,A", "--share", "b")
    found = mixed.run(problem, *words)
    off = (found["mean"] - np.log([0.4, 6])) / found["standard_error"][:2]
    assert np.max(np.abs(off)) < 4.5, off
    value, parts = 0.0, []
    for first in range(0, n, 500):  # little memory
        part = quadrature.Case(TEXT, ["k", "A"], ["b"], predict, start=None, q=31)
        part.covariates, part.t, part.y, part.mask = ({}, *(x[first:first + 500] for x in (case.t, case.y, case.mask)))
        parts.append(part.model().evaluate(found["estimate"])[0])
        value += parts[-1].sum()
    said = found["minus_2_log_likelihood_error"]
    print(f"{n} datasets: -2 log L {found['minus_2_log_likelihood']:.4f} +- {said:.2g}, by quadrature {value:.4f}")
    # the error is honest and small; quadrature itself and rounding of the sum are below 1e-4
    assert 0 < said < 0.2 and abs(found["minus_2_log_likelihood"] - value) < 3 * said + 1e-4
    # those that are not in the sample have the last stage's value: 1e-3 is 50 times the mean error that said allows;
    # 0.006 is what a second hill may count that is not summed over (stiffit-population(7))
    off = np.abs(found["fits"]["minus_2_log_likelihood"] - np.concatenate(parts))
    assert np.max(off) < 6e-3 and np.mean(off > 1e-3 + 50 * said / n) < 0.01, np.sort(off)[-5:]
    for processes in (2, 4) if h.SLOW else ():
        ranks(processes, *problem, *words, "--overwrite", "--restart", code=0)
        mixed.same_bits(found, mixed.read(h.result_path(problem[0])), processes)


@h.both
def test_sample(tmp):
    check(tmp, 300 if h.QUICK else 1500)


@h.slow
def test_two_samples(tmp):
    check(tmp, 10500)


if __name__ == "__main__":
    h.main()
