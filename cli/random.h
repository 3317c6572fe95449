/* SPDX-License-Identifier: MIT
 *
 * Random numbers that are the same on every machine for the same seed: SplitMix64 (Steele, Lea,
 * Flood 2014), a counter run through a mixing function.
 */
#ifndef CLI_RANDOM_H
#define CLI_RANDOM_H

#include <stdint.h>

typedef struct cli_random_t {
    uint64_t state;
} cli_random_t;

static inline uint64_t cli_random_bits(cli_random_t *random) {
    uint64_t x = random->state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* A whole number of [0, count), count >= 1. The bias of at most count / 2^64 does not matter. */
static inline int64_t cli_random_below(cli_random_t *random, int64_t count) {
    return (int64_t)(cli_random_bits(random) % (uint64_t)count);
}

#endif
