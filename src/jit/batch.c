/* SPDX-License-Identifier: MIT
 *
 * Many kernels at once, over threads, before they are needed. See jit.h. Called by src/api; each
 * kernel goes the way of image.c, as if a call had asked for it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "jit/jit.h"

enum { MAX_THREADS = 64 };

typedef struct work_t {
    const dg_jit_batch_t *batch;
    const char *function; /* whose messages these are */
    dg_log_hook_t hook;
    atomic_int next;
    pthread_mutex_t lock; /* guards what follows, and calls of progress */
    int32_t done;
    dg_status_t status; /* the first failure */
    dg_kept_error_t error;
} work_t;

static void take_result(work_t *work, const char *name, dg_origin_t origin, dg_status_t status) {
    const dg_jit_batch_t *batch = work->batch;
    pthread_mutex_lock(&work->lock);
    work->done++;
    if (batch->progress != NULL)
        batch->progress(
            batch->user, work->done, name, origin, status != DG_STATUS_OK ? dg_last_error() : NULL);
    if (status != DG_STATUS_OK && work->status == DG_STATUS_OK) {
        work->status = status;
        dg_keep_error(&work->error);
    }
    pthread_mutex_unlock(&work->lock);
}

static void *compile_some(void *argument) {
    work_t *work = argument;
    const dg_jit_batch_t *batch = work->batch;
    const dg_origin_t first = batch->again ? DG_ORIGIN_COMPILED : DG_ORIGIN_EMBEDDED;
    dg_enter_function(work->function);
    dg_enter_log(work->hook.log, work->hook.user, work->hook.level);
    for (;;) {
        const int i = atomic_fetch_add(&work->next, 1);
        if (i >= batch->count) break;
        dg_program_t program;
        dg_jit_image_t image = {.origin = DG_ORIGIN_EMBEDDED};
        dg_status_t status =
            dg_describe_program(&batch->specialisations[i], batch->architecture, &program);
        if (status == DG_STATUS_OK) status = dg_find_image(&program, first, true, &image);
        take_result(work, program.name, image.origin, status);
        dg_release_image(&image);
    }
    return NULL;
}

dg_status_t dg_jit_compile_batch(const dg_jit_batch_t *batch) {
    work_t work = {.batch = batch,
        .function = dg_current_function(),
        .hook = dg_log_hook(),
        .lock = PTHREAD_MUTEX_INITIALIZER};
    dg_kept_error_t before;
    dg_keep_error(&before);
    pthread_t threads[MAX_THREADS];
    int32_t started = 0, wanted = batch->threads < MAX_THREADS ? batch->threads : MAX_THREADS;
    if (wanted > batch->count) wanted = batch->count;
    while (
        started + 1 < wanted && pthread_create(&threads[started], NULL, compile_some, &work) == 0)
        started++;
    compile_some(&work); /* this thread too, and alone if no other could be had */
    for (int32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&work.lock);
    dg_restore_error(work.status == DG_STATUS_OK ? &before : &work.error);
    return work.status;
}
