"""Memory does not grow with the number of datasets.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 3000
"""
import sys

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


def test_no_growth_from_10000_to_50000(tmp):
    if h.SANITIZE:
        h.skip("a sanitizer's own memory grows")
    small, large = peak_for(tmp, 10000), peak_for(tmp, 50000)
    print(f"{small:.0f} MiB, then {large:.0f} MiB")
    # What may grow is the index of the journal and the set of ids, some 16 bytes a dataset each: 40,000 more datasets
    # are worth 2 MiB; the rest is the allocator's.
    assert large - small < 12, (small, large)
    assert large < LIMIT_MIB


@h.slow
def test_a_million(tmp):
    peak = peak_for(tmp, 1000000)
    print(f"{peak:.0f} MiB")
    assert peak < LIMIT_MIB, peak


if __name__ == "__main__":
    h.main()
