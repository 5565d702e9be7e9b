/* The statements of a listing: equations and derivatives, a line or a row of LaTeX each; and
 * which nodes have a name in them: intermediates and observables, and temporaries for what
 * several formulas share and for what is too large or too deep to be read. Without them the text
 * of n nodes could have 2^n letters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/generate.h"

#include "base/arena.h"
#include "model/generate/listing_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 25 }; /* of one align environment, which TeX keeps in memory as a whole */

struct listing *listing_new(const struct equations *equations, const struct functions *functions,
                            enum notation notation)
{
    struct listing *listing = calloc(1, sizeof *listing);
    if (!listing)
        return NULL;
    listing->equations = equations;
    listing->functions = functions;
    listing->is_latex = notation == NOTATION_LATEX;
    if (!listing_make_names(listing) || !listing_label_equations(listing) ||
        !listing_label_derivatives(listing)) {
        listing_free(listing);
        return NULL;
    }
    return listing;
}

void listing_free(struct listing *listing)
{
    if (!listing)
        return;
    for (size_t i = 0; i < listing->n_name; i++)
        free(listing->name[i]);
    free(listing->name);
    free(listing->label);
    free(listing->temporary);
    free(listing->stack);
    free(listing);
}

bool listing_failed(const struct listing *listing) { return listing->failed; }

size_t listing_n_temporary(const struct listing *listing) { return listing->n_temporary; }
node listing_temporary(const struct listing *listing, size_t i) { return listing->temporary[i]; }

void listing_begin_equations(struct listing *listing) { listing->is_equation = true; }
void listing_begin_derivatives(struct listing *listing) { listing->is_equation = false; }

static const char *name_of(const struct listing *listing, int kind, size_t i)
{
    return listing->name[listing->first[kind] + i];
}

const char *listing_parameter(const struct listing *listing, uint32_t i)
{
    return name_of(listing, NAME_PARAMETER, i);
}
const char *listing_input(const struct listing *listing, uint32_t i)
{
    return name_of(listing, NAME_INPUT, i);
}
const char *listing_covariate(const struct listing *listing, uint32_t i)
{
    return name_of(listing, NAME_COVARIATE, i);
}

void listing_label(const struct listing *listing, const char *text, FILE *out)
{
    if (!listing->is_latex) {
        fputs(text, out);
        return;
    }
    for (const char *c = text; *c; c++) {
        if (strchr("#$%&_{}", *c))
            fprintf(out, "\\%c", *c);
        else if (*c == '\\')
            fputs("\\textbackslash{}", out);
        else if (*c == '^' || *c == '~')
            fputs(*c == '^' ? "\\textasciicircum{}" : "\\textasciitilde{}", out);
        else
            fputc(*c, out);
    }
}

/* Rows of statements. */
struct rows {
    struct listing *listing;
    FILE *out;
    size_t n;
};

/* Begins a row with its left side. */
__attribute__((format(printf, 2, 3))) static void begin_row(struct rows *rows, const char *format,
                                                            ...)
{
    char left[4000]; /* names have at most 100 characters; in LaTeX up to some 700 */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(left, sizeof left, format, arguments);
    va_end(arguments);
    if (rows->listing->is_latex) {
        bool is_new = rows->n % ROWS == 0;
        if (is_new)
            fputs(rows->n ? "\n\\end{align*}\n\\begin{align*}\n" : "\\begin{align*}\n", rows->out);
        else
            fputs(" \\\\\n", rows->out);
        rows->listing->width = latex_width(left);
    }
    fprintf(rows->out, rows->listing->is_latex ? "  %s" : "%s", left);
    rows->n++;
}

static void end_row(struct rows *rows)
{
    if (!rows->listing->is_latex)
        fputc('\n', rows->out);
}

static void end_rows(struct rows *rows)
{
    if (rows->listing->is_latex && rows->n)
        fputs("\n\\end{align*}\n", rows->out);
}

static void put_right(struct rows *rows, node which, bool is_open)
{
    fputs(rows->listing->is_latex ? " &= " : " = ", rows->out);
    listing_print(rows->listing,
                  (struct item){.which = which, .is_open = is_open, .may_break = true}, rows->out);
}

static void put_unit(struct rows *rows, const char *unit)
{
    if (!unit || !*unit)
        return;
    fputs(rows->listing->is_latex ? " \\quad [\\text{" : " unit \"", rows->out);
    listing_label(rows->listing, unit, rows->out);
    fputs(rows->listing->is_latex ? "}]" : "\"", rows->out);
}

static void put_temporary(struct rows *rows, size_t i)
{
    begin_row(rows, "%s", "");
    listing_print_temporary(rows->listing, i, rows->out);
    put_right(rows, rows->listing->temporary[i], true);
    end_row(rows);
}

static bool is_observable(const struct equations *equations, const char *name)
{
    for (uint32_t i = 0; i < equations->n_observable; i++)
        if (!strcmp(equations->observable[i].name, name))
            return true;
    return false;
}

/* Whether the name stands for the node itself and is its label; a second name of a node is shown
 * as equal to the first. */
static bool is_own_label(const struct listing *listing, int kind, size_t i, node which)
{
    uint32_t label = listing->label[which];
    return label && label <= listing->n_name &&
           !strcmp(listing->name[label - 1], name_of(listing, kind, i));
}

void listing_intermediates(struct listing *listing, FILE *out)
{
    const struct equations *equations = listing->equations;
    struct rows rows = {listing, out, 0};
    size_t i_temporary = 0;
    listing_begin_equations(listing);
    for (uint32_t i = 0; i < equations->n_intermediate; i++) {
        const struct equation_intermediate *it = &equations->intermediate[i];
        while (i_temporary < listing->n_equation_temporary &&
               listing->temporary[i_temporary] < it->value)
            put_temporary(&rows, i_temporary++);
        if (is_observable(equations, it->name))
            continue;
        begin_row(&rows, "%s", name_of(listing, NAME_INTERMEDIATE, i));
        put_right(&rows, it->value, is_own_label(listing, NAME_INTERMEDIATE, i, it->value));
        end_row(&rows);
    }
    while (i_temporary < listing->n_equation_temporary)
        put_temporary(&rows, i_temporary++);
    end_rows(&rows);
}

static void put_states(struct listing *listing, bool is_rhs, FILE *out)
{
    struct rows rows = {listing, out, 0};
    listing_begin_equations(listing);
    for (uint32_t i = 0; i < listing->equations->n_state; i++) {
        const struct equation_state *it = &listing->equations->state[i];
        begin_row(&rows,
                  is_rhs              ? "%s'"
                  : listing->is_latex ? "%s(t_0)"
                                      : "%s(0)",
                  name_of(listing, NAME_STATE, i));
        put_right(&rows, is_rhs ? it->rhs : it->initial, false);
        put_unit(&rows, is_rhs ? NULL : it->unit);
        end_row(&rows);
    }
    end_rows(&rows);
}

void listing_initial(struct listing *listing, FILE *out) { put_states(listing, false, out); }
void listing_rhs(struct listing *listing, FILE *out) { put_states(listing, true, out); }

/* Whether the observable is a state, parameter or covariate of the same name. */
static bool is_leaf_of_its_name(const struct equations *equations,
                                const struct equation_observable *observable)
{
    const struct graph_node *it = graph_node(equations->graph, observable->value);
    return (it->op == GRAPH_STATE && !strcmp(equations->state[it->index].name, observable->name)) ||
           (it->op == GRAPH_PARAMETER &&
            !strcmp(equations->parameter[it->index].name, observable->name)) ||
           (it->op == GRAPH_INPUT && !strcmp(equations->input[it->index].name, observable->name)) ||
           (it->op == GRAPH_COVARIATE &&
            !strcmp(equations->covariate[it->index].name, observable->name));
}

void listing_observables(struct listing *listing, FILE *out)
{
    struct rows rows = {listing, out, 0};
    listing_begin_equations(listing);
    for (uint32_t i = 0; i < listing->equations->n_observable; i++) {
        const struct equation_observable *it = &listing->equations->observable[i];
        const char *name = name_of(listing, NAME_OBSERVABLE, i);
        begin_row(&rows, listing->is_latex ? "%s" : "observe %s", name);
        if (!is_leaf_of_its_name(listing->equations, it))
            put_right(&rows, it->value, is_own_label(listing, NAME_OBSERVABLE, i, it->value));
        if (it->error && !listing->is_latex)
            fprintf(out, " %s", strcmp(it->error, "log-normal") == 0 ? "lognormal" : it->error);
        if (it->noise != NODE_NONE && !listing->is_latex) {
            fputs(" sd ", out);
            listing_expression(listing, it->noise, out);
        }
        put_unit(&rows, it->unit);
        end_row(&rows);
        if (it->noise != NODE_NONE && listing->is_latex) {
            bool is_log = it->error && strcmp(it->error, "log-normal") == 0;
            begin_row(&rows, is_log ? "\\operatorname{sd}(\\log %s)" : "\\operatorname{sd}(%s)",
                      name);
            put_right(&rows, it->noise, false);
        }
    }
    end_rows(&rows);
}

static void put_part(struct listing *listing, const char *word, node which, FILE *out)
{
    fputs(word, out);
    listing_expression(listing, which, out);
}

static void put_event(struct listing *listing, const struct equation_event *it, const char *name,
                      FILE *out)
{
    static const struct { unsigned kind; const char *text, *latex; } options[] = {
        {STIFFIT_EVENT_INITIALLY_FALSE, " initially false", "\\text{, initially false}"},
        {STIFFIT_EVENT_CAN_LAPSE, " can lapse", "\\text{, can lapse}"},
        {STIFFIT_EVENT_EARLY_VALUES, " early values", "\\text{, early values}"},
        {STIFFIT_EVENT_FIRST, " before others", "\\text{, before others}"},
        {STIFFIT_EVENT_AFTER, " after measurements", "\\text{, after measurements}"}};
    struct rows rows = {listing, out, 0};
    bool latex = listing->is_latex, timed = it->kind & STIFFIT_EVENT_TIMED;
    begin_row(&rows, latex ? "\\text{event } &%s " : "event %s", name);
    put_part(listing,
             latex   ? timed ? "\\text{ at } " : "\\text{ when } "
             : timed ? " at "
                     : " when ",
             it->condition, out);
    if (it->delay != NODE_NONE)
        put_part(listing, latex ? "\\text{, delay } " : " delay ", it->delay, out);
    if (it->priority != NODE_NONE)
        put_part(listing, latex ? "\\text{, priority } " : " priority ", it->priority, out);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (it->kind & options[i].kind)
            fputs(latex ? options[i].latex : options[i].text, out);
    for (uint32_t k = 0; k < it->n_assignment; k++) {
        fprintf(out, "%s%s",
                k       ? ", "
                : latex ? "\\text{: } "
                        : ": ",
                name_of(listing, NAME_STATE, it->assignment[k].state));
        put_part(listing, latex ? " \\leftarrow " : " = ", it->assignment[k].value, out);
    }
    end_row(&rows);
    end_rows(&rows);
}

void listing_events(struct listing *listing, FILE *out)
{
    const struct equations *equations = listing->equations;
    struct rows rows = {listing, out, 0};
    listing_begin_equations(listing);
    for (uint32_t i = 0; i < equations->n_dosing; i++) {
        const struct equation_dosing *it = &equations->dosing[i];
        const char *name = name_of(listing, NAME_STATE, it->state);
        begin_row(&rows, listing->is_latex ? "\\operatorname{%s}(%s)" : "%s(%s)",
                  dosing_words[it->kind].word, name);
        put_right(&rows, it->value, false);
        end_row(&rows);
    }
    end_rows(&rows);
    for (uint32_t i = 0; i < equations->n_event; i++)
        put_event(listing, &equations->event[i], name_of(listing, NAME_EVENT, i), out);
}

void listing_temporaries(struct listing *listing, FILE *out)
{
    struct rows rows = {listing, out, 0};
    listing_begin_derivatives(listing);
    for (size_t i = listing->n_equation_temporary; i < listing->n_temporary; i++)
        put_temporary(&rows, i);
    end_rows(&rows);
}

/* What a function's rows are called: y', y(0), y, sd(y). */
static void row_name(const struct listing *listing, enum function_axis axis, uint32_t row,
                     char *text, size_t size)
{
    const struct equations *equations = listing->equations;
    if (axis == OF_SWITCH) {
        snprintf(text, size, listing->is_latex ? "\\text{switch %u}" : "switch %u", (unsigned)row);
        return;
    }
    if (axis == OF_EVENT || axis == OF_STATE) {
        snprintf(text, size, "%s",
                 name_of(listing, axis == OF_EVENT ? NAME_EVENT : NAME_STATE, row));
        return;
    }
    if (axis == OF_ASSIGNED) {
        snprintf(text, size, listing->is_latex ? "%s \\text{ after } %s" : "%s after %s",
                 name_of(listing, NAME_STATE, row % equations->n_state),
                 name_of(listing, NAME_EVENT, row / equations->n_state));
        return;
    }
    static const char *const plain[] =
        {[OF_RATE] = "'", [OF_INITIAL] = "(0)", [OF_OBSERVABLE] = "", [OF_NOISE] = ")"};
    const char *begin = axis != OF_NOISE ? "" : listing->is_latex ? "\\operatorname{sd}(" : "sd(";
    snprintf(text, size, "%s%s%s", begin,
             name_of(listing, axis <= OF_INITIAL ? NAME_STATE : NAME_OBSERVABLE, row),
             axis == OF_INITIAL && listing->is_latex ? "(t_0)" : plain[axis]);
}

void listing_derivative(struct listing *listing, enum model_function function, FILE *out)
{
    if (!listing->functions || function < FUNCTION_jacobian)
        return;
    const struct model_function_info *info = &model_functions[function];
    const struct graph_matrix *matrix = &listing->functions->of[function];
    struct rows rows = {listing, out, 0};
    char row[1600];
    listing_begin_derivatives(listing);
    for (size_t j = 0; j < matrix->n_column && matrix->n_entry > 0; j++)
        for (uint32_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; k++) {
            node value = listing->functions->of[info->value].entry[matrix->row[k]];
            if (info->row == OF_ASSIGNED &&
                graph_node(listing->equations->graph, value)->op == GRAPH_STATE)
                continue; /* mostly states that the event leaves alone */
            row_name(listing, info->row, matrix->row[k], row, sizeof row);
            bool is_time = info->column == OF_STATE_TIME && j == listing->equations->n_state;
            begin_row(&rows, listing->is_latex ? "\\frac{\\partial %s}{\\partial %s}" : "d %s/d %s",
                      row,
                      is_time
                          ? "t"
                          : name_of(listing,
                                    info->column == OF_PARAMETER ? NAME_PARAMETER : NAME_STATE, j));
            put_right(&rows, matrix->entry[k], false);
            end_row(&rows);
        }
    end_rows(&rows);
}

/* Operations that a formula may have before a part of it that is used twice gets a name:
 * equations should look as they were written, derivatives have much in common. LARGE and DEEP
 * hold whatever the use (man 5: parentheses nest 1000 deep). */
enum {
    SHARED_IN_EQUATIONS = 20,
    SHARED_IN_DERIVATIVES = 5,
    LARGE = 1000,
    LARGE_LATEX = 60,
    DEEP = 100
};

/* Per node, while one part of the listing is looked at. */
struct use {
    uint32_t size;     /* operations that are printed */
    uint16_t depth;    /* of parentheses, at the most */
    uint8_t count;     /* 0, 1, 2 = several */
    bool is_root;
};

static void count_use(struct use *use, node which)
{
    if (use[which].count < 2)
        use[which].count++;
}

static bool add_temporary(struct listing *listing, node which)
{
    if (!array_grow(&listing->temporary, listing->n_temporary, &listing->room_temporary,
                    sizeof *listing->temporary))
        return false;
    listing->temporary[listing->n_temporary++] = which;
    listing->label[which] = (uint32_t)(listing->n_name + listing->n_temporary);
    return true;
}

/* What stands first in a sum or product, and what ends a row of choices, needs no parentheses. */
static bool is_flat(const struct listing *listing, node which, int i)
{
    enum graph_op op = graph_node(listing->equations->graph, which)->op;
    if (listing_is_swapped(listing, which))
        return i == 1;
    bool is_left = op == GRAPH_ADD || op == GRAPH_SUBTRACT || op == GRAPH_MULTIPLY ||
                   op == GRAPH_DIVIDE || op == GRAPH_AND || op == GRAPH_OR;
    return (is_left && i == 0) || (op == GRAPH_SELECT && i == 2);
}

static void measure(const struct listing *listing, struct use *use, node which)
{
    const struct graph *graph = listing->equations->graph;
    const struct graph_node *it = graph_node(graph, which);
    uint64_t size = 1;
    unsigned depth = 0;
    for (int i = 0; i < graph_n_argument(it->op); i++) {
        node arg = it->arg[i];
        if (listing->label[arg] || graph_n_argument(graph_node(graph, arg)->op) == 0)
            continue;
        size += use[arg].size;
        unsigned inner = use[arg].depth + !is_flat(listing, which, i);
        depth = inner > depth ? inner : depth;
    }
    use[which].size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
    use[which].depth = (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
}

/* Names what needs one below the roots, which are counted already. Nodes with a name are not
 * looked into unless `through_names`. */
static bool label_below(struct listing *listing, struct use *use, bool through_names,
                        uint32_t shared)
{
    const struct graph *graph = listing->equations->graph;
    size_t n = graph_n_node(graph);
    for (size_t i = n; i-- > 0;) {
        const struct graph_node *it = graph_node(graph, (node)i);
        if (use[i].count == 0 || (listing->label[i] && !through_names))
            continue;
        for (int k = 0; k < graph_n_argument(it->op); k++)
            count_use(use, it->arg[k]);
    }
    uint32_t large = listing->is_latex ? LARGE_LATEX : LARGE;
    for (size_t i = 0; i < n; i++) {
        if (use[i].count == 0 || graph_n_argument(graph_node(graph, (node)i)->op) == 0)
            continue;
        measure(listing, use, (node)i);
        bool is_lone_root = use[i].is_root && use[i].count == 1;
        bool wanted = (use[i].count > 1 && use[i].size >= shared) || use[i].size > large ||
                      use[i].depth > DEEP;
        if (wanted && !is_lone_root && !listing->label[i] && !add_temporary(listing, (node)i))
            return false;
    }
    return true;
}

static void add_root(struct use *use, node root)
{
    count_use(use, root);
    use[root].is_root = true;
}

/* The first name of a node stands for it wherever it is used; leaves have their own. */
static void label_named(struct listing *listing, node which, size_t i_name)
{
    const struct graph *graph = listing->equations->graph;
    if (graph_n_argument(graph_node(graph, which)->op) > 0 && !listing->label[which])
        listing->label[which] = (uint32_t)(i_name + 1);
}

bool listing_label_equations(struct listing *listing)
{
    const struct equations *equations = listing->equations;
    size_t n = graph_n_node(equations->graph);
    listing->label = calloc(n, sizeof *listing->label);
    struct use *use = calloc(n, sizeof *use);
    if (!listing->label || !use) {
        free(use);
        return false;
    }
    for (uint32_t i = 0; i < equations->n_intermediate; i++) {
        label_named(listing, equations->intermediate[i].value,
                    listing->first[NAME_INTERMEDIATE] + i);
        add_root(use, equations->intermediate[i].value);
    }
    for (uint32_t i = 0; i < equations->n_observable; i++) {
        label_named(listing, equations->observable[i].value, listing->first[NAME_OBSERVABLE] + i);
        add_root(use, equations->observable[i].value);
        if (equations->observable[i].noise != NODE_NONE)
            add_root(use, equations->observable[i].noise);
    }
    for (uint32_t i = 0; i < equations->n_state; i++) {
        add_root(use, equations->state[i].initial);
        add_root(use, equations->state[i].rhs);
    }
    for (uint32_t i = 0; i < equations->n_dosing; i++)
        add_root(use, equations->dosing[i].value);
    for (uint32_t i = 0; i < equations->n_event; i++) {
        const struct equation_event *event = &equations->event[i];
        const node parts[] = {event->condition, event->delay, event->priority};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            if (parts[k] != NODE_NONE)
                add_root(use, parts[k]);
        for (uint32_t k = 0; k < event->n_assignment; k++)
            add_root(use, event->assignment[k].value);
    }
    bool done = label_below(listing, use, true, SHARED_IN_EQUATIONS);
    listing->n_equation_temporary = listing->n_temporary;
    free(use);
    return done;
}

bool listing_label_derivatives(struct listing *listing)
{
    if (!listing->functions)
        return true;
    struct use *use = calloc(graph_n_node(listing->equations->graph), sizeof *use);
    if (!use)
        return false;
    for (int f = FUNCTION_jacobian; f < N_MODEL_FUNCTION; f++) {
        const struct graph_matrix *matrix = &listing->functions->of[f];
        for (size_t k = 0; k < matrix->n_entry; k++)
            add_root(use, matrix->entry[k]);
    }
    bool done = label_below(listing, use, false, SHARED_IN_DERIVATIVES);
    free(use);
    return done;
}
