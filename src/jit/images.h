/* SPDX-License-Identifier: MIT
 *
 * The compiled catalogue inside the library: kernel_images.c, made by tools/embed_kernels.py. Empty
 * if no compiler was at hand when the library was built. Packed, they take a quarter of their room, and
 * unpacking one costs about as much as the driver's taking it. Read by image.c, listed by src/api.
 */
#ifndef DG_JIT_IMAGES_H
#define DG_JIT_IMAGES_H

#include <stddef.h>

#include "plan/kernel.h"

typedef struct dg_image_t {
    dg_specialisation_t specialisation;
    int32_t architecture; /* 90: for sm_90a alone */
    const char *packed;   /* base/inflate.h */
    size_t packed_bytes, bytes;
} dg_image_t;

extern const dg_image_t dg_images[];
extern const int32_t dg_image_count;
extern const char dg_image_compiler[]; /* "nvcc 13.0.88"; "" without images */

#endif
