#!/usr/bin/python3
"""Writes problem files with h5py, one for each way of storing them and for each fault, and cases.txt beside them.

SPDX-License-Identifier: BSD-3-Clause

Each line of cases.txt is NAME, KIND and TEXT, tab-separated. KIND: same (valid, the very values of base.h5), differs
(valid, other values), open or validate (refused there; the message has TEXT), bad (valid; one dataset's fault has
TEXT).
"""
import os
import sys

import h5py
import numpy as np

CASES = []


def case(kind, text=""):
    def add(change):
        CASES.append((change.__name__, kind, text, change))
        return change
    return add


def base(f):
    f.attrs["stiffit_file"] = "problem"
    f.attrs["format"] = 1
    f["model/source"] = "k' = 0"
    f["parameters/name"] = ["k", "b"]
    f["parameters/start"] = [0.5, -2.0]
    f["parameters/lower"] = [0.25, -np.inf]
    f["parameters/upper"] = [8.0, np.inf]
    f["parameters/scale"] = ["log10", "lin"]
    f["parameters/fixed"] = [0, 1]
    f["datasets/id"] = ["a", "b\u00e9", "a long one"]
    f["datasets/covariate_names"] = ["unused", "dose"]
    f["datasets/covariates"] = [[9.0, 1.0], [9.0, 2.0], [9.0, 4.0]]
    f["datasets/t0"] = [0.0, 0.5, 0.0]
    f["measurements/dataset"] = [0, 0, 1, 2, 2, 2]
    f["measurements/time"] = [2.0, 1.0, 0.5, 1.0, 2.0, 2.0]
    f["measurements/value"] = [1.0, np.nan, -3.0, 0.25, 0.0, 7.0]
    f["measurements/observable_names"] = ["B", "A"]
    f["measurements/observable"] = [0, 1, 1, 0, 0, 1]
    f["measurements/sigma"] = [1.0, np.nan, 0.5, 2.0, 0.125, 1.0]


def put(f, path, value, **more):
    if path in f:
        del f[path]
    f.create_dataset(path, data=value, **more)


def retype(f, path, dtype):
    put(f, path, f[path][...].astype(dtype))


def put_strings(f, path, values, padding, cset, size=None):
    """Fixed strings as other languages write them."""
    kind = h5py.h5t.C_S1.copy()
    encoded = [v.encode() for v in values]
    longest = size or max(len(v) for v in encoded) + (padding == h5py.h5t.STR_NULLTERM)
    kind.set_size(longest)
    kind.set_strpad(padding)
    kind.set_cset(cset)
    fill = b" " if padding == h5py.h5t.STR_SPACEPAD else b"\0"
    data = np.array([v.ljust(longest, fill) for v in encoded], dtype="S%d" % longest)
    if path in f:
        del f[path]
    space = h5py.h5s.create_simple((len(values),))
    h5py.h5d.create(f.id, path.encode(), kind, space).write(h5py.h5s.ALL, h5py.h5s.ALL, data, kind)


IDS = ["a", "b\u00e9", "a long one"]
TIMES = [2.0, 1.0, 0.5, 1.0, 2.0, 2.0]


@case("same")
def int32_float32(f):
    for name in ("dataset", "observable"):
        retype(f, "measurements/" + name, "<i4")
    for name in ("time", "value", "sigma"):
        retype(f, "measurements/" + name, "<f4")
    retype(f, "parameters/fixed", "i1")


@case("same")
def big_endian(f):
    for name in ("dataset", "observable"):
        retype(f, "measurements/" + name, ">u2")
    for name in ("measurements/time", "measurements/value", "parameters/start", "datasets/covariates"):
        retype(f, name, ">f8")


@case("same")
def indices_as_doubles(f):
    retype(f, "measurements/dataset", "<f8")
    retype(f, "measurements/observable", "<f4")
    retype(f, "parameters/fixed", "<f8")


@case("same")
def half_and_uint64(f):
    retype(f, "measurements/time", "<f2")
    retype(f, "measurements/dataset", "<u8")


@case("same")
def fixed_is_bool(f):
    retype(f, "parameters/fixed", bool)


@case("same")
def null_terminated_utf8(f):
    put_strings(f, "datasets/id", IDS, h5py.h5t.STR_NULLTERM, h5py.h5t.CSET_UTF8)


@case("same")
def null_padded_utf8(f):
    put_strings(f, "datasets/id", IDS, h5py.h5t.STR_NULLPAD, h5py.h5t.CSET_UTF8)


@case("same")
def space_padded_ascii(f):
    put_strings(f, "datasets/id", IDS, h5py.h5t.STR_SPACEPAD, h5py.h5t.CSET_ASCII, 40)
    put_strings(f, "parameters/name", ["k", "b"], h5py.h5t.STR_SPACEPAD, h5py.h5t.CSET_ASCII, 8)
    put_strings(f, "parameters/scale", ["log10", "lin"], h5py.h5t.STR_SPACEPAD, h5py.h5t.CSET_ASCII)


@case("same")
def variable_ascii(f):
    put(f, "parameters/name", np.array([b"k", b"b"], dtype=object), dtype=h5py.string_dtype("ascii"))
    put(f, "measurements/observable_names", np.array([b"B", b"A"], dtype=object), dtype=h5py.string_dtype("ascii"))


@case("same")
def gzip_chunks(f):
    for name in ("dataset", "observable", "time", "value", "sigma"):
        path = "measurements/" + name
        put(f, path, f[path][...], chunks=(4,), compression="gzip", shuffle=True, maxshape=(None,))
    put(f, "datasets/id", f["datasets/id"][...], chunks=(2,), compression="gzip", dtype=h5py.string_dtype())


@case("same")
def tables_per_dataset(f):
    for name in ("start", "lower", "upper", "fixed"):
        put(f, "parameters/" + name, np.tile(f["parameters/" + name][...], (3, 1)), chunks=(2, 1))


@case("same")
def columns_and_rows(f):
    put(f, "measurements/time", np.array(TIMES)[:, None])
    put(f, "measurements/value", f["measurements/value"][...][None, :])
    put(f, "datasets/id", np.array(IDS, dtype=object)[:, None], dtype=h5py.string_dtype())
    put(f, "parameters/start", [[0.5], [-2.0]])
    put(f, "parameters/upper", [[8.0, np.inf]])


@case("same")
def other_order_of_observables(f):
    put(f, "measurements/observable_names", ["A", "B"])
    put(f, "measurements/observable", 1 - f["measurements/observable"][...])


@case("same")
def zero_has_no_sign(f):
    put(f, "datasets/t0", [-0.0, 0.5, 0.0])
    put(f, "measurements/value", [1.0, np.nan, -3.0, 0.25, -0.0, 7.0])


@case("same")
def soft_link_within_the_file(f):
    f["user/ids"] = f["datasets/id"]
    del f["datasets/id"]
    f["datasets/id"] = h5py.SoftLink("/user/ids")


@case("same")
def user_data_result_and_options(f):
    f["user/anything"] = "goes"
    f["fits/id"] = IDS
    f.create_group("provenance")
    f["parameters/unit"] = ["1/s", ""]
    options = f.create_group("options").attrs
    options["rtol"] = 1e-7
    options["starts"] = 4
    options["linear-solver"] = "dense"
    options["trust"] = np.array([b"no"], dtype="S8")


@case("differs")
def other_value(f):
    f["measurements/value"][5] = 7.000001


@case("differs")
def other_id(f):
    f["datasets/id"][0] = "A"


@case("differs")
def other_sigma(f):
    f["measurements/sigma"][1] = 1.0


@case("differs")
def other_bound_of_one_dataset(f):
    lower = np.tile(f["parameters/lower"][...], (3, 1))
    lower[2, 0] = 0.125
    put(f, "parameters/lower", lower)


@case("differs")
def other_scale(f):
    put(f, "parameters/scale", ["log", "lin"])


@case("differs")
def rows_in_another_order(f):
    for name in ("time", "value", "sigma", "observable"):
        values = f["measurements/" + name][...]
        values[[3, 4]] = values[[4, 3]]
        put(f, "measurements/" + name, values)


@case("differs")
def model_defaults(f):
    del f["parameters"]


@case("differs")
def no_names_means_the_models_order(f):
    del f["parameters/name"]
    del f["parameters/scale"]
    put(f, "parameters/start", [3.0, 0.5])


@case("differs")
def empty_run(f):
    for name in ("dataset", "time", "value", "sigma", "observable"):
        put(f, "measurements/" + name, np.zeros(0))
    put(f, "datasets/id", np.array([], dtype=object), dtype=h5py.string_dtype(), maxshape=(None,))
    put(f, "datasets/covariates", np.zeros((0, 2)))
    put(f, "datasets/t0", np.zeros(0))


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


@case("open", "is neither numbers nor strings")
def compound(f):
    put(f, "measurements/value", np.zeros(6, dtype=[("a", "f8")]))


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


@case("open", '/parameters/name: "k" is there more than once')
def parameter_twice(f):
    put(f, "parameters/name", ["k", "k"])


@case("open", '/parameters/scale row 1: "ln" is no scale; use lin, log or log10')
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


@case("open", "/datasets/id: is no dataset of this file (links to other files are not followed)")
def external_link(f):
    del f["datasets/id"]
    f["datasets/id"] = h5py.ExternalLink("base.h5", "/datasets/id")


@case("open", "/datasets: must be a group of this file")
def external_group(f):
    del f["datasets"]
    f["datasets"] = h5py.ExternalLink("base.h5", "/datasets")


@case("open", "/datasets/id: is no dataset of this file")
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


@case("validate", '/datasets/id row 2: "a" is there already in row 0')
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


@case("bad", "time of row 3 is NaN")
def time_nan(f):
    f["measurements/time"][3] = np.nan


@case("bad", "value of row 2 is infinite")
def value_inf(f):
    f["measurements/value"][2] = np.inf


@case("bad", "sigma of row 2 is -0.5; it must be > 0")
def sigma_negative(f):
    f["measurements/sigma"][2] = -0.5


@case("bad", "sigma of row 2 is 0; it must be > 0")
def sigma_zero(f):
    f["measurements/sigma"][2] = 0


@case("bad", "time of row 2 is 0.5, before t0 = 0.75")
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


@case("bad", "lower bound of k is 9, above its upper bound 8")
def one_bound(f):
    put(f, "parameters/lower", [[1, 1], [9, 1], [1, 1]])


@case("bad", "start of b is inf")
def one_start_inf(f):
    put(f, "parameters/start", [[1, 1], [1, np.inf], [1, 1]])


def main(folder):
    with h5py.File(os.path.join(folder, "base.h5"), "w") as f:
        base(f)
    with open(os.path.join(folder, "cases.txt"), "w", encoding="utf-8") as table:
        for name, kind, text, change in CASES:
            with h5py.File(os.path.join(folder, name + ".h5"), "w") as f:
                base(f)
                change(f)
            print(name, kind, text.replace("\n", "\\n"), sep="\t", file=table)


if __name__ == "__main__":
    main(sys.argv[1])
