/* The words in which ode/lanes/step_*.h are written (kernel_numbers.h), for one evaluation: a part is a number, `lanes` are those
 * of a group's evaluations, h is the evaluation's place among them.
 * SPDX-License-Identifier: BSD-3-Clause */
typedef double part;
typedef long part_mask;
typedef double group_of_numbers[GROUP];
#define lanes group_of_numbers
#define PART(array, e) ((array)[e][h])
#define MASK(array, e) ((array)[e][h])
#define AT __global
#define METHOD_TABLE __constant
/* An array of constants and a constant array are not the same to C. */
#define const
#undef INLINE
#define INLINE static
#define UNROLLED UNROLL_STAGES
#define N_STATE(room) N
#define N_INPUT(room) N_IN
#define IS_INFUSED(room) (HAS_DOSES && (room)->outside.infused[h])
#define IS_LIVE(room) 1
#define ROW(rows, i) rows##_start[i]
#define TERM(rows, k, member) rows##_##member[k]
#define STAGES_OF(name) __global lanes (*name)[N + 1]
#define C_TABLE
#define C_PER_H(now, i, j) (METHOD.c[i][j] * (now)->per_h)
#define everywhere 1
#define somewhere(where) (where)
#define count_of(where, n) ((where) ? (n) : 0)
#define spread(x) ((double)(x))
#define pick(where, a, b) ((where) ? (a) : (b))
#define magnitude(x) fabs(x)
static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }
