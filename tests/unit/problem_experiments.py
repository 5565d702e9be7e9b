#!/usr/bin/python3
"""Writes problem files with experiments, doses, inputs and substitutes: random ones, each with a listing of what it means, and
one for each fault, listed in cases.txt (NAME, KIND and TEXT as in problem_cases.py).

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import random
import sys

sys.dont_write_bytecode = True

import h5py  # noqa: E402
import numpy as np  # noqa: E402

from problem_random import start, write_random  # noqa: E402

CASES = []


def case(kind, text):
    def add(change):
        CASES.append((change.__name__, kind, text, change))
        return change
    return add


def put(f, path, value):
    if path in f:
        del f[path]
    f[path] = value


def base(f):
    """The model has parameters b and k, states X, Y, depot, inputs T, U and covariate dose."""
    start(f)
    f["parameters/name"] = ["k", "k2"]
    f["parameters/start"] = [0.5, -2.0]
    f["datasets/id"] = ["a", "b", "c"]
    f["experiments/dataset"] = [0, 0, 1, 2]
    f["experiments/id"] = ["low", "high", "low", "x"]
    f["experiments/covariate_names"] = ["dose"]
    f["experiments/covariates"] = [[1.0], [2.0], [3.0], [4.0]]
    f["experiments/t0"] = [0.0, -1.0, 0.0, 0.0]
    f["measurements/experiment"] = [0, 0, 1, 2, 3, 3]
    f["measurements/time"] = [2.0, 1.0, 0.5, 1.0, 2.0, 2.0]
    f["measurements/value"] = [1.0, np.nan, -3.0, 0.25, 0.0, 7.0]
    f["measurements/observable_names"] = ["A"]
    f["doses/experiment"] = [0, 1, 1, 3]
    f["doses/time"] = [0.0, 5.0, -1.0, 1.0]
    f["doses/amount"] = [10.0, 20.0, 20.0, 5.0]
    f["doses/rate"] = [0.0, 40.0, np.nan, 0.0]
    f["doses/duration"] = [0.0, 0.0, 0.0, 2.0]
    f["doses/interval"] = [12.0, 0.0, 0.0, 0.0]
    f["doses/count"] = [3, 1, 1, 1]
    f["doses/target_names"] = ["depot", "X"]
    f["doses/target"] = [1, 0, 1, 1]
    f["inputs/experiment"] = [0, 0, 0, 1, 1, 2, 2, 3, 3]
    f["inputs/time"] = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    f["inputs/value"] = [20.0, 1.0, 21.0, 20.0, 1.0, 20.0, 1.0, 20.0, 1.0]
    f["inputs/input_names"] = ["U", "T"]
    f["inputs/input"] = [0, 1, 0, 0, 1, 0, 1, 0, 1]
    f["substitutes/experiment"] = [0, 1, 2, 3, 3]
    f["substitutes/parameter_names"] = ["b", "k"]
    f["substitutes/parameter"] = [0, 0, 0, 0, 1]
    f["substitutes/by_names"] = ["k2"]
    f["substitutes/by"] = [0, 0, -1, 0, 0]
    f["substitutes/value"] = [np.nan, 0.0, 7.5, 0.0, 0.0]


@case("same", "")
def nothing_changed(f):
    pass


@case("open", "/experiments/time: unknown name")
def unknown_column(f):
    f["experiments/time"] = [1.0]


@case("open", "/doses/targets: unknown name; did you mean /doses/target")
def mistyped_target(f):
    f["doses/targets"] = [1.0]


@case("open", "/dose: unknown name; did you mean /doses?")
def mistyped_group(f):
    f["dose/time"] = [1.0]


@case("open", "/measurements/dataset: the file has /experiments, to which rows belong; use /measurements/experiment")
def both_owners(f):
    f["measurements/dataset"] = [0, 0, 1, 2, 2, 2]


@case("open", "/doses/experiment: the file has no /experiments; use /doses/dataset")
def no_experiments(f):
    del f["experiments"]
    f["measurements/dataset"] = f["measurements/experiment"][...]
    f["inputs/dataset"] = f["inputs/experiment"][...]
    for group in ("measurements", "inputs", "substitutes"):
        del f[group + "/experiment"]


@case("open", "/experiments/dataset is missing")
def ownerless(f):
    del f["experiments/dataset"]


@case("open", "/experiments/covariates: is 1 x 4 where experiments x covariates = 4 x 1 is expected; it is transposed")
def transposed(f):
    put(f, "experiments/covariates", [[1.0, 2.0, 3.0, 4.0]])


@case("open", "/experiments/t0: has 3 values; one is expected, or one for each of 4 experiments")
def t0_of_datasets(f):
    put(f, "experiments/t0", [0.0, 1.0, 2.0])


@case("open", "/experiments/id: has 3 rows, but /experiments/dataset has 4")
def ids_of_datasets(f):
    put(f, "experiments/id", ["a", "b", "c"])


@case("open", '/experiments/covariate_names: "dose" is in /datasets/covariate_names, too')
def covariate_twice(f):
    f["datasets/covariate_names"] = ["dose"]
    f["datasets/covariates"] = [[1.0], [2.0], [3.0]]


@case("open", "/experiments/t0: there is /datasets/t0, too")
def t0_twice(f):
    f["datasets/t0"] = 0.0


@case("open", "/doses/amount: has 3 rows, but /doses/experiment has 4")
def lengths_disagree(f):
    put(f, "doses/amount", [1.0, 2.0, 3.0])


@case("open", "/inputs/time: is 3 x 3; one column is expected")
def knots_in_a_matrix(f):
    put(f, "inputs/time", np.zeros((3, 3)))


@case("open", "/doses/amount is missing")
def no_amount(f):
    del f["doses/amount"]


@case("validate", "/experiments/dataset row 3: is 0 (dataset \"a\") after 1; rows must be sorted by dataset")
def experiments_decrease(f):
    f["experiments/dataset"][3] = 0


@case("validate", "/experiments/dataset row 3: is 3, but there are 3 datasets")
def experiment_of_nobody(f):
    f["experiments/dataset"][3] = 3


@case("validate", "/doses/experiment row 3: is 0 (experiment \"low\") after 1; rows must be sorted by experiment")
def doses_decrease(f):
    f["doses/experiment"][3] = 0


@case("validate", "/inputs/experiment row 8: is 4, but there are 4 experiments")
def knot_of_nobody(f):
    f["inputs/experiment"][8] = 4


@case("validate", '/experiments/id: "low" appears more than once in dataset "a"')
def id_twice(f):
    put(f, "experiments/id", ["low", "low", "low", "x"])


@case("validate", '/doses/target_names: the model test has no state "depott"; did you mean "depot"?')
def unknown_target(f):
    put(f, "doses/target_names", ["depott", "X"])


@case("validate", '/inputs/input_names: the model test has no input "W"')
def unknown_input(f):
    put(f, "inputs/input_names", ["U", "W"])


@case("validate", '/substitutes/parameter_names: the model test has no parameter "bb"; did you mean "b"?')
def unknown_parameter(f):
    put(f, "substitutes/parameter_names", ["b", "bb"])


@case("validate", '/substitutes/by_names: the file has no parameter "kk"; did you mean "k"')
def unknown_by(f):
    put(f, "substitutes/by_names", ["k2", "kk"])


@case("validate", '/parameters/name: the model test has no parameter "k2"')
def unused_parameter(f):
    del f["substitutes"]


@case("validate", '/parameters/name: the model\'s parameter "b" is missing')
def forgotten_parameter(f):
    put(f, "substitutes/parameter_names", ["k"])
    put(f, "substitutes/parameter", [0, 0, 0, 0, 0])


@case("validate", '/doses/target row 1 (experiment "high"): is 2, but there are 2 states')
def target_out_of_range(f):
    f["doses/target"][1] = 2


@case("validate", "/doses/target_names is missing: the model test has 3 states")
def nameless_targets(f):
    del f["doses/target_names"]


@case("validate", "/doses/target is missing: which of the 2 /doses/target_names each row has")
def targetless(f):
    del f["doses/target"]


@case("bad", 'experiment "high": dose in row 2: count is 0, which only steady doses may have')
def no_times(f):
    f["doses/count"][2] = 0


@case("validate", '/substitutes/by row 2 (experiment "low"): is -2, but there is 1')
def by_out_of_range(f):
    f["substitutes/by"][2] = -2


@case("validate", '/measurements/side row 1 (experiment "low"): is -2; use -1')
def third_side(f):
    f["measurements/side"] = [0, -2, 0, 0, 0, 0]


@case("validate", "/experiments/covariate_names: the model test needs the covariate \"dose\"")
def no_covariate(f):
    put(f, "experiments/covariate_names", ["doze"])


@case("bad", 'experiment "high": t0 is nan')
def t0_nan(f):
    f["experiments/t0"][1] = np.nan


@case("bad", 'experiment "x": covariate dose is inf')
def covariate_infinite(f):
    f["experiments/covariates"][3] = [np.inf]


@case("bad", 'experiment "high": row 2: time is 0.5, before t0 = 1')
def measured_before(f):
    f["experiments/t0"][1] = 1.0


@case("bad", 'experiment "high": dose in row 2: time is -2, before t0 = -1')
def dose_before(f):
    f["doses/time"][2] = -2.0


@case("bad", 'experiment "x": dose in row 3: duration is -2; it must be finite and >= 0')
def negative_duration(f):
    f["doses/duration"][3] = -2.0


@case("bad", 'experiment "high": dose in row 1: rate is -1, but the model has no rate(depot)')
def negative_rate(f):
    f["doses/rate"][1] = -1.0


@case("bad", 'experiment "high": dose in row 1: has a rate and a duration; give one of them')
def rate_and_duration(f):
    f["doses/duration"][1] = 1.0


@case("bad", 'experiment "low": dose in row 0: is repeated 3 times, but has no interval above 0')
def no_interval(f):
    f["doses/interval"][0] = 0.0


@case("bad", 'experiment "low": dose in row 0: has the interval 1e-20, which does not change a time of 1')
def standing_still(f):
    f["doses/time"][0] = 1.0
    f["doses/interval"][0] = 1e-20


@case("bad", 'experiment "low": dose in row 0: amount is nan')
def amount_nan(f):
    f["doses/amount"][0] = np.nan


@case("bad", 'experiment "low": input U in row 2: time is -1, after 0; times must increase')
def knots_decrease(f):
    f["inputs/time"][2] = -1.0


@case("bad", 'experiment "low": input U in row 2: time is 0, again 0; times must increase')
def two_values_at_one_time(f):
    f["inputs/time"][2] = 0.0


@case("bad", 'experiment "x": input T has no value')
def input_missing(f):
    f["inputs/input"][8] = 0
    f["inputs/time"][8] = 1.0


@case("bad", 'experiment "low": substitute in row 2: the value of b is nan')
def number_missing(f):
    f["substitutes/value"][2] = np.nan


@case("bad", 'experiment "x": substitute in row 4: b is substituted twice')
def substituted_twice(f):
    f["substitutes/parameter"][4] = 0


@case("bad", 'experiment "x": parameter k has no value: it is neither in /parameters nor substituted')
def not_everywhere(f):
    put(f, "parameters/name", ["b", "k2"])
    put(f, "substitutes/experiment", [0, 1, 2, 2, 3])
    put(f, "substitutes/parameter", [1, 1, 1, 0, 0])


@case("bad", "no measurement")
def no_experiment(f):
    put(f, "experiments/dataset", [0, 0, 1, 1])
    put(f, "experiments/id", ["low", "high", "low", "x"])


@case("same", "")
def other_types(f):
    for path in ("doses/target", "doses/count", "inputs/input", "substitutes/by", "experiments/dataset"):
        put(f, path, f[path][...].astype("<f8"))
    put(f, "doses/amount", f["doses/amount"][...].astype("<i2"))


@case("same", "")
def other_orders(f):
    """Names, doses at other times, knots of other inputs: their order means nothing."""
    put(f, "doses/target_names", ["X", "depot"])
    put(f, "doses/target", [0, 0, 1, 0])
    put(f, "doses/time", [0.0, -1.0, 5.0, 1.0])
    put(f, "doses/rate", [0.0, 0.0, 40.0, 0.0])
    put(f, "inputs/time", [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    put(f, "inputs/input", [1, 0, 0, 0, 1, 0, 1, 0, 1])
    put(f, "inputs/value", [1.0, 20.0, 21.0, 20.0, 1.0, 20.0, 1.0, 20.0, 1.0])


@case("bad", 'experiment "low": dose in row 0: is steady, but has no interval above 0')
def steady_without_interval(f):
    f["doses/steady"] = [1, 0, 0, 0]
    f["doses/interval"][0] = 0.0


@case("validate", '/doses/steady row 1 (experiment "high"): is 3; use 1: at steady state, 2: added to what is there')
def unknown_steady(f):
    f["doses/steady"] = [0, 3, 0, 0]


@case("bad", 'experiment "x": dose in row 3: duration is -1, but the model has no duration(X)')
def no_modelled_duration(f):
    f["doses/duration"][3] = -1.0


@case("same", "")
def no_steady(f):
    f["doses/steady"] = [0, 0, 0, 0]


@case("differs", "")
def steady(f):
    f["doses/steady"] = [2, 0, 0, 0]


@case("differs", "")
def duration_for_rate(f):
    put(f, "doses/rate", [0.0, 0.0, 0.0, 2.5])
    put(f, "doses/duration", [0.0, 0.5, 0.0, 0.0])


@case("same", "")
def unused_numbers(f):
    f["doses/interval"][1] = 7.0
    f["substitutes/value"][1] = 3.0


def differs(path, row, value):
    def change(f):
        f[path][row] = value
    change.__name__ = "differs_" + path.replace("/", "_")
    case("differs", "")(change)


for changed in (("experiments/t0", 0, -7.0), ("experiments/covariates", 2, 5.0), ("measurements/experiment", 1, 1),
                ("doses/experiment", 0, 1), ("doses/time", 1, 6.0), ("doses/amount", 1, 21.0), ("doses/rate", 1, 41.0),
                ("doses/duration", 3, 3.0), ("doses/interval", 0, 13.0), ("doses/count", 0, 2), ("doses/target", 0, 0),
                ("inputs/time", 2, 2.0), ("inputs/value", 2, 2.0), ("substitutes/by", 2, 0), ("substitutes/value", 2, 8.0)):
    differs(*changed)


@case("differs", "")
def differs_experiment_id(f):
    put(f, "experiments/id", ["low", "higher", "low", "x"])


@case("differs", "")
def differs_experiment_dataset(f):
    """The same experiments in other datasets."""
    put(f, "experiments/dataset", [0, 1, 1, 2])
    put(f, "experiments/id", ["low", "high", "low", "x"])


@case("differs", "")
def differs_side(f):
    f["measurements/side"] = [0, 0, 1, 0, 0, 0]


@case("differs", "")
def no_doses(f):
    del f["doses"]


@case("differs", "")
def unnamed(f):
    del f["experiments/id"]


def main(folder):
    for name, has_experiments in (("random", True), ("random_datasets", False)):
        with h5py.File(os.path.join(folder, name + ".h5"), "w") as f, \
                open(os.path.join(folder, name + ".txt"), "w", encoding="ascii") as listing:
            write_random(f, listing, random.Random(name), has_experiments)
    with open(os.path.join(folder, "cases.txt"), "w", encoding="utf-8") as table:
        for name, kind, text, change in CASES:
            with h5py.File(os.path.join(folder, name + ".h5"), "w") as f:
                base(f)
                change(f)
            print(name, kind, text, sep="\t", file=table)


if __name__ == "__main__":
    main(sys.argv[1])
