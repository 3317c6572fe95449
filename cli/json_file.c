/* SPDX-License-Identifier: MIT
 *
 * See json_file.h.
 */
#include "json_file.h"

#if defined(CLI_HAVE_CJSON)

#    include <stdio.h>
#    include <stdlib.h>

#    include "buffer.h"
#    include "options.h"

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    char *text = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        rewind(file);
        if (size >= 0) {
            text = cli_allocate((size_t)size + 1);
            if (fread(text, 1, (size_t)size, file) != (size_t)size) {
                free(text);
                text = NULL;
            }
        }
    }
    fclose(file);
    return text;
}

cJSON *cli_read_json(const char *path, char *error) {
    char *text = read_file(path);
    if (text == NULL) {
        snprintf(error, CLI_TEXT, "%.200s: cannot be read", path);
        return NULL;
    }
    const char *end = NULL;
    cJSON *root = cJSON_ParseWithOpts(text, &end, 1);
    if (root == NULL) {
        int line = 1;
        for (const char *p = text; end != NULL && p < end; p++) line += *p == '\n';
        snprintf(error, CLI_TEXT, "%.200s: line %d is not JSON", path, line);
    }
    free(text);
    return root;
}

#endif
