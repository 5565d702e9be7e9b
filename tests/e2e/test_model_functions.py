"""Functions of model text that need more than a formula: the gamma function in a model of absorption, against SciPy, by both
engines and with its gradient; tables, against closed forms; and what to write for functions that other languages have.

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


# A battery that is charged at a constant voltage: z' = (V - ocv(z))/(R Q), whose solution is an exponential between two points.
POINTS = [(0, 3.0), (0.25, 3.45), (0.5, 3.6), (0.75, 3.8), (1, 4.2)]
CHARGE = "parameter R = 0.05, Q = 3600, V = 4.25\nz(0) = 0\nz' = (V - interp(z, {}))/(R*Q)\nobserve z\n"


def charged(points, times, R, Q, V):
    """z at the times, and the times when it comes to the points; for complex numbers, too."""
    found, t, knots = [], 0.0, []
    for (x, y), (x1, y1) in zip(points, points[1:]):
        k, rate = (y1 - y)/(x1 - x)/(R*Q), (V - y)/(R*Q)
        end = t - np.log1p(-k*(x1 - x)/rate)/k if k else t + (x1 - x)/rate
        found += [x - rate/k*np.expm1(-k*(at - t)) if k else x + rate*(at - t) for at in times
                  if np.real(t) < at <= np.real(end)]
        knots.append(end)
        t = end
    assert len(found) == len(times)
    return np.array(found), knots


def charge(tmp, points, times, *options):
    (tmp / "m.ode").write_text(CHARGE.format(", ".join(f"{x!r}, {y!r}" for x, y in points)))
    (tmp / "d.csv").write_text("dataset,time,value\n" + "".join(f"a,{float(t)!r},0.1\n" for t in times))
    h.stiffit("import", "d.csv", "--model", "m.ode", "-q", "--overwrite", "-o", "p.h5", cwd=tmp)
    return evaluated(tmp, "p.h5", *options)


def check_charge(tmp, points, times, rtol, factor):
    start = {"R": 0.05, "Q": 3600, "V": 4.25}
    right = charged(points, times, **start)[0]
    for engine in ("lanes", "cvodes"):
        found, gradient = charge(tmp, points, times, "--engine", engine, "--rtol", str(rtol), "--atol", str(1e-2*rtol))
        assert np.allclose(found, right, rtol=factor*rtol), (engine, found/right - 1)
        for name, at in start.items():  # by a complex step
            moved = charged(points, times, **{**start, name: at*(1 + 1e-30j)})[0]
            slope = (right - 0.1) @ np.imag(moved)/(1e-30*at)
            assert np.isclose(gradient[name], slope, rtol=10*factor*rtol), (engine, name, gradient[name]/slope - 1)


def test_table_in_a_rate(tmp):
    """Also where measurements are at the very times at which the slope changes; steps do not pass over these."""
    times = [20.0, 50.0, 100.0, 200.0]
    check_charge(tmp, POINTS, times, 1e-7, 10)  # of some 40 steps, or 200, the errors of each add up
    check_charge(tmp, POINTS, times, 1e-10, 20)
    at_points = sorted([*times, *charged(POINTS, [], 0.05, 3600, 4.25)[1][:3]])
    check_charge(tmp, POINTS, at_points, 1e-10, 20)
    with h5py.File(tmp / "r.h5") as f:  # and derivatives are not difference quotients
        assert not any("state_jump" in note.decode() for note in np.ravel(f["fits/notes"][:]) if isinstance(note, bytes))


def test_table_of_many_points(tmp):
    x = np.linspace(0, 1, 301)
    y = 3 + 1.2*x - 0.3*np.exp(-20*x) + 0.05*np.sin(20*x)
    check_charge(tmp, list(zip(x.tolist(), y.tolist())), [20.0, 50.0, 100.0, 200.0], 1e-7, 100)


def simulated(tmp, text, times, *options):
    (tmp / "m.ode").write_text(text)
    out = h.stiffit("simulate", "--model", "m.ode", "--times", times, *options, cwd=tmp).stdout.splitlines()
    return [float(line.split(",")[-1]) for line in out[1:]]


def test_table_in_an_observable(tmp):
    """At the points, between them and beyond: by hand."""
    text = ("parameter R0 = 0.01, Q = 3600\ninput I constant\nz(0) = 1\nz' = -I/Q\n"
            "observe V = interp(z, 0, 3.0, 0.25, 3.45, 0.5, 3.6, 0.75, 3.8, 1, 4.2) - I*R0\n")
    assert np.allclose(simulated(tmp, text, "0,900,1350,1800,3600,4000", "--input", "I=1"),
                       [4.19, 3.79, 3.69, 3.59, 2.99, 2.99], rtol=1e-9)


def test_narrow_peak(tmp):
    """Of area 1 in z, which falls by 0.01 in a unit of time: w becomes 100, however smooth the rest is."""
    text = ("parameter k = 0.01\nz(0) = 1; w(0) = 0\nz' = -k\n"
            "w' = interp(z, 0, 0, 0.499, 0, 0.5, 1000, 0.501, 0, 1, 0)\nobserve w\n")
    assert np.allclose(simulated(tmp, text, "20,50,100"), [0, 50, 100], rtol=1e-6, atol=1e-12)
    # of time, and of an input
    text = "parameter k = 1\nw(0) = 0\nw' = k*interp(t, 0, 0, 49.99, 0, 50, 1000, 50.01, 0)\nobserve w\n"
    assert np.allclose(simulated(tmp, text, "20,50,100"), [0, 5, 10], rtol=1e-6, atol=1e-12)


def test_event_at_a_value_of_a_table(tmp):
    """interp(z) comes to 3.7 at z = 0.625, which falls from 1 by 0.1 in a unit of time; a peak of it is seen, too."""
    text = ("parameter k = 0.1\nz(0) = 1; n(0) = 0; m(0) = 0\nz' = -k; n' = 0; m' = 0\n"
            "event low when interp(z, 0, 3.0, 0.5, 3.6, 0.75, 3.8, 1, 4.2) < 3.7: n = t\n"
            "event peak when interp(z, 0.4999, 0, 0.5, 1, 0.5001, 0) > 0.5: m = t\nobserve n, m\n")
    assert np.allclose(simulated(tmp, text, "10"), [3.75, 4.9995], rtol=1e-6)


def test_fitted_values_of_a_table(tmp):
    """A value that is a parameter: an interpolation is linear in it."""
    (tmp / "m.ode").write_text("parameter a = 1, b = 2\nobserve y = interp(t, 0, a, 1, 5, 2, a*b, 4, 3)\n")
    (tmp / "d.csv").write_text("dataset,time,value\na,0.5,1\na,1,0\na,1.5,2\na,3,1\n")
    h.stiffit("import", "d.csv", "--model", "m.ode", "-q", "-o", "p.h5", cwd=tmp)
    found, gradient = evaluated(tmp, "p.h5")
    assert np.allclose(found, [3, 5, 3.5, 2.5], rtol=1e-14)
    residual = found - [1, 0, 2, 1]
    assert np.isclose(gradient["a"], residual @ [0.5, 0, 1, 1]) and np.isclose(gradient["b"], residual @ [0, 0, 0.5, 0.5])


def test_faulty_tables(tmp):
    for call, place, words in (
            ("interp(k, 0, 1, 0, 2)", "3:24", "must have increasing x: 0 follows 0"),
            ("interp(k, 0, 1, 2*c, 2, c, 2)", "3:32", "must have increasing x: 3 follows 6"),
            ("interp(k, 0, 1, k, 2)", "3:24", "only the first argument may vary"),
            ("interp(k, log(-1), 1, 2, 2)", "3:18", "is a number, a constant or an expression"),
            ("interp(k, 0, 1, 1)", "3:8", "odd number of arguments, at least 5, and these are 4"),
            ("interp(k, 0, 1)", "3:8", "at least 5, and these are 3")):
        (tmp / "m.ode").write_text(f"parameter k = 0.7\nconstant c = 3\ny = 2*({call})\nobserve y\n")
        done = h.stiffit("model", "check", "m.ode", cwd=tmp, code=3)
        assert f"m.ode:{place}: error: " in done.stderr and words in done.stderr and "1 error" in done.stderr, done.stderr


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
