#!/usr/bin/env python3
"""Names where row numbers of another table may stand: the same results, to the bit, and the same
problem, as with row numbers.

SPDX-License-Identifier: BSD-3-Clause
"""
import re

import h5py
import numpy as np

import helpers

MODEL = """model everything
parameter k = 0.5 in [0.01, 10] scale log
parameter c = 0.3 in [0.01, 10] scale log
parameter gain = 1 in [0.1, 10] scale log
covariate A0
input light
A(0) = A0
Ä(0) = 0
A' = -k*A
Ä' = k*A - c*light*Ä
event wash: Ä = 0
event feed: A = A + 1
observe left = gain*A
observe made = Ä
""".replace("Ä", "B")
# Which experiments there are; ids repeat in other datasets.
EXPERIMENTS = [(0, "low"), (0, "rest"), (0, "high"), (1, "low"), (1, "rest"), (2, "x"), (2, "högt")]
DATASETS = ["plate 1", "plåt 2", "3"]
# For each column of row numbers: its list of names; which name each row number is then follows.
LISTS = {"measurements/observable": "observable_names", "doses/target": "target_names",
         "inputs/input": "input_names", "events/event": "event_names",
         "substitutes/parameter": "parameter_names", "substitutes/by": "by_names"}
ROWS = ["measurements", "doses", "inputs", "events", "substitutes"]


def text(f, path, words):
    if path in f:
        del f[path]
    f.create_dataset(path, data=list(words), dtype=h5py.string_dtype())


def put(f, path, values):
    if path in f:
        del f[path]
    f[path] = values


def write(path, has_experiments=True):
    """With row numbers everywhere."""
    rng = np.random.default_rng(5)
    owners = [d for d, _ in EXPERIMENTS] if has_experiments else [0, 1, 2]
    owner = "experiment" if has_experiments else "dataset"
    n = len(owners)
    with h5py.File(path, "w") as f:
        f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
        f["model/source"] = MODEL
        text(f, "parameters/name", ["gain", "k", "c", "k2"])
        put(f, "parameters/start", [1.0, 0.4, 0.2, 0.6])
        put(f, "parameters/lower", [0.1, 0.01, 0.01, 0.01])
        put(f, "parameters/upper", [10.0, 10.0, 10.0, 10.0])
        text(f, "datasets/id", DATASETS)
        group = "experiments" if has_experiments else "datasets"
        if has_experiments:
            put(f, "experiments/dataset", owners)
            text(f, "experiments/id", [name for _, name in EXPERIMENTS])
            put(f, "experiments/steady", [1, -1, 1, 4, -1, 6, -1])
        text(f, f"{group}/covariate_names", ["A0"])
        put(f, f"{group}/covariates", rng.uniform(1, 3, (n, 1)))
        times = np.array([0.5, 1.0, 2.0, 3.0, 5.0])
        put(f, f"measurements/{owner}", np.repeat(np.arange(n), 10))
        put(f, "measurements/time", np.tile(np.repeat(times, 2), n))
        put(f, "measurements/observable", np.tile([0, 1], 5 * n))
        put(f, "measurements/value", rng.uniform(0.2, 2, 10 * n))
        put(f, "measurements/sigma", np.full(10 * n, 0.1))
        text(f, "measurements/observable_names", ["made", "left"])
        put(f, f"doses/{owner}", np.repeat(np.arange(n), 2))
        put(f, "doses/time", np.tile([0.0, 1.5], n))
        put(f, "doses/amount", np.tile([1.0, 0.5], n))
        put(f, "doses/target", np.tile([0, 1], n))
        text(f, "doses/target_names", ["B", "A"])
        put(f, f"inputs/{owner}", np.repeat(np.arange(n), 2))
        put(f, "inputs/time", np.tile([0.0, 2.5], n))
        put(f, "inputs/value", np.tile([1.0, 2.0], n))
        put(f, "inputs/input", np.zeros(2 * n, int))
        text(f, "inputs/input_names", ["light"])
        put(f, f"events/{owner}", np.repeat(np.arange(n), 2))
        put(f, "events/time", np.tile([1.0, 4.0], n))
        put(f, "events/event", np.tile([0, 1], n))
        text(f, "events/event_names", ["feed", "wash"])
        put(f, f"substitutes/{owner}", np.repeat(np.arange(n), 2))
        put(f, "substitutes/parameter", np.tile([1, 0], n))
        put(f, "substitutes/by", [value for e in range(n) for value in (-1, e % 2)])
        put(f, "substitutes/value", np.tile([0.9, 0.0], n))
        text(f, "substitutes/parameter_names", ["k", "c"])
        text(f, "substitutes/by_names", ["k", "k2"])
    return path


def names_of(f, column):
    """What the row numbers of a column mean."""
    group, name = column.split("/")
    if name == "dataset":
        known = DATASETS
    elif column in LISTS:
        known = list(f[f"{group}/{LISTS[column]}"].asstr()[()])
    else:
        known = list(f["experiments/id"].asstr()[()])
    return ["" if i == -1 else known[i] for i in f[column][()]]


def store(f, column, names, kind):
    if kind == "variable":
        text(f, column, names)
    else:  # fixed length, as numpy writes it
        put(f, column, np.array([name.encode() for name in names]))


def with_dataset(f, group, kind):
    """Names of experiments need those of their datasets, because they repeat."""
    experiment = f[f"{group}/experiment"][()]
    if kind == "variable":
        store(f, f"{group}/dataset", [DATASETS[EXPERIMENTS[e][0]] for e in experiment], kind)
    else:
        put(f, f"{group}/dataset", [EXPERIMENTS[e][0] for e in experiment])
    store(f, f"{group}/experiment", [EXPERIMENTS[e][1] for e in experiment], kind)


def content(path):
    """Every dataset and attribute of a result but times and what names the file."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and not name.endswith("seconds"):
            found[name] = item[()].tobytes() if item.dtype.kind != "O" else str(item.asstr()[()])
    with h5py.File(path, "r") as f:
        f.visititems(visit)
    times = re.compile(r"provenance/(.*seconds|command|started|finished|host|problem|path)"
                       r"|evaluations_per_second")
    return {name: value for name, value in found.items() if not times.search(name)}


def check_all(tmp, has_experiments):
    plain = write(tmp / "plain.h5", has_experiments)
    fits = helpers.run(plain, "-q", "-o", tmp / "plain.result.h5", code=(0, 1))
    assert np.all(np.isfinite(fits["parameters"])), fits["status"]
    assert np.all(fits["iterations"] > 0), fits["status"]
    expected = content(tmp / "plain.result.h5")
    with h5py.File(plain, "r") as f:
        columns = ["experiments/dataset", "experiments/steady", *LISTS]
        columns += [f"{group}/{owner}" for group in ROWS for owner in ("dataset", "experiment")]
        columns = [column for column in columns if column in f]
    single = columns if has_experiments else [column for column in columns if column not in LISTS]
    variants = [(column, kind, has_list) for column in single for kind, has_list in
                (("variable", True), ("fixed", column not in LISTS))]
    for column, kind, has_list in [*variants, ("all", "variable", False), ("all", "fixed", True)]:
        path = write(tmp / "names.h5", has_experiments)
        with h5py.File(path, "a") as f:
            for one in columns if column == "all" else [column]:
                group, name = one.split("/")
                if name == "experiment":
                    with_dataset(f, group, kind)
                else:
                    store(f, one, names_of(f, one), kind)
                if one in LISTS and not has_list:
                    del f[f"{group}/{LISTS[one]}"]
        # The same problem: what the plain file's run has done is complete.
        done = helpers.stiffit("run", path, "-o", tmp / "plain.result.h5", code=(0, 1))
        assert "already complete" in done.stderr, (column, kind, has_list, done.stderr)
        if column == "all":
            helpers.run(path, "-q", "-o", tmp / f"{kind}.h5", code=(0, 1))
            found = content(tmp / f"{kind}.h5")
            differ = [name for name in expected if found.get(name) != expected[name]]
            assert found == expected, (kind, differ)


def test_every_column_of_a_file_with_experiments(tmp):
    check_all(tmp, True)


def test_every_column_of_a_file_without_experiments(tmp):
    check_all(tmp, False)


def test_ids_of_experiments_that_do_not_repeat_need_no_dataset(tmp):
    plain = write(tmp / "plain.h5")
    path = write(tmp / "names.h5")
    ids = [f"e{i}" for i in range(len(EXPERIMENTS))]
    for name in (plain, path):
        with h5py.File(name, "a") as f:
            text(f, "experiments/id", ids)
    with h5py.File(path, "a") as f:
        for group in ROWS:
            names = [ids[e] for e in f[f"{group}/experiment"][()]]
            store(f, f"{group}/experiment", names, "variable")
        steady = f["experiments/steady"][()]
        store(f, "experiments/steady", ["" if e < 0 else ids[e] for e in steady], "fixed")
    helpers.run(plain, "-q", "-o", tmp / "result.h5", code=(0, 1))
    done = helpers.stiffit("run", path, "-o", tmp / "result.h5", code=(0, 1))
    assert "already complete" in done.stderr, done.stderr


def test_names_that_are_unknown_or_ambiguous(tmp):
    def change(column, row, name, kind="variable"):
        def apply(f):
            names = names_of(f, column)
            names[row] = name
            store(f, column, names, kind)
        return apply

    def both(group, row, name):
        def apply(f):
            with_dataset(f, group, "variable")
            names = list(f[f"{group}/experiment"].asstr()[()])
            names[row] = name
            store(f, f"{group}/experiment", names, "variable")
        return apply

    def without(column, path):
        def apply(f):
            store(f, column, names_of(f, column), "variable")
            del f[path]
        return apply

    def collected(column, row, name):
        def apply(f):
            change(column, row, name)(f)
            group = column.split("/")[0]
            del f[f"{group}/{LISTS[column]}"]
        return apply
    for apply, words in (
            (change("measurements/observable", 5, "mode"),
             ['/measurements/observable row 5 (experiment "low")', '"mode" is not in',
              'did you mean "made"?']),
            (change("doses/target", 3, ""),
             ['/doses/target row 3 (experiment "rest"): "" is not in /doses/target_names']),
            (collected("doses/target", 3, "Bee"),
             ['/doses/target row 3: the model everything has no state "Bee"']),
            (collected("events/event", 2, "feet"),
             ['/events/event row 2: the model everything has no event "feet"',
              'did you mean "feed"?']),
            (collected("inputs/input", 4, ""), ["/inputs/input row 4: is empty"]),
            (collected("substitutes/by", 3, "k3"),
             ['/substitutes/by row 3: the file has no parameter "k3"', "did you mean"]),
            (change("experiments/dataset", 3, "plåt 3", "fixed"),
             ['/experiments/dataset row 3: "plåt 3" is not in /datasets/id',
              'did you mean "plåt 2"?']),
            (change("experiments/dataset", 1, "3"),
             ['/experiments/dataset row 2: "plate 1" comes after row 2 of /datasets/id',
              "rows must be in the order of /datasets/id"]),
            (change("experiments/steady", 2, "x"),
             ['/experiments/steady row 2: "x" is no experiment of dataset "plate 1"']),
            (change("experiments/steady", 2, "rost"), ['did you mean "rest"?']),
            (change("measurements/experiment", 0, "low"),
             ['/measurements/experiment row 0: "low" is more than once in /experiments/id',
              "give /measurements/dataset, too, or row numbers"]),
            (both("measurements", 0, "x"),
             ['/measurements/experiment row 0: "x" is not in /experiments/id for this dataset']),
            (without("measurements/experiment", "experiments/id"),
             ["/measurements/experiment: has names, but there is no /experiments/id"]),
            (lambda f: put(f, "measurements/dataset", [0] * 70),
             ["/measurements/dataset: the file has /experiments, to which rows belong; use "
              "/measurements/experiment"]),
            (lambda f: text(f, "measurements/time", ["1"] * 70),
             ["/measurements/time: must be numbers"])):
        path = write(tmp / "names.h5")
        with h5py.File(path, "a") as f:
            apply(f)
        done = helpers.stiffit("run", path, code=3)
        for word in words:
            assert word in done.stderr, (word, done.stderr)


def test_many_rows_by_name(tmp):
    """More rows than are read at once, and names that come again later: as with row numbers."""
    n, m = 300, 250
    for name in ("plain", "names"):
        with h5py.File(tmp / f"{name}.h5", "w") as f:
            f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
            f["model/source"] = "parameter a = 1\nparameter b = 1\nobserve y = a*t\nobserve z = b\n"
            ids = [f"ä{i % 7}-{i}" for i in range(n)]
            text(f, "datasets/id", ids)
            owner, which = np.repeat(np.arange(n), m), np.tile(np.arange(m) % 2, n)
            f["measurements/time"] = np.tile(np.arange(m) / m, n)
            f["measurements/value"] = np.sin(np.arange(n * m))
            f["measurements/dataset"], f["measurements/observable"] = owner, which
            text(f, "measurements/observable_names", ["z", "y"])
            if name == "names":
                store(f, "measurements/dataset", [ids[i] for i in owner], "variable")
                store(f, "measurements/observable", ["zy"[i] for i in which], "fixed")
    helpers.run(tmp / "plain.h5", "-q", "-o", tmp / "result.h5")
    done = helpers.stiffit("run", tmp / "names.h5", "-o", tmp / "result.h5")
    assert "already complete" in done.stderr, done.stderr
    helpers.run(tmp / "names.h5", "-q", "-j2", "-o", tmp / "other.h5")
    assert content(tmp / "result.h5") == content(tmp / "other.h5")


if __name__ == "__main__":
    helpers.main()
