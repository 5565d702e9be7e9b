/* --shard: k/K, SLURM's environment, names of results, and dealing by cost.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/selection_cost.h"
#include "run/plan/selection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_shard(const char *text, uint32_t k, uint32_t n)
{
    struct shard shard;
    struct error error;
    if (shard_parse(&shard, text, &error))
        fail_msg("%s: %s", text, error.message);
    assert_int_equal(shard.k, k);
    assert_int_equal(shard.n, n);
}

static void expect_usage(const char *text, const char *words)
{
    struct shard shard;
    struct error error;
    assert_int_equal(shard_parse(&shard, text, &error), STATUS_USAGE);
    if (!strstr(error.message, words))
        fail_msg("'%s' is not in: %s", words, error.message);
}

static void fractions(void **state)
{
    (void)state;
    expect_shard("1/1", 1, 1);
    expect_shard("3/8", 3, 8);
    expect_shard("008/8", 8, 8);
    expect_shard("1000000/1000000", 1000000, 1000000);
    static const char *const wrong[] = {"", "/", "3", "3/", "/8", "3/8/", "3/8 ", " 3/8", "+3/8", "-1/8", "3/-8", "0x1/2",
                                        "1.0/2", "4294967297/8", "1/4294967296", "Slurm", "slurm "};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_usage(wrong[i], "neither k/K");
    expect_usage("0/8", "from 1 to 8");
    expect_usage("9/8", "from 1 to 8");
    expect_usage("0/0", "at least 1");
    expect_usage("1/1000001", "at most 1000000");
}

static void clear_slurm(void)
{
    static const char *const names[] = {"JOB_ID", "STEP_ID", "PROCID", "NTASKS", "STEP_NUM_TASKS", "ARRAY_JOB_ID",
                                        "ARRAY_TASK_ID", "ARRAY_TASK_MIN", "ARRAY_TASK_MAX", "ARRAY_TASK_COUNT",
                                        "ARRAY_TASK_STEP"};
    char name[40];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(name, sizeof name, "SLURM_%s", names[i]);
        unsetenv(name);
    }
}

static void set_array(const char *id, const char *first, const char *last, const char *count, const char *stride)
{
    clear_slurm();
    setenv("SLURM_JOB_ID", "9", 1);
    setenv("SLURM_ARRAY_JOB_ID", "8", 1);
    setenv("SLURM_ARRAY_TASK_ID", id, 1);
    setenv("SLURM_ARRAY_TASK_MIN", first, 1);
    setenv("SLURM_ARRAY_TASK_MAX", last, 1);
    setenv("SLURM_ARRAY_TASK_COUNT", count, 1);
    if (stride)
        setenv("SLURM_ARRAY_TASK_STEP", stride, 1);
}

static void slurm_arrays(void **state)
{
    (void)state;
    set_array("0", "0", "7", "8", "1");
    expect_shard("slurm", 1, 8);
    set_array("8", "1", "8", "8", NULL);
    expect_shard("slurm", 8, 8);
    set_array("3", "3", "7", "2", "1"); /* --array=3,7 */
    expect_usage("slurm", "not part of a complete array");
    set_array("3", "3", "4", "2", "1"); /* two tasks of 0-7, submitted once more */
    expect_usage("slurm", "not part of a complete array");
    set_array("2", "0", "8", "5", "2");
    expect_usage("slurm", "not part of a complete array");
    set_array("2", "0", "8", "8", "1"); /* a gap */
    expect_usage("slurm", "not part of a complete array");
    set_array("9", "0", "7", "8", "1");
    expect_usage("slurm", "not part of a complete array");
    set_array("x", "0", "7", "8", "1");
    expect_usage("slurm", "not complete");
    clear_slurm();
}

static void slurm_steps(void **state)
{
    (void)state;
    clear_slurm();
    expect_usage("slurm", "not a SLURM job");
    setenv("SLURM_JOB_ID", "9", 1);
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "4", 1);
    expect_usage("slurm", "neither a step nor an array"); /* a batch script with -n4 */
    setenv("SLURM_STEP_ID", "4294967291", 1);
    expect_usage("slurm", "neither a step nor an array"); /* as some versions call it */
    setenv("SLURM_STEP_ID", "0", 1);
    setenv("SLURM_PROCID", "3", 1);
    expect_shard("slurm", 4, 4);
    setenv("SLURM_STEP_NUM_TASKS", "2", 1); /* goes before the job's number */
    expect_usage("slurm", "SLURM_PROCID");
    setenv("SLURM_PROCID", "1", 1);
    expect_shard("slurm", 2, 2);
    unsetenv("SLURM_PROCID");
    expect_usage("slurm", "SLURM_PROCID");
    set_array("2", "1", "5", "5", "1"); /* srun within an array task */
    setenv("SLURM_STEP_ID", "0", 1);
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "1", 1);
    expect_shard("slurm", 2, 5);
    setenv("SLURM_NTASKS", "2", 1);
    expect_usage("slurm", "both could be meant");
    clear_slurm();
}

static void names(void **state)
{
    (void)state;
    char text[100], other[100];
    struct selection_request options = {.only = NULL};
    selection_suffix(&options, text, sizeof text);
    assert_string_equal(text, "");
    options.shard = (struct shard){.k = 3, .n = 8};
    selection_suffix(&options, text, sizeof text);
    assert_string_equal(text, ".shard-3-of-8");
    options.shard.n = 0;
    options.only = "well-A1_x";
    selection_suffix(&options, text, sizeof text);
    assert_string_equal(text, ".only-well-A1_x");
    options.only = "b/1,../a,b/1";
    selection_suffix(&options, text, sizeof text);
    assert_int_equal(strlen(text), strlen(".only-") + 12);
    assert_null(strchr(text, '/'));
    options.only = "../a,b/1";
    selection_suffix(&options, other, sizeof other);
    assert_string_equal(text, other);
    options.only = "../a,b/2";
    selection_suffix(&options, other, sizeof other);
    assert_string_not_equal(text, other);
}

static void texts(void **state)
{
    (void)state;
    uint32_t k, n;
    assert_true(selection_is_shard("shard=3/8", &k, &n) && k == 3 && n == 8);
    assert_true(selection_is_shard("shard=1/64 cost-from=0123", &k, &n) && k == 1 && n == 64);
    assert_false(selection_is_shard("", &k, &n));
    assert_false(selection_is_shard("only=3:00", &k, &n));
    assert_false(selection_is_shard("shard=0/8", &k, &n));
    assert_false(selection_is_shard("shard=9/8", &k, &n));
}

/* Loads of all shards; each dataset is dealt once. */
static void deal(const uint64_t *cost, uint64_t n, uint32_t n_shard, uint64_t *load)
{
    struct error error;
    unsigned *seen = calloc((size_t)n + 1, sizeof *seen);
    unsigned char *bit = malloc((size_t)n / 8 + 1);
    assert_true(seen && bit);
    for (uint32_t k = 1; k <= n_shard; k++) {
        memset(bit, 0, (size_t)n / 8 + 1);
        assert_int_equal(deal_by_cost(cost, n, k, n_shard, bit, &error), STATUS_OK);
        load[k - 1] = 0;
        for (uint64_t d = 0; d < n; d++)
            if (bit[d / 8] >> d % 8 & 1) {
                seen[d]++;
                load[k - 1] += cost[d];
            }
    }
    for (uint64_t d = 0; d < n; d++)
        assert_int_equal(seen[d], 1);
    free(seen);
    free(bit);
}

static void dealing(void **state)
{
    (void)state;
    /* Graham's own example (1969): 2m + 1 jobs, 4/3 - 1/(3m) of the optimum 9 for m = 3. */
    const uint64_t graham[] = {5, 5, 4, 4, 3, 3, 3};
    uint64_t load[64];
    deal(graham, 7, 3, load);
    assert_int_equal(load[0], 11);
    assert_int_equal(load[1], 8);
    assert_int_equal(load[2], 8);
    uint64_t cost[5000], sum = 0, most = 0, lcg = 1;
    for (size_t d = 0; d < 5000; d++) { /* a heavy tail */
        lcg = lcg * 6364136223846793005u + 1442695040888963407u;
        cost[d] = 1000000 / (1 + (lcg >> 33) % 10000);
        sum += cost[d];
        most = cost[d] > most ? cost[d] : most;
    }
    deal(cost, 5000, 64, load);
    uint64_t heaviest = 0;
    for (int k = 0; k < 64; k++)
        heaviest = load[k] > heaviest ? load[k] : heaviest;
    /* Never above 4/3 of the optimum (Graham), which is no less than the dearest dataset and the mean load. */
    uint64_t bound = most > sum / 64 + 1 ? most : sum / 64 + 1;
    assert_true(heaviest <= bound + bound / 3);
    uint64_t zero[100] = {0};
    unsigned char bit[13] = {0};
    struct error error;
    size_t n = 0;
    deal(zero, 100, 7, load);
    assert_int_equal(deal_by_cost(zero, 100, 2, 10, bit, &error), STATUS_OK); /* nothing is free: ten each */
    for (size_t d = 0; d < 100; d++)
        n += bit[d / 8] >> d % 8 & 1;
    assert_int_equal(n, 10);
    deal(zero, 0, 3, load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fractions), cmocka_unit_test(slurm_arrays), cmocka_unit_test(slurm_steps),
        cmocka_unit_test(names),     cmocka_unit_test(texts),        cmocka_unit_test(dealing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
