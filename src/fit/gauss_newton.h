/* The damped Gauss-Newton model of the objective around one point, and its minimum within the bounds.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_GAUSS_NEWTON_H
#define FIT_GAUSS_NEWTON_H

#include "fit/asker.h"
#include "fit/quadratic.h"

struct gauss_newton {
    const struct fit_asker *asker;
    size_t n;
    double damping;            /* Levenberg & Marquardt's, relative to the curvature's diagonal */
    bool is_current;           /* curvature belongs to the point; the user clears it when the point changes */
    struct quadratic_box box;  /* of the damped model; box.step is its minimum, box.loose and box.factor the rest */
    double promise;            /* the decrease that the undamped model sees at box.step, >= 0 */
    double *curvature, *damped;
    double *diagonal;          /* of the curvature, with a memory of larger ones */
    double *low, *high;        /* of the step */
};

bool gauss_newton_init(struct gauss_newton *model, const struct fit_asker *asker, struct arena *arena);
/* Fills box and promise for `point`, with as much more damping as the matrix needs. False: not a usable matrix. */
bool gauss_newton_step(struct gauss_newton *model, const struct fit_point *point);
/* What the model would promise with (nearly) no damping; infinite if that cannot be told. box and promise afterwards
 * are those of the model's own damping again. */
double gauss_newton_promise_undamped(struct gauss_newton *model, const struct fit_point *point);
/* The most that any parameter on its own would gain. */
double gauss_newton_promise_single(const struct gauss_newton *model, const struct fit_point *point);
/* Whether a free parameter changes no prediction by more than the integrator's error, for a relative change of 1 (on a
 * linear scale: of its value). The model must be current. */
bool gauss_newton_has_idle(const struct gauss_newton *model, const struct fit_point *point, double objective_scale);
/* Half the squared norm of a gradient's loose entries in the metric of the model: what a step from there would gain. */
double gauss_newton_decrement(struct gauss_newton *model, const double *gradient);
/* True if the step ends on a bound or a step limit that the point is not on, or has no loose entry. */
bool gauss_newton_meets_box(const struct gauss_newton *model);
/* point's theta + box.step, exactly on the bounds that it reaches. */
void gauss_newton_target(const struct gauss_newton *model, const struct fit_point *point, double *theta);

#endif
