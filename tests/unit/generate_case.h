/* What the tests of code generation share: equations made by hand, compiled and loaded, and their values as the graph's own
 * interpreter has them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_GENERATE_CASE_H
#define TESTS_UNIT_GENERATE_CASE_H

#include "../level.h"
#include "../graph_values.h"
#include "model_case.h"

#include "base/random.h"
#include "model/generate/generate.h"
#include "model/plugin.h"

#include <math.h>

struct generate_case {
    struct equations *equations;
    struct functions functions;
    char *source;
    size_t n_source;
    struct model model;
};

static inline char *case_copy(struct equations *e, const char *text)
{
    return text ? strcpy(arena_alloc(&e->arena, strlen(text) + 1), text) : NULL;
}

/* Parameters start at 1, covariates and states have names p1, c1, y1 ... that a test may change. */
static inline struct equations *case_equations(uint32_t n_state, uint32_t n_parameter, uint32_t n_covariate,
                                               uint32_t n_observable)
{
    struct equations *e = calloc(1, sizeof *e);
    char name[40];
    assert_non_null(e);
    *e = (struct equations){.n_state = n_state, .n_parameter = n_parameter,
                            .n_covariate = n_covariate, .n_observable = n_observable, .graph = graph_new()};
    e->name = case_copy(e, "case");
    e->state = arena_calloc(&e->arena, n_state + 1, sizeof *e->state);
    e->parameter = arena_calloc(&e->arena, n_parameter + 1, sizeof *e->parameter);
    e->covariate = arena_calloc(&e->arena, n_covariate + 1, sizeof *e->covariate);
    e->observable = arena_calloc(&e->arena, n_observable + 1, sizeof *e->observable);
    assert_true(e->graph && e->state && e->parameter && e->covariate && e->observable);
    for (uint32_t i = 0; i < n_state; i++) {
        snprintf(name, sizeof name, "y%u", i + 1);
        e->state[i].name = case_copy(e, name);
    }
    for (uint32_t i = 0; i < n_parameter; i++) {
        snprintf(name, sizeof name, "p%u", i + 1);
        e->parameter[i] = (struct equation_parameter){.name = case_copy(e, name), .scale = "lin", .start = 1,
                                                      .lower = -INFINITY, .upper = INFINITY};
    }
    for (uint32_t i = 0; i < n_covariate; i++) {
        snprintf(name, sizeof name, "c%u", i + 1);
        e->covariate[i].name = case_copy(e, name);
    }
    for (uint32_t i = 0; i < n_observable; i++) {
        snprintf(name, sizeof name, "h%u", i + 1);
        e->observable[i] = (struct equation_observable){.name = case_copy(e, name), .noise = NODE_NONE};
    }
    return e;
}

/* Derives and generates; the equations are the case's from here on. */
static inline void case_generate(struct generate_case *c, struct equations *equations)
{
    struct error error = {0};
    *c = (struct generate_case){.equations = equations};
    if (functions_derive(equations, &c->functions, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    FILE *out = open_memstream(&c->source, &c->n_source);
    assert_non_null(out);
    if (generate_c(equations, &c->functions, out, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(fclose(out), 0);
}

/* Compiles what was generated, with every warning an error, and loads it. */
static inline void case_compile(struct generate_case *c)
{
    char folder[] = "/tmp/stiffit-test-XXXXXX", path[100], command[2 * CASE_PATH], include[CASE_PATH];
    struct error error = {0};
    const char *compiler = getenv("CC");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model.c", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(c->source, 1, c->n_source, file), c->n_source);
    assert_int_equal(fclose(file), 0);
    /* The header as it was when this test was compiled: the tests run in the source tree. */
    assert_non_null(realpath("include", include));
    snprintf(command, sizeof command, "%s -std=c11 %s -Wall -Wextra -Werror -pedantic -fno-math-errno -ffp-contract=off "
             "-fPIC -shared '-I%s' -o %s/model.so %s/model.c -lm", compiler && *compiler ? compiler : "cc",
             level_is_slow() ? "-O1" : "-O0", include, folder, folder);
    if (system(command) != 0)
        fail_msg("the compiler failed; the source is in %s", folder);
    snprintf(path, sizeof path, "%s/model.so", folder);
    if (model_load(&c->model, path, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    unlink(path);
    snprintf(path, sizeof path, "%s/model.c", folder);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static inline void case_fini(struct generate_case *c)
{
    model_unload(&c->model);
    functions_fini(&c->functions);
    equations_free(c->equations);
    free(c->source);
}

#endif
