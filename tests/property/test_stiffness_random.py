"""Random models whose stiffness begins and ends (stiff_models.py), or that couple states fast for a time
(coupling_models.py), in lanes that change their method: states and derivatives against CVODES at tolerances a thousand times
tighter, and attempts at steps against the steps of CVODES.

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
from coupling_models import CouplingModel  # noqa: E402
from stiff_models import StiffModel  # noqa: E402

TOOL = helpers.BUILD / "tests" / "property" / "judge_turns"
N_MODEL = (10_000 if helpers.SLOW else 30 if helpers.QUICK else 100) // (10 if helpers.SANITIZE else 1)
N_COUPLING = (10_000 if helpers.SLOW else 40 if helpers.QUICK else 100) // (10 if helpers.SANITIZE else 1)
N_BATCH = 10
LANES = ("lanes", "lanes-states", "lanes-stiff")
OUTCOME, STEPS, ATTEMPTS, IMPLICIT, STATES, DERIVATIVES = range(6)


def judged(folder, texts):
    """{seed: {way: numbers}}"""
    names = {f"m{seed}.ode": seed for seed in texts}
    for name, seed in names.items():
        (folder / name).write_text(texts[seed])
    done = subprocess.run([TOOL, *names], cwd=folder, capture_output=True, text=True, check=False, timeout=3600)
    helpers.assert_no_report(done, "judge_turns")
    assert done.returncode == 0, done.stderr[-3000:]
    found = {}
    for line in done.stdout.splitlines():
        name, *ways = line.split(" | ")
        found[names[name]] = {word: [float(x) for x in numbers] for word, *numbers in (way.split() for way in ways)}
    assert len(found) == len(names), done.stdout
    return found


def judge_models(tmp, kind, n_model):
    """All models that CVODES computes at both of its tolerances: {seed: {way: numbers}}"""
    batches = [range(first, min(first + N_BATCH, n_model)) for first in range(0, n_model, N_BATCH)]
    results = {}
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for found in pool.map(lambda seeds: judged(pathlib.Path(tmp), {seed: kind(seed).text for seed in seeds}), batches):
            results |= found
    return {seed: of for seed, of in results.items() if of["exact"][OUTCOME] == of["cvodes"][OUTCOME] == 0}


def is_wrong(of, cvodes):
    # so many tolerances at the most are the errors of hard models (stiffit-internals(7)), and more where CVODES's are larger:
    # what is chaotic, or unstable for a time
    return any(of[kind] > max(1000, 10*cvodes[kind]) for kind in (STATES, DERIVATIVES))


def test_random_stiffness(tmp):
    results = judge_models(tmp, StiffModel, N_MODEL)
    failed, slow, wrong, ratios, changed = [], [], [], {STATES: [], DERIVATIVES: []}, 0
    for seed in results:
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
            if is_wrong(of, cvodes):
                wrong.append((seed, way, of, cvodes))
            for kind in (STATES, DERIVATIVES):
                if way == "lanes" and cvodes[kind] > 0:
                    ratios[kind].append(of[kind]/cvodes[kind])
    medians = [float(np.median(ratios[kind])) for kind in (STATES, DERIVATIVES)]
    print(f"{len(results)} of {N_MODEL} judged; {len(failed)} failed, {len(slow)} slow, {len(wrong)} wrong; in {changed} "
          f"evaluations the method changed; errors over CVODES's, medians: {medians[0]:.3g} {medians[1]:.3g}")
    print("\n".join(map(str, [*slow, *wrong, *failed][:40])))
    assert len(results) >= 0.8*N_MODEL and changed >= len(results)
    # a window that no step meets is not seen by any integrator, and what is unstable enlarges errors
    assert len(wrong) <= max(1, 0.003*len(LANES)*len(results)), wrong[:10]
    assert len(slow) <= 0.0005*len(results) and len(failed) <= 0.002*len(results), (slow[:10], failed[:10])
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


def test_random_couplings(tmp):
    results = judge_models(tmp, CouplingModel, N_COUPLING)
    failed, wrong = [], []
    for seed, of in results.items():
        for way in LANES:
            told = failed if of[way][OUTCOME] else wrong if is_wrong(of[way], of["cvodes"]) else []
            told.append((seed, way, of[way], of["cvodes"]))
    print(f"{len(results)} of {N_COUPLING} judged; {len(failed)} failed, {len(wrong)} wrong")
    print("\n".join(map(str, [*wrong, *failed][:40])))
    assert len(results) >= 0.8*N_COUPLING
    # a gap in a coupling that is in no stage of a step is not seen
    assert len(wrong) <= 0.001*len(LANES)*len(results), wrong[:10]
    assert len(failed) <= 0.001*len(LANES)*len(results), failed[:10]


def test_coupling_that_ends(tmp):
    """A state follows another one until about t = 2. Estimates of its error that are damped by the coupling of a step's
    beginning let it leave too late, at all tolerances."""
    text = ("parameter a = 1.878, g = 1.12, d = 0.183\nz(0) = 1\nz' = -0.3*z\nx(0) = 1\n"
            "x' = -(d + 1e8*(1 - 1/(1 + exp(-(t - a)/0.03))))*(x - g*z)\nobserve x\n")
    for rtol, of in judged(tmp, {rtol: f"# {rtol} 4\n{text}" for rtol in ("1e-4", "1e-6", "1e-8", "1e-10")}).items():
        assert all(of[way][OUTCOME] == 0 and not is_wrong(of[way], of["cvodes"]) for way in LANES), (rtol, of)


def test_gap_in_a_coupling(tmp):
    """A state that is released for a time that is shorter than steps, with a measurement in it."""
    text = ("parameter g = 0.4344, k = 0.8226, p = 7.725e8\nz(0) = 0.455\nz' = -k*z\nc(0) = 0\nc' = 1.5/(1 + c)\nx(0) = 1\n"
            "x' = -p*(1/(1 + exp((c - 0.8994)/0.002817)) + 1/(1 + exp(-(c - 1.029)/0.002817)))*(x - g*z) + 0.38\nobserve x\n")
    for rtol, of in judged(tmp, {rtol: f"# {rtol} 1.13\n{text}" for rtol in ("1e-4", "1e-6", "1e-8")}).items():
        assert all(of[way][OUTCOME] == 0 and not is_wrong(of[way], of["cvodes"]) for way in LANES), (rtol, of)


def test_zero_at_a_coupling_that_ends(tmp):
    """What drives a state from zero, and how fast it decays, belong together: by the rate of now and the decay of later it
    would become 1e5, and errors of that size's tolerances would remain when the coupling has ended."""
    text = "parameter p = 265500\nx(0) = 0\nx' = -p*exp(-t/0.02441)*(x - 1)\nobserve x\n"
    for rtol, of in judged(tmp, {rtol: f"# {rtol} 4\n{text}" for rtol in ("1e-4", "1e-6", "1e-8", "1e-10")}).items():
        assert all(of[way][OUTCOME] == 0 and not is_wrong(of[way], of["cvodes"]) for way in LANES), (rtol, of)
        assert of["cvodes"][STATES] <= 1, (rtol, of)  # at the end x is 1, but for exp(-6481)


if __name__ == "__main__":
    helpers.main()
