/* A fit whose k-th allocation fails, for every k: ours and libLBFGS's. It ends with out_of_memory or, where libLBFGS
 * could be spared, well; it never crashes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "../unit/fit_case.h"

#include "fit/statistics.h"

#include <errno.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REPLACES_MALLOC 0 /* the sanitizers do that themselves */
#else
#define REPLACES_MALLOC 1
#endif

static long countdown, n_call;
static bool lasting; /* all later ones fail too */

#if REPLACES_MALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);

static bool fails(void)
{
    n_call++;
    if (countdown <= 0)
        return false;
    if (countdown > 1) {
        countdown--;
        return false;
    }
    if (!lasting)
        countdown = 0;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}
#endif

static int line(const struct stiffit_point *at, double *h)
{
    h[0] = at->p[0] * exp(-at->p[1] * at->t);
    return STIFFIT_OK;
}

static int line_slopes(const struct stiffit_point *at, double *h)
{
    h[0] = exp(-at->p[1] * at->t);
    h[1] = -at->t * at->p[0] * h[0];
    return STIFFIT_OK;
}

static const struct stiffit_model model = {STIFFIT_MODEL_HEADER, .n_parameter = 2, .n_observable = 1, .observe = line,
                                           .observe_parameter = line_slopes};

/* The host must not be hit: its evaluations take no memory here. */
static bool ask(void *context, struct evaluation *const *evaluations, size_t n)
{
    struct fit_case *self = context;
    double out[2];
    (void)n;
    struct evaluation *evaluation = evaluations[0];
    for (size_t i = 0; i < self->task.n_row; i++) {
        case_point(&model, evaluation, i, line, evaluation->prediction + i);
        case_point(&model, evaluation, i, line_slopes, out);
        evaluation->d_prediction[i] = out[0];
        evaluation->d_prediction[i + self->task.n_row] = out[1];
    }
    evaluation->outcome = EVALUATION_OK;
    return true;
}

static void test_every_allocation(void **state)
{
    (void)state;
    if (!REPLACES_MALLOC) {
        print_message("a sanitizer owns malloc: skipped\n");
        skip();
    }
    double numbers[5][2], covariance[4];
    uint8_t lack[2];
    struct fit_statistics statistics = {.standard_error = numbers[0], .interval_lower = numbers[1],
                                        .interval_upper = numbers[2], .eigenvalue = numbers[3], .flattest = numbers[4],
                                        .covariance = covariance, .lack = lack, .confidence = 0.95};
    struct fit_case *self = case_new(&model, 400); /* more than the arena's first block */
    for (int i = 0; i < 400; i++)
        self->value[i] = 2 * exp(-0.01 * i) + 0.1 * sin(i);
    self->start[1] = 0.02;
    self->host.ask = ask;
    self->result.statistics = &statistics;
    for (int kind = 0; kind < 4; kind++) {
        lasting = kind % 2;
        self->options.optimizer = kind / 2 ? OPTIMIZER_lbfgs : OPTIMIZER_trf;
        long k = 1, n_failed = 0;
        for (bool hit = true; hit; k++) {
            arena_fini(&self->arena);
            memset(&self->arena, 0, sizeof self->arena);
            countdown = k;
            enum outcome outcome = case_run(self)->outcome;
            hit = lasting ? countdown == 1 : countdown == 0;
            countdown = 0;
            n_failed += outcome == OUTCOME_out_of_memory;
            assert_true(outcome == OUTCOME_out_of_memory || outcome == OUTCOME_converged);
            assert_true(hit || outcome == OUTCOME_converged);
        }
        /* the arena's blocks; libLBFGS's vectors, or the rows that the trust region and the statistics work on */
        print_message("%s, %s: %ld fits of %ld failed\n", optimizer_name((int)self->options.optimizer),
                      lasting ? "from then on" : "once", n_failed, k - 1);
        assert_true(kind / 2 ? n_failed >= 5 && k > 10 : n_failed >= 3 && n_failed == k - 2 - lasting);
    }
    case_free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
