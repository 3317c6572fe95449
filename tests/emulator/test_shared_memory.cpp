// SPDX-License-Identifier: MIT
//
// Shared memory: values, bounds, alignment, what was never written, races; and that of a peer.
#include "device/barrier.cuh"
#include "device/shared.cuh"
#include "one_kernel.h"

using namespace check;

static uint32_t my_word() {
    return shared_base() + thread_index() * 4;
}
static uint32_t neighbour_word() {
    return shared_base() + (thread_index() + 33) % 64 * 4;
}

TEST(shared_words_pass_through_a_barrier) {
    expect_right(shape(1, 64, 256), [] {
        st_shared_u32(my_word(), thread_index() * 7);
        cta_sync();
        REQUIRE(ld_shared_u32(neighbour_word()) == (thread_index() + 33) % 64 * 7);
    });
}

TEST(shared_vectors_and_floats) {
    expect_right(shape(1, 32, 1024), [] {
        const uint32_t at = shared_base() + thread_index() * 16, in[4] = {1, 2, thread_index(), 4};
        uint32_t out[4];
        st_shared_x4(at, in);
        ld_shared_x4(out, at);
        REQUIRE(memcmp(in, out, 16) == 0);
        st_shared_x2(at + 8, 5, 6);
        REQUIRE(ld_shared_u32(at + 8) == 5 && ld_shared_u32(at + 12) == 6);
        float pair[2];
        ld_shared_f32x2(pair, at);
        REQUIRE(memcmp(in, pair, 8) == 0);
        st_shared_f32(at + 4, 1.5f);
        REQUIRE(ld_shared_f32(at + 4) == 1.5f);
    });
}

TEST(bug_no_barrier_between_store_and_load) {
    expect_bug("RACE|UNINITIALISED", shape(1, 64, 256), [] {
        st_shared_u32(my_word(), 1);
        ld_shared_u32(neighbour_word());
    });
}

TEST(bug_no_barrier_between_load_and_next_store) {
    expect_bug("RACE", shape(1, 64, 256), [] {
        st_shared_u32(my_word(), 1);
        cta_sync();
        ld_shared_u32(neighbour_word());
        st_shared_u32(my_word(), 2);
    });
}

TEST(bug_shared_address_past_the_end) {
    expect_bug("BOUNDS", shape(1, 32, 64), [] { st_shared_u32(my_word(), 1); });
}

TEST(bug_shared_address_misaligned) {
    expect_bug("ALIGN", shape(1, 32, 256), [] { st_shared_u32(my_word() + 2, 1); });
}

TEST(bug_vector_address_misaligned) {
    expect_bug("ALIGN", shape(1, 32, 2048), [] {
        const uint32_t v[4] = {0, 0, 0, 0};
        st_shared_x4(shared_base() + thread_index() * 16 + 8, v);
    });
}

TEST(bug_never_written) {
    expect_bug("UNINITIALISED", shape(1, 32, 256), [] { ld_shared_u32(my_word()); });
}

static void pass_to_peer(bool barrier_before, bool barrier_after) {
    const uint32_t mine = my_word(), peer = peer_address(mine, cluster_rank() ^ 1);
    st_shared_u32(mine, 0);
    cluster_sync();
    st_peer_u32(peer, cluster_rank() * 100 + thread_index());
    if (barrier_before) cluster_sync();
    if (barrier_before) REQUIRE(ld_shared_u32(mine) == (cluster_rank() ^ 1) * 100 + thread_index());
    if (barrier_before) ld_peer_u32(peer);
    if (barrier_after) cluster_sync();
}

TEST(peer_words_pass_through_a_cluster_barrier) {
    expect_right(shape(4, 32, 128, 2), [] { pass_to_peer(true, true); });
}

TEST(bug_peer_memory_read_without_barrier) {
    expect_bug("RACE|UNINITIALISED", shape(2, 32, 128, 2), [] {
        st_shared_u32(my_word(), 1);
        ld_peer_u32(peer_address(my_word(), cluster_rank() ^ 1));
        cluster_sync();
    });
}

TEST(bug_cta_exits_before_its_peer_is_done) {
    expect_bug("EXIT|EXITED", shape(2, 32, 128, 2), [] { pass_to_peer(true, false); });
}

TEST(bug_rank_outside_the_cluster) {
    expect_bug("BOUNDS", shape(2, 32, 128, 2), [] { peer_address(my_word(), 2); });
}
