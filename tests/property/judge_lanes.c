/* Judges the answers of the engine of lanes for models: model texts, which are interpreted, or compiled models (NAME.so). At a
 * random point predictions and sensitivities are held against CVODES at 1e-10, and the derivative in a random direction against
 * differences of lanes without sensitivities. The bits must be those of an evaluation alone.
 *
 *     judge_lanes SEED [--wrong-derive] FILE...
 *
 * It prints a line for each model: its outcome, and what was wrong. With an option, interpreted derivatives are wrong by 1 %,
 * first or second ones.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "interpreted_model.h"

#include "base/random.h"
#include "model/plugin.h"
#include "ode/engine.h"

#include <stdio.h>

enum { N_TIME = 4, MAX_STEPS = 800, N_MOVED = 4, N_TRY = 4 };
#define RATIO 1.7 /* of the wide difference to the narrow one: not an integer, as what swings fast would fool both */
/* No round numbers: at 1, ceil(10 t) may be anything. */
static const double time_of[N_TIME] = {0.0517, 0.2539, 0.6113, 0.9871}, moved_by[N_MOVED] = {-RATIO, -1, 1, RATIO};
/* Both engines' relative tolerance; divided by 10 for what they are compared by. */
#define RTOL 1e-9
#define STEP 0x1p-10 /* of the parameters, in the direction of differences */
/* Errors per tolerance unit in these models reach some 100: what is asked of engines that know their own errors badly. */
#define TOLERANCE 1e-7
#define SHARP 1e-5

struct request {
    struct evaluation evaluation;
    double *p, *prediction, *d_prediction;
};

struct judge {
    const struct stiffit_model *abi;
    struct model model;
    uint64_t stream, drawn;
    struct engine_pool *pool[N_ENGINE];
    struct engine *engine[N_ENGINE];
    struct ode_task task;
    double time[N_TIME], *p, *v, *covariate;
    uint32_t *row_time, *row_observable, *sens;
    /* by lanes alone, in company and moved; by CVODES, and at its tolerance times 10 */
    struct request alone, together, moved[N_MOVED], exact, rough;
    char fault[400];
};

static double uniform(struct judge *j) { return random_uniform(20261122, j->stream, j->drawn++); }

static void request_init(struct judge *j, struct request *r, enum engine_kind engine, bool wants_sens, double tighter)
{
    size_t n_p = j->abi->n_parameter, n_row = j->task.n_row;
    r->p = calloc(n_p + 1, sizeof *r->p);
    memcpy(r->p, j->p, n_p * sizeof *r->p);
    r->prediction = calloc(n_row, sizeof *r->prediction);
    r->d_prediction = calloc(n_row * n_p + 1, sizeof *r->d_prediction);
    r->evaluation = (struct evaluation){
        .engine = engine, .task = &j->task, .p = r->p, .n_sens = wants_sens ? n_p : 0, .sens = j->sens, .max_steps = MAX_STEPS,
        .tighter = tighter, .deadline_ns = INT64_MAX, .prediction = r->prediction,
        .d_prediction = wants_sens ? r->d_prediction : NULL,
        .course = {.is_stiff = j->stream % 2, .stiff_from = -INFINITY}}; /* half of them begin as stiff ones */
}

static void request_fini(struct request *r)
{
    free(r->p);
    free(r->prediction);
    free(r->d_prediction);
    memset(r, 0, sizeof *r);
}

static bool evaluate(struct judge *j, struct request *r)
{
    engine_evaluate(j->engine[r->evaluation.engine], &r->evaluation);
    return r->evaluation.outcome == EVALUATION_OK;
}

/* The largest number of an observable, with p dy/dp: what its errors are compared to. */
static double size_of(const struct judge *j, size_t observable)
{
    size_t n_row = j->task.n_row, n_o = j->abi->n_observable;
    double size = 0;
    for (size_t i = observable; i < n_row; i += n_o) {
        size = fmax(size, fabs(j->exact.prediction[i]));
        for (size_t k = 0; k < j->abi->n_parameter; k++)
            size = fmax(size, fabs(j->exact.d_prediction[i + k * n_row] * j->p[k]));
    }
    return size;
}

/* Lanes against CVODES. Returns whether CVODES was sure. */
static bool compare(struct judge *j)
{
    size_t n_row = j->task.n_row, n_o = j->abi->n_observable;
    bool sharp = true;
    for (size_t o = 0; o < n_o; o++) {
        double size = size_of(j, o), unsure = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = o; i < n_row; i += n_o)
                for (size_t k = 0; k <= j->abi->n_parameter; k++) {
                    size_t at = i + (k ? (k - 1) * n_row : 0);
                    double unit = k ? fabs(j->p[k - 1]) : 1, *exact = k ? j->exact.d_prediction : j->exact.prediction;
                    double *rough = k ? j->rough.d_prediction : j->rough.prediction;
                    double *lanes = k ? j->alone.d_prediction : j->alone.prediction;
                    if (pass == 0)
                        unsure = fmax(unsure, unit * fabs(exact[at] - rough[at]));
                    else if (!(unit * fabs(lanes[at] - exact[at]) <= TOLERANCE * size + 30 * unsure))
                        snprintf(j->fault, sizeof j->fault, "fault: %s[%zu] at %g by %s is %.17g, CVODES says %.17g and %.17g",
                                 k ? "d y" : "y", o, j->time[i / n_o], k ? j->abi->parameter_name[k - 1] : "lanes", lanes[at],
                                 exact[at], rough[at]);
                }
        sharp = sharp && 30 * unsure <= SHARP * size;
    }
    return sharp;
}

/* The derivative along v against differences of order 4. Returns whether they were good: where the time of a jump passes a
 * measurement or a kink in between, the second differences do not grow with the square of the step. */
static bool compare_differences(struct judge *j)
{
    size_t n_row = j->task.n_row, n_o = j->abi->n_observable;
    bool sharp = true;
    for (size_t i = 0; i < n_row; i++) {
        double d[N_MOVED], along = 0, size = size_of(j, i % n_o), twice = 2 * j->alone.prediction[i];
        for (int m = 0; m < N_MOVED; m++)
            d[m] = j->moved[m].prediction[i];
        double near = (d[2] - d[1]) / (2 * STEP), far = (d[3] - d[0]) / (2 * RATIO * STEP);
        for (size_t k = 0; k < j->abi->n_parameter; k++)
            along += j->alone.d_prediction[i + k * n_row] * j->v[k];
        double best = (RATIO * RATIO * near - far) / (RATIO * RATIO - 1), unsure = fabs(near - far);
        double kink = fabs((d[3] - twice + d[0]) / (RATIO * RATIO) - (d[2] - twice + d[1])) / (2 * STEP);
        bool is_good = unsure <= 1e-3 * size && kink <= 0.3 * (SHARP * size + 0.3 * unsure);
        sharp = sharp && is_good;
        if (is_good && !(fabs(along - best) <= SHARP * size + 0.3 * unsure))
            snprintf(j->fault, sizeof j->fault, "differences: d y[%zu] at %g is %.17g, they say %.17g and %.17g",
                     i % n_o, j->time[i / n_o], along, near, far);
    }
    return sharp;
}

static bool same_bits(const struct judge *j, const struct request *a, const struct request *b)
{
    size_t n = j->task.n_row;
    return a->evaluation.outcome == b->evaluation.outcome && a->evaluation.n_step == b->evaluation.n_step &&
           (a->evaluation.outcome != EVALUATION_OK ||
            (memcmp(a->prediction, b->prediction, n * sizeof(double)) == 0 &&
             memcmp(a->d_prediction, b->d_prediction, n * j->abi->n_parameter * sizeof(double)) == 0));
}

/* Everything that lanes are asked for, at once. False: the moved ones are not all there. */
static bool run_together(struct judge *j)
{
    bool good = true;
    request_init(j, &j->together, ENGINE_LANES, true, 10);
    for (int m = 0; m < N_MOVED; m++) {
        request_init(j, &j->moved[m], ENGINE_LANES, false, 10);
        for (size_t k = 0; k < j->abi->n_parameter; k++)
            j->moved[m].p[k] += moved_by[m] * STEP * j->v[k];
        engine_submit(j->engine[ENGINE_LANES], &j->moved[m].evaluation);
        if (m == 1)
            engine_submit(j->engine[ENGINE_LANES], &j->together.evaluation);
    }
    for (struct evaluation *e = NULL; e || (e = engine_work(j->engine[ENGINE_LANES], NULL)); e = e->next)
        good = good && (e == &j->together.evaluation || e->outcome == EVALUATION_OK);
    return good;
}

static const char *judge_point(struct judge *j)
{
    double span = 1;
    for (int i = 0;; i++, span /= 8) {
        for (int k = 0; k < N_TIME; k++)
            j->time[k] = j->abi->t0 + span * time_of[k];
        request_init(j, &j->exact, ENGINE_CVODES, true, 10);
        if (evaluate(j, &j->exact))
            break;
        if (i == N_TRY)
            return "not by CVODES";
        request_fini(&j->exact);
    }
    request_init(j, &j->rough, ENGINE_CVODES, true, 0);
    for (size_t k = 0; k < j->abi->n_parameter; k++) /* shows what magnifies rounding, as the sine of 1e9 */
        j->rough.p[k] *= 1 + (k % 2 ? -1e-13 : 1e-13);
    request_init(j, &j->alone, ENGINE_LANES, true, 10);
    if (!evaluate(j, &j->rough))
        return "not by CVODES";
    bool good = evaluate(j, &j->alone), all = run_together(j);
    if (!same_bits(j, &j->alone, &j->together))
        snprintf(j->fault, sizeof j->fault, "fault: an evaluation alone and one in company differ");
    if (!good) {
        if (!j->fault[0])
            snprintf(j->fault, sizeof j->fault, "%s", j->alone.evaluation.reason);
        return j->abi->n_switching ? "not by lanes, switches" : "not by lanes";
    }
    bool sure = compare(j), good_differences = !j->fault[0] && sure && all && compare_differences(j);
    return good_differences ? "compared, with good differences" : sure ? "compared" : "compared roughly";
}

static const char *judge(struct judge *j)
{
    const struct ode_options options = {.rtol = RTOL, .atol = 0, .linear_solver = LINEAR_AUTO};
    size_t n_p = j->abi->n_parameter, n_row = N_TIME * j->abi->n_observable;
    struct error error = {0};
    const char *said = NULL;
    j->model.abi = *j->abi;
    j->p = calloc(n_p + 1, sizeof(double));
    j->v = calloc(n_p + 1, sizeof(double));
    j->covariate = calloc(j->abi->n_covariate + 1, sizeof(double));
    j->sens = calloc(n_p + 1, sizeof *j->sens);
    j->row_time = calloc(n_row, sizeof *j->row_time);
    j->row_observable = calloc(n_row, sizeof *j->row_observable);
    for (size_t i = 0; i < n_row; i++) {
        j->row_time[i] = (uint32_t)(i / j->abi->n_observable);
        j->row_observable[i] = (uint32_t)(i % j->abi->n_observable);
    }
    for (uint32_t k = 0; k < n_p; k++) {
        j->sens[k] = k;
        j->p[k] = (j->abi->parameter_start ? j->abi->parameter_start[k] : 1) * (0.7 + 0.6 * uniform(j));
        j->v[k] = j->p[k] * (2 * uniform(j) - 1);
    }
    for (uint32_t k = 0; k < j->abi->n_covariate; k++)
        j->covariate[k] = 0.5 + uniform(j);
    j->task = (struct ode_task){.experiment = {.t0 = j->abi->t0, .covariate = j->covariate},
                                .n_time = N_TIME, .time = j->time, .n_row = n_row, .row_time = j->row_time,
                                .row_observable = j->row_observable};
    const struct engine_table *const table[N_ENGINE] = {[ENGINE_CVODES] = &engine_cvodes, [ENGINE_LANES] = &engine_lanes};
    for (int kind = 0; !said && kind < N_ENGINE; kind++) {
        if (!table[kind])
            continue;
        j->pool[kind] = table[kind]->pool_new(table[kind], &j->model, &options, table[kind]->capacity, 1, &error);
        if (j->pool[kind])
            j->pool[kind]->table = table[kind];
        if (!j->pool[kind] || !(j->engine[kind] = engine_new(j->pool[kind], &error)))
            said = snprintf(j->fault, sizeof j->fault, "fault: %s", error.message) > 0 ? "no engine" : "";
    }
    return said ? said : judge_point(j);
}

static void judge_fini(struct judge *j)
{
    struct request *const all[] = {&j->alone, &j->together, &j->exact, &j->rough};
    for (int i = 0; i < N_MOVED; i++)
        request_fini(&j->moved[i]);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        request_fini(all[i]);
    for (int kind = 0; kind < N_ENGINE; kind++) {
        if (j->engine[kind])
            engine_free(j->engine[kind]);
        engine_pool_free(j->pool[kind]);
    }
    void *const made[] = {j->p, j->v, j->covariate, j->sens, j->row_time, j->row_observable};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        free(made[i]);
}

static char *read_all(const char *path, size_t *n_byte)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(1u << 20);
    *n_byte = file && text ? fread(text, 1, 1u << 20, file) : 0;
    if (file)
        fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--wrong-derive")) {
            interpreted.wrong[LANES_DERIVE] = 0.01;
            continue;
        }
        size_t length = strlen(argv[i]), n_byte;
        bool is_compiled = length > 3 && strcmp(argv[i] + length - 3, ".so") == 0;
        struct judge j = {.stream = strtoull(argv[1], NULL, 10) + (uint64_t)i};
        struct model loaded = {0};
        struct error error = {0};
        char *text = is_compiled ? NULL : read_all(argv[i], &n_byte);
        if (is_compiled ? model_load(&loaded, argv[i], NULL, &error) != STATUS_OK : !interpreted_open(text, n_byte, argv[i]))
            snprintf(j.fault, sizeof j.fault, "fault: no model: %s", error.message);
        j.abi = is_compiled ? &loaded.abi : &interpreted.abi;
        const char *said = j.fault[0] ? "" : engine_lanes.refusal(j.abi) ? "no lanes" : judge(&j);
        printf("%s: %s%s%s\n", argv[i], said, j.fault[0] ? ": " : "", j.fault);
        judge_fini(&j);
        if (is_compiled)
            model_unload(&loaded);
        else
            interpreted_close();
        free(text);
        fflush(stdout);
    }
    return 0;
}
