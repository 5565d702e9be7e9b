/* Fits on coroutines: connects the optimiser's sequential code, which asks and waits, with the worker that drives the
 * engine. All data of a fit are in its arena, so that suspended fits hold no block of the problem file.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/fit_job.h"

#include "ode/pulses.h"
#include "ode/task.h"
#include "par/coroutine.h"
#include "run/compute/task.h"
#include "run/plan/review.h"

#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK_BYTES = 512 * 1024 }; /* instrumented frames are several times as large */
#else
enum { STACK_BYTES = 64 * 1024 };
#endif

struct fit_job {
    struct job head; /* for the scheduler */
    const struct campaign *campaign;
    struct coroutine *coroutine;
    struct arena arena, scratch;
    struct ode_task *task;           /* one for each experiment of the problem */
    struct fit_problem problem;
    const double *profile_end;       /* of a review */
    struct fit_record record;
    double *record_arrays, *covariance; /* the record's; a refit's covariance is not kept */
    struct evaluation *const *asked; /* NULL: nothing is asked */
    size_t n_asked;
    int64_t replayed_ns;             /* computing in earlier processes */
    bool cancelled;
    struct replays *replays;
    struct replay replay;
    struct trace *trace;
    bool is_traced;
    struct fit_job *next;
};

static bool host_ask(void *context, struct evaluation *const *evaluations, size_t n)
{
    struct fit_job *job = context;
    if (job->cancelled)
        return false;
    job->asked = evaluations;
    job->n_asked = n;
    coroutine_suspend(job->coroutine);
    job->asked = NULL;
    return !job->cancelled;
}

static bool host_share(void *context, void (*work)(void *part), void *parts, size_t size, size_t n)
{
    struct evaluation chore[FIT_SHARES], *chores[FIT_SHARES];
    for (size_t k = 0; k < n; k++) {
        chore[k] = (struct evaluation){.chore = work, .part = (char *)parts + k * size};
        chores[k] = &chore[k];
    }
    return host_ask(context, chores, n);
}

static int64_t host_elapsed(void *context)
{
    const struct fit_job *job = context;
    return job->replayed_ns + job_elapsed_ns(&job->head);
}

static void host_judged(void *context, double objective, double gradient_norm)
{
    struct fit_job *job = context;
    trace_judge(job->trace, objective, gradient_norm);
}

static void job_main(void *argument)
{
    struct fit_job *job = argument;
    struct fit_host host = {.ask = host_ask, .share = host_share, .elapsed_ns = host_elapsed,
                            .context = job, .judged = job->is_traced ? host_judged : NULL};
    const struct task task = {.campaign = job->campaign, .problem = &job->problem, .number = job->record.start, .host = &host,
                              .profile_end = job->profile_end,
                              .arena = &job->arena, .scratch = &job->scratch, .record = &job->record};
    task_run(&task);
}

struct fit_job *fit_job_new(const struct campaign *campaign, struct replays *replays, struct trace *trace)
{
    struct fit_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->campaign = campaign;
    job->replays = replays;
    job->trace = trace;
    job->coroutine = coroutine_new(STACK_BYTES);
    job->record_arrays = malloc(fit_record_array_bytes(campaign->n_parameter));
    if (!job->coroutine || !job->record_arrays || !job_init(&job->head)) {
        coroutine_free(job->coroutine);
        free(job->record_arrays);
        free(job);
        return NULL;
    }
    fit_record_set_arrays(&job->record, campaign->n_parameter, job->record_arrays);
    job->covariance = job->record.covariance;
    return job;
}

void fit_job_free(struct fit_job *job)
{
    if (!job)
        return;
    coroutine_free(job->coroutine);
    job_fini(&job->head);
    replay_fini(&job->replay);
    arena_fini(&job->arena);
    arena_fini(&job->scratch);
    free(job->record_arrays);
    free(job);
}

uint64_t fit_job_number(const struct fit_job *job)
{
    return job->problem.dataset * job->campaign->n_task + job->record.start;
}

struct fit_job **fit_job_link(struct fit_job *job) { return &job->next; }

static void *copy(struct arena *arena, const void *source, size_t bytes)
{
    void *target = arena_alloc(arena, bytes ? bytes : 1);
    if (target && bytes)
        memcpy(target, source, bytes);
    return target;
}

/* The inputs of experiment e of the block, with their knots. */
static const struct input *copy_inputs(const struct fit_job *job, const struct problem_block *block, size_t e,
                                       struct arena *arena)
{
    size_t n_input = job->campaign->model.abi.n_input;
    struct input *input = copy(arena, block->input + e * n_input, n_input * sizeof *input);
    for (size_t i = 0; input && i < n_input; i++) {
        input[i].time = copy(arena, input[i].time, input[i].n * sizeof(double));
        input[i].value = copy(arena, input[i].value, input[i].n * sizeof(double));
        if (!input[i].time || !input[i].value)
            return NULL;
    }
    return input;
}

/* Fills the task of experiment e of the block, and the values of its rows. */
static bool fill_task(const struct fit_job *job, const struct problem_block *block, size_t e, struct arena *arena,
                      struct ode_task *task, struct ode_rows *rows)
{
    const struct campaign *campaign = job->campaign;
    size_t n_covariate = campaign->model.abi.n_covariate, first_dose = block->first_dose[e];
    const struct measurements given = measurements_from(&block->measured, block->row[e]);
    task->t0 = block->t0[e];
    task->covariate = copy(arena, block->covariate + e * n_covariate, n_covariate * sizeof(double));
    task->n_dose = block->first_dose[e + 1] - first_dose;
    task->dose = copy(arena, block->dose + first_dose, task->n_dose * sizeof *task->dose);
    task->n_call = block->first_call[e + 1] - block->first_call[e];
    task->call = copy(arena, block->call + block->first_call[e], task->n_call * sizeof *task->call);
    task->input = copy_inputs(job, block, e, arena);
    size_t n_row = block->row[e + 1] - block->row[e], first = block->first_substitute[e];
    return task->covariate && task->dose && task->call && task->input &&
           ode_task_substitute(task, block->first_substitute[e + 1] - first, block->substitute + first, n_row, arena) &&
           ode_task_sort(task, rows, &given, n_row, problem_errors(campaign->problem), arena);
}

/* Adds experiment e of the block to the problem, with its first row. */
static bool add_experiment(struct fit_job *job, const struct problem_block *block, size_t e, const char **id,
                           struct substitute *substitute, size_t *first_substitute)
{
    size_t first = block->first_substitute[e], n_substitute = block->first_substitute[e + 1] - first;
    size_t k = job->problem.n_experiment++;
    if (n_substitute)
        memcpy(substitute + first_substitute[k], block->substitute + first, n_substitute * sizeof *substitute);
    first_substitute[k + 1] = first_substitute[k] + n_substitute;
    id[k] = arena_strdup(&job->arena, block->experiment_id[e]);
    return id[k];
}

/* Sets the experiments at whose steady states others begin; place: index of each experiment of the dataset among the tasks. */
static bool set_rest(struct fit_job *job, const struct problem_block *block, size_t first, size_t end, const uint32_t *place)
{
    uint32_t *rest = block->steady ? arena_alloc(&job->arena, (job->problem.n_experiment + 1) * sizeof *rest) : NULL;
    bool any = false;
    job->problem.rest = NULL;
    if (block->steady && !rest)
        return false;
    for (size_t e = first; rest && e < end; e++) {
        uint32_t source = block->steady[e];
        if (place[e - first] == EXPERIMENT_NONE)
            continue;
        rest[place[e - first]] = source == EXPERIMENT_NONE ? EXPERIMENT_NONE : place[source - first];
        any = any || source != EXPERIMENT_NONE;
        if (source != EXPERIMENT_NONE && !ode_task_add_steady(&job->task[place[source - first]], &job->arena))
            return false;
    }
    job->problem.rest = any ? rest : NULL;
    return true;
}

/* Whether others with rows begin at its steady state. */
static bool is_wanted(const struct problem_block *block, size_t first, size_t end, size_t source)
{
    for (size_t e = first; block->steady && e < end; e++)
        if (block->steady[e] == source && block->row[e + 1] > block->row[e])
            return true;
    return false;
}

/* Fills the tasks of a dataset's experiments, but for those without rows, and the values of all rows, one experiment after the
 * other. */
static bool fill_experiments(struct fit_job *job, const struct problem_block *block, size_t row)
{
    struct arena *arena = &job->arena;
    struct fit_problem *problem = &job->problem;
    size_t first = block->first_experiment[row], end = block->first_experiment[row + 1], n = end - first, n_row = 0;
    size_t n_given = block->row[end] - block->row[first];
    size_t n_substitute = block->first_substitute[end] - block->first_substitute[first];
    struct measurements all = {.time = NULL};
    job->task = arena_calloc(arena, n, sizeof *job->task);
    const char **id = arena_calloc(arena, n, sizeof(char *));
    struct substitute *substitute = arena_alloc(arena, (n_substitute + 1) * sizeof *substitute);
    size_t *first_substitute = arena_calloc(arena, n + 1, sizeof *first_substitute);
    uint32_t *place = arena_alloc(arena, (n + 1) * sizeof *place);
    if (!place)
        return false;
    problem->n_experiment = 0;
    for (size_t e = first; e < end; e++) {
        struct ode_rows rows;
        struct ode_task *task = &job->task[problem->n_experiment];
        if (!job->task || !id || !substitute || !first_substitute || !fill_task(job, block, e, arena, task, &rows))
            return false;
        place[e - first] = EXPERIMENT_NONE;
        if (task->n_row == 0 && n > 1 && (n_row > 0 || e + 1 < end) && !is_wanted(block, first, end, e))
            continue;
        place[e - first] = (uint32_t)problem->n_experiment;
        if (n == 1) {
            all = rows.measured;
        } else {
            void *room = all.time ? NULL : arena_alloc(arena, measurements_bytes(rows.columns, n_given) + 1);
            if (!all.time && !room)
                return false;
            if (room)
                all = measurements_place(rows.columns, n_given, room);
            measurements_copy(&all, n_row, &rows.measured, 0, task->n_row);
        }
        n_row += task->n_row;
        if (!add_experiment(job, block, e, id, substitute, first_substitute))
            return false;
    }
    problem->task = job->task;
    problem->experiment_id = id;
    problem->first_substitute = first_substitute;
    problem->substitute = n_substitute ? substitute : NULL;
    problem->measured = all;
    problem->notes = n_row < n_given ? NOTE_missing_values : 0;
    return set_rest(job, block, first, end, place);
}

bool fit_job_begin(struct fit_job *job, const struct problem_block *block, size_t row, uint32_t number,
                   enum job_yields yields)
{
    const struct campaign *campaign = job->campaign;
    size_t n = campaign->n_parameter, offset = row * n;
    struct arena *arena = &job->arena;
    arena_reset(arena);
    if (!fill_experiments(job, block, row))
        return false;
    if (!campaign->n_censored)
        job->problem.measured.censored = NULL;
    job->problem.notes |= model_missing_derivatives(&campaign->model);
    job->problem.seeks_pulses = !(campaign->ode.max_step > 0) && !pulses_are_declared(&campaign->model.abi) &&
                                number < campaign->n_start;
    job->problem.model = &campaign->model;
    job->problem.parameter_name = problem_parameter_name(campaign->problem);
    job->problem.n_parameter = n;
    job->problem.to_model = campaign->to_model;
    job->problem.scale = campaign->scale;
    job->problem.loss = campaign->loss;
    job->problem.mixes = campaign->mixes;
    job->problem.prior = campaign->prior;
    job->problem.start = copy(arena, block->start + offset, n * sizeof(double));
    job->problem.lower = copy(arena, block->lower + offset, n * sizeof(double));
    job->problem.upper = copy(arena, block->upper + offset, n * sizeof(double));
    job->problem.fixed = copy(arena, block->fixed + offset, n);
    job->problem.rtol = block->rtol[row];
    job->problem.n_noise = block->n_noise[row] > 0 ? (size_t)block->n_noise[row] : 0;
    job->problem.seed = campaign->seed;
    job->problem.dataset = block->dataset[row];
    job->problem.start_number = number < campaign->n_start ? number : 0;
    job->problem.n_start = campaign->n_start;
    size_t n_end = review_size(&campaign->plan.refits, n);
    job->profile_end = block->profile_end[row] ? copy(arena, block->profile_end[row], n_end * sizeof(double)) : NULL;
    if (block->profile_end[row] && !job->profile_end)
        return false;
    if (!job->problem.start || !job->problem.lower || !job->problem.upper || !job->problem.fixed)
        return false;
    job->record.covariance = number < campaign->n_start ? job->covariance : NULL;
    job->record.dataset = block->dataset[row];
    job->record.start = number;
    job->asked = NULL;
    job->replayed_ns = 0;
    job->cancelled = false;
    job->is_traced = trace_wants(job->trace, job->problem.dataset);
    job->head.yields = job->is_traced ? YIELDS_NEVER : yields;
    replay_begin(&job->replay, job->replays, fit_job_number(job), campaign->model.abi.n_parameter, job->task,
                 job->problem.n_experiment);
    coroutine_prepare(job->coroutine, job_main, job);
    return true;
}

bool fit_job_resume(struct fit_job *job)
{
    if (job->is_traced)
        trace_begin(job->trace, job->problem.dataset, job->record.start);
    if (!coroutine_resume(job->coroutine))
        return false;
    for (size_t k = 0; k < job->n_asked; k++)
        job->asked[k]->is_finished = false;
    int64_t elapsed_ns;
    size_t n_known = 0;
    while (n_known < job->n_asked && !job->asked[0]->chore
           && replay_answer(&job->replay, job->asked, job->n_asked, &elapsed_ns)) {
        n_known++;
        if (elapsed_ns > host_elapsed(job)) /* the time that it took counts as this fit's too */
            job->replayed_ns += elapsed_ns - host_elapsed(job);
    }
    job_ask(&job->head, job->asked, job->n_asked);
    return true;
}

void fit_job_begin_evaluation(struct fit_job *job, const struct evaluation *evaluation)
{
    if (job->is_traced)
        trace_ask(job->trace, job->problem.experiment_id[evaluation->task - job->task], evaluation);
}

void fit_job_end_evaluation(struct fit_job *job, const struct evaluation *evaluation)
{
    if (job->is_traced)
        trace_answer(job->trace, evaluation);
    replay_keep(&job->replay, evaluation, host_elapsed(job));
}

void fit_job_forget(struct fit_job *job) { replay_end(&job->replay); }

void fit_job_abandon(struct fit_job *job, struct engine_pool *pool)
{
    job->cancelled = true;
    replay_leave(&job->replay, host_elapsed(job));
    if (!job->asked)
        return;
    for (size_t i = 0; i < job->n_asked; i++)
        engine_discard(pool, job->asked[i]);
    while (coroutine_resume(job->coroutine))
        ;
}

const struct fit_record *fit_job_record(struct fit_job *job)
{
    job->record.seconds = 1e-9 * (double)host_elapsed(job);
    return &job->record;
}
