"""Model text wherever a model is taken: compiled once however many ask, from any cache or none, and carried by data files.

SPDX-License-Identifier: BSD-3-Clause
"""
import hashlib
import os
import shutil
import signal
import subprocess
import time

import h5py
import numpy as np

import helpers as h

h.compile_as_users_do()

LINE = "model line\nparameter k = 2 in [0, 10]\nobserve y = k*t\n"
DECAY = ("model decay\nparameter k = 0.5 in [1e-4, 1e4] scale log\nparameter A = 1 in [1e-4, 1e4] scale log\n"
         "y(0) = A\ny' = -k*y\nobserve y\n")


def attribute(group, name):
    """As a string, however it is stored."""
    value = group.attrs[name]
    return value.decode() if isinstance(value, bytes) else str(value)


class Place:
    """A cache, a TMPDIR and a compiler that writes down what it is asked for; all of one test."""

    def __init__(self, tmp, delay=0.0):
        self.tmp, self.log = tmp, tmp / "compiled"
        self.cache = tmp / "cache" / "stiffit" / "models"
        (tmp / "tmp").mkdir()
        self.cc = tmp / "cc"
        self.script(f'echo "$@" >>"{self.log}"; sleep {delay}; exec cc "$@"')
        self.model = tmp / "line.ode"
        self.model.write_text(LINE)

    def script(self, body):
        self.cc.write_text(f'#!/bin/sh\ncase "$*" in *--version*) echo "wrapped cc 1"; exit 0;; esac\n{body}\n')
        self.cc.chmod(0o755)

    def env(self, **changes):
        changes = {"XDG_CACHE_HOME": self.tmp / "cache", "XDG_CONFIG_HOME": self.tmp / "config", "CC": self.cc,
                   "TMPDIR": self.tmp / "tmp", **changes}
        return {k: v for k, v in h.environment(**changes).items() if v != "None"}

    def compiled(self):
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def entries(self):
        return sorted(path.name for path in self.cache.iterdir())

    def simulate(self, code=0, model=None, **changes):
        """In the folder of the test: a compiler with a cache of its own may take a relative XDG_CACHE_HOME for one there."""
        return h.stiffit("simulate", "-m", model or self.model, "-t", "3", code=code, env=self.env(**changes), cwd=self.tmp)

    def assert_clean(self):
        assert not list((self.tmp / "tmp").iterdir()), list((self.tmp / "tmp").iterdir())


def result_of(done):
    """The one prediction of the line: 2 * 3."""
    assert done.stdout.splitlines() == ["dataset,time,observable,value", "simulated,3,y,6"], done.stdout + done.stderr
    return done


def test_one_of_a_hundred_compiles(tmp):
    place = Place(tmp, delay=0.5)
    command = [str(h.STIFFIT), "simulate", "-m", str(place.model), "-t", "3"]
    running = [subprocess.Popen(command, env=place.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for _ in range(100)]
    outputs = {process.communicate(timeout=250)[0] for process in running}
    assert all(process.returncode == 0 for process in running)
    assert len(outputs) == 1 and "simulated,3,y,6" in outputs.pop()
    assert place.compiled() == 1, place.compiled()
    assert [name[64:] for name in place.entries()] == [".so"], place.entries()
    place.assert_clean()


def test_the_key_is_all_that_matters(tmp):
    place = Place(tmp)
    for _ in range(2):
        result_of(place.simulate())
    assert place.compiled() == 1
    result_of(place.simulate(CC=f"{place.cc} -g0"))  # other words for the compiler
    assert place.compiled() == 2
    place.script(f'echo "$@" >>"{place.log}"; exec cc "$@" -O0')  # another compiler of the same name
    result_of(place.simulate())
    assert place.compiled() == 3
    place.model.write_text(LINE + "# a comment is a change\n")
    result_of(place.simulate())
    assert place.compiled() == 4
    shutil.copy(place.model, tmp / "folder.ode")
    os.mkdir(tmp / "folder")
    shutil.copy(place.model, tmp / "folder" / "line.ode")
    result_of(place.simulate(model=tmp / "folder" / "line.ode"))  # where the file lies does not
    result_of(place.simulate(CFLAGS="-O0 -ffast-math"))  # nor do flags for others
    assert place.compiled() == 4
    assert "-O0 -ffast-math" not in place.log.read_text()
    nameless = "".join(place.model.read_text().splitlines(keepends=True)[1:])  # called after its file
    for number, name in enumerate(("first.ode", "second.ode"), 5):
        (tmp / name).write_text(nameless)
        result_of(place.simulate(model=tmp / name))
        assert place.compiled() == number


def test_damaged_entries_are_made_again(tmp):
    place = Place(tmp)
    result_of(place.simulate())
    entry = place.cache / place.entries()[0]
    whole = entry.read_bytes()
    for number, bytes_ in enumerate((b"", whole[:len(whole) // 2], whole[:1000] + b"\xff" + whole[1001:], b"\0" * 9999), 2):
        entry.write_bytes(bytes_)
        result_of(place.simulate())
        assert place.compiled() == number
        assert entry.read_bytes()[-100:] == whole[-100:] or len(entry.read_bytes()) > 1000
        result_of(place.simulate())
        assert place.compiled() == number


def test_no_cache_is_no_error(tmp):
    place = Place(tmp)
    (tmp / "file").write_text("not a folder")
    for number, changes in enumerate(({"XDG_CACHE_HOME": tmp / "file"}, {"XDG_CACHE_HOME": "/proc/no/such"},
                                      {"XDG_CACHE_HOME": "None", "HOME": "None"},
                                      {"XDG_CACHE_HOME": "relative", "HOME": "/proc"}), 1):
        done = result_of(place.simulate(**changes))
        assert done.stderr == "", done.stderr
        assert place.compiled() == number
    place.cache.mkdir(parents=True)
    place.cache.chmod(0o777)
    assert "other users can write to it" in result_of(place.simulate()).stderr
    place.assert_clean()
    assert place.entries() == []


def test_compilers(tmp):
    place = Place(tmp)
    for cc in ("cc", "gcc", "clang", " gcc  -m64 -O1 ", "env LANG=C gcc"):
        if shutil.which(cc.split()[0]):
            result_of(place.simulate(CC=cc, XDG_CACHE_HOME="/proc"))
    # Their objects ask for an executable stack, which glibc refuses since version 2.41.
    for cc in ("tcc", "gcc -Wl,-z,execstack"):
        if shutil.which(cc.split()[0]):
            done = place.simulate(code=None, CC=cc, XDG_CACHE_HOME="/proc")
            if done.returncode == 0:
                result_of(done)
            else:
                assert done.returncode == 3 and "executable stack" in done.stderr, done.stderr
                assert "noexecstack" in done.stderr and "CC=gcc" in done.stderr, done.stderr
    empty = tmp / "empty"
    empty.mkdir()
    done = place.simulate(code=3, CC="None", PATH=empty)
    for word in ("no C compiler found (tried $CC, cc, gcc, clang)", "apt install gcc", "model build --portable"):
        assert word in done.stderr, done.stderr
    assert "no program 'nonesuch'" in place.simulate(code=3, CC="nonesuch -O3").stderr
    place.script("echo 'internal compiler error' >&2; exit 4")
    assert "internal compiler error" in place.simulate(code=3).stderr
    assert "exit code 4" in place.simulate(code=3).stderr
    assert place.entries() == []
    place.assert_clean()


def test_faults_in_the_text(tmp):
    place = Place(tmp)
    place.model.write_text(LINE.replace("k*t", "kk*t"))
    done = place.simulate(code=3)
    assert "line.ode:3:" in done.stderr and "kk" in done.stderr, done.stderr
    assert place.compiled() == 0
    problem = tmp / "p.h5"
    h.write_problem(problem, place.model, ["a"], [(0, 1, 0, 1, 1)])
    assert "line.ode:3:" in h.stiffit("run", problem, code=3, env=place.env()).stderr


def children_of(process):
    with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def wait_for(condition, what, seconds=60 * h.SANITIZER_SPEED):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def test_a_dead_compiler_is_replaced(tmp):
    """Killed while it compiles: of the next, none waits for a minute."""
    place = Place(tmp)
    place.script(f'echo "$@" >>"{place.log}"; test -e "{tmp}/second" || sleep 1000; exec cc "$@"')
    with subprocess.Popen([str(h.STIFFIT), "simulate", "-m", str(place.model), "-t", "3"], env=place.env(),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        wait_for(lambda: place.compiled() == 1, "the first compiler")
        child = children_of(first.pid)[0]
        compiler = children_of(child)[0]
        for victim in (first.pid, child):
            os.kill(victim, signal.SIGKILL)
        os.killpg(compiler, signal.SIGKILL)
    (tmp / "second").touch()
    assert any(name.endswith(".lock") for name in place.entries())
    result_of(place.simulate())
    assert place.compiled() == 2
    assert [name[64:] for name in place.entries()] == [".so"], place.entries()


def test_a_run_that_is_stopped_while_it_compiles(tmp):
    place = Place(tmp)
    place.script(f'echo "$@" >>"{place.log}"; sleep 1000')
    problem = tmp / "p.h5"
    h.write_problem(problem, place.model, ["a"], [(0, 1, 0, 1, 1)])
    with subprocess.Popen([str(h.STIFFIT), "run", str(problem)], env=place.env(), stderr=subprocess.PIPE, text=True) as run:
        wait_for(lambda: place.compiled() == 1, "the compiler")
        time.sleep(2.5)  # long enough to be told that something goes on
        run.send_signal(signal.SIGTERM)
        _, said = run.communicate(timeout=60 * h.SANITIZER_SPEED)
    assert run.returncode == 75, (run.returncode, said)
    assert "compiling the model" in said and "stopped by a signal" in said, said
    assert place.entries() == []
    place.assert_clean()
    place.script('exec cc "$@"')
    h.stiffit("run", problem, env=place.env())


def decay_table(path, n=6):
    rng = np.random.default_rng(5)
    rows = ["dataset,time,value"]
    for i in range(n):
        k, a = rng.uniform(0.2, 0.6), rng.uniform(1, 3)
        rows += [f"d{i},{t},{a * np.exp(-k * t) + 0.01 * rng.standard_normal():.6g}" for t in range(1, 9)]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_import_makes_a_complete_problem(tmp):
    place, env = Place(tmp), Place.env
    text = tmp / "decay.ode"
    text.write_text(DECAY)
    problem = tmp / "p.h5"
    h.stiffit("import", decay_table(tmp / "p.csv"), "-m", text, "-o", problem, env=env(place))
    with h5py.File(problem) as f:
        assert "plugin" not in f["model"].attrs
        assert f["model/source"].asstr()[0] == DECAY
        assert attribute(f["model"], "sha256") == hashlib.sha256(DECAY.encode()).hexdigest()
    shown = h.stiffit("show", problem, env=env(place)).stdout
    assert f"model text of {len(DECAY)} bytes" in shown, shown
    text.unlink()
    os.mkdir(tmp / "elsewhere")
    moved = shutil.move(problem, tmp / "elsewhere" / "q.h5")
    compiled = place.compiled()
    h.stiffit("run", moved, env=env(place))
    again = shutil.copy(moved, tmp / "elsewhere" / "r.h5")
    h.stiffit("run", again, env=env(place))
    assert place.compiled() == compiled  # its name is in the text, so that it is the same model wherever it stands
    result = h.result_path(moved)
    fits = h.read_fits(result)
    assert list(fits["status"]) == ["converged"] * 6
    with h5py.File(result) as f:
        facts = {name: attribute(f["provenance"], name) for name in f["provenance"].attrs}
        assert facts["model_sha256"] == hashlib.sha256(DECAY.encode()).hexdigest()
        assert facts["model_compiler"].startswith("wrapped cc 1: ") and "-march=native" in facts["model_compiler"]
        assert "model_source" not in facts  # the problem has it
    assert len(h.stiffit("export", result, "--what", "residuals", env=env(place)).stdout.splitlines()) == 49
    bootstrap = tmp / "b.h5"
    h.stiffit("simulate", "--bootstrap", "5", result, "--id", "d1", "-o", bootstrap, env=env(place))
    with h5py.File(bootstrap) as f:
        assert f["model/source"].asstr()[0] == DECAY
    h.stiffit("run", bootstrap, env=env(place))
    h.stiffit("simulate", result, "-t", "0:4:1", env=env(place))
    # The identity is the text's, whatever compiler made it.
    done = h.stiffit("run", moved, env=env(place, CC="gcc"))
    assert "already complete" in done.stderr, done.stderr


def test_text_as_users_of_h5py_write_it(tmp):
    place = Place(tmp)
    h.decay_problem(tmp / "p.h5", 3)
    with h5py.File(tmp / "p.h5", "a") as f:
        del f["model"].attrs["plugin"]
        f["model/source"] = DECAY
        f["model"].attrs["sha256"] = hashlib.sha256(DECAY.encode()).hexdigest().upper()
    h.stiffit("run", tmp / "p.h5", "-q", env=place.env())
    with h5py.File(tmp / "p.h5", "a") as f:
        f["model"].attrs["sha256"] = "0" * 64
    assert "not the expected model" in h.stiffit("run", tmp / "p.h5", "--overwrite", code=3, env=place.env()).stderr
    with h5py.File(tmp / "p.h5", "a") as f:
        del f["model"].attrs["sha256"]
        del f["model/source"]
        f["model/source"] = DECAY.replace("-k*y", "-k*z")
    done = h.stiffit("run", tmp / "p.h5", "--overwrite", code=3, env=place.env())
    assert "p.h5:/model/source:5:" in done.stderr, done.stderr
    with h5py.File(tmp / "p.h5", "a") as f:
        del f["model/source"]
        f["model/source"] = ["two", "texts"]
    assert "/model/source: must be one string" in h.stiffit("run", tmp / "p.h5", code=3, env=place.env()).stderr


def test_a_named_text_needs_no_trust(tmp):
    place = Place(tmp)
    (tmp / "sub").mkdir()
    (tmp / "sub" / "decay.ode").write_text(DECAY)
    (tmp / "sub" / "decay.txt").write_text(DECAY)
    for name in ("decay.ode", "decay.txt"):  # by its name, by its words
        h.decay_problem(tmp / "sub" / "p.h5", 3)
        with h5py.File(tmp / "sub" / "p.h5", "a") as f:
            f["model"].attrs["plugin"] = name
        h.stiffit("run", "sub/p.h5", "--overwrite", "--restart", cwd=tmp, env=place.env())
        # The result has the text itself, so that it does not matter what becomes of the file.
        (tmp / "sub" / name).write_text("changed")
        h.stiffit("export", "sub/p.result.h5", "--what", "residuals", cwd=tmp, env=place.env())


def test_a_given_text_is_kept_in_the_result(tmp):
    place = Place(tmp)
    h.decay_problem(tmp / "p.h5", 3)
    text = tmp / "mine.ode"
    text.write_text(DECAY)
    h.stiffit("run", tmp / "p.h5", "--model", text, env=place.env())
    before = h.stiffit("export", tmp / "p.result.h5", "--what", "residuals", env=place.env()).stdout
    text.unlink()
    after = h.stiffit("export", tmp / "p.result.h5", "--what", "residuals", env=place.env())
    assert after.stdout == before and after.stderr == ""
    shown = h.stiffit("show", tmp / "p.result.h5", env=place.env()).stdout
    assert "model_source" in shown and "parameter k" not in shown
    text.write_text(DECAY + "# another\n")
    other = h.stiffit("export", tmp / "p.result.h5", "--what", "residuals", "--model", text, env=place.env())
    assert "not exactly the model that was fitted" in other.stderr and other.stdout == before


def test_portable_models(tmp):
    place = Place(tmp)
    problem = tmp / "p.h5"
    h.decay_problem(problem, 3)
    text = tmp / "decay.ode"
    text.write_text(DECAY)
    h.stiffit("run", problem, "--model", text, "--portable", env=place.env())
    assert "native" not in place.log.read_text()
    with h5py.File(h.result_path(problem)) as f:
        facts = {name: attribute(f["provenance"], name) for name in f["provenance"].attrs}
    assert "portable=yes" in facts["options"] and "native" not in facts["model_compiler"]
    h.stiffit("export", h.result_path(problem), "--what", "residuals", env=place.env())
    assert "native" not in place.log.read_text()  # as it was fitted
    h.stiffit("run", problem, "--model", text, code=4, env=place.env())  # bits may differ: another run
    h.stiffit("run", problem, "--model", text, "--overwrite", env=place.env())
    assert "-march=native" in place.log.read_text()
    # A plugin is what it is.
    h.stiffit("run", problem, "--trust", "--overwrite", env=place.env())
    assert "already complete" in h.stiffit("run", problem, "--trust", "--portable", env=place.env()).stderr


def test_folders_of_killed_builds_are_swept(tmp):
    """What a build that was killed has left under $TMPDIR goes with the next one; what a living one uses, or is no folder of
    ours, stays."""
    (tmp / "tmp").mkdir()
    (tmp / "m.ode").write_text("parameter k = 1\nx(0) = 1\nx' = -k*x\nobserve x\n")
    killer = tmp / "killer"
    killer.write_text("#!/bin/sh\nkill -9 $PPID\nsleep 1\n")
    killer.chmod(0o755)
    others = [tmp / "tmp" / name for name in ("stiffit-build-x", "stiffit-builder-00000000-1-1-0")]
    for other in others:
        other.mkdir()
    env = h.environment(TMPDIR=tmp / "tmp", XDG_CACHE_HOME=tmp / "cache")
    for compiler, n_left in ((killer, 1), (killer, 1), (None, 0)):
        done = subprocess.run([str(h.STIFFIT), "model", "build", "m.ode", "-o", "m.so"], cwd=tmp, check=False,
                              capture_output=True, text=True, env=env | ({"CC": str(compiler)} if compiler else {}))
        assert (done.returncode == 0) == (compiler is None), done.stderr
        left = [path for path in (tmp / "tmp").iterdir() if path not in others]
        assert len(left) == n_left and all(other.is_dir() for other in others), left


if __name__ == "__main__":
    h.main()
