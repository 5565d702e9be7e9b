/* Parts of the statistics of a fit over many datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/internal.h"

/* In joint/findings.c. After the last evaluation: keeps what the statistics need. The arrays of
 * a block whose sizes are known: room, and where they are (returns their numbers). False: out of
 * memory. */
bool joint_findings_take(struct joint_work *work, struct arena *arena);
bool joint_findings_room(struct joint_block *block, size_t s);
size_t joint_findings_arrays(const struct joint_block *block, size_t s,
                             struct joint_arrays *arrays);
/* The triangle for standard errors. */
const double *joint_information(const struct joint_block *block, size_t s);

/* In joint/observed.c. Turns the rows that eliminating n parameters leaves, `own` (n x (n + m),
 * triangular) into those of the observed information, whose excess over the expected one is
 * `excess` (of parameter c the row and column index[c], n + m of them; leading dimension ld),
 * and fills what is left of the excess for the m others (m x m). scale: the lengths of the n
 * columns. False: out of memory; *is_definite: as in fit_spectrum_observe, and then nothing
 * changes. */
bool joint_observe(size_t n, size_t m, double *own, const double *scale, double accuracy,
                   const double *excess, size_t ld, const uint32_t *index, double *left,
                   bool *is_definite, struct arena *arena);
