/* SPDX-License-Identifier: MIT
 *
 * The images and the random numbers. digits.bin holds 1797 images of 65 bytes: 64 pixels of 0..16,
 * row after row, then the label (see ../data/README.md).
 */
#include "moe.h"

#include <math.h>
#include <stdio.h>

enum { RECORD = PIXELS + 1 };

bool read_digits(const char *path, digits_t *digits) {
    static uint8_t content[IMAGES * RECORD + 1]; /* one more: a longer file is noticed */
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return false;
    }
    const size_t size = fread(content, 1, sizeof content, file);
    fclose(file);
    if (size != IMAGES * RECORD) {
        fprintf(stderr, "%s: expected %d bytes\n", path, IMAGES * RECORD);
        return false;
    }
    for (int i = 0; i < IMAGES; i++) {
        const uint8_t *record = content + i * RECORD;
        for (int p = 0; p < PIXELS; p++) digits->pixels[i][p] = (float)record[p] / 16.0f;
        digits->label[i] = record[PIXELS];
        if (digits->label[i] >= CLASSES) {
            fprintf(stderr, "%s: image %d has label %d\n", path, i, digits->label[i]);
            return false;
        }
    }
    return true;
}

/* Shuffled and then sorted by label, every fifth image is for testing: 360 of 1797, each digit in
 * proportion. */
void split_digits(digits_t *digits, rng_t *rng) {
    int order[IMAGES];
    for (int i = 0; i < IMAGES; i++) order[i] = i;
    shuffle(rng, order, IMAGES);
    int place = 0, train = 0, test = 0;
    for (int label = 0; label < CLASSES; label++) {
        for (int i = 0; i < IMAGES; i++) {
            if (digits->label[order[i]] != label) continue;
            if (place++ % 5 == 0) {
                digits->test[test++] = order[i];
            } else {
                digits->train[train++] = order[i];
            }
        }
    }
}

/* SplitMix64 (Steele, Lea and Flood, 2014): the same numbers on every machine. */
static uint64_t random_bits(rng_t *rng) {
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double random_uniform(rng_t *rng) {
    return (double)(random_bits(rng) >> 11) * 0x1p-53;
}

double random_normal(rng_t *rng) {
    const double radius = sqrt(-2.0 * log(1.0 - random_uniform(rng)));
    return radius * cos(6.283185307179586 * random_uniform(rng));
}

void shuffle(rng_t *rng, int *values, int count) {
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)(random_uniform(rng) * (i + 1));
        const int value = values[i];
        values[i] = values[j];
        values[j] = value;
    }
}
