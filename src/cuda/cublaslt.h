/* SPDX-License-Identifier: MIT
 *
 * Dense products through cuBLASLt: what the library is asked for a product (its descriptors and the
 * algorithm it recommends) is found once and kept with the device; after that a call is one look-up
 * and one launch. Called by src/api/cublaslt.c; calls the library through cublaslt_library.h.
 *
 *     dg_lt_product_t *product;
 *     DG_TRY(dg_cublaslt_find(device, &key, handle, &product));
 *     ... workspace of dg_cublaslt_workspace(product) bytes ...
 *     status = dg_cublaslt_run(device, product, &run);
 *     dg_cublaslt_release(product);
 *
 * cuBLASLt counts its matrices column by column and calls its own A what we call b: row after row,
 * d [m, n] is the same memory as d^T [n, m] column after column, and d^T = b a^T.
 */
#ifndef DG_CUDA_CUBLASLT_H
#define DG_CUDA_CUBLASLT_H

#include "cuda/device.h"
#include "deep_gemm/tensor.h"

/* Everything that an algorithm may depend on. Compared as bytes: no padding, unused fields zero. */
typedef struct dg_lt_key_t {
    int64_t m, n, k;
    int64_t ld_a, ld_b, ld_c, ld_d; /* elements from one contiguous line to the next */
    int32_t dtype, d_dtype;         /* dg_dtype_t of a and b, of c and d */
    int32_t a_major, b_major;       /* 0: lines along k; 1: along m or n */
    int32_t align[4];               /* of the addresses of a, b, c, d: bytes, at most 256 */
    int32_t num_sms;                /* 0: all */
    int32_t zero;
} dg_lt_key_t;

typedef struct dg_lt_product_t dg_lt_product_t; /* one for each key */

enum { DG_LT_WORKSPACE = 32 << 20 }; /* bytes that an algorithm may ask for */

/* The product of a key, prepared at first use. Allocates and locks then only. Whatever the library
 * does meanwhile, it may do while a stream captures. handle: the caller's cublasLtHandle_t, NULL: one
 * of this device's own, made when it is first needed. UNSUPPORTED where cuBLASLt has no algorithm. */
dg_status_t dg_cublaslt_find(
    dg_cuda_device_t *device, const dg_lt_key_t *key, void *handle, dg_lt_product_t **product);

/* Ends the use of a found product. */
void dg_cublaslt_release(dg_lt_product_t *product);

size_t dg_cublaslt_workspace(const dg_lt_product_t *product);

typedef struct dg_lt_run_t {
    const void *a, *b, *c; /* c NULL: nothing is added */
    void *d;
    void *workspace, *stream, *handle; /* handle as for dg_cublaslt_find() */
} dg_lt_run_t;
dg_status_t dg_cublaslt_run(
    dg_cuda_device_t *device, dg_lt_product_t *product, const dg_lt_run_t *run);

#endif
