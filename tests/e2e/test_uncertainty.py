"""What fits say of their own uncertainty where data are few, of one side, or in odd units: NumPy and SciPy are the judges.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np

import helpers as h

WEIGHT = np.array([1, 1, 1, 1e-9])  # of four exponentials: the last one is hardly seen


def write(path, text, data, sigma=np.nan, **keywords):
    """One dataset for each (times, values)."""
    model = path.with_suffix(".ode")
    model.write_text(text)
    rows = [(d, t, 0, y, sigma) for d, (times, values) in enumerate(data) for t, y in zip(times, values)]
    h.write_problem(path, model, [f"d{d}" for d in range(len(data))], rows, **keywords)
    return path


def test_fewer_measurements_than_parameters(tmp):
    """The flat directions are the zeros of NumPy's eigenvalues, whatever a parameter counts for on its own. On the logarithmic
    scale the last one's column is 1e-9 of the others', which leaves it open by more than ten decades."""
    text = "".join(f"parameter {name} = 1 scale log\n" for name in "abcd")
    text += "observe y = " + " + ".join(f"{w}*{name}*exp(-0.3*{k}*t)" for k, (w, name) in enumerate(zip(WEIGHT, "abcd"))) + "\n"
    rng = np.random.default_rng(11)
    data, rates = [], 0.3 * np.arange(4)
    for d in range(60):
        t = np.sort(rng.uniform(0, 4, 1 + d % 2))
        data.append((t, np.exp(-np.outer(t, rates)) @ (WEIGHT * rng.lognormal(0, 0.3, 4))))
    fits = h.run(write(tmp / "p.h5", text, data, 0.02))
    for d, (t, _) in enumerate(data):
        slopes = np.exp(-np.outer(t, rates)) * WEIGHT * fits["parameters"][d] / 0.02
        values = np.linalg.eigvalsh(slopes.T @ slopes)[::-1]
        np.testing.assert_allclose(fits["information_eigenvalues"][d][:len(t)], values[:len(t)], rtol=1e-6)
        # what is known is known to better than a decade, so that nothing but the rank counts
        known = np.sum(values > 1e-12 * values[0])
        assert known == len(t) and values[known - 1] > 1 / np.log(10) ** 2, values
        assert fits["flat_directions"][d] == 4 - known, (d, values, fits["flat_directions"][d])


if __name__ == "__main__":
    h.main()
