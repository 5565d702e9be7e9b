/* Scores of the estimates: derivatives of the log likelihood of a dataset whose random effects are
 * known. Their mean given the data is the derivative of the log likelihood (Fisher's identity).
 *
 * Random parameters are mean + L b. Either the parameters are held when an estimate changes: then
 * their density changes, and the curve does not, so that no derivatives of the curve are needed. Or
 * the effects b are held, and the curve changes. Both means are equal. The first one's summands are
 * small where data say much of an effect; where they say little, and b is nearly as its own density
 * says, they nearly cancel, and the second one's are small. So some parameters are held, and the
 * effects of the others.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed/effects.h"
#include "fit/mixed/louis.h"

struct scores {
    bool *is_curve;     /* r: of effects that are held */
    struct louis louis; /* of the parameters that are held */
};

/* is_curve: r, kept; parameters without a density of their own are not held. False: out of
 * memory. */
bool scores_init(struct scores *scores, const struct effects *local, bool *is_curve);
/* Writes the scores (m) at local->there. */
void scores_at(const struct scores *scores, const struct effects *local, double *score);
