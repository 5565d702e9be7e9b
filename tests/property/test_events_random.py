"""Random models with doses, infusions, inputs, switches and events: values on all sides of what happens against SciPy's, and
sensitivities against differences. 280 in make check; 8,000 in check-all.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 7200

event_stories makes the models and integrates them with solve_ivp; simulate_events runs them in the engine, each with
sensitivities three times: alone, and twice in turns with another one, with the same bits.
"""
import collections
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
from event_stories import Story, Trajectory, Uncertain  # noqa: E402

TOOL = helpers.BUILD / "tests" / "property" / "simulate_events"
FIRST_SEED = 50_000_000
N_SEED = (8000 if helpers.SLOW else 60 if helpers.QUICK else 280) // (20 if helpers.SANITIZE else 1)
N_BATCH = 20
RTOL = 1e-10
# Errors of these models reach some ten times the tolerance; that of one step in a million across a switch, a thousand times.
TOLERANCE = 3e-7
# Lanes have a lower order, and one lane of eight is in use here.
RTOL_LANES, TOLERANCE_LANES, SHARP_LANES = 1e-8, 1e-5, 1e-4
RATIO = 1.7          # of the wide difference to the narrow one
STEP = 2.0**-10      # of the parameters, in the direction of differences
MOVED = (-RATIO, -1, 1, RATIO)
SHARP = 1e-5         # of what is compared with differences
# Differences that do not agree with a derivative are taken again, of SciPy's values: a smaller step has less in it that happens
# in another order.
SMALL, SHARP_SMALL = 1e-5, 1e-4


def direction(story):
    rng = np.random.default_rng(story.n_parameter + len(story.measurement))
    return np.array(story.p)*rng.uniform(-1, 1, story.n_parameter)


def simulated(stories, paths):
    """For each story, (outcome, crosses, steps, reason), rows and derivatives at its parameters, by CVODES and in lanes,
    then at the moved ones."""
    lines = []
    for story, path in zip(stories, paths):
        lines += story.commands(path)
        lines.append(" ".join(map(repr, ["evaluate", RTOL, 1, 0, *story.p])).replace("'", ""))
        lines.append(" ".join(map(repr, ["evaluate", RTOL_LANES, 1, 1, *story.p])).replace("'", ""))
        for by in MOVED:
            p = [float(x) for x in np.array(story.p) + by*STEP*direction(story)]
            lines.append(" ".join(map(repr, ["evaluate", RTOL, 0, 0, *p])).replace("'", ""))
    done = subprocess.run([TOOL], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False, timeout=3600)
    helpers.assert_no_report(done, "simulate_events")
    assert done.returncode == 0, (done.returncode, done.stderr[-3000:])
    said, found = done.stdout.split("\n"), []
    for story in stories:
        one = []
        for _ in range(2 + len(MOVED)):
            head = said.pop(0).split(" ", 3)
            assert len(head) == 4, (story.rng, head)
            rows, derivatives = (np.array(list(map(float, said.pop(0).split()))) for _ in range(2))
            rows = rows.reshape(-1, story.n_state)
            one.append((*map(int, head[:3]), head[3], rows, derivatives))
        found.append(one)
    return found


def differences(story, by):
    """Of SciPy's values, along the direction."""
    p, v = np.array(story.p), direction(story)
    up, down = (np.array(Trajectory(story, list(p + d*v), RTOL/100).rows) for d in (by, -by))
    return (up - down)/(2*by)


def compare(story, exact, found):
    """What was compared, and what was wrong."""
    outcome, crosses, _, reason, rows, derivatives = found[0]
    if outcome != 0:
        return "failed", f"fault: outcome {outcome}: {reason}"
    size = np.abs(exact).max(axis=0) + 0.1
    lanes = found.pop(1)
    for name, values, tolerance in (("CVODES", rows, TOLERANCE), ("lanes", rows if lanes[0] else lanes[4], TOLERANCE_LANES)):
        wrong = np.abs(values - exact) > tolerance*size
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            return "compared", (f"fault: y{j} at {story.measurement[i]} by {name} is {values[i, j]!r}, SciPy says "
                                f"{exact[i, j]!r}")
    if lanes[0] == 0 and (lanes[1] != crosses or not crosses and np.any(
            np.abs(lanes[5] - derivatives) > SHARP_LANES*max(np.abs(derivatives).max(), 0.1))):
        return "compared", f"fault: derivatives in lanes differ by {np.abs(lanes[5] - derivatives).max()}, {lanes[1]} {crosses}"
    if crosses:
        return "without derivatives", None
    if any(one[0] for one in found[1:]):
        return "compared", None
    along = derivatives.reshape(story.n_parameter, len(story.measurement), story.n_state).transpose(1, 2, 0) @ direction(story)
    d = [one[4] for one in found[1:]]
    near, far = (d[2] - d[1])/(2*STEP), (d[3] - d[0])/(2*RATIO*STEP)
    best, unsure = (RATIO**2*near - far)/(RATIO**2 - 1), np.abs(near - far)
    size = np.maximum(size, np.abs(along).max(axis=0))
    good = unsure <= 1e-3*size
    if (good & (np.abs(along - best) > SHARP*size + 0.3*unsure)).any():
        try:
            near, far = (differences(story, by) for by in (SMALL/3, SMALL))
        except Uncertain:
            return "compared", None
        wrong = (np.abs(near - far) <= SHARP_SMALL*size) & (np.abs(along - near) > SHARP_SMALL*size)
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            return "compared", (f"fault: d y{j} at {story.measurement[i]} is {along[i, j]!r}, differences are {near[i, j]!r} "
                                f"and {far[i, j]!r}")
        return "compared", None
    return f"compared, with good differences{' and lanes' if lanes[0] == 0 else ''}" if good.all() else "compared", None


def judged(first, count):
    """[seed, what was compared, what was wrong] of some seeds."""
    stories, exact, lines = [], [], []
    for seed in range(first, first + count):
        story = Story(seed)
        try:
            exact.append(np.array(Trajectory(story, story.p, RTOL).rows))
            stories.append((seed, story))
        except Uncertain as why:
            lines.append((seed, "uncertain", str(why)))
    with tempfile.TemporaryDirectory(prefix="stiffit-events-") as folder:
        paths = [pathlib.Path(folder) / f"m{seed}.ode" for seed, _ in stories]
        for (_, story), path in zip(stories, paths):
            path.write_text(story.text)
        found = simulated([story for _, story in stories], paths)
    for (seed, story), rows, one in zip(stories, exact, found):
        lines.append((seed, *compare(story, rows, one)))
    return lines


@helpers.both
def test_random_events(_):
    print(f"seeds {FIRST_SEED} to {FIRST_SEED + N_SEED - 1}")
    with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        starts = range(FIRST_SEED, FIRST_SEED + N_SEED, N_BATCH)
        lines = sum(pool.map(judged, starts, [min(N_BATCH, FIRST_SEED + N_SEED - first) for first in starts]), [])
    counts = collections.Counter(line[1] for line in lines)
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    wrong = [line for line in lines if line[2] and line[2].startswith("fault")]
    print("\n".join(": ".join(map(str, line)) for line in wrong))
    assert not wrong, wrong[:20]
    # That most stories are certain, and their differences good, is part of the test.
    assert counts["uncertain"] <= 0.25*N_SEED and counts["without derivatives"] <= 0.05*N_SEED, counts
    assert sum(n for what, n in counts.items() if "good" in what) >= 0.6*N_SEED, counts
    assert counts["compared, with good differences and lanes"] >= 0.2*N_SEED, counts


if __name__ == "__main__":
    helpers.main()
