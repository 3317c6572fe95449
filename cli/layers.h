/* SPDX-License-Identifier: MIT
 *
 * The shapes that a command line is about: one given by options, those of a file, or those of a model.
 * Called by plan.c and tune.c; calls shapes_file.c and model_shapes.c.
 */
#ifndef CLI_LAYERS_H
#define CLI_LAYERS_H

#include "model_shapes.h"

typedef struct cli_layer_source_t {
    cli_shape_t shape;
    const char *file, *model;
    int64_t tokens;
    bool training;
    bool shaped; /* an option of the shape was given */
} cli_layer_source_t;

#define CLI_LAYER_SOURCE_INIT                                                                      \
    { .shape = cli_shape_init(CLI_GEMM), .tokens = 4096 }

#define CLI_LAYER_SOURCE_OPTIONS                                                                   \
    {"file", "FILE", "Take the shapes from a JSON file, as deepgemm run does."},                   \
        {"model", "FILE",                                                                          \
            "Take the shapes from a model's config.json: the products of one layer."},             \
        {"tokens", "N", "Of --model: tokens of a step [4096]."}, {                                 \
        "training", NULL, "Of --model: the gradients too."                                         \
    }

/* Takes an option of this group or of a shape. *known: whether it is one. */
bool cli_layer_source_set(
    cli_layer_source_t *source, const char *name, const char *value, bool *known, char *error);

/* The layers meant, memory for free(). family: the operand of the verb, may be NULL. False: what is
 * wrong is in error[CLI_TEXT]. */
bool cli_gather_layers(const cli_layer_source_t *source, const char *family, cli_layer_t **layers,
    size_t *count, char *error);

#endif
