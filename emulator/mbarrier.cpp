// SPDX-License-Identifier: MIT
//
// Implementation of mbarrier.h. A phase ends when no arrival and no byte is missing; the bytes may
// be negative in between, when a copy lands before it was announced.
#include "mbarrier.h"
#include "scheduler.h"
#include "shared_memory.h"

#include <algorithm>
#include <cstring>

namespace emu {

constexpr int32_t MAX_PENDING_BYTES = (1 << 20) - 1;

static uint64_t token(uint32_t address) {
    return 0xBA44BA44BA440000ull ^ (address & 0xffffff);
}

static Mbarrier &find(Cta *c, uint32_t address, const char *what) {
    const uint8_t *memory = shared_pointer(c, address, 8, 8, what);
    const int k = c->mbarrier_at[shared_offset(address) / 8];
    if (k < 0 || !c->mbarriers[static_cast<size_t>(k)].valid)
        fail("MBAR", "%s on 0x%x, which is not an initialised mbarrier", what, address);
    Mbarrier &b = c->mbarriers[static_cast<size_t>(k)];
    uint64_t content;
    memcpy(&content, memory, 8);
    if (content != token(address))
        fail("MBAR", "mbarrier 0x%x was overwritten by other data", address);
    if (config.check_races && b.init_clock > own_row(current).seen[b.init_agent])
        fail("RACE", "%s on mbarrier 0x%x is not ordered after its initialisation", what, address);
    return b;
}

void mbarrier_init(uint32_t address, uint32_t count) {
    Cta *c = current->cta;
    uint8_t *memory = shared_pointer(c, address, 8, 8, "mbarrier.init");
    if (!count || count >= 1 << 20) fail("MBAR", "arrival count %u", count);
    int &k = c->mbarrier_at[shared_offset(address) / 8];
    if (k < 0) {
        if (c->mbarriers.size() == MAX_MBARRIERS)
            fail("MBAR", "more than %u mbarriers: raise MAX_MBARRIERS", MAX_MBARRIERS);
        k = static_cast<int>(c->mbarriers.size());
        c->mbarriers.emplace_back();
    }
    Mbarrier &b = c->mbarriers[static_cast<size_t>(k)];
    const Clock copies = b.copies; // the agent's clock goes on if the place is used again
    b = Mbarrier{};
    b.address = address;
    b.count = count;
    b.pending = static_cast<int32_t>(count);
    b.agent = agent_of_mbarrier(c, static_cast<uint32_t>(k));
    b.copies = copies;
    b.init_agent = current->agent;
    b.init_clock = now(current);
    const uint64_t content = token(address);
    memcpy(memory, &content, 8);
}

void mbarrier_invalidate(uint32_t address) {
    Mbarrier &b = find(current->cta, address, "mbarrier.inval");
    if (b.waiters.first || b.bytes) fail("MBAR", "mbarrier 0x%x invalidated while in use", address);
    b.valid = false;
    if (config.check_races)
        check_shared(current->cta, shared_offset(address), 8,
            access_by_thread(current, ACCESS_WRITE), current->clocks, "mbarrier.inval");
}

static void settle(Mbarrier &b) {
    if (b.pending < 0)
        fail("MBAR", "mbarrier 0x%x: more arrivals than its count %u", b.address, b.count);
    if (b.bytes > MAX_PENDING_BYTES || b.bytes < -MAX_PENDING_BYTES)
        fail("MBAR", "mbarrier 0x%x: pending bytes out of range", b.address);
    if (b.pending || b.bytes) return;
    b.phase++;
    b.pending = static_cast<int32_t>(b.count);
    if (config.check_races) b.done = b.next;
    wake(b.waiters);
}

void mbarrier_arrive(uint32_t address, uint32_t arrivals, uint32_t bytes) {
    Cta *c = cta_of(address);
    Mbarrier &b = find(c, address, "mbarrier.arrive");
    note_remote(c, current->agent, now(current));
    if (arrivals) release_to(b.next, current);
    b.bytes += static_cast<int32_t>(bytes);
    b.pending -= static_cast<int32_t>(arrivals);
    if (arrivals) settle(b);
}

// What ended the phase is ordered before the running thread anyway, so it cannot look too early.
static bool must_know(const Mbarrier &b) {
    if (!config.check_races) return true;
    for (const ClusterClocks &theirs : b.done.rows) {
        const ClusterClocks *mine = current->clocks.find(theirs.cluster);
        for (size_t i = 0; i < theirs.seen.size(); i++)
            if (theirs.seen[i] > (mine ? mine->seen[i] : 0)) return false;
    }
    return true;
}

bool mbarrier_test(uint32_t address, uint32_t parity) {
    Mbarrier &b = find(cta_of(address), address, "mbarrier.try_wait");
    if ((b.phase & 1) == parity) {
        yield_poll();
        if ((b.phase & 1) == parity) return false;
    } else if (!must_know(b) && random_number() % 2) {
        yield_poll(); // looked a moment too early: what follows a "no" must run in every schedule
        return false;
    }
    acquire(current, b.done);
    return true;
}

void mbarrier_wait(uint32_t address, uint32_t parity) {
    if (parity > 1) fail("MBAR", "parity %u", parity);
    Mbarrier &b = find(cta_of(address), address, "mbarrier.try_wait");
    while ((b.phase & 1) == parity) block(b.waiters, "mbarrier wait", address, parity);
    acquire(current, b.done);
}

Mbarrier &mbarrier_for_copy(Cta *c, uint32_t address, const char *what) {
    Mbarrier &b = find(c, address, what);
    if (config.check_races) {
        if (b.init_clock > own_row(current).proxied[b.init_agent])
            fail("PROXY",
                "mbarrier 0x%x used by %s without fence_mbarrier_init or a proxy fence after its "
                "initialisation",
                address, what);
        b.copies++;
        note_remote(c, b.agent, b.copies);
    }
    return b;
}

Mbarrier &mbarrier_at(Cta *c, uint32_t address, const char *what) {
    return find(c, address, what);
}

void mbarrier_arrive_from(Mbarrier &b, const Clocks &released) {
    if (config.check_races) b.next.join(released);
    b.pending--;
    settle(b);
}

void mbarrier_complete(
    Mbarrier &b, uint32_t bytes, const Clocks &starter, uint32_t cluster, Clock clock) {
    b.bytes -= static_cast<int32_t>(bytes);
    if (config.check_races) {
        Clocks landed = starter;
        for (ClusterClocks &row : landed.rows)
            if (row.cluster == cluster) {
                row.seen[b.agent] = std::max(row.seen[b.agent], clock);
                row.proxied[b.agent] = std::max(row.proxied[b.agent], clock);
            }
        b.next.join(landed);
    }
    settle(b);
}

} // namespace emu
