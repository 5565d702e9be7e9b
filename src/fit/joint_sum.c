/* Linear algebra of a fit over many datasets: eliminates a block's own parameters, and sums over blocks in a tree.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_internal.h"

#include "fit/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Items whose rows are reduced at once at the bottom of the tree. */
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

/* Reduces up to AT_ONCE pieces of at most `width` rows to one. */
struct pieces {
    size_t width, n_row;
    double *rows, *rhs; /* AT_ONCE width x width, AT_ONCE width */
};

static void put_piece(struct pieces *pieces, const struct joint_rows *piece)
{
    size_t m = AT_ONCE * pieces->width, first = pieces->n_row, n = piece->n;
    for (size_t c = 0; piece->column && c < pieces->width; c++)
        memset(pieces->rows + c * m + first, 0, n * sizeof *pieces->rows);
    for (size_t c = 0; c < n; c++)
        memcpy(pieces->rows + (piece->column ? piece->column[c] : c) * m + first, piece->rest + c * n, n * sizeof *piece->rest);
    memcpy(pieces->rhs + first, piece->rhs, n * sizeof *piece->rhs);
    pieces->n_row += n;
}

static void reduce_pieces(struct pieces *pieces, double *triangle, double *rhs)
{
    size_t width = pieces->width, m = pieces->n_row;
    for (size_t c = 1; c < width; c++)
        memmove(pieces->rows + c * m, pieces->rows + c * AT_ONCE * width, m * sizeof *pieces->rows);
    matrix_triangle(m, width, pieces->rows, pieces->rhs, triangle, rhs);
}

struct sum {
    size_t n, width;
    joint_get *get;
    void *context;
};

/* The rows of items [first, first + n), where n is AT_ONCE to some power, or beyond the last one: of each AT_ONCE parts in
 * turn. `room`: AT_ONCE pieces and one result for each level. */
static void sum_range(const struct sum *sum, size_t first, size_t n, double *room, double *triangle, double *rhs)
{
    size_t width = sum->width;
    struct pieces pieces = {.width = width, .rows = room, .rhs = room + AT_ONCE * width * width};
    double *part = pieces.rhs + AT_ONCE * width, *part_rhs = part + width * width, *below = part_rhs + width;
    for (size_t k = 0; k < AT_ONCE && first < sum->n; k++, first += n / AT_ONCE) {
        struct joint_rows piece = {.n = width, .rest = part, .rhs = part_rhs};
        if (n == AT_ONCE)
            piece = sum->get(sum->context, first);
        else
            sum_range(sum, first, n / AT_ONCE, below, part, part_rhs);
        put_piece(&pieces, &piece);
    }
    reduce_pieces(&pieces, triangle, rhs);
}

bool joint_sum(size_t n_item, size_t width, joint_get *get, void *context, double *triangle, double *rhs)
{
    const struct sum sum = {n_item, width, get, context};
    size_t n = AT_ONCE, n_level = 1;
    for (; n < n_item; n *= AT_ONCE)
        n_level++;
    double *room = malloc(n_level * (AT_ONCE + 1) * width * (width + 1) * sizeof *room + 1);
    if (room && width > 0)
        sum_range(&sum, 0, n, room, triangle, rhs);
    free(room);
    return room != NULL;
}

bool joint_add_least(size_t width, size_t n, const double *length, double least, double *triangle, double *rhs)
{
    size_t m = width + n;
    double *a = calloc(m * width + m + 1, sizeof *a), *b = a + m * width;
    for (size_t c = 0; a && c < width; c++) {
        memcpy(a + c * m, triangle + c * width, width * sizeof *a);
        b[c] = rhs[c];
        if (c < n)
            a[width + c + c * m] = least * length[c];
    }
    if (a && width > 0)
        matrix_triangle(m, width, a, b, triangle, rhs);
    free(a);
    return a != NULL;
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
