/* The switch between two stacks, alone so that it can be replaced. It is hand-written for the processors whose ABI we know
 * (a few nanoseconds); elsewhere, and with -DSTIFFIT_UCONTEXT, it uses ucontext (two system calls for the signal mask).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>

/* A shadow stack (x86 CET, ARM GCS) must be switched as well, which only libc can do. */
#if !defined(STIFFIT_UCONTEXT) && ((defined(__x86_64__) && !defined(__ILP32__) && !(defined(__CET__) && (__CET__ & 2))) || \
    (defined(__aarch64__) && !defined(__ARM_FEATURE_GCS_DEFAULT))) && defined(__ELF__)
#define COROUTINE_SWITCH_OWN 1
struct coroutine_context {
    void *stack_pointer; /* the callee-saved registers are stored there */
};
#else
#define COROUTINE_SWITCH_OWN 0
#include <ucontext.h>
struct coroutine_context {
    ucontext_t state;
};
#endif

/* A context that will call entry(argument) on the given stack when it is first switched to; entry must not return. It starts
 * with the caller's floating-point control modes. */
void coroutine_context_make(struct coroutine_context *context, void *stack, size_t stack_bytes,
                            void (*entry)(void *argument), void *argument);
/* Saves the current context in `from` and continues with `to`. Preserves what the ABI preserves across a call, and the
 * floating-point control modes. With the hand-written switch the signal mask belongs to the thread and does not change. */
void coroutine_context_switch(struct coroutine_context *from, const struct coroutine_context *to);
