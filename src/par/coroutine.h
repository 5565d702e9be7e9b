/* Coroutines: functions with their own stack that can be suspended and resumed, also by another
 * thread.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct coroutine;

/* A coroutine that will run entry(argument) on a stack of at least `stack_bytes` with a guard
 * page. It is not started. NULL: out of memory. */
struct coroutine *coroutine_new(size_t stack_bytes);
/* Only if it is not suspended in a function. */
void coroutine_free(struct coroutine *coroutine);
/* Prepares a finished or new coroutine to run a function; the stack is reused. */
void coroutine_prepare(struct coroutine *coroutine, void (*entry)(void *argument), void *argument);
/* Runs it until it suspends (true) or its function returns (false). One thread at a time; a
 * thread that resumes it must have synchronised with the thread that resumed it last. */
bool coroutine_resume(struct coroutine *coroutine);
/* Called inside it: returns to coroutine_resume. Nothing thread-local may be held across this
 * call. */
void coroutine_suspend(struct coroutine *coroutine);
