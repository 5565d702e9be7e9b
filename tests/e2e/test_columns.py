"""Columns of the table of datasets that the model does not use go from `import` to the result, and from there to tables,
filters, groups and the report; plates as their readers write them. Data are exact, so that each rate is known.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import io
import json
import os
import re
import subprocess

import h5py
import numpy as np

import helpers as h
import test_report

MODEL = """model decay
parameter k = 0.5 in [1e-3, 100] scale log
parameter A = 2 in [1e-3, 100] scale log
covariate weight
x(0) = A
x' = -k*x
observe x
"""
TIMES = np.arange(0, 5, 0.5)
WELLS = [f"{row}{column}" for row in "ABCD" for column in range(1, 7)]
RATE = {well: 0.25 + 0.25 * (i // 12) for i, well in enumerate(WELLS)}  # of the plate
PLATE = {well: f"P {1 + i // 12}" for i, well in enumerate(WELLS)}


def data(tmp, rate=None):
    rate = rate or RATE
    lines = ["Time [min]," + ",".join(rate)]
    lines += [f"{t}," + ",".join(repr(float(np.exp(-k * t))) for k in rate.values()) for t in TIMES]
    (tmp / "m.csv").write_text("\n".join(lines) + "\n")
    (tmp / "decay.ode").write_text(MODEL)


def subjects(tmp):
    lines = ["dataset,plate,weight,compound,lot,status,dose/mg"]
    for i, well in enumerate(WELLS):
        compound = '"a, b"' if i % 2 else ""
        lines.append(f"{well},{PLATE[well]},{60 + i},{compound},{i:03d},{'ND' if i == 5 else i},{i / 2}")
    (tmp / "d.csv").write_text("\n".join(lines) + "\n")


def problem(tmp):
    data(tmp)
    subjects(tmp)
    said = h.stiffit("import", tmp / "m.csv", "--datasets-in-columns", "-d", tmp / "d.csv", "-m", tmp / "decay.ode",
                     "--missing", "ND", "-o", tmp / "p.h5", "--overwrite").stderr
    assert "warning" not in said and "not used" not in said, said  # of the covariate, either
    return tmp / "p.h5"


def fitted(path, *words, out=None):
    out = out or path.with_suffix(".result.h5")
    h.stiffit("run", path, "-q", "--overwrite", "-o", out, *words)
    return out


def table(path, *words):
    return list(csv.DictReader(io.StringIO(h.stiffit("export", path, *words).stdout)))


def check(path, wells=WELLS):
    rows = table(path)
    assert [row["id"] for row in rows] == list(wells)
    for row in rows:
        i = WELLS.index(row["id"].split("/")[0])
        well = WELLS[i]
        assert row["plate"] == PLATE[well] and row["compound"] == ("a, b" if i % 2 else "") and row["lot"] == f"{i:03d}"
        assert float(row["weight"]) == 60 + i and float(row["dose_mg"]) == i / 2
        assert row["dataset_status"] == ("NaN" if i == 5 else str(i)) and row["status"] == "converged", row


def test_columns_travel(tmp):
    path = problem(tmp)
    with h5py.File(path) as f:
        columns = f["datasets/columns"]
        assert sorted(columns) == ["compound", "dose_mg", "lot", "plate", "status"]  # the model's covariate is not among them
        assert list(columns["plate"].asstr()[()]) == list(PLATE.values())
        assert np.array_equal(columns["dose_mg"][()], np.arange(24) / 2) and columns["lot"].asstr()[7] == "007"
        status = columns["status"][()]
        assert np.isnan(status[5]) and np.array_equal(np.delete(status, 5), np.delete(np.arange(24.0), 5))
    result = fitted(path)
    check(result)
    fits = h.read_fits(result)
    assert np.allclose(fits["parameters"][:, 0], list(RATE.values()), rtol=1e-5)
    with h5py.File(result) as f:
        assert sorted(f["columns"]) == ["compound", "dose_mg", "lot", "plate", "status", "weight"]
    (tmp / "d.csv").write_text("dataset,weight,a_b,a/b\n")
    assert "have one name" in h.stiffit("import", tmp / "m.csv", "--datasets-in-columns", "-d", tmp / "d.csv", "-m",
                                        tmp / "decay.ode", "-o", tmp / "x.h5", code=3).stderr
    # Into files that are made of it: shards, the problem itself, a retry, replicates.
    shards = [fitted(path, "--shard", f"{k}/3", out=tmp / f"s{k}.h5") for k in (1, 2, 3)]
    h.stiffit("merge", *shards, "-o", tmp / "merged.h5")
    check(tmp / "merged.h5")
    fitted(path, "--only", "A3,D6", out=tmp / "only.h5")
    check(tmp / "only.h5", ["A3", "D6"])
    h.stiffit("simulate", "--bootstrap", "2", result, "--id", "B2", "-o", tmp / "b.h5")
    check(fitted(tmp / "b.h5"), ["B2", "B2/bootstrap-1", "B2/bootstrap-2"])
    h.stiffit("run", path, "-q", "--in-place")
    check(path)


def test_rows_are_chosen_by_them(tmp):
    result = fitted(problem(tmp))
    wanted = {
        "plate == 'P 2'": WELLS[12:], 'plate != "P 2" and weight < 63': WELLS[:3], "weight >= 82.5": WELLS[23:],
        "compound == 'a, b' and k > 0.3": WELLS[13::2], "compound == ''": WELLS[::2], "lot == 007": ["B2"],
        "dataset_status == nan": ["A6"], "dataset_status != nan and dose_mg < 1": WELLS[:2]}
    for where, ids in wanted.items():
        for command in (("export",), ("export", "--json")):
            said = h.stiffit(*command, result, "--where", where, "--columns", "id").stdout
            got = [one["id"] for one in json.loads(said)] if "--json" in command else said.split()[1:]
            assert got == ids, (where, got)
    assert "did you mean 'plate'" in h.stiffit("export", result, "--where", "plat == 1", code=2).stderr
    assert "Did you mean 'plate'" in h.stiffit("export", result, "--columns", "plat", code=2).stderr
    assert "compared with == or !=" in h.stiffit("export", result, "--where", "plate < 1", code=2).stderr
    got = json.loads(h.stiffit("export", result, "--json", "--columns", "plate,weight,dataset_status", "--id", "A6").stdout)
    assert got == [{"plate": "P 1", "weight": 65, "dataset_status": None}]


def test_compare_has_them(tmp):
    """compare's table has the columns of the first result, of datasets that it lacks too, and --where chooses by them; a name
    with a blank stands in quotes."""
    data(tmp)
    subjects(tmp)
    (tmp / "d.csv").write_text((tmp / "d.csv").read_text().replace("status", "cell line"))
    (tmp / "less.ode").write_text(MODEL.replace("parameter A = 2 in [1e-3, 100] scale log\n", "").replace("= A", "= 1"))
    (tmp / "other.ode").write_text(MODEL)
    for name in ("less", "other"):
        h.stiffit("import", tmp / "m.csv", "--datasets-in-columns", "-d", tmp / "d.csv", "-m", tmp / f"{name}.ode",
                  "--missing", "ND", "-o", tmp / f"{name}.h5")
    some = fitted(tmp / "less.h5", "--only", ",".join(WELLS[:20]), out=tmp / "some.h5")
    both = some, fitted(tmp / "other.h5")
    h.stiffit("compare", *both, "-o", tmp / "c.csv")
    rows = list(csv.DictReader((tmp / "c.csv").open()))
    assert [row["id"] for row in rows] == WELLS and list(rows[0])[:4] == ["id", "cell line", "compound", "dose_mg"]
    for i, (well, row) in enumerate(zip(WELLS, rows)):
        assert row["plate"] == PLATE[well] and row["compound"] == ("a, b" if i % 2 else "") and row["lot"] == f"{i:03d}", row
        assert float(row["dose_mg"]) == i / 2 and row["status_2"] == "converged"
        assert row["status_1"] == ("converged" if i < 20 else "")
    for where, ids in {"plate == 'P 2'": WELLS[12:20], "'cell line' > 17": WELLS[18:20],
                       "\"cell line\" == nan and lot == 005": ["A6"], "k > 0.3": WELLS[12:20]}.items():
        said = h.stiffit("compare", *both, "--where", where, "-o", "-").stdout
        assert [line.split(",")[0] for line in said.splitlines()[1:]] == ids, (where, said)
        assert json.loads(h.stiffit("compare", *both, "--where", where, "--json").stdout)["datasets"] == len(ids)
    assert "did you mean 'plate'" in h.stiffit("compare", *both, "--where", "plat == 1", code=2).stderr
    said = h.stiffit("export", both[1], "--where", "'cell line' < 2", "--columns", "id").stdout
    assert said.split()[1:] == WELLS[:2], said


def test_whole_numbers_beyond_a_double_are_texts(tmp):
    """A bar code of 17 digits is kept to its last one; a file that has it as a number is refused."""
    data(tmp)
    subjects(tmp)
    code = 12345678901234567
    lines = (tmp / "d.csv").read_text().splitlines()
    more = ["code,size", *(f"{code + i},{2**53 - i}" for i in range(len(WELLS)))]
    (tmp / "d.csv").write_text("\n".join(f"{one},{two}" for one, two in zip(lines, more)) + "\n")
    h.stiffit("import", tmp / "m.csv", "--datasets-in-columns", "-d", tmp / "d.csv", "-m", tmp / "decay.ode",
              "-o", tmp / "p.h5")
    rows = table(fitted(tmp / "p.h5"))
    assert [row["code"] for row in rows] == [str(code + i) for i in range(len(WELLS))]
    assert [float(row["size"]) for row in rows] == [2**53 - i for i in range(len(WELLS))]
    with h5py.File(tmp / "p.h5", "a") as f:
        f["datasets/columns/number"] = code + np.arange(len(WELLS))
    said = h.stiffit("run", tmp / "p.h5", "--overwrite", code=3).stderr
    assert "/datasets/columns/number row 0: whole numbers beyond 2^53 would be rounded" in said, said


def test_groups_may_be_texts(tmp):
    """All wells of a plate have one rate: it is that of the data, whether the column has texts or numbers."""
    path = problem(tmp)
    with h5py.File(path, "a") as f:
        f["datasets/columns/number"] = np.arange(24) // 12
    text, number = (h.read_fits(fitted(path, "--share", f"k@{column}", out=tmp / f"{column}.h5"))["parameters"]
                    for column in ("plate", "number"))
    assert np.allclose(text[:, 0], list(RATE.values()), rtol=1e-5) and len(set(text[:, 0])) == 2
    assert np.array_equal(text, number)
    (tmp / "parameters.csv").write_text("parameter,level\nk,plate\n")
    h.stiffit("import", tmp / "m.csv", "--datasets-in-columns", "-d", tmp / "d.csv", "-m", tmp / "decay.ode", "-p",
              tmp / "parameters.csv", "-o", tmp / "level.h5")
    assert np.array_equal(h.read_fits(fitted(tmp / "level.h5"))["parameters"], text)
    said = h.stiffit("run", path, "--share", "k@compound", code=3).stderr
    assert "row 0 (dataset 'A1'): the group compound is empty; give it one" in said, said
    assert "did you mean 'plate'" in h.stiffit("run", path, "--share", "k@plat", code=3).stderr


def test_written_by_hand(tmp):
    """With h5py, as stiffit-file(5) says; fits stay what they are, and what cannot be a column is an error with its name."""
    path = problem(tmp)
    before = h.read_fits(fitted(path))["parameters"]
    with h5py.File(path, "a") as f:
        del f["datasets/columns"]
        f["datasets/columns/strain"] = [f"s{i % 3}é" for i in range(24)]
        f["datasets/columns/flag"] = np.arange(24) % 2 == 0
        f["datasets/columns/count"] = np.arange(24, dtype="u2")
    result = fitted(path)
    assert np.array_equal(h.read_fits(result)["parameters"], before)
    rows = table(result, "--columns", "strain,flag,count")
    assert [tuple(row.values()) for row in rows] == [(f"s{i % 3}é", str(1 - i % 2), str(i)) for i in range(24)]
    for name, value, fault in (("short", np.zeros(23), "/datasets/columns/short: has 23 x 1 values"),
                               ("wide", np.zeros((24, 2)), "/datasets/columns/wide: has 24 x 2 values"),
                               ("weight", np.zeros(24), "/datasets/columns/weight: is in /datasets/covariate_names"),
                               ("group/x", np.zeros(24), "/datasets/columns/group")):
        with h5py.File(path, "a") as f:
            f[f"datasets/columns/{name}"] = value
        assert fault in h.stiffit("run", path, code=3).stderr, name
        with h5py.File(path, "a") as f:
            del f[f"datasets/columns/{name.split('/')[0]}"]


def wells(path):
    with h5py.File(path) as f:
        ids = f["datasets/id"].asstr()[()]
        names = f["measurements/observable_names"].asstr()[()]
        rows = [(ids[d], names[o], t, v) for d, o, t, v in zip(*(f[f"measurements/{name}"][()] for name in
                                                                 ("dataset", "observable", "time", "value")))]
        columns = f["datasets/columns"] if "datasets/columns" in f else {}
        return rows, {name: list(column.asstr()[()] if column.dtype.kind in "OS" else column[()])
                      for name, column in columns.items()}, list(ids)


def imported(tmp, text, *words, layout=None, code=0):
    (tmp / "two.ode").write_text("parameter k = 1\nx(0) = 1\nx' = -k*x\nobserve OD600 = x, GFP = 2*x\n")
    (tmp / "one.ode").write_text("parameter k = 1\nx(0) = 1\nx' = -k*x\nobserve OD600 = x\n")
    (tmp / "r.csv").write_text(text)
    if layout:
        (tmp / "l.csv").write_text(layout)
    done = h.stiffit("import", tmp / "r.csv", "-o", tmp / "r.h5", "--overwrite", *words,
                     *(("-d", tmp / "l.csv") if layout else ()), code=code)
    return done.stderr if code else wells(tmp / "r.h5")


def test_covariates_of_any_name_reach_the_result(tmp):
    """What a file of HDF5 could not have as a name, more of them than columns, or a longer one: no finished fit is lost."""
    path = problem(tmp)
    with h5py.File(path, "a") as f:
        table_of = f["datasets/covariates"][:]
        names = ["mg/L", "mg_L", "/mg/L", ".", "é" * 150, "é" * 151, *(f"v{i}" for i in range(1000))]
        del f["datasets/covariates"], f["datasets/covariate_names"]
        f["datasets/covariates"] = np.column_stack([table_of, np.arange(24)[:, None] + 100 * np.arange(len(names))])
        f["datasets/covariate_names"] = ["weight", *names]
    result = fitted(path)
    row = table(result, "--id", "B1")[0]
    assert row["status"] == "converged" and float(row["k"]) > 0
    assert json.loads(h.stiffit("show", result, "--id", "B1", "--json").stdout)["status"] == "converged"
    assert "there is no column 'v9999'" in h.stiffit("export", result, "--columns", "v9999", code=2).stderr
    for i, name in enumerate(["mg_L_2", "mg_L", "_mg_L", "_", "é" * 88, "é" * 88 + "_2", *names[6:]]):
        assert float(row[name]) == 6 + 100 * i, (name, row[name])
    assert float(row["weight"]) == 66 and row["plate"] == "P 1"
    h.stiffit("show", result)
    assert h.stiffit("run", path, "-q", "--share", "k@mg/L", "-o", tmp / "shared.h5").returncode == 0
    for group, fault in (("x" * 201, "has more than 200 bytes; shorten it"), (None, "has more than 1000 columns")):
        with h5py.File(path, "a") as f:
            for name in [group] if group else [f"c{i}" for i in range(1001)]:
                f[f"datasets/columns/{name}"] = np.zeros(24)
        assert fault in h.stiffit("show", path, code=3).stderr
        with h5py.File(path, "a") as f:
            if group:
                del f[f"datasets/columns/{group}"]


def test_blocks_of_plate_readers(tmp):
    """A block for each observable, or for each plate, below a line with its name; empty lines and rows; other columns."""
    two, one = ("--datasets-in-columns", "-m", tmp / "two.ode"), ("--datasets-in-columns", "-m", tmp / "one.ode")
    expected = [("A1", "OD600", 0, 0.5), ("A1", "OD600", 1, 0.25), ("A1", "GFP", 0, 3), ("A1", "GFP", 1, 4),
                ("B2", "OD600", 0, 0.75), ("B2", "GFP", 0, 5), ("B2", "GFP", 1, 6)]
    text = "OD600\nTime [h],T,A1,B2\n0,37,0.5,0.75\n1,37,0.25,\n\n,,,\nGFP\nTime [h],T,A1,B2\n0,37,3,5\n1,37,4,6\n"
    for form in (text, text.replace("\n", "\r\n"), text.replace(",", ";").replace(".", ","), text.replace(",", "\t"),
                 "\ufeff" + text, text.replace("OD600", '"OD600",,,').replace("GFP", "GFP,,,"), "# reader 5\n" + text,
                 text.replace("A1", "A01").replace("B2", "B02")):
        got = imported(tmp, form, *two)[0]
        assert [(name.replace("0", ""), *more) for name, *more in got] == expected, form
    plates = "Plate 1\ntime,A1,B2\n0,1,2\n\nPlate 2\ntime,A1\n0,3\n"
    assert imported(tmp, plates, *one)[0] == [("Plate 1_A1", "OD600", 0, 1), ("Plate 1_B2", "OD600", 0, 2),
                                              ("Plate 2_A1", "OD600", 0, 3)]
    assert "above each block" in imported(tmp, plates, *two, code=3)
    assert "'x5' is not a number" in imported(tmp, "OD600\ntime,A1\n0,x5\n", *two, code=3)
    quoted = plates.replace("Plate 1", '"P ""1"", x"').replace("A1,B2", '"A\n1",B2')
    assert [row[0] for row in imported(tmp, quoted, *one)[0]] == ['P "1", x_A\n1', 'P "1", x_B2', "Plate 2_A1"]
    for ends in ("\n", "\r\n", "\r"):  # a fault is on the file's line
        faulty = "# reader\n" + plates.replace("0,3", "0,3\n1,x4")
        assert "r.csv:9: column 'value': 'x4'" in imported(tmp, faulty.replace("\n", ends), *one, code=3), ends
    assert "r.csv:7: there is text after" in imported(tmp, plates.replace("0,3", '0,"3"4'), *one, code=3)
    assert "r.csv:7: column 'time'" in imported(tmp, plates.replace("0,3", "zero,3"), *one, code=3)


def test_what_blocks_leave_out_is_said(tmp):
    """Rows of another length than their names, lines beside the blocks, columns that are no wells, wells in two spellings."""
    def import_(text, layout=None, code=0):
        (tmp / "one.ode").write_text("parameter k = 1\nx(0) = 1\nx' = -k*x\nobserve OD600 = x\n")
        (tmp / "r.csv").write_text(text)
        (tmp / "l.csv").write_text(layout or "")
        return h.stiffit("import", tmp / "r.csv", "--datasets-in-columns", "-m", tmp / "one.ode", "-o", tmp / "r.h5",
                         "--overwrite", *(("-d", tmp / "l.csv") if layout else ()), code=code).stderr

    block = "Reader,5\nP\ntime,T,A1,A2,B1,B2\n0,37,1,2,3,4\n{}\n\nP2\ntime,T,A1,A2,B1,B2\n0,37,1,2,3,4\n"
    said = import_(block.format("1,37,1,2,3,4,,"))  # delimiters at the end are nothing
    assert "1 line beside the blocks not used, the first is line 1" in said and said.count("column 'T' is not used") == 1, said
    assert "r.csv:5: there are 5 fields where line 3 names 6 columns" in import_(block.format("1,37,1,2,3"), code=3)
    assert "r.csv:5: field 8, '9', lies behind the last of the 6 columns that line 3 names" in import_(
        block.format("1,37,1,2,3,4,,9"), code=3)
    said = import_(block.format("1,37,,,,"))
    assert "beside" in said and "fields" not in said, said

    plate, grid = "time,A1,A2,B1,B2\n0,1,2,3,4\n", "kind,1,2\nA,a,b\nB,{}\n"
    assert "l.csv:3: field 3, 'x', lies behind" not in import_(plate, grid.format("c,d"))
    assert "l.csv:3: field 4, 'x', lies behind the last of the 3 columns that line 1 names" in import_(
        plate, grid.format("c,d,x"), code=3)
    said = import_(plate, grid.format("c"))
    assert "l.csv: 1 line of a grid with fewer fields than columns" in said and "the first is line 3" in said, said
    assert "l.csv: 2 lines beside the blocks not used, the first is line 1" in import_(
        plate, "made,by hand\n" + grid.format("c,d") + "1C,e,f\n")
    for text in ("time,A1,A01,B1\n0,1,2,3\n", "P\ntime,a1,B1\n0,1,2\n\nP\ntime,A01\n0,3\n"):
        said = import_(text)
        assert "r.csv: '" in said and "are two datasets, though they name one well\n" in said, said
    assert "two datasets" not in import_("P1\ntime,A1,A11\n0,1,2\n\nP2\ntime,A01,A10\n0,3,4\n")


def test_tables_from_pipes(tmp):
    """They can be read only once, whether they may have blocks or not."""
    (tmp / "one.ode").write_text("parameter k = 1\nx(0) = 1\nx' = -k*x\nobserve OD600 = x\n")
    for text in ("time,A1,B2\n0,1,2\n", "P\ntime,A1,B2\n0,1,2\n"):
        names = ["P_A1", "P_B2"] if text[0] == "P" else ["A1", "B2"]
        for table in ("dataset,lot\n{},x\n{},y\n", "lot\n,1,2\nA,x,\nB,,y\n"):
            pipes = [os.pipe() for _ in range(2)]
            for (_, end), content in zip(pipes, (text, table.format(*names))):
                os.write(end, content.encode())
                os.close(end)
            first, second = (f"/dev/fd/{pipe[0]}" for pipe in pipes)
            done = subprocess.run([h.STIFFIT, "import", first, "-d", second, "-m", tmp / "one.ode", "--datasets-in-columns",
                                   "-o", tmp / "r.h5", "--overwrite"], pass_fds=[pipe[0] for pipe in pipes],
                                  capture_output=True, text=True)
            for pipe in pipes:
                os.close(pipe[0])
            assert done.returncode == 0, done.stderr
            rows, columns, ids = wells(tmp / "r.h5")
            assert ids == names and [row[3] for row in rows] == [1, 2] and columns["lot"] == ["x", "y"]


def test_layouts(tmp):
    """A plate's grid, of 96, 384 and 1536 wells, as the table of datasets: for all plates, or for each."""
    words = ("--datasets-in-columns", "-m", tmp / "one.ode")
    for n_row, n_column in ((8, 12), (16, 24), (32, 48)):
        rows = [chr(65 + r) if r < 26 else "A" + chr(65 + r - 26) for r in range(n_row)]
        names = [f"{row}{c + 1}" for row in rows for c in range(n_column)]
        data_of = "time," + ",".join(names) + "\n0," + ",".join("1" for _ in names) + "\n"

        def grid(corner, cell):
            head = ",".join([corner, *(str(c + 1) for c in range(n_column))])
            return "\n".join([head, *(",".join([row, *(cell(r, c) for c in range(n_column))]) for r, row in enumerate(rows))])

        layout = grid("strain", lambda r, c: f"s{r}") + "\n\ndose\n" + grid("", lambda r, c: f"{r + c / 100}") + "\n"
        columns = imported(tmp, data_of, *words, layout=layout)[1]
        assert columns["strain"] == [f"s{r}" for r in range(n_row) for _ in range(n_column)]
        assert np.allclose(columns["dose"], [r + c / 100 for r in range(n_row) for c in range(n_column)], rtol=1e-15)
    grid = ",1,2\nA,{},{}\nB,{},{}\n"
    two = "time,P1_A01,P1_B2,P2_A01\n0,1,2,3\n"
    assert imported(tmp, two, *words, layout="kind\n" + grid.format(*"abcd"))[1]["kind"] == ["a", "d", "a"]
    each = "P1\nkind" + grid.format(*"abcd") + "\nP2\nkind" + grid.format(*"efgh")
    assert imported(tmp, two, *words, layout=each)[1]["kind"] == ["a", "d", "e"]
    faulty = "kind" + grid.format(*"abcd") + "\nt0" + grid.format(1, 2, 3, "x")
    assert "l.csv:7: column 't0': 'x'" in imported(tmp, "time,A1,B2\n0,1,2\n", *words, layout=faulty, code=3)
    assert "has no row here" in imported(tmp, "time,A1,C3\n0,1,2\n", *words, layout="kind\n" + grid.format(*"abcd"), code=3)


def test_layouts_say_one_thing_of_a_well(tmp):
    """A row that is there twice, or a second grid of the same name, would hide the first."""
    words = ("--datasets-in-columns", "-m", tmp / "one.ode")
    data_of = "time,A1,A2\n0,1,2\n"
    for layout, name in (("dose,1,2\nA,1,2\nA,3,4\n", "dose"), ("dose,1,2\nA,1,2\n\ndose,1,2\nA,,5\n", "dose"),
                         ("lot\n,1,2\nA,1,2\nA,1,2\n", "lot")):
        assert f"describe '{name}' of well 'A1' twice" in imported(tmp, data_of, *words, layout=layout, code=3)
    plates = "P1\ntime,A1,B2\n0,1,2\n\nP2\ntime,A1,B2\n0,3,4\n"
    grids = "P1\ndose,1,2\nA,1,2\nB,3,4\n\nP2\ndose,1,2\nA,5,6\nB,7,8\n"
    assert imported(tmp, plates, *words, layout=grids)[1]["dose"] == [1, 4, 5, 8]


def test_id_by_name(tmp):
    """--id in the measurements, the layout and the doses; of two columns."""
    words = ("-m", tmp / "one.ode", "--id", "plate,well")
    text = "well,plate,time,value\nA1,P1,0,5\nA1,P2,0,6\nB1,P1,0,7\n"
    layout = "plate,strain,well\nP1,x,A1\nP1,y,B1\nP2,z,A1\n"
    (tmp / "doses.csv").write_text("plate,well,time,amount\nP2,A1,0,3\n")
    rows, columns, ids = imported(tmp, text, *words, "--doses", tmp / "doses.csv", layout=layout)
    assert ids == ["P1_A1", "P2_A1", "P1_B1"] and [row[3] for row in rows] == [5, 6, 7]
    assert columns == {"strain": ["x", "z", "y"], "plate": ["P1", "P2", "P1"], "well": ["A1", "A1", "B1"]}
    with h5py.File(tmp / "r.h5") as f:
        assert list(f["doses/dataset"][()]) == [1]
    one = ("-m", tmp / "one.ode", "--id", "well")
    assert imported(tmp, "well,time,value\nA1,0,5\n", *one)[2] == ["A1"]
    assert "there is no column 'plate'" in imported(tmp, "well,time,value\nA1,0,5\n", *words, code=3)
    assert "has a column 'dataset', too" in imported(tmp, "well,dataset,time,value\nA1,x,0,5\n", *one, code=3)
    assert "the dataset's id is missing" in imported(tmp, text + ",P3,0,1\n", *words, code=3)
    assert "it is the column ID" in imported(tmp, text, *one, "--nonmem", code=2)
    for name, said in (("wel", True), ("", True), ("dataset", False)):
        (tmp / "named.csv").write_text("dataset,time,value\nA1,0,5\n")
        done = h.stiffit("import", tmp / "named.csv", "-m", tmp / "one.ode", "--id", name, "-o", tmp / "n.h5", "--overwrite")
        assert (f"note: --id: no table has a column '{name}'" in done.stderr) == said, done.stderr


def test_columns_in_the_report(tmp):
    """The page's rows have the columns; the heat map has the wells, with the colours of their rates."""
    rate = {well: 0.2 + 0.03 * i for i, well in enumerate(WELLS)}
    data(tmp, rate)
    subjects(tmp)
    h.stiffit("import", tmp / "m.csv", "--datasets-in-columns", "-d", tmp / "d.csv", "-m", tmp / "decay.ode", "-o",
              tmp / "p.h5")
    page = test_report.report(fitted(tmp / "p.h5"))
    names = [column["name"] for column in page.data["columns"]]
    assert names == ["compound", "dose_mg", "lot", "plate", "dataset_status", "weight"]
    at = len(page.rows[0]) - len(names)
    assert [row[at + names.index("plate")] for row in page.rows] == list(PLATE.values())
    assert [row[at + names.index("weight")] for row in page.rows] == [60 + i for i in range(24)]
    if not test_report.browser() or "Chart.js" not in page.source:
        h.skip("no chromium, or no library of charts")
    look = """
    const said = {}, all = selector => [...document.querySelectorAll(selector)];
    const pick = (list, word) => { list.value = [...list.options].findIndex(one => one.textContent === word);
        list.dispatchEvent(new Event("change")); };
    said.wells = all("#plate .well").map(well => [well.title, well.className]);
    pick(all("#plate select")[0], "plate");
    said.kinds = all("#plate .well").map(well => well.className);
    const lists = all("#pair-box select");
    pick(lists[0], "plate");
    pick(lists[1], "k");
    const chart = charts.find(one => one.box.closest("#pair-box"));
    draw(chart);
    said.boxes = chart.drawn.options.boxes;
    said.heads = all("#table-box th").map(th => th.textContent);
    all("#plate .well")[7].click();
    said.head = document.querySelector("#dataset-head").textContent;
    add(document.body, "pre", JSON.stringify(said), {id: "said"});
    """
    source = re.sub(r"<meta http-equiv=Content-Security-Policy[^>]*>", "", page.source)
    (tmp / "look.html").write_text(source.replace("showTable();\n})();", "showTable();" + look + "})();"), encoding="utf-8")
    shown = []
    assert test_report.browser_says(tmp / "look.html", shown) == []
    said = json.loads(test_report.html.unescape(re.search(r'<pre id="said">(.*?)</pre>', shown[0], re.S)[1]))
    k = np.log(list(rate.values()))
    low, high = np.quantile(k, [0.02, 0.98])
    step = np.rint(20 * np.clip((k - low) / (high - low), 0, 1)).astype(int)
    assert said["wells"] == [[f"{well}: {float(f'{rate[well]:.4g}'):g}", f"well h{s}"] for well, s in zip(WELLS, step)]
    assert said["kinds"] == ["well w0"] * 12 + ["well w1"] * 12 and said["head"] == "Dataset B2"
    halves = np.reshape(list(rate.values()), (2, 12))
    for place, box, values in zip((0, 1), said["boxes"], halves):
        q25, q50, q75 = np.quantile(values, [0.25, 0.5, 0.75])
        assert np.allclose(box, [place, values.min(), q25, q50, q75, values.max()], rtol=1e-4)
    assert {"plate", "weight", "dataset_status"} <= {head.strip("\u00a0\u25be\u25b4") for head in said["heads"]}


if __name__ == "__main__":
    h.main()
