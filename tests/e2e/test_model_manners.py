"""What a plugin does besides computing stays its own affair: it prints, it changes the rounding, it is not suited to an option.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import subprocess

import h5py
import numpy as np

import helpers as h

N = 6


def problem(tmp, plugin, name="p.h5", **keywords):
    h.decay_problem(tmp / name, N, known_sigma=True, **keywords)
    with h5py.File(tmp / name, "r+") as f:
        f["model"].attrs["plugin"] = str(h.zoo(plugin))
    return tmp / name


def test_what_a_model_prints_is_no_data(tmp):
    path = problem(tmp, "prints")
    done = h.stiffit("run", path, "--trust", "--json", "-q")
    assert h.summary(done)["fits"] == N and "prints:" in done.stderr
    again = h.stiffit("run", path, "--trust", "--json", "-q")
    assert h.summary(again)["already_complete"]
    trace = h.stiffit("run", path, "--trust", "--only", "d1", "--trace", "-", "-q").stdout.splitlines()
    assert all(line.count(",") == trace[0].count(",") for line in trace) and trace[0].startswith("id,task,"), trace
    for command in (("export", h.result_path(path), "--trust", "--what", "predictions"),
                    ("simulate", h.result_path(path), "--trust", "--times", "1,2"),
                    ("simulate", "--model", h.zoo("prints"), "--times", "1,2")):
        done = h.stiffit(*command)
        assert "prints:" not in done.stdout and "prints: called" in done.stderr, (command, done)
        assert all(line.count(",") == 3 for line in done.stdout.splitlines()), (command, done.stdout)
    report = json.loads(h.stiffit("model", "check", h.zoo("prints"), "--json").stdout)
    assert report["faults"] == 0


def test_a_model_that_changes_the_rounding_is_alone_with_it(tmp):
    """Bits of the other datasets are those of a run without it; its own are refused with its name."""
    upwards = np.array([0, 1, 0, 1, 0, 0.0])
    with_it = problem(tmp, "changes_rounding", covariates={"upwards": upwards})
    without = problem(tmp, "changes_rounding", "q.h5", covariates={"upwards": np.zeros(N)})
    for threads in (1, 3):
        fits = h.run(with_it, "-j", threads, "--overwrite", code=1)
        good = h.run(without, "-j", threads, "--overwrite")
        assert [str(s) for s in fits["status"]] == ["model_failed" if u else "converged" for u in upwards], fits["status"]
        for column in ("parameters", "objective", "standard_error", "evaluations", "steps"):
            assert fits[column][upwards == 0].tobytes() == good[column][upwards == 0].tobytes(), column
        for message in fits["message"][upwards == 1]:
            assert "changes_rounding" in message and "rounding" in message, message
    done = h.stiffit("model", "check", h.zoo("changes_rounding"), code=3)
    assert "rhs: it changes the floating-point environment" in done.stdout, done.stdout
    h.stiffit("model", "check", h.zoo("changes_rounding"), "--covariate", "upwards=0")


def test_a_library_linked_with_fast_math_changes_no_bits(tmp):
    """Its constructor would flush small numbers to zero in the thread that loads it, and in all that this one starts."""
    source = tmp / "ftz.c"
    source.write_text('#include <xmmintrin.h>\n#include "zoo.h"\n'
                      "__attribute__((constructor)) static void fast(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }\n"
                      # In normal numbers but for one that flushing would make 0.
                      "static int observe(const struct stiffit_point *at, double *h)\n"
                      "{ h[0] = at->y[0] * 1e-310 * 1e300 * 1e10; return 0; }\n"
                      'STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("ftz"), .observe = observe};\n')
    built = subprocess.run(["cc", "-std=c11", "-O2", "-fPIC", "-shared", "-I", h.ROOT / "include", "-I", h.ROOT / "tests/zoo",
                            "-o", tmp / "ftz.so", source, "-lm"], capture_output=True, check=False)
    if built.returncode:
        h.skip("no SSE here")
    path = problem(tmp, "prints")
    fits = h.run(path, "--model", tmp / "ftz.so", "-o", tmp / "ftz.h5")
    assert list(fits["status"]) == ["converged"] * N, fits["message"]


def test_a_library_that_takes_signals_has_none(tmp):
    """Loading the model does not change what happens at a signal: the model's crash is told as that of any other."""
    h.let_models_crash()
    source = tmp / "takes.c"
    source.write_text('#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include "zoo.h"\n'
                      "static void on_signal(int number) { (void)number; _exit(9); }\n"
                      "__attribute__((constructor)) static void take(void) { signal(SIGSEGV, on_signal); }\n"
                      "static int observe(const struct stiffit_point *at, double *h)\n"
                      "{ h[0] = at->y[0]; if (at->covariate[0] > 0) raise(SIGSEGV); return 0; }\n"
                      'STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("takes"), .observe = observe,\n'
                      '    .n_covariate = 1, .covariate_name = (const char *const[]){"fault"}};\n')
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-O1", "-fPIC", "-shared",
                    "-I", h.ROOT / "include", "-I", h.ROOT / "tests/zoo", "-o", tmp / "takes.so", source, "-lm"], check=True)
    h.decay_problem(tmp / "p.h5", 3, known_sigma=True, covariates={"fault": np.array([0, 1, 0.0])})
    fits = h.run(tmp / "p.h5", "--model", tmp / "takes.so", code=1)
    assert "signal 11" in str(fits["message"][1]), fits["message"]


def test_what_is_refused_leaves_nothing_behind(tmp):
    """A solver that the model has no pattern for: the next, plain run begins as if there had been none."""
    path = tmp / "p.h5"
    h.decay_problem(path, N)
    done = h.stiffit("run", path, "--trust", "--linear-solver", "klu", code=3)
    assert "klu" in done.stderr.lower(), done.stderr
    assert [p.name for p in tmp.iterdir()] == ["p.h5"]
    h.run(path)


if __name__ == "__main__":
    h.main()
