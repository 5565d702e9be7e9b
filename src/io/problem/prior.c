/* Priors of a problem file. Separate because they are checked against scales, bounds and the
 * model, and because a prior that cannot be used must never be ignored silently.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem/internal.h"

#include "base/sha256.h"
#include "base/words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Columns in messages. */
#define OF_MODEL(name, kind, by_dataset, width, meaning) "the model's " #name,
static const char *const model_path[N_PARAMETER_COLUMN] = {PARAMETER_LIST(OF_MODEL)};

static const char *path_of(const struct prior_source *source, int column)
{
    return source->is_model ? model_path[column] : parameter_columns[column].path;
}

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

void problem_open_priors(struct problem *problem)
{
    const struct problem_table *table = problem->table, *prior = &table[PARAMETER_prior];
    problem->info.parameter_prior = prior->text;
    for (size_t i = 0; i < prior->n; i++)
        problem->info.n_prior += strcmp(prior->text[i], "none") != 0;
    bool orphan = false;
    for (int c = PARAMETER_prior + 1; c < N_PARAMETER_COLUMN; c++)
        orphan = orphan || table[c].text || table[c].vector;
    if (orphan && hdf5_kind(&problem->file, "/parameters/prior") == HDF5_ABSENT)
        faults_add(&problem->faults, "/parameters/prior is missing: without it the other tables of "
                                     "priors have no meaning");
}

static bool have_lengths(struct problem *problem)
{
    bool good = true;
    for (int c = PARAMETER_prior; c < N_PARAMETER_COLUMN; c++) {
        const struct problem_table *table = &problem->table[c];
        const bool is_good = (!table->text && !table->vector) || table->n == problem->n_parameter;
        if (!is_good)
            faults_add(&problem->faults, "%s: has %zu entries for %zu parameters",
                       parameter_columns[c].path, table->n, problem->n_parameter);
        good = good && is_good;
    }
    return good;
}

/* Row i of a table, in messages. */
struct place {
    struct faults *faults;
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
static double need_number(const struct place *place, const struct prior_source *source, int column,
                          const char *kind)
{
    const double *number = parameters_cell(&source->parameter, (enum parameter_column)column, 0);
    const char *path = path_of(source, column);
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
    double lower = need_number(place, source, PARAMETER_prior_lower, kinds[prior->kind]);
    double upper = need_number(place, source, PARAMETER_prior_upper, kinds[prior->kind]);
    if (prior->kind == PRIOR_LOG_UNIFORM && lower <= 0)
        faults_add(place->faults,
                   "%s row %zu (%.60s): is %g; a log-uniform prior needs a positive one",
                   path_of(source, PARAMETER_prior_lower), i, name, lower);
    if (lower >= upper)
        faults_add(place->faults, "%s row %zu (%.60s): is %g, not below the upper end %g",
                   path_of(source, PARAMETER_prior_lower), i, name, lower, upper);
    if (prior->on_optimizer && is_log) {
        bool is_log10 = strcmp(scale, "log10") == 0;
        lower = is_log10 ? pow(10, lower) : exp(lower);
        upper = is_log10 ? pow(10, upper) : exp(upper);
    } else if (is_log && upper <= 0) {
        faults_add(place->faults, "%s row %zu (%.60s): is %g; with scale %s it must be > 0",
                   path_of(source, PARAMETER_prior_upper), i, name, upper, scale);
    }
    prior->lower = lower;
    prior->upper = upper;
}

void prior_match(const struct prior_source *source, size_t i, const char *name, const char *scale,
                 struct faults *faults, struct problem_prior *prior)
{
    const struct parameters *tables = &source->parameter;
    const struct place place = {faults, i, name};
    bool is_log = strcmp(scale, "lin") != 0;
    int kind =
        find_word(&place, path_of(source, PARAMETER_prior), tables->prior[i], "prior", kinds,
                  N_PRIOR_KIND);
    int on = tables->prior_on ? find_word(&place, path_of(source, PARAMETER_prior_on),
                                          tables->prior_on[i], "scale of a prior", scales_of, 2)
                              : 0;
    if (kind <= 0 || on < 0)
        return;
    prior->kind = (enum prior_kind)kind;
    prior->on_optimizer = on == 1;
    if ((positive[kind] || prior->kind == PRIOR_LOG_NORMAL) && on == 1 && is_log)
        faults_add(faults,
                   "%s row %zu (%.60s): is optimizer, where the parameter is already a logarithm; "
                   "use natural%s",
                   path_of(source, PARAMETER_prior_on), i, name,
                   prior->kind == PRIOR_LOG_NORMAL ? ", or a normal prior" : "");
    if (needs_of[kind] & NEEDS_BOUNDS)
        match_uniform(&place, source, scale, prior);
    if (prior->kind == PRIOR_UNIFORM)
        return;
    prior->location = needs_of[kind] & NEEDS_LOCATION
                          ? need_number(&place, source, PARAMETER_prior_location, kinds[kind])
                          : 0;
    prior->scale = needs_of[kind] & NEEDS_SCALE
                       ? need_number(&place, source, PARAMETER_prior_scale, kinds[kind])
                       : 1;
    bool is_shape = prior->kind == PRIOR_GAMMA || prior->kind == PRIOR_CHI_SQUARE;
    if (isinf(prior->location) || (is_shape && prior->location <= 0))
        faults_add(faults, "%s row %zu (%.60s): is %s",
                   path_of(source, PARAMETER_prior_location), i, name,
                   isinf(prior->location) ? "infinite" : "not positive");
    if (prior->scale <= 0 || isinf(prior->scale))
        faults_add(faults, "%s row %zu (%.60s): is %g; it must be > 0 and finite",
                   path_of(source, PARAMETER_prior_scale), i, name, prior->scale);
}

const char *prior_other_scale(const struct problem_expectation *model, size_t i, const char *scale)
{
    const char *own = model->parameter.scale ? model->parameter.scale[i] : "lin";
    bool is_on_optimizer =
        model->parameter.prior_on && strcmp(model->parameter.prior_on[i], "optimizer") == 0;
    return strcmp(model->parameter.prior[i], "none") != 0 && is_on_optimizer &&
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
static bool take_from_model(struct problem *problem, const struct parameters *model,
                            struct parameters *own)
{
    size_t n = problem->n_parameter;
    void *block = arena_alloc(&problem->arena, parameters_bytes(n));
    if (!block)
        return false;
    *own = parameters_place(n, block);
    const char **prior = parameters_cell(own, PARAMETER_prior, 0),
               **prior_on = parameters_cell(own, PARAMETER_prior_on, 0);
    for (size_t i = 0; i < n; i++) {
        uint32_t k = problem->to_model[i];
        bool is_own = k == PROBLEM_NOT_OF_MODEL;
        prior[i] = is_own ? "none" : model->prior[k];
        prior_on[i] = model->prior_on && !is_own ? model->prior_on[k] : scales_of[0];
        for (int which = 0; which < N_PRIOR_NUMBER; which++) {
            const enum parameter_column column = (enum parameter_column)(PARAMETER_PRIORS + which);
            const double *number = is_own ? NULL : parameters_cell(model, column, k);
            *(double *)parameters_cell(own, column, i) = number ? *number : (double)NAN;
        }
    }
    return true;
}

enum status problem_match_priors(struct problem *problem,
                                 const struct problem_expectation *expectation, struct error *error)
{
    size_t n = problem->n_parameter;
    struct prior_source source = {.is_model = !problem->info.parameter_prior};
    if (source.is_model ? !expectation->parameter.prior : !have_lengths(problem))
        return STATUS_OK;
    if (source.is_model && !take_from_model(problem, &expectation->parameter, &source.parameter))
        return problem_no_memory(problem, error);
    if (!source.is_model)
        source.parameter = problem_tables(problem);
    problem->prior = arena_calloc(&problem->arena, n + 1, sizeof *problem->prior);
    if (!problem->prior)
        return problem_no_memory(problem, error);
    for (size_t i = 0; i < n && source.is_model; i++)
        if (problem->to_model[i] != PROBLEM_NOT_OF_MODEL)
            check_same_scale(problem, expectation, i);
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
