/* Allocates the lanes' numbers, divides the columns into blocks, and chooses the kernel for this
 * CPU.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/lanes/bank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct lanes_kernel lanes_kernel_plain, lanes_kernel_v3, lanes_kernel_v4;

enum { MOST_KERNELS = 3 };

/* Lists the kernels that this CPU can run, the widest first. Returns their number. */
static int list_kernels(const struct lanes_kernel *kernel[MOST_KERNELS])
{
    int n = 0;
#if defined(__x86_64__)
    /* clang 14 has no names for the levels; CPUs with these have the rest of them, too. */
#define HAS __builtin_cpu_supports
    __builtin_cpu_init();
    bool v3 = HAS("avx2") && HAS("bmi") && HAS("bmi2") && HAS("fma");
    if (v3 && HAS("avx512f") && HAS("avx512bw") && HAS("avx512cd") && HAS("avx512dq") &&
        HAS("avx512vl"))
        kernel[n++] = &lanes_kernel_v4;
    if (v3)
        kernel[n++] = &lanes_kernel_v3;
#undef HAS
#endif
    kernel[n++] = &lanes_kernel_plain;
    return n;
}

const struct lanes_kernel *lanes_kernel_choose(const char *name, struct error *error)
{
    const struct lanes_kernel *kernel[MOST_KERNELS];
    int n = list_kernels(kernel), n_char = 0;
    char names[64];
    if (!name || !*name)
        return kernel[0];
    for (int i = 0; i < n; i++) {
        if (strcmp(name, kernel[i]->name) == 0)
            return kernel[i];
        n_char += snprintf(names + n_char, sizeof names - (size_t)n_char, "%s%s", i ? ", " : "",
                           kernel[i]->name);
    }
    error_set(error, STATUS_USAGE, "STIFFIT_LANES_KERNEL: this CPU has no kernel \"%s\", only %s",
              name, names);
    return NULL;
}

bool lanes_kernel_is_fast(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

static lanes *new_lanes(size_t n)
{
    lanes *x = aligned_alloc(sizeof *x, (n + 1) * sizeof *x);
    if (x)
        memset(x, 0, (n + 1) * sizeof *x);
    return x;
}

bool lanes_bank_init(struct lanes_bank *bank, const struct lanes_plan *plan,
                     const struct lanes_method *method, size_t n_other)
{
    size_t n = plan->n, n_parameter = plan->abi->n_parameter, n_column = n_parameter + n_other,
           n_input = plan->abi->n_input;
    bool good = true;
    bool has_code = plan->algebra.columns || plan->algebra.stages;
    *bank = (struct lanes_bank){.plan = plan, .method = method,
                                .by_column = has_code && !method->has_slopes,
                                .n_lane = N_LANE, .n_share = 1};
    for (int k = 0; k < N_LANE; k++) {
        bank->outside.since[k] = -INFINITY;
        bank->outside.until[k] = INFINITY;
    }
    struct lanes_tolerance *tolerance = &bank->tolerance;
    struct lanes_outside *outside = &bank->outside;
    struct lanes_scratch *scratch = &bank->scratch;
    struct {
        lanes **place;
        size_t n;
    } arrays[] = {{&bank->p, n_parameter},
                  {&bank->covariate, plan->abi->n_covariate},
                  {&bank->work, plan->abi->n_work},
                  {&bank->unit, n_column},
                  {(lanes **)&bank->active, n_column},
                  {&bank->y, n},
                  {&bank->y_before, n},
                  {&bank->low, n},
                  {&tolerance->size, n},
                  {&tolerance->guess, n},
                  {&tolerance->beyond, n},
                  {&tolerance->born, n},
                  {&tolerance->reach, n},
                  {&tolerance->noise, n},
                  {&scratch->factor, plan->n_factor},
                  {&scratch->argument, n},
                  {&scratch->right, 8 * n},
                  {&scratch->base, n},
                  {&scratch->tolerance, n},
                  {&scratch->factor_end, plan->n_factor},
                  {&scratch->input, 2 * n_input},
                  {&outside->minus_rate, n},
                  {&outside->input_since, n_input},
                  {&outside->input_value, n_input},
                  {&outside->input_slope, n_input}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        good = (*arrays[i].place = new_lanes(arrays[i].n)) && good;
    good = (bank->entry = calloc(plan->n_entry + 1, sizeof *bank->entry)) && good;
    for (int i = 0; i < method->n_stage; i++) {
        bank->scratch.derived[i] = new_lanes(plan->n_derive + plan->n_curve);
        bank->scratch.curved[i] = bank->scratch.derived[i] + plan->n_derive;
        bank->scratch.entry[i] = new_lanes(plan->n_entry);
        bank->scratch.stage[i] = new_lanes(n + 1);
        good = good && bank->scratch.derived[i] && bank->scratch.entry[i] && bank->scratch.stage[i];
    }
    return good;
}

void lanes_bank_fini(struct lanes_bank *bank)
{
    free(bank->block);
    free(bank->memory);
    free(bank->entry);
    free(bank->columns);
    free(bank->which);
    const struct lanes_tolerance *tolerance = &bank->tolerance;
    const struct lanes_outside *outside = &bank->outside;
    const struct lanes_scratch *scratch = &bank->scratch;
    lanes *arrays[] = {bank->p,
                       bank->covariate,
                       bank->work,
                       bank->unit,
                       (lanes *)bank->active,
                       bank->y,
                       bank->y_before,
                       bank->low,
                       tolerance->size,
                       tolerance->guess,
                       tolerance->beyond,
                       tolerance->born,
                       tolerance->reach,
                       tolerance->noise,
                       scratch->factor,
                       scratch->argument,
                       scratch->right,
                       scratch->base,
                       scratch->tolerance,
                       scratch->factor_end,
                       scratch->input,
                       outside->minus_rate,
                       outside->input_since,
                       outside->input_value,
                       outside->input_slope};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    for (int i = 0; i < METHOD_STAGES; i++) {
        free(bank->scratch.derived[i]);
        free(bank->scratch.entry[i]);
        free(bank->scratch.stage[i]);
    }
}

/* Matrices of a block: sens and sens_new, with one that follows each, and minus_rate; then the
 * stages. */
enum { N_ZERO = 5, N_MATRIX = N_ZERO + METHOD_STAGES };

/* parameter: those of the bank's columns, n of them. Its entries go to `entry`. */
static void block_init(struct lanes_block *block, const struct lanes_bank *bank, size_t n,
                       const uint32_t *parameter, struct stiffit_lanes_entry *entry)
{
    const struct lanes_plan *plan = bank->plan;
    size_t n_number = plan->n * block->width, n_share = (size_t)bank->n_share;
    size_t first = block->first * n_share, end = (block->first + block->width) * n_share;
    lanes *at = bank->memory + plan->n * block->first * N_MATRIX;
    memset(at, 0, N_ZERO * n_number * sizeof *at);
    block->sens = at;
    block->sens_new = at + 2 * n_number;
    block->minus_rate = at + 4 * n_number;
    for (size_t i = 0; i < METHOD_STAGES; i++)
        block->stage[i] = at + (N_ZERO + i) * n_number;
    block->entry = entry;
    block->n_entry = 0;
    block->which = bank->which + plan->n * block->first;
    for (size_t e = 0; e < n_number; e++)
        block->which[e] = (int64_t)(N_LANE * plan->n_entry);
    for (size_t k = 0; k < plan->n_entry; k++)
        for (size_t i = first; i < end && i < n; i++)
            if ((uint32_t)plan->entry[k].parameter == parameter[i])
                block->entry[block->n_entry++] = (struct stiffit_lanes_entry){
                    .value = (int64_t)(N_LANE * k),
                    .row = (int64_t)(N_LANE * lanes_place(bank, block, (size_t)plan->entry[k].row,
                                                          (i - first) / n_share)),
                    .rank = (int64_t)(N_LANE * (i % n_share))};
    for (; n_share == 1 && bank->by_column && plan->algebra.stages && block->n_entry > 0;
         block->n_entry--) {
        const struct stiffit_lanes_entry *last = &entry[block->n_entry - 1];
        block->which[last->row / N_LANE] = last->value;
    }
}

static void set_ranks(struct lanes_bank *bank, int n_share)
{
    bank->n_share = n_share;
    for (int rank = 0; rank < N_LANE; rank++)
        for (int k = 0; k < N_LANE; k++)
            bank->of_rank[rank][k] = -(k % n_share == rank);
}

/* Columns of a block: the kernel's functions share what they load of the model over as many as
 * the registers hold; where the model's functions do not need that, the block's numbers of all
 * stages fit the first-level cache (of 48 KiB). */
static size_t widest_block(const struct lanes_bank *bank)
{
    enum { WIDEST = 8, NARROWEST = 2, CACHE = 44 * 1024 };
    size_t fit = CACHE / ((size_t)(bank->method->n_stage + 3) * bank->plan->n * sizeof(lanes));
    return !bank->by_column || fit > WIDEST ? WIDEST : fit < NARROWEST ? NARROWEST : fit;
}

static size_t columns_of(size_t n, int n_share)
{
    return (n + (size_t)n_share - 1) / (size_t)n_share;
}

static size_t blocks_of(const struct lanes_bank *bank, size_t n_column)
{
    size_t widest = widest_block(bank);
    return (n_column + widest - 1) / widest;
}

/* New memory for n_matrix columns of states, or for n_block blocks; 0: what there is suffices. */
static bool make_larger(struct lanes_bank *bank, size_t n_matrix, size_t n_block)
{
    size_t n_number = n_matrix * (N_MATRIX + 1);
    lanes *memory = n_matrix ? new_lanes(n_number) : NULL;
    int64_t *which = n_matrix ? calloc(n_matrix, sizeof *which) : NULL;
    struct lanes_block *block = n_block ? calloc(n_block, sizeof *block) : NULL;
    struct stiffit_lanes_columns *columns = n_block ? calloc(n_block, sizeof *columns) : NULL;
    bool good = (!n_matrix || (memory && which)) && (!n_block || (block && columns));
    if (good && n_matrix) {
        free(bank->memory);
        free(bank->which);
        bank->memory = memory;
        bank->which = which;
        bank->n_memory = n_number;
    }
    if (good && n_block) {
        free(bank->block);
        free(bank->columns);
        bank->block = block;
        bank->columns = columns;
        bank->most_blocks = n_block;
    }
    if (good)
        return true;
    free(memory);
    free(which);
    free(block);
    free(columns);
    return false;
}

bool lanes_bank_reserve(struct lanes_bank *bank, size_t n, int n_share)
{
    size_t n_column = columns_of(n, n_share), n_matrix = bank->plan->n * n_column,
           n_block = blocks_of(bank, n_column);
    bool has_memory = n_matrix * (N_MATRIX + 1) <= bank->n_memory,
         has_blocks = n_block <= bank->most_blocks;
    return (has_memory && has_blocks)
           || make_larger(bank, has_memory ? 0 : n_matrix, has_blocks ? 0 : n_block);
}

void lanes_bank_set_columns(struct lanes_bank *bank, size_t n, const uint32_t *parameter,
                            int n_share)
{
    size_t n_column = columns_of(n, n_share), n_block = blocks_of(bank, n_column), first = 0;
    struct stiffit_lanes_entry *entry = bank->entry;
    set_ranks(bank, n_share);
    bank->right = bank->memory + bank->plan->n * n_column * N_MATRIX;
    bank->n_block = n_block;
    for (size_t b = 0; b < n_block; b++) {
        struct lanes_block *block = &bank->block[b];
        block->first = first;
        block->width = (n_column - first) / (n_block - b);
        first += block->width;
        block_init(block, bank, n, parameter, entry);
        entry += block->n_entry;
    }
    bank->n_column = n_column;
}
