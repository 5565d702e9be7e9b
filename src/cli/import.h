/* Forms of `stiffit import` beside tables: PEtab and SBML.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "import/import.h"

bool import_is_petab(const char *path); /* by its ending */
int import_petab(struct import_options *options);
/* Makes x.petab.h5 from x.yaml, replacing an older one, and sets *problem to its path, which is
 * never freed. Returns an exit code. */
int import_petab_for_run(const char *yaml, char **problem, bool quiet, enum when color);
bool import_is_sbml(const char *path);
/* Model text from the SBML file options->measurements; returns the exit code. */
int import_sbml(struct import_options *options);
