"""Random models whose stiffness begins and ends (stiff_models.py), in lanes that change their method: states and derivatives
against CVODES at tolerances a thousand times tighter, and attempts at steps against the steps of CVODES.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 7200
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import helpers  # noqa: E402
from stiff_models import StiffModel  # noqa: E402

TOOL = helpers.BUILD / "tests" / "property" / "judge_turns"
N_MODEL = (10_000 if helpers.SLOW else 30 if helpers.QUICK else 100) // (10 if helpers.SANITIZE else 1)
N_BATCH = 10
LANES = ("lanes", "lanes-states", "lanes-stiff")
OUTCOME, STEPS, ATTEMPTS, IMPLICIT, STATES, DERIVATIVES = range(6)


def judged(first, folder):
    """{seed: {way: numbers}}"""
    names = {f"m{seed}.ode": seed for seed in range(first, min(first + N_BATCH, N_MODEL))}
    for name, seed in names.items():
        (folder / name).write_text(StiffModel(seed).text)
    done = subprocess.run([TOOL, *names], cwd=folder, capture_output=True, text=True, check=False, timeout=3600)
    helpers.assert_no_report(done, "judge_turns")
    assert done.returncode == 0, done.stderr[-3000:]
    found = {}
    for line in done.stdout.splitlines():
        name, *ways = line.split(" | ")
        found[names[name]] = {word: [float(x) for x in numbers] for word, *numbers in (way.split() for way in ways)}
    assert len(found) == len(names), done.stdout
    return found


@helpers.both
def test_random_stiffness(tmp):
    results = {}
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for found in pool.map(lambda first: judged(first, pathlib.Path(tmp)), range(0, N_MODEL, N_BATCH)):
            results |= found
    failed, slow, wrong, ratios, changed = [], [], [], {STATES: [], DERIVATIVES: []}, 0
    sure = [seed for seed, of in results.items() if of["exact"][OUTCOME] == of["cvodes"][OUTCOME] == 0]
    for seed in sure:
        cvodes = results[seed]["cvodes"]
        for way in LANES:
            of = results[seed][way]
            if of[OUTCOME]:
                failed.append((seed, way))
                continue
            changed += 0 < of[IMPLICIT] < of[ATTEMPTS]
            # BDF takes more steps; 300 are what it takes to be sure
            if of[ATTEMPTS] > 3*cvodes[STEPS] + 300:
                slow.append((seed, way, of, cvodes))
            for kind in (STATES, DERIVATIVES):
                # so many tolerances at the most are the errors of hard models (stiffit-internals(7)), and more where CVODES's
                # are larger: what is chaotic, or unstable for a time
                if of[kind] > max(1000, 10*cvodes[kind]):
                    wrong.append((seed, way, of, cvodes))
                if way == "lanes" and cvodes[kind] > 0:
                    ratios[kind].append(of[kind]/cvodes[kind])
    medians = [float(np.median(ratios[kind])) for kind in (STATES, DERIVATIVES)]
    print(f"{len(sure)} of {len(results)} judged; {len(failed)} failed, {len(slow)} slow, {len(wrong)} wrong; in {changed} "
          f"evaluations the method changed; errors over CVODES's, medians: {medians[0]:.3g} {medians[1]:.3g}")
    print("\n".join(map(str, [*slow, *wrong, *failed][:40])))
    assert len(sure) >= 0.8*len(results) and changed >= len(sure)
    # a window that no step meets is not seen by any integrator, and what is unstable enlarges errors
    assert len(wrong) <= max(1, 0.003*len(LANES)*len(sure)), wrong[:10]
    assert len(slow) <= 0.0005*len(sure) and len(failed) <= 0.002*len(sure), (slow[:10], failed[:10])
    assert max(medians) <= 0.3, medians  # what the methods' orders promise


def test_stiffness_that_ends_in_a_step(tmp):
    """A state that is held at 0.5 by a rate of 1e5, and released far from any measurement."""
    (tmp / "m.ode").write_text("# 1e-6 38.41\nparameter p = 99370, q = 0.1\nx(0) = 1\n"
                               "x' = -p*(x - 0.5)/(1 + exp(-(t - 6.652)/0.1396))/(1 + exp((t - 23.2)/0.1396)) - q*x\n"
                               "observe x\n")
    done = subprocess.run([TOOL, "m.ode"], cwd=tmp, capture_output=True, text=True, check=True, timeout=60)
    ways = {word: [float(x) for x in numbers] for word, *numbers in
            (way.split() for way in done.stdout.strip().split(" | ")[1:])}
    print(ways)
    for way in LANES:
        # ten times what CVODES makes of it, against tens of thousands
        assert ways[way][OUTCOME] == 0 and max(ways[way][STATES], ways[way][DERIVATIVES]) <= 100, ways


if __name__ == "__main__":
    helpers.main()
