"""The templates of `stiffit model new`: what each predicts is what a closed form says, or SciPy's integrator where there is
none; the commands in its first lines run, and what they fit agrees with the parameters that the data were made with.

SPDX-License-Identifier: BSD-3-Clause
"""
import concurrent.futures
import csv
import re
import shlex

import h5py
import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.special import lambertw

import helpers as h

h.compile_as_users_do()

LIBRARY = h.ROOT / "models/library"
NAMES = sorted(path.stem for path in LIBRARY.glob("*.ode"))


def linear(matrix, begin, source=0.0):
    """y' = matrix y + source: t -> y."""
    n = len(begin)
    whole = np.zeros((n + 1, n + 1))
    whole[:n, :n], whole[:n, n] = matrix, source
    return lambda t: (expm(whole * t) @ np.append(begin, 1.0))[:n]


def switched(t_off, on, begin, source, off=None):
    """The same with `source` and the matrix `on` until t_off, then with none and `off`."""
    first = linear(on, begin, source)
    second = linear(on if off is None else off, first(t_off))
    return lambda t: first(t) if t <= t_off else second(t - t_off)


def compartments(volumes, clearance, exchange):
    """The rates of a central compartment and those around it, of amounts."""
    n = len(volumes)
    matrix = np.zeros((n, n))
    matrix[0, 0] = -clearance / volumes[0]
    for i, q in enumerate(exchange, 1):
        matrix[0, 0] -= q / volumes[0]
        matrix[i, 0], matrix[0, i], matrix[i, i] = q / volumes[0], q / volumes[i], -q / volumes[i]
    return matrix


def absorbed(matrix, ka):
    whole = np.zeros((len(matrix) + 1,) * 2)
    whole[1:, 1:], whole[0, 0], whole[1, 0] = matrix, -ka, ka
    return whole


def integrated(f, begin):
    return lambda t: solve_ivp(lambda _, y: f(y), (0, max(t, 1e-300)), begin, method="DOP853", rtol=1e-11,
                               atol=1e-11 * max(map(abs, begin))).y[:, -1]


def progress(p, c):
    """Integrated Michaelis-Menten: Vmax t = a (S0 - S) + b Km ln(S0/S), solved for S with Lambert's W."""
    inhibitor = c.get("I", 0)
    a = 1 + inhibitor / p.get("Kiu", p.get("Ki", np.inf))
    b = 1 + inhibitor / p.get("Kic", p.get("Ki", np.inf))
    k, s0 = b * p["Km"] / a, c["S0"]
    return lambda t: s0 - k * lambertw(s0 / k * np.exp((s0 - p["Vmax"] * t / a) / k)).real


def battery(p, c):
    """The same finite volumes, as a linear system."""
    n = 6
    edge = np.sqrt(np.arange(n + 1) / n)
    middle, volume = ((edge[1:]**3 + edge[:-1]**3) / 2)**(1 / 3), np.diff(edge**3)
    between = np.diff(np.eye(n), axis=0)  # the differences of neighbours
    through = np.diag(3 * edge[1:-1]**2 / np.diff(middle) / p["tau"])
    matrix = -between.T @ through @ between / volume[:, None]
    source = np.append(np.zeros(n - 1), c["current"] / c["capacity"] / volume[-1])
    x = switched(c["pulse"], matrix, np.full(n, p["x0"]), source)

    def voltage(t):
        current = c["current"] if t < c["pulse"] else 0
        surface = x(t)[-1] + (1 - middle[-1]) * p["tau"] / 3 * current / c["capacity"]
        return p["U0"] + 0.025693 * np.log((1 - surface) / surface) - 0.5 * (surface - 0.5) - p["Rohm"] * current
    return voltage


def pk_oral_1(p, c):
    y = linear(absorbed(compartments([p["V"]], p["CL"], []), p["ka"]), [c["dose"], 0])
    return lambda t: y(t - p["tlag"])[1] / p["V"] if t > p["tlag"] else 0.0


def pk_oral_2(p, c):
    y = linear(absorbed(compartments([p["V1"], p["V2"]], p["CL"], [p["Q"]]), p["ka"]), [c["dose"], 0, 0])
    return lambda t: y(t)[1] / p["V1"]


def bolus(p, c, volumes, exchange):
    y = linear(compartments(volumes, p["CL"], exchange), [c["dose"]] + [0] * len(exchange))
    return lambda t: y(t)[0] / volumes[0]


def infusion(p, c, volumes, exchange):
    n = len(volumes)
    y = switched(c["duration"], compartments(volumes, p["CL"], exchange), np.zeros(n),
                 np.append(c["dose"] / c["duration"], np.zeros(n - 1)))
    return lambda t: y(t)[0] / volumes[0]


def effect_compartment(p, c):
    y = linear([[-p["CL"] / p["V"], 0], [p["ke0"] / p["V"], -p["ke0"]]], [c["dose"], 0])
    return lambda t: (y(t)[0] / p["V"], p["Emax"] * y(t)[1] / (p["EC50"] + y(t)[1]))


def indirect_response(p, c):
    y = integrated(lambda y: [p["kout"] * (p["R0"] * (1 - y[1] / (p["IC50"] + y[1])) - y[0]), -c["ke"] * y[1]],
                   [p["R0"], c["C0"]])
    return lambda t: y(t)[0]


def one_to_one(p, c):
    y = switched(c["t_off"], [[-p["kon"] * c["conc"] - p["koff"]]], [0.0], p["kon"] * c["conc"] * p["Rmax"], [[-p["koff"]]])
    return lambda t: y(t)[0]


def two_state(p, c):
    def matrix(kon):
        return np.array([[-kon - p["kd1"] - p["ka2"], p["kd2"] - kon], [p["ka2"], -p["kd2"]]])
    kon = p["ka1"] * c["conc"]
    y = switched(c["t_off"], matrix(kon), [0.0, 0.0], [kon * p["Rmax"], 0], matrix(0))
    return lambda t: y(t).sum()


def monod(p, c):
    y = integrated(lambda y: np.array([1, -1 / p["Y"]]) * p["mu"] * y[1] / (p["Ks"] + y[1]) * y[0], [p["X0"], c["S0"]])
    return y


def sir(p, c):
    n = c["population"]
    y = integrated(lambda y: [-p["beta"] * y[0] * y[1] / n, p["beta"] * y[0] * y[1] / n - p["gamma"] * y[1]],
                   [n - p["I0"], p["I0"]])
    return lambda t: y(t)[1]


def seir(p, c):
    n = c["population"]
    y = integrated(lambda y: [-p["beta"] * y[0] * y[2] / n, p["beta"] * y[0] * y[2] / n - p["sigma"] * y[1],
                              p["sigma"] * y[1] - p["gamma"] * y[2], p["sigma"] * y[1]], [n - p["I0"], 0, p["I0"], p["I0"]])
    return lambda t: y(t)[2:]


def bateman(p, c):
    a, b = np.log(2) / p["T1"], np.log(2) / p["T2"]
    return lambda t: (p["N0"] * np.exp(-a * t), p["N0"] * a / (b - a) * (np.exp(-a * t) - np.exp(-b * t)))


def arrhenius(p, c):
    k = p["kref"] * np.exp(-1000 * p["Ea"] / 8.314462618 * (1 / c["T"] - 1 / 318.15))
    return lambda t: p["c0"] * np.exp(-k * t)


def saturable(p, c, dose=None):
    """An enzyme's progress curve, in concentrations."""
    left = progress({"Vmax": p["Vmax"] / p["V"], "Km": p["Km"]}, {"S0": c["dose"] / p["V"]})
    return lambda t: c["dose"] / p["V"] - left(t)


def example(p, c):
    y = integrated(lambda y: [-p["ka"] * y[0], p["ka"] * y[0] - p["Vmax"] * y[1] / (p["Km"] * p["V"] + y[1])],
                   [0.8 * c["dose"], 0])
    return lambda t: y(t)[1] / p["V"]


# parameters, covariates -> t -> the observables
ORACLES = {
    "arrhenius": arrhenius, "battery-particle": battery, "binding": one_to_one, "binding-two-state": two_state,
    "decay-chain": bateman, "effect-compartment": effect_compartment, "epidemic-seir": seir, "epidemic-sir": sir,
    "emax": lambda p, c: lambda t: p["E0"] + p["Emax"] * t**p["h"] / (p["EC50"]**p["h"] + t**p["h"]),
    **{name: progress for name in ("enzyme", "enzyme-competitive", "enzyme-uncompetitive", "enzyme-noncompetitive",
                                   "enzyme-mixed")},
    "example": example, "indirect-response": indirect_response, "growth-monod": monod,
    "growth-gompertz": lambda p, c: lambda t: p["K"] * np.exp(np.log(p["N0"] / p["K"]) * np.exp(-p["a"] * t)),
    "growth-logistic": lambda p, c: lambda t: p["K"] / (1 + (p["K"] / p["N0"] - 1) * np.exp(-p["mu"] * t)),
    "pk-bolus-1": lambda p, c: lambda t: c["dose"] / p["V"] * np.exp(-p["CL"] / p["V"] * t),
    "pk-bolus-2": lambda p, c: bolus(p, c, [p["V1"], p["V2"]], [p["Q"]]),
    "pk-bolus-3": lambda p, c: bolus(p, c, [p["V1"], p["V2"], p["V3"]], [p["Q2"], p["Q3"]]),
    "pk-infusion-1": lambda p, c: infusion(p, c, [p["V"]], []),
    "pk-infusion-2": lambda p, c: infusion(p, c, [p["V1"], p["V2"]], [p["Q"]]),
    "pk-michaelis-menten": saturable, "pk-oral-1": pk_oral_1, "pk-oral-2": pk_oral_2,
}


def commands_of(text):
    """The command lines of a text's first lines, without the program."""
    return [shlex.split(line)[1:] for line in re.findall(r"^#   (stiffit .*)$", text, re.M)]


def try_template(folder, name):
    """Makes the model, runs its commands, and returns the predictions' and the estimates' deviations."""
    model = name.replace("-", "_")
    h.stiffit("model", "new", model, "--from", name, "-q", cwd=folder)
    text = (folder / f"{model}.ode").read_text()
    simulate, *others = commands_of(text) or [f"simulate --model {model}.ode --times 0.25:24:1.25 --covariate dose=300,400 "
                                             f"--datasets 12 -o {model}.h5".split(), ["run", f"{model}.h5"]]
    made = h.stiffit(*simulate, "--truth", "truth.csv", cwd=folder)
    assert "warning" not in made.stderr, made.stderr
    for command in others:
        h.stiffit(*command, cwd=folder)
    with open(folder / "truth.csv", encoding="utf-8") as file:
        header, *truth = csv.reader(file)
    truth = np.array(truth)[:, 1:].astype(float)
    with h5py.File(folder / f"{model}.h5") as f:
        covariates = [{}] * len(truth)
        if "datasets/covariates" in f:
            keys = f["datasets/covariate_names"].asstr()[()]
            covariates = [dict(zip(keys, row)) for row in f["datasets/covariates"][()]]
    # Without noise, at the true parameters of the first dataset.
    words = [word for i, word in enumerate(simulate) for option in [simulate[max(i, 1) - 1]]
             if word in ("simulate", "--model", "--times") or option in ("--model", "--times")]
    words += [word for key, value in covariates[0].items() for word in ("--covariate", f"{key}={float(value)!r}")]
    words += [word for key, value in zip(header[1:], truth[0]) for word in ("--set", f"{key}={float(value)!r}")]
    rows = list(csv.DictReader(h.stiffit(*words, cwd=folder).stdout.splitlines()))
    oracle = ORACLES[name](dict(zip(header[1:], truth[0])), covariates[0])
    values = {}
    for row in rows:
        values.setdefault(float(row["time"]), []).append(float(row["value"]))
    got = np.array([values[t] for t in sorted(values)])
    want = np.array([np.atleast_1d(oracle(t)) for t in sorted(values)])
    fits = h.read_fits(folder / f"{model}.result.h5")
    assert set(fits["status"]) == {"converged"}, fits["status"]
    is_noise = np.array(header[1:]) == "cv"  # its maximum-likelihood estimate from few points is too small
    off = ((fits["parameters"] - truth) / fits["standard_error"])[:, ~is_noise]
    return np.max(np.abs(got - want) / np.max(np.abs(want), axis=0)), off


@h.both
def test_templates_predict_and_fit(tmp):
    """1e-6 of an observable's largest value: `simulate` integrates at 1e-8. An estimate is within 5 standard errors of the
    truth: farther is 1e-6 probable for a normal one, and errors of some are skewed. Two thirds are within 1, of many."""
    assert set(ORACLES) == set(NAMES)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        names = h.portion(NAMES, 4)
        for name in names:
            (tmp / name).mkdir()
        results = dict(zip(names, pool.map(lambda name: try_template(tmp / name, name), names)))
    for name, (error, off) in results.items():
        assert error < 1e-6, (name, error)
        known = np.isfinite(off)
        assert known.mean() > 0.9 and np.max(np.abs(off[known])) < 5, (name, off)
        assert np.mean(np.abs(off[known]) < 1) > 0.4, (name, off)


def test_shells_are_the_sphere(tmp):
    """The single particle's surface at a constant current against the sphere's series (J. Crank 1975, The Mathematics of
    Diffusion, eq. 6.45): 1 % from tau/20 on, as the template says."""
    roots = [brentq(lambda x: np.sin(x) - x * np.cos(x), i * np.pi + 1e-9, (i + 0.5) * np.pi) for i in range(1, 200)]
    squares = np.array(roots)**2  # tan(b) = b
    tau, rate = 2000.0, 1 / 3600
    h.stiffit("model", "new", "cell", "--from", "battery-particle", "-q", cwd=tmp)
    text = (tmp / "cell.ode").read_text()
    (tmp / "cell.ode").write_text(re.sub(r"(?m)^observe voltage.*$", "observe surface", text))
    done = h.stiffit("simulate", "-m", "cell.ode", "--times", "100:1200:100", "--covariate", "current=1",
                     "--covariate", "pulse=9999", "--covariate", "capacity=3600", cwd=tmp)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert len(rows) == 12
    for row in rows:
        t = float(row["time"]) / tau
        exact = rate * tau / 3 * (3 * t + 0.2 - 2 * np.sum(np.exp(-squares * t) / squares))
        assert abs(float(row["value"]) - 0.4 - exact) < 0.01 * exact, (row, exact)


def test_list_names_them(tmp):
    lines = h.stiffit("model", "new", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    for line in lines:
        label = re.search(r'^model NAME "(.*)"$', (LIBRARY / f"{line.split()[0]}.ode").read_text(), re.M).group(1)
        assert line.split(None, 1)[1] == label
    fault = h.stiffit("model", "new", "x", "--from", "pk-orl-1", cwd=tmp, code=2).stderr
    assert "Did you mean pk-oral-1?" in fault
    readme = (LIBRARY / "README.md").read_text()
    assert re.findall(r"^\| `([\w-]+)` ", readme, re.M) == NAMES


def test_texts_have_units_bounds_and_their_own_names(tmp):
    for name in NAMES:
        text = (LIBRARY / f"{name}.ode").read_text()
        for line in re.findall(r"^(?:parameter|covariate) .*$", text, re.M):
            bare = re.match(r"parameter (cv|h) ", line)  # no unit
            assert bare or 'unit "' in line, (name, line)
            assert line.startswith("covariate") or re.search(r" in \[", line), (name, line)
        assert re.search(r'^time unit "\w+"$', text, re.M), name
    h.stiffit("model", "new", "9 lives", "--from", "emax", "-q", cwd=tmp)
    text = (tmp / "9 lives.ode").read_text()
    assert "model _9_lives " in text and "--model '9 lives.ode'" in text and "run _9_lives.h5" in text and "NAME" not in text
    assert 'model out "' in h.stiffit("model", "new", "out", "--from", "emax", "-o", "-").stdout
    h.stiffit("model", "new", "a\nb", "-q", cwd=tmp)
    h.stiffit("model", "show", "a\nb.ode", cwd=tmp)


def test_next_steps_name_a_table_of_datasets_only_where_the_model_has_covariates(tmp):
    assert "--datasets" in h.stiffit("model", "new", "a", "--from", "pk-bolus-1", cwd=tmp).stderr
    assert "--datasets" not in h.stiffit("model", "new", "b", "--from", "emax", cwd=tmp).stderr


if __name__ == "__main__":
    h.main()
