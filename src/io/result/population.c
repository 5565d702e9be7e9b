/* SPDX-License-Identifier: BSD-3-Clause */
#include "io/result/population.h"

#include "io/result/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP "/population"
enum { MAX_NUMBER = 1 << 20, MAX_NAME = 1 << 16 };

double result_population_natural(const char *scale, double value, double *slope)
{
    bool is_log10 = !strcmp(scale, "log10"), is_log = is_log10 || !strcmp(scale, "log");
    double factor = is_log10 ? log(10.0) : 1, natural = is_log ? exp(factor * value) : value;
    *slope = is_log ? factor * natural : 1;
    return natural;
}

double result_population_variation(const char *scale, double standard_deviation)
{
    double factor = !strcmp(scale, "log10") ? log(10.0) : 1, s = factor * standard_deviation;
    return strncmp(scale, "log", 3) ? NAN : sqrt(expm1(s * s));
}

const char *result_population_flat(const struct result_population *population, char *text,
                                   size_t n)
{
    size_t n_flat = 0, k = 0, used = 0;
    for (size_t i = 0; i < population->m; i++)
        n_flat += population->flat[i] != 0;
    text[0] = 0;
    for (size_t i = 0; i < population->m && used < n; i++) {
        const char *before = k == 0 ? "" : k + 1 < n_flat ? ", " : " and ";
        if (population->flat[i] == 0)
            continue;
        used += (size_t)snprintf(text + used, n - used, "%s%s", before,
                                 population->estimate_name[i]);
        k++;
    }
    if (n_flat > 0 && used < n)
        snprintf(text + used, n - used, "%s",
                 n_flat > 1 ? " cannot be told apart" : " is not determined by the data");
    return text;
}

/* The estimate "WHAT(NAME BY)"; m: there is none. */
static size_t find_estimate(const struct result_population *population, const char *what,
                            const char *name, const char *by)
{
    size_t n_what = strlen(what), n = strlen(name), n_by = strlen(by), k = 0;
    for (; k < population->m; k++) {
        const char *text = population->estimate_name[k];
        if (strncmp(text, what, n_what) != 0 || text[n_what] != '(')
            continue;
        text += n_what + 1;
        if (!strncmp(text, name, n) && !strncmp(text + n, by, n_by)
            && !strcmp(text + n + n_by, ")"))
            break;
    }
    return k;
}

double result_population_deviation_error(const struct result_population *population,
                                         const char *name, const char *by, double deviation)
{
    size_t k = find_estimate(population, "var", name, by);
    return k < population->m ? population->error[k] / (2 * deviation) : (double)NAN;
}

bool result_population_is_fixed(const struct result_population *population, const char *name)
{
    return find_estimate(population, "mean", name, "") == population->m;
}

bool result_population_next_pair(const struct result_population *population, size_t *i, size_t *j)
{
    size_t r = population->r;
    do {
        *j = *j + 1 < *i ? *j + 1 : 0;
        *i += *j == 0;
    } while (*i < r && (isnan(population->correlation[*i * r + *j])
                        || population->correlation[*i * r + *j] == 0));
    return *i < r;
}

/* Sizes of the arrays: the fields r, q, s, m of the struct. */
enum size { NONE, R, Q, S, M };

/* The group's datasets. */
static const struct {
    const char *path, *description;
    size_t offset;
    enum size n, width;
} numbers[] = {
#define NUMBERS(name, field, n, width, text) \
    {GROUP "/" name, text, offsetof(struct result_population, field), n, width},
    NUMBERS("mean", mean, R, NONE, "mean over the population, on the optimiser's scale")
    NUMBERS("natural_mean", natural_mean, R, NONE,
            "the same on the natural scale; of a logarithmic scale this is the median")
    NUMBERS("natural_standard_error", natural_error, R, NONE, "standard error of natural_mean")
    NUMBERS("covariance", covariance, R, R,
            "covariance over the population, on the optimiser's scale")
    NUMBERS("standard_deviation", standard_deviation, R, NONE,
            "square roots of the covariance's diagonal")
    NUMBERS("correlation", correlation, R, R, "NaN where a variance is 0")
    NUMBERS("shrinkage", shrinkage, R, NONE,
            "1 - variance of the datasets' conditional means / variance over the population")
    NUMBERS("occasion_deviation", occasion_deviation, Q, NONE,
            "standard deviation over the experiments of a dataset, on the optimiser's scale")
    NUMBERS("shared", shared, S, NONE, "values of the shared parameters, natural scale")
    NUMBERS("shared_standard_error", shared_error, S, NONE, "their standard errors, natural scale")
    NUMBERS("estimate", estimate, M, NONE,
            "all that was estimated, on the optimiser's scale; estimate_name names them")
    NUMBERS("standard_error", error, M, NONE,
            "standard errors of the estimates, from the second derivatives of the likelihood")
    NUMBERS("standard_error_scores", error_scores, M, NONE,
            "the same, from the outer products of the datasets' gradients")
    NUMBERS("standard_error_sandwich", error_sandwich, M, NONE, "the same, robust, from both")
    NUMBERS("estimate_covariance", error_covariance, M, M,
            "covariance of the estimates; its diagonal is the square of standard_error")
    NUMBERS("flat", flat, M, NONE,
            "1: it is part of a direction along which the likelihood does not change, or 0")
    NUMBERS("bootstrap_standard_error", bootstrap_error, M, NONE,
            "standard deviations of the estimates over the replicates")
    NUMBERS("bootstrap_lower", bootstrap_lower, M, NONE,
            "lower ends of 95 % intervals: percentiles of the replicates")
    NUMBERS("bootstrap_upper", bootstrap_upper, M, NONE, "upper ends of these intervals")
};
/* The last ones are there if there are replicates; and of those before, older results lack the
 * last one. */
enum { N_NUMBERS = sizeof numbers / sizeof *numbers, N_ALWAYS = N_NUMBERS - 3,
       N_OLDEST = N_ALWAYS - 1 };

static const struct {
    const char *path;
    size_t offset;
    enum size n;
} names[] = {{GROUP "/name", offsetof(struct result_population, name), R},
             {GROUP "/scale", offsetof(struct result_population, scale), R},
             {GROUP "/occasion_name", offsetof(struct result_population, occasion_name), Q},
             {GROUP "/shared_name", offsetof(struct result_population, shared_name), S},
             {GROUP "/estimate_name", offsetof(struct result_population, estimate_name), M}};
enum { N_NAMES = sizeof names / sizeof *names };

static const struct {
    const char *name;
    size_t offset;
} reals[] = {
    {"minus_2_log_likelihood", offsetof(struct result_population, head.minus_2_log_likelihood)},
    {"minus_2_log_likelihood_error", offsetof(struct result_population, head.likelihood_error)},
    {"aic", offsetof(struct result_population, head.aic)},
    {"bic", offsetof(struct result_population, head.bic)},
    {"condition_number", offsetof(struct result_population, head.condition)},
    {"log_prior", offsetof(struct result_population, head.log_prior)}},
  counts[] = {{"n_dataset", offsetof(struct result_population, head.n_dataset)},
              {"n_left_out", offsetof(struct result_population, head.n_left_out)},
              {"n_measurement", offsetof(struct result_population, head.n_row)},
              {"n_bootstrap", offsetof(struct result_population, n_bootstrap)}};
enum { N_REALS = sizeof reals / sizeof *reals, N_COUNTS = sizeof counts / sizeof *counts };

static size_t size_of(const struct result_population *population, enum size size)
{
    return size == R   ? population->r
           : size == Q ? population->q
           : size == S ? population->s
           : size == M ? population->m
                       : 0;
}

static size_t count_of(const struct result_population *population, size_t i)
{
    size_t width = size_of(population, numbers[i].width);
    return size_of(population, numbers[i].n) * (numbers[i].width == NONE ? 1 : width);
}

#define FIELD(type, population, from) (type *)(void *)((char *)(population) + (from).offset)
#define CONST_FIELD(type, population, from) \
    (const type *)(const void *)((const char *)(population) + (from).offset)

static bool make_arrays(struct result_population *made, struct arena *arena)
{
    bool is_good = true;
    for (size_t i = 0; i < N_NUMBERS && is_good; i++) {
        double **array = FIELD(double *, made, numbers[i]);
        *array = arena_calloc(arena, count_of(made, i) + 1, sizeof **array);
        is_good = *array != NULL;
    }
    return is_good;
}

/* "var(k)", "cov(V,k)", "var(k@experiment)"; NULL: out of memory. */
static char *name_entry(const char *what, const char *a, const char *b, struct arena *arena)
{
    size_t n = strlen(what) + strlen(a) + (b ? strlen(b) : 0) + 4;
    char *text = arena_calloc(arena, n, 1);
    if (text)
        snprintf(text, n, "%s(%s%s%s)", what, a, b && b[0] != '@' ? "," : "", b ? b : "");
    return text;
}

/* Names and values of the estimates, in the order that mixed_result.h says. */
static bool set_estimates(struct result_population *made, const struct mixed_result *from,
                          const char **name, struct arena *arena)
{
    size_t r = made->r, k = 0;
    bool is_good = true;
    for (size_t i = 0; i < r && k < made->m; i++) {
        if (from->is_fixed[i])
            continue;
        made->estimate[k] = from->mean[i];
        name[k++] = name_entry("mean", made->name[i], NULL, arena);
    }
    for (size_t j = 0; j < r; j++)
        for (size_t i = j; i < r; i++) {
            if (!from->is_estimated[i * r + j] || k == made->m)
                continue;
            made->estimate[k] = from->covariance[i * r + j];
            name[k++] = i == j ? name_entry("var", made->name[i], NULL, arena)
                               : name_entry("cov", made->name[j], made->name[i], arena);
        }
    for (size_t i = 0; i < made->q && k < made->m; i++) {
        made->estimate[k] = from->variance[i];
        name[k++] = name_entry("var", made->occasion_name[i], "@experiment", arena);
    }
    for (size_t i = 0; i < made->s && k < made->m; i++) {
        made->estimate[k] = from->value[i];
        name[k++] = made->shared_name[i];
    }
    for (; k < made->m; k++) /* never, if the sizes agree */
        name[k] = "";
    for (size_t i = 0; i < made->m; i++)
        is_good = is_good && name[i];
    return is_good;
}

static void set_matrices(struct result_population *made, const struct mixed_result *from)
{
    size_t r = made->r, m = made->m;
    memcpy(made->covariance, from->covariance, r * r * sizeof *made->covariance);
    memcpy(made->error_covariance, from->error_covariance, m * m * sizeof *made->error_covariance);
    for (size_t i = 0; i < m; i++) /* not known, either */
        for (size_t j = 0; j < m && isnan(from->standard_error[i]); j++)
            made->error_covariance[i * m + j] = made->error_covariance[j * m + i] = NAN;
    for (size_t i = 0; i < r; i++)
        made->standard_deviation[i] = sqrt(from->covariance[i * r + i]);
    for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j < r; j++) {
            double size = made->standard_deviation[i] * made->standard_deviation[j];
            double both = i == j ? 1 : from->covariance[i * r + j] / size;
            made->correlation[i * r + j] = size > 0 ? both : (double)NAN;
        }
}

struct result_population *result_population_make(const struct mixed_result *from,
                                                 const char *const *name, const char *const *scale,
                                                 struct arena *arena)
{
    struct result_population *made = arena_calloc(arena, 1, sizeof *made);
    size_t r = from->r, s = from->s, m = from->m, q = from->q;
    const char **words = arena_calloc(arena, 2 * r + s + m + q + 1, sizeof *words);
    if (!made || !words)
        return NULL;
    *made = (struct result_population){
        .r = r, .q = q, .s = s, .m = m, .name = words, .scale = words + r,
        .shared_name = words + 2 * r, .occasion_name = words + 2 * r + s + m,
        .estimate_name = words + 2 * r + s,
        .head = {.condition = from->condition,
                 .minus_2_log_likelihood = from->minus_2_log_likelihood,
                 .likelihood_error = from->likelihood_error, .log_prior = from->log_prior,
                 .aic = mixed_result_aic(from),
                 .bic = mixed_result_bic(from, from->n_dataset), .n_dataset = from->n_dataset,
                 .n_left_out = from->n_left_out, .n_row = from->n_row,
                 .likelihood = likelihood_name(from->likelihood)}};
    if (!made->head.likelihood || !make_arrays(made, arena))
        return NULL;
    for (size_t i = 0, n_mean = 0; i < r; i++) {
        words[i] = name[from->random[i]];
        words[r + i] = scale[from->random[i]];
        bool has_error = !from->is_fixed[i] && n_mean < m;
        double slope, error = has_error ? from->standard_error[n_mean++] : (double)NAN;
        made->mean[i] = from->mean[i];
        made->natural_mean[i] = result_population_natural(words[r + i], from->mean[i], &slope);
        made->natural_error[i] = slope * error;
        made->shrinkage[i] = from->shrinkage[i];
    }
    for (size_t i = 0; i < s; i++) {
        size_t at = m >= s ? m - s + i : m;
        double slope, error = at < m ? from->standard_error[at] : (double)NAN;
        words[2 * r + i] = name[from->shared[i]];
        made->shared[i] = result_population_natural(scale[from->shared[i]], from->value[i], &slope);
        made->shared_error[i] = slope * error;
    }
    for (size_t i = 0; i < q; i++) {
        words[2 * r + s + m + i] = name[from->occasion[i]];
        made->occasion_deviation[i] = sqrt(from->variance[i]);
    }
    for (size_t k = 0; k < m; k++)
        made->flat[k] = from->is_flat[k];
    memcpy(made->error, from->standard_error, m * sizeof *made->error);
    memcpy(made->error_scores, from->by_scores, m * sizeof *made->error_scores);
    memcpy(made->error_sandwich, from->sandwich, m * sizeof *made->error_sandwich);
    set_matrices(made, from);
    return set_estimates(made, from, words + 2 * r + s, arena) ? made : NULL;
}

static enum status put_attributes(struct hdf5_file *file,
                                  const struct result_population *population, struct error *error)
{
    const uint64_t m = population->m;
    enum status status =
        hdf5_put_text(file, GROUP, "likelihood", population->head.likelihood, error);
    if (!status)
        status = hdf5_put_text(file, GROUP, "bic_n", "datasets", error);
    if (!status)
        status = hdf5_put_number(file, GROUP, "n_estimate", H5T_NATIVE_UINT64, &m, error);
    for (size_t i = 0; i < N_REALS && !status; i++)
        status = hdf5_put_number(file, GROUP, reals[i].name, H5T_NATIVE_DOUBLE,
                                 CONST_FIELD(double, population, reals[i]), error);
    for (size_t i = 0; i < N_COUNTS && !status; i++)
        status = hdf5_put_number(file, GROUP, counts[i].name, H5T_NATIVE_UINT64,
                                 CONST_FIELD(uint64_t, population, counts[i]), error);
    return status;
}

enum status result_writer_population(struct result_writer *writer,
                                     const struct result_population *population,
                                     struct error *error)
{
    struct hdf5_file *file = result_writer_file(writer);
    enum status status = hdf5_make_group(file, GROUP, false, error);
    for (size_t i = 0; i < N_NAMES && !status; i++)
        status = hdf5_write_strings(file, names[i].path, size_of(population, names[i].n),
                                    *CONST_FIELD(char *const *, population, names[i]), error);
    size_t n_numbers = population->n_bootstrap ? N_NUMBERS : N_ALWAYS;
    for (size_t i = 0; i < n_numbers && !status; i++) {
        status = hdf5_write_table(file, numbers[i].path, H5T_NATIVE_DOUBLE,
                                  size_of(population, numbers[i].n),
                                  size_of(population, numbers[i].width),
                                  *CONST_FIELD(double *, population, numbers[i]), error);
        if (!status)
            status = hdf5_put_text(file, numbers[i].path, "description", numbers[i].description,
                                   error);
    }
    return status ? status : put_attributes(file, population, error);
}

static enum status no_memory(const struct hdf5_file *file, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for reading '%s'", file->path);
}

static enum status read_names(const struct hdf5_file *file, size_t i,
                              struct result_population *made, struct arena *arena,
                              struct error *error)
{
    struct hdf5_column column = {0};
    size_t *size = names[i].n == R   ? &made->r
                   : names[i].n == Q ? &made->q
                   : names[i].n == S ? &made->s
                                     : &made->m;
    if (names[i].n == Q && hdf5_kind(file, names[i].path) == HDF5_ABSENT)
        return STATUS_OK; /* no parameter varies between experiments */
    enum status status = hdf5_column_open(&column, file, names[i].path, error);
    if (status)
        return status;
    bool is_scale = names[i].offset == offsetof(struct result_population, scale);
    if (column.n_row > MAX_NUMBER || (is_scale && column.n_row != *size))
        status = error_set(error, STATUS_BAD_PROBLEM, "'%s': %s has an impossible number of rows",
                           file->path, names[i].path);
    char **text = status ? NULL : arena_calloc(arena, column.n_row + 1, sizeof *text);
    if (!status && !text)
        status = no_memory(file, error);
    *size = (size_t)column.n_row;
    if (!status && *size)
        status = hdf5_column_read_strings(&column, 0, *size, MAX_NAME, arena, text, error);
    *FIELD(const char *const *, made, names[i]) = (const char *const *)text;
    hdf5_column_close(&column);
    return status;
}

static enum status read_numbers(const struct hdf5_file *file, size_t i,
                                struct result_population *made, struct error *error)
{
    struct result_column column = {.cells = NULL};
    size_t n = size_of(made, numbers[i].n), width = size_of(made, numbers[i].width);
    if (n == 0 || (i >= N_OLDEST && hdf5_kind(file, numbers[i].path) == HDF5_ABSENT))
        return STATUS_OK;
    enum status status = result_column_open(&column, file, numbers[i].path, FIT_DOUBLE, width, n,
                                            error);
    if (!status)
        status = result_column_read(&column, 0, n, *FIELD(double *, made, numbers[i]), error);
    result_column_close(&column);
    return status;
}

static enum status read_attributes(const struct hdf5_file *file, struct result_population *made,
                                   struct arena *arena, struct error *error)
{
    char *text = NULL;
    bool is_there;
    enum status status = hdf5_attribute_text(file, GROUP, "likelihood", &text, error);
    if (!status && !(made->head.likelihood = arena_strdup(arena, text ? text : "unknown")))
        status = no_memory(file, error);
    free(text);
    for (size_t i = 0; i < N_REALS && !status; i++)
        status = hdf5_attribute_number(file, GROUP, reals[i].name, H5T_NATIVE_DOUBLE, &is_there,
                                       FIELD(double, made, reals[i]), error);
    for (size_t i = 0; i < N_COUNTS && !status; i++)
        status = hdf5_attribute_number(file, GROUP, counts[i].name, H5T_NATIVE_UINT64, &is_there,
                                       FIELD(uint64_t, made, counts[i]), error);
    return status;
}

enum status result_population_read(const struct result_population **population,
                                   const struct result *result, struct arena *arena,
                                   struct error *error)
{
    const struct hdf5_file *file = result_file(result);
    *population = NULL;
    if (hdf5_kind(file, GROUP) == HDF5_ABSENT)
        return STATUS_OK;
    struct result_population *made = arena_calloc(arena, 1, sizeof *made);
    enum status status = made ? STATUS_OK : no_memory(file, error);
    for (size_t i = 0; i < N_REALS && !status; i++)
        *FIELD(double, made, reals[i]) = NAN; /* of an attribute that is absent */
    for (size_t i = 0; i < N_NAMES && !status; i++)
        status = read_names(file, i, made, arena, error);
    if (!status && !make_arrays(made, arena))
        status = no_memory(file, error);
    for (size_t i = 0; i < N_NUMBERS && !status; i++)
        status = read_numbers(file, i, made, error);
    if (!status)
        status = read_attributes(file, made, arena, error);
    *population = status ? NULL : made;
    return status;
}

void population_facts(struct view *view, const struct population_head *head)
{
    VIEW_FACTS(
        view,
        fact_told("exact, or Laplace's approximation",
                  fact_word("likelihood", "likelihood", 0, head->likelihood)),
        fact_told("-2 times the log-likelihood, integrated over the random parameters",
                  fact_number("minus_2_log_likelihood", "-2 log L", 0, 0,
                              head->minus_2_log_likelihood)),
        fact_told("what more points of the quadrature changed",
                  fact_number("minus_2_log_likelihood_error", "error of -2 log L", 0, 0,
                              head->likelihood_error)),
        fact_told("Akaike's information criterion", fact_number("aic", "AIC", 0, 0, head->aic)),
        fact_told("Schwarz's information criterion, with the number of datasets",
                  fact_number("bic", "BIC", 0, 0, head->bic)),
        fact_told("of the information matrix of the estimates",
                  fact_number("condition_number", "condition number", 0, 0, head->condition)),
        fact_told("log density of the priors at the estimates",
                  fact_number("log_prior", "log prior", 0, 0, head->log_prior)),
        fact_told("datasets of the fit", fact_count("datasets", "datasets", 0, head->n_dataset)),
        fact_told("datasets that could not be used or evaluated",
                  fact_count("left_out", "datasets left out", 0, head->n_left_out)),
        fact_told("of these datasets", fact_count("measurements", "measurements", 0, head->n_row)));
}
