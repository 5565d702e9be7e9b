/* Problem files written by h5py in many ways: equal values are read as equal, whatever their storage, and each fault is
 * told by path, row and dataset. problem_cases.py makes the files and says what is expected of each.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../problem_helpers.h"
#include "io/problem/stream.h"

#include <unistd.h>

static char folder[64];
static unsigned char base_hash[32];

static void check_ids(const struct problem_block *block)
{
    static const char *const ids[] = {"a", "b\xc3\xa9", "a long one"};
    for (int d = 0; d < 3; d++) {
        assert_string_equal(block->id[d], ids[d]);
        assert_null(block->fault[d]);
    }
}

/* The numbers that problem_cases.py puts into base.h5, in the model's terms. */
static void check_base_values(const struct problem_block *block)
{
    static const double time[] = {2, 1, 0.5, 1, 2, 2}, value[] = {1, NAN, -3, 0.25, 0, 7};
    static const double sigma[] = {1, NAN, 0.5, 2, 0.125, 1}, t0[] = {0, 0.5, 0}, dose[] = {1, 2, 4};
    static const uint32_t observable[] = {1, 0, 0, 1, 1, 0}; /* the model has A, B; the file B, A */
    static const size_t row[] = {0, 2, 3, 6};
    assert_int_equal(block->n, 3);
    check_ids(block);
    for (int d = 0; d < 3; d++) {
        assert_true(block->experiment[d].t0 == t0[d]);
        assert_true(block->experiment[d].covariate[0] == dose[d]);
        assert_true(block->start[2 * d] == 0.5 && block->start[2 * d + 1] == -2);
        assert_true(block->lower[2 * d] == 0.25 && block->lower[2 * d + 1] == -INFINITY);
        assert_true(block->upper[2 * d] == 8 && block->upper[2 * d + 1] == INFINITY);
        assert_true(block->fixed[2 * d] == 0 && block->fixed[2 * d + 1] == 1);
        assert_int_equal(block->room->place[GROUP_MEASUREMENTS][d], row[d]);
    }
    assert_memory_equal(block->row, row, sizeof row);
    assert_memory_equal(block->measured.observable, observable, sizeof observable);
    for (int i = 0; i < 6; i++) {
        assert_true(block->measured.time[i] == time[i]);
        assert_true(block->measured.value[i] == value[i] || (isnan(value[i]) && isnan(block->measured.value[i])));
        assert_true(block->measured.sigma[i] == sigma[i] || (isnan(sigma[i]) && isnan(block->measured.sigma[i])));
    }
}

static void check_valid(const char *name, struct problem *problem, bool same)
{
    unsigned char hash[32];
    uint64_t n_bad = 99;
    struct error error;
    struct problem_block block = {0};
    if (problem_validate(problem, &expectation, hash, &n_bad, &error))
        fail_msg("%s: %s", name, error.message);
    assert_int_equal(n_bad, 0);
    if ((memcmp(hash, base_hash, sizeof hash) == 0) != same)
        fail_msg("%s: the hash is %s", name, same ? "not that of base.h5" : "still that of base.h5");
    if (same) {
        assert_int_equal(problem_read(problem, &block, 100, 1000, &error), STATUS_OK);
        check_base_values(&block);
        assert_int_equal(problem_to_model(problem)[0], 1);
        assert_int_equal(problem_to_model(problem)[1], 0);
        assert_string_equal(problem_parameter_name(problem)[0], "k");
        assert_string_equal(problem_parameter_scale(problem)[0], "log10");
        assert_int_equal(problem_read(problem, &block, 100, 1000, &error), STATUS_OK);
        assert_int_equal(block.n, 0);
    }
    problem_block_fini(&block);
}

static void check_bad(const char *name, struct problem *problem, const char *text)
{
    unsigned char hash[32];
    uint64_t n_bad = 0;
    struct error error;
    struct problem_block block = {0};
    if (problem_validate(problem, &expectation, hash, &n_bad, &error))
        fail_msg("%s: %s", name, error.message);
    assert_int_equal(n_bad, 1);
    assert_int_equal(problem_read(problem, &block, 100, 1000, &error), STATUS_OK);
    assert_int_equal(block.n, 3);
    const char *fault = block.fault[0] ? block.fault[0] : block.fault[1] ? block.fault[1] : block.fault[2];
    if (!strstr(fault, text))
        fail_msg("%s: \"%s\" does not say \"%s\"", name, fault, text);
    problem_block_fini(&block);
}

static void unescape(char *text)
{
    char *to = text;
    for (; *text; text++, to++)
        *to = text[0] == '\\' && text[1] == 'n' ? (text++, '\n') : *text;
    *to = '\0';
}

static void check_message(const char *name, const struct error *error, const char *text)
{
    assert_int_equal(error->status, STATUS_BAD_PROBLEM);
    if (!strstr(error->message, text))
        fail_msg("%s: \"%s\" does not say \"%s\"", name, error->message, text);
    char start[200];
    snprintf(start, sizeof start, "%s/%s.h5: ", folder, name);
    if (strncmp(error->message, start, strlen(start)) != 0 || strstr(error->message + strlen(start), folder))
        fail_msg("%s: \"%s\" does not name the file once", name, error->message);
}

static void check_case(const char *name, const char *kind, const char *text)
{
    char path[200];
    unsigned char hash[32];
    uint64_t n_bad;
    struct problem *problem;
    struct error error = {0};
    snprintf(path, sizeof path, "%s/%s.h5", folder, name);
    enum status status = problem_open(&problem, path, &error);
    if (strcmp(kind, "open") == 0) {
        if (!status)
            fail_msg("%s: was opened", name);
        check_message(name, &error, text);
        assert_null(problem);
        return;
    }
    if (status)
        fail_msg("%s: %s", name, error.message);
    if (strcmp(kind, "validate") == 0) {
        if (!problem_validate(problem, &expectation, hash, &n_bad, &error))
            fail_msg("%s: was found valid", name);
        check_message(name, &error, text);
    } else if (strcmp(kind, "bad") == 0) {
        check_bad(name, problem, text);
    } else {
        check_valid(name, problem, strcmp(kind, "same") == 0);
    }
    problem_close(problem);
}

static void test_cases(void **state)
{
    (void)state;
    char path[200], line[1000];
    int n_case = 0;
    snprintf(path, sizeof path, "%s/cases.txt", folder);
    FILE *table = fopen(path, "r");
    assert_non_null(table);
    while (fgets(line, sizeof line, table)) {
        line[strcspn(line, "\n")] = '\0';
        char *kind = strchr(line, '\t'), *text = kind ? strchr(kind + 1, '\t') : NULL;
        assert_non_null(text);
        *kind++ = *text++ = '\0';
        unescape(text);
        check_case(line, kind, text);
        n_case++;
    }
    fclose(table);
    assert_true(n_case > 80);
}

static struct problem *open_case(const char *name)
{
    char path[200];
    struct problem *problem;
    struct error error;
    snprintf(path, sizeof path, "%s/%s.h5", folder, name);
    if (problem_open(&problem, path, &error))
        fail_msg("%s", error.message);
    return problem;
}

static void test_info(void **state)
{
    (void)state;
    struct problem *problem = open_case("user_data_result_and_options");
    const struct problem_info *info = problem_info(problem);
    assert_string_equal(info->model.source, "k' = 0");
    assert_null(info->model.plugin);
    assert_null(problem_model_path(problem));
    assert_int_equal(info->n_parameter, 2);
    assert_int_equal(info->n_dataset, 3);
    assert_int_equal(info->n_measurement, 6);
    assert_int_equal(info->n_covariate, 2);
    assert_string_equal(info->observable_name[1], "A");
    static const char *const options[][2] = {{"linear-solver", "dense"}, {"rtol", "9.9999999999999995e-08"},
                                             {"starts", "4"}, {"trust", "no"}};
    assert_int_equal(info->n_option, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(info->option_name[i], options[i][0]);
        assert_string_equal(info->option_value[i], options[i][1]);
    }
    problem_close(problem);
}

static void test_defaults_are_the_models(void **state)
{
    (void)state;
    struct problem *problem = open_case("model_defaults");
    unsigned char hash[32];
    uint64_t n_bad;
    struct error error;
    struct problem_block block = {0};
    assert_int_equal(problem_validate(problem, &expectation, hash, &n_bad, &error), STATUS_OK);
    assert_int_equal(problem_n_parameter(problem), 2);
    assert_string_equal(problem_parameter_name(problem)[1], "k");
    assert_string_equal(problem_parameter_scale(problem)[1], "log");
    assert_int_equal(problem_read(problem, &block, 1, 1000, &error), STATUS_OK);
    assert_memory_equal(block.start, model_start, sizeof model_start);
    assert_memory_equal(block.lower, model_lower, sizeof model_lower);
    assert_memory_equal(block.upper, model_upper, sizeof model_upper);
    problem_block_fini(&block);
    problem_close(problem);
}

static void test_read_before_validate(void **state)
{
    (void)state;
    struct problem *problem = open_case("base");
    struct problem_block block = {0};
    struct arena arena = {0};
    struct error error;
    char *ids[2];
    assert_int_equal(problem_read(problem, &block, 1, 1, &error), STATUS_INTERNAL);
    assert_int_equal(problem_read_ids(problem, 1, 2, &arena, ids, &error), STATUS_OK);
    assert_string_equal(ids[1], "a long one");
    arena_fini(&arena);
    problem_close(problem);
}

static int setup(void **state)
{
    (void)state;
    if (!have_h5py()) {
        print_message("skipped: h5py is not installed\n");
        exit(77);
    }
    if (!make_folder(folder) || !run_script(__FILE__, "problem_cases.py", folder))
        return -1;
    struct problem *problem = open_case("base");
    uint64_t n_bad;
    struct error error;
    int result = problem_validate(problem, &expectation, base_hash, &n_bad, &error) ? -1 : 0;
    problem_close(problem);
    return result;
}

static int teardown(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_info), cmocka_unit_test(test_defaults_are_the_models),
        cmocka_unit_test(test_read_before_validate)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
