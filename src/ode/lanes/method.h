/* Rosenbrock methods as tables, in the form without products of matrix and vector (Hairer & Wanner, Solving Ordinary
 * Differential Equations II, section IV.7). For a step h of y' = f(t, y) with Jacobian J, each stage i solves
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
#pragma once

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

/* Rodas5P, order 5(4) with a dense output of order 4 (Steinebach, Construction of Rosenbrock-Wanner method Rodas5P and
 * numerical benchmarks within the Julia Differential Equations package, BIT Numerical Mathematics 63, 2023). */
static const struct lanes_method lanes_method = {
    .name = "Rodas5P", .n_stage = 8, .n_dense = 3, .chain = 6, .order = 5, .order_error = 4,
    .gamma = 0.21193756319429014,
    .alpha = {0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0},
    .gamma_i = {0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734, 2.325825639765069,
                0.0, 0.0, 0.0},
    .a = {{0},
          {3.0},
          {2.849394379747939, 0.45842242204463923},
          {-6.954028509809101, 2.489845061869568, -10.358996098473584},
          {2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641},
          {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946},
          {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946, 1.0},
          {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946, 1.0,
           1.0}},
    .c = {{0},
          {-14.155112264123755},
          {-17.97296035885952, -2.859693295451294},
          {147.12150275711716, -1.41221402718213, 71.68940251302358},
          {165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306},
          {24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471},
          {30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
           -28.087943162872662},
          {37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
           -54.66780262877968, -9.48861652309627}},
    .dense = {{25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204, 0.524948541321073,
               1.1241088310450404, 0.4272876194431874, -0.17202221070155493},
              {-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796, 20.176138334709044,
               15.98066361424651, -6.789040303419874, -6.710236069923372},
              {11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643, -52.072871366152654,
               -59.78993625266729, -0.15582684282751913, 4.883087185713722}}};
