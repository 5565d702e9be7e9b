/* Writes the user's text, values and operations in C: the only place where the user's bytes
 * enter C code; rules of precedence.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/c_expression.h"

#include "model/generate/mathematics.h"

#include "base/words.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_COLUMNS = 100 }; /* of tables */

static char comment_character(unsigned char c, char last)
{
    if (c == '\t')
        return ' ';
    if (c < ' ' || c > '~' || c == '\\')
        return '~';
    return (c == '/' && last == '*') || (c == '*' && last == '/') || (c == '?' && last == '?')
               ? '~'
               : (char)c;
}

void c_comment(FILE *out, const char *text, size_t length)
{
    char last = 0;
    size_t n_put = 0;
    for (size_t i = 0; i < length && n_put < COMMENT_MAX; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x80 && c < 0xc0) /* continuation of a multibyte character */
            continue;
        last = comment_character(c, last);
        putc(last, out);
        n_put++;
    }
    if (n_put == COMMENT_MAX)
        fputs(" ...", out);
}

bool c_lines_init(struct c_lines *lines, const char *text)
{
    size_t n_end = 0;
    for (const char *c = text; c && (c = strchr(c, '\n')); c++)
        n_end++;
    lines->start = calloc(n_end + 2, sizeof *lines->start);
    if (!lines->start || !text)
        return lines->start;
    lines->start[lines->n++] = text;
    for (const char *c = text; (c = strchr(c, '\n')); c++)
        lines->start[lines->n++] = c + 1;
    lines->start[lines->n] = text + strlen(text);
    return true;
}

void c_lines_fini(struct c_lines *lines)
{
    free(lines->start);
    *lines = (struct c_lines){0};
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

const char *c_lines_get(const struct c_lines *lines, uint32_t number, size_t *length)
{
    *length = 0;
    if (number < 1 || number > lines->n)
        return "";
    const char *first = lines->start[number - 1], *end = lines->start[number];
    while (end > first && is_blank(end[-1]))
        end--;
    while (first < end && is_blank(*first))
        first++;
    *length = (size_t)(end - first);
    return first;
}

/* Excludes the question mark: trigraphs. */
static int is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr(" _.,:;+-*/^()[]=<>", c));
}

void c_string(FILE *out, const char *text)
{
    if (!text) {
        putc('0', out);
        return;
    }
    putc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (is_plain(*c))
            putc(*c, out);
        else
            fprintf(out, "\\%03o", *c);
    }
    putc('"', out);
}

void c_number(FILE *out, double number)
{
    char text[NUMBER_SIZE];
    if (isnan(number)) {
        fputs("NAN", out);
    } else if (isinf(number)) {
        fputs(number > 0 ? "INFINITY" : "(-INFINITY)", out);
    } else {
        number_text(text, number);
        const char *point = strpbrk(text, ".e") ? "" : ".0";
        fprintf(out, signbit(number) ? "(%s%s)" : "%s%s", text, point);
    }
}

void c_integers(FILE *out, const char *name, const uint32_t *number, size_t n)
{
    fprintf(out, "static const int32_t %s[] = {", name);
    int column = 0;
    for (size_t i = 0; i < n; i++) {
        column += fprintf(out, "%s%u,", column == 0 ? "\n    " : " ", (unsigned)number[i]);
        if (column > LINE_COLUMNS)
            column = 0;
    }
    fputs(n ? "\n};\n\n" : "0};\n\n", out);
}

static void put_numbers(FILE *out, const double *number, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fputs(i % 8 == 0 ? "\n    " : " ", out);
        c_number(out, number[i]);
        putc(',', out);
    }
}

void c_tables(const struct graph *graph, const char *storage, FILE *out)
{
    for (size_t i = 0; i < graph_n_table(graph); i++) {
        struct graph_table table = graph_table_of(graph, i);
        fprintf(out, "%sTABLE table_%zu[] = {\n    %zu,", storage, i, table.n);
        put_numbers(out, table.x, table.n);
        put_numbers(out, table.y, table.n);
        put_numbers(out, table.slope, table.n);
        fputs("\n};\n", out);
    }
}

/* The levels of C's precedence in use. */
enum { LEVEL_CHOICE, LEVEL_COMPARISON, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_UNARY, LEVEL_PRIMARY };

_Static_assert(N_GRAPH_OP <= 64, "bits of operations");

uint64_t c_helpers_needed(const struct program *program, enum c_form form)
{
    uint64_t needed = 0;
    for (uint32_t i = 0; i < program->n_step; i++) {
        const struct step *step = &program->step[i];
        bool is_call = step_n_argument(step) > 0 && graph_operations[step->op].c_kind == C_CALL;
        if (is_call && (form == C_LANES || graph_operations[step->op].c_helper[form]))
            needed |= UINT64_C(1) << step->op;
    }
    return needed;
}

#define BIT(op) (UINT64_C(1) << GRAPH_##op)
#define GAMMAS (BIT(LGAMMA) | BIT(POLYGAMMA))
/* What the definitions of some operations are written in: which operations of numbers, and of
 * lanes. */
static const struct { uint64_t operations[N_C_FORM]; const char *text; } foundations[] = {
    {{GAMMAS, 0}, mathematics_numbers},
    {{0, BIT(EXP) | BIT(POWER)}, mathematics_exponential},
    {{GAMMAS, BIT(LOG) | BIT(LOG10) | BIT(LOG2) | BIT(POWER) | GAMMAS}, mathematics_logarithm},
    {{0, BIT(POWER)}, mathematics_power},
    {{GAMMAS, BIT(SIN) | BIT(COS) | GAMMAS}, mathematics_angle},
    {{GAMMAS, GAMMAS}, mathematics_gamma},
    {{GAMMAS, 0}, mathematics_numbers_end}};

void c_helpers(uint64_t helpers, enum c_form form, FILE *out)
{
    for (size_t i = 0; i < sizeof foundations / sizeof *foundations; i++)
        if (helpers & foundations[i].operations[form])
            fputs(foundations[i].text, out);
    for (int op = 0; op < N_GRAPH_OP; op++) {
        const struct graph_operation *s = &graph_operations[op];
        if (helpers >> op & 1 && s->c_helper[form])
            fputs(s->c_helper[form], out);
        else if (helpers >> op & 1)
            fprintf(out, "%s_%d(%s)\n", s->cost == COST_CALL ? "CALL" : "EACH", s->n_argument,
                    s->c);
    }
    if (helpers)
        putc('\n', out);
}

/* Prefix and the user's name of a step; NULL: it has none. */
static const char *full_name(const struct values *values, const struct step *step,
                             const char **prefix)
{
    const struct equations *equations = values->equations;
    switch (step->op) {
    case GRAPH_TIME: *prefix = ""; return "t";
    case GRAPH_STATE: *prefix = "y_"; return equations->state[step->index].name;
    case GRAPH_PARAMETER: *prefix = "p_"; return equations->parameter[step->index].name;
    case GRAPH_COVARIATE: *prefix = "c_"; return equations->covariate[step->index].name;
    case GRAPH_INPUT: *prefix = "u_"; return equations->input[step->index].name;
    case GRAPH_TABLE: *prefix = "table_"; return NULL;
    case GRAPH_INPUT_SLOPE: *prefix = "s_"; return equations->input[step->index].name;
    case GRAPH_DIRECTION:
        *prefix = step->index < equations->n_state ? "d_" : "";
        return step->index < equations->n_state ? equations->state[step->index].name : "dt";
    case PROGRAM_WORK: *prefix = "w_"; break;
    default: *prefix = step->label == VALUE_NONE ? "x" : "v_";
    }
    return step->label == VALUE_NONE ? NULL : equations->intermediate[step->label].name;
}

/* full_name, but long names, which would make the C many times longer than the text, are replaced
 * by numbers. */
static const char *user_name(const struct values *values, const struct step *step,
                             const char **prefix)
{
    enum { LONGEST = 100 };
    const char *name = full_name(values, step, prefix);
    return name && strnlen(name, LONGEST + 1) <= LONGEST ? name : NULL;
}

uint32_t c_width(const struct values *values, const struct step *step)
{
    const char *prefix, *name;
    if (step->op == GRAPH_CONSTANT)
        return 6;
    name = user_name(values, step, &prefix);
    return (uint32_t)(strlen(prefix) + (name ? strlen(name) : 3));
}

/* Unique together with the prefix. */
static uint32_t number_of(const struct step *step)
{
    if (step_n_argument(step) == 0)
        return step->index;
    return step->label == VALUE_NONE ? step->number : step->label;
}

void c_name(const struct c_printer *printer, uint32_t which)
{
    const struct step *step = &printer->program->step[which];
    const char *prefix, *name;
    if (step->op == GRAPH_CONSTANT) {
        fputs(printer->form == C_LANES   ? "all("
              : printer->form == C_RANGE ? "point("
                                         : "",
              printer->out);
        c_number(printer->out, step->constant);
        fputs(printer->form != C_SCALAR ? ")" : "", printer->out);
        return;
    }
    name = user_name(printer->values, step, &prefix);
    if (name)
        fprintf(printer->out, "%s%s", prefix, name);
    else
        fprintf(printer->out, "%s%u", prefix, (unsigned)number_of(step));
}

void c_source(const struct c_printer *printer, const struct step *step)
{
    static const char *const arrays[] = {[GRAPH_TIME] = "at->t",
                                         [GRAPH_STATE] = "at->y",
                                         [GRAPH_PARAMETER] = "at->p",
                                         [GRAPH_COVARIATE] = "at->covariate",
                                         [GRAPH_DIRECTION] = "at->direction",
                                         [GRAPH_INPUT] = "at->input",
                                         [GRAPH_INPUT_SLOPE] = "at->input_slope",
                                         [PROGRAM_WORK] = "at->work"};
    assert(step->op != GRAPH_CONSTANT);
    if (printer->form == C_LANES)
        fprintf(printer->out, "get(%s, %u, k)", arrays[step->op], (unsigned)step->index);
    else if (step->op == GRAPH_TIME)
        fputs(printer->form == C_RANGE ? "span" : "at->t", printer->out);
    else if (printer->form == C_RANGE)
        fprintf(printer->out, "point(%s[%u])", arrays[step->op], (unsigned)step->index);
    else
        fprintf(printer->out, "%s[%u]", arrays[step->op], (unsigned)step->index);
}

static void put_operation(const struct c_printer *printer, const struct step *step, int level);

static bool is_by_name(const struct step *step)
{
    return step->is_named || step_n_argument(step) == 0;
}

/* An argument that must bind at least as tightly as `level`. The recursion is as deep as an
 * expression is wide (PROGRAM_WIDTH). */
static void put_argument(const struct c_printer *printer, uint32_t which, int level)
{
    const struct step *step = &printer->program->step[which];
    if (is_by_name(step))
        c_name(printer, which);
    else
        put_operation(printer, step, level);
}

static bool is_truth(const struct step *step)
{
    return step_n_argument(step) > 0 && graph_operations[step->op].c_kind >= C_COMPARISON;
}

static void put_truth(const struct c_printer *printer, const struct step *step);

/* An argument as a condition, in brackets. */
static void put_condition(const struct c_printer *printer, uint32_t which)
{
    const struct step *step = &printer->program->step[which];
    putc('(', printer->out);
    if (is_truth(step) && !step->is_named) {
        put_truth(printer, step);
    } else {
        put_argument(printer, which, LEVEL_SUM);
        fputs(" != 0.0", printer->out);
    }
    putc(')', printer->out);
}

static void put_truth(const struct c_printer *printer, const struct step *step)
{
    const char *text = graph_operations[step->op].c;
    if (graph_operations[step->op].c_kind == C_COMPARISON) {
        put_argument(printer, step->arg[0], LEVEL_SUM);
        fputs(text, printer->out);
        put_argument(printer, step->arg[1], LEVEL_SUM);
        return;
    }
    if (step->op != GRAPH_NOT)
        put_condition(printer, step->arg[0]);
    fputs(step->op == GRAPH_NOT && printer->form == C_LANES ? "opposite" : text, printer->out);
    put_condition(printer, step->arg[step->op != GRAPH_NOT]);
}

static void put_call(const struct c_printer *printer, const struct step *step)
{
    fprintf(printer->out, "%s%s(", printer->form == C_LANES ? "lanes_" : "",
            graph_operations[step->op].c);
    for (int k = 0; k < step_n_argument(step); k++) {
        if (k > 0)
            fputs(", ", printer->out);
        put_argument(printer, step->arg[k], LEVEL_CHOICE);
    }
    putc(')', printer->out);
}

/* Every operation is a call; of equal arguments the product is a square, which is never
 * negative. */
static void put_range(const struct c_printer *printer, const struct step *step)
{
    bool is_square = step->op == GRAPH_MULTIPLY && step->arg[0] == step->arg[1];
    fputs(is_square ? "range_square" : "range_", printer->out);
    for (const char *c = graph_operations[step->op].name; *c && !is_square; c++)
        putc(*c == '_' ? '_' : tolower((unsigned char)*c), printer->out);
    for (int k = 0; k < (is_square ? 1 : step_n_argument(step)); k++) {
        fputs(k > 0 ? ", " : "(", printer->out);
        put_argument(printer, step->arg[k], LEVEL_CHOICE);
    }
    putc(')', printer->out);
}

static const int level_of[] = {
    [C_CALL] = LEVEL_PRIMARY,       [C_SUM] = LEVEL_SUM,
    [C_PRODUCT] = LEVEL_PRODUCT,    [C_NEGATIVE] = LEVEL_UNARY,
    [C_RECIPROCAL] = LEVEL_PRODUCT, [C_CHOICE] = LEVEL_CHOICE,
    [C_COMPARISON] = LEVEL_UNARY,   [C_LOGIC] = LEVEL_UNARY,
};

/* As a number. Keeps the graph's order of operations: brackets wherever C would group otherwise. */
static void put_operation(const struct c_printer *printer, const struct step *step, int level)
{
    const struct graph_operation *s = &graph_operations[step->op];
    bool lanes = printer->form == C_LANES;
    if (printer->form == C_RANGE) {
        put_range(printer, step);
        return;
    }
    int own = lanes && s->c_kind >= C_CHOICE ? LEVEL_PRIMARY : level_of[s->c_kind];
    if (own < level)
        putc('(', printer->out);
    switch (s->c_kind) {
    case C_CALL: put_call(printer, step); break;
    case C_SUM: case C_PRODUCT:
        put_argument(printer, step->arg[0], own);
        fputs(s->c, printer->out);
        put_argument(printer, step->arg[1], own + 1);
        break;
    case C_NEGATIVE: case C_RECIPROCAL:
        fputs(s->c, printer->out);
        put_argument(printer, step->arg[0], s->c_kind == C_NEGATIVE ? LEVEL_PRIMARY : LEVEL_UNARY);
        break;
    case C_CHOICE:
        fputs(lanes ? "choose(" : "", printer->out);
        put_condition(printer, step->arg[0]);
        fputs(lanes ? ", " : " ? ", printer->out);
        put_argument(printer, step->arg[1], LEVEL_SUM);
        fputs(lanes ? ", " : " : ", printer->out);
        put_argument(printer, step->arg[2], LEVEL_SUM);
        fputs(lanes ? ")" : "", printer->out);
        break;
    case C_COMPARISON: case C_LOGIC:
        fputs(lanes ? "truth(" : "(double)(", printer->out);
        put_truth(printer, step);
        putc(')', printer->out);
        break;
    }
    if (own < level)
        putc(')', printer->out);
}

void c_definition(const struct c_printer *printer, uint32_t which)
{
    put_operation(printer, &printer->program->step[which], LEVEL_CHOICE);
}

void c_use(const struct c_printer *printer, uint32_t which)
{
    put_argument(printer, which, LEVEL_CHOICE);
}
