/* Resolves names of shared parameters and their groups, and refuses what a fit over many
 * datasets cannot do yet.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/share.h"

#include "base/arena.h"
#include "base/sha256.h"
#include "base/words.h"
#include "io/file/fit_record.h"
#include "run/plan/refit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMN = 32, MAX_SHARED = 2000 };

/* What does not go with a fit over many datasets, and what to do instead. */
static enum status check_options(const struct run_options *options, struct error *error)
{
    const struct recipe *recipe = &options->recipe;
    bool is_random = recipe->random != NULL;
    bool may_descend = !is_random && !recipe->fit.evaluates;
    const struct {
        const char *name, *instead;
        bool is_given;
    } refused[] = {
        {"--only", "make a problem of these datasets alone (stiffit import)",
         options->select.only != NULL},
        {"--shard", "`stiffit submit --ranks` or mpirun divide the datasets",
         options->select.shard_text != NULL},
        {"--retry-failed", "a dataset more changes the fit of all: run it anew (--overwrite)",
         options->retry_failed},
        {"--trace", "one dataset alone has a trace", options->trace != NULL},
        {"--gradient adjoint", may_descend ? "add --optimizer lbfgs" : "--gradient forward",
         recipe->fit.gradient == GRADIENT_adjoint
             && !(may_descend && recipe->fit.optimizer == OPTIMIZER_lbfgs)}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].is_given)
            return error_set(error, STATUS_USAGE, "%s: not with %s parameters (--%s, "
                             "/parameters/level), which make one fit of many datasets; %s",
                             refused[i].name, is_random ? "random" : "shared",
                             is_random ? "random" : "share", refused[i].instead);
    return STATUS_OK;
}

/* What is said of a parameter. */
enum { FROM_FILE, BY_ALL, BY_NAME };

/* What a run shares and what is random in it, as words. */
struct words {
    const char *text, *random; /* of the options --share and --random, or NULL: the file's levels */
    char *room;               /* for its words */
    /* of each parameter: NULL or "dataset", "shared", "random", or the name of a column of groups;
     * and who says so */
    const char **of;
    uint8_t *by;
    bool *wanted;             /* scratch */
    bool *varies;             /* between the experiments of a dataset */
    const char *const *names; /* of the parameters */
    bool is_whole;            /* the options say it all: the file's levels do not count */
};

static bool is_random(const char *word) { return word && !strcmp(word, "random"); }

/* Each option replaces what the file says of its own kind. */
static void find_levels(struct words *words, const struct problem *problem, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *level = words->is_whole ? NULL : problem_level(problem, i);
        words->of[i] = (is_random(level) ? words->random : words->text) ? NULL : level;
    }
}

static enum status find_shared(struct words *words, size_t n, struct error *error)
{
    enum status status = STATUS_OK;
    strcpy(words->room, words->text);
    for (char *entry = words->room, *next; !status && entry; entry = next) {
        if ((next = strchr(entry, ',')))
            *next++ = '\0';
        char *column = strchr(entry, '@'), *hash = column ? strchr(column, ':') : NULL;
        if (column)
            *column++ = '\0';
        if (hash)
            *hash = '\0';
        memset(words->wanted, 0, n);
        status = refit_mark_names("share", entry, words->names, n, words->wanted, error);
        for (size_t i = 0; !status && i < n; i++)
            if (words->wanted[i]) {
                words->of[i] = column ? column : "shared";
                words->by[i] = strcmp(entry, "all") ? BY_NAME : BY_ALL;
            }
    }
    return status;
}

/* Marks the names of --random that vary between experiments, NAME@experiment; the others go to
 * `text`. */
static enum status find_occasions(struct words *words, char *text, size_t n, struct error *error)
{
    static const char by[] = "@experiment";
    enum status status = STATUS_OK;
    size_t used = 0;
    for (const char *entry = words->random; !status; entry++) {
        size_t length = strcspn(entry, ","), i = 0;
        const char *at = memchr(entry, '@', length);
        size_t n_name = at ? (size_t)(at - entry) : length;
        while (at && i < n && !(strlen(words->names[i]) == n_name
                                && !memcmp(words->names[i], entry, n_name)))
            i++;
        if (!at)
            used += (size_t)sprintf(text + used, "%s%.*s", used ? "," : "", (int)length, entry);
        else if (length - n_name != sizeof by - 1 || memcmp(at, by, sizeof by - 1) != 0 || i == n)
            status = error_set(error, STATUS_USAGE,
                               "--random: '%.*s': a random parameter has a value "
                               "for each dataset (NAME), and may also vary between the experiments "
                               "of a dataset (NAME@experiment); nothing else is possible",
                               length < 100 ? (int)length : 100, entry);
        else
            words->varies[i] = true;
        entry += length;
        if (!*entry)
            break;
    }
    if (!status && used == 0 && *words->random)
        status = error_set(error, STATUS_USAGE, "--random: some parameter must differ between the "
                           "datasets, too: name it without @experiment");
    return status;
}

/* `all` is all that the other option does not name; --random says it of free parameters. */
static enum status find_random(struct words *words, const struct problem *problem, size_t n,
                               struct error *error)
{
    char *text = calloc(strlen(words->random) + 1, 1);
    memset(words->wanted, 0, n);
    enum status status = text ? find_occasions(words, text, n, error)
                              : error_set(error, STATUS_NO_MEMORY, "out of memory for --random");
    bool is_all = text && !strcmp(text, "all");
    if (!status)
        status = refit_mark_names("random", text, words->names, n, words->wanted, error);
    free(text);
    for (size_t i = 0; !status && i < n; i++) {
        if (!words->wanted[i] ||
            (is_all && (words->by[i] == BY_NAME || problem_n_fixed(problem, i))))
            continue;
        if (words->by[i] == BY_NAME)
            return error_set(error, STATUS_USAGE, "'%.60s' is both shared (--share) and random "
                             "(--random)", words->names[i]);
        words->of[i] = "random";
    }
    return status;
}

static enum status find_words(struct words *words, const struct problem *problem, size_t n,
                              struct error *error)
{
    enum status status = STATUS_OK;
    find_levels(words, problem, n);
    if (words->text)
        status = find_shared(words, n, error);
    if (!status && words->random)
        status = find_random(words, problem, n, error);
    return status;
}

/* Texts by their bytes, numbers by their size. */
static int compare_values(const void *a, const void *b)
{
    const struct own_value *x = a, *y = b;
    if (x->text)
        return strcmp(x->text, y->text);
    return (x->number > y->number) - (x->number < y->number);
}

/* The error of a dataset without a group. */
static enum status no_group(const struct problem *problem, const char *column, size_t i,
                            const struct own_value *value, struct arena *arena, struct error *error)
{
    char *id = NULL;
    enum status status = problem_read_ids(problem, i, 1, arena, &id, error);
    return status ? status
                  : error_set(error, STATUS_BAD_PROBLEM,
                              "%s: columns of the datasets, row %zu (dataset '%.100s'): the group "
                              "%s is %s; give it one",
                              problem_info(problem)->path, i, id, column,
                              value->text            ? "empty"
                              : isnan(value->number) ? "nan"
                                                     : "infinite");
}

/* A column of datasets as the problem has it: n values, whose texts are in the arena. */
static enum status read_column(const struct problem *problem, const char *column,
                               struct own_value *value, struct arena *arena, struct error *error)
{
    const struct problem_info *info = problem_info(problem);
    char hint[NEAREST_HINT];
    int found = own_columns_find(&info->column, column);
    if (found < 0)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: there is no column of groups '%.60s' in /datasets/columns or "
                         "/datasets/covariate_names%s",
                         info->path, column,
                         nearest_hint(hint, "; did you mean '", "'?", column, info->column.name,
                                      info->column.n));
    enum status status = problem_read_column(problem, (size_t)found, 0, (size_t)info->n_dataset,
                                             arena, value, 1, error);
    for (size_t i = 0; !status && i < info->n_dataset; i++)
        if (value[i].text ? !*value[i].text : !isfinite(value[i].number))
            status = no_group(problem, column, i, &value[i], arena, error);
    return status;
}

/* Numbers the groups of a column from 0, in the order of its values. */
static enum status read_groups(const struct problem *problem, const char *column, uint32_t *group,
                               size_t *n_group, struct error *error)
{
    size_t n = (size_t)problem_info(problem)->n_dataset;
    struct arena arena = {0};
    struct own_value *value = calloc(2 * n + 1, sizeof *value), *sorted = value + n;
    enum status status = value ? read_column(problem, column, value, &arena, error)
                               : error_set(error, STATUS_NO_MEMORY,
                                           "out of memory for the groups of %zu datasets", n);
    *n_group = 0;
    if (!status) {
        memcpy(sorted, value, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, compare_values);
        for (size_t i = 0; i < n; i++)
            if (i == 0 || compare_values(&sorted[i], &sorted[*n_group - 1]))
                sorted[(*n_group)++] = sorted[i];
        for (size_t i = 0; i < n; i++)
            group[i] = (uint32_t)((struct own_value *)bsearch(&value[i], sorted, *n_group,
                                                              sizeof *sorted, compare_values) -
                                  sorted);
    }
    free(value);
    arena_fini(&arena);
    return status;
}

/* Fills the levels and groups. */
static enum status set_levels(struct share *share, const struct problem *problem, const char **word,
                              const char **column, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < share->n_parameter; i++) {
        size_t c = 0;
        if (!word[i] || !strcmp(word[i], "dataset"))
            continue;
        share->n++;
        share->level[i] = 1;
        if (!strcmp(word[i], "shared") || is_random(word[i]))
            continue;
        while (c < share->n_column && strcmp(column[c], word[i]) != 0)
            c++;
        share->level[i] = (uint8_t)(2 + c);
        if (c < share->n_column)
            continue;
        if (c == MAX_COLUMN ||
            !(share->group[c] = calloc(share->n_dataset + 1, sizeof **share->group)))
            return error_set(error, STATUS_USAGE,
                             "more than %d columns of groups, or out of memory for them",
                             MAX_COLUMN);
        column[share->n_column++] = word[i];
        status = read_groups(problem, word[i], share->group[c], &share->n_group[c], error);
    }
    return status;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Numbers n groups from 0, in their order; returns how many there are. `sorted`: n. */
static size_t renumber(const uint32_t *group, const uint32_t *member, size_t n, uint32_t *sorted,
                       uint32_t *number)
{
    size_t n_group = 0;
    for (size_t i = 0; i < n; i++)
        sorted[i] = group[member[i]];
    qsort(sorted, n, sizeof *sorted, compare_numbers);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[n_group - 1])
            sorted[n_group++] = sorted[i];
    for (size_t i = 0; i < n; i++)
        number[i] = (uint32_t)((uint32_t *)bsearch(&group[member[i]], sorted, n_group,
                                                   sizeof *sorted, compare_numbers) -
                               sorted);
    return n_group;
}

static void swap_columns(uint8_t *level, size_t n, const uint32_t **group, size_t *n_group,
                         size_t other)
{
    const uint32_t *first = group[0];
    size_t n_first = n_group[0];
    group[0] = group[other];
    n_group[0] = n_group[other];
    group[other] = first;
    n_group[other] = n_first;
    for (size_t i = 0; i < n; i++)
        level[i] = level[i] == 2           ? (uint8_t)(2 + other)
                   : level[i] == 2 + other ? 2
                                           : level[i];
}

bool share_levels_make(struct share_levels *made, const struct share *share, size_t c,
                       size_t *n_value)
{
    size_t n = components_size(&share->components, c), n_parameter = share->n_parameter,
           n_column = share->n_column;
    const uint32_t *member = components_members(&share->components, c);
    size_t pointers = n_column * (sizeof(uint32_t *) + sizeof(size_t)), most = 0, first = 0,
           kept = 0;
    share_levels_fini(made);
    unsigned char *next = made->memory =
        calloc(1, pointers + (n_column + 1) * n * sizeof(uint32_t) + n_parameter + 1);
    if (!next)
        return false;
    const uint32_t **group = (const uint32_t **)(void *)next;
    size_t *n_group = (size_t *)(void *)(next + n_column * sizeof *group);
    uint32_t *number = (uint32_t *)(void *)(next + pointers), *sorted = number + n_column * n;
    uint8_t *level = (uint8_t *)(sorted + n);
    *n_value = 0;
    for (size_t i = 0; i < n_parameter; i++) {
        level[i] = share->level[i] == 1;
        *n_value += level[i];
    }
    for (size_t k = 0; k < n_column; k++) {
        size_t count = renumber(share->group[k], member, n, sorted, number), values = 0;
        for (size_t i = 0; i < n_parameter; i++)
            if (share->level[i] == 2 + k) {
                level[i] = (uint8_t)(count > 1 ? 2 + kept : 1);
                values += count;
            }
        *n_value += values;
        if (count == 1)
            continue;
        first = values > most ? kept : first;
        most = values > most ? values : most;
        group[kept] = number;
        n_group[kept++] = count;
        number += n;
    }
    *n_value -= most;
    if (first > 0)
        swap_columns(level, n_parameter, group, n_group, first);
    made->levels = (struct joint_levels){.level = level, .n_column = kept, .group = group,
                                         .n_group = n_group};
    made->random = (struct mixed_levels){.random = share->random.block,
                                         .occasion = share->random.occasion,
                                         .deviation = share->deviation.deviation,
                                         .by_experiment = share->deviation.by_experiment,
                                         .correlation = share->deviation.correlation};
    return true;
}

void share_levels_fini(struct share_levels *made)
{
    free(made->memory);
    *made = (struct share_levels){.memory = NULL};
}

/* The fits, and which parameters have one value in each of them. */
static enum status find_fits(struct share *share, struct error *error)
{
    struct share_levels made = {.memory = NULL};
    size_t n_value;
    bool is_one = false;
    for (size_t i = 0; i < share->n_parameter; i++) {
        is_one = is_one || share->level[i] == 1;
        share->is_common[i] = share->level[i] > 0;
    }
    if (!components_find(&share->components, share->n_dataset, share->n_column,
                         (const uint32_t *const *)share->group, share->n_group, is_one))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the groups of %zu datasets",
                         share->n_dataset);
    enum status status = STATUS_OK;
    for (size_t c = 0; !status && c < share->components.n; c++) {
        if (!share_levels_make(&made, share, c, &n_value))
            status = error_set(error, STATUS_NO_MEMORY,
                               "out of memory for the groups of %zu datasets", share->n_dataset);
        else if (n_value > MAX_SHARED)
            status = error_set(error, STATUS_USAGE,
                               "%zu values of shared parameters and of groups, "
                               "besides those of the column with the most: at most %d are possible "
                               "in a fit",
                               n_value, MAX_SHARED);
        for (size_t i = 0; !status && i < share->n_parameter; i++)
            share->is_common[i] = share->is_common[i] && made.levels.level[i] == 1;
    }
    share_levels_fini(&made);
    return status;
}

/* What the run's identity holds: names, and where the groups are. */
static bool print(struct share *share, const char *const *names, const char **column)
{
    size_t n = share->n_parameter, used = 0, length = 1, n_dataset = share->n_dataset;
    for (size_t i = 0; i < n; i++)
        length += strlen(names[i]) + 20 +
                  (share->level[i] >= 2 ? strlen(column[share->level[i] - 2]) : 0);
    if (!(share->text = calloc(length, 1)))
        return false;
    for (int groups = 0; groups < 2; groups++)
        for (size_t i = 0; i < n; i++) {
            size_t level = share->level[i];
            unsigned char digest[32];
            if (level == 0 || (level >= 2) != groups
                || (share->random.n > 0 && share->random.block[i] > 0))
                continue;
            used += (size_t)snprintf(share->text + used, length - used, "%s%s", used ? "," : "",
                                     names[i]);
            if (level < 2)
                continue;
            sha256_of(share->group[level - 2], n_dataset * sizeof(uint32_t), digest);
            used += (size_t)snprintf(share->text + used, length - used, "@%s:%02x%02x%02x%02x",
                                     column[level - 2], digest[0], digest[1], digest[2], digest[3]);
        }
    if (used == 0) {
        free(share->text);
        share->text = NULL;
    }
    return true;
}

static bool make_room(struct share *share, struct words *words)
{
    size_t n = share->n_parameter;
    words->of = calloc(n + 1, sizeof *words->of);
    words->wanted = calloc(n + 1, sizeof *words->wanted);
    words->by = calloc(n + 1, 1);
    words->varies = calloc(n + 1, sizeof *words->varies);
    words->room = calloc(words->text ? strlen(words->text) + 1 : 1, 1);
    share->level = calloc(n + 1, 1);
    share->is_common = calloc(n + 1, 1);
    share->group = calloc(MAX_COLUMN, sizeof *share->group);
    share->n_group = calloc(MAX_COLUMN, sizeof *share->n_group);
    return words->of && words->wanted && words->by && words->varies && words->room && share->level
           && share->is_common && share->group && share->n_group;
}

static enum status set_random(struct share *share, const struct words *words,
                              const struct recipe *recipe, struct error *error)
{
    for (size_t i = 0; i < share->n_parameter; i++)
        words->wanted[i] = is_random(words->of[i]);
    enum status status = share_random_init(&share->random, words->wanted, words->varies,
                                           words->names, share->n_parameter,
                                           recipe->random_covariance, error);
    return status ? status
                  : share_deviation_init(&share->deviation, &share->random, words->names,
                                         share->n_parameter, recipe->random_deviation, error);
}

static enum status make(struct share *share, const struct recipe *recipe, struct words *words,
                        size_t n_parameter, const struct problem *problem, struct error *error)
{
    const char *const *names = words->names;
    const char *column[MAX_COLUMN];
    share->n_parameter = n_parameter;
    share->n_dataset = (size_t)problem_info(problem)->n_dataset;
    enum status status = STATUS_OK;
    if (!make_room(share, words))
        status =
            error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n_parameter);
    if (!status)
        status = find_words(words, problem, n_parameter, error);
    if (!status)
        status = set_levels(share, problem, words->of, column, error);
    if (!status)
        status = set_random(share, words, recipe, error);
    if (!status && share->n > 0)
        status = find_fits(share, error);
    if (!status && share->n > 0 && !print(share, names, column))
        status =
            error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n_parameter);
    free(words->of);
    free(words->wanted);
    free(words->by);
    free(words->varies);
    free(words->room);
    return status;
}

enum status share_read(struct share *share, const struct recipe *recipe, const char *const *names,
                       size_t n_parameter, const struct problem *problem, struct error *error)
{
    struct words words = {.text = recipe->share, .random = recipe->random, .names = names,
                          .is_whole = true};
    struct recipe kept = *recipe; /* of fits that have begun: their text may be a hash */
    kept.random_deviation = NULL;
    return make(share, &kept, &words, n_parameter, problem, error);
}

/* A replicate's record has room for so many estimates (joint_refits.c). */
static enum status check_replicates(const struct share *share, struct error *error)
{
    size_t n = share->n;
    for (size_t i = 0; share->random.n && i < share->n_parameter; i++) {
        n += share->random.occasion && share->random.occasion[i];
        for (size_t j = 0; j <= i; j++)
            n += share->random.block[i] && share->random.block[i] == share->random.block[j];
    }
    return share->random.n && n > 2 * FIT_MAX_POINT
               ? error_set(error, STATUS_USAGE, "--bootstrap: %zu estimates; with random "
                           "parameters at most %d are possible: fewer correlations "
                           "(--random-covariance)", n, 2 * FIT_MAX_POINT)
               : STATUS_OK;
}

/* Without a search nothing is guessed. */
static enum status check_evaluation(const struct share *share, const char *const *names,
                                    struct error *error)
{
    char room[200];
    const char *lacks = share_deviation_lacks(&share->deviation, &share->random, names,
                                              share->n_parameter, room);
    return lacks ? error_set(error, STATUS_USAGE, "--evaluate: it needs the standard deviation of "
                             "each random parameter: give --random-deviation %.200s=NUMBER", lacks)
                 : STATUS_OK;
}

enum status share_open(struct share *share, struct run_options *options,
                       const struct problem *problem, struct error *error)
{
    struct words words = {.text = options->recipe.share, .random = options->recipe.random,
                          .names = problem_parameter_name(problem)};
    enum status status = make(share, &options->recipe, &words, problem_n_parameter(problem),
                              problem, error);
    if (!status)
        status = share_random_check_options(&share->random, options, error);
    if (!status && options->recipe.fit.evaluates)
        status = check_evaluation(share, words.names, error);
    if (!status && options->recipe.n_bootstrap > 0)
        status = check_replicates(share, error);
    if (!status)
        status = share_random_check_problem(&share->random, share->level, problem, error);
    if (!status && share->n == 0 && options->recipe.leave_out_failed)
        status = error_set(error, STATUS_USAGE,
                           "--leave-out-failed: no parameter is shared (--share, "
                           "/parameters/level), so "
                           "no dataset fails because of another");
    if (!status && share->n > 0) {
        options->recipe.share = share->text;
        options->recipe.random = share->random.text;
        options->recipe.random_covariance = share->random.covariance;
        options->recipe.random_deviation = share->deviation.text;
        share->leaves_out = options->recipe.leave_out_failed || share->random.n > 0;
        options->recipe.leave_out_failed = options->recipe.leave_out_failed && !share->random.n;
        status = check_options(options, error);
    }
    return status;
}

void share_fini(struct share *share)
{
    for (size_t c = 0; share->group && c < MAX_COLUMN; c++)
        free(share->group[c]);
    free(share->group);
    free(share->n_group);
    free(share->level);
    free(share->is_common);
    components_fini(&share->components);
    share_random_fini(&share->random);
    share_deviation_fini(&share->deviation);
    free(share->text);
    *share = (struct share){.n = 0};
}
