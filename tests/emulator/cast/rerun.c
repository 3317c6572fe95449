/* SPDX-License-Identifier: MIT
 *
 * See rerun.h.
 */
#include "rerun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../any_gemm/backend.h"
#include "base/error.h"

void rerun_add(rerun_t *rerun, const dg_tensor_t *tensor, bool written) {
    const dg_span_t span = dg_tensor_span(tensor);
    if (span.begin == span.end) return;
    const size_t bytes = span.end - span.begin;
    const int i = rerun->count++;
    rerun->span[i] = span;
    rerun->view[i] = *tensor;
    rerun->written[i] = written;
    rerun->before[i] = rerun->cpu[i] = NULL;
    if (!written) return;
    rerun->before[i] = malloc(bytes);
    rerun->cpu[i] = malloc(bytes);
    memcpy(rerun->before[i], (const void *)span.begin, bytes);
}

void rerun_release(rerun_t *rerun) {
    for (int i = 0; i < rerun->count; i++) {
        free(rerun->before[i]);
        free(rerun->cpu[i]);
    }
}

void rerun_take_back(rerun_t *rerun) {
    for (int i = 0; i < rerun->count; i++) {
        if (!rerun->written[i]) continue;
        const size_t bytes = rerun->span[i].end - rerun->span[i].begin;
        memcpy(rerun->cpu[i], (const void *)rerun->span[i].begin, bytes);
    }
    for (int i = 0; i < rerun->count; i++) {
        if (!rerun->written[i]) continue;
        const size_t bytes = rerun->span[i].end - rerun->span[i].begin;
        memcpy((void *)rerun->span[i].begin, rerun->before[i], bytes);
    }
    for (int i = 0; i < rerun->count; i++) {
        const size_t bytes = rerun->span[i].end - rerun->span[i].begin;
        emulate_memory((const void *)rerun->span[i].begin, bytes, !rerun->written[i]);
    }
}

static bool both_nan(dg_dtype_t dtype, const unsigned char *a, const unsigned char *b) {
    uint32_t x = 0, y = 0;
    if (dtype == DG_DTYPE_F32) {
        memcpy(&x, a, 4), memcpy(&y, b, 4);
    } else if (dtype == DG_DTYPE_BF16) {
        memcpy((char *)&x + 2, a, 2), memcpy((char *)&y + 2, b, 2);
    } else {
        return false;
    }
    return (x & 0x7FFFFFFFu) > 0x7F800000u && (y & 0x7FFFFFFFu) > 0x7F800000u;
}

dg_status_t rerun_compare(const rerun_t *rerun, dg_status_t status) {
    for (int i = 0; i < rerun->count; i++) forget_memory((const void *)rerun->span[i].begin);
    for (int i = 0; i < rerun->count && status == DG_STATUS_OK; i++) {
        if (!rerun->written[i]) continue;
        const unsigned char *now = (const unsigned char *)rerun->span[i].begin;
        const dg_dtype_t dtype = rerun->view[i].dtype;
        const size_t size = (size_t)dg_dtype_size(dtype);
        const size_t all = (rerun->span[i].end - rerun->span[i].begin) / size;
        for (size_t e = 0; e < all; e++) {
            const unsigned char *a = now + e * size, *b = rerun->cpu[i] + e * size;
            if (memcmp(a, b, size) == 0 || both_nan(dtype, a, b)) continue;
            printf("output %d, element %zu of %zu: byte %02x, CPU %02x, before %02x\n", i, e, all,
                a[0], b[0], rerun->before[i][e * size]);
            return dg_fail(
                DG_STATUS_INTERNAL, "", "", "the kernels and the CPU differ; find out why");
        }
    }
    return status;
}
