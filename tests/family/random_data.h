/* SPDX-License-Identifier: MIT
 *
 * Random numbers for tests: splitmix64, so that a seed printed by a failing test reproduces it on
 * any machine. Every test of this folder uses it; nothing here knows of tensors.
 */
#ifndef DG_TESTS_FAMILY_RANDOM_DATA_H
#define DG_TESTS_FAMILY_RANDOM_DATA_H

#include <stdint.h>

typedef struct rng_t {
    uint64_t state;
} rng_t;

rng_t rng_make(uint64_t seed);
uint64_t rng_next(rng_t *rng);

/* Uniform in [low, high], both included. */
int64_t rng_range(rng_t *rng, int64_t low, int64_t high);

/* Uniform in [0, 1). */
double rng_unit(rng_t *rng);

/* Roughly N(0, 1), within +-3.5: a sum of four uniform numbers. */
double rng_normal(rng_t *rng);

/* order: [count], receives a random permutation of 0..count-1. */
void rng_permutation(rng_t *rng, int64_t *order, int64_t count);

#endif
