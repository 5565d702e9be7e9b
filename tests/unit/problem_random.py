"""Random problem files with experiments, doses, inputs and substitutes, and what they mean.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np


def start(f):
    f.attrs["stiffit_file"] = "problem"
    f.attrs["format"] = 1


def number(rng):
    return rng.randrange(-4000, 4000) / 8


def write_random(f, listing, rng, has_experiments):
    """Every table by its rules in random sizes; one in a thousand datasets has many experiments, one experiment many rows."""
    start(f)
    f["parameters/name"] = ["k", "k2"]
    f["parameters/start"] = [0.5, -2.0]
    rows = {name: [] for name in ("id", "owner", "eid", "t0", "cov", "m", "d", "k", "s")}
    n_dataset = 3000 if has_experiments else 8000
    for d in range(n_dataset):
        rows["id"].append("set %d" % d)
        n_experiment = rng.choice([1, 1, 2, 3]) if has_experiments else 1
        if has_experiments and d in (7, 1500):
            n_experiment = 4000
        listing.write("dataset set %d\n" % d)
        for k in range(n_experiment):
            e = len(rows["t0"])
            t0 = -500 + number(rng)
            cov = number(rng)
            rows["owner"].append(d)
            rows["eid"].append("e%d" % k)
            rows["t0"].append(t0)
            rows["cov"].append(cov)
            listing.write("E %s %.17g %.17g\n" % ("e%d" % k if has_experiments else "", t0, cov))
            for _ in range(70000 if e == 99 else rng.randrange(1, 4)):
                row = (e, 600 + number(rng), number(rng), rng.randrange(2), rng.randrange(-1, 2))
                rows["m"].append(row)
                listing.write("m %.17g %.17g %d %d\n" % (row[1], row[2], 1 - row[3], row[4]))
            doses = []
            for _ in range(66000 if e == 150 else rng.choice([0, 0, 1, 4])):
                time, amount, rate, duration = t0 + rng.randrange(100), 1 + abs(number(rng)), 0.0, 0.0
                if rng.random() < 0.3:
                    rate = float(rng.randrange(1, 5))
                elif rng.random() < 0.3:
                    duration = float(rng.randrange(1, 5))
                count = rng.choice([1, 1, 5])
                rows["d"].append((e, time, amount, rate, duration, 3.5, count, rng.randrange(2), rng.randrange(3)))
                doses.append((time, amount, duration, rate, 3.5, count, 2 - 2 * rows["d"][-1][7], rows["d"][-1][8]))
            for dose in sorted(doses, key=lambda dose: dose[0]):
                listing.write("d %.17g %.17g %.17g %.17g %.17g %d %d %d\n" % dose)
            knots = []
            for which in range(2):
                t = number(rng)
                for _ in range(rng.randrange(1, 4)):
                    t += 1 + rng.randrange(5)
                    knots.append((e, t, number(rng), which))
            rng.shuffle(knots)
            knots.sort(key=lambda knot: knot[1])
            rows["k"] += knots
            for which in (1, 0):  # the model has T, U; the file U, T
                for knot in knots:
                    if knot[3] == which:
                        listing.write("k %d %.17g %.17g\n" % (1 - which, knot[1], knot[2]))
            by = rng.randrange(-1, 2)
            rows["s"].append((e, 0, by, number(rng)))
            listing.write("s 0 %d %.17g\n" % (by, rows["s"][-1][3] if by < 0 else 0.0))
    owner = "experiment" if has_experiments else "dataset"
    group = "experiments" if has_experiments else "datasets"
    f["datasets/id"] = rows["id"]
    if has_experiments:
        f["experiments/dataset"] = rows["owner"]
        f["experiments/id"] = rows["eid"]
    f[group + "/covariate_names"] = ["other", "dose"]
    f[group + "/covariates"] = [[-1.0, c] for c in rows["cov"]]
    f[group + "/t0"] = rows["t0"]
    f["measurements/observable_names"] = ["B", "A"]
    f["doses/target_names"] = ["depot", "X"]
    f["inputs/input_names"] = ["U", "T"]
    f["substitutes/parameter_names"] = ["b"]
    f["substitutes/by_names"] = ["k", "k2"]
    for group, names, table in (
            ("measurements", (owner, "time", "value", "observable", "side"), "m"),
            ("doses", (owner, "time", "amount", "rate", "duration", "interval", "count", "target", "steady"),
             "d"),
            ("inputs", (owner, "time", "value", "input"), "k"), ("substitutes", (owner, "parameter", "by", "value"), "s")):
        for i, name in enumerate(names):
            f[group + "/" + name] = np.array([row[i] for row in rows[table]])
