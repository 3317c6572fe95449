// SPDX-License-Identifier: MIT
//
// Implementation of shared_memory.h, for ld.shared and st.shared and for every other primitive that
// touches shared memory.
#include "shared_memory.h"

#include <cstring>

namespace emu {

Cta *cta_of(uint32_t address) {
    const uint32_t rank = address >> 24;
    if (!rank) return current->cta;
    Cluster *cluster = current->cta->cluster;
    if (rank > cluster->ctas.size()) fail("BOUNDS", "cluster address 0x%x names no CTA", address);
    Cta *c = cluster->ctas[rank - 1].get();
    if (c->exited)
        fail("EXITED", "access to shared memory of CTA rank %u, which has exited", rank - 1);
    return c;
}

uint32_t peer_address(uint32_t address, uint32_t rank) {
    if (rank >= current->cta->cluster->ctas.size())
        fail("BOUNDS", "mapa: the cluster has no CTA of rank %u", rank);
    return (address & 0xffffff) | (rank + 1) << 24;
}

uint8_t *shared_pointer(
    const Cta *c, uint32_t address, uint32_t length, uint32_t alignment, const char *what) {
    const uint32_t low = address & 0xffffff;
    if (low < SHARED_BASE || low - SHARED_BASE + length > c->shared_size)
        fail("BOUNDS", "%s: shared address 0x%x + %u is outside [0x%x, 0x%x)", what, address,
            length, SHARED_BASE, SHARED_BASE + c->shared_size);
    if (low % alignment)
        fail("ALIGN", "%s: shared address 0x%x is not %u-byte aligned", what, address, alignment);
    return c->shared + (low - SHARED_BASE);
}

void note_remote(Cta *c, uint32_t agent, Clock clock) {
    if (config.check_races && c != current->cta) c->remote[agent] = clock;
}

static uint8_t *access(uint32_t address, uint32_t bytes, uint8_t flags, const char *what) {
    Cta *c = cta_of(address);
    uint8_t *p = shared_pointer(c, address, bytes, bytes, what);
    if (config.check_races) {
        check_shared(c, shared_offset(address), bytes, access_by_thread(current, flags),
            current->clocks, what);
        note_remote(c, current->agent, now(current));
    }
    return p;
}

void shared_load(void *value, uint32_t address, uint32_t bytes) {
    memcpy(value, access(address, bytes, ACCESS_READ, "ld.shared"), bytes);
}

void shared_store(uint32_t address, const void *value, uint32_t bytes) {
    memcpy(access(address, bytes, ACCESS_WRITE, "st.shared"), value, bytes);
}

} // namespace emu
