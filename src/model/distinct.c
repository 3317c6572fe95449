/* SPDX-License-Identifier: MIT
 *
 * See distinct.h.
 */
#include "model/distinct.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/text.h"

static int64_t magnitude(int64_t value) {
    return value < 0 ? -value : value;
}

/* Axes of more than one element, by the size of their strides; returns how many. */
static int32_t sort_axes(const dg_tensor_t *tensor, int32_t axes[DG_MAX_RANK]) {
    int32_t count = 0;
    for (int32_t a = 0; a < tensor->rank; ++a) {
        if (tensor->shape[a] == 1) continue;
        int32_t i = count++;
        for (; i > 0 && magnitude(tensor->stride[a]) < magnitude(tensor->stride[axes[i - 1]]);
             --i) {
            axes[i] = axes[i - 1];
        }
        axes[i] = a;
    }
    return count;
}

dg_status_t dg_check_distinct(const dg_tensor_t *tensor, const char *name, const char *field) {
    int32_t axes[DG_MAX_RANK];
    for (int32_t a = 0; a < tensor->rank; ++a) {
        if (tensor->shape[a] == 0) return DG_STATUS_OK;
    }
    const int32_t count = sort_axes(tensor, axes);
    int64_t covered = 1; /* elements that the axes so far reach over; dg_check_tensor() bounds it */
    for (int32_t i = 0; i < count; ++i) {
        const int64_t stride = magnitude(tensor->stride[axes[i]]);
        DG_REQUIRE(stride >= covered, DG_STATUS_BAD_STRIDE, name, field,
            "strides %s let elements of shape %s share memory: axis %d needs a stride of at least "
            "%" PRId64 "; give every element its own place",
            dg_format_list(tensor->stride, tensor->rank).bytes,
            dg_format_list(tensor->shape, tensor->rank).bytes, axes[i], covered);
        covered += (tensor->shape[axes[i]] - 1) * stride;
    }
    return DG_STATUS_OK;
}
