"""What a fit asks its model for, as --trace tells it: never the same point twice with the same derivatives and tolerances.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import collections

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


if __name__ == "__main__":
    h.main()
