// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/matrix.cuh.
#pragma once
#include "device/language.cuh"
#include "matrix.h"

DEVICE void ldmatrix_x4(uint32_t *values, uint32_t row_address, EMU_SITE) {
    emu::warp_together("ldmatrix", site);
    emu::ldmatrix(values, row_address, 4, false);
}
DEVICE void ldmatrix_x2(uint32_t *values, uint32_t row_address, EMU_SITE) {
    emu::warp_together("ldmatrix", site);
    emu::ldmatrix(values, row_address, 2, false);
}
DEVICE void ldmatrix_x4_trans(uint32_t *values, uint32_t row_address, EMU_SITE) {
    emu::warp_together("ldmatrix", site);
    emu::ldmatrix(values, row_address, 4, true);
}
DEVICE void ldmatrix_x2_trans(uint32_t *values, uint32_t row_address, EMU_SITE) {
    emu::warp_together("ldmatrix", site);
    emu::ldmatrix(values, row_address, 2, true);
}
DEVICE void stmatrix_x4(uint32_t row_address, const uint32_t *values, EMU_SITE) {
    emu::warp_together("stmatrix", site);
    emu::stmatrix(row_address, values, 4, false);
}
DEVICE void stmatrix_x2(uint32_t row_address, const uint32_t *values, EMU_SITE) {
    emu::warp_together("stmatrix", site);
    emu::stmatrix(row_address, values, 2, false);
}
DEVICE void stmatrix_x4_trans(uint32_t row_address, const uint32_t *values, EMU_SITE) {
    emu::warp_together("stmatrix", site);
    emu::stmatrix(row_address, values, 4, true);
}
DEVICE void stmatrix_x2_trans(uint32_t row_address, const uint32_t *values, EMU_SITE) {
    emu::warp_together("stmatrix", site);
    emu::stmatrix(row_address, values, 2, true);
}

DEVICE void mma_bf16_m16n8k16(float *d, const uint32_t *a, const uint32_t *b, EMU_SITE) {
    emu::warp_together("mma.sync", site);
    emu::mma_sync(d, emu::OperandType::BF16, a, b);
}
DEVICE void mma_f16_m16n8k16(float *d, const uint32_t *a, const uint32_t *b, EMU_SITE) {
    emu::warp_together("mma.sync", site);
    emu::mma_sync(d, emu::OperandType::F16, a, b);
}
DEVICE void mma_e4m3_m16n8k32(float *d, const uint32_t *a, const uint32_t *b, EMU_SITE) {
    emu::warp_together("mma.sync", site);
    emu::mma_sync(d, emu::OperandType::E4M3, a, b);
}
DEVICE void mma_tf32_m16n8k8(float *d, const uint32_t *a, const uint32_t *b, EMU_SITE) {
    emu::warp_together("mma.sync", site);
    emu::mma_sync(d, emu::OperandType::TF32, a, b);
}
