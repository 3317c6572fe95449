/* SPDX-License-Identifier: MIT
 *
 * Contexts: creation, the default context, their settings and worker pools. The ranges of settings
 * and their setters are in settings.c and setters.c, what a call does with a context in call.c.
 *
 * One process-wide lock guards all contexts. It is held for a few loads and stores, or while a pool
 * is made, never while work runs; fork() takes it, so that a child finds every context consistent.
 * A call on a GPU takes no lock at all: it reads the settings from a copy that each change
 * publishes (published.h).
 */
#include "api/context.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "api/published.h"
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
    _Atomic int state;            /* context_state_t; everything else is written before LIVE is */
    dg_context_options_t options; /* under the lock */
    dg_published_t published;     /* the same, for readers without it */
    pool_slot_t *slot;            /* NULL until a call needs workers */
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
    if (atomic_load(&default_context.state) == STATE_LIVE) return DG_STATUS_OK;
    DG_TRY(dg_initial_settings(&default_context.options));
    dg_publish(&default_context.published, &default_context.options);
    atomic_store(&default_context.state, STATE_LIVE);
    return DG_STATUS_OK;
}

static dg_status_t check_live(const dg_context_t *ctx) {
    const int state = atomic_load_explicit(&ctx->state, memory_order_acquire);
    DG_REQUIRE(state != STATE_DESTROYED, DG_STATUS_BAD_CONTEXT, "ctx", "",
        "context %p was destroyed; create another, or pass NULL for the default one",
        (const void *)ctx);
    DG_REQUIRE(state == STATE_LIVE, DG_STATUS_BAD_CONTEXT, "ctx", "",
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
    ctx->options = merged;
    dg_publish(&ctx->published, &merged);
    atomic_store(&ctx->state, STATE_LIVE);
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
        atomic_store(&resolved->state, STATE_DESTROYED);
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
    dg_context_t *resolved;
    return dg_read_context(ctx, &resolved, options);
}

dg_status_t dg_read_context(
    const dg_context_t *ctx, dg_context_t **resolved, dg_context_options_t *settings) {
    *resolved = NULL;
    if (ctx != NULL) {
        DG_TRY(check_live(ctx));
        *resolved = (dg_context_t *)(uintptr_t)ctx;
    } else {
        if (atomic_load_explicit(&default_context.state, memory_order_acquire) != STATE_LIVE) {
            lock_contexts();
            const dg_status_t status = start_default();
            unlock_contexts();
            DG_TRY(status);
        }
        *resolved = &default_context;
    }
    dg_read_published(&(*resolved)->published, settings);
    return DG_STATUS_OK;
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
            dg_publish(&resolved->published, &changed);
            if (!same_pool) slot = release_slot(resolved);
        }
    }
    unlock_contexts();
    destroy_slot(slot);
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

dg_status_t dg_hold_pool(
    dg_context_t *ctx, struct dg_pool_slot_t **slot, dg_cpu_pool_t **pool, bool *made) {
    lock_contexts();
    *made = ctx->slot == NULL;
    const dg_status_t status = *made ? make_slot(ctx) : DG_STATUS_OK;
    *slot = ctx->slot;
    *pool = ctx->slot == NULL ? NULL : ctx->slot->pool;
    if (ctx->slot != NULL) ctx->slot->users += 1;
    unlock_contexts();
    *made = *made && status == DG_STATUS_OK;
    return status;
}

void dg_release_pool(struct dg_pool_slot_t *slot) {
    lock_contexts();
    slot->users -= 1;
    pool_slot_t *last = slot->orphan && slot->users == 0 ? slot : NULL;
    unlock_contexts();
    destroy_slot(last);
}
