/* Reviews of profiles: each side of a fit's profiles is compared with the ends of its other
 * sides, which are points below the threshold, too. One beyond a limit contradicts it: the limit
 * belongs to another branch of the profile, and the review continues from that point. Separate
 * from refits, because reviews begin when all sides have ended.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/refits/profile.h"
#include "run/plan/best.h"
#include "run/plan/refit.h"

/* Where the sides of a fit's profiles ended, in review_size numbers: the limits of all sides
 * (NaN: there is none to review), and for each side its last objective (NaN: it did not end
 * below the threshold) and all parameters, as in struct fit_profile_request. */
size_t review_size(const struct refit_plan *plan, size_t n_parameter);
/* No side has ended. */
void review_clear(const struct refit_plan *plan, size_t n_parameter, double *ends);
/* Side i has ended: takes its end from its record, which has its points. */
void review_take(const struct refit_plan *plan, size_t n_parameter, uint32_t i,
                 const struct fit_record *record, double *ends);
/* Takes the end of side i from the journal, if it has the side. Uses the memory of `starts`. */
enum status review_read(const struct refit_plan *plan, struct refit_starts *starts,
                        uint64_t dataset, uint32_t i, double *ends, struct error *error);
/* The request of a profile's side, or of its review. */
struct fit_profile_request review_request(const struct refit_plan *plan, const struct refit *refit,
                                          const double *profile_end);

/* Of fits of one dataset. Zero-initialise before reviews_init; reviews_fini is legal after a
 * failure. */
struct reviews {
    struct refit_starts starts; /* reviews begin at the best fit, too */
    const struct refit_plan *plan;
};

enum status reviews_init(struct reviews *reviews, const struct refit_plan *plan,
                         struct journal_reader *journal,
                         const struct run_identity *identity, struct error *error);
void reviews_fini(struct reviews *reviews);
/* A block_prepare. Sets the block's profile_end. */
enum status reviews_put(void *reviews, struct problem_block *block, struct error *error);
