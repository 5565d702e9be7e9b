"""Inputs that are short against the time between measurements: what the integrator would step over from a state at rest.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import expit

import helpers as h

K, R = 0.3, 5.0
LOGISTIC = "R*(1/(1 + exp(-(t - {on})/{width})) - 1/(1 + exp(-(t - {off})/{width})))"


def logistic(on, off, width):
    return lambda t: R * (expit((t - on) / width) - expit((t - off) / width))


# rate as text, the same in Python, x(0), times, and places where it is to be integrated piece by piece
CASES = {}
for w in (0.01, 0.1, 0.5):
    CASES[f"infusion {w}"] = (LOGISTIC.format(on=30, off=32, width=w), logistic(30, 32, w), 0, [6, 24, 48, 72],
                              [c + s * w for c in (30, 32) for s in (-20, -5, 0, 5, 20)])
CASES |= {
    "bolus": ("R*exp(-0.5*((t - 1)/0.02)^2)/(0.02*sqrt(2*pi))",
              lambda t: R * np.exp(-0.5 * ((t - 1) / 0.02)**2) / (0.02 * np.sqrt(2 * np.pi)), 0, [2, 3, 4],
              [1 + s * 0.02 for s in (-8, -4, -1, 0, 1, 4, 8)]),
    "pulse": (LOGISTIC.format(on=10, off=10.5, width=0.02), logistic(10, 10.5, 0.02), 1, [9, 10.5, 11, 12],
              [c + s * 0.02 for c in (10, 10.5) for s in (-20, -5, 0, 5, 20)]),
    "rectangle": ("(if t > 30 and t < 30.02 then R else 0)", lambda t: R * (30 < t < 30.02), 0, [6, 31, 36], [30, 30.02]),
    "every day": ("(if t - 24*floor(t/24) < 1 then R else 0)", lambda t: R * (t % 24 < 1), 0, [26, 72, 76, 130],
                  [24 * d + s for d in range(6) for s in (0, 1)]),
    "waves": ("R*exp(40*(cos(2*pi*(t - 8)/24) - 1))", lambda t: R * np.exp(40 * (np.cos(2 * np.pi * (t - 8) / 24) - 1)), 0,
              [6, 34, 40, 110], [24 * d + 8 + s for d in range(6) for s in (-3, -1, 0, 1, 3)]),
    # Nothing here is linear in time, and no sample of a hundred meets a pulse.
    "square of time": ("R*exp(-((t^2 - 7)/0.02)^2)/0.02", lambda t: R * np.exp(-((t**2 - 7) / 0.02)**2) / 0.02, 0, [6, 12],
                       [7**0.5 + s * 0.02 / (2 * 7**0.5) for s in (-8, -4, -1, 0, 1, 4, 8)]),
    "zeros of a sine": ("R*300*exp(-sin(t - 1.1)^2/1e-6)", lambda t: R * 300 * np.exp(-np.sin(t - 1.1)**2 / 1e-6), 0,
                        [6, 40, 44], [1.1 + d * np.pi + s * 1e-3 for d in range(14) for s in (-8, -4, -1, 0, 1, 4, 8)]),
    "moments every day": ("(if t - 24*floor(t/24) > 8.3 and t - 24*floor(t/24) < 8.301 then 1000*R else 0)",
                          lambda t: 1000 * R * (8.3 < t % 24 < 8.301), 0, [26, 30, 130],
                          [24 * d + s for d in range(6) for s in (8.3, 8.301)]),
}


def reference(rate, x0, times, breaks):
    """x' = rate - K x from break to break; the middle of a piece decides about rates that jump at its ends."""
    ends, t, x, found = sorted({*times, *(b for b in breaks if 0 < b < times[-1])}), 0.0, [float(x0)], []
    for end in ends:
        inside = lambda s, y, a=t, b=end: [rate(min(max(s, a + 1e-9 * (b - a)), b - 1e-9 * (b - a))) - K * y[0]]
        x = solve_ivp(inside, (t, end), x, method="LSODA", rtol=1e-11, atol=1e-12, max_step=(end - t) / 20).y[:, -1]
        t = end
        if end in times:
            found.append(x[0])
    return np.array(found)


@h.both
def test_nothing_is_stepped_over(tmp):
    # The start is half of the truth. A fit at a start whose input is missed has no slopes, and ends there.
    for name, (text, rate, x0, times, breaks) in h.portion(CASES.items(), 4):
        y = reference(rate, x0, times, breaks)
        (tmp / "m.ode").write_text(f"parameter k = {K * 0.7}, R = {R / 2}\nx(0) = {x0}\nx' = {text} - k*x\nobserve x\n")
        # Sigmas as small as the smallest value, so that all count.
        rows = [(0, t, 0, v, 1e-3 * np.abs(v) + 1e-6) for t, v in zip(times, y)]
        h.write_problem(tmp / "p.h5", None, ["a"], rows)
        for args in ((), ("--gradient", "adjoint")):
            h.stiffit("run", tmp / "p.h5", "-m", tmp / "m.ode", "--overwrite", "-o", tmp / "r.h5", *args, code=(0, 1))
            fits = h.read_fits(tmp / "r.h5")
            # Predictions are good to about 1e-5, a hundredth of sigma.
            assert np.all(np.abs(fits["parameters"][0] / [K, R] - 1) < 1e-3), (name, args, fits["parameters"], fits["message"])
            assert fits["objective"][0] < 1e-2, (name, args, fits["objective"])


def test_a_jump_anywhere(tmp):
    # 200 datasets whose input starts and ends at random times, as a covariate: none fails, whatever the rounding of its times.
    rng = np.random.default_rng(7)
    n, times = 200, np.array([5, 20, 60, 100.0])
    on = rng.uniform(1, 90, n)
    width = 10**rng.uniform(-3, 0.5, n)
    on[:20] = rng.integers(1, 60, 20)
    text = ("parameter k = 0.3, R = 4\ncovariate on, off\nx(0) = 0\nx' = (if t > on and t < off then R else 0) - k*x\n"
            "observe x\n")
    (tmp / "m.ode").write_text(text)

    def exact(t, on, off):  # the solution at time t
        end = np.minimum(t, off)
        return np.where(t > on, R / K * (np.exp(-K * (t - end)) - np.exp(-K * (t - np.minimum(on, t)))), 0)

    rows = [(d, t, 0, exact(t, on[d], on[d] + width[d]), 1e-2) for d in range(n) for t in times]
    h.write_problem(tmp / "p.h5", None, [f"d{d}" for d in range(n)], rows, covariates={"on": on, "off": on + width})
    h.stiffit("run", tmp / "p.h5", "-m", tmp / "m.ode", "-o", tmp / "r.h5", "--max-evaluations", 1, "--overwrite", code=1)
    fits = h.read_fits(tmp / "r.h5")
    assert set(fits["status"]) == {"budget"}, fits["message"]
    # At R = 4 instead of 5 all predictions are 0.8 of the data.
    right = np.array([np.sum((0.2 * exact(times, on[d], on[d] + width[d]) / 1e-2)**2) / 2 for d in range(n)])
    assert np.all(np.abs(fits["objective"] - right) < 1e-3 * (1 + right)), np.max(np.abs(fits["objective"] / right - 1))


def test_the_slope_of_an_overflow(tmp):
    # exp(3000) is infinite, 1/(1 + exp(3000)) is 0, and so are its slopes.
    (tmp / "m.ode").write_text("parameter k = 0.3, R = 5, on = 30, width = 0.01\nx(0) = 1\n"
                               "x' = R/(1 + exp(-(t - on)/width)) - k*x*(1/(1 + exp((t - 1e9)/width)))\nobserve x\n")
    done = h.stiffit("model", "check", tmp / "m.ode", "--span", 60)
    assert "0 faults" in done.stdout, done.stdout


PLUGIN = """
#include <math.h>
#include <stddef.h>
#include <stiffit/model.h>
static const char *const states[] = {"x"}, *const parameters[] = {"k", "R"}, *const observables[] = {"x"};
static const double start[] = {0.21, 2.5};
static double bolus(double t) { double z = (t - 1)/0.02; return exp(-0.5*z*z)/(0.02*sqrt(2*acos(-1))); }
static int rhs(const struct stiffit_point *at, double *out)
{ out[0] = at->p[1]*bolus(at->t) - at->p[0]*at->y[0]; return 0; }
static int initial(const struct stiffit_point *at, double *y) { (void)at; y[0] = 0; return 0; }
static int observe(const struct stiffit_point *at, double *h) { h[0] = at->y[0]; return 0; }
static int forcing(const struct stiffit_point *at, double *out)
{ out[0] = bolus(at->t); out[1] = at->t >= 1; return at->y ? STIFFIT_FATAL : STIFFIT_OK; }
STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    STIFFIT_MODEL_HEADER, .name = "bolus", .n_state = 1, .n_parameter = 2, .n_observable = 1, .state_name = states,
    .parameter_name = parameters, .observable_name = observables, .parameter_start = start, .rhs = rhs, .initial = initial,
    .observe = observe, .n_forcing = 2, .forcing = forcing%s};
"""
OLDER = ", .n_switching = 7, .struct_size = offsetof(struct stiffit_model, n_switching)"  # what follows counts as absent


SILENT = ", .n_forcing = 0"  # a function that is not there
NOTE = 1 << 24  # hidden_pulses


def test_plugins(tmp):
    _, rate, x0, times, breaks = CASES["bolus"]
    y = reference(rate, x0, times, breaks)
    for name, more, args, is_seen, is_noted in (
            ("new", "", (), True, False), ("older", OLDER, (), False, True), ("silent", SILENT, (), False, True),
            ("bounded", SILENT + ", .max_step = 0.01", (), True, False),
            ("bounded by option", SILENT, ("--max-step", 0.01), True, False),
            ("bounded by both", SILENT + ", .max_step = 1", ("--max-step", 0.01), True, False),
            ("at ease", SILENT + ", .max_step = INFINITY", (), False, False)):  # it says that there are no pulses
        plugin = h.compile_plugin(PLUGIN % more, tmp / f"{name}.so")
        h.write_problem(tmp / "p.h5", plugin, ["a"], [(0, t, 0, v, 1e-3 * v) for t, v in zip(times, y)])
        h.stiffit("run", tmp / "p.h5", "--trust", "--overwrite", "-o", tmp / "r.h5", *args, code=(0, 1))
        fits = h.read_fits(tmp / "r.h5")
        found = fits["parameters"][0]
        assert np.all(np.abs(found / [K, R] - 1) < 1e-3) == is_seen, (name, found)
        assert bool(fits["notes"][0] & NOTE) == is_noted, (name, fits["notes"])
        in_plugin = is_noted or name == "bounded by option"
        assert ("has neither `forcing` nor max_step" in h.stiffit("model", "check", plugin).stdout) == in_plugin, name


PULSE = """
#include <math.h>
#include <stiffit/model.h>
static inline double step(double x) { return 1/(1 + exp(-x/0.02)); }
static const char *const states[] = {"A"}, *const parameters[] = {"k", "V"}, *const observables[] = {"c"};
static const char *const covariates[] = {"on"};
static const double start[] = {0.2, 20}, lower[] = {1e-3, 1e-3};
static int rhs(const struct stiffit_point *at, double *out)
{ double on = at->covariate[0]; out[0] = (at->t >= on && at->t < on + 0.5 ? 1000 : 0) - at->p[0]*at->y[0]; return 0; }
static int initial(const struct stiffit_point *at, double *y) { (void)at; y[0] = 0; return 0; }
static int observe(const struct stiffit_point *at, double *h) { h[0] = at->y[0]/at->p[1]; return 0; }
static int ends(const struct stiffit_point *at, double *out)
{ out[0] = at->t - at->covariate[0]; out[1] = out[0] - 0.5; return 0; }
static int times(const struct stiffit_point *at, double *out)
{ out[0] = at->covariate[0]; out[1] = out[0] + 0.5; return 0; }
STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    STIFFIT_MODEL_HEADER, .name = "pulse", .n_state = 1, .n_parameter = 2, .n_observable = 1, .n_covariate = 1,
    .state_name = states, .parameter_name = parameters, .observable_name = observables, .covariate_name = covariates,
    .parameter_start = start, .parameter_lower = lower, .rhs = rhs, .initial = initial, .observe = observe%s};
"""
BREAKPOINTS = ", .n_switching = 2, .switching = ends, .switching_time = times"


HARD, SMOOTH = "at->t >= on && at->t < on + 0.5 ? 1000 : 0", "1000*(step(at->t - on) - step(at->t - on - 0.5))"


def test_a_short_pulse_of_a_plugin(tmp):
    """A rate that is on from 10 to 10.5: right with its breakpoints or a largest step, otherwise with its note."""
    k, V, t = K, 10., np.array([9, 10.5, 11, 12, 14, 20])
    assert HARD in PULSE
    hard = np.where(t < 10, 0, -np.expm1(-k * np.clip(t - 10, 0, 0.5)) * np.exp(-k * np.maximum(t - 10.5, 0))) * 1000 / k / V
    smooth = reference(lambda t: 200 * logistic(10, 10.5, 0.02)(t), 0, t, CASES["pulse"][4]) / V
    for name, rate, more, args, is_right in (
            ("hard", HARD, "", (), False), ("its times", HARD, BREAKPOINTS, (), True),
            ("hard, bounded", HARD, ", .max_step = 0.2", ("--atol", 1e-6), True),  # A is still 0 when its rate jumps
            ("smooth", SMOOTH, "", (), False), ("smooth, bounded", SMOOTH, ", .max_step = 0.2", (), True),
            ("smooth, by option", SMOOTH, "", ("--max-step", 0.2), True)):
        rows = [(0, at, 0, v, 0.5) for at, v in zip(t, hard if rate == HARD else smooth)]
        rows += [(1, 0.1 + at, 0, 0., 0.5) for at in (1, 2)]
        plugin = h.compile_plugin(PULSE.replace(HARD, rate) % more, tmp / "p.so")
        h.write_problem(tmp / "p.h5", plugin, ["on", "never"], rows, covariates={"on": [10, 1000]})
        h.stiffit("run", tmp / "p.h5", "--trust", "--overwrite", "-o", tmp / "r.h5", *args, code=(0, 1))
        fits = h.read_fits(tmp / "r.h5")
        assert bool(fits["notes"][0] & NOTE) != is_right, (name, fits["notes"])
        assert not fits["notes"][1] & NOTE or rate == SMOOTH, name  # nothing happens there; the smooth one has a tail
        if is_right:  # the certificate lets parameters be off by 2 % of a standard error, which are about 1 %
            np.testing.assert_allclose(fits["parameters"][0], [k, V], rtol=1e-3, err_msg=name)


def test_the_longest_step(tmp):
    (tmp / "m.ode").write_text("parameter k = 0.3 in [0.1, 1]\ny(0) = 1\ny' = -k*y\nobserve y\n")
    t = np.array([5., 10])
    h.write_problem(tmp / "p.h5", tmp / "m.ode", ["a"], [(0, at, 0, v, 0.01) for at, v in zip(t, np.exp(-0.3 * t))])
    for engine in ("cvodes", "lanes"):
        for gradient in ("forward", "adjoint"):
            if (engine, gradient) == ("lanes", "adjoint"):
                continue
            args = ("--max-evaluations", 1, "--certify", "no", "--engine", engine, "--gradient", gradient, "--overwrite")
            steps = {}
            for longest in (None, 0.01, 0.001):
                more = ("--max-step", longest) if longest else ()
                fits = h.run(tmp / "p.h5", *args, *more, code=(0, 1))
                steps[longest] = fits["steps"][0] / fits["evaluations"][0] / (2 if gradient == "adjoint" else 1)
            # not many more, but the adjoint method integrates anew from checkpoint to checkpoint
            assert steps[None] < 500 < 1000 <= steps[0.01] < 1500 and 10000 <= steps[0.001] < 15000, (engine, gradient, steps)
    # in the file, where the command line wins; and what is no length
    with h5py.File(tmp / "p.h5", "a") as f:
        f.require_group("options").attrs["max_step"] = 0.01
    assert h.run(tmp / "p.h5", *args, code=(0, 1))["steps"][0] >= 1000
    assert h.run(tmp / "p.h5", *args, "--max-step", "auto", code=(0, 1))["steps"][0] < 1000
    for word in ("0", "-1", "inf", "nan", "x", ""):
        assert "--max-step" in h.stiffit("run", tmp / "p.h5", "--overwrite", f"--max-step={word}", code=2).stderr, word
    for value in (0., -1., np.inf, np.nan):
        with h5py.File(tmp / "p.h5", "a") as f:
            f["options"].attrs["max_step"] = value
        assert "/options@max_step" in h.stiffit("run", tmp / "p.h5", "--overwrite", code=3).stderr, value


def test_empty_until_an_input_begins(tmp):
    """A state that rests at zero has no size until then; whatever unit it is counted in, the fit is the same."""
    k, V = 0.25, 1.4
    t = np.array([1., 5, 9, 10.5, 11, 11.5, 12, 13, 15, 18, 22])
    x = np.where(t < 10, 0, np.where(t < 12, -np.expm1(-k * (t - 10)), -np.expm1(-2 * k) * np.exp(-k * (t - 12)))) / (k * V)
    y = x + 0.01 * np.random.default_rng(1).standard_normal(t.size)
    found = {}
    for unit in (1, 1e-12, 1e-3, 1e3, 1e12):
        text = (f"parameter k = 0.3 in [0.01, 10] scale log\nparameter V = 1 in [0.01, 100] scale log\nx(0) = 0\n"
                f"x' = (if t > 10 and t < 12 then {unit!r} else 0) - k*x\nobserve c = x/V\n")
        (tmp / "m.ode").write_text(text)
        h.write_problem(tmp / "p.h5", tmp / "m.ode", ["a"], [(0, at, 0, v * unit, 0.01 * unit) for at, v in zip(t, y)])
        fits = h.run(tmp / "p.h5", "--overwrite")
        found[unit] = fits["parameters"][0]
        assert fits["status"][0] == "converged" and not fits["notes"][0], (unit, fits)
        # the certificate lets parameters be off by 0.02 of a standard error, which are some 0.01
        np.testing.assert_allclose(found[unit], found[1], rtol=2e-4, err_msg=str(unit))
    np.testing.assert_allclose(found[1], [k, V], rtol=0.05)


# de Pillis & al. (2009), Comput. Math. Methods Med. 10, 165: a tumour, immune cells, lymphocytes, interleukin 2, and M, a
# drug that nobody gives. The derivatives by M are 1e9, so rows change places in an LU factorisation, and M gets the rounding
# errors of others.
TUMOUR = """parameter a = 0.431 in [0.1, 2]
T(0) = 1e7; N(0) = 2.5e8; L(0) = 526800; C(0) = 2.25e9
{drug}I(0) = 1073
killed = {killed}
T' = a*T*(1 - 1.02e-9*T) - 2.9077e-13*N*T - 0.9*killed*T
N' = 0.0125*(0.111*C - N) - 2.794e-13*N*T + 0.068*N*I/(250360 + I) - 0.0675*killed*N
L' = -2.145645e-9*L/(2.38405e-7 + I) - 3.422e-10*L*T + 2.9077e-11*N*T + 5.8467e-13*C*T - 4.417e-14*L^2*C*I/(2503.6 + I) \\
    + 0.01245*T*L/(2.019e7 + T) + 2.971*L*I/(2503.6 + I) - 0.0486*killed*L
C' = 0.0063*(2.25e9 - C) - 0.034*killed*C
I' = 2.38405e-7*C - 11.7427*I + 0.07874*L*I/(2503.6 + I)
observe T, N, L, I
"""
FORMS = {"without": TUMOUR.format(drug="", killed="0"),
         "with": TUMOUR.format(drug="M(0) = 0; M' = -0.5199*M\n", killed="1 - exp(-1.8328*M)")}


def test_what_nothing_drives_remains_zero(tmp):
    """A state of rounding errors costs no steps, and changes nothing."""
    values = {}
    for name, text in FORMS.items():
        (tmp / f"{name}.ode").write_text(text)
        for rtol in (1e-6, 1e-10):
            out = h.stiffit("simulate", "-m", tmp / f"{name}.ode", "--times", "1,5,10,20,35,50,100", "--rtol", rtol).stdout
            values[name, rtol] = np.array([float(row.split(",")[-1]) for row in out.split()[1:]])
    exact = values["without", 1e-10]
    for rtol in (1e-6, 1e-10):  # the error of 100 or so steps, each within rtol
        np.testing.assert_allclose(values["with", rtol], exact, rtol=100 * rtol)
    y = exact * (1 + 0.02 * np.random.default_rng(1).standard_normal(exact.size))
    rows = [(0, at, i % 4, y[i], 0.02 * exact[i]) for i in range(y.size) for at in [(1, 5, 10, 20, 35, 50, 100)[i // 4]]]
    for engine in ("lanes", "cvodes"):
        for rtol in (1e-5, 1e-9):
            fits = {}
            for name in ("without", "with"):
                h.write_problem(tmp / "p.h5", tmp / f"{name}.ode", ["a"], rows, parameters={"observables": list("TNLI")})
                fits[name] = h.run(tmp / "p.h5", "--overwrite", "--engine", engine, "--rtol", rtol)
            a, b = fits["without"], fits["with"]
            assert b["status"][0] == "converged" and not b["notes"][0], (engine, rtol, b)
            error = a["standard_error"][0, 0]
            assert abs(a["parameters"][0, 0] - b["parameters"][0, 0]) < 0.05 * error, (engine, rtol, a, b)
            # M belongs to the error test all the same: a fifth more for that, and for other orders of rounding.
            per = [f["steps"][0] / f["evaluations"][0] for f in (a, b)]
            assert per[1] < 1.2 * per[0], (engine, rtol, per)


if __name__ == "__main__":
    h.main()
