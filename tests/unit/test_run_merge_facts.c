/* Joining what shards say of themselves.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/merge/merge_shards.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
        cmocka_unit_test(facts_are_joined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
