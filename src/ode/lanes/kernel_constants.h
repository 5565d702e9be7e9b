/* The numbers in the rules for steps: for the lanes' kernel, and for that of a GPU, which
 * follows the same rules.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <float.h>

/* A step grows at most and shrinks at most by these factors (as logarithms to base 2), and is a
 * bit shorter than the error asks. */
#define GROW 4.321928094887363
/* The explicit method grows faster. Where the error is so small that it says little (log2 of
 * 1e-6; at the beginning, when states that grow from zero have tiny tolerances), it does so with
 * this power of the error. */
#define GROW_EXPLICIT 13.28771237954945
#define FAR_BELOW -19.931568569324174
#define SHARE_BELOW (1.0 / 3)
#define SHRINK 3.321928094887362
#define SAFETY 0.32192809488736235
/* Error by which the controller takes an earlier step's as a lower limit: log2 of 0.01. */
#define LEAST_ERROR -6.643856189774724
/* A first step that fails is far too long. */
#define SHRINK_FIRST 3.321928094887362
/* A planned step is stretched up to this much to end at a stop. */
#define ROOM_STRETCH 1.01
/* Elimination without pivoting is safe in a lane if it makes an error of at most this part of
 * the tolerances in the first stage. */
#define UNSAFE 0.1
/* An estimated error is confirmed at the end of the step where more than this part of what the
 * matrix makes of it has ended there. */
#define RELEASED 0.25
/* A state is held so many times less in a gap of stiffness, seen in stages 1 and INSIDE. A step
 * that passes one fails with an error whose square is GAP_ERROR, which halves it. */
#define GAP 4
#define GAP_ERROR 100
enum { INSIDE = 2 };
/* Where the Jacobian's entries change by this number of times what the end of the step damps by,
 * the estimated errors of sensitivities are as doubtful as those of the states. */
#define ENDS 2
/* How many tolerances the error of the dense output in the middle of a step may be. */
#define ACCEPTED_INSIDE 1.0
#define BY_INSIDE (1 / (ACCEPTED_INSIDE * ACCEPTED_INSIDE))
/* The explicit method is stable for real h lambda down to -4.86; the error test keeps steps that
 * this limits a bit shorter. */
#define UNSTABLE 2.4
/* A mode with the eigenvalue lambda that is as large as the states would make an error of
 * 1e-4 (h lambda)^6 of them in an explicit step. Where this is over 64 times the step's error, the
 * mode is at rest, or follows slower ones; and it limits the steps if it would be over 4 times
 * what is accepted. */
#define AT_REST (64 / 1e-4)
#define LARGE (4 / 1e-4)
/* The difference of the last two arguments that shows an eigenvalue and not rounding errors,
 * relative to the states: the method's coefficients enlarge these some hundred times. */
#define SEEN (1e4 * DBL_EPSILON)
/* An implicit step whose size times the largest rate is below this would be stable as an explicit
 * one. */
#define CALM 3
/* An underflow so many attempts after the model gave numbers that are not finite is the model's
 * failure. */
enum { LASTING = 100 };
/* An attempt with such numbers makes up for so many without; and what is too much: the model
 * cannot be computed beside the solution, as where a state with a broken exponent is at zero, and
 * steps would be cut short for ever. */
enum { TROUBLE = 20, MUCH_TROUBLE = 1000 };
/* Of the explicit method; the last stage's argument is the end of the step. */
enum { LAST_SLOPE = 8, N_SLOPE = 9 };
/* If stiffness began within so many steps, the next evaluation begins with the implicit method. */
enum { FEW_STEPS = 100 };
/* Signs make an evaluation change the method (step_sign.h): what a step counts that shows one,
 * that shows one which is no reason yet, and that shows none; and how many it takes. Relaxation
 * oscillators show slight ones in most steps, but the others, of which the implicit method needs
 * more, cost it what these would save. */
enum {
    SIGN = 20,
    SLIGHT_SIGN = 1,
    NO_SIGN = 10,
    PATIENCE_EXPLICIT = 300,
    PATIENCE_IMPLICIT = 2000
};
