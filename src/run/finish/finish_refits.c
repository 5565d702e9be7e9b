/* Computes limits and intervals from records of tasks, with one dataset in memory at a time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/finish/finish_refits.h"

#include "fit/objective/distribution.h"
#include "fit/objective/map.h"
#include "fit/objective/objective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Starts within this relative distance of the best objective have reached the same optimum; the
 * value of a likelihood depends on units and may be near 0, so it has an absolute one. */
static const double SAME = 1e-6, SAME_LIKELIHOOD = 1e-3;
static const double CONFIDENCE = 0.95;

struct finish_refits {
    struct finish_source source;
    const struct run_identity *identity;
    size_t n_parameter;
    bool is_likelihood;       /* the objective */
    enum parameter_scale *scale;
    struct kept_writers kept;
    double *objective;          /* n_start: those of successful starts, otherwise NaN */
    size_t n_objective;
    struct finish_fit {
        /* what all datasets of a fit have in common; of each such fit, or one that is reused */
        double *sum;            /* n_start: the objective of each start; NULL: each dataset has its
                                 * own best start */
        uint32_t chosen;
        double *limit;          /* 2 n_profile: of each side of a profile, as the next two */
        uint8_t *limit_word;
        int64_t *held_by;
        bool knows_limits;      /* the three arrays are filled */
        bool is_short;          /* a refit found no memory */
        int64_t same_n;         /* replicates that `same` is of; 0: it is not filled yet */
        double *same;           /* bootstrap intervals */
    } *fit;
    size_t n_fit;
    void *fit_memory;
    /* n_bootstrap x n_parameter: parameter by parameter, optimiser's scale */
    double *estimate, *error;
    double *natural, *scratch;  /* n_bootstrap */
    double point[2 * FIT_MAX_POINT];
};

unsigned finish_refits_parts(const struct refit_plan *plan, uint32_t n_start)
{
    return (n_start > 1 ? FIT_PART_STARTS : 0) | (plan->n_profile ? FIT_PART_PROFILE : 0) |
           (plan->n_bootstrap ? FIT_PART_BOOTSTRAP : 0);
}

/* The requested tables and those of the old result. */
static enum status open_tables(struct finish_refits *refits, struct result_writer *writer,
                               struct error *error)
{
    const struct refit_plan *plan = refits->source.plan;
    const bool wanted[N_KEPT_TABLE] = {[KEPT_STARTS] = plan->keep_starts,
                                       [KEPT_PROFILES] = plan->keep_profile,
                                       [KEPT_BOOTSTRAP] = plan->keep_bootstrap};
    enum status status = STATUS_OK;
    for (int i = 0; i < N_KEPT_TABLE && !status; i++)
        if (wanted[i] || refits->source.before[i])
            status = kept_writers_add(&refits->kept, (enum kept_table)i, writer,
                                      refits->n_parameter, error);
    return status;
}

/* False: out of memory. */
static bool make_fits(struct finish_refits *refits)
{
    const struct share *share = refits->source.share;
    size_t n_limit = 2 * (size_t)refits->source.plan->n_profile,
           n_start = refits->identity->n_start;
    size_t n_same = refits->source.plan->n_bootstrap ? 5 * refits->n_parameter : 0,
           each = n_start + n_limit + n_same;
    refits->n_fit = share ? share->components.n : 1;
    refits->fit = calloc(refits->n_fit + 1, sizeof *refits->fit);
    size_t each_byte = each * sizeof(double) + n_limit * (sizeof(int64_t) + 1);
    double *next = refits->fit_memory = calloc(refits->n_fit * each_byte + 1, 1);
    if (!refits->fit || !next)
        return false;
    int64_t *held_by = (int64_t *)(next + refits->n_fit * each);
    uint8_t *words = (uint8_t *)(held_by + refits->n_fit * n_limit);
    for (size_t c = 0; c < refits->n_fit; c++, next += each, held_by += n_limit, words += n_limit)
        refits->fit[c] = (struct finish_fit){.sum = share && n_start > 1 ? next : NULL,
                                             .chosen = BY_OBJECTIVE, .limit = next + n_start,
                                             .limit_word = words, .held_by = held_by,
                                             .same = next + n_start + n_limit};
    return true;
}

static struct finish_fit *fit_of(const struct finish_refits *refits, uint64_t dataset)
{
    return &refits->fit[refits->source.share ? refits->source.share->components.of[dataset] : 0];
}

/* The dataset that has the records of a fit's refits. */
static uint64_t carrier_of(const struct finish_refits *refits, uint64_t dataset)
{
    const struct share *share = refits->source.share;
    return share ? components_members(&share->components, share->components.of[dataset])[0]
                 : dataset;
}

enum status finish_refits_new(struct finish_refits **refits, const struct finish_source *source,
                              struct result_writer *writer, struct error *error)
{
    struct finish_refits *made = calloc(1, sizeof *made);
    *refits = made;
    if (!made)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the refits");
    made->source = *source;
    made->identity = &source->header->identity;
    made->n_parameter = source->header->n_parameter;
    made->is_likelihood = !strcmp(source->header->objective_kind,
                                  fit_objective_kind(ERROR_NORMAL, true));
    made->scale = campaign_scales(source->header->parameter_scale, made->n_parameter);
    size_t n = source->plan->n_bootstrap, n_cell = (n + 1) * (made->n_parameter + 1);
    made->objective = calloc((size_t)made->identity->n_start + 1, sizeof *made->objective);
    made->estimate = calloc(2 * n_cell + 2 * (n + 1), sizeof *made->estimate);
    if (!made->scale || !made->objective || !made->estimate || !make_fits(made))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu replicates", n);
    made->error = made->estimate + n_cell;
    made->natural = made->error + n_cell;
    made->scratch = made->natural + n + 1;
    enum status status = STATUS_OK;
    for (size_t c = 0; !status && source->share && made->identity->n_start > 1 && c < made->n_fit;
         c++)
        status = best_of_sums(source->journal, made->identity,
                              components_members(&source->share->components, c),
                              components_size(&source->share->components, c), made->fit[c].sum,
                              &made->fit[c].chosen, error);
    return status ? status : open_tables(made, writer, error);
}

void finish_refits_free(struct finish_refits *refits)
{
    if (!refits)
        return;
    kept_writers_close(&refits->kept);
    free(refits->scale);
    free(refits->objective);
    free(refits->fit);
    free(refits->fit_memory);
    free(refits->estimate);
    free(refits);
}

enum status finish_refits_end(struct finish_refits *refits, struct error *error)
{
    return kept_writers_finish(&refits->kept, error);
}

struct kept_writers *finish_refits_tables(struct finish_refits *refits) { return &refits->kept; }

static enum status see_start(void *context, const struct fit_record *record, struct error *error)
{
    struct finish_refits *refits = context;
    bool success = outcome_is_success((enum outcome)record->outcome);
    int64_t dataset = (int64_t)record->dataset;
    refits->objective[refits->n_objective++] = success ? record->objective : NAN;
    if (!refits->kept.of[KEPT_STARTS])
        return STATUS_OK;
    return result_table_add(refits->kept.of[KEPT_STARTS],
                            (const void *const[]){&dataset, &record->start, &record->objective,
                                                  &record->outcome, record->parameter},
                            error);
}

/* Counts the starts that reached the best objective, and finds the range of the others. */
static void compare_starts(const struct finish_refits *refits, const struct finish_fit *fit,
                           struct fit_record *best)
{
    const double *objective = fit->sum ? fit->sum : refits->objective;
    double lowest = fit->sum ? fit->sum[fit->chosen] : best->objective;
    double near = refits->is_likelihood ? SAME_LIKELIHOOD : SAME * fabs(lowest);
    best->n_same_optimum = 0;
    best->other_least = best->other_most = NAN;
    for (size_t i = 0; i < refits->n_objective && outcome_is_success((enum outcome)best->outcome);
         i++) {
        double f = objective[i];
        if (f <= lowest + near) {
            best->n_same_optimum++;
        } else if (!isnan(f)) {
            best->other_least = fmin(f, best->other_least);
            best->other_most = fmax(f, best->other_most);
        }
    }
}

/* A refit's record, which must exist. */
static enum status get_refit(struct finish_refits *refits, uint64_t dataset, uint32_t i,
                             struct fit_record *record, struct fit_record *work,
                             struct error *error)
{
    if (!journal_get_task(refits->source.journal, dataset, refits->identity->n_start + i, record,
                          error))
        return error->status ? error->status
                             : error_set(error, STATUS_SYSTEM,
                                         "refits have been removed from the journal meanwhile");
    fit_record_add_work(work, record);
    if (record->outcome == OUTCOME_out_of_memory)
        fit_of(refits, dataset)->is_short = true;
    return STATUS_OK;
}

static enum status add_points(struct finish_refits *refits, uint32_t parameter,
                              const struct fit_record *record, struct error *error)
{
    enum status status = STATUS_OK;
    struct result_table *table = refits->kept.of[KEPT_PROFILES];
    int64_t dataset = (int64_t)record->dataset;
    for (size_t k = 0; k < record->n_point && table && !status; k++)
        status = result_table_add(table,
                                  (const void *const[]){&dataset, &parameter, &record->point[2 * k],
                                                        &record->point[2 * k + 1]},
                                  error);
    return status;
}

/* Of a profile, or of a review that has something to say. */
static void take_side(struct finish_fit *fit, uint32_t i, uint32_t parameter,
                      const struct fit_record *record, size_t n_parameter)
{
    fit->limit[i] = record->parameter[parameter];
    fit->limit_word[i] = record->limit == LIMIT_none ? (uint8_t)LIMIT_failed : record->limit;
    fit->held_by[i] = -1;
    for (size_t k = n_parameter; k-- > 0 && record->limit == LIMIT_held;)
        fit->held_by[i] = record->at_bound[k] && k != parameter ? (int64_t)k : fit->held_by[i];
}

static enum status read_limits(struct finish_refits *refits, uint64_t dataset,
                               struct fit_record *other, struct fit_record *work,
                               struct error *error)
{
    struct finish_fit *fit = fit_of(refits, dataset);
    const struct refit_plan *plan = refits->source.plan;
    uint32_t first_review = 2 * plan->n_profile + plan->n_bootstrap;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < 2 * plan->n_profile && !status; i++) {
        uint32_t parameter = refit_plan_get(plan, i).parameter;
        status = get_refit(refits, carrier_of(refits, dataset), i, other, work, error);
        if (status)
            break;
        take_side(fit, i, parameter, other, refits->n_parameter);
        status = add_points(refits, parameter, other, error);
        if (!status && plan->n_review)
            status = get_refit(refits, carrier_of(refits, dataset), first_review + i, other, work,
                               error);
        if (!status && plan->n_review && other->limit != LIMIT_none) {
            take_side(fit, i, parameter, other, refits->n_parameter);
            status = add_points(refits, parameter, other, error);
        }
    }
    return status;
}

static enum status profile_row(struct finish_refits *refits, uint64_t dataset,
                               struct fit_record *best, struct fit_record *other,
                               struct fit_record *work, struct error *error)
{
    const struct refit_plan *plan = refits->source.plan;
    struct finish_fit *fit = fit_of(refits, dataset);
    bool is_fitted = outcome_is_success((enum outcome)best->outcome);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < refits->n_parameter; i++) {
        best->profile_lower[i] = best->profile_upper[i] = NAN;
        best->profile_lower_status[i] = best->profile_upper_status[i] = LIMIT_none;
        best->profile_lower_by[i] = best->profile_upper_by[i] = -1;
    }
    if (is_fitted && !fit->knows_limits) {
        status = read_limits(refits, dataset, other, work, error);
        fit->knows_limits = refits->source.share != NULL;
    }
    for (uint32_t i = 0; i < 2 * plan->n_profile && !status; i++) {
        struct refit refit = refit_plan_get(plan, i);
        double *limit = refit.side < 0 ? best->profile_lower : best->profile_upper;
        uint8_t *word = refit.side < 0 ? best->profile_lower_status : best->profile_upper_status;
        int64_t *by = refit.side < 0 ? best->profile_lower_by : best->profile_upper_by;
        by[refit.parameter] = is_fitted ? fit->held_by[i] : -1;
        limit[refit.parameter] = is_fitted ? fit->limit[i] : (double)NAN;
        word[refit.parameter] = is_fitted ? fit->limit_word[i] : (uint8_t)LIMIT_no_fit;
    }
    return status;
}

/* Standard error on the optimiser's scale. */
static double scaled_error(enum parameter_scale scale, double error, double natural)
{
    return scale == SCALE_LIN   ? error
           : scale == SCALE_LOG ? error / natural
                                : error / (natural * 2.302585092994045684);
}

/* Collects the numbers of the successful replicates. */
static enum status gather_replicates(struct finish_refits *refits, uint64_t dataset,
                                     struct fit_record *best, struct fit_record *other,
                                     struct fit_record *work, struct error *error)
{
    const struct refit_plan *plan = refits->source.plan;
    int64_t row = (int64_t)carrier_of(refits, dataset);
    best->n_bootstrap = 0;
    for (uint32_t b = 0; b < plan->n_bootstrap; b++) {
        enum status status =
            get_refit(refits, (uint64_t)row, 2 * plan->n_profile + b, other, work, error);
        if (!status && refits->kept.of[KEPT_BOOTSTRAP])
            status =
                result_table_add(refits->kept.of[KEPT_BOOTSTRAP],
                                 (const void *const[]){&row, &b, &other->outcome, other->parameter},
                                 error);
        if (status)
            return status;
        if (!outcome_is_success((enum outcome)other->outcome))
            continue;
        for (size_t i = 0; i < refits->n_parameter; i++) {
            size_t cell = i * plan->n_bootstrap + (size_t)best->n_bootstrap;
            refits->estimate[cell] = fit_scale_from_natural(refits->scale[i], other->parameter[i]);
            refits->error[cell] =
                scaled_error(refits->scale[i], other->standard_error[i], other->parameter[i]);
        }
        best->n_bootstrap++;
    }
    return STATUS_OK;
}

/* The intervals of one parameter. */
static void make_intervals(struct finish_refits *refits, struct fit_record *best, size_t i)
{
    enum parameter_scale scale = refits->scale[i];
    size_t n = (size_t)best->n_bootstrap;
    double *estimate = refits->estimate + i * refits->source.plan->n_bootstrap;
    const double *error = refits->error + i * refits->source.plan->n_bootstrap;
    for (size_t b = 0; b < n; b++)
        refits->natural[b] = fit_scale_to_natural(scale, estimate[b]);
    best->bootstrap_error[i] = fit_interval_deviation(refits->natural, n);
    struct fit_interval studentised =
        fit_interval_studentised(fit_scale_from_natural(scale, best->parameter[i]),
                                 scaled_error(scale, best->standard_error[i], best->parameter[i]),
                                 estimate, error, n, CONFIDENCE, refits->scratch);
    struct fit_interval percentile = fit_interval_percentile(estimate, n, CONFIDENCE);
    best->bootstrap_lower[i] = fit_scale_to_natural(scale, studentised.lower);
    best->bootstrap_upper[i] = fit_scale_to_natural(scale, studentised.upper);
    best->percentile_lower[i] = fit_scale_to_natural(scale, percentile.lower);
    best->percentile_upper[i] = fit_scale_to_natural(scale, percentile.upper);
}

/* A replicate's value of a random parameter is a typical one, and the dataset's is its own. */
static bool is_random(const struct finish_refits *refits, size_t i)
{
    const struct share *share = refits->source.share;
    return share && share->random.n && share->random.block[i];
}

static enum status bootstrap_row(struct finish_refits *refits, uint64_t dataset,
                                 struct fit_record *best, struct fit_record *other,
                                 struct fit_record *work, struct error *error)
{
    struct finish_fit *fit = fit_of(refits, dataset);
    bool is_fitted = outcome_is_success((enum outcome)best->outcome), is_known = fit->same_n > 0;
    size_t n = refits->n_parameter;
    double *const column[] = {best->bootstrap_error, best->bootstrap_lower, best->bootstrap_upper,
                              best->percentile_lower, best->percentile_upper};
    enum { N_COLUMN = sizeof column / sizeof *column };
    enum status status = STATUS_OK;
    for (size_t k = 0; k < N_COLUMN; k++)
        for (size_t i = 0; i < n; i++)
            column[k][i] = is_fitted && is_known ? fit->same[k * n + i] : (double)NAN;
    best->n_bootstrap = is_fitted && is_known ? fit->same_n : 0;
    if (!is_fitted || is_known)
        return STATUS_OK;
    status = gather_replicates(refits, dataset, best, other, work, error);
    for (size_t i = 0; i < n && !status && best->n_bootstrap > 0; i++)
        if (best->lack[i] != LACK_fixed && !is_random(refits, i)
            && !isnan(refits->estimate[i * refits->source.plan->n_bootstrap]))
            make_intervals(refits, best, i);
    for (size_t k = 0; k < N_COLUMN && refits->source.share; k++)
        memcpy(fit->same + k * n, column[k], n * sizeof(double));
    fit->same_n = refits->source.share ? best->n_bootstrap : 0;
    return status;
}

enum status finish_refits_row(struct finish_refits *refits, uint64_t dataset,
                              struct fit_record *best, struct fit_record *other,
                              struct starts_tally *tally, struct fit_record *work,
                              struct error *error)
{
    const struct refit_plan *plan = refits->source.plan;
    struct finish_fit *fit = fit_of(refits, dataset);
    refits->n_objective = 0;
    fit->is_short = fit->is_short && refits->source.share;
    best->start = other->start = 0;
    fit_record_clear(best, refits->n_parameter); /* columns that this run does not fill */
    fit_record_clear(other, refits->n_parameter);
    best->point = other->point = NULL; /* starts have none */
    const struct starts_reading reading = {refits->source.journal, refits->identity, fit->chosen,
                                           see_start, refits};
    enum status status = best_of_starts(&reading, dataset, best, other, tally, error);
    *work = tally->work;
    if (!tally->any) {
        best->dataset = dataset;
        best->start = 0;
        fit_record_clear(best, refits->n_parameter);
    }
    compare_starts(refits, fit, best);
    other->point = refits->point;
    if (!status && plan->n_profile)
        status = profile_row(refits, dataset, best, other, work, error);
    if (!status && plan->n_bootstrap)
        status = bootstrap_row(refits, dataset, best, other, work, error);
    if (fit->is_short) /* the others alone would give other limits and intervals */
        fit_record_fail(best, OUTCOME_out_of_memory, "no memory for a refit of this dataset");
    fit_record_zero_work(best);
    fit_record_add_work(best, &tally->work);
    return status;
}
