/* Recipes as text, by the option table.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/recipe_text.h"

#include "run/plan/run_options.h"

#include <stdio.h>
#include <string.h>

/* The version whose spelling this is. Later ones keep it: a result of theirs is the same run's. */
#define SPELLING "0.1.0"

/* NULL: the row counts in every run. */
static bool *condition(const struct option *option, struct recipe_uses *uses)
{
    for (int k = 0; k < N_ERROR; k++)
        if (error_tuning[k].option && !strcmp(error_tuning[k].option, option->name))
            return &uses->error[k];
    if (!strcmp(option->name, "bootstrap-kind"))
        return &uses->bootstrap_kind;
    return strcmp(option->name, "portable") ? NULL : &uses->portable;
}

/* Rows of the first kinds are always there, those of the others, which came later, only where
 * they are not the default. */
static bool is_said(const struct option *option, const struct run_options *options,
                    struct recipe_uses *uses)
{
    const bool *counts = condition(option, uses);
    if (counts && (!*counts || option->effect == RUN_REFITS))
        return *counts;
    return option->effect <= RUN_OBJECTIVE ||
           !option_is_same(option, options, &run_options_default);
}

static size_t print_rows(const struct recipe *recipe, const struct recipe_uses *uses,
                         enum run_effect first, enum run_effect last, char text[RECIPE_TEXT],
                         size_t used)
{
    const struct option_table table = run_options_table();
    struct recipe_uses counts = *uses;
    struct run_options options = {.recipe = *recipe};
    for (size_t i = 0; i < table.n; i++) {
        const struct option *option = &table.option[i];
        char value[RECIPE_TEXT];
        if (option->effect < (int)first || option->effect > (int)last ||
            !is_said(option, &options, &counts))
            continue;
        option_print(option, &options, value, sizeof value);
        if (used < RECIPE_TEXT)
            used += (size_t)snprintf(text + used, RECIPE_TEXT - used, "%s%s=%s", used ? " " : "",
                                     option->name, value);
    }
    return used;
}

void recipe_print(const struct recipe *recipe, const struct recipe_uses *uses,
                  char text[RECIPE_TEXT])
{
    size_t used = (size_t)snprintf(text, RECIPE_TEXT, "stiffit=%s", SPELLING);
    used = print_rows(recipe, uses, RUN_FITS, RUN_OBJECTIVE, text, used);
    used = print_rows(recipe, uses, RUN_FITS_LATER, RUN_FITS_LATER, text, used);
    print_rows(recipe, uses, RUN_REFITS, RUN_REFITS, text, used);
}

void recipe_print_objective(const struct recipe *recipe, const struct recipe_uses *uses,
                            char text[RECIPE_TEXT])
{
    text[0] = '\0';
    print_rows(recipe, uses, RUN_OBJECTIVE, RUN_OBJECTIVE, text, 0);
}

void recipe_read(struct recipe *recipe, struct recipe_uses *uses, const char *text)
{
    const struct option_table table = run_options_table();
    struct run_options options = run_options_default;
    struct recipe_uses ignored;
    struct error error;
    uses = uses ? uses : &ignored;
    *uses = (struct recipe_uses){.portable = false};
    for (const char *word = text; *word; word += strspn(word, " ")) {
        char name[64], value[64];
        size_t n = strcspn(word, " "), n_name = strcspn(word, "= ");
        snprintf(name, sizeof name, "%.*s", (int)n_name, word);
        snprintf(value, sizeof value, "%.*s", n > n_name ? (int)(n - n_name - 1) : 0,
                 word + n_name + 1);
        word += n;
        const struct option *option = option_find(table, name);
        if (!option || option->effect < RUN_FITS || option->kind == OPTION_STRING ||
            run_options_apply(&options, name, option->kind == OPTION_FLAG ? "1" : value, &error))
            continue;
        bool *counts = condition(option, uses);
        if (counts)
            *counts = true;
    }
    *recipe = options.recipe;
}
