/* Lanes that share an evaluation (bank.h): errors are compared over all of them, and an entry of
 * df/dp goes to one.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_KERNEL_SHARE_H
#define ODE_LANES_KERNEL_SHARE_H

#include "ode/lanes/kernel_control.h"

#include <string.h>

/* Adds a number to that of an entry, in the lanes of its rank. */
INLINE void add_entry(const struct lanes_bank *bank, const struct stiffit_lanes_entry *entry,
                      part value, lanes *to, int h)
{
    if (__builtin_expect(bank->n_share > 1, 0)) /* x + -0 is x, whatever it is */
        value = pick(MASK((const int64_t *)bank->of_rank + entry->rank, 0), value, spread(-0.0));
    PART((double *)to + entry->row, 0) += value;
}

/* Lanes that share an evaluation make the same step. */
static void agree(const struct lanes_bank *bank, struct attempt *now)
{
    double worst[N_LANE];
    int64_t good[N_LANE];
    if (bank->n_share == 1)
        return;
    EACH_PART(bank) {
        memcpy(worst + h * (N_LANE / N_PART), &now[h].worst, sizeof now->worst);
        memcpy(good + h * (N_LANE / N_PART), &now[h].good, sizeof now->good);
    }
    for (int first = 0; first < bank->n_lane; first += bank->n_share) {
        for (int k = first + 1; k < first + bank->n_share; k++) {
            worst[first] = worst[k] > worst[first] ? worst[k] : worst[first];
            good[first] &= good[k];
        }
        for (int k = first + 1; k < first + bank->n_share; k++) {
            worst[k] = worst[first];
            good[k] = good[first];
        }
    }
    EACH_PART(bank) {
        memcpy(&now[h].worst, worst + h * (N_LANE / N_PART), sizeof now->worst);
        memcpy(&now[h].good, good + h * (N_LANE / N_PART), sizeof now->good);
    }
}

#endif
