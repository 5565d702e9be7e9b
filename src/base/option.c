/* Parsing by tables. Written out rather than getopt_long, because that permutes argv,
 * abbreviates and prints.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/option.h"

#include "base/checksum.h"
#include "base/cursor.h"
#include "base/words.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTION = 64 };

const char *const option_when_words[] = {"auto", "always", "never", NULL};

bool option_number(const char *text, double *value)
{
    char *end;
    locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    double number = c_locale ? strtod_l(text, &end, c_locale) : strtod(text, &end);
    if (c_locale)
        freelocale(c_locale);
    if (end == text || *end || isnan(number))
        return false;
    if (isinf(number) && !strpbrk(text, "iI")) /* 1e999 does not mean infinity */
        return false;
    *value = number;
    return true;
}

bool option_integer(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end != text && !*end && !errno) {
        *value = number;
        return true;
    }
    double rounded; /* 1e6 is a count too */
    if (!option_number(text, &rounded) || rounded != floor(rounded) ||
        fabs(rounded) > 9007199254740992.0)
        return false;
    *value = (int64_t)rounded;
    return true;
}

/* SLURM's notation, except that a plain number means seconds. */
double option_duration(const char *text)
{
    static const double unit[] = {86400, 3600, 60, 1};
    double seconds = 0, field;
    size_t n_colon = 0;
    const char *dash = strchr(text, '-');
    if (text[strspn(text, "0123456789:-")])
        return option_number(text, &field) ? field : -1;
    for (const char *c = text; *c; c++)
        n_colon += *c == ':';
    if (!dash && n_colon == 0)
        return option_number(text, &field) ? field : -1;
    size_t i = dash ? 0 : 3 - n_colon;
    if (n_colon > 2 || (dash && dash != strrchr(text, '-')))
        return -1;
    for (;; i++) {
        char digits[20];
        size_t n = strspn(text, "0123456789");
        if (n == 0 || n >= sizeof digits)
            return -1;
        snprintf(digits, sizeof digits, "%.*s", (int)n, text);
        seconds += unit[i] * (double)strtoll(digits, NULL, 10);
        text += n;
        if (!*text)
            return seconds;
        if (*text != (dash && i == 0 ? '-' : ':'))
            return -1;
        text++;
    }
}

const char *option_metavar(const struct option *option, char text[OPTION_METAVAR])
{
    static const char *const of_kind[] =
        {[OPTION_FLAG] = "",         [OPTION_INTEGER] = "N", [OPTION_COUNT_OR_PERCENT] = "N|N%",
         [OPTION_DURATION] = "TIME", [OPTION_CHOICE] = "",   [OPTION_NUMBER] = "VALUE",
         [OPTION_STRING] = "VALUE",  [OPTION_LIST] = "VALUE"};
    snprintf(text, OPTION_METAVAR, "%s", option->metavar ? option->metavar : of_kind[option->kind]);
    for (size_t k = 0; option->kind == OPTION_CHOICE && !option->metavar && option->choice[k]; k++)
        words_add(text, OPTION_METAVAR, "%s%s", k ? "|" : "", option->choice[k]);
    return text;
}

void option_list_fini(struct option_list *list)
{
    free(list->item);
    *list = (struct option_list){NULL, 0};
}

static enum status list_add(struct option_list *list, const char *value, struct error *error)
{
    const char **longer = realloc(list->item, (list->n + 1) * sizeof *longer);
    if (!longer)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the options");
    longer[list->n++] = value;
    list->item = longer;
    return STATUS_OK;
}

static enum status not_in_range(const struct option *option, const char *value, const char *kind,
                                struct error *error)
{
    char range[120] = "";
    if (isfinite(option->min) && isfinite(option->max) && option->max < 9e15)
        snprintf(range, sizeof range, " %s %.10g and at most %.10g",
                 option->above_min ? "above" : "of at least", option->min, option->max);
    else if (isfinite(option->min))
        snprintf(range, sizeof range, " %s %.10g", option->above_min ? "above" : "of at least",
                 option->min);
    return error_set(error, STATUS_USAGE, "--%s: '%s' is not %s%s%s%s", option->name, value, kind,
                     range, option->zero ? ", nor " : "", option->zero ? option->zero : "");
}

static bool in_range(const struct option *option, double value)
{
    return (option->above_min ? value > option->min : value >= option->min) && value <= option->max;
}

static enum status set_choice(const struct option *option, void *field, const char *value,
                              struct error *error)
{
    char words[200] = "";
    size_t n = 0;
    for (; option->choice[n]; n++) {
        if (nearest_is_same(option->choice[n], value)) {
            int chosen = (int)n;
            memcpy(field, &chosen, sizeof chosen);
            return STATUS_OK;
        }
        words_add(words, sizeof words, "%s%s", n ? ", " : "", option->choice[n]);
    }
    char hint[NEAREST_HINT];
    return error_set(error, STATUS_USAGE, "--%s: '%s' is not one of %s%s", option->name, value,
                     words, nearest_hint(hint, "\nDid you mean ", "?", value, option->choice, n));
}

static enum status set_share(const struct option *option, void *field, const char *value,
                             struct error *error)
{
    struct option_share share;
    char digits[64];
    size_t n = strlen(value);
    memset(&share, 0, sizeof share); /* its padding too: structs of options are compared as bytes */
    share.percent = n > 1 && value[n - 1] == '%';
    snprintf(digits, sizeof digits, "%.*s", (int)(n - share.percent), value);
    bool good = n < sizeof digits && option_number(digits, &share.value);
    if (!good || !in_range(option, share.value) || (share.percent && share.value > 100) ||
        (!share.percent && share.value != floor(share.value)))
        return not_in_range(option, value, "a whole number or a percentage (such as 5 or 0.1%)",
                            error);
    memcpy(field, &share, sizeof share);
    return STATUS_OK;
}

static enum status set_value(const struct option *option, void *options, const char *value,
                             struct error *error)
{
    void *field = (char *)options + option->offset;
    int64_t integer;
    double number;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return STATUS_OK;
    case OPTION_INTEGER:
        if (option->zero && !strcmp(value, option->zero)) {
            *(int64_t *)field = 0;
            return STATUS_OK;
        }
        if (!option_integer(value, &integer) || !in_range(option, (double)integer))
            return not_in_range(option, value, "a whole number", error);
        *(int64_t *)field = integer;
        return STATUS_OK;
    case OPTION_NUMBER:
        if (option->zero && !strcmp(value, option->zero)) {
            *(double *)field = 0;
            return STATUS_OK;
        }
        if (!option_number(value, &number) || !in_range(option, number))
            return not_in_range(option, value, "a number", error);
        *(double *)field = number;
        return STATUS_OK;
    case OPTION_DURATION:
        number = option_duration(value);
        if (!in_range(option, number))
            return not_in_range(option, value, "a number of seconds or a time such as 2-12:00:00",
                                error);
        *(double *)field = number;
        return STATUS_OK;
    case OPTION_STRING:
        *(const char **)field = value;
        return STATUS_OK;
    case OPTION_CHOICE:
        return set_choice(option, field, value, error);
    case OPTION_COUNT_OR_PERCENT:
        return set_share(option, field, value, error);
    case OPTION_LIST:
        return list_add(field, value, error);
    }
    return error_set(error, STATUS_INTERNAL, "option --%s has an unknown kind", option->name);
}

static const struct option *find_name(struct option_table table, const char *name, size_t n_name)
{
    for (size_t i = 0; i < table.n; i++)
        if (strlen(table.option[i].name) == n_name && !strncmp(table.option[i].name, name, n_name))
            return &table.option[i];
    return NULL;
}

const struct option *option_find(struct option_table table, const char *name)
{
    return find_name(table, name, strlen(name));
}

const char *option_print(const struct option *option, const void *options, char *text, size_t size)
{
    const void *field = (const char *)options + option->offset;
    char number[NUMBER_SIZE + 1];
    const char *word = "";
    switch (option->kind) {
    case OPTION_FLAG:
        word = *(const bool *)field ? "yes" : "no";
        break;
    case OPTION_INTEGER:
        snprintf(number, sizeof number, "%" PRId64, *(const int64_t *)field);
        word = option->zero && *(const int64_t *)field == 0 ? option->zero : number;
        break;
    case OPTION_NUMBER: {
        double value = *(const double *)field;
        word = option->zero && value == 0 ? option->zero : number_text(number, value);
        break;
    }
    case OPTION_STRING:
        word = *(const char *const *)field ? *(const char *const *)field : "";
        break;
    case OPTION_CHOICE:
        word = option->choice[*(const int *)field];
        break;
    case OPTION_COUNT_OR_PERCENT:
        word = strcat(number_text(number, ((const struct option_share *)field)->value),
                      ((const struct option_share *)field)->percent ? "%" : "");
        break;
    case OPTION_DURATION:
        word = number_text(number, *(const double *)field);
        break;
    case OPTION_LIST:
        break;
    }
    snprintf(text, size, "%s", word);
    return text;
}

static size_t value_size(enum option_kind kind)
{
    switch (kind) {
    case OPTION_FLAG: return sizeof(bool);
    case OPTION_INTEGER: return sizeof(int64_t);
    case OPTION_CHOICE: return sizeof(int);
    case OPTION_COUNT_OR_PERCENT: return sizeof(struct option_share);
    case OPTION_NUMBER:
    case OPTION_DURATION: return sizeof(double);
    default: return 0;
    }
}

void option_pass(struct cursor *cursor, struct option_table table, void *options)
{
    for (size_t i = 0; i < table.n; i++) {
        const struct option *option = &table.option[i];
        char *value = (char *)options + option->offset;
        if (option->kind == OPTION_STRING)
            pass_text(cursor, (const char **)(void *)value);
        else
            pass_over(cursor, value, value_size(option->kind));
    }
}

uint32_t option_layout(struct option_table table)
{
    uint32_t crc = 0;
    for (size_t i = 0; i < table.n; i++) {
        const struct option *option = &table.option[i];
        const uint64_t layout[2] = {(uint64_t)option->kind, option->offset};
        crc = checksum(crc, (const unsigned char *)option->name, strlen(option->name));
        crc = checksum(crc, (const unsigned char *)layout, sizeof layout);
    }
    return crc;
}

bool option_is_same(const struct option *option, const void *a, const void *b)
{
    char texts[2][1024];
    return !strcmp(option_print(option, a, texts[0], sizeof texts[0]),
                   option_print(option, b, texts[1], sizeof texts[1]));
}

static const struct option *find_letter(struct option_table table, char letter)
{
    for (size_t i = 0; i < table.n; i++)
        if (letter && table.option[i].letter == letter)
            return &table.option[i];
    return NULL;
}

/* The nearest of the allowed options; NULL if none is near. */
static const char *near_option(struct option_table table, const char *name, bool in_file)
{
    const char *names[MAX_OPTION + 1] = {NULL};
    size_t n = 0;
    for (size_t i = 0; i < table.n && i < MAX_OPTION; i++)
        if (!in_file || table.option[i].in_file)
            names[n++] = table.option[i].name;
    if (!in_file)
        names[n++] = "help";
    return nearest_name(name, names, n);
}

static enum status unknown(struct option_table table, const char *name, struct error *error)
{
    const char *near = near_option(table, name, false);
    return error_set(error, STATUS_USAGE, "unknown option --%s%s%s%s", name,
                     near ? "\nDid you mean --" : "", near ? near : "", near ? "?" : "");
}

struct parser {
    struct option_table table;
    void *options;
    struct option_words *words;
    int argc, i;
    char *const *argv;
};

/* Whether the value is a comma-separated list; a second value would then drop the words of the
 * first. */
static bool is_joined(const struct option *option)
{
    return option->kind == OPTION_STRING && option->metavar && strstr(option->metavar, "[,");
}

static enum status take(struct parser *parser, const struct option *option, const char *value,
                        struct error *error)
{
    if (!value && option->kind != OPTION_FLAG) {
        char metavar[OPTION_METAVAR];
        if (parser->i + 1 >= parser->argc)
            return error_set(error, STATUS_USAGE, "--%s needs a value (%s)", option->name,
                             option_metavar(option, metavar));
        value = parser->argv[++parser->i];
    }
    if (parser->words->given >> (option - parser->table.option) & 1 && is_joined(option))
        return error_set(error, STATUS_USAGE, "--%s is given twice: write --%s %.100s,%.100s",
                         option->name, option->name,
                         *(const char **)((char *)parser->options + option->offset), value);
    parser->words->given |= UINT64_C(1) << (option - parser->table.option);
    return set_value(option, parser->options, value, error);
}

static enum status parse_long(struct parser *parser, const char *word, struct error *error)
{
    const char *equals = strchr(word, '=');
    size_t n_name = equals ? (size_t)(equals - word) : strlen(word);
    const struct option *option = find_name(parser->table, word, n_name);
    if (!option) {
        char name[100];
        snprintf(name, sizeof name, "%.*s", (int)(n_name < 90 ? n_name : 90), word);
        return unknown(parser->table, name, error);
    }
    if (equals && option->kind == OPTION_FLAG)
        return error_set(error, STATUS_USAGE, "--%s takes no value", option->name);
    return take(parser, option, equals ? equals + 1 : NULL, error);
}

static enum status parse_letters(struct parser *parser, const char *letters, struct error *error)
{
    for (; *letters; letters++) {
        const struct option *option = find_letter(parser->table, *letters);
        if (!option)
            return error_set(error, STATUS_USAGE, "unknown option -%c", *letters);
        if (option->kind != OPTION_FLAG) /* the rest of the word is its value */
            return take(parser, option, letters[1] ? letters + 1 + (letters[1] == '=') : NULL,
                        error);
        enum status status = take(parser, option, NULL, error);
        if (status)
            return status;
    }
    return STATUS_OK;
}

static bool asks_help(const char *word) { return !strcmp(word, "--help") || !strcmp(word, "-h"); }

enum status option_parse(struct option_table table, void *options, struct option_words *words,
                         size_t max_positional, int argc, char *const *argv, struct error *error)
{
    struct parser parser = {.table = table,
                            .options = options, .words = words, .argc = argc, .argv = argv};
    bool only_words = false;
    *words = (struct option_words){.help = false};
    for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
        words->help = words->help || asks_help(argv[i]);
    for (parser.i = 0; parser.i < argc && !words->help; parser.i++) {
        const char *word = argv[parser.i];
        enum status status = STATUS_OK;
        if (only_words || word[0] != '-' || !word[1]) {
            if (words->n_positional >= max_positional ||
                words->n_positional >= OPTION_MAX_POSITIONAL)
                return error_set(error, STATUS_USAGE, "unexpected argument '%s'", word);
            words->positional[words->n_positional++] = word;
        } else if (!strcmp(word, "--")) {
            only_words = true;
        } else if (word[1] == '-') {
            status = parse_long(&parser, word + 2, error);
        } else {
            status = parse_letters(&parser, word + 1, error);
        }
        if (status)
            return status;
    }
    return STATUS_OK;
}

enum status option_apply(struct option_table table, void *options, uint64_t given, const char *name,
                         const char *value, struct error *error)
{
    char dashed[100];
    size_t n = 0;
    for (; name[n] && n < sizeof dashed - 1; n++)
        dashed[n] = name[n] == '_' ? '-' : name[n];
    dashed[n] = '\0';
    const struct option *option = find_name(table, dashed, n);
    if (!option || !option->in_file) {
        const char *near = near_option(table, dashed, true);
        return error_set(error, STATUS_USAGE,
                         option ? "'%s' can be given on the command line only%s%s%s"
                                : "there is no option '%s'%s%s%s",
                         name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    if (given >> (option - table.option) & 1)
        return STATUS_OK;
    if (option->kind == OPTION_FLAG) {
        if (strcmp(value, "0") && strcmp(value, "1"))
            return error_set(error, STATUS_USAGE, "%s: '%s' is not 0 or 1", option->name, value);
        *(bool *)((char *)options + option->offset) = value[0] == '1';
        return STATUS_OK;
    }
    return set_value(option, options, value, error);
}
