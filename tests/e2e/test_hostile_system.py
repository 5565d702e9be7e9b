"""A hostile system around a run: full disks, folders that may not be written, files that vanish, too little memory, too few
processes and descriptors, a locale with decimal comma, a clock that jumps, no HOME, locks that fail.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 900
"""
import csv
import errno
import os
import resource
import shutil
import subprocess

import h5py
import numpy as np

import faults
import helpers as h
from test_hostile import finish, start, wait_for_fits, zoo_problem

h.let_others_enter()

NOBODY = 65534


def stiffit(tmp, *args, preexec=None, env=None, timeout=100):
    done = subprocess.run([str(h.STIFFIT), *map(str, args)], cwd=tmp, env=env or h.environment(),
                          capture_output=True, text=True, errors="replace", check=False, timeout=timeout, preexec_fn=preexec)
    assert done.returncode in faults.DOCUMENTED or (done.returncode == 127 and "shared libraries" in done.stderr), (args, done)
    return done


def run(tmp, *args, **keywords):
    return stiffit(tmp, "run", "p.h5", "--trust", "--progress", "never", *args, **keywords)


def whole_run(tmp, n=20):
    h.decay_problem(tmp / "p.h5", n)
    return h.run(tmp / "p.h5", "-o", tmp / "whole.h5")


def ends_well(tmp, whole, result=None):
    """The same command without the trouble."""
    done = run(tmp) if result is None else run(tmp, "-o", result)
    assert done.returncode == 0, done.stderr
    result = result or h.result_path(tmp / "p.h5")
    faults.same_fits(whole, h.read_fits(result))
    result.unlink()


def test_full_disk(tmp):
    whole = whole_run(tmp, 50)
    disk = tmp / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", disk], capture_output=True, check=False).returncode:
        h.skip("no tmpfs can be mounted here")
    try:
        for kib in (4, 8, 16, 24, 32, 40, 48, 64, 100, 150, 200, 300, 500):
            subprocess.run(["mount", "-o", f"remount,size={kib}k", disk], check=True)
            done = run(tmp, "-o", disk / "r.h5")
            assert done.returncode in (0, 4), done
            if done.returncode == 0:
                break
            assert "No space left" in done.stderr or "disk full" in done.stderr or "be created" in done.stderr, done.stderr
            assert not (disk / "r.h5").exists()
        assert kib > 16 and done.returncode == 0, "it never came to the end"
        faults.same_fits(whole, h.read_fits(disk / "r.h5"))
        assert [path.name for path in disk.iterdir()] == ["r.h5"]
    finally:
        subprocess.run(["umount", disk], check=True)


def as_nobody():
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def test_folder_that_may_not_be_written(tmp):
    if os.geteuid():
        h.skip("needs root to become somebody else")
    whole = whole_run(tmp)
    os.chmod(tmp, 0o555)
    done = run(tmp, preexec=as_nobody)
    assert done.returncode == 4 and "ermission" in done.stderr and str(tmp.name) or "journal" in done.stderr, done.stderr
    assert "fits in the journal" not in done.stderr
    os.chmod(tmp, 0o755)
    ends_well(tmp, whole)


def test_mode_of_a_problem_file_that_is_replaced(tmp):
    whole_run(tmp)
    os.chmod(tmp / "p.h5", 0o440)
    done = run(tmp, "--in-place")
    assert done.returncode == 0, done.stderr
    assert os.stat(tmp / "p.h5").st_mode & 0o777 == 0o440


@h.more
def test_problem_that_vanishes_or_changes(tmp):
    zoo_problem(tmp / "p.h5", "slow", 150)
    whole = h.run(tmp / "p.h5", "-o", tmp / "whole.h5")
    h.decay_problem(tmp / "other.h5", 150, seed=2)
    with h5py.File(tmp / "other.h5", "r+") as f:
        f["datasets/id"][:] = [f"other {i}" for i in range(150)]
    for replaced in (False, True):
        process = start(tmp / "p.h5", "-j", 1)
        wait_for_fits(process, tmp / "p.result.h5.journal")
        os.rename(tmp / "p.h5", tmp / "kept.h5")
        if replaced:
            shutil.copy(tmp / "other.h5", tmp / "p.h5")
        _, err = finish(process, (3, 4))
        assert ("data have changed" if replaced else "p.h5") in err and not h.result_path(tmp / "p.h5").exists(), err
        os.rename(tmp / "kept.h5", tmp / "p.h5")
        done = run(tmp)
        assert done.returncode == 0 and "resuming: 150 of 150" in done.stderr, done.stderr
        faults.same_fits(whole, h.read_fits(h.result_path(tmp / "p.h5")))
        h.result_path(tmp / "p.h5").unlink()


def test_result_that_appears_meanwhile(tmp):
    zoo_problem(tmp / "p.h5", "slow", 150)
    process = start(tmp / "p.h5", "-j", 1)
    wait_for_fits(process, tmp / "p.result.h5.journal")
    h.result_path(tmp / "p.h5").write_text("somebody's own")
    _, err = finish(process, 4)
    assert "p.result.h5" in err and h.result_path(tmp / "p.h5").read_text() == "somebody's own", err
    h.result_path(tmp / "p.h5").unlink()
    assert run(tmp).returncode == 0


def limited(what, value):
    return lambda: resource.setrlimit(what, (value, value))


def test_little_address_space(tmp):
    if h.SANITIZE:
        h.skip("sanitizers need much address space")
    whole = whole_run(tmp)
    n_good = n_bad = 0  # at 4 MiB the kernel cannot map the program itself, and kills it
    for mib in (*range(8, 40, 4), *range(40, 320, 20), 500, 1000):
        done = run(tmp, "-j", "2", preexec=limited(resource.RLIMIT_AS, mib << 20), timeout=60)
        if done.returncode == 0:
            n_good += 1
            faults.same_fits(whole, h.read_fits(h.result_path(tmp / "p.h5")))
        else:
            n_bad += 1
            assert len(done.stderr) > 20, (mib, done)
        h.result_path(tmp / "p.h5").unlink(missing_ok=True)
        shutil.rmtree(tmp / "p.result.h5.journal", ignore_errors=True)
    assert n_good > 2 and n_bad > 2, (n_good, n_bad)


def test_few_descriptors(tmp):
    if h.SANITIZE:
        h.skip("sanitizers need descriptors of their own")
    whole = whole_run(tmp)
    codes = []
    for n in range(3, 21):
        done = run(tmp, "-j", "2", preexec=limited(resource.RLIMIT_NOFILE, n))
        codes.append(done.returncode)
        if done.returncode == 0:
            faults.same_fits(whole, h.read_fits(h.result_path(tmp / "p.h5")))
            h.result_path(tmp / "p.h5").unlink()
        else:
            assert len(done.stderr) > 20 or n < 5, (n, done)
            ends_well(tmp, whole)
    assert codes[-1] == 0 and codes[0] != 0, codes


def test_few_processes(tmp):
    if os.geteuid() or h.SANITIZE:
        h.skip("needs root to become somebody else, and no sanitizer")
    whole = whole_run(tmp)
    os.chmod(tmp, 0o777)
    codes = []
    for n in (1, 2, 3, 4, 6, 12):
        def little(n=n):
            os.setgid(NOBODY - 1)
            resource.setrlimit(resource.RLIMIT_NPROC, (n, n))
            os.setuid(NOBODY - 1)
        done = run(tmp, "-j", "4", preexec=little)
        codes.append(done.returncode)
        assert done.returncode in (0, 4), (n, done)
        if done.returncode == 0:
            faults.same_fits(whole, h.read_fits(h.result_path(tmp / "p.h5")))
            h.result_path(tmp / "p.h5").unlink()
        else:
            assert "emporarily unavailable" in done.stderr or "thread" in done.stderr, (n, done.stderr)
            shutil.rmtree(tmp / "p.result.h5.journal", ignore_errors=True)
    assert codes[-1] == 0 and codes[0] == 4, codes


def german_environment(tmp):
    if not shutil.which("localedef"):
        h.skip("no localedef")
    made = subprocess.run(["localedef", "-c", "-i", "de_DE", "-f", "UTF-8", tmp / "de_DE.UTF-8"], capture_output=True,
                          check=False)
    if not (tmp / "de_DE.UTF-8").exists():
        h.skip(f"de_DE.UTF-8 cannot be made (Debian: locales): {made.stderr[:100]}")
    german = h.environment(LOCPATH=tmp, LC_ALL="de_DE.UTF-8")
    probe = subprocess.run(["printf", "%.1f", "1,5"], env=german, capture_output=True, text=True, check=False)
    if probe.stdout != "1,5":
        h.skip("the locale that was made is not taken")
    return german


@h.more
def test_demo_in_a_locale_with_decimal_comma(tmp):
    """Its numbers come through awk, and mawk reads and prints them as the locale has them."""
    env = {**german_environment(tmp), "STIFFIT_BUILD": str(h.BUILD)}
    done = subprocess.run([h.ROOT / "scripts/demo", tmp / "demo"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "1001 of 1001 fits converged" in done.stdout, done.stdout + done.stderr


def test_locale_with_decimal_comma(tmp):
    german = german_environment(tmp)
    whole = whole_run(tmp)
    done = run(tmp, env=german)
    assert done.returncode == 0, done.stderr
    faults.same_fits(whole, h.read_fits(h.result_path(tmp / "p.h5")))
    text = tmp / "decay.ode"
    text.write_text("parameter k = 0.3 in [1e-3, 10]\nparameter A = 1.5\ny(0) = A\ny' = -k*y\nobserve y sd 0.01\n")
    (tmp / "t.csv").write_text("dataset,time,observable,value\na,0.5,y,1.25\na,1.5,y,0.75\na,2.5,y,0.5\n")
    for env in (h.environment(), german):
        name = "german" if env is german else "plain"
        for command in (("import", "t.csv", "--model", "decay.ode", "-o", f"{name}.h5"), ("run", f"{name}.h5", "--quiet"),
                        ("export", f"{name}.result.h5", "-o", f"{name}.csv")):
            done = stiffit(tmp, *command, env=env)
            assert done.returncode == 0, (command, done.stderr)
    faults.same_fits(h.read_fits(tmp / "plain.result.h5"), h.read_fits(tmp / "german.result.h5"))
    plain, german = (list(csv.DictReader((tmp / f"{name}.csv").open())) for name in ("plain", "german"))
    for row in plain + german:
        float(row.pop("seconds"))
    assert plain == german and "." in plain[0]["k"]


def test_clock_that_jumps(tmp):
    whole = whole_run(tmp)
    done = run(tmp, "--max-seconds", "1000", env=faults.environment(tmp, SHIM_CLOCK=1))
    assert done.returncode == 0, done.stderr
    fits = h.read_fits(h.result_path(tmp / "p.h5"))
    faults.same_fits(whole, fits)
    assert np.all(fits["seconds"] < 60) and np.all(fits["seconds"] >= 0)


def test_no_home(tmp):
    env = {k: v for k, v in h.environment().items() if k not in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "USER", "TMPDIR")}
    h.decay_problem(tmp / "p.h5", 3)
    with h5py.File(tmp / "p.h5", "r+") as f:
        del f["model"].attrs["plugin"]
        f["model/source"] = (h.ROOT / "models/decay/decay.ode").read_text()
    for home in ({}, {"HOME": ""}, {"HOME": "/proc/nonexistent"}, {"HOME": str(tmp / "p.h5")}):
        done = run(tmp, "--overwrite", "--restart", env={**env, **home})
        assert done.returncode == 0, (home, done.stderr)


def test_compute_node(tmp):
    """No compiler, a home that is read-only or not there, temporary files impossible: all works with a model that was compiled
    before, elsewhere."""
    if os.geteuid():
        h.skip("needs root to become somebody else")
    (tmp / "bin").mkdir()
    (tmp / "closed").mkdir(mode=0o555)
    if shutil.which("gnuplot"):
        (tmp / "bin/gnuplot").symlink_to(shutil.which("gnuplot"))
    text = h.ROOT / "models/alpha-pinene/alpha-pinene.ode"
    for command in (("import", h.ROOT / "data/alpha-pinene.csv", "--model", text, "-o", "p.h5"),
                    ("model", "build", text, "--portable", "-o", "m.so"), ("run", "p.h5", "--model", "m.so", "-o", "whole.h5")):
        assert stiffit(tmp, *command).returncode == 0
    os.chmod(tmp, 0o777)
    env = {"PATH": str(tmp / "bin"), "TMPDIR": str(tmp / "closed")}
    for name, home in (("a", {"HOME": str(tmp / "closed")}), ("b", {})):
        def node(*words, code=0, home=home):
            done = stiffit(tmp, *words, env={**env, **home}, preexec=as_nobody)
            assert done.returncode == code, (words, home, done)
            return done.stdout + done.stderr

        result = f"{name}.result.h5"
        said = node("run", "p.h5", code=3)
        assert "no C compiler found" in said and "model build --portable" in said, said
        node("run", "p.h5", "--model", "m.so", "-o", result)
        faults.same_fits(h.read_fits(tmp / "whole.h5"), h.read_fits(tmp / result))
        assert "XDG_CONFIG_HOME" in node("trust", "m.so", code=4)
        node("simulate", "--bootstrap", 3, result, "--problem", "p.h5", "--model", "m.so", "--seed", 1, "-o", f"{name}.h5")
        node("run", f"{name}.h5", "--trust", "--shard", "1/2")
        node("run", f"{name}.h5", "--trust", "--shard", "2/2")
        node("merge", f"{name}.h5", "-o", f"{name}.merged.h5")
        node("show", f"{name}.merged.h5")
        node("export", result, "-o", f"{name}.csv")
        node("report", result, "--model", "m.so", "-o", f"{name}.html")
        assert "p1" in (tmp / f"{name}.html").read_text(encoding="utf-8")
        if shutil.which("gnuplot"):
            node("plot", result, "--model", "m.so", "-o", f"{name}.svg")
            assert (tmp / f"{name}.svg").stat().st_size > 5000
    assert not list((tmp / "closed").iterdir())


def test_no_proc(tmp):
    whole = whole_run(tmp)
    if h.SANITIZE:
        h.skip("sanitizers need /proc")
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode:
        h.skip("nothing can be mounted here")
    done = subprocess.run([*hidden, h.STIFFIT, "run", tmp / "p.h5", "--trust", "-j", "2"], env=h.environment(),
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    faults.same_fits(whole, h.read_fits(h.result_path(tmp / "p.h5")))


def test_locks_that_fail(tmp):
    """As on NFS and Lustre: HDF5's locks are not asked for, so that no variable need be set."""
    whole = whole_run(tmp)
    for process in ("__compute", "__finish"):
        for number in (errno.ENOLCK, errno.ENOSYS, errno.EWOULDBLOCK, errno.EOPNOTSUPP):
            env = faults.environment(tmp, (process, "flock", 1, "ever"), SHIM_ANY=1)
            env["SHIM_FAULT"] = f"{process} flock 1 ever {number}"
            done = run(tmp, env=env)
            assert done.returncode == 0, (process, number, done.stderr)
            faults.same_fits(whole, h.read_fits(h.result_path(tmp / "p.h5")))
            h.result_path(tmp / "p.h5").unlink()


if __name__ == "__main__":
    h.main()
