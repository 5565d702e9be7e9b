/* The description of a recipe, which is part of a run's identity.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/plan/recipe.h"

/* Options that change a result only in some runs, and are described only there. */
struct recipe_uses {
    bool portable;            /* the model is text */
    bool bootstrap_kind;      /* there are replicates */
    bool error[N_ERROR];      /* some observable has such errors */
};

/* 'NAME=VALUE' for every option that changes results but the seed, which the identity has by
 * itself, in 0.1.0's spelling: the text's hash identifies existing results. */
void recipe_print(const struct recipe *recipe, const struct recipe_uses *uses,
                  char text[RECIPE_TEXT]);
/* The words that say what is minimised. */
void recipe_print_objective(const struct recipe *recipe, const struct recipe_uses *uses,
                            char text[RECIPE_TEXT]);
/* The inverse: what the text does not say, and words that are unknown, leave the default. `uses`
 * (or NULL): what was described. Lists of names are left out, as the text may hold their hashes. */
void recipe_read(struct recipe *recipe, struct recipe_uses *uses, const char *text);
