"""Times as clocks and programs write them: what is imported is what the same times in hours are. Numbers with exponents of
Fortran.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np

import helpers as h

MODEL = """{}parameter k = 0.5 in [1e-3, 1e2] scale log
parameter V = 3 in [1e-2, 1e3] scale log
body(0) = 0
body' = -k*body
observe OD600 = body/V
"""


def imported(tmp, text, *options, unit="", code=0):
    """(dataset, time, value) of the measurements, and what was said."""
    (tmp / "m.ode").write_text(MODEL.format(f'time unit "{unit}"\n' if unit else ""))
    (tmp / "t.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = h.stiffit("import", "t.csv", "-m", "m.ode", "-o", "t.h5", "--overwrite", *options, cwd=tmp, code=code)
    if code:
        return done.stderr
    with h5py.File(tmp / "t.h5") as f:
        ids = f["datasets/id"].asstr()[()]
        m = [f["measurements"][name][()] for name in ("dataset", "time", "value")]
        return [(ids[d], t, v) for d, t, v in zip(*m)], done.stderr


CLOCK = {"0:00:00": 0, "00:00": 0, "0:30": 0.5, "1:30:36": 1.51, "26:30:00": 26.5, "100:00:00": 100, "1.00:00:00": 24,
         "2.03:00:00": 51, "1:00:00:00": 24, "10:06:00:00": 246, "1 day, 0:30:00": 24.5, "2 days 12:00:00": 60,
         "0 days 00:00:36": 0.01, "0:00:36.5": 36.5/3600, "-1:30:00": -1.5}


def test_clock_times_in_all_forms(tmp):
    fields = [f'"{word}"' if "," in word else word for word in CLOCK]
    for head, row, options in (("dataset,time,value\n", "a,{},1\n", ()), ("dataset,time,OD600\n", "a,{},1\n", ()),
                               ("Time,a,B2\n", "{},1,\n", ("--datasets-in-columns",)),
                               ("Plate,P\nOD600\nTime,a\n", "{},1\n", ("--datasets-in-columns",))):
        got, said = imported(tmp, head + "".join(row.format(field) for field in fields), *options)
        np.testing.assert_allclose([time for _, time, _ in got], list(CLOCK.values()), rtol=1e-15)  # one rounding or two
        assert said.count("times such as 1:30:00 are read in hours") == 1, said
    for unit, factor in (("min", 60), ("d", 1/24)):
        got, said = imported(tmp, "dataset,time,value\na,0,1\na,1:30:00,2\n", unit=unit)
        np.testing.assert_allclose(got[1][1], 1.5*factor, rtol=1e-15)
        assert f"in the model's unit, {unit}" in said, said
    assert "'moons', is not known" in imported(tmp, "dataset,time,value\na,1:30:00,2\n", unit="moons", code=3)
    assert "others are numbers" in imported(tmp, "dataset,time,value\na,1:30:00,2\na,2,3\n", code=3)
    bad = ["1:60:00", "0:00:60", "1.24:00:00", "1:2:3:4:5", "1:", ":30", "1:29:17 PM", "1.5:00"]
    for words in (bad, ["1:00:0x", "2024-01-01 1:00"]):
        said = imported(tmp, "dataset,time,value\n" + "".join(f"a,{word},2\n" for word in words), code=3)
        for line, word in enumerate(words, 2):
            assert f"t.csv:{line}: column 'time': '{word}' is no time since the beginning" in said, said
    text = "dataset,time,value\na,0:30:00,1\na,1:30:00,2\na,3:00:00,3\n"  # compared in the unit in which they are read
    assert imported(tmp, text, "--where", "time > 0.5 and time < 3")[0] == [("a", 1.5, 2)]
    assert imported(tmp, text, "--where", "time <= 90", unit="min")[0] == [("a", 30, 1), ("a", 90, 2)]
    (tmp / "d.csv").write_text("dataset,time,amount\na,0:30:00,5\n")
    (tmp / "s.csv").write_text("dataset,t0\na,-0:30:00\n")
    imported(tmp, "dataset,time,value\na,1:30:00,2\n", "--doses", "d.csv", "-d", "s.csv")
    with h5py.File(tmp / "t.h5") as f:
        assert list(f["doses/time"]) == [0.5] and np.all(f["datasets/t0"][()] == -0.5)


GEN5 = """Software Version,3.05.11

Date,6/1/2020
Time,1:29:17 PM
Reader Type:,Synergy

Procedure Details
Read,600
Layout
,1,2
A,SPL1,SPL2

OD600

Time,T° 600,{}
"""


def test_what_plate_readers_write(tmp):
    """A preamble has a time of the day, which begins no block; one fault is one message, whatever the number of wells."""
    wells = [f"{row}{column}" for row in "ABCDEFGH" for column in range(1, 13)]
    rows = [[f"{m // 60}:{m % 60:02d}:00", "37"] + [f"{0.1 + i/100 + m/1000:.17g}" for i in range(96)]
            for m in range(0, 1500, 60)]
    text = GEN5.format(",".join(wells)) + "".join(",".join(row) + "\n" for row in rows) + "\n"
    got, said = imported(tmp, text, "--datasets-in-columns")
    assert got == [("Layout_" + well, m/60, 0.1 + i/100 + m/1000) for i, well in enumerate(wells) for m in range(0, 1500, 60)]
    for lines in (text.replace("Procedure Details\n", "").replace("Layout\n", "").replace("\nOD600\n", "\n"),
                  text.replace("1:29:17 PM", "13:29:17").replace("Layout\n", "")):
        got, said = imported(tmp, lines, "--datasets-in-columns")
        assert len(got) == 25*96 and got[-1][1] == 24, said
    said = imported(tmp, text.replace("\n3:00:00,", "\n3 h,"), "--datasets-in-columns", code=3)
    assert said.count("'3 h'") == 1 and "more" not in said and "t.csv:19: column 'time'" in said, said
    empty = "OD600\nTime,A1,B2\n0:00:00,1,2\n0:10:00,,\n0:20:00,3,4\n0:00:00,,\n"  # a run that was stopped is filled up
    assert imported(tmp, empty, "--datasets-in-columns")[0] == [("A1", 0, 1), ("A1", 1/3, 3), ("B2", 0, 2), ("B2", 1/3, 4)]
    softmax = ("##BLOCKS= 1\nPlate:\tPlate1\t1.3\tTimeFormat\tKinetic\tAbsorbance\nTime\tTemperature(\xa1C)\tA1\tA2\t\n"
               "00:00:00\t24.5\t0.05\t0.06\t\n12:00:00\t24.5\t0.06\t0.07\t\n1.00:00:00\t24.5\t0.08\t0.09\t\n~End\n")
    got, said = imported(tmp, softmax.encode("latin-1"), "--datasets-in-columns")
    assert got == [("A1", 0, 0.05), ("A1", 12, 0.06), ("A1", 24, 0.08), ("A2", 0, 0.06), ("A2", 12, 0.07), ("A2", 24, 0.09)]


def test_years_of_two_digits(tmp):
    """NM-TRAN's LAST20 is 50: 00 to 50 are years of this century."""
    head = "ID,DATE,TIME,AMT,DV\n"
    for first, second, hours in (("12/31/49", "01/01/50", 2), ("12/31/50", "01/01/2051", 2), ("12/31/99", "01/01/00", 2),
                                 ("12/31/51", "01/01/52", 2), ("12/31/1950", "01/01/51", 2)):
        got, _ = imported(tmp, head + f"1,{first},23:00,10,.\n1,{second},1:00,.,3\n", "--nonmem")
        assert got == [("1", hours, 3)], first
    said = imported(tmp, head + "1,12/31/50,23:00,10,.\n1,01/01/51,1:00,.,3\n", "--nonmem", code=3)
    assert "t.csv:3: column 'TIME': " in said and "1951-01-01 after 2050-12-31" in said, said


def test_exponents_of_fortran(tmp):
    """In a NONMEM-style table only: 9.05D1, and 8.19+1 without a letter."""
    rows = (("9.05D1", 90.5), ("8.19+1", 81.9), ("8.19d+01", 81.9), ("-1.5D-3", -1.5e-3), ("+.5+2", 50), ("1+2", 100),
            ("2.-1", 0.2), ("3D0", 3), ("4E1", 40), ("1.5e-1", 0.15))
    got = imported(tmp, "ID,TIME,AMT,DV\n1,0,1D2,.\n" + "".join(f"1,1,.,{word}\n" for word, _ in rows), "--nonmem")[0]
    assert got == [("1", 1, value) for _, value in rows]
    with h5py.File(tmp / "t.h5") as f:
        assert list(f["doses/amount"]) == [100]
    assert imported(tmp, "ID;TIME;AMT;DV\n1;0;10;.\n1;1;.;8,19+1\n", "--nonmem")[0] == [("1", 1, 81.9)]
    assert "'9.05D1' is not a number" in imported(tmp, "dataset,time,value\na,1,9.05D1\n", code=3)
    for word in ("1+", "D1", "1D", "1++2", "1DD2", "+-1", "1+2+3", "1-2x", "1e999", "1+999", "2020-01-01"):
        assert "is not a number" in imported(tmp, f"ID,TIME,AMT,DV\n1,0,10,.\n1,1,.,{word}\n", "--nonmem", code=3), word


if __name__ == "__main__":
    h.main()
