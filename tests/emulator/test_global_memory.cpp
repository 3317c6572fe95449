// SPDX-License-Identifier: MIT
//
// Global memory across CTAs: bounds, races, flags, fences, atomics, dynamic tile counters.
#include "device/barrier.cuh"
#include "device/bytes.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/shared.cuh"
#include "one_kernel.h"

using namespace check;

TEST(words_of_every_size) {
    Buffer<uint32_t> buffer(64);
    expect_right(shape(1, 32, 0), [&] {
        if (thread_index()) return;
        const uint32_t in[4] = {1, 2, 3, 4};
        uint32_t out[4];
        st_global_x4(buffer.data, in);
        ld_global_x4(out, buffer.data);
        REQUIRE(memcmp(in, out, 16) == 0);
        ld_global_x2(out + 2, buffer.data + 2);
        REQUIRE(memcmp(in, out, 16) == 0);
        REQUIRE(ld_global_u16(buffer.data + 1) == 2);
        REQUIRE(ld_global_u64(buffer.data) == (2ull << 32 | 1));
        st_global_u16(buffer.data + 8, 7);
        st_global_f32(reinterpret_cast<float *>(buffer.data) + 9, 2.5f);
        REQUIRE(ld_global_f32(reinterpret_cast<float *>(buffer.data) + 9) == 2.5f);
        REQUIRE((ld_global_u32(buffer.data + 8) & 0xffff) == 7);
        const uint32_t pair[2] = {0x04030201, 0x08070605};
        uint32_t two[2];
        st_global_x2(buffer.data + 10, pair);
        ld_global_x2(two, buffer.data + 10);
        REQUIRE(two[0] == pair[0] && two[1] == pair[1]);
        REQUIRE(ld_global_u64(buffer.data + 10) == 0x0807060504030201ull);
        REQUIRE(ld_global_u16(reinterpret_cast<uint8_t *>(buffer.data + 10) + 2) == 0x0403);
        REQUIRE(ld_global_u8(reinterpret_cast<uint8_t *>(buffer.data + 10) + 5) == 0x06);
        st_global_u8(reinterpret_cast<uint8_t *>(buffer.data + 10) + 2, 0x1EE);
        REQUIRE(ld_global_u32(buffer.data + 10) == 0x04EE0201);
        REQUIRE(ld_constant_f32(reinterpret_cast<float *>(buffer.data) + 9) == 2.5f);
        st_global_u64(buffer.data + 10, 5);
        REQUIRE(ld_global_u32(buffer.data + 10) == 5 && ld_global_u32(buffer.data + 11) == 0);
    });
}
TEST(bug_global_index_past_the_end) {
    Buffer<uint32_t> buffer(31);
    expect_bug("BOUNDS", shape(1, 32, 0), [&] { st_global_u32(buffer.data + thread_index(), 1); });
}
TEST(bug_prefetch_past_the_end) {
    Buffer<uint32_t> buffer(32);
    expect_bug("BOUNDS", shape(1, 32, 0), [&] { prefetch_global(buffer.data + 32); });
}
TEST(bug_store_to_an_input) {
    Buffer<uint32_t> buffer(32, true);
    expect_bug("BOUNDS", shape(1, 32, 0), [&] { st_global_u32(buffer.data + thread_index(), 1); });
}
TEST(bug_two_ctas_write_one_word) {
    Buffer<uint32_t> buffer(32);
    expect_bug("RACE", shape(2, 32, 0),
        [&] { st_global_u32(buffer.data + thread_index(), block_index()); });
}

TEST(bug_constant_that_somebody_writes) {
    Buffer<float> buffer(32);
    expect_bug("RACE", shape(2, 32, 0), [&] {
        if (block_index() == 0) st_global_f32(buffer.data + thread_index(), 1.f);
        if (block_index() == 1) ld_constant_f32(buffer.data + thread_index());
    });
}

// CTA 0 writes 32 words and raises a flag; CTA 1 waits for the flag and reads them.
struct Message {
    bool barrier_before = true, fence = false, poll = true;
    memory_order release = ORDER_RELEASE, acquire = ORDER_ACQUIRE;
    memory_scope scope = SCOPE_GPU;
};
static void send(uint32_t *words, uint32_t *flag, const Message &m) {
    if (block_index() == 0) {
        st_global_u32(words + thread_index(), thread_index() * 3);
        if (m.barrier_before) cta_sync();
        if (thread_index() == 0) {
            if (m.fence) fence_acq_rel(m.scope);
            st_flag(flag, 1, m.release, m.scope);
        }
    } else {
        if (thread_index() == 0) {
            while (m.poll && ld_flag(flag, m.acquire, m.scope) != 1) {}
            if (m.fence) fence_acq_rel(m.scope);
        }
        cta_sync();
        const uint32_t got = ld_global_u32(words + thread_index());
        if (m.poll) REQUIRE(got == thread_index() * 3);
    }
}
static void try_message(const char *kinds, const Message &m) {
    Buffer<uint32_t> words(32), flag(1);
    auto run_once = [&](const emu::Config &config) {
        flag[0] = 0;
        run(config, shape(2, 32, 0), [&] { send(words.data, flag.data, m); });
    };
    if (*kinds)
        expect_fault(kinds, run_once);
    else
        for (const emu::Config &config : schedules()) run_once(config);
}
static Message with(void (*change)(Message &)) {
    Message m;
    change(m);
    return m;
}

TEST(flag_with_release_and_acquire) {
    try_message("", Message());
}
TEST(flag_with_fences) {
    try_message("", with([](Message &m) {
        m.fence = true;
        m.release = m.acquire = ORDER_RELAXED;
    }));
}
TEST(bug_flag_stored_relaxed) {
    try_message("RACE", with([](Message &m) { m.release = ORDER_RELAXED; }));
}
TEST(bug_flag_loaded_relaxed) {
    try_message("RACE", with([](Message &m) { m.acquire = ORDER_RELAXED; }));
}
TEST(bug_flag_released_to_its_own_cta_only) {
    try_message("RACE", with([](Message &m) { m.scope = SCOPE_CTA; }));
}
TEST(bug_flag_not_waited_for) {
    try_message("RACE", with([](Message &m) { m.poll = false; }));
}
TEST(bug_flag_raised_before_all_threads_wrote) {
    try_message("RACE", with([](Message &m) { m.barrier_before = false; }));
}

// Work is handed out by a counter; the last CTA to finish reads what all of them wrote.
static void count_tiles(uint32_t *counter, uint32_t *done, uint32_t *out, memory_order order) {
    const uint32_t shared = shared_base();
    for (;;) {
        if (thread_index() == 0)
            st_shared_u32(shared, atomic_add_u32(counter, 1, ORDER_RELAXED, SCOPE_GPU));
        cta_sync();
        const uint32_t tile = ld_shared_u32(shared);
        cta_sync();
        if (tile >= 20) break;
        if (thread_index() == 0) st_global_u32(out + tile, tile + 1);
    }
    if (thread_index() == 0 && atomic_add_u32(done, 1, order, SCOPE_GPU) == block_count() - 1) {
        for (uint32_t i = 0; i < 20; i++) REQUIRE(ld_global_u32(out + i) == i + 1);
    }
}
static void try_counter(const char *kinds, memory_order order) {
    Buffer<uint32_t> counter(1), done(1), out(20);
    auto run_once = [&](const emu::Config &config) {
        counter[0] = done[0] = 0;
        run(config, shape(4, 64, 64),
            [&] { count_tiles(counter.data, done.data, out.data, order); });
        for (size_t i = 0; i < 20; i++) REQUIRE(out[i] == i + 1);
    };
    if (*kinds)
        expect_fault(kinds, run_once);
    else
        for (const emu::Config &config : schedules()) run_once(config);
}
TEST(tile_counter_and_last_cta) {
    try_counter("", ORDER_ACQ_REL);
}
TEST(bug_last_cta_does_not_acquire) {
    try_counter("RACE", ORDER_RELEASE);
}
TEST(bug_ctas_do_not_release) {
    try_counter("RACE", ORDER_ACQUIRE);
}

TEST(bug_spin_without_enough_resident_ctas) {
    Buffer<uint32_t> flag(1);
    expect_fault("LIVELOCK", [&](emu::Config config) {
        config.resident_ctas = 2;
        config.polls_until_livelock = 2000;
        flag[0] = 0;
        run(config, shape(4, 32, 0), [&] {
            if (thread_index()) return;
            atomic_add_u32(flag.data, 1, ORDER_ACQ_REL, SCOPE_GPU);
            while (ld_flag(flag.data, ORDER_ACQUIRE, SCOPE_GPU) < 4) {}
        });
    });
}
TEST(bug_counter_also_written_plainly) {
    Buffer<uint32_t> counter(1);
    expect_bug("RACE", shape(2, 32, 0), [&] {
        if (thread_index()) return;
        if (block_index())
            atomic_add_u32(counter.data, 1, ORDER_RELAXED, SCOPE_GPU);
        else
            st_global_u32(counter.data, 0);
    });
}
