// SPDX-License-Identifier: MIT
//
// Whether the lanes of a warp run together where the hardware needs them to: every collective of a warp
// (shuffles, votes, election, ldmatrix, wgmma, barriers ...) calls warp_together() with the line of the
// kernel it stands in, and all 32 lanes must take the same ones in the same order. On a GPU a lane that
// stays away leaves the others waiting, or gives an undefined result.
#pragma once

#include <cstdint>
#include <deque>

namespace emu {

struct Thread;

struct Site {
    const char *file;
    int line;
};

// As the default value of a parameter: where the function is called.
constexpr Site here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
}

// The last parameter of every emulated collective.
#define EMU_SITE emu::Site site = emu::here()

// The collectives that some lanes of a warp have reached and others have not, oldest first.
struct WarpPath {
    struct Step {
        const char *operation;
        Site site;
        uint32_t lanes;
    };
    std::deque<Step> steps;
    uint64_t passed = 0;       // collectives that all lanes have behind them
    uint64_t shortest = ~0ull; // taken by the lane that ended with the fewest
};

// The running thread takes its next collective.
void warp_together(const char *operation, Site site);

// A thread ends: it must have taken all that its warp has.
void check_path_end(const Thread *t);

} // namespace emu
