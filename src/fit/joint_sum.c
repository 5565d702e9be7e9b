/* Linear algebra of a fit over many datasets: eliminates a block's own parameters, and sums over blocks in a tree.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_internal.h"

#include "fit/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Blocks whose rows are reduced at once at the bottom of the tree. */
enum { AT_ONCE = 8 };

void joint_eliminate(size_t n, size_t s, const double *triangle, const double *rhs, const uint32_t *loose, size_t n_loose,
                     const uint32_t *kept, size_t n_kept, const double *scale, double damping, double *scratch, double *rest,
                     double *rest_rhs, double *own)
{
    size_t all = n + s, m = all + n_loose, width = n_loose + n_kept;
    double *a = scratch, *b = a + m * width, *r = b + m, *q = r + width * width;
    memset(a, 0, m * width * sizeof *a);
    memcpy(b, rhs, all * sizeof *b);
    memset(b + all, 0, n_loose * sizeof *b);
    for (size_t c = 0; c < width; c++) {
        size_t j = c < n_loose ? loose[c] : n + kept[c - n_loose];
        memcpy(a + c * m, triangle + j * all, all * sizeof *a);
        if (c < n_loose)
            a[all + c + c * m] = sqrt(damping) * (scale ? scale[j] : 1);
    }
    matrix_triangle(m, width, a, b, r, q);
    for (size_t c = 0; c < n_kept; c++) {
        memcpy(rest + c * n_kept, r + n_loose + (n_loose + c) * width, n_kept * sizeof *rest);
        rest_rhs[c] = q[n_loose + c];
    }
    for (size_t c = 0; own && c < width; c++)
        memcpy(own + c * n_loose, r + c * width, n_loose * sizeof *own);
}

/* Reduces n pieces of s rows to one. */
struct pieces {
    size_t s, n;
    double *rows, *rhs; /* AT_ONCE s x s, AT_ONCE s */
};

static void put_piece(struct pieces *pieces, const double *rest, const double *rest_rhs)
{
    size_t s = pieces->s, m = AT_ONCE * s, first = pieces->n++ * s;
    for (size_t c = 0; c < s; c++)
        memcpy(pieces->rows + c * m + first, rest + c * s, s * sizeof *rest);
    memcpy(pieces->rhs + first, rest_rhs, s * sizeof *rest_rhs);
}

static void reduce_pieces(struct pieces *pieces, double *triangle, double *rhs)
{
    size_t s = pieces->s, m = pieces->n * s;
    for (size_t c = 1; c < s; c++)
        memmove(pieces->rows + c * m, pieces->rows + c * AT_ONCE * s, m * sizeof *pieces->rows);
    matrix_triangle(m, s, pieces->rows, pieces->rhs, triangle, rhs);
    pieces->n = 0;
}

/* The rows of blocks [first, first + n), where n is AT_ONCE to some power, or beyond the last block: of each AT_ONCE parts in
 * turn. `room`: AT_ONCE pieces and one result for each level. */
static void sum_range(const struct joint *joint, size_t s, joint_rows *get, size_t first, size_t n, double *room,
                      double *triangle, double *rhs)
{
    struct pieces pieces = {.s = s, .rows = room, .rhs = room + AT_ONCE * s * s};
    double *part = pieces.rhs + AT_ONCE * s, *part_rhs = part + s * s, *below = part_rhs + s;
    for (size_t k = 0; k < AT_ONCE && first < joint->n_active; k++, first += n / AT_ONCE) {
        const double *rest = part, *rest_rhs = part_rhs;
        if (n == AT_ONCE)
            get(joint_active(joint, first), &rest, &rest_rhs);
        else
            sum_range(joint, s, get, first, n / AT_ONCE, below, part, part_rhs);
        put_piece(&pieces, rest, rest_rhs);
    }
    reduce_pieces(&pieces, triangle, rhs);
}

bool joint_sum(const struct joint *joint, size_t s, joint_rows *get, double *triangle, double *rhs)
{
    size_t n = AT_ONCE, n_level = 1;
    for (; n < joint->n_active; n *= AT_ONCE)
        n_level++;
    double *room = malloc(n_level * (AT_ONCE + 1) * s * (s + 1) * sizeof *room + 1);
    if (room && s > 0)
        sum_range(joint, s, get, 0, n, room, triangle, rhs);
    free(room);
    return room != NULL;
}

static double total(const struct joint *joint, double (*get)(const struct joint_block *block), size_t first, size_t end)
{
    if (end - first == 1)
        return get(joint_active(joint, first));
    size_t middle = first + (end - first) / 2;
    return total(joint, get, first, middle) + total(joint, get, middle, end);
}

double joint_total(const struct joint *joint, double (*get)(const struct joint_block *block))
{
    return joint->n_active ? total(joint, get, 0, joint->n_active) : 0;
}
