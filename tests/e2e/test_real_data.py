"""The real measurements: import from CSV, fit, and compare with published or independently found optima.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv

import numpy as np

import helpers as h
import oracles as o


def test_alpha_pinene(tmp):
    """Box, Hunter, MacGregor & Erjavec 1973; the optimum as SciPy found it."""
    h.stiffit("import", h.ROOT / "data/alpha-pinene.csv", "--model", h.model("alpha-pinene"), "-o", tmp / "p.h5")
    fits = h.run(tmp / "p.h5")
    assert list(fits["status"]) == ["converged"], fits
    # 4 digits after the point, 3 significant digits: what the reference is known to
    assert abs(2 * fits["objective"][0] - o.PINENE_SUM_OF_SQUARES) < 5e-5, 2 * fits["objective"][0]
    np.testing.assert_allclose(fits["parameters"][0], o.PINENE_P, rtol=5e-4)
    y = o.simulate(o.pinene_rhs, [100.0, 0, 0, 0, 0], 0.0, o.PINENE_T, fits["parameters"][0])
    again = np.sum((y.T - o.PINENE_Y) ** 2)  # independent of our integrator
    assert abs(again - o.PINENE_SUM_OF_SQUARES) < 5e-5, again


def test_theophylline_agrees_with_nlslist(tmp):
    """12 subjects against R: coef(nlsList(conc ~ SSfol(Dose, Time, lKe, lKa, lCl) | Subject, data = Theoph))."""
    h.stiffit("import", h.ROOT / "data/theophylline-measurements.csv",
              "--datasets", h.ROOT / "data/theophylline-subjects.csv",
              "--model", h.model("theophylline"), "-o", tmp / "p.h5")
    fits = h.run(tmp / "p.h5")
    assert set(fits["status"]) == {"converged"}, fits["status"]
    with open(h.ROOT / "data/theophylline-nlsList.csv", newline="", encoding="utf-8") as file:
        reference = {row[next(iter(row))]: row for row in csv.DictReader(file)}
    assert len(reference) == 12 == len(fits["id"])
    for subject, parameters in zip(fits["id"], fits["parameters"]):
        for name, value in zip(fits["names"], parameters):
            # nls stops at a relative offset of 1e-5: its estimates are good to better than 1e-3
            assert abs(value - float(reference[subject][name])) < 1e-3, (subject, name, value, reference[subject])


def test_theophylline_file_agrees_with_r(tmp):
    """The committed reference is what R computes, where R is installed."""
    import shutil
    import subprocess
    if not shutil.which("Rscript"):
        h.skip("no Rscript (apt-get install r-cran-nlme)")
    code = ('suppressMessages(library(nlme)); f <- nlsList(conc ~ SSfol(Dose, Time, lKe, lKa, lCl) | Subject, '
            'data = Theoph); write.csv(coef(f), stdout())')
    done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=False)
    if done.returncode != 0 and "nlme" in done.stderr:
        h.skip("R has no nlme (apt-get install r-cran-nlme)")
    assert done.returncode == 0, done.stderr
    now = {row[""]: row for row in csv.DictReader(done.stdout.splitlines())}
    with open(h.ROOT / "data/theophylline-nlsList.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            subject = row[next(iter(row))]
            for name in ("lKe", "lKa", "lCl"):
                assert abs(float(row[name]) - float(now[subject][name])) < 1e-6, (subject, name)


def test_hare_and_lynx(tmp):
    """Six parameters, two of them initial values; SciPy's trust-region least squares on the same sum of squares."""
    h.stiffit("import", h.ROOT / "data/hare-lynx.csv", "--model", h.model("hare-lynx"), "-o", tmp / "p.h5")
    fits = h.run(tmp / "p.h5", "--rtol", "1e-8")
    assert list(fits["status"]) == ["converged"], fits
    with open(h.ROOT / "data/hare-lynx.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    times = np.unique([float(row["time"]) for row in rows])
    value = {(float(row["time"]), row["observable"]): float(row["value"]) for row in rows}
    data = np.array([[value[t, "hare"], value[t, "lynx"]] for t in times])
    scale = times - times[0]

    def residuals(p):
        return (o.lotka_volterra(p, scale) - data).ravel()
    names = fits["names"]
    ours = fits["parameters"][0]
    scipy = o.fit_log(residuals, ours * 1.05)
    best = np.sum(residuals(scipy) ** 2)
    assert len(names) == 6
    assert np.sum(residuals(ours) ** 2) <= best * (1 + 1e-6), (ours, scipy)
    # the same valley, whose bottom both know to about the square root of that
    np.testing.assert_allclose(ours, scipy, rtol=2e-3)


if __name__ == "__main__":
    h.main()
