/* Variances that are 0, or become 0: they are at a bound, where steps alone may stay.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed/mixed.h"

/* After a search has ended each of these sets *has_changed if the best estimates, or the points,
 * are others, from where it goes on. ASKED_END: the fit has ended. */

/* A column of the factor and its negative give the same covariance. So where its diagonal entry is
 * at its bound, 0, and the others are not 0, a slope that would lead below the bound leads away
 * from it once their signs are changed. */
enum asked zeros_turn(struct mixed *mixed, bool *has_changed);
/* Variances that are next to nothing become 0 if the likelihood does not tell. The search does not
 * go on there: slopes at 0 that are errors of the points might lead back for ever. But it does if
 * what was below the diagonal entry has gone to a column that was left out. */
enum asked zeros_take(struct mixed *mixed, bool *has_changed);
/* Random effects whose variances have become 0 are left out, once in a stage. */
enum asked zeros_leave_out(struct mixed *mixed, bool *has_changed);
/* Whether a variance of 0 is a saddle. One whose random effects were left out brings them back.
 * Sums over points err: a variance of which they say that it gains, and their slopes that it
 * loses, would leave 0 and come back for ever. So it leaves once in a stage. */
enum asked zeros_leave(struct mixed *mixed, bool *has_changed);
