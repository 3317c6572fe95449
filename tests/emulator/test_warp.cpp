// SPDX-License-Identifier: MIT
//
// Warps: election, shuffles, convergence, register budgets.
#include "device/barrier.cuh"
#include "device/shared.cuh"
#include "device/warp.cuh"
#include "one_kernel.h"

using namespace check;

TEST(shuffles_move_values) {
    expect_right(shape(1, 32, 0), [] {
        const uint32_t lane = lane_index();
        REQUIRE(shuffle_u32(lane * 2, 5) == 10);
        REQUIRE(shuffle_xor_u32(lane, 3) == (lane ^ 3));
        REQUIRE(shuffle_f32(static_cast<float>(lane), 31) == 31.f);
        REQUIRE(shuffle_xor_f32(static_cast<float>(lane), 16) == static_cast<float>(lane ^ 16));
        REQUIRE(warp_ballot(lane % 3 == 0) == 0x49249249u);
    });
}
TEST(one_lane_is_elected) {
    expect_right(shape(1, 64, 0), [] {
        const uint32_t votes = warp_ballot(elect_one());
        REQUIRE(votes && !(votes & (votes - 1)));
        REQUIRE(warp_ballot(elect_one()) == votes);
    });
}
TEST(bug_diverged_collectives) {
    expect_bug("DIVERGED", shape(1, 32, 0), [] {
        if (lane_index() < 16)
            warp_sync();
        else
            shuffle_xor_u32(1, 1);
    });
}
TEST(bug_collective_in_a_branch) {
    expect_bug("DIVERGED|DEADLOCK", shape(1, 32, 0), [] {
        if (lane_index() < 16) shuffle_xor_u32(1, 1);
    });
}
// The same collective in two places of the kernel: on a GPU, lanes wait for lanes that are elsewhere.
TEST(bug_shuffle_in_both_branches) {
    expect_bug("DIVERGED", shape(1, 32, 0), [] {
        if (lane_index() < 16)
            shuffle_u32(1, 0);
        else
            shuffle_u32(2, 16);
    });
}
TEST(bug_shuffle_once_too_often) {
    expect_bug("DIVERGED|DEADLOCK", shape(1, 32, 0), [] {
        for (uint32_t i = 0; i < 4 + (lane_index() == 9); i++) shuffle_xor_f32(1.f, 1);
    });
}
TEST(bug_vote_by_some_lanes) {
    expect_bug("DIVERGED|DEADLOCK", shape(1, 64, 0), [] {
        if (lane_index() != 3) warp_ballot(true);
        warp_sync();
    });
}
TEST(bug_election_inside_a_branch) {
    expect_bug("DIVERGED", shape(1, 32, 0), [] {
        if (lane_index() == 0 && elect_one()) trap();
    });
}
TEST(bug_warp_index_inside_a_branch) {
    expect_bug("DIVERGED", shape(1, 64, 64), [] {
        if (lane_index() == 0) st_shared_u32(shared_base() + warp_index() * 4, 1);
    });
}
TEST(bug_lanes_left_before_a_collective) {
    expect_bug("DIVERGED", shape(1, 32, 0), [] {
        if (lane_index() >= 30) return;
        elect_one();
    });
}
TEST(bug_trap) {
    expect_bug("TRAP", shape(1, 32, 0), [] {
        if (elect_one()) trap();
    });
}
static void lane_to_lane(bool synchronise) {
    const uint32_t word = shared_base() + lane_index() * 4;
    st_shared_u32(word, lane_index());
    if (synchronise) warp_sync();
    ld_shared_u32(shared_base() + (lane_index() + 1) % 32 * 4);
}
TEST(warp_sync_orders) {
    expect_right(shape(1, 32, 128), [] { lane_to_lane(true); });
}
TEST(bug_warp_sync_left_out) {
    expect_bug("RACE|UNINITIALISED", shape(1, 32, 128), [] { lane_to_lane(false); });
}

// Four warpgroups start with 64 registers a thread each.
template <int GIVE, int TAKE> static void trade_registers() {
    if (warp_index() < 4)
        setmaxnreg_dec<GIVE>();
    else
        setmaxnreg_inc<TAKE>();
}
TEST(registers_are_traded) {
    expect_right(shape(1, 256, 0), trade_registers<32, 96>);
}
TEST(bug_more_registers_taken_than_given) {
    expect_bug("DEADLOCK", shape(1, 256, 0), trade_registers<40, 96>);
}
TEST(bug_register_count_not_a_multiple_of_eight) {
    expect_bug("SETMAXNREG", shape(1, 256, 0), trade_registers<36, 64>);
}
TEST(bug_dec_that_takes) {
    expect_bug("SETMAXNREG", shape(1, 256, 0), trade_registers<72, 64>);
}
TEST(bug_half_a_warp_gives_registers) {
    expect_bug("DIVERGED", shape(1, 128, 0), [] {
        if (lane_index() < 16) setmaxnreg_dec<32>();
    });
}
