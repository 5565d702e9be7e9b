/* Names of a model text: a hash table of symbols, their kinds, and guesses for misspelt names.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/random.h"
#include "base/words.h"
#include "model/text/resolve.h"

#include <stdlib.h>
#include <string.h>

bool reading_is_over(const struct reading *reading)
{
    return reading->source.no_memory || reading->too_large;
}

void *reading_grow(struct reading *reading, void *item, uint32_t *capacity, size_t size,
                   uint32_t most)
{
    if (*capacity >= most) {
        if (!reading->too_large)
            message_fault(&reading->source, (struct span){0, 0},
                          "the model is too large: at most %d names and %d numbers, names and "
                          "signs in formulas",
                          READING_MAX_SYMBOL, READING_MAX_CODE);
        reading->too_large = true;
        return item;
    }
    uint32_t wanted = *capacity ? 2 * *capacity : 64, more = wanted < most ? wanted : most;
    void *longer = realloc(item, more * size);
    if (!longer) {
        reading->source.no_memory = true;
        return item;
    }
    *capacity = more;
    return longer;
}

void reading_fini(struct reading *reading)
{
    free(reading->symbols.item);
    free(reading->slot);
    free(reading->code.item);
    free(reading->formulas.item);
    free(reading->states.item);
    free(reading->initials.item);
    free(reading->parameters.item);
    free(reading->covariates.item);
    free(reading->inputs.item);
    free(reading->dosings.item);
    free(reading->events.item);
    free(reading->assignments.item);
    free(reading->observables.item);
    free(reading->order.item);
}

static uint64_t hash(const struct reading *reading, struct span name)
{
    uint64_t key[2], sum;
    memcpy(key, reading->key, sizeof key);
    sum = key[1];
    const char *p = reading->source.text + name.offset;
    for (uint32_t at = 0; at < name.length; at += 8) {
        uint64_t piece = 0;
        memcpy(&piece, p + at, name.length - at < 8 ? name.length - at : 8);
        sum = random_bits(key[0], sum, piece);
    }
    return random_bits(key[0], sum, name.length);
}

/* The slot of the name, used or free. */
static uint32_t *find_slot(const struct reading *reading, struct span name)
{
    const char *text = reading->source.text;
    uint32_t mask = reading->n_slot - 1;
    for (uint32_t i = (uint32_t)hash(reading, name) & mask;; i = (i + 1) & mask) {
        uint32_t which = reading->slot[i];
        if (which == NONE)
            return &reading->slot[i];
        struct span other = reading->symbols.item[which].name;
        if (other.length == name.length &&
            !memcmp(text + other.offset, text + name.offset, name.length))
            return &reading->slot[i];
    }
}

uint32_t symbol_find(const struct reading *reading, struct span name)
{
    return reading->n_slot ? *find_slot(reading, name) : NONE;
}

static bool widen(struct reading *reading)
{
    uint32_t n = reading->n_slot ? 2 * reading->n_slot : 256;
    uint32_t *slot = malloc(n * sizeof *slot);
    if (!slot) {
        reading->source.no_memory = true;
        return false;
    }
    memset(slot, 0xff, n * sizeof *slot); /* NONE everywhere */
    free(reading->slot);
    reading->slot = slot;
    reading->n_slot = n;
    for (uint32_t i = 0; i < reading->symbols.n; i++)
        *find_slot(reading, reading->symbols.item[i].name) = i;
    return true;
}

uint32_t symbol_of(struct reading *reading, struct span name)
{
    if (2 * reading->symbols.n >= reading->n_slot && !widen(reading))
        return NONE;
    uint32_t *slot = find_slot(reading, name);
    if (*slot != NONE)
        return *slot;
    struct symbol *symbol = list_add(reading, &reading->symbols, READING_MAX_SYMBOL);
    if (!symbol)
        return NONE;
    symbol->name = name;
    symbol->formula = symbol->initial = symbol->state = NONE;
    return *slot = reading->symbols.n - 1;
}

const char *symbol_kind_name(enum symbol_kind kind)
{
    static const char *const names[] = {"unknown",     "a parameter", "a constant",
                                        "a covariate", "a state",     "an intermediate",
                                        "a function",  "an input",    "an event"};
    return names[kind];
}

void symbol_excuse(struct reading *reading, struct span name)
{
    uint32_t which = symbol_of(reading, name);
    if (which != NONE && reading->symbols.item[which].kind == SYMBOL_UNKNOWN)
        reading->symbols.item[which].failed = true;
}

bool symbol_define(struct reading *reading, uint32_t which, enum symbol_kind kind,
                   struct span place, uint32_t line)
{
    struct symbol *symbol = &reading->symbols.item[which];
    if (token_reserved(reading->source.text + symbol->name.offset, symbol->name.length)) {
        symbol->failed = true;
        message_fault(&reading->source, place,
                      "`%.*s` is a word of the language and cannot be defined: choose another name",
                      SPAN_ARGUMENTS(reading, symbol->name));
        return false;
    }
    if (symbol->kind != SYMBOL_UNKNOWN) {
        message_fault(&reading->source, place, "`%.*s` is defined twice: it is %s since line %u",
                      SPAN_ARGUMENTS(reading, symbol->name), symbol_kind_name(symbol->kind),
                      (unsigned)symbol->line);
        return false;
    }
    if (symbol->name.length > TOKEN_MAX_NAME)
        message_fault(&reading->source, place, "this name is longer than %d characters",
                      TOKEN_MAX_NAME);
    symbol->failed = symbol->name.length > TOKEN_MAX_NAME;
    symbol->kind = (uint8_t)kind;
    symbol->place = place;
    symbol->line = line;
    return true;
}

/* Limits a search to this many characters squared (some twenty thousand names of usual length),
 * so that many mistakes in a large model take little time. */
enum { MAX_WORK = 2000000, BATCH = 256 };

struct search {
    struct name_text name, best;
    struct name_text text[BATCH];
    const char *candidate[BATCH + 1];
    size_t n, n_work;
};

static void choose(struct search *search)
{
    search->candidate[search->n] = search->best.text; /* the best so far competes again */
    const char *found = nearest_name(search->name.text, search->candidate, search->n + 1);
    struct name_text best = search->best;
    if (found)
        memcpy(best.text, found, strlen(found) + 1);
    search->best = best;
    search->n = 0;
}

static void add_candidate(struct search *search, const char *name, uint32_t length)
{
    size_t n_name = strlen(search->name.text), limit = 1 + n_name / 4;
    bool begins = !strncmp(name, search->name.text, length < n_name ? length : n_name);
    if (n_name == 1 && (name[0] | 0x20) != (search->name.text[0] |
                                            0x20)) /* all single letters are near each other */
        return;
    if (length > READING_SHOWN_NAME ||
        (!begins && (length > n_name + limit || length + limit < n_name)))
        return;
    search->n_work += n_name * length;
    memcpy(search->text[search->n].text, name, length);
    search->text[search->n].text[length] = '\0';
    search->candidate[search->n] = search->text[search->n].text;
    if (++search->n == BATCH)
        choose(search);
}

struct name_text symbol_nearest(const struct reading *reading, struct span name, enum sought sought)
{
    struct search search = {0};
    /* begin statements, but are not reserved */
    static const char *const free_words[] = {"input", "event"};
    bool function = sought == SEEK_FUNCTION, statement = sought == SEEK_STATEMENT;
    const struct reserved *word;
    if (name.length > READING_SHOWN_NAME)
        return search.best;
    memcpy(search.name.text, reading->source.text + name.offset, name.length);
    for (uint32_t i = 0; !statement && i < reading->symbols.n && search.n_work < MAX_WORK; i++) {
        const struct symbol *symbol = &reading->symbols.item[i];
        if (symbol->kind != SYMBOL_UNKNOWN && (symbol->kind == SYMBOL_FUNCTION) == function)
            add_candidate(&search, reading->source.text + symbol->name.offset, symbol->name.length);
    }
    for (size_t i = 0; (word = token_reserved_at(i)); i++)
        if (statement  ? word->word >= WORD_MODEL && word->word <= WORD_OBSERVE
            : function ? token_is_function(word)
                       : word->word == WORD_NUMBER || word->word == WORD_TIME_STATEMENT)
            add_candidate(&search, word->name, (uint32_t)strlen(word->name));
    for (size_t i = 0; statement && i < sizeof free_words / sizeof *free_words; i++)
        add_candidate(&search, free_words[i], (uint32_t)strlen(free_words[i]));
    choose(&search);
    return search.best;
}
