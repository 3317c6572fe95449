/* SPDX-License-Identifier: MIT
 *
 * The kernels that are loaded, for each device. See jit.h. Called by src/api; calls image.c for the
 * cubin and src/cuda to load it.
 *
 * A bucket is a list that only grows at its head, so that readers need no lock: an entry is complete
 * before the head points to it, and it never goes away. Whoever does not find a kernel takes the
 * lock and looks whether another thread is already preparing it; then it waits, else it prepares it
 * itself, with the lock open. So each kernel is prepared by one thread, and different kernels
 * at the same time.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/log.h"
#include "jit/image.h"
#include "jit/jit.h"
#include "jit/options.h"

enum { MAX_DEVICES = 64, BUCKETS = 256 };

typedef struct entry_t {
    dg_specialisation_t specialisation;
    uint32_t shared_bytes; /* allowed at most */
    dg_cuda_function_t *function;
    struct entry_t *next;
} entry_t;

/* A kernel that some thread is preparing right now; lives on that thread's stack. */
typedef struct pending_t {
    const dg_cuda_device_t *device;
    const dg_specialisation_t *specialisation;
    struct pending_t *next;
} pending_t;

static _Atomic(entry_t *) buckets[MAX_DEVICES][BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static pending_t *all_pending;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static bool same(const dg_specialisation_t *a, const dg_specialisation_t *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static _Atomic(entry_t *) *bucket_of(
    const dg_cuda_device_t *device, const dg_specialisation_t *specialisation) {
    uint32_t hash = (uint32_t)specialisation->kernel;
    for (int i = 0; i < DG_MAX_FIELDS; i++)
        hash = (hash ^ (uint32_t)specialisation->values[i]) * 0x9e3779b1u;
    return &buckets[dg_cuda_ordinal(device)][hash >> 24];
}

static dg_cuda_function_t *find_loaded(
    _Atomic(entry_t *) *bucket, const dg_specialisation_t *specialisation, uint32_t shared_bytes) {
    const entry_t *entry = atomic_load_explicit(bucket, memory_order_acquire);
    for (; entry != NULL; entry = entry->next) {
        if (entry->shared_bytes >= shared_bytes && same(&entry->specialisation, specialisation))
            return entry->function;
    }
    return NULL;
}

/* A child of fork() has none of the threads that prepare kernels: nobody would wake its waiters. */
static void hold_lock(void) {
    pthread_mutex_lock(&lock);
}
static void open_lock(void) {
    pthread_mutex_unlock(&lock);
}
static void start_anew_in_child(void) {
    all_pending = NULL;
    pthread_cond_init(&done, NULL);
    pthread_mutex_unlock(&lock);
}
static void watch_fork(void) {
    pthread_atfork(hold_lock, open_lock, start_anew_in_child);
}

/* With the lock held: whether a thread is at it. */
static bool is_pending(const dg_cuda_device_t *device, const dg_specialisation_t *specialisation) {
    for (const pending_t *pending = all_pending; pending != NULL; pending = pending->next) {
        if (pending->device == device && same(pending->specialisation, specialisation)) return true;
    }
    return false;
}

static void remove_pending(const pending_t *mine) {
    for (pending_t **link = &all_pending; *link != NULL; link = &(*link)->next) {
        if (*link != mine) continue;
        *link = mine->next;
        return;
    }
}

static double milliseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static dg_status_t load(dg_cuda_device_t *device, const dg_program_t *program,
    const dg_jit_image_t *image, uint32_t shared_bytes, dg_cuda_function_t **function) {
    const double begin = milliseconds_now();
    DG_TRY(
        dg_cuda_load(device, image->cubin, image->bytes, program->symbol, shared_bytes, function));
    if (dg_jit_options()->print_loads)
        dg_log_wanted("jit=loaded kernel=\"%s\" device=%d from=%s ms=%.2f", program->name,
            (int)dg_cuda_ordinal(device), dg_origin_name(image->origin),
            milliseconds_now() - begin);
    return DG_STATUS_OK;
}

/* Whether another origin may have a cubin that the driver takes. */
static bool origin_is_unfit(dg_status_t status) {
    return status == DG_STATUS_UNSUPPORTED || status == DG_STATUS_DRIVER;
}

/* Whether `stream` captures costs a question to the driver, asked only if all depends on it. */
static dg_status_t find_image(dg_cuda_device_t *device, const dg_program_t *program,
    dg_origin_t first, void *stream, dg_jit_image_t *image) {
    const dg_status_t status = dg_find_image(program, first, false, image);
    if (status != DG_STATUS_NOT_COMPILED || dg_cuda_capturing(device, stream)) return status;
    return dg_find_image(program, first, true, image);
}

/* Gets the kernel from the first origin that has it in a form which the driver takes: a cubin from a
 * newer CUDA than the driver's, say, gives way to one compiled here. */
static dg_status_t prepare(dg_cuda_device_t *device, const dg_specialisation_t *specialisation,
    uint32_t shared_bytes, void *stream, dg_cuda_function_t **function) {
    dg_program_t program;
    DG_TRY(dg_describe_program(specialisation, dg_cuda_machine(device)->architecture, &program));
    dg_origin_t origin = DG_ORIGIN_EMBEDDED;
    dg_status_t status = DG_STATUS_OK;
    do {
        dg_jit_image_t image;
        DG_TRY(find_image(device, &program, origin, stream, &image));
        status = load(device, &program, &image, shared_bytes, function);
        origin = image.origin + 1;
        dg_release_image(&image);
    } while (origin_is_unfit(status) && origin <= DG_ORIGIN_COMPILED);
    return status;
}

static dg_status_t add_entry(_Atomic(entry_t *) *bucket, const dg_specialisation_t *specialisation,
    uint32_t shared_bytes, dg_cuda_function_t *function) {
    entry_t *entry = malloc(sizeof *entry);
    DG_REQUIRE(entry != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
        "no memory to keep kernel %s; free some", dg_find_kernel(specialisation->kernel)->name);
    *entry = (entry_t){*specialisation, shared_bytes, function,
        atomic_load_explicit(bucket, memory_order_relaxed)};
    atomic_store_explicit(bucket, entry, memory_order_release);
    return DG_STATUS_OK;
}

static dg_status_t prepare_once(dg_cuda_device_t *device, _Atomic(entry_t *) *bucket,
    const dg_specialisation_t *specialisation, uint32_t shared_bytes, void *stream,
    dg_cuda_function_t **function) {
    dg_status_t status = DG_STATUS_OK;
    pthread_once(&fork_once, watch_fork);
    pthread_mutex_lock(&lock);
    while (is_pending(device, specialisation)) pthread_cond_wait(&done, &lock);
    *function = find_loaded(bucket, specialisation, shared_bytes);
    if (*function == NULL) {
        pending_t mine = {device, specialisation, all_pending};
        all_pending = &mine;
        pthread_mutex_unlock(&lock);
        dg_kept_error_t before;
        dg_keep_error(&before);
        status = prepare(device, specialisation, shared_bytes, stream, function);
        if (status == DG_STATUS_OK) dg_restore_error(&before);
        pthread_mutex_lock(&lock);
        if (status == DG_STATUS_OK)
            status = add_entry(bucket, specialisation, shared_bytes, *function);
        remove_pending(&mine);
        pthread_cond_broadcast(&done);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

dg_status_t dg_jit_function(dg_cuda_device_t *device, const dg_specialisation_t *specialisation,
    uint32_t shared_bytes, void *stream, dg_cuda_function_t **function) {
    DG_REQUIRE(dg_cuda_ordinal(device) < MAX_DEVICES, DG_STATUS_BAD_DEVICE, "", "",
        "GPU %d, expected 0 to %d; hide some with CUDA_VISIBLE_DEVICES", dg_cuda_ordinal(device),
        MAX_DEVICES - 1);
    _Atomic(entry_t *) *bucket = bucket_of(device, specialisation);
    *function = find_loaded(bucket, specialisation, shared_bytes);
    if (*function != NULL) return DG_STATUS_OK;
    return prepare_once(device, bucket, specialisation, shared_bytes, stream, function);
}
