/* SPDX-License-Identifier: MIT
 *
 * See mqa_logits.h.
 */
#include "model/mqa_logits.h"

#include <inttypes.h>

#include "base/error.h"
#include "model/tensor.h"

enum { MAX_E2M1_BYTES = 64 }; /* a word has four factors for 32 values each */

/* [rows] of `length` codes: at most as many as a word has factors for, if it is E2M1X2. */
static dg_status_t check_packed_dim(const dg_tensor_t *q, int64_t length) {
    DG_REQUIRE(q->dtype != DG_DTYPE_E2M1X2 || length <= MAX_E2M1_BYTES, DG_STATUS_BAD_SHAPE, "q",
        "",
        "%" PRId64 " bytes along the last axis, expected at most %d: a row of e2m1x2 has four "
        "factors for 32 values each; pass e4m3 for a larger dim",
        length, (int)MAX_E2M1_BYTES);
    return DG_STATUS_OK;
}

static dg_status_t check_scale(
    const dg_tensor_t *q, const dg_tensor_t *scale, dg_logits_queries_t *queries) {
    if (q->dtype == DG_DTYPE_E4M3) {
        DG_REQUIRE(!dg_tensor_given(scale), DG_STATUS_BAD_SCALE, "q_scale", "",
            "given beside q of e4m3, expected none: multiply it into weights");
        return DG_STATUS_OK;
    }
    const int32_t rank = q->rank - 1;
    DG_REQUIRE(dg_tensor_given(scale), DG_STATUS_BAD_SCALE, "q_scale", "",
        "no tensor beside q of e2m1x2, expected i32: four UE8M0 factors for each head of a query; "
        "pass the factors of the cast that made q");
    DG_TRY(dg_check_logits_list(
        scale, "q_scale", rank, q->shape, "a word of four factors for each row of q"));
    queries->scale = scale->data;
    queries->scale_request_stride = rank == 3 ? dg_tensor_stride(scale, 0) : 0;
    queries->scale_query_stride = dg_tensor_stride(scale, rank - 2);
    queries->scale_head_stride = dg_tensor_stride(scale, rank - 1);
    return DG_STATUS_OK;
}

static dg_status_t check_weights(const dg_tensor_t *weights, dg_logits_queries_t *queries) {
    DG_TRY(dg_check_tensor(
        weights, "weights", "", DG_DTYPE_BIT(DG_DTYPE_F32) | DG_DTYPE_BIT(DG_DTYPE_BF16), 2));
    int64_t shape[2] = {0, queries->heads};
    if (__builtin_mul_overflow(queries->requests, queries->next, &shape[0])) shape[0] = INT64_MAX;
    DG_TRY(dg_check_shape(weights, "weights", "", shape,
        "a weight for each head of each query; pass a tensor of that shape"));
    queries->weights = weights->data;
    queries->weights_dtype = weights->dtype;
    queries->weights_row_stride = dg_tensor_stride(weights, 0);
    queries->weights_head_stride = dg_tensor_stride(weights, 1);
    return DG_STATUS_OK;
}

dg_status_t dg_check_logits_queries(const dg_tensor_t *q, const dg_tensor_t *q_scale,
    const dg_tensor_t *weights, int32_t rank, dg_logits_queries_t *queries) {
    const int32_t last = rank - 1;
    DG_TRY(dg_check_tensor(
        q, "q", "", DG_DTYPE_BIT(DG_DTYPE_E4M3) | DG_DTYPE_BIT(DG_DTYPE_E2M1X2), rank));
    DG_TRY(check_packed_dim(q, q->shape[last]));
    DG_TRY(dg_check_logits_unit_stride(q, "q"));
    *queries = (dg_logits_queries_t){
        .requests = rank == 4 ? q->shape[0] : 1,
        .next = q->shape[last - 2],
        .heads = q->shape[last - 1],
        .dim = dg_logits_dim(q->dtype, q->shape[last]),
        .q = q->data,
        .dtype = q->dtype,
        .request_stride = rank == 4 ? dg_tensor_stride(q, 0) : 0,
        .query_stride = dg_tensor_stride(q, last - 2),
        .head_stride = dg_tensor_stride(q, last - 1),
    };
    DG_TRY(check_scale(q, q_scale, queries));
    return check_weights(weights, queries);
}

dg_status_t dg_check_logits_unit_stride(const dg_tensor_t *tensor, const char *name) {
    const int32_t last = tensor->rank - 1;
    const int64_t stride = dg_tensor_stride(tensor, last);
    const bool idle = tensor->shape[last] == 1 || dg_tensor_elements(tensor) == 0;
    DG_REQUIRE(idle || tensor->stride[last] == 1, DG_STATUS_BAD_STRIDE, name, "",
        "stride %" PRId64 " along the last axis, expected 1: a row is read in one piece; pass a "
        "tensor with dim contiguous",
        stride);
    return DG_STATUS_OK;
}

dg_status_t dg_check_logits_list(const dg_tensor_t *tensor, const char *name, int32_t rank,
    const int64_t *shape, const char *rule) {
    DG_TRY(dg_check_tensor(tensor, name, "", DG_DTYPE_BIT(DG_DTYPE_I32), rank));
    return dg_check_shape(tensor, name, "", shape, rule);
}

dg_status_t dg_check_logits_switch(dg_switch_t value, const char *name) {
    DG_REQUIRE(value >= DG_DEFAULT && value <= DG_OFF, DG_STATUS_BAD_ENUM, name, "",
        "%d, expected DG_DEFAULT (0), DG_ON (1) or DG_OFF (2)", (int)value);
    return DG_STATUS_OK;
}

dg_status_t dg_check_logits_output(
    const dg_tensor_t *logits, dg_switch_t clean, dg_mqa_logits_problem_t *problem) {
    const dg_logits_queries_t *queries = &problem->queries;
    DG_TRY(dg_check_tensor(
        logits, "logits", "", DG_DTYPE_BIT(DG_DTYPE_F32) | DG_DTYPE_BIT(DG_DTYPE_BF16), 2));
    DG_TRY(dg_check_output_rows(logits, "logits", ""));
    DG_TRY(dg_check_logits_switch(clean, "clean"));
    int64_t shape[2] = {0, logits->shape[1]};
    if (__builtin_mul_overflow(queries->requests, queries->next, &shape[0])) shape[0] = INT64_MAX;
    DG_TRY(dg_check_shape(
        logits, "logits", "", shape, "a row for each query of q; pass a tensor of that shape"));
    problem->clean = clean != DG_OFF;
    problem->logits = logits->data;
    problem->logits_dtype = logits->dtype;
    problem->columns = logits->shape[1];
    problem->row_stride = dg_tensor_stride(logits, 0);
    return DG_STATUS_OK;
}
