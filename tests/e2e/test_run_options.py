"""What `stiffit run` promises about its options, its files and the parameters' starts, bounds, scales.

SPDX-License-Identifier: BSD-3-Clause
"""
import hashlib
import os
import re
import shutil
import subprocess

import h5py
import numpy as np

import helpers as h
import oracles as o
from test_robertson import robertson_problem


def test_help_and_version(tmp):
    for args in (["--help"], ["run", "--help"], ["help"], ["help", "run"], ["import", "--help"], ["export", "--help"],
                 ["simulate", "--help"], ["show", "--help"], ["model", "--help"], ["--version"]):
        done = h.stiffit(*args, code=0)
        assert done.stdout and not done.stderr, (args, done.stderr)
    assert "SUNDIALS" in h.stiffit("--version").stdout


def test_already_complete_overwrite_and_refusal(tmp):
    h.decay_problem(tmp / "p.h5", 20)
    h.run(tmp / "p.h5")
    first = h.result_path(tmp / "p.h5").read_bytes()
    again = h.stiffit("run", tmp / "p.h5", "--trust", code=0)
    assert "already complete" in again.stderr, again.stderr
    other = h.stiffit("run", tmp / "p.h5", "--trust", "--seed", "5", "--starts", "2", code=4)
    assert "--overwrite" in other.stderr, other.stderr
    assert h.result_path(tmp / "p.h5").read_bytes() == first, "untouched until --overwrite"
    h.stiffit("run", tmp / "p.h5", "--trust", "--seed", "5", "--overwrite", code=0)
    assert h.result_path(tmp / "p.h5").read_bytes() != first


def test_complete_result_becomes_newer_than_its_problem(tmp):
    """So that make does not ask for it again and again."""
    h.decay_problem(tmp / "p.h5", 20)
    h.run(tmp / "p.h5")
    result = h.result_path(tmp / "p.h5")
    first = result.read_bytes()
    for path in (result, tmp / "p.h5"):
        os.utime(path, (1e9, 1e9 if path == result else 1e9 + 9))
    h.stiffit("run", tmp / "p.h5", "--trust", "--seed", "5", "--starts", "2", code=4)
    assert result.stat().st_mtime == 1e9, "refused: left alone"
    h.stiffit("run", tmp / "p.h5", "--trust", code=0)
    assert result.stat().st_mtime > 1e9 + 9 and result.read_bytes() == first


def test_makefile_of_the_manual(tmp):
    manual = (h.ROOT / "man/stiffit-results.7").read_text(encoding="utf-8")
    rules = re.search(r"^\.Ss Makefiles.*?^\.Bd.*?\n(.*?)^\.Ed", manual, re.M | re.S).group(1).replace("\\e", "\\")
    (tmp / "Makefile").write_text(rules, encoding="utf-8")
    shutil.copy(h.ROOT / "data/alpha-pinene.csv", tmp / "pinene.csv")
    shutil.copy(h.ROOT / "models/alpha-pinene/alpha-pinene.ode", tmp / "model.ode")
    (tmp / "bin").mkdir()
    (tmp / "bin/stiffit").symlink_to(h.STIFFIT)
    env = h.environment(PATH=f"{tmp}/bin:{os.environ['PATH']}")

    def make():
        done = subprocess.run(["make", "pinene.fits.csv"], cwd=tmp, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
    words = make()
    assert all(f"stiffit {command} " in words for command in ("import", "run", "export")), words
    assert "converged" in (tmp / "pinene.fits.csv").read_text(encoding="utf-8")
    assert "up to date" in make()
    for path in tmp.glob("pinene.*"):  # clocks of file systems tick slowly
        os.utime(path, (path.stat().st_atime - 9, path.stat().st_mtime - 9))
    os.utime(tmp / "pinene.csv")
    words = make()
    assert "stiffit run" in words, words
    assert "up to date" in make()


def test_failed_rows_keep_their_exit_code(tmp):
    h.decay_problem(tmp / "p.h5", 10)
    with h5py.File(tmp / "p.h5", "r+") as f:
        f["measurements/time"][0] = np.nan
    h.run(tmp / "p.h5", code=1)
    h.stiffit("run", tmp / "p.h5", "--trust", code=1)  # already complete, with that result's exit code
    h.stiffit("run", tmp / "p.h5", "--trust", "--overwrite", "--accept-failed", "1", code=0)
    h.stiffit("run", tmp / "p.h5", "--trust", "--overwrite", "--accept-failed", "10%", code=0)
    h.stiffit("run", tmp / "p.h5", "--trust", "--overwrite", "--accept-failed", "9%", code=1)


def test_in_place(tmp):
    h.decay_problem(tmp / "p.h5", 20)
    shutil.copy(tmp / "p.h5", tmp / "q.h5")
    beside = h.run(tmp / "p.h5")
    within = h.run(tmp / "q.h5", "--in-place")
    np.testing.assert_array_equal(beside["parameters"], within["parameters"])
    with h5py.File(tmp / "q.h5") as f:
        assert f.attrs["stiffit_file"] in ("problem", b"problem")
        assert "measurements/time" in f and "fits/parameters" in f
    again = h.stiffit("run", tmp / "q.h5", "--trust", "--in-place", code=0)
    assert "already complete" in again.stderr, again.stderr


def test_columns_and_attributes(tmp):
    h.decay_problem(tmp / "p.h5", 20)
    h.run(tmp / "p.h5")
    with h5py.File(h.result_path(tmp / "p.h5")) as f:
        for column in ("id", "parameters", "objective", "status", "at_bound", "gradient_norm", "iterations",
                       "evaluations", "steps", "seconds", "message"):
            assert f["fits"][column].shape[0] == 20, column
        assert f["fits/objective"].attrs["kind"] in ("half_sum_of_squares", b"half_sum_of_squares")
        assert h5py.check_enum_dtype(f["fits/status"].dtype)["converged"] == 1
        assert "provenance" in f
        assert list(f["fits/id"].asstr()[:3]) == ["d0", "d1", "d2"]


def test_starts_per_dataset_and_fixed(tmp):
    n = 12
    rng = np.random.default_rng(3)
    names = ["A", "k"]  # not the model's order: the file's counts
    start = np.column_stack([rng.uniform(1, 3, n), rng.uniform(0.1, 0.9, n)])
    fixed = np.zeros((n, 2), int)
    fixed[::2, 0] = 1
    h.decay_problem(tmp / "p.h5", n, known_sigma=True, parameters={"name": names, "start": start, "fixed": fixed})
    fits = h.run(tmp / "p.h5")
    assert fits["names"] == names
    np.testing.assert_array_equal(fits["parameters"][::2, 0], start[::2, 0])  # fixed: to the bit
    assert np.all(fits["parameters"][1::2, 0] != start[1::2, 0])
    with h5py.File(tmp / "p.h5") as f:
        t = f["measurements/time"][:8]
        y = f["measurements/value"][()].reshape(n, 8)
        sigma = f["measurements/sigma"][()].reshape(n, 8)
    for i in range(0, n, 2):  # one free parameter left: an oracle of its own
        k = o.fit_log(lambda p, i=i: (start[i, 0] * np.exp(-p[0] * t) - y[i]) / sigma[i],
                      [0.3])[0]
        assert abs(fits["parameters"][i, 1] / k - 1) < 1e-4, (i, fits["parameters"][i], k)


def test_lower_start_outside_the_bounds_is_moved_and_noted(tmp):
    h.decay_problem(tmp / "p.h5", 4, parameters={"name": ["k", "A"], "start": [50.0, 2.0], "lower": [1e-3, 0.1],
                                                 "upper": [5.0, 50.0], "scale": ["log", "log"]})
    fits = h.run(tmp / "p.h5")
    assert set(fits["status"]) == {"converged"}
    assert np.all(fits["notes"] & 32), fits["notes"]  # start_moved
    assert np.all(fits["parameters"][:, 0] < 5.0)


@h.more
def test_one_rule_for_starts_outside_the_bounds(tmp):
    """In text, in a plugin, in a file for all datasets or for each: moved onto the bound and noted, also 0 on a log scale;
    where no bound is above 0, that is an error. The oracle is the start on the bound itself, to the bit."""
    text = "parameter k = {} in [{}, 5] scale log\nparameter A = 2\ny(0) = A\ny' = -k*y\nobserve y\n"
    plugin = """#include <stiffit/model.h>
#include "zoo.h"
static const double starts[] = {%s, 2}, lower[] = {%s, -INFINITY}, upper[] = {5, INFINITY};
static const char *const scales[] = {"log", "lin"};
STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("own"), .parameter_start = starts,
    .parameter_lower = lower, .parameter_upper = upper, .parameter_scale = scales};
"""

    def fits(where, start, lower, code=0):
        own = (start, lower) if where in ("text", "plugin") else (1, 0.5)  # the model's
        model = tmp / f"{where}.ode"
        model.write_text(text.format(*own))
        if where == "plugin":
            include = f"#include \"{h.ROOT}/tests/zoo/zoo.h\"\n"
            model = h.compile_plugin(plugin.replace('#include "zoo.h"\n', include) % own, tmp / "own.so", "-O1")
        parameters = {"name": ["k", "A"]}
        if where in ("file", "each"):
            starts = np.array([start, 2.0])
            parameters.update(start=starts if where == "file" else np.tile(starts, (3, 1)), lower=[lower, -np.inf])
        h.decay_problem(tmp / "p.h5", 3, known_sigma=True, parameters=parameters)
        if code:
            return h.stiffit("run", tmp / "p.h5", "--model", model, "--overwrite", code=(code, 1))
        return h.run(tmp / "p.h5", "--model", model, "--overwrite")

    for start, bound in ((50, 5), (0, 0.2)):
        for where in ("text", "plugin", "file", "each"):
            moved, there = fits(where, start, 0.2), fits(where, bound, 0.2)
            assert np.all(moved["notes"] & 32) and not np.any(there["notes"] & 32), (where, start, moved["notes"])
            assert moved["parameters"].tobytes() == there["parameters"].tobytes(), (where, start)
    for where in ("text", "plugin", "file"):
        assert "0" in fits(where, 0, 0, code=3).stderr and not fits(where, 0, 0, code=3).returncode == 1, where
    fits("each", 0, 0, code=1)
    assert set(h.read_fits(tmp / "p.result.h5")["status"]) == {"bad_data"}


def test_starts_of_unbounded_parameters_are_said(tmp):
    h.decay_problem(tmp / "p.h5", 2, parameters={"name": ["k", "A"], "lower": [1e-3, 0.1], "upper": [5.0, np.inf]})
    said = h.run(tmp / "p.h5", "--starts", 2)["stderr"]
    assert "--starts: 1 parameter is not bounded on both sides (A)" in said, said
    assert "bounded" not in h.run(tmp / "p.h5", "--overwrite")["stderr"]
    h.decay_problem(tmp / "p.h5", 2, parameters={"name": ["k", "A"], "lower": [1e-3, 0.1], "upper": [5.0, np.inf],
                                                 "fixed": [0, 1]})
    assert "bounded" not in h.run(tmp / "p.h5", "--starts", 2, "--overwrite")["stderr"]


@h.more
def test_active_bounds_against_scipy(tmp):
    """Upper bounds that cut the optimum off: the answer lies on them, to the bit, and is what L-BFGS-B finds."""
    n = 4 if h.SLOW and not h.SANITIZE else 2
    upper = np.array([0.03, 1e6, 1e9])
    lower = np.array([1e-4, 1e2, 1e5])
    start = np.array([0.02, 1e4, 3e7])
    _, value, sigma = robertson_problem(tmp / "p.h5", n, lower=lower, upper=upper, start=start)
    fits = h.run(tmp / "p.h5")
    on_bound = 0
    for i in range(n):
        scipy, best = o.fit_bounded(lambda p, i=i: o.robertson_objective(p, value[i], sigma[i], 1e-10), start,
                                    list(zip(np.log(lower), np.log(upper))))
        ours = o.robertson_objective(fits["parameters"][i], value[i], sigma[i])
        assert ours <= best * (1 + 1e-6), (i, ours, best, fits["parameters"][i], scipy)
        assert np.all(fits["parameters"][i] <= upper) and np.all(fits["parameters"][i] >= lower)
        assert np.all((fits["at_bound"][i] == 1) == (fits["parameters"][i] == upper))
        assert (fits["parameters"][i, 0] == upper[0]) == (abs(scipy[0] / upper[0] - 1) < 1e-9), (i, scipy)
        on_bound += int(fits["at_bound"][i, 0])
    assert on_bound > 0, "the problem was to have active bounds"
    assert set(fits["status"]) == {"converged"}, fits["status"]


def test_many_starts_are_never_worse(tmp):
    h.decay_problem(tmp / "p.h5", 10, known_sigma=True,
                    parameters={"name": ["k", "A"], "start": [0.5, 1.0], "lower": [1e-3, 1e-2], "upper": [1e1, 1e2],
                                "scale": ["log", "log"]})
    one = h.run(tmp / "p.h5", "-o", tmp / "1.h5")
    five = h.run(tmp / "p.h5", "--starts", 5, "-o", tmp / "5.h5")
    again = h.run(tmp / "p.h5", "--starts", 5, "-o", tmp / "5b.h5")
    other = h.run(tmp / "p.h5", "--starts", 5, "--seed", 9, "-o", tmp / "5c.h5")
    assert np.all(five["objective"] <= one["objective"])
    np.testing.assert_array_equal(five["parameters"], again["parameters"])
    np.testing.assert_allclose(five["parameters"], other["parameters"], rtol=1e-4)  # one valley, whatever the start


def test_options_in_the_file_lose_to_the_command_line(tmp):
    h.decay_problem(tmp / "p.h5", 3, options={"max-evaluations": 1})
    fits = h.run(tmp / "p.h5", "-o", tmp / "a.h5", code=1)
    assert set(fits["status"]) == {"budget"}, fits["status"]
    fits = h.run(tmp / "p.h5", "--max-evaluations", 500, "-o", tmp / "b.h5", code=0)
    assert set(fits["status"]) == {"converged"}, fits["status"]


OTHER = {  # of every option of the table, another value than its default that a run of two datasets takes
    "starts": "2", "seed": "2", "warm-start": "pilot", "share": "k", "leave-out-failed": "--share=k", "random": None,
    # tests/e2e/test_random_options.py
    "random-covariance": None, "random-deviation": None, "likelihood": None, "likelihood-error": None,
    "profile": "k", "bootstrap": "2", "bootstrap-kind": None,
    "huber-k": None, "student-nu": None, "rtol": "1e-6", "atol": "1e-9", "max-step": "0.5", "linear-solver": "dense",
    "engine": None, "devices": None, "device-memory": None, "error": "laplace",
    "optimizer": "trf", "gradient": "forward", "ftol": "1e-8", "gtol": "1e-5", "certify": "no",
    "max-evaluations": "900", "max-steps": "9000", "max-total-steps": "90000", "max-seconds": "1000", "portable": "",
    "keep-starts": "", "keep-profile": "--profile=k", "keep-bootstrap": "--bootstrap=2", "only": "d00001",
    "shard": "1/2", "cost-from": "--shard=1/2", "model": None, "retry-failed": None, "restart": "", "overwrite": "",
    "trust": "", "threads": "2", "time-limit": "1000", "max-crashes": "7", "accept-failed": "1", "strict": "", "json": "",
    "evaluate": "", "quiet": "", "progress": "never", "color": "never", "output": None, "in-place": None, "trace": None}


def identity(path):
    """What must be the same for a result to be this run's."""
    with h5py.File(path) as f:
        found = {name: value for name, value in f["provenance"].attrs.items() if name.startswith("identity_")}
    text = found["identity_description"]
    text = text if isinstance(text, str) else text.decode()
    digest = found["identity_options"]
    assert hashlib.sha256(text.encode()).hexdigest() == (digest if isinstance(digest, str) else digest.decode())
    return text, str(sorted((name, str(value)) for name, value in found.items()))


def test_every_option_changes_the_identity_as_its_row_says(tmp):
    table = (h.ROOT / "src/run/plan/run_options.c").read_text()
    rows = dict(re.findall(r'\{\.name = "([\w-]+)",(?:\s+\.letter = \'\w\',)?\s+\.effect = RUN_(\w+),', table))
    budgets = (h.ROOT / "src/fit/objective/types.h").read_text()
    rows |= dict(re.findall(r'X\(\w+, \w+, \w+, "([\w-]+)", \w+,[\s\\]+\.effect = RUN_(\w+),', budgets))
    constants = re.findall(r'^\s*X\(\w+, "\w+", "([\w-]+)",\s+\d', (h.ROOT / "src/base/error_kind.h").read_text(), re.M)
    rows |= dict.fromkeys(constants, re.search(r"\.name = option, \.effect = RUN_(\w+)", table).group(1))
    assert set(rows) == set(OTHER)
    h.stiffit("simulate", "-m", h.ROOT / "models/decay/decay.ode", "--times", "0:5:1", "--datasets", 2, "-o", tmp / "p.h5")
    h.stiffit("run", tmp / "p.h5", "-o", tmp / "whole.h5")
    names = identity(tmp / "whole.h5")
    with h5py.File(tmp / "whole.h5") as f:
        first, parameter = f["fits/id"].asstr()[0], f["parameters/name"].asstr()[0]
    for name, value in OTHER.items():
        if value is None:
            continue  # needs something beside it: below, and in the tests of its own
        more = [value.replace("=k", f"={parameter}")] if value.startswith("--") else []
        value = {"only": first, "share": parameter, "profile": parameter}.get(name, value)
        word = f"--{name}" if more or not value else f"--{name}={value}"
        if name == "cost-from":
            word += f"={tmp / 'whole.h5'}"
        out = tmp / f"{name}.h5"
        h.stiffit("run", tmp / "p.h5", word, *more, "-o", out)
        text, whole = identity(out)
        changes = rows[name] in ("FITS", "OBJECTIVE", "FITS_LATER", "REFITS")
        assert (f" {name}=" in text and text != names[0]) == changes, (name, text)
        assert (whole != names[1]) == (changes or rows[name] == "INPUT"), (name, whole)


def test_results_of_the_first_version_are_recognised(tmp):
    """The description as 0.1.0 put it together; a result that has it is this run's."""
    words = ["--starts=3", "--warm-start=pilot", "--error=huber", "--huber-k=2", "--bootstrap-kind=residual", "--certify=no",
             "--keep-starts", "--profile=all", "--max-seconds=1000", "--atol=1e-9", "--portable", "--engine=cvodes",
             "--max-evaluations=1000"]
    h.stiffit("simulate", "-m", h.ROOT / "models/decay/decay.ode", "--times", "0:5:1", "--datasets", 2, "--noise", 0.02,
              "-o", tmp / "p.h5")
    h.stiffit("run", tmp / "p.h5", *words, "-o", tmp / "r.h5")
    with h5py.File(tmp / "r.h5") as f:
        parameters = ",".join(f["parameters/name"].asstr())
    assert identity(tmp / "r.h5")[0] == (
        "stiffit=0.1.0 starts=3 rtol=1e-07 atol=1e-09 linear-solver=auto error=huber huber-k=2 optimizer=auto gradient=auto "
        "ftol=1e-09 gtol=1e-06 max-evaluations=1000 max-steps=100000 max-total-steps=10000000 max-seconds=1000 portable=yes "
        f"warm-start=pilot certify=no profile={parameters} keep-starts=yes")


def test_t0_and_covariates(tmp):
    """An initial time of its own per dataset shifts the solution."""
    n = 4
    h.decay_problem(tmp / "p.h5", n)
    h.decay_problem(tmp / "q.h5", n, t0=np.arange(n, dtype=float))
    with h5py.File(tmp / "q.h5", "r+") as f:
        f["measurements/time"][...] += f["measurements/dataset"][()]
    a, b = h.run(tmp / "p.h5"), h.run(tmp / "q.h5")
    # the same curves on a shifted clock: equal up to the integrator's tolerance
    np.testing.assert_allclose(a["parameters"], b["parameters"], rtol=1e-4)


def test_export_and_show(tmp):
    h.decay_problem(tmp / "p.h5", 5)
    fits = h.run(tmp / "p.h5")
    lines = h.stiffit("export", h.result_path(tmp / "p.h5")).stdout.splitlines()
    assert len(lines) == 6
    header = lines[0].split(",")
    for i, line in enumerate(lines[1:]):
        row = dict(zip(header, line.split(",")))
        assert row["id"] == fits["id"][i] and row["status"] == "converged"
        for j, name in enumerate(fits["names"]):
            assert float(row[name]) == fits["parameters"][i, j]  # %.17g: to the bit
    shown = h.stiffit("show", h.result_path(tmp / "p.h5")).stdout
    assert "converged" in shown and "k" in shown
    h.summary(h.stiffit("show", "--json", h.result_path(tmp / "p.h5")))


if __name__ == "__main__":
    h.main()
