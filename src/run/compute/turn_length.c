/* The running median of the costs of jobs: a ring of recent samples, and the same samples sorted.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/turn_length.h"

#include <string.h>

/* Below this a turn would not be worth the switch between jobs. */
enum { SHORTEST_NS = 20000 };
/* A surplus of this many censored samples doubles the turn; see turn_length_ns. */
static const double SURPLUS_SQUARED = 8;

void turn_length_init(struct turn_length *length, double medians, int64_t first_ns)
{
    memset(length, 0, sizeof *length);
    length->medians = medians;
    length->first_ns = first_ns > SHORTEST_NS ? first_ns : SHORTEST_NS;
}

/* The first sorted place whose value is not less. */
static int find(const struct turn_length *length, int64_t cost_ns)
{
    int low = 0, high = length->n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (length->sorted[middle] < cost_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void take_out(struct turn_length *length, int64_t cost_ns)
{
    int place = find(length, cost_ns);
    length->n--;
    memmove(length->sorted + place, length->sorted + place + 1,
            (size_t)(length->n - place) * sizeof(int64_t));
}

static void put_in(struct turn_length *length, int64_t cost_ns)
{
    int place = find(length, cost_ns);
    memmove(length->sorted + place + 1, length->sorted + place,
            (size_t)(length->n - place) * sizeof(int64_t));
    length->sorted[place] = cost_ns;
    length->n++;
}

uint64_t turn_length_add(struct turn_length *length, int64_t cost_ns)
{
    int64_t *slot = &length->ring[length->n_sampled % TURN_N_SAMPLE];
    if (length->n == TURN_N_SAMPLE)
        take_out(length, *slot);
    *slot = cost_ns;
    put_in(length, cost_ns);
    return ++length->n_sampled;
}

void turn_length_resolve(struct turn_length *length, uint64_t ticket, int64_t cost_ns)
{
    if (ticket == 0 || length->n_sampled - ticket >= TURN_N_SAMPLE)
        return;
    int64_t *slot = &length->ring[(ticket - 1) % TURN_N_SAMPLE];
    take_out(length, *slot);
    *slot = cost_ns;
    put_in(length, cost_ns);
}

int64_t turn_length_ns(struct turn_length *length)
{
    int n = length->n, middle = (n - 1) / 2;
    if (n > 0 && length->sorted[middle] != TURN_CENSORED) {
        double turn = length->medians * (double)length->sorted[middle];
        if (turn > 1e18)
            turn = 1e18;
        length->surplus = 0;
        length->known_ns = turn > SHORTEST_NS ? (int64_t)turn : SHORTEST_NS;
        return length->known_ns;
    }
    int surplus = 2 * (n - find(length, TURN_CENSORED)) - n;
    if (surplus > length->surplus)
        length->surplus = surplus;
    double base =
        (double)(length->known_ns > length->first_ns ? length->known_ns : length->first_ns);
    double turn = base * (1 + length->surplus * (double)length->surplus / SURPLUS_SQUARED);
    return turn < 1e18 ? (int64_t)turn : (int64_t)1e18;
}
