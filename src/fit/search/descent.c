/* An active-set loop around libLBFGS. It searches over the parameters that no bound holds, until
 * one of them meets a bound, nothing better is found, or the leg is long enough; then the set is
 * chosen again. libLBFGS only proposes trials; they are judged here. What remains to be gained is
 * predicted from the derivatives of all residuals, where these are there; with gradients alone it
 * is estimated from the latest iterations.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/descent.h"

#include "fit/search/lbfgs.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A leg ends after so many iterations, and one with a factor after REFRESH. A new leg has to learn
 * the second derivatives anew: on NIST's problems, nine models and 120 random fits, legs of 60, 120
 * and 200 iterations take 1.15, 0.95 and 0.99 times the evaluations of endless ones; but the
 * worst-conditioned fits, of 6 to 25 parameters, 1.6, 1.1 and 1.0 times as many. */
enum { LEG = 120, REFRESH = 12 };
enum { MEMORY = 10, FEW_BARREN = 3, MAX_BARREN = 6, MAX_MISSED = 20 };
/* Known trials, and the numbers that these may be, if they are more than one. */
enum { KNOWN = 32, KNOWN_ROOM = 1 << 20 };
/* The most numbers of answers for which a leg is kept. */
enum { ANSWER_ROOM = 1 << 20 };

/* The gradient test accepts a remaining decrease of this many tolerances (stopping.c). */
static const double LOOSEST_TEST = 1e3;
/* A point within rounding of a bound: this part of the parameter's size. */
static const double AT_BOUND = 1e-13;
/* Length of the first trial: a tenth of a natural unit on a logarithmic scale, a tenth of the
 * values on a linear one. */
static const double FIRST_LENGTH = 0.1;
/* The least size of a parameter, as a part of its range, if it has one. */
static const double LEAST_SIZE = 1e-2;
/* A parameter whose best change is this many times its size is of another size. */
static const double TOO_SMALL = 1e3;

bool descent_init(struct descent *descent, struct arena *arena)
{
    size_t n = descent->map->n_free, most = KNOWN_ROOM / (2 * n + 1);
    descent->n = n;
    descent->most_known = most > KNOWN ? KNOWN : most > 1 ? most : 1;
    descent->state = (struct descent_state){.shrink = 1};
    descent->trial = &descent->points[0];
    descent->loose = arena_calloc(arena, n + 1, sizeof *descent->loose);
    return descent->loose &&
           ARENA_DOUBLES(arena, {&descent->scratch, lbfgs_scratch(n), 1},
                         {&descent->diagonal, n, 1}, {&descent->base, n, 1},
                         {&descent->tried, n, 1}, {&descent->origin, n, 1}, {&descent->slope, n, 1},
                         {&descent->known, descent->most_known, 2 * n + 1},
                         {&descent->leg.known, descent->most_known, 2 * n + 1},
                         {&descent->leg.theta, n, 1}, {&descent->leg.gradient, n, 1});
}

static size_t n_known(const struct descent *descent, const struct descent_state *state)
{
    return state->n_known < descent->most_known ? state->n_known : descent->most_known;
}

void descent_fini(struct descent *descent)
{
    free(descent->leg.answer);
    descent->leg.answer = NULL;
}

static bool make_room(struct descent_leg *leg, size_t n)
{
    bool is_good = true;
    while (is_good && leg->room < n)
        is_good = array_grow(&leg->answer, leg->room, &leg->room, sizeof *leg->answer);
    return is_good;
}

static void pass_method(struct cursor *cursor, struct descent *descent)
{
    struct cursor measure = {.at = 0};
    if (descent->method)
        descent->method->pass(&measure, descent);
    FIELD(measure.at);
    if (descent->method)
        descent->method->pass(cursor, descent);
    else
        pass_over(cursor, NULL, measure.at);
}

bool descent_pass(struct cursor *cursor, struct descent *descent)
{
    struct descent_leg *leg = &descent->leg;
    size_t n = descent->n, known = n_known(descent, &leg->state) * (2 * n + 1);
    FIELD(n);
    FIELD(known);
    FIELD(leg->n);
    FIELD(leg->state);
    FIELD(leg->f);
    FIELD(leg->n_iteration);
    if (cursor->from && descent->known && !make_room(leg, leg->n))
        return false;
    ARRAY(leg->known, known);
    ARRAY(leg->theta, n);
    ARRAY(leg->gradient, n);
    ARRAY(leg->answer, leg->n);
    ARRAY(descent->map->size, n);
    pass_method(cursor, descent);
    return true;
}

/* The search is where the leg that has been read began. */
static void resume_leg(struct descent *descent)
{
    const struct descent_leg *leg = &descent->leg;
    size_t n = descent->n;
    descent->state = leg->state;
    memcpy(descent->known, leg->known,
           n_known(descent, &leg->state) * (2 * n + 1) * sizeof *leg->known);
    memcpy(descent->best->theta, leg->theta, n * sizeof *leg->theta);
    memcpy(descent->best->gradient, leg->gradient, n * sizeof *leg->gradient);
    descent->best->f = leg->f;
    descent->search->n_iteration = leg->n_iteration;
}

static void note_leg(struct descent *descent)
{
    struct descent_leg *leg = &descent->leg;
    size_t n = descent->n;
    leg->state = descent->state;
    memcpy(leg->known, descent->known,
           n_known(descent, &leg->state) * (2 * n + 1) * sizeof *leg->known);
    memcpy(leg->theta, descent->best->theta, n * sizeof *leg->theta);
    memcpy(leg->gradient, descent->best->gradient, n * sizeof *leg->gradient);
    leg->f = descent->best->f;
    leg->n_iteration = descent->search->n_iteration;
    leg->n = leg->n_repeated = 0;
    leg->is_lost = leg->is_repeated = false;
}

/* Whether the method's next answer is known. */
static bool repeats(const struct descent *descent)
{
    return descent->leg.n_repeated < descent->leg.n;
}

/* Numbers of an answer: gives them again, or keeps them. */
static void answer(struct descent *descent, bool is_known, double *number, size_t n)
{
    struct descent_leg *leg = &descent->leg;
    if (is_known && n <= leg->n - leg->n_repeated) {
        memcpy(number, leg->answer + leg->n_repeated, n * sizeof *number);
        leg->n_repeated += n;
    } else if (!leg->is_lost && descent->method->keep) {
        leg->is_lost = leg->n + n > ANSWER_ROOM || !make_room(leg, leg->n + n);
        if (leg->is_lost)
            return;
        memcpy(leg->answer + leg->n, number, n * sizeof *number);
        leg->n_repeated = leg->n += n;
    }
}

static void keep(struct descent *descent)
{
    if (descent->method->keep && !descent->leg.is_lost)
        descent->method->keep(descent);
}

static enum asked evaluate(struct descent *descent)
{
    bool is_known = descent->leg.is_repeated = repeats(descent);
    if (!is_known)
        keep(descent);
    double asked = is_known ? 0 : (double)descent->method->evaluate(descent);
    answer(descent, is_known, &asked, 1);
    answer(descent, is_known, &descent->trial->f, 1);
    answer(descent, is_known, descent->trial->gradient, descent->n);
    return (enum asked)asked;
}

static double promise_by_method(struct descent *descent, double enough)
{
    bool is_known = repeats(descent);
    double number[] = {is_known ? 0 : descent->method->promise(descent, enough), descent->ended};
    answer(descent, is_known, number, 2);
    descent->ended = number[1] != 0;
    return number[0];
}

static double square_by_method(struct descent *descent, size_t j)
{
    bool is_known = repeats(descent);
    double number = is_known ? 0 : descent->method->square(descent, j);
    answer(descent, is_known, &number, 1);
    return number;
}

static enum asked measure(struct descent *descent)
{
    bool is_known = repeats(descent);
    double asked = is_known ? 0 : (double)descent->method->measure(descent);
    answer(descent, is_known, &asked, 1);
    return (enum asked)asked;
}

/* The trial has been evaluated, and becomes the best point. */
static void descent_take(struct descent *descent)
{
    struct fit_point *old = descent->best ? descent->best : &descent->points[1];
    descent->best = descent->trial;
    descent->trial = old;
    descent->state.hope = 0;
    if (!descent->leg.is_repeated)
        descent->method->take(descent);
}

static double tolerance(const struct descent *descent)
{
    return stopping_tolerance(&descent->search->stopping, descent->best);
}

/* By the leg's metric, which covers only the parameters of the leg. */
static double promise_by_metric(struct descent *descent)
{
    size_t k = 0;
    for (size_t j = 0; j < descent->n; j++)
        if (!fit_point_is_held(descent->map, descent->best, j) &&
            (k == descent->n_loose || descent->loose[k++] != j))
            return INFINITY;
    return k < descent->n_loose ? INFINITY
                                : fit_metric_promise(descent->metric, k, descent->loose,
                                                     descent->best->gradient);
}

static double promise(struct descent *descent, double enough)
{
    return descent->factor   ? promise_by_metric(descent)
           : descent->metric ? INFINITY
                             : promise_by_method(descent, enough);
}

static double square(struct descent *descent, size_t j)
{
    return descent->factor ? descent->metric->matrix[j + j * descent->n]
                           : square_by_method(descent, j);
}

/* Whether the remaining decrease is within the tolerance. */
static bool is_done(struct descent *descent)
{
    double enough = tolerance(descent);
    return promise(descent, enough) <= enough;
}

/* Records a trial without improvement: by how much value and slopes disagree, and where the
 * slopes along the step put the minimum. */
static void note_miss(struct descent *descent)
{
    struct descent_state *state = &descent->state;
    const struct fit_point *best = descent->best, *trial = descent->trial;
    double at_best = 0, at_trial = 0, by_slopes = stopping_by_slopes(descent->n, best, trial);
    if (fabs(by_slopes) + fabs(best->f - trial->f) >
        tolerance(descent)) /* shorter trials show nothing */
        state->apart[state->n_apart++ % DESCENT_APART] = fabs(best->f - trial->f - by_slopes);
    for (size_t j = 0; j < descent->n; j++) {
        at_best += best->gradient[j] * (trial->theta[j] - best->theta[j]);
        at_trial += trial->gradient[j] * (trial->theta[j] - best->theta[j]);
    }
    if (at_best < 0 && at_trial > at_best)
        state->hope = fmax(state->hope, 0.5 * at_best * at_best / (at_trial - at_best));
}

/* The part of the step from the latest iterate to x (loose entries) at which it meets the first
 * bound, that of entry *hit; 1: x lies within the box. */
static double part_within(const struct descent *descent, const double *x, size_t *hit)
{
    double part = 1;
    for (size_t k = 0; k < descent->n_loose; k++) {
        size_t j = descent->loose[k];
        double from = descent->base[j], bound = fit_map_within(descent->map, j, x[k]);
        /* A point within rounding of the bound is put on it. */
        if (fabs(x[k] - bound) <= AT_BOUND * (fit_map_size(descent->map, j, from) + fabs(bound)))
            continue;
        double allowed = (bound - from) / (x[k] - from);
        *hit = allowed < part ? k : *hit;
        part = allowed < part ? allowed : part;
    }
    return part;
}

/* The trial is the end of this part of the step to x, clipped to the box. */
static void place_trial(struct descent *descent, const double *x, double part)
{
    double *theta = descent->trial->theta;
    memcpy(theta, descent->base, descent->n * sizeof *theta);
    for (size_t k = 0; k < descent->n_loose; k++) {
        size_t j = descent->loose[k];
        theta[j] = fit_map_within(descent->map, j,
                                  part < 1 ? theta[j] + part * (x[k] - theta[j]) : x[k]);
    }
}

/* Evaluates the trial unless it is already known. Then only objective and gradient are there,
 * which suffices, because it was not better. */
static enum asked ask_once(struct descent *descent, bool *is_known)
{
    size_t n = descent->n;
    struct fit_point *trial = descent->trial;
    const struct fit_point *best = descent->best;
    *is_known = best && descent->method->is_same(descent, best->theta, trial->theta);
    if (*is_known) {
        trial->f = best->f;
        memcpy(trial->gradient, best->gradient, n * sizeof *best->gradient);
        return ASKED_OK;
    }
    for (size_t k = 0; k < n_known(descent, &descent->state); k++) {
        const double *entry = descent->known + k * (2 * n + 1);
        *is_known = descent->method->is_same(descent, entry, trial->theta);
        if (*is_known) {
            trial->f = entry[n];
            memcpy(trial->gradient, entry + n + 1, n * sizeof *entry);
            return isnan(trial->f) ? ASKED_FAILED : ASKED_OK;
        }
    }
    enum asked asked = evaluate(descent);
    double *entry = descent->known + descent->state.n_known++ % descent->most_known * (2 * n + 1);
    memcpy(entry, trial->theta, n * sizeof *entry);
    entry[n] = asked == ASKED_OK ? trial->f : NAN;
    memcpy(entry + n + 1, trial->gradient, n * sizeof *entry);
    *is_known = false;
    return asked;
}

/* Asks for the trial; `better`: it is the new best point. */
static enum asked ask(struct descent *descent, bool *better)
{
    bool is_known;
    *better = false;
    enum asked asked = ask_once(descent, &is_known);
    descent->ended = asked == ASKED_END;
    /* Very close to a bound, the gain of a step onto it is lost in rounding, but the search can
     * continue from there. */
    double limit =
        descent->best->f + (descent->met_bound ? 4 * DBL_EPSILON * fabs(descent->best->f) : 0);
    bool is_lower =
        descent->trial->f < descent->best->f || (descent->met_bound && descent->trial->f <= limit);
    if (asked == ASKED_OK && !is_known && is_lower) {
        *better = true;
        descent_take(descent);
    } else if (asked == ASKED_OK) {
        note_miss(descent);
    }
    descent->n_missed = *better ? 0 : descent->n_missed + 1;
    return asked;
}

/* Evaluates x, clipped to the box. Where this meets bounds, maybe many at once, the leg ends
 * if it is better. If not, the step is cut at the first bound: that goes downhill for certain,
 * but meets only one. Or, where parameters are many, it has slope 0, and the line search tries a
 * shorter one. */
static enum asked try_within(struct descent *descent, const double *x, bool *better)
{
    size_t hit = 0;
    double part = part_within(descent, x, &hit);
    descent->met_bound = part < 1;
    place_trial(descent, x, 1);
    enum asked asked = ask(descent, better);
    if (!descent->met_bound)
        return asked;
    if (asked == ASKED_END || *better || (!descent->shortens && !(part > 0)))
        return ASKED_END;
    if (descent->shortens) {
        descent->met_bound = false;
        memset(descent->trial->gradient, 0, descent->n * sizeof *descent->trial->gradient);
        return asked;
    }
    place_trial(descent, x, part);
    descent->trial->theta[descent->loose[hit]] = fit_map_within(descent->map, descent->loose[hit],
                                                                x[hit]);
    return ask(descent, better);
}

static bool try_point(void *context, const double *x, double *f, double *gradient)
{
    struct descent *descent = context;
    bool better;
    switch (try_within(descent, x, &better)) {
    case ASKED_END:
        return false;
    case ASKED_FAILED: /* a value that no line search accepts, and slope 0 */
        *f = INFINITY;
        memset(gradient, 0, descent->n_loose * sizeof *gradient);
        return descent->n_missed < MAX_MISSED;
    case ASKED_OK:
        break;
    }
    const struct fit_point *point = better ? descent->best : descent->trial;
    *f = point->f;
    for (size_t k = 0; k < descent->n_loose; k++)
        gradient[k] = point->gradient[descent->loose[k]];
    memcpy(descent->tried, point->theta, descent->n * sizeof *descent->tried);
    return !descent->met_bound && descent->n_missed < MAX_MISSED;
}

static bool accept(void *context)
{
    struct descent *descent = context;
    memcpy(descent->base, descent->tried, descent->n * sizeof *descent->base);
    descent->search->n_iteration++;
    descent->n_iteration++;
    double *before = &descent->state.history[descent->state.n_gain++ % DESCENT_HISTORY];
    descent->is_flat = descent->state.n_gain > DESCENT_HISTORY &&
                     *before - descent->best->f <= tolerance(descent);
    *before = descent->best->f;
    bool is_long = descent->n_iteration >= (descent->factor ? REFRESH : LEG);
    return !descent->is_flat && !is_long && !is_done(descent);
}

/* The size of parameter j, by which the first trial may change it. Where 0 is all that is known
 * of it, or a start that is many orders of magnitude too small, what would be its best change if
 * it alone changed. */
static double size_of(struct descent *descent, size_t j, bool has_squares)
{
    const struct fit_map *map = descent->map;
    double size = fit_map_size(map, j, descent->best->theta[j]), alone = 0;
    if (map->upper[j] - map->lower[j] < INFINITY) /* a value may be near 0 by chance */
        size = fmax(size, LEAST_SIZE * (map->upper[j] - map->lower[j]));
    if (has_squares && map->scale[j] == SCALE_LIN) {
        double curvature = square(descent, j);
        alone = curvature > 0 ? fabs(descent->best->gradient[j]) / curvature : 0;
    }
    size = alone > TOO_SMALL * size ? alone : size;
    return size > 0 ? size : 1;
}

/* The residuals' derivatives by each parameter, near an optimum and after the first leg. */
static void guess_by_squares(struct descent *descent)
{
    for (size_t k = 0; k < descent->n_loose; k++) {
        double curvature = square(descent, descent->loose[k]);
        descent->diagonal[k] =
            curvature > 0 ? sqrt(curvature / descent->state.shrink)
                          : 1 / size_of(descent, descent->loose[k], false);
    }
}

/* A first trial of the right length. */
static void guess_by_sizes(struct descent *descent, bool has_squares)
{
    double norm = 0;
    for (size_t k = 0; k < descent->n_loose; k++) {
        descent->diagonal[k] = 1 / size_of(descent, descent->loose[k], has_squares);
        norm += pow(descent->slope[k] / descent->diagonal[k], 2);
    }
    double unit = sqrt(sqrt(norm) / (FIRST_LENGTH * descent->state.shrink));
    for (size_t k = 0; k < descent->n_loose; k++)
        descent->diagonal[k] *= unit > 0 ? unit : 1;
}

/* Holds parameters on a bound that the metric's step would push out of the box, whatever their
 * own slopes, for this leg: otherwise the others could not move. The step is that of all loose
 * parameters. True: there was one. */
static bool drop_leaving(struct descent *descent)
{
    const struct fit_map *map = descent->map;
    size_t count = 0;
    for (size_t k = 0; k < descent->n_loose; k++) {
        size_t j = descent->loose[k];
        double theta = descent->best->theta[j], minus_step = descent->metric->step[k];
        if ((theta <= map->lower[j] && minus_step > 0) ||
            (theta >= map->upper[j] && minus_step < 0))
            continue;
        descent->loose[count] = (uint32_t)j;
        descent->origin[count] = descent->origin[k];
        descent->slope[count++] = descent->slope[k];
    }
    bool any = count > 0 && count < descent->n_loose;
    descent->n_loose = count > 0 ? count : descent->n_loose;
    return any;
}

static void guess_by_metric(struct descent *descent)
{
    enum asked asked = measure(descent);
    descent->ended = asked == ASKED_END;
    do
        descent->factor = asked == ASKED_OK &&
                                  fit_metric_factor(descent->metric, descent->map,
                                                    descent->best->theta, descent->n_loose,
                                                    descent->loose, descent->slope,
                                                    descent->state.shrink)
                            ? descent->metric->factor
                            : NULL;
    while (descent->factor && drop_leaving(descent));
}

/* Sets the loose parameters, and the first guess of their second derivatives. */
static void begin_leg(struct descent *descent)
{
    const struct fit_point *best = descent->best;
    descent->n_loose = 0;
    for (size_t j = 0; j < descent->n; j++) {
        if (fit_point_is_held(descent->map, best, j))
            continue;
        descent->origin[descent->n_loose] = best->theta[j];
        descent->slope[descent->n_loose] = best->gradient[j];
        descent->loose[descent->n_loose++] = (uint32_t)j;
    }
    memcpy(descent->base, best->theta, descent->n * sizeof *descent->base);
    descent->met_bound = descent->is_flat = false;
    descent->n_missed = descent->n_iteration = 0;
    descent->factor = NULL;
    if (descent->metric)
        guess_by_metric(descent);
    bool has_squares = !descent->factor && isfinite(promise(descent, 0));
    if (has_squares && (descent->is_near || descent->state.n_leg > 0))
        guess_by_squares(descent);
    else if (!descent->factor)
        guess_by_sizes(descent, has_squares);
    descent->state.n_leg++;
}

/* The largest decrease predicted for any single parameter that no bound holds. */
static double promise_single(struct descent *descent)
{
    double most = 0;
    for (size_t j = 0; j < descent->n; j++) {
        double g = descent->best->gradient[j];
        if (!fit_point_is_held(descent->map, descent->best, j) && g != 0)
            most = fmax(most, 0.5 * g * g / square(descent, j));
    }
    return most;
}

/* Without the columns of derivatives, no gradient is known to be small: any may be one in small
 * units. */
static bool is_orthogonal(struct descent *descent)
{
    double left = promise(descent, INFINITY);
    return isfinite(left) && stopping_is_orthogonal(&descent->search->stopping, descent->best,
                                                    promise_single(descent), left);
}

static enum stop_test find_met(struct descent *descent)
{
    if (fit_point_gradient_norm(descent->map, descent->best) == 0)
        return STOP_gradient;
    enum stop_test by_value = stopping_by_value(&descent->search->stopping, descent->best);
    if (by_value != STOP_none)
        return by_value;
    return is_done(descent) ? STOP_decrease : is_orthogonal(descent) ? STOP_gradient : STOP_none;
}

/* The median of the latest disagreements: a single one may be small by chance. Infinite: there
 * are none. */
static double noise_of(const struct descent *descent)
{
    double sorted[DESCENT_APART];
    int n = descent->state.n_apart < DESCENT_APART ? descent->state.n_apart : DESCENT_APART;
    for (int i = 0; i < n; i++) {
        int k = i;
        for (; k > 0 && sorted[k - 1] > descent->state.apart[i]; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = descent->state.apart[i];
    }
    return n > 0 ? sorted[n / 2] : INFINITY;
}

/* Called after several legs that gained almost nothing. */
static enum outcome judge_barren(struct descent *descent)
{
    struct fit_asker *asker = descent->search->asker;
    struct stopping *stopping = &descent->search->stopping;
    double left = promise(descent, INFINITY);
    if (!isfinite(left) && descent->state.hope > 0)
        left = descent->state.hope;
    stopping->noise = noise_of(descent);
    stopping->met = left <= tolerance(descent) ? STOP_step : STOP_none;
    if (stopping->met != STOP_none)
        return OUTCOME_converged;
    /* Leg after leg finds nothing: a remaining decrease that the gradient test accepts does
     * not justify a failure. */
    if (stopping_is_noise(stopping, left, descent->best) ||
        left <= LOOSEST_TEST * tolerance(descent)) {
        asker->notes |= NOTE_noise_floor;
        stopping->met = STOP_noise;
        return OUTCOME_converged;
    }
    fit_asker_end(asker, OUTCOME_stalled,
                  "no objective below %.6g was found, and the gradient is still %.3g",
                  descent->best->f, fit_point_gradient_norm(descent->map, descent->best));
    return OUTCOME_stalled;
}

/* Whether the latest iterations gained almost nothing, in a barren leg, too. Far from the
 * optimum of parameters in small units, gains are small as well, but more is promised. */
static bool is_idle(struct descent *descent, bool is_barren)
{
    if (!descent->is_flat || !is_barren)
        return false;
    double left = promise(descent, INFINITY);
    return !isfinite(left) ||
           left <= stopping_noise_likely(&descent->search->stopping, descent->best);
}

/* A leg of libLBFGS. */
static enum lbfgs_end run_leg(struct descent *descent)
{
    struct lbfgs_search search = {.n = descent->n_loose,
                                  .origin = descent->origin, .gradient = descent->slope,
                                  .f = descent->best->f, .factor = descent->factor,
                                  .diagonal = descent->diagonal, .trial = try_point,
                                  .accepted = accept, .context = descent, .memory = MEMORY,
                                  .scratch = descent->scratch};
    return descent->ended ? LBFGS_STOPPED : lbfgs_search_run(&search);
}

/* After a leg that gained so much: whether the search ends, and how; OUTCOME_not_run: it does
 * not. */
static enum outcome judge_leg(struct descent *descent, double gain)
{
    struct descent_state *state = &descent->state;
    bool barren = gain <= tolerance(descent);
    descent->search->stopping.met = STOP_step;
    if (is_idle(descent, barren))
        return OUTCOME_converged;
    /* A leg that ends on a bound may gain almost nothing, yet the next one is a different
     * search. */
    bool moved = descent->met_bound && !descent->n_missed && state->n_on_bound++ < 2 * descent->n;
    state->n_barren = barren && !moved ? state->n_barren + 1 : 0;
    state->n_on_bound = barren ? state->n_on_bound : 0;
    state->shrink = state->n_barren > 0 ? 0.1 * state->shrink : 1;
    if (state->n_barren < FEW_BARREN)
        return OUTCOME_not_run;
    enum outcome outcome = judge_barren(descent);
    bool is_last = state->n_barren >= (descent->met_bound ? MAX_BARREN : FEW_BARREN);
    return outcome == OUTCOME_converged || is_last ? outcome : OUTCOME_not_run;
}

/* A leg that is not repeated. */
static void begin(struct descent *descent)
{
    keep(descent);
    if (descent->method->begin)
        descent->method->begin(descent);
}

enum outcome descent_run(struct descent *descent)
{
    enum stop_test *met = &descent->search->stopping.met;
    enum outcome outcome = OUTCOME_not_run;
    while (outcome == OUTCOME_not_run) {
        if (descent->is_resumed)
            resume_leg(descent);
        else if ((*met = find_met(descent)) != STOP_none)
            return OUTCOME_converged;
        else
            note_leg(descent);
        double before = descent->best->f;
        descent->is_resumed = false;
        if (!repeats(descent))
            begin(descent);
        begin_leg(descent);
        if (!descent->ended && descent->factor && (*met = find_met(descent)) != STOP_none)
            return OUTCOME_converged;
        if (run_leg(descent) == LBFGS_NO_MEMORY)
            return OUTCOME_out_of_memory;
        if (descent->ended)
            return descent->search->asker->outcome;
        outcome = judge_leg(descent, before - descent->best->f);
    }
    return outcome;
}
