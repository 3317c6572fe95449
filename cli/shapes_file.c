/* SPDX-License-Identifier: MIT
 *
 * Reads shape files with cJSON. Each member becomes the text that the option of the same name would
 * have, so that shape.c judges both alike. Built without cJSON, every file is refused.
 */
#include "shapes_file.h"

#include <stdio.h>

#if defined(CLI_HAVE_CJSON)

#    include <string.h>

#    include "buffer.h"
#    include "json_file.h"
#    include "nearest.h"

/* The text of a scalar, or of an array of scalars with commas between; false for anything else. */
static bool value_text(const cJSON *value, char *text, size_t size) {
    if (cJSON_IsString(value)) return (size_t)snprintf(text, size, "%s", value->valuestring) < size;
    if (cJSON_IsBool(value)) return snprintf(text, size, "%d", cJSON_IsTrue(value)) == 1;
    if (cJSON_IsNumber(value)) {
        return (size_t)snprintf(text, size, "%.17g", value->valuedouble) < size;
    }
    if (!cJSON_IsArray(value)) return false;
    size_t used = 0;
    const cJSON *element;
    text[0] = 0;
    cJSON_ArrayForEach(element, value) {
        if (cJSON_IsArray(element) || used + 2 > size) return false;
        if (used > 0) text[used++] = ',';
        if (!value_text(element, text + used, size - used)) return false;
        used += strlen(text + used);
    }
    return true;
}

static void complain_unknown(const char *key, char *error) {
    const char *names[64];
    size_t count = 0;
    for (; count < CLI_NUM_SHAPE_OPTIONS && count < 63; count++) {
        names[count] = cli_shape_options[count].name;
    }
    names[count++] = "family";
    snprintf(error, CLI_TEXT, "unknown member \"%.60s\", the nearest is \"%s\"", key,
        cli_nearest(key, names, count));
}

static bool read_shape(const cJSON *object, cli_family_t family, cli_shape_t *shape, char *error) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(object, "family");
    if (cJSON_IsString(name)) {
        if (!cli_parse_family(name->valuestring, &family, error)) return false;
    } else if (name != NULL || family == CLI_NUM_FAMILIES) {
        snprintf(error, CLI_TEXT, "\"family\" is missing or not a text");
        return false;
    }
    *shape = cli_shape_init(family);
    const cJSON *member;
    cJSON_ArrayForEach(member, object) {
        const char *key = member->string;
        if (strcmp(key, "family") == 0 || strcmp(key, "source") == 0) continue;
        char text[CLI_MAX_GROUPS * 12], inner[CLI_TEXT];
        bool known;
        if (!value_text(member, text, sizeof text)) {
            snprintf(error, CLI_TEXT, "\"%.60s\" is neither number, text, truth nor list", key);
            return false;
        }
        if (cli_shape_set(shape, key, text, &known, inner)) continue;
        if (known) {
            snprintf(error, CLI_TEXT, "\"%.60s\" %.60s: %.180s", key, text, inner);
        } else {
            complain_unknown(key, error);
        }
        return false;
    }
    return true;
}

static void append(cli_shape_t **shapes, size_t *count, const cli_shape_t *shape) {
    *shapes = cli_reallocate(*shapes, (*count + 1) * sizeof **shapes);
    (*shapes)[(*count)++] = *shape;
}

bool cli_read_shapes(
    const char *path, cli_family_t family, cli_shape_t **shapes, size_t *count, char *error) {
    cJSON *root = cli_read_json(path, error);
    if (root == NULL) return false;
    bool ok = cJSON_IsArray(root) || cJSON_IsObject(root);
    if (!ok) {
        snprintf(error, CLI_TEXT, "%.200s: neither an array nor an object", path);
    } else {
        const cJSON *object = cJSON_IsArray(root) ? root->child : root;
        for (int index = 0; ok && object != NULL; index++) {
            cli_shape_t shape;
            char inner[CLI_TEXT] = "";
            ok = cJSON_IsObject(object) && read_shape(object, family, &shape, inner);
            if (ok) {
                append(shapes, count, &shape);
            } else {
                snprintf(error, CLI_TEXT, "%.80s: shape %d: %.200s", path, index,
                    inner[0] ? inner : "not an object");
            }
            object = cJSON_IsArray(root) ? object->next : NULL;
        }
    }
    cJSON_Delete(root);
    return ok;
}

#else

bool cli_read_shapes(
    const char *path, cli_family_t family, cli_shape_t **shapes, size_t *count, char *error) {
    (void)family, (void)shapes, (void)count;
    snprintf(error, CLI_TEXT,
        "%.200s: this program was built without cJSON and reads no shape files; install "
        "libcjson-dev and build again",
        path);
    return false;
}

#endif
