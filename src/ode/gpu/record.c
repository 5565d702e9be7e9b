/* Sizes, tables and linear algebra of a model as text for OpenCL.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/gpu/record.h"

#include "model/generate/generate.h"
#include "ode/positive.h"

#include <stdbool.h>

/* C has no arrays of nothing. */
static size_t some(size_t n) { return n ? n : 1; }

/* The sizes in the lists of members. */
#define SIZES(plan, size) \
    const struct stiffit_model *abi = (plan)->abi; \
    size_t n = (plan)->n, n_parameter = abi->n_parameter, n_covariate = abi->n_covariate, \
           n_work = abi->n_work, n_input = abi->n_input, \
           n_time = (size)->n_time, n_row = (size)->n_row, \
           n_column = (size)->n_column, n_derive = (plan)->n_derive, n_curve = (plan)->n_curve, \
           n_entry = (plan)->n_entry, n_factor = (plan)->n_factor, n_values = (plan)->n_values, \
           n_kind = (plan)->n_kind, \
           n_rate = (size)->has_doses ? n : 0, n_shown = (size)->has_states ? n_time : 0;

struct record record_of(const struct lanes_plan *plan, const struct record_size *size)
{
    struct record record = {0};
    size_t at = 0, skipped = 0;
    SIZES(plan, size)
#define ONE(type, name) record.name = at++ - skipped;
#define MANY(type, name, count) record.name = at - skipped, at += some(count);
#define ROWS(type, name, rows, count) MANY(type, name, some(rows) * some(count))
#define NO_ONE(type, name) at++;
#define NO_MANY(type, name, count) at += some(count);
#define NO_ROWS(type, name, rows, count) NO_MANY(type, name, some(rows) * some(count))
    RECORD_HEAD(ONE, MANY, ROWS, NOTHING, NONE)
    record.head.n = at;
    RECORD_INPUT(ONE, MANY, ROWS, NOTHING, NONE)
    record.input.n = at;
    RECORD_SCRATCH(NO_ONE, NO_MANY, NO_ROWS, NOTHING, NONE)
    record.answer.first = skipped = at;
    RECORD_ANSWER(ONE, MANY, ROWS, NOTHING, NONE)
    record.answer.n = at - skipped;
    record.n_bank = at;
    /* of columns, in copies behind the others */
    skipped = record.n_bank - record.input.n;
    COLUMNS_INPUT(MANY, ROWS)
    record.input.n_of_columns = at - record.n_bank;
    COLUMNS_SCRATCH(NO_MANY, NO_ROWS)
    record.answer.first_of_columns = at - record.n_bank;
    skipped = at - record.answer.n;
    COLUMNS_ANSWER(MANY, ROWS)
    record.n_columns = at - record.n_bank;
    record.answer.n_of_columns = record.n_columns - record.answer.first_of_columns;
#undef ONE
#undef MANY
#undef ROWS
    return record;
}

/* Writes the layout of the record as structs for the device. */
static void put_structs(const struct lanes_plan *plan, const struct record_size *size, FILE *out)
{
    SIZES(plan, size)
#define ONE(type, name) fprintf(out, "    %s %s[GROUP];\n", #type, #name);
#define MANY(type, name, count) \
    fprintf(out, "    %s %s[%zu][GROUP];\n", #type, #name, some(count));
#define ROWS(type, name, rows, count) \
    fprintf(out, "    %s %s[%zu][%zu][GROUP];\n", #type, #name, some(rows), some(count));
#define OPEN fputs("    struct {\n", out);
#define CLOSE(name) fprintf(out, "    } %s;\n", #name);
    fputs("struct lanes_bank {\n", out);
    RECORD_HEAD(ONE, MANY, ROWS, OPEN, CLOSE)
    RECORD_INPUT(ONE, MANY, ROWS, OPEN, CLOSE)
    RECORD_SCRATCH(ONE, MANY, ROWS, OPEN, CLOSE)
    RECORD_ANSWER(ONE, MANY, ROWS, OPEN, CLOSE)
#undef MANY
#undef ROWS
#define MANY(type, name, count) fprintf(out, "    %s %s[%zu];\n", #type, #name, some(count));
#define ROWS(type, name, rows, count) \
    fprintf(out, "    %s %s[%zu][%zu];\n", #type, #name, some(rows), some(count));
    fputs("};\nstruct bank_columns {\n", out);
    COLUMNS_INPUT(MANY, ROWS)
    COLUMNS_SCRATCH(MANY, ROWS)
    COLUMNS_ANSWER(MANY, ROWS)
    fputs("};\n", out);
}

void record_entries(const struct lanes_plan *plan, size_t n_id, int16_t *entry)
{
    for (size_t i = 0; i < n_id * plan->n; i++)
        entry[i] = -1;
    for (size_t k = 0; k < plan->n_entry; k++)
        entry[(size_t)plan->entry[k].parameter * plan->n + (size_t)plan->entry[k].row] = (int16_t)k;
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

/* What the kernel takes from the host's headers. */
static void put_constants(FILE *out)
{
    fprintf(out, "#define POSITIVE_ERRORS %d\nenum {", POSITIVE_ERRORS);
#define WORD(name) fprintf(out, " %s,", #name);
    GPU_STATUS_LIST(WORD)
#undef WORD
    fputs(" };\n", out);
}

void record_text(const struct lanes_plan *plan, const struct record_size *size, bool follows_sizes,
                 FILE *out)
{
    const struct stiffit_model *abi = plan->abi;
    const struct record record = record_of(plan, size);
    size_t n = plan->n;
    fprintf(out,
            "#define GROUP %d\n#define RECORD %zu\n#define N_BANK %zu\n#define N %zu\n"
            "#define NC %zu\n#define N_DERIVE %zu\n#define FIRST_ENTRY %zu\n"
            "#define N_KIND %zu\n#define N_OBSERVE %zu\n#define N_OBSERVABLE %u\n"
            "#define N_PARAMETER %u\n#define N_ROW %zu\n"
            "#define FOLLOWS_SIZES %d\n#define N_IN %u\n#define HAS_DOSES %d\n"
            "#define HAS_STATES %d\n",
            RECORD_GROUP, record.n_bank + record.n_columns, record.n_bank, n, size->n_column,
            plan->n_derive, n + (size_t)plan->lanes->by_state.start[n + 1], plan->n_kind,
            plan->n_observe, (unsigned)abi->n_observable, (unsigned)abi->n_parameter,
            some(size->n_row), follows_sizes, (unsigned)abi->n_input,
            size->has_doses, size->has_states);
    put_structs(plan, size, out);
    put_constants(out);
    put_rows(out, "jacobian", &plan->jacobian, n);
    put_rows(out, "observe", &plan->observe, plan->n_kind * abi->n_observable);
    put_rows(out, "direct", &plan->direct, plan->n_kind * abi->n_parameter);
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
        fprintf(out, "x%zu = fused(-get(factor, %d, 0), x%d, x%zu);\n", row,
                (int)rows->term[k].value, (int)rows->term[k].row, row);
}

/* The solution for the states; for a column, with what the model adds to its right-hand side; or
 * for a column at the end of a step, without that. */
enum solved { STATES, COLUMN, COLUMN_END };
static void put_solve(const struct lanes_plan *plan, enum solved solved, FILE *out)
{
    static const char *const head[] = {
        [STATES] = "static void solve(__global const double *factor, __global const double "
                   "*right,\n    __global double *out)\n{\n",
        [COLUMN] = "static void solve_column(__global const double *derived, __global const "
                   "double *factor,\n"
                   "    const double *s, const double *argument, const double *right, double "
                   "*out)\n{\n",
        [COLUMN_END] = "static void solve_end(__global const double *factor, const double *right, "
                       "double *out)\n{\n"};
    size_t n = plan->n;
    bool is_column = solved != STATES;
    fputs(head[solved], out);
    for (size_t k = 0; k < n; k++) {
        size_t row = (size_t)plan->order[k];
        fprintf(out,
                is_column ? "double x%zu = right[%zu];\n" : "double x%zu = get(right, %zu, 0);\n",
                row, row);
        for (int32_t q = plan->forward.start[row];
             solved == COLUMN && q < plan->forward.start[row + 1]; q++) {
            const struct lanes_term *term = &plan->forward.term[q];
            bool is_argument = (size_t)term->row >= n;
            fprintf(out, "x%zu = fused(get(derived, %d, 0), %s[%zu], x%zu);\n", row,
                    (int)term->value, is_argument ? "argument" : "s",
                    is_argument ? (size_t)term->row - n : (size_t)term->row, row);
        }
        put_factors(&plan->lower, row, out);
    }
    for (size_t k = n; k-- > 0;) {
        size_t row = (size_t)plan->order[k];
        put_factors(&plan->upper, row, out);
        fprintf(out, "x%zu *= get(factor, %d, 0);\n", row, (int)plan->diagonal[row]);
        fprintf(out, is_column ? "out[%zu] = x%zu;\n" : "put(out, %zu, 0, x%zu);\n", row, row);
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
            fprintf(out, "x%zu = fused(get(derived, %d, 0), from[%d], x%zu);\n", row,
                    (int)plan->jacobian.term[k].value, (int)plan->jacobian.term[k].row, row);
        fprintf(out, "out[%zu] = x%zu;\n", row, row);
    }
    fputs("}\n", out);
}

void record_algebra(const struct lanes_plan *plan, FILE *out)
{
    put_factorize(plan, out);
    put_solve(plan, STATES, out);
    put_solve(plan, COLUMN, out);
    put_solve(plan, COLUMN_END, out);
    put_slope(plan, out);
    fputs("static void add_by_time(__global const double *derived, double direct, __global double "
          "*right)\n{\n",
          out);
    for (const struct lanes_term *term = plan->by_time; term < plan->by_time + plan->n_time; term++)
        fprintf(out, "put(right, %d, 0, fused(direct, get(derived, %d, 0), get(right, %d, 0)));\n",
                (int)term->row, (int)term->value, (int)term->row);
    fputs("}\nstatic void set_entries(__global const double *derived, __global double *entry)\n{\n",
          out);
    for (size_t k = 0; k < plan->n_entry; k++) {
        fprintf(out, "put(entry, %zu, 0, get(derived, %d, 0)", k, (int)plan->entry[k].value);
        if (plan->entry[k].curve >= 0)
            fprintf(out, " + get(derived, N_DERIVE + %d, 0)", (int)plan->entry[k].curve);
        fputs(");\n", out);
    }
    fputs("}\n", out);
}
