/* SPDX-License-Identifier: MIT
 *
 * Every line of the catalogue for fp8_gemm_swap, once, through the public API: more tiles than CTAs,
 * ragged edges, blocks for every part of k. test_fp8_gemm_block.c draws many cases of small tiles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "backend.h"
#include "guard.h"
#include "kernels/args/sm90.h"
#include "plan/sm90_fp8_gemm_swap.h"
#include "product.h"

static operand_spec_t operand(int32_t gran_mn) {
    return (operand_spec_t){.dtype = DG_DTYPE_E4M3,
        .aligned = true,
        .scale = DG_DTYPE_F32,
        .gran_mn = gran_mn,
        .gran_k = 128,
        .values = VALUES_INTEGER};
}

static void every_line_of_the_catalogue(void **state) {
    const int32_t kernel = DG_KERNEL_SM90_FP8_GEMM_SWAP;
    int32_t i = 0;
    (void)state;
    for (; dg_catalogue_entry(kernel, i); i++) {
        const dg_specialisation_t *entry = dg_catalogue_entry(kernel, i);
        const dg_sm90_fp8_gemm_swap_fields_t f = dg_sm90_fp8_gemm_swap_fields(entry);
        const int64_t m = f.block_m + 9, n = f.block_n + 24;
        const int64_t k = 128 * (f.splits * 2 + f.stages) + 16;
        emulated_machine =
            (emulated_machine_t){.sms = 2 * f.splits, .schedule = (uint32_t)i, .only = entry};
        if (f.schedule == DG_SCHEDULE_DENSE)
            gemm_verify(NULL,
                &(gemm_case_t){
                    .a = operand(1), .b = operand(128), .d = DG_DTYPE_BF16, .judge = JUDGE_EXACT},
                m, n, k, (uint64_t)i);
        else
            m_grouped_verify(NULL,
                &(m_grouped_case_t){.a = operand(1),
                    .b = operand(128),
                    .d = DG_DTYPE_BF16,
                    .judge = JUDGE_EXACT,
                    .form = DG_GROUPS_SIZES},
                (const int64_t[]){m / 2, 0, m - m / 2}, 3, n, k, (uint64_t)i);
    }
    assert_true(i > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_line_of_the_catalogue, guard_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
