/* Fits that another process continues: from each state that a fit keeps, another one goes on to the same record, and evaluates
 * only what is left.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FIT_RESUMED_H
#define TESTS_FIT_RESUMED_H

#include "fit_case.h"

enum { RESUMED_STATES = 2000, RESUMED_FITS = 64 };

struct resumed_state {
    int fit;              /* of the task, under way */
    unsigned char *bytes; /* n */
    size_t n;
    int64_t n_ask;        /* evaluations until then */
};

/* A keeper of everything, or of one state and the records before it. */
struct resumed {
    struct fit_keeper keeper;
    const int64_t *n_ask;
    int n_fit, n_state, first; /* first: the number of the state from which it goes on; -1: the beginning */
    struct resumed_state state[RESUMED_STATES];
    unsigned char *record[RESUMED_FITS];
    const struct resumed *before;
};

static inline bool resumed_begin(void *context, size_t n_parameter, struct fit_record *record, const unsigned char **state,
                                 size_t *n)
{
    struct resumed *self = context;
    int fit = self->n_fit++;
    *state = NULL;
    if (!self->before)
        return false;
    const struct resumed_state *from = &self->before->state[self->first];
    if (fit < from->fit)
        fit_record_from_bytes(record, n_parameter, self->before->record[fit]);
    if (fit == from->fit) {
        *state = from->bytes;
        *n = from->n;
    }
    return fit < from->fit;
}

static inline bool resumed_is_due(void *context)
{
    (void)context;
    return true;
}

static inline void resumed_keep(void *context, unsigned char *bytes, size_t n)
{
    struct resumed *self = context;
    assert_non_null(bytes);
    assert_true(self->n_state < RESUMED_STATES);
    self->state[self->n_state++] = (struct resumed_state){self->n_fit - 1, bytes, n, *self->n_ask};
}

static inline void resumed_end(void *context, size_t n_parameter, const struct fit_record *record)
{
    struct resumed *self = context;
    unsigned char *bytes = malloc(fit_record_bytes(n_parameter));
    assert_non_null(bytes);
    assert_true(self->n_fit <= RESUMED_FITS);
    fit_record_to_bytes(record, n_parameter, bytes);
    free(self->record[self->n_fit - 1]);
    self->record[self->n_fit - 1] = bytes;
}

static inline struct resumed *resumed_new(const int64_t *n_ask)
{
    struct resumed *self = calloc(1, sizeof *self);
    assert_non_null(self);
    self->n_ask = n_ask;
    self->keeper = (struct fit_keeper){
        .begin = resumed_begin, .is_due = resumed_is_due, .keep = resumed_keep, .end = resumed_end, .context = self};
    return self;
}

static inline void resumed_free(struct resumed *self)
{
    for (int i = 0; i < self->n_state; i++)
        free(self->state[i].bytes);
    for (int i = 0; i < RESUMED_FITS; i++)
        free(self->record[i]);
    free(self);
}

/* The first column in which two records of one place differ; NULL: none. */
static inline const char *resumed_difference(const struct fit_record *a, const struct fit_record *b)
{
    for (int i = 0; i < N_FIT_COLUMN; i++) {
        const struct fit_column_info *column = &fit_columns[i];
        if (column->shape == PER_FIT
            && memcmp((const char *)a + column->offset, (const char *)b + column->offset, fit_kind_size(column->kind)) != 0)
            return column->path;
    }
    return strcmp(a->reason, b->reason) != 0 ? "reason" : NULL;
}

/* The number of states. `run` makes the fits of a task with `host`, and returns its record with all arrays; *n_ask counts the
 * evaluations that it asks for. */
static inline int resumed_everywhere(struct fit_host *host, size_t n_parameter, const struct fit_record *(*run)(void *context),
                                     void *context, const int64_t *n_ask)
{
    size_t size = fit_record_bytes(n_parameter);
    unsigned char *whole = malloc(size), *other = malloc(size);
    assert_true(whole && other);
    struct resumed *all = resumed_new(n_ask);
    host->keeper = &all->keeper;
    fit_record_to_bytes(run(context), n_parameter, whole);
    const int64_t n_all = *n_ask;
    const struct fit_record *a = (const void *)whole, *b = (const void *)other;
    for (int k = 0; k < all->n_state; k++) {
        struct resumed *one = resumed_new(n_ask);
        one->before = all;
        one->first = k;
        host->keeper = &one->keeper;
        fit_record_to_bytes(run(context), n_parameter, other);
        const char *what = resumed_difference(a, b);
        if (!what && memcmp(whole + sizeof *a, other + sizeof *a, size - sizeof *a) != 0)
            what = "numbers of parameters";
        if (what)
            fail_msg("state %d of %d: %s differ (%d and %d evaluations; %s; %s)", k, all->n_state, what, (int)a->n_evaluation,
                     (int)b->n_evaluation, a->reason, b->reason);
        if (all->state[k].n_ask + *n_ask != n_all)
            fail_msg("state %d of %d: %d and %d evaluations, not %d", k, all->n_state, (int)all->state[k].n_ask, (int)*n_ask,
                     (int)n_all);
        assert_int_equal(k + one->n_state, all->n_state);
        assert_int_equal(one->n_fit, all->n_fit);
        resumed_free(one);
    }
    int n_state = all->n_state;
    host->keeper = NULL;
    resumed_free(all);
    free(whole);
    free(other);
    return n_state;
}

#endif
