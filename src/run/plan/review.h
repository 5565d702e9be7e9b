/* Reviews of profiles: each side of a dataset's profiles is compared with the ends of its other sides, which are points below
 * the threshold, too. One beyond a limit contradicts it: the limit belongs to another branch of the profile, and the review
 * continues from that point. Separate from refits, because reviews begin when all sides have ended.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/profile.h"
#include "run/plan/best.h"
#include "run/plan/refit.h"

/* Zero-initialise before reviews_init; reviews_fini is legal after a failure. */
struct reviews {
    struct refit_starts starts; /* reviews begin at the best fit, too */
    const struct refit_plan *plan;
    double point[2 * FIT_MAX_POINT];
};

enum status reviews_init(struct reviews *reviews, const struct refit_plan *plan, struct journal_reader *journal,
                         const struct run_identity *identity, struct error *error);
void reviews_fini(struct reviews *reviews);
/* A feed_prepare. Sets the block's profile_end: review_size numbers, which are the limits of all sides (NaN: there is none to
 * review), and for each side its last objective and parameters, as in struct fit_profile_request. */
enum status reviews_put(void *reviews, struct problem_block *block, struct error *error);
size_t review_size(const struct refit_plan *plan, size_t n_parameter);
/* The request of a profile's side, or of its review. */
struct fit_profile_request review_request(const struct refit_plan *plan, const struct refit *refit, const double *profile_end);
