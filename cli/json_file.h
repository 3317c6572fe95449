/* SPDX-License-Identifier: MIT
 *
 * A JSON file as cJSON's tree, for shapes_file.c and model_shapes.c. Only where cJSON is installed.
 */
#ifndef CLI_JSON_FILE_H
#define CLI_JSON_FILE_H

#if defined(CLI_HAVE_CJSON)

#    include <cjson/cJSON.h>

/* The file's tree, for cJSON_Delete(); NULL: one line in error[CLI_TEXT]. */
cJSON *cli_read_json(const char *path, char *error);

#endif
#endif
