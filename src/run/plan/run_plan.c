/* Options as bytes; and plans: the options, the header of the result, the bits of the selection.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/run_plan.h"

#include "base/cursor.h"
#include "io/journal/journal.h"
#include "run/supervise/board.h"

#include <stdlib.h>
#include <string.h>

void run_plan_fini(struct run_plan *plan)
{
    refit_plan_fini(&plan->refits);
    selection_fini(&plan->selection);
    run_paths_fini(&plan->paths);
    arena_fini(&plan->arena);
}

/* Goes over all options. */
static void pass_options(struct cursor *cursor, struct run_options *options)
{
    const uint32_t layout = option_layout(run_options_table());
    uint32_t found = layout;
    FIELD(found);
    cursor->is_bad = cursor->is_bad || found != layout; /* of another program */
    option_pass(cursor, run_options_table(), options);
    FIELD(options->select.shard);
    FIELD(options->given);
    pass_text(cursor, &options->problem);
    pass_text(cursor, &options->command_line);
}

unsigned char *run_options_bytes(const struct run_options *options, size_t *n)
{
    struct run_options copy = *options;
    struct cursor count = {.to = NULL}, out = {.to = NULL};
    pass_options(&count, &copy);
    out.to = malloc(count.at);
    if (out.to)
        pass_options(&out, &copy);
    *n = out.at;
    return out.to;
}

bool run_options_take(struct run_options *options)
{
    struct cursor in = {.n = 0};
    *options = run_options_default;
    unsigned char *bytes = board_offered(&in.n);
    in.from = bytes;
    if (bytes)
        pass_options(&in, options);
    options->memory = bytes;
    return bytes && !in.is_bad && in.at == in.n;
}

/* n texts. When they are read, the pointers are in `arena`. */
static void pass_texts(struct cursor *cursor, const char *const **texts, size_t n,
                       struct arena *arena)
{
    const char **read = NULL;
    if (cursor->from) {
        cursor->is_bad = cursor->is_bad || n > cursor->n;
        read = cursor->is_bad ? NULL : arena_calloc(arena, n + 1, sizeof *read);
        cursor->is_bad = !read;
        *texts = read;
    }
    for (size_t i = 0; i < n && !cursor->is_bad; i++) {
        const char *text = read ? NULL : (*texts)[i];
        pass_text(cursor, &text);
        if (read)
            read[i] = text ? text : "";
    }
}

static void pass_header(struct cursor *cursor, struct result_header *header, struct arena *arena)
{
    FIELD(header->n_parameter);
    FIELD(header->provenance.n);
    pass_texts(cursor, &header->parameter_name, header->n_parameter, arena);
    pass_texts(cursor, &header->parameter_scale, header->n_parameter, arena);
    pass_texts(cursor, &header->parameter_unit, header->n_parameter, arena);
    pass_text(cursor, &header->objective_kind);
    pass_texts(cursor, &header->provenance.name, header->provenance.n, arena);
    pass_texts(cursor, &header->provenance.value, header->provenance.n, arena);
}

static size_t n_bit_byte(uint64_t n_dataset) { return (size_t)(n_dataset / 8 + 1); }

static void pass(struct cursor *cursor, const struct run_plan *plan, struct run_options *options,
                 struct result_header *header)
{
    pass_options(cursor, options);
    pass_header(cursor, header, NULL);
    if (plan->selection.bit)
        pass_over(cursor, plan->selection.bit, n_bit_byte(plan->selection.n_dataset));
}

unsigned char *run_plan_encode(const struct run_plan *plan, const struct run_options *options,
                               const struct result_header *header, size_t *n)
{
    struct run_options copy = *options;
    struct result_header parts = *header;
    struct cursor count = {.to = NULL}, out = {.to = NULL};
    pass(&count, plan, &copy, &parts);
    out.to = malloc(count.at);
    if (out.to)
        pass(&out, plan, &copy, &parts);
    *n = out.at;
    return out.to;
}

static enum status take_selection(struct run_plan *plan, struct cursor *in, struct error *error)
{
    const struct run_identity *identity = &plan->identity;
    struct selection *selection = &plan->selection;
    size_t n = n_bit_byte(identity->n_dataset);
    *selection = (struct selection){.n_dataset = identity->n_dataset, .n = identity->n_dataset};
    if (!identity->selection[0])
        return STATUS_OK;
    unsigned char *bit = n <= in->n - in->at ? malloc(n) : NULL;
    if (!bit)
        return error_set(error, STATUS_SYSTEM, "%s: the plan in it is damaged, or memory is short",
                         plan->paths.journal);
    pass_over(in, bit, n);
    selection_narrow(selection, bit, identity->selection);
    return STATUS_OK;
}

enum status run_plan_read(struct run_plan *plan, const struct journal_reader *journal,
                          const char *directory, struct error *error)
{
    struct run_options options = run_options_default;
    struct cursor in = {.n = 0};
    *plan = (struct run_plan){.arena = {.first = NULL}};
    const unsigned char *bytes = journal_plan(journal, &in.n);
    if (!bytes)
        return error_set(error, STATUS_SYSTEM, "'%s': there is no plan of a run in it",
                         directory);
    unsigned char *copy = arena_alloc(&plan->arena, in.n); /* the texts are in it */
    if (!copy)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the plan of the run");
    memcpy(copy, bytes, in.n);
    in.from = copy;
    plan->identity = *journal_identity(journal);
    pass_options(&in, &options);
    pass_header(&in, &plan->header, &plan->arena);
    if (in.is_bad || plan->header.n_parameter != plan->identity.n_parameter)
        return error_set(error, STATUS_SYSTEM,
                         "'%s': the plan in it was written by another version of stiffit: the same "
                         "command makes it anew",
                         directory);
    plan->header.identity = plan->identity;
    plan->recipe = options.recipe;
    plan->shown = options.shown;
    enum status status = run_options_paths(&options, &plan->paths, error);
    return status ? status : take_selection(plan, &in, error);
}
