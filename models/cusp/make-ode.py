#!/usr/bin/python3
"""Writes cusp.ode: threshold-nerve-impulses on a ring, three equations a point.

SPDX-License-Identifier: BSD-3-Clause

usage: make-ode.py [N]     N points of the ring (default 32), written to standard output
"""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 32
print(f"""\
# Zeeman's nerve impulse with van der Pol's oscillator on a ring of {n} points. Written by make-ode.py; see README.md.
# SPDX-License-Identifier: BSD-3-Clause

model cusp "cusp catastrophe of the nerve impulse, coupled around a ring"

parameter epsilon = 1e-4 in [1e-7, 1e-1] scale log10
parameter sigma = {"1/144"} in [1e-6, 1e1] scale log10

constant N = {n}
function diffusion(left, here, right) = sigma*N^2*(left - 2*here + right)
function bump(u) = u/(u + 0.1)
function fold(y, a, b) = -(y^3 + a*y + b)/epsilon
function slow_a(v, b) = b + 0.07*v
function slow_b(v, y, a, b) = (1 - a^2)*b - a - 0.4*y + 0.035*v
function angle(i) = 2*pi*i/N
""")
for i in range(1, n + 1):
    print(f"y{i}(0) = 0; a{i}(0) = -2*cos(angle({i})); b{i}(0) = 2*sin(angle({i}))")
print()
for i in range(1, n + 1):
    left, right = (i - 2) % n + 1, i % n + 1
    print(f"v{i} = bump((y{i} - 0.7)*(y{i} - 1.3))")
    print(f"y{i}' = fold(y{i}, a{i}, b{i}) + diffusion(y{left}, y{i}, y{right})")
    print(f"a{i}' = slow_a(v{i}, b{i}) + diffusion(a{left}, a{i}, a{right})")
    print(f"b{i}' = slow_b(v{i}, y{i}, a{i}, b{i}) + diffusion(b{left}, b{i}, b{right})")
print()
for i in range(1, n + 1):
    print(f"observe y{i}, a{i}, b{i}")
