/* Attempts at steps on a GPU, one evaluation for each work-item, and one column of its sensitivities where columns are computed.
 * What ode/lanes does in one lane is done here with the same operations in the same order, so that the bits are the same: by the
 * same text where it is the same (ode/lanes/step_*.h), else the kernels of both must be changed together. The program: sizes and
 * tables (gpu/record.c), these words, the model, linear algebra, words.cl, the texts of lanes, kernel.cl.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

/* What the model's functions are written in. Numbers of an evaluation are GROUP apart (gpu/record.h). */
struct point {
    __global const double *t, *y, *p, *covariate, *work, *direction, *input, *input_slope;
};
typedef double lanes;
typedef long mask;
#define POINT const struct point
#define RESULT __global double *restrict
#define INLINE
#define lanes_from(at, k) (*(at))
#define STIFFIT_LANES 1
#define WIDTH 1
#define get(from, i, k) ((from)[(i) * GROUP])
#define put(to, i, k, value) ((to)[(i) * GROUP] = (value))
#define all(value) (value)
#define opposite(which) (!(which))
#define truth(which) ((which) ? 1.0 : 0.0)
#define choose(which, a, b) ((which) ? (a) : (b))
#define bits_of(value) as_long(value)
#define number_of(bits) as_double(bits)
#define lane_of(value, i) (value)
#define TABLE __constant double
#define INT64_MAX LONG_MAX
#define LANES(name) static lanes lanes_##name
/* Not by way of LANES, as drivers define functions as macros. */
#define CALL(name) static lanes lanes_##name
#define EACH_1(f) static lanes lanes_##f(lanes a) { return f(a); }
/* The CPU computes what has a value that is not a number. */
#define else_each(value, f, a, most) value = choose(fabs(a) <= most, value, (lanes)NAN)
/* a * b + c, rounded once */
#define fused(a, b, c) fma(a, b, c)
#ifdef UNROLL
#define UNROLL_STAGES _Pragma("unroll")
#else
#define UNROLL_STAGES
#endif
