/* Coroutines: the switch between stacks, the stacks, the functions that they run, and
 * annotations for the sanitizers. A stack serves many functions one after another, because
 * making one costs system calls (and milliseconds under ThreadSanitizer).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/coroutine.h"

#include "base/sanitizer.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef __has_include
#define __has_include(header) 0
#endif
#if WITH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#if WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#if !defined(NVALGRIND) && __has_include(<valgrind/valgrind.h>)
#define WITH_VALGRIND 1
#include <valgrind/valgrind.h>
#else
#define WITH_VALGRIND 0
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#ifndef MAP_STACK
#define MAP_STACK 0
#endif

/* The switch between two stacks: hand-written for the processors whose ABI we know (System V on
 * x86-64, AAPCS64; a few nanoseconds); elsewhere, and with -DSTIFFIT_UCONTEXT, by ucontext (two
 * system calls for the signal mask). A shadow stack (x86 CET, ARM GCS) must be switched as well,
 * which only libc can do. */
#if !defined(STIFFIT_UCONTEXT) && \
    ((defined(__x86_64__) && !defined(__ILP32__) && !(defined(__CET__) && (__CET__ & 2))) || \
    (defined(__aarch64__) && !defined(__ARM_FEATURE_GCS_DEFAULT))) && defined(__ELF__)
#define SWITCH_OWN 1
struct context {
    void *stack_pointer; /* the callee-saved registers are stored there */
};
#else
#define SWITCH_OWN 0
#include <ucontext.h>
struct context {
    ucontext_t state;
};
#endif

#if SWITCH_OWN && defined(__x86_64__)

/* Saved from the stack pointer up: mxcsr and x87 control word, r15, r14, r13, r12, rbx, rbp,
 * return address. */
enum {
    FRAME_CONTROL,
    FRAME_R15,
    FRAME_R14,
    FRAME_R13,
    FRAME_R12,
    FRAME_RBX,
    FRAME_RBP,
    FRAME_RETURN,
    FRAME_WORDS
};

__asm__(".text\n"
        ".p2align 4\n"
        ".hidden stiffit_switch_stack\n"
        ".globl stiffit_switch_stack\n"
        ".type stiffit_switch_stack, @function\n"
        "stiffit_switch_stack:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    subq $8, %rsp\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "    addq $8, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size stiffit_switch_stack, .-stiffit_switch_stack\n"
        /* The bottom frame of a coroutine: the call aligns the stack; unwinders are told that
         * nothing is above. */
        ".p2align 4\n"
        ".hidden stiffit_enter_stack\n"
        ".globl stiffit_enter_stack\n"
        ".type stiffit_enter_stack, @function\n"
        "stiffit_enter_stack:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n"
        "    movq %r12, %rdi\n"
        "    call *%r13\n"
        "    ud2\n"
        "    .cfi_endproc\n"
        ".size stiffit_enter_stack, .-stiffit_enter_stack\n");

#elif SWITCH_OWN && defined(__aarch64__)

/* Saved from the stack pointer up: x19..x30 (x29 is the frame pointer, x30 the return address),
 * d8..d15, fpcr, padding. */
enum {
    FRAME_X19 = 0,
    FRAME_X20 = 1,
    FRAME_X29 = 10,
    FRAME_RETURN = 11,
    FRAME_CONTROL = 20,
    FRAME_WORDS = 22
};

__asm__(".text\n"
        ".p2align 4\n"
        ".hidden stiffit_switch_stack\n"
        ".globl stiffit_switch_stack\n"
        ".type stiffit_switch_stack, %function\n"
        "stiffit_switch_stack:\n"
        "    sub sp, sp, #176\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mrs x9, fpcr\n"
        "    str x9, [sp, #160]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldr x9, [sp, #160]\n"
        "    msr fpcr, x9\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #176\n"
        "    ret\n"
        ".size stiffit_switch_stack, .-stiffit_switch_stack\n"
        /* The bottom frame of a coroutine; unwinders are told that nothing is above. */
        ".p2align 4\n"
        ".hidden stiffit_enter_stack\n"
        ".globl stiffit_enter_stack\n"
        ".type stiffit_enter_stack, %function\n"
        "stiffit_enter_stack:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined x30\n"
        "    mov x0, x19\n"
        "    blr x20\n"
        "    brk #1\n"
        "    .cfi_endproc\n"
        ".size stiffit_enter_stack, .-stiffit_enter_stack\n");

#endif

#if SWITCH_OWN

void stiffit_switch_stack(void **save_stack_pointer, void *stack_pointer);
void stiffit_enter_stack(void);

/* A context that will call entry(argument) on the given stack when it is first switched to;
 * entry must not return. It starts with the caller's floating-point control modes. */
static void context_make(struct context *context, void *stack, size_t stack_bytes,
                         void (*entry)(void *argument), void *argument)
{
    uintptr_t top = ((uintptr_t)stack + stack_bytes) & ~(uintptr_t)15;
    uint64_t *frame = (uint64_t *)top - FRAME_WORDS;
    for (int i = 0; i < FRAME_WORDS; i++)
        frame[i] = 0;
    frame[FRAME_RETURN] = (uint64_t)(uintptr_t)stiffit_enter_stack;
#if defined(__x86_64__)
    uint32_t mxcsr;
    uint16_t control;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(control));
    frame[FRAME_CONTROL] = mxcsr | (uint64_t)control << 32;
    frame[FRAME_R12] = (uint64_t)(uintptr_t)argument;
    frame[FRAME_R13] = (uint64_t)(uintptr_t)entry;
#else
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    frame[FRAME_CONTROL] = control;
    frame[FRAME_X19] = (uint64_t)(uintptr_t)argument;
    frame[FRAME_X20] = (uint64_t)(uintptr_t)entry;
#endif
    context->stack_pointer = frame;
}

/* Saves the current context in `from` and continues with `to`. Preserves what the ABI preserves
 * across a call, and the floating-point control modes. With the hand-written switch the signal
 * mask belongs to the thread and does not change. */
static void context_switch(struct context *from, const struct context *to)
{
    stiffit_switch_stack(&from->stack_pointer, to->stack_pointer);
}

#else

/* makecontext passes ints only, so a pointer goes in two halves. */
static void enter_halves(unsigned entry_high, unsigned entry_low, unsigned argument_high,
                         unsigned argument_low)
{
    uintptr_t entry = (uintptr_t)((uint64_t)entry_high << 32 | entry_low);
    uintptr_t argument = (uintptr_t)((uint64_t)argument_high << 32 | argument_low);
    ((void (*)(void *))entry)((void *)argument);
}

static void context_make(struct context *context, void *stack, size_t stack_bytes,
                         void (*entry)(void *argument), void *argument)
{
    uint64_t function = (uintptr_t)entry, data = (uintptr_t)argument;
    getcontext(&context->state);
    context->state.uc_stack.ss_sp = stack;
    context->state.uc_stack.ss_size = stack_bytes;
    context->state.uc_link = NULL;
    makecontext(&context->state, (void (*)(void))enter_halves, 4, (unsigned)(function >> 32),
                (unsigned)function, (unsigned)(data >> 32), (unsigned)data);
}

static void context_switch(struct context *from, const struct context *to)
{
    swapcontext(&from->state, &to->state);
}

#endif

struct coroutine {
    struct context self, resumer;
    void (*entry)(void *argument); /* NULL: leave the stack for good */
    void *argument;
    bool started; /* the stack has a frame that must be left before it is freed */
    bool inside;  /* suspended in, or running, a function */
    bool ready;   /* prepared and not finished */
    char *mapping, *stack;
    size_t mapping_bytes, stack_bytes;
#if WITH_ASAN
    void *fake_stack;
    const void *resumer_stack;
    size_t resumer_bytes;
#endif
#if WITH_TSAN
    void *fiber, *resumer_fiber;
#endif
#if WITH_VALGRIND
    unsigned valgrind_stack;
#endif
};

struct coroutine *coroutine_new(size_t stack_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (stack_bytes > SIZE_MAX / 2)
        return NULL;
    struct coroutine *coroutine = calloc(1, sizeof *coroutine);
    if (!coroutine)
        return NULL;
    coroutine->stack_bytes = (stack_bytes + page - 1) / page * page;
    coroutine->mapping_bytes = coroutine->stack_bytes + page;
    void *mapping = mmap(NULL, coroutine->mapping_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (mapping == MAP_FAILED) {
        free(coroutine);
        return NULL;
    }
    coroutine->mapping = mapping;
    coroutine->stack = coroutine->mapping + page; /* stacks grow down, so the guard page is below */
    if (mprotect(mapping, page, PROT_NONE)) {
        munmap(mapping, coroutine->mapping_bytes);
        free(coroutine);
        return NULL;
    }
#if WITH_TSAN
    coroutine->fiber = __tsan_create_fiber(0);
#endif
#if WITH_VALGRIND
    coroutine->valgrind_stack =
        VALGRIND_STACK_REGISTER(coroutine->stack, coroutine->stack + coroutine->stack_bytes);
#endif
    return coroutine;
}

/* Inside: switches to the resumer and returns at the next resume. for_good: never returns. */
static void switch_out(struct coroutine *coroutine, bool for_good)
{
    (void)for_good;
#if WITH_ASAN
    __sanitizer_start_switch_fiber(for_good ? NULL : &coroutine->fake_stack,
                                   coroutine->resumer_stack, coroutine->resumer_bytes);
#endif
#if WITH_TSAN
    __tsan_switch_to_fiber(coroutine->resumer_fiber, 0);
#endif
    context_switch(&coroutine->self, &coroutine->resumer);
#if WITH_ASAN
    __sanitizer_finish_switch_fiber(coroutine->fake_stack, &coroutine->resumer_stack,
                                    &coroutine->resumer_bytes);
#endif
}

/* The bottom frame of the stack. It loops over functions, because ThreadSanitizer's bounded call
 * stack allows one frame per stack but not one per function. */
static void serve(void *argument)
{
    struct coroutine *coroutine = argument;
#if WITH_ASAN
    __sanitizer_finish_switch_fiber(NULL, &coroutine->resumer_stack, &coroutine->resumer_bytes);
#endif
    while (coroutine->entry) {
        coroutine->entry(coroutine->argument);
        coroutine->inside = false;
        coroutine->ready = false;
        switch_out(coroutine, false);
    }
    coroutine->started = false;
    switch_out(coroutine, true);
    abort();
}

static void switch_in(struct coroutine *coroutine)
{
    if (!coroutine->started) {
        context_make(&coroutine->self, coroutine->stack, coroutine->stack_bytes, serve, coroutine);
        coroutine->started = true;
    }
#if WITH_ASAN
    void *fake_stack = NULL;
    __sanitizer_start_switch_fiber(&fake_stack, coroutine->stack, coroutine->stack_bytes);
#endif
#if WITH_TSAN
    coroutine->resumer_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(coroutine->fiber, 0);
#endif
    context_switch(&coroutine->resumer, &coroutine->self);
#if WITH_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, NULL, NULL);
#endif
}

void coroutine_free(struct coroutine *coroutine)
{
    if (!coroutine)
        return;
    assert(!coroutine->inside);
    if (coroutine->started) {
        coroutine->entry = NULL;
        switch_in(coroutine);
    }
#if WITH_TSAN
    __tsan_destroy_fiber(coroutine->fiber);
#endif
#if WITH_VALGRIND
    VALGRIND_STACK_DEREGISTER(coroutine->valgrind_stack);
#endif
    munmap(coroutine->mapping, coroutine->mapping_bytes);
    free(coroutine);
}

void coroutine_prepare(struct coroutine *coroutine, void (*entry)(void *argument), void *argument)
{
    assert(entry && !coroutine->inside);
    coroutine->entry = entry;
    coroutine->argument = argument;
    coroutine->ready = true;
}

bool coroutine_resume(struct coroutine *coroutine)
{
    assert(coroutine->ready);
    coroutine->inside = true;
    switch_in(coroutine);
    return coroutine->inside;
}

void coroutine_suspend(struct coroutine *coroutine)
{
    assert(coroutine->inside);
    switch_out(coroutine, false);
}
