"""Mixed effects whose likelihood has several maxima: the best one that is known is found.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np

import helpers as h
import mixed
import mixed_oracle as mo
import test_mixed_quadrature as quadrature

EMAX = """parameter E0 = 2.726 scale log
parameter Emax = 49.19 scale log
parameter EC50 = 13.78 scale log
parameter h = 0.8836 scale log
parameter sb = 0.1036 scale log
observe y = E0 + Emax*t^h/(EC50^h + t^h) sd sb*y
"""
# Of 12 subjects, one to three each: drawn from E0 = 5, Emax = 60, EC50 = 12, h = 1.5, sb = 0.15, deviations 0.6 and 0.3
ROWS = """0 0.5 5.618404 0 30 66.18518 1 0.5 4.584951 1 15 38.44552 2 0.5 4.575172 2 8 24.40365 2 30 54.73538 3 30 59.21628
3 60 73.77695 3 120 81.22084 4 4 15.22916 4 15 42.91692 5 0.5 4.467785 5 2 8.0152 5 15 27.28673 6 15 62.52375 6 30 64.11388
6 120 64.84493 7 60 65.84089 8 1 12.3139 9 8 32.7004 9 15 39.19097 10 1 13.65068 10 2 11.92013 11 0.5 2.128798 11 60 54.25266"""


def predict(phi, shared, t, c):
    top, power, error = (np.exp(x) for x in shared)
    f = np.exp(phi[0]) + top * t**power / (np.exp(phi[1] * power) + t**power)
    return f, error * f


def test_pooled_fit_in_a_valley(tmp):
    """The fit of all data by one curve takes E0 to 0, where Laplace's likelihood has a maximum of its own, 4.9 above the one
    near the given start. Quadrature climbs from the values that the data were drawn with."""
    case = quadrature.Case(EMAX, ["E0", "EC50"], ["Emax", "h", "sb"], predict, start=None, blocks=[[0], [1]])
    case.take(np.array(ROWS.split(), float).reshape(-1, 3), {})
    reference = mo.maximise(case.model(), np.log([5, 12]), np.diag([0.36, 0.09]), np.log([60, 1.5, 0.15]))
    found = case.run(tmp / "p.h5")
    mixed.agree(found, reference, mixed.NEAR, errors=False)


if __name__ == "__main__":
    h.main()
