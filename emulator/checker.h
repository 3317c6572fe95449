// SPDX-License-Identifier: MIT
//
// The happens-before checker. Memory is divided into granules of 16 bytes; each keeps the accesses
// that later ones may conflict with. An access that is not ordered after a conflicting one is a
// RACE, whichever of the two happened to run first: one run covers all interleavings of its path.
// An asynchronous engine that meets an ordinary store without a proxy fence in between is a PROXY
// error.
#pragma once
#include "clocks.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emu {

struct Cta;
struct Thread;

enum AccessFlags : uint8_t {
    ACCESS_READ = 0,
    ACCESS_WRITE = 1,
    ACCESS_ASYNC = 2,  // by TMA, wgmma or a bulk copy
    ACCESS_ATOMIC = 4, // atomics and flags do not race with each other
};

// span: the access is made by agents agent .. agent + span - 1 together (the four warps of a wgmma)
struct Access {
    Clock clock;
    uint32_t cluster;
    uint16_t agent;
    uint16_t bytes; // mask inside the granule
    uint8_t span, flags;
};

struct Granule {
    std::vector<Access> accesses;
    uint16_t written = 0; // mask of bytes that hold something
};

Access access_by_thread(const Thread *t, uint8_t flags);
Access access_by_agent(const Cta *c, uint32_t agent, Clock clock, uint8_t flags, uint8_t span = 1);

// offset: inside owner's shared memory. check, record: do only half of the work.
void check_shared(Cta *owner, uint32_t offset, uint32_t length, Access access, const Clocks &clocks,
    const char *what, bool check = true, bool record = true);

// Global memory; bounds are not looked at here.
void check_global(
    const void *address, size_t length, Access access, const Clocks &clocks, const char *what);

// One granule of another memory. space: its name in reports.
void check_granule(Granule &granule, const Access &access, const Clocks &clocks, const char *what,
    const char *space, uint64_t address, bool record);

// Forgets all accesses of global memory and all clusters.
void checker_reset();
// Clusters are numbered from 0 in the order of these calls.
uint32_t checker_add_cluster(uint32_t launch, uint32_t first_cta, uint32_t threads);

} // namespace emu
