/* SPDX-License-Identifier: MIT
 *
 * Lists of rows on the CPU: what a caller's gather list or group index becomes before the engine
 * sees it. Called by m_grouped.c and k_grouped.c of this folder.
 *
 * The engine counts rows in 32 bits, so a list takes 4 bytes a row; longer tensors are refused.
 */
#ifndef DG_CPU_ROW_LIST_H
#define DG_CPU_ROW_LIST_H

#include <stdbool.h>

#include "deep_gemm/context.h"
#include "model/groups.h"

/* A caller's list of rows, I32 or I64 of any stride, and how to read it. */
typedef struct dg_row_source_t {
    const dg_tensor_t *tensor;
    const char *name, *field; /* of the tensor, for messages */
    int64_t limit;            /* entries are below it; negative ones mean: no row */
    bool clamp;               /* entries at or above it mean: no row; otherwise they are refused */
} dg_row_source_t;

/* Entry i as a row, -1 for none. */
dg_status_t dg_read_row(const dg_row_source_t *source, int64_t i, int32_t *row);

/* Refuses a list or a gathered tensor of more rows than 32 bits count. */
dg_status_t dg_check_row_count(const dg_row_source_t *source);

/* Reads the entries of `count` ranges; those between the ranges are neither looked at nor filled. If
 * the caller's memory serves as it is, *list is that and *owned is NULL; otherwise both are memory
 * for the caller to free(). list[i] belongs to entry i. */
dg_status_t dg_read_row_list(const dg_row_source_t *source, const dg_group_range_t *ranges,
    int64_t count, const int32_t **list, int32_t **owned);

#endif
