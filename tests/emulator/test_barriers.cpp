// SPDX-License-Identifier: MIT
//
// Named barriers, the CTA's and the cluster's.
#include "device/barrier.cuh"
#include "device/shared.cuh"
#include "one_kernel.h"

using namespace check;

static uint32_t word(uint32_t i) {
    return shared_base() + i * 4;
}

// Warps 0, 1 produce and only arrive; warps 2, 3 wait.
static void hand_over(uint32_t producer_count, uint32_t consumer_count) {
    if (warp_index() < 2) {
        st_shared_u32(word(thread_index()), thread_index());
        bar_arrive(3, producer_count);
    } else {
        bar_sync(3, consumer_count);
        REQUIRE(ld_shared_u32(word(thread_index() - 64)) == thread_index() - 64);
    }
}

TEST(named_barrier_orders) {
    expect_right(shape(1, 128, 256), [] { hand_over(128, 128); });
}
TEST(bug_named_barrier_counts_differ) {
    expect_bug("NAMEDBAR", shape(1, 128, 256), [] { hand_over(128, 96); });
}
TEST(bug_named_barrier_count_too_small) {
    expect_bug(
        "RACE|UNINITIALISED|NAMEDBAR|DEADLOCK", shape(1, 128, 256), [] { hand_over(96, 96); });
}
TEST(bug_named_barrier_count_too_large) {
    expect_bug("DEADLOCK", shape(1, 160, 256), [] {
        if (warp_index() < 4) hand_over(160, 160);
    });
}
TEST(bug_named_barrier_wrong_id) {
    expect_bug("DEADLOCK", shape(1, 64, 256), [] { bar_sync(1 + warp_index(), 64); });
}
TEST(bug_half_a_warp_at_a_barrier) {
    expect_bug("NAMEDBAR|DIVERGED", shape(1, 64, 0), [] {
        if (warp_index() == 0 || lane_index() < 16) bar_sync(1, 32);
        if (warp_index() == 1 && lane_index() >= 16) return;
        if (warp_index() == 0) bar_sync(1, 32);
    });
}

TEST(cluster_barrier_in_two_halves) {
    expect_right(shape(4, 64, 256, 2), [] {
        const uint32_t peer = cluster_rank() ^ 1;
        st_shared_u32(word(thread_index()), cluster_rank());
        cluster_arrive();
        cluster_wait();
        REQUIRE(ld_peer_u32(peer_address(word(thread_index()), peer)) == peer);
        cluster_arrive();
        cluster_wait();
    });
}
TEST(bug_cluster_wait_left_out) {
    expect_bug("RACE|UNINITIALISED|CLUSTERBAR", shape(2, 32, 256, 2), [] {
        st_shared_u32(word(thread_index()), 1);
        cluster_arrive();
        ld_peer_u32(peer_address(word(thread_index()), cluster_rank() ^ 1));
        cluster_wait();
        cluster_sync();
    });
}
TEST(bug_cluster_wait_without_arrive) {
    expect_bug("CLUSTERBAR", shape(2, 32, 0, 2), [] { cluster_wait(); });
}
TEST(bug_cta_barrier_in_a_branch) {
    expect_bug("DEADLOCK", shape(1, 64, 0), [] {
        if (warp_index() == 0)
            cta_sync();
        else
            bar_sync(1, 64);
    });
}
TEST(bug_cta_barrier_in_both_branches_of_a_warp) {
    expect_bug("DIVERGED", shape(1, 64, 0), [] {
        if (lane_index() == 0)
            cta_sync();
        else
            cta_sync();
    });
}
TEST(bug_one_lane_arrives_at_the_cluster_barrier) {
    expect_bug("DIVERGED", shape(2, 32, 0, 2), [] {
        if (lane_index() == 0) cluster_arrive();
    });
}
