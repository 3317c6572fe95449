// SPDX-License-Identifier: MIT
//
// The bugs of bf16_gemm_bugs.py, with exact inputs: several tiles a CTA, several trips round the ring,
// edges in m, n and k, groups that are empty and groups that begin and end inside a block.
//
//     emulator_bf16_gemm_bugs [part of a name]
#include "args/bf16_gemm.h"
#include "bf16_run.h"
#include "find_bugs.h"

static const dg_bf16_range_t token_groups[] = {{0, 1}, {1, 66}, {66, 66}, {66, 130}, {133, 360}};
static const dg_bf16_range_t row_groups[] = {{0, 1}, {1, 130}, {130, 190}};

static dg_bf16_shape_t shape_for(const emu::Specialisation &s) {
    dg_bf16_shape_t shape{};
    shape.exact = true;
    shape.m = 200;
    shape.n = s.value("SHARE") == DG_SHARE_NONE ? 136 : 200;
    shape.k = 328;
    if (s.value("SCHEDULE") == DG_SCHEDULE_K_GROUPED) {
        shape.m = 72;
        shape.k = 370;
        shape.f32 = shape.accumulates = shape.in_place = true;
        shape.groups = token_groups;
        shape.group_count = 5;
    }
    if (s.value("SCHEDULE") == DG_SCHEDULE_M_GROUPED) {
        shape.groups = row_groups;
        shape.group_count = 3;
    }
    return shape;
}

int main(int argc, char **argv) {
    return check::find_bugs(
        argc, argv, [](const emu::Specialisation &bug, const emu::Config &config) {
            /* K-grouped: 20 tiles, of which some CTAs get one that is empty */
            const bool k_grouped = bug.value("SCHEDULE") == DG_SCHEDULE_K_GROUPED;
            return run_bf16(bug, shape_for(bug), config, k_grouped ? 3 : 2);
        });
}
