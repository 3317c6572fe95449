/* SPDX-License-Identifier: MIT
 *
 * splitmix64 and what tests draw from it; see random_data.h.
 */
#include "random_data.h"

rng_t rng_make(uint64_t seed) {
    rng_t rng = {seed * 0x9E3779B97F4A7C15u + 1};
    return rng;
}

uint64_t rng_next(rng_t *rng) {
    uint64_t z = (rng->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

int64_t rng_range(rng_t *rng, int64_t low, int64_t high) {
    return low + (int64_t)(rng_next(rng) % (uint64_t)(high - low + 1));
}

double rng_unit(rng_t *rng) {
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

double rng_normal(rng_t *rng) {
    const double sum = rng_unit(rng) + rng_unit(rng) + rng_unit(rng) + rng_unit(rng) - 2.0;
    return sum * 1.7320508075688772; /* the sum has variance 4 / 12 */
}

void rng_permutation(rng_t *rng, int64_t *order, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const int64_t j = rng_range(rng, 0, i);
        order[i] = order[j];
        order[j] = i;
    }
}
