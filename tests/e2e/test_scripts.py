"""The repository's own scripts: what install-deps says where nothing may be installed, what lint-layers finds, how
measure-walks reads.

SPDX-License-Identifier: BSD-3-Clause
"""
import ast
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys

import helpers as h

TOOLS = ("sh", "cat", "mktemp", "rm", "id", "printf", "env")


def install_deps(tmp, *, apt=False, **environment):
    """Runs install-deps where there are only a few tools and no compiler; apt: a stand-in that fails if it is called."""
    tools = tmp / "bin"
    tools.mkdir()
    for name in TOOLS:
        (tools / name).symlink_to(shutil.which(name))
    if apt:
        (tools / "apt-get").write_text(f"#!/bin/sh\necho called >>'{tmp}/called'\nexit 1\n")
        (tools / "apt-get").chmod(0o755)
    env = {"PATH": str(tools), "PYTHON": "no-python", **environment}
    return subprocess.run([str(h.ROOT / "scripts/install-deps"), "check"], env=env, capture_output=True, text=True,
                          check=False)


def test_no_install_only_names(tmp):
    done = install_deps(tmp, apt=True, NO_INSTALL="1")
    assert done.returncode == 1
    for package in ("build-essential", "libsundials-dev", "liblbfgs-dev", "libopenblas-dev", "libhdf5-dev",
                    "libsuitesparse-dev", "nettle-dev", "zlib1g-dev", "libcmocka-dev", "python3-h5py"):
        assert package in done.stderr, package
    assert not (tmp / "called").exists(), "something was to be installed"


def test_elsewhere_it_names_the_packages_of_others(tmp):
    done = install_deps(tmp)
    assert done.returncode == 1
    for word in ("dnf install", "sundials-devel", "conda install", "brew install", "suite-sparse"):
        assert word in done.stderr, word


def test_failed_installation_is_a_failure(tmp):
    done = install_deps(tmp, apt=True)
    assert done.returncode == 1
    if os.getuid() == 0:
        assert (tmp / "called").read_text().count("called") == 2  # update, then install
        assert "apt-get install" in done.stdout
    else:  # no sudo among the tools
        assert "as root" in done.stderr


def test_everything_is_there_here(tmp):
    env = {**os.environ, "NO_INSTALL": "1"}
    done = subprocess.run([str(h.ROOT / "scripts/install-deps"), "check"], env=env, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0 and not done.stdout + done.stderr, done


def calls(*names):
    """Records of calls, "NAME@FILE" one's entry and "/NAME" its exit."""
    where = dict(word.split("@") for word in names if "@" in word)
    return [(word[1:], where[word[1:]], 1) if word[0] == "/" else (*word.split("@"), 0)
            for word in names]


def test_walks_are_read_once(tmp):
    loader = importlib.machinery.SourceFileLoader("walks", str(h.ROOT / "scripts/measure-walks"))
    walks = importlib.util.module_from_spec(importlib.util.spec_from_loader("walks", loader))
    sys.dont_write_bytecode = True  # no scripts/__pycache__
    loader.exec_module(walks)
    step = ("step@ode/drive.c", "f@model.c", "/f", "/step")
    thread = calls("idle@fit/x.c", "/idle", "ask@fit/objective/point.c", *step, *step, "log@base/output.c",
                   "/log", "width@ode/drive.h", "/width", "own@fit/objective/point.c", *step, "/own", "/ask")
    read = [call.function for call in walks.walk([[], thread], ("ask",))]
    # the second chain ask-step is known, that of ask-own-step is not
    assert read == ["ask", "step", "f", "own", "step", "f"], read


def lint_layers(tmp, name, text):
    for folder in ("scripts", os.path.dirname(name)):
        (tmp / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(h.ROOT / "scripts/lint-layers", tmp / "scripts")
    (tmp / name).write_text(text)
    return subprocess.run([sys.executable, tmp / "scripts/lint-layers"], capture_output=True, text=True, check=False)


LICENCE = "/* Why. SPDX-License-Identifier: BSD-3-Clause */\n"


def test_lint_layers(tmp):
    cases = (("src/base/a.c", '#include "io/problem/problem.h"\n', "may not include"),
             ("src/fit/a.c", "#include <hdf5.h>\n", "belongs to src/io/"),
             ("src/run/a.c", "#include <pthread.h>\n", "belongs to"),
             ("src/ode/a.c", "#include <lbfgs.h>\n", "belongs to src/fit/"),
             ("src/cli/a.c", "#include <dlfcn.h>\n", "belongs to src/model/"),
             ("models/m/m.c", "#include <stdio.h>\n", "a model includes nothing but"),
             ("src/base/b.c", "int x;\n" * 901, "the limit is 900"),
             ("src/base/b.h", "int x;\n" * 261, "the limit is 260"),
             ("src/base/b.h", "int x;\n", "no file includes it"),
             ("src/base/c.c", "struct large {\n" + "    int a, b; /* c; d; */\n" * 21 + "};\n", "struct large has 42 fields"),
             ("src/run/supervise/a.c", '#include "run/plan/plan.h"\n', "may not include"))
    for i, (name, text, words) in enumerate(cases):
        done = lint_layers(tmp / str(i), name, LICENCE + text)
        assert done.returncode == 1 and words in done.stderr, (name, done.stderr)
    done = lint_layers(tmp / "licence", "src/base/c.c", "int x;\n")
    assert done.returncode == 1 and "SPDX" in done.stderr
    (tmp / "circle/src/fit").mkdir(parents=True)
    (tmp / "circle/src/fit/a.h").write_text(LICENCE + '#include "fit/b.h"\n')
    done = lint_layers(tmp / "circle", "src/fit/c.c", LICENCE + '#include "fit/a.h"\n')
    assert done.returncode == 0, done.stderr
    done = lint_layers(tmp / "circle", "src/fit/b.c", LICENCE + '#include "fit/a.h"\n')
    assert done.returncode == 1 and "src/fit/a: a circle of includes: fit/a -> fit/b -> fit/a" in done.stderr
    done = lint_layers(tmp / "good", "src/io/c.c", LICENCE + '#include "base/error.h"\n#include <hdf5.h>\n')
    assert done.returncode == 0, done.stderr


def test_every_promise_has_a_quick_test(tmp):
    """The programs that ARCHITECTURE.md names run in `make check`, with tests of their own where they are in Python."""
    table = (h.ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## Promises")[1]
    named = re.findall(r"`(?:tests/(\w+)/)?(test_\w+\.(?:c|py))`", table)
    assert len(named) > 25, named
    listed = subprocess.run([sys.executable, h.ROOT / "tests/run", "--list"], env={**os.environ, "STIFFIT_LEVEL": "quick"},
                            capture_output=True, text=True, check=True).stdout.split()
    for folder, name in named:
        path = f"tests/{folder or 'e2e'}/{name}"
        assert path.removesuffix(".c") in listed, path
        if name.endswith(".py"):
            tests = [node for node in ast.parse((h.ROOT / path).read_text(encoding="utf-8")).body
                     if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
            levels = [{getattr(mark, "attr", "") for mark in test.decorator_list} for test in tests]
            assert not tests or any(not {"more", "slow"} & level for level in levels), path


if __name__ == "__main__":
    h.main()
