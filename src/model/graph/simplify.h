/* How the constructors of graph.h simplify: the list of rules, and the steps that the files of model/graph share.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A rule may change the sign of a zero. Beyond that it is exact in IEEE arithmetic unless it is marked (r), for another
 * rounding of the same value, or (d), for another value where x is NaN or infinite. x, y, z are any nodes; c, d are
 * constants. Each rule looks at a bounded number of nodes, so a constructor's time does not depend on the depth.
 *
 *   Constants      f(c, ...) -> its value, if that is finite; else it is left for run time and no other rule applies
 *   Order          of x+y, x*y, x == y, x != y, and, or: constants first, then by number
 *   Signs          go outwards and end in a sum or in one NEGATE, so that x and -x share all but that:
 *                  -(-x) -> x; x+(-y) -> x-y; x-(-y) -> x+y; (-x)-y -> -(x+y); (-x)*y, (-x)/y, x/(-y) -> -(...);
 *                  x-y -> -(y-x) where y-x is there already; sin(-x) -> -sin(x) and so the other odd functions;
 *                  cos(-x) -> cos(x), cosh, abs. A negative constant counts as -(its size): factors are positive.
 *   Nothing        x+0, x-0, x*1, x/1, x^1 -> x; 0-x -> -x; 0*x, 0/x -> 0 (d); x-x -> 0 (d); x^0, 1^x -> 1;
 *                  never x/x -> 1
 *   Like terms     x+x -> 2*x; c*x + d*x -> (c+d)*x, the same with - and where one factor is 1 (r)
 *   Factors        c*(d*x) -> (c*d)*x; c*((d*x)*y) -> (c*d)*(x*y); (c*x)*(d*y) -> (c*d)*(x*y); each where c*d is a
 *                  normal number; (c*x)*y -> c*(x*y) where x*y is there already (r)
 *   Division       x/c -> (1/c)*x where c is a power of two; 1/x -> RECIPROCAL(x); c*(1/x) -> c/x (r);
 *                  c*(d/x) -> (c*d)/x and c*((d*x)/y) -> ((c*d)*x)/y where c*d is a normal number (r)
 *   Powers         x^n for whole |n| <= 16 -> products by repeated squaring (r); x^0.5 -> sqrt(x); x^1.5 -> x*sqrt(x)
 *                  (r); negative ones the RECIPROCAL of those (r)
 *   Comparisons    x < x -> 0; not not x -> x where x is 1 or 0, else x != 0; not x == y -> x != y and back
 *   Logic          c and x, c or x: decided by c or by x alone; x and x, x or x -> x as 1 or 0
 *   Choices        min(x, x), max(x, x) -> x; SELECT(c, x, y) -> the one taken; SELECT(x, y, y) -> y;
 *                  SELECT(not x, y, z) -> SELECT(x, z, y); SELECT(x != 0, y, z) -> SELECT(x, y, z);
 *                  SELECT(x, 1, 0) -> x as 1 or 0; SELECT(x, SELECT(x, y, z), w) -> SELECT(x, y, w), and so on its
 *                  right
 *
 * Folding uses the mathematical library of the machine that builds the model, run time that of the one that runs it. */
#ifndef MODEL_GRAPH_SIMPLIFY_H
#define MODEL_GRAPH_SIMPLIFY_H

#include "model/graph/intern.h"

enum { MAX_UNROLLED_POWER = 16 };

node simplify_negate(struct graph *graph, node a);
node simplify_add(struct graph *graph, node a, node b);
node simplify_subtract(struct graph *graph, node a, node b);
node simplify_multiply(struct graph *graph, node a, node b);
node simplify_divide(struct graph *graph, node a, node b);
node simplify_power(struct graph *graph, node a, node b);
node simplify_reciprocal(struct graph *graph, node a);

/* Rules of comparisons, logic and choices; NODE_NONE where none applies. */
node simplify_choice(struct graph *graph, enum graph_op op, const node *arg);

/* Is it 1 or 0 wherever it is not NaN? */
bool simplify_is_truth(const struct graph *graph, node a);

/* Takes a sign off: true if *a was negative, and *a is then its opposite. */
bool simplify_split_sign(struct graph *graph, node *a);

#endif
