/* Checks before submission: that a shard or a rank would run, that existing files belong to this
 * run, and which shards remain. Separate because it opens the problem and the model, as a shard
 * will.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/submit.h"

#include "cli/command.h"
#include "cli/model_text.h"
#include "io/result/result.h"
#include "run/finish/summary.h"
#include "run/merge/shard_set.h"
#include "run/plan/campaign.h"
#include "run/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_say(void *context, const char *line)
{
    if (!((const struct run_options *)context)->shown.quiet)
        message_say("%s", line);
}

static void on_show(void *context, const struct text_messages *messages, const char *text,
                    size_t n_byte, const char *origin)
{
    enum when color = ((const struct run_options *)context)->shown.color;
    model_text_show(&color, messages, text, n_byte, origin);
}

/* The selection of shard k: "shard=k/K", then the rest of another shard's selection. */
static void name_shard(struct run_identity *identity, const char *other, int64_t k, int64_t n)
{
    snprintf(identity->selection, sizeof identity->selection, "shard=%lld/%lld%.100s", (long long)k,
             (long long)n, other + strcspn(other, " "));
}

/* *is_stale: the journal belongs to another run; `difference` says which. */
static enum status look_at_journal(const char *path, const struct run_identity *identity,
                                   bool *is_stale, char *difference, size_t size,
                                   struct error *error)
{
    struct journal_reader *reader = NULL;
    enum status status = journal_read(&reader, path, NULL, error);
    const struct run_identity *found = status ? NULL : journal_identity(reader);
    *is_stale = found && !identity_equal(found, identity);
    if (*is_stale)
        identity_difference(found, identity, difference, size);
    journal_reader_free(reader);
    return status;
}

/* A result or journal of another run in the place of this shard's would make the shard fail in a
 * job that nobody watches. */
static enum status check_shard(const char *path, const char *journal,
                               const struct run_identity *identity, bool *is_there,
                               struct error *error)
{
    struct result *result = NULL;
    char difference[900];
    bool is_stale = false;
    *is_there = access(path, F_OK) == 0;
    enum status status = *is_there ? result_open(&result, path, error)
                                   : look_at_journal(journal, identity, &is_stale, difference,
                                                     sizeof difference, error);
    if (!status && is_stale)
        status = error_set(error, STATUS_SYSTEM,
                           "%s: is the journal of another run (%s). Remove it, or fit all shards "
                           "again with --overwrite",
                           journal, difference);
    if (!status && *is_there && !identity_equal(&result_info(result)->identity, identity))
        status = error_set(error, STATUS_SYSTEM,
                           "%s: holds the result of another run (%s). Remove it, or fit all shards "
                           "again with --overwrite",
                           path,
                           identity_difference(&result_info(result)->identity, identity, difference,
                                               sizeof difference));
    result_close(result);
    return status;
}

static enum status check_shards(struct submission *plan, const struct run_identity *identity,
                                struct error *error)
{
    struct run_identity shard = *identity;
    char difference[900];
    enum status status = STATUS_OK;
    plan->wanted = calloc((size_t)plan->n_shard, sizeof *plan->wanted);
    plan->stale = calloc((size_t)plan->n_shard, sizeof *plan->stale);
    if (!plan->wanted || !plan->stale)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %lld shards",
                         (long long)plan->n_shard);
    for (int64_t k = 1; k <= plan->n_shard && !status; k++) {
        char *path = shard_result_path(plan->problem, (uint32_t)k, (uint32_t)plan->n_shard);
        char *journal = shard_journal_path(plan->problem, (uint32_t)k, (uint32_t)plan->n_shard);
        bool is_there = false;
        name_shard(&shard, identity->selection, k, plan->n_shard);
        if (!path || !journal)
            status = error_set(error, STATUS_NO_MEMORY, "out of memory for the paths of shards");
        else if (!plan->overwrite)
            status = check_shard(path, journal, &shard, &is_there, error);
        else
            status = look_at_journal(journal, &shard, &plan->stale[k - 1], difference,
                                     sizeof difference, error);
        plan->wanted[k - 1] = !is_there;
        plan->n_wanted += !is_there;
        free(path);
        free(journal);
    }
    return status;
}

/* Checks the result of the merge or of the ranks: complete, in the way, or absent. */
static enum status check_whole(struct submission *plan, struct run_identity whole,
                               struct error *error)
{
    struct run_summary summary = {.result_path = NULL};
    struct run_paths paths = {.problem = plan->problem, .overwrite = plan->overwrite};
    const struct selection_request everything = {.only = NULL};
    char difference[900];
    bool is_stale = false;
    enum status status =
        run_paths_init(&paths, plan->result[0] ? plan->result : NULL, &everything, error);
    whole.selection[0] = '\0';
    if (!status)
        status = summary_look(&paths, &whole, &summary, error);
    plan->is_complete = summary.already_complete;
    if (!status && plan->n_rank)
        status =
            look_at_journal(paths.journal, &whole, &is_stale, difference, sizeof difference, error);
    if (!status && is_stale)
        status =
            error_set(error, STATUS_SYSTEM, "%s: is the journal of another run (%s). Remove it",
                      paths.journal, difference);
    run_summary_fini(&summary);
    run_paths_fini(&paths);
    return status;
}

/* Parses the words of a shard or rank as its run will. */
static enum status parse(const struct submission *plan, const char *shard,
                         struct run_options *options, struct error *error)
{
    bool help;
    size_t n = (size_t)plan->n_run_option;
    char **words = calloc(n + 3, sizeof *words);
    if (!words)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the options of shards");
    words[0] = plan->problem;
    memcpy(words + 1, plan->run_option, n * sizeof *words);
    if (!plan->n_rank) {
        words[++n] = (char *)(uintptr_t)"--shard";
        words[++n] = (char *)(uintptr_t)shard;
    }
    enum status status = run_options_parse(options, (int)n + 1, words, &help, error);
    free(words); /* what they point to stays */
    if (!status && options->output) /* -qo FILE */
        status = error_set(error, STATUS_USAGE,
                           "-o: give it by itself, not combined with other letters");
    return status;
}

enum status submit_check(struct submission *plan, struct error *error)
{
    struct campaign campaign = {.problem = NULL};
    struct board board = {0};
    struct run_options options;
    const struct run_hooks hooks = {.say = on_say, .show = on_show, .context = &options};
    char shard[40];
    snprintf(shard, sizeof shard, "1/%lld", (long long)plan->n_shard);
    enum status status = parse(plan, shard, &options, error);
    if (!status)
        status = campaign_open(&campaign, &options, &board, &hooks, error);
    plan->n_dataset = campaign.n_dataset;
    if (!status && plan->n_rank && !campaign_is_shared(&campaign))
        status = error_set(error, STATUS_USAGE,
                           "--ranks: these fits are independent of each other, as no parameter is "
                           "shared (--share): use --shards %lld",
                           (long long)plan->n_rank);
    if (!status && !plan->n_rank)
        status = check_shards(plan, &campaign.plan.identity, error);
    if (!status)
        status = check_whole(plan, campaign.plan.identity, error);
    campaign_fini(&campaign);
    return status;
}
