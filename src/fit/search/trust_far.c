/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/trust_far.h"

#include <math.h>

/* A step takes a parameter too far if it moves it by more than its own size (a logarithm: by 1)
 * and changes its influence on the predictions by more than this factor: the model was wrong for
 * it, whatever the others gained. The influence of logarithms may grow. One on a linear scale
 * that changes sign or moves by MANY_TIMES its size may change its influence by CHANGE_PART
 * only: a parameter that enters linearly keeps it. */
static const double CHANGE_LOG = 30, CHANGE_LINEAR = 4, CHANGE_PART = 0.25, MANY_TIMES = 100;
/* The next step of such a parameter, in units of its size; the growth of the limit after a good
 * step of that length. */
static const double BACK_PART = 0.9, BACK_GROWTH = 5;

/* Whether the step to the trial moves parameter j too far. */
static bool is_too_far(const struct trust_model *model, const struct fit_asker *asker,
                       const struct fit_point *best, const struct fit_point *trial, size_t j)
{
    bool is_linear = asker->map.scale[j] == SCALE_LIN;
    double size = fit_map_size(&asker->map, j, best->theta[j]);
    double step = model->step[j], before = 0, now = 0, apart = 0;
    size_t n_row = asker->objective.n_row;
    if (!(size > 0 && fabs(step) > size))
        return false;
    for (size_t i = 0; i < n_row; i++) {
        /* the parameter's influence on the predictions, in their standard deviations */
        double a = best->d_prediction[i + j * n_row] * best->weight[i] * best->chain[j];
        double b = trial->d_prediction[i + j * n_row] * trial->weight[i] * trial->chain[j];
        before += a * a;
        now += b * b;
        apart += (b - a) * (b - a);
    }
    if (is_linear && (step * best->theta[j] < 0 || fabs(step) > MANY_TIMES * size))
        return apart > CHANGE_PART * CHANGE_PART * before;
    double most = is_linear ? CHANGE_LINEAR * CHANGE_LINEAR : CHANGE_LOG * CHANGE_LOG;
    return now * most < before || (is_linear && now > most * before);
}

bool trust_far_went(struct trust_far *far, struct trust_model *model, const struct fit_asker *asker,
                    const struct fit_point *best, const struct fit_point *trial)
{
    const struct fit_map *map = &asker->map;
    bool any = false;
    for (size_t j = 0; j < map->n_free && far->n_back < TRUST_FAR_MOST; j++) {
        double size = fit_map_size(map, j, best->theta[j]);
        if (!is_too_far(model, asker, best, trial, j))
            continue;
        trust_model_limit(model, best, j,
                          fmin(BACK_PART * size, 0.5 * trust_model_reach(model, j)));
        any = true;
    }
    far->n_back += any;
    return any;
}

void trust_far_relax(struct trust_model *model)
{
    for (size_t j = 0; j < model->n; j++)
        if (fabs(model->step[j]) >= BACK_PART * model->limit[j])
            model->limit[j] *= BACK_GROWTH;
}
