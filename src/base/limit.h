/* Kinds of confidence limits from profiles: the numbers in /fits/profile_lower_status. They never change.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_LIMIT_H
#define BASE_LIMIT_H

/* The result of one side of a profile. */
#define LIMIT_LIST(X) \
    X(0, none, "no profile was asked for") \
    X(1, found, "the profile crosses the threshold there") \
    X(2, bound, "the parameter's bound comes before the threshold: the limit is the bound") \
    X(3, infinite, "the profile stays below the threshold as far as it was followed: there is no limit on this side") \
    X(4, better, "a better fit was found on the way: the best fit is none; try more starts") \
    X(5, failed, "the model could not be fitted on the way, or the budget was used up") \
    X(6, not_fitted, "the parameter is fixed") \
    X(7, no_fit, "there is no successful best fit to begin from") \
    X(8, freedom, "no degrees of freedom are left to estimate the measurement error from")

enum limit {
#define X(number, name, meaning) LIMIT_##name = number,
    LIMIT_LIST(X)
#undef X
    N_LIMIT
};

/* NULL beyond the last one. */
const char *limit_name(int number);
const char *limit_meaning(int number);

#endif
