// SPDX-License-Identifier: MIT
//
// Products of Blackwell's tensor cores: every kind and format, layouts, scales, pairs, and what a
// commit orders. Expected results follow from the operands' codes alone; no hardware has confirmed
// them.
#include "device/barrier.cuh"
#include "device/fence.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "device/swizzle.cuh"
#include "device/tcgen05.cuh"
#include "device/warp.cuh"
#include "number.h"
#include "one_kernel.h"

#include <cmath>

using namespace check;

constexpr uint32_t N = 32;
constexpr uint32_t AT_A = 1024, AT_B = AT_A + 128 * 128, AT_SCALES = AT_B + N * 128;
constexpr uint32_t AT_END = AT_SCALES + 1024;

static uint32_t barrier() {
    return shared_base();
}
static uint32_t slot() {
    return shared_base() + 16;
}

// A code of few bits from a place; the same in host and kernel.
static uint32_t mix(uint32_t which, uint32_t row, uint32_t k) {
    uint32_t x = which * 7919 + row * 131 + k * 17 + 1;
    x ^= x >> 3;
    return x * 2654435761u >> 29;
}
static const float VALUES[8] = {0, 1, -1, 2, -2, 0.5f, -0.5f, 4};
static float value(uint32_t which, uint32_t row, uint32_t k) {
    return VALUES[mix(which, row, k)];
}
static uint16_t f16_code(float v) {
    for (uint32_t code = 0; code < 65536; code += 256)
        if (emu::f32_from_f16(static_cast<uint16_t>(code)) == v) return static_cast<uint16_t>(code);
    return 0;
}
static uint32_t code(emu::OperandType type, float v) {
    switch (type) {
    case emu::OperandType::E4M3: return emu::e4m3_from_f32(v);
    case emu::OperandType::E5M2: return f16_code(v) >> 8;
    case emu::OperandType::F16: return f16_code(v);
    default: return emu::bf16_from_f32(v);
    }
}

static void init(uint32_t group) {
    if (thread_index() == 0) {
        mbarrier_init(barrier(), 1);
        fence_mbarrier_init();
    }
    if (warp_index() == 0) {
        if (group == 2)
            tcgen05_allocate<2>(slot(), 64);
        else
            tcgen05_allocate<1>(slot(), 64);
    }
    tcgen05_fence_before();
    cluster_sync();
    tcgen05_fence_after();
}

static void finish(uint32_t group) {
    tcgen05_fence_before();
    cluster_sync();
    if (warp_index() != 0) return;
    if (group == 2)
        tcgen05_deallocate<2>(ld_shared_u32(slot()), 64);
    else
        tcgen05_deallocate<1>(ld_shared_u32(slot()), 64);
}

// Writes `rows` rows of 128 bytes, the first of them number `first` of the operand: K-major in
// 128-byte swizzle.
static void write_k_major(
    uint32_t at, uint32_t which, uint32_t rows, uint32_t first, emu::OperandType type) {
    const uint32_t bytes = type == emu::OperandType::BF16 || type == emu::OperandType::F16 ? 2 : 1;
    for (uint32_t i = thread_index(); i < rows * 32; i += 128) {
        uint32_t word = 0;
        for (uint32_t j = 0; j < 4 / bytes; j++)
            word |= code(type, value(which, first + i / 32, (i % 32) * (4 / bytes) + j))
                    << j * bytes * 8;
        st_shared_u32(shared_base() + at + swizzle_128(i * 4), word);
    }
}

static float product(uint32_t i, uint32_t j, uint32_t k_count) {
    float sum = 0;
    for (uint32_t k = 0; k < k_count; k++) sum += value(0, i, k) * value(1, j, k);
    return sum;
}

// Every warp compares its 32 rows of d with `expected`.
template <class Expected> static void check_sums(uint32_t first_row, Expected expected) {
    const uint32_t row = warp_index() % 4 * 32;
    uint32_t d[N];
    tcgen05_load_x32(d, ld_shared_u32(slot()) + (row << 16));
    tcgen05_wait_load();
    for (uint32_t j = 0; j < N; j++) {
        float sum;
        memcpy(&sum, &d[j], 4);
        REQUIRE(sum == expected(first_row + row + lane_index(), j));
    }
}

// ---- formats

struct Format {
    emu::OperandType type;
    tcgen05_type word;
};

// Two k steps: the second adds to the first.
static void multiply_kind(Format a, Format b, bool wide) {
    const uint32_t step = wide ? 16 : 32;
    init(1);
    write_k_major(AT_A, 0, 128, 0, a.type);
    write_k_major(AT_B, 1, N, 0, b.type);
    fence_proxy_async();
    cta_sync();
    if (thread_index() == 0) {
        const uint32_t what = tcgen05_instruction(128, N, a.word, b.word, false, false);
        for (uint32_t s = 0; s < 2; s++) {
            const uint64_t from_a = tcgen05_descriptor_k128(shared_base() + AT_A) + s * 2;
            const uint64_t from_b = tcgen05_descriptor_k128(shared_base() + AT_B) + s * 2;
            if (wide)
                tcgen05_mma_f16<1>(ld_shared_u32(slot()), from_a, from_b, what, s > 0);
            else
                tcgen05_mma_f8f6f4<1>(ld_shared_u32(slot()), from_a, from_b, what, s > 0);
        }
        tcgen05_commit<1>(barrier());
    }
    mbarrier_wait(barrier(), 0);
    tcgen05_fence_after();
    check_sums(0, [=](uint32_t i, uint32_t j) { return product(i, j, 2 * step); });
    finish(1);
}
static const Format BF16 = {emu::OperandType::BF16, TCGEN05_BF16};
static const Format F16 = {emu::OperandType::F16, TCGEN05_F16};
static const Format E4M3 = {emu::OperandType::E4M3, TCGEN05_E4M3};
static const Format E5M2 = {emu::OperandType::E5M2, TCGEN05_E5M2};

TEST(tcgen05_sixteen_bit_products) {
    expect_right(shape(1, 128, AT_END), [] { multiply_kind(BF16, BF16, true); });
    expect_right(shape(1, 128, AT_END), [] { multiply_kind(F16, F16, true); });
}
TEST(tcgen05_eight_bit_products) {
    expect_right(shape(1, 128, AT_END), [] { multiply_kind(E4M3, E4M3, false); });
    expect_right(shape(1, 128, AT_END), [] { multiply_kind(E5M2, E4M3, false); });
}
TEST(bug_tcgen05_formats_that_do_not_mix) {
    expect_bug("IDESC", shape(1, 128, AT_END), [] { multiply_kind(F16, BF16, true); });
}

// ---- MN-major b: 32 columns of 1 or 2 bytes, as 32 (64) bytes of n for each k

static void multiply_mn_major(emu::OperandType type) {
    const bool wide = type == emu::OperandType::BF16;
    const uint32_t bytes = wide ? 2 : 1, depth = 32 / bytes, span = N * bytes;
    const tcgen05_type word = wide ? TCGEN05_BF16 : TCGEN05_E4M3;
    init(1);
    write_k_major(AT_A, 0, 128, 0, type);
    for (uint32_t i = thread_index(); i < depth * span / 4; i += 128) {
        const uint32_t k = i * 4 / span, n = i * 4 % span / bytes;
        uint32_t bits = 0;
        for (uint32_t j = 0; j < 4 / bytes; j++)
            bits |= code(type, value(1, n + j, k)) << j * bytes * 8;
        const uint32_t at = wide ? swizzle_64(i * 4) : swizzle_32(i * 4);
        st_shared_u32(shared_base() + AT_B + at, bits);
    }
    fence_proxy_async();
    cta_sync();
    if (thread_index() == 0) {
        const uint32_t what = tcgen05_instruction(128, N, word, word, false, true);
        const uint64_t a = tcgen05_descriptor_k128(shared_base() + AT_A);
        const uint64_t b = tcgen05_descriptor(
            shared_base() + AT_B, 0, span * 8, wide ? TCGEN05_SWIZZLE_64 : TCGEN05_SWIZZLE_32);
        if (wide)
            tcgen05_mma_f16<1>(ld_shared_u32(slot()), a, b, what, false);
        else
            tcgen05_mma_f8f6f4<1>(ld_shared_u32(slot()), a, b, what, false);
        tcgen05_commit<1>(barrier());
    }
    mbarrier_wait(barrier(), 0);
    tcgen05_fence_after();
    check_sums(0, [=](uint32_t i, uint32_t j) { return product(i, j, depth); });
    finish(1);
}
TEST(tcgen05_operands_with_n_fastest) {
    expect_right(shape(1, 128, AT_END), [] { multiply_mn_major(emu::OperandType::BF16); });
    expect_right(shape(1, 128, AT_END), [] { multiply_mn_major(emu::OperandType::E4M3); });
}

// ---- scales: byte `byte` of row r is 126 + (r + byte) % 3, doubled for b in step

static uint8_t scale_code(uint32_t which, uint32_t row, uint32_t byte) {
    return static_cast<uint8_t>(126 + (row * (which + 1) + byte) % 3);
}
static float scaled(uint32_t i, uint32_t j, uint32_t byte) {
    return std::ldexp(product(i, j, 32), scale_code(0, i, byte) + scale_code(1, j, byte) - 254);
}
static void multiply_scaled(uint32_t byte, bool copies_b) {
    init(1);
    write_k_major(AT_A, 0, 128, 0, emu::OperandType::E4M3);
    write_k_major(AT_B, 1, N, 0, emu::OperandType::E4M3);
    for (uint32_t i = thread_index(); i < 256; i += 128) { // [32 rows][4 words] of a, then of b
        const uint32_t row = i % 4 * 32 + i / 4 % 32;
        uint32_t word = 0;
        for (uint32_t x = 0; x < 4; x++)
            word |= static_cast<uint32_t>(scale_code(i / 128, row, x)) << 8 * x;
        st_shared_u32(shared_base() + AT_SCALES + i * 4, word);
    }
    fence_proxy_async();
    cta_sync();
    if (thread_index() == 0) {
        const uint32_t d = ld_shared_u32(slot()), from = shared_base() + AT_SCALES;
        tcgen05_copy_scales<1>(d + N, tcgen05_descriptor(from, 0, 128, TCGEN05_NONE));
        if (copies_b)
            tcgen05_copy_scales<1>(d + N + 4, tcgen05_descriptor(from + 512, 0, 128, TCGEN05_NONE));
        tcgen05_mma_mxf8f6f4<1>(d, tcgen05_descriptor_k128(shared_base() + AT_A),
            tcgen05_descriptor_k128(shared_base() + AT_B),
            tcgen05_instruction_scaled(128, N, TCGEN05_E4M3, TCGEN05_E4M3, byte), d + N, d + N + 4,
            false);
        tcgen05_commit<1>(barrier());
    }
    mbarrier_wait(barrier(), 0);
    tcgen05_fence_after();
    check_sums(0, [=](uint32_t i, uint32_t j) { return scaled(i, j, byte); });
    finish(1);
}
TEST(tcgen05_scaled_products_by_each_byte) {
    for (uint32_t byte = 0; byte < 4; byte++)
        expect_right(shape(1, 128, AT_END), [=] { multiply_scaled(byte, true); });
}
TEST(bug_tcgen05_scales_never_copied) {
    expect_bug("UNINITIALISED", shape(1, 128, AT_END), [] { multiply_scaled(0, false); });
}

// ---- pairs: 256 rows, each CTA loads 128 rows of a and 16 of b

static void multiply_pair(uint16_t told, bool odd_starts) {
    init(2);
    const uint32_t rank = cluster_rank();
    write_k_major(AT_A, 0, 128, rank * 128, emu::OperandType::BF16);
    write_k_major(AT_B, 1, N / 2, rank * (N / 2), emu::OperandType::BF16);
    fence_proxy_async();
    cluster_sync();
    if (thread_index() == 0 && rank == odd_starts) {
        tcgen05_mma_f16<2>(ld_shared_u32(slot()), tcgen05_descriptor_k128(shared_base() + AT_A),
            tcgen05_descriptor_k128(shared_base() + AT_B),
            tcgen05_instruction(256, N, TCGEN05_BF16, TCGEN05_BF16, false, false), false);
        tcgen05_commit_multicast<2>(barrier(), told);
    }
    mbarrier_wait_cluster(barrier(), 0);
    tcgen05_fence_after();
    check_sums(rank * 128, [](uint32_t i, uint32_t j) { return product(i, j, 16); });
    finish(2);
}
TEST(tcgen05_pair_multiplies_256_rows) {
    expect_right(shape(2, 128, AT_END, 2), [] { multiply_pair(3, false); });
}
TEST(bug_tcgen05_peer_not_told) {
    expect_bug("DEADLOCK", shape(2, 128, AT_END, 2), [] { multiply_pair(1, false); });
}
TEST(bug_tcgen05_odd_cta_starts_products) {
    expect_bug("TMEM", shape(2, 128, AT_END, 2), [] { multiply_pair(3, true); });
}

// ---- misuse of one product

struct Misuse {
    bool no_proxy_fence, no_wait, no_fence_after, overwrites;
    uint32_t instruction;
    uint64_t flip; // bits of the descriptor of a
};
static void misuse(const Misuse &m) {
    init(1);
    write_k_major(AT_A, 0, 128, 0, emu::OperandType::BF16);
    write_k_major(AT_B, 1, N, 0, emu::OperandType::BF16);
    if (!m.no_proxy_fence) fence_proxy_async();
    cta_sync();
    if (thread_index() == 0) {
        tcgen05_mma_f16<1>(ld_shared_u32(slot()),
            tcgen05_descriptor_k128(shared_base() + AT_A) ^ m.flip,
            tcgen05_descriptor_k128(shared_base() + AT_B), m.instruction, false);
        tcgen05_commit<1>(barrier());
    }
    if (m.overwrites) st_shared_u32(shared_base() + AT_A + thread_index() * 4, 0);
    if (!m.no_wait) mbarrier_wait(barrier(), 0);
    if (!m.no_fence_after) tcgen05_fence_after();
    check_sums(0, [](uint32_t i, uint32_t j) { return product(i, j, 16); });
    finish(1);
}
static const uint32_t GOOD = tcgen05_instruction(128, N, TCGEN05_BF16, TCGEN05_BF16, false, false);

static void expect_misuse(const char *kinds, const Misuse &m) {
    expect_bug(kinds, shape(1, 128, AT_END), [=] { misuse(m); });
}
TEST(tcgen05_used_rightly) {
    expect_right(shape(1, 128, AT_END), [] { misuse({false, false, false, false, GOOD, 0}); });
}
TEST(bug_tcgen05_operand_without_proxy_fence) {
    expect_misuse("PROXY", {true, false, false, false, GOOD, 0});
}
TEST(bug_tcgen05_sums_read_before_the_commit) {
    expect_misuse("RACE|UNINITIALISED", {false, true, false, false, GOOD, 0});
}
TEST(bug_tcgen05_no_fence_after_the_commit) {
    expect_misuse("TCFENCE", {false, false, true, false, GOOD, 0});
}
TEST(bug_tcgen05_operand_overwritten_too_early) {
    expect_misuse("RACE", {false, false, false, true, GOOD, 0});
}
TEST(bug_tcgen05_descriptors) {
    expect_misuse("DESC", {false, false, false, false, GOOD, 1ull << 46}); // wgmma's, not tcgen05's
    expect_misuse("DESC", {false, false, false, false, GOOD, 8});          // start off the tile
    const uint32_t rows_64 = tcgen05_instruction(64, N, TCGEN05_BF16, TCGEN05_BF16, false, false);
    expect_misuse("IDESC", {false, false, false, false, rows_64, 0});
    const uint32_t odd_n = tcgen05_instruction(128, 24, TCGEN05_BF16, TCGEN05_BF16, false, false);
    expect_misuse("IDESC", {false, false, false, false, odd_n, 0});
    expect_misuse("IDESC", {false, false, false, false, GOOD | 1u << 13, 0}); // negated a
}

// ---- the bits of both descriptions, spelt out

TEST(tcgen05_descriptions) {
    REQUIRE(tcgen05_descriptor(0x12340, 0x100, 0x400, TCGEN05_SWIZZLE_64) ==
            (0x1234ull | 0x10ull << 16 | 0x40ull << 32 | 1ull << 46 | 4ull << 61));
    REQUIRE(tcgen05_instruction(256, 224, TCGEN05_E4M3, TCGEN05_E5M2, true, false) ==
            (1u << 4 | 1u << 10 | 1u << 15 | 28u << 17 | 16u << 24));
    REQUIRE(tcgen05_instruction_scaled(128, 128, TCGEN05_E5M2, TCGEN05_E4M3, 3) ==
            (3u << 4 | 1u << 7 | 16u << 17 | 1u << 23 | 8u << 24 | 3u << 29));
}
