"""Calls the functions of a compiled model through ctypes, as the program does, and watches what they write.

SPDX-License-Identifier: BSD-3-Clause
"""
import ctypes

import numpy as np

DOUBLES = ctypes.POINTER(ctypes.c_double)
STRINGS = ctypes.POINTER(ctypes.c_char_p)


class Point(ctypes.Structure):
    _fields_ = [("t", ctypes.c_double)] + [(name, ctypes.c_void_p) for name in ("y", "p", "covariate", "input", "work")]


FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Point), ctypes.c_void_p)


class LanesPoint(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("t", "y", "p", "covariate", "work", "direction")]


N_LANE = 8
LANES_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.POINTER(LanesPoint), ctypes.c_void_p)


class Pattern(ctypes.Structure):
    _fields_ = [("start", ctypes.POINTER(ctypes.c_int32)), ("row", ctypes.POINTER(ctypes.c_int32))]

    def entries(self, n_column):
        """(row, column) of each entry, in order."""
        return [(self.row[k], j) for j in range(n_column) for k in range(self.start[j], self.start[j + 1])]


class Lanes(ctypes.Structure):
    """struct stiffit_lanes"""
    _fields_ = [("struct_size", ctypes.c_uint32), ("n_lane", ctypes.c_uint32),
                *[(name, LANES_FUNCTION) for name in ("rhs", "derive", "curve")],
                *[(name, Pattern) for name in ("by_state", "by_parameter", "curve_state", "curve_parameter")],
                ("algebra", ctypes.c_void_p), ("observe", LANES_FUNCTION), ("observe_state", Pattern),
                ("observe_parameter", Pattern), ("opencl", ctypes.c_void_p), ("calls", ctypes.c_char_p),
                ("noise", LANES_FUNCTION), ("noise_state", Pattern), ("noise_parameter", Pattern)]


def lanes_of(columns):
    """An array of len(columns[0]) numbers in 8 lanes, at a multiple of 64 bytes, from one sequence for each lane."""
    n = len(columns[0]) * N_LANE
    room = np.empty(n + 8)
    numbers = room[-room.ctypes.data // 8 % 8:][:n]
    numbers[:] = np.asarray(columns, float).T.ravel()
    return numbers


BYTES = ctypes.POINTER(ctypes.c_uint8)


class Descriptor(ctypes.Structure):
    """struct stiffit_model of include/stiffit/model.h"""
    _fields_ = [("abi_version", ctypes.c_uint32), ("struct_size", ctypes.c_uint32), ("name", ctypes.c_char_p),
                ("description", ctypes.c_char_p), *[(name, ctypes.c_uint32) for name
                                                    in ("n_state", "n_parameter", "n_observable", "n_covariate",
                                                        "n_work", "n_nonzero")],
                *[(name, STRINGS) for name in ("state_name", "parameter_name", "observable_name", "covariate_name")],
                *[(name, DOUBLES) for name in ("parameter_start", "parameter_lower", "parameter_upper")],
                ("parameter_scale", STRINGS), ("parameter_unit", STRINGS), ("parameter_use",
                                                                            ctypes.POINTER(ctypes.c_uint8)),
                ("t0", ctypes.c_double), ("time_unit", ctypes.c_char_p), *[(name, FUNCTION) for name
                                                                           in ("rhs", "initial", "observe", "prepare",
                                                                               "jacobian", "jacobian_sparse")],
                ("column_start", ctypes.POINTER(ctypes.c_int32)), ("row_index", ctypes.POINTER(ctypes.c_int32)),
                *[(name, FUNCTION) for name in ("rhs_parameter", "initial_parameter", "observe_state",
                                                "observe_parameter", "noise", "noise_state", "noise_parameter")],
                *[(f"parameter_prior{name}", STRINGS) for name in ("", "_on")],
                *[(f"parameter_prior_{name}", DOUBLES) for name in ("location", "scale", "lower", "upper")],
                ("observable_error", STRINGS),
                ("n_switching", ctypes.c_uint32), ("n_forcing", ctypes.c_uint32), ("switching", FUNCTION),
                ("switching_parameter", ctypes.POINTER(ctypes.c_uint8)), ("forcing", FUNCTION),
                ("lanes", ctypes.POINTER(Lanes)),
                *[(f"switching_{name}", FUNCTION) for name in ("time", "time_parameter", "state", "slope")],
                ("n_input", ctypes.c_uint32), ("n_event", ctypes.c_uint32), ("input_name", STRINGS), ("input_linear", BYTES),
                *[(name, FUNCTION) for name in ("lag", "lag_parameter", "bioavailability", "bioavailability_parameter")],
                ("event_name", STRINGS), ("event_kind", BYTES),
                *[(f"event_{name}", FUNCTION) for name in ("when", "when_state", "when_parameter", "assign", "assign_state",
                                                           "assign_parameter", "delay", "delay_parameter", "priority",
                                                           "delay_state")],
                ("event_assigned", BYTES), ("forcing_range", ctypes.c_void_p), ("infusion_kind", BYTES),
                ("infusion", FUNCTION), ("infusion_parameter", FUNCTION), ("max_step", ctypes.c_double),
                ("nonnegative_start", ctypes.c_void_p), ("nonnegative_need", ctypes.c_void_p)]


class Plugin:
    """A loaded model. Calls check that nothing is written beyond `out`; `out` holds NaN on entry."""

    def __init__(self, path, symbol="stiffit_model"):
        self.library = ctypes.CDLL(str(path))
        self.model = Descriptor.in_dll(self.library, symbol)
        assert self.model.abi_version == 1 and self.model.struct_size == ctypes.sizeof(Descriptor), "descriptor"

    def __getattr__(self, name):
        return getattr(self.model, name)

    def names(self, what, count=None):
        array = getattr(self.model, f"{what}_name")
        count = getattr(self.model, f"n_{what}") if count is None else count
        return [array[i].decode() for i in range(count)]

    def numbers(self, what):
        array = getattr(self.model, f"parameter_{what}")
        return [array[i] for i in range(self.n_parameter)] if array else None

    def labels(self, what):
        array = getattr(self.model, f"parameter_{what}")
        return [array[i] for i in range(self.n_parameter)] if array else None

    def pattern(self):
        """Set of (row, column) of the sparse Jacobian, in order; None without one."""
        if not self.jacobian_sparse:
            return None
        starts = self.column_start[:self.n_state + 1]
        assert starts[0] == 0 and starts[-1] == self.n_nonzero, "pattern"
        found = []
        for column in range(self.n_state):
            rows = self.row_index[starts[column]:starts[column + 1]]
            assert sorted(set(rows)) == rows and all(0 <= row < self.n_state for row in rows), "rows of the pattern"
            found += [(row, column) for row in rows]
        return found

    def at(self, t, y, p, covariate):
        """A point to call with: (Point for functions of the state, Point for those without), after `prepare`."""
        # Whatever is read beyond its end is NaN, and shows in the result.
        kept = [np.append(np.asarray(values, float), [np.nan] * 4) for values in (y, p, covariate)]
        addresses = [values.ctypes.data for values in kept]
        work = np.full(self.n_work + 4, np.nan)
        start = Point(self.t0, None, *addresses[1:], None, None)
        start.kept = kept
        if self.n_work:
            assert self.prepare, "n_work without prepare"
            code = self.model.prepare(start, work.ctypes.data)
            assert code == 0 and np.isnan(work[self.n_work:]).all(), "prepare"
        point = Point(t, *addresses, None, work.ctypes.data if self.n_work else None)
        start = Point(t, None, *addresses[1:], None, work.ctypes.data if self.n_work else None)
        point.kept = start.kept = [*kept, work]
        return point, start

    def call_lanes(self, name, points, n):
        """n numbers for each of 8 points, as `at` gives them (or None: NaN, infinity and 0), with a direction each."""
        kept = next(point for point in points if point).kept
        sizes = (1, self.n_state, self.n_parameter, self.n_covariate, self.n_work, self.n_state + 1)
        strange = [np.array([np.nan, np.inf, 0.0] * (m + 1))[:m] for m in sizes]
        arrays = [[[point.t], *point.kept, point.direction] if point else strange for point in points]
        inputs = [lanes_of([array[i][:m] for array in arrays]) for i, m in enumerate(sizes)]
        out = lanes_of([[1234.5] * (n + 1)] * N_LANE)
        getattr(self.model.lanes.contents, name)(LanesPoint(*(values.ctypes.data for values in inputs)), out.ctypes.data)
        assert (out[n * N_LANE:] == 1234.5).all() and kept, f"lanes: {name} wrote beyond its array"
        return out[:n * N_LANE].reshape(n, N_LANE).T

    def call(self, name, point, n):
        """(return code, n values)"""
        out = np.full(n + 2, np.nan)
        out[0] = out[-1] = 1234.5
        code = getattr(self.model, name)(point, out[1:].ctypes.data)
        assert out[0] == out[-1] == 1234.5, f"{name} wrote beyond its array"
        return code, out[1:-1]
