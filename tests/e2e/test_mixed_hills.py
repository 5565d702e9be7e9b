"""Datasets whose integrands have several modes, plateaus or long slopes: a few measurements of a sigmoid curve, an infusion,
oral absorption (fast absorption and slow elimination, or the reverse), a peak whose time is random. -2 log L against a plain
grid over the distribution of the random effects.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 1800
"""
import helpers as h
import mixed_studies

h.compile_as_users_do()


def compare(tmp, seed):
    """-2 log L, its error as printed, and the right value."""
    study = mixed_studies.Study(mixed_studies.HILLS[seed % len(mixed_studies.HILLS)], seed)
    found = study.fit(tmp)
    right, error = study.minus_2_log_likelihood(found)
    assert error < 1e-3, f"the grid is too coarse: {error}"
    return found["minus_2_log_likelihood"], found["minus_2_log_likelihood_error"], right


# By points around the highest mode alone -2 log L is 0.09, 264, 0.27 and 0.04 too large, and its printed error a tenth of
# that, or less.
def test_several_hills(tmp):
    for seed in (8, 14, 47, 88):
        got, error, right = compare(tmp, seed)
        assert abs(got - right) < 3 * error + 0.01, (seed, got, error, right)
        assert error < 0.5, (seed, error)


# The search followed slopes, which are sums over points, too, up to where -2 log L is 83, and its sum said 92. The best known
# value is 50.32; how much of the integrals points miss here depends on rounding.
def test_values_hold_slopes_back(tmp):
    got, error, right = compare(tmp, 59)
    assert right < 51.5 and abs(got - right) < 3 * error + 0.01, (got, error, right)


@h.slow
def test_many_studies(tmp):
    """Errors are estimates: of 100 studies three may be off by more than three of them (13 are by points around one mode)."""
    found = [(seed, *compare(tmp, seed)) for seed in range(100)]
    off = [(seed, got, error, right) for seed, got, error, right in found if abs(got - right) >= 3 * error + 0.01]
    assert len(off) <= 3, off


if __name__ == "__main__":
    h.main()
