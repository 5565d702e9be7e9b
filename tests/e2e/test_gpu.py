"""The engine on a GPU gives the bits of lanes on the CPU, whatever the device does not know or loses on the way. The device is
the first one that OpenCL has; Debian's pocl makes one of the CPU.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 900
"""
import ctypes.util
import json
import os
import platform
import re
import signal
import subprocess

import h5py
import numpy as np

import helpers as h
import mixed
import ways
from device import environment, need_device
from test_stop import wait_for_records

h.compile_as_users_do()

MANY = h.BUILD / "tests/property/evaluate_many"
# Text, times (how many, first, last), spread of the parameters in decades.
MODELS = {
    "robertson": (6, 0.4, 40, 0.5), "alpha-pinene": (6, 1000, 36000, 0.3), "pollu": (6, 5, 60, 0.2),
    "hires": (5, 10, 320, 0.3), "van-der-pol": (20, 0.5, 10, 0.3), "oregonator": (6, 30, 360, 0.1), "e5": (5, 1, 1e6, 0.3)}
# All that model text has and a GPU computes itself: roots, time in the rates, covariates, parameters of the initial state and
# of the observables alone, what is computed once per evaluation, kinks and conditions of observables, a state that crosses
# zero, two that grow from zero.
WORDS = """parameter a = 1 in [0.05, 20] scale log, b = 0.5 in [0.05, 20] scale log, c = 2 in [0.1, 9], only = 3 in [1, 9]
covariate dose
rate = sqrt(a^2 + b)
x(0) = 1 + a/10
y(0) = b*dose
z(0) = 0
w(0) = 0
x' = y - 0.1*a*t*x
y' = -c*x - 0.1*y/(1 + x^2)
z' = rate*(1 + sqrt(1 + x^2)) - 0.3*z
w' = 1e-3*z^2 - w/c
u(0) = 1
u' = exp(-0.1*u*c)*cos(t + x) + 0.2*log(1 + u^2)/(1 + (z^2)^a) - 0.1*u
observe u, x, big = only*z + c*t, ratio = w/(1 + z), kinks = abs(x) + max(y, -1)*b + min(z, a) + sign(x - 3) + floor(z)/9
observe angles = sin(9*x) + log10(1 + w^2) + log2(2 + u^2) + (1 + abs(x))^b
observe chosen = if x > 0.5 and not (y > 2) then only*y else a*z
"""
# All kinds of noise.
NOISY = """parameter a = 1 in [0.05, 20] scale log, b = 0.5 in [0.05, 20] scale log, V = 3 in [0.5, 90] scale log
parameter s = 0.1 in [1e-3, 9] scale log
covariate dose
gut(0) = 0.1*dose
blood(0) = 0
decayed(0) = a
gut' = -a*gut
blood' = a*gut - b/V*blood*(1 + 0.1*t)
decayed' = -9*decayed
observe c = blood/V sd sqrt(s^2 + (0.1*c)^2), gut sd s*a + t/99, sum = gut + blood sd 0.1
observe steep = decayed lognormal sd s
"""
# Its errors are given; g is a factor of single measurements.
DRUG = """parameter k = 0.4 in [1e-3, 50] scale log, A = 3 in [0.05, 90] scale log, sigma = 0.2 in [1e-3, 9] scale log
parameter g = 1 in [0.1, 9]
x(0) = A
y(0) = 0
x' = -k*x
y' = k*x - 0.1*y
observe c = g*(x + 0.3*y) ERRORS
"""
STEEP = "parameter k = 2 in [0.1, 9]\nx(0) = 1\nx' = -k*exp(-x)*tanh(x)\nobserve x\n"
# Doses with a lag and a share, an infusion, and inputs that jump and rise, of which one is stiff.
DOSED = """parameter ka = 1.5 in [0.01, 50] scale log, CL = 5 in [0.05, 500] scale log, V = 30 in [0.5, 5000] scale log
parameter F = 0.8 in [0.1, 1], tlag = 0.3 in [0.01, 3] scale log
gut(0) = 0
blood(0) = 0
gut' = -ka*gut
blood' = ka*gut - CL/V*blood
bioavailability(gut) = F
lag(gut) = tlag
observe conc = blood/V, gut
"""
FED = """parameter k = 0.7 in [0.01, 50] scale log, m = 0.4 in [0.05, 500] scale log, e = 2 in [0.5, 4]
input feed, heat
x(0) = 1
y(0) = 0.1
x' = feed - k*x*heat - m*x^e
y' = k*x*heat - 40*(y - 0.1*feed)
observe x, y, flow = feed*x
"""
# Fast couplings that end by a state (sharp functions of time are the CPU's). Their error estimates are confirmed at the ends of
# steps, those of the derivatives by a and b, too, while z is at rest.
COUPLED = """parameter a = 1 in [0.5, 2], b = 1 in [0.5, 2], g = 1.1 in [0.5, 2], d = 0.2 in [0.01, 1]
z(0) = 1
w(0) = 1
x(0) = 1
y(0) = 1
v(0) = 1
c(0) = 0
c' = 1
z' = (a - b)*w
w' = -0.3*w
x' = -(d + 1e8/(1 + exp((c - 2*g)/0.03)))*(x - g*w)
y' = -1e6/(1 + exp((c - 1.5)/0.02))*(y - z)
v' = -1e7/(1 + (2*w)^-40)*(v - w) - d*v
observe x, y, v
"""
# What goes to the CPU: an event, a pole at which a state falls.
EVENT = """parameter k = 0.5 in [0.01, 9] scale log
x(0) = 2
x' = -k*x
event refill when x < 1: x = x + 1
observe x
"""
ENDLESS = """parameter w = 3 in [2, 5]
x(0) = 1
y(0) = 2
x' = x*(w - y)
y' = y*(x - 1)
observe x
"""
FALL = "parameter k = 1 in [0.1, 3] scale log\nx(0) = 1\nx' = -k*x/(1e-9 + x)\nobserve x\n"
MARKED = """parameter k = 0.3 in [1e-4, 100] scale log, A = 2 in [1e-4, 100] scale log
covariate mark
x(0) = A
x' = -k*x + 0*mark
observe x
"""
MARK = 123.25
# Stands before the loader of OpenCL, and fails when a count is reached, or hangs with an evaluation that has a number.
SHIM = r"""
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include "ode/gpu/opencl.h"
#define POINTER(result, name, arguments) void *real_##name;
OPENCL_FUNCTIONS(POINTER)
#define STUB(result, name, arguments) __asm__(".globl stub_" #name "\nstub_" #name ": jmp *real_" #name "(%rip)\n");
OPENCL_FUNCTIONS(STUB)
__attribute__((constructor)) static void find(void)
{
    void *real = dlopen(getenv("SHIM_REAL"), RTLD_NOW);
#define FIND(result, name, arguments) real_##name = dlsym(real, #name);
    OPENCL_FUNCTIONS(FIND)
    if (getenv("SHIM_ABORT"))
        abort();
}
static _Atomic int n_call;
static int fails(const char *variable)
{
    const char *after = getenv(variable);
    return after && n_call++ >= atoi(after);
}
int32_t clEnqueueWriteBuffer(cl_handle q, cl_handle b, uint32_t blocking, size_t at, size_t n, const void *bytes, uint32_t e,
                             const cl_handle *w, cl_handle *f)
{
    int32_t (*real)(cl_handle, cl_handle, uint32_t, size_t, size_t, const void *, uint32_t, const cl_handle *, cl_handle *) =
        real_clEnqueueWriteBuffer;
    const double *number = bytes;
    for (size_t i = 0; getenv("SHIM_HANG") && i < n / sizeof *number; i++)
        while (number[i] == atof(getenv("SHIM_HANG")))
            pause();
    return real(q, b, blocking, at, n, bytes, e, w, f);
}
int32_t clEnqueueNDRangeKernel(cl_handle q, cl_handle k, uint32_t n, const size_t *o, const size_t *g, const size_t *l,
                               uint32_t e, const cl_handle *w, cl_handle *f)
{
    int32_t (*real)(cl_handle, cl_handle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, const cl_handle *,
                    cl_handle *) = real_clEnqueueNDRangeKernel;
    static cl_handle lost;
    if (fails("SHIM_RUN"))
        return -36;
    lost = !lost && fails("SHIM_QUEUE") ? q : lost;
    return lost == q ? -36 : real(q, k, n, o, g, l, e, w, f);
}
typedef void notify(cl_handle, void *);
int32_t clBuildProgram(cl_handle p, uint32_t n, const cl_handle *d, const char *options, notify *done, void *data)
{
    int32_t (*real)(cl_handle, uint32_t, const cl_handle *, const char *, notify *, void *) = real_clBuildProgram;
    if (getenv("SHIM_BUILD"))
        sleep(atoi(getenv("SHIM_BUILD")));
    return real(p, n, d, options, done, data);
}
cl_handle clCreateBuffer(cl_handle c, uint64_t flags, size_t n, void *host, int32_t *code)
{
    cl_handle (*real)(cl_handle, uint64_t, size_t, void *, int32_t *) = real_clCreateBuffer;
    if (fails("SHIM_BUFFER") || (getenv("SHIM_LARGEST") && n > atol(getenv("SHIM_LARGEST"))))
        return *code = -4, NULL;
    return real(c, flags, n, host, code);
}
"""


def build(tmp, name, text=None):
    plugin = tmp / f"{name}.so"
    path = h.ROOT / "models" / name / f"{name}.ode"
    if text:
        path = tmp / f"{name}.ode"
        path.write_text(text)
    h.stiffit("model", "build", path, "-o", plugin)
    return plugin


def evaluate(plugin, engine, case, n, n_thread=1, *words):
    done = subprocess.run([str(MANY), str(plugin), engine, str(n_thread), str(n), *map(str, case), *words],
                          capture_output=True, text=True, env=environment(), timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compare(plugin, case, n, *words, least=0.9, on_device=0.9):
    lanes, gpu = evaluate(plugin, "lanes", case, n, 1, *words), evaluate(plugin, "gpu", case, n, 2, *words)
    print(plugin.stem, lanes["good"], lanes["steps"], lanes["hash"])
    assert lanes["good"] >= least * n, lanes
    assert (lanes["hash"], lanes["steps"]) == (gpu["hash"], gpu["steps"]), (lanes, gpu)
    n_done = int(re.match(r"device: (\d+) evaluations", gpu["told"])[1])
    assert n_done >= on_device * n, gpu["told"]
    return gpu["told"]


def test_evaluations_of_models(tmp):
    """All answers, counts of steps and of the model's calls: byte by byte, over wide ranges of the parameters."""
    need_device(tmp)
    names = MODELS if h.SLOW else ["robertson"]
    for name in names:
        compare(build(tmp, name), MODELS[name], 1500 if h.SLOW else 150)


@h.more
def test_words_of_models(tmp):
    need_device(tmp)
    plugin = build(tmp, "words", WORDS)
    compare(plugin, (12, 0.1, 20, 0.4), 150)
    compare(plugin, (12, 0.1, 20, 0.4), 100, "predictions")


@h.more
def test_doses_and_inputs(tmp):
    """Their stops are the host's, between which the device goes on: where the method changes, and for predictions, too."""
    need_device(tmp)
    dosed, fed = build(tmp, "dosed", DOSED), build(tmp, "fed", FED)
    compare(dosed, (8, 0.5, 24, 0.2), 100, "doses")
    compare(dosed, (8, 0.5, 24, 0.2), 40, "doses", "predictions")
    compare(fed, (8, 0.5, 24, 0.2), 60)
    compare(fed, (8, 0.5, 24, 0.2), 60, "doses")
    if h.SLOW:
        for name in ("robertson", "hires", "oregonator"):
            compare(build(tmp, name), MODELS[name], 100, "doses")


@h.more
def test_couplings_that_end(tmp):
    need_device(tmp)
    plugin = build(tmp, "coupled", COUPLED)
    for times, spread in (((6, 0.5, 4), 0.1), ((40, 0.1, 4), 0.1), ((6, 0.5, 4), 0)):
        compare(plugin, (*times, spread), 60)


@h.more
def test_noise(tmp):
    """The device answers rows with the model's noise, but those before and at doses, and where some ask for relative
    tolerances; of each third measurement the noise is given."""
    need_device(tmp)
    noisy = build(tmp, "noisy", NOISY)
    for words in ([], ["predictions"], ["doses"], ["doses", "predictions"]) if h.SLOW else ([], ["doses", "predictions"]):
        compare(noisy, (8, 0.1, 8, 0.3), 100, *words)
    # a state that has decayed asks for relative tolerances: these begin anew, on the CPU
    steep = build(tmp, "steep", NOISY.replace("= decayed lognormal", "= log(decayed)"))
    told = compare(steep, (8, 0.1, 8, 0.3), 100, on_device=0)
    assert re.search(r"and 1\d\d that had begun", told), told


@h.more
def test_what_goes_to_the_cpu(tmp):
    need_device(tmp)
    compare(build(tmp, "event", EVENT), (8, 0.1, 20, 0.4), 50, on_device=0)
    compare(build(tmp, "fall", FALL), (8, 0.1, 4, 0.3), 50, least=0, on_device=0)


def run(problem, output, engine, *words, code=(0, 1), **changes):
    done = h.stiffit("run", problem, "--trust", f"--engine={engine}", "--overwrite", "-o", output, *words, code=code,
                     env=environment(**changes))
    return ways.fits_bytes(output), done.stderr


def problem(tmp, name, times, n=30):
    path = tmp / f"{name}.h5"
    h.stiffit("simulate", "-m", h.ROOT / "models" / name / f"{name}.ode", "--times", times, "--datasets", n,
              "--noise", 0.02, "-o", path)
    return path


def test_results_without_a_device(tmp):
    """What a device has computed is read, and recognised as what lanes compute, where there is none."""
    need_device(tmp)
    p = problem(tmp, "alpha-pinene", "1000:36000:5000", 8)
    gpu, _ = run(p, tmp / "r.h5", "gpu")
    (tmp / "empty").mkdir()
    none = environment(OCL_ICD_VENDORS=str(tmp / "empty"), OPENCL_VENDOR_PATH=str(tmp / "empty"))
    h.stiffit("export", tmp / "r.h5", "--what", "residuals", "-o", tmp / "r.csv", env=none)
    assert (tmp / "r.csv").stat().st_size > 100
    done = h.stiffit("run", p, "--trust", "--engine=lanes", "-o", tmp / "r.h5", env=none)
    assert "already complete" in done.stderr, done.stderr
    ways.assert_same(gpu, ways.fits_bytes(tmp / "r.h5"), "lanes after a device")


def noisy_problem(path, errors, n=60):
    """Some measurements are missing, below a limit, or have an error of their own; g is 1.5 for one of each second dataset."""
    rng, times, limit = np.random.default_rng(3), np.array([0.5, 1, 2, 4, 6, 9]), 0.8
    k, a = 0.4 * np.exp(0.3 * rng.standard_normal(n)), 3 * np.exp(0.2 * rng.standard_normal(n))
    x = a[:, None] * np.exp(-k[:, None] * times)
    value = ((x + 0.3 * (a[:, None] - x) * np.exp(-0.05 * times)) * np.exp(0.1 * rng.standard_normal(x.shape))).ravel()
    value[5::6] *= 1 + 0.5 * (np.arange(n) % 2)
    censored, own = value < limit, np.arange(value.size) % 7 == 3
    value = np.where(np.arange(value.size) % 11 == 4, np.nan, np.where(censored, limit, value))
    rows = np.column_stack([np.repeat(np.arange(n), times.size), np.tile(times, n), np.zeros(value.size), value,
                            np.where(own, 0.15, np.nan)])
    words = mixed.write(path, DRUG.replace("ERRORS", errors), rows, censored=censored & ~np.isnan(value))
    with h5py.File(path, "r+") as f:
        f.create_group("parameters").create_dataset("name", data=["k", "A", "sigma"], dtype=h5py.string_dtype())
        row = np.arange(value.size)
        odd = row[(row % 6 == 5) & (row // 6 % 2 == 1)]
        dataset = np.concatenate([np.arange(n), odd // 6])
        order = np.argsort(dataset, kind="stable")
        g = f.create_group("substitutes")
        g["dataset"] = dataset[order]
        g["measurement"] = np.concatenate([np.full(n, -1), odd])[order]
        g["value"] = np.where(g["measurement"][()] < 0, 1.0, 1.5)
        for name, word in (("parameter", "g"), ("by", "")):
            g.create_dataset(name, data=[word] * order.size, dtype=h5py.string_dtype())
    return words


@h.more
def test_runs_with_noise(tmp):
    """Errors that the model gives, for fits of each dataset, shared parameters and random effects; measurements that are
    censored or missing, have errors or parameters of their own. Nearly all evaluations are the device's."""
    need_device(tmp)
    for errors, words in (("sd sigma", ()), ("sd sqrt(sigma^2 + (0.1*c)^2)", ("--share", "sigma")),
                          ("lognormal sd sigma", ("--random", "k,A", "--share", "sigma"))):
        problem, *model = noisy_problem(tmp / "noisy.h5", errors)
        found = {}
        for engine in ("lanes", "gpu"):
            done = h.stiffit("run", problem, *model, *words, f"--engine={engine}", "--overwrite", "-j2", "-o",
                             tmp / f"{engine}.h5", code=(0, 1), env=environment())
            found[engine] = mixed.read(tmp / f"{engine}.h5") if "--random" in words else ways.fits_bytes(
                tmp / f"{engine}.h5")
        if "--random" in words:
            mixed.same_bits(found["lanes"], found["gpu"], errors)
        else:
            ways.assert_same(found["lanes"], found["gpu"], errors)
        counts = re.search(r"device: (\d+) evaluations; left to the CPU: (\d+) that were few at a time, and (\d+)", done.stderr)
        n_done, n_few, n_left = map(int, counts.groups())
        print(errors, n_done, n_few, n_left)
        assert n_done > 300 and n_few + n_left < 0.1 * n_done, done.stderr


def test_refusals(tmp):
    need_device(tmp)
    (tmp / "steep.ode").write_text(STEEP)
    h.stiffit("simulate", "-m", tmp / "steep.ode", "--times", "1:4:1", "--datasets", 2, "-o", tmp / "steep.h5")
    done = h.stiffit("run", tmp / "steep.h5", "--trust", "--engine=gpu", "-o", tmp / "r.h5", code=2, env=environment())
    assert "same bits: tanh" in done.stderr, done.stderr


def test_no_device(tmp):
    """Without the loader of OpenCL, or a driver, a run says so and ends; nothing else needs them."""
    p = problem(tmp, "alpha-pinene", "1000:36000:5000", 2)
    (tmp / "empty").mkdir()
    done = h.stiffit("run", p, "--trust", "--engine=gpu", "-o", tmp / "r.h5", code=4,
                     env=environment(OCL_ICD_VENDORS=str(tmp / "empty"), OPENCL_VENDOR_PATH=str(tmp / "empty")))
    assert "OpenCL" in done.stderr, done.stderr
    h.stiffit("run", p, "--trust", "-o", tmp / "r.h5")


def shim(tmp):
    name = ctypes.util.find_library("OpenCL")
    found = [f"{folder}/{name}" for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib") if name
             and os.path.exists(f"{folder}/{name}")]
    if platform.machine() != "x86_64" or not found:
        h.skip("the shim is for the x86-64 kind")
    text = SHIM
    header = (h.ROOT / "src/ode/gpu/opencl.h").read_text()
    for function in re.findall(r"X\(\w+, (cl\w+),", header):
        if function not in ("clEnqueueNDRangeKernel", "clEnqueueWriteBuffer", "clBuildProgram", "clCreateBuffer"):
            text += f'__asm__(".globl {function}\\n{function}: jmp stub_{function}\\n");\n'
    (tmp / "shim.c").write_text(text)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-w", "-I", h.ROOT / "src", "-Wl,-Bsymbolic", "-o", tmp / "libOpenCL.so.1",
                    tmp / "shim.c", "-ldl"], check=True)
    return {"LD_LIBRARY_PATH": str(tmp), "SHIM_REAL": found[0]}


@h.more
def test_lost_device(tmp):
    """The device fails at the beginning or in the middle: the CPU computes the rest, the run says so, and the bits are the
    same."""
    need_device(tmp)
    p = problem(tmp, "robertson", "0.5:40:4")
    lanes, _ = run(p, tmp / "lanes.h5", "lanes", "-j2")
    shimmed = shim(tmp)
    later = [("SHIM_RUN", 500, True)] if h.SLOW else []
    for name, after, is_lost in [("SHIM_RUN", 1, True), ("SHIM_RUN", 40, True), *later, ("SHIM_BUFFER", 3, True),
                                 ("SHIM_RUN", 10**8, False)]:
        gpu, says = run(p, tmp / "gpu.h5", "gpu", "-j2", **shimmed, **{name: str(after)})
        assert ("note: the device was lost" in says) == is_lost, (name, after, says)
        ways.assert_same(lanes, gpu, f"{name} {after}")


@h.more
def test_little_memory(tmp):
    """By --device-memory, or because other programs have it: fewer evaluations at once, or, without memory for one group of
    evaluations, none. The run says so, and the bits are the same."""
    need_device(tmp)
    p = problem(tmp, "robertson", "0.5:40:4", 200)
    lanes, _ = run(p, tmp / "lanes.h5", "lanes", "-j2")
    little = r"the device was lost \(.*: its memory is too small\): 2 of 2 workers"
    shimmed = shim(tmp)
    for words, changes, says_why in ((["--device-memory=0.01"], {}, little),
                                     (["--device-memory=0.5"], {}, "evaluations at once, and 0.5 MiB"),
                                     ([], {**shimmed, "SHIM_LARGEST": "300000"}, little),
                                     ([], {**shimmed, "SHIM_LARGEST": "1000000"}, r"device: [1-9]\d* evaluations")):
        gpu, says = run(p, tmp / "gpu.h5", "gpu", "-j2", *words, **changes)
        assert re.search(says_why, says), (words, changes, says)
        assert ("note: the device was lost" in says) == (says_why == little), (words, changes, says)
        ways.assert_same(lanes, gpu, f"{words} {changes}")


def marked_problem(tmp, n, mark):
    """Decays, of which dataset `mark` has a covariate that the shim knows."""
    h.decay_problem(tmp / "marked.h5", n, covariates={"mark": np.where(np.arange(n) == mark, MARK, 1.0)})
    with h5py.File(tmp / "marked.h5", "r+") as f:
        del f["model"]
        f.create_group("model")["source"] = MARKED
    return tmp / "marked.h5"


@h.more
def test_hanging_device(tmp):
    """A call of the driver that never returns: the worker's evaluations are suspects. Tried alone they are few, and end on the
    CPU; if the device has them again, the one that hangs there is found. All others keep their bits."""
    need_device(tmp)
    p, mark = marked_problem(tmp, 120, 7), 7
    lanes, _ = run(p, tmp / "lanes.h5", "lanes")
    good, _ = run(p, tmp / "gpu.h5", "gpu", "-j2")  # the device's compiler has its work done after this
    ways.assert_same(lanes, good, "with marks")
    hangs = {**shim(tmp), "SHIM_HANG": str(MARK), "STIFFIT_HANG_SECONDS": "2"}
    gpu, says = run(p, tmp / "gpu.h5", "gpu", "-j2", code=0, **hangs, STIFFIT_GPU_LEAST="10")
    assert "no step finished for 2 s" in says, says
    ways.assert_same(lanes, gpu, "suspects on the CPU")
    gpu, says = run(p, tmp / "gpu.h5", "gpu", "-j2", code=1, **hangs)
    assert "d7: hung" in says, says
    fits = h.read_fits(tmp / "gpu.h5")
    assert [i for i, status in enumerate(fits["status"]) if status != "converged"] == [mark], fits["status"]
    healthy = h.read_fits(tmp / "lanes.h5")
    keep = np.arange(120) != mark
    assert fits["parameters"][keep].tobytes() == healthy["parameters"][keep].tobytes()


@h.slow
def test_slow_compiler(tmp):
    """A driver that compiles for longer than the watchdog waits for a step has not hung."""
    need_device(tmp)
    p = problem(tmp, "robertson", "0.5:40:4")
    lanes, _ = run(p, tmp / "lanes.h5", "lanes")
    run(p, tmp / "gpu.h5", "gpu", "-j2")
    gpu, says = run(p, tmp / "gpu.h5", "gpu", "-j2", **shim(tmp), SHIM_BUILD="6", STIFFIT_HANG_SECONDS="2")
    assert "no step finished" not in says and re.search(r"device: [1-9]\d* evaluations", says), says
    ways.assert_same(lanes, gpu, "a slow compiler")


@h.slow
def test_gamma_function(tmp):
    """Its text is compiled by the device's compiler, too, where other words are reserved."""
    need_device(tmp)
    (tmp / "m.ode").write_text("parameter k = 1 in [0.1, 3], b = 2\na(0) = 1; y(0) = 0\n"
                               "a' = k; y' = lgamma(a*b)*0.1 - lgamma(k)*y\nobserve y\n")
    h.stiffit("simulate", "--model", "m.ode", "--times", "0.5:3:0.5", "-n", 60, "--noise", "0.1", "-o", "p.h5", cwd=tmp)
    lanes, _ = run(tmp / "p.h5", tmp / "lanes.h5", "lanes", "--evaluate")
    gpu, says = run(tmp / "p.h5", tmp / "gpu.h5", "gpu", "--evaluate")
    assert re.search(r"device: [1-9]\d* evaluations", says), says
    ways.assert_same(lanes, gpu, "the gamma function")


def endless_problem(tmp):
    """A dataset whose evaluations take hours, and two others, in p.h5; the device's program is built. Returns options."""
    (tmp / "m.ode").write_text(ENDLESS)
    h.stiffit("simulate", "-m", tmp / "m.ode", "--times", "0.1:0.4:0.1", "--datasets", 3, "-o", tmp / "p.h5")
    with h5py.File(tmp / "p.h5", "r+") as f:
        f["measurements/time"][:4] *= 1e7
    run(tmp / "p.h5", tmp / "r.h5", "gpu", "--max-steps=200")
    return ["--max-steps=1e12", "--max-total-steps=1e12"]


@h.more
def test_deadlines(tmp):
    """An evaluation on the device whose fit has used up its time ends, as in lanes, though it would take hours."""
    need_device(tmp)
    endless = endless_problem(tmp)
    for engine in ("lanes", "gpu"):
        _, says = run(tmp / "p.h5", tmp / "r.h5", engine, "--max-seconds=3", *endless, code=1)
        fits = h.read_fits(tmp / "r.h5")
        assert list(fits["status"]) == ["timeout", "converged", "converged"], (fits["status"], says)


@h.more
def test_stop(tmp):
    """A run that is to stop does not wait for what is on the device; the same command goes on."""
    need_device(tmp)
    words = ["--max-seconds=5", *endless_problem(tmp)]
    command = [str(h.STIFFIT), "run", str(tmp / "p.h5"), "--trust", "--engine=gpu", "-j1", "-o", str(tmp / "s.h5"), *words]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            wait_for_records(process, tmp / "s.h5.journal", 2)
            process.terminate()
            _, says = process.communicate(timeout=15)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 75 and "stopped by a signal after 2 of 3 fits" in says, (process.returncode, says)
    _, says = run(tmp / "p.h5", tmp / "s.h5", "gpu", *words, code=1)
    assert "resuming: 2" in says, says
    assert list(h.read_fits(tmp / "s.h5")["status"]) == ["timeout", "converged", "converged"], says


def test_few_evaluations(tmp):
    """Fewer than a group of the device's: lanes end them sooner."""
    need_device(tmp)
    p = problem(tmp, "robertson", "0.5:40:4", 20)
    lanes, _ = run(p, tmp / "lanes.h5", "lanes")
    gpu, says = run(p, tmp / "gpu.h5", "gpu", STIFFIT_GPU_LEAST="")
    assert re.search(r"device: 0 evaluations; left to the CPU: [1-9]\d* that were few", says), says
    ways.assert_same(lanes, gpu, "few")


@h.more
def test_several_devices(tmp):
    """Chosen by number or name, or one of them lost. pocl makes two of a CPU."""
    need_device(tmp)
    p, two = problem(tmp, "robertson", "0.5:40:4"), {"POCL_DEVICES": "pthread basic"}
    lanes, _ = run(p, tmp / "lanes.h5", "lanes")
    done = h.stiffit("run", p, "--trust", "--engine=gpu", "--devices=nonesuch", "-o", tmp / "r.h5", code=2,
                     env=environment(**two))
    kind = "(pthread|basic|cpu-minimal|cpu)-"  # the latter two since pocl 4
    both = re.findall(f"[01]: {kind}", done.stderr)
    if len(both) != 2:
        h.skip("the driver does not make two devices")
    gpu, says = run(p, tmp / "gpu.h5", "gpu", "-j2", f"--devices={','.join(both)}", **two)
    assert re.search(f"devices: {both[0]}-.*; {both[1]}-", says), says
    ways.assert_same(lanes, gpu, "two devices")
    names = []
    for number in "01":
        gpu, says = run(p, tmp / "gpu.h5", "gpu", "-j2", f"--devices={number}", **two)
        names += re.findall(f"device: {kind}", says)
    assert names == both, (names, both)
    gpu, says = run(p, tmp / "gpu.h5", "gpu", "-j2", "--devices=0,1", **two, **shim(tmp), SHIM_QUEUE="150")
    assert "note: the device was lost" in says and "1 of 2 workers" in says, says
    ways.assert_same(lanes, gpu, "one of two devices lost")
    for words, wrong in ((["--engine=gpu", "--devices=0,tesla"], "--devices 0,tesla: not all of these are"),
                         (["--engine=lanes", "--devices=0"], "--devices is for --engine gpu; this run has lanes"),
                         (["--device-memory=9", "--engine=cvodes"], "--device-memory is for --engine gpu")):
        done = h.stiffit("run", p, "--trust", *words, "-o", tmp / "r.h5", code=(2, 4), env=environment(**two))
        assert wrong in done.stderr, done.stderr


def test_aborting_driver(tmp):
    """A driver that ends the process as it is opened is not taken for a fault of the model."""
    p = problem(tmp, "robertson", "0.5:40:4", 2)
    done = h.stiffit("run", p, "--trust", "--engine=gpu", "-o", tmp / "r.h5", code=4,
                     env=environment(**shim(tmp), SHIM_ABORT="1"))
    assert "driver" in done.stderr and "--engine" in done.stderr and "model check" not in done.stderr, done.stderr


if __name__ == "__main__":
    h.main()
