/* SPDX-License-Identifier: MIT
 *
 * Verbs, their options and their help. Each verb of the program is one cli_verb_t: a table from
 * which cli_parse reads the command line and cli_print_help writes the manual page, so that the two
 * cannot disagree.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CLI_EXIT_OK = 0,
    CLI_EXIT_FAILED = 1, /* a call was refused, a result was wrong */
    CLI_EXIT_USAGE = 2   /* the command line was wrong */
};

#define CLI_TEXT 320 /* bytes for one line of text: messages, shapes, command lines */

typedef struct cli_option_t {
    const char *name;     /* "threads", given as --threads */
    const char *argument; /* "N"; NULL: the option takes none */
    const char *help;     /* one or two sentences */
} cli_option_t;

typedef struct cli_verb_t cli_verb_t;
struct cli_verb_t {
    const char *name;
    const char *operand; /* "FAMILY", the one word beside the options; NULL: there is none */
    const char *summary; /* half a line */
    const char *description;
    const char *examples;             /* lines of text, or NULL */
    const cli_option_t *options;      /* of the verb itself; --help is added */
    const cli_option_t *more_options; /* a second group, with the heading "Shape options" */
    size_t num_options;
    size_t num_more_options;
    int (*main)(const cli_verb_t *verb, int argc, char **argv);
};

/* Takes one option. value: its argument, NULL if it takes none. On failure writes what is wrong
 * with the value, without the option's name, into error[CLI_TEXT]. */
typedef bool (*cli_apply_fn)(void *target, const char *name, const char *value, char *error);

typedef enum cli_parsed_t {
    CLI_PARSED = 0,      /* go on */
    CLI_PARSED_HELP = 1, /* the help was printed: leave with CLI_EXIT_OK */
    CLI_PARSED_WRONG = 2 /* a line was printed: leave with CLI_EXIT_USAGE */
} cli_parsed_t;

/* Reads argv[1 .. argc), argv[0] being the verb. operand: where the one free word goes (NULL if it
 * is left out); must be given if the verb has one. */
cli_parsed_t cli_parse(const cli_verb_t *verb, int argc, char **argv, cli_apply_fn apply,
    void *target, const char **operand);

/* The manual page of a verb, on stdout. */
void cli_print_help(const cli_verb_t *verb);

/* Prints "deepgemm VERB: <text>; see deepgemm VERB --help" on stderr; returns CLI_EXIT_USAGE. */
int cli_usage_error(const cli_verb_t *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints `text` in lines of at most 80 columns, each after `indent` blanks. */
void cli_print_wrapped(const char *text, int indent);

/* A whole decimal number within [low, high], and nothing else in the text; K, M and G stand for
 * 2^10, 2^20 and 2^30. */
bool cli_parse_integer(const char *text, int64_t low, int64_t high, int64_t *value, char *error);

/* The index of `text` in choices[0 .. count). */
bool cli_parse_choice(
    const char *text, const char *const *choices, size_t count, int *value, char *error);

#endif
