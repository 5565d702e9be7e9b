/* Forms of `stiffit import` beside tables: PEtab and SBML.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "import/import.h"

bool import_is_petab(const char *path); /* by its ending */
int import_petab(struct import_options *options);
/* The problem file that a run makes of x.yaml, x.petab.h5; free it. NULL: out of memory. */
char *import_petab_path(const char *yaml);
/* Makes that problem file at `path`. An existing file is replaced if a run has made it and nobody
 * has changed it, or with `overwrite`. outputs: what the run writes later. Returns an exit code. */
int import_petab_for_run(const char *yaml, const char *path, const struct outputs *outputs,
                         bool overwrite, bool quiet, enum when color);
bool import_is_sbml(const char *path);
/* Model text from the SBML file options->measurements; returns the exit code. */
int import_sbml(struct import_options *options);
