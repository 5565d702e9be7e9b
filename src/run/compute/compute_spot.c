/* A spot check of a plugin's derivatives before anything is fitted: wrong ones would mislead the
 * search and give wrong standard errors, and no fit could detect this. It runs in a child
 * process, because the model may crash or hang at a start; such a failure is left to the fit
 * from that start.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute.h"

#include "base/clock.h"
#include "fit/objective/map.h"
#include "model/check.h"
#include "run/supervise/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* N_DATASET of the first MAX_LOOKED datasets are checked around their starts. The sizes limit
 * the calls of the model: at most 20 for each of MAX_COLUMN columns of a derivative at each
 * point. A time limit ends the check if calls are slow. */
enum {
    MAX_LOOKED = 64,
    MAX_ROW = 65536,
    N_DATASET = 3,
    N_POINT = 5,
    MAX_COLUMN = 32,
    MAX_MS = 2000,
    LOOK_MS = 50
};

struct spot {
    size_t row;       /* of the dataset in the block */
    char finding[320];
};

/* Whether the model has hand-written derivatives that fits would use; those of model text are
 * generated. */
static bool is_wanted(const struct compute *compute)
{
    const struct stiffit_model *abi = &compute->campaign.model.abi;
    bool has_any = abi->jacobian || abi->jacobian_sparse || abi->rhs_parameter ||
                   abi->initial_parameter || abi->observe_state || abi->observe_parameter ||
                   abi->noise_state || abi->noise_parameter || abi->parameter_use;
    return has_any && !compute->campaign.model.source &&
           compute->campaign.fit.gradient != GRADIENT_differences &&
           compute->board->n_process == 0 && compute->campaign.n_dataset > 0;
}

/* False: it found no fault. */
static bool check_dataset(const struct campaign *campaign, const struct problem_block *block,
                          struct spot *spot)
{
    const struct stiffit_model *abi = &campaign->model.abi;
    struct error ignored;
    struct check_report *report = malloc(sizeof *report);
    double *p = malloc(((size_t)abi->n_parameter + 1) * sizeof *p);
    const struct check_finding *finding = NULL;
    const struct experiment *first = &block->experiment[block->first_experiment[spot->row]];
    if (p)
        fit_model_parameters(abi, campaign->n_parameter, campaign->to_model,
                             block->start + spot->row * campaign->n_parameter,
                             first->n_substitute, first->substitute, p);
    const struct check_options options = {.seed = spot->row,
                                          .n_point = N_POINT, .p = p, .max_column = MAX_COLUMN,
                                          .only_certain = true,
                                          .covariate = first->covariate};
    if (report && p && !model_check(&campaign->model, &options, report, &ignored))
        finding = check_report_certain(report);
    if (finding)
        memcpy(spot->finding, finding->text, sizeof spot->finding);
    free(report);
    free(p);
    return finding != NULL;
}

/* The process that calls the model: sends the first fault, or nothing. */
static void check_all(const struct campaign *campaign, const struct problem_block *block,
                      int to_parent)
{
    size_t n_good = 0, n_seen = 0;
    struct spot spot = {.row = 0};
    for (size_t d = 0; d < block->n; d++)
        n_good += !block->fault[d];
    for (size_t d = 0; d < block->n; d++) { /* the first, the last, and some between them */
        if (block->fault[d])
            continue;
        size_t k = n_seen++;
        spot.row = d;
        if (n_good > N_DATASET && k % ((n_good - 1) / (N_DATASET - 1)) != 0)
            continue;
        if (check_dataset(campaign, block, &spot)) {
            ssize_t sent = write(to_parent, &spot, sizeof spot);
            (void)sent;
            return;
        }
    }
}

/* Reads the child's output. False: the time is up. */
static bool hear(struct compute *compute, int from_child, struct spot *spot, bool *found)
{
    int64_t until = clock_now_ns() + INT64_C(1000000) * MAX_MS;
    while (clock_now_ns() < until && !stop_is_requested()) {
        struct pollfd ending = {.fd = from_child, .events = POLLIN};
        counter_add(&compute->board->heartbeat, 1);
        if (poll(&ending, 1, LOOK_MS) <= 0)
            continue;
        *found = read(from_child, spot, sizeof *spot) == (ssize_t)sizeof *spot;
        return true;
    }
    return stop_is_requested();
}

static enum status check_apart(struct compute *compute, const struct problem_block *block,
                               struct error *error)
{
    const struct campaign *campaign = &compute->campaign;
    struct spot spot;
    bool found = false;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return STATUS_OK;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
        check_all(campaign, block, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    bool in_time = child < 0 || hear(compute, ends[0], &spot, &found);
    close(ends[0]);
    if (child > 0)
        kill(child, SIGKILL);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    if (!in_time)
        compute_say(compute,
                    "note: the model's derivatives could not be checked within %d s: `stiffit "
                    "model check` has no "
                    "time limit",
                    MAX_MS / 1000);
    if (!found)
        return STATUS_OK;
    const char *path = campaign->model.path ? campaign->model.path : campaign->model.abi.name;
    return error_set(error, STATUS_BAD_MODEL,
                     "%s: the model %s has wrong derivatives. Around the start of dataset "
                     "'%.100s', %.*s. Fits and standard errors would be wrong: correct the plugin "
                     "(`stiffit model check %s` lists all), or use --gradient differences",
                     problem_info(campaign->problem)->path, campaign->model.abi.name,
                     block->id[spot.row], (int)sizeof spot.finding, spot.finding, path);
}

enum status compute_spot_check(struct compute *compute, struct error *error)
{
    struct problem *problem = compute->campaign.problem;
    struct problem_block block = {.n = 0};
    if (!is_wanted(compute))
        return STATUS_OK;
    problem_select(problem, NULL, NULL);
    enum status status = problem_rewind(problem, error);
    if (!status)
        status = problem_read(problem, &block, MAX_LOOKED, MAX_ROW, error);
    if (!status)
        status = check_apart(compute, &block, error);
    problem_block_fini(&block);
    return status;
}
