// SPDX-License-Identifier: MIT
//
// Short forms for tests of a single primitive: a launch with so many CTAs, threads and bytes, and a
// run of a kernel under every schedule.
#pragma once
#include "check.h"

namespace check {

inline emu::Launch shape(uint32_t grid, uint32_t block, size_t shared_bytes, uint32_t cluster = 1) {
    emu::Launch launch{};
    launch.grid = grid;
    launch.block = block;
    launch.cluster = cluster;
    launch.shared_bytes = shared_bytes;
    launch.registers = 64;
    return launch;
}

inline void run(
    const emu::Config &config, emu::Launch launch, const std::function<void()> &kernel) {
    launch.kernel = kernel;
    emu::launch(config, launch);
}

// The kernel must run without a fault under every schedule; then `after` checks its results.
inline void expect_right(
    const emu::Launch &launch, const std::function<void()> &kernel,
    const std::function<void()> &after = [] {}) {
    for (const emu::Config &config : schedules()) {
        run(config, launch, kernel);
        after();
    }
}

// The kernel has a bug that must show as one of these kinds under every schedule.
inline void expect_bug(
    const char *kinds, const emu::Launch &launch, const std::function<void()> &kernel) {
    expect_fault(kinds, [&](const emu::Config &config) { run(config, launch, kernel); });
}

} // namespace check
