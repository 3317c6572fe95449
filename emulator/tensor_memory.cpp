// SPDX-License-Identifier: MIT
//
// Implementation of tensor_memory.h. A thread's accesses are checked against what it knew at its
// last fence_after: one that a barrier orders and no fence does is a TCFENCE error. What a warp
// has loaded becomes known to others only through its fence_before.
#include "tensor_memory.h"
#include "scheduler.h"
#include "shared_memory.h"
#include "warp.h"

#include <algorithm>
#include <cstring>

namespace emu {

constexpr uint32_t POISON = 0x7fc0dead;

TensorMemory &tensor_memory(Cta *c, uint32_t ctas) {
    if (!c->tensor) {
        c->tensor = std::make_unique<TensorMemory>();
        c->tensor->words.assign(128 * TENSOR_COLUMNS, POISON);
        c->tensor->granules.resize(TENSOR_COLUMNS * 4);
        c->tensor->accesses.assign(c->warp_count(), 0);
        c->tensor->products.assign(c->warp_count(), 0);
        c->tensor->ctas = ctas;
    }
    if (ctas && c->tensor->ctas && c->tensor->ctas != ctas)
        fail("TMEM", "a kernel uses cta_group::1 or cta_group::2, not both");
    if (ctas) c->tensor->ctas = ctas;
    if (ctas == 2 && (c->rank | 1) >= c->cluster->ctas.size())
        fail("TMEM", "cta_group::2 in a cluster without the other CTA of the pair");
    return *c->tensor;
}

static uint32_t column_of(uint32_t address) {
    return address & 0xffff;
}

// ---- allocation

static void check_columns(uint32_t columns, const char *what) {
    if (columns < 32 || columns > TENSOR_COLUMNS || (columns & (columns - 1)))
        fail("TMEM", "%s of %u columns: not a power of two from 32 to 512", what, columns);
}

// The first free place, a multiple of the size; TENSOR_COLUMNS if there is none.
static uint32_t find_place(const TensorMemory &tensor, uint32_t columns) {
    for (uint32_t first = 0; first < TENSOR_COLUMNS; first += columns)
        if (std::all_of(tensor.allocated + first, tensor.allocated + first + columns,
                [](uint32_t size) { return size == 0; }))
            return first;
    return TENSOR_COLUMNS;
}

static void same_in_all_lanes(const char *operation, uint64_t value) {
    warp_exchange(operation, &value, 1, nullptr, 0, [operation](WarpExchange &w) {
        for (auto &in : w.in)
            if (in[0] != w.in[0][0])
                fail("TMEM", "%s: lanes of one warp give different operands", operation);
    });
}

void tensor_allocate(uint32_t ctas, uint32_t destination, uint32_t columns) {
    TensorMemory &tensor = tensor_memory(current->cta, ctas);
    check_columns(columns, "tcgen05.alloc");
    if (!tensor.may_allocate) fail("TMEM", "tcgen05.alloc after relinquish_alloc_permit");
    same_in_all_lanes("tcgen05.alloc", static_cast<uint64_t>(destination) << 32 | columns);
    if (current->lane == 0) {
        uint32_t first = find_place(tensor, columns);
        while (first == TENSOR_COLUMNS) {
            block(tensor.waiters, "tcgen05.alloc", columns);
            first = find_place(tensor, columns);
        }
        acquire(current, tensor.freed);
        for (uint32_t i = first; i < first + columns; i++) {
            tensor.allocated[i] = columns;
            for (uint32_t q = 0; q < 4; q++) tensor.granules[i * 4 + q].written = 0;
            for (uint32_t lane = 0; lane < 128; lane++)
                tensor.words[lane * TENSOR_COLUMNS + i] = POISON;
        }
        shared_store(destination, &first, 4);
    }
    same_in_all_lanes("tcgen05.alloc", 0);
}

void tensor_relinquish(uint32_t ctas) {
    tensor_memory(current->cta, ctas).may_allocate = false;
}

void tensor_deallocate(uint32_t ctas, uint32_t address, uint32_t columns) {
    TensorMemory &tensor = tensor_memory(current->cta, ctas);
    check_columns(columns, "tcgen05.dealloc");
    same_in_all_lanes("tcgen05.dealloc", static_cast<uint64_t>(address) << 32 | columns);
    if (current->lane != 0) return;
    const uint32_t first = column_of(address);
    Access access = access_by_thread(current, ACCESS_WRITE);
    access.bytes = 0xffff;
    for (uint32_t i = first; i < first + columns; i++) {
        if (i >= TENSOR_COLUMNS || tensor.allocated[i] != columns || first % columns)
            fail("TMEM", "tcgen05.dealloc of %u columns at %u: not allocated like this", columns,
                first);
        if (config.check_races)
            for (uint32_t q = 0; q < 4; q++)
                check_granule(tensor.granules[i * 4 + q], access, current->clocks,
                    "tcgen05.dealloc", "tensor memory column", i, true);
        tensor.allocated[i] = 0;
    }
    release_to(tensor.freed, current);
    wake(tensor.waiters);
}

// ---- order

static void check_one(Granule &granule, const Access &access, const Clocks &view,
    const Clocks &known, const char *what, uint32_t column) {
    if (!(access.flags & ACCESS_WRITE) && !granule.written)
        fail("UNINITIALISED", "%s reads column %u of tensor memory, which was never written", what,
            column);
    try {
        check_granule(granule, access, view, what, "tensor memory column", column, true);
    } catch (const Error &) {
        check_granule(granule, access, known, what, "tensor memory column", column, false);
        fail("TCFENCE",
            "%s at column %u of tensor memory: no tcgen05_fence_after between the wait and this "
            "access",
            what, column);
    }
}

static void raise(Clocks &clocks, uint32_t agent, Clock clock) {
    clocks.rows[0].seen[agent] = std::max(clocks.rows[0].seen[agent], clock);
}

void check_tensor(Cta *c, uint32_t address, uint32_t columns, uint32_t quarter,
    const Access &access, Clock own_clock, const char *what) {
    Thread *t = current;
    TensorMemory &tensor = tensor_memory(c, 0);
    const uint32_t first = column_of(address);
    for (uint32_t i = first; i < first + columns; i++)
        if (i >= TENSOR_COLUMNS || !tensor.allocated[i])
            fail("TMEM", "%s touches column %u, which is not allocated", what, i);
    if (!config.check_races) return;
    Clocks view = t->tensor_view, known = t->clocks;
    if (view.rows.empty()) view.row(c->cluster->id, c->cluster->agents);
    view.launches_seen = known.launches_seen;
    raise(view, access.agent, own_clock);
    raise(known, access.agent, own_clock);
    Access whole = access;
    whole.bytes = 0xffff;
    for (uint32_t i = first; i < first + columns; i++)
        for (uint32_t q = 0; q < 4; q++)
            if (quarter == ALL_QUARTERS || q == quarter)
                check_one(tensor.granules[i * 4 + q], whole, view, known, what, i);
}

void tensor_fence_before() {
    if (!current->cta->tensor) return;
    raise_clock(
        current, agent_of_tensor_access(current->cta, current->warp), current->tensor_waited);
}

void tensor_fence_after() {
    current->tensor_view = current->clocks;
}

// ---- loads and stores of a warp

// Checks the access once for the warp; returns the place of the running lane's first word.
static uint32_t start_access(uint32_t address, uint32_t count, uint8_t flags, const char *what) {
    Thread *t = current;
    TensorMemory &tensor = tensor_memory(t->cta, 0);
    const uint32_t quarter = t->warp % 4;
    if (address >> 16 != quarter * 32)
        fail("TMEM", "%s: warp %u reaches lanes from %u on, not from %u", what, t->warp,
            quarter * 32, address >> 16);
    if (t->lane == 0) {
        const Clock clock = ++tensor.accesses[t->warp];
        check_tensor(t->cta, address, count, quarter,
            access_by_agent(t->cta, agent_of_tensor_access(t->cta, t->warp), clock, flags),
            t->tensor_waited, what);
    }
    same_in_all_lanes(what, address);
    return (quarter * 32 + t->lane) * TENSOR_COLUMNS + column_of(address);
}

void tensor_load(uint32_t *values, uint32_t count, uint32_t address) {
    const uint32_t place = start_access(address, count, ACCESS_READ, "tcgen05.ld");
    for (uint32_t i = 0; i < count; i++) {
        values[i] = POISON;
        current->tensor_loads.push_back({values + i, place + i});
    }
}

void tensor_store(uint32_t address, const uint32_t *values, uint32_t count) {
    const uint32_t place = start_access(address, count, ACCESS_WRITE, "tcgen05.st");
    for (uint32_t i = 0; i < count; i++) current->tensor_stores.push_back({values[i], place + i});
}

// Both kinds count on one clock, so it is raised when none of either is left.
static void waited() {
    Thread *t = current;
    if (t->tensor_loads.empty() && t->tensor_stores.empty())
        t->tensor_waited = t->cta->tensor->accesses[t->warp];
}

void tensor_wait_load() {
    Thread *t = current;
    TensorMemory &tensor = tensor_memory(t->cta, 0);
    same_in_all_lanes("tcgen05.wait::ld", 0);
    for (const TensorLoad &load : t->tensor_loads) *load.value = tensor.words[load.place];
    t->tensor_loads.clear();
    waited();
}

void tensor_wait_store() {
    Thread *t = current;
    TensorMemory &tensor = tensor_memory(t->cta, 0);
    same_in_all_lanes("tcgen05.wait::st", 0);
    for (const TensorStore &store : t->tensor_stores) tensor.words[store.place] = store.value;
    t->tensor_stores.clear();
    waited();
}

} // namespace emu
