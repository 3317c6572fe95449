/* SPDX-License-Identifier: MIT
 *
 * How a batch of products is cut into tiles, and what memory a tile takes. engine.c calls this.
 *
 * The cut decides speed only: no element's arithmetic depends on the tile it lies in.
 */
#ifndef DG_CPU_TILING_H
#define DG_CPU_TILING_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/engine.h"
#include "cpu/isa.h"
#include "cpu/pool.h"

/* Most scale blocks in one slab of K. */
#define DG_CPU_BLOCKS_PER_SLAB 4

typedef struct dg_cpu_tiling_t {
    int64_t first_tile; /* number of tiles in the products before this one */
    int64_t m, n;
    int64_t rows, cols; /* of a tile; the last of each row or column may have fewer */
    int64_t tiles_m, tiles_n;
} dg_cpu_tiling_t;

typedef struct dg_cpu_tile_t {
    int64_t product;
    int64_t row, rows, col, cols; /* of the product's d */
} dg_cpu_tile_t;

/* Threads worth waking for this batch. */
int dg_cpu_choose_threads(
    const dg_cpu_pool_t *pool, const dg_cpu_product_t *products, int64_t count);

/* tilings: [count]. Returns the number of tiles of the batch. */
int64_t dg_cpu_choose_tiles(const dg_cpu_pool_t *pool, int threads,
    const dg_cpu_product_t *products, int64_t count, dg_cpu_tiling_t *tilings);

/* The tile of that number, tiles of a product running down its rows first: neighbours in time share
 * columns of b. */
dg_cpu_tile_t dg_cpu_find_tile(const dg_cpu_tiling_t *tilings, int64_t count, int64_t index);

/* Scratch memory of a tile. */
size_t dg_cpu_tile_bytes(const dg_cpu_kernels_t *kernels, int64_t rows, int64_t cols);

/* Cuts pieces aligned to 64 bytes off a block of memory. */
typedef struct dg_cpu_carver_t {
    char *next;
} dg_cpu_carver_t;

static inline size_t dg_cpu_carved_bytes(size_t bytes) {
    return (bytes + 63) & ~(size_t)63;
}

static inline void *dg_cpu_carve(dg_cpu_carver_t *carver, size_t bytes) {
    void *piece = carver->next;
    carver->next += dg_cpu_carved_bytes(bytes);
    return piece;
}

#endif
