/* SPDX-License-Identifier: MIT
 *
 * See layers.h.
 */
#include "layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "shapes_file.h"

bool cli_layer_source_set(
    cli_layer_source_t *source, const char *name, const char *value, bool *known, char *error) {
    *known = true;
    if (strcmp(name, "file") == 0) {
        source->file = value;
    } else if (strcmp(name, "model") == 0) {
        source->model = value;
    } else if (strcmp(name, "training") == 0) {
        source->training = true;
    } else if (strcmp(name, "tokens") == 0) {
        return cli_parse_integer(value, 1, INT64_C(1) << 24, &source->tokens, error);
    } else {
        const bool ok = cli_shape_set(&source->shape, name, value, known, error);
        source->shaped = source->shaped || *known;
        return ok;
    }
    return true;
}

static bool read_file(const cli_layer_source_t *source, cli_family_t family, cli_layer_t **layers,
    size_t *count, char *error) {
    cli_shape_t *shapes = NULL;
    size_t shape_count = 0;
    const bool ok = cli_read_shapes(source->file, family, &shapes, &shape_count, error);
    if (ok) {
        *layers = cli_allocate((shape_count + 1) * sizeof **layers);
        for (size_t i = 0; i < shape_count; i++) (*layers)[i].shape = shapes[i];
        *count = shape_count;
    }
    free(shapes);
    return ok;
}

bool cli_gather_layers(const cli_layer_source_t *source, const char *name, cli_layer_t **layers,
    size_t *count, char *error) {
    cli_family_t family = CLI_NUM_FAMILIES;
    char inner[CLI_TEXT];
    if (name != NULL && !cli_parse_family(name, &family, inner)) {
        snprintf(error, CLI_TEXT, "family %.100s: %.200s", name, inner);
        return false;
    }
    if (name == NULL && source->file == NULL && source->model == NULL) {
        snprintf(error, CLI_TEXT, "FAMILY is missing");
        return false;
    }
    if ((source->file != NULL || source->model != NULL) && source->shaped) {
        snprintf(error, CLI_TEXT, "--file and --model do not go with options of a shape");
        return false;
    }
    if (source->model != NULL)
        return cli_read_model(
            source->model, source->tokens, source->training, layers, count, error);
    if (source->file != NULL) return read_file(source, family, layers, count, error);
    *layers = cli_allocate(sizeof **layers);
    (*layers)[0].shape = source->shape;
    (*layers)[0].shape.family = family;
    *count = 1;
    return true;
}
