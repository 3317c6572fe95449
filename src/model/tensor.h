/* SPDX-License-Identifier: MIT
 *
 * Checks of single tensors that every family needs: presence, type, rank, shape, strides, device.
 * Called by the api layer; the rules that are particular to a family stay there.
 *
 * `name` and `field` are the argument's name in two parts, ("a", ".data"), as dg_fail() takes them.
 */
#ifndef DG_MODEL_TENSOR_H
#define DG_MODEL_TENSOR_H

#include <stdbool.h>

#include "base/text.h"
#include "deep_gemm/tensor.h"

/* A set of element types: bit (1 << dtype). */
typedef uint32_t dg_dtype_set_t;
#define DG_DTYPE_BIT(dtype) (1u << (dtype))

/* True unless the tensor is DG_NO_TENSOR: an optional argument was given. */
static inline bool dg_tensor_given(const dg_tensor_t *tensor) {
    return tensor->data != NULL || tensor->dtype != DG_DTYPE_NONE || tensor->rank != 0;
}

/* Product of the extents; 0 if any of them is 0. The tensor has passed dg_check_tensor(). */
int64_t dg_tensor_elements(const dg_tensor_t *tensor);

/* The stride of an axis as it may be computed with: 0 where callers may leave anything, for an axis
 * of extent 1 or of an empty tensor, and for an axis below 0, one that the tensor does not have. */
int64_t dg_tensor_stride(const dg_tensor_t *tensor, int32_t axis);

/* "e4m3" or "e4m3 or bf16" for messages. */
dg_text_t dg_format_dtypes(dg_dtype_set_t set);

/* Refuses a tensor that is absent, has a type outside `dtypes`, another rank than `rank`, a negative
 * extent, extents or strides whose byte offsets leave int64, no data although it has elements, or
 * an address that is no multiple of the element size. */
dg_status_t dg_check_tensor(const dg_tensor_t *tensor, const char *name, const char *field,
    dg_dtype_set_t dtypes, int32_t rank);

/* Refuses a shape other than `shape` ([rank] extents). `rule` ends the message: what the extents
 * mean and what to do. */
dg_status_t dg_check_shape(const dg_tensor_t *tensor, const char *name, const char *field,
    const int64_t *shape, const char *rule);

/* Refuses an output that has its elements in other than rows of stride 1 along the last axis, or
 * in which two elements share memory. */
dg_status_t dg_check_output_rows(const dg_tensor_t *tensor, const char *name, const char *field);

#endif
