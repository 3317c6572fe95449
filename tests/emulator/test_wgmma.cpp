// SPDX-License-Identifier: MIT
//
// wgmma: the protocol of fence, commit and wait, what it orders, and what may be touched meanwhile.
// Whether descriptors and fragments mean what hardware means is tests/conformance' matter.
#include "device/barrier.cuh"
#include "device/convert.cuh"
#include "device/descriptor.cuh"
#include "device/fence.cuh"
#include "device/shared.cuh"
#include "device/swizzle.cuh"
#include "device/wgmma.cuh"
#include "one_kernel.h"

using namespace check;

// A: 64 rows of ones; B: n-th row is n small integers; both [rows x 128] e4m3 in 128-byte swizzle
static uint32_t a_tile() {
    return shared_base();
}
static uint32_t b_tile() {
    return shared_base() + 8192;
}
static emu::Launch one_group() {
    return shape(1, 128, 8192 + 4096);
}

static void fill(bool fence, bool barrier) {
    const uint32_t t = thread_index();
    static const uint32_t codes[4] = {0x00000000, 0x38383838, 0x40404040, 0xb8b8b8b8}; // 0 1 2 -1
    for (uint32_t i = t; i < 64 * 32; i += 128) st_shared_u32(a_tile() + i * 4, 0x38383838);
    for (uint32_t i = t; i < 32 * 32; i += 128)
        st_shared_u32(b_tile() + swizzle_128(i * 4), codes[i / 32 % 4]);
    if (fence) fence_proxy_async();
    if (barrier) cta_sync();
}

struct Protocol {
    bool proxy_fence = true, barrier = true, fence = true, commit = true, wait = true;
    bool touch_early = false, overwrite_early = false, differ = false;
    int accumulate_first = 0;
};

static void multiply(const Protocol &p) {
    float d[16];
    for (float &x : d) x = 100.f;
    fill(p.proxy_fence, p.barrier);
    if (p.fence) wgmma_fence();
    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t skew = p.differ && warp_index() == 2 ? 1024 : 0;
        wgmma_e4m3_n32(d, make_descriptor_k128(a_tile() + skew + k * 32),
            make_descriptor_k128(b_tile() + k * 32), k > 0 || p.accumulate_first);
    }
    if (p.commit) wgmma_commit();
    if (p.touch_early) d[3] += 1.f;
    if (p.overwrite_early) st_shared_u32(a_tile() + thread_index() * 4, 0);
    if (p.wait) wgmma_wait<0>();
    static const float row_sum[4] = {0, 128, 256, -128};
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t column = i / 4 * 8 + lane_index() % 4 * 2 + i % 2;
        const float expected = row_sum[column % 4] + (p.accumulate_first ? 100.f : 0.f);
        REQUIRE(d[i] == expected);
    }
}
static Protocol with(void (*change)(Protocol &)) {
    Protocol p;
    change(p);
    return p;
}
static void try_bug(const char *kinds, void (*change)(Protocol &)) {
    const Protocol p = with(change);
    expect_bug(kinds, one_group(), [&] { multiply(p); });
}

TEST(product_and_accumulation) {
    expect_right(one_group(), [] { multiply(Protocol()); });
    const Protocol p = with([](Protocol &q) { q.accumulate_first = 1; });
    expect_right(one_group(), [&] { multiply(p); });
}
TEST(bug_no_proxy_fence) {
    try_bug("PROXY", [](Protocol &p) { p.proxy_fence = false; });
}
TEST(bug_no_barrier_before_product) {
    try_bug("RACE|UNINITIALISED", [](Protocol &p) { p.barrier = false; });
}
TEST(bug_no_wgmma_fence) {
    try_bug("WGMMA", [](Protocol &p) { p.fence = false; });
}
TEST(bug_no_commit) {
    try_bug("EXIT|CHECK|WGMMA", [](Protocol &p) { p.commit = false; });
}
TEST(bug_no_wait) {
    try_bug("CHECK|EXIT", [](Protocol &p) { p.wait = false; });
}
TEST(bug_accumulator_touched_in_flight) {
    // With immediate effects the addition comes after the product: then the value is wrong.
    try_bug("WGMMA|CHECK", [](Protocol &p) { p.touch_early = true; });
}
TEST(bug_operand_overwritten_in_flight) {
    try_bug("RACE", [](Protocol &p) { p.overwrite_early = true; });
}
TEST(bug_warps_give_different_descriptors) {
    try_bug("WGMMA", [](Protocol &p) { p.differ = true; });
}

// Every instruction of wgmma is .aligned.
TEST(bug_products_in_both_branches) {
    expect_bug("DIVERGED", one_group(), [] {
        float d[16] = {};
        fill(true, true);
        const uint64_t a = make_descriptor_k128(a_tile()), b = make_descriptor_k128(b_tile());
        wgmma_fence();
        if (lane_index() % 2)
            wgmma_e4m3_n32(d, a, b, 0);
        else
            wgmma_e4m3_n32(d, a, b, 0);
        wgmma_commit();
        wgmma_wait<0>();
    });
}
TEST(bug_product_by_some_lanes) {
    expect_bug("DIVERGED|DEADLOCK", one_group(), [] {
        float d[16] = {};
        fill(true, true);
        const uint64_t a = make_descriptor_k128(a_tile()), b = make_descriptor_k128(b_tile());
        wgmma_fence();
        if (lane_index() != 5) wgmma_e4m3_n32(d, a, b, 0);
        wgmma_commit();
        wgmma_wait<0>();
    });
}
TEST(bug_commit_by_one_lane) {
    expect_bug("DIVERGED", one_group(), [] {
        fill(true, true);
        wgmma_fence();
        if (lane_index() == 0) wgmma_commit();
        wgmma_wait<0>();
    });
}

// Two batches in flight; the first is waited for before the second.
TEST(batches_complete_in_order) {
    expect_right(one_group(), [] {
        float first[16], second[16];
        fill(true, true);
        const uint64_t a = make_descriptor_k128(a_tile()), b = make_descriptor_k128(b_tile());
        wgmma_fence();
        wgmma_e4m3_n32(first, a, b, 0);
        wgmma_commit();
        wgmma_e4m3_n32(second, a, b + 2, 0);
        wgmma_commit();
        wgmma_wait<1>();
        REQUIRE(first[1] == (lane_index() % 2 ? -32.f : 32.f));
        wgmma_wait<0>();
        REQUIRE(second[1] == first[1]);
    });
}
TEST(bug_second_batch_read_after_waiting_for_the_first) {
    expect_bug("CHECK", one_group(), [] {
        float first[16], second[16];
        fill(true, true);
        const uint64_t a = make_descriptor_k128(a_tile()), b = make_descriptor_k128(b_tile());
        wgmma_fence();
        wgmma_e4m3_n32(first, a, b, 0);
        wgmma_commit();
        wgmma_e4m3_n32(second, a, b, 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (emu::config.delay == emu::Delay::None)
            throw std::runtime_error("immediate effects hide this");
        const bool in_flight = second[0] != second[0];
        wgmma_wait<0>();
        REQUIRE(!in_flight);
        throw std::runtime_error("by chance the second batch was done too");
    });
}

TEST(operand_in_registers) {
    expect_right(one_group(), [] {
        float d[16];
        const uint32_t ones[4] = {0x38383838, 0x38383838, 0x38383838, 0x38383838};
        fill(true, true);
        wgmma_fence();
        wgmma_e4m3_rs_n32(d, ones, make_descriptor_k128(b_tile()), 0);
        wgmma_commit();
        wgmma_wait<0>();
        REQUIRE(d[1] == (lane_index() % 2 ? -32.f : 32.f));
    });
}
TEST(bug_register_operand_changed_in_flight) {
    expect_fault("WGMMA", [](emu::Config config) {
        config.delay = emu::Delay::Longest;
        run(config, one_group(), [] {
            float d[16];
            uint32_t a[4] = {0x38383838, 0x38383838, 0x38383838, 0x38383838};
            fill(true, true);
            wgmma_fence();
            wgmma_e4m3_rs_n32(d, a, make_descriptor_k128(b_tile()), 0);
            wgmma_commit();
            a[2] = 0;
            wgmma_wait<0>();
        });
    });
}

static void issue(uint64_t a, uint64_t b) {
    float d[16];
    fill(true, true);
    wgmma_fence();
    wgmma_e4m3_n32(d, a, b, 0);
    wgmma_commit();
    wgmma_wait<0>();
}
TEST(bug_tile_not_on_a_swizzle_boundary) {
    expect_bug("DESC", one_group(),
        [] { issue(make_descriptor_k128(a_tile() + 512), make_descriptor_k128(b_tile())); });
}
TEST(bug_k_step_leaves_the_row) {
    expect_bug("DESC", one_group(),
        [] { issue(make_descriptor_k128(a_tile()) + 7, make_descriptor_k128(b_tile())); });
}
TEST(bug_stride_leaves_shared_memory) {
    expect_bug("BOUNDS|UNINITIALISED", one_group(), [] {
        issue(make_descriptor(a_tile(), 16, 4096, DESCRIPTOR_SWIZZLE_128),
            make_descriptor_k128(b_tile()));
    });
}
