/* SPDX-License-Identifier: MIT
 *
 * Levenshtein distance over short words. One row of the table is enough: row[j] is the distance
 * between the letters of `a` read so far and the first j letters of `b`.
 */
#include "nearest.h"

#include <string.h>

#define MAX_WORD 48 /* longer words are compared by their first letters */

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t count_edits(const char *a, const char *b) {
    const size_t len_a = smaller(strlen(a), MAX_WORD);
    const size_t len_b = smaller(strlen(b), MAX_WORD);
    size_t row[MAX_WORD + 1];
    for (size_t j = 0; j <= len_b; j++) row[j] = j;
    for (size_t i = 0; i < len_a; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < len_b; j++) {
            const size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = smaller(replaced, smaller(row[j], row[j + 1]) + 1);
        }
    }
    return row[len_b];
}

const char *cli_nearest(const char *word, const char *const *words, size_t count) {
    const char *best = NULL;
    size_t best_edits = 0;
    const size_t length = strlen(word);
    for (size_t i = 0; i < count; i++) {
        size_t edits = count_edits(word, words[i]);
        if (length > 1 && strncmp(word, words[i], length) == 0) edits = smaller(edits, 1);
        if (best == NULL || edits < best_edits) {
            best = words[i];
            best_edits = edits;
        }
    }
    return best;
}
