/* The plan of a run: what its fits and its result depend on, and where they go. The compute
 * process makes it, once everything has been checked, and its journal begins with it; the
 * finisher reads it there, parses nothing and loads no model. (The supervisor cannot make it:
 * identity and selection need HDF5 and the model. A later compute process makes it again,
 * because its inputs may have changed; if they have, the journal refuses it.)
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "io/result/result.h"
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
    struct result_header header; /* of the result, as far as it is known before the fits */
    struct arena arena;         /* of what was read from a journal */
};

/* run_plan_fini is legal after a failure of any of them, and on a zeroed struct. */
void run_plan_fini(struct run_plan *plan);
/* Options, which are parsed once: as bytes for the children of a supervisor; free() them. NULL: out
 * of memory. */
unsigned char *run_options_bytes(const struct run_options *options, size_t *n);
/* In such a child: those of its supervisor. False: it has none. */
bool run_options_take(struct run_options *options);

/* A plan as bytes for the journal, with `options` that include those of the file, and the
 * header; free() them. NULL: out of memory. */
unsigned char *run_plan_encode(const struct run_plan *plan, const struct run_options *options,
                               const struct result_header *header, size_t *n);
/* The latest plan of a journal, all but the refits, for which the names of the parameters are
 * needed. STATUS_SYSTEM: there is none, or it is of another version of stiffit. */
enum status run_plan_read(struct run_plan *plan, const struct journal_reader *journal,
                          const char *directory, struct error *error);
