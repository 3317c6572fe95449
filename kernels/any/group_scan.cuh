/* SPDX-License-Identifier: MIT
 *
 * Group values read, clamped, and added up over one CTA. Used by group_tiles.cu and k_segments.cu.
 *
 * Every thread has a stretch of neighbouring groups (or rows, where each row names its group). Where
 * a group begins depends on all groups before it, but only through a sum (SIZES) or a maximum
 * (OFFSETS, PSUM), so stretches are reduced, the results are scanned over the threads, and each
 * thread then walks its stretch with the right start:
 *
 *     SIZES          begin(g) = sum of size(h), h < g
 *     OFFSETS, PSUM  begin(g) = max of align(end(h)), h < g      (OFFSETS: alignment 1)
 *     MASKED         begin(g) = 0 */
#pragma once
#include "args/group_tiles.h"
#include "device/barrier.cuh"
#include "device/global.cuh"
#include "device/shared.cuh"
#include "device/warp.cuh"

#define MOST 0x7FFFFFFFFFFFFFFFll /* of int64 */
#define WARPS (THREADS / 32)
#define SHARED_BYTES DG_GROUP_SCAN_SHARED_BYTES(THREADS)
static_assert(WARPS <= 32 && THREADS % 32 == 0, "one warp adds up what the warps have");

DEVICE int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}
DEVICE int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}
DEVICE int64_t round_up_quotient(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* What scans combine: a maximum, or a sum that stays at `limit` when it gets there. */
typedef struct joint {
    bool is_max;
    int64_t limit;
} joint_t;

DEVICE int64_t join(joint_t joint, int64_t a, int64_t b) {
    if (joint.is_max) return larger(a, b);
    return a > joint.limit - b ? joint.limit : a + b;
}

DEVICE int64_t shuffle_i64(int64_t value, uint32_t lane) {
    const uint32_t low = shuffle_u32((uint32_t)value, lane);
    return (int64_t)(low | (uint64_t)shuffle_u32((uint32_t)((uint64_t)value >> 32), lane) << 32);
}

/* Joins the values of this lane and of those before it. */
DEVICE int64_t scan_warp(joint_t joint, int64_t value) {
    const uint32_t lane = lane_index();
    UNROLL
    for (uint32_t step = 1; step < 32; step *= 2) {
        const int64_t before = shuffle_i64(value, lane >= step ? lane - step : lane);
        if (lane >= step) value = join(joint, value, before);
    }
    return value;
}

/* Joins the values (>= 0) of the threads before this one; 0 for the first. All threads. */
DEVICE int64_t scan_cta(joint_t joint, int64_t value) {
    const uint32_t lane = lane_index(), warp = warp_index(), at = shared_base();
    const int64_t through = scan_warp(joint, value);
    const int64_t before = shuffle_i64(through, lane > 0 ? lane - 1 : 0);
    cta_sync(); /* the scan before may still be read */
    if (lane == 31) {
        st_shared_u32(at + warp * 8, (uint32_t)through);
        st_shared_u32(at + warp * 8 + 4, (uint32_t)((uint64_t)through >> 32));
    }
    cta_sync();
    int64_t warps = 0;
    if (lane < WARPS) {
        const uint32_t low = ld_shared_u32(at + lane * 8);
        warps = (int64_t)(low | (uint64_t)ld_shared_u32(at + lane * 8 + 4) << 32);
    }
    warps = scan_warp(joint, warps);
    const int64_t warps_before = shuffle_i64(warps, warp > 0 ? warp - 1 : 0);
    const int64_t own = lane > 0 ? before : 0;
    return warp > 0 ? join(joint, warps_before, own) : own;
}

/* The part [first, last) of `count` entries that this thread walks over. */
typedef struct stretch {
    int64_t first, last;
} stretch_t;

DEVICE stretch_t find_stretch(int64_t count) {
    const int64_t length = round_up_quotient(count, THREADS);
    const int64_t first = smaller(thread_index() * length, count);
    return {first, smaller(first + length, count)};
}

DEVICE int64_t value_at(const dg_group_source_t *values, int64_t i) {
    if (values->wide)
        return (int64_t)ld_global_u64((const int64_t *)values->data + i * values->stride);
    return (int32_t)ld_global_u32((const int32_t *)values->data + i * values->stride);
}

/* The same, at least 0 and at most the rows there are. */
DEVICE int64_t clamped_value(const dg_group_source_t *values, int64_t i) {
    return larger(0, smaller(value_at(values, i), values->rows));
}

/* end rounded up to the alignment of PSUM, at most the rows there are. */
DEVICE int64_t align_end(const dg_group_source_t *values, int64_t end) {
    if (values->form != DG_FORM_PSUM) return end;
    const int64_t over = end % values->alignment;
    if (over == 0 || end - over > values->rows - values->alignment)
        return over == 0 ? end : values->rows;
    return end - over + values->alignment;
}

/* Rows [begin, end) belong to a group, [end, aligned_end) are its padding. */
typedef struct range {
    int64_t begin, end, aligned_end;
} range_t;

/* A walk over groups: `begin` is where the next one may begin at the earliest. */
DEVICE range_t next_range(const dg_group_source_t *values, int64_t g, int64_t *begin) {
    const int64_t value = clamped_value(values, g), from = *begin;
    if (values->form == DG_FORM_MASKED) return {0, value, value};
    int64_t end = larger(from, value);
    if (values->form == DG_FORM_SIZES)
        end = value > values->rows - from ? values->rows : from + value;
    const int64_t aligned = end == from ? end : align_end(values, end);
    *begin = larger(from, aligned);
    return {from, end, aligned};
}

/* Where this thread's first group may begin. All threads. */
DEVICE int64_t find_begin(const dg_group_source_t *values, stretch_t stretch) {
    const joint_t joint = {values->form != DG_FORM_SIZES, values->rows};
    int64_t all = 0;
    if (values->form == DG_FORM_MASKED) return 0;
    for (int64_t g = stretch.first; g < stretch.last; g++)
        all = join(joint, all, align_end(values, clamped_value(values, g)));
    return scan_cta(joint, all);
}
