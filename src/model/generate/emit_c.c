/* The C source of a whole plugin: a comment about its origin, the model's tables, its functions,
 * and the descriptor; and the cost of its functions, counted over their programs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/error_kind.h"
#include "model/generate/c_expression.h"
#include "model/generate/generate.h"
#include "model/generate/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With up to this many states, a model with a sparse Jacobian also has a dense one, for hosts
 * that prefer it. */
enum { DENSE_UP_TO = 100, LINE_COLUMNS = 100 };

struct emitter {
    const struct equations *equations;
    const struct functions *functions;
    struct programs programs;
    struct c_lines lines;
    FILE *out;
};

/* Functions by state or of the rates are not there without states, those of the noise not
 * without noise. */
static bool is_there(const struct emitter *e, enum model_function f)
{
    const struct graph_matrix *matrix = &e->functions->of[f];
    return matrix->n_row > 0 && matrix->n_column > 0;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_comment(FILE *out, const char *text) { c_comment(out, text, strlen(text)); }

static void put_head(const struct emitter *e)
{
    const struct equations *equations = e->equations;
    fputs("/* ", e->out);
    put_comment(e->out, equations->name);
    if (equations->description) {
        fputs(": ", e->out);
        put_comment(e->out, equations->description);
    }
    fputs("\n * Made from ", e->out);
    put_comment(e->out, equations->origin ? last_part(equations->origin) : "equations");
    fprintf(e->out,
            " by stiffit's model compiler, generator %d. Change the model, not this file.\n",
            GENERATOR_VERSION);
    fputs(" *\n"
          " * Names: y_ states, p_ parameters, c_ covariates, u_ inputs, v_ intermediates, x other "
          "common parts, w_ values\n"
          " * that are computed once per evaluation, by prepare. A number in front of a comment is "
          "a line of the model. */\n"
          "#include <math.h>\n"
          "#include <stiffit/model.h>\n\n",
          e->out);
    uint64_t helpers = c_helpers_needed(&e->programs.prepare, C_SCALAR) |
                       c_helpers_needed(&e->programs.range, C_SCALAR);
    for (int f = 0; f < N_MODEL_FUNCTION; f++)
        helpers |= c_helpers_needed(&e->programs.of[f], C_SCALAR);
    for (size_t i = 0; i < e->programs.n_event * N_EVENT_FUNCTION; i++)
        helpers |= c_helpers_needed(&e->programs.event[i], C_SCALAR);
    if (graph_n_table(equations->graph) > 0)
        fputs("#define TABLE const double\n", e->out);
    c_tables(equations->graph, "static ", e->out);
    c_helpers(helpers, C_SCALAR, e->out);
}

/* Tables have one line per item. */

static void put_item_text(const struct emitter *e, const char *text, const char *unit)
{
    fputs("    ", e->out);
    c_string(e->out, text);
    putc(',', e->out);
    if (unit) {
        fputs(" /* ", e->out);
        put_comment(e->out, unit);
        fputs(" */", e->out);
    }
    putc('\n', e->out);
}

/* Writes short items of a table, as many per line as fit. */
static void put_packed(const struct emitter *e, const char *table)
{
    size_t column = LINE_COLUMNS;
    fprintf(e->out, "static const char *const parameter_%s[] = {", table);
    for (uint32_t i = 0; i < e->equations->n_parameter; i++) {
        const struct equation_parameter *p = &e->equations->parameter[i];
        const char *text = strcmp(table, "scale") == 0 ? p->scale : p->unit ? p->unit : "";
        size_t width = strlen(text) + 4;
        bool breaks = column + width > LINE_COLUMNS;
        fputs(breaks ? "\n    " : " ", e->out);
        column = (breaks ? 4 : column) + width;
        c_string(e->out, text);
        putc(',', e->out);
    }
    fputs("\n};\n", e->out);
}

/* A table of texts, if it has any; `text` and `comment` speak of item i. */
#define PUT_TEXTS(e, table, n, text, comment) \
    do { \
        fprintf((e)->out, (n) > 0 ? "static const char *const %s[] = {\n" : "", table); \
        for (uint32_t i = 0; i < (n); i++) \
            put_item_text(e, text, comment); \
        fputs((n) > 0 ? "};\n" : "", (e)->out); \
    } while (0)

/* A table of a number of each parameter; `number` speaks of parameter i. */
#define PUT_NUMBERS(e, table, number) \
    do { \
        fprintf((e)->out, "static const double parameter_%s[] = {\n", table); \
        for (uint32_t i = 0; i < (e)->equations->n_parameter; i++) { \
            fputs("    ", (e)->out); \
            c_number((e)->out, number); \
            fprintf((e)->out, ", /* %s */\n", (e)->equations->parameter[i].name); \
        } \
        fputs("};\n", (e)->out); \
    } while (0)

static void put_names(const struct emitter *e)
{
    const struct equations *it = e->equations;
    PUT_TEXTS(e, "state_name", it->n_state, it->state[i].name, it->state[i].unit);
    PUT_TEXTS(e, "covariate_name", it->n_covariate, it->covariate[i].name, it->covariate[i].unit);
    PUT_TEXTS(e, "input_name", it->n_input, it->input[i].name, it->input[i].unit);
    PUT_TEXTS(e, "event_name", it->n_event, it->event[i].name, NULL);
    PUT_TEXTS(e, "observable_name", it->n_observable, it->observable[i].name,
              it->observable[i].unit);
    PUT_TEXTS(e, "parameter_name", it->n_parameter, it->parameter[i].name, NULL);
    put_packed(e, "scale");
    put_packed(e, "unit");
}

static bool has_errors(const struct equations *equations)
{
    bool any = false;
    for (uint32_t i = 0; i < equations->n_observable; i++)
        any |= equations->observable[i].error != NULL;
    return any;
}

static bool has_priors(const struct equations *equations)
{
    bool any = false;
    for (uint32_t i = 0; i < equations->n_parameter; i++)
        any |= equations->parameter[i].prior.kind != NULL;
    return any;
}

/* A number that priors of some kinds need, 0 for the others. */
static double prior_number(const struct equation_prior *prior, bool uniform, bool second)
{
    bool has_it = prior->kind && (strcmp(prior->kind, "uniform") == 0) == uniform;
    return !has_it ? 0 : second ? prior->second : prior->first;
}

static void put_errors_and_priors(const struct emitter *e)
{
    const struct equations *it = e->equations;
    if (has_errors(it))
        PUT_TEXTS(e, "observable_error", it->n_observable,
                  it->observable[i].error ? it->observable[i].error : error_kind_default,
                  it->observable[i].name);
    if (!has_priors(it))
        return;
    PUT_TEXTS(e, "parameter_prior", it->n_parameter,
              it->parameter[i].prior.kind ? it->parameter[i].prior.kind : "none",
              it->parameter[i].name);
    PUT_TEXTS(e, "parameter_prior_on", it->n_parameter,
              it->parameter[i].prior.on_optimizer ? "optimizer" : "natural", it->parameter[i].name);
    PUT_NUMBERS(e, "prior_location", prior_number(&it->parameter[i].prior, false, false));
    PUT_NUMBERS(e, "prior_scale", prior_number(&it->parameter[i].prior, false, true));
    PUT_NUMBERS(e, "prior_lower", prior_number(&it->parameter[i].prior, true, false));
    PUT_NUMBERS(e, "prior_upper", prior_number(&it->parameter[i].prior, true, true));
}

static void put_defaults(const struct emitter *e)
{
    static const char *const uses[] = {"RHS", "INITIAL", "OBSERVE", "NOISE", "EVENT"}; /* by bit */
    const struct equations *equations = e->equations;
    PUT_NUMBERS(e, "start", equations->parameter[i].start);
    PUT_NUMBERS(e, "lower", equations->parameter[i].lower);
    PUT_NUMBERS(e, "upper", equations->parameter[i].upper);
    fputs("static const uint8_t parameter_use[] = {\n", e->out);
    for (uint32_t i = 0; i < equations->n_parameter; i++) {
        const char *between = "    ";
        unsigned use = e->functions->parameter_use[i];
        for (size_t k = 0; k < sizeof uses / sizeof *uses; k++) {
            if (use >> k & 1) {
                fprintf(e->out, "%sSTIFFIT_USE_%s", between, uses[k]);
                between = " | ";
            }
        }
        fprintf(e->out, "%s, /* %s */\n", use ? "" : "    0", equations->parameter[i].name);
    }
    fputs("};\n\n", e->out);
}

/* A table of small numbers, a line per item. */
#define PUT_BYTES(e, table, n, number, comment) \
    do { \
        fprintf((e)->out, (n) > 0 ? "static const uint8_t %s[] = {\n" : "", table); \
        for (uint32_t i = 0; i < (n); i++) \
            fprintf((e)->out, "    %u, /* %s */\n", (unsigned)(number), comment); \
        fputs((n) > 0 ? "};\n\n" : "", (e)->out); \
    } while (0)

static bool is_assigned(const struct equation_event *event, uint32_t state)
{
    for (uint32_t i = 0; i < event->n_assignment; i++)
        if (event->assignment[i].state == state)
            return true;
    return false;
}

static unsigned infusion_kind(const struct equations *it, uint32_t state)
{
    for (uint32_t i = 0; i < it->n_dosing; i++)
        if (it->dosing[i].state == state &&
            (it->dosing[i].kind == DOSING_RATE || it->dosing[i].kind == DOSING_DURATION))
            return it->dosing[i].kind == DOSING_RATE ? STIFFIT_INFUSION_RATE
                                                     : STIFFIT_INFUSION_DURATION;
    return STIFFIT_INFUSION_NONE;
}

static void put_kinds(const struct emitter *e)
{
    const struct equations *it = e->equations;
    uint32_t n_infused = is_there(e, FUNCTION_infusion) ? it->n_state : 0;
    PUT_BYTES(e, "infusion_kind", n_infused, infusion_kind(it, i), it->state[i].name);
    PUT_BYTES(e, "input_linear", it->n_input, it->input[i].is_linear, it->input[i].name);
    PUT_BYTES(e, "event_kind", it->n_event, it->event[i].kind, it->event[i].name);
    if (it->n_event == 0)
        return;
    fputs("static const uint8_t event_assigned[] = {\n", e->out);
    for (uint32_t i = 0; i < it->n_event; i++) {
        fputs("    ", e->out);
        for (uint32_t k = 0; k < it->n_state; k++)
            fprintf(e->out, "%d,", is_assigned(&it->event[i], k));
        fprintf(e->out, " /* %s */\n", it->event[i].name);
    }
    fputs("};\n\n", e->out);
}

/* Columns of the mask are parameters. */
static void put_movers(const struct emitter *e)
{
    size_t n = e->functions->of[FUNCTION_switching].n_row;
    if (n == 0)
        return;
    fputs("static const uint8_t switching_parameter[] = {\n", e->out);
    for (uint32_t j = 0; j < e->equations->n_parameter; j++) {
        fputs("    ", e->out);
        for (size_t i = 0; i < n; i++)
            fprintf(e->out, "%d,", e->functions->switching_parameter[i + j * n]);
        fprintf(e->out, " /* %s */\n", e->equations->parameter[j].name);
    }
    fputs("};\n\n", e->out);
}

static const char *need_word(const struct sign_need *need)
{
    switch (need->leaf) {
    case GRAPH_STATE: return "STATE";
    case GRAPH_PARAMETER: return need->is_positive ? "POSITIVE_PARAMETER" : "PARAMETER";
    case GRAPH_COVARIATE: return need->is_positive ? "POSITIVE_COVARIATE" : "COVARIATE";
    case GRAPH_INPUT: return "INPUT";
    default: return "TIME";
    }
}

/* Which states stay non-negative. False: out of memory. */
static bool put_needs(const struct emitter *e)
{
    const struct equations *it = e->equations;
    size_t n = 0, n_need;
    if (it->n_state == 0)
        return true;
    struct signs *signs = signs_new(it->graph);
    uint32_t *start = calloc(it->n_state + 1, sizeof *start);
    bool good = signs && start;
    fputs(good ? "static const struct stiffit_need nonnegative_need[] = {\n" : "", e->out);
    for (uint32_t i = 0; good && i < it->n_state; i++) {
        const struct sign_need *need = signs_prove(signs, it->state[i].rhs, i, &n_need);
        fprintf(e->out, "    /* %s */", it->state[i].name);
        for (size_t k = 0; k < n_need; k++)
            fprintf(e->out, " {STIFFIT_NEED_%s, %u},", need_word(&need[k]),
                    (unsigned)need[k].index);
        fputs(need ? "\n" : " {STIFFIT_NEED_NOTHING, 0},\n", e->out);
        n += need ? n_need : 1;
        start[i + 1] = (uint32_t)n;
    }
    if (good) {
        fputs("    {STIFFIT_NEED_NOTHING, 0}\n};\n", e->out);
        c_integers(e->out, "nonnegative_start", start, it->n_state + 1);
    }
    free(start);
    signs_free(signs);
    return good;
}

/* The dense Jacobian: the sparse one's entries in their places. */
static void put_spread(const struct emitter *e, size_t n_entry)
{
    unsigned n = e->equations->n_state;
    fprintf(e->out,
            "static int jacobian(const struct stiffit_point *at, double *restrict out)\n{\n"
            "    double entry[%zu];\n    jacobian_sparse(at, entry);\n"
            "    for (int i = 0; i < %u; i++)\n        out[i] = 0.0;\n"
            "    for (int j = 0; j < %u; j++)\n"
            "        for (int k = column_start[j]; k < column_start[j + 1]; k++)\n"
            "            out[row_index[k] + j*%u] = entry[k];\n    return STIFFIT_OK;\n}\n\n",
            n_entry, n * n, n, n);
}

/* A function of the plugin that calls that of the event which is meant; and those. */
static enum status put_event_function(const struct emitter *e, int f, struct error *error)
{
    const struct model_function_info *info = &model_functions[event_functions[f]];
    const struct graph_matrix *matrix = &e->functions->of[event_functions[f]];
    size_t n_out = e->equations->n_state * matrix->n_column;
    enum status status = STATUS_OK;
    char name[80];
    for (uint32_t i = 0; i < e->equations->n_event && status == STATUS_OK; i++) {
        struct c_printer printer = {.values = &e->programs.values,
                                    .lines = &e->lines,
                                    .out = e->out,
                                    .program =
                                        &e->programs.event[i * N_EVENT_FUNCTION + (size_t)f]};
        snprintf(name, sizeof name, "%s_%u", info->name, (unsigned)i);
        status = c_function(&printer,
                            &(struct c_function){.name = name,
                                                 .n_out = n_out, .row = info->row,
                                                 .column = info->column},
                            error);
    }
    fprintf(e->out,
            "static int %s(const struct stiffit_point *at, double *restrict out)\n{\n    switch "
            "(at->event) {\n",
            info->name);
    for (uint32_t i = 0; i < e->equations->n_event; i++)
        fprintf(e->out, "    case %u: return %s_%u(at, out); /* %s */\n", (unsigned)i, info->name,
                (unsigned)i, e->equations->event[i].name);
    fputs("    default: return STIFFIT_FATAL;\n    }\n}\n\n", e->out);
    return status;
}

static enum status put_functions(const struct emitter *e, struct error *error)
{
    struct c_printer printer = {.values = &e->programs.values, .lines = &e->lines, .out = e->out,
                                .program = &e->programs.prepare};
    enum status status = STATUS_OK;
    if (e->programs.values.n_work > 0)
        status = c_function(&printer,
                            &(struct c_function){.name = "prepare",
                                                 .n_out = e->programs.values.n_work,
                                                 .quotes = true},
                            error);
    for (int f = 0; f < N_MODEL_FUNCTION && status == STATUS_OK; f++) {
        const struct graph_matrix *matrix = &e->functions->of[f];
        bool sparse = f == FUNCTION_jacobian && e->programs.is_sparse;
        if (!is_there(e, f) || model_functions[f].row == OF_ASSIGNED)
            continue;
        const struct model_function_info *info = &model_functions[f];
        struct c_function function = {.name = sparse ? "jacobian_sparse" : info->name,
                                      .row = info->row, .column = info->column,
                                      .n_out = sparse ? matrix->n_entry
                                                      : matrix->n_row * matrix->n_column,
                                      .quotes = f < FUNCTION_switching};
        printer.program = &e->programs.of[f];
        if (sparse) {
            c_integers(e->out, "column_start", matrix->column_start, matrix->n_column + 1);
            c_integers(e->out, "row_index", matrix->row, matrix->n_entry);
        }
        status = c_function(&printer, &function, error);
        if (sparse && matrix->n_row <= DENSE_UP_TO)
            put_spread(e, matrix->n_entry);
    }
    for (int f = 0; f < N_EVENT_FUNCTION && status == STATUS_OK; f++)
        if (is_there(e, event_functions[f]))
            status = put_event_function(e, f, error);
    if (status == STATUS_OK && is_there(e, FUNCTION_forcing))
        status = c_ranges(&e->programs, e->functions, &e->lines, e->out, error);
    return status;
}

static void put_count(FILE *out, const char *field, size_t n)
{
    if (n > 0)
        fprintf(out, "    .%s = %zu,\n", field, n);
}

static void put_text(FILE *out, const char *field, const char *text)
{
    if (!text)
        return;
    fprintf(out, "    .%s = ", field);
    c_string(out, text);
    fputs(",\n", out);
}

/* Fields whose values are called as they are, if they are there. */
static void put_fields(FILE *out, bool are_there, const char *names)
{
    for (int n; are_there && *names; names += n + (names[n] == ' ')) {
        n = (int)strcspn(names, " ");
        fprintf(out, "    .%.*s = %.*s,\n", n, names, n, names);
    }
}

static void put_descriptor(const struct emitter *e)
{
    const struct equations *equations = e->equations;
    bool sparse = e->programs.is_sparse;
    FILE *out = e->out;
    fputs("STIFFIT_EXPORT const struct stiffit_model stiffit_model = {\n    "
          "STIFFIT_MODEL_HEADER,\n",
          out);
    put_text(out, "name", equations->name);
    put_text(out, "description", equations->description);
    put_count(out, "n_state", equations->n_state);
    put_count(out, "n_parameter", equations->n_parameter);
    put_count(out, "n_observable", equations->n_observable);
    put_count(out, "n_covariate", equations->n_covariate);
    put_count(out, "n_work", e->programs.values.n_work);
    put_count(out, "n_input", equations->n_input);
    put_count(out, "n_event", equations->n_event);
    put_fields(out, equations->n_state > 0, "state_name nonnegative_start nonnegative_need");
    put_fields(out, equations->n_covariate > 0, "covariate_name");
    put_fields(out, equations->n_input > 0, "input_name input_linear");
    put_fields(out, is_there(e, FUNCTION_infusion), "infusion_kind");
    put_fields(out, equations->n_event > 0, "event_name event_kind event_assigned");
    put_fields(out, true,
               "observable_name parameter_name parameter_start parameter_lower parameter_upper "
               "parameter_scale parameter_unit parameter_use");
    fputs("    .t0 = ", out);
    c_number(out, equations->t0);
    fputs(",\n", out);
    put_text(out, "time_unit", equations->time_unit);
    put_fields(out, has_priors(equations),
               "parameter_prior parameter_prior_on parameter_prior_location parameter_prior_scale "
               "parameter_prior_lower parameter_prior_upper");
    put_fields(out, has_errors(equations), "observable_error");
    put_fields(out, e->programs.values.n_work > 0, "prepare");
    for (int f = 0; f < N_MODEL_FUNCTION; f++)
        put_fields(out,
                   is_there(e, f) &&
                       (f != FUNCTION_jacobian || !sparse || equations->n_state <= DENSE_UP_TO),
                   model_functions[f].name);
    put_count(out, "n_switching", e->functions->of[FUNCTION_switching].n_row);
    put_count(out, "n_forcing", e->functions->of[FUNCTION_forcing].n_row);
    put_fields(out, e->functions->of[FUNCTION_switching].n_row > 0, "switching_parameter");
    put_fields(out, e->functions->of[FUNCTION_forcing].n_row > 0, "forcing_range");
    put_count(out, "n_nonzero", sparse ? e->functions->of[FUNCTION_jacobian].n_entry : 0);
    put_fields(out, sparse, "column_start row_index jacobian_sparse");
    /* `forcing` and switching_time tell all. Not every compiler takes INFINITY as a constant. */
    fputs("    .max_step = 1e300,\n", out);
    if (e->functions->lanes.are_there)
        fputs("    .lanes = LANES_TABLE,\n", out);
    fputs("};\n", out);
}

enum status generate_c(const struct equations *equations, const struct functions *functions,
                       FILE *out, struct error *error)
{
    struct emitter e = {.equations = equations, .functions = functions, .out = out};
    enum status status = programs_init(&e.programs, equations, functions, c_width, error);
    if (status == STATUS_OK && !c_lines_init(&e.lines, equations->source))
        status =
            error_set(error, STATUS_NO_MEMORY, "out of memory while generating the model's code");
    if (status == STATUS_OK) {
        put_head(&e);
        put_names(&e);
        put_errors_and_priors(&e);
        put_defaults(&e);
        put_movers(&e);
        put_kinds(&e);
        status = put_needs(&e) ? put_functions(&e, error)
                               : error_set(error, STATUS_NO_MEMORY,
                                           "out of memory while generating the model's code");
        if (status == STATUS_OK && functions->lanes.are_there)
            status = c_lanes(&e.programs, functions, &e.lines, out, error);
        put_descriptor(&e);
    }
    c_lines_fini(&e.lines);
    programs_fini(&e.programs);
    return status;
}

static void count_operation(enum graph_op op, struct function_cost *cost)
{
    size_t *const count[] = {
        [COST_SIGN] = &cost->n_add, [COST_ADD] = &cost->n_add, [COST_MULTIPLY] = &cost->n_multiply,
        [COST_DIVIDE] = &cost->n_divide, [COST_ROOT] = &cost->n_call, [COST_CALL] = &cost->n_call,
        [COST_CHOICE] = &cost->n_other, [COST_PRODUCT_CALL] = &cost->n_other};
    ++*count[graph_operations[op].cost];
}

/* Temporaries are alive after statement i that are defined by then and read later. */
static bool count_alive(const struct program *program, struct function_cost *cost)
{
    struct arena arena = {0};
    struct lives lives = {.last =
                              arena_calloc(&arena, (size_t)program->n_step + 1, sizeof(uint32_t))};
    size_t *n_ended = arena_calloc(&arena, (size_t)program->n_statement + 1, sizeof *n_ended),
           n_alive = 0;
    bool complete = lives.last && n_ended;
    for (; complete && lives.now < program->n_statement; lives.now++)
        program_visit(program, &program->statement[lives.now], program_note_read, &lives);
    for (uint32_t i = 0; complete && i < program->n_statement; i++) {
        n_alive -= n_ended[i];
        if (program->statement[i].is_store)
            continue;
        n_ended[lives.last[program->statement[i].which]]++;
        n_alive++;
        if (n_alive > cost->n_alive)
            cost->n_alive = n_alive;
    }
    arena_fini(&arena);
    return complete;
}

/* Adds a program's cost. */
static bool count_program(const struct program *program, struct function_cost *cost)
{
    for (uint32_t i = 0; i < program->n_step; i++) {
        const struct step *step = &program->step[i];
        bool is_constant =
            step->op == GRAPH_RECIPROCAL && program->step[step->arg[0]].op == GRAPH_CONSTANT;
        if (step_n_argument(step) > 0 && !is_constant) /* the compiler divides 1 by it */
            count_operation((enum graph_op)step->op, cost);
    }
    cost->n_temporary += program->n_temporary;
    cost->n_result += program->n_output;
    return count_alive(program, cost);
}

enum status generate_cost(const struct equations *equations, const struct functions *functions,
                          struct function_cost cost[N_FUNCTION_COST], struct error *error)
{
    struct programs programs = {0};
    enum status status = programs_init(&programs, equations, functions, c_width, error);
    memset(cost, 0, N_FUNCTION_COST * sizeof *cost);
    bool complete = status == STATUS_OK;
    for (int f = 0; f < N_FUNCTION_COST && complete; f++)
        complete = count_program(f == COST_prepare ? &programs.prepare : &programs.of[f], &cost[f]);
    for (size_t i = 0; i < programs.n_event * N_EVENT_FUNCTION && complete; i++)
        complete = count_program(&programs.event[i], &cost[event_functions[i % N_EVENT_FUNCTION]]);
    if (status == STATUS_OK && !complete)
        status = error_set(error, STATUS_NO_MEMORY,
                           "out of memory while counting the model's operations");
    programs_fini(&programs);
    return status;
}
