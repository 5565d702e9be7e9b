/* Prints a model as text, or as LaTeX.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "cli/command.h"
#include "cli/model_text.h"

#include <stdlib.h>
#include <string.h>

size_t model_n_derivative(const struct functions *functions)
{
    size_t n = 0;
    for (int f = FUNCTION_jacobian; f < N_MODEL_FUNCTION; f++)
        n += functions->of[f].n_entry;
    return n;
}

const char *model_use_words(unsigned use, char words[64])
{
    static const char *const word[] = {"rhs", "initial", "observe", "noise", "events"};
    words[0] = '\0';
    for (int bit = 0; bit < 5; bit++)
        if (use >> bit & 1) {
            strcat(words, words[0] ? ", " : "");
            strcat(words, word[bit]);
        }
    return words[0] ? words : "nothing";
}

static void print_head(const struct shown_model *model, FILE *out)
{
    const struct equations *equations = model->text.equations;
    fprintf(out, "%s%s%s\n", equations->name, equations->description ? ": " : "",
            equations->description ? equations->description : "");
    fprintf(out, "%u state%s, %u parameter%s, %u covariate%s, %u observable%s", equations->n_state,
            plural(equations->n_state), equations->n_parameter, plural(equations->n_parameter),
            equations->n_covariate, plural(equations->n_covariate), equations->n_observable,
            plural(equations->n_observable));
    char t0[NUMBER_SIZE];
    fprintf(out, "; time from %s%s%s; %s\n", number_text(t0, equations->t0),
            equations->time_unit ? " " : "", equations->time_unit ? equations->time_unit : "",
            model->functions.lanes.are_there ? "lanes" : "no lanes");
}

/* The prior as in the model text. */
static void print_priors(const struct equations *equations, int width, FILE *out)
{
    bool headed = false;
    for (uint32_t i = 0; i < equations->n_parameter; i++) {
        const struct equation_prior *prior = &equations->parameter[i].prior;
        char first[NUMBER_SIZE], second[NUMBER_SIZE];
        if (!prior->kind)
            continue;
        fprintf(out, "%s%-*s  %s(%s, %s)%s\n", headed ? "" : "\npriors\n", width,
                equations->parameter[i].name,
                strcmp(prior->kind, "log-normal") == 0 ? "lognormal" : prior->kind,
                number_text(first, prior->first), number_text(second, prior->second),
                prior->on_optimizer ? " on optimizer" : "");
        headed = true;
    }
}

static void print_parameters(const struct shown_model *model, FILE *out)
{
    const struct equations *equations = model->text.equations;
    int width = 9;
    for (uint32_t i = 0; i < equations->n_parameter; i++) {
        int length = (int)strlen(equations->parameter[i].name);
        width = length > width ? length : width;
    }
    fprintf(out, "\n%-*s  %12s %12s %12s  %-5s  %-12s  %s\n", width, "parameter", "start", "lower",
            "upper", "scale", "unit", "enters");
    for (uint32_t i = 0; i < equations->n_parameter; i++) {
        const struct equation_parameter *it = &equations->parameter[i];
        char start[80], lower[80], upper[80], words[64];
        listing_number(model->listing, it->start, start);
        listing_number(model->listing, it->lower, lower);
        listing_number(model->listing, it->upper, upper);
        fprintf(out, "%-*s  %12s %12s %12s  %-5s  %-12s  %s\n", width, it->name, start, lower,
                upper, it->scale, it->unit ? it->unit : "",
                model_use_words(model->functions.parameter_use[i], words));
    }
    print_priors(equations, width, out);
    for (uint32_t i = 0; i < equations->n_covariate; i++) {
        const struct equation_covariate *it = &equations->covariate[i];
        fprintf(out, "%s%s%s%s%s", i ? ", " : "\ncovariates: ", it->name, it->unit ? " [" : "",
                it->unit ? it->unit : "", it->unit ? "]" : "");
    }
    if (equations->n_covariate)
        fputc('\n', out);
    for (uint32_t i = 0; i < equations->n_input; i++) {
        const struct equation_input *it = &equations->input[i];
        fprintf(out, "%s%s%s%s%s%s", i ? ", " : "\ninputs: ", it->name,
                it->is_linear ? " linear" : "", it->unit ? " [" : "", it->unit ? it->unit : "",
                it->unit ? "]" : "");
    }
    if (equations->n_input)
        fputc('\n', out);
}

static void print_equations(const struct shown_model *model, FILE *out)
{
    const struct equations *equations = model->text.equations;
    print_parameters(model, out);
    if (equations->n_intermediate)
        fputc('\n', out);
    listing_intermediates(model->listing, out);
    if (equations->n_state) {
        fputc('\n', out);
        listing_initial(model->listing, out);
        fputc('\n', out);
        listing_rhs(model->listing, out);
    }
    if (equations->n_dosing + equations->n_event)
        fputc('\n', out);
    listing_events(model->listing, out);
    fputc('\n', out);
    listing_observables(model->listing, out);
}

static void print_sparsity(const struct shown_model *model, FILE *out)
{
    const struct graph_matrix *jacobian = &model->functions.of[FUNCTION_jacobian];
    size_t n = jacobian->n_row * jacobian->n_column;
    if (n == 0)
        return;
    fprintf(out, "\nJacobian: %zu of %zu entries (%.3g %%); row: derivative of, column: by\n",
            jacobian->n_entry, n, 100.0 * (double)jacobian->n_entry / (double)n);
    model_show_pattern(jacobian, model->text.equations->state, out);
}

/* Prints derivatives, unless there are too many and they were not requested. */
static bool too_many(const struct shown_model *model, bool is_chosen)
{
    return !is_chosen && model_n_derivative(&model->functions) > SHOW_MOST_DERIVATIVES;
}

static void print_derivatives(const struct shown_model *model, bool is_chosen, FILE *out)
{
    size_t n = model_n_derivative(&model->functions);
    if (too_many(model, is_chosen)) {
        fprintf(out, "\n%zu derivatives: --derivatives prints them\n", n);
        return;
    }
    fputc('\n', out);
    listing_temporaries(model->listing, out);
    for (int f = FUNCTION_jacobian; f < N_MODEL_FUNCTION; f++)
        listing_derivative(model->listing, (enum model_function)f, out);
    if (n == 0)
        fputs("all derivatives are 0\n", out);
}

static void print_cost(const struct shown_model *model, FILE *out)
{
    fprintf(out, "\n%-18s %8s %8s %8s %8s %8s %8s %8s %8s\n", "operations of", "entries", "+ -",
            "*", "/", "calls", "other", "named", "alive");
    for (int f = 0; f < N_FUNCTION_COST; f++) {
        const struct function_cost *cost = &model->cost[f];
        size_t n_entry = f == COST_prepare ? cost->n_result : model->functions.of[f].n_entry;
        if (n_entry == 0)
            continue;
        fprintf(out, "%-18s %8zu %8zu %8zu %8zu %8zu %8zu %8zu %8zu\n",
                f == COST_prepare ? "prepare" : model_functions[f].name, n_entry, cost->n_add,
                cost->n_multiply, cost->n_divide, cost->n_call, cost->n_other, cost->n_temporary,
                cost->n_alive);
    }
    fputs("(prepare: once per evaluation; calls: exp, pow, ...; other: comparisons, choices; "
          "named: temporaries, and how\n"
          " many are alive at once)\n",
          out);
}

void model_show_text(const struct shown_model *model, unsigned parts, bool is_chosen, FILE *out)
{
    print_head(model, out);
    if (parts & SHOW_EQUATIONS)
        print_equations(model, out);
    if (parts & SHOW_SPARSITY)
        print_sparsity(model, out);
    if (parts & SHOW_DERIVATIVES)
        print_derivatives(model, is_chosen, out);
    if (parts & SHOW_COST)
        print_cost(model, out);
}

static void put_cell(const struct shown_model *model, double value, FILE *out)
{
    char text[80];
    listing_number(model->listing, value, text);
    fprintf(out, " & $%s$", text);
}

static void put_latex_priors(const struct shown_model *model, FILE *out)
{
    const struct equations *equations = model->text.equations;
    bool headed = false;
    for (uint32_t i = 0; i < equations->n_parameter; i++) {
        const struct equation_prior *prior = &equations->parameter[i].prior;
        char first[80], second[80];
        if (!prior->kind)
            continue;
        listing_number(model->listing, prior->first, first);
        listing_number(model->listing, prior->second, second);
        fprintf(out, "%s$%s$: %s($%s$, $%s$)%s",
                headed ? "; " : "Priors: ", listing_parameter(model->listing, i), prior->kind,
                first, second, prior->on_optimizer ? " on the optimiser's scale" : "");
        headed = true;
    }
    fputs(headed ? "\n\n" : "", out);
}

static void put_latex_parameters(const struct shown_model *model, FILE *out)
{
    const struct equations *equations = model->text.equations;
    fputs("\\paragraph{Parameters}\n\\begin{center}\n\\begin{tabular}{lrrrll}\n"
          "parameter & start & lower & upper & scale & unit \\\\\n\\hline\n", out);
    for (uint32_t i = 0; i < equations->n_parameter; i++) {
        const struct equation_parameter *it = &equations->parameter[i];
        fprintf(out, "$%s$", listing_parameter(model->listing, i));
        put_cell(model, it->start, out);
        put_cell(model, it->lower, out);
        put_cell(model, it->upper, out);
        fprintf(out, " & %s & ", it->scale);
        listing_label(model->listing, it->unit ? it->unit : "", out);
        fputs(" \\\\\n", out);
    }
    fputs("\\end{tabular}\n\\end{center}\n", out);
    put_latex_priors(model, out);
    for (uint32_t i = 0; i < equations->n_covariate; i++)
        fprintf(out, "%s$%s$", i ? ", " : "Covariates: ", listing_covariate(model->listing, i));
    if (equations->n_covariate)
        fputs("\n\n", out);
    for (uint32_t i = 0; i < equations->n_input; i++)
        fprintf(out, "%s$%s$", i ? ", " : "Inputs: ", listing_input(model->listing, i));
    if (equations->n_input)
        fputs("\n\n", out);
}

void model_show_latex(const struct shown_model *model, unsigned parts, bool is_chosen, FILE *out)
{
    fputs("% needs \\usepackage{amsmath}\n\\allowdisplaybreaks\n", out);
    if (parts & SHOW_EQUATIONS) {
        put_latex_parameters(model, out);
        fputs("\\paragraph{Equations}\n", out);
        listing_intermediates(model->listing, out);
        listing_initial(model->listing, out);
        listing_rhs(model->listing, out);
        listing_events(model->listing, out);
        fputs("\\paragraph{Observables}\n", out);
        listing_observables(model->listing, out);
    }
    if (!(parts & SHOW_DERIVATIVES) || too_many(model, is_chosen))
        return;
    fputs("\\paragraph{Derivatives}\n", out);
    listing_temporaries(model->listing, out);
    for (int f = FUNCTION_jacobian; f < N_MODEL_FUNCTION; f++)
        listing_derivative(model->listing, (enum model_function)f, out);
}

/* MOST_SINGLE: the largest matrix with a line per row; SIDE: lines and columns of a picture of a
 * larger one. */
enum { MOST_SINGLE = 50, SIDE = 64, MOST_NAME = 24 };

static char block_letter(size_t n, size_t of)
{
    if (n == 0)
        return '.';
    return n == of ? '#' : 2 * n >= of ? '*' : 10 * n >= of ? '+' : ':';
}

static void print_single(const struct graph_matrix *matrix, const struct equation_state *state,
                         const char *picture, FILE *out)
{
    int width = 0;
    for (size_t i = 0; i < matrix->n_row; i++) {
        int length = (int)strlen(state[i].name);
        width = length > width ? length : width;
    }
    width = width < MOST_NAME ? width : MOST_NAME;
    for (size_t i = 0; i < matrix->n_row; i++) {
        fprintf(out, "  %-*.*s ", width, width, state[i].name);
        for (size_t j = 0; j < matrix->n_column; j++)
            fprintf(out, " %c", picture[i * matrix->n_column + j] ? '*' : '.');
        fputc('\n', out);
    }
}

static void print_single_pattern(const struct graph_matrix *matrix,
                                 const struct equation_state *state, FILE *out)
{
    char *picture = calloc(matrix->n_row * matrix->n_column + 1, 1);
    if (!picture)
        return;
    for (size_t j = 0; j < matrix->n_column; j++)
        for (uint32_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; k++)
            picture[matrix->row[k] * matrix->n_column + j] = 1;
    print_single(matrix, state, picture, out);
    free(picture);
}

static void print_blocks(const struct graph_matrix *matrix, FILE *out)
{
    size_t side = (matrix->n_row + SIDE - 1) / SIDE, n = (matrix->n_row + side - 1) / side;
    size_t count[SIDE][SIDE] = {{0}};
    for (size_t j = 0; j < matrix->n_column; j++)
        for (uint32_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; k++)
            count[matrix->row[k] / side][j / side]++;
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "  %6zu  ", i * side + 1);
        for (size_t j = 0; j < n; j++) {
            size_t high = i + 1 < n ? side : matrix->n_row - i * side;
            size_t wide = j + 1 < n ? side : matrix->n_column - j * side;
            fputc(block_letter(count[i][j], high * wide), out);
        }
        fputc('\n', out);
    }
    fprintf(out,
            "  a letter stands for %zu x %zu entries: . none, : below a tenth, + below half, * "
            "more, # all\n",
            side, side);
}

void model_show_pattern(const struct graph_matrix *matrix, const struct equation_state *state,
                        FILE *out)
{
    if (matrix->n_row == 0 || matrix->n_row != matrix->n_column || !matrix->column_start)
        return;
    if (matrix->n_row <= MOST_SINGLE)
        print_single_pattern(matrix, state, out);
    else
        print_blocks(matrix, out);
}
