/* Reading a model text from end to end: parse, resolve, evaluate, check.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/text.h"

#include "base/sha256.h"
#include "model/text/parser.h"
#include "model/text/resolve.h"

#include <stdlib.h>
#include <string.h>

/* Everything that a first error can keep from being said is said all the same: later steps pass over what failed. */
static struct equations *read_all(struct reading *reading, const char *origin)
{
    struct source *source = &reading->source;
    parser_run(reading);
    if (!reading_is_over(reading))
        check_table_size(reading);
    if (!reading_is_over(reading))
        resolve_names(reading);
    if (!reading_is_over(reading))
        resolve_order(reading);
    if (!reading_is_over(reading))
        resolve_roles(reading);
    if (!reading_is_over(reading))
        resolve_use(reading);
    struct equations *equations = reading_is_over(reading) ? NULL : equate(reading, origin);
    if (!reading_is_over(reading))
        check_whole(reading);
    struct error error;
    if (equations && equations->graph && !source->no_memory) {
        enum status status = graph_status(equations->graph, &error);
        if (status == STATUS_NO_MEMORY)
            source->no_memory = true;
        else if (status != STATUS_OK)
            message_fault(source, (struct span){0, 0}, "%s", error.message);
    }
    if (!reading_is_over(reading) && source->messages->n_error == 0)
        check_unused(reading);
    return equations;
}

static enum status report(const struct text_messages *messages, const char *origin, struct error *error)
{
    const struct text_message *first = NULL;
    for (size_t i = 0; !first && i < messages->n_message; i++)
        first = messages->message[i].is_error ? &messages->message[i] : NULL;
    char more[60] = "", place[60] = "";
    if (messages->n_error > 1)
        snprintf(more, sizeof more, " (and %zu more error%s)", messages->n_error - 1, messages->n_error > 2 ? "s" : "");
    if (first && first->line)
        snprintf(place, sizeof place, "%u:%u: ", (unsigned)first->line, (unsigned)first->column);
    return error_set(error, STATUS_BAD_MODEL, "%s:%s%s%s%s", origin, first && first->line ? "" : " ", place,
                     first ? first->text : "the text has errors", more);
}

enum status text_parse(const char *text, size_t n_byte, const char *origin, struct equations **equations,
                       struct text_messages *messages, struct error *error)
{
    *equations = NULL;
    if (n_byte > TEXT_MAX_BYTES)
        return error_set(error, STATUS_BAD_MODEL, "%s: the model is too large: %zu bytes, and %zu can be read", origin,
                         n_byte, TEXT_MAX_BYTES);
    char *source = malloc(n_byte + 1);
    if (!source)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the model '%s'", origin);
    memcpy(source, text, n_byte);
    source[n_byte] = '\0';
    struct reading reading = {.source = {.text = source, .n_byte = (uint32_t)n_byte, .messages = messages}};
    sha256_of(source, n_byte, reading.key);
    struct equations *made = read_all(&reading, origin);
    message_sort(messages);
    bool no_memory = reading.source.no_memory;
    reading_fini(&reading);
    if (!no_memory && messages->n_error == 0 && made) {
        made->source = source;
        *equations = made;
        return STATUS_OK;
    }
    equations_free(made);
    free(source);
    if (no_memory)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the model '%s'", origin);
    return report(messages, origin, error);
}
