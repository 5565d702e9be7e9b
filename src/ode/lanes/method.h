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

/* RODAS, order 4(3) (Hairer & Wanner 1996, section VI.4), with their dense output of order 3. */
static const struct lanes_method lanes_rodas4 = {
    .name = "Rodas4", .n_stage = 6, .n_dense = 2, .chain = 5, .order = 4, .order_error = 3, .gamma = 0.25,
    .alpha = {0, 0.386, 0.21, 0.63, 1, 1},
    .gamma_i = {0.25, -0.1043, 0.1035, -0.3620000000000023e-01, 0, 0},
    .a = {{0},
          {0.1544000000000000e+01},
          {0.9466785280815826e+00, 0.2557011698983284e+00},
          {0.3314825187068521e+01, 0.2896124015972201e+01, 0.9986419139977817e+00},
          {0.1221224509226641e+01, 0.6019134481288629e+01, 0.1253708332932087e+02, -0.6878860361058950e+00}},
    .c = {{0},
          {-0.5668800000000000e+01},
          {-0.2430093356833875e+01, -0.2063599157091915e+00},
          {-0.1073529058151375e+00, -0.9594562251023355e+01, -0.2047028614809616e+02},
          {0.7496443313967647e+01, -0.1024680431464352e+02, -0.3399990352819905e+02, 0.1170890893206160e+02},
          {0.8083246795921522e+01, -0.7981132988064893e+01, -0.3152159432874371e+02, 0.1631930543123136e+02,
           -0.6058818238834054e+01}},
    .dense = {{0.1012623508344586e+02, -0.7487995877610167e+01, -0.3480091861555747e+02, -0.7992771707568823e+01,
               0.1025137723295662e+01},
              {-0.6762803392806898e+00, 0.6087714651680015e+01, 0.1643084320892478e+02, 0.2476722511418386e+02,
               -0.6594389125716872e+01}}};

#endif
