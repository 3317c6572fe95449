/* SPDX-License-Identifier: MIT
 *
 * The table of GPUs. See machine.h. SMs, shared memory and memory are from the vendor's data sheets
 * and from what drivers report. Clocks, launch time and copy rate of the H200 were measured; those of
 * the others are derived: the copy rate is 0.9 of the data sheet's, the clock under load that of the
 * H200 scaled by the power limit a SM has. They rank candidates and serve as a forecast; no result
 * depends on them.
 */
#include "plan/machine.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct row_t {
    dg_machine_t machine;
    const char *pattern; /* found in the driver's name of such a device */
} row_t;

/* Ordered so that the first pattern found in a name is the right one: GH200 before H200 before H20. */
static const row_t rows[] = {
    /* name, architecture, SMs, shared, clusters, clock load, idle, bytes / us, launch */
    {{"GB300", 103, 152, 232448, 76, 1500, 1920, 7.2e6f, 3.1f}, "GB300"},
    {{"B300", 103, 148, 232448, 74, 1450, 1920, 7.2e6f, 3.1f}, "B300"},
    {{"GB200", 100, 152, 232448, 76, 1500, 1965, 7.2e6f, 3.1f}, "GB200"},
    {{"B200", 100, 148, 232448, 74, 1450, 1965, 7.2e6f, 3.1f}, "B200"},
    {{"GH200", 90, 132, 232448, 66, 1450, 1987, 3.6e6f, 3.1f}, "GH200"},
    {{"H200", 90, 132, 232448, 66, 1447, 1987, 4.3e6f, 3.1f}, "H200"},
    {{"H100 PCIe", 90, 114, 232448, 57, 1100, 1755, 1.8e6f, 3.1f}, "H100 PCIe"},
    {{"H100 NVL", 90, 132, 232448, 66, 1100, 1785, 3.5e6f, 3.1f}, "H100 NVL"},
    {{"H100 SXM", 90, 132, 232448, 66, 1447, 1980, 3.0e6f, 3.1f}, "H100"},
    {{"H800 PCIe", 90, 114, 232448, 57, 1100, 1755, 1.8e6f, 3.1f}, "H800 PCIe"},
    {{"H800 SXM", 90, 132, 232448, 66, 1447, 1980, 3.0e6f, 3.1f}, "H800"},
    /* its tensor cores do 296 TFLOPS of FP8, a quarter of what 78 SMs would */
    {{"H20", 90, 78, 232448, 39, 463, 1980, 3.6e6f, 3.1f}, "H20"},
    {{"RTX PRO 6000", 120, 188, 101376, 94, 2200, 2600, 1.6e6f, 3.1f}, "RTX PRO 6000"},
    {{"RTX 5090", 120, 170, 101376, 85, 2200, 2500, 1.6e6f, 3.1f}, "RTX 5090"},
    {{"L40S", 89, 142, 101376, 0, 1900, 2520, 0.77e6f, 3.1f}, "L40S"},
    {{"RTX 4090", 89, 128, 101376, 0, 2300, 2600, 0.9e6f, 3.1f}, "RTX 4090"},
    {{"A10", 86, 72, 101376, 0, 1200, 1695, 0.54e6f, 3.1f}, "A10G"},
    {{"A100", 80, 108, 166912, 0, 1300, 1410, 1.8e6f, 3.1f}, "A100"},
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

const dg_machine_t *dg_machine_row(int32_t index) {
    return index >= 0 && index < ROW_COUNT ? &rows[index].machine : NULL;
}

/* Whether `text` begins with `start`, in any case. */
static bool starts_with(const char *text, const char *start) {
    for (; *start != '\0'; text++, start++)
        if (tolower((unsigned char)*text) != tolower((unsigned char)*start)) return false;
    return true;
}

/* Whether `word` stands in `text`, neither end of it inside a longer number or word: "A10G" is not
 * found in "A10GX", "H20" not in "H200". */
static bool contains_word(const char *text, const char *word) {
    for (const char *at = text; *at != '\0'; at++) {
        const bool begins = at == text || !isalnum((unsigned char)at[-1]);
        if (begins && starts_with(at, word) && !isalnum((unsigned char)at[strlen(word)]))
            return true;
    }
    return false;
}

const dg_machine_t *dg_find_machine(const char *name) {
    for (int32_t i = 0; i < ROW_COUNT; i++) {
        const char *own = rows[i].machine.name;
        if (starts_with(name, own) && strlen(name) == strlen(own)) return &rows[i].machine;
    }
    for (int32_t i = 0; i < ROW_COUNT; i++)
        if (contains_word(name, rows[i].pattern)) return &rows[i].machine;
    return NULL;
}

const dg_machine_t *dg_match_machine(const char *name, int32_t architecture, int32_t sms) {
    const dg_machine_t *best = name != NULL ? dg_find_machine(name) : NULL;
    if (best != NULL && best->architecture == architecture) return best;
    best = NULL;
    for (int32_t i = 0; i < ROW_COUNT; i++) {
        const dg_machine_t *row = &rows[i].machine;
        if (row->architecture > architecture) continue;
        const bool nearer = best != NULL && row->architecture == best->architecture &&
                            abs(row->sms - sms) < abs(best->sms - sms);
        if (best == NULL || row->architecture > best->architecture || nearer) best = row;
    }
    return best;
}
