// SPDX-License-Identifier: MIT
//
// The rules for making a map, and maps edited by a kernel.
#include "device/barrier.cuh"
#include "device/fence.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "device/tensormap.cuh"
#include "device/tma.cuh"
#include "one_kernel.h"
#include "tensor_map.h"

using namespace check;

static dg_tensor_map_t encode(void *base, uint64_t inner, uint64_t outer, uint64_t pitch,
    uint32_t box_inner, uint32_t box_outer, emu::Swizzle swizzle) {
    const uint64_t extents[2] = {inner, outer}, strides[1] = {pitch};
    const uint32_t box[2] = {box_inner, box_outer};
    return emu::encode_tensor_map(emu::ElementType::F32, 2, base, extents, strides, box, swizzle);
}

TEST(rules_of_encoding) {
    Buffer<uint32_t> b(1024);
    auto refused = [&](void *base, uint64_t inner, uint64_t outer, uint64_t pitch, uint32_t box0,
                       uint32_t box1, emu::Swizzle swizzle) {
        return fault_of([&] { encode(base, inner, outer, pitch, box0, box1, swizzle); }) ==
               "TENSORMAP";
    };
    const auto none = emu::Swizzle::None, b128 = emu::Swizzle::B128;
    REQUIRE(!refused(b.data, 32, 32, 128, 32, 8, b128));
    REQUIRE(refused(b.data + 1, 32, 8, 128, 32, 8, none)); // address
    REQUIRE(refused(b.data, 32, 8, 132, 32, 8, none));     // stride
    REQUIRE(refused(b.data, 32, 8, 128, 257, 8, none));    // box
    REQUIRE(refused(b.data, 32, 8, 128, 3, 8, none));      // inner box of 12 bytes
    REQUIRE(refused(b.data, 64, 8, 256, 64, 8, b128));     // beyond the span
    REQUIRE(refused(b.data, 0, 8, 128, 32, 8, none));      // extent
    REQUIRE(refused(b.data, 32, 33, 128, 32, 8, none));    // reaches past its buffer
}

// One warp edits a copy of a map, publishes it, and loads the last row with it; twice, with one map or
// two.
struct Edit {
    bool acquire = true, sync_before_publish = true, wait_before_next = true;
    uint32_t maps = 1;
};
static void edit_and_load(
    const dg_tensor_map_t &map, dg_tensor_map_t *ring, uint32_t *words, const Edit &e) {
    const uint32_t barrier = shared_base(), copy = shared_base() + 128, data = shared_base() + 256;
    if (thread_index() == 0) {
        mbarrier_init(barrier, 1);
        fence_mbarrier_init();
    }
    st_shared_u32(copy + lane_index() * 4,
        static_cast<uint32_t>(map.opaque[lane_index() / 2] >> 32 * (lane_index() & 1)));
    warp_sync();
    for (uint32_t turn = 0; turn < 2; turn++) {
        dg_tensor_map_t *mine = ring + turn % e.maps;
        const uint32_t slot = data + turn * 128;
        if (thread_index() == 0) {
            tensormap_set_address(copy, words + turn * 100);
            tensormap_set_extent<0>(copy, 20);
            tensormap_set_extent<1>(copy, 1 + turn);
            tensormap_set_stride<1>(copy, 192);
        }
        if (e.sync_before_publish) warp_sync();
        tensormap_publish(mine, copy);
        if (thread_index() == 0) {
            if (e.acquire || turn == 0) tensormap_acquire(mine);
            mbarrier_arrive_expect(barrier, 128);
            tma_load_2d(slot, mine, barrier, 0, static_cast<int>(turn));
            if (e.wait_before_next) mbarrier_wait(barrier, turn);
        }
        warp_sync();
        if (!e.wait_before_next) continue;
        const uint32_t got = ld_shared_u32(slot + lane_index() * 4);
        REQUIRE(got == (lane_index() < 20 ? turn * (100 + 192 / 4) + lane_index() : 0));
    }
    if (!e.wait_before_next) mbarrier_wait(barrier, 1);
}
static void try_edit(const char *kinds, void (*change)(Edit &)) {
    Buffer<uint32_t> words(512);
    Buffer<dg_tensor_map_t> ring(2);
    Edit e;
    change(e);
    for (size_t i = 0; i < 512; i++) words[i] = static_cast<uint32_t>(i);
    const dg_tensor_map_t map = encode(words.data, 32, 4, 128, 32, 1, emu::Swizzle::None);
    const std::function<void()> kernel = [&] { edit_and_load(map, ring.data, words.data, e); };
    if (*kinds)
        expect_bug(kinds, shape(1, 32, 512), kernel);
    else
        expect_right(shape(1, 32, 512), kernel);
}
TEST(edited_map_is_used) {
    try_edit("", [](Edit &) {});
}
TEST(two_maps_in_turn) {
    try_edit("", [](Edit &e) { e.maps = 2; });
}
TEST(bug_map_not_acquired) {
    try_edit("TENSORMAP", [](Edit &e) { e.acquire = false; });
}
TEST(bug_map_published_before_the_edit_is_visible) {
    try_edit("RACE", [](Edit &e) { e.sync_before_publish = false; });
}
TEST(bug_map_published_over_while_a_copy_uses_it) {
    try_edit("RACE", [](Edit &e) { e.wait_before_next = false; });
}
TEST(bug_editing_what_is_no_map) {
    expect_bug("TENSORMAP", shape(1, 32, 512), [] {
        const uint32_t copy = shared_base() + 128;
        st_shared_u32(copy + lane_index() * 4, 0);
        warp_sync();
        if (lane_index() == 0) tensormap_set_extent<0>(copy, 8);
    });
}
