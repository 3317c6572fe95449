/* SPDX-License-Identifier: MIT
 *
 * The products of one layer of a language model, read from its config.json (the members that such
 * files commonly have). Called by plan.c.
 */
#ifndef CLI_MODEL_SHAPES_H
#define CLI_MODEL_SHAPES_H

#include "shape.h"

typedef struct cli_layer_t {
    char name[40]; /* "experts.down wgrad"; "": a shape that comes from elsewhere */
    cli_shape_t shape;
} cli_layer_t;

/* Appends to (*layers)[0 .. *count), memory for free(), what a step over `tokens` tokens multiplies:
 * projections of the attention (grouped-query or latent), the MLP, the experts. training: data and
 * weight gradients too. On failure writes one line into error[CLI_TEXT]. */
bool cli_read_model(const char *path, int64_t tokens, bool training, cli_layer_t **layers,
    size_t *count, char *error);

#endif
