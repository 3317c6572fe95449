/* SPDX-License-Identifier: MIT
 *
 * Where the cubin of a program comes from: the library itself, the disk cache, a compiler. Called by
 * table.c, which loads it, and by batch.c, which only wants it to be there.
 */
#ifndef DG_JIT_IMAGE_H
#define DG_JIT_IMAGE_H

#include <stdbool.h>

#include "jit/program.h"

/* In the order in which they are asked. */
typedef enum dg_origin_t { DG_ORIGIN_EMBEDDED, DG_ORIGIN_CACHED, DG_ORIGIN_COMPILED } dg_origin_t;

typedef struct dg_jit_image_t {
    const void *cubin;
    size_t bytes;
    dg_origin_t origin;
    void *owned; /* memory that holds it */
} dg_jit_image_t;

/* The image from the first origin, beginning with `first`, that has one. A compiled one is stored in
 * the cache. NOT_COMPILED if it would have to be compiled and may not be. */
dg_status_t dg_find_image(
    const dg_program_t *program, dg_origin_t first, bool may_compile, dg_jit_image_t *image);

void dg_release_image(dg_jit_image_t *image);

/* "embedded", "cached", "compiled" */
const char *dg_origin_name(dg_origin_t origin);

#endif
