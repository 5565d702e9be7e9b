/* The kernel of the lanes, step by step: orders of convergence of the states, their sensitivities and what is between steps;
 * and that sensitivities are the exact derivatives of the steps taken.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"
#include "ode_case.h"

#include "ode/lanes/bank.h"

struct track {
    struct stiffit_model abi;
    struct stiffit_lanes lanes;
    struct lanes_plan *plan;
    struct lanes_bank bank;
    const struct lanes_kernel *kernel;
    enum lanes_method_kind method;
};

/* All lanes live, at rest at t = 0, with sensitivities of 0, and errors that do not matter. */
static void track_init(struct track *track, enum lanes_method_kind method, const struct stiffit_model *model)
{
    static const uint32_t columns[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint32_t n_state = model->n_state, n_parameter = model->n_parameter;
    bool is_wrong;
    *track = (struct track){.method = method, .abi = *model, .lanes = lanes_by_lists(model)};
    track->abi.lanes = &track->lanes;
    track->plan = lanes_plan_new(&track->abi, &is_wrong);
    assert_non_null(track->plan);
    assert_true(lanes_bank_init(&track->bank, track->plan, lanes_methods[method], 0));
    assert_true(lanes_bank_reserve(&track->bank, n_parameter, 1));
    lanes_bank_set_columns(&track->bank, n_parameter, columns, 1);
    track->kernel = lanes_kernel_choose(NULL, NULL);
    for (int k = 0; k < N_LANE; k++) {
        track->bank.live[k] = -1;
        track->bank.tolerance.rtol[k] = 1e100;
        track->bank.t_stop[k] = track->bank.t_next[k] = 1e300;
        track->bank.control.log_h[k] = -INFINITY;
        track->bank.control.max_steps[k] = track->bank.control.patience[k] = INT64_MAX;
        track->bank.control.t_turn[k] = INFINITY;
        for (uint32_t i = 0; i < n_state; i++)
            track->bank.tolerance.beyond[i][k] = 1e100;
        for (uint32_t j = 0; j < n_parameter; j++)
            track->bank.unit[j][k] = 1, track->bank.active[j][k] = -1;
    }
}

static void track_fini(struct track *track)
{
    lanes_bank_fini(&track->bank);
    lanes_plan_free(track->plan);
}

static void advance(struct track *track, const double h[N_LANE])
{
    lanes_mask before = track->bank.control.n_step;
    for (int k = 0; k < N_LANE; k++)
        track->bank.h[k] = h[k];
    track->kernel->attempt[track->method](&track->bank);
    for (int k = 0; k < N_LANE; k++)
        assert_int_equal(track->bank.control.n_step[k], before[k] + 1);
}

static double sens_of(const struct track *track, size_t i, size_t j, int k)
{
    const struct lanes_block *block = track->bank.block; /* the only one */
    return block->sens[i * block->width + j][k];
}

/* Lanes 0, 1, 2 take 16, 32, 64 steps (3, 6, 12 explicit ones) from 0 to 1; errors at the end, and in the middle of the last
 * step. */
static void find_order(enum lanes_method_kind method)
{
    enum { N = 3, N_VALUE = 3 * 4 };
    struct track track;
    static lanes inside[N_VALUE];
    double errors[2][N][N_VALUE]; /* [end or inside][lane][value] */
    track_init(&track, method, test_model("driven-by-cosine"));
    for (int k = 0; k < N_LANE; k++) {
        track.bank.p[0][k] = 2, track.bank.p[1][k] = 1.5, track.bank.p[2][k] = 3;
        track.bank.y[0][k] = 0.2, track.bank.y[1][k] = 1, track.bank.y[2][k] = 1;
    }
    for (int lane = 0; lane < N; lane++) {
        double h[N_LANE];
        int n_step = (method == METHOD_EXPLICIT ? 3 : 16) << lane;
        for (int k = 0; k < N_LANE; k++)
            h[k] = 1.0 / n_step;
        struct track now = track;
        /* each from the beginning: lanes that are ahead do no harm */
        for (int k = 0; k < N_LANE; k++) {
            now.bank.t[k] = 0;
            now.bank.y[0][k] = 0.2, now.bank.y[1][k] = 1, now.bank.y[2][k] = 1;
            for (int e = 0; e < 9; e++)
                now.bank.block->sens[e][k] = 0;
        }
        now.bank.fresh = 255;
        for (int i = 0; i < n_step; i++)
            advance(&now, h);
        lanes s;
        for (int where = 0; where < 2; where++) {
            for (int k = 0; k < N_LANE; k++)
                s[k] = where ? 0.4 : 1;
            now.kernel->inside[now.method](&now.bank, &s, inside);
            double t = where ? 1 - 0.6 / n_step : 1, e = exp(-2 * t), y1 = 1 / (1 + 4 * e), y2 = exp(-1.5 * sin(t));
            double exact[N_VALUE] = {y1, y2, cos(t), y1 * y1 * 4 * e * t, 0, 0, 0, -sin(t) * y2, 0, 0, 0, 0};
            for (int i = 0; i < N_VALUE; i++)
                errors[where][lane][i] = fabs(inside[i][0] - exact[i]);
        }
        track = now;
    }
    for (int where = 0; where < 2; where++)
        for (int i = 0; i < N_VALUE; i++) {
            double order = log2(errors[where][1][i] / errors[where][2][i]);
            if (errors[where][2][i] > 1e-12) {
                print_message("%s %d: error %.1e, order %.2f\n", where ? "inside" : "end", i, errors[where][2][i], order);
                /* the dense outputs are of order 4, their errors of order 5 in a single step */
                assert_true(order >= (where ? 5 : lanes_methods[method]->order) - 0.3);
            } else
                assert_true(errors[where][2][i] <= 1e-12);
        }
    track_fini(&track);
}

static void test_order(void **state)
{
    (void)state;
    find_order(METHOD_IMPLICIT);
    find_order(METHOD_EXPLICIT);
}

/* The same steps with other parameters: lane 0 at p, lanes 2j+1 and 2j+2 at p_j (1 +- D). */
static void frozen(enum lanes_method_kind method, const struct stiffit_model *model, const double *p, const double *y0,
                   const double *steps, int n_step, double tolerance)
{
    const uint32_t n = model->n_state, n_parameter = model->n_parameter;
    static const double d = 1e-4;
    enum { MOST = 5 * 6 };
    static lanes inside[2][MOST];
    double worst = 0;
    for (uint32_t first = 0; first < n_parameter; first += 3) {
        struct track track;
        track_init(&track, method, model);
        track.bank.fresh = 255;
        for (int k = 0; k < N_LANE; k++) {
            for (uint32_t i = 0; i < n; i++)
                track.bank.y[i][k] = y0[i];
            for (uint32_t j = 0; j < n_parameter; j++) {
                uint32_t side = (uint32_t)k - 1 - 2 * (j - first);
                track.bank.p[j][k] = p[j] * (k > 0 && j >= first && side < 2 ? 1 + (side ? -d : d) : 1);
            }
        }
        for (int step = 0; step < n_step; step++) {
            double h[N_LANE];
            for (int k = 0; k < N_LANE; k++)
                h[k] = steps[step];
            advance(&track, h);
            lanes s;
            for (int where = 0; where < 2; where++) {
                for (int k = 0; k < N_LANE; k++)
                    s[k] = where ? 0.3 : 1;
                track.kernel->inside[track.method](&track.bank, &s, inside[where]);
                for (uint32_t j = first; j < n_parameter && j < first + 3; j++)
                    for (uint32_t i = 0; i < n; i++) {
                        int k = 1 + 2 * (int)(j - first);
                        double y = inside[where][i][0];
                        double quotient = (inside[where][i][k] - inside[where][i][k + 1]) / (2 * d);
                        double ours = inside[where][n * (1 + j) + i][0] * p[j];
                        double size = fmax(fabs(y), fmax(fabs(ours), 1e-30));
                        worst = fmax(worst, fabs(quotient - ours) / size);
                        if (where == 0)
                            assert_true(inside[0][n * (1 + j) + i][0] == sens_of(&track, i, j, 0));
                    }
            }
        }
        track_fini(&track);
    }
    print_message("off by %.1e\n", worst);
    assert_true(worst < tolerance);
}

static void test_frozen(void **state)
{
    (void)state;
    const struct stiffit_model *pinene = example_model("alpha-pinene.text"), *clock = test_model("driven-by-cosine");
    static const double robertson_p[] = {0.04, 1e4, 3e7}, robertson_y[] = {1, 0, 0};
    static const double pinene_p[] = {5.84e-5, 2.65e-5, 1.63e-5, 2.777e-4, 4.61e-5}, pinene_y[] = {100, 0, 0, 0, 0};
    static const double clock_p[] = {2, 1.5, 300}, clock_y[] = {0.2, 1, 1.5};
    double steps[60], h = 1e-5;
    /* far too long steps: what they make is no solution, but its derivatives must be those of what they make */
    for (int i = 0; i < 60; i++, h *= 1.4)
        steps[i] = h;
    /* central differences with steps of 1e-4: truncation 1e-8 times third derivatives, rounding 1e-12 */
    frozen(METHOD_IMPLICIT, example_model("robertson.text"), robertson_p, robertson_y, steps, 50, 3e-7);
    for (int i = 0; i < 30; i++)
        steps[i] = 100 * (1 + i % 7);
    for (int method = 0; method < N_METHOD; method++)
        frozen((enum lanes_method_kind)method, pinene, pinene_p, pinene_y, steps, 30, 1e-7);
    for (int i = 0; i < 30; i++)
        steps[i] = 0.02 * (1 + i % 5);
    frozen(METHOD_IMPLICIT, clock, clock_p, clock_y, steps, 30, 3e-7);
    for (int i = 0; i < 30; i++)
        steps[i] = 2e-3 * (1 + i % 5);
    frozen(METHOD_EXPLICIT, clock, clock_p, clock_y, steps, 30, 3e-7);
}

/* Evaluations whose sensitivities are spread over 2, 4 or 8 lanes take the same steps, to the bit, as with all in one lane;
 * also where the sensitivities limit the steps. */
static void test_shared_lanes(void **state)
{
    (void)state;
    enum { N = 3, N_STEP = 12 };
    static const uint32_t columns[N] = {0, 1, 2};
    double expected[N_METHOD][N_STEP][1 + N + N * N];
    for (int share = 1; share <= N_LANE; share *= 2)
        for (int m = 0; m < N_METHOD; m++) {
            struct track track;
            track_init(&track, m, test_model("driven-by-cosine"));
            assert_true(lanes_bank_reserve(&track.bank, N, share));
            lanes_bank_set_columns(&track.bank, N, columns, share);
            for (int k = 0; k < N_LANE; k++) {
                track.bank.h[k] = 0.01;
                track.bank.tolerance.rtol[k] = 1e-7;
                track.bank.control.by_accepted[k] = 1;
                track.bank.longest[k] = 1;
                track.bank.p[0][k] = 2, track.bank.p[1][k] = 1.5, track.bank.p[2][k] = 3;
                for (int i = 0; i < N; i++) {
                    track.bank.y[i][k] = i == 0 ? 0.2 : 1;
                    track.bank.tolerance.beyond[i][k] = 1e-9;
                }
                for (int j = 0; j < N; j++) {
                    track.bank.unit[j][k] = 1;
                    track.bank.active[j][k] = -(j * share + k % share < N);
                }
            }
            track.bank.fresh = 255;
            for (int i_step = 0; i_step < N_STEP; i_step++) {
                double now[1 + N + N * N];
                track.kernel->attempt[m](&track.bank);
                now[0] = track.bank.t[0];
                for (int i = 0; i < N; i++) {
                    now[1 + i] = track.bank.y[i][0];
                    for (int j = 0; j < N; j++) {
                        const struct lanes_block *block = track.bank.block;
                        now[1 + N + i * N + j] = block->sens[i * (int)block->width + j / share][j % share];
                    }
                }
                if (share == 1)
                    memcpy(expected[m][i_step], now, sizeof now);
                assert_memory_equal(now, expected[m][i_step], sizeof now);
            }
            assert_true(track.bank.t[0] > 0);
            track_fini(&track);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_frozen),
                                       cmocka_unit_test(test_shared_lanes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
