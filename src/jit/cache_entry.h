/* SPDX-License-Identifier: MIT
 *
 * A compiled kernel as bytes in a file: a header of 1024 bytes, then the cubin. The header says what
 * the cubin was made from and holds a checksum over everything, so that a file that was cut off,
 * damaged or put in the wrong place is recognised before a driver sees it. Numbers are
 * little-endian, as in the cubin. Pure functions, used by disk.c and archive.c.
 */
#ifndef DG_JIT_CACHE_ENTRY_H
#define DG_JIT_CACHE_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "jit/program.h"

typedef struct dg_cache_header_t {
    char magic[8]; /* "DGKERNEL" */
    uint32_t version;
    int32_t architecture;
    uint64_t image_bytes;
    char key[65];
    char target[16];
    char compiler[32];
    char name[DG_SPECIALISATION_TEXT];
    char reserved[87];    /* zero */
    uint8_t checksum[32]; /* SHA-256 of the header before it, then the image */
} dg_cache_header_t;

_Static_assert(sizeof(dg_cache_header_t) == 1024, "the format has no padding");

/* The header of a program's image. */
dg_cache_header_t dg_make_cache_header(
    const dg_program_t *program, const char *compiler, const void *image, size_t bytes);

/* Why bytes[0 .. count) are no entry, in a few words; NULL if they are one and it is whole. *size: the
 * bytes that the entry takes; more may follow if `more_may_follow`. */
const char *dg_check_cache_entry(
    const void *bytes, size_t count, int more_may_follow, dg_cache_header_t *header, size_t *size);

#endif
