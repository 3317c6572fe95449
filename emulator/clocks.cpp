// SPDX-License-Identifier: MIT
//
// Clocks::join is the hottest loop of the happens-before checker: two maxima over some five hundred
// agents. Called by every barrier, and by atomics of global memory.
#include "clocks.h"

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

static void join_maximum(std::vector<Clock> &mine, const std::vector<Clock> &theirs) {
    Clock *a = mine.data();
    const Clock *b = theirs.data();
    const size_t count = mine.size();
    for (size_t i = 0; i < count; i++) a[i] = a[i] > b[i] ? a[i] : b[i];
}

void Clocks::join(const Clocks &other) {
    launches_seen = std::max(launches_seen, other.launches_seen);
    for (const ClusterClocks &theirs : other.rows) {
        ClusterClocks &mine = row(theirs.cluster, theirs.seen.size());
        join_maximum(mine.seen, theirs.seen);
        join_maximum(mine.proxied, theirs.proxied);
    }
}

void Clocks::clear() {
    launches_seen = 0;
    rows.clear();
}

} // namespace emu
