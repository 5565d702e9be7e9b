"""What a fit asks its model for, as --trace tells it: never the same point twice with the same derivatives and tolerances.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import collections

import h5py
import numpy as np

import helpers as h
import test_starts


def repeats(tmp, problem, *args):
    trace = tmp / "trace.csv"
    h.stiffit("run", problem, "--trust", "--trace", trace, "--overwrite", *args, code=None)
    with open(trace, newline="") as f:
        rows = [row for row in csv.DictReader(f) if row["kind"] in ("derivatives", "values", "gradient")]
    names = list(rows[0])
    parameters = names[names.index("tighter"):names.index("objective")]
    count = collections.Counter(tuple(row[name] for name in ("id", "task", "kind", *parameters)) for row in rows)
    return len(rows), [point for point, n in count.items() if n > 1]


def test_no_point_is_asked_for_twice(tmp):
    """Starts far away, where searches get stuck; data that are met exactly; noise that searches end in."""
    rng, t, n = np.random.default_rng(2), np.linspace(0.5, 12, 14), 20
    saturated = [(t, test_starts.saturation((V, K, 100.5), t) + 0.01 * rng.standard_normal(t.size))
                 for V, K in zip(rng.uniform(0.3, 2, n), rng.uniform(0.2, 2, n))]
    exact = [(t, test_starts.saturation((0.5 + 0.1 * i, 0.3, 100.0), t)) for i in range(n)]
    total = 0
    for name, data, scale in (("log", saturated, "log"), ("lin", saturated, "lin"), ("exact", exact, "log")):
        problem = test_starts.write(tmp / f"{name}.h5", test_starts.SATURATION, data, 0.01 if name != "exact" else np.nan,
                                    parameters={"name": ["V", "K", "b"], "start": [5.0, 0.5, 97.0],
                                                "scale": [scale, scale, "lin"]})
        for args in ((), ("--optimizer", "lbfgs"), ("--optimizer", "lbfgs", "--gradient", "adjoint"), ("--starts", 2)):
            n_asked, twice = repeats(tmp, problem, "--only", ",".join(f"d{i}" for i in range(6 if args else n)), *args)
            total += n_asked
            assert not twice, (name, args, n_asked, twice[:3])
    assert total > 1000, total


# A narrow valley b = sin(a) from the start to the optimum at a = FAR, b = sin(FAR); and parameters that only count.
FAR, N_OTHER = 10.0, 7
VALLEY = "".join(f"parameter c{i} = 0\nobserve other{i} = 2*c{i} sd 1\n" for i in range(N_OTHER)) + """
parameter a = 0 in [-100, 100]
parameter b = 0 in [-100, 100]
observe near = a sd 10
observe bottom = b - sin(a) sd 0.01
"""


def test_a_curved_valley_takes_few_derivatives(tmp):
    """Straight steps, bent by second derivatives alone, take 229; those that values correct and lengthen take 78. Of these
    trials without derivatives, 1 + 9/3 count as one evaluation."""
    text, plugin, trace = tmp / "valley.ode", tmp / "valley.so", tmp / "trace.csv"
    text.write_text(VALLEY)
    h.stiffit("model", "build", text, "-o", plugin)
    observables = [f"other{i}" for i in range(N_OTHER)] + ["near", "bottom"]
    rows = [[0, 1, i, FAR if name == "near" else 0, np.nan] for i, name in enumerate(observables)]
    h.write_problem(tmp / "p.h5", plugin, ["d0"], rows, parameters={"observables": observables})
    h.run(tmp / "p.h5")
    h.stiffit("run", tmp / "p.h5", "--trust", "--only", "d0", "--trace", trace)
    with open(trace, newline="") as f:
        rows = list(csv.DictReader(f))
    count = collections.Counter(row["kind"] for row in rows)
    a, b = float(rows[-1]["a"]), float(rows[-1]["b"])
    # a thousandth of the standard errors of a and, given a, of b: 10 and 0.01
    assert abs(a - FAR) < 0.01 and abs(b - np.sin(a)) < 1e-5, rows[-1]
    assert count["derivatives"] < 120, count
    with h5py.File(h.result_path(tmp / "p.h5")) as f:
        assert f["fits/evaluations"][0] == count["derivatives"] + -(-count["values"] // 4), (count, f["fits/evaluations"][0])


if __name__ == "__main__":
    h.main()
