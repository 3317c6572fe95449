/* SPDX-License-Identifier: MIT
 *
 * See k_operand.h. One function for each form of the data; they end in the same strides, along mn
 * and along tokens.
 */
#include "model/k_operand.h"

#include <inttypes.h>

#include "base/error.h"
#include "model/arguments.h"
#include "model/operand.h"
#include "model/tensor.h"

/* What the form functions share. */
typedef struct dg_k_check_t {
    const dg_tensor_t *data;
    const char *name, *mn_name;
    int64_t mn;
    dg_k_side_t *side;
    dg_token_count_t *tokens;
} dg_k_check_t;

static bool is_packed(const dg_tensor_t *data) {
    return data->dtype == DG_DTYPE_E2M1X2;
}

/* Strides of rank-2 data whose axis mn_axis counts rows; e2m1x2 is packed along axis 1. */
static dg_status_t fill_strides(const dg_k_check_t *check, int32_t mn_axis) {
    const dg_tensor_t *data = check->data;
    const int32_t packed_axis = is_packed(data) ? 1 : -1;
    dg_side_t *side = &check->side->side;
    DG_TRY(dg_check_unit_stride(data, check->name, packed_axis));
    DG_REQUIRE(!is_packed(data) || data->shape[1] < DG_MAX_PACKED_EXTENT, DG_STATUS_BAD_SHAPE,
        check->name, ".data", "shape %s, expected extents below 2^61; check the extents",
        dg_format_list(data->shape, 2).bytes);
    int64_t *strides[2] = {&side->mn_stride, &side->k_stride};
    if (mn_axis == 1) strides[0] = &side->k_stride, strides[1] = &side->mn_stride;
    /* two e2m1 codes a byte: indices along the other axis must advance by whole bytes */
    DG_TRY(dg_value_stride(data, check->name, 0, packed_axis, is_packed(data) ? 2 : 1, strides[0]));
    return dg_value_stride(data, check->name, 1, packed_axis, 1, strides[1]);
}

static dg_status_t check_tokens_first(const dg_k_check_t *check, const dg_tensor_t *rows) {
    const dg_tensor_t *data = check->data;
    DG_TRY(dg_check_tensor(data, check->name, ".data", DG_OPERAND_DTYPES, 2));
    const int64_t stored = is_packed(data) ? check->mn / 2 : check->mn;
    DG_REQUIRE(!is_packed(data) || check->mn % 2 == 0, DG_STATUS_BAD_SHAPE, check->name, ".data",
        "shape %s of e2m1x2 for %s = %" PRId64
        ", expected an even %s: [tokens, %s / 2] holds two a "
        "byte; pad %s by one",
        dg_format_list(data->shape, 2).bytes, check->mn_name, check->mn, check->mn_name,
        check->mn_name, check->mn_name);
    DG_REQUIRE(data->shape[1] == stored, DG_STATUS_BAD_SHAPE, check->name, ".data",
        "shape %s, expected [tokens, %" PRId64 "]: TOKENS_FIRST is [tokens, %s]%s; pass that, or "
        "set the form to TOKENS_LAST",
        dg_format_list(data->shape, 2).bytes, stored, check->mn_name,
        is_packed(data) ? ", two e2m1x2 values a byte" : "");
    DG_TRY(fill_strides(check, 1));
    check->side->side.gather_extent = data->shape[0];
    int64_t count = data->shape[0];
    if (dg_tensor_given(rows)) {
        count = rows->shape[0];
        DG_TRY(dg_check_row_list(rows, check->name, ".rows", count));
    }
    *check->tokens = (dg_token_count_t){count, count};
    return DG_STATUS_OK;
}

static dg_status_t check_tokens_last(const dg_k_check_t *check) {
    const dg_tensor_t *data = check->data;
    DG_TRY(dg_check_tensor(data, check->name, ".data", DG_OPERAND_DTYPES, 2));
    DG_REQUIRE(data->shape[0] == check->mn, DG_STATUS_BAD_SHAPE, check->name, ".data",
        "shape %s, expected [%" PRId64 ", tokens]: TOKENS_LAST is [%s, tokens]; pass that, or set "
        "the form to TOKENS_FIRST",
        dg_format_list(data->shape, 2).bytes, check->mn, check->mn_name);
    DG_TRY(fill_strides(check, 0));
    const int64_t high = is_packed(data) ? 2 * data->shape[1] : data->shape[1];
    const int64_t low = is_packed(data) && high > 0 ? high - 1 : high;
    *check->tokens = (dg_token_count_t){low, high};
    return DG_STATUS_OK;
}

static dg_status_t check_flat(const dg_k_check_t *check) {
    const dg_tensor_t *data = check->data;
    DG_TRY(dg_check_tensor(data, check->name, ".data", DG_OPERAND_DTYPES, 1));
    DG_REQUIRE(data->shape[0] <= 1 || data->stride[0] == 1, DG_STATUS_BAD_STRIDE, check->name,
        ".data", "stride %" PRId64 ", expected 1: FLAT data is contiguous; copy the tensor",
        data->stride[0]);
    const int64_t mn = check->mn;
    const bool whole = mn == 0 ? data->shape[0] == 0 : data->shape[0] % mn == 0;
    DG_REQUIRE(whole, DG_STATUS_BAD_SHAPE, check->name, ".data",
        "shape %s, expected a multiple of %s = %" PRId64 ": FLAT holds a matrix [%s, k_g] for each "
        "group; pass all of them back to back",
        dg_format_list(data->shape, 1).bytes, check->mn_name, mn, check->mn_name);
    check->side->flat = true;
    check->side->side.mn_stride = check->side->side.k_stride = 1;
    check->side->flat_length = mn == 0 ? 0 : data->shape[0] / mn;
    DG_REQUIRE(check->side->flat_length < DG_MAX_PACKED_EXTENT, DG_STATUS_BAD_SHAPE, check->name,
        ".data", "shape %s, expected less than 2^61 for each %s; check the extent",
        dg_format_list(data->shape, 1).bytes, check->mn_name);
    const int64_t count = check->side->flat_length;
    *check->tokens = mn == 0           ? (dg_token_count_t){0, INT64_MAX}
                     : is_packed(data) ? (dg_token_count_t){0, 2 * count}
                                       : (dg_token_count_t){count, count};
    return DG_STATUS_OK;
}

dg_status_t dg_check_k_operand(const dg_k_operand_t *operand, const char *name, const char *mn_name,
    int64_t mn, dg_k_side_t *side, dg_token_count_t *tokens) {
    const dg_k_check_t check = {&operand->data, name, mn_name, mn, side, tokens};
    *side = (dg_k_side_t){.name = name,
        .side = {.data = operand->data.data, .dtype = operand->data.dtype},
        .rows = operand->rows};
    DG_REQUIRE(!dg_tensor_given(&operand->rows) || operand->form == DG_K_TOKENS_FIRST ||
                   operand->form < DG_K_TOKENS_FIRST || operand->form > DG_K_FLAT,
        DG_STATUS_BAD_VALUE, name, ".rows",
        "given with the form %d, but only TOKENS_FIRST (%d) gathers rows; leave it at DG_NO_TENSOR",
        (int)operand->form, (int)DG_K_TOKENS_FIRST);
    switch (operand->form) {
    case DG_K_TOKENS_FIRST: return check_tokens_first(&check, &operand->rows);
    case DG_K_TOKENS_LAST: return check_tokens_last(&check);
    case DG_K_FLAT: return check_flat(&check);
    case DG_K_NONE: break;
    }
    return dg_fail(DG_STATUS_BAD_ENUM, name, ".form",
        "%d, expected DG_K_TOKENS_FIRST (1), DG_K_TOKENS_LAST (2) or DG_K_FLAT (3): the form is "
        "never guessed from the shape; set it",
        (int)operand->form);
}

static bool contains(const dg_token_count_t *count, int64_t tokens) {
    return tokens >= count->low && tokens <= count->high;
}

dg_status_t dg_match_tokens(
    const dg_token_count_t *a, const dg_token_count_t *b, int64_t given, int64_t *tokens) {
    DG_REQUIRE(given >= 0, DG_STATUS_BAD_VALUE, "num_tokens", "",
        "%" PRId64 ", expected the number of tokens, or 0 to take it from the operands", given);
    const int64_t common = a->high < b->high ? a->high : b->high;
    *tokens = given != 0 ? given : a->low == a->high ? a->low : b->low == b->high ? b->low : common;
    DG_REQUIRE(contains(a, *tokens), DG_STATUS_BAD_SHAPE, given != 0 ? "num_tokens" : "a",
        given != 0 ? "" : ".data",
        "%" PRId64 " tokens, but a holds %" PRId64 "; pass operands of as many tokens", *tokens,
        a->high);
    DG_REQUIRE(contains(b, *tokens), DG_STATUS_BAD_SHAPE, "b", ".data",
        "holds %" PRId64 " tokens, expected %" PRId64
        ", as a does; pass operands of as many tokens",
        b->high, *tokens);
    return DG_STATUS_OK;
}

dg_status_t dg_check_k_operand_scale(
    const dg_k_operand_t *operand, const char *name, int64_t mn, dg_k_side_t *side) {
    const dg_tensor_t *scale = &operand->scale;
    dg_factors_t *factors = &side->side.scale;
    *factors = (dg_factors_t){.gran_mn = 1, .gran_k = 128};
    DG_TRY(dg_check_scale_presence(scale, name, side->side.dtype));
    if (!dg_tensor_given(scale)) return DG_STATUS_OK;
    DG_TRY(dg_check_gran_k(operand->gran_k, name));
    DG_TRY(dg_check_tensor(scale, name, ".scale", DG_SCALE_DTYPES, 2));
    DG_REQUIRE(scale->shape[1] == mn, DG_STATUS_BAD_SCALE, name, ".scale",
        "shape %s, expected [rows, %" PRId64 "]: a row of factors for each %d tokens of a group; "
        "pass the factors dg_quantize wrote with the same groups, transposed if they lie [mn, rows]",
        dg_format_list(scale->shape, 2).bytes, mn, operand->gran_k);
    *factors = (dg_factors_t){.data = scale->data,
        .dtype = scale->dtype,
        .mn_stride = dg_tensor_stride(scale, 1),
        .k_stride = dg_tensor_stride(scale, 0),
        .count_k = scale->shape[0],
        .gran_mn = 1,
        .gran_k = operand->gran_k};
    return DG_STATUS_OK;
}
