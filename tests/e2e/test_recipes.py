"""The recipes of stiffit-recipes(7): each one is run in a folder of its own that has the files of the first one, and prints the
lines that the page shows. What writes a file without a program of its own to check it is checked here.

SPDX-License-Identifier: BSD-3-Clause
"""
import re
import shutil
import subprocess
import sys

import helpers as h
import test_model_manual

PAGE = h.ROOT / "man/stiffit-recipes.7"
NEEDED = {"R": ("Rscript", "-e", "library(hdf5r)"), "octave": ("octave-cli", "--version")}
COMMAND = {"sh": ("sh", "-e", "-c"), "python": (sys.executable, "-c"), "R": ("Rscript", "-e"),
           "octave": ("octave-cli", "-qfH", "--eval")}


def recipes():
    found = {}
    for kind, text, heading in test_model_manual.displays(PAGE, "sh|python|R|octave|output"):
        found.setdefault(heading, []).append((kind, text))
    return found


def look_for(kind, text):
    """Skips the recipe if the program or library that this display is about is not here."""
    modules = re.findall(r"^import ([\w, ]+)", text, re.M) if kind == "python" else []
    imports = "\n".join("import " + line for line in modules)
    probe = NEEDED.get(kind, (sys.executable, "-c", imports) if imports else None)
    if probe and (not shutil.which(probe[0]) or subprocess.run(probe, capture_output=True, check=False).returncode):
        h.skip(f"no {kind} that has what the recipe needs")


def words(line):
    is_decimal_comma = ";" in line and " " not in line
    return re.split(r";" if is_decimal_comma else r"[,\s]+", line.strip())


def is_rounded(shown, printed):
    """Whether a number on the page is that of the program, with fewer digits."""
    number = r"-?\d+(?:[.,](\d+))?"
    digits = re.fullmatch(number, shown)
    if not digits or not re.fullmatch(number + r"(e[+-]?\d+)?", printed):
        return False
    a, b = (float(text.replace(",", ".")) for text in (shown, printed))
    return abs(a - b) <= 0.51 * 10.0 ** -len(digits[1] or "")


def is_there(line, printed):
    """A line of the page, which may end in " ..." where the program's goes on."""
    shown = words(line.removesuffix(" ..."))
    exact = not line.endswith(" ...")
    return any((len(shown) == len(other) if exact else len(shown) < len(other)) and
               all(a == b or is_rounded(a, b) for a, b in zip(shown, other)) for other in printed)


def cook(tmp, displays):
    env = h.environment(MPLBACKEND="Agg")
    env["PATH"] = f"{h.STIFFIT.parent}:{env['PATH']}"
    printed = []
    for kind, text in displays:
        if kind == "output":
            for line in text.strip("\n").splitlines():
                assert is_there(line, printed), f"{line!r} was not printed:\n" + "\n".join(map(str, printed))
            continue
        done = subprocess.run([*COMMAND[kind], text], cwd=tmp, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        printed += [words(line) for line in (done.stdout + done.stderr).splitlines()]


def recipe(heading, displays, line):
    def test(tmp):
        for kind, text in displays:
            look_for(kind, text)
        cook(tmp, ALL[FIRST] + displays)
    test.line = line
    globals()["test_" + "_".join(re.findall(r"\w+", heading.lower()))] = test


ALL = recipes()
FIRST, *OTHERS = ALL
assert len(OTHERS) >= 20
for number, name in enumerate(OTHERS):
    recipe(name, ALL[name], 1000 + number)


if __name__ == "__main__":
    h.main()
