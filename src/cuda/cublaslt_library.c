/* SPDX-License-Identifier: MIT
 *
 * See cublaslt_library.h. A library that a framework has brought along is preferred to all others:
 * two versions in one process would be two sets of kernels in the GPU's memory, and a handle of the
 * framework belongs to its own.
 */
#include "cuda/cublaslt_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "base/library_search.h"

enum { OLDEST_VERSION = 120000 }; /* FP8 and the limit on SMs */

static dg_lt_library_t table;                   /* written once, before `opened` points to it */
static _Atomic(const dg_lt_library_t *) opened; /* NULL: not yet */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct reason_t {
    char text[320]; /* why the last candidate would not do; "" */
} reason_t;

static bool find_call(void *library, const char *name, void *function, size_t size) {
    void *address = dlsym(library, name); /* C wants a function's address copied, not cast */
    memcpy(function, &address, size);
    return address != NULL;
}

static bool take_library(void *library, const char *path, reason_t *reason) {
    size_t (*get_version)(void);
    if (!find_call(library, "cublasLtGetVersion", &get_version, sizeof get_version)) {
        snprintf(reason->text, sizeof reason->text, "%s is no cuBLASLt", path);
        return false;
    }
    table.version = get_version();
    if (table.version < OLDEST_VERSION) {
        snprintf(reason->text, sizeof reason->text, "%s is version %zu, expected %d or later", path,
            table.version, (int)OLDEST_VERSION);
        return false;
    }
#define FIND(name, parameters)                                                                     \
    if (!find_call(library, #name, &table.name, sizeof table.name)) {                              \
        snprintf(reason->text, sizeof reason->text, "%s lacks %s", path, #name);                   \
        return false;                                                                              \
    }
    DG_LT_CALLS(FIND)
    FIND(cublasLtGetStatusString, )
#undef FIND
    return true;
}

static bool try_library(void *user, const char *path) {
    reason_t *reason = user;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library != NULL && take_library(library, path, reason);
}

static bool try_loaded(reason_t *reason, const char *name) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    return library != NULL && take_library(library, name, reason);
}

static bool search(reason_t *reason) {
    const char *asked = dg_env_text(DG_ENV_CUBLASLT);
    if (asked == NULL)
        return try_loaded(reason, "libcublasLt.so.13") || try_loaded(reason, "libcublasLt.so.12") ||
               dg_search_library("libcublasLt.so", try_library, reason);
    if (try_library(reason, asked)) return true;
    if (reason->text[0] == '\0')
        snprintf(reason->text, sizeof reason->text, "DG_CUBLASLT: %s", dlerror());
    return false;
}

/* With the lock held. */
static dg_status_t open_library(void) {
    reason_t reason = {""};
    DG_REQUIRE(search(&reason), DG_STATUS_UNSUPPORTED, "", "",
        "no cuBLASLt: %s; install the CUDA toolkit or the Python package nvidia-cublas "
        "(nvidia-cublas-cu12 for CUDA 12), or name the file in DG_CUBLASLT; dg_gemm needs none",
        reason.text[0] != '\0' ? reason.text : "libcublasLt.so.13 and .12 were not found");
    atomic_store_explicit(&opened, &table, memory_order_release);
    return DG_STATUS_OK;
}

dg_status_t dg_lt_open(const dg_lt_library_t **library) {
    *library = atomic_load_explicit(&opened, memory_order_acquire);
    if (*library != NULL) return DG_STATUS_OK;
    pthread_mutex_lock(&lock);
    dg_status_t status = DG_STATUS_OK;
    if (atomic_load(&opened) == NULL) status = open_library();
    *library = atomic_load(&opened);
    pthread_mutex_unlock(&lock);
    return status;
}

dg_status_t dg_lt_fail(const dg_lt_library_t *library, dg_lt_status_t status, const char *call) {
    const bool memory = status == DG_LT_ALLOC_FAILED;
    return dg_fail(memory ? DG_STATUS_OUT_OF_MEMORY : DG_STATUS_DRIVER, "", "",
        "%s of cuBLASLt %zu: %s (%d); %s", call, library->version,
        library->cublasLtGetStatusString(status), (int)status,
        memory ? "free memory of the device"
               : "CUBLASLT_LOG_LEVEL=5 in the environment makes it tell more");
}
