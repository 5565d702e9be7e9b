/* Writes a program's statements as the body of a function: inputs, zeros, then values and
 * results in turn. Long functions are split into parts of bounded length, so that compile time
 * is proportional to the model; values used by several parts are passed in numbered places.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/c_expression.h"

static uint32_t operations_of(const struct program *program, const struct statement *statement)
{
    const struct step *step =
        &program->step[statement->is_store ? program->output[statement->which].step
                                           : statement->which];
    return statement->is_store && (step->is_named || step_n_argument(step) == 0)
               ? 1
               : step->n_operation + 1;
}

enum { PART_OPERATIONS = 200 };

struct parts {
    uint32_t n_part;   /* at least 1 */
    uint32_t *first;   /* n_part + 1: the first statement of each */
    /* per step: its place for other parts, or STEP_NONE. A part reads places before it writes
     * any */
    uint32_t *place;
    uint32_t n_place;
    uint32_t *defined; /* per step: the part that computes it */
    uint32_t *loaded;  /* per step: 1 + the part that loaded it last */
};

/* Cuts the program into parts of about equal length. */
static void cut(struct parts *parts, const struct program *program)
{
    uint64_t total = 0, done = 0;
    for (uint32_t i = 0; i < program->n_statement; i++)
        total += operations_of(program, &program->statement[i]);
    uint64_t n = (total + PART_OPERATIONS - 1) / PART_OPERATIONS;
    parts->n_part = 1;
    for (uint32_t i = 0; i < program->n_statement; i++) {
        if (n > 1 && done * n >= total * parts->n_part && parts->first[parts->n_part - 1] < i)
            parts->first[parts->n_part++] = i;
        done += operations_of(program, &program->statement[i]);
    }
    parts->first[parts->n_part] = program->n_statement;
}

/* Places are used again from the part on that reads their value last: it reads first. */
static void give_places(struct parts *parts, const struct program *program, const uint32_t *last,
                        uint32_t *free_place, uint32_t *next_ended, uint32_t *first_ended)
{
    uint32_t n_free = 0;
    for (uint32_t p = 0; p < parts->n_part; p++)
        first_ended[p] = STEP_NONE;
    for (uint32_t p = 0; p < parts->n_part; p++) {
        for (uint32_t s = first_ended[p]; s != STEP_NONE; s = next_ended[s])
            free_place[n_free++] = parts->place[s];
        for (uint32_t i = parts->first[p]; i < parts->first[p + 1]; i++) {
            uint32_t s = program->statement[i].which;
            if (program->statement[i].is_store || last[s] <= p)
                continue;
            parts->place[s] = n_free > 0 ? free_place[--n_free] : parts->n_place++;
            next_ended[s] = first_ended[last[s]];
            first_ended[last[s]] = s;
        }
    }
}

/* False: out of memory. */
static bool parts_init(struct parts *parts, const struct program *program, struct arena *arena)
{
    size_t n = (size_t)program->n_step + 1, n_statement = (size_t)program->n_statement + 2;
    struct lives lives = {.last = arena_calloc(arena, n, sizeof(uint32_t))};
    uint32_t *scratch = arena_calloc(arena, n, 2 * sizeof *scratch);
    uint32_t *first_ended = arena_calloc(arena, n_statement, sizeof *first_ended);
    parts->first = arena_calloc(arena, n_statement, sizeof *parts->first);
    parts->place = arena_calloc(arena, n, sizeof *parts->place);
    parts->defined = arena_calloc(arena, n, sizeof *parts->defined);
    parts->loaded = arena_calloc(arena, n, sizeof *parts->loaded);
    if (!lives.last || !scratch || !first_ended || !parts->first || !parts->place ||
        !parts->defined || !parts->loaded)
        return false;
    cut(parts, program);
    for (uint32_t s = 0; s < program->n_step; s++)
        parts->place[s] = STEP_NONE;
    for (lives.now = 0; lives.now < parts->n_part; lives.now++) {
        for (uint32_t i = parts->first[lives.now]; i < parts->first[lives.now + 1]; i++) {
            if (!program->statement[i].is_store)
                parts->defined[program->statement[i].which] = lives.now;
            program_visit(program, &program->statement[i], program_note_read, &lives);
        }
    }
    give_places(parts, program, lives.last, scratch, scratch + n, first_ended);
    return true;
}

static const char *const types[] =
    {[C_SCALAR] = "double", [C_LANES] = "lanes", [C_RANGE] = "range"};

/* Width of a line of short items. Up to this many zeros are written one by one; with more,
 * clearing everything first is faster (5 x 5 with 10 entries: 2.3 against 2.9 ns). */
enum { LINE_COLUMNS = 96, MOST_ZEROS = 8 };

struct writer {
    const struct c_printer *printer;
    const struct c_function *function;
    const struct parts *parts;
    uint32_t part;
    uint32_t n_loaded, column, quoted; /* quoted: the line quoted last */
};

/* Quotes the model's line of the next statement, unless it was just quoted. */
static void quote(struct writer *w, uint32_t line)
{
    size_t length;
    const char *text = c_lines_get(w->printer->lines, line, &length);
    if (!w->function->quotes || length == 0 || w->quoted == line)
        return;
    fprintf(w->printer->out, "    /* %u: ", (unsigned)line);
    c_comment(w->printer->out, text, length);
    fputs(" */\n", w->printer->out);
    w->quoted = line;
}

static uint32_t row_line(const struct equations *equations, enum function_axis axis, uint32_t row)
{
    switch (axis) {
    case OF_RATE: return equations->state[row].rhs_line;
    case OF_INITIAL: return equations->state[row].initial_line;
    case OF_OBSERVABLE: case OF_NOISE: return equations->observable[row].line;
    case OF_EVENT: return equations->event[row].line;
    default: return 0;
    }
}

static const char *column_name(const struct equations *equations, enum function_axis axis,
                               uint32_t column)
{
    bool is_time = axis == OF_STATE_TIME && column == equations->n_state;
    return is_time                ? "t"
           : axis == OF_PARAMETER ? equations->parameter[column].name
                                  : equations->state[column].name;
}

static void put_row(FILE *out, const struct equations *equations, enum function_axis axis,
                    uint32_t row)
{
    if (axis >= OF_STATE) {
        if (axis == OF_SWITCH)
            fprintf(out, "switch %u", (unsigned)row);
        else
            fputs(axis == OF_EVENT ? equations->event[row].name
                                   : equations->state[row % equations->n_state].name,
                  out);
        return;
    }
    const char *name = axis == OF_RATE || axis == OF_INITIAL ? equations->state[row].name
                                                             : equations->observable[row].name;
    fprintf(out, "%s%s%s", axis == OF_NOISE ? "sd of " : "", name,
            axis == OF_RATE      ? "'"
            : axis == OF_INITIAL ? "(0)"
                                 : "");
}

/* Writes " / * d A' / d k1 * /" after a result. */
static void put_meaning(const struct writer *w, const struct program_output *output)
{
    const struct equations *equations = w->printer->values->equations;
    FILE *out = w->printer->out;
    if (w->function->row == OF_NOTHING)
        return;
    fputs(w->function->column == OF_NOTHING ? " /* " : " /* d ", out);
    put_row(out, equations, w->function->row, output->row);
    if (w->function->column != OF_NOTHING)
        fprintf(out, " / d %s", column_name(equations, w->function->column, output->column));
    fputs(" */", out);
}

static void put_load(void *context, uint32_t which)
{
    struct writer *w = context;
    const struct step *step = &w->printer->program->step[which];
    FILE *out = w->printer->out;
    bool is_leaf = step_n_argument(step) == 0;
    if (step->op == GRAPH_CONSTANT || step->op == GRAPH_TABLE ||
        w->parts->loaded[which] == w->part + 1 ||
        (!is_leaf && w->parts->defined[which] == w->part))
        return;
    w->parts->loaded[which] = w->part + 1;
    uint32_t width = 2 * c_width(w->printer->values, step) + (w->printer->form == C_LANES ? 18 : 8);
    if (w->n_loaded++ == 0 || w->column + width > LINE_COLUMNS) {
        fprintf(out, w->n_loaded > 1 ? ",\n        " : "    const %s ", types[w->printer->form]);
        w->column = 8;
    } else {
        fputs(", ", out);
    }
    w->column += width;
    c_name(w->printer, which);
    fputs(" = ", out);
    if (is_leaf)
        c_source(w->printer, step);
    else
        fprintf(out, "place[%u]", (unsigned)w->parts->place[which]);
}

static void put_definition(struct writer *w, uint32_t which)
{
    const struct step *step = &w->printer->program->step[which];
    const struct equations *equations = w->printer->values->equations;
    FILE *out = w->printer->out;
    if (step->label != VALUE_NONE)
        quote(w, equations->intermediate[step->label].line);
    fprintf(out, "    const %s ", types[w->printer->form]);
    c_name(w->printer, which);
    fputs(" = ", out);
    c_definition(w->printer, which);
    fputs(";\n", out);
    if (w->parts->place[which] == STEP_NONE)
        return;
    fprintf(out, "    place[%u] = ", (unsigned)w->parts->place[which]);
    c_name(w->printer, which);
    fputs(";\n", out);
}

static void put_store(struct writer *w, const struct program_output *output)
{
    const struct equations *equations = w->printer->values->equations;
    FILE *out = w->printer->out;
    quote(w, row_line(equations, w->function->row, output->row));
    fprintf(out, w->printer->form == C_LANES ? "    put(out, %zu, k, " : "    out[%zu] = ",
            output->slot);
    c_use(w->printer, output->step);
    fputs(w->printer->form == C_LANES ? ");" : ";", out);
    put_meaning(w, output);
    putc('\n', out);
}

/* Clears the entries without a result: all entries at once if there are many. */
static void put_zeros(const struct writer *w)
{
    const struct program *program = w->printer->program;
    FILE *out = w->printer->out;
    size_t n_out = w->function->n_out, n_zero = n_out - program->n_output, column = 0;
    if (n_zero == 0)
        return;
    if (n_zero > MOST_ZEROS) {
        fprintf(out, "    for (int64_t i = 0; i < %zu; i++)\n        out[i] = 0.0;\n", n_out);
        return;
    }
    for (size_t slot = 0, next = 0; slot < n_out; slot++) {
        if (next < program->n_output && program->output[next].slot == slot) {
            next++;
            continue;
        }
        column += (size_t)fprintf(out, "%sout[%zu] = ", column == 0 ? "    " : "", slot);
        if (column > LINE_COLUMNS - 10) {
            fputs("0.0;\n", out);
            column = 0;
        }
    }
    if (column > 0)
        fputs("0.0;\n", out);
}

static void put_part(struct writer *w, uint32_t part)
{
    const struct program *program = w->printer->program;
    w->part = part;
    w->n_loaded = w->quoted = 0;
    for (uint32_t i = w->parts->first[part]; i < w->parts->first[part + 1]; i++)
        program_visit(program, &program->statement[i], put_load, w);
    if (w->n_loaded)
        fputs(";\n\n", w->printer->out);
    else if (w->parts->n_part == 1)
        fputs("    (void)at;\n", w->printer->out);
    if (w->parts->n_part == 1)
        put_zeros(w);
    for (uint32_t i = w->parts->first[part]; i < w->parts->first[part + 1]; i++) {
        const struct statement *statement = &program->statement[i];
        if (statement->is_store)
            put_store(w, &program->output[statement->which]);
        else
            put_definition(w, statement->which);
    }
}

/* "static int NAME(...)\n{\n"; parts are functions of their own. */
static void put_head(const struct writer *w, bool is_part)
{
    FILE *out = w->printer->out;
    if (w->printer->form == C_LANES)
        fprintf(out,
                is_part ? "static%s void %s_%u(POINT *at, RESULT out,\n"
                          "    lanes *restrict place)\n{\n    enum { k = 0 };\n    (void)at, "
                          "(void)out, (void)place;\n"
                        : "static%s void %s(POINT *at, RESULT out)\n{\n",
                !is_part               ? ""
                : w->parts->n_part > 1 ? " __attribute__((noinline))"
                                       : " inline INLINE",
                w->function->name, (unsigned)w->part + 1);
    else if (w->printer->form == C_RANGE && is_part)
        fprintf(out,
                "static __attribute__((noinline)) void %s_%u(const struct stiffit_point *at, const "
                "range span,\n"
                "    range *restrict out, range *restrict place)\n{\n    (void)at, (void)span, "
                "(void)out, (void)place;\n",
                w->function->name, (unsigned)w->part + 1);
    else if (w->printer->form == C_RANGE)
        fprintf(out,
                "static void %s(const struct stiffit_point *at, const range span, range *restrict "
                "out)\n{\n"
                "    (void)at;\n",
                w->function->name);
    else if (is_part)
        fprintf(out,
                "static __attribute__((noinline)) void %s_%u(const struct stiffit_point *at, "
                "double *restrict out,\n"
                "    double *restrict place)\n{\n    (void)at, (void)out, (void)place;\n",
                w->function->name, (unsigned)w->part + 1);
    else
        fprintf(out, "static int %s(const struct stiffit_point *at, double *restrict out)\n{\n",
                w->function->name);
}

static void put_in_parts(struct writer *w)
{
    FILE *out = w->printer->out;
    for (uint32_t part = 0; part < w->parts->n_part; part++) {
        w->part = part;
        put_head(w, true);
        put_part(w, part);
        fputs("}\n\n", out);
    }
    bool lanes = w->printer->form == C_LANES;
    if (lanes)
        fprintf(out, "static%s void %s_at(POINT *at, RESULT out)\n{\n",
                w->parts->n_part > 1 ? "" : " inline INLINE", w->function->name);
    else
        put_head(w, false);
    fprintf(out, "    %s place[%u]; /* for what one part leaves for another */\n",
            types[w->printer->form], (unsigned)w->parts->n_place + 1);
    put_zeros(w);
    for (uint32_t part = 0; part < w->parts->n_part; part++)
        fprintf(out, lanes ? "    %s_%u(at, out, place);\n" : "    %s_%u(at, %sout, place);\n",
                w->function->name, (unsigned)part + 1, w->printer->form == C_RANGE ? "span, " : "");
    if (!lanes)
        return;
    fputs("}\n\n", out);
    put_head(w, false);
    fprintf(out, "    for (int k = 0; k < STIFFIT_LANES; k += WIDTH) {\n"
                 "        POINT here = lanes_from(at, k);\n        %s_at(&here, out + k);\n    }\n",
            w->function->name);
}

enum status c_function(const struct c_printer *printer, const struct c_function *function,
                       struct error *error)
{
    struct parts parts = {0};
    struct arena arena = {0};
    struct writer w = {.printer = printer, .function = function, .parts = &parts};
    bool complete = parts_init(&parts, printer->program, &arena);
    if (complete && (parts.n_part > 1 || printer->form == C_LANES)) {
        put_in_parts(&w);
    } else if (complete) {
        put_head(&w, false);
        put_part(&w, 0);
    }
    fputs(printer->form != C_SCALAR ? "}\n\n" : "    return STIFFIT_OK;\n}\n\n", printer->out);
    arena_fini(&arena);
    return complete ? STATUS_OK
                    : error_set(error, STATUS_NO_MEMORY,
                                "out of memory while generating the model's code");
}
