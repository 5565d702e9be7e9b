/* Texts that parse and mean nothing, or something that deserves a warning: all messages, where and how they begin.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "text_said.h"

static const struct said meanings[] = {
    {"y = kk + k2",
     {"2:5+2: error: `kk` is not defined; did you mean `k`?",
      "2:10+2: error: `k2` is not defined; did you mean `k`?"}},
    {"observe nothing", {"2:9+7: error: `nothing` is not defined"}},
    {"y = exq(1)", {"2:5+3: error: the function `exq` is not defined; did you mean `exp`?"}},
    {"y = heavyside(1)", {"2:5+9: error: the function `heavyside` is not defined; did you mean `heaviside`?"}},
    {"y = Tim + foo + foo", {"2:5+3: error: `Tim` is not defined", "2:11+3: error: `foo` is not defined"}},
    {"y = k(3)", {"2:5+1: error: `k` is a parameter, not a function: is a `*` missing before the bracket?"}},
    {"x' = 1\nx(0) = 1\ny = x(0) + x(t)",
     {"4:5+1: error: `x` is a state, not a function: write `x` for its value now, a `*` for a",
      "4:12+1: error: `x` is a state, not a function: write `x` for its value now, a `*` for a"}},
    {"f(x) = x\ny = f + 1", {"3:5+1: error: `f` is a function: it needs its arguments in parentheses"}},
    {"f(x) = x\ny = f(1, 2)", {"3:5+1: error: `f` takes 1 argument, not 2 (it is defined in line 2)"}},
    {"f(x) = x\nobserve f", {"3:9+1: error: a function cannot be observed: write `observe NAME = EXPR`"}},
    {"y = nofun(3)", {"2:5+5: error: the function `nofun` is not defined"}},
    {"a = b\nb = c + a\nc = a", {"4:5+1: error: a circular definition: `a` needs `b` needs `c` needs `a`"}},
    {"a = a", {"2:5+1: error: a circular definition: `a` needs `a`"}},
    {"f(x) = g(x)\ng(x) = f(x) + 1\ny = f(1)",
     {"3:8+1: error: a function may not call itself: `f` needs `g` needs `f`"}},
    {"f(x) = f(x)", {"2:8+1: error: a function may not call itself: `f` needs `f`"}},
    {"constant c = d, d = c", {"2:21+1: error: a circular definition: `c` needs `d` needs `c`"}},
    {"observe z = z", {"2:13+1: error: a circular definition: `z` needs `z`"}},
    {"a = f(1)\nf(x) = a", {"3:8+1: error: a circular definition: `a` needs `f` needs `a`"}},
    {"x' = a\na = x\nx(0) = 1", {}},
    {"constant c = k", {"2:14+1: error: `k` is a parameter: only numbers and constants are allowed here"}},
    {"constant c = t", {"2:14+1: error: `t` is the time: only numbers and constants are allowed here"}},
    {"x' = 1\nx(0) = 1\nconstant c = x",
     {"4:14+1: error: `x` is a state: only numbers and constants are allowed here"}},
    {"m = 3\nconstant c = m",
     {"3:14+1: error: `m` is an intermediate: only numbers and constants are allowed here: make it a"}},
    {"m = k\nconstant c = m", {"3:14+1: error: `m` is an intermediate: only numbers and constants are allowed here"}},
    {"f(x) = x*k\nconstant c = f(2)",
     {"3:14+1: error: `f` is a function: only numbers and constants are allowed here"}},
    {"f(x) = x*2\nconstant c = f(2)\nobserve c", {}},
    {"constant c = 1/0", {"2:10+1: error: the value of this constant is not a finite number"}},
    {"constant c = log(-1)", {"2:10+1: error: the value of this constant is not a finite number"}},
    {"parameter a = 1/0", {"2:15+1: error: the value of this expression is not a finite number"}},
    {"parameter a = o", {"2:15+1: error: `o` is an intermediate: only numbers and constants are allowed here"}},
    {"time from k", {"2:11+1: error: `k` is a parameter: only numbers and constants are allowed here"}},
    {"parameter a = 3 in [k, 4]", {"2:21+1: error: `k` is a parameter: only numbers and constants are allowed here"}},
    {"parameter a = 0 in [0, 3] scale log", {"2:11+1: error: `a` starts at 0, but on scale log it must be above 0"}},
    {"parameter a = 2.5 in [3, 2]",
     {"2:11+1: error: the bounds [3, 2] of `a` hold no value: the lower one comes first"}},
    {"parameter a = 1 in [inf, inf]",
     {"2:11+1: error: the bounds [inf, inf] of `a` hold no value: the lower one comes first"}},
    {"parameter a = 1 in [-inf, -inf]",
     {"2:11+1: error: the bounds [-inf, -inf] of `a` hold no value: the lower one comes first"}},
    {"parameter a = -1 scale log", {"2:11+1: error: `a` starts at -1, but on scale log it must be above 0"}},
    {"parameter a = 0 scale log10", {"2:11+1: error: `a` starts at 0, but on scale log10 it must be above 0"}},
    {"parameter a = 1 in [-1, 2] scale log",
     {"2:11+1: error: on scale log the bounds of `a` must not be below 0, and these are [-1, 2]"}},
    {"parameter a = 1 in [0, inf] scale log\nobserve a", {}},
    {"parameter a = 1 in [1/0, 2]", {"2:21+1: error: the value of this expression is not a finite number"}},
    {"parameter a = inf", {"2:15+3: error: unexpected `inf`: infinity is allowed only in the bounds of a parameter"}},
    {"parameter a = 1 in [-inf + 1, 2]", {"2:26+1: error: expected a comma and the upper bound, found `+`"}},
    {"x' = 1", {"2:1+1: error: the state `x` has no initial value: add `x(0) = ...`"}},
    {"x(0) = 1", {"2:1+1: error: `x` has an initial value but no derivative: add `x' = ...`"}},
    {"x = 1\nx(0) = 1",
     {"3:1+1: error: `x` is an intermediate (line 2) and has no initial value: only states have one"}},
    {"k(0) = 1", {"2:1+1: error: `k` is a parameter (line 1) and has no initial value: only states have one"}},
    {"x' = 1\nx(0) = x",
     {"3:8+1: error: `x` is a state: an initial value may depend on parameters, covariates, constants and time only"}},
    {"x' = 1\nx(0) = y\ny = z\nz = x",
     {"3:8+1: error: `y` depends on the state `x`: an initial value may depend on parameters, covariates,"}},
    {"x' = 1\nx(0) = f(1)\nf(a) = a*x",
     {"3:8+1: error: `f` depends on the state `x`: an initial value may depend on parameters, covariates,"}},
    {"observe m = 3 sd 0", {"2:18+1: error: a standard deviation must be above 0 and finite, and this one is 0"}},
    {"observe m = 3 sd -1", {"2:18+1: error: a standard deviation must be above 0 and finite, and this one is -1"}},
    {"a = 1 +\nb = a\nobserve b", {"2:7+1: error: expected a value, but the statement ends here"}},
    {"x' = 1 +\nx(0) = y\ny = 3*x", {"2:8+1: error: expected a value, but the statement ends here"}},
    {"f(x) = x +\ny = f(1, 2)", {"2:10+1: error: expected a value, but the statement ends here"}},
    {"y = 3 +\nz = y + q",
     {"2:7+1: error: expected a value, but the statement ends here",
      "3:9+1: error: `q` is not defined"}},
    {"observe x + 1", {"2:9+1: error: an expression that is observed needs a name: `observe NAME = EXPR`"}},
    {"observe exp(k)", {"2:9+3: error: an expression that is observed needs a name: `observe NAME = EXPR`"}},
    {"observe t", {"2:9+1: error: an expression that is observed needs a name: `observe NAME = EXPR`"}},
    {"observe 2*k", {"2:9+1: error: expected a name for what is measured, found `2`"}},
    {"observe (k)", {"2:9+1: error: expected a name for what is measured, found `(`"}},
};

static const struct said wholes[] = {
    {"", {"0:0+1: error: there is no parameter to fit: add `parameter NAME = START`"}},
    {"x' = 1\nx(0) = 1\nobserve x", {"0:0+1: error: there is no parameter to fit: add `parameter NAME = START`"}},
    {"parameter k = 1", {"0:0+1: error: nothing is observed: add `observe NAME` for what is measured"}},
    {"# only this", {"0:0+1: error: there is no parameter to fit: add `parameter NAME = START`"}},
};

static const struct said warnings[] = {
    {"parameter a = 1 in [2, 3]\nobserve a",
     {"2:11+1: warning: `a` starts at 1, outside its bounds [2, 3]: fits begin at 2"}},
    {"parameter a = 0 in [2, 3] scale log\nobserve a",
     {"2:11+1: warning: `a` starts at 0, outside its bounds [2, 3]: fits begin at 2"}},
    {"parameter a = 4 prior uniform(2, 3)\nobserve a",
     {"2:23+7: warning: `a` starts at 4, outside its uniform prior on [2, 3]"}},
    {"parameter m = 1, n = 2\nu = m\ncovariate w\nconstant c = 2",
     {"2:11+1: warning: nothing that is computed uses `m`, a parameter: it cannot be estimated",
      "2:18+1: warning: nothing that is computed uses `n`, a parameter: it cannot be estimated",
      "3:1+1: warning: nothing that is computed uses `u`, an intermediate",
      "5:10+1: warning: nothing that is computed uses `c`, a constant"}},
    {"f(a) = g(a)\ng(a) = a*k\nh(a) = a\nobserve q = h(k)",
     {"2:1+1: warning: nothing that is computed uses `f`, a function",
      "3:1+1: warning: nothing that is computed uses `g`, a function"}},
    {"x' = -x\nx(0) = 1\nalag(x) = k\nfunction f(a, x) = 2",
     {"4:1+4: warning: `alag(x) = ...` defines a function that nothing uses, and does not affect the state `x`",
      "5:10+1: warning: `f(x) = ...` defines a function that nothing uses, and does not affect the state `x`"}},
    {"x' = -f(k)\nx(0) = 1\nf(x) = x + 1", {}}, /* it hides the state, and is used */
    {"observe k sd 1, q = 2*k",
     {"1:26+1: warning: `o` has no `sd`, while others have one: its measurements that have no sigma",
      "2:17+1: warning: `q` has no `sd`, while others have one: its measurements that have no sigma"}},
    {"observe k", {}},
    {"x' = if t > 5 then 1 else 0\nx(0) = 1\nobserve x", {}}, /* found ahead of the integrator */
    {"covariate w\nx' = sign(t - w) + abs(t - k)\nx(0) = 1", {}},
    {"x' = if t > 5 then k else 0\nx(0) = 1\nobserve x", {}},
    {"x' = if t > k then 1 else 0\nx(0) = 1\nobserve x", {}}, /* the integrator stops at jumps */
    {"x' = floor(t + k*x)\nx(0) = 1\nobserve x", {}},
    {"x' = y\ny = z + abs(x)\nz = sign(t - 1)\nx(0) = 1",
     {"3:9+3: warning: `abs` gives a derivative a kink as a state changes; the integrator"}},
    {"x' = k > 1\nx(0) = 1", {}},
    {"x' = 1\nx(0) = k > 3\nobserve x > 2",
     {"4:9+1: error: an expression that is observed needs a name: `observe NAME = EXPR`"}},
    {"x' = 1\nx(0) = k > 3\nobserve q = x > 2", {}},
    {"x' = f(x) + f(k)\nx(0) = 1\nf(a) = max(a, 0)",
     {"4:8+3: warning: `max` gives a derivative a kink as a state changes; the integrator"}},
    {"x' = f(k)\nx(0) = 1\nf(a) = max(a, 0)", {}},
    {"x' = if x then 1 else 2\nx(0) = 1",
     {"2:6+2: warning: `if` changes a derivative where a state has exactly one value, which the integrator does not"}},
    {"x' = piecewise(1, t < 1, 2, x < 2, 3) + floor(x)\nx(0) = 1", {}},
    {"x' = heaviside(t - 1) + min(1, x, 3)\nx(0) = 1",
     {"2:25+3: warning: `min` gives a derivative a kink as a state changes; the integrator"}},
    {"x' = not (x > 1 and t < 3)\nx(0) = 1", {}},
    {"x' = ceil(x) + max(t, 2)\nx(0) = 1", {}},
    {"x' = (t == 3) + (x != 3)\nx(0) = 1",
     {"2:20+2: warning: `!=` changes a derivative where a state has exactly one value, which the integrator does not"}},
};

static void test_meanings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        check_said(&meanings[i], frame, "\n");
}

static void test_wholes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
        check_said(&wholes[i], "", "");
}

static void test_warnings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++)
        check_said(&warnings[i], frame, "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_meanings), cmocka_unit_test(test_wholes),
                                       cmocka_unit_test(test_warnings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
