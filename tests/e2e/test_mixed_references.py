"""Mixed effects of two studies, against what R's lme4 and nlme say of them (mixed_reference.csv) and against quadrature.

SPDX-License-Identifier: BSD-3-Clause
"""
import shutil
import subprocess

import numpy as np

import helpers as h
import mixed
import mixed_oracle as mo
import test_mixed_quadrature as quadrature
import test_studies as studies

HERE = h.ROOT / "tests/e2e"


def reference_table(lines):
    found = {}
    for fit, name, value in (line.split(",") for line in lines[1:]):
        found.setdefault(fit, {})[name] = float(value)
    return found


def stored():
    return reference_table((HERE / "mixed_reference.csv").read_text().splitlines())


def gauss_newton(case):
    """Laplace's approximation with J'J/sigma^2 for minus the second derivatives, as nlmer has it."""
    def curvature(phi, shared):
        f, sd = case.curves(phi, shared)
        slopes = np.stack([case.curves(phi + step, shared)[0].imag / 1e-30 for step in 1e-30j * np.eye(case.layout.r)], -1)
        slopes = np.where(case.mask[:, None, :, None], slopes / sd[..., None], 0)
        return np.einsum("nkti,nktj->nkij", slopes, slopes)

    return case.model(0, curvature=curvature)


def estimates(table, random, shared):
    """R's numbers in the order of the estimates; covariances are 0."""
    return np.array([table[f"l{name}"] for name in random] + [table[f"sd_l{name}"] ** 2 for name in random]
                    + [np.log(table["sigma"]) if name == "sigma" else table[f"l{name}"] for name in shared])


def laplace(tmp, random):
    case = quadrature.theophylline(random)
    found = case.run(tmp / f"{''.join(random)}.h5", "--likelihood", "laplace")
    table = stored()["nlmer theophylline " + " ".join(random)]
    assert found["minus_2_log_likelihood_error"] == 0
    assert abs(found["minus_2_log_likelihood"] - table["minus_2_log_likelihood"]) < mixed.LIKELY, \
        (found["minus_2_log_likelihood"], table)
    off = np.abs(found["estimate"] - estimates(table, random, case.shared)) / found["standard_error"]
    # nlmer stops 0.004 standard errors from the top: its deviance is a function with the noise of its inner iterations
    assert np.max(off) < 0.02, (off, found["estimate"], table)
    return case, found


def test_laplace_is_nlmer(tmp):
    for random in (["Cl"], ["Ka", "Cl"]):
        case, found = laplace(tmp, random)
        if h.SLOW:
            theta, value = mo.maximise_laplace(gauss_newton(case), found["estimate"])
            assert abs(found["minus_2_log_likelihood"] - value) < 2e-3, (found["minus_2_log_likelihood"], value)
            assert np.max(np.abs(found["estimate"] - theta) / found["standard_error"]) < mixed.NEAR


def test_theophylline_beside_nlme(tmp):
    """Another estimator: means within a quarter of a standard error, deviations within 5 %."""
    found = quadrature.theophylline(["Ka", "Cl"]).run(tmp / "p.h5")
    expected = estimates(stored()["nlme theophylline Ka Cl"], ["Ka", "Cl"], ["Ke", "sigma"])
    off = np.abs(found["estimate"] - expected) / found["standard_error"]
    assert np.max(off) < 0.25, (off, found["estimate"], expected)
    np.testing.assert_allclose(np.sqrt(found["estimate"][2:4]), np.sqrt(expected[2:4]), rtol=0.05)


class Phenobarbital(quadrature.Case):
    """59 infants, 155 concentrations, 589 doses: clearance and volume random, proportional to estimated powers of the
    weight."""

    def __init__(self):
        study = studies.Phenobarbital()
        super().__init__(studies.PHENOBARBITAL.replace("amount/V", "amount/V sd sigma")
                         + "parameter sigma = 3 in [1e-3, 1e3] scale log\n", ["lCl", "lV"], ["Cl_power", "V_power", "sigma"],
                         self.superposed, start=([-5.4, 0.0], [0.04, 0.04], [1.0, 1.0, 1.0]), q=9, blocks=[[0], [1]])
        rows = [(n, *row) for n, i in enumerate(study.id) for row in study.seen[i]]
        self.take(rows, {"weight": [study.weight[i] for i in study.id]})
        doses = [(n, *row) for n, i in enumerate(study.id) for row in study.dose[i]]
        d, time, amount = np.array(doses).T
        time, amount, given = mo.pad((d, time, amount), len(study.id))
        since = self.t[:, :, None] - time[:, None, :]
        self.since = np.where(given[:, None, :] & (since > 0), since, np.inf)[:, None]
        self.amount = np.where(given, amount, 0)[:, None, None]

    def superposed(self, phi, shared, t, c):
        """Doses decay independently of each other. The last axis of t is that of the measurements."""
        log_weight = np.log(c["weight"])
        volume = np.exp(phi[1] + shared[1] * log_weight)
        rate = np.exp(phi[0] + shared[0] * log_weight) / volume
        with np.errstate(invalid="ignore"):
            decay = np.where(np.isinf(self.since), 0, np.exp(-rate[..., None] * np.where(np.isinf(self.since), 0, self.since)))
        return np.sum(decay * self.amount, axis=-1) / volume, np.exp(shared[2])

    def write(self, path):
        model = path.with_suffix(".ode")
        model.write_text(self.text)
        h.stiffit("import", h.ROOT / "data/phenobarbital.csv", "--nonmem", "--model", model, "-o", path)
        return path, "--model", model


@h.more
def test_phenobarbital(tmp):
    """Dosing and sparse data, as a NONMEM-style table, against quadrature; beside nlme."""
    found, _ = Phenobarbital().check(tmp / "p.h5")
    assert found["n_dataset"] == 59 and found["n_measurement"] == 155
    table = stored()["nlme phenobarbital"]
    expected = np.array([table["lCl"], table["lV"], table["sd_lCl"] ** 2, table["sd_lV"] ** 2, table["lCl_power"],
                         table["lV_power"], np.log(table["sigma"])])
    off = np.abs(found["estimate"] - expected) / found["standard_error"]
    assert np.max(off) < 0.5, (off, found["estimate"], expected)  # another estimator: clearance is 0.4 away


def shown(study):
    """The rows of a table of the manual's page: nlme, laplace, exact, and standard errors where there are, as printed."""
    text = (h.ROOT / "man/stiffit-population.7").read_text().split(f'.\\" {study}\n')[1].split(".El")[0]
    return [[cell.strip().replace("\\-", "-") for cell in line.split("Ta")[1:]] for line in text.splitlines()[1:]]


def beside(tmp, study, case, random, table):
    """The manual's table has the numbers of R, and those of two runs: to the digits that it prints."""
    rows = shown(study)
    r, s, expected = len(random), len(case.shared) - 1, np.array(table)
    columns = [expected]
    for how in ("laplace", "exact"):
        found = case.run(tmp / f"{study}.{how}.h5", "--likelihood", how)
        value = dict(zip(found["estimate_name"], found["estimate"]))
        columns.append([*(value[f"mean({name})"] for name in random), *(value[name] for name in case.shared[:s]),
                        *(np.sqrt(value[f"var({name})"]) for name in random), np.exp(value["sigma"]),
                        found["minus_2_log_likelihood"]])
    error = dict(zip(found["estimate_name"], found["standard_error"]))
    columns.append([*(error[f"mean({name})"] for name in random), *(error[name] for name in case.shared[:s])])
    order = {"theophylline": range(r + s + r + 2), "phenobarbital": [0, 2, 1, 3, 4, 5, 6, 7]}[study]
    assert len(rows) == len(order)
    for row, k in zip(rows, order):
        for cell, column in zip(row, columns):
            if k < len(column):
                unit = 10.0 ** -len(cell.partition(".")[2])
                assert abs(float(cell) - column[k]) < 0.52 * unit, (study, row, k, column[k])  # rounded, and a little noise


@h.more
def test_manual_has_theophylline(tmp):
    table = stored()["nlme theophylline Ka Cl"]
    beside(tmp, "theophylline", quadrature.theophylline(["Ka", "Cl"]), ["Ka", "Cl"],
           [table[name] for name in ("lKa", "lCl", "lKe", "sd_lKa", "sd_lCl", "sigma", "minus_2_log_likelihood")])


@h.more
def test_manual_has_phenobarbital(tmp):
    table = stored()["nlme phenobarbital"]
    beside(tmp, "phenobarbital", Phenobarbital(), ["lCl", "lV"],
           [table[name] for name in ("lCl", "lV", "lCl_power", "lV_power", "sd_lCl", "sd_lV", "sigma",
                                     "minus_2_log_likelihood")])


@h.slow
def test_stored(tmp):
    """mixed_reference.csv has what R says now."""
    if not shutil.which("Rscript"):
        h.skip("no R")
    done = subprocess.run(["Rscript", HERE / "mixed_reference.R"], capture_output=True, text=True, check=False, cwd=h.ROOT)
    if "there is no package" in done.stderr:
        h.skip("R has no lme4 or nlme")
    assert done.returncode == 0, done.stderr
    now = reference_table(done.stdout.splitlines())
    assert now.keys() == stored().keys()
    for fit, table in stored().items():
        for name, value in table.items():
            assert abs(now[fit][name] - value) < 1e-3 * max(1, abs(value)), (fit, name, now[fit][name], value)


if __name__ == "__main__":
    h.main()
