"""The models printed in stiffit-model(3) and in the header compile with the documented line and pass `stiffit model check`;
the commands of stiffit-petab(7) run.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import re
import shlex
import shutil
import subprocess

import helpers as h
import test_petab

MANUAL = h.ROOT / "man/stiffit-model.3"
PETAB = h.ROOT / "man/stiffit-petab.7"
HEADER = h.ROOT / "include/stiffit/model.h"


def manual_blocks(manual=MANUAL):
    return re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", manual.read_text(), flags=re.M | re.S)


def compile_line():
    lines = [b.strip() for b in manual_blocks() if b.startswith("cc ")]
    assert len(lines) == 1, lines
    return lines[0]


def compile_model(tmp, text, name):
    source, plugin = tmp / f"{name}.c", tmp / f"{name}.so"
    source.write_text(text)
    words = {"INCLUDE": str(h.ROOT / "include"), "MODEL.so": str(plugin), "MODEL.c": str(source)}
    command = [words.get(word, word) for word in compile_line().split()]
    done = subprocess.run(command[:1] + ["-Wall", "-Wextra", "-Werror"] + command[1:], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return plugin


def header_example():
    comment = HEADER.read_text().split("*/")[0]
    lines = [line[len(" *     "):] for line in comment.splitlines() if line.startswith(" *     ")]
    return "\n".join(line for line in lines if not line.startswith("cc ")) + "\n"


def test_examples_of_the_manual(tmp):
    models = [block for block in manual_blocks() if block.startswith("#include <stiffit/model.h>")]
    assert len(models) == 3
    for i, text in enumerate(models):
        checked = h.stiffit("model", "check", compile_model(tmp, text, f"example{i}"), code=0).stdout
        assert ("lanes_curve_state" in checked) == (".lanes = " in text), checked


def test_example_of_the_header(tmp):
    plugin = compile_model(tmp, header_example(), "header")
    h.stiffit("model", "check", plugin, code=0)


def test_one_compile_line(tmp):
    line = compile_line().replace("MODEL", "decay")
    assert line in HEADER.read_text(), line


def test_header_is_also_cplusplus(tmp):
    compiler = shutil.which("c++")
    if not compiler:
        h.skip("no C++ compiler")
    source = tmp / "header.cpp"
    source.write_text("#include <stiffit/model.h>\nint main() { return stiffit_model.abi_version == 0; }\n")
    done = subprocess.run([compiler, "-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only",
                           f"-I{h.ROOT / 'include'}", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_commands_of_petab(tmp):
    """From problem.yaml to a figure and back to PEtab: the commands of stiffit-petab(7), in its order, do what it says."""
    blocks = manual_blocks(PETAB)
    lines = [line.split()[1:] for block in blocks for line in block.splitlines() if line.startswith("stiffit ")]
    assert [line[0] for line in lines] == ["run", "show", "export", "run", "import", "run", "export", "export"], lines
    script, = (block for block in blocks if block.startswith("import pandas"))
    compile(script, str(PETAB), "exec")
    for folder, made, chosen in (("fit", "fitted/solution.yaml", lines[:3] + lines[7:]),
                                 ("nominal", "problem.petab.result.h5", lines[3:4])):
        test_petab.write(tmp / folder).rename(tmp / folder / "problem.yaml")
        for words in chosen:
            h.stiffit(*words, cwd=tmp / folder, code=1 if "--max-evaluations" in words else 0)
        assert (tmp / folder / made).exists()
    for subject in ("first", "second"):
        test_petab.write(tmp / "many" / "subjects" / subject).rename(tmp / "many" / "subjects" / subject / "problem.yaml")
    for words in lines[4:7]:
        files = sorted(str(file) for word in words for file in (tmp / "many").glob(word) if "*" in word)
        h.stiffit(words[0], *files, *[word for word in words[1:] if "*" not in word], cwd=tmp / "many")
    assert (tmp / "many" / "fitted" / "second" / "solution.yaml").exists()
    with open(tmp / "fit" / "residuals.csv") as f:
        columns = next(csv.reader(f))
    asked = set(re.findall(r'"(\w+)"', script))
    assert asked and asked <= set(columns), (asked, columns)


def commands():
    """Of the manual's pages, README and --help, each with its place. Recipes and PEtab have tests of their own; those of
    stiffit-results(7) are lines of a makefile."""
    found = []
    for page in sorted(h.ROOT.glob("man/*.[1-8]")):
        if page.name not in ("stiffit-recipes.7", "stiffit-petab.7", "stiffit-results.7"):
            found += [(page.name, block) for block in manual_blocks(page)]
    found += [("README", block) for block in re.findall(r"(?:^    .*\n)+", (h.ROOT / "README.md").read_text(), re.M)]
    for command in re.findall(r"^  ([a-z]+) ", h.stiffit("help").stdout.split("Commands:")[1], re.M)[:-1]:
        found.append((f"help {command}", h.stiffit("help", command).stdout.split("\n\n")[0]))
    for place, text in found:
        for escape, character in (("\\(aq", "'"), ("\\(dq", '"'), ("\\e", "\\"), ("\\-", "-"), ("\\&", "")):
            text = text.replace(escape, character)
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True) if re.match(r" *(build/)?stiffit ", line) else []
            ends = [i for i, word in enumerate(words) if word in ("|", ">")]
            if words and "MODEL.so" not in words:
                yield place, words[1:ends[0]] if ends else words[1:]


def kitchen(folder):
    """The files that most commands speak of."""
    folder.mkdir()
    model = "parameter k = 0.3 scale log\nparameter V = 2 scale log\nx(0) = 10/V\nx' = -k*x\nobserve x{}\n"
    (folder / "decay.ode").write_text("model decay\n" + model.format("").replace("V", "A").replace("10/A", "A"))
    (folder / "one-step.ode").write_text("model one\nparameter k = 0.3 scale log\nx(0) = 2\nx' = -k*x\nobserve x\n")
    (folder / "bolus.ode").write_text("model bolus\n" + model.format(" sd 0.2"))
    rate = {"A1": 0.3, "A7": 0.5, "B2": 2.5}
    (folder / "wells.csv").write_text("dataset,time,value\n" + "".join(
        f"{well},{t},{2 * 2.718 ** (-rate[well] * t) + 0.01 * (-1) ** t}\n" for well in rate for t in range(1, 7)))
    (folder / "layout.csv").write_text("dataset,plate\nA1,P1\nA7,P1\nB2,P2\n")
    for name in ("data", "models"):
        (folder / name).symlink_to(h.ROOT / name)
    for model, problem, *words in (("decay", "wells"), ("decay", "two-step"), ("decay", "before"), ("decay", "after"),
                                   ("one-step", "one-step"), ("bolus", "subjects", "--random", "k,V")):
        h.stiffit("import", "wells.csv", "-d", "layout.csv", "-m", f"{model}.ode", "-o", f"{problem}.h5", cwd=folder)
        h.stiffit("run", f"{problem}.h5", "-q", *words, cwd=folder, code=(0, 1))
    return folder


@h.more
def test_no_command_is_a_mistake(tmp):
    """Each command is one that the program takes: it succeeds, or it lacks a file, or what SLURM or a plugin would bring."""
    first, folders, done, missing = kitchen(tmp / "first"), {}, [], []
    env = h.environment(XDG_CONFIG_HOME=str(tmp / "home"), PATH="/usr/bin:/bin")
    for place, words in commands():
        if place not in folders:
            folders[place] = shutil.copytree(first, tmp / place.replace(" ", "-"), symlinks=True)
        ran = subprocess.run([h.STIFFIT, *words], cwd=folders[place], capture_output=True, text=True, check=False, env=env,
                             stdin=subprocess.DEVNULL)
        shown = f"{place}: {' '.join(words)}: exit code {ran.returncode}: {ran.stderr}"
        lacks = re.search("No such file|exists already|is kept|sbatch|no results of its shards|is not in the list|"
                          "parameters are random|no dataset is selected|gnuplot", ran.stderr)
        assert ran.returncode in (0, 1) or (ran.returncode in (2, 3, 4) and lacks), shown
        (done if ran.returncode in (0, 1) else missing).append(shown)
    assert len(done) > 50, (len(done), missing)


def test_manual_is_clean(tmp):
    if not shutil.which("mandoc"):
        h.skip("no mandoc")
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", MANUAL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    h.main()
