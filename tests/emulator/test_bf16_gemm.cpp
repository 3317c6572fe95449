// SPDX-License-Identifier: MIT
//
// bf16_gemm on the emulator, race checker on: every layout, ragged shapes, more tiles than CTAs,
// more blocks than stages; groups of any length with NaN between and around them.
#include "args/bf16_gemm.h"
#include "bf16_run.h"
#include "check.h"

#include <vector>

// Exact inputs under every schedule, random ones under one.
static void run(const char *name, dg_bf16_shape_t shape, uint32_t grid) {
    const emu::Specialisation &s = emu::find_specialisation(name);
    for (const emu::Config &config : check::schedules())
        for (const bool exact : {true, false}) {
            if (!exact && config.seed != 2) continue;
            shape.exact = exact;
            shape.seed = config.seed;
            const std::string wrong = run_bf16(s, shape, config, grid);
            if (!wrong.empty())
                throw std::runtime_error(
                    std::string(name) + " seed " + std::to_string(config.seed) + ": " + wrong);
        }
}

static dg_bf16_shape_t shape(int32_t m, int32_t n, int32_t k) {
    dg_bf16_shape_t s{};
    s.m = m;
    s.n = n;
    s.k = k;
    return s;
}

static dg_bf16_shape_t grouped(
    int32_t m, int32_t n, int32_t k, const std::vector<dg_bf16_range_t> &groups) {
    dg_bf16_shape_t s = shape(m, n, k);
    s.groups = groups.data();
    s.group_count = static_cast<int32_t>(groups.size());
    return s;
}

static dg_bf16_shape_t into_f32(dg_bf16_shape_t s, bool accumulates = false) {
    s.f32 = true;
    s.accumulates = accumulates;
    s.in_place = accumulates;
    return s;
}

TEST(k_fastest_both) {
    run("bf16_nt", shape(128, 64, 64), 1);
    run("bf16_nt", shape(200, 136, 200), 2);
    run("bf16_nt", shape(1, 8, 8), 2);
    run("bf16_nt", into_f32(shape(130, 72, 264)), 2);
}
TEST(n_fastest_b) {
    run("bf16_nn", shape(200, 232, 200), 2);
    run("bf16_nn", into_f32(shape(72, 24, 136)), 2);
}
TEST(m_fastest_a) {
    run("bf16_tt", shape(200, 232, 200), 2);
    run("bf16_tt", into_f32(shape(72, 24, 136)), 2);
}
TEST(mn_fastest_both) {
    run("bf16_tn", shape(200, 264, 200), 2);
    run("bf16_tn", into_f32(shape(72, 24, 129), true), 2);
}
TEST(k_in_the_middle_of_a_block) {
    for (const int32_t k : {1, 7, 63, 64, 65, 127, 128, 129}) {
        run("bf16_nt", shape(64, 64, k), 1);
        run("bf16_tn", shape(64, 64, k), 1);
    }
}
TEST(k_longer_than_one_sum) {
    const emu::Specialisation &kernel = emu::find_specialisation("bf16_nt");
    for (const int32_t k : {DG_SM90_BF16_GEMM_LONG_K, DG_SM90_BF16_GEMM_LONG_K + 72}) {
        dg_bf16_shape_t s = into_f32(shape(130, 8, k));
        s.exact = true;
        const std::string wrong = run_bf16(kernel, s, check::schedules()[0], 1);
        if (!wrong.empty()) throw std::runtime_error(wrong);
    }
}
TEST(c_is_added) {
    dg_bf16_shape_t s = shape(130, 72, 136);
    s.accumulates = true;
    run("bf16_nt", s, 2);
    s.in_place = true;
    run("bf16_nt", s, 2);
    s.f32 = true;
    run("bf16_nt", s, 2);
}
TEST(rows_of_d_start_anywhere) {
    dg_bf16_shape_t s = shape(70, 67, 72);
    s.narrow = true;
    run("bf16_nt", s, 2);
    s.accumulates = true;
    run("bf16_nt", s, 2);
    s.f32 = true;
    run("bf16_nt", s, 2);
}
TEST(pairs_share_a) {
    run("bf16_share_a", shape(200, 264, 264), 4);
}
TEST(pairs_share_b) {
    run("bf16_share_b", shape(200, 264, 264), 4);
}
TEST(three_warpgroups) {
    run("bf16_three", shape(200, 104, 200), 2);
}
TEST(warpgroups_take_turns) {
    run("bf16_turns", shape(128, 80, 64), 1); /* one tile: the second warpgroup has none */
    run("bf16_turns", shape(300, 200, 200), 2);
    run("bf16_turns", into_f32(shape(300, 88, 520), true), 1);
    dg_bf16_shape_t s = shape(130, 83, 72);
    s.narrow = true;
    s.accumulates = true;
    run("bf16_turns", s, 1);
}
TEST(groups_of_tokens) {
    const std::vector<dg_bf16_range_t> groups = {{0, 0}, {0, 1}, {1, 64}, {64, 128}, {128, 193},
        {193, 320}, {320, 320}, {320, 448}, {450, 579}};
    for (const char *name :
        {"bf16_k_tn", "bf16_k_nt", "bf16_k_nn", "bf16_k_pairs", "bf16_k_turns"}) {
        run(name, into_f32(grouped(72, 136, 600, groups), true), 4);
        dg_bf16_shape_t s = grouped(40, 136, 600, groups);
        run(name, s, 4);
        s.sum = true;
        run(name, s, 4);
    }
}
TEST(groups_at_the_end_of_tokens) {
    const std::vector<dg_bf16_range_t> groups = {{3, 70}, {71, 74}};
    for (const char *name : {"bf16_k_tn", "bf16_k_nt", "bf16_k_nn"})
        run(name, into_f32(grouped(64, 64, 74, groups)), 1);
}
TEST(groups_of_rows) {
    const std::vector<dg_bf16_range_t> groups = {
        {0, 1}, {1, 64}, {64, 64}, {64, 193}, {200, 265}, {265, 266}};
    for (const char *name : {"bf16_m_nt", "bf16_m_nn", "bf16_m_turns"}) {
        run(name, grouped(300, 136, 136, groups), 4);
        dg_bf16_shape_t s = grouped(300, 67, 72, groups);
        s.narrow = true;
        s.accumulates = true;
        run(name, s, 4);
    }
}
