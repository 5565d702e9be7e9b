/* Parses values from the command line.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/values.h"

#include "base/arena.h"
#include "base/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t max_time = 10000000;

enum status values_name(const char *name, const char *option, const char *what,
                        const char *const *names, size_t n, size_t *index, struct error *error)
{
    int found = words_find(name, names, n);
    char hint[NEAREST_HINT];
    *index = (size_t)found;
    if (found >= 0)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE, "--%s: the model has no %s '%.100s'%s", option, what,
                     name, nearest_hint(hint, "\nDid you mean ", "?", name, names, n));
}

enum status values_find(const char *text, const char *option, const char *what,
                        const char *const *names, size_t n, size_t *index, const char **value,
                        struct error *error)
{
    char name[NAME_BYTES];
    const char *equals = strchr(text, '=');
    if (!equals || (size_t)(equals - text) >= sizeof name)
        return error_set(error, STATUS_USAGE, "--%s: '%.100s' is not of the form NAME=VALUE",
                         option, text);
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    *value = equals + 1;
    return values_name(name, option, what, names, n, index, error);
}

enum status values_once(const struct option_list *list, const char *option, struct error *error)
{
    for (size_t i = 1; i < list->n; i++)
        for (size_t k = 0; k < i; k++) {
            const char *one = list->item[k], *other = list->item[i];
            size_t n = strcspn(one, "=");
            double a, b;
            if (!one[n] || strncmp(one, other, n + 1) || !strcmp(one, other) ||
                (option_number(one + n + 1, &a) && option_number(other + n + 1, &b) && a == b))
                continue;
            return error_set(error, STATUS_USAGE, "--%s: '%.100s' and '%.100s' contradict", option,
                             one, other);
        }
    return STATUS_OK;
}

enum status values_set(const struct option_list *list, const char *option, const char *what,
                       const char *const *names, size_t n, double *out, unsigned char *touched,
                       struct error *error)
{
    enum status status = values_once(list, option, error);
    for (size_t i = 0; !status && i < list->n; i++) {
        size_t index;
        const char *value;
        status = values_find(list->item[i], option, what, names, n, &index, &value, error);
        if (status)
            break;
        if (!option_number(value, &out[index]))
            return error_set(error, STATUS_USAGE,
                             "--%s: '%.100s': what follows the = is not a number", option,
                             list->item[i]);
        if (touched)
            touched[index] = 1;
    }
    return status;
}

struct growing {
    double *number;
    size_t n, capacity;
};

static bool append(struct growing *list, double number)
{
    if (!array_grow(&list->number, list->n, &list->capacity, sizeof number))
        return false;
    list->number[list->n++] = number;
    return true;
}

static enum status bad_times(const char *word, const char *why, struct error *error)
{
    return error_set(error, STATUS_USAGE, "--times: '%s' %s", word, why);
}

static enum status out_of_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for a list of numbers");
}

static enum status add_grid(struct growing *list, const char *word, double first, double last,
                            double step, struct error *error)
{
    double count = floor((last - first) / step * (1 + 1e-12) + 1e-9) + 1;
    if (!(step > 0) || !(last >= first) || !isfinite(count))
        return bad_times(word, "is not A:B:STEP with A <= B and STEP > 0", error);
    if (count > (double)max_time)
        return bad_times(word, "are more than 10 million times", error);
    for (size_t i = 0; i < (size_t)count; i++)
        if (!append(list, fmin(first + (double)i * step, last)))
            return out_of_memory(error);
    return STATUS_OK;
}

static enum status add_log_grid(struct growing *list, const char *word, double first, double last,
                                double count, struct error *error)
{
    if (!(first > 0) || !(last > first) || count < 2 || count > (double)max_time ||
        count != floor(count))
        return bad_times(word, "is not A:B:logN with 0 < A < B and N >= 2", error);
    for (size_t i = 0; i < (size_t)count; i++) {
        double share = (double)i / (count - 1);
        double between = pow(10, log10(first) + share * (log10(last) - log10(first)));
        double time = i == 0 ? first : i + 1 == (size_t)count ? last : between;
        if (!append(list, time))
            return out_of_memory(error);
    }
    return STATUS_OK;
}

static enum status add_word(struct growing *list, char *word, struct error *error)
{
    char shown[100];
    double number[3];
    snprintf(shown, sizeof shown, "%.90s", word);
    char *second = strchr(word, ':'), *third = second ? strchr(second + 1, ':') : NULL;
    if (!second) {
        if (!option_number(word, &number[0]) || !isfinite(number[0]))
            return bad_times(shown, "is not a time", error);
        return append(list, number[0]) ? STATUS_OK : out_of_memory(error);
    }
    if (!third)
        return bad_times(shown, "is not of the form A:B:STEP or A:B:logN", error);
    *second++ = *third++ = '\0';
    bool is_log = !strncmp(third, "log", 3);
    if (!option_number(word, &number[0]) || !option_number(second, &number[1]) ||
        !option_number(is_log ? third + 3 : third, &number[2]) || !isfinite(number[0]) ||
        !isfinite(number[1]))
        return bad_times(shown, "is not of the form A:B:STEP or A:B:logN", error);
    return is_log ? add_log_grid(list, shown, number[0], number[1], number[2], error)
                  : add_grid(list, shown, number[0], number[1], number[2], error);
}

/* option NULL: times. */
static enum status parse_list(const char *text, const char *option, double **numbers, size_t *n,
                              struct error *error)
{
    struct growing list = {NULL, 0, 0};
    char *copy = strdup(text), *rest = copy, *word;
    double number;
    enum status status = copy ? STATUS_OK : out_of_memory(error);
    while (!status && (word = strsep(&rest, ","))) {
        if (!option)
            status = add_word(&list, word, error);
        else if (!option_number(word, &number) || !isfinite(number))
            status = error_set(error, STATUS_USAGE, "--%s: '%.90s' is not a number", option, word);
        else if (!append(&list, number))
            status = out_of_memory(error);
    }
    if (!status && !option && list.n > max_time)
        status = bad_times(text, "are more than 10 million times", error);
    free(copy);
    if (status)
        free(list.number);
    else
        *numbers = list.number;
    *n = status ? 0 : list.n;
    return status;
}

enum status values_times(const char *text, double **times, size_t *n_time, struct error *error)
{
    return parse_list(text, NULL, times, n_time, error);
}

enum status values_numbers(const char *text, const char *option, double **numbers, size_t *n,
                           struct error *error)
{
    return parse_list(text, option, numbers, n, error);
}
