/* SPDX-License-Identifier: MIT
 *
 * See route.h. A counting sort in two passes over the ids, on the calling thread: a few nanoseconds
 * a slot, where the rows that move afterwards take microseconds. `ends` serves as the cursors of the
 * groups, so nothing is allocated.
 */
#include "cpu/route.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/integer.h"
#include "model/tensor.h"

static int64_t slot_at(const dg_tensor_t *slots, int64_t token, int64_t slot) {
    const int64_t at = token * dg_tensor_stride(slots, 0) + slot * dg_tensor_stride(slots, 1);
    if (slots->dtype == DG_DTYPE_I64) return ((const int64_t *)slots->data)[at];
    return ((const int32_t *)slots->data)[at];
}

/* Entry i of a rank-1 output. */
static int32_t *entry(const dg_tensor_t *tensor, int64_t i) {
    return (int32_t *)tensor->data + i * dg_tensor_stride(tensor, 0);
}

static void fill(const dg_tensor_t *tensor, int32_t value) {
    if (!dg_tensor_given(tensor)) return;
    for (int64_t i = 0; i < tensor->shape[0]; i++) *entry(tensor, i) = value;
}

dg_status_t dg_cpu_check_slots(
    const dg_tensor_t *slots, const char *name, const char *what, int64_t limit) {
    for (int64_t t = 0; t < slots->shape[0]; t++) {
        for (int64_t s = 0; s < slots->shape[1]; s++) {
            const int64_t value = slot_at(slots, t, s);
            DG_REQUIRE(value < limit, DG_STATUS_BAD_VALUE, name, "",
                "entry [%" PRId64 ", %" PRId64 "] is %" PRId64 ", expected less than %" PRId64
                ", the %s there are, or a negative number for none; correct it, or let the context "
                "clamp group_values",
                t, s, value, limit, what);
        }
    }
    return DG_STATUS_OK;
}

/* The row past the last one that group g may have. */
static int64_t group_limit(const dg_route_tokens_args_t *args, int64_t g) {
    const int64_t rows = args->sources.shape[0];
    return args->form == DG_GROUPS_MASKED ? (g + 1) * (rows / args->counts.shape[0]) : rows;
}

/* Puts the first row of each group into `ends`. */
static void place_groups(const dg_route_tokens_args_t *args, int64_t alignment) {
    const int64_t rows = args->sources.shape[0], groups = args->counts.shape[0];
    int64_t begin = 0;
    for (int64_t g = 0; g < groups; g++) {
        if (args->form == DG_GROUPS_MASKED) begin = g * (rows / groups);
        if (args->form == DG_GROUPS_PSUM) begin = dg_ceil_div(begin, alignment) * alignment;
        *entry(&args->ends, g) = (int32_t)(begin < rows ? begin : rows);
        begin += *entry(&args->counts, g);
    }
}

void dg_cpu_route_tokens(const dg_route_tokens_args_t *args, int64_t alignment) {
    const int64_t groups = args->counts.shape[0];
    fill(&args->counts, 0);
    fill(&args->sources, -1);
    fill(&args->groups, -1);
    for (int64_t t = 0; t < args->ids.shape[0]; t++) {
        for (int64_t s = 0; s < args->ids.shape[1]; s++) {
            const int64_t id = slot_at(&args->ids, t, s);
            if (id >= 0 && id < groups) ++*entry(&args->counts, id);
        }
    }
    place_groups(args, alignment);
    int32_t *rows = args->rows.data;
    for (int64_t t = 0; t < args->ids.shape[0]; t++) {
        for (int64_t s = 0; s < args->ids.shape[1]; s++) {
            const int64_t id = slot_at(&args->ids, t, s);
            int32_t *row =
                rows + t * dg_tensor_stride(&args->rows, 0) + s * dg_tensor_stride(&args->rows, 1);
            *row = -1;
            if (id < 0 || id >= groups) continue;
            int32_t *next = entry(&args->ends, id);
            if (*next >= group_limit(args, id)) continue;
            *row = (*next)++;
            *entry(&args->sources, *row) = (int32_t)t;
            if (dg_tensor_given(&args->groups)) *entry(&args->groups, *row) = (int32_t)id;
        }
    }
}
