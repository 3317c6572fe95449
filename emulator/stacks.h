// SPDX-License-Identifier: MIT
//
// Stacks of the fibers: mapped in slabs, recycled, with a guard word at the lower end. Used by
// launch.cpp alone.
#pragma once
#include <cstddef>

namespace emu {

char *stack_take();
void stack_give_back(char *stack);
bool stack_overflowed(const char *stack);
size_t stack_bytes();

} // namespace emu
