/* One measurement at a time through the objective of the fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/residual.h"

#include "base/option.h"
#include "fit/objective.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The word behind "NAME=" in a description; false: it is not there. */
static bool find_word(const char *description, const char *name, char word[64])
{
    const char *found = strstr(description, name);
    if (found)
        snprintf(word, 64, "%.*s", (int)strcspn(found + strlen(name), " "), found + strlen(name));
    return found;
}

void residual_option_number(const char *description, const char *name, double *value)
{
    char word[64];
    if (find_word(description, name, word))
        option_number(word, value);
}

struct residual_options residual_options_of(const char *description)
{
    struct residual_options options = {ERROR_NORMAL, LOSS_HUBER_K, LOSS_STUDENT_NU};
    char word[64];
    if (find_word(description, " error=", word) && error_kind_of(word) >= 0)
        options.error = (enum error_kind)error_kind_of(word);
    residual_option_number(description, " huber-k=", &options.huber_k);
    residual_option_number(description, " student-nu=", &options.student_nu);
    return options;
}

struct residual residual_of(const struct residual_kind *kind, const struct measurements *measured, size_t i, double prediction,
                            double noise)
{
    struct measurements row = measurements_from(measured, i);
    double value = *row.value, own = *row.sigma, weight, right, unit = kind->unit > 0 ? kind->unit : 1;
    const struct fit_loss *loss = &kind->loss[*row.observable];
    if (kind->unit > 0)
        own = unit;
    row.sigma = &own;
    const struct fit_objective objective = {.n_row = 1, .measured = row, .has_noise = !isnan(noise),
                                            .likelihood = kind->likelihood, .loss = kind->loss};
    const struct fit_answer answer = {.prediction = &prediction, .noise = &noise, .weight = &weight, .residual = &right};
    struct residual out = {.sigma = kind->unit > 0 ? 1 : !isnan(own) ? own : !isnan(noise) ? noise : 1, .residual = NAN,
                           .weighted = NAN, .weight = NAN, .loss = NAN};
    if (isnan(value) || isnan(prediction))
        return out;
    out.loss = fit_objective_value(&objective, &answer) * unit;
    if (*row.censored)
        return out;
    out.residual = loss->is_log ? log(value / prediction) : value - prediction;
    out.weighted = out.residual / out.sigma;
    out.weight = fit_loss_at(loss, out.weighted / unit).weight / unit;
    return out;
}
