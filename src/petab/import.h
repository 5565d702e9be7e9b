/* PEtab problems as problem files.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/output.h"

#include <stdbool.h>
#include <stddef.h>

struct petab_options {
    /* the SBML file instead of the one that the problem names; or NULL */
    const char *model;
    /* a column of measurements, conditions or experiments: whose values are datasets; or NULL */
    const char *dataset_column;
    bool outside;               /* files may be outside the problem's folder */
    bool overwrite;
    /* besides `output`, what the caller is going to write: these files are spared, too */
    struct outputs outputs;
    bool seals;                 /* the output gets a seal (base/seal.h), which shows changes */
};

/* What was found, for people. Zero-initialise. */
struct petab_report {
    size_t n_fault, n_note;   /* kept: PETAB_MAX_FAULT at most */
    char **fault, **note;
    size_t n_dataset, n_experiment, n_measurement, n_parameter;
};

/* Reads the n problems at `yaml`, each of which is a dataset if there are several, and writes
 * the problem file `output`. STATUS_BAD_PROBLEM: there are faults, which the report lists. */
enum status petab_import(const char *const *yaml, size_t n, const char *output,
                         const struct petab_options *options, struct petab_report *report,
                         struct error *error);
void petab_report_fini(struct petab_report *report);
bool petab_is_yaml(const char *path); /* by its ending */
