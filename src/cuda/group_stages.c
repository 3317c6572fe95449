/* SPDX-License-Identifier: MIT
 *
 * See group_stages.h.
 */
#include "cuda/group_stages.h"

#include <string.h>

#include "base/error.h"
#include "model/groups.h"
#include "model/tensor.h"

/* A call's groups, whichever family it is of. */
typedef struct dg_grouping_t {
    const dg_groups_t *groups;
    int64_t group_count, rows;
    bool zero_padding;
} dg_grouping_t;

static dg_grouping_t find_grouping(const dg_cuda_run_t *run) {
    const dg_m_grouped_problem_t *m = run->m_grouped;
    const dg_k_grouped_problem_t *k = run->k_grouped;
    if (m != NULL) return (dg_grouping_t){&m->groups, m->group_count, m->rows, m->zero_padding};
    return (dg_grouping_t){&k->groups, k->group_count, k->tokens, false};
}

static void *part_at(const dg_cuda_run_t *run, uint64_t part) {
    return part == DG_NO_PART ? NULL : (char *)run->workspace + part;
}

/* count numbers of 8 bytes into workspace, a launch for each DG_UPLOAD_COUNT of them. */
static dg_status_t upload(
    const dg_cuda_run_t *run, int32_t stage, const void *values, int64_t count, uint64_t part) {
    dg_any_upload_args_t args;
    uint64_t *target = part_at(run, part);
    for (int64_t i = 0; i < count; i += DG_UPLOAD_COUNT) {
        const int64_t left = count - i;
        args.target = target + i;
        args.count = left < DG_UPLOAD_COUNT ? left : DG_UPLOAD_COUNT;
        memcpy(args.values, (const uint64_t *)values + i, (size_t)args.count * sizeof *args.values);
        DG_TRY(dg_cuda_launch_stage(run, stage, &args));
    }
    return DG_STATUS_OK;
}

static dg_status_t run_uploads(
    const dg_cuda_run_t *run, int32_t stage, const dg_group_parts_t *parts) {
    const dg_grouping_t grouping = find_grouping(run);
    const dg_groups_t *groups = grouping.groups;
    const dg_k_grouped_problem_t *k = run->k_grouped;
    const int64_t size = dg_equal_size(groups, grouping.rows);
    if (dg_groups_are_equal(groups) && groups->host_count > 0)
        return upload(run, stage, &size, 1, parts->sizes);
    if (!dg_tensor_given(&groups->values) && groups->host_count > 0) {
        DG_TRY(upload(run, stage, groups->host_sizes, groups->host_count, parts->sizes));
    }
    if (k == NULL || k->d_list == NULL) return DG_STATUS_OK;
    DG_TRY(upload(run, stage, k->d_list, k->group_count, parts->d_list));
    if (k->c_list == NULL) return DG_STATUS_OK;
    return upload(run, stage, k->c_list, k->group_count, parts->c_list);
}

static dg_status_t describe_values(
    const dg_cuda_run_t *run, const dg_group_parts_t *parts, dg_group_source_t *values) {
    const dg_grouping_t grouping = find_grouping(run);
    const dg_groups_t *groups = grouping.groups;
    const bool by_row = groups->form == DG_GROUPS_INDEX || groups->form == DG_GROUPS_BLOCK_INDEX;
    *values = (dg_group_source_t){
        .data = part_at(run, parts->sizes),
        .stride = dg_groups_are_equal(groups) ? 0 : 1,
        .count = by_row ? grouping.rows : grouping.group_count,
        .rows = grouping.rows,
        .form = (int32_t)groups->form,
        .wide = 1,
        .alignment = groups->alignment,
        .groups = (int32_t)grouping.group_count,
    };
    if (dg_tensor_given(&groups->values)) {
        values->data = groups->values.data;
        values->stride = dg_tensor_stride(&groups->values, 0);
        values->wide = groups->values.dtype == DG_DTYPE_I64;
    }
    const bool aligned = groups->form == DG_GROUPS_PSUM || groups->form == DG_GROUPS_BLOCK_INDEX;
    DG_REQUIRE(!aligned || values->alignment > 0, DG_STATUS_INTERNAL, "groups", ".alignment",
        "%d where the context's should stand; please report it", values->alignment);
    return DG_STATUS_OK;
}

static dg_k_segment_side_t describe_side(const dg_k_side_t *side) {
    const dg_factors_t *scale = &side->side.scale;
    const int32_t packed = scale->dtype == DG_DTYPE_I32 ? 4 : 1;
    return (dg_k_segment_side_t){
        .scale_rows = scale->count_k,
        .flat_length = side->flat_length,
        .tokens_a_row = scale->dtype == DG_DTYPE_NONE ? 0 : scale->gran_k * packed,
        .flat = !side->flat                           ? 0
                : side->side.dtype == DG_DTYPE_E2M1X2 ? 2
                                                      : 1,
    };
}

static dg_status_t run_tiles(
    const dg_cuda_run_t *run, int32_t stage, int32_t block_rows, const dg_group_parts_t *parts) {
    dg_any_group_tiles_args_t args = {
        .tiles = part_at(run, parts->tiles),
        .block_rows = block_rows,
        .zero_padding = run->m_grouped->zero_padding,
    };
    DG_TRY(describe_values(run, parts, &args.values));
    return dg_cuda_launch_stage(run, stage, &args);
}

static dg_status_t run_segments(
    const dg_cuda_run_t *run, int32_t stage, const dg_group_parts_t *parts) {
    dg_any_k_segments_args_t args = {
        .a = describe_side(&run->k_grouped->a),
        .b = describe_side(&run->k_grouped->b),
        .segments = part_at(run, parts->segments),
    };
    DG_TRY(describe_values(run, parts, &args.values));
    return dg_cuda_launch_stage(run, stage, &args);
}

dg_status_t dg_cuda_run_group_stages(
    const dg_cuda_run_t *run, int32_t block_rows, dg_group_lists_t *lists) {
    const dg_group_parts_t parts = dg_place_group_parts(run->work, block_rows);
    *lists = (dg_group_lists_t){
        .tiles = part_at(run, parts.tiles),
        .segments = part_at(run, parts.segments),
        .d_list = part_at(run, parts.d_list),
        .c_list = part_at(run, parts.c_list),
    };
    for (int32_t i = 0; i < run->plan->stage_count; i++) {
        switch (run->plan->stage[i].specialisation.kernel) {
        case DG_KERNEL_ANY_UPLOAD: DG_TRY(run_uploads(run, i, &parts)); break;
        case DG_KERNEL_ANY_GROUP_TILES: DG_TRY(run_tiles(run, i, block_rows, &parts)); break;
        case DG_KERNEL_ANY_K_SEGMENTS: DG_TRY(run_segments(run, i, &parts)); break;
        default: break;
        }
    }
    return DG_STATUS_OK;
}
