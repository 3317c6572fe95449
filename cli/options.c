/* SPDX-License-Identifier: MIT
 *
 * Command lines by getopt_long, from the table of a verb. getopt's own messages are switched off:
 * ours name the option, the nearest valid one and the page to read, in one line.
 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"

#define MAX_OPTIONS 64
#define OPTION_BASE 256 /* getopt_long's value of option 0: above every character */

static const cli_option_t *option_at(const cli_verb_t *verb, size_t index) {
    return index < verb->num_options ? &verb->options[index]
                                     : &verb->more_options[index - verb->num_options];
}

static size_t count_options(const cli_verb_t *verb) {
    const size_t count = verb->num_options + verb->num_more_options;
    return count < MAX_OPTIONS ? count : MAX_OPTIONS;
}

int cli_usage_error(const cli_verb_t *verb, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "deepgemm %s: ", verb->name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; see deepgemm %s --help\n", verb->name);
    va_end(arguments);
    return CLI_EXIT_USAGE;
}

static void report_unknown(const cli_verb_t *verb, const char *given) {
    const char *names[MAX_OPTIONS + 1];
    size_t count = 0;
    for (; count < count_options(verb); count++) names[count] = option_at(verb, count)->name;
    names[count++] = "help";
    const size_t dashes = strspn(given, "-");
    char word[CLI_TEXT];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(given + dashes, "="), given + dashes);
    cli_usage_error(verb, "unknown option %.*s%s, the nearest is --%s", (int)dashes, given, word,
        cli_nearest(word, names, count));
}

cli_parsed_t cli_parse(const cli_verb_t *verb, int argc, char **argv, cli_apply_fn apply,
    void *target, const char **operand) {
    const size_t count = count_options(verb);
    struct option table[MAX_OPTIONS + 2] = {{NULL, 0, NULL, 0}};
    for (size_t i = 0; i < count; i++) {
        const cli_option_t *option = option_at(verb, i);
        table[i].name = option->name;
        table[i].has_arg = option->argument ? required_argument : no_argument;
        table[i].val = OPTION_BASE + (int)i;
    }
    table[count] = (struct option){"help", no_argument, NULL, 'h'};

    opterr = 0;
    optind = 1;
    int code;
    while ((code = getopt_long(argc, argv, ":h", table, NULL)) != -1) {
        if (code == 'h') {
            cli_print_help(verb);
            return CLI_PARSED_HELP;
        }
        if (code == '?' || code == ':') {
            if (optopt < OPTION_BASE) {
                char letter[] = {'-', (char)optopt, 0};
                report_unknown(verb, optopt ? letter : argv[optind - 1]);
                return CLI_PARSED_WRONG;
            }
            const cli_option_t *option = option_at(verb, (size_t)(optopt - OPTION_BASE));
            if (code == ':') {
                cli_usage_error(verb, "--%s: %s is missing", option->name, option->argument);
            } else {
                cli_usage_error(verb, "--%s takes no value", option->name);
            }
            return CLI_PARSED_WRONG;
        }
        const cli_option_t *option = option_at(verb, (size_t)(code - OPTION_BASE));
        const char *value = option->argument ? optarg : NULL;
        char error[CLI_TEXT] = "";
        if (!apply(target, option->name, value, error)) {
            cli_usage_error(verb, "--%s %s: %s", option->name, value ? value : "", error);
            return CLI_PARSED_WRONG;
        }
    }
    if (operand != NULL) *operand = optind < argc ? argv[optind] : NULL;
    const int allowed = operand != NULL ? 1 : 0;
    if (argc - optind > allowed) {
        cli_usage_error(verb, "unexpected word \"%s\"", argv[optind + allowed]);
        return CLI_PARSED_WRONG;
    }
    return CLI_PARSED;
}

void cli_print_wrapped(const char *text, int indent) {
    const int width = 80 - indent;
    while (*text != 0) {
        const int line = (int)strcspn(text, "\n");
        int end = line;
        if (line > width) {
            end = width;
            while (end > 0 && text[end] != ' ') end--;
            if (end == 0) end = width;
        }
        printf("%*s%.*s\n", end ? indent : 0, "", end, text);
        text += end;
        if (*text == '\n' || *text == ' ') text++;
    }
}

static void print_option(const cli_option_t *option) {
    printf("    --%s%s%s\n", option->name, option->argument ? " " : "",
        option->argument ? option->argument : "");
    cli_print_wrapped(option->help, 8);
}

void cli_print_help(const cli_verb_t *verb) {
    printf("deepgemm %s - %s\n\n", verb->name, verb->summary);
    printf("Synopsis\n    deepgemm %s%s%s [options]\n\n", verb->name, verb->operand ? " " : "",
        verb->operand ? verb->operand : "");
    printf("Description\n");
    cli_print_wrapped(verb->description, 4);
    if (verb->num_more_options > 0) {
        printf("\nShape options\n");
        for (size_t i = 0; i < verb->num_more_options; i++) print_option(&verb->more_options[i]);
    }
    printf("\nOptions\n");
    for (size_t i = 0; i < verb->num_options; i++) print_option(&verb->options[i]);
    print_option(&(cli_option_t){"help", NULL, "Print this page."});
    if (verb->examples != NULL) {
        printf("\nExamples\n");
        cli_print_wrapped(verb->examples, 4);
    }
    printf("\nExit status\n    0  all is well\n    1  a call was refused, or a result was wrong\n"
           "    2  the command line was wrong\n");
}

bool cli_parse_integer(const char *text, int64_t low, int64_t high, int64_t *value, char *error) {
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    int64_t unit = 1;
    if (end != text && *end != 0 && strchr("KMG", *end) != NULL) {
        unit = *end == 'K' ? INT64_C(1) << 10 : *end == 'M' ? INT64_C(1) << 20 : INT64_C(1) << 30;
        end++;
    }
    if (end == text || *end != 0 || *text == ' ') {
        snprintf(error, CLI_TEXT, "not a whole number");
        return false;
    }
    if (errno == ERANGE || number > high / unit || number < low / unit || number * unit < low) {
        snprintf(error, CLI_TEXT, "not within %" PRId64 " .. %" PRId64, low, high);
        return false;
    }
    *value = number * unit;
    return true;
}

bool cli_parse_choice(
    const char *text, const char *const *choices, size_t count, int *value, char *error) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, choices[i]) == 0) {
            *value = (int)i;
            return true;
        }
    }
    int used = snprintf(error, CLI_TEXT, "no such value, the nearest is %s; there are",
        cli_nearest(text, choices, count));
    for (size_t i = 0; i < count && used > 0 && used < CLI_TEXT; i++) {
        used += snprintf(error + used, (size_t)(CLI_TEXT - used), " %s", choices[i]);
    }
    return false;
}
