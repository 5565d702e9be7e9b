/* Sensitivities far smaller than their states: by vdpol's epsilon, which stands for a fast rate, they consist of the slopes of
 * the states. Asked for more digits than these have, the integrator would creep at the fast scale.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"
#include "ode_case.h"

static void test_small_effects(void **state)
{
    (void)state;
    const double epsilon = 1e-6, times[] = {0.1, 0.5, 2};
    /* models/vdpol/reference.csv, which is independent: y1, y2 and their sensitivities at the first two times */
    const double y[] = {1.93136132052728, -0.70741762822971, 1.59676895105266, -1.03029118783936},
                 by_epsilon[] = {0.250478645287637, 0.323386198819906, 0.55659397238339, 1.80551282067591};
    struct ode_case c;
    for (int k = 0; k < 2; k++) {
        struct ode_options options = {.rtol = k ? 1e-8 : 1e-7, .atol = k ? 1e-13 : 1e-11};
        ode_case_init(&c, example_model("vdpol"), &options, 1, &epsilon, NULL, 0, 3, times);
        ode_case_run(&c);
        assert_true(c.evaluation.n_step < 20000); /* 2,600 and 4,000; more than 100,000 if every digit counts */
        for (size_t i = 0; i < 4; i++) /* a hundredth of a state to rtol in each step, which add up to 100 of that at most */
            assert_close(epsilon * c.d_prediction[i], epsilon * by_epsilon[i], options.rtol * fabs(y[i]), "effect", i, 0);
        ode_case_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_effects)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
