/* SPDX-License-Identifier: MIT
 *
 * Contexts: creation, the default context, and what a call asks of its context. The settings
 * themselves, their ranges and setters, are in settings.c.
 *
 * One process-wide lock guards all contexts. It is held for a few loads and stores, or while a pool
 * is made, never while work runs; fork() takes it, so that a child finds every context consistent.
 */
#include "api/context.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/settings.h"
#include "base/error.h"

/* A pool with the calls that use it. A context whose settings change lets go of its pool; the last
 * call that still works with it destroys it. */
typedef struct dg_pool_slot_t {
    dg_cpu_pool_t *pool;
    int64_t users;
    bool orphan; /* no context points here any more */
} pool_slot_t;

typedef enum context_state_t {
    STATE_UNUSED = 0, /* the default context before its first use */
    STATE_LIVE = 0x44474c56,
    STATE_DESTROYED = 0x44474453
} context_state_t;

struct dg_context_t {
    context_state_t state;
    dg_context_options_t options;
    pool_slot_t *slot;          /* NULL until a call needs workers */
    struct dg_context_t *older; /* destroyed contexts stay in a list: late use must be recognised */
};

static dg_context_t default_context;
static dg_context_t *all_contexts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void hold_lock(void) {
    pthread_mutex_lock(&lock);
}

static void unlock_contexts(void) {
    pthread_mutex_unlock(&lock);
}

static void watch_fork(void) {
    pthread_atfork(hold_lock, unlock_contexts, unlock_contexts);
}

static void lock_contexts(void) {
    pthread_once(&fork_once, watch_fork); /* before the lock can be held by anybody */
    hold_lock();
}

/* With the lock held: makes the default context out of constants and the environment. */
static dg_status_t start_default(void) {
    if (default_context.state == STATE_LIVE) return DG_STATUS_OK;
    DG_TRY(dg_initial_settings(&default_context.options));
    default_context.state = STATE_LIVE;
    return DG_STATUS_OK;
}

static dg_status_t check_live(const dg_context_t *ctx) {
    DG_REQUIRE(ctx->state != STATE_DESTROYED, DG_STATUS_BAD_CONTEXT, "ctx", "",
        "context %p was destroyed; create another, or pass NULL for the default one",
        (const void *)ctx);
    DG_REQUIRE(ctx->state == STATE_LIVE, DG_STATUS_BAD_CONTEXT, "ctx", "",
        "%p is no context; pass what dg_context_create() gave, or NULL for the default one",
        (const void *)ctx);
    return DG_STATUS_OK;
}

/* With the lock held: the context meant by `ctx`, alive; or NULL and why in *status. */
static dg_context_t *resolve(const dg_context_t *ctx, dg_status_t *status) {
    *status = ctx == NULL ? start_default() : check_live(ctx);
    if (*status != DG_STATUS_OK) return NULL;
    return ctx == NULL ? &default_context : (dg_context_t *)(uintptr_t)ctx;
}

/* With the lock held: the context's slot, if any, for the caller to destroy; NULL if calls use it. */
static pool_slot_t *release_slot(dg_context_t *ctx) {
    pool_slot_t *slot = ctx->slot;
    ctx->slot = NULL;
    if (slot != NULL && slot->users > 0) {
        slot->orphan = true;
        slot = NULL;
    }
    return slot;
}

static void destroy_slot(pool_slot_t *slot) {
    if (slot == NULL) return;
    dg_cpu_destroy_pool(slot->pool);
    free(slot);
}

dg_status_t dg_context_create(dg_context_t **out, const dg_context_options_t *options) {
    dg_enter_function("dg_context_create");
    DG_REQUIRE(out != NULL, DG_STATUS_NULL_POINTER, "out", "",
        "NULL, expected the address of a dg_context_t pointer to fill");
    lock_contexts();
    const dg_status_t status = start_default();
    dg_context_options_t merged = default_context.options;
    unlock_contexts();
    DG_TRY(status);
    if (options != NULL) DG_TRY(dg_merge_settings(&merged, options));
    dg_context_t *ctx = calloc(1, sizeof *ctx);
    DG_REQUIRE(
        ctx != NULL, DG_STATUS_OUT_OF_MEMORY, "out", "", "no memory for a context; free some");
    ctx->state = STATE_LIVE;
    ctx->options = merged;
    lock_contexts();
    ctx->older = all_contexts;
    all_contexts = ctx;
    unlock_contexts();
    *out = ctx;
    return DG_STATUS_OK;
}

dg_status_t dg_context_destroy(dg_context_t *ctx) {
    dg_enter_function("dg_context_destroy");
    if (ctx == NULL) return DG_STATUS_OK;
    dg_status_t status;
    pool_slot_t *slot = NULL;
    lock_contexts();
    dg_context_t *resolved = resolve(ctx, &status);
    if (resolved != NULL) {
        resolved->state = STATE_DESTROYED;
        slot = release_slot(resolved);
    }
    unlock_contexts();
    destroy_slot(slot);
    return status;
}

dg_status_t dg_context_get_options(const dg_context_t *ctx, dg_context_options_t *options) {
    dg_enter_function("dg_context_get_options");
    DG_TRY(dg_check_args(options, sizeof *options, "options", "dg_context_options_t"));
    return dg_read_settings(ctx, options);
}

dg_status_t dg_read_settings(const dg_context_t *ctx, dg_context_options_t *options) {
    dg_status_t status;
    lock_contexts();
    const dg_context_t *resolved = resolve(ctx, &status);
    if (resolved != NULL) *options = dg_settings_in_force(&resolved->options);
    unlock_contexts();
    return status;
}

dg_status_t dg_update_settings(dg_context_t *ctx,
    dg_status_t (*change)(dg_context_options_t *, const void *), const void *with) {
    dg_status_t status;
    pool_slot_t *slot = NULL;
    lock_contexts();
    dg_context_t *resolved = resolve(ctx, &status);
    if (resolved != NULL) {
        dg_context_options_t changed = resolved->options;
        status = change(&changed, with);
        if (status == DG_STATUS_OK) {
            const bool same_pool = changed.num_threads == resolved->options.num_threads &&
                                   changed.cpu_isa == resolved->options.cpu_isa;
            resolved->options = changed;
            if (!same_pool) slot = release_slot(resolved);
        }
    }
    unlock_contexts();
    destroy_slot(slot);
    return status;
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

dg_status_t dg_begin_call(dg_call_t *call, const char *function, dg_context_t *ctx) {
    dg_enter_function(function);
    call->function = function;
    call->pool = NULL;
    dg_status_t status;
    lock_contexts();
    call->ctx = resolve(ctx, &status);
    if (call->ctx != NULL) call->options = dg_settings_in_force(&call->ctx->options);
    unlock_contexts();
    if (call->ctx != NULL && call->options.log != NULL) call->begin = seconds_now();
    return status;
}

/* With the lock held: makes the context's pool as its settings say now. */
static dg_status_t make_slot(dg_context_t *ctx) {
    pool_slot_t *slot = calloc(1, sizeof *slot);
    DG_REQUIRE(
        slot != NULL, DG_STATUS_OUT_OF_MEMORY, "", "", "no memory for the CPU threads; free some");
    const dg_status_t status =
        dg_cpu_create_pool(ctx->options.num_threads, ctx->options.cpu_isa, &slot->pool);
    if (status != DG_STATUS_OK) {
        free(slot);
        return dg_fail(status, "", "", "no memory for %d CPU threads (%s); free some, or use fewer",
            ctx->options.num_threads, dg_status_string(status));
    }
    ctx->slot = slot;
    return DG_STATUS_OK;
}

static void log_pool(const dg_call_t *call) {
    if (call->options.log == NULL || call->options.log_level < DG_LOG_INFO) return;
    char line[128];
    snprintf(line, sizeof line, "call=%s threads=%d isa=%s", call->function,
        dg_cpu_pool_threads(call->pool), dg_cpu_pool_kernels(call->pool)->name);
    call->options.log(call->options.log_user, DG_LOG_INFO, line);
}

dg_status_t dg_call_pool(dg_call_t *call, dg_cpu_pool_t **pool) {
    dg_status_t status = DG_STATUS_OK;
    bool made = false;
    lock_contexts();
    if (call->pool == NULL) {
        made = call->ctx->slot == NULL;
        if (made) status = make_slot(call->ctx);
        if (call->ctx->slot != NULL) {
            call->slot = call->ctx->slot;
            call->slot->users += 1;
            call->pool = call->slot->pool;
        }
    }
    unlock_contexts();
    *pool = call->pool;
    if (made && call->pool != NULL) log_pool(call);
    return status;
}

static void log_call(const dg_call_t *call, dg_status_t status) {
    const dg_log_level_t level = status == DG_STATUS_OK ? DG_LOG_DEBUG : DG_LOG_ERROR;
    if (call->options.log == NULL || level > call->options.log_level) return;
    char line[1200];
    if (status == DG_STATUS_OK) {
        snprintf(line, sizeof line, "call=%s us=%.1f", call->function,
            1e6 * (seconds_now() - call->begin));
    } else {
        snprintf(line, sizeof line, "call=%s status=%s error=\"%s\"", call->function,
            dg_status_string(status), dg_last_error());
    }
    call->options.log(call->options.log_user, level, line);
}

dg_status_t dg_end_call(dg_call_t *call, dg_status_t status) {
    if (call->pool != NULL) {
        lock_contexts();
        call->slot->users -= 1;
        pool_slot_t *last = call->slot->orphan && call->slot->users == 0 ? call->slot : NULL;
        unlock_contexts();
        destroy_slot(last);
        call->pool = NULL;
    }
    log_call(call, status);
    return status;
}

dg_status_t dg_check_args(const void *args, size_t expected, const char *name, const char *type) {
    DG_REQUIRE(args != NULL, DG_STATUS_NULL_POINTER, name, "", "NULL, expected a %s", type);
    const size_t size = *(const size_t *)args;
    DG_REQUIRE(size == expected, DG_STATUS_BAD_STRUCT_SIZE, name, ".struct_size",
        "%zu, expected %zu; start the struct from its _INIT macro, and build against the headers of "
        "this library",
        size, expected);
    return DG_STATUS_OK;
}

dg_status_t dg_check_launch(const dg_launch_t *launch, size_t needed) {
    if (launch == NULL) {
        DG_REQUIRE(needed == 0, DG_STATUS_SMALL_WORKSPACE, "launch", "",
            "NULL, but the call needs %zu bytes of workspace; pass a dg_launch_t that holds them",
            needed);
        return DG_STATUS_OK;
    }
    DG_TRY(dg_check_args(launch, sizeof *launch, "launch", "dg_launch_t"));
    DG_REQUIRE(launch->workspace != NULL || launch->workspace_size == 0, DG_STATUS_NULL_POINTER,
        "launch", ".workspace", "NULL with workspace_size %zu; pass the address of that memory",
        launch->workspace_size);
    DG_REQUIRE((uintptr_t)launch->workspace % 256 == 0, DG_STATUS_MISALIGNED, "launch",
        ".workspace", "address %p, expected a multiple of 256; align the allocation",
        launch->workspace);
    DG_REQUIRE(launch->workspace_size >= needed, DG_STATUS_SMALL_WORKSPACE, "launch",
        ".workspace_size",
        "%zu bytes, expected at least %zu, as the family's _workspace query says",
        launch->workspace_size, needed);
    return DG_STATUS_OK;
}

dg_status_t dg_check_size(const size_t *bytes) {
    DG_REQUIRE(bytes != NULL, DG_STATUS_NULL_POINTER, "bytes", "",
        "NULL, expected the address of the size to fill");
    return DG_STATUS_OK;
}
