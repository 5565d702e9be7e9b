/* Steps for objectives with kinks. They minimise the objective itself with linear predictions instead of a quadratic,
 * because a sum of absolute values is least where some of them are zero, and a quadratic does not show which. Separate from
 * the quadratic model, which it calls repeatedly.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_TRUST_KINKS_H
#define FIT_TRUST_KINKS_H

#include "fit/trust_model.h"

struct trust_kinks {
    double *theta, *p, *step;                       /* n, n_model, n */
    double *prediction, *noise, *weight, *residual; /* n_row */
};

/* False: out of memory. */
bool trust_kinks_init(struct trust_kinks *kinks, const struct fit_asker *asker, struct arena *arena);
/* Replaces trust_model_step, with the same answers: minimises the objective within bounds and radius for linear predictions and
 * noise. The model must be current, and remains that of `best`. Evaluates nothing. */
void trust_kinks_step(struct trust_kinks *kinks, struct trust_model *model, const struct fit_point *best);

#endif
