/* NIST's Statistical Reference Datasets for nonlinear regression (public domain): the optimiser against certified
 * values, from both of NIST's starts. Derivatives are complex steps, exact to rounding.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"


#include <complex.h>

typedef double complex value;
typedef value curve(double x, const value *b);

static value misra1a(double x, const value *b) { return b[0] * (1 - cexp(-b[1] * x)); }
static value misra1b(double x, const value *b) { return b[0] * (1 - cpow(1 + b[1] * x / 2, -2)); }
static value misra1c(double x, const value *b) { return b[0] * (1 - cpow(1 + 2 * b[1] * x, -0.5)); }
static value misra1d(double x, const value *b) { return b[0] * b[1] * x / (1 + b[1] * x); }
static value chwirut(double x, const value *b) { return cexp(-b[0] * x) / (b[1] + b[2] * x); }
static value danwood(double x, const value *b) { return b[0] * cpow(x, b[1]); }
static value lanczos(double x, const value *b)
{
    return b[0] * cexp(-b[1] * x) + b[2] * cexp(-b[3] * x) + b[4] * cexp(-b[5] * x);
}
static value bell(double x, value height, value centre, value width)
{
    return height * cexp(-(x - centre) * (x - centre) / (width * width));
}
static value gauss(double x, const value *b)
{
    return b[0] * cexp(-b[1] * x) + bell(x, b[2], b[3], b[4]) + bell(x, b[5], b[6], b[7]);
}
static value kirby2(double x, const value *b)
{
    return (b[0] + b[1] * x + b[2] * x * x) / (1 + b[3] * x + b[4] * x * x);
}
static value hahn(double x, const value *b)
{
    return (b[0] + b[1] * x + b[2] * x * x + b[3] * x * x * x) / (1 + b[4] * x + b[5] * x * x + b[6] * x * x * x);
}
static value mgh17(double x, const value *b) { return b[0] + b[1] * cexp(-x * b[3]) + b[2] * cexp(-x * b[4]); }
static value roszman(double x, const value *b)
{
    return b[0] - b[1] * x - catan(b[2] / (x - b[3])) / 3.14159265358979323846;
}
static value wave(double x, value period, value c, value s)
{
    value phase = 2 * 3.14159265358979323846 * x / period;
    return c * ccos(phase) + s * csin(phase);
}
static value enso(double x, const value *b)
{
    return b[0] + wave(x, 12, b[1], b[2]) + wave(x, b[3], b[4], b[5]) + wave(x, b[6], b[7], b[8]);
}
static value mgh09(double x, const value *b) { return b[0] * (x * x + x * b[1]) / (x * x + x * b[2] + b[3]); }
static value boxbod(double x, const value *b) { return b[0] * (1 - cexp(-b[1] * x)); }
static value rat42(double x, const value *b) { return b[0] / (1 + cexp(b[1] - b[2] * x)); }
static value mgh10(double x, const value *b) { return b[0] * cexp(b[1] / (x + b[2])); }
static value eckerle(double x, const value *b)
{
    return b[0] / b[1] * cexp(-0.5 * (x - b[2]) * (x - b[2]) / (b[1] * b[1]));
}
static value bennett5(double x, const value *b) { return b[0] * cpow(b[1] + x, -1 / b[2]); }
static value rat43(double x, const value *b) { return b[0] / cpow(1 + cexp(b[1] - b[2] * x), 1 / b[3]); }

/* model.h's functions know no context: one pair of them per curve. */
#define MODEL(curve_, n_)                                                                              \
    static int curve_##_observe(const struct stiffit_point *at, double *h)                             \
    {                                                                                                  \
        value b[n_];                                                                                   \
        for (int i = 0; i < n_; i++)                                                                   \
            b[i] = at->p[i];                                                                           \
        h[0] = creal(curve_(at->t, b));                                                                \
        return 0;                                                                                      \
    }                                                                                                  \
    static int curve_##_slopes(const struct stiffit_point *at, double *h)                              \
    {                                                                                                  \
        value b[n_];                                                                                   \
        for (int j = 0; j < n_; j++) {                                                                 \
            for (int i = 0; i < n_; i++)                                                               \
                b[i] = at->p[i] + (i == j ? 1e-30 * I : 0);                                            \
            h[j] = cimag(curve_(at->t, b)) / 1e-30;                                                    \
        }                                                                                              \
        return 0;                                                                                      \
    }                                                                                                  \
    static const struct stiffit_model curve_##_model = {STIFFIT_MODEL_HEADER, .n_parameter = n_,       \
        .n_observable = 1, .observe = curve_##_observe, .observe_parameter = curve_##_slopes};

MODEL(misra1a, 2) MODEL(misra1b, 2) MODEL(misra1c, 2) MODEL(misra1d, 2) MODEL(chwirut, 3) MODEL(danwood, 2)
MODEL(lanczos, 6) MODEL(gauss, 8) MODEL(kirby2, 5) MODEL(hahn, 7) MODEL(mgh17, 5) MODEL(roszman, 4) MODEL(enso, 9)
MODEL(mgh09, 4) MODEL(boxbod, 2) MODEL(rat42, 3) MODEL(mgh10, 3) MODEL(eckerle, 3) MODEL(rat43, 4)
MODEL(bennett5, 3)

struct entry {
    const char *file;
    const struct stiffit_model *model;
    int starts;   /* bit k: start k+1 leads to the certified optimum */
    bool sums;    /* its terms may change places, so that parameters cannot be compared one by one */
};

/* Printed but not asked for: the starts from which the search ends at another stationary point (MGH17, BoxBOD) or needs
 * more than 1000 evaluations on the linear scale (MGH10). Left out: Bennett5 for that reason from both starts; Nelson has
 * two predictors; the sum of squares of Lanczos1 (1e-25) cannot be reproduced in double precision. */
static const struct entry entries[] = {
    {"Misra1a", &misra1a_model, 3, false}, {"Misra1b", &misra1b_model, 3, false}, {"Misra1c", &misra1c_model, 3, false},
    {"Misra1d", &misra1d_model, 3, false}, {"Chwirut1", &chwirut_model, 3, false},
    {"Chwirut2", &chwirut_model, 3, false}, {"DanWood", &danwood_model, 3, false},
    {"Lanczos3", &lanczos_model, 3, true}, {"Lanczos2", &lanczos_model, 3, true},
    {"Gauss1", &gauss_model, 3, false}, {"Gauss2", &gauss_model, 3, false}, {"Gauss3", &gauss_model, 3, false},
    {"Kirby2", &kirby2_model, 3, false}, {"Hahn1", &hahn_model, 3, false}, {"MGH17", &mgh17_model, 3, true},
    {"Roszman1", &roszman_model, 3, false}, {"ENSO", &enso_model, 3, false}, {"MGH09", &mgh09_model, 3, false},
    {"Thurber", &hahn_model, 3, false}, {"BoxBOD", &boxbod_model, 3, false}, {"Rat42", &rat42_model, 3, false},
    {"MGH10", &mgh10_model, 3, false}, {"Eckerle4", &eckerle_model, 3, false}, {"Rat43", &rat43_model, 3, false},
    {"Bennett5", &bennett5_model, 3, false}, {"Lanczos1", &lanczos_model, 3, true},
};

struct certified {
    double start[2][16], parameter[16], deviation[16], sum_of_squares;
    double x[300], y[300];
    size_t n_row;
};

static bool read_certified(const char *name, size_t n_parameter, struct certified *out)
{
    char path[128], line[256];
    snprintf(path, sizeof path, "data/nist/%s.dat", name);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    memset(out, 0, sizeof *out);
    size_t n_read = 0;
    for (int number = 1; fgets(line, sizeof line, file); number++) {
        int index;
        double s1, s2, value_, deviation;
        if (sscanf(line, " b%d = %lf %lf %lf %lf", &index, &s1, &s2, &value_, &deviation) == 5) {
            out->start[0][index - 1] = s1;
            out->start[1][index - 1] = s2;
            out->parameter[index - 1] = value_;
            out->deviation[index - 1] = deviation;
            n_read++;
        }
        sscanf(line, "Residual Sum of Squares: %lf", &out->sum_of_squares);
        if (number > 60 && out->n_row < 300 && sscanf(line, "%lf %lf", &out->y[out->n_row], &out->x[out->n_row]) == 2)
            out->n_row++;
    }
    fclose(file);
    assert_int_equal(n_read, n_parameter);
    return true;
}

static int run_start(const struct entry *entry, const struct certified *certified, int start)
{
    struct fit_case *self = case_new(entry->model, certified->n_row);
    for (size_t i = 0; i < certified->n_row; i++) {
        self->time[i] = certified->x[i];
        self->value[i] = certified->y[i];
        self->sigma[i] = NAN;
    }
    size_t n = entry->model->n_parameter;
    memcpy(self->start, certified->start[start], n * sizeof(double));
    /* Functions in closed form, exact to rounding: no integrator's noise to be reckoned with. */
    self->options.accuracy = 1e-16;
    self->options.f_tolerance = 1e-15;
    self->options.g_tolerance = 0;
    self->options.statistics = true;
    const struct fit_record *result = case_run(self);
    double digits = 16, digits_deviation = 16;
    for (size_t i = 0; i < n; i++) {
        digits = fmin(digits, -log10(fabs(result->parameter[i] / certified->parameter[i] - 1) + 1e-16));
        double error = fabs(result->standard_error[i] / certified->deviation[i] - 1);
        digits_deviation = fmin(digits_deviation, -log10(error + 1e-16));
    }
    bool good = result->outcome == OUTCOME_converged && digits >= 6 && (digits_deviation >= 6 || entry->sums);
    printf("%-9s start %d: %-9s %4d evaluations; digits of parameters %4.1f, of their deviations %4.1f%s %s\n", entry->file,
           start + 1, outcome_name(result->outcome), (int)result->n_evaluation, digits, digits_deviation,
           good ? "" : "  <--", result->reason);
    case_free(self);
    return !good && (entry->starts >> start & 1);
}

static void test_certified(void **state)
{
    (void)state;
    int n_bad = 0;
    static struct certified certified;
    const char *only = getenv("NIST_ONLY");
    for (size_t k = 0; k < sizeof entries / sizeof *entries; k++) {
        if (only && strcmp(only, entries[k].file))
            continue;
        assert_true(read_certified(entries[k].file, entries[k].model->n_parameter, &certified));
        for (int start = 0; start < 2; start++)
            n_bad += run_start(&entries[k], &certified, start);
    }
    assert_int_equal(n_bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_certified)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
