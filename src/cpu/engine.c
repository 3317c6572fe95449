/* SPDX-License-Identifier: MIT
 *
 * The GEMM engine of engine.h. The api layer's families call dg_cpu_run; it calls the pool, the
 * packer and the micro-kernels.
 *
 * Each task is one tile of one product and runs on one thread from first k to last:
 *
 *     for each segment, for each slab of 128 k:
 *         pack a  [tile rows, slab] -> panels of the micro-tile's height   (L2 cache)
 *         pack b  [tile cols, slab] -> panels of its width                 (one at a time in L1)
 *         for each panel of b, each panel of a, each scale block of the slab: micro-kernel
 *     round the totals into d
 */
#include "cpu/engine.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cpu/pack.h"
#include "cpu/store.h"
#include "cpu/tiling.h"

typedef struct dg_cpu_batch_t {
    dg_cpu_pool_t *pool;
    const dg_cpu_product_t *products;
    const dg_cpu_tiling_t *tilings; /* [count] */
    int64_t count;
} dg_cpu_batch_t;

/* One operand's share of a tile and the scratch memory for it. */
typedef struct dg_cpu_side_t {
    dg_cpu_operand_t operand; /* data and row_stride are those of the segment at work */
    const int32_t *other_ks;  /* these two count k as that segment's data does */
    int64_t k_begin;
    int64_t begin, count; /* rows of the operand */
    int64_t panel_count;
    int width;
    float *panels;    /* [panel_count, DG_CPU_SLAB, width] */
    float *factors;   /* [blocks of the slab, panel_count * width] */
    int64_t *offsets; /* [count], dg_cpu_locate_scales */
} dg_cpu_side_t;

static int64_t block_length(const dg_cpu_product_t *product) {
    const bool fine = (product->a.scale && product->a.gran_k == 32) ||
                      (product->b.scale && product->b.gran_k == 32);
    return fine ? 32 : 128;
}

static void enter_segment(dg_cpu_side_t *side, int64_t k_begin, const int32_t *other_ks,
    const void *data, int64_t row_stride) {
    side->k_begin = data ? 0 : k_begin;
    side->other_ks = data && other_ks ? other_ks + k_begin : other_ks;
    if (!data) return;
    side->operand.data = data;
    side->operand.row_stride = row_stride;
}

static void prepare_side(const dg_cpu_kernels_t *kernels, dg_cpu_side_t *side, int64_t k,
    int64_t k_count, int64_t block, int64_t scale_begin, void *codes) {
    dg_cpu_pack(kernels, &side->operand, side->other_ks, side->begin, side->count,
        side->k_begin + k, k_count, side->width, codes, side->panels);
    const int64_t padded = side->panel_count * side->width;
    for (int64_t offset = 0; offset < k_count; offset += block) {
        dg_cpu_load_scales(&side->operand, side->offsets, side->count, padded, k + offset,
            scale_begin, side->factors + offset / block * padded);
    }
}

/* totals += slab of a times slab of b; see isa.h for the micro-kernel's contract. */
static void multiply_slab(const dg_cpu_kernels_t *kernels, const dg_cpu_side_t *a,
    const dg_cpu_side_t *b, int64_t k_count, int64_t block, float *totals) {
    const int64_t padded_a = a->panel_count * a->width;
    const int64_t padded_b = b->panel_count * b->width;
    for (int64_t j = 0; j < b->panel_count; j++) {
        for (int64_t i = 0; i < a->panel_count; i++) {
            float *total = totals + (j * a->panel_count + i) * a->width * b->width;
            const int64_t rows_left = a->count - i * a->width;
            const int used_rows = (int)(rows_left < a->width ? rows_left : a->width);
            for (int64_t k = 0; k < k_count; k += block) {
                const int64_t length = k_count - k < block ? k_count - k : block;
                kernels->multiply(length, used_rows, a->panels + (i * DG_CPU_SLAB + k) * a->width,
                    b->panels + (j * DG_CPU_SLAB + k) * b->width,
                    a->factors + k / block * padded_a + i * a->width,
                    b->factors + k / block * padded_b + j * b->width, total);
            }
        }
    }
}

static void place_side(dg_cpu_side_t *side, dg_cpu_carver_t *carver) {
    side->panel_count = (side->count + side->width - 1) / side->width;
    const size_t padded = (size_t)(side->panel_count * side->width);
    side->panels = dg_cpu_carve(carver, padded * DG_CPU_SLAB * sizeof(float));
    side->factors = dg_cpu_carve(carver, padded * DG_CPU_BLOCKS_PER_SLAB * sizeof(float));
    side->offsets = dg_cpu_carve(carver, padded * sizeof(int64_t));
}

static dg_status_t run_tile(void *context, int64_t index, int worker) {
    const dg_cpu_batch_t *batch = context;
    const dg_cpu_kernels_t *kernels = dg_cpu_pool_kernels(batch->pool);
    const dg_cpu_tile_t tile = dg_cpu_find_tile(batch->tilings, batch->count, index);
    const dg_cpu_product_t *product = &batch->products[tile.product];
    dg_cpu_side_t a = {
        .operand = product->a, .begin = tile.row, .count = tile.rows, .width = kernels->rows};
    dg_cpu_side_t b = {
        .operand = product->b, .begin = tile.col, .count = tile.cols, .width = kernels->cols};

    dg_cpu_carver_t carver = {dg_cpu_scratch(batch->pool, worker)};
    place_side(&a, &carver);
    place_side(&b, &carver);
    void *codes = dg_cpu_carve(&carver, DG_CPU_CODE_BYTES);
    const size_t total_bytes =
        (size_t)(a.panel_count * a.width * b.panel_count * b.width) * sizeof(float);
    float *totals = dg_cpu_carve(&carver, total_bytes);

    memset(totals, 0, total_bytes);
    dg_cpu_locate_scales(&a.operand, a.begin, a.count, a.offsets);
    dg_cpu_locate_scales(&b.operand, b.begin, b.count, b.offsets);
    const int64_t block = block_length(product);
    for (int64_t s = 0; s < product->segment_count; s++) {
        const dg_cpu_segment_t *at = &product->segments[s];
        enter_segment(&a, at->k_begin, product->b.ks, at->data_a, at->row_stride_a);
        enter_segment(&b, at->k_begin, product->a.ks, at->data_b, at->row_stride_b);
        for (int64_t k = 0; k < at->k_count; k += DG_CPU_SLAB) {
            const int64_t left = at->k_count - k;
            const int64_t k_count = left < DG_CPU_SLAB ? left : DG_CPU_SLAB;
            prepare_side(kernels, &a, k, k_count, block, at->scale_begin_a, codes);
            prepare_side(kernels, &b, k, k_count, block, at->scale_begin_b, codes);
            multiply_slab(kernels, &a, &b, k_count, block, totals);
        }
    }
    dg_cpu_store_tile(kernels, product, &tile, a.offsets, b.offsets, totals);
    return DG_STATUS_OK;
}

/* Scratch memory for the largest tile of the batch. */
static size_t scratch_bytes(
    const dg_cpu_kernels_t *kernels, const dg_cpu_tiling_t *tilings, int64_t count) {
    size_t most = 0;
    for (int64_t i = 0; i < count; i++) {
        const size_t bytes = dg_cpu_tile_bytes(kernels, tilings[i].rows, tilings[i].cols);
        if (bytes > most) most = bytes;
    }
    return most;
}

static bool can_read(dg_dtype_t dtype) {
    return dtype == DG_DTYPE_E4M3 || dtype == DG_DTYPE_E2M1X2 || dtype == DG_DTYPE_BF16 ||
           dtype == DG_DTYPE_F16 || dtype == DG_DTYPE_F32;
}

static bool is_known(const dg_cpu_product_t *product) {
    const dg_dtype_t d = product->d_dtype;
    return can_read(product->a.dtype) && can_read(product->b.dtype) &&
           (d == DG_DTYPE_BF16 || d == DG_DTYPE_F32);
}

dg_status_t dg_cpu_run(dg_cpu_pool_t *pool, const dg_cpu_product_t *products, int64_t count) {
    if (count <= 0) return DG_STATUS_OK;
    for (int64_t i = 0; i < count; i++) {
        if (!is_known(&products[i])) return DG_STATUS_INTERNAL;
    }
    dg_cpu_tiling_t *tilings = malloc((size_t)count * sizeof *tilings);
    DG_REQUIRE(tilings != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
        "no memory for the tiles of %lld products; free some", (long long)count);
    const int threads = dg_cpu_choose_threads(pool, products, count);
    const int64_t tiles = dg_cpu_choose_tiles(pool, threads, products, count, tilings);
    dg_cpu_batch_t batch = {pool, products, tilings, count};
    const dg_status_t status = dg_cpu_run_tasks(pool, run_tile, &batch, tiles, threads,
        scratch_bytes(dg_cpu_pool_kernels(pool), tilings, count));
    free(tilings);
    return status;
}
