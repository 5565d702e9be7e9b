"""Functions of model text that need more than a formula: the gamma function in a model of absorption, against SciPy, by both
engines and with its gradient; and what to write for functions that other languages have.

SPDX-License-Identifier: BSD-3-Clause
"""
import re

import h5py
import numpy as np
import scipy.integrate
import scipy.special

import helpers as h

# Transit compartments as in stiffit-model(5), with two doses.
TRANSIT = """input tdose, adose
parameter n = 3 in [0.1, 50] scale log, mtt = 1.5 scale log, ka = 1.2 scale log, ke = 0.2, V = 20
ktr = (n + 1)/mtt
x = max(ktr*(t - tdose), 1e-300)
gut(0) = 0; c(0) = 0
gut' = adose*ktr*exp(n*log(x) - x - lgamma(n + 1)) - ka*gut
c' = ka*gut - ke*c
observe y = c/V
"""
START = {"n": 3, "mtt": 1.5, "ka": 1.2, "ke": 0.2, "V": 20}
TIMES, VALUES, DOSES = [0.5, 1, 2, 4, 8, 13, 14, 20], [0.1, 0.4, 2, 3, 1.5, 1.2, 4, 2], ((0, 100), (12, 150))


def transit(n, mtt, ka, ke, V):
    ktr, state, found = (n + 1)/mtt, np.zeros(2), []
    ends = [at for at, _ in DOSES[1:]] + [TIMES[-1]]
    for (begin, amount), end in zip(DOSES, ends):
        def rate(t, y, begin=begin, amount=amount):
            x = ktr*(t - begin)
            into = amount*ktr*np.exp(n*np.log(x) - x - scipy.special.gammaln(n + 1)) if x > 0 else 0
            return [into - ka*y[0], ka*y[0] - ke*y[1]]
        times = [t for t in TIMES if begin < t <= end]
        solved = scipy.integrate.solve_ivp(rate, (begin, end), state, "LSODA", sorted({*times, end}), rtol=1e-11, atol=1e-13)
        state = solved.y[:, -1]
        found += list(solved.y[1, :len(times)]/V)
    return np.array(found)


def objective(**p):
    return 0.5*np.sum((transit(**p) - VALUES)**2)


def evaluated(tmp, problem, *options):
    """Predictions, and the gradient by name."""
    h.stiffit("run", problem, "--evaluate", "-q", "--overwrite", "-o", "r.h5", *options, cwd=tmp)
    residuals = h.stiffit("export", "r.h5", "--what", "residuals", cwd=tmp).stdout.splitlines()
    column = residuals[0].split(",").index("prediction")
    with h5py.File(tmp / "r.h5") as f:
        names = [name.decode() for name in f["parameters/name"][:]]
        gradient = dict(zip(names, f["fits/objective_gradient"][0]))
    return np.array([float(line.split(",")[column]) for line in residuals[1:]]), gradient


def test_transit_compartments(tmp):
    (tmp / "m.ode").write_text(TRANSIT)
    (tmp / "d.csv").write_text("dataset,time,value\n" + "".join(f"a,{t},{v}\n" for t, v in zip(TIMES, VALUES)))
    (tmp / "i.csv").write_text("dataset,time,input,value\n" + "".join(
        f"a,{at},tdose,{at}\na,{at},adose,{amount}\n" for at, amount in DOSES))
    h.stiffit("import", "d.csv", "--inputs", "i.csv", "--model", "m.ode", "-q", "-o", "p.h5", cwd=tmp)
    right, natural = transit(**START), {}
    for name, at in START.items():  # central differences at 1e-4: 1e-8 of the function's third derivative
        step = 1e-4*at
        natural[name] = (objective(**{**START, name: at + step}) - objective(**{**START, name: at - step}))/(2*step)
    for options in (("--engine", "lanes"), ("--engine", "cvodes")):
        found, gradient = evaluated(tmp, "p.h5", *options, "--rtol", "1e-9", "--atol", "1e-11")
        assert np.allclose(found, right, rtol=1e-7), (options, found/right - 1)
        for name, slope in natural.items():
            assert np.isclose(gradient[name], slope, rtol=1e-5, atol=1e-7), (options, name, gradient[name], slope)


HINTS = {
    "gamma(k)": "exp(lgamma(x))", "factorial(k)": "exp(lgamma(n + 1))", "lfactorial(k)": "lgamma(n + 1)",
    "gammaln(k)": "lgamma(x)", "phi(k)": "erfc(-x/sqrt(2))/2", "pnorm(k)": "erfc(-x/sqrt(2))/2", "expit(k)": "1/(1 + exp(-x))",
    "inv_logit(k)": "1/(1 + exp(-x))", "logit(k)": "log(x/(1 - x))", "exp10(k)": "10^x", "trunc(k)": "sign(x)*floor(abs(x))",
    "tad(k)": "`t - tdose`", "tad": "`t - tdose`", "lookup(k)": "interp(x, x1, y1, x2, y2, ...)",
}


def test_functions_of_other_languages(tmp):
    """A hint says what to write, and what it says can be computed and is right."""
    meaning = {"exp(lgamma(x))": scipy.special.gamma, "exp(lgamma(n + 1))": scipy.special.factorial,
               "lgamma(n + 1)": lambda x: np.log(scipy.special.factorial(x)), "lgamma(x)": scipy.special.gammaln,
               "erfc(-x/sqrt(2))/2": scipy.special.ndtr, "1/(1 + exp(-x))": scipy.special.expit,
               "log(x/(1 - x))": scipy.special.logit, "10^x": lambda x: 10**x, "sign(x)*floor(abs(x))": np.trunc}
    for call, hint in HINTS.items():
        (tmp / "m.ode").write_text(f"parameter k = 0.7\nobserve y = k*{call}\n")
        done = h.stiffit("model", "check", "m.ode", cwd=tmp, code=3)
        assert "m.ode:2:15: error: " in done.stderr and hint in done.stderr, done.stderr
    for k in (0.7, 0.2):
        for formula, function in meaning.items():
            (tmp / "m.ode").write_text(f"parameter k = {k}\nobserve y = {re.sub(r'(?<![a-z])[xn](?![a-z])', 'k', formula)}\n")
            out = h.stiffit("simulate", "--model", "m.ode", "--times", "1", cwd=tmp).stdout.splitlines()
            value = float(out[-1].split(",")[-1])
            assert np.isclose(value, function(k), rtol=1e-12), (formula, k, value)


if __name__ == "__main__":
    h.main()
