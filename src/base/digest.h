/* SPDX-License-Identifier: MIT
 *
 * SHA-256 (FIPS 180-4): names of compiled kernels and checksums of their files. Used by src/jit; the
 * build computes the same over the kernels' text (tools/embed_kernels.py).
 */
#ifndef DG_BASE_DIGEST_H
#define DG_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

typedef struct dg_digest_t {
    uint32_t state[8];
    uint64_t bytes; /* taken in so far */
    uint8_t block[64];
} dg_digest_t;

void dg_begin_digest(dg_digest_t *digest);
void dg_digest_bytes(dg_digest_t *digest, const void *data, size_t bytes);

/* A text with its terminating zero, so that ("ab", "c") and ("a", "bc") differ. */
void dg_digest_text(dg_digest_t *digest, const char *text);
void dg_end_digest(dg_digest_t *digest, uint8_t result[32]);

/* 64 hexadecimal digits and a zero. */
void dg_format_digest(const uint8_t digest[32], char text[65]);

#endif
