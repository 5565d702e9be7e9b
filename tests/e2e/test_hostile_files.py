"""What a command may not touch: devices, pipes and open descriptors, files that it reads, files and folders that another user
has planted; and what commands that were stopped leave behind.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import pathlib
import pty
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time

import h5py
import numpy as np

import helpers as h
from helpers import stiffit

h.let_others_enter()

VICTIM, PLANTER = 65534, 65533
TABLE = "dataset,time,observable,value\n" + "".join(f"a,{t},y,{np.exp(-0.3 * t):.6f}\n" for t in (1, 2, 3, 4))


def small_result(tmp):
    """p.h5 and r.h5 of the text model in m.ode."""
    shutil.copy(h.ROOT / "models" / "decay" / "decay.ode", tmp / "m.ode")
    (tmp / "d.csv").write_text(TABLE)
    stiffit("import", "d.csv", "--model", "m.ode", "-o", "p.h5", "-q", cwd=tmp)
    stiffit("run", "p.h5", "--model", "m.ode", "-q", "-o", "r.h5", cwd=tmp)


# Commands that write a file, without its name: those that write text, which a device takes, and those that write HDF5.
TEXT = [("export", "r.h5"), ("export", "r.h5", "--what", "residuals"), ("report", "r.h5"), ("compare", "r.h5", "r.h5"),
        ("simulate", "--model", "m.ode", "--times", "1,2"), ("model", "build", "m.ode"), ("model", "new", "x")]
BINARY = [("import", "d.csv", "--model", "m.ode"), ("run", "p.h5"), ("simulate", "r.h5", "--bootstrap", "2"),
          ("simulate", "--model", "m.ode", "--times", "1,2", "--datasets", "2"), ("submit", "p.h5", "--dry-run")]


def overwriting(words):
    return words if words[:2] == ("model", "build") else (*words, "--overwrite")


def kind_of(path):
    return stat.S_IFMT(os.lstat(path).st_mode)


def test_devices_keep_their_place(tmp):
    small_result(tmp)
    try:
        os.mknod(tmp / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        (tmp / "null").write_text("x")
    except PermissionError:
        h.skip("no device can be made here (needs root)")
    (tmp / "link").symlink_to("null")
    for name in ("null", "link"):
        before = kind_of(tmp / name)
        for words in TEXT:
            stiffit(*overwriting(words), "-o", name, cwd=tmp)
            assert kind_of(tmp / name) == before and kind_of(tmp / "null") == stat.S_IFCHR, words
        for words in BINARY:
            done = stiffit(*overwriting(words), "-o", name, cwd=tmp, code=4)
            assert "regular file" in done.stderr and name in done.stderr, done.stderr
            assert kind_of(tmp / name) == before and kind_of(tmp / "null") == stat.S_IFCHR, words
        stiffit("run", "p.h5", "--only", "a", "--trace", name, "--overwrite", cwd=tmp)
        assert kind_of(tmp / name) == before
    assert not [path for path in tmp.iterdir() if "tmp-" in path.name]


def test_sockets_and_pipes(tmp):
    small_result(tmp)
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(tmp)  # its name may have 107 bytes
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        for words in TEXT + BINARY:
            assert "socket" in stiffit(*overwriting(words), "-o", "socket", cwd=tmp, code=4).stderr, words
        assert stat.S_ISSOCK(os.stat(tmp / "socket").st_mode)
    os.mkfifo(tmp / "pipe")
    for words in BINARY:
        stiffit(*overwriting(words), "-o", "pipe", cwd=tmp, code=4)
    with subprocess.Popen(["cat", tmp / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        stiffit("export", "r.h5", "--overwrite", "-o", "pipe", cwd=tmp)
        said = reader.communicate(timeout=60)[0]
    assert said == stiffit("export", "r.h5", cwd=tmp).stdout and said.startswith("id,")
    assert stat.S_ISFIFO(os.stat(tmp / "pipe").st_mode)


def test_open_descriptors_are_not_opened_anew(tmp):
    """What stands in the file already stays, as with -o -. (/dev/stdout itself only through a link: a program that
    replaced what it is given would harm the machine.)"""
    small_result(tmp)
    table = stiffit("export", "r.h5", cwd=tmp).stdout
    (tmp / "own").symlink_to("/dev/stdout")
    for name in ("/dev/fd/1", "/proc/self/fd/1", "own"):
        with open(tmp / "log", "w", encoding="utf-8") as log:
            log.write("before\n")
            log.flush()
            for _ in range(2):
                subprocess.run([str(h.STIFFIT), "export", "r.h5", "--overwrite", "-o", name], cwd=tmp, stdout=log, check=True,
                               env=h.environment())
        assert (tmp / "log").read_text() == "before\n" + 2 * table, name
    assert os.readlink(tmp / "own") == "/dev/stdout"
    with open(tmp / "log", "w", encoding="utf-8") as log:
        subprocess.run([str(h.STIFFIT), "run", "p.h5", "-q", "--only", "a", "--trace", "/dev/stdout"], cwd=tmp,
                       stdout=log, check=True, env=h.environment())
    assert (tmp / "log").read_text().startswith("id,task,evaluation,") and ",end," in (tmp / "log").read_text()


def test_links_of_ones_own_stay(tmp):
    small_result(tmp)
    (tmp / "elsewhere").mkdir()
    for name, words in (("x.csv", ("export", "r.h5")), ("x.h5", ("run", "p.h5")),
                        ("y.h5", ("import", "d.csv", "-m", "m.ode"))):
        (tmp / "elsewhere" / name).write_text("old")
        (tmp / name).symlink_to(f"elsewhere/{name}")
        stiffit(*words, "--overwrite", "-o", name, cwd=tmp)
        assert (tmp / name).is_symlink() and (tmp / "elsewhere" / name).read_bytes()[:3] != b"old", name
        assert not (tmp / "elsewhere" / name).is_symlink()


def test_what_a_command_reads_is_kept(tmp):
    """By the names that the result holds, whether the files can be opened or not."""
    small_result(tmp)
    for name in ("p.h5", "m.ode"):
        for damage in (False, True):
            if damage:
                (tmp / name).write_bytes(b"damaged")
            before = (tmp / name).read_bytes()
            (tmp / "hard").unlink(missing_ok=True)
            os.link(tmp / name, tmp / "hard")
            for output in (name, "hard"):
                for words in (("report", "r.h5"), ("export", "r.h5"), ("compare", "r.h5", "r.h5")):
                    done = stiffit(*words, "--overwrite", "-o", output, cwd=tmp, code=(2, 4))
                    assert "kept" in done.stderr and (tmp / name).read_bytes() == before, (words, done.stderr)
        if name == "p.h5":
            (tmp / name).unlink()
            stiffit("import", "d.csv", "--model", "m.ode", "-o", "p.h5", "-q", cwd=tmp)
    stiffit("report", "r.h5", "--overwrite", "-o", "new.html", cwd=tmp)  # without curves: the model is damaged
    h.decay_problem(tmp / "many.h5", 5)
    h.run(tmp / "many.h5", "-q")
    for option in ("--output", "--priors"):
        done = stiffit("population", "many.result.h5", "--overwrite", option, "many.h5", cwd=tmp, code=2)
        assert "many.h5: is a file that this command reads: it is kept" in done.stderr, done.stderr


def test_tables_that_a_petab_problem_names_are_kept(tmp):
    source = next(path for path in sorted((h.ROOT / "tests" / "data" / "petab-suite").rglob("*.yaml"))
                  if "solution" not in path.name)
    shutil.copytree(source.parent, tmp / "case")
    yaml = tmp / "case" / source.name
    if "without libyaml" in stiffit("import", yaml, "-o", tmp / "p.h5", code=None).stderr:
        h.skip("built without libyaml")
    before = {path: path.read_bytes() for path in (tmp / "case").iterdir()}
    for path in before:
        if path.suffix in (".tsv", ".xml", ".yaml") and "solution" not in path.name and "simulation" not in path.name:
            hard = tmp / "hard"
            hard.unlink(missing_ok=True)
            os.link(path, hard)
            for words in (("import", yaml, "-o", path), ("import", yaml, "-o", hard), ("run", yaml, "-o", path),
                          ("run", yaml, "-o", hard), ("run", yaml, "--only", "petab", "--trace", hard)):
                done = stiffit(*words, "--overwrite", code=None)
                assert done.returncode in (2, 4) and "kept" in done.stderr, (words, done.stderr)
    stiffit("run", tmp / "p.h5", "-q", "-o", tmp / "r.h5", code=None)
    done = stiffit("export", tmp / "r.h5", "--petab", tmp / "copy", code=None)
    if done.returncode == 0:  # its tables have the names that an export gives; imported from there, it is not overwritten
        stiffit("import", tmp / "copy" / "problem.yaml", "-o", tmp / "q.h5")
        stiffit("run", tmp / "q.h5", "-q", "-o", tmp / "s.h5", code=None)
        tables = {path: path.read_bytes() for path in (tmp / "copy").iterdir() if "s" in path.stem}
        done = stiffit("export", tmp / "s.h5", "--petab", tmp / "copy", "--overwrite", code=None)
        assert done.returncode in (2, 4) and "kept" in done.stderr, done.stderr
        assert all(path.read_bytes() == text for path, text in tables.items())
    assert all(path.read_bytes() == text for path, text in before.items())


def test_what_a_run_makes_of_a_petab_problem(tmp):
    """It is replaced while it is as a run made it; what a user changed or made otherwise is kept, but for --overwrite."""
    source = h.ROOT / "tests/data/petab-suite/v1.0.0/sbml/0001"
    shutil.copytree(source, tmp, dirs_exist_ok=True)
    made, words = tmp / "_0001.petab.h5", ("run", "_0001.yaml", "--evaluate", "-q")
    if "without libyaml" in stiffit(*words, cwd=tmp, code=None).stderr:
        h.skip("built without libyaml")
    first = made.read_bytes()
    (tmp / "_measurements.tsv").write_text((source / "_measurements.tsv").read_text().replace("0.7", "0.8"))
    stiffit(*words, "-o", "other.h5", cwd=tmp)  # the tables have changed, not the file
    assert made.read_bytes() != first
    with h5py.File(made, "a") as f:
        assert f["measurements/value"][0] == 0.8
        f["measurements/value"][0] = 9
    changed = made.read_bytes()
    for refused in ((), ("--in-place",), ("-o", "new.h5")):
        done = stiffit(*words, *refused, cwd=tmp, code=4)
        assert "_0001.petab.h5 exists, and is not as a run made it" in done.stderr and made.read_bytes() == changed
    stiffit("run", made, "--evaluate", "-q", "-o", "edited.h5", cwd=tmp)  # as the message says
    stiffit(*words, "--overwrite", cwd=tmp)
    with h5py.File(made) as f:
        assert f["measurements/value"][0] == 0.8
    stiffit(*words, "--overwrite", "--in-place", cwd=tmp)
    with h5py.File(made) as f:
        assert "fits" in f
    stiffit(*words, cwd=tmp, code=4)  # its result would be lost
    stiffit("import", "_0001.yaml", "-q", "--overwrite", "-o", made, cwd=tmp)
    stiffit(*words, cwd=tmp, code=4)
    made.write_bytes(first[:-1])
    stiffit(*words, cwd=tmp, code=4)


def test_plots_on_a_full_disk(tmp):
    if not shutil.which("gnuplot"):
        h.skip("gnuplot is not installed")
    small_result(tmp)
    disk = tmp / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", disk], capture_output=True, check=False).returncode:
        h.skip("no tmpfs can be mounted here")
    try:
        stiffit("plot", "r.h5", "-o", "whole.svg", cwd=tmp)
        assert (tmp / "whole.svg").stat().st_size > 16384
        env = h.environment(TMPDIR=disk)  # gnuplot's own file must not be cut there, either
        done = stiffit("plot", "r.h5", "-o", disk / "x.svg", cwd=tmp, code=4, env=env)
        assert "No space left" in done.stderr and not list(disk.iterdir()), done.stderr
        stiffit("plot", "r.h5", "-o", "again.svg", cwd=tmp, env=env)
        assert (tmp / "again.svg").read_bytes() == (tmp / "whole.svg").read_bytes()
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([str(h.STIFFIT), "plot", "r.h5"], cwd=tmp, stdout=full, check=False, env=h.environment())
        assert done.returncode == 4
    finally:
        subprocess.run(["umount", disk], check=True)


def as_user(number):
    def change():
        os.setgroups([])
        os.setgid(number)
        os.setuid(number)
    return change


def by_victim(folder, *args):
    home = folder / "home"
    env = h.environment(HOME=home, XDG_CACHE_HOME=home, TMPDIR=home, PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
    return subprocess.run([str(h.STIFFIT), *args], cwd=folder, env=env, preexec_fn=as_user(VICTIM), capture_output=True,
                          text=True, check=False, timeout=100)


def shared_folder():
    """A folder that everybody may write to, with a problem of the victim; and the victim's home."""
    if os.geteuid():
        h.skip("needs root to become two users")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stiffit-test-", dir="/tmp"))
    for name, mode in ((".", 0o755), ("home", 0o700), ("shared", 0o1777), ("bin", 0o755)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name).chmod(mode)
    (folder / "bin" / "sbatch").write_text("#!/bin/sh\necho 7\n")
    (folder / "bin" / "sbatch").chmod(0o755)
    (folder / "d.csv").write_text(TABLE)
    stiffit("import", folder / "d.csv", "--model", h.ROOT / "models" / "decay" / "decay.ode", "-o", folder / "shared" / "p.h5")
    for name in ("home", "shared/p.h5"):
        shutil.chown(folder / name, VICTIM, VICTIM)
    (folder / "home" / "precious").write_text("precious")
    shutil.chown(folder / "home" / "precious", VICTIM, VICTIM)
    return folder


def plant_link(folder, name):
    path = folder / "shared" / name
    path.symlink_to(folder / "home" / "precious")
    os.lchown(path, PLANTER, PLANTER)
    return path


def plant_folder(folder, name, links=()):
    path = folder / "shared" / name
    path.mkdir()
    path.chmod(0o777)
    for link in links:
        plant_link(folder, f"{name}/{link}")
    shutil.chown(path, PLANTER, PLANTER)
    return path


def test_planted_folders_and_links(tmp):  # pylint: disable=unused-argument
    folder = shared_folder()
    try:
        scripts = plant_folder(folder, "p.slurm", ("merge.sh", "shards.sh", "ranks.sh"))
        journal = plant_folder(folder, "p.result.h5.journal", ("header.h5", "plan"))
        for words in (("submit", "shared/p.h5", "--shards", "1"), ("run", "shared/p.h5", "-q")):
            done = by_victim(folder, *words)
            assert done.returncode == 4 and "another user" in done.stderr, done
            assert str((journal if words[0] == "run" else scripts).name) in done.stderr
            assert (folder / "home" / "precious").read_text() == "precious", words
        shutil.rmtree(scripts)
        shutil.rmtree(journal)
        (folder / "home" / "empty").mkdir()
        for name in ("p.slurm", "p.result.h5.journal"):
            (folder / "shared" / name).symlink_to(folder / "home" / "empty")
            os.lchown(folder / "shared" / name, PLANTER, PLANTER)
        for words in (("submit", "shared/p.h5", "--shards", "1"), ("run", "shared/p.h5", "-q")):
            done = by_victim(folder, *words)
            assert done.returncode == 4 and "another user" in done.stderr, done
        assert not list((folder / "home" / "empty").iterdir())
        for name in ("p.slurm", "p.result.h5.journal"):
            (folder / "shared" / name).unlink()
        for words in (("submit", "shared/p.h5", "--shards", "1"), ("run", "shared/p.h5", "-q"), ("run", "shared/p.h5", "-q")):
            done = by_victim(folder, *words)
            assert done.returncode == 0, done
    finally:
        shutil.rmtree(folder)


def test_planted_outputs(tmp):  # pylint: disable=unused-argument
    """The link under the very name that the user gives, with --overwrite; and links that lead nowhere yet."""
    folder = shared_folder()
    try:
        assert by_victim(folder, "run", "shared/p.h5", "-q").returncode == 0
        commands = [("export", "shared/p.result.h5"), ("report", "shared/p.result.h5"), ("run", "shared/p.h5"),
                    ("simulate", "shared/p.result.h5", "--bootstrap", "2")]
        for words in commands:
            link = plant_link(folder, "x.out")
            done = by_victim(folder, *words, "--overwrite", "-o", "shared/x.out")
            assert done.returncode == 4 and "another user" in done.stderr, done
            assert (folder / "home" / "precious").read_text() == "precious" and link.is_symlink()
            link.unlink()
            link.symlink_to(folder / "home" / "new")
            os.lchown(link, PLANTER, PLANTER)
            by_victim(folder, *words, "-o", "shared/x.out")
            assert not (folder / "home" / "new").exists(), words
            link.unlink()
        link = plant_link(folder, "trace.csv")
        done = by_victim(folder, "run", "shared/p.h5", "--only", "a", "--trace", "shared/trace.csv",
                         "--overwrite")
        assert done.returncode == 4 and (folder / "home" / "precious").read_text() == "precious", done
    finally:
        shutil.rmtree(folder)


def left(tmp):
    return sorted(path.name for path in tmp.iterdir() if "tmp" in path.name)


@h.more
def test_text_files_of_stopped_commands(tmp):
    """Nothing is left where files can be made without a name; elsewhere the next command removes what is."""
    h.decay_problem(tmp / "p.h5", 4000)
    h.run(tmp / "p.h5", "-q", "-o", tmp / "r.h5")
    for words in (("export", "r.h5", "--what", "residuals", "-o", "x.csv"), ("report", "r.h5", "-o", "x.html")):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            process = subprocess.Popen([str(h.STIFFIT), *words, "--trust"], cwd=tmp, start_new_session=True,
                                       env=h.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.1)
            os.killpg(process.pid, number)
            process.wait(60)
            (tmp / words[-1]).unlink(missing_ok=True)  # it was faster
        stiffit(*words, "--trust", cwd=tmp)
        assert not left(tmp), left(tmp)


def test_leftovers_of_the_dead_and_of_zombies(tmp):
    """A zombie is dead, and a number may be used again. A living process keeps its file, and so does one of another machine."""
    h.decay_problem(tmp / "p.h5", 3000)
    process = subprocess.Popen([str(h.STIFFIT), "simulate", "--model", h.model("decay"), "--times", "1,2,3",
                                "--datasets", "200000", "-o", "r.h5"], cwd=tmp, env=h.environment(),
                               stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not left(tmp):
        assert time.monotonic() < deadline and process.poll() is None, "it never began to write"
        time.sleep(0.002)
    name = left(tmp)[0]
    process.kill()  # and not waited for: the child of the process that wrote it dies with it
    place, number, start, serial = name.removeprefix(".r.h5.tmp-").split("-")
    zombie = subprocess.Popen(["true"])
    while (words := pathlib.Path(f"/proc/{zombie.pid}/stat").read_text().rpartition(")")[2].split())[0] != "Z":
        time.sleep(0.01)
    own = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    dead = [f"{place}-{zombie.pid}-{words[19]}-0", f"{place}-{os.getpid()}-{int(own) - 1}-0", f"{zombie.pid}-0"]
    alive = [f"{place}-{os.getpid()}-{own}-0", f"{int(place, 16) ^ 1:08x}-{zombie.pid}-{words[19]}-0", "mine"]
    aged = f"{int(place, 16) ^ 1:08x}-{zombie.pid}-{words[19]}-1"
    for end in (*dead, *alive, aged):
        (tmp / f".p.result.h5.tmp-{end}").write_text("x")
    os.utime(tmp / f".p.result.h5.tmp-{aged}", (0, 0))
    h.run(tmp / "p.h5", "-q")
    kept = [name.removeprefix(".p.result.h5.tmp-") for name in left(tmp) if name.startswith(".p.result")]
    assert sorted(kept) == sorted(alive), (kept, number, start, serial)
    (tmp / f".p.result.h5.tmp-{dead[0]}").write_text("x")  # of a run whose result is complete
    assert "already complete" in stiffit("run", "p.h5", "--trust", cwd=tmp).stderr
    assert not (tmp / f".p.result.h5.tmp-{dead[0]}").exists()
    zombie.wait()
    process.wait()


def on_terminal(tmp, *words):
    """What a terminal gets, and what a file gets."""
    try:
        leader, follower = pty.openpty()
    except OSError:
        h.skip("no pseudo-terminals here (/dev/pts is not mounted)")
    env = h.environment(NO_COLOR=1, TERM="dumb")
    process = subprocess.Popen([str(h.STIFFIT), *map(str, words)], cwd=tmp, stdin=subprocess.DEVNULL, stdout=follower,
                               stderr=subprocess.DEVNULL, env=env)
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    assert process.wait(60) == 0, (words, shown)
    return shown.decode()


ORDERS = "\x1b]0;owned\x07\x1b[2J\u009b2J\u202e\x7f"


def test_ids_cannot_steer_a_terminal(tmp):
    name = f"d{ORDERS}=1"
    rows = [(0, t, 0, 2 * np.exp(-0.3 * t), 0.1) for t in range(1, 6)]
    h.write_problem(tmp / "p.h5", h.model("decay"), [name], rows)
    h.run(tmp / "p.h5", "-q", "-o", tmp / "r.h5")
    commands = [("export", "r.h5"), ("export", "r.h5", "--what", "residuals", "--trust"), ("export", "r.h5", "--json"),
                ("simulate", "r.h5", "--trust", "--times", "1,2"),
                ("run", "p.h5", "--trust", "-q", "--only", name, "--trace", "-"),
                ("show", "r.h5"), ("show", "r.h5", "--json"), ("show", "p.h5"), ("export", "r.h5", "-o", "/dev/stdout"),
                ("compare", "r.h5", "r.h5")]
    for words in commands:
        shown = on_terminal(tmp, *words)
        assert not set(shown) & set(ORDERS) - set("]0;owned[2J"), (words, shown)
        assert shown
    assert "d?]0;owned??[2J?2J??=1" in on_terminal(tmp, "export", "r.h5")
    assert name in stiffit("export", "r.h5", cwd=tmp).stdout  # a file reads back
    assert json.loads(stiffit("export", "r.h5", "--json", cwd=tmp).stdout)[0]["id"] == name


@h.more
def test_heads_of_tables_are_read_in_linear_time(tmp):
    """By instructions, since a clock says little: twice the columns may cost little more than twice as much."""
    if not shutil.which("valgrind") or h.SANITIZE:
        h.skip("no valgrind" if not h.SANITIZE else "a sanitizer and valgrind do not go together")
    counts = []
    for n in (5000, 10000):
        head = ",".join(f"column_{i}" for i in range(n))
        (tmp / "w.csv").write_text(f"dataset,time,{head}\na,1{',1' * n}\n")
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(h.STIFFIT),
                               "import", "w.csv", "--model", str(h.model("decay")), "-o", "p.h5"], cwd=tmp,
                              capture_output=True, text=True, check=False, env=h.environment())
        assert done.returncode == 3 and "there is no column" in done.stderr, done.stderr
        counts.append(max(int(line.split()[-1]) for line in done.stderr.splitlines() if "Collected" in line))
    assert counts[1] < 2.5 * counts[0], counts  # quadratic: 3.5


if __name__ == "__main__":
    h.main()
