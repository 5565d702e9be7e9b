/* What a fit with random parameters leaves in the journal's folder becomes the group /population,
 * and both are read back as they were.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/result/population.h"
#include "../journal_helpers.h"

#include <math.h>
#include <sys/stat.h>

static const char *const names[] = {"sigma", "k", "V", "b"},
                         *const scales[] = {"lin", "log", "log10", "lin"};

/* k and b are correlated, V is on its own and has lost its variance: means 3, entries 4, shared 1. */
static bool make_example(struct mixed_result *mixed, struct arena *arena)
{
    static const double covariance[9] = {0.04, 0, 0.01, 0, 0, 0, 0.01, 0, 0.25};
    static const uint8_t is_estimated[9] = {1, 0, 1, 0, 1, 0, 1, 0, 1};
    *mixed = (struct mixed_result){.r = 3, .s = 1, .m = 8};
    if (!mixed_result_init(mixed, arena))
        return false;
    memcpy(mixed->random, (const uint32_t[]){1, 2, 3}, 3 * sizeof *mixed->random);
    memcpy(mixed->mean, (const double[]){-1, 0.5, 2}, 3 * sizeof *mixed->mean);
    memcpy(mixed->covariance, covariance, sizeof covariance);
    memcpy(mixed->is_estimated, is_estimated, sizeof is_estimated);
    memcpy(mixed->shrinkage, (const double[]){0.1, NAN, 0.2}, 3 * sizeof *mixed->shrinkage);
    mixed->value[0] = 0.3;
    for (size_t i = 0; i < mixed->m; i++) {
        mixed->standard_error[i] = 0.01 * (double)(i + 1);
        mixed->by_scores[i] = 0.02 * (double)(i + 1);
        mixed->sandwich[i] = 0.03 * (double)(i + 1);
        for (size_t j = 0; j < mixed->m; j++)
            mixed->error_covariance[i * mixed->m + j] = 1e-4 * (double)((i + 1) * (j + 1));
    }
    mixed->standard_error[5] = NAN; /* of the variance that is 0 */
    mixed->minus_2_log_likelihood = 100;
    mixed->likelihood_error = 0.05;
    mixed->condition = 7;
    mixed->n_dataset = 20;
    mixed->n_left_out = 2;
    mixed->n_row = 60;
    mixed->likelihood = LIKELIHOOD_EXACT;
    return true;
}

static void check_values(const struct result_population *population)
{
    static const char *const estimates[] = {"mean(k)", "mean(V)", "mean(b)", "var(k)",
                                            "cov(k,b)", "var(V)", "var(b)", "sigma"};
    static const double values[] = {-1, 0.5, 2, 0.04, 0.01, 0, 0.25, 0.3};
    assert_int_equal(population->r, 3);
    assert_int_equal(population->s, 1);
    assert_int_equal(population->m, 8);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(population->name[i], names[i + 1]);
        assert_string_equal(population->scale[i], scales[i + 1]);
    }
    assert_string_equal(population->shared_name[0], "sigma");
    for (size_t i = 0; i < 8; i++) {
        assert_string_equal(population->estimate_name[i], estimates[i]);
        assert_true(population->estimate[i] == values[i]);
        for (size_t j = 0; j < 8; j++)
            assert_int_equal(isnan(population->error_covariance[i * 8 + j]) != 0, i == 5 || j == 5);
        assert_true(population->error[i] == 0.01 * (double)(i + 1) || i == 5);
    }
    assert_true(fabs(population->natural_mean[0] - exp(-1.0)) < 1e-15);
    assert_true(fabs(population->natural_mean[1] - sqrt(10.0)) < 1e-14);
    assert_true(population->natural_mean[2] == 2);
    assert_true(fabs(population->natural_error[1] - 0.02 * log(10.0) * sqrt(10.0)) < 1e-15);
    assert_true(population->shared[0] == 0.3 && population->shared_error[0] == 0.08);
    assert_true(fabs(population->standard_deviation[0] - 0.2) < 1e-15);
    assert_true(fabs(population->correlation[2] - 0.1) < 1e-15 && population->correlation[0] == 1);
    assert_true(isnan(population->correlation[1]) && isnan(population->correlation[4]));
    /* d sqrt(v) = dv / (2 sqrt(v)) */
    double error = result_population_deviation_error(population, population->name[0], "",
                                                     population->standard_deviation[0]);
    assert_true(fabs(error - 0.04 / 0.4) < 1e-15);
    assert_true(population->head.aic == 116 && population->head.likelihood_error == 0.05);
    assert_true(fabs(population->head.bic - (100 + 8 * log(20.0))) < 1e-12);
    assert_true(population->head.condition == 7 && population->head.n_dataset == 20);
    assert_true(population->head.n_left_out == 2 && population->head.n_row == 60);
    assert_string_equal(population->head.likelihood, "exact");
}

static void the_group_is_read_back(void **state)
{
    (void)state;
    char *folder = scratch_directory(), path[300];
    struct arena arena = {.first = NULL};
    struct mixed_result mixed, again;
    struct error error;
    struct run_identity identity = example_identity(4, 1);
    struct journal *journal;
    uint32_t number = 0;
    assert_int_equal(journal_open(&journal, folder, &identity, NULL, 0, &error), STATUS_OK);
    struct journal_reader *reader = read_journal(folder, &identity);
    bool is_there = true;
    assert_int_equal(mixed_result_read(&again, &is_there, &number, reader, &arena, &error), STATUS_OK);
    assert_true(!is_there && number == 0);
    journal_reader_free(reader);
    assert_int_equal(journal_keep(journal, FRAME_POPULATION, 1, NULL, 0, &error), STATUS_OK);
    reader = read_journal(folder, &identity); /* a start without a population is covered, too */
    assert_int_equal(mixed_result_read(&again, &is_there, &number, reader, &arena, &error), STATUS_OK);
    assert_true(!is_there && number == 1);
    journal_reader_free(reader);
    assert_true(make_example(&mixed, &arena));
    size_t n;
    unsigned char *bytes = mixed_result_bytes(&mixed, &n);
    assert_non_null(bytes);
    assert_int_equal(journal_keep(journal, FRAME_POPULATION, 7, bytes, n, &error), STATUS_OK);
    free(bytes);
    mixed.minus_2_log_likelihood++; /* an earlier one */
    assert_non_null(bytes = mixed_result_bytes(&mixed, &n));
    assert_int_equal(journal_keep(journal, FRAME_POPULATION, 6, bytes, n, &error), STATUS_OK);
    free(bytes);
    journal_close(journal);
    reader = read_journal(folder, &identity);
    assert_int_equal(mixed_result_read(&again, &is_there, &number, reader, &arena, &error), STATUS_OK);
    assert_true(is_there && number == 7);
    journal_reader_free(reader);
    struct result_population *made = result_population_make(&again, names, scales, &arena);
    assert_non_null(made);
    check_values(made);
    struct result_header header = {.n_parameter = 4, .parameter_name = names,
                                   .parameter_scale = scales, .identity = identity,
                                   .objective_kind = "negative_log_likelihood"};
    struct result_writer *writer;
    snprintf(path, sizeof path, "%s/r.h5", folder);
    assert_int_equal(result_writer_open(&writer, path, NULL, &header, &error), STATUS_OK);
    assert_int_equal(result_writer_population(writer, made, &error), STATUS_OK);
    assert_int_equal(result_writer_finish(writer, &error), STATUS_OK);
    result_writer_close(writer);
    struct result *result;
    const struct result_population *read;
    assert_int_equal(result_open(&result, path, &error), STATUS_OK);
    if (result_population_read(&read, result, &arena, &error))
        fail_msg("%s", error.message);
    assert_non_null(read);
    check_values(read);
    result_close(result);
    arena_fini(&arena);
    remove_scratch(folder);
}

/* exp(s^2) - 1 is the square of a log-normal's coefficient of variation. */
static void variation(void **state)
{
    (void)state;
    assert_true(fabs(result_population_variation("log", 0.3) - sqrt(exp(0.09) - 1)) < 1e-15);
    double s = 0.3 * log(10.0);
    assert_true(fabs(result_population_variation("log10", 0.3) - sqrt(exp(s * s) - 1)) < 1e-14);
    assert_true(isnan(result_population_variation("lin", 0.3)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_group_is_read_back),
                                       cmocka_unit_test(variation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
