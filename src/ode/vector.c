/* The operations of our N_Vector as plain loops. They differ from SUNDIALS' own in two things:
 * the length is the bank's active one, and the weighted norm is the maximum over the blocks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/vector.h"

#include "ode/wide.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

struct vector {
    struct _generic_N_Vector base; /* base.content is the data itself */
    struct vector_bank *bank;
    struct vector *next_free;
};

struct vector_bank {
    size_t n_state, n_block, n_block_max, length;
    size_t n_vector, n_tracer;     /* tracers in use after the blocks: 0 or vector_bank_n_tracer */
    N_Vector template;             /* owns the table of operations that all vectors share */
    struct vector *vectors, *first_free;
    double *data;
};

static inline struct vector_bank *bank_of(N_Vector v) { return ((struct vector *)v)->bank; }
static inline size_t length_of(N_Vector v) { return bank_of(v)->length; }
/* The length for linear operations, which include the tracers. */
static inline size_t whole_of(N_Vector v) { return bank_of(v)->length + bank_of(v)->n_tracer; }

double vector_block_norm(const double *x, const double *w, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double term = x[i] * w[i];
        sum += term * term;
    }
    return sqrt(sum / (double)n);
}

N_Vector vector_new(struct vector_bank *bank)
{
    struct vector *v = bank->first_free;
    if (!v)
        return NULL;
    bank->first_free = v->next_free;
    return &v->base;
}

static N_Vector op_clone(N_Vector v) { return vector_new(bank_of(v)); }

static void op_destroy(N_Vector v)
{
    struct vector *vector = (struct vector *)v;
    vector->next_free = vector->bank->first_free;
    vector->bank->first_free = vector;
}

static N_Vector_ID op_id(N_Vector v)
{
    (void)v;
    return SUNDIALS_NVEC_CUSTOM;
}

WIDE static void op_linear_sum(sunrealtype a, N_Vector xv, sunrealtype b, N_Vector yv, N_Vector zv)
{
    const double *x = vector_data(xv), *y = vector_data(yv);
    double *z = vector_data(zv);
    size_t n = whole_of(zv);
    if (a == 1 && b == 1)
        EACH (size_t i = 0; i < n; i++)
            z[i] = x[i] + y[i];
    else if (a == 1 && b == -1)
        EACH (size_t i = 0; i < n; i++)
            z[i] = x[i] - y[i];
    else if (a == 1)
        EACH (size_t i = 0; i < n; i++)
            z[i] = x[i] + b * y[i];
    else
        EACH (size_t i = 0; i < n; i++)
            z[i] = a * x[i] + b * y[i];
}

/* The result of a nonlinear operation depends on no other vector. */
static inline void forget(N_Vector zv)
{
    memset(vector_tracers(zv), 0, bank_of(zv)->n_tracer * sizeof(double));
}

static void op_const(sunrealtype c, N_Vector zv)
{
    double *z = vector_data(zv);
    for (size_t i = 0, n = length_of(zv); i < n; i++)
        z[i] = c;
    forget(zv);
}

WIDE static void op_scale(sunrealtype c, N_Vector xv, N_Vector zv)
{
    const double *x = vector_data(xv);
    double *z = vector_data(zv);
    size_t n = whole_of(zv);
    EACH (size_t i = 0; i < n; i++)
        z[i] = c * x[i];
}

#define ELEMENTWISE_2(name, expression) \
    static void name(N_Vector xv, N_Vector yv, N_Vector zv) \
    { \
        const double *x = vector_data(xv), *y = vector_data(yv); \
        double *z = vector_data(zv); \
        size_t n = length_of(zv); \
        EACH (size_t i = 0; i < n; i++) \
            z[i] = (expression); \
        forget(zv); \
    }
ELEMENTWISE_2(op_product, x[i] * y[i])
ELEMENTWISE_2(op_divide, x[i] / y[i])

#define ELEMENTWISE_1(name, expression) \
    static void name(N_Vector xv, N_Vector zv) \
    { \
        const double *x = vector_data(xv); \
        double *z = vector_data(zv); \
        size_t n = length_of(zv); \
        EACH (size_t i = 0; i < n; i++) \
            z[i] = (expression); \
        forget(zv); \
    }
ELEMENTWISE_1(op_abs, fabs(x[i]))
ELEMENTWISE_1(op_inverse, 1 / x[i])

static void op_add_const(N_Vector xv, sunrealtype b, N_Vector zv)
{
    const double *x = vector_data(xv);
    double *z = vector_data(zv);
    size_t n = length_of(zv);
    EACH (size_t i = 0; i < n; i++)
        z[i] = x[i] + b;
    forget(zv);
}

static sunrealtype op_max_norm(N_Vector xv)
{
    const double *x = vector_data(xv);
    double largest = 0;
    for (size_t i = 0, n = length_of(xv); i < n; i++)
        if (!(fabs(x[i]) <= largest))
            largest = fabs(x[i]);
    return largest;
}

/* False: a NaN, which the norm must return. */
static inline bool keep_largest(double *largest, double sum)
{
    if (sum > *largest)
        *largest = sum;
    return !isnan(sum);
}

static sunrealtype op_wrms_norm(N_Vector xv, N_Vector wv)
{
    const struct vector_bank *bank = bank_of(xv);
    const double *x = vector_data(xv), *w = vector_data(wv);
    size_t n = bank->n_state;
    double largest = 0;
    size_t k = 0;
    for (; k + 4 <= bank->n_block; k += 4, x += 4 * n, w += 4 * n) {
        /* four blocks at a time: the additions of a single sum would wait for each other */
        double sum[4] = {0, 0, 0, 0};
        for (size_t i = 0; i < n; i++)
            for (size_t b = 0; b < 4; b++) {
                double term = x[i + b * n] * w[i + b * n];
                sum[b] += term * term;
            }
        for (size_t b = 0; b < 4; b++)
            if (!keep_largest(&largest, sum[b]))
                return sum[b];
    }
    for (; k < bank->n_block; k++, x += n, w += n) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            double term = x[i] * w[i];
            sum += term * term;
        }
        if (!keep_largest(&largest, sum))
            return sum;
    }
    return sqrt(largest / (double)n);
}

static sunrealtype op_min(N_Vector xv)
{
    const double *x = vector_data(xv);
    double smallest = x[0];
    for (size_t i = 1, n = length_of(xv); i < n; i++)
        if (!(x[i] >= smallest))
            smallest = x[i];
    return smallest;
}

/* z = sum c_j x_j; z may be x_0. Two vectors at a time halve the passes over z. */
WIDE static int op_linear_combination(int n_vector, sunrealtype *c, N_Vector *xs, N_Vector zv)
{
    double *z = vector_data(zv);
    size_t n = whole_of(zv);
    const double *x = vector_data(xs[0]);
    double a = c[0];
    if (n_vector == 1) {
        EACH (size_t i = 0; i < n; i++)
            z[i] = a * x[i];
        return 0;
    }
    const double *y = vector_data(xs[1]);
    double b = c[1];
    EACH (size_t i = 0; i < n; i++)
        z[i] = a * x[i] + b * y[i];
    for (int j = 2; j < n_vector; j++) {
        x = vector_data(xs[j]);
        a = c[j];
        EACH (size_t i = 0; i < n; i++)
            z[i] += a * x[i];
    }
    return 0;
}

/* z_j = a_j x + y_j */
WIDE static int op_scale_add_multi(int n_vector, sunrealtype *a, N_Vector xv, N_Vector *ys,
                                   N_Vector *zs)
{
    const double *x = vector_data(xv);
    size_t n = whole_of(xv);
    for (int j = 0; j < n_vector; j++) {
        const double *y = vector_data(ys[j]);
        double *z = vector_data(zs[j]), factor = a[j];
        EACH (size_t i = 0; i < n; i++)
            z[i] = factor * x[i] + y[i];
    }
    return 0;
}

static int op_scale_array(int n_vector, sunrealtype *c, N_Vector *xs, N_Vector *zs)
{
    for (int j = 0; j < n_vector; j++)
        op_scale(c[j], xs[j], zs[j]);
    return 0;
}

/* The operations that CVODES needs without sensitivities, quadratures and constraints of its
 * own. */
static void set_operations(N_Vector_Ops ops)
{
    ops->nvgetvectorid = op_id;
    ops->nvclone = op_clone;
    ops->nvdestroy = op_destroy;
    ops->nvlinearsum = op_linear_sum;
    ops->nvconst = op_const;
    ops->nvprod = op_product;
    ops->nvdiv = op_divide;
    ops->nvscale = op_scale;
    ops->nvabs = op_abs;
    ops->nvinv = op_inverse;
    ops->nvaddconst = op_add_const;
    ops->nvmaxnorm = op_max_norm;
    ops->nvwrmsnorm = op_wrms_norm;
    ops->nvmin = op_min;
    ops->nvlinearcombination = op_linear_combination;
    ops->nvscaleaddmulti = op_scale_add_multi;
    ops->nvscalevectorarray = op_scale_array;
}

struct vector_bank *vector_bank_new(SUNContext context, size_t n_state, size_t n_block,
                                    size_t n_vector)
{
    struct vector_bank *bank = calloc(1, sizeof *bank);
    if (!bank)
        return NULL;
    size_t per_line = ALIGNMENT / sizeof(double), limit = SIZE_MAX / 16 / sizeof(double);
    bool possible = n_state && n_block && n_vector && n_state <= limit / n_block / n_vector;
    size_t stride =
        (n_state * n_block + n_vector + VECTOR_N_EVENT + per_line - 1) / per_line * per_line;
    bank->n_state = n_state;
    bank->n_block_max = n_block;
    bank->n_vector = n_vector;
    bank->template = N_VNewEmpty(context);
    bank->vectors = calloc(n_vector, sizeof *bank->vectors);
    if (possible)
        bank->data = aligned_alloc(ALIGNMENT, stride * n_vector * sizeof(double));
    if (!bank->template || !bank->vectors || !bank->data) {
        vector_bank_free(bank);
        return NULL;
    }
    set_operations(bank->template->ops);
    for (size_t i = n_vector; i-- > 0;) {
        struct vector *v = &bank->vectors[i];
        v->base = *bank->template;
        v->base.content = bank->data + i * stride;
        v->bank = bank;
        v->next_free = bank->first_free;
        bank->first_free = v;
    }
    vector_bank_set_blocks(bank, n_block);
    return bank;
}

void vector_bank_free(struct vector_bank *bank)
{
    if (!bank)
        return;
    if (bank->template)
        N_VFreeEmpty(bank->template);
    free(bank->vectors);
    free(bank->data);
    free(bank);
}

void vector_bank_set_blocks(struct vector_bank *bank, size_t n_block)
{
    bank->n_block = n_block;
    bank->length = n_block * bank->n_state;
}

void vector_bank_trace(struct vector_bank *bank, bool on)
{
    size_t n_tracer = on ? vector_bank_n_tracer(bank) : 0;
    bank->n_tracer = n_tracer;
    for (size_t i = 0; on && i < bank->n_vector; i++) {
        double *tracers = vector_bank_tracers(bank, i);
        memset(tracers, 0, n_tracer * sizeof(double));
        tracers[i] = 1;
    }
}

size_t vector_bank_n_vector(const struct vector_bank *bank) { return bank->n_vector; }
size_t vector_bank_n_tracer(const struct vector_bank *bank)
{
    return bank->n_vector + VECTOR_N_EVENT;
}
double *vector_bank_tracers(struct vector_bank *bank, size_t i)
{
    return vector_tracers(&bank->vectors[i].base);
}
double *vector_tracers(N_Vector v) { return vector_data(v) + bank_of(v)->length; }
size_t vector_index(N_Vector v) { return (size_t)((struct vector *)v - bank_of(v)->vectors); }
