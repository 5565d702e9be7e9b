/* Orthogonal factorisations of blocks of rows, and of their triangles (Demmel et al. 2012).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/triangle.h"

#include "fit/objective/matrix.h"

/* The least numbers of a part, which are worth waking a worker, and its least rows for each
 * column, so that its triangle is small beside it. */
enum { PART_NUMBERS = 131072, PART_ROWS = 8 };

struct part {
    const struct fit_objective *objective;
    const struct fit_answer *answer;
    size_t first, last;               /* measurements */
    double *rows, *rhs, *r, *q;
};

bool fit_triangle_init(struct fit_triangle *triangle, const struct fit_asker *asker,
                       struct arena *arena)
{
    size_t n = asker->map.n_free, n_row = fit_objective_n_row(&asker->objective), n_part = 1;
    while (n > 0 && n_part < FIT_SHARES && n_row / (n_part + 1) >= PART_ROWS * n &&
           n_row / (n_part + 1) * n >= PART_NUMBERS)
        n_part++;
    *triangle = (struct fit_triangle){.asker = asker, .n = n, .n_row = n_row, .n_part = n_part};
    if (n_part == 1)
        return true;
    return ARENA_SPACE(arena, {&triangle->rows, n_row, n}, {&triangle->rhs, n_row, 1},
                       {&triangle->parts, n_part * n, n + 1});
}

static void reduce(void *context)
{
    const struct part *part = context;
    fit_objective_rows_of(part->objective, part->answer, CURVATURE_ABOVE, part->first, part->last,
                          part->rows, part->rhs);
    matrix_triangle(fit_objective_n_row_of(part->objective, part->first, part->last),
                    part->answer->n, part->rows, part->rhs, part->r, part->q);
}

/* One triangle below the other, but with their first rows on top, then their second ones:
 * columns of zeros come first. */
static void stack(const struct fit_triangle *triangle, const struct part *part)
{
    size_t n = triangle->n, n_part = triangle->n_part;
    for (size_t k = 0; k < n_part; k++)
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++)
                triangle->rows[i * n_part + k + j * n_part * n] = part[k].r[i + j * n];
            triangle->rhs[i * n_part + k] = part[k].q[i];
        }
}

void fit_triangle_take(struct fit_triangle *triangle, const struct fit_answer *answer, double *r,
                       double *q)
{
    const struct fit_objective *objective = &triangle->asker->objective;
    const struct fit_host *host = triangle->asker->host;
    size_t n = triangle->n, n_part = triangle->n_part, size = objective->n_row / n_part, n_row = 0;
    struct part part[FIT_SHARES];
    for (size_t k = 0; k < n_part; k++) {
        size_t first = k * size, last = k + 1 < n_part ? first + size : objective->n_row;
        double *to = triangle->parts + k * n * (n + 1);
        part[k] = (struct part){.objective = objective,
                                .answer = answer, .first = first, .last = last,
                                .rows = triangle->rows + n_row * n, .rhs = triangle->rhs + n_row,
                                .r = to, .q = to + n * n};
        n_row += fit_objective_n_row_of(objective, first, last);
    }
    bool is_shared = host->share
                     && host->share(host->context, reduce, part, sizeof *part, n_part);
    for (size_t k = 0; k < n_part && !is_shared; k++)
        reduce(&part[k]);
    stack(triangle, part);
    matrix_triangle(n_part * n, n, triangle->rows, triangle->rhs, r, q);
}
