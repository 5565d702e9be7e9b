/* Formulas in PEtab's tables (the grammar of PEtab 2.0), read and written by the parser of model
 * text.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/text/postfix.h"
#include "petab/reader.h"

/* NULL after a fault, which is reported at the place. */
const struct postfix *petab_formula(struct petab_reader *reader, struct petab_place place,
                                    const char *text);

/* Appends the formula as model text; `name_of` gives the text for a name, as in postfix.h. */
void petab_formula_put(struct petab_text *out, const struct postfix *formula,
                       const char *(*name_of)(void *context, const char *name), void *context);
