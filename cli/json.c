/* SPDX-License-Identifier: MIT
 *
 * A JSON writer without state but one comma. Called by report.c and info.c.
 */
#include "json.h"

#include <inttypes.h>
#include <math.h>

static void write_string(FILE *file, const char *text) {
    fputc('"', file);
    for (const unsigned char *p = (const unsigned char *)text; *p != 0; p++) {
        if (*p == '"' || *p == '\\') {
            fprintf(file, "\\%c", *p);
        } else if (*p < 0x20) {
            fprintf(file, "\\u%04x", *p);
        } else {
            fputc(*p, file);
        }
    }
    fputc('"', file);
}

static void begin_value(cli_json_t *json, const char *key) {
    if (json->comma) fputs(", ", json->file);
    if (key != NULL) {
        write_string(json->file, key);
        fputs(": ", json->file);
    }
    json->comma = true;
}

void cli_json_open(cli_json_t *json, const char *key, char bracket) {
    begin_value(json, key);
    fputc(bracket, json->file);
    json->comma = false;
}

void cli_json_close(cli_json_t *json, char bracket) {
    fputc(bracket, json->file);
    json->comma = true;
}

void cli_json_text(cli_json_t *json, const char *key, const char *value) {
    begin_value(json, key);
    if (value == NULL) {
        fputs("null", json->file);
    } else {
        write_string(json->file, value);
    }
}

void cli_json_integer(cli_json_t *json, const char *key, int64_t value) {
    begin_value(json, key);
    fprintf(json->file, "%" PRId64, value);
}

void cli_json_number(cli_json_t *json, const char *key, double value) {
    begin_value(json, key);
    if (isfinite(value)) {
        fprintf(json->file, "%.9g", value);
    } else {
        fputs("null", json->file);
    }
}

void cli_json_truth(cli_json_t *json, const char *key, bool value) {
    begin_value(json, key);
    fputs(value ? "true" : "false", json->file);
}

void cli_json_end_line(cli_json_t *json) {
    fputc('\n', json->file);
    json->comma = false;
}
