/* SPDX-License-Identifier: MIT
 *
 * Outputs that must be right to the bit: a buffer for the library and beside it the bytes expected
 * there. What the call must not write is poison in both. Called by cast_case.c,
 * scale_layout_case.c and permute_case.c.
 */
#ifndef CLI_IMAGE_H
#define CLI_IMAGE_H

#include "buffer.h"
#include "case.h"

typedef struct cli_image_t {
    const char *name; /* "out[0].scale" */
    void *found, *expected;
    int64_t count, size; /* elements, and bytes of each */
} cli_image_t;

cli_image_t cli_make_image(cli_pool_t *pool, const char *name, int64_t count, int64_t size);
void cli_reset_image(const cli_image_t *image);

/* Counts the elements that differ and describes the first. */
void cli_judge_image(const cli_image_t *image, cli_verdict_t *verdict);

#endif
