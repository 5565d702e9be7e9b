/* A point and an asker as bytes, from which another process continues.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/point.h"

void fit_point_pass(struct cursor *cursor, const struct fit_asker *asker, struct fit_point *point)
{
    size_t n = asker->map.n_free, n_row = asker->objective.n_row;
    FIELD(point->f);
    FIELD(point->n_step);
    ARRAY(point->theta, n);
    ARRAY(point->gradient, n);
    ARRAY(point->chain, n);
    ARRAY(point->p, asker->map.n_parameter);
    ARRAY(point->prediction, n_row);
    ARRAY(point->weight, n_row);
    ARRAY(point->residual, n_row);
    ARRAY(point->noise, point->noise ? n_row : 0);
    ARRAY(point->d_prediction, point->d_prediction ? n_row * n : 0);
    ARRAY(point->d_noise, point->d_noise ? n_row * n : 0);
}

void fit_asker_pass(struct cursor *cursor, struct fit_asker *asker)
{
    FIELD(asker->start_f);
    FIELD(asker->start_tighter);
    FIELD(asker->prediction_error);
    FIELD(asker->meets_jump);
    FIELD(asker->lanes);
    FIELD(asker->n_unsaved);
    FIELD(asker->notes);
    FIELD(asker->used);
    FIELD(asker->outcome);
    FIELD(asker->failure);
    FIELD(asker->reason);
    ARRAY(asker->course, asker->problem->n_experiment);
}
