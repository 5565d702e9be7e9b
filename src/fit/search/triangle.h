/* The triangle of the residuals' derivatives of a large fit, which are reduced in parts, by all
 * workers that have nothing else to do. The number of parts depends on the fit alone, so the
 * bits do not depend on the workers.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/point.h"

struct fit_triangle {
    const struct fit_asker *asker;
    size_t n, n_row;
    size_t n_part;         /* 1: the fit is small, and there is no room for parts */
    double *rows, *rhs;    /* n_row x n, n_row: free between calls */
    double *parts;         /* n_part x n x (n + 1): the parts' triangles and right-hand sides */
};

/* False: out of memory. */
bool fit_triangle_init(struct fit_triangle *triangle, const struct fit_asker *asker,
                       struct arena *arena);
/* r and q as from matrix_triangle for all rows with CURVATURE_ABOVE. Only with several parts. */
void fit_triangle_take(struct fit_triangle *triangle, const struct fit_answer *answer, double *r,
                       double *q);
