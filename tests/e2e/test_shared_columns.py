"""A fit with shared parameters over one dataset is the fit of that dataset: all columns of /fits are the same, for every kind
of error, parameter and direction. And what rows of several datasets share, and what they add up to, against NumPy.

SPDX-License-Identifier: BSD-3-Clause
"""
import json

import h5py
import numpy as np
from scipy import stats

import helpers as h

# What measures the search, not its end; and numbers near 0 that consist of rounding.
WORK = {"seconds", "evaluations", "steps", "iterations", "stopping_test", "gradient_norm", "tight_decrease",
        "tight_objective_change"}
EXPECTED = 16  # the bit of the note expected_information
NOISE_FLOOR = 9  # likewise noise_floor
NO_INFLUENCE = np.uint32(1 << 10)  # the note of that name
T = np.linspace(0.3, 6, 14)
RNG = np.random.default_rng(4)
Y = 2 * np.exp(-0.5 * T) + 0.4 + 0.05 * RNG.standard_normal(len(T))
P = "parameter b = 0.3\nparameter a = 1.5 in [0.01, 100] scale log\nparameter k = 0.6 in [0.001, 50] scale log10\n"
DECAY = "observe y = a*exp(-k*t) + b"
# name: (model text, sigma, words, measurements, tolerance; where residuals are large steps converge slowly)
CASES = {
    "plain": (P + DECAY, 0.05, []),
    "integrated": (P + "x(0) = a\nx' = -k*x\nobserve y = x + b", 0.05, []),
    "unknown sigma": (P + DECAY, np.nan, []),
    "prior": (P.replace("b = 0.3", "b = 0.3 prior normal(0.5, 0.1)") + DECAY, 0.05, []),
    "prior with a kink": (P.replace("b = 0.3", "b = 0.3 prior laplace(0.5, 0.1)") + DECAY, 0.05, []),
    "estimated sigma": (P + "parameter s = 0.1 in [0.001, 10] scale log\n" + DECAY + " sd s", np.nan, []),
    "estimated sigma, held": (P.replace("b = 0.3", "b = 0.3 in [-1, 0.35]")
                              + "parameter s = 0.1 in [0.001, 10] scale log\n" + DECAY + " sd s", np.nan, []),
    "held by a bound": (P.replace("b = 0.3", "b = 0.3 in [-1, 0.35]") + DECAY, 0.05, []),
    "all held": ("parameter b = 0.3 in [0, 0.3]\nparameter a = 1.5 in [0.1, 1.6]\nobserve y = a*exp(-t/2) + b", 0.05,
                 []),
    "flat": (P + "parameter c = 1.2 in [0.01, 100] scale log\nobserve y = a*c*exp(-k*t) + b", 0.05, []),
    "two flat groups": (P + "parameter c = 1.2 in [0.01, 100] scale log\nparameter d = 0.1\nobserve y = a*c*exp(-k*t) + b + d",
                        0.05, []),
    "without influence": (P + "parameter c = 1\n" + DECAY + " + 0*c", 0.05, []),
    "poor": (P + "observe y = a*exp(-k*t) + b + sin(9*t)", 0.05, [], len(T), 1e-3),
    "too few": (P + "parameter d = 0.1\nobserve y = a*exp(-k*t) + b + d*sin(t)", 0.05, [], 4),
    "student": (P + DECAY, 0.05, ["--error", "student"]),
    "huber": (P + DECAY, 0.05, ["--error", "huber"]),
    "laplace": (P + DECAY, 0.05, ["--error", "laplace"]),
    "log-normal": (P + DECAY, 0.05, ["--error", "log-normal"]),
    "log-normal, unknown": (P + DECAY, np.nan, ["--error", "log-normal"]),
    "differences": (P + "x(0) = a\nx' = -k*x\nobserve y = x + b", 0.05, ["--gradient", "differences"]),
    "not certified": (P + DECAY, 0.05, ["--certify", "no"]),
    "cvodes": (P + "x(0) = a\nx' = -k*x\nobserve y = x + b", 0.05, ["--engine", "cvodes"]),
}


def write(path, text, rows, levels=None, censored=None):
    model = path.with_suffix(".ode")
    model.write_text("model m\n" + text + "\n")
    names = [line.split()[1] for line in text.splitlines() if line.startswith("parameter")]
    n = int(rows[-1][0]) + 1
    h.write_problem(path, None, [f"d{d}" for d in range(n)], rows, covariates={"plate": np.zeros(n)})
    with h5py.File(path, "a") as f:
        if levels:
            for name, value in (("name", names), ("level", levels)):
                f.create_dataset(f"parameters/{name}", data=value, dtype=h5py.string_dtype())
        if censored is not None:
            f["measurements/censored"] = np.asarray(censored, np.int8)
    return model, names


def read(path):
    with h5py.File(path) as f:
        return {name: data[()] for name, data in f["fits"].items()}


def same(one, other, what, tolerance, work=frozenset(WORK)):
    """The columns of two results, within what searches and integrations with the requested tolerances leave. Where a
    search along a flat direction ends is not determined. Columns that measure the search are there in both, or missing."""
    assert one.keys() == other.keys()
    for name, ours in one.items():
        theirs = other[name]
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape, f"{what}: {name}"
        if name in work:
            there = [np.isfinite(values) if values.dtype.kind == "f" else values > 0 for values in (ours, theirs)]
            np.testing.assert_array_equal(*there, err_msg=f"{what}: {name}")
            continue
        if name == "parameters":
            ours, theirs = (np.where(one["flat_group"] > 0, 0, values) for values in (ours, theirs))
        if name == "notes" and np.any(one["flat_group"] > 0):  # how far it went decides whether any influence is left
            ours, theirs = ours & ~NO_INFLUENCE, theirs & ~NO_INFLUENCE
        if ours.dtype.kind != "f":
            np.testing.assert_array_equal(ours, theirs, err_msg=f"{what}: {name}")
            continue
        scale = np.nanmax(np.abs(ours)) if np.any(np.isfinite(ours)) else 1
        np.testing.assert_allclose(theirs, ours, rtol=tolerance, atol=tolerance / 10 * scale + 1e-15, err_msg=f"{what}: {name}")


def check(tmp, what, text, sigma, words, n_row=len(T), tolerance=2e-5, censored=None):
    rows = [(0, t, 0, y, sigma) for t, y in zip(T[:n_row], Y)]
    exact = ["--ftol", "1e-13", "-j1", "--overwrite"]
    path = tmp / "one.h5"
    model, names = write(path, text, rows, censored=censored)
    h.stiffit("run", path, "--model", model, *words, *exact, code=(0, 1))
    single = read(h.result_path(path))
    shares = names[0], names[-1], ",".join(names), names[0] + "@plate", f"{names[0]}@plate,{names[-1]}"
    for share in shares:
        h.stiffit("run", path, "--model", model, *words, *exact, "--share", share, code=(0, 1))
        same(single, read(h.result_path(path)), f"{what}, --share {share}", tolerance)
    evaluate = "run", path, "--model", model, *words, "-j1", "--overwrite", "--evaluate"
    h.stiffit(*evaluate)
    single = read(h.result_path(path))
    for share in (shares[0], *shares[2:4]):  # nothing is searched: all columns but times are the same, within a few roundings
        h.stiffit(*evaluate, "--share", share)
        same(single, read(h.result_path(path)), f"{what}, --evaluate --share {share}", 1e-12, {"seconds"})


@h.both
def test_all_columns_of_one_dataset(tmp):
    for what, case in h.portion(CASES.items(), 4):
        check(tmp, what, *case)


def test_budgets(tmp):
    """A fit that uses up its budget has the statistics of its best point: the likelihood in closed form, and the errors of the
    information there."""
    sigma, n = 0.05, 5
    rows = [(i, t, 0, y + 0.01 * i, sigma) for i in range(n) for t, y in zip(T, Y)]
    path = tmp / "p.h5"
    model, _ = write(path, P + "x(0) = a\nx' = -k*x\nobserve y = x + b", rows)
    h.stiffit("run", path, "--model", model, "--share", "k", "--max-evaluations", 3, "--gtol", "1e-15", "--ftol", "1e-15",
              code=1)
    with h5py.File(h.result_path(path)) as f:
        fits = {name: f["fits"][name][:] for name in ("status", "objective", "log_likelihood", "parameters", "standard_error")}
        names = [name.decode() for name in f["parameters/name"][:]]
    assert np.all(fits["status"] == 3), fits["status"]
    normal = len(T) * np.log(sigma * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(fits["log_likelihood"], -fits["objective"] - normal, rtol=1e-12)
    by = dict(zip(names, fits["parameters"].T))
    jacobian = np.zeros((n, len(T), 1 + 2 * n))
    for i in range(n):
        e = np.exp(-by["k"][i] * T)
        jacobian[i, :, 0], jacobian[i, :, 1 + i], jacobian[i, :, 1 + n + i] = -T * by["a"][i] * e, e, 1
    errors = np.sqrt(np.diag(np.linalg.inv(np.einsum("irp,irq->pq", jacobian, jacobian)))) * sigma
    found = dict(zip(names, fits["standard_error"].T))
    np.testing.assert_allclose(found["k"], errors[0], rtol=1e-4)  # derivatives are as accurate as the integrator, 1e-6
    np.testing.assert_allclose(found["a"], errors[1:1 + n], rtol=1e-4)
    np.testing.assert_allclose(found["b"], errors[1 + n:], rtol=1e-4)


def test_censored(tmp):
    """Limits that the curve is near to, and limits that it is far from: those bound nothing, which is a flat direction."""
    for what, text in (("near", P + DECAY), ("far", P + "parameter c = 3\n" + DECAY + " - if(t < 1, c, 0)")):
        censored = np.where(T < 1 if what == "far" else T > 4, -1 if what == "far" else 1, 0)
        check(tmp, what, text, 0.05, [], censored=censored)


def test_exact_data(tmp):
    """Data of the model itself, without sigmas: errors are the integrator's, of one dataset and of many, and a note says so.
    The shared rate is known better by the root of the number of datasets."""
    n = 9
    text = P.replace("0.001, 50] scale log10", "0.1, 5]") + "x(0) = a\nx' = -k*x\nobserve y = x + b"
    rows = [(d, t, 0, 2 * np.exp(-0.5 * t) + 0.4, np.nan) for d in range(n) for t in T]
    model, _ = write(tmp / "p.h5", text, rows)
    found = []
    for words in ([], ["--share", "a,k,b@plate"], ["--share", "k"]):
        h.stiffit("run", tmp / "p.h5", "--model", model, "--ftol", "1e-13", "--overwrite", *words)
        found.append(read(h.result_path(tmp / "p.h5")))
        np.testing.assert_allclose(found[-1]["parameters"], [[0.4, 2, 0.5]] * n, rtol=1e-6)
        assert np.all(found[-1]["notes"] >> NOISE_FLOOR & 1 == 1), (words, found[-1]["notes"])
    single, all_shared, shared = (each["standard_error"] for each in found)
    # every dataset has the same integration error e: that of the sum is 3 e, and a third of it is left for a shared parameter;
    # where it is measured differs, so that it is the same only up to a factor
    assert np.all((all_shared < 2 * single) & (single < 2 * all_shared)), (single, all_shared)
    assert np.all((shared < 6 * single) & (single < 2 * shared)), (single, shared)


def test_little_influence(tmp):
    """A model without states is exact: nothing is eliminated where all parameters are shared, and what moves a curve by a
    millionth of another parameter's influence is known."""
    text = P + "parameter c = 1\nparameter d = 1\n" + DECAY + " + c + d + 1e-6*d*t"
    model, _ = write(tmp / "p.h5", text, [(0, t, 0, y, 0.05) for t, y in zip(T, Y)])
    found = []
    for words in ([], ["--share", "all"]):
        h.stiffit("run", tmp / "p.h5", "--model", model, "--ftol", "1e-13", "--overwrite", *words)
        found.append(read(h.result_path(tmp / "p.h5")))
    assert found[0]["flat_directions"] == 1 and np.isfinite(found[0]["standard_error"][0, -1]), found[0]
    same(*found, "little influence", 1e-3)  # searches end where a millionth of an influence promises nothing more


def test_without_measurements(tmp):
    """Whether a dataset without measurements is fitted by itself or would share parameters, its row says the same."""
    rows = [(d, t, 0, np.nan if d == 1 else y, 0.05) for d in range(2) for t, y in zip(T, Y)]
    model, _ = write(tmp / "p.h5", P + DECAY, rows)
    with h5py.File(tmp / "p.h5", "a") as f:
        f["datasets/covariates"][:, 0] = [0, 1]
    found = []
    for words in ([], ["--share", "a@plate"]):
        h.stiffit("run", tmp / "p.h5", "--model", model, "--ftol", "1e-13", "--overwrite", *words, code=1)
        found.append({name: column[1:] for name, column in read(h.result_path(tmp / "p.h5")).items()})
    same(*found, "without measurements", 0, {"seconds"})


def hessian(f, x, step=1e-3):
    """By central differences, good to 1e-6 relative to its diagonal for curvatures that change slowly."""
    n, unit = len(x), np.diag(step * np.maximum(np.abs(x), 0.1))
    return np.array([[(f(x + u + v) - f(x + u - v) - f(x - u + v) + f(x - u - v)) / (4 * u.sum() * v.sum()) for u in unit]
                     for v in unit])


LINE = "parameter a = 1\nparameter b = 0.5\nparameter s = 0.3 in [0.001, 100] scale log\nobserve y = a + b*t"
STUDENT = 4


def lines(seed, n, student):
    """Lines through 12 points. Some datasets scatter much less than others, so that their part of the information is
    negative."""
    rng = np.random.default_rng(seed)
    y = 1 + rng.normal(size=(n, 1)) + 0.5 * T[:12]
    return y + 0.2 * np.linspace(0.3, 2.2, n)[:, None] * (rng.standard_t(2, (n, 12)) if student else rng.normal(size=(n, 12)))


def test_observed_information(tmp):
    """Predictions are linear, so that the observed information is the Hessian of the whole negative log-likelihood: its inverse
    has the variances in every row. It is positive definite although single datasets' parts are not: no note says otherwise."""
    n, plate = 8, np.array([0, 0, 1, 1, 0, 1, 2, 2])
    for student in (False, True):
        y = lines(3, n, student)
        text = LINE + ("" if student else " sd s")
        rows = [(d, t, 0, v, 0.2 if student else np.nan) for d in range(n) for t, v in zip(T, y[d])]
        model, names = write(tmp / "p.h5", text, rows)
        with h5py.File(tmp / "p.h5", "a") as f:
            f["datasets/covariates"][:] = plate[:, None]
        if student:
            names = names[:2]
            model.write_text("model m\n" + text.replace("parameter s = 0.3 in [0.001, 100] scale log\n", "") + "\n")
        for share in (["s"], ["b", "s"], ["b@plate", "s"], ["b@plate"], ["a@plate", "b"], ["b"]):
            share = [word for word in share if word != "s" or not student]
            if not share:
                continue
            h.stiffit("run", tmp / "p.h5", "--model", model, "--share", ",".join(share), "--ftol", "1e-13", "--overwrite",
                      *(["--error", "student"] if student else []))
            found = read(h.result_path(tmp / "p.h5"))
            key = {word.split("@")[0]: plate if "@" in word else np.zeros(n, int) for word in share}
            keys = [(j, key.get(name, np.arange(n))[d]) for d in range(n) for j, name in enumerate(names)]
            unique = list(dict.fromkeys(keys))
            index = np.array([unique.index(k) for k in keys]).reshape(n, -1)

            def loss(x, index=index, y=y, student=student):
                p = x[index]
                r = p[:, :1] + p[:, 1:2] * T[:12] - y
                if student:
                    return -stats.t.logpdf(r / 0.2, STUDENT).sum()
                return (0.5 * (r / np.exp(p[:, 2:])) ** 2 + p[:, 2:]).sum()

            p = found["parameters"].copy()
            p[:, 2:] = np.log(p[:, 2:])
            x = np.zeros(len(unique))
            x[index.ravel()] = p.ravel()
            full = hessian(loss, x)
            assert np.linalg.eigvalsh(full)[0] > 0
            error = np.sqrt(np.diag(np.linalg.inv(full)))[index]
            error[:, 2:] *= found["parameters"][:, 2:]  # the delta method
            # sums of 4th derivatives over 8 datasets leave 1e-5 of a difference quotient
            np.testing.assert_allclose(found["standard_error"], error, rtol=1e-3, err_msg=f"{student} {share}")
            assert np.all(found["notes"] >> EXPECTED & 1 == 0), share
            # a row's eigenvalues are those of the inverse of its part of the covariance
            marginal = np.linalg.inv(full)
            for d in range(n):
                right = np.linalg.eigvalsh(np.linalg.inv(marginal[np.ix_(index[d], index[d])]))[::-1]
                np.testing.assert_allclose(found["information_eigenvalues"][d], right, rtol=1e-3)


def test_not_positive_definite(tmp):
    """Two clouds of points and Student's errors: between them, where the slope is 0, the observed information is negative. The
    note says so, and the standard error is from the expected one, (nu + 1) / (nu + 3) of each point."""
    rows = [(d, t, 0, v, 1) for d in range(3) for t, v in zip(T[:4], (-4, -4, 4, 4))]
    model, _ = write(tmp / "p.h5", "parameter a = 0\nobserve y = a", rows)
    for words in (["--share", "a"], ["--share", "a@plate"], []):
        h.stiffit("run", tmp / "p.h5", "--model", model, *words, "--error", "student", "--overwrite")
        found = read(h.result_path(tmp / "p.h5"))
        assert np.all(found["parameters"] == 0) and np.all(found["notes"] >> EXPECTED & 1 == 1), found
        n = 12 if words else 4
        np.testing.assert_allclose(found["standard_error"], np.sqrt((STUDENT + 3) / (STUDENT + 1) / n), rtol=1e-9)


def test_gradient_norm(tmp):
    """The largest entry of the whole fit's gradient: that of a shared parameter is a sum over the datasets that share it, and
    one that a bound holds does not count. The formula is that of a straight line."""
    n, plate, sigma, start = 4, np.array([0, 0, 1, 1]), 0.2, np.array([1.0, 0.5])
    y = 3 + 0.1 * np.arange(n)[:, None] + 0.1 * T[:12]  # above the line at first, below it at last
    r = (start[0] + start[1] * T[:12] - y) / sigma**2
    slope = np.array([r.sum(axis=1), (r * T[:12]).sum(axis=1)]).T  # of each dataset
    rows = [(d, t, 0, v, sigma) for d in range(n) for t, v in zip(T, y[d])]
    for bounds in ("", " in [-5, 1]"):
        model, names = write(tmp / "p.h5", f"parameter a = 1{bounds}\nparameter b = 0.5\nobserve y = a + b*t", rows)
        with h5py.File(tmp / "p.h5", "a") as f:
            f["datasets/covariates"][:] = plate[:, None]
        for share in ([], ["b"], ["a", "b"], ["b@plate"], ["a@plate", "b"], ["a@plate", "b@plate"]):
            key = {word.split("@")[0]: plate if "@" in word else np.zeros(n, int) for word in share}
            sums = np.array([[slope[key[name] == key[name][d], j].sum() if name in key else slope[d, j]
                              for j, name in enumerate(names)] for d in range(n)])
            if bounds:
                sums[:, 0] = np.maximum(sums[:, 0], 0)
            fit = np.arange(n) if not share else plate if all("@" in word for word in share) else np.zeros(n, int)
            right = [np.abs(sums[fit == fit[d]]).max() for d in range(n)]
            words = ["--share", ",".join(share)] if share else []
            h.stiffit("run", tmp / "p.h5", "--model", model, *words, "--evaluate", "--overwrite")
            np.testing.assert_allclose(read(h.result_path(tmp / "p.h5"))["gradient_norm"], right, rtol=1e-12,
                                       err_msg=f"{bounds} {share}")


def test_priors_add_up(tmp):
    """The prior of a shared parameter counts once: in the first dataset's row."""
    rows = [(d, t, 0, y + 0.1 * d, 0.05) for d in range(3) for t, y in zip(T, Y)]
    text = P.replace("b = 0.3", "b = 0.3 prior normal(0.5, 0.1)").replace("scale log\n", "scale log prior lognormal(1, 2)\n", 1)
    model, _ = write(tmp / "p.h5", text + DECAY, rows)
    h.stiffit("run", tmp / "p.h5", "--model", model, "--share", "b")
    found = read(h.result_path(tmp / "p.h5"))
    b, a = found["parameters"][:, 0], found["parameters"][:, 1]
    prior = stats.lognorm(2, scale=np.exp(1))
    a_density = prior.logpdf(a) - np.log(np.diff(prior.cdf([0.01, 100])))
    right = a_density + np.where(np.arange(3) == 0, stats.norm.logpdf(b[0], 0.5, 0.1), 0)
    np.testing.assert_allclose(found["log_prior"], right, rtol=1e-6)
    h.stiffit("run", tmp / "p.h5", "--model", model, "--share", "b,a", "--overwrite")
    found = read(h.result_path(tmp / "p.h5"))
    assert np.all(found["log_prior"][1:] == 0) and found["log_prior"][0] != 0


def test_unknown_sigma(tmp):
    """One sigma for all, at its most likely value: log-likelihoods and criteria of the rows are shares of the whole fit's."""
    y = lines(5, 6, False)
    rows = [(d, t, 0, v, np.nan) for d in range(6) for t, v in zip(T, y[d])]
    model, _ = write(tmp / "p.h5", LINE.replace("parameter s = 0.3 in [0.001, 100] scale log\n", ""), rows)
    h.stiffit("run", tmp / "p.h5", "--model", model, "--share", "b", "--ftol", "1e-13")
    found = read(h.result_path(tmp / "p.h5"))
    design = np.c_[np.repeat(np.eye(6), 12, axis=0), np.tile(T[:12], 6)]
    r = y.ravel() - design @ np.linalg.lstsq(design, y.ravel(), rcond=None)[0]
    m, k = r.size, design.shape[1] + 1
    each = stats.norm.logpdf(r, 0, np.sqrt(np.mean(r**2))).reshape(6, 12).sum(axis=1)
    np.testing.assert_allclose(found["log_likelihood"], each, rtol=1e-9)
    for name, right in (("aic", 2 * k), ("bic", k * np.log(m)), ("aicc", 2 * k + 2 * k * (k + 1) / (m - k - 1))):
        assert np.isclose(found[name].sum(), right - 2 * each.sum(), rtol=1e-9), name
    said = json.loads(h.stiffit("compare", h.result_path(tmp / "p.h5"), h.result_path(tmp / "p.h5"), "--json").stdout)
    assert said["compared"] == 6 and np.isclose(said["results"][0]["bic"], k * np.log(m) - 2 * each.sum(), rtol=1e-9)


if __name__ == "__main__":
    h.main()
