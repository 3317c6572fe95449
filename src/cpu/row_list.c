/* SPDX-License-Identifier: MIT
 *
 * See row_list.h.
 */
#include "cpu/row_list.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"

dg_status_t dg_read_row(const dg_row_source_t *source, int64_t i, int32_t *row) {
    const int64_t value = dg_integer_at(source->tensor, i);
    *row = value < 0 || value >= source->limit ? -1 : (int32_t)value;
    DG_REQUIRE(value < source->limit || source->clamp, DG_STATUS_BAD_VALUE, source->name,
        source->field,
        "entry %" PRId64 " is %" PRId64 ", expected less than %" PRId64
        ", or a negative number for none; correct it, or let the context clamp group_values",
        i, value, source->limit);
    return DG_STATUS_OK;
}

dg_status_t dg_check_row_count(const dg_row_source_t *source) {
    const int64_t entries = source->tensor->shape[0];
    const int64_t most = entries > source->limit ? entries : source->limit;
    DG_REQUIRE(most <= INT32_MAX, DG_STATUS_UNSUPPORTED, source->name, source->field,
        "%" PRId64 " rows, expected at most 2^31 - 1 where rows are listed; split the call", most);
    return DG_STATUS_OK;
}

dg_status_t dg_read_row_list(const dg_row_source_t *source, const dg_group_range_t *ranges,
    int64_t count, const int32_t **list, int32_t **owned) {
    const dg_tensor_t *tensor = source->tensor;
    const bool in_place = tensor->dtype == DG_DTYPE_I32 && !source->clamp &&
                          (tensor->shape[0] <= 1 || tensor->stride[0] == 1);
    *owned = NULL;
    DG_TRY(dg_check_row_count(source));
    if (!in_place) {
        *owned = malloc((size_t)(tensor->shape[0] + 1) * sizeof **owned);
        DG_REQUIRE(*owned != NULL, DG_STATUS_OUT_OF_MEMORY, source->name, source->field,
            "no memory for a list of %" PRId64 " rows", tensor->shape[0]);
    }
    for (int64_t g = 0; g < count; g++) {
        for (int64_t i = ranges[g].begin; i < ranges[g].end; i++) {
            int32_t row;
            const dg_status_t status = dg_read_row(source, i, &row);
            if (status != DG_STATUS_OK) {
                free(*owned);
                *owned = NULL;
                return status;
            }
            if (!in_place) (*owned)[i] = row;
        }
    }
    *list = in_place ? tensor->data : *owned;
    return DG_STATUS_OK;
}
