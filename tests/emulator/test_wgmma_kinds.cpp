// SPDX-License-Identifier: MIT
//
// wgmma of every kind: one step of k, 64 x 64, small integers, compared with the sum itself. Operands
// lie in 128-byte swizzle, or a in registers:
//
//     k fastest     row r of the operand is row r of the tile, its k from the left
//     m, n fastest  k is the row of the tile, the 64 elements of m or n fill it (BF16)
#include "device/barrier.cuh"
#include "device/descriptor.cuh"
#include "device/fence.cuh"
#include "device/shared.cuh"
#include "device/swizzle.cuh"
#include "device/wgmma.cuh"
#include "number.h"
#include "one_kernel.h"
#include "operand.h"

using namespace check;
using emu::OperandType;

constexpr uint32_t N = 64, AT_B = 8192, END = 2 * 8192;

static float value(uint32_t which, uint32_t row, uint32_t k) {
    return static_cast<float>((row * (3 + which) + k * 5) % 7) - 3;
}
static uint32_t code(OperandType type, float v) {
    uint32_t bits;
    memcpy(&bits, &v, 4);
    if (type == OperandType::E4M3) return emu::e4m3_from_f32(v);
    return type == OperandType::BF16 ? bits >> 16 : bits;
}

struct Kind {
    OperandType type;
    bool a_mn, b_mn;
    uint32_t bytes() const {
        return type == OperandType::E4M3 ? 1 : type == OperandType::BF16 ? 2 : 4;
    }
    uint32_t depth() const { return 32 / bytes(); }
};

// The elements of one word: along k from `k` on, or along the rows from `row` on.
static uint32_t pack(
    const Kind &kind, uint32_t which, uint32_t row, uint32_t k, bool along_rows = false) {
    uint32_t word = 0;
    for (uint32_t j = 0; j < 4 / kind.bytes(); j++) {
        const float v = along_rows ? value(which, row + j, k) : value(which, row, k + j);
        word |= code(kind.type, v) << j * kind.bytes() * 8;
    }
    return word;
}

static void write_operand(const Kind &kind, uint32_t which, bool mn_fastest, uint32_t at) {
    for (uint32_t i = thread_index(); i < 64 * 8; i += 128) { // 32 bytes for each of 64 rows
        const uint32_t line = mn_fastest ? i / 32 : i / 8, word = mn_fastest ? i % 32 : i % 8;
        const uint32_t first = word * 4 / kind.bytes();
        st_shared_u32(at + swizzle_128(line * 128 + word * 4),
            mn_fastest ? pack(kind, which, first, line, true) : pack(kind, which, line, first));
    }
}

// Register r: rows 8 apart for r & 1, halves of k for r & 2.
static void fill_registers(const Kind &kind, uint32_t *a) {
    const uint32_t lane = lane_index(), row = warp_index() * 16 + lane / 4;
    for (uint32_t r = 0; r < 4; r++)
        a[r] = pack(kind, 0, row + (r & 1) * 8,
            lane % 4 * (4 / kind.bytes()) + (r >> 1) * kind.depth() / 2);
}

struct Operands {
    uint64_t a, b;
    uint32_t registers[4];
};

static uint64_t describe(uint32_t at, bool mn_fastest) {
    return mn_fastest ? make_descriptor(at, 16, 1024, DESCRIPTOR_SWIZZLE_128)
                      : make_descriptor_k128(at);
}

static void multiply(const Kind &kind, void (*product)(float *, const Operands &)) {
    const uint32_t a = shared_base(), b = shared_base() + AT_B;
    Operands operands = {describe(a, kind.a_mn), describe(b, kind.b_mn), {}};
    float d[N / 2];
    write_operand(kind, 0, kind.a_mn, a);
    write_operand(kind, 1, kind.b_mn, b);
    fill_registers(kind, operands.registers);
    fence_proxy_async();
    cta_sync();
    wgmma_fence();
    product(d, operands);
    wgmma_commit();
    wgmma_wait<0>();
    for (uint32_t i = 0; i < N / 2; i++) {
        const uint32_t row = warp_index() * 16 + lane_index() / 4 + (i & 2) * 4;
        const uint32_t column = i / 4 * 8 + lane_index() % 4 * 2 + i % 2;
        float sum = 0;
        for (uint32_t k = 0; k < kind.depth(); k++) sum += value(0, row, k) * value(1, column, k);
        REQUIRE(d[i] == sum);
    }
}

#define TEST_KIND(name, type, a_mn, b_mn, a)                                                       \
    TEST(wgmma_##name##_multiplies) {                                                              \
        expect_right(shape(1, 128, END), [] {                                                      \
            multiply({OperandType::type, a_mn, b_mn},                                              \
                [](float *d, const Operands &x) { wgmma_##name##_n64(d, x.a, x.b, 0); });          \
        });                                                                                        \
    }
TEST_KIND(e4m3, E4M3, false, false, a)
TEST_KIND(e4m3_rs, E4M3, false, false, registers)
TEST_KIND(bf16, BF16, false, false, a)
TEST_KIND(bf16_a_mn, BF16, true, false, a)
TEST_KIND(bf16_b_mn, BF16, false, true, a)
TEST_KIND(bf16_ab_mn, BF16, true, true, a)
TEST_KIND(bf16_rs, BF16, false, false, registers)
TEST_KIND(bf16_rs_b_mn, BF16, false, true, registers)
TEST_KIND(tf32, TF32, false, false, a)
TEST_KIND(tf32_rs, TF32, false, false, registers)
