/* SPDX-License-Identifier: MIT
 *
 * The pool of pool.h: one job at a time, announced by a generation number under a mutex, its indices
 * handed out by an atomic counter. engine.c and the casts run on it.
 *
 *     caller   lock turn, post job with places, wake; take indices; places = 0, wait for running == 0
 *     worker   sleep until a job has a place; take it, ++running; take indices; --running
 *
 * A worker that wakes late finds no place left and is not waited for: on a busy machine the caller
 * does the work of those that the system has not scheduled yet.
 */
#include "cpu/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

typedef struct dg_cpu_worker_t {
    dg_cpu_pool_t *pool;
    pthread_t thread;
    void *scratch;
    size_t scratch_bytes;
} dg_cpu_worker_t;

struct dg_cpu_pool_t {
    const dg_cpu_kernels_t *kernels;
    int threads;       /* the caller included */
    atomic_long owner; /* process that the mutexes and workers below belong to; -1: being redone */
    pthread_mutex_t turn;  /* held for a whole job */
    pthread_mutex_t mutex; /* guards the fields from here to next_index */
    pthread_cond_t posted, finished;
    int started; /* workers that exist, numbered 1 .. started */
    bool stopping;
    uint64_t generation;  /* counts jobs */
    int places;           /* workers that may still join the job */
    int running;          /* workers that joined and have not finished yet */
    size_t scratch_bytes; /* that a worker must own to join */
    dg_cpu_task_t *task;
    void *context;
    int64_t count;
    atomic_int_fast64_t next_index;
    atomic_int status;        /* of the job: the first failure */
    dg_cpu_worker_t *workers; /* [threads]; 0 is the caller of the moment */
};

static void take_indices(dg_cpu_pool_t *pool, int worker) {
    for (;;) {
        const int64_t index = atomic_fetch_add_explicit(&pool->next_index, 1, memory_order_relaxed);
        if (index >= pool->count) return;
        const dg_status_t status = pool->task(pool->context, index, worker);
        if (status != DG_STATUS_OK) {
            int expected = DG_STATUS_OK;
            atomic_compare_exchange_strong(&pool->status, &expected, (int)status);
            atomic_store_explicit(&pool->next_index, pool->count, memory_order_relaxed);
        }
    }
}

static void *run_worker(void *argument) {
    dg_cpu_worker_t *self = argument;
    dg_cpu_pool_t *pool = self->pool;
    const int number = (int)(self - pool->workers);
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (!pool->stopping && (pool->generation == seen || pool->places == 0 ||
                                      self->scratch_bytes < pool->scratch_bytes)) {
            seen = pool->generation;
            pthread_cond_wait(&pool->posted, &pool->mutex);
        }
        if (pool->stopping) break;
        seen = pool->generation;
        pool->places--;
        pool->running++;
        pthread_mutex_unlock(&pool->mutex);
        take_indices(pool, number);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->running == 0) pthread_cond_signal(&pool->finished);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Everything a process cannot inherit through fork(): locks that a vanished thread may hold, and the
 * threads themselves. Scratch memory is inherited. */
static void claim(dg_cpu_pool_t *pool) {
    pthread_mutex_init(&pool->turn, NULL);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->posted, NULL);
    pthread_cond_init(&pool->finished, NULL);
    pool->started = 0;
    pool->stopping = false;
    pool->generation = 0;
    pool->places = 0;
    pool->running = 0;
}

static void claim_after_fork(dg_cpu_pool_t *pool) {
    const long self = (long)getpid();
    long owner = atomic_load_explicit(&pool->owner, memory_order_acquire);
    while (owner != self) {
        if (owner != -1 && atomic_compare_exchange_strong(&pool->owner, &owner, -1)) {
            claim(pool);
            atomic_store_explicit(&pool->owner, self, memory_order_release);
            return;
        }
        sched_yield();
        owner = atomic_load_explicit(&pool->owner, memory_order_acquire);
    }
}

static int count_usable_cpus(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)(online < DG_CPU_MAX_THREADS ? online : DG_CPU_MAX_THREADS) : 1;
}

dg_status_t dg_cpu_create_pool(int threads, dg_cpu_isa_t isa, dg_cpu_pool_t **pool) {
    *pool = NULL;
    const dg_cpu_kernels_t *kernels = dg_cpu_find_kernels(isa);
    if (!kernels) return DG_STATUS_UNSUPPORTED;
    if (threads <= 0) threads = count_usable_cpus();
    if (threads > DG_CPU_MAX_THREADS) threads = DG_CPU_MAX_THREADS;
    dg_cpu_pool_t *made = calloc(1, sizeof *made);
    dg_cpu_worker_t *workers = calloc((size_t)threads, sizeof *workers);
    if (!made || !workers) {
        free(made);
        free(workers);
        return DG_STATUS_OUT_OF_MEMORY;
    }
    made->kernels = kernels;
    made->threads = threads;
    made->workers = workers;
    for (int i = 0; i < threads; i++) workers[i].pool = made;
    claim(made);
    atomic_init(&made->owner, (long)getpid());
    atomic_init(&made->next_index, 0);
    atomic_init(&made->status, DG_STATUS_OK);
    *pool = made;
    return DG_STATUS_OK;
}

void dg_cpu_destroy_pool(dg_cpu_pool_t *pool) {
    if (!pool) return;
    claim_after_fork(pool);
    pthread_mutex_lock(&pool->mutex);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 1; i <= pool->started; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->posted);
    pthread_mutex_destroy(&pool->mutex);
    pthread_mutex_destroy(&pool->turn);
    for (int i = 0; i < pool->threads; i++) free(pool->workers[i].scratch);
    free(pool->workers);
    free(pool);
}

int dg_cpu_pool_threads(const dg_cpu_pool_t *pool) {
    return pool->threads;
}

const dg_cpu_kernels_t *dg_cpu_pool_kernels(const dg_cpu_pool_t *pool) {
    return pool->kernels;
}

/* Makes workers 1 .. wanted exist; fewer if the system refuses, which costs speed only. The signals
 * of the process stay with its own threads. Called with the mutex held. */
static void start_workers(dg_cpu_pool_t *pool, int wanted) {
    if (pool->started >= wanted) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->started < wanted) {
        dg_cpu_worker_t *worker = &pool->workers[pool->started + 1];
        if (pthread_create(&worker->thread, NULL, run_worker, worker) != 0) break;
        pool->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static bool reserve(dg_cpu_worker_t *worker, size_t bytes) {
    if (worker->scratch_bytes >= bytes) return true;
    const size_t rounded = (bytes + 4095) & ~(size_t)4095;
    free(worker->scratch);
    worker->scratch = aligned_alloc(4096, rounded);
    worker->scratch_bytes = worker->scratch ? rounded : 0;
    return worker->scratch != NULL;
}

/* Opens so many places in the job. A worker whose scratch memory cannot be had stays away, which
 * costs speed only. No worker is in a job now, so their memory is free to be moved. */
static void invite(dg_cpu_pool_t *pool, int wanted, size_t scratch_bytes) {
    pthread_mutex_lock(&pool->mutex);
    start_workers(pool, wanted);
    for (int i = 1; i <= pool->started; i++) reserve(&pool->workers[i], scratch_bytes);
    pool->scratch_bytes = scratch_bytes;
    pool->places = wanted < pool->started ? wanted : pool->started;
    pool->generation++;
    for (int i = 0; i < pool->places; i++) pthread_cond_signal(&pool->posted);
    pthread_mutex_unlock(&pool->mutex);
}

static void wait_for_workers(dg_cpu_pool_t *pool) {
    pthread_mutex_lock(&pool->mutex);
    pool->places = 0;
    while (pool->running > 0) pthread_cond_wait(&pool->finished, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

dg_status_t dg_cpu_run_tasks(dg_cpu_pool_t *pool, dg_cpu_task_t *task, void *context, int64_t count,
    int threads, size_t scratch_bytes) {
    if (count <= 0) return DG_STATUS_OK;
    if (threads <= 0 || threads > pool->threads) threads = pool->threads;
    const int wanted = (int)((count < threads ? count : threads) - 1);
    claim_after_fork(pool);
    pthread_mutex_lock(&pool->turn);
    if (!reserve(&pool->workers[0], scratch_bytes)) {
        pthread_mutex_unlock(&pool->turn);
        return dg_fail(DG_STATUS_OUT_OF_MEMORY, "", "",
            "no memory for %zu bytes to work in; free some", scratch_bytes);
    }
    atomic_store(&pool->status, DG_STATUS_OK);
    atomic_store(&pool->next_index, 0);
    pool->task = task;
    pool->context = context;
    pool->count = count;
    if (wanted > 0) invite(pool, wanted, scratch_bytes);
    take_indices(pool, 0);
    if (wanted > 0) wait_for_workers(pool);
    const dg_status_t status = (dg_status_t)atomic_load(&pool->status);
    pthread_mutex_unlock(&pool->turn);
    return status;
}

void *dg_cpu_scratch(dg_cpu_pool_t *pool, int worker) {
    return pool->workers[worker].scratch;
}
