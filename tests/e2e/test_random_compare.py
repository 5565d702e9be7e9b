"""compare of fits with random parameters: likelihood ratios of the whole, with p by SciPy.

SPDX-License-Identifier: BSD-3-Clause
"""
import json

import numpy as np
from scipy import stats

import helpers as h
import population_group
from test_random_show import fitted

FULL = dict(name=["k", "V"], scale=["log", "log"], mean=[-1.2, 0.7],
            covariance=[[0.04, 0.01], [0.01, 0.09]], shared=[("A", 1.0), ("s", 0.1)])
ONE = dict(name=["k"], scale=["log"], mean=[-1.2], covariance=[[0.04]],
           shared=[("V", 2.0), ("A", 1.0), ("s", 0.1)])


def compare(tmp, *populations):
    """Results of the same data with these populations."""
    paths = []
    for i, population in enumerate(populations):
        path = tmp / f"r{i}.h5"
        if i == 0:
            base = fitted(tmp)
        path.write_bytes(base.read_bytes())
        population_group.write(path, **population)
        paths.append(path)
    return (json.loads(h.stiffit("compare", *paths, "--json").stdout),
            h.stiffit("compare", *paths).stdout)


def test_one_variance(tmp):
    """k and V correlated against k alone: half chi-square with 1, half with 2 degrees of freedom."""
    found, text = compare(tmp, ONE | dict(minus_2=105.0, error=0.03),
                          FULL | dict(minus_2=100.0, error=0.04))
    ratio, = found["population_ratio"]
    assert (ratio["small"], ratio["large"], ratio["degrees_of_freedom"]) == (1, 2, 2), ratio
    np.testing.assert_allclose(ratio["statistic"], 5, rtol=1e-12)
    np.testing.assert_allclose(ratio["error"], 0.05, rtol=1e-12)
    np.testing.assert_allclose(ratio["p"], 0.5 * (stats.chi2.sf(5, 1) + stats.chi2.sf(5, 2)), rtol=1e-9)
    assert "p is the mean of the two for chi-square with 1 and with 2 degrees" in text, text
    assert "Compared: 0" not in text
    assert [one["aic"] for one in found["populations"]] == [105 + 2 * 5, 100 + 2 * 7]


def test_a_variance_alone(tmp):
    """Independent of the others: half the mass at 0."""
    diagonal = FULL | dict(covariance=[[0.04, 0], [0, 0.09]], diagonal=True)
    found, text = compare(tmp, ONE | dict(minus_2=102.0), diagonal | dict(minus_2=100.0))
    ratio, = found["population_ratio"]
    np.testing.assert_allclose(ratio["p"], 0.5 * stats.chi2.sf(2, 1), rtol=1e-9)
    # no gain at all: every draw is at least as large
    found, _ = compare(tmp, ONE | dict(minus_2=100.0), diagonal | dict(minus_2=100.0))
    assert found["population_ratio"][0]["p"] == 1
    assert "+-" not in text.split("Likelihood-ratio test")[1].split("\n")[0]


def test_within_the_border(tmp):
    """A covariance, or a shared parameter more, is an ordinary test; it need not be the file's order."""
    diagonal = FULL | dict(covariance=[[0.04, 0], [0, 0.09]], diagonal=True, minus_2=103.0)
    turned = FULL | dict(name=["V", "k"], mean=[0.7, -1.2], covariance=[[0.09, 0.01], [0.01, 0.04]],
                         shared=[("A", 1.0), ("b", 0.0), ("s", 0.1)], minus_2=96.0)
    found, _ = compare(tmp, diagonal, FULL | dict(minus_2=100.0), turned)
    ratios = {(one["small"], one["large"]): one for one in found["population_ratio"]}
    assert set(ratios) == {(1, 2), (1, 3), (2, 3)}, ratios
    for (a, b), statistic, freedom in (((1, 2), 3, 1), ((1, 3), 7, 2), ((2, 3), 4, 1)):
        one = ratios[a, b]
        assert one["variances_on_the_border"] == 0 and one["degrees_of_freedom"] == freedom
        np.testing.assert_allclose(one["p"], stats.chi2.sf(statistic, freedom), rtol=1e-9)


def test_two_variances(tmp):
    three = dict(name=["k", "V", "A"], scale=["log", "log", "lin"], mean=[-1.2, 0.7, 1.0],
                 covariance=np.diag([0.04, 0.09, 0.01]), diagonal=True, shared=[("s", 0.1)])
    found, text = compare(tmp, ONE | dict(minus_2=106.0), three | dict(minus_2=100.0))
    ratio, = found["population_ratio"]
    assert ratio["variances_on_the_border"] == 2 and ratio["p_is_upper_bound"]
    np.testing.assert_allclose(ratio["p"], stats.chi2.sf(6, 2), rtol=1e-9)
    assert "upper bound" in text


def test_worse_and_incomparable(tmp):
    found, text = compare(tmp, ONE | dict(minus_2=100.0), FULL | dict(minus_2=101.0, error=0.01))
    assert found["population_ratio"][0]["large_is_worse"] and "model 2 fits worse than model 1" in text
    for change in (dict(likelihood="laplace"), dict(n_dataset=9), dict(n_row=51)):
        found, text = compare(tmp, ONE, FULL | change)
        assert found["population_ratio"] == [] and "Not comparable" in text, text
    # other parameters: no restriction of each other
    found, text = compare(tmp, ONE | dict(shared=[("W", 2.0), ("A", 1.0), ("s", 0.1)]), FULL)
    assert found["population_ratio"] == [] and "Likelihood-ratio" not in text


if __name__ == "__main__":
    h.main()
