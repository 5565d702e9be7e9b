/* Reads a model text from beginning to end: parse, resolve, evaluate, check. Reports here
 * concern the whole model: what is missing, and what is unused.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/text.h"

#include "base/sha256.h"
#include "model/text/parser.h"
#include "model/text/resolve.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_ASSIGNED = 1000 * 1000
}; /* values that all events assign, with those that they leave alone */

static void check_table_size(struct reading *reading)
{
    reading->too_large =
        reading->parameters.n > READING_MAX_KIND || reading->states.n > READING_MAX_KIND ||
        reading->covariates.n > READING_MAX_KIND || reading->observables.n > READING_MAX_KIND ||
        reading->inputs.n > READING_MAX_KIND || reading->events.n > READING_MAX_KIND;
    if (!reading->too_large && (uint64_t)reading->events.n * reading->states.n > MAX_ASSIGNED) {
        message_fault(&reading->source, (struct span){0, 0},
                      "the model is too large: its number of events times that of its "
                      "states is more than %d",
                      MAX_ASSIGNED);
        reading->too_large = true;
    } else if (reading->too_large)
        message_fault(&reading->source, (struct span){0, 0},
                      "the model is too large: at most %d states, parameters, "
                      "covariates, observables, inputs and events each",
                      READING_MAX_KIND);
}

static void check_whole(struct reading *reading)
{
    struct source *source = &reading->source;
    for (uint32_t i = 0; i < reading->initials.n; i++) {
        const struct stated_initial *initial = &reading->initials.item[i];
        const struct symbol *symbol = &reading->symbols.item[initial->symbol];
        if (symbol->kind == SYMBOL_STATE || (symbol->kind == SYMBOL_UNKNOWN && symbol->failed))
            continue;
        if (symbol->kind == SYMBOL_UNKNOWN &&
            token_reserved(source->text + symbol->name.offset, symbol->name.length))
            message_fault(source, initial->place,
                          "`%.*s` is a word of the language and cannot be a state",
                          SPAN_ARGUMENTS(reading, symbol->name));
        else if (symbol->kind == SYMBOL_UNKNOWN)
            message_fault(source, initial->place,
                          "`%.*s` has an initial value but no derivative: add `%.*s' = ...`",
                          SPAN_ARGUMENTS(reading, symbol->name),
                          SPAN_ARGUMENTS(reading, symbol->name));
        else
            message_fault(source, initial->place,
                          "`%.*s` is %s (line %u) and has no initial value: only states have one",
                          SPAN_ARGUMENTS(reading, symbol->name), symbol_kind_name(symbol->kind),
                          (unsigned)symbol->line);
    }
    if (reading->parameters.n == 0 && source->messages->n_error == 0)
        message_fault(source, (struct span){0, 0},
                      "there is no parameter to fit: add `parameter NAME = START`");
    if (reading->observables.n == 0 && source->messages->n_error == 0)
        message_fault(source, (struct span){0, 0},
                      "nothing is observed: add `observe NAME` for what is measured");
}

static void check_noise(struct reading *reading)
{
    uint32_t n_sd = 0;
    for (uint32_t i = 0; i < reading->observables.n; i++)
        n_sd += reading->observables.item[i].sd != NONE;
    if (n_sd == 0 || n_sd == reading->observables.n)
        return;
    for (uint32_t i = 0; i < reading->observables.n; i++) {
        const struct stated_observable *observable = &reading->observables.item[i];
        if (observable->sd == NONE)
            message_warning(&reading->source, observable->place,
                            "`%.*s` has no `sd`, while others have one: its measurements that have "
                            "no sigma count with sd 1",
                            SPAN_ARGUMENTS(reading, observable->place));
    }
}

/* The state that a user function's definition has as an argument; length 0: none. */
static struct span state_argument(const struct reading *reading, const struct symbol *function)
{
    struct lexer lexer;
    struct token token;
    token_begin(&lexer, &reading->source, NULL);
    lexer.at = function->place.offset + function->place.length;
    do {
        token_next(&lexer, &token);
        uint32_t which = token.kind == TOKEN_NAME ? symbol_find(reading, token.span) : NONE;
        if (which != NONE && reading->symbols.item[which].kind == SYMBOL_STATE)
            return token.span;
    } while (token.kind == TOKEN_OPEN || token.kind == TOKEN_NAME || token.kind == TOKEN_COMMA);
    return (struct span){0, 0};
}

/* How a property of a state is written that languages of pharmacometrics spell like a function
 * of it: `alag(depot) = tlag`. */
static const char *property_hint(const char *name, size_t length)
{
    static const struct { const char *word, *hint; } hints[] = {
        {"alag", "a lag time is `lag(STATE) = ...`"}, {"ALAG", "a lag time is `lag(STATE) = ...`"},
        {"tlag", "a lag time is `lag(STATE) = ...`"}, {"Tlag", "a lag time is `lag(STATE) = ...`"},
        {"f", "a bioavailability is `bioavailability(STATE) = ...`"},
        {"F", "a bioavailability is `bioavailability(STATE) = ...`"},
        {"dur", "the duration of infusions is `duration(STATE) = ...`"}};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strlen(hints[i].word) == length && !memcmp(hints[i].word, name, length))
            return hints[i].hint;
    return "a lag time is `lag(STATE) = ...`, a bioavailability `bioavailability(STATE) = ...`";
}

static void check_unused_function(struct reading *reading, const struct symbol *function)
{
    struct span state = state_argument(reading, function);
    if (state.length)
        message_warning(&reading->source, function->place,
                        "`%.*s(%.*s) = ...` defines a function that nothing uses, and does not "
                        "affect the state `%.*s`: %s",
                        SPAN_ARGUMENTS(reading, function->name), SPAN_ARGUMENTS(reading, state),
                        SPAN_ARGUMENTS(reading, state),
                        property_hint(reading->source.text + function->name.offset,
                                      function->name.length));
    else
        message_warning(&reading->source, function->place,
                        "nothing that is computed uses `%.*s`, a function",
                        SPAN_ARGUMENTS(reading, function->name));
}

static void check_unused(struct reading *reading)
{
    check_noise(reading);
    for (uint32_t i = 0; i < reading->symbols.n; i++) {
        const struct symbol *symbol = &reading->symbols.item[i];
        if (symbol->used || symbol->kind == SYMBOL_UNKNOWN || symbol->kind == SYMBOL_STATE ||
            symbol->kind == SYMBOL_EVENT || symbol->kind == SYMBOL_COVARIATE)
            continue;
        if (symbol->kind == SYMBOL_FUNCTION)
            check_unused_function(reading, symbol);
        else
            message_warning(&reading->source, symbol->place,
                            "nothing that is computed uses `%.*s`, %s%s",
                            SPAN_ARGUMENTS(reading, symbol->name), symbol_kind_name(symbol->kind),
                            symbol->kind == SYMBOL_PARAMETER ? ": it cannot be estimated" : "");
    }
}

/* A first error does not suppress later ones: later steps skip what failed. */
static struct equations *read_all(struct reading *reading, const char *origin)
{
    static void (*const steps[])(struct reading *) = {parser_run,    check_table_size,
                                                      resolve_names, resolve_order,
                                                      resolve_roles, resolve_use};
    struct source *source = &reading->source;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !reading_is_over(reading); i++)
        steps[i](reading);
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

static enum status report(const struct text_messages *messages, const char *origin,
                          struct error *error)
{
    const struct text_message *first = NULL;
    for (size_t i = 0; !first && i < messages->n_message; i++)
        first = messages->message[i].is_error ? &messages->message[i] : NULL;
    char more[60] = "", place[60] = "";
    if (messages->n_error > 1)
        snprintf(more, sizeof more, " (and %zu more error%s)", messages->n_error - 1,
                 messages->n_error > 2 ? "s" : "");
    if (first && first->line)
        snprintf(place, sizeof place, "%u:%u: ", (unsigned)first->line, (unsigned)first->column);
    return error_set(error, STATUS_BAD_MODEL, "%s:%s%s%s%s", origin,
                     first && first->line ? "" : " ", place,
                     first ? first->text : "the text has errors", more);
}

enum status text_parse(const char *text, size_t n_byte, const char *origin,
                       struct equations **equations, struct text_messages *messages,
                       struct error *error)
{
    *equations = NULL;
    if (n_byte > TEXT_MAX_BYTES)
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: the model is too large: %zu bytes; at most %zu are supported", origin,
                         n_byte, TEXT_MAX_BYTES);
    char *source = malloc(n_byte + 1);
    if (!source)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the model '%s'", origin);
    memcpy(source, text, n_byte);
    source[n_byte] = '\0';
    struct reading reading = {
        .source = {.text = source, .n_byte = (uint32_t)n_byte, .messages = messages}};
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

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n >= m && strcmp(name + n - m, suffix) == 0;
}

/* The word at `text` and a blank behind it. */
static bool begins_with_word(const char *text, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - text) > n && memcmp(text, word, n) == 0 &&
           (text[n] == ' ' || text[n] == '\t');
}

/* Whether some statement begins with the word: after the beginning, the end of a line or a
 * semicolon, outside comments. */
static bool has_statement(const char *text, const char *end, const char *word)
{
    while (text < end) {
        while (text < end && (*text == ' ' || *text == '\t'))
            text++;
        if (begins_with_word(text, end, word))
            return true;
        while (text < end && *text != '\n' && *text != ';') {
            bool comment = *text == '#' || (*text == '/' && text + 1 < end && text[1] == '/');
            while (comment && text + 1 < end && text[1] != '\n')
                text++;
            text++;
        }
        text++;
    }
    return false;
}

bool kind_is_model_text(const void *bytes, size_t n_byte, const char *name)
{
    static const char *const other[] = {".c", ".h", ".cc", ".cpp", ".so", ".h5"};
    const char *text = bytes, *end = text + n_byte;
    if (n_byte >= 4 && memcmp(bytes, "\177ELF", 4) == 0)
        return false;
    if (has_suffix(name, ".ode"))
        return true;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (has_suffix(name, other[i]))
            return false;
    if (n_byte == 0 || memchr(bytes, 0, n_byte))
        return false;
    return has_statement(text, end, "observe") &&
           (has_statement(text, end, "parameter") || has_statement(text, end, "par"));
}

bool kind_text_is_named(const char *text, size_t n_byte)
{
    return has_statement(text, text + n_byte, "model");
}
