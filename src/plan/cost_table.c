/* SPDX-License-Identifier: MIT
 *
 * What was measured of the kernels: the numbers of the model that cost.h describes, for each tile of
 * the catalogue. Called by the kernels' planning files through dg_find_tile_cost().
 *
 * How they were found: `deepgemm tune` timed all candidates for the shapes of bench/shapes/gpu_*.json
 * and for 120 random ones on an H200, driver 580, on 2026-11-30. The model was fitted to the logarithms
 * of these times; candidates within 1.3 of the fastest, or predicted within 1.15 of it, counted 20 times
 * as much as others. On 60 shapes that were not in the fit the choices lost 0.5% in the mean and 4.7% at
 * the 95th percentile (docs/planning.md). After that fit kernels changed: rows of fp8_gemm_vector, of
 * bf16_gemm and of the small tiles of fp8_gemm_block were set by hand from single readings.
 * fp8_gemm_swap and bf16_gemm_swap have prices of their own, in their planning files. A tile without a
 * row is priced by the nearest one.
 */
#include <math.h>
#include <stddef.h>

#include "plan/cost.h"

typedef struct tile_row_t {
    int32_t block_m, block_n, variant; /* as dg_tile_t has them */
    float launch_clocks, block_clocks, tile_clocks, overlap_loss;
} tile_row_t;

/* A kernel with one form of groups. */
typedef struct kernel_row_t {
    int32_t kernel, family;
    float memory_share;           /* of the copy rate that it reaches */
    float list_us;                /* of each launch in front of it */
    float f32_clocks, add_clocks; /* for each element of d: FP32, and c */
    float idle_row_clocks;        /* of a block of k for each row of a tile beyond m */
    int32_t tile_count;
    const tile_row_t *tiles;
} kernel_row_t;

/* sm90_fp8_gemm_block; variant: SHARE */
static const tile_row_t block_dense[] = {
    /* tile, variant, launch, block of k, tile, overlap */
    {64, 64, 0, 4070, 440, 1310, .24f},
    {64, 96, 0, 5570, 449, 1270, .34f},
    {64, 128, 0, 6000, 480, 1000, .27f},
    {128, 64, 0, 6450, 480, 1000, .27f},
    {128, 96, 0, 6450, 540, 1000, .3f},
    {128, 128, 0, 6450, 561, 880, .31f},
    {128, 160, 1, 9030, 698, 2150, .09f},
    {128, 192, 0, 9400, 770, 2300, .10f},
    {192, 128, 0, 6220, 732, 1530, .14f},
    {192, 128, 2, 9420, 750, 1840, .09f},
    {256, 128, 2, 9530, 1001, 2800, .14f},
};
static const tile_row_t block_rows[] = {
    /* tile, variant, launch, block of k, tile, overlap */
    {64, 128, 0, 6710, 481, 660, .27f},
    {128, 128, 0, 7400, 650, 710, .27f},
    {192, 128, 2, 9170, 733, 1130, .31f},
    {256, 128, 2, 9690, 1070, 1090, .16f},
};
/* sm90_fp8_gemm_vector; variant: SHARE, and 4 more where m or n is fastest in an operand */
static const tile_row_t vector_dense[] = {
    /* tile, variant, launch, block of k, tile, overlap */
    {128, 128, 0, 9500, 981, 2260, .14f},
    {192, 128, 2, 9500, 1080, 3000, .14f},
    {256, 128, 2, 7020, 1500, 7500, .14f},
    {128, 128, 4, 5940, 1596, 640, .11f},
    {256, 128, 6, 5890, 2066, 4790, .35f},
};
static const tile_row_t vector_tokens[] = {
    /* tile, variant, launch, block of k, tile, overlap */
    {128, 128, 0, 11370, 984, 820, .09f},
    {192, 128, 2, 11370, 1000, 3500, .22f},
    {256, 128, 2, 16790, 1500, 3000, .24f},
    {128, 128, 4, 5940, 1596, 640, .11f},
    {256, 128, 6, 5890, 2066, 4790, .35f},
};
/* sm90_bf16_gemm; variant: SHARE, and 4 more where warpgroups take tiles in turns. Those tiles, 128 x 144
 * and the paired 128 x 256 were fitted to readings of bench/gpu.py's shapes alone. */
static const tile_row_t bf16_dense[] = {
    /* tile, variant, launch, block of k, tile, overlap */
    {64, 64, 0, 4770, 311, 370, .25f},
    {64, 128, 0, 5240, 308, 410, .46f},
    {128, 128, 0, 5910, 458, 830, .36f},
    {128, 128, 5, 2000, 471, 290, .34f},
    {128, 144, 1, 2900, 535, 2660, .04f},
    {128, 176, 5, 12000, 620, 400, .36f},
    {128, 256, 1, 6080, 895, 3250, .14f},
};
static const tile_row_t bf16_rows[] = {
    /* tile, variant, launch, block of k, tile, overlap */
    {64, 128, 0, 6370, 369, 190, .27f},
    {128, 128, 0, 7760, 517, 360, .31f},
    {128, 256, 0, 7720, 901, 2640, .09f},
};
static const tile_row_t bf16_tokens[] = {
    /* tile, variant, launch, block of k, tile, overlap */
    {64, 256, 5, 2000, 535, 100, .37f},
    {128, 128, 0, 12670, 596, 3900, .10f},
    {128, 128, 5, 6790, 459, 100, .59f},
    {128, 256, 1, 3530, 869, 130, .72f},
};
/* any_gemm; variant: 0; a block is a slab of 64 k */
static const tile_row_t any_all[] = {
    {64, 64, 0, 8160, 6800, 4000, .42f},
    {128, 128, 0, 8160, 7800, 5750, .42f},
};

#define TILES(rows) sizeof(rows) / sizeof((rows)[0]), rows
static const kernel_row_t kernels[] = {
    {DG_KERNEL_SM90_FP8_GEMM_BLOCK, DG_FAMILY_GEMM, .96f, 2.5f, .071f, .1f, 4.4f,
        TILES(block_dense)},
    {DG_KERNEL_SM90_FP8_GEMM_BLOCK, DG_FAMILY_M_GROUPED_GEMM, .92f, 5.5f, .071f, .1f, 0,
        TILES(block_rows)},
    {DG_KERNEL_SM90_FP8_GEMM_VECTOR, DG_FAMILY_GEMM, .62f, 2.5f, .095f, .134f, 2,
        TILES(vector_dense)},
    {DG_KERNEL_SM90_FP8_GEMM_VECTOR, DG_FAMILY_M_GROUPED_GEMM, .62f, 5.5f, .095f, .134f, 0,
        TILES(vector_dense)}, /* not measured: as dense, with a list of groups */
    {DG_KERNEL_SM90_FP8_GEMM_VECTOR, DG_FAMILY_K_GROUPED_GEMM, .62f, 5.7f, .093f, .13f, 0,
        TILES(vector_tokens)},
    {DG_KERNEL_SM90_BF16_GEMM, DG_FAMILY_GEMM, 1.03f, 2.5f, .024f, .1f, 3.9f, TILES(bf16_dense)},
    {DG_KERNEL_SM90_BF16_GEMM, DG_FAMILY_M_GROUPED_GEMM, 1.04f, 6.1f, .071f, .1f, 0,
        TILES(bf16_rows)},
    {DG_KERNEL_SM90_BF16_GEMM, DG_FAMILY_K_GROUPED_GEMM, .92f, 1.8f, .009f, .012f, 0,
        TILES(bf16_tokens)},
    {DG_KERNEL_ANY_GEMM, DG_FAMILY_GEMM, .35f, 7.6f, .3f, .47f, 1.3f, TILES(any_all)},
    {DG_KERNEL_ANY_GEMM, DG_FAMILY_M_GROUPED_GEMM, .35f, 7.6f, .3f, .47f, 1.3f, TILES(any_all)},
    {DG_KERNEL_ANY_GEMM, DG_FAMILY_K_GROUPED_GEMM, .35f, 7.6f, .3f, .47f, 1.3f, TILES(any_all)},
};
#undef TILES

static const kernel_row_t *find_kernel_row(int32_t kernel, int32_t family) {
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (kernels[i].kernel == kernel && kernels[i].family == family) return &kernels[i];
    return &kernels[sizeof kernels / sizeof kernels[0] - 1];
}

/* How far a row is from a tile: 0 if it is that tile's. Extents count by their ratio. */
static float measure_distance(const tile_row_t *row, const dg_tile_t *tile) {
    const float m = logf((float)row->block_m / (float)tile->block_m);
    const float n = logf((float)row->block_n / (float)tile->block_n);
    return fabsf(m + n) + fabsf(m) + fabsf(n) + (row->variant == tile->variant ? 0 : .5f);
}

static const tile_row_t *find_tile_row(const kernel_row_t *kernel, const dg_tile_t *tile) {
    for (int32_t i = 0; i < kernel->tile_count; i++)
        if (kernel->tiles[i].block_m == tile->block_m &&
            kernel->tiles[i].block_n == tile->block_n && kernel->tiles[i].variant == tile->variant)
            return &kernel->tiles[i];
    const tile_row_t *nearest = kernel->tiles;
    for (int32_t i = 1; i < kernel->tile_count; i++)
        if (measure_distance(&kernel->tiles[i], tile) < measure_distance(nearest, tile))
            nearest = &kernel->tiles[i];
    return nearest;
}

/* A tile that nobody measured costs what the nearest one does, a fifth of it whatever its size. */
static float scale_clocks(float clocks, const tile_row_t *row, const dg_tile_t *tile) {
    const float area = (float)(tile->block_m * tile->block_n);
    return clocks * (.2f + .8f * area / (float)(row->block_m * row->block_n));
}

dg_tile_cost_t dg_find_tile_cost(const dg_tile_t *tile) {
    const kernel_row_t *kernel = find_kernel_row(tile->kernel, tile->family);
    const tile_row_t *row = find_tile_row(kernel, tile);
    dg_tile_cost_t cost = {.math_m = tile->math_m,
        .math_n = tile->math_n,
        .launch_clocks = row->launch_clocks,
        .block_clocks = scale_clocks(row->block_clocks, row, tile),
        .idle_clocks = (float)tile->idle_rows * kernel->idle_row_clocks,
        .tile_clocks = scale_clocks(row->tile_clocks, row, tile),
        .overlap_loss = row->overlap_loss,
        .memory_share = kernel->memory_share,
        .list_us = kernel->list_us};
    if (tile->f32) cost.tile_clocks += tile->stored * kernel->f32_clocks;
    if (tile->accumulates) cost.tile_clocks += tile->stored * kernel->add_clocks;
    return cost;
}
