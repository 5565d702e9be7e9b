"""The options of fits with random parameters: what they mean together, and what is refused.

SPDX-License-Identifier: BSD-3-Clause
"""
import re

import h5py
import numpy as np

import helpers as h
import mixed as problems
from test_shared import write

MODEL = """parameter k = 0.3 in [1e-3, 1e2] scale log
parameter V = 2 in [1e-3, 1e3] scale log
parameter A = 1 in [-10, 10]
parameter s = 0.1 in [1e-3, 10] scale log
observe y = V*exp(-k*t) + A sd s
"""
NAMES = ["k", "V", "A", "s"]
BRIEF = ("--max-evaluations", 3)  # what a run finds is not looked at here
T = np.array([0.25, 0.5, 1, 2, 4, 6, 9, 12.0])


def problem(path, n=4, **parameters):
    rng = np.random.default_rng(1)
    k, v = np.exp(rng.normal(np.log(0.3), 0.2, n)), np.exp(rng.normal(np.log(2), 0.2, n))
    y = v[:, None] * np.exp(-k[:, None] * T) + 1 + 0.1 * rng.standard_normal((n, len(T)))
    return write(path, MODEL, y, **parameters)


def described(path, model, *words, code=(0, 1)):
    """The part of the run's identity that says what is shared and random, as a dict."""
    h.stiffit("run", path, "--model", model, "--overwrite", *BRIEF, *words, code=code)
    with h5py.File(h.result_path(path)) as f:
        text = f["provenance"].attrs["identity_description"].decode()
        shared = [name.decode() for name in f["shared/name"][()]] if "shared" in f else []
    words = dict(word.split("=", 1) for word in text.split())
    return {name: words[name] for name in ("share", "random", "random-covariance", "likelihood",
                                           "likelihood-error", "leave-out-failed") if name in words} | {"shared": shared}


def test_identity(tmp):
    path, model = problem(tmp / "a.h5")
    assert described(path, model, "--random", "V,k", "--share", "s,A") == {
        "share": "A,s", "random": "k,V", "shared": ["A", "s"]}
    assert described(path, model, "--random", "all") == {"random": "k,V,A,s", "shared": []}
    # `all` is all that the other option does not name
    assert described(path, model, "--random", "k,V", "--share", "all") == {
        "share": "A,s", "random": "k,V", "shared": ["A", "s"]}
    assert described(path, model, "--random", "all", "--share", "s", "--likelihood", "laplace") == {
        "share": "s", "random": "k,V,A", "likelihood": "laplace", "shared": ["s"]}
    assert described(path, model, "--random", "all", "--share", "s", "--likelihood-error", 0.5) == {
        "share": "s", "random": "k,V,A", "likelihood-error": "0.5", "shared": ["s"]}


def by_grid(y, t, estimate):
    """-2 log L of y = V exp(-k t), standard deviation 0.05, with log k and log V random: sums over a grid of standard normal
    deviates. `estimate`: means, deviations, correlation."""
    mean_k, mean_v, sd_k, sd_v, r = estimate
    u = np.linspace(-6, 6, 301)
    a, b = (each.ravel() for each in np.meshgrid(u, u))
    k, v = np.exp(mean_k + sd_k * a), np.exp(mean_v + sd_v * (r * a + np.sqrt(1 - r * r) * b))
    f = v[:, None] * np.exp(-k[:, None] * t)
    prior = -0.5 * (a * a + b * b) - np.log(2 * np.pi) + 2 * np.log(u[1] - u[0])
    constant = -len(t) * np.log(0.05 * np.sqrt(2 * np.pi))
    return -2 * sum(np.logaddexp.reduce(prior + constant - 0.5 * np.sum((each - f) ** 2, 1) / 0.05 ** 2) for each in y)


def test_likelihood_error(tmp):
    """Two samples a subject leave much to the integrals. -2 log L is off by no more than what is asked for, by a grid at the
    estimates; and what is asked for costs."""
    rng, t, n = np.random.default_rng(6), np.array([1.0, 4.0]), 150
    k, v = np.exp(rng.normal(np.log(0.3), 0.6, n)), np.exp(rng.normal(0, 0.4, n))
    y = v[:, None] * np.exp(-k[:, None] * t) + 0.05 * rng.standard_normal((n, 2))
    rows = [(d, time, 0, y[d, i], 0.05) for d in range(n) for i, time in enumerate(t)]
    text = "parameter k = 0.3 scale log\nparameter V = 1 scale log\nobserve y = V*exp(-k*t)\n"
    path = problems.write(tmp / "p.h5", text, rows)
    evaluations = []
    for error in (0.5, 0.1, 0.01):
        found = problems.run(path, "--random", "k,V", "--likelihood-error", error, "--overwrite")
        sd = np.sqrt(np.diag(found["covariance"]))
        exact = by_grid(y, t, [*found["mean"], *sd, found["covariance"][0, 1] / sd.prod()])
        said = found["minus_2_log_likelihood_error"]
        assert abs(found["minus_2_log_likelihood"] - exact) < said + 1e-4 and said < 1.2 * error, (
            error, said, found["minus_2_log_likelihood"], exact, found["mean"])
        evaluations.append(np.sum(found["fits"]["evaluations"]))
    assert evaluations[0] < evaluations[1] <= evaluations[2], evaluations


def test_covariance_is_canonical(tmp):
    path, model = problem(tmp / "a.h5")
    for given, kept in (("full", None), ("diagonal", "diagonal"), ("A.V.k", None),
                        ("V.k", "k.V"), ("A,V.k", "k.V"), ("A,V,k", "diagonal"), ("A.k,V", "k.A")):
        found = described(path, model, "--random", "k,V,A", "--share", "s", "--random-covariance",
                          given)
        assert found.get("random-covariance") == kept, (given, found)


def test_levels_of_the_file(tmp):
    path, model = problem(tmp / "a.h5", name=NAMES, start=[0.3, 2, 1, 0.1],
                          level=["random", "random", "shared", "shared"])
    plain = {"share": "A,s", "random": "k,V", "shared": ["A", "s"]}
    assert described(path, model) == plain
    # each option replaces its own kind of level; a name on the command line wins over the file
    assert described(path, model, "--share", "k,A,s") == {
        "share": "k,A,s", "random": "V", "shared": ["k", "A", "s"]}
    assert described(path, model, "--random", "k,V,A") == {
        "share": "s", "random": "k,V,A", "shared": ["s"]}
    assert described(path, model, "--share", "all") == {"share": "k,V,A,s", "shared": NAMES}
    done = h.stiffit("run", path, "--model", model, "--overwrite", "--random", "V", code=2)
    assert "'k' is neither random nor shared" in done.stderr, done.stderr
    # that failed datasets are left out is implied, and no other run
    assert described(path, model, "--leave-out-failed") == plain
    assert "already complete" in h.stiffit("run", path, "--model", model, *BRIEF,
                                           code=(0, 1)).stderr


def test_levels_of_a_table(tmp):
    """import --parameters has a column for them."""
    (tmp / "m.ode").write_text(MODEL)
    (tmp / "y.csv").write_text("dataset,time,value\n" + "".join(
        f"{d},{t},{(1 + d / 10) * 2 * np.exp(-0.3 * t) + 1 + 0.05 * np.cos(9 * t + d)}\n"
        for d in range(4) for t in T))
    (tmp / "p.csv").write_text("parameter,level,start\nk,random,\nV,random,\nA,shared,\ns,shared,0.2\n")
    h.stiffit("import", tmp / "y.csv", "--model", tmp / "m.ode", "-p", tmp / "p.csv", "-o",
              tmp / "a.h5")
    shown = h.stiffit("show", tmp / "a.h5").stdout
    assert re.search(r"^levels +4: random random shared shared$", shown, re.M), shown
    assert described(tmp / "a.h5", tmp / "m.ode")["random"] == "k,V"
    (tmp / "p.csv").write_text("parameter,level\nk,randm\n")
    done = h.stiffit("import", tmp / "y.csv", "--model", tmp / "m.ode", "-p", tmp / "p.csv", "-o",
                     tmp / "b.h5", code=3)
    assert '"randm" is not a level' in done.stderr, done.stderr


def test_levels_in_options_of_the_file(tmp):
    path, model = problem(tmp / "a.h5")
    with h5py.File(path, "a") as f:
        options = f.create_group("options")
        options.attrs["random"] = "k,V"
        options.attrs["share"] = "A,s"
        options.attrs["random-covariance"] = "diagonal"
    assert described(path, model) == {"share": "A,s", "random": "k,V",
                                      "random-covariance": "diagonal", "shared": ["A", "s"]}


def test_refused(tmp):
    path, model = problem(tmp / "a.h5")
    base = ("--random", "k,V", "--share", "A,s")
    for words, text in (
            (("--random", "k,W", "--share", "A,s"), "there is no parameter 'W'"),
            (("--random", "", "--share", "A,s"), "a name is empty"),
            (("--random", "k@experiment", "--share", "V,A,s"), "name it without @experiment"),
            (("--random", "k,V,A", "--share", "A,s"), "'A' is both shared (--share) and random"),
            (("--random", "k,V", "--share", "s"), "'A' is neither random nor shared"),
            (base + ("--random-covariance", "k.A"), "'A' is not a random parameter"),
            (base + ("--random-covariance", "k.k"), "'k' appears twice"),
            (base + ("--random-covariance", "k."), "'' is not a random parameter"),
            (base + ("--random-covariance", ""), "'' is not a random parameter"),
            (base + ("--optimizer", "lbfgs"), "--optimizer lbfgs: not with random parameters"),
            (base + ("--warm-start", "pilot"), "--warm-start pilot: not with random parameters"),
            (base + ("--evaluate",), "give --random-deviation k=NUMBER"),
            (base + ("--gradient", "adjoint"), "--gradient adjoint: not with random parameters"),
            (base + ("--shard", "1/2"), "not with random parameters (--random, /parameters/level), which make one fit of "
             "many datasets; `stiffit submit --ranks`"),
            (base + ("--only", "d1"), "make a problem of these datasets alone"),
            (base + ("--retry-failed",), "run it anew (--overwrite)"),
            (base + ("--random-covariance", "k@experiment.V"), "correlations of it are not possible yet"),
            (base + ("--likelihood", "foce"), "--likelihood"),
            (base + ("--likelihood-error", "0"), "--likelihood-error"),
            (("--likelihood", "laplace"), "--likelihood: no parameter is random"),
            (("--likelihood-error", "0.2"), "--likelihood-error: no parameter is random"),
            (("--random-covariance", "diagonal"), "--random-covariance: no parameter is random")):
        done = h.stiffit("run", path, "--model", model, *words, code=2)
        assert text in done.stderr, (words, done.stderr)
        assert not h.result_path(path).exists()


def test_refused_parameters(tmp):
    words = ("--random", "k,V", "--share", "A,s")
    n = 4
    start = np.tile([0.3, 2, 1, 0.1], (n, 1))
    some = np.zeros((n, 4), int)
    some[1, 1] = 1
    path, model = problem(tmp / "some.h5", n, name=NAMES, start=start, fixed=some)
    done = h.stiffit("run", path, "--model", model, *words, code=2)
    assert "'V' is fixed in some datasets" in done.stderr, done.stderr
    # a parameter that is fixed needs no level
    path, model = problem(tmp / "fixed.h5", n, name=NAMES, start=start[0], fixed=[0, 0, 1, 0])
    assert described(path, model, "--random", "k,V", "--share", "s")["random"] == "k,V"
    assert described(path, model, "--random", "all", "--share", "s")["random"] == "k,V"
    path, model = problem(tmp / "one.h5", 1)
    assert "the problem has one dataset" in h.stiffit("run", path, "--model", model, *words,
                                                      code=2).stderr


def test_groups_are_refused(tmp):
    path, model = problem(tmp / "a.h5")
    with h5py.File(path, "a") as f:
        f["datasets"].create_dataset("covariate_names", data=["g"], dtype=h5py.string_dtype())
        f["datasets/covariates"] = np.array([[0.0], [0], [1], [1]])
    done = h.stiffit("run", path, "--model", model, "--random", "k,V", "--share", "A,s@g", code=2)
    assert "'s' is shared by groups" in done.stderr, done.stderr


if __name__ == "__main__":
    h.main()
