/* SPDX-License-Identifier: MIT
 *
 * Checks of a dg_operand_t, one side of a dense or M-grouped product, against the extents it must
 * have, and its translation into a dg_side_t. The api layer calls these; each refuses with a message
 * that names the operand's own field.
 */
#ifndef DG_MODEL_OPERAND_H
#define DG_MODEL_OPERAND_H

#include <stdbool.h>

#include "deep_gemm/gemm.h"
#include "model/problem.h"
#include "model/tensor.h"

#define DG_OPERAND_DTYPES                                                                          \
    (DG_DTYPE_BIT(DG_DTYPE_E4M3) | DG_DTYPE_BIT(DG_DTYPE_E2M1X2) | DG_DTYPE_BIT(DG_DTYPE_BF16))
#define DG_SCALE_DTYPES                                                                            \
    (DG_DTYPE_BIT(DG_DTYPE_F32) | DG_DTYPE_BIT(DG_DTYPE_E8M0) | DG_DTYPE_BIT(DG_DTYPE_I32))

/* Extents and strides that count E2M1X2 bytes stay below this: doubled, they count codes. */
#define DG_MAX_PACKED_EXTENT (INT64_MAX / 4)

/* What an operand has to be. */
typedef struct dg_operand_rule_t {
    const char *name;    /* "a" or "b" */
    const char *rows;    /* "m": what its first axis counts, for messages */
    int64_t groups;      /* extent of a leading axis, DG_NO_AXIS: there is none */
    int64_t mn;          /* rows; DG_ANY_EXTENT: as many as data has (they are gathered) */
    bool packed_along_k; /* E2M1X2 may be packed along k alone */
} dg_operand_rule_t;

#define DG_NO_AXIS (-1)
#define DG_ANY_EXTENT (-1)

/* Checks both operands of a product and fills both sides; *k is what they are summed over. Data of
 * the wrong type, rank, extents or strides is refused, types that do not go together, different k,
 * and scale factors of the wrong type, shape or granularity. */
dg_status_t dg_check_operand_pair(const dg_operand_t *a, const dg_operand_rule_t *rule_a,
    dg_side_t *side_a, const dg_operand_t *b, const dg_operand_rule_t *rule_b, dg_side_t *side_b,
    int64_t *k);

/* Refuses two operands whose types do not go together. */
dg_status_t dg_check_operand_types(dg_dtype_t a, dg_dtype_t b);

/* Refuses [.., x, y] data with neither of its last two axes contiguous; packed_axis, if it is one, is
 * the axis along which E2M1X2 is packed and must be the contiguous one. */
dg_status_t dg_check_unit_stride(const dg_tensor_t *data, const char *name, int32_t packed_axis);

/* Rules that scale tensors of all families share. `name` is the operand's. */
dg_status_t dg_check_scale_presence(const dg_tensor_t *scale, const char *name, dg_dtype_t data);
dg_status_t dg_check_gran_k(int32_t gran_k, const char *name);

/* Factors (I32: words) that `count` values take at `gran` values a factor. */
int64_t dg_scale_extent(int64_t count, int64_t gran, dg_dtype_t scale);

/* Strides of an axis in values for a tensor whose strides count elements: twice as many where E2M1X2
 * is not packed along that axis. An axis of extent <= 1 has stride `idle`. */
dg_status_t dg_value_stride(const dg_tensor_t *data, const char *name, int32_t axis,
    int32_t packed_axis, int64_t idle, int64_t *stride);

#endif
