/* SPDX-License-Identifier: MIT
 *
 * Uses every primitive once, so that a compiler and ptxas see all of their text. Built for sm_90a
 * by the tests of kernels/CMakeLists.txt with nvcc and NVRTC; never run. */
#include "device/arithmetic.cuh"
#include "device/barrier.cuh"
#include "device/bulk.cuh"
#include "device/bytes.cuh"
#include "device/convert.cuh"
#include "device/copy_async.cuh"
#include "device/descriptor.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/matrix.cuh"
#include "device/mbarrier.cuh"
#include "device/relu.cuh"
#include "device/shared.cuh"
#include "device/swizzle.cuh"
#include "device/tensormap.cuh"
#include "device/tma.cuh"
#include "device/warp.cuh"

KERNEL(128)
use_memory(
    KERNEL_PARAMETER dg_tensor_map_t map, dg_tensor_map_t *ring, uint32_t *flags, float *out) {
    const uint32_t base = shared_base(), lane = lane_index();
    uint32_t v[4], sum = 0;
    mbarrier_init(base, 1);
    fence_mbarrier_init();
    cluster_sync();
    tensormap_prefetch(&map);
    if (elect_one()) {
        mbarrier_arrive_expect(base, 1024);
        mbarrier_expect(base, 16);
        tma_load_2d(base + 1024, &map, base, 0, 0);
        tma_load_3d(base + 1024, &map, base, 0, 0, 0);
        tma_load_2d_multicast(base + 1024, &map, base, 0, 0, 3);
        tma_load_3d_multicast(base + 1024, &map, base, 0, 0, 0, 3);
        bulk_load(base + 1024, out, 16, base);
        tma_store_2d(&map, base + 1024, 0, 0);
        tma_store_3d(&map, base + 1024, 0, 0, 0);
        tma_reduce_add_2d(&map, base + 1024, 0, 0);
        bulk_store(out, base + 1024, 16);
        bulk_reduce_add_f32(out, base + 1024, 16);
        bulk_commit();
        bulk_wait_read<0>();
        bulk_wait<0>();
        bulk_copy_peer(peer_address(base + 2048, 1), base + 1024, 16, peer_address(base, 1));
        st_async_u32(peer_address(base + 2048, 1), 1, peer_address(base, 1));
        st_peer_u32(peer_address(base + 2048, 1), ld_peer_u32(peer_address(base + 2048, 1)));
        mbarrier_arrive(base);
        mbarrier_arrive_peer(base, 1);
        mbarrier_arrive_peer_release(base, 1);
        ld_peer_x4(v, peer_address(base + 2048, 1));
    }
    copy_async<16>(base + 1024, out, 16);
    copy_async<8>(base + 1024, out, lane);
    copy_async<4>(base + 1024, out, 0);
    copy_async_commit();
    copy_async_wait<1>();
    copy_async_arrive(base);
    if (!mbarrier_test(base, 0)) mbarrier_wait(base, 0);
    mbarrier_wait_cluster(base, 0);
    mbarrier_invalidate(base);
    tensormap_set_address(base + 4096, out);
    tensormap_set_extent<0>(base + 4096, 64);
    tensormap_set_stride<1>(base + 4096, 64);
    tensormap_publish(ring, base + 4096);
    tensormap_acquire(ring);
    ld_shared_x4(v, base + lane * 16);
    st_shared_x4(base + lane * 16, v);
    float pair[2];
    ld_shared_f32x2(pair, base + lane * 8);
    v[0] = permute_bytes(v[0], v[1], 0x6420);
    pin_u32_array(v, 4);
    st_shared_f32(base + 4, pair[0] + pair[1]);
    st_shared_f32(base, ld_shared_f32(base + 4));
    st_shared_x2(base + 8, v[0], v[1]);
    st_shared_u32(base, ld_shared_u32(base + 8));
    fence_proxy_async();
    fence_proxy_async_global();
    sum += ld_flag(flags, ORDER_RELAXED, SCOPE_CTA) + ld_flag(flags, ORDER_ACQUIRE, SCOPE_GPU);
    st_flag(flags, 1, ORDER_RELEASE, SCOPE_GPU);
    st_flag(flags, 1, ORDER_RELAXED, SCOPE_SYS);
    sum += atomic_add_u32(flags, 1, ORDER_RELAXED, SCOPE_GPU);
    sum += atomic_add_u32(flags, 1, ORDER_ACQ_REL, SCOPE_GPU);
    sum += atomic_add_u32(flags, 1, ORDER_ACQUIRE, SCOPE_CTA);
    sum += atomic_add_u32(flags, 1, ORDER_RELEASE, SCOPE_SYS);
    fence_acq_rel(SCOPE_CTA);
    fence_acq_rel(SCOPE_GPU);
    fence_acq_rel(SCOPE_SYS);
    ld_global_x4(v, out);
    ld_global_x2(v + 1, out);
    prefetch_global(out);
    sum += ld_global_u16(out) + (uint32_t)ld_global_u64(out);
    st_global_x4(out + 4, v);
    ld_global_x2(v, out + 8);
    st_global_x2(out + 10, v);
    st_global_u64(out + 12, ld_global_u64(out + 14) + ld_global_u8(out) + ld_global_u16(out));
    st_global_u32(out, sum + ld_global_u32(out) + (uint32_t)clock_cycles());
    st_global_u16(out + 9, (uint16_t)sum);
    st_global_f32((float *)out + 9, multiply((float)count_bits(sum), 3.0f));
    st_global_u8(out + 10, max_u16x2(sum, 7) + encode_e4m3x2(fused_multiply_add(1, 2, 3), 1));
    st_global_f32(out + 1, ld_global_f32(out) + ld_constant_f32(out + 7));
    dependency_wait();
    dependents_launch();
    if (block_index() > block_count() || thread_index() > 4096 || cluster_rank() > 16) trap();
}

KERNEL(256) use_warp(float *out) {
    const uint32_t base = shared_base(), lane = lane_index(), row = base + lane * 16;
    uint32_t a[4] = {lane, 1, 2, 3}, b[2] = {4, 5};
    float d[4] = {0, 1, 2, 3};
    if (warp_index() < 4)
        setmaxnreg_dec<40>();
    else
        setmaxnreg_inc<232>();
    stmatrix_x4(row, a);
    stmatrix_x4_trans(row, a);
    stmatrix_x2(row, a);
    stmatrix_x2_trans(row, a);
    warp_sync();
    ldmatrix_x4(a, row);
    ldmatrix_x2(b, row);
    mma_bf16_m16n8k16(d, a, b);
    ldmatrix_x4_trans(a, row);
    ldmatrix_x2_trans(b, row);
    mma_e4m3_m16n8k32(d, a, b);
    mma_tf32_m16n8k8(d, a, b);
    mma_f16_m16n8k16(d, a, b);
    bar_arrive(1, 256);
    bar_sync(2, 256);
    cta_sync();
    const uint32_t s = shuffle_u32(a[0], 3) + shuffle_xor_u32(a[1], 1) + warp_ballot(lane > 3);
    const float f = shuffle_f32(d[0], 3) + shuffle_xor_f32(d[1], 1) + f32_from_bits(s);
    pin_f32(d[2]);
    pin_f32_array(d, 4);
    a[0] = choose_bytes(a[0], a[1], 0x7213) + f16x2_from_e4m3x2(a[2]);
    const uint32_t packed =
        a[0] + pack_bf16(d[2], d[3]) + pack_e4m3(f, d[3]) + bits_from_f32(relu_f32(f));
    st_global_u32(
        out + thread_index(), packed + swizzle_128(lane) + swizzle_64(lane) + swizzle_32(lane) +
                                  (uint32_t)make_descriptor_k128(base) +
                                  (uint32_t)make_descriptor(base, 16, 512, DESCRIPTOR_SWIZZLE_64));
}
