"""Model plugins loaded into Python: their descriptor and their functions called as the program calls them.

SPDX-License-Identifier: BSD-3-Clause

The layout below is that of include/stiffit/model.h, written out a second time.
"""
import ctypes as ct

import numpy as np

ABI_VERSION = 1
DOUBLES, STRINGS = ct.POINTER(ct.c_double), ct.POINTER(ct.c_char_p)


class Point(ct.Structure):
    _fields_ = [("t", ct.c_double)] + [(name, DOUBLES) for name in ("y", "p", "covariate", "input", "work")]


Function = ct.CFUNCTYPE(ct.c_int, ct.POINTER(Point), DOUBLES)


class Descriptor(ct.Structure):
    _fields_ = (
        [(name, ct.c_uint32) for name in ("abi_version", "struct_size")]
        + [(name, ct.c_char_p) for name in ("name", "description")]
        + [(f"n_{name}", ct.c_uint32) for name in ("state", "parameter", "observable", "covariate", "work", "nonzero")]
        + [(f"{name}_name", STRINGS) for name in ("state", "parameter", "observable", "covariate")]
        + [(f"parameter_{name}", DOUBLES) for name in ("start", "lower", "upper")]
        + [(f"parameter_{name}", STRINGS) for name in ("scale", "unit")]
        + [("parameter_use", ct.POINTER(ct.c_uint8)), ("t0", ct.c_double), ("time_unit", ct.c_char_p)]
        + [(name, Function) for name in ("rhs", "initial", "observe", "prepare", "jacobian", "jacobian_sparse")]
        + [(name, ct.POINTER(ct.c_int32)) for name in ("column_start", "row_index")]
        + [(name, Function) for name in ("rhs_parameter", "initial_parameter", "observe_state", "observe_parameter",
                                         "noise", "noise_state", "noise_parameter")]
        + [(name, STRINGS) for name in ("parameter_prior", "parameter_prior_on")]
        + [(f"parameter_prior_{name}", DOUBLES) for name in ("location", "scale", "lower", "upper")])


class Plugin:
    """Names as lists of str, numbers as arrays, functions as methods that return arrays."""

    def __init__(self, path):
        self.library = ct.CDLL(str(path))
        self.d = d = Descriptor.in_dll(self.library, "stiffit_model")
        assert d.abi_version == ABI_VERSION and d.struct_size >= ct.sizeof(Descriptor)
        self.name, self.description = d.name.decode(), d.description and d.description.decode()
        self.time_unit = d.time_unit and d.time_unit.decode()
        self.t0 = d.t0
        self.n, self.n_p, self.n_h, self.n_c = d.n_state, d.n_parameter, d.n_observable, d.n_covariate
        self.states = self.strings(d.state_name, self.n)
        self.parameters = self.strings(d.parameter_name, self.n_p)
        self.observables = self.strings(d.observable_name, self.n_h)
        self.covariates = self.strings(d.covariate_name, self.n_c)
        self.scales, self.units = self.strings(d.parameter_scale, self.n_p), self.strings(d.parameter_unit, self.n_p)
        self.start, self.lower, self.upper, self.use = (
            np.array(values[:self.n_p]) for values in (d.parameter_start, d.parameter_lower, d.parameter_upper,
                                                       d.parameter_use))

    @staticmethod
    def strings(values, n):
        return [(values[i] or b"").decode() for i in range(n)] if values else []

    def shape(self, function):
        """Of what a function writes."""
        rows = self.n_h if function.startswith(("observe", "noise")) else self.n
        columns = {"jacobian": self.n, "state": self.n, "parameter": self.n_p}.get(function.split("_")[-1])
        return (rows,) if columns is None else (rows, columns)

    def has(self, function):
        return bool(getattr(self.d, function)) or function == "jacobian" and bool(self.d.jacobian_sparse)

    def call(self, function, t, y, p, covariate):
        """Its result as an array; a matrix as rows x columns. None where it says that it cannot be computed here."""
        def doubles(values):
            return np.ascontiguousarray(values, dtype=float)
        y, p, covariate, work = doubles(y), doubles(p), doubles(covariate), np.full(max(1, self.d.n_work), np.nan)

        def pointer(values):
            return values.ctypes.data_as(DOUBLES)

        def fill(name, out, at):
            return getattr(self.d, name)(ct.byref(at), pointer(out)) == 0
        if self.d.n_work:
            assert fill("prepare", work, Point(self.t0, None, pointer(p), pointer(covariate), None, None))
        with_work = pointer(work) if self.d.n_work else None
        state = None if function.startswith("initial") else pointer(y)
        at = Point(t, state, pointer(p), pointer(covariate), None, with_work)
        if function == "jacobian" and not self.d.jacobian:
            return self.sparse(at, fill)
        shape = self.shape(function)
        out = np.full(int(np.prod(shape)), np.nan)  # what is not written shows
        return out.reshape(shape, order="F") if fill(function, out, at) else None

    def sparse(self, at, fill):
        values, out = np.full(self.d.n_nonzero, np.nan), np.zeros((self.n, self.n))
        if not fill("jacobian_sparse", values, at):
            return None
        for j in range(self.n):
            for k in range(self.d.column_start[j], self.d.column_start[j + 1]):
                out[self.d.row_index[k], j] = values[k]
        return out
