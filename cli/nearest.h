/* SPDX-License-Identifier: MIT
 *
 * The nearest valid word to a mistyped one, for error messages of options.c, shape.c and main.c.
 */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

/* The word of words[0 .. count) that takes the fewest edits (insert, delete, replace, one each) to
 * become `word`; the first of equals. A word that begins with `word` counts as one edit away. NULL
 * if count is 0. */
const char *cli_nearest(const char *word, const char *const *words, size_t count);

#endif
