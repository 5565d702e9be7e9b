"""No command destroys a file that it reads, by whatever name or link it is told to write there.

SPDX-License-Identifier: BSD-3-Clause
"""
import os

import helpers as h

TEXT = "parameter k = 0.3 scale log\nparameter A = 1 scale log\ny(0) = A\ny' = -k*y\nobserve y\n"
CSV = "dataset,time,value\na,1,0.8\na,2,0.6\na,3,0.4\nb,1,0.7\nb,2,0.5\nb,3,0.3\n"


def files(tmp):
    """Everything that a command may read; a result whose problem and model it names, and not the command line."""
    (tmp / "m.ode").write_text(TEXT)
    (tmp / "t.csv").write_text(CSV)
    (tmp / "s.csv").write_text("dataset,start_k\na,0.4\nb,0.5\n")
    (tmp / "p.csv").write_text("parameter,start\nk,0.4\n")
    h.stiffit("model", "build", "m.ode", cwd=tmp)
    h.stiffit("import", "t.csv", "--model", "m.so", "-q", cwd=tmp)
    h.stiffit("run", "t.h5", "--trust", "-q", cwd=tmp)


def other_names(tmp, name):
    """The file by its path, another path, a symbolic link and a hard link."""
    (tmp / "symbolic").unlink(missing_ok=True)
    (tmp / "hard").unlink(missing_ok=True)
    (tmp / "symbolic").symlink_to(name)
    os.link(tmp / name, tmp / "hard")
    return name, f"./{name}", str(tmp / name), "symbolic", "hard"


def test_inputs_are_kept(tmp):
    files(tmp)
    result = "t.result.h5"
    simulate = ("simulate", "--model", "m.ode", "--times", "1,2", "--overwrite")
    commands = (
        [("model", "build", "m.ode", option, "m.ode") for option in ("-o", "--c")] +
        [("import", "t.csv", "--datasets", "s.csv", "--parameters", "p.csv", "--model", "m.ode", "--overwrite", "-o", name)
         for name in ("t.csv", "s.csv", "p.csv", "m.ode")] +
        [("export", result, "--overwrite", "-o", result),
         ("export", result, "--what", "covariance", "--overwrite", "-o", result)] +
        [("export", result, "--trust", "--what", "predictions", "--overwrite", "-o", name)
         for name in (result, "t.h5", "m.so")] +
        [("simulate", result, "--trust", "--overwrite", "-o", name) for name in (result, "t.h5", "m.so")] +
        [("simulate", "--bootstrap", 3, result, "--id", "a", "--trust", "--overwrite", "-o", name)
         for name in (result, "t.h5", "m.so")] +
        [(*simulate, "-o", "m.ode"), (*simulate, "-n", 3, "-o", "m.ode"),
         (*simulate, "-n", 3, "--truth", "m.ode", "-o", "n.h5")] +
        [("run", "t.h5", "--trust", "--overwrite", "-o", name) for name in ("t.h5", "m.so")] +
        [("run", "t.h5", "--model", "m.ode", "--overwrite", "-o", "m.ode"),
         ("run", "t.h5", "--trust", "--overwrite", "--only", "a", "--trace", "t.h5"),
         ("run", "t.h5", "--trust", "--overwrite", "--only", "a", "--trace", "m.so"),
         ("run", "t.h5", "--trust", "--shard", "1/2", "--cost-from", result, "--overwrite", "-o", result)])
    for command in commands:
        target = command[-1] if command[-1] != "n.h5" else "m.ode"
        whole = (tmp / target).read_bytes()
        for name in other_names(tmp, target):
            words = [name if i == len(command) - 1 - 2 * (command[-1] == "n.h5") else word for i, word in enumerate(command)]
            done = h.stiffit(*words, cwd=tmp, code=2)
            assert name in done.stderr and "error" in done.stderr, (words, done.stderr)
            assert (tmp / target).read_bytes() == whole, words
        (tmp / "hard").unlink()
    assert not list(tmp.glob("*.journal")) and not (tmp / "n.h5").exists()


def test_default_outputs_spare_inputs_too(tmp):
    files(tmp)
    (tmp / "t.h5").rename(tmp / "kept.h5")
    os.link(tmp / "kept.h5", tmp / "t.h5")  # import's default output is the file that holds the model
    assert "read" in h.stiffit("import", "t.csv", "--model", "kept.h5", "-q", "--overwrite", cwd=tmp,
                               code=2).stderr
    (tmp / "real.so").write_text(TEXT)
    (tmp / "real.ode").symlink_to("real.so")
    assert "read" in h.stiffit("model", "build", "real.ode", cwd=tmp, code=2).stderr
    assert (tmp / "real.so").read_text() == TEXT


def test_two_outputs_are_two_files(tmp):
    files(tmp)
    h.stiffit("model", "build", "m.ode", "--c", "same", "-o", "same", cwd=tmp, code=2)
    h.stiffit("simulate", "--model", "m.ode", "--times", "1", "-n", 2, "-o", "same", "--truth", "same", cwd=tmp, code=2)
    assert not (tmp / "same").exists()


def test_pipes_and_devices_are_no_files(tmp):
    files(tmp)
    h.stiffit("export", "t.result.h5", "-o", "/dev/null", cwd=tmp)
    done = h.stiffit("import", "/dev/stdin", "--model", "m.ode", "-o", "n.h5", "-q", cwd=tmp, stdin=CSV)
    assert (tmp / "n.h5").exists(), done.stderr


if __name__ == "__main__":
    h.main()
