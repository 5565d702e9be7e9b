/* The compute process: prepares problem, model, journal and workers, runs all fits, and ends.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute.h"

#include "base/clock.h"
#include "base/output.h"
#include "fit/objective/distribution.h"
#include "io/problem/adopt.h"
#include "par/cpus.h"
#include "run/compute/compute_pass.h"
#include "run/finish/obsolete.h"
#include "run/finish/summary.h"
#include "run/plan/campaign.h"
#include "run/plan/header.h"
#include "run/supervise/stop.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* With few fits, a worker of an engine with lanes gets at least this many of them. */
enum { FEWEST_LANES = 8 };

/* Reports parameters without bounds: their starts are drawn from a default range. */
static void say_unbounded(struct compute *compute)
{
    const struct campaign *campaign = &compute->campaign;
    char names[200] = "";
    size_t n = 0, used = 0;
    for (size_t i = 0; i < campaign->n_parameter; i++) {
        if (problem_is_bounded(campaign->problem, i))
            continue;
        n++;
        if (used < sizeof names - 80)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s", used ? ", " : "",
                                     problem_parameter_name(campaign->problem)[i]);
    }
    if (n)
        compute_say(compute,
                    "note: --starts: %zu parameter%s %s not bounded on both sides (%s): starts are "
                    "drawn within a decade of the given one, or |start| (1 if that is 0) on scale "
                    "lin",
                    n, n == 1 ? "" : "s", n == 1 ? "is" : "are", names);
}

/* The number of fits, and of those in the journal. */
static uint64_t n_all(const struct compute *compute)
{
    return campaign_is_shared(&compute->campaign) ? compute_n_shared(compute) : compute->n_fit;
}

static uint64_t n_ended(const struct compute *compute)
{
    return campaign_is_shared(&compute->campaign) ? compute_n_shared_before(compute)
                                                  : journal_n_record(compute->earlier);
}

static void describe_fits(struct compute *compute)
{
    const struct campaign *campaign = &compute->campaign;
    const struct components *components = &campaign->share.components;
    size_t n_sample = campaign_sample_size(campaign), most = 0;
    for (size_t c = 0; c < components->n; c++)
        most = components_size(components, c) > most ? components_size(components, c) : most;
    if (components->n > 1)
        compute_say(compute,
                    "%u fits, as datasets that have no parameter in common are fitted separately; "
                    "the largest has %zu dataset%s",
                    (unsigned)components->n, most, most == 1 ? "" : "s");
    if (n_sample < campaign->n_dataset && !journal_n_record(compute->earlier))
        compute_say(compute, "the first steps take a random sample of the datasets: %zu of %llu",
                    n_sample, (unsigned long long)campaign->n_dataset);
}

/* Reports what the run will do, and every compromise that is known before it starts. */
static void describe(struct compute *compute)
{
    const struct campaign *campaign = &compute->campaign;
    const struct stiffit_model *model = &campaign->model.abi;
    char engine[60] = "";
    if (campaign->fit.engine != ENGINE_REFERENCE)
        snprintf(engine, sizeof engine, "%s; %s with ", engine_word[campaign->fit.engine],
                 engine_word[ENGINE_REFERENCE]);
    compute_say(compute,
                "model %s: %u state%s, %u parameter%s, %u observable%s; %llu dataset%s%s; %zu "
                "worker%s, %s%s linear solver",
                model->name, model->n_state, model->n_state == 1 ? "" : "s", model->n_parameter,
                model->n_parameter == 1 ? "" : "s", model->n_observable,
                model->n_observable == 1 ? "" : "s", (unsigned long long)campaign->n_dataset,
                campaign->n_dataset == 1 ? "" : "s",
                campaign->n_start > 1 ? ", several starts each" : "", compute->workers.n,
                compute->workers.n == 1 ? "" : "s", engine,
                engine_pool_linear_solver(compute->workers.pool));
    char objective[OBJECTIVE_TEXT], selection[200], told[400];
    if (engine_pool_tell(compute->workers.pool, false, told, sizeof told))
        compute_say(compute, "%s", told);
    const char *origin = compute->options->select.shard.origin;
    if (*selection_describe(&campaign->plan.selection, selection, sizeof selection))
        compute_say(compute, "%s%s%s%s", selection, *origin ? " (" : "", origin,
                    *origin ? ")" : "");
    campaign_objective_text(campaign, objective);
    compute_say(compute, "objective: %s", objective);
    uint32_t n_replicate = campaign->plan.refits.n_bootstrap;
    bool is_shared = campaign_is_shared(campaign);
    if (is_shared && campaign->plan.refits.n_profile)
        compute_say(compute,
                    "profiles: %u sides, each of which fits all datasets that share the parameter "
                    "several times",
                    2 * campaign->plan.refits.n_profile);
    if (is_shared && n_replicate)
        compute_say(compute,
                    "bootstrap: %u replicates, each of as many datasets as the fit has, drawn from "
                    "these",
                    n_replicate);
    else if (!is_shared && (campaign->plan.refits.n_profile || n_replicate))
        compute_say(compute,
                    "refits of each dataset: %u sides of profiles, %u bootstrap replicates",
                    2 * campaign->plan.refits.n_profile, n_replicate);
    if (n_replicate && n_replicate < FIT_INTERVAL_REPLICATES)
        compute_say(compute, "note: %u %s; intervals need %d", n_replicate,
                    n_replicate == 1 ? "replicate gives no standard errors"
                                     : "replicates give standard errors only",
                    FIT_INTERVAL_REPLICATES);
    uint32_t missing = model_missing_derivatives(&campaign->model);
    for (int bit = 0; bit < 32; bit++)
        if (missing >> bit & 1)
            compute_say(compute, "note: %s", note_meaning(bit));
    if (*problem_changes(campaign->problem))
        compute_say(compute,
                    "note: the problem was imported with another model; taken from this one: %s",
                    problem_changes(campaign->problem));
    if (campaign->n_start > 1)
        say_unbounded(compute);
    if (campaign->n_bad)
        compute_say(compute, "note: %llu dataset%s%s cannot be fitted (bad_data)",
                    (unsigned long long)campaign->n_bad, campaign->n_bad == 1 ? "" : "s",
                    *selection ? " of the whole problem" : "");
    if (compute->ranks.is_joined)
        compute_say(compute, "%llu ranks, each with a part of the datasets; %llu are here",
                    (unsigned long long)compute->ranks.info.n,
                    (unsigned long long)campaign_joint_n_own(campaign));
    if (is_shared)
        describe_fits(compute);
    if (compute->earlier && journal_n_record(compute->earlier))
        compute_say(compute, "resuming: %llu of %llu fits are in the journal%s",
                    (unsigned long long)n_ended(compute), (unsigned long long)n_all(compute),
                    journal_n_damaged(compute->earlier) ? " (an incomplete record at its end was "
                                                          "dropped)"
                                                        : "");
}

/* This process's file of the journal, which begins with the run's plan. */
static enum status begin_journal(struct compute *compute, struct error *error)
{
    const struct run_plan *plan = &compute->campaign.plan;
    struct arena arena = {.first = NULL};
    struct result_header header;
    unsigned char *bytes = NULL;
    size_t n = 0;
    enum status status = header_make(&header, &compute->campaign, compute->options,
                                     &arena, error);
    if (!status && !(bytes = run_plan_encode(plan, compute->options, &header, &n)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for the plan of the run");
    if (!status)
        status = journal_open(&compute->journal, plan->paths.journal, &plan->identity, bytes, n,
                              error);
    free(bytes);
    arena_fini(&arena);
    return status;
}

static enum status open_journal(struct compute *compute, struct error *error)
{
    const struct run_options *options = compute->options;
    const struct run_plan *plan = &compute->campaign.plan;
    const struct run_paths *paths = &plan->paths;
    enum status status = journal_check_directory(paths->journal, error);
    compute->board->shown = options->shown;
    bool is_first = compute->board->n_process == 0; /* else the journal is this run's own */
    if (!status && paths->retry_failed && is_first)
        status = obsolete_drop_retried(paths->result, paths->journal, error);
    if (!status && options->restart && is_first)
        status = journal_remove(paths->journal, error);
    if (!status)
        status = compute_read_journal(compute, error);
    if (!status)
        status = begin_journal(compute, error);
    if (!status && !record_batch_init(&compute->batch, compute->journal))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for the journal");
    if (!status && options->trace)
        return trace_open(&compute->trace, options->trace, options->overwrite, &compute->campaign,
                          compute->board, compute->output ? compute->output : stdout, error);
    if (!status && !keepers_init(&compute->keepers, paths->journal, &plan->identity))
        status =
            error_set(error, STATUS_NO_MEMORY, "out of memory for the fits that had not ended");
    return status;
}

/* Evaluations that each worker holds: all that its engine can, but not so many that others have
 * less than half as much. */
static size_t choose_n_lane(size_t capacity, uint64_t most, size_t n_worker)
{
    uint64_t fair = (most + n_worker - 1) / n_worker,
             least = capacity < 2 * FEWEST_LANES ? (capacity + 1) / 2 : FEWEST_LANES;
    return fair < least ? (size_t)least : fair < capacity ? (size_t)fair : capacity;
}

/* The most workers and lanes that this process may have, since an earlier one was short of
 * memory. */
static struct board_size size_limit(const struct board *board)
{
    static const struct board_size one = {1, 1};
    const struct board_size *most = &board->most;
    if (board->is_alone)
        return one;
    return (struct board_size){most->n_worker ? most->n_worker : SIZE_MAX,
                               most->n_lane ? most->n_lane : SIZE_MAX};
}

static enum status make_pool(struct compute *compute, struct error *error)
{
    const struct run_options *options = compute->options;
    const struct campaign *campaign = &compute->campaign;
    struct workers *workers = &compute->workers;
    /* What a fit may ask for at once; by differences also where the right-hand side jumps. */
    bool takes_differences =
        campaign->fit.gradient == GRADIENT_differences || campaign->model.abi.n_switching > 0;
    const struct problem_info *info = problem_info(campaign->problem);
    uint64_t most = compute->n_fit * (takes_differences ? 2 * campaign->n_parameter : 1);
    if (info->has_experiments)
        most *= info->n_experiment;
    workers->n = options->trace          ? 1
                 : options->n_thread > 0 ? (size_t)options->n_thread
                                         : cpus_available();
    if (workers->n > most)
        workers->n = most ? most : 1;
    const struct board_size limit = size_limit(compute->board);
    if (workers->n > limit.n_worker)
        workers->n = limit.n_worker;
    compute->board->size = (struct board_size){workers->n, 1};
    const struct ode_options ode = campaign_ode_options(campaign);
    workers->pool = engine_pool_new(&campaign->model, &ode, 2 * workers->n, workers->n, error);
    workers->n_lane = 1;
    if (workers->pool && !options->trace) /* rows of a trace are in order */
        workers->n_lane = choose_n_lane(engine_capacity(workers->pool), most, workers->n);
    if (workers->n_lane > limit.n_lane)
        workers->n_lane = limit.n_lane;
    compute->board->size.n_lane = workers->n_lane;
    return workers->pool ? STATUS_OK : error->status;
}

static enum status make_workers(struct compute *compute, struct error *error)
{
    struct workers *workers = &compute->workers;
    size_t n = workers->n * workers->n_lane;
    bool shares_work = engine_cost(workers->pool, 1) > 0;
    workers->lanes = monitor_init(&workers->lock) ? calloc(n, sizeof *workers->lanes) : NULL;
    workers->cost = shares_work ? calloc(workers->n_lane + 1, sizeof *workers->cost) : NULL;
    workers->engine = calloc(workers->n, sizeof(struct engine *));
    workers->heartbeat = calloc(workers->n, sizeof(struct counter *));
    workers->thread = calloc(workers->n, sizeof(struct counter *));
    if (!workers->lanes || (shares_work && !workers->cost) || !workers->engine ||
        !workers->heartbeat || !workers->thread ||
        !board_slots_make(compute->board, n, workers->n_lane, compute->campaign.n_parameter,
                          &workers->slots))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu workers", workers->n);
    for (size_t i = 0; shares_work && i <= workers->n_lane; i++)
        workers->cost[i] = engine_cost(workers->pool, i);
    for (size_t i = 0; i < n; i++)
        workers->lanes[i].slot = board_slot(&workers->slots, i);
    for (size_t i = 0; i < workers->n; i++) {
        struct board_slot *first = board_heartbeat(&workers->slots, i * workers->n_lane);
        workers->heartbeat[i] = &first->heartbeat;
        workers->thread[i] = &first->thread;
        workers->engine[i] = engine_new(workers->pool, error);
        if (!workers->engine[i])
            return error->status;
    }
    return STATUS_OK;
}

static enum status fit_all(struct compute *compute, bool *journal_gone, struct error *error)
{
    struct board *board = compute->board;
    if (board->begun_ns == 0) {
        board->begun_ns = clock_now_ns();
        board->n_before = board->n_shown = n_ended(compute);
    }
    compute->hooks->begin(compute->hooks->context, n_all(compute), board->n_before,
                          board->begun_ns);
    bool is_shared = campaign_is_shared(&compute->campaign);
    enum status status = (is_shared ? compute_joint : compute_single)(compute, journal_gone, error);
    compute->hooks->end(compute->hooks->context);
    char told[400];
    if (engine_pool_tell(compute->workers.pool, true, told, sizeof told))
        compute_say(compute, "%s", told);
    struct error sync_error;
    bool is_lost = record_batch_flush(&compute->batch, &sync_error);
    if ((is_lost || journal_sync(compute->journal, &sync_error)) && !status) {
        *error = sync_error;
        status = error->status;
    }
    if (!status && counter_get(&compute->trouble.is_broken)) {
        *error = compute->trouble.first;
        status = error->status;
    }
    if (!status)
        status = trace_status(compute->trace, error);
    uint64_t n_done = compute->pass.stage.n_before + counter_get(&compute->pass.n_done) -
                      counter_get(&compute->pass.n_put_off);
    if (!status && n_done < compute->n_fit)
        status = error_set(error, STATUS_STOPPED,
                           "stopped by %s after %llu of %llu fits; the same command resumes",
                           counter_get(&compute->board->time_is_up) ? "--time-limit" : "a signal",
                           (unsigned long long)n_done, (unsigned long long)compute->n_fit);
    return status;
}

static void workers_fini(struct workers *workers, struct board *board)
{
    if (workers->lanes) {
        compute_free_jobs(workers);
        monitor_fini(&workers->lock);
    }
    for (size_t i = 0; workers->engine && i < workers->n; i++) {
        if (workers->engine[i]) {
            board->n_seat += workers->engine[i]->n_seat;
            board->n_held += workers->engine[i]->n_held;
        }
        engine_free(workers->engine[i]);
    }
    free(workers->cost);
    free(workers->lanes);
    free(workers->engine);
    free(workers->heartbeat);
    free(workers->thread);
    board_slots_fini(&workers->slots);
    engine_pool_free(workers->pool);
}

static void compute_fini(struct compute *compute)
{
    workers_fini(&compute->workers, compute->board);
    free(compute->crashes.of);
    free(compute->pass.suspects);
    death_fini(&compute->death);
    record_batch_fini(&compute->batch);
    journal_close(compute->journal);
    journal_reader_free(compute->earlier);
    keepers_fini(&compute->keepers);
    trace_close(compute->trace);
    campaign_fini(&compute->campaign);
    rank_link_fini(&compute->ranks);
    monitor_fini(&compute->trouble.lock);
}

/* Reports that memory is short, once for each number of workers. */
static void tell_size(struct compute *compute)
{
    struct board *board = compute->board;
    uint64_t n = (uint64_t)board->size.n_worker * board->size.n_lane;
    if (!board->most.n_worker || board->is_alone || (board->n_told && board->n_told <= n))
        return;
    board->n_told = n;
    compute_say(compute, "memory is short: going on with %zu worker%s and fewer fits at once",
                board->size.n_worker, board->size.n_worker == 1 ? "" : "s");
}

static enum status compute_run(struct compute *compute, struct run_summary *summary,
                               struct error *error)
{
    struct run_options *options = compute->options;
    struct campaign *campaign = &compute->campaign;
    struct error ignored;
    counter_set(&compute->board->phase, BOARD_OPENING);
    stamp_take(&compute->board->problem, options->problem);
    enum status status = campaign_open(campaign, options, compute->board, compute->hooks, error);
    if (status)
        return status;
    if ((status = compute_join(compute, error)))
        return status;
    const struct run_paths *paths = &campaign->plan.paths;
    compute->n_fit = campaign->plan.selection.n * campaign->n_task + campaign->n_outside_pilot;
    if (compute->ranks.is_joined)
        compute->n_fit = campaign_joint_n_own(campaign);
    if (!options->trace)
        stamp_take(&compute->board->result, paths->result);
    if (!paths->in_place && (status = spare_file(paths->result, campaign->model.path, error)))
        return status;
    if ((status = spare_file(options->trace, campaign->model.path, error)))
        return status;
    if (compute_is_first(compute))
        status = summary_look(paths, &campaign->plan.identity, summary, error);
    if (!status && summary->already_complete) {
        destination_sweep(paths->result); /* it is not written again, so nothing else would */
        if (paths->retry_failed) /* what failed then is another selection than what fails now */
            (void)obsolete_drop_retried(paths->result, paths->journal, &ignored);
        else
            obsolete_drop(paths->result, paths->journal, &campaign->plan.identity);
        summary_touch(paths);
    }
    if (status || summary->already_complete)
        return status;
    counter_set(&compute->board->phase, BOARD_OPENING_ENGINE);
    /* Everything that may be refused comes first: a run that never began must not leave a
     * journal that restricts the next one. */
    if ((status = make_pool(compute, error)))
        return status;
    counter_set(&compute->board->phase, BOARD_PREPARING);
    if ((status = compute_spot_check(compute, error)))
        return status;
    if ((status = open_journal(compute, error)))
        return status;
    if ((status = compute_judge(compute, error)))
        return status;
    if ((status = make_workers(compute, error)))
        return status;
    if (compute->board->n_process == 0)
        describe(compute);
    else
        tell_size(compute);
    counter_set(&compute->board->phase, BOARD_FITTING);
    return fit_all(compute, &summary->journal_gone, error);
}

/* Whether a fresh process can go on after this failure: with fewer workers, or since it has the
 * memory that the model holds in this one. */
static bool wants_fresh(const struct compute *compute, enum status status)
{
    struct board *board = compute->board;
    if (status != STATUS_NO_MEMORY || board == &compute->private_board)
        return status && counter_get(&compute->trouble.wants_fresh);
    return board_shrink(board) || counter_get(&board->n_finished) > compute->n_finished_before
           || counter_get(&compute->trouble.wants_fresh);
}

/* Glibc reserves 64 MiB of addresses for each thread that allocates, up to eight times as often as
 * there are CPUs. Where addresses are limited, that would be most of them. */
static void share_arenas(void)
{
#ifdef M_ARENA_MAX
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        mallopt(M_ARENA_MAX, 1);
#endif
}

enum status run_compute(struct run_options *options, const struct run_hooks *hooks,
                        struct run_summary *summary, struct error *error)
{
    struct compute *compute = calloc(1, sizeof *compute);
    if (!compute || !monitor_init(&compute->trouble.lock)) {
        free(compute);
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    }
    stop_catch();
    compute->options = options;
    compute->hooks = hooks;
    compute->output = standard_output_keep();
    compute->board = board_attach(&compute->private_board);
    if (!compute->board) {
        compute_fini(compute);
        standard_output_restore(compute->output);
        free(compute);
        return error_set(error, STATUS_NO_MEMORY,
                         "out of memory for the pages shared with the supervising process");
    }
    struct board *board = compute->board == &compute->private_board ? NULL : compute->board;
    enum status status = STATUS_OK;
    if (!board_die_with_supervisor(compute->board)) /* an orphan must not compute */
        status = error_set(error, STATUS_STOPPED, "stopped: the supervising process has ended");
    if (board)
        board_make_expendable(board);
    rank_link_find(&compute->ranks);
    if (!status && compute->board->n_process > 0)
        hooks->take_over(hooks->context);
    compute->board->size = (struct board_size){0, 0};
    compute->n_finished_before = counter_get(&compute->board->n_finished);
    share_arenas();
    if (!status)
        status = compute_run(compute, summary, error);
    summary->wants_fresh = wants_fresh(compute, status);
    summary->follows_ranks = status && compute->ranks.is_lost && !stop_is_requested();
    summary->is_reported = status && !summary->follows_ranks && !compute_is_first(compute);
    if (summary->is_reported)
        rank_link_tell(&compute->ranks, error->message);
    compute_fini(compute);
    standard_output_restore(compute->output);
    if (board)
        counter_set(&board->phase, BOARD_DONE);
    free(compute);
    return status;
}
