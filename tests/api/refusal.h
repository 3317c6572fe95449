/* SPDX-License-Identifier: MIT
 *
 * Calls of the GEMM families that work, and rows that change a few fields of one so that it must be
 * refused: the frame of test_refused.c.
 */
#ifndef DG_TESTS_API_REFUSAL_H
#define DG_TESTS_API_REFUSAL_H

#include <stddef.h>

#include "deep_gemm/deep_gemm.h"

enum { M = 4, N = 6, K = 256, ROWS = 8, GROUPS = 2, BLOCKS = 2 };

/* Everything that the calls read and write. */
typedef struct memory_t {
    _Alignas(256) uint8_t a[ROWS * K], b[GROUPS * N * K];
    float scale_a[ROWS * BLOCKS], scale_b[GROUPS * N * BLOCKS];
    float c[GROUPS * ROWS * N], d[GROUPS * ROWS * N];
    int32_t sizes[GROUPS], rows[ROWS];
    int64_t huge_sizes[GROUPS], host_sizes[GROUPS];
} memory_t;

extern memory_t memory;

/* Addresses of outputs and accumulators, right and wrong. */
extern void *d_list[GROUPS], *d_twice[GROUPS], *d_odd[GROUPS], *d_null[GROUPS];
extern const void *c_list[GROUPS], *c_odd[GROUPS], *c_null[GROUPS], *c_crossed[GROUPS];

/* All that a call takes, so that a row can change any of it. */
typedef struct call_t {
    dg_context_t *ctx;
    dg_launch_t launch;
    int32_t no_args, query, no_bytes;
    dg_gemm_args_t gemm;
    dg_m_grouped_gemm_args_t m;
    dg_k_grouped_gemm_args_t k, list;
} call_t;

typedef enum family_t { GEMM, M_GROUPED, K_GROUPED, K_LISTED } family_t;

typedef struct change_t {
    size_t offset, size; /* of a member of call_t; size 0: no change */
    int64_t value;       /* written to it; members of more than 8 bytes are cleared */
} change_t;

typedef struct refusal_t {
    family_t family;
    dg_status_t status;
    const char *argument, *value, *remedy; /* text of the message */
    change_t changes[8];
} refusal_t;

#define SET(member, v)                                                                             \
    { offsetof(call_t, member), sizeof(((call_t *)0)->member), (int64_t)(intptr_t)(v) }
#define CLEAR(member) SET(member, 0)

/* Fills the memory; a group setup of cmocka. */
int make_memory(void **state);

/* Makes a call that works, or makes it with the changes of a row applied. */
dg_status_t make_unchanged_call(family_t family);

/* Fails the test unless the row is refused as it says and no byte of the memory changes. */
void check_refusals(const refusal_t *rows, int count);

/* Distinct (status, argument) pairs of all rows checked so far. */
int count_distinct_refusals(void);

#endif
