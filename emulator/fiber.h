// SPDX-License-Identifier: MIT
//
// Fibers: one stack for each emulated thread, switched by hand in one OS thread. The scheduler is
// the only caller. x86-64 and aarch64 switch in a dozen instructions (7 ns; ucontext's two system
// calls take 2 us and make the whole emulator eight times slower). AddressSanitizer is told of
// every switch.
#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#    define EMU_ASAN 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define EMU_ASAN 1
#    endif
#endif

namespace emu {

struct Fiber {
    void *stack_pointer = nullptr;
    char *stack = nullptr;
    size_t size = 0;
    void (*entry)(void *) = nullptr;
    void *argument = nullptr;
    void *fake_stack = nullptr; // AddressSanitizer's
};

// The fiber starts in entry(argument) when first switched to; entry must not return.
void fiber_make(Fiber &fiber, char *stack, size_t size, void (*entry)(void *), void *argument);

// Leaves `from` and goes on in `to`, which may be the context of main (a Fiber never made).
// from_ends: `from` will not be switched to again.
void fiber_switch(Fiber &from, Fiber &to, bool from_ends = false);

} // namespace emu
