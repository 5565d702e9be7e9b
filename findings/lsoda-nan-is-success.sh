#!/bin/sh
# Where the solution has become NaN, SciPy's LSODA ends with success or not, by its version.
# SPDX-License-Identifier: BSD-3-Clause
#
# Torricelli's law, x' = -2 sqrt(x) from x(0) = 1, empties a tank at t = 1; an error beyond that time takes x below zero, where
# the square root is NaN. What solve_ivp says of the times up to 3:
#
#   SciPy 1.14.1  LSODA in Fortran: status -1, "Unexpected istate in LSODA."
#   SciPy 1.17.1  LSODA in C: status 0, "The solver successfully reached the end of the integration interval.", x is NaN from
#                 t = 1 on, and a second state that does not depend on x is right to the end
#   both          RK45: status -1, "Required step size is less than spacing between numbers."; Radau and BDF raise ValueError
#
# odeint of 1.17.1 says "Integration successful."; solve_ivp of Debian 12's SciPy 1.10.1, another build of the Fortran code,
# ends with success, too. Tests of convergence and of errors that ask whether a norm is too large let a NaN pass, and steps
# go on. A loss by numpy.nansum, or of the second state alone, then looks right.
#
# Installs both in a temporary folder and fails if this changes. Needs Python 3.11 or 3.12.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 1.14.1 1.17.1; do
    "${PYTHON:-python3}" -m venv "$folder/$version"
    "$folder/$version/bin/pip" install -q "scipy==$version" numpy==2.2.6
    "$folder/$version/bin/python" - <<'END'
import warnings

import numpy as np
import scipy
from scipy.integrate import odeint, solve_ivp

warnings.simplefilter("ignore")
TIMES = np.arange(0, 3.5, 0.5)


def slope(_, y):
    return [-2 * y[0] ** 0.5, 1 - y[1]]


def run(method, **options):
    found = solve_ivp(slope, (0, 3), [1, 0], method, TIMES, **options)
    print(f"SciPy {scipy.__version__}, {method}: status {found.status}, {found.message} x = {found.y[0]}")
    return found


assert run("RK45").status == -1
for method in ("Radau", "BDF"):
    try:
        run(method)
    except ValueError as error:
        print(f"SciPy {scipy.__version__}, {method}: {error}")
    else:
        raise AssertionError(f"{method} raises nothing")
for rtol in (1e-3, 1e-6):
    found = run("LSODA", rtol=rtol, atol=1e-3 * rtol)
    if scipy.__version__ == "1.14.1":
        assert found.status == -1
        continue
    assert found.status == 0 and found.success and np.all(np.isnan(found.y[0, 3:])) and abs(found.y[0, 1] - 0.25) < 0.01
    assert np.all(np.abs(found.y[1] - (1 - np.exp(-TIMES))) < 0.01)
if scipy.__version__ == "1.17.1":
    y, info = odeint(slope, [1, 0], TIMES, tfirst=True, full_output=True)
    print(f"SciPy 1.17.1, odeint: {info['message']} x = {y[:, 0]}")
    assert info["message"] == "Integration successful." and np.all(np.isnan(y[3:, 0]))
END
done
