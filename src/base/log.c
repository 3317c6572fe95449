/* SPDX-License-Identifier: MIT
 *
 * See log.h.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_BYTES = 2048 };

static _Thread_local dg_log_hook_t hook;

void dg_enter_log(dg_log_fn log, void *user, dg_log_level_t level) {
    hook = (dg_log_hook_t){log, user, level};
}

dg_log_hook_t dg_log_hook(void) {
    return hook;
}

void dg_log(dg_log_level_t level, const char *format, ...) {
    if (hook.log == NULL || level > hook.level) return;
    char line[LINE_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    hook.log(hook.user, level, line);
}

void dg_log_wanted(const char *format, ...) {
    char line[LINE_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (hook.log != NULL) {
        hook.log(hook.user, DG_LOG_DEBUG, line);
    } else {
        fprintf(stderr, "deep_gemm: %s\n", line);
    }
}
