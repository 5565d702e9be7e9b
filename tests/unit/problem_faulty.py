"""Problem files with one fault each, and what must be said about it.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np

from problem_base import TIMES, case, put


@case("open", "has no attribute @stiffit_file; if it is meant as a problem")
def no_kind(f):
    del f.attrs["stiffit_file"]


@case("open", "is a result file")
def result(f):
    f.attrs["stiffit_file"] = "result"


@case("open", '@stiffit_file is "poblem"')
def other_kind(f):
    f.attrs["stiffit_file"] = "poblem"


@case("open", "has no attribute @format")
def no_format(f):
    del f.attrs["format"]


@case("open", "@format is 2; this version")
def newer_format(f):
    f.attrs["format"] = 2


@case("open", "/measurements/sgima: unknown name; did you mean /measurements/sigma?")
def mistyped_column(f):
    f["measurements/sgima"] = f["measurements/sigma"]


@case("open", "/paramters: unknown name; did you mean /parameters?")
def mistyped_group(f):
    f.create_group("paramters")


@case("open", "/datasets/colour: unknown name; data of your own belong in /user")
def unknown_column(f):
    f["datasets/colour"] = [1, 2, 3]


@case("open", "/model @pluggin: unknown attribute; did you mean @plugin?")
def mistyped_attribute(f):
    f["model"].attrs["pluggin"] = "x.so"


@case("open", "more than one of @plugin, plugin and source")
def two_models(f):
    f["model"].attrs["plugin"] = "x.so"


@case("open", "/model @sha256: must be 64 hexadecimal digits")
def bad_sha(f):
    f["model"].attrs["sha256"] = "abc"


@case("open", "/datasets/id is missing")
def no_ids(f):
    del f["datasets/id"]


@case("open", "/datasets/id: must be strings; write numbers as text")
def ids_are_numbers(f):
    put(f, "datasets/id", [1, 2, 3])


@case("open", "/measurements/value is missing")
def no_values(f):
    del f["measurements/value"]


@case("open", "/measurements/time: has 5 rows, but /measurements/dataset has 6")
def lengths_disagree(f):
    put(f, "measurements/time", TIMES[:5])


@case("open", "/measurements/time: is 3 x 2; one column is expected")
def time_is_a_matrix(f):
    put(f, "measurements/time", np.ones((3, 2)))


@case("open", "has 3 dimensions")
def three_dimensions(f):
    put(f, "measurements/time", np.ones((3, 2, 1)))


@case("open", "/measurements/value: must be numbers")
def values_are_strings(f):
    put(f, "measurements/value", ["1"] * 6)


@case("open", "holds records (a compound type)")
def compound(f):
    put(f, "measurements/value", np.zeros(6, dtype=[("a", "f8")]))


@case("open", "/measurements/time: is compressed with a filter that this HDF5 library cannot read (lzf, filter 32000)")
def unknown_filter(f):
    put(f, "measurements/time", f["measurements/time"][...], chunks=(4,), compression="lzf")


@case("open", "/measurements/time: is a group; a dataset is expected")
def column_is_a_group(f):
    del f["measurements/time"]
    f.create_group("measurements/time")


@case("open", "/parameters/start: is transposed: 2 x 3 where datasets x parameters = 3 x 2")
def transposed(f):
    put(f, "parameters/start", np.ones((2, 3)))


@case("open", "/datasets/covariates: is 2 x 3 where datasets x covariates = 3 x 2 is expected; it is transposed")
def transposed_covariates(f):
    put(f, "datasets/covariates", np.ones((2, 3)))


@case("open", "/parameters/upper: has 3 values; expected are 2 (one per parameter) or 3 x 2")
def too_many_bounds(f):
    put(f, "parameters/upper", [1, 2, 3])


@case("open", '/parameters/name: "k" appears more than once')
def parameter_twice(f):
    put(f, "parameters/name", ["k", "k"])


@case("open", '/parameters/scale row 1: "ln" is not a scale; use lin, log or log10')
def unknown_scale(f):
    put(f, "parameters/scale", ["lin", "ln"])


@case("open", "/datasets/covariates: needs /datasets/covariate_names")
def nameless_covariates(f):
    del f["datasets/covariate_names"]


@case("open", "/datasets/t0: has 2 values")
def two_t0(f):
    put(f, "datasets/t0", [0, 0])


@case("open", "/options/rtol: options are attributes of /options")
def option_as_dataset(f):
    f["options/rtol"] = 1e-3


@case("open", "/options @list: must be one value")
def option_list(f):
    f.create_group("options").attrs["list"] = [1, 2]


@case("open", "/datasets/id: is not a dataset of this file (links to other files are not followed)")
def external_link(f):
    del f["datasets/id"]
    f["datasets/id"] = h5py.ExternalLink("base.h5", "/datasets/id")


@case("open", "/datasets: must be a group of this file")
def external_group(f):
    del f["datasets"]
    f["datasets"] = h5py.ExternalLink("base.h5", "/datasets")


@case("open", "/datasets/id: is not a dataset of this file")
def soft_link_through_external(f):
    del f["datasets/id"]
    f["user/elsewhere"] = h5py.ExternalLink("base.h5", "/datasets")
    f["datasets/id"] = h5py.SoftLink("/user/elsewhere/id")


@case("open", "/measurements/time: is stored in other files")
def external_storage(f):
    del f["measurements/time"]
    f.create_dataset("measurements/time", shape=(6,), dtype="f8", external=[("/etc/passwd", 0, 48)])


@case("open", "/measurements/time: is stored in other files")
def virtual_dataset(f):
    del f["measurements/time"]
    layout = h5py.VirtualLayout(shape=(6,), dtype="f8")
    layout[:] = h5py.VirtualSource("base.h5", "measurements/time", shape=(6,))
    f.create_virtual_dataset("measurements/time", layout)


@case("open", "claims 1000000000000 rows but holds only 0 bytes")
def claims_too_much(f):
    for name in ("dataset", "time", "value", "sigma", "observable"):
        del f["measurements/" + name]
        f.create_dataset("measurements/" + name, shape=(10**12,), dtype="f8", chunks=(1000,))


@case("open", "4 faults:\n  ")
def several_faults(f):
    del f["measurements/value"]
    f["datasets/idd"] = 1
    put(f, "parameters/upper", [1, 2, 3])
    put(f, "parameters/scale", ["lin", "ln"])


@case("open", "and 10 more")
def many_faults(f):
    for i in range(30):
        f["datasets/mine%02d" % i] = 1


@case("validate", 'the model test has no parameter "bb"; did you mean "b"?')
def unknown_parameter(f):
    put(f, "parameters/name", ["k", "bb"])


@case("validate", 'the model\'s parameter "b" is missing')
def missing_parameter(f):
    put(f, "parameters/name", ["k", "bb"])


@case("validate", "/parameters/lower row 0 (k): is 9, above the upper bound 8")
def crossed_bounds(f):
    put(f, "parameters/lower", [9.0, 0.0])


@case("validate", "/parameters/start row 0 (k): is 0; with scale log10 it must be > 0")
def log_of_zero(f):
    put(f, "parameters/start", [0.0, 1.0])
    put(f, "parameters/lower", [0.0, -np.inf])  # else a fit begins at the bound


@case("validate", "/parameters/start row 1 (b): is nan; it must be finite")
def start_is_nan(f):
    put(f, "parameters/start", [1.0, np.nan])


@case("validate", "/parameters/upper row 1 (b): is nan")
def bound_is_nan(f):
    put(f, "parameters/upper", [1.0, np.nan])


@case("validate", 'needs the covariate "dose"; is it "Dose"?')
def missing_covariate(f):
    put(f, "datasets/covariate_names", ["unused", "Dose"])


@case("validate", 'the model test has no observable "C"')
def unknown_observable(f):
    put(f, "measurements/observable_names", ["B", "C"])


@case("validate", "/measurements/observable_names is missing: the model test has 2 observables")
def nameless_observables(f):
    del f["measurements/observable_names"]


@case("validate", '/measurements/observable row 5 (dataset "a long one"): is 2, but there are 2 observables')
def observable_out_of_range(f):
    f["measurements/observable"][5] = 2


@case("validate", '/measurements/dataset row 3: is 0 (dataset "a") after 1; rows must be sorted by dataset')
def datasets_decrease(f):
    f["measurements/dataset"][3] = 0


@case("validate", "/measurements/dataset row 5: is 3, but there are 3 datasets")
def counted_from_one(f):
    put(f, "measurements/dataset", [1, 1, 2, 2, 2, 3])


@case("validate", "/measurements/dataset row 0: is -1")
def negative_dataset(f):
    f["measurements/dataset"][0] = -1


@case("validate", "/measurements/dataset row 2: is not a whole number")
def fractional_dataset(f):
    put(f, "measurements/dataset", [0, 0, 1.5, 2, 2, 2])


@case("validate", '/datasets/id row 2: "a" already appears in row 0')
def id_twice(f):
    put(f, "datasets/id", ["a", "b", "a"])


@case("validate", "/datasets/id row 1: is empty")
def id_empty(f):
    put(f, "datasets/id", ["a", "", "c"])


@case("validate", "/measurements: has 6 rows, but /datasets/id is empty")
def rows_of_nobody(f):
    put(f, "datasets/id", np.array([], dtype=object), dtype=h5py.string_dtype(), maxshape=(None,))
    put(f, "datasets/covariates", np.zeros((0, 2)))
    put(f, "datasets/t0", 0.0)


@case("bad", "row 3: time is NaN")
def time_nan(f):
    f["measurements/time"][3] = np.nan


@case("bad", "row 2: value is infinite")
def value_inf(f):
    f["measurements/value"][2] = np.inf


@case("bad", "row 2: sigma is -0.5; it must be > 0")
def sigma_negative(f):
    f["measurements/sigma"][2] = -0.5


@case("bad", "row 2: sigma is 0; it must be > 0")
def sigma_zero(f):
    f["measurements/sigma"][2] = 0


@case("bad", "row 2: time is 0.5, before t0 = 0.75")
def before_t0(f):
    f["datasets/t0"][1] = 0.75


@case("bad", "t0 is +inf, which is reserved for steady state")
def steady_state(f):
    f["datasets/t0"][1] = np.inf


@case("bad", "covariate dose is nan")
def covariate_nan(f):
    f["datasets/covariates"][1, 1] = np.nan


@case("bad", "no measurement")
def no_rows(f):
    put(f, "measurements/dataset", [0, 0, 0, 2, 2, 2])


@case("bad", "no measurement")
def all_missing(f):
    f["measurements/value"][2] = np.nan


@case("bad", "start of k is -1; with scale log10 it must be > 0")
def one_start(f):
    put(f, "parameters/start", [[1, 1], [-1, 1], [1, 1]])
    put(f, "parameters/lower", [0.0, -np.inf])


@case("bad", "lower bound of k is 9, above its upper bound 8")
def one_bound(f):
    put(f, "parameters/lower", [[1, 1], [9, 1], [1, 1]])


@case("bad", "start of b is inf")
def one_start_inf(f):
    put(f, "parameters/start", [[1, 1], [1, np.inf], [1, 1]])
