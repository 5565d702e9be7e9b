/* Prints the sparsity of a Jacobian as letters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/model_show.h"

#include <stdlib.h>
#include <string.h>

/* MOST_SINGLE: the largest matrix with a line per row; SIDE: lines and columns of a picture of a larger one. */
enum { MOST_SINGLE = 50, SIDE = 64, MOST_NAME = 24 };

static char block_letter(size_t n, size_t of)
{
    if (n == 0)
        return '.';
    return n == of ? '#' : 2 * n >= of ? '*' : 10 * n >= of ? '+' : ':';
}

static void print_single(const struct graph_matrix *matrix, const struct equation_state *state, const char *picture, FILE *out)
{
    int width = 0;
    for (size_t i = 0; i < matrix->n_row; i++) {
        int length = (int)strlen(state[i].name);
        width = length > width ? length : width;
    }
    width = width < MOST_NAME ? width : MOST_NAME;
    for (size_t i = 0; i < matrix->n_row; i++) {
        fprintf(out, "  %-*.*s ", width, width, state[i].name);
        for (size_t j = 0; j < matrix->n_column; j++)
            fprintf(out, " %c", picture[i * matrix->n_column + j] ? '*' : '.');
        fputc('\n', out);
    }
}

static void print_single_pattern(const struct graph_matrix *matrix, const struct equation_state *state, FILE *out)
{
    char *picture = calloc(matrix->n_row * matrix->n_column + 1, 1);
    if (!picture)
        return;
    for (size_t j = 0; j < matrix->n_column; j++)
        for (uint32_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; k++)
            picture[matrix->row[k] * matrix->n_column + j] = 1;
    print_single(matrix, state, picture, out);
    free(picture);
}

static void print_blocks(const struct graph_matrix *matrix, FILE *out)
{
    size_t side = (matrix->n_row + SIDE - 1) / SIDE, n = (matrix->n_row + side - 1) / side;
    size_t count[SIDE][SIDE] = {{0}};
    for (size_t j = 0; j < matrix->n_column; j++)
        for (uint32_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; k++)
            count[matrix->row[k] / side][j / side]++;
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "  %6zu  ", i * side + 1);
        for (size_t j = 0; j < n; j++) {
            size_t high = i + 1 < n ? side : matrix->n_row - i * side;
            size_t wide = j + 1 < n ? side : matrix->n_column - j * side;
            fputc(block_letter(count[i][j], high * wide), out);
        }
        fputc('\n', out);
    }
    fprintf(out, "  a letter stands for %zu x %zu entries: . none, : below a tenth, + below half, * more, # all\n", side, side);
}

void model_show_pattern(const struct graph_matrix *matrix, const struct equation_state *state, FILE *out)
{
    if (matrix->n_row == 0 || matrix->n_row != matrix->n_column || !matrix->column_start)
        return;
    if (matrix->n_row <= MOST_SINGLE)
        print_single_pattern(matrix, state, out);
    else
        print_blocks(matrix, out);
}
