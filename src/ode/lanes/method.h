/* Rosenbrock methods as tables, in the form without products of matrix and vector (Hairer & Wanner, Solving Ordinary Differential
 * Equations II, section IV.7). For a step h of y' = f(t, y) with Jacobian J, each stage i solves
 *
 *     (I/(h gamma) - J) u_i = f(t + alpha_i h, y + sum_j a_ij u_j) + sum_j c_ij/h u_j + gamma_i h df/dt,    j < i;
 *
 * the step ends at y + sum_i m_i u_i, its estimated error is sum_i e_i u_i, and inside of it, at t + s h,
 *
 *     y(s) = (1-s) y(0) + s (y(1) + (1-s) (d_1 + s (d_2 + s d_3))),    d_k = sum_i d_ki u_i.
 *
 * The methods here are stiffly accurate with a chain of embedded ones: the last stages' arguments differ by a stage,
 * Y_i = Y_(i-1) + u_(i-1) for i >= chain (counted from 0), the step ends at Y_last + u_last, and u_last is the error.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_METHOD_H
#define ODE_LANES_METHOD_H

enum { METHOD_STAGES = 8, METHOD_DENSE = 3 };

struct lanes_method {
    const char *name;
    int n_stage, n_dense; /* rows of dense in use */
    int chain;
    int order, order_error; /* of the step, and of the embedded method whose difference is the error */
    double gamma;
    double alpha[METHOD_STAGES], gamma_i[METHOD_STAGES];
    double a[METHOD_STAGES][METHOD_STAGES], c[METHOD_STAGES][METHOD_STAGES]; /* [i][j], j < i */
    double dense[METHOD_DENSE][METHOD_STAGES];
};

extern const struct lanes_method lanes_rodas4;

#endif
