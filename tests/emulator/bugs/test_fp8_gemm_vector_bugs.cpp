// SPDX-License-Identifier: MIT
//
// The bugs of fp8_gemm_vector_bugs.py, with exact inputs and tokens of NaN between the groups.
//
//     emulator_fp8_gemm_vector_bugs [part of a name]
#include "find_bugs.h"
#include "vector_run.h"

// Several tiles a CTA, several trips round the ring, edges in m and n, an empty group, ends inside a
// block; with tokens contiguous, groups begin at multiples of 16.
static dg_vector_shape_t shape_for(const emu::Specialisation &s) {
    dg_vector_shape_t shape{};
    shape.m = s.value("BLOCK_M") + 21;
    shape.n = s.value("BLOCK_N") + 8;
    shape.group_count = 3;
    const bool first = s.value("A_MN") != 0;
    shape.sizes[0] = first ? 3 : 19;
    shape.sizes[1] = first ? 0 : 3;
    shape.sizes[2] = first ? 390 : 403;
    shape.gap = first ? 5 : 13;
    shape.form_a = shape.form_b = first ? DG_CASE_TOKENS_FIRST : DG_CASE_TOKENS_LAST;
    shape.exact = shape.out_f32 = shape.accumulates = true;
    return shape;
}

int main(int argc, char **argv) {
    return check::find_bugs(
        argc, argv, [](const emu::Specialisation &bug, const emu::Config &config) {
            return run_vector(bug, shape_for(bug), config, 2);
        });
}
