/* SPDX-License-Identifier: MIT
 *
 * Matrix moves and products of one warp: ldmatrix, stmatrix, mma.sync. Matrices are 8 rows of 16
 * bytes; lane 8*i + r names the address of row r of matrix i, and lane l holds the two 16-bit
 * elements 2*(l%4), 2*(l%4)+1 of row l/4 (of column l/4 in the transposed forms). */
#pragma once
#include "device/language.cuh"

#define LDMATRIX_X4(words)                                                                         \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" words ".shared.b16 {%0, %1, %2, %3}, [%4];"       \
                 : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])              \
                 : "r"(row_address)                                                                \
                 : "memory")
#define LDMATRIX_X2(words)                                                                         \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" words ".shared.b16 {%0, %1}, [%2];"               \
                 : "=r"(values[0]), "=r"(values[1])                                                \
                 : "r"(row_address)                                                                \
                 : "memory")
#define STMATRIX_X4(words)                                                                         \
    asm volatile("stmatrix.sync.aligned.m8n8.x4" words                                             \
                 ".shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row_address),                         \
                 "r"(values[0]), "r"(values[1]), "r"(values[2]), "r"(values[3])                    \
                 : "memory")
#define STMATRIX_X2(words)                                                                         \
    asm volatile("stmatrix.sync.aligned.m8n8.x2" words                                             \
                 ".shared.b16 [%0], {%1, %2};" ::"r"(row_address),                                 \
                 "r"(values[0]), "r"(values[1])                                                    \
                 : "memory")

/* values: [4] or [2], one register per matrix */
DEVICE void ldmatrix_x4(uint32_t *values, uint32_t row_address) {
    LDMATRIX_X4("");
}
DEVICE void ldmatrix_x2(uint32_t *values, uint32_t row_address) {
    LDMATRIX_X2("");
}
DEVICE void ldmatrix_x4_trans(uint32_t *values, uint32_t row_address) {
    LDMATRIX_X4(".trans");
}
DEVICE void ldmatrix_x2_trans(uint32_t *values, uint32_t row_address) {
    LDMATRIX_X2(".trans");
}
DEVICE void stmatrix_x4(uint32_t row_address, const uint32_t *values) {
    STMATRIX_X4("");
}
DEVICE void stmatrix_x2(uint32_t row_address, const uint32_t *values) {
    STMATRIX_X2("");
}
DEVICE void stmatrix_x4_trans(uint32_t row_address, const uint32_t *values) {
    STMATRIX_X4(".trans");
}
DEVICE void stmatrix_x2_trans(uint32_t row_address, const uint32_t *values) {
    STMATRIX_X2(".trans");
}
#undef LDMATRIX_X4
#undef LDMATRIX_X2
#undef STMATRIX_X4
#undef STMATRIX_X2

#define MMA(shape, types)                                                                          \
    asm volatile("mma.sync.aligned." shape ".row.col.f32." types ".f32 {%0, %1, %2, %3}, "         \
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                   \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

/* d: [4] += a x b over one 16 x 8 tile. Lane l, with g = l/4 and t = l%4: d rows g and g+8, columns
 * 2t, 2t+1; a: [4] rows g, g+8, g, g+8, k bytes 4t.. (+16 for a[2], a[3]); b: [2] column g, k bytes
 * 4t.. (+16 for b[1]) */
DEVICE void mma_bf16_m16n8k16(float *d, const uint32_t *a, const uint32_t *b) {
    MMA("m16n8k16", "bf16.bf16");
}
DEVICE void mma_f16_m16n8k16(float *d, const uint32_t *a, const uint32_t *b) {
    MMA("m16n8k16", "f16.f16");
}
DEVICE void mma_e4m3_m16n8k32(float *d, const uint32_t *a, const uint32_t *b) {
    MMA("m16n8k32", "e4m3.e4m3");
}
DEVICE void mma_tf32_m16n8k8(float *d, const uint32_t *a, const uint32_t *b) {
    MMA("m16n8k8", "tf32.tf32");
}
#undef MMA
