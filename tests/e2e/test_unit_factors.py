"""Nothing but rounding changes if data, standard deviations, parameters and times are given in other units: outcomes, stopping
tests, notes, numbers of iterations, scaled parameters and errors, likelihoods but for the constant that densities have.

Factors are powers of two, so that products are exact and the two searches take the same decisions wherever no logarithm is
rounded; and powers of ten, with which parameters agree as far as the tolerances let them.

SPDX-License-Identifier: BSD-3-Clause
"""
import functools
import itertools

import h5py
import numpy as np
from scipy.optimize import least_squares
from scipy.special import lambertw

import helpers as h

BINARY = [1.0] + [2.0**k for k in ((-40, -30, -10, 10, 30, 40) if h.SLOW else (-40, 30))]
DECIMAL = [1.0] + [10.0**k for k in ((-12, -9, -6, -3, 3, 6, 9, 12) if h.SLOW else (-12, 7))]
TIMES = np.linspace(0.2, 6, 20)
SIGMA = 0.05
# Of parameters: the last step of two searches that differ in rounding; a tenth of a thousandth of the standard errors here.
SAME = 1e-6
OPEN = (-np.inf, np.inf)
POSITIVE = (0, np.inf)
DECADES = (1e-3, 1e3)


def parameter(name, scale, start, box, data=0, time=0):
    """Its unit is that of the data to the power of `data` times that of time to the power of `time`."""
    return {"name": name, "scale": scale, "start": start, "box": box, "data": data, "time": time}


K = parameter("k", "log", 0.5, DECADES, time=-1)
K_LIN = parameter("k", "lin", 0.5, POSITIVE, time=-1)
A = parameter("A", "lin", 1, POSITIVE, data=1)
C = parameter("c", "lin", 0, OPEN, data=1)
DECAY = "x(0) = A\nx' = -k*x\n"
MODELS = {  # text, parameters, whether its likelihood has a modelled standard deviation
    "line": ("observe y = A + B*t", (parameter("A", "lin", 1, OPEN, 1), parameter("B", "lin", 1, OPEN, 1, -1)), False),
    "formula": ("observe y = A*exp(-k*t) + c", (K, A, C), False),
    "decay": (DECAY + "observe y = x + c", (K, A, C), False),
    "linear": (DECAY + "observe y = x + c", (K_LIN, A, parameter("c", "lin", 0.1, OPEN, 1)), False),
    "saturated": ("x(0) = A\nx' = -V*x/(M + x)\nobserve y = x", (
        parameter("V", "log", 0.5, DECADES, 1, -1), parameter("M", "log10", 1, (1e-3, 5), 1), A), False),
    "at bound": (DECAY + "observe y = x + c", (K, parameter("A", "lin", 1, (0, 2.5), 1), C), False),
    "unused": (DECAY + "observe y = x + 0*q", (K, A, parameter("q", "lin", 1, OPEN, 1)), False),
    "noise": (DECAY + "observe y = x + c sd s", (K, A, C, parameter("s", "log", 1, (1e-4, 1e4), 1)), True),
    "two noises": (DECAY + "observe y = x sd s + r*x", (
        K_LIN, A, parameter("s", "lin", 0.1, (1e-6, np.inf), 1), parameter("r", "lin", 0.1, (0, 1))), True),
}
METHODS = {"trf": (), "lbfgs": ("--optimizer", "lbfgs"), "adjoint": ("--optimizer", "lbfgs", "--gradient", "adjoint"),
           "cvodes": ("--engine", "cvodes"), "differences": ("--gradient", "differences")}
LIKELIHOODS = ("log_likelihood", "aic", "bic")
SAME_COUNTS = ("status", "stopping_test", "notes", "iterations", "evaluations", "at_bound", "n_flat")


def values(seed=7, height=1.0):
    return height * 3 * np.exp(-0.7 * TIMES) + 0.4 + SIGMA * np.random.default_rng(seed).normal(size=TIMES.size)


def write(path, name, units, sigma, start=None, sets=1):
    """One dataset, or `sets` of them, for each pair of units of data and time. Returns the parameters' units."""
    text, parameters, _ = MODELS[name]
    units = [unit for unit in units for _ in range(sets)]
    n, factor = TIMES.size, np.array([[u**p["data"] * t**p["time"] for p in parameters] for u, t in units])
    with h5py.File(path, "w") as file:
        file.attrs.update({"stiffit_file": "problem", "format": 1})
        file["model/source"] = "".join(f"parameter {p['name']} = 1\n" for p in parameters) + text + "\n"
        file["parameters/name"] = [p["name"] for p in parameters]
        file["parameters/scale"] = [p["scale"] for p in parameters]
        one = factor[0] if len(set(units)) == 1 else factor
        file["parameters/start"] = one * [p["start"] for p in parameters] if start is None else np.ones(one.shape) * start
        file["parameters/lower"] = one * [p["box"][0] for p in parameters]
        file["parameters/upper"] = one * [p["box"][1] for p in parameters]
        file["datasets/id"] = [f"d{i}" for i in range(len(units))]
        file["measurements/dataset"] = np.repeat(np.arange(len(units)), n)
        file["measurements/time"] = np.concatenate([TIMES * t for _, t in units])
        file["measurements/value"] = np.concatenate([values(7 + i % sets, 1 + 0.2 * (i % sets)) * u
                                                     for i, (u, _) in enumerate(units)])
        if sigma:
            file["measurements/sigma"] = np.concatenate([np.full(n, SIGMA * u) for u, _ in units])
    return factor


def fit(tmp, *options):
    return h.run(tmp / "p.h5", "--overwrite", *options)


def scaled(fits, name, units, sigma, factor):
    """What must not depend on units."""
    data, n = np.array([u for u, _ in units]), TIMES.size
    found = {key: fits[key] for key in SAME_COUNTS if key in fits}
    found["parameters"], found["standard_error"] = fits["parameters"] / factor, fits["standard_error"] / factor
    found["objective"] = (fits["objective"] - n * np.log(data) if MODELS[name][2]
                          else fits["objective"] if sigma else fits["objective"] / data**2)
    for key, by in (("log_likelihood", 1), ("aic", -2), ("bic", -2)):
        found[key] = fits[key] + by * n * np.log(data)
    found["r_squared"] = fits["r_squared"]
    return found


def compare(found, label, exact, loose=1):
    for key, value in found.items():
        first = value[0]
        for other in value[1:]:
            if key in SAME_COUNTS:
                if exact or key not in ("iterations", "evaluations"):
                    assert np.array_equal(first, other), (label, key, value)
            else:
                # The others change in second order, and by what other steps of the integrator leave at rtol 1e-6: lanes take
                # logarithms of states' sizes. Likelihoods differ from the objective by a constant, which may nearly cancel it.
                tolerance = loose * {"parameters": SAME, "standard_error": 100 * SAME}.get(key, 1e-7)
                least = 1 + 2 * np.max(np.abs(found["objective"][0])) if key in LIKELIHOODS else 1
                np.testing.assert_allclose(other, first, rtol=tolerance, atol=loose * 1e-7 * least, err_msg=f"{label}: {key}")


def check(tmp, name, method, sigma, what):
    """All units in one run: a dataset each."""
    exact = what != "decimal" and method != "differences"
    units = [(u, 1.0) for u in DECIMAL] if what == "decimal" else [(u, 1.0) if what == "data" else (1.0, u) for u in BINARY]
    factor = write(tmp / "p.h5", name, units, sigma)
    fits = fit(tmp, *METHODS[method])
    assert fits["status"][0] == "converged", (name, method)
    loose = 100 if method == "differences" else 1
    compare(scaled(fits, name, units, sigma, factor), f"{name}, {method}, sigma {sigma}, {what}", exact, loose)


def test_factors(tmp):
    chosen = [("formula", "trf", False, "decimal"), ("decay", "trf", True, "decimal"), ("decay", "lbfgs", False, "time"),
              ("decay", "adjoint", True, "data"), ("linear", "cvodes", False, "time"), ("linear", "differences", True, "data"),
              ("saturated", "trf", False, "data"), ("at bound", "trf", False, "decimal"), ("unused", "trf", True, "data"),
              ("noise", "trf", False, "decimal"), ("two noises", "adjoint", False, "data")]
    if h.SLOW:
        chosen = [one for one in itertools.product(MODELS, METHODS, (False, True), ("data", "decimal", "time"))
                  if not (MODELS[one[0]][2] and one[2]) and ("'" in MODELS[one[0]][0] or one[1] not in ("adjoint", "cvodes"))
                  and (one[3] != "decimal" or one[1] in ("trf", "lbfgs"))]
    for one in chosen:
        check(tmp, *one)


def check_shared(tmp, name, share, method, sigma, what):
    sets, found = 4, []
    for unit in BINARY if what != "decimal" else DECIMAL:
        units = [(1.0, unit) if what == "time" else (unit, 1.0)]
        factor = write(tmp / "p.h5", name, units, sigma, sets=sets)
        fits = fit(tmp, "--share", share, *METHODS[method])
        part = scaled(fits, name, units * sets, sigma, factor)
        found.append({key: value for key, value in part.items() if key not in ("aic", "bic")})
    label = f"{name}, --share {share}, {method}, sigma {sigma}, {what}"
    assert all(status == "converged" for status in found[0]["status"]), label
    # a dataset's objective is not the least one for the shared rate, so that it changes in first order
    compare({key: [one[key] for one in found] for key in found[0]}, label, False, 100)


def test_shared_factors(tmp):
    chosen = [("decay", "k", "trf", False, "data"), ("formula", "k", "trf", True, "decimal"),
              ("noise", "k,s", "trf", False, "decimal"), ("linear", "k", "lbfgs", False, "data")]
    if h.SLOW:
        chosen = [(name, share, method, sigma, what) for (name, share), method, sigma, what in itertools.product(
            (("line", "B"), ("formula", "k"), ("decay", "k"), ("linear", "k"), ("at bound", "k"), ("noise", "k,s")),
            ("trf", "lbfgs"), (False, True), ("data", "decimal", "time")) if not (MODELS[name][2] and sigma)]
    for one in chosen:
        check_shared(tmp, *one)


def regression(value):
    design = np.column_stack([np.ones(TIMES.size), TIMES])
    best = np.linalg.lstsq(design, value, rcond=None)[0]
    squares = np.sum((value - design @ best)**2)
    return best, squares, np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * squares / (TIMES.size - 2))


def test_line_from_one(tmp):
    """Parameters that start at 1, whatever the data's size: a straight line is fitted exactly, and so are its likelihoods."""
    n = TIMES.size
    for method, unit in itertools.product(("trf", "lbfgs"), (1e-12, 1e7, 1e12)):
        for sigma in (False, True):
            write(tmp / "p.h5", "line", [(unit, 1.0)], sigma, start=[1, 1])
            fits = fit(tmp, *METHODS[method])
            best, squares, error = regression(unit * values())
            chi_square = squares / (SIGMA * unit)**2
            log_likelihood = (-0.5 * n * (np.log(squares / n) + 1 + np.log(2 * np.pi)) if not sigma
                              else -0.5 * chi_square - n * np.log(SIGMA * unit) - 0.5 * n * np.log(2 * np.pi))
            error *= 1 if not sigma else 1 / np.sqrt(chi_square / (n - 2))
            label = f"{method}, unit {unit:g}, sigma {sigma}"
            assert fits["status"][0] == "converged" and fits["standard_error"].shape == (1, 2), label
            # L-BFGS ends within --ftol of the objective, which is its root of the parameters
            np.testing.assert_allclose(fits["parameters"][0], best, rtol=1e-9 if method == "trf" else 1e-4, err_msg=label)
            np.testing.assert_allclose(fits["standard_error"][0], error, rtol=1e-6, err_msg=label)
            np.testing.assert_allclose(fits["log_likelihood"][0], log_likelihood, atol=1e-7, err_msg=label)
            k = 2 if sigma else 3
            np.testing.assert_allclose(fits["aic"][0], 2 * k - 2 * log_likelihood, atol=2e-7, err_msg=label)


def decay_oracle(value):
    """SciPy's optimum of the decay with an offset, in units in which the data are of size 1."""
    unit = np.abs(value).max()

    def residuals(p):
        return p[1] * np.exp(-p[0] * TIMES) + p[2] - value / unit
    found = least_squares(residuals, [0.5, 1, 0], xtol=1e-15, ftol=1e-15, gtol=1e-15)
    return found.x * [1, unit, unit], 2 * found.cost * unit**2


def test_decay_from_one(tmp):
    """Counts of 1e7 with parameters that start at 1, alone and with a shared rate: SciPy's optimum, not the start."""
    for unit, method in itertools.product((1e-6, 1e7), ("trf", "lbfgs")):
        write(tmp / "p.h5", "formula", [(unit, 1.0)], False, start=[0.5, 1, 0])
        fits = fit(tmp, *METHODS[method])
        best, squares = decay_oracle(unit * values())
        assert fits["status"][0] == "converged" and fits["r_squared"][0] > 0.99, (unit, method, fits["r_squared"])
        np.testing.assert_allclose(2 * fits["objective"][0], squares, rtol=1e-6, err_msg=f"{unit}, {method}")
        np.testing.assert_allclose(fits["parameters"][0], best, rtol=1e-3, err_msg=f"{unit}, {method}")


def test_shared_decay_from_one(tmp):
    """Four datasets with one rate; their own amplitudes start at 1 for data of 1e6 and more."""
    for name, unit in itertools.product(("linear", "formula"), (1e6, 1e12) if h.SLOW else (1e7,)):
        factor = write(tmp / "p.h5", name, [(unit, 1.0)], False, start=[0.5, 1, 0.1], sets=4)
        found = fit(tmp, "--share", "k")
        data = np.array([values(7 + i, 1 + 0.2 * i) for i in range(4)])

        def residuals(p, data=data):
            return (p[1:5, None] * np.exp(-p[0] * TIMES) + p[5:, None] - data).ravel()
        best = least_squares(residuals, np.r_[0.5, np.full(4, 3), np.zeros(4)], xtol=1e-15, ftol=1e-15, gtol=1e-15)
        assert np.all(found["status"] == "converged"), (name, unit)
        np.testing.assert_allclose(np.sum(found["objective"]), best.cost * unit**2, rtol=1e-6, err_msg=f"{name}, {unit:g}")
        np.testing.assert_allclose(found["parameters"][:, 1] / factor[:, 1], best.x[1:5], rtol=1e-3, err_msg=name)


def start_at_one(tmp, name, unit, sets, *options):
    """Fits data of this unit from starts that do not know it: amplitudes and standard deviations of 1, offsets of 0."""
    text, parameters, modelled = MODELS[name]
    box = {"k": POSITIVE, "s": POSITIVE}
    MODELS["from one"] = text, tuple({**p, "box": box.get(p["name"], OPEN)} for p in parameters), modelled
    start = [{"k": 0.5, "c": 0}.get(p["name"], 1) for p in parameters]
    write(tmp / "p.h5", "from one", [(unit, 1.0)], False, start=start, sets=sets)
    return fit(tmp, *options)


@functools.lru_cache
def likeliest(sets):
    """The least sum of squares, in units of the data; and the standard deviations and -log likelihood of a fit in which each
    dataset has its own, by weighted least squares again and again."""
    data, sigma, n = np.array([values(7 + i, 1 + 0.2 * i) for i in range(sets)]), np.ones((sets, 1)), TIMES.size
    squares, p = None, np.r_[0.5, np.full(sets, 3), np.zeros(sets)]
    for _ in range(60):
        def residuals(p, sigma=sigma):
            return ((p[1:1 + sets, None] * np.exp(-p[0] * TIMES) + p[1 + sets:, None] - data) / sigma).ravel()
        best = least_squares(residuals, p, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        squares, p = 2 * best.cost if squares is None else squares, best.x
        sigma = np.sqrt(np.mean((best.fun.reshape(sets, n) * sigma)**2, axis=1, keepdims=True))
    return squares, sigma.ravel(), n * np.sum(np.log(sigma) + 0.5 + 0.5 * np.log(2 * np.pi))


def test_no_method_needs_to_know_the_unit(tmp):
    """Amplitudes and standard deviations that start at 1 for data of 1e-12 to 1e12, by every method."""
    units = (1e-12, 1e-9, 1e-6, 1e6, 1e9, 1e12) if h.SLOW else (1e-12, 1e12)
    cases = [("decay", "adjoint", ()), ("noise", "trf", ()), ("noise", "adjoint", ()), ("noise", "lbfgs", ()),
             ("formula", "lbfgs", ("--share", "k")), ("noise", "lbfgs", ("--share", "k"))]
    for (name, method, share), unit in itertools.product(cases, units):
        sets = 4 if share else 1
        fits, n = start_at_one(tmp, name, unit, sets, *share, *METHODS[method]), TIMES.size * sets
        squares, sigma, least = likeliest(sets)
        label = f"{name}, {method}, {share}, unit {unit:g}"
        assert np.all(fits["status"] == "converged"), label
        # of the squares 1e-5, which errors of 1e-6 of the predictions leave: a likelihood changes by half of n times that
        if name == "noise":
            found = np.sum(fits["objective"]) - n * np.log(unit)
            np.testing.assert_allclose(found, least, rtol=0, atol=0.5e-5 * n, err_msg=label)
            np.testing.assert_allclose(fits["parameters"][:, 3] / unit, sigma, rtol=1e-3, err_msg=label)
        else:
            np.testing.assert_allclose(2 * np.sum(fits["objective"]) / unit**2, squares, rtol=1e-5, err_msg=label)


@functools.lru_cache
def likeliest_together(sets, share):
    """The least sum of squares of all datasets with these shared parameters, of k, A and c, in units of the data."""
    data = np.array([values(7 + i, 1 + 0.2 * i) for i in range(sets)])
    start, own = {"k": 0.5, "A": 3, "c": 0}, [name for name in "kAc" if name not in share]

    def residuals(p):
        given = dict(zip(share, p)) | {name: p[len(share) + sets * i:][:sets, None] for i, name in enumerate(own)}
        return (given["A"] * np.exp(-given["k"] * TIMES) + given["c"] - data).ravel()
    first = [start[name] for name in share] + [start[name] for name in own for _ in range(sets)]
    return 2 * least_squares(residuals, first, xtol=1e-15, ftol=1e-15, gtol=1e-15).cost


def test_no_unit_of_shared_parameters_need_be_known(tmp):
    """Amplitudes and standard deviations that all datasets share, and those that they do not."""
    sets, n = 4, 4 * TIMES.size
    units = (1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e12) if h.SLOW else (1e-12, 1e6)
    cases = [("decay", "kA", False), ("decay", "A", False), ("formula", "kAc", False), ("noise", "k", True),
             ("noise", "kA", True)]
    for (name, share, shares_sd), method, unit in itertools.product(cases, ("lbfgs", "trf"), units):
        words = list(share) + (["s"] if shares_sd else [])
        fits = start_at_one(tmp, name, unit, sets, "--share", ",".join(words), *METHODS[method])
        squares, label = likeliest_together(sets, share), f"{name}, {method}, {words}, unit {unit:g}"
        assert np.all(fits["status"] == "converged"), label
        found = np.sum(fits["objective"])
        if shares_sd:  # tolerances as in the test above
            least = 0.5 * n * (np.log(squares / n) + 1 + np.log(2 * np.pi))
            np.testing.assert_allclose(found - n * np.log(unit), least, rtol=0, atol=0.5e-5 * n, err_msg=label)
            np.testing.assert_allclose(fits["parameters"][0, 3] / unit, np.sqrt(squares / n), rtol=1e-3, err_msg=label)
        else:
            np.testing.assert_allclose(2 * found / unit**2, squares, rtol=1e-5, err_msg=label)


def test_no_unit_of_groups_need_be_known(tmp):
    """An amplitude that the datasets of a group share, and a rate or an offset that all or those of other groups do."""
    sets = 12
    group = {"plate": np.arange(sets) // 4, "side": np.arange(sets) % 2, "all": np.zeros(sets, int), "own": np.arange(sets)}
    data = np.array([values(7 + i, 1 + 0.2 * i) for i in range(sets)])

    def objective(levels):
        count = [group[level].max() + 1 for level in levels]
        place = [group[level] + sum(count[:i]) for i, level in enumerate(levels)]

        def residuals(p):
            k, a, c = (p[at][:, None] for at in place)
            return (a * np.exp(-k * TIMES) + c - data).ravel()
        return least_squares(residuals, np.repeat([0.5, 3, 0], count), xtol=1e-15, ftol=1e-15, gtol=1e-15).cost
    cases = [("k,A@plate", ("all", "plate", "own")), ("k,c@side,A@plate", ("all", "plate", "side"))]
    for (share, levels), method, unit in itertools.product(cases, ("lbfgs", "trf"), (1e-12, 1e12)):
        write(tmp / "p.h5", "decay", [(unit, 1.0)], False, start=[0.5, 1, 0], sets=sets)
        with h5py.File(tmp / "p.h5", "r+") as file:
            file["parameters/lower"][1:], file["parameters/upper"][1:] = -np.inf, np.inf
            file["datasets/covariates"] = np.column_stack([group["plate"], group["side"]]).astype(float)
            file["datasets/covariate_names"] = np.array(["plate", "side"], dtype=h5py.string_dtype())
        fits, label = fit(tmp, "--share", share, *METHODS[method]), f"{share}, {method}, unit {unit:g}"
        assert np.all(fits["status"] == "converged"), label
        np.testing.assert_allclose(np.sum(fits["objective"]) / unit**2, objective(levels), rtol=1e-5, err_msg=label)


def test_saturation_from_one(tmp):
    """Rate, constant and amount start at 1 or 0.5 for data of 1e7: one after the other is of the data's size."""
    unit, size = 1e7, 5.0
    text, (v, m, a), modelled = MODELS["saturated"]
    MODELS["wide"] = text, ({**v, "box": (1e-30, 1e30)}, {**m, "box": (1e-30, 1e30)}, a), modelled
    exact = size * lambertw(4 / size * np.exp((4 - 1.5 * TIMES) / size)).real  # of S' = -V S/(M + S) with S(0) = 4, V = 1.5
    value = exact + 0.02 * np.random.default_rng(5).normal(size=TIMES.size)
    for start in ([0.5, 1, 1], [1, 1, 1]):
        write(tmp / "p.h5", "wide", [(unit, 1.0)], False, start=start)
        with h5py.File(tmp / "p.h5", "r+") as file:
            file["measurements/value"][...] = value * unit
        fits = fit(tmp)

        def residuals(p):
            p = np.exp(p)
            return p[1] * lambertw(p[2] / p[1] * np.exp((p[2] - p[0] * TIMES) / p[1])).real - value
        best = least_squares(residuals, np.log([1.5, size, 4]), xtol=1e-15, ftol=1e-15, gtol=1e-15)
        assert fits["status"][0] == "converged", start
        np.testing.assert_allclose(fits["objective"][0], best.cost * unit**2, rtol=1e-5, err_msg=f"{start}")


def test_zero_and_exact(tmp):
    """Data of zeros and data without noise end in every unit, however small what is left."""
    for exact, unit in itertools.product((False, True), (1e-12, 1e12)):
        for name in ("line", "decay"):
            write(tmp / "p.h5", name, [(unit, 1.0)], False)
            curve = (2 + 0.5 * TIMES if name == "line" else 3 * np.exp(-0.7 * TIMES)) * unit * exact
            with h5py.File(tmp / "p.h5", "r+") as file:
                file["measurements/value"][...] = curve
            for method in ("trf", "lbfgs"):
                fits = fit(tmp, *METHODS[method])
                assert fits["status"][0] == "converged", (name, exact, unit, method)
                assert 2 * fits["objective"][0] <= 1e-12 * TIMES.size * unit**2, (name, exact, unit, method)


if __name__ == "__main__":
    h.main()
