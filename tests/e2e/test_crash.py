"""Models that crash, hang or take all memory for some datasets, among many healthy ones: exactly those fail, with the reason,
and everybody else ends with the bits of a run in which nothing happened.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import resource
import subprocess

import h5py
import numpy as np

import helpers as h
from helpers import stiffit

h.let_models_crash()

# Numbers of the covariate `fault` in tests/zoo/by_covariate.c.
FAULTS = ("sound segfault exit_0 loop nan_from_t1 stack_smash memory_hog abort division recursion raise_sigkill pthread_exit "
          "longjmp _exit_3 leak far slow sleep").split()
SIGNAL = "signal {} ({})"
START = " at k = 0.3, A = 1"  # the zoo's start: each fault strikes in the first evaluation
REASON = {
    "segfault": SIGNAL.format(11, "Segmentation fault") + START,
    "exit_0": "the model's code called exit(0)" + START,
    "loop": "no step finished for 1 s" + START,
    "sleep": "no step finished for 1 s" + START,
    "stack_smash": SIGNAL.format(6, "Aborted") + START,
    "memory_hog": SIGNAL.format(9, "Killed; was memory short?") + START,
    "abort": SIGNAL.format(6, "Aborted") + START,
    "division": SIGNAL.format(8, "Floating point exception") + START,
    "recursion": SIGNAL.format(11, "Segmentation fault") + START,
    "raise_sigkill": SIGNAL.format(9, "Killed; was memory short?") + START,
    "pthread_exit": SIGNAL.format(6, "Aborted") + START,
    "longjmp": "signal ",  # nonsense: which one depends on the C library
    "_exit_3": "the model's code called exit(3)" + START,
}
STATUS = {"loop": "timeout", "sleep": "timeout", "nan_from_t1": "model_failed", "leak": "model_failed"}
ALL = {3: "segfault", 5: "exit_0", 7: "loop", 9: "nan_from_t1", 11: "stack_smash", 13: "memory_hog", 15: "abort",
       17: "division", 19: "recursion", 21: "raise_sigkill", 23: "pthread_exit", 25: "longjmp", 27: "_exit_3"}
if h.SANITIZE == "thread":  # it stops at a jump to nowhere, and looks at the stack itself
    del ALL[25]
    REASON["stack_smash"] = "signal "


def problem(path, n, faults, **keywords):
    """n datasets of exponential decay; faults: dataset -> word."""
    covariate = np.zeros(n)
    for dataset, word in faults.items():
        covariate[dataset] = FAULTS.index(word)
    h.decay_problem(path, n, covariates={"fault": covariate}, **keywords)
    with h5py.File(path, "a") as f:
        f["model"].attrs["plugin"] = str(h.zoo("by_covariate"))
    return path


def hang_after(seconds, **changes):
    return h.environment(STIFFIT_HANG_SECONDS=seconds * h.SANITIZER_SPEED, **changes)


def reason_of(fits, i):
    return fits["message"][i] if "message" in fits else fits["reason"][i]


def assert_same_but(fits, healthy, sick):
    """Every column that is not a time has the same bits in both, except in the rows of the sick."""
    keep = np.setdiff1d(np.arange(len(healthy["id"])), list(sick))
    for name, column in healthy.items():
        if name in ("names", "stderr", "seconds"):
            continue
        mine, other = np.asarray(fits[name])[keep], np.asarray(column)[keep]
        same = mine.tobytes() == other.tobytes() if mine.dtype.kind in "fiu" else np.array_equal(mine, other)
        at = [i for i in range(len(keep)) if not np.array_equal(mine[i], other[i])]
        assert same, f"{name} differs at {keep[at][:10]}: {[(mine[i], reason_of(fits, keep[i])) for i in at[:2]]}"


def assert_sick(fits, faults):
    for dataset, word in faults.items():
        status = STATUS.get(word, "crashed")
        assert fits["status"][dataset] == status, (dataset, word, fits["status"][dataset], reason_of(fits, dataset))
        assert np.all(np.isnan(fits["parameters"][dataset])) or status == "model_failed"
        expected = REASON.get(word, "")
        if word == "loop":
            expected = expected.replace("1 s", f"{h.SANITIZER_SPEED} s")
        assert reason_of(fits, dataset).startswith(expected), (word, reason_of(fits, dataset))


@h.both
def test_the_zoo_among_the_healthy(tmp):
    n = 1000 if h.SLOW else 200
    for threads, hang in h.portion(((2, "loop"), (1, "sleep"), (8, "sleep")), 1):
        sick_ones = {**ALL, 7: hang}
        healthy = h.run(problem(tmp / "healthy.h5", n, {}), "-q", "-j2", "--overwrite")
        sick = problem(tmp / "sick.h5", n, sick_ones)
        done = stiffit("run", sick, "--trust", "--overwrite", f"-j{threads}", "--json", code=1, env=hang_after(1))
        fits = h.read_fits(h.result_path(sick))
        assert_sick(fits, sick_ones)
        assert_same_but(fits, healthy, sick_ones)
        told = h.summary(done)
        assert told["failed"] == len(ALL) and told["fits"] == n
        assert told["status"]["crashed"] == len(ALL) - 2 and told["status"]["timeout"] == 1
        assert "d3: the model crashed: signal 11" in done.stderr or threads > 1
        assert done.stderr.count("model by_covariate") == 1, "what the run will do is said once, not by each process"
        assert not os.path.exists(f"{h.result_path(sick)}.journal")


def test_starts_refits_and_pilots(tmp):
    faults = {0: "segfault", 7: "exit_0", 30: "raise_sigkill"}
    options = ("-j2", "-q", "--starts", "2", "--profile", "k", "--bootstrap", "3", "--warm-start", "pilot", "--seed", "5")
    bounds = {"name": ["k", "A"], "lower": [1e-3, 1e-3], "upper": [1e2, 1e2], "start": [0.3, 1]}
    healthy = h.run(problem(tmp / "healthy.h5", 60, {40: "nan_from_t1"}, parameters=bounds), *options, code=(0, 1))
    fits = h.run(problem(tmp / "sick.h5", 60, {**faults, 40: "nan_from_t1"}, parameters=bounds), *options, code=1)
    assert [fits["status"][i] for i in faults] == ["crashed"] * 3
    # Of 60 datasets every second one is a pilot. Without dataset 7 their median is another one, so only they keep their bits;
    # the others end at the same optimum, as near as --ftol 1e-9 lets them.
    assert_same_but(fits, healthy, set(range(0, 60, 2)) | set(faults))
    well = [i for i in range(60) if i not in faults and i != 40]
    np.testing.assert_allclose(fits["parameters"][well], healthy["parameters"][well], rtol=1e-4)


def test_starts_and_refits_keep_their_bits(tmp):
    faults = {0: "segfault", 7: "exit_0", 30: "raise_sigkill"}
    options = ("-j2", "-q", "--starts", "2", "--profile", "k", "--bootstrap", "3")
    bounds = {"name": ["k", "A"], "lower": [1e-3, 1e-3], "upper": [1e2, 1e2], "start": [0.3, 1]}
    healthy = h.run(problem(tmp / "healthy.h5", 60, {}, parameters=bounds), *options)
    fits = h.run(problem(tmp / "sick.h5", 60, faults, parameters=bounds), *options, code=1)
    assert [fits["status"][i] for i in faults] == ["crashed"] * 3
    assert_same_but(fits, healthy, faults)


def test_crashing_on_everything_ends_the_run(tmp):
    path = problem(tmp / "p.h5", 30, {i: "segfault" for i in range(30)})
    for threads in (2, 1):  # the last one, alone on its worker, leaves crashes in the journal for certain
        done = stiffit("run", path, "--trust", f"-j{threads}", "--max-crashes", "5", "--restart", code=3)
        assert "more than --max-crashes allows" in done.stderr and "signal 11" in done.stderr
        # Of several at once any may be the cause.
        assert START in done.stderr or ((threads > 1 or not h.ONE_LANE) and
                                        re.search(r"or another of \d+ at once: signal 11", done.stderr)), done.stderr
        assert not h.result_path(path).exists()
    done = stiffit("run", path, "--trust", "-j2", "--max-crashes", "100", "--json", code=1)
    assert "resuming: " in done.stderr or not h.ONE_LANE
    assert h.summary(done)["status"]["crashed"] == 30
    assert_sick(h.read_fits(h.result_path(path)), {i: "segfault" for i in range(30)})


def test_hanging_on_everything_ends_the_run_sooner(tmp):
    path = problem(tmp / "p.h5", 12, {i: "sleep" for i in range(12)})
    done = stiffit("run", path, "--trust", "-j8", code=3, env=hang_after(1))
    assert "hung: no step finished for" in done.stderr and "more than --max-crashes allows" in done.stderr


def test_restart_begins_anew_only_once(tmp):
    """A crash starts another process with the same arguments: --restart must not take from it what the first one did."""
    path = problem(tmp / "p.h5", 300, {250: "abort"})
    done = stiffit("run", path, "--trust", "-j1", "--restart", "--json", code=1)
    healthy = h.run(problem(tmp / "healthy.h5", 300, {}), "-q")
    assert h.summary(done)["failed"] == 1
    assert done.stderr.count("the model crashed: ") == 1
    assert done.stderr.count("process died") == (0 if h.ONE_LANE else 1), "alone on its worker, it is not tried again"
    assert_same_but(h.read_fits(h.result_path(path)), healthy, {250})


def limited(limit_mib):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (limit_mib << 20, limit_mib << 20))


@h.more
def test_memory_taken_under_a_limit(tmp):
    """One dataset takes all address space there is and crashes, one keeps it: those who then get none are tried again."""
    if h.SANITIZE:
        h.skip("sanitizers need more address space than a limit leaves")
    for n, faults in ((200, {13: "memory_hog", 50: "leak", 120: "leak"}), (600, {0: "leak", 300: "leak"})):
        healthy = h.run(problem(tmp / "healthy.h5", n, {}), "-q", "--overwrite")
        path = problem(tmp / "sick.h5", n, faults)
        for threads in (1, 2):
            done = subprocess.run([str(h.STIFFIT), "run", str(path), "--trust", f"-j{threads}", "--overwrite"], check=False,
                                  capture_output=True, text=True, preexec_fn=limited(400), timeout=300,
                                  env=h.environment(ZOO_HOG_MIB=2000))
            assert done.returncode == 1, done.stderr
            fits = h.read_fits(h.result_path(path))
            for i, word in faults.items():
                assert fits["status"][i] == ("crashed" if word == "memory_hog" else "model_failed"), reason_of(fits, i)
                assert word == "leak" or "signal 6" in reason_of(fits, i), reason_of(fits, i)
            assert_same_but(fits, healthy, faults)


def test_starts_that_crash(tmp):
    """Those that begin where the model crashes: the best of the others counts, and each is told of."""
    bounds = {"name": ["k", "A"], "lower": [1e-3, 1e-3], "upper": [1e3, 1e2], "start": [0.3, 1]}
    options = ("-j2", "-q", "--starts", "4", "--keep-starts")
    healthy = h.run(problem(tmp / "healthy.h5", 20, {}, parameters=bounds), *options)
    fits = h.run(problem(tmp / "sick.h5", 20, {3: "far", 8: "far"}, parameters=bounds), *options)
    with h5py.File(h.result_path(tmp / "sick.h5")) as f:
        starts = f["starts"]
        crashed = h5py.check_enum_dtype(starts["status"].dtype)["crashed"]
        lost = starts["status"][()] == crashed
        assert set(starts["dataset"][lost]) == {3, 8}
        assert 0 not in starts["start"][lost], "the first begins at k = 0.3"
    # Another start's optimum is the same one, as near as --ftol 1e-9 lets it.
    np.testing.assert_allclose(fits["parameters"][[3, 8]], healthy["parameters"][[3, 8]], rtol=1e-4)
    assert_same_but(fits, healthy, {3, 8})


# What a constructor may do, besides its work, to the process that loads it.
CONSTRUCTOR = """
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void) { %s }
"""
CUT_ALL = "for (int i = 3; i < 40; i++) if (ftruncate(i, 0)) {}"


def decay_with(tmp, name, constructor="", in_rhs=""):
    """The decay example, which does this when it is loaded, and this in every right-hand side."""
    source = (h.ROOT / "models" / "decay" / "decay.c").read_text(encoding="utf-8")
    head, brace, rest = source.partition("rhs(")[0], "{", source.partition("rhs(")[2].partition("{")
    text = CONSTRUCTOR % constructor + head + "rhs(" + rest[0] + brace + in_rhs + rest[2]
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O1", "-fPIC", "-shared", "-I", h.ROOT / "include",
                    "-o", tmp / name, "-xc", "-", "-xnone", "-lm"], input=text, text=True, check=True)
    return name


def test_constructors_that_change_the_process(tmp):
    """Relative paths, permissions and numbers stay what they were."""
    (tmp / "work").mkdir()
    (tmp / "elsewhere").mkdir()
    h.decay_problem(tmp / "work" / "p.h5", 5)
    fits = {}
    for name, change in (("plain", ""), ("moved", f'if (chdir("{tmp / "elsewhere"}")) {{}}'), ("masked", "umask(0777);"),
                         ("comma", 'setlocale(LC_ALL, "de_DE.UTF-8");')):
        plugin = decay_with(tmp / "work", name + ".so", change)
        done = stiffit("run", "p.h5", "--model", plugin, "-o", name + ".h5", "-j2", cwd=tmp / "work", timeout=60)
        assert "again" not in done.stderr, done.stderr
        fits[name] = h.read_fits(tmp / "work" / f"{name}.h5")
        table = stiffit("export", name + ".h5", "--what", "residuals", "--model", plugin, "-o", name + ".csv", cwd=tmp / "work")
        assert not table.stderr or "note" in table.stderr
        assert os.stat(tmp / "work" / f"{name}.csv").st_mode & 0o777 == os.stat(tmp / "work" / "plain.csv").st_mode & 0o777
        assert (tmp / "work" / f"{name}.csv").read_bytes() == (tmp / "work" / "plain.csv").read_bytes()
        assert_same_but(fits[name], fits["plain"], {})
    assert not list((tmp / "elsewhere").iterdir())


def test_killed_before_the_first_fit(tmp):
    """As by a control group whose memory is used up: that is no fault of the model."""
    h.decay_problem(tmp / "p.h5", 5)
    done = stiffit("run", "p.h5", "--model", decay_with(tmp, "killed.so", "int raise(int); raise(9);"), cwd=tmp, code=4,
                   timeout=60)
    assert "signal 9" in done.stderr and "more memory" in done.stderr and "check" not in done.stderr, done.stderr


def test_models_that_take_the_journal_away(tmp):
    """The run ends, and says why; with another model it then comes to its end."""
    h.decay_problem(tmp / "p.h5", 5)
    plugin = decay_with(tmp, "mover.so", in_rhs=f'''
        static char to[200];
        snprintf(to, sizeof to, "{tmp}/away-%ld", (long)getpid());
        if (rename("{tmp}/p.result.h5.journal", to)) {{}}''')
    done = stiffit("run", "p.h5", "--model", plugin, "-j1", cwd=tmp, code=4, timeout=100)
    assert "again and again" in done.stderr and done.stderr.count("checking again") <= 8, done.stderr
    stiffit("run", "p.h5", "--trust", cwd=tmp)


def test_models_that_cut_every_open_file(tmp):
    """The memory that supervisor and children share cannot be cut; what is lost of the journal is found missing."""
    h.decay_problem(tmp / "p.h5", 5)
    stiffit("run", "p.h5", "--trust", "--engine=cvodes", "-o", "whole.h5", cwd=tmp)  # which a plugin from C is left to
    loaded = stiffit("run", "p.h5", "--model", decay_with(tmp, "a.so", CUT_ALL), "-o", "a.h5", cwd=tmp)
    assert "hung" not in loaded.stderr
    assert_same_but(h.read_fits(tmp / "a.h5"), h.read_fits(tmp / "whole.h5"), {})
    done = stiffit("run", "p.h5", "--model", decay_with(tmp, "b.so", in_rhs=CUT_ALL), "-o", "b.h5", cwd=tmp, code=4)
    assert "again and again" in done.stderr and not (tmp / "b.h5").exists(), done.stderr


if __name__ == "__main__":
    h.main()
