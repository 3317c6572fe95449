// SPDX-License-Identifier: MIT
//
// Copies of contiguous bytes: in, out, added, to a peer; and bulk groups, whose reading and writing
// halves end at different times.
#include "device/barrier.cuh"
#include "device/bulk.cuh"
#include "device/fence.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "one_kernel.h"

using namespace check;

static uint32_t barrier() {
    return shared_base();
}
static uint32_t data() {
    return shared_base() + 128;
}

static void init(uint32_t count) {
    if (thread_index() == 0) {
        mbarrier_init(barrier(), count);
        fence_mbarrier_init();
    }
    cta_sync();
}

// input -> shared -> each thread adds 1 -> output
struct Steps {
    bool wait_load = true, fence = true, barrier = true, commit = true, wait_store = true;
    uint32_t announced = 128;
};
static void pass_through(const uint32_t *in, uint32_t *out, const Steps &s) {
    const uint32_t word = data() + thread_index() * 4;
    init(1);
    if (thread_index() == 0) {
        mbarrier_arrive_expect(barrier(), s.announced);
        bulk_load(data(), in, 128, barrier());
    }
    if (s.wait_load) mbarrier_wait(barrier(), 0);
    st_shared_u32(word, ld_shared_u32(word) + 1);
    if (s.fence) fence_proxy_async();
    if (s.barrier) cta_sync();
    if (thread_index() == 0) {
        bulk_store(out, data(), 128);
        if (s.commit) bulk_commit();
        if (s.wait_store) bulk_wait<0>();
    }
}
static void try_steps(const char *kinds, void (*change)(Steps &)) {
    Buffer<uint32_t> in(32), out(32);
    Steps s;
    change(s);
    for (size_t i = 0; i < 32; i++) in[i] = static_cast<uint32_t>(i * i);
    const std::function<void()> kernel = [&] { pass_through(in.data, out.data, s); };
    if (*kinds)
        expect_bug(kinds, shape(1, 32, 512), kernel);
    else
        expect_right(shape(1, 32, 512), kernel, [&] {
            for (size_t i = 0; i < 32; i++) REQUIRE(out[i] == i * i + 1);
        });
}
TEST(load_change_store) {
    try_steps("", [](Steps &) {});
}
TEST(bug_load_not_waited_for) {
    try_steps("RACE|UNINITIALISED", [](Steps &s) { s.wait_load = false; });
}
TEST(bug_no_proxy_fence_before_store) {
    try_steps("PROXY", [](Steps &s) { s.fence = false; });
}
TEST(bug_no_barrier_before_store) {
    try_steps("RACE", [](Steps &s) { s.barrier = false; });
}
TEST(bug_store_not_committed) {
    try_steps("EXIT", [](Steps &s) { s.commit = false; });
}
TEST(bug_store_not_waited_for_at_exit) {
    try_steps("EXIT", [](Steps &s) { s.wait_store = false; });
}
TEST(bug_too_few_bytes_announced) {
    try_steps("DEADLOCK|EXIT|RACE|MBAR", [](Steps &s) { s.announced = 112; });
}

// Announced in two steps: the phase ends with the bytes, although all have arrived before.
TEST(bytes_announced_apart_from_the_arrival) {
    Buffer<uint32_t> in(4, true);
    expect_right(shape(1, 32, 512), [&] {
        init(1);
        if (thread_index()) return;
        mbarrier_expect(barrier(), 16);
        mbarrier_arrive(barrier());
        REQUIRE(!mbarrier_test(barrier(), 0));
        bulk_load(data(), in.data, 16, barrier());
        mbarrier_wait(barrier(), 0);
        REQUIRE(ld_shared_u32(data() + 12) == in.data[3]);
    });
}

TEST(bug_bulk_bytes_not_a_multiple_of_16) {
    Buffer<uint32_t> out(32);
    expect_bug("ALIGN", shape(1, 32, 512), [&] { bulk_store(out.data, data(), 24); });
}
TEST(bug_bulk_store_past_the_end) {
    Buffer<uint32_t> out(31);
    expect_bug(
        "BOUNDS|UNINITIALISED", shape(1, 32, 512), [&] { bulk_store(out.data, data(), 128); });
}

TEST(sums_are_added) {
    Buffer<float> out(8);
    expect_right(
        shape(1, 32, 512),
        [&] {
            if (thread_index()) return;
            for (uint32_t i = 0; i < 8; i++) st_shared_f32(data() + i * 4, 0.5f);
            for (uint32_t i = 0; i < 8; i++) st_shared_f32(data() + 32 + i * 4, 2.f);
            fence_proxy_async();
            bulk_store(out.data, data(), 32);
            bulk_commit();
            bulk_wait<0>();
            bulk_reduce_add_f32(out.data, data() + 32, 32);
            bulk_commit();
            bulk_wait<0>();
        },
        [&] {
            for (size_t i = 0; i < 8; i++) REQUIRE(out[i] == 2.5f);
        });
}

// One thread stores a buffer twice; `wait` comes between the store and the buffer's next use.
static void reuse(uint32_t *out, void (*wait)()) {
    if (thread_index()) return;
    for (uint32_t turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < 4; i++) st_shared_u32(data() + i * 4, turn);
        fence_proxy_async();
        bulk_store(out + turn * 4, data(), 16);
        bulk_commit();
        wait();
    }
    bulk_wait<0>();
}
TEST(buffer_reused_after_it_was_read) {
    Buffer<uint32_t> out(8);
    expect_right(
        shape(1, 32, 512), [&] { reuse(out.data, bulk_wait_read<0>); },
        [&] { REQUIRE(out[0] == 0 && out[7] == 1); });
}
TEST(bug_buffer_reused_too_early) {
    Buffer<uint32_t> out(8);
    expect_bug("RACE", shape(1, 32, 512), [&] { reuse(out.data, bulk_wait_read<1>); });
}

// A flag tells another CTA that a store has landed.
static void store_and_tell(uint32_t *out, uint32_t *flag, void (*wait)()) {
    if (thread_index()) return;
    if (block_index() == 0) {
        for (uint32_t i = 0; i < 4; i++) st_shared_u32(data() + i * 4, 9);
        fence_proxy_async();
        bulk_store(out, data(), 16);
        bulk_commit();
        wait();
        st_flag(flag, 1, ORDER_RELEASE, SCOPE_GPU);
        bulk_wait<0>();
    } else {
        while (!ld_flag(flag, ORDER_ACQUIRE, SCOPE_GPU)) {}
        REQUIRE(ld_global_u32(out) == 9);
    }
}
static void try_tell(const char *kinds, void (*wait)()) {
    Buffer<uint32_t> out(4), flag(1);
    auto run_once = [&](const emu::Config &config) {
        flag[0] = 0;
        run(config, shape(2, 32, 512), [&] { store_and_tell(out.data, flag.data, wait); });
    };
    if (*kinds)
        expect_fault(kinds, run_once);
    else
        for (const emu::Config &config : schedules()) run_once(config);
}
TEST(told_after_the_store_landed) {
    try_tell("", bulk_wait<0>);
}
TEST(bug_told_when_the_store_was_only_read) {
    try_tell("RACE", bulk_wait_read<0>);
}

// ---- to a peer

struct Peer {
    bool announce = true, fence = true, ready = true, last_barrier = true;
};
static void send_bytes(const Peer &p) {
    init(1);
    if (p.announce && thread_index() == 0 && cluster_rank() == 1)
        mbarrier_arrive_expect(barrier(), 128);
    if (p.ready) cluster_sync();
    if (cluster_rank() == 0) {
        st_shared_u32(data() + thread_index() * 4, thread_index() + 1);
        if (p.fence) fence_proxy_async();
        cta_sync();
        if (thread_index() == 0)
            bulk_copy_peer(peer_address(data(), 1), data(), 128, peer_address(barrier(), 1));
    } else if (p.announce) {
        mbarrier_wait_cluster(barrier(), 0);
        REQUIRE(ld_shared_u32(data() + thread_index() * 4) == thread_index() + 1);
    }
    if (p.last_barrier) cluster_sync();
}
static void try_peer(const char *kinds, void (*change)(Peer &)) {
    Peer p;
    change(p);
    if (*kinds)
        expect_bug(kinds, shape(2, 32, 512, 2), [&] { send_bytes(p); });
    else
        expect_right(shape(2, 32, 512, 2), [&] { send_bytes(p); });
}
TEST(bytes_reach_a_peer) {
    try_peer("", [](Peer &) {});
}
TEST(bug_bytes_to_a_peer_never_announced) {
    try_peer("EXIT", [](Peer &p) { p.announce = false; });
}
TEST(bug_bytes_to_a_peer_without_proxy_fence) {
    try_peer("PROXY", [](Peer &p) { p.fence = false; });
}
TEST(bug_bytes_to_a_peer_that_is_not_ready) {
    try_peer("RACE|MBAR", [](Peer &p) { p.ready = false; });
}
TEST(bug_sender_exits_before_its_memory_was_read) {
    try_peer("EXIT", [](Peer &p) { p.last_barrier = false; });
}

static void send_words(uint32_t announced) {
    init(1);
    if (thread_index() == 0 && cluster_rank() == 1) mbarrier_arrive_expect(barrier(), announced);
    cluster_sync();
    const uint32_t word = data() + thread_index() * 4;
    if (cluster_rank() == 0)
        st_async_u32(peer_address(word, 1), thread_index(), peer_address(barrier(), 1));
    else {
        mbarrier_wait_cluster(barrier(), 0);
        REQUIRE(ld_shared_u32(word) == thread_index());
    }
    cluster_sync();
}
TEST(words_sent_asynchronously) {
    expect_right(shape(2, 32, 512, 2), [] { send_words(128); });
}
TEST(bug_one_word_too_few_announced) {
    expect_bug("RACE|UNINITIALISED|MBAR|EXIT|DEADLOCK|CHECK", shape(2, 32, 512, 2),
        [] { send_words(124); });
}
