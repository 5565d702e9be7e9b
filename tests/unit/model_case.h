/* Where the tests find built plugins: build/models/ and build/tests/zoo/, seen from build/tests/unit/TEST.
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

#endif
