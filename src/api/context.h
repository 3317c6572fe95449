/* SPDX-License-Identifier: MIT
 *
 * Contexts inside the library: what an entry point asks for at its beginning and tells at its end
 * (call.c), and what that needs of the context (context.c). The public side is deep_gemm/context.h.
 * Called by every file of src/api; calls cpu/pool.h.
 */
#ifndef DG_API_CONTEXT_H
#define DG_API_CONTEXT_H

#include "cpu/pool.h"
#include "deep_gemm/context.h"

/* What one call needs of its context: a snapshot, so that a setting changed meanwhile by another
 * thread does not tear it. Filled by dg_begin_call(), ended by dg_end_call(). */
typedef struct dg_call_t {
    const char *function;
    dg_context_t *ctx;
    dg_context_options_t options; /* none zero but num_sms (all), device id, log and log_user */
    dg_cpu_pool_t *pool;          /* NULL until dg_call_pool() */
    struct dg_pool_slot_t *slot;  /* what keeps that pool alive */
    double begin;                 /* seconds, for the log */
} dg_call_t;

/* Opens a call: names it for error messages, resolves NULL to the default context, refuses a
 * context that is none or was destroyed. Nothing needs closing if this fails. */
dg_status_t dg_begin_call(dg_call_t *call, const char *function, dg_context_t *ctx);

/* The worker pool of the call's context, made at first need; the call keeps it until its end. */
dg_status_t dg_call_pool(dg_call_t *call, dg_cpu_pool_t **pool);

/* Closes the call, logs it, and hands `status` through. */
dg_status_t dg_end_call(dg_call_t *call, dg_status_t status);

/* Refuses a struct that is NULL or whose first member, struct_size, is not `expected`. `name` and
 * `type` are for the message: "args", "dg_gemm_args_t". */
dg_status_t dg_check_args(const void *args, size_t expected, const char *name, const char *type);

/* Refuses a launch (which may be NULL) of another size, or with a workspace below `needed` bytes. */
dg_status_t dg_check_launch(const dg_launch_t *launch, size_t needed);

/* Whether the call ends before it computes: `launch`, checked, may be NULL. */
static inline bool dg_only_prepares(const dg_launch_t *launch) {
    return launch != NULL && launch->prepare != 0;
}

/* For call.c. The context meant by `ctx` (NULL: the default one), alive, with its settings; takes
 * no lock once the default context has been used. */
dg_status_t dg_read_context(
    const dg_context_t *ctx, dg_context_t **resolved, dg_context_options_t *settings);

/* For call.c. The context's worker pool, made if there is none (*made), kept until
 * dg_release_pool(). On failure *slot is NULL and nothing is held. */
dg_status_t dg_hold_pool(
    dg_context_t *ctx, struct dg_pool_slot_t **slot, dg_cpu_pool_t **pool, bool *made);
void dg_release_pool(struct dg_pool_slot_t *slot);

/* Refuses NULL for the size that a _workspace query fills. */
dg_status_t dg_check_size(const size_t *bytes);

#endif
