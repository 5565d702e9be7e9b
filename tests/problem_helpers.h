/* What the tests of problem files share: a model to expect, a folder of their own, and a file read whole.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_PROBLEM_HELPERS_H
#define TESTS_PROBLEM_HELPERS_H

#include "base/arena.h"
#include "io/problem/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const model_parameters[] = {"b", "k"}, *const model_covariates[] = {"dose"};
static const char *const model_observables[] = {"A", "B"}, *const model_scales[] = {"lin", "log"};
static const double model_start[] = {1, 2}, model_lower[] = {-10, 0}, model_upper[] = {10, INFINITY};

static const struct problem_expectation expectation = {
    .model_name = "test", .n_covariate = 1, .n_observable = 2,
    .parameter = {.n = 2, .name = model_parameters, .start = model_start, .lower = model_lower, .upper = model_upper,
                  .scale = model_scales},
    .covariate_name = model_covariates, .observable_name = model_observables, .t0 = -1};

static inline bool make_folder(char folder[64])
{
    snprintf(folder, 64, "/tmp/stiffit-problem-XXXXXX");
    return mkdtemp(folder) != NULL;
}

static inline void remove_folder(const char *folder)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "%s is left behind\n", folder);
}

/* Runs a script that lies beside `source` (the caller's __FILE__) with one argument. */
static inline bool run_script(const char *source, const char *script, const char *argument)
{
    char command[1000];
    const char *slash = strrchr(source, '/');
    snprintf(command, sizeof command, "/usr/bin/python3 '%.*s/%s' '%s'", slash ? (int)(slash - source) : 1,
             slash ? source : ".", script, argument);
    return system(command) == 0;
}

static inline bool have_h5py(void)
{
    return system("/usr/bin/python3 -c 'import h5py, numpy' 2>/dev/null") == 0;
}

#endif
