/* Linear algebra of a fit over many datasets: eliminates a block's own parameters, and sums over
 * blocks in a tree.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/internal.h"

#include "base/memory.h"
#include "fit/objective/matrix.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Items whose rows are reduced at once at the bottom of the tree. */
enum { AT_ONCE = 8 };

void joint_eliminate(size_t n, size_t s, const double *triangle, const double *rhs,
                     const uint32_t *loose, size_t n_loose, const uint32_t *kept, size_t n_kept,
                     const double *scale, double damping, double *scratch, double *schur,
                     double *schur_rhs, double *own)
{
    size_t all = n + s, m = all + n_loose, width = n_loose + n_kept;
    if (n == 0 && s > 0 && n_kept == s) { /* it is the triangle of these rows */
        memcpy(schur, triangle, s * s * sizeof *schur);
        memcpy(schur_rhs, rhs, s * sizeof *schur_rhs);
        return;
    }
    double *a = scratch, *b = a + m * width, *r = b + m, *q = r + width * width;
    memset(a, 0, m * width * sizeof *a);
    memcpy(b, rhs, all * sizeof *b);
    memset(b + all, 0, n_loose * sizeof *b);
    for (size_t c = 0; c < width; c++) {
        size_t j = c < n_loose ? loose[c] : n + kept[c - n_loose];
        memcpy(a + c * m, triangle + j * all, all * sizeof *a);
        if (c < n_loose)
            a[all + c + c * m] = sqrt(damping) * scale[j];
    }
    matrix_triangle(m, width, a, b, r, q);
    for (size_t c = 0; c < n_kept; c++) {
        memcpy(schur + c * n_kept, r + n_loose + (n_loose + c) * width, n_kept * sizeof *schur);
        schur_rhs[c] = q[n_loose + c];
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
        memcpy(pieces->rows + (piece->column ? piece->column[c] : c) * m + first,
               piece->schur + c * n, n * sizeof *piece->schur);
    memcpy(pieces->rhs + first, piece->rhs, n * sizeof *piece->rhs);
    pieces->n_row += n;
}

/* Whether a piece is the triangle of all columns. */
static bool is_triangle(const struct joint_rows *piece, size_t width)
{
    bool is_so = piece->n == width;
    for (size_t c = 0; is_so && c < width; c++) {
        is_so = !piece->column || piece->column[c] == c;
        for (size_t i = c + 1; is_so && i < width; i++)
            is_so = piece->schur[i + c * width] == 0;
    }
    return is_so;
}

/* Copies a piece that is the triangle already. False: it is not. */
static bool take_triangle(const struct joint_rows *piece, size_t width, double *triangle,
                          double *rhs)
{
    if (!is_triangle(piece, width))
        return false;
    memcpy(triangle, piece->schur, width * width * sizeof *triangle);
    memcpy(rhs, piece->rhs, width * sizeof *rhs);
    return true;
}

/* The last piece may be the only one. */
static void reduce_pieces(struct pieces *pieces, const struct joint_rows *last, double *triangle,
                          double *rhs)
{
    size_t width = pieces->width, m = pieces->n_row;
    if (m == last->n && take_triangle(last, width, triangle, rhs))
        return;
    for (size_t c = 1; c < width; c++)
        memmove(pieces->rows + c * m, pieces->rows + c * AT_ONCE * width, m * sizeof *pieces->rows);
    matrix_triangle(m, width, pieces->rows, pieces->rhs, triangle, rhs);
}

struct sum {
    size_t n, width, before; /* before: of the items of other processes */
    joint_get *get;
    void *context;
};

/* The rows of items [first, first + n), where n is AT_ONCE to some power, or beyond the last
 * one: of each AT_ONCE parts in turn. `room`: AT_ONCE pieces and one result for each level. */
static void sum_range(const struct sum *sum, size_t first, size_t n, double *room, double *triangle,
                      double *rhs)
{
    size_t width = sum->width;
    struct pieces pieces = {.width = width, .rows = room, .rhs = room + AT_ONCE * width * width};
    double *part = pieces.rhs + AT_ONCE * width, *part_rhs = part + width * width,
           *below = part_rhs + width;
    struct joint_rows piece = {.n = 0};
    for (size_t k = 0; k < AT_ONCE && first < sum->n; k++, first += n / AT_ONCE) {
        piece = (struct joint_rows){.n = width, .schur = part, .rhs = part_rhs};
        if (n == AT_ONCE)
            piece = sum->get(sum->context, first - sum->before);
        else
            sum_range(sum, first, n / AT_ONCE, below, part, part_rhs);
        put_piece(&pieces, &piece);
    }
    reduce_pieces(&pieces, &piece, triangle, rhs);
}

/* How many items the root has, a power of AT_ONCE, and the levels below it. */
static size_t measure(size_t n_item, size_t *n_level)
{
    size_t n = AT_ONCE;
    for (*n_level = 1; n < n_item; n *= AT_ONCE)
        ++*n_level;
    return n;
}

static double *make_room(size_t n_level, size_t width)
{
    return memory_alloc(n_level * (AT_ONCE + 1) * width * (width + 1) * sizeof(double) + 1);
}

bool joint_sum(size_t n_item, size_t width, joint_get *get, void *context, double *triangle,
               double *rhs)
{
    const struct sum sum = {.n = n_item, .width = width, .get = get, .context = context};
    size_t n_level, n = measure(n_item, &n_level);
    if (n_item == 1) {
        const struct joint_rows only = get(context, 0);
        if (take_triangle(&only, width, triangle, rhs))
            return true;
    }
    double *room = make_room(n_level, width);
    if (room && width > 0)
        sum_range(&sum, 0, n, room, triangle, rhs);
    free(room);
    return room != NULL;
}

/* A node or an item as a message: its triangle, column by column, and its right-hand side. */
static size_t n_packed(size_t width) { return width * (width + 1) / 2 + width; }

static void pack(size_t width, const double *triangle, const double *rhs, double **to)
{
    for (size_t c = 0; c < width; *to += ++c)
        memcpy(*to, triangle + c * width, (c + 1) * sizeof **to);
    memcpy(*to, rhs, width * sizeof **to);
    *to += width;
}

struct packed {
    const double *at, *stop;
};

static void unpack(size_t width, struct packed *from, double *triangle, double *rhs)
{
    /* or the fit is lost to this process */
    bool is_there = (size_t)(from->stop - from->at) >= n_packed(width);
    memset(triangle, 0, width * width * sizeof *triangle);
    memset(rhs, 0, width * sizeof *rhs);
    for (size_t c = 0; is_there && c < width; from->at += ++c)
        memcpy(triangle + c * width, from->at, (c + 1) * sizeof *triangle);
    if (is_there)
        memcpy(rhs, from->at, width * sizeof *rhs);
    from->at += is_there ? width : 0;
}

/* Packs the nodes that lie within this process's items, in order. */
static void pack_nodes(const struct sum *sum, const struct joint *joint, size_t first, size_t n,
                       double *room, double **to)
{
    size_t low = joint->part.before, high = low + joint->part.n_active,
           end = first + n < sum->n ? first + n : sum->n;
    double *triangle = room, *rhs = room + sum->width * sum->width;
    if (end <= low || high <= first)
        return;
    if (n == 1) {
        struct joint_rows item = sum->get(sum->context, first - low);
        assert(item.n == sum->width);
        pack(sum->width, item.schur, item.rhs, to);
    } else if (low <= first && end <= high) {
        sum_range(sum, first, n, rhs + sum->width, triangle, rhs);
        pack(sum->width, triangle, rhs, to);
    } else {
        for (size_t k = 0; k < AT_ONCE; k++)
            pack_nodes(sum, joint, first + k * (n / AT_ONCE), n / AT_ONCE, room, to);
    }
}

/* As sum_range, from the nodes of all processes, which come in the order of their items. */
static void complete(const struct sum *sum, const struct joint *joint, size_t first, size_t n,
                     struct packed *from, double *room, double *triangle, double *rhs)
{
    size_t width = sum->width;
    struct pieces pieces = {.width = width, .rows = room, .rhs = room + AT_ONCE * width * width};
    double *part = pieces.rhs + AT_ONCE * width, *part_rhs = part + width * width,
           *below = part_rhs + width;
    if (joint_is_of_one(joint, first, first + n < sum->n ? first + n : sum->n)) {
        unpack(width, from, triangle, rhs);
        return;
    }
    const struct joint_rows piece = {.n = width, .schur = part, .rhs = part_rhs};
    for (size_t k = 0; k < AT_ONCE && first < sum->n; k++, first += n / AT_ONCE) {
        complete(sum, joint, first, n / AT_ONCE, from, below, part, part_rhs);
        put_piece(&pieces, &piece);
    }
    reduce_pieces(&pieces, &piece, triangle, rhs);
}

bool joint_sum_all(const struct joint *joint, size_t width, joint_get *get, void *context,
                   double *triangle, double *rhs)
{
    const struct sum sum = {joint->part.n_all, width, joint->part.before, get, context};
    size_t n_level, n = measure(sum.n, &n_level), n_byte;
    if (!joint->ranks.gather)
        return joint_sum(sum.n, width, get, context, triangle, rhs);
    if (width == 0)
        return true;
    double *room = make_room(n_level + 1, width);
    double *nodes = memory_calloc(2 * AT_ONCE * n_level * n_packed(width) + 1, sizeof *nodes),
           *to = nodes;
    if (room && nodes)
        pack_nodes(&sum, joint, 0, n, room, &to);
    const unsigned char *all =
        joint_gather(joint, nodes, (size_t)(to - nodes) * sizeof *nodes, &n_byte);
    double *in = memory_alloc(n_byte + 1);
    bool is_good = room && nodes && in;
    if (is_good) {
        if (all)
            memcpy(in, all, n_byte);
        struct packed from = {in, in + n_byte / sizeof *in};
        complete(&sum, joint, 0, n, &from, room, triangle, rhs);
    }
    free(room);
    free(nodes);
    free(in);
    return is_good;
}

bool joint_add_least(size_t width, size_t n, const double *length, double least, double *triangle,
                     double *rhs)
{
    size_t m = width + n;
    double *a = memory_calloc(m * width + m + 1, sizeof *a), *b = a + m * width;
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
