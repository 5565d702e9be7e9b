/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/share_deviation.h"

#include "run/plan/share_random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A correlation of +-1 has no Cholesky factor with a last pivot above this. */
static const double SINGULAR = 1e-12;
enum { NUMBER = 32 };

static enum status no_memory(size_t n, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
}

static size_t find(const char *const *names, size_t n_parameter, const char *name, size_t n)
{
    size_t i = 0;
    while (i < n_parameter && !(strlen(names[i]) == n && !memcmp(names[i], name, n)))
        i++;
    return i;
}

static enum status refuse(const char *entry, const char *why, struct error *error)
{
    return error_set(error, STATUS_USAGE, "--random-deviation: '%.*s': %s",
                     (int)strcspn(entry, ","), entry, why);
}

/* One entry, NAME=, NAME@experiment= or NAME.NAME=, of these bytes before the '='. */
static enum status set_entry(struct share_deviation *to, const struct share_random *random,
                             const char *const *names, size_t n_parameter, const char *entry,
                             size_t n, double value, struct error *error)
{
    static const char by[] = "@experiment";
    size_t n_by = sizeof by - 1, i = find(names, n_parameter, entry, n);
    bool is_by = n > n_by && !memcmp(entry + n - n_by, by, n_by);
    if (is_by)
        i = find(names, n_parameter, entry, n - n_by);
    for (size_t dot = 0; i == n_parameter && dot < n; dot++) {
        size_t a = find(names, n_parameter, entry, dot), b;
        if (entry[dot] != '.' || a == n_parameter)
            continue;
        b = find(names, n_parameter, entry + dot + 1, n - dot - 1);
        if (b == n_parameter)
            continue;
        if (!random->block[a] || random->block[a] != random->block[b] || a == b)
            return refuse(entry, "these are not random parameters that are correlated with each "
                          "other (--random, --random-covariance)", error);
        if (!(fabs(value) < 1))
            return refuse(entry, "a correlation is between -1 and 1", error);
        if (to->correlation[a * n_parameter + b] != 0)
            return refuse(entry, "this correlation is given twice", error);
        to->correlation[a * n_parameter + b] = to->correlation[b * n_parameter + a] = value;
        return STATUS_OK;
    }
    bool is_random = i < n_parameter && (is_by ? random->occasion && random->occasion[i]
                                               : random->block[i] > 0);
    if (!is_random)
        return refuse(entry, "this is not a random parameter (--random)", error);
    if (!(value >= 0 && isfinite(value)))
        return refuse(entry, "a standard deviation is a number of 0 or more, on the optimiser's "
                      "scale", error);
    double *place = is_by ? &to->by_experiment[i] : &to->deviation[i];
    if (!isnan(*place))
        return refuse(entry, "this standard deviation is given twice", error);
    *place = value;
    return STATUS_OK;
}

/* Whether correlations are those of some distribution. */
static bool is_positive(const struct share_deviation *of, size_t n, double *factor)
{
    for (size_t j = 0; j < n; j++) {
        double left = 1;
        for (size_t k = 0; k < j; k++)
            left -= factor[j * n + k] * factor[j * n + k];
        if (!(left > SINGULAR))
            return false;
        factor[j * n + j] = sqrt(left);
        for (size_t i = j + 1; i < n; i++) {
            double sum = of->correlation[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= factor[i * n + k] * factor[j * n + k];
            factor[i * n + j] = sum / factor[j * n + j];
        }
    }
    return true;
}

/* All that was given, in the problem's order: the same for all that mean the same. */
static void print(struct share_deviation *of, const char *const *names, size_t n)
{
    char *at = of->text;
    for (size_t i = 0; i < n; i++)
        if (!isnan(of->deviation[i]))
            at += sprintf(at, "%s%s=%.17g", at > of->text ? "," : "", names[i], of->deviation[i]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (of->correlation[i * n + j] != 0)
                at += sprintf(at, "%s%s.%s=%.17g", at > of->text ? "," : "", names[j], names[i],
                              of->correlation[i * n + j]);
    for (size_t i = 0; i < n; i++)
        if (!isnan(of->by_experiment[i]))
            at += sprintf(at, "%s%s@experiment=%.17g", at > of->text ? "," : "", names[i],
                          of->by_experiment[i]);
}

static bool make(struct share_deviation *to, size_t n, const char *text)
{
    size_t n_entry = 1;
    for (const char *c = text; *c; c++)
        n_entry += *c == ',';
    to->deviation = malloc((2 * n + 1) * sizeof *to->deviation);
    to->correlation = calloc(n * n + 1, sizeof *to->correlation);
    to->text = calloc(strlen(text) + NUMBER * n_entry + 1, 1);
    if (!to->deviation || !to->correlation || !to->text)
        return false;
    to->by_experiment = to->deviation + n;
    for (size_t i = 0; i < 2 * n; i++)
        to->deviation[i] = NAN;
    return true;
}

enum status share_deviation_init(struct share_deviation *deviation,
                                 const struct share_random *random, const char *const *names,
                                 size_t n_parameter, const char *text, struct error *error)
{
    enum status status = STATUS_OK;
    *deviation = (struct share_deviation){.text = NULL};
    if (!text || random->n == 0)
        return STATUS_OK;
    if (!make(deviation, n_parameter, text))
        return no_memory(n_parameter, error);
    for (const char *entry = text; !status; entry++) {
        size_t length = strcspn(entry, ","), n = strcspn(entry, "=,");
        char *end;
        double value = n < length ? strtod(entry + n + 1, &end) : (double)NAN;
        if (n == length || n + 1 == length || end != entry + length)
            return refuse(entry, "it is NAME=NUMBER, NAME.NAME=NUMBER or NAME@experiment=NUMBER",
                          error);
        status = set_entry(deviation, random, names, n_parameter, entry, n, value, error);
        entry += length;
        if (!*entry)
            break;
    }
    double *factor = status ? NULL : calloc(n_parameter * n_parameter + 1, sizeof *factor);
    if (!status && !factor)
        status = no_memory(n_parameter, error);
    if (!status && !is_positive(deviation, n_parameter, factor))
        status = error_set(error, STATUS_USAGE, "--random-deviation: no distribution has all of "
                           "these correlations");
    free(factor);
    if (!status)
        print(deviation, names, n_parameter);
    return status;
}

void share_deviation_fini(struct share_deviation *deviation)
{
    free(deviation->deviation);
    free(deviation->correlation);
    free(deviation->text);
    *deviation = (struct share_deviation){.text = NULL};
}

const char *share_deviation_lacks(const struct share_deviation *deviation,
                                  const struct share_random *random, const char *const *names,
                                  size_t n_parameter, char *room)
{
    for (size_t i = 0; random->n > 0 && i < n_parameter; i++) {
        if (random->block[i] && (!deviation->text || isnan(deviation->deviation[i])))
            return names[i];
        bool varies = random->occasion && random->occasion[i];
        if (varies && (!deviation->text || isnan(deviation->by_experiment[i]))) {
            snprintf(room, 200, "%.150s@experiment", names[i]);
            return room;
        }
    }
    return NULL;
}
