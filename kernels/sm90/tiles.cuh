/* SPDX-License-Identifier: MIT
 *
 * Which tile comes next: the schedule of a Hopper GEMM. Included by its kernels, which define
 * SCHEDULE (DG_SCHEDULE_*, args/sm90.h) and AT_TILES, TILE_RING_BYTES of shared memory.
 *
 * K-grouped: a loader reads where a tile's tokens begin in tiles->segments[tile.group]; a tile that
 * is the sum over the groups has the k blocks of all, in their order. Group lists are written by
 * kernels in front of this one, so begin_walk comes after dependency_wait.
 *
 * Warps that load find tiles by themselves: a walk over units, the same in both CTAs of a cluster,
 * so that a pair never spans two groups and every role counts the same k blocks. One of them, one
 * warp, also publishes each tile in a small ring in shared memory, where math warps read it: they
 * neither divide nor wait for global memory.
 *
 *   loader      for (walk = begin_walk(&tiles); next_tile(&tiles, &walk, &tile);) ...
 *   publisher   the same, and publish_tile(&place, &tile) for each, publish_end(&place) at the end
 *   math warp   for (; (k_blocks = wait_tile(place)) >= 0; place = next_tile_place(place))
 *                   multiply k_blocks, tile = take_tile(place), store
 *
 * Shared memory at AT_TILES: TILE_SLOTS x 8 words of tile_t, then full and empty mbarriers. */
#pragma once
#include "device/global.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "device/warp.cuh"
#include "sm90/cta.cuh"

typedef struct tile {
    int row, column;   /* first of d */
    int rows, columns; /* how many the tile may write; nothing if one of them is not positive */
    int group;         /* matrix of b; negative: none, the tile becomes zero and k_blocks is 0 */
    int k_blocks;    /* blocks of 128 k; may be 0 in grouped schedules, negative behind the last */
    int slab;        /* matrix of d, and of a if it has several */
    int first_block; /* of k: not 0 where the CTAs of a cluster share it (SPLITS) */
} tile_t;

typedef struct walk {
    int unit, units; /* a unit is what a cluster works on at a time */
    int k_blocks;    /* K-grouped sum: of all groups */
} walk_t;

/* K-grouped: what group `group` has. */
DEVICE int count_k_blocks(const dg_sm90_tiles_t *tiles, int group) {
    return (int)((ld_global_u64(&tiles->segments[group].token_count) + 127) / 128);
}

DEVICE walk_t begin_walk(const dg_sm90_tiles_t *tiles) {
    int units = tiles->tiles_m * tiles->tiles_n;
    if (SCHEDULE == DG_SCHEDULE_M_GROUPED)
        units = (int)ld_global_u64(&tiles->row_tiles->count) * tiles->tiles_n;
    int k_blocks = 0;
    if (SCHEDULE == DG_SCHEDULE_K_GROUPED && !tiles->sum) units *= tiles->group_count;
    if (SCHEDULE == DG_SCHEDULE_K_GROUPED && tiles->sum)
        for (int g = 0; g < tiles->group_count; g++) k_blocks += count_k_blocks(tiles, g);
    return {(int)block_index() / CLUSTER, units, k_blocks};
}

/* Unit `unit` of a raster of tiles_m x tiles_n: bands of `band` tiles in m, m fastest inside a band,
 * so that the tiles in flight form a rough square and share operands in L2. */
DEVICE void find_unit(const dg_sm90_tiles_t *tiles, int unit, int tiles_m, int *m, int *n) {
    const int per_band = tiles->band * tiles->tiles_n, band = unit / per_band;
    const int r = unit - band * per_band, left = tiles_m - band * tiles->band;
    const int height = left < tiles->band ? left : tiles->band;
    *n = r / height;
    *m = band * tiles->band + r - *n * height;
}

/* The CTA's tile of the walk's next unit; false behind the last. */
DEVICE bool next_tile(const dg_sm90_tiles_t *tiles, walk_t *walk, tile_t *tile) {
    if (walk->unit >= walk->units) return false;
    const int rank = (int)cluster_rank();
    const int per_group = tiles->tiles_m * tiles->tiles_n;
    int m, n, unit = walk->unit, tiles_m = tiles->tiles_m;
    *tile = {};
    if (SCHEDULE == DG_SCHEDULE_K_GROUPED && !tiles->sum) {
        tile->group = tile->slab = unit / per_group;
        unit -= tile->group * per_group;
    }
    if (SCHEDULE == DG_SCHEDULE_M_GROUPED) tiles_m = walk->units / tiles->tiles_n;
    find_unit(tiles, unit, tiles_m, &m, &n);
    tile->column = (n * CLUSTER_N + (CLUSTER_N == 2 ? rank : 0)) * BLOCK_N;
    tile->columns = tiles->n - tile->column;
    tile->k_blocks = tiles->k_blocks;
    tile->row = (m * CLUSTER_M + (CLUSTER_M == 2 ? rank : 0)) * BLOCK_M;
    tile->rows = tiles->m - tile->row;
    if (SCHEDULE == DG_SCHEDULE_M_GROUPED) {
        const dg_group_tile_t *from = DG_GROUP_TILES(tiles->row_tiles) + m;
        const int down = CLUSTER_M == 2 ? rank * BLOCK_M : 0;
        tile->row = (int)ld_global_u64(&from->first_row) + down;
        tile->rows = (int)ld_global_u32(&from->row_count) - down;
        tile->group = (int)ld_global_u32(&from->group);
        if (tile->group < 0)
            tile->k_blocks = 0;
        else if (tiles->slabs)
            tile->slab = tile->group;
    }
    if (SCHEDULE == DG_SCHEDULE_K_GROUPED)
        tile->k_blocks = tiles->sum ? walk->k_blocks : count_k_blocks(tiles, tile->group);
    if (SPLITS > 1) {
        tile->first_block = tile->k_blocks * rank / SPLITS;
        tile->k_blocks = tile->k_blocks * (rank + 1) / SPLITS - tile->first_block;
    }
    walk->unit += (int)block_count() / CLUSTER;
    return true;
}

/* Where a role stands in the ring of tiles. */
typedef struct tile_place {
    uint32_t slot, parity;
} tile_place_t;

DEVICE uint32_t tile_at(tile_place_t p) {
    return shared_base() + AT_TILES + p.slot * TILE_BYTES;
}
DEVICE uint32_t tile_full_barrier(tile_place_t p) {
    return shared_base() + AT_TILES + TILE_SLOTS * TILE_BYTES + p.slot * 8;
}
DEVICE uint32_t tile_empty_barrier(tile_place_t p) {
    return tile_full_barrier(p) + TILE_SLOTS * 8;
}
DEVICE tile_place_t next_tile_place(tile_place_t p) {
    return p.slot + 1 == TILE_SLOTS ? tile_place_t{0, p.parity ^ 1}
                                    : tile_place_t{p.slot + 1, p.parity};
}

/* readers: warps that take tiles. By one thread, before its fence_mbarrier_init. */
DEVICE void init_tile_ring(uint32_t readers) {
    for (uint32_t s = 0; s < TILE_SLOTS; s++) {
        mbarrier_init(tile_full_barrier({s, 0}), 1);
        mbarrier_init(tile_empty_barrier({s, 0}), readers);
    }
}

/* By one thread. */
DEVICE void publish_tile(tile_place_t *p, const tile_t *tile) {
    const uint32_t at = tile_at(*p);
    const uint32_t words[8] = {(uint32_t)tile->row, (uint32_t)tile->column, (uint32_t)tile->rows,
        (uint32_t)tile->columns, (uint32_t)tile->group, (uint32_t)tile->k_blocks,
        (uint32_t)tile->slab, (uint32_t)tile->first_block};
    mbarrier_wait(tile_empty_barrier(*p), p->parity ^ 1);
    st_shared_x4(at, words);
    st_shared_x4(at + 16, words + 4);
    mbarrier_arrive(tile_full_barrier(*p));
    *p = next_tile_place(*p);
}

DEVICE void publish_end(tile_place_t *p) {
    tile_t end = {};
    end.k_blocks = -1;
    publish_tile(p, &end);
}

/* Waits until a tile is published. Its k blocks; negative behind the last tile. The shuffle tells
 * the compiler that all lanes have the same, or it would not keep stage and descriptors of the loop
 * over k in uniform registers. */
DEVICE int wait_tile(tile_place_t p) {
    mbarrier_wait(tile_full_barrier(p), p.parity);
    return (int)shuffle_u32(ld_shared_u32(tile_at(p) + 5 * 4), 0);
}

/* First row, and number of rows, of a tile that was waited for and not handed back. */
DEVICE uint32_t peek_first_row(tile_place_t p) {
    return shuffle_u32(ld_shared_u32(tile_at(p)), 0);
}
DEVICE int peek_rows(tile_place_t p) {
    return (int)shuffle_u32(ld_shared_u32(tile_at(p) + 2 * 4), 0);
}

/* The tile that was waited for, which is then handed back; by a whole warp. Math warps read it when
 * they are about to store: until then it would only occupy registers. */
DEVICE tile_t take_tile(tile_place_t p) {
    uint32_t words[8];
    ld_shared_x4(words, tile_at(p));
    ld_shared_x4(words + 4, tile_at(p) + 16);
    warp_sync();
    if (lane_index() == 0) mbarrier_arrive(tile_empty_barrier(p));
    return {(int)words[0], (int)words[1], (int)words[2], (int)words[3], (int)words[4],
        (int)words[5], (int)words[6], (int)words[7]};
}
