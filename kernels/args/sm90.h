/* SPDX-License-Identifier: MIT
 *
 * What the parameters of every Hopper GEMM have in common: which tiles there are (read by
 * sm90/tiles.cuh) and where results go (read by sm90/store.cuh). The structs of args/gemm.h and its
 * siblings hold one of each. Filled by the host, included by both sides. */
#ifndef DG_KERNEL_ARGS_SM90_H
#define DG_KERNEL_ARGS_SM90_H

#include "args/group_tiles.h"
#include "args/types.h"

/* What a cluster of two CTAs loads once: macro SHARE. */
#define DG_SHARE_NONE 0 /* no cluster */
#define DG_SHARE_B 1    /* two neighbours in m, which read the same b */
#define DG_SHARE_A 2    /* two neighbours in n, which read the same a */

/* Where tiles come from: macro SCHEDULE. */
#define DG_SCHEDULE_DENSE 0     /* all tiles of one product */
#define DG_SCHEDULE_M_GROUPED 1 /* rows of d from a list (args/group_tiles.h), all columns each */
#define DG_SCHEDULE_K_GROUPED 2 /* all tiles of a product for each group, k from a list */

typedef struct dg_sm90_tiles {
    int32_t m, n;        /* rows and columns of d; M-grouped: m unused */
    int32_t tiles_m;     /* tiles in m and n, rounded up, in units of what a cluster covers; */
    int32_t tiles_n;     /* M-grouped: tiles_m unused */
    int32_t band;        /* raster: tiles are walked in bands of this many tiles in m */
    int32_t k_blocks;    /* ceil(k / 128); K-grouped: unused */
    int32_t group_count; /* K-grouped */
    int32_t slabs;       /* M-grouped: 1: a and d have a group axis (MASKED), 0: they have not */
    int32_t sum;         /* K-grouped: 1: d has no group axis, it is the sum over the groups */
    int32_t reserved;
    const dg_group_tiles_t
        *row_tiles;                 /* M-grouped: its tiles have up to BLOCK_M * CLUSTER_M rows */
    const dg_k_segment_t *segments; /* K-grouped: [group_count] */
} dg_sm90_tiles_t;

/* d, and c which is added to it. Rows and columns of a slab: [slab, m, n], n fastest. */
typedef struct dg_sm90_output {
    dg_tensor_map_t map; /* [slab, m, n] of d; box [STORE_N, STORE_ROWS, 1], swizzle as wide as
                                * a row of the box; unused unless by_tma */
    void *d;             /* BF16 or F32 (macro OUT_F32) */
    const void *c;       /* the same type; macro ADD_C. May be d itself */
    void *const *d_list; /* [slab] addresses on the device instead of d and c, or */
    const void *const *c_list;      /* NULL. Never with by_tma */
    int64_t pitch, slab_stride;     /* of d, elements from row to row and slab to slab */
    int64_t c_pitch, c_slab_stride; /* of c */
    int32_t by_tma; /* 1: rows, slabs and the address of d are multiples of 16 bytes, and so is n.
                        * A TMA store writes whole pieces of 16 bytes, past the end of a row */
    int32_t
        alignment; /* bytes, 4, 8 or 16 (BF16: also 2), that divide all addresses of rows of d; */
    int32_t c_alignment; /* the same of c */
    int32_t reserved;
} dg_sm90_output_t;

/* Shared memory of the ring in which tiles are published (sm90/tiles.cuh). */
#define DG_SM90_TILE_SLOTS 4
#define DG_SM90_TILE_RING_BYTES (DG_SM90_TILE_SLOTS * (32 + 16))

DG_STATIC_ASSERT(sizeof(dg_sm90_tiles_t) == 56, "host and device must agree");
DG_STATIC_ASSERT(sizeof(dg_sm90_output_t) == 256, "host and device must agree");

#endif
