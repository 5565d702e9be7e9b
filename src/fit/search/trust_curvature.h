/* The part of the objective's second derivatives that Gauss and Newton omit, estimated from
 * gradients.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where residuals stay large, as in a poor local minimum or in a curved valley, steps without it
 * overshoot and the search crawls. The estimate S and the choice between both models are those
 * of NL2SOL (Dennis, Gay & Welsch 1981): S starts at zero, is used once it predicts the
 * objective better than the model without it, and given up where it predicts it clearly worse.
 * Where there are few steps, S comes from differences of gradients instead. */
#pragma once

#include "fit/objective/point.h"

struct trust_curvature {
    size_t n;
    double *s;                     /* n x n, symmetric: the estimate S */
    bool is_used, has_any;         /* in the model; S has been estimated */
    double *step, *y, *z, *scaled; /* n each: scratch, like */
    double *v, *rows;              /* n x n; 2 n x (n + 1) */
};

/* False: out of memory. */
bool trust_curvature_init(struct trust_curvature *curvature, const struct fit_asker *asker,
                          struct arena *arena);
/* Resets S to zero. */
void trust_curvature_forget(struct trust_curvature *curvature);
/* After a trial that changed the objective by -decrease, where the model in use predicted
 * -promise: chooses the model. The step is restricted if a longer one promised more. True: the
 * model changed. */
bool trust_curvature_choose(struct trust_curvature *curvature, const double *step,
                            bool is_restricted, double promise, double decrease);
/* Updates S after an accepted step between points of the same tolerances. scale: n, the trust
 * region's metric, not 0. */
void trust_curvature_note(struct trust_curvature *curvature, const struct fit_asker *asker,
                          const double *scale, const struct fit_point *from,
                          const struct fit_point *to);
/* Sets S, in use, by one more evaluation for each parameter, near `at`, whose rows times the
 * root of `weight` have the triangle; rows and columns of S and the triangle are in `order` (n
 * indices in theta). ASKED_FAILED: out of memory, or they cannot be evaluated; nothing changes. */
enum asked trust_curvature_ask(struct trust_curvature *curvature, struct fit_asker *asker,
                               const struct fit_point *at, const uint32_t *order, double weight,
                               const double *triangle, struct arena *arena);
/* If S is in use: adds its positive part to R'R, for a triangle R, and changes q so that R'q,
 * the gradient, remains. The negative part is left out: a model without curvature would have no
 * minimum. metric: n, instead of columns of zeros. */
void trust_curvature_add(struct trust_curvature *curvature, const double *metric, double *triangle,
                         double *q);
