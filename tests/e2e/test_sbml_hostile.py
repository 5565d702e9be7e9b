"""SBML that is broken, made to do harm, or large: contained, with a message; and what a large model costs.

SPDX-License-Identifier: BSD-3-Clause
"""
import pathlib
import random
import re
import resource

import helpers as h
import stand_ins
from sbml_text import assign, compartment, event, function, initial, math, parameter, rate, reaction, sbml, species
from test_sbml import needs_sbml

SUITE = pathlib.Path(__file__).resolve().parents[1] / "data" / "petab-suite"
MODEL = sbml(compartment("c", 2), species("S", conc=3), species("P"), parameter("k", 0.8), parameter("x", 1, False),
             initial("P", "3*k"), function("f", "a b", "a*b"), reaction("v", "S -> 2 P", "f(k, S)*c*q", {"q": 2}),
             assign("x", "S + P"), event("e", "time > 1", {"S": "S + 1"}, delay="0.5"))


def refuse(path, *words, code=3):
    done = h.stiffit("import", path, "-o", path.with_suffix(".ode"), "--overwrite", code=code, timeout=200)
    assert not path.with_suffix(".ode").exists(), "a text in spite of the fault"
    for word in words:
        assert word in done.stderr, f"{word!r} is not in {done.stderr}"
    assert len(done.stderr) < 3000, f"{len(done.stderr)} bytes: {done.stderr[:1000]}"
    return done.stderr


def write(tmp, text, name="m.xml"):
    path = tmp / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_broken_files(tmp):
    needs_sbml()
    refuse(tmp / "nothing.xml", "nothing.xml: No such file", code=4)
    (tmp / "folder.xml").mkdir()
    refuse(tmp / "folder.xml", "folder.xml", code=(3, 4))
    refuse(write(tmp, ""), "m.xml", "libSBML")
    refuse(write(tmp, "dataset,time,value\n1,2,3\n"), "m.xml:1", "libSBML")
    refuse(write(tmp, "<html><body/></html>"), "m.xml:1", "libSBML")
    refuse(write(tmp, bytes(range(256)) * 100), "m.xml", "libSBML")
    refuse(write(tmp, MODEL[:len(MODEL) // 2]), "m.xml", "libSBML")
    refuse(write(tmp, MODEL.replace("</sbml>", "")), "m.xml", "libSBML")
    refuse(write(tmp, MODEL.replace('id="S"', 'id="k"')), "m.xml", "libSBML", "'k'")
    refuse(write(tmp, MODEL.replace('id="S"', 'id="1 S"')), "m.xml", "libSBML")
    refuse(write(tmp, MODEL.replace('compartment="c"', 'compartment="d"')), "m.xml:11: species `S`: `d` is no compartment")
    refuse(write(tmp, MODEL.replace("<cn> 0.5 </cn>", "<cn> half </cn>")), "m.xml", "libSBML")
    refuse(write(tmp, MODEL.replace('level="3"', 'level="9"')), "m.xml", "libSBML")
    refuse(write(tmp, MODEL[:MODEL.index("<model")] + "</sbml>"), "it has no model")
    h.stiffit("import", write(tmp, MODEL), code=0)
    before = (tmp / "m.ode").read_text()
    h.stiffit("import", tmp / "m.xml", code=4)  # is there already
    assert (tmp / "m.ode").read_text() == before
    h.stiffit("import", tmp / "m.xml", "-o", tmp / "m.xml", "--overwrite", code=2)
    assert (tmp / "m.xml").read_text() == MODEL


def test_other_files_are_not_read(tmp):
    needs_sbml()
    (tmp / "secret").write_text("secret_word")
    text = MODEL.replace("<sbml", f'<!DOCTYPE sbml [<!ENTITY s SYSTEM "file://{tmp / "secret"}">]><sbml', 1)
    path = write(tmp, text.replace("<cn> 0.5 </cn>", "<ci> &s; </ci>"))
    done = h.stiffit("import", path, "-o", "-", code=None)
    assert "secret_word" not in done.stdout + done.stderr, done.stdout + done.stderr


@h.both
def test_a_reader_that_goes_wrong(tmp):
    """It is contained: a message, no text, and an end."""
    needs_sbml()
    path = write(tmp, MODEL)
    for how, words in h.portion((("dies", ["libSBML", "signal 11", "The reader failed"]),
                                 ("waits", ["did nothing", "libSBML"]), ("loops", ["took too long", "signal 24"]),
                                 ("ends", ["libSBML, which reads it, ended the process"]),
                                 ("takes all memory", ["signal 6"])), 2):
        done = h.stiffit("import", path, "-o", tmp / "m.ode", code=3, timeout=60,
                         env=stand_ins.sbml(tmp, how, STIFFIT_HANG_SECONDS=1))
        assert "m.xml" in done.stderr and all(word in done.stderr for word in words), (how, done.stderr)
        assert not (tmp / "m.ode").exists()


def test_deep_and_wide_formulas(tmp):
    needs_sbml()
    deep = "<apply><sin/>" * 1100 + "<cn> 1 </cn>" + "</apply>" * 1100
    refuse(write(tmp, MODEL.replace("<cn> 0.5 </cn>", deep)), "m.xml", "1000 deep")
    wide = MODEL.replace("<cn> 0.5 </cn>", "<apply><plus/>" + "<cn> 1 </cn>" * 20000 + "</apply>")
    h.stiffit("import", write(tmp, wide, "wide.xml"), code=0)
    # A chain of rules, each of the one before it.
    n = 2000
    chain = [parameter(f"p{i}", 1, False) for i in range(n)] + [assign(f"p{i}", f"p{i - 1} + 1") for i in range(1, n)]
    h.stiffit("import", write(tmp, sbml(*chain, rate("p0", f"p{n - 1}")), "chain.xml"), code=(0, 3))


@h.more
def test_functions_that_double(tmp):
    """Functions of functions double with each: the budget of model text ends it."""
    needs_sbml()
    functions = [function("f0", "x", "x")] + [function(f"f{i}", "x", f"f{i - 1}(x) + f{i - 1}(x + {i})") for i in range(1, 60)]
    refuse(write(tmp, sbml(*functions, parameter("x", 1, False), rate("x", "f59(x)"))), "m.xml", "too large")


def test_circles(tmp):
    needs_sbml()
    two = (parameter("x", None, False), parameter("y", None, False))
    refuse(write(tmp, sbml(*two, assign("x", "y"), assign("y", "x"))), "m.xml")
    refuse(write(tmp, sbml(*two, assign("x", "x + 1"), assign("y", "1"))), "m.xml")


@h.both
def test_mutants(tmp):
    """Any other words for some values, names and numbers give a text or a message."""
    needs_sbml()
    rng = random.Random(16)
    words = ["", "0", "-1", "1e999", "NaN", "k", "S", "x", "c", "v", "nothing", "true", "3 4", "time"]
    places = [found.span(found.lastindex) for found in re.finditer(r'="([^":]*)"|<c[in]> ([^<]*) </c[in]>', MODEL)]
    counts = {}
    for _ in range(2000 if h.SLOW else 40 if h.QUICK else 120):
        text = MODEL
        for begin, end in sorted(rng.sample(places, rng.choice((1, 1, 2, 3))), reverse=True):
            text = text[:begin] + rng.choice(words) + text[end:]
        done = h.stiffit("import", write(tmp, text), "-o", "-", "-q", code=(0, 3))
        counts[done.returncode] = counts.get(done.returncode, 0) + 1
        assert "died of signal" not in done.stderr, done.stderr
        assert (done.returncode == 0) == done.stdout.startswith("# From m.xml"), done.stdout
    assert len(counts) == 2, counts


@h.both
def test_the_reference_problems(tmp):
    """Every SBML file of the PEtab suite is translated and builds."""
    needs_sbml()
    paths = sorted(SUITE.glob("*/sbml/*/*.xml"))
    if not paths:
        h.skip(f"no {SUITE}")
    assert len(paths) >= 50, len(paths)
    for path in h.portion({path.read_bytes(): path for path in paths}.values(), 5):
        h.stiffit("import", path, "-o", tmp / "m.ode", "--overwrite")
        h.stiffit("model", "build", "-q", tmp / "m.ode", "-o", tmp / "m.so")


def large(n_species, n_reaction):
    """Reactions of random species: mass action, saturated, with a constant of their own."""
    rng = random.Random(1)
    made = [compartment("c", 1)] + [species(f"S{i}", conc=1 + i % 7) for i in range(n_species)]
    for j in range(n_reaction):
        a, b, c = rng.sample(range(n_species), 3)
        made.append(parameter(f"k{j}", (1 + j % 10)/10))
        made.append([reaction(f"v{j}", f"S{a} + S{b} -> S{c}", f"c*k{j}*S{a}*S{b}"),
                     reaction(f"v{j}", f"S{a} -> S{c}", f"c*k{j}*S{a}/(S{b} + 1)", more=f"S{b}"),
                     reaction(f"v{j}", f"S{a} -> S{c}", f"c*S{a}*k*k{j}", {"k": 0.3})][j % 3])
    return sbml(*made)


def processor_seconds(*words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    h.stiffit(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@h.more
def test_a_large_model(tmp):
    """500 species, 800 reactions: text in 2 s of a processor, a plugin in 10 s (measured: 0.8 s and 4 s)."""
    needs_sbml()
    path = write(tmp, large(500, 800), "large.xml")
    text = processor_seconds("import", path, "--estimate", "k0", "--estimate", "k1")
    plugin = processor_seconds("model", "build", "-q", "--no-cache", tmp / "large.ode", "-o", tmp / "large.so")
    assert text < 2*h.SANITIZER_SPEED and plugin < 10*h.SANITIZER_SPEED, (text, plugin)
    done = h.stiffit("import", path, "--overwrite")
    assert "1066 parameters" in done.stderr or "1067 parameters" in done.stderr, done.stderr


if __name__ == "__main__":
    h.main()
