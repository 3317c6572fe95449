/* SPDX-License-Identifier: MIT
 *
 * The transposes of transpose.h, 16 bytes of each of 8 rows at a time.
 *
 * One step interleaves vector i with vector i + 4 for each i and numbers the results
 *     2 i: low halves, 2 i + 1: high halves.
 * In terms of the bits of a code's place (vector v2 v1 v0, lane p..p0) that rotates them by one:
 * v2 becomes the lowest lane bit, the highest lane bit becomes v0. Three steps move the three row
 * bits into the lane and as many k bits into the vector number, which is the transpose.
 */
#include "cpu/transpose.h"

#include <string.h>

typedef uint8_t bytes_t __attribute__((vector_size(16)));
typedef uint16_t halves_t __attribute__((vector_size(16)));

static void interleave_bytes(const bytes_t from[8], bytes_t to[8]) {
    for (int i = 0; i < 4; i++) {
        to[2 * i] = __builtin_shufflevector(
            from[i], from[i + 4], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        to[2 * i + 1] = __builtin_shufflevector(
            from[i], from[i + 4], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
}

static void interleave_halves(const halves_t from[8], halves_t to[8]) {
    for (int i = 0; i < 4; i++) {
        to[2 * i] = __builtin_shufflevector(from[i], from[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
        to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
}

/* 16 bytes at `offset` of each row; of the last, incomplete vector only what is there. */
static void load_rows(const uint8_t *const rows[8], int64_t offset, int64_t bytes, void *vectors) {
    if (bytes >= 16) {
        for (int i = 0; i < 8; i++) memcpy((char *)vectors + 16 * i, rows[i] + offset, 16);
    } else {
        memset(vectors, 0, 8 * 16);
        for (int i = 0; i < 8; i++) {
            memcpy((char *)vectors + 16 * i, rows[i] + offset, (size_t)bytes);
        }
    }
}

void dg_cpu_transpose_bytes(
    const uint8_t *const rows[8], int count, int64_t k_count, int64_t pitch, uint8_t *codes) {
    for (int64_t k = 0; k < k_count; k += 16) {
        bytes_t x[8], y[8];
        load_rows(rows, k, k_count - k, x);
        interleave_bytes(x, y);
        interleave_bytes(y, x);
        interleave_bytes(x, y);
        const uint8_t *from = (const uint8_t *)y; /* [16 k, 8 rows] */
        const int64_t ks = k_count - k < 16 ? k_count - k : 16;
        uint8_t *to = codes + k * pitch;
        if (count == 8 && ks == 16) {
            for (int i = 0; i < 16; i++) memcpy(to + i * pitch, from + 8 * i, 8);
        } else if (count == 6) {
            for (int64_t i = 0; i < ks; i++) memcpy(to + i * pitch, from + 8 * i, 6);
        } else {
            for (int64_t i = 0; i < ks; i++) memcpy(to + i * pitch, from + 8 * i, (size_t)count);
        }
    }
}

void dg_cpu_transpose_halves(
    const uint8_t *const rows[8], int count, int64_t k_count, int64_t pitch, uint8_t *codes) {
    for (int64_t k = 0; k < k_count; k += 8) {
        halves_t x[8], y[8];
        load_rows(rows, 2 * k, 2 * (k_count - k), x);
        interleave_halves(x, y);
        interleave_halves(y, x);
        interleave_halves(x, y);
        const uint8_t *from = (const uint8_t *)y; /* [8 k, 8 rows] */
        const int64_t ks = k_count - k < 8 ? k_count - k : 8;
        uint8_t *to = codes + k * pitch;
        if (count == 8 && ks == 8) {
            for (int i = 0; i < 8; i++) memcpy(to + i * pitch, from + 16 * i, 16);
        } else if (count == 6) {
            for (int64_t i = 0; i < ks; i++) memcpy(to + i * pitch, from + 16 * i, 12);
        } else {
            for (int64_t i = 0; i < ks; i++) {
                memcpy(to + i * pitch, from + 16 * i, 2 * (size_t)count);
            }
        }
    }
}

void dg_cpu_transpose_words(
    const uint8_t *const rows[8], int count, int64_t k_count, int64_t pitch, uint8_t *values) {
    for (int i = 0; i < count; i++) {
        for (int64_t k = 0; k < k_count; k++) {
            memcpy(values + k * pitch + 4 * i, rows[i] + 4 * k, 4);
        }
    }
}
