"""Bad input of every kind: a clear message or a status row, the documented exit code, never a crash.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 900
"""
import itertools
import shutil

import h5py
import numpy as np

import helpers as h

N = 6


def good(path, **keywords):
    h.decay_problem(path, N, known_sigma=True, **keywords)
    return path


def changed(path, change):
    """A good problem with something done to it."""
    good(path)
    with h5py.File(path, "r+") as f:
        change(f)
    return path


def replace(f, name, data, **keywords):
    if name in f:
        del f[name]
    f.create_dataset(name, data=data, **keywords)


def refused(path, *words, code=3, args=()):
    """The run is refused with `code`, says where (the file's name) and each of the words, and writes no result."""
    done = h.stiffit("run", path, "--trust", *args, code=code)
    for word in (path.name, *words):
        assert str(word).lower() in done.stderr.lower(), f"no '{word}' in: {done.stderr}"
    assert "error" in done.stderr and done.stdout == "", done
    assert not h.result_path(path).exists()
    return done


def test_missing_file(tmp):
    refused(tmp / "nowhere.h5", "no such file", code=4)


def test_directory(tmp):
    (tmp / "folder.h5").mkdir()
    refused(tmp / "folder.h5", code=(3, 4))


def test_not_hdf5_and_empty(tmp):
    (tmp / "text.h5").write_text("dataset,time,value\n1,2,3\n")
    refused(tmp / "text.h5", "hdf5")
    (tmp / "empty.h5").write_bytes(b"")
    refused(tmp / "empty.h5")


def test_truncated(tmp):
    whole = good(tmp / "whole.h5").read_bytes()
    for share in (0.02, 0.1, 0.3, 0.5, 0.8, 0.95, 0.999):
        path = tmp / f"cut{share}.h5"
        path.write_bytes(whole[:int(len(whole) * share)])
        refused(path)


def test_hdf5_of_something_else(tmp):
    with h5py.File(tmp / "other.h5", "w") as f:
        f["temperature"] = [1, 2, 3]
    refused(tmp / "other.h5", "stiffit_file")


def test_wrong_shapes(tmp):
    def shorter(f):
        replace(f, "measurements/time", f["measurements/time"][:-3])
    refused(changed(tmp / "short.h5", shorter), "measurements")
    refused(changed(tmp / "matrix.h5", lambda f: replace(
        f, "measurements/value", f["measurements/value"][()].reshape(2, -1))), "measurements/value")
    refused(changed(tmp / "transposed.h5", lambda f: (
        f.create_group("parameters"), replace(f, "parameters/start", np.ones((2, N))))),
        "parameters/start", "transpose")


def test_unknown_names(tmp):
    def observable(f):
        f["measurements/observable"] = np.zeros(f["measurements/time"].shape, int)
        f.create_dataset("measurements/observable_names", data=["pressure"], dtype=h5py.string_dtype())
    refused(changed(tmp / "observable.h5", observable), "pressure")
    refused(changed(tmp / "group.h5", lambda f: f.create_dataset("measurements/valeu", data=[1.0])), "valeu", "value")
    refused(changed(tmp / "parameter.h5", lambda f: (
        f.create_group("parameters"),
        replace(f, "parameters/name", ["A", "kk"], dtype=h5py.string_dtype()))), "kk")
    changed(tmp / "free.h5", lambda f: f.create_dataset("user/anything", data=[1.0]))  # /user is the user's own
    h.run(tmp / "free.h5")


def test_bad_option_in_the_file(tmp):
    refused(good(tmp / "p.h5", options={"rtoll": 1e-6}), "rtoll", "rtol")
    refused(good(tmp / "q.h5", options={"rtol": "often"}), "rtol")


def test_order_and_range_of_the_dataset_column(tmp):
    def shuffle(f):
        column = f["measurements/dataset"][()]
        f["measurements/dataset"][...] = column[::-1]
    refused(changed(tmp / "order.h5", shuffle), "measurements/dataset")
    refused(changed(tmp / "range.h5", lambda f: f["measurements/dataset"].__setitem__(-1, N)), "measurements/dataset")


def test_ids(tmp):
    refused(changed(tmp / "twice.h5", lambda f: replace(
        f, "datasets/id", ["a", "b", "c", "a", "e", "f"], dtype=h5py.string_dtype())), "datasets/id", "a")
    refused(changed(tmp / "none.h5", lambda f: f["datasets"].__delitem__("id")), "datasets/id")


def test_bounds_of_the_file(tmp):
    parameters = {"name": ["k", "A"], "lower": [2.0, 0.1], "upper": [1.0, 9.0]}
    refused(good(tmp / "p.h5", parameters=parameters), "lower", "k")


def test_several_faults_at_once(tmp):
    def spoil(f):
        f["measurements/dataset"][-1] = N + 3
        replace(f, "datasets/id", ["a", "b", "c", "a", "e", "f"], dtype=h5py.string_dtype())
    done = refused(changed(tmp / "p.h5", spoil), "measurements/dataset", "datasets/id")
    assert done.stderr.count("\n") >= 3, done.stderr


def test_single_bad_datasets_stop_nobody_else(tmp):
    def spoil(f):
        rows = f["measurements/dataset"][()]
        for dataset, column, value in ((0, "time", np.nan), (1, "value", np.inf), (2, "value", np.nan)):
            data = f[f"measurements/{column}"][()]
            data[rows == dataset] = value
            f[f"measurements/{column}"][...] = data
        f["measurements/sigma"][np.flatnonzero(rows == 3)[2]] = -1.0
    path = changed(tmp / "p.h5", spoil)
    fits = h.run(path, code=1)
    assert list(fits["status"]) == ["bad_data"] * 4 + ["converged"] * 2, fits["status"]
    assert np.all(np.isnan(fits["parameters"][:4])) and np.all(np.isfinite(fits["parameters"][4:]))
    for i, word in enumerate(("time", "value", "measurement", "sigma")):
        assert word in fits["message"][i].lower(), fits["message"][i]
    shown = h.stiffit("show", h.result_path(path), code=None).stdout
    assert "bad_data" in shown and "d0" in shown, shown


def test_dataset_without_measurements_and_no_datasets(tmp):
    def without_third(f):
        keep = f["measurements/dataset"][()] != 2
        for column in ("dataset", "time", "value", "sigma"):
            replace(f, f"measurements/{column}", f[f"measurements/{column}"][()][keep])
    fits = h.run(changed(tmp / "p.h5", without_third), code=1)
    assert list(fits["status"]).count("bad_data") == 1 and fits["status"][2] == "bad_data", fits["status"]
    h.decay_problem(tmp / "none.h5", 0)
    fits = h.run(tmp / "none.h5", code=0)
    assert len(fits["id"]) == 0


def test_plugins_that_are_none(tmp):
    (tmp / "text.so").write_text("not a plugin")
    for plugin, words in ((tmp / "nowhere.so", ["nowhere.so"]), (tmp / "text.so", ["text.so"]),
                          (h.zoo("wrong_abi"), ["wrong_abi", "abi"]), (h.zoo("no_symbol"), ["no_symbol"]),
                          (h.zoo("no_rhs"), ["rhs"]), (h.zoo("null_names"), ["name"]),
                          (h.zoo("duplicate_names"), ["duplicate_names"]), (h.zoo("bad_pattern"), ["bad_pattern"]),
                          (h.zoo("bad_defaults"), ["bad_defaults"]), (h.zoo("short_struct"), ["short_struct"])):
        good(tmp / "p.h5")
        done = h.stiffit("run", tmp / "p.h5", "--model", plugin, code=(3, 4))
        for word in words:
            assert word in done.stderr.lower(), f"no '{word}' in: {done.stderr}"


def test_model_that_needs_trust(tmp):
    good(tmp / "p.h5")
    done = h.stiffit("run", tmp / "p.h5", code=3)
    assert "--trust" in done.stderr, done.stderr
    h.stiffit("run", tmp / "p.h5", "--model", h.model("decay"))


def test_changed_plugin_is_refused(tmp):
    shutil.copy(h.model("decay"), tmp / "m.so")
    good(tmp / "p.h5")
    with h5py.File(tmp / "p.h5", "r+") as f:
        f["model"].attrs["plugin"] = "m.so"
        f["model"].attrs["sha256"] = "0" * 64
    done = h.stiffit("run", tmp / "p.h5", "--trust", code=3)
    assert "m.so" in done.stderr and "sha256" in done.stderr, done.stderr


def zoo_rows(tmp, name, code=1):
    """Fits the decay data with a misbehaving model; the statuses of the rows."""
    with h5py.File(good(tmp / f"{name}.h5"), "r+") as f:
        f["model"].attrs["plugin"] = str(h.zoo(name))
    return h.run(tmp / f"{name}.h5", code=code, timeout=300)


def test_models_that_fail_become_rows(tmp):
    for name in ("recoverable_always", "fatal_always", "nan_from_t1"):
        fits = zoo_rows(tmp, name)
        assert set(fits["status"]) <= {"model_failed", "ode_failed"}, (name, fits["status"])
        assert all(fits["message"]), (name, fits["message"])
        assert np.all(np.isnan(fits["parameters"])) or np.all(np.isfinite(fits["parameters"])), name


def test_models_that_fail_for_some_parameters_are_fitted_elsewhere(tmp):
    for name in ("nan_some_parameters", "error_some_parameters"):
        fits = zoo_rows(tmp, name, code=None)
        finite = np.isfinite(fits["objective"])
        assert np.any(finite), (name, fits["status"], fits["message"])
        assert np.all(np.isfinite(fits["parameters"][finite])), name


def test_usage(tmp):
    for args, word in ((["run"], "problem"), (["run", "p.h5", "--rtoll", "1"], "--rtol"), (["rnu"], "run"),
                       (["run", "p.h5", "--rtol", "soon"], "rtol"), (["run", "p.h5", "-j", "-3"], "threads")):
        done = h.stiffit(*args, code=2)
        assert word in done.stderr and done.stdout == "", (args, done.stderr)
        assert 1 <= done.stderr.count("\n") <= 2, done.stderr


def test_unwritable_output(tmp):
    good(tmp / "p.h5")
    done = h.stiffit("run", tmp / "p.h5", "--trust", "-o", tmp / "no" / "such" / "folder.h5", code=4)
    assert "folder" in done.stderr, done.stderr


COVARIATE_TEXT = """covariate dose
parameter k = 0.4 in [0.01, 10] scale log
parameter A = 1 in [0.01, 10] scale log
y(0) = A*dose
y' = -k*y
observe y
observe twice = 2*y
"""


def whole_problem(path):
    """One that has every group, attribute and column there is. Returns their names, which are left out in turn."""
    doses, t = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 2.0, 4.0])
    rows = [(d, time, o, (o + 1) * 2 * dose * np.exp(-0.3 * time) + 0.01 * (-1) ** i, 0.02)
            for d, dose in enumerate(doses) for o in (0, 1) for i, time in enumerate(t)]
    h.write_problem(path, None, ["a", "b", "c"], rows, covariates={"dose": doses}, t0=np.zeros(3), options={"starts": 1},
                    parameters={"name": ["k", "A"], "start": [0.4, 1], "lower": [0.01, 0.01], "upper": [10, 10],
                                "scale": ["log", "log"], "fixed": [0, 0], "observables": ["y", "twice"]})
    with h5py.File(path, "r+") as f:
        f["model"].create_dataset("source", data=COVARIATE_TEXT, dtype=h5py.string_dtype())
        f["model"].attrs["name"] = "dosed"
        f["measurements/censored"] = np.zeros(len(rows), np.int8)
        for name, words in (("prior", ["normal", "none"]), ("prior_on", ["optimizer", "natural"])):
            f["parameters"].create_dataset(name, data=words, dtype=h5py.string_dtype())
        for name, numbers in (("location", [-1.0, np.nan]), ("scale", [1.0, np.nan]), ("lower", [np.nan] * 2),
                              ("upper", [np.nan] * 2)):
            f[f"parameters/prior_{name}"] = numbers
        names = []
        f.visit(names.append)
    return names + ["@stiffit_file", "@format", "model@name", "options@starts"]


def leave_out(f, name):
    group, at, attribute = name.rpartition("@")
    if at and (not group or group in f):
        f[group or "/"].attrs.pop(attribute, None)
    elif not at and name in f:
        del f[name]


def test_everything_left_out(tmp):
    """One column, group or attribute at a time, and two: a default, or a message that names one that is missing."""
    names = whole_problem(tmp / "whole.h5")
    whole = h.run(tmp / "whole.h5")
    assert list(whole["status"]) == ["converged"] * 3, whole["message"]
    assert len(names) > 25, names
    pairs = list(itertools.combinations(names, 2))
    for pair in [*((name,) for name in names), *pairs[::1 if h.SLOW else 61]]:  # all pairs take 40 s
        shutil.copy(tmp / "whole.h5", tmp / "p.h5")
        with h5py.File(tmp / "p.h5", "r+") as f:
            for name in pair:
                leave_out(f, name)
        done = h.stiffit("run", "p.h5", "-j1", "-q", "--overwrite", cwd=tmp, code=(0, 1, 3))
        said = done.stderr.replace("/", " ").replace("@", " ")
        if done.returncode == 3:
            last = [name.replace("@", "/").rpartition("/")[2] for name in pair]
            assert any(word in said for word in last), (pair, done.stderr)
            assert "died" not in said and "crash" not in said, (pair, done.stderr)
            continue
        fits = h.read_fits(tmp / "p.result.h5")
        assert set(fits["status"]) <= {"converged", "bad_data"}, (pair, fits["status"], fits["message"])
        if done.returncode == 0:  # what has a default does not change what the data say by more than their errors
            order = [fits["names"].index(name) for name in ("k", "A")]
            assert np.allclose(fits["parameters"][:, order], whole["parameters"], rtol=0.3), (pair, fits["parameters"])


def test_a_covariate_that_is_missing_is_named(tmp):
    whole_problem(tmp / "p.h5")
    with h5py.File(tmp / "p.h5", "r+") as f:
        del f["datasets/covariates"], f["datasets/covariate_names"]
    refused(tmp / "p.h5", "/datasets/covariates", "dose")


def test_an_empty_list_of_ids_may_be_numbers(tmp):
    """As h5py writes one."""
    h.decay_problem(tmp / "p.h5", 0)
    with h5py.File(tmp / "p.h5", "r+") as f:
        replace(f, "datasets/id", [])
    assert len(h.run(tmp / "p.h5")["id"]) == 0


def test_commands_say_what_is_no_problem(tmp):
    """Files that are none, given to every command that reads problems: the file's name, the documented code, nothing made."""
    whole = good(tmp / "whole.h5").read_bytes()
    (tmp / "empty.h5").touch()
    (tmp / "cut.h5").write_bytes(whole[:len(whole) // 2])
    (tmp / "text.h5").write_text("time,value\n1,2\n")
    (tmp / "folder.h5").mkdir()
    before = sorted(tmp.iterdir())
    for name, code in (("missing", 4), ("empty", 3), ("cut", 3), ("text", 3), ("folder", 4)):
        for command in (("run",), ("show",), ("export",), ("status",), ("simulate", "--times", "1:3:1"),
                        ("submit", "--dry-run", "--shards", 2)):
            done = h.stiffit(command[0], tmp / f"{name}.h5", *command[1:], code=code)
            assert "error: " in done.stderr and f"{name}.h5" in done.stderr, (name, command, done.stderr)
            assert done.stdout == "" and done.stderr.count("\n") <= 2, (name, command, done)
        assert f"{name}.h5" in h.stiffit("merge", tmp / f"{name}.h5", code=(3, 4)).stderr
    assert sorted(tmp.iterdir()) == before


def test_results_are_no_problems(tmp):
    """A result where a problem is expected is refused, and not taken for a problem whose run has not begun."""
    h.run(good(tmp / "p.h5"), code=(0, 1))
    result = h.result_path(tmp / "p.h5")
    for command in (("run",), ("status",), ("submit", "--dry-run", "--shards", 2)):
        done = h.stiffit(command[0], result, *command[1:], code=3)
        assert f"{result}: is a result file" in done.stderr and done.stdout == "", (command, done)


if __name__ == "__main__":
    h.main()
