/* SPDX-License-Identifier: MIT
 *
 * BF16 GEMM for Hopper: d = c + a x b^T, sums in FP32, d and c in BF16 or FP32; dense, M-grouped
 * and K-grouped; a and b with either axis fastest; persistent, warp specialised, optionally in
 * clusters of two. Parameters and specialisation macros: args/bf16_gemm.h. m, n, k are whatever the
 * tensor maps describe: loads outside give zero, stores are clipped (output.cuh).
 *
 * Warps. Warpgroups 0 .. MATH_GROUPS-1 multiply and store. In the last warpgroup, warp 0 issues all
 * loads, warp 1 publishes tiles (tiles.cuh), warp 2 trims the ends of K-groups; the other idles.
 *
 * Shared memory, from a 1024-byte aligned base; an operand's tile is, with k fastest, [rows][64 k],
 * and with mn fastest [rows / 64][64 k][64 mn], always lines of 128 bytes, swizzled:
 *
 *   A       STAGES x [BLOCK_M x 64] bf16                full[s]:  A and B of stage s are there
 *   B       STAGES x [BLOCK_N x 64] bf16                empty[s]: every warp of every CTA that
 *   CHUNKS  one for each math warp: output.cuh                    reads it is done
 *   TILES   ring of tiles: tiles.cuh                     tail[s]:  bytes are there, not yet trimmed
 *   full, empty, tail: STAGES mbarriers each
 *
 * The products of one k block run while the next full barrier is waited for: a stage is handed back
 * when the products after it have been issued and its own are done, so the tensor cores always
 * have work. Sums stay in the accumulators from the first block to the last; k goes in the same
 * steps of 16 whatever the tile, so an element's bits do not depend on it.
 *
 * TURNS: warpgroup 0 has the even tiles and warpgroup 1 the odd ones, so that the tensor cores do not
 * wait for a tile's way out: 6% at k = 2048, 15% at k = 512. A tile then has half the size and brings
 * more bytes for its products; long k is faster with the warpgroups side by side.
 *
 * K-groups end anywhere. A block that reaches beyond its group holds tokens of others, NaN perhaps,
 * and zeros in one operand would not stop NaN in the other. Its loads report to tail[s] instead of
 * full[s]; the trimming warp writes zeros over what is not the group's, in both operands, and
 * announces the stage. */
#include "args/bf16_gemm.h"
#include "device/barrier.cuh"
#include "device/descriptor.cuh"
#include "device/fence.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "device/swizzle.cuh"
#include "device/tensormap.cuh"
#include "device/tma.cuh"
#include "device/warp.cuh"
#ifndef WGMMA_SHAPES
#    define WGMMA_SHAPES WGMMA_SHAPE(BLOCK_N)
#endif
#include "device/wgmma.cuh"
#if TURNS
#    define MATH_ROWS (BLOCK_M * MATH_GROUPS)
#    define RING_WARPS 4
#endif
#include "sm90/cta.cuh"

#define BLOCK_K 64
#define LINES_N (B_MN ? (BLOCK_N + 63) / 64 * 64 : BLOCK_N) /* rows of B in shared memory */
#define A_BYTES (BLOCK_M * 128)
#define B_BYTES (LINES_N * 128)
#define PART_BYTES (64 * 128) /* 64 rows, or 64 mn times 64 k */
#define AT_B (STAGES * A_BYTES)
#define AT_CHUNKS (AT_B + STAGES * B_BYTES)
#define AT_TILES (AT_CHUNKS + MATH_WARPS * DG_OUTPUT_CHUNK_BYTES)
#define AT_FULL (AT_TILES + DG_SM90_TILE_RING_BYTES)
#define AT_EMPTY (AT_FULL + STAGES * 8)
#define AT_TAIL (AT_EMPTY + STAGES * 8)
#define SHARED_BYTES (AT_TAIL + STAGES * 8)
#define STAGE_BYTES (A_BYTES + B_BYTES)

/* The tensor cores cut off what they add: of every so many blocks of k the sums are taken out and added
 * in FP32, where registers allow. The host gives longer k to such tiles only. */
#define HAS_TOTALS DG_SM90_BF16_GEMM_HAS_TOTALS(WARP_ROWS, BLOCK_N)
#define TOTAL_BLOCKS (DG_SM90_BF16_GEMM_LONG_K / BLOCK_K)

/* TMA wants 16-byte aligned coordinates on the fastest axis. */
#define K_ALIGNMENT (A_MN && B_MN ? 1 : 8)

static_assert(WARP_ROWS <= 2, "one or two sub-tiles are stored");
static_assert(BLOCK_N % 16 == 0 && BLOCK_N <= 256, "output chunks; width of wgmma");
static_assert(!TURNS || MATH_GROUPS == 2, "warpgroups wait for each other in pairs");
static_assert(SHARE != DG_SHARE_A || !A_MN || BLOCK_M % 128 == 0, "parts of A are loaded whole");
static_assert(
    SHARE != DG_SHARE_B || SCHEDULE != DG_SCHEDULE_M_GROUPED, "row tiles come one by one");
static_assert(SHARE != DG_SHARE_B || !B_MN || BLOCK_N % 128 == 0, "parts of B are loaded whole");
static_assert(SHARED_BYTES == DG_SM90_BF16_GEMM_SHARED_BYTES(BLOCK_M, LINES_N, STAGES, MATH_GROUPS),
    "the host counts the same bytes");
static_assert(SHARED_BYTES <= 227 * 1024, "does not fit shared memory");

#include "sm90/output.cuh"
#include "sm90/ring.cuh"
#include "sm90/tiles.cuh"

typedef dg_sm90_bf16_gemm_args_t args_t;

DEVICE uint32_t tail_barrier(place_t p) {
    return shared_base() + AT_TAIL + p.stage * 8;
}

/* Blocks of k that one group adds to a tile: from `first` in steps of BLOCK_K, of which begin ..
 * end - 1 count. */
typedef struct span {
    int first, begin, end;
} span_t;

/* A tile adds up the spans first_span() .. end_span() - 1: K-grouped, one for each group. */
DEVICE int first_span(const args_t *args, const tile_t *tile) {
    return SCHEDULE == DG_SCHEDULE_K_GROUPED && !args->tiles.sum ? tile->group : 0;
}
DEVICE int end_span(const args_t *args, const tile_t *tile) {
    if (SCHEDULE == DG_SCHEDULE_K_GROUPED && args->tiles.sum) return args->tiles.group_count;
    return tile->group < 0 ? 0 : first_span(args, tile) + 1;
}

DEVICE span_t find_span(const args_t *args, int index) {
    if (SCHEDULE != DG_SCHEDULE_K_GROUPED) return {0, 0, args->k};
    const dg_k_segment_t *segment = args->tiles.segments + index;
    const int begin = (int)ld_global_u64(&segment->token_begin);
    const int count = (int)ld_global_u64(&segment->token_count);
    return {begin & ~(K_ALIGNMENT - 1), begin, begin + count};
}
DEVICE int blocks_of(span_t span) {
    return span.begin < span.end ? (span.end - span.first + BLOCK_K - 1) / BLOCK_K : 0;
}
/* Whether the block at k holds something that is not the group's. Past the end of k itself, the
 * loads give zeros. */
DEVICE bool needs_trim(span_t span, int k) {
    return SCHEDULE == DG_SCHEDULE_K_GROUPED && (k < span.begin || k + BLOCK_K > span.end);
}

/* The k blocks of a tile. */
DEVICE int count_blocks(const args_t *args, const tile_t *tile) {
    int count = 0;
    for (int i = first_span(args, tile); i < end_span(args, tile); i++)
        count += blocks_of(find_span(args, i));
    return count;
}

/* Loads k .. k + 63 of rows `row` .. row + rows - 1 of a matrix. shared_by_pair: this CTA loads its
 * half of them, into both. */
DEVICE void load_operand(const dg_tensor_map_t *map, uint32_t to, uint32_t barrier, int k, int row,
    int rows, int matrix, bool mn_fastest, bool shared_by_pair) {
    if (shared_by_pair) {
        const int half = rows / 2 * (int)cluster_rank();
        row += half;
        to += (uint32_t)half * 128;
        rows /= 2;
    }
    if (!mn_fastest) {
        if (shared_by_pair)
            tma_load_3d_multicast(to, map, barrier, k, row, matrix, 3);
        else
            tma_load_3d(to, map, barrier, k, row, matrix);
        return;
    }
    UNROLL
    for (int i = 0; i < rows; i += 64) {
        if (shared_by_pair)
            tma_load_3d_multicast(to + (uint32_t)i * 128, map, barrier, row + i, k, matrix, 3);
        else
            tma_load_3d(to + (uint32_t)i * 128, map, barrier, row + i, k, matrix);
    }
}

/* One thread: fills stage after stage. */
DEVICE void load_tiles(const args_t *args) {
    const uint32_t base = shared_base();
    place_t p = {0, 0};
    tile_t tile;
    for (walk_t walk = begin_walk(&args->tiles); next_tile(&args->tiles, &walk, &tile);) {
        /* K-grouped: tile.group and tile.slab are d's alone. */
        const int a_matrix = SCHEDULE == DG_SCHEDULE_K_GROUPED ? 0 : tile.slab;
        const int b_matrix = SCHEDULE == DG_SCHEDULE_K_GROUPED ? 0 : tile.group;
        for (int i = first_span(args, &tile); i < end_span(args, &tile); i++) {
            const span_t span = find_span(args, i);
            const int k_end = span.first + blocks_of(span) * BLOCK_K;
            for (int k = span.first; k < k_end; k += BLOCK_K) {
                const uint32_t barrier = needs_trim(span, k) ? tail_barrier(p) : full_barrier(p);
                wait_empty(p);
                mbarrier_arrive_expect(barrier, STAGE_BYTES);
                load_operand(&args->a, base + p.stage * A_BYTES, barrier, k, tile.row, BLOCK_M,
                    a_matrix, A_MN, SHARE == DG_SHARE_A);
                load_operand(&args->b, base + AT_B + p.stage * B_BYTES, barrier, k, tile.column,
                    LINES_N, b_matrix, B_MN, SHARE == DG_SHARE_B);
                p = next_place(p);
            }
        }
    }
}

/* Zeros for lines `first` .. end - 1 of every 64 mn of an operand: k lines of the mn-fastest form. */
DEVICE void clear_lines(uint32_t operand, int rows, int first, int end) {
    const uint32_t zeros[4] = {0, 0, 0, 0};
    UNROLL_BY(1)
    for (int part = 0; part < rows / 64; part++) UNROLL_BY(1)
    for (int at = first * 128 + (int)lane_index() * 16; at < end * 128; at += 512)
        st_shared_x4(operand + (uint32_t)(part * PART_BYTES + at), zeros);
}

/* Zeros outside columns begin .. end - 1 of every line: k columns of the k-fastest form. */
DEVICE void clear_columns(uint32_t operand, int rows, int begin, int end) {
    const int k = (int)lane_index() % 8 * 8; /* first column of my 16 bytes */
    const uint32_t before = begin <= k ? 0 : begin - k < 8 ? (1u << (begin - k)) - 1 : 0xff;
    const uint32_t inside = end <= k ? 0 : end - k < 8 ? (1u << (end - k)) - 1 : 0xff;
    const uint32_t kept = inside & ~before; /* bit i: column k + i */
    if (kept == 0xff) return;
    UNROLL_BY(1)
    for (int row = (int)lane_index() / 8; row < rows; row += 4) {
        const uint32_t at = operand + swizzle_128((uint32_t)(row * 128 + k * 2));
        uint32_t values[4];
        ld_shared_x4(values, at);
        UNROLL
        for (int i = 0; i < 4; i++)
            values[i] &= (kept >> i * 2 & 1) * 0xffff + (kept >> i * 2 & 2) * 0x7fff8000u;
        st_shared_x4(at, values);
    }
}

/* Zeros over everything of a stage's operand outside k begin .. end - 1, counted from the block's
 * first. */
DEVICE void trim(uint32_t operand, int rows, bool mn_fastest, int begin, int end) {
    if (mn_fastest) {
        clear_lines(operand, rows, 0, begin);
        clear_lines(operand, rows, end, BLOCK_K);
    } else {
        clear_columns(operand, rows, begin, end);
    }
}

/* One warp, K-grouped alone: trims the blocks at the ends of groups. Its loops are not unrolled:
 * that takes more registers than the warp has. */
DEVICE void trim_tiles(const args_t *args) {
    const uint32_t base = shared_base();
    uint32_t parities = 0; /* bit s: of the phase that tail[s] is in */
    place_t p = {0, 0};
    tile_t tile;
    for (walk_t walk = begin_walk(&args->tiles); next_tile(&args->tiles, &walk, &tile);) {
        for (int i = first_span(args, &tile); i < end_span(args, &tile); i++) {
            const span_t span = find_span(args, i);
            const int k_end = span.first + blocks_of(span) * BLOCK_K;
            UNROLL_BY(1)
            for (int k = span.first; k < k_end; k += BLOCK_K) {
                if (needs_trim(span, k)) {
                    const int begin = k < span.begin ? span.begin - k : 0;
                    const int end = k + BLOCK_K > span.end ? span.end - k : BLOCK_K;
                    mbarrier_wait(tail_barrier(p), parities >> p.stage & 1);
                    parities ^= 1u << p.stage;
                    trim(base + p.stage * A_BYTES, BLOCK_M, A_MN, begin, end);
                    trim(base + AT_B + p.stage * B_BYTES, LINES_N, B_MN, begin, end);
                    fence_proxy_async();
                    warp_sync();
                    if (lane_index() == 0) mbarrier_arrive(full_barrier(p));
                }
                p = next_place(p);
            }
        }
    }
}

/* One thread: publishes tiles, with their count of k blocks. */
DEVICE void publish_tiles(const args_t *args) {
    tile_place_t p = {0, 0};
    tile_t tile;
    for (walk_t walk = begin_walk(&args->tiles); next_tile(&args->tiles, &walk, &tile);) {
        tile.k_blocks = count_blocks(args, &tile);
        publish_tile(&p, &tile);
    }
    publish_end(&p);
}

/* Descriptor of a tile at `address`, and where another 16 k lie. */
DEVICE uint64_t describe(uint32_t address, bool mn_fastest) {
    return mn_fastest ? make_descriptor(address, PART_BYTES, 1024, DESCRIPTOR_SWIZZLE_128)
                      : make_descriptor(address, 16, 1024, DESCRIPTOR_SWIZZLE_128);
}
#define A_STEP (A_MN ? 2048 / 16 : 32 / 16)
#define B_STEP (B_MN ? 2048 / 16 : 32 / 16)

#if A_MN && B_MN
#    define PRODUCT(...) WGMMA(bf16_ab_mn, BLOCK_N, __VA_ARGS__)
#elif A_MN
#    define PRODUCT(...) WGMMA(bf16_a_mn, BLOCK_N, __VA_ARGS__)
#elif B_MN
#    define PRODUCT(...) WGMMA(bf16_b_mn, BLOCK_N, __VA_ARGS__)
#else
#    define PRODUCT(...) WGMMA(bf16, BLOCK_N, __VA_ARGS__)
#endif

DEVICE void pin_sums(float (*sums)[BLOCK_N / 2]) {
    UNROLL
    for (int j = 0; j < WARP_ROWS; j++) pin_f32_array(sums[j], BLOCK_N / 2);
}

/* Starts the products of one k block. */
DEVICE void start_products(float (*sums)[BLOCK_N / 2], uint64_t a, uint64_t b) {
    pin_sums(sums);
    wgmma_fence();
    UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        UNROLL
        for (uint32_t j = 0; j < WARP_ROWS; j++)
            PRODUCT(sums[j], a + j * (PART_BYTES / 16) + i * A_STEP, b + i * B_STEP, 1);
    }
    wgmma_commit();
    pin_sums(sums);
}

/* Moves the sums into the totals. */
DEVICE void take_sums(float (*totals)[BLOCK_N / 2], float (*sums)[BLOCK_N / 2]) {
    pin_sums(sums);
    wgmma_wait<0>();
    pin_sums(sums);
    UNROLL
    for (int i = 0; i < WARP_ROWS * BLOCK_N / 2; i++) {
        totals[i / (BLOCK_N / 2)][i % (BLOCK_N / 2)] += sums[i / (BLOCK_N / 2)][i % (BLOCK_N / 2)];
        sums[i / (BLOCK_N / 2)][i % (BLOCK_N / 2)] = 0.f;
    }
}

/* Warpgroups that take turns: waits until the stages of my tile are next. A parity tells only two
 * rounds of the ring apart, so nobody may wait for stages that lie further ahead. */
DEVICE void wait_turn(uint32_t group) {
    if (TURNS) bar_sync(1 + group, 256);
}
DEVICE void end_turn(uint32_t group) {
    if (TURNS) bar_arrive(1 + (group ^ 1), 256);
}

/* One math warpgroup: for every tile, or every other one, all k blocks of its WARP_ROWS sub-tiles,
 * then their rows of d. */
DEVICE void multiply(const args_t *args) {
    const uint32_t base = shared_base(), warp = warp_index(), group = warp / 4;
    const uint32_t part = TURNS ? 0 : group; /* of the tile's rows */
    const uint64_t a = describe(base + part * WARP_ROWS * PART_BYTES, A_MN);
    const uint64_t b = describe(base + AT_B, B_MN);
    const uint32_t chunk = base + AT_CHUNKS + warp * DG_OUTPUT_CHUNK_BYTES;
    const int warp_row = (int)(part * 64 * WARP_ROWS + warp % 4 * 16);
    uint32_t turn = 0; /* whose tile comes next */
    place_t p = {0, 0}, last = p;
    tile_place_t tile_place = {0, 0};
    float sums[WARP_ROWS][BLOCK_N / 2];
    float totals[WARP_ROWS][BLOCK_N / 2] = {};

    if (group == 1) end_turn(group);
    for (int k_blocks; (k_blocks = wait_tile(tile_place)) >= 0; turn ^= 1) {
        const tile_t tile = take_tile(tile_place);
        tile_place = next_tile_place(tile_place);
        if (TURNS && turn != group) {
            p = place_after(p, k_blocks);
            continue;
        }
        destination_t to = find_destination(&args->out, &tile, warp_row);
        destination_t ahead = to;
        UNROLL
        for (int j = 0; j < WARP_ROWS; j++) {
            prefetch_c(&ahead, BLOCK_N);
            move_down(&ahead);
        }
        UNROLL
        for (int i = 0; i < WARP_ROWS * BLOCK_N / 2; i++)
            sums[i / (BLOCK_N / 2)][i % (BLOCK_N / 2)] = 0.f;

        wait_turn(group);
        for (int k = 0; k < k_blocks; k++) {
            wait_full(p);
            start_products(sums, a + p.stage * (A_BYTES / 16), b + p.stage * (B_BYTES / 16));
            if (k > 0) {
                wgmma_wait<1>();
                release(last);
            }
            last = p;
            p = next_place(p);
            if (HAS_TOTALS && k % TOTAL_BLOCKS == TOTAL_BLOCKS - 1) take_sums(totals, sums);
        }
        end_turn(group);
        uint32_t added[CHUNKS_AHEAD][4][4] = {};
        begin_rows(&to, BLOCK_N, added);
        pin_sums(sums);
        wgmma_wait<0>();
        pin_sums(sums);
        if (k_blocks > 0) release(last);
        if (HAS_TOTALS && k_blocks >= TOTAL_BLOCKS) {
            UNROLL
            for (int i = 0; i < WARP_ROWS * BLOCK_N / 2; i++) {
                float *total = &totals[i / (BLOCK_N / 2)][i % (BLOCK_N / 2)];
                sums[i / (BLOCK_N / 2)][i % (BLOCK_N / 2)] += *total;
                *total = 0.f;
            }
        }
        /* Not a loop: the compiler leaves one this long as it is, and indexes registers. */
        store_rows(&to, sums[0], chunk, BLOCK_N, added);
        if (WARP_ROWS == 2) {
            move_down(&to);
            begin_rows(&to, BLOCK_N, added);
            store_rows(&to, sums[WARP_ROWS - 1], chunk, BLOCK_N, added);
        }
    }
    if (turn == group) wait_turn(group);
}

KERNEL(THREADS) dg_sm90_bf16_gemm(KERNEL_PARAMETER dg_sm90_bf16_gemm_args_t args) {
    const uint32_t warp = warp_index();
    if (thread_index() == 0) {
        init_ring(1);
        init_tile_ring(MATH_WARPS);
        for (uint32_t s = 0; s < STAGES; s++) mbarrier_init(tail_barrier({s, 0}), 1);
        fence_mbarrier_init();
        tensormap_prefetch(&args.a);
        tensormap_prefetch(&args.b);
    }
    cluster_sync();
    dependency_wait();

    if (warp >= MATH_WARPS) {
        if (MATH_GROUPS > 1) setmaxnreg_dec<LOAD_REGISTERS>();
        if (warp == MATH_WARPS && lane_index() == 0) load_tiles(&args);
        if (warp == MATH_WARPS + 1 && lane_index() == 0) publish_tiles(&args);
        if (SCHEDULE == DG_SCHEDULE_K_GROUPED && warp == MATH_WARPS + 2) trim_tiles(&args);
    } else {
        if (MATH_GROUPS > 1) setmaxnreg_inc<MATH_REGISTERS>();
        multiply(&args);
    }
    /* Nobody leaves while the other CTA may still signal its barriers or write its memory. */
    cluster_sync();
}
