// SPDX-License-Identifier: MIT
//
// Vector clocks: what has happened before a point of the program. Every agent that touches memory
// (a thread, a warp's wgmma, the loads of an mbarrier, the stores of a warp) counts its own time; a
// Clocks says how far each agent's past is known. Barriers carry them from thread to thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace emu {

using Clock = uint32_t;

// The agents of one cluster. `seen`: ordered before me. `proxied`: also visible to the asynchronous
// engines; a proxy fence copies the first into the second.
struct ClusterClocks {
    uint32_t cluster;
    std::vector<Clock> seen, proxied;
};

struct Clocks {
    uint32_t launches_seen = 0; // every access of launches before this one is ordered before me
    std::vector<ClusterClocks> rows; // a cluster not listed: nothing of it is known

    const ClusterClocks *find(uint32_t cluster) const;
    ClusterClocks &row(uint32_t cluster, size_t agents); // added if missing
    void join(const Clocks &other);                      // what either knows
    void clear();
};

} // namespace emu
