/* Which engine takes what, and a worker's engines: the one that was asked for, and the reference
 * beside it for evaluations that the first does not take, those of fits that have left it, and
 * checks. A worker has as many of the reference as the first holds evaluations, because all may
 * be for the reference; but no more than a few, for which others wait.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

#include "base/clock.h"
#include "ode/memo.h"

#include <math.h>
#include <stdlib.h>

#define ENGINE_WORD(id, word, table) word,
const char *const engine_word[N_ENGINE] = {ENGINE_LIST(ENGINE_WORD)};

const char *engine_refusal(enum engine_kind kind, const struct stiffit_model *abi)
{
    const struct engine_table *table = engine_in_use[kind];
    return !table           ? "cannot be simulated by it in this program"
           : table->refusal ? table->refusal(abi)
                            : NULL;
}

enum engine_kind engine_of_bits(enum engine_kind kind)
{
    for (int other = 0; other < N_ENGINE; other++)
        if (engine_in_use[kind] && engine_in_use[kind]->like &&
            engine_in_use[other] == engine_in_use[kind]->like)
            return (enum engine_kind)other;
    return kind;
}

enum engine_kind engine_choose(const struct stiffit_model *abi, const struct engine_use *use)
{
    for (int kind = N_ENGINE - 1; kind > ENGINE_REFERENCE; kind--)
        if (engine_in_use[kind] && engine_in_use[kind]->suits && engine_in_use[kind]->suits(use) &&
            !engine_refusal((enum engine_kind)kind, abi))
            return (enum engine_kind)kind;
    return ENGINE_REFERENCE;
}

/* Engines of the reference that a worker has at most. */
enum { MOST_OF_REFERENCE = 16 };

struct both_pool {
    struct engine_pool base;
    enum engine_kind kind;            /* of the first one */
    const struct stiffit_model *abi;
    struct ode_options options;
    struct engine_pool *of[N_ENGINE]; /* that one's, and the reference's */
};

struct part {
    struct engine *engine;
    struct evaluation *evaluation; /* the reference: the one that it holds */
    size_t n;                      /* evaluations that it holds */
    int64_t used_ns;               /* for each of them; a newcomer is taken to have had as much
                                    * as the others */
};

struct both {
    struct engine base;
    const struct both_pool *pool;
    size_t n;                      /* evaluations that all parts hold, that wait for one, or that
                                    * are answered */
    struct evaluation *waiting;    /* for the reference */
    struct evaluation *answered;   /* by the memo */
    size_t n_answered;
    struct memo *memo;
    size_t n_part;
    struct part part[];            /* part 0 is the first engine; each other part holds one
                                    * evaluation for the reference */
};

static void adopt(struct engine_pool *pool, const struct engine_table *table)
{
    pool->table = table;
    pool->capacity = pool->capacity ? pool->capacity : table->capacity;
}

static void pool_free(struct engine_pool *base)
{
    struct both_pool *pool = (struct both_pool *)base;
    for (int kind = 0; kind < N_ENGINE; kind++)
        engine_pool_free(pool->of[kind]);
    free(pool);
}

static struct engine_pool *pool_new(const struct engine_table *both, const struct model *model,
                                    const struct ode_options *options, size_t n_workspace,
                                    size_t n_worker, struct error *error)
{
    (void)both;
    struct both_pool *pool = calloc(1, sizeof *pool);
    if (!pool) {
        error_set(error, STATUS_NO_MEMORY, "no memory for the engines of %zu workers", n_worker);
        return NULL;
    }
    pool->kind = options->engine;
    pool->abi = &model->abi;
    pool->options = *options;
    size_t capacity = engine_in_use[pool->kind]->capacity;
    size_t n_held = (capacity < MOST_OF_REFERENCE ? capacity : MOST_OF_REFERENCE) * n_worker;
    size_t n_aside = n_workspace > n_worker ? n_workspace - n_worker : 0;
    for (int kind = 0; kind < N_ENGINE; kind++) {
        const struct engine_table *table = engine_in_use[kind];
        bool is_first = kind == (int)pool->kind;
        if (!is_first && kind != ENGINE_REFERENCE)
            continue;
        pool->of[kind] = table->pool_new(table, model, options, n_aside + n_held,
                                         is_first ? n_worker : n_held, error);
        if (!pool->of[kind]) {
            pool_free(&pool->base);
            return NULL;
        }
        adopt(pool->of[kind], table);
    }
    pool->base.capacity = pool->of[pool->kind]->capacity;
    return &pool->base;
}

static const char *linear_solver(const struct engine_pool *pool)
{
    return engine_pool_linear_solver(((const struct both_pool *)pool)->of[ENGINE_REFERENCE]);
}

static bool tell(const struct engine_pool *base, bool is_end, char *line, size_t size)
{
    const struct both_pool *pool = (const struct both_pool *)base;
    return engine_pool_tell(pool->of[pool->kind], is_end, line, size);
}

static uint32_t cost(const struct engine_pool *base, size_t n)
{
    const struct both_pool *pool = (const struct both_pool *)base;
    return engine_cost(pool->of[pool->kind], n);
}

static void both_free(struct engine *base)
{
    struct both *both = (struct both *)base;
    for (size_t i = 0; i < both->n_part; i++)
        engine_free(both->part[i].engine);
    memo_free(both->memo);
    free(both);
}

static struct engine *both_new(struct engine_pool *base, struct error *error)
{
    const struct both_pool *pool = (const struct both_pool *)base;
    size_t capacity = pool->of[pool->kind]->capacity;
    size_t n_part = 1 + (capacity < MOST_OF_REFERENCE ? capacity : MOST_OF_REFERENCE);
    struct both *both = calloc(1, sizeof *both + n_part * sizeof both->part[0]);
    struct memo *memo = both ? memo_new(pool->abi, &pool->options) : NULL;
    if (!memo) {
        free(both);
        error_set(error, STATUS_NO_MEMORY, "no memory for a worker's engines");
        return NULL;
    }
    both->pool = pool;
    both->memo = memo;
    both->n_part = n_part;
    for (size_t i = 0; i < n_part; i++) {
        both->part[i].engine = engine_new(pool->of[i ? ENGINE_REFERENCE : pool->kind], error);
        if (!both->part[i].engine) {
            both_free(&both->base);
            return NULL;
        }
    }
    return &both->base;
}

/* The part that holds evaluations and has had the least time for each of them; NULL: none does. */
static struct part *next(struct both *both)
{
    struct part *least = NULL;
    for (size_t i = 0; i < both->n_part; i++) {
        struct part *part = &both->part[i];
        if (part->n && (!least || part->used_ns < least->used_ns))
            least = part;
    }
    return least;
}

/* The part that an evaluation is for: the first engine, or the one of the reference that holds
 * `held` (NULL: nothing). NULL: no part does. */
static struct part *part_for(struct both *both, const struct evaluation *evaluation,
                             const struct evaluation *held)
{
    struct part *part = both->part;
    if (engine_for(evaluation, both->pool->kind) != ENGINE_REFERENCE)
        return part;
    for (part++; part < both->part + both->n_part && part->evaluation != held; part++)
        ;
    return part < both->part + both->n_part ? part : NULL;
}

/* False: it must wait until a part is free. */
static bool put(struct both *both, struct evaluation *evaluation)
{
    struct part *least = next(both), *part = part_for(both, evaluation, NULL);
    if (!part)
        return false;
    if (part->n++ == 0)
        part->used_ns = least ? least->used_ns : 0;
    if (part != both->part)
        part->evaluation = evaluation;
    engine_submit(part->engine, evaluation);
    return true;
}

static void submit(struct engine *base, struct evaluation *evaluation)
{
    struct both *both = (struct both *)base;
    struct evaluation **last = &both->waiting;
    both->n++;
    if (evaluation->excess && !evaluation->state && memo_answers(both->memo, evaluation)) {
        evaluation->next = both->answered;
        both->answered = evaluation;
        both->n_answered++;
        return;
    }
    if (put(both, evaluation))
        return;
    while (*last)
        last = &(*last)->next;
    *last = evaluation;
    evaluation->next = NULL;
}

static void put_waiting(struct both *both)
{
    while (both->waiting) {
        struct evaluation *first = both->waiting, *after = first->next;
        if (!put(both, first))
            return;
        both->waiting = after;
    }
}

static bool always(void *context)
{
    (void)context;
    return true;
}

static struct evaluation *work(struct engine *base, const struct engine_turn *turn)
{
    struct both *both = (struct both *)base;
    const struct engine_turn look = {.over = always, .heartbeat = turn ? turn->heartbeat : NULL};
    struct evaluation *done = both->answered;
    both->n -= both->n_answered;
    both->n_answered = 0;
    both->answered = NULL;
    for (struct part *part; !done && (part = next(both));) {
        bool is_alone = part->n == both->n;
        int64_t began_ns = is_alone ? 0 : clock_now_ns();
        done = engine_work(part->engine, is_alone ? turn : &look);
        if (!is_alone)
            part->used_ns += (clock_now_ns() - began_ns) / (int64_t)part->n;
        for (const struct evaluation *each = done; each; each = each->next, part->n--, both->n--) {
            part->evaluation = NULL;
            if (each->excess)
                memo_keep(both->memo, each);
        }
        if (both->waiting)
            put_waiting(both);
        if (!done && (is_alone || (turn && turn->over(turn->context))))
            break;
    }
    both->base.n_seat = both->part[0].engine->n_seat;
    both->base.n_held = both->part[0].engine->n_held;
    return done;
}

typedef bool take_out(struct engine *engine, struct evaluation *evaluation);

static bool leave(struct engine *base, struct evaluation *evaluation, take_out *from)
{
    struct both *both = (struct both *)base;
    struct part *part = part_for(both, evaluation, evaluation);
    if (!part) {
        struct evaluation **link = &both->waiting;
        while (*link != evaluation)
            link = &(*link)->next;
        *link = evaluation->next;
        both->n--;
        return true;
    }
    if (!from(part->engine, evaluation))
        return false;
    part->evaluation = NULL;
    part->n--;
    both->n--;
    put_waiting(both);
    return true;
}

static bool withdraw(struct engine *base, struct evaluation *evaluation)
{
    return leave(base, evaluation, engine_withdraw);
}

static bool give_up(struct engine *base, struct evaluation *evaluation)
{
    return leave(base, evaluation, engine_give_up);
}

static void discard(struct engine_pool *base, struct evaluation *evaluation)
{
    struct both_pool *pool = (struct both_pool *)base;
    engine_discard(pool->of[engine_for(evaluation, pool->kind)], evaluation);
}

/* Each evaluation goes to the one that it is for. */
static const struct engine_table both_table = {
    .pool_new = pool_new, .pool_free = pool_free, .tell = tell, .linear_solver = linear_solver,
    .cost = cost, .engine_new = both_new, .engine_free = both_free, .submit = submit, .work = work,
    .withdraw = withdraw, .give_up = give_up,
    .discard = discard};

static enum status check_options(const struct ode_options *options, struct error *error)
{
    if (!(options->rtol > 0 && options->rtol < 1))
        return error_set(error, STATUS_USAGE, "rtol must be above 0 and below 1, not %g",
                         options->rtol);
    if (!(options->atol >= 0 && isfinite(options->atol)))
        return error_set(error, STATUS_USAGE,
                         "atol must be 0 (the states' own sizes) or above and finite, not %g",
                         options->atol);
    return STATUS_OK;
}

struct engine_pool *engine_pool_new(const struct model *model, const struct ode_options *options,
                                    size_t n_workspace, size_t n_worker, struct error *error)
{
    bool is_reference = options->engine == ENGINE_REFERENCE;
    const struct engine_table *table = is_reference ? engine_in_use[ENGINE_REFERENCE] : &both_table;
    if (n_worker == 0)
        error_set(error, STATUS_INTERNAL, "an engine pool for no workers");
    if (n_worker == 0 || check_options(options, error))
        return NULL;
    struct engine_pool *pool = table->pool_new(table, model, options, n_workspace, n_worker, error);
    if (pool)
        adopt(pool, table);
    return pool;
}

void engine_evaluate(struct engine *engine, struct evaluation *evaluation)
{
    engine_submit(engine, evaluation);
    while (!engine_work(engine, NULL))
        ;
}
