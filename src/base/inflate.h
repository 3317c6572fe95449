/* SPDX-License-Identifier: MIT
 *
 * Unpacks DEFLATE data (RFC 1951), which the compiled kernels inside the library are packed as
 * (tools/embed_kernels.py). Called by src/jit.
 */
#ifndef DG_BASE_INFLATE_H
#define DG_BASE_INFLATE_H

#include <stddef.h>

#include "deep_gemm/status.h"

/* packed: [packed_bytes], bytes: [count]. IO unless the data is whole and unpacks to exactly `count`
 * bytes; OUT_OF_MEMORY. */
dg_status_t dg_inflate(const void *packed, size_t packed_bytes, void *bytes, size_t count);

#endif
