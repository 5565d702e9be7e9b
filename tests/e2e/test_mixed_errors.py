"""Observables with error distributions of their own, said by the model, the problem file or import, against SciPy on the closed
form; and all of them alike against the option for the whole run.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv

import h5py
import numpy as np
from scipy import stats
from scipy.optimize import least_squares, minimize, minimize_scalar

import helpers as h

T = np.linspace(0.5, 8.0, 12)
SD = {"A": 0.1, "B": 0.06}  # of the logarithm of A, of B itself
MODEL = """parameter k = 0.5 in [1e-4, 1e4] scale log
parameter A0 = 1 in [1e-4, 1e4] scale log
A(0) = A0
A' = -k*A
B(0) = 0
B' = k*A
observe A {A}
observe B {B}
"""
EXACT = ("--rtol", "1e-10", "--atol", "1e-13", "--ftol", "1e-13", "--gtol", "1e-10")


def text(path, a="", b="", more=""):
    path.write_text(more + MODEL.format(A=a, B=b))
    return path


def truth(p):
    return p[1] * np.exp(-p[0] * T), p[1] * (1 - np.exp(-p[0] * T))


def sample(n=3, seed=5):
    rng = np.random.default_rng(seed)
    a, b = truth((0.4, 2.0))
    return (a * np.exp(SD["A"] * rng.standard_normal((n, len(T)))), b + SD["B"] * rng.standard_normal((n, len(T))))


def write(path, model, y, *, sigma=True, words=None, **keywords):
    a, b = y
    n, m = a.shape
    nan = np.nan
    rows = [(d, T[i], o, (a, b)[o][d, i], SD["AB"[o]] if sigma else nan) for d in range(n) for o in (0, 1) for i in range(m)]
    h.write_problem(path, model, [f"d{d}" for d in range(n)], rows, parameters={"observables": ["A", "B"]}, **keywords)
    if words:
        with h5py.File(path, "a") as f:
            f["measurements"].create_dataset("observable_error", data=list(words), dtype=h5py.string_dtype())
    return path


def kind_of(problem):
    with h5py.File(h.result_path(problem)) as f:
        texts = f["fits/objective"].attrs["kind"], f["provenance"].attrs["objective"]
        return tuple(text.decode() if isinstance(text, bytes) else text for text in texts)


def least(residuals, start=(0.5, 1.5)):
    """SciPy's minimum of half the squares over the logarithms, and the standard errors of the natural parameters, sigma 1."""
    best = least_squares(lambda x: residuals(np.exp(x)), np.log(start), xtol=1e-15, ftol=1e-15, gtol=1e-15)
    p, step = np.exp(best.x), 1e-6
    jacobian = np.column_stack([(residuals(p * (1 + step * e)) - residuals(p * (1 - step * e))) / (2 * step * p[j])
                                for j, e in enumerate(np.eye(2))])
    return p, best.cost, np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))


def test_known_sigma_against_scipy(tmp):
    """Squares of both: objective, parameters, errors, and the criteria by SciPy's densities."""
    y = sample()
    for name, problem in (("model", write(tmp / "model.h5", text(tmp / "m.ode", "lognormal", "normal"), y)),
                          ("file", write(tmp / "file.h5", text(tmp / "p.ode"), y, words=["log-normal", "default"])),
                          ("both", write(tmp / "both.h5", text(tmp / "w.ode", "student", "huber"), y,
                                         words=["log-normal", "normal"]))):
        fits = h.run(problem, *EXACT)
        assert set(fits["status"]) == {"converged"}, (name, fits["status"])
        kind, words = kind_of(problem)
        assert kind == "half_sum_of_squares", kind
        assert words == "half the weighted sum of squares of normal (B) and log-normal (A) errors", words
        for d in range(3):
            a, b = y[0][d], y[1][d]

            def residuals(p, a=a, b=b):
                m = truth(p)
                return np.r_[np.log(m[0] / a) / SD["A"], (m[1] - b) / SD["B"]]
            p, cost, errors = least(residuals)
            assert abs(fits["objective"][d] / cost - 1) < 1e-8, (name, fits["objective"][d], cost)
            # both minima are exact to the root of 1e-13 of the objective, a millionth of a standard error
            np.testing.assert_allclose(fits["parameters"][d], p, rtol=1e-6)
            np.testing.assert_allclose(fits["standard_error"][d], errors, rtol=1e-5)
            r, m = residuals(p), truth(p)
            np.testing.assert_allclose(fits["chi_square"][d], r @ r, rtol=1e-8)
            minus_log = -(stats.lognorm.logpdf(a, SD["A"], scale=m[0]).sum() + stats.norm.logpdf(b, m[1], SD["B"]).sum())
            np.testing.assert_allclose(fits["aic"][d], 2 * minus_log + 4, rtol=1e-8)
            np.testing.assert_allclose(fits["bic"][d], 2 * minus_log + 2 * np.log(24), rtol=1e-8)
            total = [((v - v.mean()) ** 2).sum() / s ** 2 for v, s in ((np.log(a), SD["A"]), (b, SD["B"]))]
            np.testing.assert_allclose(fits["r_squared"][d], 1 - r @ r / sum(total), rtol=1e-8)


def test_estimated_sigma_against_scipy(tmp):
    """One unknown sigma, of logarithms here and of values there: its estimate, errors, and the likelihood's maximum over it."""
    y = sample()
    fits = h.run(write(tmp / "p.h5", text(tmp / "m.ode", "lognormal"), y, sigma=False), *EXACT)
    assert set(fits["status"]) == {"converged"}
    for d in range(3):
        a, b = y[0][d], y[1][d]

        def residuals(p, a=a, b=b):
            m = truth(p)
            return np.r_[np.log(m[0] / a), m[1] - b]
        p, cost, errors = least(residuals)
        scale = np.sqrt(2 * cost / 22)
        np.testing.assert_allclose(fits["residual_error"][d], scale, rtol=1e-8)
        np.testing.assert_allclose(fits["standard_error"][d], scale * errors, rtol=1e-5)
        m = truth(p)
        minus_log = minimize_scalar(lambda s: -(stats.lognorm.logpdf(a, np.exp(s), scale=m[0]).sum()
                                                + stats.norm.logpdf(b, m[1], np.exp(s)).sum()), (-4, 0), tol=1e-12).fun
        np.testing.assert_allclose(fits["aic"][d], 2 * minus_log + 6, rtol=1e-8)


def likelihood(p, y, side, kinds):
    """SciPy's densities; p: k, A0 and the two scales."""
    total = 0
    for kind, v, m, s, c in zip(kinds, y, truth(p), p[2:], side):
        z = (np.log(v / m) if kind == "log-normal" else v - m) / s
        density = {"normal": lambda: stats.norm.logpdf(v, m, s), "log-normal": lambda: stats.lognorm.logpdf(v, s, scale=m),
                   "laplace": lambda: -np.hypot(z, 1e-2) - np.log(2 * s), "student": lambda: stats.t.logpdf(z, 4) - np.log(s)}
        total -= np.where(c == 0, density[kind](), stats.norm.logcdf(c * z)).sum()
    return total


def minimum(objective, start):
    best = minimize(objective, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 9999,
                                                                     "maxfev": 9999})
    return minimize(objective, best.x, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 9999,
                                                                      "maxfev": 9999})


def test_modelled_sigma_and_censoring_against_scipy(tmp):
    """Scales as parameters, by value and by logarithm, with limits of detection in both observables."""
    y = [np.array(v) for v in sample(2)]
    side = [np.where(y[0] < 0.3, 1, 0), np.where(y[1] > 1.8, -1, 0)]
    y = [np.maximum(y[0], 0.3), np.minimum(y[1], 1.8)]
    assert all((s != 0).sum() > 3 for s in side)
    more = "parameter sa = 0.2 in [1e-4, 1e2] scale log\nparameter sb = 0.2 in [1e-4, 1e2] scale log\n"
    problem = write(tmp / "p.h5", text(tmp / "m.ode", "lognormal sd sa", "sd sb", more), y, sigma=False)
    with h5py.File(problem, "a") as f:
        f["measurements/censored"] = np.concatenate([s[d] for d in range(2) for s in side])
    fits = h.run(problem, *EXACT)
    assert set(fits["status"]) == {"converged"} and kind_of(problem)[0] == "negative_log_likelihood"
    order = [fits["names"].index(name) for name in ("k", "A0", "sa", "sb")]
    for d in range(2):
        scipy = minimum(lambda x: likelihood(np.exp(x), [v[d] for v in y], [s[d] for s in side], ("log-normal", "normal")),
                        np.log([0.4, 2, 0.1, 0.1]))
        assert abs(fits["objective"][d] - scipy.fun) < 1e-7, (fits["objective"][d], scipy.fun)
        np.testing.assert_allclose(fits["parameters"][d][order], np.exp(scipy.x), rtol=1e-4)  # the root of 1e-7


def curvature(p, y, kinds):
    """What standard errors come from: slopes of the predictions, weighted with each loss's second derivative, Laplace's
    expected one."""
    step, total = 1e-6, np.zeros((2, 2))
    for o, (kind, v) in enumerate(zip(kinds, y)):
        def prediction(p, o=o, kind=kind):
            return np.log(truth(p)[o]) if kind == "log-normal" else truth(p)[o]
        slopes = np.column_stack([(prediction(p * (1 + step * e)) - prediction(p * (1 - step * e))) / (2 * step * p[j])
                                  for j, e in enumerate(np.eye(2))]) / SD["AB"[o]]
        r = (prediction(p) - v) / SD["AB"[o]]
        weight = 5 * (4 - r * r) / (4 + r * r) ** 2 if kind == "student" else np.ones(len(T))
        total += slopes.T @ (weight[:, None] * slopes)
    return total


def test_losses_of_different_shapes(tmp):
    """Their sum is a likelihood, which weighs one against the other, and needs every sigma."""
    y = sample(2)
    for kinds in (("laplace", "normal"), ("log-normal", "student"), ("student", "laplace")):
        name = "-".join(kinds)
        problem = write(tmp / f"{name}.h5", text(tmp / "p.ode"), y, words=kinds)
        fits = h.run(problem, *EXACT)
        assert set(fits["status"]) == {"converged"}, fits["status"]
        assert kind_of(problem)[0] == "negative_log_likelihood", kind_of(problem)
        none = np.zeros((2, len(T)), int)
        for d in range(2):
            scipy = minimum(lambda x: likelihood([*np.exp(x), SD["A"], SD["B"]], [v[d] for v in y], none, kinds),
                            np.log([0.4, 2]))
            assert abs(fits["objective"][d] - scipy.fun) < 1e-6, (name, fits["objective"][d], scipy.fun)
            errors = np.sqrt(np.diag(np.linalg.inv(curvature(np.exp(scipy.x), [v[d] for v in y], kinds))))
            np.testing.assert_allclose(fits["standard_error"][d], errors, rtol=1e-3)  # the optimum is known to 1e-4
            if "laplace" not in kinds:  # whose kinks are rounded: then it is a likelihood but for 1e-4 a row
                np.testing.assert_allclose(fits["aic"][d], 2 * scipy.fun + 4, rtol=1e-7)
        done = h.stiffit("run", write(tmp / f"{name}-unknown.h5", tmp / "p.ode", y, words=kinds, sigma=False), code=3)
        assert "/measurements/sigma is missing" in done.stderr, done.stderr


def columns(path):
    with h5py.File(path) as f:
        return {name: f["fits"][name][:].tobytes() for name in f["fits"] if name not in ("seconds", "id", "message")}


def test_all_alike_is_the_option(tmp):
    """To the bit, whoever says so: the model's equations are the same."""
    y = sample()
    for word, spelt in (("log-normal", "lognormal"), ("student", "student")):
        problem = write(tmp / f"{word}.h5", text(tmp / "p.ode"), y)
        h.run(problem, "--error", word)
        said = {"file": write(tmp / f"{word}-file.h5", tmp / "p.ode", y, words=[word, word]),
                "model": write(tmp / f"{word}-model.h5", text(tmp / f"{word}.ode", spelt, spelt), y),
                "half": write(tmp / f"{word}-half.h5", tmp / "p.ode", y, words=["default", word], options={"error": word})}
        for name, other in said.items():
            h.run(other)
            assert columns(h.result_path(other)) == columns(h.result_path(problem)), (word, name)
            assert kind_of(other) == kind_of(problem)


def residuals_of(result):
    rows = list(csv.DictReader(h.stiffit("export", result, "--what", "residuals", "--trust").stdout.splitlines()))
    return {name: np.array([row[name] if name in ("dataset", "observable", "censored") else float(row[name]) for row in rows])
            for name in rows[0]}


def test_residuals_and_replicas(tmp):
    """Losses add up to the objective; replicas are log-normal in one observable and normal in the other, and their file says
    so. 3000 draws: a Kolmogorov-Smirnov statistic below 0.036 in 99.9 %."""
    y = sample(1)
    problem = write(tmp / "p.h5", text(tmp / "p.ode", "student"), y, words=["log-normal", "normal"])
    fits = h.run(problem)
    rows = residuals_of(h.result_path(problem))
    is_log, v, m = rows["observable"] == "A", rows["value"], rows["prediction"]
    np.testing.assert_allclose(rows["residual"], np.where(is_log, np.log(v / m), v - m), rtol=1e-9)
    np.testing.assert_allclose(rows["loss"].sum(), fits["objective"][0], rtol=1e-11)
    h.stiffit("simulate", "--bootstrap", "250", "--method", "parametric", h.result_path(problem), "-o", tmp / "b.h5", "--trust")
    with h5py.File(tmp / "b.h5") as f:
        drawn = f["measurements/value"][:].reshape(251, -1)[1:]
        assert [word.decode() for word in f["measurements/observable_error"][:]] == ["log-normal", "normal"]
    z = np.where(is_log, np.log(drawn / m) / SD["A"], (drawn - m) / SD["B"])
    for there in (is_log, ~is_log):
        assert stats.kstest(z[:, there].ravel(), stats.norm.cdf).statistic < 0.036
    again = h.run(tmp / "b.h5", "--only", "d0", "-o", tmp / "again.h5")
    np.testing.assert_allclose(again["objective"][0], fits["objective"][0], rtol=1e-7)


def test_bootstrap_and_profile(tmp):
    """Errors of logarithms as large as 0.6 beside small ones of values: drawn for values they would leave data at or below 0.
    A standard deviation of 400 replicates is off by 3.5 %, and 4 of these is allowed. The objective along a profile rises by
    half the quantile of chi-square, SciPy's along the same line."""
    y = sample(1, seed=9)
    y[0][:] = truth((0.4, 2.0))[0] * (y[0] / truth((0.4, 2.0))[0]) ** 6
    problem = write(tmp / "p.h5", text(tmp / "p.ode", "lognormal"), y)
    with h5py.File(problem, "a") as f:
        sigma = f["measurements/sigma"][:]
        sigma[f["measurements/observable"][:] == 0] = 0.6
        f["measurements/sigma"][...] = sigma
    fits = h.run(problem, "--bootstrap", "400", "--profile", "k", "--rtol", "1e-9")
    assert fits["bootstrap_n"][0] == 400, fits["bootstrap_n"]
    np.testing.assert_allclose(fits["bootstrap_standard_error"][0], fits["standard_error"][0], rtol=0.14)

    def along(k):
        def residuals(x):
            m = truth((k, np.exp(x[0])))
            return np.r_[np.log(m[0] / y[0][0]) / 0.6, (m[1] - y[1][0]) / SD["B"]]
        return least_squares(residuals, [np.log(2)], xtol=1e-15, ftol=1e-15).cost
    for end in ("profile_lower", "profile_upper"):
        k = fits[end][0][fits["names"].index("k")]
        # limits are found to about 1e-3 of the rise
        assert abs(along(k) - fits["objective"][0] - stats.chi2.ppf(0.95, 1) / 2) < 5e-3, (end, k)


def test_bad_input(tmp):
    """What a log-normal observable cannot have makes its dataset bad, with row and name; unknown words end the run."""
    y = [np.array(v) for v in sample()]
    y[0][1, 3], y[1][2, 4] = -0.1, -0.2
    fits = h.run(write(tmp / "p.h5", text(tmp / "p.ode", "lognormal"), y), code=1)
    assert list(fits["status"]) == ["converged", "bad_data", "converged"], fits["status"]
    message = fits["message"][1]
    assert "row 27: value is -0.1" in message and "log-normal errors of A" in message, message
    for words, shown in ((["log_normal", "normal"], ("observable_error row 0 (A)", "log_normal", 'did you mean "log-normal"')),
                         (["log-normal"], ("observable_error: has 1 entries for 2 observables",)),
                         (["normal", ""], ("observable_error row 1 (B)", 'is ""'))):
        done = h.stiffit("run", write(tmp / "bad.h5", tmp / "p.ode", y, words=words), code=3)
        assert all(part in done.stderr for part in shown), done.stderr
    problem = write(tmp / "name.h5", tmp / "p.ode", y)
    with h5py.File(problem, "a") as f:
        f["measurements/observable_errors"] = ["normal", "normal"]
    assert "did you mean /measurements/observable_error?" in h.stiffit("run", problem, code=3).stderr
    problem = write(tmp / "censored.h5", tmp / "p.ode", y, words=["normal", "laplace"])
    with h5py.File(problem, "a") as f:
        f["measurements/censored"] = np.arange(72) == 12  # the first of B
    done = h.stiffit("run", problem, code=3)
    assert "/measurements/censored row 12" in done.stderr and "laplace errors of B" in done.stderr, done.stderr
    problem = write(tmp / "b.h5", tmp / "p.ode", sample(), words=["normal", "laplace"])
    done = h.stiffit("run", problem, "--bootstrap", "50", code=2)
    assert "those of B are laplace" in done.stderr, done.stderr
    for line, shown in (("observe A lognorm", "did you mean `lognormal`"),
                        ("observe A normal sd 1 lognormal", "already given as normal")):
        (tmp / "bad.ode").write_text(MODEL.split("observe")[0] + line + "\n")
        done = h.stiffit("model", "build", tmp / "bad.ode", "-o", tmp / "bad.so", code=3)
        assert shown in done.stderr and "bad.ode:7:" in done.stderr, done.stderr


def test_identity(tmp):
    """Another distribution is another run; words that change nothing are none."""
    y = sample(1)
    problem = write(tmp / "p.h5", text(tmp / "p.ode"), y)
    h.run(problem)
    with h5py.File(problem, "a") as f:
        f["measurements/observable_error"] = ["default", "default"]
    h.stiffit("run", problem)
    with h5py.File(problem, "a") as f:
        del f["measurements/observable_error"]
        f["measurements/observable_error"] = ["default", "huber"]
    h.stiffit("run", problem, code=4)
    h.run(problem, "--overwrite")
    assert "huber-k" in h.stiffit("run", problem, "--huber-k", "2", code=4).stderr


PLUGIN = """#include <stddef.h>
#include <stiffit/model.h>
static const char *const parameters[] = {"A"}, *const observables[] = {"y"}, *const errors[] = {%s};
static const double start[] = {1};
static int observe(const struct stiffit_point *at, double *h) { h[0] = at->p[0] + 0 * at->t; return 0; }
STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    .abi_version = STIFFIT_ABI_VERSION, .struct_size = %s, .name = "constant", .n_parameter = 1, .n_observable = 1,
    .parameter_name = parameters, .observable_name = observables, .parameter_start = start, .observe = observe,
    .observable_error = errors};
"""


def test_plugins(tmp):
    """The geometric mean of log-normal errors. A descriptor from before the field has none, whatever lies behind it."""
    value = np.array([1.0, 2.0, 4.0])
    problem = tmp / "p.h5"
    for words, size, expected in (('"log-normal"', "sizeof stiffit_model", 2.0), ('"default"', "sizeof stiffit_model", 7 / 3),
                                  ('"log-normal"', "offsetof(struct stiffit_model, observable_error)", 7 / 3)):
        plugin = h.compile_plugin(PLUGIN % (words, size), tmp / "m.so")
        h.write_problem(problem, plugin, ["d"], [(0, t, 0, v, 0.1) for t, v in enumerate(value)])
        fits = h.run(problem, "--overwrite")
        np.testing.assert_allclose(fits["parameters"][0, 0], expected, rtol=1e-6)
    plugin = h.compile_plugin(PLUGIN % ('"lognormal"', "sizeof stiffit_model"), tmp / "m.so")
    done = h.stiffit("model", "show", plugin, code=3)
    assert 'observable y: its observable_error is lognormal and must be "normal", "log-normal"' in done.stderr, done.stderr


def test_import_show_and_simulate(tmp):
    """import writes the words, show prints them; synthetic log-normal data scatter in their logarithms."""
    model = text(tmp / "m.ode", "lognormal sd 0.7", "sd 0.2")
    h.stiffit("simulate", "--model", model, "--times", "0.5:8:0.5", "--datasets", "200", "-o", tmp / "s.h5")
    m = h.stiffit("simulate", "--model", model, "--times", "0.5:8:0.5").stdout.splitlines()[1:]
    m = np.array([float(line.split(",")[3]) for line in m])
    is_log = np.array([line.split(",")[2] == "A" for line in h.stiffit(
        "simulate", "--model", model, "--times", "0.5:8:0.5").stdout.splitlines()[1:]])
    with h5py.File(tmp / "s.h5") as f:
        drawn = f["measurements/value"][:].reshape(200, -1)
    for z in (np.log((drawn / m)[:, is_log]) / 0.7, (drawn - m)[:, ~is_log] / 0.2):
        # 3200 draws: below 0.035 in 99.9 %
        assert stats.kstest(z.ravel(), stats.norm.cdf).statistic < 0.035
    table = tmp / "t.csv"
    table.write_text("time,observable,value\n1,A,2\n1,B,1\n2,A,1\n2,B,2\n")
    h.stiffit("import", table, "--model", model, "-o", tmp / "i.h5", "--error", "B=laplace", "--error", "A=default")
    shown = h.summary(h.stiffit("show", tmp / "i.h5", "--json"))
    assert shown["observable_errors"] == ["default", "laplace"], shown
    assert "default laplace" in h.stiffit("show", tmp / "i.h5").stdout
    shown = h.summary(h.stiffit("model", "show", model, "--json"))
    assert [it["error"] for it in shown["observables"]] == ["log-normal", None], shown["observables"]
    for word, part in (("B=cauchy", "'cauchy' is not one of"), ("C=normal", "no observable 'C'")):
        assert part in h.stiffit("import", table, "--model", model, "-o", tmp / "no.h5", "--error", word, code=2).stderr


def test_a_prediction_of_zero_is_named(tmp):
    """What log-normal errors forbid: B is 0 at t = 0 whatever the parameters are, and A is fine."""
    model = text(tmp / "m.ode", a="lognormal sd 0.1", b="lognormal sd 0.1")
    rows = "".join(f"a,{t},A,{1.5 - 0.1 * t}\na,{t},B,{0.1 + 0.2 * t}\n" for t in (2, 0, 1))
    (tmp / "t.csv").write_text("dataset,time,observable,value\n" + rows)
    h.stiffit("import", "t.csv", "--model", model, "-q", cwd=tmp)
    h.stiffit("run", "t.h5", "-q", cwd=tmp, code=1)
    assert h.read_fits(tmp / "t.result.h5")["message"][0].startswith(
        "the prediction of B at t = 0 is 0; with its log-normal errors it must be > 0")


def test_log_normal_with_and_without_hyphen(tmp):
    """In the text, its priors, the file, import and run: the same fits."""
    fits = {}
    y = sample(1)
    prior = "A0 = 1 in [1e-4, 1e4] scale log prior {}(0, 1)"
    for word in ("lognormal", "log-normal"):
        model = text(tmp / f"{word}.ode", a=f"{word} sd 0.1", b="sd 0.06")
        model.write_text(model.read_text().replace("A0 = 1 in [1e-4, 1e4] scale log", prior.format(word)))
        ways = {"text": (h.run(write(tmp / "t.h5", model, y, sigma=False), "--overwrite"), h.read_fits(tmp / "t.result.h5"))[1]}
        plain = text(tmp / "plain.ode")
        h.run(write(tmp / "f.h5", plain, y, words=[word, "default"]), "--overwrite")
        ways["file"] = h.read_fits(tmp / "f.result.h5")
        h.run(write(tmp / "r.h5", text(tmp / "b.ode", b="normal"), y), "--error", word, "--overwrite")
        ways["run"] = h.read_fits(tmp / "r.result.h5")
        rows = "".join(f"{T[i]},{o},{float(y['AB'.index(o)][0, i])!r},{SD[o]}\n" for o in "AB" for i in range(len(T)))
        (tmp / "t.csv").write_text("time,observable,value,sigma\n" + rows)
        h.stiffit("import", "t.csv", "--model", plain, "--error", f"A={word}", "-o", "i.h5", "--overwrite", "-q", cwd=tmp)
        h.run(tmp / "i.h5", "--overwrite")
        ways["import"] = h.read_fits(tmp / "i.result.h5")
        fits[word] = {way: (list(one["parameters"][0]), one["objective"][0]) for way, one in ways.items()}
    assert fits["lognormal"] == fits["log-normal"]
    for way in ("file", "run"):  # the same problem in other words, up to the order of its rows
        np.testing.assert_allclose(fits["lognormal"][way][0], fits["lognormal"]["import"][0], rtol=1e-5)


if __name__ == "__main__":
    h.main()
