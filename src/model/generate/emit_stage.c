/* A stage of the lanes' integrator for one model in C: what the kernel otherwise does by walking
 * through the plan's lists, operation by operation and in the same order. For models whose code
 * fits the CPU's caches.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/c_expression.h"
#include "model/generate/generate.h"

/* Operations on vectors in the solution for one column, and for several ones side by side: these
 * fill the gaps that the dependencies of one leave. */
enum { MAX_OPERATION = 1500, MAX_TOGETHER = 400, WIDEST = 8 };
/* Numbers of the model that compilers keep in registers; arrays of many more only take them
 * long. */
enum { MAX_LOCAL = 80 };

static bool is_local(const struct lanes_plan *plan)
{
    return plan->n_derive + plan->n_curve <= MAX_LOCAL;
}

static const char begin[] = "    for (int k = 0; k < n_lane; k += WIDTH) {\n";
static const char end[] = "    }\n}\n\n";

/* By lists: statements would take compilers longer than all the rest, for what is done once a
 * step. */
static const char by_lists[] =
    "static void lanes_factorize(const double *derived, const double *inverse, double *factor)\n{\n"
    "    enum { k = 0 };\n"
    "    for (int f = 0; f < N_FACTOR; f++)\n        put(factor, f, k, all(0.0));\n"
    "    for (int q = 0; q < N_JACOBIAN; q++)\n        put(factor, factor_place[q], k, "
    "-get(derived, factor_value[q], k));\n"
    "    for (int i = 0; i < N_STATE; i++)\n"
    "        put(factor, factor_pivot[i], k, get(factor, factor_pivot[i], k) + get(inverse, 0, "
    "k));\n"
    "    for (int i = 0; i < N_STATE; i++) {\n"
    "        const lanes pivot = 1.0 / get(factor, factor_pivot[i], k);\n        put(factor, "
    "factor_pivot[i], k, pivot);\n"
    "        for (int q = factor_scale_start[i]; q < factor_scale_start[i + 1]; q++)\n"
    "            put(factor, factor_scale[q], k, get(factor, factor_scale[q], k) * pivot);\n"
    "        for (int q = factor_update_start[i]; q < factor_update_start[i + 1]; q++) {\n"
    "            const int32_t *const u = factor_update + 3*q;\n"
    "            const lanes v = fused(-get(factor, u[1], k), get(factor, u[2], k), get(factor, "
    "u[0], k));\n"
    "            put(factor, u[0], k, v);\n        }\n    }\n}\n\n";

static void list(FILE *out, const char *name, const void *number, size_t n)
{
    c_integers(out, name, number, n);
}

static void factorize_by_lists(const struct lanes_plan *plan, FILE *out)
{
    size_t n = plan->n, n_jacobian = (size_t)plan->jacobian.start[n];
    list(out, "factor_place", plan->place, n_jacobian);
    fputs("static const int32_t factor_value[] = {", out);
    for (size_t k = 0; k < n_jacobian; k++)
        fprintf(out, "%s%d,", k % 20 ? " " : "\n    ", (int)plan->jacobian.term[k].value);
    fputs(n_jacobian ? "\n};\n\n" : "0};\n\n", out);
    fputs("static const int32_t factor_pivot[] = {", out);
    for (size_t k = 0; k < n; k++)
        fprintf(out, "%s%d,", k % 20 ? " " : "\n    ", (int)plan->diagonal[plan->order[k]]);
    fputs("\n};\n\n", out);
    list(out, "factor_scale_start", plan->scale_start, n + 1);
    list(out, "factor_scale", plan->scale, (size_t)plan->scale_start[n]);
    list(out, "factor_update_start", plan->update_start, n + 1);
    list(out, "factor_update", plan->update, 3 * (size_t)plan->update_start[n]);
    fprintf(out, "enum { N_FACTOR = %zu, N_JACOBIAN = %zu, N_STATE = %zu };\n\n%s", plan->n_factor,
            n_jacobian, n, by_lists);
}

void generate_factorization(const struct lanes_plan *plan, FILE *out)
{
    size_t n = plan->n;
    for (size_t f = 0; f < plan->n_factor; f++)
        fprintf(out, "    lanes f%zu = all(0.0);\n", f);
    for (int32_t k = 0; k < plan->jacobian.start[n]; k++)
        fprintf(out, "    f%d = -get(derived, %d, k);\n", (int)plan->place[k],
                (int)plan->jacobian.term[k].value);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "    f%d += h;\n", (int)plan->diagonal[i]);
    for (size_t k = 0; k < n; k++) {
        int diagonal = plan->diagonal[plan->order[k]];
        fprintf(out, "    f%d = 1.0 / f%d;\n", diagonal, diagonal);
        for (int32_t s = plan->scale_start[k]; s < plan->scale_start[k + 1]; s++)
            fprintf(out, "    f%d *= f%d;\n", (int)plan->scale[s], diagonal);
        for (int32_t u = plan->update_start[k]; u < plan->update_start[k + 1]; u++) {
            const struct lanes_update *update = &plan->update[u];
            int target = update->target;
            fprintf(out, "    f%d = fused(-f%d, f%d, f%d);\n", target, (int)update->left,
                    (int)update->right, target);
        }
    }
    for (size_t f = 0; f < plan->n_factor; f++)
        fprintf(out, "    put(factor, %zu, k, f%zu);\n", f, f);
}

static void factorize(const struct lanes_plan *plan, FILE *out)
{
    fputs("static inline INLINE void lanes_factorize(const double *derived, const double *inverse, "
          "double *factor)\n{\n"
          "    enum { k = 0 };\n    (void)derived;\n    const lanes h = get(inverse, 0, k);\n",
          out);
    generate_factorization(plan, out);
    fputs("}\n\n", out);
}

/* x -= factor * another x, for each of `width` columns. */
static void add_factors(const struct lanes_rows *rows, size_t row, size_t width, FILE *out)
{
    for (int32_t k = rows->start[row]; k < rows->start[row + 1]; k++) {
        const struct lanes_term *term = &rows->term[k];
        if (width > 1)
            fprintf(out, "    v = get(factor, %d, k);\n", (int)term->value);
        for (size_t c = 0; c < width && width > 1; c++)
            fprintf(out, "    x%zu_%zu = fused(-v, x%d_%zu, x%zu_%zu);\n", row, c, (int)term->row,
                    c, row, c);
        if (width == 1)
            fprintf(out, "    x%zu_0 = fused(-get(factor, %d, k), x%d_0, x%zu_0);\n", row,
                    (int)term->value, (int)term->row, row);
    }
}

/* x += number of the model * number of the sensitivities, or of a stage's argument. */
static void add_model(const struct lanes_plan *plan, size_t row, size_t width, FILE *out)
{
    for (int32_t k = plan->forward.start[row]; k < plan->forward.start[row + 1]; k++) {
        const struct lanes_term *term = &plan->forward.term[k];
        size_t from = (size_t)term->row;
        bool is_argument = from >= plan->n;
        fprintf(out, "    v = get(derived, %d, k);\n", (int)term->value);
        for (size_t c = 0; c < width; c++)
            fprintf(out, "    x%zu_%zu = fused(v, get(%s, %zu, k), x%zu_%zu);\n", row, c,
                    is_argument ? "argument" : "sens",
                    (is_argument ? from - plan->n : from) + c * plan->n, row, c);
    }
}

/* The solution for `width` columns, or for the states. */
static void solve(const struct lanes_plan *plan, size_t width, bool is_columns, FILE *out)
{
    size_t n = plan->n;
    bool adds_entries = is_columns && is_local(plan);
    if (is_columns)
        fprintf(out,
                "static %s void lanes_columns_%zu(const double *derived, const double *factor, "
                "const double *sens,\n"
                "    const double *argument, const double *right, double *restrict out%s)\n{\n"
                "    enum { k = 0 };\n    (void)derived, (void)sens, (void)argument;\n    lanes "
                "v;\n    (void)v;\n",
                is_local(plan) ? "inline INLINE" : "__attribute__((noinline))", width,
                adds_entries ? ", const double *entry, const int64_t *which" : "");
    else
        fprintf(
            out,
            "static %s void lanes_solve_at(const double *factor, const lanes *right, double *out)\n"
            "{\n    enum { k = 0 };\n",
            is_local(plan) ? "inline INLINE" : "__attribute__((noinline))");
    for (size_t k = 0; k < n; k++) {
        size_t row = (size_t)plan->order[k];
        for (size_t c = 0; c < width; c++) {
            size_t e = row + c * n;
            fprintf(out,
                    is_columns ? "    lanes x%zu_%zu = get(right, %zu, k)"
                               : "    lanes x%zu_%zu = right[%zu]",
                    row, c, e);
            if (adds_entries)
                fprintf(out, " + get(entry + which[%zu], 0, 0)", e);
            fputs(";\n", out);
        }
        if (is_columns)
            add_model(plan, row, width, out);
        add_factors(&plan->lower, row, width, out);
    }
    for (size_t k = n; k-- > 0;) {
        size_t row = (size_t)plan->order[k];
        add_factors(&plan->upper, row, width, out);
        for (size_t c = 0; c < width; c++)
            fprintf(out, "    x%zu_%zu *= get(factor, %d, k);\n    put(out, %zu, k, x%zu_%zu);\n",
                    row, c, (int)plan->diagonal[row], row + c * n, row, c);
    }
    fputs("}\n\n", out);
}

/* The residual of the first stage's solution: r. */
static void put_residual(const struct lanes_plan *plan, FILE *out)
{
    for (size_t i = 0; i < plan->n; i++) {
        fprintf(out, "            v = fused(-get(s.inverse, 0, k), get(u, %zu, 0), r[%zu]);\n", i,
                i);
        for (int32_t k = plan->jacobian.start[i]; k < plan->jacobian.start[i + 1]; k++)
            fprintf(out, "            v = fused(get(d, %d, 0), get(u, %d, 0), v);\n",
                    (int)plan->jacobian.term[k].value, (int)plan->jacobian.term[k].row);
        fprintf(out, "            r[%zu] = v;\n", i);
    }
}

/* The right-hand side of a stage of the states: r. */
static void put_right(const struct lanes_plan *plan, FILE *out)
{
    size_t n = plan->n;
    fprintf(out,
            "        for (int i = 0; i < %zu; i++)\n            r[i] = get(s.right, i, k) + get(d, "
            "i, 0);\n"
            "        for (int i = 0; s.minus_rate && i < %zu; i++)\n            r[i] -= "
            "get(s.minus_rate, i, k);\n",
            n, n);
    if (plan->n_time)
        fputs("        const double *const first = s.inverse ? d : s.first + k;\n", out);
    for (const struct lanes_term *term = plan->by_time; term < plan->by_time + plan->n_time; term++)
        fprintf(out, "        r[%d] = fused(get(s.direct, 0, k), get(first, %d, 0), r[%d]);\n",
                (int)term->row, (int)term->value, (int)term->row);
}

/* A stage of the states in lanes k, ...; and the entries for its columns. */
static void put_states(const struct lanes_plan *plan, FILE *out)
{
    size_t n = plan->n, n_state = n + (size_t)plan->lanes->by_state.start[n + 1];
    bool local = is_local(plan);
    fprintf(out, "        _Alignas(64) double u[%zu*STIFFIT_LANES];\n        lanes r[%zu];\n"
                 "        const struct stiffit_lanes_point at = lanes_from(s.at, k);\n"
                 "        struct stiffit_lanes_point base = lanes_from(s.base, k);\n"
                 "        base.direction = u;\n", n + 1, n);
    if (local)
        fprintf(out, "        _Alignas(64) double d[%zu*STIFFIT_LANES], e[%zu*STIFFIT_LANES];\n"
                     "        double *const c = d + %zu*STIFFIT_LANES;\n",
                plan->n_derive + plan->n_curve, plan->n_entry + 1, plan->n_derive);
    else
        fputs("        double *const d = s.derived + k, *const c = s.curved + k, *const e = "
              "s.entry + k;\n",
              out);
    fputs("        (void)c, (void)e;\n        lanes_derive_at(&at, d);\n"
          "        if (s.inverse)\n            lanes_factorize(d, s.inverse + k, s.factor + k);\n",
          out);
    put_right(plan, out);
    if (!local)
        fprintf(out,
                "        for (int i = 0; s.inverse && i < %zu; i++)\n            put(s.correction, "
                "i, k, r[i]);\n",
                n);
    fprintf(out,
            "        lanes_solve_at(s.factor + k, r, u);\n        put(u, %zu, 0, get(s.direct, 0, "
            "k));\n",
            n);
    fprintf(out,
            "        for (int i = 0; i < %zu; i++)\n            put(s.out, i, k, get(u, i, 0));\n",
            n + 1);
    if (local) {
        fputs("        if (s.inverse) {\n            lanes v;\n", out);
        put_residual(plan, out);
        fputs("            lanes_solve_at(s.factor + k, r, s.correction + k);\n", out);
        fputs("        }\n        if (s.derived) {\n", out);
        for (size_t i = n; i < n_state; i++)
            fprintf(out, "            put(s.derived, %zu, k, get(d, %zu, 0));\n", i, i);
        fputs("        }\n", out);
    }
    fputs("        if (!s.has_columns)\n            continue;\n        lanes_curve_at(&base, c);\n",
          out);
    for (size_t i = 0; i < plan->n_entry; i++) {
        const struct lanes_entry *entry = &plan->entry[i];
        fprintf(out, "        put(e, %zu, 0, get(d, %d, 0)", i, (int)entry->value);
        if (entry->curve >= 0)
            fprintf(out, " + get(c, %d, 0)", (int)entry->curve);
        fputs(");\n", out);
    }
    if (local)
        fprintf(out, "        put(e, %zu, 0, all(-0.0)); /* x + -0 is x, whatever it is */\n",
                plan->n_entry);
}

/* A stage of a block's columns (b) in lanes k, ...: with functions of `widest` columns side by
 * side, and of halves. */
static void put_columns(const struct lanes_plan *plan, size_t widest, const char *derived,
                        const char *entry, FILE *out)
{
    fprintf(out,
            "        for (const struct stiffit_lanes_entry *q = b.place; q < b.place + b.n_place; "
            "q++) {\n"
            "            lanes v = get(%s + q->value, 0, 0);\n"
            "            if (b.of_rank) /* x + -0 is x, whatever it is */\n"
            "                v = choose(get(b.of_rank + q->rank, 0, k), v, all(-0.0));\n"
            "            put(b.right + q->row, 0, k, get(b.right + q->row, 0, k) + v);\n        }\n"
            "        for (int i = 0; b.minus_rate && i < b.n_column*%zu; i++)\n"
            "            put(b.right, i, k, get(b.right, i, k) - get(b.minus_rate, i, k));\n"
            "        int column = 0;\n",
            entry, plan->n);
    for (size_t width = widest; width > 0; width /= 2) {
        fprintf(out,
                "        for (; column + %zu <= b.n_column; column += %zu) {\n"
                "            const int from = column*%zu*STIFFIT_LANES + k;\n"
                "            lanes_columns_%zu(%s, %s + k, b.sens + from, b.argument + from, "
                "b.right + from,\n"
                "                b.out + from",
                width, width, plan->n, width, derived, is_local(plan) ? "s.factor" : "b.factor");
        if (is_local(plan))
            fprintf(out, ", e, b.which + column*%zu", plan->n);
        fputs(");\n        }\n", out);
    }
}

/* All stages of a small model, with the model's numbers in registers. */
static void stages(const struct lanes_plan *plan, size_t widest, FILE *out)
{
    fprintf(out,
            "static void lanes_stages(const struct stiffit_lanes_stages *all)\n{\n"
            "    for (int i = 0; i < all->n_stage; i++) {\n        all->begin(all->context, i);\n"
            "        const struct stiffit_lanes_states s = *all->states;\n"
            "        const int n_lane = s.n_lane;\n%s",
            begin);
    put_states(plan, out);
    fputs("        for (int i_block = 0; i_block < all->n_block; i_block++) {\n"
          "        const struct stiffit_lanes_columns b = all->block[i_block];\n", out);
    put_columns(plan, widest, "d", "e", out);
    fputs("        }\n    }\n    }\n}\n\n", out);
}

static void states_and_columns(const struct lanes_plan *plan, size_t widest, FILE *out)
{
    fprintf(
        out,
        "static void lanes_states(const struct stiffit_lanes_states *stage)\n{\n"
        "    const struct stiffit_lanes_states s = *stage;\n    const int n_lane = s.n_lane;\n%s",
        begin);
    put_states(plan, out);
    fprintf(
        out,
        "%sstatic void lanes_columns(const struct stiffit_lanes_columns *stage)\n{\n"
        "    const struct stiffit_lanes_columns b = *stage;\n    const int n_lane = b.n_lane;\n%s",
        end, begin);
    put_columns(plan, widest, "b.derived + k", "b.entry + k", out);
    fputs(end, out);
}

void c_stages(const struct lanes_plan *plan, FILE *out)
{
    size_t n = plan->n, n_solve = (size_t)(plan->lower.start[n] + plan->upper.start[n]) + n;
    size_t n_column = n_solve + (size_t)plan->forward.start[n],
           n_parameter = plan->abi->n_parameter;
    bool has_code = n_column <= MAX_OPERATION;
    size_t most = MAX_TOGETHER / (n_column + 1), widest = most > WIDEST ? WIDEST
                                                        : most > 0      ? most
                                                                        : 1;
    size_t n_block = (n_parameter + widest - 1) / widest;
    const char *functions = "";
    widest = (n_parameter + n_block - 1) / n_block;
    if (has_code) {
        (is_local(plan) ? factorize : factorize_by_lists)(plan, out);
        solve(plan, 1, false, out);
        fprintf(out,
                "static void lanes_solve(const double *factor, const double *right, double *out, "
                "const int32_t n_lane)\n"
                "{\n%s        lanes r[%zu];\n        for (int i = 0; i < %zu; i++)\n"
                "            r[i] = get(right, i, k);\n        lanes_solve_at(factor + k, r, out + "
                "k);\n%s",
                begin, n, n, end);
        for (size_t width = widest; width > 0; width /= 2)
            solve(plan, width, true, out);
        (is_local(plan) ? stages : states_and_columns)(plan, widest, out);
        functions = is_local(plan) ? "    .solve = lanes_solve,\n    .stages = lanes_stages,\n"
                                   : "    .solve = lanes_solve,\n    .states = lanes_states,\n"
                                     "    .columns = lanes_columns,\n";
    }
    fprintf(out,
            "static const struct stiffit_lanes_algebra lanes_algebra = {\n"
            "    .key = %lluu,\n%s};\n\n",
            (unsigned long long)plan->key, functions);
}
