/* SPDX-License-Identifier: MIT
 *
 * Tables whose columns are as wide as their widest cell. The table waits for the last row; JSON
 * lines leave at once.
 */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"

void cli_report_begin(cli_report_t *report, bool as_json) {
    *report = (cli_report_t){.as_json = as_json, .json = {stdout, false}};
}

static void add_cell(
    cli_report_t *report, const char *key, const char *heading, const char *text, bool right) {
    if (report->column >= CLI_MAX_COLUMNS) return;
    cli_column_t *column = &report->columns[report->column];
    if (report->column == report->num_columns) {
        *column = (cli_column_t){key, heading, strlen(heading), right};
        report->num_columns++;
    }
    const size_t length = strlen(text);
    if (length > column->width) column->width = length;
    if (report->num_cells == report->capacity) {
        report->capacity = report->capacity ? 2 * report->capacity : 64;
        report->cells = cli_reallocate(report->cells, report->capacity * sizeof *report->cells);
    }
    char *copy = cli_allocate(length + 1);
    memcpy(copy, text, length + 1);
    report->cells[report->num_cells++] = copy;
    report->column++;
}

static void begin_json_row(cli_report_t *report) {
    if (report->column++ == 0) cli_json_open(&report->json, NULL, '{');
}

void cli_report_text(
    cli_report_t *report, const char *key, const char *heading, const char *value) {
    if (report->as_json) {
        begin_json_row(report);
        cli_json_text(&report->json, key, value);
    } else {
        add_cell(report, key, heading, value, false);
    }
}

void cli_report_integer(cli_report_t *report, const char *key, const char *heading, int64_t value) {
    if (report->as_json) {
        begin_json_row(report);
        cli_json_integer(&report->json, key, value);
    } else {
        char text[32];
        snprintf(text, sizeof text, "%" PRId64, value);
        add_cell(report, key, heading, text, true);
    }
}

/* Like %g, but never with an exponent between 0.001 and 10^6, and with trailing zeros, so that the
 * points of a column tell the same precision. */
static void format_number(char *text, size_t size, double value, int digits) {
    const double magnitude = fabs(value);
    if (!isfinite(value)) {
        snprintf(text, size, "-");
    } else if (value == 0) {
        snprintf(text, size, "0");
    } else if (magnitude >= 1e-3 && magnitude < 1e6) {
        const int decimals = digits - 1 - (int)floor(log10(magnitude));
        snprintf(text, size, "%.*f", decimals > 0 ? decimals : 0, value);
    } else {
        snprintf(text, size, "%.*e", digits - 1, value);
    }
}

void cli_report_number(
    cli_report_t *report, const char *key, const char *heading, double value, int digits) {
    if (report->as_json) {
        begin_json_row(report);
        cli_json_number(&report->json, key, value);
    } else {
        char text[32];
        format_number(text, sizeof text, value, digits);
        add_cell(report, key, heading, text, true);
    }
}

void cli_report_end_row(cli_report_t *report) {
    if (report->as_json && report->column > 0) {
        cli_json_close(&report->json, '}');
        cli_json_end_line(&report->json);
        fflush(stdout);
    }
    report->column = 0;
}

static void print_cell(const cli_column_t *column, const char *text, bool last) {
    const int width = (int)column->width;
    if (last && !column->right) {
        printf("%s\n", text);
    } else {
        printf("%*s%s", column->right ? width : -width, text, last ? "\n" : "  ");
    }
}

static void print_list(const cli_report_t *report) {
    size_t width = 0;
    for (size_t j = 0; j < report->num_columns; j++) {
        const size_t length = strlen(report->columns[j].heading);
        if (length > width) width = length;
    }
    for (size_t j = 0; j < report->num_columns; j++) {
        printf("%-*s  %s\n", (int)width, report->columns[j].heading, report->cells[j]);
    }
}

static void print_table(const cli_report_t *report) {
    const size_t columns = report->num_columns;
    for (size_t j = 0; j < columns; j++) {
        print_cell(&report->columns[j], report->columns[j].heading, j + 1 == columns);
    }
    for (size_t row = 0; row + columns <= report->num_cells && columns > 0; row += columns) {
        for (size_t j = 0; j < columns; j++) {
            print_cell(&report->columns[j], report->cells[row + j], j + 1 == columns);
        }
    }
}

/* A field of CSV: in quotes where it has to be. A value that does not exist ("-") is empty. */
static void print_field(const char *text, bool last) {
    if (strcmp(text, "-") == 0) text = "";
    if (strpbrk(text, ",\"\n") != NULL) {
        putchar('"');
        for (; *text != 0; text++) printf(*text == '"' ? "\"\"" : "%c", *text);
        putchar('"');
    } else {
        printf("%s", text);
    }
    putchar(last ? '\n' : ',');
}

static void print_csv(const cli_report_t *report) {
    const size_t columns = report->num_columns;
    for (size_t j = 0; j < columns; j++) print_field(report->columns[j].key, j + 1 == columns);
    for (size_t row = 0; row + columns <= report->num_cells && columns > 0; row += columns) {
        for (size_t j = 0; j < columns; j++) print_field(report->cells[row + j], j + 1 == columns);
    }
}

void cli_report_end(cli_report_t *report, bool upright) {
    if (report->as_csv) {
        print_csv(report);
    } else if (upright && report->num_cells == report->num_columns) {
        print_list(report);
    } else {
        print_table(report);
    }
    for (size_t i = 0; i < report->num_cells; i++) free(report->cells[i]);
    free(report->cells);
    *report = (cli_report_t){.as_json = report->as_json};
}
