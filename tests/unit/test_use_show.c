/* The summary of a result, against numbers that NumPy and hand calculation give for the same rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../journal_helpers.h"
#include "io/result/result.h"
#include "use/show.h"

enum { N = 9 }; /* seven converged; two failed, their messages differ in a number */
static const double p0[] = {0.3, 1.7, 2.2, 2.9, 4.4, 5.0, 9.1};
static const char *const names[] = {"a", "b"}, *const scales[] = {"lin", "log10"};

static void write_result(const char *path)
{
    struct result_header header = {.n_parameter = 2, .parameter_name = names, .parameter_scale = scales,
                                   .objective_kind = "half_sum_of_squares", .identity = example_identity(2, 1)};
    struct result_writer *writer;
    struct error error;
    header.identity.n_dataset = N;
    assert_int_equal(result_writer_open(&writer, path, NULL, &header, &error), STATUS_OK);
    for (int i = 0; i < N; i++) {
        struct held_record held;
        struct fit_record *record = hold_record(&held);
        char id[8];
        fit_record_clear(record, 2);
        snprintf(id, sizeof id, "d%d", i);
        record->outcome = i < 7 ? OUTCOME_converged : OUTCOME_ode_failed;
        record->stop = i < 7 ? STOP_gradient : STOP_none;
        record->objective = 1;
        record->seconds = i == 4 ? 3 : 1;
        record->n_flat = i == 2;
        for (int j = 0; j < 2; j++) {
            record->parameter[j] = i < 7 ? (j ? 100 : p0[i]) : (double)NAN;
            record->standard_error[j] = j ? 5 : p0[i % 7] / 10;
            record->flattest[j] = j ? 0.5 : -0.5 * log(10) * record->parameter[0];
        }
        record->covariance[0] = 4;
        record->covariance[1] = record->covariance[2] = -3;
        record->covariance[3] = 9;
        if (i >= 7)
            snprintf(record->reason, sizeof record->reason, "stopped at t = %d", i);
        assert_int_equal(result_writer_add(writer, id, record, &error), STATUS_OK);
    }
    assert_int_equal(result_writer_finish(writer, &error), STATUS_OK);
    result_writer_close(writer);
}

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-14 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", found, expected);
}

static void summary_of_nine_fits(void **state)
{
    char *folder = scratch_directory(), path[300], text[100];
    struct result *result;
    struct show_summary summary;
    const struct row_words rows = {.failed = false};
    struct error error;
    (void)state;
    snprintf(path, sizeof path, "%s/x.h5", folder);
    write_result(path);
    assert_int_equal(result_open(&result, path, &error), STATUS_OK);
    assert_int_equal(show_summarise(result, &rows, &summary, &error), STATUS_OK);
    assert_int_equal(summary.digest.n_fit, 9);
    assert_int_equal(summary.n_success, 7);
    assert_int_equal(summary.by_stop[STOP_gradient], 7);
    /* one group, although the numbers in the messages differ */
    assert_int_equal(summary.n_group, 1);
    assert_int_equal(summary.group[0].fits.n, 2);
    assert_true(summary.group[0].differs);
    assert_string_equal(summary.group[0].fits.id[0], "d7");
    assert_string_equal(summary.slow[0].id, "d4");
    /* numpy.quantile(p0, [.25, .5, .75]) */
    near(summary.parameter[0].q25, 1.95);
    near(summary.parameter[0].median, 2.9);
    near(summary.parameter[0].q75, 4.7);
    near(summary.parameter[0].error, 0.1);
    near(summary.parameter[1].error, 0.05);
    uint64_t n = 0;
    for (int i = 0; i < SHOW_N_BIN; i++)
        n += summary.parameter[0].bin[i];
    assert_int_equal(n, 7);
    assert_int_equal(summary.parameter[0].bin[0], 1);
    assert_int_equal(summary.parameter[0].bin[SHOW_N_BIN - 1], 1);
    /* d log a = -0.5 log(10), d log b = 0.5 log(10): the optimiser's scale of b is log10 */
    assert_int_equal(summary.n_flat, 1);
    assert_string_equal(show_combination_text(result_info(result), summary.flat[0].weight, text, sizeof text),
                        "0.71 log a - 0.71 log b");
    show_summary_fini(&summary);
    result_close(result);
    remove_scratch(folder);
}

static void correlation_from_covariance(void **state)
{
    char *folder = scratch_directory(), path[300];
    struct result *result;
    struct result_block block = {0};
    struct error error;
    double correlation[4];
    (void)state;
    snprintf(path, sizeof path, "%s/x.h5", folder);
    write_result(path);
    assert_int_equal(result_open(&result, path, &error), STATUS_OK);
    assert_int_equal(result_read(result, &block, 0, 1, &error), STATUS_OK);
    assert_true(show_correlation(result_info(result), &block.record[0], correlation));
    assert_true(correlation[0] == 1 && correlation[3] == 1 && correlation[1] == -0.5 && correlation[2] == -0.5);
    result_block_fini(&block);
    result_close(result);
    remove_scratch(folder);
}

/* Numbers that differ in digits that nobody sees have one bin, in the middle; others have several. */
static void numbers_that_look_the_same_have_one_bin(void **state)
{
    (void)state;
    double alike[] = {1 - 1e-7, 1, 1 + 2e-7, 1}, apart[] = {1, 1.01, 1.02, 1.03};
    struct show_spread spread = {.n_at_lower = 0};
    show_fill_spread(&spread, alike, 4, false);
    assert_true(spread.low == spread.high && spread.low == spread.median);
    assert_int_equal(spread.bin[SHOW_N_BIN / 2], 4);
    assert_int_equal(show_bin(&spread, 1.01), -1);
    spread = (struct show_spread){.n_at_lower = 0};
    show_fill_spread(&spread, apart, 4, true);
    assert_true(spread.low == 1 && spread.high == 1.03);
    assert_int_equal(spread.bin[0] + spread.bin[SHOW_N_BIN - 1], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(summary_of_nine_fits), cmocka_unit_test(correlation_from_covariance),
                                       cmocka_unit_test(numbers_that_look_the_same_have_one_bin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
