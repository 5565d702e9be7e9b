"""Problem files that are valid: other ways of storing the same values, and other values.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np

from problem_base import IDS, TIMES, case, put, put_strings, retype


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


@case("same")
def nothing_censored(f):
    put(f, "measurements/censored", np.zeros(6))


@case("same")
def no_priors(f):
    put(f, "parameters/prior", ["none", "none"])
    put(f, "parameters/prior_scale", [0.0, np.nan])


@case("differs")
def something_censored(f):
    put(f, "measurements/censored", np.array([0, 0, 0, 1, 0, -1], "i1"))


@case("differs")
def a_prior(f):
    put(f, "parameters/prior", ["normal", "none"])
    put(f, "parameters/prior_location", np.array([[1.0, 0.0]], "f4"))
    put(f, "parameters/prior_scale", [0.5, 0.0])


@case("same")
def empty_groups(f):
    for path in ("doses/dataset", "doses/time", "doses/amount", "inputs/dataset", "inputs/time", "inputs/value",
                 "substitutes/dataset", "substitutes/value"):
        f[path] = np.zeros(0)
    f["measurements/side"] = np.zeros(6, dtype="i1")
