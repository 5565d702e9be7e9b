/* Judges when lanes change the method: steps and errors of model texts, which are interpreted, beside those of CVODES, and of
 * CVODES at tight tolerances. A text begins with a comment "# RTOL END"; parameters are at their starts.
 *
 *     judge_turns FILE...
 *
 * It prints for each model its file and, for each way, "WAY OUTCOME STEPS ATTEMPTS IMPLICIT STATES DERIVATIVES": the last
 * two are the largest error of observables and of their derivatives over rtol times its size.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "interpreted_model.h"

#include "ode/engine.h"

#include <stdio.h>

enum { N_TIME = 12, MOST_STEPS = 10000 };
#define TIGHTEST 1e-12

static const struct way {
    const char *name;
    enum engine_kind engine;
    bool wants_sens, is_stiff, is_exact;
} way[] = {{"exact", ENGINE_CVODES, true, false, true},
           {"cvodes", ENGINE_CVODES, true, false, false},
           {"lanes", ENGINE_LANES, true, false, false},
           {"lanes-states", ENGINE_LANES, false, false, false},
           {"lanes-stiff", ENGINE_LANES, true, true, false}};
enum { N_WAY = sizeof way / sizeof *way };

struct answer {
    struct evaluation evaluation;
    double *prediction, *d_prediction;
};

static struct engine *engine_by(enum engine_kind kind, struct model *model, double rtol, struct engine_pool **pool)
{
    const struct engine_table *table = kind == ENGINE_LANES ? &engine_lanes : &engine_cvodes;
    const struct ode_options options = {.rtol = rtol, .engine = kind};
    struct error error = {0};
    *pool = table->refusal && table->refusal(&model->abi)
                ? NULL : table->pool_new(table, model, &options, 2 + table->capacity, 1, &error);
    if (!*pool)
        return NULL;
    (*pool)->table = table;
    return engine_new(*pool, &error);
}

/* The largest error over rtol and the size of the observable at any time; of derivatives: of p dy/dp or of the observable. */
static void weigh(const struct ode_task *task, const double *p, size_t n_p, size_t n_o, double rtol, const struct answer *exact,
                  const struct answer *found, double *of_y, double *of_s)
{
    *of_y = *of_s = 0;
    for (size_t o = 0; o < n_o; o++)
        for (size_t k = 0; k <= (found->evaluation.d_prediction ? n_p : 0); k++) {
            double unit = k ? fabs(p[k - 1]) : 1, size = 0, largest = 0, off = 0;
            for (size_t i = o; i < task->n_row; i += n_o) {
                double right = k ? exact->d_prediction[i + (k - 1) * task->n_row] : exact->prediction[i];
                double got = k ? found->d_prediction[i + (k - 1) * task->n_row] : found->prediction[i];
                size = fmax(size, unit * fabs(right));
                largest = fmax(largest, fabs(exact->prediction[i]));
                off = fmax(off, unit * fabs(got - right));
            }
            size = fmax(size, k ? largest : 0);
            double *of = k ? of_s : of_y;
            *of = fmax(*of, size > 0 ? off / (rtol * size) : 0);
        }
}

static void judge(const char *name, double rtol, double end)
{
    struct model model = {.abi = interpreted.abi};
    size_t n_o = model.abi.n_observable, n_p = model.abi.n_parameter, n_row = N_TIME * n_o;
    double time[N_TIME], *p = calloc(n_p + 1, sizeof *p);
    uint32_t *sens = calloc(n_p + 1, sizeof *sens), *row_time = calloc(n_row, sizeof *row_time),
             *row_observable = calloc(n_row, sizeof *row_observable);
    struct ode_task task = {.experiment.t0 = model.abi.t0, .n_time = N_TIME, .time = time, .n_row = n_row, .row_time = row_time,
                            .row_observable = row_observable};
    struct answer answer[N_WAY];
    for (int i = 0; i < N_TIME; i++)
        time[i] = model.abi.t0 + end * (i + 1) / N_TIME;
    for (size_t i = 0; i < n_row; i++) {
        row_time[i] = (uint32_t)(i / n_o);
        row_observable[i] = (uint32_t)(i % n_o);
    }
    for (size_t k = 0; k < n_p; k++) {
        p[k] = model.abi.parameter_start[k];
        sens[k] = (uint32_t)k;
    }
    printf("%s", name);
    for (int w = 0; w < N_WAY; w++) {
        struct engine_pool *pool = NULL;
        struct answer *a = &answer[w];
        double of_y = 0, of_s = 0;
        struct engine *engine =
            engine_by(way[w].engine, &model, way[w].is_exact ? fmax(rtol * 1e-3, TIGHTEST) : rtol, &pool);
        a->prediction = calloc(n_row, sizeof(double));
        a->d_prediction = calloc(n_row * n_p + 1, sizeof(double));
        a->evaluation = (struct evaluation){
            .engine = way[w].engine, .task = &task, .p = p, .sens = sens, .n_sens = way[w].wants_sens ? n_p : 0,
            .max_steps = MOST_STEPS, .deadline_ns = INT64_MAX, .prediction = a->prediction,
            .d_prediction = way[w].wants_sens ? a->d_prediction : NULL, .outcome = EVALUATION_NO_MEMORY,
            .course = {way[w].is_stiff, way[w].is_stiff ? -INFINITY : 0}};
        if (engine)
            engine_evaluate(engine, &a->evaluation);
        bool good = a->evaluation.outcome == EVALUATION_OK;
        if (good && answer[0].evaluation.outcome == EVALUATION_OK)
            weigh(&task, p, n_p, n_o, rtol, &answer[0], a, &of_y, &of_s);
        /* both methods of the lanes take eight new stages */
        printf(" | %s %d %lld %lld %lld %.3g %.3g", way[w].name, good ? 0 : 1 + (int)a->evaluation.outcome,
               (long long)a->evaluation.n_step, (long long)(a->evaluation.n_rhs / 8), (long long)a->evaluation.n_factor, of_y,
               of_s);
        if (engine)
            engine_free(engine);
        engine_pool_free(pool);
    }
    printf("\n");
    for (int w = 0; w < N_WAY; w++) {
        free(answer[w].prediction);
        free(answer[w].d_prediction);
    }
    void *const made[] = {p, sens, row_time, row_observable};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        free(made[i]);
}

int main(int argc, char **argv)
{
    static char text[1u << 20];
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        size_t n_byte = file ? fread(text, 1, sizeof text - 1, file) : 0;
        double rtol, end;
        if (file)
            fclose(file);
        text[n_byte] = '\0';
        if (sscanf(text, "# %lf %lf", &rtol, &end) != 2 || !interpreted_open(text, n_byte, argv[i])) {
            printf("%s no model\n", argv[i]);
            continue;
        }
        judge(argv[i], rtol, end);
        interpreted_close();
        fflush(stdout);
    }
    return 0;
}
