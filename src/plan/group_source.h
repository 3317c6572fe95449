/* SPDX-License-Identifier: MIT
 *
 * Groups as the kernels of the casts and of layouts of factors read them, where they lie.
 */
#ifndef DG_PLAN_GROUP_SOURCE_H
#define DG_PLAN_GROUP_SOURCE_H

#include "deep_gemm/grouped.h"
#include "kernels/args/group_tiles.h"
#include "model/tensor.h"

/* SIZES, OFFSETS or PSUM with values, over `rows` rows; all zero for NONE. psum_alignment: what an
 * alignment of 0 means. */
static inline dg_group_source_t dg_describe_groups(
    const dg_groups_t *groups, int64_t rows, int32_t psum_alignment) {
    dg_group_source_t source = {.form = 0};
    if (groups->form == DG_GROUPS_NONE) return source;
    source.data = groups->values.data;
    source.stride = dg_tensor_stride(&groups->values, 0);
    source.count = groups->values.shape[0];
    source.rows = rows;
    source.form = (int32_t)groups->form;
    source.wide = groups->values.dtype == DG_DTYPE_I64;
    source.alignment = groups->alignment > 0 ? groups->alignment : psum_alignment;
    source.groups = (int32_t)groups->values.shape[0];
    return source;
}

#endif
