/* Shared by the files that read with libSBML.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "sbml/document.h"
#include "sbml/library.h"

#include <stdbool.h>

#ifdef HAVE_LIBSBML
struct reading {
    struct library lib;
    struct document *document;
    const char *path; /* of the file */
    bool is_flat;     /* made of submodels: lines of libSBML's faults are those of no file */
};

/* errors.c: a fault if libSBML has found one, its first error in one line, and how many more there
 * are. */
enum status reading_check(struct reading *reading, SBMLDocument_t *file);

/* flatten.c: makes one model of a model with submodels (package comp, with this prefix in the
 * file's text). */
enum status reading_flatten(struct reading *reading, SBMLDocument_t *file, const char *prefix,
                            const char *text);

/* A formula of the element `what` with the id `id` in line `line`. NULL: there is none, or after
 * a fault. */
struct math *read_math(struct reading *reading, const ASTNode_t *node, unsigned line,
                       const char *what, const char *id);
#endif

/* blank.c: hides from libSBML what an SBML file says beside its mathematics. */

/* A copy of the text, to be freed, with blanks for annotations, notes, and elements and
 * attributes of packages that are not required. NULL: there is nothing to hide, the text is not
 * well formed, or memory is out: then the file is read as it is. */
char *blank_besides(const char *text);

/* Whether the text has an element with this prefix, other than ports of the package `comp`. */
bool blank_has_element(const char *text, const char *prefix);
