"""The models of the random fits: each is written once, in what C and model text have in common, and becomes both.

SPDX-License-Identifier: BSD-3-Clause

A quantity's dimension is (powers of the unit of amounts, of time, of the signal): a problem in other units is the same text
with other numbers, so that few texts are compiled.
"""
import ctypes
import dataclasses
import os
import pathlib
import subprocess

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
NOISES = {"": "", "proportional": "_p", "combined": "_c", "constant": "_l"}  # the last one: of the logarithm
NONE, RATE, AMOUNT, SIGNAL = (0, 0, 0), (0, -1, 0), (1, 0, 0), (0, 0, 1)
FLOW, PER_AMOUNT, GAIN = (1, -1, 0), (-1, -1, 0), (-1, 0, 1)


@dataclasses.dataclass(frozen=True)
class Form:
    """parameters, covariates: name -> (lowest, highest true value, dimension); states: name -> (initial value, derivative);
    size: of the states, in units of amounts; observables: name -> (expression, dimension); times: first and last, in units of
    time; spread: "even" or "log"; least: see fit_radau.h; positive: predictions are above 0."""
    name: str
    parameters: dict
    covariates: dict
    states: dict
    observables: dict
    times: tuple
    spread: str = "even"
    size: tuple = ()
    least: float = 1e-25
    positive: bool = True
    noise: str = ""  # what the sd of the observables is, see NOISES

    def sd(self, name):
        return {"": "1.0", "proportional": f"cv*{name}", "combined": f"sigma0 + cv*{name}", "constant": "cv"}[self.noise]

    def text(self):
        lines = [f"parameter {name} = 1" for name in self.parameters]
        lines += [f"covariate {name}" for name in self.covariates]
        for name, (initial, slope) in self.states.items():
            lines += [f"{name}(0) = {initial}", f"{name}' = {slope}"]
        lines += [f"observe {name} = {expression}" + (f" sd {self.sd(name)}" if self.noise else "")
                  for name, (expression, _) in self.observables.items()]
        return "\n".join(lines) + "\n"

    def c_source(self):
        def named(names, vector):
            return "".join(f"    const R {name} = in_{vector}[{i}]; (void){name};\n" for i, name in enumerate(names))
        known = named(self.parameters, "p") + named(self.covariates, "c") + "    (void)t, (void)in_p, (void)in_c;\n"
        states = named(self.states, "y") + "    (void)in_y;\n"
        initial = "".join(f"    out[{i}] = {value};\n" for i, (value, _) in enumerate(self.states.values()))
        slopes = "".join(f"    out[{i}] = {slope};\n" for i, (_, slope) in enumerate(self.states.values()))
        observed = "".join(f"    const R {name} = {expression};\n    out[{i}] = {name}, out_sd[{i}] = {self.sd(name)};\n"
                           for i, (name, (expression, _)) in enumerate(self.observables.items()))
        vectors, name = "const R *in_p, const R *in_c, R *out", self.name
        return (f"static void {name}_initial(R t, {vectors})\n{{\n{known}    (void)out;\n{initial}}}\n"
                f"static void {name}_rhs(R t, const R *in_y, {vectors})\n{{\n{known}{states}    (void)out;\n{slopes}}}\n"
                f"static void {name}_observe(R t, const R *in_y, {vectors}, R *out_sd)\n{{\n{known}{states}{observed}}}\n"
                f"static const struct radau_model {name} = {{{len(self.states)}, {name}_rhs, {name}_initial, "
                f"{name}_observe, {len(self.observables)}}};\n")

    def with_noise(self, noise):
        parameters = dict(self.parameters)
        if noise:
            parameters["cv"] = (0.03, 0.3, NONE)
        if noise == "combined":
            parameters["sigma0"] = (0.01, 0.1, next(iter(self.observables.values()))[1])
        return dataclasses.replace(self, name=self.name + NOISES[noise],
                                   parameters=parameters, noise=noise)


DOSE = {"dose": (0.5, 2, AMOUNT)}
FORMS = [
    Form("decay", {"k": (0.1, 1, RATE), "A": (0.5, 5, AMOUNT)}, {}, {"x": ("A", "-k*x")}, {"ox": ("x", AMOUNT)}, (0.3, 8),
         size=(1,)),
    Form("faded", {"k": (1.0, 5, RATE), "A": (0.5, 5, AMOUNT)}, {"u": (1, 1, AMOUNT)}, {"x": ("A", "-k*x")},
         {"lx": ("log(x/u)", NONE)}, (0.3, 9), size=(1,), least=0.0, positive=False),
    Form("chain", {"k1": (0.3, 3, RATE), "k2": (0.1, 1, RATE), "k3": (0.03, 100, RATE)}, DOSE,
         {"a": ("dose", "-k1*a"), "b": ("0.0", "k1*a - k2*b"), "d": ("0.0", "k2*b - k3*d")},
         {"ob": ("b", AMOUNT), "od": ("d", AMOUNT)}, (0.3, 12), size=(1, 1, 0.1)),
    Form("saturated", {"V": (0.2, 2, FLOW), "K": (0.05, 5, AMOUNT)}, DOSE, {"x": ("dose", "-V*x/(K + x)")},
         {"ox": ("x", AMOUNT)}, (0.1, 5), size=(1,)),
    Form("offset", {"V": (0.2, 2, FLOW), "K": (0.05, 5, AMOUNT), "b": (5, 200, SIGNAL)}, {**DOSE, "g": (1, 1, GAIN)},
         {"x": ("dose", "-V*x/(K + x)")}, {"signal": ("b + g*x", SIGNAL)}, (0.1, 5), size=(1,)),
    Form("elevated", {"k": (0.1, 1, RATE), "A": (0.5, 5, AMOUNT)}, {"base": (1e3, 1e5, SIGNAL), "g": (1, 1, GAIN)},
         {"x": ("A", "-k*x")}, {"signal": ("base + g*x", SIGNAL)}, (0.3, 8), size=(1,)),
    Form("exchange", {"kf": (1, 1e4, RATE), "kr": (1, 1e4, RATE), "kd": (0.1, 1, RATE)}, DOSE,
         {"a": ("dose", "-kf*a + kr*b"), "b": ("0.0", "kf*a - kr*b - kd*b")}, {"oa": ("a", AMOUNT), "ob": ("b", AMOUNT)},
         (1e-4, 10), "log", size=(1, 1)),
    Form("robertson", {"p1": (0.02, 0.08, RATE), "p2": (3e3, 3e4, PER_AMOUNT), "p3": (1e7, 1e8, PER_AMOUNT)}, DOSE,
         {"y1": ("dose", "-p1*y1 + p2*y2*y3"), "y2": ("0.0", "p1*y1 - p2*y2*y3 - p3*y2*y2"), "y3": ("0.0", "p3*y2*y2")},
         {"o1": ("y1", AMOUNT), "o2": ("1e4*y2", AMOUNT), "o3": ("y3", AMOUNT)}, (1e-3, 4e3), "log", size=(1, 1e-5, 1)),
    Form("oral", {"ka": (0.5, 5, RATE), "CL": (1, 10, RATE), "V": (5, 50, NONE)}, {"dose": (50, 200, AMOUNT)},
         {"gut": ("dose", "-ka*gut"), "cen": ("0.0", "ka*gut - CL/V*cen")}, {"conc": ("cen/V", AMOUNT)}, (0.25, 24),
         size=(100, 100)),
    Form("tissue", {"ka": (0.5, 5, RATE), "ke": (0.1, 1, RATE), "kin": (0.1, 3, RATE), "kout": (0.05, 1, RATE),
                    "V": (5, 50, NONE)}, {"dose": (50, 200, AMOUNT)},
         {"gut": ("dose", "-ka*gut"), "cen": ("0.0", "ka*gut - (ke + kin)*cen + kout*per"),
          "per": ("0.0", "kin*cen - kout*per")}, {"conc": ("cen/V", AMOUNT)}, (0.25, 36), size=(100, 100, 100)),
    Form("prey", {"r": (0.5, 1.5, RATE), "q": (0.5, 1.5, PER_AMOUNT), "m": (0.5, 1.5, RATE), "w": (0.3, 1, PER_AMOUNT)},
         {"h0": (0.5, 2, AMOUNT), "l0": (0.5, 2, AMOUNT)}, {"h": ("h0", "r*h - q*h*l"), "l": ("l0", "w*h*l - m*l")},
         {"oh": ("h", AMOUNT), "ol": ("l", AMOUNT)}, (0.5, 15), size=(1, 1)),
    Form("pol", {"mu": (0.5, 20, NONE), "w": (0.5, 2, RATE)}, {"u": (1, 1, AMOUNT)},
         {"x": ("2.0*u", "w*v"), "v": ("0.0", "w*(mu*(1.0 - x/u*(x/u))*v - x)")}, {"ox": ("x", AMOUNT)}, (0.5, 12),
         size=(1, 1), least=1e-9, positive=False),
    Form("logistic", {"r": (0.3, 2, RATE), "K": (3, 30, AMOUNT), "x0": (0.01, 0.3, AMOUNT)}, {},
         {"x": ("x0", "r*x*(1.0 - x/K)")}, {"ox": ("x", AMOUNT)}, (1, 15), size=(1,)),
    Form("driven", {"k": (0.2, 2, RATE), "g": (0.5, 5, FLOW), "amp": (0.1, 0.9, NONE)}, {"w": (0.5, 1.5, RATE)},
         {"x": ("g/k", "g*(1.0 + amp*sin(w*t)) - k*x")}, {"ox": ("x", AMOUNT)}, (0.3, 12), size=(1,)),
    Form("enzyme", {"kon": (10, 1e3, PER_AMOUNT), "koff": (1, 1e2, RATE), "kcat": (1, 30, RATE)},
         {"s0": (1, 3, AMOUNT), "e0": (0.05, 0.2, AMOUNT)},
         {"s": ("s0", "koff*c1 - kon*s*(e0 - c1)"), "c1": ("0.0", "kon*s*(e0 - c1) - (koff + kcat)*c1"),
          "pr": ("0.0", "kcat*c1")}, {"op": ("pr", AMOUNT), "os": ("s", AMOUNT)}, (0.03, 10), "log", size=(1, 0.1, 1)),
    Form("activated", {"d": (0.2, 1, RATE), "g": (0.5, 3, FLOW), "n": (1, 4, NONE), "K": (0.3, 3, AMOUNT)},
         {"x0": (0.5, 3, AMOUNT)},
         {"m": ("x0", "-d*m"), "z": ("0.0", "g*pow(m, n)/(pow(K, n) + pow(m, n)) - d*z")}, {"oz": ("z", AMOUNT)}, (0.3, 10),
         size=(1, 1)),
    Form("epidemic", {"beta": (0.8, 3, RATE), "gam": (0.2, 0.7, RATE), "i0": (1e-3, 1e-2, AMOUNT)}, {"n0": (1, 1, AMOUNT)},
         {"su": ("n0 - i0", "-beta*su*inf1/n0"), "inf1": ("i0", "beta*su*inf1/n0 - gam*inf1")}, {"cases": ("inf1", AMOUNT)},
         (1, 20), size=(1, 0.1)),
    Form("response", {"bot": (0.5, 2, SIGNAL), "top": (10, 50, SIGNAL), "e": (0.5, 5, (0, 1, 0)), "n": (0.7, 3, NONE)}, {},
         {}, {"signal": ("bot + top*pow(t, n)/(pow(e, n) + pow(t, n))", SIGNAL)}, (0.03, 100), "log"),
]


def all_forms():
    return [form.with_noise(noise) for form in FORMS for noise in NOISES if form.positive or not noise]


class Library:
    """The models in C, with the integrator, compiled at once."""

    def __init__(self, folder, forms):
        table = ", ".join(f"&{form.name}" for form in forms)
        source = folder / "models.c"
        source.write_text('#include "fit_radau.h"\n#include <tgmath.h>\n' + "".join(form.c_source() for form in forms) +
                          f"static const struct radau_model *const all[] = {{{table}}};\n" + """
int simulate(int which, const double *p, const double *c, const double *size, double t0, int n, const double *time,
             double tolerance, double least, double *prediction, double *sd)
{
    R in[64], covariate[16], scale[MOST_STATES + 1], at[256], m[1024], s[1024];
    int n_out = n * all[which]->n_observable;
    for (int i = 0; i < 16; i++) in[i] = p[i], covariate[i] = c[i];
    for (int i = 0; i < all[which]->n; i++) scale[i] = size[i];
    for (int i = 0; i < n; i++) at[i] = time[i];
    int done = radau_run(all[which], in, covariate, scale, t0, n, at, tolerance, least, m, s);
    for (int i = 0; i < n_out && done >= 0; i++) prediction[i] = m[i], sd[i] = s[i];
    return done;
}
""")
        library = folder / "models.so"
        subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c11", "-O2", "-fPIC", "-shared", "-I", str(HERE), "-o",
                        str(library), str(source), "-lm"], check=True)
        self.number = {form.name: i for i, form in enumerate(forms)}
        self.simulate = ctypes.CDLL(str(library)).simulate
        vector = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
        self.simulate.argtypes = [ctypes.c_int, vector, vector, vector, ctypes.c_double, ctypes.c_int, vector, ctypes.c_double,
                                  ctypes.c_double, vector, vector]
        # Makes the integrator's tables, while there is one thread.
        self.predict(forms[0], np.ones(8), np.ones(8), np.ones(6), 0.0, np.ones(1), 1e-6)

    def predict(self, form, p, covariates, size, t0, times, tolerance):
        """Predictions and sd (times x observables), NaN where the equations cannot be integrated; times increase."""
        n_observable = len(form.observables)
        m, sd = np.empty((2, len(times), n_observable))
        given = [np.zeros(16), np.zeros(16)]
        given[0][:len(p)], given[1][:len(covariates)] = p, covariates
        scale = np.ones(8)
        scale[:len(size)] = size
        n_step = self.simulate(self.number[form.name], *given, scale, t0, len(times), times, tolerance, form.least, m, sd)
        if n_step < 0:
            m[:], sd[:] = np.nan, np.nan
        return m, sd
