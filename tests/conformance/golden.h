/* SPDX-License-Identifier: MIT
 *
 * The golden file: a head of comment lines, then for each case `case <name> <words>` and its words.
 * Words are hexadecimal, or, where the case's input are numbers, the float they hold; that is what
 * keeps the file small and readable; `word*count` is a word that repeats. A case whose program the
 * hardware stops has the one word `trap`. Written on a GPU, read by the emulator's test. */
#ifndef DG_TESTS_CONFORMANCE_GOLDEN_H
#define DG_TESTS_CONFORMANCE_GOLDEN_H

#include "cases.h"

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

void golden_write_head(FILE *file, const char *device, const char *date, const char *digest);
/* output: [c->words] */
void golden_write_case(FILE *file, const conform_case_t *c, const uint32_t *output);

void golden_write_trap(FILE *file, const conform_case_t *c);

/* The digest in the head; false if the file is missing or has none. digest: [17] */
bool golden_read_digest(const char *path, char *digest);

/* Compares output with the file's words for this case; text says what differs. output: [c->words],
 * or null if the program was stopped */
bool golden_compare(
    const char *path, const conform_case_t *c, const uint32_t *output, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
