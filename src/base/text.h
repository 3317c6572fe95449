/* SPDX-License-Identifier: MIT
 *
 * Short texts built in a buffer of fixed size, cut off at its end: what error messages and log
 * lines are put together from.
 */
#ifndef DG_BASE_TEXT_H
#define DG_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* A text of up to 159 bytes, passed by value so that several can stand in one argument list. */
typedef struct dg_text_t {
    char bytes[160];
    size_t length;
} dg_text_t;

/* Appends formatted text. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void dg_append_text(dg_text_t *text, const char *format, ...);

/* "[2, 3, 4]" of `count` numbers: shapes and strides in messages. */
dg_text_t dg_format_list(const int64_t *values, int32_t count);

#endif
