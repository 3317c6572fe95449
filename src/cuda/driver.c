/* SPDX-License-Identifier: MIT
 *
 * See driver.h. Order of events: dlopen, cuGetProcAddress, version, every function, cuInit. Each step
 * that can fail says what to install or change.
 */
#include "cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"

/* Tensor maps, context-free loading and cluster launches all exist from here on. */
enum { OLDEST_VERSION = 12000 };

typedef dg_cu_result_t get_version_fn(int32_t *version);
typedef dg_cu_result_t get_address_fn(
    const char *name, void **address, int32_t version, uint64_t flags, int32_t *found);

static dg_driver_t table;                   /* written once, before `opened` points to it */
static _Atomic(const dg_driver_t *) opened; /* NULL: not yet, or not in this child */
static atomic_bool forked;                  /* this is a child; its parent had opened the driver */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static void *library; /* from dlopen; stays open for good */

static void hold_lock(void) {
    pthread_mutex_lock(&lock);
}

static void release_lock(void) {
    pthread_mutex_unlock(&lock);
}

static void become_child(void) {
    if (atomic_load(&opened) != NULL) atomic_store(&forked, true);
    atomic_store(&opened, NULL);
    release_lock();
}

static void watch_fork(void) {
    pthread_atfork(hold_lock, release_lock, become_child);
}

/* POSIX lets a function's address travel through void *; C wants it copied, not cast. */
static bool find_symbol(const char *name, void *function, size_t size) {
    void *address = dlsym(library, name);
    memcpy(function, &address, size);
    return address != NULL;
}

static dg_status_t open_library(void) {
    const char *path = dg_env_text(DG_ENV_CUDA_DRIVER);
    if (path == NULL) path = "libcuda.so.1";
    if (library == NULL) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) return DG_STATUS_OK;
    const char *reason = dlerror();
    return dg_fail(DG_STATUS_UNSUPPORTED, "", "",
        "no CUDA driver: %s; CUDA tensors need NVIDIA driver 580 or newer (a container: one started "
        "with access to the GPUs); without it pass tensors in CPU memory",
        reason != NULL ? reason : path);
}

static dg_status_t check_version(get_address_fn **get_address) {
    get_version_fn *get_version;
    table.version = 0;
    if (find_symbol("cuDriverGetVersion", &get_version, sizeof get_version)) {
        get_version(&table.version);
    }
    const bool found = find_symbol("cuGetProcAddress_v2", get_address, sizeof *get_address);
    DG_REQUIRE(found && table.version >= OLDEST_VERSION, DG_STATUS_UNSUPPORTED, "", "",
        "the NVIDIA driver supports CUDA %d.%d, expected 12.0 or newer; install driver 580 (CUDA "
        "13.0) or newer, for which the kernels of this library are built",
        table.version / 1000, table.version % 1000 / 10);
    return DG_STATUS_OK;
}

static bool find_call(
    get_address_fn *get_address, const char *name, int32_t version, void *function, size_t size) {
    void *address = NULL;
    int32_t found = 0;
    if (get_address(name, &address, version, DG_CU_PROC_ADDRESS_LEGACY_STREAM, &found) !=
        DG_CU_SUCCESS) {
        address = NULL;
    }
    memcpy(function, &address, size);
    return address != NULL;
}

static dg_status_t find_calls(get_address_fn *get_address) {
#define FIND(name, since, parameters)                                                              \
    DG_REQUIRE(find_call(get_address, #name, since, &table.name, sizeof table.name),               \
        DG_STATUS_UNSUPPORTED, "", "",                                                             \
        "the NVIDIA driver (CUDA %d.%d) has no function %s; install driver 580 or newer, whole",   \
        table.version / 1000, table.version % 1000 / 10, #name);
    DG_DRIVER_CALLS(FIND)
#undef FIND
    find_call(get_address, "cuFuncLoad", 12040, &table.cuFuncLoad, sizeof table.cuFuncLoad);
    return DG_STATUS_OK;
}

static dg_status_t initialise(void) {
    const dg_cu_result_t result = table.cuInit(0);
    DG_REQUIRE(result != DG_CU_NO_DEVICE, DG_STATUS_UNSUPPORTED, "", "",
        "the NVIDIA driver finds no GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES, or pass tensors "
        "in CPU memory");
    return result == DG_CU_SUCCESS ? DG_STATUS_OK : dg_driver_fail(&table, result, "cuInit");
}

/* With the lock held. */
static dg_status_t open_driver(void) {
    get_address_fn *get_address;
    DG_TRY(open_library());
    DG_TRY(check_version(&get_address));
    DG_TRY(find_calls(get_address));
    return initialise();
}

static dg_status_t open_once(void) {
    pthread_once(&fork_once, watch_fork); /* before the lock can be held by anybody */
    DG_REQUIRE(!atomic_load(&forked), DG_STATUS_DRIVER, "", "",
        "this process was forked from one that had used CUDA, and the driver does not work in such "
        "a child; fork before the first use of CUDA, or start workers by exec (Python: "
        "multiprocessing.set_start_method(\"spawn\"))");
    hold_lock();
    dg_status_t status = DG_STATUS_OK;
    if (atomic_load(&opened) == NULL) {
        status = open_driver();
        if (status == DG_STATUS_OK) {
            atomic_store_explicit(&opened, &table, memory_order_release);
        }
    }
    release_lock();
    return status;
}

dg_status_t dg_driver_open(const dg_driver_t **driver) {
    *driver = atomic_load_explicit(&opened, memory_order_acquire);
    if (*driver != NULL) return DG_STATUS_OK;
    DG_TRY(open_once());
    *driver = &table;
    return DG_STATUS_OK;
}

/* What to do about a result, as far as the number alone tells. */
static const char *remedy(dg_cu_result_t result) {
    static const struct {
        dg_cu_result_t first, last;
        const char *text;
    } remedies[] = {
        {DG_CU_OUT_OF_MEMORY, DG_CU_OUT_OF_MEMORY, "free device memory"},
        {DG_CU_NOT_INITIALIZED, DG_CU_NOT_INITIALIZED,
            "a child of a process that used CUDA cannot use it: start workers by exec, not fork"},
        {DG_CU_DEINITIALIZED, DG_CU_DEINITIALIZED, "the process is ending: call earlier"},
        {DG_CU_INVALID_CONTEXT, DG_CU_INVALID_CONTEXT,
            "the current context does not belong to this device: make one of it current, or none"},
        {DG_CU_INVALID_HANDLE, DG_CU_INVALID_HANDLE,
            "a stream or event must belong to the device of the call and still exist"},
        {DG_CU_ILLEGAL_ADDRESS, DG_CU_LAUNCH_FAILED,
            "a kernel that ran before this call failed, whoever launched it, and its context is "
            "lost: run under compute-sanitizer to find it"},
        {DG_CU_SYSTEM_NOT_READY, DG_CU_SYSTEM_DRIVER_MISMATCH,
            "restart the machine, or its driver and fabric manager"},
        {DG_CU_STREAM_CAPTURE_UNSUPPORTED, DG_CU_STREAM_CAPTURE_WRONG_THREAD,
            "a stream is being captured into a graph: make this call before the capture begins"},
    };
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; ++i) {
        if (result >= remedies[i].first && result <= remedies[i].last) return remedies[i].text;
    }
    return "see the driver's documentation of this call";
}

dg_status_t dg_driver_fail(const dg_driver_t *driver, dg_cu_result_t result, const char *call) {
    const char *name = NULL, *text = NULL;
    driver->cuGetErrorName(result, &name);
    driver->cuGetErrorString(result, &text);
    return dg_fail(result == DG_CU_OUT_OF_MEMORY ? DG_STATUS_OUT_OF_MEMORY : DG_STATUS_DRIVER, "",
        "", "%s: %s (%d), %s; %s", call, name != NULL ? name : "unknown error", (int)result,
        text != NULL ? text : "no text", remedy(result));
}
