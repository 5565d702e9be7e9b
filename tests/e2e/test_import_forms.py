"""Forms of tables that `import` reads: wide, with semicolons and decimal commas, with a row of units, with missing cells. Each
must give the same problem as the long form that it stands for.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import io
import re

import h5py
import numpy as np

import helpers as h

MODEL = """model two
parameter k = 0.5 in [1e-3, 1e3]
parameter A = 2
y(0) = A
y' = -k*y
z(0) = 0
z' = k*y
observe y
observe gone = z
"""
ROWS = [("a", 1, 1.25, 0.5), ("a", 2, None, 0.75), ("a", 3.5, 0.5, None), ("a", 4, None, None), ("b", 1, 2.5, 1.5)]


def imported(tmp, text, *args, name="t.csv", code=0):
    """The measurements of the problem as a list; or what was said, if it fails."""
    (tmp / name).write_text(text)
    (tmp / "two.ode").write_text(MODEL)
    done = h.stiffit("import", tmp / name, "--model", tmp / "two.ode", "-o", tmp / "t.h5", "--overwrite", *args, code=code)
    if code:
        return done.stderr
    with h5py.File(tmp / "t.h5") as f:
        ids, names = f["datasets/id"].asstr()[()], f["measurements/observable_names"].asstr()[()]
        columns = [f[f"measurements/{name}"][()] for name in ("dataset", "observable", "time", "value")]
        more = [list(f["measurements"][name][()]) if name in f["measurements"] else None
                for name in ("sigma", "censored", "limit")]
    return [(ids[d], names[o], t, v) for d, o, t, v in zip(*columns)], *more


def wide(rows, delimiter=",", point=".", empty=""):
    number = lambda x: empty if x is None else str(x).replace(".", point)  # noqa: E731
    return delimiter.join(("dataset", "time", "y", "gone")) + "\n" + "".join(
        delimiter.join((d, number(t), number(y), number(g))) + "\n" for d, t, y, g in rows)


def test_wide_is_long(tmp):
    expected = [(d, name, t, v) for d, t, y, g in ROWS for name, v in (("y", y), ("gone", g)) if v is not None]
    for empty in ("", ".", "NA", "NaN", "n/a"):
        assert imported(tmp, wide(ROWS, empty=empty))[0] == expected, empty
    for delimiter in (";", "\t"):
        for point in (".", ","):
            assert imported(tmp, wide(ROWS, delimiter, point))[0] == expected, (delimiter, point)
    long = "dataset,time,observable,value\n" + "".join(f"{d},{t},{name},{v}\n" for d, name, t, v in expected)
    assert imported(tmp, long)[0] == expected


def test_own_sigmas_and_limits(tmp):
    text = ("dataset,time,y,sigma_y,censored_y,gone,sigma_gone,limit_y\n"
            "a,1,1.5,0.1,0,0.5,,1.1\na,2,0.2,0.1,1,0.7,0.3,0.05\n")
    rows, sigma, censored, limit = imported(tmp, text)
    assert [row[1:] for row in rows] == [("y", 1, 1.5), ("gone", 1, 0.5), ("y", 2, 0.2), ("gone", 2, 0.7)]
    assert np.array_equal(sigma, [0.1, np.nan, 0.1, 0.3], equal_nan=True) and censored == [0, 0, 1, 0]
    assert np.array_equal(limit, [np.nan, np.nan, 0.05, np.nan], equal_nan=True)
    rows, sigma, *_ = imported(tmp, "dataset,time,y,gone,sigma\na,1,1.5,0.5,0.25\n")  # one for both
    assert sigma == [0.25, 0.25]


def test_options_that_contradict(tmp):
    """Two values of one name are an error, whatever the option; the same one twice is none."""
    (tmp / "w.csv").write_text("time,y\n1,0.5\n")
    (tmp / "m.ode").write_text(MODEL)
    for option, one, same, other in (("start", "k=1", "k=1.0", "k=2"), ("lower", "k=.1", "k=0.1", "k=1"),
                                     ("scale", "k=log", "k=log", "k=lin"), ("fix", "k=1", "k", "k=2"),
                                     ("error", "y=normal", "y=normal", "y=huber")):
        words = ("import", tmp / "w.csv", "-m", tmp / "m.ode", "-o", tmp / "o.h5", "--overwrite", f"--{option}", one,
                 f"--{option}")
        h.stiffit(*words, same)
        assert f"--{option}: '{one}' and '{other}' contradict" in h.stiffit(*words, other, code=2).stderr, option


def test_an_observable_may_be_absent(tmp):
    assert imported(tmp, "time,gone\n1,0.5\n2,0.7\n")[0] == [("data", "gone", 1, 0.5), ("data", "gone", 2, 0.7)]
    said = h.stiffit("import", tmp / "t.csv", "--model", tmp / "two.ode", "-o", tmp / "t.h5", "--overwrite").stderr
    assert "not used" not in said
    assert "column 'other' is not used" in h.stiffit(
        "import", write(tmp, "time,gone,other\n1,0.5,3\n"), "--model", tmp / "two.ode", "-o", tmp / "u.h5").stderr


def write(tmp, text):
    (tmp / "u.csv").write_text(text)
    return tmp / "u.csv"


def test_units_row(tmp):
    text = wide(ROWS).replace("gone\n", "gone\n,h,mg/l,mg\n")
    assert imported(tmp, text, "--units-row") == imported(tmp, wide(ROWS))
    said = imported(tmp, text, code=3)
    assert "t.csv:2:" in said
    bad = text.replace("2.5", "2.5x")
    assert "t.csv:7: column 'y': '2.5x' is not a number" in imported(tmp, bad, "--units-row", code=3)


def test_what_programs_write_around_a_table(tmp):
    """Empty rows of a spreadsheet, the index of pandas, the row names of R, comments, units in the head: the same problem."""
    expected, text = imported(tmp, wide(ROWS)), wide(ROWS)
    lines = text.splitlines()
    indexed = [f"{i},{line}" for i, line in enumerate(lines[1:])]
    for form in (text + ",,,\n,,,\n", text.replace("\n", ",,\n"), "\n".join(["," + lines[0], *indexed]),
                 "\n".join(['"",' + lines[0], *indexed]), "# plate 7\n#\n" + text + "# end\n",
                 text.replace("time", "time [h]").replace(",y,", ",y (nM),")):
        assert imported(tmp, form) == expected, form
    said = imported(tmp, "\n".join(["," + lines[0].replace("dataset,", ""), *lines[1:]]), code=3)
    assert "the first column has no name and there is no column 'dataset'" in said, said
    assert "row.names = FALSE" in imported(tmp, "\n".join([lines[0], *indexed]), code=3)
    (tmp / "t.csv").write_text(text + "#c,1,2,\n")
    done = h.stiffit("import", tmp / "t.csv", "--model", tmp / "two.ode", "-o", tmp / "u.h5")
    assert "1 row that begins with # read as data, the first is line 7" in done.stderr, done.stderr


def test_a_steady_state_is_no_missing_time(tmp):
    done = imported(tmp, "dataset,time,y\na,1,2\na,inf,0\n")
    assert done[0][1][2] == np.inf
    assert "note" not in h.stiffit("import", tmp / "t.csv", "--model", tmp / "two.ode", "-o", tmp / "u.h5").stderr


def test_decimal_marks_do_not_mix(tmp):
    assert "decimal points and with decimal commas" in imported(tmp, "dataset;time;y\na;1;1,5\na;2;1.234\n", code=3)
    assert "decimals are written with a point" in imported(tmp, 'dataset,time,y\na,1,"1,5"\n', code=3)
    assert "is not a number" in imported(tmp, "dataset;time;y\na;1;1.234,5\n", code=3)
    assert "is not a number" in imported(tmp, "dataset;time;y\na;1;1,234,5\n", code=3)


def test_tables_with_decimal_commas_are_the_same(tmp):
    """Of every command that writes CSV: the cells differ by the mark alone, and `import` reads the same bits."""
    imported(tmp, wide(ROWS))
    h.stiffit("run", tmp / "t.h5", "--starts", "3", "--keep-starts", code=None)
    result, model = h.result_path(tmp / "t.h5"), ("--model", tmp / "two.ode", "--times", "0.1:2:0.3")
    n_number = 0
    for words in ([("export", result, "--what", what) for what in ("fits", "residuals", "predictions", "covariance", "starts")]
                  + [("compare", result, result, "-o", "-"), ("simulate", *model), ("simulate", result, *model[2:])]):
        point, comma = (list(csv.reader(io.StringIO(h.stiffit(*words, *more).stdout), delimiter=delimiter))
                        for more, delimiter in (((), ","), (("--decimal-comma",), ";")))
        assert len(point) > 1 and len(point[0]) > 1 and [len(row) for row in comma] == [len(row) for row in point], words
        for a, b in zip(sum(point, []), sum(comma, [])):
            is_number = re.fullmatch(r"-?\d+\.\d+(e[+-]?\d+)?", a)
            assert b == (a.replace(".", ",") if is_number else a), (words, a, b)
            n_number += bool(is_number)
    assert n_number > 100
    read = [imported(tmp, h.stiffit("simulate", *model, *more).stdout)[0] for more in ((), ("--decimal-comma",))]
    assert read[0] == read[1] and len(read[0]) == 14 and len({row[3] for row in read[0]}) == 14
    truth = ("--datasets", "2", "--spread", "0.3", "-o", tmp / "s.h5", "--overwrite", "--truth")
    h.stiffit("simulate", *model, *truth, tmp / "point.csv")
    h.stiffit("simulate", *model, *truth, tmp / "comma.csv", "--decimal-comma")
    points = (tmp / "point.csv").read_text()
    assert (tmp / "comma.csv").read_text() == points.replace(",", ";").replace(".", ",") and "." in points
    assert "JSON's numbers have points" in h.stiffit("export", result, "--json", "--decimal-comma", code=2).stderr


def test_fixed_for_some_datasets(tmp):
    (tmp / "subjects.csv").write_text("dataset;fixed_k;start_A\na;0,25;3\nb;;\n")
    imported(tmp, wide(ROWS), "--datasets", tmp / "subjects.csv")
    with h5py.File(tmp / "t.h5") as f:
        assert f["parameters/fixed"][()].tolist() == [[1, 0], [0, 0]]
        assert f["parameters/start"][()].tolist() == [[0.25, 3], [0.5, 2]]
    h.stiffit("run", tmp / "t.h5")
    fits = h.read_fits(h.result_path(tmp / "t.h5"))
    assert fits["parameters"][0, 0] == 0.25 and fits["parameters"][1, 0] != 0.5
    assert [row[0] for row in fits["error_missing"]] != ["fixed", "fixed"] and fits["error_missing"][0][0] == "fixed"
    (tmp / "subjects.csv").write_text("dataset,fixed_q\na,1\nb,\n")
    assert "no parameter 'q'" in imported(tmp, wide(ROWS), "--datasets", tmp / "subjects.csv", code=3)



def test_datasets_in_columns(tmp):
    """What a plate reader writes, wells in columns: the same problem as in long form, block by block, from several programs."""
    wells, times = ("A1", "B12", "AF48"), (0.5, 1, 2)
    value = {("y", w, t): round(2.0**-t + i, 3) for i, w in enumerate(wells) for t in times}
    value |= {("gone", w, t): round(v + 5, 3) for (_, w, t), v in value.items()}
    value["y", "B12", 1] = value["gone", "A1", 2] = None
    long = "dataset,time,observable,value\n" + "".join(
        f"{w},{t},{o},{value[o, w, t]}\n" for w in wells for o in ("y", "gone") for t in times if value[o, w, t] is not None)
    expected = imported(tmp, long)[0]
    assert len(expected) == 16

    def plate(mark, delimiter=",", point=".", head="Time [min]", more="", filling=""):
        rows = [delimiter.join((head, "observable", *wells)) + more]
        for o in ("y", "gone"):
            for t in times:
                rows.append(delimiter.join((str(t).replace(".", point), o, *(
                    mark if value[o, w, t] is None else str(value[o, w, t]).replace(".", point) for w in wells))) + filling)
        return "\n".join(rows) + "\n"

    for text, words in ((plate(""), ()), (plate("OVRFLW"), ("--missing", "OVRFLW,ND")),
                        (plate("nd"), ("--missing", "OVRFLW,ND")),
                        (plate("n/d"), ("--missing", "OVRFLW", "--missing", "n/d")), (plate("", ";", ","), ()),
                        (plate("", "\t", ".", "time"), ()), ("# made by a reader\n" + plate(""), ()),
                        (plate("", more=",Temp. [C]", filling=",37"), ()), (plate("") + ",,,,\n", ())):
        assert imported(tmp, text, "--datasets-in-columns", *words)[0] == expected, text
    index = "".join(f",{line}\n" if i == 0 else f"{i - 1},{line}\n" for i, line in enumerate(plate("").splitlines()))
    assert imported(tmp, index, "--datasets-in-columns")[0] == expected  # pandas' index
    # Names that are not like wells are datasets.
    got = imported(tmp, "time,observable,first strain,second\n1,y,3,4\n", "--datasets-in-columns")[0]
    assert got == [("first strain", "y", 1, 3), ("second", "y", 1, 4)]
    for text, fault in ((plate("OVRFLW"), "'OVRFLW' is not a number"), ("time,A1\n1,2\n", "a column 'observable' is needed"),
                        ("t,A1\n1,2\n", "there are no columns 'time', 'observable'"),
                        ("time,observable\n1,y\n", "beside the time"),
                        ("time,observable,A1\n,y,3\n", "the time is missing")):
        assert fault in imported(tmp, text, "--datasets-in-columns", code=3), fault
    assert "leave out --nonmem" in imported(tmp, plate(""), "--datasets-in-columns", "--nonmem", code=2)


def test_all_bad_fields_are_told_at_once(tmp):
    text = "dataset,time,observable,value\na,1,y,2.5x\na,two,y,3\na,3,z,4\nb,4,y,5\nb,5,y,<6\n,6,y,7\n"
    said = imported(tmp, text, code=3)
    for line, what in ((2, "'2.5x' is not a number"), (3, "'two' is not a number"), (4, "no observable 'z'"),
                       (6, "write the limit alone"), (7, "the dataset's id is missing")):
        assert re.search(rf"t\.csv:{line}: .*{what}", said), (line, said)
    assert len(said.splitlines()) == 5, said
    many = "dataset,time,observable,value\n" + "".join(f"a,{i},y,bad{i}\n" for i in range(1000))
    said = imported(tmp, many, code=3)
    shown = said.count("is not a number")
    assert shown > 5 and f"and {1000 - shown} more" in said and "t.csv:2:" in said, said


def test_so_in_every_table(tmp):
    """Bad fields of one table are told together, whichever table it is."""
    (tmp / "one.ode").write_text("parameter k = 0.5 in [1e-3, 1e3]\ncovariate w\ny(0) = 2\ny' = -k*y + w\nobserve y\n")
    (tmp / "m.csv").write_text("dataset,time,value\na,1,2\nb,1,2\n")
    good = {"datasets": "dataset,w\na,1\nb,2\n"}
    bad = {"datasets": ("dataset,w,t0\na,1,x\nb,2 kg,0\n", ((2, "'x' is not"), (3, "'2 kg' is not"))),
           "doses": ("dataset,time,amount,target\na,1,2,y\na,zero,2,y\nb,1,,y\nb,1,1,z\n",
                     ((3, "'zero' is not"), (4, "the amount is missing"), (5, "no state 'z'"))),
           "substitutes": ("dataset,parameter,value\na,K,1\nb,k,1\nb,k,one\n", ((2, "no parameter 'K'"), (4, "'one' is not"))),
           "parameters": ("parameter,start,scale\nk,one,ln\nz,1,lin\n",
                          ((2, "'one' is not"), (2, "'ln' is not one of lin, log, log10"), (3, "no parameter 'z'")))}
    for name, (text, faults) in bad.items():
        for table, content in {**good, name: text}.items():
            (tmp / f"{table}.csv").write_text(content)
        options = [word for table in {**good, name: text} for word in (f"--{table}", tmp / f"{table}.csv")]
        said = h.stiffit("import", tmp / "m.csv", *options, "-m", tmp / "one.ode", "-o", tmp / "no.h5", code=3).stderr
        for line, what in faults:
            assert re.search(rf"{name}\.csv:{line}: .*{re.escape(what)}", said), (line, said)
        assert len(said.strip().splitlines()) == len(faults), said


def test_a_hundred_thousand_wells(tmp):
    """Wide, as a table of 1.2 MB a row; `make bench` would time it, here it must be right."""
    n, times = 100_000, range(1, 6)
    (tmp / "one.ode").write_text("parameter k = 0.5 in [1e-3, 1e3]\ny(0) = 2\ny' = -k*y\nobserve y\n")
    rng = np.random.default_rng(1)
    values = rng.normal(1, 0.1, (len(times), n)).round(6)
    with open(tmp / "w.csv", "w") as file:
        file.write("time," + ",".join(f"plate{i}" for i in range(n)) + "\n")
        for t, row in zip(times, values):
            file.write(f"{t}," + ",".join(map(repr, row.tolist())) + "\n")
    h.stiffit("import", tmp / "w.csv", "--datasets-in-columns", "-m", tmp / "one.ode", "-o", tmp / "w.h5")
    with h5py.File(tmp / "w.h5") as f:
        assert f["datasets/id"].shape == (n,) and f["datasets/id"].asstr()[-1] == f"plate{n - 1}"
        np.testing.assert_array_equal(f["measurements/value"][()], values.T.ravel())
        np.testing.assert_array_equal(f["measurements/dataset"][()], np.repeat(np.arange(n), len(times)))


if __name__ == "__main__":
    h.main()
