/* SPDX-License-Identifier: MIT
 *
 * See cublaslt.h. Each device has one handle and a table of products that only grows, so that
 * readers need no lock: a list for each hash, new products in front, published by an atomic pointer.
 * A program that asks for more products than the table may hold gets the rest made for one call.
 */
#include "cuda/cublaslt.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cuda/cublaslt_product.h"
#include "cuda/device_state.h"

enum { BUCKETS = 256, MAX_PRODUCTS = 4096 }; /* about 1 KB each, most of it cuBLASLt's own */

struct dg_cublaslt_t {
    const dg_lt_library_t *library;
    _Atomic(dg_lt_handle_t) handle; /* NULL until a call comes without one of its own */
    int32_t count;                  /* products in the table, under the lock */
    _Atomic(dg_lt_product_t *) buckets[BUCKETS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

_Static_assert(sizeof(dg_lt_key_t) == 96, "keys are compared as bytes: no padding");

static uint32_t hash_key(const dg_lt_key_t *key) {
    uint64_t words[sizeof *key / 8], hash = 0;
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash >> 40) % BUCKETS;
}

static dg_lt_product_t *look_up(dg_cublaslt_t *cublaslt, const dg_lt_key_t *key) {
    dg_lt_product_t *product =
        atomic_load_explicit(&cublaslt->buckets[hash_key(key)], memory_order_acquire);
    while (product != NULL && memcmp(&product->key, key, sizeof *key) != 0) product = product->next;
    return product;
}

/* With the lock held. */
static dg_status_t make_state(dg_cuda_device_t *device) {
    if (atomic_load(&device->cublaslt) != NULL) return DG_STATUS_OK;
    const dg_lt_library_t *library;
    DG_TRY(dg_lt_open(&library));
    dg_cublaslt_t *made = calloc(1, sizeof *made);
    DG_REQUIRE(made != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
        "no memory for the products of CUDA device %d; free some", device->ordinal);
    made->library = library;
    atomic_store_explicit(&device->cublaslt, made, memory_order_release);
    return DG_STATUS_OK;
}

/* With the lock held, in a context of the device. */
static dg_status_t make_handle(dg_cublaslt_t *cublaslt) {
    if (atomic_load(&cublaslt->handle) != NULL) return DG_STATUS_OK;
    dg_lt_handle_t handle;
    DG_TRY_LT(cublaslt->library, cublasLtCreate, (&handle));
    atomic_store_explicit(&cublaslt->handle, handle, memory_order_release);
    return DG_STATUS_OK;
}

static dg_lt_handle_t handle_of(dg_cublaslt_t *cublaslt, void *handle) {
    if (handle != NULL) return handle;
    return atomic_load_explicit(&cublaslt->handle, memory_order_acquire);
}

/* With the lock held. */
static dg_status_t make_product(
    dg_cublaslt_t *cublaslt, const dg_lt_key_t *key, void *handle, dg_lt_product_t **product) {
    if (handle == NULL) DG_TRY(make_handle(cublaslt));
    *product = look_up(cublaslt, key); /* another thread may have been faster */
    if (*product != NULL) return DG_STATUS_OK;
    DG_TRY(dg_lt_make_product(cublaslt->library, handle_of(cublaslt, handle), key, product));
    if (cublaslt->count == MAX_PRODUCTS) return DG_STATUS_OK;
    _Atomic(dg_lt_product_t *) *bucket = &cublaslt->buckets[hash_key(key)];
    cublaslt->count++;
    (*product)->kept = true;
    (*product)->next = atomic_load(bucket);
    atomic_store_explicit(bucket, *product, memory_order_release);
    return DG_STATUS_OK;
}

/* cuBLASLt may allocate and load code; as with our own kernels (module.c) that puts nothing into a
 * stream, so a capture need not be spoilt by it. */
static dg_status_t begin_relaxed(const dg_cuda_device_t *device, int32_t *mode) {
    *mode = DG_CU_CAPTURE_MODE_RELAXED;
    DG_TRY_DRIVER(device->driver, cuThreadExchangeStreamCaptureMode, (mode));
    return DG_STATUS_OK;
}

static void end_relaxed(const dg_cuda_device_t *device, int32_t mode) {
    device->driver->cuThreadExchangeStreamCaptureMode(&mode);
}

static dg_status_t prepare(
    dg_cuda_device_t *device, const dg_lt_key_t *key, void *handle, dg_lt_product_t **product) {
    int32_t mode;
    dg_cuda_scope_t scope;
    DG_TRY(dg_cuda_enter(device, &scope));
    dg_status_t status = begin_relaxed(device, &mode);
    if (status == DG_STATUS_OK) {
        pthread_mutex_lock(&lock);
        status = make_state(device);
        if (status == DG_STATUS_OK)
            status = make_product(atomic_load(&device->cublaslt), key, handle, product);
        pthread_mutex_unlock(&lock);
        end_relaxed(device, mode);
    }
    dg_cuda_leave(&scope);
    return status;
}

dg_status_t dg_cublaslt_find(
    dg_cuda_device_t *device, const dg_lt_key_t *key, void *handle, dg_lt_product_t **product) {
    dg_cublaslt_t *cublaslt = atomic_load_explicit(&device->cublaslt, memory_order_acquire);
    *product = NULL;
    if (cublaslt != NULL && handle_of(cublaslt, handle) != NULL) *product = look_up(cublaslt, key);
    return *product != NULL ? DG_STATUS_OK : prepare(device, key, handle, product);
}

void dg_cublaslt_release(dg_lt_product_t *product) {
    if (!product->kept) dg_lt_destroy_product(product);
}

size_t dg_cublaslt_workspace(const dg_lt_product_t *product) {
    return product->workspace;
}

/* In a context of the device. The first launch of a product may load its kernel. */
static dg_status_t launch(
    dg_cuda_device_t *device, dg_lt_product_t *product, const dg_lt_run_t *run) {
    const dg_lt_handle_t handle = handle_of(atomic_load(&device->cublaslt), run->handle);
    if (atomic_load_explicit(&product->launched, memory_order_relaxed))
        return dg_lt_launch(product, handle, run);
    int32_t mode;
    DG_TRY(begin_relaxed(device, &mode));
    const dg_status_t status = dg_lt_launch(product, handle, run);
    end_relaxed(device, mode);
    if (status == DG_STATUS_OK) atomic_store(&product->launched, true);
    return status;
}

dg_status_t dg_cublaslt_run(
    dg_cuda_device_t *device, dg_lt_product_t *product, const dg_lt_run_t *run) {
    dg_cuda_scope_t scope;
    DG_TRY(dg_cuda_enter(device, &scope));
    const dg_status_t status = launch(device, product, run);
    dg_cuda_leave(&scope);
    return status;
}
