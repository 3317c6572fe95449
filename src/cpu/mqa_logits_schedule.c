/* SPDX-License-Identifier: MIT
 *
 * Who takes which units of paged MQA logits: see dg_paged_mqa_logits_schedule() in
 * deep_gemm/mqa_logits.h. Called by src/api/paged_mqa_logits.c.
 */
#include "base/integer.h"
#include "cpu/mqa_logits.h"
#include "deep_gemm/mqa_logits.h"

/* lens: [next] of one request */
static int64_t count_units(const int32_t *lens, int64_t next, int64_t stride) {
    int64_t longest = 0;
    for (int64_t t = 0; t < next; t++) {
        if (lens[t * stride] > longest) longest = lens[t * stride];
    }
    return dg_ceil_div(longest, DG_MQA_LOGITS_SPLIT);
}

void dg_cpu_mqa_logits_schedule(const int32_t *lens, int64_t requests, int64_t next,
    int64_t request_stride, int64_t query_stride, int64_t parts, int64_t row_stride,
    int32_t *schedule) {
    int64_t total = 0;
    for (int64_t r = 0; r < requests; r++)
        total += count_units(lens + r * request_stride, next, query_stride);
    int64_t part = 0, begin = 0; /* the unit at which the next part begins */
    int64_t passed = 0;          /* units of the requests before r */
    for (int64_t r = 0; r < requests && part < parts; r++) {
        const int64_t units = count_units(lens + r * request_stride, next, query_stride);
        while (part < parts && begin < passed + units) {
            schedule[part * row_stride] = (int32_t)r;
            schedule[part * row_stride + 1] = (int32_t)(begin - passed);
            begin += total / parts + (part < total % parts ? 1 : 0);
            part++;
        }
        passed += units;
    }
    for (; part <= parts; part++) {
        schedule[part * row_stride] = (int32_t)requests;
        schedule[part * row_stride + 1] = 0;
    }
}
