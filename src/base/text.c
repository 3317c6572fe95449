/* SPDX-License-Identifier: MIT
 *
 * See text.h.
 */
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void dg_append_text(dg_text_t *text, const char *format, ...) {
    const size_t room = sizeof text->bytes - text->length;
    va_list values;
    va_start(values, format);
    const int wanted = vsnprintf(text->bytes + text->length, room, format, values);
    va_end(values);
    if (wanted > 0) text->length += (size_t)wanted < room ? (size_t)wanted : room - 1;
}

dg_text_t dg_format_list(const int64_t *values, int32_t count) {
    dg_text_t text = {.bytes = "", .length = 0};
    dg_append_text(&text, "[");
    for (int32_t i = 0; i < count; ++i) {
        dg_append_text(&text, "%s%" PRId64, i > 0 ? ", " : "", values[i]);
    }
    dg_append_text(&text, "]");
    return text;
}
