/* SPDX-License-Identifier: MIT
 *
 * Implementation of golden.h. */
#include "golden.h"

#include <stdlib.h>
#include <string.h>

void golden_write_head(FILE *file, const char *device, const char *date, const char *digest) {
    fprintf(file, "# What the conformance programs output on real hardware.\n");
    fprintf(file, "# device %s\n# date %s\n# digest %s\n", device, date, digest);
}

/* Products of small integers print as small integers. */
static bool prints_floats(const conform_case_t *c) {
    return c->input == CONFORM_E4M3 || c->input == CONFORM_BF16 || c->input == CONFORM_F32;
}

static void print_word(char *text, size_t size, const conform_case_t *c, uint32_t word) {
    float value;
    memcpy(&value, &word, sizeof value);
    if (prints_floats(c))
        snprintf(text, size, "%.9g", (double)value);
    else
        snprintf(text, size, "%x", word);
}

void golden_write_case(FILE *file, const conform_case_t *c, const uint32_t *output) {
    char text[32];
    uint32_t tokens = 0;
    fprintf(file, "case %s %u", c->name, c->words);
    for (uint32_t i = 0; i < c->words;) {
        uint32_t next = i + 1;
        while (next < c->words && output[next] == output[i]) next++;
        const uint32_t count = next - i > 2 ? next - i : 1;
        print_word(text, sizeof text, c, output[i]);
        fprintf(file, "%c%s", tokens++ % 32 ? ' ' : '\n', text);
        if (count > 1) fprintf(file, "*%u", count);
        i += count;
    }
    fprintf(file, "\n");
}

void golden_write_trap(FILE *file, const conform_case_t *c) {
    fprintf(file, "case %s %u\ntrap\n", c->name, c->words);
}

bool golden_read_digest(const char *path, char *digest) {
    char line[256];
    bool found = false;
    FILE *file = fopen(path, "r");
    if (!file) return false;
    while (!found && fgets(line, sizeof line, file))
        found = sscanf(line, "# digest %16s", digest) == 1;
    fclose(file);
    return found;
}

/* Leaves the file behind the line `case <name> <words>`. */
static bool find_case(FILE *file, const conform_case_t *c, char *text, size_t size) {
    char word[128], name[128];
    unsigned words;
    while (fscanf(file, "%127s", word) == 1) {
        if (strcmp(word, "case") || fscanf(file, "%127s %u", name, &words) != 2) continue;
        if (strcmp(name, c->name)) continue;
        if (words == c->words) return true;
        snprintf(text, size, "the golden file has %u words, not %u", words, c->words);
        return false;
    }
    snprintf(text, size, "not in the golden file");
    return false;
}

/* The next word; *left says how often it is still to come. False at the end of the file. */
static bool next_word(FILE *file, char *word, uint32_t *left) {
    char token[64];
    unsigned count = 1;
    if (*left) return --*left, true;
    if (fscanf(file, "%63s", token) != 1 || sscanf(token, "%31[^*]*%u", word, &count) < 1)
        return false;
    *left = count - 1;
    return true;
}

static bool compare_words(
    FILE *file, const conform_case_t *c, const uint32_t *output, char *text, size_t size) {
    char expected[32], got[32];
    uint32_t different = 0, left = 0;
    for (uint32_t i = 0; i < c->words; i++) {
        if (!next_word(file, expected, &left)) {
            snprintf(text, size, "the golden file ends early");
            return false;
        }
        print_word(got, sizeof got, c, output[i]);
        if (strcmp(expected, got) && !different++)
            snprintf(text, size, "word %u is %s, expected %s", i, got, expected);
    }
    if (different) {
        const size_t used = strlen(text);
        snprintf(text + used, size - used, " (%u of %u words differ)", different, c->words);
    }
    return !different;
}

bool golden_compare(
    const char *path, const conform_case_t *c, const uint32_t *output, char *text, size_t size) {
    char word[32] = "";
    uint32_t left = 0;
    bool same = false;
    FILE *file = fopen(path, "r");
    if (!file) {
        snprintf(text, size, "cannot open %s", path);
        return false;
    }
    if (!find_case(file, c, text, size)) {
        same = false;
    } else if (output) {
        same = compare_words(file, c, output, text, size);
    } else {
        same = next_word(file, word, &left) && !strcmp(word, "trap");
        if (!same) snprintf(text, size, "the program trapped");
    }
    fclose(file);
    return same;
}
