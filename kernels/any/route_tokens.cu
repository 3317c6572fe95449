/* SPDX-License-Identifier: MIT
 *
 * Slots of tokens sorted by group (deep_gemm/moe.h), in two launches of this text. Parameters:
 * args/permute.h.
 *
 *     PLACE = 0   a CTA takes a group and counts its slots: `counts`
 *     PLACE = 1   a CTA takes a group, adds up where it begins, and walks over the ids twice: each warp
 *                 counts the group's slots in its own stretch of them, then numbers them from where the
 *                 stretches before end. One CTA more takes the slots that are in no group, and the rows
 *                 behind the last one.
 *
 * Every CTA reads all ids: 1 MB for 32768 tokens of eight slots, out of L2, a small part of the time that
 * their rows take to move. In return nothing is counted by atomics, no list needs a place in memory, and
 * a row depends on nothing but the ids. */
#include "args/permute.h"
#include "device/arithmetic.cuh"
#include "device/barrier.cuh"
#include "device/global.cuh"
#include "device/shared.cuh"
#include "device/warp.cuh"

#define WARPS (THREADS / 32)
#define AHEAD 8 /* ids that a lane has on their way */
#define NO_LIMIT 0x7FFFFFFFu
#define SHARED_BYTES DG_ROUTE_SHARED_BYTES(THREADS)
static_assert(WARPS <= 32 && THREADS % 32 == 0, "one warp adds up what the warps have");

/* The slot's group; group_count if it has none. */
DEVICE uint32_t group_of(const dg_any_route_tokens_args_t *args, uint32_t slot) {
    int64_t at = slot * args->ids.stride[1];
    if (!args->flat)
        at = slot / args->topk * args->ids.stride[0] + slot % args->topk * args->ids.stride[1];
    const int64_t id = args->wide ? (int64_t)ld_global_u64((const int64_t *)args->ids.data + at)
                                  : (int32_t)ld_global_u32((const int32_t *)args->ids.data + at);
    return id >= 0 && id < args->group_count ? (uint32_t)id : args->group_count;
}

DEVICE void store_entry(const dg_any_vector_t *vector, uint32_t i, int32_t value) {
    st_global_u32((int32_t *)vector->data + i * vector->stride, (uint32_t)value);
}

/* ---- sums that stay at `limit` when they get there; no part is above it */

DEVICE uint32_t add(uint32_t a, uint32_t b, uint32_t limit) {
    return a + b < limit ? a + b : limit;
}

DEVICE uint32_t sum_warp(uint32_t value, uint32_t limit) {
    UNROLL
    for (uint32_t mask = 16; mask > 0; mask /= 2)
        value = add(value, shuffle_xor_u32(value, mask), limit);
    return value;
}

/* The sum of what the first `warps` warps give; each gives one number. All threads. */
DEVICE uint32_t sum_warps(uint32_t of_warp, uint32_t warps, uint32_t limit) {
    const uint32_t lane = lane_index(), at = shared_base() + warp_index() * 4;
    cta_sync(); /* the numbers before may still be read */
    if (lane == 0) st_shared_u32(at, of_warp);
    cta_sync();
    return sum_warp(lane < warps ? ld_shared_u32(shared_base() + lane * 4) : 0, limit);
}

/* ---- PLACE = 0 */

DEVICE void count_slots(const dg_any_route_tokens_args_t *args, uint32_t group) {
    uint32_t count = 0;
    UNROLL_BY(AHEAD)
    for (uint32_t slot = thread_index(); slot < args->slots; slot += THREADS)
        count += group_of(args, slot) == group;
    count = sum_warps(sum_warp(count, NO_LIMIT), WARPS, NO_LIMIT);
    if (thread_index() == 0) store_entry(&args->counts, group, (int32_t)count);
}

/* ---- PLACE = 1 */

/* Rows of a group and of its padding: [begin, end), [end, next); limit: where end stays at the most. */
typedef struct place {
    uint32_t begin, end, limit, next;
} place_t;

DEVICE uint32_t load_count(const dg_any_route_tokens_args_t *args, uint32_t group) {
    return ld_global_u32((const int32_t *)args->counts.data + group * args->counts.stride);
}

/* Rows from the group's begin to that of the next one, at most those there are. */
DEVICE uint32_t aligned_rows(const dg_any_route_tokens_args_t *args, uint32_t count) {
    if (args->form == DG_FORM_PSUM && count > 0) {
        const uint32_t over = (count - 1) % (uint32_t)args->alignment;
        const uint32_t missing = (uint32_t)args->alignment - 1 - over;
        return add(count < args->row_count ? count : args->row_count,
            missing < args->row_count ? missing : args->row_count, args->row_count);
    }
    return count < args->row_count ? count : args->row_count;
}

/* All threads. */
DEVICE place_t find_place(const dg_any_route_tokens_args_t *args, uint32_t group) {
    const uint32_t rows = args->row_count;
    const bool none = group == args->group_count;
    const uint32_t count = none ? 0 : load_count(args, group);
    place_t place;
    if (args->form == DG_FORM_MASKED) {
        const uint32_t most = args->group_count > 0 ? rows / args->group_count : 0;
        place.begin = group * most;
        place.limit = place.next = none ? rows : place.begin + most;
    } else {
        uint32_t before = 0;
        for (uint32_t g = thread_index(); g < group; g += THREADS)
            before = add(before, aligned_rows(args, load_count(args, g)), rows);
        place.begin = sum_warps(sum_warp(before, rows), WARPS, rows);
        place.limit = rows;
        place.next = none ? rows : add(place.begin, aligned_rows(args, count), rows);
    }
    place.end = count < place.limit - place.begin ? place.begin + count : place.limit;
    if (none) place.end = place.begin;
    return place;
}

/* The groups of AHEAD x 32 slots from `first` on, below `last`; no group at all past it. */
DEVICE void load_groups(
    const dg_any_route_tokens_args_t *args, uint32_t first, uint32_t last, uint32_t *groups) {
    UNROLL
    for (uint32_t i = 0; i < AHEAD; i++) {
        const uint32_t slot = first + i * 32 + lane_index();
        groups[i] = slot < last ? group_of(args, slot) : args->group_count + 1;
    }
}

/* row: where the slot would be; at `limit` or beyond there is no room. */
DEVICE void place_slot(const dg_any_route_tokens_args_t *args, uint32_t slot, uint32_t group,
    uint32_t row, uint32_t limit) {
    const bool has_row = group < args->group_count && row < limit;
    const uint32_t token = slot / args->topk;
    int32_t *to = (int32_t *)args->rows.data + token * args->rows.stride[0] +
                  slot % args->topk * args->rows.stride[1];
    st_global_u32(to, has_row ? row : 0xFFFFFFFFu);
    if (!has_row) return;
    store_entry(&args->sources, row, (int32_t)token);
    if (args->groups.data != NULL) store_entry(&args->groups, row, (int32_t)group);
}

/* Numbers the slots of a group in their order. All threads. */
DEVICE void place_slots(
    const dg_any_route_tokens_args_t *args, uint32_t group, const place_t *place) {
    const uint32_t step = 32 * AHEAD, lane = lane_index(), warp = warp_index();
    const uint32_t length = (args->slots / WARPS / step + 1) * step;
    const uint32_t first = warp * length;
    const uint32_t last = first + length < args->slots ? first + length : args->slots;
    uint32_t groups[AHEAD], matches = 0;
    for (uint32_t slot = first; slot < last; slot += step) {
        load_groups(args, slot, last, groups);
        UNROLL
        for (int i = 0; i < AHEAD; i++) matches += count_bits(warp_ballot(groups[i] == group));
    }
    uint32_t row = place->begin + sum_warps(matches, warp, NO_LIMIT);
    for (uint32_t slot = first; slot < last; slot += step) {
        load_groups(args, slot, last, groups);
        UNROLL
        for (uint32_t i = 0; i < AHEAD; i++) {
            const uint32_t mask = warp_ballot(groups[i] == group);
            const uint32_t before = count_bits(mask & ((1u << lane) - 1));
            if (groups[i] == group)
                place_slot(args, slot + i * 32 + lane, group, row + before, place->limit);
            row += count_bits(mask);
        }
    }
}

DEVICE void place_group(const dg_any_route_tokens_args_t *args, uint32_t group) {
    const place_t place = find_place(args, group);
    if (thread_index() == 0 && group < args->group_count)
        store_entry(&args->ends, group, (int32_t)place.end);
    for (uint32_t row = place.end + thread_index(); row < place.next; row += THREADS) {
        store_entry(&args->sources, row, -1);
        if (args->groups.data != NULL) store_entry(&args->groups, row, -1);
    }
    place_slots(args, group, &place);
}

KERNEL(THREADS)
dg_any_route_tokens(KERNEL_PARAMETER dg_any_route_tokens_args_t args) {
    dependency_wait();
    const uint32_t groups = args.group_count + PLACE;
    for (uint32_t group = block_index(); group < groups; group += block_count()) {
        if (PLACE)
            place_group(&args, group);
        else
            count_slots(&args, group);
    }
}
