/* Merging sorted rows in blocks of any size, and joining what shards say of themselves.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/merge/merge_shards.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_SHARD = 7, N_DATASET = 500, MAX_ROW = 3 * N_DATASET };

/* Rows of the shards: their datasets. A load gives at most `block` of them. */
struct fake {
    uint64_t row[N_SHARD][MAX_ROW];
    size_t n[N_SHARD], first[N_SHARD], block, n_load, n_taken;
    uint64_t taken[MAX_ROW];
    size_t taken_from[MAX_ROW];
};

static enum status load(void *context, size_t shard, uint64_t first, size_t *n, struct error *error)
{
    struct fake *fake = context;
    (void)error;
    assert_true(first <= fake->n[shard]);
    fake->first[shard] = (size_t)first;
    fake->n_load++;
    *n = fake->n[shard] - (size_t)first < fake->block ? fake->n[shard] - (size_t)first : fake->block;
    return STATUS_OK;
}

static uint64_t dataset_of(const void *context, size_t shard, size_t at)
{
    const struct fake *fake = context;
    return fake->row[shard][fake->first[shard] + at];
}

static enum status take(void *context, size_t shard, size_t at, struct error *error)
{
    struct fake *fake = context;
    (void)error;
    fake->taken[fake->n_taken] = dataset_of(fake, shard, at);
    fake->taken_from[fake->n_taken++] = shard;
    return STATUS_OK;
}

static const struct merge_kind kind = {"/fits/dataset", load, dataset_of, take};

static enum status merge(struct fake *fake, struct error *error)
{
    static struct merge_shard shard[N_SHARD];
    static const struct result_info info = {.identity.n_dataset = N_DATASET};
    const struct merge_shards shards = {.shard = shard, .n = N_SHARD, .info = &info};
    for (size_t i = 0; i < N_SHARD; i++)
        shard[i].path = "a shard";
    fake->n_taken = fake->n_load = 0;
    return merge_rows(&shards, &kind, fake, error);
}

/* Each dataset in one shard, with none, one or several rows: in turn, or by chance. */
static size_t deal(struct fake *fake, uint64_t seed, bool in_turn, bool each_once)
{
    size_t total = 0;
    memset(fake->n, 0, sizeof fake->n);
    for (uint64_t d = 0; d < N_DATASET; d++) {
        uint64_t drawn = random_below(seed, d, 0, N_SHARD - 1); /* the last one may have nothing */
        size_t shard = (size_t)(in_turn ? d % N_SHARD : drawn);
        size_t n = each_once ? 1 : (size_t)random_below(seed, d, 1, 4);
        for (size_t i = 0; i < n; i++, total++)
            fake->row[shard][fake->n[shard]++] = d;
    }
    return total;
}

static void rows_come_in_order(void **state)
{
    static struct fake fake;
    struct error error;
    (void)state;
    for (int trial = 0; trial < 60; trial++) {
        size_t total = deal(&fake, (uint64_t)trial, trial % 2, trial % 3), at[N_SHARD] = {0};
        fake.block = 1 + (size_t)random_below(99, (uint64_t)trial, 0, trial < 30 ? 4 : 200);
        assert_int_equal(merge(&fake, &error), STATUS_OK);
        assert_int_equal(fake.n_taken, total);
        for (size_t i = 0; i < total; i++) {
            size_t from = fake.taken_from[i];
            assert_true(i == 0 || fake.taken[i] >= fake.taken[i - 1]);
            assert_int_equal(fake.taken[i], fake.row[from][at[from]++]); /* each shard's rows in their own order, each once */
        }
        for (size_t i = 0; i < N_SHARD; i++)
            assert_int_equal(at[i], fake.n[i]);
        assert_true(fake.n_load <= total / fake.block + 2 * N_SHARD);
    }
}

static void disorder_is_found(void **state)
{
    static struct fake fake;
    struct error error;
    (void)state;
    for (size_t block = 1; block < 40; block += 7) {
        deal(&fake, block, true, true);
        fake.block = block;
        uint64_t kept = fake.row[3][20];
        fake.row[3][20] = fake.row[3][19] - 1;
        assert_int_equal(merge(&fake, &error), STATUS_BAD_PROBLEM);
        assert_non_null(strstr(error.message, "a shard: /fits/dataset does not increase at row 20"));
        fake.row[3][20] = N_DATASET;
        assert_int_equal(merge(&fake, &error), STATUS_BAD_PROBLEM);
        assert_non_null(strstr(error.message, "there are 500 datasets"));
        fake.row[3][20] = kept;
        assert_int_equal(merge(&fake, &error), STATUS_OK);
    }
}

static void take_facts(struct merge_facts *facts, const char *host, const char *cpu)
{
    struct error error;
    const char *const name[] = {"host", "selection", "cpu", "command_line"}, *const value[] = {host, "shard", cpu, "stiffit"};
    assert_int_equal(merge_facts_take(facts, &(struct provenance){4, name, value}, &error), STATUS_OK);
}

static const char *value_of(const struct merge_facts *facts, const char *name)
{
    const struct provenance provenance = merge_facts_provenance(facts);
    for (size_t i = 0; i < provenance.n; i++)
        if (!strcmp(provenance.name[i], name))
            return provenance.value[i];
    return NULL;
}

static void facts_are_joined(void **state)
{
    struct merge_facts facts = {.n = 0};
    struct error error;
    (void)state;
    take_facts(&facts, "node-1", "same");
    take_facts(&facts, "node-11", "same");
    take_facts(&facts, "node-1", "same");
    take_facts(&facts, "node", "same");
    assert_string_equal(value_of(&facts, "host"), "node-1; node-11; node");
    assert_string_equal(value_of(&facts, "cpu"), "same");
    assert_null(value_of(&facts, "selection"));
    assert_null(merge_facts_difference(&facts, "cpu"));
    assert_string_equal(merge_facts_difference(&facts, "host"), "node-1; node-11; node");
    assert_null(merge_facts_difference(&facts, "nothing"));
    for (int i = 0; i < 1000; i++) { /* room for some, and then for no more */
        char host[20];
        snprintf(host, sizeof host, "host-%d", i);
        take_facts(&facts, host, "same");
    }
    const char *hosts = value_of(&facts, "host");
    assert_true(strlen(hosts) < 1100 && strlen(hosts) > 900);
    assert_string_equal(hosts + strlen(hosts) - 5, "; ...");
    assert_int_equal(merge_facts_set(&facts, "command_line", "stiffit merge", &error), STATUS_OK);
    assert_int_equal(merge_facts_set(&facts, "command_line", "stiffit merge p.h5", &error), STATUS_OK);
    assert_string_equal(value_of(&facts, "command_line"), "stiffit merge p.h5");
    merge_facts_fini(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_in_order), cmocka_unit_test(disorder_is_found), cmocka_unit_test(facts_are_joined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
