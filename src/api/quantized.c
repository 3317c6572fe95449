/* SPDX-License-Identifier: MIT
 *
 * See quantized.h.
 */
#include "api/quantized.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/integer.h"
#include "model/distinct.h"
#include "model/quantized.h"
#include "model/tensor.h"

static dg_status_t check_recipe(const dg_quantized_t *q, const char *name, int32_t rank) {
    static const char *const fields[DG_MAX_RANK] = {".gran[0]", ".gran[1]", ".gran[2]", ".gran[3]"};
    for (int32_t a = 0; a < rank; ++a) {
        DG_REQUIRE(q->gran[a] >= 0, DG_STATUS_BAD_VALUE, name, fields[a],
            "%d, expected the extent of a block along axis %d, at least 1, or 0 for the whole axis",
            q->gran[a], a);
    }
    DG_REQUIRE(q->power_of_two >= DG_DEFAULT && q->power_of_two <= DG_OFF, DG_STATUS_BAD_ENUM, name,
        ".power_of_two", "%d, expected DG_DEFAULT (0), DG_ON (1) or DG_OFF (2)",
        (int)q->power_of_two);
    DG_REQUIRE(q->k_axis == DG_K_AXIS_LAST || q->k_axis == DG_K_AXIS_ROWS, DG_STATUS_BAD_ENUM, name,
        ".k_axis", "%d, expected DG_K_AXIS_LAST (0) or DG_K_AXIS_ROWS (1)", (int)q->k_axis);
    return DG_STATUS_OK;
}

/* E4M3 has x's shape. E2M1X2 has it but for one axis, which is half as long. */
static dg_status_t check_data(const dg_quantized_t *q, const char *name, const dg_tensor_t *x) {
    const dg_tensor_t *data = &q->data;
    DG_TRY(dg_check_tensor(
        data, name, ".data", DG_DTYPE_BIT(DG_DTYPE_E4M3) | DG_DTYPE_BIT(DG_DTYPE_E2M1X2), x->rank));
    if (data->dtype == DG_DTYPE_E4M3) {
        return dg_check_shape(data, name, ".data", x->shape,
            "codes have the shape of x; pass a tensor of that shape, or a view of it");
    }
    int32_t halved = -1, wrong = 0;
    for (int32_t a = 0; a < x->rank; ++a) {
        if (data->shape[a] == x->shape[a]) continue;
        const bool half = x->shape[a] % 2 == 0 && data->shape[a] == x->shape[a] / 2;
        wrong += !half || halved >= 0;
        halved = a;
    }
    const bool empty = dg_tensor_elements(x) == 0;
    DG_REQUIRE(wrong == 0 && (halved >= 0 || empty), DG_STATUS_BAD_SHAPE, name, ".data",
        "shape %s for x of shape %s, expected one axis halved and the others equal: e2m1x2 holds "
        "two codes a byte along that axis, which must be even; pad x to an even extent",
        dg_format_list(data->shape, data->rank).bytes, dg_format_list(x->shape, x->rank).bytes);
    DG_REQUIRE(empty || data->shape[halved] == 1 || data->stride[halved] == 1, DG_STATUS_BAD_STRIDE,
        name, ".data",
        "stride %" PRId64 " along axis %d, expected 1 along the axis two of whose codes share a "
        "byte; pass a view with that axis contiguous",
        data->stride[halved], halved);
    return DG_STATUS_OK;
}

/* Factors along axis a of x: for axis 0 of grouped x, those of all groups. */
static int64_t count_factors(
    const dg_quantized_t *q, const dg_tensor_t *x, int32_t a, const dg_call_groups_t *groups) {
    const bool word = q->scale.dtype == DG_DTYPE_I32 && a == dg_quantized_k_axis(q, x->rank);
    const int64_t per_factor = word ? 4 : 1;
    int64_t factors = 0;
    if (groups != NULL && dg_quantized_by_row(q, x->rank)) return x->shape[0];
    for (int64_t g = 0; g < (groups ? groups->count : 1); ++g) {
        const int64_t rows = groups ? groups->ranges[g].end - groups->ranges[g].begin : x->shape[a];
        const int64_t gran = q->gran[a] != 0 ? q->gran[a] : rows > 0 ? rows : 1;
        factors += dg_ceil_div(dg_ceil_div(rows, gran), per_factor);
    }
    return factors;
}

static dg_status_t check_scale(const dg_quantized_t *q, const char *name, const dg_tensor_t *x,
    bool grouped, const dg_call_groups_t *groups) {
    DG_TRY(dg_check_tensor(&q->scale, name, ".scale",
        DG_DTYPE_BIT(DG_DTYPE_F32) | DG_DTYPE_BIT(DG_DTYPE_E8M0) | DG_DTYPE_BIT(DG_DTYPE_I32),
        x->rank));
    int64_t expected[DG_MAX_RANK], gran[DG_MAX_RANK];
    bool fits = true;
    for (int32_t a = 0; a < x->rank; ++a) {
        const bool open = grouped && a == 0;
        expected[a] = count_factors(q, x, a, open ? groups : NULL);
        gran[a] = q->gran[a];
        fits = fits && (open ? q->scale.shape[a] >= expected[a] : q->scale.shape[a] == expected[a]);
    }
    DG_REQUIRE(fits, DG_STATUS_BAD_SCALE, name, ".scale",
        "shape %s, expected %s%s: one %s for each block of gran %s in x of shape %s%s; pass a "
        "tensor of that shape, or change gran",
        dg_format_list(q->scale.shape, x->rank).bytes, dg_format_list(expected, x->rank).bytes,
        grouped ? " or more rows" : "",
        q->scale.dtype == DG_DTYPE_I32 ? "byte of an i32 word" : "factor",
        dg_format_list(gran, x->rank).bytes, dg_format_list(x->shape, x->rank).bytes,
        grouped ? ", each group starting its own (gran[0] = 1: one row for each of x)" : "");
    return DG_STATUS_OK;
}

dg_status_t dg_check_quantized(const dg_quantized_t *q, const char *name, const dg_tensor_t *x,
    bool grouped, const dg_call_groups_t *groups) {
    DG_TRY(check_recipe(q, name, x->rank));
    DG_TRY(check_data(q, name, x));
    return check_scale(q, name, x, grouped, groups);
}

dg_status_t dg_check_quantized_output(const dg_quantized_t *q, const char *name,
    const dg_tensor_t *x, bool grouped, const dg_call_groups_t *groups) {
    DG_TRY(dg_check_quantized(q, name, x, grouped, groups));
    DG_TRY(dg_check_distinct(&q->data, name, ".data"));
    return dg_check_distinct(&q->scale, name, ".scale");
}
