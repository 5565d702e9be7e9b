"""The command line itself: help, usage errors, exit codes, completions, broken pipes.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import shutil
import subprocess

import helpers
from helpers import STIFFIT, decay_problem, environment, model, stiffit, zoo

COMMANDS = ["run", "show", "import", "export", "simulate", "plot", "report", "compare", "population", "model", "trust", "merge",
            "submit", "status", "help"]


def usage(*args):
    """A usage error: exit code 2, nothing on standard output, two lines on standard error. Returns those."""
    done = stiffit(*args, code=2)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 2, done.stderr
    assert lines[0].startswith("stiffit: error: ")
    return lines


def test_help_goes_to_standard_output_and_opens_with_an_example(tmp):
    for args in [["--help"], ["-h"], ["help"], *[[c, "--help"] for c in COMMANDS], *[["help", c] for c in COMMANDS]]:
        done = stiffit(*args)
        assert done.stderr == "" and done.stdout.startswith("Example:\n  stiffit "), args
    assert stiffit("run", "--nonsense", "--help").stdout == stiffit("help", "run").stdout
    overview = stiffit("help").stdout
    assert [line.split()[0] for line in overview.split("Commands:\n")[1].split("\n\n")[0].splitlines()] == COMMANDS


def test_version_names_program_and_libraries(tmp):
    lines = stiffit("--version").stdout.splitlines()
    assert lines[0].startswith("stiffit ") and any("SUNDIALS" in line for line in lines)
    assert any("HDF5" in line for line in lines)


def test_usage_errors_are_two_lines_with_the_nearest_match(tmp):
    assert usage() == ["stiffit: error: no command was given", "See `stiffit help`."]
    assert usage("rnu") == ["stiffit: error: unknown command 'rnu'", "Did you mean run? See `stiffit help`."]
    assert usage("run", "x.h5", "--thread", "3") == ["stiffit: error: unknown option --thread",
                                                     "Did you mean --threads? See `stiffit run --help`."]
    assert usage("help", "modle")[1].startswith("Did you mean model?")
    assert "no problem file was given" in usage("run")[0]
    assert usage("run", "x.h5", "--linear-solver=densed")[1].startswith("Did you mean dense?")
    assert "exclude each other" in usage("run", "x.h5", "--in-place", "-o", "y.h5")[0]
    assert "'stiffit run' has no commands of its own" in usage("help", "run", "model")[0]
    usage("show")
    usage("export")
    usage("import", "x.csv")
    usage("simulate")
    usage("simulate", "--bootstrap", "10", "-o", "x.h5")
    usage("model")
    usage("model", "chekc", "x.so")
    usage("model", "check")
    usage("help", "--completion", "tcsh")
    assert usage("simulate", "--model", model("decay"), "--times", "1", "--set", "K=3")[1].startswith("Did you mean k?")
    usage("simulate", "--model", model("decay"), "--times", "5:1:1")
    usage("simulate", "--model", model("decay"))


def test_files_that_cannot_be_used_have_documented_codes(tmp):
    text = tmp / "text.h5"
    text.write_text("not HDF5")
    for command in ["run", "show", "export"]:
        assert str(tmp / "missing.h5") in stiffit(command, tmp / "missing.h5", code=4).stderr
        assert str(text) in stiffit(command, text, code=3).stderr
    problem = tmp / "p.h5"
    decay_problem(problem, 2)
    assert "without results" in stiffit("export", problem, code=3).stderr
    assert "--trust" in stiffit("run", problem, code=3).stderr
    stiffit("run", problem, "--trust", "-q")
    result = helpers.result_path(problem)
    assert "result file" in stiffit("run", result, code=3).stderr
    stiffit("export", result, "-o", tmp / "no-such-folder" / "x.csv", code=4)


def test_existing_files_are_kept(tmp):
    problem, table = tmp / "p.h5", tmp / "fits.csv"
    decay_problem(problem, 2)
    stiffit("run", problem, "--trust", "-q")
    table.write_text("precious")
    stiffit("export", helpers.result_path(problem), "-o", table, code=4)
    stiffit("simulate", "--model", model("decay"), "--times", "1", "--datasets", "3", "-o", table, code=4)
    assert table.read_text() == "precious"
    stiffit("export", helpers.result_path(problem), "-o", table, "--overwrite")
    assert table.read_text().startswith("id,status,")
    assert sorted(p.name for p in tmp.iterdir()) == ["fits.csv", "p.h5", "p.result.h5"]  # nothing temporary stays


def test_write_errors_and_closed_pipes(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, 5000)
    stiffit("run", problem, "--trust", "-q")
    result = str(helpers.result_path(problem))
    for args in [["export", result], ["export", result, "--json"], ["show", result], ["help"], ["--version"]]:
        with open("/dev/full", "wb") as full:
            done = subprocess.run([STIFFIT, *args], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                                  env=environment())
        assert done.returncode == 4 and "standard output" in done.stderr, (args, done)
    with subprocess.Popen([STIFFIT, "export", result], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment()) as process:
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        assert (process.wait(60), said) == (141, b""), said


def test_quiet_progress_and_colour(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, 20)
    assert stiffit("run", problem, "--trust", "-q", "-o", tmp / "1.h5").stderr == ""
    plain = stiffit("run", problem, "--trust", "-o", tmp / "2.h5").stderr
    assert "\033" not in plain and "20/20 fits" in plain
    drawn = stiffit("run", problem, "--trust", "--progress=always", "-o", tmp / "3.h5").stderr
    assert "\033[K" in drawn  # it takes the line away before it writes the next
    never = stiffit("run", problem, "--trust", "--progress=never", "-o", tmp / "4.h5").stderr
    assert "20/20 fits" not in never
    red = stiffit("run", "missing.h5", "--color=always", code=4, env=environment(NO_COLOR="1")).stderr
    assert "\033[" in red
    assert "\033[" not in stiffit("run", "missing.h5", code=4).stderr


def test_json_summaries(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, 20)
    summary = json.loads(stiffit("run", problem, "--trust", "-q", "--json").stdout)
    assert summary["fits"] == 20 and summary["status"]["converged"] == 20 and summary["failed"] == 0
    assert summary["accepted"] is True and not summary["already_complete"]
    again = json.loads(stiffit("run", problem, "--trust", "-q", "--json").stdout)
    assert again["already_complete"] and again["status"] == summary["status"]
    shown = json.loads(stiffit("show", helpers.result_path(problem), "--json").stdout)
    assert shown["kind"] == "result" and shown["converged"] == 20
    assert json.loads(stiffit("show", problem, "--json").stdout)["datasets"] == 20
    stiffit("run", problem, "--trust", "-q", "--in-place")  # now it is both
    both = stiffit("show", problem).stdout
    assert "a problem\n" in both and "a result of 20 fits: " in both
    assert json.loads(stiffit("show", problem, "--json").stdout)["converged"] == 20


def test_options_of_the_file(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, 3, options={"starts": 4, "max_evaluations": 500})
    stiffit("run", problem, "--trust", "-q")
    shown = json.loads(stiffit("show", helpers.result_path(problem), "--json").stdout)["provenance"]
    assert shown["starts"] == 4 and "max-evaluations=500" in shown["options"]
    stiffit("run", problem, "--trust", "-q", "--starts", "2", "--overwrite")
    assert json.loads(stiffit("show", helpers.result_path(problem), "--json").stdout)["provenance"]["starts"] == 2
    decay_problem(problem, 3, options={"strats": 4})
    done = stiffit("run", problem, "--trust", code=3)
    assert "strats" in done.stderr and "starts" in done.stderr


def test_completions_are_valid_and_complete(tmp):
    bash = stiffit("help", "--completion", "bash").stdout
    script = tmp / "complete.bash"
    script.write_text(bash)
    test = f"""
        . '{script}'
        COMP_WORDS=(stiffit run --thr) COMP_CWORD=2; _stiffit; echo "${{COMPREPLY[@]}}"
        COMP_WORDS=(stiffit sim) COMP_CWORD=1; _stiffit; echo "${{COMPREPLY[@]}}"
        COMP_WORDS=(stiffit run --color al) COMP_CWORD=3; _stiffit; echo "${{COMPREPLY[@]}}"
        COMP_WORDS=(stiffit help imp) COMP_CWORD=2; _stiffit; echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", test], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["--threads", "simulate", "always", "import"], done
    zsh = stiffit("help", "--completion", "zsh").stdout
    assert zsh.startswith("#compdef stiffit\n")
    for line in stiffit("run", "--help").stdout.splitlines():
        for word in line.split():
            if word.startswith("--") and line.strip().startswith("-") and not word.startswith("--help"):
                assert word in bash and word in zsh, word
                break
    if shutil.which("zsh"):
        subprocess.run(["zsh", "-n"], input=zsh, text=True, check=True)


def test_completions_of_fish(tmp):
    """fish itself completes lines with what the script says: commands, their options, a choice's words, children, files."""
    if not shutil.which("fish"):
        helpers.skip("no fish")
    (tmp / "complete.fish").write_text(stiffit("help", "--completion", "fish").stdout)
    (tmp / "wells.h5").touch()
    lines = {"stiffit sim": ["simulate"], "stiffit run --thr": ["--threads"], "stiffit run --color al": ["always"],
             "stiffit help imp": ["import"], "stiffit mod": ["model"], "stiffit model bu": ["build"],
             "stiffit model build --port": ["--portable"], "stiffit model new x --from pk-or": ["pk-oral-1", "pk-oral-2"],
             "stiffit show --thr": [], "stiffit run wel": ["wells.h5"], "stiffit run -o wel": ["wells.h5"],
             "stiffit model show --late": ["--latex"], "stiffit show --late": []}
    test = f"source '{tmp}/complete.fish'\n" + "".join(f"complete -C '{line}'; echo END\n" for line in lines)
    done = subprocess.run(["fish", "--no-config", "-c", test], capture_output=True, text=True, check=True, cwd=tmp,
                          env=environment(HOME=tmp))
    assert done.stderr == "", done.stderr
    found = [[line.split("\t")[0] for line in part.splitlines()] for part in done.stdout.split("END\n")[:-1]]
    assert dict(zip(lines, found)) == lines, found


def test_a_model_that_crashes_is_told(tmp):
    env = environment(**{f"{name}_OPTIONS": "handle_segv=0" for name in ("ASAN", "TSAN", "UBSAN")})
    assert "died of signal 11" in stiffit("model", "check", zoo("segfault"), code=3, env=env).stderr
    assert "called exit" in stiffit("model", "check", zoo("exits"), code=3).stderr


def test_model_check(tmp):
    for name in ["alpha-pinene", "decay", "hare-lynx", "robertson", "theophylline", "van-der-pol"]:
        assert "0 faults" in stiffit("model", "check", model(name)).stdout
    done = stiffit("model", "check", zoo("wrong_jacobian"), code=3)
    assert "jacobian" in done.stdout and "wrong" in done.stdout
    report = json.loads(stiffit("model", "check", zoo("wrong_jacobian"), "--json", code=3).stdout)
    assert report["faults"] > 0 and report["findings"][0]["function"] == "jacobian"
    assert report["findings"][0]["row"] and report["findings"][0]["column"]
    first = stiffit("model", "check", model("robertson"), "--json", "-j", "1").stdout
    assert first.replace('"threads": 1', "") == stiffit("model", "check", model("robertson"), "--json",
                                                         "-j", "7").stdout.replace('"threads": 7', "")


if __name__ == "__main__":
    os.chdir(helpers.ROOT)
    helpers.main()
