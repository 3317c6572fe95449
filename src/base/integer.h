/* SPDX-License-Identifier: MIT
 *
 * Integer arithmetic that several layers need.
 */
#ifndef DG_BASE_INTEGER_H
#define DG_BASE_INTEGER_H

#include <stdint.h>

/* a / b rounded up, for a >= 0, b > 0; no overflow. */
static inline int64_t dg_ceil_div(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}

#endif
