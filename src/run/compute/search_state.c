/* The states of all searches in one file, which another process reads to continue. A search keeps its own between two of its
 * passes, in memory, because the others' blocks are being evaluated then; the file has the latest of each.
 *
 *   for each search: u64 component, u64 length, length bytes of joint_save
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/search.h"

#include "base/clock.h"
#include "io/journal_state.h"
#include "run/compute/compute_joint.h"
#include "run/supervise/child.h"

#include <stdlib.h>
#include <string.h>

/* A state is kept, and the file written, when STATE_WORTH_NS have passed since the last time, and
 * for the file at least STATE_SHARE times as long as that write took. A kill costs at most this and
 * one pass. */
static const int64_t STATE_WORTH_NS = 100000000, STATE_SHARE = 20;

enum status searches_read_states(struct compute *compute, struct error *error)
{
    struct searches *searches = compute->searches;
    const struct run_plan *plan = &compute->campaign.plan;
    searches->keeps = compute->campaign.fit.optimizer != OPTIMIZER_lbfgs; /* libLBFGS keeps its state to itself */
    searches->written_ns = clock_now_ns();
    if (compute_is_first(compute))
        searches->saved = journal_state_read(plan->place.journal, &plan->identity, &searches->n_saved);
    if (!compute->ranks.is_joined)
        return STATUS_OK;
    size_t n;
    const unsigned char *all = rank_link_gather(&compute->ranks, searches->saved, searches->saved ? searches->n_saved : 0, &n);
    free(searches->saved);
    searches->saved = all && n ? malloc(n) : NULL;
    searches->n_saved = searches->saved ? n : 0;
    if (!all)
        return compute_lost(error);
    if (n && !searches->saved)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the state of the search");
    if (searches->saved)
        memcpy(searches->saved, all, n);
    return STATUS_OK;
}

const unsigned char *searches_find_state(const struct searches *searches, size_t component, size_t *n)
{
    uint64_t head[2];
    for (size_t at = 0; searches->saved && searches->n_saved - at >= sizeof head; at += (size_t)head[1]) {
        memcpy(head, searches->saved + at, sizeof head);
        at += sizeof head;
        if (head[1] > searches->n_saved - at)
            return NULL;
        *n = (size_t)head[1];
        if (head[0] == component)
            return searches->saved + at;
    }
    return NULL;
}

void searches_write_states(struct compute *compute)
{
    struct searches *searches = compute->searches;
    const struct run_plan *plan = &compute->campaign.plan;
    struct error error = {.status = STATUS_OK};
    int64_t now = clock_now_ns();
    size_t n = 0;
    if (!searches->is_due || !searches->keeps || now - searches->written_ns < STATE_WORTH_NS
        || now - searches->written_ns < STATE_SHARE * searches->cost_ns)
        return;
    for (size_t i = 0; i < searches->n_live; i++)
        n += 2 * sizeof(uint64_t) + searches->live[i]->n_kept;
    unsigned char *bytes = malloc(n + 1), *next = bytes;
    for (size_t i = 0; bytes && i < searches->n_live; i++) {
        const struct search *search = searches->live[i];
        const uint64_t head[2] = {search->fit.component, search->n_kept};
        if (!search->n_kept)
            continue;
        memcpy(next, head, sizeof head);
        memcpy(next + sizeof head, search->kept ? search->kept : search->loaded, search->n_kept);
        next += sizeof head + search->n_kept;
    }
    if (!bytes || journal_state_write(plan->place.journal, &plan->identity, bytes, (size_t)(next - bytes), &error)) {
        searches->keeps = false;
        compute_say(compute, "warning: the state of the search cannot be kept (%s); the fit continues, but after an "
                    "interruption it would start from an earlier state", bytes ? error.message : "out of memory");
    }
    free(bytes);
    searches->is_due = false;
    searches->written_ns = clock_now_ns();
    searches->cost_ns = searches->written_ns - now;
}

/* Whether this rank's bit is set in some rank. */
static bool is_set_in_some(const struct search *search, bool own)
{
    struct compute *compute = search->compute;
    unsigned char bit = own;
    size_t n_all;
    const unsigned char *all = compute->ranks.is_joined ? rank_link_gather(&compute->ranks, &bit, 1, &n_all) : NULL;
    for (size_t i = 0; all && i < n_all; i++)
        bit |= all[i];
    return bit;
}

bool search_is_stopped(const struct search *search) { return is_set_in_some(search, stop_is_requested()); }

void search_keep_state(void *context)
{
    struct search *search = context;
    struct compute *compute = search->compute;
    struct joint *joint = &search->fit.joint;
    bool is_worth = clock_now_ns() - search->kept_ns >= STATE_WORTH_NS && compute_is_first(compute);
    size_t n;
    if (joint->descends || (search->request && !search->request->keeps) || !is_set_in_some(search, is_worth))
        return;
    unsigned char *bytes = joint_save(joint, &n);
    if (joint->ranks.gather) {
        const unsigned char *all = rank_link_gather_at_first(&compute->ranks, bytes, bytes ? n : 0, &n);
        free(bytes);
        bytes = all && n ? malloc(n) : NULL;
        if (bytes)
            memcpy(bytes, all, n);
    }
    search->kept_ns = clock_now_ns();
    if (!compute_is_first(compute) || compute->ranks.is_lost || !bytes) {
        free(bytes);
        return;
    }
    free(search->kept);
    search->kept = bytes;
    search->n_kept = n;
    compute->searches->is_due = true;
    searches_write_states(compute);
}
