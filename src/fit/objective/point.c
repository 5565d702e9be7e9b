/* Asks for evaluations, evaluates points, and computes derivatives by difference quotients: two
 * places for each parameter, one list of evaluations, and the slope of the parabola through
 * three values.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/point.h"

#include "fit/objective/matrix.h"
#include "fit/objective/preequilibration.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The deadline may pass while a suspended evaluation waits for its next turn, although the fit
 * has used less computing time than it is allowed. The evaluation is then repeated, at most this
 * often. */
enum { MAX_RETRY = 100 };

/* A point that lanes cannot integrate is a failed trial: far from the optimum most of them fail
 * with CVODES, too, which takes several times as long for all the others. It counts LOST, one
 * that can be integrated takes one off, and at MAX_LOST CVODES takes over. */
enum { LOST = 2, MAX_LOST = 16 };

/* Differences beyond this part change the bits of a natural parameter, unless both are on the
 * same bound. */
static const double SURELY = 1e-12;

/* Errors of predictions over the integrator's tolerance; they differ by a few tolerances from
 * place to place. */
static const double ERROR_GROWTH = 10;
/* If nothing is integrated. */
static const double ROUNDING = 10 * DBL_EPSILON;
/* The divisor of the tolerances for an integration that failed, unless they then fall below the
 * least one; and how many failures in a row end such attempts. */
static const double SAVING = 1000, LEAST_SAVING = 10, LEAST_RTOL = 1e-12;
enum { MAX_UNSAVED = 3 };
static const double LN10 = 2.302585092994045684;

/* The present reason may be among the arguments, hence the copy. */
static void put_reason(struct fit_asker *asker, const char *format, va_list arguments)
{
    char reason[sizeof asker->reason];
    vsnprintf(reason, sizeof reason, format, arguments);
    memcpy(asker->reason, reason, sizeof reason);
}

enum asked fit_asker_end(struct fit_asker *asker, enum outcome outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_reason(asker, format, arguments);
    va_end(arguments);
    asker->outcome = outcome;
    return ASKED_END;
}

enum asked fit_asker_miss(struct fit_asker *asker, enum outcome failure, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_reason(asker, format, arguments);
    va_end(arguments);
    asker->failure = failure;
    asker->notes |= NOTE_failed_evaluations;
    return ASKED_FAILED;
}

static double seconds_left(const struct fit_asker *asker)
{
    if (!(asker->options->max_seconds < INFINITY))
        return INFINITY;
    return asker->options->max_seconds -
           1e-9 * (double)asker->host->elapsed_ns(asker->host->context);
}

static int64_t deadline_after(double seconds)
{
    if (!(seconds < 1e9))
        return INT64_MAX;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec + (int64_t)(1e9 * seconds);
}

/* Checks for everything that can end the fit before the next evaluation. */
static enum asked check_budgets(struct fit_asker *asker, size_t n, int64_t most_steps)
{
    const struct fit_options *options = asker->options;
    if (fit_work_left(options, &asker->used).n_evaluation < (int64_t)n)
        return fit_asker_end(asker, OUTCOME_budget,
                             "the budget of %" PRId64
                             " evaluations is used up (--max-evaluations)%s",
                             options->max_evaluations,
                             n > 1 ? ": difference quotients take two for each parameter" : "");
    if (asker->used.n_step >= most_steps)
        return fit_asker_end(asker, OUTCOME_budget,
                             "the budget of %" PRId64
                             " integrator steps is used up (--max-total-steps)",
                             most_steps);
    if (!(seconds_left(asker) > 0))
        return fit_asker_end(asker, OUTCOME_timeout,
                             "the budget of %g s of computing is used up (--max-seconds)",
                             options->max_seconds);
    return ASKED_OK;
}

bool fit_asker_prepare(struct fit_asker *asker, struct arena *arena)
{
    const struct fit_problem *problem = asker->problem;
    const struct fit_map *map = &asker->map;
    size_t n = problem->n_experiment;
    asker->first_row = arena_calloc(arena, n + 1, sizeof *asker->first_row);
    asker->evaluation = arena_calloc(arena, n, sizeof *asker->evaluation);
    asker->course = arena_calloc(arena, n, sizeof *asker->course);
    asker->asked = arena_calloc(arena, 2 * n, sizeof(struct evaluation *));
    for (size_t e = 0; asker->first_row && e < n; e++)
        asker->first_row[e + 1] = asker->first_row[e] + problem->task[e].n_row;
    return asker->first_row && asker->evaluation && asker->course && asker->asked &&
           ARENA_DOUBLES(arena, {&asker->of_model, map->n_of_model, 1},
                         {&asker->compared, map->n_parameter, 2},
                         {&asker->excess, n == 1 ? problem->task->n_row : 0, 1});
}

void fit_asker_forget(struct fit_asker *asker)
{
    memset(asker->course, 0, asker->problem->n_experiment * sizeof *asker->course);
}

const char *fit_name_experiment(const struct fit_problem *problem, const struct ode_task *task,
                                char name[FIT_NAME_SIZE])
{
    name[0] = '\0';
    if (problem->n_experiment > 1 && task->experiment.id)
        snprintf(name, FIT_NAME_SIZE, "experiment %.60s: ", task->experiment.id);
    return name;
}

/* Decides whether a finished evaluation's failure ends the fit. */
static enum asked judge_end(struct fit_asker *asker, struct fit_accuracy accuracy,
                            const struct evaluation *evaluation, bool limited_by_total)
{
    if (evaluation->outcome == EVALUATION_NO_MEMORY)
        return fit_asker_end(asker, OUTCOME_out_of_memory, "%s",
                             evaluation->reason[0] ? evaluation->reason : "out of memory");
    if (evaluation->outcome == EVALUATION_TIMEOUT)
        return fit_asker_end(
            asker, OUTCOME_timeout,
            "the time of this fit is used up within an evaluation (--max-seconds)");
    if (evaluation->outcome == EVALUATION_BUDGET && limited_by_total)
        return fit_asker_end(asker, OUTCOME_budget,
                             "the integrator steps of this fit are used up within an evaluation "
                             "(--max-total-steps)");
    bool is_lost = evaluation->outcome == EVALUATION_ODE_FAILED &&
                   evaluation->engine != ENGINE_REFERENCE;
    asker->lanes.has_lost = asker->lanes.has_lost || is_lost;
    asker->lanes.leaves = is_lost && !accuracy.is_loose && !asker->lanes.stays
                          && (isnan(asker->start_f) || asker->lanes.n_lost >= MAX_LOST);
    if (asker->lanes.leaves)
        return fit_asker_end(asker, OUTCOME_ode_failed, "%s", evaluation->reason);
    return ASKED_OK;
}

static enum asked fit_asker_fail(struct fit_asker *asker, const struct evaluation *evaluation)
{
    bool is_budget = evaluation->outcome == EVALUATION_BUDGET && !evaluation->reason[0];
    bool is_model = evaluation->outcome == EVALUATION_MODEL_FAILED;
    char name[FIT_NAME_SIZE];
    return fit_asker_miss(asker, is_model ? OUTCOME_model_failed : OUTCOME_ode_failed, "%s%s",
                          fit_name_experiment(asker->problem, evaluation->task, name),
                          is_budget
                              ? "the integrator steps of one evaluation are used up (--max-steps)"
                              : evaluation->reason);
}

/* Asks for the evaluations, and again for those that timed out while the fit has time left. */
static bool ask_again(void *context, struct evaluation *const *all, size_t n)
{
    struct fit_asker *asker = context;
    struct evaluation **evaluations = asker->again;
    memcpy(evaluations, all, n * sizeof(struct evaluation *));
    for (int retry = 0; n > 0; retry++) {
        for (size_t k = 0; k < n; k++)
            evaluations[k]->deadline_ns = deadline_after(seconds_left(asker));
        if (!asker->host->ask(asker->host->context, evaluations, n))
            return false;
        if (retry == MAX_RETRY || !(seconds_left(asker) > 0))
            break;
        size_t n_again = 0; /* not counted: how often this happens depends on the machine's load */
        for (size_t k = 0; k < n; k++)
            if (evaluations[k]->outcome == EVALUATION_TIMEOUT) {
                struct evaluation *again = evaluations[k];
                evaluations[k] = evaluations[n_again];
                evaluations[n_again++] = again;
            }
        n = n_again;
    }
    return true;
}

/* Asks the host for n evaluations at once, those of all experiments at one or more places, which
 * share the remaining budgets; each place counts as one evaluation of the objective. The list
 * has room for 2 n. The caller fills in task, p, n_sens, sens, adjoint and the answer's arrays.
 * ASKED_OK: all are finished, whatever their outcomes. */
static enum asked fit_ask_all(struct fit_asker *asker, struct fit_accuracy accuracy,
                       struct evaluation **evaluations, size_t n)
{
    size_t n_experiment = asker->problem->n_experiment;
    int64_t most = asker->options->max_total_steps,
            most_steps = most > INT64_MAX / (int64_t)n_experiment ? INT64_MAX
                                                                  : most * (int64_t)n_experiment;
    enum asked asked = check_budgets(asker, n / n_experiment, most_steps);
    if (asked != ASKED_OK)
        return asked;
    int64_t left = (most_steps - asker->used.n_step) / (int64_t)(n ? n : 1);
    bool limited_by_total = left <= asker->options->max_steps;
    double tighter = accuracy.tighter;
    if (accuracy.gradient == GRADIENT_differences && !asker->is_exact)
        tighter *= FIT_QUOTIENT_TIGHTER;
    for (size_t k = 0; k < n; k++) {
        evaluations[k]->engine = accuracy.engine;
        evaluations[k]->tighter = tighter;
        evaluations[k]->course = asker->course[evaluations[k]->task - asker->problem->task];
        evaluations[k]->max_steps = limited_by_total ? left : asker->options->max_steps;
    }
    asker->again = evaluations + n;
    asker->is_cancelled =
        !fit_preequilibrate(asker->problem, &asker->map, evaluations, n, ask_again, asker);
    if (asker->is_cancelled)
        return fit_asker_end(asker, OUTCOME_not_run, "cancelled");
    asker->used.n_evaluation += (int64_t)(n / n_experiment);
    bool is_lost = false;
    for (size_t k = 0; k < n; k++) {
        asker->used.n_step += evaluations[k]->n_step;
        asker->course[evaluations[k]->task - asker->problem->task] = evaluations[k]->course;
        is_lost = is_lost || evaluations[k]->outcome == EVALUATION_ODE_FAILED;
        if (asked == ASKED_OK)
            asked = judge_end(asker, accuracy, evaluations[k], limited_by_total);
    }
    int *n_lost = &asker->lanes.n_lost;
    *n_lost = is_lost ? *n_lost + LOST : *n_lost - (*n_lost > 0);
    return asked;
}

double fit_asker_rtol(const struct fit_asker *asker, double tighter)
{
    double rtol = asker->options->accuracy;
    return asker->is_exact ? fmin(rtol, FIT_QUOTIENT_ROUNDING) : rtol / tighter;
}

bool fit_asker_is_same(const struct fit_asker *asker, const double *theta, const double *other)
{
    const struct fit_map *map = &asker->map;
    double *p = asker->compared, *q = p + map->n_parameter;
    for (size_t j = 0; j < map->n_free; j++) { /* most are: cheaper than their exponentials */
        bool is_inside = theta[j] > map->lower[j] && theta[j] < map->upper[j];
        if (is_inside && fabs(theta[j] - other[j]) > SURELY * fmax(1, fabs(theta[j])))
            return false;
    }
    return memcmp(theta, other, map->n_free * sizeof *theta) == 0
           || (fit_map_natural(map, theta, p) && fit_map_natural(map, other, q)
               && memcmp(p, q, map->n_parameter * sizeof *p) == 0);
}

bool fit_point_init(struct fit_point *point, const struct fit_asker *asker,
                    enum gradient_method gradient, struct arena *arena)
{
    point->by_experiment = NULL;
    size_t n = asker->map.n_free, n_row = asker->objective.n_row,
           n_noise = asker->objective.has_noise ? n_row : 0;
    size_t n_column = gradient != GRADIENT_adjoint ? n : 0;
    *point = (struct fit_point){.f = NAN};
    /* An evaluation writes all of the large ones that it is asked for. */
    if (!ARENA_SPACE(arena, {&point->d_prediction, n_row, n_column},
                     {&point->d_noise, n_noise, n_column}, {&point->prediction, n_row, 1},
                     {&point->weight, n_row, 1}, {&point->residual, n_row, 1},
                     {&point->noise, n_noise, 1}) ||
        !ARENA_DOUBLES(arena, {&point->theta, n, 1}, {&point->gradient, n, 1},
                       {&point->chain, n, 1}, {&point->p, asker->map.n_parameter, 1}))
        return false;
    point->noise = n_noise ? point->noise : NULL;
    point->d_prediction = n_column ? point->d_prediction : NULL;
    point->d_noise = n_column && n_noise ? point->d_noise : NULL;
    return true;
}

struct fit_answer fit_point_answer(const struct fit_asker *asker, const struct fit_point *point)
{
    return (struct fit_answer){.n = asker->map.n_free,
                               .prediction = point->prediction, .d_prediction = point->d_prediction,
                               .noise = point->noise, .d_noise = point->d_noise,
                               .chain = point->chain, .weight = point->weight,
                               .residual = point->residual, .theta = point->theta, .p = point->p};
}

double fit_point_mean_square(const struct fit_asker *asker, const struct fit_point *point)
{
    size_t n_row = asker->objective.n_row;
    return n_row > 0 ? matrix_squares(n_row, point->residual) / (double)n_row : 0;
}

double fit_point_variance(const struct fit_asker *asker, const struct fit_point *point)
{
    return asker->is_sigma_known ? 1 : fit_point_mean_square(asker, point);
}

double fit_point_misfit(const struct fit_asker *asker, const struct fit_point *point)
{
    if (!asker->objective.has_offset)
        return fabs(point->f);
    double mean_square = fit_point_mean_square(asker, point);
    return 0.5 * (double)asker->objective.n_row *
           (asker->is_sigma_known ? fmax(1, mean_square) : mean_square);
}

double fit_point_scale(const struct fit_asker *asker, const struct fit_point *point)
{
    if (!asker->objective.has_noise)
        return asker->scale;
    struct fit_answer answer = fit_point_answer(asker, point);
    return fit_objective_scale(&asker->objective, &answer);
}

double fit_point_size(const struct fit_asker *asker, const struct fit_point *point)
{
    double sum = 0;
    for (size_t i = 0; i < asker->objective.n_row; i++) {
        double weighted = point->prediction[i] * point->weight[i];
        sum += weighted * weighted;
    }
    return sqrt(sum);
}

bool fit_point_is_held(const struct fit_map *map, const struct fit_point *point, size_t j)
{
    double g = point->gradient[j];
    return (point->theta[j] <= map->lower[j] && g >= 0) ||
           (point->theta[j] >= map->upper[j] && g <= 0);
}

double fit_point_gradient_norm(const struct fit_map *map, const struct fit_point *point)
{
    double norm = 0;
    for (size_t j = 0; j < map->n_free; j++)
        if (!fit_point_is_held(map, point, j))
            norm = fmax(norm, fabs(point->gradient[j]));
    return norm;
}

static double step_of(const struct fit_asker *asker, double tighter)
{
    double by = FIT_QUOTIENT_TIGHTER * tighter;
    return cbrt(asker->is_exact ? ROUNDING
                                : fmax(ROUNDING, ERROR_GROWTH / by * asker->options->accuracy));
}

double fit_asker_accuracy(const struct fit_asker *asker, struct fit_accuracy accuracy)
{
    bool by_quotients = accuracy.gradient == GRADIENT_differences && !asker->is_exact;
    double step = step_of(asker, accuracy.tighter);
    return by_quotients ? step * step : fit_asker_rtol(asker, accuracy.tighter);
}

bool fit_quotient_init(struct fit_quotient *quotient, const struct fit_asker *asker,
                       struct arena *arena)
{
    const struct fit_map *map = &asker->map;
    size_t n = map->n_free, n_row = asker->objective.n_row,
           n_noise = asker->objective.has_noise ? n_row : 0;
    size_t n_evaluation = 2 * n * asker->problem->n_experiment;
    quotient->evaluation = arena_calloc(arena, n_evaluation + 1, sizeof *quotient->evaluation);
    quotient->asked = arena_calloc(arena, 2 * n_evaluation + 1, sizeof *quotient->asked);
    return quotient->evaluation && quotient->asked &&
           ARENA_DOUBLES(arena, {&quotient->prediction, n_row, n}, {&quotient->noise, n_noise, n},
                         {&quotient->p, map->n_parameter, 2 * n}, {&quotient->offset, n, 2},
                         {&quotient->theta, n, 1}, {&quotient->of_model, map->n_of_model, 2 * n});
}

/* Both places of parameter j, within its bounds, as offsets from theta. */
static void choose_places(const struct fit_quotient *quotient, const struct fit_map *map,
                          const double *theta, size_t j, double *first, double *second)
{
    double step = quotient->step, up = map->upper[j] - theta[j], down = theta[j] - map->lower[j];
    if (map->scale[j] == SCALE_LOG10)
        step /= LN10;
    if (map->scale[j] == SCALE_LIN) {
        double size = fit_map_size(map, j, theta[j]);
        step *= size > 0 ? size : up + down < INFINITY ? up + down : 1;
    }
    if (up >= step && down >= step) {
        *first = -step;
        *second = step;
    } else {
        *first = up >= down ? fmin(step, up / 2) : -fmin(step, down / 2);
        *second = 2 * *first;
    }
}

/* The evaluations at p, into their rows of the answer's arrays. `of_model`: fit_map_model. */
static void fill_evaluations(const struct fit_asker *asker, const double *p, const double *of_model,
                             double *prediction, double *noise, struct evaluation *evaluation)
{
    for (size_t e = 0; e < asker->problem->n_experiment; e++) {
        const struct fit_binding *binding = fit_map_binding(&asker->map, e);
        evaluation[e] = (struct evaluation){.task = &asker->problem->task[e],
                                            .named = p, .outcome = EVALUATION_MODEL_FAILED,
                                            .prediction = prediction + asker->first_row[e],
                                            .noise = noise ? noise + asker->first_row[e] : NULL};
        fit_binding_set(binding, of_model + binding->offset, &evaluation[e]);
    }
}

/* The first evaluation that failed; NULL: none. */
static const struct evaluation *find_failure(const struct fit_asker *asker,
                                             const struct evaluation *evaluation)
{
    for (size_t e = 0; e < asker->problem->n_experiment; e++)
        if (evaluation[e].outcome != EVALUATION_OK)
            return &evaluation[e];
    return NULL;
}

/* The evaluations of one place. False: there are none, because a parameter overflows. */
static bool request(struct fit_quotient *quotient, struct fit_asker *asker, struct fit_point *point,
                    size_t j, size_t place)
{
    const struct fit_map *map = &asker->map;
    size_t n_row = asker->objective.n_row, k = j + place * map->n_free;
    double *p = quotient->p + k * map->n_parameter,
           *of_model = quotient->of_model + k * map->n_of_model;
    double theta = point->theta[j] + quotient->offset[k];
    theta = fmin(map->upper[j], fmax(map->lower[j], theta));
    quotient->offset[k] = theta - point->theta[j];
    memcpy(quotient->theta, point->theta, map->n_free * sizeof *quotient->theta);
    quotient->theta[j] = theta;
    fill_evaluations(asker, p, of_model,
                     (place ? quotient->prediction : point->d_prediction) + j * n_row,
                     point->noise ? (place ? quotient->noise : point->d_noise) + j * n_row : NULL,
                     quotient->evaluation + k * asker->problem->n_experiment);
    if (quotient->offset[k] == 0 || !fit_map_natural(map, quotient->theta, p))
        return false;
    fit_map_model(map, p, of_model);
    return true;
}

/* Slopes of the parabolas through `value` and the values at distances a and b; if one of these
 * is NULL, slopes of straight lines through the other. `slope` may be `first`. */
static void take_slopes(size_t n_row, const double *value, const double *first, double a,
                        const double *second, double b, double chain, double *slope)
{
    /* weight of each place in the slope of the parabola; of a single one, in that of a straight
     * line */
    double by_first = !first ? 0 : second ? b / (a * (b - a)) : 1 / a;
    double by_second = !second ? 0 : first ? -a / (b * (b - a)) : 1 / b;
    for (size_t i = 0; i < n_row; i++) {
        double sum = first ? by_first * (first[i] - value[i]) : 0;
        if (second)
            sum += by_second * (second[i] - value[i]);
        slope[i] = sum / chain;
    }
}

static bool take_column(const struct fit_quotient *quotient, const struct fit_asker *asker,
                        struct fit_point *point, size_t j)
{
    size_t n = asker->map.n_free, n_row = asker->objective.n_row,
           n_experiment = asker->problem->n_experiment;
    const struct evaluation *first = &quotient->evaluation[j * n_experiment];
    const struct evaluation *second = &quotient->evaluation[(j + n) * n_experiment];
    bool has_first = !find_failure(asker, first), has_second = !find_failure(asker, second);
    double a = quotient->offset[j], b = quotient->offset[j + n], chain = point->chain[j];
    take_slopes(n_row, point->prediction, has_first ? first->prediction : NULL, a,
                has_second ? second->prediction : NULL, b, chain, point->d_prediction + j * n_row);
    if (point->noise)
        take_slopes(n_row, point->noise, has_first ? first->noise : NULL, a,
                    has_second ? second->noise : NULL, b, chain, point->d_noise + j * n_row);
    return has_first || has_second;
}

static bool is_wanted(const struct fit_asker *asker, size_t j)
{
    return !asker->map.is_wanted || asker->map.is_wanted[j];
}

static void clear_column(const struct fit_asker *asker, struct fit_point *point, size_t j)
{
    size_t n_row = asker->objective.n_row;
    memset(point->d_prediction + j * n_row, 0, n_row * sizeof *point->d_prediction);
    if (point->noise)
        memset(point->d_noise + j * n_row, 0, n_row * sizeof *point->d_noise);
}

/* Fills d_prediction (and d_noise) of a point that has predictions and chain. Asks for two
 * places for each free parameter, all at once: at theta - h and theta + h or, if a bound is
 * nearer than h, both on the side away from it. If one of the two cannot be evaluated, only the
 * other is used; if neither can, ASKED_FAILED. */
static enum asked fill_quotients(struct fit_quotient *quotient, struct fit_asker *asker,
                                 struct fit_accuracy accuracy, struct fit_point *point)
{
    size_t n = asker->map.n_free, n_asked = 0, n_experiment = asker->problem->n_experiment;
    quotient->step = step_of(asker, accuracy.tighter);
    for (size_t j = 0; j < n; j++) {
        if (!is_wanted(asker, j)) {
            clear_column(asker, point, j);
            continue;
        }
        choose_places(quotient, &asker->map, point->theta, j, &quotient->offset[j],
                      &quotient->offset[j + n]);
        for (size_t place = 0; place < 2; place++) {
            bool is_asked = request(quotient, asker, point, j, place);
            for (size_t e = 0; is_asked && e < n_experiment; e++)
                quotient->asked[n_asked++] =
                    &quotient->evaluation[(j + place * n) * n_experiment + e];
        }
    }
    if (fit_ask_all(asker, accuracy, quotient->asked, n_asked) == ASKED_END)
        return ASKED_END;
    for (size_t j = 0; j < n; j++)
        if (is_wanted(asker, j) && !take_column(quotient, asker, point, j))
            return fit_asker_fail(asker,
                                  find_failure(asker, &quotient->evaluation[j * n_experiment]));
    return ASKED_OK;
}

/* For adjoints: the derivatives of the objective by the predictions of one experiment. Called by
 * the engine when it has all of them, perhaps while others evaluate other experiments. */
static bool weigh(void *context, const struct evaluation *evaluation)
{
    struct fit_asker *asker = context;
    struct fit_answer answer = fit_point_answer(asker, asker->asked_point);
    size_t first = asker->first_row[evaluation - asker->evaluation];
    struct fit_objective objective = asker->objective;
    objective.n_row = evaluation->task->n_row;
    objective.measured = measurements_from(&asker->objective.measured, first);
    objective.n_prior = 0;
    answer.prediction += first;
    answer.noise += answer.noise ? first : 0;
    answer.weight += first;
    answer.residual += first;
    if (!isfinite(fit_objective_value(&objective, &answer)))
        return false;
    fit_objective_slopes(&objective, &answer, asker->by_prediction + first,
                         asker->by_noise + first);
    return true;
}

/* Asks for the adjoint gradient of an experiment's share of the objective. */
static void ask_adjoint(struct fit_asker *asker, size_t e)
{
    struct evaluation_adjoint *adjoint = &asker->adjoint[e];
    adjoint->weigh = weigh;
    adjoint->context = asker;
    adjoint->by_prediction = asker->by_prediction + asker->first_row[e];
    adjoint->by_noise = asker->by_noise + asker->first_row[e];
    asker->evaluation[e].adjoint = adjoint;
}

/* Adds the experiments' gradients by the fit's parameters. */
static void sum_gradients(const struct fit_asker *asker, double *gradient)
{
    memset(gradient, 0, asker->map.n_free * sizeof *gradient);
    for (size_t e = 0; e < asker->problem->n_experiment; e++) {
        const struct fit_binding *binding = fit_map_binding(&asker->map, e);
        for (size_t k = 0; k < binding->n_sens; k++)
            gradient[binding->column ? binding->column[k] : k] += asker->adjoint[e].gradient[k];
    }
}

static void fill_request(struct fit_asker *asker, enum gradient_method gradient,
                         struct fit_point *point, bool with_derivatives)
{
    const struct fit_map *map = &asker->map;
    size_t n_row = asker->objective.n_row, n_noise = point->d_noise ? n_row : 0;
    size_t n_experiment = asker->problem->n_experiment;
    bool with_sens = with_derivatives && gradient != GRADIENT_differences, is_plain = true;
    fill_evaluations(asker, point->p, asker->of_model, point->prediction, point->noise,
                     asker->evaluation);
    asker->asked_point = point;
    for (size_t e = 0; e < asker->problem->n_experiment; e++) {
        struct evaluation *evaluation = &asker->evaluation[e];
        const struct fit_binding *binding = fit_map_binding(&asker->map, e);
        asker->asked[e] = evaluation;
        /* Other fits may begin at the same point. */
        bool is_first = n_experiment == 1 && asker->used.n_evaluation == 0;
        evaluation->excess = is_first ? asker->excess : NULL;
        is_plain = is_plain && !binding->column;
        evaluation->stride = n_row;
        evaluation->column = binding->column;
        evaluation->n_sens = with_sens ? binding->n_sens : 0;
        evaluation->sens = binding->sens;
        evaluation->d_prediction =
            point->d_prediction ? point->d_prediction + asker->first_row[e] : NULL;
        evaluation->d_noise = point->d_noise ? point->d_noise + asker->first_row[e] : NULL;
        if (with_derivatives && gradient == GRADIENT_adjoint)
            ask_adjoint(asker, e);
    }
    if (with_sens && !is_plain && point->d_prediction) {
        /* no evaluation fills columns of parameters without effect */
        memset(point->d_prediction, 0, n_row * map->n_free * sizeof *point->d_prediction);
        if (n_noise)
            memset(point->d_noise, 0, n_noise * map->n_free * sizeof(double));
    }
}

/* The unit of the objective (fit/objective/unit.h). */
static double unit_of(const struct fit_asker *asker)
{
    return asker->problem->unit > 0 ? asker->problem->unit : 1;
}

/* The reason of an objective that is not finite: the first prediction that log-normal errors do
 * not allow, if any. */
static enum asked fail_objective(struct fit_asker *asker, const struct fit_answer *answer)
{
    for (size_t i = 0, e = 0; i < asker->objective.n_row; i++) {
        double prediction = answer->prediction[i];
        while (i == asker->first_row[e + 1])
            e++;
        if (!fit_objective_loss(&asker->objective, i)->is_log || prediction > 0)
            continue;
        const struct ode_task *task = &asker->problem->task[e];
        size_t row = i - asker->first_row[e];
        struct evaluation evaluation = {.task = task};
        snprintf(evaluation.reason, sizeof evaluation.reason,
                 "the prediction of %.60s at t = %.6g is %.6g; with its "
                 "log-normal errors it must be > 0",
                 asker->problem->model->abi.observable_name[task->row_observable[row]],
                 task->time[task->row_time[row]], prediction);
        evaluation.outcome = EVALUATION_MODEL_FAILED;
        return fit_asker_fail(asker, &evaluation);
    }
    return fit_asker_miss(asker, OUTCOME_model_failed, "the objective is not a finite number");
}

/* Computes objective and gradient; a number that is not finite makes this a failed trial. */
static enum asked judge_answer(struct fit_asker *asker, struct fit_accuracy accuracy,
                               struct fit_point *point, bool with_derivatives)
{
    struct fit_answer answer = fit_point_answer(asker, point);
    point->f = fit_objective_value(&asker->objective, &answer);
    if (asker->host->judged)
        asker->host->judged(asker->host->context, point->f * unit_of(asker), NAN);
    if (!isfinite(point->f))
        return fail_objective(asker, &answer);
    if (isnan(asker->start_f)) {
        asker->start_f = point->f;
        asker->start_tighter = accuracy.tighter;
    }
    if (!with_derivatives)
        return ASKED_OK;
    if (accuracy.gradient == GRADIENT_differences) {
        enum asked asked = fill_quotients(asker->quotient, asker, accuracy, point);
        if (asked != ASKED_OK)
            return asked;
    }
    if (accuracy.gradient == GRADIENT_adjoint) {
        sum_gradients(asker, point->gradient);
        for (size_t j = 0; j < asker->map.n_free; j++)
            point->gradient[j] *= point->chain[j];
        fit_objective_add_priors(&asker->objective, &answer, point->gradient);
    } else {
        fit_objective_gradient(&asker->objective, &answer, point->gradient);
    }
    for (size_t j = 0; j < asker->map.n_free; j++)
        if (!isfinite(point->gradient[j]))
            return fit_asker_miss(asker, OUTCOME_model_failed,
                                  "the gradient of the objective is not finite");
    if (asker->host->judged)
        asker->host->judged(asker->host->context, NAN,
                            fit_point_gradient_norm(&asker->map, point) * unit_of(asker));
    return ASKED_OK;
}

/* Asks for the evaluations of a point whose p is known, and of_model. Where an integration
 * fails, the tolerances may be too loose for the equations: a saturated reaction, for example,
 * whose constant is below the errors of its substrate. It is tried once more with tighter ones,
 * which spoil no comparison. */
static enum asked ask_all(struct fit_asker *asker, struct fit_accuracy accuracy,
                          struct fit_point *point, bool with_derivatives)
{
    size_t n_experiment = asker->problem->n_experiment;
    int n_lost = asker->lanes.n_lost;
    fill_request(asker, accuracy.gradient, point, with_derivatives);
    if (fit_ask_all(asker, accuracy, asker->asked, n_experiment) == ASKED_END)
        return ASKED_END;
    const struct evaluation *failed = find_failure(asker, asker->evaluation);
    if (!failed)
        return ASKED_OK;
    enum asked asked = fit_asker_fail(asker, failed);
    double saving = fmin(SAVING, fit_asker_rtol(asker, accuracy.tighter) / LEAST_RTOL);
    if (failed->outcome != EVALUATION_ODE_FAILED || asker->n_unsaved >= MAX_UNSAVED ||
        !(saving >= LEAST_SAVING) || accuracy.gradient == GRADIENT_adjoint)
        return asked;
    accuracy.tighter *= saving;
    fill_request(asker, accuracy.gradient, point, with_derivatives);
    asked = fit_ask_all(asker, accuracy, asker->asked, n_experiment);
    if (asked == ASKED_OK && (failed = find_failure(asker, asker->evaluation)))
        asked = fit_asker_fail(asker, failed);
    asker->n_unsaved = asked == ASKED_OK ? 0 : asker->n_unsaved + 1;
    asker->lanes.n_lost = asked == ASKED_OK ? n_lost : asker->lanes.n_lost;
    return asked;
}

/* Moves theta in each experiment. */
static bool move_experiments(struct fit_asker *asker, const struct fit_point *point)
{
    size_t n = asker->map.n_parameter;
    return fit_map_model_by(&asker->map, point->theta, point->by_experiment, asker->compared,
                            asker->compared + n, asker->of_model);
}

/* The derivatives are by natural parameters, and the chain is that of theta as it is: for that
 * of an experiment's own theta they are multiplied by the ratio. */
static void change_chain(const struct fit_asker *asker, const struct fit_point *point)
{
    const struct fit_map *map = &asker->map;
    size_t n_row = asker->objective.n_row;
    for (size_t e = 0; e < asker->problem->n_experiment; e++)
        for (size_t j = 0; j < map->n_free; j++) {
            double by = point->by_experiment[j + e * map->n_free];
            double ratio = map->scale[j] == SCALE_LIN ? 1 : fit_scale_to_natural(map->scale[j], by);
            for (size_t i = asker->first_row[e]; ratio != 1 && i < asker->first_row[e + 1]; i++) {
                point->d_prediction[i + j * n_row] *= ratio;
                if (point->d_noise)
                    point->d_noise[i + j * n_row] *= ratio;
            }
        }
}

enum asked fit_ask(struct fit_asker *asker, struct fit_accuracy accuracy, struct fit_point *point,
                   bool with_derivatives)
{
    if (!fit_map_natural(&asker->map, point->theta, point->p))
        return fit_asker_miss(asker, OUTCOME_model_failed,
                              "a parameter left the range of floating-point numbers");
    if (with_derivatives)
        fit_map_chain(&asker->map, point->p, point->chain);
    if (!point->by_experiment)
        fit_map_model(&asker->map, point->p, asker->of_model);
    else if (!move_experiments(asker, point))
        return fit_asker_miss(asker, OUTCOME_model_failed,
                              "a parameter left the range of floating-point numbers");
    size_t n_experiment = asker->problem->n_experiment;
    enum asked asked = ask_all(asker, accuracy, point, with_derivatives);
    if (asked != ASKED_OK)
        return asked;
    asker->meets_jump = false;
    point->n_step = 0;
    for (size_t e = 0; e < n_experiment; e++) {
        const struct evaluation *evaluation = &asker->evaluation[e];
        bool has_none = evaluation->crosses || (evaluation->meets && !asker->problem->takes_sides);
        point->n_step += evaluation->n_step;
        asker->meets_jump = asker->meets_jump || (has_none && evaluation->n_sens > 0);
    }
    if (asker->meets_jump)
        return fit_asker_end(asker, OUTCOME_stalled,
                             "the trajectory has no derivative at a switch or an event");
    if (point->by_experiment && with_derivatives)
        change_chain(asker, point);
    return judge_answer(asker, accuracy, point, with_derivatives);
}
