// SPDX-License-Identifier: MIT
//
// The bugs of fp8_gemm_block_bugs.py, with exact inputs.
//
//     emulator_fp8_gemm_block_bugs [part of a name]
#include "find_bugs.h"
#include "gemm_run.h"

// block_direct: its pairs of 128 x 128 tiles, one warpgroup each, are stored without TMA.
static bool is_direct(const emu::Specialisation &s) {
    return s.value("SHARE") != DG_SHARE_NONE && s.value("BLOCK_M") == 128;
}

// Several tiles a CTA, several trips round the ring, edges in m and n. Pairs that share b: one block of
// k a tile, so that tiles are published as far ahead as their ring lets them.
static GemmShape shape_for(const emu::Specialisation &s) {
    if (s.value("SHARE") == DG_SHARE_NONE) return {200, 232, 640};
    if (s.value("SHARE") == DG_SHARE_B) return {300, 520, 128};
    return is_direct(s) ? GemmShape{130, 131, 256} : GemmShape{300, 520, 512};
}

int main(int argc, char **argv) {
    return check::find_bugs(
        argc, argv, [](const emu::Specialisation &bug, const emu::Config &config) {
            return run_gemm(
                bug, shape_for(bug), true, config, 2, {!is_direct(bug), is_direct(bug)});
        });
}
