"""What happens at one time, at the initial time and at a measurement's time, against what the manual says; and where the
derivatives do not exist, the engine says so.

SPDX-License-Identifier: BSD-3-Clause

simulate_events runs the models. With tau = 1 and x' = 0, x(0) = 1 unless said otherwise.
"""
import pathlib
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import helpers  # noqa: E402

TOOL = helpers.BUILD / "tests" / "property" / "simulate_events"
HEAD = "parameter tau = 1\nparameter b = 1\nx' = 0\nx(0) = b\nobserve x\n"
SIDES = [(1, -1), (1, 0), (1, 1)]
CVODES, LANES = 0, 1  # as simulate_events has them
RTOL = (1e-10, 1e-8)


def simulated(tmp, text, times, commands=(), p=(1, 1), engine=CVODES):
    """Outcome or reason, whether derivatives are missing, values (times x observables), derivatives (by parameter)."""
    (tmp / "m.ode").write_text(text)
    lines = [f"model {tmp}/m.ode", *commands, *(f"time {t!r} {side}" for t, side in times),
             f"evaluate {RTOL[engine]} 1 {engine} " + " ".join(map(repr, p))]
    done = subprocess.run([TOOL], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True, timeout=60)
    head, values, derivatives = done.stdout.split("\n")[:3]
    outcome, crosses, _, reason = head.split(" ", 3)
    if outcome != "0":
        return reason, None, None, None
    rows = np.array(list(map(float, values.split()))).reshape(len(times), -1)
    return "", crosses == "1", rows, np.array(list(map(float, derivatives.split()))).reshape(len(p), len(times), -1)


def check(tmp, text, times, values, crosses, commands=(), p=(1, 1), by=None):
    """values: of the first observable; by: its derivatives by parameter 0."""
    for engine in (CVODES, LANES):
        reason, missing, rows, derivatives = simulated(tmp, text, times, commands, p, engine)
        assert reason == "", (text, reason)
        # The integrators are exact for what is constant; for the rest, a hundred times their tolerances.
        np.testing.assert_allclose(rows[:, 0], values, rtol=100*RTOL[engine], atol=10*RTOL[engine], err_msg=text)
        assert missing == crosses, (text, engine, missing)
        if by is not None:
            np.testing.assert_allclose(derivatives[0, :, 0], by, rtol=1000*RTOL[engine], atol=100*RTOL[engine], err_msg=text)


def test_two_events_at_one_time(tmp):
    """In the order of the text; each sees what the other has done. No derivative exists if they move differently."""
    later = [(0.5, 0), (2, 0)]
    check(tmp, HEAD + "event one at tau: x = x + 1\nevent two at tau: x = 2*x\n", later, [1, 4], False)
    check(tmp, HEAD + "event two at tau: x = 2*x\nevent one at tau: x = x + 1\n", later, [1, 3], False)
    check(tmp, HEAD + "event one at tau: x = x + 1\nevent two at b: x = 2*x\n", later, [1, 4], True)
    check(tmp, HEAD + "event one at tau: x = x + 1\nevent two at 1: x = 2*x\n", later, [1, 4], True)
    check(tmp, HEAD + "event one at 1: x = x + 1\nevent two at 1 priority 1: x = 2*x\n", later, [1, 3], False)
    # Those that one cause brings about move with it, also after a delay.
    check(tmp, HEAD + "event one at tau: x = x + 1\nevent two when x > 1.5: x = 2*x\n", later, [1, 4], False)
    text = HEAD + "event one at tau: x = x + 1\nevent two when x > 1.5 delay 1: x = 2*x\nevent three at tau + 1: x = x + 1\n"
    check(tmp, text, [(3, 0)], [5], False)
    # An explicit condition is a root, and its time as fixed as the other's; also at a measurement.
    check(tmp, HEAD + "event one when t >= 1: x = x + 1\nevent two at 1 priority 9: x = 2*x\n", [*SIDES, (2, 0)], [1, 3, 3, 3],
          False, by=[0, 0, 0, 0])
    check(tmp, HEAD + "event one when t >= 1: x = x + 1\nevent two when t >= tau: x = 2*x\n", later, [1, 4], True)
    check(tmp, HEAD + "event one when t >= 1: x = x + 1\n", SIDES, [1, 2, 2], False)
    check(tmp, HEAD + "event one when t >= tau: x = x + 1\n", SIDES, [1, 2, 2], True)
    # Roots at one time, y = t: those of one threshold move together, those of two do not.
    ramp = HEAD + "y' = 1\ny(0) = 0\n"
    check(tmp, ramp + "event one when y > tau: x = x + 1\nevent two when 2*y > 2*tau: x = 2*x\n", later, [1, 4], False,
          by=[0, 0])
    check(tmp, ramp + "event one when y > tau: x = x + 1\nevent two when y > b: x = 2*x\n", later, [1, 4], True)


def test_an_event_at_a_measurement(tmp):
    check(tmp, HEAD + "event one at 1: x = x + 1\n", SIDES, [1, 2, 2], False, by=[0, 0, 0])
    check(tmp, HEAD + "event one at tau: x = x + 1\n", SIDES, [1, 2, 2], True)
    check(tmp, HEAD + "event one at tau: x = x + 1\n", [(0.999, 0), (1.001, 0)], [1, 2], False, by=[0, 0])
    # A measurement at the end, before what happens: without it the evaluation would be finished.
    check(tmp, HEAD + "event one at tau: x = x + 1\n", [(1, -1)], [1], True)
    dose = "dose 0.5 1 0 0 1 0"
    check(tmp, HEAD + "lag(x) = 0.5*tau\n", SIDES, [1, 1, 2], True, [dose])
    check(tmp, HEAD + "lag(x) = 0.5\n", SIDES, [1, 1, 2], False, [dose])
    # A lag cannot become negative: measured before the dose, it has the derivative that exists; behind it, it has none.
    check(tmp, HEAD + "lag(x) = tau - 1\n", [(0.5, -1), (0.5, 0)], [1, 1], False, [dose], by=[0, 0])
    check(tmp, HEAD + "lag(x) = tau - 1\n", [(0.5, 0), (0.5, 1)], [1, 2], True, [dose])
    # The end of an infusion whose beginning moves; and a switch.
    check(tmp, HEAD + "lag(x) = 0.5*tau\n", [(0.9, 0), (1.5, 0), (2, 0)], [1, 3, 3], True, ["dose 0.5 2 0.5 0 1 0"])
    ramp = HEAD.replace("x' = 0", "x' = if t < tau then 0 else 1")
    check(tmp, ramp, [(0.5, 0), (1, 0), (2, 0)], [1, 1, 2], True)
    check(tmp, ramp, [(0.5, 0), (2, 0)], [1, 2], False, by=[0, -1])


def test_at_the_initial_time(tmp):
    begin = [(0, -1), (0, 0), (0, 1)]
    check(tmp, HEAD + "event one at 0: x = x + 1\n", begin, [1, 2, 2], False)
    check(tmp, HEAD + "event one at tau - 1: x = x + 1\n", [(2, 0)], [2], True)   # before the initial time it does not happen
    check(tmp, HEAD + "event one at tau - 1.5: x = x + 1\n", [(2, 0)], [1], False)
    check(tmp, HEAD + "event one when x >= 1: x = x + 1\n", [(0, 0), (2, 0)], [1, 1], False)
    check(tmp, HEAD + "event one when x >= 1 initially false: x = x + 1\n", begin, [1, 2, 2], False)
    check(tmp, HEAD, begin, [1, 1, 2], False, ["dose 0 1 0 0 1 0"])
    check(tmp, HEAD, [*begin, (2, 0)], [1, 1, 1, 2], False, ["dose 0 1 1 0 1 0"])
    check(tmp, HEAD + "event one when x > 1.5: x = 10*x\n", begin, [1, 1, 20], False, ["dose 0 1 0 0 1 0"])


def test_two_doses_at_one_time(tmp):
    two = ["dose 1 1 0 0 1 0", "dose 1 2 0 0 1 0"]
    check(tmp, HEAD, SIDES, [1, 1, 4], False, two)
    # Repetitions of one meet another; what the first causes comes before the second.
    check(tmp, HEAD, [(2, 0), (2, 1), (3, 1)], [2, 5, 6], False, ["dose 1 1 0 1 3 0", "dose 2 2 0 0 1 0"])
    check(tmp, HEAD + "event one when x > 1.5: x = 10*x\n", SIDES, [1, 1, 22], False, two)
    # An infusion that ends where the next one begins.
    check(tmp, HEAD, [(1, 0), (1.5, 0), (2, 0), (3, 0)], [1, 1.5, 2, 4], False, ["dose 1 1 1 0 1 0", "dose 2 2 1 0 1 0"])


def test_two_doses_that_move_differently(tmp):
    """One into y moves by tau, one into x does not: no derivative, but where their effects on the right-hand side add up, so
    that their order does not matter."""
    two, times = ["dose 0 1 0 0 1 1", "dose 1 1 0 0 1 0"], [(0.5, 0), (3, 0)]
    head = HEAD + "lag(y) = tau\ny(0) = 0\n"
    check(tmp, head + "y' = -y\n", times, [1, 2], False, two, by=[0, 0])
    # x' = y: x(3) = 2 + 1 - e^(-2), and later by dtau, less by e^(-2) dtau
    linear = head.replace("x' = 0", "x' = y")
    check(tmp, linear + "y' = -y\n", times, [1, 3 - np.exp(-2)], False, two, by=[0, -np.exp(-2)])
    # x' = x y after t = 1: x(3) = 2 e^(1 - e^(-2)) if the dose into x comes first; its change with tau depends on the order.
    check(tmp, head.replace("x' = 0", "x' = x*y") + "y' = -y\n", times, [1, 2*np.exp(1 - np.exp(-2))], True, two)
    # Infusions add to the rate alone: an end that moves where another one begins, x' = -x^2.
    curved = HEAD.replace("x' = 0", "x' = -x^2").replace("x(0) = b", "x(0) = 0") + "lag(x) = tau\n"
    curved += "y' = -y^2\ny(0) = 0\nobserve y\n"
    infusions = ["dose 0 1 1 0 1 0", "dose 2 1 1 0 1 1"]

    # x(2) = tanh(1) for the first; then x' = -x^2, x(3) = 1/(1/tanh(1) + 1), and later by dtau
    last = 1/(1/np.tanh(1) + 1)
    check(tmp, curved, [(0.5, 0), (3, 0)], [0, last], False, infusions, by=[0, last**2])
    check(tmp, curved + "event one when x > 99: x = 0\n", [(3, 0)], [last], True, infusions)


def test_early_values_assign_what_they_name(tmp):
    """The other states are those of the execution. Columns: y, x."""
    text = HEAD.replace("x' = 0", "x' = y").replace("x(0) = b", "x(0) = 0\ny' = 0\ny(0) = b\nobserve y")
    text += "event one at 1 delay 1 early values: y = x + y\n"
    reason, _, rows, _ = simulated(tmp, text, [(2, -1), (2, 0), (3, 0)])
    assert reason == ""
    np.testing.assert_allclose(rows, [[1, 2], [2, 2], [2, 4]], rtol=1e-9)


def test_a_trigger_that_grazes(tmp):
    """x = 2 t - t^2 has its largest value 1 at t = 1, and tau is the threshold."""
    text = "parameter tau = 1\nparameter b = 1\nx' = 2 - 2*t\nx(0) = 0\nz' = 0\nz(0) = 0\nobserve z\n"
    text += "event one when x > tau: z = z + b\n"
    for tau, happens, crosses in ((0.9, 1, False), (1 - 1e-10, 1, True), (1.001, 0, False)):
        check(tmp, text, [(2, 0)], [happens], crosses, p=(tau, 1))


def test_relative_accuracy_and_stops(tmp):
    """What depends on the logarithm of a state that nearly vanishes is integrated again with relative tolerances, events and
    doses included: x = e^(-60 t), then 1e-9 at t = 1, and 1e-9 of a dose at t = 1.5, in the time of tau."""
    text = ("parameter tau = 1\nparameter b = 1\nx' = -60*tau*x\nx(0) = b\nobserve l = log(x)\n"
            "event one at 1: x = 1e-9*b\nevent two when x < 1e-20 delay 0.1: x = 1e-15\n")
    times = [(0.5, 0), (1, -1), (1, 0), (1.4, 0), (1.5, 1)]

    # x < 1e-20 at t = log(1e20)/60 = 0.7675, hence x = 1e-15 at 0.8675
    def log_x(tau):
        rate, low = 60*tau, np.log(1e20)/(60*tau) + 0.1
        at_one = np.log(1e-15) - rate*(1 - low)
        second = 1 + np.log(1e-9/1e-20)/rate + 0.1
        late = np.log(1e-9) - 0.4*rate if second > 1.4 else np.log(1e-15) - rate*(1.4 - second)
        end = np.log(np.exp(late - 0.1*rate if second < 1.4 or second > 1.5 else np.log(1e-15) - rate*(1.5 - second)) + 1e-9)
        return np.array([-0.5*rate, at_one, np.log(1e-9), late, end])
    h = 1e-5
    check(tmp, text, times, log_x(1.0), False, ["dose 1.5 1e-9 0 0 1 0"], by=(log_x(1 + h) - log_x(1 - h))/(2*h))


def test_switched_linear_systems(tmp):
    """One that decays at another rate below its threshold, and a relay with a gap between on and off."""
    text = "parameter tau = 1\nparameter b = 1\nx(0) = 3\nobserve x\n"
    times = np.array([0.3, 0.6, 2.0, 5.0])
    at = np.log(3)/2
    decay = np.where(times < at, 3*np.exp(-2*times), np.exp(-(times - at)))
    check(tmp, text + "x' = if x > tau then -2*x else -b*x\n", [(t, 0) for t in times.tolist()], decay, False,
          by=np.where(times < at, 0, decay/2))

    def relay(t, tau):
        """y' = pump - y: 1 until y = tau, 0 until y = tau/4, and so on."""
        y, since, on = 0.0, 0.0, True
        while True:
            end = since + (np.log((1 - y)/(1 - tau)) if on else np.log(y/(tau/4)))
            if t < end:
                return 1 - (1 - y)*np.exp(since - t) if on else y*np.exp(since - t)
            y, since, on = (tau if on else tau/4), end, not on
    text = ("parameter tau = 0.8\nparameter b = 1\ny' = pump - b*y\npump' = 0\ny(0) = 0\npump(0) = 1\nobserve y\n"
            "event off when y > tau: pump = 0\nevent on when y < tau/4: pump = 1\n")
    times, step = [0.5, 1.5, 2.0, 3.2, 4.0, 5.0, 6.5, 9.0], 1e-5
    check(tmp, text, [(t, 0) for t in times], [relay(t, 0.8) for t in times], False, p=(0.8, 1),
          by=[(relay(t, 0.8 + step) - relay(t, 0.8 - step))/(2*step) for t in times])


def test_for_ever(tmp):
    text = HEAD + "event one when x > 1.5: x = 0\nevent back when x < 1: x = 2\nevent go at 1: x = 2\n"
    reason, _, _, _ = simulated(tmp, text, [(2, 0)])
    assert reason == "the event back is executed for ever at t = 1", reason


if __name__ == "__main__":
    helpers.main()
