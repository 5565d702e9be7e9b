"""The bits of a fit in lanes depend on that fit alone: not on the width of the registers that kernel and model were
compiled for, on the order of the datasets, or on what happens in the lanes beside it: numbers that are not finite, steps
without end, a crash.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 900
"""
import os
import re
import shlex
import subprocess

import h5py
import numpy as np

import helpers as h
import ways

h.compile_as_users_do()

# Kernel, how the compiler calls it, what the CPU must have.
WIDTHS = (("plain", "x86-64", "sse2"), ("x86-64-v3", "x86-64-v3", "avx2"), ("x86-64-v4", "x86-64-v4", "avx512dq"))
CALLS = """parameter a = 1 in [0.05, 20] scale log, b = 0.5 in [0.05, 20] scale log
x(0) = 1 + a/10
z(0) = log(2 + b)
x' = -a*x*exp(-z^2) + tanh(b*z)/(1 + x^1.5) + min(x, 0.1*z)
z' = b*cos(x) - sqrt(0.1 + z^2)*a + (if a > 1 then 0.1 else erf(x)) + max(a*x, z)/5
observe x, z
"""
NOISY = """parameter k = 0.5 in [0.05, 20] scale log, V = 3 in [0.5, 90] scale log
parameter s = 0.1 in [1e-3, 9] scale log, e = 0.7 in [0.2, 2]
g(0) = 10
c(0) = 0
g' = -1.3*g
c' = 1.3*g - k*c
observe u = c/V sd sqrt(s^2 + (0.1*u)^2), w = g + c sd s*(1 + abs(w))^e
"""
# What happens to a dataset of each kind; 0: nothing.
HOSTILE = """parameter k = 0.5 in [0.01, 100] scale log, c = 2 in [0.01, 100] scale log
covariate kind
x(0) = c
y(0) = 0.5
x' = if kind == 1 then log(0 - kind)*x else if kind == 2 then x/(kind - 2) else if kind == 3 then exp(400*y^2) - k*x \
     else if kind == 4 then -(x - 1)^(-3) else if kind == 5 then k*x^3 else if kind == 6 then -1e9*k*(x - cos(1e4*y)) \
     else if kind == 7 then -sqrt(x - 1) else -k*x
y' = k*x - y
observe x, y
"""
N_KIND = 8


def flags():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.split() for line in file if line.startswith("flags")), [])


def run(problem, output, *words, kernel=None):
    env = h.environment(**({"STIFFIT_LANES_KERNEL": kernel} if kernel else {}))
    h.stiffit("run", problem, "--trust", "--engine=lanes", "--overwrite", "-o", output, *words, code=(0, 1), env=env)
    return ways.fits_bytes(output), h.read_fits(output)


@h.both
def test_widths(tmp):
    """SSE2, AVX2 and AVX-512, as far as this CPU has them: all of /fits but the seconds."""
    (tmp / "calls.ode").write_text(CALLS)
    (tmp / "noisy.ode").write_text(NOISY)
    known = flags()
    widths = [(kernel, march) for kernel, march, flag in WIDTHS if flag in known]
    if len(widths) < 2:
        h.skip("this CPU has one width of registers only, or is not of the x86-64 kind")
    models = [(tmp / "calls.ode", "0.2:4:0.2"), (h.ROOT / "models/robertson/robertson.ode", "1:40:4"),
              (tmp / "noisy.ode", "0.5:10:0.5")]
    if h.SLOW:
        models += [(h.ROOT / "models/alpha-pinene/alpha-pinene.ode", "1000:36000:5000"),
                   (h.ROOT / "models/van-der-pol/van-der-pol.ode", "0.5:10:0.5")]
    for text, times in h.portion(models, 1):
        p = tmp / f"{text.stem}.h5"
        noise = () if text.stem == "noisy" else ("--noise", 0.02)
        h.stiffit("simulate", "-m", text, "--times", times, "--datasets", 24, *noise, "-o", p)
        first, libraries = None, set()
        for kernel, march in widths:
            plugin = tmp / f"{text.stem}-{march}.so"
            compiler = shlex.join([*shlex.split(os.environ.get("CC", "cc")), f"-march={march}"])
            h.stiffit("model", "build", "--portable", "--no-cache", text, "-o", plugin, env=h.environment(CC=compiler))
            libraries.add(plugin.read_bytes())
            for other in {kernel, widths[0][0]}:  # each code with its own kernel, and with the plainest
                bits, values = run(p, tmp / "r.h5", "--model", plugin, kernel=other)
                assert np.mean(values["status"] == "converged") > 0.5, values["status"]
                first = first or bits
                ways.assert_same(first, bits, f"{text.stem}: {march} with the kernel {other}")
        assert len(libraries) == len(widths), "the compiler made the same code"
        print(f"{text.stem}: {', '.join(march for _, march in widths)}")


def test_unknown_kernel(tmp):
    """A name that this CPU has no kernel for is refused with those that it has; an empty one is none."""
    p = tmp / "p.h5"
    h.stiffit("simulate", "-m", h.ROOT / "models/robertson/robertson.ode", "--times", "1:40:4",
              "--datasets", 1, "--noise", 0.02, "-o", p)
    for engine in ("lanes", "auto"):
        answer = h.stiffit("run", p, "--trust", f"--engine={engine}", "-o", tmp / "r.h5", code=2,
                           env=h.environment(STIFFIT_LANES_KERNEL="nonsense"))
        assert 'STIFFIT_LANES_KERNEL: this CPU has no kernel "nonsense", only ' in answer.stderr, answer.stderr
        assert "plain" in answer.stderr and not (tmp / "r.h5").exists(), answer.stderr
    h.stiffit("run", p, "--trust", "--engine=lanes", "-o", tmp / "r.h5", env=h.environment(STIFFIT_LANES_KERNEL=""))


@h.more
def test_code_and_lists(tmp):
    """A model's own code for the stages of a step does what the kernel does by its lists for models without such code: all
    stages at once for small models, one after the other for larger ones; with time, inputs and infusions in them; and with one
    fit, whose sensitivities share the lanes, as with many."""
    for name, times, form in (("robertson", "1:40:4", "lanes_stages"), ("alpha-pinene", "1000:36000:5000", "lanes_stages"),
                              ("hires", "1:300:20", "lanes_columns")):
        p, source = tmp / f"{name}.h5", tmp / f"{name}.c"
        text = h.ROOT / "models" / name / f"{name}.ode"
        h.stiffit("simulate", "-m", text, "--times", times, "--datasets", 12, "--noise", 0.02, "-o", p)
        h.stiffit("model", "build", text, "--c", source)
        code = source.read_text()
        lists, n = re.subn(r"\.key = \d+u", ".key = 1u", code)
        assert n == 1 and f"{form}(" in code, name
        bits = [run(p, tmp / "r.h5", "--model", h.compile_plugin(each, tmp / f"{name}-{i}.so", "-O1"))[0]
                for i, each in enumerate((code, lists))]
        ways.assert_same(*bits, name)


def problem(path, model, kinds, order=None):
    """Exponential decays with the datasets' kinds; in another order."""
    rng = np.random.default_rng(4)
    t = np.linspace(0.5, 5, 6)
    n = len(kinds)
    order = np.arange(n) if order is None else order
    value = 2 * np.exp(-0.5 * np.outer(rng.uniform(0.5, 2, n), t)) * (1 + 0.02 * rng.standard_normal((n, 6)))
    rows = [(i, at, 0, y, 0.02) for i, d in enumerate(order) for at, y in zip(t, value[d])]
    h.write_problem(path, model, [f"d{d}" for d in order], rows, covariates={"kind": np.asarray(kinds, float)[order]},
                    parameters={"observables": ["x"]})


def assert_rows_same(a, b, rows, what):
    """The rows of the first result, and those of the same datasets in the other one."""
    place = {name: i for i, name in enumerate(b["id"])}
    for name in ("parameters", "objective", "covariance", "standard_error", "status", "evaluations", "steps", "message"):
        for i in rows:
            mine, other = np.asarray(a[name][i]), np.asarray(b[name][place[a["id"][i]]])
            assert mine.tobytes() == other.tobytes(), (what, name, a["id"][i], mine, other)


@h.more
def test_hostile_neighbours(tmp):
    """A sixth of the datasets goes wrong, each in one of seven ways. The others are fitted as if they were not there, in any
    order."""
    (tmp / "m.ode").write_text(HOSTILE)
    n = 48
    kinds = np.where(np.arange(n) % 6 == 1, 1 + np.arange(n) // 6 % (N_KIND - 1), 0)
    problem(tmp / "kind.h5", tmp / "m.ode", np.zeros(n))
    problem(tmp / "mixed.h5", tmp / "m.ode", kinds)
    order = np.random.default_rng(5).permutation(n)
    problem(tmp / "other.h5", tmp / "m.ode", kinds, order)
    healthy = np.flatnonzero(kinds == 0)
    _, kind = run(tmp / "kind.h5", tmp / "r.h5", "-j", 1)
    assert np.all(kind["status"] == "converged")
    for threads in (1, 2):
        _, mixed = run(tmp / "mixed.h5", tmp / "r.h5", "-j", threads)
        assert_rows_same(kind, mixed, healthy, f"{threads} workers")
        wrong = [mixed["status"][i] for i in np.flatnonzero(kinds)]
        assert np.mean(np.asarray(wrong) != "converged") > 0.5, wrong
    _, other = run(tmp / "other.h5", tmp / "r.h5", "-j", 1)
    # Which certificates CVODES checks depends on a dataset's number: they cost evaluations more.
    counted = [i for i in range(n) if (kind if kinds[i] == 0 else mixed)["notes"][i] & 1 << 22 == 0]
    for name in ("evaluations", "steps"):
        mixed[name] = other[name] = np.zeros(n)
    assert_rows_same(mixed, other, counted, "another order")


def test_a_crash_in_a_lane(tmp):
    """The dataset is found, and the others keep their bits."""
    (tmp / "m.ode").write_text(HOSTILE)
    source = tmp / "m.c"
    h.stiffit("model", "build", tmp / "m.ode", "--c", source)
    before = "void lanes_derive_at("
    text = source.read_text()
    at = text.index("{", text.index(before)) + 1  # the first one; the text for GPUs has another
    text = text[:at] + "\n    for (int k = 0; k < WIDTH; k++)\n        if (at->covariate[k] == 9.0)\n" \
        "            *(volatile int *)8 = 1;\n" + text[at:]
    plugin = h.compile_plugin(text, tmp / "m.so")
    n = 60
    kinds = np.zeros(n)
    problem(tmp / "kind.h5", plugin, kinds)
    kinds[[17, 40]] = 9
    problem(tmp / "crash.h5", plugin, kinds)
    _, kind = run(tmp / "kind.h5", tmp / "r.h5")
    for threads in (1, 2):
        _, crash = run(tmp / "crash.h5", tmp / "r.h5", "-j", threads)
        assert list(np.flatnonzero(crash["status"] == "crashed")) == [17, 40], crash["status"]
        assert_rows_same(kind, crash, np.flatnonzero(kinds == 0), f"{threads} workers")


if __name__ == "__main__":
    h.let_models_crash()
    h.main()
