/* SPDX-License-Identifier: MIT
 *
 * See operand.h. Shapes are read as [group, row, k]; a rank-2 operand has no group axis.
 */
#include "model/operand.h"

#include <inttypes.h>

#include "base/error.h"
#include "model/tensor.h"

/* k of an operand as its data tells it. An empty E2M1X2 operand leaves open along which axis it is
 * packed, hence two candidates; otherwise both are the same. */
typedef struct dg_operand_k_t {
    int64_t k, or_k;
} dg_operand_k_t;

int64_t dg_scale_extent(int64_t count, int64_t gran, dg_dtype_t scale) {
    const int64_t step = scale == DG_DTYPE_I32 ? 4 * gran : gran;
    return count / step + (count % step != 0);
}

dg_status_t dg_value_stride(const dg_tensor_t *data, const char *name, int32_t axis,
    int32_t packed_axis, int64_t idle, int64_t *stride) {
    *stride = idle;
    if (data->shape[axis] == 1 || dg_tensor_elements(data) == 0) return DG_STATUS_OK;
    *stride = data->stride[axis];
    if (data->dtype != DG_DTYPE_E2M1X2 || axis == packed_axis) return DG_STATUS_OK;
    DG_REQUIRE(*stride<DG_MAX_PACKED_EXTENT && * stride> - DG_MAX_PACKED_EXTENT,
        DG_STATUS_BAD_STRIDE, name, ".data",
        "stride %" PRId64 " along axis %d, expected less than 2^61; check the strides", *stride,
        axis);
    *stride *= 2;
    return DG_STATUS_OK;
}

/* Axis of data that E2M1X2 codes are packed along; any other type: an axis that does not exist. */
static dg_status_t find_packed_axis(
    const dg_tensor_t *data, const dg_operand_rule_t *rule, int32_t *packed_axis) {
    const int32_t row = data->rank - 2;
    const int64_t rows = data->shape[row];
    *packed_axis = -1;
    if (data->dtype != DG_DTYPE_E2M1X2) return DG_STATUS_OK;
    const bool along_rows = !rule->packed_along_k && rule->mn != 0 && rows != rule->mn &&
                            rows == rule->mn / 2 && rule->mn % 2 == 0;
    *packed_axis = along_rows ? row : row + 1;
    DG_REQUIRE(data->shape[*packed_axis] < DG_MAX_PACKED_EXTENT, DG_STATUS_BAD_SHAPE, rule->name,
        ".data", "shape %s, expected extents below 2^61; check the extents",
        dg_format_list(data->shape, data->rank).bytes);
    return DG_STATUS_OK;
}

static dg_status_t check_extents(
    const dg_tensor_t *data, const dg_operand_rule_t *rule, int32_t packed_axis) {
    const int32_t row = data->rank - 2;
    DG_REQUIRE(rule->groups == DG_NO_AXIS || data->shape[0] == rule->groups, DG_STATUS_BAD_SHAPE,
        rule->name, ".data",
        "shape %s, expected %" PRId64 " groups along the first axis; pass one "
        "matrix for each group",
        dg_format_list(data->shape, data->rank).bytes, rule->groups);
    const bool fits =
        rule->mn == DG_ANY_EXTENT || packed_axis == row || data->shape[row] == rule->mn;
    const char *packing = data->dtype != DG_DTYPE_E2M1X2 ? ""
                          : rule->packed_along_k         ? " (e2m1x2: [rows, k / 2])"
                                                 : " (e2m1x2: [rows, k / 2] or [rows / 2, k])";
    DG_REQUIRE(fits, DG_STATUS_BAD_SHAPE, rule->name, ".data",
        "shape %s, expected %" PRId64
        " rows along axis %d%s, as many as d has %s; pass [.., %s, k], "
        "a view from dg_tensor_transpose() if k comes first in memory",
        dg_format_list(data->shape, data->rank).bytes, rule->mn, row, packing, rule->rows,
        rule->rows);
    return DG_STATUS_OK;
}

dg_status_t dg_check_unit_stride(const dg_tensor_t *data, const char *name, int32_t packed_axis) {
    for (int32_t i = 0; i < data->rank; i++) {
        if (data->shape[i] == 0) return DG_STATUS_OK;
    }
    const int32_t row = data->rank - 2, col = data->rank - 1;
    const bool row_unit = data->shape[row] == 1 || data->stride[row] == 1;
    const bool col_unit = data->shape[col] == 1 || data->stride[col] == 1;
    if (packed_axis >= 0) {
        DG_REQUIRE(packed_axis == row ? row_unit : col_unit, DG_STATUS_BAD_STRIDE, name, ".data",
            "strides %s, expected 1 along axis %d: e2m1x2 codes are packed along the "
            "contiguous axis; pack them along axis %d or copy the tensor",
            dg_format_list(data->stride, data->rank).bytes, packed_axis, packed_axis);
    }
    DG_REQUIRE(row_unit || col_unit, DG_STATUS_BAD_STRIDE, name, ".data",
        "strides %s, expected 1 along one of the last two axes; copy the tensor to a contiguous "
        "one",
        dg_format_list(data->stride, data->rank).bytes);
    return DG_STATUS_OK;
}

static dg_status_t fill_side(
    const dg_tensor_t *data, const char *name, int32_t packed_axis, dg_side_t *side) {
    const int32_t row = data->rank - 2, col = data->rank - 1;
    side->data = data->data;
    side->dtype = data->dtype;
    side->group_stride = 0;
    side->gather_extent = data->shape[row];
    if (data->rank == 3) {
        DG_TRY(dg_value_stride(data, name, 0, packed_axis, 0, &side->group_stride));
    }
    DG_TRY(dg_value_stride(data, name, row, packed_axis, 1, &side->mn_stride));
    DG_TRY(dg_value_stride(data, name, col, packed_axis, 1, &side->k_stride));
    if (packed_axis == row) {
        side->gather_extent *= 2;
        side->mn_stride = 1;
        /* a single k of packed rows: any stride will do that keeps the pairs of a byte together */
        if (data->shape[col] == 1) side->k_stride = 2;
    } else if (packed_axis == col && data->shape[row] == 1) {
        side->mn_stride = 2;
    }
    return DG_STATUS_OK;
}

static dg_status_t check_operand_data(const dg_operand_t *operand, const dg_operand_rule_t *rule,
    dg_side_t *side, dg_operand_k_t *k) {
    const dg_tensor_t *data = &operand->data;
    const int32_t rank = rule->groups == DG_NO_AXIS ? 2 : 3;
    int32_t packed_axis;
    DG_TRY(dg_check_tensor(data, rule->name, ".data", DG_OPERAND_DTYPES, rank));
    DG_TRY(find_packed_axis(data, rule, &packed_axis));
    DG_TRY(check_extents(data, rule, packed_axis));
    DG_TRY(dg_check_unit_stride(data, rule->name, packed_axis));
    DG_TRY(fill_side(data, rule->name, packed_axis, side));
    k->k = packed_axis == rank - 1 ? 2 * data->shape[rank - 1] : data->shape[rank - 1];
    const bool open = packed_axis == rank - 1 && rule->mn == 0 && !rule->packed_along_k;
    k->or_k = open ? data->shape[rank - 1] : k->k;
    return DG_STATUS_OK;
}

dg_status_t dg_check_operand_types(dg_dtype_t a, dg_dtype_t b) {
    DG_REQUIRE((a == DG_DTYPE_BF16) == (b == DG_DTYPE_BF16), DG_STATUS_BAD_DTYPE, "b", ".data",
        "dtype %s beside a's %s, expected bf16 for both or e4m3 or e2m1x2 for both; convert one "
        "operand",
        dg_dtype_string(b), dg_dtype_string(a));
    return DG_STATUS_OK;
}

static dg_status_t match_k(const dg_operand_k_t *a, const dg_operand_k_t *b, int64_t *k) {
    const bool b_fits = a->k == b->k || a->k == b->or_k;
    const bool a_fits = a->or_k == b->k || a->or_k == b->or_k;
    DG_REQUIRE(a_fits || b_fits, DG_STATUS_BAD_SHAPE, "b", ".data",
        "k = %" PRId64 ", but a has k = %" PRId64 ": both are summed over the same k; pass "
        "operands of equal k (an e2m1x2 byte holds two)",
        b->k, a->k);
    *k = b_fits ? a->k : a->or_k;
    return DG_STATUS_OK;
}

dg_status_t dg_check_scale_presence(const dg_tensor_t *scale, const char *name, dg_dtype_t data) {
    const bool given = dg_tensor_given(scale);
    DG_REQUIRE(!given || data != DG_DTYPE_BF16, DG_STATUS_BAD_SCALE, name, ".scale",
        "factors of dtype %s given for a bf16 operand, expected none; leave the field at "
        "DG_NO_TENSOR",
        dg_dtype_string(scale->dtype));
    DG_REQUIRE(given || data != DG_DTYPE_E2M1X2, DG_STATUS_BAD_SCALE, name, ".scale",
        "no factors given for an e2m1x2 operand, expected f32, e8m0 or i32; pass the factors "
        "dg_quantize wrote for this operand");
    return DG_STATUS_OK;
}

dg_status_t dg_check_gran_k(int32_t gran_k, const char *name) {
    DG_REQUIRE(gran_k == 32 || gran_k == 128, DG_STATUS_BAD_VALUE, name, ".gran_k",
        "%d, expected 32 or 128: the values along k that one factor covers; set it as it was when "
        "the operand was quantised",
        gran_k);
    return DG_STATUS_OK;
}

static dg_status_t check_operand_scale(
    const dg_operand_t *operand, const dg_operand_rule_t *rule, int64_t k, dg_side_t *side) {
    const dg_tensor_t *scale = &operand->scale;
    const char *name = rule->name;
    side->scale = (dg_factors_t){.gran_mn = 1, .gran_k = 128};
    DG_TRY(dg_check_scale_presence(scale, name, side->dtype));
    if (!dg_tensor_given(scale)) return DG_STATUS_OK;
    const int32_t rank = rule->groups == DG_NO_AXIS ? 2 : 3;
    DG_REQUIRE(operand->gran_mn >= 1, DG_STATUS_BAD_VALUE, name, ".gran_mn",
        "%d, expected 1, 128 or another positive number: the rows that one factor covers; set it "
        "as it was when the operand was quantised",
        operand->gran_mn);
    DG_TRY(dg_check_gran_k(operand->gran_k, name));
    DG_TRY(dg_check_tensor(scale, name, ".scale", DG_SCALE_DTYPES, rank));

    const int64_t mn = rule->mn == DG_ANY_EXTENT ? side->gather_extent : rule->mn;
    const int64_t expected[3] = {rule->groups, dg_scale_extent(mn, operand->gran_mn, DG_DTYPE_F32),
        dg_scale_extent(k, operand->gran_k, scale->dtype)};
    const int64_t *tail = expected + 3 - rank;
    /* the k of an empty E2M1X2 operand can be open (see dg_check_operand_data), and so its blocks */
    const bool open_k = mn == 0 && side->dtype == DG_DTYPE_E2M1X2;
    bool fits = open_k || scale->shape[rank - 1] == tail[rank - 1];
    for (int32_t i = 0; i < rank - 1; i++) fits = fits && scale->shape[i] == tail[i];
    DG_REQUIRE(fits, DG_STATUS_BAD_SCALE, name, ".scale",
        "shape %s, expected %s: one %s for each gran_mn x gran_k = %d x %d block of %s [%" PRId64
        ", %" PRId64 "]%s; pass the factors dg_quantize wrote for this operand",
        dg_format_list(scale->shape, rank).bytes, dg_format_list(tail, rank).bytes,
        scale->dtype == DG_DTYPE_I32 ? "quarter of an i32 word" : "factor", operand->gran_mn,
        operand->gran_k, name, mn, k, rank == 3 ? " of each group" : "");

    side->scale = (dg_factors_t){.data = scale->data,
        .dtype = scale->dtype,
        .group_stride = dg_tensor_stride(scale, rank - 3),
        .mn_stride = dg_tensor_stride(scale, rank - 2),
        .k_stride = dg_tensor_stride(scale, rank - 1),
        .count_k = scale->shape[rank - 1],
        .gran_mn = operand->gran_mn,
        .gran_k = operand->gran_k};
    return DG_STATUS_OK;
}

dg_status_t dg_check_operand_pair(const dg_operand_t *a, const dg_operand_rule_t *rule_a,
    dg_side_t *side_a, const dg_operand_t *b, const dg_operand_rule_t *rule_b, dg_side_t *side_b,
    int64_t *k) {
    dg_operand_k_t k_a, k_b;
    DG_TRY(check_operand_data(a, rule_a, side_a, &k_a));
    DG_TRY(check_operand_data(b, rule_b, side_b, &k_b));
    DG_TRY(dg_check_operand_types(side_a->dtype, side_b->dtype));
    DG_TRY(match_k(&k_a, &k_b, k));
    DG_TRY(check_operand_scale(a, rule_a, *k, side_a));
    return check_operand_scale(b, rule_b, *k, side_b);
}
