/* Coroutines: a function with a stack of its own that can be left in the middle and entered again, also by another thread.
 * The only place that knows how stacks are switched.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAR_COROUTINE_H
#define PAR_COROUTINE_H

#include <stdbool.h>
#include <stddef.h>

struct coroutine;

/* A coroutine that will run entry(argument) on a stack of at least `stack_bytes` with a guard page; NULL when memory
 * is out. Not started yet. */
struct coroutine *coroutine_new(size_t stack_bytes);
/* Only when it is not suspended in the middle of a function. */
void coroutine_free(struct coroutine *coroutine);
/* Makes a finished (or new) coroutine ready to run another function; the stack is reused. */
void coroutine_prepare(struct coroutine *coroutine, void (*entry)(void *argument), void *argument);
/* Enters it; returns when it suspends (true) or its function has returned (false). One thread at a time; whoever
 * resumes it next must have synchronised with whoever resumed it last. */
bool coroutine_resume(struct coroutine *coroutine);
/* Called inside it: back to the resumer. Nothing thread-local may be held across this call. */
void coroutine_suspend(struct coroutine *coroutine);

#endif
