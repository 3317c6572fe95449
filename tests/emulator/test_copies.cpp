// SPDX-License-Identifier: MIT
//
// Tensor copies: where the bytes of a box go, what lies outside, and how loads and stores order.
#include "device/barrier.cuh"
#include "device/bulk.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "device/swizzle.cuh"
#include "device/tcgen05.cuh"
#include "device/tensormap.cuh"
#include "device/tma.cuh"
#include "one_kernel.h"
#include "tensor_map.h"

using namespace check;

static uint32_t barrier() {
    return shared_base();
}
static uint32_t tile() {
    return shared_base() + 1024;
}

// 20 rows of 64 words; box of 32 words by 8 rows
static dg_tensor_map_t words_map(uint32_t *base, emu::Swizzle swizzle = emu::Swizzle::B128) {
    const uint64_t extents[2] = {64, 20}, strides[1] = {256};
    const uint32_t box[2] = {32, 8};
    return emu::encode_tensor_map(emu::ElementType::F32, 2, base, extents, strides, box, swizzle);
}
static void init() {
    if (thread_index() == 0) {
        mbarrier_init(barrier(), 1);
        fence_mbarrier_init();
    }
    cta_sync();
}
static void number(Buffer<uint32_t> &words) {
    for (size_t i = 0; i < words.count; i++) words[i] = static_cast<uint32_t>(i);
}

static void load_at(const dg_tensor_map_t &map, int x, int y) {
    init();
    if (thread_index() == 0) {
        mbarrier_arrive_expect(barrier(), 1024);
        tma_load_2d(tile(), &map, barrier(), x, y);
    }
    mbarrier_wait(barrier(), 0);
    for (int row = 0; row < 8; row++) {
        const int column = static_cast<int>(lane_index());
        const bool inside = x + column >= 0 && x + column < 64 && y + row >= 0 && y + row < 20;
        const uint32_t offset = static_cast<uint32_t>(row * 128 + column * 4);
        REQUIRE(ld_shared_u32(tile() + swizzle_128(offset)) ==
                (inside ? static_cast<uint32_t>((y + row) * 64 + x + column) : 0));
    }
}
TEST(box_inside_and_across_every_edge) {
    Buffer<uint32_t> words(20 * 64, true);
    number(words);
    const dg_tensor_map_t map = words_map(words.data);
    for (const int x : {0, 4, -4, 40, 64})
        for (const int y : {0, -7, 16, 30})
            expect_right(shape(1, 32, 2048), [&] { load_at(map, x, y); });
}
TEST(bug_box_to_a_misaligned_place) {
    Buffer<uint32_t> words(20 * 64, true);
    const dg_tensor_map_t map = words_map(words.data);
    expect_bug("ALIGN", shape(1, 32, 4096), [&] {
        init();
        tma_load_2d(tile() + 64, &map, barrier(), 0, 0);
    });
}
TEST(bug_box_from_a_misaligned_column) {
    Buffer<uint32_t> words(20 * 64);
    const dg_tensor_map_t map = words_map(words.data);
    expect_bug("ALIGN", shape(1, 32, 4096), [&] { load_at(map, 5, 0); });
    expect_bug("ALIGN", shape(1, 32, 4096), [&] {
        fence_proxy_async();
        tma_store_2d(&map, tile(), -3, 0);
    });
}
TEST(bug_mbarrier_not_visible_to_tma) {
    Buffer<uint32_t> words(20 * 64, true);
    const dg_tensor_map_t map = words_map(words.data);
    expect_bug("PROXY", shape(1, 32, 4096), [&] {
        if (thread_index()) return;
        mbarrier_init(barrier(), 1);
        mbarrier_arrive_expect(barrier(), 1024);
        tma_load_2d(tile(), &map, barrier(), 0, 0);
        mbarrier_wait(barrier(), 0);
    });
}
TEST(bug_not_a_map_of_this_rank) {
    Buffer<uint32_t> words(20 * 64, true);
    const dg_tensor_map_t map = words_map(words.data);
    expect_bug("TENSORMAP", shape(1, 32, 4096), [&] {
        init();
        tma_load_3d(tile(), &map, barrier(), 0, 0, 0);
    });
}
TEST(bug_load_over_data_still_being_read) {
    Buffer<uint32_t> words(20 * 64, true);
    number(words);
    const dg_tensor_map_t map = words_map(words.data);
    expect_bug("RACE|DEADLOCK", shape(1, 64, 4096), [&] {
        init();
        for (uint32_t turn = 0; turn < 2; turn++) {
            if (thread_index() == 0) {
                mbarrier_arrive_expect(barrier(), 1024);
                tma_load_2d(tile(), &map, barrier(), 0, 0);
            }
            mbarrier_wait(barrier(), turn);
            ld_shared_u32(tile() + thread_index() * 4);
        }
    });
}

static void multicast(const dg_tensor_map_t &map, uint16_t ranks, bool ready) {
    init();
    if (ready) cluster_sync();
    if (thread_index() == 0) {
        mbarrier_arrive_expect(barrier(), 2048);
        tma_load_2d_multicast(tile() + cluster_rank() * 1024, &map, barrier(), 0,
            static_cast<int>(cluster_rank()) * 8, ranks);
    }
    mbarrier_wait_cluster(barrier(), 0);
    for (uint32_t row = 0; row < 16; row++)
        REQUIRE(ld_shared_u32(tile() + swizzle_128(row * 128 + lane_index() * 4)) ==
                row * 64 + lane_index());
    cluster_sync();
}
TEST(each_half_reaches_both) {
    Buffer<uint32_t> words(20 * 64, true);
    number(words);
    const dg_tensor_map_t map = words_map(words.data);
    expect_right(shape(4, 32, 4096, 2), [&] { multicast(map, 3, true); });
    expect_bug("DEADLOCK", shape(2, 32, 4096, 2), [&] { multicast(map, 1, true); });
    expect_bug("BOUNDS", shape(2, 32, 4096, 2), [&] { multicast(map, 7, true); });
    expect_bug("RACE|MBAR", shape(2, 32, 4096, 2), [&] { multicast(map, 3, false); });
}

// Both halves of a box of three dimensions reach both CTAs: planes 0, 1 from rank 0, 2, 3 from rank 1.
static void multicast_planes(const dg_tensor_map_t &map, uint16_t ranks) {
    init();
    cluster_sync();
    if (thread_index() == 0) {
        mbarrier_arrive_expect(barrier(), 2048);
        tma_load_3d_multicast(tile() + cluster_rank() * 1024, &map, barrier(), 0, 0,
            static_cast<int>(cluster_rank()) * 2, ranks);
    }
    mbarrier_wait_cluster(barrier(), 0);
    for (uint32_t plane = 0; plane < 4; plane++)
        for (uint32_t row = 0; row < 4; row++)
            REQUIRE(
                ld_shared_u32(tile() + swizzle_128(plane * 512 + row * 128 + lane_index() * 4)) ==
                plane * 128 + row * 32 + lane_index());
    cluster_sync();
}
TEST(planes_reach_both) {
    Buffer<uint32_t> words(4 * 4 * 32, true);
    number(words);
    const uint64_t extents[3] = {32, 4, 4}, strides[2] = {128, 512};
    const uint32_t box[3] = {32, 4, 2};
    const dg_tensor_map_t map = emu::encode_tensor_map(
        emu::ElementType::F32, 3, words.data, extents, strides, box, emu::Swizzle::B128);
    expect_right(shape(2, 32, 4096, 2), [&] { multicast_planes(map, 3); });
    expect_bug("DEADLOCK", shape(2, 32, 4096, 2), [&] { multicast_planes(map, 2); });
}

// Both CTAs of a pair load eight rows each into their own memory; the even one's barrier hears of all.
static void load_as_a_pair(const dg_tensor_map_t &map, uint32_t announced) {
    init();
    cluster_sync();
    if (thread_index() == 0) {
        if (cluster_rank() == 0) mbarrier_arrive_expect(barrier(), announced);
        tma_load_2d_pair(tile(), &map, barrier(), 0, static_cast<int>(cluster_rank()) * 8);
    }
    if (cluster_rank() == 0) mbarrier_wait_cluster(barrier(), 0);
    cluster_sync();
    for (uint32_t row = 0; row < 8; row++)
        REQUIRE(ld_shared_u32(tile() + swizzle_128(row * 128 + lane_index() * 4)) ==
                (cluster_rank() * 8 + row) * 64 + lane_index());
    cluster_sync();
}
TEST(pairs_report_to_the_even_cta) {
    Buffer<uint32_t> words(20 * 64, true);
    number(words);
    const dg_tensor_map_t map = words_map(words.data);
    expect_right(shape(2, 32, 4096, 2), [&] { load_as_a_pair(map, 2048); });
    expect_bug("EXIT|MBAR|RACE|UNINITIALISED|DEADLOCK|CHECK", shape(2, 32, 4096, 2),
        [&] { load_as_a_pair(map, 1024); });
}

// What ordinary stores wrote to global memory, loaded by TMA.
static void store_then_load(
    uint32_t *words, const dg_tensor_map_t &map, bool fence, bool barrier_) {
    init();
    for (uint32_t i = thread_index(); i < 20 * 64; i += 64) st_global_u32(words + i, i);
    if (fence) fence_proxy_async_global();
    if (barrier_) cta_sync();
    if (thread_index() == 0) {
        tensormap_prefetch(&map);
        mbarrier_arrive_expect(barrier(), 1024);
        tma_load_2d(tile(), &map, barrier(), 0, 0);
    }
    mbarrier_wait(barrier(), 0);
    if (fence && barrier_) REQUIRE(ld_shared_u32(tile() + swizzle_128(132)) == 65);
}
TEST(stores_are_loaded_through_a_fence) {
    Buffer<uint32_t> words(20 * 64);
    const dg_tensor_map_t map = words_map(words.data);
    expect_right(shape(1, 64, 4096), [&] { store_then_load(words.data, map, true, true); });
    expect_bug("PROXY", shape(1, 64, 4096), [&] { store_then_load(words.data, map, false, true); });
    expect_bug("RACE", shape(1, 64, 4096), [&] { store_then_load(words.data, map, true, false); });
}

// ---- stores

static void store_at(const dg_tensor_map_t &map, int x, int y, bool fence, bool add) {
    for (uint32_t row = 0; row < 8; row++) {
        const float value = static_cast<float>(row * 32 + lane_index());
        st_shared_f32(tile() + swizzle_128(row * 128 + lane_index() * 4), value);
    }
    if (fence) fence_proxy_async();
    warp_sync();
    if (thread_index() == 0) {
        if (add)
            tma_reduce_add_2d(&map, tile(), x, y);
        else
            tma_store_2d(&map, tile(), x, y);
        bulk_commit();
        bulk_wait_read<0>();
    }
}
TEST(store_and_add_clip_at_every_edge) {
    Buffer<float> out(20 * 64);
    const dg_tensor_map_t map = words_map(reinterpret_cast<uint32_t *>(out.data));
    for (const bool add : {false, true})
        for (const int x : {0, 4, 40, 64})
            for (const int y : {0, 16, 20})
                for (const emu::Config &config : schedules()) {
                    for (size_t i = 0; i < out.count; i++) out[i] = -1.f;
                    run(config, shape(1, 32, 2048), [&] { store_at(map, x, y, true, add); });
                    for (int r = 0; r < 20; r++)
                        for (int c = 0; c < 64; c++) {
                            const bool inside = c >= x && c < x + 32 && r >= y && r < y + 8;
                            const float value =
                                static_cast<float>((r - y) * 32 + c - x) - (add ? 1.f : 0.f);
                            REQUIRE(
                                out[static_cast<size_t>(r * 64 + c)] == (inside ? value : -1.f));
                        }
                }
}
TEST(bug_store_before_the_start) {
    Buffer<uint32_t> out(20 * 64);
    const dg_tensor_map_t map = words_map(out.data);
    expect_bug("TRAP", shape(1, 32, 2048), [&] { store_at(map, -4, 0, true, false); });
    expect_bug("TRAP", shape(1, 32, 2048), [&] { store_at(map, 0, -7, true, true); });
}
// 61 words wide: a row ends inside a piece of 16 bytes, and what lies behind it is written too.
TEST(bug_store_that_ends_inside_a_piece) {
    Buffer<uint32_t> out(7 * 64 + 61); // the last of 8 rows is not padded
    const uint64_t extents[2] = {61, 8}, strides[1] = {256};
    const uint32_t box[2] = {32, 8};
    const dg_tensor_map_t map = emu::encode_tensor_map(
        emu::ElementType::F32, 2, out.data, extents, strides, box, emu::Swizzle::B128);
    expect_bug("BOUNDS", shape(1, 32, 2048), [&] { store_at(map, 32, 0, true, false); });
}
TEST(bug_store_without_proxy_fence) {
    Buffer<uint32_t> out(20 * 64);
    const dg_tensor_map_t map = words_map(out.data);
    expect_bug("PROXY", shape(1, 32, 2048), [&] { store_at(map, 0, 0, false, false); });
}
TEST(bug_two_ctas_store_one_tile) {
    Buffer<uint32_t> out(20 * 64);
    const dg_tensor_map_t map = words_map(out.data);
    expect_bug("RACE", shape(2, 32, 2048), [&] { store_at(map, 0, 0, true, false); });
}
TEST(three_dimensions) {
    Buffer<uint32_t> words(6 * 5 * 16), out(6 * 5 * 16);
    number(words);
    const uint64_t extents[3] = {16, 5, 6}, strides[2] = {64, 320};
    const uint32_t box[3] = {16, 2, 3};
    const dg_tensor_map_t from = emu::encode_tensor_map(
        emu::ElementType::F32, 3, words.data, extents, strides, box, emu::Swizzle::B64);
    const dg_tensor_map_t to = emu::encode_tensor_map(
        emu::ElementType::F32, 3, out.data, extents, strides, box, emu::Swizzle::B64);
    expect_right(
        shape(1, 32, 2048),
        [&] {
            init();
            if (thread_index()) return;
            mbarrier_arrive_expect(barrier(), 384);
            tma_load_3d(tile(), &from, barrier(), 0, 4, 2);
            mbarrier_wait(barrier(), 0);
            tma_store_3d(&to, tile(), 0, 1, 3);
            bulk_commit();
            bulk_wait<0>();
        },
        [&] {
            REQUIRE(out[3 * 80 + 16] == 2 * 80 + 64); // row 4 of plane 2 lands in row 1 of plane 3
            REQUIRE(out[3 * 80 + 32] == 0);           // the row past the end came as zeros
            REQUIRE(out[0] == 0xffffffffu);
        });
}
