/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/share_random.h"

#include "base/words.h"
#include "io/result/mixed_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANDOM = 60 }; /* the covariance of all estimates grows with its fourth power */

static enum status no_memory(size_t n, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
}

/* The index of the random parameter with the name of these n bytes; n_parameter: there is none. */
static size_t find_random(const struct share_random *random, const char *const *names,
                          size_t n_parameter, const char *name, size_t n)
{
    size_t i = 0;
    while (i < n_parameter && !(random->block[i] && strlen(names[i]) == n
                                && !memcmp(names[i], name, n)))
        i++;
    return i;
}

static enum status refuse_name(const struct share_random *random, const char *const *names,
                               size_t n_parameter, const char *name, size_t n, struct error *error)
{
    char text[100], hint[NEAREST_HINT];
    const char **known = calloc(random->n + 1, sizeof *known);
    size_t n_known = 0;
    if (!known)
        return no_memory(n_parameter, error);
    for (size_t i = 0; i < n_parameter; i++)
        if (random->block[i])
            known[n_known++] = names[i];
    snprintf(text, sizeof text, "%.*s", n < sizeof text ? (int)n : (int)sizeof text - 1, name);
    if (n > 11 && !memcmp(name + n - 11, "@experiment", 11))
        error_set(error, STATUS_USAGE, "--random-covariance: '%s': what experiments add to their "
                  "parameters is independent of all else; correlations of it are not possible yet "
                  "(name only parameters that differ between datasets)", text);
    else
        error_set(error, STATUS_USAGE,
                  "--random-covariance: '%s' is not a random parameter; it takes "
                  "full, diagonal, or names of random parameters joined by dots, as in k.V,ka%s",
                  text, nearest_hint(hint, "\nDid you mean '", "'?", text, known, n_known));
    free(known);
    return error->status;
}

/* Numbers the blocks from 1, those of BLOCKS first. */
static enum status set_blocks(struct share_random *random, const char *covariance,
                              const char *const *names, size_t n_parameter, struct error *error)
{
    enum { OPEN = MAX_RANDOM + 1 }; /* in no block yet */
    bool is_diagonal = !strcmp(covariance, "diagonal");
    uint8_t number = 1;
    for (size_t i = 0; i < n_parameter; i++)
        if (random->block[i])
            random->block[i] = OPEN;
    for (const char *name = covariance; !is_diagonal; name++) {
        size_t n = strcspn(name, ".,"), i = find_random(random, names, n_parameter, name, n);
        if (i == n_parameter)
            return refuse_name(random, names, n_parameter, name, n, error);
        if (random->block[i] != OPEN)
            return error_set(error, STATUS_USAGE, "--random-covariance: '%.60s' appears twice",
                             names[i]);
        random->block[i] = number;
        name += n;
        if (!*name)
            break;
        number = (uint8_t)(number + (*name == ','));
    }
    number = (uint8_t)(number + !is_diagonal);
    for (size_t i = 0; i < n_parameter; i++)
        if (random->block[i] == OPEN)
            random->block[i] = number++;
    return STATUS_OK;
}

/* Numbers the blocks in the order of their first parameters; returns how many there are. */
static uint8_t renumber(uint8_t *block, size_t n)
{
    uint8_t number[UINT8_MAX + 1] = {0}, n_block = 0;
    for (size_t i = 0; i < n; i++) {
        if (block[i] && !number[block[i]])
            number[block[i]] = ++n_block;
        block[i] = number[block[i]];
    }
    return n_block;
}

/* The blocks of several parameters, in the order of their first ones. */
static void print_blocks(const struct share_random *random, const char *const *names,
                         size_t n_parameter, char *text)
{
    for (size_t i = 0; i < n_parameter; i++) {
        size_t first = 0, n = 0;
        while (random->block[first] != random->block[i])
            first++;
        for (size_t j = i; j < n_parameter && first == i && random->block[i]; j++)
            n += random->block[j] == random->block[i];
        for (size_t j = i, k = 0; k < n && n > 1; j++)
            if (random->block[j] == random->block[i])
                text += sprintf(text, "%s%s", k++ ? "." : text[-1] ? "," : "", names[j]);
    }
}

static enum status set_covariance(struct share_random *random, const char *covariance,
                                  const char *const *names, size_t n_parameter, struct error *error)
{
    size_t length = sizeof "diagonal" + 1;
    enum status status = STATUS_OK;
    if (covariance && strcmp(covariance, "full"))
        status = set_blocks(random, covariance, names, n_parameter, error);
    uint8_t n_block = renumber(random->block, n_parameter);
    if (status || n_block == 1)
        return status;
    for (size_t i = 0; i < n_parameter; i++)
        length += random->block[i] ? strlen(names[i]) + 1 : 0;
    char *text = calloc(length, 1); /* its first byte is 0, which print_blocks looks at */
    if (!text)
        return no_memory(n_parameter, error);
    print_blocks(random, names, n_parameter, text + 1);
    random->covariance = strdup(n_block == random->n ? "diagonal" : text + 1);
    free(text);
    return random->covariance ? STATUS_OK : no_memory(n_parameter, error);
}

/* Which parameters vary between experiments, if any. */
static bool set_occasions(struct share_random *random, const bool *varies, size_t n_parameter)
{
    bool any = false;
    for (size_t i = 0; i < n_parameter; i++)
        any = any || varies[i];
    if (any && !(random->occasion = calloc(n_parameter + 1, 1)))
        return false;
    for (size_t i = 0; any && i < n_parameter; i++)
        random->occasion[i] = varies[i];
    return true;
}

enum status share_random_init(struct share_random *random, const bool *is_random,
                              const bool *varies, const char *const *names, size_t n_parameter,
                              const char *covariance, struct error *error)
{
    static const char by[] = "@experiment";
    size_t length = 1, used = 0;
    *random = (struct share_random){.n = 0};
    for (size_t i = 0; i < n_parameter; i++) {
        random->n += is_random[i];
        length += is_random[i] ? strlen(names[i]) + 1 : 0;
        length += varies[i] ? strlen(names[i]) + sizeof by : 0;
    }
    if (random->n > MAX_RANDOM)
        return error_set(error, STATUS_USAGE, "--random: %zu parameters are random; at most %d can "
                         "be", random->n, MAX_RANDOM);
    if (random->n == 0)
        return STATUS_OK;
    random->block = calloc(n_parameter + 1, 1);
    random->text = calloc(length, 1);
    if (!random->block || !random->text || !set_occasions(random, varies, n_parameter))
        return no_memory(n_parameter, error);
    for (size_t i = 0; i < n_parameter; i++)
        if (is_random[i]) {
            random->block[i] = 1;
            used += (size_t)sprintf(random->text + used, "%s%s", used ? "," : "", names[i]);
        }
    for (size_t i = 0; i < n_parameter; i++)
        if (varies[i])
            used += (size_t)sprintf(random->text + used, ",%s%s", names[i], by);
    return set_covariance(random, covariance, names, n_parameter, error);
}

void share_random_fini(struct share_random *random)
{
    free(random->block);
    free(random->occasion);
    free(random->text);
    free(random->covariance);
    *random = (struct share_random){.n = 0};
}

enum status share_random_check_options(const struct share_random *random,
                                       const struct run_options *options, struct error *error)
{
    const struct recipe *recipe = &options->recipe;
    const struct {
        const char *name;
        bool is_given, is_never; /* never: it is not planned */
    } refused[] = {{"--optimizer lbfgs", recipe->fit.optimizer == OPTIMIZER_lbfgs, true},
                   {"--warm-start pilot", recipe->warm_start != 0, true},
                   {"--gradient differences",
                    recipe->fit.gradient == GRADIENT_differences && random->occasion, true}};
    if (random->n == 0) {
        const char *name = recipe->random_covariance              ? "--random-covariance"
                           : recipe->random_deviation                   ? "--random-deviation"
                           : recipe->fit.likelihood != LIKELIHOOD_EXACT ? "--likelihood"
                           : recipe->fit.likelihood_error > 0           ? "--likelihood-error"
                                                                        : NULL;
        return name ? error_set(error, STATUS_USAGE, "%s: no parameter is random (--random, "
                                "/parameters/level)", name)
                    : STATUS_OK;
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].is_given)
            return error_set(error, STATUS_USAGE, "%s: not with random parameters (--random, "
                             "/parameters/level)%s", refused[i].name,
                             refused[i].is_never ? "" : " yet");
    return STATUS_OK;
}

enum status share_random_check_problem(const struct share_random *random, const uint8_t *level,
                                       const struct problem *problem, struct error *error)
{
    const char *const *names = problem_parameter_name(problem);
    uint64_t n_dataset = problem_info(problem)->n_dataset;
    for (size_t i = 0; random->n > 0 && i < problem_n_parameter(problem); i++) {
        uint64_t n_fixed = problem_n_fixed(problem, i);
        const char *name = names[i];
        bool varies = random->occasion && random->occasion[i];
        if ((random->block[i] || varies) && n_fixed > 0 && n_fixed < n_dataset)
            return error_set(error, STATUS_USAGE, "--random: '%.60s' is fixed in some datasets "
                             "(/parameters/fixed); the mean of a random parameter is fixed in all "
                             "or in none", name);
        if (varies && n_fixed > 0 && level[i] == 0)
            return error_set(error, STATUS_USAGE, "--random: '%.60s' is fixed; to vary between "
                             "experiments around that value, share it, too (--share %.60s)", name,
                             name);
        if (level[i] > 1)
            return error_set(error, STATUS_USAGE, "'%.60s' is shared by groups of datasets, which "
                             "is not possible with random parameters yet", name);
        if (level[i] == 0 && n_fixed < n_dataset)
            return error_set(error, STATUS_USAGE, "'%.60s' is neither random nor shared: with "
                             "random parameters, share it (--share %.60s), fix it, or make it "
                             "random, too", name, name);
    }
    if (random->n > 0 && n_dataset < 2)
        return error_set(error, STATUS_USAGE, "--random: the problem has %s; the distribution of a "
                         "parameter needs several", n_dataset ? "one dataset" : "no datasets");
    return STATUS_OK;
}
