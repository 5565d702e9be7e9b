/* Refits of a fit over many datasets: profiles of shared parameters, their reviews, and bootstrap
 * replicates, each of which draws datasets. The best fit is the subject of the code that refits a
 * single dataset (fit/refits/subject.h): each of its fits is passes over all datasets. Every rank
 * does the same, with the parameters of its own datasets; rank 0 has the journal.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/shared_fit.h"

#include "base/memory.h"
#include "fit/refits/bootstrap.h"
#include "fit/objective/map.h"
#include "fit/mixed/mixed.h"
#include "fit/joint/ranks.h"
#include "fit/refits/subject.h"
#include "run/compute/compute.h"
#include "run/compute/task.h"
#include "run/plan/best.h"
#include "run/plan/review.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Datasets are those of the fit, from 0. */
struct joint_refits {
    struct fit_subject subject;   /* of this process's datasets; without its calls */
    struct arena arena;
    size_t n_dataset, first;      /* of all processes; those of the processes before this one */
    size_t n_here;                /* this process's datasets; the subject has one at least */
    double *start, *lower, *upper, *rtol; /* n_here x n, n_here: the best fit and its bounds */
    uint8_t *fixed;
    /* Of all ranks: the n_drawn datasets that took part in the best fit; 0: there is none. */
    uint32_t *drawn;
    size_t n_drawn;
    uint32_t *all_weights;        /* of all ranks: how often each dataset counts */
    uint32_t *weight;             /* n_here of these */
    /* Where the profiles' sides ended, as far as they have (run/plan/review.h). */
    double *profile_end;
    /* With random parameters, as in struct joint_levels: deviations, those between experiments, and
     * correlations of the best fit; then standard errors on the optimiser's scale. */
    double *covariance;
};

/* The refit under way. */
struct refitting {
    struct shared_fit *shared;
    struct joint_refits *refits;
    uint32_t task;
    bool is_replicate, has_stopped;
    enum status status;
    struct error *error;
    double n_evaluation, n_step, seconds; /* of all its fits and datasets */
};

/* Where the profiles' sides ended of which the journal has the records. */
static enum status read_ends(struct compute *compute, uint64_t dataset, struct refit_starts *room,
                             double *ends, struct error *error)
{
    const struct campaign *campaign = &compute->campaign;
    const struct refit_plan *plan = &campaign->plan.refits;
    enum status status = STATUS_OK;
    review_clear(plan, campaign->n_parameter, ends);
    for (uint32_t i = 0; !status && i < 2 * plan->n_profile; i++)
        status = review_read(plan, room, dataset, i, ends, error);
    return status;
}

/* The size of what is known of a population, which read_population writes. */
static size_t population_size(const struct campaign *campaign)
{
    size_t n = campaign->n_parameter;
    return campaign->share.random.n ? 3 * n + n * n : 0;
}

/* Deviations, correlations, and standard errors, of the best fit's population; and the typical
 * values in place of the random parameters of n_dataset datasets, which have n + 1 numbers each. */
static enum status read_population(const struct compute *compute, double *best, size_t n_dataset,
                                   double *population, struct error *error)
{
    const struct campaign *campaign = &compute->campaign;
    size_t n = campaign->n_parameter;
    struct arena arena = {.first = NULL};
    struct mixed_result found;
    uint32_t n_start;
    bool is_there;
    if (population_size(campaign) == 0)
        return STATUS_OK;
    double *correlation = population + 2 * n, *error_of = correlation + n * n;
    for (size_t k = 0; k < population_size(campaign); k++)
        population[k] = k >= 2 * n && k < 2 * n + n * n ? 0 : NAN;
    enum status status =
        mixed_result_read(&found, &is_there, &n_start, compute->earlier, &arena, error);
    if (status || !is_there) {
        arena_fini(&arena);
        return status ? status
                      : error_set(error, STATUS_SYSTEM,
                                  "%s: what is known of the population is not in it",
                                  campaign->plan.paths.journal);
    }
    for (size_t a = 0, n_mean = 0; a < found.r; a++) {
        size_t i = found.random[a];
        population[i] = sqrt(found.covariance[a + a * found.r]);
        error_of[i] = found.is_fixed[a] ? (double)NAN : found.standard_error[n_mean++];
        for (size_t d = 0; d < n_dataset; d++)
            best[d * (n + 1) + i] = fit_scale_to_natural(campaign->scale[i], found.mean[a]);
        for (size_t b = 0; b < a; b++) {
            size_t j = found.random[b];
            double both = population[i] * population[j];
            correlation[i * n + j] = correlation[j * n + i] =
                both > 0 ? found.covariance[a + b * found.r] / both : 0;
        }
    }
    for (size_t k = 0; k < found.s; k++)
        error_of[found.shared[k]] = found.standard_error[found.m - found.s + k];
    for (size_t o = 0; o < found.q; o++)
        population[n + found.occasion[o]] = sqrt(found.variance[o]);
    arena_fini(&arena);
    return STATUS_OK;
}

/* The best fit of the component's datasets from the journal: n parameters of each and its
 * tolerance, NaN if it did not take part; then the ends of the profiles, and the population. */
static enum status read_best(struct shared_fit *shared, double *best, struct error *error)
{
    struct compute *compute = shared->compute;
    const struct run_identity *identity = &compute->campaign.plan.identity;
    const struct components *components = &compute->campaign.share.components;
    const uint32_t *member = components_members(components, shared->fit.component);
    size_t n = identity->n_parameter;
    size_t n_dataset = components_size(components, shared->fit.component);
    struct refit_starts starts = {.journal = NULL};
    double *objective = calloc(identity->n_start, sizeof *objective);
    enum status status = objective ? compute_read_journal(compute, error)
                                   : error_set(error, STATUS_NO_MEMORY,
                                               "out of memory for %u starts", identity->n_start);
    if (!status)
        status = refit_starts_init(&starts, compute->earlier, identity, error);
    if (!status)
        status = best_of_sums(compute->earlier, identity, member, n_dataset, objective,
                              &starts.chosen, error);
    for (size_t d = 0; !status && d < n_dataset; d++, best += n + 1) {
        bool is_fitted;
        status = refit_starts_find(&starts, member[d], &is_fitted, error);
        memcpy(best, starts.best.parameter, n * sizeof *best);
        best[n] = is_fitted && !isnan(objective[starts.chosen]) ? starts.best.rtol : (double)NAN;
    }
    if (!status)
        status = read_ends(compute, member[0], &starts, best, error);
    if (!status)
        status = read_population(compute, best - n_dataset * (n + 1), n_dataset,
                                 best + review_size(&compute->campaign.plan.refits, n), error);
    refit_starts_fini(&starts);
    free(objective);
    return status;
}

/* What all datasets have in common, as the first one that takes part has it, for those that do
 * not. */
static enum status fill_others(struct shared_fit *shared, struct error *error)
{
    struct joint_refits *refits = shared->refits;
    size_t n = refits->subject.n_parameter, here = 0;
    double *common = calloc(4 * n + 1, sizeof *common);
    if (!common)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    while (here < refits->n_here && isnan(refits->rtol[here]))
        here++;
    bool is_here = here < refits->n_here;
    for (size_t i = 0; is_here && i < n; i++) {
        common[i] = refits->start[here * n + i];
        common[n + i] = refits->lower[here * n + i];
        common[2 * n + i] = refits->upper[here * n + i];
        common[3 * n + i] = refits->fixed[here * n + i];
    }
    size_t n_byte = is_here ? 4 * n * sizeof *common : 0;
    const unsigned char *all = compute_first_bytes(shared->compute, common, n_byte);
    if (all && all != (const unsigned char *)common)
        memcpy(common, all, 4 * n * sizeof *common);
    for (size_t to = 0; all && to < refits->subject.n_copy; to++)
        for (size_t i = 0; i < n && !(to < refits->n_here && !isnan(refits->rtol[to])); i++) {
            refits->start[to * n + i] = common[i];
            refits->lower[to * n + i] = common[n + i];
            refits->upper[to * n + i] = common[2 * n + i];
            refits->fixed[to * n + i] = common[3 * n + i] != 0;
        }
    free(common);
    return all ? STATUS_OK : compute_lost(error);
}

/* Bounds, what the file holds, and the number of measurements. */
static enum status read_bounds(struct shared_fit *shared, struct error *error)
{
    const struct campaign *campaign = &shared->compute->campaign;
    struct problem *problem = campaign->problem;
    struct joint_refits *refits = shared->refits;
    struct problem_block block = {.n = 0};
    size_t n = refits->subject.n_parameter;
    enum { AT_ONCE = 4096 };
    problem_select(problem, NULL, NULL);
    enum status status = problem_rewind(problem, error);
    while (!status && !(status = problem_read(problem, &block, AT_ONCE, SIZE_MAX, error))
           && block.end > block.first)
        for (size_t row = 0; row < block.n; row++) {
            size_t here, bytes = n * sizeof(double);
            const size_t *first = block.first_experiment + row;
            if (campaign_fit_of(campaign, block.dataset[row], &here) != &shared->fit)
                continue;
            refits->subject.n_row += block.row[first[1]] - block.row[first[0]];
            if (here >= refits->n_here)
                continue;
            memcpy(refits->lower + here * n, block.lower + row * n, bytes);
            memcpy(refits->upper + here * n, block.upper + row * n, bytes);
            memcpy(refits->fixed + here * n, block.fixed + row * n, n);
        }
    problem_block_fini(&block);
    return status ? status : fill_others(shared, error);
}

/* Takes what rank 0 has read. */
static void take_best(struct joint_refits *refits, const unsigned char *bytes, size_t n_end,
                      size_t n_covariance)
{
    size_t n = refits->subject.n_parameter, each = (n + 1) * sizeof(double);
    for (size_t d = 0; d < refits->n_dataset; d++, bytes += each) {
        double rtol;
        memcpy(&rtol, bytes + n * sizeof rtol, sizeof rtol);
        if (!isnan(rtol))
            refits->drawn[refits->n_drawn++] = (uint32_t)d;
        if (d - refits->first < refits->n_here) {
            memcpy(refits->start + (d - refits->first) * n, bytes, n * sizeof rtol);
            refits->rtol[d - refits->first] = rtol;
        }
    }
    if (n_end)
        memcpy(refits->profile_end, bytes, n_end * sizeof(double));
    if (n_covariance)
        memcpy(refits->covariance, bytes + n_end * sizeof(double), n_covariance * sizeof(double));
}

/* Refits of random parameters begin at the best fit's population. */
static void use_population(struct shared_fit *shared)
{
    struct joint_refits *refits = shared->refits;
    struct mixed_levels *levels = &shared->fit.levels.random;
    size_t n = refits->subject.n_parameter;
    levels->deviation = refits->covariance;
    levels->by_experiment = refits->covariance + n;
    levels->correlation = refits->covariance + 2 * n;
}

/* The arrays. False: out of memory. */
static bool make(struct joint_refits *refits, const struct campaign *campaign,
                 const struct joint *joint, size_t n_dataset, size_t n_end)
{
    struct fit_subject *subject = &refits->subject;
    size_t n = campaign->n_parameter, n_here = joint->n_block, n_copy = n_here ? n_here : 1;
    refits->n_dataset = n_dataset;
    refits->first = joint->ranks.first;
    refits->n_here = n_here;
    struct arena *arena = &refits->arena;
    refits->all_weights = arena_calloc(arena, n_dataset + 1, sizeof *refits->all_weights);
    refits->weight = refits->all_weights ? refits->all_weights + refits->first : NULL;
    refits->drawn = arena_calloc(arena, n_dataset + 1, sizeof *refits->drawn);
    refits->fixed = arena_calloc(arena, n_copy * n + 1, 1);
    if (!refits->all_weights || !refits->drawn || !refits->fixed
        || !ARENA_DOUBLES(arena, {&refits->start, n_copy, n}, {&refits->lower, n_copy, n},
                          {&refits->upper, n_copy, n}, {&refits->rtol, n_copy, 1},
                          {&refits->profile_end, n_end, 1},
                          {&refits->covariance, population_size(campaign), 1}))
        return false;
    *subject = (struct fit_subject){
        .n_parameter = n, .n_copy = n_copy, .start = refits->start, .lower = refits->lower,
        .upper = refits->upper, .fixed = refits->fixed, .is_common = campaign->share.is_common,
        .scale = campaign->scale,
        .prior = campaign->share.random.n ? NULL : campaign->prior, /* the fits have them */
        .max_look = campaign->fit.max_evaluations};
    return true;
}

enum status joint_refits_open(struct shared_fit *shared, struct error *error)
{
    struct compute *compute = shared->compute;
    const struct campaign *campaign = &compute->campaign;
    struct joint_refits *refits = shared->refits = calloc(1, sizeof *refits);
    struct campaign_fit *fit = &shared->fit;
    bool is_first = compute_is_first(compute), is_good = true;
    /* If an earlier process fitted its starts, only its part of the datasets is used. */
    if (!fit->joint.block)
        is_good = campaign_fit_init(fit, &compute->campaign, fit->component, 0, NULL, NULL);
    size_t n_dataset = components_size(&campaign->share.components, fit->component);
    size_t n = campaign->n_parameter, n_end = review_size(&campaign->plan.refits, n);
    size_t n_population = population_size(campaign);
    size_t bytes = is_first ? (n_dataset * (n + 1) + n_end + n_population) * sizeof(double) : 0;
    double *best = is_first ? malloc(bytes + 1) : NULL;
    enum status status = STATUS_OK;
    if (!is_good || (is_first && !best) || !refits
        || !make(refits, campaign, &fit->joint, n_dataset, n_end))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for refits of %zu datasets",
                           n_dataset);
    if (!status && is_first)
        status = read_best(shared, best, error);
    const unsigned char *all = status ? NULL : compute_first_bytes(compute, best, bytes);
    if (all)
        take_best(refits, all, n_end, n_population);
    else if (!status)
        status = compute_lost(error);
    free(best);
    if (!status && n_population)
        use_population(shared);
    if (!status && refits->n_drawn > 0 && campaign->plan.refits.n_profile > 0)
        status = read_bounds(shared, error);
    return status;
}

void joint_refits_free(struct joint_refits *refits)
{
    if (refits)
        arena_fini(&refits->arena);
    free(refits);
}

bool joint_refits_exist(const struct joint_refits *refits) { return refits->n_drawn > 0; }

/* The record of the first dataset that takes part in the fit that has ended, which has what all
 * have in common, into a record with arrays. False: memory is out, or the ranks are lost. */
static bool record_common(struct shared_fit *shared, struct fit_record *record)
{
    struct compute *compute = shared->compute;
    struct joint *joint = &shared->fit.joint;
    size_t n = compute->campaign.n_parameter,
           bytes = joint->part.n_active > 0 ? fit_record_bytes(n) : 0;
    unsigned char *sent = malloc(bytes + 1);
    const unsigned char *all = NULL;
    if (sent && joint->part.n_active > 0) {
        joint_record(joint, joint->part.active[0], record);
        fit_record_to_bytes(record, n, sent);
    }
    if (sent)
        all = compute_first_bytes(compute, sent, bytes);
    if (all)
        fit_record_from_bytes(record, n, all);
    free(sent);
    return all;
}

static void chi_square_of(const void *context, const struct joint_block *block, double *number)
{
    (void)context;
    *number = block->findings.criteria.chi_square;
}

/* The population of a refit: typical values as parameters and, of a replicate, all estimates in
 * place of points (finish_population.c). */
static void put_population(const struct refitting *refitting, double *end,
                           struct fit_record *record)
{
    const struct joint_refits *refits = refitting->refits;
    const struct joint *joint = &refitting->shared->fit.joint;
    const struct mixed *mixed = mixed_of_joint(joint);
    const struct mixed_result *found = &mixed->result;
    size_t n = refits->subject.n_parameter;
    for (size_t a = 0; a < found->r && mixed->has_result; a++) {
        size_t i = found->random[a];
        record->parameter[i] = fit_scale_to_natural(joint->scale[i], found->mean[a]);
        record->standard_error[i] = NAN;
        for (size_t d = 0; end && d < refits->n_here; d++)
            end[d * n + i] = record->parameter[i];
    }
    for (size_t i = 0; i < n; i++) { /* where a profile looks first */
        double at = fit_scale_from_natural(joint->scale[i], record->parameter[i]);
        double width = 2 * refits->covariance[2 * n + n * n + i];
        record->interval_lower[i] = fit_scale_to_natural(joint->scale[i], at - width);
        record->interval_upper[i] = fit_scale_to_natural(joint->scale[i], at + width);
    }
    if (!refitting->is_replicate || !mixed->has_result || found->m > 2 * FIT_MAX_POINT)
        return;
    mixed_result_estimates(found, record->point);
    record->n_point = (uint8_t)((found->m + 1) / 2);
}

/* The record of the fit that has ended. A dataset may have changed its engine: the sum does not
 * notice. Only shared parameters of a replicate have values for all datasets. */
static bool make_record(struct refitting *refitting, double *end, struct fit_record *record)
{
    const struct joint_refits *refits = refitting->refits;
    struct joint *joint = &refitting->shared->fit.joint;
    const struct mixed *mixed = mixed_of_joint(joint);
    struct joint_facts facts = {.most = 0};
    double chi_square, sum[3] = {0};
    size_t n = refits->subject.n_parameter;
    for (size_t i = 0; i < joint->n_block; i++) {
        const struct joint_block *block = &joint->block[i];
        if (!refits->weight[i])
            continue;
        facts.most = fmax(facts.most, (double)block->used.n_evaluation);
        sum[0] += (double)block->used.n_evaluation;
        sum[1] += (double)block->used.n_step;
        sum[2] += block->seconds;
        if (end && block->kept.is_there)
            memcpy(end + i * n, block->kept.p, n * sizeof *end);
    }
    joint_agree(joint, &facts);
    refitting->n_evaluation += joint_count_up(joint, sum[0]);
    refitting->n_step += joint_count_up(joint, sum[1]);
    refitting->seconds += joint_count_up(joint, sum[2]);
    if (!joint_totals(joint, 1, chi_square_of, NULL, &chi_square)
        || !record_common(refitting->shared, record))
        return false;
    if (mixed)
        put_population(refitting, end, record);
    record->notes &= ~NOTE_changed_engine;
    record->objective = isfinite(record->objective) ? joint->above.f : NAN;
    record->chi_square = chi_square;
    record->n_evaluation = (int64_t)facts.most; /* the budgets are of one dataset */
    if (mixed) /* whose budget is one of steps, not of the points of integrals */
        record->n_evaluation = mixed->search.n_iteration;
    record->n_step = 0;
    for (size_t i = 0; i < n && refitting->is_replicate; i++)
        if (joint->levels.level[i] != 1)
            record->parameter[i] = record->standard_error[i] = NAN;
    return true;
}

static void fit(void *context, const double *start, const uint8_t *fixed, double unit,
                const struct fit_options *options, double *end, struct fit_record *record)
{
    struct refitting *refitting = context;
    const struct joint_refits *refits = refitting->refits;
    struct joint_request request = {.weight = refits->weight, .options = *options, .start = start,
                                    .held = refitting->is_replicate ? NULL : fixed,
                                    .rtol = refits->rtol, .keeps = refitting->is_replicate};
    bool has_ended = false;
    (void)unit; /* which Laplace's errors have */
    request.options.is_near = true;
    if (!refitting->is_replicate)
        request.options.optimizer = OPTIMIZER_trf;
    if (refitting->shared->compute->campaign.share.random.n) {
        request.options.statistics = false; /* only the estimates are used */
        request.held_above = request.held;  /* means are held, and not the datasets' values */
        request.held = NULL;
    }
    if (!refitting->status && !refitting->has_stopped)
        refitting->status = shared_run_fit(refitting->shared, refitting->task, &request, &has_ended,
                                       refitting->error);
    if (end)
        memcpy(end, start, refits->subject.n_copy * refits->subject.n_parameter * sizeof *end);
    fit_record_begin(record, refits->subject.n_parameter, 0);
    if (has_ended && !make_record(refitting, end, record))
        refitting->status = compute_lost(refitting->error);
    refitting->has_stopped = !has_ended;
    if (refitting->status || !has_ended)
        record->outcome = OUTCOME_not_run;
}

/* As many datasets are drawn as took part in the best fit. */
static bool draw(void *context, const struct fit_options *options, uint32_t replicate,
                 struct fit_record *record)
{
    struct refitting *refitting = context;
    struct joint_refits *refits = refitting->refits;
    const struct run_plan *plan = &refitting->shared->compute->campaign.plan;
    (void)options, (void)record;
    refitting->is_replicate = true;
    memset(refits->all_weights, 0, refits->n_dataset * sizeof *refits->all_weights);
    fit_bootstrap_datasets((uint64_t)plan->recipe.seed, 2 * plan->refits.n_profile + replicate,
                           refits->n_drawn, refits->drawn, refits->all_weights);
    return true;
}

static enum status write_record(struct refitting *refitting, struct fit_record *record)
{
    struct compute *compute = refitting->shared->compute;
    record->dataset = components_members(&compute->campaign.share.components,
                                         refitting->shared->fit.component)[0];
    record->n_evaluation = (int64_t)refitting->n_evaluation;
    record->n_step = (int64_t)refitting->n_step;
    record->seconds = refitting->seconds;
    counter_add(&compute->board->n_finished, 1);
    if (!compute_is_first(compute))
        return STATUS_OK;
    return journal_append(compute->journal, record, refitting->error);
}

enum status joint_refits_run(struct shared_fit *shared, uint32_t task, bool *has_ended,
                             struct error *error)
{
    const struct campaign *campaign = &shared->compute->campaign;
    struct joint_refits *refits = shared->refits;
    struct arena arena = {.first = NULL};
    size_t n = campaign->n_parameter;
    const struct refit refit = refit_plan_get(&campaign->plan.refits, task - campaign->n_start);
    struct fit_record record = {.start = task};
    struct refitting refitting = {.shared = shared, .refits = refits, .task = task, .error = error};
    struct fit_subject subject = refits->subject;
    void *arrays = arena_calloc(&arena, 1, fit_record_array_bytes(n) + 1);
    *has_ended = false;
    if (!arrays)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the record of a refit");
    fit_record_set_arrays(&record, n, arrays);
    record.point = arena_calloc(&arena, 2 * FIT_MAX_POINT, sizeof *record.point);
    if (!record.point) {
        arena_fini(&arena);
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the points of a refit");
    }
    subject.fit = fit;
    subject.draw = draw;
    subject.context = &refitting;
    memset(refits->all_weights, 0, refits->n_dataset * sizeof *refits->all_weights);
    for (size_t k = 0; k < refits->n_drawn; k++)
        refits->all_weights[refits->drawn[k]] = 1;
    uint64_t n_failed = memory_n_failed();
    task_refit(campaign, &subject, &refit, refits->profile_end, &arena, &record);
    if (!refitting.status && memory_n_failed() != n_failed)
        refitting.status = error_set(error, STATUS_NO_MEMORY, "out of memory for a refit");
    *has_ended = !refitting.status && !refitting.has_stopped;
    if (*has_ended && refit.kind == REFIT_PROFILE)
        review_take(&campaign->plan.refits, n, task - campaign->n_start, &record,
                    refits->profile_end);
    enum status status = *has_ended ? write_record(&refitting, &record) : refitting.status;
    arena_fini(&arena);
    return status;
}
