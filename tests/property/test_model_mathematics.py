"""Functions of lanes (exp, log, powers, sin ...) against long double, in units in the last place; special values against C's;
and the same bits in registers of every width. The logarithm of the gamma function and its derivatives also against mpmath's
numbers and SciPy, and with the same bits for numbers.

SPDX-License-Identifier: BSD-3-Clause
"""
import ctypes
import ctypes.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import scipy.special

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import helpers as h  # noqa: E402

N = 4_000_000 if h.SLOW else 4_000 if h.QUICK else 40_000
NAMES = ["exp", "log", "log10", "log2", "sin", "cos", "pow"]
MODEL = """a(0) = 1; b(0) = 1; y1(0) = 0; y2(0) = 0; y3(0) = 0; y4(0) = 0; y5(0) = 0; y6(0) = 0; y7(0) = 0
parameter k = 1
a' = k; b' = k
y1' = exp(a); y2' = log(a); y3' = log10(a); y4' = log2(a); y5' = sin(a); y6' = cos(a); y7' = a^b
observe y1
"""
# Reads blocks of a and b, a number for each lane, and writes the seven values of each.
DRIVER = """
#include "model.c"
#include <stdio.h>
int main(void)
{
    enum { N = 9 };
    static _Alignas(64) double t[STIFFIT_LANES], y[N*STIFFIT_LANES], p[STIFFIT_LANES];
    static _Alignas(64) double w[99*STIFFIT_LANES], out[N*STIFFIT_LANES];
    const struct stiffit_lanes_point at = {.t = t, .y = y, .p = p, .work = w};
    while (fread(y, sizeof(double), 2*STIFFIT_LANES, stdin) == 2*STIFFIT_LANES) {
        lanes_rhs(&at, out);
        fwrite(out + 2*STIFFIT_LANES, sizeof(double), 7*STIFFIT_LANES, stdout);
    }
    return 0;
}
"""
FLAGS = {"x86-64": [], "x86-64-v3": ["avx2", "fma"], "x86-64-v4": ["avx512f", "avx512dq", "avx512vl"]}
LANES = 8
# The errors of log, its multiples, and powers are those of a sum of two numbers that is rounded once, or nearly; those of sin
# and cos have the rounding of their square besides. The reference is off by 1/2048.
MOST = {"exp": 0.7, "log": 0.51, "log10": 0.51, "log2": 0.51, "sin": 0.8, "cos": 0.8, "pow": 0.7}


def programs(tmp, model=MODEL, driver=DRIVER, level="-O3"):
    (tmp / "m.ode").write_text(model)
    h.stiffit("model", "build", tmp / "m.ode", "-c", tmp / "model.c")
    (tmp / "driver.c").write_text(driver)
    known = set()
    if os.uname().machine == "x86_64":
        known = set(pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n", 1)[0].split())
    marches = [march for march, flags in FLAGS.items() if known and set(flags) <= known] or [None]
    for march in marches:
        path = tmp / f"driver-{march}"
        subprocess.run([*os.environ.get("CC", "cc").split(), level, *([f"-march={march}"] if march else []), "-std=c11",
                        "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-I", str(h.ROOT / "include"), "-o",
                        str(path), str(tmp / "driver.c"), "-lm"], check=True)
        yield march, path


def values(program, a, b):
    blocks = np.stack([np.resize(x, -(-len(a) // LANES) * LANES).reshape(-1, LANES) for x in (a, b)], axis=1)
    done = subprocess.run([str(program)], input=blocks.tobytes(), capture_output=True, check=True)
    out = np.frombuffer(done.stdout).reshape(-1, 7, LANES).transpose(1, 0, 2).reshape(7, -1)[:, :len(a)]
    return dict(zip(NAMES, out))


def reference(a, b):
    with np.errstate(all="ignore"):
        a, b = a.astype(np.longdouble), b.astype(np.longdouble)
        return dict(zip(NAMES, [np.exp(a), np.log(a), np.log10(a), np.log2(a), np.sin(a), np.cos(a), np.power(a, b)]))


def drawn():
    """Arguments of every size, near 1 and multiples of pi/2, where results overflow and underflow."""
    rng = np.random.default_rng(7)
    def sized(n, low, high):
        return np.exp2(rng.uniform(low, high, n)) * rng.choice([-1, 1], n)
    a = np.concatenate([rng.uniform(-750, 720, N), rng.uniform(-2, 2, N), sized(N, -1080, 1024),
                        np.exp2(rng.uniform(-60, 60, N)), 1 + sized(N, -53, -1),
                        rng.integers(-500_000, 500_000, N)*(np.pi/2), rng.uniform(-1e6, 1e6, N), np.exp(rng.uniform(-3, 3, N)),
                        np.exp2(rng.uniform(-1074, 1023, N))])
    b = np.concatenate([rng.uniform(-4, 4, 4*N), sized(N, 30, 60), rng.integers(-9, 9, N), rng.uniform(-3, 3, N),
                        rng.uniform(-300, 300, N), rng.uniform(-1.1, 1.1, N)])
    return a, b


@h.both
def test_accuracy(tmp):
    if np.finfo(np.longdouble).nmant < 63:
        h.skip("long double is not longer than double")
    a, b = drawn()
    right = reference(a, b)
    first = None
    for march, program in programs(tmp):
        found = values(program, a, b)
        first = first or found
        for name in NAMES:
            assert found[name].tobytes() == first[name].tobytes(), (name, march)
    for name in NAMES:
        with np.errstate(all="ignore"):
            rounded = right[name].astype(float)
        special = ~np.isfinite(rounded)
        same = (first[name] == rounded) | (np.isnan(first[name]) & np.isnan(rounded))
        assert np.all(same[special]), (name, a[special & ~same][:5], b[special & ~same][:5])
        one = np.spacing(np.maximum(np.abs(rounded), np.finfo(float).tiny))[~special]
        error = np.abs(first[name][~special] - right[name][~special]) / one
        tiny = error[np.abs(rounded[~special]) < np.finfo(float).tiny]
        error[np.abs(rounded[~special]) < np.finfo(float).tiny] = 0
        at = int(np.argmax(error))
        print(f"{name}: {float(error[at]):.4f} units in the last place at {a[~special][at]!r} {b[~special][at]!r}, "
              f"{100*np.mean(same):.2f} % rounded right")
        assert error[at] <= MOST[name], name
        assert np.all(tiny <= MOST[name] + 0.25), (name, max(tiny))  # rounded twice


@h.more
def test_special_values(tmp):
    """Annex F of C says what they are, which the C library follows."""
    numbers = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 2.5, -2.5, 5e-324, -5e-324, 1e-310, 1.7976931348623157e308,
                        -1.7976931348623157e308, 709.782712893384, 709.7827128933841, -745.1332191019411, -745.1332191019412,
                        4503599627370495.5, 4503599627370496, 9007199254740991, -9007199254740991, 9007199254740992, 1e300,
                        0.9999999999999999, 1.0000000000000002, -0.9999999999999999, 1e6, 1e7, -1e22, np.inf, -np.inf, np.nan])
    a, b = (x.ravel() for x in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        right = {name: value.astype(float) for name, value in reference(a, b).items()}
    for march, program in programs(tmp):
        found = values(program, a, b)
        for name in NAMES:
            special = ~np.isfinite(right[name]) | (right[name] == 0)
            same = np.isnan(found[name]) == np.isnan(right[name])
            with np.errstate(all="ignore"):  # the C library's last bit may be another one
                same &= np.isnan(right[name]) | (found[name] == right[name]) | ~special & (
                    np.abs(found[name] - right[name]) <= np.spacing(np.abs(right[name])))
            same &= np.isnan(right[name]) | (np.signbit(found[name]) == np.signbit(right[name]))
            assert np.all(same), (march, name, [(a[i], b[i], found[name][i], right[name][i]) for i in np.nonzero(~same)[0][:5]])


GAMMA_MODEL = """parameter k = 1
a(0) = 1; y(0) = 0
a' = k; y' = lgamma(a)
observe y
"""
# Writes log Gamma, digamma and trigamma (as d y'/d a, and its change along a) of each block of a; then the first two for
# numbers.
GAMMA_DRIVER = """
#include "model.c"
#include <stdio.h>
int main(void)
{
    static _Alignas(64) double t[STIFFIT_LANES], y[2*STIFFIT_LANES], p[STIFFIT_LANES], d[3*STIFFIT_LANES];
    static _Alignas(64) double w[99*STIFFIT_LANES], out[8*STIFFIT_LANES], curve[4*STIFFIT_LANES];
    const struct stiffit_lanes_point at = {.t = t, .y = y, .p = p, .work = w, .direction = d};
    for (int i = 0; i < STIFFIT_LANES; i++)
        d[i] = 1;
    while (fread(y, sizeof(double), STIFFIT_LANES, stdin) == STIFFIT_LANES) {
        lanes_derive(&at, out);
        lanes_curve(&at, curve);
        fwrite(out + STIFFIT_LANES, sizeof(double), 2*STIFFIT_LANES, stdout);
        fwrite(curve, sizeof(double), STIFFIT_LANES, stdout);
        double value[2*STIFFIT_LANES];
        for (int i = 0; i < STIFFIT_LANES; i++) {
            const struct stiffit_point point = {.t = 0, .y = (double[]){y[i], 0}, .p = p, .work = w};
            double rate[2], slope[4];
            rhs(&point, rate);
            jacobian(&point, slope);
            value[i] = rate[1];
            value[STIFFIT_LANES + i] = slope[1];
        }
        fwrite(value, sizeof(double), 2*STIFFIT_LANES, stdout);
    }
    return 0;
}
"""
# mpmath, 30 digits: log |Gamma|, digamma, trigamma
GAMMA_VALUES = {
    1e-300: (690.7755278982137, -9.999999999999999e+299, np.inf),
    1e-08: (18.42068073818021, -100000000.57721564, 1.0000000000000002e+16),
    0.1: (2.252712651734206, -10.423754940411076, 101.43329915079275),
    0.5: (0.5723649429247001, -1.9635100260214235, 4.934802200544679),
    1.0: (0.0, -0.5772156649015329, 1.6449340668482264),
    1.25: (-0.09827183642181316, -0.22745353337626542, 1.1973291545071107),
    1.4616321449683622: (-0.12148629053584961, -9.241265521729427e-17, 0.9676722454476212),
    1.5: (-0.12078223763524522, 0.03648997397857652, 0.9348022005446793),
    2.0: (0.0, 0.42278433509846713, 0.6449340668482264),
    2.5: (0.2846828704729192, 0.7031566406452432, 0.49035775610023485),
    3.75: (1.486815578593417, 1.1825373886117962, 0.3053398526902531),
    7.9: (8.32426586800881, 2.002238487563571, 0.13493078345663442),
    8.0: (8.525161361065415, 2.01564147795561, 0.1331370146940314),
    30.5: (72.9534711841694, 3.401243668961661, 0.03333024811280161),
    10000.0: (82099.71749644238, 9.210290371142849, 0.00010000500016666666),
    1e+300: (6.897755278982137e+302, 690.7755278982137, 1e-300),
    -1e-08: (18.42068074972452, 99999999.42278431, 1.0000000000000002e+16),
    -0.3: (1.4648400508576025, 2.113309779635399, 13.945160267805722),
    -0.5: (1.2655121234846454, 0.03648997397857652, 8.934802200544679),
    -1.5: (0.860047015376481, 0.7031566406452432, 9.379246644989124),
    -2.4570247382208006: (5.6191923589501e-17, 1.5156034480216576, 9.716641903267993),
    -7.25: (-7.54188344347575, 5.189977214956288, 19.61035453929327),
    -40.6: (-111.35094689866597, 2.6952674546184183, 10.887236561249717),
}


def gammas(program, a):
    blocks = np.resize(a, -(-len(a) // LANES) * LANES)
    done = subprocess.run([str(program)], input=blocks.tobytes(), capture_output=True, check=True)
    return np.frombuffer(done.stdout).reshape(-1, 5, LANES).transpose(1, 0, 2).reshape(5, -1)[:, :len(a)]


def drawn_gammas():
    rng = np.random.default_rng(8)
    n = N // 20
    return np.concatenate([rng.uniform(0, 0.5, n), rng.uniform(0.5, 2.5, n), rng.uniform(2.5, 9, n), 10**rng.uniform(1, 300, n),
                           10**rng.uniform(-300, -1, n), 1 + np.exp2(rng.uniform(-52, -3, n)),
                           1 - np.exp2(rng.uniform(-53, -3, n)),
                           2 + np.exp2(rng.uniform(-51, -3, n)), 2 - np.exp2(rng.uniform(-52, -3, n)), -rng.uniform(0, 2, n),
                           -10**rng.uniform(-300, -1, n), -rng.uniform(2, 30, n), -10**rng.uniform(1, 12, n)])


def test_gamma(tmp):
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    library.lgammal.restype, library.lgammal.argtypes = ctypes.c_longdouble, [ctypes.c_longdouble]
    known = np.array(list(GAMMA_VALUES))
    special = np.array([0.0, -0.0, -1, -2, -1e300, np.inf, -np.inf, np.nan, 2.5599833278516383e305, 2.5599833278516387e305])
    a = np.concatenate([known, special, drawn_gammas()])
    first = None
    for march, program in programs(tmp, GAMMA_MODEL, GAMMA_DRIVER, "-O1"):
        found = gammas(program, a)
        assert found[:2].tobytes() == found[3:].tobytes(), ("lanes and numbers differ", march)
        first = found if first is None else first
        assert found.tobytes() == first.tobytes(), march
    log, digamma, trigamma = first[:3]
    for i, at in enumerate(known):  # sums of terms that are at most three times as large as 1 or the sum
        for got, right in zip(first[:3, i], GAMMA_VALUES[at], strict=True):
            assert got == right or abs(got - right) <= 4e-16*max(3, abs(right)), (at, got, right)
    assert np.array_equal(log[len(known):][:10], [np.inf]*7 + [np.nan, np.finfo(float).max, np.inf], equal_nan=True)
    a, log, digamma, trigamma = (x[len(known) + len(special):] for x in (a, log, digamma, trigamma))
    if np.finfo(np.longdouble).nmant >= 63:
        with np.errstate(all="ignore"):
            right = np.array([library.lgammal(x) for x in a.astype(np.longdouble)], np.longdouble)
        pole = np.isinf(right)
        assert np.all(np.isposinf(log[pole]))
        error = np.abs(log - right.astype(float))[~pole]/np.spacing(np.abs(right.astype(float)))[~pole]
        # Below -2 there are zeros between the poles, where the terms of the reflection formula cancel.
        terms = np.where(a < -2, 5, np.abs(right.astype(float)))[~pole]
        near = np.abs(log - right.astype(float))[~pole]/np.maximum(terms, np.abs(right.astype(float))[~pole])
        print(f"lgamma: {np.max(error[a[~pole] > 0]):.3f} units in the last place above 0, {np.max(near):.2g} of the terms")
        assert np.max(error[a[~pole] > -2]) <= 2.5 and np.max(near) <= 5e-16
    # SciPy's are right to some 1e-15 of their largest term; digamma has a zero at 1.46, and others below 0.
    ordinary = (np.abs(a) < 1e100) & (np.abs(a) > 1e-100) & (np.abs(a - np.rint(a)) > 1e-6)
    right = scipy.special.digamma(a[ordinary])
    assert np.max(np.abs(digamma[ordinary] - right)/(1 + np.abs(right))) < 1e-13
    above = ordinary & (a > 0)
    right = scipy.special.polygamma(1, a[above])
    assert np.max(np.abs(trigamma[above]/right - 1)) < 1e-14


if __name__ == "__main__":
    h.main()
