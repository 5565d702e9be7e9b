"""Which observable a measurement is of: rows, columns and blocks that say something else are never fitted as the model's only
observable, and nothing is taken for the first of several.

SPDX-License-Identifier: BSD-3-Clause
"""
import math

import h5py

import helpers as h

ONE = """parameter k = 0.5 in [1e-3, 1e2] scale log
parameter V = 3 in [1e-2, 1e3] scale log
body(0) = 0
body' = -k*body
observe cp = body/V
"""
TWO = ONE.replace("cp = body/V", "cp = body/V, pca = 2*body")
DOSE = {"DVID": "1,0,10,.,.", "CMT": "1,0,10,.,1"}


def imported(tmp, text, *options, model=ONE, code=0):
    """(observable, time, value) of the measurements, and what was said."""
    (tmp / "m.ode").write_text(model)
    (tmp / "t.csv").write_text(text)
    done = h.stiffit("import", "t.csv", "-m", "m.ode", "-o", "t.h5", "--overwrite", *options, cwd=tmp, code=code)
    if code:
        return done.stderr
    with h5py.File(tmp / "t.h5") as f:
        names = f["measurements/observable_names"].asstr()[()]
        m = [f["measurements"][name][()] for name in ("observable", "time", "value")]
        return [(names[o], t, v) for o, t, v in zip(*m)], done.stderr


def nonmem(tmp, column, rows, *options, **more):
    text = f"ID,TIME,AMT,DV,{column}\n" + "\n".join([DOSE[column], *rows]) + "\n"
    return imported(tmp, text, "--nonmem", *options, **more)


def test_a_nonmem_table_of_another_observable(tmp):
    """DVID and CMT of measurements: two kinds of them are refused, with the line of the other one."""
    cp = [f"1,{t},.,{5*math.exp(-0.3*t):.17g}," for t in (1, 2, 4, 8)]
    pca = [f"1,{t},.,{60 + t}," for t in (9, 10, 11)]
    for column, one, other in (("DVID", "1", "2"), ("DVID", "cp", "pca"), ("DVID", "CP", "7"), ("DVID", "", "2"),
                               ("CMT", "1", "2"), ("CMT", "2", "3"), ("CMT", "body", "2"), ("CMT", "cp", "pca")):
        rows = [row + one for row in cp] + [row + other for row in pca]
        said = nonmem(tmp, column, rows, code=3)
        assert f"t.csv:7: column '{column}': " in said and f"--where '{column} != {other}'" in said, (column, one, said)
        expected = [("cp", float(t), 5*math.exp(-0.3*t)) for t in (1, 2, 4, 8)]
        got, said = nonmem(tmp, column, rows, "--where", f"{column} != {other}")
        assert got == expected and "3 records left out by --where; the first is line 7" in said, said
        assert "1 dose" in said, said
    h.stiffit("run", "t.h5", "-q", cwd=tmp)
    with h5py.File(tmp / "t.result.h5") as f:  # exact data: the parameters that they were made with
        k, v = f["fits/parameters"][0]
    assert abs(k - 0.3) < 1e-5 and abs(v - 2) < 1e-5, (k, v)  # --rtol 1e-7
    said = imported(tmp, "ID,TIME,AMT,DV,YTYPE\n1,0,10,.,.\n1,1,.,3,1\n1,2,.,60,2\n", "--nonmem", code=3)  # Monolix's DVID
    assert "t.csv:4: column 'YTYPE'" in said, said
    reverse = nonmem(tmp, "DVID", ["1,1,.,60,2", "1,1,.,3,1"], code=3)
    assert "t.csv:3: column 'DVID': '2', but '1' in line 4" in reverse, reverse


def test_one_kind_in_a_nonmem_table(tmp):
    """All measurements say the same: that is the only observable, whatever its number; a word must be its name."""
    rows = ["1,1,.,3,", "1,2,.,2,"]
    for column, word in (("DVID", "1"), ("DVID", "Cp"), ("DVID", ""), ("DVID", "0"), ("DVID", "2"), ("CMT", "1"), ("CMT", "2"),
                         ("CMT", "."), ("CMT", "body"), ("CMT", "9")):
        got, said = nonmem(tmp, column, [row + word for row in rows])
        assert got == [("cp", 1, 3), ("cp", 2, 2)]
        assert (f"all measurements have DVID {word}, which is taken as 'cp'" in said) == (column == "DVID" and word in "02"
                                                                                        and word != ""), said
    assert nonmem(tmp, "DVID", ["1,1,.,3,1", "1,2,.,.,2"])[0][0] == ("cp", 1, 3)  # no value: nothing was measured
    assert "the model has no observable 'pca'" in nonmem(tmp, "DVID", [row + "pca" for row in rows], code=3)
    both = "ID,TIME,AMT,DV,CMT,DVID\n1,0,10,.,1,0\n1,1,.,3,2,1\n1,2,.,60,3,{}\n"
    assert "t.csv:4: column 'DVID'" in imported(tmp, both.format(2), "--nonmem", code=3)
    assert "t.csv:4: column 'CMT'" in imported(tmp, both.format(1), "--nonmem", code=3)
    said = imported(tmp, both.format(2), "--nonmem", "--observables", "2=cp", code=3)
    assert "column 'DVID' is not used" in said and "t.csv:4: column 'CMT': is not one of the numbers" in said, said
    got, said = imported(tmp, both.format(1), "--nonmem", "--observables", "2=cp,3=cp")
    assert got == [("cp", 1, 3), ("cp", 2, 60)]


def test_several_observables_in_a_nonmem_table(tmp):
    """None is the first by default."""
    for word in (".", "", "NA"):
        said = nonmem(tmp, "DVID", ["1,1,.,3,1", f"1,2,.,60,{word}"], model=TWO, code=3)
        assert "t.csv:4: column 'DVID': is missing" in said, said
    for word in ("3", "0", "1.5", "-1", "pcb"):
        assert "t.csv:4: column 'DVID'" in nonmem(tmp, "DVID", ["1,1,.,3,1", f"1,2,.,60,{word}"], model=TWO, code=3)
    for word in ("2", "pca", "PCA", "2.0"):
        assert nonmem(tmp, "DVID", ["1,1,.,3,1", f"1,2,.,60,{word}"], model=TWO)[0] == [("cp", 1, 3), ("pca", 2, 60)]
    got, _ = nonmem(tmp, "DVID", ["1,1,.,3,7", "1,2,.,60,5"], "--observables", "7=cp,5=pca", model=TWO)  # there is no CMT
    assert got == [("cp", 1, 3), ("pca", 2, 60)]
    assert "column 'CMT'" in nonmem(tmp, "CMT", ["1,1,.,3,2", "1,2,.,60,."], "--observables", "2=cp,1=pca", model=TWO, code=3)


def test_long_and_wide_tables(tmp):
    """The same words in a column 'observable'; the wide form has none."""
    text = "dataset,time,observable,value\na,1,cp,3\na,2,{},60\n"
    for word in ("", "NA", "."):
        assert imported(tmp, text.format(word))[0] == [("cp", 1, 3), ("cp", 2, 60)]
        assert "t.csv:3: column 'observable': is missing" in imported(tmp, text.format(word), model=TWO, code=3)
    assert imported(tmp, text.format("CP"))[0] == [("cp", 1, 3), ("cp", 2, 60)]
    assert "t.csv:3: column 'observable': the model has no observable 'pca'" in imported(tmp, text.format("pca"), code=3)
    assert imported(tmp, text.format("pca"), "--where", "observable != pca")[0] == [("cp", 1, 3)]
    assert "there is a column 'observable', but no column 'value'" in imported(tmp, text.replace("value", "cp").format("pca"),
                                                                             code=3)
    got, said = imported(tmp, "dataset,time,cp,pca\na,1,3,60\n")
    assert got == [("cp", 1, 3)] and "column 'pca' is not used" in said
    assert "t.csv:3: column 'observable': the model has no observable 'pca'" in imported(
        tmp, "time,observable,A1\n1,cp,3\n2,pca,4\n", "--datasets-in-columns", code=3)


def test_blocks(tmp):
    """A block below another title than an observable's, beside blocks of one, is not the observable's. A plate may have several
    blocks below one observable, and without observables' names the lines are plates, which is said."""
    def blocks(*titles, **more):
        return imported(tmp, "".join(f"{title}\n" + f"time,A1,B2\n0,{i},5\n\n" for i, title in enumerate(titles)),
                        "--datasets-in-columns", **more)

    for titles, line in ((("cp", "GFP"), 5), (("GFP", "cp"), 1), (("P1\ncp", "GFP"), 6), (("cp\nP1", "P2", "GFP\nP1"), 11)):
        said = blocks(*titles, code=3)
        assert f"t.csv:{line}: " in said and "no observable of the model" in said, said
        if len(titles) == 2:
            assert "no observable of the model" in blocks(*titles, model=TWO, code=3)
    for titles, n in ((("cp\nP1", "P2", "cp\nP3"), 3), (("cp",), 1), (("P1\nCP", "P2\ncp"), 2)):
        got, said = blocks(*titles)
        assert len(got) == 2*n and {row[0] for row in got} == {"cp"} and "note" not in said, said
    said = blocks("cp:600", "GFP:485", code=3)  # with the wavelength, as readers add it
    assert "t.csv:5: 'GFP:485' is no observable" in said, said
    assert "t.csv:5: '700' is no observable" in blocks("cp", "700,,", code=3)
    assert [row[0] for row in blocks("CP:600", "pca:485", model=TWO)[0]] == ["cp", "pca"]*2
    grid = "cp\n,1,2\nA,x,y\n\nGFP\ntime,A1,B2\n0,1,2\n"  # the observable's title is above something else
    assert "t.csv:5: 'GFP' is no observable" in imported(tmp, grid, "--datasets-in-columns", code=3)
    twice = "cp\ntime,A1,B2\n0,1,2\n\ntime,A1,B2\n1,3,4\n"
    assert len(imported(tmp, twice, "--datasets-in-columns")[0]) == 4  # nothing is said: the only one
    said = imported(tmp, twice, "--datasets-in-columns", model=TWO, code=3)
    assert "t.csv:5: the model has 2 observables: above each" in said, said
    got, said = blocks("P1", "P2")
    assert len(got) == 4 and "no line above a block is 'cp'" in said, said
    assert [row[0] for row in blocks("P1\ncp", "pca", model=TWO)[0]] == ["cp", "pca"]*2  # of P1_A1, then P1_B2


if __name__ == "__main__":
    h.main()
