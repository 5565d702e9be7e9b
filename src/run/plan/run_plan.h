/* The plan of a run: what its fits and its result depend on, and where they go. The compute process makes it, once
 * everything has been checked, and writes it into the journal's folder; the finisher reads it there and parses nothing. (The
 * supervisor cannot make it: identity and selection need HDF5 and the model. A later compute process makes it again, because
 * its inputs may have changed; if they have, the journal refuses it.)
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/plan/refit.h"
#include "run/plan/run_options.h"
#include "run/plan/selection.h"

struct run_plan {
    struct run_paths paths;
    struct recipe recipe;       /* with what the problem file's /options say */
    struct run_shown shown;
    struct refit_plan refits;
    struct selection selection; /* which datasets are to be fitted */
    struct run_identity identity;
    char *text;                 /* what was read from a journal; the words above point into it */
};

/* run_plan_fini is legal after a failure of any of them, and on a zeroed struct. */
void run_plan_fini(struct run_plan *plan);
/* Writes (or replaces) it in the journal's folder. `options` include those of the file. */
enum status run_plan_write(const struct run_plan *plan, const struct run_options *options, struct error *error);
/* All but the refits, for which the names of the parameters are needed. */
enum status run_plan_read(struct run_plan *plan, const char *journal, struct error *error);
