/* The quadratic model of the objective around one point, f + q'Rd + |Rd|^2/2 with the triangle R
 * of all residuals' derivatives, and its minimum within the bounds and a trust region |Dd| <=
 * radius.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Levenberg-Marquardt steps in the form of More (1978), by the singular values of R, so that
 * flat directions cost no accuracy. If nothing restricts the step, a triangle without flat
 * directions is inverted instead, which is many times cheaper. Bounds are handled by an active
 * set, which fixes parameters that would leave the box and solves again. On request the step is
 * bent by what linear predictions miss (trust_probe.h). */
#pragma once

#include "fit/search/trust_curvature.h"

/* Singular values and right vectors of the triangle's columns of some parameters: most steps
 * from a point share them. */
struct trust_singular {
    double *s, *v;
    uint32_t *column; /* n: these parameters */
    size_t n;
    bool is_known;
};

/* How far steps go, from one step to the next. */
struct trust_reach {
    double radius; /* of the trust region in the metric of scale; infinite at first */
    double part;   /* of the longest valid step of each parameter */
    double lost;   /* factor by which steps that cannot be evaluated have just shrunk the radius */
};

struct trust_model {
    const struct fit_asker *asker;
    size_t n;                /* free parameters */
    /* triangle and scale belong to the point; the user clears it when the point changes */
    bool is_current;
    struct trust_reach reach;
    /* n: the answer; entries on a bound or step limit are exactly low or high */
    double *step;
    double length, promise;  /* |D step|; the decrease predicted by the model at step, >= 0 */
    bool is_restricted;      /* by the trust region, a bound or a step limit */
    double *limit;           /* n: the longest step of each parameter, on the optimiser's scale;
                              * the user may shorten it, and reach.part does */
    /* n: the metric D. Negative: the column is zero, and D's entry is not remembered */
    double *scale;
    double *low, *high, *triangle, *rhs;
    uint32_t *loose;                           /* n_loose parameters that no bound or limit holds */
    size_t n_loose;
    double *u, *coefficient, *r, *inverse, *scratch; /* of the loose columns; scratch: 6 n */
    bool is_inverted;                          /* all are loose, and `inverse` is the triangle's */
    /* of the columns that are loose at the point, as coefficient is; of others */
    struct trust_singular first, other;
    const struct trust_singular *singular;     /* the one of the loose columns; NULL: unknown */
    /* what the triangle leaves out, and contains while that is in use */
    struct trust_curvature curvature;
    double promised_free;                      /* trust_model_promise_free's answer; NaN: unknown */
    double damping;                            /* the Levenberg-Marquardt lambda for the radius */
};

/* The first steps: from far away the model may be wrong for one parameter, and what leads it
 * onto a plateau gains in the others' directions. So logarithms move by at most a quarter of a
 * decade, and by more after each step that this has limited and that gained enough: four times as
 * much in a fit of one dataset; twice in one of many, where it limits each of them. Not if the
 * start is near an optimum. */
#define TRUST_REACH_GROWTH 4
#define TRUST_REACH_GROWTH_SHARED 2
struct trust_reach trust_reach_begin(bool is_near);

/* More's (1978) choice of a radius after a step of that length, by the ratio of actual to
 * predicted decrease (-infinity: the step could not be evaluated): after a poor step it shrinks to
 * `part` of the length; after a good one it grows to at least twice the length, times what failed
 * steps have taken from it. The reach's part grows by `by`: 1 after steps that it has not
 * limited. */
#define TRUST_RATIO_POOR 0.25
#define TRUST_RATIO_GOOD 0.75
enum trust_radius { TRUST_RADIUS_SHRINKS, TRUST_RADIUS_STAYS, TRUST_RADIUS_GROWS };
enum trust_radius trust_reach_adapt(struct trust_reach *reach, double length, bool is_restricted,
                                    double by, double ratio, double part);
void trust_reach_grow(struct trust_reach *reach, double by);
/* The part for a step along which the objective had that slope, and decreased by so much
 * (-infinity: it could not be evaluated): the minimum of the parabola through value, slope and
 * the trial's value. */
double trust_radius_part(double slope, double decrease);

bool trust_model_init(struct trust_model *model, const struct fit_asker *asker,
                      struct arena *arena);
/* Resets it to its state after trust_model_init. */
void trust_model_forget(struct trust_model *model);
/* As bytes: what lasts from step to step, and all of it as long as it is current. Reading: arrays
 * that are NULL are passed over. */
void trust_model_pass(struct cursor *cursor, struct trust_model *model);
/* Forgets the estimated second derivatives alone. */
void trust_model_forget_curvature(struct trust_model *model);
/* The longest valid step of a parameter: a model of exponentials is not valid beyond two
 * decades. */
double trust_model_longest_step(enum parameter_scale scale);
/* How far a step may move parameter j. */
double trust_model_reach(const struct trust_model *model, size_t j);
/* Whether the reach's part limits the step. */
bool trust_model_is_limited(const struct trust_model *model);
/* Shortens the limit of parameter j (infinite: as long as its scale allows) at `point`, the
 * model's point. */
void trust_model_limit(struct trust_model *model, const struct fit_point *point, size_t j,
                       double limit);
/* Takes the triangle and right-hand side that the caller has written for this point, of which only
 * theta and gradient are used; of the asker only the map. False: numbers are not finite. */
bool trust_model_adopt(struct trust_model *model, const struct fit_point *point);
/* The caller has changed the triangle without trust_model_adopt. */
void trust_model_forget_singular(struct trust_model *model);
/* Fills step, length, promise, is_restricted for the radius. */
void trust_model_step(struct trust_model *model, const struct fit_point *point);
/* |D step| */
double trust_model_length(const struct trust_model *model, const double *step);
/* The decrease predicted without a trust region; step and the other fields do not change. */
double trust_model_promise_free(struct trust_model *model, const struct fit_point *point);
/* Corrects the step by what linear predictions miss at its end; `second` (n_row of the
 * predictions' rows) is twice that, the predictions' second difference along the step, in units
 * of their standard deviations. False: the correction would be large, and the step stays. */
bool trust_model_bend(struct trust_model *model, const struct fit_point *point,
                      const double *second);
/* point's theta + step, exactly on the bounds that it reaches. */
void trust_model_target(const struct trust_model *model, const struct fit_point *point,
                        double *theta);
/* The decrease predicted from the gradient's loose entries in the model's metric, without
 * damping. */
double trust_model_decrement(struct trust_model *model, const double *gradient);

/* The largest decrease predicted for any single parameter that no bound holds. */
double trust_model_promise_single(const struct trust_model *model, const struct fit_point *point);
