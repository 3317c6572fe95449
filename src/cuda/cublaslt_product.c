/* SPDX-License-Identifier: MIT
 *
 * See cublaslt_product.h. The algorithm is the first that cuBLASLt recommends, of those that add up
 * a split k in FP32 or do not split it, and want no more than 32 MiB of workspace.
 *
 * A line along k of our [rows, k] is a column of k x rows to cuBLASLt, so its operation transposes a
 * K-major b (its first operand, n x k) and leaves a K-major a (its second, k x m) as it is.
 */
#include "cuda/cublaslt_product.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"

static int32_t data_type(int32_t dtype) {
    switch (dtype) {
    case DG_DTYPE_E4M3: return DG_LT_E4M3;
    case DG_DTYPE_F16: return DG_LT_F16;
    case DG_DTYPE_BF16: return DG_LT_BF16;
    default: return DG_LT_F32;
    }
}

/* A matrix whose lines, `lines` of `length` elements, become the columns. */
static dg_status_t make_layout(const dg_lt_library_t *library, int32_t dtype, int64_t length,
    int64_t lines, int64_t ld, dg_lt_layout_t *layout) {
    DG_TRY_LT(library, cublasLtMatrixLayoutCreate,
        (layout, data_type(dtype), (uint64_t)length, (uint64_t)lines, ld));
    return DG_STATUS_OK;
}

static dg_status_t make_operand(const dg_lt_library_t *library, const dg_lt_key_t *key,
    int64_t rows, int32_t major, int64_t ld, dg_lt_layout_t *layout) {
    const int64_t length = major == 0 ? key->k : rows, lines = major == 0 ? rows : key->k;
    return make_layout(library, key->dtype, length, lines, ld, layout);
}

#define SET(library, name, object, attribute, value)                                               \
    DG_TRY_LT(library, name, (object, attribute, &(value), sizeof(value)))

static dg_status_t make_desc(
    const dg_lt_library_t *library, const dg_lt_key_t *key, dg_lt_desc_t *desc) {
    /* TF32 is a meaning of FP32 inputs alone; sums and factors are FP32 for every type. */
    const int32_t compute =
        key->dtype == DG_DTYPE_F32 ? DG_LT_COMPUTE_F32_FAST_TF32 : DG_LT_COMPUTE_F32;
    const int32_t first = key->b_major == 0 ? DG_LT_OP_T : DG_LT_OP_N;
    const int32_t second = key->a_major == 0 ? DG_LT_OP_N : DG_LT_OP_T;
    const int8_t fast = 0; /* FP8 sums keep their bits */
    DG_TRY_LT(library, cublasLtMatmulDescCreate, (desc, compute, DG_LT_F32));
    SET(library, cublasLtMatmulDescSetAttribute, *desc, DG_LT_DESC_TRANSA, first);
    SET(library, cublasLtMatmulDescSetAttribute, *desc, DG_LT_DESC_TRANSB, second);
    if (key->dtype == DG_DTYPE_E4M3)
        SET(library, cublasLtMatmulDescSetAttribute, *desc, DG_LT_DESC_FAST_ACCUM, fast);
    if (key->num_sms > 0)
        SET(library, cublasLtMatmulDescSetAttribute, *desc, DG_LT_DESC_SM_COUNT_TARGET,
            key->num_sms);
    return DG_STATUS_OK;
}

static dg_status_t set_preference(
    const dg_lt_library_t *library, const dg_lt_key_t *key, dg_lt_preference_t preference) {
    const uint64_t workspace = DG_LT_WORKSPACE;
    const uint32_t reduction = DG_LT_REDUCTION_COMPUTE_TYPE;
    const uint32_t align[4] = {(uint32_t)key->align[1], (uint32_t)key->align[0],
        (uint32_t)key->align[2], (uint32_t)key->align[3]};
    SET(library, cublasLtMatmulPreferenceSetAttribute, preference, DG_LT_PREF_MAX_WORKSPACE_BYTES,
        workspace);
    SET(library, cublasLtMatmulPreferenceSetAttribute, preference, DG_LT_PREF_REDUCTION_SCHEME_MASK,
        reduction);
    for (int32_t i = 0; i < 4; i++)
        SET(library, cublasLtMatmulPreferenceSetAttribute, preference,
            DG_LT_PREF_MIN_ALIGNMENT_A_BYTES + i, align[i]);
    return DG_STATUS_OK;
}

static dg_status_t ask(const dg_lt_library_t *library, dg_lt_handle_t handle,
    dg_lt_preference_t preference, dg_lt_product_t *product) {
    const dg_lt_key_t *key = &product->key;
    dg_lt_heuristic_t result = {.state = DG_LT_NOT_SUPPORTED};
    int32_t count = 0;
    DG_TRY(set_preference(library, key, preference));
    const dg_lt_status_t status = library->cublasLtMatmulAlgoGetHeuristic(handle, product->desc,
        product->b, product->a, product->c, product->d, preference, 1, &result, &count);
    const bool none = status == DG_LT_NOT_SUPPORTED ||
                      (status == DG_LT_SUCCESS && (count == 0 || result.state != DG_LT_SUCCESS));
    DG_REQUIRE(!none, DG_STATUS_UNSUPPORTED, "", "",
        "cuBLASLt %zu has no algorithm for %s [%" PRId64 ", %" PRId64 "] (%s) by [%" PRId64
        ", %" PRId64
        "] (%s) into %s; FP8 wants both k-major, k and n multiples of 16, FP16 and FP32 "
        "go into FP32 only: convert, or call dg_gemm, which takes any shape and layout of FP8 and "
        "BF16",
        library->version, dg_dtype_string((dg_dtype_t)key->dtype), key->m, key->k,
        key->a_major == 0 ? "k-major" : "m-major", key->n, key->k,
        key->b_major == 0 ? "k-major" : "n-major", dg_dtype_string((dg_dtype_t)key->d_dtype));
    if (status != DG_LT_SUCCESS)
        return dg_lt_fail(library, status, "cublasLtMatmulAlgoGetHeuristic");
    product->algo = result.algo;
    product->workspace = result.workspace;
    return DG_STATUS_OK;
}

static dg_status_t choose(
    const dg_lt_library_t *library, dg_lt_handle_t handle, dg_lt_product_t *product) {
    dg_lt_preference_t preference;
    DG_TRY_LT(library, cublasLtMatmulPreferenceCreate, (&preference));
    const dg_status_t status = ask(library, handle, preference, product);
    library->cublasLtMatmulPreferenceDestroy(preference);
    return status;
}

static dg_status_t fill_product(dg_lt_handle_t handle, dg_lt_product_t *product) {
    const dg_lt_library_t *library = product->library;
    const dg_lt_key_t *key = &product->key;
    DG_TRY(make_desc(library, key, &product->desc));
    DG_TRY(make_operand(library, key, key->m, key->a_major, key->ld_a, &product->a));
    DG_TRY(make_operand(library, key, key->n, key->b_major, key->ld_b, &product->b));
    DG_TRY(make_layout(library, key->d_dtype, key->n, key->m, key->ld_c, &product->c));
    DG_TRY(make_layout(library, key->d_dtype, key->n, key->m, key->ld_d, &product->d));
    return choose(library, handle, product);
}

dg_status_t dg_lt_make_product(const dg_lt_library_t *library, dg_lt_handle_t handle,
    const dg_lt_key_t *key, dg_lt_product_t **product) {
    dg_lt_product_t *made = calloc(1, sizeof *made);
    DG_REQUIRE(made != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
        "no memory for the descriptors of a product; free some");
    made->key = *key;
    made->library = library;
    const dg_status_t status = fill_product(handle, made);
    if (status != DG_STATUS_OK) {
        dg_lt_destroy_product(made);
        return status;
    }
    *product = made;
    return DG_STATUS_OK;
}

void dg_lt_destroy_product(dg_lt_product_t *product) {
    const dg_lt_layout_t layouts[] = {product->a, product->b, product->c, product->d};
    for (int i = 0; i < 4; i++) {
        if (layouts[i] != NULL) product->library->cublasLtMatrixLayoutDestroy(layouts[i]);
    }
    if (product->desc != NULL) product->library->cublasLtMatmulDescDestroy(product->desc);
    free(product);
}

dg_status_t dg_lt_launch(
    const dg_lt_product_t *product, dg_lt_handle_t handle, const dg_lt_run_t *run) {
    const float alpha = 1.0f, beta = run->c != NULL ? 1.0f : 0.0f;
    const void *c = run->c != NULL ? run->c : run->d; /* of weight 0: never read */
    DG_TRY_LT(product->library, cublasLtMatmul,
        (handle, product->desc, &alpha, run->b, product->b, run->a, product->a, &beta, c,
            product->c, run->d, product->d, &product->algo, run->workspace, product->workspace,
            run->stream));
    return DG_STATUS_OK;
}
