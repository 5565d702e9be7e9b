/* Every evaluation brings the derivatives of all residuals, so each round starts from a damped Gauss-Newton model at
 * the best point. Its minimum in the box says which bounds hold. Where that adds none, libLBFGS works on the other
 * variables with the model as its metric (its first trial is the model's minimum); where it does, the point on the new
 * bounds is tried itself. Every trial is judged here; libLBFGS only proposes them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/descent.h"

#include "fit/gauss_newton.h"
#include "fit/lbfgs.h"

#include <float.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FEW_REJECTED = 3, MAX_REJECTED = 9, MAX_NOISY = 20, HISTORY = 5, MAX_MEMORY = 16, MAX_MISSED = 3,
       LBFGS_MEMORY = 6 };

/* Levenberg-Marquardt damping, relative to the model's diagonal. */
static const double DAMPING_START = 1e-2, DAMPING_LEAST = 1e-10, DAMPING_RESTART = 1e-5,
                    DAMPING_MOST = 1e8;
/* Changes of the objective below this, relative to it, may be integrator noise. */
static const double NOISE_LIKELY = 1e-3;
/* Errors of the predictions, in units of the integrator's tolerance, that have to be reckoned with: local errors add up,
 * and from one point to the next the integrator takes other steps. */
static const double ERROR_GROWTH = 30;
/* Residuals of a millionth of the data, squared: no integrator's absolute tolerance counts beyond that. */
static const double SAME_SQUARED = 1e-12;
/* A promise below this is no longer worth several evaluations. */
static const double PROMISE_IDLE = 1e-6;
/* Residuals whose cosine with the derivatives by each parameter is below 0.01 are at right angles to them, as far as the
 * integrator's sensitivities can tell. */
static const double PROMISE_FLAT = 1e-4;

struct descent {
    struct fit_asker *asker;
    size_t n;
    struct fit_point *best, *trial, points[2];
    bool has_best;
    double objective_scale;
    double least_objective;      /* of residuals as large as the integrator's absolute tolerance */

    struct gauss_newton model;   /* at the best point */

    /* the round */
    double *base, *place;        /* theta of libLBFGS's latest iterate and of its latest trial */
    double *origin, *slope;      /* where its search begins, and the gradient there (loose entries) */
    double *lbfgs_scratch;
    int n_trial, n_taken, n_missed;       /* of this round */
    int n_accepted;              /* iterations of libLBFGS in this round */
    int patience;                /* iterations that it is given */
    bool by_slopes;              /* a trial was judged by slopes: its objective would only mislead libLBFGS */
    double first_ratio;          /* decrease over promise of the round's first trial */
    bool ended;                  /* ASKED_END was seen */

    int n_rejected;              /* rounds in a row that found nothing */
    int n_noisy;                 /* points taken for their gradient */
    double noise;                /* least disagreement of model and objective in those rounds */
    double least_promise;        /* of those rounds: how short the steps have become */
    double history[HISTORY];     /* objectives after the last rounds */
    int n_round;
    int64_t n_iteration;
};

struct descent *descent_new(struct fit_asker *asker, struct arena *arena)
{
    size_t n = asker->map.n_free;
    struct descent *descent = arena_calloc(arena, 1, sizeof *descent);
    double *vectors = arena_calloc(arena, 4 * n + 1, sizeof *vectors);
    double *scratch = arena_calloc(arena, lbfgs_scratch(n) + 1, sizeof *scratch);
    if (!descent || !vectors || !scratch || !gauss_newton_init(&descent->model, asker, arena)
        || !fit_point_init(&descent->points[0], asker, arena) || !fit_point_init(&descent->points[1], asker, arena))
        return NULL;
    descent->asker = asker;
    descent->n = n;
    descent->best = &descent->points[0];
    descent->trial = &descent->points[1];
    descent->objective_scale = fit_objective_scale(&asker->objective);
    double absolute = asker->options->absolute_accuracy;
    descent->least_objective = absolute * absolute * fit_objective_unit(&asker->objective);
    /* Data in tiny units are not zero. */
    if (descent->objective_scale > 0)
        descent->least_objective = fmin(descent->least_objective, SAME_SQUARED * descent->objective_scale);
    descent->base = vectors;
    descent->place = vectors + n;
    descent->origin = vectors + 2 * n;
    descent->slope = vectors + 3 * n;
    descent->lbfgs_scratch = scratch;
    return descent;
}

const struct fit_point *descent_best(const struct descent *descent)
{
    return descent->has_best ? descent->best : NULL;
}

int64_t descent_n_iteration(const struct descent *descent)
{
    return descent->n_iteration;
}

double descent_gradient_norm(const struct descent *descent)
{
    const struct fit_map *map = &descent->asker->map;
    double norm = 0;
    for (size_t j = 0; j < descent->n; j++) {
        double g = descent->best->gradient[j], theta = descent->best->theta[j];
        bool held = (theta <= map->lower[j] && g > 0) || (theta >= map->upper[j] && g < 0);
        norm = !held && fabs(g) > norm ? fabs(g) : norm;
    }
    return norm;
}

static double absolute_tolerance(const struct descent *descent)
{
    double f = fabs(descent->best->f), scale = descent->objective_scale;
    if (descent->asker->objective.likelihood)
        return descent->asker->options->f_tolerance * fmax(1, f);
    /* The other terms are the rounding errors of a sum of squares of differences. */
    return descent->asker->options->f_tolerance * f + 1e-15 * sqrt(f * scale) + 1e-30 * scale + DBL_MIN;
}

/* What counts as a large change of the objective. */
static double size_of(const struct descent *descent, double f)
{
    const struct fit_objective *objective = &descent->asker->objective;
    return objective->likelihood ? fmax(fabs(f), 0.5 * (double)objective->n_row) : fabs(f);
}

/* The decrease from best to trial as their gradients tell it (trapezoidal rule along the way). */
static double decrease_by_slopes(const struct descent *descent)
{
    double sum = 0;
    for (size_t j = 0; j < descent->n; j++)
        sum -= 0.5 * (descent->best->gradient[j] + descent->trial->gradient[j])
             * (descent->trial->theta[j] - descent->best->theta[j]);
    return sum;
}

/* Close to the optimum the integrator's noise hides the decrease of the objective, but hardly that of the gradient
 * (Hager & Zhang 2005 build their approximate Wolfe conditions on this). So small changes are judged by the slopes. The
 * noise is what the two disagree by. */
static double judge_decrease(struct descent *descent)
{
    double by_value = descent->best->f - descent->trial->f, by_slopes = decrease_by_slopes(descent);
    double limit = NOISE_LIKELY * size_of(descent, descent->best->f);
    descent->noise = fmin(descent->noise, fabs(by_value - by_slopes));
    bool small = descent->model.promise <= limit && fabs(by_value) <= limit && fabs(by_slopes) <= limit;
    if (!small || descent->n_noisy >= MAX_NOISY)
        return by_value;
    if (by_value > 0 && by_slopes > 0)
        return by_value;
    /* From here on a line search on values is of no use. */
    descent->by_slopes = fabs(by_value - by_slopes) > descent->model.promise;
    double left_at_trial = gauss_newton_decrement(&descent->model, descent->trial->gradient);
    double left_at_best = gauss_newton_decrement(&descent->model, descent->best->gradient);
    if (left_at_trial > 0.5 * left_at_best)
        return fmin(by_value, by_slopes);
    descent->n_noisy += by_slopes > 0;
    return by_slopes;
}

/* Evaluates the trial and makes it the best point where it is better. ASKED_OK even where it is not. */
static enum asked try_point(struct descent *descent, bool *better)
{
    enum asked asked = fit_ask(descent->asker, descent->trial);
    *better = false;
    descent->ended = asked == ASKED_END;
    bool first = descent->n_trial++ == 0;
    if (asked != ASKED_OK)
        return asked;
    double decrease = judge_decrease(descent);
    if (first && descent->model.promise > 0)
        descent->first_ratio = decrease / descent->model.promise;
    *better = decrease > 0;
    return ASKED_OK;
}

static void take_trial(struct descent *descent)
{
    struct fit_point *old = descent->best;
    descent->best = descent->trial;
    descent->trial = old;
    descent->model.is_current = false;
    descent->n_taken++;
}

/* Puts x (loose entries) into the trial's theta, cut back to the box along the way from the latest iterate. Returns how
 * much of the way is left: 1 where x lies within the box. */
static double place_trial(struct descent *descent, const double *x)
{
    const struct fit_map *map = &descent->asker->map;
    const struct quadratic_box *box = &descent->model.box;
    double *theta = descent->trial->theta, part = 1, hit_bound = 0;
    size_t hit = descent->n;
    memcpy(theta, descent->base, descent->n * sizeof *theta);
    for (size_t k = 0; k < box->n_loose; k++) {
        size_t j = box->loose[k];
        double bound = x[k] < map->lower[j] ? map->lower[j] : x[k] > map->upper[j] ? map->upper[j] : x[k];
        /* Within rounding of the bound it is on it. */
        if (fabs(x[k] - bound) <= 1e-13 * (1 + fabs(bound)))
            continue;
        double allowed = (bound - theta[j]) / (x[k] - theta[j]);
        if (allowed < part) {
            part = allowed;
            hit = j;
            hit_bound = bound;
        }
    }
    for (size_t k = 0; k < box->n_loose; k++) {
        size_t j = box->loose[k];
        double value = part < 1 ? theta[j] + part * (x[k] - theta[j]) : x[k];
        theta[j] = value < map->lower[j] ? map->lower[j] : value > map->upper[j] ? map->upper[j] : value;
    }
    if (hit < descent->n)
        theta[hit] = hit_bound;
    return part;
}

static bool lbfgs_trial(void *context, const double *x, double *f, double *gradient)
{
    struct descent *descent = context;
    double part = place_trial(descent, x);
    if (!(part > 0))
        return false;
    bool better;
    if (try_point(descent, &better) != ASKED_OK)
        return false;
    *f = descent->trial->f;
    for (size_t k = 0; k < descent->model.box.n_loose; k++)
        gradient[k] = descent->trial->gradient[descent->model.box.loose[k]];
    memcpy(descent->place, descent->trial->theta, descent->n * sizeof *descent->place);
    if (better)
        take_trial(descent);
    descent->n_missed = better ? 0 : descent->n_missed + 1;
    return part >= 1 && !descent->by_slopes && descent->n_missed < MAX_MISSED;
}

static bool lbfgs_accepted(void *context, double slope_ratio)
{
    struct descent *descent = context;
    memcpy(descent->base, descent->place, descent->n * sizeof *descent->base);
    descent->n_iteration++;
    descent->n_accepted++;
    /* Where the model alone converges fast, a new one is worth more than libLBFGS's memory. */
    bool fast = slope_ratio < 0.3 || descent->model.promise > NOISE_LIKELY * size_of(descent, descent->best->f);
    if (fast)
        descent->patience = 1;
    else if (descent->n_accepted >= descent->patience && descent->patience < MAX_MEMORY)
        descent->patience *= 2;
    return !fast && descent->n_accepted < descent->patience;
}

/* libLBFGS on the loose variables, from the best point. */
static enum outcome search_inside(struct descent *descent)
{
    const struct quadratic_box *box = &descent->model.box;
    memcpy(descent->base, descent->best->theta, descent->n * sizeof *descent->base);
    for (size_t k = 0; k < box->n_loose; k++) {
        descent->origin[k] = descent->best->theta[box->loose[k]];
        descent->slope[k] = descent->best->gradient[box->loose[k]];
    }
    /* Far from the optimum lbfgs_accepted ends the search after its first iteration. */
    bool brief = descent->model.promise > NOISE_LIKELY * size_of(descent, descent->best->f);
    struct lbfgs_search search = {.n = box->n_loose, .origin = descent->origin, .gradient = descent->slope,
                                  .f = descent->best->f, .factor = box->factor, .trial = lbfgs_trial,
                                  .accepted = lbfgs_accepted, .context = descent,
                                  .memory = brief ? 1 : LBFGS_MEMORY, .scratch = descent->lbfgs_scratch};
    return lbfgs_search_run(&search) == LBFGS_NO_MEMORY ? OUTCOME_out_of_memory : OUTCOME_converged;
}

/* The model's minimum lies on bounds (or step limits) that the best point is not on: try that very point. */
static void try_step(struct descent *descent)
{
    bool better;
    gauss_newton_target(&descent->model, descent->best, descent->trial->theta);
    if (try_point(descent, &better) == ASKED_OK && better)
        take_trial(descent);
}

static bool is_converged(struct descent *descent)
{
    const struct fit_options *options = descent->asker->options;
    double tolerance = absolute_tolerance(descent), f = fabs(descent->best->f), norm = descent_gradient_norm(descent);
    if (norm == 0)
        return true;
    if (!descent->asker->objective.likelihood
        && descent->best->f <= (descent->objective_scale > 0 ? 1e-30 * descent->objective_scale : descent->least_objective))
        return true;
    /* A gradient is small only against an objective: data in tiny units make it small everywhere. */
    double size = descent->asker->objective.likelihood ? fmax(1, f) : fmax(f, fmin(1, 1e-6 * descent->objective_scale));
    if (norm <= options->g_tolerance * size && descent->model.promise <= 1e3 * tolerance)
        return true;
    if (descent->model.promise <= tolerance
        && gauss_newton_promise_undamped(&descent->model, descent->best) <= tolerance)
        return true;
    int n = descent->n_round;
    return n >= HISTORY && descent->model.damping <= 1 && descent->n_rejected == 0
           && descent->history[(n + 1) % HISTORY] - descent->best->f <= tolerance;
}

/* What fitting the errors of the predictions themselves would gain at most: half the sum of their squares. */
static double noise_floor(const struct descent *descent)
{
    double error = ERROR_GROWTH * descent->asker->options->accuracy;
    return error * error * descent->objective_scale + ERROR_GROWTH * ERROR_GROWTH * descent->least_objective;
}

/* Nothing better was found for a few rounds, at ever shorter steps: at the optimum up to noise, stuck, or not known yet
 * (OUTCOME_not_run)? The error of a model shrinks with the step, noise does not. */
static enum outcome judge_stall(struct descent *descent)
{
    double promise = gauss_newton_promise_undamped(&descent->model, descent->best);
    double noise = isfinite(descent->noise) ? descent->noise : 0;
    double size = size_of(descent, descent->best->f);
    /* The less there is left to gain, the fewer trials are worth the proof. */
    if (descent->n_rejected < (promise <= PROMISE_IDLE * size ? 1 : FEW_REJECTED))
        return OUTCOME_not_run;
    bool small = noise <= NOISE_LIKELY * size
                 || (!descent->asker->objective.likelihood && descent->best->f <= 1e-8 * descent->objective_scale);
    /* With few parameters the first damping hardly shortens a step: then what looks like noise is still the model's own
     * error. */
    bool shortened = promise <= PROMISE_IDLE * size || descent->least_promise <= 0.1 * promise;
    if (small && shortened && promise <= 10 * noise)
        return OUTCOME_converged;
    if (descent->n_rejected >= FEW_REJECTED && promise <= noise_floor(descent)) {
        descent->asker->notes |= NOTE_noise_floor;
        return OUTCOME_converged;
    }
    if (descent->n_rejected < MAX_REJECTED)
        return OUTCOME_not_run;
    if (promise <= 100 * absolute_tolerance(descent))
        return OUTCOME_converged;
    /* What is promised lies in a direction that the data say next to nothing about, where slopes are errors of the
     * integration: no parameter on its own promises much. */
    double single = gauss_newton_promise_single(&descent->model, descent->best);
    if (single <= PROMISE_FLAT * size && single <= 0.25 * promise) {
        descent->asker->notes |= NOTE_noise_floor;
        return OUTCOME_converged;
    }
    snprintf(descent->asker->reason, sizeof descent->asker->reason,
             "no further decrease was found although the gradient promises %.3g of %.6g (noise %.2g)", promise,
             descent->best->f, noise);
    return OUTCOME_stalled;
}

/* After a round: what its first trial says about the model, and whether anything was gained. */
static void adapt_damping(struct descent *descent, bool gained)
{
    if (gained) {
        descent->n_rejected = 0;
        descent->noise = descent->least_promise = INFINITY;
        /* Heavy damping comes from a few bad trials, and is left as fast as it came. */
        double damping = descent->model.damping, shrink = damping > 1e3 ? 1e-3 : damping > 1 ? 1e-2 : 0.1;
        if (descent->first_ratio > 0.75)
            descent->model.damping = fmax(shrink * damping, DAMPING_LEAST);
        else if (descent->first_ratio < 0.25)
            descent->model.damping *= 4;
        return;
    }
    descent->n_rejected++;
    descent->least_promise = fmin(descent->least_promise, descent->model.promise);
    double factor = descent->n_rejected == 1 ? 10 : descent->n_rejected == 2 ? 30 : 100;
    descent->model.damping = fmin(fmax(descent->model.damping, DAMPING_RESTART) * factor, DAMPING_MOST);
    descent->patience = 1;
}

static enum outcome run_rounds(struct descent *descent)
{
    for (;;) {
        if (!gauss_newton_step(&descent->model, descent->best)) {
            snprintf(descent->asker->reason, sizeof descent->asker->reason, "the Gauss-Newton matrix is not usable");
            return OUTCOME_stalled;
        }
        if (is_converged(descent))
            return OUTCOME_converged;
        descent->n_trial = descent->n_accepted = descent->n_taken = descent->n_missed = 0;
        descent->first_ratio = 0;
        descent->by_slopes = false;
        if (gauss_newton_meets_box(&descent->model))
            try_step(descent);
        else if (search_inside(descent) == OUTCOME_out_of_memory)
            return OUTCOME_out_of_memory;
        if (descent->ended)
            return descent->asker->outcome;
        bool gained = descent->n_taken > 0;
        adapt_damping(descent, gained);
        if (gained) {
            descent->n_round++;
            descent->n_iteration += descent->n_accepted == 0;
            descent->history[descent->n_round % HISTORY] = descent->best->f;
        }
        enum outcome stalled = descent->n_rejected > 0 ? judge_stall(descent) : OUTCOME_not_run;
        if (stalled != OUTCOME_not_run)
            return stalled;
    }
}

enum outcome descent_run(struct descent *descent, const double *theta)
{
    struct fit_asker *asker = descent->asker;
    memcpy(descent->trial->theta, theta, descent->n * sizeof *theta);
    switch (fit_ask(asker, descent->trial)) {
    case ASKED_END: return asker->outcome;
    case ASKED_FAILED: return asker->failure;
    case ASKED_OK: break;
    }
    take_trial(descent);
    descent->has_best = true;
    descent->model.damping = DAMPING_START;
    descent->patience = 1;
    descent->noise = descent->least_promise = INFINITY;
    if (descent->n == 0)
        return OUTCOME_converged;
    descent->history[0] = descent->best->f;
    enum outcome outcome = run_rounds(descent);
    if (outcome == OUTCOME_converged && descent->model.is_current
        && gauss_newton_has_idle(&descent->model, descent->best, descent->objective_scale))
        asker->notes |= NOTE_no_influence;
    return outcome;
}
