/* What journal and supervision add to a run, carried out alone: the journal's records written, flushed and read back, what the
 * workers write on the board. Fits of less than a tenth of a second keep no state. Prints seconds of CPU time, user and kernel.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal/journal.h"
#include "run/supervise/board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sizes {
    uint64_t n_fit, n_evaluation, n_step; /* of the whole run */
    size_t n_parameter;
};

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench_overhead: %s failed\n", what);
    exit(1);
}

static void keep_journal(const struct sizes *sizes, const char *folder, double *written_s, double *read_s)
{
    struct run_identity identity = {.n_dataset = sizes->n_fit, .n_start = 1, .n_parameter = (uint32_t)sizes->n_parameter};
    struct journal *journal;
    struct journal_reader *reader;
    struct error error;
    struct fit_record record = {.dataset = 0};
    void *arrays = calloc(1, fit_record_array_bytes(sizes->n_parameter));
    check(arrays != NULL, "allocation");
    fit_record_set_arrays(&record, sizes->n_parameter, arrays);
    double begun = cpu_s();
    check(journal_open(&journal, folder, &identity, NULL, 0, &error) == STATUS_OK, "journal_open");
    for (uint64_t i = 0; i < sizes->n_fit; i++) {
        fit_record_clear(&record, sizes->n_parameter);
        record.dataset = i;
        record.objective = 1.0 / (double)(i + 1);
        check(journal_append(journal, &record, &error) == STATUS_OK, "journal_append");
        if (i % (sizes->n_fit / 10 + 1) == 0) /* more often than every 2 s */
            check(journal_sync(journal, &error) == STATUS_OK, "journal_sync");
    }
    journal_close(journal);
    *written_s = cpu_s() - begun;
    begun = cpu_s();
    check(journal_read(&reader, folder, &identity, &error) == STATUS_OK, "journal_read");
    for (uint64_t i = 0; i < sizes->n_fit; i++)
        check(journal_get(reader, i, &record, &error), "journal_get");
    journal_reader_free(reader);
    check(journal_remove(folder, &error) == STATUS_OK, "journal_remove");
    *read_s = cpu_s() - begun;
    free(arrays);
}

static double tell_board(const struct sizes *sizes)
{
    struct board *board = board_new(NULL, 0);
    struct board_slots slots = {.memory = NULL};
    double *p = calloc(sizes->n_parameter + 1, sizeof *p);
    check(board && p && board_slots_make(board, 2, 1, sizes->n_parameter, &slots), "board");
    struct board_slot *slot = board_slot(&slots, 1);
    double begun = cpu_s();
    for (uint64_t i = 0; i < sizes->n_fit; i++) {
        counter_set(&slot->is_asked, 0);
        counter_set(&slot->fit, 1 + i);
    }
    for (uint64_t i = 0; i < sizes->n_evaluation; i++)
        board_slot_ask(slot, &board_heartbeat(&slots, 1)->heartbeat, p, sizes->n_parameter);
    for (uint64_t i = 0; i < sizes->n_step; i++)
        counter_set(&slot->heartbeat, counter_get(&slot->heartbeat) + 1);
    double seconds = cpu_s() - begun;
    board_slots_fini(&slots);
    board_free(board);
    free(p);
    return seconds;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: bench_overhead FITS EVALUATIONS STEPS PARAMETERS FOLDER\n");
        return 2;
    }
    const struct sizes sizes = {strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10),
                                strtoull(argv[4], NULL, 10)};
    double written_s, read_s;
    keep_journal(&sizes, argv[5], &written_s, &read_s);
    double board_s = tell_board(&sizes);
    printf("{\"journal_written_s\": %.6f, \"journal_read_s\": %.6f, \"board_s\": %.6f}\n", written_s, read_s, board_s);
    return 0;
}
