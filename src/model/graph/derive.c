/* Forward differentiation of whole graphs: one sweep per variable over the nodes that depend on
 * it and that a root needs. The chain rule of each operation is in derive_rules.c.
 *
 * A. Griewank and A. Walther (2008), Evaluating Derivatives, chapter 3, with nodes in place of
 * numbers. Nested sums are skipped: if a sum is used only inside another one, derivatives of its
 * terms go directly to the outermost sum. So in a sum of 100,000 terms a variable costs only the
 * terms that contain it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/derive.h"

#include "base/arena.h"
#include "model/graph/intern.h"

#include <stdlib.h>
#include <string.h>

/* Limit of one call's steps per node that the graph may have, about ten seconds in total; and
 * the steps that an entry of a matrix counts for, because of its memory. */
enum { WORK_PER_NODE = 4, WORK_PER_ENTRY = 8 };

/* How the user of a node combines its derivative. */
enum { STEP_RULE, STEP_ADD, STEP_SUBTRACT };

struct sweep {
    struct graph *graph;
    size_t n;             /* nodes of the graph before its derivatives are added */
    node *derivative;     /* of each node, NODE_NONE for zero */
    uint32_t *step_start; /* n + 1 */
    uint32_t *step;       /* user << 2 | STEP_*, by node */
    uint64_t *word, *summary; /* nodes to visit, one bit each; and the words that are not 0 */
    size_t n_summary;
    node *visited;
    size_t n_visited;
    uint64_t work, max_work;
    bool gave_up;         /* more than max_work */
    struct arena arena;
};

/* Needed only to set up a sweep. */
struct setup {
    uint8_t *depends;
    uint8_t *is_root;
    uint32_t *n_user; /* users that a root needs */
    node *user;       /* the lowest of them */
    uint32_t *target; /* of a sum: number of the outermost sum << 1 | 1 if it enters with a minus */
};

static bool is_sum(enum graph_op op)
{
    return op == GRAPH_ADD || op == GRAPH_SUBTRACT || op == GRAPH_NEGATE;
}

/* Whether argument k of this sum enters with a minus. */
static uint32_t is_minus(enum graph_op op, int k)
{
    return op == GRAPH_NEGATE || (op == GRAPH_SUBTRACT && k == 1);
}

/* Goes from users to arguments: finds what the roots need and where sums end. Returns the number
 * of steps. */
static size_t find_users(const struct graph *graph, size_t n, uint8_t leaf_bit, struct setup *setup)
{
    size_t n_step = 0;
    for (size_t i = n; i-- > 0;) {
        const struct graph_node *it = graph_node(graph, (node)i);
        setup->target[i] = (uint32_t)i << 1;
        if (!(setup->depends[i] & leaf_bit) || (!setup->is_root[i] && !setup->n_user[i]))
            continue;
        if (is_sum(it->op) && !setup->is_root[i] && setup->n_user[i] == 1) {
            node user = setup->user[i];
            const struct graph_node *above = graph_node(graph, user);
            if (is_sum(above->op))
                setup->target[i] = setup->target[user] ^ is_minus(above->op, above->arg[0] != i);
        }
        for (int k = 0; k < graph_n_argument(it->op); k++)
            if (setup->depends[it->arg[k]] & leaf_bit) {
                setup->n_user[it->arg[k]]++;
                setup->user[it->arg[k]] = (node)i;
                n_step++;
            }
    }
    return n_step;
}

static void list_steps(struct sweep *sweep, uint8_t leaf_bit, const struct setup *setup)
{
    uint32_t *start = sweep->step_start, total = 0;
    for (size_t i = 0; i < sweep->n; i++) {
        start[i] = total;
        total += setup->n_user[i];
    }
    for (size_t i = 0; i < sweep->n; i++) {
        const struct graph_node *it = graph_node(sweep->graph, (node)i);
        if (!(setup->depends[i] & leaf_bit) || (!setup->is_root[i] && !setup->n_user[i]))
            continue;
        for (int k = 0; k < graph_n_argument(it->op); k++) {
            if (!(setup->depends[it->arg[k]] & leaf_bit))
                continue;
            uint32_t to = (uint32_t)i << 2 | STEP_RULE;
            if (is_sum(it->op)) {
                uint32_t minus = (setup->target[i] & 1) ^ is_minus(it->op, k);
                to = setup->target[i] >> 1 << 2 | (minus ? STEP_SUBTRACT : STEP_ADD);
            }
            sweep->step[start[it->arg[k]]++] = to;
        }
    }
    memmove(start + 1, start, sweep->n * sizeof *start); /* each start has moved to its end */
    start[0] = 0;
}

static enum status sweep_init(struct sweep *sweep, struct graph *graph, const node *root,
                              size_t n_root, enum graph_op leaf, uint64_t max_work)
{
    size_t n = graph_n_node(graph), n_word = n / 64 + 1, n_summary = n_word / 64 + 1;
    *sweep = (struct sweep){.graph = graph, .n = n, .n_summary = n_summary, .max_work = max_work};
    struct arena scratch = {0}, *arena = &sweep->arena;
    struct setup setup = {.depends = arena_alloc(&scratch, n),
                          .is_root = arena_calloc(&scratch, n, 1),
                          .n_user = arena_calloc(&scratch, n, sizeof *setup.n_user),
                          .user = arena_alloc(&scratch, n * sizeof *setup.user),
                          .target = arena_alloc(&scratch, n * sizeof *setup.target)};
    enum status status = STATUS_NO_MEMORY;
    if (!setup.depends || !setup.is_root || !setup.n_user || !setup.user || !setup.target)
        goto done;
    graph_dependence(graph, 0, setup.depends);
    for (size_t i = 0; i < n_root; i++)
        setup.is_root[root[i]] = 1;
    uint8_t leaf_bit = (uint8_t)(1u << leaf);
    size_t n_step = find_users(graph, n, leaf_bit, &setup);
    sweep->derivative = arena_alloc(arena, n * sizeof *sweep->derivative);
    sweep->step_start = arena_alloc(arena, (n + 1) * sizeof *sweep->step_start);
    sweep->step = arena_alloc(arena, (n_step + 1) * sizeof *sweep->step);
    sweep->word = arena_calloc(arena, n_word + n_summary, sizeof *sweep->word);
    sweep->visited = arena_alloc(arena, n * sizeof *sweep->visited);
    if (!sweep->derivative || !sweep->step_start || !sweep->step || !sweep->word || !sweep->visited)
        goto done;
    sweep->summary = sweep->word + n_word;
    memset(sweep->derivative, 0xff, n * sizeof *sweep->derivative); /* NODE_NONE */
    list_steps(sweep, leaf_bit, &setup);
    status = STATUS_OK;
done:
    arena_fini(&scratch);
    return status;
}

static void mark(struct sweep *sweep, node which)
{
    sweep->word[which / 64] |= UINT64_C(1) << which % 64;
    sweep->summary[which / 4096] |= UINT64_C(1) << which / 64 % 64;
}

/* Takes the lowest marked node and unmarks it; false: none. *at: where to start; users have
 * higher numbers. */
static bool take_next(struct sweep *sweep, size_t *at, node *which)
{
    while (*at < sweep->n_summary && !sweep->summary[*at])
        ++*at;
    if (*at == sweep->n_summary)
        return false;
    size_t i_word = *at * 64 + (size_t)__builtin_ctzll(sweep->summary[*at]);
    *which = (node)(i_word * 64 + (size_t)__builtin_ctzll(sweep->word[i_word]));
    sweep->word[i_word] &= sweep->word[i_word] - 1;
    if (!sweep->word[i_word])
        sweep->summary[*at] &= sweep->summary[*at] - 1;
    return true;
}

/* Passes a derivative on to the users. */
static void hand_on(struct sweep *sweep, node which, node derivative)
{
    size_t end = sweep->step_start[which + 1];
    for (size_t i = sweep->step_start[which]; i < end; i++) {
        node user = sweep->step[i] >> 2, *sum = &sweep->derivative[user];
        switch (sweep->step[i] & 3) {
        case STEP_ADD:
            *sum = *sum == NODE_NONE ? derivative
                                     : graph_binary(sweep->graph, GRAPH_ADD, *sum, derivative);
            break;
        case STEP_SUBTRACT:
            *sum = *sum == NODE_NONE ? graph_unary(sweep->graph, GRAPH_NEGATE, derivative)
                                     : graph_binary(sweep->graph, GRAPH_SUBTRACT, *sum, derivative);
            break;
        default: break;
        }
        mark(sweep, user);
    }
    sweep->work += end - sweep->step_start[which];
}

/* Visits all nodes that depend on the marked leaves, whose derivatives are set. */
static void sweep_run(struct sweep *sweep)
{
    size_t at = 0;
    for (node which; take_next(sweep, &at, &which);) {
        struct graph_node it = *graph_node(sweep->graph, which);
        int n = graph_n_argument(it.op);
        node *derivative = &sweep->derivative[which];
        sweep->visited[sweep->n_visited++] = which;
        if (n && !is_sum(it.op)) {
            node of_argument[3] = {NODE_NONE, NODE_NONE, NODE_NONE};
            for (int k = 0; k < n; k++)
                of_argument[k] = sweep->derivative[it.arg[k]];
            *derivative = derive_operation(sweep->graph, which, of_argument);
        }
        if (*derivative == 0)
            *derivative = NODE_NONE;
        if (*derivative != NODE_NONE)
            hand_on(sweep, which, *derivative);
        sweep->gave_up = ++sweep->work > sweep->max_work;
        if (sweep->gave_up || graph_status(sweep->graph, NULL) != STATUS_OK)
            return;
    }
    sweep->work += at;
}

static void sweep_reset(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->n_visited; i++)
        sweep->derivative[sweep->visited[i]] = NODE_NONE;
    sweep->n_visited = 0;
}

/* Starts from a leaf, if an equation contains it. */
static void sweep_seed(struct sweep *sweep, enum graph_op leaf, size_t index, node seed)
{
    struct graph_node wanted = {.op = leaf};
    wanted.index = (uint32_t)index;
    node which = graph_find(sweep->graph, wanted);
    if (which >= sweep->n || seed == NODE_NONE) /* NODE_NONE, or made only by a derivative */
        return;
    sweep->derivative[which] = seed;
    mark(sweep, which);
}

void graph_matrix_fini(struct graph_matrix *matrix)
{
    free(matrix->column_start);
    free(matrix->row);
    free(matrix->entry);
    *matrix = (struct graph_matrix){0};
}

static bool append_column(struct graph_matrix *matrix, size_t *room, struct sweep *sweep,
                          const node *root)
{
    size_t before = matrix->n_entry;
    for (size_t i = 0; i < matrix->n_row; i++) {
        node derivative = sweep->derivative[root[i]];
        if (derivative == NODE_NONE)
            continue;
        if (matrix->n_entry == *room) {
            *room = *room ? 2 * *room : 64;
            uint32_t *row = realloc(matrix->row, *room * sizeof *row);
            matrix->row = row ? row : matrix->row;
            node *entry = realloc(matrix->entry, *room * sizeof *entry);
            matrix->entry = entry ? entry : matrix->entry;
            if (!row || !entry)
                return false;
        }
        matrix->row[matrix->n_entry] = (uint32_t)i;
        matrix->entry[matrix->n_entry++] = derivative;
    }
    sweep->work += matrix->n_row + WORK_PER_ENTRY * (matrix->n_entry - before);
    return true;
}

enum status graph_jacobian_within(struct graph *graph, const node *root, size_t n_root,
                                  enum graph_op leaf, size_t n_leaf, struct graph_effort *effort,
                                  struct graph_matrix *matrix, struct error *error)
{
    *matrix = (struct graph_matrix){.n_row = n_root, .n_column = n_leaf};
    struct sweep sweep = {0};
    size_t room = 0;
    enum status status = graph_status(graph, error);
    if (status != STATUS_OK)
        goto done;
    matrix->column_start = calloc(n_leaf + 1, sizeof *matrix->column_start);
    if (!matrix->column_start ||
        sweep_init(&sweep, graph, root, n_root, leaf, effort->most) != STATUS_OK)
        graph_fail(graph, STATUS_NO_MEMORY);
    node one = graph_constant(graph, 1);
    for (size_t j = 0; j < n_leaf && !sweep.gave_up && graph_status(graph, NULL) == STATUS_OK;
         j++) {
        sweep_seed(&sweep, leaf, j, one);
        sweep_run(&sweep);
        if (sweep.n_visited && !append_column(matrix, &room, &sweep, root))
            graph_fail(graph, STATUS_NO_MEMORY);
        matrix->column_start[j + 1] = (uint32_t)matrix->n_entry;
        sweep_reset(&sweep);
    }
    status = graph_status(graph, error);
done:
    arena_fini(&sweep.arena);
    effort->is_done = status == STATUS_OK && !sweep.gave_up;
    if (!effort->is_done)
        graph_matrix_fini(matrix);
    return status;
}

enum status graph_jacobian(struct graph *graph, const node *root, size_t n_root, enum graph_op leaf,
                           size_t n_leaf, struct graph_matrix *matrix, struct error *error)
{
    struct graph_effort effort = {(uint64_t)WORK_PER_NODE * graph_limit(graph), false};
    enum status status =
        graph_jacobian_within(graph, root, n_root, leaf, n_leaf, &effort, matrix, error);
    if (status != STATUS_OK || effort.is_done)
        return status;
    graph_fail(graph, STATUS_BAD_MODEL);
    return graph_status(graph, error);
}
