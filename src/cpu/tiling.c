/* SPDX-License-Identifier: MIT
 *
 * Tile shapes and the order of tiles. engine.c calls this once a batch, and once a tile.
 */
#include "cpu/tiling.h"

#include "base/integer.h"

#include "cpu/pack.h"

/* Largest tile. Decoding and packing cost rows + cols for each k, arithmetic rows * cols, so large
 * is good; the packed rows (128 k of FP32 each) should stay in half of a 512 KiB L2 cache. */
enum { MAX_TILE_ROWS = 252, MAX_TILE_COLS = 512 };

/* All scratch memory of a pool stays below this. */
static const size_t max_scratch_bytes = (size_t)62 << 20;

/* Fused multiply-adds that pay for waking one more thread (10 to 20 us). */
static const double work_per_thread = 5e5;

static int64_t round_up(int64_t value, int64_t to) {
    return dg_ceil_div(value, to) * to;
}

int dg_cpu_choose_threads(
    const dg_cpu_pool_t *pool, const dg_cpu_product_t *products, int64_t count) {
    const int threads = dg_cpu_pool_threads(pool);
    double work = 0;
    for (int64_t i = 0; i < count; i++) {
        double k = 1; /* storing d is work too */
        for (int64_t s = 0; s < products[i].segment_count; s++) {
            k += (double)products[i].segments[s].k_count;
        }
        work += (double)products[i].m * (double)products[i].n * k;
        if (work > work_per_thread * threads) return threads;
    }
    return 1 + (int)(work / work_per_thread);
}

size_t dg_cpu_tile_bytes(const dg_cpu_kernels_t *kernels, int64_t rows, int64_t cols) {
    const size_t padded_rows = (size_t)round_up(rows, kernels->rows);
    const size_t padded_cols = (size_t)round_up(cols, kernels->cols);
    const size_t lengths[2] = {padded_rows, padded_cols};
    size_t bytes = dg_cpu_carved_bytes(DG_CPU_CODE_BYTES) +
                   dg_cpu_carved_bytes(padded_rows * padded_cols * sizeof(float));
    for (int i = 0; i < 2; i++) {
        bytes += dg_cpu_carved_bytes(lengths[i] * DG_CPU_SLAB * sizeof(float)) +
                 dg_cpu_carved_bytes(lengths[i] * DG_CPU_BLOCKS_PER_SLAB * sizeof(float)) +
                 dg_cpu_carved_bytes(lengths[i] * sizeof(int64_t));
    }
    return bytes;
}

/* Cuts every product into near-equal tiles of at most rows x cols. Returns the number of tiles. */
static int64_t cut(const dg_cpu_kernels_t *kernels, int64_t rows, int64_t cols,
    const dg_cpu_product_t *products, int64_t count, dg_cpu_tiling_t *tilings) {
    int64_t tiles = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t m = products[i].m, n = products[i].n;
        dg_cpu_tiling_t tiling = {.first_tile = tiles, .m = m, .n = n};
        if (m > 0 && n > 0) {
            tiling.rows = round_up(dg_ceil_div(m, dg_ceil_div(m, rows)), kernels->rows);
            tiling.cols = round_up(dg_ceil_div(n, dg_ceil_div(n, cols)), kernels->cols);
            tiling.tiles_m = dg_ceil_div(m, tiling.rows);
            tiling.tiles_n = dg_ceil_div(n, tiling.cols);
        }
        tilings[i] = tiling;
        tiles += tiling.tiles_m * tiling.tiles_n;
    }
    return tiles;
}

int64_t dg_cpu_choose_tiles(const dg_cpu_pool_t *pool, int threads,
    const dg_cpu_product_t *products, int64_t count, dg_cpu_tiling_t *tilings) {
    const dg_cpu_kernels_t *kernels = dg_cpu_pool_kernels(pool);
    int64_t rows = MAX_TILE_ROWS / kernels->rows * kernels->rows;
    int64_t cols = MAX_TILE_COLS / kernels->cols * kernels->cols;
    const int64_t min_rows = 2 * kernels->rows, min_cols = 2 * kernels->cols;
    const size_t budget = max_scratch_bytes / (size_t)dg_cpu_pool_threads(pool);
    for (;;) {
        const int64_t tiles = cut(kernels, rows, cols, products, count, tilings);
        const bool fits = dg_cpu_tile_bytes(kernels, rows, cols) <= budget;
        const bool enough = threads == 1 || tiles >= 4 * (int64_t)threads;
        if ((fits && enough) || (rows <= min_rows && cols <= min_cols)) return tiles;
        if (cols > min_cols && (cols >= 2 * rows || rows <= min_rows)) {
            cols = round_up(cols / 2, kernels->cols);
        } else {
            rows = round_up(rows / 2, kernels->rows);
        }
    }
}

dg_cpu_tile_t dg_cpu_find_tile(const dg_cpu_tiling_t *tilings, int64_t count, int64_t index) {
    int64_t low = 0, high = count; /* the last product whose first_tile <= index */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (tilings[middle].first_tile <= index) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const dg_cpu_tiling_t *tiling = &tilings[low];
    const int64_t local = index - tiling->first_tile;
    dg_cpu_tile_t tile = {.product = low,
        .row = local % tiling->tiles_m * tiling->rows,
        .col = local / tiling->tiles_m * tiling->cols};
    tile.rows = tiling->m - tile.row < tiling->rows ? tiling->m - tile.row : tiling->rows;
    tile.cols = tiling->n - tile.col < tiling->cols ? tiling->n - tile.col : tiling->cols;
    return tile;
}
