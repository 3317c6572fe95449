/* SPDX-License-Identifier: MIT
 *
 * Writes JSON text, for the --json form of every verb. (Reading JSON is shapes_file.c's matter.)
 *
 *     cli_json_t json = {stdout, false};
 *     cli_json_open(&json, NULL, '{');
 *     cli_json_text(&json, "name", "avx2");
 *     cli_json_close(&json, '}');
 *
 * In an object each value has a key; in an array the key is NULL.
 */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_json_t {
    FILE *file;
    bool comma; /* a value stands before the next one on the same level */
} cli_json_t;

void cli_json_open(cli_json_t *json, const char *key, char bracket);
void cli_json_close(cli_json_t *json, char bracket);
void cli_json_text(cli_json_t *json, const char *key, const char *value); /* NULL becomes null */
void cli_json_integer(cli_json_t *json, const char *key, int64_t value);
void cli_json_number(cli_json_t *json, const char *key, double value); /* not finite: null */
void cli_json_truth(cli_json_t *json, const char *key, bool value);
void cli_json_end_line(cli_json_t *json); /* between values on the outermost level */

#endif
