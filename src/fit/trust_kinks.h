/* Steps for objectives with kinks: the minimum not of a quadratic but of the objective itself with linear predictions, because
 * a sum of absolute values is least where some of them are zero, and no quadratic knows which. Separate from the quadratic
 * model, which it calls again and again.
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
/* In place of trust_model_step, with the same answers: the least objective within bounds and radius were predictions and noise
 * linear. The model is current, and stays that of `best`. Nothing is evaluated. */
void trust_kinks_step(struct trust_kinks *kinks, struct trust_model *model, const struct fit_point *best);

#endif
