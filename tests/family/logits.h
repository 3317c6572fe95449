/* SPDX-License-Identifier: MIT
 *
 * Cases of MQA logits, tokens in one tensor or in pages: random inputs in guarded memory, values of
 * them in FP64, and what deep_gemm/mqa_logits.h says the result is. logits_verify() makes one,
 * calls the library and compares every element; test_mqa_logits.c and test_paged_mqa_logits.c call it.
 *
 * What no query looks at is NaN or an absurd number: tokens outside of all ranges, pages of nobody,
 * entries of the table behind the last length, and all memory between rows.
 */
#ifndef DG_TESTS_FAMILY_LOGITS_H
#define DG_TESTS_FAMILY_LOGITS_H

#include <stdbool.h>
#include <stdint.h>

#include "deep_gemm/mqa_logits.h"
#include "random_data.h"
#include "reference.h"

typedef enum ranges_t {
    RANGES_RANDOM = 0, /* anywhere; some empty, some reversed, some beyond the tensor or negative */
    RANGES_CAUSAL = 1, /* each query up to its own place */
    RANGES_ALL = 2,    /* every token */
    RANGES_EMPTY = 3   /* none */
} ranges_t;

typedef struct logits_case_t {
    dg_dtype_t q, kv;           /* E4M3 or E2M1X2; paged: kv is q */
    dg_dtype_t weights, logits; /* F32 or BF16 */
    int64_t requests, next, heads, dim;
    int64_t tokens;  /* paged: columns of logits */
    int64_t columns; /* compressed only */
    int64_t page;    /* tokens of a page; 0: one tensor, and next is 1 */
    ranges_t ranges;
    bool compressed, dirty; /* dirty: does not clean */
    bool no_scale;          /* E4M3 kv without factors */
    bool nan_tokens;        /* some tokens inside of ranges have NaN codes */
    bool bad_pages;         /* some entries of the table are no pages */
    bool indices;           /* runs of queries share a request */
    bool integers;          /* small integers: results are exact */
    int64_t pad;            /* elements between rows of everything */
    bool aligned;           /* tensors begin on multiples of 64 bytes */
} logits_case_t;

void logits_verify(dg_context_t *ctx, const logits_case_t *test, uint64_t seed);

#endif
