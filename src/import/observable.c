/* SPDX-License-Identifier: BSD-3-Clause */
#include "import/observable.h"

#include "base/values.h"
#include "base/words.h"
#include "model/plugin.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int import_observable_find(const struct stiffit_model *abi, const char *word)
{
    int found = words_find(word, abi->observable_name, abi->n_observable), n = 0;
    for (uint32_t k = 0; found < 0 && k < abi->n_observable; k++)
        n += !strcasecmp(word, abi->observable_name[k]);
    for (uint32_t k = 0; n == 1 && found < 0; k++)
        found = strcasecmp(word, abi->observable_name[k]) ? -1 : (int)k;
    return found;
}

/* A hint for a measurement of something that the model does not observe. */
static void hint_of(const struct csv_reader *reader, size_t column, const char *word,
                    const struct stiffit_model *abi, char *hint, size_t size)
{
    char near[NEAREST_HINT];
    snprintf(hint, size,
             "%s; give the model an observable of that name, or leave such rows out with --where "
             "'%.100s != %.100s'",
             nearest_hint(near, "; did you mean '", "'?", word, abi->observable_name,
                          abi->n_observable),
             csv_column_name(reader, column), word);
}

enum status import_observable_read(const struct csv_reader *reader, size_t column,
                                   const struct stiffit_model *abi, uint32_t *observable,
                                   struct error *error)
{
    char hint[400];
    const char *word = csv_field(reader, column);
    bool is_missing = csv_is_missing(reader, column);
    int found = import_observable_find(abi, word);
    *observable = found < 0 ? 0 : (uint32_t)found;
    if (found >= 0 || (is_missing && abi->n_observable == 1))
        return STATUS_OK;
    if (is_missing)
        return csv_fault(reader, column, error,
                         "is missing, but the model has %u observables: say which one was measured",
                         abi->n_observable);
    hint_of(reader, column, word, abi, hint, sizeof hint);
    return csv_fault(reader, column, error, "the model has no observable '%.100s'%s", word, hint);
}

enum status import_numbers_take(const struct option_list *list, const char *option,
                                const char *what, const char *const *names, size_t n,
                                uint32_t number_of[MAX_CMT], struct error *error)
{
    bool is_given[MAX_CMT] = {false};
    for (size_t i = 0; i < list->n; i++)
        for (const char *item = list->item[i], *end; item; item = *end ? end + 1 : NULL) {
            char *equals, name[NAME_BYTES];
            unsigned long number = strtoul(item, &equals, 10);
            size_t index;
            end = item + strcspn(item, ",");
            if (equals == item || *equals != '=' || number < 1 || number >= MAX_CMT)
                return error_set(error, STATUS_USAGE, "--%s: '%.*s' is not NUMBER=NAME", option,
                                 (int)(end - item < 100 ? end - item : 100), item);
            snprintf(name, sizeof name, "%.*s", (int)(end - equals - 1), equals + 1);
            enum status status = values_name(name, option, what, names, n, &index, error);
            if (status)
                return status;
            if (is_given[number] && number_of[number] != index)
                return error_set(error, STATUS_USAGE, "--%s: %lu is both '%s' and '%s'", option,
                                 number, names[number_of[number]], names[index]);
            is_given[number] = true;
            number_of[number] = (uint32_t)index;
        }
    return STATUS_OK;
}

enum status import_observables_find(struct import_observables *observables,
                                    const struct csv_reader *reader, const char *path, size_t cmt,
                                    size_t dvid, const struct stiffit_model *abi,
                                    const struct option_list *options, struct error *error)
{
    bool is_mapped = options->n > 0;
    *observables = (struct import_observables){.abi = abi, .path = path, .is_mapped = is_mapped,
                                               .by = is_mapped && cmt != CSV_NO_COLUMN ? cmt : dvid,
                                               .said = {{.column = dvid, .none = 1},
                                                        {.column = cmt, .is_cmt = true}}};
    for (uint32_t k = 0; k < MAX_CMT; k++)
        observables->of_number[k] = UINT32_MAX;
    if (is_mapped && observables->by == CSV_NO_COLUMN)
        return csv_lacks(reader, error, "there is no column 'CMT' or 'DVID' for --observables");
    if (!is_mapped && abi->n_observable > 1 && dvid == CSV_NO_COLUMN)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: the model has %u observables: a column DVID must name that of each "
                         "record, or --observables those that CMT means, such as --observables "
                         "2=%.100s",
                         path, abi->n_observable, abi->observable_name[0]);
    return import_numbers_take(options, "observables", "observable", abi->observable_name,
                               abi->n_observable, observables->of_number, error);
}

/* By the name or the number of --observables. */
static enum status read_mapped(const struct import_observables *observables,
                               const struct csv_reader *reader, uint32_t *observable,
                               struct error *error)
{
    double number = NAN;
    const char *word = csv_field(reader, observables->by);
    int found = import_observable_find(observables->abi, word);
    bool is_number = found < 0 && csv_parse_double(word, &number) && number >= 1 &&
                     number < MAX_CMT && number == floor(number);
    *observable = found >= 0  ? (uint32_t)found
                  : is_number ? observables->of_number[(size_t)number]
                              : UINT32_MAX;
    return *observable != UINT32_MAX
               ? STATUS_OK
               : csv_fault(reader, observables->by, error,
                           "is not one of the numbers of --observables NUMBER=OBSERVABLE: '%.40s'; "
                           "such rows are left out with --where '%.100s != %.40s'",
                           word, csv_column_name(reader, observables->by), word);
}

/* By the name of one of several observables, or its number from 1. */
static enum status read_numbered(const struct import_observables *observables,
                                 const struct csv_reader *reader, uint32_t *observable,
                                 struct error *error)
{
    double number = NAN;
    const char *word = csv_field(reader, observables->by);
    bool is_number = csv_parse_double(word, &number) && !isnan(number);
    if (!is_number || import_observable_find(observables->abi, word) >= 0)
        return import_observable_read(reader, observables->by, observables->abi, observable, error);
    if (!(number >= 1 && number <= observables->abi->n_observable && number == floor(number)))
        return csv_fault(reader, observables->by, error,
                         "must be the number, from 1, or the name of an observable, not '%.40s'; "
                         "rows of something else are left out with --where '%.100s != %.40s'",
                         word, csv_column_name(reader, observables->by), word);
    *observable = (uint32_t)number - 1;
    return STATUS_OK;
}

/* Stands for the number of the only observable where a word of CMT names it. */
static const double named = -1;

/* The field as a number: a state's name is the state's number. An empty field is 1 in DVID, the
 * only observable, and 0 in CMT, the default. */
static enum status read_said(const struct import_observables *observables,
                             const struct csv_reader *reader, const struct import_said *said,
                             double *number, struct error *error)
{
    const struct stiffit_model *abi = observables->abi;
    const char *word = csv_field(reader, said->column);
    uint32_t only;
    if (csv_parse_double(word, number)) {
        *number = isnan(*number) ? said->none : *number;
        return STATUS_OK;
    }
    int state = said->is_cmt ? words_find(word, abi->state_name, abi->n_state) : -1;
    *number = state >= 0 ? state + 1.0 : said->is_cmt ? named : 1;
    return state >= 0 ? STATUS_OK
                      : import_observable_read(reader, said->column, abi, &only, error);
}

/* The fault of two measurements that differ; it is placed at the one whose number is not 1. */
static enum status differ(const struct import_observables *observables,
                          const struct csv_reader *reader, const struct import_said *said,
                          double number, struct error *error)
{
    const char *const word[] = {csv_field(reader, said->column), said->word},
                      *column = csv_column_name(reader, said->column);
    const uint64_t line[] = {csv_line(reader), said->line};
    int wrong = number == said->none || number == 1 || number == named;
    const char *name = observables->abi->observable_name[0];
    char option[300] = "";
    if (said->is_cmt)
        snprintf(option, sizeof option,
                 ", say that both are it with --observables %.40s=%.60s,%.40s=%.60s", word[!wrong],
                 name, word[wrong], name);
    return error_set(error, STATUS_BAD_PROBLEM,
                     "%s:%" PRIu64 ": column '%.100s': '%.40s', but '%.40s' in line %" PRIu64
                     ": these are measurements of two kinds, and the model has one observable, "
                     "'%.100s'; leave one kind out, as with --where '%.100s != %.40s'%s, or add an "
                     "observable to the model",
                     observables->path, line[wrong], column, word[wrong], word[!wrong],
                     line[!wrong], name, column, word[wrong], option);
}

static enum status check_said(const struct import_observables *observables,
                              const struct csv_reader *reader, struct import_said *said,
                              struct error *error)
{
    double number;
    if (said->column == CSV_NO_COLUMN)
        return STATUS_OK;
    enum status status = read_said(observables, reader, said, &number, error);
    if (status || said->line)
        return status || number == said->number
                   ? status : differ(observables, reader, said, number, error);
    said->line = csv_line(reader);
    said->number = number;
    snprintf(said->word, sizeof said->word, "%s", csv_field(reader, said->column));
    return STATUS_OK;
}

enum status import_observables_of(struct import_observables *observables,
                                  const struct csv_reader *reader, bool is_empty,
                                  uint32_t *observable, struct error *error)
{
    enum status status = STATUS_OK;
    *observable = 0;
    if (is_empty && (observables->by == CSV_NO_COLUMN || csv_is_missing(reader, observables->by) ||
                     observables->abi->n_observable == 1))
        return STATUS_OK;
    if (observables->is_mapped)
        return read_mapped(observables, reader, observable, error);
    if (observables->abi->n_observable > 1)
        return read_numbered(observables, reader, observable, error);
    for (size_t i = 0; i < sizeof observables->said / sizeof *observables->said && !status; i++)
        status = check_said(observables, reader, &observables->said[i], error);
    return status;
}

void import_observables_say(const struct import_observables *observables,
                            const struct csv_reader *reader, const struct import_options *options)
{
    const struct import_said *dvid = &observables->said[0];
    if (dvid->line && dvid->number != 1)
        options->say("note: %.300s: all measurements have %.100s %.40s, which is taken as "
                     "'%.100s', the model's only observable",
                     observables->path, csv_column_name(reader, dvid->column), dvid->word,
                     observables->abi->observable_name[0]);
}
