// SPDX-License-Identifier: MIT
//
// The context switch behind fiber.h. A stack holds the callee-saved registers of a fiber that is
// not running; switching pushes them, changes stacks and pops. The jump goes through a register
// instead of `ret`, because a `ret` to another address than the last call's defeats return
// prediction.
#include "fiber.h"

#include <cstring>

#ifdef EMU_ASAN
#    include <sanitizer/asan_interface.h>
#    include <sanitizer/common_interface_defs.h>
#endif

extern "C" void emu_fiber_swap(void **save, void *load);
extern "C" void emu_fiber_boot();

namespace emu {

static Fiber *previous; // who switched to the running fiber

static void arrived(Fiber &me) {
#ifdef EMU_ASAN
    const void *bottom = nullptr;
    size_t size = 0;
    __sanitizer_finish_switch_fiber(me.fake_stack, &bottom, &size);
    if (!previous->stack) { // main's stack is learnt when it is left for the first time
        previous->stack = static_cast<char *>(const_cast<void *>(bottom));
        previous->size = size;
    }
#else
    (void)me;
#endif
}

static void start(void *argument) {
    Fiber &fiber = *static_cast<Fiber *>(argument);
    fiber.fake_stack = nullptr;
    arrived(fiber);
    fiber.entry(fiber.argument);
    __builtin_trap();
}

#if defined(__x86_64__)
asm(R"(
.text
.globl emu_fiber_swap
.type emu_fiber_swap,@function
emu_fiber_swap:
    pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
    movq %rsp,(%rdi)
    movq %rsi,%rsp
    popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
    popq %rdx
    jmpq *%rdx
.globl emu_fiber_boot
.type emu_fiber_boot,@function
emu_fiber_boot:
    movq %r12,%rdi
    xorl %ebp,%ebp
    callq *%r13
    ud2
)");

static void *first_frame(Fiber &fiber, char *top) {
    void **p = reinterpret_cast<void **>(top);
    *--p = nullptr; // keeps the stack 16-byte aligned in emu_fiber_boot and ends backtraces
    *--p = nullptr;
    *--p = reinterpret_cast<void *>(emu_fiber_boot);
    *--p = nullptr;                         // rbp
    *--p = nullptr;                         // rbx
    *--p = &fiber;                          // r12
    *--p = reinterpret_cast<void *>(start); // r13
    *--p = nullptr;                         // r14
    *--p = nullptr;                         // r15
    return p;
}
#elif defined(__aarch64__)
asm(R"(
.text
.globl emu_fiber_swap
.type emu_fiber_swap,%function
emu_fiber_swap:
    sub sp,sp,#160
    stp x19,x20,[sp]; stp x21,x22,[sp,#16]; stp x23,x24,[sp,#32]
    stp x25,x26,[sp,#48]; stp x27,x28,[sp,#64]; stp x29,x30,[sp,#80]
    stp d8,d9,[sp,#96]; stp d10,d11,[sp,#112]; stp d12,d13,[sp,#128]; stp d14,d15,[sp,#144]
    mov x9,sp; str x9,[x0]; mov sp,x1
    ldp x19,x20,[sp]; ldp x21,x22,[sp,#16]; ldp x23,x24,[sp,#32]
    ldp x25,x26,[sp,#48]; ldp x27,x28,[sp,#64]; ldp x29,x30,[sp,#80]
    ldp d8,d9,[sp,#96]; ldp d10,d11,[sp,#112]; ldp d12,d13,[sp,#128]; ldp d14,d15,[sp,#144]
    add sp,sp,#160
    ret
.globl emu_fiber_boot
.type emu_fiber_boot,%function
emu_fiber_boot:
    mov x0,x19
    blr x20
    brk #1
)");

static void *first_frame(Fiber &fiber, char *top) {
    void **p = reinterpret_cast<void **>(top - 160);
    memset(p, 0, 160);
    p[0] = &fiber;                                    // x19
    p[1] = reinterpret_cast<void *>(start);           // x20
    p[11] = reinterpret_cast<void *>(emu_fiber_boot); // x30
    return p;
}
#else
#    error "the emulator's context switch knows x86-64 and aarch64"
#endif

void fiber_make(Fiber &fiber, char *stack, size_t size, void (*entry)(void *), void *argument) {
    fiber.stack = stack;
    fiber.size = size;
    fiber.entry = entry;
    fiber.argument = argument;
#ifdef EMU_ASAN
    __asan_unpoison_memory_region(
        stack, size); // a reused stack still has its old frames' red zones
#endif
    char *top = stack + size;
    fiber.stack_pointer = first_frame(fiber, top - (reinterpret_cast<uintptr_t>(top) & 63));
}

void fiber_switch(Fiber &from, Fiber &to, bool from_ends) {
    previous = &from;
#ifdef EMU_ASAN
    __sanitizer_start_switch_fiber(from_ends ? nullptr : &from.fake_stack, to.stack, to.size);
#else
    (void)from_ends;
#endif
    emu_fiber_swap(&from.stack_pointer, to.stack_pointer);
    arrived(from);
}

} // namespace emu
