/* SPDX-License-Identifier: MIT
 *
 * MQA logits for Hopper: scores of queries, all heads of which share a key a token, against tokens
 * in one tensor or in pages.
 *
 *     logits[i, j] = scale[j] * sum over h of  weights[i, h] * relu(q[i, h] . kv[j])
 *
 * Tokens are the 64 rows of wgmma, the heads of a group of queries its 128 columns, and the sum
 * over heads is made in the registers of the products: a thread has 32 columns of two tokens, and
 * the four threads of a quad together have all of them. Parameters and macros: args/mqa_logits.h.
 *
 * Work is counted in blocks of 128 tokens by a group of queries. Every CTA counts the blocks of
 * all groups at its start, takes as many in a row as any other, and walks over them group by
 * group; so no schedule is wanted, and ranges may be as uneven as they like.
 *
 * Warps. Warpgroups 0 and 1 multiply 64 tokens of each block each, sum and store. In the last one,
 * warp 0 loads queries and tokens by TMA, one lane for each box of tokens, which may lie in pages
 * of their own; warp 1 copies the scales; warps 2 and 3 write -inf where a row has no token.
 *
 * Shared memory, from a 1024-byte aligned base:
 *
 *   KV      STAGES x [128 x DIM] e4m3, swizzled        full[s]: tokens and scales are there
 *   Q       2 x [128 x DIM] e4m3, swizzled             empty[s]: every math warp is done
 *   SCALES  STAGES x ([128] f32, [4] masks of tokens   q_full[b], q_empty[b]: the same of queries
 *           that there are)
 *   COUNTS  [THREADS / 32] u64: blocks of the groups of each warp's threads
 *   BEGIN   first group of this CTA, and blocks of it to leave out
 *   full, empty: STAGES mbarriers each; q_full, q_empty: 2 each */
#include "args/mqa_logits.h"
#include "device/barrier.cuh"
#include "device/convert.cuh"
#include "device/copy_async.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/mbarrier.cuh"
#include "device/relu.cuh"
#include "device/shared.cuh"
#include "device/tensormap.cuh"
#include "device/tma.cuh"
#include "device/warp.cuh"
#ifndef WGMMA_SHAPES
#    define WGMMA_SHAPES WGMMA_SHAPE(128)
#endif
#include "device/wgmma.cuh"
#define MATH_GROUPS 2
#define MATH_ROWS DG_MQA_BLOCK
#define SHARE DG_SHARE_NONE
#define LOAD_REGISTERS 72 /* walks over groups and 64-bit addresses */
#define MATH_REGISTERS 216
#include "sm90/cta.cuh"

#define BLOCK DG_MQA_BLOCK
#define QUERIES (DG_MQA_COLUMNS / HEADS) /* of a group */
#define KV_BYTES (BLOCK * DIM)
#define Q_BYTES (DG_MQA_COLUMNS * DIM)
#define AT_Q (STAGES * KV_BYTES)
#define AT_SCALES (AT_Q + 2 * Q_BYTES)
#define AT_COUNTS (AT_SCALES + STAGES * DG_MQA_SCALE_BYTES)
#define AT_BEGIN (AT_COUNTS + THREADS / 32 * 8)
#define AT_FULL (AT_BEGIN + 16)
#define AT_EMPTY (AT_FULL + STAGES * 8)
#define AT_Q_FULL (AT_EMPTY + STAGES * 8)
#define AT_Q_EMPTY (AT_Q_FULL + 16)
#define SHARED_BYTES (AT_Q_EMPTY + 16)

#include "any/mqa_problem.cuh"
#include "sm90/ring.cuh"

static_assert(DIM == 32 || DIM == 64 || DIM == 128, "a row is as wide as a swizzle");
static_assert(HEADS >= 8 && HEADS <= 128 && 128 % HEADS == 0, "columns of wgmma");
static_assert(THREADS == DG_SM90_MQA_LOGITS_THREADS &&
                  SHARED_BYTES == DG_SM90_MQA_LOGITS_SHARED_BYTES(DIM, STAGES),
    "the host counts the same");
static_assert(SHARED_BYTES + 1024 <= 228 * 1024, "does not fit shared memory");

typedef dg_mqa_problem_t args_t;

DEVICE int64_t groups_of_request(const args_t *args) {
    return (args->next + QUERIES - 1) / QUERIES;
}

/* Blocks of a group of queries: [first, last), none if they are equal. end: of their tokens */
typedef struct blocks {
    int first, last, end;
} blocks_t;

DEVICE blocks_t find_blocks(const args_t *args, int64_t request, int query) {
    int begin = 0x7FFFFFFF, end = 0;
    UNROLL_BY(1)
    for (int i = 0; i < QUERIES; i++) {
        const range_t range = find_range(args, request, query + i);
        if (range.begin == range.end) continue;
        begin = range.begin < begin ? range.begin : begin;
        end = range.end > end ? range.end : end;
    }
    if (end == 0) return {0, 0, 0};
    return {begin / BLOCK, (int)(((int64_t)end + BLOCK - 1) / BLOCK), end};
}

/* Of the groups of all requests, one after the other. */
DEVICE uint64_t count_blocks(const args_t *args, int64_t group) {
    const int64_t request = group / groups_of_request(args);
    const blocks_t blocks =
        find_blocks(args, request, (int)(group - request * groups_of_request(args)) * QUERIES);
    return (uint64_t)(blocks.last - blocks.first);
}

/* A walk over the groups of this CTA, the same in every role. */
typedef struct walk {
    int64_t group;
    uint64_t skip, left; /* blocks: of the first group to leave out, of all groups to come */
} walk_t;

/* Part of a group: query `query` and on of a request, blocks [first, last). */
typedef struct part {
    int64_t request;
    int query, first, last, end;
} part_t;

DEVICE bool next_part(const args_t *args, walk_t *walk, part_t *part) {
    while (walk->left > 0) {
        const int64_t request = walk->group / groups_of_request(args);
        const int query = (int)(walk->group % groups_of_request(args)) * QUERIES;
        const blocks_t blocks = find_blocks(args, request, query);
        const int first = blocks.first + (int)walk->skip;
        const uint64_t count = smaller(blocks.last - first, (int64_t)walk->left);
        walk->group++;
        walk->skip = 0;
        if (blocks.first == blocks.last) continue;
        walk->left -= count;
        *part = {request, query, first, first + (int)count, blocks.end};
        return true;
    }
    return false;
}

DEVICE uint64_t ld_shared_u64(uint32_t address) {
    return ld_shared_u32(address) | (uint64_t)ld_shared_u32(address + 4) << 32;
}

/* The counts of this lane and of those before it. */
DEVICE uint64_t scan_warp(uint64_t count) {
    const uint32_t lane = lane_index();
    UNROLL
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint32_t from = lane >= step ? lane - step : lane;
        const uint32_t low = shuffle_u32((uint32_t)count, from);
        const uint32_t high = shuffle_u32((uint32_t)(count >> 32), from);
        if (lane >= step) count += low | (uint64_t)high << 32;
    }
    return count;
}

/* By all threads: how many blocks there are, and where this CTA begins. */
DEVICE walk_t begin_walk(const args_t *args) {
    const uint32_t counts = shared_base() + AT_COUNTS, at_begin = shared_base() + AT_BEGIN;
    const int64_t groups = groups_of_request(args) * args->requests;
    const int64_t each = (groups + THREADS - 1) / THREADS;
    const int64_t first_group = smaller(thread_index() * each, groups);
    const int64_t last_group = smaller(first_group + each, groups);
    uint64_t mine = 0, total = 0;
    for (int64_t g = first_group; g < last_group; g++) mine += count_blocks(args, g);
    const uint64_t through = scan_warp(mine);
    uint64_t before = through - mine;
    if (lane_index() == 31)
        st_shared_x2(
            counts + thread_index() / 32 * 8, (uint32_t)through, (uint32_t)(through >> 32));
    cta_sync();
    UNROLL
    for (uint32_t w = 0; w < THREADS / 32; w++) {
        const uint64_t count = ld_shared_u64(counts + w * 8);
        if (w < thread_index() / 32) before += count;
        total += count;
    }
    const uint64_t begin = total * block_index() / block_count();
    const uint64_t end = total * (block_index() + 1) / block_count();
    if (begin >= before && begin < before + mine) {
        int64_t g = first_group;
        uint64_t skip = begin - before;
        for (uint64_t count; (count = count_blocks(args, g)) <= skip; g++) skip -= count;
        st_shared_x2(at_begin, (uint32_t)g, (uint32_t)((uint64_t)g >> 32));
        st_shared_u32(at_begin + 8, (uint32_t)skip);
    }
    cta_sync();
    if (begin == end) return {0, 0, 0};
    return {(int64_t)ld_shared_u64(at_begin), ld_shared_u32(at_begin + 8), end - begin};
}

/* The places of the two groups of queries: as those of the ring. */
DEVICE place_t next_q(place_t q) {
    return {q.stage ^ 1, q.parity ^ q.stage};
}
DEVICE uint32_t q_full_barrier(place_t q) {
    return shared_base() + AT_Q_FULL + q.stage * 8;
}
DEVICE uint32_t q_empty_barrier(place_t q) {
    return shared_base() + AT_Q_EMPTY + q.stage * 8;
}

/* One warp: queries of each part, then its blocks, a lane for each box. A page of -1 lies outside
 * of the map, and its tokens arrive as zeros. */
DEVICE void load(const dg_sm90_mqa_logits_args_t *maps, walk_t walk) {
    const args_t *args = &maps->problem;
    const uint32_t base = shared_base(), lane = lane_index();
    const uint32_t boxes = BLOCK / (uint32_t)maps->box_tokens;
    const int offset = (int)lane * maps->box_tokens;
    place_t p = {0, 0}, q = {0, 0};
    part_t part;
    while (next_part(args, &walk, &part)) {
        const int32_t *table = find_table(args, part.request);
        if (lane == 0) {
            mbarrier_wait(q_empty_barrier(q), q.parity ^ 1);
            mbarrier_arrive_expect(q_full_barrier(q), Q_BYTES);
            tma_load_3d(base + AT_Q + q.stage * Q_BYTES, &maps->q, q_full_barrier(q), 0, 0,
                (int)(part.request * args->next) + part.query);
        }
        q = next_q(q);
        place_of_token_t at = {-1, 0};
        if (lane < boxes) at = find_token(args, table, part.first * BLOCK + offset, part.end);
        for (int block = part.first; block < part.last; block++) {
            const place_of_token_t now = at;
            if (lane < boxes) at = find_token(args, table, (block + 1) * BLOCK + offset, part.end);
            wait_empty(p);
            if (lane == 0) mbarrier_arrive_expect(full_barrier(p), KV_BYTES);
            warp_sync();
            if (lane < boxes)
                tma_load_3d(base + p.stage * KV_BYTES + (uint32_t)offset * DIM, &maps->kv,
                    full_barrier(p), 0, now.row, now.page);
            p = next_place(p);
        }
    }
    warp_sync();
}

DEVICE uint32_t scales_at(place_t p) {
    return shared_base() + AT_SCALES + p.stage * DG_MQA_SCALE_BYTES;
}

/* By all threads, at the start: scales that nobody will copy are 1. */
DEVICE void fill_scales(const args_t *args) {
    if (args->scales) return;
    for (uint32_t i = thread_index(); i < STAGES * BLOCK; i += THREADS)
        st_shared_f32(scales_at({i / BLOCK, 0}) + i % BLOCK * 4, 1.f);
}

/* One warp: for each block its scales, and masks of the tokens that there are. */
DEVICE void load_scales(const args_t *args, walk_t walk) {
    const uint32_t lane = lane_index();
    place_t p = {0, 0};
    part_t part;
    while (next_part(args, &walk, &part)) {
        const int32_t *table = find_table(args, part.request);
        for (int block = part.first; block < part.last; block++) {
            place_of_token_t at[BLOCK / 32];
            UNROLL
            for (int i = 0; i < BLOCK / 32; i++)
                at[i] = find_token(args, table, block * BLOCK + i * 32 + (int)lane, part.end);
            wait_empty(p);
            UNROLL
            for (uint32_t i = 0; i < BLOCK / 32; i++) {
                const bool there = at[i].page >= 0;
                const uint32_t mask = warp_ballot(there);
                const uint8_t *from = args->scales;
                if (there) from += at[i].page * args->page_stride + at[i].row * args->scale_stride;
                if (args->scales)
                    copy_async<4>(scales_at(p) + (i * 32 + lane) * 4, from, there ? 4 : 0);
                if (lane == 0) st_shared_u32(scales_at(p) + BLOCK * 4 + i * 4, mask);
            }
            copy_async_arrive(full_barrier(p));
            if (lane == 0) mbarrier_arrive(full_barrier(p));
            p = next_place(p);
        }
    }
    warp_sync();
}

/* Two warps: -inf in front of and behind the tokens of each row. which: 0 or 1 */
DEVICE void clean_rows(const args_t *args, uint32_t which) {
    const int64_t rows = (int64_t)args->requests * args->next;
    const float nothing = f32_from_bits(NOTHING);
    for (int64_t row = block_index() * 2 + which; row < rows; row += block_count() * 2) {
        const range_t range = find_range(args, row / args->next, (int)(row % args->next));
        const int first = args->compressed ? 0 : range.begin;
        const int last = first + range.end - range.begin;
        for (int column = (int)lane_index(); column < first; column += 32)
            store_logit(args, row, column, nothing);
        for (int64_t column = last + lane_index(); column < args->columns; column += 32)
            store_logit(args, row, (int)column, nothing);
    }
}

/* Of a column of wgmma: head column % HEADS of query column / HEADS of the part. */
DEVICE float find_weight(const args_t *args, const part_t *part, uint32_t column) {
    const int query = part->query + (int)(column / HEADS), head = (int)(column % HEADS);
    if (query >= args->next || head >= args->heads) return 0.f;
    return load_weight(args, part->request * args->next + query, head);
}

#define SWIZZLE_CODE (DIM == 128 ? 1u : DIM == 64 ? 2u : 3u)

/* Lower half of a descriptor of rows of DIM bytes, and the whole of it. */
DEVICE uint32_t descriptor_low(uint32_t address) {
    return address >> 4 | 1u << 16;
}
DEVICE uint64_t descriptor_from_low(uint32_t low) {
    return (uint64_t)(8u * DIM >> 4 | SWIZZLE_CODE << 30) << 32 | low;
}

/* Products of 64 tokens and all columns: [64] of this thread. */
DEVICE void make_products(float *products, uint32_t kv, uint32_t q) {
    pin_f32_array(products, 64);
    wgmma_fence();
    UNROLL
    for (uint32_t i = 0; i < DIM / 32; i++)
        wgmma_e4m3_n128(
            products, descriptor_from_low(kv + i * 2), descriptor_from_low(q + i * 2), i > 0);
    wgmma_commit();
    pin_f32_array(products, 64);
    wgmma_wait<0>();
    pin_f32_array(products, 64);
}

/* One token's logits: sums over this thread's heads become those over the quad's, and one lane of
 * it stores each. there: the token lies somewhere */
DEVICE void finish_token(const args_t *args, const part_t *part, const range_t *ranges, float *sums,
    float scale, int token, bool there) {
    const uint32_t lane = lane_index() % 4;
    const int64_t row = part->request * args->next + part->query;
    UNROLL
    for (uint32_t i = 0; i < QUERIES; i++) {
        sums[i] += shuffle_xor_f32(sums[i], 1);
        sums[i] += shuffle_xor_f32(sums[i], 2);
        if (lane != i % 4 || token < ranges[i].begin || token >= ranges[i].end) continue;
        const int column = args->compressed ? token - ranges[i].begin : token;
        if (there)
            store_logit(args, row + i, column, scale * sums[i]);
        else if (args->clean)
            store_logit(args, row + i, column, f32_from_bits(NOTHING));
    }
}

/* One math warpgroup: its 64 tokens of every block. */
DEVICE void multiply(const args_t *args, walk_t walk) {
    const uint32_t base = shared_base(), warp = warp_index(), lane = lane_index();
    const uint32_t kv_first = descriptor_low(base + warp / 4 * 64 * DIM);
    const uint32_t q_first = descriptor_low(base + AT_Q);
    const uint32_t my_token = warp * 16 + lane / 4;
    place_t p = {0, 0}, q = {0, 0};
    part_t part;
    while (next_part(args, &walk, &part)) {
        float weights[32], products[64];
        range_t ranges[QUERIES];
        UNROLL
        for (uint32_t i = 0; i < 32; i++)
            weights[i] = find_weight(args, &part, i / 2 * 8 + lane % 4 * 2 + i % 2);
        UNROLL
        for (int i = 0; i < QUERIES; i++)
            ranges[i] = find_range(args, part.request, part.query + i);
        mbarrier_wait(q_full_barrier(q), q.parity);
        UNROLL_BY(1)
        for (int block = part.first; block < part.last; block++) {
            float low[QUERIES], high[QUERIES];
            wait_full(p);
            make_products(
                products, kv_first + p.stage * (KV_BYTES / 16), q_first + q.stage * (Q_BYTES / 16));
            const float low_scale = ld_shared_f32(scales_at(p) + my_token * 4);
            const float high_scale = ld_shared_f32(scales_at(p) + my_token * 4 + 32);
            const uint32_t mask = ld_shared_u32(scales_at(p) + BLOCK * 4 + my_token / 32 * 4);
            release(p);
            p = next_place(p);
            UNROLL
            for (int i = 0; i < QUERIES; i++) low[i] = high[i] = 0.f;
            UNROLL
            for (int i = 0; i < 16; i++) {
                const int query = i * 8 / HEADS;
                low[query] += weights[i * 2] * relu_f32(products[i * 4]);
                low[query] += weights[i * 2 + 1] * relu_f32(products[i * 4 + 1]);
                high[query] += weights[i * 2] * relu_f32(products[i * 4 + 2]);
                high[query] += weights[i * 2 + 1] * relu_f32(products[i * 4 + 3]);
            }
            const int token = block * BLOCK + (int)my_token;
            finish_token(args, &part, ranges, low, low_scale, token, mask >> my_token % 32 & 1);
            finish_token(
                args, &part, ranges, high, high_scale, token + 8, mask >> (my_token % 32 + 8) & 1);
        }
        warp_sync();
        if (lane == 0) mbarrier_arrive(q_empty_barrier(q));
        q = next_q(q);
    }
}

KERNEL(THREADS) dg_sm90_fp8_mqa_logits(KERNEL_PARAMETER dg_sm90_mqa_logits_args_t args) {
    const uint32_t warp = warp_index();
    if (thread_index() == THREADS - 1) {
        tensormap_prefetch(&args.q);
        tensormap_prefetch(&args.kv);
    }
    if (thread_index() == 0) {
        init_ring(1 + 32 + 1);
        for (uint32_t b = 0; b < 2; b++) {
            mbarrier_init(q_full_barrier({b, 0}), 1);
            mbarrier_init(q_empty_barrier({b, 0}), MATH_WARPS);
        }
        fence_mbarrier_init();
    }
    fill_scales(&args.problem);
    dependency_wait();
    const walk_t walk = begin_walk(&args.problem); /* all threads meet in it */

    if (warp >= MATH_WARPS) {
        setmaxnreg_dec<LOAD_REGISTERS>();
        if (warp == MATH_WARPS) load(&args, walk);
        if (warp == MATH_WARPS + 1) load_scales(&args.problem, walk);
        if (warp >= MATH_WARPS + 2 && args.problem.clean)
            clean_rows(&args.problem, warp - MATH_WARPS - 2);
    } else {
        setmaxnreg_inc<MATH_REGISTERS>();
        multiply(&args.problem, walk);
    }
}
