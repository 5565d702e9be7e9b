"""Mutated problem files, results, journals, states and CSV: the command neither crashes nor hangs nor eats the memory. Files
of HDF5 are changed through h5py, so that they remain files of HDF5 whose contents are wrong: changed bytes would try the
library (stand_ins.py). Meant for the build with AddressSanitizer and UBSan. STIFFIT_FUZZ=N says how many of each (half of the
results, a third of the states).

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 14000
"""
import collections
import concurrent.futures
import os
import re
import resource
import shutil
import signal
import subprocess
import time

import faults
import helpers as h
import mutants

EACH = int(os.environ.get("STIFFIT_FUZZ", 25 if not h.SANITIZE else 3400 if h.SLOW else 40))
JOBS = 2 if h.SLOW else 1
LONGEST_S, MOST_MEMORY = 10, 1 << 30
HANG_S = 5  # of the program's own watch over its children
ASAN = "exitcode=99:detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=1024:detect_stack_use_after_return=0"
CODES = (0, 1, 2, 3, 4)


def first_frame(lines):
    """The module of the first frame of a stack that is not the sanitizer's or libc's."""
    for line in lines:
        found = re.match(r"\s+#\d+ 0x\w+ (.*)", line)
        if not found:
            break
        if not re.search(r"lib(asan|ubsan|c|m)\.so|interceptor|sanitizer_common|asan/|sysdeps/", found.group(1)):
            return found.group(1)
    return ""


def is_the_librarys(report):
    """Whether a sanitizer's report is about libhdf5 and memory of its own."""
    lines = report.splitlines()
    if "runtime error:" in report:
        return False
    for i, line in enumerate(lines):
        if "ERROR: AddressSanitizer" in line:
            where = first_frame(lines[i + 1:]) or first_frame(lines[i + 2:]) or first_frame(lines[i + 3:])
            if not re.search(r"libhdf5|libz\.|libsz|libaec", where):
                return False
        if "allocated by thread" in line and "libhdf5" not in first_frame(lines[i + 1:]):
            return False
    return True


def attempt(command, folder):
    """(kind, what was seen) of one command; kind: ok, library (contained), or what is wrong."""
    def limits():
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if not h.SANITIZE:
            resource.setrlimit(resource.RLIMIT_DATA, (2 * MOST_MEMORY, 2 * MOST_MEMORY))
    began = time.monotonic()
    env = h.environment(ASAN_OPTIONS=ASAN, UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:exitcode=99",
                        STIFFIT_HANG_SECONDS=HANG_S)
    process = subprocess.Popen([str(h.STIFFIT), *map(str, command)], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", preexec_fn=limits)
    try:
        out, err = process.communicate(timeout=3 * LONGEST_S * h.SANITIZER_SPEED)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return "hang", f"{command}\n{err[-3000:]}"
    seconds = time.monotonic() - began
    shown = f"{command}: exit code {process.returncode}, {seconds:.1f} s\n{err[-6000:]}"
    if process.returncode not in CODES:
        return "crash", shown
    if any(word in err + out for word in h.REPORTS):
        return ("library" if is_the_librarys(err) and process.returncode == 3 else "report"), shown
    if "died" in err and "signal" in err:
        return ("library" if process.returncode == 3 else "died"), shown
    if "hung" in err:
        return ("library" if process.returncode == 3 else "died"), shown
    if seconds > LONGEST_S * (2 if h.SANITIZE else 1):
        return "slow", shown
    if process.returncode in (2, 3, 4) and "error" not in err:
        return "silent", shown
    return "ok", shown


def fuzz(tmp, name, case, n=EACH, check=lambda folder: None):
    """case(folder, number) makes a mutant in an empty folder and returns commands for it; check(folder) looks at what they
    made."""
    def one(number):
        folder = tmp / f"{name}-{number}"
        folder.mkdir()
        try:
            seen = [(number, *attempt(command, folder)) for command in case(folder, number)]
            try:
                check(folder)
            except (AssertionError, OSError) as fault:
                seen.append((number, "wrong", str(fault)))
            return seen
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    first = int(os.environ.get("STIFFIT_FUZZ_FIRST", 0))
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        seen = [entry for entries in pool.map(one, range(first, first + n)) for entry in entries]
    kinds = collections.Counter(kind for _, kind, _ in seen)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(f"{name}: {n} mutants, {len(seen)} commands: {dict(kinds)}; largest process {memory >> 20} MiB, "
          f"{time.monotonic() - began:.0f} s", flush=True)
    wrong = [f"{name} {number}: {kind}: {shown}" for number, kind, shown in seen if kind not in ("ok", "library")]
    if os.environ.get("STIFFIT_FUZZ_SHOW"):
        print("\n".join(f"{name} {number}: {kind}: {shown[-400:]}" for number, kind, shown in seen if kind == "library"))
    assert not wrong, f"{len(wrong)} of {len(seen)}\n" + "\n\n".join(wrong[:8])
    assert memory < MOST_MEMORY, memory
    assert kinds["ok"] > len(seen) * 0.8, kinds


def seed_problem(path):
    h.decay_problem(path, 5, known_sigma=True, covariates={"dose": [1.0, 2, 3, 4, 5]}, t0=0.0,
                    options={"rtol": 1e-6, "starts": 1},
                    parameters={"name": ["k", "A"], "start": [0.3, 1.0], "lower": [1e-3, 1e-3], "upper": [10.0, 100.0],
                                "scale": ["log", "log"], "fixed": [0, 0], "observables": ["y"]})


RUN = ("run", "p.h5", "--trust", "-j", "1", "--max-evaluations", "4", "-o", "r.h5", "--quiet")


def test_problem_files(tmp):
    seed_problem(tmp / "seed.h5")
    data = (tmp / "seed.h5").read_bytes()

    def case(folder, number):
        rng = mutants.rng_of("problem", number)
        (folder / "p.h5").write_bytes(data)
        mutants.mutate_hdf5(folder / "p.h5", rng)
        return [(*RUN, "--model", h.model("decay")) if rng.random() < 0.7 else ("show", "p.h5", *rng.choice(((), ("--json",))))]
    fuzz(tmp, "problem", case)


def test_results(tmp):
    seed_problem(tmp / "p.h5")
    tables = ("--profile", "k", "--bootstrap", "3", "--keep-profile", "--keep-bootstrap")
    h.stiffit(*RUN, *tables, cwd=tmp, code=(0, 1))
    whole = (tmp / "r.h5").read_bytes()
    for k in "12":
        h.stiffit(*[f"r{k}.h5" if word == "r.h5" else word for word in RUN], "--shard", f"{k}/2", *tables, cwd=tmp,
                  code=(0, 1))
    shard = (tmp / "r1.h5").read_bytes()

    def case(folder, number):
        rng = mutants.rng_of("result", number)
        merge = rng.random() < 0.2
        path = folder / ("r1.h5" if merge else "r.h5")
        path.write_bytes(shard if merge else whole)
        mutants.mutate_hdf5(path, rng)
        shutil.copy(tmp / "p.h5", folder)
        shutil.copy(tmp / "r2.h5", folder)
        if merge:
            return [("merge", "r1.h5", "r2.h5", "-o", "m.h5", "--quiet")]
        return [rng.choice((("show", "r.h5"), ("show", "r.h5", "--json"), ("export", "r.h5"), ("export", "r.h5", "--json"),
                            ("show", "r.h5", "--id", "d1"), ("export", "r.h5", "--what", "residuals"),
                            ("export", "r.h5", "--what", rng.choice(("profile", "bootstrap"))), RUN,
                            (*RUN, *tables, "--retry-failed")))]
    fuzz(tmp, "result", case, (EACH + 1) // 2)


def test_journals(tmp):
    seed_problem(tmp / "p.h5")
    h.stiffit(*RUN, cwd=tmp, code=(0, 1))
    whole = h.read_fits(tmp / "r.h5")
    (tmp / "r.h5").unlink()
    problem = (tmp / "p.h5").read_bytes()
    files = journal_of(tmp)

    def case(folder, number):
        rng = mutants.rng_of("journal", number)
        (folder / "p.h5").write_bytes(problem)
        status = rng.random() < 0.1
        journal = folder / ("p.result.h5.journal" if status else "r.h5.journal")
        journal.mkdir()
        for name, data in files.items():
            if name.endswith(".log"):
                data = mutants.mutate_journal(data, rng)
            elif rng.random() < 0.3 and not name.endswith(".h5"):
                data = mutants.mutate_bytes(data, rng)
            (journal / name).write_bytes(data)
        return [("status", "p.h5") if status else RUN]
    fuzz(tmp, "journal", case)
    assert whole["id"].size == 5


def journal_of(tmp):
    """{name: bytes} of a journal, complete but for what a kill in the middle of it cost."""
    for pause in (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2):
        problem = tmp / "p.h5"
        process = subprocess.Popen([str(h.STIFFIT), *RUN], cwd=tmp, env=h.environment(), start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        journal = tmp / "r.h5.journal"
        deadline = time.monotonic() + 60
        while not faults.records(journal) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.0005)
        faults.kill_all(process)
        if faults.records(journal) and not (tmp / "r.h5").exists():
            files = {path.name: path.read_bytes() for path in journal.iterdir() if path.is_file()}
            if any(len(data) > 1300 for name, data in files.items() if name.endswith(".log")):
                shutil.rmtree(journal)
                return files
        shutil.rmtree(journal, ignore_errors=True)
        (tmp / "r.h5").unlink(missing_ok=True)
        assert problem.exists()
        time.sleep(pause / 10)
    raise AssertionError("no journal to be had")


def test_states(tmp):
    """Of long fits that were killed: a mutant is passed over unless it is good, and never gives other numbers."""
    h.decay_problem(tmp / "p.h5", 2)
    command = ("run", "p.h5", "--model", h.zoo("counts"), "-j", "1", "-o", "r.h5", "--quiet", "--optimizer", "lbfgs")
    h.stiffit(*command, cwd=tmp, env=h.environment())
    whole = h.read_fits(tmp / "r.h5")
    (tmp / "r.h5").unlink()
    problem = (tmp / "p.h5").read_bytes()
    process = subprocess.Popen([str(h.STIFFIT), *map(str, command)], cwd=tmp, start_new_session=True,
                               env=h.environment(COUNT_SLEEP_MS=30), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = tmp / "r.h5.journal"
    while not any(path.stat().st_size for path in journal.glob("states/*.state")):
        assert process.poll() is None, "no state was kept"
        time.sleep(0.001)
    faults.kill_all(process)
    files = {str(path.relative_to(journal)): path.read_bytes() for path in journal.rglob("*") if path.is_file()}

    def case(folder, number):
        rng = mutants.rng_of("states", number)
        (folder / "p.h5").write_bytes(problem)
        for name, data in files.items():
            path = folder / "r.h5.journal" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(mutants.mutate_bytes(data, rng) if name.startswith("states/") else data)
        return [command]

    fuzz(tmp, "states", case, (EACH + 2) // 3, lambda folder: faults.same_fits(whole, h.read_fits(folder / "r.h5")))


def test_csv(tmp):
    rows = ["dataset,time,observable,value,sigma,dose"]
    rows += [f'"d {i}",{t},y,{2.5 - 0.1 * t:.17g},0.1,{i}' for i in range(4) for t in range(5)]
    data = ("\n".join(rows) + "\n").encode()

    def case(folder, number):
        rng = mutants.rng_of("csv", number)
        (folder / "t.csv").write_bytes(mutants.mutate_bytes(data, rng, mutants.CSV_WORDS))
        model = ("--model", h.model("decay")) if rng.random() < 0.5 else ()
        return [("import", "t.csv", "-o", "p.h5", *model), *([("show", "p.h5")] if rng.random() < 0.1 else ())]
    fuzz(tmp, "csv", case)


if __name__ == "__main__":
    h.main()
