/* Ranges of work items, without locks: their owner takes from the front, thieves from the back.
 * An item is in one range at a time, so an equal word means the same items, and there is no ABA
 * problem.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/range.h"

static uint32_t word_first(uint64_t word) { return (uint32_t)(word >> 32); }
static uint32_t word_last(uint64_t word) { return (uint32_t)word; }
static uint64_t pack(uint32_t first, uint32_t last) { return (uint64_t)first << 32 | last; }

bool range_take(struct range *range, uint32_t *item)
{
    uint64_t word = atomic_load_explicit(&range->word, memory_order_relaxed);
    do {
        if (word_first(word) >= word_last(word))
            return false;
        *item = word_first(word);
    } while (!atomic_compare_exchange_weak_explicit(&range->word, &word,
                                                    pack(*item + 1, word_last(word)),
                                                    memory_order_acq_rel, memory_order_relaxed));
    return true;
}

bool range_steal(struct range *range, uint32_t *first, uint32_t *last)
{
    uint64_t word = atomic_load_explicit(&range->word, memory_order_relaxed);
    do {
        if (word_first(word) >= word_last(word))
            return false;
        uint32_t count = word_last(word) - word_first(word);
        *last = word_last(word);
        *first = *last - (count / 2 + count % 2);
    } while (!atomic_compare_exchange_weak_explicit(&range->word, &word,
                                                    pack(word_first(word), *first),
                                                    memory_order_acq_rel, memory_order_relaxed));
    return true;
}

/* Sequentially consistent, like range_count. A worker that goes to sleep announces it and then
 * checks the ranges; a worker that fills a range then checks for sleepers. One of the two must
 * see the other. */
void range_set(struct range *range, uint32_t first, uint32_t last)
{
    atomic_store_explicit(&range->word, pack(first, last), memory_order_seq_cst);
}

uint32_t range_count(const struct range *range)
{
    uint64_t word =
        atomic_load_explicit(&((struct range *)(uintptr_t)range)->word, memory_order_seq_cst);
    return word_first(word) < word_last(word) ? word_last(word) - word_first(word) : 0;
}
