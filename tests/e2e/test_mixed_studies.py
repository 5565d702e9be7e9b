"""Populations of sparse datasets, simulated (mixed_studies.py): where the search begins and ends, and how
accurate the integrals are.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 7200
"""
import helpers as h
import mixed_studies

h.compile_as_users_do()
KINDS = mixed_studies.HILLS + mixed_studies.OTHERS


def study_of(seed):
    return mixed_studies.Study(KINDS[seed % len(KINDS)], seed)


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
    """Of 300 fits three may be off by more than three printed errors, and one in 25 may converge more than 0.1 above the fit
    that begins at the true values: peaks, and three random effects with three to five samples each, have many optima."""
    off, above = [], []
    for seed in range(300):
        study = study_of(seed)
        found = study.fit(tmp)
        good, values = is_right(study, found)
        if not good:
            off.append((seed, values))
        try:
            best = study.fit(tmp, study.kind.truth)
        except KeyError:  # no population: its start, one curve for all, has used up its budget on a flat direction
            continue
        errors = found["minus_2_log_likelihood_error"] + best["minus_2_log_likelihood_error"]
        higher = found["minus_2_log_likelihood"] - best["minus_2_log_likelihood"]
        if found["fits"]["status"][0] == "converged" and higher > 0.1 + errors:
            above.append((seed, higher))
    assert len(off) <= 3 and len(above) <= 12, (off, above)


if __name__ == "__main__":
    h.main()
