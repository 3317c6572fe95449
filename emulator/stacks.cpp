// SPDX-License-Identifier: MIT
//
// Implementation of stacks.h. Pages are touched only when a fiber grows into them, so thousands of
// stacks cost little.
#include "stacks.h"
#include "fiber.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include <sys/mman.h>

namespace emu {

#ifdef EMU_ASAN
constexpr size_t STACK_BYTES = 256 << 10; // red zones take room
#else
constexpr size_t STACK_BYTES = 64 << 10;
#endif
constexpr size_t SLAB_STACKS = 512;
constexpr uint64_t GUARD = 0x57ac57ac57ac57acull;

static std::vector<char *> unused;

size_t stack_bytes() {
    return STACK_BYTES;
}

static void map_slab() {
    void *slab = mmap(nullptr, SLAB_STACKS * STACK_BYTES, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab == MAP_FAILED) throw std::bad_alloc();
    for (size_t i = SLAB_STACKS; i-- > 0;)
        unused.push_back(static_cast<char *>(slab) + i * STACK_BYTES);
}

char *stack_take() {
    if (unused.empty()) map_slab();
    char *stack = unused.back();
    unused.pop_back();
    *reinterpret_cast<uint64_t *>(stack) = GUARD;
    return stack;
}

void stack_give_back(char *stack) {
    unused.push_back(stack);
}

bool stack_overflowed(const char *stack) {
    return *reinterpret_cast<const uint64_t *>(stack) != GUARD;
}

} // namespace emu
