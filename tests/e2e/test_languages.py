"""stiffit-languages(7): what it shows for each language is run, where the language is here, and its numbers are those of the
closed form's least squares by SciPy.

MATLAB's lines run in Octave, which has none of MATLAB's functions for HDF5: stand-ins make a list of what is written, which
h5py carries out with the order of indices that MATLAB's documentation gives, and read what h5py has read.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np
from scipy.optimize import least_squares

import helpers as h
import test_model_manual
import test_r

PAGE = h.ROOT / "man/stiffit-languages.7"
TIME, VALUE = np.array([1, 2, 4]), np.array([[0.80, 0.55, 0.33], [0.61, 0.37, 0.14]])
STAND_INS = r"""
1;
function note(varargin)
  f = fopen('written.jsonl', 'a'); fprintf(f, '%s\n', jsonencode(varargin)); fclose(f);
end
function h5create(file, path, n, varargin), note('create', file, path, n, varargin{:}); end
function h5write(file, path, value), note('write', file, path, size(value), value(:)'); end
function h5writeatt(file, path, name, value), note('attribute', file, path, name, value); end
function value = h5read(file, path)
  value = jsondecode(fileread('read.json')).([strrep(path(2:end), '/', '_')]);
  if isnumeric(value), value = value'; end
end
"""


def sections():
    found = {}
    for kind, text, heading in test_model_manual.displays(PAGE, "sh|python|R|julia|matlab"):
        found.setdefault(heading, []).append((kind, text))
    return found


def best():
    """k and A of each well."""
    return np.array([least_squares(lambda p, y=y: p[1] * np.exp(-p[0] * TIME) - y, [0.5, 1], xtol=1e-14, ftol=1e-14).x
                     for y in VALUE])


def follow(tmp, heading, commands):
    """Runs a section; all that was printed."""
    env = h.environment(STIFFIT=h.STIFFIT, PYTHONPATH=h.ROOT / "scripts/python",
                        R_LIBS=f"{test_r.LIBRARY}:{os.environ.get('R_LIBS', '')}")
    env["PATH"] = f"{h.STIFFIT.parent}:{env['PATH']}"
    printed = ""
    for kind, text in sections()[""] + sections()[heading]:
        command = commands[kind] if kind in commands else ["sh", "-e", "-c"]
        done = subprocess.run([*command, text], cwd=tmp, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        printed += done.stdout
    return printed


def check(tmp, printed):
    """The result is right, and the lines show it to three digits or more."""
    fits = h.read_fits(tmp / "wells.result.h5")
    # --ftol 1e-9 of the sum of squares leaves about its root of a parameter
    np.testing.assert_allclose(fits["parameters"], best(), rtol=1e-4)
    for name, values in zip(("A1", "A2"), best()):
        line = next(line for line in printed.splitlines() if name in line)
        numbers = [float(word) for word in re.findall(r"\d+\.\d+", line)]
        np.testing.assert_allclose(numbers[:2], values, rtol=2e-3)


def test_python(tmp):
    if subprocess.run([sys.executable, "-c", "import pandas"], capture_output=True, check=False).returncode:
        h.skip("no pandas")
    check(tmp, follow(tmp, "Python", {"python": [sys.executable, "-c"]}))


def test_r_package(tmp):
    test_r.install()
    check(tmp, follow(tmp, "R", {"R": ["Rscript", "-e"]}))


def test_julia(tmp):
    if not shutil.which("julia") or subprocess.run(["julia", "-e", "using HDF5"], capture_output=True,
                                                   check=False).returncode:
        h.skip("no Julia with HDF5.jl")
    check(tmp, follow(tmp, "Julia", {"julia": ["julia", "-e"]}))


def octave(tmp, text):
    """MATLAB's arrays of texts are cells in Octave."""
    text = re.sub(r'\[((?:"[^"]*" ?)+)\]', lambda found: "{" + found[1].replace(" ", ", ") + "}", text)
    done = subprocess.run(["octave-cli", "-qfH", "--eval", STAND_INS + text], cwd=tmp, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write(tmp):
    """What h5create, h5write and h5writeatt do: indices in MATLAB's order are reversed in the file."""
    types = {"double": "f8", "int32": "i4", "string": h5py.string_dtype()}
    for line in (tmp / "written.jsonl").read_text().splitlines():
        what, file, path, *rest = json.loads(line)
        with h5py.File(tmp / file, "a") as f:
            if what == "attribute":
                f[path].attrs[rest[0]] = rest[1]
            elif what == "create":
                shape = np.atleast_1d(rest[0])[::-1]
                f.create_dataset(path, tuple(shape), dtype=types[dict(zip(rest[1::2], rest[2::2])).get("Datatype", "double")])
            else:
                assert np.prod(rest[0]) == f[path].size, line
                f[path][...] = np.array(rest[1], object if isinstance(rest[1][0], str) else float).reshape(f[path].shape)


def test_matlab(tmp):
    if not shutil.which("octave-cli"):
        h.skip("no Octave")
    (_, begin), (_, run), (_, end) = sections()["MATLAB"]
    octave(tmp, begin)
    write(tmp)
    env = h.environment()
    env["PATH"] = f"{h.STIFFIT.parent}:{env['PATH']}"
    subprocess.run(["sh", "-e", "-c", sections()[""][0][1] + run], cwd=tmp, env=env, check=True)
    with h5py.File(tmp / "wells.result.h5") as f:
        read = {}
        for name in re.findall(r"h5read\(r, '(.*?)'\)", end):
            column = f[name].asstr() if h5py.check_string_dtype(f[name].dtype) else f[name]
            read[name[1:].replace("/", "_")] = column[()].tolist()
    # jsondecode gives the rows of a list of lists, as h5py does; the stand-ins' h5read gives MATLAB's columns.
    assert "fits_parameters" in read
    (tmp / "read.json").write_text(json.dumps(read))
    check(tmp, octave(tmp, end))


if __name__ == "__main__":
    h.main()
