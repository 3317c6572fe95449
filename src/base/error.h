/* SPDX-License-Identifier: MIT
 *
 * Errors that teach: how a check inside the library fails. A failing check says which argument was
 * wrong, what it was, which rule it broke and what to do; the text is built once, here, into
 * thread-local storage, and travels to the caller as a status alone. Every layer uses this.
 */
#ifndef DG_BASE_ERROR_H
#define DG_BASE_ERROR_H

#include "deep_gemm/status.h"

/* Names the public function that is running on this thread: the first word of its messages. The
 * string must be static. */
void dg_enter_function(const char *name);
const char *dg_current_function(void);

/* Stores "<function>: <argument><field>: <text>" and returns `status`. `argument` and `field` are
 * joined to the argument's full name, ("b", ".scale"); both empty: no single argument is to blame.
 * The text says value, rule and remedy: "shape [3, 4], expected [3, 5]: one row ...; pass ...". */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5), cold))
#endif
dg_status_t
dg_fail(dg_status_t status, const char *argument, const char *field, const char *format, ...);

/* The last error, for a function that tries several ways: what the failed ones said must not stay
 * behind once one succeeds. */
typedef struct dg_kept_error_t {
    char message[1024], argument[96];
} dg_kept_error_t;
void dg_keep_error(dg_kept_error_t *kept);
void dg_restore_error(const dg_kept_error_t *kept);

/* Leaves the enclosing function with an error unless `condition` holds. Returns `status` itself, not
 * what dg_fail() hands back, so that a static analyser sees that it is no success. */
#define DG_REQUIRE(condition, status, argument, field, ...)                                        \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dg_fail((status), (argument), (field), __VA_ARGS__);                                   \
            return (status);                                                                       \
        }                                                                                          \
    } while (0)

/* Leaves the enclosing function with the status of `call` unless that is DG_STATUS_OK. */
#define DG_TRY(call)                                                                               \
    do {                                                                                           \
        const dg_status_t dg_try_status = (call);                                                  \
        if (dg_try_status != DG_STATUS_OK) return dg_try_status;                                   \
    } while (0)

#endif
