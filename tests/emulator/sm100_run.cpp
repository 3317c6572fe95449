// SPDX-License-Identifier: MIT
//
// Implementation of sm100_run.h. Operands are small integers and scales are powers of two, so that
// every sum is exact in f32 and the result is one rounding to bf16 away.
#include "sm100_run.h"
#include "check.h"
#include "number.h"
#include "sm100_gemm.h"
#include "tensor_map.h"

#include <cmath>
#include <memory>
#include <random>

using check::Buffer;

static int32_t quotient_up(int32_t a, int32_t b) {
    return (a + b - 1) / b;
}

namespace {

// One operand: its codes, its values before scaling, and its scales.
struct Matrix {
    int32_t rows, k, k_blocks;
    bool scaled;
    std::vector<float> values;                // [rows, k]
    std::unique_ptr<Buffer<uint8_t>> codes;   // [rows, k] e4m3 or bf16
    std::unique_ptr<Buffer<uint32_t>> scales; // as sm100_gemm.h describes

    Matrix(int32_t rows_, int32_t k_, bool scaled_, uint64_t seed);
    uint8_t scale_code(int32_t row, int32_t x) const;
    double value(int32_t row, int32_t x) const;
    dg_tensor_map_t map(uint32_t box_rows) const;
    dg_tensor_map_t scale_map() const;
};

} // namespace

Matrix::Matrix(int32_t rows_, int32_t k_, bool scaled_, uint64_t seed)
    : rows(rows_), k(k_), k_blocks(quotient_up(k_, scaled_ ? 128 : 64)), scaled(scaled_) {
    static const uint8_t e4m3[5] = {0x00, 0x38, 0x40, 0xb8, 0xc0}; // 0, 1, 2, -1, -2
    std::mt19937_64 random(seed);
    const size_t count = static_cast<size_t>(rows) * static_cast<size_t>(k);
    values.resize(count);
    codes = std::make_unique<Buffer<uint8_t>>(count * (scaled ? 1 : 2), true);
    for (size_t i = 0; i < count; i++) {
        const uint8_t code = e4m3[random() % 5];
        values[i] = emu::f32_from_e4m3(code);
        const uint16_t bf16 = emu::bf16_from_f32(values[i]);
        if (scaled)
            codes->data[i] = code;
        else
            memcpy(codes->data + i * 2, &bf16, 2);
    }
    const size_t words = static_cast<size_t>(quotient_up(rows, 128) * k_blocks) * 128;
    scales = std::make_unique<Buffer<uint32_t>>(words, true);
    for (size_t i = 0; i < words; i++) {
        (*scales)[i] = 0;
        for (int byte = 0; byte < 4; byte++)
            (*scales)[i] |= static_cast<uint32_t>(126 + random() % 3) << 8 * byte;
    }
}

uint8_t Matrix::scale_code(int32_t row, int32_t x) const {
    const int32_t line = row / 128 * k_blocks + x / 128, in_line = row % 32 * 4 + row % 128 / 32;
    return static_cast<uint8_t>(
        (*scales)[static_cast<size_t>(line * 128 + in_line)] >> x % 128 / 32 * 8);
}

double Matrix::value(int32_t row, int32_t x) const {
    const float plain =
        values[static_cast<size_t>(row) * static_cast<size_t>(k) + static_cast<size_t>(x)];
    return scaled ? std::ldexp(plain, scale_code(row, x) - 127) : plain;
}

dg_tensor_map_t Matrix::map(uint32_t box_rows) const {
    const uint64_t extents[2] = {static_cast<uint64_t>(k), static_cast<uint64_t>(rows)};
    const uint64_t strides[1] = {static_cast<uint64_t>(k) * (scaled ? 1 : 2)};
    const uint32_t box[2] = {scaled ? 128u : 64u, box_rows};
    return emu::encode_tensor_map(scaled ? emu::ElementType::Byte : emu::ElementType::Bf16, 2,
        codes->data, extents, strides, box, emu::Swizzle::B128);
}

dg_tensor_map_t Matrix::scale_map() const {
    const uint64_t extents[2] = {128, scales->count / 128}, strides[1] = {512};
    const uint32_t box[2] = {128, 1};
    return emu::encode_tensor_map(
        emu::ElementType::F32, 2, scales->data, extents, strides, box, emu::Swizzle::None);
}

// The number of wrong elements, and of those behind the matrix that are no longer 0xFFFF.
static std::string compare(const Matrix &a, const Matrix &b, const Buffer<uint16_t> &d) {
    size_t wrong = 0, place = 0;
    for (int32_t i = 0; i < a.rows; i++)
        for (int32_t j = 0; j < b.rows; j++) {
            double sum = 0;
            for (int32_t x = 0; x < a.k; x++) sum += a.value(i, x) * b.value(j, x);
            wrong += d.data[place++] != emu::bf16_from_f32(static_cast<float>(sum));
        }
    for (; place < d.count; place++) wrong += d.data[place] != 0xFFFF;
    return wrong ? "WRONG: " + std::to_string(wrong) + " elements" : "";
}

std::string run_sm100_gemm(const emu::Specialisation &s, const Sm100Shape &shape,
    const emu::Config &config, uint32_t grid) {
    const int ctas = s.value("CTAS"), block_n = s.value("BLOCK_N");
    const bool scaled = s.value("SCALED") != 0;
    const Matrix a(shape.m, shape.k, scaled, 1), b(shape.n, shape.k, scaled, 2);
    const Buffer<uint16_t> d(static_cast<size_t>(shape.m) * static_cast<size_t>(shape.n) + 8);
    dg_sm100_gemm_args_t args{};
    args.a = a.map(128);
    args.b = b.map(static_cast<uint32_t>(block_n / ctas));
    args.scale_a = a.scale_map();
    args.scale_b = b.scale_map();
    args.d = d.data;
    args.m = shape.m;
    args.n = shape.n;
    args.k_blocks = a.k_blocks;
    args.tiles_m = quotient_up(shape.m, 128 * ctas);
    args.tiles_n = quotient_up(shape.n, block_n);
    try {
        emu::launch(config, emu::make_launch(s, grid, &args));
    } catch (const emu::Error &e) {
        return e.what();
    }
    return compare(a, b, d);
}
