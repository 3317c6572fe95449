// SPDX-License-Identifier: MIT
//
// fp8_gemm_block on the emulator, race checker on: several specialisations, ragged shapes, more
// tiles than CTAs, k tails, one to many trips round the ring.
#include "check.h"
#include "gemm_run.h"
#include "gemm_vocabulary.h"

#define KERNEL_TEXT "sm90/fp8_gemm_block.cu"

namespace plain {
#define BLOCK_M 128
#define BLOCK_N 128
#define STAGES 3
#define MATH_GROUPS 2
#define SHARE DG_SHARE_NONE
#define STORE_N 64
#define STORE_BUFFERS 2
#define UNROLL_K 1
#include "gemm_specialisation.inc"
} // namespace plain

namespace share_a {
#define BLOCK_M 256
#define BLOCK_N 128
#define STAGES 2
#define MATH_GROUPS 2
#define SHARE DG_SHARE_A
#define STORE_N 64
#define STORE_BUFFERS 1
#define UNROLL_K 4
#include "gemm_specialisation.inc"
} // namespace share_a

namespace share_b {
#define BLOCK_M 64
#define BLOCK_N 192
#define STAGES 4
#define MATH_GROUPS 1
#define SHARE DG_SHARE_B
#define STORE_N 32
#define STORE_BUFFERS 3
#define UNROLL_K 1
#include "gemm_specialisation.inc"
} // namespace share_b

namespace three_groups {
#define BLOCK_M 192
#define BLOCK_N 96
#define STAGES 2
#define MATH_GROUPS 3
#define SHARE DG_SHARE_NONE
#define STORE_N 32
#define STORE_BUFFERS 2
#define UNROLL_K 1
#include "gemm_specialisation.inc"
} // namespace three_groups

namespace direct {
#define BLOCK_M 128
#define BLOCK_N 128
#define STAGES 2
#define MATH_GROUPS 1
#define SHARE DG_SHARE_A
#define STORE_N 64
#define STORE_BUFFERS 0
#define UNROLL_K 1
#include "gemm_specialisation.inc"
} // namespace direct

static void run_all_schedules(const GemmSpecialisation &s, const GemmShape &shape, uint32_t grid) {
    for (const bool exact : {true, false})
        for (emu::Config config : check::schedules()) {
            const std::string wrong = run_gemm(s, shape, exact, config, grid);
            if (!wrong.empty())
                throw std::runtime_error(
                    std::string(s.name) + " seed " + std::to_string(config.seed) + ": " + wrong);
        }
}

TEST(one_tile_one_block) {
    run_all_schedules(SPECIALISATION(plain), {128, 128, 128}, 1);
}
TEST(fewer_rows_than_a_tile) {
    run_all_schedules(SPECIALISATION(plain), {1, 8, 384}, 2);
}
TEST(ragged_edges) {
    run_all_schedules(SPECIALISATION(plain), {200, 232, 640}, 2);
}
TEST(k_tail) {
    run_all_schedules(SPECIALISATION(plain), {130, 136, 400}, 3);
}
TEST(many_k_blocks) {
    run_all_schedules(SPECIALISATION(plain), {64, 128, 34 * 128}, 1);
}
TEST(stored_without_tma) {
    for (const GemmShape &shape : {GemmShape{70, 131, 256}, {130, 1, 128}, {5, 384, 128}})
        run_all_schedules(SPECIALISATION(direct), shape, 2);
}
// TMA stores whole pieces of 16 bytes: the reason for `direct`.
TEST(tma_would_store_beyond_ragged_columns) {
    const std::string wrong =
        run_gemm(SPECIALISATION(plain), {70, 131, 256}, true, check::schedules()[0], 2);
    REQUIRE(wrong.find(" 0 of 70 x 131 elements wrong") != std::string::npos);
    REQUIRE(wrong.find("350 written outside") != std::string::npos);
}
TEST(shared_a_two_tiles) {
    run_all_schedules(SPECIALISATION(share_a), {300, 384, 512}, 2);
}
TEST(shared_a_odd_count) {
    run_all_schedules(SPECIALISATION(share_a), {77, 136, 384}, 4);
}
TEST(shared_b_narrow_chunks) {
    run_all_schedules(SPECIALISATION(share_b), {150, 400, 640}, 4);
}
TEST(three_groups_96) {
    run_all_schedules(SPECIALISATION(three_groups), {250, 200, 384}, 2);
}
