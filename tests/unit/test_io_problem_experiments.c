/* Problem files with experiments, doses, inputs and substitutes, from problem_experiments.py: what blocks of any size hold is
 * what the script lists, each fault is found, and whatever differs changes the identity.
 * test-level: more
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../problem_helpers.h"

static char folder[64];
static unsigned char base_hash[32];
static const char *const states[] = {"X", "Y", "depot"}, *const inputs[] = {"T", "U"};

static struct problem_expectation expected(void)
{
    struct problem_expectation more = expectation;
    more.n_state = 3;
    more.state_name = states;
    more.n_input = 2;
    more.input_name = inputs;
    more.parameter.start = NULL;
    return more;
}

static enum status open_valid(struct problem **problem, const char *name, unsigned char hash[32], uint64_t *n_bad,
                              struct error *error)
{
    char path[200];
    const struct problem_expectation more = expected();
    snprintf(path, sizeof path, "%s/%s.h5", folder, name);
    enum status status = problem_open(problem, path, error);
    return status ? status : problem_validate(*problem, &more, hash, n_bad, error);
}

static void list_experiment(FILE *out, const struct problem_block *block, size_t e)
{
    const struct measurements *m = &block->measured;
    const struct experiment *is = &block->experiment[e];
    fprintf(out, "E %s %.17g %.17g\n", is->id, is->t0, is->covariate[0]);
    for (size_t i = block->row[e]; i < block->row[e + 1]; i++)
        fprintf(out, "m %.17g %.17g %u %d\n", m->time[i], m->value[i], m->observable[i], m->side[i]);
    for (const struct dose *dose = is->dose; dose < is->dose + is->n_dose; dose++)
        fprintf(out, "d %.17g %.17g %.17g %.17g %.17g %u %u %u\n", dose->time, dose->amount, dose->duration, dose->rate,
                dose->interval, dose->count, dose->target, dose->steady);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < is->input[i].n; k++)
            fprintf(out, "k %zu %.17g %.17g\n", i, is->input[i].time[k], is->input[i].value[k]);
    for (const struct substitute *by = is->substitute; by < is->substitute + is->n_substitute; by++) {
        bool is_number = by->by == EXPERIMENT_NUMBER;
        fprintf(out, "s %u %d %.17g\n", by->parameter, is_number ? -1 : (int)by->by, is_number ? by->value : 0.0);
    }
}

/* Reads everything and compares it with the script's listing; wanted: one dataset in so many. */
static void check_listing(struct problem *problem, const char *name, size_t max_dataset, size_t max_row, uint64_t wanted)
{
    char path[200], *given = NULL, *listed = malloc(1 << 26);
    size_t n = 0, n_given = 0;
    struct problem_block block = {0};
    struct error error;
    FILE *out = open_memstream(&given, &n_given);
    do {
        if (problem_read(problem, &block, max_dataset, max_row, &error))
            fail_msg("%s", error.message);
        assert_true(block.n <= 1 || block.row[block.n_experiment] <= max_row);
        for (size_t d = 0; d < block.n; d++) {
            fprintf(out, "dataset %s\n", block.id[d]);
            for (size_t e = block.first_experiment[d]; e < block.first_experiment[d + 1]; e++)
                list_experiment(out, &block, e);
        }
    } while (block.end > block.first);
    fclose(out);
    snprintf(path, sizeof path, "%s/%s.txt", folder, name);
    FILE *in = fopen(path, "r");
    char line[400];
    uint64_t d = 0;
    bool keep = true;
    while (fgets(line, sizeof line, in)) {
        if (!strncmp(line, "dataset", 7))
            keep = d++ % wanted == 0;
        if (keep)
            n += (size_t)snprintf(listed + n, (1 << 26) - n, "%s", line);
    }
    fclose(in);
    assert_int_equal(n_given, n);
    assert_memory_equal(given, listed, n);
    free(given);
    free(listed);
    problem_block_fini(&block);
    assert_int_equal(problem_rewind(problem, &error), STATUS_OK);
}

static bool is_wanted(const void *context, uint64_t d) { return d % *(const uint64_t *)context == 0; }

static void check_random(const char *name)
{
    static const size_t size[][2] = {{4096, 65536}, {1, 1}, {SIZE_MAX, SIZE_MAX}, {50, 999}, {7, 65537}};
    struct problem *problem;
    struct error error;
    unsigned char hash[32];
    uint64_t n_bad, one_in = 7;
    if (open_valid(&problem, name, hash, &n_bad, &error))
        fail_msg("%s", error.message);
    assert_int_equal(n_bad, 0);
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        check_listing(problem, name, size[i][0], size[i][1], 1);
        problem_select(problem, is_wanted, &one_in);
        check_listing(problem, name, size[i][0], size[i][1], one_in);
        problem_select(problem, NULL, NULL);
    }
    problem_close(problem);
}

static void test_random(void **state)
{
    (void)state;
    check_random("random");
    check_random("random_datasets");
}

static void check_case(const char *name, const char *kind, const char *text)
{
    unsigned char hash[32];
    uint64_t n_bad = 0;
    struct problem *problem = NULL;
    struct problem_block block = {0};
    struct error error = {0};
    enum status status = open_valid(&problem, name, hash, &n_bad, &error);
    bool is_same = strcmp(kind, "same") == 0, is_other = strcmp(kind, "differs") == 0;
    bool is_good = strcmp(kind, "bad") == 0 || is_same || is_other;
    if ((status == STATUS_OK) != is_good || (problem == NULL) != (strcmp(kind, "open") == 0))
        fail_msg("%s: %s", name, error.message);
    if (!is_good && !strstr(error.message, text))
        fail_msg("%s: \"%s\" does not say \"%s\"", name, error.message, text);
    if ((is_same || is_other) && (memcmp(hash, base_hash, sizeof hash) == 0) != is_same)
        fail_msg("%s: the hash is %s", name, is_same ? "not that of nothing_changed.h5" : "still that of nothing_changed.h5");
    if (is_good) {
        assert_int_equal(n_bad, strcmp(kind, "bad") == 0);
        assert_int_equal(problem_read(problem, &block, 100, 1000, &error), STATUS_OK);
        assert_int_equal(block.n, 3);
        for (size_t d = 0; d < block.n; d++)
            if (block.fault[d] && !strstr(block.fault[d], text))
                fail_msg("%s: \"%s\" does not say \"%s\"", name, block.fault[d], text);
    }
    problem_block_fini(&block);
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
    for (; fgets(line, sizeof line, table); n_case++) {
        line[strcspn(line, "\n")] = '\0';
        char *kind = strchr(line, '\t'), *text = kind ? strchr(kind + 1, '\t') : NULL;
        assert_non_null(text);
        *kind++ = *text++ = '\0';
        check_case(line, kind, text);
    }
    fclose(table);
    assert_true(n_case > 40);
}

static int setup(void **state)
{
    (void)state;
    if (!have_h5py()) {
        print_message("skipped: h5py is not installed\n");
        exit(77);
    }
    if (!make_folder(folder) || !run_script(__FILE__, "problem_experiments.py", folder))
        return -1;
    struct problem *problem;
    struct error error;
    uint64_t n_bad;
    enum status status = open_valid(&problem, "nothing_changed", base_hash, &n_bad, &error);
    problem_close(problem);
    return status || n_bad ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
