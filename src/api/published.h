/* SPDX-License-Identifier: MIT
 *
 * Settings that many threads read while one may be changing them, without a lock: a sequence lock.
 * The writer makes the version odd, writes, makes it even; a reader copies and starts again if the
 * version was odd or has changed. The words are atomic, so that a torn copy is only thrown away and
 * never a data race. Used by context.c alone; writers exclude each other there.
 */
#ifndef DG_API_PUBLISHED_H
#define DG_API_PUBLISHED_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "deep_gemm/context.h"

enum { PUBLISHED_WORDS = (sizeof(dg_context_options_t) + 7) / 8 };

typedef struct dg_published_t {
    _Atomic uint32_t version;
    _Atomic uint64_t words[PUBLISHED_WORDS];
} dg_published_t;

static inline void dg_publish(dg_published_t *to, const dg_context_options_t *settings) {
    uint64_t words[PUBLISHED_WORDS] = {0};
    memcpy(words, settings, sizeof *settings);
    const uint32_t version = atomic_load_explicit(&to->version, memory_order_relaxed);
    atomic_store_explicit(&to->version, version + 1, memory_order_relaxed);
    /* Release and acquire on each word: who sees a new word sees the odd version too. */
    for (int i = 0; i < PUBLISHED_WORDS; i++)
        atomic_store_explicit(&to->words[i], words[i], memory_order_release);
    atomic_store_explicit(&to->version, version + 2, memory_order_release);
}

static inline void dg_read_published(const dg_published_t *from, dg_context_options_t *settings) {
    uint64_t words[PUBLISHED_WORDS];
    uint32_t before, after;
    do {
        before = atomic_load_explicit(&from->version, memory_order_acquire);
        for (int i = 0; i < PUBLISHED_WORDS; i++)
            words[i] = atomic_load_explicit(&from->words[i], memory_order_acquire);
        after = atomic_load_explicit(&from->version, memory_order_relaxed);
    } while (before % 2 != 0 || before != after);
    memcpy(settings, words, sizeof *settings);
}

#endif
