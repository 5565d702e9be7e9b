/* Where the tests find built plugins: build/models/, build/tests/models/ and build/tests/zoo/, seen from build/tests/unit/TEST.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_CASE_H
#define MODEL_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/build/shared_object.h"

#include <stiffit/model.h>

enum { CASE_PATH = 8192 };

static const char *const case_models[] = {"alpha-pinene", "decay", "hare-lynx", "robertson", "theophylline",
                                          "van-der-pol"};
enum { N_CASE_MODEL = sizeof case_models / sizeof *case_models };

/* "models/decay.so" or "tests/zoo/no_rhs.so" below the build folder. */
static inline const char *case_path(char path[CASE_PATH], const char *name)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = 0;
    *strrchr(self, '/') = 0;
    snprintf(path, CASE_PATH, "%s/../../%s", self, name);
    return path;
}

static inline const char *case_model_path(char path[CASE_PATH], const char *name)
{
    char file[200];
    snprintf(file, sizeof file, "models/%s.so", name);
    return case_path(path, file);
}

static inline const char *case_zoo_path(char path[CASE_PATH], const char *name)
{
    char file[200];
    snprintf(file, sizeof file, "tests/zoo/%s.so", name);
    return case_path(path, file);
}

/* The model at a path, which is loaded once and stays so until the program ends. */
static inline const struct stiffit_model *loaded_model(const char *path)
{
    static struct {
        char path[CASE_PATH];
        void *handle;
    } loaded[64];
    struct error error = {0};
    size_t i = 0;
    while (i + 1 < sizeof loaded / sizeof *loaded && loaded[i].handle && strcmp(loaded[i].path, path) != 0)
        i++;
    if (!loaded[i].handle || strcmp(loaded[i].path, path) != 0) {
        assert_null(loaded[i].handle);
        snprintf(loaded[i].path, sizeof loaded[i].path, "%s", path);
        loaded[i].handle = shared_object_open(path, &error);
    }
    if (!loaded[i].handle)
        fail_msg("%s", error.message);
    return shared_object_symbol(loaded[i].handle, "stiffit_model");
}

/* The model of models/NAME/. */
static inline const struct stiffit_model *example_model(const char *name)
{
    char path[CASE_PATH];
    return loaded_model(case_model_path(path, name));
}

/* The model of tests/models/NAME.ode. */
static inline const struct stiffit_model *test_model(const char *name)
{
    char file[200], path[CASE_PATH];
    snprintf(file, sizeof file, "tests/models/%s.so", name);
    return loaded_model(case_path(path, file));
}

/* The functions of lanes of a model without its own code for a step's algebra: the kernel then goes by the lists. */
static inline struct stiffit_lanes lanes_by_lists(const struct stiffit_model *model)
{
    struct stiffit_lanes lanes = *model->lanes;
    lanes.algebra = NULL;
    return lanes;
}

/* A model that has none of the derivatives which difference quotients replace. */
static inline struct stiffit_model without_derivatives(const struct stiffit_model *model)
{
    struct stiffit_model bare = *model;
    bare.jacobian = bare.jacobian_sparse = bare.rhs_parameter = bare.initial_parameter = NULL;
    bare.observe_state = bare.observe_parameter = bare.noise_state = bare.noise_parameter = NULL;
    bare.lag_parameter = bare.bioavailability_parameter = bare.infusion_parameter = NULL;
    bare.switching_state = bare.switching_slope = bare.switching_time_parameter = NULL;
    bare.event_when_state = bare.event_when_parameter = bare.event_assign_state = bare.event_assign_parameter = NULL;
    bare.event_delay_state = bare.event_delay_parameter = NULL;
    return bare;
}

#endif
