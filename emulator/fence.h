// SPDX-License-Identifier: MIT
//
// The proxy fence: what the running thread knows of becomes visible to the asynchronous engines.
#pragma once
#include "machine.h"

namespace emu {

inline void fence_proxy() {
    if (!config.check_races) return;
    for (ClusterClocks &row : current->clocks.rows) row.proxied = row.seen;
    own_row(current).seen[current->agent]++;
}

} // namespace emu
