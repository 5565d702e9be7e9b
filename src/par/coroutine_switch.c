/* The switch between two stacks for x86-64 and aarch64 (System V ABI, AAPCS64), with ucontext as the fall-back. All assembly is
 * in this file.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/coroutine_switch.h"

#include <stdint.h>

#if COROUTINE_SWITCH_OWN && defined(__x86_64__)

/* Saved from the stack pointer up: mxcsr and x87 control word, r15, r14, r13, r12, rbx, rbp, return address. */
enum { FRAME_CONTROL, FRAME_R15, FRAME_R14, FRAME_R13, FRAME_R12, FRAME_RBX, FRAME_RBP, FRAME_RETURN, FRAME_WORDS };

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
        /* The bottom frame of a coroutine: the call aligns the stack; unwinders are told that nothing is above. */
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

#elif COROUTINE_SWITCH_OWN && defined(__aarch64__)

/* Saved from the stack pointer up: x19..x30 (x29 is the frame pointer, x30 the return address), d8..d15, fpcr, padding. */
enum { FRAME_X19 = 0, FRAME_X20 = 1, FRAME_X29 = 10, FRAME_RETURN = 11, FRAME_CONTROL = 20, FRAME_WORDS = 22 };

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

#if COROUTINE_SWITCH_OWN

void stiffit_switch_stack(void **save_stack_pointer, void *stack_pointer);
void stiffit_enter_stack(void);

void coroutine_context_make(struct coroutine_context *context, void *stack, size_t stack_bytes,
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

void coroutine_context_switch(struct coroutine_context *from, const struct coroutine_context *to)
{
    stiffit_switch_stack(&from->stack_pointer, to->stack_pointer);
}

#else

/* makecontext passes ints only, so a pointer goes in two halves. */
static void enter_halves(unsigned entry_high, unsigned entry_low, unsigned argument_high, unsigned argument_low)
{
    uintptr_t entry = (uintptr_t)((uint64_t)entry_high << 32 | entry_low);
    uintptr_t argument = (uintptr_t)((uint64_t)argument_high << 32 | argument_low);
    ((void (*)(void *))entry)((void *)argument);
}

void coroutine_context_make(struct coroutine_context *context, void *stack, size_t stack_bytes,
                            void (*entry)(void *argument), void *argument)
{
    uint64_t function = (uintptr_t)entry, data = (uintptr_t)argument;
    getcontext(&context->state);
    context->state.uc_stack.ss_sp = stack;
    context->state.uc_stack.ss_size = stack_bytes;
    context->state.uc_link = NULL;
    makecontext(&context->state, (void (*)(void))enter_halves, 4, (unsigned)(function >> 32), (unsigned)function,
                (unsigned)(data >> 32), (unsigned)data);
}

void coroutine_context_switch(struct coroutine_context *from, const struct coroutine_context *to)
{
    swapcontext(&from->state, &to->state);
}

#endif
