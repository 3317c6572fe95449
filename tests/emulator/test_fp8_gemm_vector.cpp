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

TEST(dense_one_block) {
    run_all("vector_dense", dense(128, 128, 128), 1);
}
TEST(dense_ragged) {
    dg_vector_shape_t shape = dense(200, 232, 400);
    run_all("vector_dense", shape, 2);
    shape.accumulates = true;
    run_all("vector_dense", shape, 3);
    shape.odd_pitch = 1;
    shape.scale_k_fastest = true;
    run_all("vector_dense", shape, 2);
    shape.n = 131;
    run_all("vector_dense", shape, 2);
}
TEST(tokens_first_one_group) {
    run_all("vector_tokens_first", grouped(128, 128, {128}), 1);
    run_all("vector_tokens_first", grouped(256, 128, {384}), 1);
}
TEST(tokens_first_groups_of_every_kind) {
    run_all("vector_tokens_first", grouped(272, 144, {0, 1, 127, 0, 128, 129, 300, 0}), 3);
}
