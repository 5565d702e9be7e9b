/* Allocates the lanes' numbers, divides the columns into blocks, and chooses the kernel for this CPU.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/lanes/room.h"

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
    if (v3 && HAS("avx512f") && HAS("avx512bw") && HAS("avx512cd") && HAS("avx512dq") && HAS("avx512vl"))
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
        n_char += snprintf(names + n_char, sizeof names - (size_t)n_char, "%s%s", i ? ", " : "", kernel[i]->name);
    }
    error_set(error, STATUS_USAGE, "STIFFIT_LANES_KERNEL: this CPU has no kernel \"%s\", only %s", name, names);
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

bool lanes_room_init(struct lanes_room *room, const struct lanes_plan *plan, const struct lanes_method *method, size_t n_other)
{
    size_t n = plan->n, n_parameter = plan->abi->n_parameter, n_column = n_parameter + n_other, n_input = plan->abi->n_input;
    bool good = true;
    *room = (struct lanes_room){.plan = plan, .method = method};
    for (int k = 0; k < N_LANE; k++) {
        room->outside.since[k] = -INFINITY;
        room->outside.until[k] = INFINITY;
    }
    struct lanes_tolerance *tolerance = &room->tolerance;
    struct lanes_outside *outside = &room->outside;
    struct lanes_scratch *scratch = &room->scratch;
    struct {
        lanes **place;
        size_t n;
    } arrays[] = {{&room->p, n_parameter}, {&room->covariate, plan->abi->n_covariate}, {&room->work, plan->abi->n_work},
                  {&room->unit, n_column}, {(lanes **)&room->active, n_column}, {&room->y, n}, {&room->y_before, n},
                  {&tolerance->size, n}, {&tolerance->guess, n}, {&tolerance->beyond, n}, {&tolerance->born, n},
                  {&tolerance->reach, n}, {&tolerance->noise, n}, {&scratch->factor, plan->n_factor},
                  {&scratch->argument, n}, {&scratch->right, 8 * n}, {&scratch->base, n}, {&scratch->input, 2 * n_input},
                  {&outside->minus_rate, n}, {&outside->input_since, n_input}, {&outside->input_value, n_input},
                  {&outside->input_slope, n_input}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        good = (*arrays[i].place = new_lanes(arrays[i].n)) && good;
    for (int i = 0; i < method->n_stage; i++) {
        room->scratch.derived[i] = new_lanes(plan->n_derive + plan->n_curve);
        room->scratch.curved[i] = room->scratch.derived[i] + plan->n_derive;
        room->scratch.entry[i] = new_lanes(plan->n_entry);
        room->scratch.stage[i] = new_lanes(n + 1);
        good = good && room->scratch.derived[i] && room->scratch.entry[i] && room->scratch.stage[i];
    }
    return good;
}

static void free_blocks(struct lanes_room *room)
{
    for (size_t b = 0; b < room->n_block; b++) {
        struct lanes_block *block = &room->block[b];
        free(block->sens);
        free(block->sens_new);
        free(block->minus_rate);
        for (int i = 0; i < METHOD_STAGES; i++)
            free(block->stage[i]);
        free(block->entry);
    }
    free(room->block);
    room->block = NULL;
    room->n_block = room->n_column = 0;
}

void lanes_room_fini(struct lanes_room *room)
{
    free_blocks(room);
    const struct lanes_tolerance *tolerance = &room->tolerance;
    const struct lanes_outside *outside = &room->outside;
    const struct lanes_scratch *scratch = &room->scratch;
    lanes *arrays[] = {room->p, room->covariate, room->work, room->unit, (lanes *)room->active, room->y, room->y_before,
                       tolerance->size, tolerance->guess, tolerance->beyond, tolerance->born, tolerance->reach,
                       tolerance->noise, scratch->factor, scratch->argument, scratch->right, scratch->base,
                       scratch->input, outside->minus_rate, outside->input_since, outside->input_value,
                       outside->input_slope};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    for (int i = 0; i < METHOD_STAGES; i++) {
        free(room->scratch.derived[i]);
        free(room->scratch.entry[i]);
        free(room->scratch.stage[i]);
    }
}

static bool block_init(struct lanes_block *block, const struct lanes_room *room, const uint32_t *parameter)
{
    const struct lanes_plan *plan = room->plan;
    size_t n_number = plan->n * block->width;
    bool good = (block->sens = new_lanes(2 * n_number)) && (block->sens_new = new_lanes(2 * n_number)) &&
                (block->minus_rate = new_lanes(n_number)) &&
                (block->entry = calloc(plan->n_entry + 1, sizeof *block->entry));
    for (int i = 0; i < room->method->n_stage; i++)
        good = (block->stage[i] = new_lanes(n_number)) && good;
    if (!good)
        return false;
    for (size_t k = 0; k < plan->n_entry; k++)
        for (size_t c = 0; c < block->width; c++)
            if ((uint32_t)plan->entry[k].parameter == parameter[block->first + c])
                block->entry[block->n_entry++] =
                    (struct lanes_term){(int32_t)k, plan->entry[k].row * (int32_t)block->width + (int32_t)c};
    return true;
}

bool lanes_room_set_columns(struct lanes_room *room, size_t n_column, const uint32_t *parameter)
{
    enum { WIDEST = 8 };
    size_t n_block = (n_column + WIDEST - 1) / WIDEST, first = 0;
    free_blocks(room);
    if (n_column == 0)
        return true;
    room->block = calloc(n_block, sizeof *room->block);
    if (!room->block)
        return false;
    room->n_block = n_block;
    for (size_t b = 0; b < n_block; b++) {
        struct lanes_block *block = &room->block[b];
        block->first = first;
        block->width = (n_column - first) / (n_block - b);
        first += block->width;
        if (!block_init(block, room, parameter)) {
            free_blocks(room);
            return false;
        }
    }
    room->n_column = n_column;
    return true;
}
