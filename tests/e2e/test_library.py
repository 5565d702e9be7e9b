"""libstiffit from C and from Python: the numbers of `stiffit run`, bit for bit. (test_install has
it as it is installed.)

SPDX-License-Identifier: BSD-3-Clause
"""

import ctypes
import os
import shutil
import subprocess
import sys

import h5py
import numpy as np

import helpers as h

h.compile_as_users_do()

EXAMPLES = h.ROOT / "scripts/examples"
MODELS = h.ROOT / "models"
PINENE = MODELS / "alpha-pinene/alpha-pinene.ode", h.ROOT / "data/alpha-pinene.csv"
# SciPy, BDF and LSODA at rtol 1e-8 (models/alpha-pinene/README.md): half of the sum of squares,
# and p.
OPTIMUM = 19.872167 / 2, (5.92585e-05, 2.96340e-05, 2.04728e-05, 2.74468e-04, 3.99795e-05)


def run(*command, **env):
    done = subprocess.run(
        [str(word) for word in command],
        env=h.environment(**env),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done


def need(*tools):
    if h.SANITIZE or h.BUILD.name != "build":
        h.skip("needs the plain build")
    for tool in tools:
        if not shutil.which(tool):
            h.skip(f"no {tool}")


def check_fit(text):
    """What both examples print first: status and objective, then the parameters."""
    first, *lines = text.splitlines()
    status, objective = first.split(", objective ")
    assert status == "converged" and np.isclose(
        float(objective), OPTIMUM[0], rtol=1e-7
    ), text  # the README's digits
    found = [float(line.split(" = ")[1].split(" +- ")[0]) for line in lines[:5]]
    # --ftol 1e-9 of the objective is 1e-4 of a standard error, which is 20 % for the worst one.
    np.testing.assert_allclose(found, OPTIMUM[1], rtol=1e-4)


def test_only_public_names_are_visible(tmp):
    need("nm", "cc")
    header = (h.ROOT / "include/stiffit/stiffit.h").read_text(encoding="utf-8")
    public = {
        word.split("(")[0].strip("* ")
        for line in header.splitlines()
        if line.startswith("STIFFIT_API")
        for word in line.split()
        if word.strip("*").startswith("stiffit_") and "(" in word
    }
    assert len(public) > 20
    for flags, library in (("-D", "libstiffit.so.0"), ("-g", "static/libstiffit.a")):
        lines = run("nm", flags, "--defined-only", h.BUILD / library).stdout.splitlines()
        visible = {line.split()[-1] for line in lines if len(line.split()) == 3}
        # The two of the coroutines are in assembler: global, but hidden.
        assert visible - {"stiffit_switch_stack", "stiffit_enter_stack"} == public, visible ^ public


@h.more
def test_c_program_under_valgrind(tmp):
    need("cc", "valgrind")
    run(
        "cc",
        "-O1",
        "-g",
        EXAMPLES / "fit-alpha-pinene.c",
        "-o",
        tmp / "fit",
        f"-I{h.ROOT}/include",
        f"-L{h.BUILD}",
        "-lstiffit",
        f"-Wl,-rpath,{h.BUILD}",
    )
    run(tmp / "fit", *PINENE)  # compiles the model
    # valgrind knows no AVX-512: the model and the lanes are those of any CPU.
    (tmp / "m.so").unlink(missing_ok=True)
    h.stiffit("model", "build", "--portable", PINENE[0], "-o", tmp / "m.so")
    done = run(
        "valgrind",
        "-q",
        "--error-exitcode=9",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite",
        tmp / "fit",
        tmp / "m.so",
        PINENE[1],
        STIFFIT_LANES_KERNEL="plain",
    )
    check_fit(done.stdout)
    # Errors leave nothing behind, either.
    done = subprocess.run(
        [
            "valgrind",
            "-q",
            "--error-exitcode=9",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
            tmp / "fit",
            tmp / "m.so",
            h.ROOT / "data/hare-lynx.csv",
        ],
        env=h.environment(),
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2 and "is no observable" in done.stderr, (
        done.returncode,
        done.stderr,
    )


def load():
    """The package with the library that was built."""
    need()
    os.environ.update(
        STIFFIT_LIBRARY=str(h.BUILD / "libstiffit.so.0"),
        STIFFIT=str(h.STIFFIT),
        XDG_CACHE_HOME=h.environment()["XDG_CACHE_HOME"],
    )
    sys.path.insert(0, str(h.ROOT / "scripts/python"))
    import stiffit

    return stiffit


def test_python_session(tmp):
    need()
    done = run(
        sys.executable,
        EXAMPLES / "fit-alpha-pinene.py",
        *PINENE,
        PYTHONPATH=h.ROOT / "scripts/python",
        STIFFIT=h.STIFFIT,
    )
    check_fit(done.stdout)
    assert "'y1', 'y2', 'y3', 'y4', 'y5'" in done.stdout


def read_table(path):
    rows = np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
    return {
        name: list(rows[name])
        for name in rows.dtype.names
        if name in ("time", "observable", "value", "sigma")
    }


def result_row(path):
    """The columns of /fits of the first dataset; enumerations as words."""
    with h5py.File(path) as f:
        row = {}
        for name, column in f["fits"].items():
            words = h5py.check_enum_dtype(column.dtype)
            names = {number: word for word, number in (words or {}).items()}
            value = np.asarray(column[0])
            row[name] = np.vectorize(names.get)(value) if words else value
        return row


CASES = (
    ("alpha-pinene", "alpha-pinene", ()),
    ("alpha-pinene", "alpha-pinene", ("--starts=4", "--seed=7")),
    ("alpha-pinene", "alpha-pinene", ("--engine=cvodes", "--error=laplace")),
    ("alpha-pinene", "alpha-pinene", ("--evaluate",)),
    ("hare-lynx", "hare-lynx", ("--optimizer=lbfgs", "--rtol=1e-9")),
)
# Priors of a model, two of them on its scale.
PRIORS = """parameter k = 0.2 in [1e-3, 10] scale log10 prior normal(-0.5, 0.1) on optimizer
parameter A = 1.95 in [0.1, 10] scale log10 prior uniform(0.28, 0.295) on optimizer
parameter b = 0.01 in [-1, 1] prior laplace(0, 0.01), s = 1 prior lognormal(0.1, 0.2)
y(0) = A
y' = -k*y
observe v = s*y + b
"""


def test_same_bits_as_the_command_line(tmp):
    stiffit = load()
    cases = [
        (MODELS / model / f"{model}.ode", h.ROOT / f"data/{data}.csv", words)
        for model, data, words in CASES
    ]
    (tmp / "priors.ode").write_text(PRIORS)
    (tmp / "priors.csv").write_text(
        "dataset,time,observable,value,sigma\n"
        + "".join(f"a,{t},v,{2 * np.exp(-0.3 * t) + 0.1 * np.sin(7 * t)},0.1\n" for t in range(9))
    )
    cases.append((tmp / "priors.ode", tmp / "priors.csv", ()))
    for text, csv, words in cases:
        h.stiffit("import", csv, "--model", text, "-o", tmp / "p.h5", "--overwrite", "-q")
        h.stiffit("run", tmp / "p.h5", "--overwrite", "-q", *words, code=(0, 1))
        options = {word[2:].split("=")[0]: (word.split("=") + [True])[1] for word in words}
        fit = stiffit.Model(text).fit(read_table(csv), **options)
        row = result_row(tmp / "p.result.h5")
        assert fit.success and str(row["status"]) == fit.status
        for name, value in fit.record.items():
            if name in row and name != "seconds":
                assert np.array_equal(
                    np.ravel(value), np.ravel(row[name]), equal_nan=row[name].dtype.kind == "f"
                ), (words, name, value, row[name])
        missing = (
            set(row) - set(fit.record) - {"id", "message"}
        )  # what is known when all starts are done
        assert missing <= {
            "starts_at_optimum",
            "other_optimum_lower",
            "other_optimum_upper",
        }, missing


FAULTY = """parameter k = 0.5 in [1e-3, 1e3] scale log
input u
y(0) = 1
y' = -k*y + u
observe y lognormal
"""


def test_faults_have_the_words_of_a_file(tmp):
    """What is wrong with a dataset is said in the same words of a problem file and of memory."""
    stiffit = load()
    (tmp / "m.ode").write_text(FAULTY)
    model = stiffit.Model(tmp / "m.ode")
    row = {"time": 1.0, "value": 0.6, "sigma": 0.1}
    dose = {"time": 0.0, "amount": 1.0, "target": "y"}
    for change, what, words in (
        ({"sigma": 0.0}, "row", "sigma is 0; it must be > 0 and finite"),
        ({"value": np.inf}, "row", "value is infinite"),
        ({"value": -1.0}, "row", "value is -1; with the log-normal errors of y it must be > 0"),
        ({"time": -2.0}, "row", "time is -2, before t0 = 0"),
        ({"start": -1.0, "lower": -2.0}, "parameter", "start of k is -1; with scale log"),
        ({"start": np.inf}, "parameter", "start of k is inf"),
        ({"upper": -1.0, "lower": -2.0}, "parameter", "upper bound of k is -1; it must be > 0"),
        ({"rate": 2.0, "duration": 1.0}, "dose", "has a rate and a duration; give one of them"),
        ({"rate": 2.0, "amount": -1.0}, "dose", "amount is -1 with rate 2; it must be >= 0"),
        ({"duration": -1.0}, "dose", "duration is -1, but the model has no duration(y)"),
        ({"count": 3}, "dose", "is repeated 3 times, but has no interval above 0"),
        ({"steady": 1}, "dose", "is steady, but has no interval above 0"),
        ({"time": [0.0, 0.0]}, "knot", "time is 0, again 0; times must increase"),
        ({"value": [1.0, np.nan]}, "knot", "value is nan"),
    ):
        rows = {**row, **change} if what == "row" else row
        doses = {**dose, **change} if what == "dose" else dose
        parameter = {"start": 0.5, "lower": 1e-3, "upper": 1e3}
        parameter.update(change if what == "parameter" else {})
        knots = {"time": [0.0, 1.0], "value": [1.0, 2.0], **(change if what == "knot" else {})}
        with h5py.File(tmp / "p.h5", "w") as f:
            f.attrs.update(stiffit_file="problem", format=1)
            f["model/source"] = FAULTY
            f["parameters/name"] = ["k"]
            for name, value in parameter.items():
                f[f"parameters/{name}"] = [[value], [0.5]] if name == "start" else [[value], [3.0]]
            f["datasets/id"] = ["bad", "good"]
            for group, first, second in (
                ("measurements", rows, row),
                ("doses", doses, {**doses, **dose}),
            ):
                f[f"{group}/dataset"] = [0, 1]
                for name in {**first, **second}.keys() - {"target"}:
                    f[f"{group}/{name}"] = [first[name], second[name]]
            f["inputs/dataset"] = [0, 0, 1]
            f["inputs/time"] = [*knots["time"], 0.0]
            f["inputs/value"] = [*knots["value"], 1.0]
        h.stiffit("run", tmp / "p.h5", "--overwrite", "--restart", "-q", code=1)
        said = h.read_fits(tmp / "p.result.h5")["message"][0]
        assert words in said, (words, said)
        try:
            model.fit(
                {name: [value] for name, value in rows.items()},
                parameters={
                    "parameter": ["k"],
                    **{name: [value] for name, value in parameter.items()},
                },
                inputs={"u": (knots["time"], knots["value"])},
                doses={name: [value] for name, value in doses.items()},
            )
            raise AssertionError(f"{words}: nothing was raised")
        except stiffit.StiffitError as error:
            assert words in str(error), (words, error)


def reference(name):
    """The reference trajectory of a model: what was used, times, observables, derivatives of
    states by "state/parameter"."""
    with open(MODELS / name / "reference.csv", encoding="utf-8") as file:
        used = dict(part.strip().split(" = ") for part in file.readline().lstrip("# ").split(","))
        table = np.genfromtxt(file, delimiter=",", names=True, deletechars="")
    names = table.dtype.names
    return (
        {key: float(value) for key, value in used.items()},
        table["t"],
        np.array([table[column] for column in names if column.startswith("observable:")]).T,
        {
            column[len("sensitivity:") :]: table[column]
            for column in names
            if column.startswith("sensitivity:")
        },
    )


def test_derivatives(tmp):
    """Against the models' reference trajectories, which nothing of stiffit made, and against
    central differences."""
    stiffit = load()
    for name in ("alpha-pinene", "robertson", "theophylline", "hare-lynx"):
        model = stiffit.Model(MODELS / name / f"{name}.ode")
        used, times, observables, sensitivities = reference(name)
        p = np.array([used[parameter] for parameter in model.parameters])
        given = {
            "covariates": {covariate: used[covariate] for covariate in model.covariates},
            "t0": used["t0"],
            "rtol": 1e-10,
            "engine": "cvodes",
        }
        values, slopes = model.evaluate(times, p, sensitivities=True, **given)
        largest = np.abs(observables).max(axis=0)
        assert (
            np.abs(values - observables) <= 1e-7 * largest
        ).all(), name  # 1e-10 a step, some thousand steps
        n_compared = 0
        for k, observable in enumerate(model.observables):
            for j, parameter in enumerate(model.parameters):
                expected = sensitivities.get(
                    f"{observable}/{parameter}"
                )  # where the observable is a state
                if expected is not None:
                    scale = np.abs(expected).max() + 1e-9 * largest[k] / abs(p[j])
                    assert (np.abs(slopes[:, k, j] - expected) <= 1e-6 * scale).all(), (
                        name,
                        observable,
                        parameter,
                    )
                    n_compared += 1
        assert n_compared > 0 or name == "theophylline"
        for j, size in enumerate(
            np.abs(p)
        ):  # a step of 1e-4: 1e-8 of the third derivative, and errors of 1e-8 over 1e-4
            step = np.zeros(len(p))
            step[j] = 1e-4 * size
            by_differences = (
                model.evaluate(times, p + step, **given) - model.evaluate(times, p - step, **given)
            ) / (2 * step[j])
            scale = np.abs(slopes[:, :, j]).max(axis=0) + 1e-3 * largest / size
            assert (np.abs(by_differences - slopes[:, :, j]) <= 1e-3 * scale).all(), (
                name,
                model.parameters[j],
            )


def test_errors_in_python(tmp):
    stiffit = load()
    model = stiffit.Model("parameter k = 0.5\ny(0) = 1\ny' = -k*y\nobserve y\n")
    good = {"time": [1, 2, 3], "value": [0.6, 0.4, 0.2]}
    for call, error, word in (
        (lambda: stiffit.Model("/no/such.ode"), stiffit.StiffitError, "/no/such.ode"),
        (lambda: stiffit.Model("y' = -y\n"), stiffit.StiffitError, "initial value"),
        (lambda: model.fit({"time": [1, 2], "value": [1]}), ValueError, "length"),
        (lambda: model.fit({**good, "sgima": [1, 1, 1]}), ValueError, "sgima"),
        (lambda: model.fit({**good, "dataset": ["a", "a", "b"]}), ValueError, "several datasets"),
        (lambda: model.fit({**good, "sigma": [1, 0, 1]}), stiffit.StiffitError, "sigma is 0"),
        (lambda: model.fit(good, rtoll=1e-8), stiffit.StiffitError, "rtol"),
        (lambda: model.fit(good, parameters={"parameter": ["q"], "start": [1]}), ValueError, "'q'"),
        (lambda: model.evaluate([1], [1, 2]), ValueError, "2 numbers"),
        (lambda: model.evaluate([[1]]), ValueError, "shape"),
        (lambda: model.evaluate([-1]), stiffit.StiffitError, "before t0"),
    ):
        try:
            call()
        except error as caught:
            assert word in str(caught), (word, caught)
        else:
            raise AssertionError(f"{word}: nothing was raised")
    fit = model.fit(good, parameters={"parameter": ["k"], "start": [0.4], "fixed": [1]})
    assert fit.parameters == {"k": 0.4} and fit.record["error_missing"].tolist() == ["fixed"]


def test_problem_file_through_the_library(tmp):
    """The library's fits of a file's datasets are the run's rows."""
    need("cc")
    t = np.linspace(0.5, 6, 8)
    rows = [(d, x, 0, (1 + d) * np.exp(-0.2 * (1 + d) * x), 0.01) for d in range(5) for x in t]
    rows[-3] = (4, 5.0, 0, np.inf, 0.01)  # bad data
    h.write_problem(tmp / "p.h5", None, "abcde", rows)
    source = tmp / "f.c"
    source.write_text(r"""
#include <stdio.h>
#include <stiffit/stiffit.h>
int main(int argc, char **argv)
{
    struct stiffit_error error;
    struct stiffit_problem *problem;
    if (stiffit_problem_open(&problem, argv[1], argv[2], &error))
        return puts(error.message), 1;
    if (argc > 3 && stiffit_set_option(problem, "rtol", argv[3], &error))
        return puts(error.message), 1;
    static const unsigned char order[] = {3, 0, 4, 1, 2}; /* forward and back */
    for (size_t i = 0; i < stiffit_problem_n_dataset(problem); i++) {
        struct stiffit_record *record;
        double time = 2, y = 0;
        size_t d = order[i];
        if (stiffit_fit(problem, d, &record, &error))
            return puts(error.message), 1;
        double p[] = {stiffit_record_number(record, "parameters", 0),
                      stiffit_record_number(record, "parameters", 1)};
        int code = p[0] > 0 ? stiffit_evaluate(problem, d, 0, 1, &time, p, &y, NULL, &error) : 0;
        printf("%zu %s ", d, stiffit_record_word(record, "status", 0));
        printf("%a %a %d %.9g\n", p[0], p[1], code, y);
        stiffit_record_free(record);
    }
    stiffit_problem_free(problem);
    return 0;
}
""")
    run(
        "cc",
        "-O1",
        source,
        "-o",
        tmp / "f",
        f"-I{h.ROOT}/include",
        f"-L{h.BUILD}",
        "-lstiffit",
        f"-Wl,-rpath,{h.BUILD}",
    )
    text = MODELS / "decay/decay.ode"
    for options in ((), ("1e-9",)):
        h.stiffit(
            "run",
            tmp / "p.h5",
            "--model",
            text,
            "-q",
            "--overwrite",
            *[f"--rtol={word}" for word in options],
            code=1,
        )
        with h5py.File(tmp / "p.result.h5") as f:
            expected = f["fits/parameters"][:]
        lines = run(tmp / "f", tmp / "p.h5", text, *options).stdout.splitlines()
        assert [line.split()[0] for line in lines] == list("30412")
        for line in lines:
            d, status, k, a, code, y = line.split()
            assert status == ("bad_data" if d == "4" else "converged") and code == "0", line
            np.testing.assert_array_equal([float.fromhex(k), float.fromhex(a)], expected[int(d)])
            if d != "4":  # the closed form, at the integrator's accuracy
                assert np.isclose(
                    float(y), float.fromhex(a) * np.exp(-float.fromhex(k) * 2), rtol=1e-6
                )
    (tmp / "bad.h5").write_bytes(b"not HDF5")
    for words, word in (
        ((tmp / "bad.h5",), "bad.h5"),
        ((tmp / "p.h5", tmp / "none.ode"), "none.ode"),
    ):
        done = subprocess.run(
            [tmp / "f", *words], env=h.environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 1 and word in done.stdout and not done.stderr, done


def evaluate_file(stiffit, problem, dataset, experiment, times, p, n_observable):
    """Predictions and sensitivities of an experiment of a problem file, through the functions themselves."""
    times, p = np.ascontiguousarray(times, float), np.ascontiguousarray(p, float)
    values, slopes = np.empty((len(times), n_observable)), np.empty(
        (len(times), n_observable, len(p))
    )
    size = ctypes.c_size_t
    stiffit.memory._call(
        "stiffit_evaluate",
        problem.pointer,
        size(dataset),
        size(experiment),
        size(len(times)),
        *[ctypes.c_void_p(array.ctypes.data) for array in (times, p, values, slopes)],
    )
    return values, slopes


def test_experiments_of_a_file(tmp):
    """Experiments that begin at the steady state of another, against SciPy (test_steady)."""
    import test_steady as steady

    stiffit = load()
    path = str(steady.write(tmp / "p.h5")).encode()
    problem = stiffit.memory._Handle(
        "stiffit_problem_free", lambda to: stiffit.memory._call("stiffit_problem_open", to, path, None)
    )
    truth, times = steady.TRUTH, steady.TIMES[::-1]
    h_rel = 1e-5
    source = "void fill(void) { volatile char b[100000]; for (int i = 0; i < 100000; i++) b[i] = -2; }\n"
    fill_stack = ctypes.CDLL(str(h.compile_plugin(source, tmp / "fill.so"))).fill
    for experiment in (1, 2):
        fill_stack()  # what the library has not set is not 0 by luck
        values, slopes = evaluate_file(stiffit, problem, 2, experiment, times, truth, 2)
        expected = steady.exact(truth)[experiment - 1].T[::-1]
        np.testing.assert_allclose(values, expected, rtol=1e-5)  # rtol 1e-7 a step
        for j, size in enumerate(truth):
            step = np.zeros(3)
            step[j] = h_rel * size
            up, down = (steady.exact(truth + x)[experiment - 1].T[::-1] for x in (step, -step))
            # SciPy's 1e-11 over the step of 1e-5
            np.testing.assert_allclose(
                slopes[:, :, j],
                (up - down) / (2 * step[j]),
                rtol=1e-4,
                atol=1e-4 * expected.max() / size,
            )
    values, _ = evaluate_file(stiffit, problem, 0, 0, [np.inf], truth, 2)  # at rest: s/k, s/0.1
    np.testing.assert_allclose(values, [[3, 30]], rtol=1e-5)
    for dataset, experiment, word in ((3, 0, "dataset 3"), (0, 3, "experiment 3")):
        try:
            evaluate_file(stiffit, problem, dataset, experiment, times, truth, 2)
            raise AssertionError("it was evaluated")
        except stiffit.StiffitError as error:
            assert word in str(error), error


if __name__ == "__main__":
    h.main()
