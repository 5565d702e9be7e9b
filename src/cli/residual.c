/* One measurement at a time through the objective of the fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/residual.h"

#include "base/option.h"
#include "fit/fit.h"
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

struct residual_kind residual_kind_of(const char *description)
{
    struct fit_options fit = FIT_OPTIONS_DEFAULT;
    enum fit_error error = ERROR_NORMAL;
    char word[64];
    for (int k = 0; find_word(description, " error=", word) && k < N_ERROR; k++)
        if (!strcmp(word, fit_error_name((enum fit_error)k)))
            error = (enum fit_error)k;
    if (find_word(description, " huber-k=", word))
        option_number(word, &fit.huber_k);
    if (find_word(description, " student-nu=", word))
        option_number(word, &fit.student_nu);
    return (struct residual_kind){.loss = fit_loss_of(error, fit.huber_k, fit.student_nu)};
}

struct residual residual_of(const struct residual_kind *kind, double value, double prediction, double own, double noise,
                            int8_t censored)
{
    double weight, right;
    const struct fit_objective objective = {.n_row = 1, .value = &value, .sigma = &own, .has_noise = !isnan(noise),
                                            .likelihood = kind->likelihood, .loss = kind->loss, .censored = &censored};
    const struct fit_answer answer = {.prediction = &prediction, .noise = &noise, .weight = &weight, .residual = &right};
    struct residual out = {.sigma = !isnan(own) ? own : !isnan(noise) ? noise : 1, .residual = NAN, .weighted = NAN,
                           .weight = NAN, .loss = NAN};
    if (isnan(value) || isnan(prediction))
        return out;
    out.loss = fit_objective_value(&objective, &answer);
    if (censored)
        return out;
    out.residual = kind->loss.error == ERROR_LOG_NORMAL ? log(value / prediction) : value - prediction;
    out.weighted = out.residual / out.sigma;
    out.weight = fit_loss_at(&kind->loss, out.weighted).weight;
    return out;
}
