/* Simulates experiments with doses, inputs and events, of model texts that it interprets: what test_events_random.py compares
 * with its own integration. It reads commands, one a line:
 *
 *     model FILE                      the model of what follows; forgets doses, knots and times
 *     dose TIME AMOUNT DURATION INTERVAL COUNT STATE
 *     input TIME VALUE TIME VALUE...  the next input
 *     time TIME SIDE
 *     evaluate RTOL WANTS LANES P...  the parameters; WANTS 1: with sensitivities; LANES 1: in lanes
 *
 * and for each evaluation it prints "OUTCOME CROSSES STEPS REASON", then the predictions at each time, then their derivatives,
 * column by column (an empty line if these are not wanted). With sensitivities CVODES evaluates twice more, in turns: the bits
 * must be the same. OUTCOME is -1 if there are no lanes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "interpreted_model.h"

#include "ode/engine.h"

#include <stdio.h>

enum { MOST = 64, MOST_STEPS = 200000 };

struct scene {
    struct dose dose[MOST];
    struct input input[MOST];
    double knot_time[MOST][MOST], knot_value[MOST][MOST], time[MOST], p[MOST];
    int8_t side[MOST];
    uint32_t sens[MOST], row_time[MOST * MOST], row_observable[MOST * MOST];
    double prediction[MOST * MOST], d_prediction[MOST * MOST * MOST], again[MOST * MOST], d_again[MOST * MOST * MOST];
    struct ode_task task;
    size_t n_input;
};

static void read_all(const char *path)
{
    static char text[1u << 20];
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    interpreted_close();
    if (!interpreted_open(text, n, path)) {
        fprintf(stderr, "%s is no model\n", path);
        exit(1);
    }
}

static size_t read_numbers(char *text, double *number, size_t most)
{
    size_t n = 0;
    for (char *end; n < most; n++, text = end) {
        number[n] = strtod(text, &end);
        if (end == text)
            break;
    }
    return n;
}

static void put_row(const double *number, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%s%.17g", i ? " " : "", number[i]);
    putchar('\n');
}

static bool always(void *context)
{
    (void)context;
    return true;
}

/* Two of one kind, each set aside after every turn of the other. */
static void evaluate_in_turns(struct engine *engine, struct evaluation *one, struct evaluation *two)
{
    const struct engine_turn turn = {.over = always};
    struct evaluation *pair[] = {one, two};
    for (int i = 0, n_left = 2; n_left > 0; i = n_left == 2 ? 1 - i : i) {
        engine_submit(engine, pair[i]);
        if (engine_work(engine, &turn)) {
            pair[i] = pair[1 - i];
            n_left--;
        } else if (!engine_withdraw(engine, pair[i])) {
            abort();
        }
    }
}

static void evaluate(struct scene *s, char *words)
{
    static struct model model;
    double number[MOST + 3];
    struct error error = {0};
    size_t n_p = interpreted.abi.n_parameter, n_o = interpreted.abi.n_observable, n = read_numbers(words, number, MOST + 3);
    if (n != n_p + 3)
        abort();
    memcpy(s->p, number + 3, n_p * sizeof(double));
    s->task.experiment.dose = s->dose;
    s->task.experiment.input = s->input;
    s->task.time = s->time;
    s->task.time_side = s->side;
    s->task.n_row = s->task.n_time * n_o;
    s->task.row_time = s->row_time;
    s->task.row_observable = s->row_observable;
    s->task.experiment.t0 = interpreted.abi.t0;
    for (size_t i = 0; i < s->task.n_row; i++) {
        s->row_time[i] = (uint32_t)(i / n_o);
        s->row_observable[i] = (uint32_t)(i % n_o);
    }
    for (uint32_t k = 0; k < n_p; k++)
        s->sens[k] = k;
    model.abi = interpreted.abi;
    const struct ode_options options = {.rtol = number[0]};
    const struct engine_table *table = number[2] != 0 ? &engine_lanes : &engine_cvodes;
    if (table->refusal && table->refusal(&model.abi)) {
        puts("-1 0 0 no lanes\n\n");
        return;
    }
    struct engine_pool *pool = table->pool_new(table, &model, &options, 2 + table->capacity, 1, &error);
    if (!pool)
        abort();
    pool->table = table;
    struct engine *engine = engine_new(pool, &error);
    struct evaluation evaluation = {.engine = number[2] != 0 ? ENGINE_LANES : ENGINE_CVODES, .task = &s->task, .p = s->p,
                                    .n_sens = number[1] != 0 ? n_p : 0, .sens = s->sens, .max_steps = MOST_STEPS,
                                    .deadline_ns = INT64_MAX, .prediction = s->prediction,
                                    .d_prediction = number[1] != 0 ? s->d_prediction : NULL};
    struct evaluation again = evaluation, third;
    again.prediction = s->again;
    again.d_prediction = evaluation.d_prediction ? s->d_again : NULL;
    third = again;
    engine_evaluate(engine, &evaluation);
    bool in_turns = evaluation.d_prediction && table == &engine_cvodes;
    if (in_turns)
        evaluate_in_turns(engine, &again, &third);
    printf("%d %d %lld %s\n", (int)evaluation.outcome, evaluation.crosses || evaluation.meets,
           (long long)evaluation.n_step, evaluation.reason);
    bool good = evaluation.outcome == EVALUATION_OK;
    size_t size = s->task.n_row * sizeof(double);
    if (good && in_turns && (again.outcome != EVALUATION_OK || memcmp(s->prediction, s->again, size) ||
                                            memcmp(s->d_prediction, s->d_again, size * n_p)))
        printf("what was set aside has other bits\n");
    put_row(s->prediction, good ? s->task.n_row : 0);
    put_row(s->d_prediction, good ? s->task.n_row * evaluation.n_sens : 0);
    engine_free(engine);
    engine_pool_free(pool);
}

int main(void)
{
    static struct scene s;
    static char line[1u << 16];
    while (fgets(line, sizeof line, stdin)) {
        char *space = strchr(line, ' ');
        double number[2 * MOST];
        line[strcspn(line, "\n")] = '\0';
        if (!space)
            continue;
        *space++ = '\0';
        size_t n = strcmp(line, "model") && strcmp(line, "evaluate") ? read_numbers(space, number, 2 * MOST) : 0;
        if (!strcmp(line, "model")) {
            read_all(space);
            s.task = (struct ode_task){0};
            s.n_input = 0;
        } else if (!strcmp(line, "dose") && n == 6) {
            s.dose[s.task.experiment.n_dose++] = (struct dose){.time = number[0], .amount = number[1], .duration = number[2],
                                                    .interval = number[3], .count = (uint32_t)number[4],
                                                    .target = (uint32_t)number[5]};
        } else if (!strcmp(line, "input")) {
            s.input[s.n_input] = (struct input){n / 2, s.knot_time[s.n_input], s.knot_value[s.n_input]};
            for (size_t k = 0; k < n / 2; k++) {
                s.knot_time[s.n_input][k] = number[2 * k];
                s.knot_value[s.n_input][k] = number[2 * k + 1];
            }
            s.n_input++;
        } else if (!strcmp(line, "time") && n == 2) {
            s.side[s.task.n_time] = (int8_t)number[1];
            s.time[s.task.n_time++] = number[0];
        } else {
            evaluate(&s, space);
        }
    }
    interpreted_close();
    return 0;
}
