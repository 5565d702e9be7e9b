/* The functions of lanes in C: the programs of the model's functions printed with vectors in
 * place of numbers, their sparse patterns, and their table.
 *
 * A vector is as wide as the registers of the CPU that the model is compiled for, and a function
 * runs once for each register that the lanes fill: compilers make poor code for wider vectors,
 * because they keep them in memory (gcc 12). Each operation is exact or rounded once, a function
 * of such operations (mathematics.cl), or a call of the C library for one lane, so the bits are
 * those of any other width.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/c_expression.h"

#include <stdlib.h>
#include <string.h>

/* What vectors of numbers need in C, where operators work on them, but ?: and ! do not (gcc 12,
 * clang 14). */
static const char prelude[] =
    "/* Functions of lanes (struct stiffit_lanes): a register holds WIDTH numbers, from lane k on; "
    "d_ is the direction. */\n"
    "#if defined __GNUC__ && !defined __TINYC__\n"
    "#if defined __AVX512F__\n"
    "#define WIDTH 8\n"
    "#elif defined __AVX2__\n"
    "#define WIDTH 4\n"
    "#else\n"
    "#define WIDTH 2\n"
    "#endif\n"
    "#define POINT const struct stiffit_lanes_point\n"
    "#define RESULT double *restrict\n"
    "typedef double lanes __attribute__((vector_size(8*WIDTH)));\n"
    "typedef double stored __attribute__((vector_size(8*WIDTH), may_alias));\n"
    "typedef int64_t mask __attribute__((vector_size(8*WIDTH)));\n"
    "#define get(from, i, k) (*(const stored *)((from) + (i)*STIFFIT_LANES + (k)))\n"
    "#define put(to, i, k, value) (*(stored *)((to) + (i)*STIFFIT_LANES + (k)) = (value))\n"
    "#define all(value) ((value) - (lanes){0})\n"
    "#define opposite(which) (~(which))\n"
    "#define truth(which) ((lanes)((mask)(which) & (mask)all(1.0)))\n"
    "#define INLINE __attribute__((always_inline))\n"
    "/* The point of the lanes from k on, which are the first ones there. */\n"
    "static inline INLINE struct stiffit_lanes_point lanes_from(const struct stiffit_lanes_point "
    "*at, int k)\n{\n"
    "    return (struct stiffit_lanes_point){.t = at->t + k, .y = at->y + k, .p = at->p + k, "
    ".covariate = at->covariate + k,\n"
    "        .work = at->work + k, .direction = at->direction + k, .input = at->input + k,\n"
    "        .input_slope = at->input_slope + k};\n"
    "}\n"
    "#define LANES(name) static inline __attribute__((always_inline, unused)) lanes lanes_##name\n"
    "LANES(choose)(mask which, lanes a, lanes b) { return (lanes)((which & (mask)a) | (~which & "
    "(mask)b)); }\n"
    "#define choose(which, a, b) lanes_choose((mask)(which), a, b)\n"
    "#define bits_of(value) ((mask)(value))\n"
    "#define number_of(bits) ((lanes)(bits))\n"
    "#define lane_of(value, i) ((value)[i])\n"
    "/* a*b + c, rounded once. Compilers do not make one instruction of the loop (gcc 12). */\n"
    "#if defined __AVX512F__\n"
    "#define fused(a, b, c) ((lanes)__builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4))\n"
    "#elif defined __FMA__ && defined __AVX2__\n"
    "#define fused(a, b, c) ((lanes)__builtin_ia32_vfmaddpd256(a, b, c))\n"
    "#else\n"
    "LANES(fused)(lanes a, lanes b, lanes c)\n"
    "{\n"
    "    for (int i = 0; i < WIDTH; i++) c[i] = fma(a[i], b[i], c[i]);\n"
    "    return c;\n"
    "}\n"
    "#define fused lanes_fused\n"
    "#endif\n"
    "#define else_each(value, f, a, most) "
    "for (int i = 0; i < WIDTH; i++) if (!(fabs(a[i]) <= most)) value[i] = f(a[i])\n"
    "#define EACH_1(f) LANES(f)(lanes a) { for (int i = 0; i < WIDTH; i++) a[i] = f(a[i]); return "
    "a; }\n"
    "#define CALL(name) static __attribute__((noinline)) lanes lanes_##name\n"
    "#define CALL_1(f) CALL(f)(lanes a) { for (int i = 0; i < WIDTH; i++) a[i] = f(a[i]); return "
    "a; }\n"
    "#define CALL_2(f) CALL(f)(lanes a, lanes b) { for (int i = 0; i < WIDTH; i++) a[i] = f(a[i], "
    "b[i]); return a; }\n";

static const char *const names[N_LANES_FUNCTION] = {
    [LANES_rhs] = "lanes_rhs", [LANES_derive] = "lanes_derive", [LANES_curve] = "lanes_curve",
    [LANES_observe] = "lanes_observe", [LANES_noise] = "lanes_noise"};

/* The one that follows the last function: noise is the last one, and of few models. */
static int end_of_functions(const struct programs *programs)
{
    return programs->lanes[LANES_noise].n_output ? N_LANES_FUNCTION : LANES_noise;
}

/* The pattern of the matrix, as the program will find it in the plugin. */
static struct stiffit_pattern pattern_of(const struct graph_matrix *matrix)
{
    return (struct stiffit_pattern){(const int32_t *)matrix->column_start,
                                    (const int32_t *)matrix->row};
}

static enum status algebra(const struct functions *functions, FILE *out, struct error *error)
{
    const struct lane_functions *of = &functions->lanes;
    const struct graph_matrix *by_parameter = &functions->of[FUNCTION_rhs_parameter];
    struct stiffit_lanes lanes = {.by_state = pattern_of(&of->by_state),
                                  .by_parameter = pattern_of(by_parameter),
                                  .curve_state = pattern_of(&of->curve_state),
                                  .curve_parameter = pattern_of(&of->curve_parameter)};
    struct stiffit_model abi = {.n_state = (uint32_t)of->by_state.n_row,
                                .n_parameter = (uint32_t)by_parameter->n_column,
                                .lanes = &lanes};
    bool is_wrong;
    struct lanes_plan *plan = lanes_plan_new(&abi, &is_wrong);
    if (!plan)
        return error_set(error, STATUS_NO_MEMORY, "no memory for the functions of lanes");
    c_stages(plan, out);
    lanes_plan_free(plan);
    return STATUS_OK;
}

/* The names of the C library's functions that a set of operations calls, with commas. Returns
 * their length. */
static size_t list_calls(uint64_t operations, char *list, size_t size)
{
    size_t n = 0;
    list[0] = '\0';
    for (int op = 0; op < N_GRAPH_OP; op++)
        if (operations >> op & 1 && graph_operations[op].cost == COST_CALL &&
            !graph_operations[op].c_helper[C_LANES] && n < size)
            n += (size_t)snprintf(list + n, size - n, "%s%s", n ? ", " : "",
                                  graph_operations[op].c);
    return n;
}

/* A text as string literals, a line each, in pieces that every compiler takes. */
static void put_text(FILE *out, const char *text)
{
    enum { LONGEST = 4000 };
    size_t n_piece = 0;
    for (const char *end; *text; text = end) {
        end = strchr(text, '\n');
        end = end ? end + 1 : text + strlen(text);
        n_piece += (size_t)(end - text);
        fputs(n_piece > LONGEST ? ",\n    \"" : "\n    \"", out);
        n_piece = n_piece > LONGEST ? (size_t)(end - text) : n_piece;
        for (; text < end; text++)
            if (*text == '\n')
                fputs("\\n", out);
            else if (*text == '"' || *text == '\\')
                fprintf(out, "\\%c", *text);
            else
                putc(*text, out);
        putc('"', out);
    }
}

/* The functions for one lane of a GPU, which must give the same bits: those of the C library
 * would not. */
static enum status opencl(const struct programs *programs, struct c_printer *printer,
                          uint64_t operations, FILE *out, struct error *error)
{
    char calls[400], *text = NULL;
    size_t n_text = 0;
    enum status status = STATUS_OK;
    if (list_calls(operations, calls, sizeof calls)) {
        fprintf(out, "#define LANES_OPENCL 0\n#define LANES_CALLS \"%s\"\n\n", calls);
        return STATUS_OK;
    }
    FILE *memory = open_memstream(&text, &n_text);
    if (!memory)
        return error_set(error, STATUS_NO_MEMORY,
                         "out of memory while generating the model's code");
    struct c_printer own = *printer;
    own.out = memory;
    c_tables(printer->values->graph, "", memory);
    c_helpers(operations, C_LANES, memory);
    for (int f = 0; f < end_of_functions(programs) && status == STATUS_OK; f++) {
        own.program = &programs->lanes[f];
        const struct c_function function = {.name = names[f], .n_out = programs->lanes[f].n_output};
        status = c_function(&own, &function, error);
    }
    bool is_whole = fflush(memory) == 0 && !ferror(memory);
    is_whole = fclose(memory) == 0 && is_whole && text;
    if (!is_whole && status == STATUS_OK)
        status = error_set(error, STATUS_NO_MEMORY,
                           "out of memory while generating the model's code");
    if (status == STATUS_OK) {
        fputs("static const char *const lanes_opencl[] = {", out);
        put_text(out, text);
        fputs(",\n    0};\n#define LANES_OPENCL lanes_opencl\n#define LANES_CALLS 0\n\n", out);
    }
    free(text);
    return status;
}

enum status c_lanes(const struct programs *programs, const struct functions *functions,
                    const struct c_lines *lines, FILE *out, struct error *error)
{
    const struct { const char *start, *row; const struct graph_matrix *matrix;
    } patterns[] =
        {{"by_state_start", "by_state_row", &functions->lanes.by_state},
         {"by_parameter_start", "by_parameter_row", &functions->of[FUNCTION_rhs_parameter]},
         {"curve_state_start", "curve_state_row", &functions->lanes.curve_state},
         {"curve_parameter_start", "curve_parameter_row", &functions->lanes.curve_parameter},
         {"observe_state_start", "observe_state_row", &functions->of[FUNCTION_observe_state]},
         {"observe_parameter_start", "observe_parameter_row",
          &functions->of[FUNCTION_observe_parameter]},
         {"noise_state_start", "noise_state_row", &functions->of[FUNCTION_noise_state]},
         {"noise_parameter_start", "noise_parameter_row",
          &functions->of[FUNCTION_noise_parameter]}};
    bool has_noise = end_of_functions(programs) > LANES_noise;
    size_t n_pattern = sizeof patterns / sizeof *patterns - (has_noise ? 0 : 2);
    struct c_printer printer = {.values = &programs->values,
                                .lines = lines, .out = out, .form = C_LANES};
    enum status status = STATUS_OK;
    uint64_t helpers = 0;
    fputs(prelude, out);
    for (int f = 0; f < N_LANES_FUNCTION; f++)
        helpers |= c_helpers_needed(&programs->lanes[f], C_LANES);
    c_helpers(helpers, C_LANES, out);
    for (int f = 0; f < end_of_functions(programs) && status == STATUS_OK; f++) {
        printer.program = &programs->lanes[f];
        const struct c_function function = {.name = names[f], .n_out = programs->lanes[f].n_output};
        status = c_function(&printer, &function, error);
    }
    for (size_t i = 0; i < n_pattern; i++) {
        c_integers(out, patterns[i].start, patterns[i].matrix->column_start,
                   patterns[i].matrix->n_column + 1);
        c_integers(out, patterns[i].row, patterns[i].matrix->row, patterns[i].matrix->n_entry);
    }
    if (status == STATUS_OK)
        status = algebra(functions, out, error);
    if (status == STATUS_OK)
        status = opencl(programs, &printer, helpers, out, error);
    fputs("static const struct stiffit_lanes lanes_table = {\n"
          "    .struct_size = sizeof(struct stiffit_lanes),\n"
          "    .n_lane = STIFFIT_LANES,\n"
          "    .rhs = lanes_rhs,\n"
          "    .derive = lanes_derive,\n"
          "    .curve = lanes_curve,\n"
          "    .by_state = {by_state_start, by_state_row},\n"
          "    .by_parameter = {by_parameter_start, by_parameter_row},\n"
          "    .curve_state = {curve_state_start, curve_state_row},\n"
          "    .curve_parameter = {curve_parameter_start, curve_parameter_row},\n"
          "    .algebra = &lanes_algebra,\n"
          "    .observe = lanes_observe,\n"
          "    .observe_state = {observe_state_start, observe_state_row},\n"
          "    .observe_parameter = {observe_parameter_start, observe_parameter_row},\n"
          "    .opencl = LANES_OPENCL,\n"
          "    .calls = LANES_CALLS,\n",
          out);
    if (has_noise)
        fputs("    .noise = lanes_noise,\n"
              "    .noise_state = {noise_state_start, noise_state_row},\n"
              "    .noise_parameter = {noise_parameter_start, noise_parameter_row},\n",
              out);
    fputs("};\n"
          "#define LANES_TABLE &lanes_table\n"
          "#else\n"
          "#define LANES_TABLE 0\n"
          "#endif\n\n", out);
    return status;
}
