"""A run looks at a plugin's derivatives first: wrong ones are refused by name, right ones are left alone, whatever the model.

SPDX-License-Identifier: BSD-3-Clause
"""
import json

import numpy as np

import helpers as h

# y' = -k y, z' = k y - m z with y(0) = A, observed as s z with the noise r s z + r; units of the states U, of the time T.
# Each derivative carries a factor that a test makes wrong.
SOURCE = """
#include <math.h>
#include <stiffit/model.h>
#define U (@U@)
#define T (@T@)
static const char *const states[] = {"y", "z"}, *const parameters[] = {"k", "m", "A", "s"}, *const observables[] = {"h"};
static const char *const scales[] = {"log", "log", "log", "log"};
static const double start[] = {0.5 / T, 0.2 / T, 2 * U, 1.5};
static const uint8_t use[] = {@mask@, STIFFIT_USE_RHS, STIFFIT_USE_INITIAL, STIFFIT_USE_OBSERVE | STIFFIT_USE_NOISE};
static int rhs(const struct stiffit_point *at, double *f)
{ f[0] = -at->p[0] * at->y[0]; f[1] = at->p[0] * at->y[0] - at->p[1] * at->y[1]; return 0; }
static int jacobian(const struct stiffit_point *at, double *J)
{ J[0] = -at->p[0]; J[1] = @jacobian@ * at->p[0]; J[2] = 0; J[3] = -at->p[1]; return 0; }
static int jacobian_sparse(const struct stiffit_point *at, double *J)
{ J[0] = -at->p[0]; J[1] = @jacobian_sparse@ * at->p[0]; J[2] = -at->p[1]; return 0; }
static const int32_t columns[] = {0, 2, 3}, rows[] = {0, 1, 1};
static int rhs_parameter(const struct stiffit_point *at, double *F)
{ for (int i = 0; i < 8; i++) F[i] = 0; F[0] = -@rhs_parameter@ * at->y[0]; F[1] = at->y[0]; F[3] = -at->y[1]; return 0; }
static int initial(const struct stiffit_point *at, double *y) { y[0] = at->p[2]; y[1] = 0; return 0; }
static int initial_parameter(const struct stiffit_point *at, double *Y)
{ (void)at; for (int i = 0; i < 8; i++) Y[i] = 0; Y[4] = @initial_parameter@; return 0; }
static int observe(const struct stiffit_point *at, double *h) { h[0] = at->p[3] * at->y[1]; return 0; }
static int observe_state(const struct stiffit_point *at, double *H) { H[0] = 0; H[1] = @observe_state@ * at->p[3]; return 0; }
static int observe_parameter(const struct stiffit_point *at, double *H)
{ H[0] = H[1] = H[2] = 0; H[3] = @observe_parameter@ * at->y[1]; return 0; }
static int noise(const struct stiffit_point *at, double *r) { r[0] = 0.02 * (at->p[3] * at->y[1] + U); return 0; }
static int noise_state(const struct stiffit_point *at, double *R)
{ R[0] = 0; R[1] = 0.02 * @noise_state@ * at->p[3]; return 0; }
static int noise_parameter(const struct stiffit_point *at, double *R)
{ R[0] = R[1] = R[2] = 0; R[3] = 0.02 * @noise_parameter@ * at->y[1]; return 0; }
STIFFIT_EXPORT const struct stiffit_model stiffit_model = {STIFFIT_MODEL_HEADER, .name = "chain", .n_state = 2,
    .n_parameter = 4, .n_observable = 1, .n_nonzero = 3, .state_name = states, .parameter_name = parameters,
    .observable_name = observables, .parameter_start = start, .parameter_scale = scales, .parameter_use = use, .rhs = rhs,
    .initial = initial, .observe = observe, .jacobian = jacobian, .jacobian_sparse = jacobian_sparse, .column_start = columns,
    .row_index = rows, .rhs_parameter = rhs_parameter, .initial_parameter = initial_parameter,
    .observe_state = observe_state, .observe_parameter = observe_parameter, .noise = noise, .noise_state = noise_state,
    .noise_parameter = noise_parameter};
"""
ENTRIES = {"jacobian": "d rhs[z] / d y", "jacobian_sparse": "d rhs[z] / d y", "rhs_parameter": "d rhs[y] / d k",
           "initial_parameter": "d initial[y] / d A", "observe_state": "d observe[h] / d z",
           "observe_parameter": "d observe[h] / d s", "noise_state": "d noise[h] / d z",
           "noise_parameter": "d noise[h] / d s"}


def chain(tmp, name, unit=1.0, time=1.0, **changes):
    """The plugin, and a problem with 4 datasets of the true model in its units; s is fixed, as A s is all that is seen."""
    words = {**dict.fromkeys(ENTRIES, "1"), "mask": "STIFFIT_USE_RHS", "U": repr(unit), "T": repr(time), **changes}
    source = SOURCE
    for word, text in words.items():
        source = source.replace(f"@{word}@", text)
    h.compile_plugin(source, tmp / f"{name}.so", "-O1")
    rng = np.random.default_rng(3)
    t, rows = np.linspace(0.5, 12, 12), []
    for d in range(4):
        k, m, a = np.array([0.6, 0.15, 2.2]) * np.exp(0.2 * rng.standard_normal(3))
        z = 1.5 * a * k / (k - m) * (np.exp(-m * t) - np.exp(-k * t))
        z += 0.02 * (z + 1) * rng.standard_normal(t.size)
        rows += [(d, time * when, 0, unit * value, np.nan) for when, value in zip(t, z)]
    path = h.write_problem(tmp / f"{name}.h5", tmp / f"{name}.so", [f"d{d}" for d in range(4)], rows,
                           parameters={"name": ["k", "m", "A", "s"], "fixed": [0, 0, 0, 1]})
    return path


def test_wrong_derivatives_are_refused(tmp):
    """By a factor of 2, of 1.01, a wrong sign, or 0. Each names function, entry and dataset, and nothing is left behind."""
    for function, entry in ENTRIES.items():
        for factor in ("2", "1.01", "(-1)", "0") if function == "rhs_parameter" else ("2",):
            path = chain(tmp, function, **{function: factor})
            done = h.stiffit("run", path, "--trust", code=3)
            for word in (f"{function}: {entry}", "'d0'", "stiffit model check", "--gradient differences", path.name):
                assert word in done.stderr, (word, done.stderr)
    done = h.stiffit("run", chain(tmp, "mask", mask="STIFFIT_USE_NOISE"), "--trust", code=3)
    assert "parameter_use: k changes rhs" in done.stderr, done.stderr
    for name, word in (("wrong_rhs_parameter", "d rhs[y] / d k"), ("wrong_mask", "parameter_use")):
        h.decay_problem(tmp / "zoo.h5", 3)
        assert word in h.stiffit("run", tmp / "zoo.h5", "--model", h.zoo(name), code=3).stderr
    assert not list(tmp.glob("*.journal")) and not list(tmp.glob("*.result.h5"))


def test_with_differences_wrong_derivatives_do_no_harm(tmp):
    """The message's advice. The oracle is the right plugin; quotients of an integration at 1e-7 are good to about 1e-3."""
    good = h.run(chain(tmp, "good"))
    assert list(good["status"]) == ["converged"] * 4 and "derivatives" not in good["stderr"], good["stderr"]
    for function in ("rhs_parameter", "initial_parameter", "observe_state", "jacobian"):
        fits = h.run(chain(tmp, function, **{function: "2"}), "--gradient", "differences")
        assert np.allclose(fits["parameters"], good["parameters"], rtol=1e-3), function
        assert np.allclose(fits["standard_error"][:, :3], good["standard_error"][:, :3], rtol=1e-2), function


def test_units_are_no_matter(tmp):
    for unit in (1e-12, 1e12):
        for time in (1e-12, 1e12):
            fits = h.run(chain(tmp, "right", unit, time), "--overwrite", "--atol", 1e-10 * min(unit, 1), code=None)
            assert "wrong derivatives" not in fits["stderr"], fits["stderr"]
            done = h.stiffit("run", chain(tmp, "wrong", unit, time, rhs_parameter="2"), "--trust", code=3)
            assert "d rhs[y] / d k" in done.stderr, done.stderr


# Right-hand sides of y with parameters p[0] and p[1] that start at 1, and derivatives of them that are right, or as right as
# they can be: at kinks and jumps on the very start, where they are steep, noisy, tiny beside others, or not computable nearby.
HARD = {
    "max of equal ones": ("-y * fmax(p[0], p[1])", "-fmax(p[0], p[1])", "p[0] >= p[1] ? -y : 0", "p[0] >= p[1] ? 0 : -y"),
    "kink at the start": ("-y * fabs(p[0] - 1) - p[1] * y", "-fabs(p[0] - 1) - p[1]", "p[0] >= 1 ? -y : y", "-y"),
    "jump at the start": ("-y * (p[0] >= 1 ? 2 : 1) - p[1] * y", "-(p[0] >= 1 ? 2 : 1) - p[1]", "0", "-y"),
    "steep switch": ("-y * p[1] / (1 + exp(-1e8 * (p[0] - 1)))", "-p[1] / (1 + exp(-1e8 * (p[0] - 1)))",
                     "-y * p[1] * 1e8 * exp(-1e8 * fabs(p[0] - 1)) / pow(1 + exp(-1e8 * fabs(p[0] - 1)), 2)",
                     "-y / (1 + exp(-1e8 * (p[0] - 1)))"),
    "single precision": ("(double)(float)(-y * p[0] * p[1])", "-p[0] * p[1]", "-y * p[1]", "-y * p[0]"),
    "rounded": ("-floor(1e7 * y * p[0]) / 1e7 - p[1] * y", "-p[0] - p[1]", "-y", "-y"),
    "cancelling": ("-((1e9 + y * p[0]) - 1e9) - p[1] * y", "-p[0] - p[1]", "-y", "-y"),
    "tiny": ("-y * p[0] - 1e-12 * p[1] * y", "-p[0] - 1e-12 * p[1]", "-y", "0"),
    "wiggly": ("-y * p[0] * (1 + 1e-5 * sin(1e5 * p[1]))", "-p[0] * (1 + 1e-5 * sin(1e5 * p[1]))",
              "-y * (1 + 1e-5 * sin(1e5 * p[1]))", "-y * p[0] * cos(1e5 * p[1])"),
    "not computable above": ("p[0] > 1 ? NAN : -y * p[0] * p[1]", "-p[0] * p[1]", "-y * p[1]", "-y * p[0]"),
    "not computable near": ("-y * p[0] * sqrt(p[1] - 0.999999)", "-p[0] * sqrt(p[1] - 0.999999)",
                            "-y * sqrt(p[1] - 0.999999)", "-y * p[0] / 2 / sqrt(p[1] - 0.999999)"),
    "tens of decades": ("-y * p[0] * exp(-40 * y) * 1e20 - p[1] * y", "-p[0] * 1e20 * exp(-40 * y) * (1 - 40 * y) - p[1]",
                        "-y * exp(-40 * y) * 1e20", "-y"),
}
HARD_SOURCE = """
#include <math.h>
#include <stiffit/model.h>
static const char *const states[] = {"y"}, *const parameters[] = {"a", "b", "zero"};
static const double start[] = {1, 1, 0};
static int rhs(const struct stiffit_point *at, double *f)
{ const double *p = at->p, y = at->y[0]; f[0] = %s + p[2] * y / (1e-12 + fabs(p[2])) * 1e-13; return isnan(f[0]); }
static int jacobian(const struct stiffit_point *at, double *J)
{ const double *p = at->p, y = at->y[0]; J[0] = %s + p[2] / (1e-12 + fabs(p[2])) * 1e-13; (void)y; return 0; }
static int rhs_parameter(const struct stiffit_point *at, double *F)
{ const double *p = at->p, y = at->y[0]; F[0] = %s; F[1] = %s; F[2] = 1e-25 * y / pow(1e-12 + fabs(p[2]), 2); return 0; }
static int initial(const struct stiffit_point *at, double *y) { (void)at; y[0] = 1; return 0; }
static int observe(const struct stiffit_point *at, double *h) { h[0] = at->y[0]; return 0; }
STIFFIT_EXPORT const struct stiffit_model stiffit_model = {STIFFIT_MODEL_HEADER, .name = "hard", .n_state = 1,
    .n_parameter = 3, .n_observable = 1, .state_name = states, .parameter_name = parameters, .observable_name = states,
    .parameter_start = start, .rhs = rhs, .initial = initial, .observe = observe, .jacobian = jacobian,
    .rhs_parameter = rhs_parameter};
"""


def test_no_false_alarms(tmp):
    rows = [(0, t, 0, np.exp(-t), 0.1) for t in (0.5, 1, 2)]
    for name, (f, *derivatives) in HARD.items():
        h.compile_plugin(HARD_SOURCE % (f, *derivatives), tmp / "hard.so", "-O1")
        h.write_problem(tmp / "p.h5", tmp / "hard.so", ["d"], rows)
        done = h.stiffit("run", "p.h5", "--trust", "--overwrite", "--max-evaluations", 3, code=(0, 1), cwd=tmp)
        assert "wrong derivatives" not in done.stderr, (name, done.stderr)


def test_slow_models_and_those_that_crash_are_the_fits_affair(tmp):
    """The check gives up after its 2 s, and says so; a crash at the start is a row."""
    source = HARD_SOURCE % ("(usleep(20000), -y * p[0])", "-p[0]", "-y", "0")
    source = "#define _GNU_SOURCE\n#include <unistd.h>\n" + source
    h.compile_plugin(source, tmp / "slow.so", "-O1")
    h.write_problem(tmp / "p.h5", tmp / "slow.so", ["d"], [(0, 1, 0, 0.5, 0.1)])
    done = h.stiffit("run", "p.h5", "--trust", "--max-evaluations", 1, "--max-seconds", 0.1, code=1, cwd=tmp)
    assert "could not be checked within 2 s" in done.stderr, done.stderr
    h.let_models_crash()
    h.decay_problem(tmp / "q.h5", 2)
    fits = h.run(tmp / "q.h5", "--model", h.zoo("segfault"), code=1)
    assert set(fits["status"]) == {"crashed"}, fits["status"]


@h.more
def test_all_models_pass(tmp):
    """Every C model that there is, at the starts of its own parameters: none is refused."""
    for plugin in sorted((h.BUILD / "models").glob("*.so")):
        names = json.loads(h.stiffit("model", "show", plugin, "--json").stdout)
        rows = [(d, 1e-3 * (1 + i), i % len(names["observables"]), 1, 1e3) for d in range(2) for i in range(4)]
        parameters = {"name": names["parameters"], "observables": names["observables"]}
        for more in ({}, {"start": np.ones(len(names["parameters"]))}):  # for those that have no starts of their own
            h.write_problem(tmp / "p.h5", plugin, ["a", "b"], rows, parameters={**parameters, **more},
                            covariates={name: [1.5, 3] for name in names["covariates"]})
            done = h.stiffit("run", "p.h5", "--trust", "--overwrite", "--max-evaluations", 1, code=(0, 1, 3), cwd=tmp)
            if "has no starts" not in done.stderr:
                break
        assert done.returncode != 3 and "checked" not in done.stderr, (plugin, done.stderr)


if __name__ == "__main__":
    h.main()
