"""The manual pages hold what the program's tables say, are valid mdoc, and their examples run.

SPDX-License-Identifier: BSD-3-Clause
"""
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np

import helpers
from helpers import ROOT, model, read_fits, skip, stiffit

MAN = ROOT / "man"


def test_pages_hold_every_option_as_the_table_has_it(tmp):
    commands = re.findall(r"^  (\w+)  ", stiffit("help").stdout, re.M)
    assert len(commands) >= 11
    for command in set(commands) - {"help"}:
        assert (MAN / f"stiffit-{command}.1").exists(), f"{command} has no page"
        page = (MAN / f"stiffit-{command}.1").read_text()
        options = stiffit("help", "--man-options", command).stdout
        assert options in page, f"man/stiffit-{command}.1: its list of options is not what `stiffit help --man-options " \
                                f"{command}` prints: put that in its place"


def test_pages_hold_every_exit_code_status_and_note(tmp):
    errors = (ROOT / "src/base/error.h").read_text()
    codes = set(re.findall(r'X\(\w+, (\d+), "', errors))
    assert len(codes) == 7
    page = (MAN / "stiffit.1").read_text()
    for code in codes:
        assert f".It {code}\n" in page, code
    header = re.sub(r'" \\\n\s*"', "", (ROOT / "src/base/outcome.h").read_text())  # literals over two lines
    header = re.sub(r" \\\n\s*", " ", header)
    outcomes = re.findall(r'X\((\d+), (\w+), (?:true|false), "([^"]*)",', header)
    notes = re.findall(r'X\((\d+), (\w+), "([^"]*)"\)', header)
    assert len(outcomes) >= 12 and len(notes) >= 25
    for number, name, text in outcomes + notes:
        assert f".It {number} {name}\n{text[0].upper()}{text[1:]}.\n" in (MAN / "stiffit-file.5").read_text(), name


def listed_paths(group):
    """What has an item of its own in stiffit-file(5)."""
    items = re.findall(r"^\.It Pa (.*)$", (MAN / "stiffit-file.5").read_text(), re.MULTILINE)
    return {path for item in items for path in item.split(" , ") if path.startswith(group)}


def test_file_page_has_every_column_of_the_lists_and_no_other(tmp):
    """A new column of /fits is a line of the list, and an item here; a result written by the program has the same names."""
    columns = set(re.findall(r'X\(\w+, "(/fits/\w+)"', (ROOT / "src/io/file/fit_column_list.h").read_text()))
    assert len(columns) >= 45
    assert listed_paths("/fits/") == columns | {"/fits/id", "/fits/message"}
    measured = set(re.findall(r"^    X\((\w+), (?:DOUBLE|UINT32|INT8)", (ROOT / "src/base/measurements.h").read_text(),
                              re.MULTILINE))
    assert len(measured) >= 6
    assert {f"/measurements/{name}" for name in measured} <= listed_paths("/measurements/")


def test_pages_are_valid(tmp):
    if not shutil.which("mandoc"):
        skip("mandoc is not installed")
    pages = sorted(MAN.glob("*.[1-8]"))
    assert len(pages) >= 8
    for page in pages:
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def literal_blocks(page):
    """The displays of a page, as a reader sees them."""
    for block in re.findall(r"\.Bd -literal[^\n]*\n(.*?)\.Ed", (MAN / page).read_text(), re.DOTALL):
        yield block.replace("\\e", "\\")


def test_python_example_of_the_file_page_runs(tmp):
    python, = [block for block in literal_blocks("stiffit-file.5") if block.startswith("import h5py")]
    write, read = python.split("# stiffit run wells.h5 --trust\n")
    shutil.copy(model("decay"), tmp / "decay.so")
    subprocess.run([sys.executable, "-c", write], cwd=tmp, check=True)
    stiffit("run", "wells.h5", "--trust", "-q", cwd=tmp)
    read = "import h5py\n" + read + "assert list(ids) == ['A1', 'A2'] and list(names) == ['k', 'A']\n"
    read += "assert good.all() and best.shape == (2, 2)\n"
    subprocess.run([sys.executable, "-c", read], cwd=tmp, check=True)


def test_r_example_of_the_file_page_runs(tmp):
    if not shutil.which("Rscript") or subprocess.run(["Rscript", "-e", "library(rhdf5)"], capture_output=True,
                                                     check=False).returncode:
        skip("no R with rhdf5")
    text, = [block for block in literal_blocks("stiffit-file.5") if block.startswith("library(rhdf5)")]
    write, read = text.split("\nbest <-")
    shutil.copy(model("decay"), tmp / "decay.so")
    subprocess.run(["Rscript", "-e", write], cwd=tmp, check=True, capture_output=True)
    stiffit("run", "wells.h5", "--trust", "-q", cwd=tmp)
    read = "library(rhdf5)\nbest <-" + read + "write.table(best, row.names = FALSE, quote = FALSE)\n"
    done = subprocess.run(["Rscript", "-e", read], cwd=tmp, check=True, capture_output=True, text=True)
    names, *rows = [line.split() for line in done.stdout.splitlines()]
    fits = read_fits(tmp / "wells.result.h5")
    assert names == ["k", "A"] and len(rows) == 2
    np.testing.assert_allclose(np.array(rows, float), fits["parameters"], rtol=1e-12)  # R writes 15 digits


@helpers.more
def test_shell_examples_run(tmp):
    """The command lines of the examples, in a folder that has the files that they name."""
    for name in ["decay", "robertson", "theophylline"]:
        shutil.copy(model(name), tmp / f"{name}.so")
    shutil.copy(ROOT / "models/decay/decay.ode", tmp)
    (tmp / "build").symlink_to(helpers.BUILD)
    for folder in ("data", "models"):
        (tmp / folder).symlink_to(ROOT / folder)
    (tmp / "wells.csv").write_text("dataset,time,value\n" + "".join(
        f"A{d},{t},{2.0 ** -(t * d / 3)}\n" for d in (1, 2) for t in (0.5, 1, 2, 4)))
    ran = 0
    for page in ["stiffit.1", "stiffit-run.1", "stiffit-show.1", "stiffit-export.1", "stiffit-simulate.1",
                 "stiffit-model.1", "stiffit-import.1", "stiffit-merge.1", "stiffit-status.1"]:
        for block in literal_blocks(page):
            if block.lstrip().startswith("%."):  # a Makefile: see test_run_options.py
                continue
            if re.search(r"^(\d+|[A-Z]),", block, re.M):  # a table: see test_import_forms.py, test_columns.py
                continue
            if "#SBATCH" in block or "| jq" in block:
                block = "\n".join(line for line in block.splitlines() if "SBATCH" not in line and "srun" not in line
                                  and "| jq" not in line)
            for command in re.sub(r"\\\n\s*", "", block).splitlines():
                words = shlex.split(command.split("|")[0])
                if not words or words[0] in ("mpirun", "srun", "mpicc"):  # see launch.py
                    continue
                if "--population" in words:  # see test_random_manual.py
                    continue
                assert words[0] == "stiffit", command
                output = words[words.index("-o") + 1] if "-o" in words else None
                for stale in (output, "wells.h5" if words[1] == "import" else None):
                    if stale and (tmp / stale).exists():
                        (tmp / stale).unlink()
                if words[1] in ("run", "merge") and "--retry-failed" not in words:
                    words += ["--overwrite"]
                if "--datasets" in words and "1000" in words:
                    words[words.index("1000")] = "20"  # the example is about the form
                stiffit(*words[1:], cwd=tmp)
                ran += 1
    assert ran >= 15
    assert len(read_fits(tmp / "wells.result.h5")["id"]) == 2


if __name__ == "__main__":
    helpers.main()
