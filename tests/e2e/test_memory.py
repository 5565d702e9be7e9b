"""Memory does not grow with the number of datasets.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 3000
"""
import sys

import h5py
import numpy as np

import helpers as h

sys.path.insert(0, str(h.ROOT / "scripts" / "bench"))
from measure import measure  # noqa: E402  pylint: disable=wrong-import-position

LIMIT_MIB = 256


def peak_for(tmp, n, n_time=4):
    """MiB of the largest of the run's processes; the supervisor beside it is a small one."""
    problem = tmp / f"p{n}.h5"
    h.decay_problem(problem, n, n_time=n_time, known_sigma=True)
    figures = measure([h.STIFFIT, "run", problem, "--trust", "-q"], tmp / "figures.json", env=h.environment())
    assert figures["code"] == 0, figures
    assert h.read_fits(h.result_path(problem))["status"].shape[0] == n
    return figures["max_rss_mib"]


def check_growth(tmp, n_small, n_large, limit_mib):
    if h.SANITIZE:
        h.skip("a sanitizer's own memory grows")
    small, large = peak_for(tmp, n_small), peak_for(tmp, n_large)
    print(f"{small:.0f} MiB, then {large:.0f} MiB")
    assert large - small < limit_mib, (small, large)
    assert large < LIMIT_MIB


def test_no_growth_from_2000_to_10000(tmp):
    """From where the reader's first block is full; 8,000 more records, of 1.5 KiB each, would be 12 MiB."""
    check_growth(tmp, 2000, 10000, 9)


@h.more
def test_no_growth_from_10000_to_50000(tmp):
    """What may grow is the index of the journal and the set of ids, some 16 bytes a dataset each: 40,000 more datasets
    are worth 2 MiB; the rest is the allocator's."""
    check_growth(tmp, 10000, 50000, 12)


@h.slow
def test_a_million(tmp):
    peak = peak_for(tmp, 1000000)
    print(f"{peak:.0f} MiB")
    assert peak < LIMIT_MIB, peak


def peak_for_subjects(tmp, plugin, n):
    """MiB of a fit with random parameters, whose datasets take turns on the lanes."""
    rng = np.random.default_rng(1)
    t = np.array([0.25, 0.5, 1, 2, 3, 5, 8, 12, 18, 24])
    ka, v, cl = np.exp(rng.normal(np.log([1.2, 10, 1.5]), [0.4, 0.25, 0.3], (n, 3))).T[:, :, None]
    y = 100*ka/(v*ka - cl)*(np.exp(-cl/v*t) - np.exp(-ka*t))*(1 + 0.15*rng.normal(size=(n, len(t))))
    rows = np.column_stack([np.repeat(np.arange(n), len(t)), np.tile(t, n), np.zeros(y.size), y.ravel(),
                            np.full(y.size, np.nan)])
    problem = tmp / f"s{n}.h5"
    h.write_problem(problem, plugin, [f"d{d}" for d in range(n)], rows)
    figures = measure([h.STIFFIT, "run", problem, "--trust", "-q", "--random", "ka,V,CL", "--share", "b"],
                      tmp / "figures.json", env=h.environment())
    assert figures["code"] == 0, figures
    return figures["max_rss_mib"]


@h.slow
def test_random_parameters(tmp):
    """A dataset keeps some 3 KiB, its state of 1 KiB is there three times at most, and up to 4,096 datasets are in the
    reader's blocks, of 2 KiB each, four times. Stacks and arrays, 25 KiB, are those of lanes, not of datasets."""
    if h.SANITIZE:
        h.skip("a sanitizer's own memory grows")
    model, plugin = tmp / "model.ode", tmp / "model.so"
    model.write_text("parameter ka = 1 scale log\nparameter V = 12 scale log\nparameter CL = 2 scale log\n"
                     "parameter b = 0.2 in [1e-3, 10] scale log\ngut(0) = 100\ngut' = -ka*gut\nbody(0) = 0\n"
                     "body' = ka*gut - CL/V*body\nobserve c = body/V sd b*c\n")
    h.stiffit("model", "build", model, "-o", plugin)
    small, large = (peak_for_subjects(tmp, plugin, n) for n in (500, 2000))
    print(f"{small:.1f} MiB, then {large:.1f} MiB")
    assert (large - small)*1024/1500 < 16, (small, large)


def write_experiments(path, n_dataset, n_each):
    """As many experiments for each dataset, each with a dose of its own amount and two measurements."""
    rng = np.random.default_rng(1)
    n = n_dataset*n_each
    amount = rng.uniform(1, 2, n)
    t = np.tile([1.0, 3.0], n)
    exact = np.repeat(amount, 2)*np.exp(-0.3*t)
    with h5py.File(path, "w") as f:
        f.attrs["stiffit_file"] = "problem"
        f.attrs["format"] = 1
        f["model/source"] = "parameter k = 0.2 scale log\ny(0) = 0\ny' = -k*y\nobserve y\n"
        f["datasets/id"] = np.array([b"%d" % i for i in range(n_dataset)])
        f["experiments/dataset"] = np.repeat(np.arange(n_dataset), n_each)
        f["experiments/id"] = np.array([b"experiment %d" % i for i in range(n)])
        f["measurements/experiment"] = np.repeat(np.arange(n), 2)
        f["measurements/time"] = t
        f["measurements/value"] = exact + 0.01*rng.standard_normal(2*n)
        f["measurements/sigma"] = np.full(2*n, 0.01)
        f["doses/experiment"] = np.arange(n)
        f["doses/time"] = np.zeros(n)
        f["doses/amount"] = amount


def peak_for_experiments(tmp, n_dataset, n_each=20):
    problem = tmp / f"e{n_dataset}.h5"
    write_experiments(problem, n_dataset, n_each)
    figures = measure([h.STIFFIT, "run", problem, "-q"], tmp / "figures.json", env=h.environment())
    assert figures["code"] == 0, figures
    k = h.read_fits(h.result_path(problem))["parameters"][:, 0]
    assert k.shape[0] == n_dataset and abs(k.mean() - 0.3) < 0.001
    return figures["max_rss_mib"]


def test_experiments(tmp):
    """No growth with their number."""
    if h.SANITIZE:
        h.skip("a sanitizer's own memory grows")
    small, large = peak_for_experiments(tmp, 500), peak_for_experiments(tmp, 2500)
    print(f"{small:.0f} MiB, then {large:.0f} MiB")
    assert large < LIMIT_MIB and large - small < 40, (small, large)  # a block of 65,536 rows, and the fits that wait


@h.slow
def test_a_million_experiments(tmp):
    for n_each in (1, 20, 100):
        peak = peak_for_experiments(tmp, 1000000 // n_each, n_each)
        print(f"{n_each} for each dataset: {peak:.0f} MiB")
        assert peak < LIMIT_MIB, (n_each, peak)


if __name__ == "__main__":
    h.main()
