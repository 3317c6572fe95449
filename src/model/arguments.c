/* SPDX-License-Identifier: MIT
 *
 * See arguments.h.
 */
#include "model/arguments.h"

#include <inttypes.h>

#include "base/error.h"
#include "model/span.h"
#include "model/tensor.h"

dg_status_t dg_check_result(const dg_tensor_t *d, int32_t rank) {
    DG_TRY(dg_check_tensor(
        d, "d", "", DG_DTYPE_BIT(DG_DTYPE_BF16) | DG_DTYPE_BIT(DG_DTYPE_F32), rank));
    return dg_check_output_rows(d, "d", "");
}

static dg_status_t check_accumulator_view(const dg_tensor_t *c, const dg_tensor_t *d) {
    DG_TRY(dg_check_tensor(c, "c", "", DG_DTYPE_BIT(d->dtype), d->rank));
    DG_TRY(dg_check_shape(c, "c", "", d->shape,
        "c is added to d element by element; pass a tensor of d's shape, stride 0 repeats a row"));
    const int32_t last = d->rank - 1;
    DG_REQUIRE(c->shape[last] == 1 || c->stride[last] == 1 || dg_tensor_elements(c) == 0,
        DG_STATUS_BAD_STRIDE, "c", "",
        "stride %" PRId64 " along the last axis, expected 1: c is read row by row; pass a "
        "row-major tensor",
        c->stride[last]);
    DG_REQUIRE(dg_same_view(c, d) || !dg_tensors_overlap(c, d), DG_STATUS_OVERLAP, "c", "",
        "memory [0x%" PRIxPTR ", 0x%" PRIxPTR ") partly overlaps d [0x%" PRIxPTR ", 0x%" PRIxPTR
        "); c may be d itself (same address and strides) or lie apart from it: pass one of the two",
        dg_tensor_span(c).begin, dg_tensor_span(c).end, dg_tensor_span(d).begin,
        dg_tensor_span(d).end);
    return DG_STATUS_OK;
}

dg_status_t dg_check_accumulator(const dg_tensor_t *c, const dg_tensor_t *d, dg_output_t *out) {
    const int32_t row = d->rank - 2;
    *out = (dg_output_t){.d = d->data,
        .dtype = d->dtype,
        .group_stride = dg_tensor_stride(d, row - 1),
        .row_stride = dg_tensor_stride(d, row)};
    if (!dg_tensor_given(c)) return DG_STATUS_OK;
    DG_TRY(check_accumulator_view(c, d));
    out->c = c->data;
    out->c_group_stride = dg_tensor_stride(c, row - 1);
    out->c_row_stride = dg_tensor_stride(c, row);
    return DG_STATUS_OK;
}

dg_status_t dg_check_devices(
    const dg_tensor_t *d, const char *name, const dg_input_t *inputs, int count) {
    const dg_device_t device = d->device;
    DG_REQUIRE(dg_tensor_given(d), DG_STATUS_NULL_POINTER, name, "",
        "no tensor, expected the output; fill the field with dg_tensor_2d() or its kin");
    DG_REQUIRE(device.type == DG_DEVICE_CPU || device.type == DG_DEVICE_CUDA, DG_STATUS_BAD_DEVICE,
        name, "", "device type %d, expected %d (CPU) or %d (CUDA); set the tensor's device",
        (int)device.type, (int)DG_DEVICE_CPU, (int)DG_DEVICE_CUDA);
    for (int i = 0; i < count; i++) {
        const dg_device_t other = inputs[i].tensor->device;
        if (!dg_tensor_given(inputs[i].tensor)) continue;
        const bool same =
            other.type == device.type && (other.id == device.id || device.type == DG_DEVICE_CPU);
        DG_REQUIRE(same, DG_STATUS_BAD_DEVICE, inputs[i].name, inputs[i].field,
            "device (type %d, id %d), expected (type %d, id %d), where %s is; copy the tensor there",
            (int)other.type, other.id, (int)device.type, device.id, name);
    }
    return DG_STATUS_OK;
}

dg_status_t dg_check_apart(
    const dg_tensor_t *d, const char *name, const dg_input_t *inputs, int count) {
    const dg_span_t out = dg_tensor_span(d);
    for (int i = 0; i < count; i++) {
        const dg_span_t in = dg_tensor_span(inputs[i].tensor);
        if (out.end <= in.begin || in.end <= out.begin) continue;
        DG_REQUIRE(!dg_tensors_overlap(d, inputs[i].tensor), DG_STATUS_OVERLAP, name, "",
            "memory [0x%" PRIxPTR ", 0x%" PRIxPTR ") shares bytes with %s%s [0x%" PRIxPTR
            ", 0x%" PRIxPTR "); outputs must not overlap inputs: pass another buffer",
            out.begin, out.end, inputs[i].name, inputs[i].field, in.begin, in.end);
    }
    return DG_STATUS_OK;
}

dg_status_t dg_check_row_list(
    const dg_tensor_t *rows, const char *name, const char *field, int64_t count) {
    DG_TRY(dg_check_tensor(
        rows, name, field, DG_DTYPE_BIT(DG_DTYPE_I32) | DG_DTYPE_BIT(DG_DTYPE_I64), 1));
    return dg_check_shape(rows, name, field, &count,
        "one entry for each row of the product; pass as many, -1 for rows of zeros");
}
