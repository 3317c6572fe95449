/* SPDX-License-Identifier: MIT
 *
 * The CTA of a Hopper GEMM: what its macros BLOCK_M, BLOCK_N, MATH_GROUPS and SHARE make of
 * clusters, warps and registers, and what the shared pieces want of shared memory. A kernel of this
 * folder includes it first, lays out its shared memory (AT_CHUNKS, AT_TILES, AT_FULL, AT_EMPTY), and
 * then includes ring.cuh, tiles.cuh and store.cuh, as many of them as it uses.
 *
 * Warpgroups 0 .. MATH_GROUPS-1 multiply and store, WARP_ROWS sub-tiles of 64 rows each; the last
 * warpgroup loads. */
#pragma once
#include "args/sm90.h"
#include "device/barrier.cuh"
#include "device/warp.cuh"

/* CTAs of a cluster that share the k of a tile, each with a ring of its own. */
#ifndef SPLITS
#    define SPLITS 1
#endif
/* Rows that wgmma multiplies in all warpgroups; BLOCK_N where operands are exchanged. */
#ifndef MATH_ROWS
#    define MATH_ROWS BLOCK_M
#endif

#define RING_CTAS (SHARE == DG_SHARE_NONE ? 1 : 2) /* that load stages together */
#define CLUSTER (RING_CTAS * SPLITS)
#define CLUSTER_M (SHARE == DG_SHARE_B ? 2 : 1)
#define CLUSTER_N (SHARE == DG_SHARE_A ? 2 : 1)
#define WARP_ROWS (MATH_ROWS / 64 / MATH_GROUPS) /* 64-row products of a warpgroup per k block */
#define MATH_WARPS (MATH_GROUPS * 4)
/* Math warps that read a stage of the ring. */
#ifndef RING_WARPS
#    define RING_WARPS MATH_WARPS
#endif
#define THREADS (MATH_GROUPS * 128 + 128)
/* CTAs that run on an SM at a time. */
#ifndef PER_SM
#    define PER_SM 1
#endif
/* 65536 registers / 128 threads = 512 over all warpgroups; the launch gives each an equal share, in
 * multiples of 8, and only what it gave can be moved: 168 each for three warpgroups, 128 for four, 96
 * for five. One math warpgroup alone on its SM has the most a thread can have without that. A kernel
 * whose loaders need more defines both. */
#ifndef MATH_REGISTERS
#    if PER_SM == 2
#        define LOAD_REGISTERS (MATH_GROUPS == 1 ? 40 : 32)
#        define MATH_REGISTERS (MATH_GROUPS == 1 ? 208 : 104)
#    else
#        define LOAD_REGISTERS (MATH_GROUPS == 2 ? 40 : MATH_GROUPS == 3 ? 32 : 24)
#        define MATH_REGISTERS (MATH_GROUPS == 2 ? 232 : MATH_GROUPS == 3 ? 160 : 112)
#    endif
#endif
#define MOVES_REGISTERS (MATH_GROUPS > 1 || PER_SM > 1)

/* Output chunks of sm90/store.cuh, to begin on a multiple of 1024. */
#define OUT_BYTES (OUT_F32 ? 4 : 2)
#define CHUNK_ROW_BYTES (STORE_N * OUT_BYTES)
#define CHUNK_BYTES (STORE_ROWS * CHUNK_ROW_BYTES)
#define CHUNKS_BYTES (MATH_WARPS * 16 / STORE_ROWS * STORE_BUFFERS * CHUNK_BYTES)

/* Published tiles of sm90/tiles.cuh, to begin on a multiple of 16. */
#define TILE_SLOTS DG_SM90_TILE_SLOTS
#define TILE_BYTES 32
#define TILE_RING_BYTES DG_SM90_TILE_RING_BYTES

static_assert(WARP_ROWS * 64 * MATH_GROUPS == MATH_ROWS, "rows are split over the warpgroups");
static_assert(SPLITS == 1 || RING_CTAS == 1, "parts of k or shared loads, not both");
