/* SPDX-License-Identifier: MIT
 *
 * Counts what a warm call must not do. The linker puts the functions of counters.c between the
 * library and the C library (tests/cuda/CMakeLists.txt).
 */
#ifndef DG_TESTS_CUDA_COUNTERS_H
#define DG_TESTS_CUDA_COUNTERS_H

typedef struct counters_t {
    int requests; /* for memory */
    int locks;    /* mutexes and pthread_once */
    int lookups;  /* in the environment */
    int texts;    /* formatted */
} counters_t;

extern counters_t counters;

#endif
