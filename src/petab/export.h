/* Fits of a PEtab problem as PEtab problems with the fitted values.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/experiment.h"

#include <stdbool.h>
#include <stddef.h>

struct petab_export;

/* A fitted dataset of the problem file. */
struct petab_fit {
    const char *id;
    size_t number;                   /* of the dataset */
    size_t n_parameter, n;
    const double *parameter;         /* n_parameter, natural scale */
    /* n, in the order of the problem file; value: the measurements */
    const double *value, *simulation;
    double llh, chi2, log_prior;     /* NaN: unknown */
};

/* Reads the problem and makes the folder, which may exist if `overwrite`. `outside`: as for
 * import. The source must stay until the end if it is of several problems. Close *made after a
 * failure, too. */
enum status petab_export_open(struct petab_export **made, const struct petab_source *source,
                              bool outside, const char *folder, bool overwrite,
                              struct error *error);
/* Writes problem.yaml, its tables and its model, simulations.tsv and solution.yaml: into the
 * folder or, if the problem has a dataset column or there are several, into a folder in it that
 * has the dataset's id. STATUS_BAD_PROBLEM: the problem has other measurements. */
enum status petab_export_put(struct petab_export *it, const struct petab_fit *fit,
                             struct error *error);
void petab_export_close(struct petab_export *it);
