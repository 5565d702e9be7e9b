/* What the listing prints for an expression is read as the same expression again: for random expressions, and for the equations
 * and derivatives of all models under models/. The listing prints as few parentheses as it can: one too few shows here.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "../unit/listing_case.h"

#include <glob.h>
#include <math.h>

enum { N_MODEL = 1500, N_EXPRESSION = 20 };

static const char declarations[] = "parameter a = 1, b = 2, n = 3\ncovariate c\nx(0) = 1\ny(0) = 2\nx' = -a*x\ny' = b*c*n\n";

struct writer {
    FILE *out;
    uint64_t seed, count;
};

static uint64_t below(struct writer *writer, uint64_t n) { return random_below(writer->seed, 1, writer->count++, n); }

static void write_expression(struct writer *writer, int depth)
{
    static const char *const leaf[] = {"a", "b", "n", "c", "x", "y", "t", "1", "2", "3", "0.5", "1.5", "1e-3", "16", "pi",
                                       "4.25", "1e20", "0"};
    static const char *const infix[] = {" + ", " - ", "*", "/", "^", " < ", " <= ", " > ", " >= ", " == ", " != ", " and ",
                                        " or ", " + ", " - ", "*", "/", "*", "^"};
    static const char *const call[] = {"exp", "log", "sqrt", "sin", "tanh", "abs", "sign", "floor", "erf", "heaviside",
                                       "cbrt", "log10", "expm1"};
    static const char *const call_2[] = {"pow", "atan2", "min", "max"};
    uint64_t kind = depth <= 0 ? 0 : below(writer, 14);
    if (kind < 2) {
        fputs(leaf[below(writer, sizeof leaf / sizeof *leaf)], writer->out);
        return;
    }
    fputs(kind == 2 ? "(-(" : kind == 3 ? "(not (" : "(", writer->out);
    if (kind == 4) {
        fprintf(writer->out, "%s(", call[below(writer, sizeof call / sizeof *call)]);
        write_expression(writer, depth - 1);
        fputc(')', writer->out);
    } else if (kind == 5 || kind == 6) {
        fputs(kind == 6 ? "if(" : call_2[below(writer, 4)], writer->out);
        fputs(kind == 6 ? "" : "(", writer->out);
        for (uint64_t i = 0; i < kind - 3; i++) {
            fputs(i ? ", " : "", writer->out);
            write_expression(writer, depth - 1);
        }
        fputc(')', writer->out);
    } else {
        write_expression(writer, depth - 1);
        if (kind > 6) {
            fputs(infix[below(writer, sizeof infix / sizeof *infix)], writer->out);
            write_expression(writer, depth - 1);
        }
    }
    fputs(kind == 2 || kind == 3 ? "))" : ")", writer->out);
}

/* A model with N_EXPRESSION observables; with parentheses around everything. */
static char *random_model(uint64_t seed)
{
    char *text = NULL;
    size_t n = 0;
    struct writer writer = {.out = open_memstream(&text, &n), .seed = seed};
    assert_non_null(writer.out);
    fputs(declarations, writer.out);
    for (int i = 0; i < N_EXPRESSION; i++) {
        fprintf(writer.out, "observe h%d = ", i);
        write_expression(&writer, 2 + (int)below(&writer, 5));
        fputc('\n', writer.out);
    }
    assert_int_equal(fclose(writer.out), 0);
    return text;
}

/* The statements of `equations` as they are listed, after the declarations. */
static char *listed_model(struct equations *equations)
{
    struct listing *listing = listing_new(equations, NULL, NOTATION_TEXT);
    assert_non_null(listing);
    char *intermediates = listing_text(listing, listing_intermediates), *observables = listing_text(listing,
                                                                                                    listing_observables);
    char *text = malloc(strlen(declarations) + strlen(intermediates) + strlen(observables) + 1);
    assert_non_null(text);
    sprintf(text, "%s%s%s", declarations, intermediates, observables);
    free(observables);
    free(intermediates);
    listing_free(listing);
    return text;
}

static double *values_of(const struct graph *graph, uint64_t seed)
{
    double y[2], p[3], covariate[1], *value = malloc(graph_n_node(graph) * sizeof *value);
    assert_non_null(value);
    for (uint64_t i = 0; i < 3; i++)
        p[i] = 0.2 + 2 * random_uniform(seed, 2, i);
    for (uint64_t i = 0; i < 2; i++)
        y[i] = 0.2 + 2 * random_uniform(seed, 3, i);
    covariate[0] = random_uniform(seed, 4, 0);
    const struct stiffit_point at = {.t = 1.25, .y = y, .p = p, .covariate = covariate};
    graph_evaluate(graph, &at, value);
    return value;
}

/* For expressions that came back in another form: other roundings, which differences of a few terms may magnify. */
static bool is_near(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

static void random_expressions_come_back(void **state)
{
    (void)state;
    size_t n_other = 0;
    for (uint64_t seed = 1; seed <= N_MODEL; seed++) {
        char *text = random_model(seed);
        struct equations *first = listing_parse(text);
        char *listed = listed_model(first);
        struct equations *second = listing_parse(listed);
        uint64_t *mark_first = listing_marks(first->graph), *mark_second = listing_marks(second->graph);
        double *value_first = values_of(first->graph, seed), *value_second = values_of(second->graph, seed);
        for (uint32_t i = 0; i < N_EXPRESSION; i++) {
            node was = first->observable[i].value, is = second->observable[i].value;
            bool same = mark_first[was] == mark_second[is];
            n_other += !same;
            if (!same && !is_near(value_first[was], value_second[is]))
                fail_msg("seed %lu, h%u: %.17g became %.17g\n%s\n%s", (unsigned long)seed, i, value_first[was],
                         value_second[is], text, listed);
        }
        free(value_second);
        free(value_first);
        free(mark_second);
        free(mark_first);
        equations_free(second);
        equations_free(first);
        free(listed);
        free(text);
    }
    /* Some rules of simplification look at what the graph holds already, which depends on the order of the text: then an
     * expression may come back in another form, if with the same value. */
    assert_true(n_other * 1000 <= N_MODEL * N_EXPRESSION);
}

static void put_definition(struct listing *listing, const char *name, node which, FILE *out)
{
    fprintf(out, "%s = ", name);
    listing_definition(listing, which, out);
    fputc('\n', out);
}

/* The model again, as text of the listing: its equations, and each entry of its functions as an observable d_FUNCTION_ENTRY. */
static char *listed_functions(const struct equations *e, const struct functions *functions)
{
    struct listing *listing = listing_new(e, functions, NOTATION_TEXT);
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_true(listing && out);
    for (uint32_t i = 0; i < e->n_parameter; i++)
        fprintf(out, "parameter %s = 1\n", e->parameter[i].name);
    for (uint32_t i = 0; i < e->n_covariate; i++)
        fprintf(out, "covariate %s\n", e->covariate[i].name);
    listing_intermediates(listing, out);
    listing_initial(listing, out);
    listing_rhs(listing, out);
    for (uint32_t i = 0; i < e->n_observable; i++)
        if (graph_n_argument(graph_node(e->graph, e->observable[i].value)->op) > 0)
            put_definition(listing, e->observable[i].name, e->observable[i].value, out);
    listing_temporaries(listing, out);
    for (int f = 0; f < N_MODEL_FUNCTION; f++)
        for (size_t k = 0; k < functions->of[f].n_entry; k++) {
            fprintf(out, "observe d_%s_%zu = ", model_functions[f].name, k);
            listing_expression(listing, functions->of[f].entry[k], out);
            fputc('\n', out);
        }
    assert_int_equal(fclose(out), 0);
    assert_false(listing_failed(listing));
    listing_free(listing);
    return text;
}

static double *values_at(const struct equations *e, uint64_t seed)
{
    size_t n = (size_t)e->n_state + e->n_parameter + e->n_covariate;
    double *number = malloc((n + 1) * sizeof *number), *value = malloc(graph_n_node(e->graph) * sizeof *value);
    assert_true(number && value);
    for (size_t i = 0; i < n; i++)
        number[i] = 0.2 + 2 * random_uniform(seed, 2, i);
    const struct stiffit_point at = {.t = 1.25, .y = number, .p = number + e->n_state,
                                     .covariate = number + e->n_state + e->n_parameter};
    graph_evaluate(e->graph, &at, value);
    free(number);
    return value;
}

static size_t check_model(const char *text)
{
    struct equations *first = listing_parse(text);
    struct functions functions = {0};
    struct error error;
    assert_int_equal(functions_derive(first, &functions, &error), STATUS_OK);
    char *listed = listed_functions(first, &functions);
    struct equations *second = listing_parse(listed);
    uint64_t *mark_first = listing_marks(first->graph), *mark_second = listing_marks(second->graph);
    double *value_first = values_at(first, 7), *value_second = values_at(second, 7);
    uint32_t i = 0;
    for (int f = 0; f < N_MODEL_FUNCTION; f++)
        for (size_t k = 0; k < functions.of[f].n_entry; k++, i++) {
            node was = functions.of[f].entry[k], is = second->observable[i].value;
            if (mark_first[was] != mark_second[is] && !is_near(value_first[was], value_second[is]))
                fail_msg("%s of %s: %.17g became %.17g", second->observable[i].name, first->name, value_first[was],
                         value_second[is]);
        }
    assert_int_equal(i, second->n_observable);
    free(value_second);
    free(value_first);
    free(mark_second);
    free(mark_first);
    equations_free(second);
    free(listed);
    functions_fini(&functions);
    equations_free(first);
    return i;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    assert_true(file && text);
    size_t n = fread(text, 1, (1 << 20) - 1, file);
    assert_in_range(n, 10, (1 << 20) - 2);
    fclose(file);
    return text;
}

static void models_and_their_derivatives_come_back(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob("models/*/*.ode", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 6);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *text = read_file(found.gl_pathv[i]);
        assert_true(check_model(text) > 3);
        free(text);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_expressions_come_back),
        cmocka_unit_test(models_and_their_derivatives_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
