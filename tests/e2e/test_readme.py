"""README's quick start does what it says: its commands and its Python are run, in order, in a folder that looks like the
repository.

SPDX-License-Identifier: BSD-3-Clause
"""
import re
import subprocess
import sys

import h5py
import numpy as np

import helpers as h


def steps(section):
    """("sh" or "python", text) of each code block of a section of README.md, in order."""
    text = (h.ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {section}\n(.*?)(?=^## )", text, re.M | re.S)
    assert found, section
    blocks = re.findall(r"```python\n([\s\S]*?)```|((?:^ {4}\S.*\n)+)", found.group(1), re.M)
    return [("python", python) if python else ("sh", re.sub(r"^ {4}", "", shell, flags=re.M))
            for python, shell in blocks]


def prepare(tmp):
    for name in ("data", "models", "include"):
        (tmp / name).symlink_to(h.ROOT / name)
    (tmp / "build").symlink_to(h.BUILD)


def follow(tmp, section):
    n = 0
    for kind, text in steps(section):
        if kind == "python":
            command = [sys.executable, "-c", "import h5py, numpy as np\n" + text]
        else:
            command = ["sh", "-e", "-c", text]
        done = subprocess.run(command, cwd=tmp, env=h.environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        n += 1
    return n


def test_quick_start(tmp):
    prepare(tmp)
    assert follow(tmp, "Quick start") >= 4
    lines = (tmp / "fits.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2 and "converged" in lines[1]
    with h5py.File(tmp / "decay.result.h5") as f:
        assert f["fits/parameters"].shape == (1000, 2) and np.all(f["fits/status"][:] == 1)


def test_writing_a_model(tmp):
    prepare(tmp)
    assert follow(tmp, "Writing a model") >= 1


@h.more
def test_ways_to_install(tmp):
    """make knows them; test_install.py goes them."""
    text = (h.ROOT / "README.md").read_text(encoding="utf-8")
    section = re.search(r"^## Building and installing\n(.*?)(?=^## )", text, re.M | re.S).group(1)
    commands = re.findall(r"^\| `(make.*?)` \|", section, re.M)
    assert len(commands) > 5
    for command in commands:
        done = subprocess.run([*command.replace("...", str(tmp)).split(), "-n"], cwd=h.ROOT, env=h.environment(),
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    for folder in re.findall(r"`(scripts/\w+)`, `(scripts/\w+)` \|", section)[0]:
        assert list((h.ROOT / folder).iterdir()), folder


def test_options_table_names_every_option(tmp):
    text = (h.ROOT / "README.md").read_text(encoding="utf-8")
    section = re.search(r"^## Options of `stiffit run`\n(.*?)(?=^## )", text, re.M | re.S).group(1)
    shown = h.stiffit("run", "--help").stdout
    in_help = set(re.findall(r"--[a-z][a-z-]+", shown)) - {"--help", "--threads", "--output"}
    in_readme = set(re.findall(r"--[a-z][a-z-]+", section))
    assert in_help == in_readme - {"--threads", "--output"}, in_help ^ in_readme


if __name__ == "__main__":
    h.main()
