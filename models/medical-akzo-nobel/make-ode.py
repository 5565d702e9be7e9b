#!/usr/bin/python3
"""Writes medical-akzo-nobel.ode: antibodies entering a tissue, two equations a grid point.

SPDX-License-Identifier: BSD-3-Clause

usage: make-ode.py [N]     N grid points (default 200), written to standard output
"""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 200
print(f"""\
# The medical Akzo Nobel problem on {n} grid points. Written by make-ode.py; see README.md.
# SPDX-License-Identifier: BSD-3-Clause

model medical_akzo_nobel "labelled antibodies penetrate a tissue that tumour cells have invaded"

parameter k = 100 in [1e-1, 1e5] scale log10
parameter c = 4 in [1e-1, 1e2] scale log10
parameter inflow = 2 in [1e-2, 1e2] scale log10

# The supply of antibodies stops at t = 5.
outside = if t <= 5 then inflow else 0

constant N = {n}
function slope(z) = 2*(z - 1)^3/c^2*N/2
function spread(z) = (z - 1)^4/c^2*N^2
function moved(z, left, here, right) = slope(z)*(right - left) + spread(z)*(left - 2*here + right)
""")
for i in range(1, n + 1):
    print(f"u{i}(0) = 0; v{i}(0) = 1")
print()
for i in range(1, n + 1):
    left, right = f"u{i - 1}" if i > 1 else "outside", f"u{min(i + 1, n)}"
    print(f"r{i} = k*u{i}*v{i}; u{i}' = moved({i}/N, {left}, u{i}, {right}) - r{i}; v{i}' = -r{i}")
print()
for i in [1] + list(range(n // 10, n // 2 + 1, n // 10)):
    print(f"observe u{i}, v{i}")
