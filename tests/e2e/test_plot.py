"""`stiffit plot`: the numbers that gnuplot gets against the models' closed forms, pictures that other programs read, and names
that mean something to gnuplot or to a shell.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import shutil
import zlib
import xml.etree.ElementTree as xml

import h5py
import numpy as np

import helpers as h

NASTY = ["a'b\"`touch HIT`", "$(touch HIT)\nsystem 'touch HIT'", "back\\slash' ; !touch HIT", "@x{}^_%d &<b>", "\u00e9\u4e2d",
         "'a", "b''c", "''", "5' UTR", "c]]>d", "]]>]]>", "\\047\\n",
         "dose=1", *("".join(sign + "1" for sign in signs) for signs in ("!#$%&'()*+/", ";<=>?@[\\]^{|}~`"))]


def run(path, *words, code=0):
    h.stiffit("run", path, "--trust", "--quiet", *words, code=code)
    return h.result_path(path)


def script_of(tmp, path, *words, code=0):
    """What gnuplot would get: a program of that name stands for it. And what is said."""
    folder = tmp / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "gnuplot").write_text("#!/bin/sh\nexec cat\n")
    (folder / "gnuplot").chmod(0o755)
    done = h.stiffit("plot", path, "--trust", *words, code=code,
                     env=h.environment(PATH=f"{folder}:{os.environ['PATH']}"))
    return done.stdout, done.stderr


def block(script, name):
    """The rows of numbers of a data block, without the last one, which is empty."""
    text, = re.findall(rf"^\${name} <<EOD\n(.*?)\nEOD$", script, re.M | re.S)
    return np.array([[float(word) for word in line.split()] for line in text.split("\n")[:-1]])


def test_numbers_against_the_closed_form(tmp):
    h.decay_problem(tmp / "p.h5", 30, known_sigma=True, noise=0.08)
    path = run(tmp / "p.h5")
    fits = h.read_fits(path)
    worst = int(np.argmax(fits["chi_square"]))
    for words, i in (((), worst), (("--id", "d7"), 7), (("--where", "k > 0.5"), None)):
        if i is None:
            among = np.flatnonzero(fits["parameters"][:, 0] > 0.5)
            i = among[np.argmax(fits["chi_square"][among])]
            assert i != worst
        script, said = script_of(tmp, path, *words)
        k, a = fits["parameters"][i]
        assert ("the worst fit of" in said) == (words[:1] != ("--id",)) and (f"is d{i} " in said or "--id" in words)
        curve, points = block(script, "curve_0_0"), block(script, "points_0_0")
        assert np.allclose(curve[:, 1], a * np.exp(-k * curve[:, 0]), rtol=1e-5)  # the run's rtol is 1e-7, over some steps
        assert curve[0, 0] == 0 and curve[-1, 0] == 8 and len(curve) > 400 and np.all(np.diff(curve[:, 0]) > 0)
        with h5py.File(tmp / "p.h5") as f:
            t, y, s = (f["measurements"][name][8 * i:8 * i + 8] for name in ("time", "value", "sigma"))
        assert np.array_equal(points[:, :2], np.column_stack([t, y])) and np.isin(t, curve[:, 0]).all()
        assert np.allclose(points[:, 2:4], np.column_stack([y - s, y + s]), rtol=1e-12)
        assert np.allclose(points[:, 4], (y - a * np.exp(-k * t)) / s, atol=1e-4)
        assert f'set multiplot title "d{i}: converged, reduced chi-square {fits["chi_square"][i] / 6:.4g}"' in script


def test_doses_jump(tmp):
    (tmp / "bolus.ode").write_text("model bolus\nparameter k = 0.5\nparameter V = 2\namount(0) = 0\namount' = -k * amount\n"
                                   "observe c = amount / V\n")
    (tmp / "d.csv").write_text("dataset,time,amount,target,interval,count\na,1,10,amount,3,2\n")
    t = np.array([0.5, 1.5, 2, 3, 3.9, 4.5, 6, 7])
    exact = sum(np.where(t > at, 5 * np.exp(-0.5 * (t - at)), 0) for at in (1, 4))
    (tmp / "m.csv").write_text("dataset,time,value\n" + "".join(f"a,{x},{y}\n" for x, y in zip(t, exact)))
    h.stiffit("import", tmp / "m.csv", "--doses", tmp / "d.csv", "-m", tmp / "bolus.ode", "-o", tmp / "p.h5")
    curve = block(script_of(tmp, run(tmp / "p.h5"))[0], "curve_0_0")
    for at, height in ((1, 5), (4, 5 * (1 + np.exp(-1.5)))):
        rows = curve[curve[:, 0] == at]
        assert len(rows) == 2 and abs(rows[1, 1] - height) < 1e-4 and abs(rows[1, 1] - rows[0, 1] - 5) < 1e-4, rows
    assert np.sum(np.diff(curve[:, 0]) == 0) == 2


def test_experiments_log_time_and_bad_rows(tmp):
    text = "dataset,experiment,time,value\n"
    for e, start in (("e1", 1), ("e'2", 3)):
        text += "".join(f"x,{e},{t},{start * np.exp(-0.3 * t)}\n" for t in (1e-3, 1e-2, 0.1, 1, 10))
    (tmp / "m.csv").write_text(text)
    (tmp / "e.csv").write_text("dataset,experiment,A\nx,e1,1\nx,e'2,3\n")
    (tmp / "s.ode").write_text("model s\ncovariate A\nparameter k = 0.5\ny(0) = A\ny' = -k * y\nobserve y\n")
    h.stiffit("import", tmp / "m.csv", "--experiments", tmp / "e.csv", "-m", tmp / "s.ode", "-o", tmp / "p.h5")
    script, _ = script_of(tmp, run(tmp / "p.h5"))
    assert r'title "e\047\062"' in script and "set logscale x" in script
    for e, start in enumerate((1, 3)):
        curve = block(script, f"curve_{e}_0")
        assert curve[0, 0] == 1e-3 and np.allclose(curve[:, 1], start * np.exp(-0.3 * curve[:, 0]), rtol=1e-5)
    h.decay_problem(tmp / "q.h5", 3)
    with h5py.File(tmp / "q.h5", "a") as f:
        f["measurements/value"][9] = np.inf
    path = run(tmp / "q.h5", code=1)
    script, said = script_of(tmp, path, "--failed")
    assert "is d1 " in said and "bad_data" in script and "$curve_0_0" not in script


def test_pictures(tmp):
    if not shutil.which("gnuplot"):
        h.skip("gnuplot is not installed")
    rows = [(i, t, 0, 2 * np.exp(-0.3 * t), 0.1) for i in range(len(NASTY)) for t in (1, 2, 3)]
    h.write_problem(tmp / "p.h5", h.model("decay"), NASTY, rows)
    path = run(tmp / "p.h5")
    for i, name in enumerate(NASTY):
        h.stiffit("plot", path, "--trust", "--id", name, "-o", f"p{i}.svg", cwd=tmp)
        picture = "".join(xml.parse(tmp / f"p{i}.svg").getroot().itertext())
        assert name.replace("\n", "?") + ": converged" in " ".join(picture.split()), (name, picture)
        assert not (tmp / "HIT").exists()
    for end, head in (("png", b"\x89PNG\r\n"), ("pdf", b"%PDF-")):
        h.stiffit("plot", path, "--trust", "-o", tmp / f"p.{end}")
        assert (tmp / f"p.{end}").read_bytes().startswith(head)
    h.stiffit("plot", path, "--trust", "-o", tmp / "p.png", code=4)  # it is there
    done = h.stiffit("plot", path, "--trust", "--id", NASTY[4], env=h.environment(LC_ALL="C"))
    chart = done.stdout
    assert not done.stderr  # gnuplot in the C locale would warn of its own degree sign
    assert "converged" in chart and chart.count("o") >= 3 and 22 <= len(chart.splitlines()) <= 25 and "\x1b" not in chart
    assert "\x1b" in h.stiffit("plot", path, "--trust", "--id", NASTY[4], "--color", "always").stdout


def n_page(pdf):
    """The pages of a PDF, whose objects may be compressed."""
    text = pdf
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.S):
        try:
            text += zlib.decompressobj().decompress(stream)
        except zlib.error:
            continue
    return len(re.findall(rb"/Type\s*/Page\b", text))


def test_a_page_for_each_dataset(tmp):
    h.decay_problem(tmp / "p.h5", 12, known_sigma=True, noise=0.08)
    path = run(tmp / "p.h5")
    fits = h.read_fits(path)
    large = [f"d{i}" for i in np.flatnonzero(fits["parameters"][:, 0] > 0.4)]
    assert 0 < len(large) < 12
    for words, wanted in ((("--all",), list(fits["id"])), (("--all", "--where", "k > 0.4"), large),
                          (("--id", "d7,d2,d11"), ["d2", "d7", "d11"])):
        pages = script_of(tmp, path, *words)[0].split("set multiplot title ")
        assert [re.match(r'"(.*?):', page)[1] for page in pages[1:]] == wanted
        for before, name in zip(pages, wanted):  # the blocks of numbers precede the title
            k, a = fits["parameters"][list(fits["id"]).index(name)]
            curve = block(before.rsplit("\nreset\n")[-1], "curve_0_0")
            assert np.allclose(curve[:, 1], a * np.exp(-k * curve[:, 0]), rtol=1e-5)
        if shutil.which("gnuplot"):
            h.stiffit("plot", path, "--trust", "--overwrite", *words, "-o", tmp / "fits.pdf")
            pdf = (tmp / "fits.pdf").read_bytes()
            assert n_page(pdf) == len(wanted) and pdf.count(b"%%EOF") == 1
            chart = h.stiffit("plot", path, "--trust", *words).stdout
            assert re.findall(r"^[\f ]*(d\d+): converged", chart, re.M) == wanted
    assert "has no dataset 'd99'" in h.stiffit("plot", path, "--trust", "--id", "d1,d99", code=2).stderr
    assert ".pdf or .txt" in h.stiffit("plot", path, "--trust", "--all", "-o", tmp / "x.svg", code=2).stderr
    assert "exclude each other" in h.stiffit("plot", path, "--trust", "--all", "--id", "d1", code=2).stderr
    assert "no dataset is selected" in h.stiffit("plot", path, "--trust", "--all", "--failed", code=2).stderr
    assert not (tmp / "x.svg").exists()


def test_mistakes_are_named(tmp):
    h.decay_problem(tmp / "p.h5", 3)
    path = run(tmp / "p.h5")
    for words, code, said in ((("--id", "d9"), 2, "has no dataset 'd9'"), (("-o", "x.jpg"), 2, "ends neither in"),
                              (("--where", "k > 99"), 2, "no dataset is selected"),
                              (("--id", "d1", "--failed"), 2, "--id excludes"),
                              (("--observable", "z"), 2, "no observable 'z'")):
        assert said in h.stiffit("plot", path, "--trust", *words, code=code).stderr, words
    said = h.stiffit("plot", path, "--trust", code=4, env=h.environment(PATH=str(tmp))).stderr
    assert "gnuplot" in said and "gnuplot-nox" in said
    bad = tmp / "bin2"
    bad.mkdir()
    (bad / "gnuplot").write_text("#!/bin/sh\necho no such terminal >&2\nexit 1\n")
    (bad / "gnuplot").chmod(0o755)
    h.stiffit("plot", path, "--trust", "-o", tmp / "x.png", code=4, env=h.environment(PATH=f"{bad}:{os.environ['PATH']}"))
    assert not (tmp / "x.png").exists()


if __name__ == "__main__":
    h.main()
