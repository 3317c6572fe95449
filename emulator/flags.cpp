// SPDX-License-Identifier: MIT
//
// Flags and atomics of global memory (global_memory.h). Each location remembers what its last
// release brought: for threads of the same CTA, and, if the scope was wider, for everybody. An
// acquire takes that over. A relaxed access between fences does the same in two steps, as the
// memory model says.
#include "global_memory.h"
#include "scheduler.h"

#include <unordered_map>

namespace emu {

struct Location {
    Clocks wide;                                    // released at gpu or sys scope
    std::unordered_map<const Cta *, Clocks> narrow; // released by a thread of this CTA, any scope
};
static std::unordered_map<const uint32_t *, Location> locations;

void flags_reset() {
    locations.clear();
}

static void check_access(const uint32_t *address, uint8_t flags, const char *what) {
    if (reinterpret_cast<uintptr_t>(address) % 4)
        fail("ALIGN", "%s: %p is not 4-byte aligned", what, static_cast<const void *>(address));
    const bool may_race = global_bounds(address, 4, flags & ACCESS_WRITE, what);
    if (config.check_races && may_race)
        check_global(address, 4,
            access_by_thread(current, static_cast<uint8_t>(flags | ACCESS_ATOMIC)), current->clocks,
            what);
}

static bool releases(MemoryOrder order) {
    return order == MemoryOrder::Release || order == MemoryOrder::AcqRel;
}

static bool acquires(MemoryOrder order) {
    return order == MemoryOrder::Acquire || order == MemoryOrder::AcqRel;
}

// replaces: a plain store ends what earlier releases brought; a read-modify-write carries it on
static void publish(const uint32_t *address, MemoryOrder order, MemoryScope scope, bool replaces) {
    if (!config.check_races) return;
    Location &location = locations[address];
    if (replaces) location = Location{};
    Clocks &narrow = location.narrow[current->cta];
    if (releases(order)) {
        narrow.join(current->clocks);
        if (scope != MemoryScope::Cta) location.wide.join(current->clocks);
        own_row(current).seen[current->agent]++;
    } else if (current->has_fenced) {
        narrow.join(current->fence_released);
        if (scope != MemoryScope::Cta) location.wide.join(current->fence_released);
    }
}

static void take_over(const uint32_t *address, MemoryOrder order, MemoryScope scope) {
    if (!config.check_races) return;
    const Location &location = locations[address];
    Clocks &target = acquires(order) ? current->clocks : current->unfenced;
    const auto narrow = location.narrow.find(current->cta);
    if (narrow != location.narrow.end()) target.join(narrow->second);
    if (scope != MemoryScope::Cta) target.join(location.wide);
}

uint32_t flag_load(const uint32_t *address, MemoryOrder order, MemoryScope scope) {
    yield_poll(); // mostly called in a loop: the others get a turn
    check_access(address, ACCESS_READ, "flag load");
    take_over(address, order, scope);
    return *address;
}

void flag_store(uint32_t *address, uint32_t value, MemoryOrder order, MemoryScope scope) {
    check_access(address, ACCESS_WRITE, "flag store");
    publish(address, order, scope, true);
    *address = value;
    note_progress();
}

uint32_t atomic_add(uint32_t *address, uint32_t value, MemoryOrder order, MemoryScope scope) {
    check_access(address, ACCESS_WRITE, "atomic add");
    take_over(address, order, scope);
    publish(address, order, scope, false);
    const uint32_t old = *address;
    *address = old + value;
    note_progress();
    return old;
}

void memory_fence(MemoryScope) {
    Thread *t = current;
    if (!config.check_races) return;
    t->clocks.join(t->unfenced);
    t->unfenced.clear();
    t->fence_released = t->clocks;
    t->has_fenced = true;
    own_row(t).seen[t->agent]++;
}

} // namespace emu
