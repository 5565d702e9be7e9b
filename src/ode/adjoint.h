/* Gradients by a backward pass through the integrator's own steps: the discrete adjoint of
 * CVODES's steps.
 *
 * Forward, the states are integrated with one combination of their sensitivities (probe.c), and
 * every step is recorded as a linear map (adjoint_tape.h). Backward, a step costs one df/dp and
 * one solve with the transposed matrix, for any number of parameters. Unlike the adjoint
 * equation integrated backward in time (CVodeB), this restarts nothing at measurement times and
 * has no tolerances and no error of its own: the gradient is exactly that of the computed
 * numbers for the given step sizes (internal numerical differentiation, Bock 1981; Albersmeyer &
 * Bock 2006), like forward sensitivities on the states' steps.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether an evaluation with `adjoint` costs less than one with forward sensitivities, if
 * n_sens_rhs wanted parameters enter the right-hand side or the initial state. */
bool adjoint_is_cheaper(size_t n_state, size_t n_sens_rhs);

/* Memory: 8 n_state + about 1200 bytes per step. The integration is divided into chunks of at
 * most a few thousand steps (about 8 MiB). Each chunk begins with a restart from a stored state,
 * a checkpoint. The backward pass repeats every chunk except the last; a restart is reproducible
 * to the bit, so the steps are the same. Up to 16 MiB more hold the factors of a chunk's first
 * steps for the backward pass; those of later steps are recomputed. */

/* The functions below are for cvodes.c. */
struct workspace;
struct adjoint;
void adjoint_free(struct adjoint *adjoint);
bool adjoint_fail_memory(struct workspace *workspace); /* ends the evaluation; false */

/* At the beginning of an evaluation with evaluation.adjoint: allocates memory if needed, and
 * sets workspace.tape if a probe is used, that is, if derivatives of the states by any parameter
 * are wanted. False: out of memory. */
bool adjoint_begin(struct workspace *workspace);
/* A chunk begins at time t with the state in workspace.y. False: out of memory. */
bool adjoint_open(struct workspace *workspace, double t);
/* The state at task time i_time is in workspace.y. False: out of memory. */
bool adjoint_keep(struct workspace *workspace, size_t i_time, bool initial);
/* Records a step. False: the evaluation is finished. */
bool adjoint_record(struct workspace *workspace);
/* After a step and its outputs: whether the chunk is full and must end here. */
bool adjoint_is_full(const struct workspace *workspace);
/* Ends a chunk, with its last state in workspace.y. False: the evaluation is finished. */
bool adjoint_close(struct workspace *workspace);

/* Called when all predictions are known: asks for their weights. False: the evaluation is
 * finished. */
bool adjoint_turn(struct workspace *workspace);
/* One step backward, in PASS_BACKWARD. False: the evaluation is finished. If the pass is
 * PASS_REPLAY on return, a chunk must be integrated again, from *t with the state in
 * workspace.y. */
bool adjoint_step(struct workspace *workspace, double *t);
