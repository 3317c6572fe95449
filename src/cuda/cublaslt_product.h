/* SPDX-License-Identifier: MIT
 *
 * One product as cuBLASLt knows it, from a key to descriptors and algorithm, and its launch. For
 * cublaslt.c, which keeps products and their handle.
 */
#ifndef DG_CUDA_CUBLASLT_PRODUCT_H
#define DG_CUDA_CUBLASLT_PRODUCT_H

#include <stdatomic.h>

#include "cuda/cublaslt.h"
#include "cuda/cublaslt_library.h"

struct dg_lt_product_t {
    dg_lt_key_t key;
    const dg_lt_library_t *library;
    dg_lt_desc_t desc;
    dg_lt_layout_t a, b, c, d; /* a and b are ours: cuBLASLt is handed b first */
    dg_lt_algo_t algo;
    size_t workspace; /* bytes that the algorithm wants */
    atomic_bool launched;
    bool kept; /* in the table of a device, for good */
    dg_lt_product_t *next;
};

/* Makes descriptors and asks for an algorithm, in a context of the device. */
dg_status_t dg_lt_make_product(const dg_lt_library_t *library, dg_lt_handle_t handle,
    const dg_lt_key_t *key, dg_lt_product_t **product);
void dg_lt_destroy_product(dg_lt_product_t *product);

dg_status_t dg_lt_launch(
    const dg_lt_product_t *product, dg_lt_handle_t handle, const dg_lt_run_t *run);

#endif
