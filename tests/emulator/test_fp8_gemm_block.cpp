// SPDX-License-Identifier: MIT
//
// fp8_gemm_block on the emulator, race checker on: several specialisations, ragged shapes, more
// tiles than CTAs, k tails, one to many trips round the ring.
#include "check.h"
#include "gemm_run.h"

static void run_all_schedules(
    const char *name, const GemmShape &shape, uint32_t grid, const GemmOptions &options = {}) {
    const emu::Specialisation &s = emu::find_specialisation(name);
    for (const bool exact : {true, false})
        for (emu::Config config : check::schedules()) {
            const std::string wrong = run_gemm(s, shape, exact, config, grid, options);
            if (!wrong.empty())
                throw std::runtime_error(
                    std::string(s.name) + " seed " + std::to_string(config.seed) + ": " + wrong);
        }
}

TEST(one_tile_one_block) {
    run_all_schedules("block_plain", {128, 128, 128}, 1);
}
TEST(fewer_rows_than_a_tile) {
    run_all_schedules("block_plain", {1, 8, 384}, 2);
}
TEST(ragged_edges) {
    run_all_schedules("block_plain", {200, 232, 640}, 2);
}
TEST(k_tail) {
    run_all_schedules("block_plain", {130, 136, 400}, 3);
}
TEST(many_k_blocks) {
    run_all_schedules("block_plain", {64, 128, 34 * 128}, 1);
}
TEST(stored_without_tma) {
    for (const GemmShape &shape : {GemmShape{70, 131, 256}, {130, 1, 128}, {5, 384, 128}})
        run_all_schedules("block_direct", shape, 2, {false, true});
}
// TMA stores whole pieces of 16 bytes: the reason for `direct`.
TEST(stored_without_tma_in_pieces_of_16_bytes) {
    run_all_schedules("block_plain", {70, 131, 256}, 2, {false});
    run_all_schedules("block_share_b", {70, 131, 256}, 2, {false});
}
TEST(one_store_for_a_warpgroup) {
    run_all_schedules("block_wide_store", {200, 232, 640}, 2);
    run_all_schedules("block_wide_store", {200, 233, 384}, 2, {false, true});
}
TEST(tma_would_store_beyond_ragged_columns) {
    const std::string wrong = run_gemm(
        emu::find_specialisation("block_plain"), {70, 131, 256}, true, check::schedules()[0], 2);
    REQUIRE(wrong.find(" 0 of 70 x 131 elements wrong") != std::string::npos);
    REQUIRE(wrong.find("320 written outside") != std::string::npos);
}
// A map of a with another swizzle than the kernel's descriptors say.
TEST(bug_operand_map_without_swizzle) {
    for (const emu::Config &config : check::schedules())
        REQUIRE(!run_gemm(emu::find_specialisation("block_plain"), {200, 232, 640}, true, config, 2,
            {true, false, emu::Swizzle::None})
                     .empty());
}
TEST(bug_operand_map_with_a_narrower_swizzle) {
    const std::string wrong = run_gemm(emu::find_specialisation("block_plain"), {200, 232, 640},
        true, check::schedules()[0], 2, {true, false, emu::Swizzle::B64});
    REQUIRE(wrong.find("exceeds the swizzle span") != std::string::npos);
}
TEST(shared_a_two_tiles) {
    run_all_schedules("block_share_a", {300, 384, 512}, 2);
}
TEST(shared_a_odd_count) {
    run_all_schedules("block_share_a", {77, 136, 384}, 4);
}
TEST(shared_b_narrow_chunks) {
    run_all_schedules("block_share_b", {150, 400, 640}, 4);
}
TEST(three_groups_96) {
    run_all_schedules("block_three_groups", {250, 200, 384}, 2);
}
