/* SPDX-License-Identifier: MIT
 *
 * See group_stages.h.
 */
#include "plan/group_stages.h"

#include "base/integer.h"

/* Threads of each helper: the lists are made by one CTA, as wide as a CTA can be. */
enum { LIST_THREADS = 1024, UPLOAD_THREADS = 256, PART_ALIGNMENT = 256 };

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* A stretch of rows makes one tile more than its rows fill, at most. */
int64_t dg_group_tile_bound(const dg_work_t *work, int32_t block_rows) {
    const int64_t groups = work->group_count, full = work->m / block_rows;
    switch ((dg_group_form_t)work->group_form) {
    case DG_GROUPS_MASKED: return groups * (full + (work->m % block_rows != 0));
    case DG_GROUPS_PSUM: /* each group and its padding */
        return smaller(work->m, full + (work->zero_padding ? 2 : 1) * groups);
    case DG_GROUPS_SIZES:
    case DG_GROUPS_OFFSETS: return smaller(work->m, full + groups);
    case DG_GROUPS_BLOCK_INDEX: /* each block, which may be another group's */
        return smaller(work->m, full + dg_ceil_div(work->m, work->group_alignment));
    default: return work->m; /* an index may name another group in every row */
    }
}

static uint64_t place(uint64_t bytes, uint64_t *end) {
    const uint64_t at = *end;
    *end = (at + bytes + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
    return at;
}

dg_group_parts_t dg_place_group_parts(const dg_work_t *work, int32_t block_rows) {
    const uint64_t groups = (uint64_t)work->group_count;
    const bool m_grouped = work->family == DG_FAMILY_M_GROUPED_GEMM;
    const bool k_grouped = work->family == DG_FAMILY_K_GROUPED_GEMM;
    const bool listed = k_grouped && work->k_output == DG_K_OUTPUT_LIST;
    dg_group_parts_t parts = {DG_NO_PART, DG_NO_PART, DG_NO_PART, DG_NO_PART, DG_NO_PART, 0};
    if (!m_grouped && !k_grouped) return parts;
    const bool whole = work->group_form == DG_GROUPS_MASKED && work->aligned_groups;
    if (whole) parts.sizes = place(8, &parts.bytes);
    if (work->group_form == DG_GROUPS_SIZES) parts.sizes = place(groups * 8, &parts.bytes);
    if (listed) parts.d_list = place(groups * 8, &parts.bytes);
    if (listed && work->accumulates) parts.c_list = place(groups * 8, &parts.bytes);
    if (m_grouped) {
        const uint64_t tiles = (uint64_t)dg_group_tile_bound(work, block_rows);
        parts.tiles =
            place(sizeof(dg_group_tiles_t) + tiles * sizeof(dg_group_tile_t), &parts.bytes);
    } else {
        parts.segments = place(groups * sizeof(dg_k_segment_t), &parts.bytes);
    }
    return parts;
}

static void add_stage(dg_plan_t *plan, int32_t kernel, uint32_t threads, uint32_t shared_bytes) {
    plan->stage[plan->stage_count++] = (dg_plan_stage_t){
        .specialisation = {.kernel = kernel, .values = {(int32_t)threads}},
        .grid = 1,
        .threads = threads,
        .cluster = 1,
        .shared_bytes = shared_bytes,
    };
}

void dg_plan_group_stages(const dg_work_t *work, int32_t block_rows, dg_plan_t *plan) {
    const dg_group_parts_t parts = dg_place_group_parts(work, block_rows);
    plan->stage_count = 0;
    plan->workspace = parts.bytes;
    if (parts.sizes != DG_NO_PART || parts.d_list != DG_NO_PART) {
        add_stage(plan, DG_KERNEL_ANY_UPLOAD, UPLOAD_THREADS, 0);
    }
    if (parts.tiles != DG_NO_PART || parts.segments != DG_NO_PART) {
        add_stage(plan,
            parts.tiles != DG_NO_PART ? DG_KERNEL_ANY_GROUP_TILES : DG_KERNEL_ANY_K_SEGMENTS,
            LIST_THREADS, DG_GROUP_SCAN_SHARED_BYTES(LIST_THREADS));
    }
}
