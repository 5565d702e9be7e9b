"""Fast states that follow slower ones, x' = -F (x - sin(w t)): the closed form, and what the steps may be. An explicit method
resolves 1/F throughout, which costs ten to fifty times the steps of an implicit one without any step being unstable.

SPDX-License-Identifier: BSD-3-Clause
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import helpers  # noqa: E402

TOOL = helpers.BUILD / "tests" / "property" / "simulate_events"
TIMES = np.array([5.0, 10.0, 20.0])
CASES = [(1e2, 0.5, 1e-8), (1e3, 0.5, 1e-8), (1e3, 0.5, 1e-10), (1e3, 2.0, 1e-8), (1e3, 2.0, 1e-10), (3e3, 0.5, 1e-10),
         (3e3, 2.0, 1e-8), (3e3, 2.0, 1e-10), (1e4, 0.5, 1e-10), (1e4, 2.0, 1e-10)]


def follower(rate, frequency):
    return (f"parameter a = 1, b = 1\nx(0) = 0; y(0) = 1\nx' = -a*{rate!r}*(x - b*sin({frequency!r}*t))\n"
            "y' = x - y\nobserve x, y\n")


def test_followers(_):
    with tempfile.TemporaryDirectory(prefix="stiffit-followers-") as folder:
        commands = []
        for i, (rate, frequency, rtol) in enumerate(CASES):
            path = pathlib.Path(folder) / f"m{i}.ode"
            path.write_text(follower(rate, frequency))
            commands += [f"model {path}", *(f"time {t!r} 0" for t in TIMES.tolist()),
                         *(f"evaluate {rtol!r} {wants} {lanes} 1.0 1.0" for wants in (0, 1) for lanes in (1, 0))]
        done = subprocess.run([TOOL], input="\n".join(commands) + "\n", capture_output=True, text=True,
                              check=False, timeout=100)
    helpers.assert_no_report(done, "simulate_events")
    assert done.returncode == 0, done.stderr[-3000:]
    said = done.stdout.split("\n")
    for rate, frequency, rtol in CASES:
        # long after the start, a: d/da of the same form with the rate a F
        phase = frequency*TIMES
        x = rate*(rate*np.sin(phase) - frequency*np.cos(phase))/(rate**2 + frequency**2)
        for wants in (0, 1):
            steps = []
            for way in ("lanes", "CVODES"):
                head, rows, _ = (said.pop(0) for _ in range(3))
                outcome, _, n_step = head.split(" ", 3)[:3]
                assert outcome == "0", (rate, frequency, rtol, way, head)
                steps.append(int(n_step))
                error = np.abs(np.array([float(v) for v in rows.split()])[::2] - x).max()
                # so many tolerances at the most are the errors of hard models (stiffit-internals(7))
                assert error <= 1000*rtol, (rate, frequency, rtol, way, error)
            print(f"F {rate:g}, w {frequency:g}, rtol {rtol:g}, {'with' if wants else 'no'} sensitivities: "
                  f"{steps[0]} steps, CVODES {steps[1]}")
            # an order of 5 needs fewer steps than BDF; 300 are what it takes to be sure
            assert steps[0] <= steps[1] + 300, (rate, frequency, rtol, wants, steps)


if __name__ == "__main__":
    helpers.main()
