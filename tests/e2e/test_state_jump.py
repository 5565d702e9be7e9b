"""Right-hand sides that jump where a state crosses a threshold: fits against the analytic solution and its derivatives.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np
from scipy.optimize import least_squares

import helpers as h

DIFFERENCE_GRADIENT, STATE_JUMP, NOT_CERTIFIED = 1 << 15, 1 << 19, 1 << 11
TIMES = np.array([0.5, 1, 1.5, 2, 3, 4, 6, 8, 10.0])
SIGMA = 0.03
MODEL = "parameter a = 1, x0 = 3\nx(0) = x0\nx' = if x > 1 then -a*x else -0.2*a*x\nobserve x\n"


def solution(q):
    a, x0 = q
    switch = np.log(x0) / a
    return np.where(TIMES < switch, x0 * np.exp(-a * TIMES), np.exp(-0.2 * a * (TIMES - switch)))


def slopes(q):
    a, x0 = q
    x, slow = solution(q), np.where(np.log(x0) / a > TIMES, 1, 0.2)
    return np.column_stack([-slow * TIMES * x, slow * x / x0])


def data(n, seed):
    rng = np.random.default_rng(seed)
    return solution((0.8, 2.5)) + SIGMA * rng.standard_normal((n, len(TIMES)))


def oracle(y):
    """The best fit by analytic slopes; the objective has kinks where the switch passes a measurement, hence the starts."""
    fits = [least_squares(lambda q: (solution(q) - y) / SIGMA, start, jac=lambda q: slopes(q) / SIGMA, xtol=1e-14, ftol=1e-14,
                          gtol=1e-14) for start in ((0.8, 2.5), (1, 3), (0.6, 2))]
    best = min(fits, key=lambda fit: fit.cost)
    return best.x, np.sqrt(np.diag(np.linalg.inv(best.jac.T @ best.jac))), best.cost


def problem(tmp, text, values):
    (tmp / "m.ode").write_text(text)
    rows = [(d, t, 0, v, SIGMA) for d, y in enumerate(values) for t, v in zip(TIMES, y)]
    return h.write_problem(tmp / "p.h5", None, [f"d{d}" for d in range(len(values))], rows)


def fit(tmp, path, *args):
    h.stiffit("run", path, "-m", tmp / "m.ode", "--overwrite", "-o", tmp / "r.h5", *args)
    return h.read_fits(tmp / "r.h5")


def test_twenty_of_twenty(tmp):
    values = data(20, 5)
    path = problem(tmp, MODEL, values)
    for args, gradient in (((), "forward"), (("--gradient", "differences"), "differences")):
        fits = fit(tmp, path, *args)
        assert set(fits["status"]) == {"converged"} and set(fits["gradient"]) == {gradient}, fits
        assert not np.any(fits["notes"] & STATE_JUMP)
        assert np.all(((fits["notes"] & DIFFERENCE_GRADIENT) != 0) == (gradient == "differences"))
        assert not np.any(fits["notes"] & NOT_CERTIFIED)
        for d, y in enumerate(values):
            best, error, cost = oracle(y)
            # Difference quotients are good to about 1e-6 (fit/objective/point.h): a hundredth of a standard error is far above.
            assert np.all(np.abs(fits["parameters"][d] - best) < 1e-2 * error), (d, args, fits["parameters"][d], best, error)
            assert np.all(np.abs(fits["standard_error"][d] / error - 1) < 1e-3), (d, args, fits["standard_error"][d], error)
            # the certificate lets a change by 1e-3 pass
            assert abs(fits["objective"][d] - cost) < 1e-3, (d, args, fits["objective"][d], cost)


def test_a_time_that_is_a_parameter(tmp):
    # x' = k from the time `lag` on: x = k (t - lag). Sensitivities by `lag` would be 0.
    text = "parameter k = 1, lag = 1.2\nx(0) = 0\nx' = if t > lag then k else 0\nobserve x\n"
    ramp = lambda q: q[0] * np.maximum(TIMES - q[1], 0)
    y = ramp((0.7, 1.3)) + SIGMA * np.random.default_rng(3).standard_normal(len(TIMES))
    fits = fit(tmp, problem(tmp, text, [y]))
    best = least_squares(lambda q: (ramp(q) - y) / SIGMA, (0.7, 1.3), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    error = np.sqrt(np.diag(np.linalg.inv(best.jac.T @ best.jac)))
    assert fits["status"][0] == "converged" and fits["gradient"][0] == "forward", fits
    assert np.all(np.abs(fits["parameters"][0] - best.x) < 1e-2 * error), (fits["parameters"], best.x, error)
    assert np.all(np.abs(fits["standard_error"][0] / error - 1) < 1e-3), (fits["standard_error"], error)


def test_what_does_not_jump_keeps_its_sensitivities(tmp):
    # Proved continuous; not proved, but continuous where it is crossed; never crossed; crossed at times that no parameter
    # moves; crossed within the last step, but after the last measurement.
    late = f"if x > {3 * np.exp(-1.001 * TIMES[-1])} then -a*x else -0.2*a*x"
    for rate in ("-a*max(x, 1)*0.5", "if x > 1 then -a*x else -a*(0.5*x + 0.5*x^2)",
                 "-a*x - (if x > 1 then exp(-9/(x - 1)) else 0)",
                 "if x > 100 then 0 else -a*x", "(if t > 1.7 then -a else -0.3*a)*x", late):
        text = f"parameter a = 1, x0 = 3\nx(0) = x0\nx' = {rate}\nobserve x\n"
        fits = fit(tmp, problem(tmp, text, data(1, 1)), "--max-evaluations", 1, "--accept-failed", 1)
        assert fits["gradient"][0] == "forward" and not fits["notes"][0] & STATE_JUMP, (rate, fits)


def test_a_start_at_a_measurement(tmp):
    """The pump starts at tau, whose start is the time of a measurement: the prediction there has a kink as tau moves."""
    text = ("parameter a = 1 in [0.01, 10], A = 1 in [0.01, 10], tau = 1 in [0, 10]\nx(0) = 0; pump(0) = 0; pump' = 0\n"
            "x' = pump - a*x\nevent start at tau: pump = A\nobserve x\n")

    def predicted(q):
        a, A, tau = q
        return A / a * (1 - np.exp(-a * np.maximum(TIMES - tau, 0)))
    rng = np.random.default_rng(3)
    values = predicted((0.6, 1.2, 0.75)) + SIGMA * rng.standard_normal((5, len(TIMES)))
    fits = fit(tmp, problem(tmp, text, values))
    assert np.all(fits["notes"] & STATE_JUMP), fits["notes"]
    assert set(fits["gradient"]) == {"differences"} and set(fits["status"]) == {"converged"}, fits["status"]
    for i, y in enumerate(values):
        best = min((least_squares(lambda q, y=y: (predicted(q) - y) / SIGMA, (1, 1, tau), jac="3-point", xtol=1e-13)
                    for tau in (0.6, 0.8, 1.01, 1.3)), key=lambda one: one.cost)
        # The optimum may be on the other side of a kink of the objective.
        assert fits["objective"][i] < best.cost * (1 + 1e-4), (fits["objective"][i], best.cost)
    free = fit(tmp, problem(tmp, text.replace("tau = 1 in", "tau = 0.9 in"), values))
    assert not np.any(free["notes"] & STATE_JUMP)


if __name__ == "__main__":
    h.main()
