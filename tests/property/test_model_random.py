"""Random models: what the program makes of a text is what the text says, values and derivatives.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 1800

Three independent parts meet: ode_random writes models, ode_language and ode_values read and evaluate them without the
program, and ode_judge compares. A seed is the whole model: `test_model_random.py --show SEED` prints text
and C source, `--batch FIRST COUNT` judges some.
"""
import collections
import concurrent.futures
import ctypes
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import helpers  # noqa: E402
from ode_judge import Disagreement, Judge  # noqa: E402
from ode_language import FUNCTIONS, Model  # noqa: E402
from ode_plugin import Plugin  # noqa: E402
from ode_random import RandomModel  # noqa: E402

helpers.compile_as_users_do()


def quick_compiler():
    """tcc, if what it makes can be loaded: it asks for an executable stack, which glibc refuses since version 2.41."""
    tcc = shutil.which("tcc")
    with tempfile.TemporaryDirectory() as folder:
        try:
            subprocess.run([tcc or "tcc", "-shared", "-o", folder + "/a.so", "-"], input="int a;", text=True, check=True)
            ctypes.CDLL(folder + "/a.so")
        except (OSError, subprocess.CalledProcessError):
            return None
    return tcc


WRITER = helpers.BUILD / "tests" / "property" / "write_model_sources"
FIRST_SEED = 20_000_000
N_MODEL = 20_000 if helpers.SLOW else 15 if helpers.QUICK else 60
N_BATCH = 15 if helpers.QUICK else 30
# tcc compiles such a model in 5 ms, gcc -O0 in 40; but tcc has no vectors, so every EACH_th has functions of lanes.
EACH = 6
COMPILER = quick_compiler()
USUAL = [*os.environ.get("CC", "cc").split(), "-O0"]
COMPILE = [COMPILER] if COMPILER else USUAL


def written_to(folder, seeds):
    """Models with their texts in files m<seed>.ode."""
    models = {seed: RandomModel(seed) for seed in seeds}
    for seed, model in models.items():
        (folder / f"m{seed}.ode").write_bytes(model.text.encode())
    return models


def sources(folder, seeds):
    """The C sources of the files, by the program; none may be refused."""
    done = subprocess.run([WRITER, *(f"m{seed}.ode" for seed in seeds)], cwd=folder, capture_output=True, text=True,
                          errors="replace", check=False, timeout=600)
    helpers.assert_no_report(done, "write_model_sources")
    assert done.returncode == 0, done.stderr[:3000]


def compiled(folder, seed, source=None):
    source = source or folder / f"m{seed}.ode.c"
    plugin = source.with_suffix(".so")
    command = COMPILE if seed % EACH else [*USUAL, "-ffp-contract=off"]
    if COMPILER:  # for tcc a negative infinity is no constant, but this product is one
        source.write_text(source.read_text().replace("(-INFINITY)", "(-1e308*10.0)"))
    done = subprocess.run([*command, "-std=c11", "-fPIC", "-shared", "-I", str(helpers.ROOT / "include"), "-o",
                           str(plugin), str(source), "-lm"], capture_output=True, text=True, errors="replace",
                          check=False)
    assert done.returncode == 0, f"the C of seed {seed} does not compile: {done.stderr[:2000]}"
    return plugin


def judge(text, plugin, seed):
    return Judge(Model(text.replace("\r\n", "\n"), f"m{seed}"), Plugin(plugin), seed).judge()


def batch(first, count):
    """Judges some models in this process; prints each fault with its seed. A crash of a plugin is this process's."""
    counts, n_fault = collections.Counter(), 0
    with tempfile.TemporaryDirectory(prefix="stiffit-random-") as folder:
        folder = pathlib.Path(folder)
        seeds = range(first, first + count)
        models = written_to(folder, seeds)
        try:
            sources(folder, seeds)
        except AssertionError as fault:
            print(f"seeds {first} to {first + count - 1}: {fault}")
            n_fault += 1
        for seed in seeds:
            print(f"seed {seed}", flush=True)
            try:
                if (folder / f"m{seed}.ode.c").exists():
                    counts += judge(models[seed].text, compiled(folder, seed), seed)
            except (Disagreement, AssertionError) as fault:
                n_fault += 1
                print(f"fault: seed {seed}: {fault}")
    print("counts " + " ".join(f"{name.replace(' ', '_')}={n}" for name, n in counts.items()))
    return n_fault


def run_batch(first, count):
    done = subprocess.run([sys.executable, __file__, "--batch", str(first), str(count)], capture_output=True, text=True,
                          errors="replace", check=False, timeout=1800)
    faults = [line for line in done.stdout.splitlines() if not line.startswith(("seed ", "counts "))]
    if done.returncode not in (0, 1) or done.returncode == 1 and not faults:
        seen = re.findall(r"^seed (\d+)$", done.stdout, re.M)
        faults.append(f"died of {done.returncode} at seed {seen[-1] if seen else first}: {done.stderr[-1500:]}")
    found = re.findall(r"(\w+)=(\d+)", done.stdout.splitlines()[-1] if done.returncode in (0, 1) and done.stdout
                       else "")
    return faults, collections.Counter({name: int(n) for name, n in found})


@helpers.more
def test_reader_reads_what_was_meant(_):
    for seed in range(FIRST_SEED, FIRST_SEED + 500):
        written = RandomModel(seed)
        model = Model(written.text.replace("\r\n", "\n"))
        for place, expression in written.written.items():
            assert expression_at(model, *place) == expression, f"seed {seed}: {place}"


# Arguments within the domains of the functions that have one, whatever the parameters and states are.
ARGUMENTS = {"log": "s^2 + a^2 + 0.1", "log10": "s^2 + 0.1", "log2": "a^2 + 0.1", "log1p": "s^2*a^2",
             "sqrt": "s^2 + 0.1", "lgamma": "s^2 + a^2 + 0.1", "asin": "0.9*sin(a*s)",
             "acos": "0.9*cos(a + s)", "atanh": "0.9*tanh(a*s)",
             "acosh": "1.1 + a^2*s^2", "exp": "sin(a*s)", "expm1": "a*s/9", "sinh": "a*s/9", "cosh": "a*s/9",
             "pow": "s^2 + 0.2, a/2", "atan2": "a*s + 0.1, s - a/3"}
# What has its own rule, and what is regular at a dose of 0 although a factor of it is not.
FORMS = ("s^a2 + a2^s", "s^2", "s^3", "s^-1*s^3", "(a*s)^16", "(s^2 + a^2)^1.5", "(s^2 + 1)^-0.5", "(s^2 + 1)^(1/3)",
         "a/(b^2 + s^2)", "a*dose^a2/(b^2 + dose^a2)", "a2^a2", "if s > a then s*a else s - a",
         "piecewise(s, a > b, a, s > b, b)", "min(s, a, b)", "max(s^2, a*b, 1)", "s*(s > a)", "not s > a",
         "s > a and a > b or b > 2", "-s^2 - -a", "2^-s", "a - (b - s) - (a + b)")


@helpers.more
def test_each_function_alone(tmp):
    """In one model and at many points, so that here every difference quotient must agree."""
    forms = [f"{name}({ARGUMENTS.get(name, 'a*s + b')})" for name in FUNCTIONS] + list(FORMS)
    text = "par a = 1, b = 2\ncovariate dose\na2 = a^2 + 0.5\ns(0) = a*dose\ns' = b - a*s\n"
    text += "".join(f"observe y{i} = {form} sd 1 + y{i}^2\n" for i, form in enumerate(forms))
    (tmp / "m0.ode").write_text(text)
    sources(tmp, [0])
    judged = Judge(Model(text, "m0"), Plugin(compiled(tmp, 0)), 7)
    counts = judged.judge(60)
    print("compared: " + ", ".join(f"{n} {name}" for name, n in sorted(counts.items())))
    assert not judged.wrong and counts["passed over"] < 0.02 * counts["compared"], (judged.wrong, counts)
    assert counts["differences"] > 0.7 * counts["compared"], counts
    assert counts["lanes noise"] == counts["lanes observe"] == 120, counts  # by states and parameters, at each point


def expression_at(model, kind, name=None):
    parts = {"constant": model.constants, "intermediate": model.intermediates, "initial": model.initials,
             "rate": model.rates}
    if kind in parts:
        return parts[kind][name]
    return {"from": lambda: model.t0, "function": lambda: model.functions[name][1],
            "sd": lambda: model.observables[name]["sd"], "start": lambda: model.parameters[name]["start"],
            "first": lambda: model.parameters[name]["prior"][1], "second": lambda: model.parameters[name]["prior"][2],
            "lower": lambda: model.parameters[name]["in"][0], "upper": lambda: model.parameters[name]["in"][1]}[kind]()


@helpers.both
def test_random_models_are_what_their_text_says(_):
    print(f"seeds {FIRST_SEED} to {FIRST_SEED + N_MODEL - 1}, compiled with {' '.join(COMPILE)}")
    faults, counts = [], collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for some, counted in pool.map(run_batch, range(FIRST_SEED, FIRST_SEED + N_MODEL, N_BATCH),
                                      [N_BATCH] * (N_MODEL // N_BATCH)):
            faults += some
            counts += counted
    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults[:20])
    print("compared: " + ", ".join(f"{n} {name}" for name, n in sorted(counts.items())))
    # That most was compared, and sharply, is part of the test.
    assert counts["compared"] > 100 * N_MODEL and counts["compared"] > 4 * counts["passed_over"], counts
    assert counts["sharp"] > 0.9 * counts["compared"], counts
    assert counts["differences"] > 100 * N_MODEL and counts["sparse"] > N_MODEL // 50, counts
    assert counts["lanes"] > N_MODEL // EACH, counts
    assert counts["wrong_differences"] < 5e-4 * counts["differences"], counts


@helpers.both
def test_random_models_as_users_build_them(tmp):
    seeds = range(FIRST_SEED - (30 if helpers.SLOW else 2 if helpers.QUICK else 8), FIRST_SEED)
    for seed, model in written_to(tmp, seeds).items():
        helpers.stiffit("model", "build", tmp / f"m{seed}.ode", "-o", tmp / f"m{seed}.so",
                        env=helpers.environment(XDG_CACHE_HOME=tmp / "cache"))
        judge(model.text, tmp / f"m{seed}.so", seed)


# A wrong sign, a forgotten term, a wrong function: what a mistake in the program would do to the C.
MUTATIONS = ((r" \+ ", " - "), (r" - ", " + "), (r"\*", "/"), (r" / ", " * "), (r"\bexp\(", "cosh("),
             (r"\bp\[0\]", "p[1]"), (r"\by\[0\]", "y[1]"), (r"\bsin\(", "cos("), (r"\b2\.0\b", "3.0"),
             (r"\blog\(", "log1p("))


def mutated(source, rng):
    """The source with one mistake, or None where there is no place for one."""
    start = source.find("int ", source.find("stiffit_point"))
    end = source.find("/* Functions of lanes") % len(source)  # few of the models are compiled with lanes
    places = [(match, new) for old, new in MUTATIONS for match in re.finditer(old, source)
              if start < match.start() < end and is_code(source, match.start())]
    if not places:
        return None
    match, new = rng.choice(places)
    return source[:match.start()] + new + source[match.end():]


@helpers.more
def test_wrong_models_are_found(tmp):
    """The judge finds mistakes put into the C at random; a quarter or so change nothing at all, as in x/x, or only what
    no point comes to, as in branches for values that are rare."""
    n_made = n_found = 0
    rng = random.Random(FIRST_SEED)
    seeds = range(FIRST_SEED - 90, FIRST_SEED - (30 if helpers.SLOW else 60))
    models = written_to(tmp, seeds)
    sources(tmp, seeds)
    for seed, model in models.items():
        source = (tmp / f"m{seed}.ode.c").read_text()
        for i in range(3 if len(model.states) > 1 and len(model.parameters) > 1 else 0):
            wrong = tmp / f"wrong{seed}-{i}.c"
            text = mutated(source, rng)
            if text:
                wrong.write_text(text)
                n_made += 1
                try:
                    judge(model.text, compiled(tmp, seed, wrong), seed)
                except Disagreement:
                    n_found += 1
    print(f"{n_found} of {n_made} mistakes found")
    assert n_made >= 40 and n_found >= 0.65 * n_made, f"{n_found} of {n_made}"


def is_code(source, place):
    """Whether a place is within an expression: not in a comment, a string, a declaration of inputs or a loop's head."""
    start, end = source.rfind("\n", 0, place) + 1, source.find("\n", place)
    comment = source.find("/*", start, end)
    line = source[start:end]
    return ("=" in source[start:place] and not 0 <= comment <= place + 1 and line.startswith("    ")
            and not any(mark in line for mark in ('"', "for (", "at->", ".n_", ".t0")))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--batch"]:
        sys.exit(1 if batch(int(sys.argv[2]), int(sys.argv[3])) else 0)
    if sys.argv[1:2] == ["--show"]:
        with tempfile.TemporaryDirectory(prefix="stiffit-random-") as name:
            written_to(pathlib.Path(name), [int(sys.argv[2])])
            sys.stdout.write(next(pathlib.Path(name).iterdir()).read_text() + "\n")
            sources(pathlib.Path(name), [int(sys.argv[2])])
            sys.stdout.write((pathlib.Path(name) / f"m{sys.argv[2]}.ode.c").read_text())
        sys.exit(0)
    helpers.main()
