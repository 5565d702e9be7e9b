"""Runs on a device of OpenCL, for which pocl will do.

SPDX-License-Identifier: BSD-3-Clause
"""
import subprocess
import sys

import helpers as h

WITHOUT_DEVICE = []  # look_for_device's answer, once it is known


def environment(**changes):
    return h.environment(**{"POCL_CACHE_DIR": str(h.BUILD / "tests/pocl"), "STIFFIT_GPU_LEAST": "1", **changes})


# What an OpenCL driver does first; pocl aborts in it without /sys, say.
LOOK = """
import ctypes
cl = ctypes.CDLL("libOpenCL.so.1")
platform, n = (ctypes.c_void_p * 16)(), ctypes.c_uint()
if cl.clGetPlatformIDs(16, platform, ctypes.byref(n)) == 0:
    for i in range(n.value):
        cl.clGetDeviceIDs(ctypes.c_void_p(platform[i]), ctypes.c_ulong(0xffffffff), 0, None, ctypes.byref(ctypes.c_uint()))
"""


def need_device(tmp):
    """Skips where OpenCL has no device, or a driver that does not survive the question for devices."""
    if not WITHOUT_DEVICE:
        WITHOUT_DEVICE.append(look_for_device(tmp))
    if WITHOUT_DEVICE[0]:
        h.skip(WITHOUT_DEVICE[0])


def look_for_device(tmp):
    """What is missing, or ""."""
    look = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, env=environment(), check=False)
    if look.returncode < 0:
        return f"OpenCL's driver dies of signal {-look.returncode}: {look.stderr.strip()}"
    h.stiffit("simulate", "-m", h.ROOT / "models/robertson/robertson.ode", "--times", "0.5:2:0.5", "--datasets", 1,
              "-o", tmp / "one.h5")  # a kernel that other tests need, too: compiling one takes seconds
    done = h.stiffit("run", tmp / "one.h5", "--trust", "--engine=gpu", "-o", tmp / "one.result.h5", code=None,
                     env=environment())
    if "needs OpenCL's loader" in done.stderr or "needs a device" in done.stderr:
        return done.stderr.strip().splitlines()[-1]
    assert done.returncode == 0, done.stderr
    return ""
