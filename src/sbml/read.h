/* Shared by the files that read with libSBML.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "sbml/document.h"
#include "sbml/library.h"

#ifdef HAVE_LIBSBML
struct reading {
    struct library lib;
    struct document *document;
    const char *path; /* of the file */
    bool is_flat;     /* made of submodels: lines of libSBML's faults are those of no file */
};

/* A fault if libSBML has found one: its first error in one line, and how many more there are. */
enum status check_errors(struct reading *reading, SBMLDocument_t *file);

/* flatten.c: makes one model of a model with submodels (package comp, with this prefix in the
 * file's text). */
enum status flatten(struct reading *reading, SBMLDocument_t *file, const char *prefix,
                    const char *text);

/* A formula of the element `what` with the id `id` in line `line`. NULL: there is none, or after
 * a fault. */
struct math *read_math(struct reading *reading, const ASTNode_t *node, unsigned line,
                       const char *what, const char *id);
#endif
