/* SPDX-License-Identifier: MIT
 *
 * The plans of known shapes, as tests/golden/plans.txt has them: products of large language models in
 * training and inference, on several machines. A change of a kernel's planning shows here line by
 * line, to be looked at and then written down:
 *
 *     test_golden_plans tests/golden/plans.txt --write > new && mv new tests/golden/plans.txt
 *
 * A line is  "MACHINE: options of deepgemm plan | specialisation | grid, launches, predicted us".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_arguments.h"

enum { LINE = 2048, ANSWER = LINE + DG_PLAN_TEXT + 100 };

/* Takes the options of a shape, "gemm --m 4096 ...", apart; `text` is changed. */
static bool parse_shape(char *text, cli_shape_t *shape, char *error) {
    cli_family_t family;
    bool known;
    char *word = strtok(text, " ");
    if (word == NULL || !cli_parse_family(word, &family, error)) return false;
    *shape = cli_shape_init(family);
    for (word = strtok(NULL, " "); word != NULL; word = strtok(NULL, " ")) {
        const char *key = word + 2;
        const bool flag = strcmp(key, "accumulate") == 0 || strcmp(key, "gather") == 0;
        const char *value = flag ? NULL : strtok(NULL, " ");
        if (!flag && value == NULL) return false;
        if (!cli_shape_set(shape, key, value, &known, error)) return false;
        if (!known) return false;
    }
    return true;
}

/* Writes the plan of the machine and shape that `question` names behind them. */
static bool answer(const char *question, char *line) {
    static cli_plan_arguments_t arguments;
    char machine[32], text[LINE], error[CLI_TEXT] = "";
    dg_plan_query_t query = DG_PLAN_QUERY_INIT;
    dg_plan_info_t info = DG_PLAN_INFO_INIT;
    cli_shape_t shape;
    const char *colon = strchr(question, ':');
    if (colon == NULL || colon - question >= (int)sizeof machine) return false;
    snprintf(machine, sizeof machine, "%.*s", (int)(colon - question), question);
    snprintf(text, sizeof text, "%s", colon + 1);
    query.machine = machine;
    if (!parse_shape(text, &shape, error) || !cli_make_plan_arguments(&shape, &arguments, error)) {
        fprintf(stderr, "%s: %s\n", question, error);
        return false;
    }
    if (cli_plan_arguments(NULL, &arguments, &query, &info) != DG_STATUS_OK) {
        snprintf(line, ANSWER, "%s | %s", question, dg_status_string(DG_STATUS_UNSUPPORTED));
        return true;
    }
    const dg_plan_stage_info_t *last = &info.stage[info.stage_count - 1];
    snprintf(line, ANSWER, "%s | %s | grid %d, launches %d, %.4g us", question,
        last->specialisation, (int)last->grid, (int)info.stage_count, info.us);
    return true;
}

/* One line of the file; prints what is wrong with it, or its new text. */
static bool check_line(char *line, bool writes) {
    char question[LINE], now[ANSWER];
    line[strcspn(line, "\n")] = 0;
    if (line[0] == '#' || line[0] == 0) {
        if (writes) printf("%s\n", line);
        return true;
    }
    const char *end = strstr(line, " | ");
    const int length = (int)(end != NULL ? end - line : (long)strlen(line));
    snprintf(question, sizeof question, "%.*s", length, line);
    if (!answer(question, now)) return false;
    if (writes) printf("%s\n", now);
    if (writes || strcmp(now, line) == 0) return true;
    fprintf(stderr, "was  %s\nis   %s\n", line, now);
    return false;
}

int main(int argc, char **argv) {
    char line[ANSWER];
    int lines = 0, wrong = 0;
    const bool writes = argc > 2 && strcmp(argv[2], "--write") == 0;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: test_golden_plans FILE [--write]\n");
        return 2;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        lines++;
        wrong += !check_line(line, writes);
    }
    fclose(file);
    if (wrong > 0)
        fprintf(stderr, "%d of %d lines differ; if that is meant, run this with --write\n", wrong,
            lines);
    return wrong > 0 || lines < 50;
}
