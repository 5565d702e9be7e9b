/* Sizes, tables and linear algebra of a model as text for OpenCL.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/gpu/record.h"

#include "model/generate/generate.h"
#include "ode/lanes/kernel_constants.h"
#include "ode/lanes/room.h"
#include "ode/positive.h"
#include "ode/tolerance_constants.h"

#include <stdbool.h>

struct record record_of(const struct lanes_plan *plan, const struct record_size *size)
{
    const struct stiffit_model *abi = plan->abi;
    size_t n = plan->n, n_parameter = abi->n_parameter, n_covariate = abi->n_covariate,
           n_work = abi->n_work;
    size_t n_time = size->n_time, n_row = size->n_row, n_column = size->n_column,
           n_derive = plan->n_derive;
    size_t n_curve = plan->n_curve, n_entry = plan->n_entry, n_factor = plan->n_factor,
           n_observe = plan->n_observe;
    struct record record = {0};
#define PLACE(name, count) record.name = record.n_number, record.n_number += count;
    RECORD_HEAD(PLACE)
    record.n_head = record.n_number;
    RECORD_INPUT(PLACE)
    record.n_input = record.n_number;
    RECORD_SCRATCH(PLACE)
    record.n_scratch = record.n_number;
    RECORD_ANSWER(PLACE)
#undef PLACE
    return record;
}

void record_entries(const struct lanes_plan *plan, size_t n_id, int16_t *entry)
{
    for (size_t i = 0; i < n_id * plan->n; i++)
        entry[i] = -1;
    for (size_t k = 0; k < plan->n_entry; k++)
        entry[(size_t)plan->entry[k].parameter * plan->n + (size_t)plan->entry[k].row] = (int16_t)k;
}

static void put_doubles(FILE *out, const char *name, size_t n_row, size_t n_column, size_t stride,
                        const double *number)
{
    fprintf(out, "__constant double %s[%zu]", name, n_row);
    fprintf(out, n_column > 1 ? "[%zu] = {\n" : " = {\n", n_column);
    for (size_t i = 0; i < n_row; i++) {
        fputs(n_column > 1 ? "{" : "", out);
        for (size_t j = 0; j < n_column; j++)
            fprintf(out, "%a, ", number[i * stride + j]);
        fputs(n_column > 1 ? "},\n" : "\n", out);
    }
    fputs("};\n", out);
}

static void put_integers(FILE *out, const char *name, size_t n, const int32_t *number,
                         size_t stride)
{
    fprintf(out, "__constant int %s[%zu] = {", name, n + 1);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%d, ", (int)number[i * stride]);
    fputs("0};\n", out);
}

static void put_rows(FILE *out, const char *name, const struct lanes_rows *rows, size_t n)
{
    char part[40];
    size_t n_term = (size_t)rows->start[n];
    snprintf(part, sizeof part, "%s_start", name);
    put_integers(out, part, n + 1, rows->start, 1);
    snprintf(part, sizeof part, "%s_value", name);
    put_integers(out, part, n_term, &rows->term->value, 2);
    snprintf(part, sizeof part, "%s_row", name);
    put_integers(out, part, n_term, &rows->term->row, 2);
}

static void put_methods(FILE *out)
{
    const struct lanes_method *implicit = lanes_methods[METHOD_IMPLICIT],
                              *explicit = lanes_methods[METHOD_EXPLICIT];
    fprintf(out,
            "enum { EXPLICIT = %d, IMPLICIT = %d, N_STAGE = %d, CHAIN = %d, N_SLOPE = %d, "
            "LAST_SLOPE = N_SLOPE - 1 };\n",
            METHOD_EXPLICIT, METHOD_IMPLICIT, implicit->n_stage, implicit->chain,
            explicit->n_stage);
    fprintf(out,
            "enum { IMPLICIT_DENSE = %d, EXPLICIT_DENSE = %d, IMPLICIT_ORDER = %d, EXPLICIT_ORDER "
            "= %d };\n",
            implicit->n_dense, explicit->n_dense, implicit->order_error, explicit->order_error);
    fprintf(out, "#define IMPLICIT_GAMMA %a\n", implicit->gamma);
    put_doubles(out, "implicit_alpha", METHOD_STAGES, 1, 1, implicit->alpha);
    put_doubles(out, "implicit_gamma", METHOD_STAGES, 1, 1, implicit->gamma_i);
    put_doubles(out, "implicit_a", METHOD_STAGES, METHOD_STAGES, METHOD_STAGES, implicit->a[0]);
    put_doubles(out, "implicit_c", METHOD_STAGES, METHOD_STAGES, METHOD_STAGES, implicit->c[0]);
    put_doubles(out, "implicit_dense", METHOD_DENSE, METHOD_STAGES, METHOD_STAGES,
                implicit->dense[0]);
    put_doubles(out, "explicit_alpha", METHOD_STAGES, 1, 1, explicit->alpha);
    put_doubles(out, "explicit_error", METHOD_STAGES, 1, 1, explicit->error);
    put_doubles(out, "explicit_a", METHOD_STAGES, METHOD_STAGES, METHOD_STAGES, explicit->a[0]);
    put_doubles(out, "explicit_dense", METHOD_DENSE, METHOD_STAGES, METHOD_STAGES,
                explicit->dense[0]);
}

static void put_constants(FILE *out)
{
#define CONSTANT(name) fprintf(out, "#define %s (%a)\n", #name, (double)(name));
    CONSTANT(GROW) CONSTANT(GROW_EXPLICIT) CONSTANT(FAR_BELOW) CONSTANT(SHARE_BELOW)
    CONSTANT(SHRINK) CONSTANT(SAFETY)
    CONSTANT(LEAST_ERROR) CONSTANT(SHRINK_FIRST) CONSTANT(UNSAFE) CONSTANT(ACCEPTED_INSIDE)
    CONSTANT(UNSTABLE) CONSTANT(SEEN) CONSTANT(AT_REST) CONSTANT(LARGE)
    CONSTANT(CALM) CONSTANT(ROOM_STRETCH) CONSTANT(TOLERANCE_FRACTION) CONSTANT(TOLERANCE_YOUNG)
    CONSTANT(TOLERANCE_REST)
    CONSTANT(TOLERANCE_GROWN) CONSTANT(TOLERANCE_ROUNDING) CONSTANT(TOLERANCE_NOISE)
    CONSTANT(TOLERANCE_TINY)
    CONSTANT(TOLERANCE_EFFECT) CONSTANT(TOLERANCE_DUE)
#undef CONSTANT
    fprintf(out, "#define POSITIVE_ERRORS (%a)\n", (double)POSITIVE_ERRORS);
    fprintf(out, "enum { LASTING = %d, FEW_STEPS = %d };\n", LASTING, FEW_STEPS);
    fprintf(out, "enum { SIGN = %d, SLIGHT_SIGN = %d, NO_SIGN = %d, PATIENCE_EXPLICIT = %d };\n",
            SIGN, SLIGHT_SIGN, NO_SIGN, PATIENCE_EXPLICIT);
    fprintf(out, "enum {");
#define WORD(name) fprintf(out, " %s,", #name);
    GPU_STATUS_LIST(WORD)
#undef WORD
    fputs(" };\n", out);
}

void record_text(const struct lanes_plan *plan, const struct record_size *size, bool follows_sizes,
                 FILE *out)
{
    const struct stiffit_model *abi = plan->abi;
    const struct stiffit_pattern *direct = &plan->lanes->observe_parameter;
    const struct record record = record_of(plan, size);
    size_t n = plan->n, n_direct = (size_t)direct->start[abi->n_parameter];
#define PLACE(name, count) fprintf(out, "#define O_%s %zu\n", #name, record.name);
    RECORD_LIST(PLACE)
#undef PLACE
    fprintf(
        out,
        "#define RECORD %zu\n#define N %zu\n#define NC %zu\n#define N_DERIVE %zu\n#define N_CURVE "
        "%zu\n"
        "#define N_ENTRY %zu\n#define N_OBSERVE %zu\n#define FIRST_ENTRY %zu\n#define DIRECT %zu\n"
        "#define FOLLOWS_SIZES %d\n",
        record.n_number, n, size->n_column, plan->n_derive, plan->n_curve, plan->n_entry,
        plan->n_observe, n + (size_t)plan->lanes->by_state.start[n + 1],
        (size_t)abi->n_observable + (size_t)plan->lanes->observe_state.start[n], follows_sizes);
    put_constants(out);
    put_methods(out);
    put_rows(out, "jacobian", &plan->jacobian, n);
    put_rows(out, "observe", &plan->observe, abi->n_observable);
    put_integers(out, "direct_start", abi->n_parameter + 1, direct->start, 1);
    put_integers(out, "direct_row", n_direct, direct->row, 1);
}

static void put_factorize(const struct lanes_plan *plan, FILE *out)
{
    fputs("static void factorize(__global const double *derived, double inverse,\n"
          "    __global double *factor)\n{\n    const lanes h = inverse;\n", out);
    generate_factorization(plan, out);
    fputs("}\n", out);
}

/* x_row -= factor * another x, for the terms of a row. */
static void put_factors(const struct lanes_rows *rows, size_t row, FILE *out)
{
    for (int32_t k = rows->start[row]; k < rows->start[row + 1]; k++)
        fprintf(out, "x%zu = fused(-factor[%d], x%d, x%zu);\n", row, (int)rows->term[k].value,
                (int)rows->term[k].row, row);
}

/* The solution for the states, or for a column, with what the model adds to its right-hand side. */
static void put_solve(const struct lanes_plan *plan, bool is_column, FILE *out)
{
    size_t n = plan->n;
    fputs(is_column ? "static void solve_column(__global const double *derived, __global const "
                      "double *factor,\n"
                      "    const double *s, const double *argument, const double *right, double "
                      "*out)\n{\n"
                    : "static void solve(__global const double *factor, const double *right, "
                      "double *out)\n{\n",
          out);
    for (size_t k = 0; k < n; k++) {
        size_t row = (size_t)plan->order[k];
        fprintf(out, "double x%zu = right[%zu];\n", row, row);
        for (int32_t q = plan->forward.start[row]; is_column && q < plan->forward.start[row + 1];
             q++) {
            const struct lanes_term *term = &plan->forward.term[q];
            bool is_argument = (size_t)term->row >= n;
            fprintf(out, "x%zu = fused(derived[%d], %s[%zu], x%zu);\n", row, (int)term->value,
                    is_argument ? "argument" : "s",
                    is_argument ? (size_t)term->row - n : (size_t)term->row, row);
        }
        put_factors(&plan->lower, row, out);
    }
    for (size_t k = n; k-- > 0;) {
        size_t row = (size_t)plan->order[k];
        put_factors(&plan->upper, row, out);
        fprintf(out, "x%zu *= factor[%d];\nout[%zu] = x%zu;\n", row, (int)plan->diagonal[row], row,
                row);
    }
    fputs("}\n", out);
}

static void put_slope(const struct lanes_plan *plan, FILE *out)
{
    fputs("static void slope_of(__global const double *derived, const double *from, double "
          "*out)\n{\n",
          out);
    for (size_t row = 0; row < plan->n; row++) {
        fprintf(out, "double x%zu = 0.0;\n", row);
        for (int32_t k = plan->jacobian.start[row]; k < plan->jacobian.start[row + 1]; k++)
            fprintf(out, "x%zu = fused(derived[%d], from[%d], x%zu);\n", row,
                    (int)plan->jacobian.term[k].value, (int)plan->jacobian.term[k].row, row);
        fprintf(out, "out[%zu] = x%zu;\n", row, row);
    }
    fputs("}\n", out);
}

void record_algebra(const struct lanes_plan *plan, FILE *out)
{
    put_factorize(plan, out);
    put_solve(plan, false, out);
    put_solve(plan, true, out);
    put_slope(plan, out);
    fputs("static void add_by_time(__global const double *derived, double direct, double "
          "*right)\n{\n",
          out);
    for (const struct lanes_term *term = plan->by_time; term < plan->by_time + plan->n_time; term++)
        fprintf(out, "right[%d] = fused(direct, derived[%d], right[%d]);\n", (int)term->row,
                (int)term->value, (int)term->row);
    fputs("}\nstatic void set_entries(__global const double *derived, __global double *entry)\n{\n",
          out);
    for (size_t k = 0; k < plan->n_entry; k++) {
        fprintf(out, "entry[%zu] = derived[%d]", k, (int)plan->entry[k].value);
        if (plan->entry[k].curve >= 0)
            fprintf(out, " + derived[N_DERIVE + %d]", (int)plan->entry[k].curve);
        fputs(";\n", out);
    }
    fputs("}\n", out);
}
