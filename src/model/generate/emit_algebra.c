/* The linear algebra of the lanes' integrator for one model in C: what the kernel otherwise does by walking through the plan's
 * lists, operation by operation, with the numbers of the equations in registers. For small models only: the code of larger ones
 * does not fit the CPU's caches, and takes long to compile.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/c_expression.h"

/* Operations on vectors in a function. */
enum { MAX_OPERATION = 400 };

static const char begin[] = "{\n    for (int k = 0; k < STIFFIT_LANES; k += WIDTH) {\n";
static const char end[] = "    }\n}\n\n";

static bool factorize(const struct lanes_plan *plan, FILE *out)
{
    size_t n = plan->n;
    if (plan->n_factor + (size_t)plan->update_start[n] > MAX_OPERATION)
        return false;
    fprintf(out, "static void lanes_factorize(const double *derived, const double *inverse, double *factor)\n%s"
                 "        (void)derived;\n        const lanes h = get(inverse, 0, k);\n", begin);
    for (size_t f = 0; f < plan->n_factor; f++)
        fprintf(out, "        lanes f%zu = all(0.0);\n", f);
    for (int32_t k = 0; k < plan->jacobian.start[n]; k++)
        fprintf(out, "        f%d = -get(derived, %d, k);\n", (int)plan->place[k], (int)plan->jacobian.term[k].value);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "        f%d += h;\n", (int)plan->diagonal[i]);
    for (size_t k = 0; k < n; k++) {
        int diagonal = plan->diagonal[plan->order[k]];
        fprintf(out, "        f%d = 1.0 / f%d;\n", diagonal, diagonal);
        for (int32_t s = plan->scale_start[k]; s < plan->scale_start[k + 1]; s++)
            fprintf(out, "        f%d *= f%d;\n", (int)plan->scale[s], diagonal);
        for (int32_t u = plan->update_start[k]; u < plan->update_start[k + 1]; u++) {
            const struct lanes_update *update = &plan->update[u];
            int target = update->target;
            fprintf(out, "        f%d = lanes_fused(-f%d, f%d, f%d);\n", target, (int)update->left, (int)update->right, target);
        }
    }
    for (size_t f = 0; f < plan->n_factor; f++)
        fprintf(out, "        put(factor, %zu, k, f%zu);\n", f, f);
    fputs(end, out);
    return true;
}

/* x_row += factor * operand; the operand is another x, or (from_sens) a number of the sensitivities. */
static void add_terms(const struct lanes_rows *rows, size_t row, size_t width, const char *values, bool from_sens, FILE *out)
{
    for (int32_t k = rows->start[row]; k < rows->start[row + 1]; k++) {
        const struct lanes_term *term = &rows->term[k];
        fprintf(out, "        v = %sget(%s, %d, k);\n", from_sens ? "" : "-", values, (int)term->value);
        for (size_t c = 0; c < width; c++) {
            size_t x = row * width + c, from = (size_t)term->row * width + c;
            fprintf(out, from_sens ? "        x%zu = lanes_fused(v, get(sens, %zu, k), x%zu);\n"
                                   : "        x%zu = lanes_fused(v, x%zu, x%zu);\n", x, from, x);
        }
    }
}

/* Of `width` columns, or (0) of the states. */
static void solve(const struct lanes_plan *plan, size_t of, FILE *out)
{
    size_t n = plan->n, width = of ? of : 1;
    fprintf(out, "static void lanes_solve_%zu(const double *values, const double *factor, const double *sens, "
                 "const double *right, double *out)\n%s        (void)values, (void)sens;\n        lanes v;\n",
            of, begin);
    for (size_t e = 0; e < n * width; e++)
        fprintf(out, "        lanes x%zu = get(right, %zu, k);\n", e, e);
    for (size_t k = 0; k < n; k++) {
        size_t row = (size_t)plan->order[k];
        if (of)
            add_terms(&plan->forward, row, width, "values", true, out);
        add_terms(&plan->lower, row, width, "factor", false, out);
    }
    for (size_t k = n; k-- > 0;) {
        size_t row = (size_t)plan->order[k];
        add_terms(&plan->upper, row, width, "factor", false, out);
        fprintf(out, "        v = get(factor, %d, k);\n", (int)plan->diagonal[row]);
        for (size_t c = row * width; c < (row + 1) * width; c++)
            fprintf(out, "        x%zu *= v;\n        put(out, %zu, k, x%zu);\n", c, c, c);
    }
    fputs(end, out);
}

void c_algebra(const struct lanes_plan *plan, FILE *out)
{
    enum { WIDEST = sizeof ((struct stiffit_lanes_algebra *)NULL)->solve / sizeof(stiffit_lanes_solve *) - 1 };
    size_t n = plan->n, n_parameter = plan->abi->n_parameter, n_block = (n_parameter + WIDEST - 1) / WIDEST;
    size_t widest = (n_parameter + n_block - 1) / n_block;
    size_t n_solve = (size_t)(plan->lower.start[n] + plan->upper.start[n]) + n;
    size_t n_column = n_solve + (size_t)plan->forward.start[n];
    fputs("LANES(fused)(lanes a, lanes b, lanes c)\n"
          "{\n"
          "#if defined __FMA__\n" /* gcc 12 does not make one instruction of the loop */
          "    __asm__(\"vfmadd231pd %2, %1, %0\" : \"+v\"(c) : \"v\"(a), \"vm\"(b));\n"
          "#else\n"
          "    for (int i = 0; i < WIDTH; i++) c[i] = fma(a[i], b[i], c[i]);\n"
          "#endif\n"
          "    return c;\n"
          "}\n\n", out);
    bool factors = factorize(plan, out), states = n_solve <= MAX_OPERATION, columns = n_column * widest <= MAX_OPERATION;
    for (size_t of = 0; of <= widest; of++)
        if (of ? columns : states)
            solve(plan, of, out);
    fprintf(out, "static const struct stiffit_lanes_algebra lanes_algebra = {\n    .key = %lluu,\n    .factorize = %s,\n"
                 "    .solve = {", (unsigned long long)plan->key, factors ? "lanes_factorize" : "0");
    for (size_t of = 0; of <= widest; of++)
        fprintf(out, (of ? columns : states) ? "lanes_solve_%zu, " : "0, ", of);
    fputs("},\n};\n\n", out);
}
