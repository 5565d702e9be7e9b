#!/bin/sh
# Two Python packages, two densities of a prior.
# SPDX-License-Identifier: BSD-3-Clause
#
# PEtab 1 has priors "on the parameter's scale": parameterScaleNormal of a parameter with parameterScale log10 is, in the
# specification's words, a normal distribution of its logarithm. The two Python packages that read it differ in the density:
#
#   pypesto 0.5.7  the density of the logarithm: the mode of parameterScaleNormal(0, 1) is at 1
#   petab 0.8.2    the class Prior gives the density of the natural value, also for arguments that are on the parameter's
#                  scale, so that the mode is at 10^-2.30 = 0.005: the point that is reported as the maximum of a posterior
#                  moves with what computes it
#
# petab's conversion to version 2 turns the prior into log-normal, a density of the natural value, too: a problem with that
# prior has its mode at 1 before and at exp(-1) = 0.37 after, without a word on the scale log. On the scale log10 a warning says
# that log-normal is used instead, but its numbers stay those of the decadic logarithm.
#
# Installs both packages in a temporary folder and fails if their numbers change. Needs Python 3.11 or 3.12.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q petab==0.8.2 pypesto==0.5.7 scipy==1.17.1
"$folder/venv/bin/python" - "$folder" <<'END'
import math
import pathlib
import sys
import warnings

from scipy.optimize import minimize_scalar

warnings.simplefilter("ignore")
from petab.v1.priors import Prior
from petab.v2 import Problem
from petab.v2.petab1to2 import petab1to2
from pypesto.objective.priors import get_parameter_prior_dict


def mode(negative_log):
    return minimize_scalar(negative_log, bounds=(-6, 6), method="bounded", options={"xatol": 1e-8}).x


ours = Prior("parameterScaleNormal", (0.0, 1.0), transformation="log10")
of_petab = mode(lambda z: float(ours.neglogprior(z, x_scaled=True)))
density = get_parameter_prior_dict(0, "parameterScaleNormal", (0.0, 1.0), "log10")["density_fun"]
of_pypesto = mode(lambda z: -float(density(z)))
print(f"parameterScaleNormal(0, 1) on log10: the mode is at log10 x = {of_petab:.4f} (petab), {of_pypesto:.4f} (pypesto)")
assert abs(of_petab + math.log(10)) < 1e-4 and abs(of_pypesto) < 1e-4

folder = pathlib.Path(sys.argv[1], "problem")
folder.mkdir()
(folder / "model.xml").write_text("""<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"><model id="m">
<listOfParameters><parameter id="k" value="1" constant="true"/></listOfParameters></model></sbml>
""")


def table(name, *rows):
    (folder / name).write_text("".join("\t".join(row) + "\n" for row in rows))


table("conditions.tsv", ("conditionId",), ("c",))
table("observables.tsv", ("observableId", "observableFormula", "noiseFormula"), ("y", "k", "1"))
table("measurements.tsv", ("observableId", "simulationConditionId", "time", "measurement"), ("y", "c", "0", "1"))
(folder / "problem.yaml").write_text("""format_version: 1
parameter_file: parameters.tsv
problems:
- condition_files: [conditions.tsv]
  measurement_files: [measurements.tsv]
  observable_files: [observables.tsv]
  sbml_files: [model.xml]
""")
for scale in ("log", "log10"):
    table("parameters.tsv", ("parameterId", "parameterScale", "lowerBound", "upperBound", "nominalValue", "estimate",
                             "objectivePriorType", "objectivePriorParameters"),
          ("k", scale, "1e-6", "1e6", "1", "1", "parameterScaleNormal", "0;1"))
    petab1to2(folder / "problem.yaml", folder / scale)
    parameter = Problem.from_yaml(next(iter((folder / scale).glob("*.yaml")))).parameters[0]
    word = getattr(parameter.prior_distribution, "value", parameter.prior_distribution)
    after = minimize_scalar(lambda x: -float(parameter.prior_dist.pdf(x)), bounds=(1e-3, 5), method="bounded").x
    print(f"on the scale {scale}, converted to version 2: {word} with {parameter.prior_parameters}: mode at x = {after:.4f}")
    assert word == "log-normal" and list(parameter.prior_parameters) == [0, 1] and abs(after - math.exp(-1)) < 1e-3
END
