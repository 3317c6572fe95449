/* SPDX-License-Identifier: MIT
 *
 * Sequence locks: data that many threads read while one may be changing it, and readers never wait.
 *
 *     version   even: at rest, odd: a writer is at work, 0: nothing was ever written
 *     words     the data, as atomic words
 *
 * A writer makes the version odd, writes, makes it even. A reader copies and looks whether the version
 * was even and still is the same; if not, it throws its copy away. The words are atomic, so a torn
 * copy is no data race; release and acquire on each word, so that who sees a new word sees the odd
 * version too. Used by the settings of contexts (api/context.c) and remembered plans
 * (plan/plan_cache.c).
 */
#ifndef DG_BASE_SEQUENCE_H
#define DG_BASE_SEQUENCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef _Atomic uint64_t dg_sequence_t; /* the version */
typedef _Atomic uint64_t dg_sequence_word_t;

/* Before writing. False: another writer is at work. */
static inline bool dg_begin_writing(dg_sequence_t *version) {
    uint64_t now = atomic_load_explicit(version, memory_order_relaxed);
    return now % 2 == 0 && atomic_compare_exchange_strong_explicit(
                               version, &now, now + 1, memory_order_acquire, memory_order_relaxed);
}

static inline void dg_end_writing(dg_sequence_t *version) {
    atomic_fetch_add_explicit(version, 1, memory_order_release);
}

/* Before reading: what dg_is_unchanged() wants to know. Odd: do not read. */
static inline uint64_t dg_begin_reading(const dg_sequence_t *version) {
    return atomic_load_explicit(version, memory_order_acquire);
}

/* After reading: whether what was read is whole. */
static inline bool dg_is_unchanged(const dg_sequence_t *version, uint64_t begin) {
    return begin % 2 == 0 && atomic_load_explicit(version, memory_order_relaxed) == begin;
}

/* Words in and out, between the calls above. words, copy: [count] */
static inline void dg_write_words(dg_sequence_word_t *words, const uint64_t *copy, int count) {
    for (int i = 0; i < count; i++) atomic_store_explicit(&words[i], copy[i], memory_order_release);
}

static inline void dg_read_words(const dg_sequence_word_t *words, uint64_t *copy, int count) {
    for (int i = 0; i < count; i++) copy[i] = atomic_load_explicit(&words[i], memory_order_acquire);
}

#endif
