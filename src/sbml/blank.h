/* Hides from libSBML what an SBML file says beside its mathematics.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

/* A copy of the text, to be freed, with blanks for annotations, notes, and elements and
 * attributes of packages that are not required. NULL: there is nothing to hide, the text is not
 * well formed, or memory is out: then the file is read as it is. */
char *blank_besides(const char *text);

/* Whether the text has an element with this prefix, other than ports of the package `comp`. */
bool blank_has_element(const char *text, const char *prefix);
