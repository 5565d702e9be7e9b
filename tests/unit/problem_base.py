"""What the modules of problem files for tests share: the valid file that all start from, and the list of its variants.

SPDX-License-Identifier: BSD-3-Clause
"""
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
