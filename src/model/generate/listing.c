/* The statements of a listing: equations and derivatives, one line or row of LaTeX each.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/listing.h"

#include "model/generate/listing_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 25 }; /* of one align environment, which TeX keeps in memory as a whole */

struct listing *listing_new(const struct equations *equations, const struct functions *functions, enum notation notation)
{
    struct listing *listing = calloc(1, sizeof *listing);
    if (!listing)
        return NULL;
    listing->equations = equations;
    listing->functions = functions;
    listing->is_latex = notation == NOTATION_LATEX;
    if (!listing_make_names(listing) || !listing_label_equations(listing) || !listing_label_derivatives(listing)) {
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

const char *listing_parameter(const struct listing *listing, uint32_t i) { return name_of(listing, NAME_PARAMETER, i); }
const char *listing_covariate(const struct listing *listing, uint32_t i) { return name_of(listing, NAME_COVARIATE, i); }

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
__attribute__((format(printf, 2, 3))) static void begin_row(struct rows *rows, const char *format, ...)
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
    listing_print(rows->listing, (struct item){.which = which, .is_open = is_open, .may_break = true}, rows->out);
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

/* Whether the name stands for the node itself and is its label; a second name of a node is shown as equal to the first. */
static bool is_own_label(const struct listing *listing, int kind, size_t i, node which)
{
    uint32_t label = listing->label[which];
    return label && label <= listing->n_name && !strcmp(listing->name[label - 1], name_of(listing, kind, i));
}

void listing_intermediates(struct listing *listing, FILE *out)
{
    const struct equations *equations = listing->equations;
    struct rows rows = {listing, out, 0};
    size_t i_temporary = 0;
    listing_begin_equations(listing);
    for (uint32_t i = 0; i < equations->n_intermediate; i++) {
        const struct equation_intermediate *it = &equations->intermediate[i];
        while (i_temporary < listing->n_equation_temporary && listing->temporary[i_temporary] < it->value)
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

void listing_initial(struct listing *listing, FILE *out)
{
    struct rows rows = {listing, out, 0};
    listing_begin_equations(listing);
    for (uint32_t i = 0; i < listing->equations->n_state; i++) {
        begin_row(&rows, listing->is_latex ? "%s(t_0)" : "%s(0)", name_of(listing, NAME_STATE, i));
        put_right(&rows, listing->equations->state[i].initial, false);
        put_unit(&rows, listing->equations->state[i].unit);
        end_row(&rows);
    }
    end_rows(&rows);
}

void listing_rhs(struct listing *listing, FILE *out)
{
    struct rows rows = {listing, out, 0};
    listing_begin_equations(listing);
    for (uint32_t i = 0; i < listing->equations->n_state; i++) {
        begin_row(&rows, "%s'", name_of(listing, NAME_STATE, i));
        put_right(&rows, listing->equations->state[i].rhs, false);
        end_row(&rows);
    }
    end_rows(&rows);
}

/* Whether the observable is a state, parameter or covariate of the same name. */
static bool is_leaf_of_its_name(const struct equations *equations, const struct equation_observable *observable)
{
    const struct graph_node *it = graph_node(equations->graph, observable->value);
    return (it->op == GRAPH_STATE && !strcmp(equations->state[it->index].name, observable->name)) ||
           (it->op == GRAPH_PARAMETER && !strcmp(equations->parameter[it->index].name, observable->name)) ||
           (it->op == GRAPH_COVARIATE && !strcmp(equations->covariate[it->index].name, observable->name));
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
            begin_row(&rows, is_log ? "\\operatorname{sd}(\\log %s)" : "\\operatorname{sd}(%s)", name);
            put_right(&rows, it->noise, false);
        }
    }
    end_rows(&rows);
}

void listing_temporaries(struct listing *listing, FILE *out)
{
    struct rows rows = {listing, out, 0};
    listing_begin_derivatives(listing);
    for (size_t i = listing->n_equation_temporary; i < listing->n_temporary; i++)
        put_temporary(&rows, i);
    end_rows(&rows);
}

/* The name of a function's row: y', y(0), y, sd(y). */
static void row_name(const struct listing *listing, enum model_function function, uint32_t row, char *text, size_t size)
{
    bool latex = listing->is_latex, by_state = function == FUNCTION_jacobian || function == FUNCTION_rhs_parameter;
    if (by_state)
        snprintf(text, size, "%s'", name_of(listing, NAME_STATE, row));
    else if (function == FUNCTION_initial_parameter)
        snprintf(text, size, latex ? "%s(t_0)" : "%s(0)", name_of(listing, NAME_STATE, row));
    else if (function == FUNCTION_observe_state || function == FUNCTION_observe_parameter)
        snprintf(text, size, "%s", name_of(listing, NAME_OBSERVABLE, row));
    else
        snprintf(text, size, latex ? "\\operatorname{sd}(%s)" : "sd(%s)", name_of(listing, NAME_OBSERVABLE, row));
}

void listing_derivative(struct listing *listing, enum model_function function, FILE *out)
{
    if (!listing->functions || function < FUNCTION_jacobian)
        return;
    bool by_state = function == FUNCTION_jacobian || function == FUNCTION_observe_state || function == FUNCTION_noise_state;
    const struct graph_matrix *matrix = &listing->functions->of[function];
    struct rows rows = {listing, out, 0};
    char row[1600];
    listing_begin_derivatives(listing);
    for (size_t j = 0; j < matrix->n_column && matrix->n_entry > 0; j++)
        for (uint32_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; k++) {
            row_name(listing, function, matrix->row[k], row, sizeof row);
            begin_row(&rows, listing->is_latex ? "\\frac{\\partial %s}{\\partial %s}" : "d %s/d %s", row,
                      name_of(listing, by_state ? NAME_STATE : NAME_PARAMETER, j));
            put_right(&rows, matrix->entry[k], false);
            end_row(&rows);
        }
    end_rows(&rows);
}
