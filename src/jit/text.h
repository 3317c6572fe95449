/* SPDX-License-Identifier: MIT
 *
 * The text of the kernels inside the library: kernel_text.c, made by tools/embed_kernels.py. Read
 * by program.c.
 */
#ifndef DG_JIT_TEXT_H
#define DG_JIT_TEXT_H

#include <stddef.h>

#include "plan/kernel.h"

typedef struct dg_kernel_text_t {
    const char *const *segments; /* put together they are the text, without includes; NULL ends */
    size_t bytes;                /* of the text; 0: this build lacks the kernel */
    char digest[65];             /* SHA-256 of the text, hexadecimal */
} dg_kernel_text_t;

extern const dg_kernel_text_t dg_kernel_texts[DG_KERNEL_COUNT];

#endif
