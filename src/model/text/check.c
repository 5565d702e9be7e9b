/* What can be said of a model as a whole: what is missing, what has no use.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/resolve.h"

void check_table_size(struct reading *reading)
{
    reading->too_large = reading->parameters.n > READING_MAX_KIND || reading->states.n > READING_MAX_KIND ||
                         reading->covariates.n > READING_MAX_KIND || reading->observables.n > READING_MAX_KIND;
    if (reading->too_large)
        message_fault(&reading->source, (struct span){0, 0}, "the model is too large: at most %d states, parameters, "
                      "covariates and observables each", READING_MAX_KIND);
}

void check_whole(struct reading *reading)
{
    struct source *source = &reading->source;
    for (uint32_t i = 0; i < reading->initials.n; i++) {
        const struct stated_initial *initial = &reading->initials.item[i];
        const struct symbol *symbol = &reading->symbols.item[initial->symbol];
        if (symbol->kind == SYMBOL_STATE || (symbol->kind == SYMBOL_UNKNOWN && symbol->failed))
            continue;
        if (symbol->kind == SYMBOL_UNKNOWN && token_reserved(source->text + symbol->name.offset, symbol->name.length))
            message_fault(source, initial->place, "`%.*s` is a word of the language and cannot be a state",
                          SPAN_ARGUMENTS(reading, symbol->name));
        else if (symbol->kind == SYMBOL_UNKNOWN)
            message_fault(source, initial->place, "`%.*s` has an initial value but no derivative: add `%.*s' = ...`",
                          SPAN_ARGUMENTS(reading, symbol->name), SPAN_ARGUMENTS(reading, symbol->name));
        else
            message_fault(source, initial->place,
                          "`%.*s` is %s (line %u) and has no initial value: only states have one",
                          SPAN_ARGUMENTS(reading, symbol->name), symbol_kind_name(symbol->kind),
                          (unsigned)symbol->line);
    }
    if (reading->parameters.n == 0 && source->messages->n_error == 0)
        message_fault(source, (struct span){0, 0}, "there is no parameter to fit: add `parameter NAME = START`");
    if (reading->observables.n == 0 && source->messages->n_error == 0)
        message_fault(source, (struct span){0, 0}, "nothing is observed: add `observe NAME` for what is measured");
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
                            "`%.*s` has no `sd`, while others have one: measurements without a sigma of their own "
                            "count with sd 1 there", SPAN_ARGUMENTS(reading, observable->place));
    }
}

void check_unused(struct reading *reading)
{
    check_noise(reading);
    for (uint32_t i = 0; i < reading->symbols.n; i++) {
        const struct symbol *symbol = &reading->symbols.item[i];
        if (symbol->used || symbol->kind == SYMBOL_UNKNOWN || symbol->kind == SYMBOL_STATE ||
            symbol->kind == SYMBOL_FUNCTION)
            continue;
        message_warning(&reading->source, symbol->place, "nothing that is computed needs `%.*s`, %s%s",
                        SPAN_ARGUMENTS(reading, symbol->name), symbol_kind_name(symbol->kind),
                        symbol->kind == SYMBOL_PARAMETER ? ": it cannot be estimated" : "");
    }
}
