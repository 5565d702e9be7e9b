"""AMICI, as modellers of reaction networks use it: CVODES with forward sensitivities in compiled C++ and KLU, and MINPACK's lm
(rival_loop.py). The model's text becomes SBML with rate rules, which AMICI imports.

    amici_fit.py DATA.npz   DATA: name, text; start, time, value, sigma with a row per dataset

SPDX-License-Identifier: BSD-3-Clause
"""
import logging
import os
import sys
import tempfile

import amici
import libsbml
import numpy as np

import rival_loop
from rival_equations import Equations

MOST_STEPS = 100000


def sbml(equations):
    document = libsbml.SBMLDocument(3, 1)
    model = document.createModel()
    model.setId("network")
    for names, values, constant in ((equations.parameters, [1.0] * len(equations.parameters), True),
                                    (equations.states, equations.initial, False)):
        for name, value in zip(names, values):
            parameter = model.createParameter()
            parameter.setId(name)
            parameter.setValue(value)
            parameter.setConstant(constant)
    for name, formula in zip(equations.states, equations.slopes):
        rule = model.createRateRule()
        rule.setVariable(name)
        rule.setMath(libsbml.parseL3Formula(str(formula.subs(equations.rates)).replace("**", "^")))
    return libsbml.writeSBMLToString(document)


def compiled(equations, folder):
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]  # SWIG of the environment
    os.environ.setdefault("AMICI_CXXFLAGS", "-O3;-march=native")
    importer = amici.SbmlImporter(sbml(equations), from_file=False)
    seen = {f"observable_{i}": {"formula": equations.states[i]} for i in equations.observed}
    answers = os.dup(1)
    os.dup2(2, 1)  # the compiler's words must not go where answers go
    importer.sbml2amici("network", folder, observables=seen, compute_conservation_laws=False, verbose=logging.ERROR)
    os.dup2(answers, 1)
    return amici.import_model_module("network", folder).getModel()


class Loop(rival_loop.Loop):
    def __init__(self, path):
        super().__init__(path)
        equations = Equations(str(self.file["text"]))
        self.folder = tempfile.TemporaryDirectory(prefix="stiffit-bench-amici-")  # pylint: disable=consider-using-with
        self.model = compiled(equations, self.folder.name)
        ids = list(self.model.getParameterIds())
        self.order = [equations.parameters.index(name) for name in ids]
        self.model.setParameterScale(amici.parameterScalingFromIntVector([int(amici.ParameterScaling.ln)] * len(ids)))
        self.model.requireSensitivitiesForAllParameters()
        self.solver = self.model.getSolver()
        self.solver.setSensitivityOrder(amici.SensitivityOrder.first)
        self.solver.setSensitivityMethod(amici.SensitivityMethod.forward)
        self.solver.setMaxSteps(MOST_STEPS)
        self.solver.setReturnDataReportingMode(amici.RDataReporting.residuals)

    def evaluator(self, i, rtol, atol):
        self.model.setTimepoints(self.time[i])
        data = amici.ExpData(self.model)
        data.setObservedData(self.value[i].ravel())
        data.setObservedDataStdDev(self.sigma[i].ravel())
        self.solver.setRelativeTolerance(rtol)
        self.solver.setAbsoluteTolerance(atol)

        def evaluate(x):
            self.model.setParameters(x[self.order])
            found = amici.runAmiciSimulation(self.model, self.solver, data)
            if found.status != amici.AMICI_SUCCESS:
                return np.full(self.value[i].size, 1e6), np.zeros((self.value[i].size, len(x)))
            slopes = np.empty((self.value[i].size, len(x)))
            slopes[:, self.order] = np.asarray(found.sres)
            return np.array(found.res), slopes
        return evaluate


if __name__ == "__main__":
    Loop(sys.argv[1]).serve()
