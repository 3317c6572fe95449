/* SPDX-License-Identifier: MIT
 *
 * Small kernels that show what a primitive does to memory and registers. Each ends by writing words
 * to args.output. Built by nvcc for the GPU and by a C++ compiler for the emulator; cases.c says
 * with which parameters each runs. Inputs to products are small integers, so every sum is exact. */
#include "args.h"
#include "device/barrier.cuh"
#include "device/bulk.cuh"
#include "device/convert.cuh"
#include "device/copy_async.cuh"
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

/* The same with a map of three dimensions: 4 planes from z = p[2] + 4 * rank. */
KERNEL(128) load_3d_multicast(KERNEL_PARAMETER conform_args_t args) {
    const uint32_t words = (uint32_t)args.p[3], rank = cluster_rank();
    init_barrier();
    cluster_sync();
    if (thread_index() == 0) {
        mbarrier_arrive_expect(BARRIER, words * 8);
        tma_load_3d_multicast(DATA + rank * words * 4, &args.in, BARRIER, args.p[0], args.p[1],
            args.p[2] + (int)rank * 4, 3);
    }
    mbarrier_wait_cluster(BARRIER, 0);
    dump_shared(args.output + rank * words * 2, words * 2);
    cluster_sync();
}

KERNEL(128) store_3d(KERNEL_PARAMETER conform_args_t args) {
    fill_shared(&args, (uint32_t)args.p[3]);
    if (thread_index() == 0) {
        tma_store_3d(&args.out, DATA, args.p[0], args.p[1], args.p[2]);
        bulk_commit();
        bulk_wait<0>();
    }
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

/* Each CTA of a pair reads what the other wrote, told by an arrival at its barrier. */
KERNEL(128) read_from_peer(KERNEL_PARAMETER conform_args_t args) {
    const uint32_t rank = cluster_rank(), other = rank ^ 1;
    uint32_t v[4];
    if (thread_index() == 0) {
        mbarrier_init(BARRIER, 128);
        fence_mbarrier_init();
    }
    cluster_arrive();
    cluster_wait();
    for (uint32_t i = 0; i < 4; i++)
        st_shared_u32(DATA + thread_index() * 16 + i * 4,
            ld_global_u32(args.input + rank * 512 + thread_index() * 4 + i));
    mbarrier_arrive_peer_release(BARRIER, other);
    mbarrier_wait_cluster(BARRIER, 0);
    ld_peer_x4(v, peer_address(DATA + (127 - thread_index()) * 16, other));
    st_global_x4(args.output + rank * 512 + thread_index() * 4, v);
    cluster_sync();
}

/* Copies of 16, 8 and 4 bytes by each thread, the first p[0], p[1], p[2] of them valid. */
KERNEL(128) copy_pieces(KERNEL_PARAMETER conform_args_t args) {
    const uint32_t i = thread_index();
    init_barrier();
    copy_async<16>(DATA + i * 16, args.input + i * 4, (uint32_t)args.p[0]);
    copy_async_commit();
    copy_async<8>(DATA + 2048 + i * 8, args.input + 512 + i * 2, (uint32_t)args.p[1]);
    copy_async_commit();
    copy_async_wait<0>();
    copy_async<4>(DATA + 3072 + i * 4, args.input + 768 + i, (uint32_t)args.p[2]);
    copy_async_commit();
    if (i == 0) copy_async_arrive(BARRIER);
    copy_async_wait<0>();
    mbarrier_wait(BARRIER, 0);
    cta_sync();
    dump_shared(args.output, 896);
}

/* Every width of a load and a store in global and in shared memory. */
KERNEL(128) word_widths(KERNEL_PARAMETER conform_args_t args) {
    const uint32_t i = thread_index(), s = DATA + i * 16;
    const uint32_t *in = args.input + i * 4;
    uint32_t *out = args.output + i * 32, v[4];
    float f[2];
    ld_global_x4(v, in);
    st_shared_x4(s, v);
    ld_shared_f32x2(f, s + 8);
    st_global_x4(out, v);
    ld_global_x2(v, in + 2);
    st_global_x2(out + 4, v);
    st_global_u64(out + 6, ld_global_u64(in));
    st_global_u32(out + 8, ld_global_u8((const uint8_t *)in + 5));
    st_global_u16(out + 9, ld_global_u16((const uint16_t *)in + 3));
    st_global_u16((uint16_t *)(out + 9) + 1, ld_global_u16(in));
    st_global_f32((float *)out + 10, ld_global_f32((const float *)in + 1));
    st_global_f32((float *)out + 11, ld_constant_f32((const float *)in + 2));
    st_global_f32((float *)out + 12, f[0]);
    st_global_f32((float *)out + 13, f[1]);
    ld_shared_x4(v, s);
    st_global_x4(out + 16, v);
    st_shared_x2(s, v[3], v[2]);
    st_shared_f32(s + 8, f32_from_bits(v[1]));
    st_shared_u32(s + 12, v[0]);
    st_global_f32((float *)out + 14, ld_shared_f32(s + 12));
    st_global_u32(out + 15, ld_shared_u32(s));
    ld_shared_x4(v, s);
    st_global_x4(out + 20, v);
    prefetch_global(in);
    tensormap_prefetch(&args.in);
}

/* Words of warps 0 and 1 pass to warps 2 and 3 by a named barrier, those of CTA 0 to CTA 1 by a flag;
 * and every thread of both takes a ticket. */
KERNEL(128) hand_over(KERNEL_PARAMETER conform_args_t args) {
    const uint32_t rank = cluster_rank(), i = thread_index();
    uint32_t *flag = args.output, *counter = args.output + 1, *words = args.output + 128;
    uint32_t ticket;
    if (i < 64) {
        st_shared_u32(DATA + i * 4, ld_global_u32(args.input + i));
        bar_arrive(1, 128);
    } else {
        bar_sync(1, 128);
        st_global_u32(words + rank * 64 + i - 64, ld_shared_u32(DATA + (127 - i) * 4));
    }
    if (rank == 0) {
        st_global_u32(words + 128 + i, i * 7);
        cta_sync();
        if (i == 0) st_flag(flag, 5, ORDER_RELEASE, SCOPE_GPU);
        ticket = atomic_add_u32(counter, 1, ORDER_RELAXED, SCOPE_GPU);
    } else {
        while (ld_flag(flag, ORDER_ACQUIRE, SCOPE_GPU) != 5) {}
        st_global_u32(words + 256 + i, ld_global_u32(words + 128 + 127 - i));
        ticket = atomic_add_u32(counter, 1, ORDER_ACQ_REL, SCOPE_GPU);
    }
    ticket -= 0xccccccccu;
    st_global_u32(words + 384 + ticket, ticket);
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
    if (args.p[0] == 3) mma_f16_m16n8k16(d, a, b);
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

/* All codes of e4m3 in both halves; bytes picked out of eight. */
KERNEL(128) pick_bytes(KERNEL_PARAMETER conform_args_t args) {
    for (uint32_t i = thread_index(); i < 256; i += 128) {
        const uint32_t selector = i * 0x2357u & 0x7777u;
        const uint32_t low = ld_global_u32(args.input + 2 * i);
        const uint32_t high = ld_global_u32(args.input + 2 * i + 1);
        st_global_u32(args.output + 3 * i, f16x2_from_e4m3x2((255 - i) << 8 | i));
        st_global_u32(args.output + 3 * i + 1, permute_bytes(low, high, selector));
        st_global_u32(args.output + 3 * i + 2, choose_bytes(high, low, selector));
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
