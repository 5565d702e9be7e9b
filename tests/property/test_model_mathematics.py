"""Functions of lanes (exp, log, powers, sin ...) against long double, in units in the last place; special values against C's;
and the same bits in registers of every width.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import pathlib
import subprocess
import sys

import numpy as np

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


def programs(tmp):
    (tmp / "m.ode").write_text(MODEL)
    h.stiffit("model", "build", tmp / "m.ode", "-c", tmp / "model.c")
    (tmp / "driver.c").write_text(DRIVER)
    known = set()
    if os.uname().machine == "x86_64":
        known = set(pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n", 1)[0].split())
    marches = [march for march, flags in FLAGS.items() if known and set(flags) <= known] or [None]
    for march in marches:
        path = tmp / f"driver-{march}"
        subprocess.run([*os.environ.get("CC", "cc").split(), "-O3", *([f"-march={march}"] if march else []), "-std=c11",
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


if __name__ == "__main__":
    h.main()
