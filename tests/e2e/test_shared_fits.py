"""Datasets that have no shared parameter in common are separate fits: each is the fit of its datasets
alone, none holds up another, and each ends by itself.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import signal
import subprocess
import time

import h5py
import numpy as np
from scipy.optimize import minimize

import faults
import helpers as h
import test_crash

# Progress curves of an enzyme with a slow-binding inhibitor (Morrison 1982, eq. 1).
MODEL = """model slow
parameter kcat = 10 in [0.1, 1000] scale log
parameter Ki = 0.5 in [1e-4, 1e3] scale log10
parameter kon = 0.3 in [1e-3, 1e2] scale log10
parameter bg = 0.08 in [0, 1]
covariate I, plate
v0 = 0.0004*kcat
vs = v0/(1 + I/Ki)
kobs = kon*(Ki + I)
"""
FORMULA = MODEL + "observe A = bg + vs*time + (v0 - vs)*(1 - exp(-kobs*time))/kobs\n"
# The same by integration: the rate relaxes from v0 to vs.
EQUATIONS = MODEL + """v(0) = v0
A0(0) = 0
v' = -kobs*(v - vs)
A0' = v
observe A = bg + A0
"""
TIMES = np.arange(0, 62, 2.0)
INHIBITOR = np.array([0, 0.1, 0.3, 1, 3, 10])
SIGMA = 0.002


def curve(kcat, ki, kon, bg, inhibitor):
    v0 = 0.0004 * kcat
    vs, k = v0 / (1 + inhibitor / ki), kon * (ki + inhibitor)
    return bg + vs * TIMES + (v0 - vs) * (1 - np.exp(-k * TIMES)) / k


def sample(n_plate, n, seed, spoilt=(), inhibitor=INHIBITOR):
    """Wells of each plate one after another; a spoilt one (plate, well) has three outliers, so that its
    residuals stay large: Gauss and Newton's model is poor there."""
    rng = np.random.default_rng(seed)
    kcat = np.repeat(10 * np.exp(rng.normal(0, 0.1, n_plate)), n)
    plate, inhibitor = np.repeat(np.arange(n_plate), n), np.tile(np.resize(inhibitor, n), n_plate)
    y = np.array([curve(k, 0.3 * np.exp(rng.normal(0, 0.5)), 0.5 * np.exp(rng.normal(0, 0.3)),
                        0.08 + 0.01 * rng.normal(), i) for k, i in zip(kcat, inhibitor)])
    y += SIGMA * rng.standard_normal(y.shape)
    for p, w in spoilt:
        y[p * n + w, [3, 20, 29]] += 0.4
    return y, plate, inhibitor


def write(path, y, plate, inhibitor, text=FORMULA, which=None):
    """The datasets `which`, or all."""
    model = path.with_suffix(".ode")
    model.write_text(text)
    which = np.arange(len(y)) if which is None else which
    rows = [(i, TIMES[k], 0, y[d, k], np.nan) for i, d in enumerate(which) for k in range(len(TIMES))]
    h.write_problem(path, None, [f"w{d}" for d in which], rows,
                    covariates={"I": inhibitor[which], "plate": np.asarray(plate, float)[which]})
    return path, model


def run(path, model, *words, code=0):
    done = h.stiffit("run", path, "--model", model, *words, code=code)
    with h5py.File(h.result_path(path)) as f:
        return {name: data[()] for name, data in f["fits"].items()} | {"stderr": done.stderr}


def rows(found, which):
    return {name: column[which] for name, column in found.items() if name not in ("stderr", "message")}


def interleaved(data, order):
    return tuple(column[order] for column in data)


@h.more
def test_each_alone(tmp):
    """Every column has the bits of a fit of the plate alone, wherever the plates' rows are; a plate of one dataset, too."""
    y, plate, inhibitor = sample(3, 12, seed=1, spoilt=[(1, 7)])
    plate[-1] = 7
    order = np.random.default_rng(2).permutation(len(y))
    data = interleaved((y, plate, inhibitor), order)
    for text in (FORMULA, EQUATIONS):
        for words in ((), ("--warm-start", "pilot")):
            path, model = write(tmp / "all.h5", *data, text)
            whole = run(path, model, "--share", "kcat@plate", "--overwrite", *words)
            assert np.all(whole["status"] == 1)
            for p in np.unique(plate):
                which = np.flatnonzero(data[1] == p)
                alone = run(*write(tmp / "one.h5", *data, text, which), "--share", "kcat", "--overwrite",
                            "--restart", *words)
                faults.same_fits(rows(alone, slice(None)), rows(whole, which), (p, words))


@h.more
def test_scipys_optimum(tmp):
    """A plate with wells whose residuals stay large, which crawl in a search that takes Gauss and
    Newton's second derivatives for theirs: there were up to 1300 iterations, and all evaluations were
    used up at the optimum. SciPy's search has all second derivatives."""
    n = 12
    for seed in (0, 1) if h.SLOW else (0,):
        y, plate, inhibitor = sample(1, n, seed, [(0, 7), (0, 8)], np.array([0.1, 0.3, 1, 3]))
        found = run(*write(tmp / f"{seed}.h5", y, plate, inhibitor), "--share", "kcat@plate")
        assert np.all(found["status"] == 1)
        assert found["iterations"][0] < 200, found["iterations"][0]

        def residual(x):
            own = x[1:].reshape(n, 3)
            return np.array([curve(np.exp(x[0]), np.exp(ki), np.exp(kon), bg, i) - data
                             for (ki, kon, bg), i, data in zip(own, inhibitor, y)])

        def gradient(x):
            r, g = residual(x), np.zeros(len(x))
            for j in range(4):  # complex steps in all wells at once
                z = x.astype(complex)
                z[[0] if j == 0 else np.arange(j, len(x), 3)] += 1e-30j
                slope = np.sum(residual(z).imag / 1e-30 * r, axis=1)
                g[[0] if j == 0 else np.arange(j, len(x), 3)] = slope.sum() if j == 0 else slope
            return g

        def hessian(x):
            step = 1e-6
            columns = [(gradient(x + step * e) - gradient(x - step * e)) / (2 * step) for e in np.eye(len(x))]
            return 0.5 * (np.array(columns) + np.array(columns).T)

        x0 = np.concatenate([[np.log(10)], np.tile([np.log(0.3), np.log(0.5), 0.08], n)])
        best = minimize(lambda x: 0.5 * np.sum(residual(x) ** 2), x0, jac=gradient, hess=hessian,
                        method="trust-exact", options={"gtol": 1e-9, "maxiter": 300})
        # the search ends where a step promises 1e-9 of the objective, and the next ones little more
        np.testing.assert_allclose(found["objective"].sum(), best.fun, rtol=1e-8)
        # 1e-8 of the objective, with about 340 degrees of freedom, is 3e-3 standard errors
        assert abs(np.log(found["parameters"][0, 0]) - best.x[0]) < 5e-3 * (
            found["standard_error"][0, 0] / found["parameters"][0, 0])


def test_own_budgets(tmp):
    """A plate that needs more than the budget fails by itself, and names the dataset that spent it."""
    y, plate, inhibitor = sample(3, 6, seed=3)
    y[6:12] = 0.08 + 0.3 * np.sin(TIMES * (1 + np.arange(6)[:, None])) ** 2  # which no curve describes
    path, model = write(tmp / "p.h5", y, plate, inhibitor)
    found = run(path, model, "--share", "kcat@plate", "--max-evaluations", 60, code=1)
    assert found["status"].tolist() == 6 * [1] + 6 * [3] + 6 * [1], found["status"]
    said = set(found["message"][6:12])
    culprit = [m for m in said if m.startswith(b"dataset 'w")]
    assert len(said) == 2 and len(culprit) == 1, said
    assert culprit[0].endswith(b"': the budget of 60 evaluations is used up (--max-evaluations)"), culprit
    healthy = run(*write(tmp / "q.h5", y, plate, inhibitor, which=np.r_[:6, 12:18]), "--share", "kcat@plate",
                  "--max-evaluations", 60)
    faults.same_fits(rows(found, np.r_[:6, 12:18]), rows(healthy, slice(None)))


def test_statistics(tmp):
    """Degrees of freedom, sigma and criteria are those of the plate."""
    y, plate, inhibitor = sample(2, 6, seed=4)
    y[6:] += 5 * SIGMA * np.random.default_rng(5).standard_normal((6, len(TIMES)))
    found = run(*write(tmp / "p.h5", y, plate, inhibitor), "--share", "kcat@plate")
    n = 6 * len(TIMES)
    for which in (slice(0, 6), slice(6, 12)):
        # a control's Ki and kon have no influence, but are fitted: 3 of each well, and kcat
        assert np.all(found["degrees_of_freedom"][which] >= n - 19)
        variance = 2 * found["objective"][which].sum() / found["degrees_of_freedom"][which][0]
        np.testing.assert_allclose(found["residual_error"][which], np.sqrt(variance), rtol=1e-9)
    assert found["residual_error"][6] > 4 * found["residual_error"][0]


def test_refits_of_each(tmp):
    """Profiles and bootstrap replicates of what a plate's datasets share are those of the plate alone."""
    y, plate, inhibitor = sample(2, 6, seed=6)
    words = ("--profile", "kcat", "--bootstrap", 4, "--keep-profile", "--keep-bootstrap")
    path, model = write(tmp / "all.h5", y, plate, inhibitor)
    whole = run(path, model, "--share", "kcat@plate", *words)
    with h5py.File(h.result_path(path)) as f:
        tables = {name: {k: v[()] for k, v in f[name].items()} for name in ("profiles", "bootstrap")}
    for p in range(2):
        which = np.flatnonzero(plate == p)
        path, model = write(tmp / f"{p}.h5", y, plate, inhibitor, which=which)
        alone = run(path, model, "--share", "kcat", *words)
        faults.same_fits(rows(alone, slice(None)), rows(whole, which), p)
        assert np.all(np.isfinite(alone["profile_lower"][:, 0])) and alone["bootstrap_n"][0] == 4
        with h5py.File(h.result_path(path)) as f:
            for name, columns in tables.items():
                mine = columns["dataset"] == which[0]
                for k, v in columns.items():
                    if k != "dataset":
                        np.testing.assert_array_equal(v[mine], f[name][k][()], (name, k))


def test_starts_of_each(tmp):
    """Each plate takes its own best start."""
    y, plate, inhibitor = sample(3, 6, seed=7)
    path, model = write(tmp / "p.h5", y, plate, inhibitor)
    found = run(path, model, "--share", "kcat@plate", "--starts", 4, "--keep-starts")
    with h5py.File(h.result_path(path)) as f:
        starts = {k: v[()] for k, v in f["starts"].items()}
    for p in range(3):
        which = np.flatnonzero(plate == p)
        sums = [starts["objective"][np.isin(starts["dataset"], which) & (starts["start"] == k)].sum() for k in range(4)]
        chosen = found["start"][which]
        assert len(set(chosen)) == 1
        np.testing.assert_allclose(sums[chosen[0]], np.nanmin(sums), rtol=1e-9)
        np.testing.assert_allclose(found["objective"][which].sum(), sums[chosen[0]], rtol=1e-12)


def test_none_waits(tmp):
    """While a dataset of one plate hangs, the others end and are in the journal; a signal then says so; and
    what has ended is not computed again."""
    h.let_models_crash()
    path = test_crash.problem(tmp / "p.h5", 12, {5: "sleep"})
    with h5py.File(path, "a") as f:
        covariates = f["datasets/covariates"][()]
        del f["datasets/covariates"], f["datasets/covariate_names"]
        f["datasets/covariates"] = np.column_stack([covariates, np.arange(12) // 4])
        f.create_dataset("datasets/covariate_names", data=["fault", "plate"], dtype=h5py.string_dtype())
    words = [str(word) for word in (h.STIFFIT, "run", path, "--trust", "--share", "k@plate", "-j", 2)]
    process = subprocess.Popen(words, env=h.environment(STIFFIT_HANG_SECONDS=600), stderr=subprocess.PIPE,
                               text=True, start_new_session=True)
    journal = h.result_path(path).with_name(h.result_path(path).name + ".journal")
    try:
        deadline = time.monotonic() + 60
        while len(set(faults.records(journal))) < 8 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert sorted(set(faults.records(journal))) == [0, 1, 2, 3, 8, 9, 10, 11]
        os.kill(process.pid, signal.SIGTERM)
        said = process.communicate(timeout=60)[1]
    finally:
        faults.kill_all(process)
    assert process.returncode == 75 and "the same command resumes" in said, said
    done = h.stiffit(*words[1:], code=1, env=test_crash.hang_after(1))
    assert "resuming: 2 of 3 fits are in the journal" in done.stderr, done.stderr
    with h5py.File(h.result_path(path)) as f:
        assert f["fits/status"][()].tolist() == [1, 1, 1, 1, 10, 4, 10, 10, 1, 1, 1, 1]


@h.more
def test_progress(tmp):
    """It says how far the fits have come, and forecasts nothing; nothing is done before it is."""
    y, plate, inhibitor = sample(3, 80, seed=10, spoilt=[(1, 7)])
    path, model = write(tmp / "p.h5", y, plate, inhibitor, EQUATIONS)
    done = h.stiffit("run", path, "--model", model, "--share", "kcat@plate", "--rtol", "1e-12", "--engine", "cvodes",
                     "-j", "1", "--progress", "always")
    lines = [line for line in done.stderr.replace("\x1b[K", "").replace("\r", "\n").split("\n") if " %  " in line]
    assert "3/3 fits  in" in lines[-1] and len(lines) > 1, lines
    for line in lines[:-1]:
        assert " left" not in line and ("pass " in line or "3/3 fits" in line), line
        assert ("100 %" in line) == ("3/3 fits" in line), line
    assert any("objective" in line and "/240 datasets" in line for line in lines), lines


def test_many(tmp):
    """Hundreds of plates of one or two datasets, more than are under way at once: the bits of a few."""
    n = 700
    rng = np.random.default_rng(11)
    plate = np.sort(rng.integers(0, 400, n))
    inhibitor = np.resize(INHIBITOR, n)
    y = np.array([curve(10, 0.3, 0.5, 0.08, i) for i in inhibitor]) + SIGMA * rng.standard_normal((n, len(TIMES)))
    text = FORMULA.replace("parameter Ki = 0.5 in [1e-4, 1e3] scale log10", "constant Ki = 0.3").replace(
        "parameter kon = 0.3 in [1e-3, 1e2] scale log10", "constant kon = 0.5")
    found = run(*write(tmp / "p.h5", y, plate, inhibitor, text), "--share", "kcat@plate")
    assert np.all(found["status"] == 1)
    which = np.flatnonzero(plate > 390)
    few = run(*write(tmp / "q.h5", y, plate, inhibitor, text, which), "--share", "kcat@plate")
    faults.same_fits(rows(few, slice(None)), rows(found, which))


if __name__ == "__main__":
    h.main()
