// SPDX-License-Identifier: MIT
//
// ldmatrix, stmatrix and mma.sync against their definition.
#include "device/barrier.cuh"
#include "device/convert.cuh"
#include "device/matrix.cuh"
#include "device/shared.cuh"
#include "number.h"
#include "one_kernel.h"

using namespace check;

static uint32_t row() {
    return shared_base() + lane_index() * 16;
}

static uint16_t element(uint32_t matrix, uint32_t r, uint32_t c) {
    const uint32_t word = ld_shared_u32(shared_base() + (matrix * 8 + r) * 16 + c / 2 * 4);
    return static_cast<uint16_t>(word >> 16 * (c & 1));
}

template <int COUNT> static void check_values(const uint32_t *v, bool transposed) {
    for (uint32_t m = 0; m < COUNT; m++)
        for (uint32_t half = 0; half < 2; half++) {
            const uint32_t major = lane_index() / 4, minor = lane_index() % 4 * 2 + half;
            const uint16_t expected =
                transposed ? element(m, minor, major) : element(m, major, minor);
            REQUIRE(static_cast<uint16_t>(v[m] >> 16 * half) == expected);
        }
}

TEST(matrices_loaded) {
    expect_right(shape(1, 32, 512), [] {
        uint32_t v[4];
        for (uint32_t i = 0; i < 4; i++) st_shared_u32(row() + i * 4, lane_index() * 1000 + i);
        warp_sync();
        ldmatrix_x4(v, row());
        check_values<4>(v, false);
        ldmatrix_x4_trans(v, row());
        check_values<4>(v, true);
        ldmatrix_x2(v, row());
        check_values<2>(v, false);
        ldmatrix_x2_trans(v, row());
        check_values<2>(v, true);
    });
}
TEST(matrices_stored) {
    expect_right(shape(1, 32, 512), [] {
        const uint32_t v[4] = {lane_index(), lane_index() << 16 | 5, 7, ~lane_index()};
        stmatrix_x4(row(), v);
        warp_sync();
        check_values<4>(v, false);
        warp_sync();
        stmatrix_x4_trans(row(), v);
        warp_sync();
        check_values<4>(v, true);
        warp_sync();
        stmatrix_x2(row(), v);
        warp_sync();
        check_values<2>(v, false);
        warp_sync();
        stmatrix_x2_trans(row(), v);
        warp_sync();
        check_values<2>(v, true);
    });
}
TEST(bug_stmatrix_not_ordered_before_load) {
    expect_bug("RACE|UNINITIALISED", shape(1, 32, 512), [] {
        const uint32_t v[4] = {0, 0, 0, 0};
        stmatrix_x4(row(), v);
        ld_shared_u32(shared_base() + (lane_index() + 8) % 32 * 16);
    });
}
TEST(bug_ldmatrix_of_unwritten_rows) {
    expect_bug("UNINITIALISED", shape(1, 32, 512), [] {
        uint32_t v[4];
        ldmatrix_x4(v, row());
    });
}
TEST(bug_ldmatrix_row_misaligned) {
    expect_bug("ALIGN", shape(1, 32, 1024), [] {
        uint32_t v[4];
        ldmatrix_x4(v, row() + 8);
    });
}
// ldmatrix, stmatrix and mma.sync are .aligned.
TEST(bug_ldmatrix_in_both_branches) {
    expect_bug("DIVERGED", shape(1, 32, 512), [] {
        uint32_t v[4];
        for (uint32_t i = 0; i < 4; i++) st_shared_u32(row() + i * 4, i);
        warp_sync();
        if (lane_index() < 16)
            ldmatrix_x4(v, row());
        else
            ldmatrix_x4(v, row());
    });
}
TEST(bug_stmatrix_by_the_lanes_that_name_rows) {
    expect_bug("DIVERGED|DEADLOCK", shape(1, 32, 512), [] {
        const uint32_t v[2] = {1, 2};
        if (lane_index() < 16) stmatrix_x2(row(), v);
        warp_sync();
    });
}
TEST(bug_warp_product_in_a_branch) {
    expect_bug("DIVERGED|DEADLOCK", shape(1, 32, 0), [] {
        const uint32_t a[4] = {0, 0, 0, 0}, b[2] = {0, 0};
        float d[4] = {0, 0, 0, 0};
        if (lane_index() != 31) mma_bf16_m16n8k16(d, a, b);
    });
}

// Lane l, g = l/4, t = l%4: a holds rows g, g+8; b column g; both k from t on.
TEST(products_of_one_warp) {
    expect_right(shape(1, 32, 0), [] {
        const uint32_t g = lane_index() / 4, t = lane_index() % 4;
        auto a_value = [](uint32_t r, uint32_t k) {
            return static_cast<float>((r * 3 + k) % 5) - 2;
        };
        auto b_value = [](uint32_t k, uint32_t c) {
            return static_cast<float>((k + c * 2) % 3) - 1;
        };
        uint32_t a[4], b[2];
        float d[4] = {1, 2, 3, 4};
        for (uint32_t r = 0; r < 4; r++) {
            const uint32_t i = g + (r & 1) * 8, k = t * 2 + (r >> 1) * 8;
            a[r] = pack_bf16(a_value(i, k), a_value(i, k + 1));
        }
        for (uint32_t r = 0; r < 2; r++)
            b[r] = pack_bf16(b_value(t * 2 + r * 8, g), b_value(t * 2 + r * 8 + 1, g));
        mma_bf16_m16n8k16(d, a, b);
        for (uint32_t r = 0; r < 4; r++) {
            float sum = static_cast<float>(r + 1);
            for (uint32_t k = 0; k < 16; k++)
                sum += a_value(g + (r >> 1) * 8, k) * b_value(k, t * 2 + (r & 1));
            REQUIRE(d[r] == sum);
        }
    });
}
TEST(products_of_f16) {
    expect_right(shape(1, 32, 0), [] {
        const uint32_t g = lane_index() / 4, t = lane_index() % 4;
        const uint32_t codes[4] = {0x30, 0x38, 0xC0, 0x01}; // 0.5, 1, -2, 2^-9 in e4m3
        auto value = [&](uint32_t i) {
            return emu::f32_from_e4m3(static_cast<uint8_t>(codes[i % 4]));
        };
        auto pair = [&](uint32_t i) {
            return f16x2_from_e4m3x2(codes[i % 4] | codes[(i + 1) % 4] << 8);
        };
        uint32_t a[4], b[2];
        float d[4] = {1, 2, 3, 4};
        for (uint32_t r = 0; r < 4; r++) a[r] = pair(g + (r & 1) * 8 + t * 2 + (r >> 1) * 8);
        for (uint32_t r = 0; r < 2; r++) b[r] = pair(t * 2 + r * 8 + g * 3);
        mma_f16_m16n8k16(d, a, b);
        for (uint32_t r = 0; r < 4; r++) {
            float sum = static_cast<float>(r + 1);
            for (uint32_t k = 0; k < 16; k++)
                sum += value(g + (r >> 1) * 8 + k) * value(k + (t * 2 + (r & 1)) * 3);
            REQUIRE(d[r] == sum);
        }
    });
}
TEST(products_of_all_ones) {
    expect_right(shape(1, 32, 0), [] {
        const uint32_t ones8[4] = {0x38383838, 0x38383838, 0x38383838, 0x38383838};
        const uint32_t ones32[4] = {0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000};
        float d[4] = {0, 0, 0, 0};
        mma_e4m3_m16n8k32(d, ones8, ones8);
        REQUIRE(d[0] == 32 && d[3] == 32);
        mma_tf32_m16n8k8(d, ones32, ones32);
        REQUIRE(d[0] == 40 && d[3] == 40);
    });
}
