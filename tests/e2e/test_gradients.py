"""Where derivatives come from: what `auto` chooses for sizes, and fits by difference quotients and adjoints against SciPy.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np
from scipy.optimize import least_squares
from scipy.special import lambertw

import helpers as h
import oracles as o
from test_robertson import robertson_problem

h.compile_as_users_do()


def network_plugin(tmp, states, parameters):
    """The reaction network of scripts/bench as a plugin of that size, with rates as starts."""
    names = {"state": [f"y{i}" for i in range(states)], "parameter": [f"p{j}" for j in range(parameters)]}
    tables = "".join(f"static const char *const {what}_name[] = {{{', '.join(chr(34) + n + chr(34) for n in words)}}};\n"
                     for what, words in names.items())
    source = f"""#include "{h.ROOT}/scripts/bench/bench_ode_network.h"
{tables}
static const char *const observable_name[] = {{"first", "last"}};
static uint8_t use[{parameters}];
static double start[{parameters}];
STIFFIT_EXPORT const struct stiffit_model stiffit_model = {{
    STIFFIT_MODEL_HEADER, .name = "network", .n_state = {states}, .n_parameter = {parameters}, .n_observable = 2,
    .state_name = state_name, .parameter_name = parameter_name, .observable_name = observable_name, .parameter_start = start,
    .parameter_use = use, .rhs = network_rhs, .initial = network_initial, .observe = network_observe,
    .jacobian = network_jacobian, .rhs_parameter = network_rhs_parameter, .initial_parameter = network_initial_parameter,
    .observe_state = network_observe_state, .observe_parameter = network_observe_parameter}};
__attribute__((constructor)) static void fill(void)
{{
    network_model({states}, {parameters}, use);
    for (size_t j = 0; j < {parameters}; j++)
        start[j] = network_start(j);
}}
"""
    return h.compile_plugin(source, tmp / f"network-{states}-{parameters}.so")


def chosen(tmp, states, parameters, n_time, *args):
    """What a run records; one evaluation is enough for that."""
    path = tmp / f"n{states}-{parameters}-{n_time}.h5"
    times = np.linspace(10 / n_time, 10, n_time)
    rows = [(0, t, which, 0.5, 0.01) for t in times for which in (0, 1)]
    h.write_problem(path, network_plugin(tmp, states, parameters), ["a"], rows,
                    parameters={"observables": ["first", "last"]})
    fits = h.run(path, "--max-evaluations", 1, "--overwrite", *args, code=1)
    assert fits["status"][0] == "budget", fits["message"]
    return fits["optimizer"][0], fits["gradient"][0]


@h.more
def test_auto_chooses_by_sizes(tmp):
    # `make bench` (adjoint) measures that these choices are the faster ones.
    assert chosen(tmp, 50, 300, 12) == ("lbfgs", "adjoint")
    for n_time in (2, 12, 50, 200):
        assert chosen(tmp, 5, 200, n_time) == ("lbfgs", "adjoint"), n_time
    assert chosen(tmp, 5, 20, 12) == ("trf", "forward")
    assert chosen(tmp, 2, 8, 12, "--optimizer", "lbfgs") == ("lbfgs", "forward")
    assert chosen(tmp, 20, 60, 12) == ("trf", "forward")
    assert chosen(tmp, 20, 60, 12, "--optimizer", "lbfgs") == ("lbfgs", "adjoint")
    assert chosen(tmp, 5, 200, 12, "--gradient", "forward") == ("trf", "forward")
    assert chosen(tmp, 5, 200, 12, "--optimizer", "trf") == ("trf", "forward")
    assert chosen(tmp, 5, 20, 12, "--gradient", "adjoint") == ("lbfgs", "adjoint")
    assert chosen(tmp, 5, 200, 12, "--gradient", "differences") == ("trf", "differences")


def test_a_trust_region_by_adjoints_is_refused(tmp):
    h.decay_problem(tmp / "p.h5", 1)
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--optimizer", "trf", "--gradient", "adjoint", code=2)
    assert "--gradient adjoint" in done.stderr and "--optimizer lbfgs" in done.stderr, done.stderr
    # Where nothing is searched, another optimiser is no cure.
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--share", "k", "--evaluate", "--optimizer", "lbfgs",
                     "--gradient", "adjoint", code=2)
    assert "; --gradient forward" in done.stderr, done.stderr


WAYS = {"trf": (), "trf-differences": ("--gradient", "differences"), "lbfgs": ("--optimizer", "lbfgs"),
        "lbfgs-adjoint": ("--gradient", "adjoint"),
        "lbfgs-differences": ("--optimizer", "lbfgs", "--gradient", "differences")}


def test_all_ways_end_where_scipy_does(tmp):
    n = 2
    robertson_problem(tmp / "p.h5", n)
    _, value, sigma = o.robertson_data(n)
    found = {way: h.run(tmp / "p.h5", "--overwrite", *args) for way, args in WAYS.items()}
    for way, fits in found.items():
        assert list(fits["status"]) == ["converged"] * n, (way, fits["message"])
        gradient = way.split("-")[1] if "-" in way else "forward"
        assert list(fits["gradient"]) == [gradient] * n, way
    for i in range(n):
        def residuals(log_p, i=i):
            return ((o.robertson_observed(np.exp(log_p)) - value[i]) / sigma[i]).ravel()

        for jac in ("2-point", "3-point"):
            # steps for predictions that are good to 1e-10; the start is the file's
            fit = least_squares(residuals, np.log(o.ROBERTSON_P), jac=jac, diff_step={"2-point": 1e-5, "3-point": 1e-4}[jac],
                                xtol=1e-12, ftol=1e-13, gtol=1e-10)
            error = np.exp(fit.x) * np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
            for way, fits in found.items():
                # 1e-6 of the objective, and errors within 1 %, are what the program promises
                best = 0.5 * np.sum(residuals(np.log(fits["parameters"][i])) ** 2)
                assert best <= fit.cost * (1 + 1e-6), (way, jac, i, best / fit.cost - 1)
                assert np.allclose(fits["standard_error"][i], error, rtol=0.01), (way, jac, i, fits["standard_error"][i])


def test_descent_in_narrow_corners(tmp):
    """Steps of a metric that bounds cut: a parameter on its bound that the step of all would push out must not hold up the
    rest, and where whole steps go too far, shorter ones are tried. Closed form (Lambert's W) and SciPy's trust region."""
    (tmp / "mm.ode").write_text("parameter Vm = 1 in [0.012, 1.2360676754485427] scale log\nparameter Km = 1 in [0.01, 100]\n"
                                "parameter S0 = 3 in [2.7159178910154074, inf]\ncovariate D\nS(0) = S0*D\n"
                                "S' = -Vm*S/(Km + S)\nobserve S\n")
    data = (([4.5277, 6.1212, 6.4692, 4.392, 2.1996, 3.8506],
             [0.027683, 0.0040977, 0.0025145, 0.030467, 0.30394, 0.053758],
             [0.051335, 0.061784, 0.050858, 0.067405, 0.067783, 0.040902]),
            ([1.4614, 1.1258, 7.2652, 3.1311, 1.4614, 1.8891, 7.5296, 2.0839, 7.631, 1.7489, 7.9893],
             [0.88579, 1.2117, 0.00094821, 0.188, 1.0337, 0.69427, 0.00068067, 0.54161, 0.00064196, 0.64964, 0.00034053],
             [0.078411, 0.12065, 0.039479, 0.053045, 0.077753, 0.071021, 0.046123, 0.082141, 0.068872, 0.084394, 0.051435]))
    dose = [0.52147666, 0.65509471]
    rows = [(d, *row) for d, (t, y, s) in enumerate(data) for row in zip(t, [0] * len(t), y, s)]
    h.write_problem(tmp / "p.h5", tmp / "mm.ode", ["a", "b"], rows, covariates={"D": dose},
                    parameters={"name": ["Vm", "Km", "S0"], "start": [0.88782475, 1.17492141, 2.87773843],
                                "lower": [0.012, 0.01, 2.7159178910154074], "upper": [1.2360676754485427, 100, np.inf]})
    fits = h.run(tmp / "p.h5", "--error", "log-normal", "--optimizer", "lbfgs", "--gradient", "adjoint", "--rtol", "1e-9",
                 "--atol", "1e-12")
    assert list(fits["status"]) == ["converged"] * 2, fits["message"]
    for (t, y, s), d, found in zip(data, dose, fits["objective"]):
        def residuals(x, t=np.array(t), y=np.array(y), s=np.array(s), d=d):
            vm, km, s0 = x
            s0 *= d
            return np.log(km * lambertw(s0 / km * np.exp((s0 - vm * t) / km)).real / y) / s
        bounds = [0.012, 0.01, 2.7159178910154074], [1.2360676754485427, 100, np.inf]
        best = min((least_squares(residuals, start, bounds=bounds, xtol=1e-14, ftol=1e-14, gtol=1e-12, x_scale="jac",
                                  max_nfev=2000)
                    for start in ([0.9, 1, 2.8], [1.2, 1.0, 2.72], [1.2, 0.9, 3.0])), key=lambda fit: fit.cost)
        assert found <= best.cost * (1 + 1e-6), (found, best.cost, best.x)


def test_adjoints_without_an_evaluation_to_spare(tmp):
    """A fit that converges with its last evaluation has none left for its errors and its certificate: it says so."""
    h.decay_problem(tmp / "p.h5", 1, noise=0.1, known_sigma=True)
    seen = set()
    for n in range(2, 40):
        fits = h.run(tmp / "p.h5", "--optimizer", "lbfgs", "--gradient", "adjoint", "--max-evaluations", n, "--overwrite",
                     code=(0, 1))
        if fits["status"][0] != "converged":
            continue
        is_certified = not fits["notes"][0] & (1 << 11)
        assert is_certified == bool(np.isfinite(fits["tight_objective_change"][0])), n
        seen.add((bool(np.isfinite(fits["standard_error"]).all()), is_certified))
        if is_certified:
            break
    assert seen == {(False, False), (True, False), (True, True)}, seen


def test_differences_are_a_compromise_that_is_said(tmp):
    robertson_problem(tmp / "p.h5", 3)
    done = h.stiffit("run", tmp / "p.h5", "--trust", "--gradient", "differences")
    assert "difference quotients of whole evaluations" in done.stderr, done.stderr
    by_differences = h.read_fits(h.result_path(tmp / "p.h5"))
    assert np.all(by_differences["notes"] >> 15 & 1)
    # Every evaluation counts: a point takes one, and six for its three parameters.
    forward = h.run(tmp / "p.h5", "--overwrite")
    assert np.all(by_differences["evaluations"] >= 7 * 3) and np.all(by_differences["evaluations"] > forward["evaluations"])
    assert not np.any(forward["notes"] >> 15 & 1)
    few = h.run(tmp / "p.h5", "--gradient", "differences", "--max-evaluations", 6, "--overwrite", code=1)
    assert list(few["status"]) == ["budget"] * 3 and np.all(few["evaluations"] == 1)


EVERYTHING = """
parameter k = 0.6 in [0.01, 20] scale log
parameter v = 2 in [0.1, 50] scale log10
parameter start = 0.7 in [0, 9]
parameter shift = 0.3 in [-2, 5]
parameter spread = 0.05 in [0.001, 1] scale log
covariate dose
covariate warmth
rate = if t > 1 then k*warmth else k
x(0) = start + dose; y(0) = start*v
x' = -rate*x*x/(v + x)
y' = rate*x - 0.2*y
observe a = x/v + shift sd sqrt(spread^2 + (0.02*x)^2)
observe b = y*exp(shift) sd 0.1 + spread*y
"""


def test_all_ways_see_the_same_slope(tmp):
    """A switch after t0, covariates, start values and noise that depend on parameters, priors, censored measurements: dataset
    j has parameter j free alone, so that what a fit reports of its start is one entry of the gradient."""
    (tmp / "everything.ode").write_text(EVERYTHING, encoding="utf-8")
    plugin = tmp / "everything.so"
    h.stiffit("model", "build", "--quiet", "-o", plugin, tmp / "everything.ode")
    names = ["k", "v", "start", "shift", "spread"]
    rng = np.random.default_rng(5)
    times = [0.5, 0.5, 0.8, 1.0, 1.7, 3.0, 6.0]  # the first ones at t0
    one = [(t, which, rng.uniform(0.4, 2.5), np.nan) for t in times for which in (0, 1)]
    rows = [(j, *row) for j in range(5) for row in one]
    start = np.array([0.6, 2, 0.7, 0.3, 0.05])
    h.write_problem(tmp / "p.h5", plugin, names, rows, t0=0.5,
                    covariates={"dose": [1.5] * 5, "warmth": [1.8] * 5},
                    parameters={"name": names, "start": start, "fixed": 1 - np.eye(5), "observables": ["a", "b"],
                                "scale": ["log", "log10", "lin", "lin", "log"]})
    with h5py.File(tmp / "p.h5", "r+") as file:
        group = file["parameters"]
        group.create_dataset("prior", data=["log-normal", "normal", "laplace", "normal", "normal"], dtype=h5py.string_dtype())
        group["prior_location"] = [-1.0, 0.1, 0.5, 0.0, -2.0]
        group["prior_scale"] = [0.5, 0.3, 0.4, 0.7, 1.0]
        group.create_dataset("prior_on", data=["natural", "optimizer", "natural", "natural", "optimizer"],
                             dtype=h5py.string_dtype())
        side = np.array([1, 0, 0, -1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 0] * 5, np.int8)
        file["measurements/censored"] = side
        file["measurements/limit"] = np.where(np.arange(70) % 14 < 4, file["measurements/value"] * (1 - 0.2 * side), np.nan)
    tight = ("--rtol", 1e-10, "--atol", 1e-12, "--certify", "no", "--overwrite")

    def slopes(*args):
        # not a trust region, whose first evaluations are rough
        fits = h.run(tmp / "p.h5", "--optimizer", "lbfgs", *tight, *args, code=1)
        assert list(fits["status"]) == ["budget"] * 5, fits["message"]
        return fits["gradient_norm"]

    def objective(change):
        """At starts that differ from each dataset's own free one, with all fixed."""
        with h5py.File(tmp / "p.h5", "r") as file, h5py.File(tmp / "q.h5", "w") as other:
            for name in file:
                file.copy(name, other)
            other.attrs.update(file.attrs)
            del other["parameters/start"], other["parameters/fixed"]
            other["parameters/start"] = start + np.diag(change)
            other["parameters/fixed"] = np.ones((5, 5))
        return h.run(tmp / "q.h5", *tight)["objective"]

    forward = slopes("--gradient", "forward", "--max-evaluations", 1)
    # Fixed parameters have no prior's term; theirs is added by hand: derivatives of -log of the density.
    x = np.array([start[0], np.log10(start[1]), start[2], start[3], np.log(start[4])])
    location, scale = np.array([-1.0, 0.1, 0.5, 0.0, -2.0]), np.array([0.5, 0.3, 0.4, 0.7, 1.0])
    prior = (x - location) / scale**2
    prior[0] = 1 + (np.log(x[0]) - location[0]) / scale[0]**2  # by log x
    prior[2] = np.sign(x[2] - location[2]) / scale[2]
    chain = np.array([start[0], np.log(10) * start[1], 1, 1, start[4]])
    change = 1e-2 * start

    def quotient(k):
        return (objective(k * change) - objective(-k * change)) / (2 * k * change)
    by_hand = (4 * quotient(1) - quotient(2)) / 3 * chain + prior
    # errors: steps of 1e-2 to the fourth, noise of 1e-5 of the objective (v) over the step, the rounded kink of Laplace's prior
    assert np.allclose(forward, np.abs(by_hand), rtol=1e-5), (forward, by_hand)
    adjoint = slopes("--gradient", "adjoint", "--max-evaluations", 1)
    # both are good to some ten rtol; the sum has terms that cancel
    assert np.allclose(forward, adjoint, rtol=1e-7), forward / adjoint - 1
    differences = slopes("--gradient", "differences", "--max-evaluations", 3)
    assert np.allclose(forward, differences, rtol=1e-5), forward / differences - 1  # its h^2 is 5e-8



def test_differences_end_where_derivatives_do(tmp):
    """Two parameters have almost the same effect: difference quotients, accurate to some 1e-4, see no slope along their
    difference, which the data determine. Gauss-Newton with the closed form, in parameters that are far from dependent, is the
    judge. The certificate allows 1e-3 of the variance, which is 1 here."""
    rng, t, small, sigma = np.random.default_rng(5), np.linspace(0.5, 5, 12), 1e-6, 1e-8
    (tmp / "m.ode").write_text("parameter k1 = 0.05 in [1e-3, 10], k2 = 0.75 in [1e-3, 10]\nx(0) = 1\n"
                               f"x' = -(k1 + k2*(1 + {small}*t))*x\nobserve x\n")
    data = np.exp(-(0.3*t + 0.5*(t + small*t*t/2))) + sigma*rng.standard_normal((12, 12))
    lines = [f"d{d},{a!r},{b!r},{sigma}" for d, row in enumerate(data) for a, b in zip(t.tolist(), row.tolist())]
    (tmp / "m.csv").write_text("dataset,time,value,sigma\n" + "\n".join(lines) + "\n")
    h.stiffit("import", "m.csv", "-m", "m.ode", cwd=tmp)
    h.stiffit("run", "m.h5", "-q", "--gradient", "differences", cwd=tmp)
    fits = h.read_fits(tmp / "m.result.h5")
    assert set(fits["status"]) == {"converged"}
    for row, objective in zip(data, fits["objective"]):
        slope = np.array([0.8, 0.5*small])  # x = exp(-(c t + d t^2 / 2))
        for _ in range(5):
            x = np.exp(-(slope[0]*t + slope[1]*t*t/2))
            slope += np.linalg.lstsq(-x[:, None]*np.column_stack([t, t*t/2]), row - x, rcond=None)[0]
        best = 0.5*np.sum(((row - np.exp(-(slope[0]*t + slope[1]*t*t/2)))/sigma)**2)
        assert abs(objective - best) < 1e-3, (objective, best)


if __name__ == "__main__":
    h.main()
