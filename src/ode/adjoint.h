/* Gradients by a backward pass through the integrator's own steps: the discrete adjoint of CVODES's steps.
 *
 * Forward, the states are integrated with one combination of their sensitivities (probe.c), and every step is recorded
 * as a linear map (adjoint_tape.h). Backward, a step costs one df/dp and one solve with the transposed matrix, however
 * many parameters there are. In contrast to integrating the adjoint equation backward in time (CVodeB), nothing is
 * restarted at measurement times, the backward pass has no tolerances and no error of its own, and the gradient is
 * exactly that of the computed numbers for the given step sizes (internal numerical differentiation, Bock
 * 1981; Albersmeyer & Bock 2006), like forward sensitivities on the states' steps.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_ADJOINT_H
#define ODE_ADJOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether an evaluation with `adjoint` costs less than one with forward sensitivities; n_sens_rhs wanted parameters
 * enter the right-hand side or the initial state. */
bool adjoint_is_cheaper(size_t n_state, size_t n_sens_rhs);

/* Memory: a step takes 8 n_state + about 1200 bytes. The integration is divided into chunks of at most a few thousand
 * steps (about 8 MiB), each of which begins with a restart from a stored state, a checkpoint. In the backward pass every chunk
 * except the last is integrated again; a restart is pure to the bit, so its steps are the same. Up to 16 MiB more hold the
 * factors of a chunk's first steps for the backward pass; those of later steps are computed again. */

/* The functions below are for simulation.c. */
struct workspace;
struct adjoint;
void adjoint_free(struct adjoint *adjoint);

/* At the beginning of an evaluation with evaluation.adjoint: allocates memory if needed, and sets workspace.tape if there is a
 * probe, that is if the states' dependence on any parameter is wanted. False: out of memory. */
bool adjoint_begin(struct workspace *workspace);
/* A chunk begins at time t with the state in workspace.y. False: out of memory. */
bool adjoint_open(struct workspace *workspace, double t);
/* The state at task time i_time is in workspace.y. False: out of memory. */
bool adjoint_keep(struct workspace *workspace, size_t i_time, bool initial);
/* After a step: records it. False: the evaluation is finished. */
bool adjoint_record(struct workspace *workspace);
/* After a step and its outputs: whether the chunk ends here. */
bool adjoint_is_full(const struct workspace *workspace);
/* Ends a chunk, with its last state in workspace.y. False: the evaluation is finished. */
bool adjoint_close(struct workspace *workspace);

/* All predictions are known: asks for their weights. False: the evaluation is finished. */
bool adjoint_turn(struct workspace *workspace);
/* One step backward, in PASS_BACKWARD. False: the evaluation is finished. If the pass is PASS_REPLAY on return, a chunk must be
 * integrated again, from *t with the state in workspace.y. */
bool adjoint_step(struct workspace *workspace, double *t);

#endif
