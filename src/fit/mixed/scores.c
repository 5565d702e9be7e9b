/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/scores.h"

#include "fit/objective/matrix.h"

#include <string.h>

bool scores_init(struct scores *scores, const struct effects *local, bool *is_curve)
{
    size_t r = local->r;
    double *held; /* L of the parameters that are held */
    *scores = (struct scores){.is_curve = is_curve,
                              .louis = {.r = r, .n_entry = local->m - local->s, .row = local->row,
                                        .column = local->column}};
    if (!ARENA_DOUBLES(local->arena, {&scores->louis.inverse, r, r}, {&held, r, r}))
        return false;
    for (size_t a = 0; a < r; a++)
        is_curve[a] = is_curve[a] || local->factor[a + a * r] == 0;
    memset(held, 0, r * r * sizeof *held);
    for (size_t a = 0; a < r; a++)
        for (size_t c = 0; c <= a; c++)
            if (!is_curve[a] && !is_curve[c])
                held[a + c * r] = local->factor[a + c * r];
    louis_init(&scores->louis, held);
    return true;
}

void scores_at(const struct scores *scores, const struct effects *local, double *score)
{
    size_t r = local->r, s = local->s;
    const double *b = local->there.b, *slope = local->there.slope;
    double held[RULE_MOST], by_parameter[RULE_MOST];
    for (size_t e = 0; e < r; e++) {
        held[e] = scores->is_curve[e] ? 0 : b[e];
        for (size_t c = e + 1; c < r && !scores->is_curve[e]; c++)
            if (scores->is_curve[c])
                held[e] += local->factor[c + e * r] * slope[local->random[c]];
    }
    for (size_t a = 0; a < r; a++)
        by_parameter[a] = scores->is_curve[a]
                              ? -slope[local->random[a]]
                              : matrix_dot(r, scores->louis.inverse + a * r, held);
    for (size_t j = 0; j < s; j++)
        score[j] = -slope[j];
    for (size_t a = 0; a < r; a++)
        score[local->random[a]] = by_parameter[a];
    for (size_t j = s; j < local->m; j++) {
        size_t a = local->row[j - s], c = local->column[j - s];
        bool has_density = a == c && !scores->is_curve[a];
        score[j] = by_parameter[a] * b[c]
                   - (has_density ? scores->louis.inverse[a + a * r] : 0);
    }
}
