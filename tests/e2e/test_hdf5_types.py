"""Types, formats and orders of columns that programs write into HDF5 files: what is not read is named, with what to write.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np

import helpers as h

MODEL = "parameter k = 0.5\ny(0) = 1\ny' = -k*y\nobserve y\n"
VALUES = [0.6, 0.4, 0.5, 0.3]


def problem(path, columns=()):
    """columns: by path, data or a function that writes them."""
    every = {"model/source": MODEL, "datasets/id": ["a", "b"], "measurements/dataset": [0, 0, 1, 1],
             "measurements/time": [1.0, 2, 1, 2], "measurements/value": VALUES, **dict(columns)}
    with h5py.File(path, "w") as f:
        f.attrs["stiffit_file"] = "problem"
        f.attrs["format"] = 1
        for name, data in every.items():
            if callable(data):
                data(f, name)
            else:
                f[name] = data
    return path


def as_type(dtype, data):
    return lambda f, name: f.create_dataset(name, data=np.array(data, dtype))


def as_bits(kind, data, dtype):
    """A bit field, which h5py has no dtype for."""
    def write(f, name):
        f.require_group(name.rsplit("/", 1)[0])
        made = h5py.h5d.create(f.id, name.encode(), kind.copy(), h5py.h5s.create_simple((len(data),)))
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array(data, dtype), kind.copy())
    return write


def fitted(tmp, columns=()):
    problem(tmp / "p.h5", columns)
    h.stiffit("run", "p.h5", "-q", "--overwrite", "-o", "r.h5", cwd=tmp, code=(0, 1))
    return h.stiffit("export", "r.h5", "--columns", "id,status,k", cwd=tmp).stdout


def test_numbers_of_any_type(tmp):
    """The right value is the fit of the same numbers as the file's usual types."""
    right = fitted(tmp)
    assert right.count("converged") == 2
    assert fitted(tmp, {"measurements/value": as_type(">f8", VALUES),
                        "measurements/dataset": as_type(">i2", [0, 0, 1, 1])}) == right
    assert fitted(tmp, {"measurements/value": as_type(np.longdouble, VALUES)}) == right
    halves = np.array(VALUES, "f2")
    assert fitted(tmp, {"measurements/value": halves}) == fitted(tmp, {"measurements/value": halves.astype(float)})
    for kind, dtype in ((h5py.h5t.STD_B8LE, "u1"), (h5py.h5t.STD_B32BE, ">u4"), (h5py.h5t.STD_B64LE, "u8")):
        assert fitted(tmp, {"measurements/dataset": as_bits(kind, [0, 0, 1, 1], dtype)}) == right
        given = {"measurements/value": as_bits(kind, [0, 3, 1, 200], dtype)}
        assert fitted(tmp, given) == fitted(tmp, {"measurements/value": [0.0, 3, 1, 200]})
    flags = [0, 0, 0, 1]
    censored = [fitted(tmp, {"measurements/censored": data})
                for data in (as_bits(h5py.h5t.STD_B8LE, flags, "u1"), np.array(flags, bool), flags)]
    assert censored[0] == censored[1] == censored[2] != right


def test_other_types_are_named(tmp):
    seconds = h5py.opaque_dtype("M8[s]")
    for data, words in (
            (as_type("c16", VALUES), "holds complex numbers: write real numbers"),
            (as_type([("a", "f8"), ("b", "i4")], [(1, 2)]*4), "holds records (a compound type): write each field"),
            (lambda f, name: f.create_dataset(name, (4,), h5py.vlen_dtype("f8")), "holds lists of any length"),
            (lambda f, name: f.create_dataset(name, (4,), h5py.ref_dtype), "holds references"),
            (lambda f, name: f.create_dataset(name, (4,), np.dtype(("f8", (2,)))), "holds an array in each row"),
            (as_type(seconds, np.zeros(4, "M8[s]").astype(seconds)), "holds opaque values")):
        problem(tmp / "p.h5", {"measurements/value": data})
        done = h.stiffit("run", "p.h5", "-q", "--overwrite", "-o", "r.h5", cwd=tmp, code=3)
        assert "p.h5: /measurements/value: " + words in done.stderr, done.stderr


def test_format_of_a_newer_library(tmp):
    """A dataset's layout in a version that the library does not know: here version 9, as a newer one would write."""
    def packed(f, name):
        f.create_dataset(name, data=VALUES, chunks=(2,), compression=1)
    problem(tmp / "p.h5", {"measurements/value": packed})
    data = (tmp / "p.h5").read_bytes()
    version_3_chunked = b"\3\2\2"  # version, class, dimensions and one more, in a message of type 8
    places = [at for at in range(len(data)) if data[at:at + 3] == version_3_chunked and data[at - 8:at - 6] == b"\10\0"]
    assert len(places) == 1
    (tmp / "p.h5").write_bytes(data[:places[0]] + b"\x09" + data[places[0] + 1:])
    done = h.stiffit("run", "p.h5", "-q", "-o", "r.h5", cwd=tmp, code=3)
    for words in ("/measurements/value: cannot be opened", "newer HDF5 library", "libver=('earliest', 'v110')", "h5repack"):
        assert words in done.stderr, done.stderr


def test_order_of_columns(tmp):
    """As they were made, if the group tracks it, also in results and in copies of a problem. Else by their names."""
    names = ["plate", "dose", "compound"]
    for tracked, order in ((True, names), (False, sorted(names))):
        def own(f, name, tracked=tracked):
            group = f["datasets"].create_group("columns", track_order=tracked)
            for column in names:
                group[column] = [f"{column[0]}1", f"{column[0]}2"]
        problem(tmp / "p.h5", {"datasets/columns": own})
        h.stiffit("run", "p.h5", "-q", "--overwrite", "-o", "r.h5", cwd=tmp)
        assert h.stiffit("export", "r.h5", cwd=tmp).stdout.startswith("id," + ",".join(order) + ","), order
        h.stiffit("simulate", "--bootstrap", 2, "r.h5", "--id", "a", "-q", "--overwrite", "-o", "s.h5", cwd=tmp)
        h.stiffit("run", "s.h5", "-q", "--overwrite", "-o", "r.h5", cwd=tmp)
        assert h.stiffit("export", "r.h5", cwd=tmp).stdout.startswith("id," + ",".join(order) + ","), order


if __name__ == "__main__":
    h.main()
