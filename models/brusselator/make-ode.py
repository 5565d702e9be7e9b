#!/usr/bin/python3
"""Writes brusselator.ode: the Brusselator with diffusion on a grid, an equation a point.

SPDX-License-Identifier: BSD-3-Clause

usage: make-ode.py [N]     N interior points (default 40), written to standard output
"""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 40
print(f"""\
# The Brusselator with diffusion in one dimension, on {n} interior points. Written by make-ode.py; see README.md.
# SPDX-License-Identifier: BSD-3-Clause

model brusselator "Brusselator with diffusion in one dimension"

parameter A = 1 in [1e-2, 1e2] scale log10
parameter B = 3 in [1e-2, 1e2] scale log10
parameter alpha = 0.02 in [1e-5, 1e1] scale log10

constant N = {n}, edge_u = 1, edge_v = 3
function diffusion(left, here, right) = alpha*(N + 1)^2*(left - 2*here + right)
function make_u(u, v) = A + u^2*v - (B + 1)*u
function make_v(u, v) = B*u - u^2*v
function start(x) = 1 + sin(2*pi*x)
""")
for i in range(1, n + 1):
    print(f"u{i}(0) = start({i}/(N + 1)); v{i}(0) = 3")
print()
for i in range(1, n + 1):
    for name in "uv":
        left = f"{name}{i - 1}" if i > 1 else f"edge_{name}"
        right = f"{name}{i + 1}" if i < n else f"edge_{name}"
        print(f"{name}{i}' = make_{name}(u{i}, v{i}) + diffusion({left}, {name}{i}, {right})")
print()
for i in range(1, n + 1):
    print(f"observe u{i}, v{i}")
