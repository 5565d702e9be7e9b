/* The ring of blocks: every chosen item comes once with its data, whatever the sizes, with several workers; blocks in which
 * nothing is chosen are passed over.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../problem_helpers.h"
#include "io/problem/write.h"
#include "par/pool.h"
#include "run/compute/block_ring.h"

#include <unistd.h>

enum { N_DATASET = 30000, N_WORKER = 3, MOST_ITEM = 5 };

static char folder[64], path[128];

struct consumers {
    struct block_ring ring;
    uint32_t one_in;
    struct counter n_begun;
    struct counter wrong;
    uint8_t seen[N_DATASET][MOST_ITEM]; /* each by one worker alone */
};

static bool is_chosen(const void *consumers, uint64_t d)
{
    return d % ((const struct consumers *)consumers)->one_in == ((const struct consumers *)consumers)->one_in / 2;
}

static void write_problem(void)
{
    const struct problem_header header = {
        .model.plugin = "models/test.so",
        .parameters = {.n = 2, .name = model_parameters, .lower = (const double[]){-1, 1},
                       .upper = (const double[]){1e9, 1e9}, .scale = model_scales},
    .by_dataset = PARAMETER_BIT(start),
        .n_covariate = 1, .covariate_name = model_covariates, .n_observable = 2, .observable_name = model_observables};
    struct problem_writer *writer;
    struct error error;
    assert_int_equal(problem_writer_open(&writer, path, true, &header, &error), STATUS_OK);
    for (uint32_t d = 0; d < N_DATASET; d++) {
        char id[20];
        snprintf(id, sizeof id, "%u", d);
        struct problem_dataset dataset = {.id = id, .experiment.covariate = (const double[]){d},
                                          .parameters.start = (const double[]){d, 2},
                                          .n_row = 1, .measured = {.time = (double[]){1}, .value = (double[]){d}}};
        assert_int_equal(problem_writer_add(writer, &dataset, &error), STATUS_OK);
    }
    assert_int_equal(problem_writer_finish(writer, &error), STATUS_OK);
    problem_writer_close(writer);
}

static void consume(void *context, size_t i_worker)
{
    struct consumers *consumers = context;
    uint32_t first, last, number;
    (void)i_worker;
    while (block_ring_next(&consumers->ring, &first, &last))
        for (uint32_t item = first; item < last; item++) {
            size_t row;
            const struct problem_block *block = block_ring_item(&consumers->ring, item, &row, &number);
            uint64_t d = row < block->n ? block->dataset[row] : N_DATASET;
            if (d < N_DATASET && is_chosen(consumers, d) && block->start[2 * row] == (double)d &&
                block->measured.value[block->row[row]] == (double)d)
                consumers->seen[d][number]++;
            else
                counter_add(&consumers->wrong, 1);
            counter_add(&consumers->n_begun, 1);
            block_ring_begun(&consumers->ring, item);
        }
}

static void read_all(struct problem *problem, uint32_t one_in, uint32_t n_item)
{
    struct consumers *consumers = calloc(1, sizeof *consumers);
    struct error error;
    assert_non_null(consumers);
    consumers->one_in = one_in;
    problem_select(problem, is_chosen, consumers);
    assert_int_equal(problem_rewind(problem, &error), STATUS_OK);
    assert_int_equal(block_ring_init(&consumers->ring, problem, N_DATASET, N_DATASET, n_item, &error), STATUS_OK);
    struct pool *pool = pool_new(N_WORKER, "consumer", &error);
    assert_non_null(pool);
    pool_run(pool, consume, consumers);
    uint64_t n_wanted = 0;
    for (uint64_t d = 0; d < N_DATASET; d++)
        n_wanted += is_chosen(consumers, d) * n_item;
    while (counter_get(&consumers->n_begun) < n_wanted) {
        bool did;
        assert_int_equal(block_ring_read(&consumers->ring, 20, &did, &error), STATUS_OK);
    }
    block_ring_end(&consumers->ring);
    pool_join(pool);
    assert_int_equal(counter_get(&consumers->wrong), 0);
    for (uint64_t d = 0; d < N_DATASET; d++)
        for (uint32_t i = 0; i < n_item; i++)
            assert_int_equal(consumers->seen[d][i], is_chosen(consumers, d));
    block_ring_fini(&consumers->ring);
    free(consumers);
}

static void every_item_once(void **state)
{
    (void)state;
    struct problem *problem;
    struct error error;
    unsigned char hash[32];
    uint64_t n_bad;
    assert_true(make_folder(folder));
    snprintf(path, sizeof path, "%s/p.h5", folder);
    write_problem();
    if (problem_open(&problem, path, &error) || problem_validate(problem, &expectation, hash, &n_bad, &error))
        fail_msg("%s", error.message);
    read_all(problem, 1, 1);
    read_all(problem, 1, MOST_ITEM);
    read_all(problem, 2, 3);
    read_all(problem, 64, 2);
    read_all(problem, 20000, MOST_ITEM); /* one dataset, four blocks from the beginning */
    problem_close(problem);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_item_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
