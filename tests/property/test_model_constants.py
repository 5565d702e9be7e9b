"""Random expressions with extreme constants, as the compiled model computes them, against Python's floating-point numbers.

Expressions are of positive numbers and have no differences, so that rounding errors add up and do not grow; each carries its
bound. The program may group products in another way, so an expression counts only if every step of it stays far from overflow
and underflow: then any grouping must give the same number.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import math
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import helpers as h  # noqa: E402

CONSTANTS = ["1", "2", "0.5", "3", "4.9e-324", "1e-320", "4e-310", "2.2250738585072014e-308", "1e-300", "1e-200",
             "1e-154", "1e-17", "0.1", "0.9999999999999999", "1.0000000000000002", "17", "1e16", "9007199254740993",
             "1e18", "1e20", "1e154", "1e200", "1e300", "8.98846567431158e307", "1.7976931348623157e308"]
EXPONENTS = ["0.5", "1.5", "2", "3", "-1", "-2", "16", "17", "1e-17", "0.9999999999999999", "4503599627370495.5",
             "9007199254740991", "9007199254740992", "1e16", "1e18", "-9007199254740993", "1e300"]
LEAVES = {"k": 1.25, "a": 3e-311, "b": 7e200, "c": 1.0000000000000002, "t": 2.0}
EPS, FAR = 2.0 ** -53, 1e140  # constants whose product is beyond 1e150 or 1e-150 are not moved together
N_MODEL, N_EXPRESSION = (40, 300) if h.SLOW else (3, 100)


def step(value, bound):
    if not 1 / FAR < value < FAR:
        raise OverflowError
    return value, bound + 4 * EPS  # a rounding or two of the program's own, and one of Python's


def power(base, exponent):
    value, bound = base
    grown = bound * abs(exponent)
    if grown > 1e-6:
        raise OverflowError
    # Libraries' pow is right to an ulp; simplification may make products of it, whose roundings its exponent counts.
    return step(value ** exponent, grown + EPS * min(abs(exponent), 32))


def expression(rng, depth):
    """Text, value and bound of its relative error."""
    kind = rng.randrange(10) if depth else rng.randrange(3)
    if kind == 0:
        text = rng.choice(CONSTANTS)
        return text, (float(text), 0.0)
    if kind < 3:
        name = rng.choice(list(LEAVES))
        return name, (LEAVES[name], 0.0)
    left, a = expression(rng, depth - 1)
    if kind == 3:
        exponent = rng.choice(EXPONENTS)
        return f"({left})^({exponent})", power(a, float(exponent))
    if kind == 4:
        return f"sqrt({left})", step(math.sqrt(a[0]), a[1])
    right, b = expression(rng, depth - 1)
    if kind == 5:
        return f"({left} + {right})", step(a[0] + b[0], max(a[1], b[1]))
    if kind < 8:
        return f"({left})*({right})", step(a[0] * b[0], a[1] + b[1])
    return f"({left})/({right})", step(a[0] / b[0], a[1] + b[1])


def expressions(rng, n):
    found = []
    while len(found) < n:
        try:
            one = expression(rng, rng.randrange(2, 6))
            if any(name in one[0] for name in LEAVES):
                found.append(one)
        except (OverflowError, ZeroDivisionError):
            pass
    return found


def check(tmp, seed):
    rng = random.Random(seed)
    found = expressions(rng, N_EXPRESSION)
    lines = [f"parameter {name} = {LEAVES[name]!r}" for name in "kabc"]
    lines += [f"observe h{i} = {text}" for i, (text, _) in enumerate(found)]
    (tmp / f"m{seed}.ode").write_text("\n".join(lines) + "\n")
    done = h.stiffit("simulate", "--model", tmp / f"m{seed}.ode", "--times", LEAVES["t"], cwd=tmp)
    values = {row["observable"]: float(row["value"]) for row in csv.DictReader(done.stdout.splitlines())}
    for i, (text, (value, bound)) in enumerate(found):
        assert abs(values[f"h{i}"] - value) <= bound * value, (seed, text, values[f"h{i}"], value, bound)


def test_extreme_constants(tmp):
    for seed in range(N_MODEL):
        check(tmp, seed)


def test_powers_with_huge_exponents(tmp):
    """(1 + 2^-52)^n by the exponential of n log1p(2^-52), which is exact here to n 2^-106."""
    exponents = ["1e15", "4503599627370495.5", "9007199254740991", "9007199254740992", "1e16", "1e18"]
    (tmp / "m.ode").write_text("parameter c = 1.0000000000000002\n" + "".join(
        f"observe h{i} = c^{n}\nobserve g{i} = c^-{n}\n" for i, n in enumerate(exponents)))
    done = h.stiffit("simulate", "--model", tmp / "m.ode", "--times", 1)
    values = {row["observable"]: float(row["value"]) for row in csv.DictReader(done.stdout.splitlines())}
    for i, n in enumerate(map(float, exponents)):
        exact = math.exp(n * math.log1p(2.0 ** -52))
        assert abs(values[f"h{i}"] - exact) <= 1e-13 * exact and abs(values[f"g{i}"] * exact - 1) <= 1e-13, (n, values)


def test_a_constant_whose_reciprocal_overflows(tmp):
    """Divided by twice, it must not become a multiplication by 1/c."""
    (tmp / "m.ode").write_text("parameter k = 1, a = 1e-311\nobserve y = (a*(1+t))/4e-310 + exp(-(a + t*a)/4e-310)*k\n")
    done = h.stiffit("simulate", "--model", tmp / "m.ode", "--times", "0,1")
    for row, t in zip(csv.DictReader(done.stdout.splitlines()), (0, 1)):
        x = 1e-311 * (1 + t) / 4e-310
        assert abs(float(row["value"]) - (x + math.exp(-x))) < 1e-12, row  # 1e-311 has 43 bits, some 1e-13 of x
    assert done.stdout.count("\n") == 3


if __name__ == "__main__":
    h.main()
