/* SPDX-License-Identifier: MIT
 *
 * The bookkeeping of one call: what an entry point asks for at its beginning and tells at its end,
 * and the checks of the structs that every entry point takes. Called by every file of src/api;
 * contexts themselves are in context.c.
 */
#include <stdio.h>
#include <time.h>

#include "api/context.h"
#include "base/error.h"
#include "base/log.h"

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

dg_status_t dg_begin_call(dg_call_t *call, const char *function, dg_context_t *ctx) {
    dg_enter_function(function);
    call->function = function;
    call->pool = NULL;
    call->slot = NULL;
    DG_TRY(dg_read_context(ctx, &call->ctx, &call->options));
    dg_enter_log(call->options.log, call->options.log_user, call->options.log_level);
    if (call->options.log != NULL) call->begin = seconds_now();
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
    if (call->slot == NULL) status = dg_hold_pool(call->ctx, &call->slot, &call->pool, &made);
    *pool = call->pool;
    if (made) log_pool(call);
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
    if (call->slot != NULL) dg_release_pool(call->slot);
    call->slot = NULL;
    call->pool = NULL;
    log_call(call, status);
    dg_enter_log(NULL, NULL, DG_LOG_ERROR);
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
    DG_REQUIRE(launch->prepare == 0 || launch->prepare == 1, DG_STATUS_BAD_VALUE, "launch",
        ".prepare", "%d, expected 0 or 1; start the struct from DG_LAUNCH_INIT", launch->prepare);
    DG_REQUIRE(launch->workspace != NULL || launch->workspace_size == 0, DG_STATUS_NULL_POINTER,
        "launch", ".workspace", "NULL with workspace_size %zu; pass the address of that memory",
        launch->workspace_size);
    DG_REQUIRE((uintptr_t)launch->workspace % 256 == 0, DG_STATUS_MISALIGNED, "launch",
        ".workspace", "address %p, expected a multiple of 256; align the allocation",
        launch->workspace);
    DG_REQUIRE(launch->workspace_size >= needed || launch->prepare != 0, DG_STATUS_SMALL_WORKSPACE,
        "launch", ".workspace_size",
        "%zu bytes, expected at least %zu, as the family's _workspace query says",
        launch->workspace_size, needed);
    return DG_STATUS_OK;
}

dg_status_t dg_check_size(const size_t *bytes) {
    DG_REQUIRE(bytes != NULL, DG_STATUS_NULL_POINTER, "bytes", "",
        "NULL, expected the address of the size to fill");
    return DG_STATUS_OK;
}
