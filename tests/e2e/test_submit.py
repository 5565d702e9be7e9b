"""`stiffit submit` without SLURM (a program of our own stands for sbatch), and `stiffit status`. On a real SLURM:
tests/slurm.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import platform
import re
import shutil
import signal
import stat
import struct
import subprocess
import time

import h5py

import faults
import helpers
from helpers import decay_problem, stiffit
from test_merge import N, shards

FAKE = """#!/bin/sh
n=$(($(cat calls 2>/dev/null | wc -l) + 1001))
printf '%s ' "$@" >>calls; echo >>calls
echo "$n;cluster"
"""


def fake_sbatch(folder):
    """What it was called with is in folder/calls; the environment to find it with."""
    fake = folder / "sbatch"
    fake.write_text(FAKE.replace("calls", f"'{folder}/calls'"))
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    return helpers.environment(PATH=f"{folder}:{os.environ['PATH']}")


def test_submit_writes_and_submits(tmp):
    problem = tmp / "a problem's.h5"
    decay_problem(problem, N)
    env = fake_sbatch(tmp)
    dry = stiffit("submit", problem, "--shards", 4, "--starts=3", "--trust", "--dry-run", "--", "--time=1", cwd=tmp,
                  env=env).stdout
    assert "#SBATCH --time=1\n" in dry and "--array=1-4" in dry and "--starts=3" in dry
    assert 'requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"' in dry  # SLURM_JOB_ID of the last task is the array's
    assert not (tmp / "calls").exists() and not (tmp / "a problem's.slurm").exists()
    for accept in ("5%", "3"):
        dry = stiffit("submit", problem, "--trust", "--dry-run", "--accept-failed", accept, cwd=tmp, env=env).stdout
        assert dry.endswith(f"--shards 8 --accept-failed {accept}\n"), dry

    stiffit("run", problem, "--trust", "-q", "--shard", "2/4", "--starts=3", code=(0, 1), cwd=tmp)
    done = stiffit("submit", problem, "--shards", 4, "--starts=3", "--trust", "--", "--time=1", cwd=tmp, env=env)
    assert done.stdout == "shards 1001\nmerge 1002\n"
    calls = (tmp / "calls").read_text().splitlines()
    assert "--array=1,3-4" in calls[0] and "--dependency=afterany:1001" in calls[1], calls
    # The script is sh, and does what it says: here without SLURM, which only gives it a number.
    script = tmp / "a problem's.slurm" / "shards.sh"
    for k in (1, 3, 4):
        run_script(script, env, k)
    subprocess.run(["sh", script.with_name("merge.sh")], env=env, cwd="/", check=True, capture_output=True)
    assert helpers.result_path(problem).exists()
    shown = stiffit("status", problem).stdout
    assert "4 of 4" in shown, shown


def test_ranks(tmp):
    """A fit with shared parameters: one job, whose script is run here with programs of our own for srun and scontrol."""
    problem = tmp / "it's p.h5"
    decay_problem(problem, N)
    env = fake_sbatch(tmp)
    for name, body in (("srun", 'shift 2; echo "$SRUN_CPUS_PER_TASK" >cpus; [ -z "$CODE" ] || exit "$CODE"; exec "$@"'),
                       ("scontrol", 'echo "$@" >requeued')):
        (tmp / name).write_text(f"#!/bin/sh\ncd '{tmp}' || exit 1\n{body}\n")
        (tmp / name).chmod(0o755)
    words = (problem, "--ranks", 3, "--share=k", "--trust", "-o", tmp / "r $x.h5")
    dry = stiffit("submit", *words, "--dry-run", cwd=tmp, env=env).stdout
    assert "#SBATCH --ntasks=3\n" in dry and "srun --mpi=pmix " in dry and "--share=k" in dry and "--ranks" not in dry, dry
    assert "--mpi=pmi2" in stiffit("submit", *words, "--mpi", "pmi2", "--dry-run", cwd=tmp, env=env).stdout
    assert stiffit("submit", *words, "--", "--time=1", cwd=tmp, env=env).stdout == "ranks 1001\n"
    assert len((tmp / "calls").read_text().splitlines()) == 1
    script = tmp / "it's p.slurm" / "ranks.sh"
    run = ["sh", script]
    env |= {"SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "2"}
    for code, restarts, comes_back in ((75, 0, True), (137, 3, True), (75, 20, False), (1, 0, False)):
        (tmp / "requeued").unlink(missing_ok=True)
        done = subprocess.run(run, env=env | {"CODE": str(code), "SLURM_RESTART_COUNT": str(restarts)}, check=False)
        assert (tmp / "requeued").exists() == comes_back and done.returncode == (0 if comes_back else code)
    subprocess.run(run, env=env, check=True, capture_output=True)
    assert (tmp / "cpus").read_text() == "2\n"
    assert len(helpers.read_fits(tmp / "r $x.h5")["id"]) == N
    done = stiffit("submit", *words, cwd=tmp, env=env)
    assert "complete" in done.stderr and not done.stdout
    for wrong, said in ((("--ranks", 3), "--shards 3"), (("--shards", 3, "--share", "k"), "--ranks")):
        done = stiffit("submit", problem, "--trust", *wrong, "--dry-run", cwd=tmp, env=env, code=2)
        assert said in done.stderr, done.stderr


def test_hostile_names(tmp):
    for name in ("a problem's \"#1\" 100%.h5", "-o.h5", "$(touch x);`touch y`.h5", "*?[a-z]!{}.h5"):
        folder = tmp / "in a folder" / str(len(name))
        folder.mkdir(parents=True)
        decay_problem(folder / name, 4)
        env = fake_sbatch(folder)
        word = f"./{name}" if name.startswith("-") else name
        done = stiffit("submit", word, "--shards", 2, "--trust", "-o", "m $x.h5", "--", "--comment=it's \"so\" # 1", cwd=folder,
                       env=env)
        assert done.stdout == "shards 1001\nmerge 1002\n"
        scripts = folder / f"{name[:-3]}.slurm"
        assert '#SBATCH "--comment=it\'s \\"so\\" # 1"\n' in (scripts / "shards.sh").read_text()
        for k in (1, 2):
            run_script(scripts / "shards.sh", env, k)
        subprocess.run(["sh", scripts / "merge.sh"], env=env, cwd=folder, check=True, capture_output=True)
        assert len(helpers.read_fits(folder / "m $x.h5")["id"]) == 4
        assert {entry.name for entry in folder.iterdir()} >= {"m $x.h5", name} and not (folder / "x").exists()
    for name in ("back\\slash.h5", "line\nbreak.h5"):
        decay_problem(tmp / name, 1)
        assert "SLURM does not support" in stiffit("submit", tmp / name, "--trust", "--dry-run", code=2).stderr


def run_script(script, env, k, **variables):
    return subprocess.run(["sh", script], env={**env, "SLURM_ARRAY_TASK_ID": str(k), "SLURM_JOB_ID": "1", **variables},
                          cwd="/", check=True, capture_output=True)


def submission(problem, *options, env, sbatch=(), code=0):
    return stiffit("submit", problem, "--trust", *options, "--", *sbatch, env=env, cwd=problem.parent, code=code)


def test_what_is_there_is_looked_at(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, N)
    env = fake_sbatch(tmp)
    shards(problem, 2)
    # Results with other options, or of other data, are never taken for this run's.
    assert "holds the result of another run" in submission(problem, "--shards", 2, "--starts", 2, env=env, code=4).stderr
    assert submission(problem, "--shards", 2, "--starts", 2, "--overwrite", env=env).stdout.startswith("shards")
    said = submission(problem, "--shards", 2, env=env).stderr
    assert "only the merge is to run" in said and f"stiffit status {problem}" in said
    with h5py.File(problem, "r+") as file:
        old = file["measurements/value"][0]
        file["measurements/value"][0] = 1.0
    assert "the problem's data have changed" in submission(problem, "--shards", 2, env=env, code=4).stderr
    with h5py.File(problem, "r+") as file:
        file["measurements/value"][0] = old
    # The merged result: complete, or another's.
    stiffit("merge", problem)
    (tmp / "calls").unlink()
    done = submission(problem, "--shards", 2, env=env)
    assert done.stdout == "" and "nothing to run" in done.stderr
    assert "holds the result of another run" in submission(problem, "--shards", 4, "--starts", 2, env=env, code=4).stderr
    # A journal of another run.
    one = problem.with_name("p.shard-1-of-2.result.h5")
    one.unlink()
    helpers.result_path(problem).unlink()
    stiffit("run", problem, "--trust", "-q", "--shard", "1/2", "--time-limit", "0.5", "--starts", "10000", code=75)
    said = submission(problem, "--shards", 2, env=env, code=4).stderr
    assert "is the journal of another run (starts" in said and "--restart" not in said
    assert not (tmp / "calls").exists()
    # Replaced by order; what is this run's own is kept.
    journals = [problem.with_name(f"p.shard-{k}-of-2.result.h5.journal") for k in (1, 2)]
    problem.with_name("p.shard-2-of-2.result.h5").unlink()
    stiffit("run", problem, "--trust", "-q", "--shard", "2/2", "--time-limit", "0.5", "--starts", "10001", code=75)
    submission(problem, "--shards", 2, "--starts", 10001, "--overwrite", "--dry-run", env=env)
    assert journals[0].exists() and journals[1].exists()
    submission(problem, "--shards", 2, "--starts", 10001, "--overwrite", env=env)
    assert not journals[0].exists() and journals[1].exists()


def test_wrong_options_are_refused_before_anything_is_submitted(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, 3)
    env = fake_sbatch(tmp)
    for options, code, words in (
            (["--rtol", "2"], 2, "--rtol"), (["--profile", "nosuch"], 2, "nosuch"), (["--nosuch"], 2, "unknown option"),
            (["--restart"], 2, "unknown option"), (["--time-limit", "5"], 2, "unknown option"), (["-qo", "x"], 2, "by itself"),
            (["--time=1:00"], 2, "after a lone --"),
            (["--cost-from", "none.h5"], 4, "none.h5"), (["--shards", "0"], 2, "--shards"),
            (["--model", "none.so"], (3, 4), "none.so")):
        done = submission(problem, *options, env=env, code=code)
        assert words in done.stderr, (options, done.stderr)
    for sbatch, words in ((["--array=1-2"], "use --shards N"), (["-a", "1"], "use --shards N"),
                          (["x"], "not an option of sbatch")):
        assert words in submission(problem, env=env, sbatch=sbatch, code=2).stderr
    problem.write_bytes(b"no problem")
    assert "is not an HDF5 file" in submission(problem, env=env, code=3).stderr
    assert not (tmp / "calls").exists() and not (tmp / "p.slurm").exists()
    fake = tmp / "sbatch"
    fake.write_text("#!/bin/sh\necho 'sbatch: error: no such partition' >&2; exit 1\n")
    decay_problem(problem, 3)
    done = submission(problem, env=env, code=4)
    assert "no such partition" in done.stderr and "sbatch failed" in done.stderr
    assert "8 shards for 3 datasets" in done.stderr
    fake.write_text("#!/bin/sh\necho hello\n")
    assert "instead of a job number" in submission(problem, "--shards", 1, env=env, code=4).stderr


STOPPABLE = """#!/bin/sh
if [ "$1" = status ]; then cat '{folder}/fits'; exit; fi
trap 'exit 75' USR1
touch '{folder}/running'
while :; do sleep 0.05; done
"""


def test_requeueing_ends_when_nothing_gets_on(tmp):
    """The script alone, with a program that does nothing but wait to be stopped."""
    problem = tmp / "p.h5"
    decay_problem(problem, 3)
    env = fake_sbatch(tmp)
    submission(problem, "--shards", 1, env=env)
    program, scontrol, script = tmp / "program", tmp / "scontrol", tmp / "p.slurm/shards.sh"
    program.write_text(STOPPABLE.format(folder=tmp))
    scontrol.write_text(f"#!/bin/sh\necho \"$@\" >>'{tmp}/requeued'\n")
    for made in (program, scontrol):
        made.chmod(0o755)
    script.write_text(re.sub(r"(?m)^stiffit=.*$", f"stiffit='{program}'", script.read_text()))

    def attempt(restart, before, after, warn="USR1"):
        """Exit code, and whether it went back into the queue."""
        (tmp / "requeued").unlink(missing_ok=True)
        (tmp / "running").unlink(missing_ok=True)
        (tmp / "fits").write_text(f"{before}\n")
        slurm = {"SLURM_ARRAY_JOB_ID": "70", "SLURM_ARRAY_TASK_ID": "1", "SLURM_JOB_ID": "77",
                 "SLURM_RESTART_COUNT": str(restart)}
        shell = subprocess.Popen(["sh", script], cwd="/", stderr=subprocess.PIPE, env={**env, **slurm})
        while not (tmp / "running").exists():
            time.sleep(0.01)
        (tmp / "fits").write_text(f"{after}\n")
        shell.send_signal(getattr(signal, f"SIG{warn}"))
        shell.communicate(timeout=60)
        return shell.returncode, (tmp / "requeued").exists() and (tmp / "requeued").read_text() == "requeue 70_1\n"

    assert attempt(0, 0, 0) == (0, True)
    assert attempt(1, 0, 5) == (0, True)   # got on
    assert attempt(2, 5, 5) == (0, True)
    assert attempt(3, 5, 5) == (75, False)  # the second one that did not
    assert attempt(0, 5, 5) == (0, True)   # submitted anew: counted anew
    assert attempt(0, 5, 5) == (0, True)


DEAF = """#!/bin/sh
if [ "$1" = status ]; then echo 0; exit; fi
touch '{folder}/running'
exec sleep 60
"""


def test_requeued_also_when_warned_before_it_can_listen(tmp):
    """A signal at the moment of starting kills; submit's script and the template both go back into the queue all the same."""
    problem = tmp / "p.h5"
    decay_problem(problem, 3)
    env = fake_sbatch(tmp)
    submission(problem, "--shards", 1, env=env)
    deaf, scontrol, written = tmp / "stiffit", tmp / "scontrol", tmp / "p.slurm/shards.sh"
    deaf.write_text(DEAF.format(folder=tmp))
    scontrol.write_text(f"#!/bin/sh\necho \"$@\" >>'{tmp}/requeued'\n")
    for made in (deaf, scontrol):
        made.chmod(0o755)
    written.write_text(re.sub(r"(?m)^stiffit=.*$", f"stiffit='{deaf}'", written.read_text()))
    for script in written, helpers.ROOT / "scripts/slurm/array.sh":
        (tmp / "running").unlink(missing_ok=True)
        (tmp / "requeued").unlink(missing_ok=True)
        shell = subprocess.Popen(["sh", script], cwd=tmp, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 env={**env, "SLURM_ARRAY_JOB_ID": "70", "SLURM_ARRAY_TASK_ID": "1",
                                      "SLURM_JOB_ID": "77"})
        while not (tmp / "running").exists():
            time.sleep(0.01)
        shell.send_signal(signal.SIGUSR1)
        shell.communicate(timeout=60)
        assert shell.returncode == 0 and (tmp / "requeued").read_text() == "requeue 70_1\n", (script, shell.returncode)


def test_status_says_how_far(tmp):
    problem = tmp / "p.h5"
    decay_problem(problem, N)
    assert stiffit("status", problem, "--fits").stdout == "0\n"
    shards(problem, 4)
    problem.with_name("p.shard-3-of-4.result.h5").unlink()
    lines = stiffit("status", problem).stdout.splitlines()
    assert "complete" in lines[0] and "waiting" in lines[2] and "30 of" in lines[4] and "3 of 4" in lines[4], lines
    assert stiffit("status", problem, "--shard", "3/4", "--fits").stdout == "0\n"
    shown = helpers.json.loads(stiffit("status", problem, "--json").stdout)
    assert [shard["finished"] for shard in shown["shards"]] == [10, 10, 0, 10] and shown["of_shards"] == 4
    assert shown["whole"]["state"] == "waiting" and shown["shards"][2]["datasets"] is None
    shards(problem, 4)
    stiffit("merge", problem)
    line = stiffit("status", problem).stdout.splitlines()[-1].split()
    assert line[:4] == ["merged", str(N), "of", str(N)] and "complete" in line, line


def test_status_counts_datasets_whatever_is_done_with_them(tmp):
    """In the journal as in the result: a dataset is finished when all its starts and refits are."""
    problem = tmp / "p.h5"
    decay_problem(problem, N)
    options = ["--trust", "--starts", "3", "--bootstrap", "40", "-j", "1"]
    assert stiffit("status", problem).stdout.split() == ["run", "waiting"]
    limit, shown = 0.02, None
    while not shown or not 0 < shown["finished"] < N:  # a run that is stopped in its middle
        stiffit("run", problem, *options, "--restart", "--overwrite", "--time-limit", limit, "-q", code=(0, 75))
        shown = helpers.json.loads(stiffit("status", problem, "--json").stdout)["whole"]
        limit *= 1.5 if shown["finished"] == 0 else 0.8
    assert shown["state"] == "stopped" and shown["datasets"] == N and shown["failed"] == 0
    assert 43 * shown["finished"] <= shown["fits"] < 43 * N
    assert stiffit("status", problem, "--fits").stdout == f"{shown['fits']}\n"
    stiffit("run", problem, *options, "-q", "--overwrite")
    shown = helpers.json.loads(stiffit("status", problem, "--json").stdout)["whole"]
    assert shown["state"] == "complete" and shown["finished"] == shown["datasets"] == N and shown["fits"] == 43 * N


def state(problem, *words):
    return helpers.json.loads(stiffit("status", problem, "--json", *words).stdout)["whole"]["state"]


def test_status_tells_running_from_killed(tmp):
    """A run that takes long: alive, suspended, and killed with what it started. The same with -o, which names another result,
    and in place."""
    problem = tmp / "p.h5"
    decay_problem(problem, 3000, model_name="decay")
    with h5py.File(problem, "r+") as f:
        f["model"].attrs["plugin"] = str(helpers.zoo("slow"))
        f.create_group("parameters").create_dataset("name", data=["k", "A"], dtype=h5py.string_dtype())
    for words, look in ((("-o", tmp / "other.h5"), ("-o", tmp / "other.h5")), ((), ()), (("--in-place",), ("-o", problem))):
        run = subprocess.Popen([helpers.STIFFIT, "run", problem, "--trust", "-q", "-j", "1", *words],
                               env=helpers.environment(), start_new_session=True)
        seen = state(problem, *look)
        while seen != "running":
            assert seen == "waiting" and run.poll() is None, (words, seen)  # it fits for half a minute
            time.sleep(0.02)
            seen = state(problem, *look)
        assert "running" in stiffit("status", problem, *look).stdout
        os.killpg(run.pid, signal.SIGSTOP)
        assert state(problem, *look) == "running", "suspended, but alive"
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        while state(problem, *look) == "running":  # its child dies a moment later
            time.sleep(0.02)
        assert state(problem, *look) == "stopped"
        journal, = tmp.glob("*.journal")
        # A process of another machine lives while the time of its file is of now, and is taken for dead after three minutes.
        log, = journal.glob("*.log")
        there = log.rename(journal / f"elsewhere{log.name[log.name.index('-', len(platform.node())):]}")
        for age, wanted in ((0, "running"), (170, "running"), (400, "stopped")):
            os.utime(there, (time.time() - age,) * 2)
            for other in journal.iterdir():
                if other != there:
                    os.utime(other, (time.time() - age,) * 2)
            assert state(problem, *look) == wanted, age
        shutil.rmtree(journal)
    assert "--output" in stiffit("status", problem, "-o", "x.h5", "--shards", 2, code=2).stderr


def test_status_of_a_forged_journal(tmp):
    """One that speaks, with a right checksum, of more datasets than anybody can count."""
    problem = tmp / "p.h5"
    decay_problem(problem, 3)
    stiffit("run", problem, "--trust", "-q", code=4, env=faults.environment(tmp, ("__finish", "rename", 1, "kill")))
    journal = next((tmp / "p.result.h5.journal").glob("*.log"))
    (kind, form, payload), *others = faults.frames(journal.read_bytes())
    for n_dataset in (3, 2**62):
        payload = payload[:104] + struct.pack("<Q", n_dataset) + payload[112:]
        journal.write_bytes(faults.framed([(kind, form, payload), *others]))
        shown = helpers.json.loads(stiffit("status", problem, "--json", timeout=30 * helpers.SANITIZER_SPEED).stdout)["whole"]
        assert shown["datasets"] == n_dataset and shown["finished"] == shown["fits"] == 3, shown


if __name__ == "__main__":
    helpers.main()
