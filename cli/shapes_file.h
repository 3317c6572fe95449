/* SPDX-License-Identifier: MIT
 *
 * Shapes from a JSON file: an array of objects, or one object, with the keys of shape.h and
 * "family".
 *
 *     [ {"family": "gemm", "m": 2048, "n": 2048, "k": 2048},
 *       {"family": "k_grouped", "sizes": [100, 0, 300], "accumulate": true} ]
 */
#ifndef CLI_SHAPES_FILE_H
#define CLI_SHAPES_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "shape.h"

/* Appends the file's shapes to (*shapes)[0 .. *count), memory for free(). family: of objects that
 * name none; CLI_NUM_FAMILIES: each must name one. On failure writes one line, the file's name
 * included, into error[CLI_TEXT]. */
bool cli_read_shapes(
    const char *path, cli_family_t family, cli_shape_t **shapes, size_t *count, char *error);

#endif
