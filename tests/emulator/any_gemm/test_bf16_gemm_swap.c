/* SPDX-License-Identifier: MIT
 *
 * kernels/sm90/bf16_gemm_swap.cu on the emulator with its race checker, through the public API: few
 * and many rows, k shared by any number of CTAs (more than there are blocks, too), outputs of both
 * types at any pitch, with and without c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend.h"
#include "guard.h"
#include "product.h"

static operand_spec_t draw_operand(rng_t *rng, values_t values) {
    return (operand_spec_t){
        .dtype = DG_DTYPE_BF16, .pad = 8 * rng_range(rng, 0, 1), .aligned = true, .values = values};
}

/* most: rows and columns */
static void draw_and_verify(const dg_specialisation_t *entry, int64_t most_m, int64_t most_n,
    int64_t most_k, int32_t splits, uint64_t seed) {
    rng_t rng = rng_make(seed * 7919);
    gemm_case_t test = {0};
    const values_t values = rng_range(&rng, 0, 1) ? VALUES_INTEGER : VALUES_RANDOM;
    const int64_t m = rng_range(&rng, 1, most_m), n = rng_range(&rng, 1, most_n);
    const int64_t k = rng_range(&rng, 1, most_k);
    test.a = draw_operand(&rng, values);
    test.b = draw_operand(&rng, values);
    test.d = rng_range(&rng, 0, 1) ? DG_DTYPE_BF16 : DG_DTYPE_F32;
    test.c = (addend_t)rng_range(&rng, 0, 2);
    test.judge = values == VALUES_INTEGER ? JUDGE_EXACT : JUDGE_BOUND;
    test.d_pad = rng_range(&rng, 0, 1) ? (8 - n % 8) % 8 : rng_range(&rng, 0, 3);
    emulated_machine = (emulated_machine_t){
        .sms = 4, .schedule = (uint32_t)rng_next(&rng), .only = entry, .splits = splits};
    gemm_verify(NULL, &test, m, n, k, seed);
}

static void small_tiles(void **state) {
    static const char *const lines[] = {"sm90_bf16_gemm_swap BLOCK_M=16 BLOCK_N=64 STAGES=2",
        "sm90_bf16_gemm_swap BLOCK_M=48 BLOCK_N=128 STAGES=3"};
    (void)state;
    for (uint64_t seed = 1; seed <= 80; seed++) {
        dg_specialisation_t entry;
        if (dg_parse_specialisation(lines[seed % 2], &entry) != DG_STATUS_OK)
            fail_msg("%s", dg_last_error());
        draw_and_verify(&entry, 60, 200, 900, (int32_t)(seed / 2 % 9), seed);
    }
}

static void every_line_of_the_catalogue(void **state) {
    const dg_specialisation_t *entry;
    int32_t i = 0;
    (void)state;
    for (; (entry = dg_catalogue_entry(DG_KERNEL_SM90_BF16_GEMM_SWAP, i)); i++)
        for (int32_t splits = 1; splits <= 4; splits += 3)
            draw_and_verify(entry, 128, 150, 2500, splits, (uint64_t)(i * 8 + splits));
    assert_true(i > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(small_tiles, guard_teardown),
        cmocka_unit_test_teardown(every_line_of_the_catalogue, guard_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
