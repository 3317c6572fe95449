/* SPDX-License-Identifier: MIT
 *
 * A cuBLASLt of paper: a shared library that stands where libcublasLt.so.13 is expected (environment
 * variable DG_CUBLASLT), keeps the rules that a caller has to keep, records what it was asked and
 * computes it, by cuBLASLt's own reading of the descriptors: matrices column after column,
 * D = alpha op(A) op(B) + beta C. Memory is that of the fake driver's devices, which is the host's.
 */
#ifndef DG_TESTS_CUDA_FAKE_CUBLASLT_H
#define DG_TESTS_CUDA_FAKE_CUBLASLT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/cublaslt_library.h"

#define FAKE_LT_CALLS(CALL)                                                                        \
    CALL(cublasLtCreate)                                                                           \
    CALL(cublasLtMatmulDescCreate)                                                                 \
    CALL(cublasLtMatmulDescSetAttribute)                                                           \
    CALL(cublasLtMatrixLayoutCreate)                                                               \
    CALL(cublasLtMatmulPreferenceCreate)                                                           \
    CALL(cublasLtMatmulPreferenceSetAttribute)                                                     \
    CALL(cublasLtMatmulAlgoGetHeuristic)                                                           \
    CALL(cublasLtMatmul)

typedef enum fake_lt_call_t {
#define FAKE_LT_NUMBER(name) FAKE_LT_##name,
    FAKE_LT_CALLS(FAKE_LT_NUMBER)
#undef FAKE_LT_NUMBER
        FAKE_LT_CALL_COUNT
} fake_lt_call_t;

typedef struct fake_lt_desc_t {
    int32_t compute, scale_type, transa, transb;
    int32_t num_sms, fast; /* -1: never set */
} fake_lt_desc_t;

typedef struct fake_lt_layout_t {
    int32_t type;
    uint64_t rows, cols;
    int64_t ld;
} fake_lt_layout_t;

typedef struct fake_lt_preference_t {
    uint64_t workspace;
    uint32_t reduction, align[4];
} fake_lt_preference_t;

typedef struct fake_cublaslt_t {
    /* Set by tests. */
    dg_lt_status_t result[FAKE_LT_CALL_COUNT]; /* what a call answers instead of doing anything */
    bool no_algorithm;
    size_t workspace;      /* bytes that algorithms want */
    void (*on_call)(void); /* at the begin of every call; NULL: nothing */
    /* What happened. */
    int calls[FAKE_LT_CALL_COUNT];
    int objects;                     /* descriptors, layouts and preferences alive */
    fake_lt_preference_t preference; /* of the last heuristic */
    fake_lt_desc_t desc;             /* of the last product, like all that follows */
    fake_lt_layout_t a, b, c, d;
    const void *address[4];
    float alpha, beta;
    void *handle, *workspace_address, *stream;
    size_t workspace_bytes;
} fake_cublaslt_t;

typedef fake_cublaslt_t *fake_cublaslt_fn(void); /* exported as fake_cublaslt */

#endif
