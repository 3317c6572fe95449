/* SPDX-License-Identifier: MIT
 *
 * Worker threads and their scratch memory.
 *
 * A pool belongs to one context. It runs a task for each index of a range; indices are handed out
 * one by one, so uneven tasks balance. The calling thread takes part, so a pool of one thread
 * creates none. Workers start with the first call that has use for them, sleep between calls and
 * block all signals. Calls into one pool from several threads take turns; pools are independent of
 * each other. A child made by fork() starts its own workers on its first call.
 */
#ifndef DG_CPU_POOL_H
#define DG_CPU_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/isa.h"
#include "deep_gemm/status.h"

typedef struct dg_cpu_pool_t dg_cpu_pool_t;

/* Called once for each index; `worker` is in [0, dg_cpu_pool_threads()), and at any time one task
 * at most runs under a given worker number. A task must not run the pool it runs in. Any status but
 * DG_STATUS_OK stops the handing out of further indices. */
typedef dg_status_t dg_cpu_task_t(void *context, int64_t index, int worker);

#define DG_CPU_MAX_THREADS 512

/* threads: 1 .. DG_CPU_MAX_THREADS, more is cut down to it; 0 asks for one for each CPU this process
 * may use. Gives DG_STATUS_UNSUPPORTED when the CPU or the build lacks that instruction set. */
dg_status_t dg_cpu_create_pool(int threads, dg_cpu_isa_t isa, dg_cpu_pool_t **pool);

/* Stops the workers and frees the scratch memory. NULL is fine. */
void dg_cpu_destroy_pool(dg_cpu_pool_t *pool);

int dg_cpu_pool_threads(const dg_cpu_pool_t *pool);
const dg_cpu_kernels_t *dg_cpu_pool_kernels(const dg_cpu_pool_t *pool);

/* Runs task(context, i, worker) for i in [0, count) and returns when all have ended: the status of
 * a failed task if there was one. `threads` bounds how many take part (0 = all): a caller with
 * little work spares itself the waking of others. Each that takes part owns scratch_bytes of scratch
 * memory before the first task runs; if the caller's own cannot be had, no task runs and the status
 * is DG_STATUS_OUT_OF_MEMORY. */
dg_status_t dg_cpu_run_tasks(dg_cpu_pool_t *pool, dg_cpu_task_t *task, void *context, int64_t count,
    int threads, size_t scratch_bytes);

/* Inside a task: the worker's scratch memory, aligned to 4096 bytes. It belongs to this worker until
 * the task ends; the pool keeps it for the next task, its contents are undefined. */
void *dg_cpu_scratch(dg_cpu_pool_t *pool, int worker);

#endif
