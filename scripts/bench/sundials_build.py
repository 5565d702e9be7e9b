"""Which SUNDIALS the program runs on, and whether it was compiled with optimisation: that decides what a ratio means.

SPDX-License-Identifier: BSD-3-Clause
"""
import ctypes
import os
import re
import subprocess
import tempfile
import time

import numpy as np


def library_path(program):
    """The libsundials_cvodes that the dynamic linker picks for this program."""
    linked = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    found = re.search(r"libsundials_cvodes\S* => (\S+)", linked)
    return os.path.realpath(found.group(1)) if found else None


LOOP = """
void loop(double a, const double *x, double b, const double *y, double *z, long n)
{
    for (long i = 0; i < n; i++)
        z[i] = a * x[i] + b * y[i];
}
"""


def best_ns(call, n, repeats=2000):
    """Nanoseconds per element of call(), the best of several runs."""
    best = np.inf
    for _ in range(7):
        began = time.perf_counter()
        for _ in range(repeats):
            call()
        best = min(best, time.perf_counter() - began)
    return 1e9 * best / repeats / n


def library_cost(path, n):
    """Of N_VLinearSum_Serial in that library."""
    library = ctypes.CDLL(path)
    context = ctypes.c_void_p()
    library.SUNContext_Create.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
    library.SUNContext_Create(None, ctypes.byref(context))
    library.N_VNew_Serial.restype = ctypes.c_void_p
    library.N_VNew_Serial.argtypes = [ctypes.c_int64, ctypes.c_void_p]
    vectors = [ctypes.c_void_p(library.N_VNew_Serial(n, context)) for _ in range(3)]
    library.N_VConst_Serial.argtypes = [ctypes.c_double, ctypes.c_void_p]
    for vector in vectors:
        library.N_VConst_Serial(1.5, vector)
    linear_sum = library.N_VLinearSum_Serial
    linear_sum.restype = None
    linear_sum.argtypes = [ctypes.c_double, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p]
    return best_ns(lambda: linear_sum(2.0, vectors[0], 3.0, vectors[1], vectors[2]), n)


def loop_cost(flag, n):
    """Of the same loop compiled here with `flag`."""
    with tempfile.TemporaryDirectory() as folder:
        plugin = os.path.join(folder, "loop.so")
        subprocess.run([os.environ.get("CC", "cc"), flag, "-fPIC", "-shared", "-o", plugin, "-xc", "-"], input=LOOP,
                       text=True, check=True)
        loop = ctypes.CDLL(plugin).loop
    pointer = ctypes.POINTER(ctypes.c_double)
    loop.restype = None
    loop.argtypes = [ctypes.c_double, pointer, ctypes.c_double, pointer, pointer, ctypes.c_long]
    arrays = [(ctypes.c_double * n)(*[1.5] * n) for _ in range(3)]
    return best_ns(lambda: loop(2.0, arrays[0], 3.0, arrays[1], arrays[2], n), n)


def describe(program, n=2000):
    """{path, version, optimised, and the measured nanoseconds per element that say so}"""
    path = library_path(program)
    if not path:
        return {"path": None, "version": "linked into the program", "optimised": None}
    library = ctypes.CDLL(path)
    version = ctypes.create_string_buffer(64)
    library.SUNDIALSGetVersion(version, 64)
    theirs, without, optimised = library_cost(path, n), loop_cost("-O0", n), loop_cost("-O2", n)
    return {"path": path, "version": version.value.decode(), "linear_sum_ns": round(theirs, 3),
            "same_loop_O0_ns": round(without, 3), "same_loop_O2_ns": round(optimised, 3),
            "optimised": bool(theirs < (without * optimised) ** 0.5)}


if __name__ == "__main__":
    import sys
    print(describe(sys.argv[1]))
