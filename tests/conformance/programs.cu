/* SPDX-License-Identifier: MIT
 *
 * Small kernels that show what a primitive does to memory and registers. Each ends by writing words
 * to args.output. Built by nvcc for the GPU and by a C++ compiler for the emulator; cases.c says
 * with which parameters each runs. Inputs to products are small integers, so every sum is exact. */
#include "args.h"
#include "device/barrier.cuh"
#include "device/bulk.cuh"
#include "device/convert.cuh"
#include "device/descriptor.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/matrix.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "device/tensormap.cuh"
#include "device/tma.cuh"
#include "device/warp.cuh"
#include "device/wgmma.cuh"

#define DATA (shared_base() + 1024) /* barriers lie below */
#define BARRIER (shared_base())

/* Shared memory <- input, then visible to TMA and wgmma. */
DEVICE void fill_shared(const conform_args_t *args, uint32_t words) {
    for (uint32_t i = thread_index(); i < words; i += 128)
        st_shared_u32(DATA + i * 4, ld_global_u32(args->input + i));
    fence_proxy_async();
    cta_sync();
}

DEVICE void dump_shared(uint32_t *output, uint32_t words) {
    for (uint32_t i = thread_index(); i < words; i += 128)
        st_global_u32(output + i, ld_shared_u32(DATA + i * 4));
}

DEVICE void init_barrier(void) {
    if (thread_index() == 0) {
        mbarrier_init(BARRIER, 1);
        fence_mbarrier_init();
    }
    cta_sync();
}

/* ---- copies. p: x, y, z, words of the box */

KERNEL(128) load_2d(KERNEL_PARAMETER conform_args_t args) {
    init_barrier();
    if (thread_index() == 0) {
        mbarrier_arrive_expect(BARRIER, (uint32_t)args.p[3] * 4);
        tma_load_2d(DATA, &args.in, BARRIER, args.p[0], args.p[1]);
    }
    mbarrier_wait(BARRIER, 0);
    dump_shared(args.output, (uint32_t)args.p[3]);
}

KERNEL(128) load_3d(KERNEL_PARAMETER conform_args_t args) {
    init_barrier();
    if (thread_index() == 0) {
        mbarrier_arrive_expect(BARRIER, (uint32_t)args.p[3] * 4);
        tma_load_3d(DATA, &args.in, BARRIER, args.p[0], args.p[1], args.p[2]);
    }
    mbarrier_wait(BARRIER, 0);
    dump_shared(args.output, (uint32_t)args.p[3]);
}

/* Each CTA of a pair loads half of the box into both. */
KERNEL(128) load_multicast(KERNEL_PARAMETER conform_args_t args) {
    const uint32_t words = (uint32_t)args.p[3], rank = cluster_rank();
    init_barrier();
    cluster_sync();
    if (thread_index() == 0) {
        mbarrier_arrive_expect(BARRIER, words * 8);
        tma_load_2d_multicast(
            DATA + rank * words * 4, &args.in, BARRIER, args.p[0], args.p[1] + (int)rank * 16, 3);
    }
    mbarrier_wait_cluster(BARRIER, 0);
    dump_shared(args.output + rank * words * 2, words * 2);
    cluster_sync();
}

KERNEL(128) store_2d(KERNEL_PARAMETER conform_args_t args) {
    fill_shared(&args, (uint32_t)args.p[3]);
    if (thread_index() == 0) {
        tma_store_2d(&args.out, DATA, args.p[0], args.p[1]);
        bulk_commit();
        bulk_wait<0>();
    }
}

KERNEL(128) reduce_add_2d(KERNEL_PARAMETER conform_args_t args) {
    fill_shared(&args, (uint32_t)args.p[3]);
    if (thread_index() == 0) {
        for (int i = 0; i < 2; i++) {
            tma_reduce_add_2d(&args.out, DATA, args.p[0], args.p[1]);
            bulk_commit();
            bulk_wait<0>();
        }
    }
}

/* global -> shared -> global, then added once more */
KERNEL(128) bulk_round_trip(KERNEL_PARAMETER conform_args_t args) {
    const uint32_t words = (uint32_t)args.p[3];
    init_barrier();
    if (thread_index() == 0) {
        mbarrier_arrive_expect(BARRIER, words * 4);
        bulk_load(DATA, args.input, words * 4, BARRIER);
        mbarrier_wait(BARRIER, 0);
        bulk_store(args.output, DATA, words * 4);
        bulk_commit();
        bulk_wait<0>();
        bulk_reduce_add_f32((float *)args.output, DATA, words * 4 / 2);
        bulk_commit();
        bulk_wait<0>();
    }
}

/* Rank 0 sends its memory to rank 1, as one bulk copy, as asynchronous words, and as plain stores.
 * */
KERNEL(128) send_to_peer(KERNEL_PARAMETER conform_args_t args) {
    const uint32_t there = peer_address(DATA, 1), barrier = peer_address(BARRIER, 1);
    init_barrier();
    if (cluster_rank() == 1 && thread_index() == 0) mbarrier_arrive_expect(BARRIER, 1024 + 128 * 4);
    cluster_sync();
    if (cluster_rank() == 0) {
        fill_shared(&args, 256);
        if (thread_index() == 0) bulk_copy_peer(there, DATA, 1024, barrier);
        st_async_u32(there + 1024 + thread_index() * 4, thread_index() * 3, barrier);
        st_peer_u32(there + 1536 + thread_index() * 4, thread_index() * 5);
    } else {
        mbarrier_wait_cluster(BARRIER, 0);
    }
    cluster_sync();
    if (cluster_rank() == 1) {
        dump_shared(args.output, 512);
        st_global_u32(args.output + 512 + thread_index(),
            ld_peer_u32(peer_address(DATA + thread_index() * 4, 0)));
    }
    cluster_sync();
}

/* A map whose address, extents and stride the program replaces: `p[4]` bytes further, 24 x 5 of it.
 * */
KERNEL(128) edit_map(KERNEL_PARAMETER conform_args_t args) {
    const uint32_t words = (uint32_t)args.p[3], copy = shared_base() + 256;
    init_barrier();
    if (thread_index() < 32) {
        st_shared_u32(copy + thread_index() * 4,
            (uint32_t)(args.in.opaque[thread_index() / 2] >> (32 * (thread_index() & 1))));
        warp_sync();
        if (thread_index() == 0) {
            tensormap_set_address(copy, (const uint8_t *)args.input + args.p[4]);
            tensormap_set_extent<0>(copy, 24);
            tensormap_set_extent<1>(copy, 5);
            tensormap_set_stride<1>(copy, 96);
        }
        warp_sync();
        tensormap_publish(args.ring, copy);
        if (thread_index() == 0) {
            tensormap_acquire(args.ring);
            mbarrier_arrive_expect(BARRIER, words * 4);
            tma_load_2d(DATA, args.ring, BARRIER, args.p[0], args.p[1]);
        }
    }
    mbarrier_wait(BARRIER, 0);
    dump_shared(args.output, words);
}

/* ---- one warp: matrices */

DEVICE uint32_t row_of_lane(void) {
    return DATA + lane_index() * 16;
}

KERNEL(128) load_matrix(KERNEL_PARAMETER conform_args_t args) {
    uint32_t v[4] = {0, 0, 0, 0};
    fill_shared(&args, 1024);
    if (warp_index() > 0) return;
    if (args.p[0] == 0) ldmatrix_x4(v, row_of_lane());
    if (args.p[0] == 1) ldmatrix_x4_trans(v, row_of_lane());
    if (args.p[0] == 2) ldmatrix_x2(v, row_of_lane());
    if (args.p[0] == 3) ldmatrix_x2_trans(v, row_of_lane());
    for (uint32_t i = 0; i < 4; i++) st_global_u32(args.output + lane_index() * 4 + i, v[i]);
}

KERNEL(128) store_matrix(KERNEL_PARAMETER conform_args_t args) {
    uint32_t v[4];
    fill_shared(&args, 1024);
    if (warp_index() == 0) {
        for (uint32_t i = 0; i < 4; i++) v[i] = lane_index() << 16 | i << 8 | 0x80000001u;
        if (args.p[0] == 0) stmatrix_x4(row_of_lane(), v);
        if (args.p[0] == 1) stmatrix_x4_trans(row_of_lane(), v);
        if (args.p[0] == 2) stmatrix_x2(row_of_lane(), v);
        if (args.p[0] == 3) stmatrix_x2_trans(row_of_lane(), v);
    }
    cta_sync();
    dump_shared(args.output, 256);
}

KERNEL(128) warp_product(KERNEL_PARAMETER conform_args_t args) {
    if (warp_index() > 0) return;
    const uint32_t *input = args.input + lane_index() * 8;
    uint32_t a[4], b[2];
    float d[4] = {1.f, 2.f, 3.f, 4.f};
    for (uint32_t i = 0; i < 4; i++) a[i] = ld_global_u32(input + i);
    for (uint32_t i = 0; i < 2; i++) b[i] = ld_global_u32(input + 4 + i);
    if (args.p[0] == 0) mma_bf16_m16n8k16(d, a, b);
    if (args.p[0] == 1) mma_e4m3_m16n8k32(d, a, b);
    if (args.p[0] == 2) mma_tf32_m16n8k8(d, a, b);
    for (uint32_t i = 0; i < 4; i++)
        st_global_u32(args.output + lane_index() * 4 + i, bits_from_f32(d[i]));
}

KERNEL(128) warp_words(KERNEL_PARAMETER conform_args_t args) {
    if (warp_index() > 0) return;
    const uint32_t lane = lane_index(), votes = warp_ballot((lane * 7 & 4) != 0);
    uint32_t *out = args.output + lane * 8;
    const uint32_t elected = warp_ballot(elect_one());
    st_global_u32(out, shuffle_u32(lane * 3, lane * 5 & 31));
    st_global_u32(out + 1, shuffle_xor_u32(lane * 3, 9));
    st_global_u32(out + 2, bits_from_f32(shuffle_f32((float)lane, 31 - lane)));
    st_global_u32(out + 3, bits_from_f32(shuffle_xor_f32((float)lane, 16)));
    st_global_u32(out + 4, votes);
    st_global_u32(out + 5, elected && !(elected & (elected - 1)));
    st_global_u32(out + 6, lane_index());
    st_global_u32(out + 7, block_count());
}

KERNEL(128) convert(KERNEL_PARAMETER conform_args_t args) {
    for (uint32_t i = thread_index(); i < 512; i += 128) {
        const float x = f32_from_bits(ld_global_u32(args.input + 2 * i));
        const float y = f32_from_bits(ld_global_u32(args.input + 2 * i + 1));
        st_global_u32(args.output + 2 * i, pack_bf16(x, y));
        st_global_u32(args.output + 2 * i + 1, pack_e4m3(x, y));
    }
}

/* ---- what a barrier answers after each step; one thread */

#define SPARE_BARRIER (BARRIER + 8)
/* The fence is there because the answer is asynchronous: without it, a look that had to wait was seen
 * to answer for the barrier as the next lines left it. */
#define LOOK                                                                                       \
    st_global_u32(args.output + step++,                                                            \
        (mbarrier_test(BARRIER, 0) ? 1u : 0u) | (mbarrier_test(BARRIER, 1) ? 2u : 0u));            \
    fence_acq_rel(SCOPE_GPU)

KERNEL(128) barrier_steps(KERNEL_PARAMETER conform_args_t args) {
    uint32_t step = 0;
    if (thread_index() > 0) return;
    mbarrier_init(BARRIER, 2);
    fence_mbarrier_init();
    LOOK; /* nothing over but the phase before the first */
    mbarrier_arrive(BARRIER);
    LOOK; /* one of two */
    mbarrier_arrive(BARRIER);
    LOOK; /* phase 0 over */
    mbarrier_expect(BARRIER, 64);
    mbarrier_arrive(BARRIER);
    mbarrier_arrive(BARRIER);
    LOOK; /* all arrived, 64 bytes missing */
    bulk_load(DATA, args.input, 64, BARRIER);
    mbarrier_wait(BARRIER, 1);
    LOOK; /* phase 1 over */
    mbarrier_arrive(BARRIER);
    LOOK;
    mbarrier_arrive_expect(BARRIER, 32);
    bulk_load(DATA, args.input, 32, BARRIER);
    mbarrier_wait(BARRIER, 0);
    LOOK; /* phase 2 over */
    mbarrier_invalidate(BARRIER);
    mbarrier_init(BARRIER, 1);
    fence_mbarrier_init();
    LOOK; /* fresh again */
    mbarrier_arrive(BARRIER);
    LOOK;
}

/* Bytes that land before they are announced. Looking at a barrier that stays as it is passes time. */
KERNEL(128) barrier_early_bytes(KERNEL_PARAMETER conform_args_t args) {
    uint32_t step = 0;
    if (thread_index() > 0) return;
    mbarrier_init(BARRIER, 2);
    mbarrier_init(SPARE_BARRIER, 1);
    fence_mbarrier_init();
    bulk_load(DATA, args.input, 32, BARRIER);
    for (uint32_t i = 0; i < 64; i++) mbarrier_test(SPARE_BARRIER, 0);
    LOOK; /* nothing arrived */
    mbarrier_arrive(BARRIER);
    LOOK; /* one of two */
    mbarrier_arrive_expect(BARRIER, 32);
    mbarrier_wait(BARRIER, 0);
    LOOK; /* phase 0 over, and only that */
    LOOK;
    mbarrier_arrive(BARRIER);
    LOOK; /* one of two */
    mbarrier_arrive(BARRIER);
    LOOK; /* phase 1 over */
}
#undef LOOK

/* ---- wgmma. Shared memory is filled with operands and the descriptors are taken as they are, so
 * any difference in what a descriptor means shows. p: leading, stride and swizzle mode of a and b
 * (packed, in units of 16 bytes), offsets */

DEVICE uint64_t descriptor_of(int32_t packed, uint32_t address) {
    const uint32_t leading = (uint32_t)packed & 0xfff, stride = (uint32_t)packed >> 12 & 0xfff;
    return make_descriptor(
        address, leading * 16, stride * 16, (descriptor_swizzle)((uint32_t)packed >> 24));
}

#define B_OFFSET 32768 /* of operand b behind DATA */

DEVICE void write_accumulators(uint32_t *output, const float *d, int count) {
    UNROLL
    for (int i = 0; i < count; i++)
        st_global_u32(output + (uint32_t)(i * 128) + thread_index(), bits_from_f32(d[i]));
}

#define WGMMA_PROGRAM(name, kind, width, load_a, a)                                                \
    KERNEL(128) name(KERNEL_PARAMETER conform_args_t args) {                                       \
        float d[width / 2];                                                                        \
        fill_shared(&args, CONFORM_INPUT_WORDS);                                                   \
        load_a;                                                                                    \
        UNROLL                                                                                     \
        for (int i = 0; i < width / 2; i++) d[i] = (float)i;                                       \
        const uint64_t b = descriptor_of(args.p[1], DATA + B_OFFSET + (uint32_t)args.p[3]);        \
        pin_f32_array(d, width / 2);                                                               \
        wgmma_fence();                                                                             \
        WGMMA(kind, width, d, a, b, args.p[4]);                                                    \
        wgmma_commit();                                                                            \
        pin_f32_array(d, width / 2);                                                               \
        wgmma_wait<0>();                                                                           \
        pin_f32_array(d, width / 2);                                                               \
        write_accumulators(args.output, d, width / 2);                                             \
    }
#define A_IN_SHARED const uint64_t a = descriptor_of(args.p[0], DATA + (uint32_t)args.p[2])
#define A_IN_REGISTERS                                                                             \
    uint32_t a[4];                                                                                 \
    UNROLL                                                                                         \
    for (uint32_t i = 0; i < 4; i++) a[i] = ld_global_u32(args.input + thread_index() * 4 + i)

WGMMA_PROGRAM(wgmma_e4m3_8, e4m3, 8, A_IN_SHARED, a)
WGMMA_PROGRAM(wgmma_e4m3_32, e4m3, 32, A_IN_SHARED, a)
WGMMA_PROGRAM(wgmma_e4m3_96, e4m3, 96, A_IN_SHARED, a)
WGMMA_PROGRAM(wgmma_e4m3_128, e4m3, 128, A_IN_SHARED, a)
WGMMA_PROGRAM(wgmma_e4m3_192, e4m3, 192, A_IN_SHARED, a)
WGMMA_PROGRAM(wgmma_e4m3_248, e4m3, 248, A_IN_SHARED, a)
WGMMA_PROGRAM(wgmma_e4m3_256, e4m3, 256, A_IN_SHARED, a)
WGMMA_PROGRAM(wgmma_e4m3_rs_32, e4m3_rs, 32, A_IN_REGISTERS, a)
WGMMA_PROGRAM(wgmma_bf16_32, bf16, 32, A_IN_SHARED, a)
WGMMA_PROGRAM(wgmma_bf16_a_mn_32, bf16_a_mn, 32, A_IN_SHARED, a)
WGMMA_PROGRAM(wgmma_bf16_b_mn_32, bf16_b_mn, 32, A_IN_SHARED, a)
WGMMA_PROGRAM(wgmma_bf16_b_mn_128, bf16_b_mn, 128, A_IN_SHARED, a)
WGMMA_PROGRAM(wgmma_bf16_ab_mn_128, bf16_ab_mn, 128, A_IN_SHARED, a)
WGMMA_PROGRAM(wgmma_bf16_rs_32, bf16_rs, 32, A_IN_REGISTERS, a)
WGMMA_PROGRAM(wgmma_bf16_rs_b_mn_32, bf16_rs_b_mn, 32, A_IN_REGISTERS, a)
WGMMA_PROGRAM(wgmma_tf32_32, tf32, 32, A_IN_SHARED, a)
WGMMA_PROGRAM(wgmma_tf32_rs_32, tf32_rs, 32, A_IN_REGISTERS, a)

/* ---- the accumulator of e4m3 products: any inputs, 128 k in four products, as a GEMM adds them.
 * input: a [64, 128] then b [32, 128], both k fastest, copied as they are: the host swizzles */

KERNEL(128) accumulate_e4m3(KERNEL_PARAMETER conform_args_t args) {
    float d[16];
    fill_shared(&args, (64 + 32) * 128 / 4);
    UNROLL
    for (int i = 0; i < 16; i++) d[i] = 0.f;
    const uint32_t a = descriptor_low_k128(DATA), b = descriptor_low_k128(DATA + 64 * 128);
    pin_f32_array(d, 16);
    wgmma_fence();
    UNROLL
    for (uint32_t i = 0; i < 4; i++)
        WGMMA(e4m3, 32, d, descriptor_from_low_k128(a + i * 2), descriptor_from_low_k128(b + i * 2),
            i > 0);
    wgmma_commit();
    pin_f32_array(d, 16);
    wgmma_wait<0>();
    pin_f32_array(d, 16);
    write_accumulators(args.output, d, 16);
}
