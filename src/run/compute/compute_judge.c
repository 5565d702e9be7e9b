/* Handles the death of an earlier compute process: journals its guilty fits and informs the user
 * before the others continue.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute.h"

#include "base/arena.h"
#include "run/supervise/suspects.h"

#include <stdio.h>
#include <string.h>

/* Deaths that are reported one by one; the default of --max-crashes; and a smaller one that holds
 * until a fit has finished, for fits that hang, because each of these costs a minute. */
enum { MAX_TOLD = 5, MAX_CRASHES = 100, MAX_FIRST_HUNG = 3, NAME_SIZE = 120 };

static bool has_ended(const void *context, uint64_t fit) { return journal_has(context, fit); }

/* "well-17", "well-17 (start 3)" */
static void name_fit(struct compute *compute, uint64_t fit, char name[NAME_SIZE])
{
    const struct campaign *campaign = &compute->campaign;
    struct arena arena = {0};
    struct error ignored;
    uint64_t dataset = fit / campaign->n_task, task = fit % campaign->n_task;
    char *id = NULL;
    if (problem_read_ids(campaign->problem, dataset, 1, &arena, &id, &ignored) || !id)
        snprintf(name, NAME_SIZE, "dataset %llu", (unsigned long long)dataset);
    else
        snprintf(name, NAME_SIZE, "%.60s", id);
    arena_fini(&arena);
    size_t used = strlen(name);
    bool is_refit = task >= campaign->n_start;
    if (task)
        snprintf(name + used, NAME_SIZE - used, " (%s %llu)", is_refit ? "refit" : "start",
                 (unsigned long long)(is_refit ? task - campaign->n_start : task));
    for (char *c = name; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

static void tell_suspects(struct compute *compute, const struct death *death)
{
    char name[NAME_SIZE];
    if (death->n_put_off == 0) {
        compute_say(compute,
                    "the computing process died (%s) while no fit was under way; a new one "
                    "continues",
                    death->how);
        return;
    }
    name_fit(compute, death->put_off, name);
    compute_say(compute,
                "the computing process died (%s) with %zu fit%s under way, %s%s; %s tried again, "
                "alone, when the others are done",
                death->how, death->n_put_off, death->n_put_off == 1 ? "" : "s", name,
                death->n_put_off == 1 ? "" : " among them",
                death->n_put_off == 1 ? "it is" : "they are");
}

static enum status too_many(struct compute *compute, const char *example, const char *reason,
                            struct error *error)
{
    return error_set(error, STATUS_BAD_MODEL,
                     "%s: %llu fits have crashed the model or hung, more than --max-crashes "
                     "allows. The latest is %s: %s. Check the model with `stiffit model check`; "
                     "with a larger --max-crashes the same command continues",
                     problem_info(compute->campaign.problem)->path,
                     (unsigned long long)suspects_n_guilty(compute->board), example, reason);
}

static enum status journal_guilty(struct compute *compute, const struct death *death,
                                  const struct board_slots *slots, char *example, char *reason,
                                  struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    enum status status = STATUS_OK;
    uint64_t n_told = compute->board->n_guilty - death->n_guilty;
    for (size_t i = 0; !status && i < death->n_guilty; i++, n_told++) {
        uint64_t fit = death->guilty[i];
        name_fit(compute, fit, example);
        suspects_reason(death, board_slot(slots, death->slot[i]),
                        problem_parameter_name(campaign->problem), campaign->n_parameter, reason);
        status =
            compute_journal_failure(compute, fit / campaign->n_task,
                                    (uint32_t)(fit % campaign->n_task),
                                    death->hung ? OUTCOME_timeout : OUTCOME_crashed, reason, error);
        if (n_told < MAX_TOLD)
            compute_say(compute, "%s: %s: %s; %s", example,
                        death->hung ? "hung" : "the model crashed", reason,
                        !campaign_is_shared(campaign) ? "the others continue"
                        : campaign->share.leaves_out  ? "the others go on without it"
                                                      : "this ends the fit of all datasets that "
                                                       "share parameters with it");
        else if (n_told == MAX_TOLD)
            compute_say(compute, "more fits crash or hang: the summary will count them");
    }
    return status;
}

static uint64_t n_allowed(const struct compute *compute, const struct death *death)
{
    if (compute->options->max_crashes >= 0)
        return (uint64_t)compute->options->max_crashes;
    return death->hung && counter_get(&compute->board->n_finished) == 0 ? MAX_FIRST_HUNG
                                                                        : MAX_CRASHES;
}

enum status compute_judge(struct compute *compute, struct error *error)
{
    char example[NAME_SIZE] = "", reason[SUSPECTS_REASON] = "";
    struct board *board = compute->board;
    struct board_slots slots = {.memory = NULL};
    struct death *death = &compute->death;
    enum status status = STATUS_OK;
    if (!board->died)
        return STATUS_OK;
    board_slots_look(board, &slots);
    if (!suspects_judge(board, &slots, has_ended, compute->earlier, death)) {
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu workers", slots.n);
    } else if (death->n_guilty) {
        status = journal_guilty(compute, death, &slots, example, reason, error);
    } else {
        if (board->n_group_death <= MAX_TOLD)
            tell_suspects(compute, death);
        snprintf(reason, sizeof reason, "%s", death->how);
        char name[NAME_SIZE];
        if (death->n_put_off)
            name_fit(compute, death->put_off, name);
        if (death->n_put_off == 1)
            snprintf(example, sizeof example, "%s", name);
        else if (death->n_put_off)
            snprintf(example, sizeof example, "%s or another of %zu at once", name,
                     death->n_put_off);
    }
    if (!status && suspects_n_guilty(board) > n_allowed(compute, death) && example[0])
        status = too_many(compute, example, reason, error);
    board_slots_fini(&slots);
    return status;
}
