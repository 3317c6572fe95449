/* SPDX-License-Identifier: MIT
 *
 * A context's settings where calls read them without a lock (base/sequence.h). Used by context.c
 * alone; writers exclude each other there, and readers try again until a copy is whole.
 */
#ifndef DG_API_PUBLISHED_H
#define DG_API_PUBLISHED_H

#include <string.h>

#include "base/sequence.h"
#include "deep_gemm/context.h"

enum { PUBLISHED_WORDS = (sizeof(dg_context_options_t) + 7) / 8 };

typedef struct dg_published_t {
    dg_sequence_t version;
    dg_sequence_word_t words[PUBLISHED_WORDS];
} dg_published_t;

static inline void dg_publish(dg_published_t *to, const dg_context_options_t *settings) {
    uint64_t words[PUBLISHED_WORDS] = {0};
    memcpy(words, settings, sizeof *settings);
    dg_begin_writing(&to->version);
    dg_write_words(to->words, words, PUBLISHED_WORDS);
    dg_end_writing(&to->version);
}

static inline void dg_read_published(const dg_published_t *from, dg_context_options_t *settings) {
    uint64_t words[PUBLISHED_WORDS], version;
    do {
        version = dg_begin_reading(&from->version);
        dg_read_words(from->words, words, PUBLISHED_WORDS);
    } while (!dg_is_unchanged(&from->version, version));
    memcpy(settings, words, sizeof *settings);
}

#endif
