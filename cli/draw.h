/* SPDX-License-Identifier: MIT
 *
 * Random shapes for deepgemm verify.
 */
#ifndef CLI_DRAW_H
#define CLI_DRAW_H

#include "random.h"
#include "shape.h"

/* A small shape of the family with random options, extents at and around the edges of blocks among
 * them. Every shape drawn has a meaning. */
cli_shape_t cli_draw_shape(cli_family_t family, cli_random_t *random);

#endif
