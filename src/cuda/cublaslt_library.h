/* SPDX-License-Identifier: MIT
 *
 * cuBLASLt, NVIDIA's library of matrix products, as a table of functions. It is opened with dlopen
 * when a product first asks for it, never linked, and no header of it is used: types and numbers
 * below are those of its documented C interface, with its own names behind a prefix. Used by
 * cublaslt.c and cublaslt_product.c.
 */
#ifndef DG_CUDA_CUBLASLT_LIBRARY_H
#define DG_CUDA_CUBLASLT_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "deep_gemm/status.h"

typedef int32_t dg_lt_status_t;                /* cublasStatus_t */
typedef struct dg_lt_handle_s *dg_lt_handle_t; /* a cublasHandle_t may stand in its place */
typedef struct dg_lt_desc_s *dg_lt_desc_t;     /* cublasLtMatmulDesc_t */
typedef struct dg_lt_layout_s *dg_lt_layout_t; /* cublasLtMatrixLayout_t: columns of a matrix */
typedef struct dg_lt_preference_s *dg_lt_preference_t;

enum { DG_LT_SUCCESS = 0, DG_LT_ALLOC_FAILED = 3, DG_LT_NOT_SUPPORTED = 15 };
enum { DG_LT_F32 = 0, DG_LT_F16 = 2, DG_LT_BF16 = 14, DG_LT_E4M3 = 28 }; /* cudaDataType_t */
enum { DG_LT_COMPUTE_F32 = 68, DG_LT_COMPUTE_F32_FAST_TF32 = 77 };       /* cublasComputeType_t */
enum { DG_LT_OP_N = 0, DG_LT_OP_T = 1 };                                 /* cublasOperation_t */
enum { /* cublasLtMatmulDescAttributes_t */
    DG_LT_DESC_TRANSA = 3,
    DG_LT_DESC_TRANSB = 4,
    DG_LT_DESC_SM_COUNT_TARGET = 15, /* int32_t */
    DG_LT_DESC_FAST_ACCUM = 25       /* int8_t */
};
enum {                                    /* cublasLtMatmulPreferenceAttributes_t */
    DG_LT_PREF_MAX_WORKSPACE_BYTES = 1,   /* uint64_t */
    DG_LT_PREF_REDUCTION_SCHEME_MASK = 3, /* uint32_t */
    DG_LT_PREF_MIN_ALIGNMENT_A_BYTES = 5, /* uint32_t; B, C and D are the next three */
};
/* cublasLtReductionScheme_t: partial sums of a split k are added in the type of the arithmetic, in
 * a fixed order. Products that are not split are always allowed. */
enum { DG_LT_REDUCTION_COMPUTE_TYPE = 2 };

typedef struct dg_lt_algo_t { /* cublasLtMatmulAlgo_t */
    uint64_t data[8];
} dg_lt_algo_t;

typedef struct dg_lt_heuristic_t { /* cublasLtMatmulHeuristicResult_t */
    dg_lt_algo_t algo;
    size_t workspace;
    dg_lt_status_t state;
    float waves;
    int32_t reserved[4];
} dg_lt_heuristic_t;

_Static_assert(sizeof(void *) != 8 || sizeof(dg_lt_heuristic_t) == 96, "as cuBLASLt has it");

/* CALL(name, parameters) */
#define DG_LT_CALLS(CALL)                                                                          \
    CALL(cublasLtCreate, (dg_lt_handle_t * handle))                                                \
    CALL(cublasLtMatmulDescCreate, (dg_lt_desc_t * desc, int32_t compute, int32_t scale_type))     \
    CALL(cublasLtMatmulDescDestroy, (dg_lt_desc_t desc))                                           \
    CALL(cublasLtMatmulDescSetAttribute,                                                           \
        (dg_lt_desc_t desc, int32_t attribute, const void *value, size_t bytes))                   \
    CALL(cublasLtMatrixLayoutCreate,                                                               \
        (dg_lt_layout_t * layout, int32_t type, uint64_t rows, uint64_t cols, int64_t ld))         \
    CALL(cublasLtMatrixLayoutDestroy, (dg_lt_layout_t layout))                                     \
    CALL(cublasLtMatmulPreferenceCreate, (dg_lt_preference_t * preference))                        \
    CALL(cublasLtMatmulPreferenceDestroy, (dg_lt_preference_t preference))                         \
    CALL(cublasLtMatmulPreferenceSetAttribute,                                                     \
        (dg_lt_preference_t preference, int32_t attribute, const void *value, size_t bytes))       \
    CALL(cublasLtMatmulAlgoGetHeuristic,                                                           \
        (dg_lt_handle_t handle, dg_lt_desc_t desc, dg_lt_layout_t a, dg_lt_layout_t b,             \
            dg_lt_layout_t c, dg_lt_layout_t d, dg_lt_preference_t preference, int32_t wanted,     \
            dg_lt_heuristic_t * results, int32_t * count))                                         \
    CALL(cublasLtMatmul,                                                                           \
        (dg_lt_handle_t handle, dg_lt_desc_t desc, const void *alpha, const void *a,               \
            dg_lt_layout_t layout_a, const void *b, dg_lt_layout_t layout_b, const void *beta,     \
            const void *c, dg_lt_layout_t layout_c, void *d, dg_lt_layout_t layout_d,              \
            const dg_lt_algo_t *algo, void *workspace, size_t bytes, void *stream))

typedef struct dg_lt_library_t {
    size_t version; /* 130100: cuBLAS 13.1 */
#define DG_DECLARE_CALL(name, parameters) dg_lt_status_t(*name) parameters;
    DG_LT_CALLS(DG_DECLARE_CALL)
#undef DG_DECLARE_CALL
    const char *(*cublasLtGetStatusString)(dg_lt_status_t status);
} dg_lt_library_t;

/* The library: $DG_CUBLASLT, else the one that this process has loaded, else the first that
 * base/library_search.h finds. UNSUPPORTED, with what to install, if there is none; that is not
 * remembered, so the next call looks again. Once it is open: one atomic load. */
dg_status_t dg_lt_open(const dg_lt_library_t **library);

/* Builds the error of a call that did not succeed. */
#if defined(__GNUC__)
__attribute__((cold))
#endif
dg_status_t
dg_lt_fail(const dg_lt_library_t *library, dg_lt_status_t status, const char *call);

/* DG_TRY_LT(library, cublasLtCreate, (&handle)): leaves the function with an error if that fails. */
#define DG_TRY_LT(library, name, arguments)                                                        \
    do {                                                                                           \
        const dg_lt_status_t dg_lt_result = (library)->name arguments;                             \
        if (dg_lt_result != DG_LT_SUCCESS) return dg_lt_fail((library), dg_lt_result, #name);      \
    } while (0)

#endif
