/* What the operations mean in numbers: the interpreter over a whole graph, and what its nodes depend on. One loop each,
 * as arguments have smaller numbers than their users.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/graph.h"

#include <math.h>

static double power_log(double a, double b)
{
    return a == 0 && b > 0 ? 0 : pow(a, b) * log(a);
}

double graph_apply(enum graph_op op, const double *argument)
{
    double a = argument[0], b = graph_n_argument(op) > 1 ? argument[1] : 0;
    switch (op) {
    case GRAPH_ADD: return a + b;
    case GRAPH_SUBTRACT: return a - b;
    case GRAPH_MULTIPLY: return a * b;
    case GRAPH_DIVIDE: return a / b;
    case GRAPH_POWER: return pow(a, b);
    case GRAPH_POWER_LOG: return power_log(a, b);
    case GRAPH_NEGATE: return -a;
    case GRAPH_RECIPROCAL: return 1 / a;
    case GRAPH_SQRT: return sqrt(a);
    case GRAPH_CBRT: return cbrt(a);
    case GRAPH_EXP: return exp(a);
    case GRAPH_EXPM1: return expm1(a);
    case GRAPH_LOG: return log(a);
    case GRAPH_LOG1P: return log1p(a);
    case GRAPH_LOG10: return log10(a);
    case GRAPH_LOG2: return log2(a);
    case GRAPH_SIN: return sin(a);
    case GRAPH_COS: return cos(a);
    case GRAPH_TAN: return tan(a);
    case GRAPH_ASIN: return asin(a);
    case GRAPH_ACOS: return acos(a);
    case GRAPH_ATAN: return atan(a);
    case GRAPH_ATAN2: return atan2(a, b);
    case GRAPH_SINH: return sinh(a);
    case GRAPH_COSH: return cosh(a);
    case GRAPH_TANH: return tanh(a);
    case GRAPH_ASINH: return asinh(a);
    case GRAPH_ACOSH: return acosh(a);
    case GRAPH_ATANH: return atanh(a);
    case GRAPH_ERF: return erf(a);
    case GRAPH_ERFC: return erfc(a);
    case GRAPH_ABS: return fabs(a);
    case GRAPH_SIGN: return isnan(a) ? a : (a > 0) - (a < 0);
    case GRAPH_HEAVISIDE: return isnan(a) ? a : a >= 0;
    case GRAPH_FLOOR: return floor(a);
    case GRAPH_CEIL: return ceil(a);
    case GRAPH_MIN: return b < a || isnan(b) ? b : a;
    case GRAPH_MAX: return b > a || isnan(b) ? b : a;
    case GRAPH_LESS: return a < b;
    case GRAPH_LESS_EQUAL: return a <= b;
    case GRAPH_EQUAL: return a == b;
    case GRAPH_NOT_EQUAL: return a != b;
    case GRAPH_AND: return a != 0 && b != 0;
    case GRAPH_OR: return a != 0 || b != 0;
    case GRAPH_NOT: return a == 0;
    case GRAPH_SELECT: return a != 0 ? b : argument[2];
    default: return NAN; /* a leaf is no operation */
    }
}

static double value_of_leaf(const struct graph_node *leaf, const struct stiffit_point *at, const double *direction)
{
    switch (leaf->op) {
    case GRAPH_CONSTANT: return leaf->value;
    case GRAPH_TIME: return at->t;
    case GRAPH_STATE: return at->y ? at->y[leaf->index] : NAN;
    case GRAPH_PARAMETER: return at->p[leaf->index];
    case GRAPH_COVARIATE: return at->covariate ? at->covariate[leaf->index] : NAN;
    default: return direction ? direction[leaf->index] : NAN;
    }
}

void graph_evaluate(const struct graph *graph, const struct stiffit_point *at, const double *direction, double *value)
{
    size_t n_node = graph_n_node(graph);
    for (size_t i = 0; i < n_node; i++) {
        const struct graph_node *it = graph_node(graph, (node)i);
        int n = graph_n_argument(it->op);
        double argument[3];
        for (int k = 0; k < n; k++)
            argument[k] = value[it->arg[k]];
        value[i] = n ? graph_apply(it->op, argument) : value_of_leaf(it, at, direction);
    }
}

void graph_dependence(const struct graph *graph, uint8_t *depends)
{
    size_t n_node = graph_n_node(graph);
    for (size_t i = 0; i < n_node; i++) {
        const struct graph_node *it = graph_node(graph, (node)i);
        int n = graph_n_argument(it->op);
        depends[i] = n ? 0 : (uint8_t)(1u << it->op);
        for (int k = 0; k < n; k++)
            depends[i] |= depends[it->arg[k]];
    }
}
