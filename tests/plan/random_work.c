/* SPDX-License-Identifier: MIT
 *
 * See random_work.h.
 */
#include "random_work.h"

#include <string.h>

static uint64_t next(dg_random_t *random) {
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

int64_t dg_draw(dg_random_t *random, int64_t low, int64_t high) {
    return low + (int64_t)(next(random) % (uint64_t)(high - low + 1));
}

int64_t dg_draw_extent(dg_random_t *random, int64_t high) {
    int64_t extent = dg_draw(random, 1, high);
    if (dg_draw(random, 0, 1)) {
        const int64_t power = INT64_C(1) << dg_draw(random, 0, 17);
        extent = power * dg_draw(random, 1, 3) + dg_draw(random, -1, 1);
    }
    return extent < 1 ? 1 : extent > high ? high : extent;
}

static uint8_t draw_alignment(dg_random_t *random) {
    return (uint8_t)(1 << (dg_draw(random, 0, 2) ? dg_draw(random, 4, 7) : dg_draw(random, 0, 7)));
}

static dg_work_side_t draw_side(dg_random_t *random, dg_dtype_t dtype) {
    static const dg_dtype_t scales[] = {
        DG_DTYPE_F32, DG_DTYPE_F32, DG_DTYPE_F32, DG_DTYPE_I32, DG_DTYPE_E8M0, DG_DTYPE_NONE};
    dg_work_side_t side = {.dtype = (uint8_t)dtype,
        .k_contiguous = dg_draw(random, 0, 3) != 0,
        .alignment = draw_alignment(random)};
    const dg_dtype_t scale = scales[dg_draw(random, 0, 5)];
    if (dtype == DG_DTYPE_BF16 || scale == DG_DTYPE_NONE) return side;
    side.scale_dtype = (uint8_t)scale;
    side.scale_mn_contiguous = (uint8_t)dg_draw(random, 0, 2);
    side.scale_alignment = draw_alignment(random);
    side.gran_mn = dg_draw(random, 0, 1) ? 1 : 128;
    side.gran_k = dg_draw(random, 0, 3) ? 128 : 32;
    return side;
}

static void draw_groups(dg_random_t *random, dg_work_t *work) {
    const bool m_grouped = dg_draw(random, 0, 1);
    work->family = m_grouped ? DG_FAMILY_M_GROUPED_GEMM : DG_FAMILY_K_GROUPED_GEMM;
    work->group_count = (int32_t)dg_draw(random, 1, 256);
    work->group_form =
        (uint8_t)dg_draw(random, DG_GROUPS_SIZES, m_grouped ? DG_GROUPS_MASKED : DG_GROUPS_PSUM);
    if (work->group_form == DG_GROUPS_PSUM || work->group_form == DG_GROUPS_BLOCK_INDEX)
        work->group_alignment = 1 << dg_draw(random, 0, 8);
    if (m_grouped) {
        work->expected_m = (int32_t)(dg_draw(random, 0, 1) ? dg_draw_extent(random, work->m) : 0);
        work->zero_padding = work->group_form == DG_GROUPS_PSUM && dg_draw(random, 0, 1);
        work->a.gathered = work->group_form != DG_GROUPS_MASKED && dg_draw(random, 0, 1);
        return;
    }
    work->k_output = (uint8_t)dg_draw(random, DG_K_OUTPUT_STACK, DG_K_OUTPUT_SUM);
    work->aligned_groups = dg_draw(random, 0, 1) != 0;
    work->a.gran_mn = work->a.scale_dtype ? 1 : 0;
    work->b.gran_mn = work->b.scale_dtype ? 1 : 0;
    if (work->group_form != DG_GROUPS_SIZES) return;
    work->a.flat = work->a.k_contiguous && dg_draw(random, 0, 1);
    work->b.flat = work->b.k_contiguous && dg_draw(random, 0, 1);
}

dg_work_t dg_draw_work(dg_random_t *random) {
    const dg_dtype_t dtype = dg_draw(random, 0, 2)   ? DG_DTYPE_E4M3
                             : dg_draw(random, 0, 2) ? DG_DTYPE_BF16
                                                     : DG_DTYPE_E2M1X2;
    dg_work_t work;
    memset(&work, 0, sizeof work);
    work.m = dg_draw_extent(random, 300000);
    work.n = dg_draw_extent(random, 300000);
    work.k = dg_draw_extent(random, 300000);
    work.a = draw_side(random, dtype);
    work.b = draw_side(random, dtype);
    work.family = DG_FAMILY_GEMM;
    work.group_count = 1;
    work.out_dtype = (uint8_t)(dg_draw(random, 0, 1) ? DG_DTYPE_BF16 : DG_DTYPE_F32);
    work.d_alignment = draw_alignment(random);
    work.accumulates = dg_draw(random, 0, 2) == 0;
    if (work.accumulates) work.c_alignment = draw_alignment(random);
    if (dg_draw(random, 0, 1)) draw_groups(random, &work);
    if (work.family == DG_FAMILY_GEMM && dg_draw(random, 0, 1)) {
        const dg_work_t usual = dg_block_work(work.m, work.n, work.k);
        work.a = usual.a;
        work.b = usual.b;
        if (dg_draw(random, 0, 1)) work = usual;
    }
    return work;
}

dg_work_t dg_block_work(int64_t m, int64_t n, int64_t k) {
    dg_work_t work;
    memset(&work, 0, sizeof work);
    work.m = m;
    work.n = n;
    work.k = k;
    work.a = (dg_work_side_t){.dtype = DG_DTYPE_E4M3,
        .k_contiguous = 1,
        .alignment = 128,
        .scale_dtype = DG_DTYPE_F32,
        .scale_mn_contiguous = 1,
        .scale_alignment = 128,
        .gran_mn = 1,
        .gran_k = 128};
    work.b = work.a;
    work.b.scale_mn_contiguous = 0;
    work.b.gran_mn = 128;
    work.family = DG_FAMILY_GEMM;
    work.group_count = 1;
    work.out_dtype = DG_DTYPE_BF16;
    work.d_alignment = n % 64 == 0 ? 128 : (uint8_t)(n * 2 & -(n * 2));
    return work;
}

const dg_machine_t *dg_draw_machine(dg_random_t *random) {
    int32_t count = 0;
    while (dg_machine_row(count) != NULL) count++;
    if (dg_draw(random, 0, 1)) return dg_find_machine("H200");
    return dg_machine_row((int32_t)dg_draw(random, 0, count - 1));
}

dg_plan_options_t dg_draw_options(dg_random_t *random) {
    dg_plan_options_t options = {0};
    if (dg_draw(random, 0, 1)) return options;
    if (dg_draw(random, 0, 1)) options.num_sms = (int32_t)dg_draw(random, 1, 160);
    if (dg_draw(random, 0, 3) == 0) options.block_m_multiple = 1 << dg_draw(random, 0, 8);
    if (dg_draw(random, 0, 3) == 0) options.block_n_multiple = 1 << dg_draw(random, 0, 8);
    options.batch_invariant = dg_draw(random, 0, 1);
    return options;
}
