/* SPDX-License-Identifier: MIT
 *
 * The specialisations of fp8_gemm_block that are built and tested: one line each, read by the C
 * programs of this folder and by tools/build_specialisations.py. The first two are the fastest
 * measured on an H200: 256 x 128 for large k, 192 x 128 up to k = 1536. */
#ifndef DG_TESTS_GPU_SPECIALISATIONS_H
#define DG_TESTS_GPU_SPECIALISATIONS_H

/* BLOCK_M, BLOCK_N, STAGES, MATH_GROUPS, SHARE, STORE_N, STORE_ROWS, STORE_BUFFERS, UNROLL_K */
#define SPECIALISATIONS                                                                            \
    SPECIALISATION(256, 128, 4, 2, DG_SHARE_A, 64, 16, 1, 4)                                       \
    SPECIALISATION(192, 128, 4, 3, DG_SHARE_A, 64, 16, 2, 4)                                       \
    SPECIALISATION(192, 128, 4, 3, DG_SHARE_NONE, 64, 16, 2, 1)                                    \
    SPECIALISATION(256, 128, 4, 2, DG_SHARE_A, 64, 64, 1, 4)                                       \
    SPECIALISATION(64, 96, 6, 1, DG_SHARE_NONE, 32, 64, 1, 1)                                      \
    SPECIALISATION(128, 192, 5, 2, DG_SHARE_B, 64, 16, 1, 4)                                       \
    SPECIALISATION(128, 160, 5, 2, DG_SHARE_B, 32, 16, 5, 4)                                       \
    SPECIALISATION(128, 128, 5, 2, DG_SHARE_NONE, 64, 16, 2, 1)                                    \
    SPECIALISATION(64, 96, 6, 1, DG_SHARE_NONE, 32, 16, 2, 1)

#endif
