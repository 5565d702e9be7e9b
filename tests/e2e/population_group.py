"""The group /population of a result as a user of h5py would write it, for tests of what reads it.

SPDX-License-Identifier: BSD-3-Clause
"""
import h5py
import numpy as np


def natural(scale, value):
    return np.where(scale == "lin", value, np.where(scale == "log", np.exp(value), 10.0 ** value))


def write(path, *, name, scale, mean, covariance, shared=(), minus_2=100.0, error=0.0,
          likelihood="exact", standard_error=None, n_dataset=10, n_left_out=0, n_row=50,
          diagonal=False):
    """Puts a population into a result. shared: (name, value) pairs."""
    r, mean, covariance = len(name), np.asarray(mean, float), np.asarray(covariance, float)
    names = [f"mean({n})" for n in name]
    values = list(mean)
    for j in range(r):
        for i in range(j, r):
            if i == j or not diagonal:
                names.append(f"var({name[i]})" if i == j else f"cov({name[j]},{name[i]})")
                values.append(covariance[i, j])
    names += [n for n, _ in shared]
    values += [v for _, v in shared]
    m = len(names)
    se = np.full(m, 0.1) if standard_error is None else np.asarray(standard_error, float)
    deviation = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore"):
        correlation = covariance / np.outer(deviation, deviation)
    text = h5py.string_dtype()
    with h5py.File(path, "a") as f:
        if "population" in f:
            del f["population"]
        g = f.create_group("population")
        for key, strings in (("name", name), ("scale", scale), ("estimate_name", names),
                             ("shared_name", [n for n, _ in shared])):
            g.create_dataset(key, data=list(strings), dtype=text, shape=(len(strings),))
        for key, data in (("mean", mean), ("natural_mean", natural(np.array(scale), mean)),
                          ("natural_standard_error", se[:r]), ("covariance", covariance),
                          ("standard_deviation", deviation), ("correlation", correlation),
                          ("shrinkage", np.full(r, 0.25)),
                          ("shared", np.array([v for _, v in shared], float)),
                          ("shared_standard_error", se[m - len(shared):]), ("estimate", values),
                          ("standard_error", se), ("standard_error_scores", se),
                          ("standard_error_sandwich", se),
                          ("estimate_covariance", np.diag(se**2))):
            g[key] = np.asarray(data, float)
        g.attrs.update(likelihood=likelihood, bic_n="datasets", n_estimate=m, n_dataset=n_dataset,
                       n_left_out=n_left_out, n_measurement=n_row, minus_2_log_likelihood=minus_2,
                       minus_2_log_likelihood_error=error, aic=minus_2 + 2 * m,
                       bic=minus_2 + m * np.log(n_dataset), condition_number=3.5)
    return m
