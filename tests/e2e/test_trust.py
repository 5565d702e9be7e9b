"""Native code that a data file names or embeds: refused, trusted for good, and no longer trusted.

SPDX-License-Identifier: BSD-3-Clause
"""
import hashlib
import os
import shutil
import stat
import subprocess

import h5py
import numpy as np

import helpers as h

TEXT = "model line\nparameter k = 1\nobserve y = k*t\n"


def private(tmp):
    """An environment with a list of trusted code of its own."""
    return h.environment(XDG_CONFIG_HOME=tmp / "config", XDG_CACHE_HOME=tmp / "cache")


def list_file(tmp):
    return tmp / "config" / "stiffit" / "trusted"


def own_decay(tmp, name="mine.so"):
    return shutil.copy(h.model("decay"), tmp / name)


def small_problem(path, plugin):
    h.decay_problem(path, 3)
    with h5py.File(path, "a") as f:
        f["model"].attrs["plugin"] = str(plugin)
    return path


def refused(tmp, *args):
    done = h.stiffit(*args, code=3, env=private(tmp))
    for word in ("native code", "--trust", "stiffit trust ", "--model"):
        assert word in done.stderr or word == "native code" and "was made with" in done.stderr, done.stderr
    return done


# Clears the screen, in both spellings of ESC [, and turns the direction of writing.
ORDERS = "\x1b[2J\u009b2J\u202e"


def test_names_from_files_cannot_steer_the_terminal(tmp):
    plugin = own_decay(tmp, f"a{ORDERS}\nsha256  {0:064}.so")
    problem = small_problem(tmp / "p.h5", plugin.name)
    text = tmp / f"t{ORDERS}.ode"
    text.write_text("parameter k = 1\nobserve y = k*q\n", encoding="utf-8")
    shown = [h.stiffit("trust", problem, env=private(tmp)).stdout, h.stiffit("show", problem).stdout,
             h.stiffit("model", "build", text, code=3).stderr, refused(tmp / "other", "run", problem).stderr]
    for words in shown:
        assert not set(words) & {"\x1b", "\u009b", "\u202e"}, repr(words)
    for words in shown[:2]:
        assert "a?[2J?2J?" in words, repr(words)
    assert shown[0].count("\nsha256 ") == 1, repr(shown[0])


def test_trusted_code_runs_until_it_is_removed(tmp):
    plugin, env = own_decay(tmp), private(tmp)
    problem = small_problem(tmp / "p.h5", "mine.so")
    assert f"`stiffit trust {problem}`" in refused(tmp, "run", problem).stderr
    shown = h.stiffit("trust", problem, env=env).stdout
    size = os.stat(plugin).st_size
    for word in (str(plugin), str(problem), f"{size} bytes", "is trusted from now on"):
        assert word in shown, shown
    h.stiffit("run", problem, env=env)
    assert "trusted already" in h.stiffit("trust", plugin, env=env).stdout
    sha256, date, path = h.stiffit("trust", "--list", env=env).stdout.rstrip("\n").split(maxsplit=2)
    assert len(sha256) == 64 and date[4] == "-" and path == str(plugin)
    assert sha256 in shown
    # The same bytes elsewhere are the same code.
    other = small_problem(tmp / "q.h5", own_decay(tmp, "copy.so"))
    h.stiffit("run", other, env=env)
    h.stiffit("export", h.result_path(problem), "--what", "residuals", env=env)
    assert "no longer trusted" in h.stiffit("trust", "--remove", sha256[:12], env=env).stdout
    assert h.stiffit("trust", "--list", env=env).stdout == ""
    refused(tmp, "run", problem, "--overwrite")
    refused(tmp, "export", h.result_path(problem), "--what", "residuals")
    h.stiffit("trust", plugin, env=env)
    h.stiffit("trust", "--remove", plugin, env=env)
    refused(tmp, "run", other, "--overwrite")


def test_other_bytes_are_not_trusted(tmp):
    plugin = own_decay(tmp)
    problem = small_problem(tmp / "p.h5", plugin)
    h.stiffit("trust", problem, env=private(tmp))
    with open(plugin, "ab") as file:
        file.write(b"\0")
    refused(tmp, "run", problem)


def test_embedded_code(tmp):
    problem = tmp / "p.h5"
    h.decay_problem(problem, 3)
    with h5py.File(problem, "a") as f:
        del f["model"].attrs["plugin"]
        f["model/plugin"] = np.fromfile(h.model("decay"), np.uint8)
    refused(tmp, "run", problem)
    assert "/model/plugin" in h.stiffit("trust", problem, env=private(tmp)).stdout
    h.stiffit("run", problem, env=private(tmp))
    with h5py.File(problem, "a") as f:
        f["model"].attrs["sha256"] = "0" * 64
    assert "not the expected plugin" in h.stiffit("trust", problem, code=3, env=private(tmp)).stderr


def test_a_result_whose_plugin_was_given(tmp):
    """Nothing in the problem names it; the result does."""
    plugin, problem = own_decay(tmp), tmp / "p.h5"
    h.decay_problem(problem, 3)
    with h5py.File(problem, "a") as f:
        del f["model"].attrs["plugin"]
    result = h.result_path(problem)
    h.stiffit("run", problem, "--model", plugin, env=private(tmp))
    refused(tmp, "export", result, "--what", "residuals")
    assert str(plugin) in h.stiffit("trust", result, env=private(tmp)).stdout
    h.stiffit("export", result, "--what", "residuals", env=private(tmp))
    with open(plugin, "ab") as file:
        file.write(b"\0")
    assert "not the expected plugin" in h.stiffit("trust", result, code=3, env=private(tmp)).stderr


def test_text_needs_no_trust(tmp):
    env = private(tmp)
    (tmp / "line.ode").write_text(TEXT)
    for path in (tmp / "line.ode", small_problem(tmp / "p.h5", "line.ode")):
        assert "needs no trust" in h.stiffit("trust", path, env=env).stdout
    with h5py.File(tmp / "p.h5", "a") as f:
        del f["model"].attrs["plugin"]
        f["model/source"] = TEXT
    assert "needs no trust" in h.stiffit("trust", tmp / "p.h5", env=env).stdout
    assert not list_file(tmp).exists()


def test_code_that_calls_itself_text(tmp):
    """What counts is what would be run, not its name."""
    own_decay(tmp, "mine.ode")
    refused(tmp, "run", small_problem(tmp / "p.h5", "mine.ode"))
    h.stiffit("trust", tmp / "p.h5", env=private(tmp))
    h.stiffit("run", tmp / "p.h5", env=private(tmp))


def test_the_list_is_private(tmp):
    plugin, env = own_decay(tmp), private(tmp)
    old = os.umask(0)
    try:
        h.stiffit("trust", plugin, env=env)
    finally:
        os.umask(old)
    assert stat.S_IMODE(list_file(tmp).stat().st_mode) == 0o600
    assert stat.S_IMODE(list_file(tmp).parent.stat().st_mode) == 0o700
    assert [path.name for path in list_file(tmp).parent.iterdir()] == ["trusted"]
    problem = small_problem(tmp / "p.h5", plugin)
    h.stiffit("run", problem, env=env)
    for path, mode in ((list_file(tmp), 0o620), (list_file(tmp), 0o602), (list_file(tmp).parent, 0o770)):
        before = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode)
        assert "other users can write to it" in refused(tmp, "run", problem, "--overwrite").stderr
        assert "other users can write to it" in h.stiffit("trust", "--list", code=4, env=env).stderr
        h.stiffit("trust", plugin, code=4, env=env)
        path.chmod(before)
    h.stiffit("run", problem, "--overwrite", env=env)
    if os.geteuid() == 0:
        os.chown(list_file(tmp), 65534, 65534)
        refused(tmp, "run", problem, "--overwrite")


def test_the_list_is_read_as_people_edit_it(tmp):
    plugin, env = own_decay(tmp), private(tmp)
    problem = small_problem(tmp / "p.h5", plugin)
    h.stiffit("trust", plugin, env=env)
    line = list_file(tmp).read_text()
    list_file(tmp).write_text("# mine\n\n" + line.upper().rstrip("\n"))
    h.stiffit("run", problem, env=env)
    list_file(tmp).write_text(line.split()[0])
    h.stiffit("run", problem, "--overwrite", env=env)
    list_file(tmp).write_text(line + "nonsense\n")
    assert "line 2" in refused(tmp, "run", problem, "--overwrite").stderr
    assert "line 2" in h.stiffit("trust", "--list", code=4, env=env).stderr
    list_file(tmp).write_text(line)
    second = tmp / "second.so"
    shutil.copy(h.model("robertson"), second)
    h.stiffit("trust", second, env=env)
    assert len(h.stiffit("trust", "--list", env=env).stdout.splitlines()) == 2
    h.stiffit("run", problem, "--overwrite", env=env)


def test_wrong_use(tmp):
    env = private(tmp)
    h.stiffit("trust", code=2, env=env)
    h.stiffit("trust", "--list", "x", code=2, env=env)
    h.stiffit("trust", "--remove", code=2, env=env)
    h.stiffit("trust", "--remove", "0123456789abcdef", code=2, env=env)
    h.stiffit("trust", tmp / "missing.so", code=4, env=env)
    (tmp / "words.so").write_text("some words\n")
    assert "a text file" in h.stiffit("trust", tmp / "words.so", code=3, env=env).stderr
    h.decay_problem(tmp / "p.h5", 1)
    with h5py.File(tmp / "p.h5", "a") as f:
        del f["model"].attrs["plugin"]
    assert "names no model" in h.stiffit("trust", tmp / "p.h5", code=3, env=env).stderr
    nowhere = {k: v for k, v in env.items() if k not in ("HOME", "XDG_CONFIG_HOME")}
    assert "no place" in h.stiffit("trust", h.model("decay"), code=4, env=nowhere).stderr
    assert h.stiffit("trust", "--list", env=nowhere).stdout == ""


def linked(tmp, name, *words):
    """The decay example, linked with libextra.so by these words; in the folder `tmp`."""
    source = (h.ROOT / "models" / "decay" / "decay.c").read_text(encoding="utf-8")
    source += "extern double extra(void);\ndouble take(void) { return extra(); }\n"
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-fPIC", "-shared", "-I", h.ROOT / "include",
                    "-o", name, "-xc", "-", "-xnone", *words, "-lm"], input=source, text=True, cwd=tmp, check=True)
    return tmp / name


def test_libraries_that_the_hash_does_not_cover(tmp):
    subprocess.run([os.environ.get("CC", "cc"), "-fPIC", "-shared", "-o", tmp / "libextra.so", "-xc", "-"], text=True,
                   check=True, input="double extra(void) { return 1; }\n")
    env = private(tmp)
    for name, words, shown in (("path.so", [tmp / "libextra.so"], tmp / "libextra.so"),
                               ("search.so", ["-L.", "-lextra", f"-Wl,-rpath,{tmp}"], tmp)):
        said = h.stiffit("trust", linked(tmp, name, *words), env=env, cwd=tmp).stdout
        assert f"links   {shown}\n" in said and "does not cover" in said and "is trusted from now on" in said, said
    for name, words in (("dot.so", ["./libextra.so"]), ("rdot.so", ["-L.", "-lextra", "-Wl,-rpath,/usr/lib:."]),
                        ("empty.so", ["-L.", "-lextra", "-Wl,-rpath,/usr/lib:"])):
        plugin = linked(tmp, name, *words)
        done = h.stiffit("trust", plugin, env=env, cwd=tmp, code=3)
        assert "relative path" in done.stderr and "trusted from now on" not in done.stdout, done
        # Nor is it enough that the hash is in the list, from an earlier version; the user's own words are.
        with open(list_file(tmp), "a", encoding="utf-8") as file:
            file.write(f"{hashlib.sha256(plugin.read_bytes()).hexdigest()} 2026-01-01 {plugin}\n")
        problem = small_problem(tmp / "p.h5", plugin)
        assert "relative path" in h.stiffit("run", problem, env=env, cwd=tmp, code=3).stderr
        h.stiffit("run", problem, "--trust", "-q", "--overwrite", env=env, cwd=tmp)
    assert "links" not in h.stiffit("trust", own_decay(tmp), env=env).stdout


if __name__ == "__main__":
    h.main()
