/* Solves algebraic rules.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "sbml/document.h"

/* Gives each variable that an algebraic rule determines an assignment rule, with a note. A fault
 * names the first rule that determines nothing, or that cannot be solved. */
enum status solve_equations(struct document *document);
