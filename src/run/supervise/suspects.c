/* Judges deaths by the contents of the board.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/supervise/suspects.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

void death_fini(struct death *death)
{
    free(death->guilty);
    free(death->slot);
    *death = (struct death){.died = false};
}

void suspects_how(int wait_status, char how[SUSPECTS_HOW])
{
    if (WIFSIGNALED(wait_status))
        snprintf(how, SUSPECTS_HOW, "signal %d (%s%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)),
                 WTERMSIG(wait_status) == SIGKILL ? "; was memory short?" : "");
    else
        snprintf(how, SUSPECTS_HOW, "the model's code called exit(%d)", WEXITSTATUS(wait_status));
}

bool suspects_add(struct board *board, uint64_t fit)
{
    for (uint64_t i = 0; i < board->n_suspect; i++)
        if (board->suspect[i] == fit)
            return false;
    if (board->n_suspect >= BOARD_MAX_SUSPECT)
        return false;
    board->suspect[board->n_suspect] = fit;
    /* after the number itself, so that a death in between leaves no false suspect */
    board->n_suspect++;
    return true;
}

/* Removes suspects that have a record, or that are guilty. */
static void strike_off(struct board *board, bool (*has)(const void *context, uint64_t fit),
                       const void *context, const struct death *death)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < board->n_suspect; i++) {
        bool keep = !has(context, board->suspect[i]);
        for (size_t k = 0; k < death->n_guilty; k++)
            keep = keep && death->guilty[k] != board->suspect[i];
        if (keep)
            board->suspect[n++] = board->suspect[i];
    }
    board->n_suspect = n;
}

/* SIGKILL comes from outside, so a fit that was running alone is only a suspect. If SIGKILL
 * comes again when that fit is tried alone, the fit's use of memory is the cause. */
static bool proves_guilt(const struct board *board, size_t n_busy)
{
    bool from_outside = WIFSIGNALED(board->wait_status) && WTERMSIG(board->wait_status) == SIGKILL;
    return n_busy == 1 && (!from_outside || board->is_apart);
}

/* Whether no other fit was on the same worker: of several in one engine it is not known which
 * one hangs. */
static bool is_alone(const struct board_slots *slots, size_t slot)
{
    uint64_t fit = counter_get(&board_slot(slots, slot)->fit);
    for (size_t i = slot - slot % slots->n_lane, end = i + slots->n_lane; i < end && i < slots->n;
         i++) {
        uint64_t other = counter_get(&board_slot(slots, i)->fit);
        if (other && other != fit)
            return false;
    }
    return true;
}

static bool is_in(uint64_t one, const uint64_t *list, size_t n)
{
    size_t i = 0;
    while (i < n && list[i] != one)
        i++;
    return i < n;
}

bool suspects_judge(struct board *board, const struct board_slots *slots,
                    bool (*has)(const void *context, uint64_t fit), const void *context,
                    struct death *death)
{
    *death = (struct death){.died = board->died, .hung = board->died && board->hung};
    uint64_t *fit = calloc(slots->n + 1, sizeof *fit);
    size_t *slot = calloc(slots->n + 1, sizeof *slot), n = 0;
    death->guilty = fit;
    death->slot = slot;
    if (!fit || !slot) {
        death_fini(death);
        return false;
    }
    for (size_t i = 0; board->died && i < slots->n; i++) {
        const struct board_slot *at = board_slot(slots, i);
        uint64_t number = counter_get(&at->fit); /* 1 + the fit; 0: none */
        if (number == 0 || has(context, number - 1) || is_in(number - 1, fit, n) ||
            (board->hung && !counter_get(&at->hung)))
            continue;
        fit[n] = number - 1;
        slot[n++] = i;
    }
    for (size_t i = 0; i < n; i++) {
        if (board->hung ? is_alone(slots, slot[i]) : proves_guilt(board, n)) {
            slot[death->n_guilty] = slot[i];
            fit[death->n_guilty++] = fit[i];
            continue;
        }
        if (death->n_put_off++ == 0)
            death->put_off = fit[i];
        suspects_add(board, fit[i]);
    }
    board->n_group_death += death->n_put_off > 0;
    if (death->hung)
        snprintf(death->how, sizeof death->how, "no step finished for %d s", board->hang_s);
    else if (board->died)
        suspects_how(board->wait_status, death->how);
    board->n_guilty += death->n_guilty;
    strike_off(board, has, context, death);
    board->died = board->hung = board->is_apart = false;
    return true;
}

void suspects_reason(const struct death *death, const struct board_slot *slot,
                     const char *const *names, size_t n_parameter, char reason[SUSPECTS_REASON])
{
    static const char more[] = ", ...";
    int used = snprintf(reason, SUSPECTS_REASON, "%s", death->how);
    if (!counter_get(&slot->is_asked))
        return;
    for (size_t i = 0; i < n_parameter; i++) {
        char entry[SUSPECTS_REASON];
        int n = snprintf(entry, sizeof entry, "%s%s = %.9g", i ? ", " : " at ", names[i],
                         slot->parameter[i]);
        bool is_last = i + 1 == n_parameter;
        if (n < 0 || (size_t)(used + n) + (is_last ? 0 : sizeof more) > SUSPECTS_REASON - 1) {
            snprintf(reason + used, SUSPECTS_REASON - (size_t)used, "%s", i ? more : "");
            return;
        }
        memcpy(reason + used, entry, (size_t)n + 1);
        used += n;
    }
}

uint64_t suspects_n_guilty(const struct board *board)
{
    return board->n_guilty + board->n_group_death;
}
