/* SPDX-License-Identifier: MIT
 *
 * Trains a mixture-of-experts classifier of handwritten digits twice, with its experts in FP8
 * through DeepGEMM and in FP32 without it, and judges the first by the second. Exit status: 0 if
 * FP8 is good enough, 1 if not, 2 if the program could not run.
 */
#include "moe.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef DIGITS_PATH
#    define DIGITS_PATH "digits.bin"
#endif

enum { SEEDS = 5 };

/* What the mean of five seeds must reach; one seed, with 360 test images, gets 2 points more room. */
static const double LEAST_ACCURACY = 0.96, MOST_DIFFERENCE = 0.01, ROOM_OF_ONE = 0.02;

typedef struct options_t {
    uint64_t first_seed;
    int seeds;
    const char *data, *output;
} options_t;

static void print_help(void) {
    printf(
        "usage: moe_digits [--seed N] [--data FILE] [--output DIR]\n"
        "\n"
        "Trains a mixture of %d experts, 2 for each token, on %d images of handwritten digits;\n"
        "%d others test it. Twice: with all products of the experts in FP8 through DeepGEMM, and\n"
        "in FP32 with plain loops. Ends with a table and writes the learning curves.\n"
        "\n"
        "  --seed N      one run with this seed (default: seeds 1 to %d and their mean)\n"
        "  --data FILE   the images (default: %s)\n"
        "  --output DIR  where moe_digits.csv and moe_digits.svg go (default: the current folder)\n"
        "  --help        this text\n"
        "\n"
        "Exit status: 0 if FP8 gets at least %.0f %% of the test images right and is within\n"
        "%.0f point of FP32 (in the mean of %d seeds; one seed: %.0f %% and %.0f points), 1 if not,\n"
        "2 if the program could not run.\n",
        EXPERTS, TRAIN_IMAGES, TEST_IMAGES, SEEDS, DIGITS_PATH, 100.0 * LEAST_ACCURACY,
        100.0 * MOST_DIFFERENCE, SEEDS, 100.0 * (LEAST_ACCURACY - ROOM_OF_ONE),
        100.0 * (MOST_DIFFERENCE + ROOM_OF_ONE));
}

static bool read_options(int argc, char **argv, options_t *options) {
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        const bool seed = !strcmp(name, "--seed"), data = !strcmp(name, "--data");
        const bool output = !strcmp(name, "--output");
        if (!seed && !data && !output) {
            fprintf(stderr, "moe_digits: unknown option %s; see --help\n", name);
            return false;
        }
        if (!value) {
            fprintf(stderr, "moe_digits: %s needs a value; see --help\n", name);
            return false;
        }
        if (data) options->data = value;
        if (output) options->output = value;
        if (seed) {
            char *end;
            options->first_seed = strtoull(value, &end, 10);
            options->seeds = 1;
            if (value[0] < '0' || value[0] > '9' || *end) {
                fprintf(stderr, "moe_digits: --seed %s is not a number >= 0\n", value);
                return false;
            }
        }
    }
    return true;
}

/* A line that is written over on a terminal; elsewhere a line for every fifth epoch. */
static void show_progress(const run_t *run, int epoch) {
    const bool terminal = isatty(STDOUT_FILENO) == 1, last = epoch + 1 == EPOCHS;
    if (!terminal && (epoch + 1) % 5 != 0) return;
    const curve_t *fp8 = &run->curve[MODEL_FP8], *twin = &run->curve[MODEL_TWIN];
    printf("%sseed %llu  epoch %2d/%d  loss %.4f (twin %.4f)  test %.2f %% (twin %.2f %%)%s",
        terminal ? "\r" : "", (unsigned long long)run->seed, epoch + 1, EPOCHS,
        fp8->train_loss[epoch], twin->train_loss[epoch], 100.0 * fp8->accuracy[epoch],
        100.0 * twin->accuracy[epoch], terminal && !last ? " " : "\n");
    fflush(stdout);
}

static double find_mean_accuracy(const run_t *runs, int count, int model) {
    double sum = 0.0;
    for (int i = 0; i < count; i++) sum += runs[i].curve[model].accuracy[EPOCHS - 1];
    return sum / count;
}

/* Says what was wanted and whether it came out. */
static bool judge(const run_t *runs, int count) {
    const double room = count == 1 ? ROOM_OF_ONE : 0.0;
    const double least = LEAST_ACCURACY - room, most = MOST_DIFFERENCE + room;
    const double fp8 = find_mean_accuracy(runs, count, MODEL_FP8);
    const double difference = fabs(fp8 - find_mean_accuracy(runs, count, MODEL_TWIN));
    long empty = 0;
    for (int i = 0; i < count; i++) empty += runs[i].stats[MODEL_FP8].empty_groups;

    const bool accurate = fp8 >= least, close = difference <= most, ragged = empty > 0;
    printf("%s  FP8 gets %.2f %% of the test images right: at least %.0f %%\n",
        accurate ? "reached" : "MISSED ", 100.0 * fp8, 100.0 * least);
    printf("%s  FP8 is %.2f points from its FP32 twin: at most %.0f\n",
        close ? "reached" : "MISSED ", 100.0 * difference, 100.0 * most);
    printf("%s  experts without a token in a micro-batch: at least once\n",
        ragged ? "reached" : "MISSED ");
    return accurate && close && ragged;
}

int main(int argc, char **argv) {
    options_t options = {1, SEEDS, DIGITS_PATH, "."};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) {
            print_help();
            return EXIT_SUCCESS;
        }
    }
    if (!read_options(argc, argv, &options)) return EXIT_UNUSABLE;

    char csv[4096], svg[4096];
    snprintf(csv, sizeof csv, "%s/moe_digits.csv", options.output);
    snprintf(svg, sizeof svg, "%s/moe_digits.svg", options.output);

    static digits_t digits;
    static run_t runs[SEEDS];
    if (!read_digits(options.data, &digits)) return EXIT_UNUSABLE;
    if (mkdir(options.output, 0777) != 0 && errno != EEXIST) {
        perror(options.output);
        return EXIT_UNUSABLE;
    }
    /* A file without lines, to hear before the training if the folder cannot be written. */
    if (!write_csv(csv, runs, 0)) return EXIT_UNUSABLE;
    const double start = now();
    for (int i = 0; i < options.seeds; i++) {
        runs[i].seed = options.first_seed + (uint64_t)i;
        train(&runs[i], &digits, show_progress);
    }
    printf("\n");
    print_table(runs, options.seeds);

    if (!write_csv(csv, runs, options.seeds)) return EXIT_UNUSABLE;
    if (!write_svg(svg, runs, options.seeds)) return EXIT_UNUSABLE;
    printf("\ncurves: %s, %s\n%.1f seconds in all\n\n", csv, svg, now() - start);
    return judge(runs, options.seeds) ? EXIT_SUCCESS : EXIT_FAILURE;
}
