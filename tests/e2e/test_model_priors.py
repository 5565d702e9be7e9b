"""Priors that the model brings along: the same fits as with /parameters/prior in the file, which wins; what cannot be
honoured is refused; tables of parameters.

SPDX-License-Identifier: BSD-3-Clause
"""
import json

import h5py
import numpy as np
from scipy import stats
from scipy.optimize import minimize

import helpers as h

T = np.linspace(0.5, 8.0, 10)
TEXT = """model decay
parameter k = 0.5 in [1e-3, 1e3] scale log10{k}
parameter A = 1.5 in [0.1, 10]{A}
parameter b = 0.1{b}
y(0) = A
y' = -k*y
observe z = y + b
"""
PRIORS = {"k": " prior normal(log10(0.3), 0.05) on optimizer", "A": " prior lognormal(log(2), 0.05)",
          "b": " prior laplace(0, 0.02)"}
IN_FILE = {"prior": ["normal", "log-normal", "laplace"], "prior_on": ["optimizer", "natural", "natural"],
           "prior_location": [np.log10(0.3), np.log(2), 0.0], "prior_scale": [0.05, 0.05, 0.02]}
# A descriptor in C with a prior of its own.
PLUGIN = """#include <stiffit/model.h>
#include <stddef.h>
#include <math.h>
static const char *const names[] = {"k", "A"}, *const observables[] = {"y"};
static const double start[] = {0.5, 1.5};
static int observe(const struct stiffit_point *at, double *h) { h[0] = at->p[1]*exp(-at->p[0]*at->t); return 0; }
%s
STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    STIFFIT_MODEL_HEADER, .name = "c", .n_parameter = 2, .n_observable = 1, .parameter_name = names,
    .observable_name = observables, .parameter_start = start, .observe = observe, %s};
"""


def text(path, priors):
    path.write_text(TEXT.format(**{name: priors.get(name, "") for name in "kAb"}))
    return path


def data(n=3, seed=5):
    rng = np.random.default_rng(seed)
    return 2.2 * np.exp(-0.4 * T) + 0.05 + 0.1 * rng.standard_normal((n, len(T)))


def write(path, model, y, *, sigma=0.1, tables=None, source=False, **keywords):
    n, m = y.shape
    rows = np.column_stack([np.repeat(np.arange(n), m), np.tile(T, n), np.zeros(n * m), y.ravel(), np.full(n * m, sigma)])
    h.write_problem(path, None if source else model, [f"d{i}" for i in range(n)], rows, **keywords)
    with h5py.File(path, "a") as f:
        if source:
            f["model/source"] = model.read_text()
        for name, value in (tables or {}).items():
            f[f"parameters/{name}"] = value
    return path


def objective(y):
    """Written out once more, with SciPy's densities."""
    def value(x):
        k, a, b = 10 ** x[0], x[1], x[2]
        if not 0.1 <= a <= 10:
            return 1e9
        r = (a * np.exp(-k * T) + b - y) / 0.1
        prior = -stats.norm.logpdf(x[0], np.log10(0.3), 0.05) - stats.lognorm.logpdf(a, 0.05, scale=2)
        return 0.5 * np.sum(r ** 2) + prior + np.hypot(b / 0.02, 1e-2)  # the kink is rounded, as stiffit-run(1) says
    return value


def test_priors_of_the_text_are_those_of_the_file(tmp):
    y, exact = data(), ("--rtol", "1e-9", "--atol", "1e-12")
    ours = h.run(write(tmp / "text.h5", text(tmp / "with.ode", PRIORS), y, source=True), *exact)
    file = h.run(write(tmp / "file.h5", text(tmp / "without.ode", {}), y, source=True, tables=IN_FILE), *exact)
    none = h.run(write(tmp / "none.h5", tmp / "without.ode", y, source=True), *exact)
    assert set(ours["status"]) == {"converged"} and ours["names"] == ["k", "A", "b"]
    for name in ("parameters", "objective", "standard_error"):
        np.testing.assert_array_equal(ours[name], file[name])
    assert np.all(np.abs(ours["parameters"] - none["parameters"]) > 1e-4), "priors that do nothing"
    assert "priors on 3 parameters" in ours["stderr"], ours["stderr"]
    for data_of_one, p in zip(y, ours["parameters"]):
        value = objective(data_of_one)
        x = np.array([np.log10(p[0]), p[1], p[2]])
        scipy = minimize(value, x * 1.02 + 0.001, method="Nelder-Mead",
                         options={"xatol": 1e-11, "fatol": 1e-13, "maxiter": 20000, "maxfev": 20000})
        # what is promised, relative to an objective of the order of 1
        assert value(x) <= scipy.fun + 1e-6 * max(1, abs(scipy.fun)), (value(x), scipy.fun)


def test_parameters_of_the_file_in_another_order(tmp):
    y, order = data(), [2, 0, 1]
    names = {"name": ["b", "k", "A"], "scale": ["lin", "log10", "lin"]}
    tables = {name: [column[j] for j in order] for name, column in IN_FILE.items()}
    ours = h.run(write(tmp / "text.h5", text(tmp / "with.ode", PRIORS), y, source=True, parameters=names))
    file = h.run(write(tmp / "file.h5", text(tmp / "without.ode", {}), y, source=True, parameters=names, tables=tables))
    usual = h.run(write(tmp / "usual.h5", tmp / "with.ode", y, source=True))
    assert ours["names"] == names["name"]
    np.testing.assert_array_equal(ours["parameters"], file["parameters"])
    # one optimum, whose sums were added in another order: a thousandth of the standard errors
    assert np.all(abs(ours["parameters"] - usual["parameters"][:, order]) < 1e-3 * ours["standard_error"])


def test_the_file_wins(tmp):
    y = data()
    model = text(tmp / "m.ode", PRIORS)
    with_none = h.run(write(tmp / "a.h5", model, y, source=True, tables={"prior": ["none"] * 3}))
    plain = h.run(write(tmp / "b.h5", text(tmp / "p.ode", {}), y, source=True))
    np.testing.assert_array_equal(with_none["parameters"], plain["parameters"])
    tables = {"prior": ["none", "normal", "none"], "prior_location": [np.nan, 1.0, np.nan],
              "prior_scale": [np.nan, 1e-4, np.nan]}
    other = h.run(write(tmp / "c.h5", model, y, source=True, tables=tables))
    np.testing.assert_allclose(other["parameters"][:, 1], 1.0, atol=1e-3)  # ten of its standard deviations
    assert "instead of the model's" in h.stiffit("show", tmp / "c.h5").stdout
    assert "none; the model's are switched off" in h.stiffit("show", tmp / "a.h5").stdout


def test_uniform_prior_is_a_bound(tmp):
    model = text(tmp / "m.ode", {"A": " prior uniform(0.5, 1.8)"})
    fits = h.run(write(tmp / "p.h5", model, data(), source=True))
    assert np.all(fits["parameters"][:, 1] == 1.8) and np.all(fits["at_bound"][:, 1] == 1)
    decades = text(tmp / "d.ode", {"k": " prior uniform(-1, log10(0.35)) on optimizer".replace("log10(0.35)", "-0.25")})
    fits = h.run(write(tmp / "q.h5", decades, data(), source=True))
    assert np.all(fits["parameters"][:, 0] <= 10 ** -0.25)


def test_what_cannot_be_honoured_is_refused(tmp):
    model, y = text(tmp / "m.ode", PRIORS), data()
    other_scale = {"name": ["k", "A", "b"], "scale": ["lin"] * 3}
    done = h.stiffit("run", write(tmp / "s.h5", model, y, source=True, parameters=other_scale), code=3)
    assert "the model's prior refers to scale log10" in done.stderr, done.stderr
    # with priors of the file's own it is fine
    tables = {"prior": ["normal", "none", "none"], "prior_location": [0.3, 0, 0], "prior_scale": [0.1, 1, 1]}
    h.run(write(tmp / "t.h5", model, y, source=True, parameters=other_scale, tables=tables))
    done = h.stiffit("run", write(tmp / "n.h5", model, y, sigma=np.nan, source=True), code=3)
    assert "a prior of the model needs the standard deviation of every measurement" in done.stderr, done.stderr
    done = h.stiffit("run", write(tmp / "b.h5", model, y, source=True), "--bootstrap", "10", code=2)
    assert "priors" in done.stderr
    h.run(write(tmp / "free.h5", model, y, source=True, tables={"prior": ["none"] * 3}), "--bootstrap", "39")


def test_faults_of_the_text(tmp):
    for prior, message in [
            ("normal(1)", "a comma and the second number"), ("gauss(1, 2)", "`lognormal(MEAN, SD)`"),
            ("normal(1, 0)", "must be above 0"), ("laplace(1, -1)", "must be above 0"), ("uniform(2, 1)", "hold no value"),
            ("uniform(-5, -4)", "outside its bounds"),
            ("normal(A, 1)", "only numbers and constants"), ("normal(0/0, 1)", "not a finite number"),
            ("normal(1, 1) on log", "`optimizer` or `natural`"), ("normal(inf, 1)", "infinity is allowed only"),
            ("lognormal(0, 1) on optimizer", "a logarithm already"), ("normal(1, 1) prior normal(1, 1)", "appears twice")]:
        path = text(tmp / "m.ode", {"k": f" prior {prior}"})
        done = h.stiffit("model", "show", path, code=3)
        assert message in done.stderr and "m.ode:2:" in done.stderr, (prior, done.stderr)
    # the words of priors stay free
    path = tmp / "free.ode"
    path.write_text("parameter normal = 1, on = 2 prior normal(1, 2), uniform = 1\nobserve y = normal*t + on + uniform\n")
    h.stiffit("model", "show", path)


def test_shown(tmp):
    shown = json.loads(h.stiffit("model", "show", text(tmp / "m.ode", PRIORS), "--json").stdout)
    assert [p["prior"] for p in shown["parameters"]] == [
        {"kind": "normal", "on": "optimizer", "location": np.log10(0.3), "scale": 0.05},
        {"kind": "log-normal", "on": "natural", "location": np.log(2), "scale": 0.05},
        {"kind": "laplace", "on": "natural", "location": 0, "scale": 0.02}]
    page = h.stiffit("model", "show", tmp / "m.ode").stdout
    assert "laplace(0, 0.02)" in page and ", 0.05) on optimizer" in page, page
    assert "priors on 3 parameters" in h.stiffit("model", "check", tmp / "m.ode").stdout


def test_plugins_in_c(tmp):
    tables = ('static const char *const kind[] = {"none", "normal"}, *const on[] = {"natural", "natural"};\n'
              "static const double location[] = {0, 1}, scale[] = {0, 1e-4};")
    fields = (".parameter_prior = kind, .parameter_prior_on = on, .parameter_prior_location = location, "
              ".parameter_prior_scale = scale")

    def fits(name, tables, fields, code=0):
        model = h.compile_plugin(PLUGIN % (tables, fields), tmp / f"{name}.so")
        done = h.stiffit("run", write(tmp / f"{name}.h5", model, data()), "--trust", code=code)
        return h.read_fits(h.result_path(tmp / f"{name}.h5"))["parameters"] if not code else done.stderr
    np.testing.assert_allclose(fits("good", tables, fields)[:, 1], 1.0, atol=1e-3)
    np.testing.assert_array_equal(fits("good", tables, fields), fits("natural", tables, fields.replace(
        ".parameter_prior_on = on, ", "")))
    free = fits("without", "", "")
    assert np.all(free[:, 1] > 1.5)
    # a descriptor that ends before these fields has none of them, whatever lies behind it
    np.testing.assert_array_equal(free, fits("older", tables, fields + ", .struct_size = offsetof(struct stiffit_model, "
                                                                       "parameter_prior)"))
    for name, old, new, message in [
            ("kind", '"normal"', '"gauss"', 'its prior is gauss'), ("null", '"normal"', "NULL", "its prior is NULL"),
            ("on", '{"natural", "natural"}', '{"natural", "log"}', "parameter_prior_on is log"),
            ("scale", "scale[] = {0, 1e-4}", "scale[] = {0, -1}", "scale above 0"),
            ("missing", "scale[] = {0, 1e-4}", "scale[] = {0, NAN}", "parameter_prior_scale, which is NaN"),
            ("uniform", '"normal"', '"uniform"', "parameter_prior_lower, which is NULL")]:
        assert message in fits(name, tables.replace(old, new), fields, code=3), (name, message)


def test_table_of_parameters(tmp):
    model, y = text(tmp / "m.ode", PRIORS), data(n=1)
    (tmp / "m.csv").write_text("time,value,sigma\n" + "".join(f"{t!r},{v!r},0.1\n" for t, v in zip(T.tolist(), y[0].tolist())))

    def run(name, table, *args, code=0):
        (tmp / f"{name}.csv").write_text(table)
        done = h.stiffit("import", tmp / "m.csv", "--model", model, "--parameters", tmp / f"{name}.csv", "-o",
                         tmp / f"{name}.h5", *args, code=code)
        return done.stderr if code else h.run(tmp / f"{name}.h5")
    kept = run("kept", "parameter,start\nk,0.7\n")  # no priors in the table: the model's
    assert "prior" not in h5py.File(tmp / "kept.h5")["parameters"]
    again = h.run(write(tmp / "p.h5", model, y, source=True))["parameters"]
    np.testing.assert_allclose(kept["parameters"], again, rtol=1e-5, atol=1e-5)  # a thousandth of b's standard error
    mixed = run("mixed", "name,start,lower,upper,fixed,prior,prior_location,prior_scale\n"
                         "A,1,0.5,,,normal,1,1e-4\nb,0.02,,,1,,,\n")
    with h5py.File(tmp / "mixed.h5") as f:
        g = f["parameters"]
        assert [w.decode() for w in g["prior"][()]] == ["normal", "normal", "laplace"]  # k's and b's from the model
        assert [w.decode() for w in g["prior_on"][()]] == ["optimizer", "natural", "natural"]
        np.testing.assert_array_equal(g["prior_location"][()], [np.log10(0.3), 1, 0])
        np.testing.assert_array_equal(g["start"][()], [0.5, 1, 0.02])
        np.testing.assert_array_equal(g["lower"][()], [1e-3, 0.5, -np.inf])
        np.testing.assert_array_equal(g["upper"][()], [1e3, 10, np.inf])
        np.testing.assert_array_equal(g["fixed"][()], [0, 0, 1])
    np.testing.assert_allclose(mixed["parameters"][0, 1:], [1, 0.02], atol=1e-3)
    none = run("none", "parameter,prior\nk,none\nA,none\nb,none\n")
    plain = h.run(write(tmp / "q.h5", text(tmp / "plain.ode", {}), y, source=True))
    np.testing.assert_allclose(none["parameters"], plain["parameters"], rtol=1e-5)
    # options win over the table
    run("option", "parameter,start,scale\nk,0.7,log10\n", "--start", "k=0.2")
    assert h5py.File(tmp / "option.h5")["parameters/start"][0] == 0.2
    for table, message in [("parameter,prior\nkk,none\n", "did you mean 'k'?"),
                           ("parameter,prior\nk,gauss\n", "is not one of none"),
                           ("parameter,prior_scale\nk,1\n", "needs a kind"),
                           ("parameter,priors\nk,none\n", "did you mean 'prior'?"),
                           ("parameter,scale\nk,ln\n", "is not one of lin, log, log10"), ("parameter\nk\nk\n", "appears twice"),
                           ("start\n1\n", "parameter"), ("parameter,prior\nk,normal\n", "prior_location row 0"),
                           ("parameter,scale,prior\nk,lin,\n", "the model's prior refers to scale log10")]:
        assert message in run("bad", table, "--overwrite", code=(2, 3)), (table, message)


if __name__ == "__main__":
    h.main()
