/* What texts say about inputs, doses and events: messages for what is wrong, with hints for the habits of other languages, and
 * which equations come out.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "text_said.h"

#define STATES "x' = -k*x; x(0) = 1; y' = x; y(0) = 0\n" /* line 2; what is tested follows from line 3 on */

static const struct said cases[] = {
    /* good */
    {"input T\nobserve q = T", {}}, {"input T linear unit \"C\", D unit \"mg\" linear, E constant\nobserve q = T + D + E", {}},
    {"lag(x) = k; bioavailability(x) = 2*k; lag(y) = t", {}}, {"event e at 3: x = 1", {}},
    {"event e at 2*k: x = 1, y = x + y", {}},
    {"event e: x = y, y = x + t", {}},
    {"event e at 1 before others early values: x = 0", {}},
    {"event e delay k early values: x = 0", {}}, {"event e early values priority 2: x = 0", {}},
    {"event e when x < 0.5 delay 2 priority -x initially false can lapse early values: x = 1", {}},
    {"event e when x + 1 > 2*y can lapse priority 1: x = x + 1", {}},
    {"event e when not (x < 1 and y > 2 or t >= 3): x = 1", {}}, {"event e when if x > 1 then y > 2 else y > 3: x = 1", {}},
    {"event = 3; input = 4; at = 5; when = event + input + at; delay = when; lag = delay\nobserve q = lag", {}},
    {"function lag(a) = 2*a\nobserve q = lag(k)", {}},
    {"event e at 3: x = 1,   \\\n  y = 2", {}},
    /* inputs */
    {"input T", {"3:7+1: warning: nothing that is computed uses `T`, an input"}},
    {"input T = 3", {"3:9+1: error: an input has no value here: each dataset has its own"}},
    {"input k", {"3:7+1: error: `k` is defined twice: it is a parameter since line 1"}},
    {"input T step\nobserve q = T", {"3:9+4: error: expected a comma or the end of the statement, found `step`"}},
    {"inputs T\nobserve q = T", {"3:1+6: error: `inputs` begins no statement: inputs are `input NAME, ...`",
                                 "4:13+1: error: `T` is not defined"}},
    {"constant c = T\ninput T\nobserve q = c", {"3:14+1: error: `T` is an input: only numbers and constants are allowed here"}},
    /* doses */
    {"lag(z) = 1", {"3:5+1: error: `z` is not defined"}},
    {"lag(k) = 1", {"3:5+1: error: `k` is a parameter: only states have a lag time"}},
    {"bioavailability(k) = 1", {"3:17+1: error: `k` is a parameter: only states have a bioavailability"}},
    {"lag(x) = y", {"3:10+1: error: this depends on a state: a lag time may depend on parameters, covariates, inputs, time and "
                    "constants only"}},
    {"lag(x) = 1\nlag(x) = 2", {"4:5+1: error: the lag time of `x` is given twice, first in line 3"}},
    {"alag(x) = k", {"3:1+4: warning: `alag(x) = ...` defines a function that nothing uses, and does not affect the state `x`: "
                     "a lag time is `lag(STATE) = ...`"}},
    {"f(x) = k", {"3:1+1: warning: `f(x) = ...` defines a function that nothing uses, and does not affect the state `x`: a "
                  "bioavailability is `bioavailability(STATE) = ...`"}},
    {"dur(x) = k", {"3:1+3: warning: `dur(x) = ...` defines a function that nothing uses, and does not affect the state `x`:"
                    " the duration of infusions is `duration(STATE) = ...`"}},
    {"rate(x) = k; rate(x) = 2*k", {"3:19+1: error: the rate of infusions of `x` is given twice, first in line 3"}},
    {"rate(x) = k; duration(x) = k", {"3:23+1: error: `x` has both a rate and a duration of infusions, the other one in line"}},
    {"duration(k) = 2", {"3:10+1: error: `k` is a parameter: only states have a duration of infusions"}},
    {"observe q = lag(x)", {"3:13+3: error: the function `lag` is not defined: values of the past are not part of"}},
    /* events: their sentence */
    {"event e", {"3:7+1: error: expected `at TIME`, `when CONDITION` or `:`, but the statement ends here"}},
    {"event e after 3: x = 1", {"3:9+5: error: expected `at TIME`, `when CONDITION` or `:`, found `after`"}},
    {"event e at 3", {"3:12+1: error: expected `:` before the assignments"}},
    {"event e at 3 x = 1", {"3:14+1: error: unexpected `x`: a `*` or another operator is missing before it"}},
    {"event e:", {"3:8+1: error: expected the name of a state, but the statement ends here"}},
    {"event e delay 1 can lapse: x = 1", {"3:17+3: error: `can` is for events with a condition (`when`)"}},
    {"event e at 3:", {"3:13+1: error: expected the name of a state, but the statement ends here"}},
    {"event e at 3: x", {"3:15+1: error: expected `=`, but the statement ends here"}},
    {"event e at 3: x' = 1", {"3:16+1: error: an event assigns values"}},
    {"event e at 3: x = 1 y = 2", {"3:21+1: error: unexpected `y`: a `*` or another operator is missing before it"}},
    {"event e when x < 1, delay 3: x = 1", {"3:19+1: error: expected `:` (options are not separated by commas), found `,`"}},
    {"event e when x < 1 can delay: x = 1", {"3:24+5: error: expected `lapse` (`can lapse`), found `delay`"}},
    {"event e when x < 1 delay 1 delay 2: x = 1", {"3:28+5: error: `delay` appears twice"}},
    {"event e at 2 can lapse: x = 1", {"3:14+3: error: `can` is for events with a condition (`when`)"}},
    {"at (x > 3): x = 1", {"3:1+2: error: `at` begins no statement: an event is `event NAME at TIME: STATE = EXPR, ...` or"}},
    {"E1: at (x > 3): x = 1", {"3:1+2: error: an event is `event NAME at TIME"}},
    {"global 1 x-3 {x=1}", {"3:1+6: error: `global` begins no statement: an event is"}},
    {"evnt e at 3: x = 1", {"3:1+4: error: `evnt` begins no statement; did you mean `event`?"}},
    /* events: their meaning */
    {"event e at x > 3: x = 1", {"3:12+1: error: a time follows `at`; with a condition the event is `event e when ...`"}},
    {"event e when x < 0.5 before others: x = 1", {"3:22+6: error: `before` is for events with a time (`at`)"}},
    {"event e when 2 < 1: x = 1", {"3:14+1: warning: this condition never changes: the event never happens"}},
    {"event e when 2 > 1 initially false: x = 1",
     {"3:14+1: warning: this condition never changes: the event happens at the initial time"}},
    {"event e when 3: x = 1", {"3:14+1: error: this condition never changes, so the event never happens; a time follows `at`"}},
    {"event e when x: x = 1", {"3:14+1: error: an event needs a condition that compares with `<`, `<=`, `>` or `>=`; these"}},
    {"event e when x == 1: x = 1", {"3:14+1: error: an event needs a condition that compares"}},
    {"event e when x > 1 and y == 2: x = 1", {"3:14+1: error: an event needs a condition that compares"}},
    {"event e at x: x = 1", {"3:12+1: error: this depends on a state: the time of an event may depend on parameters, "
                             "covariates and constants only"}},
    {"event e at t + 1: x = 1", {"3:12+1: error: this depends on time: the time of an event may"}},
    {"input T\nevent e at T: x = 1", {"4:12+1: error: this depends on an input: the time of an event may"}},
    {"event e at 3: k = 1", {"3:15+1: error: `k` is a parameter: only states have values that an event can change"}},
    {"event e at 3: xx = 1", {"3:15+2: error: `xx` is not defined; did you mean `x`?"}},
    {"event e at 3: x = 1, x = 2", {"3:22+1: error: the event assigns `x` twice"}},
    {"event e at 3: x = 1\nevent e at 4: x = 1", {"4:7+1: error: `e` is defined twice: it is an event since line 3"}},
    {"event e at 3: x = 1\nobserve q = e", {"4:13+1: error: `e` is an event, which has no value"}},
    {"event e at 3: x = 1\nobserve e", {"4:9+1: error: an event cannot be observed"}},
    {"event x at 3: x = 1", {"3:7+1: error: `x` is defined twice: it is a state since line 2"}},
    {"event e at kk: x = zz", {"3:12+2: error: `kk` is not defined; did you mean `k`?", "3:20+2: error: `zz` is not defined"}},
};

static void test_messages(void **state)
{
    (void)state;
    char before[200];
    snprintf(before, sizeof before, "%s%s", frame, STATES);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_said(&cases[i], before, "\n");
}

/* A condition's sign is its truth, also where both sides are equal and where nothing can be compared. */
static void test_trigger_is_truth(void **state)
{
    (void)state;
    static const char *const conditions[] = {
        "x < y", "x <= y", "x > y", "x >= y", "not x < y", "not (x <= y)", "x < y and y < 2", "x < y or y < 2",
        "x <= y and y <= x",
        "not (x < y or y < 2)",
        "if x < y then y > 1 else x > 3", "heaviside(x - y)", "x >= y and not (y <= 2 or x + y > 6)",
        "not not x < y", "x < y and x > 1 and y < 3", "(x > y) or (if y > 2 then x < 1 else not x < 2)",
    };
    static const double values[] = {0, 1, 2, 3, 1e-300, 4};
    enum { N = sizeof values / sizeof *values };
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        struct text_case self;
        char text[300];
        snprintf(text, sizeof text, "parameter k = 1\n" STATES "observe x\nevent e when %s: x = 1", conditions[i]);
        text_read_good(&self, text);
        const struct equation_event *event = &self.equations->event[0];
        double *value = calloc(graph_n_node(self.equations->graph), sizeof *value);
        assert_non_null(value);
        for (size_t k = 0; k < N * N; k++) {
            double y[] = {values[k % N], values[k / N]};
            graph_evaluate(self.equations->graph, &(struct stiffit_point){.y = y, .p = text_p}, value);
            double truth = value[event->condition], trigger = value[event->when];
            if ((trigger >= 0) != (truth != 0))
                fail_msg("%s at x = %g, y = %g is %g, and its trigger %g", conditions[i], y[0], y[1], truth, trigger);
        }
        free(value);
        text_end(&self);
    }
}

/* `t > X` is a time, but not where it makes a difference. */
static void test_time_alone(void **state)
{
    (void)state;
    static const struct { const char *event; bool is_timed; } is[] = {
        {"when t > k", true}, {"when 2*k < t", true}, {"when t >= k", false}, {"when t > x", false},
        {"when t > k and t < 3", false},
        {"when t > k initially false", false}, {"when t < k", false}, {"at k", true}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        struct text_case self;
        char text[300];
        snprintf(text, sizeof text, "parameter k = 1\n" STATES "observe x\nevent e %s: x = 1", is[i].event);
        text_read_good(&self, text);
        assert_int_equal(self.equations->event[0].kind & STIFFIT_EVENT_TIMED, is[i].is_timed);
        text_end(&self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages), cmocka_unit_test(test_trigger_is_truth), cmocka_unit_test(test_time_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
