"""Each model that exists both in C and as text: the two plugins agree in what they are, compute, predict and fit.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import io
import subprocess
import sys

import numpy as np

import helpers as h
from plugin_abi import Plugin

NAMES = sorted(path.parent.name for path in h.ROOT.glob("models/*/*.ode") if path.with_suffix(".c").exists())
FUNCTIONS = ("rhs", "initial", "observe", "jacobian", "rhs_parameter", "initial_parameter", "observe_state",
             "observe_parameter", "noise", "noise_state", "noise_parameter")
COVARIATES = {"theophylline": ["--covariate", "dose=4.02"]}
# The same operations in another order: each term carries a few roundings of 1e-16, and 1e-12 leaves room for the
# cancellation of three digits and for an exp of its own in place of a product.
ROUNDING = 1e-12


def text_model(name):
    return h.BUILD / "models" / f"{name}.text.so"


def test_all_six_are_there(tmp):
    assert {"alpha-pinene", "decay", "hare-lynx", "robertson", "theophylline", "van-der-pol"} <= set(NAMES), NAMES
    with_c = {path.parent.name for path in h.ROOT.glob("models/*/*.c")}
    assert with_c == set(NAMES), "a model in C without its text"


def test_descriptors_are_the_same(tmp):
    for name in NAMES:
        c, text = Plugin(h.model(name)), Plugin(text_model(name))
        assert text.name == c.name.replace("-", "_"), (text.name, c.name)  # a name in text has no hyphens
        for what in ("description", "time_unit", "t0", "states", "parameters", "observables", "covariates", "scales"):
            assert getattr(c, what) == getattr(text, what), (name, what, getattr(c, what), getattr(text, what))
        assert [u for u in c.units if u] == [u for u in text.units if u], (name, c.units, text.units)
        for what in ("start", "lower", "upper", "use"):
            assert np.array_equal(getattr(c, what), getattr(text, what)), (name, what)
        assert c.has("noise") == text.has("noise")


def sizes(c, function, value, point):
    """What a difference is measured by: of a sum its terms (by the slopes), of a matrix the largest entry of the row."""
    if function == "rhs":
        return np.abs(value) + np.abs(c.call("jacobian", *point)) @ np.abs(point[1])
    if value.ndim == 2:
        return np.abs(value) + np.abs(value).max(axis=1, initial=0, keepdims=True)
    return np.abs(value)


def test_functions_are_the_same_at_random_points(tmp):
    rng = np.random.default_rng(20)
    for name in NAMES:
        c, text = Plugin(h.model(name)), Plugin(text_model(name))
        for _ in range(200):
            logarithmic = np.array([scale != "lin" for scale in c.scales])
            low, high = (np.where(logarithmic, np.log(np.where(logarithmic, x, 1)), x) for x in (c.lower, c.upper))
            p = low + (high - low) * rng.random(c.n_p)
            p = np.where(logarithmic, np.exp(np.where(logarithmic, p, 0)), p)
            y = rng.choice([-1, 1, 1, 1], c.n) * 10 ** rng.uniform(-6, 3, c.n)
            point = (c.t0 + rng.exponential(100), y, p, 10 ** rng.uniform(-2, 2, c.n_c))
            for function in FUNCTIONS:
                if not c.has(function):
                    assert not text.has(function) or not function.startswith("noise"), (name, function)
                    continue
                mine, other = c.call(function, *point), text.call(function, *point)
                far = np.abs(mine - other) > ROUNDING * sizes(c, function, mine, point)
                assert not np.any(far), (name, function, point, mine, other)
                assert not np.any(np.isnan(other)), (name, function)


def test_check_finds_nothing_wrong(tmp):
    for name in NAMES:
        h.stiffit("model", "check", text_model(name))


def simulate(plugin, name, times):
    done = h.stiffit("simulate", "--model", plugin, "--times", ",".join(map(repr, times)), *COVARIATES.get(name, []))
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    return {(row["observable"], float(row["time"])): float(row["value"]) for row in rows}


def test_trajectories_are_the_same(tmp):
    """At rtol 1e-8, two integrations whose right-hand sides differ by rounding: steps may end elsewhere, so that they
    differ by their errors, some hundred times rtol of each observable's size (van der Pol's phase counts most)."""
    for name in NAMES:
        table = np.loadtxt(h.ROOT / "models" / name / "reference.csv", delimiter=",", skiprows=2)
        times = [float(t) for t in table[1:, 0]]
        c, text = (simulate(plugin, name, times) for plugin in (h.model(name), text_model(name)))
        assert c.keys() == text.keys() and len(c) >= len(times)
        size = {}
        for (observable, _), value in c.items():
            size[observable] = max(size.get(observable, 0), abs(value))
        for key, value in c.items():
            assert abs(value - text[key]) <= 1e-6 * size[key[0]], (name, key, value, text[key])


def test_fits_are_the_same(tmp):
    """The same noisy data fitted with either plugin, from the same starts and by the same engine. Mostly every bit is the
    same. Where rounding sends them on other paths they must still stop at points that no statistics could tell apart: 1e-4
    of each parameter, whose standard errors are per cents, and 1e-6 of the objective, to which the integrator is asked for
    1e-8: at the default the values of one and the same point differ by up to 2e-6 where another compiler's rounding leads
    to other steps."""
    times = {"alpha-pinene": "1000:36000:5000", "decay": "0.25:8:0.5", "hare-lynx": "1900:1920:1", "robertson":
             "1e-3:4e3:log12", "theophylline": "0.25:24:1.5", "van-der-pol": "0.5:20:0.5"}
    for name in NAMES:
        problem = tmp / f"{name}.h5"
        h.stiffit("simulate", "--datasets", 5, "--model", h.model(name), "--times", times[name], "--spread", 0.1, "--noise",
                  0.02, "--seed", 3, *COVARIATES.get(name, []), "-o", problem)
        fits = []
        for plugin in (h.model(name), text_model(name)):
            result = tmp / f"{name}.{len(fits)}.result.h5"
            h.stiffit("run", problem, "--model", plugin, "-o", result, "--quiet", "--rtol", 1e-8, "--engine", "cvodes",
                      code=(0, 1)) # only the text has lanes
            fits.append(h.read_fits(result))
        c, text = fits
        assert list(c["status"]) == list(text["status"]) and "converged" in c["status"], (name, c["status"], text["status"])
        for i in np.flatnonzero(c["status"] == "converged"):
            off = np.abs(c["parameters"][i] / text["parameters"][i] - 1)
            assert np.all(off <= 1e-4), (name, i, off)
            assert abs(c["objective"][i] - text["objective"][i]) <= 1e-6 * c["objective"][i], (name, i)


STRETCHED = """parameter tau = 2 in [1e-3, 1e3] scale log, b = 0.6 in [0.1, 1], A = 5
observe left = A*exp(-(t/tau)^b), gone = A*(t/tau)^b/(1 + (t/tau)^b), root = A*sqrt(t/tau)
"""


def test_powers_of_zero_times_something_can_be_fitted(tmp):
    """A stretched exponential from time 0 on: the slope of x^b is infinite there, but nothing that depends on it is."""
    model, problem = tmp / "stretched.ode", tmp / "stretched.h5"
    model.write_text(STRETCHED, encoding="utf-8")
    h.stiffit("model", "build", model)
    plugin = Plugin(model.with_suffix(".so"))
    assert plugin.call("observe", 0, [], [2, 0.6, 5], []).tolist() == [5, 0, 0]
    assert plugin.call("observe_parameter", 0, [], [2, 0.6, 5], []).tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    h.stiffit("simulate", "--datasets", 3, "--model", model, "--times", "0:10:1", "--spread", 0.1, "--noise", 0.01, "-o",
              problem)
    h.stiffit("run", problem)


def test_generated_texts_are_what_their_scripts_write(tmp):
    scripts = sorted(h.ROOT.glob("models/*/make-ode.py"))
    assert len(scripts) >= 3
    for script in scripts:
        written = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
        assert written == (script.parent / f"{script.parent.name}.ode").read_text(encoding="utf-8"), script


if __name__ == "__main__":
    h.main()
