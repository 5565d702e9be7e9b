"""The units of the states do not matter: the same data in other units give the same parameters, without any option.

SPDX-License-Identifier: BSD-3-Clause
"""
import re

import h5py
import numpy as np

import helpers as h

UNITS = (1e-12, 1, 1e12)
# What 0.1 standard errors or less are here: fits end where the objective (half -2 log L) promises 1e-9 of itself.
SAME = 1e-6


def in_unit(text, unit):
    """Model text whose states, and so its observables, are `unit` times what they were; its parameters are as before."""
    text = re.sub(r"#.*", "", text).replace("\\\n", " ")
    states = re.findall(r"(\w+)\(0\)\s*=", text)
    state = re.compile(r"\b(" + "|".join(states) + r")\b(?!\(0\))(?!\s*')")

    def scaled(expression):
        return state.sub(rf"(\1/{unit!r})", expression)

    lines = []
    for line in text.splitlines():
        if line.startswith(("model", "time", "parameter", "constant", "covariate")):
            lines.append(line)
            continue
        for statement in line.split(";"):
            left, equals, right = statement.strip().partition("=")
            if left.startswith("observe"):
                items = [item.partition("=") for item in statement.strip()[len("observe"):].split(",")]
                lines.append("observe " + ", ".join(f"{name.strip()} = {unit!r}*({scaled(what)})" if given else name.strip()
                                                    for name, given, what in items))
            elif equals and re.search(r"\(0\)\s*$|'\s*$", left):
                lines.append(f"{left.strip()} = {unit!r}*({scaled(right)})")
            elif equals:
                lines.append(f"{left.strip()} = {scaled(right)}")
    return "\n".join(lines) + "\n"


def parameters(path, unit, free, tmp):
    """The best fits of a copy of the problem in another unit."""
    copy = tmp / f"unit{unit:g}.h5"
    copy.write_bytes(path.read_bytes())
    with h5py.File(copy, "r+") as file:
        source = np.asarray(file["model/source"][()]).tobytes().decode()  # fixed length
        del file["model/source"]
        file["model"].attrs.pop("sha256", None)
        file["model"].create_dataset("source", data=in_unit(source, unit), dtype=h5py.string_dtype())
        file["measurements/value"][...] = file["measurements/value"][...] * unit
        if "sigma" in file["measurements"]:
            file["measurements/sigma"][...] = file["measurements/sigma"][...] * unit
        if free:
            names = [name.decode() for name in file["parameters/name"][()]]
            file["parameters"].pop("fixed", None)
            file["parameters/fixed"] = np.array([name not in free for name in names], dtype="i1")
    fits = h.run(copy)
    assert all(status == "converged" for status in fits["status"]), (unit, fits["status"])
    return fits["parameters"], fits["objective"]


def compare(path, tmp, free=()):
    found = {unit: parameters(path, unit, free, tmp) for unit in UNITS}
    for unit in UNITS:
        np.testing.assert_allclose(found[unit][0], found[1][0], rtol=SAME, err_msg=f"parameters in units of {unit}")


def simulated(name, times, tmp, noise=0.01):
    h.stiffit("simulate", "--model", h.ROOT / "models" / name / f"{name}.ode", "--times", times, "--datasets", 2,
              "--noise", noise, "-o", tmp / "p.h5")
    return tmp / "p.h5"


def test_alpha_pinene(tmp):
    h.stiffit("import", h.ROOT / "data/alpha-pinene.csv", "--model", h.ROOT / "models/alpha-pinene/alpha-pinene.ode", "-o",
              tmp / "p.h5")
    compare(tmp / "p.h5", tmp)


def test_theophylline(tmp):
    h.stiffit("import", h.ROOT / "data/theophylline-measurements.csv", "--datasets", h.ROOT / "data/theophylline-subjects.csv",
              "--model", h.ROOT / "models/theophylline/theophylline.ode", "-o", tmp / "p.h5")
    compare(tmp / "p.h5", tmp)


def test_robertson(tmp):
    compare(simulated("robertson", "1e-2:1e4:log15", tmp), tmp)


def test_pollu(tmp):
    compare(simulated("pollu", "1,5,10,20,40,60", tmp), tmp, free=("k1", "k2", "k3", "k12", "k14"))


def test_estimated_sigma(tmp):
    """What a parameter moves is judged beside the noise as the model has it: in no unit is it called unknown."""
    rng, times = np.random.default_rng(1), np.arange(1.0, 9)
    values, errors = 2 * np.exp(-0.6 * times) + 0.01 * rng.normal(size=8), {}
    for unit in UNITS:
        text = (f"parameter k = 0.5 in [0.01, 100] scale log\nparameter A = {1.5 * unit!r} in [0, inf] scale log\n"
                f"parameter s = {0.1 * unit!r} in [0, inf] scale log\nx(0) = A\nx' = -k*x\nobserve x sd s\n")
        path = tmp / f"s{unit:g}.h5"
        with h5py.File(path, "w") as file:
            file.attrs.update({"stiffit_file": "problem", "format": 1})
            file["model/source"] = text
            file["datasets/id"] = ["a"]
            file["measurements/dataset"] = np.zeros(8, int)
            file["measurements/time"], file["measurements/value"] = times, unit * values
        fits = h.run(path)
        errors[unit] = fits["standard_error"][0] / [1, unit, unit]
        sigma = fits["parameters"][0][2] / unit
    # the standard error of log s is 1 / sqrt(2 n)
    np.testing.assert_allclose(errors[1][2], sigma / np.sqrt(2 * times.size), rtol=1e-3)
    for unit in UNITS:
        np.testing.assert_allclose(errors[unit], errors[1], rtol=1e-3, err_msg=f"standard errors in units of {unit}")


if __name__ == "__main__":
    h.main()
