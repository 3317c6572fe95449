/* SPDX-License-Identifier: MIT
 *
 * Parameters of sm100_gemm.cu, filled by its test. */
#ifndef DG_TESTS_SM100_GEMM_H
#define DG_TESTS_SM100_GEMM_H

#include "args/types.h"

typedef struct dg_sm100_gemm_args {
    dg_tensor_map_t a; /* [m, k], k fastest; box of 128 bytes x 128, 128-byte swizzle */
    dg_tensor_map_t b; /* [n, k], k fastest; box of 128 bytes x BLOCK_N / CTAS, the same */
    dg_tensor_map_t
        scale_a; /* [ceil(m / 128) * k_blocks, 128] words, the latter fastest; box [1, 128].
                              * Row i * k_blocks + kb: scales of rows 128 i.. of k block kb; word
                              * 4 * l + j: four ue8m0 of row 32 j + l, first k lowest */
    dg_tensor_map_t scale_b; /* the same for [n, k] */
    uint16_t *d;             /* [m, n] bf16, n fastest; n even */
    int32_t m, n;
    int32_t k_blocks; /* of 128 bytes, rounded up */
    int32_t tiles_m;  /* of 128 * CTAS rows, rounded up */
    int32_t tiles_n;  /* of BLOCK_N, rounded up */
} dg_sm100_gemm_args_t;

#endif
