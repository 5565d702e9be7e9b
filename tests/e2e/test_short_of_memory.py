"""Memory that is short: a row that converged has the bits of a run with enough memory, whatever found none; workers become
fewer where there is too little for all of them.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import random
import resource
import shutil
import subprocess

import h5py
import numpy as np

import faults
import helpers as h

MODEL = """parameter k = 0.5 in [0.01, 10] scale log
parameter A = 2 in [0.1, 30] scale log
parameter s = 0.1 in [1e-3, 10] scale log
init x = A
x' = -k*x
observe c = x sd s
"""
# What is run, with few datasets: fits of one each, and of many.
KINDS = {"starts": ("--starts", "3"), "refits": ("--profile", "k", "--bootstrap", "4"),
         "shared": ("--share", "s", "--starts", "2"),
         "random": ("--share", "s,A", "--random", "k"), "lbfgs": ("--optimizer", "lbfgs", "--gradient", "adjoint")}
CALLS, LATE = ("malloc", "calloc", "realloc"), 220


def problem(tmp, n, seed=3):
    rng = np.random.default_rng(seed)
    times = [0.5, 1, 2, 4, 6]
    rows = [(d, t, 0, 2 * np.exp(-k * t) + 0.1 * rng.standard_normal(), np.nan)
            for d, k in enumerate(0.5 * np.exp(0.3 * rng.standard_normal(n))) for t in times]
    (tmp / "m.ode").write_text(MODEL)
    h.write_problem(tmp / "p.h5", None, [f"d{d}" for d in range(n)], rows)


def run(tmp, *words, env=None, preexec=None, timeout=100):
    return subprocess.run([str(h.STIFFIT), "run", "p.h5", "--model", "m.ode", "-q", "--progress", "never", *words], cwd=tmp,
                          env=env or h.environment(), capture_output=True, text=True, errors="replace", check=False,
                          timeout=timeout, preexec_fn=preexec)


def tables(tmp):
    """All numbers of a result but times."""
    found = {}
    with h5py.File(tmp / "p.result.h5") as f:
        for group in ("fits", "population"):
            for name, data in f[group].items() if group in f else ():
                if name != "seconds" and isinstance(data, h5py.Dataset):
                    found[group, name] = data[()]
    return found


def clear(tmp):
    (tmp / "p.result.h5").unlink(missing_ok=True)
    shutil.rmtree(tmp / "p.result.h5.journal", ignore_errors=True)


def differences(whole, now):
    """Of the converged rows; and, if all converged, of the population."""
    ok = now["fits", "status"] == 1
    differ = [name for (group, name), values in whole.items() if group == "fits" and name != "message"
              and values[ok].tobytes() != now[group, name][ok].tobytes() and not (values.dtype == object)]
    if ok.all():
        differ += [f"population/{name}" for (group, name), values in whole.items() if group == "population" and
                   (("population", name) not in now or (values.dtype != object and
                                                        values.tobytes() != now[group, name].tobytes()))]
    return differ


def fail_some(tmp, kind, most, hows):
    words = (*KINDS[kind], "-j", "1", "--trust")
    clear(tmp)
    done = run(tmp, *words, env=faults.environment(tmp))
    assert done.returncode == 0, done.stderr
    whole, n_call = tables(tmp), faults.counts(tmp)
    rng, wrong, n_row = random.Random(7), [], 0
    for call in CALLS:
        n = n_call["__compute", call]
        late = range(max(1, n - LATE), n + 1)  # most of the earlier ones are for the engines
        for k in late if len(late) <= most else sorted(rng.sample(late, most)):
            for how in hows:
                clear(tmp)
                done = run(tmp, *words, env=faults.environment(tmp, ("__compute", call, k, how)))
                shown = f"{kind}, {call} {k} of {n} fails {how}: exit code {done.returncode} {done.stderr[:300]}"
                if done.returncode not in faults.DOCUMENTED:
                    wrong.append(shown)
                if done.returncode not in (0, 1):
                    continue
                now = tables(tmp)
                n_row += int((now["fits", "status"] != 1).sum())
                if differ := differences(whole, now):
                    wrong.append(f"{shown}: {differ}")
    print(f"{kind}: {n_call['__compute', 'malloc']} + {n_call['__compute', 'calloc']} allocations; {n_row} rows without memory")
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:int(os.environ.get('SHOW', '8'))])


def test_failed_allocations(tmp):
    problem(tmp, 3)
    for kind in KINDS:
        fail_some(tmp, kind, 10000 if h.SLOW else 3, ("once", "ever") if h.SLOW else ("once",))


def test_many_workers_and_few_addresses(tmp):
    """Stacks and engines of 64 workers take more than the limit; the fits themselves need little."""
    if h.SANITIZE:
        h.skip("sanitizers need more address space than a limit leaves")
    problem(tmp, 120)
    words = ("--starts", "2", "--trust")
    done = run(tmp, *words, "-j", "1")
    assert done.returncode == 0, done.stderr
    whole = tables(tmp)
    for mib in (80, 300, 500) if not h.SLOW else (*range(60, 200, 10), *range(200, 900, 50)):
        clear(tmp)
        done = run(tmp, *words, "-j", "64",
                   preexec=lambda mib=mib: resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20)))
        assert done.returncode == 0, (mib, done.returncode, done.stderr)
        assert not (differ := differences(whole, tables(tmp))), (mib, differ)


if __name__ == "__main__":
    h.main()
