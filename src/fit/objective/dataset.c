/* The problem of one dataset, out of a block of the problem file: its experiments as tasks of
 * the integrator, the values of their rows, and its parameters. All in an arena, so that
 * suspended fits hold no block of the file.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/dataset.h"

#include "ode/pulses.h"
#include "ode/task.h"

/* Fills the task of experiment e of the block, and the values of its rows. */
static bool fill_task(const struct fit_setting *setting, const struct problem_block *block,
                      size_t e, struct arena *arena, struct ode_task *task, struct ode_rows *rows)
{
    const struct measurements given = measurements_from(&block->measured, block->row[e]);
    const struct stiffit_model *abi = &setting->model->abi;
    size_t n_row = block->row[e + 1] - block->row[e];
    *task = (struct ode_task){.n_phase = 0};
    return experiment_copy(&task->experiment, &block->experiment[e], abi->n_covariate,
                           abi->n_input, arena) &&
           ode_task_substitute(task, n_row, arena) &&
           ode_task_sort(task, rows, &given, n_row, setting->error, arena);
}

/* Sets the experiments at whose steady states others begin; place: index of each experiment of
 * the dataset among the tasks. */
static bool set_rest(struct fit_problem *problem, struct ode_task *all,
                     const struct problem_block *block, size_t first, size_t end,
                     const uint32_t *place, struct arena *arena)
{
    uint32_t *rest = arena_alloc(arena, (problem->n_experiment + 1) * sizeof *rest);
    bool any = false;
    problem->preequilibration = NULL;
    if (!rest)
        return false;
    for (size_t e = first; e < end; e++) {
        uint32_t source = block->experiment[e].steady;
        if (place[e - first] == EXPERIMENT_NONE)
            continue;
        rest[place[e - first]] = source == EXPERIMENT_NONE ? EXPERIMENT_NONE : place[source];
        any = any || source != EXPERIMENT_NONE;
        if (source != EXPERIMENT_NONE && !ode_task_add_steady(&all[place[source]], arena))
            return false;
    }
    problem->preequilibration = any ? rest : NULL;
    return true;
}

/* Whether others with rows begin at its steady state. */
static bool is_wanted(const struct problem_block *block, size_t first, size_t end, size_t source)
{
    for (size_t e = first; e < end; e++)
        if (block->experiment[e].steady == source - first && block->row[e + 1] > block->row[e])
            return true;
    return false;
}

/* Fills the tasks of a dataset's experiments, but for those without rows, and the values of all
 * rows, one experiment after the other. */
static bool fill_experiments(struct fit_problem *problem, const struct fit_setting *setting,
                             const struct problem_block *block, size_t row, struct arena *arena)
{
    size_t first = block->first_experiment[row], end = block->first_experiment[row + 1],
           n = end - first, n_row = 0;
    size_t n_given = block->row[end] - block->row[first];
    struct measurements all = {.time = NULL};
    struct ode_task *tasks = arena_calloc(arena, n, sizeof *tasks);
    uint32_t *place = arena_alloc(arena, (n + 1) * sizeof *place);
    if (!tasks || !place)
        return false;
    problem->n_experiment = 0;
    for (size_t e = first; e < end; e++) {
        struct ode_rows rows;
        struct ode_task *task = &tasks[problem->n_experiment];
        if (!fill_task(setting, block, e, arena, task, &rows))
            return false;
        place[e - first] = EXPERIMENT_NONE;
        if (task->n_row == 0 && n > 1 && (n_row > 0 || e + 1 < end) &&
            !is_wanted(block, first, end, e))
            continue;
        place[e - first] = (uint32_t)problem->n_experiment++;
        if (n == 1) {
            all = rows.measured;
        } else {
            void *room = all.time
                           ? NULL
                           : arena_alloc(arena, measurements_bytes(rows.columns, n_given) + 1);
            if (!all.time && !room)
                return false;
            if (room)
                all = measurements_place(rows.columns, n_given, room);
            measurements_copy(&all, n_row, &rows.measured, 0, task->n_row);
        }
        n_row += task->n_row;
    }
    problem->task = tasks;
    problem->measured = all;
    problem->notes = n_row < n_given ? NOTE_missing_values : 0;
    return set_rest(problem, tasks, block, first, end, place, arena);
}

bool dataset_problem(struct fit_problem *problem, const struct fit_setting *setting,
                     const struct problem_block *block, size_t row, uint32_t number,
                     struct arena *arena)
{
    size_t n = setting->n_parameter, offset = row * n;
    if (!fill_experiments(problem, setting, block, row, arena))
        return false;
    if (!setting->has_censored)
        problem->measured.censored = NULL;
    problem->notes |= model_missing_derivatives(setting->model);
    problem->seeks_pulses = !(setting->max_step > 0) &&
                            !pulses_are_declared(&setting->model->abi) &&
                            number < setting->n_start;
    problem->model = setting->model;
    problem->parameter_name = setting->parameter_name;
    problem->n_parameter = n;
    problem->to_model = setting->to_model;
    problem->scale = setting->scale;
    problem->loss = setting->loss;
    problem->mixes = setting->mixes;
    problem->prior = setting->prior;
    problem->start = arena_copy(arena, block->start + offset, n * sizeof(double));
    problem->lower = arena_copy(arena, block->lower + offset, n * sizeof(double));
    problem->upper = arena_copy(arena, block->upper + offset, n * sizeof(double));
    problem->fixed = arena_copy(arena, block->fixed + offset, n);
    problem->rtol = block->rtol[row];
    problem->n_noise = block->n_noise[row] > 0 ? (size_t)block->n_noise[row] : 0;
    problem->seed = setting->seed;
    problem->dataset = block->dataset[row];
    problem->start_number = number < setting->n_start ? number : 0;
    problem->n_start = setting->n_start;
    return problem->start && problem->lower && problem->upper && problem->fixed;
}
