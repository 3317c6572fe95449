/* SPDX-License-Identifier: MIT
 *
 * Results as rows of named cells: an aligned table for people, or one JSON object a line for
 * programs. Called by run.c and bench.c.
 *
 *     cli_report_t report;
 *     cli_report_begin(&report, json);
 *     cli_report_text(&report, "family", "family", "gemm");
 *     cli_report_number(&report, "time_ms", "time ms", 12.3, 2);
 *     cli_report_end_row(&report);
 *     ...
 *     cli_report_end(&report, false);     // prints the table, or nothing more
 *
 * Every row has the same cells in the same order.
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"

#define CLI_MAX_COLUMNS 20

typedef struct cli_column_t {
    const char *key, *heading;
    size_t width;
    bool right; /* numbers stand to the right */
} cli_column_t;

typedef struct cli_report_t {
    bool as_json;
    bool
        as_csv; /* the table leaves as comma-separated values, under the names of JSON; set it after
                  * cli_report_begin() */
    cli_json_t json;
    cli_column_t columns[CLI_MAX_COLUMNS];
    size_t num_columns;
    size_t column; /* of the next cell */
    char **cells;  /* [rows, num_columns] the texts, owned */
    size_t num_cells;
    size_t capacity;
} cli_report_t;

void cli_report_begin(cli_report_t *report, bool as_json);

/* One cell. key: the name in JSON; heading: the name over the column, with the unit. */
void cli_report_text(cli_report_t *report, const char *key, const char *heading, const char *value);
void cli_report_integer(cli_report_t *report, const char *key, const char *heading, int64_t value);

/* digits: significant ones; a value that is not finite shows as "-". */
void cli_report_number(
    cli_report_t *report, const char *key, const char *heading, double value, int digits);

void cli_report_end_row(cli_report_t *report);

/* Prints the table. With `upright` a table of one row stands as a list, one cell a line. */
void cli_report_end(cli_report_t *report, bool upright);

#endif
