"""Tables as people have them: other names of columns, rows that are not for the fit, texts where numbers are needed. What is
imported is what the table would be with the names changed and the rows deleted.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py

import helpers as h

MODEL = """parameter k = 0.5 in [1e-3, 1e2] scale log
parameter V = 3 in [1e-2, 1e3] scale log
body(0) = 0
body' = -k*body
observe cp = body/V
"""
WEIGHED = MODEL.replace("body(0)", "covariate weight, form\nbody(0)").replace("-k*body", "-k*body*weight*(1 + form)")


def imported(tmp, tables, *options, model=MODEL, code=0):
    """All numbers of the file, and what was said."""
    (tmp / "m.ode").write_text(model)
    for name, text in tables.items():
        (tmp / name).write_text(text)
    done = h.stiffit("import", next(iter(tables)), "-m", "m.ode", "-o", "t.h5", "--overwrite", *options, cwd=tmp, code=code)
    if code:
        return done.stderr
    found = {}
    with h5py.File(tmp / "t.h5") as f:
        f.visititems(lambda name, item: found.update({name: item[()].tolist()}) if isinstance(item, h5py.Dataset) and
                     "line" not in name else None)
    return found, done.stderr


STUDY = "SUBJ;HOURS;DOSE;CONC;BLQ\n1;0;10;.;.\n1;1;.;3.7041;0\n1;2;.;2.7441;0\n1;4;.;1.5060;0\n1;40;.;0.0;1\n"
NAMES = [word for pair in ("ID=SUBJ", "TIME=HOURS", "AMT=DOSE", "DV=CONC") for word in ("--column", pair)]


def test_nonmem_names_and_records(tmp):
    """As $INPUT and IGNORE=(BLQ.EQ.1) say them; the values are 5 exp(-0.3 t) to five digits."""
    renamed = STUDY.replace("SUBJ;HOURS;DOSE;CONC", "ID;TIME;AMT;DV").replace("1;40;.;0.0;1\n", "")
    expected = imported(tmp, {"t.csv": renamed}, "--nonmem")[0]
    got, said = imported(tmp, {"t.csv": STUDY}, "--nonmem", *NAMES, "--where", "BLQ == 0")
    assert got == expected and got["doses/amount"] == [10]  # a dose without BLQ: '.' is 0, as for NM-TRAN
    assert "1 record left out by --where; the first is line 6" in said and "'BLQ' is not used" not in said, said
    h.stiffit("run", "t.h5", "-q", cwd=tmp)
    with h5py.File(tmp / "t.result.h5") as f:
        k, v = f["fits/parameters"][0]
    assert abs(k - 0.3) < 1e-4 and abs(v - 2) < 1e-3  # of values with five digits
    for where in ("BLQ != 1", "TIME != 40 and HOURS < 41", "HOURS <= 4"):
        assert imported(tmp, {"t.csv": STUDY}, "--nonmem", *NAMES, "--where", where)[0] == expected, where
    said = imported(tmp, {"t.csv": STUDY}, "--nonmem", *NAMES, "--where", "DOSE == 0")[1]
    assert "1 record of these with an AMT: doses are left out, too; the first is line 2" in said, said
    said = imported(tmp, {"t.csv": STUDY}, "--nonmem", code=3)
    assert "there are no columns 'ID', 'TIME', 'DV'" in said and "the columns are: SUBJ, HOURS, DOSE, CONC, BLQ" in said, said
    both = STUDY.replace("BLQ", "DV")  # the file's own DV is another column, whose name --column takes
    got, said = imported(tmp, {"t.csv": both}, "--nonmem", *NAMES, "--where", "HOURS < 40")
    assert got == expected and "column 'DV' is not used" in said
    assert "cannot" not in imported(tmp, {"t.csv": STUDY.replace(";", ",").replace("SUBJ", '"SUBJ "')}, "--nonmem",
                                    *[word.replace("SUBJ", "subj ") for word in NAMES], "--where", "blq == 0")[1]


def test_names_in_every_table(tmp):
    tables = {"m.csv": "Animal,Hours,Conc (mg/L),flag\na,1,3,ok\nb,2,99,bad\nb,3,2,ok\n",
              "d.csv": "Animal,kg,tablet\na,60,0\nb,70,1\n",
              "x.csv": "Animal,Hours,mg\na,0,10\nb,0,20\n"}
    plain = {"m.csv": "dataset,time,value\na,1,3\nb,3,2\n", "d.csv": "dataset,weight,form\na,60,0\nb,70,1\n",
             "x.csv": "dataset,time,amount\na,0,10\nb,0,20\n"}
    words = ("-d", "d.csv", "--doses", "x.csv")
    names = [word for pair in ("dataset=animal", "time=Hours", "value=Conc", "weight=kg", "form=tablet", "amount=mg")
             for word in ("--column", pair)]
    expected = imported(tmp, plain, *words, model=WEIGHED)[0]
    got, said = imported(tmp, tables, *words, *names, "--where", "flag == ok", model=WEIGHED)
    for own in ("columns/kg", "columns/tablet", "columns/Animal"):
        got.pop(own, None)
    assert got == expected and "1 row left out by --where, the first is line 3" in said, (got, expected)
    for options, code, text in (
            (("--column", "sigma=SD"), 2, "no table has a column 'SD'"), (("--column", "value"), 2, "is not NAME=COLUMN"),
            (("--where", "flog == ok"), 2, "m.csv has no column 'flog'; did you mean 'flag'"),
            (("--where", "flag < ok"), 2, "compared with == or !="),
            (("--where", "flag > 3"), 3, "m.csv:2: column 'flag': --where"),
            (("--where", "flag == no"), 3, "no measurements below its header that meet --where"),
            (("--where", "flag == ok and"), 2, "expected NAME"), (("--where", ""), 2, "expected NAME"),
            (("--where", "flag == ok or flag == bad"), 2, "expected 'and'"),
            (("--column", "time=flag"), 3, "both 'Hours' and 'flag'")):
        said = imported(tmp, tables, *words, *names, *options, model=WEIGHED, code=code)
        assert text in said, (options, said)
    said = imported(tmp, tables, *words, "--column", "dataset=Animal", model=WEIGHED, code=3)
    assert "m.csv: there are no columns 'time', 'value'" in said
    said = imported(tmp, {**plain, "d.csv": "animal,kg\na,60\n"}, *words, model=WEIGHED, code=3)
    assert "d.csv: there are no columns 'dataset', 'weight', 'form'" in said, said


def test_wells_by_other_names(tmp):
    plate = "Zeit,A1,B2\n0,1,2\n1,3,4\n"
    expected = imported(tmp, {"t.csv": plate.replace("Zeit", "time")}, "--datasets-in-columns")[0]
    assert imported(tmp, {"t.csv": plate}, "--datasets-in-columns", "--column", "time=zeit")[0] == expected
    got = imported(tmp, {"t.csv": "cp\n" + plate + "cp\n" + plate.replace("\n0,1,2", "")}, "--datasets-in-columns", "--column",
                   "time=Zeit", "--where", "time == 0 and dataset != B2")[0]
    assert got["measurements/value"] == [1]


def test_messages_name_what_to_do(tmp):
    head = "ID,TIME,AMT,DV,weight,form,BLQ,LLOQ\n1,0,10,.,70,{},0,1\n1,1,.,{},70,0,0,1\n"
    said = imported(tmp, {"t.csv": head.format("tablet", 3)}, "--nonmem", model=WEIGHED, code=3)
    assert "t.csv:2: column 'form': 'tablet' is not a number" in said and "a number for each word" in said, said
    assert "column 'BLQ' is not used: " in said and "CENS 1" in said and "--where" in said and "'LLOQ' is not used: " in said
    said = imported(tmp, {"t.csv": head.format(0, "<0.1")}, "--nonmem", model=WEIGHED, code=3)
    assert "t.csv:3: column 'DV': '<0.1': write the limit alone, and 1 (it lies below) in a column CENS" in said, said
    said = imported(tmp, {"m.csv": "dataset,time,value\na,1,3\n", "d.csv": "dataset,weight,form\na,60,drops\n"}, "-d", "d.csv",
                    model=WEIGHED, code=3)
    assert "d.csv:2: column 'form': 'drops' is not a number" in said and "a number for each word" in said, said
    assert "--where" in h.stiffit("import", "t.csv", "-m", "m.ode", "--nonmem", "--ignore", "(BLQ.EQ.1)", cwd=tmp,
                                  code=2).stderr
    assert "say --column ID=SUBJ" in h.stiffit("import", "t.csv", "-m", "m.ode", "--nonmem", "--id", "SUBJ", cwd=tmp,
                                               code=2).stderr


def test_tables_of_r(tmp):
    """write.table puts blanks between columns and quotes around texts."""
    plain = "dataset time value\na 1 0.74\na 2 0.55\n'b c' 4 0.30\n".replace("'b c'", "b_c")
    expected = imported(tmp, {"t.csv": plain})[0]
    for text in ('"dataset" "time" "value"\n"a" 1 0.74\n"a" 2 0.55\n"b_c" 4 0.30\n',
                 '"dataset"   "time [h]" "value"\r\n"a"   1 0.74\r\n"a" 2   0.55 \r\n"b_c" 4 0.30\r\n',
                 'dataset "time" "value (mg)"\n"a" 1 0.74\na 2 0.55\nb_c 4 0.30\n',
                 '"dataset"\t"time"\t"value"\n"a"\t1\t0.74\n"a"\t2\t0.55\n"b_c"\t4\t0.30\n',
                 '\ufeff"dataset" "time" "value"\n\n"a" 1 0.74\n"a" 2 0.55\n"b_c" 4 0.30\n'):
        assert imported(tmp, {"t.csv": text})[0] == expected, text
    got = imported(tmp, {"t.csv": '"data set" "time" "value"\n"b c" 4 0.30\n'}, "--column", "dataset=data set")[0]
    assert got["datasets/id"] == [b"b c"]
    said = imported(tmp, {"t.csv": '"dataset" "time" "value"\n"a\\"b\\"" 1 0.74\n'}, code=3)
    assert "written twice; R's write.table needs qmethod" in said, said
    said = imported(tmp, {"t.csv": '"dataset" "time" "value"\n"1" "a" 1 0.74\n'}, code=3)
    assert "row.names = FALSE" in said, said


if __name__ == "__main__":
    h.main()
