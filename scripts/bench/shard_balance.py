#!/usr/bin/env python3
"""How well shards balance: the table in stiffit-slurm(7), simulated from measured costs of fits.

SPDX-License-Identifier: BSD-3-Clause

    make demo && scripts/bench/shard_balance.py build/demo/bootstrap.result.h5

A mix of costs, log-normal with the given sigma, is dealt to K shards: in turn, as `--shard` does it, and by costs, as
`--cost-from` does it (the longest first, each to the shard that has least). What is dealt by is steps of the integrator; how
well they foretell seconds is measured in the result that is named: the spread (standard deviation of the logarithm, from
quartiles) of seconds a step. Each shard has a node of W workers, which take one fit after the other; it ends with its last
worker. Speed-ups are over one node that fits everything, and medians over several draws. They do not depend on how long a
fit takes; that a shard takes a moment to start is left out.
"""
import argparse
import heapq

import h5py
import numpy as np

SHARDS = (8, 64, 512)


def makespan(costs, n_worker):
    """Of workers that take the fits in their order, each as soon as it is free."""
    if n_worker == 1:
        return float(costs.sum())
    free_at = [0.0] * n_worker
    for cost in costs:
        heapq.heapreplace(free_at, free_at[0] + cost)
    return max(free_at)


def in_turn(costs, n_shard):
    return [costs[k::n_shard] for k in range(n_shard)]


def by_costs(costs, foretold, n_shard):
    loads = [(0.0, k) for k in range(n_shard)]
    shards = [[] for _ in range(n_shard)]
    for i in np.argsort(-foretold, kind="stable"):
        load, k = loads[0]
        shards[k].append(i)
        heapq.heapreplace(loads, (load + foretold[i], k))
    return [costs[sorted(shard)] for shard in shards]


def spread(result):
    with h5py.File(result) as file:
        seconds, steps = file["fits/seconds"][()], file["fits/steps"][()]
    there = (seconds > 0) & (steps > 0)
    quartile = np.quantile(np.log(seconds[there] / steps[there]), (0.25, 0.75))
    return float(np.diff(quartile)[0] / 1.349)


def speedups(costs, foretold, n_shard, n_worker, alone):
    """In turn, by costs, and what no deal can beat: all work over all workers, or the longest fit."""
    took = [max(makespan(shard, n_worker) for shard in shards)
            for shards in (in_turn(costs, n_shard), by_costs(costs, foretold, n_shard))]
    bound = max(costs.sum() / (n_shard * n_worker), costs.max())
    return [alone / time for time in (*took, bound)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--fits", type=int, default=100000)
    parser.add_argument("--sigma", type=float, default=2.0)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--draws", type=int, default=9)
    arguments = parser.parse_args()

    noise = spread(arguments.result)
    rows, longest = {}, []
    for draw in range(arguments.draws):
        random = np.random.default_rng(draw)
        costs = np.exp(arguments.sigma * random.standard_normal(arguments.fits))
        foretold = costs * np.exp(noise * random.standard_normal(arguments.fits))
        longest.append(costs.max() / costs.sum())
        for n_worker in arguments.workers:
            alone = makespan(costs, n_worker)
            for n_shard in SHARDS:
                rows.setdefault((n_worker, n_shard), []).append(speedups(costs, foretold, n_shard, n_worker, alone))
    print(f"{arguments.fits} fits, log-normal with sigma {arguments.sigma:g}; steps foretell a fit's seconds within "
          f"{100 * noise:.1f} %; medians of {arguments.draws} draws")
    print(f"the longest fit takes 1/{1 / np.median(longest):.0f} of all the work")
    print(f"{'workers a node':>14} {'shards':>7} {'in turn':>8} {'by costs':>9} {'bound':>8}")
    for (n_worker, n_shard), values in rows.items():
        turn, costs, bound = np.median(values, axis=0)
        print(f"{n_worker:14d} {n_shard:7d} {turn:8.1f} {costs:9.1f} {bound:8.1f}")


if __name__ == "__main__":
    main()
