// SPDX-License-Identifier: MIT
//
// Clocks::join is the hottest loop of the happens-before checker: two maxima over some five hundred
// agents. Called by every barrier, and by atomics of global memory. Compiled with -O3, which makes vectors
// of it.
#include "clocks.h"
#include "vector_clones.h"

#include <algorithm>

namespace emu {

const ClusterClocks *Clocks::find(uint32_t cluster) const {
    for (const ClusterClocks &r : rows)
        if (r.cluster == cluster) return &r;
    return nullptr;
}

ClusterClocks &Clocks::row(uint32_t cluster, size_t agents) {
    for (ClusterClocks &r : rows)
        if (r.cluster == cluster) return r;
    rows.push_back({cluster, std::vector<Clock>(agents, 0), std::vector<Clock>(agents, 0)});
    return rows.back();
}

EMU_VECTOR_CLONES
static void join_maximum(Clock *__restrict mine, const Clock *__restrict theirs, size_t count) {
    for (size_t i = 0; i < count; i++) mine[i] = mine[i] > theirs[i] ? mine[i] : theirs[i];
}

void Clocks::join(const Clocks &other) {
    launches_seen = std::max(launches_seen, other.launches_seen);
    for (const ClusterClocks &theirs : other.rows) {
        ClusterClocks &mine = row(theirs.cluster, theirs.seen.size());
        join_maximum(mine.seen.data(), theirs.seen.data(), mine.seen.size());
        join_maximum(mine.proxied.data(), theirs.proxied.data(), mine.proxied.size());
    }
}

void Clocks::clear() {
    launches_seen = 0;
    rows.clear();
}

} // namespace emu
