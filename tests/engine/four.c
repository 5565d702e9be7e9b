/* An engine of capacity four, for a program that the tests run: four CVODES engines side by side, of which now this, now that
 * one gets on for a look, so that evaluations finish in another order than they came. They share time evenly, not looks:
 * a look at a slow model takes seconds. With -DBAD=FAILS some evaluations fail; which depends on the first digits of their
 * parameters alone, so that neighbours fail together. With -DBAD=WRONG predictions are too large by a hundredth. With
 * -DBAD=NOISY they have errors of a thousandth that jump from point to point, which no derivative knows. With
 * -DSTANDS_IN it stands in for lanes, with CVODES beside it; for any model whose right-hand side does not jump.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef STANDS_IN
enum { FOUR = STIFFIT_LANES };
#else
enum { FOUR = 4 };
#endif
enum { UNFAIR_NS = 1000000 }; /* how much longer than the others one may have been at work */
enum bad { GOOD, FAILS, WRONG, NOISY };
#ifndef BAD
#define BAD GOOD
#endif
static const double TOO_LARGE = 1.01, NOISE = 1e-3;

struct four_pool {
    struct engine_pool base;
    struct engine_pool *cvodes;
    size_t n_parameter;
};

struct four {
    struct engine base;
    struct four_pool *pool;
    struct engine *cvodes[FOUR];
    struct evaluation *held[FOUR]; /* NULL: there is room */
    int64_t used_ns[FOUR];         /* the worker's time; one that comes in later is taken to have had as much as the others */
    uint64_t random;
};

static void pool_free(struct engine_pool *base)
{
    struct four_pool *pool = (struct four_pool *)base;
    engine_pool_free(pool->cvodes);
    free(pool);
}

static struct engine_pool *pool_new(const struct engine_table *own, const struct model *model,
                                    const struct ode_options *options, size_t n_workspace, size_t n_worker,
                                    struct error *error)
{
    (void)own;
    struct four_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        abort();
    size_t n_aside = n_workspace > n_worker ? n_workspace - n_worker : 0;
    pool->n_parameter = model->abi.n_parameter;
    pool->cvodes = engine_cvodes.pool_new(&engine_cvodes, model, options, n_aside + FOUR * n_worker, FOUR * n_worker, error);
    if (!pool->cvodes) {
        free(pool);
        return NULL;
    }
    pool->cvodes->table = &engine_cvodes;
    return &pool->base;
}

static const char *linear_solver(const struct engine_pool *pool)
{
    return engine_pool_linear_solver(((const struct four_pool *)pool)->cvodes);
}

static void four_free(struct engine *base)
{
    struct four *engine = (struct four *)base;
    for (int i = 0; i < FOUR; i++)
        engine_free(engine->cvodes[i]);
    free(engine);
}

static struct engine *four_new(struct engine_pool *base, struct error *error)
{
    struct four *engine = calloc(1, sizeof *engine);
    if (!engine)
        abort();
    engine->pool = (struct four_pool *)base;
    for (int i = 0; i < FOUR; i++)
        if (!(engine->cvodes[i] = engine_new(engine->pool->cvodes, error))) {
            four_free(&engine->base);
            return NULL;
        }
    return &engine->base;
}

/* The least that an evaluation which is held has used. */
static int64_t least_used_ns(const struct four *engine)
{
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < FOUR; i++)
        if (engine->held[i] && engine->used_ns[i] < least_ns)
            least_ns = engine->used_ns[i];
    return least_ns;
}

static void submit(struct engine *base, struct evaluation *evaluation)
{
    struct four *engine = (struct four *)base;
    int64_t least_ns = least_used_ns(engine);
    int i = 0;
    while (engine->held[i])
        if (++i == FOUR)
            abort();
    engine->used_ns[i] = least_ns < INT64_MAX ? least_ns : 0;
    engine->held[i] = evaluation;
    engine_submit(engine->cvodes[i], evaluation);
}

/* Of the leading bits of the parameters. */
static uint64_t hash_of(const struct four_pool *pool, const struct evaluation *evaluation, int n_bit)
{
    uint64_t hash = 1469598103934665603u; /* FNV-1a */
    for (size_t i = 0; i < pool->n_parameter; i++) {
        uint64_t bits;
        memcpy(&bits, &evaluation->p[i], sizeof bits);
        hash = (hash ^ (bits >> (64 - n_bit))) * 1099511628211u;
    }
    return hash;
}

static void maybe_fail(const struct four_pool *pool, struct evaluation *evaluation)
{
    uint64_t hash = hash_of(pool, evaluation, 19); /* sign, exponent, seven bits of the mantissa */
    if (evaluation->outcome != EVALUATION_OK || hash >> 32 & 7)
        return;
    evaluation->outcome = EVALUATION_ODE_FAILED;
    snprintf(evaluation->reason, sizeof evaluation->reason, "this engine fails here");
}

static void enlarge(struct evaluation *evaluation)
{
    size_t n_row = evaluation->task->n_row, n = evaluation->d_prediction ? n_row * evaluation->n_sens : 0;
    for (size_t i = 0; i < n_row; i++)
        evaluation->prediction[i] *= TOO_LARGE;
    for (size_t i = 0; i < n; i++)
        evaluation->d_prediction[i] *= TOO_LARGE;
}

static void disturb(const struct four_pool *pool, struct evaluation *evaluation)
{
    uint64_t random = hash_of(pool, evaluation, 64);
    for (size_t i = 0; i < evaluation->task->n_row; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        evaluation->prediction[i] *= 1 + NOISE * ((double)(random >> 33) / (double)(1u << 31) * 2 - 1);
    }
}

static bool always(void *context)
{
    (void)context;
    return true;
}

static struct evaluation *work(struct engine *base, const struct engine_turn *turn)
{
    struct four *engine = (struct four *)base;
    const struct engine_turn look = {.over = always, .heartbeat = turn ? turn->heartbeat : NULL};
    for (;;) {
        int n_held = 0, held[FOUR];
        int64_t least_ns = least_used_ns(engine);
        for (int i = 0; i < FOUR; i++)
            if (engine->held[i] && engine->used_ns[i] - least_ns <= UNFAIR_NS)
                held[n_held++] = i;
        if (n_held == 0)
            return NULL;
        engine->random = engine->random * 6364136223846793005u + 1442695040888963407u; /* Knuth, MMIX */
        int i = held[(engine->random >> 33) % (unsigned)n_held];
        int64_t began_ns = clock_now_ns();
        struct evaluation *done = engine_work(engine->cvodes[i], &look);
        engine->used_ns[i] += clock_now_ns() - began_ns;
        if (done) {
            engine->held[i] = NULL;
            if (BAD == FAILS)
                maybe_fail(engine->pool, done);
            if (BAD == WRONG && done->outcome == EVALUATION_OK)
                enlarge(done);
            if (BAD == NOISY && done->outcome == EVALUATION_OK)
                disturb(engine->pool, done);
            return done;
        }
        if (turn && turn->over(turn->context))
            return NULL;
    }
}

static bool withdraw(struct engine *base, struct evaluation *evaluation)
{
    struct four *engine = (struct four *)base;
    for (int i = 0; i < FOUR; i++)
        if (engine->held[i] == evaluation && engine_withdraw(engine->cvodes[i], evaluation)) {
            engine->held[i] = NULL;
            return true;
        }
    return false;
}

static void discard(struct engine_pool *base, struct evaluation *evaluation)
{
    engine_discard(((struct four_pool *)base)->cvodes, evaluation);
}

static const char *refusal(const struct stiffit_model *abi)
{
    return abi->n_switching ? "has switching functions" : NULL;
}

/* As lanes do. */
static bool suits(const struct engine_use *use)
{
    return !use->has_adjoint && !use->has_differences && !use->has_solver && !use->has_periods && !use->has_phases &&
           !use->has_calls;
}

static const struct engine_table table = {
    .capacity = FOUR, .refusal = refusal, .only_plain = true, .suits = suits, .pool_new = pool_new, .pool_free = pool_free,
    .linear_solver = linear_solver, .engine_new = four_new, .engine_free = four_free, .submit = submit, .work = work,
    .withdraw = withdraw, .discard = discard};
const struct engine_table *const engine_in_use[N_ENGINE] =
#ifdef STANDS_IN
    {[ENGINE_CVODES] = &engine_cvodes, [ENGINE_LANES] = &table};
#else
    {[ENGINE_CVODES] = &table};
#endif
