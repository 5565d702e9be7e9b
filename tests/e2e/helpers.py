"""What the end-to-end tests share: running the program, writing problem files and reading results with h5py, a runner.

SPDX-License-Identifier: BSD-3-Clause

A test file holds functions test_*(tmp); each gets an empty folder. It ends with `helpers.main()`. Each function has a level
(see LEVEL): @more and @slow mark those that `make check` leaves out.
"""
import atexit
import faulthandler
import inspect
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import h5py
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("STIFFIT_BUILD", "build")
STIFFIT = BUILD / os.environ.get("STIFFIT_PROGRAM", "stiffit")
# "auto", "lanes" or "gpu" (tests/run --engine): the models are those made from text, which have lanes, and auto takes them. The
# others are asked for wherever the test itself names no engine, for difference quotients too.
ENGINE = os.environ.get("STIFFIT_ENGINE", "")
ASKED = [f"--engine={ENGINE}"] if ENGINE in ("lanes", "gpu") else []
ONE_LANE = STIFFIT.name == "stiffit"  # else a worker is at several fits at once (tests/engine)
# Which tests run: "quick" those without a mark (make check), "more" those marked so (make check-more), "slow" all, with SLOW
# for their long forms (make check-all), and without a level all but the slow ones.
LEVEL = os.environ.get("STIFFIT_LEVEL", "")
QUICK, SLOW = LEVEL == "quick", LEVEL == "slow"
SANITIZE = os.environ.get("STIFFIT_SANITIZE", "")
QUICK_COMPILER = ROOT / "tests" / "quick-cc" if shutil.which("cc") and not (SLOW or SANITIZE or ENGINE) else None
SANITIZER_SPEED = 20 if SANITIZE else 1  # a sanitizer costs a factor of 2 to 20
REPORTS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:")


class Skip(Exception):
    """Raised by a test that cannot run here; its text is the reason that is shown."""


def skip(reason):
    raise Skip(reason)


def more(test):
    """Marks a test of `make check-more`: a harder or wider form of what a quick one shows."""
    test.level = "more"
    return test


def both(test):
    """Marks a test that has a part in `make check` and another one in `make check-more`: by portion(), or by QUICK."""
    test.level = "both"
    return test


def slow(test):
    """Marks a test of `make check-all` only."""
    test.level = "slow"
    return test


def level_of(test):
    return getattr(test, "level", "quick")


def is_chosen(test):
    level = level_of(test)
    return level == "both" or LEVEL in ("slow", level) or (not LEVEL and level != "slow")


RUNNING = []  # the test that runs


def portion(cases, n):
    """n of the cases in `make check`, the others in `make check-more`, else all."""
    assert level_of(RUNNING[-1]) == "both", "a test that takes a portion is marked @both"
    cases = list(cases)
    assert 0 < n < len(cases), (n, len(cases))
    quick = {i * len(cases) // n for i in range(n)}  # spread over them
    return [case for i, case in enumerate(cases) if LEVEL not in ("quick", "more") or (i in quick) == QUICK]


def model(name):
    from_text = BUILD / "models" / f"{name}.text.so"
    return from_text if ENGINE and from_text.exists() else BUILD / "models" / f"{name}.so"


def zoo(name):
    return BUILD / "tests" / "zoo" / f"{name}.so"


def compile_as_users_do():
    """For tests about compiling, vectors or rounding: the default compiler and its optimisation (see tests/quick-cc)."""
    global QUICK_COMPILER  # pylint: disable=global-statement
    QUICK_COMPILER = None


def may_be_entered(folder):
    """By all users."""
    return all(each.stat().st_mode & 1 for each in (folder.resolve(), *folder.resolve().parents))


def let_others_enter():
    """For tests that become another user: where others may not enter the build folder or that of temporary files, as in a home
    of mode 700, /tmp gets a copy of the program and its models, and the tests' files."""
    global BUILD, STIFFIT, QUICK_COMPILER  # pylint: disable=global-statement
    if os.geteuid():
        return
    os.umask(0o022)
    if may_be_entered(BUILD) and may_be_entered(pathlib.Path(tempfile.gettempdir())):
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stiffit-test-", dir="/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["TMPDIR"] = tempfile.tempdir = "/tmp"
    for path in (STIFFIT, BUILD / "models", BUILD / "tests" / "zoo"):
        copied = folder / path.relative_to(BUILD)
        copied.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, copied)
    BUILD, STIFFIT = folder, folder / STIFFIT.relative_to(BUILD)
    if QUICK_COMPILER:
        QUICK_COMPILER = shutil.copy(QUICK_COMPILER, folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)


def preload(library):
    """Variables for a library that is loaded first. LD_PRELOAD is cut at blanks, which a path may have."""
    return {"LD_PRELOAD": library.name, "LD_LIBRARY_PATH": library.parent}


def environment(**changes):
    """Without what would change the program's words or colours."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("LC_", "LANG", "NO_COLOR", "STIFFIT_"))}
    # Compiled models and trusted code of the tests' own, not the user's.
    env.setdefault("XDG_CACHE_HOME", str(BUILD / "tests" / "cache"))
    env.setdefault("XDG_CONFIG_HOME", str(BUILD / "tests" / "config"))
    if QUICK_COMPILER:
        env.setdefault("CC", str(QUICK_COMPILER))
    if ENGINE == "gpu":
        env["STIFFIT_GPU_LEAST"] = "1"  # the tests' few evaluations, too, are for the device
    env.update({k: str(v) for k, v in changes.items()})
    return env


def let_models_crash():
    """For tests whose models crash: under a sanitizer a crash is to be what it is without, and not a report."""
    for variable, more in (("ASAN_OPTIONS", ""), ("TSAN_OPTIONS", ":report_thread_leaks=0")):
        os.environ[variable] = (os.environ.get(variable, "exitcode=99") + more +
                                ":handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0")


def assert_no_report(done, shown=""):
    text = (done.stderr or "") + (done.stdout or "")
    assert done.returncode >= 0, f"{shown} died of signal {-done.returncode}\n{done.stderr}"
    assert done.returncode != 99 and not any(word in text for word in REPORTS), f"{shown}: sanitizer report\n{text}"


def stiffit(*args, code=0, cwd=None, env=None, timeout=600, stdin=None):
    """Runs the program and checks its exit code (None: any but a crash). Returns the finished process, with text."""
    command = [str(STIFFIT), *map(str, args)]
    ask_for = ASKED if args[:1] == ("run",) and not any(word.startswith("--engine") for word in command) else []
    for words in ([ask_for, []] if ask_for else [[]]):
        done = subprocess.run(command[:2] + words + command[2:], capture_output=True, text=True, errors="replace", cwd=cwd,
                              timeout=timeout, env=env or environment(), input=stdin, check=False)
        if words and f"--engine {ENGINE} needs" in done.stderr:
            skip(done.stderr.strip().splitlines()[-1])
        if f"--engine {ENGINE}: " not in done.stderr:  # the model is refused
            break
    shown = " ".join(command)
    assert_no_report(done, shown)
    if code is not None:
        codes = code if isinstance(code, tuple) else (code,)
        assert done.returncode in codes, (f"exit code {done.returncode}, not {code}: {shown}\n"
                                          f"--- stdout\n{done.stdout[-2000:]}\n--- stderr\n{done.stderr[-4000:]}")
    return done


def write_problem(path, plugin=None, ids=(), rows=(), *, parameters=None, covariates=None, t0=None, options=None):
    """A problem file as a user of h5py writes it.

    rows: an array of (dataset, time, observable index, value, sigma), in order of dataset, and `observables` from
    parameters["observables"]; parameters: dict with any of name, start, lower, upper, scale, fixed, observables."""
    parameters = dict(parameters or {})
    observables = parameters.pop("observables", None)
    rows = np.asarray(rows, float).reshape(-1, 5)
    with h5py.File(path, "w") as f:
        f.attrs["stiffit_file"] = "problem"
        f.attrs["format"] = 1
        group = f.create_group("model")
        if plugin is not None:
            group.attrs["plugin"] = str(plugin)
        if parameters:
            group = f.create_group("parameters")
            for name, value in parameters.items():
                is_text = name in ("name", "scale")
                group.create_dataset(name, data=list(map(str, value)) if is_text else np.asarray(value),
                                     **({"dtype": h5py.string_dtype()} if is_text else {}))
        group = f.create_group("datasets")
        group.create_dataset("id", data=[str(i) for i in ids], dtype=h5py.string_dtype())
        if t0 is not None:
            group["t0"] = t0
        if covariates:
            group.create_dataset("covariate_names", data=list(covariates), dtype=h5py.string_dtype())
            group["covariates"] = np.column_stack([np.asarray(c, float) for c in covariates.values()])
        group = f.create_group("measurements")
        group["dataset"] = rows[:, 0].astype(np.int64)
        group["time"] = rows[:, 1]
        group["value"] = rows[:, 3]
        if not np.all(np.isnan(rows[:, 4])):
            group["sigma"] = rows[:, 4]
        if observables is not None:
            group["observable"] = rows[:, 2].astype(np.int32)
            group.create_dataset("observable_names", data=list(observables), dtype=h5py.string_dtype())
        if options:
            group = f.create_group("options")
            for name, value in options.items():
                group.attrs[name] = value
    return path


def read_fits(path):
    """The columns of /fits; status as names."""
    with h5py.File(path, "r") as f:
        fits = {}
        for name, column in f["fits"].items():
            data = column[()]
            if h5py.check_string_dtype(column.dtype):
                data = column.asstr()[()]
            names = h5py.check_enum_dtype(column.dtype)
            if names:
                by_number = {number: name for name, number in names.items()}
                data = np.array([by_number[int(value)] for value in data.ravel()]).reshape(data.shape)
            fits[name] = data
        # In place, a problem that left the names to its model has them beside the provenance.
        names = f["parameters/name" if "parameters/name" in f else "provenance/parameters/name"]
        fits["names"] = list(names.asstr()[()])
        return fits


def result_path(problem):
    return pathlib.Path(str(problem)[:-3] + ".result.h5")


def run(problem, *args, code=0, **keywords):
    """`stiffit run`, trusting the model that the file names; returns the fits."""
    done = stiffit("run", problem, "--trust", *args, code=code, **keywords)
    output = result_path(problem)
    for flag, value in zip(args, list(args[1:]) + [None]):
        if flag in ("-o", "--output"):
            output = value
        if flag == "--in-place":
            output = problem
    fits = read_fits(output)
    fits["stderr"] = done.stderr
    return fits


def decay_problem(path, n, *, seed=1, n_time=8, noise=0.01, known_sigma=False, model_name="decay", **keywords):
    """n one-state datasets A exp(-k t); the fastest thing there is to fit. Returns the true (k, A)."""
    rng = np.random.default_rng(seed)
    k = np.exp(rng.normal(np.log(0.3), 0.4, n))
    a = np.exp(rng.normal(np.log(2.0), 0.2, n))
    t = np.linspace(0.5, 8.0, n_time)
    exact = a[:, None] * np.exp(-k[:, None] * t)
    sigma = noise * exact
    y = exact + sigma * rng.standard_normal((n, n_time))
    rows = np.column_stack([np.repeat(np.arange(n), n_time), np.tile(t, n), np.zeros(n * n_time), y.ravel(),
                            sigma.ravel() if known_sigma else np.full(n * n_time, np.nan)])
    write_problem(path, model(model_name), [f"d{i}" for i in range(n)], rows, **keywords)
    return np.column_stack([k, a])


def compile_plugin(source, path, optimise="-O2"):
    """The documented line, with this repository's header and for the plainest CPU."""
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", optimise, "-fPIC", "-shared", "-I", str(ROOT / "include"),
                    "-o", str(path), "-xc", "-", "-xnone", "-lm"], input=source, text=True, check=True)
    return path


def summary(done):
    """The JSON that a command with --json printed."""
    return json.loads(done.stdout)


def cpu_seconds():
    """Of this process and its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def run_script(script, *words, program):
    """Another script's tests (those with one of the words in their name) with a program that stands in for stiffit."""
    env = dict(os.environ, STIFFIT_PROGRAM=program, STIFFIT_LEVEL="slow" if SLOW else "")
    done = subprocess.run([sys.executable, str(ROOT / "tests/e2e" / script), *words], capture_output=True, text=True, env=env,
                          check=False)
    assert done.returncode == 0, f"{script} with {program}:\n{done.stdout}{done.stderr}"


def main():
    module = inspect.getmodule(inspect.stack()[1].frame)
    tests = [(getattr(test, "line", None) or test.__code__.co_firstlineno, name, test)
             for name, test in vars(module).items() if name.startswith("test_") and callable(test)]
    wanted = sys.argv[1:]
    failed = n_run = 0
    faulthandler.register(signal.SIGUSR1)  # from tests/run, after too long: the stack says where it waits
    for _, name, test in sorted(tests, key=lambda entry: entry[0]):
        if wanted and not any(word in name for word in wanted):
            continue
        if not is_chosen(test):
            if not LEVEL:
                print(f"skip {name}: slow: STIFFIT_LEVEL=slow (make check-all) runs it")
            continue
        n_run += 1
        tmp = pathlib.Path(tempfile.mkdtemp(prefix="stiffit-test-"))
        began, cpu_before = time.monotonic(), cpu_seconds()
        RUNNING[:] = [test]
        try:
            test(tmp)
            print(f"ok {name}  {time.monotonic() - began:.1f} s, {cpu_seconds() - cpu_before:.1f} s of CPU")
        except Skip as reason:
            print(f"skip {name}: {reason}")
        except Exception as fault:  # pylint: disable=broad-except
            failed += 1
            print(f"FAIL {name}  {time.monotonic() - began:.1f} s")
            for frame in traceback.extract_tb(fault.__traceback__)[1:]:
                if str(ROOT) in frame.filename:
                    print(f"  {os.path.relpath(frame.filename, ROOT)}:{frame.lineno}: {frame.line}")
            print("  " + f"{type(fault).__name__}: {fault}".replace("\n", "\n  ")[:4000])
        finally:
            shutil.rmtree(tmp, ignore_errors=True)
    if not n_run and not wanted:
        print("none of these tests belongs to this level")
        sys.exit(77)
    sys.exit(1 if failed else 0)
