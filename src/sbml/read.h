/* Shared by the files that read with libSBML.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "sbml/document.h"
#include "sbml/library.h"

#ifdef HAVE_LIBSBML
struct reading {
    struct library lib;
    struct document *document;
};

/* A formula of the element `what` with the id `id` in line `line`. NULL: there is none, or after
 * a fault. */
struct math *read_math(struct reading *reading, const ASTNode_t *node, unsigned line,
                       const char *what, const char *id);
#endif
