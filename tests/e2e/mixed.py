"""What the tests of mixed effects share: writing problems, running, reading /population, comparing with a reference.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np

import helpers as h

FINE = 1e-3  # of a standard error: what the linear models, which have a closed form, must agree to
NEAR = 1e-2  # of a standard error: what quadrature must agree to; the same program with other points differs by less
LIKELY = 0.02  # in -2 log L: far below what any test or criterion can tell apart


def write(path, text, rows, covariates=None, ids=None, censored=None, limit=None, **parameters):
    """rows: (dataset, time, observable, value, sigma). Returns the words that name the problem and its model."""
    rows = np.asarray(rows, float).reshape(-1, 5)
    n = len(ids) if ids is not None else int(rows[:, 0].max()) + 1
    model = path.with_suffix(".ode")
    model.write_text(text)
    h.write_problem(path, None, ids if ids is not None else [f"d{d}" for d in range(n)], rows, covariates=covariates)
    with h5py.File(path, "a") as f:
        if censored is not None:
            f["measurements/censored"] = np.asarray(censored, np.int8)
        if limit is not None:
            f["measurements/limit"] = limit
        for name, value in parameters.items():
            is_text = name in ("name", "scale", "level")
            kind = {"dtype": h5py.string_dtype()} if is_text else {}
            f.require_group("parameters").create_dataset(name, data=value, **kind)
    return path, "--model", model


def read(path):
    """/population with its attributes, and /fits under "fits"."""
    with h5py.File(path) as f:
        group = f["population"]
        found = {name: data.asstr()[()] if h5py.check_string_dtype(data.dtype) else data[()] for name, data in group.items()}
        found |= {name: value.decode() if isinstance(value, bytes) else value for name, value in group.attrs.items()}
    return found | {"fits": h.read_fits(path)}


def run(problem, *words, code=0, env=None):
    """`stiffit run` of what write() returned."""
    done = h.stiffit("run", *problem, *words, code=code, env=env)
    return read(h.result_path(problem[0])) | {"stderr": done.stderr}


def agree(found, reference, tolerance, likelihood=LIKELY, errors=None, names=None):
    """Estimates, -2 log L and standard errors are the reference's (mixed_oracle.Found): tolerance in standard errors, and
    relative for these; errors: their relative tolerance if it is another, or False: not compared."""
    if names is not None:
        assert list(found["estimate_name"]) == names, (list(found["estimate_name"]), names)
    off = np.abs(found["estimate"] - reference.theta) / reference.standard_error
    shown = f"\n{found['estimate_name']}\nfound {found['estimate']}\nnot   {reference.theta}\nerror {reference.standard_error}"
    value = found["minus_2_log_likelihood"]
    said = found["minus_2_log_likelihood_error"]
    assert 0 <= said < 0.2, f"the error of -2 log L is large: {said}"
    assert abs(value - reference.value) < likelihood, f"-2 log L {value:.6f}, not {reference.value:.6f} (said: +- {said})"
    if found["likelihood"] == "exact":  # its own error is honest, but for what the integration leaves
        assert abs(value - reference.value) < 3 * said + 1e-3, (value, reference.value, said)
    assert np.max(off) < tolerance, f"off by {np.max(off):.2g} standard errors: {off}{shown}"
    if errors is not False:
        for name, expected in (("standard_error", reference.standard_error), ("standard_error_scores", reference.by_scores),
                               ("standard_error_sandwich", reference.sandwich)):
            if np.all(np.isfinite(expected)):
                wrong = np.abs(found[name] / expected - 1)
                assert np.max(wrong) < (errors or tolerance), f"{name}: {found[name]}, not {expected}: {np.max(wrong):.2g}"


def same_bits(left, right, shown=""):
    """All numbers of /population and /fits, times aside."""
    for part in ("population", "fits"):
        a, b = ({name: value for name, value in (found if part == "population" else found["fits"]).items()
                 if name not in ("fits", "stderr", "names", "seconds")} for found in (left, right))
        assert a.keys() == b.keys(), (shown, a.keys() ^ b.keys())
        for name in a:
            x, y = np.asarray(a[name]), np.asarray(b[name])
            same = list(x.ravel()) == list(y.ravel()) if x.dtype.kind in "OU" else x.tobytes() == y.tobytes()
            assert same, f"{shown}: {part}/{name} differs: {x.ravel()[:5]}, {y.ravel()[:5]}"
