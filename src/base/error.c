/* SPDX-License-Identifier: MIT
 *
 * The last error of each thread, and the names of statuses. See error.h; the public side is
 * deep_gemm/status.h.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MESSAGE_BYTES = sizeof((dg_kept_error_t *)NULL)->message,
    ARGUMENT_BYTES = sizeof((dg_kept_error_t *)NULL)->argument
};

static _Thread_local const char *current_function = "deep_gemm";
static _Thread_local char last_message[MESSAGE_BYTES];
static _Thread_local char last_argument[ARGUMENT_BYTES];

void dg_enter_function(const char *name) {
    current_function = name;
}

const char *dg_current_function(void) {
    return current_function;
}

dg_status_t dg_fail(
    dg_status_t status, const char *argument, const char *field, const char *format, ...) {
    snprintf(last_argument, sizeof last_argument, "%s%s", argument, field);
    const char *separator = last_argument[0] != '\0' ? ": " : "";
    int used = snprintf(
        last_message, sizeof last_message, "%s: %s%s", current_function, last_argument, separator);
    if (used < 0) used = 0;
    if (used < (int)sizeof last_message) {
        va_list values;
        va_start(values, format);
        vsnprintf(last_message + used, sizeof last_message - (size_t)used, format, values);
        va_end(values);
    }
    return status;
}

void dg_keep_error(dg_kept_error_t *kept) {
    memcpy(kept->message, last_message, sizeof last_message);
    memcpy(kept->argument, last_argument, sizeof last_argument);
}

void dg_restore_error(const dg_kept_error_t *kept) {
    memcpy(last_message, kept->message, sizeof last_message);
    memcpy(last_argument, kept->argument, sizeof last_argument);
}

const char *dg_last_error(void) {
    return last_message;
}

const char *dg_last_error_argument(void) {
    return last_argument;
}

static const char *const status_names[] = {
    [DG_STATUS_OK] = "DG_STATUS_OK",
    [DG_STATUS_NULL_POINTER] = "DG_STATUS_NULL_POINTER",
    [DG_STATUS_BAD_STRUCT_SIZE] = "DG_STATUS_BAD_STRUCT_SIZE",
    [DG_STATUS_BAD_CONTEXT] = "DG_STATUS_BAD_CONTEXT",
    [DG_STATUS_BAD_ENUM] = "DG_STATUS_BAD_ENUM",
    [DG_STATUS_BAD_DTYPE] = "DG_STATUS_BAD_DTYPE",
    [DG_STATUS_BAD_RANK] = "DG_STATUS_BAD_RANK",
    [DG_STATUS_BAD_SHAPE] = "DG_STATUS_BAD_SHAPE",
    [DG_STATUS_BAD_STRIDE] = "DG_STATUS_BAD_STRIDE",
    [DG_STATUS_MISALIGNED] = "DG_STATUS_MISALIGNED",
    [DG_STATUS_OVERLAP] = "DG_STATUS_OVERLAP",
    [DG_STATUS_BAD_SCALE] = "DG_STATUS_BAD_SCALE",
    [DG_STATUS_BAD_VALUE] = "DG_STATUS_BAD_VALUE",
    [DG_STATUS_BAD_DEVICE] = "DG_STATUS_BAD_DEVICE",
    [DG_STATUS_UNSUPPORTED] = "DG_STATUS_UNSUPPORTED",
    [DG_STATUS_OUT_OF_MEMORY] = "DG_STATUS_OUT_OF_MEMORY",
    [DG_STATUS_SMALL_WORKSPACE] = "DG_STATUS_SMALL_WORKSPACE",
    [DG_STATUS_NOT_COMPILED] = "DG_STATUS_NOT_COMPILED",
    [DG_STATUS_DRIVER] = "DG_STATUS_DRIVER",
    [DG_STATUS_COMPILER] = "DG_STATUS_COMPILER",
    [DG_STATUS_IO] = "DG_STATUS_IO",
    [DG_STATUS_INTERNAL] = "DG_STATUS_INTERNAL",
};

const char *dg_status_string(dg_status_t status) {
    const size_t count = sizeof status_names / sizeof *status_names;
    return (size_t)status < count ? status_names[status] : "DG_STATUS_?";
}
