// SPDX-License-Identifier: MIT
//
// Blackwell's tensor memory: taking and giving back columns, loads and stores of warps, and what
// orders them.
#include "device/barrier.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "device/tcgen05.cuh"
#include "device/warp.cuh"
#include "one_kernel.h"

using namespace check;

static uint32_t slot() {
    return shared_base();
}

// Warp 0 takes columns; everybody learns where they are.
static uint32_t allocate(uint32_t columns) {
    if (warp_index() == 0) tcgen05_allocate<1>(slot(), columns);
    tcgen05_fence_before();
    cta_sync();
    tcgen05_fence_after();
    return ld_shared_u32(slot());
}

static void give_back(uint32_t address, uint32_t columns) {
    tcgen05_fence_before();
    cta_sync();
    if (warp_index() == 0) tcgen05_deallocate<1>(address, columns);
}

static uint32_t my_lanes() {
    return (warp_index() % 4 * 32) << 16;
}

static void fill(uint32_t *values, uint32_t count, uint32_t seed) {
    for (uint32_t i = 0; i < count; i++) values[i] = thread_index() * 1000 + i * 7 + seed;
}

TEST(tensor_memory_keeps_what_warps_store) {
    expect_right(shape(1, 128, 64), [] {
        const uint32_t base = allocate(64);
        uint32_t out[32], in[32], eight[8];
        fill(out, 32, 3);
        tcgen05_store_x32(base + my_lanes() + 8, out);
        tcgen05_store_x8(base + my_lanes(), out + 24);
        tcgen05_wait_store();
        tcgen05_load_x32(in, base + my_lanes() + 8);
        tcgen05_load_x8(eight, base + my_lanes());
        tcgen05_wait_load();
        REQUIRE(memcmp(in, out, sizeof in) == 0);
        REQUIRE(memcmp(eight, out + 24, sizeof eight) == 0);
        give_back(base, 64);
    });
}

// Warps 0 and 4 reach the same quarter: the second reads what the first stored.
static void pass_on(bool waits, bool before, bool syncs, bool after) {
    const uint32_t base = allocate(32);
    uint32_t out[8], in[8];
    for (uint32_t i = 0; i < 8; i++) out[i] = lane_index() * 8 + i;
    if (warp_index() == 0) {
        tcgen05_store_x8(base, out);
        if (waits) tcgen05_wait_store();
        if (before) tcgen05_fence_before();
    }
    if (syncs) cta_sync();
    if (warp_index() == 4) {
        if (after) tcgen05_fence_after();
        tcgen05_load_x8(in, base);
        tcgen05_wait_load();
        REQUIRE(memcmp(in, out, sizeof in) == 0);
    }
    if (warp_index() == 0) tcgen05_wait_store();
    give_back(base, 32);
}
TEST(stores_pass_to_another_warp_through_two_fences) {
    expect_right(shape(1, 160, 64), [] { pass_on(true, true, true, true); });
}
TEST(bug_store_not_waited_for) {
    expect_bug("RACE", shape(1, 160, 64), [] { pass_on(false, true, true, true); });
}
TEST(bug_no_fence_before_the_barrier) {
    expect_bug("RACE", shape(1, 160, 64), [] { pass_on(true, false, true, true); });
}
TEST(bug_no_fence_after_the_barrier) {
    expect_bug("TCFENCE", shape(1, 160, 64), [] { pass_on(true, true, true, false); });
}
TEST(bug_no_barrier_between_store_and_load) {
    expect_bug("RACE|UNINITIALISED", shape(1, 160, 64), [] { pass_on(true, true, false, true); });
}

TEST(bug_columns_read_before_anybody_wrote) {
    expect_bug("UNINITIALISED", shape(1, 128, 64), [] {
        uint32_t in[8];
        tcgen05_load_x8(in, allocate(32) + my_lanes());
    });
}
TEST(bug_load_from_another_quarter) {
    expect_bug("TMEM", shape(1, 64, 64), [] {
        const uint32_t base = allocate(32);
        uint32_t in[8];
        if (warp_index() == 1) tcgen05_load_x8(in, base);
    });
}
TEST(bug_load_beyond_the_allocation) {
    expect_bug("TMEM", shape(1, 128, 64), [] {
        uint32_t in[32];
        tcgen05_load_x32(in, allocate(32) + my_lanes() + 8);
    });
}
TEST(bug_load_never_waited_for) {
    expect_bug("EXIT", shape(1, 128, 64), [] {
        const uint32_t base = allocate(32);
        uint32_t values[8] = {};
        tcgen05_store_x8(base + my_lanes(), values);
    });
}
TEST(bug_lanes_of_a_warp_give_different_addresses) {
    expect_bug("TMEM", shape(1, 32, 64), [] {
        const uint32_t values[8] = {};
        tcgen05_store_x8(allocate(64) + lane_index() % 2 * 8, values);
    });
}

// ---- allocation

TEST(columns_are_given_back_and_taken_again) {
    expect_right(shape(1, 64, 64), [] {
        if (warp_index() == 0) {
            tcgen05_allocate<1>(slot(), 512);
            warp_sync();
            tcgen05_deallocate<1>(ld_shared_u32(slot()), 512);
        } else { // waits for the other warp if that one was first
            tcgen05_allocate<1>(slot() + 16, 64);
            warp_sync();
            tcgen05_deallocate<1>(ld_shared_u32(slot() + 16), 64);
        }
    });
}
TEST(bug_more_columns_than_there_are) {
    expect_bug("DEADLOCK", shape(1, 32, 64), [] {
        tcgen05_allocate<1>(slot(), 512);
        tcgen05_allocate<1>(slot() + 4, 32);
    });
}
TEST(bug_columns_no_power_of_two) {
    expect_bug("TMEM", shape(1, 32, 64), [] { tcgen05_allocate<1>(slot(), 96); });
    expect_bug("TMEM", shape(1, 32, 64), [] { tcgen05_allocate<1>(slot(), 16); });
}
TEST(bug_other_columns_given_back) {
    expect_bug("TMEM", shape(1, 32, 64), [] {
        const uint32_t base = allocate(64);
        tcgen05_deallocate<1>(base, 32);
    });
}
TEST(bug_columns_never_given_back) {
    expect_bug("EXIT", shape(1, 32, 64), [] { allocate(64); });
}
TEST(bug_columns_taken_without_permit) {
    expect_bug("TMEM", shape(1, 32, 64), [] {
        tcgen05_relinquish<1>();
        tcgen05_allocate<1>(slot(), 64);
    });
}
TEST(bug_one_cta_and_pairs_mixed) {
    expect_bug("TMEM", shape(2, 32, 64, 2), [] {
        tcgen05_allocate<1>(slot(), 64);
        tcgen05_allocate<2>(slot() + 4, 64);
    });
}
TEST(bug_given_back_while_another_warp_loads) {
    expect_bug("RACE|TMEM", shape(1, 64, 64), [] {
        const uint32_t base = allocate(32);
        uint32_t values[8] = {};
        if (warp_index() == 1) {
            tcgen05_store_x8(base + my_lanes(), values);
            tcgen05_wait_store();
        } else {
            tcgen05_deallocate<1>(base, 32);
        }
    });
}
