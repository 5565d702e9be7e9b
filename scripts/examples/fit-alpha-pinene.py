"""Fits the model of alpha-pinene to its data in memory, and evaluates it with its derivatives
(pydoc stiffit).

SPDX-License-Identifier: BSD-3-Clause

  python3 fit-alpha-pinene.py alpha-pinene.ode alpha-pinene.csv
"""

import sys

import numpy as np
import stiffit

data = np.genfromtxt(
    sys.argv[2], delimiter=",", names=True, dtype=None, encoding="utf-8"
)  # or pandas.read_csv
model = stiffit.Model(sys.argv[1])
fit = model.fit({name: data[name] for name in ("time", "observable", "value")})
print(f"{fit.status}, objective {fit.objective:.10g}")
for name, value in fit.parameters.items():
    print(f"{name} = {value:.10g} +- {fit.standard_errors[name]:.2g}")

values, slopes = model.evaluate([1230, 10000, 36420], fit.parameters, sensitivities=True)  # min
print(model.observables, values.round(3), sep="\n")
print("d y2 / d log p1:", (slopes[:, 1, 0] * fit.parameters["p1"]).round(3))
