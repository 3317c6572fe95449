// SPDX-License-Identifier: MIT
//
// mbarriers: phases, what they order, and their misuse.
#include "device/barrier.cuh"
#include "device/fence.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "one_kernel.h"

using namespace check;

static uint32_t barrier(uint32_t i = 0) {
    return shared_base() + i * 8;
}
static uint32_t data() {
    return shared_base() + 64;
}

static void init(uint32_t i, uint32_t count) {
    if (thread_index() == 0) {
        mbarrier_init(barrier(i), count);
        fence_mbarrier_init();
    }
}

TEST(phases_alternate) {
    expect_right(shape(1, 32, 64), [] {
        if (thread_index()) return;
        mbarrier_init(barrier(), 1);
        REQUIRE(!mbarrier_test(barrier(), 0) && mbarrier_test(barrier(), 1));
        mbarrier_arrive(barrier());
        REQUIRE(mbarrier_test(barrier(), 0) && !mbarrier_test(barrier(), 1));
        mbarrier_arrive(barrier());
        mbarrier_wait(barrier(), 1);
        mbarrier_invalidate(barrier());
        mbarrier_init(barrier(), 2);
        REQUIRE(!mbarrier_test(barrier(), 0));
    });
}

// Warp 1 produces words for warp 0, `turns` times through one slot.
static void pass_words(
    bool wait_full, bool wait_empty, uint32_t full_count, uint32_t first_parity) {
    init(0, full_count);
    init(1, 32);
    cta_sync();
    for (uint32_t turn = 0; turn < 4; turn++) {
        const uint32_t word = data() + lane_index() * 4, parity = turn & 1;
        if (warp_index() == 1) {
            if (wait_empty) mbarrier_wait(barrier(1), parity ^ first_parity);
            st_shared_u32(word, turn);
            mbarrier_arrive(barrier(0));
        } else {
            if (wait_full) mbarrier_wait(barrier(0), parity);
            REQUIRE(ld_shared_u32(word) == turn);
            mbarrier_arrive(barrier(1));
        }
    }
}

TEST(words_pass_through_mbarriers) {
    expect_right(shape(1, 64, 256), [] { pass_words(true, true, 32, 1); });
}
TEST(bug_full_not_waited_for) {
    expect_bug(
        "RACE|UNINITIALISED|MBAR|CHECK", shape(1, 64, 256), [] { pass_words(false, true, 32, 1); });
}
TEST(bug_empty_not_waited_for) {
    expect_bug("RACE|MBAR|DEADLOCK|CHECK|UNINITIALISED", shape(1, 64, 256),
        [] { pass_words(true, false, 32, 1); });
}
TEST(bug_wrong_first_parity) {
    expect_bug("DEADLOCK", shape(1, 64, 256), [] { pass_words(true, true, 32, 0); });
}
TEST(bug_count_too_large) {
    expect_bug("DEADLOCK", shape(1, 64, 256), [] { pass_words(true, true, 33, 1); });
}
TEST(bug_count_too_small) {
    expect_bug("RACE|MBAR|UNINITIALISED|DEADLOCK", shape(1, 64, 256),
        [] { pass_words(true, true, 31, 1); });
}

TEST(arrivals_cross_the_cluster) {
    expect_right(shape(2, 32, 256, 2), [] {
        init(0, 64);
        cluster_sync();
        const uint32_t peer = cluster_rank() ^ 1;
        st_peer_u32(peer_address(data() + lane_index() * 4, peer), 5 + peer);
        mbarrier_arrive_peer(barrier(), 0);
        mbarrier_arrive_peer(barrier(), 1);
        mbarrier_wait_cluster(barrier(), 0);
        REQUIRE(ld_shared_u32(data() + lane_index() * 4) == 5 + cluster_rank());
        cluster_sync();
    });
}

// Each CTA reads 16 bytes that a thread of the other wrote to its own memory.
static void read_from_peer(bool wait, bool stay) {
    const uint32_t peer = cluster_rank() ^ 1;
    init(0, 32);
    cluster_sync();
    const uint32_t mine[4] = {cluster_rank(), lane_index(), 7, 8};
    uint32_t theirs[4];
    st_shared_x4(data() + lane_index() * 16, mine);
    mbarrier_arrive_peer_release(barrier(), peer);
    if (wait) mbarrier_wait_cluster(barrier(), 0);
    ld_peer_x4(theirs, peer_address(data() + lane_index() * 16, peer));
    if (wait) REQUIRE(theirs[0] == peer && theirs[1] == lane_index() && theirs[3] == 8);
    if (stay) cluster_sync();
}
TEST(peers_read_what_was_released) {
    expect_right(shape(2, 32, 1024, 2), [] { read_from_peer(true, true); });
}
TEST(bug_peer_read_before_its_arrival) {
    expect_bug("RACE|UNINITIALISED", shape(2, 32, 1024, 2), [] { read_from_peer(false, true); });
}
TEST(bug_peer_ends_before_it_was_read) {
    expect_bug("EXIT|EXITED", shape(2, 32, 1024, 2), [] { read_from_peer(true, false); });
}

TEST(bug_arrival_at_a_peer_before_it_is_ready) {
    expect_bug("RACE|MBAR", shape(2, 32, 256, 2), [] {
        init(0, 64);
        cta_sync();
        mbarrier_arrive_peer(barrier(), cluster_rank() ^ 1);
        cluster_sync();
    });
}

TEST(bug_not_initialised) {
    expect_bug("MBAR", shape(1, 32, 64), [] { mbarrier_arrive(barrier()); });
}
TEST(bug_init_not_ordered_before_use) {
    expect_bug("RACE|MBAR", shape(1, 64, 64), [] {
        init(0, 64);
        mbarrier_arrive(barrier());
    });
}
TEST(bug_barrier_overwritten) {
    expect_bug("MBAR", shape(1, 32, 64), [] {
        if (thread_index()) return;
        mbarrier_init(barrier(), 1);
        st_shared_u32(barrier(), 0);
        mbarrier_arrive(barrier());
    });
}
TEST(bug_used_after_invalidation) {
    expect_bug("MBAR", shape(1, 32, 64), [] {
        if (thread_index()) return;
        mbarrier_init(barrier(), 1);
        mbarrier_invalidate(barrier());
        mbarrier_arrive(barrier());
    });
}
TEST(bug_bytes_announced_and_never_copied) {
    expect_bug("DEADLOCK", shape(1, 32, 64), [] {
        if (thread_index()) return;
        mbarrier_init(barrier(), 1);
        mbarrier_expect(barrier(), 16);
        mbarrier_arrive(barrier());
        mbarrier_wait(barrier(), 0);
    });
}
TEST(bug_bytes_left_at_exit) {
    expect_bug("EXIT", shape(1, 32, 64), [] {
        if (thread_index()) return;
        mbarrier_init(barrier(), 1);
        mbarrier_arrive_expect(barrier(), 16);
    });
}
