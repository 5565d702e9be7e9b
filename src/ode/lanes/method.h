/* The methods of the lanes as tables: a Rosenbrock method, and an explicit one.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

/* Tables are a part of the program for a GPU, too (step_numbers.h). */
#ifndef METHOD_TABLE
#define METHOD_TABLE const
#endif

enum { METHOD_STAGES = 9, METHOD_DENSE = 4 }; /* the most of a method */

/* How an evaluation is integrated at present. */
enum lanes_method_kind { METHOD_EXPLICIT, METHOD_IMPLICIT, N_METHOD };

/* Rosenbrock methods as tables, in the form without products of matrix and vector (Hairer &
 * Wanner, Solving Ordinary Differential Equations II, section IV.7). For a step h of y' = f(t,
 * y) with Jacobian J, each stage i solves
 *
 *     (I/(h gamma) - J) u_i = f(t + alpha_i h, y + sum_j a_ij u_j) + sum_j c_ij/h u_j
 *                               + gamma_i h df/dt,    j < i;
 *
 * the step ends at y + sum_i m_i u_i, its estimated error is sum_i e_i u_i, and inside of it, at
 * t + s h,
 *
 *     y(s) = (1-s) y(0) + s (y(1) + (1-s) (d_1 + s (d_2 + s d_3))),    d_k = sum_i d_ki u_i.
 *
 * The methods here are stiffly accurate with a chain of embedded ones: the last stages'
 * arguments differ by a stage, Y_i = Y_(i-1) + u_(i-1) for i >= chain (counted from 0), the step
 * ends at Y_last + u_last, and u_last is the error.
 *
 * And an explicit Runge-Kutta method, for what is not stiff (Hairer, Norsett & Wanner, Solving
 * Ordinary Differential Equations I, section II.4). Its stages are slopes,
 *
 *     k_i = f(t + alpha_i h, y + h sum_j a_ij k_j),    j < i;
 *
 * the last one is at the end of the step, and the first one of the next step; the estimated
 * error is h sum_i error_i k_i, and what is inside is the same with u_i = h k_i. */
struct lanes_method {
    int n_stage, n_dense; /* rows of dense in use */
    int chain;
    bool has_slopes;        /* it is explicit */
    /* of the step, and of the embedded method whose difference is the error */
    int order, order_error;
    double gamma;
    double alpha[METHOD_STAGES], gamma_i[METHOD_STAGES];
    double a[METHOD_STAGES][METHOD_STAGES], c[METHOD_STAGES][METHOD_STAGES]; /* [i][j], j < i */
    double error[METHOD_STAGES];
    double dense[METHOD_DENSE][METHOD_STAGES];
};

/* Rodas5P, order 5(4) with a dense output of order 4 (Steinebach, Construction of
 * Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia Differential
 * Equations package, BIT Numerical Mathematics 63, 2023). */
static METHOD_TABLE struct lanes_method lanes_method =
    {.n_stage = 8, .n_dense = 3, .chain = 6, .order = 5, .order_error = 4,
     .gamma = 0.21193756319429014,
     .alpha = {0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664,
               1.0, 1.0, 1.0},
     .gamma_i = {0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734,
                 2.325825639765069, 0.0, 0.0, 0.0},
     .a = {{0},
           {3.0},
           {2.849394379747939, 0.45842242204463923},
           {-6.954028509809101, 2.489845061869568, -10.358996098473584},
           {2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641},
           {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256,
            0.030198172008377946},
           {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256,
            0.030198172008377946, 1.0},
           {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256,
            0.030198172008377946, 1.0, 1.0}},
     .c = {{0},
           {-14.155112264123755},
           {-17.97296035885952, -2.859693295451294},
           {147.12150275711716, -1.41221402718213, 71.68940251302358},
           {165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306},
           {24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125,
            -0.6610691825249471},
           {30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783,
            -19.097331116725623, -28.087943162872662},
           {37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047,
            -40.06618937091002, -54.66780262877968, -9.48861652309627}},
     .dense = {{25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204,
                0.524948541321073, 1.1241088310450404, 0.4272876194431874, -0.17202221070155493},
               {-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796,
                20.176138334709044, 15.98066361424651, -6.789040303419874, -6.710236069923372},
               {11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643,
                -52.072871366152654, -59.78993625266729, -0.15582684282751913, 4.883087185713722}}};

/* Verner's efficient pair of orders 6(5), with the dense output of order 4 that its stages give
 * and that leaves the least error of order 5 (Verner, Numerically optimal Runge-Kutta pairs with
 * interpolants, Numerical Algorithms 53, 2010: IIIXb; the dense output by least squares of the
 * order conditions). The error of the dense output is about half of the estimated one. */
static METHOD_TABLE struct lanes_method lanes_explicit = {
    .n_stage = 9, .n_dense = 4, .has_slopes = true, .order = 6,
    .order_error = 5,
    .alpha = {0.0, 0.06, 0.09593333333333333, 0.1439, 0.4973, 0.9725, 0.9995, 1.0, 1.0},
    .a = {{0},
          {0.06},
          {0.01923996296296296, 0.07669337037037037},
          {0.035975, 0.0, 0.107925},
          {1.3186834152331482, 0.0, -5.042058063628562, 4.220674648395414},
          {-41.87259166432752, 0.0, 159.43256216313748, -122.119213565010033, 5.531743066200054},
          {-54.43015693531650, 0.0, 207.06725136501847, -158.61081378459, 6.991816585950242,
           -0.018597231062203234},
          {-54.66374178728198, 0.0, 207.95280625538936, -159.2889574744995, 7.018743740796944,
           -0.018338785905045722, -0.0005119484997882099},
          {0.03438957868357036, 0.0, 0.0, 0.25826245556335034, 0.4209371189673537,
           4.40539646966931, -176.4831190242986, 172.36413340141507}},
    .error = {-0.014710097800254536, 0.0, 0.0, 0.033151232611697924, -0.04853110633560249,
              3.5988172446704234, -176.48311902429865, 172.97125289059287, -0.056861139440475696},
    .dense = {{0.9656104177736499, 0.0, 0.0, -0.25826244757920797, -0.42093713065558463,
               -4.40539560293022, 176.48307652010698, -172.3640917430212, -1.3694435948604809e-08},
              {-4.528651547459714, 0.0, 0.0, 6.4450720516811915, -2.087881903064257,
               -0.9816643167531959, 175.19873079312126, -173.74806498176167, -0.29754009576360946},
              {6.515815251362469, 0.0, 0.0, -11.573115249621724, 7.8407742217602765,
               -20.123412246378084, 7.5306986703915495, 8.107812293686717, 1.7014270587987967},
              {-2.8743280274125453, 0.0, 0.0, 5.545280671733859, -4.765668155603017,
               19.13746660446124, -7.131410919716621, -7.67775145800807, -2.2335887154548426}}};

#ifndef __OPENCL_VERSION__
static const struct lanes_method *const lanes_methods[N_METHOD] = {&lanes_explicit, &lanes_method};
#endif
