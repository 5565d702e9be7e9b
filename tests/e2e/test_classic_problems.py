"""The classic stiff problems of the test sets, as text: what `stiffit simulate` computes against reference solutions that
two other integrators agree on (models/NAME/README.md says how they were made).

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import io

import numpy as np

import helpers as h

# name: (file, rtol, atol, tolerance, share of an observable's largest value below which a value counts as nothing)
PROBLEMS = {
    "robertson": ("reference-late.csv", 1e-10, 1e-20, 1e-6, 1e-10),
    "hires": ("reference.csv", 1e-10, 1e-14, 1e-6, 1e-4),
    "pollu": ("reference.csv", 1e-10, 1e-24, 1e-6, 1e-6),
    "oregonator": ("reference.csv", 1e-10, 1e-10, 1e-6, 1e-8),
    "vdpol": ("reference.csv", 1e-10, 1e-12, 1e-6, 1e-8),
    "e5": ("reference.csv", 1e-10, 1e-32, 1e-6, 1e-14),
    "ring-modulator": ("reference.csv", 1e-9, 1e-13, 1e-4, 1),
    "chemical-akzo-nobel": ("reference.csv", 1e-10, 1e-14, 1e-6, 1e-8),
    "diurnal": ("reference.csv", 1e-10, 1e-12, 1e-5, 1e-8),
    "brusselator": ("reference.csv", 1e-10, 1e-12, 1e-6, 1e-8),
    "cusp": ("reference.csv", 1e-10, 1e-12, 1e-6, 1e-8),
    "medical-akzo-nobel": ("reference.csv", 1e-10, 1e-15, 1e-6, 1e-8),
}
# The tolerance is of each value. The references are good to 1e-9 and better; 500 to 3000 steps with local errors of rtol
# each make some 1e-8, which vdpol's jump multiplies by ten. The sun of diurnal is integrated too, and its phase enters an
# exponent of 22. The ring modulator takes half a million steps through oscillations at MHz.


def reference(name):
    with open(h.ROOT / "models" / name / PROBLEMS[name][0], encoding="utf-8") as file:
        first, header = next(file), next(file).strip().split(",")
        table = np.loadtxt(file, delimiter=",")
    assert first.startswith("# ") and np.all(np.isfinite(table))
    return dict(zip(header, table.T))


def compare(name):
    columns = reference(name)
    _, rtol, atol, tolerance, nothing = PROBLEMS[name]
    done = h.stiffit("simulate", "--model", h.model(name), "--times", ",".join(repr(float(t)) for t in columns["t"]),
                     "--rtol", rtol, "--atol", atol)
    found = {}
    for row in csv.DictReader(io.StringIO(done.stdout)):
        found.setdefault(row["observable"], []).append(float(row["value"]))
    expected = {column[len("observable:"):]: value for column, value in columns.items() if column.startswith("observable:")}
    assert found.keys() == expected.keys(), (found.keys(), expected.keys())
    for observable, value in expected.items():
        error = np.abs(np.array(found[observable]) - value) / (np.abs(value) + nothing * np.abs(value).max())
        worst = error.argmax()
        assert error[worst] <= tolerance, (f"{name}: {observable} at t = {columns['t'][worst]:g} is "
                                           f"{found[observable][worst]:.12g}, not {value[worst]:.12g}")


def make_test(name):
    def test(tmp):
        compare(name)
    test.__name__ = "test_" + name.replace("-", "_")
    test.line = compare.__code__.co_firstlineno
    return h.more(test) if name == "ring-modulator" else test  # half a million steps


for _name in PROBLEMS:
    globals()[f"test_{_name.replace('-', '_')}"] = make_test(_name)


def test_every_text_has_a_reference(tmp):
    texts = [path for path in h.ROOT.glob("models/*/*.ode") if path.parent.name != "library"]  # test_model_library.py
    for path in texts:
        assert (path.parent / "reference.csv").exists() and (path.parent / "README.md").exists(), path
    text_only = {path.parent.name for path in texts if not path.with_suffix(".c").exists()}
    assert text_only == set(PROBLEMS) - {"robertson"}, text_only


if __name__ == "__main__":
    h.main()
