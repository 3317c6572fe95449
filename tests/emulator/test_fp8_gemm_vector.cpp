// SPDX-License-Identifier: MIT
//
// fp8_gemm_vector on the emulator, against the reference, under several schedules: every form of
// operands and outputs, groups of every awkward size, odd numbers of tiles in clusters.
#include "check.h"
#include "vector_run.h"

// Exact inputs under every schedule, random ones under the first.
static void run_all(const char *name, dg_vector_shape_t shape, uint32_t grid) {
    const emu::Specialisation &s = emu::find_specialisation(name);
    shape.out_f32 = s.value("OUT_F32") != 0;
    for (const emu::Config &config : check::schedules())
        for (int exact = 1; exact >= (config.order == emu::Order::Fifo ? 0 : 1); exact--) {
            shape.exact = exact != 0;
            const std::string wrong = run_vector(s, shape, config, grid);
            if (!wrong.empty())
                throw std::runtime_error(std::string(name) + (exact ? ", exact" : ", random") +
                                         ", seed " + std::to_string(config.seed) + ": " + wrong);
        }
}

static dg_vector_shape_t dense(int32_t m, int32_t n, int32_t k) {
    dg_vector_shape_t shape{};
    shape.m = m;
    shape.n = n;
    shape.group_count = 1;
    shape.sizes[0] = k;
    shape.form_a = shape.form_b = DG_CASE_TOKENS_LAST;
    return shape;
}

static dg_vector_shape_t grouped(
    int32_t m, int32_t n, std::vector<int32_t> sizes, int32_t gap = 0) {
    dg_vector_shape_t shape{};
    shape.m = m;
    shape.n = n;
    for (const int32_t size : sizes) shape.sizes[shape.group_count++] = size;
    shape.gap = gap;
    shape.accumulates = true;
    return shape;
}

// The forms that a specialisation's macros allow; FLAT may stand for the one with k fastest.
static void run_forms(const char *name, dg_vector_shape_t shape, uint32_t grid) {
    const emu::Specialisation &s = emu::find_specialisation(name);
    shape.form_a = s.value("A_MN") ? DG_CASE_TOKENS_FIRST : DG_CASE_TOKENS_LAST;
    shape.form_b = s.value("B_MN") ? DG_CASE_TOKENS_FIRST : DG_CASE_TOKENS_LAST;
    run_all(name, shape, grid);
}

TEST(dense_one_block) {
    run_forms("vector_dense", dense(128, 128, 128), 1);
}
TEST(dense_ragged) {
    run_forms("vector_dense", dense(200, 136, 400), 2);
}
TEST(dense_onto_unaligned_c) {
    dg_vector_shape_t shape = dense(130, 131, 272);
    shape.accumulates = shape.scale_k_fastest = true;
    shape.odd_pitch = 1;
    run_forms("vector_dense", shape, 2);
}
TEST(dense_m_and_n_fastest) {
    dg_vector_shape_t shape = dense(144, 136, 301);
    run_forms("vector_dense_mn", shape, 2);
    shape.accumulates = shape.no_scale_b = true;
    run_forms("vector_dense_mn", shape, 3);
}
TEST(dense_bf16_unaligned) {
    dg_vector_shape_t shape = dense(40, 35, 130);
    shape.accumulates = true;
    shape.odd_pitch = 1;
    run_forms("vector_dense_mn", shape, 1);
}
TEST(tokens_first_whole_blocks) {
    run_forms("vector_tokens_first", grouped(256, 128, {128, 256}), 1);
}
TEST(tokens_first_groups_of_every_kind) {
    run_forms("vector_tokens_first", grouped(272, 16, {0, 1, 127, 0, 128, 129, 0}), 3);
}
TEST(tokens_first_without_c) {
    dg_vector_shape_t shape = grouped(32, 144, {5, 0, 130});
    shape.accumulates = false;
    run_forms("vector_pairs_share_b", shape, 4);
}
// Tokens between the groups are NaN: a block that crosses a group's end brings them.
TEST(tokens_first_nan_between_groups) {
    run_forms("vector_pairs_share_b", grouped(144, 16, {3, 0, 130}, 5), 4);
    run_forms("vector_pairs_share_a", grouped(16, 144, {40, 80}, 8), 2);
}
TEST(no_tokens_at_all) {
    run_forms("vector_pairs_share_b", grouped(144, 136, {0, 0}, 1), 2);
}
// Pairs of CTAs and an odd number of tiles in each group: the second of the last pair has none.
TEST(pairs_odd_tile_count) {
    run_forms("vector_pairs_share_b", grouped(272, 136, {130, 1, 128}), 2);
    run_forms("vector_pairs_share_a", grouped(80, 272, {16, 144}), 4);
}
TEST(tokens_last_groups_inside_a_block) {
    run_forms("vector_tokens_last", grouped(72, 80, {16, 0, 48, 128, 144}), 3);
}
// Begins stay multiples of 16, ends need not be.
TEST(tokens_last_nan_between_groups) {
    for (const int32_t size : {1, 15, 130, 31}) {
        dg_vector_shape_t shape = grouped(40, 40, {size, size}, 16 - size % 16);
        run_forms("vector_tokens_last", shape, 2);
    }
}
TEST(flat) {
    dg_vector_shape_t shape = grouped(72, 80, {0, 16, 144, 128, 0, 272});
    shape.form_a = shape.form_b = DG_CASE_FLAT;
    run_all("vector_tokens_last", shape, 3);
}
TEST(flat_beside_tokens_first) {
    dg_vector_shape_t shape = grouped(72, 144, {0, 16, 144});
    shape.form_a = DG_CASE_FLAT;
    run_all("vector_mixed", shape, 4);
}
TEST(mixed_forms_bf16) {
    run_forms("vector_mixed", grouped(72, 264, {0, 16, 144}), 2);
}
TEST(sum_over_groups) {
    dg_vector_shape_t shape = grouped(72, 80, {0, 16, 144, 0, 128, 0});
    shape.sum = true;
    run_forms("vector_tokens_last", shape, 3);
    run_forms("vector_pairs_share_b", shape, 2);
    shape.accumulates = false;
    run_forms("vector_mixed", shape, 2);
}
// Three warpgroups in pairs of CTAs, factors copied in one piece.
TEST(three_warpgroups) {
    run_forms("vector_three", grouped(200, 144, {128, 48, 0, 272}), 2);
    dg_vector_shape_t shape = grouped(40, 272, {48, 0, 144});
    shape.form_a = shape.form_b = DG_CASE_FLAT;
    run_all("vector_three", shape, 4);
}
// Sizes that the host did not know: TMA cannot fetch what begins, or FLAT ends, off 16 tokens.
TEST(groups_that_tma_cannot_fetch) {
    dg_vector_shape_t shape = grouped(72, 80, {5, 130, 16, 0, 131});
    run_forms("vector_tokens_last", shape, 2);
    run_forms("vector_three", shape, 2);
    shape.form_a = shape.form_b = DG_CASE_FLAT;
    run_all("vector_tokens_last", shape, 2);
    run_all("vector_three", shape, 2);
    shape.form_b = DG_CASE_TOKENS_FIRST;
    run_all("vector_mixed", shape, 2);
}
