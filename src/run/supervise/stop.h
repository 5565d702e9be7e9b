/* The signals that ask supervisor and children to stop: Ctrl-C, SLURM's before the time is up, a
 * closed terminal.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* Adds the stop signals that are not ignored. Ignored ones stay so: nohup ignores SIGHUP, and
 * background jobs ignore SIGINT. */
void stop_signals(sigset_t *set);
/* From now on a stop signal only makes stop_is_requested true. */
void stop_catch(void);
bool stop_is_requested(void);
/* For a child that is nearly done: ignores stop signals. (The supervisor kills it if it takes
 * too long.) */
void stop_ignore(void);
