// SPDX-License-Identifier: MIT
//
// cp.async: sizes, zero fill, groups, the arrival at an mbarrier, and who may touch the bytes when.
#include "device/barrier.cuh"
#include "device/bulk.cuh"
#include "device/copy_async.cuh"
#include "device/fence.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "one_kernel.h"

using namespace check;

static void number(Buffer<uint32_t> &words) {
    for (size_t i = 0; i < words.count; i++) words[i] = static_cast<uint32_t>(i * 2654435761u);
}

// Each lane brings `bytes` bytes, of which lane % (bytes + 1) are valid, and looks at its own.
template <int BYTES> static void copy_own(const Buffer<uint32_t> &words) {
    const uint32_t lane = lane_index(), valid = lane % (BYTES + 1);
    const uint32_t place = shared_base() + lane * BYTES;
    const uint8_t *bytes = reinterpret_cast<const uint8_t *>(words.data) + lane * BYTES;
    copy_async<BYTES>(place, bytes, valid);
    copy_async_commit();
    copy_async_wait<0>();
    for (uint32_t w = 0; w < BYTES / 4; w++) {
        uint32_t expected = 0;
        for (uint32_t i = 0; i < 4; i++)
            if (w * 4 + i < valid) expected |= static_cast<uint32_t>(bytes[w * 4 + i]) << 8 * i;
        REQUIRE(ld_shared_u32(place + w * 4) == expected);
    }
}
TEST(copies_of_each_size_filled_with_zeros) {
    Buffer<uint32_t> words(128, true);
    number(words);
    expect_right(shape(1, 32, 512), [&] { copy_own<4>(words); });
    expect_right(shape(1, 32, 512), [&] { copy_own<8>(words); });
    expect_right(shape(1, 32, 512), [&] { copy_own<16>(words); });
}
TEST(nothing_is_read_if_nothing_is_valid) {
    Buffer<uint32_t> words(4, true);
    expect_right(shape(1, 32, 512), [&] {
        copy_async<16>(shared_base() + lane_index() * 16, words.data + 4096, 0);
        copy_async_commit();
        copy_async_wait<0>();
        REQUIRE(ld_shared_u32(shared_base() + lane_index() * 16) == 0);
    });
}

// Two groups; the wait lets the younger one run on.
static void two_groups(const Buffer<uint32_t> &words, uint32_t looked_at, bool waits_for_all) {
    const uint32_t place = shared_base() + lane_index() * 16;
    for (uint32_t g = 0; g < 2; g++) {
        copy_async<16>(place + g * 512, words.data + g * 128 + lane_index() * 4, 16);
        copy_async_commit();
    }
    if (waits_for_all)
        copy_async_wait<0>();
    else
        copy_async_wait<1>();
    REQUIRE(
        ld_shared_u32(place + looked_at * 512) == words.data[looked_at * 128 + lane_index() * 4]);
    copy_async_wait<0>();
}
TEST(groups_end_in_order) {
    Buffer<uint32_t> words(256, true);
    number(words);
    expect_right(shape(1, 32, 1024), [&] { two_groups(words, 0, false); });
    expect_right(shape(1, 32, 1024), [&] { two_groups(words, 1, true); });
}
TEST(bug_copy_read_before_its_group_is_waited_for) {
    Buffer<uint32_t> words(256, true);
    number(words);
    expect_bug("RACE", shape(1, 32, 1024), [&] { two_groups(words, 1, false); });
}

// Lane l reads what its neighbour brought.
static void neighbours(const Buffer<uint32_t> &words, bool syncs) {
    const uint32_t lane = lane_index(), next = (lane + 1) % 32;
    copy_async<4>(shared_base() + lane * 4, words.data + lane, 4);
    copy_async_commit();
    copy_async_wait<0>();
    if (syncs) warp_sync();
    REQUIRE(ld_shared_u32(shared_base() + next * 4) == words.data[next]);
}
TEST(a_barrier_passes_copies_on) {
    Buffer<uint32_t> words(32, true);
    number(words);
    expect_right(shape(1, 32, 128), [&] { neighbours(words, true); });
}
TEST(bug_copy_of_another_lane_read_without_barrier) {
    Buffer<uint32_t> words(32, true);
    number(words);
    expect_bug("RACE|UNINITIALISED", shape(1, 32, 128), [&] { neighbours(words, false); });
}

// Warp 0 copies and signals a barrier, warp 1 reads.
static void signalled(const Buffer<uint32_t> &words, bool waits, bool own_wait) {
    const uint32_t barrier = shared_base(), place = shared_base() + 128 + lane_index() * 16;
    if (thread_index() == 0) mbarrier_init(barrier, 32);
    cta_sync();
    if (warp_index() == 0) {
        for (uint32_t round = 0; round < 2; round++)
            copy_async<8>(place + round * 8, words.data + lane_index() * 4 + round * 2, 8);
        copy_async_arrive(barrier);
        if (own_wait) {
            copy_async_commit();
            copy_async_wait<0>();
        }
    } else {
        if (waits) mbarrier_wait(barrier, 0);
        for (uint32_t i = 0; i < 4; i++)
            REQUIRE(ld_shared_u32(place + i * 4) == words.data[lane_index() * 4 + i]);
    }
    cta_sync();
    mbarrier_wait(barrier, 0);
}
TEST(arrival_follows_the_copies) {
    Buffer<uint32_t> words(128, true);
    number(words);
    expect_right(shape(1, 64, 1024), [&] { signalled(words, true, false); });
    expect_right(shape(1, 64, 1024), [&] { signalled(words, true, true); });
}
TEST(bug_signal_of_copies_not_waited_for) {
    Buffer<uint32_t> words(128, true);
    number(words);
    expect_bug(
        "RACE|UNINITIALISED|CHECK", shape(1, 64, 1024), [&] { signalled(words, false, false); });
}

// TMA reads what cp.async brought.
static void store_what_was_copied(
    const Buffer<uint32_t> &words, const Buffer<uint32_t> &out, bool fences) {
    copy_async<4>(shared_base() + lane_index() * 4, words.data + lane_index(), 4);
    copy_async_commit();
    copy_async_wait<0>();
    if (fences) fence_proxy_async();
    warp_sync();
    if (lane_index() != 0) return;
    bulk_store(out.data, shared_base(), 128);
    bulk_commit();
    bulk_wait<0>();
}
TEST(copies_reach_bulk_stores_through_a_fence) {
    Buffer<uint32_t> words(32, true), out(32);
    number(words);
    expect_right(
        shape(1, 32, 128), [&] { store_what_was_copied(words, out, true); },
        [&] { REQUIRE(memcmp(out.data, words.data, 128) == 0); });
}
TEST(bug_no_proxy_fence_after_copies) {
    Buffer<uint32_t> words(32, true), out(32);
    expect_bug("PROXY", shape(1, 32, 128), [&] { store_what_was_copied(words, out, false); });
}

TEST(bug_copy_never_waited_for) {
    Buffer<uint32_t> words(32, true);
    expect_bug("EXIT", shape(1, 32, 128),
        [&] { copy_async<4>(shared_base() + lane_index() * 4, words.data + lane_index(), 4); });
}
TEST(bug_copy_from_or_to_a_misaligned_place) {
    Buffer<uint32_t> words(128, true);
    expect_bug("ALIGN", shape(1, 32, 1024), [&] {
        copy_async<16>(shared_base() + lane_index() * 16, words.data + lane_index() * 4 + 1, 16);
    });
    expect_bug("ALIGN", shape(1, 32, 1024),
        [&] { copy_async<16>(shared_base() + lane_index() * 16 + 8, words.data, 16); });
}
TEST(bug_copy_beyond_the_buffer) {
    Buffer<uint32_t> words(32, true);
    expect_bug("BOUNDS", shape(1, 32, 1024), [&] {
        copy_async<16>(shared_base() + lane_index() * 16, words.data + 32 + lane_index() * 4, 16);
    });
}
