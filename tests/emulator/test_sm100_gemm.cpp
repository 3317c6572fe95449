// SPDX-License-Identifier: MIT
//
// The GEMM for Blackwell, race checker on: one CTA and pairs, bf16 and block-scaled fp8, ragged
// edges, more tiles than CTAs, more blocks than stages.
#include "check.h"
#include "sm100_run.h"

static void run_all_schedules(const char *name, const Sm100Shape &shape, uint32_t grid) {
    for (const emu::Config &config : check::schedules()) {
        const std::string wrong =
            run_sm100_gemm(emu::find_specialisation(name), shape, config, grid);
        if (!wrong.empty())
            throw std::runtime_error(
                std::string(name) + " seed " + std::to_string(config.seed) + ": " + wrong);
    }
}

TEST(sm100_one_tile) {
    run_all_schedules("sm100_plain", {128, 128, 64}, 1);
}
TEST(sm100_ragged) {
    run_all_schedules("sm100_plain", {150, 300, 336}, 2);
}
TEST(sm100_many_tiles_for_one_cta) {
    run_all_schedules("sm100_plain", {260, 258, 80}, 1);
}
TEST(sm100_pair) {
    run_all_schedules("sm100_pair", {200, 150, 336}, 2);
}
TEST(sm100_pairs_with_several_tiles) {
    run_all_schedules("sm100_pair", {300, 200, 144}, 4);
}
TEST(sm100_scaled) {
    run_all_schedules("sm100_scaled", {150, 200, 656}, 2);
}
TEST(sm100_scaled_pair) {
    run_all_schedules("sm100_scaled_pair", {290, 136, 528}, 2);
}
