"""Populations of sparse datasets, simulated (mixed_studies.py): where the search begins and ends, and how
accurate the integrals are.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 7200
"""
import numpy as np

import helpers as h
from mixed_studies import study_of

h.compile_as_users_do()


def is_right(study, found):
    """Whether -2 log L is within three of the errors that are printed for it; and what it is, what it should be."""
    right, error = study.minus_2_log_likelihood(found)
    value, said = found["minus_2_log_likelihood"], found["minus_2_log_likelihood_error"]
    return abs(value - right) < 3 * said + 0.01 + error, (value, said, right)


# No curve describes all datasets, whose peaks are at different times: from the pooled fit, whose peak is narrow, the search
# ended at 3821 (seed 294) and 8036 (214).
def test_pooled_fits_far_away(tmp):
    for seed, start, most in ((294, None, 53), (214, study_of(214).kind.truth, 10)):
        assert study_of(seed).fit(tmp, start)["minus_2_log_likelihood"] < most, seed


# At a variance of 0 the slope of a sum over points is not 0. The search led back to a small variance, which was set to 0
# again, until 40 million evaluations were spent.
def test_variance_of_nothing(tmp):
    found = study_of(18).fit(tmp)
    assert found["minus_2_log_likelihood"] < 118.87 and sum(found["fits"]["evaluations"]) < 2e6


# The first estimates, one curve for all datasets, had used up the budget on a flat direction, and there was no population.
def test_pooled_fit_without_end(tmp):
    study = study_of(194)
    found = study.fit(tmp, study.kind.truth)
    assert set(found["fits"]["status"]) == {"converged"} and found["minus_2_log_likelihood"] < 122, found["stderr"]


# Absorption and elimination change their roles (flip-flop), or a peak is before or behind all data. From all of these starts
# the search ended 4 to 8,000 above; drawn ones find the way, if chance is not against all of them.
def test_far_starts(tmp):
    missed = []
    for seed in (4, 24, 34, 74, 128, 178, 218, 228):
        study = study_of(seed)
        found, best = study.fit(tmp, study.far), study.fit(tmp, study.kind.truth)
        good, values = is_right(study, found)
        assert good, (seed, values)
        if found["minus_2_log_likelihood"] > best["minus_2_log_likelihood"] + 4:
            missed.append(seed)
    assert len(missed) <= 2, missed


# Values of sums over points said that a small variance gains, slopes that it loses: it left 0 and came back 700 times, in 4.5
# million evaluations.
def test_variance_that_comes_back(tmp):
    study = study_of(168)
    found = study.fit(tmp, study.far)
    assert found["minus_2_log_likelihood"] < -74.56 and sum(found["fits"]["evaluations"]) < 1e6


# A search that has no end, as that for a peak that no dataset needs, is cut: what it has found is there.
def test_budget_of_steps(tmp):
    study = study_of(4)
    found = study.fit(tmp, None, "--max-evaluations", 2)
    assert set(found["fits"]["status"]) == {"budget"}, found["stderr"]
    assert "the steps of a search are used up: 2" in found["stderr"], found["stderr"]
    assert np.isfinite(found["minus_2_log_likelihood"])


# A mode close to the highest one; one that is narrower than its curvature says, at the top of a peak; hills with a random
# effect whose variance has become 0 since; more points than a level more.
def test_integrals(tmp):
    for seed in (244, 324, 108, 304):
        study = study_of(seed)
        good, values = is_right(study, study.fit(tmp))
        assert good, (seed, values)


# The search for a mode gave up where it was no longer sure of its steps, and the mode was taken for one on a kink.
def test_smooth_curves_have_no_kinks(tmp):
    stderr = study_of(194).fit(tmp)["stderr"]
    assert "difference quotients" not in stderr, stderr


@h.slow
def test_many_studies(tmp):
    """Each from three starts. Of 300 fits three may be off by more than three printed errors. One in a hundred may converge
    more than 0.1 above the best of its study, one in 25 from starts that are 3 to 10 times off: peaks, and three random effects
    with three to five samples each, have many optima."""
    off, above = [], {"near": [], "far": []}
    for seed in range(300):
        study = study_of(seed)
        found = {"near": study.fit(tmp), "far": study.fit(tmp, study.far), "truth": study.fit(tmp, study.kind.truth)}
        good, values = is_right(study, found["near"])
        if not good:
            off.append((seed, values))
        best = min(found.values(), key=lambda each: each["minus_2_log_likelihood"])
        for start, those in above.items():
            errors = found[start]["minus_2_log_likelihood_error"] + best["minus_2_log_likelihood_error"]
            higher = found[start]["minus_2_log_likelihood"] - best["minus_2_log_likelihood"]
            if found[start]["fits"]["status"][0] == "converged" and higher > 0.1 + errors:
                those.append((seed, higher))
    assert len(off) <= 3 and len(above["near"]) <= 3 and len(above["far"]) <= 12, (off, above)


if __name__ == "__main__":
    h.main()
