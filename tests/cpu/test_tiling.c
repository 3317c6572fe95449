/* SPDX-License-Identifier: MIT
 *
 * Tiles: each element of every product in exactly one, and never more scratch memory than promised.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cpu/tiling.h"

static const dg_cpu_segment_t segment = {.k_count = 1000};

/* Guards against: an element left out or computed twice, an empty product upsetting the count. */
static void test_tiles_cover_every_element_once(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {
        {0, 5}, {1, 1}, {13, 600}, {0, 0}, {600, 1}, {257, 300}, {5, 0}, {130, 129}};
    enum { COUNT = sizeof shapes / sizeof shapes[0] };
    static unsigned char hits[COUNT][600 * 600];
    dg_cpu_product_t products[COUNT] = {0};
    dg_cpu_tiling_t tilings[COUNT];
    for (int i = 0; i < COUNT; i++) {
        products[i].m = shapes[i][0];
        products[i].n = shapes[i][1];
        products[i].segments = &segment;
        products[i].segment_count = 1;
    }
    static const int threads[] = {1, 2, 7, 300};
    for (int t = 0; t < 4; t++) {
        dg_cpu_pool_t *pool;
        assert_int_equal(dg_cpu_create_pool(threads[t], DG_CPU_ISA_AUTO, &pool), DG_STATUS_OK);
        memset(hits, 0, sizeof hits);
        const int64_t tiles = dg_cpu_choose_tiles(pool, threads[t], products, COUNT, tilings);
        for (int64_t i = 0; i < tiles; i++) {
            const dg_cpu_tile_t tile = dg_cpu_find_tile(tilings, COUNT, i);
            const int64_t n = shapes[tile.product][1];
            assert_true(tile.rows > 0 && tile.cols > 0);
            for (int64_t r = tile.row; r < tile.row + tile.rows; r++) {
                for (int64_t c = tile.col; c < tile.col + tile.cols; c++) {
                    hits[tile.product][r * n + c]++;
                }
            }
        }
        for (int i = 0; i < COUNT; i++) {
            for (int64_t e = 0; e < shapes[i][0] * shapes[i][1]; e++) {
                assert_int_equal(hits[i][e], 1);
            }
        }
        dg_cpu_destroy_pool(pool);
    }
}

/* Guards against: scratch memory that grows with the operands or with the threads. */
static void test_scratch_memory_is_bounded(void **state) {
    (void)state;
    static const dg_cpu_isa_t kinds[] = {
        DG_CPU_ISA_PORTABLE, DG_CPU_ISA_AVX2, DG_CPU_ISA_AVX512, DG_CPU_ISA_NEON};
    static const int threads[] = {1, 2, 64, 65, 128, DG_CPU_MAX_THREADS};
    const dg_cpu_product_t product = {
        .m = 1000003, .n = 700001, .segments = &segment, .segment_count = 1};
    for (int i = 0; i < 4 * 6; i++) {
        dg_cpu_pool_t *pool;
        if (dg_cpu_create_pool(threads[i / 4], kinds[i % 4], &pool) != DG_STATUS_OK) continue;
        dg_cpu_tiling_t tiling;
        dg_cpu_choose_tiles(pool, threads[i / 4], &product, 1, &tiling);
        const size_t bytes = dg_cpu_tile_bytes(dg_cpu_pool_kernels(pool), tiling.rows, tiling.cols);
        assert_true(bytes * (size_t)threads[i / 4] <= (size_t)64 << 20);
        dg_cpu_destroy_pool(pool);
    }
}

/* Guards against: threads woken for nothing, or a large product left to one thread. */
static void test_small_work_wakes_few_threads(void **state) {
    (void)state;
    dg_cpu_pool_t *pool;
    assert_int_equal(dg_cpu_create_pool(8, DG_CPU_ISA_AUTO, &pool), DG_STATUS_OK);
    dg_cpu_product_t product = {.m = 8, .n = 8, .segments = &segment, .segment_count = 1};
    assert_int_equal(dg_cpu_choose_threads(pool, &product, 1), 1);
    product.m = 512;
    product.n = 512;
    assert_int_equal(dg_cpu_choose_threads(pool, &product, 1), 8);
    dg_cpu_destroy_pool(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles_cover_every_element_once),
        cmocka_unit_test(test_scratch_memory_is_bounded),
        cmocka_unit_test(test_small_work_wakes_few_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
