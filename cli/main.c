/* SPDX-License-Identifier: MIT
 *
 * deepgemm: the library from the command line. This file picks the verb; each verb is a file of its
 * own, from info.c to cache.c.
 */
#include <stdio.h>
#include <string.h>

#include "deep_gemm/deep_gemm.h"
#include "nearest.h"
#include "options.h"
#include "verbs.h"

static const cli_verb_t *const verbs[] = {
    &cli_info, &cli_run, &cli_verify, &cli_bench, &cli_plan, &cli_tune, &cli_compile, &cli_cache};
#define NUM_VERBS (sizeof verbs / sizeof verbs[0])

static void print_help(void) {
    printf("deepgemm - matrix products in FP8, FP4 and BF16 with fine-grained scaling\n\n"
           "Synopsis\n    deepgemm VERB [options]\n\nVerbs\n");
    for (size_t i = 0; i < NUM_VERBS; i++) {
        printf("    %-8s %s\n", verbs[i]->name, verbs[i]->summary);
    }
    printf("\nOptions\n"
           "    --help     Print this page; deepgemm VERB --help prints that of a verb.\n"
           "    --version  Print the version.\n");
}

/* Output that could not be written (a full disk, a closed pipe) is a failure too. */
static int finish(int status) {
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "deepgemm: the output could not be written\n");
        return status != CLI_EXIT_OK ? status : CLI_EXIT_FAILED;
    }
    return status;
}

static int complain(const char *word) {
    static const char *const words[] = {"info", "run", "verify", "bench", "plan", "tune", "compile",
        "cache", "--help", "--version"};
    const size_t num_words = sizeof words / sizeof words[0];
    const char *kind = word[0] == '-' ? "option" : "verb";
    fprintf(stderr, "deepgemm: unknown %s %s, the nearest is %s; see deepgemm --help\n", kind, word,
        cli_nearest(word, words, num_words));
    return CLI_EXIT_USAGE;
}

int main(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "";
    if (argc < 2) {
        fprintf(stderr, "deepgemm: a verb is missing; see deepgemm --help\n");
        return CLI_EXIT_USAGE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help();
        return finish(CLI_EXIT_OK);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("deepgemm %s\n", dg_version());
        return finish(CLI_EXIT_OK);
    }
    for (size_t i = 0; i < NUM_VERBS; i++) {
        if (strcmp(word, verbs[i]->name) == 0) {
            return finish(verbs[i]->main(verbs[i], argc - 1, argv + 1));
        }
    }
    return complain(word);
}
