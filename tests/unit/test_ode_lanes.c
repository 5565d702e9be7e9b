/* The engine of lanes: answers against closed forms and against CVODES at tight tolerances; the same bits whatever is in other
 * lanes, in any order, after withdrawing, and with each kernel; lanes that fail alone; budgets.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"
#include "ode_side.h"

#include "ode/lanes/bank.h"

enum { MAX_ANSWER = 200 };

/* An evaluation with room for its answer: all observables at all times. */
struct request {
    struct evaluation evaluation;
    struct ode_task task;
    uint32_t row_time[MAX_ANSWER], row_observable[MAX_ANSWER], sens[8];
    double p[8], prediction[MAX_ANSWER], d_prediction[MAX_ANSWER];
};

static void request_init(struct request *r, const struct stiffit_model *abi, const double *p, const double *covariate,
                         size_t n_time, const double *time)
{
    memset(r, 0, sizeof *r);
    memcpy(r->p, p, abi->n_parameter * sizeof *p);
    for (uint32_t j = 0; j < abi->n_parameter; j++)
        r->sens[j] = j;
    size_t n_row = n_time * abi->n_observable;
    assert_true(n_row * abi->n_parameter <= MAX_ANSWER);
    for (size_t i = 0; i < n_row; i++) {
        r->row_time[i] = (uint32_t)(i / abi->n_observable);
        r->row_observable[i] = (uint32_t)(i % abi->n_observable);
    }
    r->task = (struct ode_task){.experiment.covariate = covariate, .n_time = n_time, .time = time, .n_row = n_row,
                                .row_time = r->row_time, .row_observable = r->row_observable};
    r->evaluation = (struct evaluation){.task = &r->task, .p = r->p, .n_sens = abi->n_parameter, .sens = r->sens,
                                        .max_steps = 100000, .deadline_ns = INT64_MAX, .prediction = r->prediction,
                                        .d_prediction = r->d_prediction};
}

static void run(struct side *s, struct request *r)
{
    engine_evaluate(s->engine, &r->evaluation);
    if (r->evaluation.outcome != EVALUATION_OK)
        fail_msg("%s", r->evaluation.reason);
}

static void assert_same_answer(const struct request *a, const struct request *b)
{
    assert_int_equal(a->evaluation.outcome, b->evaluation.outcome);
    assert_string_equal(a->evaluation.reason, b->evaluation.reason);
    assert_int_equal(a->evaluation.n_step, b->evaluation.n_step);
    assert_int_equal(a->evaluation.n_factor, b->evaluation.n_factor);
    assert_int_equal(a->evaluation.n_rhs, b->evaluation.n_rhs);
    if (a->evaluation.outcome != EVALUATION_OK)
        return;
    assert_memory_equal(a->prediction, b->prediction, sizeof a->prediction);
    assert_memory_equal(a->d_prediction, b->d_prediction, sizeof a->d_prediction);
}

/* A model of one state that does what its covariate says, in each lane by itself: */
enum mode { DECAY, NAN_LATE, BLOW_UP, NAN_ALWAYS, OVERFLOW, ROOT, LOG, HUGE_RATE, N_MODE };
static const double mode_value[N_MODE] = {DECAY, NAN_LATE, BLOW_UP, NAN_ALWAYS, OVERFLOW, ROOT, LOG, HUGE_RATE};

struct zoo {
    double f, by_y, by_t, by_p, by_yy, by_yp;
};

static struct zoo zoo_at(int mode, double t, double y, double p)
{
    struct zoo z = {.f = -p * y, .by_y = -p, .by_p = -y, .by_yp = -1};
    switch (mode) {
    case NAN_LATE:
        if (t > 1)
            z.f = NAN;
        break;
    case BLOW_UP:
        z = (struct zoo){p * y * y, 2 * p * y, 0, y * y, 2 * p, 2 * y};
        break;
    case NAN_ALWAYS:
        z.f = z.by_y = NAN;
        break;
    case OVERFLOW:
        z.f = exp(300 * t * t * t);
        z.by_t = 900 * t * t * z.f;
        z.by_y = z.by_p = z.by_yp = 0;
        break;
    case ROOT: /* reaches 0.3, where it cannot be computed any more */
        z = (struct zoo){-1 - p * sqrt(y - 0.3), -p * 0.5 / sqrt(y - 0.3), 0, -sqrt(y - 0.3), p * 0.25 * pow(y - 0.3, -1.5),
                         -0.5 / sqrt(y - 0.3)};
        break;
    case LOG:
        z = (struct zoo){-p - 0 * log(y), -0 / y, 0, -1, 0, 0};
        break;
    case HUGE_RATE:
        z.f *= 1e305;
        z.by_y *= 1e305;
        z.by_p *= 1e305;
        z.by_yp *= 1e305;
        break;
    default:
        break;
    }
    return z;
}

static struct zoo zoo_lane(const struct stiffit_lanes_point *at, int k)
{
    return zoo_at((int)at->covariate[k], at->t[k], at->y[k], at->p[k]);
}
static void zoo_rhs(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < STIFFIT_LANES; k++)
        out[k] = zoo_lane(at, k).f;
}
static void zoo_derive(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < STIFFIT_LANES; k++) {
        struct zoo z = zoo_lane(at, k);
        out[k] = z.f;
        out[8 + k] = z.by_y;
        out[16 + k] = z.by_t;
        out[24 + k] = z.by_p;
    }
}
static void zoo_curve(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < STIFFIT_LANES; k++) {
        struct zoo z = zoo_lane(at, k);
        out[k] = z.by_yy * at->direction[k];
        out[8 + k] = z.by_yp * at->direction[k];
    }
}
static const int32_t zero_one[] = {0, 1, 2}, zeros[] = {0, 0};
static const struct stiffit_lanes zoo_lanes = {
    .struct_size = sizeof(struct stiffit_lanes), .n_lane = STIFFIT_LANES, .rhs = zoo_rhs, .derive = zoo_derive,
    .curve = zoo_curve, .by_state = {zero_one, zeros}, .by_parameter = {zero_one, zeros}, .curve_state = {zero_one, zeros},
    .curve_parameter = {zero_one, zeros}};

static int scalar_rhs(const struct stiffit_point *at, double *f)
{
    f[0] = zoo_at((int)at->covariate[0], at->t, at->y[0], at->p[0]).f;
    return STIFFIT_OK;
}
static int initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    y[0] = 1;
    return STIFFIT_OK;
}
static int observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->y[0];
    return STIFFIT_OK;
}
static const char *const names[] = {"y"};
static const struct stiffit_model zoo = {STIFFIT_MODEL_HEADER, .name = "zoo", .n_state = 1, .n_parameter = 1, .n_observable = 1,
                                         .n_covariate = 1, .state_name = names, .rhs = scalar_rhs, .initial = initial,
                                         .observe = observe};
static const double zoo_times[] = {0, 0.25, 0.9, 1.5, 3};

static void zoo_request(struct request *r, enum mode mode, double p)
{
    request_init(r, &zoo, &p, &mode_value[mode], 5, zoo_times);
}

static void test_closed_form(void **state)
{
    (void)state;
    static struct request r;
    struct side s;
    side_init(&s, &engine_lanes, &zoo, &zoo_lanes, 1e-9, 1);
    zoo_request(&r, DECAY, 1.7);
    run(&s, &r);
    for (size_t i = 0; i < 5; i++) { /* some hundred steps at rtol 1e-9 */
        double t = zoo_times[i], y = exp(-1.7 * t);
        assert_close(r.prediction[i], y, 3e-8 * y, "y", i, 0);
        assert_close(r.d_prediction[i], -t * y, 1e-7 * (t + 0.1) * y, "dy/dp", i, 0);
    }
    side_fini(&s);
}

/* A certificate compares the errors of two tolerances: they must not be the same because
 * measurements cut the steps. Decays by so many time constants between two measurements. */
static void test_tighter_is_other_steps(void **state)
{
    (void)state;
    enum { N_LAST = 6 };
    static struct request loose, tight;
    int n_land = 0, n_off = 0, n_same = 0;
    for (double rtol = 1e-7; rtol < 2e-5; rtol *= 10) {
        struct side s;
        side_init(&s, &engine_lanes, &zoo, &zoo_lanes, rtol, 1);
        for (double between = 0.3; between < 3; between *= 1.01) {
            double p = between, times[N_LAST];
            for (int i = 0; i < N_LAST; i++)
                times[i] = i + 1;
            request_init(&loose, &zoo, &p, &mode_value[DECAY], N_LAST, times);
            request_init(&tight, &zoo, &p, &mode_value[DECAY], N_LAST, times);
            tight.evaluation.tighter = 10;
            run(&s, &loose);
            run(&s, &tight);
            double last = (loose.prediction[N_LAST - 1] / loose.prediction[N_LAST - 2] * exp(p) - 1) / rtol;
            double other = (tight.prediction[N_LAST - 1] / tight.prediction[N_LAST - 2] * exp(p) - 1) / rtol;
            n_off += fabs(last) > 0.1;
            request_init(&tight, &zoo, &p, &mode_value[DECAY], N_LAST, times);
            tight.evaluation.tighter = 0.1;
            run(&s, &tight);
            double third = (tight.prediction[N_LAST - 1] / tight.prediction[N_LAST - 2] * exp(p) - 1) / rtol;
            n_land += fabs(last) > 0.1 && !(fabs(third - last) > 0.7 * fabs(last));
            /* the error goes with the sixth power of the steps or more: 0.68^6 */
            n_same += fabs(last) > 0.1 && !(fabs(other) < 0.7 * fabs(last));
        }
        side_fini(&s);
    }
    print_message("%d of %d certificates would confirm their error\n", n_same, n_off);
    print_message("of looser tolerances %d would\n", n_land);
    assert_true(n_off > 100);
    assert_true(n_land <= n_off / 3); /* steps that are not halved are the same */
    assert_true(n_same <= n_off / 20);
}

static void test_outcomes(void **state)
{
    (void)state;
    static struct request r;
    static const enum evaluation_outcome expected[N_MODE] = {
        EVALUATION_OK, EVALUATION_MODEL_FAILED, EVALUATION_ODE_FAILED, EVALUATION_MODEL_FAILED, EVALUATION_MODEL_FAILED,
        EVALUATION_MODEL_FAILED, EVALUATION_MODEL_FAILED, EVALUATION_OK};
    struct side s;
    side_init(&s, &engine_lanes, &zoo, &zoo_lanes, 1e-6, 1);
    for (enum mode mode = 0; mode < N_MODE; mode++) {
        zoo_request(&r, mode, 1.1);
        engine_evaluate(s.engine, &r.evaluation);
        print_message("mode %d: outcome %d, %lld steps of %lld attempts: %s\n", (int)mode, (int)r.evaluation.outcome,
                      (long long)r.evaluation.n_step, (long long)r.evaluation.n_factor, r.evaluation.reason);
        if (r.evaluation.outcome != expected[mode])
            fail_msg("mode %d ended as %d", (int)mode, (int)r.evaluation.outcome);
        if (mode == BLOW_UP) /* y = 1/(1 - 1.1 t) */
            assert_close(r.evaluation.t_reached, 1 / 1.1, 1e-4, "pole", 0, 0);
        if (mode == NAN_LATE)
            assert_close(r.evaluation.t_reached, 1, 1e-9, "wall", 0, 0);
    }
    side_fini(&s);
}

/* Every mode in every company: its answer is the one that it has alone. */
static void test_company(void **state)
{
    (void)state;
    enum { N = 40 };
    static struct request alone[N], r[N];
    struct side s;
    side_init(&s, &engine_lanes, &zoo, &zoo_lanes, 1e-6, 1);
    for (int i = 0; i < N; i++) {
        zoo_request(&alone[i], (enum mode)(i % 3 == 0 ? DECAY : i % N_MODE), 0.5 + 0.1 * i);
        engine_evaluate(s.engine, &alone[i].evaluation);
    }
    for (int round = 0; round < 4; round++) {
        int next = 0, n_done = 0, n_flying = 0;
        for (int i = 0; i < N; i++)
            zoo_request(&r[i], (enum mode)(i % 3 == 0 ? DECAY : i % N_MODE), 0.5 + 0.1 * i);
        while (n_done < N) {
            /* another order each round: 7 and 40 have no common divisor */
            for (; n_flying < (round == 1 ? 3 : 8) && next < N; next++, n_flying++)
                engine_submit(s.engine, &r[round % 2 ? next * 7 % N : N - 1 - next].evaluation);
            struct evaluation *e = engine_work(s.engine, NULL);
            assert_non_null(e);
            for (; e; e = e->next, n_flying--, n_done++)
                assert_null(e->state);
        }
        for (int i = 0; i < N; i++)
            assert_same_answer(&alone[i], &r[i]);
    }
    side_fini(&s);
}

static const double robertson_p[3] = {0.04, 1e4, 3e7}, robertson_times[] = {0.4, 4, 40, 400, 4000, 40000};
static const double pinene_p[5] = {5.84e-5, 2.65e-5, 1.63e-5, 2.777e-4, 4.61e-5};
static const double pinene_times[] = {1230, 3060, 4920, 7800, 10680, 15030, 22620, 36420};

static const struct stiffit_model *robertson, *pinene;
static struct stiffit_lanes robertson_lanes, pinene_lanes;

static int load(void **state)
{
    (void)state;
    robertson = example_model("robertson.text");
    pinene = example_model("alpha-pinene.text");
    robertson_lanes = lanes_by_lists(robertson);
    pinene_lanes = lanes_by_lists(pinene);
    return 0;
}

static void compare_with_cvodes(const struct stiffit_model *abi, const struct stiffit_lanes *functions, const double *p,
                                size_t n_time, const double *times)
{
    static struct request ours, theirs;
    struct side lane, cvodes;
    side_init(&lane, &engine_lanes, abi, functions, 1e-8, 1);
    side_init(&cvodes, &engine_cvodes, abi, NULL, 1e-10, 1);
    request_init(&ours, abi, p, NULL, n_time, times);
    request_init(&theirs, abi, p, NULL, n_time, times);
    run(&lane, &ours);
    run(&cvodes, &theirs);
    size_t n_row = ours.task.n_row, n = abi->n_observable;
    double worst = 0, worst_d = 0;
    for (size_t o = 0; o < n; o++) {
        double size = 0;
        for (size_t i = o; i < n_row; i += n)
            size = fmax(size, fabs(theirs.prediction[i]));
        for (size_t i = o; i < n_row; i += n) {
            worst = fmax(worst, fabs(ours.prediction[i] - theirs.prediction[i]) / size);
            for (size_t j = 0; j < abi->n_parameter; j++) {
                size_t d = i + j * n_row;
                worst_d = fmax(worst_d, fabs(ours.d_prediction[d] - theirs.d_prediction[d]) * p[j] / size);
            }
        }
    }
    print_message("%s: %lld steps, predictions %.1e, sensitivities %.1e\n", abi->name, (long long)ours.evaluation.n_step, worst,
                  worst_d);
    /* rtol is 1e-8; over these problems errors are at most some 10 rtol */
    assert_true(worst < 2e-7 && worst_d < 2e-7);
    side_fini(&lane);
    side_fini(&cvodes);
}

static void test_cvodes(void **state)
{
    (void)state;
    compare_with_cvodes(robertson, &robertson_lanes, robertson_p, 6, robertson_times);
    compare_with_cvodes(pinene, &pinene_lanes, pinene_p, 8, pinene_times);
    compare_with_cvodes(robertson, robertson->lanes, robertson_p, 6, robertson_times);
    compare_with_cvodes(pinene, pinene->lanes, pinene_p, 8, pinene_times);
}

enum { N_ROB = 16 };

static void robertson_request(struct request *r, int i)
{
    double p[3] = {0.04 * (1 + 0.03 * i), 1e4 * (1 + 0.05 * (i % 7)), 3e7 * (1 - 0.02 * (i % 5))};
    request_init(r, robertson, p, NULL, 6, robertson_times);
    /* other sets of parameters, so that columns come and go */
    if (i % 4 == 1) {
        r->evaluation.n_sens = 2;
        r->sens[0] = 0, r->sens[1] = 2;
    }
    if (i % 4 == 2)
        r->evaluation.n_sens = 0;
    if (i % 5 == 3)
        r->evaluation.tighter = 20;
}

static bool always(void *context)
{
    (void)context;
    return true;
}

/* Two engines of one pool; evaluations are withdrawn every 16 attempts and go on in another lane of either. */
static void test_withdraw(void **state)
{
    (void)state;
    static struct request alone[N_ROB], r[N_ASIDE + 1];
    struct side s;
    struct error error = {0};
    side_init(&s, &engine_lanes, robertson, &robertson_lanes, 1e-6, 2);
    struct engine *engines[2] = {s.engine, engine_new(s.pool, &error)};
    assert_non_null(engines[1]);
    assert_null(engine_new(s.pool, &error)); /* made for two workers */
    const struct engine_turn turn = {.over = always};
    for (int i = 0; i < N_ROB; i++) {
        robertson_request(&alone[i], i);
        run(&s, &alone[i]);
        robertson_request(&r[i], i);
    }
    struct evaluation *waiting[N_ROB];
    int n_waiting = 0, n_done = 0, at = 0;
    for (int i = 0; i < N_ROB; i++)
        waiting[n_waiting++] = &r[i].evaluation;
    uint64_t random = 3;
    for (int round = 0; n_done < N_ROB; round++) {
        struct engine *engine = engines[round % 2];
        struct evaluation *inside[N_ROB];
        int n_inside = 0;
        random = random * 6364136223846793005u + 1442695040888963407u;
        int n_wanted = 1 + (int)(random >> 60);
        for (; n_inside < n_wanted && n_waiting > 0; n_inside++) {
            at = (int)((random >> 33) % (uint64_t)n_waiting);
            inside[n_inside] = waiting[at];
            waiting[at] = waiting[--n_waiting];
            engine_submit(engine, inside[n_inside]);
        }
        for (struct evaluation *e = NULL; e || (e = engine_work(engine, &turn)); e = e->next) {
            n_done++;
            for (int i = 0; i < n_inside; i++)
                if (inside[i] == e)
                    inside[i] = inside[--n_inside];
        }
        for (int i = 0; i < n_inside; i++) {
            assert_true(engine_withdraw(engine, inside[i]));
            assert_non_null(inside[i]->state);
            waiting[n_waiting++] = inside[i];
        }
    }
    for (int i = 0; i < N_ROB; i++)
        assert_same_answer(&alone[i], &r[i]);
    /* set aside as many as may be; drop them */
    for (int i = 0; i <= N_ASIDE; i++) {
        robertson_request(&r[i], i);
        engine_submit(s.engine, &r[i].evaluation);
        assert_null(engine_work(s.engine, &turn));
        assert_true(engine_withdraw(s.engine, &r[i].evaluation) == (i < N_ASIDE));
    }
    for (int i = 0; i < N_ASIDE; i++)
        engine_discard(s.pool, &r[i].evaluation);
    engine_free(engines[1]);
    side_fini(&s); /* with one still in its lane */
    assert_null(r[N_ASIDE].evaluation.state);
}

static void test_kernels(void **state)
{
    (void)state;
    static const char *const kernels[] = {"plain", "x86-64-v3", "x86-64-v4"};
    static struct request r[3][N_ROB];
    int n_kernel = 0;
    for (int k = 0; k < 3; k++) {
        if (!lanes_kernel_choose(kernels[k], NULL)) {
            print_message("this CPU lacks %s: skipped\n", kernels[k]);
            continue;
        }
        struct side s;
        setenv("STIFFIT_LANES_KERNEL", kernels[k], 1);
        side_init(&s, &engine_lanes, robertson, &robertson_lanes, 1e-6, 1);
        unsetenv("STIFFIT_LANES_KERNEL");
        for (int i = 0; i < N_ROB; i++) {
            robertson_request(&r[n_kernel][i], i);
            run(&s, &r[n_kernel][i]);
            assert_same_answer(&r[0][i], &r[n_kernel][i]);
        }
        side_fini(&s);
        n_kernel++;
    }
}

static void test_budgets(void **state)
{
    (void)state;
    static struct request r;
    struct side s;
    side_init(&s, &engine_lanes, robertson, &robertson_lanes, 1e-6, 1);
    robertson_request(&r, 0);
    run(&s, &r);
    int64_t n_step = r.evaluation.n_step;
    for (int less = 0; less < 2; less++) {
        robertson_request(&r, 0);
        r.evaluation.max_steps = n_step - less;
        engine_evaluate(s.engine, &r.evaluation);
        assert_int_equal(r.evaluation.outcome, less ? EVALUATION_BUDGET : EVALUATION_OK);
        assert_int_equal(r.evaluation.n_step, n_step - less);
    }
    robertson_request(&r, 0);
    r.evaluation.max_steps = 0;
    engine_evaluate(s.engine, &r.evaluation);
    assert_int_equal(r.evaluation.outcome, EVALUATION_BUDGET);
    robertson_request(&r, 0);
    r.evaluation.deadline_ns = 1;
    engine_evaluate(s.engine, &r.evaluation);
    assert_int_equal(r.evaluation.outcome, EVALUATION_TIMEOUT);
    side_fini(&s);
}

/* What ends at the same attempt is returned together. */
static void test_together(void **state)
{
    (void)state;
    static struct request r[STIFFIT_LANES];
    struct side s;
    side_init(&s, &engine_lanes, &zoo, &zoo_lanes, 1e-6, 1);
    for (int i = 0; i < STIFFIT_LANES; i++) {
        zoo_request(&r[i], DECAY, 0.5);
        engine_submit(s.engine, &r[i].evaluation);
    }
    int n_done = 0;
    for (const struct evaluation *e = engine_work(s.engine, NULL); e; e = e->next, n_done++)
        assert_int_equal(e->outcome, EVALUATION_OK);
    assert_int_equal(n_done, STIFFIT_LANES);
    assert_null(engine_work(s.engine, NULL));
    side_fini(&s);
}

/* Who can take what: lanes take no adjoints, steady doses and phases, and are not chosen for more than that. */
static void test_choice(void **state)
{
    (void)state;
    struct stiffit_model abi = zoo;
    const struct dose dose = {.steady = DOSE_ADDS};
    const struct ode_task plain = {.n_time = 0}, phases = {.n_phase = 1};
    const struct ode_task periodic = {.experiment = {.n_dose = 1, .dose = &dose}};
    const struct evaluation_adjoint adjoint = {.gradient = NULL};
    const struct { struct evaluation evaluation; enum engine_kind kind; } cases[] = {
        {{.engine = ENGINE_LANES, .task = &plain}, ENGINE_LANES},
        {{.engine = ENGINE_CVODES, .task = &plain}, ENGINE_CVODES},
        {{.engine = ENGINE_LANES, .task = &periodic}, ENGINE_CVODES},
        {{.engine = ENGINE_LANES, .task = &phases}, ENGINE_CVODES},
        {{.engine = ENGINE_LANES, .task = &plain, .adjoint = &adjoint}, ENGINE_CVODES}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(engine_for(&cases[i].evaluation, ENGINE_LANES), cases[i].kind);
        assert_int_equal(engine_for(&cases[i].evaluation, ENGINE_REFERENCE), ENGINE_REFERENCE);
    }
    const struct engine_use uses[] = {{.has_adjoint = true}, {.has_differences = true}, {.has_solver = true},
                                      {.has_periods = true}, {.has_phases = true}, {.has_calls = true}};
    abi.lanes = NULL;
    assert_int_equal(engine_choose(&abi, &(struct engine_use){0}), ENGINE_REFERENCE);
    assert_non_null(engine_refusal(ENGINE_LANES, &abi));
    abi.lanes = &zoo_lanes;
    assert_int_equal(engine_choose(&abi, &(struct engine_use){0}), ENGINE_LANES);
    assert_null(engine_refusal(ENGINE_LANES, &abi));
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        assert_int_equal(engine_choose(&abi, &uses[i]), ENGINE_REFERENCE);
}

static void test_refused(void **state)
{
    (void)state;
    struct ode_options options = ODE_OPTIONS_DEFAULT;
    struct error error = {0};
    struct model model = {.abi = *robertson};
    model.abi.lanes = NULL;
    assert_null(engine_lanes.pool_new(&engine_lanes, &model, &options, 1, 1, &error));
    assert_non_null(strstr(error.message, "no functions of lanes"));
    static const int32_t wrong_row[] = {0, 7, 0, 1, 2, 0, 1};
    struct stiffit_lanes wrong = robertson_lanes;
    wrong.by_state.row = wrong_row;
    model.abi.lanes = &wrong;
    assert_null(engine_lanes.pool_new(&engine_lanes, &model, &options, 1, 1, &error));
    assert_non_null(strstr(error.message, "patterns"));
}

/* An evaluation changes to the implicit method where it is stiff, and comes back; the next one knows where. */
static void test_methods(void **state)
{
    (void)state;
    enum { N_BUMP = 60 };
    static struct request r, next;
    double time[N_BUMP], p = 3e5, mild = 2;
    const struct stiffit_model *bump = test_model("stiff-for-a-while");
    const struct stiffit_lanes bump_lanes = lanes_by_lists(bump);
    struct side s;
    for (int i = 0; i < N_BUMP; i++)
        time[i] = 0.5 * (1 + i);
    side_init(&s, &engine_lanes, bump, &bump_lanes, 1e-7, 1);
    request_init(&r, bump, &mild, NULL, N_BUMP, time);
    run(&s, &r);
    assert_int_equal(r.evaluation.n_factor, 0); /* never implicit */
    assert_false(r.evaluation.course.is_stiff);
    request_init(&r, bump, &p, NULL, N_BUMP, time);
    run(&s, &r);
    for (int i = 0; i < N_BUMP; i++) /* some tolerances, at the measurements */
        assert_close(r.prediction[i], cos(time[i]), 1e-5, "y", i, 0);
    int64_t n_explicit = r.evaluation.n_rhs / 8 - r.evaluation.n_factor;
    print_message("%lld explicit attempts, %lld implicit ones\n", (long long)n_explicit, (long long)r.evaluation.n_factor);
    /* an explicit method alone would need 3e5 * 1.8 / 5 steps */
    assert_true(r.evaluation.n_factor > 30 && n_explicit > 10 && r.evaluation.n_rhs < 8 * 2000);
    assert_true(r.evaluation.course.is_stiff);
    request_init(&next, bump, &p, NULL, N_BUMP, time);
    next.evaluation.course = r.evaluation.course;
    run(&s, &next);
    for (int i = 0; i < N_BUMP; i++)
        assert_close(next.prediction[i], cos(time[i]), 1e-5, "y", i, 0);
    assert_true(next.evaluation.n_rhs / 8 - next.evaluation.n_factor < n_explicit);
    side_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_methods),

        cmocka_unit_test(test_closed_form), cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_tighter_is_other_steps), cmocka_unit_test(test_company),
        cmocka_unit_test(test_cvodes), cmocka_unit_test(test_withdraw), cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_budgets), cmocka_unit_test(test_together), cmocka_unit_test(test_choice),
        cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, load, NULL);
}
