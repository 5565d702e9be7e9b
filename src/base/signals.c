/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/signals.h"

#include <stdbool.h>
#include <string.h>

void signals_keep(struct signals *kept)
{
    memset(kept, 0, sizeof *kept);
    for (int i = 1; i < SIGNALS_END; i++)
        sigaction(i, NULL, &kept->action[i]); /* fails for those that threads use internally */
}

/* sa_handler and sa_sigaction may lie at one address. */
static bool is_same(const struct sigaction *a, const struct sigaction *b)
{
    if ((a->sa_flags & SA_SIGINFO) != (b->sa_flags & SA_SIGINFO))
        return false;
    return a->sa_flags & SA_SIGINFO ? a->sa_sigaction == b->sa_sigaction
                                    : a->sa_handler == b->sa_handler;
}

void signals_restore(const struct signals *kept)
{
    struct sigaction now;
    for (int i = 1; i < SIGNALS_END; i++)
        if (i != SIGPROF && sigaction(i, NULL, &now) == 0 && !is_same(&now, &kept->action[i]))
            sigaction(i, &kept->action[i], NULL);
}
