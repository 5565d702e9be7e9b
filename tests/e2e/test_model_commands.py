"""`stiffit model new`, `build`, `show`: what they write, what they say of faults, their exit codes.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import re
import shutil
import subprocess

import h5py
import numpy as np

import helpers as h

DECAY = """model decay "first-order decay"
time unit "min"
parameter k = 0.5 in [1e-3, 10] scale log unit "1/min"
parameter A = 2
y(0) = A
y' = -k*y
observe y sd 0.1
"""
FAULTY = """parameter k = 1
y(0) = 1
y' = -kk*y
z' = y +
observe y
"""


def write(path, text):
    path.write_text(text)
    return path


def test_the_example_runs_as_it_is(tmp):
    done = h.stiffit("model", "new", "wells", cwd=tmp)
    assert done.stdout == "" and "stiffit model show wells.ode" in done.stderr
    text = (tmp / "wells.ode").read_text()
    for word in ["parameter", "constant", "covariate", "observe", " sd ", "(0)", "gut'", "piecewise", "scale log", "unit"]:
        assert word in text, word
    shown = h.stiffit("model", "show", "wells.ode", cwd=tmp)
    assert shown.stderr == "", "no warnings in the example"
    assert "0 faults" in h.stiffit("model", "check", "wells.ode", cwd=tmp).stdout
    # the next steps, as it says them, with data that it can fit
    (tmp / "data.csv").write_text("dataset,time,value\n" + "".join(
        f"{i},{t},{c}\n" for i in "ab" for t, c in [(0.25, 0.24), (0.5, 0.38), (1, 0.48), (2, 0.44), (4, 0.27), (8, 0.08)]))
    (tmp / "subjects.csv").write_text("dataset,dose\na,30\nb,31\n")
    commands = [line.split("stiffit: ")[1].split() for line in done.stderr.splitlines() if line.startswith("stiffit:   ")]
    assert len(commands) == 3
    for words in commands:
        assert words[0] == "stiffit"
        h.stiffit(*words[1:], cwd=tmp, code=(0, 1))
    assert len(h.read_fits(tmp / "wells.result.h5")["id"]) == 2


def test_new_keeps_files_and_writes_where_it_is_told(tmp):
    h.stiffit("model", "new", "a", "-q", cwd=tmp)
    before = (tmp / "a.ode").read_bytes()
    os.chmod(tmp / "a.ode", 0o444)
    assert "--overwrite" in h.stiffit("model", "new", "a", cwd=tmp, code=4).stderr
    assert "--overwrite" in h.stiffit("model", "new", "a.ode", cwd=tmp, code=4).stderr
    assert (tmp / "a.ode").read_bytes() == before
    assert h.stiffit("model", "new", "a", "-o", "-").stdout.encode() == before
    h.stiffit("model", "new", "9 lives-2", "-o", "x.ode", cwd=tmp)
    assert "model _9_lives_2 " in (tmp / "x.ode").read_text()
    h.stiffit("model", "show", "x.ode", cwd=tmp)
    h.stiffit("model", "new", "folder/that/is/not/there", cwd=tmp, code=4)
    assert "no name for the model was given" in h.stiffit("model", "new", code=2).stderr


def test_build_writes_a_plugin_beside_the_text(tmp):
    (tmp / "folder").mkdir()
    source = write(tmp / "folder" / "decay.ode", DECAY)
    done = h.stiffit("model", "build", source)
    assert done.stdout == "" and re.search(r"decay\.so: 1 state, 2 parameters, 1 observable; \d+ KiB in ", done.stderr)
    assert "0 faults" in h.stiffit("model", "check", source.with_suffix(".so")).stdout
    assert h.stiffit("model", "build", source, "-q").stderr == ""
    write(tmp / "other.ode", DECAY.replace("decay", "other"))
    (tmp / "out").mkdir()
    h.stiffit("model", "build", source, tmp / "other.ode", "-o", tmp / "out", "--portable", "-q")
    assert sorted(p.name for p in (tmp / "out").iterdir()) == ["decay.so", "other.so"]
    h.stiffit("model", "build", "-", "-o", tmp / "piped.so", stdin=DECAY)
    assert h.stiffit("model", "show", tmp / "piped.so").stdout.startswith("decay: first-order decay\n")


def test_build_tells_faults_with_their_lines(tmp):
    source = write(tmp / "m.ode", FAULTY)
    done = h.stiffit("model", "build", source, code=3)
    assert done.stdout == "" and not (tmp / "m.so").exists()
    assert f"{source}:3:7: error: `kk` is not defined; did you mean `k`?\n    y' = -kk*y\n          ^~\n" in done.stderr
    assert f"{source}:4:" in done.stderr and "\nstiffit: error: " in done.stderr
    shown = h.stiffit("model", "show", source, code=3)
    assert shown.stdout == "" and f"{source}:3:7: error" in shown.stderr
    reports = json.loads(h.stiffit("model", "build", source, "--json", code=3).stdout)
    assert [r["file"] for r in reports] == [str(source)] and reports[0]["errors"] >= 2
    first = reports[0]["messages"][0]
    assert (first["severity"], first["line"], first["column"], first["length"]) == ("error", 3, 7, 2)
    assert "did you mean `k`" in first["text"]


def test_a_faulty_model_does_not_keep_others_from_being_built(tmp):
    good, bad = write(tmp / "good.ode", DECAY), write(tmp / "bad.ode", FAULTY)
    reports = json.loads(h.stiffit("model", "build", bad, good, "--json", code=3).stdout)
    assert reports[0]["error"] and not reports[1]["error"]
    assert reports[1]["states"] == 1 and reports[1]["parameters"] == 2 and reports[1]["plugin"] == str(tmp / "good.so")
    assert reports[1]["bytes"] == (tmp / "good.so").stat().st_size


def test_warnings_are_shown_and_do_no_harm(tmp):
    source = write(tmp / "w.ode", DECAY.replace("-k*y", "-k*abs(y)") + "idle = 2*k\n")
    done = h.stiffit("model", "build", source)
    assert done.stderr.count(": warning: ") == 2 and "`idle`" in done.stderr and (tmp / "w.so").exists()
    assert "warning" not in h.stiffit("model", "build", source, "-q").stderr
    report, = json.loads(h.stiffit("model", "build", source, "--json").stdout)
    assert [m["severity"] for m in report["messages"]] == ["warning"] * 2 and report["errors"] == 0


def test_c_source_compiles_as_the_manual_says(tmp):
    source = write(tmp / "decay.ode", DECAY)
    h.stiffit("model", "build", source, "--c", tmp / "decay.c")
    assert not (tmp / "decay.so").exists()
    assert h.stiffit("model", "build", source, "--c", "-").stdout == (tmp / "decay.c").read_text()
    compiler = os.environ.get("CC", "cc").split()[0]
    if not shutil.which(compiler):
        h.skip("no C compiler")
    subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared",
                    f"-I{h.ROOT / 'include'}", "-o", tmp / "by_hand.so", tmp / "decay.c", "-lm"], check=True)
    h.stiffit("model", "check", tmp / "by_hand.so")
    h.stiffit("model", "build", source, "--c", tmp / "both.c", "-o", tmp / "both.so", "-q")
    assert (tmp / "both.c").exists() and (tmp / "both.so").exists()


def test_devices_and_pipes_are_not_replaced(tmp):
    """An output that is no ordinary file is written to, never renamed over."""
    os.mkfifo(tmp / "pipe")
    source = write(tmp / "decay.ode", DECAY)
    reader = subprocess.Popen(["cat", tmp / "pipe"], stdout=subprocess.PIPE, text=True)
    try:
        h.stiffit("model", "build", source, "--c", tmp / "pipe")
        assert "#include <stiffit/model.h>" in reader.communicate(timeout=60)[0]
    finally:
        reader.kill()
    assert (tmp / "pipe").is_fifo()


def test_show_is_a_page_with_all_parts(tmp):
    source = write(tmp / "decay.ode", DECAY)
    page = h.stiffit("model", "show", source).stdout
    assert page.startswith("decay: first-order decay\n"
                           "1 state, 2 parameters, 0 covariates, 1 observable; time from 0 min; lanes\n")
    for line in ["y(0) = A", "y' = -k*y", "observe y sd 0.1",
                 "Jacobian: 1 of 1 entries (100 %); row: derivative of, column: by",
                 "  y  *", "d y'/d y = -k", "d y'/d k = -y", "d y(0)/d A = 1"]:
        assert f"\n{line}\n" in page, (line, page)
    row = dict(re.findall(r"^(k|A) +(.*)$", page, re.M))
    assert row["k"].split() == ["0.5", "0.001", "10", "log", "1/min", "rhs"]
    assert row["A"].split() == ["2", "-inf", "inf", "lin", "initial"]
    assert re.search(r"^rhs +1 +1 +1 +0 +0 +0 ", page, re.M), "one sign, one product"
    only = h.stiffit("model", "show", source, "--derivatives").stdout
    assert "d y'/d y = -k" in only and "observe" not in only and "Jacobian" not in only


def chain(n):
    """y1 -> y2 -> ... -> yn, each with a loss."""
    lines = ["parameter k = 1, loss = 0.1"]
    for i in range(1, n + 1):
        gain = f"k*y{i - 1} - " if i > 1 else "-"
        lines += [f"y{i}(0) = {int(i == 1)}", f"y{i}' = {gain}k*y{i} - loss*y{i}^2"]
    return "\n".join(lines + [f"observe y{n}"]) + "\n"


def test_large_models_are_condensed(tmp):
    page = h.stiffit("model", "show", write(tmp / "chain.ode", chain(500))).stdout
    picture = re.findall(r"^ +(\d+)  ([.:+*#]+)$", page, re.M)
    assert len(picture) == 63 and {len(row) for _, row in picture} == {63}
    assert page.count("\ny500' = ") == 1
    assert re.search(r"^\d+ derivatives: --derivatives prints them$", page, re.M) and "d y1'/d y1" not in page
    for i, (number, row) in enumerate(picture):  # a band of two: on the diagonal, and a corner below it
        assert int(number) == 8 * i + 1
        assert row == "." * max(i - 1, 0) + ":" * (i > 0) + "+" + "." * (62 - i), row
    full = h.stiffit("model", "show", tmp / "chain.ode", "--derivatives").stdout
    assert len(re.findall(r"^d y\d+'/d y\d+ = ", full, re.M)) == 999


def test_json_has_it_all_and_can_be_evaluated(tmp):
    """The formulas of the JSON, evaluated by Python, against differences of each other."""
    source = write(tmp / "m.ode", """
parameter Vmax = 1.3, Km = 0.7, n = 2.5
S(0) = Km*2; P(0) = 0
rate = Vmax*S^n/(Km^n + S^n)
S' = -rate; P' = rate*exp(-P/3)
observe h = sqrt(S*P) sd 0.1 + h/10
""")
    shown = json.loads(h.stiffit("model", "show", source, "--json").stdout)
    assert [p["name"] for p in shown["parameters"]] == ["Vmax", "Km", "n"]
    assert [s["name"] for s in shown["states"]] == ["S", "P"]
    point = {"Vmax": 1.3, "Km": 0.7, "n": 2.5, "S": 0.9, "P": 0.4}

    def value(formula, changed):
        names = {"exp": np.exp, "sqrt": np.sqrt, "log": np.log, **changed}
        for part in shown["intermediates"] + shown["temporaries"] + shown["observables"]:
            names[part["name"]] = eval(part["value"].replace("^", "**"), {}, names)
        return eval(formula.replace("^", "**"), {}, names)

    columns = {"jacobian": ["S", "P"], "rhs_parameter": ["Vmax", "Km", "n"]}
    checked = 0
    for function, by in columns.items():
        for entry in shown["functions"][function]["entries"]:
            rhs, x = shown["states"][entry["row"]]["rhs"], by[entry["column"]]
            step = 1e-5
            up, down = (value(rhs, {**point, x: point[x] + sign * step}) for sign in (1, -1))
            # central differences: truncation of about step^2, rounding of about 1e-16/step
            assert abs(value(entry["value"], point) - (up - down) / (2 * step)) < 1e-8, entry
            checked += 1
    assert checked == 9
    assert shown["functions"]["rhs"]["multiplications"] > 0 and shown["states"][0]["rhs"] == "-rate"


def test_latex_compiles(tmp):
    source = write(tmp / "m.ode", """
model latex "an example with 100 % of_the & signs #1 ^~\\{}"
time unit "µs"
parameter alpha = 1e-7 in [0, inf] unit "1/(µM^2 s)", k_on = 2, k1_f = 3, Omega_12_beta = 4, long_name_of_mine = 5, x__y = 6
covariate dose
hill(x, n) = x^n/(1 + x^n)
drive = piecewise(0, t < 1, 2, t < 2 and not (t == 1.5), 3) + (if dose >= 1 or k_on != 2 then abs(k_on) else floor(k1_f))
y(0) = exp(-dose/alpha)
z(0) = cbrt(2) + 1.5e-20
y' = -alpha*y + drive*hill(y, k1_f)*sqrt(k_on) + max(y, z) - min(y, z) + Omega_12_beta*long_name_of_mine/x__y
z' = erf(y)/(1 + log10(z^2 + 1)/(1 + y/(1 + z))) + atan2(y, z)^0.3 + tanh(y) + heaviside(t - 3) + sign(y)
observe y sd 0.1 + 0.05*y, z
""")
    latex = h.stiffit("model", "show", source, "--latex").stdout
    for part in [r"\alpha", r"k_{\mathrm{on}}", r"\Omega_{12,\beta}", r"\begin{cases}", r"\frac{\partial y'}{\partial y}"]:
        assert part in latex, part
    assert latex.count(r"\begin{align*}") == latex.count(r"\end{align*}") > 3
    assert latex.count("{") - latex.count(r"\{") == latex.count("}") - latex.count(r"\}")
    if not shutil.which("pdflatex"):
        h.skip("no pdflatex")
    (tmp / "page.tex").write_text("\\documentclass{article}\n\\usepackage{amsmath}\n\\begin{document}\n" + latex +
                                  "\\end{document}\n")
    done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"], cwd=tmp, capture_output=True,
                          text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_show_of_other_files(tmp):
    problem = tmp / "p.h5"
    h.write_problem(problem, None, ["a"], [(0, 1, 0, 1, np.nan)])
    with h5py.File(problem, "r+") as f:
        f["model"].create_dataset("source", data=DECAY, dtype=h5py.string_dtype())
    assert "y' = -k*y" in h.stiffit("model", "show", problem).stdout
    with h5py.File(problem, "r+") as f:
        f["model/source"][()] = FAULTY
    assert f"{problem}:/model/source:3:7: error" in h.stiffit("model", "show", problem, code=3).stderr
    plugin = h.model("robertson")
    shown = h.stiffit("model", "show", plugin).stdout
    assert "parameters   3: p1 p2 p3\n" in shown and " jacobian " in shown
    bare = h.stiffit("model", "show", h.zoo("robertson_bare")).stdout
    assert "note: the model has no Jacobian" in bare
    assert json.loads(h.stiffit("model", "show", plugin, "--json").stdout)["states"] == ["y1", "y2", "y3"]
    assert "has no equations" in h.stiffit("model", "show", plugin, "--latex", code=3).stderr
    assert "contains no equations" in h.stiffit("model", "build", plugin, code=3).stderr
    h.decay_problem(tmp / "q.h5", 2)
    assert "contains no model text" in h.stiffit("model", "show", tmp / "q.h5", code=3).stderr
    for command in ["show", "build", "check"]:
        h.stiffit("model", command, tmp / "missing.ode", code=4)


def test_all_errors_are_shown_by_every_command(tmp):
    """As build shows them, once: also from the process that computes, and of text within a problem file."""
    source, table, problem = write(tmp / "faulty.ode", FAULTY), write(tmp / "d.csv", "time,value\n1,2\n2,1\n"), tmp / "p.h5"
    expected = h.stiffit("model", "build", source, code=3).stderr
    assert expected.count("^") == 3 and expected.endswith("faulty.ode: 3 errors\n")
    h.decay_problem(problem, 2)
    importing = ["import", table, "--model", source, "-o", tmp / "n.h5"]
    for args in [importing, importing + ["-q"],
                 ["simulate", "--model", source, "--times", "0:1:1"], ["run", problem, "--model", source, "-q"],
                 ["simulate", "--datasets", 2, "--model", source, "--times", "0:1:1", "-o", tmp / "n.h5"],
                 ["model", "check", source]]:
        assert h.stiffit(*args, code=3).stderr == expected, args
    with h5py.File(problem, "r+") as f:
        del f["model"]
        f.create_group("model").create_dataset("source", data=FAULTY, dtype=h5py.string_dtype())
    expected = expected.replace(str(source), f"{problem}:/model/source")
    for args in [["run", problem], ["simulate", "--model", problem, "--times", "0:1:1"], ["model", "check", problem]]:
        assert h.stiffit(*args, code=3).stderr == expected, args


def test_commands_take_the_text_of_a_problem_file(tmp):
    source, problem = write(tmp / "decay.ode", DECAY), tmp / "p.h5"
    h.stiffit("simulate", "--datasets", 2, "--model", source, "--times", "0:1:1", "-o", problem)
    assert "0 faults" in h.stiffit("model", "check", problem).stdout
    table = h.stiffit("simulate", "--model", source, "--times", "0:1:1").stdout
    assert h.stiffit("simulate", "--model", problem, "--times", "0:1:1").stdout == table
    h.stiffit("model", "build", problem)
    assert (tmp / "p.so").exists() and not (tmp / "p.h5.so").exists()
    h.decay_problem(tmp / "q.h5", 2)
    for args in [["model", "check", tmp / "q.h5"], ["simulate", "--model", tmp / "q.h5", "--times", "0:1:1"]]:
        assert "contains no model text" in h.stiffit(*args, code=3).stderr


def test_a_text_without_a_name_keeps_its_files(tmp):
    nameless = write(tmp / "my-decay.ode", DECAY.replace("model decay", "# "))
    table, problem = write(tmp / "d.csv", "time,value\n1,2\n2,1\n"), tmp / "p.h5"
    h.stiffit("import", table, "--model", nameless, "-o", problem)
    with h5py.File(problem) as f:
        assert f["model"].attrs["name"] in ("my_decay", b"my_decay")
    assert h.stiffit("model", "show", problem).stdout.startswith("my_decay\n")
    assert "model my_decay: " in h.stiffit("run", problem).stderr
    h.stiffit("import", table, "--model", problem, "-o", tmp / "again.h5")
    assert "model my_decay: " in h.stiffit("run", tmp / "again.h5").stderr
    with h5py.File(problem, "r+") as f: # as it was before names were kept, or made by another program
        del f["model"].attrs["name"]
    assert h.stiffit("model", "show", problem).stdout.startswith("source\n")
    h.stiffit("import", table, "--model", write(tmp / "named.ode", DECAY), "-o", tmp / "named.h5")
    with h5py.File(tmp / "named.h5") as f:
        assert "name" not in f["model"].attrs


def test_wrong_use(tmp):
    source = write(tmp / "decay.ode", DECAY)
    for args in [["build"], ["show"], ["new"], ["check"], ["show", source, "--latex", "--json"], ["build", source, "--jsno"],
                 ["build", source, source, "-o", "one.so"], ["build", source, source, "--c", "one.c"], ["build", "-"],
                 ["build", source, "--json", "--c", "-"], ["bulid", source], ["new", "a", "b"]]:
        done = h.stiffit("model", *args, code=2, cwd=tmp)
        assert done.stdout == "" and len(done.stderr.splitlines()) == 2, done.stderr
    assert "Did you mean build?" in h.stiffit("model", "bulid", source, code=2).stderr
    assert "Did you mean --json?" in h.stiffit("model", "build", source, "--jsno", code=2).stderr


def test_help_of_the_group(tmp):
    group = h.stiffit("help", "model").stdout
    assert group == h.stiffit("model", "--help").stdout and group.startswith("Example:\n  stiffit model ")
    children = [line.split()[0] for line in group.split("Commands:\n")[1].split("\n\n")[0].splitlines()]
    assert children == ["new", "build", "check", "show"]
    for child in children:
        text = h.stiffit("help", "model", child).stdout
        assert text == h.stiffit("model", child, "--help").stdout
        assert text.startswith("Example:\n  stiffit model ") and f"Usage: stiffit model {child} [OPTIONS] " in text
    assert "Did you mean show?" in h.stiffit("help", "model", "shwo", code=2).stderr


def test_completions_know_the_group(tmp):
    script = write(tmp / "complete.bash", h.stiffit("help", "--completion", "bash").stdout)
    test = f"""
        . '{script}'
        COMP_WORDS=(stiffit model bu) COMP_CWORD=2; _stiffit; echo "${{COMPREPLY[@]}}"
        COMP_WORDS=(stiffit model build --port) COMP_CWORD=3; _stiffit; echo "${{COMPREPLY[@]}}"
        COMP_WORDS=(stiffit model check --poi) COMP_CWORD=3; _stiffit; echo "${{COMPREPLY[@]}}"
        COMP_WORDS=(stiffit model show --color ne) COMP_CWORD=4; _stiffit; echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", test], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["build", "--portable", "--points", "never"], done
    zsh = h.stiffit("help", "--completion", "zsh").stdout
    assert '"model build")' in zsh and "compadd new build check show" in zsh


if __name__ == "__main__":
    h.main()
