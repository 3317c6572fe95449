/* SPDX-License-Identifier: MIT
 *
 * Bitwise comparison of outputs, element by element.
 */
#include "image.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

cli_image_t cli_make_image(cli_pool_t *pool, const char *name, int64_t count, int64_t size) {
    const size_t bytes = (size_t)(count * size);
    return (cli_image_t){name, cli_pool_take(pool, bytes), cli_pool_take(pool, bytes), count, size};
}

void cli_reset_image(const cli_image_t *image) {
    memset(image->found, CLI_POISON, (size_t)(image->count * image->size));
}

static uint64_t element_bits(const void *data, int64_t index, int64_t size) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)data + index * size, (size_t)size); /* little-endian machines */
    return bits;
}

void cli_judge_image(const cli_image_t *image, cli_verdict_t *verdict) {
    verdict->checked += image->count;
    if (memcmp(image->found, image->expected, (size_t)(image->count * image->size)) == 0) return;
    for (int64_t i = 0; i < image->count; i++) {
        const uint64_t found = element_bits(image->found, i, image->size);
        const uint64_t expected = element_bits(image->expected, i, image->size);
        if (found == expected) continue;
        if (verdict->why[0] == 0) {
            snprintf(verdict->why, CLI_TEXT,
                "%s: element %" PRId64 " in memory is 0x%" PRIx64 ", expected 0x%" PRIx64,
                image->name, i, found, expected);
        }
        verdict->wrong++;
        verdict->max_ratio = INFINITY;
    }
}
