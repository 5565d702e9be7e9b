/* Random numbers by hashing their address. The mixing function is SplitMix64's finaliser
 * (Steele, Lea & Flood 2014, variant 13 of Stafford), applied once per argument.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/random.h"

#include <math.h>

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The golden-ratio increment keeps zero from being a fixed point. */
static uint64_t absorb(uint64_t state, uint64_t word)
{
    return mix(state + 0x9e3779b97f4a7c15u + mix(word + 0x9e3779b97f4a7c15u));
}

uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t counter)
{
    return absorb(absorb(mix(seed), stream), counter);
}

uint64_t random_stream(uint64_t a, uint64_t b) { return absorb(mix(a), b); }

double random_uniform(uint64_t seed, uint64_t stream, uint64_t counter)
{
    return ((double)(random_bits(seed, stream, counter) >> 12) + 0.5) * 0x1p-52;
}

/* Box & Muller (1958); the second deviate of the pair is not used. */
double random_normal(uint64_t seed, uint64_t stream, uint64_t counter)
{
    double radius = sqrt(-2 * log(random_uniform(seed, stream, 2 * counter)));
    return radius * cos(2 * 3.14159265358979323846 * random_uniform(seed, stream, 2 * counter + 1));
}

/* Lemire (2019): the high half of a 128-bit product; its bias is below n / 2^64. */
uint64_t random_below(uint64_t seed, uint64_t stream, uint64_t counter, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)random_bits(seed, stream, counter) * n) >> 64);
}

/* A Feistel network on the smallest even number of bits that holds n, walked along its cycle
 * until it lands below n again (Black & Rogaway 2002). The domain is under 4n, so that takes
 * under four steps on average. */
uint64_t random_permute(uint64_t seed, uint64_t stream, uint64_t n, uint64_t index)
{
    unsigned half = 1;
    while (half < 31 && ((uint64_t)1 << (2 * half)) < n)
        half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    uint64_t key = random_stream(stream, n);
    do {
        uint64_t left = index >> half, right = index & mask;
        for (uint64_t round = 0; round < 8; round++) {
            uint64_t swap = left ^ (random_bits(seed, key, (round << 40) ^ right) & mask);
            left = right;
            right = swap;
        }
        index = left << half | right;
    } while (index >= n);
    return index;
}
