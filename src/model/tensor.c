/* SPDX-License-Identifier: MIT
 *
 * See tensor.h; the public constructors are declared in deep_gemm/tensor.h.
 */
#include "model/tensor.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/error.h"

static dg_tensor_t dense_tensor(
    const void *data, dg_dtype_t dtype, int32_t rank, int64_t n0, int64_t n1, int64_t n2) {
    const int64_t extents[3] = {n0, n1, n2};
    dg_tensor_t tensor = DG_NO_TENSOR;
    tensor.data = (void *)(uintptr_t)data; /* one view type serves inputs and outputs */
    tensor.device.type = DG_DEVICE_CPU;
    tensor.dtype = dtype;
    tensor.rank = rank;
    uint64_t stride = 1; /* unsigned: absurd extents wrap here and are refused by the call */
    for (int32_t i = rank - 1; i >= 0; --i) {
        tensor.shape[i] = extents[i];
        tensor.stride[i] = (int64_t)stride;
        stride *= (uint64_t)extents[i];
    }
    return tensor;
}

dg_tensor_t dg_tensor_1d(const void *data, dg_dtype_t dtype, int64_t n0) {
    return dense_tensor(data, dtype, 1, n0, 1, 1);
}

dg_tensor_t dg_tensor_2d(const void *data, dg_dtype_t dtype, int64_t n0, int64_t n1) {
    return dense_tensor(data, dtype, 2, n0, n1, 1);
}

dg_tensor_t dg_tensor_3d(const void *data, dg_dtype_t dtype, int64_t n0, int64_t n1, int64_t n2) {
    return dense_tensor(data, dtype, 3, n0, n1, n2);
}

dg_tensor_t dg_tensor_transpose(dg_tensor_t tensor) {
    if (tensor.rank < 2 || tensor.rank > DG_MAX_RANK) return tensor;
    const int32_t i = tensor.rank - 2, j = tensor.rank - 1;
    const int64_t extent = tensor.shape[i], stride = tensor.stride[i];
    tensor.shape[i] = tensor.shape[j], tensor.stride[i] = tensor.stride[j];
    tensor.shape[j] = extent, tensor.stride[j] = stride;
    return tensor;
}

int64_t dg_tensor_elements(const dg_tensor_t *tensor) {
    int64_t count = 1;
    for (int32_t i = 0; i < tensor->rank; ++i) {
        if (tensor->shape[i] == 0)
            return 0; /* whatever the others are, their product may not fit */
    }
    for (int32_t i = 0; i < tensor->rank; ++i) count *= tensor->shape[i];
    return count;
}

int64_t dg_tensor_stride(const dg_tensor_t *tensor, int32_t axis) {
    if (axis < 0 || tensor->shape[axis] == 1 || dg_tensor_elements(tensor) == 0) return 0;
    return tensor->stride[axis];
}

dg_text_t dg_format_dtypes(dg_dtype_set_t set) {
    dg_text_t text = {.bytes = "", .length = 0};
    for (int dtype = DG_DTYPE_E4M3; dtype <= DG_DTYPE_F16; ++dtype) {
        if ((set & DG_DTYPE_BIT(dtype)) == 0) continue;
        set &= ~DG_DTYPE_BIT(dtype);
        const char *separator = text.length == 0 ? "" : set != 0 ? ", " : " or ";
        dg_append_text(&text, "%s%s", separator, dg_dtype_string((dg_dtype_t)dtype));
    }
    return text;
}

/* Every offset, in bytes, from the first element to any other fits int64, and so does the number
 * of elements. Axes of extent 1 have strides that nobody looks at. */
static bool offsets_fit(const dg_tensor_t *tensor, int64_t element_size) {
    int64_t elements = 1, low = 0, high = element_size;
    for (int32_t i = 0; i < tensor->rank; ++i) {
        if (tensor->shape[i] == 0) return true;
    }
    for (int32_t i = 0; i < tensor->rank; ++i) {
        if (tensor->shape[i] == 1) continue;
        int64_t reach;
        if (__builtin_mul_overflow(elements, tensor->shape[i], &elements) ||
            __builtin_mul_overflow(tensor->shape[i] - 1, tensor->stride[i], &reach) ||
            __builtin_mul_overflow(reach, element_size, &reach) ||
            __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) {
            return false;
        }
    }
    int64_t bytes;
    return !__builtin_mul_overflow(elements, element_size, &bytes);
}

dg_status_t dg_check_tensor(const dg_tensor_t *tensor, const char *name, const char *field,
    dg_dtype_set_t dtypes, int32_t rank) {
    DG_REQUIRE(dg_tensor_given(tensor), DG_STATUS_NULL_POINTER, name, field,
        "no tensor, expected %s of rank %d; fill the field with dg_tensor_2d() or its kin",
        dg_format_dtypes(dtypes).bytes, rank);
    const bool known = tensor->dtype > DG_DTYPE_NONE && tensor->dtype <= DG_DTYPE_F16;
    DG_REQUIRE(known && (dtypes & DG_DTYPE_BIT(tensor->dtype)) != 0, DG_STATUS_BAD_DTYPE, name,
        field, "dtype %s (%d), expected %s; convert the tensor, or view it under the right type",
        dg_dtype_string(tensor->dtype), (int)tensor->dtype, dg_format_dtypes(dtypes).bytes);
    DG_REQUIRE(tensor->rank == rank, DG_STATUS_BAD_RANK, name, field,
        "rank %d, expected %d; add or drop an axis", tensor->rank, rank);
    int64_t elements = 1;
    for (int32_t i = 0; i < rank; ++i) {
        DG_REQUIRE(tensor->shape[i] >= 0, DG_STATUS_BAD_SHAPE, name, field,
            "shape %s has a negative extent; extents are at least 0",
            dg_format_list(tensor->shape, rank).bytes);
        if (tensor->shape[i] == 0) elements = 0;
    }
    DG_REQUIRE(offsets_fit(tensor, dg_dtype_size(tensor->dtype)), DG_STATUS_BAD_SHAPE, name, field,
        "shape %s with strides %s spans more than 2^63 bytes; check extents and strides",
        dg_format_list(tensor->shape, rank).bytes, dg_format_list(tensor->stride, rank).bytes);
    DG_REQUIRE(tensor->data != NULL || elements == 0, DG_STATUS_NULL_POINTER, name, field,
        "NULL although shape %s has elements; pass the tensor's address",
        dg_format_list(tensor->shape, rank).bytes);
    const uintptr_t element_size = (uintptr_t)dg_dtype_size(tensor->dtype);
    DG_REQUIRE((uintptr_t)tensor->data % element_size == 0, DG_STATUS_MISALIGNED, name, field,
        "address %p, expected a multiple of %d, the size of a %s; move the tensor", tensor->data,
        (int)element_size, dg_dtype_string(tensor->dtype));
    return DG_STATUS_OK;
}

dg_status_t dg_check_shape(const dg_tensor_t *tensor, const char *name, const char *field,
    const int64_t *shape, const char *rule) {
    for (int32_t i = 0; i < tensor->rank; ++i) {
        DG_REQUIRE(tensor->shape[i] == shape[i], DG_STATUS_BAD_SHAPE, name, field,
            "shape %s, expected %s: %s", dg_format_list(tensor->shape, tensor->rank).bytes,
            dg_format_list(shape, tensor->rank).bytes, rule);
    }
    return DG_STATUS_OK;
}

dg_status_t dg_check_output_rows(const dg_tensor_t *tensor, const char *name, const char *field) {
    const int32_t last = tensor->rank - 1;
    int64_t covered = 1; /* elements from the first to past the last of the axes seen so far */
    for (int32_t i = 0; i < tensor->rank; ++i) {
        if (tensor->shape[i] == 0) return DG_STATUS_OK;
    }
    for (int32_t i = last; i >= 0; --i) {
        if (tensor->shape[i] == 1) continue;
        DG_REQUIRE(i != last || tensor->stride[i] == 1, DG_STATUS_BAD_STRIDE, name, field,
            "stride %" PRId64 " along the last axis, expected 1: outputs are written row by row; "
            "pass a row-major tensor",
            tensor->stride[i]);
        DG_REQUIRE(tensor->stride[i] >= covered, DG_STATUS_BAD_STRIDE, name, field,
            "strides %s let elements of shape %s share memory: axis %d needs a stride of at least "
            "%" PRId64 "; give every element its own place",
            dg_format_list(tensor->stride, tensor->rank).bytes,
            dg_format_list(tensor->shape, tensor->rank).bytes, i, covered);
        covered += (tensor->shape[i] - 1) * tensor->stride[i];
    }
    return DG_STATUS_OK;
}
