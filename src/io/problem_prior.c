/* Priors of a problem file. Separate because they are checked against scales, bounds and the
 * model, and because a prior that cannot be used must never be ignored silently.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_internal.h"

#include "base/sha256.h"
#include "base/words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const number_path[N_PRIOR_NUMBER] = {"/parameters/prior_location",
                                                        "/parameters/prior_scale",
                                                        "/parameters/prior_lower",
                                                        "/parameters/prior_upper"};
static const char *const model_path[N_PRIOR_NUMBER] = {"the model's prior_location",
                                                       "the model's prior_scale",
                                                       "the model's prior_lower",
                                                       "the model's prior_upper"};
enum { NEEDS_LOCATION = 1, NEEDS_SCALE = 2, NEEDS_BOUNDS = 4 };
#define KIND_WORD(id, word, ...) word,
#define KIND_NEEDS(id, word, needs, is_positive) needs,
#define KIND_IS_POSITIVE(id, word, needs, is_positive) is_positive,
static const char *const kinds[] = {PRIOR_LIST(KIND_WORD)};
static const unsigned char needs_of[] = {PRIOR_LIST(KIND_NEEDS)};
static const bool positive[] = {PRIOR_LIST(KIND_IS_POSITIVE)};
static const char *const scales_of[] = {"natural", "optimizer"};

const char *prior_word(enum prior_kind kind) { return kinds[kind]; }
bool prior_has_bounds(enum prior_kind kind) { return needs_of[kind] & NEEDS_BOUNDS; }
bool prior_is_positive(enum prior_kind kind) { return positive[kind]; }
bool prior_needs_sigma(enum prior_kind kind) { return kind != PRIOR_NONE && kind != PRIOR_UNIFORM; }

const struct prior_source prior_source_model = {.is_model = true, .kind_path = "the model's prior",
                                                .on_path = "the model's prior_on",
                                                .number_path = model_path};

static void read_numbers(struct problem *problem, int which)
{
    struct problem_prior_tables *tables = &problem->prior_tables;
    const char *path = number_path[which];
    struct hdf5_column column;
    struct error fault = {0};
    double *number;
    if (!problem_open_column(problem, path, &column))
        return;
    uint64_t a = column.n_row, b = column.width;
    if (column.class != HDF5_INTEGER && column.class != HDF5_FLOAT) {
        faults_add(&problem->faults, "%s: must be numbers", path);
    } else if (!hdf5_column_as_vector(&column) || column.n_row > PROBLEM_MAX_PARAMETER) {
        faults_add(&problem->faults,
                   "%s: is %" PRIu64 " x %" PRIu64 "; one number per parameter is expected, the "
                                                   "same for "
                   "all datasets",
                   path, a, b);
    } else if ((number = problem_alloc(problem, column.n_row + 1, sizeof *number))) {
        tables->number[which] = number;
        tables->n_number[which] = (size_t)column.n_row;
        if (hdf5_column_read_double(&column, 0, (size_t)column.n_row, number, &fault))
            faults_add_error(&problem->faults, problem->file.path, &fault);
    }
    hdf5_column_close(&column);
}

void problem_open_priors(struct problem *problem)
{
    struct problem_prior_tables *tables = &problem->prior_tables;
    problem_read_values(problem, "/parameters/prior", PROBLEM_MAX_PARAMETER, &tables->n_kind,
                        &tables->kind);
    problem_read_values(problem, "/parameters/prior_on", PROBLEM_MAX_PARAMETER, &tables->n_on,
                        &tables->on);
    for (int i = 0; i < N_PRIOR_NUMBER; i++)
        read_numbers(problem, i);
    problem->info.parameter_prior = tables->kind;
    for (size_t i = 0; tables->kind && i < tables->n_kind; i++)
        problem->info.n_prior += strcmp(tables->kind[i], "none") != 0;
    bool orphan = tables->on;
    for (int i = 0; i < N_PRIOR_NUMBER; i++)
        orphan = orphan || tables->number[i];
    if (orphan && hdf5_kind(&problem->file, "/parameters/prior") == HDF5_ABSENT)
        faults_add(&problem->faults, "/parameters/prior is missing: without it the other tables of "
                                     "priors have no meaning");
}

static bool has_length(struct problem *problem, const char *path, size_t n)
{
    if (n == problem->n_parameter)
        return true;
    faults_add(&problem->faults, "%s: has %zu entries for %zu parameters", path, n,
               problem->n_parameter);
    return false;
}

static bool have_lengths(struct problem *problem)
{
    const struct problem_prior_tables *tables = &problem->prior_tables;
    bool good = has_length(problem, "/parameters/prior", tables->n_kind);
    if (tables->on)
        good = has_length(problem, "/parameters/prior_on", tables->n_on) && good;
    for (int i = 0; i < N_PRIOR_NUMBER; i++)
        if (tables->number[i])
            good = has_length(problem, number_path[i], tables->n_number[i]) && good;
    return good;
}

/* Row i of a table, in messages. */
struct place {
    struct problem_faults *faults;
    size_t i;
    const char *name; /* of the parameter */
};

static int find_word(const struct place *place, const char *path, const char *word,
                     const char *what, const char *const *words, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (nearest_is_same(word, words[k]))
            return (int)k;
    const char *near = strlen(word) < 64 ? nearest_name(word, words, n) : NULL;
    if (near)
        faults_add(place->faults, "%s row %zu (%.60s): \"%.40s\" is no %s; did you mean \"%s\"?",
                   path, place->i, place->name, word, what, near);
    else
        faults_add(place->faults, "%s row %zu (%.60s): \"%.40s\" is no %s; use %s", path, place->i,
                   place->name, word, what,
                   n == N_PRIOR_KIND ? "none, normal, log-normal, laplace, log-laplace, uniform, "
                                       "log-uniform, cauchy, gamma, "
                                       "chi-square, exponential or rayleigh"
                                     : "natural or optimizer");
    return -1;
}

/* A number that the prior of parameter i needs; NaN and a fault if it is missing. */
static double need_number(const struct place *place, const struct prior_source *source, int which,
                          const char *kind)
{
    const double *number = source->tables.number[which];
    const char *path = source->number_path[which];
    if (!number)
        faults_add(place->faults, "%s is missing: the %s prior of %.60s (row %zu) needs it",
                   path, kind, place->name, place->i);
    else if (isnan(number[place->i]))
        faults_add(place->faults, "%s row %zu (%.60s): is NaN; a %s prior needs it", path, place->i,
                   place->name, kind);
    return number ? number[place->i] : NAN;
}

/* Converts lower and upper on the prior's scale to bounds on the natural scale. */
static void match_uniform(const struct place *place, const struct prior_source *source,
                          const char *scale, struct problem_prior *prior)
{
    const char *name = place->name;
    bool is_log = strcmp(scale, "lin") != 0;
    size_t i = place->i;
    double lower = need_number(place, source, PRIOR_LOWER, kinds[prior->kind]);
    double upper = need_number(place, source, PRIOR_UPPER, kinds[prior->kind]);
    if (prior->kind == PRIOR_LOG_UNIFORM && lower <= 0)
        faults_add(place->faults,
                   "%s row %zu (%.60s): is %g; a log-uniform prior needs a positive one",
                   source->number_path[PRIOR_LOWER], i, name, lower);
    if (lower >= upper)
        faults_add(place->faults, "%s row %zu (%.60s): is %g, not below the upper end %g",
                   source->number_path[PRIOR_LOWER], i, name, lower, upper);
    if (prior->on_optimizer && is_log) {
        bool is_log10 = strcmp(scale, "log10") == 0;
        lower = is_log10 ? pow(10, lower) : exp(lower);
        upper = is_log10 ? pow(10, upper) : exp(upper);
    } else if (is_log && upper <= 0) {
        faults_add(place->faults, "%s row %zu (%.60s): is %g; with scale %s it must be > 0",
                   source->number_path[PRIOR_UPPER], i, name, upper, scale);
    }
    prior->lower = lower;
    prior->upper = upper;
}

void prior_match(const struct prior_source *source, size_t i, const char *name, const char *scale,
                 struct problem_faults *faults, struct problem_prior *prior)
{
    const struct problem_prior_tables *tables = &source->tables;
    const struct place place = {faults, i, name};
    bool is_log = strcmp(scale, "lin") != 0;
    int kind =
        find_word(&place, source->kind_path, tables->kind[i], "prior", kinds, N_PRIOR_KIND);
    int on = tables->on ? find_word(&place, source->on_path, tables->on[i], "scale of a prior",
                                    scales_of, 2)
                        : 0;
    if (kind <= 0 || on < 0)
        return;
    prior->kind = (enum prior_kind)kind;
    prior->on_optimizer = on == 1;
    if ((positive[kind] || prior->kind == PRIOR_LOG_NORMAL) && on == 1 && is_log)
        faults_add(faults,
                   "%s row %zu (%.60s): is optimizer, where the parameter is already a logarithm; "
                   "use natural%s",
                   source->on_path, i, name,
                   prior->kind == PRIOR_LOG_NORMAL ? ", or a normal prior" : "");
    if (needs_of[kind] & NEEDS_BOUNDS)
        match_uniform(&place, source, scale, prior);
    if (prior->kind == PRIOR_UNIFORM)
        return;
    prior->location = needs_of[kind] & NEEDS_LOCATION
                          ? need_number(&place, source, PRIOR_LOCATION, kinds[kind])
                          : 0;
    prior->scale = needs_of[kind] & NEEDS_SCALE
                       ? need_number(&place, source, PRIOR_SCALE, kinds[kind])
                       : 1;
    bool is_shape = prior->kind == PRIOR_GAMMA || prior->kind == PRIOR_CHI_SQUARE;
    if (isinf(prior->location) || (is_shape && prior->location <= 0))
        faults_add(faults, "%s row %zu (%.60s): is %s",
                   source->number_path[PRIOR_LOCATION], i, name,
                   isinf(prior->location) ? "infinite" : "not positive");
    if (prior->scale <= 0 || isinf(prior->scale))
        faults_add(faults, "%s row %zu (%.60s): is %g; it must be > 0 and finite",
                   source->number_path[PRIOR_SCALE], i, name, prior->scale);
}

const char *prior_other_scale(const struct problem_expectation *model, size_t i, const char *scale)
{
    const char *own = model->parameter_scale ? model->parameter_scale[i] : "lin";
    bool is_on_optimizer =
        model->parameter_prior_on && strcmp(model->parameter_prior_on[i], "optimizer") == 0;
    return strcmp(model->parameter_prior[i], "none") != 0 && is_on_optimizer &&
           strcmp(own, scale) != 0 ? own : NULL;
}

static void check_same_scale(struct problem *problem, const struct problem_expectation *expectation,
                             size_t i)
{
    const char *scale = problem->parameter_scale[i];
    const char *other = prior_other_scale(expectation, problem->to_model[i], scale);
    if (other)
        faults_add(&problem->faults,
                   "/parameters/scale row %zu (%.60s): is %s, but the model's prior refers to "
                   "scale %s; keep that scale, or add /parameters/prior",
                   i, problem->parameter_name[i], scale, other);
}

/* Takes the model's priors, in the file's order of parameters. */
static bool take_from_model(struct problem *problem, const struct problem_expectation *expectation,
                            struct problem_prior_tables *tables)
{
    size_t n = problem->n_parameter;
    const char **words = arena_calloc(&problem->arena, 2 * n + 1, sizeof *words);
    double *numbers = arena_calloc(&problem->arena, N_PRIOR_NUMBER * n + 1, sizeof *numbers);
    if (!words || !numbers)
        return false;
    *tables = (struct problem_prior_tables){.kind = words, .on = words + n};
    for (int which = 0; which < N_PRIOR_NUMBER; which++)
        tables->number[which] = numbers + (size_t)which * n;
    for (size_t i = 0; i < n; i++) {
        uint32_t k = problem->to_model[i];
        bool is_own = k == PROBLEM_NOT_OF_MODEL;
        words[i] = is_own ? "none" : expectation->parameter_prior[k];
        words[n + i] = expectation->parameter_prior_on && !is_own
                           ? expectation->parameter_prior_on[k]
                           : scales_of[0];
        for (int which = 0; which < N_PRIOR_NUMBER; which++) {
            const double *number = expectation->parameter_prior_number[which];
            numbers[(size_t)which * n + i] = number && !is_own ? number[k] : (double)NAN;
        }
        if (!is_own)
            check_same_scale(problem, expectation, i);
    }
    return true;
}

enum status problem_match_priors(struct problem *problem,
                                 const struct problem_expectation *expectation, struct error *error)
{
    size_t n = problem->n_parameter;
    struct prior_source source = {.tables = problem->prior_tables, .kind_path = "/parameters/prior",
                                  .on_path = "/parameters/prior_on", .number_path = number_path};
    bool has_own = problem->prior_tables.kind != NULL;
    if ((!has_own && !expectation->parameter_prior) || (has_own && !have_lengths(problem)))
        return STATUS_OK;
    if (!has_own) {
        source = prior_source_model;
        if (!take_from_model(problem, expectation, &source.tables))
            return problem_no_memory(problem, error);
    }
    problem->prior = arena_calloc(&problem->arena, n + 1, sizeof *problem->prior);
    if (!problem->prior)
        return problem_no_memory(problem, error);
    for (size_t i = 0; i < n; i++) {
        prior_match(&source, i, problem->parameter_name[i], problem->parameter_scale[i],
                    &problem->faults, &problem->prior[i]);
        if (prior_needs_sigma(problem->prior[i].kind) && !problem->errors.sigma_for)
            problem->errors.sigma_for = source.is_model ? "a prior of the model" : "a prior";
    }
    return STATUS_OK;
}

void prior_tighten(const struct problem_prior *prior, double *lower, double *upper)
{
    if (!prior_has_bounds(prior->kind))
        return;
    *lower = prior->lower > *lower ? prior->lower : *lower;
    *upper = prior->upper < *upper ? prior->upper : *upper;
}

void problem_tighten_bounds(const struct problem *problem, double *lower, double *upper)
{
    for (size_t i = 0; problem->prior && i < problem->n_parameter; i++)
        prior_tighten(&problem->prior[i], &lower[i], &upper[i]);
}

void problem_hash_priors(const struct problem *problem, struct sha256 *hash)
{
    for (size_t i = 0; problem->prior && i < problem->n_parameter; i++) {
        const struct problem_prior *prior = &problem->prior[i];
        if (prior->kind == PRIOR_NONE)
            continue;
        sha256_add_uint64(hash, i);
        sha256_add_string(hash, kinds[prior->kind]);
        sha256_add_string(hash, scales_of[prior->on_optimizer]);
        const double number[] = {prior->location, prior->scale, prior->lower, prior->upper};
        for (int k = 0; k < 4; k++)
            sha256_add_double(hash, number[k]);
    }
}

const struct problem_prior *problem_prior(const struct problem *problem) { return problem->prior; }
uint64_t problem_n_censored(const struct problem *problem) { return problem->n_censored; }
bool problem_has_limits(const struct problem *problem)
{
    return problem->stream[GROUP_MEASUREMENTS].field[MEASUREMENT_limit].column.dataset;
}
